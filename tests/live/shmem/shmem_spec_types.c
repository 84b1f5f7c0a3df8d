/* Every typed function of shmem.h, called through the tables of types: with and without a
 * context, under its own name and its pshmem_ one.
 *
 * Each PE writes to the next one of the ring and reads from it, so that every value is known
 * to both sides. */
#include "shmem_spec.h"

static shmem_ctx_t context;

static int right(void)
{
    return live_neighbour(1);
}

/* What a PE writes at a place: fits a signed char, and differs between neighbours. */
static int number(int pe, int place)
{
    return (pe * 29 + place) % 100 + 1;
}

/* ---- Transfers of a type ----------------------------------------------------------- */

enum { PLACES = 40 };

static uint64_t signals[4];

#define BOX(NAME, TYPE, A, B) static TYPE box_##NAME[PLACES];
SHMEM_RMA_TYPES(BOX, , )

#define FILL(TYPE, ARRAY, PE)                   \
    for (int fill = 0; fill < PLACES; fill++) { \
        (ARRAY)[fill] = (TYPE)number(PE, fill); \
    }

/* Places: 0 put, 3 ctx_put, 6 put_nbi, 9 ctx_put_nbi, 12 p, 13 ctx_p, 14 iput, 15 ctx_iput,
 * 20 to 27 the four with a signal; the rest is not written. */
