/* The call word: what a sleeper publishes, who claims it, and both at once. */
#include "unit/group.h"

#include "group/call.h"

#define SLEEP_BITS (GROUP_CALL_SLEEPING | GROUP_CALL_WATCHING)

static uint64_t word_of(const struct group_view *view, uint32_t rank)
{
    return atomic_load(&view->ports[rank].call);
}

static bool is_hinted(const struct group_view *view, uint32_t rank)
{
    return atomic_load(group_sleeping_word(view, rank)) >> (rank % 64) & 1;
}

static void a_sleeper_is_claimed_once(void **state)
{
    (void)state;
    /* More nodes than a hint word has bits. */
    static const uint32_t ranks[] = {0, 1, 63, 64, 69};
    struct unit_group made;
    unit_group_make(&made, 70, 2);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        uint32_t rank = ranks[i];
        const struct group_view *sleeper = &made.views[rank];
        const struct group_view *waker = &made.views[2];
        assert_false(group_call_claim(waker, rank));
        uint32_t lower = group_call_publish(sleeper, 5);
        assert_true(word_of(waker, rank) >> 32 == 5);
        assert_int_equal(word_of(waker, rank) & SLEEP_BITS, SLEEP_BITS);
        assert_int_equal(atomic_load(group_call_lower(waker, rank)), lower);
        assert_true(is_hinted(waker, rank));
        for (uint32_t other = 0; other < 70; other++) {
            assert_int_equal(is_hinted(waker, other), other == rank);
        }
        assert_true(group_call_claim(waker, rank));
        assert_int_equal(word_of(waker, rank) & SLEEP_BITS, 0);
        assert_int_not_equal(atomic_load(group_call_lower(waker, rank)), lower);
        assert_false(is_hinted(waker, rank));
        assert_false(group_call_claim(waker, rank));
    }
    unit_group_free(&made);
}

static void publishing_again_changes_only_the_watch(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    const struct group_view *view = &made.views[0];
    uint32_t lower = group_call_publish(view, 5);
    /* A second thread sleeps too: the first one's sleep is not disturbed. */
    assert_int_equal(group_call_publish(view, GROUP_WATCH_ANYTHING), lower);
    assert_true(word_of(view, 0) >> 32 == GROUP_WATCH_ANYTHING);
    assert_true(group_call_claim(view, 0));
    assert_false(group_call_claim(view, 0));
    unit_group_free(&made);
}

static void only_writers_of_the_watched_line_wake(void **state)
{
    (void)state;
    static const struct {
        uint32_t watch;
        uint32_t first;
        uint32_t last;
        bool wakes;
    } cases[] = {
        {5, 5, 5, true},
        {5, 0, 5, true},
        {5, 5, 9, true},
        {5, 0, 9, true},
        {5, 0, 4, false},
        {5, 6, 9, false},
        {5, 1, 0, true}, /* may have written anything */
        {0, 0, 0, true},
        {GROUP_WATCH_ANYTHING, 7, 7, true},
        {GROUP_WATCH_ANYTHING, 1, 0, true},
        {GROUP_WATCH_NOTHING, 0, GROUP_WATCH_NOTHING - 1, false},
        {GROUP_WATCH_NOTHING, 1, 0, false},
    };
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t lower = group_call_publish(&made.views[1], cases[i].watch);
        assert_int_equal(
            group_call_claim_watching(&made.views[0], 1, cases[i].first, cases[i].last),
            cases[i].wakes);
        /* A sleeper that is not woken stays as it was, and a death or barrier still finds it. */
        bool changed = atomic_load(group_call_lower(&made.views[0], 1)) != lower;
        assert_int_equal(changed, cases[i].wakes);
        assert_int_equal(is_hinted(&made.views[0], 1), !cases[i].wakes);
        assert_int_equal(group_call_claim(&made.views[0], 1), !cases[i].wakes);
    }
    unit_group_free(&made);
}

