#include "cli/sim/net_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/json.h"

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

/* The columns of a row, by name. A row without measured latencies leaves those columns out. */
struct column {
    const char *name;
    const char *title;
    int width, decimals;
};

enum {
    COLUMN_RATE,
    COLUMN_OFFERED,
    COLUMN_ACCEPTED,
    COLUMN_MEAN,
    COLUMN_P50,
    COLUMN_P90,
    COLUMN_P99,
    COLUMN_P999,
    COLUMN_MOST,
    COLUMN_WAIT,
    COLUMN_HOPS,
    COLUMN_PACKETS,
    COLUMN_HOTTEST,
    COLUMN_USE,
    COLUMN_DAMAGED,
    COLUMN_RESENT,
    COLUMN_CORRECTED,
    COLUMN_BACKLOG,
    COLUMN_CYCLES,
    COLUMN_FLIT_HOPS,
    COLUMNS,
};

/* A width of 0: not in the table. */
static const struct column columns[COLUMNS] = {
    [COLUMN_RATE] = {"rate", "rate", 7, 4},
    [COLUMN_OFFERED] = {"offered", "offered", 8, 4},
    [COLUMN_ACCEPTED] = {"accepted", "accepted", 9, 4},
    [COLUMN_MEAN] = {"mean_cycles", "mean", 9, 2},
    [COLUMN_P50] = {"p50_cycles", "50 %", 7, 0},
    [COLUMN_P90] = {"p90_cycles", "90 %", 7, 0},
    [COLUMN_P99] = {"p99_cycles", "99 %", 7, 0},
    [COLUMN_P999] = {"p999_cycles", "99.9 %", 7, 0},
    [COLUMN_MOST] = {"max_cycles", "max", 7, 0},
    [COLUMN_WAIT] = {"wait_cycles", "", 0, 2},
    [COLUMN_HOPS] = {"hops", "hops", 6, 2},
    [COLUMN_PACKETS] = {"packets", "packets", 9, 0},
    [COLUMN_HOTTEST] = {"hottest_use", "hottest", 8, 3},
    [COLUMN_USE] = {"mean_use", "", 0, 4},
    [COLUMN_DAMAGED] = {"frames_damaged", "", 0, 0},
    [COLUMN_RESENT] = {"frames_resent", "resent", 8, 0},
    [COLUMN_CORRECTED] = {"lines_corrected", "", 0, 0},
    [COLUMN_BACKLOG] = {"backlog_flits", "", 0, 0},
    [COLUMN_CYCLES] = {"cycles", "", 0, 0},
    [COLUMN_FLIT_HOPS] = {"flit_hops", "", 0, 0},
};

static void values_of(const struct net_result *result, double values[COLUMNS])
{
    bool any = result->packets > 0;
    values[COLUMN_RATE] = result->rate;
    values[COLUMN_OFFERED] = result->offered;
    values[COLUMN_ACCEPTED] = result->accepted;
    values[COLUMN_MEAN] = result->mean;
    values[COLUMN_P50] = any ? (double)result->p50 : NAN;
    values[COLUMN_P90] = any ? (double)result->p90 : NAN;
    values[COLUMN_P99] = any ? (double)result->p99 : NAN;
    values[COLUMN_P999] = any ? (double)result->p999 : NAN;
    values[COLUMN_MOST] = any ? (double)result->most : NAN;
    values[COLUMN_WAIT] = result->wait_mean;
    values[COLUMN_HOPS] = result->hops_mean;
    values[COLUMN_PACKETS] = (double)result->packets;
    values[COLUMN_HOTTEST] = result->hottest.use;
    values[COLUMN_USE] = result->use_mean;
    values[COLUMN_DAMAGED] = (double)result->frames_damaged;
    values[COLUMN_RESENT] = (double)result->frames_resent;
    values[COLUMN_CORRECTED] = (double)result->lines_corrected;
    values[COLUMN_BACKLOG] = (double)result->backlog_flits;
    values[COLUMN_CYCLES] = (double)result->cycles;
    values[COLUMN_FLIT_HOPS] = (double)result->flit_hops;
}

