/* A barrier is a phase with nothing in it or, on request, one of the papers' trees. */
#include "team/barrier.h"

#include "team/way.h"

/* ---- Trees -------------------------------------------------------------------- */

/* Whether the barrier is passed; moves this host's part on. */
static bool tree_passed(void *context)
{
    struct dn_team *team = context;
    if (team->kind == DN_BARRIER_NIC) {
        return team->way->nic_passed(team) == 0;
    }
    enum group_host_stage before = team->host_stage;
    bool passed = group_host_barrier_advance(&team->nic, team_tree(team), team->host_phase,
                                             &team->host_stage);
    if (team->host_stage != before) {
        team->way->tell_host_part(team, before);
    }
    return passed;
}

/* When somebody is gone the tree may be cut, and the arrivals themselves decide. So may it be when
 * somebody has given the team up, who no longer moves its part on. */
static bool tree_is_hopeless(const struct dn_node *node, void *context, bool forever)
{
    struct dn_team *team = context;
    (void)node;
    (void)forever;
    int tree = team->kind == DN_BARRIER_NIC ? team->way->nic_passed(team) : 0;
    return group_team_lacks(&team->nic) || group_team_is_given_up(&team->nic) ||
           (tree && tree != DN_EBUSY);
}

static int tree_arrive(struct dn_team *team)
{
    /* A member that gave up takes its arrival back, but a tree has passed it on. */
    if (UNLIKELY(group_team_is_revoked(&team->nic, team->phase + 1))) {
        team_give_up(team);
        return DN_EPEER;
    }
    int error = team_arrive_in_tree(team);
    if (error) {
        return error;
    }
    team->arrival_is_tree = true;
    if (team->kind == DN_BARRIER_HOST) {
        team->host_stage = GROUP_HOST_GATHERING;
        team->host_phase++;
        (void)tree_passed(team);
    } else {
        team->way->nic_arrive(team);
    }
    team_wake_members(team);
    return 0;
}

static int tree_pass(struct dn_team *team, uint64_t timeout_ns)
{
    struct host_condition condition = {tree_passed, tree_is_hopeless, team, GROUP_WATCH_NOTHING};
    unsigned word = team->kind == DN_BARRIER_NIC ? FABRIC_TOLD : 0;
    int error = host_wait_word(team->node, &condition, word, timeout_ns);
    if (error == DN_EPEER) {
        error = team->way->pass_cut_tree(team, timeout_ns);
        if (!error) {
            team->way->note_tree_passed(team);
        }
    } else if (!error) {
        team->way->note_tree_passed(team);
        error = team_close_arrival(team);
        team_wake_members(team);
    }
    team->arrival_is_tree = team->arrival_is_open;
    return error;
}

/* ---- Barriers ------------------------------------------------------------------- */

static int arrive(struct dn_team *team)
{
    return LIKELY(team->kind == DN_BARRIER_FASTEST) ? team_arrive(team) : tree_arrive(team);
}

static int pass(struct dn_team *team, uint64_t timeout_ns)
{
    if (UNLIKELY(team->is_broken)) {
        return DN_EPEER;
    }
    return LIKELY(!team->arrival_is_tree) ? team_pass(team, timeout_ns)
                                          : tree_pass(team, timeout_ns);
}

int team_barrier_kind(struct dn_team *team, enum dn_barrier_kind kind)
{
    int error = team_turn_take_patiently(team);
    if (!error) {
        /* All members agree, and are between two barriers when the kind changes. */
        error = team->way->agree_on_kind(team, kind);
        team->kind = error ? team->kind : kind;
        team_turn_give(team);
    }
    return error;
}

int team_barrier(struct dn_team *team, uint64_t timeout_ns)
{
    int error = team_turn_take(team, &timeout_ns);
    if (error) {
        return error;
    }
    if (LIKELY(!team->arrival_is_open)) {
        error = arrive(team);
    }
    error = error ? error : pass(team, timeout_ns);
    team_turn_give(team);
    return error;
}

int team_barrier_arrive(struct dn_team *team)
{
    int error = team_turn_take_patiently(team);
    if (!error) {
        /* A barrier that a death broke stays open for ever. */
        error = !team->arrival_is_open ? arrive(team) : team_is_broken(team) ? DN_EPEER : DN_ESTATE;
        team_turn_give(team);
    }
    return error;
}

int team_barrier_wait(struct dn_team *team, uint64_t timeout_ns)
{
    int error = team_turn_take(team, &timeout_ns);
    if (!error) {
        error = team->arrival_is_open ? pass(team, timeout_ns) : DN_ESTATE;
        team_turn_give(team);
    }
    return error;
}

int team_barrier_test(struct dn_team *team, bool *passed)
{
    int error = team_barrier_wait(team, 0);
    *passed = error == 0;
    return error == DN_ETIMEOUT ? 0 : error;
}

int team_agree(struct dn_team *team, const struct team_call *call)
{
    int error = team_turn_take_patiently(team);
    if (!error) {
        error = team_check_closed(team);
        error = error ? error : team_exchange(team, 0, call->argument(team->node, call->context));
        error = error ? error : call->run(team->node, call->context);
        team_turn_give(team);
    }
    return error;
}
