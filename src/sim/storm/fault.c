/* What happens to nodes, clocks and links over time. Each kind of fault strikes again and again,
 * after random times, until the safety phase is over. */
#include "sim/storm/network.h"
#include "sim/storm/trace.h"
#include "sim/storm/world.h"

static const enum storm_fault timed[] = {STORM_PARTITION, STORM_PAUSE,    STORM_CRASH,
                                         STORM_SKEW,      STORM_STRANGER, STORM_NARROW};

static uint64_t below(struct storm_world *world, uint64_t limit)
{
    return base_random_below(&world->random, limit);
}

static void await(struct storm_world *world, enum storm_fault fault)
{
    uint64_t at_ns = world->now_ns + 1 + below(world, 2 * world->plan.gap_ns[fault]);
    sim_events_put(&world->events, at_ns, STORM_STRIKE, fault, 0);
}

void storm_fault_begin(struct storm_world *world)
{
    for (uint32_t i = 0; i < world->node_count; i++) {
        struct storm_node *node = &world->nodes[i];
        /* Clocks never agree on when time began; with skew they also run differently. */
        node->clock_offset_ns = (int64_t)(below(world, 1000) * UINT64_C(1000000000));
        int32_t drift_ppm = (int32_t)below(world, 100001) - 50000;
        node->clock_drift_ppm = world->plan.fault[STORM_SKEW] ? drift_ppm : 0;
        world->result.fault_counts[STORM_SKEW] += node->clock_drift_ppm != 0;
    }
    for (unsigned i = 0; i < sizeof timed / sizeof timed[0]; i++) {
        if (world->plan.fault[timed[i]]) {
            await(world, timed[i]);
        }
    }
}

/* A living node, or NULL when fewer than `least` live. */
static struct storm_node *choose_living(struct storm_world *world, uint32_t least)
{
    struct storm_node *living[STORM_NODES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->node_count; i++) {
        if (world->nodes[i].alive) {
            living[count++] = &world->nodes[i];
        }
    }
    return count > 0 && count >= least ? living[below(world, count)] : NULL;
}

/* Mostly shorter than the time-out of a peer, sometimes longer. */
static uint64_t draw_absence_ns(struct storm_world *world)
{
    uint64_t timeout_ns = world->plan.board.swif.peer_timeout_ns;
    switch (below(world, 4)) {
    case 0: return timeout_ns + below(world, timeout_ns);
    case 1: return 1 + below(world, timeout_ns);
    default: return 1 + below(world, timeout_ns / 8);
    }
}

static void strike_partition(struct storm_world *world)
{
    uint64_t all = world->node_count < 64 ? (UINT64_C(1) << world->node_count) - 1 : UINT64_MAX;
    uint64_t from = base_random_next(&world->random) & all;
    /* Half of the partitions split all nodes in two; the others cut only some off from some. */
    uint64_t to = below(world, 2) ? all & ~from : base_random_next(&world->random) & all;
    uint64_t duration_ns = draw_absence_ns(world);
    bool both_ways = below(world, 3) == 0;
    if (from == 0 || to == 0) {
        return;
    }
    world->result.fault_counts[STORM_PARTITION]++;
    storm_note(world, NULL, "partition: nothing passes from %llx to %llx%s for %llu us",
               (unsigned long long)from, (unsigned long long)to, both_ways ? " and back" : "",
               (unsigned long long)duration_ns / 1000);
    storm_network_cut(world, from, to, world->now_ns + duration_ns);
    if (both_ways) {
        storm_network_cut(world, to, from, world->now_ns + duration_ns);
    }
}

static void strike_crash(struct storm_world *world)
{
    uint64_t timeout_ns = world->plan.board.swif.peer_timeout_ns;
    struct storm_node *node = choose_living(world, 2);
    uint64_t kind = below(world, 4);
    /* Some come back before any peer can have noticed. */
    uint64_t absence_ns = kind == 0   ? 1 + below(world, 2 * world->plan.latency_ns)
                          : kind == 1 ? 1 + below(world, timeout_ns / 4)
                                      : draw_absence_ns(world);
    bool returns = below(world, 4) != 0;
    if (!node) {
        return;
    }
    world->result.fault_counts[STORM_CRASH]++;
    storm_world_crash(world, node);
    if (returns && world->plan.fault[STORM_RESTART]) {
        sim_events_put(&world->events, world->now_ns + absence_ns, STORM_REBIRTH, node->number, 0);
    }
}

static void strike_pause(struct storm_world *world)
{
    struct storm_node *node = choose_living(world, 1);
    uint64_t duration_ns = draw_absence_ns(world);
    if (node && !node->paused) {
        world->result.fault_counts[STORM_PAUSE]++;
        storm_world_pause(world, node, world->now_ns + duration_ns);
    }
}

static void strike_clock(struct storm_world *world)
{
    struct storm_node *node = choose_living(world, 1);
    uint64_t jump_ns = draw_absence_ns(world);
    if (node) {
        world->result.fault_counts[STORM_SKEW]++;
        storm_note(world, node, "clock jumps ahead by %llu us", (unsigned long long)jump_ns / 1000);
        node->jump_ns += jump_ns;
        storm_world_set_timer(world, node);
    }
}

/* A path narrows or widens, and stays so when the faults are over: it need not widen for
 * everything to come to its end. */
static void strike_path(struct storm_world *world)
{
    const struct swif_config *swif = &world->plan.board.swif;
    uint16_t from = (uint16_t)below(world, world->node_count);
    uint16_t to = (uint16_t)below(world, world->node_count);
    uint32_t between = swif->packet_bytes_max - swif->path_bytes_min;
    uint32_t bytes[] = {swif->path_bytes_min, swif->packet_bytes_max,
                        swif->path_bytes_min + (uint32_t)below(world, between + 1)};
    uint32_t width_bytes = bytes[below(world, 3)];
    if (from != to) {
        world->result.fault_counts[STORM_NARROW]++;
        storm_note(world, NULL, "the path from n%u to n%u carries %u B", from, to, width_bytes);
        world->network->width_bytes[from][to] = width_bytes;
    }
}

void storm_fault_strike(struct storm_world *world, enum storm_fault fault)
{
    if (!world->faults_on) {
        return;
    }
    switch (fault) {
    case STORM_PARTITION: strike_partition(world); break;
    case STORM_CRASH: strike_crash(world); break;
    case STORM_PAUSE: strike_pause(world); break;
    case STORM_SKEW: strike_clock(world); break;
    case STORM_STRANGER: storm_network_forge(world); break;
    case STORM_NARROW: strike_path(world); break;
    default: INVARIANT(false);
    }
    await(world, fault);
}
