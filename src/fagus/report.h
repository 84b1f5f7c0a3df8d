/* The report of the hottest variables at the end (FAGUS_STATS=1). */
#ifndef FAGUS_REPORT_H
#define FAGUS_REPORT_H

#include "fagus.h"

struct fagus_report_row {
    const char *name;
    struct fagus_stats stats; /* of this node */
};

/* Collective, all nodes with the same variables in the same order: rank 0 prints their sums over
 * all nodes to standard error, those first that were waited for longest. The rows change. */
void fagus_report(struct fagus_report_row *rows, size_t count);

#endif
