/* Events under virtual time: a heap ordered by time, and among equals by who was put
 * first, so that a run depends on nothing but what is put. What a kind, a subject and a
 * value mean is the user's affair. The heap grows and never shrinks: once it is as large
 * as a run needs, putting and taking allocate nothing. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "base/base.h"

struct sim_event {
    uint64_t at_ns;
    uint64_t order; /* the n-th that was put */
    uint32_t kind;
    uint32_t subject;
    uint64_t value;
};

struct sim_events {
    struct sim_event *heap; /* [0] is the next one; children of i are 4i+1 .. 4i+4 */
    uint32_t count;
    uint32_t room;
    uint64_t order_next;
};

void sim_events_init(struct sim_events *events);
void sim_events_free(struct sim_events *events);

/* Forgets all events and keeps the memory. */
void sim_events_clear(struct sim_events *events);

void sim_events_put(struct sim_events *events, uint64_t at_ns, uint32_t kind, uint32_t subject,
                    uint64_t value);

/* When the next event is due; UINT64_MAX: there is none. */
static inline uint64_t sim_events_next_ns(const struct sim_events *events)
{
    return events->count > 0 ? events->heap[0].at_ns : UINT64_MAX;
}

/* Takes the next event out; false: there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);

#endif
