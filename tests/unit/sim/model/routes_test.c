/* Routes through switches: tables and source routes, the ways back, links that send again. */
#include "network_bench.h"

#include "sim/model/routes.h"

/* ---- Headers ------------------------------------------------------------------------------- */

static void a_table_gives_the_port_for_each_node(void **state)
{
    (void)state;
    unsigned char header[WIRE_LINE_DATA_BYTES];
    struct wire_sw2_header sw2;
    struct sim_routes *routes = sim_routes_open(SIM_ROUTING_TABLE, 3, 10);
    sim_routes_set(routes, 0, 7, 4);
    sim_routes_set(routes, 2, 7, 1);
    sim_routes_begin(routes, 9, 7, NULL, 0, header);
    assert_int_equal(sim_routes_next(routes, 0, 5, header), 4);
    assert_int_equal(sim_routes_next(routes, 2, 0, header), 1);
    /* The header is as the sender made it, with the way to answer. */
    assert_true(wire_sw2_header_decode(header, &sw2));
    assert_int_equal(sw2.rrid, 7);
    assert_int_equal(sw2.irid, 9);
    sim_routes_close(routes);
}

static void a_source_route_becomes_the_way_back(void **state)
{
    (void)state;
    static const uint8_t ports[] = {2, 15, 7};
    static const uint8_t entered[] = {11, 3, 0};
    unsigned char header[WIRE_LINE_DATA_BYTES];
    struct wire_oip_header there;
    struct wire_oip_header back;
    struct sim_routes *routes = sim_routes_open(SIM_ROUTING_SOURCE, 3, 10);
    sim_routes_begin(routes, 0, 9, ports, 3, header);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(sim_routes_next(routes, i, entered[i], header), ports[i]);
    }
    assert_true(wire_oip_header_decode(header, &there));
    assert_true(wire_oip_header_reply(&there, &back));
    assert_int_equal(back.hops, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(back.ports[i], entered[2 - i]);
    }
    sim_routes_close(routes);
}

/* ---- In networks --------------------------------------------------------------------------- */

enum routing { COMPUTED, BY_TABLE, BY_SOURCE, ROUTINGS };

static struct bench *open_routed(enum routing routing, enum sim_topology topology, uint32_t ports,
                                 uint32_t nodes)
{
    struct bench *bench = bench_machine(ports);
    bench->machine.switch_tables = routing == BY_TABLE;
    bench->machine.switch_source_routes = routing == BY_SOURCE;
    bench_join(bench, topology, nodes);
    return bench;
}

/* Every node sends to every node: whatever decides, packets take the same ways at the same time. */
static void routes_lead_where_computed_ways_lead(void **state)
{
    static const struct {
        enum sim_topology topology;
        uint32_t ports, nodes;
    } cases[] = {
        {SIM_ONE_SWITCH, 8, 8},   {SIM_ONE_SWITCH, 40, 33}, {SIM_SWITCH_TREE, 8, 30},
        {SIM_SWITCH_TREE, 4, 30}, {SIM_FAT_TREE, 8, 60},    {SIM_FAT_TREE, 4, 16},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t sums[ROUTINGS];
        for (unsigned routing = 0; routing < ROUTINGS; routing++) {
            struct bench *bench = open_routed(routing, cases[i].topology, cases[i].ports,
                                              cases[i].nodes);
            uint32_t nodes = cases[i].nodes;
            for (uint32_t j = 0; j < nodes * nodes; j++) {
                (void)sim_network_send(bench->network, 0, j / nodes, j % nodes, 32, j);
            }
            bench_run(bench);
            assert_int_equal(bench->arrival_count, nodes * nodes);
            sums[routing] = bench->sum;
            bench_close(bench);
        }
        assert_int_equal(sums[BY_TABLE], sums[COMPUTED]);
        assert_int_equal(sums[BY_SOURCE], sums[COMPUTED]);
    }
}

/* Two levels of a fat tree: packets to node 5 go over one of the switches above, those to node 0
 * over the other; but a reply to node 0 over that by which the request came. */
