/* Laying out a tree of switches, and finding one's way in it. */
#include "sim/model/tree.h"

#include <stdio.h>

/* ---- Laying it out --------------------------------------------------------------------- */

void sim_tree_init(struct sim_tree *tree, uint32_t node_count)
{
    *tree = (struct sim_tree){.node_count = node_count, .output_count = node_count};
    tree->levels[0] = (struct sim_tree_level){.span = 1, .copies = 1};
}

static void lay_level(struct sim_tree *tree, uint32_t span, uint32_t copies, uint32_t ports)
{
    uint32_t switches = (tree->node_count + span - 1) / span * copies;
    tree->levels[++tree->level_count] = (struct sim_tree_level){span, copies, tree->switch_count,
                                                                ports, tree->output_count};
    tree->switch_count += switches;
    tree->output_count += (size_t)switches * ports;
}

void sim_tree_lay(struct sim_tree *tree, uint64_t switch_ports, bool is_fat)
{
    uint32_t span = 1;
    uint32_t copies = 1;
    tree->ports = switch_ports < tree->node_count ? (uint32_t)switch_ports : tree->node_count;
    tree->ups = is_fat ? tree->ports / 2 : 1;
    /* The highest switches have all their ports down, and may have more of them than there are
     * places below: in a fat tree of large switches far more. */
    while ((uint64_t)span * tree->ports < tree->node_count) {
        INVARIANT(tree->level_count < SIM_TREE_LEVELS_MAX - 1);
        span *= sim_tree_down_ports(tree);
        lay_level(tree, span, copies, tree->ports);
        copies *= tree->ups;
    }
    lay_level(tree, tree->node_count, copies, (tree->node_count + span - 1) / span);
}

/* ---- Ways ------------------------------------------------------------------------------ */

struct sim_tree_hop sim_tree_first_hop(const struct sim_tree *tree, uint32_t source)
{
    uint32_t span = tree->levels[1].span;
    return (struct sim_tree_hop){1, source / span, source % span};
}

struct sim_tree_hop sim_tree_hop_on(const struct sim_tree *tree, const struct sim_tree_hop *from,
                                    uint32_t port)
{
    uint32_t down_ports = sim_tree_down_ports(tree);
    uint32_t position = from->index / tree->levels[from->level].copies;
    if (from->level < tree->level_count && port >= down_ports) {
        uint32_t above = sim_tree_above(tree, from->level, from->index, port - down_ports);
        bool is_top = from->level + 1 == tree->level_count;
        return (struct sim_tree_hop){from->level + 1, above,
                                     is_top ? position : position % down_ports};
    }
    uint32_t below = sim_tree_below(tree, from->level, from->index, port);
    return (struct sim_tree_hop){from->level - 1, below, down_ports + from->index % tree->ups};
}

uint32_t sim_tree_level_of(const struct sim_tree *tree, uint32_t switch_number)
{
    uint32_t level = tree->level_count;
    while (tree->levels[level].switch_first > switch_number) {
        level--;
    }
    return level;
}

bool sim_tree_leads(const struct sim_tree *tree, uint32_t switch_number, uint32_t target,
                    uint32_t port)
{
    uint32_t level = sim_tree_level_of(tree, switch_number);
    uint32_t usual = sim_tree_port_to(tree, level, switch_number - tree->levels[level].switch_first,
                                      target);
    uint32_t down_ports = sim_tree_down_ports(tree);
    bool is_up = level < tree->level_count && usual >= down_ports;
    return port == usual || (is_up && port >= down_ports && port < tree->ports);
}

/* ---- For reports ----------------------------------------------------------------------- */

uint32_t sim_tree_hops(const struct sim_tree *tree, uint32_t source, uint32_t target)
{
    for (uint32_t level = 1; level <= tree->level_count; level++) {
        uint32_t span = tree->levels[level].span;
        if (source / span == target / span) {
            return 2 * level - 1;
        }
    }
    return 0;
}

static bool is_worse(const struct sim_tree_output *one, const struct sim_tree_output *other)
{
    if (one->waited != other->waited) {
        return one->waited > other->waited;
    }
    return one->packets > other->packets;
}

size_t sim_tree_worst(const struct sim_tree *tree, const struct sim_tree_output *outputs)
{
    size_t worst = 0;
    for (size_t i = 1; i < tree->output_count; i++) {
        if (is_worse(&outputs[i], &outputs[worst])) {
            worst = i;
        }
    }
    return worst;
}

void sim_tree_output_name(const struct sim_tree *tree, size_t output, char *text, size_t room)
{
    if (output < tree->node_count) {
        (void)snprintf(text, room, "node %zu, its link", output);
        return;
    }
    uint32_t level = tree->level_count;
    while (tree->levels[level].output_first > output) {
        level--;
    }
    const struct sim_tree_level *of = &tree->levels[level];
    uint32_t index = (uint32_t)((output - of->output_first) / of->ports);
    uint32_t port = (uint32_t)((output - of->output_first) % of->ports);
    uint32_t number = of->switch_first + index;
    uint32_t down_ports = sim_tree_down_ports(tree);
    if (level < tree->level_count && port >= down_ports) {
        (void)snprintf(text, room, "switch %u, port %u, up to switch %u", number, port,
                       of[1].switch_first + sim_tree_above(tree, level, index, port - down_ports));
    } else if (level > 1) {
        (void)snprintf(text, room, "switch %u, port %u, down to switch %u", number, port,
                       of[-1].switch_first + sim_tree_below(tree, level, index, port));
    } else {
        (void)snprintf(text, room, "switch %u, port %u, to node %u", number, port,
                       sim_tree_below(tree, level, index, port));
    }
}
