/* The devices' agents: datagrams get where their path or the tables lead, registers take what makes
 * sense and refuse the rest, and switches tell of links that change. */
#include "sim/subnet/agent.h"
#include "unit/unit.h"
#include "wire/ib_performance.h"

/* left --1 first 2-- 2 second 1-- right */
enum { LEFT, RIGHT, FIRST, SECOND, NODES };

static struct subnet *subnet;
static struct agent *agent;
static unsigned char mad[WIRE_MAD_BYTES];
static uint32_t at;

static uint32_t port(uint32_t node, uint32_t number)
{
    return subnet_port_index(subnet, node, number);
}

static int set_up(void **state)
{
    (void)state;
    struct topology topology = {0};
    struct subnet_config config;
    (void)topology_add(&topology, TOPOLOGY_BOARD, 1, 4, 0x100, "left");
    (void)topology_add(&topology, TOPOLOGY_BOARD, 1, 4, 0x200, "right");
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 4, 4, 0x300, "first");
    (void)topology_add(&topology, TOPOLOGY_SWITCH, 4, 4, 0x400, "second");
    topology_join(&topology, LEFT, 1, FIRST, 1);
    topology_join(&topology, RIGHT, 1, SECOND, 1);
    topology_join(&topology, FIRST, 2, SECOND, 2);
    subnet_config_default(&config);
    subnet = subnet_open(&topology, &config);
    agent = agent_open(subnet);
    topology_free(&topology);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    agent_close(agent);
    subnet_close(subnet);
    return 0;
}

/* Sends a directed SMP from the left board along a path, with the data that `mad` holds. */
static enum agent_result direct(uint8_t method, uint16_t attribute, uint32_t modifier,
                                const char *path)
{
    struct wire_mad header = {
        .base_version = 1,
        .class = WIRE_MAD_SUBNET_DIRECTED,
        .class_version = 1,
        .method = method,
        .hop_count = (uint8_t)strlen(path),
        .tid = 77,
        .attribute = attribute,
        .modifier = modifier,
    };
    wire_mad_encode(&header, mad);
    wire_smp_encode(&(struct wire_smp){.dr_slid = 0xffff, .dr_dlid = 0xffff}, mad);
    for (uint32_t i = 0; path[i]; i++) {
        mad[WIRE_MAD_AT_PATH + 1 + i] = (unsigned char)(path[i] - '0');
    }
    return agent_send(agent, port(LEFT, 1), 0xffff, mad, &at);
}

static enum agent_result by_lid(uint8_t class, uint8_t method, uint16_t attribute, uint16_t lid)
{
    struct wire_mad header = {.base_version = 1,
                              .class = class,
                              .class_version = 1,
                              .method = method,
                              .tid = 78,
                              .attribute = attribute};
    wire_mad_encode(&header, mad);
    wire_smp_encode(&(struct wire_smp){0}, mad);
    return agent_send(agent, port(LEFT, 1), lid, mad, &at);
}

static uint16_t status(void)
{
    struct wire_mad header;
    wire_mad_decode(mad, &header);
    return header.status;
}

static struct wire_ib_port_info port_info(const char *path, uint32_t number)
{
    struct wire_ib_port_info info;
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_PORT_INFO, number, path), AGENT_ANSWERED);
    assert_int_equal(status(), 0);
    wire_ib_port_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    info.state = 0;
    info.physical_state = 0;
    return info;
}

static uint16_t port_info_set(const char *path, uint32_t number,
                              const struct wire_ib_port_info *info)
{
    wire_ib_port_info_encode(info, mad + WIRE_MAD_AT_DATA);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_PORT_INFO, number, path), AGENT_ANSWERED);
    return status();
}

/* LIDs 1 (left), 2 (right), 3 (first), 4 (second); tables; all ports ACTIVE. */
static void configure(void)
{
    assert_true(subnet_lid_set(subnet, port(LEFT, 1), 1, 0));
    assert_true(subnet_lid_set(subnet, port(RIGHT, 1), 2, 0));
    assert_true(subnet_lid_set(subnet, port(FIRST, 0), 3, 0));
    assert_true(subnet_lid_set(subnet, port(SECOND, 0), 4, 0));
    static const uint8_t first[5] = {255, 1, 2, 0, 2};
    static const uint8_t second[5] = {255, 2, 1, 2, 0};
    for (uint16_t lid = 1; lid <= 4; lid++) {
        subnet_linear_set(subnet, FIRST, lid, first[lid]);
        subnet_linear_set(subnet, SECOND, lid, second[lid]);
    }
    subnet_linear_top_set(subnet, FIRST, 4);
    subnet_linear_top_set(subnet, SECOND, 4);
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        subnet_state_set(subnet, i, SUBNET_ACTIVE);
        subnet->ports[i].sm_lid = 1;
    }
}

