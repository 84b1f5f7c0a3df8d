/* Registers of a subnet's devices. Every change that ways depend on raises the version; a port
 * that loses its link, and a node that dies, forget at that moment what a manager set, so that no
 * address is kept from the living by the dead. */
#include "sim/subnet/subnet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void subnet_config_default(struct subnet_config *config)
{
    *config = (struct subnet_config){
        .linear_entries = 4096,
        .multicast_entries = 128,
        .mtu = 2048,
        .data_vls = 4,
    };
}

const char *subnet_config_objection(const struct subnet_config *config)
{
    if (config->linear_entries < 2 || config->linear_entries > SUBNET_LIDS) {
        return "linear_entries is not from 2 to 49152";
    }
    if (config->multicast_entries > SUBNET_MULTICAST_ENTRIES_MAX) {
        return "multicast_entries is more than 16383";
    }
    if (!is_power_of_two(config->mtu) || config->mtu < 256 || config->mtu > 4096) {
        return "mtu is not 256, 512, 1024, 2048 or 4096";
    }
    uint32_t vls = config->data_vls;
    if (vls != SUBNET_DATA_VLS && (!is_power_of_two(vls) || vls > 8)) {
        return "data_vls is not 1, 2, 4, 8 or 15";
    }
    return NULL;
}

static void *take_zeroed(size_t count, size_t bytes)
{
    void *table = calloc(count ? count : 1, bytes);
    INVARIANT(table);
    return table;
}

static uint32_t port_0(const struct subnet *subnet, uint32_t port)
{
    return subnet->nodes[subnet->ports[port].node].port_first;
}

/* ---- Power on ----------------------------------------------------------------------------- */

static void give_up_lids(struct subnet *subnet, uint32_t index)
{
    const struct subnet_port *port = &subnet->ports[index];
    uint32_t first = port->lid & ~((1u << port->lmc) - 1);
    for (uint32_t i = 0; port->lid && i < 1u << port->lmc; i++) {
        if (subnet->lid_owner[first + i] == index) {
            subnet->lid_owner[first + i] = SUBNET_NONE;
        }
    }
}

/* The state of a port that nobody has configured. A switch's port 0 has no link that could be
 * trained, so it is ACTIVE as soon as its switch lives. */
static enum subnet_state first_state(const struct subnet *subnet, uint32_t index)
{
    const struct subnet_port *port = &subnet->ports[index];
    const struct subnet_node *node = &subnet->nodes[port->node];
    if (node->is_dead || port->is_cut) {
        return SUBNET_DOWN;
    }
    if (port->number == 0) {
        return node->shape->kind == TOPOLOGY_SWITCH ? SUBNET_ACTIVE : SUBNET_DOWN;
    }
    return port->peer == SUBNET_NONE ? SUBNET_DOWN : SUBNET_INIT;
}

/* All lanes that the hardware has are in use, each with an equal share, so that a manager that
 * says nothing of lanes gets them all. A turn is a packet of the MTU. */
static void forget_port(struct subnet *subnet, uint32_t index)
{
    const struct subnet_config *config = &subnet->config;
    struct subnet_port *port = &subnet->ports[index];
    give_up_lids(subnet, index);
    port->lid = 0;
    port->sm_lid = 0;
    port->lmc = 0;
    port->high_limit = 0;
    port->oper_vls = (uint8_t)config->data_vls;
    port->mtu = (uint16_t)config->mtu;
    memset(port->high, 0, sizeof port->high);
    memset(port->low, 0, sizeof port->low);
    for (uint32_t vl = 0; vl < config->data_vls; vl++) {
        port->low[vl] = (struct subnet_arbitration_row){
            .vl = (uint8_t)vl,
            .weight = (uint8_t)(config->mtu / 64),
        };
    }
    port->state = (uint8_t)first_state(subnet, index);
}

static size_t sl_to_vl_rows(const struct subnet_node *node)
{
    size_t side = node->port_count + 1;
    return node->shape->kind == TOPOLOGY_SWITCH ? side * side : 1;
}

