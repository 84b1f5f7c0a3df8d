/* The one interface of all fabrics.
 *
 * A fabric whose remote memory this CPU can reach (`mem`) has no operations table:
 * fabric/in_place.h runs everything in place. Any other fabric, or a layer that stands
 * between (relax), gives one. Each operation checks its remote addresses when it is
 * called (rank, area, range, alignment, a peer that is gone), so that a mistake is
 * answered at once and nothing is written; everything else its caller has checked.
 *
 * On a packet fabric (`udp`) each process has the group's memory (group/memory.h) to itself:
 * its own node's is the real one, every other node's is a *mirror*, which holds what this
 * process wrote there and what it was sent. The library's own words (teams, rings, area
 * tables) are written in place and then reflected to the nodes that read them, which find
 * them in their mirrors at the same place. */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include "group/memory.h"

struct fabric_lane;
struct nic_services;

enum fabric_atomic {
    FABRIC_ADD,
    FABRIC_AND,
    FABRIC_OR,
    FABRIC_XOR,
    FABRIC_SWAP,
    FABRIC_COMPARE_SWAP,
    FABRIC_READ,
};

/* Where a waiter stands; starts as zeros. */
struct fabric_idle {
    uint64_t since_ns; /* nothing has come; 0: it has just now */
    uint64_t nap_ns;
    uint64_t seen;
};

/* A call on this node's packet services (nic/services.h), alone with them. */
typedef int (*fabric_service_call)(struct nic_services *services, uint64_t now_ns, void *context);

struct fabric_ops {
    const char *name;

    int (*lane_open)(struct fabric_lane *lane);
    /* Completes what is outstanding first. */
    void (*lane_close)(struct fabric_lane *lane);

    /* bytes is 1, 2, 4 or 8. */
    int (*store)(struct fabric_lane *lane, struct dn_remote remote, uint64_t value, unsigned bytes);
    int (*botf)(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                size_t bytes);
    int (*put_signal)(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                      size_t bytes, struct dn_remote flag, uint64_t value);

    /* op may be NULL; else the fabric calls fabric_op_begin before it returns and
     * fabric_op_finish when the transfer is done. */
    int (*push)(struct fabric_lane *lane, struct dn_remote remote, const void *source, size_t bytes,
                struct dn_op *op);
    int (*pull)(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                struct dn_op *op);

    /* bytes is 4 or 8. With old NULL the operation need not be done at return. */
    int (*atomic)(struct fabric_lane *lane, struct dn_remote remote, enum fabric_atomic operation,
                  unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old);

    /* What was sent before is ordered before, or complete. */
    int (*fence)(struct fabric_lane *lane);
    int (*quiet)(struct fabric_lane *lane);

    /* ---- Packet fabrics only, else NULL: see fabric_reflect and its neighbours below. */

    int (*reflect)(struct fabric_lane *lane, uint32_t rank, const void *place, uint64_t bytes);
    int (*refresh)(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes);
    int (*settle)(struct fabric_lane *lane);
    int (*serve)(struct fabric_lane *lane, fabric_service_call call, void *context);
    void (*progress)(struct fabric_lane *lane);
    void (*nap)(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen);
    uint64_t (*idle)(struct fabric_lane *lane, struct fabric_idle *idle, uint64_t timeout_ns);
};

/* One built-in area of one rank, in this address space. */
struct fabric_segment {
    unsigned char *base;
    uint64_t bytes; /* 0: there is no such area */
};

enum { FABRIC_SEGMENTS = GROUP_AREA_FIRST_FREE, FABRIC_SEGMENT_BYTES_MIN = 4096 };
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
    struct group_port *ports;
    const struct fabric_ops *ops; /* NULL: direct */
    _Atomic uint64_t *stored_to;  /* a bit per rank this node has kicks to */
    _Atomic uint64_t *sleeping;   /* the group's hint, as group_memory.sleeping */
    const struct group_view *view;
    void *state; /* the fabric's own */
};

#define FABRIC_LANE_OPEN UINT32_C(0x4e45504f)

/* ---- Mirrors ------------------------------------------------------------------------ */

/* Whether other nodes' memory is a mirror here. */
static inline bool fabric_is_mirrored(const struct fabric_lane *lane)
{
    return UNLIKELY(lane->ops != NULL) && lane->ops->reflect != NULL;
}

/* The road to a peer. It belongs to the peer, not to the group: one group may hold both kinds. */
enum fabric_road {
    FABRIC_IN_PLACE,   /* its memory is mapped here: this CPU reads and writes it */
    FABRIC_BY_PACKETS, /* its memory is mirrored here: packets carry what is written */
};

static inline enum fabric_road fabric_road(const struct fabric_lane *lane, uint32_t rank)
{
    bool is_away = fabric_is_mirrored(lane) && rank != lane->view->rank;
    return is_away ? FABRIC_BY_PACKETS : FABRIC_IN_PLACE;
}

