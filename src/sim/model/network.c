/* The network between simulated boards.
 *
 * network_flit.c has the rings and tori of routers, network_subnet.c the trees of InfiniBand
 * switches. Every other topology is a tree of switches (tree.h) with the nodes as its leaves; a
 * loop and a cable are trees without levels. From the tree's ways, tables and source routes are
 * made.
 *
 * An event is a head at the input of a switch or a node. The switch at once takes the output for
 * it, from when the head gets there or the output is free, whichever is later. Since the transit
 * is the same for all, heads get there in the order of their events, and the output serves them in
 * that order. Packets wait for an output in the switch, whose buffers are taken to be large
 * enough: no wait holds up the links behind.
 *
 * Each link (board to switch, switch to switch, switch to board) costs `link wire_ns`. The papers
 * measured that directly between the SWIFs of two boards (drivers, optics, cable; Table 5 of paper
 * 000), and every link has all of these parts. They had no switch to measure, and say only how
 * packets to one of its outputs follow each other.
 *
 * A multicast goes up until one switch has all its nodes below, and from there down; where ways
 * part, a switch makes the copies, one to an output. */
#include "sim/model/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sim/model/network_flit.h"
#include "sim/model/network_subnet.h"
#include "sim/model/routes.h"
#include "sim/model/tree.h"
#include "sim/model/ways_back.h"
#include "sim/slots.h"
#include "wire/ring_header.h"

enum {
    TREE_PORTS_MIN = 3,
    FAT_TREE_PORTS_MIN = 4,
};

/* Where a head is, in an event's subject. */
#define PLACE_DOWN UINT32_C(0x80000000) /* it has turned and goes down */
enum { PLACE_LEVEL_SHIFT = 26 };
#define PLACE_INDEX_MASK ((UINT32_C(1) << PLACE_LEVEL_SHIFT) - 1)
_Static_assert(SIM_TREE_LEVELS_MAX < 1 << (31 - PLACE_LEVEL_SHIFT),
               "a place has room for its level");
_Static_assert(WIRE_NODES_MAX <= PLACE_INDEX_MASK, "a place has room for its index");

struct topology {
    const char *text;
    uint32_t nodes_min, nodes_max;
    bool has_wire;
    uint32_t levels_max; /* 0: no switch */
    bool is_fat;         /* half of the ports lead up, not one */
};

static const struct topology topologies[SIM_TOPOLOGIES] = {
    [SIM_LOOP_INSIDE] = {"a loop inside the SWIF", 1, 1, false, 0, false},
    [SIM_LOOP_OUTSIDE] = {"a loop outside the SWIF", 1, 1, true, 0, false},
    [SIM_BACK_TO_BACK] = {"a cable between two boards", 2, 2, true, 0, false},
    [SIM_ONE_SWITCH] = {"a switch", 1, WIRE_NODES_MAX, true, 1, false},
    [SIM_SWITCH_TREE] = {"a tree of switches", 1, WIRE_NODES_MAX, true, SIM_TREE_LEVELS_MAX, false},
    [SIM_FAT_TREE] = {"a fat tree of switches", 1, WIRE_NODES_MAX, true, SIM_TREE_LEVELS_MAX, true},
    [SIM_RING] = {"a ring of routers", 2, WIRE_RING_ROUTERS_MAX, true, 0, false},
    [SIM_TORUS] = {"a torus of routers", 4, WIRE_RING_ROUTERS_MAX, true, 0, false},
};

const char *const sim_topology_names[SIM_TOPOLOGIES] = {
    [SIM_LOOP_INSIDE] = "loop-inside",
    [SIM_LOOP_OUTSIDE] = "loop-outside",
    [SIM_BACK_TO_BACK] = "back-to-back",
    [SIM_ONE_SWITCH] = "switch",
    [SIM_SWITCH_TREE] = "tree",
    [SIM_FAT_TREE] = "fat-tree",
    [SIM_RING] = "ring",
    [SIM_TORUS] = "torus",
};

