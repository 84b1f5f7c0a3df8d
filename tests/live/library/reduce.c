/* Reductions, broadcast and gathering against the same computed by one node alone. */
#include "live/room.h"

static struct dn_team *all;

static const size_t type_bytes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

static bool makes_sense(unsigned type, unsigned reduction)
{
    return type < DN_FLOAT || reduction <= DN_MAX;
}

/* ---- What is expected --------------------------------------------------------------- */

/* Element i of a node's source, as a number of this type. Floating-point ones have very different
 * sizes, so that another order of adding gives another sum. */
static void make_element(void *target, unsigned type, int rank, size_t i, uint64_t salt)
{
    uint64_t word = live_mix(salt + i * 1009 + (uint64_t)rank * 7919);
    if (type == DN_DOUBLE) {
        double value = (double)(int64_t)word / (double)(UINT64_C(1) << word % 41);
        memcpy(target, &value, sizeof value);
    } else if (type == DN_FLOAT) {
        float value = (float)((double)(int64_t)word / (double)(UINT64_C(1) << word % 19) / 1e17);
        memcpy(target, &value, sizeof value);
    } else {
        memcpy(target, &word, type_bytes[type]);
    }
}

#define SERIAL(name, type, wide)                                         \
    static void name(void *total, const void *next, unsigned reduction)  \
    {                                                                    \
        type left;                                                       \
        type right;                                                      \
        memcpy(&left, total, sizeof left);                               \
        memcpy(&right, next, sizeof right);                              \
        switch (reduction) {                                             \
        case DN_SUM: left = (type)((wide)left + (wide)right); break;     \
        case DN_PRODUCT: left = (type)((wide)left * (wide)right); break; \
        case DN_MIN: left = right < left ? right : left; break;          \
        case DN_MAX: left = right > left ? right : left; break;          \
        default: break;                                                  \
        }                                                                \
        memcpy(total, &left, sizeof left);                               \
    }

SERIAL(serial_i8, int8_t, uint32_t)
SERIAL(serial_i16, int16_t, uint32_t)
SERIAL(serial_i32, int32_t, uint32_t)
SERIAL(serial_i64, int64_t, uint64_t)
SERIAL(serial_u8, uint8_t, uint32_t)
SERIAL(serial_u16, uint16_t, uint32_t)
SERIAL(serial_u32, uint32_t, uint32_t)
SERIAL(serial_u64, uint64_t, uint64_t)
SERIAL(serial_f32, float, float)
SERIAL(serial_f64, double, double)

static void (*const serials[])(void *, const void *, unsigned) = {
    serial_i8,  serial_i16, serial_i32, serial_i64, serial_u8,
    serial_u16, serial_u32, serial_u64, serial_f32, serial_f64};

static void expected_element(void *target, unsigned type, unsigned reduction, size_t i,
                             uint64_t salt)
{
    unsigned char next[8];
    make_element(target, type, 0, i, salt);
    for (int rank = 1; rank < me.size; rank++) {
        make_element(next, type, rank, i, salt);
        if (reduction <= DN_MAX) {
            serials[type](target, next, reduction);
            continue;
        }
        for (size_t byte = 0; byte < type_bytes[type]; byte++) {
            unsigned char *to = (unsigned char *)target + byte;
            *to = (unsigned char)(reduction == DN_AND  ? *to & next[byte]
                                  : reduction == DN_OR ? *to | next[byte]
                                                       : *to ^ next[byte]);
        }
    }
}

static void fill(unsigned char *source, unsigned type, size_t count, uint64_t salt)
{
    for (size_t i = 0; i < count; i++) {
        make_element(source + i * type_bytes[type], type, me.rank, i, salt);
    }
}

