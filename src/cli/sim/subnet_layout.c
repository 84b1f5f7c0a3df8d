#include "cli/sim/subnet_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BOARD_APART 15.0 /* between centres */
#define FAN_RADIUS 30.0  /* of boards around their switch */
#define MARGIN 20.0

enum {
    LEVELS_MAX = 64,
    WIDE_ROW_BOARDS = 64,  /* more boards of a tree stand in two columns under each switch */
    FORCE_NODES_MAX = 2000 /* beyond, switches stand in the order of a search */
};

/* A node is an anchor if it is a switch, or a board without a switch; the others are fans around
 * the anchor that is theirs. */
struct draft {
    const struct topology *topology;
    struct subnet_layout *layout;
    uint32_t *anchor_of;      /* by node; its own number: it is an anchor */
    uint32_t *fan;            /* by node: how many boards stand around it */
    uint32_t *place_in_fan;   /* by board */
    uint32_t *anchors, count; /* in the order of numbers */
    uint32_t first_switch, last_switch;
    uint32_t fan_most;
};

static void *take(size_t count, size_t bytes)
{
    void *table = calloc(count ? count : 1, bytes);
    INVARIANT(table);
    return table;
}

static uint32_t peer_of(const struct draft *draft, uint32_t node, uint32_t port)
{
    return topology_port(draft->topology, node, port)->peer_node;
}

static bool is_anchor(const struct draft *draft, uint32_t node)
{
    return draft->anchor_of[node] == node;
}

static void find_anchors(struct draft *draft)
{
    const struct topology *topology = draft->topology;
    draft->first_switch = UINT32_MAX;
    for (uint32_t node = 0; node < topology->node_count; node++) {
        const struct topology_node *of = &topology->nodes[node];
        uint32_t anchor = node;
        for (uint32_t p = 1; of->kind == TOPOLOGY_BOARD && p <= of->port_count && anchor == node;
             p++) {
            uint32_t peer = peer_of(draft, node, p);
            bool at_switch = peer != TOPOLOGY_NONE && topology->nodes[peer].kind == TOPOLOGY_SWITCH;
            anchor = at_switch ? peer : node;
        }
        draft->anchor_of[node] = anchor;
        if (anchor == node) {
            draft->anchors[draft->count++] = node;
        } else {
            draft->place_in_fan[node] = draft->fan[anchor]++;
        }
        if (of->kind == TOPOLOGY_SWITCH) {
            draft->first_switch = node < draft->first_switch ? node : draft->first_switch;
            draft->last_switch = node;
        }
    }
    for (uint32_t node = 0; node < topology->node_count; node++) {
        draft->fan_most = draft->fan[node] > draft->fan_most ? draft->fan[node] : draft->fan_most;
    }
}

/* ---- Boards around their switch ----------------------------------------------------------- */

static double fan_radius(double whole, uint32_t boards)
{
    double needed = boards * BOARD_APART / whole;
    return needed > FAN_RADIUS ? needed : FAN_RADIUS;
}

/* The boards stand on an arc whose middle is at an angle. */
static void place_fan(struct draft *draft, uint32_t anchor, double angle)
{
    const struct subnet_place at = draft->layout->nodes[anchor];
    uint32_t count = draft->fan[anchor];
    double whole = draft->layout->shape == SUBNET_STAR ? 2 * M_PI : 1.6 * M_PI;
    double radius = fan_radius(whole, count);
    double apart = BOARD_APART * 1.2 / radius;
    apart = apart * count > whole || draft->layout->shape == SUBNET_STAR ? whole / count : apart;
    const struct topology_node *of = &draft->topology->nodes[anchor];
    for (uint32_t p = 1; p <= of->port_count; p++) {
        uint32_t board = peer_of(draft, anchor, p);
        if (board == TOPOLOGY_NONE || draft->anchor_of[board] != anchor || board == anchor) {
            continue;
        }
        double there = angle + (draft->place_in_fan[board] - (count - 1) / 2.0) * apart;
        draft->layout->nodes[board] = (struct subnet_place){at.x + radius * cos(there),
                                                            at.y + radius * sin(there)};
    }
}

