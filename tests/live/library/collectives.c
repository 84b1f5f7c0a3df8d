/* Prefixes, own operators, all-to-all and varying numbers of bytes, against the same computed by
 * one node alone. With --storm, it also runs in groups whose members are killed. */
#include <complex.h>
#include <signal.h>

#include "live/room.h"

static struct dn_team *all;

/* Each node uses another kind of memory, and all kinds in turn. */
static unsigned char *some_source(int round)
{
    return room.at[(me.rank + round) % PLACES];
}

static unsigned char *some_result(int round)
{
    return room.at[(me.rank * 2 + round / PLACES) % PLACES] + room.bytes;
}

/* ---- Prefixes -------------------------------------------------------------------------- */

/* Powers of different sizes, so that another order of adding gives other bits. */
static double summand(int rank, size_t i, uint64_t salt)
{
    uint64_t word = live_mix(salt + i * 1009 + (uint64_t)rank * 7919);
    return (double)(int64_t)word / (double)(UINT64_C(1) << word % 41);
}

/* What member `rank` gets; the first one has no exclusive prefix. */
static double prefix(int rank, size_t i, uint64_t salt, enum dn_scan_kind kind)
{
    double total = summand(0, i, salt);
    for (int summed = 1; summed < rank + (kind == DN_INCLUSIVE); summed++) {
        total += summand(summed, i, salt);
    }
    return total;
}

static void scan_once(size_t count, enum dn_scan_kind kind, bool in_place, int round)
{
    uint64_t salt = me.seed + (uint64_t)round;
    double *source = (double *)(void *)some_source(round);
    double *result = in_place ? source : (double *)(void *)some_result(round);
    bool untouched = kind == DN_EXCLUSIVE && me.rank == 0;
    result[count] = 4711;
    for (size_t i = 0; i < count; i++) {
        result[i] = 3;
        source[i] = summand(me.rank, i, salt);
    }
    expect(dn_scan(all, source, result, count, DN_DOUBLE, DN_SUM, kind), 0);
    require(result[count] == 4711);
    size_t step = count > 1000 ? count / 500 : 1;
    for (size_t i = 0; i < count; i += step) {
        double wanted = untouched ? in_place ? summand(0, i, salt) : 3
                                  : prefix(me.rank, i, salt, kind);
        require_else(result[i] == wanted, "element %zu of %zu: %g, not %g", i, count, result[i],
                     wanted);
    }
    /* No peer may still read or write here. */
    memset(source, 0xee, count * sizeof *source);
    memset(result, 0xee, count * sizeof *result);
}

static void prefixes_of_all_sizes(void)
{
    static const size_t counts[] = {0,     1,     2,     511,   512,   513,    4000,
                                    32767, 32768, 32769, 65536, 80000, 200000, 7};
    make_room(200001 * sizeof(double));
    for (int round = 0; round < 2 * PLACES * PLACES; round++) {
        for (size_t i = 0; i < LIVE_COUNT(counts); i++) {
            /* The long ones only in some of the mixtures. */
            if (counts[i] < 5000 || round % 7 == (int)i % 7) {
                enum dn_scan_kind kind = (round + (int)i) % 2 ? DN_INCLUSIVE : DN_EXCLUSIVE;
                scan_once(counts[i], kind, (round + (int)i) % 3 == 0, round);
            }
        }
    }
    free_room();
}

/* All data lies in memory of the group: one chunk, whatever its length. */
static void prefixes_in_place(void)
{
    make_room(100001 * sizeof(double));
    for (int kind = DN_INCLUSIVE; kind <= DN_EXCLUSIVE; kind++) {
        uint64_t *words = (uint64_t *)(void *)room.at[HEAP];
        for (size_t i = 0; i < 100000; i++) {
            words[i] = i + (uint64_t)me.rank;
        }
        expect(dn_scan(all, words, words, 100000, DN_UINT64, DN_MAX, (enum dn_scan_kind)kind), 0);
        int last = kind == DN_INCLUSIVE || me.rank == 0 ? me.rank : me.rank - 1;
        for (size_t i = 0; i < 100000; i++) {
            require(words[i] == i + (uint64_t)last);
        }
    }
    free_room();
}

