/* The one interface of all fabrics.
 *
 * A fabric is a folder under src/fabric and a name in fabric/fabrics.h. It offers a road to each
 * peer: *in place*, where the peer's memory is mapped here and this CPU runs the NIC's part
 * (fabric/in_place.h), or *by packets*. The road belongs to the peer: one group may hold both
 * kinds.
 *
 * Each process has the group's memory (group/memory.h) mapped whole. The part of a peer by packets
 * is a *mirror*: it holds what this process wrote there and what it was sent. The library's own
 * words (teams, rings, area tables) are written in the group's memory and then reflected to the
 * nodes that read them, which find them in their mirrors at the same place. */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <pthread.h>

#include "fabric/fabrics.h"
#include "fabric/grants.h"
#include "group/call.h"
#include "wire/operation.h"

struct fabric_lane;
struct nic_services;

/* The operations of a lane. Each one checks its remote addresses when it is called (rank, area,
 * range, rights, alignment, a peer that is gone), so that a mistake is answered at once and
 * nothing is written. The caller has checked everything else. */
struct fabric_ops {
    /* The fabric wants to see operations on peers in place, too: there are no quick paths. */
    bool intercepts;
    /* Time is the fabric's own, and passes in its calls only: who waits naps at once, until
     * something comes or the whole time is up. */
    bool is_virtual;

    /* Both may be NULL: nothing to do. */
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
    int (*atomic)(struct fabric_lane *lane, struct dn_remote remote, enum wire_atomic operation,
                  unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old);

    /* Everything sent before is then ordered before what follows, or complete. */
    int (*fence)(struct fabric_lane *lane);
    int (*quiet)(struct fabric_lane *lane);

    /* ---- Where a peer may be reached by packets, else NULL: see fabric_reflect and its
     * neighbours below. */

    int (*reflect)(struct fabric_lane *lane, uint32_t rank, const void *place, uint64_t bytes);
    int (*refresh)(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes);
    int (*settle)(struct fabric_lane *lane);
    int (*tell_area)(struct fabric_lane *lane, uint32_t area);
    int (*grant)(struct fabric_lane *lane, const struct fabric_grant *grant);
    void (*revoke)(struct fabric_lane *lane, uint64_t offset);
    struct nic_services *(*services_take)(struct fabric_lane *lane, uint64_t *now_ns);
    void (*services_give)(struct fabric_lane *lane);
    void (*serve)(struct fabric_lane *lane);
    bool (*progress)(struct fabric_lane *lane);
    void (*nap)(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen);

    /* ---- Where time is virtual, else NULL: see fabric_looked and fabric_compute below. */

    void (*looked)(struct fabric_lane *lane, unsigned bytes);
    void (*compute)(struct fabric_lane *lane, uint64_t ns);
    /* The time when something last came, or a nap ended. */
    uint64_t (*known_ns)(struct fabric_lane *lane);
};

/* What a fabric is given when it starts. */
struct fabric_start {
    const struct group_view *view;
    /* The lives of the group as the launcher tells them, in memory shared with it. Where that is
     * not the view's own memory, the fabric brings their changes into the view. */
    const struct group_view *control;
    /* Makes the launcher look at that memory, where there is a launcher. */
    void (*tell_launcher)(void);
    int stop_signal; /* by which the host stops whoever may write the program's memory; 0: none */
    uint64_t seed;   /* of random choices */
};

/* A fabric, as a process that joins a group sees it. NULL for a function: nothing to do. */
struct fabric {
    /* The variable by which the launcher tells a process that its group is on this fabric; NULL:
     * it is, unless another one's is set. */
    const char *variable;
    const struct fabric_ops *ops;

