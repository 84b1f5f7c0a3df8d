/* Fields to bits and back, a byte at a time. */
#include "wire/ib_field.h"

#include <string.h>

/* Puts the lowest `bits` of a value, and leaves what is around them. */
static void put_bits(unsigned char *to, uint32_t at, uint32_t bits, uint64_t value)
{
    while (bits > 0) {
        uint32_t skip = at % 8;
        uint32_t here = 8 - skip < bits ? 8 - skip : bits;
        uint32_t shift = 8 - skip - here;
        unsigned mask = ((1u << here) - 1) << shift;
        unsigned part = (unsigned)(value >> (bits - here)) << shift & mask;
        to[at / 8] = (unsigned char)((to[at / 8] & ~mask) | part);
        at += here;
        bits -= here;
    }
}

static uint64_t get_bits(const unsigned char *from, uint32_t at, uint32_t bits)
{
    uint64_t value = 0;
    while (bits > 0) {
        uint32_t skip = at % 8;
        uint32_t here = 8 - skip < bits ? 8 - skip : bits;
        uint32_t part = (uint32_t)from[at / 8] >> (8 - skip - here) & ((1u << here) - 1);
        value = value << here | part;
        at += here;
        bits -= here;
    }
    return value;
}

static uint64_t member_get(const unsigned char *from, uint32_t bytes)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1: return *from;
    case 2: memcpy(&two, from, sizeof two); return two;
    case 4: memcpy(&four, from, sizeof four); return four;
    default: memcpy(&eight, from, sizeof eight); return eight;
    }
}

static void member_set(unsigned char *to, uint32_t bytes, uint64_t value)
{
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    switch (bytes) {
    case 1: *to = (unsigned char)value; break;
    case 2: memcpy(to, &two, sizeof two); break;
    case 4: memcpy(to, &four, sizeof four); break;
    default: memcpy(to, &value, sizeof value); break;
    }
}

void wire_ib_fields_encode(const struct wire_ib_field *fields, const void *from, unsigned char *to)
{
    for (const struct wire_ib_field *field = fields; field->bits > 0; field++) {
        const unsigned char *member = (const unsigned char *)from + field->place;
        put_bits(to, field->at_bit, field->bits, member_get(member, field->bytes));
    }
}

void wire_ib_fields_decode(const struct wire_ib_field *fields, const unsigned char *from, void *to)
{
    for (const struct wire_ib_field *field = fields; field->bits > 0; field++) {
        unsigned char *member = (unsigned char *)to + field->place;
        member_set(member, field->bytes, get_bits(from, field->at_bit, field->bits));
    }
}
