/* Prefetching what the next events need while others happen.
 *
 * The state of many thousands of nodes is far larger than the caches, and each event is at
 * another node than the one before: without prefetching it waits for memory several times. There
 * are two steps: first what the event itself names, then, when that is there, what that names.
 * Only pending events are looked at, so all that they name is alive. It changes nothing. */
#include "sim/model/state.h"

enum {
    EARLY = 12, /* events before this one is taken */
    SOON = 5,
    ENGINE_LINES = 9,   /* of its state, without the users' part */
    SERVICES_LINES = 8, /* with a barrier's state behind them */
};

/* Prefetches `lines` cache lines, beginning with the one at `from`. */
static inline void fetch(const void *from, unsigned lines)
{
    for (unsigned i = 0; i < lines; i++) {
        prefetch_to_write((const unsigned char *)from + (size_t)i * CACHE_LINE_BYTES);
    }
}

static inline void fetch_all(const void *from, size_t bytes)
{
    fetch(from, (unsigned)((bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES));
}

static void fetch_flight(const struct sim_world *world, uint32_t slot)
{
    fetch(sim_flight_at(world, slot), 3);
}

static void fetch_node(const struct sim_node *node)
{
    fetch(node, 1);
    fetch(&node->launched_ps, 2);
}

static void fetch_stage(const struct sim_node *node, unsigned stage)
{
    stage = stage < SIM_STAGES ? stage : 0;
    prefetch_to_write(&node->stage_free_ps[stage]);
    prefetch_to_write(&node->stage_out_ps[stage]);
}

static void fetch_nic(const struct sim_world *world, const struct sim_node *node)
{
    fetch(node->engine, ENGINE_LINES);
    if (node->services) {
        fetch(node->services, SERVICES_LINES);
    }
    fetch_all(&world->hosts[node->first_host], sizeof(struct sim_host));
}

static void expect(const struct sim_world *world, const struct sim_event_load *event)
{
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_HOST:
    case SIM_EVENT_SAMPLE: fetch_all(&world->hosts[event->subject], sizeof(struct sim_host)); break;
    case SIM_EVENT_KICK:
        fetch_all(sim_slots_at(&world->kicks, event->subject), sizeof(struct sim_kick));
        break;
    case SIM_EVENT_STAGE: fetch_flight(world, event->subject); break;
    case SIM_EVENT_LEFT:
    case SIM_EVENT_RECEIVED:
    case SIM_EVENT_CARRY:
        fetch_flight(world, (uint32_t)event->value);
        fetch_node(&world->nodes[event->subject]);
        break;
    case SIM_EVENT_PUMP:
    case SIM_EVENT_CORE:
    case SIM_EVENT_OUTSIDE:
    case SIM_EVENT_TIMER: fetch_node(&world->nodes[event->subject]); break;
    case SIM_EVENT_NETWORK: sim_network_expect(world->network, event); break;
    }
}

static void expect_soon(const struct sim_world *world, const struct sim_event_load *event)
{
    uint32_t number;
    uint32_t slot;
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_HOST:
    case SIM_EVENT_SAMPLE:
        prefetch_to_write(world->hosts[event->subject].locals);
        fetch(&world->nodes[world->hosts[event->subject].node], 1);
        break;
    case SIM_EVENT_KICK:
        number = ((const struct sim_kick *)sim_slots_at(&world->kicks, event->subject))->host;
        fetch_all(&world->hosts[number], sizeof(struct sim_host));
        fetch_node(&world->nodes[number / world->config.user_count]);
        fetch_stage(&world->nodes[number / world->config.user_count], 0);
        break;
    case SIM_EVENT_STAGE:
        number = sim_flight_at(world, event->subject)->node;
        fetch(&world->nodes[number], 1);
        fetch_stage(&world->nodes[number], (unsigned)event->value);
        break;
    case SIM_EVENT_LEFT:
    case SIM_EVENT_CARRY:
    case SIM_EVENT_PUMP:
    case SIM_EVENT_CORE:
    case SIM_EVENT_TIMER: fetch_nic(world, &world->nodes[event->subject]); break;
    case SIM_EVENT_OUTSIDE:
    case SIM_EVENT_RECEIVED: break;
    case SIM_EVENT_NETWORK:
        if (sim_network_expect_soon(world->network, event, &number, &slot)) {
            fetch_flight(world, slot);
            fetch(&world->nodes[number], 1);
            fetch_stage(&world->nodes[number], SIM_STAGE_LINK + 1);
        }
        break;
    }
}

void sim_expect(const struct sim_world *world)
{
    const struct sim_event_load *early = sim_events_ahead(&world->events, EARLY);
    const struct sim_event_load *soon = sim_events_ahead(&world->events, SOON);
    if (early) {
        expect(world, early);
    }
    if (soon) {
        expect_soon(world, soon);
    }
}
