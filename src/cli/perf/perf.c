/* `dimmnet perf`: starts a group for each test and shows what its nodes measured. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/perf/node.h"
#include "cli/launch/run.h"

#define COMMAND "dimmnet perf"

enum { COUNTS_MAX = 4, TOKEN_NODES_MAX = 64, TEST_COUNT = 13 };

struct perf_options {
    uint32_t nodes; /* 0: the test's own */
    bool json;
    enum host_fabric fabric;
    struct launch_udp udp; /* where the fabric is that */
    char self[4096];       /* this program's file */
    const struct perf_entry *chosen[TEST_COUNT];
    int chosen_count;
};

struct perf_entry {
    const char *name;
    const char *help;
    uint32_t counts[COUNTS_MAX]; /* nodes of the groups to start; 0 ends it */
    bool any_count;              /* -n may change it */
    bool on_udp;                 /* where groups have 2 nodes, but for start */
};

static const struct perf_entry entries[TEST_COUNT] = {
    {"aotf", "8-byte round trip by stores", {2}, false, true},
    {"rate", "8-byte stores per second", {2}, false, true},
    {"botf", "blocks in order, 464 B to 64 MB", {2}, false, true},
    {"push", "RDMA writes, 464 B to 64 MB", {2}, false, true},
    {"pull", "RDMA reads, 464 B to 64 MB", {2}, false, true},
    {"atomic", "fetch-add and compare-swap on a remote word", {2}, false, true},
    {"barrier", "barrier of all nodes", {2, 4, 8}, true, true},
    {"sendrecv", "messages: 8-byte round trip and stream, 1 MB", {2}, false, true},
    {"reduce", "allreduce of a double, 64 KB, 1 MB", {2, 4, 8, 16}, true, true},
    {"lock", "a lock alone, and with two contending", {2}, false, true},
    {"token", "a token passed round, per hop", {8}, true, false},
    {"idle", "CPU time of a node that waits", {2}, false, true},
    {"start", "start and end of a group", {8}, true, true},
};

static void list_tests(void)
{
    for (int i = 0; i < TEST_COUNT; i++) {
        printf("  %-8s %s\n", entries[i].name, entries[i].help);
    }
}

/* A progress word on a terminal, taken away again when the row comes. */
static void show_progress(const char *test, uint32_t nodes)
{
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r\033[Kmeasuring %s on %u nodes ...", test, nodes);
    }
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO)) {
        (void)fprintf(stderr, "\r\033[K");
    }
}

/* ---- start: whole processes, timed from here ------------------------------- */

