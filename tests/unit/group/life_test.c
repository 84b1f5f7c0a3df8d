/* Lives and deaths. */
#include "unit/group.h"

#include "group/life.h"

static struct unit_group made;

static int make_group(void **state)
{
    (void)state;
    unit_group_make(&made, 3, 2);
    return 0;
}

static int free_group(void **state)
{
    (void)state;
    unit_group_free(&made);
    return 0;
}

static bool is_gone_to_senders(uint32_t rank)
{
    return atomic_load(&made.views[0].ports[rank].call) & GROUP_CALL_GONE;
}

static bool attach(const struct group_view *view, uint32_t process_id)
{
    return group_life_claim(view, process_id) && group_life_attach(view);
}

static void a_node_starts_attaches_and_leaves(void **state)
{
    (void)state;
    const struct group_view *own = &made.views[1];
    const struct group_view *peer = &made.views[0];
    assert_int_equal(group_life(peer, 1), DN_STARTING);
    assert_true(group_life_claim(own, 4711));
    assert_int_equal(atomic_load(&peer->ports[1].process_id), 4711);
    assert_int_equal(group_life(peer, 1), DN_STARTING);
    assert_true(group_life_attach(own));
    assert_int_equal(group_life(peer, 1), DN_ATTACHED);
    assert_false(is_gone_to_senders(1));
    group_life_leave(own);
    assert_int_equal(group_life(peer, 1), DN_LEFT);
    assert_true(is_gone_to_senders(1));
    /* Leaving is not dying, and the end of its process changes nothing. */
    assert_false(group_life_end(peer, 1, false));
    assert_int_equal(group_life(peer, 1), DN_LEFT);
    assert_false(group_deaths_beyond(peer, 0));
}

static void ending_at_rest_is_leaving(void **state)
{
    (void)state;
    const struct group_view *own = &made.views[1];
    const struct group_view *peer = &made.views[0];
    assert_true(attach(own, 4711));
    group_life_rest(own, true);
    assert_int_equal(group_life(peer, 1), DN_ATTACHED);
    assert_false(group_life_end(peer, 1, true));
    assert_int_equal(group_life(peer, 1), DN_LEFT);
    assert_false(group_deaths_beyond(peer, 0));
    /* Not if it ended badly, or had come back. */
    assert_true(attach(&made.views[2], 4712));
    group_life_rest(&made.views[2], true);
    group_life_rest(&made.views[2], false);
    assert_true(group_life_end(peer, 2, true));
    assert_true(attach(peer, 4713));
    group_life_rest(peer, true);
    assert_true(group_life_end(peer, 0, false));
    assert_int_equal(group_life(peer, 0), DN_DEAD);
}

static void a_rank_is_somebody_only_once(void **state)
{
    (void)state;
    const struct group_view *own = &made.views[1];
    assert_true(attach(own, 4711));
    assert_false(attach(own, 4712));
    assert_int_equal(group_life(own, 1), DN_ATTACHED);
    /* The launcher goes on watching the process that is attached. */
    assert_int_equal(atomic_load(&own->ports[1].process_id), 4711);
    group_life_leave(own);
    assert_false(attach(own, 4711));
    assert_int_equal(group_life(own, 1), DN_LEFT);
    /* Declared ended before it came. */
    assert_true(group_life_end(own, 2, false));
    assert_false(attach(&made.views[2], 4713));
    assert_int_equal(group_life(own, 2), DN_DEAD);
}

/* The second process must know before it touches anything of the rank's, while the first one is
 * still on its way. */
static void a_claim_is_for_good(void **state)
{
    (void)state;
    const struct group_view *own = &made.views[1];
    assert_true(group_life_claim(own, 4711));
    assert_false(group_life_claim(own, 4712));
    assert_false(group_life_claim(own, 4711)); /* after an exec, say */
    assert_int_equal(group_life(own, 1), DN_STARTING);
    /* It could not go on, and says so to those who wait for it. */
    group_life_leave(own);
    assert_int_equal(group_life(own, 1), DN_LEFT);
    assert_false(group_life_claim(own, 4712));
    /* The launcher has given the rank up before anybody came. */
    assert_true(group_life_end(own, 2, false));
    assert_false(group_life_claim(&made.views[2], 4713));
}

