/* What the storm prints about its runs. */
#ifndef CLI_STORM_STORM_REPORT_H
#define CLI_STORM_STORM_REPORT_H

#include "sim/storm/storm.h"
#include "sim/storm/study.h"

/* Results of many runs, added up in the seeds' order. */
struct storm_total {
    uint64_t runs;
    uint64_t failed;
    uint64_t events;
    uint64_t virtual_ns;
    uint64_t hash; /* of all traces, in order */
    uint64_t fault_counts[STORM_FAULT_COUNT];
    uint64_t work_counts[STORM_WORK_COUNT];
    struct swif_counters swif;
    struct nic_engine_counters engine;
    uint64_t elapsed_ns;
    uint64_t cpu_ns;
};

void storm_total_add(struct storm_total *total, const struct storm_result *result);

/* The whole summary, as a table or as one JSON object. */
void storm_report_summary(bool json, const struct storm_choice *choice, uint64_t seed_first,
                          uint64_t seed_last, const struct storm_total *total);

/* A failing run: its sentence and its command, as lines or as one JSON object. */
void storm_report_failure(bool json, const struct storm_choice *choice, const char *mutant,
                          const char *failure);

/* One row of a study. */
void storm_report_row(bool json, const struct storm_row *row);

#endif
