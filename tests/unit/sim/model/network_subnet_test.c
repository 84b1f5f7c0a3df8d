/* Trees of InfiniBand switches: lone packets come when they would through plain switches, groups
 * get one copy each, what meets shares a cable, programs run, and what cannot be is said. */
#include "network_bench.h"

#include "sim/model/network_subnet.h"
#include "sim/trial/trial.h"

enum { FRAME_BYTES = 26, CYCLE_PS = 4000 };

/* 4X: 1000 MB/s. */
static struct bench *subnet_machine(uint32_t ports)
{
    struct bench *bench = bench_machine(ports);
    bench->machine.link_mb_per_s = UINT64_C(1000000000);
    bench->machine.switch_next = 0;
    bench->machine.switch_tables = 1;
    bench->machine.switch_infiniband = 1;
    bench->machine.switch_mtu = 2048;
    bench->machine.switch_linear_entries = 4096;
    bench->machine.switch_multicast_entries = 128;
    bench->machine.switch_data_vls = 4;
    bench->machine.switch_buffer_flits = 128;
    return bench;
}

static struct bench *subnet_open_as(enum sim_topology topology, uint32_t ports, uint32_t nodes)
{
    struct bench *bench = subnet_machine(ports);
    bench_join(bench, topology, nodes);
    return bench;
}

/* How long a packet of that many bytes takes a cable of 4X. */
static uint64_t duration_ps(uint32_t bytes)
{
    return (uint64_t)((bytes + 7) / 8 * 8 + FRAME_BYTES + 2 + 3) / 4 * CYCLE_PS;
}

/* ---- Lone packets ----------------------------------------------------------------------- */

/* Sends from each node to each other, one at a time, and notes how long each takes. */
static void measure_all(struct bench *bench, uint32_t nodes, uint32_t bytes, uint64_t *took_ps)
{
    for (uint32_t i = 0; i < nodes * nodes; i++) {
        uint64_t from_ps = bench->now_ps + 100000 * NS;
        if (i / nodes == i % nodes) {
            continue;
        }
        bench_run_until(bench, from_ps);
        uint32_t before = bench->arrival_count;
        if (i % 3 == 0) {
            (void)sim_network_reply(bench->network, from_ps, i / nodes, i % nodes, bytes, i);
        } else {
            (void)sim_network_send(bench->network, from_ps, i / nodes, i % nodes, bytes, i);
        }
        bench_run(bench);
        assert_int_equal(bench->arrival_count, before + 1);
        const struct arrival *arrival = &bench->arrivals[before % ARRIVALS_MAX];
        assert_int_equal(arrival->node, i % nodes);
        assert_int_equal(arrival->token, i);
        took_ps[i] = arrival->at_ps - from_ps;
    }
}

static void lone_heads_come_as_through_plain_switches(void **state)
{
    (void)state;
    static const struct {
        enum sim_topology topology;
        uint32_t ports, nodes;
    } shapes[] = {{SIM_ONE_SWITCH, 8, 8},   {SIM_ONE_SWITCH, 8, 3},  {SIM_ONE_SWITCH, 64, 40},
                  {SIM_SWITCH_TREE, 4, 20}, {SIM_SWITCH_TREE, 8, 9}, {SIM_FAT_TREE, 4, 16},
                  {SIM_FAT_TREE, 8, 40},    {SIM_FAT_TREE, 6, 2}};
    static const uint32_t lengths[] = {0, 24, 32, 2072};
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        uint32_t nodes = shapes[i].nodes;
        uint64_t *took_ps = calloc(2 * (size_t)nodes * nodes, sizeof *took_ps);
        assert_non_null(took_ps);
        for (uint32_t plain = 0; plain < 2; plain++) {
            struct bench *bench = subnet_machine(shapes[i].ports);
            bench->machine.switch_infiniband = !plain;
            bench_join(bench, shapes[i].topology, nodes);
            measure_all(bench, nodes, lengths[i % 4], took_ps + plain * nodes * nodes);
            assert_int_equal(sim_network_hops(bench->network, 0, nodes - 1),
                             (took_ps[nodes - 1] - 132 * NS) / (232 * NS));
            bench_close(bench);
        }
        assert_memory_equal(took_ps, took_ps + nodes * nodes, nodes * nodes * sizeof *took_ps);
        free(took_ps);
    }
}

