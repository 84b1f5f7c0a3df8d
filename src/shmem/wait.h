/* Waiting for words of this PE: comparisons, and the loops behind the typed functions. */
#ifndef SHMEM_WAIT_H
#define SHMEM_WAIT_H

#include "shmem/state.h"

/* Every comparison is membership in a range that may wrap around, so one loop serves all:
 * value - low <= span, in unsigned arithmetic of the word's width. */
struct shmem_range {
    uint64_t low;
    uint64_t span;
};

/* The range of `cmp value` among the words from `least` to `greatest`, of a type with this
 * mask of bits. False for a comparison that no value can meet. */
static inline bool shmem_range_make(int cmp, uint64_t value, uint64_t least, uint64_t greatest,
                                    uint64_t mask, struct shmem_range *range)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: *range = (struct shmem_range){value, 0}; return true;
    case SHMEM_CMP_NE: *range = (struct shmem_range){(value + 1) & mask, mask - 1}; return true;
    case SHMEM_CMP_GE: *range = (struct shmem_range){value, (greatest - value) & mask}; return true;
    case SHMEM_CMP_LE: *range = (struct shmem_range){least, (value - least) & mask}; return true;
    case SHMEM_CMP_GT:
        *range = (struct shmem_range){(value + 1) & mask, (greatest - value - 1) & mask};
        return value != greatest;
    default:
        *range = (struct shmem_range){least, (value - least - 1) & mask};
        return value != least;
    }
}

/* A word type: its width and order. */
struct shmem_word {
    unsigned bytes; /* 2, 4 or 8 */
    bool is_signed;
};

/* The value at a place; acquire, so that what was ordered before its store is seen. */
static inline uint64_t shmem_word_load(const void *word, unsigned bytes)
{
    switch (bytes) {
    case 2: return __atomic_load_n((const uint16_t *)word, __ATOMIC_ACQUIRE);
    case 4: return __atomic_load_n((const uint32_t *)word, __ATOMIC_ACQUIRE);
    default: return __atomic_load_n((const uint64_t *)word, __ATOMIC_ACQUIRE);
    }
}

static inline bool shmem_in_range(uint64_t value, unsigned bytes, struct shmem_range range)
{
    switch (bytes) {
    case 2: return (uint16_t)(value - range.low) <= range.span;
    case 4: return (uint32_t)(value - range.low) <= range.span;
    default: return value - range.low <= range.span;
    }
}

/* ---- One word ----------------------------------------------------------------------------- */

/* Waits until a word is in a range. Inline where the width is known; polls closely while a
 * core is free, and leaves the rest to wait_slowly. */
void shmem_wait_slowly(const void *word, unsigned bytes, struct shmem_range range, const char *call)
    __attribute__((noinline, visibility("hidden")));

/* Ends the job: a comparison that can never hold, or that does not exist. */
_Noreturn void shmem_wait_refuse(int cmp, const char *call)
    __attribute__((cold, visibility("hidden")));

/* After a look that found nothing: gives the core away if others need it. */
void shmem_look_again(void) __attribute__((visibility("hidden")));

/* ---- Several words ------------------------------------------------------------------------- */

struct shmem_words {
    const void *words;
    size_t count;
    const int *status; /* NULL: all take part; else those with 0 */
    struct shmem_word type;
    int cmp;
    uint64_t value;     /* for all words, or */
    const void *values; /* one for each */
    const char *call;
};

/* Forms of waiting and looking, as the typed functions return. */
void shmem_words_wait_all(const struct shmem_words *words) __attribute__((visibility("hidden")));
size_t shmem_words_wait_any(const struct shmem_words *words) __attribute__((visibility("hidden")));
size_t shmem_words_wait_some(const struct shmem_words *words, size_t *indices)
    __attribute__((visibility("hidden")));
int shmem_words_test_all(const struct shmem_words *words) __attribute__((visibility("hidden")));
size_t shmem_words_test_any(const struct shmem_words *words) __attribute__((visibility("hidden")));
size_t shmem_words_test_some(const struct shmem_words *words, size_t *indices)
    __attribute__((visibility("hidden")));

#endif
