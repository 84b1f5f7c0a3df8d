/* The names without a type, which C11 resolves by the arguments: with and without a context,
 * for every type that C tells apart and for the names of fixed width. */
#include "shmem_spec.h"
#include "shmem_spec_tables.h"

static shmem_ctx_t context;
static uint64_t signal_word;

static int right(void)
{
    return live_neighbour(1);
}

static int left(void)
{
    return live_neighbour(-1);
}

/* ---- Transfers --------------------------------------------------------------------- */

#define BOX(NAME, TYPE, A, B) static TYPE box_##NAME[16];
SPEC_ALL(BOX, , )

#define TRANSFERS(NAME, TYPE, A, B)                                                               \
    static void transfers_##NAME(void)                                                            \
    {                                                                                             \
        TYPE *box = box_##NAME;                                                                   \
        TYPE from[16];                                                                            \
        TYPE back[16];                                                                            \
        for (int i = 0; i < 16; i++) {                                                            \
            from[i] = (TYPE)(me.rank * 16 % 100 + i);                                             \
            back[i] = box[i] = 0;                                                                 \
        }                                                                                         \
        signal_word = 0;                                                                          \
        shmem_barrier_all();                                                                      \
        shmem_put(&box[0], &from[0], 2, right());                                                 \
        shmem_put(context, &box[2], &from[2], 2, right());                                        \
        shmem_put_nbi(&box[4], &from[4], 1, right());                                             \
        shmem_put_nbi(context, &box[5], &from[5], 1, right());                                    \
        shmem_p(&box[6], from[6], right());                                                       \
        shmem_p(context, &box[7], from[7], right());                                              \
        shmem_iput(&box[8], &from[8], 2, 2, 2, right());                                          \
        shmem_iput(context, &box[9], &from[9], 2, 2, 2, right());                                 \
        shmem_put_signal(&box[12], &from[12], 1, &signal_word, 1, SHMEM_SIGNAL_ADD, right());     \
        shmem_put_signal(context, &box[13], &from[13], 1, &signal_word, 1, SHMEM_SIGNAL_ADD,      \
                         right());                                                                \
        shmem_put_signal_nbi(&box[14], &from[14], 1, &signal_word, 1, SHMEM_SIGNAL_ADD, right()); \
        shmem_put_signal_nbi(context, &box[15], &from[15], 1, &signal_word, 1, SHMEM_SIGNAL_ADD,  \
                             right());                                                            \
        require(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 4) == 4);                     \
        shmem_quiet();                                                                            \
        shmem_ctx_quiet(context);                                                                 \
        shmem_get(&back[0], &box[0], 2, right());                                                 \
        shmem_get(context, &back[2], &box[2], 2, right());                                        \
        shmem_get_nbi(&back[4], &box[4], 1, right());                                             \
        shmem_get_nbi(context, &back[5], &box[5], 1, right());                                    \
        back[6] = shmem_g(&box[6], right());                                                      \
        back[7] = shmem_g(context, &box[7], right());                                             \
        shmem_iget(&back[8], &box[8], 2, 2, 4, right());                                          \
        shmem_iget(context, &back[9], &box[9], 2, 2, 4, right());                                 \
        shmem_quiet();                                                                            \
        shmem_ctx_quiet(context);                                                                 \
        shmem_barrier_all();                                                                      \
        for (int i = 0; i < 16; i++) {                                                            \
            require_else(back[i] == from[i], "%s: place %d", #NAME, i);                           \
            require_else(box[i] == (TYPE)(left() * 16 % 100 + i), "%s: place %d", #NAME, i);      \
        }                                                                                         \
        shmem_barrier_all();                                                                      \
    }
SPEC_ALL(TRANSFERS, , )

#define RUN_TRANSFERS(NAME, TYPE, A, B) transfers_##NAME();

static void transfers(void){SPEC_ALL(RUN_TRANSFERS, , )}

/* ---- Atomics ----------------------------------------------------------------------- */

#define EXTENDED(NAME, TYPE, A, B)                                  \
    static void extended_##NAME(void)                               \
    {                                                               \
        TYPE *word = box_##NAME;                                    \
        TYPE got = 0;                                               \
        shmem_atomic_set(word, (TYPE)1, right());                   \
        shmem_quiet();                                              \
        shmem_atomic_set(context, word, (TYPE)2, right());          \
        shmem_ctx_quiet(context);                                   \
        require(shmem_atomic_fetch(word, right()) == 2);            \
        require(shmem_atomic_fetch(context, word, right()) == 2);   \
        require(shmem_atomic_swap(word, 3, right()) == 2);          \
        require(shmem_atomic_swap(context, word, 4, right()) == 3); \
        shmem_atomic_swap_nbi(&got, word, 5, right());              \
        shmem_quiet();                                              \
        require(got == 4);                                          \
        shmem_atomic_swap_nbi(context, &got, word, 6, right());     \
        shmem_ctx_quiet(context);                                   \
        require(got == 5);                                          \
        shmem_atomic_fetch_nbi(&got, word, right());                \
        shmem_quiet();                                              \
        require(got == 6);                                          \
        got = 0;                                                    \
        shmem_atomic_fetch_nbi(context, &got, word, right());       \
        shmem_ctx_quiet(context);                                   \
        require(got == 6);                                          \
    }
SPEC_ATOMIC(EXTENDED, , ) SPEC_REAL(EXTENDED, , )

#define STANDARD(NAME, TYPE, A, B)                                             \
    static void standard_##NAME(void)                                          \
    {                                                                          \
        TYPE *word = box_##NAME;                                               \
        TYPE got = 0;                                                          \
        shmem_atomic_set(word, (TYPE)1, right());                              \
        shmem_quiet();                                                         \
        require(shmem_atomic_compare_swap(word, 1, 2, right()) == 1);          \
        require(shmem_atomic_compare_swap(context, word, 1, 9, right()) == 2); \
        shmem_atomic_compare_swap_nbi(&got, word, 2, 3, right());              \
        shmem_quiet();                                                         \
        require(got == 2);                                                     \
        shmem_atomic_compare_swap_nbi(context, &got, word, 3, 4, right());     \
        shmem_ctx_quiet(context);                                              \
        require(got == 3);                                                     \
        require(shmem_atomic_fetch_inc(word, right()) == 4);                   \
        require(shmem_atomic_fetch_inc(context, word, right()) == 5);          \
        shmem_atomic_fetch_inc_nbi(&got, word, right());                       \
        shmem_quiet();                                                         \
        require(got == 6);                                                     \
        shmem_atomic_fetch_inc_nbi(context, &got, word, right());              \
        shmem_ctx_quiet(context);                                              \
        require(got == 7);                                                     \
        shmem_atomic_inc(word, right());                                       \
        shmem_atomic_inc(context, word, right());                              \
        shmem_atomic_add(word, 10, right());                                   \
        shmem_atomic_add(context, word, 10, right());                          \
        shmem_quiet();                                                         \
        shmem_ctx_quiet(context);                                              \
        require(shmem_atomic_fetch_add(word, 1, right()) == 30);               \
        require(shmem_atomic_fetch_add(context, word, 1, right()) == 31);      \
        shmem_atomic_fetch_add_nbi(&got, word, 1, right());                    \
        shmem_quiet();                                                         \
        require(got == 32);                                                    \
        shmem_atomic_fetch_add_nbi(context, &got, word, 1, right());           \
        shmem_ctx_quiet(context);                                              \
        require(got == 33);                                                    \
    }
    SPEC_ATOMIC(STANDARD, , )

#define BITWISE(NAME, TYPE, A, B)                                           \
    static void bitwise_##NAME(void)                                        \
    {                                                                       \
        TYPE *word = box_##NAME;                                            \
        TYPE got = 0;                                                       \
        shmem_atomic_set(word, (TYPE)0xff, right());                        \
        shmem_quiet();                                                      \
        shmem_atomic_and(word, 0x7f, right());                              \
        shmem_atomic_and(context, word, 0x3f, right());                     \
        shmem_quiet();                                                      \
        shmem_ctx_quiet(context);                                           \
        require(shmem_atomic_fetch_and(word, 0x1f, right()) == 0x3f);       \
        require(shmem_atomic_fetch_and(context, word, 0, right()) == 0x1f); \
        shmem_atomic_or(word, 1, right());                                  \
        shmem_atomic_or(context, word, 2, right());                         \
        shmem_quiet();                                                      \
        shmem_ctx_quiet(context);                                           \
        require(shmem_atomic_fetch_or(word, 4, right()) == 3);              \
        require(shmem_atomic_fetch_or(context, word, 8, right()) == 7);     \
        shmem_atomic_xor(word, 1, right());                                 \
        shmem_atomic_xor(context, word, 2, right());                        \
        shmem_quiet();                                                      \
        shmem_ctx_quiet(context);                                           \
        require(shmem_atomic_fetch_xor(word, 4, right()) == 12);            \
        require(shmem_atomic_fetch_xor(context, word, 8, right()) == 8);    \
        shmem_atomic_fetch_or_nbi(&got, word, 3, right());                  \
        shmem_quiet();                                                      \
        require(got == 0);                                                  \
        shmem_atomic_fetch_or_nbi(context, &got, word, 4, right());         \
        shmem_ctx_quiet(context);                                           \
        require(got == 3);                                                  \
        shmem_atomic_fetch_and_nbi(&got, word, 6, right());                 \
        shmem_quiet();                                                      \
        require(got == 7);                                                  \
        shmem_atomic_fetch_and_nbi(context, &got, word, 2, right());        \
        shmem_ctx_quiet(context);                                           \
        require(got == 6);                                                  \
        shmem_atomic_fetch_xor_nbi(&got, word, 3, right());                 \
        shmem_quiet();                                                      \
        require(got == 2);                                                  \
        shmem_atomic_fetch_xor_nbi(context, &got, word, 3, right());        \
        shmem_ctx_quiet(context);                                           \
        require(got == 1);                                                  \
    }
        SPEC_BITWISE(BITWISE, , )

#define RUN_EXTENDED(NAME, TYPE, A, B) extended_##NAME();
#define RUN_STANDARD(NAME, TYPE, A, B) standard_##NAME();
#define RUN_BITWISE(NAME, TYPE, A, B) bitwise_##NAME();

            static void atomics(void)
{
    SPEC_ATOMIC(RUN_EXTENDED, , )
    SPEC_REAL(RUN_EXTENDED, , )
    SPEC_ATOMIC(RUN_STANDARD, , )
    SPEC_BITWISE(RUN_BITWISE, , )
}

#define OLD_EXTENDED(NAME, TYPE, A, B)                \
    shmem_set(box_##NAME, (TYPE)3, right());          \
    shmem_quiet();                                    \
    require(shmem_swap(box_##NAME, 5, right()) == 3); \
    require(shmem_fetch(box_##NAME, right()) == 5);

#define OLD_STANDARD(NAME, TYPE, A, B)                    \
    require(shmem_cswap(box_##NAME, 5, 6, right()) == 5); \
    require(shmem_finc(box_##NAME, right()) == 6);        \
    shmem_inc(box_##NAME, right());                       \
    shmem_quiet();                                        \
    require(shmem_fadd(box_##NAME, 10, right()) == 8);    \
    shmem_add(box_##NAME, 2, right());                    \
    shmem_quiet();                                        \
    require(shmem_fetch(box_##NAME, right()) == 20);

static void atomics_under_deprecated_names(void){
    SPEC_ATOMIC(OLD_EXTENDED, , ) SPEC_REAL(OLD_EXTENDED, , ) SPEC_ATOMIC(OLD_STANDARD, , )}

/* ---- Waiting ----------------------------------------------------------------------- */

#define WAITING(NAME, TYPE, A, B)                                                               \
    static void waiting_##NAME(void)                                                            \
    {                                                                                           \
        TYPE *words = box_##NAME;                                                               \
        TYPE wanted[3] = {1, 2, 3};                                                             \
        size_t found[3];                                                                        \
        int skip_last[3] = {0, 0, 1};                                                           \
        for (int i = 0; i < 3; i++) {                                                           \
            shmem_atomic_set(&words[i], (TYPE)0, me.rank);                                      \
        }                                                                                       \
        shmem_barrier_all();                                                                    \
        for (int i = 0; i < 3; i++) {                                                           \
            shmem_atomic_add(&words[i], wanted[i], right());                                    \
        }                                                                                       \
        shmem_wait_until(words, SHMEM_CMP_NE, 0);                                               \
        shmem_wait_until_all(words, 3, NULL, SHMEM_CMP_GT, 0);                                  \
        shmem_wait_until_all_vector(words, 3, skip_last, SHMEM_CMP_EQ, wanted);                 \
        require(shmem_wait_until_any(words, 3, NULL, SHMEM_CMP_EQ, 3) == 2);                    \
        require(shmem_wait_until_any_vector(words, 3, skip_last, SHMEM_CMP_EQ, wanted) < 2);    \
        require(shmem_wait_until_some(words, 3, found, NULL, SHMEM_CMP_EQ, 2) == 1);            \
        require(found[0] == 1);                                                                 \
        require(shmem_wait_until_some_vector(words, 3, found, NULL, SHMEM_CMP_EQ, wanted));     \
        require(shmem_test(words, SHMEM_CMP_EQ, 1));                                            \
        require(shmem_test_all(words, 3, NULL, SHMEM_CMP_LE, 3) == 1);                          \
        require(shmem_test_all_vector(words, 3, NULL, SHMEM_CMP_EQ, wanted) == 1);              \
        require(shmem_test_any(words, 3, skip_last, SHMEM_CMP_EQ, 3) == SIZE_MAX);              \
        require(shmem_test_any_vector(words, 3, NULL, SHMEM_CMP_GT, wanted) == SIZE_MAX);       \
        require(shmem_test_some(words, 3, found, NULL, SHMEM_CMP_LT, 2) == 1);                  \
        require(shmem_test_some_vector(words, 3, found, skip_last, SHMEM_CMP_EQ, wanted) == 2); \
        shmem_barrier_all();                                                                    \
    }
SPEC_ATOMIC(WAITING, , )

#define RUN_WAITING(NAME, TYPE, A, B) waiting_##NAME();

    static void waiting(void)
{
    SPEC_ATOMIC(RUN_WAITING, , )
}

/* ---- Collectives ------------------------------------------------------------------- */

enum { PES_MAX = 16 };

#define PAIR(NAME, TYPE, A, B)              \
    static TYPE source_##NAME[2 * PES_MAX]; \
    static TYPE dest_##NAME[2 * PES_MAX];
SPEC_REDUCE_ARITHMETIC(PAIR, , )

/* 2 elements of each PE, or for each. */
#define COLLECTIVES(NAME, TYPE, A, B)                                                      \
    static void collectives_##NAME(void)                                                   \
    {                                                                                      \
        TYPE *dest = dest_##NAME;                                                          \
        TYPE *source = source_##NAME;                                                      \
        for (int i = 0; i < 2 * me.size; i++) {                                            \
            source[i] = (TYPE)(me.rank * 4 + i);                                           \
        }                                                                                  \
        shmem_sync(SHMEM_TEAM_WORLD);                                                      \
        require(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, me.size - 1) == 0);     \
        require(dest[0] == (TYPE)(me.size * 4 - 4) && dest[1] == (TYPE)(me.size * 4 - 3)); \
        shmem_sync(SHMEM_TEAM_WORLD);                                                      \
        require(shmem_collect(SHMEM_TEAM_WORLD, dest, source, 2) == 0);                    \
        for (int i = 0; i < 2 * me.size; i++) {                                            \
            require(dest[i] == (TYPE)(i / 2 * 4 + i % 2));                                 \
            dest[i] = 0;                                                                   \
        }                                                                                  \
        shmem_sync(SHMEM_TEAM_WORLD);                                                      \
        require(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, 2) == 0);                   \
        for (int i = 0; i < 2 * me.size; i++) {                                            \
            require(dest[i] == (TYPE)(i / 2 * 4 + i % 2));                                 \
        }                                                                                  \
        shmem_sync(SHMEM_TEAM_WORLD);                                                      \
        require(shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, 2) == 0);                   \
        for (int i = 0; i < 2 * me.size; i++) {                                            \
            require(dest[i] == (TYPE)(i / 2 * 4 + me.rank * 2 + i % 2));                   \
        }                                                                                  \
        shmem_sync(SHMEM_TEAM_WORLD);                                                      \
        require(shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 2, 1) == 0);            \
        for (int i = 0; i < me.size; i++) {                                                \
            require(dest[i] == (TYPE)(i * 4 + me.rank * 2));                               \
        }                                                                                  \
        shmem_sync(SHMEM_TEAM_WORLD);                                                      \
    }
SPEC_ALL(COLLECTIVES, , )

#define REDUCTION(NAME, TYPE, OPERATION, RESULT)                                               \
    source_##NAME[0] = (TYPE)(me.rank % 2 + 1);                                                \
    require(shmem_##OPERATION##_reduce(SHMEM_TEAM_WORLD, dest_##NAME, source_##NAME, 1) == 0); \
    require_else(dest_##NAME[0] == (TYPE)(RESULT), "%s of %s", #OPERATION, #NAME);

#define RUN_COLLECTIVES(NAME, TYPE, A, B) collectives_##NAME();

static void collectives(void)
{
    SPEC_ALL(RUN_COLLECTIVES, , )
}

/* Half of the PEs give 1, the others 2. */
static void reductions(void)
{
    bool both = me.size > 1;
    SPEC_REDUCE_BITWISE(REDUCTION, and, both ? 0 : 1)
    SPEC_REDUCE_BITWISE(REDUCTION, or, both ? 3 : 1)
    SPEC_REDUCE_BITWISE(REDUCTION, xor, (me.size + 1) / 2 % 2 + me.size / 2 % 2 * 2)
    SPEC_ALL(REDUCTION, min, 1)
    SPEC_ALL(REDUCTION, max, both ? 2 : 1)
    SPEC_REDUCE_ARITHMETIC(REDUCTION, sum, me.size + me.size / 2)
    SPEC_REDUCE_ARITHMETIC(REDUCTION, prod, 1 << me.size / 2)
}

/* A generic name among the arguments of another, also of the same. */
static void names_inside_names(void)
{
    static long here;
    static long there;
    there = me.rank + 40;
    shmem_barrier_all();
    shmem_p(&here, shmem_g(&there, left()), right());
    shmem_quiet();
    shmem_barrier_all();
    require(here == live_neighbour(-2) + 40);
    shmem_barrier_all();
    shmem_atomic_add(&here, shmem_atomic_fetch_add(&there, shmem_g(&there, me.rank), me.rank),
                     me.rank);
    shmem_quiet();
    require(here == live_neighbour(-2) + 40 + me.rank + 40 && there == 2 * (me.rank + 40));
}

/* ---- The context of the checks ----------------------------------------------------- */

static void a_context_for_what_follows(void)
{
    require(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &context) == 0);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, a_context_for_what_follows),
        LIVE_CHECK(1, transfers),
        LIVE_CHECK(1, atomics),
        LIVE_CHECK(1, atomics_under_deprecated_names),
        LIVE_CHECK(1, waiting),
        LIVE_CHECK(1, collectives),
        LIVE_CHECK(1, reductions),
        LIVE_CHECK(1, names_inside_names),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
