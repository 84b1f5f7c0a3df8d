/* A network under test, and everything that was sent over it: each packet has to come once, whole
 * and in order. */
#ifndef UNIT_SIM_NET_NET_WORLD_H
#define UNIT_SIM_NET_NET_WORLD_H

#include "unit/unit.h"

#include <stdlib.h>

#include "base/random.h"
#include "net_check.h"
#include "sim/ring/state.h"

struct sent {
    uint32_t source, target, virtual_network, flits;
    uint32_t deliveries;
    bool to_group;
};

struct world {
    struct net *net;
    struct net_config config;
    uint32_t nodes;
    struct sent *sent;
    uint64_t sent_count, sent_room;
    uint64_t *newest; /* of each (source, target, virtual network): the last tag + 1 */
    uint64_t last_cycle;
    struct net_delivery last;
    uint64_t sum; /* of all that was delivered, and when */
};

static inline void delivered(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    struct world *world = context;
    assert_true(delivery->tag < world->sent_count);
    assert_true(cycle == net_cycle(world->net));
    struct sent *sent = &world->sent[delivery->tag];
    assert_int_equal(delivery->source, sent->source);
    assert_int_equal(delivery->flits, sent->flits);
    assert_true(delivery->injected_cycle <= delivery->entered_cycle);
    assert_true(delivery->entered_cycle < cycle);
    sent->deliveries++;
    if (!sent->to_group) {
        assert_int_equal(delivery->target, sent->target);
        assert_int_equal(sent->deliveries, 1);
    }
    /* Groups may go another way than single packets, so they have an order of their own. */
    uint64_t pair = (uint64_t)sent->source * world->nodes + delivery->target;
    uint64_t lane = (pair * world->config.virtual_networks + sent->virtual_network) * 2;
    uint64_t *newest = &world->newest[lane + sent->to_group];
    assert_true(delivery->tag >= *newest);
    *newest = delivery->tag + 1;
    world->last = *delivery;
    world->last_cycle = cycle;
    world->sum = (world->sum ^ cycle ^ delivery->tag << 24 ^ (uint64_t)delivery->target << 48) *
                 UINT64_C(0x100000001b3);
}

static inline void open_world(struct world *world, const struct net_config *config)
{
    *world = (struct world){.config = *config, .nodes = config->width * config->height};
    char error[NET_ERROR_BYTES] = "";
    struct net_user user = {.context = world, .delivered = delivered};
    world->net = net_open(config, &user, error);
    if (!world->net) {
        fail_msg("%s", error);
    }
    size_t lanes = (size_t)world->nodes * world->nodes * config->virtual_networks * 2;
    world->newest = calloc(lanes, sizeof *world->newest);
    assert_non_null(world->newest);
}

static inline void close_world(struct world *world)
{
    net_close(world->net);
    free(world->sent);
    free(world->newest);
}

static inline struct sent *add_sent(struct world *world, uint32_t source, uint32_t virtual_network,
                                    uint32_t flits)
{
    if (world->sent_count == world->sent_room) {
        world->sent_room = world->sent_room ? world->sent_room * 2 : 1024;
        world->sent = realloc(world->sent, world->sent_room * sizeof *world->sent);
        assert_non_null(world->sent);
    }
    struct sent *sent = &world->sent[world->sent_count++];
    *sent = (struct sent){.source = source, .virtual_network = virtual_network, .flits = flits};
    return sent;
}

static inline void send_one(struct world *world, uint32_t source, uint32_t target,
                            uint32_t virtual_network, uint32_t flits)
{
    add_sent(world, source, virtual_network, flits)->target = target;
    net_send(world->net, source, target, virtual_network, flits, world->sent_count - 1);
}

static inline void send_to_group(struct world *world, uint32_t source, uint32_t group,
                                 uint32_t virtual_network, uint32_t flits)
{
    add_sent(world, source, virtual_network, flits)->to_group = true;
    net_send_group(world->net, source, group, virtual_network, flits, world->sent_count - 1);
}

/* Runs until nothing is left; fails if packets wait for each other or that takes too long. */
static inline void drain(struct world *world)
{
    char text[1024];
    for (uint64_t i = 0; !net_is_empty(world->net); i++) {
        net_step(world->net);
        if (i % 4096 == 4095) {
            net_check(world->net);
            if (net_is_deadlocked(world->net, text, sizeof text)) {
                fail_msg("%s", text);
            }
        }
        assert_true(i < 4000000);
    }
    net_check(world->net);
}

/* The routers alone: ports that carry a flit in a cycle are never in the way. port_test.c has the
 * board's. */
static inline struct net_config shaped(enum net_shape shape, uint32_t width, uint32_t height)
{
    struct net_config config;
    net_config_default(&config, width);
    net_config_swif(&config, NET_SW2A);
    config.shape = shape;
    config.height = height;
    config.routing = shape == NET_MESH ? NET_DIMENSION : NET_DATELINE;
    return config;
}

/* Links carry frames, and damage none. */
static inline void carry_frames(struct net_config *config, uint32_t frame_flits)
{
    config->bit_error_rate = 1e-20;
    config->frame_flits = frame_flits;
    config->resend_cycles = net_least_resend_cycles(config);
}

/* Keeps NICs busy until that many packets are sent; then all have to arrive. Flits of 1 .. max. */
static inline void saturate(struct world *world, uint64_t packets, uint32_t flits_max,
                            uint64_t seed)
{
    struct base_random random = {seed};
    char text[1024];
    uint32_t networks = world->config.virtual_networks;
    uint64_t last = world->sent_count + packets;
    for (uint64_t cycle = 0; world->sent_count < last; cycle++) {
        for (uint32_t node = 0; node < world->nodes; node++) {
            while (net_waiting(world->net, node) < 4 * flits_max) {
                send_one(world, node, (uint32_t)base_random_below(&random, world->nodes),
                         (uint32_t)base_random_below(&random, networks),
                         1 + (uint32_t)base_random_below(&random, flits_max));
            }
        }
        net_step(world->net);
        if (cycle % 512 == 0) {
            net_check(world->net);
            if (net_is_deadlocked(world->net, text, sizeof text)) {
                fail_msg("%s", text);
            }
        }
    }
    drain(world);
    for (uint64_t tag = 0; tag < world->sent_count; tag++) {
        assert_int_equal(world->sent[tag].deliveries, 1);
    }
    struct net_counters counters;
    net_counters(world->net, &counters);
    assert_int_equal(counters.packets_sent, world->sent_count);
    assert_int_equal(counters.packets_delivered, world->sent_count);
    assert_int_equal(counters.cycles, net_cycle(world->net));
}

#endif
