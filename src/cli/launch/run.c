/* `dimmnet run`: reads the command line; launch.c does the work. */
#include "cli/launch/run.h"

#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "host/settings.h"

extern char **environ;

#define COMMAND "dimmnet run"
#define NS_PER_SECOND UINT64_C(1000000000)
#define TIMEOUT_SECONDS_MAX UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define PEER_TIMEOUT_MS_MAX (UINT64_C(3600) * 1000)

enum option_code {
    OPTION_NODES = 'n',
    OPTION_VARIABLE = 'x',
    OPTION_HELP = 'h',
    OPTION_FABRIC = 256,
    OPTION_LABEL,
    OPTION_TIMEOUT,
    OPTION_KEEP_GOING,
    OPTION_LLCM,
    OPTION_BANK,
    OPTION_HEAP,
    OPTION_NO_PIN,
    OPTIONS_OF_UDP, /* from here on */
    OPTION_ENCRYPT = OPTIONS_OF_UDP,
    OPTION_NO_AUTH,
    OPTION_MTU,
    OPTION_PEER_TIMEOUT,
    OPTION_PORT,
    OPTION_RELAY_PORT,
    OPTION_HOSTS,
    OPTION_RSH,
    OPTION_REMOTE_DIMMNET,
};

/* What the command line says. */
struct run_words {
    struct launch_request request;
    enum host_fabric fabric;
    struct launch_udp udp;
    struct launch_hosts hosts;
    const char *hosts_file;   /* NULL: this host alone */
    const char *udp_option;   /* one that only the `udp` fabric has; NULL: none was given */
    const char *hosts_option; /* one that only --hosts makes sense of; NULL likewise */
    const char **variables;   /* "NAME=VALUE" for the nodes; NULL ends it */
    size_t variable_count;
};

static const struct option options[] = {
    {"nodes", required_argument, NULL, OPTION_NODES},
    {"help", no_argument, NULL, OPTION_HELP},
    {"fabric", required_argument, NULL, OPTION_FABRIC},
    {"label", no_argument, NULL, OPTION_LABEL},
    {"timeout", required_argument, NULL, OPTION_TIMEOUT},
    {"keep-going", no_argument, NULL, OPTION_KEEP_GOING},
    {"llcm", required_argument, NULL, OPTION_LLCM},
    {"bank", required_argument, NULL, OPTION_BANK},
    {"heap", required_argument, NULL, OPTION_HEAP},
    {"no-pin", no_argument, NULL, OPTION_NO_PIN},
    {"encrypt", no_argument, NULL, OPTION_ENCRYPT},
    {"no-auth", no_argument, NULL, OPTION_NO_AUTH},
    {"mtu", required_argument, NULL, OPTION_MTU},
    {"peer-timeout", required_argument, NULL, OPTION_PEER_TIMEOUT},
    {"port", required_argument, NULL, OPTION_PORT},
    {"relay-port", required_argument, NULL, OPTION_RELAY_PORT},
    {"hosts", required_argument, NULL, OPTION_HOSTS},
    {"rsh", required_argument, NULL, OPTION_RSH},
    {"remote-dimmnet", required_argument, NULL, OPTION_REMOTE_DIMMNET},
    {NULL, 0, NULL, 0},
};

