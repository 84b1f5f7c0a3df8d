#include "cli/sim/net_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

void net_report_title(const struct net_file *file, char title[NET_REPORT_TITLE_BYTES])
{
    const struct net_config *network = &file->experiment.network;
    const struct net_traffic_config *traffic = &file->experiment.traffic;
    char size[40];
    char length[60] = "";
    if (network->shape == NET_RING) {
        (void)snprintf(size, sizeof size, "ring of %" PRIu32, network->width);
    } else {
        (void)snprintf(size, sizeof size, "%" PRIu32 " x %" PRIu32 " %s", network->width,
                       network->height, net_shape_names[network->shape]);
    }
    if (traffic->pattern != NET_TRACE && traffic->long_share > 0) {
        (void)snprintf(length, sizeof length, ", packets of %" PRIu32 " and %" PRIu32 " flits",
                       traffic->flits, traffic->long_flits);
    } else if (traffic->pattern != NET_TRACE) {
        (void)snprintf(length, sizeof length, ", packets of %" PRIu32 " flits", traffic->flits);
    }
    (void)snprintf(title, NET_REPORT_TITLE_BYTES, "%s, %s routing, %s traffic%s", size,
                   net_routing_names[network->routing], net_pattern_names[traffic->pattern],
                   length);
}

/* ---- Columns ------------------------------------------------------------------------------ */

struct column {
    const char *name;
    const char *title; /* in the table */
    int width;         /* there; 0: not in the table */
    int decimals;
    double value; /* NaN: there is none, and the row leaves it out */
};

enum { COLUMNS = 23 };

static void columns_of(const struct net_result *result, struct column columns[COLUMNS])
{
    bool any = result->packets > 0;
    const struct column made[COLUMNS] = {
        {"rate", "rate", 7, 4, result->rate},
        {"offered", "offered", 8, 4, result->offered},
        {"accepted", "accepted", 9, 4, result->accepted},
        {"mean_cycles", "mean", 9, 2, result->mean},
        {"p50_cycles", "50 %", 7, 0, any ? (double)result->p50 : NAN},
        {"p90_cycles", "90 %", 7, 0, any ? (double)result->p90 : NAN},
        {"p99_cycles", "99 %", 7, 0, any ? (double)result->p99 : NAN},
        {"p999_cycles", "99.9 %", 7, 0, any ? (double)result->p999 : NAN},
        {"max_cycles", "max", 7, 0, any ? (double)result->most : NAN},
        {"wait_cycles", "", 0, 2, result->wait_mean},
        {"hops", "hops", 6, 2, result->hops_mean},
        {"packets", "packets", 9, 0, (double)result->packets},
        {"hottest_use", "hottest", 8, 3, result->hottest.use},
        {"mean_use", "", 0, 4, result->use_mean},
        {"frames_damaged", "", 0, 0, (double)result->counters.frames_damaged},
        {"frames_resent", "resent", 8, 0, (double)result->counters.frames_resent},
        {"lines_corrected", "", 0, 0, (double)result->counters.lines_corrected},
        {"lines_damaged", "", 0, 0, (double)result->counters.lines_damaged},
        {"lines_wrong", "", 0, 0, (double)result->counters.lines_wrong},
        {"packets_lost", "", 0, 0, (double)result->counters.packets_lost},
        {"backlog_flits", "", 0, 0, (double)result->backlog_flits},
        {"cycles", "", 0, 0, (double)result->counters.cycles},
        {"flit_hops", "", 0, 0, (double)result->counters.flit_hops},
    };
    memcpy(columns, made, sizeof made);
}

static double flit_hops_per_s(const struct net_result *result)
{
    return result->own_ns ? (double)result->counters.flit_hops / (double)result->own_ns * 1e9 : 0;
}

/* ---- Rows --------------------------------------------------------------------------------- */

