/* The relaxed fabric: completion, bounds, mistakes, waking and its thread. relax_order_test.c tests
 * what may be reordered. */
#include "relax_rounds.h"

#include <sys/resource.h>

#include "group/address.h"
#include "group/call.h"
#include "group/life.h"

/* ---- Quiet and completion ----------------------------------------------------------------- */

static void send_everything(uint64_t round)
{
    for (int rank = 0; rank < NODES; rank++) {
        store(rank, 1, round);
        botf(rank, 2, round);
        push(rank, 3, round);
        fence();
        put_signal(rank, 4, 5, round);
        set(rank, 6, round);
    }
}

static bool something_is_missing(uint64_t round)
{
    bool missing = false;
    for (int rank = 0; rank < NODES; rank++) {
        for (uint64_t number = 1; number <= 6; number++) {
            missing = missing || peek(word(rank, number)) != round;
        }
    }
    return missing;
}

static bool missing_without_quiet(uint64_t round)
{
    send_everything(round);
    return something_is_missing(round);
}

static bool missing_after_quiet(uint64_t round)
{
    send_everything(round);
    quiet(0);
    return something_is_missing(round);
}

static bool quiet_completes_another_lane(uint64_t round)
{
    store_on(1, 1, 1, round);
    quiet(0);
    return peek(word(1, 1)) != round;
}

static void quiet_completes_its_lane(void **state)
{
    (void)state;
    never(missing_after_quiet);
    sometimes(missing_without_quiet);
    sometimes(quiet_completes_another_lane);
}

static void fetches_are_done_at_return(void **state)
{
    (void)state;
    uint64_t old = 0;
    uint64_t *wide = (uint64_t *)(void *)word(1, 1);
    uint32_t *narrow = (uint32_t *)(void *)word(1, 2);
    *wide = 10;
    narrow[0] = UINT32_MAX;
    narrow[1] = 7;
    assert_int_equal(relax_ops.atomic(&lanes[0], word_at(1, 1), WIRE_ADD, 8, 5, 0, &old), 0);
    assert_true(old == 10 && peek(wide) == 15);
    assert_int_equal(relax_ops.atomic(&lanes[0], word_at(1, 1), WIRE_COMPARE_SWAP, 8, 99, 15, &old),
                     0);
    assert_true(old == 15 && peek(wide) == 99);
    assert_int_equal(relax_ops.atomic(&lanes[0], word_at(1, 1), WIRE_COMPARE_SWAP, 8, 1, 15, &old),
                     0);
    assert_true(old == 99 && peek(wide) == 99);
    assert_int_equal(relax_ops.atomic(&lanes[0], word_at(1, 2), WIRE_ADD, 4, 2, 0, &old), 0);
    assert_true(old == UINT32_MAX && narrow[0] == 1 && narrow[1] == 7);
}

static struct dn_op late_op;

static bool op_pending_at_return(uint64_t round)
{
    bool done = true;
    static uint64_t source;
    source = round;
    assert_int_equal(relax_ops.push(&lanes[0], word_at(1, 1), &source, 8, &late_op), 0);
    assert_ptr_equal(fabric_op_lane(&late_op), &lanes[0]);
    assert_int_equal(fabric_op_state(&late_op, &done), 0);
    return !done;
}

/* Only looks until the op is done: another thread must be doing the work. */
static bool op_done_before_its_bytes(uint64_t round)
{
    bool done = false;
    uint64_t deadline_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    (void)op_pending_at_return(round);
    while (!done) {
        assert_true(unit_now_ns() < deadline_ns);
        assert_int_equal(fabric_op_state(&late_op, &done), 0);
    }
    /* The op's words belong to the program again. */
    memset(&late_op, 0, sizeof late_op);
    return *(uint64_t *)(void *)word(1, 1) != round;
}

static void transfers_finish_by_themselves(void **state)
{
    (void)state;
    never(op_done_before_its_bytes);
    sometimes(op_pending_at_return);
}

