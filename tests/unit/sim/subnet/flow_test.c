/* Packets through a subnet: their times to the cycle, their order, credits, lanes,
 * multicast, and circles. */
#include "flow_world.h"

/* ---- Times ------------------------------------------------------------------------------ */

static void a_lone_packet_takes_the_sum_of_the_delays(void **state)
{
    (void)state;
    static const uint8_t widths[] = {1, 4, 12};
    for (unsigned w = 0; w < 3; w++) {
        struct world world = {0};
        struct flow_config config;
        flow_config_default(&config);
        world_ring(&world.topology, 8, 1, widths[w]);
        open_world(&world, NULL, &config, true);
        uint64_t tag = 0;
        for (uint32_t to = 0; to < 8; to++) {
            for (uint32_t bytes = 26; bytes < 2100; bytes += 344) {
                uint32_t way[16];
                uint64_t head_ps;
                char text[TOPOLOGY_ERROR_BYTES];
                uint32_t from_port = world_port(world.subnet, 2);
                uint32_t count = subnet_way(world.subnet, from_port, world_lid(to), way, 16, text);
                uint64_t tail_ps = flow_zero_load_ps(world.flow, from_port, way, count, bytes,
                                                     &head_ps);
                uint64_t start_ps = world.now_ps;
                send(&world, 2, to, bytes, 0, tag);
                run_out(&world);
                const struct seen *seen = &world.seen[tag++];
                assert_int_equal(seen->count, 1);
                assert_int_equal(seen->target, world_port(world.subnet, to));
                assert_int_equal(seen->tail_ps - start_ps, tail_ps);
                assert_int_equal(seen->head_ps - start_ps, head_ps);
                /* The same by hand: a cable for each hop, a switch between, its length once. */
                uint32_t ring = to > 2 ? to - 2 : 2 - to;
                uint32_t switches = to == 2 ? 0 : (ring <= 4 ? ring : 8 - ring) + 1;
                uint64_t length_ps = (uint64_t)((bytes + 2 + widths[w] - 1) / widths[w]) * 4000;
                uint64_t sum_ps = switches == 0
                                      ? length_ps
                                      : switches * 160000 + (switches + 1) * 36000 + length_ps;
                assert_int_equal(tail_ps, sum_ps);
                assert_int_equal(seen->hops, switches);
            }
        }
        close_world(&world);
    }
}

/* A slow cable into a fast one and back: the fast one waits so long that it never runs dry. */
static void cables_of_different_widths_fit_together(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    uint32_t a = topology_add(&world.topology, TOPOLOGY_BOARD, 1, 1, 0x10, "slow");
    uint32_t b = topology_add(&world.topology, TOPOLOGY_BOARD, 1, 4, 0x20, "fast");
    uint32_t s = topology_add(&world.topology, TOPOLOGY_SWITCH, 2, 4, 0x30, "switch");
    topology_port(&world.topology, s, 1)->width = 1;
    topology_join(&world.topology, a, 1, s, 1);
    topology_join(&world.topology, b, 1, s, 2);
    open_world(&world, NULL, &config, true);
    enum { BYTES = 1026 };
    send(&world, a, b, BYTES, 0, 0);
    run_out(&world);
    uint64_t slow_ps = (BYTES + 2) * UINT64_C(4000);
    uint64_t fast_ps = slow_ps / 4;
    /* The tail is through the switch when it has come in by the slow cable. */
    assert_int_equal(world.seen[0].tail_ps, 36000 + slow_ps + 160000 + 36000);
    assert_int_equal(world.seen[0].head_ps, world.seen[0].tail_ps - fast_ps);
    uint64_t start_ps = world.now_ps;
    send(&world, b, a, BYTES, 0, 1);
    run_out(&world);
    assert_int_equal(world.seen[1].head_ps - start_ps, 36000 + 160000 + 36000);
    assert_int_equal(world.seen[1].tail_ps - world.seen[1].head_ps, slow_ps);
    close_world(&world);
}

