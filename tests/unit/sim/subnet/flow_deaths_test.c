/* Packets through a subnet whose bits change, and whose cables and nodes die and come back. */
#include "flow_world.h"

/* ---- Damage and death ------------------------------------------------------------------- */

static void damage_is_seen_and_credits_come_back(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    enum { COUNT = 20000, BYTES = 266 };
    flow_config_default(&config);
    config.bit_error_rate = 1e-5;
    world_ring(&world.topology, 2, 2, 4);
    open_world(&world, NULL, &config, true);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        send(&world, (uint32_t)(tag % 4), (uint32_t)((tag + 1 + tag / 4 % 3) % 4), BYTES, 0, tag);
    }
    run_out(&world);
    struct flow_counters counters;
    flow_counters(world.flow, &counters);
    assert_int_equal(counters.delivered + counters.lost[FLOW_DAMAGED], COUNT);
    assert_int_equal(counters.wrong, 0);
    /* 2,128 bits over two or three cables: about one in 20. */
    assert_in_range(counters.lost[FLOW_DAMAGED], COUNT / 25, COUNT / 15);
    assert_true(counters.link_packets_lost > 0);
    assert_int_equal(flow_under_way(world.flow), 0);
    close_world(&world);
}

static void what_is_on_a_dead_cable_is_lost_and_the_rest_goes_on(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    struct base_random random = {9};
    enum { COUNT = 40000 };
    flow_config_default(&config);
    world_ring(&world.topology, 3, 2, 4);
    open_world(&world, NULL, &config, false);
    uint32_t cable = subnet_port_index(world.subnet, 6, 3);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        send(&world, (uint32_t)base_random_below(&random, 6),
             (uint32_t)base_random_below(&random, 6), 26 + 4 * (uint32_t)(tag % 500), 0, tag);
        if (tag % 16 == 0) {
            run(&world, world.now_ps + 2000000);
        }
        if (tag % 1000 == 500) {
            subnet_cable_set(world.subnet, cable, false);
            flow_changed(world.flow, world.now_ps);
        }
        if (tag % 1000 == 600) {
            world_bring_up(world.subnet); /* another way */
        }
        if (tag % 1000 == 800) {
            subnet_cable_set(world.subnet, cable, true);
            world_bring_up(world.subnet);
            flow_changed(world.flow, world.now_ps);
        }
    }
    run_out(&world);
    struct flow_counters counters;
    flow_counters(world.flow, &counters);
    uint64_t lost_count = counters.lost[FLOW_CUT] + counters.lost[FLOW_NO_WAY];
    assert_int_equal(counters.delivered + lost_count, COUNT);
    assert_true(counters.lost[FLOW_CUT] > 0 && counters.delivered > COUNT * 8 / 10);
    assert_int_equal(flow_under_way(world.flow), 0);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        assert_true(world.seen[tag].count <= 1);
    }
    /* Nothing is left over: each cable takes a full stream again. */
    for (uint32_t i = 0; i < world.subnet->port_count; i++) {
        for (uint32_t lane = 0; lane < 4; lane++) {
            const struct flow_lane *of = flow_lane(world.flow, i, lane);
            assert_int_equal(of->buffer.first, FLOW_NONE);
            if (world.flow->ports[i].peer != SUBNET_NONE) {
                uint32_t left = flow_lane(world.flow, world.flow->ports[i].peer, lane)->left;
                assert_int_equal((of->sent + 128u + 4096u - left) % 4096u, 0);
            }
        }
    }
    close_world(&world);
}

