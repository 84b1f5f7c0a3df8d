/* Devices of a subnet: their registers after power on, deaths and returns, and ways by tables. */
#include "unit/unit.h"

#include "sim/subnet/subnet.h"

#define GUID UINT64_C(0x00d1330000000000)

/* left -- 1 one 2 ===== 1 two 2 -- right, with a second cable between ports 3 of the switches. */
enum { ONE, TWO, LEFT, RIGHT };

static struct subnet *open_with(const struct subnet_config *config)
{
    struct topology topology = {0};
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 4, 4, GUID + 1, "one");
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 4, 4, GUID + 2, "two");
    (void)topology_add(&topology, TOPOLOGY_BOARD, 1, 4, GUID + 0x10, "left");
    (void)topology_add(&topology, TOPOLOGY_BOARD, 1, 4, GUID + 0x20, "right");
    topology_join(&topology, LEFT, 1, ONE, 1);
    topology_join(&topology, ONE, 2, TWO, 1);
    topology_join(&topology, TWO, 2, RIGHT, 1);
    topology_join(&topology, ONE, 3, TWO, 3);
    struct subnet *subnet = subnet_open(&topology, config);
    topology_free(&topology);
    return subnet;
}

static struct subnet *open_default(void)
{
    struct subnet_config config;
    subnet_config_default(&config);
    return open_with(&config);
}

static struct subnet_port *port_of(struct subnet *subnet, uint32_t node, uint32_t number)
{
    return &subnet->ports[subnet_port_index(subnet, node, number)];
}

/* Addresses 1 to 4 for ONE, TWO, LEFT, RIGHT, and tables that lead to each. */
static void manage(struct subnet *subnet)
{
    static const uint8_t tables[2][5] = {{255, 0, 2, 1, 2}, {255, 1, 0, 1, 2}};
    for (uint32_t node = 0; node < 4; node++) {
        uint32_t port = subnet_port_index(subnet, node, node == LEFT || node == RIGHT);
        assert_true(subnet_lid_set(subnet, port, (uint16_t)(node + 1), 0));
    }
    for (uint32_t node = ONE; node <= TWO; node++) {
        for (uint16_t lid = 1; lid <= 4; lid++) {
            subnet_linear_set(subnet, node, lid, tables[node][lid]);
        }
        subnet_linear_top_set(subnet, node, 4);
    }
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        subnet_state_set(subnet, i, SUBNET_ACTIVE);
    }
}

static void after_power_on_links_are_up_and_tables_empty(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    assert_int_equal(subnet->node_count, 4);
    assert_int_equal(subnet->port_count, 5 + 5 + 2 + 2);
    assert_int_equal(port_of(subnet, ONE, 0)->state, SUBNET_ACTIVE);
    assert_int_equal(port_of(subnet, ONE, 1)->state, SUBNET_INIT);
    assert_int_equal(port_of(subnet, ONE, 4)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, LEFT, 0)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, LEFT, 1)->state, SUBNET_INIT);
    assert_int_equal(port_of(subnet, ONE, 2)->peer, subnet_port_index(subnet, TWO, 1));
    assert_int_equal(port_of(subnet, TWO, 1)->peer, subnet_port_index(subnet, ONE, 2));
    assert_int_equal(port_of(subnet, ONE, 4)->peer, SUBNET_NONE);
    assert_int_equal(port_of(subnet, TWO, 2)->node, TWO);
    assert_int_equal(port_of(subnet, TWO, 2)->number, 2);
    for (uint32_t lid = 0; lid < SUBNET_LIDS; lid++) {
        assert_int_equal(subnet->lid_owner[lid], SUBNET_NONE);
        assert_int_equal(subnet_linear(subnet, ONE, (uint16_t)lid), SUBNET_NO_PORT);
    }
    assert_int_equal(subnet->nodes[ONE].linear[4095], SUBNET_NO_PORT);
    assert_int_equal(subnet->nodes[ONE].linear_top, 0);
    assert_false(subnet->nodes[ONE].is_dead);
    subnet_close(subnet);
    subnet_close(NULL);
}

