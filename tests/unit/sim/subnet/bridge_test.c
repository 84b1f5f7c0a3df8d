/* Bridges: packets in frames through a subnet come whole, once and in order, whatever its cables
 * do; alone, in the sum of the stated delays. */
#include <stdio.h>

#include "unit/unit.h"

#include "sim/subnet/bridge.h"
#include "sim/subnet/bridge_state.h"
#include "subnet_world.h"

struct world {
    struct topology topology;
    struct subnet *subnet;
    struct bridges *bridges;
    struct sim_events events;
    uint64_t now_ps;
    uint64_t *next; /* by source, target and flow: the tag that comes next */
    uint64_t delivered;
    uint64_t last_ps; /* of the last delivery */
};

static uint64_t *next_of(struct world *world, uint32_t source, uint32_t target, uint32_t flow)
{
    uint32_t boards = world->topology.board_count;
    return &world->next[((uint64_t)source * boards + target) * BRIDGE_FLOWS + flow];
}

static void delivered(void *context, const struct bridge_delivery *delivery)
{
    struct world *world = context;
    uint64_t *next = next_of(world, delivery->source, delivery->target, delivery->flow);
    assert_int_equal(delivery->tag, *next);
    (*next)++;
    world->delivered++;
    world->last_ps = world->now_ps;
}

static void open_world(struct world *world, const struct flow_config *flow_config,
                       const struct bridge_config *config)
{
    struct subnet_config usual;
    char text[TOPOLOGY_ERROR_BYTES];
    subnet_config_default(&usual);
    assert_null(topology_objection(&world->topology, text));
    world->subnet = subnet_open(&world->topology, &usual);
    world_bring_up(world->subnet);
    assert_null(flow_config_objection(flow_config, world->subnet, text));
    assert_null(bridge_config_objection(config, world->subnet, text));
    const struct bridge_user user = {
        .context = world, .events = &world->events, .event_kind = 3, .delivered = delivered};
    world->bridges = bridges_open(world->subnet, flow_config, config, &user);
    uint32_t boards = world->topology.board_count;
    world->next = calloc((size_t)boards * boards * BRIDGE_FLOWS, sizeof *world->next);
}

static void close_world(struct world *world)
{
    bridges_close(world->bridges);
    subnet_close(world->subnet);
    topology_free(&world->topology);
    sim_events_free(&world->events);
    free(world->next);
}

/* Until nothing is under way, that time, or that many events. */
static void run(struct world *world, uint64_t until_ps, uint64_t events)
{
    struct sim_event event;
    while (events-- > 0 && sim_events_next(&world->events) <= until_ps &&
           sim_events_take(&world->events, &event)) {
        world->now_ps = event.at;
        bridges_event(world->bridges, &event);
    }
    world->now_ps = until_ps < UINT64_MAX - 1 ? until_ps : world->now_ps;
}

/* Tags count on by themselves for each source, target and flow. */
struct sender {
    uint64_t *next;
};

static void send(struct world *world, struct sender *sender, uint32_t source, uint32_t target,
                 uint32_t flow, uint32_t bytes)
{
    uint32_t boards = world->topology.board_count;
    uint64_t *tag = &sender->next[((uint64_t)source * boards + target) * BRIDGE_FLOWS + flow];
    bridges_send(world->bridges, world->now_ps, source, target, flow, bytes, (*tag)++);
}

static void open_sender(struct sender *sender, const struct world *world)
{
    uint32_t boards = world->topology.board_count;
    sender->next = calloc((size_t)boards * boards * BRIDGE_FLOWS, sizeof *sender->next);
}

static void a_lone_packet_takes_the_sum_of_the_delays(void **state)
{
    (void)state;
    static const uint32_t frame_lines[] = {1, 2, 7, 16, 64, 254};
    for (unsigned f = 0; f < sizeof frame_lines / sizeof *frame_lines; f++) {
        struct world world = {0};
        struct flow_config flow_config;
        struct bridge_config config;
        struct sender sender;
        flow_config_default(&flow_config);
        bridge_config_default(&config);
        config.frame_lines = frame_lines[f];
        config.window = 512;
        config.ack_frames = 512; /* else answers may be in a frame's way */
        config.ack_ps = 1000000000;
        world_ring(&world.topology, 3, 1, 4);
        open_world(&world, &flow_config, &config);
        open_sender(&sender, &world);
        for (uint32_t target = 0; target < 3; target++) {
            for (uint32_t bytes = 0; bytes <= 2072; bytes += bytes < 40 ? 5 : 271) {
                uint64_t start_ps = world.now_ps;
                send(&world, &sender, 1, target, 2, bytes);
                run(&world, UINT64_MAX - 1, UINT64_MAX);
                assert_int_equal(world.last_ps - start_ps,
                                 bridge_zero_load_ps(world.bridges, 1, target, bytes));
                if (target == 2 && bytes == 0) {
                    /* A line in, a frame of 30 bytes over three cables and two switches, out. */
                    assert_int_equal(world.last_ps - start_ps, 32000 + 32000 + 3 * 36000 +
                                                                   2 * 160000 + 36 / 4 * 4000 +
                                                                   32000 + 32000);
                }
            }
        }
        assert_int_equal(bridges_under_way(world.bridges), 0);
        free(sender.next);
        close_world(&world);
    }
}