static void paths_lead_to_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        uint64_t guid;
        uint8_t local_port;
    } rows[] = {
        {"", 0x100, 1}, {"1", 0x300, 1}, {"12", 0x400, 2}, {"121", 0x200, 1}, {"11", 0x100, 1}};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct wire_ib_node_info info;
        struct wire_mad header;
        assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 0, rows[i].path), AGENT_ANSWERED);
        wire_mad_decode(mad, &header);
        assert_true(header.is_return && header.method == WIRE_MAD_GET_RESPONSE && header.tid == 77);
        wire_ib_node_info_decode(mad + WIRE_MAD_AT_DATA, &info);
        assert_true(info.node_guid == rows[i].guid);
        assert_int_equal(info.local_port, rows[i].local_port);
    }
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 0, "121"), AGENT_ANSWERED);
    static const unsigned char back[4] = {0, 1, 2, 1};
    assert_memory_equal(mad + WIRE_MAD_AT_RETURN_PATH, back, sizeof back);
}

static void broken_paths_lead_nowhere(void **state)
{
    (void)state;
    static const char *const paths[] = {"2", "0", "13", "10", "19", "1211"};
    for (uint32_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 0, paths[i]), AGENT_LOST);
    }
    subnet_cable_set(subnet, port(FIRST, 2), false);
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 0, "12"), AGENT_LOST);
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 0, "1"), AGENT_ANSWERED);
}

static void addresses_lead_by_the_tables(void **state)
{
    (void)state;
    assert_int_equal(by_lid(WIRE_MAD_SUBNET, WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 2), AGENT_LOST);
    configure();
    struct wire_ib_node_info info;
    for (uint16_t lid = 1; lid <= 4; lid++) {
        static const uint64_t guids[] = {0, 0x100, 0x200, 0x300, 0x400};
        assert_int_equal(by_lid(WIRE_MAD_SUBNET, WIRE_MAD_GET, WIRE_MAD_NODE_INFO, lid),
                         AGENT_ANSWERED);
        wire_ib_node_info_decode(mad + WIRE_MAD_AT_DATA, &info);
        assert_true(info.node_guid == guids[lid]);
    }
    /* The way back is by the tables, too. */
    subnet_linear_set(subnet, SECOND, 1, SUBNET_NO_PORT);
    assert_int_equal(by_lid(WIRE_MAD_SUBNET, WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 2), AGENT_LOST);
    assert_int_equal(by_lid(WIRE_MAD_SUBNET, WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 3), AGENT_ANSWERED);
}

static void a_path_may_begin_at_an_address(void **state)
{
    (void)state;
    configure();
    struct wire_mad header = {.base_version = 1,
                              .class = WIRE_MAD_SUBNET_DIRECTED,
                              .class_version = 1,
                              .method = WIRE_MAD_GET,
                              .hop_count = 1,
                              .attribute = WIRE_MAD_NODE_INFO};
    struct wire_ib_node_info info;
    wire_mad_encode(&header, mad);
    wire_smp_encode(&(struct wire_smp){.dr_slid = 1, .dr_dlid = 0xffff}, mad);
    mad[WIRE_MAD_AT_PATH + 1] = 1;
    assert_int_equal(agent_send(agent, port(LEFT, 1), 4, mad, &at), AGENT_ANSWERED);
    wire_ib_node_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_true(info.node_guid == 0x200);
    /* A board sends nothing on. */
    wire_mad_encode(&header, mad);
    assert_int_equal(agent_send(agent, port(LEFT, 1), 2, mad, &at), AGENT_LOST);
}