    /* Reads what the launcher has left for this process of a group of so many nodes. *own, which
     * is NULL before, is set if the group's memory is not the launcher's: to the sizes of the
     * memory that this process makes for its node and its mirrors, which stay until `stop`.
     * DN_EGROUP, DN_EVERSION. */
    int (*join)(uint32_t node_count, const struct group_sizes **own);
    /* Starts in this process, before its first lane is opened, and marks the ports of peers
     * that are reached by packets (GROUP_CALL_BY_PACKETS). The process has claimed its rank
     * before (group_life_claim), and attaches afterwards (group_life_attach). DN_EGROUP,
     * DN_EVERSION, DN_ENOMEM, DN_ESYSTEM. */
    int (*start)(const struct fabric_start *start);
    /* Ends what `join` and `start` began, also after either failed, and also twice. Every lane
     * has been closed. What peers were sent is in place at return. */
    void (*stop)(void);
    /* The time, where that is the fabric's own; NULL: the system's clock tells it. */
    uint64_t (*now_ns)(void);
    /* Whether the fabric wants to know what programs compute between two calls. Then left_call is
     * called at the end of each call that was not made inside another one, and entered_call at the
     * beginning of those that may take long. NULL: no. */
    bool (*meters)(void);
    void (*entered_call)(void);
    void (*left_call)(void);
};

/* Every fabric of the table is NAME_fabric, defined in its own folder. */
#define FABRIC_DECLARE(name) extern const struct fabric name##_fabric;
FABRICS(FABRIC_DECLARE)

/* The fabric of this process's group: the one that the launcher named, or the first of the table.
 * With DN_RELAX=1 (`relaxed`) a layer stands in the place of a fabric that has nothing to join. */
const struct fabric *fabric_choose(bool launched, bool relaxed);

/* The name of the one that groups get unless they are told otherwise. */
const char *fabric_first_name(void);

/* A number that the launcher has left in the environment; false: there is none up to the limit. */
bool fabric_environment_number(const char *variable, uint64_t limit, uint64_t *number);

/* Starts a thread of a fabric's own. It takes no signal but stop_signal (0: none): the program's
 * signals are for the program's own threads. DN_ENOMEM, DN_ESYSTEM and errno. */
int fabric_thread_start(pthread_t *thread, void *(*run)(void *), void *context, int stop_signal);

/* One built-in area of one rank, in this address space. */
struct fabric_segment {
    unsigned char *base;
    uint64_t bytes; /* 0: there is no such area */
};

enum { FABRIC_SEGMENTS = GROUP_AREA_FIRST_FREE, FABRIC_SEGMENT_BYTES_MIN = 4096 };
_Static_assert(FABRIC_SEGMENTS * sizeof(struct fabric_segment) == CACHE_LINE_BYTES,
               "the segments of a rank fill one line");

/* What the fast paths need of a lane lies together. */
struct fabric_lane {
    uint32_t open; /* FABRIC_LANE_OPEN while it may be used */
    uint32_t node_count;
    /* node_count while the lane is open, nothing intercepts and nothing is recorded, else 0: for a
     * rank below, an operation on a peer in place may run without the table. */
    uint32_t quick_count;
    bool all_in_place; /* see fabric_all_in_place */
    /* All is in place and nothing intercepts: every operation is done when its call returns,
     * and a fence of the CPU is all that a fence or quiet needs. */
    bool is_prompt;
    const struct fabric_segment *segments; /* FABRIC_SEGMENTS for each rank */
    struct group_port *ports;
    const struct fabric_ops *ops;
    _Atomic uint64_t *stored_to; /* a bit per rank this node has kicks to */
    _Atomic uint64_t *sleeping;  /* the group's hint, as group_memory.sleeping */
    const struct group_view *view;
    void *state; /* the fabric's own */
    /* The error of a dn_store_*, which returns nothing, until a call gives it; 0: none. */
    _Atomic int store_error;
};

#define FABRIC_LANE_OPEN UINT32_C(0x4e45504f)

/* ---- Roads ------------------------------------------------------------------------- */

/* The road to a peer. A node reaches itself in place, unless its board is looped back to itself. */
enum fabric_road {
    FABRIC_IN_PLACE,   /* its memory is mapped here: this CPU reads and writes it */
    FABRIC_BY_PACKETS, /* its memory is mirrored here: packets carry what is written */
};