/* ---- Operators of one's own ---------------------------------------------------------------- */

/* A linear map x -> factor x + offset. Composition is associative, and the order matters. The
 * context counts. */
struct map {
    uint64_t factor;
    uint64_t offset;
    uint64_t note; /* three words: no power of two */
};

static void follow(void *result, const void *operand, size_t count, void *context)
{
    struct map *first = result;
    const struct map *then = operand;
    *(size_t *)context += count;
    for (size_t i = 0; i < count; i++) {
        first[i].offset = then[i].factor * first[i].offset + then[i].offset;
        first[i].factor *= then[i].factor;
        first[i].note ^= then[i].note;
    }
}

static struct map map_of(int rank, size_t i, uint64_t salt)
{
    uint64_t word = live_mix(salt + i * 31 + (uint64_t)rank);
    return (struct map){word | 1, word >> 7, word * 3};
}

static void expect_map(struct map found, int members, size_t i, uint64_t salt)
{
    size_t calls = 0;
    struct map wanted = map_of(0, i, salt);
    for (int rank = 1; rank < members; rank++) {
        struct map next = map_of(rank, i, salt);
        follow(&wanted, &next, 1, &calls);
    }
    require_else(memcmp(&found, &wanted, sizeof wanted) == 0, "element %zu of %d members", i,
                 members);
}

static void own_operators_in_team_order(void)
{
    static const size_t counts[] = {1, 2, 170, 171, 1000, 11000, 30000};
    make_room(30000 * sizeof(struct map));
    for (size_t i = 0; i < LIVE_COUNT(counts); i++) {
        for (int round = 0; round < 4; round++) {
            size_t called = 0;
            struct dn_operator with = {follow, &called, sizeof(struct map)};
            uint64_t salt = me.seed + i * 8 + (uint64_t)round;
            struct map *source = (struct map *)(void *)some_source(round);
            struct map *result = (struct map *)(void *)some_result(round);
            for (size_t j = 0; j < counts[i]; j++) {
                source[j] = map_of(me.rank, j, salt);
            }
            if (round % 2 == 0) {
                expect(dn_allreduce_with(all, source, result, counts[i], &with), 0);
            } else {
                expect(dn_scan_with(all, source, result, counts[i], &with, DN_INCLUSIVE), 0);
            }
            int members = round % 2 == 0 ? me.size : me.rank + 1;
            size_t step = counts[i] > 1000 ? 97 : 1;
            for (size_t j = 0; j < counts[i]; j += step) {
                expect_map(result[j], members, j, salt);
            }
            require(me.size == 1 || me.rank == 0 || called > 0);
        }
    }
    free_room();
}

/* Elements as large as they may be, and of one byte. */
static void add_blocks(void *result, const void *operand, size_t count, void *context)
{
    size_t bytes = *(size_t *)context * count;
    for (size_t i = 0; i < bytes; i++) {
        ((unsigned char *)result)[i] += ((const unsigned char *)operand)[i];
    }
}

static void elements_of_any_size(void)
{
    static const size_t sizes[] = {1, 3, 8, 9, 63, 65, 4096, 4097, 8192};
    static const size_t counts[] = {0, 1, 2, 70, 200};
    make_room(8192 * 200);
    for (size_t i = 0; i < LIVE_COUNT(sizes) * LIVE_COUNT(counts); i++) {
        size_t element = sizes[i / LIVE_COUNT(counts)];
        size_t count = counts[i % LIVE_COUNT(counts)];
        struct dn_operator with = {add_blocks, &element, element};
        unsigned char *source = some_source((int)i);
        unsigned char *result = some_result((int)i);
        memset(source, me.rank + 1, element * count);
        memset(result, 0x55, element * count + 16);
        expect(dn_allreduce_with(all, source, result, count, &with), 0);
        require(
            live_all_are(result, element * count, (unsigned char)(me.size * (me.size + 1) / 2)));
        require(live_all_are(result + element * count, 16, 0x55));
        expect(dn_scan_with(all, source, result, count, &with, DN_EXCLUSIVE), 0);
        unsigned char before = (unsigned char)(me.rank * (me.rank + 1) / 2);
        require(me.rank == 0 || live_all_are(result, element * count, before));
    }
    free_room();
}

