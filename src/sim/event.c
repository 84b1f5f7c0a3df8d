/* The event heap. bench/events.c measures it.
 *
 * Only keys move, 16 bytes each: four children fill a cache line, and finding the first of them
 * takes three comparisons without branches. Behind the last key stand keys that are later than
 * any event, so that every node has four children.
 *
 * The first events, up to SIM_EVENTS_ROW, stand sorted in a row before the heap. So it is known
 * what comes next, and its memory can be fetched while others happen: with many thousands of
 * nodes none of it is in the caches. With few events there is no heap at all. */
#include "sim/event.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST = SIM_EVENTS_FIRST,
    CHILDREN = 4,
    ROOM_FIRST = 256,
    SPARE = 2 * CHILDREN, /* FIRST before the keys, and the rest of a line after them */
    SLOT_BITS = SIM_EVENTS_SLOT_BITS,
    ROW = SIM_EVENTS_ROW,
    LARGE = 16384, /* so many keys, with all else, no longer fit into a core's own cache */
};
#define SLOT_MASK SIM_EVENTS_SLOT_MASK
#define ORDERS_MAX (UINT64_C(1) << (64 - SLOT_BITS))

static const struct sim_event_key LATEST = {UINT64_MAX, UINT64_MAX};

static inline uint32_t parent_of(uint32_t place)
{
    return place / CHILDREN + FIRST - 1;
}

static inline uint32_t children_of(uint32_t place)
{
    return CHILDREN * (place - FIRST + 1);
}

/* Compares as one 128-bit number where the compiler has one: two instructions and no branch. */
static inline bool is_before(struct sim_event_key one, struct sim_event_key other)
{
#ifdef __SIZEOF_INT128__
    typedef unsigned __int128 wide;
    return ((wide)one.at << 64 | one.order_slot) < ((wide)other.at << 64 | other.order_slot);
#else
    return one.at < other.at || (one.at == other.at && one.order_slot < other.order_slot);
#endif
}

void sim_events_free(struct sim_events *events)
{
    free(events->keys);
    free(events->loads);
    *events = (struct sim_events){0};
}

static void free_slots(struct sim_events *events, uint32_t first)
{
    for (uint32_t slot = first; slot < events->room; slot++) {
        events->loads[slot].subject = slot + 1;
    }
    events->slot_free = first;
}

void sim_events_clear(struct sim_events *events)
{
    for (uint32_t i = events->row_count; i < events->count; i++) {
        events->keys[FIRST + i - events->row_count] = LATEST;
    }
    events->count = 0;
    events->row_count = 0;
    events->order_next = 0;
    free_slots(events, 0);
}

static void grow(struct sim_events *events)
{
    uint32_t room = events->room > 0 ? 2 * events->room : ROOM_FIRST;
    uint32_t used = events->room > 0 ? FIRST + events->count - events->row_count : 0;
    INVARIANT(room <= SLOT_MASK + 1);
    struct sim_event_key *keys = aligned_alloc(CACHE_LINE_BYTES,
                                               (room + SPARE) * sizeof *events->keys);
    struct sim_event_load *loads = realloc(events->loads, room * sizeof *events->loads);
    INVARIANT(keys && loads);
    if (used > 0) {
        memcpy(keys, events->keys, used * sizeof *keys);
    }
    for (uint32_t place = used; place < room + SPARE; place++) {
        keys[place] = LATEST;
    }
    free(events->keys);
    events->keys = keys;
    events->loads = loads;
    events->room = room;
    free_slots(events, events->count);
}

/* Puts the key where it belongs between a free place and the top. */
static inline void rise(struct sim_event_key *keys, uint32_t place, struct sim_event_key key)
{
    while (place > FIRST) {
        uint32_t parent = parent_of(place);
        if (!is_before(key, keys[parent])) {
            break;
        }
        keys[place] = keys[parent];
        place = parent;
    }
    keys[place] = key;
}

static inline struct sim_event_key *row_at(struct sim_events *events, uint32_t place)
{
    return &events->row[(events->row_first + place) % ROW];
}

/* Puts the key where it belongs between a free place of the row and its beginning. */
static inline void advance(struct sim_events *events, uint32_t place, struct sim_event_key key)
{
    while (place > 0 && is_before(key, *row_at(events, place - 1))) {
        *row_at(events, place) = *row_at(events, place - 1);
        place--;
    }
    *row_at(events, place) = key;
}

void sim_events_put(struct sim_events *events, uint64_t at, uint32_t kind, uint32_t subject,
                    uint64_t value)
{
    if (UNLIKELY(events->count == events->room)) {
        grow(events);
    }
    INVARIANT(events->order_next < ORDERS_MAX - 1);
    uint32_t slot = events->slot_free;
    struct sim_event_load *load = &events->loads[slot];
    events->slot_free = load->subject;
    *load = (struct sim_event_load){kind, subject, value};
    struct sim_event_key key = {at, events->order_next++ << SLOT_BITS | slot};
    uint32_t heap_end = FIRST + events->count++ - events->row_count;
    if (events->row_count < ROW) {
        advance(events, events->row_count++, key);
        return;
    }
    struct sim_event_key last = *row_at(events, ROW - 1);
    if (is_before(key, last)) {
        advance(events, ROW - 1, key);
        key = last;
    }
    rise(events->keys, heap_end, key);
}

/* Takes the first key out of a heap that ends at `end`. */
static inline struct sim_event_key take_key(struct sim_event_key *keys, uint32_t end)
{
    struct sim_event_key first = keys[FIRST];
    struct sim_event_key last = keys[--end];
    keys[end] = LATEST;
    if (end == FIRST) {
        return first;
    }
    /* The gap goes all the way down, then the last key rises into it: it was among the latest and
     * mostly stays low, so comparing it at each level would be in vain. */
    uint32_t place = FIRST;
    for (uint32_t child = children_of(place); child < end; child = children_of(place)) {
        /* The next step needs one of four lines, which follow each other: fetch them all. */
        if (end > LARGE) {
            const struct sim_event_key *grandchildren = &keys[children_of(child)];
            for (uint32_t i = 0; i < CHILDREN; i++) {
                __builtin_prefetch(grandchildren + (size_t)CHILDREN * i);
            }
        }
        uint32_t left = child + is_before(keys[child + 1], keys[child]);
        uint32_t right = child + 2 + is_before(keys[child + 3], keys[child + 2]);
        uint32_t next = is_before(keys[right], keys[left]) ? right : left;
        keys[place] = keys[next];
        place = next;
    }
    rise(keys, place, last);
    return first;
}

bool sim_events_take(struct sim_events *events, struct sim_event *event)
{
    if (events->count == 0) {
        return false;
    }
    struct sim_event_key first = *row_at(events, 0);
    uint32_t slot = (uint32_t)(first.order_slot & SLOT_MASK);
    struct sim_event_load *load = &events->loads[slot];
    *event = (struct sim_event){first.at, first.order_slot >> SLOT_BITS, load->kind, load->subject,
                                load->value};
    load->subject = events->slot_free;
    events->slot_free = slot;

    uint32_t heap_count = events->count-- - events->row_count;
    events->row_first++;
    if (heap_count == 0) {
        events->row_count--;
        return true;
    }
    struct sim_event_key next = take_key(events->keys, FIRST + heap_count);
    *row_at(events, ROW - 1) = next;
    /* Fetched, so that taking this event later does not wait for memory. */
    __builtin_prefetch(&events->loads[next.order_slot & SLOT_MASK]);
    return true;
}
