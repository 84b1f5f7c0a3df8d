/* The DIMMnet packet as InfiniSWIF sends it, and what InfiniSWIF itself says in one.
 * doc/wire.md gives every byte.
 *
 *     | header 28 | counter 8 | acknowledgements | body | tag 16 |
 *
 * The header is what the receiver checks and orders by. The counter is never used twice
 * by a sender in one incarnation: it is the authentication's nonce, tells old packets
 * from new ones, and, echoed in acknowledgements, says which transmission arrived. The
 * body holds NIC operations (wire/operation.h) in UD and CD packets, part of a CD packet's
 * body in PIECE packets, and a control code in CONTROL packets. All numbers are little endian.
 *
 * Decoding checks everything that can be checked without state; what it gives lies
 * inside the bytes that it was given. */
#ifndef WIRE_PACKET_H
#define WIRE_PACKET_H

#include "base/base.h"

enum {
    WIRE_VERSION = 1,
    WIRE_HEADER_BYTES = 28,
    WIRE_COUNTER_BYTES = 8,
    WIRE_PREFIX_BYTES = WIRE_HEADER_BYTES + WIRE_COUNTER_BYTES,
    WIRE_TAG_BYTES = 16,
    WIRE_OVERHEAD_BYTES = WIRE_PREFIX_BYTES + WIRE_TAG_BYTES,
    WIRE_PACKET_BYTES_MAX = 9216, /* what a jumbo frame holds */
    WIRE_NODES_MAX = 65534,       /* node numbers 0..65533 */
    WIRE_NOBODY = 65535,
    WIRE_CHANNELS = 16, /* VC# 0..15 */
    WIRE_CLASSES = 2,
    WIRE_AFTER_MAX = 248, /* how far back `after` may point */
    /* A PIECE's body: where its data lies in the whole body, how long that is, and the data. */
    WIRE_PIECE_BYTES = 8,
    WIRE_PIECE_UNIT_BYTES = 128, /* pieces begin at a multiple of it */
    WIRE_PATH_ANSWER_BYTES = 9,
};

/* Where the fields lie by which a packet finds its receiver, for who looks at nothing else. */
enum { WIRE_AT_VERSION = 0, WIRE_AT_TARGET = 6, WIRE_AT_PGID = 8 };

enum wire_kind {
    WIRE_UD = 1,      /* unreliable datagram: no sequence */
    WIRE_CD = 2,      /* concurrent datagram: once, in order */
    WIRE_CONTROL = 3, /* acknowledgements and control codes alone */
    WIRE_PIECE = 4,   /* part of a CD packet that is too long for the path */
};

/* Requests and replies have sequences of their own, so that replies never wait behind
 * requests. */
enum wire_class { WIRE_REQUEST = 0, WIRE_REPLY = 1 };

/* Header flags. */
enum {
    WIRE_FLAG_REPLY = 1,     /* the class */
    WIRE_FLAG_AFTER_ALL = 2, /* what `after` means, see below */
    WIRE_FLAG_ANSWER = 4,    /* nothing follows soon: acknowledge at once */
    WIRE_FLAG_AGAIN = 8,     /* a retransmission; for traces only */
    WIRE_FLAGS = 15,
};

enum wire_control {
    WIRE_HELLO = 1,        /* who are you? (target_incarnation 0) */
    WIRE_WELCOME = 2,      /* the answer: the header's source_incarnation */
    WIRE_PROBE = 3,        /* are you there? */
    WIRE_PRESENT = 4,      /* the answer */
    WIRE_RESTARTED = 5,    /* you speak to an incarnation of mine that is gone */
    WIRE_DEAD = 6,         /* I have given your incarnation up for dead */
    WIRE_PATH = 7,         /* does a packet of this length arrive? (filled up with 0) */
    WIRE_PATH_CARRIES = 8, /* the answer: that one's counter */
    WIRE_CONTROL_LAST = WIRE_PATH_CARRIES,
};

struct wire_header {
    enum wire_kind kind;
    uint8_t flags;
    uint8_t channel; /* VC# */
    /* CD: this packet may take effect after the one that lies so many sequence numbers before
     * it, or with AFTER_ALL after that one and all before it. 0: at any time. Packets that are
     * not named are acknowledged already or not ordered before this one. */
    uint8_t after;
    uint16_t source;
    uint16_t target;
    uint32_t pgid;
    uint32_t source_incarnation; /* never 0 */
    uint32_t target_incarnation; /* 0: not known, only in CONTROL packets */
    uint32_t sequence;           /* CD: in the sequence of source, target and class */
    uint16_t ack_bytes;
    uint16_t body_bytes;
    uint64_t counter;
};

/* A part of a CD packet's body. The PIECE's header is that of the CD packet but for the kind, the
 * flags ANSWER and AGAIN, and lengths. */