static void closing_a_lane_completes_it(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        uint64_t round = ++last_round;
        send_everything(round);
        relax_ops.lane_close(&lanes[0]);
        assert_false(something_is_missing(round));
        assert_int_equal(relax_ops.lane_open(&lanes[0]), 0);
    }
}

/* ---- Bounds -------------------------------------------------------------------------------- */

static void a_full_queue_keeps_its_promises(void **state)
{
    (void)state;
    enum { STORES = 20000 };
    uint64_t seen = 0;
    for (uint64_t i = 1; i <= STORES; i++) {
        store(1, 1, i);
        set(2, 2 + i % 8, i);
        uint64_t now = peek(word(1, 1));
        assert_true(now >= seen && now <= i);
        seen = now;
    }
    quiet(0);
    assert_true(peek(word(1, 1)) == STORES);
}

static void payload_is_copied_within_bounds(void **state)
{
    (void)state;
    unsigned char *block = test_malloc(MIB);
    unsigned char *bank = unit_memory(&net, 1, DN_BANK);
    for (unsigned i = 0; i < 8; i++) {
        memset(block, (int)i + 1, MIB);
        assert_int_equal(relax_ops.botf(&lanes[0], unit_at(1, DN_BANK, i * MIB), block, MIB), 0);
    }
    memset(block, 0xff, MIB);
    quiet(0);
    for (unsigned i = 0; i < 8; i++) {
        memset(block, (int)i + 1, MIB);
        assert_memory_equal(bank + i * MIB, block, MIB);
    }
    test_free(block);
}

static void larger_blocks_go_at_once_and_in_order(void **state)
{
    (void)state;
    const uint64_t bytes = 5 * MIB;
    unsigned char *block = test_malloc(bytes);
    unsigned char *bank = unit_memory(&net, 1, DN_BANK);
    for (int i = 0; i < 8; i++) {
        uint64_t round = ++last_round;
        push(1, 1, round);
        fence();
        store(1, 2, round);
        memset(block, i + 1, bytes);
        if (i % 2 == 0) {
            assert_int_equal(relax_ops.botf(&lanes[0], unit_at(1, DN_BANK, 0), block, bytes), 0);
            /* In the ordered class the store came first, and the push before both. */
            assert_true(peek(word(1, 2)) == round);
        } else {
            assert_int_equal(relax_ops.put_signal(&lanes[0], unit_at(1, DN_BANK, 0), block, bytes,
                                                  word_at(1, 3), round),
                             0);
        }
        assert_true(peek(word(1, 1)) == round);
        assert_memory_equal(bank, block, bytes);
        memset(block, 0xff, bytes);
        quiet(0);
        assert_true(peek(word(1, 2)) == round);
        assert_true(peek(word(1, 3)) == (i % 2 == 0 ? 0 : round));
        memset(word(1, 3), 0, 8);
        assert_int_equal(bank[bytes - 1], i + 1);
    }
    test_free(block);
}