static void a_reply_goes_back_by_its_requests_source_route(void **state)
{
    (void)state;
    enum { HOPS = 3 };
    for (unsigned is_reply = 0; is_reply < 2; is_reply++) {
        struct bench *bench = open_routed(BY_SOURCE, SIM_FAT_TREE, 4, 8);
        (void)sim_network_send(bench->network, 0, 0, 5, 32, 1);
        bench_run(bench);
        if (is_reply) {
            (void)sim_network_reply(bench->network, bench->now_ps, 5, 0, 32, 2);
        } else {
            (void)sim_network_send(bench->network, bench->now_ps, 5, 0, 32, 2);
        }
        bench_run(bench);
        assert_int_equal(bench->carriage_count, 2 * HOPS);
        assert_int_equal(bench->arrivals[1].node, 0);
        const struct carriage *ways = bench->carriages;
        assert_int_equal(ways[HOPS].switch_number, ways[HOPS - 1].switch_number);
        assert_int_equal(ways[HOPS + 1].switch_number == ways[1].switch_number, is_reply);
        assert_int_equal(ways[HOPS + 2].switch_number, ways[0].switch_number);
        bench_close(bench);
    }
    /* Where no request has come a reply finds its own way, and so does one by tables. */
    struct bench *bench = open_routed(BY_SOURCE, SIM_FAT_TREE, 4, 8);
    (void)sim_network_reply(bench->network, 0, 5, 0, 32, 2);
    bench_run(bench);
    assert_int_equal(bench->arrivals[0].node, 0);
    bench_close(bench);
    bench = open_routed(BY_TABLE, SIM_FAT_TREE, 4, 8);
    (void)sim_network_reply(bench->network, 0, 5, 0, 32, 2);
    bench_run(bench);
    assert_int_equal(bench->arrivals[0].node, 0);
    bench_close(bench);
}

/* A multicast has no header of its own kind, and goes as before. */
static void a_multicast_goes_beside_routed_packets(void **state)
{
    (void)state;
    struct bench *bench = open_routed(BY_TABLE, SIM_SWITCH_TREE, 8, 20);
    (void)sim_network_multicast(bench->network, 0, 3, 0, 20, 32, 1);
    (void)sim_network_send(bench->network, 0, 3, 19, 32, 2);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, 21);
    bench_close(bench);
}

static void a_way_of_more_than_six_switches_has_no_source_route(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES] = "";
    struct bench *bench = bench_machine(8);
    const struct sim_network_user user = {.context = bench,
                                          .events = &bench->events,
                                          .event_kind = NETWORK_EVENT,
                                          .arrived = arrived};
    bench->machine.switch_source_routes = 1;
    bench->network = sim_network_open(&bench->machine, SIM_SWITCH_TREE, 392, &user, error);
    assert_non_null(bench->network); /* 7 * 7 * 8: three levels */
    sim_network_close(bench->network);
    bench->network = sim_network_open(&bench->machine, SIM_SWITCH_TREE, 393, &user, error);
    assert_null(bench->network);
    assert_non_null(strstr(error, "up to 7 switches"));
    bench_close(bench);
}

/* Node 0 and node 4 of a fat tree of 4-port switches are two levels apart; by default packets to
 * them go up by the port of their number. */
static void a_table_can_be_changed(void **state)
{
    (void)state;
    enum { UP = 2, SPARE_UP = 3, TARGET = 4 };
    struct bench *bench = open_routed(BY_TABLE, SIM_FAT_TREE, 4, 8);
    (void)sim_network_send(bench->network, 0, 0, TARGET, 32, 1);
    bench_run(bench);
    assert_int_equal(bench->carriages[0].switch_number, 0);
    assert_int_equal(bench->carriages[0].port, UP);
    assert_true(sim_network_route(bench->network, 0, TARGET, SPARE_UP));
    bench->carriage_count = 0;
    (void)sim_network_send(bench->network, bench->now_ps, 0, TARGET, 32, 2);
    bench_run(bench);
    assert_int_equal(bench->carriages[0].port, SPARE_UP);
    assert_int_equal(bench->arrivals[1].node, TARGET);
    /* Down there is one way, and ports that do not exist lead nowhere. */
    assert_false(sim_network_route(bench->network, 0, 1, SPARE_UP));
    assert_false(sim_network_route(bench->network, 0, TARGET, 1));
    assert_false(sim_network_route(bench->network, 0, TARGET, 4));
    assert_false(sim_network_route(bench->network, 99, TARGET, UP));
    assert_false(sim_network_route(bench->network, 0, 99, UP));
    bench_close(bench);
    bench = open_routed(BY_SOURCE, SIM_FAT_TREE, 4, 8);
    assert_false(sim_network_route(bench->network, 0, TARGET, UP));
    bench_close(bench);
}

