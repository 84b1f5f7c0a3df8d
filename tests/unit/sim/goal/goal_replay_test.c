/* Schedules on simulated machines: operations take the time of the steps that they are made of,
 * start when what they need is done, and overlap where cpus are different. */
#include "base/random.h"
#include "goal_world.h"
#include "sim/goal/goal_replay.h"
#include "unit/sim/model/world_by_hand.h"

enum { READ_NS = 173 };

static struct sim_machine machine;

static struct goal_replay_wish wish_for(const struct goal *goal)
{
    return (struct goal_replay_wish){.goal = goal,
                                     .machine = &machine,
                                     .topology = SIM_TOPOLOGIES,
                                     .push_bytes = GOAL_PUSH_USUAL,
                                     .limit_ps = UINT64_C(1000000000000000)};
}

static struct goal_replay_result run(const struct goal_replay_wish *wish)
{
    char error[SIM_ERROR_BYTES] = "";
    struct goal_replay_result result;
    assert_true(goal_check(wish->goal, error));
    bool done = goal_replay(wish, &result, error);
    if (!done) {
        print_error("%s\n", error);
    }
    assert_true(done);
    return result;
}

/* When the ranks end on the machine by hand, in ns. */
static struct goal_replay_result play(const char *text)
{
    struct goal goal = goal_from(text);
    fill(&machine);
    const struct goal_replay_wish wish = wish_for(&goal);
    struct goal_replay_result result = run(&wish);
    goal_close(&goal);
    return result;
}

static void takes(const char *text, uint64_t expected_ns)
{
    struct goal_replay_result result = play(text);
    assert_int_equal(result.virtual_ps, expected_ns * NS);
    free(result.end_ps);
}

/* ---- Needs and cpus ------------------------------------------------------------------------ */

static void a_cpu_computes_one_thing_at_a_time(void **state)
{
    (void)state;
    takes("num_ranks 1", 0);
    takes("num_ranks 1 rank 0 { calc 1000 calc 500 calc 0 }", 1500);
    takes("num_ranks 1 rank 0 { calc 1000 calc 500 cpu 1 calc 600 cpu 63 }", 1000);
    takes("num_ranks 2 rank 0 { calc 1000 } rank 1 { calc 500 }", 1000);
}

static void operations_wait_for_what_they_need(void **state)
{
    (void)state;
    takes("num_ranks 1 rank 0 { a: calc 1000 b: calc 500 cpu 1 b requires a }", 1500);
    takes("num_ranks 1 rank 0 { a: calc 1000 b: calc 500 cpu 1 b irequires a }", 1000);
    /* a is the second thing that its cpu does. */
    takes("num_ranks 1 rank 0 { calc 300 a: calc 1000 b: calc 1500 cpu 1 b irequires a }", 1800);
    /* To and fro between cpus; c needs two that end at different times. */
    takes("num_ranks 1 rank 0 { a: calc 10 b: calc 20 cpu 1 c: calc 30 d: calc 40 cpu 1 e: calc 70 "
          "cpu 2 b requires a c requires b d requires c d requires e }",
          110);
}

/* What became ready first is done first, whatever the file's order. */
static void operations_are_done_in_the_order_in_which_they_may(void **state)
{
    (void)state;
    struct goal_replay_result result = play(
        "num_ranks 1 rank 0 { late: calc 10 early: calc 20 a: calc 100 b: calc 5 cpu 1 c: calc 50 "
        "cpu 1 end: calc 1000 cpu 2 late requires c early requires b end requires early }");
    /* a until 100; early is ready at 5 and late at 55, so early ends at 120. */
    assert_int_equal(result.virtual_ps, 1120 * NS);
    assert_int_equal(result.compute_ps, (10 + 20 + 100 + 5 + 50 + 1000) * NS);
    free(result.end_ps);
}

/* ---- Messages ------------------------------------------------------------------------------ */

struct by_hand {
    uint32_t blocks;
    uint64_t push_bytes;
    uint32_t i;
    uint64_t ended_ps;
};

static unsigned char data[100000];

