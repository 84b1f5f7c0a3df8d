/* Packets of boards as packets of an InfiniBand subnet. */
#include "sim/model/network_subnet.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/slots.h"
#include "sim/subnet/flow.h"
#include "sim/subnet/manager.h"
#include "wire/ib_frame.h"
#include "wire/ib_link.h"
#include "wire/operation.h"

#define NONE UINT32_MAX

enum {
    SL_REQUESTS = 0,
    SL_REPLIES = 1,
    WORD_BYTES = 8,
    /* The low byte of an event's value, where the flow's events have their kinds: a packet that a
     * board sends to itself is at its port now. The subject is the packet. */
    EVENT_TURNS = 0xff,
};

/* A packet under way, with all its copies. */
struct packet {
    uint64_t at_ps; /* when it was given to its board's port */
    uint32_t token;
    uint32_t source;
    uint32_t bytes;  /* of the frame */
    uint32_t copies; /* that have not arrived */
    uint32_t next;   /* behind it at the port; of those that have not left */
    uint16_t dlid;
    uint8_t sl;
};

/* What waits at a board's port. The first is the flow's already; the flow gets the next when that
 * one leaves, since it would let lanes overtake each other. */
struct queue {
    uint32_t first, last;
};

/* An entry of the multicast tables. */
struct group {
    uint32_t first, count;
    uint32_t guest; /* a sender that is none of them; NONE: they are among themselves */
};

struct sim_subnet_network {
    struct sim_network_user user;
    const struct sim_tree *tree;
    struct subnet *subnet;
    struct agent *agent;
    struct manager *manager;
    struct flow *flow;
    uint64_t now_ps;
    uint32_t node_count;
    uint32_t width;     /* lanes of a cable */
    uint32_t bytes_max; /* of a frame */
    struct queue *queues;
    /* Of the nodes, then of the switches. Of a node free_ps is when its cable is free if nobody
     * holds it up; it may be too early, never too late. */
    struct sim_tree_output *outputs;
    struct sim_tree_load *loads; /* of the same; NULL: not counted */
    size_t *output_first;        /* by switch */
    struct sim_slots packets;
    struct group *groups;
    uint32_t group_count, group_room;
    uint32_t group_next; /* the entry that is used anew next */
};

/* ---- What there can be ------------------------------------------------------------------ */

/* How many lanes a cable of that rate has; 0: InfiniBand has none such. */
static uint32_t width_of(uint64_t bytes_per_s)
{
    static const uint32_t widths[] = {1, 4, 12};
    for (uint32_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (bytes_per_s == widths[i] * (UINT64_C(1000000000000) / FLOW_CYCLE_PS)) {
            return widths[i];
        }
    }
    return 0;
}

static struct subnet_config config_of(const struct sim_machine *machine)
{
    return (struct subnet_config){
        .linear_entries = (uint32_t)machine->switch_linear_entries,
        .multicast_entries = (uint32_t)machine->switch_multicast_entries,
        .mtu = (uint32_t)machine->switch_mtu,
        .data_vls = (uint32_t)machine->switch_data_vls,
    };
}

static uint32_t frame_bytes(uint64_t bytes)
{
    return wire_ib_frame_bytes((uint32_t)((bytes + WORD_BYTES - 1) / WORD_BYTES));
}

/* The longest that a switch takes: see flow.h. */
static uint32_t bytes_max_of(const struct sim_machine *machine)
{
    enum { HEADERS_MAX = 126 };
    return (uint32_t)machine->switch_mtu + HEADERS_MAX;
}

const char *sim_subnet_objection(const struct sim_machine *machine, char text[SIM_ERROR_BYTES])
{
    struct subnet_config config = config_of(machine);
    const char *objection = subnet_config_objection(&config);
    uint64_t longest = machine->packet_overhead_bytes + machine->packet_data_bytes +
                       WIRE_OPERATION_BYTES;
    longest = longest > machine->packet_pad_bytes ? longest : machine->packet_pad_bytes;
    if (width_of(machine->link_mb_per_s) == 0) {
        objection = "InfiniBand's links have 250, 1000 or 3000 as [link] mb_per_s (1X, 4X, 12X)";
    } else if (machine->switch_tables == 0 || machine->switch_source_routes != 0 ||
               machine->switch_resend != 0 || machine->switch_next != 0) {
        objection = "InfiniBand's switches have tables, and neither source_routes nor resend nor "
                    "next_ns";
    } else if (!objection && frame_bytes(longest) > bytes_max_of(machine)) {
        objection = "[packet] data_bytes is more than a switch's mtu";
    }
    if (objection) {
        (void)snprintf(text, SIM_ERROR_BYTES, "%s", objection);
    }
    return objection ? text : NULL;
}

