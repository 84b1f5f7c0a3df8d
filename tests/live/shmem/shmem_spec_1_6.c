/* Version 1.6: signals without data, pointers by team, sessions, quiet for some PEs; and what old
 * programs expect besides: alignments of every size, waits for short words. */
#include <limits.h>
#include <stddef.h>

#include "shmem_spec.h"

static int right(void)
{
    return live_neighbour(1);
}

static int left(void)
{
    return live_neighbour(-1);
}

/* ---- Names and constants ----------------------------------------------------------- */

static void names_of_this_version(void)
{
    static const long option = SHMEM_CTX_SESSION_BATCH;
    static const long field = SHMEM_CTX_SESSION_TOTAL_OPS;
    shmem_ctx_session_config_t config = {.total_ops = SIZE_MAX};
    int major;
    int minor;
    require(option != 0 && (option & (option - 1)) == 0);
    require(field != 0 && (field & (field - 1)) == 0);
    require(sizeof config.total_ops == sizeof(size_t));
#if SHMEM_MAJOR_VERSION != 1 || SHMEM_MINOR_VERSION != 6
#error "the header is of another version"
#endif
    shmem_info_get_version(&major, &minor);
    require(major == 1 && minor == 6);
}

/* ---- Signals without data ---------------------------------------------------------- */