static void send_by_hand(struct sim_host *host)
{
    struct by_hand *mine = host->locals;
    SIM_BEGIN(host);
    for (mine->i = 0; mine->i < mine->blocks; mine->i++) {
        SIM_STEP(host, sim_block(host, sim_remote(1, 4096), data, WIRE_BOTF_BYTES_MAX));
    }
    if (mine->push_bytes > 0) {
        SIM_STEP(host, sim_push(host, sim_remote(1, 4096), data, mine->push_bytes));
    }
    SIM_STEP(host, sim_store(host, sim_kick(host, 1, 0), 1, 8));
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void receive_by_hand(struct sim_host *host)
{
    struct by_hand *mine = host->locals;
    SIM_BEGIN(host);
    SIM_STEP(host, sim_poll(host, 0, 8, UINT64_MAX, 1));
    mine->ended_ps = host->now_ps;
    SIM_END(host);
}

static void a_message_is_blocks_or_a_push_and_a_flag(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, push_above;
        struct by_hand hand;
    } cases[] = {
        {0, 464, {0}},
        {4, 464, {0}},
        {464, 464, {.blocks = 1}},
        {465, 464, {.push_bytes = 465}},
        {100000, 464, {.push_bytes = 100000}},
        {100 * 464, 100 * 464, {.blocks = 100}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "num_ranks 2 rank 0 { send %llub to 1 } rank 1 { recv 1b from 0 }",
                       (unsigned long long)cases[i].bytes);
        struct goal goal = goal_from(text);
        fill(&machine);
        struct goal_replay_wish wish = wish_for(&goal);
        wish.push_bytes = cases[i].push_above;
        struct goal_replay_result result = run(&wish);
        struct by_hand sender = cases[i].hand;
        struct by_hand receiver = {0};
        struct sim_world *world = open_world(&machine, 2, SIM_ONE_SWITCH, false);
        sim_world_start(world, 0, 0, send_by_hand, &sender, 0);
        sim_world_start(world, 1, 0, receive_by_hand, &receiver, 0);
        ends_well(world);
        sim_world_close(world);
        assert_int_equal(result.end_ps[0], sender.ended_ps);
        assert_int_equal(result.end_ps[1], receiver.ended_ps);
        assert_int_equal(result.bytes, cases[i].bytes);
        assert_int_equal(result.messages, 1);
        free(result.end_ps);
        goal_close(&goal);
    }
}

static void a_message_that_has_come_costs_one_read(void **state)
{
    (void)state;
    struct goal_replay_result result = play(
        "num_ranks 2 rank 0 { send 8b to 1 } rank 1 { a: calc 50000 b: recv 8b from 0 "
        "b requires a }");
    assert_int_equal(result.end_ps[1], (50000 + READ_NS) * NS);
    free(result.end_ps);
    /* The flag counts both, so the second is known when its receive starts: one read more. */
    result = play(
        "num_ranks 2 rank 0 { send 8b to 1 send 8b to 1 tag 1 } rank 1 { a: calc 50000 "
        "b: recv 8b from 0 c: calc 1000 d: recv 8b from 0 tag 1 b requires a c requires b "
        "d requires c }");
    assert_int_equal(result.end_ps[1], (50000 + READ_NS + 1000 + READ_NS) * NS);
    assert_int_equal(result.communicate_ps - result.end_ps[0], 2 * READ_NS * NS);
    free(result.end_ps);
    /* Both have started: one read finds both. */
    result = play("num_ranks 2 rank 0 { send 8b to 1 send 8b to 1 tag 1 } rank 1 { calc 50000 "
                  "recv 8b from 0 tag 1 recv 8b from 0 }");
    assert_int_equal(result.end_ps[1], (50000 + READ_NS) * NS);
    free(result.end_ps);
}

static void no_receive_holds_up_another(void **state)
{
    (void)state;
    /* The first one of the file needs what the second one lets go. */
    struct goal_replay_result result = play(
        "num_ranks 3 rank 0 { a: recv 1b from 1 tag 1 b: recv 1b from 2 tag 2 c: send 1b to 1 "
        "c requires b } rank 1 { x: recv 1b from 0 y: send 1b to 0 tag 1 y requires x } "
        "rank 2 { w: calc 20000 s: send 1b to 0 tag 2 s requires w }");
    assert_int_equal(result.messages, 3);
    assert_true(result.end_ps[2] < result.end_ps[1] && result.end_ps[1] < result.end_ps[0]);
    free(result.end_ps);
}

/* A cpu that polls goes on when another cpu of its rank has something for it. */
static void a_cpu_that_polls_is_called_by_another(void **state)
{
    (void)state;
    struct goal_replay_result result = play(
        "num_ranks 2 rank 0 { a: recv 1b from 1 b: calc 1000 cpu 1 c: send 1b to 1 c requires b } "
        "rank 1 { x: recv 1b from 0 y: send 1b to 0 y requires x }");
    assert_int_equal(result.messages, 2);
    assert_true(result.virtual_ps > 1000 * NS && result.virtual_ps < 10000 * NS);
    free(result.end_ps);
}

