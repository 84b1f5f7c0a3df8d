/* All that is sent arrives, and nothing else: blocks of every size and alignment, single stores,
 * and every atomic. */
#define _GNU_SOURCE
#include "live/live.h"

/* Untouched bytes on either side of what a transfer writes. */
enum { GUARD_BYTES = 64, GUARD = 0xee };

/* ---- Blocks ------------------------------------------------------------------ */

enum way { BOTF, PUT_SIGNAL, PUSH, PUSH_OP, PULL, PULL_OP, WAYS };

struct block {
    enum way way;
    size_t bytes;
    size_t from_shift; /* of the source from a multiple of 64 */
    size_t to_shift;
    uint64_t number;
};

static uint64_t block_seed(const struct block *block, int sender)
{
    return live_mix(block->number * 1000 + (uint64_t)sender);
}

static void wait_by_testing(struct dn_op *op)
{
    int done = 0;
    while (!done) {
        expect(dn_op_test(op, &done), 0);
    }
    expect(dn_op_wait(op, 0), 0);
    expect(dn_op_wait(op, DN_FOREVER), 0);
}

/* Every node sends a block to the next node, or pulls it from there. The remote side is the bank;
 * `memory` is the local side. */
static void move_block(const struct block *block, unsigned char *memory)
{
    unsigned char *local = memory + GUARD_BYTES + block->from_shift;
    struct dn_remote remote = live_at(live_neighbour(1), DN_BANK, GUARD_BYTES + block->to_shift);
    struct dn_op op;
    switch (block->way) {
    case BOTF:
        expect(dn_botf(me.node, remote, local, block->bytes), 0);
        /* It belongs to us again: a delayed block must not see this. */
        memset(local, 0, block->bytes < 64 ? block->bytes : 64);
        break;
    case PUT_SIGNAL:
        expect(dn_put_signal(me.node, remote, local, block->bytes, live_place(remote.rank, 0),
                             block->number),
               0);
        live_wait_u64(0, DN_EQ, block->number);
        break;
    case PUSH: expect(dn_push(me.node, remote, local, block->bytes, NULL), 0); break;
    case PUSH_OP:
        expect(dn_push(me.node, remote, local, block->bytes, &op), 0);
        wait_by_testing(&op);
        break;
    case PULL:
        expect(dn_pull(me.node, remote, local, block->bytes, NULL), 0);
        expect(dn_quiet(me.node), 0);
        break;
    default:
        expect(dn_pull(me.node, remote, local, block->bytes, &op), 0);
        expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
        break;
    }
}

/* Requires all bytes, and the guards as they were. */
static void require_block(const struct block *block, const unsigned char *start, size_t shift,
                          int sender)
{
    const unsigned char *body = start + GUARD_BYTES + shift;
    size_t other = live_first_other(body, block->bytes, block_seed(block, sender));
    require_else(other == block->bytes, "way %d: of %zu bytes, %zu to %zu, byte %zu is wrong",
                 (int)block->way, block->bytes, block->from_shift, block->to_shift, other);
    require_else(live_all_are(start, GUARD_BYTES + shift, GUARD) &&
                     live_all_are(body + block->bytes, GUARD_BYTES, GUARD),
                 "way %d: %zu bytes, %zu to %zu, wrote outside", (int)block->way, block->bytes,
                 block->from_shift, block->to_shift);
}

static void try_block(const struct block *block, unsigned char *memory)
{
    bool pulls = block->way == PULL || block->way == PULL_OP;
    size_t shift = pulls ? block->to_shift : block->from_shift;
    unsigned char *source = pulls ? me.bank : memory;
    unsigned char *target = pulls ? memory : me.bank;
    size_t target_shift = pulls ? block->from_shift : block->to_shift;
    live_fill(source + GUARD_BYTES + shift, block->bytes, block_seed(block, me.rank));
    memset(target, GUARD, 2 * GUARD_BYTES + target_shift + block->bytes);
    live_barrier();
    move_block(block, memory);
    live_barrier();
    require_block(block, target, target_shift, live_neighbour(pulls ? 1 : -1));
}

