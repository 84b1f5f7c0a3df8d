/* Machines in place: calls take what [call] says, what was written is there at once, and nodes that
 * share a core take turns. */
#include "unit/sim/program/players.h"

#define IN_PLACE(cores)                   \
    "[machine]\n"                         \
    "inherit = in-place\n"                \
    "text = a test\n"                     \
    "[call]\n"                            \
    "cores = " #cores " | assumed\n"      \
    "store_ns = 5 | assumed\n"            \
    "block_ns = 7 | assumed\n"            \
    "push_ns = 11 | assumed\n"            \
    "atomic_ns = 13 | assumed\n"          \
    "copy_mb_per_s = 1000 | assumed\n"    \
    "copy_near = 1000 | assumed\n"        \
    "copy_far_mb_per_s = 500 | assumed\n" \
    "look_ns = 3 | assumed\n"             \
    "see_ns = 100 | assumed\n"            \
    "meet_ns = 150 | assumed\n"           \
    "switch_ns = 1000 | assumed\n"        \
    "slice_ns = 50000 | assumed\n"

#define NS PS_PER_NS

static uint64_t ended_ps[NODES_MAX];

/* Does all steps so far, and gives the time. */
static uint64_t now_ps(struct player *player)
{
    (void)close_turn(player, TURN_SYNC, 0);
    return player->page->now_ps;
}

static void leave_at(struct player *player)
{
    ended_ps[player->rank] = now_ps(player);
    leave(player);
}

/* ---- What calls take ------------------------------------------------------------------------- */

static void make_calls(struct player *player)
{
    (void)attach(player);
    say(player, TURN_STORE, 8, 0);
    unit_expect(now_ps(player) == 5 * NS);
    say(player, TURN_BLOCK, 0, 400);
    unit_expect(now_ps(player) == (5 + 7 + 400) * NS);
    say(player, TURN_REQUEST, turn_asking(4, TURN_ASKS_ATOMIC), 8);
    unit_expect(now_ps(player) == (5 + 407 + 13) * NS);
    say(player, TURN_REQUEST, turn_asking(4, TURN_ASKS_PUSH), 3000);
    unit_expect(now_ps(player) == (5 + 407 + 13 + 11 + 1000 + 4000) * NS);
    say(player, TURN_LOOK, 8, 0);
    unit_expect(now_ps(player) == (5 + 407 + 13 + 5011 + 3) * NS);
    say(player, TURN_BLOCK, 0, 8); /* one store does it */
    unit_expect(now_ps(player) == (5 + 407 + 13 + 5011 + 3 + 5) * NS);
    say(player, TURN_BLOCK, 0, 9);
    unit_expect(now_ps(player) == (5 + 407 + 13 + 5011 + 3 + 5 + 7 + 9) * NS);
    leave(player);
}

static void calls_take_what_the_file_says(void **state)
{
    (void)state;
    machine_text = IN_PLACE(2);
    cast(1, make_calls, NULL);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
}

static void store_to_1(struct player *player)
{
    (void)attach(player);
    say(player, TURN_STORE, 8, 0);
    say_packet(player, 1, TURN_KICKED | TURN_WANTS_ACK, 1);
    wait_for(player, &player->acked, 1);
    leave(player);
}

static void wait_and_look_at(struct player *player, uint16_t what)
{
    (void)attach(player);
    wait_for(player, &player->arrived, 1);
    say(player, TURN_LOOK, what, 0);
    leave_at(player);
}

static void wait_and_look(struct player *player)
{
    wait_and_look_at(player, 8);
}

static void wait_for_something(struct player *player)
{
    wait_and_look_at(player, 0);
}

static void wait_to_meet(struct player *player)
{
    wait_and_look_at(player, TURN_MET);
}

static void what_was_stored_is_there_at_once_and_seen_later(void **state)
{
    (void)state;
    machine_text = IN_PLACE(2);
    cast(2, store_to_1, wait_and_look);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(players[1].arrived_ps, 5 * NS);
    assert_int_equal(players[0].acked_ps, 5 * NS);
    assert_int_equal(ended_ps[1], (5 + 100) * NS);
    cast(2, store_to_1, wait_for_something);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(ended_ps[1], (5 + 100) * NS);
}

static void who_meets_others_sees_it_later_still(void **state)
{
    (void)state;
    machine_text = IN_PLACE(2);
    cast(2, store_to_1, wait_to_meet);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(ended_ps[1], (5 + 150) * NS);
}

/* ---- Cores ----------------------------------------------------------------------------------- */

static void compute_some(struct player *player)
{
    (void)attach(player);
    say(player, TURN_COMPUTE, 0, 20000);
    leave_at(player);
}

static void nodes_with_a_core_each_compute_at_once(void **state)
{
    (void)state;
    machine_text = IN_PLACE(4);
    cast(4, compute_some, compute_some);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(ended_ps[rank], 20000 * NS);
    }
}

static void nodes_of_one_core_compute_one_after_the_other(void **state)
{
    (void)state;
    machine_text = IN_PLACE(2);
    cast(4, compute_some, compute_some);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint64_t before_ps = rank < 2 ? 0 : 21000 * NS; /* the other one, and a switch */
        assert_int_equal(ended_ps[rank], before_ps + 20000 * NS);
    }
}

static void compute_long(struct player *player)
{
    (void)attach(player);
    say(player, TURN_COMPUTE, 0, 120000);
    leave_at(player);
}

/* Slices of 50 us: 50 of node 0, 20 of node 1, which ends, then the rest of node 0. */
static void who_computes_long_gives_the_core_away_between(void **state)
{
    (void)state;
    machine_text = IN_PLACE(1);
    cast(2, compute_long, compute_some);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(ended_ps[1], (50000 + 1000 + 20000) * NS);
    assert_int_equal(ended_ps[0], (50000 + 1000 + 20000 + 1000 + 70000) * NS);
}

static void wait_and_compute(struct player *player)
{
    (void)attach(player);
    (void)close_turn(player, TURN_WAIT, 500);
    say(player, TURN_COMPUTE, 0, 20000);
    leave_at(player);
}

/* Node 0 waits first, so node 1 runs; when node 0's time is up its core is taken. */
static void who_waits_leaves_its_core(void **state)
{
    (void)state;
    machine_text = IN_PLACE(1);
    cast(2, wait_and_compute, compute_some);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(ended_ps[1], (1000 + 20000) * NS);
    assert_int_equal(ended_ps[0], (1000 + 20000 + 1000 + 20000) * NS);
}

static void die_at_once(struct player *player)
{
    player->dies = true;
    (void)attach(player);
}

static void who_dies_leaves_its_core(void **state)
{
    (void)state;
    machine_text = IN_PLACE(1);
    cast(2, die_at_once, compute_some);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(ended_ps[1], (1000 + 20000) * NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_take_what_the_file_says),
        cmocka_unit_test(what_was_stored_is_there_at_once_and_seen_later),
        cmocka_unit_test(who_meets_others_sees_it_later_still),
        cmocka_unit_test(nodes_with_a_core_each_compute_at_once),
        cmocka_unit_test(nodes_of_one_core_compute_one_after_the_other),
        cmocka_unit_test(who_computes_long_gives_the_core_away_between),
        cmocka_unit_test(who_waits_leaves_its_core),
        cmocka_unit_test(who_dies_leaves_its_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
