/* wait_until, test and their forms for several words, for every type. */
#include "shmem/wait.h"

/* For a constant width. It first wakes sleepers to which this PE has stored: one of them may be
 * what it waits for. */
static inline __attribute__((always_inline)) void wait_in_range(const void *word, unsigned bytes,
                                                                struct base_range range,
                                                                const char *call)
{
    const struct dn_node *node = shmem_state.node;
    if (LIKELY(node != NULL && !inner_stored_to_sleeps(node) && inner_polls_closely(node))) {
        for (int poll = 0; poll < INNER_CLOSE_POLLS; poll++) {
            if (base_word_holds(word, bytes, range)) {
                return;
            }
            cpu_relax_briefly();
        }
    }
    shmem_wait_slowly(word, bytes, range, call);
}

#define WORD(TYPE)                       \
    (struct base_word)                   \
    {                                    \
        sizeof(TYPE), (TYPE)-1 < (TYPE)1 \
    }

#define RANGE_MAKE(TYPE, CMP, VALUE, RANGE) \
    base_range_make((enum dn_comparison)(CMP), (uint64_t)(VALUE), WORD(TYPE), RANGE)

#define WAIT(TYPE, IVAR, CMP, VALUE, CALL)                                                   \
    struct base_range range;                                                                 \
    if (UNLIKELY((unsigned)(CMP) > SHMEM_CMP_LE || !RANGE_MAKE(TYPE, CMP, VALUE, &range))) { \
        shmem_wait_refuse(CMP, CALL);                                                        \
    }                                                                                        \
    wait_in_range(IVAR, sizeof(TYPE), range, CALL);

#define TEST(TYPE, IVAR, CMP, VALUE, CALL)                                                    \
    struct base_range range;                                                                  \
    if (UNLIKELY((unsigned)(CMP) > SHMEM_CMP_LE)) {                                           \
        shmem_wait_refuse(CMP, CALL);                                                         \
    }                                                                                         \
    if (RANGE_MAKE(TYPE, CMP, VALUE, &range) && base_word_holds(IVAR, sizeof(TYPE), range)) { \
        return 1;                                                                             \
    }                                                                                         \
    shmem_look_again();                                                                       \
    return 0;

/* The function's own name for messages, without the p of pshmem. */
#define CALL_NAME (__func__ + 1)

#define DEFINE_ONE(NAME, TYPE, A, B)                                                \
    void pshmem_##NAME##_wait_until(TYPE *ivar, int cmp, TYPE cmp_value)            \
    {                                                                               \
        WAIT(TYPE, ivar, cmp, cmp_value, CALL_NAME)                                 \
    }                                                                               \
    int pshmem_##NAME##_test(TYPE *ivar, int cmp, TYPE cmp_value){                  \
        TEST(TYPE, ivar, cmp, cmp_value, CALL_NAME)} SHMEM_ALIAS(NAME##_wait_until) \
        SHMEM_ALIAS(NAME##_test)

/* The arguments of a form for several words, with one value for all or one for each. */
#define WORDS(TYPE, VALUE, VALUES)                                                         \
    &(struct shmem_words)                                                                  \
    {                                                                                      \
        .words = ivars, .count = nelems, .status = status, .type = WORD(TYPE), .cmp = cmp, \
        .value = (uint64_t)(VALUE), .values = VALUES, .call = CALL_NAME                    \
    }

#define DEFINE_FORM(RETURNS, RETURN, NAME, TYPE, FORM, WAY)                                \
    RETURNS pshmem_##NAME##_##FORM(TYPE *ivars, size_t nelems, const int *status, int cmp, \
                                   TYPE cmp_value)                                         \
    {                                                                                      \
        RETURN WAY(WORDS(TYPE, cmp_value, NULL));                                          \
    }                                                                                      \
    RETURNS pshmem_##NAME##_##FORM##_vector(TYPE *ivars, size_t nelems, const int *status, \
                                            int cmp, TYPE *cmp_values)                     \
    {                                                                                      \
        RETURN WAY(WORDS(TYPE, 0, cmp_values));                                            \
    }                                                                                      \
    SHMEM_ALIAS(NAME##_##FORM)                                                             \
    SHMEM_ALIAS(NAME##_##FORM##_vector)

#define DEFINE_SOME(NAME, TYPE, FORM, WAY)                                                        \
    size_t pshmem_##NAME##_##FORM(TYPE *ivars, size_t nelems, size_t *indices, const int *status, \
                                  int cmp, TYPE cmp_value)                                        \
    {                                                                                             \
        return WAY(WORDS(TYPE, cmp_value, NULL), indices);                                        \
    }                                                                                             \
    size_t pshmem_##NAME##_##FORM##_vector(TYPE *ivars, size_t nelems, size_t *indices,           \
                                           const int *status, int cmp, TYPE *cmp_values)          \
    {                                                                                             \
        return WAY(WORDS(TYPE, 0, cmp_values), indices);                                          \
    }                                                                                             \
    SHMEM_ALIAS(NAME##_##FORM)                                                                    \
    SHMEM_ALIAS(NAME##_##FORM##_vector)

#define DEFINE_ALL(NAME, TYPE, A, B)                                              \
    DEFINE_ONE(NAME, TYPE, A, B)                                                  \
    DEFINE_FORM(void, , NAME, TYPE, wait_until_all, shmem_words_wait_all)         \
    DEFINE_FORM(size_t, return, NAME, TYPE, wait_until_any, shmem_words_wait_any) \
    DEFINE_SOME(NAME, TYPE, wait_until_some, shmem_words_wait_some)               \
    DEFINE_FORM(int, return, NAME, TYPE, test_all, shmem_words_test_all)          \
    DEFINE_FORM(size_t, return, NAME, TYPE, test_any, shmem_words_test_any)       \
    DEFINE_SOME(NAME, TYPE, test_some, shmem_words_test_some)

SHMEM_SYNC_TYPES(DEFINE_ALL, , )
SHMEM_SYNC_SHORT_TYPES(DEFINE_ONE, , )

/* The value that ended the wait, which may have changed again since. */
uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    struct base_range range;
    if (UNLIKELY((unsigned)cmp > SHMEM_CMP_LE || !RANGE_MAKE(uint64_t, cmp, cmp_value, &range))) {
        shmem_wait_refuse(cmp, CALL_NAME);
    }
    for (;;) {
        wait_in_range(sig_addr, sizeof *sig_addr, range, CALL_NAME);
        uint64_t value = base_word_load(sig_addr, sizeof *sig_addr);
        if (LIKELY(base_range_has(range, value, sizeof value))) {
            return value;
        }
    }
}

SHMEM_ALIAS(signal_wait_until)

/* ---- Deprecated names ---------------------------------------------------------------------- */

#define DEFINE_OLD(NAME, TYPE, A, B)                       \
    void pshmem_##NAME##_wait(TYPE *ivar, TYPE cmp_value){ \
        WAIT(TYPE, ivar, SHMEM_CMP_NE, cmp_value, CALL_NAME)} SHMEM_ALIAS(NAME##_wait)

SHMEM_SYNC_OLD_TYPES(DEFINE_OLD, , )

void pshmem_wait(long *ivar, long cmp_value)
{
    WAIT(long, ivar, SHMEM_CMP_NE, cmp_value, CALL_NAME)
}

void pshmem_wait_until(long *ivar, int cmp,
                       long cmp_value){WAIT(long, ivar, cmp, cmp_value, CALL_NAME)}

SHMEM_ALIAS(wait) SHMEM_ALIAS(wait_until)
