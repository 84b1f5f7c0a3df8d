/* `dimmnet run`: reads the command line; launch.c does the work. */
#include "cli/run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size_text.h"
#include "cli/cli.h"
#include "host/settings.h"

#define COMMAND "dimmnet run"
#define NS_PER_SECOND UINT64_C(1000000000)
#define TIMEOUT_SECONDS_MAX UINT64_C(1000000000)

enum option_code {
    OPTION_NODES = 'n',
    OPTION_HELP = 'h',
    OPTION_FABRIC = 256,
    OPTION_LABEL,
    OPTION_TIMEOUT,
    OPTION_KEEP_GOING,
    OPTION_LLCM,
    OPTION_BANK,
    OPTION_HEAP,
    OPTION_NO_PIN,
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
           "  --fabric NAME     what carries the stores: mem (the memory of this machine)\n"
           "  --label           put \"[rank] \" before every line\n"
           "  --timeout S       end everything after S seconds (1.5 is fine), status 124\n"
           "  --keep-going      when a node fails, tell the others and let them go on\n"
           "  --llcm SIZE       low-latency common memory of each node\n"
           "  --bank SIZE       large memory of each node, committed when touched\n"
           "  --heap SIZE       symmetric heap of each node, committed when touched\n"
           "  --no-pin          do not pin nodes to cores; without this it is done whenever there\n"
           "                    is a core for each node, or equally many nodes on each core\n"
           "  -h, --help        this text\n"
           "\n"
           "A SIZE is a number of bytes, or one with K, M, G or T behind it.\n",
           NIC_NODES_MAX);
    puts("\n"
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
    if (!base_number_parse(text, NIC_NODES_MAX, &count) || count == 0) {
        return cli_refuse(COMMAND, "-n takes a number of nodes from 1 to %d, not \"%s\"",
                          NIC_NODES_MAX, text);
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

static int take_fabric(const char *text)
{
    if (strcmp(text, "mem") != 0) {
        return cli_refuse(COMMAND, "unknown fabric \"%s\"; known: mem", text);
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

static int take_option(int code, char **argv, struct launch_request *request)
{
    switch ((enum option_code)code) {
    case OPTION_NODES: return take_nodes(optarg, &request->node_count);
    case OPTION_FABRIC: return take_fabric(optarg);
    case OPTION_TIMEOUT: return take_timeout(optarg, &request->timeout_ns);
    case OPTION_LLCM: return take_size("--llcm", optarg, &request->sizes.llcm_bytes);
    case OPTION_BANK: return take_size("--bank", optarg, &request->sizes.bank_bytes);
    case OPTION_HEAP: return take_size("--heap", optarg, &request->sizes.heap_bytes);
    case OPTION_LABEL: request->label = true; return 0;
    case OPTION_KEEP_GOING: request->keep_going = true; return 0;
    case OPTION_NO_PIN: request->no_pin = true; return 0;
    case OPTION_HELP: break; /* answered before */
    }
    return refuse_option(code, argv);
}

int launch_default_sizes(const char *command, struct nic_sizes *sizes)
{
    struct host_settings settings;
    const char *bad;
    if (host_settings_read(&settings, &bad) != 0) {
        return cli_refuse(command, "cannot understand %s=\"%s\" in the environment", bad,
                          getenv(bad));
    }
    *sizes = settings.sizes;
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

int cli_run(int argc, char **argv)
{
    struct launch_request request = {.command = COMMAND};
    int code;
    /* 0 makes getopt start afresh; "+" stops it at the program's name. */
    optind = 0;
    opterr = 0;
    int error = launch_default_sizes(COMMAND, &request.sizes);
    error = error ? error : take_symmetric_size(&request.sizes.heap_bytes);
    while (!error && (code = getopt_long(argc, argv, "+:n:h", options, NULL)) != -1) {
        if (code == OPTION_HELP) {
            print_help();
            return CLI_OK;
        }
        error = take_option(code, argv, &request);
    }
    if (error) {
        return error;
    }
    if (request.node_count == 0) {
        return cli_refuse(COMMAND, "say how many nodes: dimmnet run -n N program");
    }
    if (optind >= argc) {
        return cli_refuse(COMMAND, "no program given: dimmnet run -n %u program",
                          request.node_count);
    }
    request.argv = argv + optind;
    return launch_group(&request);
}
