/* `dimmnet sim calibrate`: measures the library's calls on this machine, and makes a machine file
 * on which they take as long in virtual time. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch/run.h"
#include "cli/options.h"
#include "cli/sim/calibrate_fit.h"
#include "cli/sim/here.h"
#include "cli/sim/sim.h"
#include "host/group.h"

#define COMMAND "dimmnet sim calibrate"

enum {
    LIVE_RUNS = 5,
    FITS = 10,
    FITS_QUICK = 5,
    CROWD = 2,
    TEXT_BYTES = 160,
    PATH_BYTES = CLI_HERE_BYTES
};

struct calibrate_options {
    const char *output;
    bool quick;
    bool json;
};

struct calibration {
    char self[PATH_BYTES];    /* this program's file */
    char folder[64];          /* of what is written meanwhile */
    char figures[PATH_BYTES]; /* what node 0 writes */
    char machine[PATH_BYTES]; /* the model so far */
    char about[TEXT_BYTES];
    unsigned runs, fits; /* how often */
    struct calibrate_model model;
    struct calibrate_figures real[CALIBRATE_GROUPS];
    struct calibrate_figures simulated[CALIBRATE_GROUPS];
};

/* ---- Groups ---------------------------------------------------------------------------------- */

/* The one that shares memory, or the one in virtual time. */
static const struct fabric_launch *fabric_of(bool is_live)
{
    unsigned i = 0;
    while (i + 1 < FABRIC_COUNT &&
           !(is_live ? fabric_launches[i]->shares_memory : fabric_launches[i]->takes_turns)) {
        i++;
    }
    return fabric_launches[i];
}

static bool read_figures(const char *path, struct calibrate_figures *figures)
{
    FILE *file = fopen(path, "re");
    bool is_read = file && fread(figures->ns, sizeof figures->ns, 1, file) == 1;
    if (file) {
        (void)fclose(file);
    }
    return is_read;
}

enum run_kind { RUN_LIVE, RUN_DECLARED, RUN_MEASURED };

/* Runs the nodes, live or on the model so far. */
static int run_group(struct calibration *calibration, enum calibrate_group group,
                     enum run_kind kind, struct calibrate_figures *figures)
{
    bool is_live = kind == RUN_LIVE;
    static const uint64_t no_settings[FABRIC_OPTIONS_MAX];
    char words[PATH_BYTES + 40];
    char node[] = "calibrate-node";
    char mode[16];
    char *const argv[] = {calibration->self, node, calibration->figures, mode, NULL};
    struct host_settings settings;
    (void)snprintf(mode, sizeof mode, "%s", is_live ? "live" : "virtual");
    (void)snprintf(words, sizeof words, "%s,report=no,compute=%s", calibration->machine,
                   kind == RUN_MEASURED ? "measured" : "declared");
    int status = launch_defaults(COMMAND, &settings);
    if (status) {
        return status;
    }
    const struct launch_request request = {
        .command = COMMAND,
        .node_count = group == CALIBRATE_PAIR ? 2 : CROWD * calibration->model.cores,
        .argv = argv,
        .sizes = settings.sizes,
        .fabric = fabric_of(is_live),
        .settings = no_settings,
        .words = is_live ? NULL : words,
    };
    status = launch_group(&request);
    if (!status && !read_figures(calibration->figures, figures)) {
        status = cli_fail(COMMAND, "the nodes left no figures");
    }
    return status;
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The median of several groups: where cores lie, and what else they do, changes from run to run. */
static int measure_machine(struct calibration *calibration)
{
    struct calibrate_figures runs[CALIBRATE_GROUPS][LIVE_RUNS];
    for (unsigned run = 0; run < calibration->runs; run++) {
        for (unsigned group = 0; group < CALIBRATE_GROUPS; group++) {
            cli_show_progress("measuring, %u of %u ...", run + 1, calibration->runs);
            int status = run_group(calibration, (enum calibrate_group)group, RUN_LIVE,
                                   &runs[group][run]);
            if (status) {
                return status;
            }
        }
    }
    for (unsigned group = 0; group < CALIBRATE_GROUPS; group++) {
        for (unsigned meter = 0; meter < CALIBRATE_METER_COUNT; meter++) {
            double each[LIVE_RUNS];
            for (unsigned run = 0; run < calibration->runs; run++) {
                each[run] = runs[group][run].ns[meter];
            }
            qsort(each, calibration->runs, sizeof each[0], by_size);
            calibration->real[group].ns[meter] = each[calibration->runs / 2];
        }
    }
    return CLI_OK;
}

static bool write_model(const struct calibration *calibration, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file) {
        return false;
    }
    calibrate_write(file, &calibration->model, calibration->real, calibration->about);
    bool is_whole = !ferror(file);
    return fclose(file) == 0 && is_whole;
}

