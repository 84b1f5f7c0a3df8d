/* Rings and tori of routers under the model's clock. */
#include "network_bench.h"

#include "sim/ring/net.h"

static void a_ring_takes_its_routers_delays(void **state)
{
    (void)state;
    enum { NODES = 9, BYTES = 50 };
    struct net_config config;
    net_config_default(&config, NODES);
    const uint64_t period_ps = 16 * NS;
    struct bench *bench = bench_open(SIM_RING, 8, NODES);
    config.port_frame_khz = 62500; /* 500 MB/s, 8 bytes in 16 ns: a line in a cycle */
    for (uint32_t target = 0; target < NODES; target++) {
        uint64_t at_ps = bench->now_ps + 10000 * NS;
        at_ps -= at_ps % period_ps; /* it reaches the router's door at an edge */
        uint64_t cycles = net_zero_load_bytes(&config, 0, target, BYTES);
        bench->now_ps = at_ps;
        (void)sim_network_send(bench->network, at_ps, 0, target, BYTES, target);
        bench_run(bench);
        assert_int_equal(bench->arrival_count, target + 1);
        assert_arrival(bench, target, at_ps + cycles * period_ps, target, target);
    }
    assert_int_equal(sim_network_hops(bench->network, 0, 4), 5);
    assert_int_equal(sim_network_hops(bench->network, 0, 5), 5);
    assert_int_equal(sim_network_hops(bench->network, 8, 0), 2);
    assert_true(sim_network_can_multicast(bench->network));
    bench_close(bench);
}

static void everyone_reaches_everyone_on_a_torus(void **state)
{
    (void)state;
    enum { NODES = 24 };
    struct bench *bench = bench_open(SIM_TORUS, 8, NODES);
    bench->visits = calloc(NODES, sizeof *bench->visits);
    assert_non_null(bench->visits);
    for (uint32_t way = 0; way < NODES * NODES; way++) {
        (void)sim_network_send(bench->network, 0, way / NODES, way % NODES, 100, way);
    }
    bench_run(bench);
    for (uint32_t node = 0; node < NODES; node++) {
        assert_int_equal(bench->visits[node], NODES);
    }
    assert_int_equal(sim_network_hops(bench->network, 0, 23), 3); /* one to the left, one up */
    assert_false(sim_network_can_multicast(bench->network));
    assert_string_equal(
        sim_network_refusal(bench->network),
        "a torus has no multicast: the tables of its routers lead round a ring only");
    bench_close(bench);
}

/* As in any network: a node that sends while its port is taken waits for it, and is told when it is
 * free again. Packets of 15 lines, a line each 16 ns. */
static void a_link_into_a_router_is_taken_by_one_packet_at_a_time(void **state)
{
    (void)state;
    enum { PACKETS = 5, LINES = 15, BYTES = 8 * LINES };
    const uint64_t lines_ps = LINES * 16 * NS;
    struct bench *bench = bench_open(SIM_RING, 8, 4);
    for (uint32_t i = 0; i < PACKETS; i++) {
        assert_int_equal(sim_network_send(bench->network, 0, 0, 1, BYTES, i), (i + 1) * lines_ps);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, PACKETS);
    for (uint32_t i = 1; i < PACKETS; i++) {
        assert_int_equal(bench->arrivals[i].token, i);
        assert_true(bench->arrivals[i].at_ps >= bench->arrivals[i - 1].at_ps + lines_ps);
    }
    bench_close(bench);
}

/* Node 3 of 9 sends packets as fast as its port takes them. How many of them are not on the port
 * when they should be? `other` sends as much over the same links. */
static uint32_t packets_stopped(uint32_t other)
{
    enum { PACKETS = 200, BYTES = 120 };
    struct bench *bench = bench_open(SIM_RING, 8, 9);
    uint32_t stopped = 0;
    for (uint32_t i = 0; i < PACKETS; i++) {
        uint64_t at_ps = bench->now_ps;
        uint64_t free_ps = sim_network_send(bench->network, at_ps, 3, 7, BYTES, i);
        if (other != 3) {
            (void)sim_network_send(bench->network, at_ps, other, (other + 4) % 9, BYTES, PACKETS);
        }
        stopped += sim_network_is_stopped(bench->network, 3, i);
        bench_run_until(bench, free_ps);
    }
    bench_run(bench);
    assert_int_equal(bench->arrival_count, other == 3 ? PACKETS : 2 * PACKETS);
    bench_close(bench);
    return stopped;
}

/* The port has two thirds of a link's rate. Packets on their way go first, so a second stream
 * leaves too little of the link, the slack buffer fills, and the router says stop. */
static void a_node_hears_that_its_router_says_stop(void **state)
{
    (void)state;
    assert_int_equal(packets_stopped(3), 0);
    assert_int_equal(packets_stopped(7), 0); /* over other links */
    assert_in_range(packets_stopped(2), 50, 199);
}

/* A node has much to send to another; its reply to that one does not wait for it, but shares the
 * port with it. */