enum sim_topology sim_topology_suiting(const struct sim_machine *machine, uint32_t node_count)
{
    if (node_count == 1) {
        return SIM_LOOP_OUTSIDE;
    }
    if (machine->switch_ports == 0 && node_count == 2) {
        return SIM_BACK_TO_BACK;
    }
    return node_count <= machine->switch_ports ? SIM_ONE_SWITCH : SIM_FAT_TREE;
}

#define NO_SOURCE UINT32_MAX

/* A packet on its way, with all its copies. */
struct flight {
    uint64_t duration_ps; /* how long it takes a link */
    uint32_t bytes;
    uint32_t token;
    uint32_t first, last; /* target nodes */
    uint32_t copies;      /* heads under way */
    uint32_t source;      /* of a request by a source route; NO_SOURCE: nobody takes its way back */
    uint32_t port_in;     /* of the switch that it is at, or on its way to; to one node only */
    unsigned char header[WIRE_LINE_DATA_BYTES]; /* the same */
};

struct sim_network {
    struct sim_flit_network *flits;    /* a network of routers: then the rest is unused */
    struct sim_subnet_network *subnet; /* of InfiniBand switches: then all but the tree */
    struct sim_network_user user;
    uint64_t link_bytes_per_s, wire_ps, transit_ps, next_ps;
    const char *refusal;            /* why there is no multicast; NULL: there is */
    struct sim_routes *routes;      /* NULL: ways are computed */
    struct sim_ways_back ways_back; /* of source routes */
    uint64_t damage_ppm;            /* of packets, on each link that resends */
    uint64_t resends;
    struct base_random chance;
    uint32_t node_count;
    struct sim_tree tree;
    struct sim_tree_output *outputs; /* of the nodes, then of the switches, port by port */
    struct sim_tree_load *loads;     /* of the same; NULL: not counted */
    struct sim_slots flights;
};

/* ---- Laying it out --------------------------------------------------------------------- */

static bool is_possible(const struct sim_machine *machine, enum sim_topology kind, uint32_t count,
                        char error[SIM_ERROR_BYTES])
{
    const struct topology *topology = &topologies[kind];
    const char *name = machine->name;
    if (machine->link_mb_per_s == 0) {
        (void)snprintf(error, SIM_ERROR_BYTES, "machine %s: [link] mb_per_s is 0", name);
        return false;
    }
    if (count < topology->nodes_min || count > topology->nodes_max) {
        if (topology->nodes_min == topology->nodes_max) {
            (void)snprintf(error, SIM_ERROR_BYTES, "nodes is %u, but %s (%s) has %u", count,
                           topology->text, sim_topology_names[kind], topology->nodes_min);
        } else {
            (void)snprintf(error, SIM_ERROR_BYTES, "nodes is %u, but %s (%s) has %u to %u", count,
                           topology->text, sim_topology_names[kind], topology->nodes_min,
                           topology->nodes_max);
        }
        return false;
    }
    uint64_t ports = machine->switch_ports;
    if (topology->levels_max > 0 && ports == 0) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "machine %s: [switch] ports is 0, but the topology is %s", name,
                       sim_topology_names[kind]);
        return false;
    }
    if (topology->levels_max == 1 && count > ports) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "machine %s: [switch] ports is %llu, too few for %u nodes", name,
                       (unsigned long long)ports, count);
        return false;
    }
    uint64_t ports_min = topology->is_fat ? FAT_TREE_PORTS_MIN : TREE_PORTS_MIN;
    if (topology->levels_max > 1 && ports < ports_min) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "machine %s: [switch] ports is %llu, a tree needs %s up and two down", name,
                       (unsigned long long)ports, topology->is_fat ? "two" : "one");
        return false;
    }
    return true;
}

/* ---- Ways ------------------------------------------------------------------------------ */

static void fill_tables(struct sim_network *network)
{
    for (uint32_t level = 1; level <= network->tree.level_count; level++) {
        const struct sim_tree_level *of = &network->tree.levels[level];
        uint32_t end = level < network->tree.level_count ? of[1].switch_first
                                                         : network->tree.switch_count;
        for (uint32_t number = of->switch_first; number < end; number++) {
            for (uint32_t target = 0; target < network->node_count; target++) {
                sim_routes_set(
                    network->routes, number, target,
                    sim_tree_port_to(&network->tree, level, number - of->switch_first, target));
            }
        }
    }
}