static void after_power_on_all_lanes_have_equal_shares(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        const struct subnet_port *port = &subnet->ports[i];
        assert_int_equal(port->oper_vls, 4);
        assert_int_equal(port->mtu, 2048);
        assert_int_equal(port->high_limit, 0);
        for (uint32_t row = 0; row < SUBNET_ARBITRATION_ROWS; row++) {
            assert_int_equal(port->high[row].weight, 0);
            assert_int_equal(port->low[row].weight, row < 4 ? 32 : 0);
            assert_int_equal(port->low[row].vl, row < 4 ? row : 0);
        }
    }
    for (uint32_t sl = 0; sl < SUBNET_SLS; sl++) {
        for (uint32_t in = 0; in <= 4; in++) {
            for (uint32_t out = 0; out <= 4; out++) {
                assert_int_equal(subnet_sl_to_vl(&subnet->nodes[ONE], in, out, sl), sl % 4);
            }
        }
        assert_int_equal(subnet_sl_to_vl(&subnet->nodes[LEFT], 0, 0, sl), sl % 4);
    }
    subnet_close(subnet);
}

static void configs_that_no_hardware_has_are_refused(void **state)
{
    (void)state;
    struct subnet_config good;
    subnet_config_default(&good);
    assert_null(subnet_config_objection(&good));
    struct subnet_config config = good;
    config.linear_entries = 1;
    assert_string_equal(subnet_config_objection(&config), "linear_entries is not from 2 to 49152");
    config.linear_entries = SUBNET_LIDS + 1;
    assert_non_null(subnet_config_objection(&config));
    config = good;
    config.multicast_entries = 0x4000;
    assert_string_equal(subnet_config_objection(&config), "multicast_entries is more than 16383");
    config = good;
    config.mtu = 3000;
    assert_string_equal(subnet_config_objection(&config),
                        "mtu is not 256, 512, 1024, 2048 or 4096");
    for (uint32_t vls = 0; vls <= 17; vls++) {
        config = good;
        config.data_vls = vls;
        bool fits = vls == 1 || vls == 2 || vls == 4 || vls == 8 || vls == 15;
        assert_int_equal(subnet_config_objection(&config) == NULL, fits);
    }
}

static void an_address_has_one_owner(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    uint32_t left = subnet_port_index(subnet, LEFT, 1);
    uint32_t right = subnet_port_index(subnet, RIGHT, 1);
    assert_true(subnet_lid_set(subnet, left, 8, 2));
    for (uint32_t lid = 7; lid <= 12; lid++) {
        assert_int_equal(subnet->lid_owner[lid], lid >= 8 && lid < 12 ? left : SUBNET_NONE);
    }
    uint64_t version = subnet->version;
    assert_false(subnet_lid_set(subnet, right, 11, 0));
    assert_false(subnet_lid_set(subnet, right, 9, 3));
    assert_int_equal(subnet->ports[right].lid, 0);
    assert_true(subnet_lid_set(subnet, left, 8, 2));
    assert_int_equal(subnet->version, version);
    assert_true(subnet_lid_set(subnet, left, 10, 1));
    assert_int_not_equal(subnet->version, version);
    assert_int_equal(subnet->lid_owner[9], SUBNET_NONE);
    assert_int_equal(subnet->lid_owner[11], left);
    assert_true(subnet_lid_set(subnet, right, 9, 0));
    assert_true(subnet_lid_set(subnet, left, 0, 0));
    assert_int_equal(subnet->lid_owner[10], SUBNET_NONE);
    /* A mask that covers 0: nobody has that. And the last block. */
    assert_true(subnet_lid_set(subnet, left, 1, 1));
    assert_int_equal(subnet->lid_owner[0], SUBNET_NONE);
    assert_int_equal(subnet->lid_owner[1], left);
    assert_true(subnet_lid_set(subnet, left, 0xbfff, 7));
    assert_int_equal(subnet->lid_owner[0xbf80], left);
    assert_int_equal(subnet->lid_owner[1], SUBNET_NONE);
    subnet_close(subnet);
}

