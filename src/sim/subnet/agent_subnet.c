/* The agent for subnet management: reads and writes a device's registers as datagrams ask. A Set
 * is looked at as a whole before any of it is done; its answer shows the registers as they are
 * then. */
#include <string.h>

#include "sim/subnet/agent_state.h"

enum {
    SPEED_SDR = 1, /* 2.5 Gbps */
    ALL_SUPPORTED_SPEEDS = 15,
    ALL_SUPPORTED_WIDTHS = 255,
    LIFE_TIME_MAX = 31,
    RESPONSE_TIME = 16, /* 268 ms */
    DEFAULT_PKEY = 0xffff,

    CAPABILITIES = WIRE_IB_CAN_TRAP | WIRE_IB_CAN_SL_MAPPING | WIRE_IB_CAN_SYSTEM_IMAGE_GUID |
                   WIRE_IB_CAN_VENDOR_CLASS | WIRE_IB_CAN_CAPABILITY_NOTICE |
                   WIRE_IB_CAN_CLIENT_REREGISTER,

    /* Of the modifier of SLtoVL: the table goes to all outputs, from all inputs. */
    ALL_OUTPUTS = 1 << 16,
    ALL_INPUTS = 1 << 17,
    /* Of that of PortInfo: the asker knows of extended speeds. */
    KNOWS_EXTENDED_SPEEDS = INT32_MIN,
};

#define GID_PREFIX UINT64_C(0xfe80000000000000)

static struct agent_port *registers(const struct agent *agent, uint32_t port)
{
    return &agent->ports[port];
}

static bool is_switch(const struct agent *agent, const struct agent_request *request)
{
    return subnet_is_switch(agent->subnet, request->node);
}

static bool is_set(const struct agent_request *request)
{
    return request->header.method == WIRE_MAD_SET;
}

static uint64_t port_guid(const struct agent *agent, uint32_t port)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    uint64_t guid = agent->subnet->nodes[of->node].shape->guid;
    return subnet_is_switch(agent->subnet, of->node) ? guid : guid + of->number;
}

static uint8_t widths_supported(uint32_t width)
{
    return (uint8_t)(width >= 12 ? 11 : width >= 4 ? 3 : 1);
}

void agent_port_reset(struct agent *agent, uint32_t port)
{
    struct agent_port *of = registers(agent, port);
    const struct agent_port old = *of;
    *of = (struct agent_port){
        .gid_prefix = GID_PREFIX,
        .width_enabled = widths_supported(agent->subnet->ports[port].width),
        .speed_enabled = SPEED_SDR,
        .down_default_state = WIRE_IB_PHYSICAL_POLLING,
        .hoq_life = 16,
        .vl_stall_count = 7,
        .subnet_timeout = 18,
        .local_phy_errors = 8,
        .overrun_errors = 8,
        /* What is no register of a link outlives it. */
        .is_disabled = old.is_disabled,
        .is_sm = old.is_sm,
        .has_sm_info = old.has_sm_info,
        .sm_info = old.sm_info,
        .was_up = old.was_up,
        .downed_before = old.downed_before,
        .trap_144_is_due = old.trap_144_is_due,
    };
    of->guids[0] = port_guid(agent, port);
    of->pkeys[0] = DEFAULT_PKEY;
}

/* ---- Nodes and switches ------------------------------------------------------------------- */

void agent_node_info(const struct agent *agent, uint32_t port, struct wire_ib_node_info *info)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    const struct subnet_node *node = &agent->subnet->nodes[of->node];
    *info = (struct wire_ib_node_info){
        .base_version = WIRE_MAD_BASE_VERSION,
        .class_version = WIRE_MAD_CLASS_VERSION,
        .node_type = node->shape->kind == TOPOLOGY_SWITCH ? WIRE_IB_SWITCH
                                                          : WIRE_IB_CHANNEL_ADAPTER,
        .port_count = (uint8_t)node->port_count,
        .system_image_guid = node->shape->guid,
        .node_guid = node->shape->guid,
        .port_guid = port_guid(agent, port),
        .partition_cap = WIRE_IB_PKEY_BLOCK,
        .device_id = AGENT_DEVICE_ID,
        .revision = AGENT_REVISION,
        .local_port = of->number,
        .vendor_id = AGENT_VENDOR_ID,
    };
}