/* ---- Types beyond words --------------------------------------------------------------------- */

#define CHECK_TYPE(type, number, one, combined, operation)                           \
    for (size_t count = 1; count < 40000; count = count * 6 + 1) {                   \
        type *values = (type *)(void *)some_source((int)count);                      \
        type *results = (type *)(void *)some_result((int)count);                     \
        for (size_t i = 0; i < count; i++) {                                         \
            int rank = me.rank;                                                      \
            values[i] = (one);                                                       \
        }                                                                            \
        expect(dn_allreduce(all, values, results, count, (number), (operation)), 0); \
        for (size_t i = 0; i < count; i++) {                                         \
            int rank = 0;                                                            \
            type wanted = (one);                                                     \
            for (rank = 1; rank < me.size; rank++) {                                 \
                type left = wanted;                                                  \
                type right = (one);                                                  \
                wanted = (combined);                                                 \
            }                                                                        \
            require_else(results[i] == wanted, "element %zu of %zu", i, count);      \
        }                                                                            \
    }

static void long_doubles_and_complex_numbers(void)
{
    make_room(50000 * sizeof(long double));
#define REAL ((long double)live_mix((uint64_t)rank * 77 + i) / 3)
    CHECK_TYPE(long double, DN_LONG_DOUBLE, REAL, left + right, DN_SUM)
    CHECK_TYPE(long double, DN_LONG_DOUBLE, REAL / 1e19L, left * right, DN_PRODUCT)
    CHECK_TYPE(long double, DN_LONG_DOUBLE, REAL, right > left ? right : left, DN_MAX)
    CHECK_TYPE(long double, DN_LONG_DOUBLE, REAL, right < left ? right : left, DN_MIN)
#define COMPLEX ((double)(rank + 1) + (double)(i % 5) * (double _Complex)I)
    CHECK_TYPE(double _Complex, DN_DOUBLE_COMPLEX, COMPLEX, left + right, DN_SUM)
    CHECK_TYPE(double _Complex, DN_DOUBLE_COMPLEX, COMPLEX, left *right, DN_PRODUCT)
    CHECK_TYPE(float _Complex, DN_FLOAT_COMPLEX, (float _Complex)COMPLEX, left + right, DN_SUM)
    CHECK_TYPE(float _Complex, DN_FLOAT_COMPLEX, (float _Complex)COMPLEX, left *right, DN_PRODUCT)
    free_room();
    double _Complex one = 1;
    expect(dn_allreduce(all, &one, &one, 1, DN_DOUBLE_COMPLEX, DN_MAX), DN_EINVAL);
    expect(dn_allreduce(all, &one, &one, 1, DN_FLOAT_COMPLEX, DN_AND), DN_EINVAL);
    expect(dn_allreduce(all, &one, &one, 1, DN_LONG_DOUBLE, DN_XOR), DN_EINVAL);
}

/* ---- Each to each --------------------------------------------------------------------------- */

static const size_t block_bytes[] = {0, 1, 8, 100, 511, 4096, 30001, 262144, 300007};

/* What one node has for another. */
static uint64_t salt_of(int from, int to, size_t i)
{
    return me.seed + i * 100003 + (uint64_t)from * 1009 + (uint64_t)to;
}

static void everybody_sends_to_everybody(void)
{
    size_t size = (size_t)me.size;
    make_room(block_bytes[LIVE_COUNT(block_bytes) - 1] * size + 64);
    for (size_t i = 0; i < LIVE_COUNT(block_bytes); i++) {
        for (int round = 0; round < PLACES; round++) {
            size_t bytes = block_bytes[i];
            unsigned char *source = some_source(round);
            unsigned char *result = some_result(round + (int)i * PLACES);
            for (int to = 0; to < me.size; to++) {
                live_fill(source + (size_t)to * bytes, bytes, salt_of(me.rank, to, i));
            }
            memset(result, 0x66, bytes * size + 32);
            expect(dn_alltoall(all, source, result, bytes), 0);
            memset(source, 0xdd, bytes * size);
            for (int from = 0; from < me.size; from++) {
                size_t other = live_first_other(result + (size_t)from * bytes, bytes,
                                                salt_of(from, me.rank, i));
                require_else(other == bytes, "node %d's byte %zu of %zu", from, other, bytes);
            }
            require(live_all_are(result + bytes * size, 32, 0x66));
        }
    }
    free_room();
}

