/* The barrier of all nodes, run in place by whoever waits.
 *
 * An arrival is one store of the phase into a word that only its node writes, so a
 * node killed anywhere has either arrived or not. The phase is complete when every
 * word has reached it; each node sees that for itself, and there is nobody in the
 * middle to die. The outcome is the same for all survivors: a dead node's word never
 * moves again, so either nobody can complete the phase or everybody can.
 *
 * With a core for each node the words have lines of their own and travel at once;
 * with fewer cores sixteen of them share a line, so that a node that got a core for
 * a moment looks at one line. */
#ifndef NIC_BARRIER_H
#define NIC_BARRIER_H

#include "nic/life.h"

/* Where the words are; private to a node. */
struct nic_barrier {
    _Atomic uint32_t *words;
    uint64_t stride; /* from one rank's word to the next one's, in words */
};

static inline void nic_barrier_make(const struct nic_view *view, struct nic_barrier *barrier)
{
    if (view->node_count <= view->group->core_count) {
        barrier->words = &view->ports[0].arrived;
        barrier->stride = sizeof(struct nic_port) / sizeof *barrier->words;
    } else {
        barrier->words = &view->group->arrived_together[0];
        barrier->stride = 1;
    }
}

static inline _Atomic uint32_t *nic_barrier_word(const struct nic_barrier *barrier, uint32_t rank)
{
    return barrier->words + rank * barrier->stride;
}

/* Release: pairs with the acquire in nic_barrier_passed, so that what this node did
 * before is visible to all after. */
static inline void nic_barrier_arrive(const struct nic_barrier *barrier, uint32_t rank,
                                      uint32_t phase)
{
    KILL_POINT("barrier: not arrived");
    atomic_store_explicit(nic_barrier_word(barrier, rank), phase, memory_order_release);
    KILL_POINT("barrier: arrived");
}

/* Whether that rank has arrived at the phase; nodes are never more than one apart,
 * so the difference has a sign. */
static inline bool nic_barrier_arrived(const struct nic_barrier *barrier, uint32_t rank,
                                       uint32_t phase)
{
    uint32_t word =
        atomic_load_explicit(nic_barrier_word(barrier, rank), memory_order_acquire);
    return (int32_t)(word - phase) >= 0;
}

/* Whether all ranks have arrived, going on at *next, the first not yet seen there. */
static inline bool nic_barrier_passed(const struct nic_barrier *barrier, uint32_t node_count,
                                      uint32_t phase, uint32_t *next)
{
    while (*next < node_count) {
        if (!nic_barrier_arrived(barrier, *next, phase)) {
            return false;
        }
        (*next)++;
    }
    return true;
}

/* Whether some rank can never arrive because it is gone. */
static inline bool nic_barrier_broken(const struct nic_view *view,
                                      const struct nic_barrier *barrier, uint32_t phase)
{
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        /* The life first, then the word: a node that arrived and then died has
         * arrived, and its life's acquire makes its last store visible. */
        if (nic_life_gone(nic_life(view, rank)) && !nic_barrier_arrived(barrier, rank, phase)) {
            return true;
        }
    }
    return false;
}

#endif