static void blocks_of(const size_t *sizes, size_t size_count, const size_t *shifts,
                      size_t shift_count)
{
    size_t largest = sizes[size_count - 1];
    unsigned char *memory = aligned_alloc(64, (largest + 4 * GUARD_BYTES + 63) / 64 * 64);
    require(memory != NULL);
    struct block block = {0};
    for (size_t size = 0; size < size_count; size++) {
        for (size_t from = 0; from < shift_count; from++) {
            for (size_t to = 0; to < shift_count; to++) {
                for (enum way way = 0; way < WAYS; way++) {
                    block = (struct block){way, sizes[size], shifts[from], shifts[to],
                                           block.number + 1};
                    try_block(&block, memory);
                }
            }
        }
    }
    free(memory);
}

static void small_blocks(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31, 33, 63, 64, 65, 127};
    static const size_t shifts[] = {0, 1, 4, 7};
    blocks_of(sizes, LIVE_COUNT(sizes), shifts, LIVE_COUNT(shifts));
}

static void medium_blocks(void)
{
    static const size_t sizes[] = {255, 463, 464, 465, 1023, 4095, 4096, 4097, 65537};
    static const size_t shifts[] = {0, 3};
    blocks_of(sizes, LIVE_COUNT(sizes), shifts, LIVE_COUNT(shifts));
}

static void large_blocks(void)
{
    static const size_t sizes[] = {(1 << 20) + 3, (5 << 20) + 7};
    static const size_t shifts[] = {5};
    blocks_of(sizes, LIVE_COUNT(sizes), shifts, LIVE_COUNT(shifts));
}

/* At the very ends of the areas, where a check that is off by one shows. */
static void blocks_at_the_ends(void)
{
    unsigned char block[100];
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    struct dn_kick kick;
    memset(me.bank + me.bank_bytes - 4096, GUARD, 4096);
    live_barrier();
    live_fill(block, sizeof block, (uint64_t)me.rank);
    expect(dn_botf(me.node, live_at(to, DN_LLCM, me.llcm_bytes - 100), block, 100), 0);
    expect(dn_push(me.node, live_at(to, DN_BANK, me.bank_bytes - 100), block, 100, NULL), 0);
    expect(dn_kick_map(me.node, live_at(to, DN_LLCM, 0), me.llcm_bytes, &kick), 0);
    dn_store_u8(&kick, 0, 0x11);
    dn_store_u32(&kick, me.llcm_bytes - 104, 0x22222222);
    live_barrier();
    require(live_first_other(me.llcm + me.llcm_bytes - 100, 100, (uint64_t)from) == 100);
    require(live_first_other(me.bank + me.bank_bytes - 100, 100, (uint64_t)from) == 100);
    require(live_all_are(me.bank + me.bank_bytes - 4096, 3996, GUARD));
    require(me.llcm[0] == 0x11 && me.llcm[1] == 0);
    require(*live_u32(me.llcm_bytes - 104) == 0x22222222);
}

/* A put is in place when it returns: a flag from another lane, which nothing orders with it, finds
 * it there. A get has its data here. */
static void blocking_blocks(void)
{
    enum { FLAG_AT = 0, LARGEST = 300000 };
    static const size_t sizes[] = {0, 1, 8, 1000, 65536, LARGEST};
    static unsigned char mine[LARGEST];
    static unsigned char got[LARGEST];
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    struct dn_node *lane;
    expect(dn_lane_open(me.node, &lane), 0);
    for (uint64_t i = 0; i < LIVE_COUNT(sizes); i++) {
        uint64_t number = i + 1;
        struct dn_remote place = live_at(to, DN_BANK, 0);
        live_fill(mine, sizes[i], (uint64_t)me.rank + number);
        expect(dn_put(me.node, place, mine, sizes[i]), 0);
        expect(dn_botf(lane, live_place(to, FLAG_AT), &number, sizeof number), 0);
        live_wait_u64(FLAG_AT, DN_GE, number);
        require(live_first_other(me.bank, sizes[i], (uint64_t)from + number) == sizes[i]);
        memset(got, 0, sizes[i]);
        expect(dn_get(me.node, place, got, sizes[i]), 0);
        require(memcmp(got, mine, sizes[i]) == 0);
        live_barrier();
    }
    expect(dn_put(me.node, live_at(to, DN_BANK, me.bank_bytes), mine, 1), DN_ERANGE);
    expect(dn_get(me.node, live_at(to, DN_BANK, me.bank_bytes), got, 1), DN_ERANGE);
    expect(dn_put(me.node, live_at(to, DN_BANK, 0), NULL, 1), DN_EINVAL);
    expect(dn_get(NULL, live_at(to, DN_BANK, 0), got, 1), DN_EINVAL);
    expect(dn_lane_close(lane), 0);
}

