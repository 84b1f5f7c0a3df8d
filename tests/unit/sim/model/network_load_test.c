/* What each output of a network says that it has carried, in all kinds of networks. */
#include "network_bench.h"

/* The load of the output with that name. */
static struct sim_network_load load_of(const struct bench *bench, const char *where)
{
    struct sim_network_load load = {.packets = 0};
    size_t count = sim_network_load_count(bench->network);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct sim_network_load one;
        sim_network_load(bench->network, i, &one);
        if (strcmp(one.where, where) == 0) {
            load = one;
            found++;
        }
    }
    if (found != 1) {
        fail_msg("%zu outputs of %zu are \"%s\"", found, count, where);
    }
    return load;
}

static void assert_load(const struct bench *bench, const char *where, uint64_t packets,
                        uint64_t bytes, uint64_t busy_ps)
{
    struct sim_network_load load = load_of(bench, where);
    if (load.packets != packets || load.bytes != bytes || load.busy_ps != busy_ps) {
        fail_msg("%s: %llu packets, %llu bytes, %llu ps", where, (unsigned long long)load.packets,
                 (unsigned long long)load.bytes, (unsigned long long)load.busy_ps);
    }
}

/* Packets of all outputs. */
static uint64_t packets_in_all(const struct bench *bench)
{
    uint64_t all = 0;
    for (size_t i = 0; i < sim_network_load_count(bench->network); i++) {
        struct sim_network_load load;
        sim_network_load(bench->network, i, &load);
        all += load.packets;
    }
    return all;
}

/* 2 ns a byte; an output of the switch is taken for 240 ns at least. */
static void outputs_of_a_switch_are_taken_by_what_they_carry(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_ONE_SWITCH, 8, 4);
    (void)sim_network_send(bench->network, 0, 0, 3, 500, 1);
    (void)sim_network_send(bench->network, 0, 0, 3, 100, 2);
    (void)sim_network_send(bench->network, 0, 1, 3, 32, 3);
    bench_run(bench);
    assert_int_equal(sim_network_load_count(bench->network), 4 + 4);
    assert_load(bench, "node 0, its link", 2, 600, 1200 * NS);
    assert_load(bench, "node 1, its link", 1, 32, 64 * NS);
    assert_load(bench, "switch 0, port 3, to node 3", 3, 632, (1000 + 240 + 240) * NS);
    assert_load(bench, "switch 0, port 0, to node 0", 0, 0, 0);
    assert_int_equal(load_of(bench, "node 1, its link").wait_ps_max, 0);
    assert_int_equal(load_of(bench, "node 0, its link").wait_ps_max, 1000 * NS);
    bench_close(bench);
}

static void a_cable_carries_both_ways(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_BACK_TO_BACK, 0, 2);
    (void)sim_network_send(bench->network, 0, 0, 1, 40, 1);
    (void)sim_network_reply(bench->network, 0, 1, 0, 24, 2);
    bench_run(bench);
    assert_load(bench, "node 0, its link", 1, 40, 80 * NS);
    assert_load(bench, "node 1, its link", 1, 24, 48 * NS);
    bench_close(bench);
}

static void every_hop_of_a_tree_counts(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_SWITCH_TREE, 4, 9);
    uint64_t hops = 0;
    for (uint32_t i = 0; i < 81; i++) {
        (void)sim_network_send(bench->network, 0, i / 9, i % 9, 32, i);
        hops += 1 + sim_network_hops(bench->network, i / 9, i % 9);
    }
    bench_run(bench);
    assert_int_equal(packets_in_all(bench), hops);
    bench_close(bench);
}

/* A flit is 8 bytes and takes a cycle of 16 ns; over the port a line of 8 bytes does. */
static void links_of_a_ring_count_flits(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_RING, 8, 4);
    struct sim_network_load load;
    (void)sim_network_send(bench->network, 0, 0, 1, 80, 1);
    (void)sim_network_send(bench->network, 0, 0, 1, 80, 2);
    bench_run(bench);
    assert_int_equal(sim_network_load_count(bench->network), 4 + 4 + 8);
    assert_load(bench, "node 0, its link", 2, 160, 20 * 16 * NS);
    load = load_of(bench, "the link from router 0 to 1");
    assert_int_equal(load.packets, 2);
    assert_true(load.bytes >= 160);
    assert_true(load.busy_ps > 0 && load.busy_ps <= 20 * 16 * NS);
    assert_load(bench, "the link from router 1 to 2", 0, 0, 0);
    load = load_of(bench, "router 1, to its node");
    assert_int_equal(load.packets, 2);
    assert_int_equal(load.bytes, load_of(bench, "the link from router 0 to 1").bytes);
    bench_close(bench);
}

static void every_hop_of_a_torus_counts(void **state)
{
    (void)state;
    struct bench *bench = bench_open(SIM_TORUS, 8, 12);
    uint64_t links = 0;
    for (uint32_t i = 0; i < 144; i++) {
        (void)sim_network_send(bench->network, 0, i / 12, i % 12, 32, i);
        links += sim_network_hops(bench->network, i / 12, i % 12) - 1;
    }
    bench_run(bench);
    assert_int_equal(packets_in_all(bench), links + 144 + 144);
    bench_close(bench);
}

/* 4X: 1 ns a byte, in words of 4 bytes; a frame is 26 bytes and the packet's words. */
static void cables_of_a_subnet_carry_frames(void **state)
{
    (void)state;
    struct bench *bench = bench_machine(8);
    bench->machine.link_mb_per_s = UINT64_C(1000000000);
    bench->machine.switch_next = 0;
    bench->machine.switch_tables = 1;
    bench->machine.switch_infiniband = 1;
    bench->machine.switch_mtu = 2048;
    bench->machine.switch_linear_entries = 4096;
    bench->machine.switch_multicast_entries = 128;
    bench->machine.switch_data_vls = 4;
    bench->machine.switch_buffer_flits = 128;
    bench_join(bench, SIM_ONE_SWITCH, 4);
    (void)sim_network_send(bench->network, 0, 0, 3, 500, 1);
    (void)sim_network_send(bench->network, 0, 1, 3, 100, 2);
    bench_run(bench);
    struct sim_network_load first = load_of(bench, "node 0, its link");
    struct sim_network_load second = load_of(bench, "node 1, its link");
    struct sim_network_load out = load_of(bench, "switch 0, port 3, to node 3");
    assert_int_equal(first.packets, 1);
    assert_int_equal(first.bytes, 504 + 26);
    assert_in_range(first.busy_ps, first.bytes * NS, (first.bytes + 8) * NS);
    assert_int_equal(out.packets, 2);
    assert_int_equal(out.bytes, first.bytes + second.bytes);
    assert_int_equal(out.busy_ps, first.busy_ps + second.busy_ps);
    assert_true(out.wait_ps_max > 0);
    bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_of_a_switch_are_taken_by_what_they_carry),
        cmocka_unit_test(a_cable_carries_both_ways),
        cmocka_unit_test(every_hop_of_a_tree_counts),
        cmocka_unit_test(links_of_a_ring_count_flits),
        cmocka_unit_test(every_hop_of_a_torus_counts),
        cmocka_unit_test(cables_of_a_subnet_carry_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