#define SIGNAL_WAYS(P)                                                               \
    for (int i = 0; i < 4; i++) {                                                    \
        words[i] = 0;                                                                \
    }                                                                                \
    shmem_barrier_all();                                                             \
    P##_signal_set(&words[0], 40, right());                                          \
    P##_signal_add(&words[1], UINT64_MAX, right());                                  \
    P##_ctx_signal_set(context, &words[2], UINT64_C(1) << 63, right());              \
    P##_ctx_signal_add(context, &words[3], 43, right());                             \
    require(P##_signal_wait_until(&words[0], SHMEM_CMP_EQ, 40) == 40);               \
    require(P##_signal_wait_until(&words[1], SHMEM_CMP_NE, 0) == UINT64_MAX);        \
    require(P##_signal_wait_until(&words[2], SHMEM_CMP_GT, 0) == UINT64_C(1) << 63); \
    require(P##_signal_wait_until(&words[3], SHMEM_CMP_GE, 43) == 43);               \
    shmem_barrier_all();                                                             \
    P##_signal_add(&words[0], 2, right());                                           \
    P##_signal_add(&words[1], 2, right());                                           \
    P##_ctx_signal_add(context, &words[2], UINT64_C(1) << 63 | 5, right());          \
    P##_ctx_signal_set(context, &words[3], 6, right());                              \
    require(P##_signal_wait_until(&words[0], SHMEM_CMP_NE, 40) == 42);               \
    require(P##_signal_wait_until(&words[1], SHMEM_CMP_LT, UINT64_MAX) == 1);        \
    require(P##_signal_wait_until(&words[2], SHMEM_CMP_LE, UINT64_MAX >> 1) == 5);   \
    require(P##_signal_wait_until(&words[3], SHMEM_CMP_EQ, 6) == 6);                 \
    require(P##_signal_fetch(&words[0]) == 42 && P##_signal_fetch(&words[3]) == 6);  \
    shmem_barrier_all();

static void a_signal_alone_is_set_and_added_to(void)
{
    static uint64_t words[4];
    shmem_ctx_t context;
    require(shmem_ctx_create(0, &context) == 0);
    SIGNAL_WAYS(shmem)
    SIGNAL_WAYS(pshmem)
    /* Without the ctx in the name; as a function as well as by the macro. */
    words[0] = words[1] = 0;
    shmem_barrier_all();
    shmem_signal_set(&words[0], 1, right());
    shmem_signal_set(context, &words[1], 2, right());
    (void)shmem_signal_wait_until(&words[0], SHMEM_CMP_EQ, 1);
    (void)shmem_signal_wait_until(&words[1], SHMEM_CMP_EQ, 2);
    shmem_barrier_all();
    shmem_signal_add(&words[0], 10, right());
    shmem_signal_add(context, &words[0], 20, right());
    (shmem_signal_add)(&words[0], 30, right());
    (shmem_signal_set)(&words[1], 40, right());
    (void)shmem_signal_wait_until(&words[0], SHMEM_CMP_EQ, 61);
    (void)shmem_signal_wait_until(&words[1], SHMEM_CMP_EQ, 40);
    shmem_barrier_all();
    shmem_ctx_destroy(context);
}

/* Additions of all kinds by all PEs at once: none is lost. */
static void signals_of_all_pes_add_up(void)
{
    enum { ROUNDS = 300 };
    static uint64_t word;
    static char data;
    char byte = 'x';
    shmem_ctx_t context;
    require(shmem_ctx_create(0, &context) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        shmem_signal_add(&word, 1, 0);
        shmem_ctx_signal_add(context, &word, UINT64_C(1) << 32, 0);
        shmem_putmem_signal(&data, &byte, 1, &word, 1, SHMEM_SIGNAL_ADD, 0);
        shmem_uint64_atomic_add(&word, 1, 0);
    }
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    uint64_t each = ((UINT64_C(1) << 32) + 3) * ROUNDS;
    require(me.rank != 0 || shmem_signal_fetch(&word) == each * (uint64_t)me.size);
    shmem_ctx_destroy(context);
}

/* By itself a signal orders nothing: a fence does, as for every update. */
static void a_fence_orders_a_signal_behind_data(void)
{
    enum { ROUNDS = 200, WORDS = 100 };
    static long data[WORDS];
    static uint64_t signal_word;
    static uint64_t seen;
    long from[WORDS];
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            from[i] = round;
        }
        (void)shmem_signal_wait_until(&seen, SHMEM_CMP_GE, (uint64_t)round - 1);
        shmem_long_put_nbi(data, from, WORDS, right());
        shmem_fence();
        if (round % 2) {
            shmem_signal_set(&signal_word, (uint64_t)round, right());
        } else {
            shmem_signal_add(&signal_word, 1, right());
        }
        (void)shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round);
        for (int i = 0; i < WORDS; i++) {
            require_else(data[i] == round, "word %d is %ld in round %ld", i, data[i], round);
        }
        shmem_quiet();
        shmem_signal_add(&seen, 1, left());
    }
    shmem_barrier_all();
}

/* ---- Pointers by team -------------------------------------------------------------- */

static void check_team_pointers(shmem_team_t team, long *object)
{
    for (int i = 0; i < shmem_team_n_pes(team); i++) {
        int pe = shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
        require_else(shmem_team_ptr(team, object, i) == shmem_ptr(object, pe), "number %d, PE %d",
                     i, pe);
        require(pshmem_team_ptr(team, object, i) == shmem_ptr(object, pe));
    }
    require(!shmem_team_ptr(team, object, -1));
    require(!shmem_team_ptr(team, object, shmem_team_n_pes(team)));
}

/* The same as by number among all PEs; so it is null where that is. */
static void pointers_by_number_in_a_team(void)
{
    static long variable;
    long on_stack = 0;
    long *heap = shmem_calloc(1, sizeof *heap);
    shmem_team_t reversed;
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, NULL, 0,
                                     &reversed) == 0);
    require(!shmem_team_ptr(SHMEM_TEAM_INVALID, &variable, 0));
    require(!shmem_team_ptr(SHMEM_TEAM_WORLD, &on_stack, me.rank));
    require(!shmem_team_ptr(SHMEM_TEAM_WORLD, NULL, me.rank));
    check_team_pointers(SHMEM_TEAM_WORLD, &variable);
    check_team_pointers(SHMEM_TEAM_SHARED, heap);
    check_team_pointers(reversed, &variable);
    check_team_pointers(reversed, heap);
    shmem_barrier_all();
    /* Number n of the team is PE size - 1 - n. */
    long *theirs = shmem_team_ptr(reversed, &variable, me.size - 1 - right());
    if (theirs) {
        __atomic_store_n(theirs, me.rank + 1, __ATOMIC_RELEASE);
        shmem_long_wait_until(&variable, SHMEM_CMP_EQ, left() + 1);
    } else {
        require(live_is_relaxed() || live_is_by_packets());
    }
    shmem_barrier_all();
    shmem_team_destroy(reversed);
    shmem_free(heap);
}

/* ---- Sessions ---------------------------------------------------------------------- */

/* Whatever a session says, transfers do what they do without one. */
static void transfers_in_a_session(shmem_ctx_t context, long round)
{
    enum { COUNT = 100 };
    static long box[COUNT];
    static long counter;
    long from[COUNT];
    long got[COUNT];
    counter = 0;
    shmem_barrier_all();
    for (int i = 0; i < COUNT; i++) {
        from[i] = round * 1000 + i + me.rank;
        if (i % 2) {
            shmem_ctx_long_p(context, &box[i], from[i], right());
        } else {
            shmem_ctx_long_put_nbi(context, &box[i], &from[i], 1, right());
        }
        shmem_ctx_long_atomic_inc(context, &counter, right());
    }
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    for (int i = 0; i < COUNT; i++) {
        require_else(box[i] == round * 1000 + i + left(), "round %ld, word %d", round, i);
    }
    require(counter == COUNT);
    shmem_ctx_long_get_nbi(context, got, box, COUNT, right());
    shmem_ctx_quiet(context);
    require(memcmp(got, from, sizeof got) == 0);
    shmem_barrier_all();
}

static void use_sessions(shmem_ctx_t context)
{
    shmem_ctx_session_config_t config = {.total_ops = 300};
    /* With an option; with nothing; with a configuration, the mask deciding whether it is read; too
     * small a number changes nothing but the time it takes. */
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    transfers_in_a_session(context, 1);
    shmem_ctx_session_stop(context);
    shmem_ctx_session_start(context, 0, NULL, 0);
    transfers_in_a_session(context, 2);
    shmem_ctx_session_stop(context);
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    transfers_in_a_session(context, 3);
    /* Started again within the session: options add up, the configuration is replaced. */
    config.total_ops = 1;
    shmem_ctx_session_start(context, 0, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    config.total_ops = 0;
    transfers_in_a_session(context, 4);
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, 0);
    transfers_in_a_session(context, 5);
    shmem_ctx_session_stop(context);
    transfers_in_a_session(context, 6);
    pshmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, 0);
    transfers_in_a_session(context, 7);
    pshmem_ctx_session_stop(context);
}

static void sessions_change_no_result(void)
{
    shmem_ctx_t context;
    require(shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) == 0);
    use_sessions(SHMEM_CTX_DEFAULT);
    use_sessions(context);
    shmem_ctx_destroy(context);
    require(shmem_team_create_ctx(SHMEM_TEAM_WORLD, SHMEM_CTX_SERIALIZED, &context) == 0);
    use_sessions(context);
    shmem_ctx_destroy(context);
}

/* What the specification lets pass. A session is of one PE and one context: nobody waits. */
static void sessions_are_nobody_elses(void)
{
    shmem_ctx_session_config_t config = {.total_ops = 5};
    shmem_ctx_session_start(SHMEM_CTX_INVALID, SHMEM_CTX_SESSION_BATCH, &config,
                            SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    if (me.rank == 0) {
        shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, &config,
                                SHMEM_CTX_SESSION_TOTAL_OPS);
    }
    transfers_in_a_session(SHMEM_CTX_DEFAULT, 8);
    if (me.rank == 0) {
        shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
    }
    /* Collectives and order within a session are as ever. */
    static long sum;
    static long one = 1;
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    require(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1) == 0 && sum == me.size);
    shmem_fence();
    shmem_barrier_all();
    shmem_ctx_session_stop(SHMEM_CTX_DEFAULT);
}

/* ---- Quiet for some PEs ------------------------------------------------------------ */

enum { ROUNDS = 200, WORDS = 150 };

/* The flag is at another PE than the data, so the flag's reader finds the data only after a quiet
 * for the PE that has it. */
static void quiet_rounds(shmem_ctx_t context, bool is_default)
{
    static long data[WORDS];
    static long flag;
    static long seen;
    long from[WORDS];
    long got[WORDS];
    int second = live_neighbour(2);
    int target = right();
    int several[4] = {right(), me.rank, second, right()};
    memset(data, 0, sizeof data);
    flag = seen = 0;
    shmem_barrier_all();
    for (long round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < WORDS; i++) {
            from[i] = round;
        }
        shmem_long_wait_until(&seen, SHMEM_CMP_GE, round - 1);
        shmem_ctx_long_put_nbi(context, data, from, WORDS, target);
        if (!is_default) {
            shmem_ctx_pe_quiet(context, &target, 1);
        } else if (round % 3 == 0) {
            shmem_pe_quiet(&target, 1);
        } else if (round % 3 == 1) {
            shmem_pe_quiet(several, LIVE_COUNT(several));
        } else {
            pshmem_pe_quiet(&several[3], 1);
        }
        shmem_long_p(&flag, round, second);
        shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
        /* Two steps to the left is whose flag this is; its data is one step to the left. */
        shmem_long_get(got, data, WORDS, left());
        for (int i = 0; i < WORDS; i++) {
            require_else(got[i] == round, "word %d is %ld in round %ld", i, got[i], round);
        }
        shmem_quiet();
        shmem_long_atomic_set(&seen, round, live_neighbour(-2));
    }
    shmem_barrier_all();
}

