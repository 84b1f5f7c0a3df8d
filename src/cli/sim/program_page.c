/* Tables of where time went, and the matrix of traffic as coloured squares;
 * program_timeline.c has the tracks. */
#include "cli/sim/program_page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/page.h"

enum {
    TEXT_BYTES = 256,
    NODES_SHOWN = CLI_PROGRAM_NODES_SHOWN,
    LINKS_SHOWN = 20,
    LABELS_MAX = 16,
    WIDTH = 360,
    LEFT = 26,
    RIGHT = 10,
    TOP = 16,
    SIDE_MAX = 24,
};

static uint64_t bytes_between(const struct program_report *report, uint32_t from, uint32_t to)
{
    uint64_t packets;
    uint64_t bytes;
    sim_programs_traffic(report->programs, from, to, &packets, &bytes);
    return bytes;
}

static uint64_t bytes_most(const struct program_report *report, uint32_t shown)
{
    uint64_t most = 1;
    for (uint32_t i = 0; i < shown * shown; i++) {
        uint64_t bytes = bytes_between(report, i / shown, i % shown);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void put_rank(FILE *page, double x, double y, const char *anchor, uint32_t rank)
{
    (void)fprintf(page, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%" PRIu32 "</text>\n", x, y,
                  anchor, rank);
}

static void put_squares(const struct program_report *report, uint32_t shown, uint64_t most,
                        double side, FILE *page)
{
    for (uint32_t i = 0; i < shown * shown; i++) {
        uint32_t from = i / shown;
        uint32_t to = i % shown;
        uint64_t bytes = bytes_between(report, from, to);
        if (bytes == 0) {
            continue;
        }
        (void)fprintf(page, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
                      LEFT + to * side, TOP + from * side, side, side);
        cli_page_load_colour(page, (double)bytes / (double)most);
        (void)fprintf(page,
                      "\"><title>%" PRIu32 " to %" PRIu32 ": %" PRIu64 " bytes</title></rect>\n",
                      from, to, bytes);
    }
}

/* A row for each sender, a column for each receiver. */
static void put_matrix(const struct program_report *report, FILE *page)
{
    uint32_t shown = report->node_count < NODES_SHOWN ? report->node_count : NODES_SHOWN;
    uint32_t step = (shown + LABELS_MAX - 1) / LABELS_MAX;
    uint64_t most = bytes_most(report, shown);
    double side = (double)(WIDTH - LEFT - RIGHT) / shown;
    char text[TEXT_BYTES];
    side = side < SIDE_MAX ? side : SIDE_MAX;
    (void)fprintf(page,
                  "<figure class=\"matrix\"><figcaption>Who sent how much to whom%s</figcaption>\n"
                  "<svg role=\"img\" aria-label=\"traffic matrix\" viewBox=\"0 0 %d %.1f\">\n",
                  shown < report->node_count ? " (the first 64 nodes)" : "", WIDTH,
                  TOP + shown * side + RIGHT);
    put_squares(report, shown, most, side, page);
    for (uint32_t rank = 0; rank < shown; rank += step) {
        put_rank(page, LEFT - 4, TOP + (rank + 0.5) * side + 3.5, "end", rank);
        put_rank(page, LEFT + (rank + 0.5) * side, TOP - 4, "middle", rank);
    }
    (void)fputs("</svg>\n", page);
    cli_page_load_key(page);
    (void)snprintf(text, sizeof text,
                   "A row for each sender, a column for each receiver. Full is %" PRIu64
                   " bytes of the library's packets.",
                   most);
    cli_page_text(page, text);
    (void)fputs("</figure>\n", page);
}

static void begin_table(FILE *page, const char *title, const char *const *columns, size_t count)
{
    cli_page_put(page, "<h2>", title, "</h2>\n");
    cli_page_table_begin(page, "", columns, count);
}

/* On one line, however narrow the page is: tables can be moved. */
static void put_name(FILE *page, const char *name)
{
    cli_page_put(page, "<td style=\"white-space:nowrap\">", name, "</td>");
}

static void put_nodes(const struct program_report *report, FILE *page)
{
    static const char *const columns[] = {"node", "end, us", "computed, us", "waited, us",
                                          "stored, polled and asked, us"};
    begin_table(page, "Nodes", columns, sizeof columns / sizeof columns[0]);
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        cli_page_row_begin(page);
        cli_page_cell_number(page, rank, 0);
        cli_page_cell_number(page, (double)times.end_ps / 1e6, 3);
        cli_page_cell_number(page, (double)times.compute_ps / 1e6, 3);
        cli_page_cell_number(page, (double)times.waiting_ps / 1e6, 3);
        cli_page_cell_number(page, (double)times.working_ps / 1e6, 3);
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

static void put_stages(const struct program_sums *sums, FILE *page)
{
    static const char *const columns[] = {"stage",    "packets",           "in all, us",
                                          "each, ns", "waited before, ns", "busy at most, %",
                                          "at node"};
    begin_table(page, "Stages of all network interfaces", columns,
                sizeof columns / sizeof columns[0]);
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        const struct program_stage_sum *sum = &sums->stages[stage];
        double count = (double)sum->use.count;
        if (sum->use.count == 0) {
            continue;
        }
        cli_page_row_begin(page);
        put_name(page, cli_program_stage_text(stage));
        cli_page_cell_number(page, count, 0);
        cli_page_cell_number(page, (double)sum->use.inside_ps / 1e6, 3);
        cli_page_cell_number(page, (double)sum->use.inside_ps / 1e3 / count, 1);
        cli_page_cell_number(page, (double)sum->use.waited_ps / 1e3 / count, 1);
        cli_page_cell_number(page, 100 * cli_program_share(sums, sum->busiest_ps), 1);
        cli_page_cell_number(page, sum->busiest, 0);
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

static void put_links(const struct program_sums *sums, FILE *page)
{
    static const char *const columns[] = {"link", "packets", "bytes", "busy, %",
                                          "longest wait, ns"};
    begin_table(page, "Hottest links", columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < sums->load_count && i < LINKS_SHOWN; i++) {
        const struct sim_network_load *load = &sums->loads[i];
        cli_page_row_begin(page);
        put_name(page, load->where);
        cli_page_cell_number(page, (double)load->packets, 0);
        cli_page_cell_number(page, (double)load->bytes, 0);
        cli_page_cell_number(page, 100 * cli_program_share(sums, load->busy_ps), 1);
        cli_page_cell_number(page, (double)load->wait_ps_max / 1e3, 1);
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

static void put_counters(const struct program_sums *sums, FILE *page)
{
    static const char *const columns[] = {"", "count"};
    const struct sim_nic_use *use = &sums->use;
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"steps and waits of the programs", sums->result.calls},
        {"packets", use->sent},
        {"bytes of them on the links", use->sent_bytes},
        {"packets lost", use->lost},
        {"packets sent again", use->repeats},
        {"links that sent again", sums->result.counters.resends},
        {"header TLB look-ups", use->header_lookups},
        {"header TLB misses", use->header_misses},
        {"address TLB look-ups", use->address_lookups},
        {"address TLB misses", use->address_misses},
        {"context look-ups", use->context_lookups},
        {"context misses", use->context_misses},
        {"requests to core processors", use->core_requests},
    };
    begin_table(page, "Network interfaces", columns, 2);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cli_page_row_begin(page);
        cli_page_cell_text(page, rows[i].name);
        cli_page_cell_number(page, (double)rows[i].count, 0);
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

bool cli_program_page(const struct program_report *report, const struct program_sums *sums)
{
    char title[TEXT_BYTES];
    char subtitle[TEXT_BYTES];
    (void)snprintf(title, sizeof title, "A program on %s", report->machine);
    (void)snprintf(subtitle, sizeof subtitle, "%" PRIu32 " node%s, %s: %.3f us of virtual time%s",
                   report->node_count, report->node_count == 1 ? "" : "s", report->topology,
                   (double)sums->times.end_ps / 1e6,
                   report->end == SIM_PROGRAMS_DONE ? "" : "; it did not come to its end");
    FILE *page = cli_page_open(report->html, title, subtitle);
    if (!page) {
        return false;
    }
    cli_program_timeline(page, report, sums);
    put_stages(sums, page);
    put_links(sums, page);
    put_matrix(report, page);
    put_counters(sums, page);
    put_nodes(report, page);
    return cli_page_close(page);
}