#define PUT(NAME, TYPE, P, B)                                                                 \
    static void put_##P##_##NAME(void)                                                        \
    {                                                                                         \
        TYPE *box = box_##NAME;                                                               \
        TYPE from[PLACES];                                                                    \
        FILL(TYPE, from, me.rank)                                                             \
        memset(box, 0, sizeof box_##NAME);                                                    \
        memset(signals, 0, sizeof signals);                                                   \
        shmem_barrier_all();                                                                  \
        P##_##NAME##_put(&box[0], &from[0], 3, right());                                      \
        P##_ctx_##NAME##_put(context, &box[3], &from[3], 3, right());                         \
        P##_##NAME##_put_nbi(&box[6], &from[6], 3, right());                                  \
        P##_ctx_##NAME##_put_nbi(context, &box[9], &from[9], 3, right());                     \
        P##_##NAME##_p(&box[12], from[12], right());                                          \
        P##_ctx_##NAME##_p(context, &box[13], from[13], right());                             \
        P##_##NAME##_iput(&box[14], &from[14], 2, 2, 3, right());                             \
        P##_ctx_##NAME##_iput(context, &box[15], &from[15], 2, 2, 3, right());                \
        P##_##NAME##_put_signal(&box[20], &from[20], 2, &signals[0], 5, SHMEM_SIGNAL_SET,     \
                                right());                                                     \
        P##_ctx_##NAME##_put_signal(context, &box[22], &from[22], 2, &signals[1], 6,          \
                                    SHMEM_SIGNAL_ADD, right());                               \
        P##_##NAME##_put_signal_nbi(&box[24], &from[24], 2, &signals[2], 7, SHMEM_SIGNAL_ADD, \
                                    right());                                                 \
        P##_ctx_##NAME##_put_signal_nbi(context, &box[26], &from[26], 2, &signals[3], 8,      \
                                        SHMEM_SIGNAL_SET, right());                           \
        for (int i = 0; i < 4; i++) {                                                         \
            require(P##_signal_wait_until(&signals[i], SHMEM_CMP_NE, 0) == 5U + (unsigned)i); \
            require(P##_signal_fetch(&signals[i]) == 5U + (unsigned)i);                       \
            require(box[20 + 2 * i] == (TYPE)number(live_neighbour(-1), 20 + 2 * i));         \
            require(box[21 + 2 * i] == (TYPE)number(live_neighbour(-1), 21 + 2 * i));         \
        }                                                                                     \
        P##_ctx_quiet(context);                                                               \
        P##_quiet();                                                                          \
        shmem_barrier_all();                                                                  \
        for (int i = 0; i < PLACES; i++) {                                                    \
            TYPE wanted = i < 28 ? (TYPE)number(live_neighbour(-1), i) : (TYPE)0;             \
            require_else(box[i] == wanted, "%s_%s: place %d", #P, #NAME, i);                  \
        }                                                                                     \
    }
SHMEM_RMA_TYPES(PUT, shmem, )
SHMEM_RMA_TYPES(PUT, pshmem, )

#define GET(NAME, TYPE, P, B)                                               \
    static void get_##P##_##NAME(void)                                      \
    {                                                                       \
        const TYPE *box = box_##NAME;                                       \
        TYPE to[PLACES];                                                    \
        FILL(TYPE, box_##NAME, me.rank)                                     \
        memset(to, 0, sizeof to);                                           \
        shmem_barrier_all();                                                \
        P##_##NAME##_get(&to[0], &box[0], 3, right());                      \
        P##_ctx_##NAME##_get(context, &to[3], &box[3], 3, right());         \
        to[6] = P##_##NAME##_g(&box[6], right());                           \
        to[7] = P##_ctx_##NAME##_g(context, &box[7], right());              \
        P##_##NAME##_iget(&to[8], &box[8], 2, 2, 3, right());               \
        P##_ctx_##NAME##_iget(context, &to[9], &box[9], 2, 2, 3, right());  \
        P##_##NAME##_get_nbi(&to[14], &box[14], 3, right());                \
        P##_ctx_##NAME##_get_nbi(context, &to[17], &box[17], 3, right());   \
        P##_quiet();                                                        \
        P##_ctx_quiet(context);                                             \
        for (int i = 0; i < PLACES; i++) {                                  \
            TYPE wanted = i < 20 ? (TYPE)number(right(), i) : (TYPE)0;      \
            require_else(to[i] == wanted, "%s_%s: place %d", #P, #NAME, i); \
        }                                                                   \
        shmem_barrier_all();                                                \
    }
SHMEM_RMA_TYPES(GET, shmem, )
SHMEM_RMA_TYPES(GET, pshmem, )

#define PUT_AND_GET(NAME, TYPE, P, B) \
    put_##P##_##NAME();               \
    get_##P##_##NAME();

static void transfers_of_every_type(void)
{
    SHMEM_RMA_TYPES(PUT_AND_GET, shmem, )
    SHMEM_RMA_TYPES(PUT_AND_GET, pshmem, )
}

/* ---- Transfers of every size ------------------------------------------------------- */

static unsigned char sized_box[16 * PLACES];

#define SIZED_CONTIGUOUS(SIZE, BYTES, P)                                                         \
    P##_put##SIZE(&box[0], &from[0], 2, right());                                                \
    P##_ctx_put##SIZE(context, &box[2 * (BYTES)], &from[2 * (BYTES)], 2, right());               \
    P##_put##SIZE##_nbi(&box[4 * (BYTES)], &from[4 * (BYTES)], 2, right());                      \
    P##_ctx_put##SIZE##_nbi(context, &box[6 * (BYTES)], &from[6 * (BYTES)], 2, right());         \
    P##_put##SIZE##_signal(&box[8 * (BYTES)], &from[8 * (BYTES)], 2, &signals[0], 1,             \
                           SHMEM_SIGNAL_ADD, right());                                           \
    P##_ctx_put##SIZE##_signal(context, &box[10 * (BYTES)], &from[10 * (BYTES)], 2, &signals[1], \
                               2, SHMEM_SIGNAL_SET, right());                                    \
    P##_put##SIZE##_signal_nbi(&box[12 * (BYTES)], &from[12 * (BYTES)], 2, &signals[2], 3,       \
                               SHMEM_SIGNAL_ADD, right());                                       \
    P##_ctx_put##SIZE##_signal_nbi(context, &box[14 * (BYTES)], &from[14 * (BYTES)], 2,          \
                                   &signals[3], 4, SHMEM_SIGNAL_SET, right());                   \
    P##_quiet();                                                                                 \
    P##_ctx_quiet(context);                                                                      \
    P##_get##SIZE(&back[0], &box[0], 4, right());                                                \
    P##_ctx_get##SIZE(context, &back[4 * (BYTES)], &box[4 * (BYTES)], 4, right());               \
    P##_get##SIZE##_nbi(&back[8 * (BYTES)], &box[8 * (BYTES)], 4, right());                      \
    P##_ctx_get##SIZE##_nbi(context, &back[12 * (BYTES)], &box[12 * (BYTES)], 4, right());       \
    P##_quiet();                                                                                 \
    P##_ctx_quiet(context);