static void every_change_raises_the_version_and_nothing_else_does(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    const uint64_t mask[SUBNET_MASK_WORDS] = {UINT64_MAX, UINT64_MAX, 1, 1};
    for (int again = 0; again < 2; again++) {
        uint64_t version = subnet->version;
        subnet_linear_set(subnet, ONE, 7, 3);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_linear_top_set(subnet, ONE, 7);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_multicast_set(subnet, ONE, 0xc000 + 127, mask);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_sl_to_vl_set(subnet, ONE, 4, 3, 15, 1);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_sl_to_vl_set(subnet, LEFT, 0, 0, 1, 15);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_state_set(subnet, subnet_port_index(subnet, ONE, 1), SUBNET_ARMED);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_cable_set(subnet, subnet_port_index(subnet, ONE, 2), false);
        assert_int_equal(subnet->version == version, again);
        version = subnet->version;
        subnet_node_set(subnet, RIGHT, false);
        assert_int_equal(subnet->version == version, again);
    }
    assert_int_equal(subnet_linear(subnet, ONE, 7), 3);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[ONE], 4, 3, 15), 1);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[ONE], 3, 4, 15), 3);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[LEFT], 0, 0, 1), 15);
    /* The switch has five ports, 0 to 4. */
    assert_int_equal(subnet->nodes[ONE].multicast[127 * SUBNET_MASK_WORDS], 31);
    assert_int_equal(subnet->nodes[ONE].multicast[127 * SUBNET_MASK_WORDS + 1], 0);
    subnet_linear_set(subnet, ONE, 7, 5);
    assert_int_equal(subnet_linear(subnet, ONE, 7), SUBNET_NO_PORT);
    subnet_close(subnet);
}

static void a_port_without_a_link_stays_down(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    subnet_state_set(subnet, subnet_port_index(subnet, ONE, 4), SUBNET_ACTIVE);
    assert_int_equal(port_of(subnet, ONE, 4)->state, SUBNET_DOWN);
    subnet_cable_set(subnet, subnet_port_index(subnet, LEFT, 1), false);
    subnet_state_set(subnet, subnet_port_index(subnet, LEFT, 1), SUBNET_ACTIVE);
    assert_int_equal(port_of(subnet, LEFT, 1)->state, SUBNET_DOWN);
    subnet_close(subnet);
}

static void a_cable_that_dies_takes_its_ports_registers_along(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    manage(subnet);
    struct subnet_port *left = port_of(subnet, LEFT, 1);
    struct subnet_port *one = port_of(subnet, ONE, 1);
    left->sm_lid = 3;
    left->mtu = 256;
    left->oper_vls = 1;
    left->low[0].weight = 1;
    left->high[0].weight = 1;
    left->high_limit = 9;
    left->counters.xmit_packets = 5;
    subnet_cable_set(subnet, subnet_port_index(subnet, ONE, 1), false);
    assert_true(left->is_cut && one->is_cut);
    assert_int_equal(left->state, SUBNET_DOWN);
    assert_int_equal(one->state, SUBNET_DOWN);
    assert_int_equal(left->lid, 0);
    assert_int_equal(subnet->lid_owner[3], SUBNET_NONE);
    assert_int_equal(left->counters.link_downed, 1);
    assert_int_equal(one->counters.link_downed, 1);
    assert_int_equal(left->counters.xmit_packets, 5);
    subnet_cable_set(subnet, subnet_port_index(subnet, LEFT, 1), true);
    assert_false(left->is_cut || one->is_cut);
    assert_int_equal(left->state, SUBNET_INIT);
    assert_int_equal(one->state, SUBNET_INIT);
    assert_int_equal(left->sm_lid, 0);
    assert_int_equal(left->mtu, 2048);
    assert_int_equal(left->oper_vls, 4);
    assert_int_equal(left->low[0].weight, 32);
    assert_int_equal(left->high[0].weight, 0);
    assert_int_equal(left->high_limit, 0);
    assert_int_equal(left->counters.link_downed, 1);
    /* The switch keeps what is not the port's: its own address and its tables. */
    assert_int_equal(port_of(subnet, ONE, 0)->lid, 1);
    assert_int_equal(subnet_linear(subnet, ONE, 3), 1);
    subnet_close(subnet);
}

