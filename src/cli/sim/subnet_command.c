/* `dimmnet sim subnet`: an InfiniBand subnet that programs from outside manage and look at, or that
 * the manager inside brings up. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "cli/sim/subnet_attach.h"
#include "cli/sim/subnet_opensm.h"
#include "cli/sim/subnet_session.h"
#include "cli/sim/subnet_traffic.h"
#include "host/clock.h"
#include "sim/subnet/barrier.h"
#include "sim/subnet/topology_file.h"
#include "sim/subnet/topology_make.h"

#define COMMAND "dimmnet sim subnet"
#define USUAL_SOCKET "sim"
#define PATIENCE_NS UINT64_C(5000000000) /* with a program that was told to end */

enum { STEP_MS = 100, CONSOLE_BYTES = 1024, SIGNAL_STATUS = 128 };

enum manager_choice { MANAGED_OUTSIDE, MANAGED_INSIDE, MANAGED_BY_OPENSM };
static const char *const manager_names[] = {"outside", "builtin", "opensm"};

struct options {
    const char *topology;
    const char *socket, *host, *library;
    const char *write;
    const char *trace;
    bool paths, console;
    enum manager_choice manager;
    enum manager_routing routing;
    const char *engine;
    uint32_t barriers;
    struct subnet_config config;
    char **program; /* NULL: none */
};

/* ---- Options ------------------------------------------------------------------------------ */

#define AT(field) OPTIONS_AT(struct options, field)

