/* Tables of where time went, and the matrix of traffic as coloured squares. */
#include "cli/sim/program_page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim/page.h"

enum { TEXT_BYTES = 256, NODES_SHOWN = 64, PICTURE = 340, LEGEND = 12 };

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

/* A row for each sender, a column for each receiver. */
static void put_matrix(const struct program_report *report, FILE *page)
{
    uint32_t shown = report->node_count < NODES_SHOWN ? report->node_count : NODES_SHOWN;
    uint64_t most = bytes_most(report, shown);
    double side = (double)PICTURE / shown;
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text,
                   "Who sent how much to whom: a row for each sender, a column for each receiver"
                   "%s. Full colour is %" PRIu64 " bytes.",
                   shown < report->node_count ? " (the first 64 nodes)" : "", most);
    cli_page_text(page, text);
    (void)fprintf(page,
                  "<figure><svg role=\"img\" aria-label=\"traffic matrix\" viewBox=\"0 0 %d %d\">",
                  PICTURE + LEGEND, PICTURE + LEGEND);
    for (uint32_t i = 0; i < shown * shown; i++) {
        uint32_t from = i / shown;
        uint32_t to = i % shown;
        uint64_t bytes = bytes_between(report, from, to);
        if (bytes == 0) {
            continue;
        }
        (void)fprintf(page, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
                      to * side, from * side, side, side);
        cli_page_load_colour(page, (double)bytes / (double)most);
        (void)fprintf(page,
                      "\"><title>%" PRIu32 " to %" PRIu32 ": %" PRIu64 " bytes</title></rect>",
                      from, to, bytes);
    }
    (void)fprintf(page, "</svg></figure>\n");
    cli_page_load_key(page);
}

/* A bar for each node: what its time was made of, from the beginning to its end. */
static void put_bars(const struct program_report *report, uint64_t longest_ps, FILE *page)
{
    enum { BAR = 9, GAP = 3 };
    uint32_t shown = report->node_count < NODES_SHOWN ? report->node_count : NODES_SHOWN;
    static const char *const colours[] = {"#4c78a8", "#f2b134", "#b5b5b5"};
    static const char *const names[] = {"computed", "stored, polled, asked", "waited"};
    cli_page_text(page, "Where each node's time went: computing (blue), the CPU's steps (amber), "
                        "waiting (grey).");
    (void)fprintf(
        page,
        "<figure><svg role=\"img\" aria-label=\"time of each node\" viewBox=\"0 0 %d %" PRIu32
        "\">",
        PICTURE + 20, shown * (BAR + GAP));
    for (uint32_t rank = 0; rank < shown; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        const uint64_t parts[] = {times.compute_ps, times.working_ps, times.waiting_ps};
        double x = 20;
        for (unsigned i = 0; i < 3; i++) {
            double width = (double)parts[i] / (double)longest_ps * PICTURE;
            (void)fprintf(page,
                          "<rect x=\"%.2f\" y=\"%" PRIu32
                          "\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>node %" PRIu32
                          " %s for %.3f us</title></rect>",
                          x, rank * (BAR + GAP), width, BAR, colours[i], rank, names[i],
                          (double)parts[i] / 1e6);
            x += width;
        }
        (void)fprintf(page,
                      "<text x=\"0\" y=\"%" PRIu32
                      "\" font-size=\"8\" fill=\"currentColor\">%" PRIu32 "</text>",
                      rank * (BAR + GAP) + BAR - 1, rank);
    }
    (void)fprintf(page, "</svg></figure>\n");
}

static void put_nodes(const struct program_report *report, FILE *page)
{
    static const char *const columns[] = {"node", "end, us", "computed, us", "waited, us",
                                          "stored, polled and asked, us"};
    cli_page_table_begin(page, "Nodes", columns, sizeof columns / sizeof columns[0]);
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

static void put_counters(const struct sim_programs_result *result, FILE *page)
{
    static const char *const columns[] = {"", "count"};
    const struct sim_world_counters *counters = &result->counters;
    const struct {
        const char *name;
        uint64_t count;
    } rows[] = {
        {"calls of the programs", result->calls},
        {"packets", counters->packets},
        {"packets lost", counters->lost},
        {"links that sent again", counters->resends},
        {"header TLB misses", counters->header_misses},
        {"address TLB misses", counters->address_misses},
        {"requests to core processors", counters->core_requests},
    };
    cli_page_table_begin(page, "Network interfaces", columns, 2);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cli_page_row_begin(page);
        cli_page_cell_text(page, rows[i].name);
        cli_page_cell_number(page, (double)rows[i].count, 0);
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

bool cli_program_page(const struct program_report *report, const struct sim_programs_result *result)
{
    char title[TEXT_BYTES];
    char subtitle[TEXT_BYTES];
    uint64_t longest_ps = 1;
    for (uint32_t rank = 0; rank < report->node_count; rank++) {
        struct sim_program_times times;
        sim_programs_times(report->programs, rank, &times);
        longest_ps = times.end_ps > longest_ps ? times.end_ps : longest_ps;
    }
    (void)snprintf(title, sizeof title, "A program on %s", report->machine);
    (void)snprintf(subtitle, sizeof subtitle, "%" PRIu32 " nodes, %s: %.3f us of virtual time",
                   report->node_count, report->topology, (double)longest_ps / 1e6);
    FILE *page = cli_page_open(report->html, title, subtitle);
    if (!page) {
        return false;
    }
    put_bars(report, longest_ps, page);
    put_matrix(report, page);
    put_nodes(report, page);
    put_counters(result, page);
    return cli_page_close(page);
}
