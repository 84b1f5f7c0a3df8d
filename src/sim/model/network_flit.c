/* Steps of a flit-level network as events. */
#include "sim/model/network_flit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/model/clock.h"
#include "sim/model/ways_back.h"
#include "wire/line.h"

/* A line of the routers' multicast tables. */
struct group {
    uint32_t first, count;
};

/* What went between a NIC and its router, one way. */
struct port_load {
    uint64_t packets, bytes, busy_ps;
};

struct sim_flit_network {
    struct sim_network_user user;
    struct net_config config;
    struct net *net;
    uint64_t period_ps;
    uint64_t now_ps;
    uint64_t next_ps;  /* no step before this */
    uint64_t *free_ps; /* by node: its port into its router */
    uint32_t node_count;
    struct sim_ways_back ways_back;
    struct group groups[NET_GROUPS_MAX];
    uint32_t group_count;
    uint32_t group_next; /* the line that is used anew next */
    /* Where loads are counted, else NULL: from each NIC, then to each; and packets by port of each
     * router. */
    struct port_load *port_loads;
    uint64_t *link_packets;
    bool step_is_put;
    bool steps; /* inside net_step, where a delivery may send */
};

static void count_port(struct sim_flit_network *flits, size_t number, uint32_t bytes)
{
    if (flits->port_loads) {
        struct port_load *load = &flits->port_loads[number];
        load->packets++;
        load->bytes += bytes;
        load->busy_ps += sim_cycles(flits->period_ps, net_port_cycles(&flits->config, bytes));
    }
}

static void delivered(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    struct sim_flit_network *flits = context;
    (void)cycle;
    count_port(flits, (size_t)flits->node_count + delivery->target,
               delivery->flits * flits->config.flit_bytes);
    if (delivery->virtual_network != net_replies(&flits->config)) {
        sim_ways_back_keep(&flits->ways_back, delivery->target, delivery->source, delivery->header);
    }
    flits->user.arrived(flits->user.context, flits->now_ps, delivery->target,
                        (uint32_t)delivery->tag);
}

static void entered(void *context, uint32_t source, uint64_t tag)
{
    const struct sim_flit_network *flits = context;
    flits->user.left(flits->user.context, source, (uint32_t)tag);
}

/* The network counts no cycles while it is empty; but while a packet held a channel it was not
 * empty, so counting back is right. */
static uint64_t cycle_ps(const struct sim_flit_network *flits, uint64_t cycle)
{
    uint64_t ago = net_cycle(flits->net) - cycle;
    return flits->now_ps - sim_cycles(flits->period_ps, ago);
}

static void held(void *context, uint32_t router, uint32_t port, uint32_t channel,
                 uint64_t from_cycle, uint64_t to_cycle, uint64_t tag)
{
    const struct sim_flit_network *flits = context;
    if (flits->link_packets) {
        flits->link_packets[(size_t)router * net_ports(&flits->config) + port]++;
    }
    if (flits->user.carried) {
        flits->user.carried(flits->user.context, router, port * flits->config.vcs + channel,
                            cycle_ps(flits, from_cycle), cycle_ps(flits, to_cycle), (uint32_t)tag);
    }
}

/* A torus is as square as its nodes allow. */
static bool lay_out(struct net_config *config, enum sim_topology topology, uint32_t node_count)
{
    if (topology == SIM_RING) {
        return true;
    }
    uint32_t height = 1;
    for (uint32_t i = 2; (uint64_t)i * i <= node_count; i++) {
        height = node_count % i == 0 ? i : height;
    }
    config->shape = NET_TORUS;
    config->width = node_count / height;
    config->height = height;
    return height > 1;
}

void sim_ring_complete(struct sim_machine *machine)
{
    enum { ANY_NODES = 2 }; /* delays and buffers do not depend on it */
    struct net_config usual;
    if (machine->ring_buffer_flits > 0) {
        return;
    }
    net_config_default(&usual, ANY_NODES);
    machine->ring_buffer_flits = usual.buffer_flits;
    machine->ring_route_cycles = usual.route_cycles;
    machine->ring_switch_cycles = usual.switch_cycles;
    machine->ring_link_cycles = usual.link_cycles;
    machine->ring_credit_cycles = usual.credit_cycles;
    machine->ring_nic_cycles = usual.nic_cycles;
}

static void set_delays(struct net_config *config, const struct sim_machine *machine)
{
    struct sim_machine whole = *machine;
    sim_ring_complete(&whole);
    config->buffer_flits = (uint32_t)whole.ring_buffer_flits;
    config->route_cycles = (uint32_t)whole.ring_route_cycles;
    config->switch_cycles = (uint32_t)whole.ring_switch_cycles;
    config->link_cycles = (uint32_t)whole.ring_link_cycles;
    config->credit_cycles = (uint32_t)whole.ring_credit_cycles;
    config->nic_cycles = (uint32_t)whole.ring_nic_cycles;
}

