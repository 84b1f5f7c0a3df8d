/* One program in C99, C11, C17 and C++: what version 1.6 adds, under the names with types, for
 * every type; in C alone for complex numbers too, and from C11 on without a type in the name.
 * shmem_spec_language.sh compiles it in each language. */
#include <shmem.h>

#include <stdio.h>
#include <stdlib.h>

static int me;
static int size;
static int right;
static int left;

static void require_at(int holds, int line, const char *what)
{
    if (!holds) {
        printf("FAIL portable: PE %d, line %d: %s\n", me, line, what);
        fflush(stdout);
        shmem_global_exit(1);
    }
}

#define require(...) require_at((__VA_ARGS__) ? 1 : 0, __LINE__, #__VA_ARGS__)

#define REAL_TYPES(X)                \
    X(float, float)                  \
    X(double, double)                \
    X(longdouble, long double)       \
    X(char, char)                    \
    X(schar, signed char)            \
    X(short, short)                  \
    X(int, int)                      \
    X(long, long)                    \
    X(longlong, long long)           \
    X(uchar, unsigned char)          \
    X(ushort, unsigned short)        \
    X(uint, unsigned int)            \
    X(ulong, unsigned long)          \
    X(ulonglong, unsigned long long) \
    X(int8, int8_t)                  \
    X(int16, int16_t)                \
    X(int32, int32_t)                \
    X(int64, int64_t)                \
    X(uint8, uint8_t)                \
    X(uint16, uint16_t)              \
    X(uint32, uint32_t)              \
    X(uint64, uint64_t)              \
    X(size, size_t)                  \
    X(ptrdiff, ptrdiff_t)

#ifdef __cplusplus
#define COMPLEX_TYPES(X)
#else
#define COMPLEX_TYPES(X)         \
    X(complexd, double _Complex) \
    X(complexf, float _Complex)
#endif

#if !defined(__cplusplus) && __STDC_VERSION__ >= 201112L
#define HAS_GENERIC_NAMES
#endif

/* ---- For every type ---------------------------------------------------------------- */

/* Two blocks of two go where two blocks three apart are, and come back. */
#define BLOCKS(NAME, TYPE)                                                       \
    static void blocks_##NAME(shmem_ctx_t context)                               \
    {                                                                            \
        static TYPE box[6];                                                      \
        TYPE from[4];                                                            \
        TYPE back[4];                                                            \
        for (int i = 0; i < 4; i++) {                                            \
            from[i] = (TYPE)(me + i + 1);                                        \
        }                                                                        \
        shmem_barrier_all();                                                     \
        shmem_##NAME##_ibput(box, from, 3, 2, 2, 1, right);                      \
        shmem_ctx_##NAME##_ibput(context, &box[3], &from[2], 3, 2, 2, 1, right); \
        shmem_ctx_quiet(context);                                                \
        shmem_barrier_all();                                                     \
        require(box[0] == (TYPE)(left + 1) && box[1] == (TYPE)(left + 2));       \
        require(box[2] == 0 && box[5] == 0);                                     \
        require(box[3] == (TYPE)(left + 3) && box[4] == (TYPE)(left + 4));       \
        shmem_##NAME##_ibget(back, box, 2, 3, 2, 1, right);                      \
        shmem_ctx_##NAME##_ibget(context, &back[2], &box[3], 2, 3, 2, 1, right); \
        require(back[0] == from[0] && back[1] == from[1]);                       \
        require(back[2] == from[2] && back[3] == from[3]);                       \
        shmem_barrier_all();                                                     \
    }
REAL_TYPES(BLOCKS)

