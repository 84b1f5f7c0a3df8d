/* Deprecated collectives on active sets, called by a PE that is in none of them: each returns at
 * once and does nothing, as programs for other libraries expect. With SHMEM_DEBUG=1 it says so, for
 * which shmem_spec_outside.sh looks: `PROGRAM --calls` names the calls. */
#include "shmem_spec.h"

enum { PES_MAX = 8, COUNT = 3, UNTOUCHED = 77 };

static long sync_work[SHMEM_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE];

/* The last PE is in no set; the others are in this one. */
static int members(void)
{
    return me.size - 1;
}

static bool is_outside(void)
{
    return me.rank == me.size - 1;
}

/* A call of a kind on a set: what it writes, if it does, is the type's dest. */
struct call {
    const char *name;
    void (*run)(int start, int log_stride, int size);
    bool (*is_untouched)(void);
};

/* ---- The calls --------------------------------------------------------------------- */

static bool nothing_to_touch(void)
{
    return true;
}

static void barrier(int start, int log_stride, int size)
{
    shmem_barrier(start, log_stride, size, sync_work);
}

static void sync_set(int start, int log_stride, int size)
{
    shmem_sync(start, log_stride, size, sync_work);
}

#define SIZED(BITS, TYPE)                                                                       \
    static TYPE source_##BITS[COUNT * PES_MAX];                                                 \
    static TYPE dest_##BITS[COUNT * PES_MAX];                                                   \
    static bool untouched_##BITS(void)                                                          \
    {                                                                                           \
        for (int i = 0; i < COUNT * PES_MAX; i++) {                                             \
            if (dest_##BITS[i] != UNTOUCHED) {                                                  \
                return false;                                                                   \
            }                                                                                   \
        }                                                                                       \
        return true;                                                                            \
    }                                                                                           \
    static void prepare_##BITS(void)                                                            \
    {                                                                                           \
        for (int i = 0; i < COUNT * PES_MAX; i++) {                                             \
            source_##BITS[i] = (TYPE)(me.rank + 1);                                             \
            dest_##BITS[i] = UNTOUCHED;                                                         \
        }                                                                                       \
    }                                                                                           \
    static void broadcast_##BITS(int start, int log_stride, int size)                           \
    {                                                                                           \
        shmem_broadcast##BITS(dest_##BITS, source_##BITS, COUNT, 0, start, log_stride, size,    \
                              sync_work);                                                       \
    }                                                                                           \
    static void collect_##BITS(int start, int log_stride, int size)                             \
    {                                                                                           \
        shmem_collect##BITS(dest_##BITS, source_##BITS, COUNT, start, log_stride, size,         \
                            sync_work);                                                         \
    }                                                                                           \
    static void fcollect_##BITS(int start, int log_stride, int size)                            \
    {                                                                                           \
        shmem_fcollect##BITS(dest_##BITS, source_##BITS, COUNT, start, log_stride, size,        \
                             sync_work);                                                        \
    }                                                                                           \
    static void alltoall_##BITS(int start, int log_stride, int size)                            \
    {                                                                                           \
        shmem_alltoall##BITS(dest_##BITS, source_##BITS, COUNT, start, log_stride, size,        \
                             sync_work);                                                        \
    }                                                                                           \
    static void alltoalls_##BITS(int start, int log_stride, int size)                           \
    {                                                                                           \
        shmem_alltoalls##BITS(dest_##BITS, source_##BITS, 1, 1, COUNT, start, log_stride, size, \
                              sync_work);                                                       \
    }

SIZED(32, uint32_t)
SIZED(64, uint64_t)

#define BITWISE_TYPES(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define MINMAX_TYPES(X) \
    BITWISE_TYPES(X)    \
    X(float, float)     \
    X(double, double) X(longdouble, long double)
#define ARITHMETIC_TYPES(X) \
    MINMAX_TYPES(X)         \
    X(complexd, double _Complex) X(complexf, float _Complex)

