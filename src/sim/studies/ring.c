/* What paper 003 wanted to know about its ring of router boards and never measured: how large it
 * may be, how long a frame should be, and what multicast is worth. All is simulated flit by flit,
 * under uniform traffic; of the machine only its routers ([ring]) and its port to them ([port])
 * play a part. */
#include <stdio.h>

#include "sim/model/network_flit.h"
#include "sim/ring/bound.h"
#include "sim/ring/measure.h"
#include "sim/studies/parts.h"

static void start(struct net_experiment *experiment, const struct sim_machine *machine,
                  uint32_t nodes)
{
    *experiment = (struct net_experiment){0};
    sim_ring_config(machine, nodes, &experiment->network);
    net_traffic_config_default(&experiment->traffic);
    net_measure_config_default(&experiment->measure, nodes);
    experiment->measure.cycles = experiment->measure.cycles * 3 / 5; /* there are many points */
}

static double ns_of(const struct net_experiment *experiment, double cycles)
{
    return cycles * 1e6 / (double)experiment->network.clock_khz;
}

/* ---- The ring's size ------------------------------------------------------------------------- */

enum ring_column {
    RING_NODES,
    RING_EMPTY_NS,
    RING_HALF_NS,
    RING_HALF_P99_NS,
    RING_SATURATION,
    RING_BOUND,
    RING_OF_BOUND,
    RING_NODE_MB_PER_S,
    RING_ALL_MB_PER_S,
    RING_COLUMNS,
};

static const struct sim_study_column ring_columns[RING_COLUMNS] = {
    [RING_NODES] = {"nodes", 6, 0, "of the ring"},
    [RING_EMPTY_NS] = {"empty_ns", 10, 1, "mean latency of 96 bytes when there is nothing else"},
    [RING_HALF_NS] = {"half_ns", 10, 1, "mean latency at half of saturation"},
    [RING_HALF_P99_NS] = {"half_p99_ns", 11, 1, "what 99 of 100 packets do not exceed there"},
    [RING_SATURATION] = {"saturation", 10, 4, "flits per node and cycle"},
    [RING_BOUND] = {"bound", 8, 4, "derived in doc/ring.md"},
    [RING_OF_BOUND] = {"of_bound", 8, 4, "saturation over bound"},
    [RING_NODE_MB_PER_S] = {"node_mb_per_s", 13, 1, "of each node at saturation"},
    [RING_ALL_MB_PER_S] = {"all_mb_per_s", 12, 1, "of all nodes together"},
};

static unsigned list_rings(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    unsigned count = 0;
    for (uint32_t nodes = 4; nodes <= 256 && nodes <= choice->nodes_max; nodes *= 2) {
        points[count++] = (struct sim_study_point){.nodes = nodes};
    }
    return count;
}

static double empty_cycles(const struct net_experiment *experiment)
{
    double sum = 0;
    for (uint32_t target = 1; target < experiment->network.width; target++) {
        sum += (double)net_zero_load_cycles(&experiment->network, 0, target,
                                            experiment->traffic.flits);
    }
    return sum / (experiment->network.width - 1);
}

static void run_ring(const struct sim_study_choice *choice, const struct sim_study_point *point,
                     struct sim_study_row *row)
{
    struct net_experiment experiment;
    struct net_result saturation, half;
    struct net_bound bound;
    start(&experiment, choice->machine, point->nodes);
    sim_study_set_number(row, RING_NODES, point->nodes);
    if (!net_measure_saturation(&experiment, NULL, &saturation, row->error)) {
        return;
    }
    net_result_free(&saturation);
    if (!net_measure(&experiment, saturation.rate / 2, NULL, &half, row->error)) {
        return;
    }
    net_result_free(&half);
    sim_study_set_number(row, RING_EMPTY_NS, ns_of(&experiment, empty_cycles(&experiment)));
    sim_study_set_number(row, RING_HALF_NS, ns_of(&experiment, half.mean));
    sim_study_set_number(row, RING_HALF_P99_NS, ns_of(&experiment, (double)half.p99));
    sim_study_set_number(row, RING_SATURATION, saturation.accepted);
    double mb_per_s = saturation.accepted * experiment.network.flit_bytes *
                      (double)experiment.network.clock_khz / 1e3;
    sim_study_set_number(row, RING_NODE_MB_PER_S, mb_per_s);
    sim_study_set_number(row, RING_ALL_MB_PER_S, mb_per_s * point->nodes);
    if (net_bound_get(&experiment, &bound)) {
        sim_study_set_number(row, RING_BOUND, bound.rate);
        sim_study_set_number(row, RING_OF_BOUND, saturation.accepted / bound.rate);
    }
}

