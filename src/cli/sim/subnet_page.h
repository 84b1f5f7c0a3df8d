/* A subnet as a page: its nodes and cables, coloured by what a run put on them, and the run's
 * figures. */
#ifndef CLI_SIM_SUBNET_PAGE_H
#define CLI_SIM_SUBNET_PAGE_H

#include "sim/subnet/load.h"

struct subnet_page {
    const char *title;
    const char *command;              /* what gives this page again */
    const struct load_result *result; /* NULL: nothing was run */
    const double *busy; /* by port: the share of the run, 0 .. 1, that its cable was busy
                                       * with what the port sent; NULL: nothing was run */
};

/* Packets on cables are those that the ports' counters have. False: the page cannot be written;
 * errno says why. */
bool subnet_page_write(const char *path, const struct subnet *subnet,
                       const struct subnet_page *page);

#endif
