/* wait_until, test and their forms for several words, for every type. */
#include "shmem/wait.h"

/* For a constant width; false: a death has ended the wait. It first wakes sleepers to which this PE
 * has stored: one of them may be what it waits for. */
static inline __attribute__((always_inline)) bool wait_in_range(const void *word, unsigned bytes,
                                                                struct base_range range,
                                                                const char *call)
{
    const struct dn_node *node = shmem_state.node;
    if (LIKELY(node != NULL && !inner_stored_to_sleeps(node) && inner_polls_closely(node) &&
               !inner_is_traced(node))) {
        for (int poll = 0; poll < INNER_CLOSE_POLLS; poll++) {
            if (base_word_holds(word, bytes, range)) {
                return true;
            }
            cpu_relax_briefly();
        }
    }
    return shmem_wait_slowly(word, bytes, range, call);
}

#define WORD(TYPE)                       \
    (struct base_word)                   \
    {                                    \
        sizeof(TYPE), (TYPE)-1 < (TYPE)1 \
    }

#define RANGE_MAKE(TYPE, CMP, VALUE, RANGE) \
    base_range_make((enum dn_comparison)(CMP), (uint64_t)(VALUE), WORD(TYPE), RANGE)

/* What a function with `ivar` and `cmp_value` does. */
#define WAIT(TYPE, CMP)                                                                          \
    struct base_range range;                                                                     \
    if (UNLIKELY((unsigned)(CMP) > SHMEM_CMP_LE || !RANGE_MAKE(TYPE, CMP, cmp_value, &range))) { \
        shmem_wait_refuse(CMP, SHMEM_CALL_NAME);                                                 \
    }                                                                                            \
    (void)wait_in_range(ivar, sizeof(TYPE), range, SHMEM_CALL_NAME)

#define TEST(TYPE, CMP)                                                                           \
    struct base_range range;                                                                      \
    if (UNLIKELY((unsigned)(CMP) > SHMEM_CMP_LE)) {                                               \
        shmem_wait_refuse(CMP, SHMEM_CALL_NAME);                                                  \
    }                                                                                             \
    if (RANGE_MAKE(TYPE, CMP, cmp_value, &range) && base_word_holds(ivar, sizeof(TYPE), range)) { \
        shmem_trace_look(ivar, sizeof(TYPE), SHMEM_CALL_NAME);                                    \
        return 1;                                                                                 \
    }                                                                                             \
    shmem_look_again();                                                                           \
    return 0

/* The arguments of a form for several words. */
#define WORDS(TYPE, VALUE, VALUES)                          \
    struct shmem_words words = {.words = ivars,             \
                                .count = nelems,            \
                                .status = status,           \
                                .type = WORD(TYPE),         \
                                .cmp = cmp,                 \
                                .value = (uint64_t)(VALUE), \
                                .values = VALUES,           \
                                .call = SHMEM_CALL_NAME}

/* Such a form, with one value for all words and with one for each; INDICES is a parameter in
 * parentheses, with its comma, or nothing there. */
#define DEFINE_FORM(RETURNS, NAME, TYPE, INDICES, STATEMENT)                                    \
    SHMEM_DEFINE(RETURNS, NAME,                                                                 \
                 (TYPE * ivars, size_t nelems, SHMEM_UNPACK INDICES const int *status, int cmp, \
                  TYPE cmp_value),                                                              \
                 WORDS(TYPE, cmp_value, NULL);                                                  \
                 STATEMENT)                                                                     \
    SHMEM_DEFINE(RETURNS, NAME##_vector,                                                        \
                 (TYPE * ivars, size_t nelems, SHMEM_UNPACK INDICES const int *status, int cmp, \
                  const TYPE *cmp_values),                                                      \
                 WORDS(TYPE, 0, cmp_values);                                                    \
                 STATEMENT)

#define DEFINE_ALL(NAME, TYPE, A, B)                                                               \
    SHMEM_DEFINE(void, NAME##_wait_until, (TYPE * ivar, int cmp, TYPE cmp_value), WAIT(TYPE, cmp)) \
    SHMEM_DEFINE(int, NAME##_test, (TYPE * ivar, int cmp, TYPE cmp_value), TEST(TYPE, cmp))        \
    DEFINE_FORM(void, NAME##_wait_until_all, TYPE, (), (void)shmem_words_all(&words, true))        \
    DEFINE_FORM(size_t, NAME##_wait_until_any, TYPE, (), return shmem_words_any(&words, true))     \
    DEFINE_FORM(size_t, NAME##_wait_until_some, TYPE, (size_t * indices, ),                        \
                return shmem_words_some(&words, true, indices))                                    \
    DEFINE_FORM(int, NAME##_test_all, TYPE, (), return shmem_words_all(&words, false))             \
    DEFINE_FORM(size_t, NAME##_test_any, TYPE, (), return shmem_words_any(&words, false))          \
    DEFINE_FORM(size_t, NAME##_test_some, TYPE, (size_t * indices, ),                              \
                return shmem_words_some(&words, false, indices))

SHMEM_SYNC_TYPES(DEFINE_ALL, , )

/* The value that ended the wait, which may have changed again since. */
uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    struct base_range range;
    if (UNLIKELY((unsigned)cmp > SHMEM_CMP_LE || !RANGE_MAKE(uint64_t, cmp, cmp_value, &range))) {
        shmem_wait_refuse(cmp, SHMEM_CALL_NAME);
    }
    for (;;) {
        bool holds = wait_in_range(sig_addr, sizeof *sig_addr, range, SHMEM_CALL_NAME);
        uint64_t value = base_word_load(sig_addr, sizeof *sig_addr);
        if (LIKELY(base_range_has(range, value, sizeof value)) || !holds) {
            return value;
        }
    }
}

SHMEM_ALIAS(signal_wait_until)

/* ---- Deprecated names ---------------------------------------------------------------------- */

#define DEFINE_OLD(NAME, TYPE, A, B) \
    SHMEM_DEFINE(void, NAME##_wait, (TYPE * ivar, TYPE cmp_value), WAIT(TYPE, SHMEM_CMP_NE))

SHMEM_SYNC_OLD_TYPES(DEFINE_OLD, , )

SHMEM_DEFINE(void, wait, (long *ivar, long cmp_value), WAIT(long, SHMEM_CMP_NE))
SHMEM_DEFINE(void, wait_until, (long *ivar, int cmp, long cmp_value), WAIT(long, cmp))
