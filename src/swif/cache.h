/* The context caches: set-associative, least recently used first. The
 * owner says which context may be evicted; one with packets in flight never is. */
#ifndef SWIF_CACHE_H
#define SWIF_CACHE_H

#include "base/base.h"

#define SWIF_NO_CONTEXT UINT32_MAX

struct swif_cache_line {
    uint32_t key;  /* peer + 1; 0: free */
    uint32_t used; /* the cache's clock at the last use */
};

/* A line's index is its context's. */
struct swif_cache {
    struct swif_cache_line *lines;
    uint32_t count; /* powers of two */
    uint32_t ways;
    uint32_t set_bits; /* of a set's number */
    uint32_t clock;
    uint32_t last; /* the line found last: a packet is about one peer all along */
};

/* The lines are all zero. */
void swif_cache_init(struct swif_cache *cache, struct swif_cache_line *lines, uint32_t count,
                     uint32_t ways);

/* The peer's context, now the most recently used of its set, or SWIF_NO_CONTEXT. */
uint32_t swif_cache_find(struct swif_cache *cache, uint16_t peer);
/* The same, leaving the order as it is. */
uint32_t swif_cache_search(const struct swif_cache *cache, uint16_t peer);
static inline uint32_t swif_cache_peek(const struct swif_cache *cache, uint16_t peer)
{
    return LIKELY(cache->lines[cache->last].key == peer + 1u) ? cache->last
                                                              : swif_cache_search(cache, peer);
}

/* A line for a peer that has none: a free one, else the least recently used that
 * `may_evict`. Its former peer is *evicted, or -1. SWIF_NO_CONTEXT: all are in flight. */
uint32_t swif_cache_take(struct swif_cache *cache, uint16_t peer,
                         bool (*may_evict)(void *owner, uint32_t index), void *owner,
                         int32_t *evicted);
void swif_cache_free(struct swif_cache *cache, uint32_t index);

#endif