static void print_help(void)
{
    printf("usage: dimmnet run -n N [option...] [--] program [argument...]\n"
           "\n"
           "Starts N nodes of a program as one group and stays until all have ended. Their\n"
           "output comes out whole lines at a time; signals are passed on to them.\n"
           "\n"
           "  -n, --nodes N     how many nodes, 1 to %d\n"
           "  --fabric NAME     what carries the stores: mem (the memory of this machine) or\n"
           "                    udp (packets over UDP)\n"
           "  --label           put \"[rank] \" before every line\n"
           "  --timeout S       end everything after S seconds (1.5 is fine), status 124\n"
           "  --keep-going      when a node fails, tell the others and let them go on\n"
           "  --llcm SIZE       low-latency common memory of each node\n"
           "  --bank SIZE       large memory of each node, committed when touched\n"
           "  --heap SIZE       symmetric heap of each node, committed when touched\n"
           "  --no-pin          do not pin nodes to cores; without this it is done whenever there\n"
           "                    is a core for each node, or equally many nodes on each core\n"
           "  -x NAME[=VALUE]   an environment variable for the nodes; on this host they have\n"
           "                    the launcher's in any case\n"
           "  -h, --help        this text\n"
           "\n"
           "A SIZE is a number of bytes, or one with K, M, G or T behind it.\n",
           GROUP_NODES_MAX);
    puts("\n"
         "With --fabric udp only:\n"
         "  --encrypt         hide the content of packets, too; they are authenticated anyway\n"
         "  --no-auth         believe packets without proof of who sent them\n"
         "  --mtu BYTES       packets that fit this MTU, if it is smaller than the path's\n"
         "  --peer-timeout MS a node that is silent for so long is dead (default 10000)\n"
         "  --port P          node R gets port P + R; without this, any that is free\n"
         "  --relay-port Q    tell peers that node R is at port Q + R, where something of the\n"
         "                    user's own passes packets on to it\n"
         "  --hosts FILE      nodes on several hosts, each by a line: host [slots=N] [address=A];\n"
         "                    without -n as many nodes as slots\n"
         "  --rsh COMMAND     how to get there: COMMAND HOST PROGRAM WORD... (default ssh)\n"
         "  --remote-dimmnet PATH\n"
         "                    this command on the other hosts (default: where it is here)\n"
         "\n"
         "Node 0 reads standard input; the others find it empty. A node is its process and\n"
         "that one's process group: when the process ends, what it left running is killed.\n"
         "A node fails when it is killed, ends with a status other than 0, or ends attached\n"
         "(without dn_detach). The others' waits then return DN_EPEER; 200 ms later they get\n"
         "SIGTERM and after another 200 ms SIGKILL, unless --keep-going is given.\n"
         "SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on; what is still there after 2 s\n"
         "is killed. When the launcher itself is killed, the nodes are killed.\n"
         "\n"
         "Exit status: 0 when every node ended well; that of the first node that failed, or\n"
         "128 + the signal that killed it; what shmem_global_exit was given; 1 when it ended\n"
         "attached; 2 for a command line that makes no sense or a program that cannot be\n"
         "started; 124 after the time-out; 128 + the signal that ended the launcher; 141 when\n"
         "nobody reads standard output.\n"
         "\n"
         "Environment of the nodes: DIMMNET_RANK, DIMMNET_SIZE, DIMMNET_GROUP_ID (for\n"
         "scripts) and what the library needs to join. Environment read here:");
    const char *name;
    const char *default_text;
    const char *help;
    for (unsigned row = 0; host_settings_row(row, &name, &default_text, &help); row++) {
        printf("  %-15s %s (default %s)\n", name, help, default_text);
    }
    puts("  SHMEM_SYMMETRIC_SIZE\n"
         "                  OpenSHMEM's name for the symmetric heap, before DN_HEAP_BYTES");
}

/* Seconds with a fraction, nothing around them; no locale's comma, no exponent. */
static bool read_seconds(const char *text, uint64_t *nanoseconds)
{
    uint64_t whole = 0;
    uint64_t fraction_ns = 0;
    size_t whole_digits = strspn(text, "0123456789");
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        whole = whole * 10 + (uint64_t)(*at - '0');
        if (whole > TIMEOUT_SECONDS_MAX) {
            return false;
        }
    }
    size_t fraction_digits = 0;
    if (*at == '.') {
        uint64_t unit_ns = NS_PER_SECOND / 10;
        for (at++; *at >= '0' && *at <= '9'; at++, fraction_digits++, unit_ns /= 10) {
            fraction_ns += (uint64_t)(*at - '0') * unit_ns;
        }
    }
    uint64_t sum = whole * NS_PER_SECOND + fraction_ns;
    if (*at != '\0' || whole_digits + fraction_digits == 0 || sum == 0) {
        return false;
    }
    *nanoseconds = sum;
    return true;
}

static int take_nodes(const char *text, uint32_t *node_count)
{
    uint64_t count;
    if (!base_number_parse(text, GROUP_NODES_MAX, &count) || count == 0) {
        return cli_refuse(COMMAND, "-n takes a number of nodes from 1 to %d, not \"%s\"",
                          GROUP_NODES_MAX, text);
    }
    *node_count = (uint32_t)count;
    return 0;
}

static int take_size(const char *option, const char *text, uint64_t *bytes)
{
    uint64_t size;
    if (!base_size_parse(text, &size) || size == 0) {
        return cli_refuse(COMMAND, "%s takes a size such as 65536, 128K or 2G, not \"%s\"", option,
                          text);
    }
    *bytes = size;
    return 0;
}

static int take_timeout(const char *text, uint64_t *timeout_ns)
{
    if (!read_seconds(text, timeout_ns)) {
        return cli_refuse(COMMAND, "--timeout takes a number of seconds above 0, not \"%s\"", text);
    }
    return 0;
}