static void data_travel_while_others_compute(void **state)
{
    (void)state;
    /* The sender's other cpu computes meanwhile; its own does not. */
    struct goal_replay_result apart = play(
        "num_ranks 2 rank 0 { send 40000b to 1 cpu 1 calc 50000 } rank 1 { recv 40000b from 0 }");
    struct goal_replay_result together = play(
        "num_ranks 2 rank 0 { send 40000b to 1 calc 50000 } rank 1 { recv 40000b from 0 }");
    assert_true(apart.virtual_ps > 50000 * NS && together.end_ps[0] > 100000 * NS);
    assert_int_equal(apart.end_ps[1], together.end_ps[1]);
    assert_true(together.end_ps[0] - apart.end_ps[1] < 50000 * NS);
    free(apart.end_ps);
    free(together.end_ps);
}

static void a_rank_can_send_to_itself(void **state)
{
    (void)state;
    struct goal_replay_result result = play(
        "num_ranks 2 rank 1 { a: recv 800b from 1 b: send 800b to 1 cpu 1 b irequires a }");
    /* 100 words of a bus clock each, and the write; the receiver reads until it sees that. */
    assert_true(result.virtual_ps >= (100 * BUS_NS + 53) * NS);
    assert_true(result.virtual_ps < (100 * BUS_NS + 53 + 3 * READ_NS) * NS);
    assert_int_equal(result.end_ps[0], 0);
    assert_int_equal(result.counters.packets, 0);
    free(result.end_ps);
}

static void messages_that_nobody_receives_are_counted(void **state)
{
    (void)state;
    struct goal_replay_result result = play(
        "num_ranks 2 rank 0 { send 8b to 1 send 9b to 1 tag 1 } rank 1 { recv 8b from 0 }");
    assert_true(result.messages == 2 && result.bytes == 17 && result.unreceived == 1);
    free(result.end_ps);
}

/* ---- Whole schedules ----------------------------------------------------------------------- */

/* Any needs that point back, sends and receives that fit, several cpus and tags. */
static struct goal random_schedule(uint64_t seed)
{
    struct base_random random = {seed};
    struct goal goal;
    uint32_t ranks = 2 + (uint32_t)base_random_below(&random, 6);
    goal_open(&goal, ranks);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t from = (uint32_t)base_random_below(&random, ranks);
        uint32_t to = (uint32_t)base_random_below(&random, ranks);
        uint32_t tag = (uint32_t)base_random_below(&random, 3);
        uint64_t bytes = base_random_below(&random, base_random_below(&random, 3) ? 600 : 9000);
        uint32_t kind = (uint32_t)base_random_below(&random, 3);
        const struct goal_operation operations[] = {
            {.kind = GOAL_CALC, .amount = bytes},
            {.kind = GOAL_SEND, .peer = to, .amount = bytes, .tag = tag},
            {.kind = GOAL_RECEIVE, .peer = from, .amount = bytes, .tag = tag},
        };
        /* A receive comes behind its send in the order of all, so needs make no circle. */
        for (uint32_t part = kind == 0 ? 0 : 1; part < (kind == 0 ? 1u : 3u); part++) {
            struct goal_operation operation = operations[part];
            uint32_t rank = part == 2 ? to : from;
            uint32_t number;
            operation.cpu = (uint32_t)base_random_below(&random, 3);
            assert_true(goal_add(&goal, rank, &operation, NULL, &number));
            for (uint32_t need = 0; number > 0 && need < base_random_below(&random, 3); need++) {
                assert_true(goal_need(&goal, rank, number,
                                      (uint32_t)base_random_below(&random, number),
                                      base_random_below(&random, 4) == 0));
            }
        }
    }
    return goal;
}

