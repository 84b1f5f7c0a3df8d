/* The network between simulated boards: when heads arrive, which packets wait for which, which
 * nodes get a copy, and what cannot be joined. */
#include "network_bench.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "base/random.h"
#include "wire/packet.h"

/* ---- Without switches ------------------------------------------------------------------ */

static void a_loop_inside_costs_nothing_but_the_link(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_LOOP_INSIDE, 0, 1);
    assert_int_equal(sim_network_send(bench->network, 5003, 0, 0, 32, 1), 5003 + 64 * NS);
    /* The link is still taken; later it is not. */
    assert_int_equal(sim_network_send(bench->network, 6000, 0, 0, 8, 2), 5003 + 80 * NS);
    assert_int_equal(sim_network_send(bench->network, 200 * NS, 0, 0, 1, 3), 202 * NS);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 3);
    assert_arrival(bench, 0, 5003, 0, 1);
    assert_arrival(bench, 1, 5003 + 64 * NS, 0, 2);
    assert_arrival(bench, 2, 200 * NS, 0, 3);
    assert_int_equal(sim_network_hops(bench->network, 0, 0), 0);
    assert_false(sim_network_can_multicast(bench->network));
    bench_close(bench);
}

static void a_loop_outside_and_a_cable_cost_the_wire(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_LOOP_OUTSIDE, 0, 1);
    assert_int_equal(sim_network_send(bench->network, 0, 0, 0, 32, 9), 64 * NS);
    bench_run(bench);
    assert_arrival(bench, 0, 132 * NS, 0, 9);
    bench_close(bench);

    bench = bench_open(SIM_BACK_TO_BACK, 8, 2);
    /* The two directions are independent. */
    (void)sim_network_send(bench->network, 0, 0, 1, 512, 1);
    (void)sim_network_send(bench->network, 10, 1, 0, 512, 2);
    (void)sim_network_send(bench->network, 20, 0, 1, 4, 3);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 3);
    assert_int_equal(bench->event_count, 3);
    assert_arrival(bench, 0, 132 * NS, 1, 1);
    assert_arrival(bench, 1, 132 * NS + 10, 0, 2);
    assert_arrival(bench, 2, (1024 + 132) * NS, 1, 3);
    assert_int_equal(bench->carriage_count, 0);
    assert_false(sim_network_can_multicast(bench->network));
    bench_close(bench);
}

static void what_a_board_sends_to_itself_never_sees_the_cable(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_BACK_TO_BACK, 0, 2);
    (void)sim_network_send(bench->network, 77, 1, 1, 32, 4);
    bench_run(bench);
    assert_arrival(bench, 0, 77, 1, 4);
    bench_close(bench);
}

/* 1064 MB/s: 939.85 ps a byte; a link is free only after the last of it. */
static void a_link_is_taken_to_the_last_picosecond(void **state)
{
    (void)state;
    struct bench *bench = bench_machine(0);
    bench->machine.link_mb_per_s = UINT64_C(1064000000);
    bench_join(bench, SIM_LOOP_INSIDE, 1);
    assert_int_equal(sim_network_send(bench->network, 0, 0, 0, 1, 0), 940);
    assert_int_equal(sim_network_send(bench->network, NS, 0, 0, 1064, 0), NS + 1000 * NS);
    assert_int_equal(sim_network_send(bench->network, 10000 * NS, 0, 0, 0, 0), 10000 * NS);
    uint64_t at_ps = 20000 * NS;
    assert_int_equal(sim_network_send(bench->network, at_ps, 0, 0, UINT32_MAX, 0),
                     at_ps + UINT64_C(4036623397557)); /* (2^32 - 1) / 1064 us, rounded up */
    bench_close(bench);
}

/* ---- One switch ------------------------------------------------------------------------ */