static void nothing_is_a_block(void)
{
    struct dn_op op;
    int to = live_neighbour(1);
    struct dn_remote end = live_at(to, DN_LLCM, me.llcm_bytes);
    struct dn_remote beyond = live_at(to, DN_LLCM, me.llcm_bytes + 1);
    expect(dn_botf(me.node, live_place(to, 8), NULL, 0), 0);
    expect(dn_botf(me.node, live_place(to, 8), &op, 0), 0);
    expect(dn_botf(me.node, end, NULL, 0), 0);
    expect(dn_botf(me.node, beyond, NULL, 0), DN_ERANGE);
    expect(dn_push(me.node, end, NULL, 0, &op), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_pull(me.node, end, NULL, 0, &op), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_push(me.node, beyond, NULL, 0, NULL), DN_ERANGE);
    expect(dn_pull(me.node, beyond, NULL, 0, NULL), DN_ERANGE);
    expect(dn_put_signal(me.node, end, NULL, 0, live_place(to, 64), 5), 0);
    live_wait_u64(64, DN_EQ, 5);
    require(live_all_are(me.llcm, 64, 0) && live_all_are(me.llcm + 72, me.llcm_bytes - 72, 0));
}

/* A node may send to itself, even onto the source. */
static void blocks_to_oneself(void)
{
    unsigned char before[200];
    struct dn_remote later = live_place(me.rank, 1000);
    struct dn_remote earlier = live_place(me.rank, 990);
    live_fill(me.llcm + 990, 200, 3);
    memcpy(before, me.llcm + 990, 200);
    expect(dn_botf(me.node, later, me.llcm + 990, 200), 0);
    expect(dn_quiet(me.node), 0);
    require(memcmp(me.llcm + 1000, before, 200) == 0);
    expect(dn_push(me.node, earlier, me.llcm + 1000, 200, NULL), 0);
    expect(dn_quiet(me.node), 0);
    require(memcmp(me.llcm + 990, before, 200) == 0);
    expect(dn_pull(me.node, earlier, me.llcm + 995, 190, NULL), 0);
    expect(dn_quiet(me.node), 0);
    require(memcmp(me.llcm + 995, before, 190) == 0);
}

/* ---- Stores ------------------------------------------------------------------ */

