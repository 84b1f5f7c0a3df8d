/* Lines: what a DIMMnet packet consists of between NIC and router (paper 003, figure 12).
 * doc/wire.md gives every byte.
 *
 *     0            8      9
 *     | data       | type | check |      10 bytes: the 80 bits of an SW2 frame, two OIP frames
 *
 * The check bits are an extended Hamming code (80, 72) over data and type: it corrects any one
 * wrong bit of the 80 and detects any two. Positions 1 .. 79; the check bits stand at the powers
 * of two, the 72 bits of data and type in order at the others, and check bit i makes the sum
 * over all positions that have bit i set even. The eightieth bit does so for all.
 *
 * A packet's first line is its routing header (wire/ring_header.h). A router decodes each line
 * that comes from its NIC and encodes each one that goes there; between routers their data travels
 * in the flits of transfers with a CRC-32 (wire/transfer.h). */
#ifndef WIRE_LINE_H
#define WIRE_LINE_H

#include "wire/packet.h"

enum {
    WIRE_LINE_DATA_BYTES = 8,
    WIRE_LINE_BYTES = 10,
    WIRE_LINE_BITS = 8 * WIRE_LINE_BYTES,
    WIRE_LINES_MAX = 1 + WIRE_PACKET_BYTES_MAX / WIRE_LINE_DATA_BYTES, /* of a packet */
};

/* None of these is a line of only zeros or only ones, which a dead cable gives. */
enum wire_line_kind {
    WIRE_LINE_HEADER = 1, /* the first line, more follow */
    WIRE_LINE_DATA = 2,
    WIRE_LINE_TAIL = 3,   /* the last */
    WIRE_LINE_SINGLE = 4, /* the first and the last */
};

struct wire_line {
    enum wire_line_kind kind;
    /* Bytes of data that are used: 8; in a TAIL 1 .. 8, the others are 0. A TAIL of 0 says that the
     * packet is broken: a line of it could not be read, and who gets it drops it. */
    uint8_t bytes;
    unsigned char data[WIRE_LINE_DATA_BYTES];
};

/* Kind and bytes as one byte, as they stand in lines and transfers. */
uint8_t wire_line_type(const struct wire_line *line);
/* The line of that type and data; false: there is none. */
bool wire_line_from_type(uint8_t type, const unsigned char data[WIRE_LINE_DATA_BYTES],
                         struct wire_line *line);

void wire_line_encode(const struct wire_line *line, unsigned char to[WIRE_LINE_BYTES]);

enum wire_line_result {
    WIRE_LINE_GOOD,
    WIRE_LINE_CORRECTED, /* one bit was wrong */
    WIRE_LINE_DAMAGED,   /* two were, or more */
    WIRE_LINE_MALFORMED, /* none was, and yet it is no line */
};

/* The line is set only if it is GOOD or CORRECTED. */
enum wire_line_result wire_line_decode(const unsigned char from[WIRE_LINE_BYTES],
                                       struct wire_line *line);

/* ---- Whole packets ------------------------------------------------------------------------ */

/* How many bytes of lines a packet takes, with a line for its routing header. */
static inline uint32_t wire_lines_bytes(uint32_t packet_bytes)
{
    return WIRE_LINE_BYTES * (1 + (packet_bytes + WIRE_LINE_DATA_BYTES - 1) / WIRE_LINE_DATA_BYTES);
}

/* Writes wire_lines_bytes; packet_bytes is at most WIRE_PACKET_BYTES_MAX, and may be 0. */
void wire_lines_encode(const unsigned char header[WIRE_LINE_DATA_BYTES],
                       const unsigned char *packet, uint32_t packet_bytes, unsigned char *to);

/* Reads the lines of one packet. False: a line is damaged or malformed, the first and last are not
 * where they belong, the last says that the packet is broken, or it is longer than `room`; then
 * only `corrected_count`, to which each corrected line adds 1, can be relied on. */
bool wire_lines_decode(const unsigned char *lines, uint32_t bytes,
                       unsigned char header[WIRE_LINE_DATA_BYTES], unsigned char *packet,
                       uint32_t room, uint32_t *packet_bytes, uint64_t *corrected_count);

#endif
