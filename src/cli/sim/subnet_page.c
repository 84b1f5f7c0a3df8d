#include "cli/sim/subnet_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/sim/page.h"
#include "cli/sim/subnet_layout.h"

enum {
    TEXT_BYTES = 2 * TOPOLOGY_NAME_BYTES + 160,
    NAME_BYTES = TOPOLOGY_NAME_BYTES + 16,
    NUMBER_BYTES = 32,
    BUSIEST = 20,
    LABELS_MAX = 400, /* nodes with their number in the picture */
    WIDTH_MOST = 4000 /* pixels that a picture takes at least, if it is that wide */
};

#define SWITCH_HALF 8.0
#define BOARD_RADIUS 6.0
#define LANE_ASIDE 1.6 /* of each direction from the middle of its cable */
#define LANE_WIDTH 2.2
#define CABLES_APART 7.0 /* between the same two nodes */
#define CIRCLE_COLOUR "#c03fd0"

/* A page that is being written. */
struct work {
    FILE *file;
    const struct subnet *subnet;
    const struct subnet_page *page;
    struct subnet_layout layout;
    uint32_t *cables, cable_count; /* ports with a cable: a direction each, the busiest first */
    bool *in_circle;               /* by port */
};

/* "1,234" */
static const char *grouped(uint64_t number, char text[NUMBER_BYTES])
{
    char digits[NUMBER_BYTES];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            text[used++] = ',';
        }
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

static double busy_of(const struct work *work, uint32_t port)
{
    return work->page->busy ? work->page->busy[port] : 0;
}

/* ---- Cables ------------------------------------------------------------------------------- */

struct by_load {
    double busy;
    uint32_t port;
};

static int compare_loads(const void *left, const void *right)
{
    const struct by_load *a = left;
    const struct by_load *b = right;
    return a->busy != b->busy ? (a->busy > b->busy ? -1 : 1) : (a->port < b->port ? -1 : 1);
}

static void gather_cables(struct work *work)
{
    const struct subnet *subnet = work->subnet;
    struct by_load *sorted = calloc(subnet->port_count + 1u, sizeof *sorted);
    work->cables = calloc(subnet->port_count + 1u, sizeof *work->cables);
    INVARIANT(sorted && work->cables);
    for (uint32_t i = 0; i < subnet->port_count; i++) {
        if (subnet->ports[i].peer != SUBNET_NONE) {
            sorted[work->cable_count++] = (struct by_load){busy_of(work, i), i};
        }
    }
    qsort(sorted, work->cable_count, sizeof *sorted, compare_loads);
    for (uint32_t i = 0; i < work->cable_count; i++) {
        work->cables[i] = sorted[i].port;
    }
    free(sorted);
}

/* The circle's text is "NAME, port N VL ... waits for NAME, port N VL ..."; the end may be cut
 * off. */
static void mark_circle(struct work *work, const char *text)
{
    static const char joint[] = " waits for ";
    work->in_circle = calloc(work->subnet->port_count + 1u, sizeof *work->in_circle);
    INVARIANT(work->in_circle);
    while (text && *text) {
        char name[TOPOLOGY_NAME_BYTES];
        const char *next = strstr(text, joint);
        const char *comma = strstr(text, ", port ");
        unsigned number;
        size_t length = comma ? (size_t)(comma - text) : 0;
        if (comma && (!next || comma < next) && length < sizeof name &&
            sscanf(comma, ", port %u VL", &number) == 1) {
            memcpy(name, text, length);
            name[length] = '\0';
            uint32_t node = topology_find(&work->subnet->topology, name);
            if (node != TOPOLOGY_NONE && number <= work->subnet->nodes[node].port_count) {
                work->in_circle[subnet_port_index(work->subnet, node, number)] = true;
            }
        }
        text = next ? next + sizeof joint - 1 : NULL;
    }
}

/* How far the middle of a cable is from the straight line between its nodes, if there are several:
 * towards the right of who goes from the node with the lower number to the other. */
static double cable_aside(const struct subnet *subnet, uint32_t port)
{
    const struct subnet_port *one = &subnet->ports[port];
    const struct subnet_port *other = &subnet->ports[one->peer];
    uint32_t low = one->node < other->node ? port : one->peer;
    uint32_t high_node = one->node < other->node ? other->node : one->node;
    uint32_t first = subnet->nodes[subnet->ports[low].node].port_first;
    uint32_t before = 0;
    uint32_t all = 0;
    for (uint32_t p = 1; p <= subnet->nodes[subnet->ports[low].node].port_count; p++) {
        const struct subnet_port *of = &subnet->ports[first + p];
        if (of->peer != SUBNET_NONE && subnet->ports[of->peer].node == high_node) {
            before += first + p < low;
            all++;
        }
    }
    return (before - (all - 1) / 2.0) * CABLES_APART;
}