static void what_a_board_sends_to_itself_turns_in_its_port(void **state)
{
    (void)state;
    struct bench *bench = subnet_open_as(SIM_ONE_SWITCH, 8, 4);
    assert_int_equal(sim_network_send(bench->network, 0, 1, 1, 32, 1), 0);
    /* Behind one that is on the cable. */
    uint64_t free_ps = sim_network_send(bench->network, 0, 2, 3, 32, 2);
    assert_int_equal(free_ps, duration_ps(32));
    assert_int_equal(sim_network_send(bench->network, 0, 2, 2, 32, 3), free_ps);
    assert_false(sim_network_is_stopped(bench->network, 2, 3));
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 3);
    assert_arrival(bench, 0, 0, 1, 1);
    assert_arrival(bench, 1, free_ps, 2, 3);
    assert_arrival(bench, 2, 364 * NS, 3, 2);
    bench_close(bench);
}

/* ---- Those that meet -------------------------------------------------------------------- */

static void packets_to_one_output_follow_each_other(void **state)
{
    (void)state;
    struct bench *bench = subnet_open_as(SIM_ONE_SWITCH, 8, 8);
    for (uint32_t node = 1; node < 8; node++) {
        (void)sim_network_send(bench->network, 0, node, 0, 464, node);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_arrival(bench, i, 364 * NS + i * duration_ps(464), 0, i + 1);
    }
    struct sim_network_worst worst;
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "switch 0, port 0, to node 0");
    assert_int_equal(worst.carried, 7);
    assert_int_equal(worst.wait_ps_max, 6 * duration_ps(464));
    assert_int_equal(bench->carriage_count, 7);
    assert_int_equal(bench->carriages[1].switch_number, 0);
    assert_int_equal(bench->carriages[1].port, 0);
    assert_int_equal(bench->carriages[1].token, 2);
    assert_int_equal(bench->carriages[1].from_ps, 232 * NS + duration_ps(464));
    assert_int_equal(bench->carriages[1].to_ps, 232 * NS + 2 * duration_ps(464));
    assert_int_equal(sim_network_resends(bench->network), 0);
    bench_close(bench);
}

/* Notes what has left node 1. */
static void left(void *context, uint32_t source, uint32_t token)
{
    struct bench *bench = context;
    if (source == 1) {
        bench->carriages[bench->carriage_count++].token = token;
    }
}

/* A board's packets leave in order, requests and replies alike. While others have the output that
 * they want, those beyond the switch's buffers stay on the board. */
static void a_board_without_credit_is_stopped(void **state)
{
    (void)state;
    enum { PACKETS = 20, IN_BUFFERS = 2 * (128 / 34) };
    struct bench *bench = subnet_machine(8);
    const struct sim_network_user user = {.context = bench,
                                          .events = &bench->events,
                                          .event_kind = NETWORK_EVENT,
                                          .arrived = arrived,
                                          .left = left};
    char error[SIM_ERROR_BYTES];
    bench->network = sim_network_open(&bench->machine, SIM_ONE_SWITCH, 8, &user, error);
    assert_non_null(bench->network);
    for (uint32_t i = 0; i < PACKETS; i++) {
        for (uint32_t node = 1; node < 8; node++) {
            uint64_t free_ps = i % 2 ? sim_network_reply(bench->network, 0, node, 0, 2048, i)
                                     : sim_network_send(bench->network, 0, node, 0, 2048, i);
            assert_int_equal(free_ps, (i + 1) * duration_ps(2048));
        }
    }
    assert_false(sim_network_is_stopped(bench->network, 1, 0));
    assert_true(sim_network_is_stopped(bench->network, 1, 1));
    /* All that its cable could have carried, if it had not been for the others. */
    bench_run_until(bench, PACKETS * duration_ps(2048));
    assert_true(bench->carriage_count >= IN_BUFFERS && bench->carriage_count < PACKETS - 5);
    assert_true(sim_network_is_stopped(bench->network, 1, bench->carriage_count));
    bench_run(bench);
    assert_int_equal(bench->carriage_count, PACKETS);
    for (uint32_t i = 0; i < PACKETS; i++) {
        assert_int_equal(bench->carriages[i].token, i);
        assert_false(sim_network_is_stopped(bench->network, 1, i));
    }
    assert_int_equal(bench->arrival_count, 7 * PACKETS);
    bench_close(bench);
}

