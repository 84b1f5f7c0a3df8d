/* What changes a subnet at work, and what people ask about it. */
#include "cli/sim/subnet_session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define COMMAND "dimmnet sim subnet"

bool subnet_session_changed(struct subnet_session *session)
{
    agent_changed(session->agent);
    if (session->manager) {
        struct manager_result result;
        char error[TOPOLOGY_ERROR_BYTES];
        if (!manager_sweep(session->manager, &result, error)) {
            cli_say(COMMAND, "%s", error);
            return false;
        }
    }
    return true;
}

/* The port by whose address a node is known: of a board the first that has one. */
static uint32_t port_with_address(const struct subnet *subnet, uint32_t node)
{
    const struct subnet_node *of = &subnet->nodes[node];
    uint32_t first = subnet_is_switch(subnet, node) ? 0 : 1;
    for (uint32_t i = first; i <= (first ? of->port_count : 0); i++) {
        if (subnet->ports[of->port_first + i].lid) {
            return of->port_first + i;
        }
    }
    return of->port_first + first;
}

bool subnet_session_print_way(const struct subnet_session *session, uint32_t from, uint32_t to)
{
    const struct subnet *subnet = session->subnet;
    const struct topology_node *nodes = subnet->topology.nodes;
    char text[TOPOLOGY_ERROR_BYTES];
    uint32_t room = subnet->topology.switch_count + 2;
    uint32_t *ports = calloc(room, sizeof *ports);
    INVARIANT(ports);
    uint32_t start = port_with_address(subnet, from);
    uint16_t lid = subnet->ports[port_with_address(subnet, to)].lid;
    uint32_t count = SUBNET_NO_WAY;
    if (lid == 0) {
        (void)snprintf(text, sizeof text, "%s has no address", nodes[to].name);
    } else {
        count = subnet_way(subnet, start, lid, ports, room, text);
    }
    if (count == SUBNET_NO_WAY) {
        printf("%s to %s: %s\n", nodes[from].name, nodes[to].name, text);
    } else {
        printf("%s to %s (LID %u):", nodes[from].name, nodes[to].name, (unsigned)lid);
        for (uint32_t i = 0; i < count && i < room; i++) {
            const struct subnet_port *port = &subnet->ports[ports[i]];
            printf(" %s[%u]", nodes[port->node].name, (unsigned)port->number);
        }
        printf("\n");
    }
    free(ports);
    return count != SUBNET_NO_WAY;
}

/* ---- The console -------------------------------------------------------------------------- */

static uint32_t node_named(const struct subnet_session *session, const char *name)
{
    uint32_t node = topology_find(&session->subnet->topology, name);
    if (node == TOPOLOGY_NONE) {
        printf("there is no node \"%s\"\n", name);
    }
    return node;
}

/* "NAME PORT": names may hold blanks. */
static uint32_t port_named(const struct subnet_session *session, char *words)
{
    char *blank = strrchr(words, ' ');
    char *end = NULL;
    unsigned long number = blank ? strtoul(blank + 1, &end, 10) : 0;
    if (!blank || end == blank + 1 || *end) {
        printf("a node and the number of a port are missing\n");
        return SUBNET_NONE;
    }
    *blank = '\0';
    uint32_t node = node_named(session, words);
    if (node == TOPOLOGY_NONE) {
        return SUBNET_NONE;
    }
    const struct subnet_node *of = &session->subnet->nodes[node];
    uint32_t port = of->port_first + (uint32_t)number;
    if (number < 1 || number > of->port_count || session->subnet->ports[port].peer == SUBNET_NONE) {
        printf("%s has no cable at port %lu\n", words, number);
        return SUBNET_NONE;
    }
    return port;
}

static void order_way(const struct subnet_session *session, char *words)
{
    /* The first blank that leaves two nodes' names. */
    for (char *blank = strchr(words, ' '); blank; blank = strchr(blank + 1, ' ')) {
        *blank = '\0';
        uint32_t from = topology_find(&session->subnet->topology, words);
        uint32_t to = topology_find(&session->subnet->topology, blank + 1);
        if (from != TOPOLOGY_NONE && to != TOPOLOGY_NONE) {
            (void)subnet_session_print_way(session, from, to);
            return;
        }
        *blank = ' ';
    }
    printf("\"%s\" are not two nodes\n", words);
}

static void order_cable(struct subnet_session *session, char *words, bool alive)
{
    uint32_t port = port_named(session, words);
    if (port != SUBNET_NONE) {
        subnet_cable_set(session->subnet, port, alive);
        (void)subnet_session_changed(session);
        printf("ok\n");
    }
}

static void order_node(struct subnet_session *session, const char *words, bool alive)
{
    uint32_t node = node_named(session, words);
    if (node != TOPOLOGY_NONE) {
        subnet_node_set(session->subnet, node, alive);
        (void)subnet_session_changed(session);
        printf("ok\n");
    }
}

bool subnet_session_order(struct subnet_session *session, char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    char *words = strchr(line, ' ');
    size_t chars = words ? (size_t)(words - line) : strlen(line);
    words = words ? words + 1 : line + chars;
    bool goes_on = true;
#define IS(word) (chars == strlen(word) && strncmp(line, word, chars) == 0)
    if (IS("cut") || IS("join")) {
        order_cable(session, words, IS("join"));
    } else if (IS("kill") || IS("revive")) {
        order_node(session, words, IS("revive"));
    } else if (IS("way")) {
        order_way(session, words);
    } else if (IS("sweep")) {
        printf("%s\n", !session->manager                 ? "there is no manager inside"
                       : subnet_session_changed(session) ? "ok"
                                                         : "failed");
    } else if (IS("quit")) {
        goes_on = false;
    } else if (chars > 0) {
        printf("\"%s\" is no order; those are: cut, join, kill, revive, way, sweep, quit\n", line);
    }
#undef IS
    (void)fflush(stdout);
    return goes_on;
}