bool sim_subnet_fits(const struct sim_machine *machine, const struct sim_tree *tree)
{
    uint64_t addresses = (uint64_t)tree->node_count + tree->switch_count;
    return tree->ports <= TOPOLOGY_PORTS_MAX && addresses < machine->switch_linear_entries;
}

/* ---- Laying it out ---------------------------------------------------------------------- */

/* The index, among the subnet's nodes, of a switch: the boards come first. */
static uint32_t switch_index(const struct sim_tree *tree, uint32_t level, uint32_t index)
{
    return tree->node_count + tree->levels[level].switch_first + index;
}

static void add_nodes(const struct sim_tree *tree, uint32_t width, struct topology *topology)
{
    char name[TOPOLOGY_NAME_BYTES];
    for (uint32_t i = 0; i < tree->node_count; i++) {
        (void)snprintf(name, sizeof name, "board-%u", i);
        (void)topology_add(topology, TOPOLOGY_BOARD, 1, (uint8_t)width,
                           topology_guid(TOPOLOGY_BOARD, i), name);
    }
    for (uint32_t i = 0; i < tree->switch_count; i++) {
        (void)snprintf(name, sizeof name, "switch-%u", i);
        (void)topology_add(topology, TOPOLOGY_SWITCH,
                           tree->levels[sim_tree_level_of(tree, i)].ports, (uint8_t)width,
                           topology_guid(TOPOLOGY_SWITCH, i), name);
    }
}

/* A subnet's ports count from 1, a tree's from 0. */
static void join_nodes(const struct sim_tree *tree, struct topology *topology)
{
    for (uint32_t i = 0; i < tree->node_count; i++) {
        struct sim_tree_hop hop = sim_tree_first_hop(tree, i);
        topology_join(topology, i, 1, switch_index(tree, 1, hop.index), hop.port_in + 1);
    }
    uint32_t top_first = tree->levels[tree->level_count].switch_first;
    for (uint32_t number = 0; number < top_first; number++) {
        uint32_t level = sim_tree_level_of(tree, number);
        const struct sim_tree_hop from = {level, number - tree->levels[level].switch_first, 0};
        for (uint32_t port = sim_tree_down_ports(tree); port < tree->ports; port++) {
            struct sim_tree_hop above = sim_tree_hop_on(tree, &from, port);
            topology_join(topology, switch_index(tree, level, from.index), port + 1,
                          switch_index(tree, above.level, above.index), above.port_in + 1);
        }
    }
}

static uint32_t port_of(const struct sim_subnet_network *network, uint32_t node)
{
    return subnet_port_index(network->subnet, node, 1);
}

static void lay_outputs(struct sim_subnet_network *network)
{
    const struct sim_tree *tree = network->tree;
    network->outputs = calloc(tree->output_count, sizeof *network->outputs);
    network->output_first = calloc(tree->switch_count, sizeof *network->output_first);
    network->queues = calloc(network->node_count, sizeof *network->queues);
    INVARIANT(network->outputs && network->output_first && network->queues);
    if (network->user.counts_load) {
        network->loads = calloc(tree->output_count, sizeof *network->loads);
        INVARIANT(network->loads);
    }
    size_t output = tree->node_count;
    for (uint32_t i = 0; i < tree->switch_count; i++) {
        network->output_first[i] = output;
        output += tree->levels[sim_tree_level_of(tree, i)].ports;
    }
    for (uint32_t i = 0; i < network->node_count; i++) {
        network->queues[i] = (struct queue){NONE, NONE};
    }
}

/* ---- What the flow says ----------------------------------------------------------------- */

static struct packet *packet_at(const struct sim_subnet_network *network, uint64_t slot)
{
    return sim_slots_at(&network->packets, (uint32_t)slot);
}

static void delivered(void *context, const struct flow_delivery *delivery)
{
    struct sim_subnet_network *network = context;
    struct packet *packet = packet_at(network, delivery->tag);
    uint32_t token = packet->token;
    /* The slot is given back first, because `arrived` may send. */
    if (--packet->copies == 0) {
        sim_slots_give(&network->packets, (uint32_t)delivery->tag);
    }
    network->user.arrived(network->user.context, delivery->head_ps,
                          network->subnet->ports[delivery->target].node, token);
}

