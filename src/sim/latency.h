/* Latencies, in cycles or nanoseconds as the user counts: exactly below 4,096, in steps of less
 * than a thousandth above. */
#ifndef SIM_LATENCY_H
#define SIM_LATENCY_H

#include "base/base.h"

/* 2^12 exact bins, and 2^11 for each doubling after them. */
enum {
    SIM_LATENCY_EXACT_BITS = 12,
    SIM_LATENCY_BINS = (1 << SIM_LATENCY_EXACT_BITS) +
                       (64 - SIM_LATENCY_EXACT_BITS) * (1 << (SIM_LATENCY_EXACT_BITS - 1)),
};

/* All zero is empty. */
struct sim_latency {
    uint64_t count, sum, most;
    uint64_t bins[SIM_LATENCY_BINS];
};

void sim_latency_add(struct sim_latency *latency, uint64_t cycles);

/* NAN when there are none. */
double sim_latency_mean(const struct sim_latency *latency);

/* The least latency that at least this share of all latencies do not exceed (the bin's largest); 0
 * when there are none. */
uint64_t sim_latency_at(const struct sim_latency *latency, double share);

#endif