static void a_switch_that_dies_comes_back_empty(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    manage(subnet);
    const uint64_t mask[SUBNET_MASK_WORDS] = {6};
    subnet_multicast_set(subnet, TWO, 0xc000, mask);
    subnet_sl_to_vl_set(subnet, TWO, 1, 2, 0, 3);
    subnet_cable_set(subnet, subnet_port_index(subnet, ONE, 3), false);
    subnet_node_set(subnet, TWO, false);
    assert_true(subnet->nodes[TWO].is_dead);
    assert_int_equal(port_of(subnet, TWO, 0)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, TWO, 1)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, ONE, 2)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, RIGHT, 1)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, ONE, 2)->counters.link_downed, 1);
    assert_int_equal(port_of(subnet, ONE, 3)->counters.link_downed, 1);
    assert_int_equal(port_of(subnet, TWO, 1)->counters.link_downed, 0);
    assert_int_equal(subnet->lid_owner[2], SUBNET_NONE);
    subnet_node_set(subnet, TWO, true);
    assert_int_equal(port_of(subnet, TWO, 0)->state, SUBNET_ACTIVE);
    assert_int_equal(port_of(subnet, TWO, 0)->lid, 0);
    assert_int_equal(port_of(subnet, TWO, 1)->state, SUBNET_INIT);
    assert_int_equal(port_of(subnet, ONE, 2)->state, SUBNET_INIT);
    assert_int_equal(port_of(subnet, ONE, 1)->state, SUBNET_ACTIVE);
    assert_int_equal(subnet->nodes[TWO].linear[4], SUBNET_NO_PORT);
    assert_int_equal(subnet->nodes[TWO].linear_top, 0);
    assert_int_equal(subnet->nodes[TWO].multicast[0], 0);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[TWO], 1, 2, 0), 0);
    /* The cable that was dead before still is. */
    assert_int_equal(port_of(subnet, TWO, 3)->state, SUBNET_DOWN);
    assert_true(port_of(subnet, ONE, 3)->is_cut);
    subnet_cable_set(subnet, subnet_port_index(subnet, TWO, 3), true);
    assert_int_equal(port_of(subnet, TWO, 3)->state, SUBNET_INIT);
    subnet_close(subnet);
}

static void a_cable_between_the_dead_comes_back_with_the_last(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    subnet_node_set(subnet, ONE, false);
    subnet_node_set(subnet, TWO, false);
    subnet_cable_set(subnet, subnet_port_index(subnet, ONE, 2), false);
    subnet_node_set(subnet, ONE, true);
    assert_int_equal(port_of(subnet, ONE, 2)->state, SUBNET_DOWN);
    subnet_cable_set(subnet, subnet_port_index(subnet, ONE, 2), true);
    assert_int_equal(port_of(subnet, ONE, 2)->state, SUBNET_DOWN);
    assert_int_equal(port_of(subnet, LEFT, 1)->state, SUBNET_INIT);
    subnet_node_set(subnet, TWO, true);
    assert_int_equal(port_of(subnet, ONE, 2)->state, SUBNET_INIT);
    assert_int_equal(port_of(subnet, TWO, 1)->state, SUBNET_INIT);
    subnet_close(subnet);
}

static void expect_no_way(const struct subnet *subnet, uint32_t from, uint16_t lid,
                          const char *expected)
{
    char text[TOPOLOGY_ERROR_BYTES] = "";
    uint32_t ports[8];
    assert_int_equal(subnet_way(subnet, from, lid, ports, 8, text), SUBNET_NO_WAY);
    assert_string_equal(text, expected);
}

static void ways_follow_the_tables(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    char text[TOPOLOGY_ERROR_BYTES];
    uint32_t ports[8];
    manage(subnet);
    uint32_t left = subnet_port_index(subnet, LEFT, 1);
    assert_int_equal(subnet_way(subnet, left, 4, ports, 8, text), 3);
    assert_int_equal(ports[0], left);
    assert_int_equal(ports[1], subnet_port_index(subnet, ONE, 2));
    assert_int_equal(ports[2], subnet_port_index(subnet, TWO, 2));
    assert_int_equal(subnet_way(subnet, left, 2, ports, 8, text), 2);
    assert_int_equal(subnet_way(subnet, left, 1, ports, 8, text), 1);
    assert_int_equal(subnet_way(subnet, left, 3, ports, 8, text), 0);
    uint32_t one = subnet_port_index(subnet, ONE, 0);
    assert_int_equal(subnet_way(subnet, one, 4, ports, 8, text), 2);
    assert_int_equal(ports[0], subnet_port_index(subnet, ONE, 2));
    assert_int_equal(subnet_way(subnet, one, 1, ports, 8, text), 0);
    ports[1] = 77;
    assert_int_equal(subnet_way(subnet, left, 4, ports, 1, text), 3);
    assert_int_equal(ports[1], 77);
    subnet_close(subnet);
}