/* No cable is bad, and the manager has left nobody out. */
static void lost(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
{
    (void)context;
    (void)why;
    (void)tag;
    (void)port;
    INVARIANT(false);
}

static void count_output(struct sim_subnet_network *network, size_t number, uint64_t wait_ps,
                         uint32_t bytes, uint64_t taken_ps)
{
    struct sim_tree_output *output = &network->outputs[number];
    if (network->loads) {
        network->loads[number].bytes += bytes;
        network->loads[number].busy_ps += taken_ps;
    }
    output->packets++;
    output->waited += wait_ps > 0;
    output->wait_ps_max = wait_ps > output->wait_ps_max ? wait_ps : output->wait_ps_max;
}

static void give_to_flow(struct sim_subnet_network *network, uint32_t slot)
{
    const struct packet *packet = packet_at(network, slot);
    const struct flow_packet sent = {
        .dlid = packet->dlid, .sl = packet->sl, .bytes = packet->bytes, .tag = slot};
    flow_send(network->flow, network->now_ps, port_of(network, packet->source), &sent);
}

/* A packet's head leaves its board: the next one may come to the port. */
static void entered(void *context, uint64_t tag, uint32_t port)
{
    struct sim_subnet_network *network = context;
    const struct packet *packet = packet_at(network, tag);
    uint32_t source = packet->source;
    struct queue *queue = &network->queues[source];
    struct sim_tree_output *output = &network->outputs[source];
    uint64_t taken_ps = flow_duration_ps(packet->bytes, network->width);
    uint64_t free_ps = network->now_ps + taken_ps;
    (void)port;
    INVARIANT(queue->first == tag);
    count_output(network, source, network->now_ps - packet->at_ps, packet->bytes, taken_ps);
    output->free_ps = free_ps > output->free_ps ? free_ps : output->free_ps;
    queue->first = packet->next;
    if (queue->first == NONE) {
        queue->last = NONE;
    } else {
        give_to_flow(network, queue->first);
    }
    if (network->user.left) {
        network->user.left(network->user.context, source, packet->token);
    }
}

static void sight(void *context, const struct flow_sight *sight)
{
    struct sim_subnet_network *network = context;
    const struct subnet_port *port = &network->subnet->ports[sight->from_port];
    if (sight->is_link_packet || port->node < network->node_count) {
        return;
    }
    uint32_t number = port->node - network->node_count;
    uint32_t out = port->number - 1u;
    count_output(network, network->output_first[number] + out, sight->from_ps - sight->ready_ps,
                 sight->bytes, sight->to_ps - sight->from_ps);
    if (network->user.carried) {
        network->user.carried(network->user.context, number, out, sight->from_ps, sight->to_ps,
                              packet_at(network, sight->tag)->token);
    }
}

/* ---- Opening and closing ---------------------------------------------------------------- */

/* The manager is at the first board, and is done before any packet is sent. */
static bool manage(struct sim_subnet_network *network, char text[TOPOLOGY_ERROR_BYTES])
{
    struct manager_result result;
    network->agent = agent_open(network->subnet);
    network->manager = manager_open(network->agent, port_of(network, 0),
                                    &(struct manager_config){.routing = MANAGER_UP_DOWN});
    return manager_sweep(network->manager, &result, text);
}

static const char *start(struct sim_subnet_network *network, const struct sim_machine *machine,
                         char text[TOPOLOGY_ERROR_BYTES])
{
    const struct subnet_config config = config_of(machine);
    struct topology topology = {0};
    struct flow_config flow_config;
    add_nodes(network->tree, network->width, &topology);
    join_nodes(network->tree, &topology);
    network->subnet = subnet_open(&topology, &config);
    topology_free(&topology);
    flow_config_default(&flow_config);
    flow_config.switch_ps = machine->switch_transit;
    flow_config.cable_ps = machine->link_wire;
    flow_config.buffer_flits = (uint32_t)machine->switch_buffer_flits;
    flow_config.at_head = true;
    flow_config.seed = network->user.seed + 1;
    if (flow_config_objection(&flow_config, network->subnet, text) || !manage(network, text)) {
        return text;
    }
    const struct flow_user user = {
        .context = network,
        .events = network->user.events,
        .event_kind = network->user.event_kind,
        .delivered = delivered,
        .lost = lost,
        .entered = entered,
        .sight = sight,
    };
    network->flow = flow_open(network->subnet, &flow_config, &user);
    return NULL;
}

struct sim_subnet_network *sim_subnet_network_open(const struct sim_machine *machine,
                                                   const struct sim_tree *tree,
                                                   const struct sim_network_user *user,
                                                   char error[SIM_ERROR_BYTES])
{
    char text[TOPOLOGY_ERROR_BYTES] = "";
    char objection[SIM_ERROR_BYTES];
    if (sim_subnet_objection(machine, objection)) {
        (void)snprintf(error, SIM_ERROR_BYTES, "machine %s: [switch] infiniband: %.200s",
                       machine->name, objection);
        return NULL;
    }
    struct sim_subnet_network *network = calloc(1, sizeof *network);
    INVARIANT(network && sim_subnet_fits(machine, tree));
    network->user = *user;
    network->tree = tree;
    network->node_count = tree->node_count;
    network->width = width_of(machine->link_mb_per_s);
    network->bytes_max = bytes_max_of(machine);
    network->group_room = machine->switch_multicast_entries < MANAGER_GROUPS_MAX
                              ? (uint32_t)machine->switch_multicast_entries
                              : MANAGER_GROUPS_MAX;
    network->groups = calloc(network->group_room + 1, sizeof *network->groups);
    INVARIANT(network->groups);
    sim_slots_init(&network->packets, sizeof(struct packet));
    lay_outputs(network);
    if (start(network, machine, text)) {
        (void)snprintf(error, SIM_ERROR_BYTES, "machine %s: [switch] %.200s", machine->name, text);
        sim_subnet_network_close(network);
        return NULL;
    }
    return network;
}

void sim_subnet_network_close(struct sim_subnet_network *network)
{
    flow_close(network->flow);
    manager_close(network->manager);
    if (network->agent) {
        agent_close(network->agent);
    }
    subnet_close(network->subnet);
    sim_slots_free(&network->packets);
    free(network->groups);
    free(network->queues);
    free(network->outputs);
    free(network->loads);
    free(network->output_first);
    free(network);
}

/* ---- Sending ---------------------------------------------------------------------------- */

static uint32_t make_packet(struct sim_subnet_network *network, uint64_t at_ps, uint32_t source,
                            uint32_t bytes, uint32_t copies, uint32_t token)
{
    uint32_t slot;
    struct packet *packet = sim_slots_take(&network->packets, &slot);
    *packet = (struct packet){.at_ps = at_ps,
                              .token = token,
                              .source = source,
                              .bytes = frame_bytes(bytes),
                              .copies = copies,
                              .next = NONE};
    INVARIANT(packet->bytes <= network->bytes_max && at_ps >= network->now_ps);
    network->now_ps = at_ps;
    return slot;
}

static uint16_t lid_of(const struct sim_subnet_network *network, uint32_t node)
{
    return network->subnet->ports[port_of(network, node)].lid;
}

/* To itself: it turns when those that came to the port before it are through, if nobody holds them
 * up. */
static uint64_t turn(struct sim_subnet_network *network, uint32_t slot)
{
    struct packet *packet = packet_at(network, slot);
    uint64_t free_ps = network->outputs[packet->source].free_ps;
    packet->dlid = lid_of(network, packet->source);
    if (free_ps <= network->now_ps) {
        give_to_flow(network, slot);
        return network->now_ps;
    }
    sim_events_put(network->user.events, free_ps, network->user.event_kind, slot, EVENT_TURNS);
    return free_ps;
}

/* By the cable, behind those that wait for it. */
static uint64_t leave(struct sim_subnet_network *network, uint32_t slot)
{
    const struct packet *packet = packet_at(network, slot);
    struct queue *queue = &network->queues[packet->source];
    uint64_t *free_ps = &network->outputs[packet->source].free_ps;
    *free_ps = (*free_ps > network->now_ps ? *free_ps : network->now_ps) +
               flow_duration_ps(packet->bytes, network->width);
    if (queue->first == NONE) {
        *queue = (struct queue){slot, slot};
        give_to_flow(network, slot);
    } else {
        packet_at(network, queue->last)->next = slot;
        queue->last = slot;
    }
    return *free_ps;
}

uint64_t sim_subnet_network_send(struct sim_subnet_network *network, uint64_t at_ps,
                                 uint32_t source, uint32_t target, uint32_t bytes, uint32_t token,
                                 bool is_reply)
{
    uint32_t slot = make_packet(network, at_ps, source, bytes, 1, token);
    if (target == source) {
        return turn(network, slot);
    }
    struct packet *packet = packet_at(network, slot);
    packet->dlid = lid_of(network, target);
    packet->sl = is_reply ? SL_REPLIES : SL_REQUESTS;
    return leave(network, slot);
}

/* ---- Multicast -------------------------------------------------------------------------- */

static void set_group(struct sim_subnet_network *network, uint32_t number,
                      const struct group *group)
{
    char text[TOPOLOGY_ERROR_BYTES];
    uint32_t count = group->count + (group->guest != NONE);
    uint64_t *guids = calloc(count, sizeof *guids);
    INVARIANT(guids);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = i < group->count ? group->first + i : group->guest;
        guids[i] = network->subnet->nodes[node].shape->guid + 1; /* of its port 1 */
    }
    bool is_set = manager_group_set(network->manager, (uint16_t)(SUBNET_MULTICAST_LID + number),
                                    guids, count, text);
    INVARIANT(is_set);
    free(guids);
    network->groups[number] = *group;
}

