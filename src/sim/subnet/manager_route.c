/* Which way the manager lets packets go.
 *
 * up-down orders the switches: of a cable's two ends the one that comes first is up. A packet goes
 * up any number of times and then down any number of times, so a circle of packets that wait for
 * each other would need a switch where one goes up after down. Since a table knows only where a
 * packet goes to, not where it comes from, a switch that can reach the target by going down alone
 * does that, and all others go up.
 *
 * In a fat tree the switches that are far from boards are up, all of one level alike, so that all
 * roots are used. Where that leaves boards without a way to each other, and in rings and tori,
 * whose switches all have boards, the order is that of the distance from one root in the middle.
 *
 * With many roots each address has a trunk: from its switch to a root, at every switch by the cable
 * up that the fewest trunks have taken. From elsewhere packets go up to the trunk, so that those to
 * one board meet in one way down, and those to neighbours part. If each switch chose for itself,
 * some cables down would have the packets of many addresses and others none.
 *
 * Ways of a switch's own packets, which are management's and rare, may go up after down if there
 * is no other. */
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/manager_state.h"

enum { ROOT_CANDIDATES = 512 };

/* A cable to another switch, seen from one of its ends. */
struct edge {
    uint32_t to; /* a switch's number */
    uint8_t port;
};

struct routes {
    struct manager *manager;
    uint32_t count;     /* switches */
    struct edge *edges; /* of switch s: from first[s] to first[s + 1] */
    uint32_t *first;
    uint32_t *order;    /* a switch's place: the smaller, the more up */
    uint32_t *by_order; /* and the switch at a place */
    uint32_t *down;     /* hops to the target by going down alone */
    uint32_t *hops;     /* hops to the target */
    uint32_t *queue;
    uint32_t *load; /* addresses that leave by a port: of switch s from 256 s on */
    bool is_by_level;
    bool *leads_to_trunk;  /* by switch, of the present address */
    uint32_t *trunk_count; /* by edge: of boards' addresses */
};

static void *take(uint32_t count, size_t bytes)
{
    void *table = calloc(count ? count : 1, bytes);
    INVARIANT(table);
    return table;
}

static const struct manager_node *switch_at(const struct routes *routes, uint32_t number)
{
    return &routes->manager->nodes[routes->manager->switches[number]];
}

static void find_edges(struct routes *routes)
{
    const struct manager *manager = routes->manager;
    uint32_t used = 0;
    routes->edges = take(manager->port_count, sizeof *routes->edges);
    for (uint32_t s = 0; s < routes->count; s++) {
        const struct manager_node *node = switch_at(routes, s);
        routes->first[s] = used;
        for (uint32_t i = 1; i <= node->port_count; i++) {
            uint32_t peer = manager->ports[node->port_first + i].peer;
            if (peer == MANAGER_NONE) {
                continue;
            }
            const struct manager_node *other = &manager->nodes[manager->ports[peer].node];
            if (other->is_switch && other != node) {
                routes->edges[used++] = (struct edge){other->number, (uint8_t)i};
            }
        }
    }
    routes->first[routes->count] = used;
}

/* Hops from the switches in the queue to all others. Returns the sum, unreached ones counted as
 * far away. */
static uint64_t flood(struct routes *routes, uint32_t *hops, uint32_t queued)
{
    uint64_t sum = 0;
    for (uint32_t at = 0; at < queued; at++) {
        uint32_t s = routes->queue[at];
        sum += hops[s];
        for (uint32_t e = routes->first[s]; e < routes->first[s + 1]; e++) {
            uint32_t to = routes->edges[e].to;
            if (hops[to] == MANAGER_NONE) {
                hops[to] = hops[s] + 1;
                routes->queue[queued++] = to;
            }
        }
    }
    return sum + (uint64_t)(routes->count - queued) * routes->count;
}

static uint64_t flood_from(struct routes *routes, uint32_t *hops, uint32_t s)
{
    memset(hops, 0xff, routes->count * sizeof *hops);
    hops[s] = 0;
    routes->queue[0] = s;
    return flood(routes, hops, 1);
}

/* The switch to which all are nearest; with equal ones the first. In large subnets only some are
 * looked at. */
static uint32_t find_root(struct routes *routes)
{
    uint32_t step = routes->count / ROOT_CANDIDATES + 1;
    uint32_t best = 0;
    uint64_t least = UINT64_MAX;
    for (uint32_t s = 0; s < routes->count; s += step) {
        uint64_t sum = flood_from(routes, routes->hops, s);
        if (sum < least) {
            least = sum;
            best = s;
        }
    }
    return best;
}

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Orders the switches by a key, and those with the same key by number. */
static void sort_switches(struct routes *routes, const uint32_t *key)
{
    uint64_t *sorted = take(routes->count, sizeof *sorted);
    for (uint32_t s = 0; s < routes->count; s++) {
        sorted[s] = (uint64_t)key[s] << 32 | s;
    }
    qsort(sorted, routes->count, sizeof *sorted, compare_numbers);
    for (uint32_t i = 0; i < routes->count; i++) {
        routes->by_order[i] = (uint32_t)sorted[i];
        routes->order[routes->by_order[i]] = i;
    }
    free(sorted);
}

