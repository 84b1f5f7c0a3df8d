/* How datagrams find the agents of a subnet and their answers the way back, and traps. */
#include "sim/subnet/agent.h"

#include <stdlib.h>
#include <string.h>

#include "sim/subnet/agent_state.h"

static void *take_zeroed(size_t count, size_t bytes)
{
    void *table = calloc(count ? count : 1, bytes);
    INVARIANT(table);
    return table;
}

static bool is_up(const struct agent *agent, uint32_t port)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    return of->peer != SUBNET_NONE && !of->is_cut;
}

struct agent *agent_open(struct subnet *subnet)
{
    struct agent *agent = take_zeroed(1, sizeof *agent);
    agent->subnet = subnet;
    agent->nodes = take_zeroed(subnet->node_count, sizeof *agent->nodes);
    agent->ports = take_zeroed(subnet->port_count, sizeof *agent->ports);
    agent->way_room = subnet->topology.switch_count + 2;
    agent->way = take_zeroed(agent->way_room, sizeof *agent->way);
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        /* Its links have just come up. */
        agent->nodes[i].port_state_changed = true;
        agent->nodes[i].was_dead = subnet->nodes[i].is_dead;
    }
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        agent_port_reset(agent, i);
        agent->ports[i].was_up = is_up(agent, i);
        agent->ports[i].downed_before = subnet->ports[i].counters.link_downed;
    }
    return agent;
}

void agent_close(struct agent *agent)
{
    if (agent) {
        free(agent->nodes);
        free(agent->ports);
        free(agent->way);
        free(agent);
    }
}

struct subnet *agent_subnet(const struct agent *agent)
{
    return agent->subnet;
}

/* ---- Ways --------------------------------------------------------------------------------- */

/* The port by which a packet to a LID comes in at its end; SUBNET_NONE: it does not get there. What
 * is no SMP needs ports that are ACTIVE. */
static uint32_t go_by_lid(struct agent *agent, uint32_t from_port, uint16_t lid, bool is_smp)
{
    const struct subnet *subnet = agent->subnet;
    char text[TOPOLOGY_ERROR_BYTES];
    if (subnet->nodes[subnet->ports[from_port].node].is_dead || lid == 0) {
        return SUBNET_NONE;
    }
    uint32_t count = subnet_way(subnet, from_port, lid, agent->way, agent->way_room, text);
    if (count == SUBNET_NO_WAY || count > agent->way_room) {
        return SUBNET_NONE;
    }
    uint32_t at = from_port;
    for (uint32_t i = 0; i < count; i++) {
        const struct subnet_port *out = &subnet->ports[agent->way[i]];
        const struct subnet_port *in = &subnet->ports[out->peer];
        if (!is_smp && (out->state != SUBNET_ACTIVE || in->state != SUBNET_ACTIVE)) {
            return SUBNET_NONE;
        }
        at = out->peer;
    }
    return at;
}

bool agent_reaches(struct agent *agent, uint32_t from_port, uint16_t dlid, bool is_smp)
{
    return go_by_lid(agent, from_port, dlid, is_smp) != SUBNET_NONE;
}

/* Follows the path in a packet from the node of a port on, and notes by which ports it came in. */
static uint32_t go_by_path(const struct agent *agent, uint32_t port, bool is_sender,
                           unsigned char *mad, uint32_t hop_count)
{
    const struct subnet *subnet = agent->subnet;
    for (uint32_t hop = 1; hop <= hop_count; hop++) {
        const struct subnet_node *node = &subnet->nodes[subnet->ports[port].node];
        uint32_t out = mad[WIRE_MAD_AT_PATH + hop];
        bool forwards = node->shape->kind == TOPOLOGY_SWITCH || (is_sender && hop == 1);
        if (!forwards || out == 0 || out > node->port_count ||
            !is_up(agent, node->port_first + out)) {
            return SUBNET_NONE;
        }
        port = subnet->ports[node->port_first + out].peer;
        mad[WIRE_MAD_AT_RETURN_PATH + hop] = subnet->ports[port].number;
    }
    return port;
}

/* A directed packet has up to three parts: by LID to where its path begins, along the path, and by
 * LID to its end. The answer takes them in turn. */