static void put_piece(FILE *file, struct subnet_place from, double dx, double dy, double aside)
{
    double length = sqrt(dx * dx + dy * dy);
    double x = from.x - dy / length * aside;
    double y = from.y + dx / length * aside;
    fprintf(file, "M%.1f %.1fl%.1f %.1f", x, y, dx, dy);
}

/* Writes the way of one direction of a cable: on the right of its cable. */
static void put_way(const struct work *work, uint32_t port)
{
    const struct subnet *subnet = work->subnet;
    uint32_t from = subnet->ports[port].node;
    uint32_t to = subnet->ports[subnet->ports[port].peer].node;
    struct subnet_place a = work->layout.nodes[from];
    struct subnet_place b = work->layout.nodes[to];
    struct subnet_place away;
    double aside = cable_aside(subnet, port) * (from < to ? 1 : -1) + LANE_ASIDE;
    if (from == to) { /* plugged in twice */
        fprintf(work->file, "M%.1f %.1fl12 -12", a.x, a.y);
    } else if (subnet_layout_wraps(&work->layout, from, to, &away)) {
        put_piece(work->file, a, away.x, away.y, aside);
        put_piece(work->file, (struct subnet_place){b.x - away.x, b.y - away.y}, away.x, away.y,
                  aside);
    } else if (a.x == b.x && a.y == b.y) {
        fprintf(work->file, "M%.1f %.1fl1 1", a.x, a.y);
    } else {
        put_piece(work->file, a, b.x - a.x, b.y - a.y, aside);
    }
}

static void cable_text(const struct work *work, uint32_t port, char text[TEXT_BYTES])
{
    const struct subnet *subnet = work->subnet;
    const struct subnet_port *of = &subnet->ports[port];
    char from[NAME_BYTES], to[NAME_BYTES], packets[NUMBER_BYTES];
    int length = snprintf(text, TEXT_BYTES, "%s \u2192 %s",
                          subnet_port_name(subnet, port, from, sizeof from),
                          subnet_port_name(subnet, of->peer, to, sizeof to));
    INVARIANT(length > 0 && length < TEXT_BYTES);
    if (of->is_cut) {
        (void)snprintf(text + length, TEXT_BYTES - (size_t)length, ": dead");
    } else if (work->page->busy) {
        (void)snprintf(text + length, TEXT_BYTES - (size_t)length, ": %.0f %% busy, %s packets%s",
                       100 * busy_of(work, port), grouped(of->counters.xmit_packets, packets),
                       work->in_circle[port] ? ", in the circle" : "");
    }
}

static void draw_cable(const struct work *work, uint32_t port)
{
    FILE *file = work->file;
    char text[TEXT_BYTES];
    if (work->in_circle[port]) {
        fputs("<path class=\"circle\" fill=\"none\" stroke=\"" CIRCLE_COLOUR
              "\" stroke-width=\"7\" stroke-opacity=\".55\" stroke-linecap=\"round\" d=\"",
              file);
        put_way(work, port);
        fputs("\"/>\n", file);
    }
    fputs("<path class=\"cable\" d=\"", file);
    put_way(work, port);
    fprintf(file, "\" fill=\"none\" stroke-width=\"%.1f\" stroke=\"", LANE_WIDTH);
    if (work->subnet->ports[port].is_cut) {
        fputs("var(--ink)\" stroke-opacity=\".6\" stroke-dasharray=\"4 4", file);
    } else {
        cli_page_load_colour(file, busy_of(work, port));
    }
    cable_text(work, port, text);
    cli_page_put(file, "\"><title>", text, "</title></path>\n");
}

/* ---- Nodes -------------------------------------------------------------------------------- */

/* What follows the last dash, if that is a short number: all of it is in the title. */
static const char *label_of(const char *name)
{
    const char *dash = strrchr(name, '-');
    const char *label = dash ? dash + 1 : name;
    size_t length = strspn(label, "0123456789");
    return length > 0 && length <= 3 && label[length] == '\0' ? label : "";
}

