/* The papers' two barriers, on a tree of a team's members.
 *
 * Host-driven (paper 000, section 5.3): an 8-ary tree. A child stores its one-byte phase
 * count into its byte of an 8-byte word at the parent, which reads all eight at once; the
 * root's release travels down the same way. Each host moves its own part on.
 *
 * Run by the NICs (paper 004): a binary tree. Whoever completes a node of the tree, by
 * its own arrival or a child's, goes on to the parent at once; the hosts only look at
 * the root's word. The root also waits for its own host, which the paper does not say.
 *
 * Both come after group_team_arrive, which decides who has arrived; the trees only carry the
 * news. A member that died after it arrived may leave news undelivered: the survivors then
 * read all arrivals instead (group_team_passed). */
#ifndef GROUP_TREE_H
#define GROUP_TREE_H

#include "group/team.h"

enum { GROUP_TREE_HOST_CHILDREN = 8 };

/* One line for each member. */
struct group_tree_node {
    alignas(CACHE_LINE_BYTES) union {
        _Atomic uint8_t byte[GROUP_TREE_HOST_CHILDREN]; /* by each child */
        _Atomic uint64_t all;                           /* read at once */
    } children;
    _Atomic uint64_t gathered; /* phase << 8 | bits below; by whoever runs the handler */
    _Atomic uint32_t released; /* phase; of the root only, by whoever completes it */
    _Atomic uint8_t release;   /* by the parent */
};

enum { GROUP_TREE_OWN = 1, GROUP_TREE_LEFT = 2, GROUP_TREE_RIGHT = 4 };

/* Where a host stands in its barrier. Private; starts as GATHERING. */
enum group_host_stage { GROUP_HOST_GATHERING, GROUP_HOST_WAITING, GROUP_HOST_DONE };

/* How many children a member has in the 8-ary tree, and the first one's index; its parent. */
uint32_t group_host_children(const struct group_team *team, uint32_t *first);
static inline uint32_t group_host_parent(const struct group_team *team)
{
    return (team->index - 1) / GROUP_TREE_HOST_CHILDREN;
}

/* The byte of the parent's word that this member stores to. */
static inline _Atomic uint8_t *group_host_byte_at_parent(const struct group_team *team,
                                                         struct group_tree_node *nodes)
{
    uint32_t byte = (team->index - 1) % GROUP_TREE_HOST_CHILDREN;
    return &nodes[group_host_parent(team)].children.byte[byte];
}

/* Moves this member's part on as far as it goes; true when it is done. It tells its parent when
 * it leaves GATHERING, and its children when it leaves WAITING. */
bool group_host_barrier_advance(const struct group_team *team, struct group_tree_node *nodes,
                                uint32_t phase, enum group_host_stage *stage);

/* The NICs' handler: this member has arrived. */
void group_tree_arrive(const struct group_team *team, struct group_tree_node *nodes,
                       uint32_t phase);

static inline bool group_tree_passed(const struct group_tree_node *nodes, uint32_t phase)
{
    /* Acquire: pairs with the release of whoever completed the root. */
    uint32_t released = atomic_load_explicit(&nodes[0].released, memory_order_acquire);
    return (int32_t)(released - phase) >= 0;
}

#endif
