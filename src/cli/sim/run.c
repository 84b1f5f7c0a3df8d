/* `dimmnet sim run`: a small program on a simulated machine, and its trace. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/sim/sim.h"
#include "sim/trial/trial.h"

#define COMMAND "dimmnet sim run"

enum { ROUNDS_USUAL = 100 };
#define PS_PER_NS UINT64_C(1000)
#define LIMIT_USUAL_NS UINT64_C(1000000000)

struct options {
    struct sim_trial_wish wish;
    const char *machine;
    const char *trace;
    uint64_t from_ns, to_ns;
    bool json;
};

static void print_help(void)
{
    puts("usage: dimmnet sim run [option...] PROGRAM\n"
         "\n"
         "Runs a program on a simulated machine and says what a round took.\n"
         "\n"
         "programs:");
    for (unsigned i = 0; sim_trial_name(i); i++) {
        printf("  %-10s %s\n", sim_trial_name(i), sim_trial_text(i));
    }
    puts("\n"
         "options:\n"
         "  --machine M      a name (dimmnet sim machines) or a file; dimmnet1-D\n"
         "  --nodes N        1 to 65,534; as few as the program can do with\n"
         "  --topology T     loop-inside, loop-outside, back-to-back, switch, tree, fat-tree,\n"
         "                   ring, torus; what suits\n"
         "  --rounds R       how often; 100\n"
         "  --bytes B        of a transfer\n"
         "  --limit NS       of virtual time, for a run that does not end; 1,000,000,000\n"
         "  --trace FILE     a trace that ui.perfetto.dev opens\n"
         "  --from NS        what of it: from here\n"
         "  --to NS          to here\n"
         "  --json           one JSON object\n"
         "  -h, --help       this text\n"
         "\n"
         "See dimmnet-sim(1).");
}

static bool read_topology(const char *text, enum sim_topology *topology)
{
    for (unsigned i = 0; i < SIM_TOPOLOGIES; i++) {
        if (strcmp(sim_topology_names[i], text) == 0) {
            *topology = (enum sim_topology)i;
            return true;
        }
    }
    (void)cli_refuse(COMMAND, "there is no topology \"%s\"; see dimmnet sim run --help", text);
    return false;
}

/* An option that takes a value. */
static bool read_value(const char *option, const char *value, struct options *options)
{
    const uint64_t most_ns = UINT64_MAX / PS_PER_NS / 2;
    uint64_t number;
    bool good = true;
    if (strcmp(option, "--machine") == 0) {
        options->machine = value;
    } else if (strcmp(option, "--topology") == 0) {
        good = read_topology(value, &options->wish.topology);
    } else if (strcmp(option, "--trace") == 0) {
        options->trace = value;
    } else if (strcmp(option, "--nodes") == 0) {
        good = cli_number(COMMAND, option, value, 1, 65534, &number) == CLI_OK;
        options->wish.node_count = (uint32_t)number;
    } else if (strcmp(option, "--rounds") == 0) {
        good = cli_number(COMMAND, option, value, 1, 10000000, &number) == CLI_OK;
        options->wish.rounds = (uint32_t)number;
    } else if (strcmp(option, "--bytes") == 0) {
        good = cli_number(COMMAND, option, value, 1, UINT64_C(1) << 32, &options->wish.bytes) ==
               CLI_OK;
    } else if (strcmp(option, "--limit") == 0) {
        good = cli_number(COMMAND, option, value, 1, most_ns, &number) == CLI_OK;
        options->wish.limit_ps = number * PS_PER_NS;
    } else if (strcmp(option, "--from") == 0) {
        good = cli_number(COMMAND, option, value, 0, most_ns, &options->from_ns) == CLI_OK;
    } else if (strcmp(option, "--to") == 0) {
        good = cli_number(COMMAND, option, value, 0, most_ns, &options->to_ns) == CLI_OK;
    } else {
        (void)cli_refuse(COMMAND, "there is no option \"%s\"; see dimmnet sim run --help", option);
        good = false;
    }
    return good;
}

/* False: *status is what remains to be given. */
static bool read_arguments(int argc, char **argv, struct options *options, int *status)
{
    *options = (struct options){
        .wish = {.topology = SIM_TOPOLOGIES,
                 .rounds = ROUNDS_USUAL,
                 .limit_ps = LIMIT_USUAL_NS * PS_PER_NS},
        .machine = "dimmnet1-D",
        .to_ns = UINT64_MAX / PS_PER_NS,
    };
    *status = CLI_USAGE;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            *status = CLI_OK;
            return false;
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (argv[i][0] == '-') {
            if (i + 1 == argc) {
                (void)cli_refuse(COMMAND, "%s needs a value, or is no option", argv[i]);
                return false;
            }
            if (!read_value(argv[i], argv[i + 1], options)) {
                return false;
            }
            i++;
        } else if (options->wish.trial) {
            (void)cli_refuse(COMMAND, "\"%s\" is one word too many", argv[i]);
            return false;
        } else {
            options->wish.trial = argv[i];
        }
    }
    if (!options->wish.trial) {
        (void)cli_refuse(COMMAND, "no program given; see dimmnet sim run --help");
        return false;
    }
    if (options->to_ns <= options->from_ns) {
        (void)cli_refuse(COMMAND, "--to is not behind --from");
        return false;
    }
    return true;
}

