/* A network of a machine made by hand, and everything that it says. */
#ifndef UNIT_SIM_NETWORK_BENCH_H
#define UNIT_SIM_NETWORK_BENCH_H

#include <stdlib.h>

#include "unit/unit.h"
#include "sim/model/network.h"

#define NS UINT64_C(1000)

enum { NETWORK_EVENT = 7, ARRIVALS_MAX = 4096 };

struct arrival {
    uint64_t at_ps;
    uint32_t node, token;
};

struct carriage {
    uint32_t switch_number, port, token;
    uint64_t from_ps, to_ps;
};

/* A network, and everything that it said. */
struct bench {
    struct sim_machine machine;
    struct sim_events events;
    struct sim_network *network;
    uint64_t now_ps;
    uint64_t event_count;
    uint64_t sum; /* over all arrivals, of what and when */
    uint32_t arrival_count, carriage_count;
    struct arrival arrivals[ARRIVALS_MAX];
    struct carriage carriages[ARRIVALS_MAX];
    uint32_t *visits; /* of each node, where asked for */
};

static inline void arrived(void *context, uint64_t at_ps, uint32_t node, uint32_t token)
{
    struct bench *bench = context;
    assert_true(at_ps == bench->now_ps);
    if (bench->visits) {
        bench->visits[node]++;
    }
    bench->sum = (bench->sum ^ at_ps ^ (uint64_t)node << 40 ^ token) * UINT64_C(0x100000001b3);
    bench->arrivals[bench->arrival_count++ % ARRIVALS_MAX] = (struct arrival){at_ps, node, token};
}

static inline void carried(void *context, uint32_t switch_number, uint32_t port, uint64_t from_ps,
                           uint64_t to_ps, uint32_t token)
{
    struct bench *bench = context;
    bench->carriages[bench->carriage_count++ % ARRIVALS_MAX] = (struct carriage){
        switch_number, port, token, from_ps, to_ps};
}

/* 500 MB/s: 2 ns a byte; otherwise the figures of a RHiNET-2 switch, where there are any. */
static inline struct bench *bench_machine(uint32_t ports)
{
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    strcpy(bench->machine.name, "hand-made");
    bench->machine.link_mb_per_s = UINT64_C(500000000);
    bench->machine.link_wire = 132 * NS;
    bench->machine.switch_ports = ports;
    bench->machine.switch_transit = 100 * NS;
    bench->machine.switch_next = 240 * NS;
    bench->machine.switch_multicast = 1;
    return bench;
}

static inline void bench_join(struct bench *bench, enum sim_topology topology, uint32_t node_count)
{
    const struct sim_network_user user = {
        .context = bench,
        .events = &bench->events,
        .event_kind = NETWORK_EVENT,
        .arrived = arrived,
        .carried = carried,
        .counts_load = true,
    };
    char error[SIM_ERROR_BYTES] = "";
    bench->network = sim_network_open(&bench->machine, topology, node_count, &user, error);
    assert_string_equal(error, "");
    assert_non_null(bench->network);
}

static inline struct bench *bench_open(enum sim_topology topology, uint32_t ports,
                                       uint32_t node_count)
{
    struct bench *bench = bench_machine(ports);
    bench_join(bench, topology, node_count);
    return bench;
}

static inline void bench_close(struct bench *bench)
{
    sim_network_close(bench->network);
    sim_events_free(&bench->events);
    free(bench->visits);
    free(bench);
}

/* Runs up to that time, whose events are not yet taken. */
static inline void bench_run_until(struct bench *bench, uint64_t until_ps)
{
    struct sim_event event;
    while (sim_events_next(&bench->events) < until_ps && sim_events_take(&bench->events, &event)) {
        assert_int_equal(event.kind, NETWORK_EVENT);
        assert_true(event.at >= bench->now_ps);
        bench->now_ps = event.at;
        bench->event_count++;
        sim_network_event(bench->network, &event);
    }
    bench->now_ps = until_ps < UINT64_MAX ? until_ps : bench->now_ps;
}

static inline void bench_run(struct bench *bench)
{
    bench_run_until(bench, UINT64_MAX);
}

static inline void assert_arrival(const struct bench *bench, uint32_t number, uint64_t at_ps,
                                  uint32_t node, uint32_t token)
{
    assert_true(number < bench->arrival_count);
    assert_int_equal(bench->arrivals[number].at_ps, at_ps);
    assert_int_equal(bench->arrivals[number].node, node);
    assert_int_equal(bench->arrivals[number].token, token);
}

#endif