static void ends_are_judged_by_how_and_when(void **state)
{
    (void)state;
    static const struct {
        bool attached;
        bool well;
        enum dn_life life;
    } cases[] = {
        {false, true, DN_LEFT}, /* a program that never attached */
        {false, false, DN_DEAD},
        {true, true, DN_DEAD}, /* exit without dn_detach */
        {true, false, DN_DEAD},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct unit_group other;
        unit_group_make(&other, 2, 2);
        const struct group_view *launcher = &other.views[0];
        if (cases[i].attached) {
            assert_true(attach(&other.views[1], 1));
        }
        group_call_publish(&other.views[1], GROUP_WATCH_ANYTHING);
        bool death = group_life_end(launcher, 1, cases[i].well);
        assert_int_equal(death, cases[i].life == DN_DEAD);
        assert_int_equal(group_life(launcher, 1), cases[i].life);
        assert_int_equal(group_deaths_beyond(launcher, 0), death);
        assert_false(group_deaths_beyond(launcher, 1));
        uint64_t call = atomic_load(&launcher->ports[1].call);
        assert_true(call & GROUP_CALL_GONE);
        assert_false(call & (GROUP_CALL_SLEEPING | GROUP_CALL_WATCHING));
        assert_false(group_call_claim(launcher, 1));
        unit_group_free(&other);
    }
}

static void an_end_is_announced_once(void **state)
{
    (void)state;
    const struct group_view *launcher = &made.views[0];
    assert_true(attach(&made.views[1], 1));
    assert_true(group_life_end(launcher, 1, false));
    assert_false(group_life_end(launcher, 1, true));
    assert_int_equal(group_life(launcher, 1), DN_DEAD);
    assert_true(group_deaths_beyond(launcher, 0));
    assert_false(group_deaths_beyond(launcher, 1));
}

static void death_counts_may_wrap(void **state)
{
    (void)state;
    atomic_store(&made.group->death_count, 2);
    assert_true(group_deaths_beyond(&made.views[0], UINT32_MAX));
    assert_true(group_deaths_beyond(&made.views[0], 1));
    assert_false(group_deaths_beyond(&made.views[0], 2));
    assert_false(group_deaths_beyond(&made.views[0], 3));
}

static void alone_means_every_peer_is_gone(void **state)
{
    (void)state;
    const struct group_view *view = &made.views[1];
    assert_false(group_peers_all_gone(view));
    assert_true(group_life_end(view, 0, false));
    assert_false(group_peers_all_gone(view));
    assert_true(attach(&made.views[2], 1));
    group_life_leave(&made.views[2]);
    assert_true(group_peers_all_gone(view));
    assert_false(group_peers_all_gone(&made.views[0]));

    struct unit_group alone;
    unit_group_make(&alone, 1, 1);
    assert_false(group_peers_all_gone(&alone.views[0]));
    unit_group_free(&alone);
}

static void a_suspicion_is_taken_once(void **state)
{
    (void)state;
    const struct group_view *launcher = &made.views[0];
    uint32_t by = 77;
    assert_false(group_life_take_suspicion(launcher, 1, &by));
    assert_true(group_life_suspect(&made.views[2], 1));
    assert_false(group_life_suspect(&made.views[0], 1)); /* there is room for one */
    assert_true(group_life_suspect(&made.views[0], 2));
    assert_true(group_life_take_suspicion(launcher, 1, &by));
    assert_int_equal(by, 2);
    assert_false(group_life_take_suspicion(launcher, 1, &by));
    assert_true(group_life_suspect(&made.views[0], 1));
    assert_true(group_life_take_suspicion(launcher, 1, &by));
    assert_int_equal(by, 0);
    assert_true(group_life_take_suspicion(launcher, 2, &by));
    assert_int_equal(by, 0);
    /* Any node can write there. */
    const uint32_t nonsense[] = {4, 5, UINT32_MAX};
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&made.views[0].ports[1].suspected_by, nonsense[i]);
        assert_false(group_life_take_suspicion(launcher, 1, &by));
    }
}

