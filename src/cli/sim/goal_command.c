/* `dimmnet sim goal`: replays a GOAL schedule on a simulated machine. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "sim/goal/goal_replay.h"

#define COMMAND "dimmnet sim goal"

#define PS_PER_NS UINT64_C(1000)
#define NS_MAX (UINT64_MAX / PS_PER_NS / 2)
#define LIMIT_USUAL_NS UINT64_C(1000000000000)

struct options {
    struct goal_replay_wish wish;
    const char *file;
    const char *machine;
    const char *timeline;
    uint64_t from_ps, to_ps;
    bool json;
};

#define AT(field) OPTIONS_AT(struct options, field)

static const struct options_row rows[] = {
    {NULL, 0, "FILE", NULL, OPTIONS_TEXT, AT(file)},
    {"machine", 0, "M", "a name (see dimmnet sim machines) or a file (default dimmnet1-D)",
     OPTIONS_TEXT, AT(machine)},
    {"topology", 0, "T",
     "loop-inside, loop-outside, back-to-back, switch, tree, fat-tree, ring or torus (the default "
     "depends on the number of ranks)",
     OPTIONS_CHOICE, AT(wish.topology), .names = sim_topology_names, .most = SIM_TOPOLOGIES - 1},
    {"push", 0, "B", "messages of more bytes go by PUSH, others by BOTF (default 464)",
     OPTIONS_NUMBER, AT(wish.push_bytes), .least = 4, .most = GOAL_BYTES_MAX},
    {"loss", 0, "PPM", "lose so many packets in a million (default: as the machine does)",
     OPTIONS_NUMBER, AT(wish.loss_ppm), .most = 500000},
    {"seed", 0, "S", "of the losses", OPTIONS_NUMBER, AT(wish.seed), .most = UINT32_MAX},
    {"limit", 0, "NS", "stop after this much virtual time (default 1,000,000,000,000)",
     OPTIONS_NUMBER, AT(wish.limit_ps), .least = 1, .most = NS_MAX, .unit = PS_PER_NS},
    {"timeline", 0, "FILE", "write a trace for ui.perfetto.dev", OPTIONS_TEXT, AT(timeline)},
    {"from", 0, "NS", "trace from this moment on", OPTIONS_NUMBER, AT(from_ps), .most = NS_MAX,
     .unit = PS_PER_NS},
    {"to", 0, "NS", "trace up to this moment", OPTIONS_NUMBER, AT(to_ps), .most = NS_MAX,
     .unit = PS_PER_NS},
    {"json", 0, NULL, "print one JSON object", OPTIONS_FLAG, AT(json)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "[option...] FILE",
    .about = "Replays a GOAL schedule, as LogGOPSim and ATLAHS read it as text, on a simulated\n"
             "machine: a rank is a node, and a cpu of it a user of the node's NIC.\n",
    .closing = "See dimmnet-sim(1).\n",
};

/* ---- Results ------------------------------------------------------------------------------- */

static double ns(uint64_t ps)
{
    return (double)ps / 1e3;
}

static void print_json(const struct options *options, const struct goal_replay_result *result)
{
    const struct goal *goal = options->wish.goal;
    printf("{\"test\":\"goal\"");
    cli_json_member("file", options->file);
    cli_json_member("machine", options->wish.machine->name);
    printf(",\"topology\":\"%s\",\"nodes\":%" PRIu32 ",\"cpus\":%" PRIu32 ",\"operations\":%" PRIu64
           ",\"virtual_ns\":%.3f,\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64
           ",\"unreceived\":%" PRIu64
           ",\"compute_ns\":%.3f,\"communicate_ns\":%.3f,\"wait_ns\":%.3f,\"events\":%" PRIu64
           ",\"packets\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"end_ns\":[",
           sim_topology_names[result->topology], goal->rank_count, result->cpus,
           goal->operation_count, ns(result->virtual_ps), result->messages, result->bytes,
           result->unreceived, ns(result->compute_ps), ns(result->communicate_ps),
           ns(result->wait_ps), result->counters.events, result->counters.packets,
           result->counters.lost);
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        printf("%s%.3f", i ? "," : "", ns(result->end_ps[i]));
    }
    printf("]}\n");
}

static void print_part(const char *name, uint64_t ps, const struct goal_replay_result *result)
{
    uint64_t all_ps = result->compute_ps + result->communicate_ps + result->wait_ps;
    printf("  %-16s %12.1f %%    of the cpus' time, %.1f ns\n", name,
           all_ps > 0 ? 100 * (double)ps / (double)all_ps : 0, ns(ps));
}