static uint32_t go_directed(struct agent *agent, uint32_t from_port, uint16_t dlid,
                            const struct wire_mad *header, unsigned char *mad)
{
    struct wire_smp smp;
    wire_smp_decode(mad, &smp);
    uint32_t port = from_port;
    if (header->hop_pointer != 0 || header->hop_count > WIRE_MAD_HOPS_MAX || header->is_return ||
        agent->subnet->nodes[agent->subnet->ports[from_port].node].is_dead) {
        return SUBNET_NONE;
    }
    if (smp.dr_slid != SUBNET_PERMISSIVE_LID && dlid != SUBNET_PERMISSIVE_LID) {
        port = go_by_lid(agent, port, dlid, true);
        if (port == SUBNET_NONE ||
            go_by_lid(agent, agent_end_port(agent, port), smp.dr_slid, true) == SUBNET_NONE) {
            return SUBNET_NONE;
        }
    }
    uint32_t last = go_by_path(agent, port, port == from_port, mad, header->hop_count);
    if (last != SUBNET_NONE && smp.dr_dlid != SUBNET_PERMISSIVE_LID) {
        last = go_by_lid(agent, agent_end_port(agent, last), smp.dr_dlid, true);
    }
    return last;
}

/* Whether an answer gets back: along a path it does, over the same cables. */
static bool gets_back(struct agent *agent, const struct wire_mad *header, uint32_t from_port,
                      uint32_t at)
{
    uint32_t end = agent_end_port(agent, at);
    if (header->class == WIRE_MAD_SUBNET_DIRECTED || end == agent_end_port(agent, from_port)) {
        return true;
    }
    uint16_t lid = agent->subnet->ports[from_port].lid;
    return go_by_lid(agent, end, lid, wire_mad_is_smp(header->class)) != SUBNET_NONE;
}

/* ---- Requests ----------------------------------------------------------------------------- */

/* Whether the M_Key lets a request through; if not, it is lost and counted. */
static bool key_fits(struct agent *agent, struct agent_request *request, const unsigned char *mad)
{
    struct agent_port *of = &agent->ports[agent_end_port(agent, request->port)];
    struct wire_smp smp;
    wire_smp_decode(mad, &smp);
    request->knows_key = of->mkey == 0 || of->mkey == smp.mkey;
    bool is_guarded = request->header.method == WIRE_MAD_SET || of->mkey_protect >= 2;
    if (request->knows_key || !is_guarded) {
        return true;
    }
    if (of->mkey_violations < UINT16_MAX) {
        of->mkey_violations++;
    }
    agent->counters.mkey_violations++;
    return false;
}

/* An Open Fabrics ping: the answer names the node. */
static bool answer_ping(const struct agent *agent, struct agent_request *request,
                        unsigned char *mad)
{
    static const unsigned char oui[3] = {0x00, 0x14, 0x05};
    enum { ROOM = WIRE_MAD_BYTES - WIRE_MAD_AT_VENDOR_DATA };
    if (memcmp(mad + WIRE_MAD_AT_OUI, oui, sizeof oui) != 0) {
        return false;
    }
    unsigned char *to = mad + WIRE_MAD_AT_VENDOR_DATA;
    memset(to, 0, ROOM);
    wire_ib_description_encode(agent->subnet->nodes[request->node].shape->name, to);
    return true;
}

static bool is_for_program(const struct agent *agent, const struct wire_mad *header, uint32_t port)
{
    const struct agent_port *of = &agent->ports[port];
    bool is_due = header->class == WIRE_MAD_SUBNET_ADMINISTRATION ||
                  (wire_mad_is_smp(header->class) && header->attribute == WIRE_MAD_SM_INFO);
    return is_due && of->is_sm && !of->has_sm_info;
}

/* The agent's own answer. False: the request is lost. */
static bool answer(struct agent *agent, struct agent_request *request, unsigned char *mad)
{
    struct wire_mad *header = &request->header;
    bool is_smp = wire_mad_is_smp(header->class);
    if (is_smp && !key_fits(agent, request, mad)) {
        return false;
    }
    uint16_t status;
    if (header->base_version != WIRE_MAD_BASE_VERSION ||
        header->class_version != WIRE_MAD_CLASS_VERSION) {
        status = WIRE_MAD_BAD_VERSION;
    } else if (header->method != WIRE_MAD_GET && header->method != WIRE_MAD_SET) {
        status = WIRE_MAD_BAD_METHOD;
    } else if (is_smp) {
        status = agent_subnet_answer(agent, request);
    } else {
        status = agent_performance_answer(agent, request);
    }
    agent->counters.refused += status != WIRE_MAD_GOOD;
    header->status = status;
    return true;
}