static void expect_quick_reply(struct bench *bench, uint32_t source, uint32_t target)
{
    enum { REQUESTS = 50, BYTES = 1200, REPLY = 200 };
    uint64_t at_ps = bench->now_ps;
    uint32_t before = bench->arrival_count;
    for (uint32_t i = 0; i < REQUESTS; i++) {
        (void)sim_network_send(bench->network, at_ps, source, target, BYTES, i);
    }
    (void)sim_network_reply(bench->network, at_ps, source, target, BYTES, REPLY);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, before + REQUESTS + 1);
    uint32_t place = before;
    while (bench->arrivals[place].token != REPLY) {
        place++;
    }
    assert_int_equal(bench->arrivals[place].node, target);
    assert_in_range(place - before, 0, 2);
}

static void a_reply_does_not_wait_behind_requests(void **state)
{
    (void)state;
    enum { FIRST = 100 };
    struct bench *bench = bench_open(SIM_RING, 8, 4);
    (void)sim_network_send(bench->network, 0, 0, 1, 16, FIRST);
    bench_run(bench);
    assert_int_equal(bench->arrivals[0].token, FIRST);
    expect_quick_reply(bench, 1, 0);
    /* Also when nothing has come that it could answer. */
    expect_quick_reply(bench, 2, 3);
    bench_close(bench);
}

/* Node 6 is two links to the left of node 0. A packet of it takes these; but a reply to what came
 * by multicast, round to the right, goes back by the other six, as the header of that one says. */
static void a_reply_takes_the_way_back_in_the_requests_header(void **state)
{
    (void)state;
    enum { BYTES = 1200 };
    struct sim_network_worst busiest;
    for (unsigned is_reply = 0; is_reply < 2; is_reply++) {
        struct bench *bench = bench_open(SIM_RING, 8, 8);
        (void)sim_network_multicast(bench->network, 0, 0, 6, 1, 16, 1);
        bench_run(bench);
        if (is_reply) {
            (void)sim_network_reply(bench->network, bench->now_ps, 6, 0, BYTES, 2);
        } else {
            (void)sim_network_send(bench->network, bench->now_ps, 6, 0, BYTES, 2);
        }
        bench_run(bench);
        assert_int_equal(bench->arrivals[1].node, 0);
        sim_network_worst(bench->network, &busiest);
        assert_string_equal(busiest.where, is_reply ? "the link from router 1 to 0"
                                                    : "the link from router 6 to 7");
        bench_close(bench);
    }
}

/* One packet goes round for all nodes of a range; the port is taken once. */
static void a_ring_multicasts_by_its_tables(void **state)
{
    (void)state;
    enum { NODES = 9, BYTES = 96 };
    const uint64_t port_ps = 12 * 16 * NS;
    struct bench *bench = bench_open(SIM_RING, 8, NODES);
    bench->visits = calloc(NODES, sizeof *bench->visits);
    assert_non_null(bench->visits);
    assert_int_equal(sim_network_multicast(bench->network, 0, 2, 1, 6, BYTES, 7), port_ps);
    assert_int_equal(sim_network_multicast(bench->network, 0, 2, 1, 6, BYTES, 8), 2 * port_ps);
    bench_run(bench);
    for (uint32_t node = 0; node < NODES; node++) {
        assert_int_equal(bench->visits[node], node >= 1 && node <= 6 ? 2 : 0);
    }
    /* To the right, and the source itself last but for those before it. */
    assert_int_equal(bench->arrivals[0].node, 3);
    assert_int_equal(bench->arrivals[bench->arrival_count - 1].node, 2);
    bench_close(bench);
}

/* Ranges that find no line in the tables get a packet for each node. */
static void more_groups_than_lines_are_served(void **state)
{
    (void)state;
    enum { NODES = 40 };
    struct bench *bench = bench_open(SIM_RING, 8, NODES);
    bench->visits = calloc(NODES, sizeof *bench->visits);
    assert_non_null(bench->visits);
    uint32_t expected[NODES] = {0};
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 100; i++) {
            uint32_t first = (i * 7 + round) % NODES, count = 1 + i % (NODES - first);
            (void)sim_network_multicast(bench->network, bench->now_ps, i % NODES, first, count, 40,
                                        i);
            for (uint32_t node = first; node < first + count; node++) {
                expected[node]++;
            }
        }
        bench_run(bench);
    }
    for (uint32_t node = 0; node < NODES; node++) {
        assert_int_equal(bench->visits[node], expected[node]);
    }
    bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_takes_its_routers_delays),
        cmocka_unit_test(everyone_reaches_everyone_on_a_torus),
        cmocka_unit_test(a_link_into_a_router_is_taken_by_one_packet_at_a_time),
        cmocka_unit_test(a_node_hears_that_its_router_says_stop),
        cmocka_unit_test(a_reply_does_not_wait_behind_requests),
        cmocka_unit_test(a_reply_takes_the_way_back_in_the_requests_header),
        cmocka_unit_test(a_ring_multicasts_by_its_tables),
        cmocka_unit_test(more_groups_than_lines_are_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
