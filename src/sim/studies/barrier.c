/* Barriers of up to 65,534 nodes: paper 000's, by the hosts in groups of eight; and the core
 * processors' binary tree, with its members either in the order of their numbers or ordered so
 * that neighbours in the tree are near each other in the network.
 *
 * The hosts' barrier (section 5.3): a child stores a one-byte phase count into its byte of an
 * 8-byte word in the parent's LLCM. The parent reads the word until all bytes that take part
 * have the phase, and ascends. Then the home node stores the phase to all nodes by one multicast,
 * or each parent to its children one by one; every node polls its own byte.
 *
 *     LLCM:  0      the released phase, one byte
 *            8 * l  the word of the group of level l; the child in place p has byte p */
#include "sim/studies/team.h"
#include "sim/studies/tree.h"

#define PHASE_BYTES UINT64_C(0x0101010101010101)

enum { TEAM = 1, PHASE_MASK = 0xff, WORD_BYTES = 8 };

static uint64_t phase_of(const struct sim_member *member)
{
    return (member->round + 1) & PHASE_MASK;
}

/* The bytes of the group's word that take part. */
static uint64_t mask_of(const struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    uint32_t children = sim_tree_children(member->team->node_count, host->node, member->level);
    uint64_t mask = 0;
    for (uint32_t place = 1; place <= children; place++) {
        mask |= (uint64_t)PHASE_MASK << 8 * place;
    }
    return mask;
}

static void poll_children(struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    uint64_t mask = mask_of(host);
    sim_poll(host, (uint64_t)WORD_BYTES * member->level, WORD_BYTES, mask,
             mask & PHASE_BYTES * phase_of(member));
}

static void store_to_parent(struct sim_host *host)
{
    const struct sim_member *member = host->locals;
    uint64_t offset = (uint64_t)WORD_BYTES * (member->parent_levels + 1) +
                      sim_tree_place(host->node);
    sim_store(host, member->team->up[host->node] + offset, phase_of(member), 1);
}

/* A parent's work between the read that brought the last phase and its next store: untwisting,
 * masking, comparing. */
static uint64_t parent_work_ps(const struct sim_machine *machine)
{
    return machine->software_pass + sim_machine_turn(machine) + machine->software_barrier +
           machine->software_leave_mmx;
}

static void meet_by_hosts(struct sim_host *host)
{
    struct sim_member *member = host->locals;
    struct sim_team *team = member->team;
    uint32_t child;
    SIM_BEGIN(host);
    sim_member_open_kicks(host);
    for (member->round = 0; member->round < team->round_count; member->round++) {
        SIM_STEP(host, sim_work(host, sim_member_pause_ps(host)));
        sim_member_begin(host);
        for (member->level = 1; member->level <= member->parent_levels; member->level++) {
            if (mask_of(host) != 0) {
                SIM_STEP(host, poll_children(host));
                SIM_STEP(host, sim_work(host, parent_work_ps(team->machine)));
            }
        }
        if (host->node != 0) {
            SIM_STEP(host, store_to_parent(host));
            SIM_STEP(host, sim_poll(host, 0, 1, PHASE_MASK, phase_of(member)));
            SIM_STEP(host, sim_work(host, sim_member_child_work_ps(member)));
        } else if (team->multicast) {
            SIM_STEP(host, sim_store_all(host, member->kick_all, phase_of(member), 1, 1,
                                         team->node_count - 1));
        }
        for (member->level = team->multicast ? 0 : member->parent_levels; member->level > 0;
             member->level--) {
            for (member->place = 1; member->place < SIM_TREE_ARITY; member->place++) {
                child = sim_tree_child(host->node, member->level, member->place);
                if (child < team->node_count) {
                    SIM_STEP(host, sim_store(host, team->down[child], phase_of(member), 1));
                }
            }
        }
        sim_member_leave(host);
    }
    SIM_END(host);
}

static void meet_by_nics(struct sim_host *host)
{
    struct sim_member *member = host->locals;
    struct sim_team *team = member->team;
    SIM_BEGIN(host);
    sim_barrier_open(host, TEAM, team->members, team->node_count,
                     team->members ? member->team_place : host->node);
    for (member->round = 0; member->round < team->round_count; member->round++) {
        SIM_STEP(host, sim_work(host, sim_member_pause_ps(host)));
        sim_member_begin(host);
        SIM_STEP(host, sim_nic_barrier(host, TEAM));
        SIM_STEP(host, sim_work(host, team->machine->software_pass));
        sim_member_leave(host);
    }
    SIM_END(host);
}

static const struct sim_team_variant variants[] = {
    {.name = "host", .program = meet_by_hosts},
    {.name = "host+multicast", .program = meet_by_hosts, .multicast = true},
    {.name = "nic", .program = meet_by_nics, .services = true, .is_binary = true},
    {.name = "nic+near",
     .program = meet_by_nics,
     .services = true,
     .is_binary = true,
     .is_near = true},
};

const struct sim_study sim_study_barrier = {
    .name = "barrier",
    .text = "barriers of 2 to 65,534 nodes: hosts in groups of eight, NICs in a binary tree",
    .machine = "dimmnet1-D",
    SIM_TEAM_STUDY,
    .variants = variants,
    .variant_count = sizeof variants / sizeof variants[0],
};