struct start {
    const struct perf_options *options;
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
        /* fork and exec, not posix_spawn: that is what the limit is named after. */
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

static void start_ours(void *context, uint64_t count)
{
    struct start *start = context;
    char nodes[16];
    char self[sizeof start->options->self];
    char words[][16] = {"run", "-n", "", "--fabric", "", "--", "perf-node", "start"};
    const struct launch_udp *udp = &start->options->udp;
    bool on_udp = start->options->fabric == HOST_FABRIC_UDP;
    char protection[] = "--encrypt";
    (void)snprintf(nodes, sizeof nodes, "%u", start->nodes);
    memcpy(self, start->options->self, sizeof self);
    memcpy(words[2], nodes, sizeof nodes);
    memcpy(words[4], on_udp ? "udp" : "mem", sizeof "udp");
    if (udp->no_auth) {
        memcpy(protection, "--no-auth", sizeof protection);
    }
    char *plain[] = {self,     words[0], words[1], words[2], words[3], words[4],
                     words[5], self,     words[6], words[7], NULL};
    char *protected[] = {self,       words[0], words[1], words[2], words[3], words[4],
                         protection, words[5], self,     words[6], words[7], NULL};
    char *const *argv = on_udp && (udp->no_auth || udp->encrypt) ? protected : plain;
    for (uint64_t i = 0; i < count; i++) {
        pid_t pid;
        if (posix_spawn(&pid, self, NULL, NULL, argv, environ) != 0 || !run_and_wait(&pid, 1)) {
            start->failed = true;
        }
    }
}

static int measure_start(const struct perf_options *options, uint32_t nodes)
{
    struct start start = {options, nodes, false};
    struct perf_pair pair = {start_raw, start_ours, &start, 1};
    struct perf_row row = {.test = "start",
                           .limit = "fork + exec of empty programs",
                           .bar = "<= 5",
                           .nodes = (int)nodes};
    perf_measure_alone(&pair, &row.figure);
    if (start.failed) {
        cli_say(COMMAND, "start: a process failed");
        return CLI_FAULT;
    }
    clear_progress();
    perf_report_time(options->json, &row, "start_ns");
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

static int measure_in_group(const struct perf_options *options, const struct perf_entry *entry,
                            uint32_t nodes)
{
    char self[sizeof options->self];
    char test[16];
    char word[] = "perf-node";
    char format[64];
    char pipes[TOKEN_NODES_MAX * 16 + 64] = "";
    int fds[TOKEN_NODES_MAX][2];
    bool token = strcmp(entry->name, "token") == 0;
    if (token && (nodes > TOKEN_NODES_MAX || !make_pipes(nodes, fds, pipes, sizeof pipes))) {
        cli_say(COMMAND, "token: no pipes for %u nodes (at most %d)", nodes, TOKEN_NODES_MAX);
        return CLI_FAULT;
    }
    memcpy(self, options->self, sizeof self);
    (void)snprintf(test, sizeof test, "%s", entry->name);
    (void)snprintf(format, sizeof format, "%s=%s", PERF_ENV_FORMAT,
                   options->json ? "json" : "table");
    char *const argv[] = {self, word, test, NULL};
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
        request.udp = options->fabric == HOST_FABRIC_UDP ? &options->udp : NULL;
        status = launch_group(&request);
    }
    for (uint32_t i = 0; token && i < nodes; i++) {
        (void)close(fds[i][0]);
        (void)close(fds[i][1]);
    }
    return status;
}

static int measure(const struct perf_options *options, const struct perf_entry *entry)
{
    int status = CLI_OK;
    bool is_start = strcmp(entry->name, "start") == 0;
    bool pairs_only = options->fabric == HOST_FABRIC_UDP && !is_start;
    for (int i = 0; i < COUNTS_MAX && entry->counts[i] && status == CLI_OK; i++) {
        bool given = options->nodes && entry->any_count && !pairs_only;
        uint32_t nodes = given ? options->nodes : entry->counts[i];
        show_progress(entry->name, nodes);
        status = is_start ? measure_start(options, nodes) : measure_in_group(options, entry, nodes);
        if (given || pairs_only) {
            break;
        }
    }
    return status;
}

static const struct perf_entry *find_entry(const char *name)
{
    for (int i = 0; i < TEST_COUNT; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

/* ---- The command line ----------------------------------------------------------------------- */

static int take_fabric(void *target, const char *value)
{
    struct perf_options *options = target;
    if (!host_fabric_parse(value, &options->fabric)) {
        return cli_refuse(COMMAND, "unknown fabric \"%s\"; known: " HOST_FABRIC_NAMES, value);
    }
    return CLI_OK;
}

static int take_test(void *target, const char *value)
{
    struct perf_options *options = target;
    const struct perf_entry *entry = find_entry(value);
    if (!entry) {
        return cli_refuse(COMMAND, "there is no test \"%s\"; see " COMMAND " --help", value);
    }
    if (options->chosen_count < TEST_COUNT) {
        options->chosen[options->chosen_count++] = entry;
    }
    return CLI_OK;
}

#define AT(field) OPTIONS_AT(struct perf_options, field)

static const struct options_row perf_rows[] = {
    {NULL, 'n', "N", "nodes, for barrier, reduce, token and start", OPTIONS_NUMBER, AT(nodes),
     .least = 2, .most = GROUP_NODES_MAX, .what = "number of nodes"},
    {"fabric", 0, "F",
     "mem (default) or udp: over loopback, 2 nodes (but for start), 64 KB at a time, and without "
     "token",
     OPTIONS_CALL, .take = take_fabric},
    {"json", 0, NULL, "one JSON object per line", OPTIONS_FLAG, AT(json)},
    {NULL, 0, "test", NULL, OPTIONS_CALL, .take = take_test},
    {.kind = OPTIONS_END},
};

static const struct options_row udp_rows[] = {
    {"no-auth", 0, NULL, "believe packets without proof of who sent them", OPTIONS_FLAG,
     AT(udp.no_auth)},
    {"encrypt", 0, NULL, "hide the content of packets, too", OPTIONS_FLAG, AT(udp.encrypt)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command perf_command = {
    .name = COMMAND,
    .usage = "[test...] [-n N] [--fabric F] [--json]",
    .about =
        "Measures this machine: each figure stands beside the physical limit, taken in the\n"
        "same run (median ratio of at least 300 raw-ours-raw triples): on mem with raw stores\n"
        "on the same cache lines, on udp with raw sockets between the same two processes.\n"
        "Without tests it runs them all.\n",
    .list = list_tests,
    .closing = "p99 is that of the blocks' means. Exit status: 0 all measured, 1 a test failed,\n"
               "2 bad usage. See dimmnet-perf(1).\n",
};

/* Whether the words make sense together, and all tests of the fabric where none is named. */
static int complete(struct perf_options *options, const char *of_udp)
{
    bool on_udp = options->fabric == HOST_FABRIC_UDP;
    if (!on_udp && of_udp) {
        return cli_refuse(COMMAND, "--%s is for --fabric udp only", of_udp);
    }
    if (options->udp.no_auth && options->udp.encrypt) {
        return cli_refuse(COMMAND, "--no-auth and --encrypt: choose one");
    }
    for (int i = 0; i < options->chosen_count && on_udp; i++) {
        if (!options->chosen[i]->on_udp) {
            return cli_refuse(COMMAND, "%s is for --fabric mem only", options->chosen[i]->name);
        }
    }
    for (int i = 0, named = options->chosen_count; named == 0 && i < TEST_COUNT; i++) {
        if (!on_udp || entries[i].on_udp) {
            options->chosen[options->chosen_count++] = &entries[i];
        }
    }
    return CLI_OK;
}

/* False: nothing is left to do, and *status is the exit status. */
static bool read_arguments(int argc, char **argv, struct perf_options *options, int *status)
{
    struct host_settings settings;
    struct options_group groups[] = {
        {.rows = perf_rows, .target = options},
        {.rows = udp_rows, .target = options, .heading = "With --fabric udp only:"},
    };
    *status = launch_defaults(COMMAND, &settings);
    options->fabric = settings.fabric;
    options->udp = launch_udp_default;
    if (*status || !options_read(&perf_command, groups, 2, argc, argv, status)) {
        return false;
    }
    *status = complete(options, groups[1].given);
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
        cli_say(COMMAND, "cannot find its own file: /proc is needed");
        return CLI_FAULT;
    }
    if (!options.json) {
        perf_report_header();
        (void)fflush(stdout);
    }
    for (int i = 0; i < options.chosen_count && status == CLI_OK; i++) {
        status = measure(&options, options.chosen[i]);
        clear_progress();
    }
    return status;
}
