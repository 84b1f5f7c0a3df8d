/* Running teams and reporting their rounds. */
#include "sim/studies/team.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "sim/model/clock.h"
#include "sim/studies/tree.h"
#include "wire/packet.h"

/* ---- Members ------------------------------------------------------------------------------ */

void sim_member_open_kicks(struct sim_host *host)
{
    struct sim_member *member = host->locals;
    struct sim_team *team = member->team;
    uint32_t node = host->node;
    if (node != 0) {
        team->up[node] = sim_kick(host, sim_tree_parent(node), 0);
    } else if (team->multicast) {
        member->kick_all = sim_kick(host, 1, 0);
    }
    for (uint32_t level = 1; level <= member->parent_levels && !team->multicast; level++) {
        uint32_t children = sim_tree_children(team->node_count, node, level);
        for (uint32_t place = 1; place <= children; place++) {
            uint32_t child = sim_tree_child(node, level, place);
            team->down[child] = sim_kick(host, child, 0);
        }
    }
}

uint64_t sim_member_pause_ps(const struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    struct base_random random = {(uint64_t)host->node << 32 | member->round};
    return base_random_below(&random, member->team->machine->host_read8 + 1);
}

/* Events come in the order of time, so the last to write began last. */
void sim_member_begin(const struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    struct sim_team_round *round = &member->team->rounds[member->round];
    round->begun++;
    round->begun_ps = host->now_ps;
}

void sim_member_leave(const struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    struct sim_team_round *round = &member->team->rounds[member->round];
    round->left_first_ps = round->left == 0 ? host->now_ps : round->left_first_ps;
    round->left++;
    round->left_last_ps = host->now_ps;
}

uint64_t sim_member_child_work_ps(const struct sim_member *member)
{
    const struct sim_machine *machine = member->team->machine;
    bool passes_on = member->parent_levels > 0 && !member->team->multicast;
    return machine->software_pass + (passes_on ? sim_machine_turn(machine) : 0);
}

/* ---- Running ------------------------------------------------------------------------------ */

/* The first round fills TLBs and is not counted. Many nodes need few rounds: they have many
 * phases in one. */
static uint32_t rounds_for(uint32_t node_count)
{
    enum { FEW_NODES = 512, SOME_NODES = 8192 };
    return node_count <= FEW_NODES ? SIM_TEAM_ROUNDS_MAX : node_count <= SOME_NODES ? 4 : 3;
}

/* The mean time from when the last node begins to when the last leaves. False: the error says
 * what the team did wrong. */
static bool judge(const struct sim_team *team, double *ns, char error[SIM_ERROR_BYTES])
{
    uint64_t sum_ps = 0;
    for (uint32_t i = 0; i < team->round_count; i++) {
        const struct sim_team_round *round = &team->rounds[i];
        INVARIANT(round->begun == team->node_count && round->left == team->node_count);
        if (round->left_first_ps < round->begun_ps) {
            (void)snprintf(error, SIM_ERROR_BYTES,
                           "round %u: a node left it at %.3f us, another came at %.3f us", i,
                           (double)round->left_first_ps / 1e6, (double)round->begun_ps / 1e6);
            return false;
        }
        sum_ps += i > 0 ? round->left_last_ps - round->begun_ps : 0;
    }
    if (team->wrong > 0) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%u results are wrong", team->wrong);
        return false;
    }
    *ns = (double)sum_ps / (double)(team->round_count - 1) / (double)SIM_PS_PER_NS;
    return true;
}

/* Numbers the binary tree's members (the i-th has children 2i + 1 and 2i + 2) so that those below
 * a member are the nodes that follow it: neighbours are mostly at one switch. */
static uint32_t stand_near(struct sim_team *team, struct sim_member *members, uint32_t place,
                           uint32_t next)
{
    if (place >= team->node_count) {
        return next;
    }
    team->members[place] = (uint16_t)next;
    members[next].team_place = place;
    next = stand_near(team, members, 2 * place + 1, next + 1);
    return stand_near(team, members, 2 * place + 2, next);
}

static bool run_world(struct sim_team *team, const struct sim_team_variant *variant,
                      enum sim_topology topology, struct sim_member *members,
                      struct sim_world_counters *counters, char error[SIM_ERROR_BYTES])
{
    const struct sim_world_config config = {
        .machine = team->machine,
        .node_count = team->node_count,
        .topology = topology,
        .services = variant->services,
    };
    struct sim_world *world = sim_world_open(&config, error);
    if (!world) {
        return false;
    }
    for (uint32_t node = 0; node < team->node_count; node++) {
        members[node].team = team;
        members[node].parent_levels = sim_tree_parent_levels(team->node_count, node);
        sim_world_start(world, node, 0, variant->program, &members[node], 0);
    }
    enum sim_end end = sim_world_run(world, SIM_STUDY_LIMIT_PS);
    if (end != SIM_END_DONE) {
        sim_world_why(world, end, error);
    }
    sim_world_counters(world, counters);
    sim_world_close(world);
    return end == SIM_END_DONE;
}

