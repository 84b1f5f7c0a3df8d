/* The papers' two barriers over packets.
 *
 * Host-driven: a host tells what it stores at its parent and its children to them alone.
 * Run by the NICs: the packet services' barrier (nic/services.h), which the team opens when it
 * first agrees on that kind.
 *
 * The arrivals decide, as in every barrier, and a tree only carries the news; but here an
 * arrival is no news to anybody but the parent. A member that has passed notes that all have
 * arrived, so that others can ask it; and when a death cuts a tree, those who are left ask each
 * other. */
#include "team/team_by_packets.h"

#include <stdlib.h>

#include "team/staging.h"
#include "host/clock.h"
#include "nic/services.h"

#define ASK_AGAIN_NS UINT64_C(1000000)
#define CLOSE_AGAIN_NS UINT64_C(100000)

enum {
    TEAMS_OF_A_LEADER = 4096, /* numbers that each of the GROUP_NODES_MAX ranks may give */
    CLOSE_TRIES = 100,
};
_Static_assert(GROUP_NODES_MAX *TEAMS_OF_A_LEADER - 1 <= NIC_SERVICE_NUMBER_MAX,
               "a leader's numbers are its own");

/* A team's barrier in the services. It is not part of the handle, which may be used again while
 * the services still know an arrival that a death has cut off. */
struct team_packet_barrier {
    uint32_t number;
    struct nic_completion arrival;
};

/* ---- Run by the NICs --------------------------------------------------------------------- */

/* In a broken team nobody arrives any more, and an open arrival would keep the line taken. */
static int close_barrier(const struct dn_team *team)
{
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(team_lane(team), &now_ns);
    if (team->is_broken) {
        (void)nic_packet_barrier_break(services, now_ns, team->packets->number);
    }
    int error = nic_packet_barrier_close(services, now_ns, team->packets->number);
    fabric_services_give(team_lane(team));
    return error;
}

static int arrive_at_barrier(const struct dn_team *team)
{
    struct team_packet_barrier *barrier = team->packets;
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(team_lane(team), &now_ns);
    int error = nic_packet_barrier_arrive(services, now_ns, barrier->number, &barrier->arrival);
    fabric_services_give(team_lane(team));
    return error;
}

/* A number for a team that this node leads. */
static uint64_t next_number(const struct dn_team *team)
{
    static _Atomic uint32_t given;
    return (uint64_t)team->nic.view->rank * TEAMS_OF_A_LEADER +
           atomic_fetch_add(&given, 1) % TEAMS_OF_A_LEADER;
}

static int open_alone(struct dn_team *team, uint32_t number)
{
    uint32_t count = team->nic.count;
    struct team_packet_barrier *barrier = malloc(sizeof *barrier);
    uint16_t *members = malloc(count * sizeof *members);
    int error = barrier && members ? 0 : DN_ENOMEM;
    for (uint32_t index = 0; index < count && !error; index++) {
        members[index] = (uint16_t)team->nic.ranks[index];
    }
    if (!error) {
        uint64_t now_ns;
        struct nic_services *services = fabric_services_take(team_lane(team), &now_ns);
        error = nic_packet_barrier_open(services, now_ns, number, members, count);
        fabric_services_give(team_lane(team));
    }
    free(members);
    if (error) {
        free(barrier);
        return error;
    }
    *barrier = (struct team_packet_barrier){.number = number, .arrival.state = NIC_DONE};
    team->packets = barrier;
    return 0;
}

/* Nobody arrives any more. What the services cannot send stays there. */
void team_packet_barrier_close(struct dn_team *team)
{
    struct team_packet_barrier *barrier = team->packets;
    if (!barrier) {
        return;
    }
    uint64_t seen = 0;
    int error = close_barrier(team);
    for (int tries = 0; error == DN_EBUSY && tries < CLOSE_TRIES; tries++) {
        fabric_nap(team_lane(team), CLOSE_AGAIN_NS, &seen);
        error = close_barrier(team);
    }
    if (!error) {
        free(barrier);
    }
    team->packets = NULL;
}

/* With the turn held, on all members: makes the services' barrier ready under the leader's
 * number. DN_ENOMEM; DN_EFULL on all members when one of them has no line left for it. */
