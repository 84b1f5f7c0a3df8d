/* InfiniBand packets of two sorts: raw ones, which carry a proprietary payload, and management
 * packets. doc/wire.md gives every byte; InfiniBand's own numbers are big endian.
 *
 *     0     8     12
 *     | LRH | RWH | payload, filled up to 4 bytes | VCRC 2 |          a raw packet
 *
 *     0     8     20     28
 *     | LRH | BTH | DETH | MAD 256 | ICRC 4 | VCRC 2 |                a management packet
 *
 * The VCRC covers all before it and is made anew for each cable, because a switch may move a packet
 * to another virtual lane. The ICRC is made once by the sender; it takes for ones what may change
 * on the way.
 *
 * As everywhere in src/wire there is one encoding of each packet: the bits that InfiniBand
 * reserves, and those that no sender of ours sets (solicited event, migration state, pad count,
 * asking for an acknowledgement), are 0, and a packet in which they are not is malformed. */
#ifndef WIRE_IB_PACKET_H
#define WIRE_IB_PACKET_H

#include "base/base.h"

enum {
    WIRE_IB_LRH_BYTES = 8,
    WIRE_IB_RWH_BYTES = 4,
    WIRE_IB_BTH_BYTES = 12,
    WIRE_IB_DETH_BYTES = 8,
    WIRE_IB_MAD_BYTES = 256,
    WIRE_IB_ICRC_BYTES = 4,
    WIRE_IB_VCRC_BYTES = 2,
    WIRE_IB_MTU_MAX = 4096,

    WIRE_IB_RAW_OVERHEAD_BYTES = WIRE_IB_LRH_BYTES + WIRE_IB_RWH_BYTES + WIRE_IB_VCRC_BYTES,
    WIRE_IB_RAW_BYTES_MAX = WIRE_IB_RAW_OVERHEAD_BYTES + WIRE_IB_MTU_MAX,
    WIRE_IB_MANAGEMENT_BYTES = WIRE_IB_LRH_BYTES + WIRE_IB_BTH_BYTES + WIRE_IB_DETH_BYTES +
                               WIRE_IB_MAD_BYTES + WIRE_IB_ICRC_BYTES + WIRE_IB_VCRC_BYTES,

    WIRE_IB_ETHERTYPE = 0x88b5, /* in the RWH: "local experimental", free for everybody's own use */
    WIRE_IB_VLS = 16,
    WIRE_IB_MANAGEMENT_VL = 15,
    WIRE_IB_SLS = 16,
    WIRE_IB_LID_UNICAST_LAST = 0xbfff, /* the first is 1 */
    WIRE_IB_LID_PERMISSIVE = 0xffff,   /* "whoever is at the other end", in management packets */
    WIRE_IB_UD_SEND_ONLY = 0x64,       /* the BTH's opcode */
};

/* LNH: what comes behind the LRH. */
enum wire_ib_next {
    WIRE_IB_RAW = 0,
    WIRE_IB_RAW_IPV6 = 1,
    WIRE_IB_LOCAL = 2,  /* a BTH */
    WIRE_IB_GLOBAL = 3, /* a GRH and a BTH */
};

/* What a decoder says. A packet whose bits were changed on the way is one with a wrong CRC, even if
 * its fields make no sense any more: the CRCs are looked at first. */
enum wire_ib_result {
    WIRE_IB_GOOD,
    WIRE_IB_VCRC_WRONG,  /* of a link packet: its LPCRC */
    WIRE_IB_ICRC_WRONG,  /* the VCRC fits: the damage came between two cables, in a switch */
    WIRE_IB_CRC32_WRONG, /* the same of a frame (wire/ib_frame.h) */
    WIRE_IB_MALFORMED,   /* no bit was changed, and yet it is no such packet */
};
/* "good", "VCRC wrong", ... */
const char *wire_ib_result_name(enum wire_ib_result result);

/* ---- Local route header ------------------------------------------------------------------- */

