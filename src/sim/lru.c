/* Sets by the key's lowest part; in a set the oldest use goes first. */
#include "sim/lru.h"

#include <stdlib.h>

struct sim_lru {
    uint64_t sets;
    uint64_t clock; /* counts uses */
    struct {
        uint64_t key;
        uint64_t used; /* 0: empty */
    } ways[];          /* sets of SIM_LRU_WAYS */
};

struct sim_lru *sim_lru_open(uint64_t keys)
{
    uint64_t sets = keys / SIM_LRU_WAYS > 0 ? keys / SIM_LRU_WAYS : 1;
    struct sim_lru *lru = calloc(1, sizeof *lru + sets * SIM_LRU_WAYS * sizeof lru->ways[0]);
    INVARIANT(lru);
    lru->sets = sets;
    return lru;
}

void sim_lru_close(struct sim_lru *lru)
{
    free(lru);
}

bool sim_lru_use(struct sim_lru *lru, uint64_t key)
{
    uint64_t first = key % lru->sets * SIM_LRU_WAYS;
    uint64_t oldest = first;
    for (uint64_t way = first; way < first + SIM_LRU_WAYS; way++) {
        if (lru->ways[way].used != 0 && lru->ways[way].key == key) {
            lru->ways[way].used = ++lru->clock;
            return true;
        }
        oldest = lru->ways[way].used < lru->ways[oldest].used ? way : oldest;
    }
    lru->ways[oldest].key = key;
    lru->ways[oldest].used = ++lru->clock;
    return false;
}
