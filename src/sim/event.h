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

enum { SIM_EVENTS_SLOT_BITS = 24 };
#define SIM_EVENTS_SLOT_MASK ((UINT64_C(1) << SIM_EVENTS_SLOT_BITS) - 1)

/* The rest of an event, which stays in its slot. */
struct sim_event_load {
    uint32_t kind;
    uint32_t subject; /* of a free slot: the next free one */
    uint64_t value;
};

/* Four children to a node. The first key stands in the last quarter of a cache line, so that
 * any four children fill one. */
enum { SIM_EVENTS_FIRST = 3 };

/* So many of the next events stand in a row before the heap, for who wants to know what comes:
 * see sim_events_ahead. A power of two. */
enum { SIM_EVENTS_ROW = 16 };

struct sim_events {
    struct sim_event_key *keys; /* from SIM_EVENTS_FIRST on; behind them keys later than all */
    struct sim_event_load *loads;
    uint32_t count; /* row and heap */
    uint32_t room;
    uint32_t slot_free; /* the first, where count < room */
    uint32_t row_first; /* counts on; its place is the rest of SIM_EVENTS_ROW */
    uint32_t row_count; /* full, or all there are: no key of the heap is before one of the row */
    uint64_t order_next;
    struct sim_event_key row[SIM_EVENTS_ROW];
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
    return events->count > 0 ? events->row[events->row_first % SIM_EVENTS_ROW].at : UINT64_MAX;
}

/* What is going to be taken after `distance` others, if nothing earlier is put meanwhile; NULL:
 * nothing, or it is farther than SIM_EVENTS_ROW. Only for who fetches memory before it is
 * needed. */
static inline const struct sim_event_load *sim_events_ahead(const struct sim_events *events,
                                                            uint32_t distance)
{
    if (distance >= events->row_count) {
        return NULL;
    }
    const struct sim_event_key *key = &events->row[(events->row_first + distance) % SIM_EVENTS_ROW];
    return &events->loads[key->order_slot & SIM_EVENTS_SLOT_MASK];
}

/* Takes the next event out; false: there is none. */
bool sim_events_take(struct sim_events *events, struct sim_event *event);

#endif
