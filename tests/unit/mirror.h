/* A packet fabric in one process: every node has its own copy of the group's memory, and
 * what one node reflects comes to another later, in order between the two only.
 *
 * Pulls and atomics take effect at once, before reflections that are under way: nothing may
 * rely on an order between them. Whoever waits delivers reflections (a random number of
 * them at a time), and so does a settle; while `held`, only the test does, one by one. Within
 * one reflection the words come from the last to the first.
 *
 * Each node has a host_process as the host's side makes it, so that everything from src/host
 * up can run on it. */
#ifndef UNIT_MIRROR_H
#define UNIT_MIRROR_H

#include <stdlib.h>

#include "base/random.h"
#include "fabric/clock.h"
#include "fabric/in_place.h"
#include "group.h"
#include "host/node.h"
#include "nic/memory_access.h"
#include "group/service_memory.h"

enum { UNIT_MIRRORS_MAX = 10 };

/* A reflection under way. */
struct unit_reflection {
    struct unit_reflection *next;
    uint64_t offset; /* in the group's memory */
    uint64_t bytes;
    unsigned char data[];
};

struct unit_way {
    struct unit_reflection *first, *last;
    uint64_t sent; /* reflections so far */
};

struct unit_mirrors;

struct unit_mirror {
    struct unit_mirrors *all;
    struct unit_group group; /* this node's own copy; only the view of its rank is used */
    struct host_process process;
    struct dn_node node;
    struct fabric_segment segments[UNIT_MIRRORS_MAX * FABRIC_SEGMENTS];
    uint64_t requests; /* pulls and atomics of this node so far */
};

struct unit_mirrors {
    uint32_t node_count;
    pthread_mutex_t lock; /* guards all below, and what is delivered */
    struct base_random random;
    bool held;
    struct unit_way ways[UNIT_MIRRORS_MAX][UNIT_MIRRORS_MAX]; /* from, to */
    struct unit_mirror mirrors[UNIT_MIRRORS_MAX];
};

/* ---- Under way ----------------------------------------------------------------------- */

static inline unsigned char *unit_mirror_place(struct unit_mirrors *all, uint32_t rank,
                                               uint64_t offset)
{
    return (unsigned char *)all->mirrors[rank].group.group + offset;
}

/* With the lock: the next reflection of a way takes effect; false: there is none. */
static inline bool unit_mirrors_deliver_locked(struct unit_mirrors *all, uint32_t from, uint32_t to)
{
    struct unit_way *way = &all->ways[from][to];
    struct unit_reflection *reflection = way->first;
    if (!reflection) {
        return false;
    }
    way->first = reflection->next;
    way->last = way->first ? way->last : NULL;
    unsigned char *place = unit_mirror_place(all, to, reflection->offset);
    uint64_t bytes = reflection->bytes;
    if (bytes <= 8 && is_power_of_two(bytes) && (uintptr_t)place % bytes == 0) {
        uint64_t value = 0;
        memcpy(&value, reflection->data, bytes);
        nic_store_word(place, value, (unsigned)bytes);
    } else {
        atomic_thread_fence(memory_order_release);
        uint64_t at = bytes;
        for (; at >= 8 && (uintptr_t)place % 8 == 0; at -= 8) {
            uint64_t value;
            memcpy(&value, reflection->data + at - 8, 8);
            __atomic_store_n((uint64_t *)(void *)(place + at - 8), value, __ATOMIC_RELAXED);
        }
        memcpy(place, reflection->data, at);
    }
    free(reflection);
    return true;
}

static inline bool unit_mirrors_deliver(struct unit_mirrors *all, uint32_t from, uint32_t to)
{
    pthread_mutex_lock(&all->lock);
    bool delivered = unit_mirrors_deliver_locked(all, from, to);
    pthread_mutex_unlock(&all->lock);
    return delivered;
}

static inline void unit_mirrors_deliver_all(struct unit_mirrors *all)
{
    for (uint32_t from = 0; from < all->node_count; from++) {
        for (uint32_t to = 0; to < all->node_count; to++) {
            while (unit_mirrors_deliver(all, from, to)) {
            }
        }
    }
}

static inline uint64_t unit_mirrors_sent(struct unit_mirrors *all, uint32_t from, uint32_t to)
{
    pthread_mutex_lock(&all->lock);
    uint64_t sent = all->ways[from][to].sent;
    pthread_mutex_unlock(&all->lock);
    return sent;
}