static enum agent_result answer_at(struct agent *agent, uint32_t from_port, uint32_t at,
                                   const struct wire_mad *header, unsigned char *mad)
{
    struct agent_request request = {
        .header = *header,
        .port = at,
        .node = agent->subnet->ports[at].node,
        .data = mad + WIRE_MAD_AT_DATA,
    };
    if ((header->method & WIRE_MAD_RESPONSE) || header->method == WIRE_MAD_TRAP_REPRESS ||
        header->method == WIRE_MAD_TRAP) {
        return AGENT_SILENT;
    }
    bool is_answered = false;
    if (wire_mad_is_smp(header->class) || header->class == WIRE_MAD_PERFORMANCE) {
        is_answered = answer(agent, &request, mad);
    } else if (header->class == WIRE_MAD_OPENIB_PING) {
        is_answered = answer_ping(agent, &request, mad);
    }
    if (!is_answered || !gets_back(agent, header, from_port, at)) {
        return AGENT_LOST;
    }
    request.header.method |= WIRE_MAD_RESPONSE;
    if (wire_mad_is_smp(header->class) || header->class == WIRE_MAD_PERFORMANCE) {
        request.header.method = WIRE_MAD_GET_RESPONSE;
    }
    request.header.is_return = header->class == WIRE_MAD_SUBNET_DIRECTED;
    wire_mad_encode(&request.header, mad);
    return AGENT_ANSWERED;
}

enum agent_result agent_send(struct agent *agent, uint32_t from_port, uint16_t dlid,
                             unsigned char *mad, uint32_t *at)
{
    struct wire_mad header;
    wire_mad_decode(mad, &header);
    agent->counters.sent++;
    uint32_t port;
    if (header.class == WIRE_MAD_SUBNET_DIRECTED) {
        port = go_directed(agent, from_port, dlid, &header, mad);
    } else if (header.class == WIRE_MAD_SUBNET && dlid == SUBNET_PERMISSIVE_LID) {
        port = from_port;
    } else {
        port = go_by_lid(agent, from_port, dlid, wire_mad_is_smp(header.class));
    }
    if (port == SUBNET_NONE) {
        agent->counters.lost++;
        return AGENT_LOST;
    }
    *at = port;
    if (is_for_program(agent, &header, agent_end_port(agent, port))) {
        return AGENT_FOR_PROGRAM;
    }
    enum agent_result result = answer_at(agent, from_port, port, &header, mad);
    agent->counters.answered += result == AGENT_ANSWERED;
    agent->counters.lost += result == AGENT_LOST;
    return result;
}

void agent_counters(const struct agent *agent, struct agent_counters *counters)
{
    *counters = agent->counters;
}

/* ---- Changes and traps -------------------------------------------------------------------- */

bool agent_is_sm(const struct agent *agent, uint32_t port)
{
    return agent->ports[port].is_sm;
}

void agent_sm_set(struct agent *agent, uint32_t port, bool is_sm,
                  const struct wire_ib_sm_info *info)
{
    struct agent_port *of = &agent->ports[port];
    /* A port that no manager has found yet has nobody to tell: it will be asked. */
    if (of->is_sm != is_sm && !of->trap_144_is_due && agent->subnet->ports[port].sm_lid) {
        of->trap_144_is_due = true;
        agent->traps_due++;
    }
    of->is_sm = is_sm;
    of->has_sm_info = is_sm && info;
    if (of->has_sm_info) {
        of->sm_info = *info;
    }
    agent->news++;
}

/* Whether a port's link went or came since it was looked at. */
static bool notice_link(struct agent *agent, uint32_t port)
{
    struct agent_port *of = &agent->ports[port];
    uint64_t downed = agent->subnet->ports[port].counters.link_downed;
    bool now_up = is_up(agent, port);
    bool has_changed = of->was_up != now_up || downed > of->downed_before;
    of->was_up = now_up;
    of->downed_before = downed;
    return has_changed;
}