static const struct options_row rows[] = {
    {NULL, 0, "TOPOLOGY", NULL, OPTIONS_TEXT, AT(topology)},
    {"host", 0, "NAME", "the board that the program is at (default: the first)", OPTIONS_TEXT,
     AT(host)},
    {"socket", 0, "NAME",
     "IBSIM_SOCKNAME of the clients (default: " USUAL_SOCKET "; with a program one of its own)",
     OPTIONS_TEXT, AT(socket)},
    {"library", 0, "PATH", "umad2sim's library (default: where distributions have it)",
     OPTIONS_TEXT, AT(library)},
    {"manager", 0, "WHO",
     "outside: a program that attaches; builtin: a small one; opensm: started and ended by this "
     "command (default: outside)",
     OPTIONS_CHOICE, AT(manager), .names = manager_names, .most = MANAGED_BY_OPENSM},
    {"engine", 0, "NAME", "of opensm's routing: minhop, updn, ftree, lash, dor, ... (its -R)",
     OPTIONS_TEXT, AT(engine)},
    {"routing", 0, "HOW", "of the builtin manager: up-down or min-hop (default: up-down)",
     OPTIONS_CHOICE, AT(routing), .names = manager_routing_names, .most = MANAGER_ROUTINGS - 1},
    {"barriers", 0, "N",
     "run so many of the papers' barriers over all boards, by a multicast group of the manager's "
     "and without",
     OPTIONS_NUMBER, AT(barriers), .least = 1, .most = 1000000},
    {"vls", 0, "N", "data lanes of each port: 1, 2, 4, 8 or 15 (default 4)", OPTIONS_NUMBER,
     AT(config.data_vls), .least = 1, .most = 15},
    {"mtu", 0, "N", "bytes: 256, 512, 1024, 2048 or 4096 (default 2048)", OPTIONS_NUMBER,
     AT(config.mtu), .least = 256, .most = 4096},
    {"linear", 0, "N", "entries of a switch's linear table (default 4096)", OPTIONS_NUMBER,
     AT(config.linear_entries), .least = 2, .most = SUBNET_LIDS},
    {"write", 0, "FILE",
     "write the topology as ibnetdiscover does, with the addresses that it has "
     "in the end",
     OPTIONS_TEXT, AT(write)},
    {"paths", 0, NULL, "in the end print the way from each board to each other", OPTIONS_FLAG,
     AT(paths)},
    {"trace", 0, "FROM,TO", "in the end print the way between two nodes", OPTIONS_TEXT, AT(trace)},
    {"console", 0, NULL,
     "take orders from standard input: cut and join NODE PORT, kill and revive "
     "NODE, way FROM TO, sweep, quit",
     OPTIONS_FLAG, AT(console)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "TOPOLOGY [option...] [-- PROGRAM [argument...]]",
    .about =
        "Simulates the switches and boards of an InfiniBand subnet, and lets OpenSM and the\n"
        "infiniband-diags manage it and look at it as they are, through umad2sim (package\n"
        "libumad2sim0). TOPOLOGY is a file or a short text: ring:8, torus:4x4, fat-tree:64,\n"
        "random:20, switch:8. Serves until Ctrl-C; or runs a program attached to the subnet;\n"
        "or, with --traffic, simulates packets that follow the tables which a manager wrote.\n",
    .closing = "Exit status: the program's, or 128 + the signal that ended it; without one 0. 1 a\n"
               "fault, a way that was asked for and is none, a deadlock, or packets that did not\n"
               "come; 2 bad usage.\n",
};

/* ---- Signals ------------------------------------------------------------------------------ */

static volatile sig_atomic_t asked_to_end; /* the signal */

static void on_signal(int number)
{
    asked_to_end = number;
}

static void on_child(int number)
{
    (void)number; /* ends the server's wait */
}

static void catch_signals(void)
{
    const struct sigaction to_end = {.sa_handler = on_signal};
    const struct sigaction child = {.sa_handler = on_child};
    (void)sigaction(SIGINT, &to_end, NULL);
    (void)sigaction(SIGTERM, &to_end, NULL);
    (void)sigaction(SIGHUP, &to_end, NULL);
    (void)sigaction(SIGCHLD, &child, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

/* ---- Serving ------------------------------------------------------------------------------ */

static void step(struct subnet_session *session, int most_ms)
{
    int wait_ms = most_ms;
    if (session->turn) {
        int until_ms = session->turn(session->turn_context, session);
        wait_ms = until_ms < wait_ms ? until_ms : wait_ms;
    }
    subnet_server_step(session->server, wait_ms);
}

struct console {
    bool is_open;
    char line[CONSOLE_BYTES];
    size_t used;
};

/* Takes the orders that have come. False: one of them was to quit. */
static bool console_read(struct console *console, struct subnet_session *session)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (console->is_open && poll(&input, 1, 0) > 0) {
        char *end = console->line + console->used;
        ssize_t got = read(STDIN_FILENO, end, sizeof console->line - 1 - console->used);
        if (got <= 0) {
            console->is_open = got < 0 && errno == EINTR;
            continue;
        }
        console->used += (size_t)got;
        console->line[console->used] = '\0';
        char *line = console->line;
        char *next;
        while ((next = strchr(line, '\n'))) {
            *next++ = '\0';
            if (!subnet_session_order(session, line)) {
                return false;
            }
            line = next;
        }
        console->used = strlen(line);
        memmove(console->line, line, console->used + 1);
        if (console->used == sizeof console->line - 1) {
            printf("the line is too long\n");
            console->used = 0;
        }
    }
    return true;
}

static int serve(const struct options *options, struct subnet_session *session,
                 const struct subnet_attach *attach)
{
    struct console console = {.is_open = options->console};
    subnet_attach_print(attach);
    printf("Ready.\n");
    (void)fflush(stdout);
    while (!asked_to_end && console_read(&console, session)) {
        step(session, console.is_open ? STEP_MS / 5 : STEP_MS);
    }
    return CLI_OK;
}

/* Serves as long as the program runs. One that was told to end and does not is killed. */
static int run_program(const struct options *options, struct subnet_session *session,
                       struct subnet_attach *attach)
{
    pid_t child = subnet_attach_start(attach, options->program);
    if (child < 0) {
        return cli_fail(COMMAND, "cannot start \"%s\": %s", options->program[0], strerror(errno));
    }
    int status;
    uint64_t told_ns = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        uint64_t now_ns = host_now_ns();
        if (asked_to_end && told_ns == 0) {
            told_ns = now_ns;
            (void)kill(child, asked_to_end == SIGINT ? SIGINT : SIGTERM);
        } else if (told_ns && now_ns - told_ns > PATIENCE_NS) {
            (void)kill(child, SIGKILL);
        }
        step(session, STEP_MS);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_STATUS + WTERMSIG(status);
}

/* ---- What is printed in the end ----------------------------------------------------------- */

static uint16_t lid_of(void *context, uint32_t node, uint32_t port)
{
    const struct subnet *subnet = context;
    return subnet->ports[subnet_port_index(subnet, node, port)].lid;
}

static bool write_topology(const struct options *options, struct subnet *subnet)
{
    const struct topology_lids lids = {.lid = lid_of, .context = subnet};
    FILE *file = fopen(options->write, "we");
    if (file) {
        topology_write(file, &subnet->topology, &lids);
    }
    if (!file || ferror(file) || fclose(file) != 0) {
        cli_say(COMMAND, "cannot write %s: %s", options->write, strerror(errno));
        return false;
    }
    return true;
}

static bool print_trace(const struct options *options, const struct subnet_session *session)
{
    char names[2 * TOPOLOGY_NAME_BYTES + 2];
    char *comma = NULL;
    if (strlen(options->trace) < sizeof names) {
        (void)strcpy(names, options->trace);
        comma = strchr(names, ',');
    }
    if (!comma) {
        cli_say(COMMAND, "--trace takes two nodes with a comma between them");
        return false;
    }
    *comma = '\0';
    uint32_t from = topology_find(&session->subnet->topology, names);
    uint32_t to = topology_find(&session->subnet->topology, comma + 1);
    if (from == TOPOLOGY_NONE || to == TOPOLOGY_NONE) {
        cli_say(COMMAND, "there is no node \"%s\"", from == TOPOLOGY_NONE ? names : comma + 1);
        return false;
    }
    return subnet_session_print_way(session, from, to);
}

static bool print_paths(const struct subnet_session *session)
{
    const struct topology *topology = &session->subnet->topology;
    bool all = true;
    for (uint32_t from = 0; from < topology->node_count; from++) {
        for (uint32_t to = 0; to < topology->node_count; to++) {
            if (from != to && topology->nodes[from].kind == TOPOLOGY_BOARD &&
                topology->nodes[to].kind == TOPOLOGY_BOARD) {
                all = subnet_session_print_way(session, from, to) && all;
            }
        }
    }
    return all;
}

static int finish(const struct options *options, struct subnet_session *session, int status)
{
    bool is_good = true;
    if (options->paths) {
        is_good = print_paths(session);
    }
    if (options->trace) {
        is_good = print_trace(options, session) && is_good;
    }
    if (options->write) {
        is_good = write_topology(options, session->subnet) && is_good;
    }
    return status == CLI_OK && !is_good ? CLI_FAULT : status;
}

/* ---- The session -------------------------------------------------------------------------- */

static uint32_t cable_count(const struct topology *topology)
{
    uint32_t ends = 0;
    for (uint32_t i = 0; i < topology->port_count; i++) {
        ends += topology->ports[i].peer_node != TOPOLOGY_NONE;
    }
    return ends / 2;
}

static bool manage_inside(const struct options *options, struct subnet_session *session,
                          uint32_t node, bool is_quiet)
{
    const struct manager_config config = {.routing = options->routing};
    struct subnet *subnet = session->subnet;
    struct manager_result result;
    char error[TOPOLOGY_ERROR_BYTES];
    uint64_t began_ns = host_now_ns();
    uint32_t port = subnet_port_index(subnet, node, subnet_is_switch(subnet, node) ? 0 : 1);
    session->manager = manager_open(session->agent, port, &config);
    if (!manager_sweep(session->manager, &result, error)) {
        cli_say(COMMAND, "%s", error);
        return false;
    }
    if (!is_quiet) {
        printf("Managed from %s: %" PRIu32 " boards and %" PRIu32
               " switches, LIDs 1 to %u, %" PRIu64 " datagrams in %.1f ms.\n",
               subnet->topology.nodes[node].name, result.boards, result.switches,
               (unsigned)result.lid_last, result.datagrams,
               (double)(host_now_ns() - began_ns) / 1e6);
    }
    if (result.too_far > 0) {
        cli_say(COMMAND, "%" PRIu32 " links are more than %d hops away: nobody looked behind them",
                result.too_far, WIRE_MAD_HOPS_MAX);
    }
    return true;
}

static bool open_server(const struct options *options, struct subnet_session *session,
                        struct subnet_attach *attach)
{
    static char own_socket[SUBNET_SERVER_NAME_BYTES];
    bool needs_library = options->library || options->program ||
                         options->manager == MANAGED_BY_OPENSM;
    bool is_for_us = options->program || options->manager == MANAGED_BY_OPENSM;
    if (!subnet_attach_find(attach, options->library) && needs_library) {
        cli_say(COMMAND,
                "umad2sim's library is not %s: programs cannot be attached (Debian: package "
                "libumad2sim0; or --library PATH)",
                options->library ? options->library : "where distributions have it");
        return false;
    }
    (void)snprintf(own_socket, sizeof own_socket, "dimmnet-%d", (int)getpid());
    attach->socket = options->socket ? options->socket : is_for_us ? own_socket : USUAL_SOCKET;
    session->server = subnet_server_open(session->agent, attach->socket, COMMAND);
    return session->server != NULL;
}

static bool manage_by_opensm(const struct options *options, struct subnet_session *session,
                             struct subnet_attach *attach, struct subnet_opensm *opensm,
                             bool is_quiet)
{
    uint64_t began_ns = host_now_ns();
    if (!subnet_opensm_start(opensm, session, attach, options->engine, COMMAND)) {
        return false;
    }
    if (!is_quiet) {
        printf("Managed by opensm, routing engine %s, after %.1f s.\n", opensm->engine,
               (double)(host_now_ns() - began_ns) / 1e9);
        (void)fflush(stdout);
    }
    if (options->engine && strcmp(options->engine, opensm->engine) != 0) {
        cli_say(COMMAND, "opensm could not use its engine %s here, and took %s", options->engine,
                opensm->engine);
    }
    return subnet_opensm_levels(opensm, session, COMMAND);
}

/* Lets a manager from outside come, until all boards have addresses. */
static void wait_for_manager(struct subnet_session *session, const struct subnet_attach *attach)
{
    const struct subnet *subnet = session->subnet;
    bool is_up = false;
    subnet_attach_print(attach);
    printf("Traffic begins when a manager has made all boards' ports active.\n");
    (void)fflush(stdout);
    while (!is_up && !asked_to_end) {
        subnet_server_step(session->server, STEP_MS);
        is_up = true;
        for (uint32_t node = 0; node < subnet->node_count; node++) {
            is_up = is_up &&
                    (subnet_is_switch(subnet, node) ||
                     subnet->ports[subnet_port_index(subnet, node, 1)].state == SUBNET_ACTIVE);
        }
    }
}

/* The address of a group of all boards; 0 after saying why there is none. */
static uint16_t make_group(const struct options *options, struct subnet_session *session,
                           struct subnet_opensm *opensm)
{
    const struct topology *topology = &session->subnet->topology;
    char error[TOPOLOGY_ERROR_BYTES];
    if (options->manager == MANAGED_BY_OPENSM) {
        return subnet_opensm_group(opensm, session, COMMAND);
    }
    uint64_t *guids = calloc(topology->board_count, sizeof *guids);
    uint32_t count = 0;
    INVARIANT(guids);
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if (topology->nodes[i].kind == TOPOLOGY_BOARD) {
            guids[count++] = topology->nodes[i].guid + 1;
        }
    }
    bool is_made = manager_group_set(session->manager, SUBNET_MULTICAST_LID, guids, count, error);
    free(guids);
    if (!is_made) {
        cli_say(COMMAND, "%s", error);
    }
    return is_made ? SUBNET_MULTICAST_LID : 0;
}

static int run_barriers(const struct options *options, const struct subnet_traffic *traffic,
                        struct subnet_session *session, struct subnet_opensm *opensm)
{
    uint16_t group = make_group(options, session, opensm);
    struct barrier_result result;
    char error[TOPOLOGY_ERROR_BYTES];
    if (group == 0) {
        return CLI_FAULT;
    }
    for (int i = 0; i < 2; i++) {
        if (!barrier_run(session->subnet, &traffic->flow, i == 0 ? group : 0, options->barriers,
                         &result, error)) {
            return cli_fail(COMMAND, "barrier %s: %s", i == 0 ? "by multicast" : "down a tree",
                            error);
        }
        printf("Barrier of %" PRIu32 " boards, released %s: %.1f ns (%" PRIu64 " to %" PRIu64
               "), %" PRIu64 " packets a round.\n",
               session->subnet->topology.board_count,
               i == 0 ? "by one multicast packet" : "by a packet to each", result.mean_ns,
               result.least_ns, result.most_ns, result.packets / result.rounds);
    }
    return CLI_OK;
}

static int work(const struct options *options, const struct subnet_traffic *traffic,
                struct subnet_session *session, uint32_t node)
{
    struct subnet_attach attach = {.host = session->subnet->topology.nodes[node].name};
    struct subnet_opensm opensm = {0};
    bool is_only_shown = !options->program && (options->paths || options->trace || options->write);
    bool needs_server = options->manager == MANAGED_BY_OPENSM || options->program ||
                        (traffic->pattern ? options->manager == MANAGED_OUTSIDE : !is_only_shown);
    int status = CLI_OK;
    catch_signals();
    if (options->manager == MANAGED_INSIDE &&
        !manage_inside(options, session, node, traffic->json || options->program)) {
        return CLI_FAULT;
    }
    if (needs_server && !open_server(options, session, &attach)) {
        return CLI_FAULT;
    }
    if (options->manager == MANAGED_BY_OPENSM &&
        !manage_by_opensm(options, session, &attach, &opensm, traffic->json)) {
        status = CLI_FAULT;
    } else if (options->barriers > 0) {
        status = run_barriers(options, traffic, session, &opensm);
    } else if (traffic->pattern) {
        if (options->manager == MANAGED_OUTSIDE) {
            wait_for_manager(session, &attach);
        }
        status = subnet_traffic_run(traffic, session, &opensm, options->topology, &asked_to_end);
    } else if (options->program) {
        status = run_program(options, session, &attach);
    } else if (!is_only_shown) {
        status = serve(options, session, &attach);
    }
    status = finish(options, session, status);
    subnet_opensm_end(&opensm, session);
    subnet_attach_clean(&attach);
    return status;
}

/* Takes off "-- PROGRAM..." from the command line. */
static int split_program(struct options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            options->program = argv + i + 1;
            return i;
        }
    }
    return argc;
}

