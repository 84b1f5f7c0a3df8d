/* Comparing a word with a value, for waits.
 *
 * Every comparison is membership in a range that may wrap around, so one loop serves all:
 * value - low <= span, in unsigned arithmetic of the word's width. */
#ifndef BASE_COMPARISON_H
#define BASE_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmnet.h"

/* A type of word. */
struct base_word {
    unsigned bytes; /* 2, 4 or 8 */
    bool is_signed;
};

struct base_range {
    uint64_t low;
    uint64_t span;
};

/* The range of values that compare so with the lowest bytes of `value`. False: none does (above the
 * greatest, below the least). Folds to a few instructions where type and comparison are known. */
static inline bool base_range_make(enum dn_comparison comparison, uint64_t value,
                                   struct base_word type, struct base_range *range)
{
    uint64_t mask = UINT64_MAX >> (64 - 8 * type.bytes);
    uint64_t greatest = type.is_signed ? mask >> 1 : mask;
    uint64_t least = type.is_signed ? greatest + 1 : 0;
    value &= mask;
    switch (comparison) {
    case DN_EQ: *range = (struct base_range){value, 0}; return true;
    case DN_NE: *range = (struct base_range){(value + 1) & mask, mask - 1}; return true;
    case DN_GE: *range = (struct base_range){value, (greatest - value) & mask}; return true;
    case DN_LE: *range = (struct base_range){least, (value - least) & mask}; return true;
    case DN_GT:
        *range = (struct base_range){(value + 1) & mask, (greatest - value - 1) & mask};
        return value != greatest;
    default: *range = (struct base_range){least, (value - least - 1) & mask}; return value != least;
    }
}

static inline bool base_range_has(struct base_range range, uint64_t value, unsigned bytes)
{
    switch (bytes) {
    case 2: return (uint16_t)(value - range.low) <= range.span;
    case 4: return (uint32_t)(value - range.low) <= range.span;
    default: return value - range.low <= range.span;
    }
}

/* Acquire: pairs with the release of whatever wrote the value (doc/memory-model.md). */
static inline uint64_t base_word_load(const void *word, unsigned bytes)
{
    switch (bytes) {
    case 2: return __atomic_load_n((const uint16_t *)word, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE);
    }
}

/* Whether a word is in a range now. */
static inline bool base_word_holds(const void *word, unsigned bytes, struct base_range range)
{
    return base_range_has(range, base_word_load(word, bytes), bytes);
}

/* The same as the condition of a wait. */
struct base_watched_word {
    const void *word;
    unsigned bytes;
    struct base_range range;
};

static inline bool base_watched_word_holds(void *context)
{
    const struct base_watched_word *watched = context;
    return base_word_holds(watched->word, watched->bytes, watched->range);
}

#endif
