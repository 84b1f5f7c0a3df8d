/* A log of all that began on any cable, replayed flit by flit from the five rules of
 * doc/infiniband.md ("What a packet meets"), without a look at the simulator's state.
 *
 * A run is recorded: what was sent, what began on which cable (flow_sight), what was delivered or
 * lost. The replay gives each packet that came into a buffer the time at which it may ask, at which
 * its tail has left, and at which there was credit for it by the link packets that had come, and
 * holds the log against them. Two things at one instant may come in either order. */
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

static void put(struct list *list, uint32_t item)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 16;
        list->items = realloc(list->items, list->room * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = item;
}

static size_t at_lane(uint32_t port, uint32_t lane)
{
    return (size_t)port * LANES + lane;
}

static uint32_t flits_of(uint32_t bytes)
{
    return (bytes + FLIT - 1) / FLIT;
}

/* The packet's thing that came into that port; NONE: there is none. */
static uint32_t find_into(const struct world *world, uint64_t tag, uint32_t in_port)
{
    uint32_t item = world->sent[tag].things;
    while (item != NONE && world->things[item].in_port != in_port) {
        item = world->things[item].tag_next;
    }
    return item;
}

static void on_sight(void *context, const struct flow_sight *sight)
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

static void on_delivered(void *context, const struct flow_delivery *delivery)
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