/* All data lies in memory of the group, and is read there. */
static void everybody_sends_in_place(void)
{
    size_t bytes = 500000;
    make_room(bytes * (size_t)me.size);
    for (int to = 0; to < me.size; to++) {
        live_fill(room.at[HEAP] + (size_t)to * bytes, bytes, salt_of(me.rank, to, 9));
    }
    expect(dn_alltoall(all, room.at[HEAP], room.at[BANK], bytes), 0);
    memset(room.at[HEAP], 0, bytes * (size_t)me.size);
    for (int from = 0; from < me.size; from++) {
        require(live_first_other(room.at[BANK] + (size_t)from * bytes, bytes,
                                 salt_of(from, me.rank, 9)) == bytes);
    }
    free_room();
}

/* How many bytes one node has for another in a round: mostly few, sometimes many. */
static size_t size_of(int from, int to, int round)
{
    uint64_t word = live_mix(me.seed + (uint64_t)round * 4093 + (uint64_t)(from * 64 + to));
    size_t limit = round % 4 == 0 ? 64 : round % 4 == 1 ? 3000 : round % 4 == 2 ? 60000 : 700000;
    return word % 5 == 0   ? 0
           : word % 7 == 0 ? (size_t)(word >> 8) % 10
                           : (size_t)(word >> 8) % limit;
}

static void varying_sizes_to_everybody(void)
{
    size_t sizes[64];
    size_t received[64];
    make_room(700000 * (size_t)me.size + 64);
    for (int round = 0; round < 24; round++) {
        unsigned char *source = some_source(round);
        unsigned char *result = some_result(round);
        size_t at = 0;
        size_t total = 0;
        for (int to = 0; to < me.size; to++) {
            sizes[to] = size_of(me.rank, to, round);
            live_fill(source + at, sizes[to], salt_of(me.rank, to, (size_t)round));
            at += sizes[to];
            total += size_of(to, me.rank, round);
        }
        memset(result + total, 0x66, 32);
        bool narrow = total > 0 && round % 5 == me.rank % 5;
        int wanted = narrow ? DN_ETOOLONG : 0;
        expect(dn_alltoallv(all, source, sizes, result, total - narrow, received), wanted);
        memset(source, 0xdd, at);
        at = 0;
        for (int from = 0; from < me.size && !narrow; from++) {
            size_t bytes = size_of(from, me.rank, round);
            require(received[from] == bytes);
            size_t other = live_first_other(result + at, bytes,
                                            salt_of(from, me.rank, (size_t)round));
            require_else(other == bytes, "node %d's byte %zu of %zu", from, other, bytes);
            at += bytes;
        }
        require(live_all_are(result + total, 32, 0x66));
    }
    free_room();
}

static void gathers_varying_sizes(void)
{
    size_t sizes[64];
    make_room(700000 * (size_t)me.size + 64);
    for (int round = 0; round < 24; round++) {
        unsigned char *source = some_source(round);
        unsigned char *result = some_result(round);
        size_t mine = size_of(me.rank, 0, round);
        size_t total = 0;
        for (int from = 0; from < me.size; from++) {
            total += size_of(from, 0, round);
        }
        live_fill(source, mine, salt_of(me.rank, 0, (size_t)round));
        memset(result, 0x66, total + 32);
        bool narrow = total > 0 && round % 5 == me.rank % 5;
        int wanted = narrow ? DN_ETOOLONG : 0;
        expect(dn_allgatherv(all, source, mine, result, total - narrow, round % 2 ? sizes : NULL),
               wanted);
        memset(source, 0xdd, mine);
        require(!narrow || live_all_are(result, total + 32, 0x66));
        size_t at = 0;
        for (int from = 0; from < me.size && !narrow; from++) {
            size_t bytes = size_of(from, 0, round);
            require(round % 2 == 0 || sizes[from] == bytes);
            require(live_first_other(result + at, bytes, salt_of(from, 0, (size_t)round)) == bytes);
            at += bytes;
        }
        require(live_all_are(result + total, 32, 0x66));
    }
    free_room();
}