/* ---- A ring ------------------------------------------------------------------------------- */

/* The first other anchor, if any, that is not `but`; *others counts all that differ. */
static uint32_t neighbour(const struct draft *draft, uint32_t node, uint32_t but, uint32_t *others)
{
    uint32_t found[2] = {TOPOLOGY_NONE, TOPOLOGY_NONE};
    uint32_t next = TOPOLOGY_NONE;
    *others = 0;
    for (uint32_t p = 1; p <= draft->topology->nodes[node].port_count; p++) {
        uint32_t peer = peer_of(draft, node, p);
        if (peer == TOPOLOGY_NONE || peer == node || !is_anchor(draft, peer) || peer == found[0] ||
            peer == found[1]) {
            continue;
        }
        if (*others < 2) {
            found[*others] = peer;
        }
        *others += 1;
        next = next == TOPOLOGY_NONE && peer != but ? peer : next;
    }
    return next;
}

static bool place_ring(struct draft *draft)
{
    uint32_t others;
    uint32_t before = TOPOLOGY_NONE;
    uint32_t node = draft->anchors[0];
    uint32_t *order = take(draft->count, sizeof *order);
    uint32_t walked = 0;
    do {
        uint32_t next = neighbour(draft, node, before, &others);
        order[walked++] = node;
        before = node;
        node = next;
    } while (others == 2 && node != draft->anchors[0] && walked < draft->count);
    bool is_ring = others == 2 && node == draft->anchors[0] && walked == draft->count;
    if (is_ring) {
        double apart = 44 + (draft->fan_most > 2 ? (draft->fan_most - 2) * BOARD_APART : 0);
        double radius = fmax(70, draft->count * apart / (2 * M_PI));
        for (uint32_t i = 0; i < walked; i++) {
            double angle = 2 * M_PI * i / walked - M_PI / 2;
            draft->layout->nodes[order[i]] = (struct subnet_place){radius * cos(angle),
                                                                   radius * sin(angle)};
        }
        draft->layout->shape = SUBNET_RING;
        for (uint32_t i = 0; i < walked; i++) {
            place_fan(draft, order[i], 2 * M_PI * i / walked - M_PI / 2);
        }
    }
    free(order);
    return is_ring;
}

/* ---- A grid ------------------------------------------------------------------------------- */

static void coordinates(const struct subnet_layout *layout, uint32_t node,
                        uint32_t at[SUBNET_LAYOUT_DIMENSIONS])
{
    uint32_t rest = node - layout->first;
    for (unsigned d = 0; d < SUBNET_LAYOUT_DIMENSIONS; d++) {
        at[d] = rest % layout->sizes[d];
        rest /= layout->sizes[d];
    }
}

/* Whether two switches are next to each other; if so, by which dimension and how. */
static bool are_next(const struct subnet_layout *layout, uint32_t from, uint32_t to,
                     unsigned *dimension, int *sign, bool *wraps)
{
    uint32_t a[SUBNET_LAYOUT_DIMENSIONS], b[SUBNET_LAYOUT_DIMENSIONS];
    unsigned differing = 0;
    coordinates(layout, from, a);
    coordinates(layout, to, b);
    for (unsigned d = 0; d < SUBNET_LAYOUT_DIMENSIONS; d++) {
        if (a[d] != b[d]) {
            uint32_t away = a[d] < b[d] ? b[d] - a[d] : a[d] - b[d];
            differing++;
            *dimension = d;
            *wraps = away > 1;
            *sign = (a[d] < b[d]) != *wraps ? 1 : -1;
            differing += away != 1 && away != layout->sizes[d] - 1;
        }
    }
    return differing == 1;
}