/* The port's frames are the machine's own; without any, its lines are as fast as its link. */
static void set_port(struct net_config *config, const struct sim_machine *machine)
{
    net_config_swif(config, machine->port_mode == SIM_PORT_OIP ? NET_OIP : NET_SW2B);
    if (sim_machine_has_port(machine)) {
        config->port_frame_bits = (uint32_t)machine->port_frame_bits;
        config->port_frame_khz = UINT64_C(1000000000) / machine->port_frame;
    } else {
        config->port_frame_bits = WIRE_LINE_BITS;
        config->port_frame_khz = machine->link_mb_per_s / WIRE_LINE_DATA_BYTES / 1000;
    }
}

void sim_ring_config(const struct sim_machine *machine, uint32_t node_count,
                     struct net_config *config)
{
    net_config_default(config, node_count);
    set_delays(config, machine);
    set_port(config, machine);
}

static void free_tables(struct sim_flit_network *flits)
{
    free(flits->free_ps);
    free(flits->port_loads);
    free(flits->link_packets);
    free(flits);
}

struct sim_flit_network *sim_flit_network_open(const struct sim_machine *machine,
                                               enum sim_topology topology, uint32_t node_count,
                                               const struct sim_network_user *user,
                                               char error[SIM_ERROR_BYTES])
{
    char objection[NET_ERROR_BYTES];
    struct sim_flit_network *flits = calloc(1, sizeof *flits);
    INVARIANT(flits);
    flits->user = *user;
    flits->node_count = node_count;
    flits->ways_back.node_count = node_count;
    sim_ring_config(machine, node_count, &flits->config);
    flits->period_ps = UINT64_C(1000000000) / flits->config.clock_khz;
    if (!lay_out(&flits->config, topology, node_count)) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "nodes is %" PRIu32 ", of which no torus can be made", node_count);
        free(flits);
        return NULL;
    }
    flits->free_ps = calloc(node_count, sizeof *flits->free_ps);
    INVARIANT(flits->free_ps);
    if (user->counts_load) {
        flits->port_loads = calloc(2 * (size_t)node_count, sizeof *flits->port_loads);
        flits->link_packets = calloc((size_t)node_count * net_ports(&flits->config),
                                     sizeof *flits->link_packets);
        INVARIANT(flits->port_loads && flits->link_packets);
    }
    const struct net_user net_user = {
        .context = flits,
        .delivered = delivered,
        .entered = user->left ? entered : NULL,
        .held = user->carried || user->counts_load ? held : NULL,
    };
    flits->net = net_open(&flits->config, &net_user, objection);
    if (!flits->net) {
        bool is_port = strncmp(objection, "frame_", 6) == 0;
        (void)snprintf(error, SIM_ERROR_BYTES, "machine %s: [%s] %.200s", machine->name,
                       is_port ? "port" : "ring", objection);
        free_tables(flits);
        return NULL;
    }
    return flits;
}

void sim_flit_network_close(struct sim_flit_network *flits)
{
    net_close(flits->net);
    sim_ways_back_free(&flits->ways_back);
    free_tables(flits);
}

/* Puts a step at from_ps, or at the first edge after it that has had no step yet. */
static void put_step(struct sim_flit_network *flits, uint64_t from_ps)
{
    if (!flits->step_is_put && !flits->steps) {
        uint64_t edge_ps = sim_edge(flits->period_ps, from_ps);
        edge_ps = edge_ps < flits->next_ps ? flits->next_ps : edge_ps;
        flits->step_is_put = true;
        sim_events_put(flits->user.events, edge_ps, flits->user.event_kind, 0, 0);
    }
}

/* A packet has been given to its NIC. Those that come while the port is taken wait in order on the
 * NIC's side. Returns when the port is free again. */
static uint64_t take_port(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                          uint32_t bytes)
{
    put_step(flits, at_ps);
    count_port(flits, source, bytes);
    uint64_t *free_ps = &flits->free_ps[source];
    *free_ps = (*free_ps > at_ps ? *free_ps : at_ps) +
               sim_cycles(flits->period_ps, net_port_cycles(&flits->config, bytes));
    return *free_ps;
}

uint64_t sim_flit_network_send(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                               uint32_t target, uint32_t bytes, uint32_t token)
{
    bytes = bytes > 0 ? bytes : 1;
    net_send_bytes(flits->net, source, target, 0, bytes, token);
    return take_port(flits, at_ps, source, bytes);
}

uint64_t sim_flit_network_reply(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                                uint32_t target, uint32_t bytes, uint32_t token)
{
    const unsigned char *request = sim_ways_back_find(&flits->ways_back, source, target);
    bytes = bytes > 0 ? bytes : 1;
    if (!request || !net_reply(flits->net, source, request, bytes, token)) {
        net_send_bytes(flits->net, source, target, net_replies(&flits->config), bytes, token);
    }
    return take_port(flits, at_ps, source, bytes);
}

