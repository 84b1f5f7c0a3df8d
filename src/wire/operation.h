/* NIC operations: what stands in the body of UD and CD packets, one behind the other.
 * doc/wire.md gives every byte.
 *
 *     0        1        2      4        8          16
 *     | opcode | detail | bytes | area  | offset    | data, to whole 8 bytes | ...
 *
 * The first 16 bytes are AOTF's header seed with its remote address and length filled
 * in; the other operations use the same places for their own. */
#ifndef WIRE_OPERATION_H
#define WIRE_OPERATION_H

#include "wire/packet.h"

enum wire_opcode {
    /* Requests. */
    WIRE_AOTF = 1,    /* detail: WIRE_SKIP or 0; bytes 1..8; data: 8 bytes, little endian */
    WIRE_BOTF = 2,    /* data: 1..464 bytes */
    WIRE_PUSH = 3,    /* data */
    WIRE_PULL = 4,    /* bytes: how many are wanted; data: tag 8 */
    WIRE_ATOMIC = 5,  /* detail: enum wire_atomic; bytes 4 or 8; data: tag, operand, expected */
    WIRE_SERVICE = 6, /* detail: enum wire_service; area, offset: its own; data */

    /* Replies; offset is the request's tag. */
    WIRE_PULLED = 16,  /* data */
    WIRE_FETCHED = 17, /* bytes 4 or 8; data: old value, 8 */
    WIRE_REFUSED = 18, /* detail: which DN_E..., negated; no data */
    WIRE_SERVED = 19,  /* detail: enum wire_service; area: its own; data */
};

enum { WIRE_SKIP = 1 }; /* AOTF only: the offset is physical, no address translation */

enum wire_atomic {
    WIRE_ADD,
    WIRE_AND,
    WIRE_OR,
    WIRE_XOR,
    WIRE_SWAP,
    WIRE_COMPARE_SWAP,
    WIRE_READ,
    WIRE_ATOMICS,
};

enum wire_service { WIRE_LOCK = 1, WIRE_BARRIER = 2, WIRE_MESSAGE = 3, WIRE_SERVICE_LAST = 3 };

enum {
    WIRE_OPERATION_BYTES = 16, /* without data */
    WIRE_BOTF_BYTES_MAX = 464,
    WIRE_NO_TAG = 0, /* an atomic whose old value nobody wants: no reply */
};

/* An operation; `data` lies in the body it was decoded from. */
struct wire_operation {
    enum wire_opcode opcode;
    uint8_t detail;
    uint16_t bytes; /* as in the table above */
    uint32_t area;
    uint64_t offset;  /* or a reply's tag */
    uint64_t tag;     /* PULL, ATOMIC */
    uint64_t operand; /* AOTF: the value; ATOMIC: the operand; FETCHED: the old value */
    uint64_t expected;
    const unsigned char *data; /* BOTF, PUSH, PULLED, SERVICE, SERVED */
};

/* How many bytes of a body the operation takes, a multiple of 8. */
uint32_t wire_operation_bytes(const struct wire_operation *operation);

/* Writes the operation, all of wire_operation_bytes. With data NULL the place of its data
 * is left to the caller: it starts WIRE_OPERATION_BYTES behind `to`. */
void wire_operation_encode(const struct wire_operation *operation, unsigned char *to);

/* Reads the operation at *at and moves *at behind it; false: the end, or (with *at left
 * before `bytes`) malformed. Replies are read only of class WIRE_REPLY, requests only of
 * class WIRE_REQUEST. */
bool wire_operation_decode(const unsigned char *body, uint32_t bytes, enum wire_class class,
                           uint32_t *at, struct wire_operation *operation);

/* The first byte of an operation, which may be none of enum wire_opcode. */
static inline uint8_t wire_operation_opcode(const void *operation)
{
    return *(const unsigned char *)operation;
}

/* Whether a body consists of whole, well-formed operations of its class. */
bool wire_body_check(const unsigned char *body, uint32_t bytes, enum wire_class class);

/* How many bytes of replies carrying out a request makes, at most. */
uint32_t wire_reply_bytes(const struct wire_operation *request);

#endif
