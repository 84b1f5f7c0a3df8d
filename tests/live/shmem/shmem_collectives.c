/* Teams and collective calls of OpenSHMEM, against the same computed by one PE alone. Every typed
 * function is called, through the tables of shmem.h. With --mistake it makes one mistake, and must
 * end with a sentence. */
#include "shmem_spec.h"

/* Symmetric memory of both kinds; every check alternates. */
enum { ROOM_BYTES = 4 << 20, STATIC_BYTES = 1 << 20 };
static unsigned char static_room[2][STATIC_BYTES] __attribute__((aligned(64)));
static unsigned char *heap_room[2];
static long sync_array[SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE];

static void *room(int which, int round, size_t bytes)
{
    return round % 2 == 0 || bytes > STATIC_BYTES ? heap_room[which] : static_room[which];
}

/* Byte i of what one PE has for another. */
static unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)live_mix((uint64_t)from * 1000003 + (uint64_t)to * 10007 + i);
}

static void fill(void *target, size_t bytes, int from, int to)
{
    for (size_t i = 0; i < bytes; i++) {
        ((unsigned char *)target)[i] = byte_of(from, to, i);
    }
}

static void expect_filled(const void *found, size_t bytes, int from, int to, int line)
{
    for (size_t i = 0; i < bytes; i++) {
        if (((const unsigned char *)found)[i] != byte_of(from, to, i)) {
            live_fail(__FILE__, line, "byte %zu of %zu from %d to %d", i, bytes, from, to);
        }
    }
}

/* ---- Teams --------------------------------------------------------------------------- */

static void predefined_teams(void)
{
    require(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me.rank &&
            shmem_team_n_pes(SHMEM_TEAM_WORLD) == me.size);
    /* A PE that shares no memory with others is alone in the shared team. */
    bool is_alone = live_shares_nothing();
    require(shmem_team_my_pe(SHMEM_TEAM_SHARED) == (is_alone ? 0 : me.rank));
    require(shmem_team_n_pes(SHMEM_TEAM_SHARED) == (is_alone ? 1 : me.size));
    require(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
    require(shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    shmem_team_config_t config = {.num_contexts = 77};
    require(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0);
    require(config.num_contexts == 77);
    require(shmem_team_get_config(SHMEM_TEAM_WORLD, 0, &config) == 0 && config.num_contexts == 77);
    require(shmem_team_get_config(SHMEM_TEAM_WORLD, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0);
    for (int pe = 0; pe < me.size; pe++) {
        int here = !is_alone ? pe : pe == me.rank ? 0 : -1;
        require(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) == here);
        require(here < 0 ||
                shmem_team_translate_pe(SHMEM_TEAM_SHARED, here, SHMEM_TEAM_WORLD) == pe);
    }
    require(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me.size, SHMEM_TEAM_SHARED) == -1);
    require(shmem_team_translate_pe(SHMEM_TEAM_WORLD, -1, SHMEM_TEAM_SHARED) == -1);
    require(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    require(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID) == -1);
    require(shmem_team_sync(SHMEM_TEAM_WORLD) == 0 && shmem_team_sync(SHMEM_TEAM_SHARED) == 0);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* The sum of the members' numbers, by the team's own reduction. */
static void expect_members(shmem_team_t team, const int *members, int count)
{
    static long mine;
    static long sum;
    long wanted = 0;
    require(shmem_team_n_pes(team) == count);
    for (int i = 0; i < count; i++) {
        wanted += members[i] + 1;
        require(shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD) == members[i]);
        require(shmem_team_translate_pe(SHMEM_TEAM_WORLD, members[i], team) == i);
    }
    require(members[shmem_team_my_pe(team)] == me.rank);
    mine = me.rank + 1;
    sum = 0;
    require(shmem_long_sum_reduce(team, &sum, &mine, 1) == 0);
    require(sum == wanted);
    require(shmem_sync(team) == 0);
}

static void strided_once(shmem_team_t parent, int start, int stride, int size)
{
    int members[64];
    bool is_member = false;
    int parent_size = shmem_team_n_pes(parent);
    for (int i = 0; i < size; i++) {
        members[i] = shmem_team_translate_pe(parent, start + i * stride, SHMEM_TEAM_WORLD);
        require(members[i] >= 0);
        is_member |= members[i] == me.rank;
    }
    shmem_team_config_t config = {.num_contexts = 3};
    shmem_team_t team = SHMEM_TEAM_WORLD;
    require(shmem_team_split_strided(parent, start, stride, size, &config,
                                     size % 2 ? SHMEM_TEAM_NUM_CONTEXTS : 0, &team) == 0);
    require(is_member == (team != SHMEM_TEAM_INVALID));
    if (is_member) {
        expect_members(team, members, size);
        require(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0);
        require(config.num_contexts == (size % 2 ? 3 : 0));
    }
    for (int outside = 0; outside < me.size && is_member; outside++) {
        bool inside = false;
        for (int i = 0; i < size; i++) {
            inside |= members[i] == outside;
        }
        require(inside == (shmem_team_translate_pe(SHMEM_TEAM_WORLD, outside, team) >= 0));
    }
    shmem_team_destroy(team);
    require(shmem_team_n_pes(parent) == parent_size);
}

static void strided_teams(void)
{
    for (int start = 0; start < me.size; start++) {
        for (int stride = -me.size; stride <= me.size; stride++) {
            for (int size = 1; size <= me.size; size++) {
                int last = start + stride * (size - 1);
                if (last >= 0 && last < me.size && (stride != 0 || size == 1)) {
                    strided_once(SHMEM_TEAM_WORLD, start, stride, size);
                }
            }
        }
    }
}

static void wrong_triples_are_refused_on_all(void)
{
    static const int triples[][3] = {{0, 1, 0},  {0, 1, -1}, {-1, 1, 1}, {0, 0, 2},
                                     {0, 1, 99}, {0, -1, 2}, {64, 1, 1}};
    for (size_t i = 0; i < sizeof triples / sizeof triples[0]; i++) {
        shmem_team_t team = SHMEM_TEAM_WORLD;
        require(shmem_team_split_strided(SHMEM_TEAM_WORLD, triples[i][0], triples[i][1],
                                         triples[i][2], NULL, 0, &team) != 0);
        require(team == SHMEM_TEAM_INVALID);
    }
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmem_team_t other = SHMEM_TEAM_WORLD;
    require(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0);
    require(team == SHMEM_TEAM_INVALID);
    team = SHMEM_TEAM_WORLD;
    require(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &team, NULL, 0, &other) != 0);
    require(team == SHMEM_TEAM_INVALID && other == SHMEM_TEAM_INVALID);
    require(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &team, NULL, 0, &other) != 0);
    shmem_sync_all();
}

