/* Random runs of a subnet, and the log of all that began on its cables, which
 * flow_replay_test.c replays. */
#ifndef TESTS_FLOW_REPLAY_H
#define TESTS_FLOW_REPLAY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

#include "sim/subnet/flow.h"
#include "sim/subnet/manager.h"
#include "sim/subnet/topology_make.h"

#define NONE UINT32_MAX
#define NEVER UINT64_MAX

enum {
    CYCLE_PS = 4000, /* of a lane, for a byte */
    FLIT = 64,
    MODULO = 4096,
    LANES = 16, /* 15 is management */
    GROUP = 0xc001,
    PACKETS = 6000,
};

/* ---- The log ---------------------------------------------------------------------------- */

/* Something on a cable. */
struct thing {
    struct flow_sight sight;
    uint64_t busy_from_ps; /* the cable has not been idle since */
    uint64_t asked_ps;     /* of a packet in a switch: it may ask for its outputs */
    uint64_t left_ps;      /* its tail has left the buffer behind the cable, or been taken */
    uint32_t came_by;      /* a packet in a switch: the thing by which it came */
    uint32_t in_port;      /* behind the cable */
    uint32_t tag_next;     /* before it, of the same packet */
    uint32_t ways;         /* outputs by which it went on */
    uint32_t hops;         /* that its delivery told */
    bool is_delivered, is_dropped;
};

struct sent {
    struct flow_packet packet;
    uint64_t at_ps;
    uint32_t port;
    uint32_t things;    /* the newest, by tag_next */
    uint32_t own_count; /* deliveries without a cable */
};

struct list {
    uint32_t *items; /* things in the order in which they began */
    uint32_t count, room;
};

struct setup {
    const char *shape;
    uint32_t buffer_flits, mtu, bytes_most;
    uint64_t gap_ps; /* between packets of all boards, in the mean */
    double bit_error_rate;
    bool mixes_widths, has_multicast, has_management;
    uint8_t high_limit; /* 255 for no limit */
};

struct world {
    const struct setup *setup;
    struct base_random random;
    struct subnet *subnet;
    struct flow_config config;
    struct flow *flow;
    struct sim_events events;
    uint64_t now_ps;
    struct thing *things;
    uint32_t thing_count, thing_room;
    struct sent *sent;
    uint32_t sent_count;
    struct list *by_cable;        /* by port */
    struct list *by_output;       /* packets, by port and lane */
    struct list *by_link_packets; /* those of a lane, by the port that sends them */
    uint64_t *own_free_ps;        /* by port: of packets to itself */
    uint64_t deliveries, damaged, dropped;
    uint64_t held_up; /* packets that waited for credits and for nothing else */
    uint64_t wrapped; /* packets behind 4,096 flits of their lane */
};

static inline void put(struct list *list, uint32_t item)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = item;
}

static inline size_t at_lane(uint32_t port, uint32_t lane)
{
    return (size_t)port * LANES + lane;
}

static inline uint32_t flits_of(uint32_t bytes)
{
    return (bytes + FLIT - 1) / FLIT;
}

/* The packet's thing that came into that port; NONE: there is none. */
static inline uint32_t find_into(const struct world *world, uint64_t tag, uint32_t in_port)
{
    uint32_t item = world->sent[tag].things;
    while (item != NONE && world->things[item].in_port != in_port) {
        item = world->things[item].tag_next;
    }
    return item;
}

static inline void on_sight(void *context, const struct flow_sight *sight)
{
    struct world *world = context;
    assert_int_equal(sight->from_ps, world->now_ps);
    if (world->thing_count == world->thing_room) {
        world->thing_room = world->thing_room ? 2 * world->thing_room : 1024;
        world->things = realloc(world->things, world->thing_room * sizeof *world->things);
        assert_non_null(world->things);
    }
    uint32_t item = world->thing_count++;
    struct thing *thing = &world->things[item];
    *thing = (struct thing){.sight = *sight,
                            .came_by = NONE,
                            .in_port = world->subnet->ports[sight->from_port].peer,
                            .tag_next = NONE};
    put(&world->by_cable[sight->from_port], item);
    if (sight->is_link_packet) {
        put(&world->by_link_packets[at_lane(sight->from_port, sight->vl)], item);
        return;
    }
    struct sent *sent = &world->sent[sight->tag];
    thing->tag_next = sent->things;
    sent->things = item;
    put(&world->by_output[at_lane(sight->from_port, sight->vl)], item);
}