static bool is_grid(const struct draft *draft)
{
    for (uint32_t i = 0; i < draft->count; i++) {
        uint32_t node = draft->anchors[i];
        for (uint32_t p = 1; p <= draft->topology->nodes[node].port_count; p++) {
            uint32_t peer = peer_of(draft, node, p);
            unsigned dimension;
            int sign;
            bool wraps;
            if (peer != TOPOLOGY_NONE && peer > node && is_anchor(draft, peer) &&
                !are_next(draft->layout, node, peer, &dimension, &sign, &wraps)) {
                return false;
            }
        }
    }
    return true;
}

/* The third dimension goes aslant, so that no cable hides another. */
static void lay_grid(struct draft *draft)
{
    struct subnet_layout *layout = draft->layout;
    double aside = FAN_RADIUS + fan_radius(1.6 * M_PI, draft->fan_most);
    double deep = layout->sizes[2] > 1 ? 34 : 0;
    double step = aside + 24 + deep * (layout->sizes[2] - 1);
    layout->shape = SUBNET_GRID;
    layout->steps[0] = (struct subnet_place){step, 0};
    layout->steps[1] = (struct subnet_place){0, step};
    layout->steps[2] = (struct subnet_place){deep, -deep * 0.7};
    for (uint32_t i = 0; i < draft->count; i++) {
        uint32_t at[SUBNET_LAYOUT_DIMENSIONS];
        struct subnet_place *place = &layout->nodes[draft->anchors[i]];
        coordinates(layout, draft->anchors[i], at);
        for (unsigned d = 0; d < SUBNET_LAYOUT_DIMENSIONS; d++) {
            place->x += at[d] * layout->steps[d].x;
            place->y += at[d] * layout->steps[d].y;
        }
        place_fan(draft, draft->anchors[i], M_PI / 4);
    }
}

/* Looks for sizes with which every cable is between neighbours: the fewest dimensions, the widest
 * first dimension. */
static bool place_grid(struct draft *draft)
{
    struct subnet_layout *layout = draft->layout;
    uint32_t count = draft->count;
    if (draft->last_switch - draft->first_switch + 1 != count ||
        draft->topology->switch_count != count) {
        return false;
    }
    layout->first = draft->first_switch;
    for (uint32_t third = 1; third <= count; third++) {
        for (uint32_t second = 1; count % third == 0 && second <= count / third; second++) {
            if (count / third % second != 0 || (second == 1 && third > 1)) {
                continue;
            }
            layout->sizes[0] = count / third / second;
            layout->sizes[1] = second;
            layout->sizes[2] = third;
            if (is_grid(draft)) {
                lay_grid(draft);
                return true;
            }
        }
    }
    return false;
}

/* ---- Levels ------------------------------------------------------------------------------- */

/* Switches with boards are level 0. False: cables join a level with itself or skip one, or not
 * all switches have a level. */
static bool find_levels(const struct draft *draft, uint32_t *level, uint32_t *levels)
{
    uint32_t *queue = take(draft->count, sizeof *queue);
    uint32_t queued = 0;
    *levels = 0;
    memset(level, 0xff, draft->topology->node_count * sizeof *level);
    for (uint32_t i = 0; i < draft->count; i++) {
        if (draft->fan[draft->anchors[i]] > 0) {
            level[draft->anchors[i]] = 0;
            queue[queued++] = draft->anchors[i];
        }
    }
    bool is_good = queued > 0 && queued < draft->count;
    for (uint32_t i = 0; i < queued && is_good; i++) {
        uint32_t node = queue[i];
        *levels = level[node] + 1;
        for (uint32_t p = 1; p <= draft->topology->nodes[node].port_count; p++) {
            uint32_t peer = peer_of(draft, node, p);
            if (peer == TOPOLOGY_NONE || !is_anchor(draft, peer)) {
                continue;
            }
            if (level[peer] == UINT32_MAX) {
                level[peer] = level[node] + 1;
                queue[queued++] = peer;
            }
            is_good = is_good && level[peer] != level[node];
        }
    }
    free(queue);
    return is_good && queued == draft->count && *levels <= LEVELS_MAX;
}