static void only_active_ports_carry_other_packets(void **state)
{
    (void)state;
    configure();
    assert_int_equal(by_lid(WIRE_MAD_PERFORMANCE, WIRE_MAD_GET, WIRE_MAD_CLASS_PORT_INFO, 2),
                     AGENT_ANSWERED);
    struct wire_ib_class_port_info info;
    wire_ib_class_port_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_int_equal(info.capability_mask, 0x1300);
    subnet_state_set(subnet, port(SECOND, 2), SUBNET_ARMED);
    assert_int_equal(by_lid(WIRE_MAD_PERFORMANCE, WIRE_MAD_GET, WIRE_MAD_CLASS_PORT_INFO, 2),
                     AGENT_LOST);
    assert_int_equal(by_lid(WIRE_MAD_SUBNET, WIRE_MAD_GET, WIRE_MAD_NODE_INFO, 2), AGENT_ANSWERED);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t method;
        uint16_t attribute;
        uint32_t modifier;
        const char *path;
        uint16_t status;
    } rows[] = {
        {0x11, WIRE_MAD_NODE_INFO, 0, "1", WIRE_MAD_BAD_METHOD},
        {WIRE_MAD_SET, WIRE_MAD_NODE_INFO, 0, "1", WIRE_MAD_BAD_ATTRIBUTE},
        {WIRE_MAD_GET, 0x7777, 0, "1", WIRE_MAD_BAD_ATTRIBUTE},
        {WIRE_MAD_GET, WIRE_MAD_SWITCH_INFO, 0, "", WIRE_MAD_BAD_ATTRIBUTE},
        {WIRE_MAD_GET, WIRE_MAD_LINEAR_TABLE, 0, "", WIRE_MAD_BAD_ATTRIBUTE},
        {WIRE_MAD_GET, WIRE_MAD_MULTICAST_TABLE, 0, "", WIRE_MAD_BAD_ATTRIBUTE},
        {WIRE_MAD_GET, WIRE_MAD_PORT_INFO, 5, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_PORT_INFO, 2, "", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_LINEAR_TABLE, 64, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_LINEAR_TABLE, UINT32_MAX, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_MULTICAST_TABLE, 4, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_MULTICAST_TABLE, 0x10000000, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_SL_TO_VL, 0x0505, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_VL_ARBITRATION, 1, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_VL_ARBITRATION, 5 << 16, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_PKEY_TABLE, 1, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_SET, WIRE_MAD_PKEY_TABLE, 1 << 16, "1", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_GUID_INFO, 1, "", WIRE_MAD_BAD_FIELD},
        {WIRE_MAD_GET, WIRE_MAD_SM_INFO, 0, "", WIRE_MAD_BAD_ATTRIBUTE},
    };
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(mad, 0, sizeof mad);
        assert_int_equal(direct(rows[i].method, rows[i].attribute, rows[i].modifier, rows[i].path),
                         AGENT_ANSWERED);
        assert_int_equal(status(), rows[i].status);
    }
    mad[0] = 2;
    memset(mad, 0, sizeof mad);
    struct wire_mad header = {.base_version = 2, .class = WIRE_MAD_SUBNET, .method = WIRE_MAD_GET};
    wire_mad_encode(&header, mad);
    assert_int_equal(agent_send(agent, port(LEFT, 1), 0xffff, mad, &at), AGENT_ANSWERED);
    assert_int_equal(status(), WIRE_MAD_BAD_VERSION);
}

static void ports_climb_one_step_at_a_time(void **state)
{
    (void)state;
    struct wire_ib_port_info info = port_info("1", 2);
    info.state = WIRE_IB_STATE_ACTIVE;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    info.state = WIRE_IB_STATE_INIT;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    info.state = WIRE_IB_STATE_ARMED;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(subnet->ports[port(FIRST, 2)].state, SUBNET_ARMED);
    info.state = WIRE_IB_STATE_ACTIVE;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(subnet->ports[port(FIRST, 2)].state, SUBNET_ACTIVE);
    info.state = WIRE_IB_STATE_ARMED;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    /* A port without a link stays down. */
    info = port_info("1", 3);
    info.state = WIRE_IB_STATE_ARMED;
    assert_int_equal(port_info_set("1", 3, &info), WIRE_MAD_BAD_FIELD);
}

static void fields_beyond_the_hardware_are_refused(void **state)
{
    (void)state;
    struct wire_ib_port_info sound = port_info("1", 2);
    struct wire_ib_port_info info = sound;
    info.neighbor_mtu = 5;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    info = sound;
    info.operational_vls = 4;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    info = sound;
    info.width_enabled = 8;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    info = sound;
    info.physical_state = 1;
    assert_int_equal(port_info_set("1", 2, &info), WIRE_MAD_BAD_FIELD);
    info = sound;
    info.width_enabled = 255;
    info.speed_enabled = 15;
    info.operational_vls = 1;
    info.neighbor_mtu = 1;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(subnet->ports[port(FIRST, 2)].oper_vls, 1);
    assert_int_equal(subnet->ports[port(FIRST, 2)].mtu, 256);
    assert_int_equal(port_info("1", 2).width_enabled, 3);
}

