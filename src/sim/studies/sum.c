/* Global sums of up to 65,534 nodes, by the hosts in groups of eight (paper 000, section 5.4):
 * like the barrier, but operands go up. A child stores its operand into its word of the parent's
 * LLCM; the parent reads each word until the operand of this round is there, adds it to its own,
 * and passes the sum on. The home node gets the result, which comes down as the barrier's phase
 * does.
 *
 * Operands are unsigned. A word holds the round's number and the operand, so that one store
 * brings both and one read finds both.
 *
 *     LLCM:  0               the result
 *            64 * l + 8 * p  the operand of the child in place p of the group of level l */
#include "sim/studies/team.h"
#include "sim/studies/tree.h"

#define PHASE_MASK UINT64_C(0xffffffff00000000)

enum { WORD_BYTES = 8, GROUP_BYTES = SIM_TREE_ARITY * WORD_BYTES };

static uint64_t phase_of(const struct sim_member *member)
{
    return (uint64_t)(member->round + 1) << 32;
}

static uint64_t word_of(const struct sim_member *member)
{
    return phase_of(member) | member->total;
}

static uint32_t operand_of(uint32_t node, uint32_t round)
{
    return node * UINT32_C(2654435761) + round;
}

static void poll_child(struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    uint64_t offset = (uint64_t)GROUP_BYTES * member->level + WORD_BYTES * member->place;
    sim_poll(host, offset, WORD_BYTES, PHASE_MASK, phase_of(member));
}

static void store_to_parent(struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    uint64_t offset = (uint64_t)GROUP_BYTES * (member->parent_levels + 1) +
                      WORD_BYTES * sim_tree_place(host->node);
    sim_store(host, member->team->up[host->node] + offset, word_of(member), WORD_BYTES);
}

/* The result that every node should get. */
static uint32_t add_operands(const struct sim_team *team, uint32_t round)
{
    uint32_t total = 0;
    for (uint32_t node = 0; node < team->node_count; node++) {
        total += operand_of(node, round);
    }
    return total;
}

static void leave(const struct sim_host *host)
{
    struct sim_member *member = host->locals;
    struct sim_team *team = member->team;
    team->wrong += member->total != team->results[member->round];
    sim_member_leave(host);
}

static void add_by_hosts(struct sim_host *host)
{
    struct sim_member *member = host->locals;
    struct sim_team *team = member->team;
    const struct sim_machine *machine = team->machine;
    uint32_t child;
    SIM_BEGIN(host);
    sim_member_open_kicks(host);
    for (member->round = 0; member->round < team->round_count; member->round++) {
        SIM_STEP(host, sim_work(host, sim_member_pause_ps(host)));
        sim_member_begin(host);
        member->total = operand_of(host->node, member->round);
        for (member->level = 1; member->level <= member->parent_levels; member->level++) {
            for (member->place = 1;
                 member->place <= sim_tree_children(team->node_count, host->node, member->level);
                 member->place++) {
                SIM_STEP(host, poll_child(host));
                member->total += (uint32_t)host->value;
                SIM_STEP(host, sim_work(host, machine->software_sum));
            }
            if (member->place > 1) {
                SIM_STEP(host, sim_work(host, machine->software_pass + sim_machine_turn(machine)));
            }
        }
        if (host->node == 0) {
            team->results[member->round] = add_operands(team, member->round);
        } else {
            SIM_STEP(host, store_to_parent(host));
            SIM_STEP(host, sim_poll(host, 0, WORD_BYTES, PHASE_MASK, phase_of(member)));
            member->total = (uint32_t)host->value;
            SIM_STEP(host, sim_work(host, sim_member_child_work_ps(member)));
        }
        if (host->node == 0 && team->multicast) {
            SIM_STEP(host, sim_store_all(host, member->kick_all, word_of(member), WORD_BYTES, 1,
                                         team->node_count - 1));
        }
        for (member->level = team->multicast ? 0 : member->parent_levels; member->level > 0;
             member->level--) {
            for (member->place = 1; member->place < SIM_TREE_ARITY; member->place++) {
                child = sim_tree_child(host->node, member->level, member->place);
                if (child < team->node_count) {
                    SIM_STEP(host, sim_store(host, team->down[child], word_of(member), WORD_BYTES));
                }
            }
        }
        leave(host);
    }
    SIM_END(host);
}

static const struct sim_team_variant variants[] = {
    {.name = "host", .program = add_by_hosts},
    {.name = "host+multicast", .program = add_by_hosts, .multicast = true},
};

const struct sim_study sim_study_sum = {
    .name = "sum",
    .text = "global sums of 2 to 65,534 nodes: hosts in groups of eight",
    .machine = "dimmnet1-D",
    SIM_TEAM_STUDY,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
};