static double flit_hops_per_s(const struct net_result *result)
{
    return result->wall_ns ? (double)result->flit_hops / (double)result->wall_ns * 1e9 : 0;
}

/* ---- Rows --------------------------------------------------------------------------------- */

void net_report_head(const struct net_report *report)
{
    const struct net_config *network = &report->file->experiment.network;
    char title[NET_REPORT_TITLE_BYTES];
    if (report->format == NET_REPORT_JSON) {
        return;
    }
    if (report->format == NET_REPORT_CSV) {
        (void)fprintf(report->stream, "network,outcome");
        for (unsigned i = 0; i < COLUMNS; i++) {
            (void)fprintf(report->stream, ",%s", columns[i].name);
        }
        (void)fprintf(report->stream, ",hottest_from,hottest_to%s\n",
                      report->speed ? ",flit_hops_per_s" : "");
        return;
    }
    net_report_title(report->file, title);
    (void)fprintf(report->stream, "%s: %s\n", report->file->name, title);
    if (*report->file->text) {
        (void)fprintf(report->stream, "%s\n", report->file->text);
    }
    (void)fprintf(report->stream,
                  "rates in flits per node and cycle, latencies in cycles of %g ns\n\n",
                  1e6 / (double)network->clock_khz);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (columns[i].width > 0) {
            (void)fprintf(report->stream, "%*s", columns[i].width, columns[i].title);
        }
    }
    (void)fprintf(report->stream, "  %-12s outcome\n", "link");
}

static void print_json(const struct net_report *report, const struct net_result *result,
                       const double *values)
{
    FILE *stream = report->stream;
    (void)fputs("{\"test\":\"net\",\"network\":", stream);
    cli_json_text(stream, report->file->name);
    (void)fprintf(stream, ",\"nodes\":%" PRIu32 ",\"outcome\":\"%s\"",
                  report->file->experiment.network.width * report->file->experiment.network.height,
                  net_outcome_names[result->outcome]);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (isfinite(values[i])) {
            (void)fprintf(stream, ",\"%s\":%.*f", columns[i].name, columns[i].decimals, values[i]);
        }
    }
    (void)fprintf(stream, ",\"hottest_from\":%" PRIu32 ",\"hottest_to\":%" PRIu32,
                  result->hottest.from, result->hottest.to);
    if (report->speed) {
        (void)fprintf(stream, ",\"flit_hops_per_s\":%.0f", flit_hops_per_s(result));
    }
    if (result->outcome == NET_DEADLOCKED) {
        (void)fputs(",\"circle\":", stream);
        cli_json_text(stream, result->circle);
    }
    (void)fputs("}\n", stream);
}

static void print_csv(const struct net_report *report, const struct net_result *result,
                      const double *values)
{
    (void)fprintf(report->stream, "%s,%s", report->file->name, net_outcome_names[result->outcome]);
    for (unsigned i = 0; i < COLUMNS; i++) {
        (void)fputc(',', report->stream);
        if (isfinite(values[i])) {
            (void)fprintf(report->stream, "%.*f", columns[i].decimals, values[i]);
        }
    }
    (void)fprintf(report->stream, ",%" PRIu32 ",%" PRIu32, result->hottest.from,
                  result->hottest.to);
    if (report->speed) {
        (void)fprintf(report->stream, ",%.0f", flit_hops_per_s(result));
    }
    (void)fputc('\n', report->stream);
}

static void print_line(const struct net_report *report, const struct net_result *result,
                       const double *values)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (columns[i].width == 0) {
            continue;
        }
        if (isfinite(values[i])) {
            (void)fprintf(report->stream, "%*.*f", columns[i].width, columns[i].decimals,
                          values[i]);
        } else {
            (void)fprintf(report->stream, "%*s", columns[i].width, "-");
        }
    }
    char link[40];
    (void)snprintf(link, sizeof link, "%" PRIu32 "->%" PRIu32, result->hottest.from,
                   result->hottest.to);
    (void)fprintf(report->stream, "  %-12s %s\n", result->link_count ? link : "",
                  net_outcome_names[result->outcome]);
    if (report->speed) {
        (void)fprintf(report->stream, "  %.3g flit-hops in %.3g s: %.3g flit-hops/s\n",
                      (double)result->flit_hops, (double)result->wall_ns / 1e9,
                      flit_hops_per_s(result));
    }
    if (result->outcome == NET_SATURATED) {
        (void)fprintf(report->stream,
                      "  saturated: %" PRIu64 " flits wait at the NICs; the hottest link is %s, "
                      "busy %.1f %% of the time\n",
                      result->backlog_flits, link, 100 * result->hottest.use);
    } else if (result->outcome == NET_DEADLOCKED) {
        (void)fprintf(report->stream, "  deadlock, seen in cycle %" PRIu64 ": %s\n", result->cycles,
                      result->circle);
    }
}