#define SIZED_STRIDED(SIZE, BYTES, P)                                                              \
    P##_iput##SIZE(&box[16 * (BYTES)], &from[16 * (BYTES)], 2, 1, 3, right());                     \
    P##_ctx_iput##SIZE(context, &box[17 * (BYTES)], &from[20 * (BYTES)], 2, 1, 3, right());        \
    P##_quiet();                                                                                   \
    P##_ctx_quiet(context);                                                                        \
    P##_iget##SIZE(&back[16 * (BYTES)], &box[16 * (BYTES)], 1, 2, 3, right());                     \
    P##_ctx_iget##SIZE(context, &back[20 * (BYTES)], &box[17 * (BYTES)], 1, 2, 3, right());        \
    require_else(memcmp(&back[16 * (BYTES)], &from[16 * (BYTES)], 3 * (BYTES)) == 0, "%s", #SIZE); \
    require_else(memcmp(&back[20 * (BYTES)], &from[20 * (BYTES)], 3 * (BYTES)) == 0, "%s", #SIZE);

#define NOT_STRIDED(SIZE, BYTES, P)

#define SIZED_BY(SIZE, BYTES, P, STRIDED)                                                \
    static void sized_##P##_##SIZE(void)                                                 \
    {                                                                                    \
        unsigned char *box = sized_box;                                                  \
        unsigned char from[16 * PLACES];                                                 \
        unsigned char back[16 * PLACES] = {0};                                           \
        live_fill(from, sizeof from, me.seed + (uint64_t)me.rank);                       \
        memset(box, 0, sizeof sized_box);                                                \
        memset(signals, 0, sizeof signals);                                              \
        shmem_barrier_all();                                                             \
        SIZED_CONTIGUOUS(SIZE, BYTES, P)                                                 \
        require_else(memcmp(back, from, 16 * (BYTES)) == 0, "%s_put%s", #P, #SIZE);      \
        STRIDED(SIZE, BYTES, P)                                                          \
        for (uint64_t i = 0; i < 4; i++) {                                               \
            require(shmem_signal_wait_until(&signals[i], SHMEM_CMP_GE, i + 1) == i + 1); \
        }                                                                                \
        shmem_barrier_all();                                                             \
    }
#define SIZED(SIZE, BYTES, P, B) SIZED_BY(SIZE, BYTES, P, SIZED_STRIDED)
SHMEM_SIZES(SIZED, shmem, )
SHMEM_SIZES(SIZED, pshmem, )
SIZED_BY(mem, 1, shmem, NOT_STRIDED)
SIZED_BY(mem, 1, pshmem, NOT_STRIDED)

#define RUN_SIZED(SIZE, BYTES, P, B) sized_##P##_##SIZE();

static void transfers_of_every_size(void)
{
    SHMEM_SIZES(RUN_SIZED, shmem, )
    SHMEM_SIZES(RUN_SIZED, pshmem, )
    sized_shmem_mem();
    sized_pshmem_mem();
}

/* ---- Atomics ----------------------------------------------------------------------- */

/* While a check runs the word of the next PE belongs to this one. */
#define AMO_EXTENDED(NAME, TYPE, P, B)                                         \
    static void extended_##P##_##NAME(void)                                    \
    {                                                                          \
        TYPE *word = &box_##NAME[0];                                           \
        TYPE got = 0;                                                          \
        P##_##NAME##_atomic_set(word, 3, right());                             \
        P##_quiet();                                                           \
        require(P##_##NAME##_atomic_fetch(word, right()) == 3);                \
        P##_ctx_##NAME##_atomic_set(context, word, 4, right());                \
        P##_ctx_quiet(context);                                                \
        require(P##_ctx_##NAME##_atomic_fetch(context, word, right()) == 4);   \
        require(P##_##NAME##_atomic_swap(word, 5, right()) == 4);              \
        require(P##_ctx_##NAME##_atomic_swap(context, word, 6, right()) == 5); \
        P##_##NAME##_atomic_swap_nbi(&got, word, 7, right());                  \
        P##_quiet();                                                           \
        require(got == 6);                                                     \
        P##_ctx_##NAME##_atomic_swap_nbi(context, &got, word, 8, right());     \
        P##_ctx_quiet(context);                                                \
        require(got == 7);                                                     \
        P##_##NAME##_atomic_fetch_nbi(&got, word, right());                    \
        P##_quiet();                                                           \
        require(got == 8);                                                     \
        got = 0;                                                               \
        P##_ctx_##NAME##_atomic_fetch_nbi(context, &got, word, right());       \
        P##_ctx_quiet(context);                                                \
        require(got == 8);                                                     \
    }
SHMEM_AMO_EXTENDED_TYPES(AMO_EXTENDED, shmem, )
SHMEM_AMO_EXTENDED_TYPES(AMO_EXTENDED, pshmem, )

#define AMO_STANDARD(NAME, TYPE, P, B)                                                       \
    static void standard_##P##_##NAME(void)                                                  \
    {                                                                                        \
        TYPE *word = &box_##NAME[0];                                                         \
        TYPE got = 0;                                                                        \
        P##_##NAME##_atomic_set(word, 10, right());                                          \
        P##_quiet();                                                                         \
        require(P##_##NAME##_atomic_compare_swap(word, 11, 99, right()) == 10);              \
        require(P##_##NAME##_atomic_compare_swap(word, 10, 20, right()) == 10);              \
        require(P##_ctx_##NAME##_atomic_compare_swap(context, word, 20, 30, right()) == 20); \
        P##_##NAME##_atomic_compare_swap_nbi(&got, word, 30, 40, right());                   \
        P##_quiet();                                                                         \
        require(got == 30);                                                                  \
        P##_ctx_##NAME##_atomic_compare_swap_nbi(context, &got, word, 40, 50, right());      \
        P##_ctx_quiet(context);                                                              \
        require(got == 40);                                                                  \
        require(P##_##NAME##_atomic_fetch_inc(word, right()) == 50);                         \
        require(P##_ctx_##NAME##_atomic_fetch_inc(context, word, right()) == 51);            \
        P##_##NAME##_atomic_fetch_inc_nbi(&got, word, right());                              \
        P##_quiet();                                                                         \
        require(got == 52);                                                                  \
        P##_ctx_##NAME##_atomic_fetch_inc_nbi(context, &got, word, right());                 \
        P##_ctx_quiet(context);                                                              \
        require(got == 53);                                                                  \
        P##_##NAME##_atomic_inc(word, right());                                              \
        P##_quiet();                                                                         \
        P##_ctx_##NAME##_atomic_inc(context, word, right());                                 \
        P##_ctx_quiet(context);                                                              \
        require(P##_##NAME##_atomic_fetch_add(word, 4, right()) == 56);                      \
        require(P##_ctx_##NAME##_atomic_fetch_add(context, word, (TYPE)-5, right()) == 60);  \
        P##_##NAME##_atomic_fetch_add_nbi(&got, word, 5, right());                           \
        P##_quiet();                                                                         \
        require(got == 55);                                                                  \
        P##_ctx_##NAME##_atomic_fetch_add_nbi(context, &got, word, 10, right());             \
        P##_ctx_quiet(context);                                                              \
        require(got == 60);                                                                  \
        P##_##NAME##_atomic_add(word, 7, right());                                           \
        P##_quiet();                                                                         \
        P##_ctx_##NAME##_atomic_add(context, word, (TYPE)-80, right());                      \
        P##_ctx_quiet(context);                                                              \
        require(P##_##NAME##_atomic_fetch(word, right()) == (TYPE)-3);                       \
    }
SHMEM_AMO_STANDARD_TYPES(AMO_STANDARD, shmem, )
SHMEM_AMO_STANDARD_TYPES(AMO_STANDARD, pshmem, )

#define BITWISE_STEPS(NAME, TYPE, P, OPERATION, FIRST, OPERAND, SECOND)                     \
    P##_##NAME##_atomic_set(word, FIRST, right());                                          \
    P##_quiet();                                                                            \
    require(P##_##NAME##_atomic_fetch_##OPERATION(word, OPERAND, right()) == (FIRST));      \
    require(P##_##NAME##_atomic_swap(word, FIRST, right()) == (SECOND));                    \
    require(P##_ctx_##NAME##_atomic_fetch_##OPERATION(context, word, OPERAND, right()) ==   \
            (FIRST));                                                                       \
    require(P##_##NAME##_atomic_swap(word, FIRST, right()) == (SECOND));                    \
    P##_##NAME##_atomic_fetch_##OPERATION##_nbi(&got, word, OPERAND, right());              \
    P##_quiet();                                                                            \
    require(got == (FIRST) && P##_##NAME##_atomic_swap(word, FIRST, right()) == (SECOND));  \
    P##_ctx_##NAME##_atomic_fetch_##OPERATION##_nbi(context, &got, word, OPERAND, right()); \
    P##_ctx_quiet(context);                                                                 \
    require(got == (FIRST) && P##_##NAME##_atomic_swap(word, FIRST, right()) == (SECOND));  \
    P##_##NAME##_atomic_##OPERATION(word, OPERAND, right());                                \
    P##_quiet();                                                                            \
    require(P##_##NAME##_atomic_swap(word, FIRST, right()) == (SECOND));                    \
    P##_ctx_##NAME##_atomic_##OPERATION(context, word, OPERAND, right());                   \
    P##_ctx_quiet(context);                                                                 \
    require(P##_##NAME##_atomic_swap(word, FIRST, right()) == (SECOND));

#define AMO_BITWISE(NAME, TYPE, P, B)                       \
    static void bitwise_##P##_##NAME(void)                  \
    {                                                       \
        TYPE *word = &box_##NAME[0];                        \
        TYPE got = 0;                                       \
        BITWISE_STEPS(NAME, TYPE, P, and, 0x5c, 0x3a, 0x18) \
        BITWISE_STEPS(NAME, TYPE, P, or, 0x5c, 0x3a, 0x7e)  \
        BITWISE_STEPS(NAME, TYPE, P, xor, 0x5c, 0x3a, 0x66) \
    }
SHMEM_AMO_BITWISE_TYPES(AMO_BITWISE, shmem, )
SHMEM_AMO_BITWISE_TYPES(AMO_BITWISE, pshmem, )

#define RUN_EXTENDED(NAME, TYPE, P, B) extended_##P##_##NAME();
#define RUN_STANDARD(NAME, TYPE, P, B) standard_##P##_##NAME();
#define RUN_BITWISE(NAME, TYPE, P, B) bitwise_##P##_##NAME();

static void atomics_of_every_type(void)
{
    SHMEM_AMO_EXTENDED_TYPES(RUN_EXTENDED, shmem, )
    SHMEM_AMO_EXTENDED_TYPES(RUN_EXTENDED, pshmem, )
    SHMEM_AMO_STANDARD_TYPES(RUN_STANDARD, shmem, )
    SHMEM_AMO_STANDARD_TYPES(RUN_STANDARD, pshmem, )
    SHMEM_AMO_BITWISE_TYPES(RUN_BITWISE, shmem, )
    SHMEM_AMO_BITWISE_TYPES(RUN_BITWISE, pshmem, )
}

/* Deprecated names. */
#define OLD_EXTENDED(NAME, TYPE, P, B)                           \
    P##_##NAME##_set(&box_##NAME[0], 3, right());                \
    P##_quiet();                                                 \
    require(P##_##NAME##_swap(&box_##NAME[0], 5, right()) == 3); \
    require(P##_##NAME##_fetch(&box_##NAME[0], right()) == 5);

#define OLD_STANDARD(NAME, TYPE, P, B)                               \
    require(P##_##NAME##_cswap(&box_##NAME[0], 5, 6, right()) == 5); \
    require(P##_##NAME##_finc(&box_##NAME[0], right()) == 6);        \
    P##_##NAME##_inc(&box_##NAME[0], right());                       \
    P##_quiet();                                                     \
    require(P##_##NAME##_fadd(&box_##NAME[0], 10, right()) == 8);    \
    P##_##NAME##_add(&box_##NAME[0], (TYPE)-20, right());            \
    P##_quiet();                                                     \
    require(P##_##NAME##_fetch(&box_##NAME[0], right()) == (TYPE)-2);

static void atomics_under_their_deprecated_names(void)
{
    SHMEM_AMO_EXTENDED_TYPES(OLD_EXTENDED, shmem, )
    SHMEM_AMO_STANDARD_TYPES(OLD_STANDARD, shmem, )
    SHMEM_AMO_EXTENDED_TYPES(OLD_EXTENDED, pshmem, )
    SHMEM_AMO_STANDARD_TYPES(OLD_STANDARD, pshmem, )
}

/* ---- Waiting ----------------------------------------------------------------------- */

enum { WORDS = 4 };

/* The next PE's words become 10, 11, 12 and 13, while it waits. */
#define WAIT(NAME, TYPE, P, B)                                                                    \
    static void wait_##P##_##NAME(void)                                                           \
    {                                                                                             \
        TYPE *words = box_##NAME;                                                                 \
        TYPE wanted[WORDS] = {10, 11, 12, 13};                                                    \
        size_t found[WORDS];                                                                      \
        for (int i = 0; i < WORDS; i++) {                                                         \
            words[i] = 0;                                                                         \
        }                                                                                         \
        shmem_barrier_all();                                                                      \
        for (int i = 0; i < WORDS; i++) {                                                         \
            shmem_##NAME##_p(&words[i], wanted[i], right());                                      \
        }                                                                                         \
        P##_##NAME##_wait_until(words, SHMEM_CMP_EQ, 10);                                         \
        P##_##NAME##_wait_until_all(words, WORDS, NULL, SHMEM_CMP_GE, 10);                        \
        P##_##NAME##_wait_until_all_vector(words, WORDS, NULL, SHMEM_CMP_EQ, wanted);             \
        require(P##_##NAME##_test(words, SHMEM_CMP_LT, 11));                                      \
        require(P##_##NAME##_wait_until_any(words, WORDS, NULL, SHMEM_CMP_GT, 12) == 3);          \
        require(P##_##NAME##_wait_until_any_vector(words, WORDS, NULL, SHMEM_CMP_LE, wanted) <    \
                WORDS);                                                                           \
        require(P##_##NAME##_wait_until_some(words, WORDS, found, NULL, SHMEM_CMP_NE, 11) >= 1);  \
        require(found[0] != 1 && found[0] < WORDS);                                               \
        require(P##_##NAME##_wait_until_some_vector(words, WORDS, found, NULL, SHMEM_CMP_EQ,      \
                                                    wanted) >= 1);                                \
        require(P##_##NAME##_test_all(words, WORDS, NULL, SHMEM_CMP_LE, 13) == 1);                \
        require(P##_##NAME##_test_all(words, WORDS, NULL, SHMEM_CMP_LT, 13) == 0);                \
        require(P##_##NAME##_test_any(words, WORDS, NULL, SHMEM_CMP_EQ, 12) == 2);                \
        require(P##_##NAME##_test_any(words, WORDS, NULL, SHMEM_CMP_EQ, 14) == SIZE_MAX);         \
        require(P##_##NAME##_test_some(words, WORDS, found, NULL, SHMEM_CMP_GT, 12) == 1 &&       \
                found[0] == 3);                                                                   \
        require(P##_##NAME##_test_all_vector(words, WORDS, NULL, SHMEM_CMP_EQ, wanted) == 1);     \
        require(P##_##NAME##_test_any_vector(words, WORDS, NULL, SHMEM_CMP_NE, wanted) ==         \
                SIZE_MAX);                                                                        \
        require(P##_##NAME##_test_some_vector(words, WORDS, found, NULL, SHMEM_CMP_EQ, wanted) == \
                WORDS);                                                                           \
        shmem_barrier_all();                                                                      \
    }
SHMEM_SYNC_TYPES(WAIT, shmem, )
SHMEM_SYNC_TYPES(WAIT, pshmem, )

/* Deprecated: waiting for any other value. */
#define WAIT_OLD(NAME, TYPE, P, B)                \
    box_##NAME[0] = 0;                            \
    shmem_barrier_all();                          \
    shmem_##NAME##_p(&box_##NAME[0], 7, right()); \
    P##_##NAME##_wait(&box_##NAME[0], 0);         \
    require(box_##NAME[0] == 7);                  \
    shmem_barrier_all();

#define RUN_WAIT(NAME, TYPE, P, B) wait_##P##_##NAME();

static void waiting_for_every_type(void)
{
    SHMEM_SYNC_TYPES(RUN_WAIT, shmem, )
    SHMEM_SYNC_TYPES(RUN_WAIT, pshmem, )
}

static void waiting_under_deprecated_names(void)
{
    SHMEM_SYNC_OLD_TYPES(WAIT_OLD, shmem, )
    SHMEM_SYNC_OLD_TYPES(WAIT_OLD, pshmem, )
    box_long[0] = 0;
    shmem_barrier_all();
    shmem_long_p(&box_long[0], 3, right());
    shmem_wait(&box_long[0], 0);
    /* The function of this name, not the generic macro. */
    (shmem_wait_until)(&box_long[0], SHMEM_CMP_EQ, 3);
}

/* ---- The context of the checks ----------------------------------------------------- */

static void a_context_for_what_follows(void)
{
    require(shmem_ctx_create(0, &context) == 0 && context != SHMEM_CTX_INVALID);
}

static void the_context_goes(void)
{
    shmem_ctx_destroy(context);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, a_context_for_what_follows),
        LIVE_CHECK(1, transfers_of_every_type),
        LIVE_CHECK(1, transfers_of_every_size),
        LIVE_CHECK(1, atomics_of_every_type),
        LIVE_CHECK(1, atomics_under_their_deprecated_names),
        LIVE_CHECK(1, waiting_for_every_type),
        LIVE_CHECK(1, waiting_under_deprecated_names),
        LIVE_CHECK(1, the_context_goes),
    };
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