/* One sender, one receiver: the cable is never idle but for link packets. */
static void a_stream_fills_the_cable(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    enum { COUNT = 1000, BYTES = 2066 };
    flow_config_default(&config);
    world_ring(&world.topology, 2, 1, 4);
    open_world(&world, NULL, &config, true);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        send(&world, 0, 1, BYTES, 0, tag);
    }
    run_out(&world);
    uint64_t length_ps = (BYTES + 2) / 4 * UINT64_C(4000);
    for (uint64_t tag = 1; tag < COUNT; tag++) {
        assert_int_equal(world.seen[tag].tail_ps - world.seen[tag - 1].tail_ps, length_ps);
    }
    struct flow_counters counters;
    flow_counters(world.flow, &counters);
    assert_int_equal(counters.delivered, COUNT);
    assert_int_equal(counters.flit_hops, 3 * COUNT * ((BYTES + 63) / 64));
    assert_true(counters.link_packets > 0);
    close_world(&world);
}

/* ---- Rules, checked on everything that was seen on the cables ----------------------------- */

struct rules {
    struct world world;
    uint64_t *free_ps; /* by port: its cable */
};

static void watch(void *context, const struct flow_sight *sight)
{
    struct rules *rules = context;
    const struct flow *flow = rules->world.flow;
    assert_true(sight->from_ps >= rules->free_ps[sight->from_port]);
    rules->free_ps[sight->from_port] = sight->to_ps;
    if (!sight->is_link_packet) {
        const struct flow_lane *lane = flow_lane(flow, sight->from_port, sight->vl);
        const struct flow_lane *peer = flow_lane(flow, flow->ports[sight->from_port].peer,
                                                 sight->vl);
        /* What is under way or in the buffer fits into the buffer. */
        uint32_t inside = (uint32_t)(lane->sent + flow->config.buffer_flits - peer->left) % 4096;
        assert_true(inside <= flow->config.buffer_flits);
    }
}

static void everything_arrives_once_in_order_and_buffers_never_overflow(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rules rules = {0};
        struct world *world = &rules.world;
        struct flow_config config;
        struct base_random random = {seed};
        enum { COUNT = 20000 };
        flow_config_default(&config);
        config.buffer_flits = 48;
        config.seed = seed;
        config.bit_error_rate = 0;
        world_ring(&world->topology, 1, 6, 4); /* one switch: no circle is possible */
        open_world(world, NULL, &config, false);
        world->flow->user.context = &rules;
        world->flow->user.sight = watch;
        rules.free_ps = calloc(world->subnet->port_count, sizeof *rules.free_ps);
        uint32_t targets[COUNT];
        for (uint64_t tag = 0; tag < COUNT; tag++) {
            uint32_t from = (uint32_t)base_random_below(&random, 6);
            targets[tag] = (uint32_t)base_random_below(&random, 6);
            uint32_t bytes = 26 + 4 * (uint32_t)base_random_below(&random, 500);
            send(world, from, targets[tag], bytes, (uint8_t)base_random_below(&random, 4), tag);
            if (tag % 4 == 0) {
                run(world, world->now_ps + base_random_below(&random, 3000000));
            }
        }
        run_out(world);
        for (uint64_t tag = 0; tag < COUNT; tag++) {
            assert_int_equal(world->seen[tag].count, 1);
            assert_int_equal(world->seen[tag].target, world_port(world->subnet, targets[tag]));
        }
        assert_int_equal(flow_under_way(world->flow), 0);
        free(rules.free_ps);
        close_world(world);
    }
}

static void packets_of_one_level_between_two_boards_keep_their_order(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    struct base_random random = {5};
    enum { COUNT = 30000 };
    flow_config_default(&config);
    world_ring(&world.topology, 3, 2, 4); /* of three switches each is next to each */
    open_world(&world, NULL, &config, true);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        send(&world, (uint32_t)base_random_below(&random, 6),
             (uint32_t)base_random_below(&random, 6),
             26 + 4 * (uint32_t)base_random_below(&random, 500), 0, tag);
        if (tag % 64 == 0) {
            run(&world, world.now_ps + 1000000);
        }
    }
    run_out(&world);
    assert_int_equal(flow_under_way(world.flow), 0);
    assert_int_equal(world.lost, 0);
    close_world(&world);
}

/* ---- Lanes ------------------------------------------------------------------------------ */

/* Two boards send to a third, each on its own lane: the output's cable is shared as the weights
 * say. */