static bool lay_routes(struct sim_network *network, const struct sim_machine *machine,
                       char error[SIM_ERROR_BYTES])
{
    uint64_t entries = (uint64_t)network->tree.switch_count * network->node_count;
    uint32_t hops = 2 * network->tree.level_count - 1;
    if (machine->switch_tables != 0) {
        if (entries <= SIM_ROUTES_ENTRIES_MAX) {
            network->routes = sim_routes_open(SIM_ROUTING_TABLE, network->tree.switch_count,
                                              network->node_count);
            fill_tables(network);
        }
    } else if (machine->switch_source_routes != 0) {
        if (hops > WIRE_OIP_HOPS_MAX || network->tree.ports > UINT8_MAX) {
            (void)snprintf(error, SIM_ERROR_BYTES,
                           "machine %s: %u nodes are up to %u switches of %u ports apart; a source "
                           "route names %d switches and ports up to 255",
                           machine->name, network->node_count, hops, network->tree.ports,
                           WIRE_OIP_HOPS_MAX);
            return false;
        }
        network->routes = sim_routes_open(SIM_ROUTING_SOURCE, network->tree.switch_count,
                                          network->node_count);
    }
    return true;
}

bool sim_links_resend(const struct sim_machine *machine, enum sim_topology topology)
{
    return topologies[topology].has_wire && machine->switch_resend != 0 && topology != SIM_RING &&
           topology != SIM_TORUS;
}

bool sim_links_lose(const struct sim_machine *machine, enum sim_topology topology)
{
    return topologies[topology].has_wire && machine->link_loss_ppm > 0 &&
           !sim_links_resend(machine, topology);
}

struct sim_network *sim_network_open(const struct sim_machine *machine, enum sim_topology topology,
                                     uint32_t node_count, const struct sim_network_user *user,
                                     char error[SIM_ERROR_BYTES])
{
    INVARIANT(topology < SIM_TOPOLOGIES && user->events && user->arrived);
    if (!is_possible(machine, topology, node_count, error)) {
        return NULL;
    }
    struct sim_network *network = calloc(1, sizeof *network);
    INVARIANT(network);
    network->user = *user;
    network->node_count = network->ways_back.node_count = node_count;
    if (topology == SIM_RING || topology == SIM_TORUS) {
        network->flits = sim_flit_network_open(machine, topology, node_count, user, error);
        if (!network->flits) {
            free(network);
            return NULL;
        }
        network->refusal = sim_flit_network_refusal(network->flits);
        return network;
    }
    network->refusal = "multicast needs a switch or a ring of routers";
    network->link_bytes_per_s = machine->link_mb_per_s;
    network->wire_ps = topologies[topology].has_wire ? machine->link_wire : 0;
    sim_slots_init(&network->flights, sizeof(struct flight));
    sim_tree_init(&network->tree, node_count);
    if (topologies[topology].levels_max > 0) {
        sim_tree_lay(&network->tree, machine->switch_ports, topologies[topology].is_fat);
        network->transit_ps = machine->switch_transit;
        network->next_ps = machine->switch_next;
        network->refusal = machine->switch_multicast ? NULL : "its switches have no multicast";
        bool is_subnet = machine->switch_infiniband != 0 &&
                         sim_subnet_fits(machine, &network->tree);
        if (is_subnet) {
            network->subnet = sim_subnet_network_open(machine, &network->tree, user, error);
        }
        if (is_subnet ? !network->subnet : !lay_routes(network, machine, error)) {
            free(network);
            return NULL;
        }
    }
    if (network->subnet) {
        return network;
    }
    network->damage_ppm = sim_links_resend(machine, topology) ? machine->link_loss_ppm : 0;
    network->chance = (struct base_random){user->seed + 1};
    network->outputs = calloc(network->tree.output_count, sizeof *network->outputs);
    INVARIANT(network->outputs);
    if (user->counts_load) {
        network->loads = calloc(network->tree.output_count, sizeof *network->loads);
        INVARIANT(network->loads);
    }
    return network;
}