static void where_there_is_no_way_the_place_is_named(void **state)
{
    (void)state;
    struct subnet *subnet = open_default();
    manage(subnet);
    uint32_t left = subnet_port_index(subnet, LEFT, 1);
    expect_no_way(subnet, left, 5, "no way to LID 5: one, port 0 has no entry for it");
    expect_no_way(subnet, left, 0xc000, "no way to LID 49152: one, port 0 has no entry for it");
    subnet_linear_set(subnet, TWO, 4, 4);
    expect_no_way(subnet, left, 4, "no way to LID 4: two, port 4 has no cable");
    subnet_linear_set(subnet, TWO, 4, 0);
    expect_no_way(subnet, left, 4, "no way to LID 4: two, port 0 does not have it");
    subnet_linear_set(subnet, ONE, 4, 1);
    expect_no_way(subnet, left, 4, "no way to LID 4: left, port 1 does not have it");
    subnet_linear_set(subnet, ONE, 4, 2);
    subnet_linear_set(subnet, TWO, 4, 3);
    expect_no_way(subnet, left, 4, "no way to LID 4: one, port 3 is in a circle");
    subnet_linear_set(subnet, TWO, 4, 2);
    subnet_cable_set(subnet, subnet_port_index(subnet, ONE, 2), false);
    expect_no_way(subnet, left, 4, "no way to LID 4: one, port 2 has a dead cable");
    subnet_node_set(subnet, ONE, false);
    expect_no_way(subnet, left, 4, "no way to LID 4: left, port 1 has a dead cable");
    subnet_close(subnet);
}

static void a_large_switch_has_all_its_ports(void **state)
{
    (void)state;
    struct topology topology = {0};
    struct subnet_config config;
    subnet_config_default(&config);
    (void)topology_add(&topology, TOPOLOGY_SWITCH, TOPOLOGY_PORTS_MAX, 12, GUID, "large");
    struct subnet *subnet = subnet_open(&topology, &config);
    topology_free(&topology);
    const uint64_t all[SUBNET_MASK_WORDS] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    subnet_multicast_set(subnet, 0, 0xc001, all);
    assert_true(subnet->nodes[0].multicast[SUBNET_MASK_WORDS + 2] == UINT64_MAX);
    assert_true(subnet->nodes[0].multicast[SUBNET_MASK_WORDS + 3] == UINT64_MAX >> 1);
    subnet_sl_to_vl_set(subnet, 0, 254, 254, 15, 14);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[0], 254, 254, 15), 14);
    subnet_linear_set(subnet, 0, 4095, 254);
    subnet_linear_top_set(subnet, 0, 0xbfff);
    assert_int_equal(subnet_linear(subnet, 0, 4095), 254);
    assert_int_equal(subnet_linear(subnet, 0, 4096), SUBNET_NO_PORT);
    char text[80];
    assert_string_equal(subnet_port_name(subnet, 254, text, sizeof text), "large, port 254");
    subnet_close(subnet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_power_on_links_are_up_and_tables_empty),
        cmocka_unit_test(after_power_on_all_lanes_have_equal_shares),
        cmocka_unit_test(configs_that_no_hardware_has_are_refused),
        cmocka_unit_test(an_address_has_one_owner),
        cmocka_unit_test(every_change_raises_the_version_and_nothing_else_does),
        cmocka_unit_test(a_port_without_a_link_stays_down),
        cmocka_unit_test(a_cable_that_dies_takes_its_ports_registers_along),
        cmocka_unit_test(a_switch_that_dies_comes_back_empty),
        cmocka_unit_test(a_cable_between_the_dead_comes_back_with_the_last),
        cmocka_unit_test(ways_follow_the_tables),
        cmocka_unit_test(where_there_is_no_way_the_place_is_named),
        cmocka_unit_test(a_large_switch_has_all_its_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