/* ---- The fabric ---------------------------------------------------------------------- */

static inline struct unit_mirror *unit_mirror_of(const struct fabric_lane *lane)
{
    return lane->state;
}

static inline bool unit_mirror_gone(const struct fabric_lane *lane, uint32_t rank)
{
    return group_life_gone(group_life(lane->view, rank));
}

static inline int unit_mirror_reflect(struct fabric_lane *lane, uint32_t rank, const void *place,
                                      uint64_t bytes)
{
    struct unit_mirrors *all = unit_mirror_of(lane)->all;
    if (rank == lane->view->rank || bytes == 0) {
        return 0;
    }
    if (unit_mirror_gone(lane, rank)) {
        return DN_EPEER;
    }
    struct unit_reflection *made = malloc(sizeof *made + bytes);
    unit_expect(made != NULL);
    made->next = NULL;
    made->offset = (uint64_t)((const unsigned char *)place -
                              (const unsigned char *)lane->view->group);
    made->bytes = bytes;
    memcpy(made->data, place, bytes);
    pthread_mutex_lock(&all->lock);
    struct unit_way *way = &all->ways[lane->view->rank][rank];
    *(way->last ? &way->last->next : &way->first) = made;
    way->last = made;
    way->sent++;
    pthread_mutex_unlock(&all->lock);
    return 0;
}

/* With the lock: where a private address lies at its rank; NULL: the rank is gone. */
static inline unsigned char *unit_mirror_reach(struct fabric_lane *lane, struct dn_remote remote)
{
    struct unit_mirror *own = unit_mirror_of(lane);
    unit_expect(remote.area == 0);
    own->requests++;
    return unit_mirror_gone(lane, (uint32_t)remote.rank)
               ? NULL
               : unit_mirror_place(own->all, (uint32_t)remote.rank, remote.offset);
}

static inline int unit_mirror_pull(struct fabric_lane *lane, struct dn_remote remote, void *target,
                                   size_t bytes, struct dn_op *op)
{
    struct unit_mirrors *all = unit_mirror_of(lane)->all;
    pthread_mutex_lock(&all->lock);
    const unsigned char *from = unit_mirror_reach(lane, remote);
    if (from) {
        memcpy(target, from, bytes);
    }
    pthread_mutex_unlock(&all->lock);
    if (from && op) {
        fabric_op_mark_done(op, lane);
    }
    return from ? 0 : DN_EPEER;
}

static inline int unit_mirror_refresh(struct fabric_lane *lane, uint32_t rank, void *place,
                                      uint64_t bytes)
{
    struct dn_remote remote = {
        .rank = (int)rank,
        .offset = (uint64_t)((unsigned char *)place - (unsigned char *)lane->view->group)};
    return rank == lane->view->rank ? 0 : unit_mirror_pull(lane, remote, place, bytes, NULL);
}

static inline int unit_mirror_atomic(struct fabric_lane *lane, struct dn_remote remote,
                                     enum fabric_atomic operation, unsigned bytes, uint64_t operand,
                                     uint64_t expected, uint64_t *old)
{
    struct unit_mirrors *all = unit_mirror_of(lane)->all;
    uint64_t value = 0;
    pthread_mutex_lock(&all->lock);
    void *word = unit_mirror_reach(lane, remote);
    if (word) {
        value = bytes == 4
                    ? in_place_apply_u32(word, operation, (uint32_t)operand, (uint32_t)expected)
                    : in_place_apply_u64(word, operation, operand, expected);
    }
    pthread_mutex_unlock(&all->lock);
    if (word && old) {
        *old = value;
    }
    return word ? 0 : DN_EPEER;
}

static inline int unit_mirror_quiet(struct fabric_lane *lane)
{
    (void)lane;
    return 0;
}

static inline int unit_mirror_settle(struct fabric_lane *lane)
{
    struct unit_mirrors *all = unit_mirror_of(lane)->all;
    for (uint32_t to = 0; to < all->node_count; to++) {
        while (unit_mirrors_deliver(all, lane->view->rank, to)) {
        }
    }
    return 0;
}

static inline bool unit_mirror_progress(struct fabric_lane *lane)
{
    struct unit_mirrors *all = unit_mirror_of(lane)->all;
    bool came = false;
    pthread_mutex_lock(&all->lock);
    for (uint64_t count = all->held ? 0 : base_random_below(&all->random, 6); count > 0; count--) {
        uint32_t from = (uint32_t)base_random_below(&all->random, all->node_count);
        uint32_t to = (uint32_t)base_random_below(&all->random, all->node_count);
        came |= unit_mirrors_deliver_locked(all, from, to);
    }
    pthread_mutex_unlock(&all->lock);
    return came;
}

