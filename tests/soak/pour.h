/* Packets poured into a net until it is full, and each one looked at when it comes out: for the
 * unit test of some thousand packets and for the soak of a hundred million.
 *
 * A packet's tag says who sent it to whom in which virtual network, and the number among these
 * that it is. What comes out there next has to be the next number: so nothing is lost, doubled,
 * reordered or delivered to somebody else. Nothing here stops the program: pour() gives the
 * first fault as a line of text. */
#ifndef SOAK_POUR_H
#define SOAK_POUR_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sim/ring/net.h"

enum {
    POUR_FAULT_BYTES = 2048,
    POUR_LOOK_CYCLES = 8,        /* so often the queues are filled up */
    POUR_CHECK_CYCLES = 1 << 14, /* so often waits are looked for that form a circle */
};

struct pour_plan {
    struct net_config config;
    uint64_t packets;      /* at least so many are sent, */
    uint64_t flit_hops;    /* and until so many flits went through switches */
    uint32_t flits_max;    /* of a packet; each length from 1 on is as frequent */
    uint32_t queue_flits;  /* a NIC's queue is kept that full: the net is saturated */
    uint32_t death_cycles; /* now and then a link is dead for up to so long; 0: never */
    uint64_t seed;
};

struct pour_result {
    struct net_counters counters;
    uint64_t deaths;
    char fault[POUR_FAULT_BYTES]; /* empty: none */
};

struct pour {
    const struct pour_plan *plan;
    struct pour_result *result;
    struct net *net;
    uint32_t nodes;
    uint32_t *sent, *come; /* by (source, target, virtual network) */
    uint64_t sent_count, come_count;
    struct base_random random;
    uint32_t dead_link; /* UINT32_MAX: none */
    uint64_t alive_cycle;
};

__attribute__((format(printf, 2, 3))) static inline void pour_fault(struct pour *pour,
                                                                    const char *format, ...)
{
    if (pour->result->fault[0] == 0) {
        va_list values;
        va_start(values, format);
        vsnprintf(pour->result->fault, POUR_FAULT_BYTES, format, values);
        va_end(values);
    }
}

/* ---- Tags ---------------------------------------------------------------------------------- */

static inline size_t pour_lane(const struct pour *pour, uint32_t source, uint32_t target,
                               uint32_t virtual_network)
{
    return ((size_t)source * pour->nodes + target) * pour->plan->config.virtual_networks +
           virtual_network;
}

static inline uint64_t pour_tag(size_t lane, uint32_t number)
{
    return (uint64_t)lane << 32 | number;
}

/* The length is the tag's, so that it can be checked as well. */
static inline uint32_t pour_flits(const struct pour *pour, uint64_t tag)
{
    struct base_random random = {.state = tag ^ pour->plan->seed};
    return 1 + (uint32_t)base_random_below(&random, pour->plan->flits_max);
}

static inline void pour_delivered(void *context, uint64_t cycle,
                                  const struct net_delivery *delivery)
{
    struct pour *pour = context;
    size_t lane = (size_t)(delivery->tag >> 32);
    uint32_t number = (uint32_t)delivery->tag;
    uint32_t networks = pour->plan->config.virtual_networks;
    if (lane / networks != (size_t)delivery->source * pour->nodes + delivery->target) {
        pour_fault(pour, "cycle %llu: tag %#llx came from %u to %u", (unsigned long long)cycle,
                   (unsigned long long)delivery->tag, delivery->source, delivery->target);
        return;
    }
    if (number != pour->come[lane]) {
        pour_fault(pour, "cycle %llu: from %u to %u, network %zu: packet %u came, %u was next",
                   (unsigned long long)cycle, delivery->source, delivery->target, lane % networks,
                   number, pour->come[lane]);
    }
    if (delivery->flits != pour_flits(pour, delivery->tag)) {
        pour_fault(pour, "cycle %llu: a packet of %u flits came with %u", (unsigned long long)cycle,
                   pour_flits(pour, delivery->tag), delivery->flits);
    }
    pour->come[lane] = number + 1;
    pour->come_count++;
}

/* ---- Running ------------------------------------------------------------------------------- */

static inline void pour_fill(struct pour *pour)
{
    const struct pour_plan *plan = pour->plan;
    for (uint32_t source = 0; source < pour->nodes; source++) {
        uint64_t waiting = net_waiting(pour->net, source);
        while (waiting < plan->queue_flits) {
            uint32_t target = (uint32_t)base_random_below(&pour->random, pour->nodes - 1);
            target += target >= source;
            uint32_t network = (uint32_t)base_random_below(&pour->random,
                                                           plan->config.virtual_networks);
            size_t lane = pour_lane(pour, source, target, network);
            uint64_t tag = pour_tag(lane, pour->sent[lane]++);
            uint32_t flits = pour_flits(pour, tag);
            net_send(pour->net, source, target, network, flits, tag);
            pour->sent_count++;
            waiting += flits;
        }
    }
}