static void nothing_may_be_transferred(void **state)
{
    (void)state;
    struct dn_op ops[2];
    struct dn_remote end = unit_at(1, DN_BANK, 8 * MIB);
    bool done = false;
    assert_int_equal(relax_ops.botf(&lanes[0], end, NULL, 0), 0);
    assert_int_equal(relax_ops.push(&lanes[0], end, NULL, 0, &ops[0]), 0);
    assert_int_equal(relax_ops.pull(&lanes[0], end, NULL, 0, &ops[1]), 0);
    assert_int_equal(relax_ops.put_signal(&lanes[0], end, NULL, 0, word_at(1, 1), 77), 0);
    quiet(0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fabric_op_state(&ops[i], &done), 0);
        assert_true(done);
    }
    assert_true(peek(word(1, 1)) == 77);
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static void expect_refusal(struct dn_remote bad, int error)
{
    uint64_t data = 1;
    uint64_t old = 7;
    struct dn_op op = {{1, 2, 3, 4}};
    struct dn_remote good = word_at(1, 9);
    struct fabric_lane *lane = &lanes[0];
    if (error != DN_EALIGN) {
        assert_int_equal(relax_ops.botf(lane, bad, &data, 8), error);
        assert_int_equal(relax_ops.push(lane, bad, &data, 8, &op), error);
        assert_int_equal(relax_ops.pull(lane, bad, &data, 8, &op), error);
        assert_int_equal(relax_ops.put_signal(lane, bad, &data, 8, good, 1), error);
    }
    assert_int_equal(relax_ops.store(lane, bad, 1, 8), error);
    assert_int_equal(relax_ops.put_signal(lane, good, &data, 8, bad, 1), error);
    assert_int_equal(relax_ops.atomic(lane, bad, WIRE_ADD, 8, 1, 0, &old), error);
    assert_int_equal(relax_ops.atomic(lane, bad, WIRE_ADD, 8, 1, 0, NULL), error);
    assert_true(data == 1 && old == 7);
    assert_true(op.words[0] == 1 && op.words[1] == 2);
}

static void mistakes_are_answered_at_the_call(void **state)
{
    (void)state;
    uint32_t area = 0;
    assert_int_equal(group_area_register(&net.made.views[1], 0, 64, 0, &area), 0);
    expect_refusal(unit_at(-1, DN_LLCM, 0), DN_ERANK);
    expect_refusal(unit_at(NODES, DN_LLCM, 0), DN_ERANK);
    expect_refusal(unit_at(1, 0, 0), DN_EAREA);
    expect_refusal(unit_at(2, area, 0), DN_EAREA);
    expect_refusal(unit_at(1, DN_LLCM, 8192), DN_ERANGE);
    expect_refusal(unit_at(1, DN_LLCM, UINT64_MAX - 3), DN_ERANGE);
    expect_refusal(unit_at(1, area, 57), DN_ERANGE);
    expect_refusal(unit_at(1, DN_LLCM, 4), DN_EALIGN);
    assert_int_equal(group_area_deregister(&net.made.views[1], area), 0);
    expect_refusal(unit_at(1, area, 0), DN_ESTALE);
    /* An operation that was accepted before its target died is carried out all the same. */
    store(1, 1, 5);
    assert_true(group_life_end(lanes[0].view, 1, false));
    expect_refusal(word_at(1, 2), DN_EPEER);
    quiet(0);
    assert_true(peek(word(1, 1)) == 5);
    for (uint64_t number = 2; number < 128; number++) {
        assert_true(peek(word(1, number)) == 0);
    }
}

/* ---- Waking --------------------------------------------------------------------------------- */

static bool is_asleep(void)
{
    return atomic_load(&lanes[0].ports[1].call) & GROUP_CALL_SLEEPING;
}

static void fall_asleep(uint64_t number)
{
    const struct group_view *sleeper = &net.made.views[1];
    group_call_publish(sleeper, group_watch_of(sleeper, word(1, number)));
}

static void all_writers_but_stores_wake_who_watches(void **state)
{
    (void)state;
    uint64_t data = 3;
    group_call_publish(&net.made.views[1], GROUP_WATCH_ANYTHING);
    store(1, 1, 1);
    quiet(0);
    fence();
    assert_true(is_asleep());
    assert_int_equal(relax_ops.pull(&lanes[0], word_at(1, 1), &data, 8, NULL), 0);
    (void)fetch(1, 1);
    quiet(0);
    assert_true(is_asleep());
    fall_asleep(1);
    push(1, 2, 1); /* another line */
    quiet(0);
    assert_true(is_asleep());

    botf(1, 1, 1);
    quiet(0);
    assert_false(is_asleep());
    fall_asleep(1);
    push(1, 1, 1);
    quiet(0);
    assert_false(is_asleep());
    fall_asleep(1);
    set(1, 1, 1);
    quiet(0);
    assert_false(is_asleep());
    fall_asleep(2);
    put_signal(1, 1, 2, 1);
    quiet(0);
    assert_false(is_asleep());

    /* quiet and fence look at ranks with kicks. */
    atomic_store(&net.stored_to[0], 2);
    fall_asleep(1);
    store(1, 1, 2);
    quiet(0);
    assert_false(is_asleep());
    fall_asleep(1);
    fence();
    assert_false(is_asleep());
}