#define SCANS(NAME, TYPE)                                                               \
    static void scans_##NAME(void)                                                      \
    {                                                                                   \
        static TYPE source[1];                                                          \
        static TYPE sums[2];                                                            \
        source[0] = (TYPE)2;                                                            \
        require(shmem_##NAME##_sum_inscan(SHMEM_TEAM_WORLD, &sums[0], source, 1) == 0); \
        require(shmem_##NAME##_sum_exscan(SHMEM_TEAM_WORLD, &sums[1], source, 1) == 0); \
        require(sums[0] == (TYPE)(2 * (me + 1)) && sums[1] == (TYPE)(2 * me));          \
    }
REAL_TYPES(SCANS)
COMPLEX_TYPES(SCANS)

#define RUN_BLOCKS(NAME, TYPE) blocks_##NAME(context);
#define RUN_SCANS(NAME, TYPE) scans_##NAME();

#define SIZES(X) X(8) X(16) X(32) X(64) X(128)

#define BLOCKS_OF_SIZE(SIZE)                                                     \
    shmem_ibput##SIZE(box, from, 2, 1, 1, 2, right);                             \
    shmem_ctx_ibput##SIZE(context, box, from, 2, 1, 1, 2, right);                \
    shmem_ctx_quiet(context);                                                    \
    shmem_ibget##SIZE(back, box, 1, 2, 1, 2, right);                             \
    require(back[0] == from[0] && back[(SIZE) / 4 - 1] == from[(SIZE) / 4 - 1]); \
    shmem_ctx_ibget##SIZE(context, &back[32], box, 1, 2, 1, 2, right);           \
    require(back[32 + (SIZE) / 8] == from[(SIZE) / 8]);

static void blocks_of_every_size(shmem_ctx_t context)
{
    static unsigned char box[64];
    unsigned char from[64];
    unsigned char back[64];
    for (int i = 0; i < 64; i++) {
        from[i] = (unsigned char)(i + 10 * me + 1);
    }
    shmem_barrier_all();
    SIZES(BLOCKS_OF_SIZE)
    shmem_barrier_all();
}

/* ---- The rest ---------------------------------------------------------------------- */

static void signals(shmem_ctx_t context)
{
    static uint64_t words[2];
    shmem_signal_set(&words[0], 5, right);
    shmem_ctx_signal_add(context, &words[1], 6, right);
    require(shmem_signal_wait_until(&words[0], SHMEM_CMP_EQ, 5) == 5);
    require(shmem_signal_wait_until(&words[1], SHMEM_CMP_EQ, 6) == 6);
    shmem_barrier_all();
    shmem_signal_add(&words[0], 2, right);
    shmem_ctx_signal_set(context, &words[1], 1, right);
    require(shmem_signal_wait_until(&words[0], SHMEM_CMP_GT, 5) == 7);
    require(shmem_signal_wait_until(&words[1], SHMEM_CMP_LT, 6) == 1);
    shmem_barrier_all();
}

static void order_sessions_and_pointers(shmem_ctx_t context)
{
    static long word;
    shmem_ctx_session_config_t config;
    long value = me + 1;
    config.total_ops = 1;
    shmem_ctx_session_start(context, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_long_put_nbi(context, &word, &value, 1, right);
    shmem_ctx_pe_quiet(context, &right, 1);
    shmem_ctx_session_stop(context);
    shmem_pe_quiet(&right, 1);
    shmem_barrier_all();
    require(word == left + 1);
    require(shmem_team_ptr(SHMEM_TEAM_WORLD, &word, right) == shmem_ptr(&word, right));
    require(shmem_team_ptr(SHMEM_TEAM_INVALID, &word, right) == NULL);
    shmem_barrier_all();
}

/* Constant values to compare with, and words of 16 bits. */
static void waits(void)
{
    static short words[2];
    static unsigned short unsigned_words[2];
    static const short values[2] = {-2, 3};
    static const unsigned short unsigned_values[2] = {65535, 3};
    size_t found[2];
    for (int i = 0; i < 2; i++) {
        shmem_short_p(&words[i], values[i], right);
        shmem_ushort_p(&unsigned_words[i], unsigned_values[i], right);
    }
    shmem_short_wait_until_all_vector(words, 2, NULL, SHMEM_CMP_EQ, values);
    shmem_ushort_wait_until_all_vector(unsigned_words, 2, NULL, SHMEM_CMP_EQ, unsigned_values);
    shmem_short_wait_until(&words[0], SHMEM_CMP_LT, 0);
    require(shmem_ushort_test(&unsigned_words[0], SHMEM_CMP_GT, 3) == 1);
    require(shmem_short_test_some_vector(words, 2, found, NULL, SHMEM_CMP_EQ, values) == 2);
    require(shmem_short_test_all(words, 0, NULL, SHMEM_CMP_EQ, 1) == 1);
    shmem_barrier_all();
}

/* Old names of atomics for types that the specification has not under them. */
#define OLD_ATOMICS(NAME, TYPE)                                 \
    {                                                           \
        static TYPE word;                                       \
        shmem_##NAME##_set(&word, (TYPE)3, right);              \
        shmem_quiet();                                          \
        require(shmem_##NAME##_swap(&word, 5, right) == 3);     \
        require(shmem_##NAME##_cswap(&word, 5, 6, right) == 5); \
        require(shmem_##NAME##_finc(&word, right) == 6);        \
        require(shmem_##NAME##_fadd(&word, 4, right) == 7);     \
        shmem_##NAME##_inc(&word, right);                       \
        shmem_##NAME##_add(&word, 8, right);                    \
        shmem_quiet();                                          \
        require(shmem_##NAME##_fetch(&word, right) == 20);      \
        shmem_barrier_all();                                    \
    }

static void old_atomics(void)
{
    OLD_ATOMICS(int, int)
    OLD_ATOMICS(uint, unsigned int)
    OLD_ATOMICS(ulong, unsigned long)
    OLD_ATOMICS(ulonglong, unsigned long long)
    OLD_ATOMICS(int32, int32_t)
    OLD_ATOMICS(int64, int64_t)
    OLD_ATOMICS(uint32, uint32_t)
    OLD_ATOMICS(uint64, uint64_t)
    OLD_ATOMICS(size, size_t)
    OLD_ATOMICS(ptrdiff, ptrdiff_t)
}

#ifdef HAS_GENERIC_NAMES
static void generic_names(shmem_ctx_t context)
{
    static double box[2];
    static double _Complex sums[2];
    static double _Complex source = 1;
    static uint64_t word;
    double from[2] = {me, me};
    shmem_ibput(box, from, 1, 1, 1, 1, right);
    shmem_ibput(context, &box[1], &from[1], 1, 1, 1, 1, right);
    shmem_ctx_quiet(context);
    shmem_barrier_all();
    require(box[0] == left && box[1] == left);
    shmem_ibget(from, box, 1, 1, 1, 1, right);
    shmem_ibget(context, &from[1], box, 1, 1, 1, 1, right);
    require(from[0] == me && from[1] == me);
    require(shmem_sum_inscan(SHMEM_TEAM_WORLD, &sums[0], &source, 1) == 0);
    require(shmem_sum_exscan(SHMEM_TEAM_WORLD, &sums[1], &source, 1) == 0);
    require(sums[0] == me + 1 && sums[1] == me);
    shmem_signal_set(context, &word, 1, right);
    (void)shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    shmem_signal_add(context, &word, 1, right);
    (void)shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 2);
}
#endif

int main(void)
{
    int is_initialised;
    shmem_ctx_t context;
    shmem_query_initialized(&is_initialised);
    require(is_initialised == 0);
    shmem_init();
    shmem_init();
    me = shmem_my_pe();
    size = shmem_n_pes();
    right = (me + 1) % size;
    left = (me + size - 1) % size;
    require(shmem_ctx_create(0, &context) == 0);
    REAL_TYPES(RUN_BLOCKS)
    REAL_TYPES(RUN_SCANS)
    COMPLEX_TYPES(RUN_SCANS)
    blocks_of_every_size(context);
    signals(context);
    order_sessions_and_pointers(context);
    waits();
    old_atomics();
#ifdef HAS_GENERIC_NAMES
    generic_names(context);
#endif
    shmem_ctx_destroy(context);
    shmem_finalize();
    shmem_query_initialized(&is_initialised);
    require(is_initialised != 0);
    if (me == 0) {
        printf("ok portable\n");
    }
    shmem_finalize();
    shmem_query_initialized(&is_initialised);
    require(is_initialised == 0);
    return 0;
}