struct in_row {
    double wish; /* where it would like to be */
    uint32_t node;
};

static int compare_wishes(const void *left, const void *right)
{
    const struct in_row *a = left;
    const struct in_row *b = right;
    return a->wish != b->wish ? (a->wish < b->wish ? -1 : 1) : (a->node < b->node ? -1 : 1);
}

/* The middle of the nodes below. */
static double middle_below(const struct draft *draft, const uint32_t *level, uint32_t node)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t p = 1; p <= draft->topology->nodes[node].port_count; p++) {
        uint32_t peer = peer_of(draft, node, p);
        if (peer != TOPOLOGY_NONE && is_anchor(draft, peer) && level[peer] + 1 == level[node]) {
            sum += draft->layout->nodes[peer].x;
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

static uint32_t row_of(const struct draft *draft, const uint32_t *level, uint32_t which,
                       struct in_row *row)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < draft->count; i++) {
        uint32_t node = draft->anchors[i];
        if (level[node] == which) {
            row[count++] = (struct in_row){which > 0 ? middle_below(draft, level, node) : i, node};
        }
    }
    qsort(row, count, sizeof *row, compare_wishes);
    return count;
}

/* Boards stand in rows of `columns` under their switch. Returns the width of all. */
static double place_lowest(struct draft *draft, const struct in_row *row, uint32_t count, double y)
{
    bool is_wide = draft->topology->board_count > WIDE_ROW_BOARDS;
    double x = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = row[i].node;
        uint32_t boards = draft->fan[node];
        uint32_t columns = boards > 2 && is_wide ? 2 : boards;
        double width = fmax(24, columns * BOARD_APART + 6);
        draft->layout->nodes[node] = (struct subnet_place){x + width / 2, y};
        for (uint32_t p = 1; p <= draft->topology->nodes[node].port_count; p++) {
            uint32_t board = peer_of(draft, node, p);
            if (board == TOPOLOGY_NONE || board == node || draft->anchor_of[board] != node) {
                continue;
            }
            uint32_t place = draft->place_in_fan[board];
            double column = place % columns - (columns - 1) / 2.0;
            draft->layout->nodes[board] = (struct subnet_place){
                x + width / 2 + column * BOARD_APART,
                y + 50 + BOARD_APART * 1.4 * (place / columns)};
        }
        x += width;
    }
    return x;
}

static bool place_levels(struct draft *draft)
{
    uint32_t *level = take(draft->topology->node_count, sizeof *level);
    struct in_row *row = take(draft->count, sizeof *row);
    uint32_t levels;
    bool is_good = find_levels(draft, level, &levels);
    double width = 0;
    for (uint32_t which = 0; which < levels && is_good; which++) {
        uint32_t count = row_of(draft, level, which, row);
        /* Rows are higher in wide pictures, so that cables are not too flat. */
        double high = fmax(110, width / 8);
        double y = -(which * high);
        if (which == 0) {
            draft->layout->shape = SUBNET_LEVELS;
            width = place_lowest(draft, row, count, y);
            continue;
        }
        double apart = fmax(width / count, 22);
        for (uint32_t i = 0; i < count; i++) {
            draft->layout->nodes[row[i].node] = (struct subnet_place){
                width / 2 + (i - (count - 1) / 2.0) * apart, y};
        }
    }
    free(level);
    free(row);
    return is_good;
}

/* ---- Any other shape ---------------------------------------------------------------------- */

/* The order of a search, so that neighbours begin near each other. */
static void search_order(const struct draft *draft, uint32_t *order)
{
    bool *seen = take(draft->topology->node_count, sizeof *seen);
    uint32_t queued = 0;
    uint32_t head = 0;
    for (uint32_t i = 0; i < draft->count; i++) {
        if (!seen[draft->anchors[i]]) {
            seen[draft->anchors[i]] = true;
            order[queued++] = draft->anchors[i];
        }
        for (; head < queued; head++) {
            for (uint32_t p = 1; p <= draft->topology->nodes[order[head]].port_count; p++) {
                uint32_t peer = peer_of(draft, order[head], p);
                if (peer != TOPOLOGY_NONE && is_anchor(draft, peer) && !seen[peer]) {
                    seen[peer] = true;
                    order[queued++] = peer;
                }
            }
        }
    }
    free(seen);
}

