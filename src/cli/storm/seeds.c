/* The storm's runs as jobs. */
#define _GNU_SOURCE
#include "cli/storm/seeds.h"

#include <errno.h>
#include <string.h>

enum {
    CPU_SECONDS_MAX = 60, /* for one run; they take milliseconds */
    LINES_SHOWN = 40,
    LINE_BYTES = 512,
};

static struct storm_choice choice_of(const struct seeds *seeds, uint64_t number)
{
    struct storm_choice choice = seeds->choice;
    choice.seed = seeds->first + number;
    return choice;
}

static void run(void *context, uint64_t number, void *result)
{
    static struct storm_world *world; /* this worker's, for all its runs */
    const struct seeds *seeds = context;
    struct storm_choice choice = choice_of(seeds, number);
    struct storm_plan plan;
    world = world ? world : storm_world_new();
    INVARIANT(storm_plan_choose(&plan, &choice));
    storm_world_run(world, &plan, seeds->trace, result);
    if (seeds->trace) {
        (void)fflush(seeds->trace);
    }
}

static bool take(void *context, uint64_t number, const void *result, const char *death)
{
    const struct seeds *seeds = context;
    struct storm_choice choice = choice_of(seeds, number);
    struct storm_result failed = {.failed = true};
    if (death) {
        (void)snprintf(failed.failure, sizeof failed.failure, "the run %s", death);
    }
    return seeds->take(seeds->context, &choice, death ? &failed : result);
}

static void progress(void *context, uint64_t done, unsigned running)
{
    const struct seeds *seeds = context;
    seeds->progress(seeds->context, done, running);
}

enum jobs_end seeds_run(const struct seeds *seeds)
{
    struct seeds own = *seeds;
    const struct jobs jobs = {
        .context = &own,
        .count = seeds->last - seeds->first + 1,
        .at_once = seeds->at_once,
        .lasting = true,
        .cpu_seconds_max = CPU_SECONDS_MAX,
        .result_bytes = sizeof(struct storm_result),
        .run = run,
        .take = take,
        .progress = seeds->progress ? progress : NULL,
    };
    return jobs_run(&jobs);
}

/* ---- One run ---------------------------------------------------------------------------- */

static bool keep(void *context, const struct storm_choice *choice,
                 const struct storm_result *result)
{
    struct storm_result *kept = context;
    (void)choice;
    *kept = *result;
    return true;
}

bool seeds_run_one(const struct storm_choice *choice, FILE *trace, struct storm_result *result)
{
    const struct seeds one = {
        .choice = *choice,
        .first = choice->seed,
        .last = choice->seed,
        .at_once = 1,
        .trace = trace,
        .context = result,
        .take = keep,
    };
    return seeds_run(&one) == JOBS_DONE;
}

void seeds_print_trace_end(const struct storm_choice *choice, const char *indent)
{
    static char lines[LINES_SHOWN][LINE_BYTES];
    struct storm_result result;
    uint64_t count = 0;
    /* A file, not a pipe: the worker's last words stay, whatever happens to it. */
    FILE *trace = tmpfile();
    if (!trace || setvbuf(trace, NULL, _IOLBF, BUFSIZ) != 0 ||
        !seeds_run_one(choice, trace, &result)) {
        printf("%s(no trace: %s)\n", indent, strerror(errno));
        if (trace) {
            (void)fclose(trace);
        }
        return;
    }
    rewind(trace);
    while (fgets(lines[count % LINES_SHOWN], LINE_BYTES, trace)) {
        count++;
    }
    (void)fclose(trace);
    for (uint64_t i = count < LINES_SHOWN ? 0 : count - LINES_SHOWN; i < count; i++) {
        printf("%s%s", indent, lines[i % LINES_SHOWN]);
    }
}