/* Two that stream to one node share its cable, and what they get through is its rate. */
static void contention_shares_the_bandwidth(void **state)
{
    (void)state;
    enum { PACKETS = 200 };
    struct bench *bench = subnet_open_as(SIM_SWITCH_TREE, 4, 12);
    for (uint32_t i = 0; i < PACKETS; i++) {
        (void)sim_network_send(bench->network, 0, 4, 0, 2048, 0);
        (void)sim_network_send(bench->network, 0, 8, 0, 2048, 1);
        (void)sim_network_send(bench->network, 0, 1, 2, 2048, 2);
    }
    bench_run(bench);
    uint32_t counts[3] = {0, 0, 0};
    uint64_t last_ps[3];
    assert_int_equal(bench->arrival_count, 3 * PACKETS);
    for (uint32_t i = 0; i < bench->arrival_count; i++) {
        const struct arrival *arrival = &bench->arrivals[i];
        last_ps[arrival->token] = arrival->at_ps;
        counts[arrival->token]++;
        /* Neither of the two is ever far ahead. */
        assert_true(counts[0] <= counts[1] + 8 && counts[1] <= counts[0] + 8);
    }
    uint64_t wanted_ps = 2 * PACKETS * duration_ps(2048);
    uint64_t both_ps = last_ps[0] > last_ps[1] ? last_ps[0] : last_ps[1];
    assert_true(both_ps > wanted_ps - duration_ps(2048) && both_ps < wanted_ps + wanted_ps / 50);
    /* Who goes elsewhere below the same switch has its own cable to itself. */
    assert_true(last_ps[2] < PACKETS * duration_ps(2048) * 51 / 50);
    bench_close(bench);
}

/* While requests to one node fill the lanes before it, a reply to another gets by. */
static void replies_pass_where_requests_wait(void **state)
{
    (void)state;
    enum { HOT = 0, SENDER = 5, TARGET = 10, PROBE = 1000 };
    uint64_t took_ps[2] = {0, 0};
    for (uint32_t is_reply = 0; is_reply < 2; is_reply++) {
        struct bench *bench = subnet_open_as(SIM_SWITCH_TREE, 4, 12);
        for (uint32_t i = 0; i < 50; i++) {
            for (uint32_t node = 3; node < 9; node++) {
                if (node != SENDER) {
                    (void)sim_network_send(bench->network, 0, node, HOT, 2048, i);
                }
            }
        }
        uint64_t at_ps = 20 * duration_ps(2048);
        bench_run_until(bench, at_ps);
        if (is_reply) {
            (void)sim_network_reply(bench->network, at_ps, SENDER, TARGET, 32, PROBE);
        } else {
            (void)sim_network_send(bench->network, at_ps, SENDER, TARGET, 32, PROBE);
        }
        bench_run(bench);
        for (uint32_t i = 0; i < bench->arrival_count; i++) {
            const struct arrival *arrival = &bench->arrivals[i];
            took_ps[is_reply] = arrival->token == PROBE ? arrival->at_ps - at_ps
                                                        : took_ps[is_reply];
        }
        bench_close(bench);
    }
    assert_true(took_ps[1] > 0 && took_ps[1] < 3 * duration_ps(2048));
    assert_true(took_ps[0] > 5 * duration_ps(2048));
}

/* In a fat tree a permutation has a way for each; in a tree all meet at the root. */
static void a_fat_tree_has_a_way_for_each(void **state)
{
    (void)state;
    enum { NODES = 32, PACKETS = 20 };
    uint64_t last_ps[2] = {0, 0};
    for (uint32_t is_fat = 0; is_fat < 2; is_fat++) {
        struct bench *bench = subnet_open_as(is_fat ? SIM_FAT_TREE : SIM_SWITCH_TREE, 8, NODES);
        for (uint32_t i = 0; i < NODES * PACKETS; i++) {
            uint32_t node = i % NODES;
            (void)sim_network_send(bench->network, 0, node, (node + NODES / 2) % NODES, 2048, i);
        }
        bench_run(bench);
        assert_int_equal(bench->arrival_count, NODES * PACKETS);
        last_ps[is_fat] = bench->now_ps;
        bench_close(bench);
    }
    uint64_t least_ps = PACKETS * duration_ps(2048);
    assert_true(last_ps[1] < least_ps + least_ps / 10);
    assert_true(last_ps[0] > 3 * least_ps);
}