/* Long results are checked in places: their ends, and a few hundred between. */
static void check_result(const unsigned char *result, unsigned type, unsigned reduction,
                         size_t count, uint64_t salt)
{
    size_t step = count > 1000 ? count / 500 + 1 : 1;
    for (size_t i = 0; i < count; i += i + step < count || i + 1 >= count ? step : count - 1 - i) {
        unsigned char wanted[8];
        expected_element(wanted, type, reduction, i, salt);
        require_else(memcmp(wanted, result + i * type_bytes[type], type_bytes[type]) == 0,
                     "type %u, operation %u, element %zu of %zu", type, reduction, i, count);
    }
}

static void reduce_once(unsigned type, unsigned reduction, size_t count, enum place from,
                        enum place to, bool in_place, uint64_t salt)
{
    unsigned char *source = room.at[from];
    unsigned char *result = in_place ? source : room.at[to] + room.bytes;
    unsigned char *behind = result + count * type_bytes[type];
    fill(source, type, count, salt);
    memset(behind, 0x77, 32);
    expect(dn_allreduce(all, source, result, count, type, reduction), 0);
    check_result(result, type, reduction, count, salt);
    require(live_all_are(behind, 32, 0x77));
    if (!in_place && count > 0) {
        unsigned char first[8];
        make_element(first, type, me.rank, 0, salt);
        require(memcmp(first, source, type_bytes[type]) == 0);
    }
    /* The source belongs to this node again at once: no peer may still read it. */
    memset(source, 0xee, count * type_bytes[type]);
}

/* ---- Allreduce ------------------------------------------------------------------------ */

static void all_types_and_operations(void)
{
    make_room(8 * 3000 + 64);
    static const size_t counts[] = {1, 2, 7, 64, 513, 1100, 3000};
    uint64_t salt = me.seed;
    for (unsigned type = DN_INT8; type <= DN_DOUBLE; type++) {
        for (unsigned reduction = DN_SUM; reduction <= DN_XOR; reduction++) {
            if (!makes_sense(type, reduction)) {
                continue;
            }
            for (size_t i = 0; i < LIVE_COUNT(counts); i++) {
                enum place place = (enum place)((type + reduction + i) % PLACES);
                reduce_once(type, reduction, counts[i], place, place, i % 2, ++salt);
            }
        }
    }
    free_room();
}

/* From one element to megabytes, around the sizes where the way changes. */
static void all_sizes(void)
{
    static const size_t bytes[] = {
        8,      4088,   4096,   4104,        65536,           262136,         262144,
        262152, 524288, 600000, 1024 * 1024, 3000000 / 8 * 8, 4 * 1024 * 1024};
    make_room(bytes[LIVE_COUNT(bytes) - 1] + 64);
    for (size_t i = 0; i < LIVE_COUNT(bytes); i++) {
        size_t count = bytes[i] / 8;
        reduce_once(DN_UINT64, DN_SUM, count, HEAP, HEAP, false, me.seed + i);
        reduce_once(DN_DOUBLE, DN_SUM, count, PRIVATE, PRIVATE, true, me.seed + i);
        reduce_once(DN_INT8, DN_MAX, count * 8, BANK, BANK, false, me.seed + i);
    }
    free_room();
}

/* Every node has its data in another kind of memory, in another mixture each time. */
static void memories_mixed_between_nodes(void)
{
    static const size_t bytes[] = {64, 4096, 5000 / 8 * 8, 100000 / 8 * 8, 262144, 700000 / 8 * 8};
    uint64_t random = me.seed * 5 + (uint64_t)me.rank; /* each node its own */
    make_room(bytes[LIVE_COUNT(bytes) - 1] + 64);
    for (int round = 0; round < 40; round++) {
        size_t count = bytes[(size_t)round % LIVE_COUNT(bytes)] / 8;
        enum place from = (enum place)live_random(&random, PLACES);
        enum place to = (enum place)live_random(&random, PLACES);
        bool in_place = live_random(&random, 2);
        reduce_once(DN_INT64, DN_SUM, count, from, to, in_place, me.seed + (uint64_t)round);
    }
    free_room();
}

