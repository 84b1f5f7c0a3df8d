/* Nodes and their ports are two tables that grow; a node's ports lie side by side. */
#include "sim/subnet/topology.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void topology_free(struct topology *topology)
{
    free(topology->nodes);
    free(topology->ports);
    *topology = (struct topology){0};
}

static void *copy_of(const void *table, size_t count, size_t bytes)
{
    if (count == 0) {
        return NULL;
    }
    void *copy = malloc(count * bytes);
    INVARIANT(copy);
    return memcpy(copy, table, count * bytes);
}

void topology_copy(struct topology *topology, const struct topology *from)
{
    *topology = *from;
    topology->nodes = copy_of(from->nodes, from->node_count, sizeof *from->nodes);
    topology->ports = copy_of(from->ports, from->port_count, sizeof *from->ports);
    topology->node_room = from->node_count;
    topology->port_room = from->port_count;
}

/* Gives a table room for `more` rows behind its `count`. */
static void *grow(void *table, uint32_t count, uint32_t more, uint32_t *room, size_t bytes)
{
    if (*room - count >= more) {
        return table;
    }
    INVARIANT(count < UINT32_MAX / 4);
    *room = 2 * count + more + 16;
    table = realloc(table, *room * bytes);
    INVARIANT(table);
    return table;
}

uint32_t topology_add(struct topology *topology, enum topology_kind kind, uint32_t port_count,
                      uint8_t width, uint64_t guid, const char *name)
{
    INVARIANT(port_count <= TOPOLOGY_PORTS_MAX);
    INVARIANT(width == 1 || width == 4 || width == 12);
    topology->nodes = grow(topology->nodes, topology->node_count, 1, &topology->node_room,
                           sizeof *topology->nodes);
    topology->ports = grow(topology->ports, topology->port_count, port_count, &topology->port_room,
                           sizeof *topology->ports);
    struct topology_node *node = &topology->nodes[topology->node_count];
    *node = (struct topology_node){
        .kind = kind,
        .port_count = port_count,
        .port_first = topology->port_count,
        .guid = guid,
    };
    memcpy(node->name, name, strnlen(name, TOPOLOGY_NAME_BYTES - 1));
    for (uint32_t i = 0; i < port_count; i++) {
        topology->ports[topology->port_count++] = (struct topology_port){
            .peer_node = TOPOLOGY_NONE,
            .width = width,
        };
    }
    if (kind == TOPOLOGY_SWITCH) {
        topology->switch_count++;
    } else {
        topology->board_count++;
    }
    return topology->node_count++;
}

static bool has_port(const struct topology *topology, uint32_t node, uint32_t port)
{
    return node < topology->node_count && port >= 1 && port <= topology->nodes[node].port_count;
}

void topology_join(struct topology *topology, uint32_t node, uint32_t port, uint32_t peer_node,
                   uint32_t peer_port)
{
    INVARIANT(has_port(topology, node, port) && has_port(topology, peer_node, peer_port));
    struct topology_port *one = topology_port(topology, node, port);
    struct topology_port *other = topology_port(topology, peer_node, peer_port);
    INVARIANT(one != other && one->width == other->width);
    INVARIANT(one->peer_node == TOPOLOGY_NONE && other->peer_node == TOPOLOGY_NONE);
    one->peer_node = peer_node;
    one->peer_port = (uint8_t)peer_port;
    other->peer_node = node;
    other->peer_port = (uint8_t)port;
}

uint32_t topology_find(const struct topology *topology, const char *name)
{
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if (strcmp(topology->nodes[i].name, name) == 0) {
            return i;
        }
    }
    if (strncmp(name, "0x", 2) != 0 || !isxdigit((unsigned char)name[2])) {
        return TOPOLOGY_NONE;
    }
    char *end;
    uint64_t guid = strtoull(name, &end, 16);
    for (uint32_t i = 0; *end == '\0' && i < topology->node_count; i++) {
        if (topology->nodes[i].guid == guid) {
            return i;
        }
    }
    return TOPOLOGY_NONE;
}

/* ---- What is wrong ------------------------------------------------------------------------ */

/* The GUIDs of a node: its own and, of a board, its ports'. */
struct guids {
    uint64_t first, last;
    uint32_t node;
};

static int compare_guids(const void *left, const void *right)
{
    const struct guids *one = left;
    const struct guids *other = right;
    if (one->first != other->first) {
        return one->first < other->first ? -1 : 1;
    }
    return one->node < other->node ? -1 : one->node > other->node;
}