static void print_table(const struct options *options, const struct goal_replay_result *result)
{
    const struct goal *goal = options->wish.goal;
    uint64_t least_ps = UINT64_MAX;
    double sum_ns = 0;
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        least_ps = result->end_ps[i] < least_ps ? result->end_ps[i] : least_ps;
        sum_ns += ns(result->end_ps[i]);
    }
    printf("%s on %s, %" PRIu32 " rank%s, %" PRIu32 " cpus, %s\n", options->file,
           options->wish.machine->name, goal->rank_count, goal->rank_count == 1 ? "" : "s",
           result->cpus, sim_topology_names[result->topology]);
    printf("  virtual time     %12.1f ns   until the last of %" PRIu64 " operations\n",
           ns(result->virtual_ps), goal->operation_count);
    printf("  a rank's end     %12.1f ns   (%.1f to %.1f)\n", sum_ns / goal->rank_count,
           ns(least_ps), ns(result->virtual_ps));
    printf("  messages         %12" PRIu64 "      %" PRIu64 " bytes", result->messages,
           result->bytes);
    if (result->unreceived > 0) {
        printf("; nobody receives %" PRIu64 " of them", result->unreceived);
    }
    printf("\n");
    print_part("compute", result->compute_ps, result);
    print_part("communication", result->communicate_ps, result);
    print_part("waiting", result->wait_ps, result);
    printf("  events           %12" PRIu64 "      packets %" PRIu64 "\n", result->counters.events,
           result->counters.packets);
    if (result->counters.lost > 0 || result->counters.resends > 0) {
        printf("  lost packets     %12" PRIu64 "      and %" PRIu64 " repaired by links\n",
               result->counters.lost, result->counters.resends);
    }
}

/* ---- Running ------------------------------------------------------------------------------- */

static int replay(struct options *options)
{
    char error[SIM_ERROR_BYTES];
    struct goal_replay_result result;
    if (!goal_check(options->wish.goal, error)) {
        return cli_fail(COMMAND, "%s: %s", options->file, error);
    }
    if (options->timeline) {
        options->wish.timeline = sim_timeline_open(options->timeline, options->from_ps,
                                                   options->to_ps, error);
        if (!options->wish.timeline) {
            return cli_fail(COMMAND, "%s", error);
        }
    }
    bool done = goal_replay(&options->wish, &result, error);
    if (!done) {
        cli_say(COMMAND, "%s: %s", options->file, error);
    }
    bool is_written = !options->wish.timeline || sim_timeline_close(options->wish.timeline);
    if (!is_written) {
        cli_say(COMMAND, "%s could not be written to its end", options->timeline);
    }
    if (!done) {
        return CLI_FAULT;
    }
    if (is_written && options->json) {
        print_json(options, &result);
    } else if (is_written) {
        print_table(options, &result);
    }
    free(result.end_ps);
    return is_written ? CLI_OK : CLI_FAULT;
}

int cli_sim_goal(int argc, char **argv)
{
    struct options options = {
        .wish = {.topology = SIM_TOPOLOGIES,
                 .push_bytes = GOAL_PUSH_USUAL,
                 .limit_ps = LIMIT_USUAL_NS * PS_PER_NS},
        .machine = "dimmnet1-D",
        .to_ps = UINT64_MAX,
    };
    struct options_group groups[] = {{.rows = rows, .target = &options}};
    struct sim_machine machine;
    struct goal goal;
    char error[SIM_ERROR_BYTES];
    int status;
    _Static_assert((int)GOAL_ERROR_BYTES <= (int)SIM_ERROR_BYTES, "one line holds either error");
    if (!options_read(&command, groups, 1, argc, argv, &status)) {
        return status;
    }
    if (!options.file) {
        return cli_refuse(COMMAND, "no schedule given; see " COMMAND " --help");
    }
    if (options.to_ps <= options.from_ps) {
        return cli_refuse(COMMAND, "--to is not behind --from");
    }
    if (!sim_machine_load(&machine, options.machine, error)) {
        return cli_refuse(COMMAND, "%s", error);
    }
    if (!goal_read(options.file, &goal, error)) {
        sim_machine_free(&machine);
        return cli_refuse(COMMAND, "%s", error);
    }
    options.wish.machine = &machine;
    options.wish.goal = &goal;
    status = replay(&options);
    goal_close(&goal);
    sim_machine_free(&machine);
    return status;
}
