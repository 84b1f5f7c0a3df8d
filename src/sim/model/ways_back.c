/* A hash table that only grows. */
#include "sim/model/ways_back.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 64 };
_Static_assert((uint64_t)WIRE_NODES_MAX *WIRE_NODES_MAX <= UINT32_MAX, "a pair has a key");

/* The place of a key, or the free one where it would go. */
static struct sim_way_back *place_of(const struct sim_ways_back *back, uint32_t key)
{
    uint32_t at = key * UINT32_C(2654435761) & (back->room - 1);
    while (back->ways[at].key != 0 && back->ways[at].key != key) {
        at = (at + 1) & (back->room - 1);
    }
    return &back->ways[at];
}

static void grow(struct sim_ways_back *back)
{
    struct sim_way_back *before = back->ways;
    uint32_t room = back->room;
    back->room = room ? 2 * room : ROOM_FIRST;
    back->ways = calloc(back->room, sizeof *back->ways);
    INVARIANT(back->ways);
    for (uint32_t i = 0; i < room; i++) {
        if (before[i].key != 0) {
            *place_of(back, before[i].key) = before[i];
        }
    }
    free(before);
}

static uint32_t key_of(const struct sim_ways_back *back, uint32_t target, uint32_t source)
{
    INVARIANT(target < back->node_count && source < back->node_count);
    return target * back->node_count + source + 1;
}

void sim_ways_back_keep(struct sim_ways_back *back, uint32_t target, uint32_t source,
                        const unsigned char header[WIRE_LINE_DATA_BYTES])
{
    if (2 * back->count >= back->room) {
        grow(back);
    }
    uint32_t key = key_of(back, target, source);
    struct sim_way_back *way = place_of(back, key);
    back->count += way->key == 0;
    way->key = key;
    memcpy(way->header, header, sizeof way->header);
}

const unsigned char *sim_ways_back_find(const struct sim_ways_back *back, uint32_t target,
                                        uint32_t source)
{
    if (back->room == 0) {
        return NULL;
    }
    const struct sim_way_back *way = place_of(back, key_of(back, target, source));
    return way->key != 0 ? way->header : NULL;
}

void sim_ways_back_free(struct sim_ways_back *back)
{
    free(back->ways);
    back->ways = NULL;
    back->room = back->count = 0;
}
