/* `dimmnet storm`: many seeds, many processes, one verdict. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mutant.h"
#include "base/size_text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/storm/storm_report.h"
#include "cli/storm/seeds.h"
#include "host/clock.h"
#include "sim/storm/shrink.h"
#include "sim/storm/study.h"

#define COMMAND "dimmnet storm"

enum { DETAILS_SHOWN = 3 };

struct storm_options {
    struct storm_choice choice;
    uint64_t seed_first, seed_last;
    unsigned jobs;
    uint64_t failures_max;
    const char *mutant; /* or NULL */
    const char *trace;  /* a file's name, "-", or NULL */
    bool json;
    bool shrink;
    bool expect_failure;
};

/* ---- Lists ---------------------------------------------------------------------------- */

static void print_names(const char *title, const struct storm_name *names)
{
    printf("%s\n", title);
    for (; names->name; names++) {
        printf("  %-28s %s\n", names->name, names->text);
    }
}

static void print_lists(void)
{
    print_names("scenarios", storm_scenarios);
    print_names("studies", storm_studies);
    print_names("faults", storm_faults);
    print_names("work", storm_works);
    printf("planted bugs\n");
    for (unsigned i = 0; base_mutant_name(i); i++) {
        printf("  %-28s %s\n", base_mutant_name(i), base_mutant_text(i));
    }
}

/* ---- Options ------------------------------------------------------------------------------- */

/* The number of a name in a list, or -1. */
static int find_name(const char *wanted, size_t length, const struct storm_name *names)
{
    for (int i = 0; names[i].name; i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, wanted, length) == 0) {
            return i;
        }
    }
    return -1;
}

static int take_seeds(void *target, const char *value)
{
    struct storm_options *options = target;
    char first[32];
    const char *dots = strstr(value, "..");
    size_t length = dots ? (size_t)(dots - value) : strlen(value);
    (void)snprintf(first, sizeof first, "%.*s", (int)length, value);
    bool good = length < sizeof first &&
                base_number_parse(first, UINT64_MAX / 64 - 1, &options->seed_first) &&
                base_number_parse(dots ? dots + 2 : first, UINT64_MAX / 64 - 1,
                                  &options->seed_last) &&
                options->seed_first <= options->seed_last;
    return good ? CLI_OK
                : cli_refuse(COMMAND, "--seeds takes A..B, A not above B; not \"%s\"", value);
}

static int take_without(void *target, const char *text)
{
    struct storm_options *options = target;
    while (*text) {
        size_t length = strcspn(text, ",");
        int fault = find_name(text, length, storm_faults);
        int work = find_name(text, length, storm_works);
        if (fault < 0 && work < 0) {
            return cli_refuse(COMMAND, "there is no fault or work \"%.*s\"; see --list",
                              (int)length, text);
        }
        if (fault >= 0) {
            options->choice.without_fault[fault] = true;
        } else {
            options->choice.without_work[work] = true;
        }
        text += length + (text[length] == ',');
    }
    return CLI_OK;
}

static int take_mutant(void *target, const char *text)
{
    struct storm_options *options = target;
    unsigned mutant = 0;
    while (base_mutant_name(mutant) && strcmp(base_mutant_name(mutant), text) != 0) {
        mutant++;
    }
    if (!base_mutant_name(mutant)) {
        return cli_refuse(COMMAND, "there is no planted bug \"%s\"; see --list", text);
    }
#ifdef DN_MUTANTS
    base_mutant = (enum base_mutant)mutant;
    options->mutant = base_mutant_name(mutant);
    return CLI_OK;
#else
    (void)options;
    return cli_refuse(COMMAND, "this build has no planted bugs; configure it with -Dmutants=true");
#endif
}

#define AT(field) OPTIONS_AT(struct storm_options, field)

