/* A node's number in base 8 tells its place in the tree. */
#include "sim/studies/tree.h"

uint32_t sim_tree_levels(uint32_t node_count)
{
    uint32_t levels = 0;
    for (uint64_t reach = 1; reach < node_count; reach *= SIM_TREE_ARITY) {
        levels++;
    }
    return levels;
}

/* The distance between neighbours in a group of that level. */
static uint32_t stride(uint32_t level)
{
    uint32_t nodes = 1;
    while (--level > 0) {
        nodes *= SIM_TREE_ARITY;
    }
    return nodes;
}

/* The same for the group in which the node is a child. */
static uint32_t child_stride(uint32_t node)
{
    uint32_t nodes = 1;
    INVARIANT(node != 0);
    while (node / nodes % SIM_TREE_ARITY == 0) {
        nodes *= SIM_TREE_ARITY;
    }
    return nodes;
}

uint32_t sim_tree_parent_levels(uint32_t node_count, uint32_t node)
{
    uint32_t all = sim_tree_levels(node_count);
    uint32_t levels = 0;
    while (levels < all && node % SIM_TREE_ARITY == 0) {
        node /= SIM_TREE_ARITY;
        levels++;
    }
    return levels;
}

uint32_t sim_tree_children(uint32_t node_count, uint32_t parent, uint32_t level)
{
    uint32_t behind = (node_count - 1 - parent) / stride(level);
    return behind < SIM_TREE_ARITY - 1 ? behind : SIM_TREE_ARITY - 1;
}

uint32_t sim_tree_child(uint32_t parent, uint32_t level, uint32_t place)
{
    return parent + place * stride(level);
}

uint32_t sim_tree_place(uint32_t node)
{
    return node / child_stride(node) % SIM_TREE_ARITY;
}

uint32_t sim_tree_parent(uint32_t node)
{
    return node - sim_tree_place(node) * child_stride(node);
}