static void a_switch_costs_two_wires_and_its_transit(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 8, 8);
    assert_int_equal(sim_network_hops(bench->network, 0, 7), 1);
    assert_int_equal(sim_network_send(bench->network, 1 * NS, 0, 7, 32, 1), 65 * NS);
    bench_run(bench);
    assert_int_equal(bench->event_count, 2);
    /* However long the packet is, the head does not wait for the tail. */
    assert_arrival(bench, 0, (1 + 132 + 100 + 132) * NS, 7, 1);
    assert_int_equal(bench->carriage_count, 1);
    assert_int_equal(bench->carriages[0].switch_number, 0);
    assert_int_equal(bench->carriages[0].port, 7);
    assert_int_equal(bench->carriages[0].token, 1);
    assert_int_equal(bench->carriages[0].from_ps, (1 + 132 + 100) * NS);
    assert_int_equal(bench->carriages[0].to_ps, (1 + 132 + 100 + 64) * NS);
    bench_close(bench);
}

/* Paper 000, 5.3: seven small packets to one output come 240 ns apart, and a barrier's parent waits
 * for that. */
static void small_packets_to_one_output_are_240_ns_apart(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 8, 8);
    for (uint32_t node = 7; node >= 1; node--) {
        (void)sim_network_send(bench->network, 0, node, 0, 32, node);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        /* All heads come at once: they are served in the order in which they were sent. */
        assert_arrival(bench, i, (364 + 240 * i) * NS, 0, 7 - i);
    }
    struct sim_network_worst worst;
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "switch 0, port 0, to node 0");
    assert_int_equal(worst.carried, 7);
    assert_int_equal(worst.wait_ps_max, 6 * 240 * NS);
    bench_close(bench);
}

static void long_packets_to_one_output_follow_each_other(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 8, 4);
    (void)sim_network_send(bench->network, 0, 1, 0, 121, 1);       /* 242 ns, more than 240 */
    (void)sim_network_send(bench->network, 50 * NS, 2, 0, 119, 2); /* 238 ns: the rest counts */
    (void)sim_network_send(bench->network, 60 * NS, 3, 0, 119, 3);
    (void)sim_network_send(bench->network, 70 * NS, 3, 2, 32, 4); /* its link, not the output */
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 4);
    assert_arrival(bench, 0, 364 * NS, 0, 1);
    assert_arrival(bench, 1, (364 + 242) * NS, 0, 2);
    assert_arrival(bench, 2, (60 + 238 + 364) * NS, 2, 4);
    assert_arrival(bench, 3, (364 + 242 + 240) * NS, 0, 3);
    bench_close(bench);
}

static void different_outputs_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 16, 16);
    for (uint32_t node = 0; node < 16; node++) {
        (void)sim_network_send(bench->network, node, node, (node * 5 + 3) % 16, 464, node);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 16);
    for (uint32_t node = 0; node < 16; node++) {
        assert_arrival(bench, node, 364 * NS + node, (node * 5 + 3) % 16, node);
    }
    bench_close(bench);
}

/* One source at full rate into one output: every packet takes its 240 ns there, and heads queue;
 * the node's own link comes second. */
static void the_worst_output_is_the_one_that_most_waited_for(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 8, 3);
    uint64_t free_ps = 0;
    for (uint32_t i = 0; i < 100; i++) {
        free_ps = sim_network_send(bench->network, free_ps, 0, 1, 32, i);
    }
    assert_int_equal(free_ps, 100 * 64 * NS);
    bench_run(bench);
    struct sim_network_worst worst;
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "switch 0, port 1, to node 1");
    assert_int_equal(worst.carried, 100);
    assert_int_equal(worst.wait_ps_max, 99 * (240 - 64) * NS);
    bench_close(bench);

    bench = bench_open(SIM_BACK_TO_BACK, 0, 2);
    (void)sim_network_send(bench->network, 0, 1, 0, 32, 0);
    (void)sim_network_send(bench->network, 0, 1, 0, 32, 0);
    bench_run(bench);
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "node 1, its link");
    assert_int_equal(worst.wait_ps_max, 64 * NS);
    bench_close(bench);
}

/* ---- Trees ----------------------------------------------------------------------------- */

/* What a way over that many switches costs, for one board after another, alone. */
static uint64_t zero_load_ps(uint32_t hops)
{
    return hops * (132 + 100) * NS + 132 * NS;
}