static inline enum fabric_road fabric_road(const struct fabric_lane *lane, uint32_t rank)
{
    uint64_t call = atomic_load_explicit(&lane->ports[rank].call, memory_order_relaxed);
    /* Where all nodes share the ports, others could set the bit. */
    return call & GROUP_CALL_BY_PACKETS && !lane->all_in_place ? FABRIC_BY_PACKETS
                                                               : FABRIC_IN_PLACE;
}

/* Whether a pointer may stand for that peer's memory: it is in place, and nothing intercepts. */
static inline bool fabric_has_pointer(const struct fabric_lane *lane, uint32_t rank)
{
    return rank < lane->node_count && !lane->ops->intercepts &&
           fabric_road(lane, rank) == FABRIC_IN_PLACE;
}

/* The same where the library's own quick paths may be taken. */
static inline bool fabric_is_quick(const struct fabric_lane *lane, uint32_t rank)
{
    return rank < lane->quick_count && fabric_road(lane, rank) == FABRIC_IN_PLACE;
}

/* Whether every node of the group reaches every other one in place. All nodes get the same
 * answer: nodes in place share a host's memory, so whoever is away from one is away from all of
 * them. */
static inline bool fabric_all_in_place(const struct fabric_lane *lane)
{
    return LIKELY(lane->all_in_place);
}

/* The area by which the library's own operations name the group's memory, whole, as the target has
 * it: its own node's memory, that of others in place, and its mirrors. Programs cannot name it, and
 * the target lets peers do there what fabric/grants.h says. */
#define FABRIC_AREA_GROUP 0

/* ---- Mirrors ------------------------------------------------------------------------ */

/* Sends the bytes at `place`, anywhere in the group's memory, to the same place at that rank:
 * its own memory, or its mirror of somebody else's. Reflections of a node take effect at a
 * rank in the order they were made, whatever the lane; within one, aligned words of up to 8
 * bytes are not torn, and a single word of 1, 2, 4 or 8 bytes is one store with release. The
 * place may be changed at return. Nothing happens where both see the same memory: for a rank in
 * place, anywhere in the memory of ranks in place. DN_EPEER: the rank is gone. */
static inline int fabric_reflect(struct fabric_lane *lane, uint32_t rank, const void *place,
                                 uint64_t bytes)
{
    return fabric_all_in_place(lane) ? 0 : lane->ops->reflect(lane, rank, place, bytes);
}

/* Brings a piece of that rank's memory, or of its mirrors, into the mirror here, and waits
 * for it. DN_EPEER. */
static inline int fabric_refresh(struct fabric_lane *lane, uint32_t rank, void *place,
                                 uint64_t bytes)
{
    return fabric_all_in_place(lane) ? 0 : lane->ops->refresh(lane, rank, place, bytes);
}

/* Waits until all reflections of this node so far are in place, or their ranks gone. */
static inline int fabric_settle(struct fabric_lane *lane)
{
    return fabric_all_in_place(lane) ? 0 : lane->ops->settle(lane);
}

/* After group_area_register, group_area_deregister or group_area_restrict: every peer knows the
 * slot's new state and rights when this returns. */
static inline int fabric_tell_area(struct fabric_lane *lane, uint32_t area)
{
    return fabric_all_in_place(lane) ? 0 : lane->ops->tell_area(lane, area);
}

/* Lets peers by packets write their words of a piece of this node's service memory, until it is
 * revoked by its offset, before the piece gets another use. Grant it before any peer knows of it:
 * what comes earlier is dropped. Nodes in place need no grant. DN_ENOMEM. */
static inline int fabric_grant(struct fabric_lane *lane, const struct fabric_grant *grant)
{
    return fabric_all_in_place(lane) ? 0 : lane->ops->grant(lane, grant);
}

static inline void fabric_revoke(struct fabric_lane *lane, uint64_t offset)
{
    if (!fabric_all_in_place(lane)) {
        lane->ops->revoke(lane, offset);
    }
}

/* This node's packet services (nic/services.h), for the caller alone until it gives them back,
 * which sends what they have to send. Only where a peer is reached by packets. */
