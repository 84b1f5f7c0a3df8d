/* The event heap. Four children to a node: half as deep as with two, and the children lie
 * in two or three cache lines. */
#include "sim/event.h"

#include <stdlib.h>

enum { CHILDREN = 4, ROOM_FIRST = 256 };

void sim_events_init(struct sim_events *events)
{
    *events = (struct sim_events){0};
}

void sim_events_free(struct sim_events *events)
{
    free(events->heap);
    sim_events_init(events);
}

void sim_events_clear(struct sim_events *events)
{
    events->count = 0;
    events->order_next = 0;
}

static bool is_before(const struct sim_event *one, const struct sim_event *other)
{
    return one->at_ns < other->at_ns || (one->at_ns == other->at_ns && one->order < other->order);
}

void sim_events_put(struct sim_events *events, uint64_t at_ns, uint32_t kind, uint32_t subject,
                    uint64_t value)
{
    if (events->count == events->room) {
        events->room = events->room ? 2 * events->room : ROOM_FIRST;
        events->heap = realloc(events->heap, events->room * sizeof *events->heap);
        INVARIANT(events->heap);
    }
    struct sim_event event = {at_ns, events->order_next++, kind, subject, value};
    uint32_t place = events->count++;
    while (place > 0) {
        uint32_t parent = (place - 1) / CHILDREN;
        if (!is_before(&event, &events->heap[parent])) {
            break;
        }
        events->heap[place] = events->heap[parent];
        place = parent;
    }
    events->heap[place] = event;
}

/* The child of `place` that comes first, or count. */
static uint32_t first_child(const struct sim_events *events, uint32_t place)
{
    uint32_t first = CHILDREN * place + 1;
    if (first >= events->count) {
        return events->count;
    }
    uint32_t end = events->count - first < CHILDREN ? events->count : first + CHILDREN;
    for (uint32_t child = first + 1; child < end; child++) {
        if (is_before(&events->heap[child], &events->heap[first])) {
            first = child;
        }
    }
    return first;
}

bool sim_events_take(struct sim_events *events, struct sim_event *event)
{
    if (events->count == 0) {
        return false;
    }
    *event = events->heap[0];
    struct sim_event last = events->heap[--events->count];
    uint32_t place = 0;
    for (;;) {
        uint32_t child = first_child(events, place);
        if (child == events->count || is_before(&last, &events->heap[child])) {
            break;
        }
        events->heap[place] = events->heap[child];
        place = child;
    }
    if (events->count > 0) {
        events->heap[place] = last;
    }
    return true;
}