/* Adds what pushes every two nodes apart and what pulls the ends of cables together. */
static void find_forces(const struct draft *draft, double apart, struct subnet_place *forces)
{
    const struct subnet_place *nodes = draft->layout->nodes;
    for (uint32_t i = 0; i < draft->count; i++) {
        uint32_t one = draft->anchors[i];
        for (uint32_t j = i + 1; j < draft->count; j++) {
            uint32_t other = draft->anchors[j];
            double dx = nodes[one].x - nodes[other].x;
            double dy = nodes[one].y - nodes[other].y;
            double push = apart * apart / fmax(dx * dx + dy * dy, 1);
            forces[one].x += dx * push;
            forces[one].y += dy * push;
            forces[other].x -= dx * push;
            forces[other].y -= dy * push;
        }
        for (uint32_t p = 1; p <= draft->topology->nodes[one].port_count; p++) {
            uint32_t other = peer_of(draft, one, p);
            if (other == TOPOLOGY_NONE || !is_anchor(draft, other)) {
                continue;
            }
            double dx = nodes[one].x - nodes[other].x;
            double dy = nodes[one].y - nodes[other].y;
            double pull = sqrt(dx * dx + dy * dy) / apart / 2;
            forces[one].x -= dx * pull; /* the cable is seen from its other end, too */
            forces[one].y -= dy * pull;
        }
        /* Parts without a cable between them stay near each other. */
        forces[one].x -= nodes[one].x / 20;
        forces[one].y -= nodes[one].y / 20;
    }
}

/* Nodes follow their forces, less far with each step. */
static void settle(struct draft *draft, double apart)
{
    enum { PAIRS_MOST = 40000000, STEPS_LEAST = 40, STEPS_MOST = 300 };
    uint64_t pairs = (uint64_t)draft->count * draft->count / 2 + 1;
    uint64_t steps = PAIRS_MOST / pairs;
    struct subnet_place *forces = take(draft->topology->node_count, sizeof *forces);
    steps = steps < STEPS_LEAST ? STEPS_LEAST : steps > STEPS_MOST ? STEPS_MOST : steps;
    for (uint64_t step = 0; step < steps; step++) {
        double most = apart * (1 - (double)step / (double)steps);
        memset(forces, 0, draft->topology->node_count * sizeof *forces);
        find_forces(draft, apart, forces);
        for (uint32_t i = 0; i < draft->count; i++) {
            struct subnet_place *at = &draft->layout->nodes[draft->anchors[i]];
            const struct subnet_place *force = &forces[draft->anchors[i]];
            double size = sqrt(force->x * force->x + force->y * force->y);
            double share = size > most ? most / size : 1;
            at->x += force->x * share;
            at->y += force->y * share;
        }
    }
    free(forces);
}

/* Away from where the cables to other anchors lead. */
static double free_side(const struct draft *draft, uint32_t node)
{
    const struct subnet_place *nodes = draft->layout->nodes;
    double x = 0;
    double y = 0;
    for (uint32_t p = 1; p <= draft->topology->nodes[node].port_count; p++) {
        uint32_t peer = peer_of(draft, node, p);
        if (peer != TOPOLOGY_NONE && peer != node && is_anchor(draft, peer)) {
            double dx = nodes[peer].x - nodes[node].x;
            double dy = nodes[peer].y - nodes[node].y;
            double length = fmax(sqrt(dx * dx + dy * dy), 1);
            x -= dx / length;
            y -= dy / length;
        }
    }
    return x == 0 && y == 0 ? M_PI / 4 : atan2(y, x);
}