static void on_lost(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
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

static void mix_widths(struct world *world, struct topology *topology)
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
static void set_arbitration(struct world *world)
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

static bool is_member(uint32_t node)
{
    return node % 4 != 3;
}

static void bring_up(struct world *world)
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

static uint32_t any_board_port(struct world *world)
{
    uint32_t node;
    do {
        node = (uint32_t)base_random_below(&world->random, world->subnet->node_count);
    } while (subnet_is_switch(world->subnet, node));
    return subnet_port_index(world->subnet, node, 1);
}

static void send_any(struct world *world)
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

static void run(struct world *world)
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

/* ---- Flits ------------------------------------------------------------------------------ */

struct span {
    uint64_t from_ps, to_ps;
};

/* When a flit of a packet is on a cable, at the end where it begins. A symbol goes before the first
 * byte and one behind the last. */
static struct span flit_span(const struct world *world, const struct thing *thing, uint32_t flit)
{
    uint32_t width = world->subnet->ports[thing->sight.from_port].width;
    uint32_t bytes = thing->sight.bytes;
    uint32_t first = flit == 0 ? 0 : 1 + flit * FLIT;
    uint32_t last = (flit + 1) * FLIT >= bytes ? bytes + 1 : (flit + 1) * FLIT;
    return (struct span){thing->sight.from_ps + (uint64_t)(first / width) * CYCLE_PS,
                         thing->sight.from_ps + (uint64_t)(last / width + 1) * CYCLE_PS};
}

/* A flit is through the switch 160 ns after it has come, at its begin as at its end. */
static void check_flits_through(const struct world *world, const struct thing *in,
                                const struct thing *out)
{
    uint64_t inside_ps = world->config.cable_ps + world->config.switch_ps;
    for (uint32_t flit = 0; flit < flits_of(in->sight.bytes); flit++) {
        struct span came = flit_span(world, in, flit);
        struct span left = flit_span(world, out, flit);
        assert_true(left.from_ps >= came.from_ps + inside_ps);
        assert_true(left.to_ps >= came.to_ps + inside_ps);
    }
}

static uint64_t head_ps(const struct world *world, const struct thing *thing)
{
    return thing->sight.from_ps + world->config.cable_ps;
}

static uint64_t tail_ps(const struct world *world, const struct thing *thing)
{
    return flit_span(world, thing, flits_of(thing->sight.bytes) - 1).to_ps + world->config.cable_ps;
}

/* ---- Cables ----------------------------------------------------------------------------- */

/* One thing at a time, each as long as its bytes. */
static void check_cable(struct world *world, uint32_t port)
{
    uint64_t free_ps = 0;
    uint64_t busy_from_ps = 0;
    const struct list *list = &world->by_cable[port];
    for (uint32_t i = 0; i < list->count; i++) {
        struct thing *thing = &world->things[list->items[i]];
        uint32_t width = world->subnet->ports[port].width;
        uint64_t long_ps = (uint64_t)((thing->sight.bytes + 2 + width - 1) / width) * CYCLE_PS;
        assert_true(thing->sight.from_ps >= free_ps);
        assert_int_equal(thing->sight.to_ps - thing->sight.from_ps, long_ps);
        if (thing->sight.from_ps > free_ps || i == 0) {
            busy_from_ps = thing->sight.from_ps;
        }
        thing->busy_from_ps = busy_from_ps;
        free_ps = thing->sight.to_ps;
    }
}

/* Nothing idles: from when the thing could go until it went, the cable was busy. */
static void check_no_idling(const struct thing *thing, uint64_t could_ps)
{
    assert_true(thing->sight.from_ps >= could_ps);
    assert_true(thing->sight.from_ps == could_ps || thing->busy_from_ps <= could_ps);
}

/* No packet of the lanes in `behind` began after the thing could have gone and before it
 * went. */
static void check_goes_first(const struct world *world, const struct thing *thing, uint32_t item,
                             uint64_t could_ps, uint32_t behind)
{
    const struct list *list = &world->by_cable[thing->sight.from_port];
    /* The log is in order: look back from the thing. */
    uint32_t low = 0;
    uint32_t high = list->count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (list->items[middle] <= item) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (uint32_t i = low; i-- > 0;) {
        const struct flow_sight *before = &world->things[list->items[i]].sight;
        if (before->from_ps <= could_ps) {
            return;
        }
        assert_true(before->is_link_packet || !(behind >> before->vl & 1));
    }
}

/* ---- Ways through switches -------------------------------------------------------------- */

static bool is_wanted(const struct world *world, const struct thing *in, uint32_t number)
{
    uint32_t node = world->subnet->ports[in->in_port].node;
    if (in->sight.dlid >= SUBNET_MULTICAST_LID) {
        const uint64_t *mask =
            &world->subnet->nodes[node]
                 .multicast[(size_t)(in->sight.dlid - SUBNET_MULTICAST_LID) * SUBNET_MASK_WORDS];
        return number != world->subnet->ports[in->in_port].number &&
               (mask[number / 64] >> number % 64 & 1);
    }
    return subnet_linear(world->subnet, node, in->sight.dlid) == number;
}

/* Gives each packet that leaves a switch the one that came, and holds ways and lanes against the
 * tables. */
static void join_ways(struct world *world)
{
    for (uint32_t i = 0; i < world->thing_count; i++) {
        struct thing *out = &world->things[i];
        const struct subnet_port *port = &world->subnet->ports[out->sight.from_port];
        const struct subnet_node *node = &world->subnet->nodes[port->node];
        if (out->sight.is_link_packet) {
            continue;
        }
        uint32_t in_number = 0;
        if (subnet_is_switch(world->subnet, port->node)) {
            for (uint32_t p = 1; p <= node->port_count; p++) {
                uint32_t item = find_into(world, out->sight.tag, node->port_first + p);
                if (item != NONE) {
                    assert_int_equal(out->came_by, NONE); /* no packet comes twice */
                    out->came_by = item;
                    in_number = p;
                }
            }
            assert_true(out->came_by != NONE && out->came_by < i);
            struct thing *in = &world->things[out->came_by];
            assert_true(is_wanted(world, in, port->number));
            assert_false(in->is_dropped);
            in->ways++;
            check_flits_through(world, in, out);
        } else {
            assert_int_equal(out->sight.from_port, world->sent[out->sight.tag].port);
        }
        bool is_management = world->sent[out->sight.tag].packet.is_management;
        uint32_t lane = out->came_by == NONE
                            ? subnet_sl_to_vl(node, 0, 0, out->sight.sl)
                            : subnet_sl_to_vl(node, in_number, port->number, out->sight.sl);
        assert_int_equal(out->sight.vl, is_management ? 15 : lane);
    }
}

/* All ways that were wanted were taken, and once; or the packet was delivered, or lost. */
static void check_ends(const struct world *world)
{
    for (uint32_t i = 0; i < world->thing_count; i++) {
        const struct thing *in = &world->things[i];
        if (in->sight.is_link_packet) {
            continue;
        }
        uint32_t node = world->subnet->ports[in->in_port].node;
        if (!subnet_is_switch(world->subnet, node)) {
            assert_int_equal(in->is_delivered + in->is_dropped, 1);
            assert_int_equal(in->is_dropped, in->sight.wrong_bits > 0);
            uint32_t hops = 0;
            for (uint32_t by = in->came_by; by != NONE; by = world->things[by].came_by) {
                hops++;
            }
            assert_true(in->is_dropped || in->hops == hops);
            continue;
        }
        uint32_t wanted = 0;
        for (uint32_t p = 1; p <= world->subnet->nodes[node].port_count && !in->is_dropped; p++) {
            wanted += is_wanted(world, in, p);
        }
        assert_int_equal(in->ways, wanted);
        assert_true(in->is_dropped || wanted > 0);
    }
    for (uint64_t tag = 0; tag < world->sent_count; tag++) {
        const struct sent *sent = &world->sent[tag];
        bool is_own = sent->packet.dlid == world->subnet->ports[sent->port].lid;
        assert_int_equal(sent->own_count, is_own);
        assert_int_equal(sent->things == NONE, is_own);
    }
}

/* ---- Buffers ---------------------------------------------------------------------------- */

/* Rules 1 and 4: when the packets of a lane of an input may ask, and when their tails have left.
 * The things are those of the output before the cable, in their order. What leaves a switch is
 * settled before what came later, so one pass over the log in its order is enough. */
static void settle_lanes(struct world *world)
{
    uint64_t *left_ps = calloc((size_t)world->subnet->port_count * LANES, sizeof *left_ps);
    uint64_t *last_ps = calloc(world->thing_count, sizeof *last_ps); /* its ways end */
    for (uint32_t i = 0; i < world->thing_count; i++) {
        const struct thing *out = &world->things[i];
        if (!out->sight.is_link_packet && out->came_by != NONE &&
            out->sight.to_ps > last_ps[out->came_by]) {
            last_ps[out->came_by] = out->sight.to_ps;
        }
    }
    for (uint32_t i = 0; i < world->thing_count; i++) {
        struct thing *in = &world->things[i];
        if (in->sight.is_link_packet) {
            continue;
        }
        uint64_t *lane_ps = &left_ps[at_lane(in->in_port, in->sight.vl)];
        if (!subnet_is_switch(world->subnet, world->subnet->ports[in->in_port].node)) {
            in->left_ps = tail_ps(world, in);
            continue;
        }
        uint64_t through_ps = head_ps(world, in) + world->config.switch_ps;
        in->asked_ps = through_ps > *lane_ps ? through_ps : *lane_ps; /* to go on from there */
        in->left_ps = in->is_dropped ? through_ps : last_ps[i];
        if (!in->is_dropped) {
            assert_true(in->left_ps >= *lane_ps);
            *lane_ps = in->left_ps;
        }
    }
    free(last_ps);
    free(left_ps);
}

struct change {
    uint64_t at_ps;
    int32_t flits;
};

static int by_time(const void *a, const void *b)
{
    const struct change *first = a;
    const struct change *second = b;
    if (first->at_ps != second->at_ps) {
        return first->at_ps < second->at_ps ? -1 : 1;
    }
    return second->flits - first->flits; /* what comes before what goes: the harder case */
}

/* Flits come one by one, and go when the tail of their packet has left. Whether management finds
 * room is looked at when it is through the switch, so its flits count from then on. */
static void check_room(const struct world *world, uint32_t out_port, uint32_t lane)
{
    const struct list *list = &world->by_output[at_lane(out_port, lane)];
    bool is_board = !subnet_is_switch(
        world->subnet, world->subnet->ports[world->subnet->ports[out_port].peer].node);
    size_t count = 0;
    int64_t inside = 0;
    struct change *changes = calloc((size_t)list->count * (4096 / FLIT + 4) + 1, sizeof *changes);
    for (uint32_t i = 0; i < list->count; i++) {
        const struct thing *in = &world->things[list->items[i]];
        uint32_t flits = flits_of(in->sight.bytes);
        if (lane == 15 && is_board) {
            continue; /* a board takes it as it comes */
        }
        for (uint32_t flit = 0; flit < flits && !in->is_dropped; flit++) {
            uint64_t at_ps = flit_span(world, in, flit).from_ps + world->config.cable_ps +
                             (lane == 15 ? world->config.switch_ps : 0);
            changes[count++] = (struct change){at_ps, 1};
        }
        if (!in->is_dropped) {
            changes[count++] = (struct change){in->left_ps, -(int32_t)flits};
        }
    }
    qsort(changes, count, sizeof *changes, by_time);
    uint32_t room = lane == 15 ? world->config.management_flits : world->config.buffer_flits;
    for (size_t i = 0; i < count; i++) {
        inside += changes[i].flits;
        assert_true(inside >= 0);
        assert_true(inside <= room);
    }
    assert_int_equal(inside, 0);
    free(changes);
}

/* ---- Credits and link packets ------------------------------------------------------------ */

/* The newest link packet that a lane of an output needs. */
struct credit {
    uint32_t limit;
    uint32_t read; /* link packets up to it */
    uint64_t at_ps;
};

/* Reads link packets until they allow that many flits after those sent before; NEVER: they never
 * do. They count modulo 4,096. */
static uint64_t read_credits(const struct world *world, uint32_t out_port, uint32_t lane,
                             struct credit *credit, uint64_t before, uint32_t flits)
{
    const struct list *list =
        &world->by_link_packets[at_lane(world->subnet->ports[out_port].peer, lane)];
    for (;;) {
        uint32_t credits = (uint32_t)((credit->limit + MODULO - before % MODULO) % MODULO);
        if (credits >= flits && credits <= MODULO / 2) {
            return credit->at_ps;
        }
        if (credit->read == list->count) {
            return NEVER;
        }
        const struct flow_sight *sight = &world->things[list->items[credit->read++]].sight;
        if (sight->wrong_bits == 0) {
            credit->limit = sight->fccl;
            credit->at_ps = sight->to_ps + world->config.cable_ps;
        }
    }
}

/* Rules 2 and 3, for what goes out by a lane of an output. */
static void check_output(struct world *world, uint32_t port, uint32_t lane)
{
    const struct list *list = &world->by_output[at_lane(port, lane)];
    struct credit credit = {.limit = world->config.buffer_flits};
    uint64_t flits_before = 0;
    uint64_t asked_before_ps = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        struct thing *thing = &world->things[list->items[i]];
        uint32_t flits = flits_of(thing->sight.bytes);
        const struct sent *sent = &world->sent[thing->sight.tag];
        uint64_t asked_ps = sent->at_ps;
        uint64_t ready_ps = asked_ps;
        if (thing->came_by != NONE) {
            const struct thing *in = &world->things[thing->came_by];
            asked_ps = ready_ps = in->asked_ps;
            /* So late that its last flit is not sooner than it can be. */
            uint64_t long_ps = thing->sight.to_ps - thing->sight.from_ps;
            uint64_t through_ps = tail_ps(world, in) + world->config.switch_ps;
            if (through_ps > ready_ps + long_ps) {
                ready_ps = through_ps - long_ps;
            }
        } else if (i > 0) {
            assert_true(thing->sight.tag > world->things[list->items[i - 1]].sight.tag);
        }
        assert_true(asked_ps >= asked_before_ps); /* who asked first goes first */
        asked_before_ps = asked_ps;
        uint64_t could_ps = ready_ps;
        if (lane != 15) {
            uint64_t allowed_ps = read_credits(world, port, lane, &credit, flits_before, flits);
            could_ps = allowed_ps > could_ps ? allowed_ps : could_ps;
            world->held_up += allowed_ps > ready_ps && allowed_ps == thing->sight.from_ps;
            world->wrapped += flits_before >= MODULO;
        }
        if (i > 0 && world->things[list->items[i - 1]].sight.from_ps > could_ps) {
            could_ps = world->things[list->items[i - 1]].sight.from_ps;
        }
        check_no_idling(thing, could_ps);
        if (lane == 15) {
            check_goes_first(world, thing, list->items[i], could_ps, 0x7fff);
        } else if (lane == 0 && world->setup->high_limit == 255) {
            check_goes_first(world, thing, list->items[i], could_ps, 0x7ffe);
        }
        flits_before += flits;
    }
}