static uint16_t answer_node_description(struct agent *agent, struct agent_request *request)
{
    if (is_set(request)) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    wire_ib_description_encode(agent->subnet->nodes[request->node].shape->name, request->data);
    return WIRE_MAD_GOOD;
}

static uint16_t answer_node_info(struct agent *agent, struct agent_request *request)
{
    struct wire_ib_node_info info;
    if (is_set(request)) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    agent_node_info(agent, request->port, &info);
    wire_ib_node_info_encode(&info, request->data);
    return WIRE_MAD_GOOD;
}

static uint16_t answer_switch_info(struct agent *agent, struct agent_request *request)
{
    if (!is_switch(agent, request)) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    struct agent_node *node = &agent->nodes[request->node];
    const struct subnet_config *config = &agent->subnet->config;
    struct wire_ib_switch_info info;
    uint32_t linear_cap = config->linear_entries < SUBNET_LIDS ? config->linear_entries
                                                               : SUBNET_LIDS - 1;
    if (is_set(request)) {
        wire_ib_switch_info_decode(request->data, &info);
        if (info.linear_top >= config->linear_entries) {
            return WIRE_MAD_BAD_FIELD;
        }
        subnet_linear_top_set(agent->subnet, request->node, info.linear_top);
        node->default_port = info.default_port;
        node->default_multicast_primary_port = info.default_multicast_primary_port;
        node->default_multicast_other_port = info.default_multicast_other_port;
        node->life_time_value = info.life_time_value;
        node->multicast_top = info.multicast_top;
        node->port_state_changed = node->port_state_changed && !info.port_state_change;
    }
    info = (struct wire_ib_switch_info){
        .linear_cap = (uint16_t)linear_cap,
        .multicast_cap = (uint16_t)config->multicast_entries,
        .linear_top = agent->subnet->nodes[request->node].linear_top,
        .default_port = node->default_port,
        .default_multicast_primary_port = node->default_multicast_primary_port,
        .default_multicast_other_port = node->default_multicast_other_port,
        .life_time_value = node->life_time_value,
        .port_state_change = node->port_state_changed,
        .optimized_sl_to_vl = 1,
        .multicast_top = node->multicast_top,
    };
    wire_ib_switch_info_encode(&info, request->data);
    return WIRE_MAD_GOOD;
}

/* ---- Ports -------------------------------------------------------------------------------- */

static uint8_t physical_state(const struct agent *agent, uint32_t port)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    if (of->number == 0 || of->state != SUBNET_DOWN) {
        return WIRE_IB_PHYSICAL_LINK_UP;
    }
    return registers(agent, port)->is_disabled ? WIRE_IB_PHYSICAL_DISABLED
                                               : WIRE_IB_PHYSICAL_POLLING;
}

