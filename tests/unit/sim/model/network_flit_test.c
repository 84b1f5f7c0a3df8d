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
    assert_false(sim_network_can_multicast(bench->network));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_takes_its_routers_delays),
        cmocka_unit_test(everyone_reaches_everyone_on_a_torus),
        cmocka_unit_test(a_link_into_a_router_is_taken_by_one_packet_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
