/* A sweep: discovers the subnet, gives addresses, writes tables, and brings ports up. */
#include "sim/subnet/manager.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/manager_state.h"

enum {
    TABLE_FIRST = 64,
    ARBITRATION_WEIGHT = 32,       /* a turn of a lane: a packet of 2,048 bytes */
    SL_TO_VL_EVERYWHERE = 3 << 16, /* the modifier: from all inputs to all outputs */
    ARBITRATION_LOW = 1 << 16,     /* the modifier of the tables' first blocks */
    ARBITRATION_HIGH = 3 << 16,
    SL_COUNT = WIRE_IB_SL_COUNT,
};

const char *const manager_routing_names[MANAGER_ROUTINGS] = {"up-down", "min-hop"};

static void *grow(void *table, uint32_t count, size_t bytes)
{
    table = realloc(table, (count ? count : 1) * bytes);
    INVARIANT(table);
    return table;
}

/* ---- Tables of GUIDs ---------------------------------------------------------------------- */

static uint32_t table_place(const struct manager_table *table, uint64_t key)
{
    uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->room - 1);
    while (table->keys[at] && table->keys[at] != key) {
        at = (at + 1) & (table->room - 1);
    }
    return at;
}

uint32_t manager_table_get(const struct manager_table *table, uint64_t key)
{
    if (table->room == 0 || key == 0) {
        return MANAGER_NONE;
    }
    uint32_t at = table_place(table, key);
    return table->keys[at] ? table->values[at] : MANAGER_NONE;
}

void manager_table_put(struct manager_table *table, uint64_t key, uint32_t value)
{
    INVARIANT(key);
    if (2 * (table->count + 1) > table->room) {
        struct manager_table wider = {.room = table->room ? 2 * table->room : TABLE_FIRST};
        wider.keys = calloc(wider.room, sizeof *wider.keys);
        wider.values = calloc(wider.room, sizeof *wider.values);
        INVARIANT(wider.keys && wider.values);
        for (uint32_t i = 0; i < table->room; i++) {
            if (table->keys[i]) {
                manager_table_put(&wider, table->keys[i], table->values[i]);
            }
        }
        manager_table_free(table);
        *table = wider;
    }
    uint32_t at = table_place(table, key);
    table->count += table->keys[at] == 0;
    table->keys[at] = key;
    table->values[at] = value;
}

void manager_table_free(struct manager_table *table)
{
    free(table->keys);
    free(table->values);
    *table = (struct manager_table){0};
}

/* ---- Datagrams ---------------------------------------------------------------------------- */

static bool ask(struct manager *manager, uint8_t method, const uint8_t *path, uint8_t hop_count,
                uint16_t attribute, uint32_t modifier, unsigned char data[WIRE_MAD_DATA_BYTES])
{
    unsigned char mad[WIRE_MAD_BYTES] = {0};
    uint32_t at;
    struct wire_mad header = {
        .base_version = WIRE_MAD_BASE_VERSION,
        .class = WIRE_MAD_SUBNET_DIRECTED,
        .class_version = WIRE_MAD_CLASS_VERSION,
        .method = method,
        .hop_count = hop_count,
        .tid = ++manager->tid,
        .attribute = attribute,
        .modifier = modifier,
    };
    wire_mad_encode(&header, mad);
    wire_smp_encode(
        &(struct wire_smp){.dr_slid = SUBNET_PERMISSIVE_LID, .dr_dlid = SUBNET_PERMISSIVE_LID},
        mad);
    memcpy(mad + WIRE_MAD_AT_DATA, data, WIRE_MAD_DATA_BYTES);
    memcpy(mad + WIRE_MAD_AT_PATH, path, (size_t)hop_count + 1);
    manager->result->datagrams++;
    manager->result->sets += method == WIRE_MAD_SET;
    if (agent_send(manager->agent, manager->port, SUBNET_PERMISSIVE_LID, mad, &at) !=
        AGENT_ANSWERED) {
        return false;
    }
    wire_mad_decode(mad, &header);
    memcpy(data, mad + WIRE_MAD_AT_DATA, WIRE_MAD_DATA_BYTES);
    return header.status == WIRE_MAD_GOOD && header.tid == manager->tid;
}

bool manager_get(struct manager *manager, const struct manager_node *node, uint16_t attribute,
                 uint32_t modifier, unsigned char data[WIRE_MAD_DATA_BYTES])
{
    memset(data, 0, WIRE_MAD_DATA_BYTES);
    bool is_good = ask(manager, WIRE_MAD_GET, node->path, node->hop_count, attribute, modifier,
                       data);
    manager->result->unanswered += !is_good;
    return is_good;
}