static void the_same_is_sent_the_same_way(void **state)
{
    (void)state;
    uint64_t sums[2];
    for (uint32_t run = 0; run < 2; run++) {
        struct bench *bench = subnet_open_as(SIM_FAT_TREE, 8, 48);
        for (uint32_t i = 0; i < 2000; i++) {
            uint64_t at_ps = bench->now_ps + i % 7 * 300 * NS;
            bench_run_until(bench, at_ps);
            if (i % 50 == 0) {
                (void)sim_network_multicast(bench->network, at_ps, i % 48, i % 40, 8, 464, i);
            } else {
                (void)sim_network_send(bench->network, at_ps, i % 48, i * 31 % 48, i % 2048, i);
            }
        }
        bench_run(bench);
        sums[run] = bench->sum;
        bench_close(bench);
    }
    assert_true(sums[0] == sums[1]);
}

/* ---- Multicast -------------------------------------------------------------------------- */

static void check_group(struct bench *bench, uint32_t nodes, uint32_t source, uint32_t first,
                        uint32_t count)
{
    uint32_t before = bench->arrival_count;
    memset(bench->visits, 0, nodes * sizeof *bench->visits);
    (void)sim_network_multicast(bench->network, bench->now_ps, source, first, count, 464, 77);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, before + count);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(bench->visits[i], i >= first && i < first + count);
    }
}

/* All ranges of all sizes, from members and from others: many more than the tables have entries. */
static void groups_get_one_copy_each(void **state)
{
    (void)state;
    static const struct {
        enum sim_topology topology;
        uint32_t ports, nodes;
    } shapes[] = {{SIM_ONE_SWITCH, 16, 16}, {SIM_SWITCH_TREE, 4, 14}, {SIM_FAT_TREE, 4, 16}};
    for (uint32_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        uint32_t nodes = shapes[i].nodes;
        struct bench *bench = subnet_open_as(shapes[i].topology, shapes[i].ports, nodes);
        bench->visits = calloc(nodes, sizeof *bench->visits);
        assert_non_null(bench->visits);
        assert_true(sim_network_can_multicast(bench->network));
        for (uint32_t first = 0; first < nodes; first++) {
            for (uint32_t count = 1; count <= nodes - first; count++) {
                check_group(bench, nodes, (first * 5 + count) % nodes, first, count);
                check_group(bench, nodes, first, first, count);
            }
        }
        bench_close(bench);
    }
}

/* One packet takes the sender's cable once, and comes to all at once. */
static void the_switch_makes_the_copies(void **state)
{
    (void)state;
    struct bench *bench = subnet_open_as(SIM_ONE_SWITCH, 8, 8);
    assert_int_equal(sim_network_multicast(bench->network, 0, 3, 0, 8, 464, 5), duration_ps(464));
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 8);
    assert_arrival(bench, 0, 0, 3, 5); /* its own copy */
    for (uint32_t i = 1; i < 8; i++) {
        assert_int_equal(bench->arrivals[i].at_ps, 364 * NS);
    }
    assert_int_equal(bench->carriage_count, 7);
    bench_close(bench);
}

/* With all entries taken and packets under way, a packet goes to each. */
static void without_an_entry_a_packet_goes_to_each(void **state)
{
    (void)state;
    struct bench *bench = subnet_machine(8);
    bench->machine.switch_multicast_entries = 2;
    bench_join(bench, SIM_ONE_SWITCH, 8);
    (void)sim_network_multicast(bench->network, 0, 0, 1, 3, 464, 1);
    (void)sim_network_multicast(bench->network, 0, 0, 2, 3, 464, 2);
    assert_int_equal(sim_network_multicast(bench->network, 0, 4, 3, 3, 464, 3),
                     2 * duration_ps(464));
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 9);
    /* Now one is used anew. */
    assert_int_equal(sim_network_multicast(bench->network, bench->now_ps, 4, 3, 3, 464, 4),
                     bench->now_ps + duration_ps(464));
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 12);
    bench_close(bench);
}

