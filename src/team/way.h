/* A team's way: how its members reach each other.
 *
 * In place (team_in_place.c) every member reads and writes the others' memory where it lies.
 * By packets (team_by_packets.h) it tells them what it wrote, and gives them the data they need.
 * A team picks its way when it is made, and nothing else here asks for the road to a member.
 *
 * One member by packets is enough for the whole team to go by packets, where members in place are
 * still written to in place. All members pick the same way: who shares a host is an equivalence,
 * so if one member is away from another, every member is away from one of these two. */
#ifndef TEAM_WAY_H
#define TEAM_WAY_H

#include <string.h>

#include "team/team.h"

struct team_way {
    /* Members read and write each other's memory; else each of them must be given what it needs,
     * and a member that dies while it gives has given to some only. */
    bool in_place;

    /* Tells the others that this member has arrived at its phase, after what it contributes. */
    void (*tell_arrival)(const struct dn_team *team, bool contributes);
    /* A phase seems broken: asks those who live what they have seen of those who are gone. */
    void (*ask)(struct dn_team *team);
    /* All arrivals at the phase are here: whether it is passed. False: others have agreed meanwhile
     * that somebody who is gone had not arrived. */
    bool (*confirm)(const struct dn_team *team);
    /* Tells the others that this member has given the team up. */
    void (*tell_revoked)(const struct dn_team *team);
    /* group_team_decide. */
    bool (*decide)(const struct dn_team *team, bool made);
    /* This member is about to let go of the team, or its node to leave the group: nobody can ask
     * it afterwards. */
    void (*leave)(struct dn_team *team);
    /* Tells those who have a block that this member has let go, after all else that it sent. A
     * node that leaves the group need not: the others see its life. */
    void (*tell_left)(const struct dn_team *team);

    /* Gives another member, or all others, `bytes` from `source`, to be found at `place` in the
     * group's memory, which is this member's to write. They are there when the others see this
     * member's next arrival; until then the source must stay. This member itself finds there
     * what it gave to all, up to TEAM_SMALL_BYTES. Whoever gives elsewhere than in the small
     * buffers of staging memory arrives once more before its call ends. */
    void (*give)(struct dn_team *team, uint32_t index, void *place, const void *source,
                 uint64_t bytes);
    void (*give_all)(struct dn_team *team, void *place, const void *source, uint64_t bytes);
    /* Before an arrival: if data was given for the phase before, and none for this one, it is in
     * place when this returns. */
    void (*settle_given)(struct dn_team *team);

    /* ---- The papers' barriers (group/tree.h), after team_arrive_in_tree. */

    /* Agrees with all members on a kind, and makes ready what it needs: as team_barrier_kind. */
    int (*agree_on_kind)(struct dn_team *team, enum dn_barrier_kind kind);
    /* The host-driven one: this member's part has moved on from the stage `before`. */
    void (*tell_host_part)(const struct dn_team *team, enum group_host_stage before);
    /* The NICs' one: this member arrives; 0 when all have, DN_EBUSY while they may yet, another
     * error when the tree is cut. */
    void (*nic_arrive)(struct dn_team *team);
    int (*nic_passed)(const struct dn_team *team);
    /* A death may have cut the tree: passes without it, as team_pass. */
    int (*pass_cut_tree)(struct dn_team *team, uint64_t timeout_ns);
    /* The barrier was passed. */
    void (*note_tree_passed)(struct dn_team *team);
};

extern const struct team_way team_in_place;
extern const struct team_way team_by_packets;

/* The lane of the library's own operations: open as long as the node is attached. */
static inline struct fabric_lane *team_lane(const struct dn_team *team)
{
    return &team->node->process->default_lane->lane;
}

/* With the turn held: this member has passed the phase that it arrived at last. */
static inline void team_note_passed(struct dn_team *team)
{
    team->arrival_is_open = false;
    atomic_store_explicit(&team->passed, team->phase, memory_order_relaxed);
}

/* With the turn held: all have arrived, as far as this member knows. 0, or DN_EPEER. */
static inline int team_close_arrival(struct dn_team *team)
{
    if (UNLIKELY(!team->arrives_by_store) && !team->way->confirm(team)) {
        team->is_broken = true;
        return DN_EPEER;
    }
    team_note_passed(team);
    return 0;
}

/* Writes that this member has freed its handle. Release: pairs with the acquire in
 * group_team_is_over. */
static inline void team_note_left(const struct dn_team *team)
{
    atomic_store_explicit(&team->nic.members[team->nic.index].left,
                          team_has_passed(team) ? GROUP_TEAM_LEFT : GROUP_TEAM_LEFT_WAITING,
                          memory_order_release);
}

/* Copies bytes that may be none, and may stand there already. */
static inline void team_copy(void *to, const void *from, uint64_t bytes)
{
    if (bytes != 0 && to != from) {
        memmove(to, from, bytes);
    }
}

#endif
