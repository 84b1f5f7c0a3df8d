/* A network's measured rates as a page: charts over the load, and its links. */
#ifndef CLI_SIM_NET_PAGE_H
#define CLI_SIM_NET_PAGE_H

#include "sim/ring/bound.h"
#include "sim/ring/net_file.h"

/* The results are in the order of their rates. The page shows the links at the last rate before
 * saturation and at half of it. `saturation` and `bound` may be NULL. False: the page cannot be
 * written; errno says why. */
bool net_page_write(const char *path, const struct net_file *file, const struct net_result *results,
                    unsigned count, const struct net_result *saturation,
                    const struct net_bound *bound);

#endif
