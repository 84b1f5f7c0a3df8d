/* Transfers: what goes over a link between two ring routers at a time, under one CRC-32.
 * doc/wire.md gives every byte.
 *
 *     0      1       2        4
 *     | kind | count | number | count flits: a tag of 2 and the data | CRC |   a frame
 *     | kind | count | number | count sums of 2                      | CRC |   an ACK or a NACK
 *
 * A flit is what the link's three data lanes carry in a cycle, 12 bytes on the ring board. Its tag
 * goes beside it on the fourth lane: which virtual channel, and whether it is a packet's first or
 * last. The lines of a packet (wire/line.h) lie in its flits one behind the other, 8 bytes each,
 * without types and check bits: those follow from the tags. The paper does not say how line types
 * come back; so they do.
 *
 * Frames are numbered; the answers say which have come (sim/frames.h has the rules), and
 * give the credits of each channel as the sum since the beginning, so that a lost answer loses
 * none. Answers go over the fourth lane of the other direction, between its tags. */
#ifndef WIRE_TRANSFER_H
#define WIRE_TRANSFER_H

#include "wire/line.h"

enum wire_transfer_kind { WIRE_FRAME = 1, WIRE_FRAME_ACK = 2, WIRE_FRAME_NACK = 3 };

enum {
    WIRE_TRANSFER_HEADER_BYTES = 4,
    WIRE_TRANSFER_OVERHEAD_BYTES = WIRE_TRANSFER_HEADER_BYTES + 4, /* with the CRC */
    WIRE_FLIT_TAG_BYTES = 2,
    WIRE_FLIT_BYTES_MAX = 255,
    WIRE_TRANSFER_FLITS_MAX = 255,
    WIRE_TRANSFER_CHANNELS_MAX = 64,
    WIRE_TRANSFER_BYTES_MAX = WIRE_TRANSFER_OVERHEAD_BYTES +
                              (WIRE_FLIT_TAG_BYTES + WIRE_FLIT_BYTES_MAX) * WIRE_TRANSFER_FLITS_MAX,
};

struct wire_transfer {
    enum wire_transfer_kind kind;
    uint8_t count; /* a frame: flits, 1 .. 255; an answer: channels, 0 .. 64 */
    uint16_t number;
    uint8_t flit_bytes; /* a frame: of data in a flit, 1 .. 255; an answer: 0 */
};

/* A flit's tag. */
struct wire_flit {
    uint8_t channel; /* 0 .. 63 */
    bool is_head, is_tail;
    /* Bytes that are used: all; in a tail at least 1, the others are 0. In a tail 0 says that the
     * packet is broken: a line of it could not be read. */
    uint8_t bytes;
};

uint32_t wire_transfer_bytes(const struct wire_transfer *transfer);

/* Begin with the header, fill in each of the `count` flits or credits, then seal. */
void wire_transfer_begin(const struct wire_transfer *transfer, unsigned char *to);
/* Copies the bytes that the flit uses; NULL: it is a broken packet's tail. */
void wire_transfer_flit_encode(const struct wire_transfer *transfer, unsigned char *to,
                               uint32_t index, const struct wire_flit *flit,
                               const unsigned char *data);
void wire_transfer_credits_encode(const struct wire_transfer *transfer, unsigned char *to,
                                  uint32_t channel, uint16_t sum);
void wire_transfer_seal(const struct wire_transfer *transfer, unsigned char *to);

/* False: damaged, or not a transfer. After true all its flits and credits can be decoded. */
bool wire_transfer_decode(const unsigned char *from, uint32_t bytes,
                          struct wire_transfer *transfer);
/* Gives the flit's data, inside the transfer. */
const unsigned char *wire_transfer_flit_decode(const struct wire_transfer *transfer,
                                               const unsigned char *from, uint32_t index,
                                               struct wire_flit *flit);
uint16_t wire_transfer_credits_decode(const struct wire_transfer *transfer,
                                      const unsigned char *from, uint32_t channel);

#endif