#define BOXES(NAME, TYPE)                                           \
    static TYPE source_##NAME[COUNT];                               \
    static TYPE dest_##NAME[COUNT];                                 \
    static TYPE work_##NAME[COUNT + SHMEM_REDUCE_MIN_WRKDATA_SIZE]; \
    static bool untouched_##NAME(void)                              \
    {                                                               \
        for (int i = 0; i < COUNT; i++) {                           \
            if (dest_##NAME[i] != (TYPE)UNTOUCHED) {                \
                return false;                                       \
            }                                                       \
        }                                                           \
        return true;                                                \
    }                                                               \
    static void prepare_##NAME(void)                                \
    {                                                               \
        for (int i = 0; i < COUNT; i++) {                           \
            source_##NAME[i] = (TYPE)1;                             \
            dest_##NAME[i] = (TYPE)UNTOUCHED;                       \
        }                                                           \
    }
ARITHMETIC_TYPES(BOXES)

#define REDUCTION(NAME, OPERATION)                                                                \
    static void OPERATION##_##NAME(int start, int log_stride, int size)                           \
    {                                                                                             \
        shmem_##NAME##_##OPERATION##_to_all(dest_##NAME, source_##NAME, COUNT, start, log_stride, \
                                            size, work_##NAME, sync_work);                        \
    }
#define AND(NAME, TYPE) REDUCTION(NAME, and)
#define OR(NAME, TYPE) REDUCTION(NAME, or)
#define XOR(NAME, TYPE) REDUCTION(NAME, xor)
#define MIN(NAME, TYPE) REDUCTION(NAME, min)
#define MAX(NAME, TYPE) REDUCTION(NAME, max)
#define SUM(NAME, TYPE) REDUCTION(NAME, sum)
#define PROD(NAME, TYPE) REDUCTION(NAME, prod)
BITWISE_TYPES(AND)
BITWISE_TYPES(OR)
BITWISE_TYPES(XOR)
MINMAX_TYPES(MIN)
MINMAX_TYPES(MAX)
ARITHMETIC_TYPES(SUM)
ARITHMETIC_TYPES(PROD)

#define SIZED_CALL(KIND, BITS) {"shmem_" #KIND #BITS, KIND##_##BITS, untouched_##BITS},
#define SIZED_CALLS(BITS)       \
    SIZED_CALL(broadcast, BITS) \
    SIZED_CALL(collect, BITS)   \
    SIZED_CALL(fcollect, BITS)  \
    SIZED_CALL(alltoall, BITS)  \
    SIZED_CALL(alltoalls, BITS)
