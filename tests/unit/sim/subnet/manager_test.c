/* The manager: everybody reaches everybody, without a circle of waits; what has changed is found,
 * addresses stay, and a second look writes nothing. */
#include "sim/subnet/manager.h"
#include "sim/subnet/topology_make.h"
#include "unit/unit.h"

struct bench {
    struct subnet *subnet;
    struct agent *agent;
    struct manager *manager;
    struct manager_result result;
    char text[TOPOLOGY_ERROR_BYTES];
};

static void bench_open(struct bench *bench, const char *shape, enum manager_routing routing)
{
    struct topology topology = {0};
    struct subnet_config config;
    *bench = (struct bench){0};
    assert_true(topology_make(shape, &topology, bench->text));
    subnet_config_default(&config);
    bench->subnet = subnet_open(&topology, &config);
    bench->agent = agent_open(bench->subnet);
    topology_free(&topology);
    bench->manager = manager_open(bench->agent, subnet_port_index(bench->subnet, 0, 1),
                                  &(struct manager_config){.routing = routing});
    assert_true(manager_sweep(bench->manager, &bench->result, bench->text));
}

static void bench_close(struct bench *bench)
{
    manager_close(bench->manager);
    agent_close(bench->agent);
    subnet_close(bench->subnet);
}

static bool is_board(const struct bench *bench, uint32_t node)
{
    return !subnet_is_switch(bench->subnet, node);
}

/* The port of a node that has its address. */
static uint32_t own_port(const struct bench *bench, uint32_t node)
{
    return subnet_port_index(bench->subnet, node, is_board(bench, node) ? 1 : 0);
}

/* ---- Ways --------------------------------------------------------------------------------- */

/* depends[a] has the cables b (by the ports that they leave) that a packet on a may wait for. */
struct waits {
    bool *depends;
    uint8_t *colour; /* 0: not seen; 1: on the way; 2: done */
    uint32_t count;
};

static bool has_circle(struct waits *waits, uint32_t from)
{
    waits->colour[from] = 1;
    for (uint32_t to = 0; to < waits->count; to++) {
        if (waits->depends[(size_t)from * waits->count + to] &&
            (waits->colour[to] == 1 || (waits->colour[to] == 0 && has_circle(waits, to)))) {
            return true;
        }
    }
    waits->colour[from] = 2;
    return false;
}

/* Whether all living nodes reach all others; and whether boards' packets may wait in a circle. */
static void check_ways(struct bench *bench, bool *all_reached, bool *may_deadlock)
{
    const struct subnet *subnet = bench->subnet;
    struct waits waits = {.count = subnet->port_count};
    waits.depends = calloc((size_t)waits.count * waits.count, 1);
    waits.colour = calloc(waits.count, 1);
    uint32_t ports[512];
    assert_non_null(waits.depends);
    assert_non_null(waits.colour);
    *all_reached = true;
    for (uint32_t from = 0; from < subnet->node_count; from++) {
        for (uint32_t to = 0; to < subnet->node_count; to++) {
            uint16_t lid = subnet->ports[own_port(bench, to)].lid;
            if (from == to || subnet->nodes[from].is_dead || subnet->nodes[to].is_dead) {
                continue;
            }
            uint32_t count = lid ? subnet_way(subnet, own_port(bench, from), lid, ports, 512,
                                              bench->text)
                                 : SUBNET_NO_WAY;
            *all_reached = *all_reached && count != SUBNET_NO_WAY;
            bool is_data = is_board(bench, from) && is_board(bench, to);
            for (uint32_t i = 1; is_data && count != SUBNET_NO_WAY && i < count; i++) {
                waits.depends[(size_t)ports[i - 1] * waits.count + ports[i]] = true;
            }
        }
    }
    *may_deadlock = false;
    for (uint32_t i = 0; i < waits.count && !*may_deadlock; i++) {
        *may_deadlock = waits.colour[i] == 0 && has_circle(&waits, i);
    }
    free(waits.depends);
    free(waits.colour);
}

static const char *const shapes[] = {"ring:8",      "ring:3x2",    "torus:4x4",
                                     "torus:3x3x3", "fat-tree:32", "random:20,seed=1",
                                     "switch:8",    "mesh:4x3",    "random:40,switches=20,seed=7"};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void all_reach_all_without_a_circle(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct bench bench;
        bool all_reached;
        bool may_deadlock;
        bench_open(&bench, shapes[i], MANAGER_UP_DOWN);
        assert_int_equal(bench.result.boards, bench.subnet->topology.board_count);
        assert_int_equal(bench.result.switches, bench.subnet->topology.switch_count);
        check_ways(&bench, &all_reached, &may_deadlock);
        assert_true(all_reached);
        assert_false(may_deadlock);
        for (uint32_t p = 0; p < bench.subnet->port_count; p++) {
            const struct subnet_port *port = &bench.subnet->ports[p];
            assert_true(port->peer == SUBNET_NONE || port->state == SUBNET_ACTIVE);
        }
        bench_close(&bench);
    }
}

