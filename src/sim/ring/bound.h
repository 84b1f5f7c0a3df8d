/* The saturation throughput that a ring can reach under uniform traffic, computed from its
 * parameters alone: doc/ring.md derives it. */
#ifndef SIM_RING_BOUND_H
#define SIM_RING_BOUND_H

#include "sim/ring/measure.h"

struct net_bound {
    double channel; /* the rate at which the fullest link is full */
    double port;    /* the rate at which the NICs' ports are full */
    double drain;   /* the share of a link that heads of line let through, at most 1 */
    double frame;   /* the share of a link that frames leave to flits; 1 without bit errors */
    double credit;  /* the share of a link that buffers and credits let through, at most 1 */
    double rate;    /* flits per node and cycle, replies included: all of them together */
};

/* The flits of such packets that a NIC's port carries in a cycle, one way, when it is always
 * busy. */
double net_bound_port(const struct net_config *network, const struct net_traffic_config *traffic);

/* False: there is no derivation for that network or that traffic. */
bool net_bound_get(const struct net_experiment *experiment, struct net_bound *bound);

#endif
