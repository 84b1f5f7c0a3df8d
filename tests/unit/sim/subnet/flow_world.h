/* A subnet with a flow, for tests: what came, by tags, and in which order. */
#ifndef TESTS_FLOW_WORLD_H
#define TESTS_FLOW_WORLD_H

#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

#include "sim/subnet/flow.h"
#include "sim/subnet/flow_state.h"
#include "subnet_world.h"
#include "wire/ib_frame.h"

enum { PACKETS_MAX = 200000 };

struct seen {
    uint32_t target;
    uint32_t count;
    uint64_t head_ps, tail_ps;
    uint32_t hops;
};

struct world {
    struct topology topology;
    struct subnet *subnet;
    struct flow *flow;
    struct sim_events events;
    uint64_t now_ps;
    struct seen *seen; /* by tag */
    uint64_t *newest;  /* by source and target: tags come in order */
    uint64_t lost;
    bool keeps_order;
};

static inline void delivered(void *context, const struct flow_delivery *delivery)
{
    struct world *world = context;
    struct seen *seen = &world->seen[delivery->tag];
    seen->count++;
    seen->target = delivery->target;
    seen->head_ps = delivery->head_ps;
    seen->tail_ps = delivery->tail_ps;
    seen->hops = delivery->hops;
    if (world->keeps_order) {
        uint64_t *newest = &world->newest[(uint64_t)delivery->source * world->subnet->port_count +
                                          delivery->target];
        assert_true(delivery->tag + 1 > *newest);
        *newest = delivery->tag + 1;
    }
}

static inline void lost(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
{
    struct world *world = context;
    (void)why;
    (void)tag;
    (void)port;
    world->lost++;
}

static inline void open_world(struct world *world, const struct subnet_config *subnet_config,
                              const struct flow_config *config, bool keeps_order)
{
    struct subnet_config usual;
    char text[TOPOLOGY_ERROR_BYTES];
    subnet_config_default(&usual);
    assert_null(topology_objection(&world->topology, text));
    world->subnet = subnet_open(&world->topology, subnet_config ? subnet_config : &usual);
    world_bring_up(world->subnet);
    const struct flow_user user = {.context = world,
                                   .events = &world->events,
                                   .event_kind = 7,
                                   .delivered = delivered,
                                   .lost = lost};
    assert_null(flow_config_objection(config, world->subnet, text));
    world->flow = flow_open(world->subnet, config, &user);
    world->seen = calloc(PACKETS_MAX, sizeof *world->seen);
    world->keeps_order = keeps_order;
    world->newest = calloc((size_t)world->subnet->port_count * world->subnet->port_count,
                           sizeof *world->newest);
}

static inline void close_world(struct world *world)
{
    flow_close(world->flow);
    subnet_close(world->subnet);
    topology_free(&world->topology);
    sim_events_free(&world->events);
    free(world->seen);
    free(world->newest);
}

/* Runs until `until_ps` or until nothing is left to do. */
static inline void run(struct world *world, uint64_t until_ps)
{
    struct sim_event event;
    while (sim_events_next(&world->events) <= until_ps && sim_events_take(&world->events, &event)) {
        assert_true(event.at >= world->now_ps);
        world->now_ps = event.at;
        flow_event(world->flow, &event);
    }
    if (until_ps != UINT64_MAX - 1) {
        world->now_ps = until_ps;
    }
}

static inline void run_out(struct world *world)
{
    run(world, UINT64_MAX - 1);
}

static inline void send(struct world *world, uint32_t from, uint32_t to, uint32_t bytes, uint8_t sl,
                        uint64_t tag)
{
    const struct flow_packet packet = {.dlid = world_lid(to), .sl = sl, .bytes = bytes, .tag = tag};
    flow_send(world->flow, world->now_ps, world_port(world->subnet, from), &packet);
}

#endif
