/* `dimmnet sim net`: a network of routers, flit by flit, at one rate or in a sweep up to and
 * beyond saturation. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "cli/sim/net_page.h"
#include "cli/sim/net_report.h"
#include "host/clock.h"
#include "sim/model/timeline.h"

#define COMMAND "dimmnet sim net"

enum { TRACE_CYCLES_USUAL = 10000 };

struct options {
    const char *path;
    const char *settings[NET_SETTINGS_MAX];
    unsigned setting_count;
    double rate; /* below 0: the file's */
    bool sweep, keys;
    struct net_report report;
    const char *trace;
    const char *page;
    uint64_t from_cycle, to_cycle;
    unsigned jobs;
};

/* ---- Options ------------------------------------------------------------------------------ */

static int take_rate(void *target, const char *value)
{
    struct options *options = target;
    char *end;
    options->rate = strtod(value, &end);
    if (end == value || *end || !(options->rate >= 0 && options->rate <= 1)) {
        return cli_refuse(COMMAND, "--rate takes a number from 0 to 1, not \"%s\"", value);
    }
    return CLI_OK;
}

static int take_setting(void *target, const char *value)
{
    struct options *options = target;
    if (options->setting_count == NET_SETTINGS_MAX) {
        return cli_refuse(COMMAND, "--set comes more than %d times", NET_SETTINGS_MAX);
    }
    options->settings[options->setting_count++] = value;
    return CLI_OK;
}

#define AT(field) OPTIONS_AT(struct options, field)

static const struct options_row rows[] = {
    {NULL, 0, "CONFIG", NULL, OPTIONS_TEXT, AT(path)},
    {"rate", 0, "R", "flits per node and cycle, 0 to 1 (default: in the file)", OPTIONS_CALL,
     .take = take_rate},
    {"sweep", 0, NULL, "measure from nearly no load to beyond saturation", OPTIONS_FLAG, AT(sweep)},
    {"set", 0, "SECTION.KEY=V", "replace a value of the file; may be repeated", OPTIONS_CALL,
     .take = take_setting},
    {"keys", 0, NULL, "print every key with its value, and run nothing", OPTIONS_FLAG, AT(keys)},
    {"links", 0, NULL, "also print what each link carried", OPTIONS_FLAG, AT(report.links)},
    {"speed", 0, NULL, "also print the simulator's own speed, by CPU time (never the same twice)",
     OPTIONS_FLAG, AT(report.speed)},
    {"trace", 0, "FILE",
     "write a trace for ui.perfetto.dev: a track for each virtual channel of each router",
     OPTIONS_TEXT, AT(trace)},
    {"from", 0, "CYCLE", "trace from this cycle on (default 0)", OPTIONS_NUMBER, AT(from_cycle),
     .most = UINT64_MAX / 2},
    {"to", 0, "CYCLE", "trace up to this cycle (default 10,000)", OPTIONS_NUMBER, AT(to_cycle),
     .least = 1, .most = UINT64_MAX / 2},
    {"html", 0, "FILE", "also write a page: charts, and the links coloured by load", OPTIONS_TEXT,
     AT(page)},
    {"jobs", 0, "N", "processes for a sweep (default: one for each core)", OPTIONS_NUMBER, AT(jobs),
     .least = 1, .most = JOBS_AT_ONCE_MAX},
    {"csv", 0, NULL, "print comma-separated values, a line of names first", OPTIONS_SETS,
     AT(report.format), .least = NET_REPORT_CSV},
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_SETS, AT(report.format),
     .least = NET_REPORT_JSON},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "CONFIG [option...]",
    .about =
        "Simulates a network of wormhole routers flit by flit, as a file describes it, under\n"
        "open-loop traffic: warms up until latencies are steady, measures, and waits until all\n"
        "has arrived. examples/sim has such files; --keys says what they may hold.\n",
    .closing =
        "Exit status: 0 measured, 1 a deadlock, a trace of which not all was delivered, or a\n"
        "fault, 2 bad usage or a file that makes no sense.\n",
};