bool manager_set(struct manager *manager, const struct manager_node *node, uint16_t attribute,
                 uint32_t modifier, unsigned char data[WIRE_MAD_DATA_BYTES])
{
    bool is_good = ask(manager, WIRE_MAD_SET, node->path, node->hop_count, attribute, modifier,
                       data);
    manager->result->unanswered += !is_good;
    return is_good;
}

/* ---- Discovery ---------------------------------------------------------------------------- */

static void forget_sweep(struct manager *manager)
{
    for (uint32_t i = 0; i < manager->node_count; i++) {
        free(manager->nodes[i].linear);
    }
    for (uint32_t i = 0; i < manager->group_count; i++) {
        free(manager->groups[i].masks);
        manager->groups[i].masks = NULL;
    }
    free(manager->switches);
    manager->switches = NULL;
    manager->node_count = manager->port_count = manager->switch_count = 0;
    manager_table_free(&manager->by_guid);
}

/* Adds a node with what it says of itself and its ports. */
static void add_node(struct manager *manager, const struct wire_ib_node_info *info,
                     const uint8_t *path, uint8_t hop_count)
{
    if (manager->node_count == manager->node_room) {
        manager->node_room = manager->node_room ? 2 * manager->node_room : TABLE_FIRST;
        manager->nodes = grow(manager->nodes, manager->node_room, sizeof *manager->nodes);
    }
    while (manager->port_count + info->port_count + 1u > manager->port_room) {
        manager->port_room = manager->port_room ? 2 * manager->port_room : 4 * TABLE_FIRST;
        manager->ports = grow(manager->ports, manager->port_room, sizeof *manager->ports);
    }
    uint32_t number = manager->node_count++;
    struct manager_node *node = &manager->nodes[number];
    *node = (struct manager_node){
        .guid = info->node_guid,
        .is_switch = info->node_type == WIRE_IB_SWITCH,
        .port_count = info->port_count,
        .local_port = info->local_port,
        .hop_count = hop_count,
        .port_first = manager->port_count,
    };
    memcpy(node->path, path, (size_t)hop_count + 1);
    manager_table_put(&manager->by_guid, node->guid, number);
    manager->port_count += info->port_count + 1u;
    unsigned char data[WIRE_MAD_DATA_BYTES];
    for (uint32_t i = 0; i <= node->port_count; i++) {
        struct manager_port *port = &manager->ports[node->port_first + i];
        *port = (struct manager_port){.peer = MANAGER_NONE, .node = number};
        if ((i > 0 || node->is_switch) && manager_get(manager, node, WIRE_MAD_PORT_INFO, i, data)) {
            wire_ib_port_info_decode(data, &port->info);
        }
    }
    if (node->is_switch && manager_get(manager, node, WIRE_MAD_SWITCH_INFO, 0, data)) {
        wire_ib_switch_info_decode(data, &node->info);
    }
    manager->result->switches += node->is_switch;
    manager->result->boards += !node->is_switch;
}

/* Asks who is at the other end of a port, and notes the link. */
static void look_behind(struct manager *manager, uint32_t number, uint32_t out)
{
    const struct manager_node *node = &manager->nodes[number];
    uint32_t own = node->port_first + out;
    struct wire_ib_node_info info;
    unsigned char data[WIRE_MAD_DATA_BYTES] = {0};
    uint8_t path[WIRE_MAD_HOPS_MAX + 1];
    if (node->hop_count == WIRE_MAD_HOPS_MAX) {
        manager->result->too_far++;
        return;
    }
    uint8_t hop_count = (uint8_t)(node->hop_count + 1);
    memcpy(path, node->path, hop_count);
    path[hop_count] = (uint8_t)out;
    if (!ask(manager, WIRE_MAD_GET, path, hop_count, WIRE_MAD_NODE_INFO, 0, data)) {
        return; /* it died since its port was read */
    }
    wire_ib_node_info_decode(data, &info);
    if (info.node_guid == 0 || info.local_port > info.port_count) {
        return;
    }
    uint32_t peer = manager_table_get(&manager->by_guid, info.node_guid);
    if (peer == MANAGER_NONE) {
        peer = manager->node_count;
        add_node(manager, &info, path, hop_count);
    }
    uint32_t other = manager->nodes[peer].port_first + info.local_port;
    manager->ports[own].peer = other;
    manager->ports[other].peer = own;
}