/* Parts of parts, in reverse order and with gaps. */
static void teams_of_teams(void)
{
    shmem_team_t reversed;
    shmem_team_t half;
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, NULL, 0,
                                     &reversed) == 0);
    require(shmem_team_my_pe(reversed) == me.size - 1 - me.rank);
    int size = (me.size + 1) / 2;
    require(shmem_team_split_strided(reversed, 0, 2, size, NULL, 0, &half) == 0);
    require((half != SHMEM_TEAM_INVALID) == ((me.size - 1 - me.rank) % 2 == 0));
    if (half != SHMEM_TEAM_INVALID) {
        int members[64] = {0};
        for (int i = 0; i < size; i++) {
            members[i] = me.size - 1 - 2 * i;
        }
        expect_members(half, members, size);
        strided_once(half, 0, 1, size);
        strided_once(half, size - 1, -1, size);
        shmem_team_t alone;
        int mine = shmem_team_my_pe(half);
        for (int i = 0; i < size; i++) {
            require(shmem_team_split_strided(half, i, 0, 1, NULL, 0, &alone) == 0);
            require((i == mine) == (alone != SHMEM_TEAM_INVALID));
            if (i == mine) {
                expect_members(alone, &me.rank, 1);
            }
            shmem_team_destroy(alone);
        }
    }
    shmem_team_destroy(half);
    shmem_team_destroy(reversed);
}