void agent_changed(struct agent *agent)
{
    const struct subnet *subnet = agent->subnet;
    for (uint32_t n = 0; n < subnet->node_count; n++) {
        const struct subnet_node *shape = &subnet->nodes[n];
        struct agent_node *node = &agent->nodes[n];
        bool has_changed = false;
        for (uint32_t i = 1; i <= shape->port_count; i++) {
            if (notice_link(agent, shape->port_first + i)) {
                has_changed = true;
                agent_port_reset(agent, shape->port_first + i);
            }
        }
        bool is_switch = shape->shape->kind == TOPOLOGY_SWITCH;
        if (node->was_dead != shape->is_dead && is_switch) {
            agent_port_reset(agent, shape->port_first);
        }
        node->was_dead = shape->is_dead;
        if (has_changed && is_switch) {
            node->port_state_changed = true;
            agent->traps_due += !node->trap_128_is_due;
            node->trap_128_is_due = true;
            agent->news++;
        }
    }
}

/* Whether a trap from an end port gets to a manager now, and to which port. */
static bool trap_reaches(struct agent *agent, uint32_t from, uint32_t *to)
{
    const struct subnet_port *port = &agent->subnet->ports[from];
    if (port->lid == 0 || port->sm_lid == 0) {
        return false;
    }
    uint32_t at = go_by_lid(agent, from, port->sm_lid, true);
    if (at == SUBNET_NONE) {
        return false;
    }
    *to = agent_end_port(agent, at);
    return agent->ports[*to].is_sm && !agent->ports[*to].has_sm_info;
}

static void write_trap(struct agent *agent, uint32_t from, uint16_t number,
                       unsigned char mad[WIRE_MAD_BYTES])
{
    const struct subnet_port *port = &agent->subnet->ports[from];
    struct wire_ib_port_info info;
    agent_port_info(agent, from, &info);
    const struct wire_mad header = {
        .base_version = WIRE_MAD_BASE_VERSION,
        .class = WIRE_MAD_SUBNET,
        .class_version = WIRE_MAD_CLASS_VERSION,
        .method = WIRE_MAD_TRAP,
        .tid = ++agent->trap_tid,
        .attribute = WIRE_MAD_NOTICE,
    };
    const struct wire_ib_notice notice = {
        .is_generic = 1,
        .type = number == WIRE_IB_TRAP_LINK_STATE ? WIRE_IB_NOTICE_URGENT
                                                  : WIRE_IB_NOTICE_INFORMATIONAL,
        .producer = subnet_is_switch(agent->subnet, port->node) ? WIRE_IB_SWITCH
                                                                : WIRE_IB_CHANNEL_ADAPTER,
        .trap = number,
        .issuer_lid = port->lid,
        .lid = port->lid,
        .capability_mask = info.capability_mask,
    };
    memset(mad, 0, WIRE_MAD_BYTES);
    wire_mad_encode(&header, mad);
    wire_smp_encode(&(struct wire_smp){.mkey = agent->ports[from].mkey}, mad);
    wire_ib_notice_encode(&notice, mad + WIRE_MAD_AT_DATA);
    agent->counters.traps++;
}

/* The number of a trap that a port of a node is to send; 0: none. */
static uint16_t trap_due(const struct agent *agent, uint32_t port)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    if (of->number == 0 && agent->nodes[of->node].trap_128_is_due) {
        return WIRE_IB_TRAP_LINK_STATE;
    }
    return agent->ports[port].trap_144_is_due ? WIRE_IB_TRAP_CAPABILITY : 0;
}

bool agent_trap_next(struct agent *agent, uint32_t *from_port, uint32_t *to_port,
                     unsigned char mad[WIRE_MAD_BYTES])
{
    const struct subnet *subnet = agent->subnet;
    if (agent->traps_due == 0 ||
        (agent->version_tried == subnet->version && agent->news_tried == agent->news)) {
        return false;
    }
    for (uint32_t port = 0; port < subnet->port_count; port++) {
        uint16_t number = trap_due(agent, port);
        if (number == 0 || !trap_reaches(agent, port, to_port)) {
            continue;
        }
        if (number == WIRE_IB_TRAP_LINK_STATE) {
            agent->nodes[subnet->ports[port].node].trap_128_is_due = false;
        } else {
            agent->ports[port].trap_144_is_due = false;
        }
        agent->traps_due--;
        *from_port = port;
        write_trap(agent, port, number, mad);
        return true;
    }
    agent->version_tried = subnet->version;
    agent->news_tried = agent->news;
    return false;
}
