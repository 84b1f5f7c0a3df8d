/* The way of a team with members that are reached by packets, whose memory is mirrored here
 * (fabric/fabric.h).
 *
 * Every member has a block of the team's words in its own memory. A member writes its words
 * there and then into the blocks of the others: first what it brings to the phase, then its
 * arrival, a single word. What a node sends takes effect at another one in the order it was
 * sent, so a member that sees an arrival has what belongs to it. Data goes the same way: it is
 * pushed before the arrival and never fetched, so that a phase is one way, and nobody has to
 * read from a member that may be dead.
 *
 * Some members may be in place for each other. Each of them still has a block of its own: if they
 * shared one, the NICs of both would write there what a third member sends to each, and one of
 * them could see that member's arrival before its own data, or an old word after a new one. A
 * member in place is written to, and given data, by stores. That wakes nobody: in a group with
 * members away, whoever waits naps for a short time (fabric_nap) and looks again.
 *
 * A member that dies while it reflects has arrived for some and not for others. Before a
 * member takes a phase for broken it therefore asks all who live, and takes over what one of
 * them has of the dead member. A member that left the group in peace cannot be asked, but it has
 * passed the phase that it arrived at last, unless it said otherwise before it left. Then those
 * who doubt agree on the dead member's last phase (agree_on_last), so that all come to the same
 * end, whoever else dies or leaves meanwhile.
 *
 * A packet of the dead may come after the question, and a tree's news may lie in a block that its
 * host has not looked at. So whoever asks leaves a mark in each block before it reads there, and
 * whoever finds a mark when it is about to pass agrees with the others first (confirm). A member
 * that finds none passes, and whoever asks it later finds what it saw.
 *
 * Data that differs from member to member cannot be taken over, nor data that only members have
 * which are gone. A call that sends data of the first kind has another phase behind: at that one a
 * member arrives when its data is in place everywhere, so if it dies before, the phase breaks for
 * everybody.
 *
 * A member uses the memory of its block again once all members have let go. Before a member lets
 * go, it waits until what it sent is in place. */
#ifndef TEAM_TEAM_BY_PACKETS_H
#define TEAM_TEAM_BY_PACKETS_H

#include "team/way.h"

/* Writes words of this member's block into the same place of another member's block. A member
 * that is gone need not be told: the phase says what that means. */
void team_tell(const struct dn_team *team, uint32_t index, const void *words, uint64_t bytes);

/* Notes that a member has come to this phase, unless it is known to have. */
void team_packets_note(const struct dn_team *team, uint32_t index, uint32_t phase);

/* Asks about arrivals at this phase that this member has not seen: all who live about members
 * that are gone, and, with `living`, the living ones about themselves. */
void team_packets_ask(const struct dn_team *team, bool living);

/* ---- The papers' barriers (tree_by_packets.c) ------------------------------------------- */

/* Each is the function of that name in struct team_way. */
int team_packets_agree_on_kind(struct dn_team *team, enum dn_barrier_kind kind);
void team_packets_tell_host_part(const struct dn_team *team, enum group_host_stage before);
void team_packets_nic_arrive(struct dn_team *team);
int team_packets_nic_passed(const struct dn_team *team);
int team_packets_pass_cut_tree(struct dn_team *team, uint64_t timeout_ns);
void team_packets_note_tree_passed(struct dn_team *team);

/* Gives back what DN_BARRIER_NIC has in the packet services, if anything. */
void team_packet_barrier_close(struct dn_team *team);

#endif