static inline void on_delivered(void *context, const struct flow_delivery *delivery)
{
    struct world *world = context;
    world->deliveries++;
    uint32_t item = find_into(world, delivery->tag, delivery->target);
    if (item == NONE) { /* to itself, one after the other */
        struct sent *sent = &world->sent[delivery->tag];
        const struct subnet_port *port = &world->subnet->ports[delivery->target];
        uint64_t *free_ps = &world->own_free_ps[delivery->target];
        assert_int_equal(delivery->target, delivery->source);
        sent->own_count++;
        *free_ps = (*free_ps > sent->at_ps ? *free_ps : sent->at_ps) +
                   (uint64_t)((delivery->bytes + 2 + port->width - 1U) / port->width) * CYCLE_PS;
        assert_int_equal(world->now_ps, *free_ps);
        return;
    }
    struct thing *thing = &world->things[item];
    assert_false(thing->is_delivered);
    thing->is_delivered = true;
    thing->hops = delivery->hops;
    assert_int_equal(thing->sight.wrong_bits, 0);
    /* The last flit is there now. */
    assert_int_equal(world->now_ps, thing->sight.to_ps + world->config.cable_ps);
    assert_int_equal(delivery->tail_ps, world->now_ps);
    assert_int_equal(delivery->head_ps, thing->sight.from_ps + world->config.cable_ps);
    assert_int_equal(delivery->sent_ps, world->sent[delivery->tag].at_ps);
}

