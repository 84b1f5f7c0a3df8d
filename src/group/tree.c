/* Carries arrivals up a tree, and the release down. */
#include "group/tree.h"

uint32_t group_host_children(const struct group_team *team, uint32_t *first)
{
    *first = team->index * GROUP_TREE_HOST_CHILDREN + 1;
    if (*first >= team->count) {
        return 0;
    }
    uint32_t rest = team->count - *first;
    return rest < GROUP_TREE_HOST_CHILDREN ? rest : GROUP_TREE_HOST_CHILDREN;
}

/* The same byte for each of the children, as one word. */
static uint64_t expected_word(uint32_t children, uint32_t phase, uint64_t *mask)
{
    *mask = children == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * children)) - 1;
    return UINT64_C(0x0101010101010101) * (uint8_t)phase & *mask;
}

static void tell_parent(const struct group_team *team, struct group_tree_node *nodes,
                        uint32_t phase)
{
    KILL_POINT("host barrier: children there, parent not told");
    /* Release: pairs with the acquire of the parent's word. */
    atomic_store_explicit(group_host_byte_at_parent(team, nodes), (uint8_t)phase,
                          memory_order_release);
    KILL_POINT("host barrier: parent told");
}

static void release_children(struct group_tree_node *nodes, uint32_t first, uint32_t children,
                             uint32_t phase)
{
    for (uint32_t child = first; child < first + children; child++) {
        atomic_store_explicit(&nodes[child].release, (uint8_t)phase, memory_order_release);
        KILL_POINT("host barrier: a child released");
    }
}

bool group_host_barrier_advance(const struct group_team *team, struct group_tree_node *nodes,
                                uint32_t phase, enum group_host_stage *stage)
{
    struct group_tree_node *own = &nodes[team->index];
    uint32_t first;
    uint32_t children = group_host_children(team, &first);
    uint64_t mask;
    uint64_t expected = expected_word(children, phase, &mask);
    switch (*stage) {
    case GROUP_HOST_GATHERING:
        if ((atomic_load_explicit(&own->children.all, memory_order_acquire) & mask) != expected) {
            return false;
        }
        if (team->index != 0) {
            tell_parent(team, nodes, phase);
        }
        *stage = GROUP_HOST_WAITING;
        __attribute__((fallthrough));
    case GROUP_HOST_WAITING:
        if (team->index != 0 &&
            atomic_load_explicit(&own->release, memory_order_acquire) != (uint8_t)phase) {
            return false;
        }
        release_children(nodes, first, children, phase);
        *stage = GROUP_HOST_DONE;
        return true;
    case GROUP_HOST_DONE: return true;
    }
    return true;
}

/* Adds a bit to a node of the binary tree for this phase, and gives the bits that it then has.
 * A word of another phase starts anew. */
static uint32_t add_bit(struct group_tree_node *node, uint32_t phase, uint32_t bit)
{
    uint64_t word = atomic_load_explicit(&node->gathered, memory_order_relaxed);
    uint64_t made;
    do {
        bool is_current = (uint32_t)(word >> 8) == phase;
        uint32_t bits = is_current ? (uint32_t)(word & 0xff) : 0;
        made = (uint64_t)phase << 8 | bits | bit;
        /* Acquire and release: whoever goes on sees the arrivals below. */
    } while (!atomic_compare_exchange_weak(&node->gathered, &word, made));
    return (uint32_t)(made & 0xff);
}

static uint32_t bits_wanted(const struct group_team *team, uint32_t index)
{
    uint32_t wanted = GROUP_TREE_OWN;
    wanted |= 2 * index + 1 < team->count ? GROUP_TREE_LEFT : 0;
    wanted |= 2 * index + 2 < team->count ? GROUP_TREE_RIGHT : 0;
    return wanted;
}

void group_tree_arrive(const struct group_team *team, struct group_tree_node *nodes, uint32_t phase)
{
    uint32_t index = team->index;
    uint32_t bit = GROUP_TREE_OWN;
    for (;;) {
        uint32_t bits = add_bit(&nodes[index], phase, bit);
        KILL_POINT("nic barrier: a bit set, parent not told");
        if (bits != bits_wanted(team, index)) {
            return;
        }
        if (index == 0) {
            atomic_store_explicit(&nodes[0].released, phase, memory_order_release);
            KILL_POINT("nic barrier: released");
            return;
        }
        bit = index % 2 == 1 ? GROUP_TREE_LEFT : GROUP_TREE_RIGHT;
        index = (index - 1) / 2;
    }
}
