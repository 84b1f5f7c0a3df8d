/* `dimmnet sim run`: runs a small program on a simulated machine, with a trace if wanted. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "sim/model/network_flit.h"
#include "sim/trial/trial.h"

#define COMMAND "dimmnet sim run"

enum { ROUNDS_USUAL = 100, BUFFER_BYTES_MAX = 1 << 24 };
#define PS_PER_NS UINT64_C(1000)
#define LIMIT_USUAL_NS UINT64_C(1000000000)

struct options {
    struct sim_trial_wish wish;
    const char *machine;
    const char *trace;
    uint64_t from_ps, to_ps;
    bool json;
};

static void list_programs(void)
{
    for (unsigned i = 0; sim_trial_name(i); i++) {
        printf("  %-10s %s\n", sim_trial_name(i), sim_trial_text(i));
    }
}

#define AT(field) OPTIONS_AT(struct options, field)
#define NS_MAX (UINT64_MAX / PS_PER_NS / 2)

static const struct options_row rows[] = {
    {NULL, 0, "PROGRAM", NULL, OPTIONS_TEXT, AT(wish.trial)},
    {"machine", 0, "M", "a name (see dimmnet sim machines) or a file (default dimmnet1-D)",
     OPTIONS_TEXT, AT(machine)},
    {"nodes", 0, "N", "number of nodes (default: the fewest that the program needs)",
     OPTIONS_NUMBER, AT(wish.node_count), .least = 1, .most = 65534},
    {"topology", 0, "T",
     "loop-inside, loop-outside, back-to-back, switch, tree, fat-tree, ring or torus (the default "
     "depends on the number of nodes)",
     OPTIONS_CHOICE, AT(wish.topology), .names = sim_topology_names, .most = SIM_TOPOLOGIES - 1},
    {"rounds", 0, "R", "number of rounds (default 100)", OPTIONS_NUMBER, AT(wish.rounds),
     .least = 1, .most = 10000000},
    {"bytes", 0, "B", "length of a transfer (each program has its own default)", OPTIONS_NUMBER,
     AT(wish.bytes), .least = 1, .most = UINT64_C(1) << 32},
    {"limit", 0, "NS", "stop after this much virtual time (default 1,000,000,000)", OPTIONS_NUMBER,
     AT(wish.limit_ps), .least = 1, .most = NS_MAX, .unit = PS_PER_NS},
    {"trace", 0, "FILE", "write a trace for ui.perfetto.dev", OPTIONS_TEXT, AT(trace)},
    {"from", 0, "NS", "trace from this moment on", OPTIONS_NUMBER, AT(from_ps), .most = NS_MAX,
     .unit = PS_PER_NS},
    {"to", 0, "NS", "trace up to this moment", OPTIONS_NUMBER, AT(to_ps), .most = NS_MAX,
     .unit = PS_PER_NS},
    {"json", 0, NULL, "print one JSON object", OPTIONS_FLAG, AT(json)},
    {.kind = OPTIONS_END},
};

static const struct options_row lock_rows[] = {
    {"lock", 0, "HOW",
     "queue (the manager keeps the queue) or chain (paper 004's: the manager knows the last one, "
     "each requester the next); default queue",
     OPTIONS_CHOICE, AT(wish.locks), .names = sim_locks_names, .most = SIM_LOCKS - 1},
    {.kind = OPTIONS_END},
};

static const struct options_row message_rows[] = {
    {"resend", 0, "HOW",
     "what becomes of a message that finds the receiver full: nack (it is sent again at once), "
     "back-off (after a pause), request (when the receiver asks for it, in turn), request-half "
     "(the "
     "same, when half of its buffer is free), request-all (all senders are asked at once); default "
     "nack",
     OPTIONS_CHOICE, AT(wish.messages.resend), .names = sim_resend_names, .most = SIM_RESENDS - 1},
    {"detect-loss", 0, NULL, "send again what is not answered in time", OPTIONS_FLAG,
     AT(wish.messages.detects_loss)},
    {"loss", 0, "PPM", "lose so many packets in a million (default: as the machine does)",
     OPTIONS_NUMBER, AT(wish.messages.loss_ppm), .most = 500000},
    {"seed", 0, "S", "of the losses and of the senders' work", OPTIONS_NUMBER,
     AT(wish.messages.seed), .most = UINT32_MAX},
    {"entries", 0, "N", "messages that a sender keeps, a power of two (default 16)", OPTIONS_NUMBER,
     AT(wish.messages.buffers.entries), .least = 1, .most = 65536},
    {"send-buffer", 0, "B", "bytes of a sender's buffer (default 16,384)", OPTIONS_NUMBER,
     AT(wish.messages.buffers.send_bytes), .least = 8, .most = BUFFER_BYTES_MAX},
    {"receive-buffer", 0, "B", "bytes of the receiver's (default 16,384)", OPTIONS_NUMBER,
     AT(wish.messages.buffers.receive_bytes), .least = 8, .most = BUFFER_BYTES_MAX},
    {"send-work", 0, "NS", "a sender's own work before each message, at random up to twice that",
     OPTIONS_NUMBER, AT(wish.messages.send_ps), .most = NS_MAX / 4, .unit = PS_PER_NS},
    {"read-work", 0, "NS", "the receiver's own work on each packet of a message", OPTIONS_NUMBER,
     AT(wish.messages.read_ps), .most = NS_MAX / 4, .unit = PS_PER_NS},
    {"back-off", 0, "NS", "the first pause before sending again (default 5,000)", OPTIONS_NUMBER,
     AT(wish.messages.buffers.back_off_ns), .least = 1, .most = UINT32_MAX},
    {"answer-time", 0, "NS", "how long an answer may take (default 100,000)", OPTIONS_NUMBER,
     AT(wish.messages.buffers.resend_ns), .least = 1, .most = UINT32_MAX},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "[option...] PROGRAM",
    .about = "Runs a program on a simulated machine and says what a round took. Programs:\n",
    .list = list_programs,
    .closing = "See dimmnet-sim(1).\n",
};

/* ---- Results --------------------------------------------------------------------------- */

