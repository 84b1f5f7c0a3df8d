#include "cli/sim/net_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/sim/page.h"
#include "cli/sim/net_report.h"

enum { TEXT_BYTES = 320, LATENCIES = 6, RATES_MAX = 64 };

static bool is_steady(const struct net_result *result)
{
    return result->outcome != NET_SATURATED && result->outcome != NET_DEADLOCKED &&
           result->packets > 0;
}

static const char *const latency_names[LATENCIES] = {"mean", "50 %",   "90 %",
                                                     "99 %", "99.9 %", "max"};

static double latency_of(const struct net_result *result, unsigned which)
{
    const double latencies[LATENCIES] = {result->mean,         (double)result->p50,
                                         (double)result->p90,  (double)result->p99,
                                         (double)result->p999, (double)result->most};
    return latencies[which];
}

/* Beyond saturation there are none: there a latency only tells how long the run was. */
static void put_latencies(FILE *page, const struct net_result *results, unsigned count)
{
    double x[RATES_MAX];
    double y[LATENCIES][RATES_MAX];
    struct cli_chart chart = {
        .title = "Latency against load",
        .x_label = "accepted, flits per node and cycle",
        .y_label = "cycles",
        .y_is_logarithmic = true,
        .series_count = LATENCIES,
    };
    for (unsigned which = 0; which < LATENCIES; which++) {
        for (unsigned i = 0; i < count; i++) {
            x[i] = results[i].accepted;
            y[which][i] = is_steady(&results[i]) ? latency_of(&results[i], which) : NAN;
        }
        chart.series[which] = (struct cli_series){
            .name = latency_names[which], .x = x, .y = y[which], .count = count};
    }
    cli_page_chart(page, &chart);
}

static void put_throughput(FILE *page, const struct net_result *results, unsigned count,
                           const struct net_bound *bound)
{
    double offered[RATES_MAX];
    double accepted[RATES_MAX];
    for (unsigned i = 0; i < count; i++) {
        offered[i] = results[i].offered;
        accepted[i] = results[i].accepted;
    }
    struct cli_chart chart = {
        .title = "Throughput: accepted against offered",
        .x_label = "offered, flits per node and cycle",
        .y_label = "accepted",
        .series = {{.name = "accepted", .x = offered, .y = accepted, .count = count}},
        .series_count = 1,
    };
    double ends[2] = {0, offered[count - 1]};
    double limits[2] = {bound ? bound->rate : 0, bound ? bound->rate : 0};
    if (bound) {
        chart.series[chart.series_count++] = (struct cli_series){
            .name = "the bound", .x = ends, .y = limits, .count = 2};
    }
    cli_page_chart(page, &chart);
}

static void put_links(FILE *page, const struct net_file *file, const struct net_result *result)
{
    const struct net_config *network = &file->experiment.network;
    struct cli_link *links = calloc(result->link_count + 1u, sizeof *links);
    char title[TEXT_BYTES];
    INVARIANT(links);
    for (uint32_t i = 0; i < result->link_count; i++) {
        links[i] = (struct cli_link){result->links[i].from, result->links[i].to,
                                     result->links[i].use};
    }
    (void)snprintf(title, sizeof title,
                   "Links at %.4f flits per node and cycle; the hottest is %" PRIu32 " to %" PRIu32
                   ", busy %.1f %% of the time",
                   result->accepted, result->hottest.from, result->hottest.to,
                   100 * result->hottest.use);
    cli_page_network(page, title, network->width, network->height, links, result->link_count);
    free(links);
}

static void put_table(FILE *page, const struct net_result *results, unsigned count)
{
    static const char *const columns[] = {"rate", "offered", "accepted", "mean",   "50 %",   "90 %",
                                          "99 %", "99.9 %",  "max",      "resent", "outcome"};
    cli_page_table_begin(page, "every rate; latencies in cycles", columns,
                         sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; i < count; i++) {
        const struct net_result *result = &results[i];
        cli_page_row_begin(page);
        cli_page_cell_number(page, result->rate, 4);
        cli_page_cell_number(page, result->offered, 4);
        cli_page_cell_number(page, result->accepted, 4);
        cli_page_cell_number(page, result->mean, 2);
        for (unsigned which = 1; which < LATENCIES; which++) {
            cli_page_cell_number(page, result->packets > 0 ? latency_of(result, which) : NAN, 0);
        }
        cli_page_cell_number(page, (double)result->counters.frames_resent, 0);
        cli_page_cell_text(page, net_outcome_names[result->outcome]);
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

static void put_saturation(FILE *page, const struct net_file *file,
                           const struct net_result *saturation, const struct net_bound *bound)
{
    const struct net_config *network = &file->experiment.network;
    char text[TEXT_BYTES];
    int length = snprintf(
        text, sizeof text, "It saturates at %.4f flits per node and cycle: %.1f MB/s a node.",
        saturation->accepted,
        saturation->accepted * network->flit_bytes * (double)network->clock_khz / 1000);
    if (bound && length > 0 && length < TEXT_BYTES) {
        (void)snprintf(text + length, sizeof text - (size_t)length,
                       " That is %.1f %% of the bound, %.4f.",
                       100 * saturation->accepted / bound->rate, bound->rate);
    }
    cli_page_text(page, text);
}

bool net_page_write(const char *path, const struct net_file *file, const struct net_result *results,
                    unsigned count, const struct net_result *saturation,
                    const struct net_bound *bound)
{
    char title[NET_REPORT_TITLE_BYTES];
    char subtitle[TEXT_BYTES + NET_REPORT_TITLE_BYTES];
    const struct net_result *shown = &results[0];
    INVARIANT(count > 0 && count <= RATES_MAX);
    net_report_title(file, title);
    (void)snprintf(subtitle, sizeof subtitle, "%s%s%s; cycles of %g ns", file->text,
                   *file->text ? ": " : "", title,
                   1e6 / (double)file->experiment.network.clock_khz);
    FILE *page = cli_page_open(path, file->name, subtitle);
    if (!page) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (results[i].outcome == NET_DEADLOCKED) {
            cli_page_put(page, "<h2>", "Deadlock", "</h2>\n");
            cli_page_text(page, results[i].circle);
        }
        shown = is_steady(&results[i]) ? &results[i] : shown;
    }
    /* At saturation all links look alike; at half that rate they differ. */
    const struct net_result *half = shown;
    for (unsigned i = 0; &results[i] < shown && half == shown; i++) {
        half = results[i].accepted >= shown->accepted / 2 ? &results[i] : half;
    }
    if (saturation) {
        put_saturation(page, file, saturation, bound);
    }
    if (count > 1) {
        put_latencies(page, results, count);
        put_throughput(page, results, count, bound);
    }
    if (half != shown) {
        put_links(page, file, half);
    }
    put_links(page, file, shown);
    put_table(page, results, count);
    return cli_page_close(page);
}