static void addresses_are_taken(void **state)
{
    (void)state;
    struct wire_ib_port_info info = port_info("", 0);
    info.lid = 0xc000;
    assert_int_equal(port_info_set("", 0, &info), WIRE_MAD_BAD_FIELD);
    info.lid = 5;
    info.sm_lid = 9;
    assert_int_equal(port_info_set("", 0, &info), 0);
    assert_int_equal(subnet->lid_owner[5], port(LEFT, 1));
    assert_int_equal(subnet->ports[port(LEFT, 1)].sm_lid, 9);
    info.lid = 0;
    assert_int_equal(port_info_set("", 0, &info), WIRE_MAD_BAD_FIELD);
    /* The one that had an address before loses it. */
    info = port_info("1", 0);
    info.lid = 5;
    assert_int_equal(port_info_set("1", 0, &info), 0);
    assert_int_equal(subnet->lid_owner[5], port(FIRST, 0));
    assert_int_equal(subnet->ports[port(LEFT, 1)].lid, 0);
    /* A switch's outer ports have none. */
    info = port_info("1", 2);
    info.lid = 6;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(port_info("1", 2).lid, 0);
}

static void a_key_keeps_others_out(void **state)
{
    (void)state;
    struct wire_ib_port_info info = port_info("1", 0);
    info.mkey = 42;
    info.mkey_protect = 1;
    assert_int_equal(port_info_set("1", 0, &info), 0);
    wire_ib_port_info_encode(&info, mad + WIRE_MAD_AT_DATA);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_PORT_INFO, 0, "1"), AGENT_LOST);
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_PORT_INFO, 0, "1"), AGENT_ANSWERED);
    wire_ib_port_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_true(info.mkey == 0 && info.mkey_protect == 1 && info.mkey_violations == 1);
    struct agent_counters counters;
    agent_counters(agent, &counters);
    assert_int_equal(counters.mkey_violations, 1);
}

static void tables_are_read_and_written(void **state)
{
    (void)state;
    unsigned char *data = mad + WIRE_MAD_AT_DATA;
    for (uint32_t i = 0; i < 64; i++) {
        data[i] = (unsigned char)(i % 6);
    }
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_LINEAR_TABLE, 1, "1"), AGENT_ANSWERED);
    assert_int_equal(subnet->nodes[FIRST].linear[64 + 4], 4);
    assert_int_equal(data[5], SUBNET_NO_PORT); /* it has four ports */
    uint16_t masks[32] = {[3] = 0x1f, [4] = 0xffff};
    wire_ib_words_encode(masks, data);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_MULTICAST_TABLE, 1, "1"), AGENT_ANSWERED);
    assert_int_equal(subnet->nodes[FIRST].multicast[(32 + 3) * SUBNET_MASK_WORDS], 0x1f);
    assert_int_equal(subnet->nodes[FIRST].multicast[(32 + 4) * SUBNET_MASK_WORDS], 0x1f);
    uint8_t vls[16] = {[7] = 2, [15] = 15};
    wire_ib_sl_to_vl_encode(vls, data);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_SL_TO_VL, 3 << 16, "1"), AGENT_ANSWERED);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[FIRST], 4, 3, 7), 2);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[FIRST], 0, 0, 15), 15);
    vls[7] = 1;
    wire_ib_sl_to_vl_encode(vls, data);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_SL_TO_VL, 0x0203, "1"), AGENT_ANSWERED);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[FIRST], 2, 3, 7), 1);
    assert_int_equal(subnet_sl_to_vl(&subnet->nodes[FIRST], 2, 4, 7), 2);
    struct wire_ib_arbitration_row rows[32] = {[31] = {3, 200}};
    wire_ib_arbitration_encode(rows, data);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_VL_ARBITRATION, 4 << 16 | 2, "1"),
                     AGENT_ANSWERED);
    assert_int_equal(subnet->ports[port(FIRST, 2)].high[63].vl, 3);
    assert_int_equal(subnet->ports[port(FIRST, 2)].high[63].weight, 200);
}

