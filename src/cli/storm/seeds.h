/* Runs of the storm in worker processes: a run that dies or hangs is a failure of its seed like any
 * other. */
#ifndef CLI_STORM_SEEDS_H
#define CLI_STORM_SEEDS_H

#include <stdio.h>

#include "cli/jobs.h"
#include "sim/storm/storm.h"

struct seeds {
    struct storm_choice choice; /* each run sets its own seed in it */
    uint64_t first, last;
    unsigned at_once;
    FILE *trace; /* where to write traces, or NULL; only with one worker */
    void *context;
    /* Called in the order of the seeds, with the run's own choice. False: that is enough. */
    bool (*take)(void *context, const struct storm_choice *choice,
                 const struct storm_result *result);
    /* Called now and then, from the first second on; may be NULL. */
    void (*progress)(void *context, uint64_t done, unsigned running);
};

enum jobs_end seeds_run(const struct seeds *seeds);

/* Does one run in a process of its own and gives its result, however it ends. `trace`: as above.
 * False: the run was interrupted. */
bool seeds_run_one(const struct storm_choice *choice, FILE *trace, struct storm_result *result);

/* Does one run and prints the last lines of its trace, each behind `indent`. */
void seeds_print_trace_end(const struct storm_choice *choice, const char *indent);

#endif
