/* The way of a team with members that are reached by packets, whose memory is mirrored here
 * (fabric/fabric.h).
 *
 * Every member has the team's block in its own copy of the leader's memory. It writes its
 * words there and reflects them to the others: first what it brings to the phase, then its
 * arrival, a single word. A node's reflections take effect at another one in the order they
 * were made, so a member that sees an arrival has what belongs to it. Data goes the same way:
 * it is pushed before the arrival and never fetched, so that a phase is one way, and nobody
 * has to read from a member that may be dead.
 *
 * Some members may be in place for each other. A member in place is given data where it looks
 * for them, and is woken like every member (team_wake_members), as it may sleep on its call
 * word. But two members in place with the leader share its copy of the block, into which both
 * their NICs write what a third member sends them: one of them may see an arrival before its
 * own data. No fabric has such groups yet; they need a team of two levels, in place within a
 * host and by packets between one member of each.
 *
 * A member that dies while it reflects has arrived for some and not for others. Before a
 * member takes a phase for broken it therefore asks all who live, and takes over what one of
 * them has of the dead member. What that member sent before its death reached their sockets
 * before their answers left, so that all come to the same end, unless the network delays a
 * packet for longer than it takes to announce a death and ask, or the one that knows dies as
 * well. A member that leaves the team in peace leaves what it knows of those whose death has
 * been announced; one that leaves between a death and its announcement takes it away.
 * Data that differs from member to member cannot be taken over; a call that sends such data
 * has another phase behind, which then breaks for everybody.
 *
 * Only the team's leader uses the block's memory again, once all members have let go. Before
 * it lets go, each of them waits until its reflections are in place. */
#ifndef TEAM_TEAM_BY_PACKETS_H
#define TEAM_TEAM_BY_PACKETS_H

#include "team/way.h"

/* Notes that a member has come to this phase, unless it is known to have. */
void team_packets_note(const struct dn_team *team, uint32_t index, uint32_t phase);

/* Asks about arrivals at this phase that this member has not seen: all who live about members
 * that are gone, and, with `living`, the living ones about themselves. */
void team_packets_ask(const struct dn_team *team, bool living);

/* ---- The papers' barriers (tree_by_packets.c) ------------------------------------------- */

/* Of struct team_way, each under its name there. */
int team_packets_agree_on_kind(struct dn_team *team, enum dn_barrier_kind kind);
void team_packets_tell_host_part(const struct dn_team *team, enum group_host_stage before);
void team_packets_nic_arrive(struct dn_team *team);
int team_packets_nic_passed(const struct dn_team *team);
int team_packets_pass_cut_tree(struct dn_team *team, uint64_t timeout_ns);
void team_packets_note_tree_passed(struct dn_team *team);

/* Gives back what DN_BARRIER_NIC has in the packet services, if anything. */
void team_packet_barrier_close(struct dn_team *team);

#endif