static void counters_are_shown_and_cleared(void **state)
{
    (void)state;
    configure();
    struct subnet_counters *left = &subnet->ports[port(LEFT, 1)].counters;
    left->xmit_words = UINT64_C(1) << 40;
    left->symbol_errors = 5;
    struct wire_ib_port_counters counters = {.port = 1};
    wire_ib_port_counters_encode(&counters, mad + WIRE_MAD_AT_DATA);
    assert_int_equal(by_lid(WIRE_MAD_PERFORMANCE, WIRE_MAD_GET, WIRE_MAD_PORT_COUNTERS, 1),
                     AGENT_ANSWERED);
    wire_ib_port_counters_decode(mad + WIRE_MAD_AT_DATA, &counters);
    assert_true(counters.xmit_words == UINT32_MAX && counters.symbol_errors == 5);
    counters = (struct wire_ib_port_counters){.port = 1, .select = WIRE_IB_COUNT_XMIT_WORDS};
    wire_ib_port_counters_encode(&counters, mad + WIRE_MAD_AT_DATA);
    assert_int_equal(by_lid(WIRE_MAD_PERFORMANCE, WIRE_MAD_SET, WIRE_MAD_PORT_COUNTERS, 1),
                     AGENT_ANSWERED);
    assert_true(left->xmit_words == 0 && left->symbol_errors == 5);
    counters.port = 2;
    wire_ib_port_counters_encode(&counters, mad + WIRE_MAD_AT_DATA);
    assert_int_equal(by_lid(WIRE_MAD_PERFORMANCE, WIRE_MAD_GET, WIRE_MAD_PORT_COUNTERS, 1),
                     AGENT_ANSWERED);
    assert_int_equal(status(), WIRE_MAD_BAD_FIELD);
    subnet->ports[port(FIRST, 1)].counters.rcv_packets = 3;
    subnet->ports[port(FIRST, 2)].counters.rcv_packets = 4;
    subnet->ports[port(FIRST, 2)].counters.multicast_rcv_packets = 1;
    struct wire_ib_port_counters_extended wide = {.port = WIRE_IB_ALL_PORTS};
    wire_ib_port_counters_extended_encode(&wide, mad + WIRE_MAD_AT_DATA);
    assert_int_equal(by_lid(WIRE_MAD_PERFORMANCE, WIRE_MAD_GET, WIRE_MAD_PORT_COUNTERS_EXTENDED, 3),
                     AGENT_ANSWERED);
    wire_ib_port_counters_extended_decode(mad + WIRE_MAD_AT_DATA, &wide);
    assert_true(wide.rcv_packets == 7 && wide.multicast_rcv == 1 && wide.unicast_rcv == 6);
}

static void switches_tell_of_links(void **state)
{
    (void)state;
    configure();
    uint32_t from;
    uint32_t to;
    struct wire_ib_notice notice;
    agent_sm_set(agent, port(LEFT, 1), true, NULL);
    while (agent_trap_next(agent, &from, &to, mad)) {
    }
    subnet_cable_set(subnet, port(RIGHT, 1), false);
    agent_changed(agent);
    assert_true(agent_trap_next(agent, &from, &to, mad));
    assert_int_equal(from, port(SECOND, 0));
    assert_int_equal(to, port(LEFT, 1));
    wire_ib_notice_decode(mad + WIRE_MAD_AT_DATA, &notice);
    assert_int_equal(notice.trap, WIRE_IB_TRAP_LINK_STATE);
    assert_int_equal(notice.lid, 4);
    assert_false(agent_trap_next(agent, &from, &to, mad));
    /* One that cannot get through comes later, and PortStateChange stays. */
    subnet_cable_set(subnet, port(FIRST, 2), false);
    agent_changed(agent);
    assert_true(agent_trap_next(agent, &from, &to, mad));
    assert_int_equal(from, port(FIRST, 0));
    assert_false(agent_trap_next(agent, &from, &to, mad));
    subnet_cable_set(subnet, port(FIRST, 2), true);
    agent_changed(agent);
    uint32_t count = 0;
    while (agent_trap_next(agent, &from, &to, mad)) {
        count++;
    }
    assert_int_equal(count, 2);
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_SWITCH_INFO, 0, "12"), AGENT_ANSWERED);
    struct wire_ib_switch_info info;
    wire_ib_switch_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_int_equal(info.port_state_change, 1);
    assert_int_equal(direct(WIRE_MAD_SET, WIRE_MAD_SWITCH_INFO, 0, "12"), AGENT_ANSWERED);
    wire_ib_switch_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_int_equal(info.port_state_change, 0);
}