static void quiet_for_some_pes(void)
{
    shmem_ctx_t context;
    require(shmem_ctx_create(0, &context) == 0);
    quiet_rounds(SHMEM_CTX_DEFAULT, true);
    quiet_rounds(SHMEM_CTX_DEFAULT, false);
    quiet_rounds(context, false);
    shmem_ctx_destroy(context);
}

static void quiet_for_some_pes_completes_gets_and_atomics(void)
{
    static long box[2];
    shmem_ctx_t context;
    require(shmem_ctx_create(0, &context) == 0);
    for (long round = 1; round <= 50; round++) {
        long got = -1;
        long old = -1;
        int target = right();
        box[0] = round + me.rank;
        box[1] = round;
        shmem_barrier_all();
        shmem_long_get_nbi(&got, &box[0], 1, target);
        shmem_pe_quiet(&target, 1);
        require(got == round + target);
        shmem_ctx_long_atomic_fetch_add_nbi(context, &old, &box[1], 5, target);
        pshmem_ctx_pe_quiet(context, &target, 1);
        require(old == round);
        shmem_barrier_all();
        require(box[1] == round + 5);
        shmem_barrier_all();
    }
    shmem_ctx_destroy(context);
}

/* None at all, an invalid context, and a context whose PEs have numbers of their own. */
static void quiet_for_no_pe_and_by_number_in_a_team(void)
{
    static long box;
    shmem_team_t reversed;
    shmem_ctx_t context;
    int nowhere = me.size + 5;
    shmem_pe_quiet(NULL, 0);
    shmem_pe_quiet(&nowhere, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_DEFAULT, NULL, 0);
    shmem_ctx_pe_quiet(SHMEM_CTX_INVALID, &nowhere, 1);
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, NULL, 0,
                                     &reversed) == 0);
    require(shmem_team_create_ctx(reversed, 0, &context) == 0);
    int target = me.size - 1 - right();
    long value = me.rank + 1;
    long got = 0;
    shmem_ctx_long_put_nbi(context, &box, &value, 1, target);
    shmem_ctx_pe_quiet(context, &target, 1);
    shmem_getmem(&got, &box, sizeof got, right());
    require(got == value);
    shmem_barrier_all();
    require(box == left() + 1);
    shmem_ctx_destroy(context);
    shmem_team_destroy(reversed);
}