/* Rule 4, for a lane of an input: which link packets its port owes, and when they go. */
static void check_link_packets(const struct world *world, uint32_t port, uint32_t lane)
{
    const struct list *come = &world->by_output[at_lane(world->subnet->ports[port].peer, lane)];
    const struct list *go = &world->by_output[at_lane(port, lane)];
    const struct list *told = &world->by_link_packets[at_lane(port, lane)];
    uint64_t buffer = world->config.buffer_flits;
    uint64_t left = 0; /* flits that have left the buffer */
    uint64_t left_told = 0;
    uint64_t owed_ps = NEVER;
    uint32_t again = 0; /* damaged ones before are sent again */
    uint32_t next = 0;
    uint32_t sent = 0;
    uint64_t sent_flits = 0;
    for (uint32_t i = 0; i <= told->count; i++) {
        const struct thing *link = i < told->count ? &world->things[told->items[i]] : NULL;
        uint64_t until_ps = link ? link->sight.from_ps : NEVER;
        for (; next < come->count; next++) {
            const struct thing *in = &world->things[come->items[next]];
            bool is_at_once = in->left_ps == until_ps; /* it may be told or not */
            if (in->left_ps > until_ps) {
                break;
            }
            if (is_at_once && (left + buffer) % MODULO == link->sight.fccl && owed_ps != NEVER) {
                break; /* the link packet went first */
            }
            left += flits_of(in->sight.bytes);
            if (4 * (left - left_told) >= buffer && in->left_ps < owed_ps) {
                owed_ps = in->left_ps;
            }
        }
        for (; again < i; again++) {
            const struct flow_sight *damaged = &world->things[told->items[again]].sight;
            uint64_t again_ps = damaged->from_ps + world->config.refresh_ps;
            if (damaged->wrong_bits > 0 && again_ps > until_ps) {
                break;
            }
            owed_ps = damaged->wrong_bits > 0 && again_ps < owed_ps ? again_ps : owed_ps;
        }
        if (!link) {
            break;
        }
        assert_int_equal((left + buffer) % MODULO, link->sight.fccl);
        assert_true(owed_ps != NEVER);
        check_no_idling(link, owed_ps);
        check_goes_first(world, link, told->items[i], owed_ps, 0xffff);
        for (; sent < go->count && go->items[sent] < told->items[i]; sent++) {
            sent_flits += flits_of(world->things[go->items[sent]].sight.bytes);
        }
        assert_int_equal(sent_flits % MODULO, link->sight.fctbs);
        left_told = left;
        owed_ps = NEVER;
    }
    assert_true(owed_ps == NEVER);
}

