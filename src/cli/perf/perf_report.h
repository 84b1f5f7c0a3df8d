/* One row of results, as a table line for people or as a JSON object. */
#ifndef CLI_PERF_PERF_REPORT_H
#define CLI_PERF_PERF_REPORT_H

#include <stdbool.h>

#include "cli/perf/perf_measure.h"

struct perf_row {
    const char *test;
    const char *detail; /* "through the pointer", or NULL */
    const char *limit;  /* what the raw figure is */
    const char *bar;    /* what the ratio should reach, as text */
    int nodes;
    uint64_t bytes;         /* 0: does not apply */
    const char *fabric;     /* by packets; NULL: in place */
    const char *protection; /* of packets: "authenticated" */
    struct perf_figure figure;
};

void perf_report_header(void);

/* A time per operation; json_name is its name with unit, "rtt_ns". Ratio: ours/raw. */
void perf_report_time(bool json, const struct perf_row *row, const char *json_name);

/* Bytes or operations per second from the figure's times. The ratio is of these rates, ours
 * over raw: more is better. */
void perf_report_bandwidth(bool json, const struct perf_row *row);
void perf_report_rate(bool json, const struct perf_row *row);

/* A time; the ratio says how many times faster ours is. */
void perf_report_speedup(bool json, const struct perf_row *row, const char *json_name);

/* A share of a core, in percent. */
void perf_report_share(bool json, const struct perf_row *row, double cpu_percent);

#endif