static void teams_of_two_dimensions(void)
{
    for (int xrange = 1; xrange <= me.size + 1; xrange++) {
        int members[64];
        shmem_team_t row;
        shmem_team_t column;
        require(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &row, NULL, 0, &column) ==
                0);
        require(shmem_team_my_pe(row) == me.rank % xrange &&
                shmem_team_my_pe(column) == me.rank / xrange);
        int count = 0;
        for (int pe = me.rank / xrange * xrange;
             pe < me.size && pe < (me.rank / xrange + 1) * xrange; pe++) {
            members[count++] = pe;
        }
        expect_members(row, members, count);
        count = 0;
        for (int pe = me.rank % xrange; pe < me.size; pe += xrange) {
            members[count++] = pe;
        }
        expect_members(column, members, count);
        shmem_team_destroy(row);
        shmem_team_destroy(column);
    }
}

/* ---- Data on teams ------------------------------------------------------------------------ */

/* The teams for the checks below: all, the others reversed, each PE alone. */
static shmem_team_t teams[4];

static void make_teams(void)
{
    teams[0] = SHMEM_TEAM_WORLD;
    teams[1] = SHMEM_TEAM_SHARED;
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, me.size - 1, -1, me.size, NULL, 0,
                                     &teams[2]) == 0);
    shmem_team_t column;
    require(shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, NULL, 0, &teams[3], NULL, 0, &column) == 0);
    shmem_team_destroy(column);
}