static void every_schedule_ends_on_every_machine(void **state)
{
    (void)state;
    static const char *const names[] = {"dimmnet1-D", "dimmnet2", "rhinet2-ni"};
    static const enum sim_topology topologies[] = {SIM_TOPOLOGIES, SIM_SWITCH_TREE, SIM_RING};
    for (uint64_t seed = 1; seed <= 60; seed++) {
        char error[SIM_ERROR_BYTES];
        struct goal goal = random_schedule(seed);
        assert_true(sim_machine_load(&machine, names[seed % 3], error));
        struct goal_replay_wish wish = wish_for(&goal);
        wish.topology = topologies[seed / 3 % 3];
        struct goal_replay_result result = run(&wish);
        struct goal_replay_result again = run(&wish);
        uint64_t all_ps = 0;
        uint64_t all_bytes = 0;
        for (uint32_t i = 0; i < goal.rank_count; i++) {
            uint64_t cpus = 0; /* as bits */
            for (uint32_t number = 0; number < goal.ranks[i].count; number++) {
                const struct goal_operation *operation = &goal.ranks[i].operations[number];
                cpus |= UINT64_C(1) << operation->cpu;
                all_bytes += operation->kind == GOAL_SEND ? operation->amount : 0;
            }
            all_ps += (uint64_t)__builtin_popcountll(cpus) * result.end_ps[i];
            assert_int_equal(result.end_ps[i], again.end_ps[i]);
        }
        assert_int_equal(result.bytes, all_bytes);
        assert_int_equal(result.unreceived, 0);
        assert_int_equal(result.counters.events, again.counters.events);
        /* A cpu may still be at the end of its last read when another ends the rank. */
        uint64_t told_ps = result.compute_ps + result.communicate_ps + result.wait_ps;
        assert_true(told_ps >= all_ps && told_ps - all_ps < result.cpus * 10000 * NS);
        free(result.end_ps);
        free(again.end_ps);
        goal_close(&goal);
        sim_machine_free(&machine);
    }
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static void is_refused(const char *text, uint64_t limit_ns, uint64_t loss_ppm, uint64_t llcm_bytes,
                       const char *expected)
{
    char error[SIM_ERROR_BYTES] = "";
    struct goal_replay_result result = {.messages = 77};
    struct goal goal = goal_from(text);
    fill(&machine);
    machine.llcm_bytes = llcm_bytes;
    struct goal_replay_wish wish = wish_for(&goal);
    wish.limit_ps = limit_ns * NS;
    wish.loss_ppm = loss_ppm;
    assert_false(goal_replay(&wish, &result, error));
    if (!strstr(error, expected)) {
        print_error("%s\n", error);
    }
    assert_non_null(strstr(error, expected));
    assert_int_equal(result.messages, 77);
    goal_close(&goal);
}

static void what_does_not_end_is_named(void **state)
{
    (void)state;
    const char *text = "num_ranks 2\nrank 0 {\n a: calc 1000\n b: send 1b to 1\n b requires a }\n"
                       "rank 1 {\n x: recv 1b from 0 }";
    is_refused(text, 500, 0, 1 << 17,
               "0 of 3 operations have finished, and rank 1, line 7, \"x\" (recv from 0, tag 0) "
               "waits for its message");
    is_refused("num_ranks 1 rank 0 { calc 1000 }", 500, 0, 1 << 17, "virtual time is up");
    is_refused(text, 500000, 1000, 1 << 17, "packets are lost, and nobody detects it");
    is_refused(text, 500000, 0, 4096, "do not fit into the 4096 of [llcm] bytes");
}

static void losses_are_repaired_by_the_carrier(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES];
    uint64_t lost = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct goal goal = random_schedule(seed);
        assert_true(sim_machine_load(&machine, "dimmnet2", error));
        struct goal_replay_wish wish = wish_for(&goal);
        wish.loss_ppm = 20000;
        wish.seed = seed;
        struct goal_replay_result result = run(&wish);
        lost += result.counters.lost;
        free(result.end_ps);
        goal_close(&goal);
        sim_machine_free(&machine);
    }
    assert_true(lost > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_computes_one_thing_at_a_time),
        cmocka_unit_test(operations_wait_for_what_they_need),
        cmocka_unit_test(operations_are_done_in_the_order_in_which_they_may),
        cmocka_unit_test(a_message_is_blocks_or_a_push_and_a_flag),
        cmocka_unit_test(a_message_that_has_come_costs_one_read),
        cmocka_unit_test(no_receive_holds_up_another),
        cmocka_unit_test(a_cpu_that_polls_is_called_by_another),
        cmocka_unit_test(data_travel_while_others_compute),
        cmocka_unit_test(a_rank_can_send_to_itself),
        cmocka_unit_test(messages_that_nobody_receives_are_counted),
        cmocka_unit_test(every_schedule_ends_on_every_machine),
        cmocka_unit_test(what_does_not_end_is_named),
        cmocka_unit_test(losses_are_repaired_by_the_carrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