static int check_options(const struct options *options)
{
    const char *what = !options->path                             ? "no network file given"
                       : options->sweep && options->rate >= 0     ? "--sweep has its own rates"
                       : options->sweep && options->trace         ? "--trace is of one rate"
                       : options->from_cycle >= options->to_cycle ? "--from is not before --to"
                                                                  : NULL;
    return what ? cli_refuse(COMMAND, "%s; see " COMMAND " --help", what) : CLI_OK;
}

/* ---- One rate ----------------------------------------------------------------------------- */

struct tracing {
    struct sim_timeline *timeline;
    uint64_t cycle_ps;
};

static void draw_held(void *context, uint32_t router, uint32_t port, uint32_t channel,
                      uint64_t from_cycle, uint64_t to_cycle, uint64_t tag)
{
    const struct tracing *tracing = context;
    char name[40];
    (void)snprintf(name, sizeof name, "packet %" PRIu64, tag);
    sim_timeline_span(tracing->timeline, SIM_TIMELINE_ROUTER + router,
                      SIM_TRACK_CHANNEL + port * SIM_TRACK_CHANNELS + channel, name,
                      from_cycle * tracing->cycle_ps, (to_cycle + 1) * tracing->cycle_ps, tag);
}

static int status_of(const struct net_result *result)
{
    bool is_good = result->outcome != NET_DEADLOCKED && result->outcome != NET_STUCK &&
                   result->outcome != NET_LOSSY;
    return is_good ? CLI_OK : CLI_FAULT;
}

/* Writes the page if --html asks for one. False: it failed and has said why. */
static bool write_page(const struct options *options, const struct net_result *results,
                       unsigned count, const struct net_result *saturation,
                       const struct net_bound *bound)
{
    if (options->page && count > 0 &&
        !net_page_write(options->page, options->report.file, results, count, saturation, bound)) {
        cli_say(COMMAND, "cannot write the page %s: %s", options->page, strerror(errno));
        return false;
    }
    return true;
}

static int run_one(const struct options *options)
{
    const struct net_report *report = &options->report;
    const struct net_experiment *experiment = &report->file->experiment;
    struct tracing tracing = {.cycle_ps = UINT64_C(1000000000) / experiment->network.clock_khz};
    struct net_watch watch = {.context = &tracing,
                              .now_ns = options->report.speed ? host_cpu_ns : NULL};
    struct net_result result;
    char error[NET_ERROR_BYTES];
    if (options->trace) {
        tracing.timeline = sim_timeline_open(options->trace, options->from_cycle * tracing.cycle_ps,
                                             options->to_cycle * tracing.cycle_ps, error);
        if (!tracing.timeline) {
            return cli_fail(COMMAND, "%s", error);
        }
        watch.held = draw_held;
    }
    double rate = options->rate >= 0 ? options->rate : experiment->traffic.rate;
    bool done = net_measure(experiment, rate, &watch, &result, error);
    if (tracing.timeline && !sim_timeline_close(tracing.timeline)) {
        return cli_fail(COMMAND, "%s could not be written to its end", options->trace);
    }
    if (!done) {
        return cli_fail(COMMAND, "%s", error);
    }
    net_report_head(report);
    net_report_row(report, &result);
    int status = status_of(&result);
    if (!write_page(options, &result, 1, NULL, NULL)) {
        status = CLI_FAULT;
    }
    net_result_free(&result);
    return status;
}

/* ---- A sweep ------------------------------------------------------------------------------ */

/* The rates of a sweep, as shares of the saturation rate. */
static const double shares[] = {0.05, 0.1, 0.2, 0.3,  0.4, 0.5, 0.6,
                                0.7,  0.8, 0.9, 0.95, 1,   1.1, 1.25};
enum { SHARES = sizeof shares / sizeof shares[0] };

struct sweep {
    const struct options *options;
    double saturation;
    uint32_t link_count;
    struct net_result results[SHARES];
    unsigned count;
    int status;
};