static int take_fabric(const char *text, enum host_fabric *fabric)
{
    if (!host_fabric_parse(text, fabric)) {
        return cli_refuse(COMMAND, "unknown fabric \"%s\"; known: " HOST_FABRIC_NAMES, text);
    }
    return 0;
}

static int take_mtu(const char *text, uint32_t *mtu_bytes)
{
    uint64_t bytes;
    if (!base_number_parse(text, UINT16_MAX, &bytes) || bytes == 0) {
        return cli_refuse(COMMAND, "--mtu takes a number of bytes from 1 to 65535, not \"%s\"",
                          text);
    }
    *mtu_bytes = (uint32_t)bytes;
    return 0;
}

static int take_peer_timeout(const char *text, uint64_t *timeout_ns)
{
    uint64_t ms;
    if (!base_number_parse(text, PEER_TIMEOUT_MS_MAX, &ms) || ms == 0) {
        return cli_refuse(COMMAND,
                          "--peer-timeout takes a number of milliseconds from 1 to %u, not \"%s\"",
                          (unsigned)PEER_TIMEOUT_MS_MAX, text);
    }
    *timeout_ns = ms * NS_PER_MS;
    return 0;
}

static int take_port(const char *option, const char *text, uint16_t *port)
{
    uint64_t number;
    if (!base_number_parse(text, UINT16_MAX, &number) || number == 0) {
        return cli_refuse(COMMAND, "%s takes a port from 1 to 65535, not \"%s\"", option, text);
    }
    *port = (uint16_t)number;
    return 0;
}

/* "NAME=VALUE", or a name that we have ourselves: nodes on this host have it anyway. */
static int take_variable(struct run_words *words, char *text)
{
    char *equals = strchr(text, '=');
    if (*text == '\0' || equals == text) {
        return cli_refuse(COMMAND, "-x takes NAME or NAME=VALUE, not \"%s\"", text);
    }
    if (equals) {
        words->variables[words->variable_count++] = text;
        return 0;
    }
    size_t bytes = strlen(text);
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, text, bytes) == 0 && (*variable)[bytes] == '=') {
            words->variables[words->variable_count++] = *variable;
        }
    }
    return 0;
}

static int refuse_option(int code, char **argv)
{
    /* getopt has passed a long option's word but may still be inside a short one's. */
    const char *word = argv[optind > 0 ? optind - 1 : 0];
    char letter[3] = {'-', (char)optopt, '\0'};
    bool is_long = strncmp(word, "--", 2) == 0;
    if (code == ':') {
        return cli_refuse(COMMAND, "%s needs a value; see dimmnet run --help",
                          is_long ? word : letter);
    }
    if (is_long && optopt > 0) {
        return cli_refuse(COMMAND, "%.*s takes no value", (int)strcspn(word, "="), word);
    }
    return cli_refuse(COMMAND, "unknown option \"%s\"; see dimmnet run --help",
                      is_long ? word : letter);
}

static int take_option(int code, char **argv, struct run_words *words)
{
    struct launch_request *request = &words->request;
    struct launch_udp *udp = &words->udp;
    switch ((enum option_code)code) {
    case OPTION_NODES: return take_nodes(optarg, &request->node_count);
    case OPTION_FABRIC: return take_fabric(optarg, &words->fabric);
    case OPTION_TIMEOUT: return take_timeout(optarg, &request->timeout_ns);
    case OPTION_LLCM: return take_size("--llcm", optarg, &request->sizes.llcm_bytes);
    case OPTION_BANK: return take_size("--bank", optarg, &request->sizes.bank_bytes);
    case OPTION_HEAP: return take_size("--heap", optarg, &request->sizes.heap_bytes);
    case OPTION_LABEL: request->label = true; return 0;
    case OPTION_KEEP_GOING: request->keep_going = true; return 0;
    case OPTION_NO_PIN: request->no_pin = true; return 0;
    case OPTION_ENCRYPT: udp->encrypt = true; return 0;
    case OPTION_NO_AUTH: udp->no_auth = true; return 0;
    case OPTION_MTU: return take_mtu(optarg, &udp->mtu_bytes);
    case OPTION_PEER_TIMEOUT: return take_peer_timeout(optarg, &udp->peer_timeout_ns);
    case OPTION_PORT: return take_port("--port", optarg, &udp->port);
    case OPTION_RELAY_PORT: return take_port("--relay-port", optarg, &udp->relay_port);
    case OPTION_VARIABLE: return take_variable(words, optarg);
    case OPTION_HOSTS: words->hosts_file = optarg; return 0;
    case OPTION_RSH:
        words->hosts_option = "rsh";
        words->hosts.rsh = optarg;
        return 0;
    case OPTION_REMOTE_DIMMNET:
        words->hosts_option = "remote-dimmnet";
        words->hosts.remote_dimmnet = optarg;
        return 0;
    case OPTION_HELP: break; /* answered before */
    }
    return refuse_option(code, argv);
}