void agent_port_info(const struct agent *agent, uint32_t port, struct wire_ib_port_info *info)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    const struct agent_port *own = registers(agent, port);
    bool is_end = agent_is_end_port(agent, port);
    *info = (struct wire_ib_port_info){
        .mkey_lease_s = own->mkey_lease_s,
        .local_port = of->number,
        .width_enabled = own->width_enabled,
        .width_supported = widths_supported(of->width),
        .width_active = wire_ib_width_code(of->width),
        .speed_supported = SPEED_SDR,
        .speed_active = SPEED_SDR,
        .speed_enabled = own->speed_enabled,
        .state = of->state,
        .physical_state = physical_state(agent, port),
        .down_default_state = own->down_default_state,
        .neighbor_mtu = wire_ib_mtu_code(of->mtu),
        .mtu_cap = wire_ib_mtu_code(agent->subnet->config.mtu),
        .sm_sl = own->sm_sl,
        .vl_cap = wire_ib_vls_code(agent->subnet->config.data_vls),
        .operational_vls = wire_ib_vls_code(of->oper_vls),
        .init_type = own->init_type,
        .vl_high_limit = of->high_limit,
        .arbitration_high_cap = SUBNET_ARBITRATION_ROWS,
        .arbitration_low_cap = SUBNET_ARBITRATION_ROWS,
        .vl_stall_count = own->vl_stall_count,
        .hoq_life = own->hoq_life,
        .enforce_inbound = own->enforce_inbound,
        .enforce_outbound = own->enforce_outbound,
        .filter_raw_inbound = own->filter_raw_inbound,
        .filter_raw_outbound = own->filter_raw_outbound,
        .subnet_timeout = own->subnet_timeout,
        .multicast_pkey_trap_suppression = own->trap_suppression,
        .response_time = RESPONSE_TIME,
        .local_phy_errors = own->local_phy_errors,
        .overrun_errors = own->overrun_errors,
    };
    if (is_end) {
        info->mkey = own->mkey;
        info->mkey_protect = own->mkey_protect;
        info->mkey_violations = own->mkey_violations;
        info->gid_prefix = own->gid_prefix;
        info->lid = of->lid;
        info->lmc = of->lmc;
        info->sm_lid = of->sm_lid;
        info->capability_mask = CAPABILITIES | (own->is_sm ? WIRE_IB_CAN_BE_SM : 0u);
        info->guid_cap = WIRE_IB_GUID_BLOCK;
    }
}

/* What is wrong with a link's state that a manager wants: 0 and the present one change nothing, and
 * a port climbs one step at a time. */
static bool state_can_be(const struct subnet_port *port, uint8_t state)
{
    switch (state) {
    case WIRE_IB_STATE_NOP:
    case WIRE_IB_STATE_DOWN: return true;
    case WIRE_IB_STATE_ARMED: return port->state == SUBNET_INIT || port->state == SUBNET_ARMED;
    case WIRE_IB_STATE_ACTIVE: return port->state == SUBNET_ARMED || port->state == SUBNET_ACTIVE;
    default: return false;
    }
}

static bool link_fields_are_sound(const struct agent *agent, const struct subnet_port *port,
                                  const struct wire_ib_port_info *info)
{
    uint8_t vl_cap = wire_ib_vls_code(agent->subnet->config.data_vls);
    uint8_t mtu_cap = wire_ib_mtu_code(agent->subnet->config.mtu);
    uint8_t widths = widths_supported(port->width);
    bool width_is_sound = info->width_enabled == ALL_SUPPORTED_WIDTHS ||
                          (info->width_enabled & ~widths) == 0;
    bool speed_is_sound = info->speed_enabled == ALL_SUPPORTED_SPEEDS ||
                          (info->speed_enabled & ~SPEED_SDR) == 0;
    /* Sleep is no state that these ports have. */
    bool physical_is_sound = info->physical_state == WIRE_IB_PHYSICAL_NOP ||
                             info->physical_state == WIRE_IB_PHYSICAL_POLLING ||
                             info->physical_state == WIRE_IB_PHYSICAL_DISABLED;
    return width_is_sound && speed_is_sound && physical_is_sound &&
           info->operational_vls <= vl_cap && info->neighbor_mtu <= mtu_cap &&
           info->down_default_state <= WIRE_IB_PHYSICAL_POLLING &&
           state_can_be(port, info->state) &&
           (info->state <= WIRE_IB_STATE_DOWN || info->physical_state == WIRE_IB_PHYSICAL_NOP);
}

/* A manager never takes an address away. */
static bool end_fields_are_sound(const struct subnet_port *port,
                                 const struct wire_ib_port_info *info)
{
    uint32_t last = (info->lid | ((1u << info->lmc) - 1));
    return last < SUBNET_LIDS && info->sm_lid < SUBNET_LIDS && (info->lid != 0 || port->lid == 0);
}