/* ---- Alignment --------------------------------------------------------------------- */

/* As SHMEM_SYMMETRIC_SIZE says, in bytes; 1 GB unless set. */
static size_t heap_bytes(void)
{
    const char *size = getenv("SHMEM_SYMMETRIC_SIZE");
    return size ? strtoull(size, NULL, 10) : (size_t)1 << 30;
}

/* Every power of two up to the heap's size, 1 included. */
static void alignments_up_to_the_heaps_size(void)
{
    for (size_t alignment = 1; alignment <= heap_bytes(); alignment *= 2) {
        unsigned char *block = shmem_align(alignment, 100);
        require_else(block, "alignment %zu: errno %d", alignment, errno);
        require_else((uintptr_t)block % alignment == 0, "alignment %zu: %p", alignment,
                     (void *)block);
        shmem_uchar_p(&block[99], (unsigned char)(me.rank + 1), right());
        shmem_barrier_all();
        require(block[99] == (unsigned char)(left() + 1));
        /* At the same place of every PE's heap. */
        require(shmem_addr_accessible(block, right()));
        shmem_free(block);
    }
    /* Several small ones at a time: they do not overlap. */
    unsigned char *blocks[7];
    for (size_t i = 0; i < LIVE_COUNT(blocks); i++) {
        size_t alignment = (size_t)1 << (6 - i);
        blocks[i] = shmem_align(alignment, 3);
        require(blocks[i] && (uintptr_t)blocks[i] % alignment == 0);
        memset(blocks[i], (int)i, 3);
    }
    for (size_t i = 0; i < LIVE_COUNT(blocks); i++) {
        require(live_all_are(blocks[i], 3, (unsigned char)i));
        shmem_free(blocks[i]);
    }
}