/* Nodes are out of step as far as they can be, with calls of all kinds. */
static void calls_follow_each_other_closely(void)
{
    uint64_t random = me.seed * 9 + (uint64_t)me.rank;
    uint64_t words[64];
    uint64_t results[64];
    size_t sizes[64];
    size_t received[64];
    for (uint64_t i = 0; i < 1500; i++) {
        for (int to = 0; to < me.size; to++) {
            words[to] = i << 20 | (uint64_t)me.rank << 10 | (uint64_t)to;
            sizes[to] = sizeof *words;
        }
        if (i % 2) {
            expect(dn_alltoall(all, words, results, sizeof *words), 0);
        } else {
            expect(dn_alltoallv(all, words, sizes, results, sizeof results, received), 0);
        }
        for (int from = 0; from < me.size; from++) {
            require(results[from] == (i << 20 | (uint64_t)from << 10 | (uint64_t)me.rank));
        }
        uint64_t before = 0;
        uint64_t one = i;
        expect(dn_scan(all, &one, &before, 1, DN_UINT64, DN_SUM, DN_EXCLUSIVE), 0);
        require(before == i * (uint64_t)me.rank);
        expect(dn_allgatherv(all, words, i % 3 * 8, results, sizeof results, NULL), 0);
        require(i % 3 == 0 || results[i % 3 * ((uint64_t)me.size - 1)] >> 10 ==
                                  (i << 10 | (uint64_t)(me.size - 1)));
        if (live_random(&random, 200) == 0) {
            live_sleep_ns(300 * LIVE_US);
        }
    }
}

/* Parts of the group, each at its own pace. */
static void teams_of_some(void)
{
    struct dn_team *part;
    expect(dn_team_split(all, me.rank % 2, -me.rank, &part), 0);
    int rank = dn_team_rank(part);
    int size = dn_team_size(part);
    for (int round = 0; round < 50 * (me.rank % 2 + 1); round++) {
        uint64_t mine = (uint64_t)me.rank + 1;
        uint64_t sum = 0;
        uint64_t wanted = 0;
        uint64_t ranks[64];
        for (int i = 0; i <= rank; i++) {
            wanted += (uint64_t)dn_team_node_rank(part, i) + 1;
        }
        expect(dn_scan(part, &mine, &sum, 1, DN_UINT64, DN_SUM, DN_INCLUSIVE), 0);
        require(sum == wanted);
        expect(dn_allgatherv(part, &mine, sizeof mine, ranks, sizeof ranks, NULL), 0);
        for (int i = 0; i < size; i++) {
            require(ranks[i] == (uint64_t)dn_team_node_rank(part, i) + 1);
        }
    }
    expect(dn_team_free(part), 0);
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static void add_words(void *result, const void *operand, size_t count, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        ((uint64_t *)result)[i] += ((const uint64_t *)operand)[i];
    }
}

static void differing_calls_are_told_to_all(void)
{
    static uint64_t words[100000];
    static uint64_t result[100000];
    struct dn_operator with = {add_words, NULL, 8};
    bool odd = me.rank == me.size - 1;
    size_t sizes[64] = {0};
    memset(result, 0x22, sizeof result);
    expect(dn_alltoall(all, words, result, odd ? 8 : 16), DN_EMISMATCH);
    expect(dn_alltoall(all, words, result, odd ? 8 : 10000), DN_EMISMATCH);
    expect(dn_scan(all, words, result, 5, DN_UINT64, DN_SUM, odd ? DN_INCLUSIVE : DN_EXCLUSIVE),
           DN_EMISMATCH);
    expect(dn_scan(all, words, result, odd ? 5 : 60000, DN_UINT64, DN_SUM, DN_INCLUSIVE),
           DN_EMISMATCH);
    with.element_bytes = odd ? 8 : 16;
    expect(dn_allreduce_with(all, words, result, 5, &with), DN_EMISMATCH);
    if (odd) {
        expect(dn_allgatherv(all, words, 8, result, sizeof result, NULL), DN_EMISMATCH);
        expect(dn_allreduce(all, words, result, 5, DN_UINT64, DN_SUM), DN_EMISMATCH);
    } else {
        expect(dn_alltoallv(all, words, sizes, result, sizeof result, NULL), DN_EMISMATCH);
        expect(dn_scan(all, words, result, 5, DN_UINT64, DN_SUM, DN_INCLUSIVE), DN_EMISMATCH);
    }
    require(live_all_are(result, sizeof result, 0x22));
    live_barrier();
}