void net_report_head(const struct net_report *report)
{
    const struct net_config *network = &report->file->experiment.network;
    struct column columns[COLUMNS];
    char title[NET_REPORT_TITLE_BYTES];
    if (report->format == NET_REPORT_JSON) {
        return;
    }
    columns_of(&(struct net_result){.rate = 0}, columns); /* for their names */
    if (report->format == NET_REPORT_CSV) {
        printf("network,outcome");
        for (unsigned i = 0; i < COLUMNS; i++) {
            printf(",%s", columns[i].name);
        }
        printf(",hottest_from,hottest_to%s\n", report->speed ? ",flit_hops_per_s" : "");
        return;
    }
    net_report_title(report->file, title);
    printf("%s: %s\n", report->file->name, title);
    if (*report->file->text) {
        printf("%s\n", report->file->text);
    }
    printf("rates in flits per node and cycle, latencies in cycles of %g ns\n\n",
           1e6 / (double)network->clock_khz);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (columns[i].width > 0) {
            printf("%*s", columns[i].width, columns[i].title);
        }
    }
    printf("  %-12s outcome\n", "link");
}

static void print_json(const struct net_report *report, const struct net_result *result,
                       const struct column *columns)
{
    printf("{\"test\":\"net\"");
    cli_json_member("network", report->file->name);
    printf(",\"nodes\":%" PRIu32 ",\"outcome\":\"%s\"",
           report->file->experiment.network.width * report->file->experiment.network.height,
           net_outcome_names[result->outcome]);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (isfinite(columns[i].value)) {
            printf(",\"%s\":%.*f", columns[i].name, columns[i].decimals, columns[i].value);
        }
    }
    printf(",\"hottest_from\":%" PRIu32 ",\"hottest_to\":%" PRIu32, result->hottest.from,
           result->hottest.to);
    if (report->speed) {
        printf(",\"flit_hops_per_s\":%.0f", flit_hops_per_s(result));
    }
    if (result->outcome == NET_DEADLOCKED) {
        cli_json_member("circle", result->circle);
    }
    printf("}\n");
}

static void print_csv(const struct net_report *report, const struct net_result *result,
                      const struct column *columns)
{
    printf("%s,%s", report->file->name, net_outcome_names[result->outcome]);
    for (unsigned i = 0; i < COLUMNS; i++) {
        (void)putchar(',');
        if (isfinite(columns[i].value)) {
            printf("%.*f", columns[i].decimals, columns[i].value);
        }
    }
    printf(",%" PRIu32 ",%" PRIu32, result->hottest.from, result->hottest.to);
    if (report->speed) {
        printf(",%.0f", flit_hops_per_s(result));
    }
    (void)putchar('\n');
}

/* What bit errors did, if there were any. */
static void print_errors(const struct net_counters *counters)
{
    if (counters->frames_damaged > 0 || counters->frames_resent > 0) {
        printf("  links: %" PRIu64 " frames damaged, %" PRIu64 " sent again\n",
               counters->frames_damaged, counters->frames_resent);
    }
    if (counters->lines_corrected > 0 || counters->lines_damaged > 0 || counters->lines_wrong > 0 ||
        counters->packets_lost > 0) {
        printf("  ports: %" PRIu64 " lines corrected, %" PRIu64 " damaged, %" PRIu64
               " wrong and not noticed; %" PRIu64 " packets lost\n",
               counters->lines_corrected, counters->lines_damaged, counters->lines_wrong,
               counters->packets_lost);
    }
}