static void lanes_share_a_cable_by_their_weights(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    enum { COUNT = 2000, BYTES = 1026 };
    flow_config_default(&config);
    world_ring(&world.topology, 1, 3, 4);
    open_world(&world, NULL, &config, true);
    struct subnet_port *out = &world.subnet->ports[subnet_port_index(world.subnet, 3, 3)];
    memset(out->low, 0, sizeof out->low);
    out->low[0] = (struct subnet_arbitration_row){.vl = 0, .weight = 17 * 3};
    out->low[1] = (struct subnet_arbitration_row){.vl = 1, .weight = 17};
    flow_changed(world.flow, 0);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        send(&world, (uint32_t)(tag % 2), 2, BYTES, (uint8_t)(tag % 2), tag);
    }
    run(&world, UINT64_C(1000) * 1028 / 4 * 4000);
    uint32_t counts[2] = {0};
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        counts[tag % 2] += world.seen[tag].count;
    }
    assert_true(counts[0] + counts[1] >= 990);
    assert_true(counts[0] >= 3 * counts[1] - 6 && counts[0] <= 3 * counts[1] + 6);
    run_out(&world);
    assert_int_equal(flow_under_way(world.flow), 0);
    close_world(&world);
}

/* High priority goes first, but low has a turn after as much as the limit says. */
static void high_priority_leaves_a_share_to_low(void **state)
{
    (void)state;
    static const struct {
        uint8_t limit;
        uint32_t low_least, low_most;
    } cases[] = {{255, 0, 5}, {0, 490, 505}, {1, 170, 210}}; /* 1: 64 flits, four packets of 17 */
    for (unsigned i = 0; i < 3; i++) {
        struct world world = {0};
        struct flow_config config;
        enum { COUNT = 4000, BYTES = 1026 };
        flow_config_default(&config);
        world_ring(&world.topology, 1, 3, 4);
        open_world(&world, NULL, &config, true);
        struct subnet_port *out = &world.subnet->ports[subnet_port_index(world.subnet, 3, 3)];
        memset(out->low, 0, sizeof out->low);
        out->high[0] = (struct subnet_arbitration_row){.vl = 0, .weight = 255};
        out->low[0] = (struct subnet_arbitration_row){.vl = 1, .weight = 255};
        out->high_limit = cases[i].limit;
        flow_changed(world.flow, 0);
        for (uint64_t tag = 0; tag < COUNT; tag++) {
            send(&world, (uint32_t)(tag % 2), 2, BYTES, (uint8_t)(tag % 2), tag);
        }
        run(&world, UINT64_C(1000) * 1028 / 4 * 4000);
        uint32_t low = 0;
        for (uint64_t tag = 1; tag < COUNT; tag += 2) {
            low += world.seen[tag].count;
        }
        assert_in_range(low, cases[i].low_least, cases[i].low_most);
        close_world(&world);
    }
}

/* Data that gets no credit does not hold up management. */
static void management_needs_no_credit(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    world_ring(&world.topology, 1, 2, 4);
    open_world(&world, NULL, &config, false);
    for (uint64_t tag = 0; tag < 50; tag++) {
        const struct flow_packet packet = {
            .dlid = world_lid(1), .is_held = true, .bytes = 2066, .tag = tag};
        flow_send(world.flow, 0, world_port(world.subnet, 0), &packet);
    }
    run_out(&world);
    /* What fits into the target's buffer has come, and no more. */
    uint32_t come = 0;
    for (uint64_t tag = 0; tag < 50; tag++) {
        come += world.seen[tag].count;
    }
    assert_int_equal(come, 128 / 33);
    const struct flow_packet management = {
        .dlid = world_lid(1), .is_management = true, .bytes = 290, .tag = 100};
    flow_send(world.flow, world.now_ps, world_port(world.subnet, 0), &management);
    run_out(&world);
    assert_int_equal(world.seen[100].count, 1);
    for (uint64_t tag = 0; tag < 50; tag++) {
        assert_int_equal(world.seen[tag].count, 1);
        flow_release(world.flow, world.now_ps, world_port(world.subnet, 1), 0, 2066);
        run_out(&world);
    }
    assert_int_equal(flow_under_way(world.flow), 0);
    close_world(&world);
}

/* ---- Multicast -------------------------------------------------------------------------- */