/* Nodes are found in the order of their distance, so paths are as short as can be. */
static bool discover(struct manager *manager, char error[TOPOLOGY_ERROR_BYTES])
{
    const uint8_t here[1] = {0};
    unsigned char data[WIRE_MAD_DATA_BYTES] = {0};
    struct wire_ib_node_info info;
    forget_sweep(manager);
    if (!ask(manager, WIRE_MAD_GET, here, 0, WIRE_MAD_NODE_INFO, 0, data)) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES, "the manager's own node does not answer");
        return false;
    }
    wire_ib_node_info_decode(data, &info);
    add_node(manager, &info, here, 0);
    for (uint32_t i = 0; i < manager->node_count; i++) {
        /* A board sends nothing on that is not its own. */
        bool goes_on = manager->nodes[i].is_switch || i == 0;
        for (uint32_t out = 1; goes_on && out <= manager->nodes[i].port_count; out++) {
            const struct manager_port *port = &manager->ports[manager->nodes[i].port_first + out];
            bool is_up = port->info.state >= WIRE_IB_STATE_INIT;
            manager->result->ports += is_up;
            if (is_up && port->peer == MANAGER_NONE) {
                look_behind(manager, i, out);
            }
        }
    }
    manager->switches = grow(NULL, manager->node_count, sizeof *manager->switches);
    for (uint32_t i = 0; i < manager->node_count; i++) {
        if (manager->nodes[i].is_switch) {
            manager->nodes[i].number = manager->switch_count;
            manager->switches[manager->switch_count++] = i;
        }
    }
    return true;
}

/* ---- Addresses ---------------------------------------------------------------------------- */

/* Ports that have an address: of a board those with a link, and the manager's own. */
static bool is_end_port(const struct manager *manager, const struct manager_node *node, uint32_t i)
{
    const struct manager_port *port = &manager->ports[node->port_first + i];
    if (node->is_switch) {
        return i == 0;
    }
    return i > 0 &&
           (port->peer != MANAGER_NONE || (node == manager->nodes && i == node->local_port));
}

static uint64_t port_guid(const struct manager_node *node, uint32_t i)
{
    return node->is_switch ? node->guid : node->guid + i;
}

/* The address that a port had in sweeps before, or has now, if that is nobody else's. */
static uint32_t lid_had(const struct manager *manager, uint64_t guid,
                        const struct manager_port *port, const bool *is_taken, uint32_t limit)
{
    uint32_t before = manager_table_get(&manager->lids, guid);
    if (before != MANAGER_NONE && before < limit && !is_taken[before]) {
        return before;
    }
    uint32_t now = port->info.lid;
    return now > 0 && now < limit && !is_taken[now] && port->info.lmc == 0 ? now : 0;
}

static bool give_addresses(struct manager *manager, char error[TOPOLOGY_ERROR_BYTES])
{
    uint32_t limit = SUBNET_LIDS;
    for (uint32_t i = 0; i < manager->switch_count; i++) {
        uint16_t room = manager->nodes[manager->switches[i]].info.linear_cap;
        limit = room < limit ? room : limit;
    }
    bool *is_taken = calloc(SUBNET_LIDS, sizeof *is_taken);
    INVARIANT(is_taken);
    is_taken[0] = true;
    /* Those who had one keep it, also if they are away now; then the new ones. */
    for (uint32_t i = 0; i < manager->lids.room; i++) {
        uint64_t guid = manager->lids.keys[i];
        is_taken[guid ? manager->lids.values[i] : 0] = true;
    }
    uint32_t next = 1;
    uint32_t last = 0;
    for (uint32_t n = 0; n < manager->node_count; n++) {
        const struct manager_node *node = &manager->nodes[n];
        for (uint32_t i = 0; i <= node->port_count; i++) {
            struct manager_port *port = &manager->ports[node->port_first + i];
            if (!is_end_port(manager, node, i)) {
                continue;
            }
            uint64_t guid = port_guid(node, i);
            uint32_t lid = manager_table_get(&manager->lids, guid);
            if (lid == MANAGER_NONE) {
                lid = lid_had(manager, guid, port, is_taken, limit);
                while (lid == 0 && next < limit) {
                    lid = is_taken[next] ? 0 : next;
                    next++;
                }
                if (lid == 0) {
                    (void)snprintf(error, TOPOLOGY_ERROR_BYTES,
                                   "the switches' tables have room for %" PRIu32
                                   " addresses, and there are more nodes",
                                   limit - 1);
                    free(is_taken);
                    return false;
                }
                is_taken[lid] = true;
                manager_table_put(&manager->lids, guid, lid);
            }
            port->lid = (uint16_t)lid;
            last = lid > last ? lid : last;
        }
    }
    free(is_taken);
    manager->lid_count = last + 1;
    manager->result->lid_last = (uint16_t)last;
    return true;
}

