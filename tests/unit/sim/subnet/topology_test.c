/* Shapes of subnets: building, finding, and everything that can be wrong with one. */
#include "unit/unit.h"

#include "sim/subnet/topology.h"

#define GUID UINT64_C(0x00d1330000000000)

/* board-0 -- 1 switch 2 -- board-1, and two ports that are free. */
static void make_small(struct topology *topology)
{
    *topology = (struct topology){0};
    uint32_t middle = topology_add(topology, TOPOLOGY_SWITCH, 4, 4, GUID + 1, "switch-0");
    uint32_t left = topology_add(topology, TOPOLOGY_BOARD, 1, 4, GUID + 0x10, "board-0");
    uint32_t right = topology_add(topology, TOPOLOGY_BOARD, 2, 4, GUID + 0x20, "board-1");
    topology_join(topology, left, 1, middle, 1);
    topology_join(topology, middle, 2, right, 2);
}

static void expect_objection(struct topology *topology, const char *expected)
{
    char text[TOPOLOGY_ERROR_BYTES];
    const char *objection = topology_objection(topology, text);
    if (!expected) {
        assert_null(objection);
    } else {
        assert_non_null(objection);
        assert_string_equal(objection, expected);
    }
}

static void nothing_is_a_shape(void **state)
{
    (void)state;
    struct topology topology = {0};
    expect_objection(&topology, NULL);
    assert_int_equal(topology_parts(&topology), 0);
    assert_int_equal(topology_find(&topology, "board-0"), TOPOLOGY_NONE);
    struct topology copy;
    topology_copy(&copy, &topology);
    topology_free(&copy);
    topology_free(&topology);
}

static void both_ends_of_a_cable_know_each_other(void **state)
{
    (void)state;
    struct topology topology;
    make_small(&topology);
    assert_int_equal(topology.node_count, 3);
    assert_int_equal(topology.board_count, 2);
    assert_int_equal(topology.switch_count, 1);
    assert_int_equal(topology.port_count, 7);
    assert_int_equal(topology_port(&topology, 0, 2)->peer_node, 2);
    assert_int_equal(topology_port(&topology, 0, 2)->peer_port, 2);
    assert_int_equal(topology_port(&topology, 2, 2)->peer_node, 0);
    assert_int_equal(topology_port(&topology, 2, 2)->peer_port, 2);
    assert_int_equal(topology_port(&topology, 2, 1)->peer_node, TOPOLOGY_NONE);
    expect_objection(&topology, NULL);
    topology_free(&topology);
    assert_int_equal(topology.node_count, 0);
}

static void a_copy_is_its_own(void **state)
{
    (void)state;
    struct topology topology;
    struct topology copy;
    make_small(&topology);
    topology_copy(&copy, &topology);
    topology_free(&topology);
    uint32_t third = topology_add(&copy, TOPOLOGY_BOARD, 1, 4, GUID + 0x30, "board-2");
    topology_join(&copy, third, 1, 0, 3);
    expect_objection(&copy, NULL);
    assert_int_equal(topology_port(&copy, 0, 1)->peer_node, 1);
    assert_int_equal(topology_parts(&copy), 1);
    topology_free(&copy);
}

static void nodes_are_found_by_name_and_guid(void **state)
{
    (void)state;
    struct topology topology;
    make_small(&topology);
    assert_int_equal(topology_find(&topology, "board-1"), 2);
    assert_int_equal(topology_find(&topology, "board-2"), TOPOLOGY_NONE);
    assert_int_equal(topology_find(&topology, "0x00d1330000000020"), 2);
    assert_int_equal(topology_find(&topology, "0xD1330000000001"), 0);
    assert_int_equal(topology_find(&topology, "0x00d1330000000021"), TOPOLOGY_NONE);
    assert_int_equal(topology_find(&topology, "0x"), TOPOLOGY_NONE);
    assert_int_equal(topology_find(&topology, "0x-1"), TOPOLOGY_NONE);
    assert_int_equal(topology_find(&topology, "0xd1330000000001z"), TOPOLOGY_NONE);
    topology_free(&topology);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    struct topology topology = {0};
    char name[2 * TOPOLOGY_NAME_BYTES];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)topology_add(&topology, TOPOLOGY_BOARD, 1, 1, GUID, name);
    assert_int_equal(strlen(topology.nodes[0].name), TOPOLOGY_NAME_BYTES - 1);
    topology_free(&topology);
}