static void a_tree_has_as_few_levels_as_it_needs(void **state)
{
    (void)state;
    const struct {
        uint32_t ports, nodes, hops; /* from the first node to the last */
    } cases[] = {
        {8, 1, 1},      {8, 8, 1},      {8, 9, 3},      {8, 56, 3},        {8, 57, 5},
        {8, 392, 5},    {8, 393, 7},    {8, 2744, 7},   {8, 2745, 9},      {8, 19208, 9},
        {8, 19209, 11}, {8, 65534, 11}, {3, 3, 1},      {3, 4, 3},         {3, 6, 3},
        {3, 7, 5},      {3, 65534, 31}, {16, 65534, 9}, {70000, 65534, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t last = cases[i].nodes - 1;
        struct bench *bench = bench_open(SIM_SWITCH_TREE, cases[i].ports, cases[i].nodes);
        assert_int_equal(sim_network_hops(bench->network, 0, last), cases[i].hops);
        (void)sim_network_send(bench->network, 0, 0, last, 32, 5);
        (void)sim_network_send(bench->network, UINT64_C(1000000000), last, 0, 32, 6);
        bench_run(bench);
        assert_int_equal(bench->arrival_count, 2);
        assert_arrival(bench, 0, zero_load_ps(cases[i].hops), last, 5);
        assert_arrival(bench, 1, UINT64_C(1000000000) + zero_load_ps(cases[i].hops), 0, 6);
        assert_int_equal(bench->event_count, 2 * (cases[i].hops + 1));
        bench_close(bench);
    }
}

static void every_way_leads_to_its_target(enum sim_topology topology, uint32_t ports_min)
{
    for (uint32_t ports = ports_min; ports <= 8; ports++) {
        enum { NODES = 60 };
        struct bench *bench = bench_open(topology, ports, NODES);
        for (uint32_t way = 0; way < NODES * NODES; way++) {
            uint32_t source = way / NODES, target = way % NODES;
            uint64_t at_ps = bench->now_ps + 1000 * NS; /* no packet is in its way */
            (void)sim_network_send(bench->network, at_ps, source, target, 64, way);
            bench_run(bench);
            assert_int_equal(bench->arrival_count, way + 1);
            assert_arrival(bench, way,
                           at_ps + zero_load_ps(sim_network_hops(bench->network, source, target)),
                           target, way);
        }
        bench_close(bench);
    }
}

static void every_way_through_a_tree_leads_to_its_target(void **state)
{
    (void)state;
    every_way_leads_to_its_target(SIM_SWITCH_TREE, 3);
    every_way_leads_to_its_target(SIM_FAT_TREE, 4);
}

/* All nodes of one switch send to those of another, far away: each has a way of its own. */
static void a_fat_tree_has_a_way_for_everyone(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_FAT_TREE, 8, 128);
    for (uint32_t node = 0; node < 4; node++) {
        (void)sim_network_send(bench->network, 0, node, 124 + node, 32, node);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 4);
    for (uint32_t node = 0; node < 4; node++) {
        assert_arrival(bench, node, zero_load_ps(sim_network_hops(bench->network, 0, 127)),
                       124 + node, node);
    }
    bench_close(bench);
}

static void neighbours_share_a_switch(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 8, 20);
    assert_int_equal(sim_network_hops(bench->network, 7, 13), 1);
    assert_int_equal(sim_network_hops(bench->network, 6, 7), 3);
    assert_int_equal(sim_network_hops(bench->network, 19, 19), 1);
    (void)sim_network_send(bench->network, 0, 6, 7, 32, 1);
    bench_run(bench);
    /* Up by the last port of switch 0, down from the highest, number 3, to switch 1. */
    const uint32_t ways[3][2] = {{0, 7}, {3, 1}, {1, 0}};
    assert_int_equal(bench->carriage_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(bench->carriages[i].switch_number, ways[i][0]);
        assert_int_equal(bench->carriages[i].port, ways[i][1]);
    }
    bench_close(bench);
}

