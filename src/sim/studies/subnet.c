/* Paper 003's two ways to join boards, never compared there: its ring of router boards, and
 * bridges to switches of 8 ports: one, or a tree with half of the ports up or with a quarter.
 * Each board has the same port to its NIC, SW2(B), and sends packets of 256 bytes to all others
 * alike. */
#include <inttypes.h>
#include <stdio.h>

#include "sim/model/network_flit.h"
#include "sim/ring/measure.h"
#include "sim/studies/bridged.h"
#include "sim/studies/parts.h"
#include "wire/line.h"

enum {
    NODES,
    NETWORK,
    SWITCHES,
    CABLES,
    EMPTY_NS,
    QUARTER_NS,
    QUARTER_P99_NS,
    MOST_MB_PER_S,
    ALL_MB_PER_S,
    TIMEOUTS,
    COLUMNS,
};

static const struct sim_study_column columns[COLUMNS] = {
    [NODES] = {"nodes", 6, 0, "boards"},
    [NETWORK] = {"network", 9, -1, "routers in a ring, or switches of 8 ports"},
    [SWITCHES] = {"switches", 8, 0, "besides the boards, whose routers are their own"},
    [CABLES] = {"cables", 7, 0, "between boards and switches, and among them"},
    [EMPTY_NS] = {"empty_ns", 9, 0, "mean latency of 256 bytes when there is nothing else"},
    [QUARTER_NS] = {"quarter_ns", 10, 0, "mean latency at a quarter of what a port carries"},
    [QUARTER_P99_NS] = {"quarter_p99_ns", 14, 0, "what 99 of 100 packets do not exceed then"},
    [MOST_MB_PER_S] = {"most_mb_per_s", 13, 1, "of each board at saturation"},
    [ALL_MB_PER_S] = {"all_mb_per_s", 12, 1, "of all boards together"},
    [TIMEOUTS] = {"timeouts", 8, 0, "of bridges, at a quarter"},
};

enum { RING, SWITCH, THIN_TREE, FAT_TREE, WAYS };
static const char *const way_names[WAYS] = {"ring", "switch", "thin tree", "fat tree"};

enum {
    PACKET_BYTES = 256,
    PORT_MB_PER_S = 250, /* SW2(B): a line of 8 bytes in 32 ns */
    NODES_LEAST = 4,
    NODES_MOST = 64,
    SWITCH_PORTS = 8,
};

static unsigned list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    unsigned count = 0;
    for (uint32_t nodes = NODES_LEAST; nodes <= NODES_MOST && nodes <= choice->nodes_max;
         nodes *= 2) {
        for (unsigned way = 0; way < WAYS; way++) {
            bool is_one_switch = nodes <= SWITCH_PORTS;
            if (way == RING || is_one_switch == (way == SWITCH)) {
                points[count++] = (struct sim_study_point){.nodes = nodes, .variant = way};
            }
        }
    }
    return count;
}

static void set_most(struct sim_study_row *row, double mb_per_s, uint32_t nodes)
{
    sim_study_set_number(row, MOST_MB_PER_S, mb_per_s);
    sim_study_set_number(row, ALL_MB_PER_S, mb_per_s * nodes);
}

/* ---- The ring ----------------------------------------------------------------------------- */

/* A packet's flits also carry its header, as a line of its own. */
static void run_ring(const struct sim_study_choice *choice, uint32_t nodes,
                     struct sim_study_row *row)
{
    struct net_experiment experiment = {0};
    struct net_result quarter, most;
    struct net_config *network = &experiment.network;
    sim_ring_config(choice->machine, nodes, network);
    net_traffic_config_default(&experiment.traffic);
    net_measure_config_default(&experiment.measure, nodes);
    uint32_t whole_bytes = PACKET_BYTES + WIRE_LINE_DATA_BYTES;
    experiment.traffic.flits = (whole_bytes + network->flit_bytes - 1) / network->flit_bytes;
    double ns = 1e6 / (double)network->clock_khz;
    double mb_per_s = (double)PACKET_BYTES / experiment.traffic.flits / ns * 1e3; /* of rate 1 */
    double empty = 0;
    for (uint32_t target = 1; target < nodes; target++) {
        empty += (double)net_zero_load_cycles(network, 0, target, experiment.traffic.flits);
    }
    sim_study_set_text(row, NETWORK, way_names[RING]);
    sim_study_set_number(row, SWITCHES, 0);
    sim_study_set_number(row, CABLES, nodes);
    sim_study_set_number(row, EMPTY_NS, empty / (nodes - 1) * ns);
    if (!net_measure_saturation(&experiment, NULL, &most, row->error)) {
        return;
    }
    net_result_free(&most);
    if (!net_measure(&experiment, PORT_MB_PER_S / 4.0 / mb_per_s, NULL, &quarter, row->error)) {
        return;
    }
    net_result_free(&quarter);
    if (quarter.outcome != NET_SATURATED) {
        sim_study_set_number(row, QUARTER_NS, quarter.mean * ns);
        sim_study_set_number(row, QUARTER_P99_NS, (double)quarter.p99 * ns);
    }
    set_most(row, most.accepted * mb_per_s, nodes);
}

