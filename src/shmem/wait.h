/* Waiting for words of this PE: the loops behind the typed functions. */
#ifndef SHMEM_WAIT_H
#define SHMEM_WAIT_H

#include "base/comparison.h"
#include "shmem/state.h"

#pragma GCC visibility push(hidden)

_Static_assert(SHMEM_CMP_EQ == (int)DN_EQ && SHMEM_CMP_NE == (int)DN_NE &&
                   SHMEM_CMP_GT == (int)DN_GT && SHMEM_CMP_GE == (int)DN_GE &&
                   SHMEM_CMP_LT == (int)DN_LT && SHMEM_CMP_LE == (int)DN_LE,
               "both interfaces number the comparisons alike");

/* ---- One word ----------------------------------------------------------------------------- */

/* Waits until a word is in a range; false: a death has ended the wait. The typed functions poll
 * closely first, inline, and leave the rest to this one. */
bool shmem_wait_slowly(const void *word, unsigned bytes, struct base_range range, const char *call)
    __attribute__((noinline));

/* Ends the job: a comparison that can never hold, or that does not exist. */
_Noreturn void shmem_wait_refuse(int cmp, const char *call) __attribute__((cold));

/* After a look that found what it looked for: records it. */
static inline void shmem_trace_look(const void *word, unsigned bytes, const char *call)
{
    if (shmem_state.node && inner_is_traced(shmem_state.node)) {
        inner_trace_look(shmem_state.node, call, word, bytes);
    }
}

/* After a look that found nothing: gives the core away if others need it. */
void shmem_look_again(void);

/* ---- Several words ------------------------------------------------------------------------- */

struct shmem_words {
    const void *words;
    size_t count;
    const int *status; /* NULL: all take part; else those with 0 */
    struct base_word type;
    int cmp;
    uint64_t value;     /* for all words, or */
    const void *values; /* one for each */
    const char *call;
};

/* Whether all of the words hold; the index of one that does; how many do, and their indices. With
 * `waits` a call returns when that is so, or after a death; else at once; with 0, SIZE_MAX or 0 if
 * it is not. */
int shmem_words_all(const struct shmem_words *words, bool waits);
size_t shmem_words_any(const struct shmem_words *words, bool waits);
size_t shmem_words_some(const struct shmem_words *words, bool waits, size_t *indices);

#pragma GCC visibility pop

#endif
