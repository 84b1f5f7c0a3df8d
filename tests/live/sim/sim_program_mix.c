/* A bit of everything: stores, blocks, puts, gets, atomics, a lock, messages, reductions, barriers.
 * Which, with whom and how much follows from DN_TEST_SEED; so two runs with equal seeds are equal,
 * and on a simulated machine they are equal to the last packet. Every result is checked. */
#include "live/live.h"

enum {
    ROUNDS = 2,
    COUNTER = 64,  /* at node 0: atomics of all */
    LOCK = 72,     /* at node 0 */
    GUARDED = 80,  /* at node 0, by the lock */
    STORED = 1024, /* a word for each node */
    BLOCKS = 4096, /* a block for each node */
    BLOCK_BYTES = 400,
    MESSAGE_BYTES_MAX = 2000,
    CHANNEL = 3,
};

static uint64_t chance;

static void store_round(uint64_t round)
{
    struct dn_kick kick;
    int target = live_neighbour((int)round);
    uint64_t own = STORED + 8 * (uint64_t)me.rank;
    expect(dn_kick_map(me.node, live_place(target, 0), 4096, &kick), 0);
    dn_store_u64(&kick, own, round);
    expect(dn_kick_unmap(&kick), 0);
    live_wait_u64(STORED + 8 * (uint64_t)live_neighbour(-(int)round), DN_EQ, round);
}

static void block_round(uint64_t round)
{
    unsigned char block[BLOCK_BYTES];
    unsigned char back[BLOCK_BYTES];
    int target = live_neighbour(1 + (int)live_random(&chance, 2));
    uint64_t place = BLOCKS + BLOCK_BYTES * (uint64_t)me.rank;
    live_fill(block, sizeof block, round + (uint64_t)me.rank);
    if (live_random(&chance, 2) == 0) {
        expect(dn_botf(me.node, live_place(target, place), block, sizeof block), 0);
    } else {
        expect(dn_put(me.node, live_place(target, place), block, sizeof block), 0);
    }
    expect(dn_quiet(me.node), 0);
    expect(dn_get(me.node, live_place(target, place), back, sizeof back), 0);
    require(live_first_other(back, sizeof back, round + (uint64_t)me.rank) == sizeof back);
}

static void lock_round(struct dn_lock *lock)
{
    uint64_t value;
    uint64_t old;
    expect(dn_fetch_add_u64(me.node, live_place(0, COUNTER), 1, &old), 0);
    expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
    expect(dn_read_u64(me.node, live_place(0, GUARDED), &value), 0);
    value++;
    expect(dn_put(me.node, live_place(0, GUARDED), &value, sizeof value), 0);
    expect(dn_lock_give(lock), 0);
}

static void message_round(struct dn_context *context, uint64_t round)
{
    unsigned char sent[MESSAGE_BYTES_MAX];
    unsigned char got[MESSAGE_BYTES_MAX];
    size_t bytes = 1 + (size_t)live_random(&chance, MESSAGE_BYTES_MAX);
    size_t got_bytes;
    int source = live_neighbour(-1);
    live_fill(sent, bytes, 77 * round + (uint64_t)me.rank);
    expect(dn_send(context, live_neighbour(1), sent, bytes, LIVE_PATIENCE_NS), 0);
    expect(dn_recv(context, source, got, sizeof got, LIVE_PATIENCE_NS, NULL, &got_bytes), 0);
    require(live_first_other(got, got_bytes, 77 * round + (uint64_t)source) == got_bytes);
}

static void reduce_round(uint64_t round)
{
    uint64_t mine = round * (uint64_t)(me.rank + 1);
    uint64_t sum;
    uint64_t size = (uint64_t)me.size;
    expect(dn_allreduce(dn_team_all(me.node), &mine, &sum, 1, DN_UINT64, DN_SUM), 0);
    require(sum == round * size * (size + 1) / 2);
    live_barrier();
}

int main(void)
{
    struct dn_context *context;
    struct dn_lock *lock;
    live_attach();
    me.check = "mix";
    chance = live_mix(me.seed) + (uint64_t)me.rank;
    const int next = live_neighbour(1);
    const int before = live_neighbour(-1);
    expect(dn_context_open(me.node, CHANNEL, &next, 1, &before, 1, NULL, &context), 0);
    expect(dn_lock_open(me.node, live_place(0, LOCK), &lock), 0);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        expect(dn_compute_ns(me.node, live_random(&chance, 3000)), 0);
        store_round(round);
        block_round(round);
        lock_round(lock);
        message_round(context, round);
        reduce_round(round);
    }
    if (me.rank == 0) {
        require(*live_u64(COUNTER) == ROUNDS * (uint64_t)me.size);
        require(*live_u64(GUARDED) == ROUNDS * (uint64_t)me.size);
    }
    live_barrier();
    expect(dn_lock_close(lock), 0);
    expect(dn_context_close(context), 0);
    live_say_ok();
    live_detach();
    return 0;
}