static void draw_node(const struct work *work, uint32_t node)
{
    const struct subnet_place *at = &work->layout.nodes[node];
    const struct subnet_node *of = &work->subnet->nodes[node];
    bool is_switch = subnet_is_switch(work->subnet, node);
    const char *look = of->is_dead ? "fill=\"var(--soft)\" stroke-dasharray=\"3 2\""
                       : is_switch ? "fill=\"var(--ink)\""
                                   : "fill=\"var(--paper)\"";
    if (is_switch) {
        fprintf(work->file,
                "<rect class=\"switch\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                "rx=\"3\"",
                at->x - SWITCH_HALF, at->y - SWITCH_HALF, 2 * SWITCH_HALF, 2 * SWITCH_HALF);
    } else {
        fprintf(work->file, "<circle class=\"board\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", at->x,
                at->y, BOARD_RADIUS);
    }
    fprintf(work->file, " stroke=\"var(--ink)\" %s>", look);
    cli_page_put(work->file, "<title>", of->shape->name, of->is_dead ? ": dead" : "");
    fprintf(work->file, "</title></%s>\n", is_switch ? "rect" : "circle");
    if (work->subnet->node_count <= LABELS_MAX && *label_of(of->shape->name)) {
        fprintf(work->file,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" style=\"font-size:%dpx;"
                "pointer-events:none;fill:var(--%s)\">",
                at->x, at->y + (is_switch ? 3.2 : 2.5), is_switch ? 9 : 7,
                is_switch && !of->is_dead ? "paper" : "ink");
        cli_page_put(work->file, "", label_of(of->shape->name), "</text>\n");
    }
}

/* ---- The picture -------------------------------------------------------------------------- */

static bool any_is_dead(const struct work *work)
{
    bool any = false;
    for (uint32_t i = 0; i < work->cable_count; i++) {
        any = any || work->subnet->ports[work->cables[i]].is_cut;
    }
    return any;
}

static void put_key(const struct work *work)
{
    if (work->page->busy) {
        cli_page_load_key(work->file);
    }
    fputs("<div class=\"key\"><span>squares: switches; circles: boards</span>"
          "<span>each cable has two lines: what goes one way is on its right</span>",
          work->file);
    if (any_is_dead(work)) {
        fputs("<span>dashed: dead</span>", work->file);
    }
    if (work->layout.shape == SUBNET_GRID) {
        fputs("<span>what leaves the grid comes back at its other side</span>", work->file);
    }
    if (work->page->result && work->page->result->outcome == LOAD_DEADLOCKED) {
        fputs("<span style=\"color:" CIRCLE_COLOUR "\">wide: waits in the circle</span>",
              work->file);
    }
    fputs("</div>\n", work->file);
}

/* The busiest cables come last, on top of others. */
static void put_picture(struct work *work)
{
    FILE *file = work->file;
    const struct topology *topology = &work->subnet->topology;
    char title[TEXT_BYTES];
    subnet_layout_make(&work->layout, topology);
    (void)snprintf(title, sizeof title,
                   "%" PRIu32 " boards, %" PRIu32 " switches, %" PRIu32 " cables%s",
                   topology->board_count, topology->switch_count, work->cable_count / 2,
                   work->page->busy ? ", by their load" : "");
    cli_page_put(file, "<figure class=\"subnet\" style=\"max-width:none\"><figcaption>", title,
                 "</figcaption>\n");
    fprintf(file,
            "<div class=\"scroll\"><svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "aria-label=\"subnet\" style=\"min-width:%.0fpx;max-width:%.0fpx\">\n",
            work->layout.width, work->layout.height, fmin(0.8 * work->layout.width, WIDTH_MOST),
            fmax(1.8 * work->layout.width, 320));
    for (uint32_t i = work->cable_count; i > 0; i--) {
        draw_cable(work, work->cables[i - 1]);
    }
    for (uint32_t node = 0; node < work->subnet->node_count; node++) {
        draw_node(work, node);
    }
    fputs("</svg></div>\n", file);
    put_key(work);
    fputs("</figure>\n", file);
    subnet_layout_free(&work->layout);
}

/* ---- Tables ------------------------------------------------------------------------------- */

static void put_text(FILE *file, const char *what, const char *figure)
{
    cli_page_row_begin(file);
    cli_page_cell_text(file, what);
    cli_page_put(file, "<td class=\"number\">", figure, "</td>");
    cli_page_row_end(file);
}

static void put_count(FILE *file, const char *what, uint64_t count)
{
    char text[NUMBER_BYTES];
    put_text(file, what, grouped(count, text));
}

static void put_share(FILE *file, const char *what, double share)
{
    char text[NUMBER_BYTES];
    (void)snprintf(text, sizeof text, "%.1f %%", 100 * share);
    put_text(file, what, text);
}

