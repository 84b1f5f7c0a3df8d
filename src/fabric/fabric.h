/* The one interface of all fabrics.
 *
 * A fabric whose remote memory this CPU can reach (`mem`) has no operations table:
 * fabric/direct.h runs everything in place. Any other fabric, or a layer that stands
 * between (relax), gives one. Each operation checks its remote addresses when it is
 * called (rank, area, range, alignment, a peer that is gone), so that a mistake is
 * answered at once and nothing is written; everything else its caller has checked. */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include "nic/memory.h"

struct fabric_lane;

enum fabric_atomic {
    FABRIC_ADD,
    FABRIC_AND,
    FABRIC_OR,
    FABRIC_XOR,
    FABRIC_SWAP,
    FABRIC_COMPARE_SWAP,
    FABRIC_READ,
};

struct fabric_ops {
    const char *name;

    int (*lane_open)(struct fabric_lane *lane);
    /* Completes what is outstanding first. */
    void (*lane_close)(struct fabric_lane *lane);

    /* bytes is 1, 2, 4 or 8. */
    int (*store)(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                 unsigned bytes);
    int (*botf)(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                size_t bytes);
    int (*put_signal)(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                      size_t bytes, struct dn_remote flag, uint64_t value);

    /* op may be NULL; else the fabric calls fabric_op_begin before it returns and
     * fabric_op_finish when the transfer is done. */
    int (*push)(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                size_t bytes, struct dn_op *op);
    int (*pull)(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                struct dn_op *op);

    /* bytes is 4 or 8. With old NULL the operation need not be done at return. */
    int (*atomic)(struct fabric_lane *lane, struct dn_remote remote, enum fabric_atomic operation,
                  unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old);

    /* What was sent before is ordered before, or complete. */
    int (*fence)(struct fabric_lane *lane);
    int (*quiet)(struct fabric_lane *lane);
};

/* One built-in area of one rank, in this address space. */
struct fabric_segment {
    unsigned char *base;
    uint64_t bytes; /* 0: there is no such area */
};

enum { FABRIC_SEGMENTS = NIC_AREA_FIRST_FREE, FABRIC_SEGMENT_BYTES_MIN = 4096 };
_Static_assert(FABRIC_SEGMENTS * sizeof(struct fabric_segment) == CACHE_LINE_BYTES,
               "the segments of a rank fill one line");

/* What the fast paths need of a lane, together. */
struct fabric_lane {
    uint32_t open; /* FABRIC_LANE_OPEN while it may be used */
    uint32_t node_count;
    /* node_count while the lane is open and direct, else 0: one test for the quick
     * paths instead of three. */
    uint32_t quick_count;
    const struct fabric_segment *segments; /* FABRIC_SEGMENTS for each rank */
    struct nic_port *ports;
    const struct fabric_ops *ops; /* NULL: direct */
    _Atomic uint64_t *stored_to;  /* a bit per rank this node has kicks to */
    _Atomic uint64_t *sleeping;   /* the group's hint, as nic_group.sleeping */
    const struct nic_view *view;
    void *state; /* the fabric's own */
};

#define FABRIC_LANE_OPEN UINT32_C(0x4e45504f)

/* Wakes whoever sleeps at that rank, whatever it waits for. */
void fabric_wake(const struct nic_view *view, uint32_t rank);

/* Wakes who sleeps at that rank and watches something of what was just written there. */
void fabric_wake_watching(const struct nic_view *view, uint32_t rank, const void *written,
                          uint64_t bytes);

/* Wakes who sleeps at that rank and watches anything. */
void fabric_wake_watching_any(const struct nic_view *view, uint32_t rank);

/* Whether somebody may sleep among the ranks this node stores to by AOTF. Inline and
 * without a call: every wait starts with it, and nearly always finds nobody. */
static inline bool fabric_stored_to_sleeps(const struct fabric_lane *lane)
{
    uint64_t both = 0;
    for (uint32_t word = 0; word * 64 < lane->node_count; word++) {
        both |= atomic_load_explicit(&lane->stored_to[word], memory_order_relaxed) &
                atomic_load_explicit(&lane->sleeping[word], memory_order_relaxed);
    }
    return UNLIKELY(both != 0);
}

/* Wakes those of them who watch something, which a store may have been to. */
void fabric_wake_stored_to(const struct fabric_lane *lane);

/* An operation's words: [0] OP_PENDING or OP_DONE, [1] its lane. */
#define FABRIC_OP_PENDING UINT64_C(0x474e49444e4550)
#define FABRIC_OP_DONE UINT64_C(0x454e4f44)

/* Of a transfer that is done before its call returns. */
static inline void fabric_op_mark_done(struct dn_op *op, struct fabric_lane *lane)
{
    op->words[1] = (uint64_t)(uintptr_t)lane;
    __atomic_store_n(&op->words[0], FABRIC_OP_DONE, __ATOMIC_RELAXED);
}

void fabric_op_begin(struct dn_op *op, struct fabric_lane *lane);
void fabric_op_finish(struct dn_op *op);
/* 0 and *done, or DN_EINVAL for words that no transfer was started with. */
static inline int fabric_op_state(const struct dn_op *op, bool *done)
{
    uint64_t state = __atomic_load_n(&op->words[0], __ATOMIC_ACQUIRE);
    if (state != FABRIC_OP_DONE && state != FABRIC_OP_PENDING) {
        return DN_EINVAL;
    }
    *done = state == FABRIC_OP_DONE;
    return 0;
}
struct fabric_lane *fabric_op_lane(const struct dn_op *op);

#endif