/* Devices take any address. Here one address has one port, so the port that had it before loses
 * it: its manager is about to give it another. */
static void take_lid(struct agent *agent, uint32_t port, uint16_t lid, uint8_t lmc)
{
    struct subnet *subnet = agent->subnet;
    uint32_t first = lid & ~((1u << lmc) - 1);
    for (uint32_t i = first; lid && i < first + (1u << lmc); i++) {
        uint32_t owner = subnet->lid_owner[i];
        if (owner != SUBNET_NONE && owner != port) {
            (void)subnet_lid_set(subnet, owner, 0, 0);
        }
    }
    bool is_taken = subnet_lid_set(subnet, port, lid, lmc);
    INVARIANT(is_taken);
}

static void set_end_fields(struct agent *agent, uint32_t port, const struct wire_ib_port_info *info)
{
    struct agent_port *own = registers(agent, port);
    take_lid(agent, port, info->lid, info->lmc);
    if (agent->subnet->ports[port].sm_lid != info->sm_lid) {
        agent->subnet->ports[port].sm_lid = info->sm_lid;
        agent->news++;
    }
    own->mkey = info->mkey;
    own->mkey_protect = info->mkey_protect;
    own->mkey_lease_s = info->mkey_lease_s;
    own->gid_prefix = info->gid_prefix;
    own->sm_sl = info->sm_sl;
    own->subnet_timeout = info->subnet_timeout;
    own->trap_suppression = info->multicast_pkey_trap_suppression;
    if (info->mkey_violations == 0) {
        own->mkey_violations = 0;
    }
}

/* Takes a link out of use, back into use, or down for a moment. Both of its ends notice. */
static void set_physical_state(struct agent *agent, uint32_t port,
                               const struct wire_ib_port_info *info)
{
    struct subnet *subnet = agent->subnet;
    struct agent_port *own = registers(agent, port);
    if (subnet->ports[port].peer == SUBNET_NONE) {
        return;
    }
    bool is_alive = !subnet->ports[port].is_cut;
    if (info->physical_state == WIRE_IB_PHYSICAL_DISABLED && is_alive) {
        own->is_disabled = true;
        subnet_cable_set(subnet, port, false);
    } else if (info->physical_state == WIRE_IB_PHYSICAL_POLLING && own->is_disabled) {
        own->is_disabled = false;
        subnet_cable_set(subnet, port, true);
    } else if (is_alive && (info->physical_state == WIRE_IB_PHYSICAL_POLLING ||
                            info->state == WIRE_IB_STATE_DOWN)) {
        subnet_cable_set(subnet, port, false);
        subnet_cable_set(subnet, port, true);
    } else {
        return;
    }
    agent_changed(agent);
}

static void set_link_fields(struct agent *agent, uint32_t port,
                            const struct wire_ib_port_info *info)
{
    struct subnet_port *of = &agent->subnet->ports[port];
    struct agent_port *own = registers(agent, port);
    uint8_t widths = widths_supported(of->width);
    if (info->width_enabled) {
        own->width_enabled = info->width_enabled == ALL_SUPPORTED_WIDTHS ? widths
                                                                         : info->width_enabled;
    }
    own->speed_enabled = info->speed_enabled ? SPEED_SDR : own->speed_enabled;
    if (info->down_default_state) {
        own->down_default_state = info->down_default_state;
    }
    own->init_type = info->init_type;
    own->vl_stall_count = info->vl_stall_count;
    own->hoq_life = info->hoq_life;
    own->enforce_inbound = info->enforce_inbound;
    own->enforce_outbound = info->enforce_outbound;
    own->filter_raw_inbound = info->filter_raw_inbound;
    own->filter_raw_outbound = info->filter_raw_outbound;
    own->local_phy_errors = info->local_phy_errors;
    own->overrun_errors = info->overrun_errors;
    of->high_limit = info->vl_high_limit;
    if (info->operational_vls) {
        of->oper_vls = (uint8_t)wire_ib_vls(info->operational_vls);
    }
    if (info->neighbor_mtu) {
        of->mtu = (uint16_t)wire_ib_mtu_bytes(info->neighbor_mtu);
    }
    if (info->state == WIRE_IB_STATE_ARMED || info->state == WIRE_IB_STATE_ACTIVE) {
        subnet_state_set(agent->subnet, port, (enum subnet_state)info->state);
    }
    set_physical_state(agent, port, info);
}