/* Runs both groups on the model. */
static int simulate(struct calibration *calibration, enum run_kind kind)
{
    int status = CLI_OK;
    if (!write_model(calibration, calibration->machine)) {
        return cli_fail(COMMAND, "cannot write %s: %s", calibration->machine, strerror(errno));
    }
    for (unsigned group = 0; group < CALIBRATE_GROUPS && !status; group++) {
        status = run_group(calibration, (enum calibrate_group)group, kind,
                           &calibration->simulated[group]);
    }
    return status;
}

static int fit(struct calibration *calibration)
{
    struct calibrate_figures declared;
    int status = CLI_OK;
    for (unsigned i = 0; i < calibration->fits && !status; i++) {
        cli_show_progress("fitting, %u of %u ...", i + 1, calibration->fits);
        status = simulate(calibration, RUN_DECLARED);
        if (!status && i + 1 < calibration->fits) {
            calibrate_fit(&calibration->model, calibration->real, calibration->simulated);
        }
    }
    declared = calibration->simulated[CALIBRATE_PAIR];
    status = status ? status : simulate(calibration, RUN_MEASURED);
    if (!status) {
        calibrate_fit_gaps(&calibration->model, &declared, &calibration->simulated[CALIBRATE_PAIR]);
        status = simulate(calibration, RUN_MEASURED);
    }
    return status;
}

/* ---- What is said ---------------------------------------------------------------------------- */

static void say_row(const struct calibration *calibration, enum calibrate_group group,
                    enum calibrate_meter meter, bool json)
{
    double real_ns = calibration->real[group].ns[meter];
    double ours_ns = calibration->simulated[group].ns[meter];
    unsigned nodes = group == CALIBRATE_PAIR ? 2 : CROWD * calibration->model.cores;
    bool is_fitted = calibrate_is_fitted(group, meter);
    if (real_ns <= 0) {
        return;
    }
    if (json) {
        printf("{\"test\":\"calibrate\",\"nodes\":%u", nodes);
        cli_json_member("operation", calibrate_texts[meter]);
        printf(",\"machine_ns\":%.3f,\"model_ns\":%.3f,\"is_fitted\":%s}\n", real_ns, ours_ns,
               is_fitted ? "true" : "false");
        return;
    }
    printf("%-46s %5u %12.1f %12.1f %+7.1f %%  %s\n", calibrate_texts[meter], nodes, real_ns,
           ours_ns, 100 * (ours_ns / real_ns - 1), is_fitted ? "fitted" : "check");
}

static void say_all(const struct calibration *calibration, bool json)
{
    cli_clear_progress();
    if (!json) {
        printf("%-46s %5s %12s %12s %9s\n", "operation", "nodes", "machine, ns", "model, ns",
               "error");
    }
    for (unsigned group = 0; group < CALIBRATE_GROUPS; group++) {
        for (unsigned meter = 0; meter < CALIBRATE_METER_COUNT; meter++) {
            say_row(calibration, (enum calibrate_group)group, (enum calibrate_meter)meter, json);
        }
    }
}