/* The entry of the tables for this group; NONE: none is free. */
static uint32_t group_for(struct sim_subnet_network *network, const struct group *group)
{
    for (uint32_t i = 0; i < network->group_count; i++) {
        const struct group *other = &network->groups[i];
        if (other->first == group->first && other->count == group->count &&
            other->guest == group->guest) {
            return i;
        }
    }
    uint32_t number = network->group_count;
    if (number < network->group_room) {
        network->group_count++;
    } else if (network->group_room > 0 && flow_under_way(network->flow) == 0) {
        number = network->group_next;
        network->group_next = (number + 1) % network->group_room;
    } else {
        return NONE;
    }
    set_group(network, number, group);
    return number;
}

uint64_t sim_subnet_network_multicast(struct sim_subnet_network *network, uint64_t at_ps,
                                      uint32_t source, uint32_t first, uint32_t count,
                                      uint32_t bytes, uint32_t token)
{
    bool is_member = source >= first && source - first < count;
    const struct group group = {first, count, is_member ? NONE : source};
    uint32_t number = count > 1 ? group_for(network, &group) : NONE;
    uint64_t free_ps = at_ps;
    if (number == NONE) {
        for (uint32_t i = 0; i < count; i++) {
            free_ps = sim_subnet_network_send(network, at_ps, source, first + i, bytes, token,
                                              false);
        }
        return free_ps;
    }
    if (is_member) {
        (void)turn(network, make_packet(network, at_ps, source, bytes, 1, token));
    }
    uint32_t slot = make_packet(network, at_ps, source, bytes, count - is_member, token);
    packet_at(network, slot)->dlid = (uint16_t)(SUBNET_MULTICAST_LID + number);
    return leave(network, slot);
}