/* What a worker sends back: an error, or a result followed by its links. */
struct message {
    bool good;
    char error[NET_ERROR_BYTES];
    struct net_result result;
    struct net_link_use links[];
};

static void run_point(void *context, uint64_t number, void *result)
{
    const struct sweep *sweep = context;
    const struct net_watch watch = {.now_ns = sweep->options->report.speed ? host_cpu_ns : NULL};
    struct message *message = result;
    double rate = sweep->saturation * shares[number];
    message->good = net_measure(&sweep->options->report.file->experiment, rate < 1 ? rate : 1,
                                &watch, &message->result, message->error);
    if (message->good) {
        INVARIANT(message->result.link_count == sweep->link_count);
        memcpy(message->links, message->result.links, sweep->link_count * sizeof *message->links);
        net_result_free(&message->result);
    }
}

static bool take_point(void *context, uint64_t number, const void *result, const char *death)
{
    struct sweep *sweep = context;
    const struct message *message = result;
    if (death || !message->good) {
        cli_say(COMMAND, "at rate %.4f: %s", sweep->saturation * shares[number],
                death ? death : message->error);
        sweep->status = CLI_FAULT;
        return true;
    }
    struct net_result *kept = &sweep->results[sweep->count++];
    *kept = message->result;
    kept->links = malloc(sweep->link_count * sizeof *kept->links);
    if (kept->links) {
        kept->link_count = sweep->link_count;
        memcpy(kept->links, message->links, sweep->link_count * sizeof *kept->links);
    }
    sweep->status |= status_of(kept);
    net_report_row(&sweep->options->report, kept);
    return true;
}

static int run_points(struct sweep *sweep)
{
    const struct jobs jobs = {
        .context = sweep,
        .count = SHARES,
        .at_once = sweep->options->jobs,
        .result_bytes = sizeof(struct message) + sweep->link_count * sizeof(struct net_link_use),
        .run = run_point,
        .take = take_point,
    };
    int status = jobs_conclude(COMMAND, jobs_run(&jobs));
    return status ? status : sweep->status;
}

static int run_sweep(const struct options *options)
{
    const struct net_report *report = &options->report;
    static struct sweep sweep;
    struct net_result saturation;
    struct net_bound bound;
    char error[NET_ERROR_BYTES];
    if (!net_measure_saturation(&report->file->experiment, NULL, &saturation, error)) {
        return cli_fail(COMMAND, "%s", error);
    }
    net_report_head(report);
    sweep.options = options;
    sweep.saturation = saturation.rate;
    sweep.link_count = saturation.link_count;
    int status = CLI_FAULT;
    if (saturation.outcome == NET_DEADLOCKED) {
        net_report_row(report, &saturation);
        (void)write_page(options, &saturation, 1, NULL, NULL);
    } else {
        status = run_points(&sweep);
        bool bounded = net_bound_get(&report->file->experiment, &bound);
        net_report_saturation(report, &saturation, bounded ? &bound : NULL);
        if (!write_page(options, sweep.results, sweep.count, &saturation,
                        bounded ? &bound : NULL)) {
            status = CLI_FAULT;
        }
    }
    for (unsigned i = 0; i < sweep.count; i++) {
        net_result_free(&sweep.results[i]);
    }
    net_result_free(&saturation);
    return status;
}

int cli_sim_net(int argc, char **argv)
{
    struct options options = {.rate = -1, .to_cycle = TRACE_CYCLES_USUAL, .jobs = jobs_usual()};
    struct options_group group = {.rows = rows, .target = &options};
    struct net_file file;
    char error[NET_ERROR_BYTES];
    int status;
    if (!options_read(&command, &group, 1, argc, argv, &status)) {
        return status;
    }
    status = check_options(&options);
    if (status) {
        return status;
    }
    if (!net_file_load(&file, options.path, options.settings, options.setting_count, error)) {
        return cli_refuse(COMMAND, "%s", error);
    }
    options.report.file = &file;
    if (options.keys) {
        net_report_keys(&options.report);
        return CLI_OK;
    }
    return options.sweep ? run_sweep(&options) : run_one(&options);
}