/* The port that a modifier names: of a board 0 is the one that the request came in by. */
static uint32_t port_named(const struct agent *agent, const struct agent_request *request,
                           uint32_t number)
{
    if (!is_switch(agent, request) && number == 0) {
        return request->port;
    }
    return number <= agent->subnet->nodes[request->node].port_count
               ? subnet_port_index(agent->subnet, request->node, number)
               : SUBNET_NONE;
}

static uint16_t answer_port_info(struct agent *agent, struct agent_request *request)
{
    uint32_t number = request->header.modifier & ~(uint32_t)KNOWS_EXTENDED_SPEEDS;
    uint32_t port = port_named(agent, request, number);
    if (port == SUBNET_NONE) {
        return WIRE_MAD_BAD_FIELD;
    }
    const struct subnet_port *of = &agent->subnet->ports[port];
    struct wire_ib_port_info info;
    uint8_t reregister = 0;
    if (is_set(request)) {
        bool is_end = agent_is_end_port(agent, port);
        bool has_link = of->number > 0;
        wire_ib_port_info_decode(request->data, &info);
        if ((is_end && !end_fields_are_sound(of, &info)) ||
            (has_link && !link_fields_are_sound(agent, of, &info))) {
            return WIRE_MAD_BAD_FIELD;
        }
        if (is_end) {
            set_end_fields(agent, port, &info);
            reregister = info.client_reregister;
        }
        if (has_link) {
            set_link_fields(agent, port, &info);
        }
    }
    agent_port_info(agent, port, &info);
    info.client_reregister = reregister;
    /* Not the port that it tells of: the one that the request came in by. */
    info.local_port = agent->subnet->ports[request->port].number;
    if (info.mkey_protect > 0 && !request->knows_key) {
        info.mkey = 0;
    }
    wire_ib_port_info_encode(&info, request->data);
    return WIRE_MAD_GOOD;
}

const uint16_t *agent_pkeys(const struct agent *agent, uint32_t port)
{
    return registers(agent, port)->pkeys;
}

static uint16_t answer_pkeys(struct agent *agent, struct agent_request *request)
{
    uint32_t block = request->header.modifier & 0xffff;
    uint32_t number = is_switch(agent, request) ? request->header.modifier >> 16 : 0;
    uint32_t port = port_named(agent, request, number);
    if (block != 0 || port == SUBNET_NONE) {
        return WIRE_MAD_BAD_FIELD;
    }
    /* Switches do not enforce partitions: their outer ports have no table. */
    if (is_set(request) && !agent_is_end_port(agent, port)) {
        return WIRE_MAD_BAD_FIELD;
    }
    struct agent_port *own = registers(agent, port);
    if (is_set(request)) {
        wire_ib_words_decode(request->data, own->pkeys);
    }
    static const uint16_t none[WIRE_IB_PKEY_BLOCK];
    wire_ib_words_encode(agent_is_end_port(agent, port) ? own->pkeys : none, request->data);
    return WIRE_MAD_GOOD;
}

static uint16_t answer_guids(struct agent *agent, struct agent_request *request)
{
    uint32_t port = agent_end_port(agent, request->port);
    struct agent_port *own = registers(agent, port);
    if (request->header.modifier != 0) {
        return WIRE_MAD_BAD_FIELD;
    }
    if (is_set(request)) {
        uint64_t first = own->guids[0];
        wire_ib_guids_decode(request->data, own->guids);
        own->guids[0] = first;
    }
    wire_ib_guids_encode(own->guids, request->data);
    return WIRE_MAD_GOOD;
}