struct wire_piece {
    uint16_t offset;      /* in the whole body; a multiple of WIRE_PIECE_UNIT_BYTES */
    uint16_t whole_bytes; /* of the whole body */
    /* Shorter than the whole; a multiple of WIRE_PIECE_UNIT_BYTES, or up to the whole's end. */
    uint16_t bytes;
    const unsigned char *data;
};

/* How a pair of nodes sends one class; in an acknowledgement, how much the receiver can take. */
enum wire_stage { WIRE_STOP_AND_WAIT = 0, WIRE_GO_BACK_N = 1, WIRE_SELECTIVE_REPEAT = 2 };

enum {
    WIRE_ACK_BYTES = 16,
    WIRE_ACK_BITMAP_WORDS_MAX = 8, /* 256 packets beyond `next` */
    WIRE_ACK_BYTES_MAX = WIRE_ACK_BYTES + 4 * WIRE_ACK_BITMAP_WORDS_MAX,
};

/* An acknowledgement of one class, as of when it was sent. */
struct wire_ack {
    enum wire_class class;
    enum wire_stage stage; /* what the receiver has room for; STOP_AND_WAIT: no RTEE */
    bool gap;              /* go-back-N: something after `next` came and was dropped */
    bool refused;          /* `next` came and there was no room to carry it out */
    uint8_t bitmap_words;  /* 0..WIRE_ACK_BITMAP_WORDS_MAX */
    uint16_t window;       /* packets from `next` on that may be under way; at least 1 */
    uint32_t next;         /* all before this have taken effect */
    uint32_t echo;         /* the lower half of the newest counter that came */
    uint32_t delay_ns;     /* how long ago that was; the wire has units of 64 ns, 24 bits */
    uint32_t bitmap[WIRE_ACK_BITMAP_WORDS_MAX]; /* bit i: next + 1 + i is here, too */
};

/* Writes header and counter, WIRE_PREFIX_BYTES. The fields are in range. */
void wire_header_encode(const struct wire_header *header, unsigned char *packet);

/* False: not a packet of this version, a field out of range, or lengths that do not add
 * up to `bytes`. Neither authenticity nor acknowledgements and body are looked at: they
 * may be encrypted until the guard has opened the packet. */
bool wire_header_decode(const unsigned char *packet, uint32_t bytes, struct wire_header *header);

/* How long the packet at the start of these bytes says it is: at most `bytes`, and at least
 * one even if it says nothing sensible. For packets that came one behind the other. */
uint32_t wire_packet_bytes(const unsigned char *packet, uint32_t bytes);

/* Whether the body of a CONTROL packet is nothing, or one code with what belongs to it. */
bool wire_control_check(const unsigned char *body, uint32_t bytes);

/* The answer to a PATH packet with that counter: WIRE_PATH_ANSWER_BYTES, and what it says. */
void wire_path_answer_encode(uint64_t counter, unsigned char *body);
uint64_t wire_path_answer_decode(const unsigned char *body);

/* Writes the piece's WIRE_PIECE_BYTES in front of its data, and the data. */
void wire_piece_encode(const struct wire_piece *piece, unsigned char *body);

/* Reads the body of a PIECE packet; false: it is none. The data lies inside these bytes, and the
 * piece inside the whole. */
bool wire_piece_decode(const unsigned char *body, uint32_t bytes, struct wire_piece *piece);

/* Writes one acknowledgement, gives its bytes (at most WIRE_ACK_BYTES_MAX). */
uint32_t wire_ack_encode(const struct wire_ack *ack, unsigned char *to);

/* Reads the acknowledgement at *at and moves *at behind it; false at the end. What
 * wire_acks_check has passed is not malformed. */
bool wire_ack_decode(const unsigned char *acks, uint32_t bytes, uint32_t *at, struct wire_ack *ack);

/* Whether the bytes are whole acknowledgements with fields in range, at most one of
 * each class. */
bool wire_acks_check(const unsigned char *acks, uint32_t bytes);

/* ---- Little-endian numbers ------------------------------------------------------- */

static inline void wire_put16(unsigned char *to, uint16_t value)
{
    to[0] = (unsigned char)value;
    to[1] = (unsigned char)(value >> 8);
}

static inline void wire_put32(unsigned char *to, uint32_t value)
{
    wire_put16(to, (uint16_t)value);
    wire_put16(to + 2, (uint16_t)(value >> 16));
}

static inline void wire_put64(unsigned char *to, uint64_t value)
{
    wire_put32(to, (uint32_t)value);
    wire_put32(to + 4, (uint32_t)(value >> 32));
}

static inline uint16_t wire_get16(const unsigned char *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t wire_get32(const unsigned char *from)
{
    return wire_get16(from) | (uint32_t)wire_get16(from + 2) << 16;
}

static inline uint64_t wire_get64(const unsigned char *from)
{
    return wire_get32(from) | (uint64_t)wire_get32(from + 4) << 32;
}

#endif