/* Nodes are out of step as far as they can be, and results stay right. */
static void calls_follow_each_other_closely(void)
{
    uint64_t random = me.seed * 9 + (uint64_t)me.rank;
    uint64_t words[80];
    for (uint64_t i = 0; i < 2000; i++) {
        size_t count = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 80;
        for (size_t j = 0; j < count; j++) {
            words[j] = i * 100 + j + (uint64_t)me.rank;
        }
        expect(dn_allreduce(all, words, words, count, DN_UINT64, DN_MAX), 0);
        for (size_t j = 0; j < count; j++) {
            require(words[j] == i * 100 + j + (uint64_t)me.size - 1);
        }
        if (live_random(&random, 200) == 0) {
            live_sleep_ns(300 * LIVE_US);
        }
    }
}

static void nothing_is_a_barrier(void)
{
    uint64_t word = 5;
    expect(dn_allreduce(all, &word, &word, 0, DN_UINT64, DN_SUM), 0);
    expect(dn_allreduce(all, NULL, NULL, 0, DN_UINT64, DN_SUM), 0);
    expect(dn_broadcast(all, NULL, 0, 0), 0);
    expect(dn_allgather(all, NULL, NULL, 0), 0);
    require(word == 5);
}

/* The bits of floating-point sums are the same on all nodes. They are printed, so that two runs of
 * the group can be compared. */
static void floating_point_is_the_same_everywhere(void)
{
    static double values[40000];
    uint64_t digest = 0;
    static const size_t counts[] = {1, 100, 511, 512, 513, 40000};
    for (size_t i = 0; i < LIVE_COUNT(counts); i++) {
        fill((unsigned char *)values, DN_DOUBLE, counts[i], 4711);
        expect(dn_allreduce(all, values, values, counts[i], DN_DOUBLE, DN_SUM), 0);
        for (size_t j = 0; j < counts[i]; j++) {
            uint64_t bits;
            memcpy(&bits, &values[j], sizeof bits);
            digest = live_mix(digest ^ bits);
        }
    }
    uint64_t least = 0;
    uint64_t most = 0;
    expect(dn_allreduce(all, &digest, &least, 1, DN_UINT64, DN_MIN), 0);
    expect(dn_allreduce(all, &digest, &most, 1, DN_UINT64, DN_MAX), 0);
    require(least == digest && most == digest);
    if (me.rank == 0) {
        (void)dprintf(STDOUT_FILENO, "digest %016llx\n", (unsigned long long)digest);
    }
}

/* ---- Broadcast and allgather ------------------------------------------------------------ */

static const size_t block_bytes[] = {1, 8, 100, 4096, 4097, 50001, 262144, 262145, 900000};

static void broadcasts_from_every_root(void)
{
    make_room(block_bytes[LIVE_COUNT(block_bytes) - 1] + 64);
    for (size_t i = 0; i < LIVE_COUNT(block_bytes); i++) {
        for (int root = 0; root < me.size; root++) {
            size_t bytes = block_bytes[i];
            unsigned char *buffer = room.at[((int)i + root + me.rank) % PLACES];
            uint64_t salt = me.seed + i * 64 + (uint64_t)root;
            memset(buffer, 0x33, bytes + 32);
            if (me.rank == root) {
                live_fill(buffer, bytes, salt);
                memset(buffer + bytes, 0x33, 32);
            }
            expect(dn_broadcast(all, buffer, bytes, root), 0);
            size_t other = live_first_other(buffer, bytes, salt);
            require_else(other == bytes, "root %d, byte %zu of %zu", root, other, bytes);
            require(live_all_are(buffer + bytes, 32, 0x33));
            memset(buffer, 0xdd, bytes);
        }
    }
    free_room();
}