/* Whether every node of the group reaches every other one in place. All nodes get the same
 * answer: who shares a host shares memory, so whoever is away from one is away from all there. */
static inline bool fabric_all_in_place(const struct fabric_lane *lane)
{
    return !fabric_is_mirrored(lane);
}

/* Sends the bytes at `place`, anywhere in the group's memory, to the same place at that rank:
 * its own memory, or its mirror of somebody else's. Reflections of a node take effect at a
 * rank in the order they were made, whatever the lane; within one, aligned words of up to 8
 * bytes are not torn, and a single word of 1, 2, 4 or 8 bytes is one store with release. The
 * place may be changed at return. Nothing happens where memory is shared, nor for this node
 * itself. DN_EPEER: the rank is gone. */
static inline int fabric_reflect(struct fabric_lane *lane, uint32_t rank, const void *place,
                                 uint64_t bytes)
{
    return fabric_is_mirrored(lane) ? lane->ops->reflect(lane, rank, place, bytes) : 0;
}

/* Brings a piece of that rank's memory, or of its mirrors, into the mirror here, and waits
 * for it. DN_EPEER. */
static inline int fabric_refresh(struct fabric_lane *lane, uint32_t rank, void *place,
                                 uint64_t bytes)
{
    return fabric_is_mirrored(lane) ? lane->ops->refresh(lane, rank, place, bytes) : 0;
}

/* Waits until all reflections of this node so far are in place, or their ranks gone. */
static inline int fabric_settle(struct fabric_lane *lane)
{
    return fabric_is_mirrored(lane) ? lane->ops->settle(lane) : 0;
}

/* Whoever waits drives the NIC: to be called between two looks at what is waited for. */
static inline void fabric_progress(struct fabric_lane *lane)
{
    if (fabric_is_mirrored(lane)) {
        lane->ops->progress(lane);
    }
}

/* Sleeps in the kernel until something comes or the time is up, and goes on driving. *seen,
 * which the waiter keeps from nap to nap and starts as 0, stands for what it may have looked
 * at: when another thread has taken something in since, this returns at once. */
static inline void fabric_nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    lane->ops->nap(lane, timeout_ns, seen);
}

/* One step of a long wait: drives, and then by how long nothing has come returns at once,
 * gives the core away or sleeps, for timeout_ns at most. The time, if it was looked at, or 0. */
static inline uint64_t fabric_idle(struct fabric_lane *lane, struct fabric_idle *idle,
                                   uint64_t timeout_ns)
{
    return lane->ops->idle(lane, idle, timeout_ns);
}

/* Wakes whoever sleeps at that rank, whatever it waits for. */
void fabric_wake(const struct group_view *view, uint32_t rank);

/* Wakes who sleeps at that rank and watches something of what was just written there. */
void fabric_wake_watching(const struct group_view *view, uint32_t rank, const void *written,
                          uint64_t bytes);

/* Wakes who sleeps at that rank and watches anything. */
void fabric_wake_watching_any(const struct group_view *view, uint32_t rank);

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

/* An operation's words: [0] one of these, [1] its lane; IN_ENGINE: [2] and [3] are a struct
 * nic_completion, which tells. */
#define FABRIC_OP_PENDING UINT64_C(0x474e49444e4550)
#define FABRIC_OP_DONE UINT64_C(0x454e4f44)
#define FABRIC_OP_IN_ENGINE UINT64_C(0x454e49474e45)

/* Of a transfer that is done before its call returns. */
static inline void fabric_op_mark_done(struct dn_op *op, struct fabric_lane *lane)
{
    op->words[1] = (uint64_t)(uintptr_t)lane;
    __atomic_store_n(&op->words[0], FABRIC_OP_DONE, __ATOMIC_RELAXED);
}

void fabric_op_begin(struct dn_op *op, struct fabric_lane *lane);
void fabric_op_finish(struct dn_op *op);
/* The same for a transfer in an engine; what it must complete. */
struct nic_completion *fabric_op_begin_in_engine(struct dn_op *op, struct fabric_lane *lane);
int fabric_op_state_in_engine(const struct dn_op *op, bool *done);
/* 0 and *done, or DN_EINVAL for words that no transfer was started with; of a transfer that
 * is done but failed, why. */
static inline int fabric_op_state(const struct dn_op *op, bool *done)
{
    uint64_t state = __atomic_load_n(&op->words[0], __ATOMIC_ACQUIRE);
    if (UNLIKELY(state != FABRIC_OP_DONE && state != FABRIC_OP_PENDING)) {
        return state == FABRIC_OP_IN_ENGINE ? fabric_op_state_in_engine(op, done) : DN_EINVAL;
    }
    *done = state == FABRIC_OP_DONE;
    return 0;
}
struct fabric_lane *fabric_op_lane(const struct dn_op *op);

#endif