int cli_sim_subnet(int argc, char **argv)
{
    struct options options = {0};
    struct subnet_traffic traffic;
    struct options_group groups[] = {
        {.rows = rows, .target = &options},
        {.rows = subnet_traffic_rows, .target = &traffic, .heading = "Traffic"},
    };
    struct topology topology = {0};
    char error[TOPOLOGY_ERROR_BYTES];
    int status;
    subnet_config_default(&options.config);
    subnet_traffic_default(&traffic);
    argc = split_program(&options, argc, argv);
    if (!options_read(&command, groups, 2, argc, argv, &status)) {
        return status;
    }
    const char *what = !options.topology                        ? "no topology given"
                       : options.program && !options.program[0] ? "no program behind --"
                       : options.program && options.console     ? "--console is the program's"
                       : options.program && traffic.pattern
                           ? "traffic and a program do not go together; --manager opensm does"
                       : options.barriers > 0 && options.manager == MANAGED_OUTSIDE
                           ? "--barriers needs --manager builtin or opensm, which make the group"
                       : options.barriers > 0 && (options.program || traffic.pattern)
                           ? "--barriers goes with no traffic and no program"
                       : options.engine && options.manager != MANAGED_BY_OPENSM
                           ? "--engine is of --manager opensm"
                           : NULL;
    if (!what && groups[1].given && !traffic.pattern) {
        return cli_refuse(COMMAND, "--%s is of --traffic; see " COMMAND " --help", groups[1].given);
    }
    what = what ? what : subnet_config_objection(&options.config);
    if (what) {
        return cli_refuse(COMMAND, "%s; see " COMMAND " --help", what);
    }
    if (!topology_open(options.topology, &topology, error)) {
        return cli_refuse(COMMAND, "%s", error);
    }
    uint32_t node = options.host ? topology_find(&topology, options.host) : 0;
    if (node == TOPOLOGY_NONE) {
        topology_free(&topology);
        return cli_refuse(COMMAND, "there is no node \"%s\" in %s", options.host, options.topology);
    }
    /* A program's output is its own. */
    if (!traffic.json && !options.program) {
        printf("%s: %" PRIu32 " boards, %" PRIu32 " switches, %" PRIu32 " cables\n",
               options.topology, topology.board_count, topology.switch_count,
               cable_count(&topology));
        (void)fflush(stdout);
    }
    struct subnet_session session = {.subnet = subnet_open(&topology, &options.config)};
    topology_free(&topology);
    what = traffic.pattern ? subnet_traffic_objection(&traffic, session.subnet, error) : NULL;
    if (what) {
        subnet_close(session.subnet);
        return cli_refuse(COMMAND, "%s", what);
    }
    session.agent = agent_open(session.subnet);
    status = work(&options, &traffic, &session, node);
    subnet_server_close(session.server);
    manager_close(session.manager);
    agent_close(session.agent);
    subnet_close(session.subnet);
    return status;
}
