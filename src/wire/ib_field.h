/* Fields of bits, as InfiniBand lays its management attributes out: the highest bit first, at any
 * place, 1 to 64 bits. An attribute is a struct and a table with a row for each of its fields, so
 * that the layout stands in one place for both directions. */
#ifndef WIRE_IB_FIELD_H
#define WIRE_IB_FIELD_H

#include "base/base.h"

struct wire_ib_field {
    uint16_t at_bit; /* from the attribute's first bit */
    uint8_t bits;    /* 0 ends the table */
    uint8_t bytes;   /* of the struct's member: 1, 2, 4 or 8 */
    uint16_t place;  /* offset of the member */
};

/* Byte and bit (0: the highest) at which the field begins, its bits, and the member. */
#define WIRE_IB_FIELD(type, byte, bit, count, member)                                        \
    {                                                                                        \
        .at_bit = 8 * (byte) + (bit), .bits = (count), .bytes = sizeof(((type *)0)->member), \
        .place = offsetof(type, member)                                                      \
    }

/* Bits of a member that do not fit in its field are cut; bits between fields are left alone. */
void wire_ib_fields_encode(const struct wire_ib_field *fields, const void *from, unsigned char *to);
void wire_ib_fields_decode(const struct wire_ib_field *fields, const unsigned char *from, void *to);

#endif
