/* The simulator's side of turns, with threads of this test as programs: virtual time begins when
 * all are there, packets and acknowledgements come, deaths and departures are announced, and
 * whatever a program writes over its page, the run ends with a sentence. */
#include "unit/sim/program/players.h"

/* ---- Packets --------------------------------------------------------------------------------- */

static void store_and_leave(struct player *player)
{
    if (attach(player)) {
        say(player, TURN_STORE, 8, 0);
        say_packet(player, 1, TURN_KICKED | TURN_WANTS_ACK, 7);
        wait_for(player, &player->acked, 1);
        leave(player);
    }
}

static void receive_and_leave(struct player *player)
{
    if (attach(player)) {
        wait_for(player, &player->arrived, 1);
        leave(player);
    }
}

static void a_stored_packet_arrives_and_is_acknowledged(void **state)
{
    (void)state;
    cast(2, store_and_leave, receive_and_leave);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_string_equal(error, "");
    assert_int_equal(players[0].attached_ps, 0);
    assert_int_equal(players[1].attached_ps, 0);
    assert_int_equal(players[1].arrived, 1);
    assert_int_equal(players[1].last_number, 7);
    assert_int_equal(players[1].body[BODY_BYTES - 1], 7);
    assert_int_equal(players[0].acked, 1);
    assert_int_equal(players[0].last_number, 7);
    assert_int_equal(players[0].last_cookie, 1007);
    /* A packet takes longer than the store, and its acknowledgement comes after it. */
    assert_true(players[1].arrived_ps > 500 * PS_PER_NS);
    assert_true(players[0].acked_ps > players[1].arrived_ps);
    assert_int_equal(result.counters.packets, 2);
    assert_true(result.is_deterministic);
}

static void a_run_is_repeated_exactly(void **state)
{
    (void)state;
    cast(2, store_and_leave, receive_and_leave);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    const struct sim_programs_result first = result;
    uint64_t arrived_ps = players[1].arrived_ps;
    for (int again = 0; again < 5; again++) {
        cast(2, store_and_leave, receive_and_leave);
        assert_int_equal(run(), SIM_PROGRAMS_DONE);
        assert_true(result.hash == first.hash);
        assert_int_equal(result.virtual_ps, first.virtual_ps);
        assert_int_equal(result.turns, first.turns);
        assert_int_equal(players[1].arrived_ps, arrived_ps);
    }
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void do_not_come(struct player *player)
{
    (void)player;
}

static uint64_t computed_ps, waited_ps;

static void compute_and_leave(struct player *player)
{
    if (attach(player)) {
        say(player, TURN_COMPUTE, 0, 12345);
        (void)close_turn(player, TURN_SYNC, 0);
        computed_ps = player->page->now_ps;
        (void)close_turn(player, TURN_WAIT, 678);
        waited_ps = player->page->now_ps;
        leave(player);
    }
}

static void computing_and_waiting_take_as_long_as_they_say(void **state)
{
    (void)state;
    cast(2, compute_and_leave, do_not_come);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(computed_ps, 12345 * PS_PER_NS);
    assert_int_equal(waited_ps, (12345 + 678) * PS_PER_NS);
}

static void assert_span(uint32_t number, enum sim_program_doing doing, uint64_t ns)
{
    assert_true(number < span_counts[0]);
    assert_int_equal(spans[0][number].ps[doing], ns * PS_PER_NS);
    assert_int_equal(sim_program_span_ps(&spans[0][number]), ns * PS_PER_NS);
}

static void spans_say_what_was_done_when(void **state)
{
    (void)state;
    cast(2, compute_and_leave, do_not_come);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(span_counts[0], 2);
    assert_span(0, SIM_PROGRAM_COMPUTES, 12345);
    assert_span(1, SIM_PROGRAM_WAITS, 678);
    assert_int_equal(times[0].compute_ps, 12345 * PS_PER_NS);
    assert_int_equal(times[0].waiting_ps, 678 * PS_PER_NS);
    assert_int_equal(times[0].end_ps, (12345 + 678) * PS_PER_NS);
    assert_int_equal(span_counts[1], 0);
    assert_int_equal(times[1].end_ps, 0);
}

/* Of whoever has not left, too, all time up to the end of the run is somewhere. */
static void assert_times_are_whole(void)
{
    for (uint32_t rank = 0; rank < node_count; rank++) {
        uint64_t sum_ps = 0;
        for (uint32_t i = 0; i < span_counts[rank]; i++) {
            sum_ps += sim_program_span_ps(&spans[rank][i]);
        }
        assert_int_equal(sum_ps, times[rank].end_ps);
        assert_int_equal(times[rank].compute_ps + times[rank].waiting_ps + times[rank].working_ps,
                         times[rank].end_ps);
    }
}

/* A store of 24 bytes and its acknowledgement on dimmnet1-D: each stage has had one of each. */
static void stages_have_what_the_machine_says(void **state)
{
    (void)state;
    struct sim_machine machine;
    assert_true(sim_machine_load(&machine, "dimmnet1-D", error));
    cast(2, store_and_leave, receive_and_leave);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    static const enum sim_stage_name of_all[] = {SIM_STAGE_SIZE_DECISION, SIM_STAGE_SEND_BUFFER,
                                                 SIM_STAGE_SWIF_SEND};
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (unsigned i = 0; i < 3; i++) {
            const struct sim_stage *stage = &machine.stages[of_all[i]];
            const struct sim_stage_use *use = &uses[rank].stages[of_all[i]];
            uint64_t ps = stage->cycles * sim_machine_period(&machine, (unsigned)stage->clock);
            assert_int_equal(use->count, 1);
            assert_int_equal(use->inside_ps, ps);
            assert_int_equal(use->busy_ps, ps);
        }
        assert_int_equal(uses[rank].stages[SIM_STAGE_LINK].count, 1);
        assert_int_equal(uses[rank].stages[SIM_STAGE_HOST_WRITE].count, rank == 0);
        assert_int_equal(uses[rank].sent, 1);
        assert_int_equal(uses[rank].received, 1);
        assert_int_equal(uses[rank].sent_bytes, uses[1 - rank].received_bytes);
    }
    assert_times_are_whole();
    sim_machine_free(&machine);
}