static void print_links(const struct net_report *report, const struct net_result *result)
{
    for (uint32_t i = 0; i < result->link_count; i++) {
        const struct net_link_use *link = &result->links[i];
        if (report->format == NET_REPORT_JSON) {
            (void)fprintf(report->stream,
                          "{\"link_from\":%" PRIu32 ",\"link_to\":%" PRIu32 ",\"use\":%.4f}\n",
                          link->from, link->to, link->use);
        } else {
            (void)fprintf(report->stream,
                          report->format == NET_REPORT_CSV ? "link,%" PRIu32 ",%" PRIu32 ",%.4f\n"
                                                           : "  link %" PRIu32 " -> %" PRIu32
                                                             "  %.4f\n",
                          link->from, link->to, link->use);
        }
    }
}

void net_report_row(const struct net_report *report, const struct net_result *result)
{
    double values[COLUMNS];
    values_of(result, values);
    switch (report->format) {
    case NET_REPORT_TABLE: print_line(report, result, values); break;
    case NET_REPORT_CSV: print_csv(report, result, values); break;
    case NET_REPORT_JSON: print_json(report, result, values); break;
    }
    if (report->links) {
        print_links(report, result);
    }
    (void)fflush(report->stream);
}

void net_report_saturation(const struct net_report *report, const struct net_result *result,
                           const struct net_bound *bound)
{
    FILE *stream = report->stream;
    if (report->format == NET_REPORT_JSON) {
        (void)fputs("{\"test\":\"net_saturation\",\"network\":", stream);
        cli_json_text(stream, report->file->name);
        (void)fprintf(stream, ",\"rate\":%.4f,\"accepted\":%.4f", result->rate, result->accepted);
        if (bound) {
            (void)fprintf(stream, ",\"bound\":%.4f,\"of_bound\":%.4f", bound->rate,
                          result->accepted / bound->rate);
        }
        (void)fputs("}\n", stream);
    } else if (report->format == NET_REPORT_TABLE) {
        (void)fprintf(stream, "\nsaturation: %.4f flits per node and cycle (%.1f MB/s a node)",
                      result->accepted,
                      result->accepted * report->file->experiment.network.flit_bytes *
                          (double)report->file->experiment.network.clock_khz / 1000);
        if (bound) {
            (void)fprintf(stream, ", %.1f %% of the bound, %.4f",
                          100 * result->accepted / bound->rate, bound->rate);
        }
        (void)fputc('\n', stream);
    }
}

/* ---- Keys --------------------------------------------------------------------------------- */

static void print_key(void *context, const struct net_key_value *value)
{
    const struct net_report *report = context;
    if (report->format == NET_REPORT_JSON) {
        (void)fprintf(report->stream,
                      "{\"section\":\"%s\",\"key\":\"%s\",\"value\":", value->section, value->key);
        cli_json_text(report->stream, value->value);
        (void)fputs(",\"help\":", report->stream);
        cli_json_text(report->stream, value->help);
        (void)fputs("}\n", report->stream);
    } else {
        (void)fprintf(report->stream,
                      report->format == NET_REPORT_CSV ? "%s,%s,%s,\"%s\"\n"
                                                       : "%-8s %-17s %10s  %s\n",
                      value->section, value->key, value->value, value->help);
    }
}

void net_report_keys(const struct net_report *report)
{
    struct net_report copy = *report;
    if (report->format == NET_REPORT_CSV) {
        (void)fputs("section,key,value,help\n", report->stream);
    }
    net_file_each(&report->file->experiment, print_key, &copy);
}
