/* `dimmnet perf`: starts a group for each test and shows what its nodes measured. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch/choice.h"
#include "cli/options.h"
#include "cli/perf/perf_node.h"
#include "cli/launch/run.h"

#define COMMAND "dimmnet perf"

enum { TOKEN_NODES_MAX = 64, CHOSEN_MAX = 13 };

struct perf_options {
    uint32_t nodes; /* 0: the test's own */
    bool json;
    struct choice choice;
    const struct fabric_launch *fabric; /* the chosen one */
    const uint64_t *settings;           /* the fabric's */
    char self[4096];                    /* this program's file */
    const struct perf_entry *chosen[CHOSEN_MAX];
    int chosen_count;
};

/* The start of groups is measured here, every other test by the nodes of a group. */
static bool is_start(const struct perf_entry *entry)
{
    return !entry->in_place;
}

/* Whether the test is for the chosen fabric. */
static bool is_possible(const struct perf_options *options, const struct perf_entry *entry)
{
    return options->fabric->shares_memory || entry->by_packets || is_start(entry);
}

static void list_tests(void)
{
    for (const struct perf_entry *entry = perf_entries; entry->name; entry++) {
        printf("  %-8s %s\n", entry->name, entry->help);
    }
}

/* ---- start: whole processes, timed from here ------------------------------- */

struct start {
    struct perf_options *options;
    uint32_t nodes;
    bool failed;
};

static bool run_and_wait(pid_t *pids, uint32_t count)
{
    bool well = true;
    for (uint32_t i = 0; i < count; i++) {
        int status;
        well = waitpid(pids[i], &status, 0) == pids[i] && status == 0 && well;
    }
    return well;
}

extern char **environ;

static void start_raw(void *context, uint64_t count)
{
    struct start *start = context;
    char program[] = "true";
    char *const argv[] = {program, NULL};
    for (uint64_t i = 0; i < count; i++) {
        pid_t pids[GROUP_NODES_MAX];
        uint32_t started = 0;
        /* fork and exec, not posix_spawn, because the limit's name says so. */
        for (; started < start->nodes; started++) {
            pids[started] = fork();
            if (pids[started] == 0) {
                (void)execvp(argv[0], argv);
                _exit(127);
            }
        }
        start->failed = !run_and_wait(pids, started) || start->failed;
    }
}

static char perf_node[] = "perf-node";
static char perf_start[] = "start";