void sim_network_close(struct sim_network *network)
{
    if (network && network->flits) {
        sim_flit_network_close(network->flits);
        free(network);
    } else if (network && network->subnet) {
        sim_subnet_network_close(network->subnet);
        free(network);
    } else if (network) {
        sim_slots_free(&network->flights);
        sim_routes_close(network->routes);
        sim_ways_back_free(&network->ways_back);
        free(network->outputs);
        free(network->loads);
        free(network);
    }
}

/* ---- Packets under way ----------------------------------------------------------------- */

static const struct flight *flight_at(const struct sim_network *network, uint32_t slot)
{
    return sim_slots_at(&network->flights, slot);
}

static void land(struct sim_network *network, uint32_t slot)
{
    struct flight *flight = sim_slots_at(&network->flights, slot);
    if (--flight->copies == 0) {
        sim_slots_give(&network->flights, slot);
    }
}

/* Rounded up; in two steps, because 2^32 * 10^12 does not fit into 64 bits. */
static uint64_t duration_ps(const struct sim_network *network, uint32_t bytes)
{
    uint64_t rate = network->link_bytes_per_s;
    uint64_t of_ns = bytes * UINT64_C(1000000000);
    return of_ns / rate * 1000 + (of_ns % rate * 1000 + rate - 1) / rate;
}

/* ---- The way --------------------------------------------------------------------------- */

static uint32_t place_of(uint32_t level, uint32_t index)
{
    return level << PLACE_LEVEL_SHIFT | index;
}

/* Takes the output for one packet; returns when its head leaves. */
static uint64_t take_output(struct sim_tree_output *output, uint64_t at_ps, uint64_t taken_ps)
{
    uint64_t from_ps = at_ps;
    if (output->free_ps > at_ps) {
        uint64_t wait_ps = output->free_ps - at_ps;
        from_ps = output->free_ps;
        output->waited++;
        output->wait_ps_max = wait_ps > output->wait_ps_max ? wait_ps : output->wait_ps_max;
    }
    output->packets++;
    output->free_ps = from_ps + taken_ps;
    return from_ps;
}

static void count_load(struct sim_network *network, size_t output, uint32_t bytes,
                       uint64_t taken_ps)
{
    if (network->loads) {
        network->loads[output].bytes += bytes;
        network->loads[output].busy_ps += taken_ps;
    }
}

/* How much later a head is because its packet was damaged on this link, perhaps again and again:
 * each time the tail comes first, and the word of it goes back. */
static uint64_t resend_ps(struct sim_network *network, uint64_t length_ps, uint64_t wire_ps)
{
    enum { MILLION = 1000000 };
    uint64_t later_ps = 0;
    while (network->damage_ppm > 0 &&
           base_random_below(&network->chance, MILLION) < network->damage_ppm) {
        network->resends++;
        later_ps += length_ps + 2 * wire_ps;
    }
    return later_ps;
}

/* A head goes on from a switch of that level through one of its ports to a place. */
static void go_on(struct sim_network *network, uint64_t at_ps, uint32_t level, uint32_t index,
                  uint32_t port, uint32_t place, uint32_t slot)
{
    const struct sim_tree_level *of = &network->tree.levels[level];
    const struct flight *flight = flight_at(network, slot);
    uint64_t length_ps = flight->duration_ps;
    uint64_t taken_ps = length_ps > network->next_ps ? length_ps : network->next_ps;
    INVARIANT(port < of->ports);
    size_t number = of->output_first + (size_t)index * of->ports + port;
    uint64_t later_ps = resend_ps(network, length_ps, network->wire_ps);
    uint64_t from_ps = take_output(&network->outputs[number], at_ps, taken_ps + later_ps);
    count_load(network, number, flight->bytes, taken_ps + later_ps);
    sim_events_put(network->user.events, from_ps + later_ps + network->wire_ps,
                   network->user.event_kind, place, slot);
    if (network->user.carried) {
        network->user.carried(network->user.context, of->switch_first + index, port, from_ps,
                              from_ps + length_ps, flight->token);
    }
}