static bool has_boards(const struct routes *routes, uint32_t s)
{
    const struct manager *manager = routes->manager;
    const struct manager_node *node = switch_at(routes, s);
    for (uint32_t i = 1; i <= node->port_count; i++) {
        uint32_t peer = manager->ports[node->port_first + i].peer;
        if (peer != MANAGER_NONE && !manager->nodes[manager->ports[peer].node].is_switch) {
            return true;
        }
    }
    return false;
}

/* Orders switches by their distance from boards, the farthest first. False: all have boards. */
static bool order_by_level(struct routes *routes)
{
    uint32_t queued = 0;
    uint32_t *level = routes->hops;
    memset(level, 0xff, routes->count * sizeof *level);
    for (uint32_t s = 0; s < routes->count; s++) {
        if (has_boards(routes, s)) {
            level[s] = 0;
            routes->queue[queued++] = s;
        }
    }
    if (queued == 0 || queued == routes->count) {
        return false;
    }
    (void)flood(routes, level, queued);
    uint32_t *key = take(routes->count, sizeof *key);
    for (uint32_t s = 0; s < routes->count; s++) {
        key[s] = UINT32_MAX - level[s];
    }
    sort_switches(routes, key);
    free(key);
    return true;
}

static void order_by_root(struct routes *routes)
{
    (void)flood_from(routes, routes->hops, routes->manager->root);
    sort_switches(routes, routes->hops);
}

/* Hops from each switch to a target, up and then down. */
static void find_up_down(struct routes *routes, uint32_t target)
{
    uint32_t queued = 1;
    memset(routes->down, 0xff, routes->count * sizeof *routes->down);
    routes->down[target] = 0;
    routes->queue[0] = target;
    for (uint32_t at = 0; at < queued; at++) {
        uint32_t s = routes->queue[at];
        for (uint32_t e = routes->first[s]; e < routes->first[s + 1]; e++) {
            uint32_t to = routes->edges[e].to;
            if (routes->order[to] < routes->order[s] && routes->down[to] == MANAGER_NONE) {
                routes->down[to] = routes->down[s] + 1;
                routes->queue[queued++] = to;
            }
        }
    }
    for (uint32_t i = 0; i < routes->count; i++) {
        uint32_t s = routes->by_order[i];
        routes->hops[s] = routes->down[s];
        for (uint32_t e = routes->first[s];
             routes->down[s] == MANAGER_NONE && e < routes->first[s + 1]; e++) {
            uint32_t to = routes->edges[e].to;
            if (routes->order[to] < i && routes->hops[to] != MANAGER_NONE &&
                routes->hops[to] + 1 < routes->hops[s]) {
                routes->hops[s] = routes->hops[to] + 1;
            }
        }
    }
}