/* Each width at each place of a word; the bytes beside it stay as they were. */
static void single_stores(void)
{
    struct dn_kick kick;
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 1024), 256, &kick), 0);
    require((dn_kick_pointer(&kick) == NULL) == (live_is_relaxed() || live_is_by_packets()));
    memset(me.llcm + 1024, GUARD, 256);
    live_barrier();
    dn_store_u8(&kick, 3, 0x01);
    dn_store_u8(&kick, 255, 0x02);
    dn_store_u16(&kick, 34, 0x0304);
    dn_store_u32(&kick, 68, 0x05060708);
    dn_store_u64(&kick, 104, UINT64_C(0x090a0b0c0d0e0f10));
    expect(dn_kick_store(&kick, 200, UINT64_C(0x1112131415161718), 8), 0);
    expect(dn_kick_store(&kick, 212, 0x191a1b1c, 4), 0);
    expect(dn_kick_store(&kick, 222, 0x1d1e, 2), 0);
    expect(dn_kick_store(&kick, 229, 0x1f, 1), 0);
    live_barrier();
    unsigned char wanted[256];
    memset(wanted, GUARD, sizeof wanted);
    memcpy(wanted + 3, "\x01", 1);
    memcpy(wanted + 255, "\x02", 1);
    memcpy(wanted + 34, &(uint16_t){0x0304}, 2);
    memcpy(wanted + 68, &(uint32_t){0x05060708}, 4);
    memcpy(wanted + 104, &(uint64_t){UINT64_C(0x090a0b0c0d0e0f10)}, 8);
    memcpy(wanted + 200, &(uint64_t){UINT64_C(0x1112131415161718)}, 8);
    memcpy(wanted + 212, &(uint32_t){0x191a1b1c}, 4);
    memcpy(wanted + 222, &(uint16_t){0x1d1e}, 2);
    memcpy(wanted + 229, "\x1f", 1);
    require(memcmp(me.llcm + 1024, wanted, sizeof wanted) == 0);
    require(live_all_are(me.llcm, 1024, 0) && me.llcm[1280] == 0);
    require(dn_load_u8(me.llcm + 1027) == 0x01 && dn_load_u16(me.llcm + 1058) == 0x0304);
    require(dn_load_u32(me.llcm + 1092) == 0x05060708);
    require(dn_load_u64(me.llcm + 1128) == UINT64_C(0x090a0b0c0d0e0f10));
    expect(dn_kick_unmap(&kick), 0);
}

/* Every node has its own word in every node, all stored to at once. */
static void stores_from_all_to_all(void)
{
    struct dn_kick kick;
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_kick_map(me.node, live_place(rank, 64 * (uint64_t)me.rank), 64, &kick), 0);
        for (uint64_t i = 0; i < 8; i++) {
            dn_store_u64(&kick, 8 * i, live_mix((uint64_t)me.rank * 100 + i));
        }
        expect(dn_kick_unmap(&kick), 0);
    }
    live_barrier();
    for (uint64_t rank = 0; rank < (uint64_t)me.size; rank++) {
        for (uint64_t i = 0; i < 8; i++) {
            require(*live_u64(64 * rank + 8 * i) == live_mix(rank * 100 + i));
        }
    }
}

/* ---- Atomics ----------------------------------------------------------------- */

/* Fetches and checks the old value; then the same without fetching. The word belongs to another
 * node, so its result is read there. */