/* ---- What came of it ------------------------------------------------------------------- */

static double mean_ns(const struct sim_trial_result *result)
{
    uint32_t counted = result->rounds > 1 ? result->rounds - 1 : 1;
    return (double)result->total_ps / counted / 1e3;
}

static double mb_per_s(const struct sim_trial_result *result)
{
    return (double)result->bytes / mean_ns(result) * 1e3;
}

static void print_json(const struct options *options, const struct sim_trial_result *result)
{
    printf("{\"test\":\"%s\",\"machine\":", options->wish.trial);
    cli_json_text(stdout, options->wish.machine->name);
    printf(",\"topology\":\"%s\",\"nodes\":%" PRIu32 ",\"rounds\":%" PRIu32,
           sim_topology_names[result->topology], result->node_count, result->rounds);
    if (result->bytes > 0) {
        printf(",\"bytes\":%" PRIu64 ",\"mb_per_s\":%.3f", result->bytes, mb_per_s(result));
    }
    printf(",\"round_ns\":%.3f,\"least_ns\":%.3f,\"most_ns\":%.3f,\"first_ns\":%.3f"
           ",\"virtual_ns\":%.3f,\"events\":%" PRIu64 ",\"packets\":%" PRIu64
           ",\"header_misses\":%" PRIu64 ",\"address_misses\":%" PRIu64 ",\"context_hits\":%" PRIu64
           ",\"context_misses\":%" PRIu64 ",\"retransmissions\":%" PRIu64 "}\n",
           mean_ns(result), (double)result->least_ps / 1e3, (double)result->most_ps / 1e3,
           (double)result->first_ps / 1e3, (double)result->virtual_ps / 1e3,
           result->counters.events, result->counters.packets, result->counters.header_misses,
           result->counters.address_misses, result->counters.context_hits,
           result->counters.context_misses, result->counters.retransmissions);
}

static void print_table(const struct options *options, const struct sim_trial_result *result)
{
    const struct sim_world_counters *counters = &result->counters;
    printf("%s on %s, %" PRIu32 " node%s, %s, %" PRIu32 " rounds\n", options->wish.trial,
           options->wish.machine->name, result->node_count, result->node_count == 1 ? "" : "s",
           sim_topology_names[result->topology], result->rounds);
    printf("  a round          %12.1f ns   (%.1f to %.1f; the first one %.1f)\n", mean_ns(result),
           (double)result->least_ps / 1e3, (double)result->most_ps / 1e3,
           (double)result->first_ps / 1e3);
    if (result->bytes > 0) {
        printf("  bandwidth        %12.1f MB/s (%" PRIu64 " bytes a round)\n", mb_per_s(result),
               result->bytes);
    }
    printf("  virtual time     %12.1f ns\n", (double)result->virtual_ps / 1e3);
    printf("  events           %12" PRIu64 "      packets %" PRIu64 "\n", counters->events,
           counters->packets);
    printf("  TLB misses       %12" PRIu64 "      in header TLBs, %" PRIu64 " in address TLBs\n",
           counters->header_misses, counters->address_misses);
    if (counters->context_hits + counters->context_misses > 0) {
        printf("  contexts         %12" PRIu64 "      hits, %" PRIu64 " misses, %" PRIu64
               " retransmissions\n",
               counters->context_hits, counters->context_misses, counters->retransmissions);
    }
}

static int run(struct options *options)
{
    char error[SIM_ERROR_BYTES];
    struct sim_trial_result result;
    if (options->trace) {
        options->wish.timeline = sim_timeline_open(options->trace, options->from_ns * PS_PER_NS,
                                                   options->to_ns * PS_PER_NS, error);
        if (!options->wish.timeline) {
            cli_say(COMMAND, "%s", error);
            return CLI_FAULT;
        }
    }
    bool done = sim_trial_run(&options->wish, &result, error);
    if (!done) {
        cli_say(COMMAND, "%s", error);
    }
    if (options->wish.timeline && !sim_timeline_close(options->wish.timeline)) {
        cli_say(COMMAND, "%s could not be written to its end", options->trace);
        return CLI_FAULT;
    }
    if (!done) {
        return CLI_FAULT;
    }
    if (options->json) {
        print_json(options, &result);
    } else {
        print_table(options, &result);
    }
    return CLI_OK;
}

int cli_sim_run(int argc, char **argv)
{
    struct options options;
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    int status;
    if (!read_arguments(argc, argv, &options, &status)) {
        return status;
    }
    if (!sim_machine_load(&machine, options.machine, error)) {
        return cli_refuse(COMMAND, "%s", error);
    }
    options.wish.machine = &machine;
    status = run(&options);
    sim_machine_free(&machine);
    return status;
}