static void traffic(struct world *world, uint32_t packets, uint64_t seed, uint64_t gap_ps)
{
    struct base_random random = {seed};
    struct sender sender;
    uint32_t boards = world->topology.board_count;
    open_sender(&sender, world);
    for (uint32_t i = 0; i < packets; i++) {
        send(world, &sender, (uint32_t)base_random_below(&random, boards),
             (uint32_t)base_random_below(&random, boards),
             (uint32_t)base_random_below(&random, BRIDGE_FLOWS),
             (uint32_t)base_random_below(&random, i % 10 == 0 ? 2072 : 64));
        run(world, world->now_ps + base_random_below(&random, gap_ps), UINT64_MAX);
    }
    free(sender.next);
}

static void nothing_is_lost_doubled_or_swapped_on_bad_cables(void **state)
{
    (void)state;
    static const double rates[] = {0, 1e-6, 1e-5, 1e-4};
    for (unsigned i = 0; i < 4; i++) {
        struct world world = {0};
        struct flow_config flow_config;
        struct bridge_config config;
        struct bridge_counters counters;
        enum { PACKETS = 20000 };
        flow_config_default(&flow_config);
        bridge_config_default(&config);
        flow_config.bit_error_rate = rates[i];
        config.checks_all = true;
        world_ring(&world.topology, 3, 2, 4);
        open_world(&world, &flow_config, &config);
        traffic(&world, PACKETS, i + 1, 2000000);
        run(&world, UINT64_MAX - 1, UINT64_C(100000000));
        assert_int_equal(world.delivered, PACKETS);
        assert_int_equal(bridges_under_way(world.bridges), 0);
        bridge_counters(world.bridges, &counters);
        assert_int_equal(counters.lines_wrong, 0);
        assert_int_equal(counters.frames_wrong, 0);
        assert_int_equal(counters.frames_seen > 0, rates[i] > 0);
        assert_true(counters.frames_resent > 0 || rates[i] == 0);
        close_world(&world);
    }
}

/* All to one: its memory fills, its lane's buffers fill, and all comes all the same. A frame
 * takes a few events, however long its port has been busy. */
static void many_to_one_waits_and_loses_nothing(void **state)
{
    (void)state;
    enum { EVENTS_MOST = 1000000 };
    for (uint32_t memory = 1; memory <= 8; memory += 7) {
        struct world world = {0};
        struct flow_config flow_config;
        struct bridge_config config;
        struct sender sender;
        enum { PACKETS = 400 };
        flow_config_default(&flow_config);
        bridge_config_default(&config);
        flow_config.bit_error_rate = 1e-6;
        config.memory_packets = memory;
        world_ring(&world.topology, 1, 6, 4);
        open_world(&world, &flow_config, &config);
        open_sender(&sender, &world);
        for (uint32_t i = 0; i < PACKETS; i++) {
            send(&world, &sender, 1 + i % 5, 0, i / 5 % 4, 1000);
        }
        run(&world, UINT64_MAX - 1, EVENTS_MOST);
        assert_int_equal(world.delivered, PACKETS);
        free(sender.next);
        close_world(&world);
    }
}

/* By the paper's rules as they stand frames are resent again and again, and some never come. */
static void by_the_literal_rules_frames_never_come(void **state)
{
    (void)state;
    for (int literal = 0; literal < 2; literal++) {
        struct world world = {0};
        struct flow_config flow_config;
        struct bridge_config config;
        struct bridge_counters counters;
        struct sender sender;
        enum { PACKETS = 60 };
        flow_config_default(&flow_config);
        bridge_config_default(&config);
        flow_config.bit_error_rate = 1e-5;
        flow_config.seed = 4;
        config.literal_rules = literal == 1;
        world_ring(&world.topology, 1, 2, 4);
        open_world(&world, &flow_config, &config);
        open_sender(&sender, &world);
        for (uint32_t i = 0; i < PACKETS; i++) {
            send(&world, &sender, 0, 1, 0, 1000);
        }
        run(&world, UINT64_MAX - 1, 3000000);
        bridge_counters(world.bridges, &counters);
        if (literal) {
            assert_true(bridges_under_way(world.bridges) > 0);
            assert_true(counters.frames_resent > 1000);
        } else {
            assert_int_equal(bridges_under_way(world.bridges), 0);
            assert_true(counters.frames_resent > 0 && counters.frames_resent < 100);
        }
        free(sender.next);
        close_world(&world);
    }
}