/* ---- Bridges ------------------------------------------------------------------------------ */

/* A cable carries what four NICs send, so that switches below may have six boards and two cables
 * up, each to one of up to three switches above: any two below have one of these in common. */
static void make_thin_tree(struct topology *topology, uint32_t boards)
{
    enum { AT_SWITCH = SWITCH_PORTS - 2, ABOVE_MOST = 3 };
    uint32_t below = (boards + AT_SWITCH - 1) / AT_SWITCH;
    uint32_t above = (2 * below + SWITCH_PORTS - 1) / SWITCH_PORTS;
    uint32_t used[ABOVE_MOST] = {0};
    char name[TOPOLOGY_NAME_BYTES];
    INVARIANT(above <= ABOVE_MOST);
    for (uint32_t i = 0; i < boards; i++) {
        (void)snprintf(name, sizeof name, "board-%" PRIu32, i);
        (void)topology_add(topology, TOPOLOGY_BOARD, 1, 4, topology_guid(TOPOLOGY_BOARD, i), name);
    }
    for (uint32_t i = 0; i < below + above; i++) {
        (void)snprintf(name, sizeof name, "switch-%" PRIu32, i);
        (void)topology_add(topology, TOPOLOGY_SWITCH, SWITCH_PORTS, 4,
                           topology_guid(TOPOLOGY_SWITCH, i), name);
    }
    for (uint32_t i = 0; i < boards; i++) {
        topology_join(topology, i, 1, boards + i % below, 1 + i / below);
    }
    for (uint32_t i = 0; i < 2 * below; i++) {
        uint32_t to = (i / 2 + i % 2) % above;
        topology_join(topology, boards + i / 2, AT_SWITCH + 1 + i % 2, boards + below + to,
                      ++used[to]);
    }
}

static bool open_bridges(struct bridged *bridged, unsigned way, uint32_t nodes,
                         struct sim_study_row *row)
{
    struct topology topology = {0};
    char shape[SIM_STUDY_TEXT_BYTES];
    if (way != THIN_TREE) {
        (void)snprintf(shape, sizeof shape, "fat-tree:%" PRIu32 ",ports=%d", nodes, SWITCH_PORTS);
        return bridged_open(bridged, shape, row->error);
    }
    make_thin_tree(&topology, nodes);
    bool is_open = bridged_open_topology(bridged, &topology, row->error);
    topology_free(&topology);
    return is_open;
}

static void run_bridges(unsigned way, uint32_t nodes, struct sim_study_row *row)
{
    struct bridged bridged;
    static struct load_result result;
    uint32_t ends = 0;
    if (!open_bridges(&bridged, way, nodes, row)) {
        return;
    }
    bridged.load.bytes = PACKET_BYTES;
    /* As many packets as of one switch's boards are enough. */
    if (nodes > SWITCH_PORTS) {
        bridged.load.window_ps = bridged.load.window_ps * SWITCH_PORTS / nodes;
    }
    const struct topology *topology = &bridged.subnet->topology;
    for (uint32_t i = 0; i < topology->port_count; i++) {
        ends += topology->ports[i].peer_node != TOPOLOGY_NONE;
    }
    sim_study_set_text(row, NETWORK, way_names[way]);
    sim_study_set_number(row, SWITCHES, topology->switch_count);
    sim_study_set_number(row, CABLES, ends / 2);
    sim_study_set_number(row, EMPTY_NS, bridged_empty_ns(&bridged, PACKET_BYTES));
    bridged_run(&bridged, PORT_MB_PER_S / 4.0, &result);
    if (result.outcome == LOAD_DONE) {
        sim_study_set_number(row, QUARTER_NS, result.mean_ns);
        sim_study_set_number(row, QUARTER_P99_NS, (double)result.p99_ns);
    }
    sim_study_set_number(row, TIMEOUTS, (double)result.bridge.timeouts);
    set_most(row, bridged_most(&bridged), nodes);
    bridged_close(&bridged);
}

static void run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                struct sim_study_row *row)
{
    sim_study_set_number(row, NODES, point->nodes);
    if (point->variant == RING) {
        run_ring(choice, point->nodes, row);
    } else {
        run_bridges(point->variant, point->nodes, row);
    }
}

const struct sim_study sim_study_subnet = {
    .name = "subnet",
    .text = "paper 003's ring of routers against its bridges to InfiniBand switches",
    .machine = "dimmnet1-sw2b",
    .columns = columns,
    .column_count = COLUMNS,
    .x = NODES,
    .series = {NETWORK},
    .series_count = 1,
    .y = {EMPTY_NS, QUARTER_NS, MOST_MB_PER_S, ALL_MB_PER_S},
    .y_count = 4,
    .list = list,
    .run = run,
};
