/* The way of a team whose members all share memory: a store is seen by everybody, so nobody has
 * to be told, asked or given anything. */
#include "team/way.h"

static void tell_nobody(const struct dn_team *team, bool contributes)
{
    (void)team;
    (void)contributes;
}

static void do_nothing(struct dn_team *team)
{
    (void)team;
}

static void say_nothing(const struct dn_team *team)
{
    (void)team;
}

static bool is_sure(const struct dn_team *team)
{
    (void)team;
    return true;
}

static bool decide(const struct dn_team *team, bool made)
{
    return group_team_decide(&team->nic, made);
}

static void give(struct dn_team *team, uint32_t index, void *place, const void *source,
                 uint64_t bytes)
{
    (void)team;
    (void)index;
    team_copy(place, source, bytes);
}

static void give_all(struct dn_team *team, void *place, const void *source, uint64_t bytes)
{
    (void)team;
    team_copy(place, source, bytes);
}

static int agree_on_kind(struct dn_team *team, enum dn_barrier_kind kind)
{
    return team_exchange(team, 0, team_digest(TEAM_KIND, kind, 0));
}

static void tell_no_host_part(const struct dn_team *team, enum group_host_stage before)
{
    (void)team;
    (void)before;
}

static void nic_arrive(struct dn_team *team)
{
    group_tree_arrive(&team->nic, team_tree(team), team->phase);
}

static int nic_passed(const struct dn_team *team)
{
    return group_tree_passed(team_tree(team), team->phase) ? 0 : DN_EBUSY;
}

const struct team_way team_in_place = {
    .in_place = true,
    .tell_arrival = tell_nobody,
    .ask = do_nothing,
    .confirm = is_sure,
    .tell_revoked = say_nothing,
    .decide = decide,
    .leave = do_nothing,
    .tell_left = say_nothing,
    .give = give,
    .give_all = give_all,
    .settle_given = do_nothing,
    .agree_on_kind = agree_on_kind,
    .tell_host_part = tell_no_host_part,
    .nic_arrive = nic_arrive,
    .nic_passed = nic_passed,
    .pass_cut_tree = team_pass,
    .note_tree_passed = do_nothing,
};
