/* Measuring a network under traffic: warm up until the latency is steady, watch a window, wait for
 * what was sent in it. Also finds the rate above which the network saturates. */
#ifndef SIM_RING_MEASURE_H
#define SIM_RING_MEASURE_H

#include "sim/ring/traffic.h"

struct net_measure_config {
    uint64_t warm_up_cycles; /* at least */
    uint64_t batch_cycles;   /* their mean latencies are compared */
    uint32_t batches;        /* this many in a row must be within the tolerance of their mean */
    uint32_t batches_most;   /* after these the measurement starts, steady or not */
    double tolerance;
    uint64_t cycles; /* of the window */
    uint64_t drain_cycles;
    uint64_t look_cycles; /* between two checks for a deadlock */
    double precision;     /* of the saturation point, as a share of it */
};

void net_measure_config_default(struct net_measure_config *config, uint32_t nodes);

/* A link that dies and comes back. */
struct net_outage {
    uint32_t from, to;
    uint64_t die_cycle, return_cycle;
};
enum { NET_OUTAGES_MAX = 16 };

/* Everything that determines a run. */
struct net_experiment {
    struct net_config network;
    struct net_traffic_config traffic;
    struct net_measure_config measure;
    struct net_outage outages[NET_OUTAGES_MAX];
    uint32_t outage_count;
};

/* One line that says what makes no sense, or NULL. */
const char *net_experiment_objection(const struct net_experiment *experiment,
                                     char text[NET_ERROR_BYTES]);

/* STEADY: the network takes what is offered.
 * UNSTEADY: it does, but the latency was not steady: the window may be too short.
 * SATURATED: more and more of what is offered waits at the NICs.
 * DEADLOCKED: packets wait for each other in a circle.
 * DONE: a trace was delivered to its end.
 * LOSSY: a trace has come to its end, but packets of it were lost.
 * STUCK: a trace was not delivered within drain_cycles after its end. */
enum net_outcome {
    NET_STEADY,
    NET_UNSTEADY,
    NET_SATURATED,
    NET_DEADLOCKED,
    NET_DONE,
    NET_LOSSY,
    NET_STUCK,
    NET_OUTCOMES,
};
extern const char *const net_outcome_names[NET_OUTCOMES];

struct net_link_use {
    uint32_t from, to;
    double use; /* flits per cycle in the window */
};

enum { NET_CIRCLE_BYTES = 4096 };

struct net_result {
    enum net_outcome outcome;
    double rate;      /* as asked for */
    double offered;   /* flits to be delivered, per node and cycle of the window */
    double accepted;  /* flits that were delivered */
    uint64_t packets; /* sent in the window and delivered */
    /* The latencies of those packets, in cycles from net_send to the delivery of the tail. */
    double mean;
    uint64_t p50, p90, p99, p999, most;
    double wait_mean; /* the part of the mean that is spent at the sender's NIC */
    double hops_mean;
    struct net_counters counters; /* altogether */
    uint64_t backlog_flits;       /* that wait at NICs at the end of the window */
    struct net_link_use *links;   /* by number; for net_result_free */
    uint32_t link_count;
    struct net_link_use hottest;
    double use_mean;
    char circle[NET_CIRCLE_BYTES]; /* DEADLOCKED: who waits for whom */
    uint64_t own_ns;               /* that the run took, by the watch's clock; 0 without one */
};

/* What a watcher of a run may give; all may be NULL. */
struct net_watch {
    void *context;
    void (*held)(void *context, uint32_t router, uint32_t port, uint32_t channel,
                 uint64_t from_cycle, uint64_t to_cycle, uint64_t tag);
    uint64_t (*now_ns)(void);
};

/* Runs once at a rate (traces have their own). False: the error says why; *result is empty. */
bool net_measure(const struct net_experiment *experiment, double rate,
                 const struct net_watch *watch, struct net_result *result,
                 char error[NET_ERROR_BYTES]);
void net_result_free(struct net_result *result);

/* Finds the highest rate that does not saturate the network, to config's precision, by bisection
 * between nothing and one flit per node and cycle; gives the run at that rate. */
bool net_measure_saturation(const struct net_experiment *experiment, const struct net_watch *watch,
                            struct net_result *result, char error[NET_ERROR_BYTES]);

#endif