static void a_dead_switch_takes_its_packets_along(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    enum { COUNT = 2000 };
    flow_config_default(&config);
    world_ring(&world.topology, 4, 1, 4);
    open_world(&world, NULL, &config, false);
    for (uint64_t tag = 0; tag < COUNT; tag++) {
        send(&world, (uint32_t)(tag % 4), (uint32_t)((tag + 2) % 4), 1026, (uint8_t)(tag % 4), tag);
    }
    run(&world, 100000000);
    subnet_node_set(world.subnet, 5, false);
    world_bring_up(world.subnet);
    flow_changed(world.flow, world.now_ps);
    run(&world, UINT64_C(10000000000));
    char text[4096];
    assert_false(flow_is_deadlocked(world.flow, text, sizeof text));
    struct flow_counters counters;
    flow_counters(world.flow, &counters);
    assert_true(counters.lost[FLOW_CUT] > 0);
    /* The board behind it still has what it wanted to send. */
    assert_true(flow_waiting(world.flow, world_port(world.subnet, 1)) > 0);
    subnet_node_set(world.subnet, 5, true);
    world_bring_up(world.subnet);
    flow_changed(world.flow, world.now_ps);
    run_out(&world);
    assert_int_equal(flow_under_way(world.flow), 0);
    close_world(&world);
}

/* Two switches with two boards each. Board 0 sends to boards 1 and 2; the second way is by the
 * cable between the switches. */
static void open_group(struct world *world)
{
    struct flow_config config;
    flow_config_default(&config);
    world_ring(&world->topology, 2, 2, 4);
    open_world(world, NULL, &config, false);
    const uint64_t near[SUBNET_MASK_WORDS] = {UINT64_C(1) << 2 | UINT64_C(1) << 3};
    const uint64_t far[SUBNET_MASK_WORDS] = {UINT64_C(1) << 1};
    subnet_multicast_set(world->subnet, 4, 0xc001, near);
    subnet_multicast_set(world->subnet, 5, 0xc001, far);
    const struct flow_packet packet = {.dlid = 0xc001, .bytes = 2066, .tag = 0};
    flow_send(world->flow, 0, world_port(world->subnet, 0), &packet);
    run(world, 1000000); /* the head is at the boards, the tail on the first cable */
}

static void a_dead_branch_of_a_multicast_leaves_the_others_whole(void **state)
{
    (void)state;
    struct flow_counters counters;
    for (unsigned i = 0; i < 2; i++) {
        struct world world = {0};
        open_group(&world);
        /* A branch, or what all branches have in common. */
        uint32_t cable = i == 0 ? subnet_port_index(world.subnet, 4, 3)
                                : world_port(world.subnet, 0);
        subnet_cable_set(world.subnet, cable, false);
        flow_changed(world.flow, world.now_ps);
        run_out(&world);
        flow_counters(world.flow, &counters);
        assert_int_equal(world.seen[0].count, i == 0 ? 1 : 0);
        assert_int_equal(counters.lost[FLOW_CUT], i == 0 ? 1 : 2);
        assert_int_equal(flow_under_way(world.flow), 0);
        assert_int_equal(world.flow->stays.taken + world.flow->bodies.taken, 0);
        close_world(&world);
    }
}

/* Management that waits in a switch goes with the cable, whether or not data could pass. */
static void management_does_not_wait_for_a_dead_cable(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    world_ring(&world.topology, 1, 3, 4);
    open_world(&world, NULL, &config, false);
    subnet_state_set(world.subnet, subnet_port_index(world.subnet, 3, 3), SUBNET_INIT);
    flow_changed(world.flow, 0);
    for (uint64_t tag = 0; tag < 2; tag++) {
        const struct flow_packet packet = {
            .dlid = world_lid(2), .is_management = true, .bytes = 2066, .tag = tag};
        flow_send(world.flow, 0, world_port(world.subnet, (uint32_t)tag), &packet);
    }
    run(&world, 1000000); /* one is on the cable, one waits for it */
    subnet_cable_set(world.subnet, subnet_port_index(world.subnet, 3, 3), false);
    flow_changed(world.flow, world.now_ps);
    run_out(&world);
    assert_int_equal(flow_under_way(world.flow), 0);
    assert_int_equal(world.lost, 2);
    assert_int_equal(world.flow->stays.taken + world.flow->bodies.taken, 0);
    close_world(&world);
}