static inline void on_lost(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
{
    struct world *world = context;
    uint32_t item = find_into(world, tag, port);
    assert_true(item != NONE);
    struct thing *thing = &world->things[item];
    assert_false(thing->is_dropped || thing->is_delivered);
    thing->is_dropped = true;
    if (why == FLOW_DAMAGED) {
        assert_true(thing->sight.wrong_bits > 0);
        world->damaged++;
    } else {
        assert_int_equal(why, FLOW_NO_ROOM);
        assert_int_equal(thing->sight.vl, 15);
        world->dropped++;
    }
}

/* ---- A run ------------------------------------------------------------------------------ */

static inline void mix_widths(struct world *world, struct topology *topology)
{
    static const uint8_t widths[] = {1, 4, 12};
    for (uint32_t node = 0; node < topology->node_count; node++) {
        for (uint32_t p = 1; p <= topology->nodes[node].port_count; p++) {
            struct topology_port *port = topology_port(topology, node, p);
            if (port->peer_node != TOPOLOGY_NONE) {
                port->width = widths[base_random_below(&world->random, 3)];
                topology_port(topology, port->peer_node, port->peer_port)->width = port->width;
            }
        }
    }
}

/* Lane 0 has high priority; the others have uneven shares of what is left, each in its order. */
static inline void set_arbitration(struct world *world)
{
    for (uint32_t i = 0; i < world->subnet->port_count; i++) {
        struct subnet_port *port = &world->subnet->ports[i];
        memset(port->high, 0, sizeof port->high);
        memset(port->low, 0, sizeof port->low);
        port->high_limit = world->setup->high_limit;
        port->high[1] = (struct subnet_arbitration_row){.vl = 0, .weight = 9};
        for (uint32_t row = 0; row < 8; row++) {
            uint8_t weight = (uint8_t)base_random_below(&world->random, 80);
            port->low[row] = (struct subnet_arbitration_row){
                .vl = (uint8_t)(row % 4), .weight = row < 4 ? (uint8_t)(weight + 1) : weight};
        }
        port->low[0].weight = port->low[4].weight = 0;
    }
}

static inline bool is_member(uint32_t node)
{
    return node % 4 != 3;
}

static inline void bring_up(struct world *world)
{
    struct topology topology = {0};
    struct subnet_config config;
    struct manager_result result;
    const struct manager_config manager_config = {.routing = MANAGER_UP_DOWN};
    char error[TOPOLOGY_ERROR_BYTES];
    assert_true(topology_make(world->setup->shape, &topology, error));
    if (world->setup->mixes_widths) {
        mix_widths(world, &topology);
    }
    assert_null(topology_objection(&topology, error));
    subnet_config_default(&config);
    config.mtu = world->setup->mtu;
    world->subnet = subnet_open(&topology, &config);
    struct agent *agent = agent_open(world->subnet);
    struct manager *manager = manager_open(agent, subnet_port_index(world->subnet, 0, 1),
                                           &manager_config);
    assert_true(manager_sweep(manager, &result, error));
    uint64_t guids[64];
    uint32_t count = 0;
    for (uint32_t node = 0; node < topology.node_count; node++) {
        if (topology.nodes[node].kind == TOPOLOGY_BOARD && is_member(node)) {
            guids[count++] = topology.nodes[node].guid + 1;
        }
    }
    assert_true(manager_group_set(manager, GROUP, guids, count, error));
    assert_true(manager_sweep(manager, &result, error));
    manager_close(manager);
    agent_close(agent);
    topology_free(&topology);
    set_arbitration(world);
}

static inline uint32_t any_board_port(struct world *world)
{
    uint32_t node;
    do {
        node = (uint32_t)base_random_below(&world->random, world->subnet->node_count);
    } while (subnet_is_switch(world->subnet, node));
    return subnet_port_index(world->subnet, node, 1);
}

static inline void send_any(struct world *world)
{
    const struct setup *setup = world->setup;
    struct sent *sent = &world->sent[world->sent_count];
    uint32_t target = any_board_port(world);
    uint32_t source = any_board_port(world);
    bool is_multicast = setup->has_multicast && is_member(world->subnet->ports[source].node) &&
                        base_random_below(&world->random, 8) == 0;
    *sent = (struct sent){
        .packet = {.dlid = is_multicast ? GROUP : world->subnet->ports[target].lid,
                   .sl = (uint8_t)base_random_below(&world->random, 4),
                   .bytes = 26 + 4 * (uint32_t)base_random_below(&world->random,
                                                                 (setup->bytes_most - 26) / 4 + 1),
                   .tag = world->sent_count},
        .at_ps = world->now_ps,
        .port = source,
        .things = NONE,
    };
    sent->packet.is_management = setup->has_management && !is_multicast &&
                                 base_random_below(&world->random, 6) == 0;
    world->sent_count++;
    flow_send(world->flow, world->now_ps, sent->port, &sent->packet);
}

static inline void run(struct world *world)
{
    struct sim_event event;
    char text[TOPOLOGY_ERROR_BYTES];
    const struct flow_user user = {.context = world,
                                   .events = &world->events,
                                   .delivered = on_delivered,
                                   .lost = on_lost,
                                   .sight = on_sight};
    flow_config_default(&world->config);
    world->config.buffer_flits = world->setup->buffer_flits;
    world->config.bit_error_rate = world->setup->bit_error_rate;
    world->config.seed = world->random.state;
    assert_null(flow_config_objection(&world->config, world->subnet, text));
    world->flow = flow_open(world->subnet, &world->config, &user);
    while (world->sent_count < PACKETS) {
        uint64_t until_ps = world->now_ps +
                            base_random_below(&world->random, 2 * world->setup->gap_ps);
        while (sim_events_next(&world->events) <= until_ps &&
               sim_events_take(&world->events, &event)) {
            world->now_ps = event.at;
            flow_event(world->flow, &event);
        }
        world->now_ps = until_ps;
        /* A burst now and then. */
        uint32_t count = base_random_below(&world->random, 50) == 0 ? 50 : 1;
        while (count-- > 0 && world->sent_count < PACKETS) {
            send_any(world);
        }
    }
    while (sim_events_take(&world->events, &event)) {
        world->now_ps = event.at;
        flow_event(world->flow, &event);
    }
    assert_int_equal(flow_under_way(world->flow), 0);
}

#endif
