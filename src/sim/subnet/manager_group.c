/* Multicast groups: one tree over all switches, and of it for each group what its members need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/manager_state.h"

struct mask {
    uint64_t words[SUBNET_MASK_WORDS];
};

static void mask_add(struct mask *mask, uint32_t port)
{
    mask->words[port / 64] |= UINT64_C(1) << port % 64;
}

/* For each switch the port, in the manager's ports, by which the root is nearer. */
static uint32_t *grow_tree(const struct manager *manager)
{
    uint32_t *upward = calloc(manager->switch_count, sizeof *upward);
    uint32_t *queue = calloc(manager->switch_count, sizeof *queue);
    bool *is_reached = calloc(manager->switch_count, sizeof *is_reached);
    INVARIANT(upward && queue && is_reached);
    memset(upward, 0xff, manager->switch_count * sizeof *upward);
    uint32_t queued = 1;
    queue[0] = manager->root;
    is_reached[manager->root] = true;
    for (uint32_t at = 0; at < queued; at++) {
        const struct manager_node *node = &manager->nodes[manager->switches[queue[at]]];
        for (uint32_t i = 1; i <= node->port_count; i++) {
            uint32_t peer = manager->ports[node->port_first + i].peer;
            const struct manager_node *other = peer == MANAGER_NONE
                                                   ? NULL
                                                   : &manager->nodes[manager->ports[peer].node];
            if (other && other->is_switch && !is_reached[other->number]) {
                is_reached[other->number] = true;
                upward[other->number] = peer;
                queue[queued++] = other->number;
            }
        }
    }
    free(queue);
    free(is_reached);
    return upward;
}

/* Adds a port to a group's tree: its own cable, and those to the root. What leads to the root and
 * nowhere else is cut off again below. */
static void add_member(const struct manager *manager, const uint32_t *upward, uint64_t guid,
                       struct mask *masks)
{
    for (uint32_t n = 0; n < manager->node_count; n++) {
        const struct manager_node *node = &manager->nodes[n];
        if (guid < node->guid || guid > node->guid + node->port_count) {
            continue;
        }
        uint32_t i = (uint32_t)(guid - node->guid);
        uint32_t at = node->number;
        if (node->is_switch && i == 0) {
            mask_add(&masks[at], 0);
        } else if (!node->is_switch && i > 0 &&
                   manager->ports[node->port_first + i].peer != MANAGER_NONE) {
            uint32_t peer = manager->ports[node->port_first + i].peer;
            const struct manager_node *beside = &manager->nodes[manager->ports[peer].node];
            if (!beside->is_switch) {
                continue;
            }
            at = beside->number;
            mask_add(&masks[at], peer - beside->port_first);
        } else {
            continue;
        }
        for (uint32_t up = upward[at]; up != MANAGER_NONE; up = upward[at]) {
            const struct manager_node *own = &manager->nodes[manager->ports[up].node];
            uint32_t peer = manager->ports[up].peer;
            const struct manager_node *higher = &manager->nodes[manager->ports[peer].node];
            mask_add(&masks[at], up - own->port_first);
            mask_add(&masks[higher->number], peer - higher->port_first);
            at = higher->number;
        }
    }
}

static uint32_t mask_count(const struct mask *mask)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SUBNET_MASK_WORDS; i++) {
        for (uint64_t left = mask->words[i]; left; left &= left - 1) {
            count++;
        }
    }
    return count;
}

static bool mask_has(const struct mask *mask, uint32_t port)
{
    return mask->words[port / 64] >> port % 64 & 1;
}

/* Cuts off the stem: while the root has one cable alone, and that leads to a switch, what is above
 * that switch is needed by nobody. */
static void cut_stem(const struct manager *manager, struct mask *masks)
{
    uint32_t at = manager->root;
    while (mask_count(&masks[at]) == 1) {
        const struct manager_node *node = &manager->nodes[manager->switches[at]];
        uint32_t out = 0;
        while (!mask_has(&masks[at], out)) {
            out++;
        }
        uint32_t peer = out ? manager->ports[node->port_first + out].peer : MANAGER_NONE;
        if (peer == MANAGER_NONE || !manager->nodes[manager->ports[peer].node].is_switch) {
            return;
        }
        const struct manager_node *below = &manager->nodes[manager->ports[peer].node];
        uint32_t back = peer - below->port_first;
        masks[at] = (struct mask){0};
        masks[below->number].words[back / 64] &= ~(UINT64_C(1) << back % 64);
        at = below->number;
    }
}

