/* One row of results, as a table line for people or as a JSON object. */
#ifndef CLI_PERF_PERF_REPORT_H
#define CLI_PERF_PERF_REPORT_H

#include <stdbool.h>

#include "cli/perf/perf_measure.h"

/* A measured group, as one of its nodes sees it. */
struct perf_world {
    struct dn_node *node;
    const char *test;
    int rank;
    int size;
    bool json;
    uint32_t packet_bytes; /* by packets: the most in one; 0: in place */
    char fabric[16];       /* by packets only */
    char protection[16];   /* the same */
};

/* What a row tells of the measured times. */
enum perf_kind {
    PERF_TIME,      /* of one operation; the ratio is ours / raw */
    PERF_SPEEDUP,   /* the same time; the ratio says how many times faster ours is */
    PERF_BANDWIDTH, /* bytes per second; the ratio is that of these rates: more is better */
    PERF_RATE,      /* operations per second; likewise */
};

/* What is measured beside what, and how it is printed. */
struct perf_row {
    const char *detail; /* "through the pointer", or NULL */
    const char *limit;  /* what the raw figure is */
    const char *bar;    /* what the ratio should reach, as text; NULL: there is none */
    enum perf_kind kind;
    const char *json_name; /* of a time, with its unit: "rtt_ns" */
    uint64_t bytes;        /* 0: does not apply */
    perf_block raw;
    perf_block ours;
    uint64_t count;   /* as in perf_pair */
    double apart_ns;  /* as in perf_pair */
    bool rank_0_only; /* the others look on */
    /* After measuring: gives an error that blocks noted; may change what is printed. Or NULL. */
    int (*check)(void *context, struct perf_row *row);
};

void perf_report_header(void);
void perf_report_row(const struct perf_world *world, const struct perf_row *row,
                     const struct perf_figure *figure);

/* A share of a core, in percent, in place of what the row's kind says. */
void perf_report_share(const struct perf_world *world, const struct perf_row *row,
                       double cpu_percent);

#endif
