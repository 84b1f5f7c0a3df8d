/* InfiniBand's link packets, by which the receiver of a cable gives its sender credits for one
 * virtual lane. doc/wire.md gives every bit; the numbers are big endian.
 *
 *     0     4 bits  16   20      32
 *     | Op  | FCTBS | VL | FCCL  | LPCRC 16 |      6 bytes
 *
 * Both ends count blocks of 64 bytes modulo 4096. FCTBS is how many the sender of this packet has
 * sent on that lane of its own direction; FCCL is up to which block it can receive. The other end
 * takes FCTBS for its own count of what has come, so that blocks of packets which were lost do not
 * hold their credits for ever, and sends no packet that would end beyond FCCL. A lost link packet
 * loses nothing either: each tells all of the lane's state. */
#ifndef WIRE_IB_LINK_H
#define WIRE_IB_LINK_H

#include "wire/ib_packet.h"

enum {
    WIRE_IB_LINK_BYTES = 6,
    WIRE_IB_BLOCK_BYTES = 64,     /* what a credit is for */
    WIRE_IB_BLOCKS_MODULO = 4096, /* counts have 12 bits */
    WIRE_IB_CREDITS_MAX = 2048,   /* so that "beyond the limit" can be told from "before it" */
};

enum wire_ib_link_op {
    WIRE_IB_LINK_NORMAL = 0,
    WIRE_IB_LINK_INIT = 1, /* while the link comes up: FCTBS is 0 */
};

struct wire_ib_link {
    enum wire_ib_link_op op;
    uint8_t vl;           /* 0 .. 14: the management lane has no flow control */
    uint16_t fctbs, fccl; /* flow control total blocks sent, credit limit; below 4096 */
};

void wire_ib_link_encode(const struct wire_ib_link *link, unsigned char to[WIRE_IB_LINK_BYTES]);
/* GOOD, VCRC_WRONG (the LPCRC) or MALFORMED: another length, Op or lane. Only a GOOD one is set. */
enum wire_ib_result wire_ib_link_decode(const unsigned char *from, uint32_t bytes,
                                        struct wire_ib_link *link);

/* ---- Counting blocks ---------------------------------------------------------------------- */

/* How many blocks a packet takes in the receiver's buffer; its bytes are those from LRH to VCRC. */
static inline uint32_t wire_ib_blocks(uint32_t packet_bytes)
{
    return (packet_bytes + WIRE_IB_BLOCK_BYTES - 1) / WIRE_IB_BLOCK_BYTES;
}

static inline uint16_t wire_ib_blocks_add(uint16_t count, uint32_t blocks)
{
    return (uint16_t)((count + blocks) % WIRE_IB_BLOCKS_MODULO);
}

/* How many blocks a port may still send that has sent `fctbs` itself and was told `fccl` (the FCTBS
 * of the packet with that FCCL counts the other direction). A difference of more than 2048 is
 * behind the limit: none. */
static inline uint32_t wire_ib_credits(uint16_t fccl, uint16_t fctbs)
{
    uint32_t credits = ((uint32_t)fccl - fctbs) % WIRE_IB_BLOCKS_MODULO;
    return credits <= WIRE_IB_CREDITS_MAX ? credits : 0;
}

/* The FCCL of a port that has counted that many blocks as received and has that many free. */
static inline uint16_t wire_ib_fccl(uint16_t received, uint32_t free_blocks)
{
    return wire_ib_blocks_add(received, free_blocks < WIRE_IB_CREDITS_MAX ? free_blocks
                                                                          : WIRE_IB_CREDITS_MAX);
}

#endif