static bool measure(const struct sim_machine *machine, const struct sim_team_variant *variant,
                    enum sim_topology topology, uint32_t nodes, double *ns,
                    struct sim_world_counters *counters, char error[SIM_ERROR_BYTES])
{
    struct sim_team team = {
        .machine = machine,
        .node_count = nodes,
        .multicast = variant->multicast,
        .round_count = rounds_for(nodes),
        .up = calloc(nodes, sizeof *team.up),
        .down = calloc(nodes, sizeof *team.down),
    };
    struct sim_member *members = calloc(nodes, sizeof *members);
    INVARIANT(team.up && team.down && members);
    if (variant->is_near) {
        team.members = calloc(nodes, sizeof *team.members);
        INVARIANT(team.members);
        (void)stand_near(&team, members, 0, 0);
    }
    bool done = run_world(&team, variant, topology, members, counters, error) &&
                judge(&team, ns, error);
    free(members);
    free(team.members);
    free(team.down);
    free(team.up);
    return done;
}

/* ---- Points and rows ---------------------------------------------------------------------- */

enum column { NODES, KIND, NETWORK, NS, PREDICTED, RATIO, LEVELS, PACKETS, EVENTS };

const struct sim_study_column sim_team_columns[SIM_TEAM_COLUMNS] = {
    [NODES] = {"nodes", 6, 0, "that take part"},
    [KIND] = {"kind", 14, -1, "who sends; see dimmnet-sim(1)"},
    [NETWORK] = {"network", 8, -1, "one switch, or a tree of them"},
    [NS] = {"ns", 9, 1, "from when the last node comes to when the last one leaves"},
    [PREDICTED] = {"predicted_ns", 12, 1, "paper 000, 5.3: (T2 + k x 240 + transit) x log8 N"},
    [RATIO] = {"ratio", 6, 3, "simulated over predicted"},
    [LEVELS] = {"levels", 6, 0, "of the tree: in groups of eight, or binary"},
    [PACKETS] = {"packets", 8, 0, "in all rounds together"},
    [EVENTS] = {"events", 9, 0, "of the simulation"},
};

/* 2, 4, 8 ... and the most that an InfiniBand subnet has. */
static uint32_t next_size(uint32_t size)
{
    return size * 2 < WIRE_NODES_MAX ? size * 2 : WIRE_NODES_MAX;
}

/* A switch copies only packets that need no acknowledgement. */
static bool can_multicast(const struct sim_machine *machine)
{
    return machine->switch_multicast != 0 && machine->carrier_kind != SIM_CARRIER_CD;
}

unsigned sim_team_list(const struct sim_study_choice *choice, struct sim_study_point *points)
{
    const struct sim_team_variant *variants = choice->study->variants;
    unsigned count = 0;
    uint32_t last = 0;
    for (uint32_t size = 2; size <= choice->nodes_max && size != last; size = next_size(size)) {
        for (unsigned i = 0; i < choice->study->variant_count; i++) {
            if (!variants[i].multicast || can_multicast(choice->machine)) {
                INVARIANT(count < SIM_STUDY_POINTS_MAX);
                points[count++] = (struct sim_study_point){.nodes = size, .variant = i};
            }
        }
        last = size;
    }
    return count;
}

/* Paper 000, 5.3: the time of two nodes, 240 ns for each packet to one output, and a multicast's
 * way through the switch; for more than 8 nodes all that times the levels of the tree. */
static double predict_ns(const struct sim_machine *machine, uint32_t node_count,
                         double two_nodes_ns)
{
    uint32_t group = node_count < SIM_TREE_ARITY ? node_count : SIM_TREE_ARITY;
    uint64_t switch_ps = (group - 1) * machine->switch_next + machine->switch_transit;
    double group_ns = two_nodes_ns + (double)switch_ps / (double)SIM_PS_PER_NS;
    return group_ns * sim_tree_levels(node_count);
}

static uint32_t binary_levels(uint32_t node_count)
{
    uint32_t levels = 0;
    while (node_count >> levels > 1) {
        levels++;
    }
    return levels;
}

void sim_team_run(const struct sim_study_choice *choice, const struct sim_study_point *point,
                  struct sim_study_row *row)
{
    const struct sim_machine *machine = choice->machine;
    const struct sim_team_variant *variants = choice->study->variants;
    const struct sim_team_variant *variant = &variants[point->variant];
    struct sim_world_counters counters;
    double ns;
    sim_study_set_number(row, NODES, point->nodes);
    sim_study_set_text(row, KIND, variant->name);
    enum sim_topology topology = point->nodes <= machine->switch_ports ? SIM_ONE_SWITCH
                                                                       : choice->topology;
    sim_study_set_text(row, NETWORK, sim_topology_names[topology]);
    if (!measure(machine, variant, topology, point->nodes, &ns, &counters, row->error)) {
        return;
    }
    sim_study_set_number(row, NS, ns);
    sim_study_set_number(row, LEVELS,
                         variant->is_binary ? binary_levels(point->nodes)
                                            : sim_tree_levels(point->nodes));
    sim_study_set_number(row, PACKETS, (double)counters.packets);
    sim_study_set_number(row, EVENTS, (double)counters.events);
    double two_ns;
    if (variant->multicast &&
        measure(machine, &variants[0], SIM_BACK_TO_BACK, 2, &two_ns, &counters, row->error)) {
        double predicted_ns = predict_ns(machine, point->nodes, two_ns);
        sim_study_set_number(row, PREDICTED, predicted_ns);
        sim_study_set_number(row, RATIO, ns / predicted_ns);
    }
}