/* ---- Tables and limits ------------------------------------------------------------------ */

static void a_manager_may_choose_another_port_up(void **state)
{
    (void)state;
    enum { DOWN = 4, TARGET = 8 };
    struct bench *bench = subnet_open_as(SIM_FAT_TREE, 8, 32);
    for (uint32_t up = DOWN; up < 8; up++) {
        uint32_t before = bench->carriage_count;
        assert_true(sim_network_route(bench->network, 0, TARGET, up));
        (void)sim_network_send(bench->network, bench->now_ps, 0, TARGET, 32, up);
        bench_run(bench);
        assert_int_equal(bench->carriages[before].switch_number, 0);
        assert_int_equal(bench->carriages[before].port, up);
        assert_int_equal(bench->carriages[before + 1].switch_number, 8 + up - DOWN);
    }
    assert_int_equal(bench->arrival_count, 4);
    assert_false(sim_network_route(bench->network, 0, TARGET, 1));
    assert_false(sim_network_route(bench->network, 0, 1, DOWN));
    assert_false(sim_network_route(bench->network, 99, TARGET, DOWN));
    bench_close(bench);
}

/* What a table has no entries for is joined by plain switches, as before. */
static void larger_networks_are_plain(void **state)
{
    (void)state;
    static const struct {
        uint32_t ports, entries;
        enum sim_topology topology;
        uint32_t nodes;
        bool is_subnet;
    } limits[] = {{8, 10, SIM_ONE_SWITCH, 8, true},       {8, 9, SIM_ONE_SWITCH, 8, false},
                  {254, 4096, SIM_ONE_SWITCH, 254, true}, {255, 4096, SIM_ONE_SWITCH, 255, false},
                  {8, 4096, SIM_SWITCH_TREE, 3400, true}, {8, 4096, SIM_SWITCH_TREE, 3600, false}};
    for (uint32_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct bench *bench = subnet_machine(limits[i].ports);
        bench->machine.switch_linear_entries = limits[i].entries;
        bench_join(bench, limits[i].topology, limits[i].nodes);
        uint64_t free_ps = sim_network_send(bench->network, 0, 0, 1, 464, 1);
        assert_int_equal(free_ps, limits[i].is_subnet ? duration_ps(464) : 464 * NS);
        bench_run(bench);
        assert_arrival(bench, 0, 364 * NS, 1, 1);
        bench_close(bench);
    }
}

static void what_is_no_infiniband_is_named(void **state)
{
    (void)state;
    const struct {
        size_t field;
        uint64_t value;
        const char *word;
    } wrongs[] = {
        {offsetof(struct sim_machine, link_mb_per_s), 500000000, "mb_per_s (1X, 4X, 12X)"},
        {offsetof(struct sim_machine, switch_next), 1, "next_ns"},
        {offsetof(struct sim_machine, switch_resend), 1, "resend"},
        {offsetof(struct sim_machine, switch_tables), 0, "tables"},
        {offsetof(struct sim_machine, switch_mtu), 2000, "mtu is not"},
        {offsetof(struct sim_machine, switch_data_vls), 3, "data_vls is not"},
        {offsetof(struct sim_machine, packet_data_bytes), 4096, "more than a switch's"},
        {offsetof(struct sim_machine, switch_buffer_flits), 8, "buffer_flits is 8"}};
    for (uint32_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct bench *bench = subnet_machine(8);
        const struct sim_network_user user = {.context = bench,
                                              .events = &bench->events,
                                              .event_kind = NETWORK_EVENT,
                                              .arrived = arrived};
        char error[SIM_ERROR_BYTES] = "";
        memcpy((char *)&bench->machine + wrongs[i].field, &wrongs[i].value, sizeof(uint64_t));
        assert_null(sim_network_open(&bench->machine, SIM_ONE_SWITCH, 8, &user, error));
        assert_non_null(strstr(error, "machine hand-made: [switch] "));
        assert_non_null(strstr(error, wrongs[i].word));
        sim_events_free(&bench->events);
        free(bench);
    }
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    static const char file[] = "[machine]\ninherit = dimmnet2\ntext = too slow\n"
                               "[link]\nmb_per_s = 500 | what if\n";
    assert_false(sim_machine_load_bytes(&machine, "mine.ini", file, sizeof file - 1, error));
    assert_non_null(strstr(error, "[switch] infiniband"));
    static const char plain[] = "[machine]\ninherit = dimmnet2\ntext = plain\n"
                                "[link]\nmb_per_s = 500 | what if\n"
                                "[switch]\ninfiniband = 0 | what if\n";
    assert_true(sim_machine_load_bytes(&machine, "mine.ini", plain, sizeof plain - 1, error));
    sim_machine_free(&machine);
}

