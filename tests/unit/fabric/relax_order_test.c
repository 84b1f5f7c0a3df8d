/* The relaxed fabric's order: for each rule of the memory model, the forbidden outcome never
 * appears, and what the model allows does appear. */
#include "relax_rounds.h"

/* ---- The ordered class ----------------------------------------------------------- */

static bool store_overtaken_by_store(uint64_t round)
{
    store(1, 1, round);
    store(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool store_overtaken_by_botf(uint64_t round)
{
    store(1, 1, round);
    botf(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool botf_overtaken_by_store(uint64_t round)
{
    botf(1, 1, round);
    store(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool store_overtaken_by_flag(uint64_t round)
{
    store(1, 1, round);
    put_signal(1, 2, 3, round);
    return overtaken(word(1, 1), word(1, 3), round);
}

static bool flag_overtaken_by_store(uint64_t round)
{
    put_signal(1, 2, 3, round);
    store(1, 4, round);
    return overtaken(word(1, 3), word(1, 4), round);
}

static bool flag_overtaken_by_flag(uint64_t round)
{
    put_signal(1, 2, 3, round);
    put_signal(1, 4, 5, round);
    return overtaken(word(1, 3), word(1, 5), round);
}

static void stores_blocks_and_flags_keep_their_order(void **state)
{
    (void)state;
    never(store_overtaken_by_store);
    never(store_overtaken_by_botf);
    never(botf_overtaken_by_store);
    never(store_overtaken_by_flag);
    never(flag_overtaken_by_store);
    never(flag_overtaken_by_flag);
}

static bool store_is_late(uint64_t round)
{
    store(1, 1, round);
    return peek(word(1, 1)) != round;
}

static bool target_overtakes_target(uint64_t round)
{
    store(1, 1, round);
    store(2, 1, round);
    return overtaken(word(1, 1), word(2, 1), round);
}

static bool lane_overtakes_lane(uint64_t round)
{
    store_on(0, 1, 1, round);
    store_on(1, 1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static void targets_and_lanes_are_not_ordered(void **state)
{
    (void)state;
    sometimes(store_is_late);
    sometimes(target_overtakes_target);
    sometimes(lane_overtakes_lane);
}

/* ---- The signal -------------------------------------------------------------------- */

static bool body_overtaken_by_its_flag(uint64_t round)
{
    put_signal(1, 2, 3, round);
    return overtaken(word(1, 2), word(1, 3), round);
}

static bool body_elsewhere_overtaken_by_its_flag(uint64_t round)
{
    uint64_t body = round;
    assert_int_equal(relax_ops.put_signal(&lanes[0], word_at(2, 2), &body, 8, word_at(1, 3), round),
                     0);
    return overtaken(word(2, 2), word(1, 3), round);
}

static bool store_overtaken_by_body(uint64_t round)
{
    store(1, 1, round);
    put_signal(1, 2, 3, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool body_overtaken_by_body(uint64_t round)
{
    put_signal(1, 2, 3, round);
    put_signal(1, 4, 5, round);
    return overtaken(word(1, 2), word(1, 4), round);
}

static void a_flag_follows_its_body(void **state)
{
    (void)state;
    never(body_overtaken_by_its_flag);
    never(body_elsewhere_overtaken_by_its_flag);
    sometimes(store_overtaken_by_body);
    sometimes(body_overtaken_by_body);
}

/* ---- The unordered class ------------------------------------------------------------ */

static bool push_overtaken_by_store(uint64_t round)
{
    push(1, 1, round);
    store(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool store_overtaken_by_push(uint64_t round)
{
    store(1, 1, round);
    push(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool push_overtaken_by_push(uint64_t round)
{
    push(1, 1, round);
    push(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool atomic_overtaken_by_store(uint64_t round)
{
    set(1, 1, round);
    store(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool store_overtaken_by_atomic(uint64_t round)
{
    store(1, 1, round);
    set(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

/* A pull that a later store to its source overtakes brings the later value. */
static bool pull_then_store(uint64_t round, bool fenced)
{
    uint64_t pulled = 0;
    struct dn_op op;
    bool done = false;
    assert_int_equal(relax_ops.pull(&lanes[0], word_at(1, 1), &pulled, 8, &op), 0);
    if (fenced) {
        fence();
    }
    store(1, 1, round);
    while (!done) {
        assert_int_equal(fabric_op_state(&op, &done), 0);
        sched_yield();
    }
    return pulled == round;
}

static bool pull_overtaken_by_store(uint64_t round)
{
    return pull_then_store(round, false);
}

static void push_pull_and_atomics_go_in_any_order(void **state)
{
    (void)state;
    sometimes(push_overtaken_by_store);
    sometimes(store_overtaken_by_push);
    sometimes(push_overtaken_by_push);
    sometimes(atomic_overtaken_by_store);
    sometimes(store_overtaken_by_atomic);
    sometimes(pull_overtaken_by_store);
}

/* ---- When sources are read ------------------------------------------------------------ */

enum { SPOILT = 12345 };

static bool push_takes_what_came_after(uint64_t round)
{
    static uint64_t source;
    source = round;
    assert_int_equal(relax_ops.push(&lanes[0], word_at(1, 1), &source, 8, NULL), 0);
    poke(&source, round + SPOILT);
    quiet(0);
    return peek(word(1, 1)) == round + SPOILT;
}

static bool botf_takes_what_came_after(uint64_t round)
{
    botf(1, 1, round);
    quiet(0);
    return peek(word(1, 1)) != round || peek(word(1, 1) + 16) != 2;
}

static bool body_takes_what_came_after(uint64_t round)
{
    put_signal(1, 1, 2, round);
    quiet(0);
    return peek(word(1, 1)) != round;
}

static void only_push_reads_its_source_late(void **state)
{
    (void)state;
    sometimes(push_takes_what_came_after);
    never(botf_takes_what_came_after);
    never(body_takes_what_came_after);
}

/* ---- Fence ------------------------------------------------------------------------------ */

static bool fenced_push_overtaken(uint64_t round)
{
    push(1, 1, round);
    fence();
    store(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool fenced_atomic_overtaken(uint64_t round)
{
    set(1, 1, round);
    fence();
    push(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool fenced_store_overtaken(uint64_t round)
{
    store(1, 1, round);
    fence();
    set(1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool fenced_store_overtaken_by_body(uint64_t round)
{
    store(1, 1, round);
    fence();
    put_signal(1, 2, 3, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static bool fenced_pull_overtaken(uint64_t round)
{
    return pull_then_store(round, true);
}

/* Four epochs of all operations; words in the order of their epochs. */
static bool epochs_mix(uint64_t round)
{
    enum { EPOCHS = 4, WORDS = 5 };
    for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
        uint64_t first = 1 + epoch * WORDS;
        push(1, first, round);
        store(1, first + 1, round);
        set(1, first + 2, round);
        put_signal(1, first + 3, first + 4, round);
        fence();
    }
    uint64_t deadline_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    for (;;) {
        /* From the last word to the first: if one is there, all words of the epochs before it must
         * be. */
        uint64_t present_epoch = 0;
        bool complete = true;
        for (uint64_t i = EPOCHS * WORDS; i-- > 0;) {
            bool present = peek(word(1, 1 + i)) == round;
            complete = complete && present;
            if (present && present_epoch < i / WORDS) {
                present_epoch = i / WORDS;
            }
            if (!present && i / WORDS < present_epoch) {
                return true;
            }
        }
        if (complete) {
            return false;
        }
        assert_true(unit_now_ns() < deadline_ns);
        sched_yield();
    }
}

static bool fence_orders_another_target(uint64_t round)
{
    push(1, 1, round);
    fence();
    store(2, 1, round);
    return overtaken(word(1, 1), word(2, 1), round);
}

static bool fence_orders_another_lane(uint64_t round)
{
    push(1, 1, round);
    fence();
    store_on(1, 1, 2, round);
    return overtaken(word(1, 1), word(1, 2), round);
}

static void a_fence_orders_one_lane_and_target(void **state)
{
    (void)state;
    never(fenced_push_overtaken);
    never(fenced_atomic_overtaken);
    never(fenced_store_overtaken);
    never(fenced_store_overtaken_by_body);
    never(fenced_pull_overtaken);
    never(epochs_mix);
    sometimes(fence_orders_another_target);
    sometimes(fence_orders_another_lane);
}

/* ---- Fetching atomics ------------------------------------------------------------------- */

static bool fetch_misses_what_was_fenced(uint64_t round)
{
    uint64_t kind = round % 3;
    if (kind == 0) {
        set(1, 1, round);
    } else if (kind == 1) {
        store(1, 1, round);
    } else {
        push(1, 1, round);
    }
    fence();
    return fetch(1, 1) != round;
}

static bool fetch_misses_a_store(uint64_t round)
{
    store(1, 1, round);
    return fetch(1, 1) != round;
}

static bool fetch_misses_an_atomic(uint64_t round)
{
    set(1, 1, round);
    return fetch(1, 1) != round;
}

static bool fetch_leaves_another_target_alone(uint64_t round)
{
    push(1, 1, round);
    store(2, 1, round);
    fence();
    (void)fetch(1, 1);
    return peek(word(2, 1)) != round;
}

static void a_fetch_waits_for_its_targets_earlier_epochs(void **state)
{
    (void)state;
    never(fetch_misses_what_was_fenced);
    sometimes(fetch_misses_a_store);
    sometimes(fetch_misses_an_atomic);
    sometimes(fetch_leaves_another_target_alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_lanes, close_lanes)
        TEST(stores_blocks_and_flags_keep_their_order),
        TEST(targets_and_lanes_are_not_ordered),
        TEST(a_flag_follows_its_body),
        TEST(push_pull_and_atomics_go_in_any_order),
        TEST(only_push_reads_its_source_late),
        TEST(a_fence_orders_one_lane_and_target),
        TEST(a_fetch_waits_for_its_targets_earlier_epochs),
    };
    return cmocka_run_group_tests_name("fabric/relax order", tests, start, stop);
}