/* A cable dies under load; ways are laid around it; it comes back. */
static void traffic_goes_on_around_a_dead_cable(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config flow_config;
    struct bridge_config config;
    struct sender sender;
    struct base_random random = {1};
    enum { PACKETS = 60000 };
    flow_config_default(&flow_config);
    bridge_config_default(&config);
    world_ring(&world.topology, 3, 2, 4);
    open_world(&world, &flow_config, &config);
    open_sender(&sender, &world);
    uint32_t cable = subnet_port_index(world.subnet, 6, 3);
    for (uint32_t i = 0; i < PACKETS; i++) {
        send(&world, &sender, (uint32_t)base_random_below(&random, 6),
             (uint32_t)base_random_below(&random, 6), i % BRIDGE_FLOWS, 200);
        run(&world, world.now_ps + base_random_below(&random, 500000), UINT64_MAX);
        if (i % 6000 == 1000 || i % 6000 == 4000) {
            subnet_cable_set(world.subnet, cable, i % 6000 == 4000);
            bridges_changed(world.bridges, world.now_ps);
        }
        if (i % 6000 == 2000 || i % 6000 == 5000) {
            world_bring_up(world.subnet);
            bridges_changed(world.bridges, world.now_ps);
        }
    }
    run(&world, UINT64_MAX - 1, UINT64_C(100000000));
    assert_int_equal(world.delivered, PACKETS);
    struct flow_counters counters;
    flow_counters(bridges_flow(world.bridges), &counters);
    assert_true(counters.lost[FLOW_CUT] + counters.lost[FLOW_NO_WAY] > 0);
    free(sender.next);
    close_world(&world);
}

/* There are as many outlets as pairs of boards: memory goes by what is kept, not by the window. */
static void a_pair_keeps_room_for_the_frames_it_has_under_way(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config flow_config;
    struct bridge_config config;
    struct sender sender;
    flow_config_default(&flow_config);
    bridge_config_default(&config);
    world_ring(&world.topology, 1, 3, 4);
    open_world(&world, &flow_config, &config);
    open_sender(&sender, &world);
    for (uint32_t i = 0; i < 500; i++) {
        send(&world, &sender, 0, 1, 0, 8);
        run(&world, world.now_ps + 10000000, UINT64_MAX);
    }
    assert_int_equal(world.delivered, 500);
    /* With nobody at the other end a whole window is kept, and no more. */
    subnet_cable_set(world.subnet, world_port(world.subnet, 2), false);
    bridges_changed(world.bridges, world.now_ps);
    for (uint32_t i = 0; i < 500; i++) {
        send(&world, &sender, 0, 2, 0, 8);
    }
    run(&world, world.now_ps + 100000000, UINT64_MAX);
    struct bridge_outlet *const *outlets = world.bridges->boards[0].outlets;
    assert_true(outlets[1 * BRIDGE_FLOWS]->kept_room <= 8);
    assert_int_equal(outlets[2 * BRIDGE_FLOWS]->kept_room, config.window);
    subnet_cable_set(world.subnet, world_port(world.subnet, 2), true);
    world_bring_up(world.subnet);
    bridges_changed(world.bridges, world.now_ps);
    run(&world, UINT64_MAX - 1, UINT64_MAX);
    assert_int_equal(world.delivered, 1000);
    assert_int_equal(world.bridges->frames.taken + world.bridges->packets.taken, 0);
    assert_int_equal(world.bridges->assemblies.taken, 0);
    free(sender.next);
    close_world(&world);
}

static void configs_that_make_no_sense_are_named(void **state)
{
    (void)state;
    struct world world = {0};
    struct flow_config flow_config;
    struct bridge_config config;
    char text[TOPOLOGY_ERROR_BYTES];
    flow_config_default(&flow_config);
    bridge_config_default(&config);
    world_ring(&world.topology, 1, 2, 4);
    open_world(&world, &flow_config, &config);
    config.frame_lines = 255;
    assert_string_equal(bridge_config_objection(&config, world.subnet, text),
                        "a frame has 255 lines; with an MTU of 2048 it may have 1 to 254");
    bridge_config_default(&config);
    config.window = 3;
    assert_non_null(bridge_config_objection(&config, world.subnet, text));
    bridge_config_default(&config);
    config.memory_packets = 0;
    assert_non_null(bridge_config_objection(&config, world.subnet, text));
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_packet_takes_the_sum_of_the_delays),
        cmocka_unit_test(nothing_is_lost_doubled_or_swapped_on_bad_cables),
        cmocka_unit_test(many_to_one_waits_and_loses_nothing),
        cmocka_unit_test(by_the_literal_rules_frames_never_come),
        cmocka_unit_test(traffic_goes_on_around_a_dead_cable),
        cmocka_unit_test(a_pair_keeps_room_for_the_frames_it_has_under_way),
        cmocka_unit_test(configs_that_make_no_sense_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