/* Writes 32 addresses of 16 ports of a switch, if they are not so already. */
static void write_block(struct manager *manager, const struct manager_node *node, uint32_t block,
                        uint32_t position, struct mask *const *by_address)
{
    uint16_t words[WIRE_IB_MULTICAST_BLOCK] = {0};
    unsigned char wanted[WIRE_MAD_DATA_BYTES];
    unsigned char data[WIRE_MAD_DATA_BYTES];
    uint32_t modifier = block | position << 28;
    uint32_t port = position * WIRE_IB_MULTICAST_PORTS;
    for (uint32_t i = 0; i < WIRE_IB_MULTICAST_BLOCK; i++) {
        const struct mask *masks = by_address[block * WIRE_IB_MULTICAST_BLOCK + i];
        words[i] = masks ? (uint16_t)(masks[node->number].words[port / 64] >> port % 64) : 0;
    }
    wire_ib_words_encode(words, wanted);
    if (manager_get(manager, node, WIRE_MAD_MULTICAST_TABLE, modifier, data) &&
        memcmp(data, wanted, sizeof data) == 0) {
        return;
    }
    (void)manager_set(manager, node, WIRE_MAD_MULTICAST_TABLE, modifier, wanted);
}

void manager_write_groups(struct manager *manager)
{
    if (manager->multicast_blocks == 0 || manager->switch_count == 0) {
        return;
    }
    uint32_t addresses = manager->multicast_blocks * WIRE_IB_MULTICAST_BLOCK;
    struct mask **by_address = calloc(addresses, sizeof *by_address);
    uint32_t *upward = grow_tree(manager);
    INVARIANT(by_address);
    for (uint32_t g = 0; g < manager->group_count; g++) {
        const struct manager_group *group = &manager->groups[g];
        struct mask *masks = calloc(manager->switch_count, sizeof *masks);
        INVARIANT(masks);
        by_address[group->mlid - SUBNET_MULTICAST_LID] = masks;
        for (uint32_t i = 0; i < group->count; i++) {
            add_member(manager, upward, group->guids[i], masks);
        }
        cut_stem(manager, masks);
    }
    for (uint32_t s = 0; s < manager->switch_count; s++) {
        const struct manager_node *node = &manager->nodes[manager->switches[s]];
        for (uint32_t block = 0; block < manager->multicast_blocks; block++) {
            for (uint32_t position = 0; position * WIRE_IB_MULTICAST_PORTS <= node->port_count;
                 position++) {
                write_block(manager, node, block, position, by_address);
            }
        }
    }
    for (uint32_t i = 0; i < addresses; i++) {
        free(by_address[i]);
    }
    free(by_address);
    free(upward);
}

/* How many multicast addresses all switches have room for. */
static uint32_t address_room(const struct manager *manager)
{
    uint32_t room = SUBNET_PERMISSIVE_LID - SUBNET_MULTICAST_LID;
    for (uint32_t s = 0; s < manager->switch_count; s++) {
        uint16_t here = manager->nodes[manager->switches[s]].info.multicast_cap;
        room = here < room ? here : room;
    }
    return room;
}

static void remove_group(struct manager *manager, uint16_t mlid)
{
    for (uint32_t i = 0; i < manager->group_count; i++) {
        if (manager->groups[i].mlid == mlid) {
            free(manager->groups[i].guids);
            manager->groups[i] = manager->groups[--manager->group_count];
            return;
        }
    }
}

bool manager_group_set(struct manager *manager, uint16_t mlid, const uint64_t *port_guids,
                       uint32_t count, char error[TOPOLOGY_ERROR_BYTES])
{
    uint32_t room = address_room(manager);
    if (mlid < SUBNET_MULTICAST_LID || mlid >= SUBNET_MULTICAST_LID + room) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES,
                       "multicast address 0x%x is not one of the %u that the switches have",
                       (unsigned)mlid, (unsigned)room);
        return false;
    }
    remove_group(manager, mlid);
    if (count > 0 && manager->group_count == MANAGER_GROUPS_MAX) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES, "there are %d groups already",
                       MANAGER_GROUPS_MAX);
        return false;
    }
    if (count > 0) {
        struct manager_group *group = &manager->groups[manager->group_count++];
        *group = (struct manager_group){.mlid = mlid, .count = count};
        group->guids = calloc(count, sizeof *group->guids);
        INVARIANT(group->guids);
        memcpy(group->guids, port_guids, count * sizeof *group->guids);
    }
    uint32_t block = (mlid - (uint32_t)SUBNET_MULTICAST_LID) / WIRE_IB_MULTICAST_BLOCK;
    if (block >= manager->multicast_blocks) {
        manager->multicast_blocks = block + 1;
    }
    struct manager_result result = {0};
    manager->result = &result;
    manager_write_groups(manager);
    manager->result = NULL;
    if (result.unanswered > 0) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES, "a switch did not take its multicast table");
        return false;
    }
    return true;
}