const struct sim_study sim_study_ring = {
    .name = "ring",
    .text = "paper 003's ring of routers: its size against latency and throughput",
    .machine = "dimmnet1-B",
    .columns = ring_columns,
    .column_count = RING_COLUMNS,
    .x = RING_NODES,
    .y = {RING_HALF_NS, RING_SATURATION, RING_NODE_MB_PER_S, RING_ALL_MB_PER_S},
    .y_count = 4,
    .list = list_rings,
    .run = run_ring,
};

/* ---- The frames' length ---------------------------------------------------------------------- */

enum frame_column {
    FRAME_NODES,
    FRAME_BIT_ERRORS,
    FRAME_FLITS,
    FRAME_MEAN_NS,
    FRAME_P99_NS,
    FRAME_ACCEPTED,
    FRAME_DAMAGED,
    FRAME_RESENT,
    FRAME_OUTCOME,
    FRAME_COLUMNS,
};

static const struct sim_study_column frame_columns[FRAME_COLUMNS] = {
    [FRAME_NODES] = {"nodes", 6, 0, "of the ring"},
    [FRAME_BIT_ERRORS] = {"bit_error_rate", 14, -1, "of each link"},
    [FRAME_FLITS] = {"frame_flits", 11, 0, "of a transfer with number and CRC, at most"},
    [FRAME_MEAN_NS] = {"mean_ns", 10, 1, "latency of 96 bytes at 0.2 flits per node and cycle"},
    [FRAME_P99_NS] = {"p99_ns", 10, 1, "what 99 of 100 packets do not exceed"},
    [FRAME_ACCEPTED] = {"accepted", 8, 4, "of those 0.2"},
    [FRAME_DAMAGED] = {"damaged", 8, 0, "frames"},
    [FRAME_RESENT] = {"resent", 8, 0, "frames, with those that followed the damaged ones"},
    [FRAME_OUTCOME] = {"outcome", 9, -1, "steady, unsteady or saturated"},
};

static const uint32_t frame_lengths[] = {1, 2, 4, 8, 16, 32, 64, 128};
static const double bit_error_rates[] = {1e-9, 1e-6, 1e-5, 1e-4};
enum {
    FRAME_LENGTHS = sizeof frame_lengths / sizeof frame_lengths[0],
    BIT_ERROR_RATES = sizeof bit_error_rates / sizeof bit_error_rates[0],
    FRAME_RING_NODES = 8,
};

static unsigned list_frames(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    unsigned count = 0;
    while (choice->nodes_max >= FRAME_RING_NODES && count < FRAME_LENGTHS * BIT_ERROR_RATES) {
        points[count] = (struct sim_study_point){.nodes = FRAME_RING_NODES, .variant = count};
        count++;
    }
    return count;
}

static void run_frames(const struct sim_study_choice *choice, const struct sim_study_point *point,
                       struct sim_study_row *row)
{
    struct net_experiment experiment;
    struct net_result result;
    char text[SIM_STUDY_TEXT_BYTES];
    start(&experiment, choice->machine, point->nodes);
    experiment.network.bit_error_rate = bit_error_rates[point->variant / FRAME_LENGTHS];
    experiment.network.frame_flits = frame_lengths[point->variant % FRAME_LENGTHS];
    /* Long enough for the longest frames, and the same for all. */
    experiment.network.resend_cycles = 1024;
    sim_study_set_number(row, FRAME_NODES, point->nodes);
    (void)snprintf(text, sizeof text, "%.0e", experiment.network.bit_error_rate);
    sim_study_set_text(row, FRAME_BIT_ERRORS, text);
    sim_study_set_number(row, FRAME_FLITS, experiment.network.frame_flits);
    if (!net_measure(&experiment, 0.2, NULL, &result, row->error)) {
        return;
    }
    net_result_free(&result);
    sim_study_set_text(row, FRAME_OUTCOME, net_outcome_names[result.outcome]);
    /* In saturation the wait only grows: there is no latency. */
    if (result.outcome != NET_SATURATED) {
        sim_study_set_number(row, FRAME_MEAN_NS, ns_of(&experiment, result.mean));
        sim_study_set_number(row, FRAME_P99_NS, ns_of(&experiment, (double)result.p99));
    }
    sim_study_set_number(row, FRAME_ACCEPTED, result.accepted);
    sim_study_set_number(row, FRAME_DAMAGED, (double)result.counters.frames_damaged);
    sim_study_set_number(row, FRAME_RESENT, (double)result.counters.frames_resent);
}

