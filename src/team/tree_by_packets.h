/* The papers' two barriers over packets.
 *
 * Host-driven: what a host stores at its parent and its children it reflects to them alone.
 * Run by the NICs: the packet services' barrier (nic/services.h), which the team opens when it
 * is first asked for.
 *
 * As everywhere the arrivals decide and a tree only carries the news; but here an arrival is
 * no news to anybody but the parent. A member that has passed notes that all have arrived, for
 * others to ask; and when a tree is cut by a death, those who are left ask each other. */
#ifndef TEAM_TREE_BY_PACKETS_H
#define TEAM_TREE_BY_PACKETS_H

#include "team/team_by_packets.h"

/* After team_arrive_in_tree: this member's part. */
void team_tree_mirror_arrive(struct dn_team *team);
/* Whether the barrier is passed; moves the host's part on. */
bool team_tree_mirror_passed(struct dn_team *team);
/* Whether the tree says that it never will be. */
bool team_tree_mirror_is_cut(const struct dn_team *team);
/* The barrier was passed by the tree. */
void team_tree_mirror_note(const struct dn_team *team);
/* The tree is cut: passes by asking, as team_pass. */
int team_tree_mirror_pass(struct dn_team *team, uint64_t timeout_ns);

/* A number for a team that this node leads; it is the operand of the phase in which the
 * members agree on DN_BARRIER_NIC. */
uint64_t team_packet_barrier_number(const struct dn_team *team);
/* With the turn held, all members alike: has the services' barrier ready under that number.
 * DN_ENOMEM; DN_EFULL on all members when one of them has no line left for it. */
int team_packet_barrier_open(struct dn_team *team, uint64_t number);

#endif