static void the_sequence_wraps_within_its_half(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 1, 1);
    const struct group_view *view = &made.views[0];
    uint64_t last = GROUP_CALL_LOWER & ~SLEEP_BITS; /* and gone, by packets, restricted */
    atomic_store(&view->ports[0].call, last);
    uint32_t lower = group_call_publish(view, 5);
    assert_true(lower == GROUP_CALL_LOWER);
    assert_true(group_call_claim(view, 0));
    assert_true(word_of(view, 0) ==
                (GROUP_CALL_GONE | GROUP_CALL_BY_PACKETS | GROUP_CALL_RESTRICTED));
    unit_group_free(&made);
}

static void watches_name_lines_of_the_node(void **state)
{
    (void)state;
    struct unit_group made;
    unit_group_make(&made, 2, 2);
    const struct group_view *view = &made.views[1];
    const unsigned char *memory = group_node_memory(view, 1);
    assert_true(group_watch_of(view, memory) == 0);
    assert_true(group_watch_of(view, memory + 63) == 0);
    assert_true(group_watch_of(view, memory + 64) == 1);
    assert_true(group_watch_of(view, memory + view->node_stride_bytes - 1) ==
                view->node_stride_bytes / 64 - 1);
    assert_true(group_watch_of(view, memory + view->node_stride_bytes) == GROUP_WATCH_NOTHING);
    assert_true(group_watch_of(view, memory - 1) == GROUP_WATCH_NOTHING);
    assert_true(group_watch_of(view, &made) == GROUP_WATCH_NOTHING);

    assert_true(group_watch_join(3, 3) == 3);
    assert_true(group_watch_join(3, 4) == GROUP_WATCH_ANYTHING);
    assert_true(group_watch_join(3, GROUP_WATCH_NOTHING) == 3);
    assert_true(group_watch_join(GROUP_WATCH_NOTHING, 4) == 4);
    assert_true(group_watch_join(GROUP_WATCH_NOTHING, GROUP_WATCH_NOTHING) == GROUP_WATCH_NOTHING);
    assert_true(group_watch_join(GROUP_WATCH_ANYTHING, GROUP_WATCH_NOTHING) ==
                GROUP_WATCH_ANYTHING);
    assert_true(group_watch_join(3, GROUP_WATCH_ANYTHING) == GROUP_WATCH_ANYTHING);
    unit_group_free(&made);
}

/* ---- At once ---------------------------------------------------------------- */

enum { CLAIMERS = 3, WATCHED_LINE = 9 };

struct race {
    struct unit_group made;
    _Atomic uint32_t round;   /* the one that senders may run */
    _Atomic uint32_t claimed; /* claims that succeeded, over all rounds */
    _Atomic uint32_t reached[CLAIMERS];
    _Atomic bool over;
};

static bool all_reached(struct race *race, uint32_t round)
{
    for (uint32_t i = 0; i < CLAIMERS; i++) {
        if (atomic_load(&race->reached[i]) != round) {
            return false;
        }
    }
    return true;
}

/* Waits for a round that has not run yet; false: there is none. */
static bool next_round(struct race *race, uint32_t *round)
{
    uint32_t last = *round;
    while ((*round = atomic_load(&race->round)) == last) {
        if (atomic_load(&race->over)) {
            return false;
        }
        sched_yield();
    }
    return true;
}

static void one_claimer_run(uint32_t number, void *context)
{
    struct race *race = context;
    uint64_t end_ns = unit_now_ns() + 250 * UNIT_MS;
    if (number < CLAIMERS) {
        uint32_t round = 0;
        while (next_round(race, &round)) {
            /* One by one and all together: no mix of claimers may wake twice. */
            bool claimed = number % 2 == 0
                               ? group_call_claim(&race->made.views[number], CLAIMERS)
                               : group_call_claim_watching(&race->made.views[number], CLAIMERS,
                                                           WATCHED_LINE, WATCHED_LINE);
            if (claimed) {
                atomic_fetch_add(&race->claimed, 1);
            }
            atomic_store(&race->reached[number], round);
        }
        return;
    }
    uint32_t round = 0;
    while (unit_now_ns() < end_ns || round < 10) {
        group_call_publish(&race->made.views[CLAIMERS], WATCHED_LINE);
        atomic_store(&race->round, ++round);
        while (!all_reached(race, round)) {
            sched_yield();
        }
        unit_expect(atomic_load(&race->claimed) == round);
    }
    atomic_store(&race->over, true);
}