static void wait_for_ever(struct player *player)
{
    if (attach(player)) {
        wait_for(player, &player->arrived, 1);
        if (!player->is_over) {
            leave(player);
        }
    }
}

static void who_all_wait_for_ever_are_told_so(void **state)
{
    (void)state;
    cast(3, wait_for_ever, wait_for_ever);
    assert_int_equal(run(), SIM_PROGRAMS_DEADLOCK);
    assert_non_null(strstr(error, "deadlock"));
    assert_non_null(strstr(error, "3 nodes wait, the first of them node 0"));
    assert_times_are_whole();
}

static void compute_and_wait_for_ever(struct player *player)
{
    if (attach(player)) {
        say(player, TURN_COMPUTE, 0, 1000);
        (void)close_turn(player, TURN_SYNC, 0);
        wait_for(player, &player->arrived, 1);
    }
}

static void who_never_leaves_has_time_up_to_the_end(void **state)
{
    (void)state;
    cast(2, compute_and_wait_for_ever, wait_for_ever);
    assert_int_equal(run(), SIM_PROGRAMS_DEADLOCK);
    assert_times_are_whole();
    assert_int_equal(times[0].compute_ps, 1000 * PS_PER_NS);
    assert_int_equal(times[1].waiting_ps, 1000 * PS_PER_NS);
    assert_int_equal(times[1].end_ps, 1000 * PS_PER_NS);
}

static void compute_long(struct player *player)
{
    if (attach(player)) {
        say(player, TURN_COMPUTE, 0, 1000000);
        (void)close_turn(player, TURN_SYNC, 0);
    }
}