static const struct options_row rows[] = {
    {"seeds", 0, "A..B", "seeds to run (default 0..999)", OPTIONS_CALL, .take = take_seeds},
    {"scenario", 0, "S", "which faults, or a study (default all); see --list", OPTIONS_TEXT,
     AT(choice.scenario)},
    {"nodes", 0, "N", "number of nodes (default: the seed decides, 2 to 6)", OPTIONS_NUMBER,
     AT(choice.node_count), .least = 2, .most = STORM_NODES_MAX},
    {"operations", 0, "K", "operations of each node (default: the seed decides)", OPTIONS_NUMBER,
     AT(choice.operations), .least = 1, .most = 1000000},
    {"without", 0, "X,Y", "leave out these faults or kinds of work", OPTIONS_CALL,
     .take = take_without},
    {"luck", 0, "L", "keep the plan, but let everything happen at other moments (default 0)",
     OPTIONS_NUMBER, AT(choice.luck), .most = UINT16_MAX},
    {"jobs", 0, "J", "processes (default: one for each core)", OPTIONS_NUMBER, AT(jobs), .least = 1,
     .most = JOBS_AT_ONCE_MAX},
    {"failures", 0, "N", "stop after this many failing seeds (default 10)", OPTIONS_NUMBER,
     AT(failures_max), .least = 1, .most = UINT64_MAX},
    {"shrink", 0, NULL, "make the first failing run as small as possible", OPTIONS_FLAG,
     AT(shrink)},
    {"trace", 0, "FILE", "write every event to this file; - is standard output", OPTIONS_TEXT,
     AT(trace)},
    {"mutant", 0, "NAME", "run with this planted bug (in builds with -Dmutants=true)", OPTIONS_CALL,
     .take = take_mutant},
    {"expect-failure", 0, NULL, "stop at the first failing seed and succeed; fail if no seed fails",
     OPTIONS_FLAG, AT(expect_failure)},
    {"list", 0, NULL, "list scenarios, studies, faults, work and planted bugs", OPTIONS_SHOW,
     .show = print_lists},
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_FLAG, AT(json)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "[option...]",
    .about = "Runs boards under virtual time on a network that does everything wrong, one run for\n"
             "each seed, and checks every effect. The same seed gives the same run.\n",
    .closing = "Exit status: 0 all clean, 1 a seed failed or a bar was missed, 2 bad usage.\n"
               "See dimmnet-storm(1).\n",
};

/* ---- Progress ------------------------------------------------------------------------------- */

/* The runs of one command. */
struct storm {
    const struct storm_options *options;
    struct storm_total total;
    struct storm_choice failing; /* the first that failed */
    uint64_t begin_ns;
};

static void show_progress(void *context, uint64_t done, unsigned running)
{
    const struct storm *storm = context;
    const struct storm_options *options = storm->options;
    (void)running;
    cli_show_progress("%" PRIu64 " of %" PRIu64 " seeds, %.0f per second, %" PRIu64 " failed", done,
                      options->seed_last - options->seed_first + 1,
                      (double)done * 1e9 / (double)(host_now_ns() - storm->begin_ns),
                      storm->total.failed);
}

static uint64_t children_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) {
        return 0;
    }
    uint64_t seconds = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    return seconds * 1000000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void report_failure(const struct storm_options *options, const struct storm_choice *choice,
                           const char *failure, bool with_trace)
{
    storm_report_failure(options->json, choice, options->mutant, failure);
    if (with_trace && !options->json) {
        printf("  the end of its trace:\n");
        seeds_print_trace_end(choice, "    ");
    }
}

static bool take_result(void *context, const struct storm_choice *choice,
                        const struct storm_result *result)
{
    struct storm *storm = context;
    const struct storm_options *options = storm->options;
    storm_total_add(&storm->total, result);
    if (result->failed) {
        cli_clear_progress();
        storm->failing = storm->total.failed == 1 ? *choice : storm->failing;
        if (options->json || storm->total.failed <= DETAILS_SHOWN) {
            report_failure(options, choice, result->failure, !options->expect_failure);
        }
    }
    return storm->total.failed < (options->expect_failure ? 1 : options->failures_max);
}