/* The machine's own name of its CPU, and the day. */
static void describe(struct calibration *calibration)
{
    char line[256];
    char model[96] = "a machine";
    char day[16] = "";
    time_t now = time(NULL);
    struct tm date;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", strlen("model name")) == 0) {
            (void)snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n|"), colon + 2);
            break;
        }
    }
    if (file) {
        (void)fclose(file);
    }
    if (localtime_r(&now, &date)) {
        (void)strftime(day, sizeof day, "%Y-%m-%d", &date);
    }
    (void)snprintf(calibration->about, sizeof calibration->about, "%s, %u cores, measured %s",
                   model, calibration->model.cores, day);
}

/* ---- The command ----------------------------------------------------------------------------- */

#define AT(field) OPTIONS_AT(struct calibrate_options, field)

static const struct options_row rows[] = {
    {"output", 'o', "FILE", "where the machine file goes (default: where sim:here looks for it)",
     OPTIONS_TEXT, AT(output)},
    {"quick", 0, NULL, "measure once, and fit less closely", OPTIONS_FLAG, AT(quick)},
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_FLAG, AT(json)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "[-o FILE] [--quick] [--json]",
    .about =
        "Measures how long the library's calls take in this machine's shared memory, and\n"
        "writes a machine file on which they take as long in virtual time. Then\n"
        "`dimmnet run --fabric sim:here` predicts programs on this machine, and with cores=N\n"
        "on one with more cores. It takes about a minute; nothing else should run meanwhile.\n",
    .closing = "Rows marked \"check\" had no part in the fit. Exit status: 0 done, 1 something\n"
               "failed, 2 bad usage.\n",
};

static int calibrate(struct calibration *calibration, const struct calibrate_options *options)
{
    char path[PATH_BYTES];
    if (options->output) {
        (void)snprintf(path, sizeof path, "%s", options->output);
    } else if (!cli_here_path(path)) {
        return cli_fail(COMMAND, "there is no home for the file: say --output FILE");
    }
    int status = measure_machine(calibration);
    status = status ? status : fit(calibration);
    if (status) {
        return status;
    }
    if ((!options->output && !cli_here_make_folders(path)) || !write_model(calibration, path)) {
        return cli_fail(COMMAND, "cannot write %s: %s", path, strerror(errno));
    }
    say_all(calibration, options->json);
    if (!options->json) {
        printf("written to %s\n", path);
    }
    return CLI_OK;
}

int cli_sim_calibrate(int argc, char **argv)
{
    struct calibrate_options options = {0};
    struct options_group group = {.rows = rows, .target = &options};
    static struct calibration calibration;
    int status;
    if (!options_read(&command, &group, 1, argc, argv, &status)) {
        return status;
    }
    calibration.model.cores = host_core_count();
    if (calibration.model.cores < 2) {
        return cli_fail(COMMAND, "two cores are needed");
    }
    (void)snprintf(calibration.folder, sizeof calibration.folder, "/tmp/dimmnet-calibrate-XXXXXX");
    if (readlink("/proc/self/exe", calibration.self, sizeof calibration.self - 1) < 0 ||
        !mkdtemp(calibration.folder)) {
        return cli_fail(COMMAND, "cannot prepare: %s", strerror(errno));
    }
    (void)snprintf(calibration.figures, sizeof calibration.figures, "%s/figures",
                   calibration.folder);
    (void)snprintf(calibration.machine, sizeof calibration.machine, "%s/here.ini",
                   calibration.folder);
    describe(&calibration);
    calibration.runs = options.quick ? 1 : LIVE_RUNS;
    calibration.fits = options.quick ? FITS_QUICK : FITS;
    status = calibrate(&calibration, &options);
    cli_clear_progress();
    (void)unlink(calibration.figures);
    (void)unlink(calibration.machine);
    (void)rmdir(calibration.folder);
    return status;
}
