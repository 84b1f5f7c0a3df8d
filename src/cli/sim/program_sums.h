/* What a report of a run of programs is made of: sums over all nodes, and the outputs by heat. */
#ifndef CLI_SIM_PROGRAM_SUMS_H
#define CLI_SIM_PROGRAM_SUMS_H

#include "cli/sim/program_report.h"

/* A stage of all NICs. */
struct program_stage_sum {
    struct sim_stage_use use; /* added up; until_ps means nothing */
    uint64_t busiest_ps;      /* of the node where it was busy for longest */
    uint32_t busiest;         /* which one that is */
};

struct program_sums {
    struct sim_programs_result result;
    struct sim_program_times times; /* added up, but end_ps is the last node's */
    uint64_t bytes;                 /* that packets brought */
    struct sim_nic_use use;         /* added up, without its stages */
    struct program_stage_sum stages[SIM_STAGES];
    struct sim_network_load *loads; /* of outputs that carried something, the busiest first */
    size_t load_count;
};

/* False: no memory. */
bool cli_program_sums_make(const struct program_report *report, struct program_sums *sums);
void cli_program_sums_free(struct program_sums *sums);

/* Which part of the whole run that is: 0 to 1. */
double cli_program_share(const struct program_sums *sums, uint64_t busy_ps);

/* As the report names a stage: "outside the SWIF" is all that lies between two of them. */
const char *cli_program_stage_text(unsigned stage);

#endif