/* Runs the seeds until the end, a signal, or enough failures. */
static int run_seeds(struct storm *storm, FILE *trace)
{
    const struct storm_options *options = storm->options;
    const struct seeds seeds = {
        .choice = options->choice,
        .first = options->seed_first,
        .last = options->seed_last,
        .at_once = trace ? 1 : options->jobs,
        .trace = trace,
        .context = storm,
        .take = take_result,
        .progress = show_progress,
    };
    storm->begin_ns = host_now_ns();
    int status = jobs_conclude(COMMAND, seeds_run(&seeds));
    storm->total.elapsed_ns = host_now_ns() - storm->begin_ns;
    storm->total.cpu_ns = children_cpu_ns();
    return status;
}

static bool still_fails(void *context, const struct storm_choice *choice)
{
    (void)context;
    struct storm_result result;
    return seeds_run_one(choice, NULL, &result) && result.failed;
}

static void shrink(const struct storm_options *options, struct storm_choice choice)
{
    const struct storm_judge judge = {NULL, still_fails};
    struct storm_result result;
    uint32_t runs = storm_shrink(&choice, &judge);
    if (!seeds_run_one(&choice, NULL, &result)) {
        return;
    }
    if (!options->json) {
        printf("reduced in %" PRIu32 " runs:\n", runs);
    }
    report_failure(options, &choice, result.failure, true);
}

static int run_storm(const struct storm_options *options, FILE *trace)
{
    struct storm storm = {.options = options};
    const struct storm_total *total = &storm.total;
    int status = run_seeds(&storm, trace);
    if (status == CLI_FAULT) {
        return status;
    }
    if (total->failed > DETAILS_SHOWN && !options->json) {
        printf("%" PRIu64 " more failed\n", total->failed - DETAILS_SHOWN);
    }
    if (options->shrink && total->failed > 0 && status == CLI_OK) {
        shrink(options, storm.failing);
    }
    storm_report_summary(options->json, &options->choice, options->seed_first, options->seed_last,
                         total);
    if (options->expect_failure && status == CLI_OK) {
        if (!options->json) {
            printf(total->failed ? "\nfailed after %" PRIu64 " seeds, as expected\n"
                                 : "\nnone of %" PRIu64 " seeds failed, though one should\n",
                   total->runs);
        }
        return total->failed ? CLI_OK : CLI_FAULT;
    }
    return status ? status : total->failed ? CLI_FAULT : CLI_OK;
}

/* ---- Studies and the command ----------------------------------------------------------------- */

static void print_row(void *context, const struct storm_row *row)
{
    const struct storm_options *options = context;
    storm_report_row(options->json, row);
}

int cli_storm(int argc, char **argv)
{
    struct storm_options options = {
        .choice = {.scenario = "all"},
        .seed_last = 999,
        .jobs = jobs_usual(),
        .failures_max = 10,
    };
    struct options_group group = {.rows = rows, .target = &options};
    int status;
    if (!options_read(&command, &group, 1, argc, argv, &status)) {
        return status;
    }
    const char *scenario = options.choice.scenario;
    int study = find_name(scenario, strlen(scenario), storm_studies);
    if (study >= 0) {
        const struct storm_printer printer = {&options, print_row};
        return storm_study_run((unsigned)study, &printer) ? CLI_OK : CLI_FAULT;
    }
    if (find_name(scenario, strlen(scenario), storm_scenarios) < 0) {
        return cli_refuse(COMMAND, "there is no scenario \"%s\"; see --list", scenario);
    }
    FILE *trace = NULL;
    if (options.trace) {
        trace = strcmp(options.trace, "-") == 0 ? stdout : fopen(options.trace, "w");
        if (!trace) {
            return cli_fail(COMMAND, "cannot write \"%s\": %s", options.trace, strerror(errno));
        }
    }
    status = run_storm(&options, trace);
    if (trace && trace != stdout && fclose(trace) != 0) {
        cli_say(COMMAND, "cannot write \"%s\": %s", options.trace, strerror(errno));
        status = status ? status : CLI_FAULT;
    }
    return status;
}