/* The words of a command line, each with its own storage. */
struct words {
    char text[4 + FABRIC_OPTIONS_MAX][64];
    char *argv[8 + FABRIC_OPTIONS_MAX];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add_word(struct words *words, const char *format,
                                                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(words->text[words->count], sizeof words->text[0], format, arguments);
    va_end(arguments);
    words->argv[words->count] = words->text[words->count];
    words->count++;
}

/* Adds the options that were given. */
static void add_options(struct words *words, const struct perf_options *perf)
{
    const uint64_t *settings = perf->settings;
    const struct fabric_option *options = perf->fabric->options;
    for (size_t i = 0; options[i].name; i++) {
        if (settings[i] != options[i].unless_given) {
            add_word(words, options[i].value ? "--%s=%" PRIu64 : "--%s", options[i].name,
                     settings[i]);
        }
    }
}

static void start_ours(void *context, uint64_t count)
{
    struct start *start = context;
    char *self = start->options->self;
    struct words words = {.count = 0};
    add_word(&words, "dimmnet");
    add_word(&words, "run");
    add_word(&words, "-n%u", start->nodes);
    add_word(&words, "--fabric=%s", start->options->fabric->name);
    add_options(&words, start->options);
    words.argv[words.count] = self;
    words.argv[words.count + 1] = perf_node;
    words.argv[words.count + 2] = perf_start;
    for (uint64_t i = 0; i < count; i++) {
        pid_t pid;
        if (posix_spawn(&pid, self, NULL, NULL, words.argv, environ) != 0 ||
            !run_and_wait(&pid, 1)) {
            start->failed = true;
        }
    }
}

static int measure_start(struct perf_options *options, uint32_t nodes)
{
    static const struct perf_row row = {
        .limit = "fork + exec of empty programs", .bar = "<= 5", .json_name = "start_ns"};
    struct start start = {options, nodes, false};
    struct perf_pair pair = {.raw = start_raw, .ours = start_ours, .context = &start, .count = 1};
    const struct perf_world world = {.test = perf_start, .size = (int)nodes, .json = options->json};
    struct perf_figure figure;
    (void)perf_measure(NULL, &pair, &figure);
    if (start.failed) {
        return cli_fail(COMMAND, "start: a process failed");
    }
    cli_clear_progress();
    perf_report_row(&world, &row, &figure);
    return CLI_OK;
}

/* ---- tests inside a group --------------------------------------------------- */

/* A pipe for each node, which all of them inherit. */
static bool make_pipes(uint32_t nodes, int fds[][2], char *text, size_t room)
{
    size_t used = (size_t)snprintf(text, room, "%s=", PERF_ENV_PIPES);
    for (uint32_t i = 0; i < nodes; i++) {
        if (pipe(fds[i]) != 0) {
            return false;
        }
        used += (size_t)snprintf(text + used, room - used, "%d,%d,", fds[i][0], fds[i][1]);
    }
    return true;
}

static int measure_in_group(struct perf_options *options, const struct perf_entry *entry,
                            uint32_t nodes)
{
    char test[16];
    char format[64];
    char pipes[TOKEN_NODES_MAX * 16 + 64] = "";
    int fds[TOKEN_NODES_MAX][2];
    bool token = strcmp(entry->name, "token") == 0;
    if (token && (nodes > TOKEN_NODES_MAX || !make_pipes(nodes, fds, pipes, sizeof pipes))) {
        return cli_fail(COMMAND, "token: no pipes for %u nodes (at most %d)", nodes,
                        TOKEN_NODES_MAX);
    }
    (void)snprintf(test, sizeof test, "%s", entry->name);
    (void)snprintf(format, sizeof format, "%s=%s", PERF_ENV_FORMAT,
                   options->json ? "json" : "table");
    char *const argv[] = {options->self, perf_node, test, NULL};
    const char *const environment[] = {format, token ? pipes : NULL, NULL};
    struct launch_request request = {
        .command = COMMAND,
        .node_count = nodes,
        .argv = argv,
        .environment = environment,
    };
    struct host_settings settings;
    int status = launch_defaults(COMMAND, &settings);
    if (!status) {
        request.sizes = settings.sizes;
        request.fabric = options->fabric;
        request.settings = options->settings;
        status = launch_group(&request);
    }
    for (uint32_t i = 0; token && i < nodes; i++) {
        (void)close(fds[i][0]);
        (void)close(fds[i][1]);
    }
    return status;
}

static int measure(struct perf_options *options, const struct perf_entry *entry)
{
    int status = CLI_OK;
    bool pairs_only = !options->fabric->shares_memory && !is_start(entry);
    for (int i = 0; i < PERF_COUNTS_MAX && entry->counts[i] && status == CLI_OK; i++) {
        bool given = options->nodes && entry->any_count && !pairs_only;
        uint32_t nodes = given ? options->nodes : entry->counts[i];
        cli_show_progress("measuring %s on %u nodes ...", entry->name, nodes);
        status = is_start(entry) ? measure_start(options, nodes)
                                 : measure_in_group(options, entry, nodes);
        if (given || pairs_only) {
            break;
        }
    }
    return status;
}

/* ---- The command line ----------------------------------------------------------------------- */

static int take_test(void *target, const char *value)
{
    struct perf_options *options = target;
    const struct perf_entry *entry = perf_find_entry(value);
    if (!entry) {
        return cli_refuse(COMMAND, "there is no test \"%s\"; see " COMMAND " --help", value);
    }
    if (options->chosen_count == CHOSEN_MAX) {
        return cli_refuse(COMMAND, "more than %d tests", CHOSEN_MAX);
    }
    options->chosen[options->chosen_count++] = entry;
    return CLI_OK;
}

#define AT(field) OPTIONS_AT(struct perf_options, field)

static const struct options_row perf_rows[] = {
    {NULL, 'n', "N", "nodes, for barrier, reduce, token and start", OPTIONS_NUMBER, AT(nodes),
     .least = 2, .most = GROUP_NODES_MAX, .what = "number of nodes"},
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_FLAG, AT(json)},
    {NULL, 0, "test", NULL, OPTIONS_CALL, .take = take_test},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command perf_command = {
    .name = COMMAND,
    .usage = "[test...] [-n N] [--fabric NAME] [--json]",
    .about =
        "Measures this machine. Each figure stands beside the physical limit, which is taken in\n"
        "the same run; the ratio is the median of at least 300 raw-ours-raw triples. In place,\n"
        "the limit is raw stores on the same cache lines. By packets, it is raw sockets between\n"
        "the same two processes, over the loopback; there all tests except start have 2 nodes,\n"
        "transfers are of 64 KB, and there is no token. Without tests it runs them all.\n",
    .list = list_tests,
    .closing = "p99 is the 99th percentile of the blocks' means. Exit status: 0 all measured,\n"
               "1 a test failed, 2 bad usage. See dimmnet-perf(1).\n",
};

/* Checks that the words make sense together; without named tests, chooses all of the fabric's. */
static int complete(struct perf_options *options)
{
    for (int i = 0; i < options->chosen_count; i++) {
        if (!is_possible(options, options->chosen[i])) {
            return cli_refuse(COMMAND, "%s is not for --fabric %s", options->chosen[i]->name,
                              options->fabric->name);
        }
    }
    bool all = options->chosen_count == 0;
    for (const struct perf_entry *entry = perf_entries; all && entry->name; entry++) {
        if (is_possible(options, entry)) {
            (void)take_test(options, entry->name);
        }
    }
    return CLI_OK;
}

/* False: nothing is left to do, and *status is the exit status. */
static bool read_arguments(int argc, char **argv, struct perf_options *options, int *status)
{
    struct options_group groups[1 + CHOICE_GROUPS] = {{.rows = perf_rows, .target = options}};
    *status = launch_choice_begin(&options->choice, COMMAND, true, groups + 1);
    if (*status || !options_read(&perf_command, groups, 1 + CHOICE_GROUPS, argc, argv, status)) {
        return false;
    }
    options->fabric = fabric_launches[options->choice.fabric];
    options->settings = options->choice.settings[options->choice.fabric];
    *status = launch_choice_complete(&options->choice, COMMAND, groups + 1);
    *status = *status ? *status : complete(options);
    return *status == CLI_OK;
}

int cli_perf(int argc, char **argv)
{
    struct perf_options options = {0};
    int status;
    if (!read_arguments(argc, argv, &options, &status)) {
        return status;
    }
    if (readlink("/proc/self/exe", options.self, sizeof options.self - 1) < 0) {
        return cli_fail(COMMAND, "cannot find its own file: /proc is needed");
    }
    if (!options.json) {
        perf_report_header();
        (void)fflush(stdout);
    }
    for (int i = 0; i < options.chosen_count && status == CLI_OK; i++) {
        status = measure(&options, options.chosen[i]);
        cli_clear_progress();
    }
    return status;
}