/* A null pointer, and errno says whether the number was wrong or the memory too small. */
static void alignments_that_cannot_be(void)
{
    static const size_t wrong[] = {0, 3, 12, 48, 4097, SIZE_MAX};
    for (size_t i = 0; i < LIVE_COUNT(wrong); i++) {
        errno = 0;
        require_else(!shmem_align(wrong[i], 8), "alignment %zu", wrong[i]);
        require_else(errno == EINVAL, "alignment %zu: errno %d", wrong[i], errno);
    }
    for (size_t alignment = (size_t)1 << 63; alignment > heap_bytes(); alignment /= 2) {
        errno = 0;
        require_else(!shmem_align(alignment, 8), "alignment %zu", alignment);
        require_else(errno == ENOMEM, "alignment %zu: errno %d", alignment, errno);
    }
    errno = 0;
    require(!shmem_align(64, heap_bytes() * 4) && errno == ENOMEM);
    require(!shmem_align(64, 0));
    /* The whole heap is still there. */
    void *block = shmem_align(4096, heap_bytes() / 2);
    require(block);
    shmem_free(block);
}

static void allocations_that_fail_say_why(void)
{
    size_t too_much = heap_bytes() * 4;
    errno = 0;
    require(!shmem_malloc(too_much) && errno == ENOMEM);
    errno = 0;
    require(!shmem_calloc(4, heap_bytes()) && errno == ENOMEM);
    errno = 0;
    require(!shmem_calloc(SIZE_MAX / 2, 4) && errno == ENOMEM);
    errno = 0;
    require(!shmem_malloc_with_hints(too_much, SHMEM_MALLOC_SIGNAL_REMOTE) && errno == ENOMEM);
    char *block = shmem_malloc(10);
    errno = 0;
    require(block && !shmem_realloc(block, too_much) && errno == ENOMEM);
    shmem_free(block);
}

/* ---- Waiting for short words ------------------------------------------------------- */

/* Values at both ends of the type: a wait that took the words for wider ones, or for words of the
 * other signedness, would see others. The last word of each array is not asked for. */
