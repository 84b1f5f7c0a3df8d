/* Finding, taking and freeing lines of a context cache. */
#include "swif/cache.h"

void swif_cache_init(struct swif_cache *cache, struct swif_cache_line *lines, uint32_t count,
                     uint32_t ways)
{
    INVARIANT(is_power_of_two(count) && is_power_of_two(ways) && ways <= count);
    *cache = (struct swif_cache){.lines = lines, .count = count, .ways = ways};
    cache->set_bits = (uint32_t)__builtin_ctz(count / ways);
}

/* The first line of the peer's set. Neighbours get different sets, so that as many peers in
 * a row as there are lines all have one; and so do peers at power-of-two distances. */
static uint32_t set_of(const struct swif_cache *cache, uint16_t peer)
{
    uint32_t folded = 0;
    if (cache->set_bits == 0) {
        return 0;
    }
    for (uint32_t rest = peer; rest != 0; rest >>= cache->set_bits) {
        folded ^= rest;
    }
    return (folded & ((1u << cache->set_bits) - 1)) * cache->ways;
}

uint32_t swif_cache_search(const struct swif_cache *cache, uint16_t peer)
{
    uint32_t first = set_of(cache, peer);
    for (uint32_t i = first; i < first + cache->ways; i++) {
        if (cache->lines[i].key == peer + 1u) {
            return i;
        }
    }
    return SWIF_NO_CONTEXT;
}

uint32_t swif_cache_find(struct swif_cache *cache, uint16_t peer)
{
    uint32_t index = swif_cache_peek(cache, peer);
    if (index != SWIF_NO_CONTEXT) {
        cache->lines[index].used = ++cache->clock;
        cache->last = index;
    }
    return index;
}

uint32_t swif_cache_take(struct swif_cache *cache, uint16_t peer,
                         bool (*may_evict)(void *owner, uint32_t index), void *owner,
                         int32_t *evicted)
{
    uint32_t first = set_of(cache, peer);
    uint32_t chosen = SWIF_NO_CONTEXT;
    uint32_t oldest = 0;
    for (uint32_t i = first; i < first + cache->ways; i++) {
        if (cache->lines[i].key == 0) {
            chosen = i;
            break;
        }
        uint32_t age = cache->clock - cache->lines[i].used;
        if ((chosen == SWIF_NO_CONTEXT || age > oldest) && may_evict(owner, i)) {
            chosen = i;
            oldest = age;
        }
    }
    if (chosen != SWIF_NO_CONTEXT) {
        *evicted = (int32_t)cache->lines[chosen].key - 1;
        cache->lines[chosen] = (struct swif_cache_line){peer + 1u, ++cache->clock};
    }
    return chosen;
}

void swif_cache_free(struct swif_cache *cache, uint32_t index)
{
    cache->lines[index].key = 0;
}