static double mean_ns(const struct sim_trial_result *result)
{
    uint32_t counted = result->rounds > 1 ? result->rounds - 1 : 1;
    return (double)result->total_ps / counted / 1e3;
}

static double mb_per_s(const struct sim_trial_result *result)
{
    return (double)result->bytes / mean_ns(result) * 1e3;
}

static double latency_ns(const struct sim_messages_result *messages)
{
    return (double)messages->latency_ps / (double)messages->pieces / 1e3;
}

/* The part of the time in which messages came. */
static double core_share(const struct sim_messages_result *messages)
{
    return (double)messages->core_ps / (double)(messages->last_ps - messages->first_ps);
}

static void print_messages(const struct sim_trial_result *result)
{
    const struct sim_messages_result *messages = &result->messages;
    printf("  latency          %12.1f ns   (at most %.1f)\n", latency_ns(messages),
           (double)messages->latency_most_ps / 1e3);
    printf("  data packets     %12" PRIu64 "      for %" PRIu64 " messages; %" PRIu64
           " sent again, %" PRIu64 " lost packets\n",
           messages->packets, messages->pieces, messages->repeated, result->counters.lost);
    printf("  receiver         %12" PRIu64 "      refused, %" PRIu64
           " dropped; its CorePU busy for %.1f %%\n",
           messages->refused, messages->dropped, 100 * core_share(messages));
}

/* The port to routers, if it ran with routers. */
struct port {
    bool is_assumed; /* the machine has none */
    bool is_rounded; /* it carries less than it should */
    double mb_per_s, asked_mb_per_s;
    double cycle_ns;
};

/* False: there is nothing to say about it. */
static bool get_port(const struct options *options, const struct sim_trial_result *result,
                     struct port *port)
{
    const struct sim_machine *machine = options->wish.machine;
    struct net_config config;
    if (result->topology != SIM_RING && result->topology != SIM_TORUS) {
        return false;
    }
    sim_ring_config(machine, result->node_count, &config);
    *port = (struct port){
        .is_assumed = !sim_machine_has_port(machine),
        .mb_per_s = net_port_mb_per_s(&config),
        .asked_mb_per_s = net_port_asked_mb_per_s(&config),
        .cycle_ns = 1e6 / (double)config.clock_khz,
    };
    port->is_rounded = port->asked_mb_per_s - port->mb_per_s > 0.05; /* as it is printed */
    return port->is_assumed || port->is_rounded;
}