/* ---- Whole runs ------------------------------------------------------------------------- */

static void replay(struct world *world)
{
    uint32_t ports = world->subnet->port_count;
    for (uint32_t port = 0; port < ports; port++) {
        check_cable(world, port);
    }
    join_ways(world);
    check_ends(world);
    settle_lanes(world);
    for (uint32_t port = 0; port < ports; port++) {
        if (world->subnet->ports[port].peer == SUBNET_NONE) {
            continue;
        }
        for (uint32_t lane = 0; lane < LANES; lane++) {
            check_output(world, port, lane);
            check_room(world, port, lane);
            if (lane < 15) {
                check_link_packets(world, port, lane);
            }
        }
    }
}

struct totals {
    uint64_t wrapped, dropped;
};

static void run_and_replay(const struct setup *setup, uint64_t seed, struct totals *totals)
{
    struct world world = {.setup = setup, .random = {seed}};
    bring_up(&world);
    size_t lanes = (size_t)world.subnet->port_count * LANES;
    world.sent = calloc(PACKETS, sizeof *world.sent);
    world.by_cable = calloc(world.subnet->port_count, sizeof *world.by_cable);
    world.by_output = calloc(lanes, sizeof *world.by_output);
    world.by_link_packets = calloc(lanes, sizeof *world.by_link_packets);
    world.own_free_ps = calloc(world.subnet->port_count, sizeof *world.own_free_ps);
    run(&world);
    replay(&world);
    assert_true(world.deliveries > PACKETS / 2);
    assert_int_equal(world.damaged > 0, setup->bit_error_rate > 0);
    assert_true(world.held_up > 100 || setup->buffer_flits == 2047);
    totals->wrapped += world.wrapped;
    totals->dropped += world.dropped;
    for (size_t i = 0; i < lanes; i++) {
        free(world.by_output[i].items);
        free(world.by_link_packets[i].items);
    }
    for (uint32_t i = 0; i < world.subnet->port_count; i++) {
        free(world.by_cable[i].items);
    }
    free(world.by_cable);
    free(world.by_output);
    free(world.by_link_packets);
    free(world.own_free_ps);
    free(world.sent);
    free(world.things);
    flow_close(world.flow);
    sim_events_free(&world.events);
    subnet_close(world.subnet);
}

