/* Events under virtual time, in any unit: a heap ordered by time and, among equals, by which was
 * put first, so that a run depends on nothing but what is put. Kind, subject and value mean what
 * the user wants. The heap grows and never shrinks: once it is as large as a run needs, putting
 * and taking allocate nothing.
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

/* The part of an event that the heap moves. */
struct sim_event_key {
    uint64_t at;
    uint64_t order_slot; /* upper bits: the order, to compare by; lower bits: the load's slot */
};

enum { SIM_EVENTS_SLOT_BITS = 24 };
#define SIM_EVENTS_SLOT_MASK ((UINT64_C(1) << SIM_EVENTS_SLOT_BITS) - 1)

/* The rest of an event, which stays in its slot. */
struct sim_event_load {
    uint32_t kind;
    uint32_t subject; /* of a free slot: the next free one */
    uint64_t value;
};

/* Each node has four children. The first key stands in the last quarter of a cache line, so that
 * the four children of any node fill one line. */
enum { SIM_EVENTS_FIRST = 3 };

/* The next SIM_EVENTS_ROW events stand in a row before the heap, so that sim_events_ahead can
 * tell what comes. A power of two. */
enum { SIM_EVENTS_ROW = 16 };

/* All zeros: there are none, and no memory is held. */
struct sim_events {
    struct sim_event_key *keys; /* from SIM_EVENTS_FIRST on; then keys later than all events */
    struct sim_event_load *loads;
    uint32_t count; /* row and heap */
    uint32_t room;
    uint32_t slot_free; /* the first one, if count < room */
    uint32_t row_first; /* only grows; its place is row_first % SIM_EVENTS_ROW */
    uint32_t row_count; /* full, or all there are: no key of the heap comes before the row's */
    uint64_t order_next;
    struct sim_event_key row[SIM_EVENTS_ROW];
};

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

/* The event that will be taken after `distance` others, unless an earlier one is put meanwhile;
 * NULL: there is none, or it is not within SIM_EVENTS_ROW. Only a hint, for prefetching. */
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