static inline void unit_mirror_nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)timeout_ns;
    (void)seen;
    (void)unit_mirror_progress(lane);
    (void)sched_yield();
}

static const struct fabric_ops unit_mirror_ops = {
    .pull = unit_mirror_pull,
    .atomic = unit_mirror_atomic,
    .fence = unit_mirror_quiet,
    .quiet = unit_mirror_quiet,
    .reflect = unit_mirror_reflect,
    .refresh = unit_mirror_refresh,
    .settle = unit_mirror_settle,
    .progress = unit_mirror_progress,
    .nap = unit_mirror_nap,
};

/* ---- Making and ending --------------------------------------------------------------- */

static inline void unit_mirror_make(struct unit_mirrors *all, uint32_t rank,
                                    struct group_sizes sizes)
{
    struct unit_mirror *made = &all->mirrors[rank];
    struct host_process *process = &made->process;
    made->all = all;
    unit_group_make_sized(&made->group, all->node_count, 2, sizes);
    process->view = made->group.views[rank];
    process->core_is_free = true;
    process->default_lane = &made->node;
    process->segments = made->segments;
    assert_int_equal(pthread_mutex_init(&process->sleep_lock, NULL), 0);
    assert_int_equal(pthread_mutex_init(&process->acknowledge_lock, NULL), 0);
    assert_int_equal(pthread_mutex_init(&process->table_lock, NULL), 0);
    assert_true(base_extents_init(&process->arena,
                                  GROUP_SERVICE_BYTES - group_service_free_offset(&process->view)));
    for (uint32_t other = 0; other < all->node_count; other++) {
        if (other != rank) {
            atomic_fetch_or(&process->view.ports[other].call, GROUP_CALL_BY_PACKETS);
        }
        assert_true(group_life_attach(&made->group.views[other], 1000 + other));
        for (uint32_t area = DN_LLCM; area <= DN_HEAP; area++) {
            made->segments[other * FABRIC_SEGMENTS + area] = (struct fabric_segment){
                .base = group_segment(&process->view, other, area),
                .bytes = group_segment_bytes(&process->view, area)};
        }
    }
    made->node = (struct dn_node){
        .lane = {.open = FABRIC_LANE_OPEN,
                 .node_count = all->node_count,
                 .segments = made->segments,
                 .ports = process->view.ports,
                 .ops = &unit_mirror_ops,
                 .stored_to = process->stored_to,
                 .sleeping = process->view.group->sleeping,
                 .view = &process->view,
                 .state = made},
        .process = process,
        .is_default = true,
    };
}

/* Makes attached nodes of these sizes, each with its own memory. */
static inline void unit_mirrors_make(struct unit_mirrors *all, uint32_t node_count,
                                     struct group_sizes sizes, uint64_t seed)
{
    assert_true(node_count <= UNIT_MIRRORS_MAX);
    memset(all, 0, sizeof *all);
    all->node_count = node_count;
    all->random = (struct base_random){seed};
    assert_int_equal(pthread_mutex_init(&all->lock, NULL), 0);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        unit_mirror_make(all, rank, sizes);
    }
}

static inline void unit_mirrors_free(struct unit_mirrors *all)
{
    unit_mirrors_deliver_all(all);
    for (uint32_t rank = 0; rank < all->node_count; rank++) {
        base_extents_release(&all->mirrors[rank].process.arena);
        unit_group_free(&all->mirrors[rank].group);
    }
}

/* The rank dies: nothing from it or to it arrives any more, and the others know. */
static inline void unit_mirrors_kill(struct unit_mirrors *all, uint32_t rank)
{
    pthread_mutex_lock(&all->lock);
    for (uint32_t other = 0; other < all->node_count; other++) {
        for (int to = 0; to < 2; to++) {
            struct unit_way *way = to ? &all->ways[rank][other] : &all->ways[other][rank];
            while (way->first) {
                struct unit_reflection *lost = way->first;
                way->first = lost->next;
                free(lost);
            }
            way->last = NULL;
        }
        if (other != rank) {
            unit_expect(group_life_end(&all->mirrors[other].process.view, rank, false));
        }
    }
    pthread_mutex_unlock(&all->lock);
}

#endif