static const char *guid_objection(const struct topology *topology, uint32_t *node, char *text)
{
    struct guids *all = calloc(topology->node_count + 1, sizeof *all);
    INVARIANT(all);
    for (uint32_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *of = &topology->nodes[i];
        uint64_t ports = of->kind == TOPOLOGY_BOARD ? of->port_count : 0;
        uint64_t last = of->guid > UINT64_MAX - ports ? UINT64_MAX : of->guid + ports;
        all[i] = (struct guids){of->guid, last, i};
    }
    qsort(all, topology->node_count, sizeof *all, compare_guids);
    const char *objection = NULL;
    for (uint32_t i = 1; !objection && i < topology->node_count; i++) {
        const struct guids *before = &all[i - 1];
        /* In the order of their first GUIDs, overlaps begin with neighbours. */
        if (all[i].first <= before->last) {
            bool same = all[i].first == before->first;
            (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "%s: its GUID 0x%016" PRIx64 " is %s%s",
                           topology->nodes[all[i].node].name, all[i].first,
                           same ? "also that of " : "that of a port of ",
                           topology->nodes[before->node].name);
            *node = all[i].node;
            objection = text;
        }
    }
    free(all);
    return objection;
}

static const char *cable_objection(const struct topology *topology, uint32_t number, uint32_t port,
                                   char *text)
{
    const struct topology_node *node = &topology->nodes[number];
    const struct topology_port *of = topology_port(topology, number, port);
    if (of->peer_node == TOPOLOGY_NONE) {
        return NULL;
    }
    const struct topology_port *peer = has_port(topology, of->peer_node, of->peer_port)
                                           ? topology_port(topology, of->peer_node, of->peer_port)
                                           : NULL;
    const char *fault = NULL;
    if (!peer || peer->peer_node != number || peer->peer_port != port) {
        fault = "its cable has one end only";
    } else if (peer == of) {
        fault = "its cable leads back to itself";
    } else if (peer->width != of->width) {
        fault = "the other end of its cable has another width";
    }
    if (!fault) {
        return NULL;
    }
    (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "%s, port %" PRIu32 ": %s", node->name, port, fault);
    return text;
}

static const char *node_objection(const struct topology *topology, uint32_t number, char *text)
{
    const struct topology_node *node = &topology->nodes[number];
    const char *fault = NULL;
    if (node->guid == 0) {
        fault = "its GUID is 0";
    } else if (node->kind == TOPOLOGY_BOARD && node->guid > UINT64_MAX - node->port_count) {
        fault = "its ports' GUIDs do not fit into 64 bits";
    } else if (node->port_count == 0) {
        fault = "it has no port";
    }
    if (fault) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "%s: %s", node->name, fault);
        return text;
    }
    const char *objection = NULL;
    for (uint32_t port = 1; !objection && port <= node->port_count; port++) {
        objection = cable_objection(topology, number, port, text);
    }
    return objection;
}

const char *topology_objection_at(const struct topology *topology, uint32_t *node,
                                  char text[TOPOLOGY_ERROR_BYTES])
{
    if (topology->node_count > TOPOLOGY_NODES_MAX) {
        *node = TOPOLOGY_NODES_MAX;
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "%s: %d nodes are the most",
                       topology->nodes[*node].name, TOPOLOGY_NODES_MAX);
        return text;
    }
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if (node_objection(topology, i, text)) {
            *node = i;
            return text;
        }
    }
    return guid_objection(topology, node, text);
}

const char *topology_objection(const struct topology *topology, char text[TOPOLOGY_ERROR_BYTES])
{
    uint32_t node;
    return topology_objection_at(topology, &node, text);
}

/* ---- Parts -------------------------------------------------------------------------------- */

/* Marks all nodes that can be reached from `first`; the queue has room for every node. */
static void mark_part(const struct topology *topology, uint32_t first, bool *marked,
                      uint32_t *queue)
{
    uint32_t head = 0;
    uint32_t tail = 0;
    queue[tail++] = first;
    marked[first] = true;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint32_t port = 1; port <= topology->nodes[node].port_count; port++) {
            uint32_t peer = topology_port(topology, node, port)->peer_node;
            if (peer != TOPOLOGY_NONE && !marked[peer]) {
                marked[peer] = true;
                queue[tail++] = peer;
            }
        }
    }
}

uint32_t topology_parts(const struct topology *topology)
{
    bool *marked = calloc(topology->node_count + 1, sizeof *marked);
    uint32_t *queue = calloc(topology->node_count + 1, sizeof *queue);
    INVARIANT(marked && queue);
    uint32_t parts = 0;
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if (!marked[i]) {
            mark_part(topology, i, marked, queue);
            parts++;
        }
    }
    free(marked);
    free(queue);
    return parts;
}