static void exactly_one_of_many_claimers_wakes(void **state)
{
    (void)state;
    static struct race race;
    memset(&race, 0, sizeof race);
    unit_group_make(&race.made, CLAIMERS + 1, 2);
    unit_run_threads(CLAIMERS + 1, one_claimer_run, &race);
    assert_int_equal(word_of(&race.made.views[0], CLAIMERS) & GROUP_CALL_LOWER,
                     atomic_load(&race.claimed) * GROUP_CALL_SEQUENCE);
    unit_group_free(&race.made);
}

/* A sender that makes its data visible before it looks never leaves a sleeper asleep. The live code
 * uses membarrier for that; here it is a full fence. */
static void send(struct race *race, uint32_t number, uint32_t round)
{
    atomic_store_explicit(&race->reached[number], round, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (group_call_claim_watching(&race->made.views[number], CLAIMERS, WATCHED_LINE,
                                  WATCHED_LINE)) {
        atomic_fetch_add(&race->claimed, 1);
    }
}

/* Gives the number of times it slept. */
static uint32_t sleep_until_all_reached(struct race *race, uint32_t round)
{
    const struct group_view *view = &race->made.views[CLAIMERS];
    uint32_t sleeps = 0;
    uint64_t deadline_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    while (!all_reached(race, round)) {
        uint32_t lower = group_call_publish(view, WATCHED_LINE);
        if (all_reached(race, round)) {
            break;
        }
        sleeps++;
        while (atomic_load(group_call_lower(view, CLAIMERS)) == lower) {
            if (unit_now_ns() > deadline_ns) {
                unit_fault(__FILE__, __LINE__, "a sleeper slept on beside its data");
                return sleeps;
            }
            sched_yield();
        }
    }
    return sleeps;
}

static void no_wake_lost_run(uint32_t number, void *context)
{
    struct race *race = context;
    if (number < CLAIMERS) {
        uint32_t round = 0;
        while (next_round(race, &round)) {
            send(race, number, round);
        }
        return;
    }
    uint64_t end_ns = unit_now_ns() + 400 * UNIT_MS;
    uint32_t sleeps = 0;
    uint32_t round = 0;
    while (unit_now_ns() < end_ns || sleeps < 10) {
        atomic_store(&race->round, ++round);
        sleeps += sleep_until_all_reached(race, round);
    }
    atomic_store(&race->over, true);
}

static void no_wake_is_lost(void **state)
{
    (void)state;
    static struct race race;
    memset(&race, 0, sizeof race);
    unit_group_make(&race.made, CLAIMERS + 1, 2);
    unit_run_threads(CLAIMERS + 1, no_wake_lost_run, &race);
    /* Every claim raised the sequence, and nothing else did. */
    assert_int_equal(word_of(&race.made.views[0], CLAIMERS) & GROUP_CALL_LOWER & ~SLEEP_BITS,
                     atomic_load(&race.claimed) * GROUP_CALL_SEQUENCE);
    unit_group_free(&race.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_is_claimed_once),
        cmocka_unit_test(publishing_again_changes_only_the_watch),
        cmocka_unit_test(only_writers_of_the_watched_line_wake),
        cmocka_unit_test(the_sequence_wraps_within_its_half),
        cmocka_unit_test(watches_name_lines_of_the_node),
        cmocka_unit_test(exactly_one_of_many_claimers_wakes),
        cmocka_unit_test(no_wake_is_lost),
    };
    return cmocka_run_group_tests_name("nic/call", tests, NULL, NULL);
}