static void gathers_in_team_order(void)
{
    size_t largest = block_bytes[LIVE_COUNT(block_bytes) - 1];
    make_room(largest * (size_t)me.size + 64);
    for (size_t i = 0; i < LIVE_COUNT(block_bytes); i++) {
        size_t bytes = block_bytes[i];
        unsigned char *result = room.at[(i + (size_t)me.rank) % PLACES];
        bool in_place = (i + (size_t)me.rank) % 2;
        unsigned char *source = in_place ? result + bytes * (size_t)me.rank
                                         : room.at[i % PLACES] + room.bytes;
        memset(result + bytes * (size_t)me.size, 0x44, 32);
        live_fill(source, bytes, me.seed + (uint64_t)me.rank);
        if (in_place && me.rank == me.size - 1) {
            memset(result + bytes * (size_t)me.size, 0x44, 32);
        }
        expect(dn_allgather(all, source, result, bytes), 0);
        for (int rank = 0; rank < me.size; rank++) {
            size_t other = live_first_other(result + bytes * (size_t)rank, bytes,
                                            me.seed + (uint64_t)rank);
            require_else(other == bytes, "node %d's byte %zu of %zu", rank, other, bytes);
        }
        require(live_all_are(result + bytes * (size_t)me.size, 32, 0x44));
        memset(source, 0xcc, bytes);
    }
    free_room();
}

/* ---- Mistakes --------------------------------------------------------------------------- */

/* All nodes hear of it, nothing is written, and the next call finds the nodes in step. */
static void differing_calls_are_told_to_all(void)
{
    static uint64_t words[100000];
    static uint64_t result[100000];
    static const size_t counts[] = {1, 2, 100, 600, 40000, 100000};
    memset(result, 0x22, sizeof result);
    for (size_t i = 0; i < LIVE_COUNT(counts); i++) {
        for (size_t j = 0; j < LIVE_COUNT(counts); j++) {
            if (i == j) {
                continue;
            }
            size_t count = me.rank == me.size - 1 ? counts[j] : counts[i];
            expect(dn_allreduce(all, words, result, count, DN_UINT64, DN_SUM), DN_EMISMATCH);
            expect(dn_broadcast(all, result, count * 8, 0), DN_EMISMATCH);
            if (count * (size_t)me.size <= LIVE_COUNT(result)) {
                expect(dn_allgather(all, words, result, count * 8), DN_EMISMATCH);
            } else {
                expect(dn_allreduce(all, words, result, count, DN_INT64, DN_XOR), DN_EMISMATCH);
            }
        }
    }
    bool odd = me.rank == 0;
    expect(dn_allreduce(all, words, result, 10, odd ? DN_UINT64 : DN_INT64, DN_SUM), DN_EMISMATCH);
    expect(dn_allreduce(all, words, result, 10, DN_INT64, odd ? DN_SUM : DN_XOR), DN_EMISMATCH);
    expect(dn_broadcast(all, result, 8, odd ? 0 : 1), DN_EMISMATCH);
    if (odd) {
        expect(dn_allgather(all, words, result, 8), DN_EMISMATCH);
    } else {
        expect(dn_allreduce(all, words, result, 8, DN_UINT8, DN_MAX), DN_EMISMATCH);
    }
    require(live_all_are(result, sizeof result, 0x22));
    uint64_t one = 1;
    expect(dn_allreduce(all, &one, &one, 1, DN_UINT64, DN_SUM), 0);
    require(one == (uint64_t)me.size);
}

/* A node in a barrier takes no part in another's reduction, not even with old words. */
static void a_barrier_is_no_reduction(void)
{
    uint64_t word = 1;
    for (int i = 0; i < 4; i++) {
        expect(dn_allreduce(all, &word, &word, 1, DN_UINT64, DN_MIN), 0);
    }
    if (me.rank == 0) {
        expect(dn_barrier(all, LIVE_PATIENCE_NS), 0);
    } else {
        expect(dn_allreduce(all, &word, &word, 1, DN_UINT64, DN_MIN), DN_EMISMATCH);
    }
    expect(dn_barrier(all, LIVE_PATIENCE_NS), 0);
}