/* The head of a packet to one node is at the input of a switch: its header says where it goes. */
static void pass_by_header(struct sim_network *network, uint64_t at_ps, uint32_t level,
                           uint32_t index, uint32_t slot)
{
    struct flight *flight = sim_slots_at(&network->flights, slot);
    const struct sim_tree_hop from = {level, index, flight->port_in};
    uint32_t port = sim_routes_next(network->routes,
                                    network->tree.levels[level].switch_first + index,
                                    flight->port_in, flight->header);
    const struct sim_tree_hop to = sim_tree_hop_on(&network->tree, &from, port);
    flight->port_in = to.port_in;
    go_on(network, at_ps + network->transit_ps, level, index, port,
          (to.level < level ? PLACE_DOWN : 0) | place_of(to.level, to.index), slot);
}

/* A head is at the input of a switch. */
static void pass(struct sim_network *network, uint64_t at_ps, uint32_t level, uint32_t index,
                 bool is_down, uint32_t slot)
{
    struct flight *flight = sim_slots_at(&network->flights, slot);
    uint32_t down_ports = sim_tree_down_ports(&network->tree);
    uint64_t out_ps = at_ps + network->transit_ps;
    if (network->routes && flight->first == flight->last) {
        pass_by_header(network, at_ps, level, index, slot);
        return;
    }
    if (!is_down && sim_tree_goes_up(&network->tree, level, index, flight->first, flight->last)) {
        uint32_t up = sim_tree_port_up(&network->tree, level, flight->first);
        uint32_t above = sim_tree_above(&network->tree, level, index, up);
        go_on(network, out_ps, level, index, down_ports + up, place_of(level + 1, above), slot);
        return;
    }
    uint32_t port_first = sim_tree_port_down(&network->tree, level, index, flight->first);
    uint32_t port_last = port_first;
    if (flight->last != flight->first) {
        const struct sim_tree_level *of = &network->tree.levels[level];
        uint32_t port_end = level == network->tree.level_count ? of->ports : down_ports;
        uint32_t node_first = index / of->copies * of->span;
        port_last = (flight->last - node_first) / network->tree.levels[level - 1].span;
        port_last = port_last < port_end ? port_last : port_end - 1;
    }
    flight->copies += port_last - port_first;
    for (uint32_t port = port_first; port <= port_last; port++) {
        uint32_t below = sim_tree_below(&network->tree, level, index, port);
        go_on(network, out_ps, level, index, port, PLACE_DOWN | place_of(level - 1, below), slot);
    }
}

void sim_network_expect(const struct sim_network *network, const struct sim_event_load *event)
{
    if (!network->flits && !network->subnet) {
        prefetch_to_write(flight_at(network, (uint32_t)event->value));
    }
}

bool sim_network_expect_soon(const struct sim_network *network, const struct sim_event_load *event,
                             uint32_t *node, uint32_t *token)
{
    if (network->flits || network->subnet) {
        return false;
    }
    const struct flight *flight = flight_at(network, (uint32_t)event->value);
    uint32_t index = event->subject & PLACE_INDEX_MASK;
    uint32_t level = (event->subject & ~PLACE_DOWN) >> PLACE_LEVEL_SHIFT;
    if (level == 0) {
        *node = index;
        *token = flight->token;
        return true;
    }
    const struct sim_tree_level *of = &network->tree.levels[level];
    uint32_t port = 0;
    if (!(event->subject & PLACE_DOWN) &&
        sim_tree_goes_up(&network->tree, level, index, flight->first, flight->last)) {
        port = sim_tree_down_ports(&network->tree) +
               sim_tree_port_up(&network->tree, level, flight->first);
    } else {
        port = sim_tree_port_down(&network->tree, level, index, flight->first);
    }
    prefetch_to_write(&network->outputs[of->output_first + (size_t)index * of->ports + port]);
    return false;
}