static void one_way_up_is_shared_by_all_below(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 8, 64);
    for (uint32_t node = 0; node < 7; node++) {
        (void)sim_network_send(bench->network, 0, node, 56 + node, 32, node);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 7);
    for (uint32_t node = 0; node < 7; node++) {
        assert_arrival(bench, node, zero_load_ps(5) + node * 240 * NS, 56 + node, node);
    }
    struct sim_network_worst worst;
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "switch 0, port 7, up to switch 10");
    assert_int_equal(worst.wait_ps_max, 6 * 240 * NS);
    bench_close(bench);

    /* And the way down, where packets from everywhere meet. */
    bench = bench_open(SIM_SWITCH_TREE, 8, 64);
    for (uint32_t group = 0; group < 7; group++) {
        (void)sim_network_send(bench->network, 0, 7 * group, 63, 32, group);
    }
    bench_run(bench);
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "switch 10, port 7, up to switch 12");
    bench_close(bench);
}

static void outputs_of_a_fat_tree_have_their_names(void **state)
{
    (void)state;
    struct sim_network_worst worst;
    /* Targets that share a way up: 4 ports of 8 lead up, the first of them to switch 16. */
    struct bench *bench = bench_open(SIM_FAT_TREE, 8, 64);
    for (uint32_t node = 0; node < 4; node++) {
        (void)sim_network_send(bench->network, 0, node, 48 + 4 * node, 32, node);
    }
    bench_run(bench);
    sim_network_worst(bench->network, &worst);
    assert_string_equal(worst.where, "switch 0, port 4, up to switch 16");
    bench_close(bench);

    bench = bench_open(SIM_FAT_TREE, 8, 64);
    for (uint32_t group = 0; group < 15; group++) {
        (void)sim_network_send(bench->network, 0, 4 * group + 2, 63, 32, group);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 15);
    sim_network_worst(bench->network, &worst);
    /* All meet in the fourth copy of the second level's last place: the last of 16 switches; its
     * fourth port leads to the last of the first level. */
    assert_string_equal(worst.where, "switch 31, port 3, down to switch 15");
    bench_close(bench);
}

/* Only those ports of the highest switches count that something is plugged into: there are as many
 * of these switches as ports lead up. */
static void a_fat_tree_of_large_switches_is_not_large(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_FAT_TREE, 30000, 65534);
    static const uint32_t targets[] = {1, 14999, 15000, 29999, 44444, 65533};
    for (uint32_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        (void)sim_network_send(bench->network, 0, 2 * i, targets[i], 32, i);
        assert_int_equal(sim_network_hops(bench->network, 2 * i, targets[i]),
                         targets[i] < 15000 ? 1 : 3);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, sizeof targets / sizeof targets[0]);
    bench_close(bench);
}

static void everyones_packet_is_carried(enum sim_topology topology)
{
    struct bench *bench = bench_open(topology, 8, WIRE_NODES_MAX);
    bench->visits = calloc(WIRE_NODES_MAX, sizeof *bench->visits);
    assert_non_null(bench->visits);
    for (uint32_t node = 0; node < WIRE_NODES_MAX; node++) {
        (void)sim_network_send(bench->network, 0, node, node ^ 1, 32, node);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, WIRE_NODES_MAX);
    for (uint32_t node = 0; node < WIRE_NODES_MAX; node++) {
        assert_int_equal(bench->visits[node], 1);
    }
    bench_close(bench);
}

static void a_tree_of_65534_nodes_carries_everyones_packet(void **state)
{
    (void)state;
    everyones_packet_is_carried(SIM_SWITCH_TREE);
    everyones_packet_is_carried(SIM_FAT_TREE);
}

/* ---- Multicast ------------------------------------------------------------------------- */

static void a_switch_copies_a_multicast_to_its_outputs(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 8, 8);
    assert_true(sim_network_can_multicast(bench->network));
    /* One packet on the source's link, one on each output, all at once. */
    assert_int_equal(sim_network_multicast(bench->network, 0, 3, 1, 6, 32, 42), 64 * NS);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_arrival(bench, i, 364 * NS, 1 + i, 42);
    }
    assert_int_equal(bench->carriage_count, 6);
    bench_close(bench);
}

