/* Latencies counted in cycles: exactly below 4,096, in steps of less than a thousandth above. */
#ifndef SIM_RING_LATENCY_H
#define SIM_RING_LATENCY_H

#include "base/base.h"

/* 2^12 exact bins, and 2^11 for each doubling after them. */
enum {
    NET_LATENCY_EXACT_BITS = 12,
    NET_LATENCY_BINS = (1 << NET_LATENCY_EXACT_BITS) +
                       (64 - NET_LATENCY_EXACT_BITS) * (1 << (NET_LATENCY_EXACT_BITS - 1)),
};

/* All zero is empty. */
struct net_latency {
    uint64_t count, sum, most;
    uint64_t bins[NET_LATENCY_BINS];
};

void net_latency_add(struct net_latency *latency, uint64_t cycles);

/* NAN when there are none. */
double net_latency_mean(const struct net_latency *latency);

/* The least latency that at least this share of all latencies do not exceed (the bin's largest); 0
 * when there are none. */
uint64_t net_latency_at(const struct net_latency *latency, double share);

#endif
