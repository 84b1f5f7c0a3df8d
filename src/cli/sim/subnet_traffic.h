/* Traffic over the subnet of `dimmnet sim subnet`: its options, its run beside the server, and what
 * is told of it.
 *
 * Managed from outside, virtual time never runs ahead of the time of day: what OpenSM takes to lay
 * new ways is what boards wait for them. */
#ifndef CLI_SIM_SUBNET_TRAFFIC_H
#define CLI_SIM_SUBNET_TRAFFIC_H

#include <signal.h>

#include "cli/options.h"
#include "cli/sim/subnet_opensm.h"
#include "sim/subnet/load.h"

enum { SUBNET_TRAFFIC_FAULTS_MAX = 16 };

/* A cable or a node that dies, and perhaps comes back. */
struct subnet_traffic_fault {
    char name[TOPOLOGY_NAME_BYTES];
    uint32_t port;           /* 0: the whole node */
    uint64_t from_ps, to_ps; /* UINT64_MAX: for ever */
};

struct subnet_traffic {
    const char *pattern; /* NULL: there is no traffic */
    struct load_config load;
    struct flow_config flow;
    struct bridge_config bridge;
    uint64_t switch_ns, cable_ns; /* as they are asked for */
    uint64_t warm_us, window_us, drain_ms;
    struct subnet_traffic_fault faults[SUBNET_TRAFFIC_FAULTS_MAX];
    uint32_t fault_count;
    const char *capture, *timeline, *page;
    uint64_t capture_packets;
    bool links, speed, json;
};

extern const struct options_row subnet_traffic_rows[];
void subnet_traffic_default(struct subnet_traffic *traffic);
/* One line that says what makes no sense on this subnet, or NULL. */
const char *subnet_traffic_objection(struct subnet_traffic *traffic, const struct subnet *subnet,
                                     char text[TOPOLOGY_ERROR_BYTES]);

/* Runs it, while programs are served if there is a server; with OpenSM's service levels, if it was
 * asked for them. Returns an exit status: CLI_FAULT if there was a circle, or packets did not come.
 * */
int subnet_traffic_run(const struct subnet_traffic *traffic, struct subnet_session *session,
                       struct subnet_opensm *opensm, const char *title,
                       const volatile sig_atomic_t *asked_to_end);

#endif