/* ---- Programs --------------------------------------------------------------------------- */

static void run_trial(const char *trial, const char *machine_name, enum sim_carrier carrier,
                      enum sim_topology topology, uint32_t nodes, uint32_t loss_ppm)
{
    struct sim_machine machine;
    struct sim_trial_result results[2];
    char error[SIM_ERROR_BYTES] = "";
    assert_true(sim_machine_load(&machine, machine_name, error));
    machine.carrier_kind = carrier;
    machine.link_loss_ppm = loss_ppm;
    const struct sim_trial_wish wish = {
        .trial = trial,
        .machine = &machine,
        .topology = topology,
        .node_count = nodes,
        .rounds = 4,
        .limit_ps = UINT64_C(1000000000000),
    };
    for (uint32_t run = 0; run < 2; run++) {
        bool is_done = sim_trial_run(&wish, &results[run], error);
        assert_string_equal(error, "");
        assert_true(is_done);
    }
    assert_int_equal(results[0].virtual_ps, results[1].virtual_ps);
    assert_int_equal(results[0].counters.events, results[1].counters.events);
    assert_int_equal(results[0].counters.lost > 0, loss_ppm > 0);
    sim_machine_free(&machine);
}

static void programs_run_over_it(void **state)
{
    (void)state;
    static const char *const machines[] = {"dimmnet1-bdais", "dimmnet2"};
    static const struct {
        enum sim_topology topology;
        uint32_t nodes;
    } shapes[] = {
        {SIM_ONE_SWITCH, 2}, {SIM_ONE_SWITCH, 8}, {SIM_SWITCH_TREE, 20}, {SIM_FAT_TREE, 32}};
    for (unsigned i = 0; sim_trial_name(i); i++) {
        const char *trial = sim_trial_name(i);
        if (strcmp(trial, "loop") == 0) {
            continue; /* needs no network */
        }
        for (uint32_t j = 0; j < 8; j++) {
            enum sim_topology topology = shapes[j / 2].topology;
            uint32_t nodes = shapes[j / 2].nodes;
            bool is_multicast = strcmp(trial, "multicast") == 0;
            if (!is_multicast) {
                run_trial(trial, machines[j % 2], SIM_CARRIER_CD, topology, nodes, 0);
            }
            run_trial(trial, machines[j % 2], SIM_CARRIER_UD, topology, nodes, 0);
        }
    }
}

static void what_is_lost_is_sent_again(void **state)
{
    (void)state;
    run_trial("push", "dimmnet2", SIM_CARRIER_CD, SIM_ONE_SWITCH, 8, 50000);
    run_trial("push", "dimmnet1-bdais", SIM_CARRIER_CD, SIM_FAT_TREE, 32, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lone_heads_come_as_through_plain_switches),
        cmocka_unit_test(what_a_board_sends_to_itself_turns_in_its_port),
        cmocka_unit_test(packets_to_one_output_follow_each_other),
        cmocka_unit_test(a_board_without_credit_is_stopped),
        cmocka_unit_test(contention_shares_the_bandwidth),
        cmocka_unit_test(replies_pass_where_requests_wait),
        cmocka_unit_test(a_fat_tree_has_a_way_for_each),
        cmocka_unit_test(the_same_is_sent_the_same_way),
        cmocka_unit_test(groups_get_one_copy_each),
        cmocka_unit_test(the_switch_makes_the_copies),
        cmocka_unit_test(without_an_entry_a_packet_goes_to_each),
        cmocka_unit_test(a_manager_may_choose_another_port_up),
        cmocka_unit_test(larger_networks_are_plain),
        cmocka_unit_test(what_is_no_infiniband_is_named),
        cmocka_unit_test(programs_run_over_it),
        cmocka_unit_test(what_is_lost_is_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
