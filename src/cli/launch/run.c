/* `dimmnet run`: reads the command line; launcher.c does the work. */
#include "cli/launch/run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "cli/launch/choice.h"
#include "cli/launch/repeat.h"
#include "cli/launch/trace.h"
#include "cli/options.h"
#include "host/settings.h"

extern char **environ;

#define COMMAND "dimmnet run"

/* What the command line says. */
struct run_words {
    struct launch_request request;
    struct choice choice;
    struct launch_hosts hosts;
    const char *hosts_file; /* NULL: this host alone */
    const char **variables; /* "NAME=VALUE" for the nodes; NULL ends it */
    size_t variable_count;
    bool checks_determinism;
};

/* ---- Options -------------------------------------------------------------------------------- */

/* "NAME=VALUE", or a name that we have ourselves: nodes on this host have it anyway. */
static int take_variable(void *target, const char *value)
{
    struct run_words *words = target;
    const char *equals = strchr(value, '=');
    if (*value == '\0' || equals == value) {
        return cli_refuse(COMMAND, "-x takes NAME or NAME=VALUE, not \"%s\"", value);
    }
    if (equals) {
        words->variables[words->variable_count++] = value;
        return CLI_OK;
    }
    size_t bytes = strlen(value);
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, value, bytes) == 0 && (*variable)[bytes] == '=') {
            words->variables[words->variable_count++] = *variable;
        }
    }
    return CLI_OK;
}

#define AT(field) OPTIONS_AT(struct run_words, field)

static const struct options_row run_rows[] = {
    {"nodes", 'n', "N", "how many nodes", OPTIONS_NUMBER, AT(request.node_count), .least = 1,
     .most = GROUP_NODES_MAX, .what = "number of nodes"},
    {"label", 0, NULL, "put \"[rank] \" before every line", OPTIONS_FLAG, AT(request.label)},
    {"timeout", 0, "S", "end everything after S seconds (1.5 is fine), status 124", OPTIONS_SECONDS,
     AT(request.timeout_ns)},
    {"grace", 0, "S", "kill what still runs S seconds after a signal such as ^C (default 2)",
     OPTIONS_SECONDS, AT(request.grace_ns)},
    {"keep-going", 0, NULL, "when a node fails, tell the others and let them go on", OPTIONS_FLAG,
     AT(request.keep_going)},
    {"llcm", 0, "SIZE", "low-latency common memory of each node", OPTIONS_SIZE,
     AT(request.sizes.llcm_bytes)},
    {"bank", 0, "SIZE", "large memory of each node, committed when touched", OPTIONS_SIZE,
     AT(request.sizes.bank_bytes)},
    {"heap", 0, "SIZE", "symmetric heap of each node, committed when touched", OPTIONS_SIZE,
     AT(request.sizes.heap_bytes)},
    {"no-pin", 0, NULL,
     "do not pin nodes to cores; otherwise they are pinned if each node gets a core or each core "
     "gets equally many nodes",
     OPTIONS_FLAG, AT(request.no_pin)},
    {"time", 0, NULL,
     "say how long the nodes ran, from the last one's attachment to the last one's departure",
     OPTIONS_FLAG, AT(request.says_time)},
    {"trace", 0, "FILE",
     "record the nodes' library calls and write them, when all have ended, to a file that "
     "ui.perfetto.dev shows",
     OPTIONS_TEXT, AT(request.trace_path)},
    {"goal", 0, "FILE",
     "record the same and write it as a GOAL schedule, which dimmnet sim goal replays on simulated "
     "machines",
     OPTIONS_TEXT, AT(request.goal_path)},
    {"trace-records", 0, "N", "room for the calls of each node (default 1048576)", OPTIONS_NUMBER,
     AT(request.trace_records), .least = 1, .most = TRACE_RECORDS_MAX, .what = "number of records"},
    {"check-determinism", 0, NULL,
     "on a fabric in virtual time: run the program twice and name the first difference, with "
     "status 1",
     OPTIONS_FLAG, AT(checks_determinism)},
    {NULL, 'x', "NAME[=VALUE]",
     "set an environment variable for the nodes; those on this host have all of the launcher's "
     "anyway",
     OPTIONS_CALL, .take = take_variable},
    {.kind = OPTIONS_END},
};

