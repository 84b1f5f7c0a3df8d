/* The page has the bars, charts of what was predicted and of all errors, and a table for each
 * table of the papers. Charts leave nothing out: their scales follow the figures. */
#include "cli/sim/papers_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/sim/page.h"
#include "cli/sim/papers_text.h"

enum { CELLS_MAX = 1024, TEXT_BYTES = 160 };

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
    if (!isnan(cell->error_pct)) {
        INVARIANT(errors->counts[cell->kind] < CELLS_MAX);
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
    struct cli_chart chart = {.title = "error of every cell, in the order above",
                              .x_label = "cell",
                              .y_label = "error, %",
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
    double least, most; /* of the papers' figures and ours */
};

/* Takes a table's predicted cells in that unit. */
static void scatter_table(struct scatter *scatter, const struct papers_table *table,
                          const struct papers_sims *sims, const char *unit)
{
    size_t count = 0;
    struct papers_cell cell = {0};
    while (papers_next(table, sims, &cell)) {
        if (cell.kind != PAPERS_PREDICTED || isnan(cell.sim) || strcmp(cell.unit, unit) != 0) {
            continue;
        }
        INVARIANT(scatter->tables < TABLES_MAX && count < CELLS_MAX);
        scatter->paper[scatter->tables][count] = cell.right;
        scatter->sim[scatter->tables][count++] = cell.sim;
        scatter->least = fmin(scatter->least, fmin(cell.right, cell.sim));
        scatter->most = fmax(scatter->most, fmax(cell.right, cell.sim));
    }
    if (count > 0) {
        (void)snprintf(scatter->names[scatter->tables], TEXT_BYTES, "%s/%s", table->source,
                       table->name);
        scatter->counts[scatter->tables++] = count;
    }
}

/* The papers' figures to the right, ours upwards: the diagonal is where they are the same. */
static void put_scatter(FILE *page, const struct papers_table *const *tables,
                        const struct papers_sims *all, const char *title, const char *unit)
{
    static const double shares[LINES] = {1, 1.1, 0.9};
    static const char *const names[LINES] = {"the same", "+10 %", "-10 %"};
    static struct scatter scatter;
    scatter = (struct scatter){.least = INFINITY, .most = 0};
    for (; *tables; tables++) {
        scatter_table(&scatter, *tables, &all[papers_number(*tables)], unit);
    }
    if (scatter.tables == 0) {
        return;
    }
    char x_label[TEXT_BYTES];
    char y_label[TEXT_BYTES];
    (void)snprintf(x_label, sizeof x_label, "paper, %s", unit);
    (void)snprintf(y_label, sizeof y_label, "simulated, %s", unit);
    struct cli_chart chart = {.title = title,
                              .x_label = x_label,
                              .y_label = y_label,
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

static void put_bar_row(FILE *page, const struct papers_table *table, const char *text,
                        const char *limit, const struct papers_errors *errors, const char *unit,
                        const char *verdict)
{
    char name[TEXT_BYTES];
    (void)snprintf(name, sizeof name, "%s/%s", table->source, table->name);
    cli_page_row_begin(page);
    cli_page_cell_text(page, name);
    cli_page_cell_text(page, text);
    cli_page_cell_text(page, limit);
    cli_page_cell_number(page, errors->count, 0);
    cli_page_cell_number(page, errors->mean_pct, 2);
    cli_page_cell_number(page, errors->worst_pct, 2);
    cli_page_cell_text(page, unit);
    cli_page_cell_text(page, verdict);
    cli_page_row_end(page);
}

/* Predictions of which the bars say nothing, beside the bars. */
static void put_without_bar(FILE *page, const struct papers_table *table,
                            const struct papers_sims *sims)
{
    struct papers_cell cell = {0};
    while (papers_next(table, sims, &cell)) {
        if (cell.kind == PAPERS_PREDICTED && !papers_bar_of(&cell)) {
            char text[TEXT_BYTES];
            struct papers_errors errors = {0};
            (void)papers_errors_add(&errors, cell.error_pct);
            (void)snprintf(text, sizeof text, "%s: %s, %s", papers_kind_name(cell.kind),
                           table->rows[cell.row].text, table->columns[cell.column].text);
            put_bar_row(page, table, text, "none", &errors, "%", "no bar");
        }
    }
}

static void put_bars(FILE *page, const struct papers_table *const *tables,
                     const struct papers_sims *all)
{
    static const char *const columns[] = {"table", "bar",   "limit", "cells",
                                          "mean",  "worst", "",      ""};
    const struct papers_bar *bar;
    cli_page_table_begin(page, "bars", columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        struct papers_verdict verdict = papers_judge(bar, &all[papers_number(bar->table)]);
        char text[TEXT_BYTES];
        char limit[SIM_PAPERS_LINE_BYTES];
        (void)snprintf(text, sizeof text, "%s: %s", papers_kind_name(bar->kind), bar->text);
        sim_papers_put_limit(limit, bar);
        put_bar_row(page, bar->table, text, limit, &verdict.errors, papers_bar_unit(bar),
                    verdict.held ? "held" : "missed");
    }
    for (; *tables; tables++) {
        put_without_bar(page, *tables, &all[papers_number(*tables)]);
    }
    cli_page_table_end(page);
}

static void put_predictions(FILE *page, const struct papers_table *const *tables,
                            const struct papers_sims *all)
{
    char text[SIM_PAPERS_LINE_BYTES];
    struct papers_predictions predictions = papers_predictions(tables, all);
    sim_papers_put_predictions(text, &predictions);
    cli_page_text(page, text);
    if (predictions.without_bar > 0) {
        sim_papers_put_without_bar(text, &predictions);
        cli_page_text(page, text);
    }
}

bool sim_papers_page(const char *path, const struct papers_table *const *tables,
                     const struct papers_sims *all)
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
                        "(used to fit a value), a check (it follows from what went in: the model's "
                        "own arithmetic), or predicted. Only predictions can show that the model "
                        "is wrong.");
    put_predictions(page, tables, all);
    put_scatter(page, tables, all, "predicted times: the papers' and ours", "ns");
    put_scatter(page, tables, all, "predicted shares: the papers' and ours", "%");
    put_bars(page, tables, all);
    for (; *tables; tables++) {
        put_table(page, *tables, &all[papers_number(*tables)], &errors);
    }
    put_errors(page, &errors);
    return cli_page_close(page);
}
