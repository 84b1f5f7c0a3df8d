/* Traffic over subnets that the manager inside has brought up: all comes, runs repeat, circles are
 * found where routes allow them and only there. */
#include <stdio.h>

#include "unit/unit.h"

#include "sim/subnet/load.h"
#include "sim/subnet/manager.h"
#include "sim/subnet/topology_make.h"

struct world {
    struct subnet *subnet;
    struct agent *agent;
    struct manager *manager;
    struct flow_config flow;
    struct bridge_config bridge;
    struct load_config load;
};

static void open_world(struct world *world, const char *text, enum manager_routing routing)
{
    struct topology topology = {0};
    struct subnet_config config;
    struct manager_result result;
    const struct manager_config manager_config = {.routing = routing};
    char error[TOPOLOGY_ERROR_BYTES];
    assert_true(topology_make(text, &topology, error));
    subnet_config_default(&config);
    world->subnet = subnet_open(&topology, &config);
    topology_free(&topology);
    world->agent = agent_open(world->subnet);
    world->manager = manager_open(world->agent, subnet_port_index(world->subnet, 0, 1),
                                  &manager_config);
    assert_true(manager_sweep(world->manager, &result, error));
    flow_config_default(&world->flow);
    bridge_config_default(&world->bridge);
    load_config_default(&world->load);
    world->load.window_ps = 300000000;
}

static void close_world(struct world *world)
{
    manager_close(world->manager);
    agent_close(world->agent);
    subnet_close(world->subnet);
}

static void run(struct world *world, struct load_result *result)
{
    char text[TOPOLOGY_ERROR_BYTES];
    assert_null(flow_config_objection(&world->flow, world->subnet, text));
    assert_null(bridge_config_objection(&world->bridge, world->subnet, text));
    assert_null(load_config_objection(&world->load, world->subnet, text));
    struct load *load = load_open(world->subnet, &world->flow, &world->bridge, &world->load, NULL);
    while (load_step(load, 10000, UINT64_MAX)) {
    }
    load_result(load, result);
    load_close(load);
}

static void every_pattern_comes_by_each_carrier(void **state)
{
    (void)state;
    static const char *const shapes[] = {"switch:8", "ring:5", "fat-tree:16", "torus:3x3",
                                         "random:12"};
    for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct world world;
        struct load_result result;
        open_world(&world, shapes[s], MANAGER_UP_DOWN);
        for (uint32_t pattern = 0; pattern < LOAD_PATTERNS; pattern++) {
            for (uint32_t carrier = 0; carrier < LOAD_CARRIERS; carrier++) {
                world.load.pattern = (enum load_pattern)pattern;
                world.load.carrier = (enum load_carrier)carrier;
                world.load.rate = 0.02;
                run(&world, &result);
                assert_int_equal(result.outcome, LOAD_DONE);
                assert_true(result.sent > 50);
                assert_int_equal(result.delivered, result.sent);
                assert_int_equal(result.lost + result.doubled + result.swapped, 0);
                assert_true(result.mean_ns > 160 && result.p50_ns <= result.p99_ns);
                /* What is offered comes, within what is on its way at the window's ends. */
                assert_true(result.accepted > 0.9 * result.offered &&
                            result.accepted < 1.1 * result.offered);
            }
        }
        close_world(&world);
    }
}

static void a_run_depends_on_its_seed_alone(void **state)
{
    (void)state;
    struct load_result results[3];
    for (unsigned i = 0; i < 3; i++) {
        struct world world;
        open_world(&world, "fat-tree:16", MANAGER_UP_DOWN);
        world.flow.bit_error_rate = 1e-6;
        world.load.rate = 0.1;
        world.load.seed = i == 2 ? 2 : 1;
        run(&world, &results[i]);
        close_world(&world);
    }
    assert_int_equal(results[0].events, results[1].events);
    assert_int_equal(results[0].now_ps, results[1].now_ps);
    assert_true(results[0].mean_ns == results[1].mean_ns);
    assert_int_not_equal(results[0].events, results[2].events);
}