void sim_network_event(struct sim_network *network, const struct sim_event *event)
{
    if (network->flits) {
        sim_flit_network_event(network->flits, event);
        return;
    }
    if (network->subnet) {
        sim_subnet_network_event(network->subnet, event);
        return;
    }
    uint32_t slot = (uint32_t)event->value;
    uint32_t index = event->subject & PLACE_INDEX_MASK;
    uint32_t level = (event->subject & ~PLACE_DOWN) >> PLACE_LEVEL_SHIFT;
    if (level > 0) {
        pass(network, event->at, level, index, event->subject & PLACE_DOWN, slot);
        return;
    }
    const struct flight *flight = flight_at(network, slot);
    if (flight->source != NO_SOURCE) {
        sim_ways_back_keep(&network->ways_back, index, flight->source, flight->header);
    }
    /* The slot is given back first, because `arrived` may send. */
    uint32_t token = flight->token;
    land(network, slot);
    network->user.arrived(network->user.context, event->at, index, token);
}

/* The sender's header. By source routes a reply goes back as the request came. */
static void begin_route(const struct sim_network *network, uint32_t source, bool is_reply,
                        struct flight *flight)
{
    uint8_t ports[WIRE_OIP_HOPS_MAX];
    uint32_t hops = 0;
    bool is_by_source = sim_routes_kind(network->routes) == SIM_ROUTING_SOURCE;
    struct sim_tree_hop at = sim_tree_first_hop(&network->tree, source);
    flight->port_in = at.port_in;
    flight->source = is_by_source && !is_reply ? source : NO_SOURCE;
    const unsigned char *request = NULL;
    if (is_by_source && is_reply) {
        request = sim_ways_back_find(&network->ways_back, source, flight->first);
    }
    if (request) {
        sim_routes_begin_back(network->routes, request, flight->header);
        return;
    }
    while (is_by_source && at.level > 0) {
        uint32_t port = sim_tree_port_to(&network->tree, at.level, at.index, flight->first);
        INVARIANT(hops < WIRE_OIP_HOPS_MAX);
        ports[hops++] = (uint8_t)port;
        at = sim_tree_hop_on(&network->tree, &at, port);
    }
    sim_routes_begin(network->routes, source, flight->first, ports, hops, flight->header);
}

static uint64_t leave(struct sim_network *network, uint64_t at_ps, uint32_t source, uint32_t first,
                      uint32_t last, uint32_t bytes, uint32_t token, bool is_reply)
{
    uint64_t length_ps = duration_ps(network, bytes);
    struct sim_tree_output *output = &network->outputs[source];
    /* To itself: it turns inside the SWIF, since the cable leads elsewhere. */
    bool is_inside = network->tree.level_count == 0 && network->node_count > 1 && first == source;
    uint64_t wire_ps = is_inside ? 0 : network->wire_ps;
    uint64_t later_ps = is_inside ? 0 : resend_ps(network, length_ps, wire_ps);
    uint32_t place = network->tree.level_count > 0
                         ? place_of(1, source / network->tree.levels[1].span)
                         : first;
    uint64_t from_ps = take_output(output, at_ps, length_ps + later_ps);
    count_load(network, source, bytes, length_ps + later_ps);
    uint32_t slot;
    struct flight *flight = sim_slots_take(&network->flights, &slot);
    *flight = (struct flight){.duration_ps = length_ps,
                              .bytes = bytes,
                              .token = token,
                              .first = first,
                              .last = last,
                              .copies = 1,
                              .source = NO_SOURCE};
    if (network->routes && first == last) {
        begin_route(network, source, is_reply, flight);
    }
    sim_events_put(network->user.events, from_ps + later_ps + wire_ps, network->user.event_kind,
                   place, slot);
    return output->free_ps;
}

uint64_t sim_network_send(struct sim_network *network, uint64_t at_ps, uint32_t source,
                          uint32_t target, uint32_t bytes, uint32_t token)
{
    INVARIANT(source < network->node_count && target < network->node_count);
    if (network->flits) {
        return sim_flit_network_send(network->flits, at_ps, source, target, bytes, token);
    }
    if (network->subnet) {
        return sim_subnet_network_send(network->subnet, at_ps, source, target, bytes, token, false);
    }
    return leave(network, at_ps, source, target, target, bytes, token, false);
}