#define REDUCTION_CALL(NAME, OPERATION) \
    {"shmem_" #NAME "_" #OPERATION "_to_all", OPERATION##_##NAME, untouched_##NAME},
#define AND_CALL(NAME, TYPE) REDUCTION_CALL(NAME, and)
#define OR_CALL(NAME, TYPE) REDUCTION_CALL(NAME, or)
#define XOR_CALL(NAME, TYPE) REDUCTION_CALL(NAME, xor)
#define MIN_CALL(NAME, TYPE) REDUCTION_CALL(NAME, min)
#define MAX_CALL(NAME, TYPE) REDUCTION_CALL(NAME, max)
#define SUM_CALL(NAME, TYPE) REDUCTION_CALL(NAME, sum)
#define PROD_CALL(NAME, TYPE) REDUCTION_CALL(NAME, prod)

/* clang-format off */
static const struct call calls[] = {
    {"shmem_barrier", barrier, nothing_to_touch},
    {"shmem_sync", sync_set, nothing_to_touch},
    SIZED_CALLS(32)
    SIZED_CALLS(64)
    BITWISE_TYPES(AND_CALL)
    BITWISE_TYPES(OR_CALL)
    BITWISE_TYPES(XOR_CALL)
    MINMAX_TYPES(MIN_CALL)
    MINMAX_TYPES(MAX_CALL)
    ARITHMETIC_TYPES(SUM_CALL)
    ARITHMETIC_TYPES(PROD_CALL)
};
/* clang-format on */

#define PREPARE(NAME, TYPE) prepare_##NAME();

static void prepare(void)
{
    prepare_32();
    prepare_64();
    ARITHMETIC_TYPES(PREPARE)
    for (size_t i = 0; i < LIVE_COUNT(sync_work); i++) {
        sync_work[i] = SHMEM_SYNC_VALUE;
    }
    shmem_barrier_all();
}

/* ---- The checks -------------------------------------------------------------------- */

static void expect_nothing_done(const struct call *call)
{
    require_else(call->is_untouched(), "%s has written", call->name);
    for (size_t i = 0; i < LIVE_COUNT(sync_work); i++) {
        require_else(sync_work[i] == SHMEM_SYNC_VALUE, "%s has used pSync", call->name);
    }
}

/* At once: nobody else makes these calls at all, so what waited would wait for ever. */
static void a_pe_outside_goes_on_alone(void)
{
    prepare();
    if (is_outside()) {
        for (size_t i = 0; i < LIVE_COUNT(calls); i++) {
            calls[i].run(0, 0, members());
            expect_nothing_done(&calls[i]);
        }
    }
    shmem_barrier_all();
    for (size_t i = 0; i < LIVE_COUNT(calls); i++) {
        expect_nothing_done(&calls[i]);
    }
}

/* All PEs make all calls: the set's members do their work, without the one outside. */
static void the_members_do_not_miss_it(void)
{
    prepare();
    for (size_t i = 0; i < LIVE_COUNT(calls); i++) {
        calls[i].run(0, 0, members());
        if (is_outside()) {
            expect_nothing_done(&calls[i]);
        } else {
            shmem_sync(0, 0, members(), sync_work);
        }
    }
    int sum = members();
    require(is_outside() || dest_complexf[COUNT - 1] == 1);
    prepare();
    sum_int(0, 0, members());
    sum_longdouble(0, 0, members());
    fcollect_64(0, 0, members());
    if (is_outside()) {
        require(untouched_int() && untouched_longdouble() && untouched_64());
    } else {
        require(dest_int[0] == sum && dest_longdouble[COUNT - 1] == sum);
        for (int i = 0; i < COUNT * PES_MAX; i++) {
            uint64_t wanted = i < COUNT * sum ? (uint64_t)(i / COUNT + 1) : UNTOUCHED;
            require_else(dest_64[i] == wanted, "place %d", i);
        }
    }
}

/* Between the members of a set with a stride, before its start, and behind its end. */
static void outside_in_every_way(void)
{
    static const struct {
        int start;
        int log_stride;
        int size;
    } sets[] = {{0, 1, 2}, {1, 0, 1}, {1, 1, 1}, {0, 0, 2}, {2, 0, 2}, {0, 0, 1}};
    for (size_t i = 0; i < LIVE_COUNT(sets); i++) {
        int start = sets[i].start;
        int stride = 1 << sets[i].log_stride;
        int size = sets[i].size;
        if (start + (size - 1) * stride >= me.size) {
            continue;
        }
        int distance = me.rank - start;
        bool is_in = distance >= 0 && distance % stride == 0 && distance / stride < size;
        prepare();
        sum_int(start, sets[i].log_stride, size);
        barrier(start, sets[i].log_stride, size);
        require_else(is_in ? dest_int[0] == size : untouched_int(), "set %zu", i);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(2, a_pe_outside_goes_on_alone),
        LIVE_CHECK(2, the_members_do_not_miss_it),
        LIVE_CHECK(2, outside_in_every_way),
    };
    if (argc > 1 && strcmp(argv[1], "--calls") == 0) {
        for (size_t i = 0; i < LIVE_COUNT(calls); i++) {
            puts(calls[i].name);
        }
        return 0;
    }
    return spec_main(argc, argv, checks, LIVE_COUNT(checks));
}