static void managers_get_what_is_theirs(void **state)
{
    (void)state;
    configure();
    agent_sm_set(agent, port(RIGHT, 1), true, NULL);
    assert_true(port_info("121", 0).capability_mask & WIRE_IB_CAN_BE_SM);
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_SM_INFO, 0, "121"), AGENT_FOR_PROGRAM);
    assert_int_equal(at, port(RIGHT, 1));
    assert_int_equal(by_lid(WIRE_MAD_SUBNET_ADMINISTRATION, WIRE_MAD_GET, 0x11, 2),
                     AGENT_FOR_PROGRAM);
    assert_int_equal(by_lid(WIRE_MAD_SUBNET_ADMINISTRATION, WIRE_MAD_GET, 0x11, 4), AGENT_LOST);
    uint32_t from;
    uint32_t to;
    assert_true(agent_trap_next(agent, &from, &to, mad) == false);
    agent_sm_set(agent, port(RIGHT, 1), true, &(struct wire_ib_sm_info){.guid = 9, .state = 3});
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_SM_INFO, 0, "121"), AGENT_ANSWERED);
    struct wire_ib_sm_info info;
    wire_ib_sm_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_true(info.guid == 9 && info.state == WIRE_IB_SM_MASTER);
}

static void links_go_down_by_order(void **state)
{
    (void)state;
    struct wire_ib_port_info info = port_info("1", 2);
    info.state = WIRE_IB_STATE_ARMED;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    info.state = WIRE_IB_STATE_DOWN;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(subnet->ports[port(FIRST, 2)].state, SUBNET_INIT);
    info = port_info("1", 2);
    info.physical_state = WIRE_IB_PHYSICAL_DISABLED;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(subnet->ports[port(SECOND, 2)].state, SUBNET_DOWN);
    assert_int_equal(direct(WIRE_MAD_GET, WIRE_MAD_PORT_INFO, 2, "1"), AGENT_ANSWERED);
    wire_ib_port_info_decode(mad + WIRE_MAD_AT_DATA, &info);
    assert_int_equal(info.physical_state, WIRE_IB_PHYSICAL_DISABLED);
    info.state = 0;
    info.physical_state = WIRE_IB_PHYSICAL_POLLING;
    assert_int_equal(port_info_set("1", 2, &info), 0);
    assert_int_equal(subnet->ports[port(SECOND, 2)].state, SUBNET_INIT);
}

static void pings_are_answered(void **state)
{
    (void)state;
    configure();
    memset(mad, 0, sizeof mad);
    mad[WIRE_MAD_AT_OUI + 1] = 0x14;
    mad[WIRE_MAD_AT_OUI + 2] = 0x05;
    assert_int_equal(by_lid(WIRE_MAD_OPENIB_PING, WIRE_MAD_GET, 0, 2), AGENT_ANSWERED);
    assert_int_equal(mad[3], WIRE_MAD_GET_RESPONSE);
    assert_string_equal((const char *)mad + WIRE_MAD_AT_VENDOR_DATA, "right");
    mad[3] = WIRE_MAD_GET;
    mad[WIRE_MAD_AT_OUI + 2] = 6;
    assert_int_equal(by_lid(WIRE_MAD_OPENIB_PING, WIRE_MAD_GET, 0, 2), AGENT_LOST);
    assert_int_equal(by_lid(0x07, WIRE_MAD_GET, 0, 2), AGENT_LOST);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(paths_lead_to_nodes),
        TEST(broken_paths_lead_nowhere),
        TEST(addresses_lead_by_the_tables),
        TEST(a_path_may_begin_at_an_address),
        TEST(only_active_ports_carry_other_packets),
        TEST(what_makes_no_sense_is_refused),
        TEST(ports_climb_one_step_at_a_time),
        TEST(fields_beyond_the_hardware_are_refused),
        TEST(addresses_are_taken),
        TEST(a_key_keeps_others_out),
        TEST(tables_are_read_and_written),
        TEST(counters_are_shown_and_cleared),
        TEST(switches_tell_of_links),
        TEST(managers_get_what_is_theirs),
        TEST(links_go_down_by_order),
        TEST(pings_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