static void put_number(FILE *file, const char *what, double number, int decimals)
{
    char text[2 * NUMBER_BYTES];
    (void)snprintf(text, sizeof text, "%.*f", decimals, number);
    put_text(file, what, text);
}

static void put_bridges(FILE *file, const struct bridge_counters *bridge)
{
    put_count(file, "frames", bridge->frames);
    put_count(file, "frames sent again", bridge->frames_resent);
    put_count(file, "time-outs of bridges", bridge->timeouts);
    put_count(file, "ACKs and NACKs", bridge->answers);
    put_count(file, "frames that found no memory", bridge->frames_dropped);
    put_count(file, "damaged frames that a CRC saw", bridge->frames_seen);
    put_count(file, "damaged frames that none saw", bridge->frames_wrong);
}

static void put_figures(FILE *file, const struct load_result *result)
{
    static const char *const columns[] = {"", ""};
    char text[NUMBER_BYTES + 40];
    cli_page_table_begin(file, "the run", columns, 2);
    put_text(file, "outcome", load_outcome_names[result->outcome]);
    put_share(file, "offered, of a board's cable", result->offered);
    put_share(file, "accepted", result->accepted);
    put_number(file, "MB/s of a board", result->mb_per_s, 1);
    if (!isnan(result->mean_ns) && result->most_ns > 0) {
        put_number(file, "mean latency, ns", result->mean_ns, 0);
        put_count(file, "50 % took at most, ns", result->p50_ns);
        put_count(file, "99 %", result->p99_ns);
        put_count(file, "99.9 %", result->p999_ns);
        put_count(file, "the slowest", result->most_ns);
    }
    put_count(file, "packets sent", result->sent);
    put_count(file, "delivered", result->delivered);
    put_count(file, "not delivered", result->lost);
    put_count(file, "doubled", result->doubled);
    put_count(file, "out of order", result->swapped);
    for (unsigned i = 0; i < FLOW_LOSSES; i++) {
        if (result->flow.lost[i] > 0) {
            (void)snprintf(text, sizeof text, "lost on the way: %s", flow_loss_names[i]);
            put_count(file, text, result->flow.lost[i]);
        }
    }
    if (result->bridge.frames > 0) {
        put_bridges(file, &result->bridge);
    }
    put_count(file, "link packets", result->flow.link_packets);
    put_number(file, "simulated time, us", (double)result->now_ps / 1e6, 1);
    put_count(file, "events", result->events);
    cli_page_table_end(file);
}

static void put_busiest(const struct work *work)
{
    static const char *const columns[] = {"from", "to", "busy, %", "packets", "waited, us"};
    const struct subnet *subnet = work->subnet;
    char name[NAME_BYTES], packets[NUMBER_BYTES];
    cli_page_table_begin(work->file, "the busiest cables", columns,
                         sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < work->cable_count && i < BUSIEST; i++) {
        uint32_t port = work->cables[i];
        const struct subnet_port *of = &subnet->ports[port];
        cli_page_row_begin(work->file);
        cli_page_cell_text(work->file, subnet_port_name(subnet, port, name, sizeof name));
        cli_page_cell_text(work->file, subnet_port_name(subnet, of->peer, name, sizeof name));
        cli_page_cell_number(work->file, 100 * busy_of(work, port), 1);
        cli_page_put(work->file, "<td class=\"number\">",
                     grouped(of->counters.xmit_packets, packets), "</td>");
        cli_page_cell_number(work->file, (double)of->counters.xmit_wait * FLOW_CYCLE_PS / 1e6, 1);
        cli_page_row_end(work->file);
    }
    cli_page_table_end(work->file);
}

bool subnet_page_write(const char *path, const struct subnet *subnet,
                       const struct subnet_page *page)
{
    struct work work = {.subnet = subnet, .page = page};
    bool is_deadlocked = page->result && page->result->outcome == LOAD_DEADLOCKED;
    work.file = cli_page_open(path, page->title, page->command);
    if (!work.file) {
        return false;
    }
    gather_cables(&work);
    mark_circle(&work, is_deadlocked ? page->result->circle : "");
    if (is_deadlocked) {
        cli_page_put(work.file, "<h2>", "Deadlock", "</h2>\n");
        cli_page_text(work.file, page->result->circle);
    }
    put_picture(&work);
    if (page->result) {
        put_figures(work.file, page->result);
    }
    if (page->busy) {
        put_busiest(&work);
    }
    free(work.cables);
    free(work.in_circle);
    return cli_page_close(work.file);
}
