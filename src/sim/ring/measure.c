#include "sim/ring/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/latency.h"

const char *const net_outcome_names[NET_OUTCOMES] = {
    [NET_STEADY] = "steady",         [NET_UNSTEADY] = "unsteady", [NET_SATURATED] = "saturated",
    [NET_DEADLOCKED] = "deadlocked", [NET_DONE] = "done",         [NET_LOSSY] = "lossy",
    [NET_STUCK] = "stuck",
};

/* How much the backlog may grow within the window: by this share of what is offered, and by chance
 * by this many packets of each node, which add up as the root of the number of nodes. */
#define BACKLOG_SHARE 0.01
enum { BACKLOG_PACKETS = 4, BATCHES_MAX = 64 };
/* A network certainly saturates if more than this share of a batch is not accepted, and this many
 * packets of each node wait. */
#define OVERFULL_SHARE 0.1
enum { OVERFULL_PACKETS = 16, FEW_NODES = 8 };
/* A network that cannot take this rate takes nothing. */
#define RATE_LEAST 1e-5

struct run {
    const struct net_experiment *experiment;
    const struct net_watch *watch;
    struct net *net;
    struct net_traffic *traffic;
    struct sim_latency *latency; /* of packets of the window */
    uint32_t nodes;
    uint64_t window_from, window_to; /* packets sent in these cycles count */
    uint64_t wait_sum, hops_sum;
    uint64_t batch_count, batch_sum; /* delivered in the present batch */
    uint64_t flits_delivered;
    uint64_t lost; /* packets of the window that will not come */
    uint64_t next_look_cycle;
    bool is_deadlocked;
    bool in_hurry; /* the only question is whether it saturates */
};

/* ---- Config ------------------------------------------------------------------------------- */

void net_measure_config_default(struct net_measure_config *config, uint32_t nodes)
{
    /* Among few packets chance is large, and a tenth more than the network takes in one batch is
     * called saturation; so batches and windows of small networks last until as many packets have
     * come as on FEW_NODES. */
    uint64_t few = nodes < FEW_NODES ? nodes : FEW_NODES;
    *config = (struct net_measure_config){
        .warm_up_cycles = 5000,
        .batch_cycles = UINT64_C(2500) * FEW_NODES / few,
        .batches = 4,
        .batches_most = 40,
        .tolerance = 0.05,
        .cycles = UINT64_C(25000) * FEW_NODES / few,
        .drain_cycles = 100000,
        .look_cycles = 1000,
        .precision = 0.005,
    };
}

static bool link_exists(const struct net_config *network, uint32_t from, uint32_t to)
{
    uint32_t nodes = network->width * network->height;
    return from < nodes && to < nodes && net_hops(network, from, to) == 2;
}

const char *net_experiment_objection(const struct net_experiment *experiment,
                                     char text[NET_ERROR_BYTES])
{
    const struct net_measure_config *measure = &experiment->measure;
    if (net_config_objection(&experiment->network, text) ||
        net_traffic_objection(&experiment->traffic, &experiment->network, text)) {
        return text;
    }
    for (uint32_t i = 0; i < experiment->outage_count; i++) {
        const struct net_outage *outage = &experiment->outages[i];
        if (!link_exists(&experiment->network, outage->from, outage->to)) {
            return net_object(text,
                              "[errors] outage: there is no link from %" PRIu32 " to %" PRIu32,
                              outage->from, outage->to);
        }
    }
    if (measure->batches_most < measure->batches) {
        return net_object(text,
                          "[measure] batches_most: %" PRIu32 " are less than batches, %" PRIu32,
                          measure->batches_most, measure->batches);
    }
    INVARIANT(measure->batches >= 1 && measure->batches <= BATCHES_MAX);
    return NULL;
}

/* ---- A cycle ------------------------------------------------------------------------------ */

static void take_delivery(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    struct run *run = context;
    uint64_t cycles = cycle - delivery->injected_cycle;
    run->flits_delivered += delivery->flits;
    run->batch_count++;
    run->batch_sum += cycles;
    if (delivery->injected_cycle >= run->window_from && delivery->injected_cycle < run->window_to) {
        sim_latency_add(run->latency, cycles);
        run->wait_sum += delivery->entered_cycle - delivery->injected_cycle;
        run->hops_sum += delivery->hops;
    }
    net_traffic_delivered(run->traffic, delivery);
}

