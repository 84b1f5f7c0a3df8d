/* Lines to bytes and back, and the code that protects them. */
#include "wire/line.h"

#include <string.h>

enum {
    AT_TYPE = 8,
    AT_CHECK = 9,
    CHECK_BITS = 7,
    CHECK_MASK = (1 << CHECK_BITS) - 1,
    PARITY_BIT = 1 << CHECK_BITS, /* of the check byte: over all 80 bits */
    POSITION_LAST = 79,

    KIND_MASK = 15,
    BYTES_SHIFT = 4,
};

/* For each check bit, the bits of data and type whose position has that bit set. */
static const struct {
    uint64_t data;
    uint8_t type;
} covered[CHECK_BITS] = {
    {UINT64_C(0xab55555556aaad5b), 0xaa}, {UINT64_C(0xcd9999999b33366d), 0xcc},
    {UINT64_C(0xf1e1e1e1e3c3c78e), 0xf0}, {UINT64_C(0x01fe01fe03fc07f0), 0xff},
    {UINT64_C(0x01fffe0003fff800), 0x00}, {UINT64_C(0x01fffffffc000000), 0x00},
    {UINT64_C(0xfe00000000000000), 0xff},
};

static uint32_t parity(uint64_t bits)
{
    bits ^= bits >> 32;
    bits ^= bits >> 16;
    bits ^= bits >> 8;
    bits ^= bits >> 4;
    return 0x6996 >> (bits & 15) & 1;
}

static uint32_t check_bits(uint64_t data, uint8_t type)
{
    uint32_t check = 0;
    for (uint32_t i = 0; i < CHECK_BITS; i++) {
        check |= parity((data & covered[i].data) ^ (type & covered[i].type)) << i;
    }
    return check;
}

/* Flips the bit of data or type at a position of the code, which is no power of two. */
static void turn(uint32_t position, uint64_t *data, uint8_t *type)
{
    /* As many check bits stand before it as it has binary digits. */
    uint32_t digits = 32 - (uint32_t)__builtin_clz(position);
    uint32_t bit = position - 1 - digits;
    if (bit < 64) {
        *data ^= UINT64_C(1) << bit;
    } else {
        *type ^= (uint8_t)(1u << (bit - 64));
    }
}

uint8_t wire_line_type(const struct wire_line *line)
{
    return (uint8_t)((uint32_t)line->kind | (uint32_t)line->bytes << BYTES_SHIFT);
}

bool wire_line_from_type(uint8_t type, const unsigned char data[WIRE_LINE_DATA_BYTES],
                         struct wire_line *line)
{
    uint32_t kind = type & KIND_MASK;
    uint8_t bytes = type >> BYTES_SHIFT;
    if (kind < WIRE_LINE_HEADER || kind > WIRE_LINE_SINGLE || bytes > WIRE_LINE_DATA_BYTES) {
        return false;
    }
    if (bytes < WIRE_LINE_DATA_BYTES) {
        if (kind != WIRE_LINE_TAIL) {
            return false;
        }
        for (uint32_t i = bytes; i < WIRE_LINE_DATA_BYTES; i++) {
            if (data[i] != 0) {
                return false;
            }
        }
    }
    line->kind = (enum wire_line_kind)kind;
    line->bytes = bytes;
    memcpy(line->data, data, WIRE_LINE_DATA_BYTES);
    return true;
}

void wire_line_encode(const struct wire_line *line, unsigned char to[WIRE_LINE_BYTES])
{
    struct wire_line checked;
    uint8_t type = wire_line_type(line);
    INVARIANT(wire_line_from_type(type, line->data, &checked));
    uint64_t data = wire_get64(line->data);
    uint32_t check = check_bits(data, type);
    if (parity(data ^ type ^ check) != 0) {
        check |= PARITY_BIT;
    }
    memcpy(to, line->data, WIRE_LINE_DATA_BYTES);
    to[AT_TYPE] = type;
    to[AT_CHECK] = (unsigned char)check;
}