static int open_together(struct dn_team *team, uint64_t number)
{
    int own = team->packets ? 0 : open_alone(team, (uint32_t)number);
    int error = team_exchange(team, own != 0, team_digest(TEAM_KIND, DN_BARRIER_NIC, 1));
    for (uint32_t index = 0; index < team->nic.count && !error; index++) {
        error = team_operand_of(team, index) ? DN_EFULL : 0;
    }
    if (error) {
        team_packet_barrier_close(team);
    }
    return own == DN_ENOMEM ? own : error;
}

int team_packets_agree_on_kind(struct dn_team *team, enum dn_barrier_kind kind)
{
    bool by_nics = kind == DN_BARRIER_NIC;
    int error = team_exchange(team, by_nics ? next_number(team) : 0,
                              team_digest(TEAM_KIND, kind, 0));
    return error || !by_nics ? error : open_together(team, team_operand_of(team, 0));
}

/* Tells the neighbours in the NICs' tree that this arrival sets going, so that they can say so
 * if this member dies: the parent, or the root's children. */
static void tell_neighbours_of_arrival(const struct dn_team *team)
{
    const struct group_team *nic = &team->nic;
    const struct group_team_member *member = &nic->members[nic->index];
    uint32_t first = nic->index == 0 ? 1 : (nic->index - 1) / 2;
    uint32_t last = nic->index == 0 ? 2 : first;
    for (uint32_t index = first; index <= last && index < nic->count; index++) {
        team_tell(team, index, &member->arrived, sizeof member->arrived);
    }
}

void team_packets_nic_arrive(struct dn_team *team)
{
    tell_neighbours_of_arrival(team);
    if (arrive_at_barrier(team) != 0) {
        /* An arrival from before a death stands there for ever, so the others must be asked. */
        team->packets->arrival = (struct nic_completion){.state = NIC_DONE, .result = DN_EPEER};
    }
}

int team_packets_nic_passed(const struct dn_team *team)
{
    const struct nic_completion *arrival = &team->packets->arrival;
    return nic_completion_is_done(arrival) ? arrival->result : DN_EBUSY;
}

/* ---- Driven by the hosts ---------------------------------------------------------------- */

/* Sends on what the host has just stored in its own block's tree. */
void team_packets_tell_host_part(const struct dn_team *team, enum group_host_stage before)
{
    const struct group_team *nic = &team->nic;
    struct group_tree_node *nodes = team_tree(team);
    const struct group_team_member *member = &nic->members[nic->index];
    /* The arrival goes with the news, so that the parent, or the root's children, can tell it to
     * others if this member dies. */
    if (before == GROUP_HOST_GATHERING && nic->index != 0) {
        uint32_t parent = group_host_parent(nic);
        team_tell(team, parent, &member->arrived, sizeof member->arrived);
        team_tell(team, parent, group_host_byte_at_parent(nic, nodes), sizeof(uint8_t));
    }
    if (team->host_stage == GROUP_HOST_DONE) {
        uint32_t first;
        uint32_t children = group_host_children(nic, &first);
        for (uint32_t child = first; child < first + children; child++) {
            if (nic->index == 0) {
                team_tell(team, child, &member->arrived, sizeof member->arrived);
            }
            team_tell(team, child, &nodes[child].release, sizeof(uint8_t));
        }
    }
}

/* ---- Both ------------------------------------------------------------------------------- */

void team_packets_note_tree_passed(struct dn_team *team)
{
    team->tree_phase = team->phase;
    for (uint32_t index = 0; index < team->nic.count; index++) {
        team_packets_note(team, index, team->phase);
    }
}

int team_packets_pass_cut_tree(struct dn_team *team, uint64_t timeout_ns)
{
    uint64_t deadline_ns = host_deadline_ns(host_now_ns(), timeout_ns);
    for (;;) {
        team_packets_ask(team, true);
        uint64_t now_ns = host_now_ns();
        uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
        bool is_last = left_ns <= ASK_AGAIN_NS;
        int error = team_pass(team, is_last ? left_ns : ASK_AGAIN_NS);
        if (error != DN_ETIMEOUT || is_last) {
            return error;
        }
    }
}