static void place_net(struct draft *draft)
{
    uint32_t *order = take(draft->count, sizeof *order);
    double apart = 30 + FAN_RADIUS + fan_radius(1.6 * M_PI, draft->fan_most);
    uint32_t across = (uint32_t)ceil(sqrt(draft->count));
    bool is_settled = draft->count <= FORCE_NODES_MAX;
    draft->layout->shape = SUBNET_NET;
    search_order(draft, order);
    for (uint32_t i = 0; i < draft->count; i++) {
        double angle = 2 * M_PI * i / draft->count;
        double radius = draft->count * apart / 6;
        draft->layout->nodes[order[i]] =
            is_settled ? (struct subnet_place){radius * cos(angle), radius * sin(angle)}
                       : (struct subnet_place){apart * (i % across), apart * (i / across)};
    }
    if (is_settled) {
        settle(draft, apart);
    }
    for (uint32_t i = 0; i < draft->count; i++) {
        place_fan(draft, order[i], free_side(draft, order[i]));
    }
    free(order);
}

/* ---- All of it ---------------------------------------------------------------------------- */

/* Moves everything into a picture with a margin; a grid's cables that go round need half a step. */
static void frame_picture(struct subnet_layout *layout, uint32_t count)
{
    double left = INFINITY, top = INFINITY, right = -INFINITY, bottom = -INFINITY;
    double margin = MARGIN;
    for (uint32_t i = 0; i < count; i++) {
        left = fmin(left, layout->nodes[i].x);
        right = fmax(right, layout->nodes[i].x);
        top = fmin(top, layout->nodes[i].y);
        bottom = fmax(bottom, layout->nodes[i].y);
    }
    if (layout->shape == SUBNET_GRID) {
        margin += layout->steps[0].x / 3;
    }
    for (uint32_t i = 0; i < count; i++) {
        layout->nodes[i].x += margin - left;
        layout->nodes[i].y += margin - top;
    }
    layout->width = right - left + 2 * margin;
    layout->height = bottom - top + 2 * margin;
}

void subnet_layout_make(struct subnet_layout *layout, const struct topology *topology)
{
    uint32_t count = topology->node_count;
    struct draft draft = {
        .topology = topology,
        .layout = layout,
        .anchor_of = take(count, sizeof(uint32_t)),
        .fan = take(count, sizeof(uint32_t)),
        .place_in_fan = take(count, sizeof(uint32_t)),
        .anchors = take(count, sizeof(uint32_t)),
    };
    INVARIANT(count > 0);
    *layout = (struct subnet_layout){.nodes = take(count, sizeof *layout->nodes)};
    find_anchors(&draft);
    if (draft.count == 1) {
        layout->shape = SUBNET_STAR;
        place_fan(&draft, draft.anchors[0], -M_PI / 2);
    } else if (!place_levels(&draft) && !place_ring(&draft) && !place_grid(&draft)) {
        place_net(&draft);
    }
    frame_picture(layout, count);
    free(draft.anchor_of);
    free(draft.fan);
    free(draft.place_in_fan);
    free(draft.anchors);
}

void subnet_layout_free(struct subnet_layout *layout)
{
    free(layout->nodes);
    *layout = (struct subnet_layout){0};
}

bool subnet_layout_wraps(const struct subnet_layout *layout, uint32_t from, uint32_t to,
                         struct subnet_place *away)
{
    uint32_t count = layout->sizes[0] * layout->sizes[1] * layout->sizes[2];
    unsigned dimension;
    int sign;
    bool wraps;
    if (layout->shape != SUBNET_GRID || from < layout->first || to < layout->first ||
        from - layout->first >= count || to - layout->first >= count ||
        !are_next(layout, from, to, &dimension, &sign, &wraps) || !wraps) {
        return false;
    }
    *away = (struct subnet_place){sign * layout->steps[dimension].x / 2,
                                  sign * layout->steps[dimension].y / 2};
    return true;
}