/* ---- Ports -------------------------------------------------------------------------------- */

static bool port_write(struct manager *manager, struct manager_port *port, uint8_t state)
{
    const struct manager_node *node = &manager->nodes[port->node];
    uint32_t number = (uint32_t)(port - &manager->ports[node->port_first]);
    unsigned char data[WIRE_MAD_DATA_BYTES];
    struct wire_ib_port_info info = port->info;
    info.state = state;
    info.physical_state = WIRE_IB_PHYSICAL_NOP;
    wire_ib_port_info_encode(&info, data);
    if (!manager_set(manager, node, WIRE_MAD_PORT_INFO, number, data)) {
        return false;
    }
    wire_ib_port_info_decode(data, &port->info);
    return true;
}

/* Address, the manager's address, and what both ends of the link can do. */
static void configure_port(struct manager *manager, struct manager_port *port, uint16_t sm_lid)
{
    struct wire_ib_port_info *info = &port->info;
    bool is_due = false;
    if (port->lid && (info->lid != port->lid || info->lmc != 0 || info->sm_lid != sm_lid)) {
        info->lid = port->lid;
        info->lmc = 0;
        info->sm_lid = sm_lid;
        is_due = true;
    }
    if (port->peer != MANAGER_NONE) {
        const struct wire_ib_port_info *peer = &manager->ports[port->peer].info;
        uint8_t mtu = info->mtu_cap < peer->mtu_cap ? info->mtu_cap : peer->mtu_cap;
        uint8_t vls = info->vl_cap < peer->vl_cap ? info->vl_cap : peer->vl_cap;
        is_due = is_due || info->neighbor_mtu != mtu || info->operational_vls != vls;
        info->neighbor_mtu = mtu;
        info->operational_vls = vls;
    }
    if (is_due) {
        (void)port_write(manager, port, WIRE_IB_STATE_NOP);
    }
}

/* Lanes of a port that has just come up: all have the same share. */
static void write_arbitration(struct manager *manager, const struct manager_port *port)
{
    const struct manager_node *node = &manager->nodes[port->node];
    uint32_t number = node->is_switch ? (uint32_t)(port - &manager->ports[node->port_first]) : 0;
    uint32_t vls = wire_ib_vls(port->info.operational_vls);
    struct wire_ib_arbitration_row rows[WIRE_IB_ARBITRATION_BLOCK] = {0};
    unsigned char data[WIRE_MAD_DATA_BYTES];
    wire_ib_arbitration_encode(rows, data);
    (void)manager_set(manager, node, WIRE_MAD_VL_ARBITRATION, ARBITRATION_HIGH | number, data);
    for (uint32_t vl = 0; vl < vls; vl++) {
        rows[vl] = (struct wire_ib_arbitration_row){(uint8_t)vl, ARBITRATION_WEIGHT};
    }
    wire_ib_arbitration_encode(rows, data);
    (void)manager_set(manager, node, WIRE_MAD_VL_ARBITRATION, ARBITRATION_LOW | number, data);
}

static void write_lanes(struct manager *manager)
{
    for (uint32_t n = 0; n < manager->node_count; n++) {
        const struct manager_node *node = &manager->nodes[n];
        uint32_t vls = 0;
        for (uint32_t i = 1; i <= node->port_count; i++) {
            const struct manager_port *port = &manager->ports[node->port_first + i];
            bool is_new = port->info.state == WIRE_IB_STATE_INIT && port->peer != MANAGER_NONE;
            /* A board's tables can be written by way of the port that they are of. */
            if (is_new && (node->is_switch || i == node->local_port)) {
                uint32_t here = wire_ib_vls(port->info.operational_vls);
                write_arbitration(manager, port);
                vls = vls == 0 || here < vls ? here : vls;
            }
        }
        if (vls > 0) {
            uint8_t by_sl[SL_COUNT];
            unsigned char data[WIRE_MAD_DATA_BYTES];
            for (uint32_t sl = 0; sl < SL_COUNT; sl++) {
                by_sl[sl] = (uint8_t)(sl % vls);
            }
            wire_ib_sl_to_vl_encode(by_sl, data);
            (void)manager_set(manager, node, WIRE_MAD_SL_TO_VL,
                              node->is_switch ? SL_TO_VL_EVERYWHERE : 0, data);
        }
    }
}

