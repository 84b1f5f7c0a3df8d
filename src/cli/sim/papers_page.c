/* The page has a chart of all errors, and a table for each table of the papers. */
#include "cli/sim/papers_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/sim/page.h"

enum { CELLS_MAX = 1024, ERROR_PCT_SHOWN = 20, TEXT_BYTES = 160 };

enum kind { PREDICTED, FITTED, TAKEN, KINDS };
static const char *const kind_names[KINDS] = {"predicted", "fitted", "taken"};

static enum kind kind_of(const struct papers_cell *cell)
{
    return cell->taken ? TAKEN : cell->fitted ? FITTED : PREDICTED;
}

struct errors {
    double cell[KINDS][CELLS_MAX];
    double error_pct[KINDS][CELLS_MAX];
    size_t counts[KINDS];
    unsigned number; /* of cells so far */
};

static void put_cell(FILE *page, const struct papers_cell *cell, struct errors *errors)
{
    enum kind kind = kind_of(cell);
    cli_page_row_begin(page);
    cli_page_cell_text(page, cell->table->rows[cell->row].text);
    cli_page_cell_text(page, cell->table->columns[cell->column].text);
    cli_page_cell_text(page, cell->unit);
    cli_page_cell_number(page, cell->paper, 2);
    cli_page_cell_number(page, cell->sim, 2);
    cli_page_cell_number(page, cell->error_pct, 2);
    cli_page_cell_text(page, isnan(cell->sim) ? "not ours" : kind_names[kind]);
    cli_page_cell_text(page, cell->note ? cell->note : "");
    cli_page_row_end(page);
    errors->number++;
    if (!isnan(cell->error_pct) && errors->counts[kind] < CELLS_MAX) {
        size_t at = errors->counts[kind]++;
        errors->cell[kind][at] = errors->number;
        errors->error_pct[kind][at] = cell->error_pct;
    }
}

static void put_table(FILE *page, const struct papers_table *table, const struct papers_sims *sims,
                      struct errors *errors)
{
    static const char *const columns[] = {"row",       "column",   "unit", "paper",
                                          "simulated", "error, %", "",     ""};
    char caption[TEXT_BYTES];
    (void)snprintf(caption, sizeof caption, "Paper %s, %s: %s", table->source, table->name,
                   table->title);
    cli_page_table_begin(page, caption, columns, sizeof columns / sizeof columns[0]);
    for (unsigned row = 0; row < table->row_count; row++) {
        for (unsigned column = 0; column < table->column_count; column++) {
            if (papers_has_cell(table, row, column)) {
                struct papers_cell cell = papers_cell(table, row, column, sims);
                put_cell(page, &cell, errors);
            }
        }
    }
    cli_page_table_end(page);
}

static void put_errors(FILE *page, const struct errors *errors)
{
    char title[TEXT_BYTES];
    (void)snprintf(title, sizeof title, "error of every cell, up to %d %%, in the order below",
                   ERROR_PCT_SHOWN);
    struct cli_chart chart = {.title = title,
                              .x_label = "cell",
                              .y_label = "error, %",
                              .y_most = ERROR_PCT_SHOWN,
                              .series_count = KINDS};
    for (unsigned kind = 0; kind < KINDS; kind++) {
        chart.series[kind] = (struct cli_series){.name = kind_names[kind],
                                                 .x = errors->cell[kind],
                                                 .y = errors->error_pct[kind],
                                                 .count = errors->counts[kind],
                                                 .points_only = true};
    }
    cli_page_chart(page, &chart);
}

static void put_bars(FILE *page, const struct papers_sims *all)
{
    static const char *const columns[] = {"table", "bar", "mean", "worst", ""};
    cli_page_table_begin(page, "bars", columns, sizeof columns / sizeof columns[0]);
    for (unsigned i = 0; papers_bar(i); i++) {
        const struct papers_bar *bar = papers_bar(i);
        for (unsigned number = 0; papers_table(number); number++) {
            const struct papers_table *table = papers_table(number);
            if (strcmp(table->source, bar->source) != 0 || strcmp(table->name, bar->table) != 0) {
                continue;
            }
            struct papers_verdict verdict = papers_judge(bar, table, &all[number]);
            if (verdict.known) {
                char name[TEXT_BYTES];
                (void)snprintf(name, sizeof name, "%s/%s", table->source, table->name);
                cli_page_row_begin(page);
                cli_page_cell_text(page, name);
                cli_page_cell_text(page, bar->text);
                cli_page_cell_number(page, verdict.mean, 2);
                cli_page_cell_number(page, verdict.worst, 2);
                cli_page_cell_text(page, verdict.held ? "held" : "missed");
                cli_page_row_end(page);
            }
        }
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
    put_bars(page, all);
    for (unsigned number = 0; papers_table(number); number++) {
        put_table(page, papers_table(number), &all[number], &errors);
    }
    put_errors(page, &errors);
    return cli_page_close(page);
}