/* One member's mistake is its own; the others hear of it and do not wait. */
static void a_refused_member_keeps_nobody_waiting(void)
{
    bool wrong = me.rank == 0;
    int others = me.size == 1 ? 0 : DN_EMISMATCH;
    uint64_t words[64] = {0};
    uint64_t result[64];
    size_t sizes[64] = {0};
    struct dn_operator with = {wrong ? NULL : add_words, NULL, 8};
    expect(dn_alltoall(all, wrong ? NULL : words, result, 8), wrong ? DN_EINVAL : others);
    expect(dn_alltoallv(all, words, wrong ? NULL : sizes, result, 512, NULL),
           wrong ? DN_EINVAL : others);
    expect(dn_allgatherv(all, wrong ? NULL : words, 8, result, 512, NULL),
           wrong ? DN_EINVAL : others);
    expect(dn_scan(all, words, wrong ? NULL : result, 1, DN_UINT64, DN_SUM, DN_INCLUSIVE),
           wrong ? DN_EINVAL : others);
    expect(dn_allreduce_with(all, words, result, 1, &with), wrong ? DN_EINVAL : others);
    expect(dn_scan_with(all, words, result, 1, wrong ? NULL : &with, DN_INCLUSIVE),
           wrong ? DN_EINVAL : others);
    live_barrier();
}

static void mistakes_have_names(void)
{
    uint64_t word = 7;
    size_t sizes[64] = {SIZE_MAX, SIZE_MAX};
    struct dn_operator with = {add_words, NULL, 0};
    expect(dn_alltoall(NULL, &word, &word, 8), DN_EINVAL);
    expect(dn_alltoall(all, &word, NULL, 8), DN_EINVAL);
    expect(dn_alltoall(all, &word, &word, SIZE_MAX), DN_EINVAL);
    expect(dn_alltoallv(all, &word, sizes, &word, 8, NULL), DN_EINVAL);
    expect(dn_allgatherv(all, &word, SIZE_MAX, &word, 8, NULL), DN_EINVAL);
    expect(dn_allgatherv(all, &word, 8, NULL, 8, NULL), DN_EINVAL);
    expect(dn_allreduce_with(all, &word, &word, 1, &with), DN_EINVAL);
    with.element_bytes = 8193;
    expect(dn_allreduce_with(all, &word, &word, 1, &with), DN_EINVAL);
    with.element_bytes = 8;
    expect(dn_allreduce_with(all, &word, &word, (size_t)1 << 40, &with), DN_EINVAL);
    expect(dn_scan_with(all, &word, &word, 1, &with, (enum dn_scan_kind)2), DN_EINVAL);
    expect(dn_scan(all, &word, &word, 1, (enum dn_type)99, DN_SUM, DN_INCLUSIVE), DN_EINVAL);
    require(word == 7);
}

/* ---- Deaths --------------------------------------------------------------------------------- */

/* One call of those that this file is about, small or large, the same on all members. */
static int call_one(struct dn_team *team, uint64_t *random, uint64_t *work, uint64_t *result)
{
    size_t members = (size_t)dn_team_size(team);
    size_t words = live_random(random, 3) ? live_random(random, 30) + 1 : 40000;
    size_t sizes[64];
    uint64_t kind = live_random(random, 5);
    struct dn_operator with = {add_words, NULL, 8};
    for (size_t i = 0; i < members; i++) {
        sizes[i] = words * 8;
    }
    switch (kind) {
    case 0: return dn_alltoall(team, work, result, words * 8);
    case 1: return dn_alltoallv(team, work, sizes, result, members * words * 8, NULL);
    case 2: return dn_allgatherv(team, work, words * 8, result, members * words * 8, NULL);
    case 3: return dn_scan(team, work, result, words, DN_UINT64, DN_SUM, DN_INCLUSIVE);
    default: return dn_allreduce_with(team, work, result, words, &with);
    }
}

