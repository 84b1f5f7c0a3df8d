/* Paper 000's tree of groups of eight: one read of 8 bytes covers 8 nodes. The nodes n, n + 1
 * ... n + 7 form a group of level 1 whose parent is n, a multiple of 8; the parents n, n + 8
 * ... n + 56 form a group of level 2, and so on. Node 0 is the home node. */
#ifndef SIM_STUDIES_TREE_H
#define SIM_STUDIES_TREE_H

#include "base/base.h"

enum { SIM_TREE_ARITY = 8 };

/* The fewest levels that join all nodes: the logarithm to base 8, rounded up. */
uint32_t sim_tree_levels(uint32_t node_count);

/* At how many levels the node is a parent, even of nobody. */
uint32_t sim_tree_parent_levels(uint32_t node_count, uint32_t node);

/* How many children the parent has in its group of that level (1 and up): 0 .. 7. Their places
 * are 1 and up. */
uint32_t sim_tree_children(uint32_t node_count, uint32_t parent, uint32_t level);
uint32_t sim_tree_child(uint32_t parent, uint32_t level, uint32_t place);

/* The parent of a node other than 0, and the node's place there, in the group of level
 * sim_tree_parent_levels + 1. */
uint32_t sim_tree_parent(uint32_t node);
uint32_t sim_tree_place(uint32_t node);

#endif