static const struct options_row hosts_rows[] = {
    {"hosts", 0, "FILE",
     "run nodes on the hosts of this file, a line for each: host [slots=N] [address=A]; without "
     "-n there are as many nodes as slots",
     OPTIONS_TEXT, AT(hosts_file)},
    {"rsh", 0, "COMMAND",
     "how to start something there: COMMAND HOST PROGRAM WORD... (default ssh)", OPTIONS_TEXT,
     AT(hosts.rsh)},
    {"remote-dimmnet", 0, "PATH", "where this command is on the other hosts (default: as here)",
     OPTIONS_TEXT, AT(hosts.remote_dimmnet)},
    {.kind = OPTIONS_END},
};

#undef AT

static void list_environment(void)
{
    const char *name;
    const char *default_text;
    const char *help;
    printf("  %-20s what carries the stores, unless --fabric says it (default %s)\n", "DN_FABRIC",
           fabric_launches[0]->name);
    for (unsigned row = 0; host_settings_row(row, &name, &default_text, &help); row++) {
        printf("  %-20s %s (default %s)\n", name, help, default_text);
    }
    puts("  SHMEM_SYMMETRIC_SIZE "
         "OpenSHMEM's size of the symmetric heap; it overrides DN_HEAP_BYTES");
}

static const struct options_command run_command = {
    .name = COMMAND,
    .usage = "-n N [option...] [--] program [argument...]",
    .about = "Starts N nodes of a program as one group and stays until all have ended. Their\n"
             "output comes out whole lines at a time; signals are passed on to them.\n",
    .closing =
        "A SIZE is a number of bytes, or one with K, M, G or T behind it.\n"
        "\n"
        "Node 0 reads standard input; the others find it empty. A node is a process and its\n"
        "process group: when the process ends, what it left running is killed.\n"
        "A node fails when it is killed, ends with a status other than 0, or ends attached\n"
        "(without dn_detach). The others' waits then return DN_EPEER; 200 ms later they get\n"
        "SIGTERM and after another 200 ms SIGKILL, unless --keep-going is given.\n"
        "SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on; what is still there after 2 s\n"
        "is killed. When the launcher itself is killed, the nodes are killed.\n"
        "\n"
        "Exit status: 0 when every node ended well; the status of the first node that failed,\n"
        "or 128 + the signal that killed it, or 1 when it ended attached; the status given to\n"
        "shmem_global_exit; 2 for a command line that makes no sense or a program that cannot\n"
        "be started; 124 after the time-out; 128 + the signal that ended the launcher; 141\n"
        "when nobody reads standard output.\n"
        "\n"
        "Environment of the nodes: DIMMNET_RANK, DIMMNET_SIZE, DIMMNET_GROUP_ID (for\n"
        "scripts) and what the library needs to join. Environment read here:\n",
    .list_after = list_environment,
    .program_follows = true,
};

/* ---- The environment, and what makes sense together ----------------------------------------- */

int launch_defaults(const char *command, struct host_settings *settings)
{
    const char *bad;
    if (host_settings_read(settings, &bad) != 0) {
        return cli_refuse(command, "cannot understand %s=\"%s\" in the environment", bad,
                          getenv(bad));
    }
    return 0;
}

/* OpenSHMEM's variable for the size of the heap; the second is its name before version 1.2. */
static int take_symmetric_size(uint64_t *bytes)
{
    static const char *const names[] = {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        uint64_t size;
        if (!text || !*text) {
            continue;
        }
        if (!base_scaled_parse(text, &size) || size == 0) {
            return cli_refuse(COMMAND, "cannot understand %s=\"%s\" in the environment", names[i],
                              text);
        }
        *bytes = size;
        return 0;
    }
    return 0;
}

/* The first fabric whose groups may be on several hosts. */
static const struct fabric_launch *fabric_of_hosts(void)
{
    const struct fabric_launch *const *fabric = fabric_launches;
    while (!(*fabric)->spans_hosts) {
        fabric++;
    }
    return *fabric;
}

/* The first fabric in virtual time. */
static const struct fabric_launch *fabric_of_turns(void)
{
    const struct fabric_launch *const *fabric = fabric_launches;
    while (!(*fabric)->takes_turns) {
        fabric++;
    }
    return *fabric;
}

/* Gives 0, or a status if the words make no sense together. `of_hosts` is an option that makes
 * sense only with --hosts, or NULL. */
