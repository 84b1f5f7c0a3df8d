/* Tables as people read them: a row of the paper, below it what was simulated and the error; at
 * the end errors by kind, and bars. */
#define _GNU_SOURCE
#include "cli/sim/papers_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER_CHARS = 40, HEAD_CHARS = 48, COLUMN_CHARS_MIN = 10, ROW_CHARS = 36 };

void sim_papers_legend(void)
{
    puts("Behind a paper's figure: t taken (a value of the machine, or nothing of ours), f fitted\n"
         "on it, c a check of the model's own arithmetic, p predicted; ! a slip of the paper's.\n");
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* Prints five digits, or the words in their place, and two marks. */
static int put_value(char text[NUMBER_CHARS], double value, const char *words, char slip, char kind)
{
    if (words) {
        return snprintf(text, NUMBER_CHARS, "%s%c%c", words, slip, kind);
    }
    return isnan(value) ? snprintf(text, NUMBER_CHARS, "-  ")
                        : snprintf(text, NUMBER_CHARS, "%.5g%c%c", value, slip, kind);
}

static int put_paper(char text[NUMBER_CHARS], const struct papers_cell *cell)
{
    return put_value(text, cell->paper, cell->words, cell->slip ? '!' : ' ',
                     papers_kind_name(cell->kind)[0]);
}

enum line { LINE_PAPER, LINE_RIGHT, LINE_SIM, LINE_ERROR, LINES };

static void print_cell(const struct papers_cell *cell, enum line line, int width)
{
    char text[NUMBER_CHARS] = "";
    switch (line) {
    case LINE_PAPER: (void)put_paper(text, cell); break;
    case LINE_RIGHT: (void)put_value(text, cell->right, cell->words, ' ', ' '); break;
    case LINE_SIM: (void)put_value(text, cell->sim, NULL, ' ', ' '); break;
    case LINE_ERROR:
    case LINES:
        if (!isnan(cell->error_pct)) {
            (void)snprintf(text, sizeof text, "%+.2f %%", cell->error_pct);
        }
        break;
    }
    printf("%*s", width, text);
}

/* A row has all its lines only where they tell something. */
static bool has_line(const struct papers_table *table, const struct papers_sims *sims, unsigned row,
                     enum line line)
{
    for (unsigned column = 0; column < table->column_count; column++) {
        struct papers_cell cell = papers_cell(table, row, column, sims);
        if (line == LINE_PAPER || (line == LINE_RIGHT && cell.right != cell.paper) ||
            (line > LINE_RIGHT && !isnan(cell.sim))) {
            return true;
        }
    }
    return false;
}

static void print_row(const struct papers_table *table, const struct papers_sims *sims,
                      unsigned row, int width)
{
    static const char *const heads[LINES] = {
        [LINE_RIGHT] = "  compared with", [LINE_SIM] = "  simulated", [LINE_ERROR] = "  error"};
    for (unsigned line = 0; line < LINES; line++) {
        if (!has_line(table, sims, row, (enum line)line)) {
            continue;
        }
        char head[ROW_CHARS + 1];
        const char *unit = table->rows[row].unit;
        (void)snprintf(head, sizeof head, "%s%s%s",
                       line == LINE_PAPER ? table->rows[row].text : heads[line],
                       line == LINE_PAPER && unit && unit[0] ? ", " : "",
                       line == LINE_PAPER && unit ? unit : "");
        printf("%-*s", ROW_CHARS, head);
        for (unsigned column = 0; column < table->column_count; column++) {
            if (papers_has_cell(table, row, column)) {
                struct papers_cell cell = papers_cell(table, row, column, sims);
                print_cell(&cell, (enum line)line, width);
            } else {
                printf("%*s", width, "");
            }
        }
        (void)putchar('\n');
    }
}

/* A note that applies to several cells in a row is printed once. */
static void print_notes(const struct papers_table *table, const struct papers_sims *sims)
{
    const char *last = NULL;
    struct papers_cell cell = {0};
    while (papers_next(table, sims, &cell)) {
        if (cell.note && cell.note != last) {
            last = cell.note;
            printf("  %s, %s: %s\n", table->rows[cell.row].text, table->columns[cell.column].text,
                   cell.note);
        }
    }
}

/* Returns its length. */
static int column_head(const struct papers_column *column, char text[HEAD_CHARS])
{
    return snprintf(text, HEAD_CHARS, " %s%s%s  ", column->text, column->unit ? ", " : "",
                    column->unit ? column->unit : "");
}

static int column_width(const struct papers_table *table)
{
    char text[HEAD_CHARS];
    int width = COLUMN_CHARS_MIN;
    for (unsigned column = 0; column < table->column_count; column++) {
        int length = column_head(&table->columns[column], text);
        width = length > width ? length : width;
    }
    struct papers_cell cell = {0};
    while (papers_next(table, NULL, &cell)) {
        int length = put_paper(text, &cell) + 1;
        width = length > width ? length : width;
    }
    return width;
}

void sim_papers_table(const struct papers_table *table, const struct papers_sims *sims)
{
    char head[HEAD_CHARS];
    int width = column_width(table);
    bool is_number = table->name[0] >= '0' && table->name[0] <= '9';
    printf("Paper %s, %s%s: %s\n\n%-*s", table->source, is_number ? "Table " : "", table->name,
           table->title, ROW_CHARS, "");
    for (unsigned column = 0; column < table->column_count; column++) {
        (void)column_head(&table->columns[column], head);
        printf("%*s", width, head);
    }
    (void)putchar('\n');
    for (unsigned row = 0; row < table->row_count; row++) {
        print_row(table, sims, row, width);
    }
    print_notes(table, sims);
    (void)putchar('\n');
    (void)fflush(stdout);
}

/* ---- Summary ------------------------------------------------------------------------------ */

static void print_errors(const struct papers_errors *errors)
{
    char text[NUMBER_CHARS] = "-";
    if (errors->count > 0) {
        (void)snprintf(text, sizeof text, "%u: %.2f / %.2f %%", errors->count, errors->mean_pct,
                       errors->worst_pct);
    }
    printf(" %20s", text);
}

/* Mean and worst error of each kind. */
static void print_kinds(const struct papers_table *table, const struct papers_sims *sims)
{
    struct papers_errors errors[PAPERS_KINDS] = {{0}};
    struct papers_cell cell = {0};
    while (papers_next(table, sims, &cell)) {
        if (!isnan(cell.sim)) {
            (void)papers_errors_add(&errors[cell.kind], cell.error_pct);
        }
    }
    printf("%s/%-11s", table->source, table->name);
    for (unsigned kind = PAPERS_KINDS; kind-- > 0;) {
        print_errors(&errors[kind]);
    }
    (void)putchar('\n');
}

void sim_papers_put_predictions(char text[SIM_PAPERS_LINE_BYTES],
                                const struct papers_predictions *predictions)
{
    const struct papers_cell *worst = &predictions->worst;
    (void)snprintf(text, SIM_PAPERS_LINE_BYTES,
                   "all predictions: %u, mean error %.2f %%, worst %.2f %% (%s/%s: %s, %s)",
                   predictions->errors.count, predictions->errors.mean_pct,
                   predictions->errors.worst_pct, worst->table->source, worst->table->name,
                   worst->table->rows[worst->row].text, worst->table->columns[worst->column].text);
}

void sim_papers_put_without_bar(char text[SIM_PAPERS_LINE_BYTES],
                                const struct papers_predictions *predictions)
{
    (void)snprintf(text, SIM_PAPERS_LINE_BYTES, "predictions without a bar: %u of %u",
                   predictions->without_bar, predictions->errors.count);
}

/* The predictions of which a row of held bars says nothing. */
static void print_without_bar(const struct papers_predictions *predictions,
                              const struct papers_table *const *tables,
                              const struct papers_sims *all)
{
    char text[SIM_PAPERS_LINE_BYTES];
    if (predictions->without_bar == 0) {
        return;
    }
    sim_papers_put_without_bar(text, predictions);
    printf("\n%s\n", text);
    for (; *tables; tables++) {
        struct papers_cell cell = {0};
        while (papers_next(*tables, &all[papers_number(*tables)], &cell)) {
            if (cell.kind == PAPERS_PREDICTED && !papers_bar_of(&cell)) {
                printf("%s/%-10s %s, %s: %.5g %s in the paper, %.5g simulated, error %+.2f %%\n",
                       cell.table->source, cell.table->name, cell.table->rows[cell.row].text,
                       cell.table->columns[cell.column].text, cell.right, cell.unit, cell.sim,
                       cell.error_pct);
            }
        }
    }
}

static bool is_among(const struct papers_table *const *tables, const struct papers_table *wanted)
{
    while (*tables && *tables != wanted) {
        tables++;
    }
    return *tables != NULL;
}

void sim_papers_put_limit(char text[SIM_PAPERS_LINE_BYTES], const struct papers_bar *bar)
{
    const char *unit = papers_bar_unit(bar);
    if (bar->mean_pct > 0) {
        (void)snprintf(text, SIM_PAPERS_LINE_BYTES, "mean %g, worst %g %s", bar->mean_pct,
                       bar->worst_pct, unit);
    } else if (bar->worst_pct < 1e-6) {
        (void)snprintf(text, SIM_PAPERS_LINE_BYTES, "exact");
    } else {
        (void)snprintf(text, SIM_PAPERS_LINE_BYTES, "%g %s", bar->worst_pct, unit);
    }
}

static void print_bar(const struct papers_bar *bar, const struct papers_verdict *verdict)
{
    char limit[SIM_PAPERS_LINE_BYTES];
    sim_papers_put_limit(limit, bar);
    printf("%s/%-10s %-9s  %-30s %-21s %2u: mean %5.2f, worst %5.2f %-6s  %s\n", bar->table->source,
           bar->table->name, papers_kind_name(bar->kind), bar->text, limit, verdict->errors.count,
           verdict->errors.mean_pct, verdict->errors.worst_pct, papers_bar_unit(bar),
           verdict->held ? "held" : "MISSED");
}

/* Prints the bars of the predictions, or those of everything else. Bars with a mean are those of
 * what the paper measured as a whole; all their cells together are summed up, too. */
static void print_bars(const char *heading, const struct papers_table *const *tables,
                       const struct papers_sims *all, bool predictions)
{
    struct papers_errors together = {0};
    unsigned means = 0;
    const struct papers_bar *bar;
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        if ((bar->kind == PAPERS_PREDICTED) != predictions || !is_among(tables, bar->table)) {
            continue;
        }
        struct papers_verdict verdict = papers_judge(bar, &all[papers_number(bar->table)]);
        printf("%s", heading);
        heading = "";
        print_bar(bar, &verdict);
        if (bar->mean_pct > 0) {
            papers_errors_join(&together, &verdict.errors);
            means++;
        }
    }
    if (predictions && means > 1) {
        printf("Tables 5, 7 and 8 together, with the bars of a mean: %u cells, mean %.2f %%, worst "
               "%.2f %%\n",
               together.count, together.mean_pct, together.worst_pct);
    }
}

void sim_papers_summary(const struct papers_table *const *tables, const struct papers_sims *all)
{
    printf("%-15s", "mean / worst");
    for (unsigned kind = PAPERS_KINDS; kind-- > 0;) {
        printf(" %20s", papers_kind_name((enum papers_kind)kind));
    }
    (void)putchar('\n');
    for (unsigned i = 0; tables[i]; i++) {
        print_kinds(tables[i], &all[papers_number(tables[i])]);
    }
    struct papers_predictions predictions = papers_predictions(tables, all);
    if (predictions.errors.count > 0) {
        char text[SIM_PAPERS_LINE_BYTES];
        sim_papers_put_predictions(text, &predictions);
        printf("\n%s\n", text);
    }
    print_bars("\nbars of predictions\n", tables, all, true);
    print_without_bar(&predictions, tables, all);
    print_bars("\nno predictions: what was put in comes out again\n", tables, all, false);
}
