/* Transfers: what goes over a link between two ring routers at a time, under one CRC-32.
 * doc/wire.md gives every byte.
 *
 *     0      1       2        4                                   the data lanes:
 *     | kind | count | number | count lines of 10 bytes | CRC |   a frame
 *                                                                 the flow control lane:
 *     | kind | count | number | count sums of 2 bytes   | CRC |   an ACK or a NACK
 *
 * Frames are numbered; the answers say which have come (sim/ring/frames.h has the rules), and
 * give the credits of each channel as the sum since the beginning, so that a lost answer loses
 * none. A line travels with its type and its channel, without ECC: the paper does not say how
 * line types come back, so they are carried. */
#ifndef WIRE_TRANSFER_H
#define WIRE_TRANSFER_H

#include "wire/line.h"

enum wire_transfer_kind { WIRE_FRAME = 1, WIRE_FRAME_ACK = 2, WIRE_FRAME_NACK = 3 };

enum {
    WIRE_TRANSFER_HEADER_BYTES = 4,
    WIRE_TRANSFER_OVERHEAD_BYTES = WIRE_TRANSFER_HEADER_BYTES + 4, /* with the CRC */
    WIRE_TRANSFER_LINE_BYTES = 10,
    WIRE_TRANSFER_LINES_MAX = 255,
    WIRE_TRANSFER_CHANNELS_MAX = 64,
    WIRE_TRANSFER_BYTES_MAX = WIRE_TRANSFER_OVERHEAD_BYTES +
                              WIRE_TRANSFER_LINE_BYTES * WIRE_TRANSFER_LINES_MAX,
};

struct wire_transfer {
    enum wire_transfer_kind kind;
    uint8_t count; /* a frame: lines, 1 .. 255; an answer: channels, 0 .. 64 */
    uint16_t number;
};

/* The length of a transfer of that kind and count. */
static inline uint32_t wire_transfer_bytes(enum wire_transfer_kind kind, uint8_t count)
{
    return WIRE_TRANSFER_OVERHEAD_BYTES +
           (uint32_t)count * (kind == WIRE_FRAME ? WIRE_TRANSFER_LINE_BYTES : 2);
}

/* Begin with the header, fill in each of the `count` lines or credits, then seal. */
void wire_transfer_begin(const struct wire_transfer *transfer, unsigned char *to);
void wire_transfer_line_encode(unsigned char *transfer, uint32_t index, uint8_t channel,
                               const struct wire_line *line);
void wire_transfer_credits_encode(unsigned char *transfer, uint32_t channel, uint16_t sum);
void wire_transfer_seal(unsigned char *transfer);

/* False: damaged, or not a transfer. After true all its lines and credits can be decoded. */
bool wire_transfer_decode(const unsigned char *from, uint32_t bytes,
                          struct wire_transfer *transfer);
void wire_transfer_line_decode(const unsigned char *transfer, uint32_t index, uint8_t *channel,
                               struct wire_line *line);
uint16_t wire_transfer_credits_decode(const unsigned char *transfer, uint32_t channel);

#endif