static void take_lost(void *context, uint64_t cycle, const struct net_delivery *packet,
                      uint32_t count)
{
    struct run *run = context;
    (void)cycle;
    if (packet->injected_cycle >= run->window_from && packet->injected_cycle < run->window_to) {
        run->lost += count;
    }
}

static void take_held(void *context, uint32_t router, uint32_t port, uint32_t channel,
                      uint64_t from_cycle, uint64_t to_cycle, uint64_t tag)
{
    const struct net_watch *watch = ((struct run *)context)->watch;
    watch->held(watch->context, router, port, channel, from_cycle, to_cycle, tag);
}

static void set_links(struct run *run, uint64_t cycle)
{
    for (uint32_t i = 0; i < run->experiment->outage_count; i++) {
        const struct net_outage *outage = &run->experiment->outages[i];
        if (cycle == outage->die_cycle) {
            net_link_set(run->net, outage->from, outage->to, false);
        } else if (cycle == outage->return_cycle) {
            net_link_set(run->net, outage->from, outage->to, true);
        }
    }
}

/* False: there is a deadlock. */
static bool step(struct run *run, struct net_result *result)
{
    uint64_t cycle = net_cycle(run->net);
    if (run->experiment->outage_count > 0) {
        set_links(run, cycle);
    }
    net_traffic_step(run->traffic);
    net_step(run->net);
    if (cycle >= run->next_look_cycle) {
        run->next_look_cycle = cycle + run->experiment->measure.look_cycles;
        run->is_deadlocked = net_is_deadlocked(run->net, result->circle, sizeof result->circle);
    }
    return !run->is_deadlocked;
}

static uint64_t backlog(const struct run *run)
{
    uint64_t flits = 0;
    for (uint32_t i = 0; i < run->nodes; i++) {
        flits += net_waiting(run->net, i);
    }
    return flits;
}

/* ---- The parts of a run ------------------------------------------------------------------- */

/* Whether the last batches' means are near to the mean of them all. */
static bool is_steady(const double *means, uint32_t count, double tolerance)
{
    double mean = 0;
    for (uint32_t i = 0; i < count; i++) {
        mean += means[i] / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!(fabs(means[i] - mean) <= tolerance * mean)) {
            return false;
        }
    }
    return true;
}

static bool is_overfull(const struct run *run, uint64_t wanted_flits, uint64_t delivered_flits)
{
    double many = OVERFULL_PACKETS * net_traffic_flits(&run->experiment->traffic) * run->nodes;
    return (double)delivered_flits < (1 - OVERFULL_SHARE) * (double)wanted_flits &&
           (double)backlog(run) > many;
}

/* One batch: its mean latency. False: the run ends here. */
static bool run_batch(struct run *run, struct net_result *result, double *mean)
{
    struct net_traffic_counters before, after;
    uint64_t flits_before = run->flits_delivered;
    net_traffic_counters(run->traffic, &before);
    run->batch_count = 0;
    run->batch_sum = 0;
    for (uint64_t i = 0; i < run->experiment->measure.batch_cycles; i++) {
        if (!step(run, result)) {
            return false;
        }
    }
    *mean = run->batch_count ? (double)run->batch_sum / (double)run->batch_count : 0;
    net_traffic_counters(run->traffic, &after);
    if (run->in_hurry && is_overfull(run, after.flits_wanted - before.flits_wanted,
                                     run->flits_delivered - flits_before)) {
        result->outcome = NET_SATURATED;
        return false;
    }
    return true;
}

/* Runs until the latency is steady (*steady), or batches_most are over. False: the run ends
 * here. */
static bool warm_up(struct run *run, struct net_result *result, bool *steady)
{
    const struct net_measure_config *config = &run->experiment->measure;
    double means[BATCHES_MAX] = {0};
    *steady = false;
    while (net_cycle(run->net) < config->warm_up_cycles) {
        if (!step(run, result)) {
            return false;
        }
    }
    for (uint32_t batch = 0; batch < config->batches_most; batch++) {
        if (!run_batch(run, result, &means[batch % config->batches])) {
            return false;
        }
        if (batch + 1 >= config->batches && is_steady(means, config->batches, config->tolerance)) {
            *steady = true;
            return true;
        }
    }
    return true;
}