/* The team has broken at all survivors in the same call, whose number they compare. If another
 * member dies meanwhile, they compare once more without it. */
static struct dn_team *go_on_without_the_dead(struct dn_team *team, uint64_t calls)
{
    for (;;) {
        struct dn_team *survivors;
        uint64_t least = 0;
        uint64_t most = 0;
        expect(dn_team_shrink(team, &survivors), 0);
        int error = dn_allreduce(survivors, &calls, &least, 1, DN_UINT64, DN_MIN);
        error = error ? error : dn_allreduce(survivors, &calls, &most, 1, DN_UINT64, DN_MAX);
        if (!error) {
            require_else(least == most, "survivors heard of it in calls %llu to %llu",
                         (unsigned long long)least, (unsigned long long)most);
            return survivors;
        }
        expect(error, DN_EPEER);
        team = survivors;
    }
}

/* The named nodes die somewhere in a row of calls; all others hear of it in the same call and go on
 * as a smaller team. */
static int run_storm(int argc, char **argv)
{
    uint64_t random = me.seed;
    uint64_t dying = me.seed * 77 + (uint64_t)me.rank;
    struct dn_team *team = all;
    uint64_t *work = calloc(2 * 40000 * (size_t)me.size, sizeof *work);
    uint64_t *result = work + 40000 * (size_t)me.size;
    require(work != NULL);
    for (int i = 2; i < argc; i++) {
        if (atoi(argv[i]) == me.rank) {
            live_die_in(live_random(&dying, 20 * LIVE_MS) + 1);
        }
    }
    uint64_t end_ns = live_now_ns() + 60 * LIVE_MS;
    uint64_t ending = 0;
    for (uint64_t calls = 0; !ending; calls++) {
        int error = call_one(team, &random, work, result);
        uint64_t over = live_now_ns() > end_ns;
        error = error ? error : dn_allreduce(team, &over, &ending, 1, DN_UINT64, DN_MIN);
        if (error) {
            expect(error, DN_EPEER);
            expect(dn_alltoall(team, work, result, 8), DN_EPEER);
            expect(dn_scan(team, work, result, 9, DN_INT8, DN_SUM, DN_EXCLUSIVE), DN_EPEER);
            team = go_on_without_the_dead(team, calls);
            random = me.seed + (uint64_t)dn_team_size(team);
            ending = 0;
        }
    }
    (void)dprintf(STDOUT_FILENO, "ok survivor %d\n", me.rank);
    return dn_detach(me.node) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, prefixes_of_all_sizes),
        LIVE_CHECK(1, prefixes_in_place),
        LIVE_CHECK(1, own_operators_in_team_order),
        LIVE_CHECK(1, elements_of_any_size),
        LIVE_CHECK(1, long_doubles_and_complex_numbers),
        LIVE_CHECK(1, everybody_sends_to_everybody),
        LIVE_CHECK(1, everybody_sends_in_place),
        LIVE_CHECK(1, varying_sizes_to_everybody),
        LIVE_CHECK(1, gathers_varying_sizes),
        LIVE_CHECK(1, calls_follow_each_other_closely),
        LIVE_CHECK(2, teams_of_some),
        LIVE_CHECK(2, differing_calls_are_told_to_all),
        LIVE_CHECK(1, a_refused_member_keeps_nobody_waiting),
        LIVE_CHECK(1, mistakes_have_names),
    };
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    live_attach();
    all = dn_team_all(me.node);
    if (argc >= 2 && strcmp(argv[1], "--storm") == 0) {
        me.check = argv[1];
        return run_storm(argc, argv);
    }
    live_run_all(argc, argv, checks, LIVE_COUNT(checks));
    live_detach();
    return 0;
}