static inline struct nic_services *fabric_services_take(struct fabric_lane *lane, uint64_t *now_ns)
{
    return lane->ops->services_take(lane, now_ns);
}

static inline void fabric_services_give(struct fabric_lane *lane)
{
    lane->ops->services_give(lane);
}

/* Between the two: does what the fabric's own threads do, for a caller that has stopped them. Takes
 * no lock and allocates nothing. The fabric has this operation if it has such threads. */
static inline void fabric_serve(struct fabric_lane *lane)
{
    lane->ops->serve(lane);
}

/* Whoever waits drives the NIC: to be called between two looks at what is waited for. Whether
 * anything came. */
static inline bool fabric_progress(struct fabric_lane *lane)
{
    return !fabric_all_in_place(lane) && lane->ops->progress(lane);
}

/* Sleeps in the kernel until something comes or the time is up, and goes on driving. *seen stands
 * for what the waiter may have looked at; it starts as 0, and the waiter keeps it from nap to nap.
 * When another thread has taken something in since, this returns at once. Only where a peer is
 * reached by packets. */
static inline void fabric_nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    lane->ops->nap(lane, timeout_ns, seen);
}

/* In place of a number of bytes. */
enum {
    FABRIC_TOLD = 256, /* the word by which the core processor tells that a service is done */
    FABRIC_MET,        /* words of all members, who have met */
};

/* A wait has found what it waited for, a word of so many bytes (0: it is not known) or one of
 * these: that look is what the program's CPU pays for. */
static inline void fabric_looked(struct fabric_lane *lane, unsigned bytes)
{
    if (UNLIKELY(lane->ops->looked != NULL)) {
        lane->ops->looked(lane, bytes);
    }
}

/* The program looks at something that others may change. Where time is virtual, a loop of such
 * looks waits, and no time would pass in it: so each of them is a read. */
static inline void fabric_look(struct fabric_lane *lane)
{
    if (UNLIKELY(lane->ops->is_virtual)) {
        (void)lane->ops->progress(lane); /* also where nobody else is */
    }
}

/* The program says that it computes for so long. Where time is real it passes by itself. */
static inline void fabric_compute(struct fabric_lane *lane, uint64_t ns)
{
    if (lane->ops->compute) {
        lane->ops->compute(lane, ns);
    }
}

/* Wakes whoever sleeps at that rank, whatever it waits for. */
void fabric_wake(const struct group_view *view, uint32_t rank);

/* Wakes whoever sleeps at that rank and watches something of what was just written there. */
void fabric_wake_watching(const struct group_view *view, uint32_t rank, const void *written,
                          uint64_t bytes);

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

/* Wakes those of them that watch something: a store may have been to it. */
void fabric_wake_stored_to(const struct fabric_lane *lane);

/* An operation's words: [0] one of these, [1] its lane; IN_ENGINE: [2] and [3] are a struct
 * nic_completion, which says whether it is done. */
#define FABRIC_OP_PENDING UINT64_C(0x474e49444e4550)
#define FABRIC_OP_DONE UINT64_C(0x454e4f44)
#define FABRIC_OP_IN_ENGINE UINT64_C(0x454e49474e45)

/* For a transfer that is done before its call returns. */
static inline void fabric_op_mark_done(struct dn_op *op, struct fabric_lane *lane)
{
    op->words[1] = (uint64_t)(uintptr_t)lane;
    __atomic_store_n(&op->words[0], FABRIC_OP_DONE, __ATOMIC_RELAXED);
}

void fabric_op_begin(struct dn_op *op, struct fabric_lane *lane);
void fabric_op_finish(struct dn_op *op);
/* The same for a transfer in an engine; gives the completion that the engine must finish. */
struct nic_completion *fabric_op_begin_in_engine(struct dn_op *op, struct fabric_lane *lane);
int fabric_op_state_in_engine(const struct dn_op *op, bool *done);
/* 0 and *done; DN_EINVAL for words that no transfer was started with; the error of a transfer
 * that is done but failed. */
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
