/* Subnets for tests: brought up without a manager by the shortest ways, found by a search from
 * each address on its own, so that tests do not lean on the managers that they test. */
#ifndef TESTS_SUBNET_WORLD_H
#define TESTS_SUBNET_WORLD_H

#include <stdlib.h>

#include "sim/subnet/subnet.h"

/* LIDs from 1 on in the order of nodes: boards at port 1, switches at port 0. */
static inline uint16_t world_lid(uint32_t node)
{
    return (uint16_t)(node + 1);
}

static inline uint32_t world_port(const struct subnet *subnet, uint32_t node)
{
    return subnet_port_index(subnet, node, subnet_is_switch(subnet, node) ? 0 : 1);
}

/* Fills the tables for one address: of several shortest ways the one by the lowest port. */
static inline void world_route(struct subnet *subnet, uint32_t target)
{
    uint32_t *queue = calloc(subnet->node_count, sizeof *queue);
    uint32_t *distance = malloc(subnet->node_count * sizeof *distance);
    uint32_t head = 0;
    uint32_t tail = 0;
    for (uint32_t i = 0; i < subnet->node_count; i++) {
        distance[i] = UINT32_MAX;
    }
    distance[target] = 0;
    queue[tail++] = target;
    if (subnet_is_switch(subnet, target)) {
        subnet_linear_set(subnet, target, world_lid(target), 0);
    }
    while (head < tail) {
        uint32_t node = queue[head++];
        if (node != target && !subnet_is_switch(subnet, node)) {
            continue; /* boards pass nothing on */
        }
        for (uint32_t p = 1; p <= subnet->nodes[node].port_count; p++) {
            const struct subnet_port *port = &subnet->ports[subnet_port_index(subnet, node, p)];
            if (port->peer == SUBNET_NONE || port->is_cut) {
                continue;
            }
            uint32_t next = subnet->ports[port->peer].node;
            if (distance[next] == UINT32_MAX) {
                distance[next] = distance[node] + 1;
                queue[tail++] = next;
                if (subnet_is_switch(subnet, next)) {
                    subnet_linear_set(subnet, next, world_lid(target),
                                      subnet->ports[port->peer].number);
                }
            }
        }
    }
    free(queue);
    free(distance);
}

static inline void world_bring_up(struct subnet *subnet)
{
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (!subnet->nodes[node].is_dead) {
            (void)subnet_lid_set(subnet, world_port(subnet, node), world_lid(node), 0);
        }
    }
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        if (subnet->ports[i].state != SUBNET_DOWN) {
            subnet_state_set(subnet, i, SUBNET_ACTIVE);
        }
    }
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (subnet_is_switch(subnet, node)) {
            subnet->nodes[node].linear_top = world_lid(subnet->node_count - 1);
        }
    }
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (!subnet->nodes[node].is_dead) {
            world_route(subnet, node);
        }
    }
}

/* `switches` in a ring, each with `boards`; boards come first in number. */
static inline void world_ring(struct topology *topology, uint32_t switches, uint32_t boards,
                              uint8_t width)
{
    char name[TOPOLOGY_NAME_BYTES];
    for (uint32_t i = 0; i < switches * boards; i++) {
        (void)snprintf(name, sizeof name, "board-%u", i);
        (void)topology_add(topology, TOPOLOGY_BOARD, 1, width, 0x1000 + 16 * i, name);
    }
    for (uint32_t i = 0; i < switches; i++) {
        (void)snprintf(name, sizeof name, "switch-%u", i);
        uint32_t node = topology_add(topology, TOPOLOGY_SWITCH, boards + 2, width, 0x100000 + i,
                                     name);
        for (uint32_t b = 0; b < boards; b++) {
            topology_join(topology, i * boards + b, 1, node, b + 1);
        }
    }
    for (uint32_t i = 0; switches > 1 && i < switches - (switches == 2); i++) {
        topology_join(topology, switches * boards + i, boards + 1,
                      switches * boards + (i + 1) % switches, boards + 2);
    }
}

#endif