/* ---- Lanes -------------------------------------------------------------------------------- */

static uint16_t answer_sl_to_vl(struct agent *agent, struct agent_request *request)
{
    const struct subnet_node *node = &agent->subnet->nodes[request->node];
    uint32_t modifier = request->header.modifier;
    uint32_t in = is_switch(agent, request) ? modifier >> 8 & 0xff : 0;
    uint32_t out = is_switch(agent, request) ? modifier & 0xff : 0;
    uint8_t vls[WIRE_IB_SL_COUNT];
    if (in > node->port_count || out > node->port_count || modifier >> 18) {
        return WIRE_MAD_BAD_FIELD;
    }
    if (is_set(request)) {
        bool all_in = is_switch(agent, request) && (modifier & ALL_INPUTS);
        bool all_out = is_switch(agent, request) && (modifier & ALL_OUTPUTS);
        wire_ib_sl_to_vl_decode(request->data, vls);
        for (uint32_t i = all_in ? 0 : in; i <= (all_in ? node->port_count : in); i++) {
            for (uint32_t o = all_out ? 0 : out; o <= (all_out ? node->port_count : out); o++) {
                for (uint32_t sl = 0; sl < SUBNET_SLS; sl++) {
                    subnet_sl_to_vl_set(agent->subnet, request->node, i, o, sl, vls[sl]);
                }
            }
        }
    }
    for (uint32_t sl = 0; sl < SUBNET_SLS; sl++) {
        vls[sl] = subnet_sl_to_vl(node, in, out, sl);
    }
    wire_ib_sl_to_vl_encode(vls, request->data);
    return WIRE_MAD_GOOD;
}

static uint16_t answer_arbitration(struct agent *agent, struct agent_request *request)
{
    uint32_t block = request->header.modifier >> 16;
    uint32_t number = is_switch(agent, request) ? request->header.modifier & 0xffff : 0;
    uint32_t port = port_named(agent, request, number);
    if (block < 1 || block > 4 || port == SUBNET_NONE) {
        return WIRE_MAD_BAD_FIELD;
    }
    struct subnet_port *of = &agent->subnet->ports[port];
    struct subnet_arbitration_row *rows = block <= 2 ? of->low : of->high;
    struct wire_ib_arbitration_row shown[WIRE_IB_ARBITRATION_BLOCK];
    rows += block % 2 == 0 ? WIRE_IB_ARBITRATION_BLOCK : 0;
    if (is_set(request)) {
        wire_ib_arbitration_decode(request->data, shown);
        for (uint32_t i = 0; i < WIRE_IB_ARBITRATION_BLOCK; i++) {
            rows[i] = (struct subnet_arbitration_row){shown[i].vl, shown[i].weight};
        }
        agent->subnet->version++;
    }
    for (uint32_t i = 0; i < WIRE_IB_ARBITRATION_BLOCK; i++) {
        shown[i] = (struct wire_ib_arbitration_row){rows[i].vl, rows[i].weight};
    }
    wire_ib_arbitration_encode(shown, request->data);
    return WIRE_MAD_GOOD;
}

/* ---- Forwarding tables -------------------------------------------------------------------- */

static uint16_t answer_linear(struct agent *agent, struct agent_request *request)
{
    uint32_t entries = agent->subnet->config.linear_entries;
    uint64_t first = (uint64_t)request->header.modifier * WIRE_IB_LINEAR_BLOCK;
    if (!is_switch(agent, request)) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    if (first >= entries) {
        return WIRE_MAD_BAD_FIELD;
    }
    for (uint32_t i = 0; i < WIRE_IB_LINEAR_BLOCK; i++) {
        uint16_t lid = (uint16_t)(first + i);
        bool is_there = first + i < entries;
        if (is_set(request) && is_there) {
            subnet_linear_set(agent->subnet, request->node, lid, request->data[i]);
        }
        request->data[i] = is_there ? agent->subnet->nodes[request->node].linear[lid]
                                    : SUBNET_NO_PORT;
    }
    return WIRE_MAD_GOOD;
}