bool sim_network_is_stopped(const struct sim_network *network, uint32_t source, uint32_t token)
{
    if (network->subnet) {
        return sim_subnet_network_is_stopped(network->subnet, source, token);
    }
    return network->flits && sim_flit_network_is_stopped(network->flits, source, token);
}

uint64_t sim_network_reply(struct sim_network *network, uint64_t at_ps, uint32_t source,
                           uint32_t target, uint32_t bytes, uint32_t token)
{
    INVARIANT(source < network->node_count && target < network->node_count);
    if (network->flits) {
        return sim_flit_network_reply(network->flits, at_ps, source, target, bytes, token);
    }
    if (network->subnet) {
        return sim_subnet_network_send(network->subnet, at_ps, source, target, bytes, token, true);
    }
    return leave(network, at_ps, source, target, target, bytes, token, true);
}

bool sim_network_route(struct sim_network *network, uint32_t switch_number, uint32_t target,
                       uint32_t port)
{
    if (network->subnet) {
        return sim_subnet_network_route(network->subnet, switch_number, target, port);
    }
    if (!network->routes || sim_routes_kind(network->routes) != SIM_ROUTING_TABLE ||
        switch_number >= network->tree.switch_count || target >= network->node_count ||
        !sim_tree_leads(&network->tree, switch_number, target, port)) {
        return false;
    }
    sim_routes_set(network->routes, switch_number, target, port);
    return true;
}

uint64_t sim_network_resends(const struct sim_network *network)
{
    return network->resends;
}

bool sim_network_can_multicast(const struct sim_network *network)
{
    return !network->refusal;
}

const char *sim_network_refusal(const struct sim_network *network)
{
    return network->refusal;
}

uint64_t sim_network_multicast(struct sim_network *network, uint64_t at_ps, uint32_t source,
                               uint32_t first, uint32_t count, uint32_t bytes, uint32_t token)
{
    INVARIANT(!network->refusal && source < network->node_count);
    INVARIANT(count > 0 && first < network->node_count && count <= network->node_count - first);
    if (network->flits) {
        return sim_flit_network_multicast(network->flits, at_ps, source, first, count, bytes,
                                          token);
    }
    if (network->subnet) {
        return sim_subnet_network_multicast(network->subnet, at_ps, source, first, count, bytes,
                                            token);
    }
    return leave(network, at_ps, source, first, first + count - 1, bytes, token, false);
}

/* ---- For reports ----------------------------------------------------------------------- */

uint32_t sim_network_hops(const struct sim_network *network, uint32_t source, uint32_t target)
{
    INVARIANT(source < network->node_count && target < network->node_count);
    if (network->flits) {
        return sim_flit_network_hops(network->flits, source, target);
    }
    return sim_tree_hops(&network->tree, source, target);
}

void sim_network_worst(const struct sim_network *network, struct sim_network_worst *worst)
{
    if (network->flits) {
        sim_flit_network_worst(network->flits, worst);
        return;
    }
    if (network->subnet) {
        sim_subnet_network_worst(network->subnet, worst);
        return;
    }
    size_t number = sim_tree_worst(&network->tree, network->outputs);
    *worst = (struct sim_network_worst){.carried = network->outputs[number].packets,
                                        .wait_ps_max = network->outputs[number].wait_ps_max};
    sim_tree_output_name(&network->tree, number, worst->where, sizeof worst->where);
}

size_t sim_network_load_count(const struct sim_network *network)
{
    return network->flits ? sim_flit_network_load_count(network->flits)
                          : network->tree.output_count;
}

void sim_network_load(const struct sim_network *network, size_t output,
                      struct sim_network_load *load)
{
    if (network->flits) {
        sim_flit_network_load(network->flits, output, load);
        return;
    }
    if (network->subnet) {
        sim_subnet_network_load(network->subnet, output, load);
        return;
    }
    INVARIANT(network->loads && output < network->tree.output_count);
    *load = (struct sim_network_load){.packets = network->outputs[output].packets,
                                      .bytes = network->loads[output].bytes,
                                      .busy_ps = network->loads[output].busy_ps,
                                      .wait_ps_max = network->outputs[output].wait_ps_max};
    sim_tree_output_name(&network->tree, output, load->where, sizeof load->where);
}