int launch_defaults(const char *command, struct host_settings *settings)
{
    const char *bad;
    if (host_settings_read(settings, &bad) != 0) {
        return cli_refuse(command, "cannot understand %s=\"%s\" in the environment", bad,
                          getenv(bad));
    }
    return 0;
}

/* OpenSHMEM programs say so how large their heap is to be; the name before 1.2 comes second. */
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

/* 0, or a status: what the words say makes no sense together. */
static int check_words(const struct run_words *words, bool has_program)
{
    if (words->request.node_count == 0 && !words->hosts_file) {
        return cli_refuse(COMMAND, "say how many nodes: dimmnet run -n N program");
    }
    if (words->fabric == HOST_FABRIC_MEM && words->udp_option) {
        return cli_refuse(COMMAND, "--%s is for --fabric udp only", words->udp_option);
    }
    if (words->hosts_option && !words->hosts_file) {
        return cli_refuse(COMMAND, "--%s is for --hosts only", words->hosts_option);
    }
    if (words->udp.no_auth && words->udp.encrypt) {
        return cli_refuse(COMMAND, "--encrypt hides from nobody what --no-auth lets all write; "
                                   "choose one");
    }
    if (!has_program) {
        return cli_refuse(COMMAND, "no program given: dimmnet run -n %u program",
                          words->request.node_count);
    }
    return 0;
}

/* 0, or a status: who runs where. */
static int assign_hosts(struct run_words *words)
{
    struct launch_request *request = &words->request;
    struct hosts *hosts = &words->hosts.hosts;
    char fault[HOSTS_FAULT_BYTES];
    if (!words->hosts_file) {
        return 0;
    }
    if (!hosts_read(words->hosts_file, hosts, fault)) {
        return cli_refuse(COMMAND, "hosts file %s: %s", words->hosts_file, fault);
    }
    if (request->node_count == 0) {
        request->node_count = hosts->slots < GROUP_NODES_MAX ? hosts->slots : GROUP_NODES_MAX;
    }
    if (!hosts_assign(hosts, request->node_count)) {
        return cli_refuse(COMMAND, "hosts file %s: %u slots are too few for %u nodes",
                          words->hosts_file, hosts->slots, request->node_count);
    }
    request->hosts = &words->hosts;
    return 0;
}

static int read_words(int argc, char **argv, struct run_words *words, bool *is_help)
{
    struct host_settings settings;
    int code;
    int index;
    /* 0 makes getopt start afresh; "+" stops it at the program's name. */
    optind = 0;
    opterr = 0;
    int error = launch_defaults(COMMAND, &settings);
    if (error) {
        return error;
    }
    words->fabric = settings.fabric;
    words->request.sizes = settings.sizes;
    error = take_symmetric_size(&words->request.sizes.heap_bytes);
    while (!error && (code = getopt_long(argc, argv, "+:n:x:h", options, &index)) != -1) {
        if (code == OPTION_HELP) {
            *is_help = true;
            return 0;
        }
        if (code >= OPTIONS_OF_UDP) {
            words->udp_option = options[index].name;
        }
        error = take_option(code, argv, words);
    }
    error = error ? error : check_words(words, optind < argc);
    return error ? error : assign_hosts(words);
}

int cli_run(int argc, char **argv)
{
    struct run_words words = {
        .request = {.command = COMMAND},
        .udp = launch_udp_default,
        .hosts = {.rsh = "ssh"},
        .variables = calloc((size_t)argc + 1, sizeof *words.variables),
    };
    bool is_help = false;
    if (!words.variables) {
        cli_say(COMMAND, "no memory");
        return CLI_FAULT;
    }
    int status = read_words(argc, argv, &words, &is_help);
    if (is_help) {
        print_help();
    } else if (!status) {
        words.request.argv = argv + optind;
        words.request.environment = words.variables;
        words.request.udp = words.fabric == HOST_FABRIC_UDP ? &words.udp : NULL;
        status = launch_group(&words.request);
    }
    hosts_release(&words.hosts.hosts);
    free(words.variables);
    return status;
}
