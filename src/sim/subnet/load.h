/* Traffic over a subnet, and what comes of it: latencies, throughput, losses, order, circles.
 *
 * Open loop: each board sends packets at its rate, whether or not the subnet can take them, and
 * they wait at the board. They go in frames by bridges (bridge.h), which lose nothing, or each as
 * an InfiniBand packet of its own, as paper 002's boards send UD. A run warms up, watches a window,
 * and then waits until all has come, a circle is found, or `drain_ps` are over.
 *
 * A run goes step by step, so that a manager outside may answer in between. Chance comes from the
 * seed alone: without such a manager two runs are the same. */
#ifndef SIM_SUBNET_LOAD_H
#define SIM_SUBNET_LOAD_H

#include "sim/subnet/bridge.h"

/* UNIFORM: to any other board.
 * SHIFT: to the board half-way round, in the order of boards.
 * NEIGHBOUR: to the next board.
 * PERMUTATION: each board to one other, all to different ones, drawn once.
 * ALL_TO_ALL: each to all others in turn, beginning with the next.
 * HOT_SPOT: a share of all packets to board 0, the rest uniform. */
enum load_pattern {
    LOAD_UNIFORM,
    LOAD_SHIFT,
    LOAD_NEIGHBOUR,
    LOAD_PERMUTATION,
    LOAD_ALL_TO_ALL,
    LOAD_HOT_SPOT,
    LOAD_PATTERNS,
};
extern const char *const load_pattern_names[LOAD_PATTERNS];

enum load_carrier { LOAD_BRIDGES, LOAD_DATAGRAMS, LOAD_CARRIERS };
extern const char *const load_carrier_names[LOAD_CARRIERS];

struct load_config {
    enum load_pattern pattern;
    enum load_carrier carrier;
    double rate; /* of what a board's cable carries, 0 .. 1; counts packets' own bytes */
    double hot_share;
    uint32_t bytes; /* of a packet */
    uint32_t flows; /* that packets are spread over, 1 .. BRIDGE_FLOWS */
    uint64_t warm_ps, window_ps, drain_ps;
    uint64_t packets;     /* sending ends after so many, if not before; 0: no limit */
    uint64_t look_events; /* between two searches for a circle */
    uint64_t seed;
};
void load_config_default(struct load_config *config);
const char *load_config_objection(const struct load_config *config, const struct subnet *subnet,
                                  char text[TOPOLOGY_ERROR_BYTES]);

/* DONE: all has come that was not lost.
 * SATURATED: boards had more and more to send, in the window.
 * DEADLOCKED: packets wait for each other in a circle.
 * STUCK: packets had not come when drain_ps were over. */
enum load_outcome { LOAD_DONE, LOAD_SATURATED, LOAD_DEADLOCKED, LOAD_STUCK, LOAD_OUTCOMES };
extern const char *const load_outcome_names[LOAD_OUTCOMES];

enum { LOAD_CIRCLE_BYTES = 4096 };

struct load_result {
    enum load_outcome outcome;
    double offered, accepted;  /* of what a board's cable carries, in the window */
    double mb_per_s;           /* accepted, of a board */
    uint64_t sent, delivered;  /* packets, altogether */
    uint64_t lost;             /* never came; of bridges, that are still missing */
    uint64_t doubled, swapped; /* between two boards in a flow */
    double mean_ns;            /* of packets sent in the window, from sending to all of it */
    uint64_t p50_ns, p99_ns, p999_ns, most_ns;
    double hops_mean; /* switches, by datagrams */
    uint64_t now_ps;
    uint64_t events;
    struct flow_counters flow;
    struct bridge_counters bridge; /* by bridges */
    char circle[LOAD_CIRCLE_BYTES];
};

/* What a watcher may give; all may be NULL. */
struct load_watch {
    void *context;
    uint8_t (*level)(void *context, uint32_t source, uint32_t target, uint32_t flow);
    void (*sight)(void *context, const struct flow_sight *sight);
};

struct load;

/* The subnet is brought up, or will be: boards wait for their ports. Nothing has an objection. */
struct load *load_open(struct subnet *subnet, const struct flow_config *flow_config,
                       const struct bridge_config *bridge_config, const struct load_config *config,
                       const struct load_watch *watch);
void load_close(struct load *load);

/* Handles so many events, or all up to `until_ps` if those are fewer; then it is that time. False:
 * the run is over. */
bool load_step(struct load *load, uint64_t events, uint64_t until_ps);
/* To be called after anything changed in the subnet but its tables. */
void load_changed(struct load *load);
uint64_t load_now_ps(const struct load *load);

void load_result(const struct load *load, struct load_result *result);
/* How long a port's cable has been busy with packets. */
uint64_t load_busy_ps(const struct load *load, uint32_t port);
/* The bytes of a packet that was seen; room for WIRE_IB_FRAME_BYTES_MAX. */
uint32_t load_bytes(const struct load *load, const struct flow_sight *sight, unsigned char *to);

#endif