struct wire_ib_lrh {
    uint8_t vl, sl; /* 0 .. 15 */
    enum wire_ib_next next;
    uint16_t dlid, slid;
    uint16_t words; /* PktLen: 4 bytes each, from the LRH to before the VCRC; 11 bits */
};

/* LVer is 0. */
void wire_ib_lrh_encode(const struct wire_ib_lrh *lrh, unsigned char to[WIRE_IB_LRH_BYTES]);
/* False: a reserved bit is set, or LVer is not 0. */
bool wire_ib_lrh_decode(const unsigned char from[WIRE_IB_LRH_BYTES], struct wire_ib_lrh *lrh);

/* ---- CRCs --------------------------------------------------------------------------------- */

/* The number of bytes is that of the whole packet. It has room for the VCRC, which is written. */
void wire_ib_vcrc_put(unsigned char *packet, uint32_t bytes);
/* The packet is not shorter than an LRH and a VCRC. */
bool wire_ib_vcrc_fits(const unsigned char *packet, uint32_t bytes);

/* What a switch does with a packet that it sends out on another lane: VL and VCRC change. */
void wire_ib_vl_set(unsigned char *packet, uint32_t bytes, uint8_t vl);

/* The ICRC of a local packet, over its first `bytes`: LRH, BTH and all before the ICRC. */
uint32_t wire_ib_icrc(const unsigned char *packet, uint32_t bytes);
/* The same without a BTH: only the VL is taken for ones. A raw packet has no ICRC of InfiniBand's;
 * frames (wire/ib_frame.h) have this one. */
uint32_t wire_ib_raw_crc32(const unsigned char *packet, uint32_t bytes);

/* ---- Raw packets --------------------------------------------------------------------------- */

struct wire_ib_raw {
    uint8_t vl, sl;      /* not on VL 15 */
    uint16_t dlid, slid; /* from a unicast address to a unicast or multicast one */
    /* Bytes of the payload, at most WIRE_IB_MTU_MAX. A decoder gives a multiple of 4: the header
     * has no other length, so the payload itself must say which bytes are there to fill it up. */
    uint32_t payload_bytes;
};

uint32_t wire_ib_raw_bytes(uint32_t payload_bytes);

/* Writes wire_ib_raw_bytes; what fills up the payload is 0. */
void wire_ib_raw_encode(const struct wire_ib_raw *raw, const void *payload, unsigned char *to);
/* `raw` and `payload`, which lies inside the packet, are set only if it is GOOD. */
enum wire_ib_result wire_ib_raw_decode(const unsigned char *from, uint32_t bytes,
                                       struct wire_ib_raw *raw, const unsigned char **payload);

/* The two halves of wire_ib_raw_encode, for a payload that is written in place: headers first, then
 * payload_bytes (a multiple of 4) behind the RWH, then wire_ib_vcrc_put. */
void wire_ib_raw_begin(const struct wire_ib_raw *raw, unsigned char *to);
/* What wire_ib_raw_decode does after the VCRC; false: malformed. */
bool wire_ib_raw_read(const unsigned char *from, uint32_t bytes, struct wire_ib_raw *raw);

/* ---- Management packets ------------------------------------------------------------------- */

/* Unreliable datagrams to queue pair 0 (subnet management, on VL 15 and only there) or to another,
 * mostly 1 (the other classes). */
struct wire_ib_management {
    uint8_t vl, sl;
    uint16_t dlid, slid; /* dlid is not 0; slid is a unicast address or the permissive one */
    uint16_t p_key;
    uint32_t dest_qp, source_qp, psn; /* 24 bits each */
    uint32_t q_key;
};

/* Writes WIRE_IB_MANAGEMENT_BYTES. */
void wire_ib_management_encode(const struct wire_ib_management *management,
                               const unsigned char mad[WIRE_IB_MAD_BYTES], unsigned char *to);
/* `management` and `mad`, which lies inside the packet, are set only if it is GOOD. */
enum wire_ib_result wire_ib_management_decode(const unsigned char *from, uint32_t bytes,
                                              struct wire_ib_management *management,
                                              const unsigned char **mad);

#endif