#define DEFINE_TRY_ATOMICS(suffix, type)                                                     \
    static void expect_old_##suffix(const char *what, type old, type wanted)                 \
    {                                                                                        \
        require_else(old == wanted, "%s: %#llx, not %#llx", what, (unsigned long long)old,   \
                     (unsigned long long)wanted);                                            \
    }                                                                                        \
    static void fetch_all_##suffix(struct dn_remote word, type a, type b)                    \
    {                                                                                        \
        type old;                                                                            \
        expect(dn_swap_##suffix(me.node, word, a, &old), 0);                                 \
        expect(dn_read_##suffix(me.node, word, &old), 0);                                    \
        expect_old_##suffix("swap", old, a);                                                 \
        expect(dn_fetch_add_##suffix(me.node, word, b, &old), 0);                            \
        expect_old_##suffix("before fetch_add", old, a);                                     \
        expect(dn_fetch_and_##suffix(me.node, word, a, &old), 0);                            \
        expect_old_##suffix("fetch_add", old, (type)(a + b));                                \
        expect(dn_fetch_or_##suffix(me.node, word, b, &old), 0);                             \
        expect_old_##suffix("fetch_and", old, (type)((a + b) & a));                          \
        expect(dn_fetch_xor_##suffix(me.node, word, a, &old), 0);                            \
        expect_old_##suffix("fetch_or", old, (type)(((a + b) & a) | b));                     \
        type now = (type)((((a + b) & a) | b) ^ a);                                          \
        expect(dn_compare_swap_##suffix(me.node, word, (type)~now, b, &old), 0);             \
        expect_old_##suffix("fetch_xor", old, now);                                          \
        expect(dn_compare_swap_##suffix(me.node, word, now, b, &old), 0);                    \
        expect_old_##suffix("a compare_swap that may not", old, now);                        \
        expect(dn_read_##suffix(me.node, word, &old), 0);                                    \
        expect_old_##suffix("compare_swap", old, b);                                         \
    }                                                                                        \
    static void change_all_##suffix(struct dn_remote word, type a, type b)                   \
    {                                                                                        \
        type old;                                                                            \
        expect(dn_set_##suffix(me.node, word, a), 0);                                        \
        expect(dn_fence(me.node), 0);                                                        \
        expect(dn_add_##suffix(me.node, word, b), 0);                                        \
        expect(dn_fence(me.node), 0);                                                        \
        expect(dn_and_##suffix(me.node, word, a), 0);                                        \
        expect(dn_fence(me.node), 0);                                                        \
        expect(dn_or_##suffix(me.node, word, b), 0);                                         \
        expect(dn_fence(me.node), 0);                                                        \
        expect(dn_xor_##suffix(me.node, word, a), 0);                                        \
        expect(dn_quiet(me.node), 0);                                                        \
        expect(dn_read_##suffix(me.node, word, &old), 0);                                    \
        expect_old_##suffix("set, add, and, or, xor", old, (type)((((a + b) & a) | b) ^ a)); \
    }

DEFINE_TRY_ATOMICS(u32, uint32_t)
DEFINE_TRY_ATOMICS(u64, uint64_t)

static void atomic_results(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      0x5555555555555555,
                                      0x80000000,
                                      0xffffffff,
                                      0x8000000080000000,
                                      0xfffffffffffffffe,
                                      UINT64_MAX};
    int to = live_neighbour(1);
    memset(me.llcm, GUARD, 256);
    live_barrier();
    for (size_t i = 0; i < LIVE_COUNT(values); i++) {
        for (size_t j = 0; j < LIVE_COUNT(values); j++) {
            fetch_all_u32(live_place(to, 68), (uint32_t)values[i], (uint32_t)values[j]);
            change_all_u32(live_place(to, 68), (uint32_t)values[i], (uint32_t)values[j]);
            fetch_all_u64(live_place(to, 136), values[i], values[j]);
            change_all_u64(live_place(to, 136), values[i], values[j]);
        }
    }
    live_barrier();
    require(live_all_are(me.llcm, 68, GUARD) && live_all_are(me.llcm + 72, 64, GUARD));
    require(live_all_are(me.llcm + 144, 112, GUARD));
}

/* The last word of each area can be used. */
static void atomics_at_the_ends(void)
{
    int to = live_neighbour(1);
    uint32_t old;
    expect(dn_add_u64(me.node, live_at(to, DN_LLCM, me.llcm_bytes - 8), 3), 0);
    expect(dn_set_u64(me.node, live_at(to, DN_BANK, me.bank_bytes - 8), 4), 0);
    expect(dn_fetch_or_u32(me.node, live_at(to, DN_LLCM, me.llcm_bytes - 12), 5, &old), 0);
    live_barrier();
    require(*live_u64(me.llcm_bytes - 8) == 3 && *live_u32(me.llcm_bytes - 12) == 5);
    require(dn_load_u64(me.bank + me.bank_bytes - 8) == 4);
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, small_blocks),           LIVE_CHECK(1, medium_blocks),
    LIVE_CHECK_UP_TO(1, 2, large_blocks),  LIVE_CHECK(1, blocks_at_the_ends),
    LIVE_CHECK(1, blocking_blocks),        LIVE_CHECK(1, nothing_is_a_block),
    LIVE_CHECK(1, blocks_to_oneself),      LIVE_CHECK(1, single_stores),
    LIVE_CHECK(1, stores_from_all_to_all), LIVE_CHECK(1, atomic_results),
    LIVE_CHECK(1, atomics_at_the_ends),
};

int main(int argc, char **argv)
{
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