static void every_flit_of_a_run_keeps_the_rules(void **state)
{
    (void)state;
    static const char *const shapes[] = {"switch:6", "ring:5", "torus:3x3", "fat-tree:16",
                                         "random:12"};
    struct totals totals = {0};
    for (unsigned shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        for (unsigned kind = 0; kind < 8; kind++) {
            const struct setup setup = {
                .shape = shapes[shape],
                .mtu = kind % 2 ? 256 : 2048,
                .bytes_most = kind % 2 ? 370 : 2170,
                .buffer_flits = kind % 2 ? (kind & 4 ? 8 : 13) : (kind & 4 ? 2047 : 49),
                .gap_ps = kind % 2 ? 60000 : 300000,
                .bit_error_rate = kind == 3 || kind == 6 ? 2e-5 : 0,
                .mixes_widths = kind & 2,
                .has_multicast = kind != 2,
                .has_management = kind >= 4,
                .high_limit = kind & 4 ? 255 : 1,
            };
            uint64_t seed = 100 * shape + kind + 1;
            print_message("%s, kind %u, seed %llu\n", setup.shape, kind, (unsigned long long)seed);
            run_and_replay(&setup, seed, &totals);
        }
    }
    assert_true(totals.wrapped > 1000 && totals.dropped > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flit_of_a_run_keeps_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
