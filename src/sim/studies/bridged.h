/* Studies of paper 003's bridges: a subnet that the small manager brought up, and what it carries
 * at a rate and at most. */
#ifndef SIM_STUDIES_BRIDGED_H
#define SIM_STUDIES_BRIDGED_H

#include "sim/studies/study.h"
#include "sim/subnet/load.h"

struct bridged {
    struct subnet *subnet;
    struct flow_config flow;
    struct bridge_config bridge;
    struct load_config load; /* without its rate */
};

/* A shape as topology_make.h has it, or a topology of which a copy is taken; routed up-down, with
 * the usual cables, bridges and uniform traffic. False: the error says why. */
bool bridged_open(struct bridged *bridged, const char *shape, char error[SIM_ERROR_BYTES]);
bool bridged_open_topology(struct bridged *bridged, const struct topology *topology,
                           char error[SIM_ERROR_BYTES]);
void bridged_close(struct bridged *bridged);

/* The mean latency of a lone packet from board 0 to each of the others. */
double bridged_empty_ns(const struct bridged *bridged, uint32_t bytes);

/* At this rate, in MB/s of each board, until all has come. */
void bridged_run(const struct bridged *bridged, double mb_per_s, struct load_result *result);

/* The most that each board gets, in MB/s, when it is offered a little less, as much or a little
 * more than its NIC takes. */
double bridged_most(const struct bridged *bridged);

#endif