/* Lets one link at a time die and come back. */
static inline void pour_kill(struct pour *pour)
{
    struct net_link_load link;
    uint64_t cycle = net_cycle(pour->net);
    if (pour->dead_link != UINT32_MAX) {
        if (cycle >= pour->alive_cycle) {
            net_link_load(pour->net, pour->dead_link, &link);
            net_link_set(pour->net, link.from, link.to, true);
            pour->dead_link = UINT32_MAX;
        }
    } else if (base_random_below(&pour->random, pour->plan->death_cycles) < POUR_LOOK_CYCLES) {
        pour->dead_link = (uint32_t)base_random_below(&pour->random, net_link_count(pour->net));
        pour->alive_cycle = cycle + 1 + base_random_below(&pour->random, pour->plan->death_cycles);
        net_link_load(pour->net, pour->dead_link, &link);
        net_link_set(pour->net, link.from, link.to, false);
        pour->result->deaths++;
    }
}

/* Some steps; false: a fault, or nothing came for so long that nothing will. */
static inline bool pour_steps(struct pour *pour, uint64_t *come_before)
{
    for (uint32_t i = 0; i < POUR_LOOK_CYCLES; i++) {
        net_step(pour->net);
    }
    uint64_t cycle = net_cycle(pour->net);
    if (cycle % POUR_CHECK_CYCLES < POUR_LOOK_CYCLES) {
        char text[POUR_FAULT_BYTES / 2];
        if (net_is_deadlocked(pour->net, text, sizeof text)) {
            pour_fault(pour, "cycle %llu: deadlock: %s", (unsigned long long)cycle, text);
        }
    }
    if (cycle % (64 * POUR_CHECK_CYCLES) < POUR_LOOK_CYCLES) {
        if (pour->come_count == *come_before && !net_is_empty(pour->net)) {
            pour_fault(pour, "cycle %llu: nothing came for %u cycles", (unsigned long long)cycle,
                       64u * POUR_CHECK_CYCLES);
        }
        *come_before = pour->come_count;
    }
    return pour->result->fault[0] == 0;
}

static inline void pour_all(struct pour *pour)
{
    uint64_t come_before = 0;
    struct net_counters *counters = &pour->result->counters;
    do {
        pour_fill(pour);
        if (pour->plan->death_cycles > 0) {
            pour_kill(pour);
        }
        net_counters(pour->net, counters);
    } while (pour_steps(pour, &come_before) && (pour->sent_count < pour->plan->packets ||
                                                counters->flit_hops < pour->plan->flit_hops));
    if (pour->dead_link != UINT32_MAX) {
        struct net_link_load link;
        net_link_load(pour->net, pour->dead_link, &link);
        net_link_set(pour->net, link.from, link.to, true);
    }
    while (!net_is_empty(pour->net) && pour_steps(pour, &come_before)) {
    }
    net_counters(pour->net, counters);
    size_t lanes = pour_lane(pour, pour->nodes, 0, 0);
    for (size_t lane = 0; lane < lanes; lane++) {
        if (pour->sent[lane] != pour->come[lane]) {
            pour_fault(pour, "lane %zu: %u sent, %u came", lane, pour->sent[lane],
                       pour->come[lane]);
        }
    }
    if (counters->packets_sent != pour->sent_count ||
        counters->packets_delivered != pour->sent_count) {
        pour_fault(pour, "%llu packets, the net counts %llu sent and %llu delivered",
                   (unsigned long long)pour->sent_count, (unsigned long long)counters->packets_sent,
                   (unsigned long long)counters->packets_delivered);
    }
}

/* True: all came as it should. */
static inline bool pour(const struct pour_plan *plan, struct pour_result *result)
{
    *result = (struct pour_result){.deaths = 0};
    struct pour pour = {
        .plan = plan,
        .result = result,
        .nodes = plan->config.width * plan->config.height,
        .random = {.state = plan->seed},
        .dead_link = UINT32_MAX,
    };
    struct net_user user = {.context = &pour, .delivered = pour_delivered};
    size_t lanes = pour_lane(&pour, pour.nodes, 0, 0);
    char error[NET_ERROR_BYTES] = "no memory";
    pour.sent = calloc(lanes, sizeof *pour.sent);
    pour.come = calloc(lanes, sizeof *pour.come);
    pour.net = net_open(&plan->config, &user, error);
    if (pour.sent && pour.come && pour.net) {
        pour_all(&pour);
    } else {
        pour_fault(&pour, "%s", error);
    }
    if (pour.net) {
        net_close(pour.net);
    }
    free(pour.come);
    free(pour.sent);
    return result->fault[0] == 0;
}

#endif