static void forget_node(struct subnet *subnet, uint32_t number)
{
    struct subnet_node *node = &subnet->nodes[number];
    const struct subnet_config *config = &subnet->config;
    for (size_t i = 0; i < sl_to_vl_rows(node) * SUBNET_SLS; i++) {
        node->sl_to_vl[i] = (uint8_t)(i % SUBNET_SLS % config->data_vls);
    }
    if (node->shape->kind == TOPOLOGY_SWITCH) {
        memset(node->linear, SUBNET_NO_PORT, config->linear_entries);
        memset(node->multicast, 0,
               (size_t)config->multicast_entries * SUBNET_MASK_WORDS * sizeof *node->multicast);
        node->linear_top = 0;
    }
    for (uint32_t i = 0; i <= node->port_count; i++) {
        forget_port(subnet, node->port_first + i);
        subnet->ports[node->port_first + i].counters = (struct subnet_counters){0};
    }
}

static void lay_node(struct subnet *subnet, uint32_t number)
{
    struct subnet_node *node = &subnet->nodes[number];
    node->shape = &subnet->topology.nodes[number];
    node->port_count = node->shape->port_count;
    /* The topology has no port 0; each node before has one here. */
    node->port_first = node->shape->port_first + number;
    node->sl_to_vl = take_zeroed(sl_to_vl_rows(node), SUBNET_SLS);
    if (node->shape->kind == TOPOLOGY_SWITCH) {
        node->linear = take_zeroed(subnet->config.linear_entries, 1);
        node->multicast = take_zeroed(subnet->config.multicast_entries,
                                      SUBNET_MASK_WORDS * sizeof *node->multicast);
    }
}

static void lay_ports(struct subnet *subnet, uint32_t number)
{
    const struct subnet_node *node = &subnet->nodes[number];
    for (uint32_t i = 0; i <= node->port_count; i++) {
        struct subnet_port *port = &subnet->ports[node->port_first + i];
        port->node = number;
        port->number = (uint8_t)i;
        port->peer = SUBNET_NONE;
        if (i == 0) {
            port->width = 4; /* as wide as a board's cable: nothing is sent there bit by bit */
            continue;
        }
        const struct topology_port *shape = topology_port(&subnet->topology, number, i);
        port->width = shape->width;
        if (shape->peer_node != TOPOLOGY_NONE) {
            port->peer = subnet_port_index(subnet, shape->peer_node, shape->peer_port);
        }
    }
}

struct subnet *subnet_open(const struct topology *topology, const struct subnet_config *config)
{
    char text[TOPOLOGY_ERROR_BYTES];
    INVARIANT(!topology_objection(topology, text) && !subnet_config_objection(config));
    struct subnet *subnet = take_zeroed(1, sizeof *subnet);
    topology_copy(&subnet->topology, topology);
    subnet->config = *config;
    subnet->node_count = topology->node_count;
    subnet->port_count = topology->port_count + topology->node_count;
    subnet->nodes = take_zeroed(subnet->node_count, sizeof *subnet->nodes);
    subnet->ports = take_zeroed(subnet->port_count, sizeof *subnet->ports);
    memset(subnet->lid_owner, 0xff, sizeof subnet->lid_owner);
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        lay_node(subnet, i);
    }
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        lay_ports(subnet, i);
        forget_node(subnet, i);
    }
    return subnet;
}

void subnet_close(struct subnet *subnet)
{
    if (!subnet) {
        return;
    }
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        free(subnet->nodes[i].linear);
        free(subnet->nodes[i].multicast);
        free(subnet->nodes[i].sl_to_vl);
    }
    free(subnet->nodes);
    free(subnet->ports);
    topology_free(&subnet->topology);
    free(subnet);
}

/* ---- Death and return --------------------------------------------------------------------- */

/* Brings one end of a cable into the state that the cable and the nodes at its ends give. */
static void update_end(struct subnet *subnet, uint32_t index)
{
    struct subnet_port *port = &subnet->ports[index];
    const struct subnet_port *peer = &subnet->ports[port->peer];
    bool own_is_dead = subnet->nodes[port->node].is_dead;
    bool is_cut = port->is_cable_dead || own_is_dead || subnet->nodes[peer->node].is_dead;
    if (is_cut == port->is_cut) {
        return;
    }
    port->is_cut = is_cut;
    forget_port(subnet, index);
    if (is_cut && !own_is_dead) {
        port->counters.link_downed++;
    }
    subnet->version++;
}