/* Counts what links carry from here on. */
static void begin_links(struct run *run, struct net_result *result)
{
    for (uint32_t i = 0; i < result->link_count; i++) {
        struct net_link_load load;
        net_link_load(run->net, i, &load);
        result->links[i] = (struct net_link_use){load.from, load.to, -(double)load.flits};
    }
}

static void end_links(struct run *run, struct net_result *result, uint64_t cycles)
{
    result->hottest = (struct net_link_use){.use = -1};
    for (uint32_t i = 0; i < result->link_count; i++) {
        struct net_link_load load;
        net_link_load(run->net, i, &load);
        result->links[i].use = (result->links[i].use + (double)load.flits) / (double)cycles;
        result->use_mean += result->links[i].use / result->link_count;
        if (result->links[i].use > result->hottest.use) {
            result->hottest = result->links[i];
        }
    }
}

static bool is_growing(const struct run *run, double growth_flits, double offered_flits)
{
    double flits = BACKLOG_PACKETS * net_traffic_flits(&run->experiment->traffic);
    double too_many = growth_flits - BACKLOG_SHARE * offered_flits;
    return too_many > 0 && too_many * too_many > flits * flits * run->nodes;
}

/* Watches the window, then waits for what was sent in it. */
static void watch_window(struct run *run, struct net_result *result, bool steady)
{
    const struct net_experiment *experiment = run->experiment;
    struct net_traffic_counters before, after;
    uint64_t backlog_before = backlog(run);
    uint64_t flits_before = run->flits_delivered;
    double node_cycles = (double)experiment->measure.cycles * run->nodes;
    net_traffic_counters(run->traffic, &before);
    begin_links(run, result);
    run->window_from = net_cycle(run->net);
    run->window_to = run->window_from + experiment->measure.cycles;
    while (net_cycle(run->net) < run->window_to && step(run, result)) {
    }
    net_traffic_counters(run->traffic, &after);
    uint64_t cycles = net_cycle(run->net) - run->window_from;
    uint64_t offered_flits = after.flits_wanted - before.flits_wanted;
    result->offered = (double)offered_flits / node_cycles;
    result->accepted = (double)(run->flits_delivered - flits_before) / node_cycles;
    result->backlog_flits = backlog(run);
    end_links(run, result, cycles);
    bool grows = is_growing(run, (double)result->backlog_flits - (double)backlog_before,
                            (double)offered_flits);
    uint64_t wanted = after.packets_wanted - before.packets_wanted;
    uint64_t end = run->window_to + experiment->measure.drain_cycles;
    while (!run->is_deadlocked && !grows && run->latency->count + run->lost < wanted) {
        grows = net_cycle(run->net) >= end;
        (void)step(run, result);
    }
    result->outcome = grows ? NET_SATURATED : steady ? NET_STEADY : NET_UNSTEADY;
}

static void run_trace(struct run *run, struct net_result *result)
{
    uint64_t end = UINT64_MAX;
    run->window_to = UINT64_MAX;
    begin_links(run, result);
    result->outcome = NET_DONE;
    while (!(net_traffic_is_over(run->traffic) && net_is_empty(run->net)) && step(run, result)) {
        if (net_traffic_is_over(run->traffic) && end == UINT64_MAX) {
            end = net_cycle(run->net) + run->experiment->measure.drain_cycles;
        }
        if (net_cycle(run->net) >= end) {
            result->outcome = NET_STUCK;
            break;
        }
    }
    if (result->outcome == NET_DONE && run->lost > 0) {
        result->outcome = NET_LOSSY;
    }
    run->window_to = net_cycle(run->net);
    struct net_traffic_counters counters;
    net_traffic_counters(run->traffic, &counters);
    double node_cycles = run->window_to > 0 ? (double)run->window_to * run->nodes : 1;
    result->offered = (double)counters.flits_wanted / node_cycles;
    result->rate = result->offered;
    result->accepted = (double)run->flits_delivered / node_cycles;
    end_links(run, result, run->window_to > 0 ? run->window_to : 1);
}