static void a_multicast_goes_up_once_and_then_down(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 8, 56);
    (void)sim_network_multicast(bench->network, 0, 10, 5, 20, 32, 1); /* 5..24: switches 0..3 */
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 20);
    for (uint32_t i = 0; i < 20; i++) {
        assert_arrival(bench, i, zero_load_ps(3), 5 + i, 1);
    }
    /* One up, one to each of four switches, one to each node. */
    assert_int_equal(bench->carriage_count, 1 + 4 + 20);
    bench_close(bench);
}

static void a_multicast_reaches_its_range_and_nobody_else(void **state)
{
    (void)state;
    struct base_random random = {2024};
    for (uint32_t ports = 3; ports <= 9; ports++) {
        enum { NODES = 300 };
        struct bench *bench = bench_open(SIM_SWITCH_TREE, ports, NODES);
        bench->visits = calloc(NODES, sizeof *bench->visits);
        assert_non_null(bench->visits);
        for (uint32_t round = 0; round < 300; round++) {
            uint32_t first = (uint32_t)base_random_below(&random, NODES);
            uint32_t count = 1 + (uint32_t)base_random_below(&random, NODES - first);
            uint32_t source = (uint32_t)base_random_below(&random, NODES);
            memset(bench->visits, 0, NODES * sizeof *bench->visits);
            (void)sim_network_multicast(bench->network, bench->now_ps, source, first, count, 32,
                                        round);
            bench_run(bench);
            for (uint32_t node = 0; node < NODES; node++) {
                assert_int_equal(bench->visits[node], node >= first && node < first + count);
            }
        }
        bench_close(bench);
    }
}

static void a_multicast_to_all_65534_nodes(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 8, WIRE_NODES_MAX);
    bench->visits = calloc(WIRE_NODES_MAX, sizeof *bench->visits);
    assert_non_null(bench->visits);
    for (uint32_t round = 1; round <= 3; round++) {
        (void)sim_network_multicast(bench->network, bench->now_ps, 40000, 0, WIRE_NODES_MAX, 32, 1);
        bench_run(bench);
        for (uint32_t node = 0; node < WIRE_NODES_MAX; node++) {
            assert_int_equal(bench->visits[node], round);
        }
    }
    bench_close(bench);
}

static size_t memory_in_use(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* Every copy gives back what it held, so the next packet finds room. */
static void once_grown_it_allocates_no_more(void **state)
{
    (void)state;
    enum { NODES = 300 };
    struct base_random random = {5};
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 8, NODES);
    size_t used = 0;
    for (uint32_t round = 0; round < 1000; round++) {
        for (uint32_t i = 0; i < 50; i++) {
            uint32_t first = (uint32_t)base_random_below(&random, NODES);
            (void)sim_network_multicast(bench->network, bench->now_ps + i, i, first, NODES - first,
                                        32, i);
            (void)sim_network_send(bench->network, bench->now_ps + i, i, first, 32, i);
        }
        bench_run(bench);
        if (round == 10) {
            used = memory_in_use();
        }
    }
    assert_int_equal(memory_in_use(), used);
    bench_close(bench);
}

/* Each arrival sends a packet on while other copies of the same packet are still under way: no
 * packet takes the place of another. */
enum { RELAYS = 20000, RELAY_NODES = 300 };

struct relay {
    struct bench *bench;
    struct base_random random;
    uint32_t sent_count;
    struct {
        uint32_t first, last, left;
    } sent[RELAYS]; /* by token */
};

static void relay_send(struct relay *relay, uint64_t at_ps, uint32_t source)
{
    if (relay->sent_count == RELAYS) {
        return;
    }
    uint32_t token = relay->sent_count++;
    uint32_t first = (uint32_t)base_random_below(&relay->random, RELAY_NODES);
    uint32_t most = RELAY_NODES - first < 4 ? RELAY_NODES - first : 4;
    uint32_t count = 1 + (uint32_t)base_random_below(&relay->random, most);
    relay->sent[token].first = first;
    relay->sent[token].last = first + count - 1;
    relay->sent[token].left = count;
    (void)sim_network_multicast(relay->bench->network, at_ps, source, first, count, 32, token);
}

