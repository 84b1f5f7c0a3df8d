/* What is told of traffic over a subnet: a few lines, or JSON, what each cable carried, a page. */
#ifndef CLI_SIM_SUBNET_REPORT_H
#define CLI_SIM_SUBNET_REPORT_H

#include "cli/sim/subnet_traffic.h"

struct subnet_report {
    const char *title;  /* the topology, as it was asked for */
    const char *engine; /* opensm's, or "" */
    const struct subnet_traffic *traffic;
    const struct subnet *subnet;
    const struct load *load;
    const struct load_result *result;
    uint64_t own_ns; /* the simulation's own CPU time; 0: not to be told */
    bool was_interrupted;
};

/* Returns an exit status: CLI_FAULT if there was a circle, if packets did not come that a bridge
 * should have brought, came twice or in another order, or if a file could not be written. */
int subnet_report_print(const struct subnet_report *report);

#endif