/* One member's mistake is its own; the others hear of it and do not wait. */
static void a_refused_member_keeps_nobody_waiting(void)
{
    uint64_t word = 1;
    bool wrong = me.rank == 0;
    int others = me.size == 1 ? 0 : DN_EMISMATCH;
    enum dn_type type = wrong ? (enum dn_type)(DN_DOUBLE_COMPLEX + 1) : DN_UINT64;
    expect(dn_allreduce(all, &word, &word, 1, type, DN_MIN), wrong ? DN_EINVAL : others);
    expect(dn_broadcast(all, &word, 8, wrong ? me.size : 0), wrong ? DN_ERANK : others);
    expect(dn_allgather(all, wrong ? NULL : &word, &word, 8), wrong ? DN_EINVAL : others);
    expect(dn_barrier(all, LIVE_PATIENCE_NS), 0);
}

static void mistakes_have_names(void)
{
    uint64_t word = 7;
    expect(dn_allreduce(NULL, &word, &word, 1, DN_UINT64, DN_SUM), DN_EINVAL);
    expect(dn_allreduce(all, NULL, &word, 1, DN_UINT64, DN_SUM), DN_EINVAL);
    expect(dn_allreduce(all, &word, NULL, 1, DN_UINT64, DN_SUM), DN_EINVAL);
    enum dn_type no_type = (enum dn_type)(DN_DOUBLE_COMPLEX + 1);
    expect(dn_allreduce(all, &word, &word, 1, no_type, DN_SUM), DN_EINVAL);
    expect(dn_allreduce(all, &word, &word, 1, (enum dn_type) - 1, DN_SUM), DN_EINVAL);
    expect(dn_allreduce(all, &word, &word, 1, DN_UINT64, (enum dn_reduction)7), DN_EINVAL);
    expect(dn_allreduce(all, &word, &word, 1, DN_DOUBLE, DN_XOR), DN_EINVAL);
    expect(dn_allreduce(all, &word, &word, (size_t)1 << 40, DN_UINT8, DN_SUM), DN_EINVAL);
    expect(dn_allreduce(all, &word, &word, SIZE_MAX, DN_UINT64, DN_SUM), DN_EINVAL);
    expect(dn_broadcast(NULL, &word, 8, 0), DN_EINVAL);
    expect(dn_broadcast(all, NULL, 8, 0), DN_EINVAL);
    expect(dn_broadcast(all, &word, 8, me.size), DN_ERANK);
    expect(dn_broadcast(all, &word, 8, -1), DN_ERANK);
    expect(dn_allgather(NULL, &word, &word, 8), DN_EINVAL);
    expect(dn_allgather(all, NULL, &word, 8), DN_EINVAL);
    expect(dn_allgather(all, &word, NULL, 8), DN_EINVAL);
    require(word == 7);
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, all_types_and_operations),
        LIVE_CHECK(1, all_sizes),
        LIVE_CHECK(1, memories_mixed_between_nodes),
        LIVE_CHECK(1, calls_follow_each_other_closely),
        LIVE_CHECK(1, nothing_is_a_barrier),
        LIVE_CHECK(1, floating_point_is_the_same_everywhere),
        LIVE_CHECK(1, broadcasts_from_every_root),
        LIVE_CHECK(1, gathers_in_team_order),
        LIVE_CHECK(2, differing_calls_are_told_to_all),
        LIVE_CHECK(2, a_barrier_is_no_reduction),
        LIVE_CHECK(1, a_refused_member_keeps_nobody_waiting),
        LIVE_CHECK(1, mistakes_have_names),
    };
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    live_attach();
    all = dn_team_all(me.node);
    live_run_all(argc, argv, checks, LIVE_COUNT(checks));
    live_detach();
    return 0;
}