/* ---- Links that send again ------------------------------------------------------------------ */

static struct bench *open_resending(uint64_t ppm)
{
    struct bench *bench = bench_machine(8);
    bench->machine.switch_resend = 1;
    bench->machine.link_loss_ppm = ppm;
    bench_join(bench, SIM_ONE_SWITCH, 2);
    return bench;
}

/* One in ten of 4,000 passages of a link is damaged: each makes its packet later by its length and
 * a way to and fro, and none is lost. */
static void damage_on_a_link_is_repaired_there(void **state)
{
    (void)state;
    enum { PACKETS = 2000, BYTES = 64, LENGTH_NS = 128, WIRE_NS = 132 };
    uint64_t end_ps[2];
    uint64_t resends = 0;
    for (unsigned damaged = 0; damaged < 2; damaged++) {
        struct bench *bench = open_resending(damaged ? 100000 : 0);
        for (uint32_t i = 0; i < PACKETS; i++) {
            (void)sim_network_send(bench->network, bench->now_ps, 0, 1, BYTES, i);
            bench_run(bench);
        }
        assert_int_equal(bench->arrival_count, PACKETS);
        end_ps[damaged] = bench->now_ps;
        resends = sim_network_resends(bench->network);
        if (!damaged) {
            assert_int_equal(resends, 0);
        }
        bench_close(bench);
    }
    assert_in_range(resends, 4000 / 10 * 3 / 4, 4000 / 9 * 5 / 4);
    assert_int_equal(end_ps[1] - end_ps[0], resends * (LENGTH_NS + 2 * WIRE_NS) * NS);
}

/* What turns inside the SWIF passes no link: all of a loop inside, and a packet to oneself where a
 * cable leads to another board. */
static void nothing_is_damaged_where_there_is_no_link(void **state)
{
    (void)state;
    static const struct {
        enum sim_topology topology;
        uint32_t nodes, target;
        bool has_link;
    } ways[] = {{SIM_LOOP_INSIDE, 1, 0, false},
                {SIM_LOOP_OUTSIDE, 1, 0, true},
                {SIM_BACK_TO_BACK, 2, 0, false},
                {SIM_BACK_TO_BACK, 2, 1, true}};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct bench *bench = bench_machine(8);
        bench->machine.switch_resend = 1;
        bench->machine.link_loss_ppm = 500000;
        bench_join(bench, ways[i].topology, ways[i].nodes);
        for (uint32_t packet = 0; packet < 100; packet++) {
            (void)sim_network_send(bench->network, 0, 0, ways[i].target, 64, packet);
        }
        bench_run(bench);
        assert_int_equal(bench->arrival_count, 100);
        assert_int_equal(sim_network_resends(bench->network) > 0, ways[i].has_link);
        bench->machine.switch_resend = 0;
        assert_int_equal(sim_links_lose(&bench->machine, ways[i].topology),
                         ways[i].topology != SIM_LOOP_INSIDE);
        bench_close(bench);
    }
}

/* The link is taken meanwhile. */
static void packets_behind_a_damaged_one_wait(void **state)
{
    (void)state;
    enum { PACKETS = 500 };
    struct bench *bench = open_resending(500000);
    uint64_t free_ps = 0;
    for (uint32_t i = 0; i < PACKETS; i++) {
        free_ps = sim_network_send(bench->network, 0, 0, 1, 64, i);
    }
    assert_true(free_ps > PACKETS * 128 * NS * 3);
    bench_run(bench);
    assert_int_equal(bench->arrival_count, PACKETS);
    for (uint32_t i = 0; i < PACKETS; i++) {
        assert_int_equal(bench->arrivals[i].token, i);
    }
    bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_gives_the_port_for_each_node),
        cmocka_unit_test(a_source_route_becomes_the_way_back),
        cmocka_unit_test(routes_lead_where_computed_ways_lead),
        cmocka_unit_test(a_reply_goes_back_by_its_requests_source_route),
        cmocka_unit_test(a_multicast_goes_beside_routed_packets),
        cmocka_unit_test(a_way_of_more_than_six_switches_has_no_source_route),
        cmocka_unit_test(a_table_can_be_changed),
        cmocka_unit_test(damage_on_a_link_is_repaired_there),
        cmocka_unit_test(nothing_is_damaged_where_there_is_no_link),
        cmocka_unit_test(packets_behind_a_damaged_one_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