static void relay_arrived(void *context, uint64_t at_ps, uint32_t node, uint32_t token)
{
    struct relay *relay = context;
    assert_true(token < relay->sent_count && relay->sent[token].left > 0);
    assert_true(node >= relay->sent[token].first && node <= relay->sent[token].last);
    relay->sent[token].left--;
    relay_send(relay, at_ps, node);
}

static void what_arrives_may_send(void **state)
{
    (void)state;
    struct bench *bench = bench_machine(8);
    struct relay *relay = calloc(1, sizeof *relay);
    assert_non_null(relay);
    relay->bench = bench;
    const struct sim_network_user user = {.context = relay,
                                          .events = &bench->events,
                                          .event_kind = NETWORK_EVENT,
                                          .arrived = relay_arrived};
    char error[SIM_ERROR_BYTES];
    bench->network = sim_network_open(&bench->machine, SIM_SWITCH_TREE, RELAY_NODES, &user, error);
    assert_non_null(bench->network);
    relay_send(relay, 0, 1);
    relay_send(relay, 0, 2);
    bench_run(bench);
    assert_int_equal(relay->sent_count, RELAYS);
    for (uint32_t token = 0; token < RELAYS; token++) {
        assert_int_equal(relay->sent[token].left, 0);
    }
    bench_close(bench);
    free(relay);
}

static void without_the_key_there_is_no_multicast(void **state)
{
    (void)state;
    struct bench *bench = bench_machine(8);
    bench->machine.switch_multicast = 0;
    bench_join(bench, SIM_ONE_SWITCH, 8);
    assert_false(sim_network_can_multicast(bench->network));
    bench_close(bench);
}

/* ---- In general ------------------------------------------------------------------------ */

static uint64_t run_traffic(uint64_t seed)
{
    struct base_random random = {seed};
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 8, 500);
    uint64_t expected = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t at_ps = base_random_below(&random, 1000000 * NS);
        uint32_t source = (uint32_t)base_random_below(&random, 500);
        uint32_t target = (uint32_t)base_random_below(&random, 500);
        uint32_t bytes = 25 + (uint32_t)base_random_below(&random, 488);
        if (i % 100 == 0) {
            (void)sim_network_multicast(bench->network, at_ps, source, target, 500 - target, bytes,
                                        i);
            expected += 500 - target;
        } else {
            (void)sim_network_send(bench->network, at_ps, source, target, bytes, i);
            expected++;
        }
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, expected);
    uint64_t sum = bench->sum;
    bench_close(bench);
    return sum;
}

static void the_same_traffic_has_the_same_fate(void **state)
{
    (void)state;
    uint64_t sum = run_traffic(1);
    assert_true(run_traffic(1) == sum);
    assert_true(run_traffic(2) != sum);
}

/* A packet on an output never overlaps the one before, and packets leave in the order in which they
 * were taken out of the input. */
static void an_output_carries_one_packet_at_a_time(void **state)
{
    (void)state;
    struct base_random random = {77};
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 4, 24);
    for (uint32_t i = 0; i < 700; i++) {
        (void)sim_network_send(bench->network, base_random_below(&random, 20000 * NS),
                               (uint32_t)base_random_below(&random, 24),
                               (uint32_t)base_random_below(&random, 24),
                               (uint32_t)base_random_below(&random, 512), i);
    }
    bench_run(bench);
    assert_true(bench->carriage_count < ARRIVALS_MAX && bench->carriage_count > 1000);
    for (uint32_t i = 0; i < bench->carriage_count; i++) {
        const struct carriage *one = &bench->carriages[i];
        for (uint32_t k = i + 1; k < bench->carriage_count; k++) {
            const struct carriage *next = &bench->carriages[k];
            if (next->switch_number == one->switch_number && next->port == one->port) {
                assert_true(next->from_ps >= one->to_ps);
                assert_true(next->from_ps >= one->from_ps + 240 * NS);
                break;
            }
        }
    }
    bench_close(bench);
}

static void assert_refused(enum sim_topology topology, uint32_t ports, uint32_t nodes,
                           const char *expected)
{
    struct bench *bench = bench_machine(ports);
    const struct sim_network_user user = {.context = bench,
                                          .events = &bench->events,
                                          .event_kind = NETWORK_EVENT,
                                          .arrived = arrived};
    char error[SIM_ERROR_BYTES] = "";
    assert_null(sim_network_open(&bench->machine, topology, nodes, &user, error));
    assert_string_equal(error, expected);
    bench_close(bench);
}