static int check_words(const struct run_words *words, const char *of_hosts)
{
    if (words->request.node_count == 0 && !words->hosts_file) {
        return cli_refuse(COMMAND, "say how many nodes: dimmnet run -n N program");
    }
    if (of_hosts && !words->request.fabric->spans_hosts) {
        return cli_refuse(COMMAND, "--%s is for --fabric %s only", of_hosts,
                          fabric_of_hosts()->name);
    }
    if (of_hosts && !words->hosts_file) {
        return cli_refuse(COMMAND, "--%s is for --hosts only", of_hosts);
    }
    if (launch_trace_is_wanted(&words->request) && words->hosts_file) {
        return cli_refuse(COMMAND,
                          "--%s records nodes of this host only: it does not go with --hosts",
                          words->request.trace_path ? "trace" : "goal");
    }
    if (words->request.trace_records != 0 && !launch_trace_is_wanted(&words->request)) {
        return cli_refuse(COMMAND, "--trace-records is for --trace and --goal only");
    }
    if (words->checks_determinism && !words->request.fabric->takes_turns) {
        return cli_refuse(COMMAND,
                          "--check-determinism is for --fabric %s only: in real time no two runs "
                          "are the same",
                          fabric_of_turns()->name);
    }
    if (!*words->request.argv) {
        return cli_refuse(COMMAND, "no program given: dimmnet run -n %u program",
                          words->request.node_count);
    }
    return 0;
}

/* Decides which node runs where; gives 0 or a status. */
static int assign_hosts(struct run_words *words)
{
    struct launch_request *request = &words->request;
    struct hosts *hosts = &words->hosts.hosts;
    char fault[HOSTS_FAULT_BYTES];
    if (!words->hosts_file) {
        return 0;
    }
    if (!remote_hosts_read(words->hosts_file, hosts, fault)) {
        return cli_refuse(COMMAND, "hosts file %s: %s", words->hosts_file, fault);
    }
    if (request->node_count == 0) {
        request->node_count = hosts->slots < GROUP_NODES_MAX ? hosts->slots : GROUP_NODES_MAX;
    }
    if (!remote_hosts_assign(hosts, request->node_count)) {
        return cli_refuse(COMMAND, "hosts file %s: %u slots are too few for %u nodes",
                          words->hosts_file, hosts->slots, request->node_count);
    }
    request->hosts = &words->hosts;
    return 0;
}

/* False: nothing is left to do, and *status is the exit status. */
static bool read_words(int argc, char **argv, struct run_words *words, int *status)
{
    struct host_settings settings;
    struct options_group groups[2 + CHOICE_GROUPS] = {
        {.rows = run_rows, .target = words},
        [1 + CHOICE_GROUPS] = {.rows = hosts_rows, .target = words, .heading = "On several hosts:"},
    };
    *status = launch_defaults(COMMAND, &settings);
    *status = *status ? *status : launch_choice_begin(&words->choice, COMMAND, false, groups + 1);
    if (*status) {
        return false;
    }
    words->request.sizes = settings.sizes;
    *status = take_symmetric_size(&words->request.sizes.heap_bytes);
    if (*status || !options_read(&run_command, groups, 2 + CHOICE_GROUPS, argc, argv, status)) {
        return false;
    }
    words->request.argv = argv + optind;
    words->request.environment = words->variables;
    words->request.fabric = fabric_launches[words->choice.fabric];
    words->request.settings = words->choice.settings[words->choice.fabric];
    words->request.words = words->choice.words;
    *status = launch_choice_complete(&words->choice, COMMAND, groups + 1);
    *status = *status ? *status : check_words(words, groups[1 + CHOICE_GROUPS].given);
    *status = *status ? *status : assign_hosts(words);
    if (words->request.trace_records == 0) {
        words->request.trace_records = TRACE_RECORDS_DEFAULT;
    }
    return *status == CLI_OK;
}

int cli_run(int argc, char **argv)
{
    struct run_words words = {
        .request = {.command = COMMAND},
        .hosts = {.rsh = "ssh"},
        .variables = calloc((size_t)argc + 1, sizeof *words.variables),
    };
    int status = CLI_FAULT;
    if (!words.variables) {
        cli_say(COMMAND, "no memory");
    } else if (read_words(argc, argv, &words, &status)) {
        status = words.checks_determinism ? launch_twice(&words.request)
                                          : launch_group(&words.request);
    }
    remote_hosts_release(&words.hosts.hosts);
    free(words.variables);
    return status;
}