static void shortest_ways_may_wait_in_a_circle(void **state)
{
    (void)state;
    struct bench bench;
    bool all_reached;
    bool may_deadlock;
    bench_open(&bench, "ring:8", MANAGER_MIN_HOP);
    check_ways(&bench, &all_reached, &may_deadlock);
    assert_true(all_reached);
    assert_true(may_deadlock);
    uint32_t ports[64];
    for (uint32_t i = 1; i < 8; i++) {
        uint32_t hops = i < 8 - i ? i : 8 - i;
        uint16_t lid = bench.subnet->ports[own_port(&bench, i)].lid;
        assert_int_equal(subnet_way(bench.subnet, own_port(&bench, 0), lid, ports, 64, bench.text),
                         hops + 2);
    }
    bench_close(&bench);
}

static void a_fat_tree_uses_all_its_roots(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "fat-tree:32", MANAGER_UP_DOWN);
    const struct subnet *subnet = bench.subnet;
    uint32_t ports[64];
    bool *is_used = calloc(subnet->node_count, sizeof *is_used);
    assert_non_null(is_used);
    for (uint32_t from = 0; from < 32; from++) {
        for (uint32_t to = 0; to < 32; to++) {
            uint16_t lid = subnet->ports[own_port(&bench, to)].lid;
            uint32_t count = subnet_way(subnet, own_port(&bench, from), lid, ports, 64, bench.text);
            for (uint32_t i = 0; i < count; i++) {
                is_used[subnet->ports[ports[i]].node] = true;
            }
        }
    }
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        assert_true(is_used[i]);
    }
    free(is_used);
    bench_close(&bench);
}

/* In a full tree each cable down from a highest switch has one board's address, whoever sends, so
 * that every permutation of boards has a cable for each there. */
static void a_fat_tree_spreads_addresses_over_its_cables(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        uint32_t boards;
    } trees[] = {{"fat-tree:32", 32}, {"fat-tree:128", 128}, {"fat-tree:128,ports=16", 128}};
    for (uint32_t t = 0; t < 3; t++) {
        struct bench bench;
        bench_open(&bench, trees[t].shape, MANAGER_UP_DOWN);
        const struct subnet *subnet = bench.subnet;
        uint32_t ports[64];
        uint32_t *counts = calloc(subnet->port_count, sizeof *counts);
        uint32_t *last = calloc(subnet->port_count, sizeof *last);
        assert_non_null(counts);
        assert_non_null(last);
        for (uint32_t to = 0; to < trees[t].boards; to++) {
            uint16_t lid = subnet->ports[own_port(&bench, to)].lid;
            for (uint32_t from = 0; from < trees[t].boards; from++) {
                uint32_t count = subnet_way(subnet, own_port(&bench, from), lid, ports, 64,
                                            bench.text);
                for (uint32_t i = 0; from != to && i < count; i++) {
                    counts[ports[i]] += last[ports[i]] != to + 1;
                    last[ports[i]] = to + 1;
                }
            }
        }
        uint32_t highest = subnet->node_count - 1;
        for (uint32_t i = 1; i <= subnet->nodes[highest].port_count; i++) {
            assert_int_equal(counts[subnet_port_index(subnet, highest, i)], 1);
        }
        free(counts);
        free(last);
        bench_close(&bench);
    }
}

/* ---- Changes ------------------------------------------------------------------------------ */

static void a_second_look_writes_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct bench bench;
        bench_open(&bench, shapes[i], MANAGER_UP_DOWN);
        assert_true(bench.result.sets > 0);
        uint64_t version = bench.subnet->version;
        assert_true(manager_sweep(bench.manager, &bench.result, bench.text));
        assert_int_equal(bench.result.sets, 0);
        assert_true(bench.subnet->version == version);
        bench_close(&bench);
    }
}

static void deaths_are_found_and_addresses_stay(void **state)
{
    (void)state;
    struct bench bench;
    bool all_reached;
    bool may_deadlock;
    bench_open(&bench, "torus:4x4", MANAGER_UP_DOWN);
    struct subnet *subnet = bench.subnet;
    uint16_t lids[64];
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        lids[i] = subnet->ports[own_port(&bench, i)].lid;
    }
    uint32_t first_switch = subnet->topology.board_count;
    subnet_cable_set(subnet, subnet_port_index(subnet, first_switch, 1), false);
    agent_changed(bench.agent);
    assert_true(manager_sweep(bench.manager, &bench.result, bench.text));
    assert_true(bench.result.sets > 0);
    check_ways(&bench, &all_reached, &may_deadlock);
    assert_true(all_reached && !may_deadlock);

    /* A switch dies, with the board behind it. */
    subnet_node_set(subnet, first_switch + 5, false);
    agent_changed(bench.agent);
    assert_true(manager_sweep(bench.manager, &bench.result, bench.text));
    assert_int_equal(bench.result.switches, 15);
    assert_int_equal(bench.result.boards, 15);

    subnet_node_set(subnet, first_switch + 5, true);
    subnet_cable_set(subnet, subnet_port_index(subnet, first_switch, 1), true);
    agent_changed(bench.agent);
    assert_true(manager_sweep(bench.manager, &bench.result, bench.text));
    check_ways(&bench, &all_reached, &may_deadlock);
    assert_true(all_reached && !may_deadlock);
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        assert_int_equal(subnet->ports[own_port(&bench, i)].lid, lids[i]);
    }
    bench_close(&bench);
}