static void take_figures(const struct run *run, struct net_result *result)
{
    const struct sim_latency *latency = run->latency;
    result->packets = latency->count;
    result->mean = sim_latency_mean(latency);
    result->p50 = sim_latency_at(latency, 0.5);
    result->p90 = sim_latency_at(latency, 0.9);
    result->p99 = sim_latency_at(latency, 0.99);
    result->p999 = sim_latency_at(latency, 0.999);
    result->most = latency->most;
    result->wait_mean = latency->count ? (double)run->wait_sum / (double)latency->count : NAN;
    result->hops_mean = latency->count ? (double)run->hops_sum / (double)latency->count : NAN;
    net_counters(run->net, &result->counters);
}

/* ---- A run -------------------------------------------------------------------------------- */

static bool no_memory(char error[NET_ERROR_BYTES])
{
    (void)snprintf(error, NET_ERROR_BYTES, "there is no memory left");
    return false;
}

static void drive(struct run *run, struct net_result *result)
{
    const struct net_watch *watch = run->watch;
    bool steady;
    uint64_t begin_ns = watch->now_ns ? watch->now_ns() : 0;
    if (run->experiment->traffic.pattern == NET_TRACE) {
        run_trace(run, result);
    } else if (warm_up(run, result, &steady)) {
        watch_window(run, result, steady);
    }
    result->own_ns = watch->now_ns ? watch->now_ns() - begin_ns : 0;
    if (run->is_deadlocked) {
        result->outcome = NET_DEADLOCKED;
    }
    take_figures(run, result);
}

static bool measure(const struct net_experiment *experiment, double rate, bool in_hurry,
                    const struct net_watch *watch, struct net_result *result,
                    char error[NET_ERROR_BYTES])
{
    static const struct net_watch nobody;
    struct net_traffic_config traffic = experiment->traffic;
    watch = watch ? watch : &nobody;
    traffic.rate = rate;
    *result = (struct net_result){.rate = rate};
    struct run run = {
        .experiment = experiment,
        .watch = watch,
        .in_hurry = in_hurry,
        .latency = calloc(1, sizeof *run.latency),
        .nodes = experiment->network.width * experiment->network.height,
    };
    struct net_user user = {
        .context = &run,
        .delivered = take_delivery,
        .lost = take_lost,
        .held = watch->held ? take_held : NULL,
    };
    bool good = run.latency || no_memory(error);
    run.net = good ? net_open(&experiment->network, &user, error) : NULL;
    run.traffic = run.net ? net_traffic_open(&traffic, &experiment->network, run.net, error) : NULL;
    good = run.traffic != NULL;
    if (good) {
        result->link_count = net_link_count(run.net);
        result->links = calloc(result->link_count + 1, sizeof *result->links);
        good = result->links || no_memory(error);
    }
    if (good) {
        drive(&run, result);
    }
    net_traffic_close(run.traffic);
    if (run.net) {
        net_close(run.net);
    }
    free(run.latency);
    return good;
}

bool net_measure(const struct net_experiment *experiment, double rate,
                 const struct net_watch *watch, struct net_result *result,
                 char error[NET_ERROR_BYTES])
{
    return measure(experiment, rate, false, watch, result, error);
}

void net_result_free(struct net_result *result)
{
    free(result->links);
    result->links = NULL;
    result->link_count = 0;
}

/* ---- Saturation --------------------------------------------------------------------------- */

bool net_measure_saturation(const struct net_experiment *experiment, const struct net_watch *watch,
                            struct net_result *result, char error[NET_ERROR_BYTES])
{
    double low = 0;
    double high = 1;
    bool found = false;
    *result = (struct net_result){.outcome = NET_SATURATED};
    if (experiment->traffic.pattern == NET_TRACE) {
        (void)snprintf(error, NET_ERROR_BYTES, "[traffic] pattern: a trace has no rate to sweep");
        return false;
    }
    while (high - low > experiment->measure.precision * high && high > RATE_LEAST) {
        struct net_result next;
        double rate = (low + high) / 2;
        if (!measure(experiment, rate, true, watch, &next, error)) {
            net_result_free(result);
            return false;
        }
        bool below = next.outcome == NET_STEADY || next.outcome == NET_UNSTEADY;
        if (below || next.outcome == NET_DEADLOCKED || !found) {
            net_result_free(result);
            *result = next;
        } else {
            net_result_free(&next);
        }
        if (next.outcome == NET_DEADLOCKED) {
            return true;
        }
        found = found || below;
        *(below ? &low : &high) = rate;
    }
    return true;
}