static int world_pe(shmem_team_t team, int pe)
{
    return shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

#define CHECK_DATA(NAME, TYPE, A, B)                                                              \
    static void data_##NAME(shmem_team_t team, size_t count, int round)                           \
    {                                                                                             \
        int size = shmem_team_n_pes(team);                                                        \
        size_t bytes = count * sizeof(TYPE);                                                      \
        TYPE *source = room(0, round, bytes * (size_t)size);                                      \
        TYPE *dest = room(1, round, bytes * (size_t)size);                                        \
        int root = round % size;                                                                  \
        fill(source, bytes, me.rank, 0);                                                          \
        memset(dest, 0x5a, bytes *(size_t)size);                                                  \
        require(shmem_##NAME##_broadcast(team, dest, source, count, root) == 0);                  \
        expect_filled(dest, bytes, world_pe(team, root), 0, __LINE__);                            \
        require(shmem_##NAME##_fcollect(team, dest, source, count) == 0);                         \
        for (int i = 0; i < size; i++) {                                                          \
            expect_filled(dest + (size_t)i * count, bytes, world_pe(team, i), 0, __LINE__);       \
        }                                                                                         \
        /* The first PE gives nothing, the others one element less each. */                       \
        size_t mine = me.rank == 0 || count < (size_t)me.rank ? 0 : count - (size_t)me.rank;      \
        require(shmem_##NAME##_collect(team, dest, source, mine) == 0);                           \
        TYPE *next = dest;                                                                        \
        for (int i = 0; i < size; i++) {                                                          \
            int pe = world_pe(team, i);                                                           \
            size_t theirs = pe == 0 || count < (size_t)pe ? 0 : count - (size_t)pe;               \
            expect_filled(next, theirs * sizeof(TYPE), pe, 0, __LINE__);                          \
            next += theirs;                                                                       \
        }                                                                                         \
        for (int i = 0; i < size; i++) {                                                          \
            fill(source + (size_t)i * count, bytes, me.rank, world_pe(team, i));                  \
        }                                                                                         \
        require(shmem_##NAME##_alltoall(team, dest, source, count) == 0);                         \
        for (int i = 0; i < size; i++) {                                                          \
            expect_filled(dest + (size_t)i * count, bytes, world_pe(team, i), me.rank, __LINE__); \
        }                                                                                         \
        strided_##NAME(team, count, round);                                                       \
    }

/* All-to-all with strides: what lies between the elements stays. */
#define CHECK_STRIDED(NAME, TYPE, A, B)                                                         \
    static void strided_##NAME(shmem_team_t team, size_t count, int round)                      \
    {                                                                                           \
        int size = shmem_team_n_pes(team);                                                      \
        size_t dst = (size_t)(round % 3) + 1;                                                   \
        size_t sst = (size_t)(round % 2) + 1;                                                   \
        size_t total = count * (size_t)size;                                                    \
        TYPE *source = room(0, round, total * 2 * sizeof(TYPE));                                \
        TYPE *dest = room(1, round, total * 3 * sizeof(TYPE));                                  \
        TYPE untouched;                                                                         \
        memset(&untouched, 0x77, sizeof untouched);                                             \
        memset(dest, 0x77, total * 3 * sizeof(TYPE));                                           \
        for (size_t i = 0; i < total; i++) {                                                    \
            int to = world_pe(team, (int)(i / count));                                          \
            fill(&source[i * sst], sizeof(TYPE), me.rank * 100 + to, (int)(i % count));         \
        }                                                                                       \
        require(shmem_##NAME##_alltoalls(team, dest, source, (ptrdiff_t)dst, (ptrdiff_t)sst,    \
                                         count) == 0);                                          \
        for (size_t i = 0; i < total; i++) {                                                    \
            int from = world_pe(team, (int)(i / count));                                        \
            expect_filled(&dest[i * dst], sizeof(TYPE), from * 100 + me.rank, (int)(i % count), \
                          __LINE__);                                                            \
            for (size_t gap = 1; gap < dst && i + 1 < total; gap++) {                           \
                require(memcmp(&dest[i * dst + gap], &untouched, sizeof untouched) == 0);       \
            }                                                                                   \
        }                                                                                       \
    }

SHMEM_RMA_TYPES(CHECK_STRIDED, , )
SHMEM_RMA_TYPES(CHECK_DATA, , )

static void data_of_all_types(void)
{
    static const size_t counts[] = {1, 3, 40};
    int round = 0;
    for (int team = 0; team < 4; team++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
#define CALL_DATA(NAME, TYPE, A, B) data_##NAME(teams[team], counts[i], round++);
            SHMEM_RMA_TYPES(CALL_DATA, , )
        }
    }
}

/* Sizes around those where the way changes, by the calls for bytes. */
static void data_of_all_sizes(void)
{
    static const size_t sizes[] = {0, 1, 511, 512, 513, 4096, 4097, 60000, 262144, 300001};
    size_t count = LIVE_COUNT(sizes) - (live_is_virtual() ? 2 : 0); /* minutes in a simulator */
    int round = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = sizes[i];
        unsigned char *source = room(0, round, bytes * (size_t)me.size);
        unsigned char *dest = room(1, round, bytes * (size_t)me.size);
        fill(source, bytes < 7 ? 7 : bytes, me.rank, 0);
        require(shmem_broadcastmem(SHMEM_TEAM_WORLD, dest, source, bytes, me.size - 1) == 0);
        expect_filled(dest, bytes, me.size - 1, 0, __LINE__);
        require(shmem_fcollectmem(SHMEM_TEAM_WORLD, dest, source, bytes) == 0);
        for (int pe = 0; pe < me.size; pe++) {
            expect_filled(dest + (size_t)pe * bytes, bytes, pe, 0, __LINE__);
        }
        require(shmem_collectmem(SHMEM_TEAM_WORLD, dest, source, me.rank == 0 ? bytes : 7) == 0);
        expect_filled(dest, bytes, 0, 0, __LINE__);
        expect_filled(dest + bytes, me.size > 1 ? 7 : 0, 1, 0, __LINE__);
        for (int to = 0; to < me.size; to++) {
            fill(source + (size_t)to * bytes, bytes, me.rank, to);
        }
        require(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, bytes) == 0);
        for (int from = 0; from < me.size; from++) {
            expect_filled(dest + (size_t)from * bytes, bytes, from, me.rank, __LINE__);
        }
        require(shmem_alltoallsmem(SHMEM_TEAM_WORLD, dest, source, 1, 1, bytes) == 0);
        for (int from = 0; from < me.size; from++) {
            expect_filled(dest + (size_t)from * bytes, bytes, from, me.rank, __LINE__);
        }
        round++;
    }
}

/* ---- Reductions ----------------------------------------------------------------------------- */

/* Small whole numbers: exact in every type; products stay in range by wrapping, or consist of ones
 * and twos. */
static long value_of(int pe, size_t i, bool small)
{
    long number = (long)(live_mix((uint64_t)pe * 131 + i) % 5);
    return small ? number % 2 + 1 : number;
}

static long combined(const int *members, int count, size_t i, const char *operation)
{
    bool small = strcmp(operation, "prod") == 0;
    long total = value_of(members[0], i, small);
    for (int member = 1; member < count; member++) {
        long next = value_of(members[member], i, small);
        total = strcmp(operation, "sum") == 0   ? total + next
                : small                         ? total * next
                : strcmp(operation, "max") == 0 ? (next > total ? next : total)
                : strcmp(operation, "min") == 0 ? (next < total ? next : total)
                : strcmp(operation, "and") == 0 ? (total & next)
                : strcmp(operation, "or") == 0  ? (total | next)
                                                : (total ^ next);
    }
    return total;
}

#define CHECK_REDUCE(NAME, TYPE, A, OPERATION)                                          \
    static void reduce_##NAME##_##OPERATION(shmem_team_t team, size_t count, int round) \
    {                                                                                   \
        int members[64];                                                                \
        int size = shmem_team_n_pes(team);                                              \
        TYPE *source = room(0, round, count * sizeof(TYPE));                            \
        TYPE *dest = round % 3 == 0 ? source : room(1, round, count * sizeof(TYPE));    \
        for (int i = 0; i < size; i++) {                                                \
            members[i] = world_pe(team, i);                                             \
        }                                                                               \
        for (size_t i = 0; i < count; i++) {                                            \
            source[i] = (TYPE)value_of(me.rank, i, strcmp(#OPERATION, "prod") == 0);    \
        }                                                                               \
        require(shmem_##NAME##_##OPERATION##_reduce(team, dest, source, count) == 0);   \
        for (size_t i = 0; i < count; i++) {                                            \
            require(dest[i] == (TYPE)combined(members, size, i, #OPERATION));           \
        }                                                                               \
    }

#define CALL_REDUCE(NAME, TYPE, COUNT, OPERATION) \
    reduce_##NAME##_##OPERATION(teams[team], (COUNT), round++);

#define EACH_REDUCTION(X, A)                 \
    SHMEM_REDUCE_BITWISE_TYPES(X, A, and)    \
    SHMEM_REDUCE_BITWISE_TYPES(X, A, or)     \
    SHMEM_REDUCE_BITWISE_TYPES(X, A, xor)    \
    SHMEM_REDUCE_MINMAX_TYPES(X, A, min)     \
    SHMEM_REDUCE_MINMAX_TYPES(X, A, max)     \
    SHMEM_REDUCE_ARITHMETIC_TYPES(X, A, sum) \
    SHMEM_REDUCE_ARITHMETIC_TYPES(X, A, prod)

EACH_REDUCTION(CHECK_REDUCE, )

static void reductions_of_all_types(void)
{
    int round = 0;
    for (int team = 0; team < 4; team++) {
        EACH_REDUCTION(CALL_REDUCE, 1)
        EACH_REDUCTION(CALL_REDUCE, 7)
    }
    int team = 0;
    EACH_REDUCTION(CALL_REDUCE, 2000)
}

static void long_reductions(void)
{
    static const size_t counts[] = {0, 512, 513, 32768, 32769, 100000};
    for (int team = 0; team < 3; team++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            reduce_long_sum(teams[team], counts[i], (int)i);
            reduce_longdouble_max(teams[team], counts[i] / 2, (int)i + 1);
        }
    }
}

/* The names without a type. */
static void generic_names(void)
{
    static int values[8];
    static int results[64];
    static double reals[8];
    static double most[8];
    for (int i = 0; i < 8; i++) {
        values[i] = me.rank + i;
        reals[i] = me.rank * 2.0;
    }
    require(shmem_sum_reduce(SHMEM_TEAM_WORLD, results, values, 8) == 0);
    require(results[3] == me.size * 3 + me.size * (me.size - 1) / 2);
    require(shmem_max_reduce(SHMEM_TEAM_WORLD, most, reals, 8) == 0);
    require(most[7] > 2.0 * me.size - 2.5);
    require(shmem_broadcast(SHMEM_TEAM_WORLD, results, values, 8, 0) == 0 && results[5] == 5);
    require(shmem_fcollect(SHMEM_TEAM_WORLD, results, values, 2) == 0);
    require(results[2 * me.size - 1] == me.size);
    require(shmem_alltoall(SHMEM_TEAM_WORLD, results, values, 1) == 0);
    require(results[me.size - 1] == me.size - 1 + me.rank);
    static unsigned int bits;
    static unsigned int all_bits;
    bits = 1U << me.rank;
    require(shmem_or_reduce(SHMEM_TEAM_WORLD, &all_bits, &bits, 1) == 0);
    require(all_bits == (1U << me.size) - 1);
    shmem_sync(0, 0, me.size, sync_array);
}

/* ---- Barriers ------------------------------------------------------------------------------- */

/* What was put before is there after, and no PE leaves before all have come. */
static void barriers_complete_and_hold(void)
{
    static long from_left[2];
    static long counter;
    long rounds = 300;
    counter = 0;
    shmem_barrier_all();
    for (long round = 1; round <= rounds; round++) {
        shmem_long_p(&from_left[round % 2], round * 100 + me.rank, (me.rank + 1) % me.size);
        shmem_long_atomic_add(&counter, 1, 0);
        switch (round % 3) {
        case 0: shmem_barrier_all(); break;
        case 1: shmem_barrier(0, 0, me.size, sync_array); break;
        default:
            shmem_quiet();
            shmem_sync_all();
            break;
        }
        require(from_left[round % 2] == round * 100 + (me.rank + me.size - 1) % me.size);
        require(shmem_long_atomic_fetch(&counter, 0) >= round * me.size);
        shmem_sync_all();
    }
}

/* ---- Active sets ---------------------------------------------------------------------------- */

static void set_of_data(int start, int log_stride, int size, int round)
{
    int mine = (me.rank - start) >> log_stride;
    size_t count = round % 4 == 0 ? 1 : round % 4 == 1 ? 30 : 700;
    int root = round % size;
    uint64_t *source = room(0, round, count * 8 * (size_t)size);
    uint64_t *dest = room(1, round, count * 8 * (size_t)size);
    memset(dest, 0x11, count * 8 * (size_t)size);
    fill(source, count * 8, me.rank, 0);
    shmem_broadcast64(dest, source, count, root, start, log_stride, size, sync_array);
    if (mine == root) {
        require(dest[0] == UINT64_C(0x1111111111111111));
    } else {
        expect_filled(dest, count * 8, start + (root << log_stride), 0, __LINE__);
    }
    shmem_broadcast32(dest, source, count, root, start, log_stride, size, sync_array);
    shmem_fcollect64(dest, source, count, start, log_stride, size, sync_array);
    for (int i = 0; i < size; i++) {
        expect_filled(dest + (size_t)i * count, count * 8, start + (i << log_stride), 0, __LINE__);
    }
    uint32_t *words = (uint32_t *)(void *)dest;
    shmem_fcollect32(words, source, count, start, log_stride, size, sync_array);
    expect_filled(words + count * (size_t)(size - 1), count * 4, start + ((size - 1) << log_stride),
                  0, __LINE__);
    shmem_collect64(dest, source, mine == 0 ? count : 1, start, log_stride, size, sync_array);
    expect_filled(dest, count * 8, start, 0, __LINE__);
    if (size > 1) {
        expect_filled(dest + count, 8, start + (1 << log_stride), 0, __LINE__);
    }
    shmem_collect32(words, source, (size_t)mine, start, log_stride, size, sync_array);
    if (size > 1) {
        expect_filled(words, 4, start + (1 << log_stride), 0, __LINE__);
    }
    for (int i = 0; i < size; i++) {
        fill(source + (size_t)i * count, count * 8, me.rank, start + (i << log_stride));
    }
    shmem_alltoall64(dest, source, count, start, log_stride, size, sync_array);
    for (int i = 0; i < size; i++) {
        expect_filled(dest + (size_t)i * count, count * 8, start + (i << log_stride), me.rank,
                      __LINE__);
    }
    memset(dest, 0x11, count * 8 * (size_t)size);
    shmem_alltoall32(dest, source, 2 * count, start, log_stride, size, sync_array);
    for (int i = 0; i < size; i++) {
        expect_filled(dest + (size_t)i * count, count * 8, start + (i << log_stride), me.rank,
                      __LINE__);
    }
    memset(dest, 0x11, count * 8 * (size_t)size);
    shmem_alltoalls64(dest, source, 1, 1, count, start, log_stride, size, sync_array);
    for (int i = 0; i < size; i++) {
        expect_filled(dest + (size_t)i * count, count * 8, start + (i << log_stride), me.rank,
                      __LINE__);
    }
    shmem_alltoalls32(dest, source, 1, 1, 2 * count, start, log_stride, size, sync_array);
}

#define CHECK_TO_ALL(NAME, TYPE, A, OPERATION)                                                  \
    static void to_all_##NAME##_##OPERATION(const int *triple, size_t count, int round)         \
    {                                                                                           \
        int members[64];                                                                        \
        TYPE *source = room(0, round, count * sizeof(TYPE));                                    \
        TYPE *dest = round % 3 == 0 ? source : room(1, round, count * sizeof(TYPE));            \
        for (int i = 0; i < triple[2]; i++) {                                                   \
            members[i] = triple[0] + (i << triple[1]);                                          \
        }                                                                                       \
        for (size_t i = 0; i < count; i++) {                                                    \
            source[i] = (TYPE)value_of(me.rank, i, strcmp(#OPERATION, "prod") == 0);            \
        }                                                                                       \
        shmem_##NAME##_##OPERATION##_to_all(dest, source, (int)count, triple[0], triple[1],     \
                                            triple[2], (TYPE *)(void *)sync_array, sync_array); \
        for (size_t i = 0; i < count; i++) {                                                    \
            require(dest[i] == (TYPE)combined(members, triple[2], i, #OPERATION));              \
        }                                                                                       \
    }

#define EACH_TO_ALL(X, A)                    \
    SHMEM_TO_ALL_BITWISE_TYPES(X, A, and)    \
    SHMEM_TO_ALL_BITWISE_TYPES(X, A, or)     \
    SHMEM_TO_ALL_BITWISE_TYPES(X, A, xor)    \
    SHMEM_TO_ALL_MINMAX_TYPES(X, A, min)     \
    SHMEM_TO_ALL_MINMAX_TYPES(X, A, max)     \
    SHMEM_TO_ALL_ARITHMETIC_TYPES(X, A, sum) \
    SHMEM_TO_ALL_ARITHMETIC_TYPES(X, A, prod)

EACH_TO_ALL(CHECK_TO_ALL, )

#define CALL_TO_ALL(NAME, TYPE, COUNT, OPERATION) \
    to_all_##NAME##_##OPERATION(triple, (COUNT), round++);

/* Every set of every stride, on odd PEs in another order where sets are disjoint. */
static void active_sets_of_all_strides(void)
{
    int round = 0;
    for (int log_stride = 0; 1 << log_stride <= me.size; log_stride++) {
        for (int size = 1; (size - 1) << log_stride < me.size; size++) {
            for (int start = 0; start + ((size - 1) << log_stride) < me.size; start++) {
                int distance = me.rank - start;
                bool is_member = distance >= 0 && distance % (1 << log_stride) == 0 &&
                                 distance >> log_stride < size;
                round++;
                if (is_member) {
                    int triple[3] = {start, log_stride, size};
                    set_of_data(start, log_stride, size, round);
                    to_all_long_sum(triple, 3, round);
                    shmem_barrier(start, log_stride, size, sync_array);
                    (shmem_sync)(start, log_stride, size, sync_array);
                }
            }
        }
    }
    for (size_t i = 0; i < sizeof sync_array / sizeof sync_array[0]; i++) {
        require(sync_array[i] == SHMEM_SYNC_VALUE);
    }
}

static void active_set_reductions_of_all_types(void)
{
    int triple[3] = {me.rank % 2, 1, (me.size - me.rank % 2 + 1) / 2};
    int round = 0;
    EACH_TO_ALL(CALL_TO_ALL, 1)
    EACH_TO_ALL(CALL_TO_ALL, 9)
    triple[0] = 0;
    triple[1] = 0;
    triple[2] = me.size;
    EACH_TO_ALL(CALL_TO_ALL, 1)
    EACH_TO_ALL(CALL_TO_ALL, 900)
}

/* Threads use different sets and teams for the first time, in another order on each PE: the triple
 * decides which ones meet. */
struct duty {
    int number;
    shmem_team_t team;
};

static void *use_own_set(void *argument)
{
    const struct duty *duty = argument;
    static long sums[8];
    static long ones[8];
    bool is_set = duty->team == SHMEM_TEAM_INVALID;
    int members = is_set ? me.size : shmem_team_n_pes(duty->team);
    /* Equal members, other triples: a set of all that ends nowhere else. */
    usleep((useconds_t)(live_mix((uint64_t)(me.rank * 8 + duty->number)) % 2000));
    for (int round = 0; round < 200; round++) {
        ones[duty->number] = duty->number + round;
        if (!is_set) {
            shmem_long_sum_reduce(duty->team, &sums[duty->number], &ones[duty->number], 1);
        } else {
            shmem_long_sum_to_all(&sums[duty->number], &ones[duty->number], 1, 0, 0, me.size,
                                  sync_array, sync_array);
        }
        require(sums[duty->number] == (duty->number + round) * (long)members);
    }
    return NULL;
}

static void threads_with_sets_of_their_own(void)
{
    int provided;
    shmem_query_thread(&provided);
    if (provided != SHMEM_THREAD_MULTIPLE) {
        return;
    }
    pthread_t threads[4];
    struct duty duties[4];
    for (int i = 0; i < 4; i++) {
        duties[i] = (struct duty){i, i == 3 ? SHMEM_TEAM_INVALID : teams[i]};
        require(pthread_create(&threads[i], NULL, use_own_set, &duties[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        require(pthread_join(threads[i], NULL) == 0);
    }
}

/* ---- Mistakes, each a run of its own -------------------------------------------------------- */

static int run_mistake(const char *mistake)
{
    static long word[16];
    long private_word = 1;
    shmem_team_t none = SHMEM_TEAM_INVALID;
    if (strcmp(mistake, "another-call") == 0 && me.rank == 0) {
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, word, word, 1);
    } else if (strcmp(mistake, "another-call") == 0) {
        shmem_fcollectmem(SHMEM_TEAM_WORLD, word, word + 8, 1);
    } else if (strcmp(mistake, "other-numbers") == 0) {
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, word, word, me.rank == 0 ? 1 : 2);
    } else if (strcmp(mistake, "private") == 0) {
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, word, &private_word, 1);
    } else if (strcmp(mistake, "overlap") == 0) {
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, word, word + 1, 4);
    } else if (strcmp(mistake, "no-team") == 0) {
        shmem_team_sync(none);
    } else if (strcmp(mistake, "root") == 0) {
        shmem_broadcastmem(SHMEM_TEAM_WORLD, word, word, 8, me.size);
    } else if (strcmp(mistake, "no-set") == 0) {
        shmem_barrier(0, 0, me.size + 1, sync_array);
    } else if (strcmp(mistake, "not-in-set") == 0) {
        shmem_barrier(0, 0, me.size - 1, sync_array); /* returns at once at the last PE */
        shmem_barrier_all();
    } else if (strcmp(mistake, "predefined") == 0) {
        shmem_team_destroy(SHMEM_TEAM_WORLD);
    } else if (strcmp(mistake, "dies") == 0) {
        if (me.rank == me.size - 1) {
            abort();
        }
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word, word, 1);
    } else if (strcmp(mistake, "part-of-the-team") == 0 && me.rank == 0) {
        spec_come_late();
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, predefined_teams),
        LIVE_CHECK(1, strided_teams),
        LIVE_CHECK(1, wrong_triples_are_refused_on_all),
        LIVE_CHECK(1, teams_of_teams),
        LIVE_CHECK(1, teams_of_two_dimensions),
        LIVE_CHECK(1, data_of_all_types),
        LIVE_CHECK(1, data_of_all_sizes),
        LIVE_CHECK(1, reductions_of_all_types),
        LIVE_CHECK(1, long_reductions),
        LIVE_CHECK(1, generic_names),
        LIVE_CHECK(1, barriers_complete_and_hold),
        LIVE_CHECK(1, active_sets_of_all_strides),
        LIVE_CHECK(1, active_set_reductions_of_all_types),
        LIVE_CHECK(1, threads_with_sets_of_their_own),
    };
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    spec_begin();
    if (argc > 2 && strcmp(argv[1], "--mistake") == 0) {
        return run_mistake(argv[2]);
    }
    heap_room[0] = shmem_malloc(ROOM_BYTES);
    heap_room[1] = shmem_malloc(ROOM_BYTES);
    require(heap_room[0] != NULL && heap_room[1] != NULL);
    make_teams();
    for (size_t i = 0; i < LIVE_COUNT(checks); i++) {
        if (argc < 2 || strcmp(argv[1], checks[i].name) == 0) {
            spec_run(&checks[i]);
        }
    }
    me.check = "end";
    shmem_team_destroy(teams[2]);
    shmem_team_destroy(teams[3]);
    shmem_finalize();
    return 0;
}