static uint16_t answer_multicast(struct agent *agent, struct agent_request *request)
{
    uint32_t entries = agent->subnet->config.multicast_entries;
    uint32_t first = (request->header.modifier & 0x1ff) * WIRE_IB_MULTICAST_BLOCK;
    uint32_t port_first = (request->header.modifier >> 28) * WIRE_IB_MULTICAST_PORTS;
    if (!is_switch(agent, request)) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    const struct subnet_node *node = &agent->subnet->nodes[request->node];
    if (first >= entries || port_first > node->port_count ||
        (request->header.modifier & 0x0ffffe00)) {
        return WIRE_MAD_BAD_FIELD;
    }
    uint16_t masks[WIRE_IB_MULTICAST_BLOCK];
    wire_ib_words_decode(request->data, masks);
    for (uint32_t i = 0; i < WIRE_IB_MULTICAST_BLOCK; i++) {
        if (first + i >= entries) {
            masks[i] = 0;
            continue;
        }
        uint64_t row[SUBNET_MASK_WORDS];
        memcpy(row, node->multicast + (size_t)(first + i) * SUBNET_MASK_WORDS, sizeof row);
        uint64_t *word = &row[port_first / 64];
        uint32_t shift = port_first % 64;
        if (is_set(request)) {
            *word = (*word & ~(UINT64_C(0xffff) << shift)) | (uint64_t)masks[i] << shift;
            subnet_multicast_set(agent->subnet, request->node,
                                 (uint16_t)(SUBNET_MULTICAST_LID + first + i), row);
            memcpy(row, node->multicast + (size_t)(first + i) * SUBNET_MASK_WORDS, sizeof row);
        }
        masks[i] = (uint16_t)(*word >> shift);
    }
    wire_ib_words_encode(masks, request->data);
    return WIRE_MAD_GOOD;
}

/* ---- Managers ----------------------------------------------------------------------------- */

/* A port where no manager is at work does not have this attribute. */
static uint16_t answer_sm_info(struct agent *agent, struct agent_request *request)
{
    const struct agent_port *own = registers(agent, agent_end_port(agent, request->port));
    if (is_set(request) || !own->has_sm_info) {
        return WIRE_MAD_BAD_ATTRIBUTE;
    }
    wire_ib_sm_info_encode(&own->sm_info, request->data);
    return WIRE_MAD_GOOD;
}

uint16_t agent_subnet_answer(struct agent *agent, struct agent_request *request)
{
    switch (request->header.attribute) {
    case WIRE_MAD_NODE_DESCRIPTION: return answer_node_description(agent, request);
    case WIRE_MAD_NODE_INFO: return answer_node_info(agent, request);
    case WIRE_MAD_SWITCH_INFO: return answer_switch_info(agent, request);
    case WIRE_MAD_GUID_INFO: return answer_guids(agent, request);
    case WIRE_MAD_PORT_INFO: return answer_port_info(agent, request);
    case WIRE_MAD_PKEY_TABLE: return answer_pkeys(agent, request);
    case WIRE_MAD_SL_TO_VL: return answer_sl_to_vl(agent, request);
    case WIRE_MAD_VL_ARBITRATION: return answer_arbitration(agent, request);
    case WIRE_MAD_LINEAR_TABLE: return answer_linear(agent, request);
    case WIRE_MAD_MULTICAST_TABLE: return answer_multicast(agent, request);
    case WIRE_MAD_SM_INFO: return answer_sm_info(agent, request);
    default: return WIRE_MAD_BAD_ATTRIBUTE;
    }
}