/* ---- Threads -------------------------------------------------------------------------------- */

enum { THREADS = 4, ADDS = 3000 };

static struct dn_op adders_ops[THREADS][ADDS];

/* Two threads to a lane; every atomic exactly once, every op finished. */
static void adders_run(uint32_t number, void *context)
{
    (void)context;
    struct fabric_lane *lane = &lanes[number % LANES];
    uint64_t source = number;
    bool done = false;
    for (uint32_t i = 0; i < ADDS; i++) {
        uint64_t old = 0;
        struct dn_op *op = &adders_ops[number][i];
        unit_expect(relax_ops.atomic(lane, word_at(1, 1), WIRE_ADD, 8, 1, 0, NULL) == 0);
        unit_expect(relax_ops.atomic(lane, word_at(2, 1), WIRE_ADD, 8, 1, 0, &old) == 0);
        unit_expect(relax_ops.push(lane, word_at(2, 8 + number), &source, 8, op) == 0);
        unit_expect(i % 16 != 0 || relax_ops.fence(lane) == 0);
        unit_expect(i % 256 != 0 || relax_ops.quiet(lane) == 0);
    }
    unit_expect(relax_ops.quiet(lane) == 0);
    for (uint32_t i = 0; i < ADDS; i++) {
        unit_expect(fabric_op_state(&adders_ops[number][i], &done) == 0 && done);
    }
}

static void threads_share_lanes(void **state)
{
    (void)state;
    unit_run_threads(THREADS, adders_run, NULL);
    assert_true(peek(word(1, 1)) == THREADS * ADDS);
    assert_true(peek(word(2, 1)) == THREADS * ADDS);
    for (uint64_t number = 1; number < THREADS; number++) {
        assert_true(peek(word(2, 8 + number)) == number);
    }
}

static uint64_t cpu_ns(const struct rusage *usage)
{
    return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000u;
}

static void an_idle_thread_sleeps(void **state)
{
    (void)state;
    struct rusage before;
    struct rusage after;
    store(1, 1, 1);
    quiet(0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    /* A thread that looked once in 200 microseconds would have slept 1000 times. */
    assert_true(after.ru_nvcsw - before.ru_nvcsw < 50);
    assert_true(cpu_ns(&after) - cpu_ns(&before) < 50 * UNIT_MS);
}

static void it_can_be_started_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(stop(NULL), 0);
        assert_int_equal(start(NULL), 0);
        assert_int_equal(open_lanes(NULL), 0);
        never(op_done_before_its_bytes);
        assert_int_equal(close_lanes(NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_lanes, close_lanes)
        TEST(fetches_are_done_at_return),
        TEST(quiet_completes_its_lane),
        TEST(transfers_finish_by_themselves),
        TEST(closing_a_lane_completes_it),
        TEST(a_full_queue_keeps_its_promises),
        TEST(payload_is_copied_within_bounds),
        TEST(larger_blocks_go_at_once_and_in_order),
        TEST(nothing_may_be_transferred),
        TEST(mistakes_are_answered_at_the_call),
        TEST(all_writers_but_stores_wake_who_watches),
        TEST(threads_share_lanes),
        TEST(an_idle_thread_sleeps),
        cmocka_unit_test(it_can_be_started_again),
    };
    return cmocka_run_group_tests_name("fabric/relax", tests, start, stop);
}