/* Shortest ways round a ring close a circle; up and down they do not. */
static void circles_come_from_routes_that_allow_them(void **state)
{
    (void)state;
    static const char *const shapes[] = {"ring:7", "torus:5x5"};
    for (unsigned s = 0; s < 2; s++) {
        for (uint32_t routing = 0; routing < MANAGER_ROUTINGS; routing++) {
            struct world world;
            struct load_result result;
            open_world(&world, shapes[s], (enum manager_routing)routing);
            world.load.carrier = LOAD_DATAGRAMS;
            world.load.pattern = s == 0 ? LOAD_SHIFT : LOAD_UNIFORM;
            world.load.bytes = 2048;
            world.load.rate = 0.9;
            world.load.flows = 1;
            world.flow.buffer_flits = 48;
            run(&world, &result);
            if (routing == MANAGER_MIN_HOP) {
                assert_int_equal(result.outcome, LOAD_DEADLOCKED);
                assert_true(result.circle[0] != '\0');
            } else {
                assert_int_equal(result.outcome, LOAD_SATURATED);
                assert_int_equal(result.lost, 0);
            }
            close_world(&world);
        }
    }
}

/* A full subnet is told from one that is not. */
static void saturation_is_told(void **state)
{
    (void)state;
    struct world world;
    struct load_result result;
    open_world(&world, "switch:8", MANAGER_UP_DOWN);
    world.load.rate = 0.2; /* of 1,000 MB/s; the NIC port carries 250 */
    run(&world, &result);
    assert_int_equal(result.outcome, LOAD_DONE);
    world.load.rate = 0.4;
    run(&world, &result);
    assert_int_equal(result.outcome, LOAD_SATURATED);
    assert_true(result.accepted < 0.25);
    close_world(&world);
}

/* A cable dies under load, the manager lays ways around it, it comes back: nothing is lost. */
static void deaths_and_returns_lose_nothing_by_bridges(void **state)
{
    (void)state;
    struct world world;
    struct load_result result;
    struct manager_result swept;
    char error[TOPOLOGY_ERROR_BYTES];
    open_world(&world, "torus:3x3", MANAGER_UP_DOWN);
    world.load.rate = 0.1;
    world.load.window_ps = 3000000000;
    struct load *load = load_open(world.subnet, &world.flow, &world.bridge, &world.load, NULL);
    uint32_t switches = world.subnet->topology.switch_count;
    uint32_t boards = world.subnet->topology.board_count;
    uint64_t at_ps = 0;
    for (uint32_t i = 0; load_step(load, UINT64_MAX, at_ps); i++) {
        at_ps += 100000000;
        if (i < 28) {
            /* Never two at a time, and no board's own cable, so the subnet is in one part. */
            uint32_t cable = subnet_port_index(world.subnet, boards + i / 2 % switches,
                                               1 + i / 2 % 4);
            subnet_cable_set(world.subnet, cable, i % 2 == 1);
            agent_changed(world.agent);
            load_changed(load);
            assert_true(manager_sweep(world.manager, &swept, error));
            load_changed(load);
        }
    }
    load_result(load, &result);
    assert_int_equal(result.outcome, LOAD_DONE);
    assert_int_equal(result.lost + result.doubled + result.swapped, 0);
    assert_true(result.bridge.frames_resent > 0);
    assert_true(result.flow.lost[FLOW_CUT] + result.flow.lost[FLOW_NO_WAY] > 0);
    load_close(load);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_comes_by_each_carrier),
        cmocka_unit_test(a_run_depends_on_its_seed_alone),
        cmocka_unit_test(circles_come_from_routes_that_allow_them),
        cmocka_unit_test(saturation_is_told),
        cmocka_unit_test(deaths_and_returns_lose_nothing_by_bridges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
