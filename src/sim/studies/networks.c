/* The ring that paper 003 wanted in place of a switch, and a torus of the same routers: how long
 * a store to the far side and back takes on each, and a barrier by the core processors. */
#include "sim/studies/parts.h"
#include "sim/trial/trial.h"

enum { ROUNDS = 20 };

enum column { NODES, NETWORK, ROUTERS, ROUND_TRIP_NS, BARRIER_NS, EVENTS, COLUMNS };

static const struct sim_study_column columns[COLUMNS] = {
    [NODES] = {"nodes", 6, 0, "on the network"},
    [NETWORK] = {"network", 12, -1, "switch or tree of switches, ring, torus"},
    [ROUTERS] = {"routers", 8, 0, "or switches between node 0 and the one half-way round"},
    [ROUND_TRIP_NS] = {"round_trip_ns", 14, 1, "8 bytes by AOTF between those two"},
    [BARRIER_NS] = {"barrier_ns", 12, 1, "of all, by the core processors"},
    [EVENTS] = {"events", 10, 0, "of the simulation"},
};

static const uint32_t node_counts[] = {2, 4, 8, 16, 32, 64, 128, 256, 1024};
enum { NODE_COUNTS = sizeof node_counts / sizeof node_counts[0] };

static enum sim_topology topology_of(const struct sim_study_choice *choice,
                                     const struct sim_study_point *point)
{
    if (point->variant == 0) {
        return point->nodes <= choice->machine->switch_ports ? SIM_ONE_SWITCH : choice->topology;
    }
    return point->variant == 1 ? SIM_RING : SIM_TORUS;
}

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    enum { VARIANTS = 3, TORUS = 2, TORUS_NODES_MIN = 4 };
    unsigned count = 0;
    for (unsigned i = 0; i < NODE_COUNTS && node_counts[i] <= choice->nodes_max; i++) {
        for (unsigned variant = 0; variant < VARIANTS; variant++) {
            if (variant != TORUS || node_counts[i] >= TORUS_NODES_MIN) {
                points[count++] = (struct sim_study_point){.nodes = node_counts[i],
                                                           .variant = variant};
            }
        }
    }
    return count;
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    struct sim_trial_wish wish = {
        .trial = "ping",
        .machine = choice->machine,
        .topology = topology_of(choice, point),
        .node_count = point->nodes,
        .rounds = ROUNDS,
        .limit_ps = SIM_STUDY_LIMIT_PS,
    };
    struct sim_trial_result ping;
    struct sim_trial_result barrier;
    sim_study_set_number(row, NODES, point->nodes);
    sim_study_set_text(row, NETWORK, sim_topology_names[wish.topology]);
    if (!sim_trial_run(&wish, &ping, row->error)) {
        return;
    }
    wish.trial = "barrier";
    if (!sim_trial_run(&wish, &barrier, row->error)) {
        return;
    }
    sim_study_set_number(row, ROUTERS, ping.hops);
    sim_study_set_number(row, ROUND_TRIP_NS, (double)ping.total_ps / (ROUNDS - 1) / 1e3);
    sim_study_set_number(row, BARRIER_NS, (double)barrier.total_ps / (ROUNDS - 1) / 1e3);
    sim_study_set_number(row, EVENTS, (double)(ping.counters.events + barrier.counters.events));
}

const struct sim_study sim_study_networks = {
    .name = "networks",
    .text = "a ring of routers against a switch: AOTF there and back, and a barrier",
    .machine = "dimmnet1-B",
    .columns = columns,
    .column_count = COLUMNS,
    .x = NODES,
    .series = {NETWORK},
    .series_count = 1,
    .y = {ROUND_TRIP_NS, BARRIER_NS},
    .y_count = 2,
    .list = list,
    .run = run,
};