bool sim_flit_network_is_stopped(const struct sim_flit_network *flits, uint32_t source,
                                 uint32_t token)
{
    return net_is_behind(flits->net, source, token);
}

/* ---- Multicast ----------------------------------------------------------------------------- */

const char *sim_flit_network_refusal(const struct sim_flit_network *flits)
{
    return flits->config.shape == NET_RING
               ? NULL
               : "a torus has no multicast: the tables of its routers lead round a ring only";
}

static void set_group(struct sim_flit_network *flits, uint32_t number, uint32_t first,
                      uint32_t count)
{
    uint32_t *members = calloc(count, sizeof *members);
    INVARIANT(members);
    for (uint32_t i = 0; i < count; i++) {
        members[i] = first + i;
    }
    net_group_set(flits->net, number, members, count);
    free(members);
    flits->groups[number] = (struct group){first, count};
}

/* The line of the tables for these nodes; NET_GROUPS_MAX: none is free. */
static uint32_t group_for(struct sim_flit_network *flits, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < flits->group_count; i++) {
        if (flits->groups[i].first == first && flits->groups[i].count == count) {
            return i;
        }
    }
    uint32_t number = flits->group_count;
    if (number < NET_GROUPS_MAX) {
        flits->group_count++;
    } else if (net_is_empty(flits->net)) {
        number = flits->group_next;
        flits->group_next = (number + 1) % NET_GROUPS_MAX;
    } else {
        return NET_GROUPS_MAX;
    }
    set_group(flits, number, first, count);
    return number;
}

uint64_t sim_flit_network_multicast(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                                    uint32_t first, uint32_t count, uint32_t bytes, uint32_t token)
{
    bytes = bytes > 0 ? bytes : 1;
    uint32_t group = group_for(flits, first, count);
    if (group < NET_GROUPS_MAX) {
        net_send_group_bytes(flits->net, source, group, 0, bytes, token);
        return take_port(flits, at_ps, source, bytes);
    }
    uint64_t free_ps = at_ps;
    for (uint32_t i = 0; i < count; i++) {
        free_ps = sim_flit_network_send(flits, at_ps, source, first + i, bytes, token);
    }
    return free_ps;
}

void sim_flit_network_event(struct sim_flit_network *flits, const struct sim_event *event)
{
    flits->now_ps = event->at;
    flits->next_ps = event->at + flits->period_ps;
    flits->step_is_put = false;
    flits->steps = true;
    net_step(flits->net);
    flits->steps = false;
    if (!net_is_empty(flits->net)) {
        put_step(flits, event->at);
    }
}

uint32_t sim_flit_network_hops(const struct sim_flit_network *flits, uint32_t source,
                               uint32_t target)
{
    return net_hops(&flits->config, source, target);
}

void sim_flit_network_worst(const struct sim_flit_network *flits, struct sim_network_worst *worst)
{
    struct net_link_load most = {0};
    *worst = (struct sim_network_worst){.where = "no link"};
    for (uint32_t i = 0; i < net_link_count(flits->net); i++) {
        struct net_link_load load;
        net_link_load(flits->net, i, &load);
        if (load.flits > most.flits) {
            most = load;
        }
    }
    if (most.flits > 0) {
        (void)snprintf(worst->where, sizeof worst->where,
                       "the link from router %" PRIu32 " to %" PRIu32, most.from, most.to);
        worst->carried = most.flits;
    }
}

/* From each NIC, to each NIC, then the links between routers. */
size_t sim_flit_network_load_count(const struct sim_flit_network *flits)
{
    return 2 * (size_t)flits->node_count + net_link_count(flits->net);
}

void sim_flit_network_load(const struct sim_flit_network *flits, size_t output,
                           struct sim_network_load *load)
{
    size_t ports = 2 * (size_t)flits->node_count;
    INVARIANT(flits->port_loads && output < sim_flit_network_load_count(flits));
    if (output < ports) {
        const struct port_load *port = &flits->port_loads[output];
        bool is_out = output < flits->node_count;
        size_t node = is_out ? output : output - flits->node_count;
        *load = (struct sim_network_load){
            .packets = port->packets, .bytes = port->bytes, .busy_ps = port->busy_ps};
        (void)snprintf(load->where, sizeof load->where,
                       is_out ? "node %zu, its link" : "router %zu, to its node", node);
        return;
    }
    struct net_link_load link;
    net_link_load(flits->net, (uint32_t)(output - ports), &link);
    *load = (struct sim_network_load){
        .packets = flits->link_packets[(size_t)link.from * net_ports(&flits->config) + link.port],
        .bytes = link.flits * flits->config.flit_bytes,
        .busy_ps = sim_cycles(flits->period_ps, link.flits),
    };
    (void)snprintf(load->where, sizeof load->where, "the link from router %" PRIu32 " to %" PRIu32,
                   link.from, link.to);
}