static void what_cannot_be_joined_is_refused_by_name(void **state)
{
    (void)state;
    assert_refused(SIM_LOOP_INSIDE, 8, 2,
                   "nodes is 2, but a loop inside the SWIF (loop-inside) has 1");
    assert_refused(SIM_LOOP_OUTSIDE, 8, 0,
                   "nodes is 0, but a loop outside the SWIF (loop-outside) has 1");
    assert_refused(SIM_BACK_TO_BACK, 8, 3,
                   "nodes is 3, but a cable between two boards (back-to-back) has 2");
    assert_refused(SIM_BACK_TO_BACK, 8, 1,
                   "nodes is 1, but a cable between two boards (back-to-back) has 2");
    assert_refused(SIM_ONE_SWITCH, 8, 0, "nodes is 0, but a switch (switch) has 1 to 65534");
    assert_refused(SIM_ONE_SWITCH, 8, 9,
                   "machine hand-made: [switch] ports is 8, too few for 9 nodes");
    assert_refused(SIM_ONE_SWITCH, 0, 2,
                   "machine hand-made: [switch] ports is 0, but the topology is switch");
    assert_refused(SIM_SWITCH_TREE, 0, 2,
                   "machine hand-made: [switch] ports is 0, but the topology is tree");
    assert_refused(SIM_SWITCH_TREE, 2, 2,
                   "machine hand-made: [switch] ports is 2, a tree needs one up and two down");
    assert_refused(SIM_SWITCH_TREE, 8, 65535,
                   "nodes is 65535, but a tree of switches (tree) has 1 to 65534");
    assert_refused(SIM_SWITCH_TREE, 8, UINT32_MAX,
                   "nodes is 4294967295, but a tree of switches (tree) has 1 to 65534");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_inside_costs_nothing_but_the_link),
        cmocka_unit_test(a_loop_outside_and_a_cable_cost_the_wire),
        cmocka_unit_test(what_a_board_sends_to_itself_never_sees_the_cable),
        cmocka_unit_test(a_link_is_taken_to_the_last_picosecond),
        cmocka_unit_test(a_switch_costs_two_wires_and_its_transit),
        cmocka_unit_test(small_packets_to_one_output_are_240_ns_apart),
        cmocka_unit_test(long_packets_to_one_output_follow_each_other),
        cmocka_unit_test(different_outputs_do_not_wait_for_each_other),
        cmocka_unit_test(the_worst_output_is_the_one_that_most_waited_for),
        cmocka_unit_test(a_tree_has_as_few_levels_as_it_needs),
        cmocka_unit_test(every_way_through_a_tree_leads_to_its_target),
        cmocka_unit_test(a_fat_tree_has_a_way_for_everyone),
        cmocka_unit_test(outputs_of_a_fat_tree_have_their_names),
        cmocka_unit_test(a_fat_tree_of_large_switches_is_not_large),
        cmocka_unit_test(neighbours_share_a_switch),
        cmocka_unit_test(one_way_up_is_shared_by_all_below),
        cmocka_unit_test(a_tree_of_65534_nodes_carries_everyones_packet),
        cmocka_unit_test(a_switch_copies_a_multicast_to_its_outputs),
        cmocka_unit_test(a_multicast_goes_up_once_and_then_down),
        cmocka_unit_test(a_multicast_reaches_its_range_and_nobody_else),
        cmocka_unit_test(a_multicast_to_all_65534_nodes),
        cmocka_unit_test(once_grown_it_allocates_no_more),
        cmocka_unit_test(what_arrives_may_send),
        cmocka_unit_test(without_the_key_there_is_no_multicast),
        cmocka_unit_test(the_same_traffic_has_the_same_fate),
        cmocka_unit_test(an_output_carries_one_packet_at_a_time),
        cmocka_unit_test(what_cannot_be_joined_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("sim/network", tests, NULL, NULL);
}