/* ---- The rest --------------------------------------------------------------------------- */

bool sim_subnet_network_is_stopped(const struct sim_subnet_network *network, uint32_t source,
                                   uint32_t token)
{
    uint32_t slot = network->queues[source].first;
    while (slot != NONE && packet_at(network, slot)->token != token) {
        slot = packet_at(network, slot)->next;
    }
    return slot != NONE;
}

bool sim_subnet_network_route(struct sim_subnet_network *network, uint32_t switch_number,
                              uint32_t target, uint32_t port)
{
    if (switch_number >= network->tree->switch_count || target >= network->node_count ||
        !sim_tree_leads(network->tree, switch_number, target, port)) {
        return false;
    }
    subnet_linear_set(network->subnet, network->node_count + switch_number, lid_of(network, target),
                      (uint8_t)(port + 1));
    return true;
}

void sim_subnet_network_event(struct sim_subnet_network *network, const struct sim_event *event)
{
    network->now_ps = event->at;
    if ((event->value & 0xff) == EVENT_TURNS) {
        give_to_flow(network, event->subject);
    } else {
        flow_event(network->flow, event);
    }
}

void sim_subnet_network_load(const struct sim_subnet_network *network, size_t output,
                             struct sim_network_load *load)
{
    INVARIANT(network->loads && output < network->tree->output_count);
    *load = (struct sim_network_load){.packets = network->outputs[output].packets,
                                      .bytes = network->loads[output].bytes,
                                      .busy_ps = network->loads[output].busy_ps,
                                      .wait_ps_max = network->outputs[output].wait_ps_max};
    sim_tree_output_name(network->tree, output, load->where, sizeof load->where);
}

void sim_subnet_network_worst(const struct sim_subnet_network *network,
                              struct sim_network_worst *worst)
{
    size_t output = sim_tree_worst(network->tree, network->outputs);
    *worst = (struct sim_network_worst){.carried = network->outputs[output].packets,
                                        .wait_ps_max = network->outputs[output].wait_ps_max};
    sim_tree_output_name(network->tree, output, worst->where, sizeof worst->where);
}