#define SHORT_WAITS(NAME, TYPE, LOW, HIGH)                                                        \
    static void waits_of_##NAME(void)                                                             \
    {                                                                                             \
        static TYPE words[5];                                                                     \
        static const TYPE sent[5] = {LOW, HIGH, 7, LOW + 1, 9};                                   \
        static const int status[4] = {0, 1, 0, 0};                                                \
        size_t found[4];                                                                          \
        memset(words, 0, sizeof words);                                                           \
        shmem_barrier_all();                                                                      \
        require(shmem_##NAME##_test(&words[1], SHMEM_CMP_EQ, HIGH) == 0);                         \
        require(shmem_##NAME##_test_all(words, 4, NULL, SHMEM_CMP_NE, 0) == 0);                   \
        require(shmem_##NAME##_test_any(words, 4, NULL, SHMEM_CMP_EQ, 7) == SIZE_MAX);            \
        require(shmem_##NAME##_test_some(words, 4, found, NULL, SHMEM_CMP_EQ, HIGH) == 0);        \
        shmem_barrier_all();                                                                      \
        for (int i = 0; i < 5; i++) {                                                             \
            shmem_##NAME##_p(&words[i], sent[i], right());                                        \
        }                                                                                         \
        shmem_##NAME##_wait_until(&words[1], SHMEM_CMP_EQ, HIGH);                                 \
        shmem_##NAME##_wait_until(&words[1], SHMEM_CMP_GT, HIGH - 1);                             \
        shmem_##NAME##_wait_until(&words[3], SHMEM_CMP_EQ, LOW + 1);                              \
        shmem_##NAME##_wait_until_all_vector(words, 5, NULL, SHMEM_CMP_EQ, sent);                 \
        shmem_##NAME##_wait_until(&words[0], SHMEM_CMP_LE, LOW);                                  \
        shmem_##NAME##_wait_until_all(words, 4, NULL, SHMEM_CMP_GE, LOW);                         \
        shmem_##NAME##_wait_until_all(words, 4, status, SHMEM_CMP_LT, HIGH);                      \
        require(shmem_##NAME##_wait_until_any(words, 4, NULL, SHMEM_CMP_GT, 7) == 1);             \
        require(shmem_##NAME##_wait_until_any_vector(words, 4, status, SHMEM_CMP_GE, sent) != 1); \
        require(shmem_##NAME##_wait_until_some(words, 4, found, NULL, SHMEM_CMP_LE, LOW + 1) ==   \
                    2 &&                                                                          \
                found[0] == 0 && found[1] == 3);                                                  \
        require(shmem_##NAME##_wait_until_some_vector(words, 4, found, status, SHMEM_CMP_EQ,      \
                                                      sent) == 3 &&                               \
                found[1] == 2);                                                                   \
        require(shmem_##NAME##_test(&words[0], SHMEM_CMP_LT, LOW + 1) == 1);                      \
        require(shmem_##NAME##_test(&words[0], SHMEM_CMP_GT, HIGH) == 0);                         \
        require(shmem_##NAME##_test_all(words, 4, NULL, SHMEM_CMP_LE, HIGH) == 1);                \
        require(shmem_##NAME##_test_all(words, 4, NULL, SHMEM_CMP_LT, HIGH) == 0);                \
        require(shmem_##NAME##_test_all(words, 4, status, SHMEM_CMP_LT, HIGH) == 1);              \
        require(shmem_##NAME##_test_any(words, 4, NULL, SHMEM_CMP_EQ, HIGH) == 1);                \
        require(shmem_##NAME##_test_any(words, 4, status, SHMEM_CMP_EQ, HIGH) == SIZE_MAX);       \
        require(shmem_##NAME##_test_some(words, 4, found, NULL, SHMEM_CMP_GE, 7) == 2 &&          \
                found[0] == 1 && found[1] == 2);                                                  \
        require(shmem_##NAME##_test_all_vector(words, 4, NULL, SHMEM_CMP_EQ, sent) == 1);         \
        require(shmem_##NAME##_test_any_vector(words, 4, NULL, SHMEM_CMP_NE, sent) == SIZE_MAX);  \
        require(shmem_##NAME##_test_some_vector(words, 4, found, NULL, SHMEM_CMP_EQ, sent) == 4); \
        /* Without a type in the name. */                                                         \
        shmem_wait_until(&words[0], SHMEM_CMP_EQ, LOW);                                           \
        shmem_wait_until_all(words, 4, NULL, SHMEM_CMP_GE, LOW);                                  \
        shmem_wait_until_all_vector(words, 4, NULL, SHMEM_CMP_EQ, sent);                          \
        require(shmem_wait_until_any(words, 4, NULL, SHMEM_CMP_GT, 7) == 1);                      \
        require(shmem_wait_until_any_vector(words, 4, NULL, SHMEM_CMP_EQ, sent) < 4);             \
        require(shmem_wait_until_some(words, 4, found, NULL, SHMEM_CMP_EQ, 7) == 1);              \
        require(shmem_wait_until_some_vector(words, 4, found, NULL, SHMEM_CMP_EQ, sent) == 4);    \
        require(shmem_test(&words[0], SHMEM_CMP_EQ, LOW) == 1);                                   \
        require(shmem_test_all(words, 4, NULL, SHMEM_CMP_LE, HIGH) == 1);                         \
        require(shmem_test_all_vector(words, 4, NULL, SHMEM_CMP_EQ, sent) == 1);                  \
        require(shmem_test_any(words, 4, NULL, SHMEM_CMP_EQ, HIGH) == 1);                         \
        require(shmem_test_any_vector(words, 4, NULL, SHMEM_CMP_NE, sent) == SIZE_MAX);           \
        require(shmem_test_some(words, 4, found, NULL, SHMEM_CMP_EQ, 7) == 1);                    \
        require(shmem_test_some_vector(words, 4, found, NULL, SHMEM_CMP_EQ, sent) == 4);          \
        shmem_barrier_all();                                                                      \
    }

SHORT_WAITS(short, short, SHRT_MIN, SHRT_MAX)
SHORT_WAITS(ushort, unsigned short, 0, USHRT_MAX)

static void waits_for_short_words(void)
{
    for (int round = 0; round < 20; round++) {
        waits_of_short();
        waits_of_ushort();
    }
}

/* Clarified in this version. */
static void tests_of_an_empty_set_hold(void)
{
    static long words[2];
    static short shorts[2];
    static const int none[2] = {1, 1};
    static const long values[2] = {5, 6};
    size_t found[2];
    require(shmem_long_test_all(words, 0, NULL, SHMEM_CMP_EQ, 5) == 1);
    require(shmem_long_test_all(words, 2, none, SHMEM_CMP_EQ, 5) == 1);
    require(shmem_long_test_all_vector(words, 2, none, SHMEM_CMP_EQ, values) == 1);
    require(shmem_short_test_all(shorts, 2, none, SHMEM_CMP_EQ, 5) == 1);
    require(shmem_short_test_any(shorts, 2, none, SHMEM_CMP_EQ, 0) == SIZE_MAX);
    require(shmem_short_test_some(shorts, 2, found, none, SHMEM_CMP_EQ, 0) == 0);
    shmem_short_wait_until_all(shorts, 2, none, SHMEM_CMP_EQ, 5);
    require(shmem_short_wait_until_any(shorts, 0, NULL, SHMEM_CMP_EQ, 5) == SIZE_MAX);
    require(shmem_short_wait_until_some(shorts, 2, found, none, SHMEM_CMP_EQ, 5) == 0);
}

/* ---- Teams, as this version has them ----------------------------------------------- */

static void configurations_and_triples_are_clear(void)
{
    shmem_team_config_t config = {.num_contexts = 77};
    shmem_team_t team = SHMEM_TEAM_WORLD;
    require(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, NULL) == 0);
    require(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, &config) == 0 && config.num_contexts == 77);
    require(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, NULL) != 0);
    require(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, &config) != 0);
    require(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    require(team == SHMEM_TEAM_INVALID);
    /* A stride of nothing is for one PE alone, and one that leads down has the last PE first. */
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 0, 1, NULL, 0, &team) == 0);
    require((team != SHMEM_TEAM_INVALID) == (me.rank == 0));
    shmem_team_destroy(team);
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, NULL, 0, &team) ==
            0);
    require(shmem_team_my_pe(team) == me.size - 1 - me.rank);
    shmem_team_destroy(team);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        /* First: the largest alignment needs an empty heap. */
        LIVE_CHECK(1, alignments_up_to_the_heaps_size),
        LIVE_CHECK(1, alignments_that_cannot_be),
        LIVE_CHECK(1, allocations_that_fail_say_why),
        LIVE_CHECK(1, names_of_this_version),
        LIVE_CHECK(1, a_signal_alone_is_set_and_added_to),
        LIVE_CHECK(1, signals_of_all_pes_add_up),
        LIVE_CHECK(1, a_fence_orders_a_signal_behind_data),
        LIVE_CHECK(1, pointers_by_number_in_a_team),
        LIVE_CHECK(1, sessions_change_no_result),
        LIVE_CHECK(1, sessions_are_nobody_elses),
        LIVE_CHECK(1, quiet_for_some_pes),
        LIVE_CHECK(1, quiet_for_some_pes_completes_gets_and_atomics),
        LIVE_CHECK(1, quiet_for_no_pe_and_by_number_in_a_team),
        LIVE_CHECK(1, waits_for_short_words),
        LIVE_CHECK(1, tests_of_an_empty_set_hold),
        LIVE_CHECK(1, configurations_and_triples_are_clear),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
