/* Teams where other nodes' memory is a mirror (fabric/fabric.h).
 *
 * Every member has the team's block in its own copy of the leader's memory. It writes its
 * words there, as everywhere, and reflects them to the others: first what it brings to the
 * phase, then its arrival, a single word. A node's reflections take effect at another one in
 * the order they were made, so who sees an arrival has what belongs to it. Data goes the same
 * way: it is pushed before the arrival and never fetched, so that a phase is one way, and
 * nobody has to read from a member that may be dead.
 *
 * A member that dies while it reflects has arrived for some and not for others. Before a
 * member takes a phase for broken it therefore asks all who live, and takes over what one of
 * them has of the dead member. What that member sent before its death reached their sockets
 * before their answers left, so that all come to the same end, unless the network delays a
 * packet for longer than it takes to announce a death and ask, or who knows dies as well. Who
 * leaves the team in peace leaves what it knows of those whose death has been announced; one
 * that leaves between a death and its announcement takes it away.
 * Data that differs from member to member cannot be taken over; a call that sends such data
 * has another phase behind, which then breaks for everybody.
 *
 * Nobody but a team's leader uses the block's memory again, when all members have let go;
 * before that each of them has waited until its reflections were in place. */
#ifndef TEAM_TEAM_BY_PACKETS_H
#define TEAM_TEAM_BY_PACKETS_H

#include "team/team.h"

static inline bool team_is_mirrored(const struct dn_team *team)
{
    return fabric_is_mirrored(&team->node->lane);
}

/* The lane of the library's own operations: open as long as the node is attached. */
static inline struct fabric_lane *team_lane(const struct dn_team *team)
{
    return &team->node->process->default_lane->lane;
}

/* Reflects a piece of the group's memory to one member, or to all others. A member that is
 * gone need not be told: the phase says what that means. */
void team_reflect_to(const struct dn_team *team, uint32_t index, const void *piece, uint64_t bytes);
void team_reflect(const struct dn_team *team, const void *piece, uint64_t bytes);

/* Gives one member, or all others, `bytes` from `source`, to be found at `place` of the group's
 * memory. They are there when that member sees this one's next arrival. The source must stay
 * until then, and the place is this member's to write. */
void team_hand_to(const struct dn_team *team, uint32_t index, void *place, const void *source,
                  uint64_t bytes);
void team_hand(const struct dn_team *team, void *place, const void *source, uint64_t bytes);

/* Tells all others of this member's arrival at its phase, after what it contributes. */
void team_mirror_arrival(const struct dn_team *team, bool contributes);

/* Notes that a member has come to this phase, unless it is known to have. */
void team_mirror_note(const struct dn_team *team, uint32_t index, uint32_t phase);

/* Asks those who live about arrivals at this phase that this member has not seen: of members
 * that are gone everybody, and with `living` the others themselves. */
void team_mirror_ask(const struct dn_team *team, bool living);

/* Before this member lets go of the team: what it has seen of dead members' arrivals it leaves
 * with those who live, who cannot ask it any more. */
void team_mirror_testify(const struct dn_team *team);

/* group_team_decide. The first member's copy decides; if it is gone, all copies in team order,
 * so that the last survivor's has the last word, for everybody the same one. */
bool team_mirror_decide(const struct dn_team *team, bool made);

/* The leader's block, zeros so far, as it has to be at all members before it is offered. */
void team_mirror_prepare(const struct dn_team *team, const void *block, uint64_t bytes);

#endif
