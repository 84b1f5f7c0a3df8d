/* The page has the bars, charts of what was predicted and of all errors, and a table for each
 * table of the papers. */
#include "cli/sim/papers_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/sim/page.h"

enum { CELLS_MAX = 1024, ERROR_PCT_SHOWN = 20, TEXT_BYTES = 160 };

/* ---- Cells ------------------------------------------------------------------------------- */

struct errors {
    double cell[PAPERS_KINDS][CELLS_MAX];
    double error_pct[PAPERS_KINDS][CELLS_MAX];
    size_t counts[PAPERS_KINDS];
    unsigned number; /* of cells so far */
};

static void put_cell(FILE *page, const struct papers_cell *cell, struct errors *errors)
{
    cli_page_row_begin(page);
    cli_page_cell_text(page, cell->table->rows[cell->row].text);
    cli_page_cell_text(page, cell->table->columns[cell->column].text);
    cli_page_cell_text(page, cell->unit);
    if (cell->words) {
        cli_page_cell_text(page, cell->words);
    } else {
        cli_page_cell_number(page, cell->paper, 2);
    }
    cli_page_cell_number(page, cell->slip ? cell->right : NAN, 2);
    cli_page_cell_number(page, cell->sim, 2);
    cli_page_cell_number(page, cell->error_pct, 2);
    cli_page_cell_text(page, papers_kind_name(cell->kind));
    cli_page_cell_text(page, cell->note ? cell->note : "");
    cli_page_row_end(page);
    errors->number++;
    if (!isnan(cell->error_pct) && errors->counts[cell->kind] < CELLS_MAX) {
        size_t at = errors->counts[cell->kind]++;
        errors->cell[cell->kind][at] = errors->number;
        errors->error_pct[cell->kind][at] = cell->error_pct;
    }
}

static void put_table(FILE *page, const struct papers_table *table, const struct papers_sims *sims,
                      struct errors *errors)
{
    static const char *const columns[] = {"row",       "column",   "unit", "paper", "slip: rather",
                                          "simulated", "error, %", "kind", ""};
    char caption[TEXT_BYTES];
    struct papers_cell cell = {0};
    (void)snprintf(caption, sizeof caption, "Paper %s, %s: %s", table->source, table->name,
                   table->title);
    cli_page_table_begin(page, caption, columns, sizeof columns / sizeof columns[0]);
    while (papers_next(table, sims, &cell)) {
        put_cell(page, &cell, errors);
    }
    cli_page_table_end(page);
}

static void put_errors(FILE *page, const struct errors *errors)
{
    char title[TEXT_BYTES];
    (void)snprintf(title, sizeof title, "error of every cell, up to %d %%, in the order above",
                   ERROR_PCT_SHOWN);
    struct cli_chart chart = {.title = title,
                              .x_label = "cell",
                              .y_label = "error, %",
                              .y_most = ERROR_PCT_SHOWN,
                              .series_count = PAPERS_KINDS};
    for (unsigned i = 0; i < PAPERS_KINDS; i++) {
        enum papers_kind kind = (enum papers_kind)(PAPERS_KINDS - 1 - i);
        chart.series[i] = (struct cli_series){.name = papers_kind_name(kind),
                                              .x = errors->cell[kind],
                                              .y = errors->error_pct[kind],
                                              .count = errors->counts[kind],
                                              .style = CLI_POINTS};
    }
    cli_page_chart(page, &chart);
}

/* ---- Predictions -------------------------------------------------------------------------- */

enum { LINES = 3, TABLES_MAX = CLI_SERIES_MAX - LINES };

struct scatter {
    char names[TABLES_MAX][TEXT_BYTES];
    double paper[TABLES_MAX][CELLS_MAX], sim[TABLES_MAX][CELLS_MAX];
    size_t counts[TABLES_MAX];
    unsigned tables;
    double least, most; /* of the papers' figures */
};

/* Takes a table's predicted cells, in nanoseconds or in any other unit. */
static void scatter_table(struct scatter *scatter, const struct papers_table *table,
                          const struct papers_sims *sims, bool in_ns)
{
    size_t count = 0;
    struct papers_cell cell = {0};
    while (papers_next(table, sims, &cell)) {
        if (cell.kind != PAPERS_PREDICTED || isnan(cell.sim) ||
            (strcmp(cell.unit, "ns") == 0) != in_ns || scatter->tables == TABLES_MAX ||
            count == CELLS_MAX) {
            continue;
        }
        scatter->paper[scatter->tables][count] = cell.right;
        scatter->sim[scatter->tables][count++] = cell.sim;
        scatter->least = fmin(scatter->least, cell.right);
        scatter->most = fmax(scatter->most, cell.right);
    }
    if (count > 0) {
        (void)snprintf(scatter->names[scatter->tables], TEXT_BYTES, "%s/%s", table->source,
                       table->name);
        scatter->counts[scatter->tables++] = count;
    }
}