/* Its process runs on, and may end well: it is dead all the same. */
static void who_is_held_for_dead_cannot_leave(void **state)
{
    (void)state;
    const struct group_view *own = &made.views[1];
    assert_true(attach(own, 4711));
    group_life_conclude(&made.views[0], 1, DN_DEAD);
    group_life_leave(own);
    assert_int_equal(group_life(own, 1), DN_DEAD);
    assert_false(group_life_end(&made.views[0], 1, true));
    assert_int_equal(group_life(own, 1), DN_DEAD);
    assert_false(group_deaths_beyond(own, 1));
}

/* ---- Several processes that were given the same rank ------------------------ */

struct contest {
    _Atomic uint32_t waiting;
    _Atomic uint32_t winner;
    _Atomic uint32_t winner_count;
};

enum { CONTESTANTS = 4 };

static void contest_run(uint32_t number, void *context)
{
    struct contest *contest = context;
    atomic_fetch_add(&contest->waiting, 1);
    while (atomic_load(&contest->waiting) < CONTESTANTS) {
        sched_yield();
    }
    if (attach(&made.views[1], 100 + number)) {
        atomic_store(&contest->winner, 100 + number);
        atomic_fetch_add(&contest->winner_count, 1);
    }
}

static void one_of_many_attaches(void **state)
{
    (void)state;
    for (int round = 0; round < 100; round++) {
        struct contest contest = {0};
        atomic_store(&made.views[1].ports[1].life, DN_STARTING);
        atomic_store(&made.views[1].ports[1].process_id, 0);
        unit_run_threads(CONTESTANTS, contest_run, &contest);
        assert_int_equal(atomic_load(&contest.winner_count), 1);
        assert_int_equal(atomic_load(&made.views[1].ports[1].process_id),
                         atomic_load(&contest.winner));
    }
}

/* ---- Who sees a death sees what the node did -------------------------------- */

struct last_words {
    uint64_t plain; /* written by the node that dies; read by one that learnt of the death */
    struct group_view *dying;
};

static void last_words_run(uint32_t number, void *context)
{
    struct last_words *words = context;
    if (number == 0) {
        words->plain = 42;
        (void)group_life_end(words->dying, words->dying->rank, false);
        return;
    }
    if (number == 1) {
        while (!group_deaths_beyond(words->dying, 0)) {
            sched_yield();
        }
        /* Only the count orders this; looking at the life would order it too. */
        unit_expect(words->plain == 42);
        unit_expect(group_life(words->dying, words->dying->rank) == DN_DEAD);
        return;
    }
    while (group_life(words->dying, words->dying->rank) != DN_DEAD) {
        sched_yield();
    }
    unit_expect(words->plain == 42);
}

static void a_death_comes_after_the_last_words(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        struct last_words words = {.dying = &made.views[2]};
        atomic_store(&made.views[2].ports[2].life, DN_ATTACHED);
        atomic_store(&made.group->death_count, 0);
        unit_run_threads(3, last_words_run, &words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_group, free_group)
        TEST(a_node_starts_attaches_and_leaves),
        TEST(ending_at_rest_is_leaving),
        TEST(a_rank_is_somebody_only_once),
        TEST(a_claim_is_for_good),
        TEST(ends_are_judged_by_how_and_when),
        TEST(an_end_is_announced_once),
        TEST(death_counts_may_wrap),
        TEST(alone_means_every_peer_is_gone),
        TEST(a_suspicion_is_taken_once),
        TEST(who_is_held_for_dead_cannot_leave),
        TEST(one_of_many_attaches),
        TEST(a_death_comes_after_the_last_words),
    };
    return cmocka_run_group_tests_name("nic/life", tests, NULL, NULL);
}