static void a_multicast_reaches_each_member_once(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    enum { SWITCHES = 4, BOARDS = 3, COUNT = 500 };
    flow_config_default(&config);
    world_ring(&world.topology, SWITCHES, BOARDS, 4);
    open_world(&world, NULL, &config, false);
    /* The tree is the ring without its last cable; all boards but number 5 are members. */
    for (uint32_t s = 0; s < SWITCHES; s++) {
        uint64_t mask[SUBNET_MASK_WORDS] = {0};
        for (uint32_t b = 0; b < BOARDS; b++) {
            mask[0] |= s * BOARDS + b != 5 ? UINT64_C(2) << b : 0;
        }
        mask[0] |= s < SWITCHES - 1 ? UINT64_C(1) << (BOARDS + 1) : 0;
        mask[0] |= s > 0 ? UINT64_C(1) << (BOARDS + 2) : 0;
        subnet_multicast_set(world.subnet, SWITCHES * BOARDS + s, 0xc001, mask);
    }
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        const struct flow_packet packet = {.dlid = 0xc001, .bytes = 66, .tag = tag};
        flow_send(world.flow, world.now_ps, world_port(world.subnet, (uint32_t)(tag % 12)),
                  &packet);
    }
    run_out(&world);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        /* All members but the sender; board 5 is none, and may send all the same. */
        assert_int_equal(world.seen[tag].count, tag % 12 == 5 ? 11 : 10);
    }
    assert_int_equal(flow_under_way(world.flow), 0);
    assert_int_equal(world.lost, 0);
    /* A group that no table knows. */
    const struct flow_packet packet = {.dlid = 0xc002, .bytes = 66, .tag = COUNT};
    flow_send(world.flow, world.now_ps, world_port(world.subnet, 0), &packet);
    run_out(&world);
    struct flow_counters counters;
    flow_counters(world.flow, &counters);
    assert_int_equal(counters.lost[FLOW_NO_WAY], 1);
    close_world(&world);
}

/* ---- Circles ---------------------------------------------------------------------------- */

static bool does_lock(uint32_t switches, uint8_t (*sl_of)(uint32_t from, uint32_t to), char *text,
                      size_t bytes)
{
    struct world world = {0};
    struct flow_config config;
    struct base_random random = {3};
    enum { COUNT = 20000 };
    flow_config_default(&config);
    config.buffer_flits = 48;
    world_ring(&world.topology, switches, 1, 4);
    open_world(&world, NULL, &config, false);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        uint32_t from = (uint32_t)base_random_below(&random, switches);
        uint32_t to = (from + switches / 2 - 1) % switches;
        send(&world, from, to, 2066, sl_of(from, to), tag);
    }
    run_out(&world);
    bool is_locked = flow_is_deadlocked(world.flow, text, bytes);
    assert_int_equal(flow_under_way(world.flow) > 0, is_locked);
    close_world(&world);
    return is_locked;
}

static uint8_t one_lane(uint32_t from, uint32_t to)
{
    (void)from;
    (void)to;
    return 0;
}

/* Ways that cross the cable between the last switch and the first have a lane of their own. */
static uint8_t lane_by_dateline(uint32_t from, uint32_t to)
{
    return from > to;
}

static void a_circle_is_found_and_named_and_lanes_open_it(void **state)
{
    (void)state;
    char text[4096] = "";
    assert_true(does_lock(8, one_lane, text, sizeof text));
    assert_non_null(strstr(text, "switch-3, port 2 VL 0"));
    assert_non_null(strstr(text, " waits for the first"));
    text[0] = '\0';
    assert_false(does_lock(8, lane_by_dateline, text, sizeof text));
    assert_string_equal(text, "");
}

/* ---- What cannot be sent ---------------------------------------------------------------- */

static void what_has_no_way_is_lost_by_name(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    struct flow_counters counters;
    flow_config_default(&config);
    world_ring(&world.topology, 1, 3, 4);
    open_world(&world, NULL, &config, false);
    send(&world, 0, 100, 66, 0, 0); /* an address that nobody has */
    run_out(&world);
    flow_counters(world.flow, &counters);
    assert_int_equal(counters.lost[FLOW_NO_WAY], 1);
    send(&world, 0, 1, 2602, 0, 1);
    run_out(&world);
    flow_counters(world.flow, &counters);
    assert_int_equal(counters.lost[FLOW_TOO_LONG], 1);
    subnet_sl_to_vl_set(world.subnet, 3, 1, 2, 9, 15);
    send(&world, 0, 1, 66, 9, 2);
    run_out(&world);
    flow_counters(world.flow, &counters);
    assert_int_equal(counters.lost[FLOW_NO_LANE], 1);
    send(&world, 0, 3, 66, 0, 3); /* to the switch itself */
    run_out(&world);
    assert_int_equal(world.seen[3].count, 1);
    assert_int_equal(world.seen[3].target, world_port(world.subnet, 3));
    assert_int_equal(flow_under_way(world.flow), 0);
    close_world(&world);
}

