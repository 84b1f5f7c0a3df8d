/* `dimmnet sim study`: runs a study's points on all cores and prints one table. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "cli/sim/study_page.h"
#include "sim/studies/study.h"
#include "wire/packet.h"

#define COMMAND "dimmnet sim study"

struct study_options {
    struct sim_study_choice choice;
    const char *machine; /* NULL: the study's own */
    enum sim_study_format format;
    const char *html; /* NULL: no page */
    unsigned jobs;
};

/* A sweep under way. */
struct sweep {
    const struct study_options *options;
    const struct sim_study *study;
    struct sim_study_point points[SIM_STUDY_POINTS_MAX];
    struct sim_study_row rows[SIM_STUDY_POINTS_MAX]; /* for the page */
    unsigned count;
    unsigned failed;
    char told[SIM_ERROR_BYTES]; /* why the last one failed that was told */
};

/* ---- Options ------------------------------------------------------------------------------ */

static void print_list(void)
{
    for (unsigned i = 0; sim_study_at(i); i++) {
        const struct sim_study *study = sim_study_at(i);
        printf("%s%s: %s\n  on %s\n", i > 0 ? "\n" : "", study->name, study->text, study->machine);
        for (unsigned column = 0; column < study->column_count; column++) {
            printf("  %-20s %s\n", study->columns[column].name, study->columns[column].help);
        }
    }
}

static int take_study(void *target, const char *value)
{
    struct study_options *options = target;
    if (options->choice.study) {
        return cli_refuse(COMMAND, "\"%s\" is one word too many", value);
    }
    options->choice.study = sim_study_find(value);
    return options->choice.study
               ? CLI_OK
               : cli_refuse(COMMAND, "there is no study \"%s\"; see " COMMAND " --list", value);
}

#define AT(field) OPTIONS_AT(struct study_options, field)

static const struct options_row rows[] = {
    {NULL, 0, "NAME", NULL, OPTIONS_CALL, .take = take_study},
    {"list", 0, NULL, "list the studies, and what their columns mean", OPTIONS_SHOW,
     .show = print_list},
    {"machine", 0, "M", "simulate this machine, not the study's own; see dimmnet sim machines",
     OPTIONS_TEXT, AT(machine)},
    {"topology", 0, "T",
     "how nodes are connected if a switch has too few ports: tree or fat-tree (default tree)",
     OPTIONS_CHOICE, AT(choice.topology), .names = sim_topology_names, .least = SIM_SWITCH_TREE,
     .most = SIM_FAT_TREE},
    {"max-nodes", 0, "N", "leave out points with more nodes than this", OPTIONS_NUMBER,
     AT(choice.nodes_max), .least = 2, .most = WIRE_NODES_MAX},
    {"jobs", 0, "J", "processes (default: one for each core)", OPTIONS_NUMBER, AT(jobs), .least = 1,
     .most = JOBS_AT_ONCE_MAX},
    {"csv", 0, NULL, "print comma-separated values, a line of names first", OPTIONS_SETS,
     AT(format), .least = SIM_STUDY_CSV},
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_SETS, AT(format),
     .least = SIM_STUDY_JSON},
    {"html", 0, "FILE", "also write a page with charts", OPTIONS_TEXT, AT(html)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "NAME [option...]",
    .about = "Simulates what the papers only predicted, point by point, on all cores. The same\n"
             "study gives the same bytes, whatever the number of jobs.\n",
    .closing = "Exit status: 0 done, 1 a point failed, 2 bad usage.\n",
};

/* ---- The sweep ---------------------------------------------------------------------------- */

static void run_point(void *context, uint64_t number, void *result)
{
    const struct sweep *sweep = context;
    sweep->study->run(&sweep->options->choice, &sweep->points[number], result);
}

static uint64_t bytes_of(void *context, uint64_t number)
{
    const struct sweep *sweep = context;
    return sim_study_bytes(&sweep->points[number]);
}

