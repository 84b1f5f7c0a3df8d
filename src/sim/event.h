/* Events under virtual time, in whatever unit the user counts it: a heap ordered by time, and
 * among equals by who was put first, so that a run depends on nothing but what is put. What a
 * kind, a subject and a value mean is the user's affair. The heap grows and never shrinks:
 * once it is as large as a run needs, putting and taking allocate nothing.
 *
 * Room for 2^24 events at a time and for 2^40 in a run. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "base/base.h"

struct sim_event {
    uint64_t at;
    uint64_t order; /* the n-th that was put */
    uint32_t kind;
    uint32_t subject;
    uint64_t value;
};

/* What the heap moves about. */
struct sim_event_key {
    uint64_t at;
    uint64_t order_slot; /* the order above the slot of its load, so that both compare at once */
};

/* The rest of an event, which stays in its slot. */
struct sim_event_load {
    uint32_t kind;
    uint32_t subject; /* of a free slot: the next free one */
    uint64_t value;
};

/* Four children to a node. The first key stands in the last quarter of a cache line, so that
 * any four children fill one. */
enum { SIM_EVENTS_FIRST = 3 };

struct sim_events {
    struct sim_event_key *keys; /* from SIM_EVENTS_FIRST on; behind them keys later than all */
    struct sim_event_load *loads;
    uint32_t count;
    uint32_t room;
    uint32_t slot_free; /* the first, where count < room */
    uint64_t order_next;
};

void sim_events_init(struct sim_events *events);
void sim_events_free(struct sim_events *events);

/* Forgets all events and keeps the memory. */
void sim_events_clear(struct sim_events *events);

void sim_events_put(struct sim_events *events, uint64_t at, uint32_t kind, uint32_t subject,
                    uint64_t value);

/* When the next event is due; UINT64_MAX: there is none. */
static inline uint64_t sim_events_next(const struct sim_events *events)
{
    return events->count > 0 ? events->keys[SIM_EVENTS_FIRST].at : UINT64_MAX;
}

/* Takes the next event out; false: there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);

#endif