/* Whether all boards have a way to each other in the present order. */
static bool boards_reach_boards(struct routes *routes)
{
    for (uint32_t target = 0; target < routes->count; target++) {
        if (!has_boards(routes, target)) {
            continue;
        }
        find_up_down(routes, target);
        for (uint32_t s = 0; s < routes->count; s++) {
            if (routes->hops[s] == MANAGER_NONE && has_boards(routes, s)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether an edge of a switch is the next hop of a best way. */
static bool is_next(const struct routes *routes, uint32_t s, const struct edge *edge)
{
    if (routes->manager->config.routing == MANAGER_UP_DOWN) {
        bool is_up = routes->order[edge->to] < routes->order[s];
        if (routes->down[s] != MANAGER_NONE) {
            return !is_up && routes->down[edge->to] == routes->down[s] - 1;
        }
        return is_up && routes->hops[edge->to] == routes->hops[s] - 1;
    }
    return routes->hops[edge->to] == routes->hops[s] - 1;
}

/* The trunk of an address at that switch. Addresses of switches, which are management's, take none
 * away from the boards. */
static void grow_trunk(struct routes *routes, uint32_t target, bool is_board)
{
    uint32_t best = target;
    memset(routes->leads_to_trunk, 0, routes->count * sizeof *routes->leads_to_trunk);
    while (routes->is_by_level && best != MANAGER_NONE) {
        uint32_t s = best;
        uint32_t best_edge = 0;
        routes->leads_to_trunk[s] = true;
        best = MANAGER_NONE;
        for (uint32_t e = routes->first[s]; e < routes->first[s + 1]; e++) {
            uint32_t to = routes->edges[e].to;
            if (routes->order[to] < routes->order[s] && routes->down[to] == routes->down[s] + 1 &&
                (best == MANAGER_NONE || routes->trunk_count[e] < routes->trunk_count[best_edge])) {
                best = to;
                best_edge = e;
            }
        }
        routes->trunk_count[best_edge] += best != MANAGER_NONE && is_board;
    }
}

/* Whether a good way is better than the best so far: it leads to the trunk, or has fewer
 * addresses. */
static bool is_better(const struct routes *routes, const uint32_t *load, const struct edge *edge,
                      const struct edge *best)
{
    if (!best || routes->leads_to_trunk[edge->to] != routes->leads_to_trunk[best->to]) {
        return !best || routes->leads_to_trunk[edge->to];
    }
    return load[edge->port] < load[best->port];
}

/* Fills in an address in the tables of all switches. Among equal ways the one to its trunk takes
 * it, or else the one with the fewest addresses; where all have as many, they take turns. */
static void fill_address(struct routes *routes, uint32_t target, uint8_t last_port, uint16_t lid,
                         const uint32_t *any_way)
{
    grow_trunk(routes, target, last_port > 0);
    for (uint32_t place = 0; place < routes->count; place++) {
        /* What is up comes first, since who is below goes where that leads to the trunk. */
        uint32_t s = routes->is_by_level ? routes->by_order[place] : place;
        const struct manager_node *node = switch_at(routes, s);
        uint32_t *load = routes->load + (size_t)256 * s;
        uint32_t degree = routes->first[s + 1] - routes->first[s];
        const struct edge *best = NULL;
        if (s == target) {
            node->linear[lid] = last_port;
            continue;
        }
        bool has_way = routes->hops[s] != MANAGER_NONE;
        for (uint32_t i = 0; i < degree; i++) {
            uint32_t e = routes->first[s] + (i + lid) % degree;
            const struct edge *edge = &routes->edges[e];
            bool is_good = has_way ? is_next(routes, s, edge)
                                   : any_way[s] != MANAGER_NONE && any_way[edge->to] < any_way[s];
            if (is_good && is_better(routes, load, edge, best)) {
                best = edge;
            }
        }
        if (best) {
            load[best->port]++;
            node->linear[lid] = best->port;
            /* Who goes down beside the trunk meets it too late. */
            routes->leads_to_trunk[s] |= routes->leads_to_trunk[best->to] &&
                                         routes->down[s] == MANAGER_NONE;
        }
    }
}

static void fill_tables(struct routes *routes)
{
    const struct manager *manager = routes->manager;
    uint32_t *any_way = take(routes->count, sizeof *any_way);
    for (uint32_t target = 0; target < routes->count; target++) {
        const struct manager_node *node = switch_at(routes, target);
        (void)flood_from(routes, any_way, target);
        if (manager->config.routing == MANAGER_UP_DOWN) {
            find_up_down(routes, target);
        } else {
            memcpy(routes->hops, any_way, routes->count * sizeof *any_way);
        }
        for (uint32_t i = 0; i <= node->port_count; i++) {
            const struct manager_port *port = &manager->ports[node->port_first + i];
            const struct manager_port *peer = port->peer == MANAGER_NONE
                                                  ? NULL
                                                  : &manager->ports[port->peer];
            if (i == 0) {
                fill_address(routes, target, 0, port->lid, any_way);
            } else if (peer && !manager->nodes[peer->node].is_switch) {
                fill_address(routes, target, (uint8_t)i, peer->lid, any_way);
            }
        }
    }
    free(any_way);
}

void manager_route(struct manager *manager)
{
    struct routes routes = {.manager = manager, .count = manager->switch_count};
    manager->linear_room = (manager->lid_count + WIRE_IB_LINEAR_BLOCK - 1) / WIRE_IB_LINEAR_BLOCK *
                           WIRE_IB_LINEAR_BLOCK;
    for (uint32_t i = 0; i < manager->switch_count; i++) {
        struct manager_node *node = &manager->nodes[manager->switches[i]];
        node->linear = take(manager->linear_room, 1);
        memset(node->linear, SUBNET_NO_PORT, manager->linear_room);
    }
    if (routes.count == 0) {
        return;
    }
    routes.first = take(routes.count + 1, sizeof *routes.first);
    routes.order = take(routes.count, sizeof *routes.order);
    routes.by_order = take(routes.count, sizeof *routes.by_order);
    routes.down = take(routes.count, sizeof *routes.down);
    routes.hops = take(routes.count, sizeof *routes.hops);
    routes.queue = take(routes.count, sizeof *routes.queue);
    routes.load = take(routes.count, 256 * sizeof *routes.load);
    routes.leads_to_trunk = take(routes.count, sizeof *routes.leads_to_trunk);
    routes.trunk_count = take(manager->port_count, sizeof *routes.trunk_count);
    find_edges(&routes);
    routes.is_by_level = manager->config.routing == MANAGER_UP_DOWN && order_by_level(&routes) &&
                         boards_reach_boards(&routes);
    /* The tree of multicasts hangs from one of the highest, too. */
    manager->root = routes.is_by_level ? routes.by_order[0] : find_root(&routes);
    if (manager->config.routing == MANAGER_UP_DOWN && !routes.is_by_level) {
        order_by_root(&routes);
    }
    fill_tables(&routes);
    free(routes.leads_to_trunk);
    free(routes.trunk_count);
    free(routes.edges);
    free(routes.first);
    free(routes.order);
    free(routes.by_order);
    free(routes.down);
    free(routes.hops);
    free(routes.queue);
    free(routes.load);
}