static void print_line(const struct net_report *report, const struct net_result *result,
                       const struct column *columns)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (columns[i].width == 0) {
            continue;
        }
        if (isfinite(columns[i].value)) {
            printf("%*.*f", columns[i].width, columns[i].decimals, columns[i].value);
        } else {
            printf("%*s", columns[i].width, "-");
        }
    }
    char link[40];
    (void)snprintf(link, sizeof link, "%" PRIu32 "->%" PRIu32, result->hottest.from,
                   result->hottest.to);
    printf("  %-12s %s\n", result->link_count ? link : "", net_outcome_names[result->outcome]);
    print_errors(&result->counters);
    if (report->speed) {
        printf("  %.3g flit-hops in %.3g s of CPU time: %.3g flit-hops/s\n",
               (double)result->counters.flit_hops, (double)result->own_ns / 1e9,
               flit_hops_per_s(result));
    }
    if (result->outcome == NET_SATURATED) {
        const struct net_experiment *experiment = &report->file->experiment;
        double port = net_bound_port(&experiment->network, &experiment->traffic);
        printf("  saturated: %" PRIu64 " flits wait at the NICs; the hottest link is %s, "
               "busy %.1f %% of the time, and the ports to the NICs %.1f %%\n",
               result->backlog_flits, link, 100 * result->hottest.use,
               100 * result->accepted / port);
    } else if (result->outcome == NET_DEADLOCKED) {
        printf("  deadlock, seen in cycle %" PRIu64 ": %s\n", result->counters.cycles,
               result->circle);
    }
}

static void print_links(const struct net_report *report, const struct net_result *result)
{
    for (uint32_t i = 0; i < result->link_count; i++) {
        const struct net_link_use *link = &result->links[i];
        if (report->format == NET_REPORT_JSON) {
            printf("{\"link_from\":%" PRIu32 ",\"link_to\":%" PRIu32 ",\"use\":%.4f}\n", link->from,
                   link->to, link->use);
        } else {
            printf(report->format == NET_REPORT_CSV ? "link,%" PRIu32 ",%" PRIu32 ",%.4f\n"
                                                    : "  link %" PRIu32 " -> %" PRIu32 "  %.4f\n",
                   link->from, link->to, link->use);
        }
    }
}

void net_report_row(const struct net_report *report, const struct net_result *result)
{
    struct column columns[COLUMNS];
    columns_of(result, columns);
    switch (report->format) {
    case NET_REPORT_TABLE: print_line(report, result, columns); break;
    case NET_REPORT_CSV: print_csv(report, result, columns); break;
    case NET_REPORT_JSON: print_json(report, result, columns); break;
    }
    if (report->links) {
        print_links(report, result);
    }
    (void)fflush(stdout);
}

void net_report_saturation(const struct net_report *report, const struct net_result *result,
                           const struct net_bound *bound)
{
    if (report->format == NET_REPORT_JSON) {
        printf("{\"test\":\"net_saturation\"");
        cli_json_member("network", report->file->name);
        printf(",\"rate\":%.4f,\"accepted\":%.4f", result->rate, result->accepted);
        if (bound) {
            printf(",\"bound\":%.4f,\"of_bound\":%.4f", bound->rate,
                   result->accepted / bound->rate);
        }
        printf("}\n");
    } else if (report->format == NET_REPORT_TABLE) {
        printf("\nsaturation: %.4f flits per node and cycle (%.1f MB/s a node)", result->accepted,
               result->accepted * report->file->experiment.network.flit_bytes *
                   (double)report->file->experiment.network.clock_khz / 1000);
        if (bound) {
            printf(", %.1f %% of the bound, %.4f", 100 * result->accepted / bound->rate,
                   bound->rate);
        }
        (void)putchar('\n');
    }
}

/* ---- Keys --------------------------------------------------------------------------------- */

static void print_key(void *context, const struct net_key_value *value)
{
    const struct net_report *report = context;
    if (report->format == NET_REPORT_JSON) {
        printf("{\"section\":\"%s\",\"key\":\"%s\"", value->section, value->key);
        cli_json_member("value", value->value);
        cli_json_member("help", value->help);
        printf("}\n");
    } else {
        printf(report->format == NET_REPORT_CSV ? "%s,%s,%s,\"%s\"\n" : "%-8s %-17s %10s  %s\n",
               value->section, value->key, value->value, value->help);
    }
}

void net_report_keys(const struct net_report *report)
{
    struct net_report copy = *report;
    if (report->format == NET_REPORT_CSV) {
        printf("section,key,value,help\n");
    }
    net_file_each(&report->file->experiment, print_key, &copy);
}
