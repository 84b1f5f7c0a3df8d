/* The shape of a tree of switches with the nodes as its leaves, and the ways through it.
 *
 * Level 0 is the nodes, level 1 the switches that they are plugged into. The highest switches have
 * all ports down. Below them, a switch's last port (in a fat tree the upper half of its ports)
 * leads up and the others lead down. Nodes are numbered from left to right, so that the nodes below
 * a switch are a range and every way follows from divisions.
 *
 * With several ports up there are copies of each place above the first level: a switch's ports up
 * lead to as many copies of the place above it, and a copy leads down to the one switch of each
 * place that leads up to it. A packet's target decides which port up it takes, so that all
 * packets to one node meet in one way down and keep their order.
 *
 * Ports count from 0. A tree without levels has no switch: a loop or a cable. */
#ifndef SIM_MODEL_TREE_H
#define SIM_MODEL_TREE_H

#include "base/base.h"

enum { SIM_TREE_LEVELS_MAX = 16 }; /* what 65,534 nodes need with three-port switches */

struct sim_tree_level {
    uint32_t span;         /* nodes below one of its places */
    uint32_t copies;       /* switches at each place */
    uint32_t switch_first; /* the number of its first switch */
    uint32_t ports;        /* of a switch: those in use */
    size_t output_first;   /* of its first switch; level 0: of the nodes */
};

struct sim_tree {
    uint32_t node_count;
    uint32_t ports; /* of a switch */
    uint32_t ups;   /* how many of them lead up, below the highest level */
    uint32_t level_count;
    uint32_t switch_count;
    struct sim_tree_level levels[SIM_TREE_LEVELS_MAX + 1];
    size_t output_count; /* of the nodes, then of the switches, port by port */
};

/* A tree of nodes alone. */
void sim_tree_init(struct sim_tree *tree, uint32_t node_count);
/* The fewest levels that join all nodes of such a tree. Ports beyond the number of nodes are left
 * out. */
void sim_tree_lay(struct sim_tree *tree, uint64_t switch_ports, bool is_fat);

/* An output of a node or a switch, for whoever carries packets over the tree. */
struct sim_tree_output {
    uint64_t free_ps; /* no head leaves before this */
    uint64_t packets;
    uint64_t waited; /* those whose heads had to wait */
    uint64_t wait_ps_max;
};

/* What an output has carried; kept apart from the output, since only reports need it. */
struct sim_tree_load {
    uint64_t bytes;
    uint64_t busy_ps;
};

/* ---- Ways ------------------------------------------------------------------------------ */

static inline uint32_t sim_tree_down_ports(const struct sim_tree *tree)
{
    return tree->ports - tree->ups;
}

/* The switch, among those of the level above, that a port up leads to. */
static inline uint32_t sim_tree_above(const struct sim_tree *tree, uint32_t level, uint32_t index,
                                      uint32_t up)
{
    uint32_t copies = tree->levels[level].copies;
    uint32_t position = level + 1 == tree->level_count ? 0
                                                       : index / copies / sim_tree_down_ports(tree);
    return position * tree->levels[level + 1].copies + index % copies * tree->ups + up;
}

/* The switch or node, among those of the level below, that a port down leads to. */
static inline uint32_t sim_tree_below(const struct sim_tree *tree, uint32_t level, uint32_t index,
                                      uint32_t port)
{
    uint32_t copies = tree->levels[level].copies;
    uint32_t position = index / copies * sim_tree_down_ports(tree) + port;
    return position * tree->levels[level - 1].copies + index % copies / tree->ups;
}

/* Chooses the port up by the target's digit of that level, so that neighbours part. */
static inline uint32_t sim_tree_port_up(const struct sim_tree *tree, uint32_t level,
                                        uint32_t target)
{
    return target / tree->levels[level - 1].span % tree->ups;
}

/* Whether a head at the input of a switch must go further up to have all those nodes below. */
static inline bool sim_tree_goes_up(const struct sim_tree *tree, uint32_t level, uint32_t index,
                                    uint32_t first, uint32_t last)
{
    uint32_t span = tree->levels[level].span;
    /* The product fits: a level's last member begins at a node. */
    uint32_t node_first = index / tree->levels[level].copies * span;
    return first < node_first || last - node_first >= span;
}

/* The first port down through which it goes. */
static inline uint32_t sim_tree_port_down(const struct sim_tree *tree, uint32_t level,
                                          uint32_t index, uint32_t first)
{
    const struct sim_tree_level *of = &tree->levels[level];
    uint32_t node_first = index / of->copies * of->span;
    uint32_t child_span = tree->levels[level - 1].span;
    return first > node_first ? (first - node_first) / child_span : 0;
}

/* The port of a switch through which a packet to that node goes. */
static inline uint32_t sim_tree_port_to(const struct sim_tree *tree, uint32_t level, uint32_t index,
                                        uint32_t target)
{
    return sim_tree_goes_up(tree, level, index, target, target)
               ? sim_tree_down_ports(tree) + sim_tree_port_up(tree, level, target)
               : sim_tree_port_down(tree, level, index, target);
}

/* A switch and the port on which a packet comes in; level 0: the index is a node. */
struct sim_tree_hop {
    uint32_t level, index, port_in;
};

struct sim_tree_hop sim_tree_first_hop(const struct sim_tree *tree, uint32_t source);
/* Where a packet comes that leaves the switch by that port. */
struct sim_tree_hop sim_tree_hop_on(const struct sim_tree *tree, const struct sim_tree_hop *from,
                                    uint32_t port);

/* The level of a switch, by its number among all switches. */
uint32_t sim_tree_level_of(const struct sim_tree *tree, uint32_t switch_number);

/* Whether packets to the target may leave the switch by that port: upwards all ports lead on,
 * downwards there is one way. */
bool sim_tree_leads(const struct sim_tree *tree, uint32_t switch_number, uint32_t target,
                    uint32_t port);

/* ---- For reports ----------------------------------------------------------------------- */

/* How many switches lie between the two nodes. */
uint32_t sim_tree_hops(const struct sim_tree *tree, uint32_t source, uint32_t target);

/* The output for which most packets have waited or, if there are several, that has carried most. */
size_t sim_tree_worst(const struct sim_tree *tree, const struct sim_tree_output *outputs);

/* "switch 3, port 7, up to switch 9" */
void sim_tree_output_name(const struct sim_tree *tree, size_t output, char *text, size_t room);

#endif