/* All ports are ARMED before one is ACTIVE: what an ACTIVE port sends finds its way at once. */
static void bring_up(struct manager *manager, uint8_t from, uint8_t to)
{
    for (uint32_t i = 0; i < manager->port_count; i++) {
        struct manager_port *port = &manager->ports[i];
        if (port->peer != MANAGER_NONE && port->info.state == from) {
            (void)port_write(manager, port, to);
        }
    }
}

/* ---- Tables ------------------------------------------------------------------------------- */

static void write_linear(struct manager *manager, struct manager_node *node)
{
    /* A table that nobody has written since power on is empty; else it is read first. */
    bool is_fresh = node->info.linear_top == 0;
    unsigned char data[WIRE_MAD_DATA_BYTES];
    for (uint32_t block = 0; block * WIRE_IB_LINEAR_BLOCK < manager->lid_count; block++) {
        const unsigned char *wanted = node->linear + (size_t)block * WIRE_IB_LINEAR_BLOCK;
        if (!is_fresh && manager_get(manager, node, WIRE_MAD_LINEAR_TABLE, block, data) &&
            memcmp(data, wanted, sizeof data) == 0) {
            continue;
        }
        memcpy(data, wanted, sizeof data);
        (void)manager_set(manager, node, WIRE_MAD_LINEAR_TABLE, block, data);
    }
    if (node->info.linear_top != manager->lid_count - 1 || node->info.port_state_change) {
        node->info.linear_top = (uint16_t)(manager->lid_count - 1);
        wire_ib_switch_info_encode(&node->info, data);
        (void)manager_set(manager, node, WIRE_MAD_SWITCH_INFO, 0, data);
    }
}

/* ---- The manager -------------------------------------------------------------------------- */

struct manager *manager_open(struct agent *agent, uint32_t port,
                             const struct manager_config *config)
{
    struct manager *manager = calloc(1, sizeof *manager);
    struct wire_ib_node_info info;
    INVARIANT(manager && config->routing < MANAGER_ROUTINGS);
    manager->agent = agent;
    manager->port = port;
    manager->config = *config;
    agent_node_info(agent, port, &info);
    manager->sm_info = (struct wire_ib_sm_info){
        .guid = info.port_guid,
        .state = WIRE_IB_SM_MASTER,
    };
    agent_sm_set(agent, port, true, &manager->sm_info);
    return manager;
}

void manager_close(struct manager *manager)
{
    if (!manager) {
        return;
    }
    agent_sm_set(manager->agent, manager->port, false, NULL);
    forget_sweep(manager);
    manager_table_free(&manager->lids);
    for (uint32_t i = 0; i < manager->group_count; i++) {
        free(manager->groups[i].guids);
    }
    free(manager->nodes);
    free(manager->ports);
    free(manager);
}

bool manager_sweep(struct manager *manager, struct manager_result *result,
                   char error[TOPOLOGY_ERROR_BYTES])
{
    *result = (struct manager_result){0};
    manager->result = result;
    if (!discover(manager, error) || !give_addresses(manager, error)) {
        return false;
    }
    manager->sm_info.act_count++;
    agent_sm_set(manager->agent, manager->port, true, &manager->sm_info);
    const struct manager_node *own = &manager->nodes[0];
    uint16_t sm_lid = manager->ports[own->port_first + (own->is_switch ? 0 : own->local_port)].lid;
    for (uint32_t i = 0; i < manager->port_count; i++) {
        configure_port(manager, &manager->ports[i], sm_lid);
    }
    manager_route(manager);
    for (uint32_t i = 0; i < manager->switch_count; i++) {
        write_linear(manager, &manager->nodes[manager->switches[i]]);
    }
    manager_write_groups(manager);
    write_lanes(manager);
    bring_up(manager, WIRE_IB_STATE_INIT, WIRE_IB_STATE_ARMED);
    bring_up(manager, WIRE_IB_STATE_ARMED, WIRE_IB_STATE_ACTIVE);
    manager->result = NULL;
    if (result->unanswered > 0) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES,
                       "%" PRIu64 " of the manager's datagrams were not answered well",
                       result->unanswered);
        return false;
    }
    return true;
}