static void the_limit_ends_a_run(void **state)
{
    (void)state;
    cast(2, compute_long, compute_long);
    assert_int_equal(run_within(5000 * PS_PER_NS), SIM_PROGRAMS_LIMIT);
    assert_string_equal(error, "virtual time is up");
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static void wait_for_a_life(struct player *player)
{
    if (attach(player)) {
        wait_for(player, &player->lives[0][DN_DEAD], 1);
        leave(player);
    }
}

static void end_without_leaving(struct player *player)
{
    player->dies = attach(player);
}

static void who_dies_is_announced_after_the_notice(void **state)
{
    (void)state;
    cast(3, end_without_leaving, wait_for_a_life);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    for (uint32_t rank = 1; rank < 3; rank++) {
        assert_int_equal(players[rank].lives[0][DN_ATTACHED], 1);
        assert_int_equal(players[rank].lives[0][DN_DEAD], 1);
        assert_int_equal(players[rank].lives[0][DN_LEFT], 0);
        assert_int_equal(players[rank].life_ps, 5000 * PS_PER_NS);
    }
    assert_times_are_whole();
}

static void end_because_cut(struct player *player)
{
    if (attach(player)) {
        sim_programs_cut(player->programs);
        player->dies = true;
    }
}

static void who_is_made_to_end_does_not_end_the_run_well(void **state)
{
    (void)state;
    cast(2, end_because_cut, end_because_cut);
    assert_int_equal(run(), SIM_PROGRAMS_STOPPED);
    assert_string_equal(error, "");
    cast(2, end_without_leaving, end_without_leaving);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
}

static void wait_until_left(struct player *player)
{
    if (attach(player)) {
        wait_for(player, &player->lives[0][DN_LEFT], 1);
        leave(player);
    }
}

static void who_ends_well_without_attaching_has_left(void **state)
{
    (void)state;
    cast(3, do_not_come, wait_until_left);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(players[1].lives[0][DN_LEFT], 1);
    assert_int_equal(players[2].lives[0][DN_LEFT], 1);
    assert_int_equal(players[1].lives[0][DN_ATTACHED], 0);
    assert_int_equal(players[1].lives[2][DN_ATTACHED], 1);
}

static void die_at_the_door(struct player *player)
{
    player->dies = true;
}

static void who_dies_before_attaching_is_dead_from_the_beginning(void **state)
{
    (void)state;
    cast(2, die_at_the_door, wait_for_a_life);
    assert_int_equal(run(), SIM_PROGRAMS_DONE);
    assert_int_equal(players[1].lives[0][DN_DEAD], 1);
    assert_int_equal(players[1].life_ps, 0);
}

static void stop_the_run(struct player *player)
{
    sim_programs_stop(player->programs);
}

static void stopping_ends_a_run_that_still_gathers(void **state)
{
    (void)state;
    cast(2, stop_the_run, wait_for_ever);
    assert_int_equal(run(), SIM_PROGRAMS_STOPPED);
}

/* ---- Nonsense on a page ---------------------------------------------------------------------- */

static void (*spoil)(struct player *player);

static void write_nonsense(struct player *player)
{
    if (attach(player)) {
        spoil(player);
        (void)stand(player);
    }
}

static void say_nothing(struct player *player)
{
    (void)player;
}

static void say_no_end(struct player *player)
{
    say(player, TURN_STORE, 8, 0);
}

static void lie_about_the_bytes(struct player *player)
{
    say(player, TURN_WAIT, 0, 1);
    player->page->from_program_bytes = TURN_ROOM_BYTES + 16;
}

static void lie_about_a_record(struct player *player)
{
    say(player, TURN_STORE, 8, 0);
    memset(player->page->from_program, 0xff, sizeof(uint32_t));
    say(player, TURN_WAIT, 0, 1);
}

static void send_to_nobody(struct player *player)
{
    say(player, TURN_STORE, 8, 0);
    say_packet(player, (uint16_t)node_count, TURN_KICKED, 1);
    say(player, TURN_SYNC, 0, 0);
}

static void send_too_much(struct player *player)
{
    struct turn_page *page = player->page;
    const struct turn_packet packet = {.peer = 1, .bytes = 60000, .number = 1};
    unsigned char *load = turn_put(page->from_program, &page->from_program_bytes, TURN_PACKET, 0, 0,
                                   sizeof packet + packet.bytes);
    memcpy(load, &packet, sizeof packet);
    say(player, TURN_SYNC, 0, 0);
}

static void lie_about_a_packet(struct player *player)
{
    struct turn_page *page = player->page;
    const struct turn_packet packet = {.peer = 1, .bytes = 400, .number = 1};
    unsigned char *load = turn_put(page->from_program, &page->from_program_bytes, TURN_PACKET, 0, 0,
                                   sizeof packet);
    memcpy(load, &packet, sizeof packet);
    say(player, TURN_SYNC, 0, 0);
}

static void have_another_class(struct player *player)
{
    struct turn_page *page = player->page;
    const struct turn_packet packet = {.peer = 1, .class = 200, .number = 1};
    unsigned char *load = turn_put(page->from_program, &page->from_program_bytes, TURN_PACKET, 0, 0,
                                   sizeof packet);
    memcpy(load, &packet, sizeof packet);
    say(player, TURN_SYNC, 0, 0);
}

static void nonsense_ends_the_run_with_a_sentence(void **state)
{
    static void (*const spoils[])(struct player *) = {
        say_nothing,    say_no_end,    lie_about_the_bytes, lie_about_a_record,
        send_to_nobody, send_too_much, lie_about_a_packet,  have_another_class};
    (void)state;
    for (size_t i = 0; i < sizeof spoils / sizeof spoils[0]; i++) {
        spoil = spoils[i];
        cast(2, write_nonsense, wait_for_ever);
        assert_int_equal(run(), SIM_PROGRAMS_STOPPED);
        assert_string_equal(error, "node 0 wrote over its page of turns");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_packet_arrives_and_is_acknowledged),
        cmocka_unit_test(a_run_is_repeated_exactly),
        cmocka_unit_test(computing_and_waiting_take_as_long_as_they_say),
        cmocka_unit_test(spans_say_what_was_done_when),
        cmocka_unit_test(stages_have_what_the_machine_says),
        cmocka_unit_test(who_all_wait_for_ever_are_told_so),
        cmocka_unit_test(who_never_leaves_has_time_up_to_the_end),
        cmocka_unit_test(the_limit_ends_a_run),
        cmocka_unit_test(who_dies_is_announced_after_the_notice),
        cmocka_unit_test(who_is_made_to_end_does_not_end_the_run_well),
        cmocka_unit_test(who_ends_well_without_attaching_has_left),
        cmocka_unit_test(who_dies_before_attaching_is_dead_from_the_beginning),
        cmocka_unit_test(stopping_ends_a_run_that_still_gathers),
        cmocka_unit_test(nonsense_ends_the_run_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