/* The memory that all jobs together may use: three quarters of the machine's. */
static uint64_t bytes_max(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 4 * 3
                                       : UINT64_MAX;
}

static void show_progress(void *context, uint64_t done, unsigned running)
{
    const struct sweep *sweep = context;
    cli_show_progress("%s: %" PRIu64 " of %u points, %u running", sweep->study->name, done,
                      sweep->count, running);
}

/* A machine that does not suit the study makes every point fail alike: that is told once. */
static void tell_failure(struct sweep *sweep, uint64_t number, const char *why)
{
    sweep->failed++;
    if (strcmp(sweep->told, why) == 0) {
        return;
    }
    (void)snprintf(sweep->told, sizeof sweep->told, "%s", why);
    cli_say(COMMAND, "%s: point %" PRIu64 " of %u (%" PRIu32 " nodes): %s", sweep->study->name,
            number + 1, sweep->count, sweep->points[number].nodes, why);
}

static bool take_row(void *context, uint64_t number, const void *result, const char *death)
{
    struct sweep *sweep = context;
    const struct sim_study_row *row = result;
    cli_clear_progress();
    sweep->rows[number] = death ? (struct sim_study_row){.error = "it died"} : *row;
    if (death || row->error[0]) {
        tell_failure(sweep, number, death ? death : row->error);
        return true;
    }
    sim_study_write_row(sweep->study, row, sweep->options->format, stdout);
    (void)fflush(stdout);
    return true;
}

static int run_sweep(const struct study_options *options)
{
    static struct sweep sweep;
    const struct sim_study_choice *choice = &options->choice;
    sweep.options = options;
    sweep.study = choice->study;
    sweep.count = choice->study->list(choice, sweep.points);
    const struct jobs jobs = {
        .context = &sweep,
        .count = sweep.count,
        .at_once = options->jobs,
        .result_bytes = sizeof(struct sim_study_row),
        .run = run_point,
        .take = take_row,
        .progress = show_progress,
        .bytes = bytes_of,
        .bytes_max = bytes_max(),
    };
    if (sweep.count == 0) {
        return cli_refuse(COMMAND, "%s has no point with %" PRIu32 " nodes or fewer",
                          sweep.study->name, choice->nodes_max);
    }
    if (options->format == SIM_STUDY_TABLE) {
        printf("%s on %s: %s\n\n", sweep.study->name, choice->machine->name, sweep.study->text);
    }
    sim_study_write_head(sweep.study, options->format, stdout);
    (void)fflush(stdout);
    int status = jobs_conclude(COMMAND, jobs_run(&jobs));
    if (status) {
        return status;
    }
    if (options->html && !sim_study_page(options->html, sweep.study, choice->machine->name,
                                         sweep.rows, sweep.count)) {
        return cli_fail(COMMAND, "%s: %s", options->html, strerror(errno));
    }
    return sweep.failed == 0 ? CLI_OK
                             : cli_fail(COMMAND, "%s: %u of %u points failed", sweep.study->name,
                                        sweep.failed, sweep.count);
}

int cli_sim_study(int argc, char **argv)
{
    struct study_options options = {
        .choice = {.nodes_max = WIRE_NODES_MAX, .topology = SIM_SWITCH_TREE},
        .jobs = jobs_usual(),
    };
    struct options_group group = {.rows = rows, .target = &options};
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    int status;
    if (!options_read(&command, &group, 1, argc, argv, &status)) {
        return status;
    }
    if (!options.choice.study) {
        return cli_refuse(COMMAND, "no study is named; see " COMMAND " --list");
    }
    const char *name = options.machine ? options.machine : options.choice.study->machine;
    if (!sim_machine_load(&machine, name, error)) {
        return cli_refuse(COMMAND, "%s", error);
    }
    options.choice.machine = &machine;
    status = run_sweep(&options);
    sim_machine_free(&machine);
    return status;
}