const struct sim_study sim_study_frames = {
    .name = "frames",
    .text = "the length of a ring's frames against latency and bit errors",
    .machine = "dimmnet1-B",
    .columns = frame_columns,
    .column_count = FRAME_COLUMNS,
    .x = FRAME_FLITS,
    .series = {FRAME_BIT_ERRORS},
    .series_count = 1,
    .y = {FRAME_MEAN_NS, FRAME_P99_NS},
    .y_count = 2,
    .list = list_frames,
    .run = run_frames,
};

/* ---- Multicast ------------------------------------------------------------------------------- */

enum multicast_column {
    MULTICAST_NODES,
    MULTICAST_MEMBERS,
    MULTICAST_BY,
    MULTICAST_MEAN_NS,
    MULTICAST_LAST_NS,
    MULTICAST_LINKS,
    MULTICAST_PER_MS,
    MULTICAST_COLUMNS,
};

static const struct sim_study_column multicast_columns[MULTICAST_COLUMNS] = {
    [MULTICAST_NODES] = {"nodes", 6, 0, "of the ring"},
    [MULTICAST_MEMBERS] = {"members", 8, 0, "of a group, evenly spread"},
    [MULTICAST_BY] = {"by", 8, -1, "the routers' tables, or a packet for each member"},
    [MULTICAST_MEAN_NS] = {"mean_ns", 10, 1, "until a member has it, on a ring with little else"},
    [MULTICAST_LAST_NS] = {"last_ns", 10, 1, "until the last one of the slowest thousandth has it"},
    [MULTICAST_LINKS] = {"links", 8, 1, "taken for a message, by all its packets together"},
    [MULTICAST_PER_MS] = {"per_ms", 9, 1, "messages of each node at saturation, in a millisecond"},
};

enum { MULTICAST_SIZES = 2 };
static const uint32_t multicast_nodes[MULTICAST_SIZES] = {16, 64};

static unsigned list_multicasts(const struct sim_study_choice *choice,
                                struct sim_study_point *points)
{
    unsigned count = 0;
    for (unsigned i = 0; i < MULTICAST_SIZES && multicast_nodes[i] <= choice->nodes_max; i++) {
        for (uint32_t members = 2; members <= multicast_nodes[i]; members *= 2) {
            for (unsigned by = 0; by < NET_MULTICASTS; by++) {
                points[count++] = (struct sim_study_point){
                    .nodes = multicast_nodes[i], .variant = members * NET_MULTICASTS + by};
            }
        }
    }
    return count;
}

static void run_multicast(const struct sim_study_choice *choice,
                          const struct sim_study_point *point, struct sim_study_row *row)
{
    struct net_experiment experiment;
    struct net_result quiet, saturation;
    start(&experiment, choice->machine, point->nodes);
    experiment.traffic.pattern = NET_MULTICAST;
    experiment.traffic.members = point->variant / NET_MULTICASTS;
    experiment.traffic.multicast = point->variant % NET_MULTICASTS;
    sim_study_set_number(row, MULTICAST_NODES, point->nodes);
    sim_study_set_number(row, MULTICAST_MEMBERS, experiment.traffic.members);
    sim_study_set_text(row, MULTICAST_BY, net_multicast_names[experiment.traffic.multicast]);
    if (!net_measure_saturation(&experiment, NULL, &saturation, row->error)) {
        return;
    }
    double flits_on_links = saturation.use_mean * saturation.link_count / point->nodes;
    net_result_free(&saturation);
    if (!net_measure(&experiment, saturation.rate / 50, NULL, &quiet, row->error)) {
        return;
    }
    net_result_free(&quiet);
    sim_study_set_number(row, MULTICAST_MEAN_NS, ns_of(&experiment, quiet.mean));
    sim_study_set_number(row, MULTICAST_LAST_NS, ns_of(&experiment, (double)quiet.p999));
    /* A message is offered once and delivered to each member. */
    double messages = saturation.rate * saturation.accepted / saturation.offered /
                      experiment.traffic.flits;
    sim_study_set_number(row, MULTICAST_LINKS,
                         flits_on_links / (messages * experiment.traffic.flits));
    sim_study_set_number(row, MULTICAST_PER_MS, messages * (double)experiment.network.clock_khz);
}

const struct sim_study sim_study_multicast = {
    .name = "multicast",
    .text = "a ring's multicast by tables against a packet for each member",
    .machine = "dimmnet1-B",
    .columns = multicast_columns,
    .column_count = MULTICAST_COLUMNS,
    .x = MULTICAST_MEMBERS,
    .series = {MULTICAST_BY, MULTICAST_NODES},
    .series_count = 2,
    .y = {MULTICAST_MEAN_NS, MULTICAST_LAST_NS, MULTICAST_PER_MS},
    .y_count = 3,
    .list = list_multicasts,
    .run = run_multicast,
};