enum wire_line_result wire_line_decode(const unsigned char from[WIRE_LINE_BYTES],
                                       struct wire_line *line)
{
    uint64_t data = wire_get64(from);
    uint8_t type = from[AT_TYPE];
    uint32_t check = from[AT_CHECK];
    uint32_t position = check_bits(data, type) ^ (check & CHECK_MASK);
    bool is_odd = parity(data ^ type ^ check) != 0;
    if (is_odd) {
        /* An odd number of bits is wrong; if only one is, it is this one. */
        if (position > POSITION_LAST) {
            return WIRE_LINE_DAMAGED;
        }
        if (position != 0 && !is_power_of_two(position)) {
            turn(position, &data, &type);
        }
    } else if (position != 0) {
        return WIRE_LINE_DAMAGED;
    }
    unsigned char corrected[WIRE_LINE_DATA_BYTES];
    wire_put64(corrected, data);
    if (!wire_line_from_type(type, corrected, line)) {
        return is_odd ? WIRE_LINE_DAMAGED : WIRE_LINE_MALFORMED;
    }
    return is_odd ? WIRE_LINE_CORRECTED : WIRE_LINE_GOOD;
}

/* ---- Whole packets ------------------------------------------------------------------------ */

void wire_lines_encode(const unsigned char header[WIRE_LINE_DATA_BYTES],
                       const unsigned char *packet, uint32_t packet_bytes, unsigned char *to)
{
    INVARIANT(packet_bytes <= WIRE_PACKET_BYTES_MAX);
    struct wire_line line = {
        .kind = packet_bytes == 0 ? WIRE_LINE_SINGLE : WIRE_LINE_HEADER,
        .bytes = WIRE_LINE_DATA_BYTES,
    };
    memcpy(line.data, header, WIRE_LINE_DATA_BYTES);
    wire_line_encode(&line, to);
    for (uint32_t at = 0; at < packet_bytes; at += line.bytes) {
        uint32_t left = packet_bytes - at;
        line = (struct wire_line){.kind = WIRE_LINE_DATA, .bytes = WIRE_LINE_DATA_BYTES};
        if (left <= WIRE_LINE_DATA_BYTES) {
            line.kind = WIRE_LINE_TAIL;
            line.bytes = (uint8_t)left;
        }
        memcpy(line.data, packet + at, line.bytes);
        to += WIRE_LINE_BYTES;
        wire_line_encode(&line, to);
    }
}

/* Whether a line of that kind may stand in that place. */
static bool is_in_place(enum wire_line_kind kind, uint32_t index, uint32_t count)
{
    if (count == 1) {
        return kind == WIRE_LINE_SINGLE;
    }
    if (index == 0) {
        return kind == WIRE_LINE_HEADER;
    }
    return kind == (index == count - 1 ? WIRE_LINE_TAIL : WIRE_LINE_DATA);
}

bool wire_lines_decode(const unsigned char *lines, uint32_t bytes,
                       unsigned char header[WIRE_LINE_DATA_BYTES], unsigned char *packet,
                       uint32_t room, uint32_t *packet_bytes, uint64_t *corrected_count)
{
    uint32_t count = bytes / WIRE_LINE_BYTES;
    if (count == 0 || count > WIRE_LINES_MAX || bytes % WIRE_LINE_BYTES != 0) {
        return false;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct wire_line line;
        enum wire_line_result result = wire_line_decode(lines + (size_t)i * WIRE_LINE_BYTES, &line);
        if (result == WIRE_LINE_CORRECTED) {
            (*corrected_count)++;
        } else if (result != WIRE_LINE_GOOD) {
            return false;
        }
        if (!is_in_place(line.kind, i, count) || line.bytes == 0 ||
            (i > 0 && line.bytes > room - at)) {
            return false;
        }
        if (i == 0) {
            memcpy(header, line.data, WIRE_LINE_DATA_BYTES);
        } else {
            memcpy(packet + at, line.data, line.bytes);
            at += line.bytes;
        }
    }
    *packet_bytes = at;
    return true;
}