void subnet_cable_set(struct subnet *subnet, uint32_t port, bool alive)
{
    INVARIANT(port < subnet->port_count && subnet->ports[port].peer != SUBNET_NONE);
    uint32_t peer = subnet->ports[port].peer;
    subnet->ports[port].is_cable_dead = !alive;
    subnet->ports[peer].is_cable_dead = !alive;
    update_end(subnet, port);
    update_end(subnet, peer);
}

void subnet_node_set(struct subnet *subnet, uint32_t node, bool alive)
{
    INVARIANT(node < subnet->node_count);
    struct subnet_node *of = &subnet->nodes[node];
    if (of->is_dead == !alive) {
        return;
    }
    of->is_dead = !alive;
    for (uint32_t i = 1; i <= of->port_count; i++) {
        uint32_t port = of->port_first + i;
        if (subnet->ports[port].peer != SUBNET_NONE) {
            update_end(subnet, port);
            update_end(subnet, subnet->ports[port].peer);
        }
    }
    forget_node(subnet, node);
    subnet->version++;
}

/* ---- Registers ---------------------------------------------------------------------------- */

bool subnet_lid_set(struct subnet *subnet, uint32_t port, uint16_t lid, uint8_t lmc)
{
    INVARIANT(port < subnet->port_count && lid < SUBNET_LIDS && lmc <= SUBNET_LMC_MAX);
    uint32_t first = lid & ~((1u << lmc) - 1);
    /* LID 0 is nobody's address, also where a mask covers it. */
    uint32_t begin = first ? first : 1;
    uint32_t end = lid ? first + (1u << lmc) : begin;
    for (uint32_t i = begin; i < end; i++) {
        if (subnet->lid_owner[i] != SUBNET_NONE && subnet->lid_owner[i] != port) {
            return false;
        }
    }
    struct subnet_port *of = &subnet->ports[port];
    if (of->lid == lid && of->lmc == lmc) {
        return true;
    }
    give_up_lids(subnet, port);
    of->lid = lid;
    of->lmc = lmc;
    for (uint32_t i = begin; i < end; i++) {
        subnet->lid_owner[i] = port;
    }
    subnet->version++;
    return true;
}

void subnet_state_set(struct subnet *subnet, uint32_t port, enum subnet_state state)
{
    INVARIANT(port < subnet->port_count && state >= SUBNET_DOWN && state <= SUBNET_ACTIVE);
    struct subnet_port *of = &subnet->ports[port];
    if (of->state != state && first_state(subnet, port) != SUBNET_DOWN) {
        of->state = (uint8_t)state;
        subnet->version++;
    }
}

static struct subnet_node *switch_at(struct subnet *subnet, uint32_t node)
{
    INVARIANT(node < subnet->node_count && subnet_is_switch(subnet, node));
    return &subnet->nodes[node];
}

void subnet_linear_set(struct subnet *subnet, uint32_t node, uint16_t lid, uint8_t port)
{
    struct subnet_node *of = switch_at(subnet, node);
    INVARIANT(lid < subnet->config.linear_entries);
    uint8_t entry = port <= of->port_count ? port : SUBNET_NO_PORT;
    if (of->linear[lid] != entry) {
        of->linear[lid] = entry;
        subnet->version++;
    }
}

void subnet_linear_top_set(struct subnet *subnet, uint32_t node, uint16_t lid)
{
    struct subnet_node *of = switch_at(subnet, node);
    if (of->linear_top != lid) {
        of->linear_top = lid;
        subnet->version++;
    }
}

