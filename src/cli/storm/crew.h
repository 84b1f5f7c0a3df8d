/* Worker processes for the storm: each runs every J-th seed, and their results come in
 * the seeds' order whatever J is. A run that dies (a broken invariant, a sanitizer) or does
 * not end is a failure of its seed like any other, and the next seed has a new worker. */
#ifndef CLI_STORM_CREW_H
#define CLI_STORM_CREW_H

#include <stdio.h>

#include "cli/worker.h"
#include "sim/storm/storm.h"

enum { CREW_JOBS_MAX = 256 };

struct crew {
    struct storm_choice choice; /* its seed is each one's own */
    uint64_t seed_first, seed_last;
    uint64_t seed_next; /* whose result comes next */
    unsigned jobs;
    FILE *trace; /* where to write traces, or NULL; with one job only */
    struct worker workers[CREW_JOBS_MAX];
};

/* Starts the workers for the seeds of the crew. False: no process could be started. */
bool crew_start(struct crew *crew);

enum crew_news { CREW_RESULT, CREW_END, CREW_INTERRUPTED, CREW_NOTHING };
/* The next seed's result and its seed; NOTHING: none within `patience_ms`. */
enum crew_news crew_next(struct crew *crew, int patience_ms, uint64_t *seed,
                         struct storm_result *result);

/* Ends all workers. */
void crew_end(struct crew *crew);

/* One run in a process of its own: its result, however it ends; false: interrupted. */
bool crew_run_one(const struct storm_choice *choice, struct storm_result *result);

/* One run whose trace is read here: its last lines are printed, each behind `indent`. */
void crew_print_trace_end(const struct storm_choice *choice, const char *indent);

#endif
