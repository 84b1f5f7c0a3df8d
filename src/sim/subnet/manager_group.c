/* Multicast groups: one tree over all switches, and of it for each group what its members need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/manager_state.h"

static void mask_add(struct manager_mask *mask, uint32_t port)
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

/* The switch at which a port is, by its GUID, and the switch's own port there: the one that a cable
 * joins to it, or 0 if it is the switch itself. False: nobody at a switch has that GUID. */
static bool find_member(const struct manager *manager, uint64_t guid, uint32_t *at, uint32_t *port)
{
    for (uint32_t i = 0; i <= TOPOLOGY_PORTS_MAX; i++) {
        uint32_t number = manager_table_get(&manager->by_guid, guid - i);
        const struct manager_node *node = number == MANAGER_NONE ? NULL : &manager->nodes[number];
        if (node && node->is_switch && i == 0) {
            *at = node->number;
            *port = 0;
            return true;
        }
        if (!node || node->is_switch || i == 0 || i > node->port_count) {
            continue;
        }
        uint32_t peer = manager->ports[node->port_first + i].peer;
        const struct manager_node *beside = peer == MANAGER_NONE
                                                ? NULL
                                                : &manager->nodes[manager->ports[peer].node];
        if (beside && beside->is_switch) {
            *at = beside->number;
            *port = peer - beside->port_first;
            return true;
        }
    }
    return false;
}

/* Adds a port to a group's tree: its own cable, and those to the root. What leads to the root and
 * nowhere else is cut off again below. */
static void add_member(const struct manager *manager, const uint32_t *upward, uint64_t guid,
                       struct manager_mask *masks)
{
    uint32_t at;
    uint32_t port;
    if (!find_member(manager, guid, &at, &port)) {
        return;
    }
    mask_add(&masks[at], port);
    for (uint32_t up = upward[at]; up != MANAGER_NONE; up = upward[at]) {
        const struct manager_node *own = &manager->nodes[manager->ports[up].node];
        uint32_t peer = manager->ports[up].peer;
        const struct manager_node *higher = &manager->nodes[manager->ports[peer].node];
        mask_add(&masks[at], up - own->port_first);
        mask_add(&masks[higher->number], peer - higher->port_first);
        at = higher->number;
    }
}

static uint32_t mask_count(const struct manager_mask *mask)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SUBNET_MASK_WORDS; i++) {
        for (uint64_t left = mask->words[i]; left; left &= left - 1) {
            count++;
        }
    }
    return count;
}

static bool mask_has(const struct manager_mask *mask, uint32_t port)
{
    return mask->words[port / 64] >> port % 64 & 1;
}

/* Cuts off the stem: while the root has one cable alone, and that leads to a switch, what is above
 * that switch is needed by nobody. */
static void cut_stem(const struct manager *manager, struct manager_mask *masks)
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
        masks[at] = (struct manager_mask){0};
        masks[below->number].words[back / 64] &= ~(UINT64_C(1) << back % 64);
        at = below->number;
    }
}

/* Of all groups that have none yet. */
static void make_masks(struct manager *manager)
{
    uint32_t *upward = grow_tree(manager);
    for (uint32_t g = 0; g < manager->group_count; g++) {
        struct manager_group *group = &manager->groups[g];
        if (group->masks) {
            continue;
        }
        group->masks = calloc(manager->switch_count, sizeof *group->masks);
        INVARIANT(group->masks);
        for (uint32_t i = 0; i < group->count; i++) {
            add_member(manager, upward, group->guids[i], group->masks);
        }
        cut_stem(manager, group->masks);
    }
    free(upward);
}

/* Writes 32 addresses of 16 ports of a switch, if they are not so already. */
static void write_part(struct manager *manager, const struct manager_node *node, uint32_t block,
                       uint32_t position)
{
    uint16_t words[WIRE_IB_MULTICAST_BLOCK] = {0};
    unsigned char wanted[WIRE_MAD_DATA_BYTES];
    unsigned char data[WIRE_MAD_DATA_BYTES];
    uint32_t modifier = block | position << 28;
    uint32_t port = position * WIRE_IB_MULTICAST_PORTS;
    for (uint32_t g = 0; g < manager->group_count; g++) {
        const struct manager_group *group = &manager->groups[g];
        uint32_t address = group->mlid - (uint32_t)SUBNET_MULTICAST_LID;
        if (address / WIRE_IB_MULTICAST_BLOCK == block) {
            words[address % WIRE_IB_MULTICAST_BLOCK] =
                (uint16_t)(group->masks[node->number].words[port / 64] >> port % 64);
        }
    }
    wire_ib_words_encode(words, wanted);
    if (manager_get(manager, node, WIRE_MAD_MULTICAST_TABLE, modifier, data) &&
        memcmp(data, wanted, sizeof data) == 0) {
        return;
    }
    (void)manager_set(manager, node, WIRE_MAD_MULTICAST_TABLE, modifier, wanted);
}

/* The same of all ports of all switches. */
static void write_block(struct manager *manager, uint32_t block)
{
    for (uint32_t s = 0; s < manager->switch_count; s++) {
        const struct manager_node *node = &manager->nodes[manager->switches[s]];
        for (uint32_t position = 0; position * WIRE_IB_MULTICAST_PORTS <= node->port_count;
             position++) {
            write_part(manager, node, block, position);
        }
    }
}

void manager_write_groups(struct manager *manager)
{
    if (manager->multicast_blocks == 0 || manager->switch_count == 0) {
        return;
    }
    make_masks(manager);
    for (uint32_t block = 0; block < manager->multicast_blocks; block++) {
        write_block(manager, block);
    }
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
            free(manager->groups[i].masks);
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
    if (manager->switch_count > 0) {
        make_masks(manager);
    }
    uint32_t block = (mlid - (uint32_t)SUBNET_MULTICAST_LID) / WIRE_IB_MULTICAST_BLOCK;
    if (block >= manager->multicast_blocks) {
        manager->multicast_blocks = block + 1;
    }
    struct manager_result result = {0};
    manager->result = &result;
    write_block(manager, block);
    manager->result = NULL;
    if (result.unanswered > 0) {
        (void)snprintf(error, TOPOLOGY_ERROR_BYTES, "a switch did not take its multicast table");
        return false;
    }
    return true;
}