/* The papers' figures to the right, ours upwards: the diagonal is where they are the same. */
static void put_scatter(FILE *page, const struct papers_sims *all, bool in_ns)
{
    static const double shares[LINES] = {1, 1.1, 0.9};
    static const char *const names[LINES] = {"the same", "+10 %", "-10 %"};
    static struct scatter scatter;
    scatter = (struct scatter){.least = INFINITY, .most = 0};
    for (unsigned number = 0; papers_table(number); number++) {
        scatter_table(&scatter, papers_table(number), &all[number], in_ns);
    }
    if (scatter.tables == 0) {
        return;
    }
    struct cli_chart chart = {.title = in_ns ? "predicted times: the papers' and ours"
                                             : "other predictions: the papers' and ours",
                              .x_label = in_ns ? "paper, ns" : "paper, MB/s or %",
                              .y_label = in_ns ? "simulated, ns" : "simulated, MB/s or %",
                              .x_is_logarithmic = true,
                              .y_is_logarithmic = true};
    for (unsigned i = 0; i < scatter.tables; i++) {
        chart.series[chart.series_count++] = (struct cli_series){.name = scatter.names[i],
                                                                 .x = scatter.paper[i],
                                                                 .y = scatter.sim[i],
                                                                 .count = scatter.counts[i],
                                                                 .style = CLI_POINTS};
    }
    const double x[2] = {scatter.least / 1.1, scatter.most * 1.1};
    double y[LINES][2];
    for (unsigned i = 0; i < LINES; i++) {
        y[i][0] = shares[i] * x[0];
        y[i][1] = shares[i] * x[1];
        chart.series[chart.series_count++] = (struct cli_series){
            .name = names[i], .x = x, .y = y[i], .count = 2, .style = CLI_LINE};
    }
    cli_page_chart(page, &chart);
}

/* ---- The page ------------------------------------------------------------------------------ */

static void put_bars(FILE *page, const struct papers_sims *all)
{
    static const char *const columns[] = {"table", "bar", "cells", "mean", "worst", "", ""};
    const struct papers_bar *bar;
    cli_page_table_begin(page, "bars", columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        struct papers_verdict verdict = papers_judge(bar, &all[papers_number(bar->table)]);
        char name[TEXT_BYTES];
        (void)snprintf(name, sizeof name, "%s/%s", bar->table->source, bar->table->name);
        cli_page_row_begin(page);
        cli_page_cell_text(page, name);
        (void)snprintf(name, sizeof name, "%s: %s", papers_kind_name(bar->kind), bar->text);
        cli_page_cell_text(page, name);
        cli_page_cell_number(page, verdict.errors.count, 0);
        cli_page_cell_number(page, verdict.errors.mean_pct, 2);
        cli_page_cell_number(page, verdict.errors.worst_pct, 2);
        cli_page_cell_text(page, papers_bar_unit(bar));
        cli_page_cell_text(page, verdict.held ? "held" : "missed");
        cli_page_row_end(page);
    }
    cli_page_table_end(page);
}

bool sim_papers_page(const char *path, const struct papers_sims *all)
{
    static struct errors errors;
    FILE *page = cli_page_open(path, "The papers' figures, simulated",
                               "DIMMnet-1, Fagus on it, InfiniSWIF: what the papers "
                               "print, and what the simulated machines do");
    if (!page) {
        return false;
    }
    errors = (struct errors){0};
    cli_page_text(page, "A figure is taken (a value of the machine, or nothing of ours), fitted "
                        "(used to fit a value), a check (it follows from those: the model's own "
                        "arithmetic), or predicted. Only predictions can show that the model is "
                        "wrong.");
    put_scatter(page, all, true);
    put_scatter(page, all, false);
    put_bars(page, all);
    for (unsigned number = 0; papers_table(number); number++) {
        put_table(page, papers_table(number), &all[number], &errors);
    }
    put_errors(page, &errors);
    return cli_page_close(page);
}