/* What a switch itself wanted to send no longer waits when it was dropped. */
static void what_a_switch_sends_is_dropped_with_its_cable(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    world_ring(&world.topology, 1, 2, 4);
    open_world(&world, NULL, &config, false);
    uint32_t port = subnet_port_index(world.subnet, 2, 2);
    for (uint64_t tag = 0; tag < 5; tag++) {
        send(&world, 2, 1, 2066, 0, tag);
    }
    assert_int_equal(flow_waiting(world.flow, port), 4);
    subnet_cable_set(world.subnet, port, false);
    flow_changed(world.flow, 0);
    run_out(&world);
    assert_int_equal(world.lost, 5);
    assert_int_equal(flow_waiting(world.flow, port), 0);
    close_world(&world);
}

/* A user that sends again at once what it is told to be lost. */
static void send_again(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
{
    struct world *world = context;
    (void)why;
    (void)port;
    if (world->lost++ == 0) {
        send(world, 1, 2, 66, 0, tag + 100);
    }
}

/* A switch dies. Its ports come first in number, and what it had is lost before the boards' ports
 * are looked at: they must not send into the dead cable all the same. */
static void nothing_begins_on_a_cable_that_is_just_dying(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config config;
    flow_config_default(&config);
    uint32_t s = topology_add(&world.topology, TOPOLOGY_SWITCH, 3, 4, 0x10, "switch");
    for (uint32_t b = 1; b <= 3; b++) {
        uint32_t board = topology_add(&world.topology, TOPOLOGY_BOARD, 1, 4, 0x100 * b, "board");
        topology_join(&world.topology, board, 1, s, b);
    }
    open_world(&world, NULL, &config, false);
    world.flow->user.lost = send_again;
    send(&world, 2, 1, 2066, 0, 0);
    send(&world, 3, 1, 2066, 0, 1);
    run(&world, 1000000); /* one is on the cable to board 1, one waits for it */
    subnet_node_set(world.subnet, s, false);
    flow_changed(world.flow, world.now_ps);
    assert_int_equal(world.lost, 1);
    assert_int_equal(flow_waiting(world.flow, world_port(world.subnet, 1)), 1);
    run_out(&world);
    assert_int_equal(flow_under_way(world.flow), 1);
    close_world(&world);
}

/* Cables and switches die and come back at random under all kinds of packets; when all is over,
 * nothing is left of any. */
struct storm {
    struct world world;
    struct {
        uint32_t port, bytes;
        uint8_t vl;
    } held[1024];
    uint32_t held_count;
};

static void hold(void *context, const struct flow_delivery *delivery)
{
    struct storm *storm = context;
    if (delivery->tag % 3 == 0 && delivery->source != delivery->target) {
        storm->held[storm->held_count].port = delivery->target;
        storm->held[storm->held_count].bytes = delivery->bytes;
        storm->held[storm->held_count++].vl = delivery->vl;
    }
}

static void let_go(struct storm *storm, uint32_t keep)
{
    while (storm->held_count > keep) {
        storm->held_count--;
        flow_release(storm->world.flow, storm->world.now_ps, storm->held[storm->held_count].port,
                     storm->held[storm->held_count].vl, storm->held[storm->held_count].bytes);
    }
}

static void lay_group(struct world *world)
{
    for (uint32_t s = 0; s < 3; s++) {
        const uint64_t mask[SUBNET_MASK_WORDS] = {UINT64_C(6) | (s < 2 ? UINT64_C(8) : 0) |
                                                  (s > 0 ? UINT64_C(16) : 0)};
        subnet_multicast_set(world->subnet, 6 + s, 0xc001, mask);
    }
}

static void change_something(struct world *world, struct base_random *random, bool alive)
{
    uint32_t node = 6 + (uint32_t)base_random_below(random, 3);
    if (base_random_below(random, 4) == 0) {
        subnet_node_set(world->subnet, node, alive);
    } else {
        uint32_t number = 1 + (uint32_t)base_random_below(random, 4);
        subnet_cable_set(world->subnet, subnet_port_index(world->subnet, node, number), alive);
    }
    if (base_random_below(random, 2) == 0) {
        flow_changed(world->flow, world->now_ps);
    }
    world_bring_up(world->subnet);
    lay_group(world);
    flow_changed(world->flow, world->now_ps);
}

static void nothing_is_left_after_a_storm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct storm storm = {0};
        struct world *world = &storm.world;
        struct flow_config config;
        struct base_random random = {seed};
        flow_config_default(&config);
        config.buffer_flits = 48;
        config.bit_error_rate = seed % 3 == 0 ? 1e-5 : 0;
        config.at_head = seed % 2;
        config.seed = seed;
        world_ring(&world->topology, 3, 2, 4);
        open_world(world, NULL, &config, false);
        world->flow->user.context = &storm;
        world->flow->user.delivered = hold;
        lay_group(world);
        for (uint64_t tag = 0; tag < 6000; tag++) {
            const struct flow_packet packet = {
                .dlid = tag % 7 == 0 ? 0xc001 : world_lid((uint32_t)base_random_below(&random, 9)),
                .sl = (uint8_t)base_random_below(&random, 4),
                .is_held = tag % 3 == 0 && tag % 5 != 1,
                .is_management = tag % 5 == 1,
                .bytes = 26 + 4 * (uint32_t)base_random_below(&random, 500),
                .tag = tag % 5 == 1 ? 1 : tag};
            flow_send(world->flow, world->now_ps,
                      world_port(world->subnet, (uint32_t)base_random_below(&random, 9)), &packet);
            run(world, world->now_ps + base_random_below(&random, 1000000));
            if (tag % 40 == 39) {
                change_something(world, &random, base_random_below(&random, 3) > 0);
            }
            let_go(&storm, 2);
        }
        for (uint32_t i = 0; i < 3; i++) {
            subnet_node_set(world->subnet, 6 + i, true);
            for (uint32_t number = 1; number <= 4; number++) {
                subnet_cable_set(world->subnet, subnet_port_index(world->subnet, 6 + i, number),
                                 true);
            }
        }
        world_bring_up(world->subnet);
        flow_changed(world->flow, world->now_ps);
        do {
            let_go(&storm, 0);
            run_out(world);
        } while (storm.held_count > 0);
        assert_int_equal(flow_under_way(world->flow), 0);
        assert_int_equal(world->flow->stays.taken, 0);
        assert_int_equal(world->flow->bodies.taken, 0);
        for (uint32_t i = 0; i < world->subnet->port_count; i++) {
            const struct flow_port *port = &world->flow->ports[i];
            assert_int_equal(port->asking + port->owed + port->queued, 0);
            for (uint32_t lane = 0; lane < 5; lane++) {
                const struct flow_lane *of = flow_lane(world->flow, i, lane);
                assert_int_equal(of->buffer.first, FLOW_NONE);
                assert_int_equal(of->requests.first, FLOW_NONE);
                assert_int_equal(of->held, 0);
                if (port->peer != SUBNET_NONE && lane < 4) {
                    const struct flow_lane *peer = flow_lane(world->flow, port->peer, lane);
                    assert_int_equal((of->sent + 48) % 4096, peer->left);
                    assert_int_equal(of->limit, peer->told);
                }
            }
        }
        close_world(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_seen_and_credits_come_back),
        cmocka_unit_test(what_is_on_a_dead_cable_is_lost_and_the_rest_goes_on),
        cmocka_unit_test(a_dead_switch_takes_its_packets_along),
        cmocka_unit_test(a_dead_branch_of_a_multicast_leaves_the_others_whole),
        cmocka_unit_test(management_does_not_wait_for_a_dead_cable),
        cmocka_unit_test(what_a_switch_sends_is_dropped_with_its_cable),
        cmocka_unit_test(nothing_begins_on_a_cable_that_is_just_dying),
        cmocka_unit_test(nothing_is_left_after_a_storm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