static void parts_are_counted(void **state)
{
    (void)state;
    struct topology topology;
    make_small(&topology);
    assert_int_equal(topology_parts(&topology), 1);
    (void)topology_add(&topology, TOPOLOGY_BOARD, 1, 4, GUID + 0x30, "board-2");
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 2, 4, GUID + 2, "switch-1");
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 2, 4, GUID + 3, "switch-2");
    topology_join(&topology, 4, 1, 5, 1);
    topology_join(&topology, 4, 2, 5, 2);
    assert_int_equal(topology_parts(&topology), 3);
    expect_objection(&topology, NULL);
    topology_free(&topology);
}

static void guids_differ(void **state)
{
    (void)state;
    struct topology topology;
    make_small(&topology);
    topology.nodes[0].guid = 0;
    expect_objection(&topology, "switch-0: its GUID is 0");
    topology.nodes[0].guid = GUID + 0x20;
    expect_objection(&topology, "board-1: its GUID 0x00d1330000000020 is also that of switch-0");
    topology.nodes[0].guid = GUID + 0x22;
    expect_objection(&topology,
                     "switch-0: its GUID 0x00d1330000000022 is that of a port of board-1");
    topology.nodes[0].guid = GUID + 0x23;
    expect_objection(&topology, NULL);
    topology.nodes[2].guid = UINT64_MAX - 1;
    expect_objection(&topology, "board-1: its ports' GUIDs do not fit into 64 bits");
    topology.nodes[2].guid = UINT64_MAX - 2;
    expect_objection(&topology, NULL);
    topology_free(&topology);
}

static void cables_have_two_ends(void **state)
{
    (void)state;
    struct topology topology;
    make_small(&topology);
    struct topology_port *port = topology_port(&topology, 2, 2);
    const struct topology_port good = *port;
    port->peer_node = TOPOLOGY_NONE;
    expect_objection(&topology, "switch-0, port 2: its cable has one end only");
    *port = good;
    port->peer_port = 1;
    expect_objection(&topology, "switch-0, port 2: its cable has one end only");
    *port = good;
    port->width = 12;
    expect_objection(&topology, "switch-0, port 2: the other end of its cable has another width");
    *port = good;
    topology_port(&topology, 0, 4)->peer_node = 9;
    expect_objection(&topology, "switch-0, port 4: its cable has one end only");
    topology_port(&topology, 0, 4)->peer_node = 0;
    topology_port(&topology, 0, 4)->peer_port = 4;
    expect_objection(&topology, "switch-0, port 4: its cable leads back to itself");
    topology_free(&topology);
}

static void a_node_has_ports(void **state)
{
    (void)state;
    struct topology topology;
    make_small(&topology);
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 0, 4, GUID + 9, "stump");
    expect_objection(&topology, "stump: it has no port");
    topology_free(&topology);
}

static void there_are_as_many_nodes_as_addresses(void **state)
{
    (void)state;
    struct topology topology = {0};
    for (uint32_t i = 0; i < TOPOLOGY_NODES_MAX; i++) {
        (void)topology_add(&topology, TOPOLOGY_SWITCH, 2, 4, GUID + i, "switch");
    }
    expect_objection(&topology, NULL);
    assert_int_equal(topology_parts(&topology), TOPOLOGY_NODES_MAX);
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 2, 4, 1, "the last");
    expect_objection(&topology, "the last: 49151 nodes are the most");
    topology_free(&topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_a_shape),
        cmocka_unit_test(both_ends_of_a_cable_know_each_other),
        cmocka_unit_test(a_copy_is_its_own),
        cmocka_unit_test(nodes_are_found_by_name_and_guid),
        cmocka_unit_test(a_long_name_is_cut),
        cmocka_unit_test(parts_are_counted),
        cmocka_unit_test(guids_differ),
        cmocka_unit_test(cables_have_two_ends),
        cmocka_unit_test(a_node_has_ports),
        cmocka_unit_test(there_are_as_many_nodes_as_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