/* A multicast whose tree is a circle ends, as a packet to one address does. */
static void a_multicast_does_not_go_in_circles_for_ever(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    world_ring(&world.topology, 3, 1, 4);
    open_world(&world, NULL, &config, false);
    for (uint32_t s = 0; s < 3; s++) {
        const uint64_t mask[SUBNET_MASK_WORDS] = {UINT64_C(1) << 2}; /* to the next */
        subnet_multicast_set(world.subnet, 3 + s, 0xc001, mask);
    }
    const struct flow_packet packet = {.dlid = 0xc001, .bytes = 66, .tag = 0};
    flow_send(world.flow, 0, world_port(world.subnet, 0), &packet);
    run(&world, UINT64_C(10000000000));
    assert_int_equal(flow_under_way(world.flow), 0);
    assert_int_equal(world.lost, 1);
    close_world(&world);
}

static void note_time(void *context, const struct flow_delivery *delivery)
{
    struct world *world = context;
    world->seen[delivery->tag].count++;
    assert_int_equal(world->now_ps, delivery->tail_ps);
}

/* A packet to a switch itself is delivered when the whole of it has come, and not at all if its
 * tail never does. */
static void a_switch_takes_a_packet_when_its_tail_has_come(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct world world = {0};
        struct flow_config config;
        flow_config_default(&config);
        world_ring(&world.topology, 1, 2, 4);
        open_world(&world, NULL, &config, false);
        world.flow->user.delivered = note_time;
        send(&world, 0, 2, 2066, 0, 0);
        run(&world, 1000000);
        assert_int_equal(world.seen[0].count, 0);
        if (i == 1) {
            subnet_cable_set(world.subnet, world_port(world.subnet, 0), false);
            flow_changed(world.flow, world.now_ps);
        }
        run_out(&world);
        assert_int_equal(world.seen[0].count, i == 0 ? 1 : 0);
        assert_int_equal(world.lost, i == 0 ? 0 : 1);
        assert_int_equal(flow_under_way(world.flow), 0);
        assert_int_equal(world.flow->stays.taken + world.flow->bodies.taken, 0);
        close_world(&world);
    }
}

/* High priority that met nobody has not used up its limit: low, when it comes, waits for it. */
static void the_limit_of_high_priority_counts_while_low_waits(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    world_ring(&world.topology, 1, 3, 4);
    open_world(&world, NULL, &config, false);
    uint32_t index = subnet_port_index(world.subnet, 3, 3);
    struct subnet_port *out = &world.subnet->ports[index];
    memset(out->low, 0, sizeof out->low);
    out->high[0] = (struct subnet_arbitration_row){.vl = 0, .weight = 255};
    out->low[0] = (struct subnet_arbitration_row){.vl = 1, .weight = 255};
    for (unsigned i = 0; i < 2; i++) {
        out->high_limit = i == 0 ? 1 : 255;
        flow_changed(world.flow, world.now_ps);
        for (uint64_t tag = 0; tag < 1000; tag++) {
            send(&world, 0, 2, 2066, 0, tag);
        }
        run_out(&world);
        assert_true(world.flow->ports[index].high_left > -64);
    }
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_packet_takes_the_sum_of_the_delays),
        cmocka_unit_test(cables_of_different_widths_fit_together),
        cmocka_unit_test(a_stream_fills_the_cable),
        cmocka_unit_test(everything_arrives_once_in_order_and_buffers_never_overflow),
        cmocka_unit_test(packets_of_one_level_between_two_boards_keep_their_order),
        cmocka_unit_test(lanes_share_a_cable_by_their_weights),
        cmocka_unit_test(high_priority_leaves_a_share_to_low),
        cmocka_unit_test(management_needs_no_credit),
        cmocka_unit_test(a_multicast_reaches_each_member_once),
        cmocka_unit_test(a_circle_is_found_and_named_and_lanes_open_it),
        cmocka_unit_test(what_has_no_way_is_lost_by_name),
        cmocka_unit_test(a_multicast_does_not_go_in_circles_for_ever),
        cmocka_unit_test(a_switch_takes_a_packet_when_its_tail_has_come),
        cmocka_unit_test(the_limit_of_high_priority_counts_while_low_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
