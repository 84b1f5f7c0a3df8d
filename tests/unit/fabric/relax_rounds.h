/* Rounds on the relaxed fabric. A test names outcomes: functions that run one round and
 * tell whether the outcome was seen in it. Words hold the number of the round that wrote
 * them last. */
#ifndef UNIT_FABRIC_RELAX_ROUNDS_H
#define UNIT_FABRIC_RELAX_ROUNDS_H

#include "lane.h"

#include "fabric/relax/relax.h"

#define MIB (UINT64_C(1) << 20)

enum { NODES = 3, LANES = 2, NEVER_ROUNDS = 250 };

static struct unit_net net;
static struct fabric_lane lanes[LANES]; /* both of rank 0 */
static uint64_t last_round;

static inline int start(void **state)
{
    (void)state;
    uint64_t seed = unit_now_ns();
    print_message("seed %llu\n", (unsigned long long)seed);
    return relax_fabric.start(&(struct fabric_start){.seed = seed});
}

static inline int stop(void **state)
{
    (void)state;
    relax_fabric.stop();
    return 0;
}

static inline int open_lanes(void **state)
{
    (void)state;
    struct group_sizes sizes = {8192, 8 * MIB, 8192, 0};
    unit_net_make(&net, NODES, sizes);
    for (int i = 0; i < LANES; i++) {
        lanes[i] = unit_lane(&net, 0, &relax_ops);
        assert_int_equal(relax_ops.lane_open(&lanes[i]), 0);
    }
    return 0;
}

static inline int close_lanes(void **state)
{
    (void)state;
    for (int i = 0; i < LANES; i++) {
        relax_ops.lane_close(&lanes[i]);
    }
    unit_net_free(&net);
    return 0;
}

/* ---- Looking ------------------------------------------------------------------- */

/* Reads or changes memory that an operation may be using at this moment: the race is the test. */
#define RACING MEANT_TO_RACE __attribute__((unused, noinline))

static RACING uint64_t peek(const void *word)
{
    uint64_t value = *(const volatile uint64_t *)word;
    atomic_thread_fence(memory_order_acquire);
    return value;
}

static RACING void poke(void *word, uint64_t value)
{
    *(volatile uint64_t *)word = value;
}

/* Words of the LLCM, each in a line of its own. */
static inline struct dn_remote word_at(int rank, uint64_t number)
{
    return unit_at(rank, DN_LLCM, number * 64);
}

static inline unsigned char *word(int rank, uint64_t number)
{
    return unit_memory(&net, rank, DN_LLCM) + number * 64;
}

/* Watches until both words hold the round; tells whether the later word ever did while the earlier
 * one did not. */
static inline bool overtaken(const void *earlier, const void *later, uint64_t round)
{
    bool seen = false;
    uint64_t deadline_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    for (;;) {
        /* Look at the later one first, so that a look between the two writes does not deceive. */
        bool later_there = peek(later) == round;
        bool earlier_there = peek(earlier) == round;
        seen = seen || (later_there && !earlier_there);
        if (later_there && earlier_there) {
            return seen;
        }
        assert_true(unit_now_ns() < deadline_ns);
        sched_yield();
    }
}

static inline void quiet(int lane)
{
    assert_int_equal(relax_ops.quiet(&lanes[lane]), 0);
}

static inline void never(bool (*outcome)(uint64_t round))
{
    for (int i = 0; i < NEVER_ROUNDS; i++) {
        assert_false(outcome(++last_round));
        quiet(0);
        quiet(1);
    }
}

static inline void sometimes(bool (*outcome)(uint64_t round))
{
    uint64_t deadline_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    bool seen = false;
    while (!seen) {
        assert_true(unit_now_ns() < deadline_ns);
        seen = outcome(++last_round);
        quiet(0);
        quiet(1);
    }
}

/* ---- Sending, always from lane 0 unless said ----------------------------------- */

static inline void store_on(int lane, int rank, uint64_t number, uint64_t value)
{
    assert_int_equal(relax_ops.store(&lanes[lane], word_at(rank, number), value, 8), 0);
}

static inline void store(int rank, uint64_t number, uint64_t value)
{
    store_on(0, rank, number, value);
}

/* A block whose first word carries the value. */
static inline void botf(int rank, uint64_t number, uint64_t value)
{
    uint64_t block[3] = {value, 1, 2};
    assert_int_equal(relax_ops.botf(&lanes[0], word_at(rank, number), block, sizeof block), 0);
    memset(block, 0xff, sizeof block);
}

/* A body whose last word carries the value. */
static inline void put_signal(int rank, uint64_t body_number, uint64_t flag_number, uint64_t value)
{
    uint64_t body[8] = {[7] = value};
    struct dn_remote remote = word_at(rank, body_number);
    remote.offset -= 56;
    assert_int_equal(relax_ops.put_signal(&lanes[0], remote, body, sizeof body,
                                          word_at(rank, flag_number), value),
                     0);
    memset(body, 0xff, sizeof body);
}

/* Pushes from one of a few words that stay untouched until the next round. */
static inline void push(int rank, uint64_t number, uint64_t value)
{
    static uint64_t sources[NODES][128];
    sources[rank][number] = value;
    assert_int_equal(
        relax_ops.push(&lanes[0], word_at(rank, number), &sources[rank][number], 8, NULL), 0);
}

static inline void set(int rank, uint64_t number, uint64_t value)
{
    assert_int_equal(
        relax_ops.atomic(&lanes[0], word_at(rank, number), WIRE_SWAP, 8, value, 0, NULL), 0);
}

static inline uint64_t fetch(int rank, uint64_t number)
{
    uint64_t old = 0;
    assert_int_equal(relax_ops.atomic(&lanes[0], word_at(rank, number), WIRE_READ, 8, 0, 0, &old),
                     0);
    return old;
}

static inline void fence(void)
{
    assert_int_equal(relax_ops.fence(&lanes[0]), 0);
}

#endif
