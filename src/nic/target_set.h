/* A set of nodes: a bit for each, and the range of words that may hold any, so that emptying,
 * testing or walking a set of few neighbours does not touch 8 KiB. A set that is all zero is
 * empty, and needs words only before something is added. */
#ifndef NIC_TARGET_SET_H
#define NIC_TARGET_SET_H

#include <string.h>

#include "base/base.h"

struct nic_target_set {
    uint64_t *words;
    uint32_t low, high; /* words before low and from high on are 0; high 0: all are */
};

static inline uint32_t nic_target_set_words(uint32_t node_count)
{
    return (node_count + 63) / 64;
}

/* The words are all zero, as fresh memory is. */
static inline void nic_target_set_init(struct nic_target_set *set, uint64_t *words)
{
    *set = (struct nic_target_set){.words = words};
}

static inline void nic_target_set_empty(struct nic_target_set *set)
{
    if (set->low < set->high) {
        memset(set->words + set->low, 0, (set->high - set->low) * sizeof *set->words);
    }
    set->low = 0;
    set->high = 0;
}

static inline bool nic_target_set_is_empty(const struct nic_target_set *set)
{
    uint64_t any = 0;
    for (uint32_t word = set->low; word < set->high; word++) {
        any |= set->words[word];
    }
    return any == 0;
}

static inline void nic_target_set_add(struct nic_target_set *set, uint16_t target)
{
    uint32_t word = target / 64u;
    set->words[word] |= UINT64_C(1) << (target % 64);
    set->low = word < set->low || set->high == 0 ? word : set->low;
    set->high = word + 1 > set->high ? word + 1 : set->high;
}

static inline bool nic_target_set_has(const struct nic_target_set *set, uint16_t target)
{
    uint32_t word = target / 64u;
    return word >= set->low && word < set->high && (set->words[word] >> (target % 64) & 1);
}

static inline void nic_target_set_remove(struct nic_target_set *set, uint16_t target)
{
    if (nic_target_set_has(set, target)) {
        set->words[target / 64u] &= ~(UINT64_C(1) << (target % 64));
    }
}

#endif