static void too_many_nodes_are_an_error(void **state)
{
    (void)state;
    struct bench bench = {0};
    struct topology topology = {0};
    struct subnet_config config;
    assert_true(topology_make("ring:8", &topology, bench.text));
    subnet_config_default(&config);
    config.linear_entries = 16;
    bench.subnet = subnet_open(&topology, &config);
    bench.agent = agent_open(bench.subnet);
    topology_free(&topology);
    bench.manager = manager_open(bench.agent, subnet_port_index(bench.subnet, 0, 1),
                                 &(struct manager_config){.routing = MANAGER_UP_DOWN});
    assert_false(manager_sweep(bench.manager, &bench.result, bench.text));
    assert_non_null(strstr(bench.text, "15 addresses"));
    bench_close(&bench);
}

/* ---- Groups ------------------------------------------------------------------------------- */

/* Counts how often a packet to a group that comes in at a switch by a port gets to each board. */
static void spread(const struct bench *bench, uint32_t in, uint16_t mlid, uint32_t *copies,
                   uint32_t *left)
{
    const struct subnet *subnet = bench->subnet;
    uint32_t n = subnet->ports[in].node;
    const struct subnet_node *node = &subnet->nodes[n];
    assert_true((*left)-- > 0);
    if (is_board(bench, n)) {
        copies[n]++;
        return;
    }
    const uint64_t *mask = node->multicast +
                           (size_t)(mlid - SUBNET_MULTICAST_LID) * SUBNET_MASK_WORDS;
    for (uint32_t out = 1; out <= node->port_count; out++) {
        if ((mask[out / 64] >> out % 64 & 1) && node->port_first + out != in) {
            spread(bench, subnet->ports[node->port_first + out].peer, mlid, copies, left);
        }
    }
}

static void check_group(const struct bench *bench, uint16_t mlid, const uint32_t *members,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t copies[128] = {0};
        uint32_t left = 1000;
        uint32_t own = own_port(bench, members[i]);
        spread(bench, bench->subnet->ports[own].peer, mlid, copies, &left);
        uint32_t sum = 0;
        for (uint32_t n = 0; n < bench->subnet->node_count; n++) {
            sum += copies[n];
        }
        assert_int_equal(sum, count - 1);
        for (uint32_t j = 0; j < count; j++) {
            assert_int_equal(copies[members[j]], j != i);
        }
    }
}

static void groups_get_one_copy_each(void **state)
{
    (void)state;
    static const uint32_t members[] = {1, 2, 5, 11};
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct bench bench;
        uint64_t guids[4];
        uint32_t count = 0;
        bench_open(&bench, shapes[i], MANAGER_UP_DOWN);
        while (count < 4 && members[count] < bench.subnet->topology.board_count) {
            guids[count] = bench.subnet->topology.nodes[members[count]].guid + 1;
            count++;
        }
        assert_true(manager_group_set(bench.manager, 0xc021, guids, count, bench.text));
        check_group(&bench, 0xc021, members, count);
        assert_true(manager_group_set(bench.manager, 0xc001, guids, 2, bench.text));
        check_group(&bench, 0xc001, members, 2);
        check_group(&bench, 0xc021, members, count);
        /* It stays when the subnet is swept. */
        subnet_node_set(bench.subnet, bench.subnet->topology.board_count, false);
        subnet_node_set(bench.subnet, bench.subnet->topology.board_count, true);
        agent_changed(bench.agent);
        assert_true(manager_sweep(bench.manager, &bench.result, bench.text));
        check_group(&bench, 0xc021, members, count);
        assert_true(manager_group_set(bench.manager, 0xc021, NULL, 0, bench.text));
        assert_false(manager_group_set(bench.manager, 0xbfff, guids, count, bench.text));
        assert_false(manager_group_set(bench.manager, 0xc080, guids, count, bench.text));
        bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_reach_all_without_a_circle),
        cmocka_unit_test(shortest_ways_may_wait_in_a_circle),
        cmocka_unit_test(a_fat_tree_uses_all_its_roots),
        cmocka_unit_test(a_fat_tree_spreads_addresses_over_its_cables),
        cmocka_unit_test(a_second_look_writes_nothing),
        cmocka_unit_test(deaths_are_found_and_addresses_stay),
        cmocka_unit_test(too_many_nodes_are_an_error),
        cmocka_unit_test(groups_get_one_copy_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