static void print_json(const struct options *options, const struct sim_trial_result *result)
{
    const struct sim_messages_result *messages = &result->messages;
    struct port port;
    printf("{\"test\":\"%s\"", options->wish.trial);
    cli_json_member("machine", options->wish.machine->name);
    printf(",\"topology\":\"%s\",\"nodes\":%" PRIu32 ",\"rounds\":%" PRIu32,
           sim_topology_names[result->topology], result->node_count, result->rounds);
    if (result->bytes > 0) {
        printf(",\"bytes\":%" PRIu64 ",\"mb_per_s\":%.3f", result->bytes, mb_per_s(result));
    }
    printf(
        ",\"round_ns\":%.3f,\"least_ns\":%.3f,\"most_ns\":%.3f,\"first_ns\":%.3f"
        ",\"virtual_ns\":%.3f,\"events\":%" PRIu64 ",\"packets\":%" PRIu64
        ",\"header_misses\":%" PRIu64 ",\"address_misses\":%" PRIu64 ",\"context_hits\":%" PRIu64
        ",\"context_misses\":%" PRIu64 ",\"retransmissions\":%" PRIu64 ",\"link_resends\":%" PRIu64,
        mean_ns(result), (double)result->least_ps / 1e3, (double)result->most_ps / 1e3,
        (double)result->first_ps / 1e3, (double)result->virtual_ps / 1e3, result->counters.events,
        result->counters.packets, result->counters.header_misses, result->counters.address_misses,
        result->counters.context_hits, result->counters.context_misses,
        result->counters.retransmissions, result->counters.resends);
    if (get_port(options, result, &port)) {
        printf(",\"port_mb_per_s\":%.3f,\"port_basis\":\"%s\",\"port_asked_mb_per_s\":%.3f",
               port.mb_per_s, port.is_assumed ? "assumed" : "machine", port.asked_mb_per_s);
    }
    if (messages->pieces > 0) {
        printf(",\"messages\":%" PRIu64 ",\"latency_ns\":%.3f,\"latency_most_ns\":%.3f"
               ",\"data_packets\":%" PRIu64 ",\"repeated\":%" PRIu64 ",\"refused\":%" PRIu64
               ",\"dropped\":%" PRIu64 ",\"silences\":%" PRIu64 ",\"lost\":%" PRIu64
               ",\"core_share\":%.4f",
               messages->pieces, latency_ns(messages), (double)messages->latency_most_ps / 1e3,
               messages->packets, messages->repeated, messages->refused, messages->dropped,
               messages->silences, result->counters.lost, core_share(messages));
    }
    printf("}\n");
}

static void print_port(const struct port *port, const char *machine)
{
    printf("  port             %12.1f MB/s (", port->mb_per_s);
    if (port->is_rounded) {
        printf("not %.1f: a line takes whole cycles of %g ns, a flit at least one%s",
               port->asked_mb_per_s, port->cycle_ns, port->is_assumed ? "; " : "");
    }
    if (port->is_assumed) {
        printf("assumed: as the link, since %s has no [port]; paper 003's boards take 250",
               machine);
    }
    printf(")\n");
}

static void print_table(const struct options *options, const struct sim_trial_result *result)
{
    const struct sim_world_counters *counters = &result->counters;
    struct port port;
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
    if (counters->resends > 0) {
        printf("  links            %12" PRIu64 "      times sent a damaged packet again\n",
               counters->resends);
    }
    if (get_port(options, result, &port)) {
        print_port(&port, options->wish.machine->name);
    }
    if (result->messages.pieces > 0) {
        print_messages(result);
    }
}

static int run(struct options *options)
{
    char error[SIM_ERROR_BYTES];
    struct sim_trial_result result;
    if (options->trace) {
        options->wish.timeline = sim_timeline_open(options->trace, options->from_ps, options->to_ps,
                                                   error);
        if (!options->wish.timeline) {
            return cli_fail(COMMAND, "%s", error);
        }
    }
    bool done = sim_trial_run(&options->wish, &result, error);
    if (!done) {
        cli_say(COMMAND, "%s", error);
    }
    if (options->wish.timeline && !sim_timeline_close(options->wish.timeline)) {
        return cli_fail(COMMAND, "%s could not be written to its end", options->trace);
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
    struct options options = {
        .wish = {.topology = SIM_TOPOLOGIES,
                 .rounds = ROUNDS_USUAL,
                 .limit_ps = LIMIT_USUAL_NS * PS_PER_NS},
        .machine = "dimmnet1-D",
        .to_ps = UINT64_MAX,
    };
    struct options_group groups[] = {
        {.rows = rows, .target = &options},
        {.rows = lock_rows, .target = &options, .heading = "For lock:"},
        {.rows = message_rows, .target = &options, .heading = "For message:"},
    };
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    int status;
    if (!options_read(&command, groups, 3, argc, argv, &status)) {
        return status;
    }
    if (!options.wish.trial) {
        return cli_refuse(COMMAND, "no program given; see " COMMAND " --help");
    }
    static const char *const programs[] = {NULL, "lock", "message"};
    for (unsigned i = 1; i < sizeof groups / sizeof groups[0]; i++) {
        if (groups[i].given && strcmp(options.wish.trial, programs[i]) != 0) {
            return cli_refuse(COMMAND, "--%s is for %s only", groups[i].given, programs[i]);
        }
    }
    const char *objection = sim_messages_objection(&options.wish.messages.buffers);
    if (objection) {
        return cli_refuse(COMMAND, "%s", objection);
    }
    if (options.to_ps <= options.from_ps) {
        return cli_refuse(COMMAND, "--to is not behind --from");
    }
    if (!sim_machine_load(&machine, options.machine, error)) {
        return cli_refuse(COMMAND, "%s", error);
    }
    options.wish.machine = &machine;
    status = run(&options);
    sim_machine_free(&machine);
    return status;
}