void subnet_multicast_set(struct subnet *subnet, uint32_t node, uint16_t lid,
                          const uint64_t mask[SUBNET_MASK_WORDS])
{
    struct subnet_node *of = switch_at(subnet, node);
    INVARIANT(lid >= SUBNET_MULTICAST_LID);
    uint32_t row = lid - (uint32_t)SUBNET_MULTICAST_LID;
    INVARIANT(row < subnet->config.multicast_entries);
    for (uint32_t i = 0; i < SUBNET_MASK_WORDS; i++) {
        uint32_t ports = of->port_count + 1 > 64 * i ? of->port_count + 1 - 64 * i : 0;
        uint64_t there = ports >= 64 ? UINT64_MAX : (UINT64_C(1) << ports) - 1;
        uint64_t *word = &of->multicast[row * SUBNET_MASK_WORDS + i];
        if (*word != (mask[i] & there)) {
            *word = mask[i] & there;
            subnet->version++;
        }
    }
}

void subnet_sl_to_vl_set(struct subnet *subnet, uint32_t node, uint32_t in, uint32_t out,
                         uint32_t sl, uint8_t vl)
{
    INVARIANT(node < subnet->node_count && sl < SUBNET_SLS && vl <= SUBNET_MANAGEMENT_VL);
    struct subnet_node *of = &subnet->nodes[node];
    bool is_switch = of->shape->kind == TOPOLOGY_SWITCH;
    INVARIANT(in <= (is_switch ? of->port_count : 0) && out <= (is_switch ? of->port_count : 0));
    uint8_t *entry = &of->sl_to_vl[(in * (of->port_count + 1) + out) * SUBNET_SLS + sl];
    if (*entry != vl) {
        *entry = vl;
        subnet->version++;
    }
}

/* ---- Ways --------------------------------------------------------------------------------- */

static uint32_t no_way(const struct subnet *subnet, uint32_t port, uint16_t lid, const char *why,
                       char text[TOPOLOGY_ERROR_BYTES])
{
    char name[TOPOLOGY_NAME_BYTES + 16];
    (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "no way to LID %u: %s %s", (unsigned)lid,
                   subnet_port_name(subnet, port, name, sizeof name), why);
    return SUBNET_NO_WAY;
}

uint32_t subnet_way(const struct subnet *subnet, uint32_t from_port, uint16_t lid, uint32_t *ports,
                    uint32_t room, char text[TOPOLOGY_ERROR_BYTES])
{
    INVARIANT(from_port < subnet->port_count);
    uint32_t owner = lid < SUBNET_LIDS ? subnet->lid_owner[lid] : SUBNET_NONE;
    uint32_t port = from_port;
    uint32_t count = 0;
    if (owner == from_port) {
        return 0;
    }
    bool at_switch = subnet_is_switch(subnet, subnet->ports[port].node);
    /* A way without a circle visits each switch at most once. */
    for (uint32_t visits = 0; visits <= subnet->topology.switch_count; visits++) {
        if (at_switch) {
            uint32_t out = subnet_linear(subnet, subnet->ports[port].node, lid);
            port = port_0(subnet, port);
            if (out == SUBNET_NO_PORT) {
                return no_way(subnet, port, lid, "has no entry for it", text);
            }
            port += out;
            if (out == 0) {
                return port == owner ? count : no_way(subnet, port, lid, "does not have it", text);
            }
        }
        const struct subnet_port *of = &subnet->ports[port];
        if (of->peer == SUBNET_NONE || of->is_cut) {
            const char *why = of->is_cut ? "has a dead cable" : "has no cable";
            return no_way(subnet, port, lid, why, text);
        }
        if (count < room) {
            ports[count] = port;
        }
        count++;
        port = of->peer;
        at_switch = subnet_is_switch(subnet, subnet->ports[port].node);
        if (!at_switch) {
            return port == owner ? count : no_way(subnet, port, lid, "does not have it", text);
        }
    }
    return no_way(subnet, port, lid, "is in a circle", text);
}

const char *subnet_port_name(const struct subnet *subnet, uint32_t port, char *text, size_t room)
{
    INVARIANT(port < subnet->port_count);
    const struct subnet_port *of = &subnet->ports[port];
    (void)snprintf(text, room, "%s, port %u", subnet->nodes[of->node].shape->name,
                   (unsigned)of->number);
    return text;
}
