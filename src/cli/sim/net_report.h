/* What `dimmnet sim net` prints: a table, CSV, or one JSON object per line. */
#ifndef CLI_SIM_NET_REPORT_H
#define CLI_SIM_NET_REPORT_H

#include "sim/ring/bound.h"
#include "sim/ring/net_file.h"

enum net_report_format { NET_REPORT_TABLE, NET_REPORT_CSV, NET_REPORT_JSON };

struct net_report {
    enum net_report_format format;
    const struct net_file *file;
    bool speed; /* the simulator's own, too, which is never the same twice */
    bool links; /* a line for each link, too */
};

void net_report_head(const struct net_report *report);
void net_report_row(const struct net_report *report, const struct net_result *result);
/* After a sweep: where the network saturates, and the bound, if there is one. */
void net_report_saturation(const struct net_report *report, const struct net_result *result,
                           const struct net_bound *bound);
/* Every key with its value. */
void net_report_keys(const struct net_report *report);

/* What was measured: "ring of 8, uniform, packets of 8 flits". */
enum { NET_REPORT_TITLE_BYTES = 200 };
void net_report_title(const struct net_file *file, char title[NET_REPORT_TITLE_BYTES]);

#endif
