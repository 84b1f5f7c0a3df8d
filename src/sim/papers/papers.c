/* Cells, errors and bars. */
#include "sim/papers/papers.h"

#include <math.h>
#include <string.h>

#include "sim/papers/tables.h"

static const struct papers_table *const tables[] = {
    &papers_000_1,         &papers_000_2,     &papers_000_3,       &papers_000_4,
    &papers_000_5,         &papers_000_6,     &papers_000_7,       &papers_000_8,
    &papers_000_9,         &papers_001_1,     &papers_001_2,       &papers_001_3,
    &papers_002_1,         &papers_002_2,     &papers_002_latency, &papers_002_ratios,
    &papers_002_bandwidth, &papers_002_curve, &papers_003_2,       &papers_003_3,
};

const struct papers_table *papers_table(unsigned number)
{
    return number < PAPERS_COUNT(tables) ? tables[number] : NULL;
}

unsigned papers_number(const struct papers_table *table)
{
    unsigned number = 0;
    while (tables[number] != table) {
        number++;
        INVARIANT(number < PAPERS_COUNT(tables));
    }
    return number;
}

/* ---- Cells ------------------------------------------------------------------------------- */

static const char *const kind_names[PAPERS_KINDS] = {
    [PAPERS_TAKEN] = "taken",
    [PAPERS_FITTED] = "fitted",
    [PAPERS_CHECK] = "check",
    [PAPERS_PREDICTED] = "predicted",
};

const char *papers_kind_name(enum papers_kind kind)
{
    return kind_names[kind];
}

static enum papers_kind kind_of(char letter)
{
    unsigned kind = 0;
    while (kind < PAPERS_KINDS && kind_names[kind][0] != letter) {
        kind++;
    }
    INVARIANT(kind < PAPERS_KINDS);
    return (enum papers_kind)kind;
}

void papers_sims_init(struct papers_sims *sims)
{
    for (unsigned row = 0; row < PAPERS_ROWS_MAX; row++) {
        for (unsigned column = 0; column < PAPERS_COLUMNS_MAX; column++) {
            sims->value[row][column] = NAN;
        }
    }
}

static double printed(const struct papers_table *table, unsigned row, unsigned column)
{
    return table->printed ? table->printed(row, column) : table->rows[row].printed[column];
}

static const char *words(const struct papers_table *table, unsigned row, unsigned column)
{
    return table->words ? table->words[row][column] : NULL;
}

bool papers_has_cell(const struct papers_table *table, unsigned row, unsigned column)
{
    return printed(table, row, column) != 0 || words(table, row, column);
}

static const struct papers_note *find_note(const struct papers_table *table, unsigned row,
                                           unsigned column)
{
    for (const struct papers_note *note = table->notes; note->text; note++) {
        if ((note->row == row || note->row == PAPERS_ALL) &&
            (note->column == column || note->column == PAPERS_ALL)) {
            return note;
        }
    }
    return NULL;
}

struct papers_cell papers_cell(const struct papers_table *table, unsigned row, unsigned column,
                               const struct papers_sims *sims)
{
    INVARIANT(row < table->row_count && column < table->column_count);
    const struct papers_row *of_row = &table->rows[row];
    const struct papers_note *note = find_note(table, row, column);
    struct papers_cell cell = {
        .table = table,
        .row = row,
        .column = column,
        .unit = of_row->unit ? of_row->unit : table->columns[column].unit,
        .kind = kind_of(of_row->kinds[column]),
        .paper = printed(table, row, column),
        .words = words(table, row, column),
        .sim = sims ? sims->value[row][column] : NAN,
        .slip = table->right || (note && note->right > 0),
        .note = note ? note->text : NULL,
    };
    cell.right = table->right              ? table->right(row, column)
                 : note && note->right > 0 ? note->right
                                           : cell.paper;
    cell.error_pct = 100.0 * (cell.sim - cell.right) / cell.right;
    return cell;
}

bool papers_next(const struct papers_table *table, const struct papers_sims *sims,
                 struct papers_cell *cell)
{
    unsigned place = cell->table ? cell->row * table->column_count + cell->column + 1 : 0;
    for (; place < table->row_count * table->column_count; place++) {
        unsigned row = place / table->column_count;
        unsigned column = place % table->column_count;
        if (papers_has_cell(table, row, column)) {
            *cell = papers_cell(table, row, column, sims);
            return true;
        }
    }
    return false;
}

/* ---- Errors ------------------------------------------------------------------------------ */

bool papers_errors_add(struct papers_errors *errors, double error_pct)
{
    double size = fabs(error_pct);
    bool is_worst = errors->count == 0 || size > errors->worst_pct;
    errors->mean_pct = (errors->mean_pct * errors->count + size) / (errors->count + 1);
    errors->count++;
    errors->worst_pct = is_worst ? size : errors->worst_pct;
    return is_worst;
}

void papers_errors_join(struct papers_errors *errors, const struct papers_errors *more)
{
    unsigned count = errors->count + more->count;
    if (count > 0) {
        errors->mean_pct = (errors->mean_pct * errors->count + more->mean_pct * more->count) /
                           count;
        errors->worst_pct = fmax(errors->worst_pct, more->worst_pct);
        errors->count = count;
    }
}

/* ---- Bars -------------------------------------------------------------------------------- */

#define ALL_ROWS (~0U)
#define ROW(n) (1U << (n))
/* Table 5 without its last row. */
#define LOOPS (ROW(0) | ROW(1) | ROW(2))
/* Doubles of nanoseconds are exact to this. */
#define EXACTLY 1e-9

/* Table 5's last row is the difference of the two before, a tenth as large. Its bar is what the
 * paper's own boards with the same link and cable differ by: A, B and F have 108 to 146 ns.
 * Table 3 of paper 001 has a prediction without a bar: the paper does not say which synchronisation
 * it means, and a limit could only be chosen to suit our reading. */
static const struct papers_bar bars[] = {
    {PAPERS_PREDICTED, "round trips and loops", &papers_000_5, LOOPS, 5, 10, false},
    {PAPERS_PREDICTED, "outside the SWIF", &papers_000_5, ROW(3), 0, 15, false},
    {PAPERS_PREDICTED, "barriers", &papers_000_7, ALL_ROWS, 5, 10, false},
    {PAPERS_PREDICTED, "global sums", &papers_000_8, ALL_ROWS, 5, 10, false},
    {PAPERS_PREDICTED, "Fagus, share of BOTF", &papers_001_3, ROW(2), 0, 10, false},
    {PAPERS_CHECK, "pipeline, totals", &papers_000_6, ALL_ROWS, 0, EXACTLY, false},
    {PAPERS_CHECK, "remote write", &papers_000_9, ROW(0), 0, 2, false},
    {PAPERS_CHECK, "BOTF, one way and both", &papers_000_9, ROW(3) | ROW(4), 0, 3, false},
    {PAPERS_CHECK, "InfiniSWIF, CD/UD and miss/hit", &papers_002_ratios, ALL_ROWS, 0, 1, true},
    {PAPERS_CHECK, "InfiniSWIF, sustained", &papers_002_bandwidth, ROW(0), 0, 3, false},
    {PAPERS_CHECK, "InfiniSWIF, equation 2", &papers_002_curve, ALL_ROWS, 0, 3, false},
    {PAPERS_FITTED, "round trips and loops", &papers_000_5, LOOPS, 5, 10, false},
    {PAPERS_FITTED, "barriers", &papers_000_7, ALL_ROWS, 5, 10, false},
    {PAPERS_FITTED, "global sums", &papers_000_8, ALL_ROWS, 5, 10, false},
    {PAPERS_FITTED, "Fagus, ms per send", &papers_001_1, ALL_ROWS, 0, 10, false},
    {PAPERS_FITTED, "Fagus, barriers", &papers_001_2, ALL_ROWS, 0, 10, false},
    {PAPERS_FITTED, "Fagus, share of bank switching", &papers_001_3, ROW(0), 0, 10, false},
    {PAPERS_FITTED, "InfiniSWIF, 8 bytes by CD", &papers_002_latency, ALL_ROWS, 0, 1, false},
    {PAPERS_TAKEN, "pipeline, stages", &papers_000_6, ALL_ROWS, 0, EXACTLY, false},
};

const struct papers_bar *papers_bar(unsigned number)
{
    return number < PAPERS_COUNT(bars) ? &bars[number] : NULL;
}

static bool counts(const struct papers_bar *bar, const struct papers_cell *cell)
{
    return bar->table == cell->table && bar->kind == cell->kind && (bar->rows >> cell->row & 1);
}

const struct papers_bar *papers_bar_of(const struct papers_cell *cell)
{
    for (unsigned i = 0; i < PAPERS_COUNT(bars); i++) {
        if (counts(&bars[i], cell)) {
            return &bars[i];
        }
    }
    return NULL;
}

struct papers_verdict papers_judge(const struct papers_bar *bar, const struct papers_sims *sims)
{
    struct papers_verdict verdict = {.known = true};
    struct papers_cell cell = {0};
    while (papers_next(bar->table, sims, &cell)) {
        if (!counts(bar, &cell)) {
            continue;
        }
        verdict.known = verdict.known && !isnan(cell.sim);
        (void)papers_errors_add(&verdict.errors,
                                bar->points ? cell.sim - cell.right : cell.error_pct);
    }
    verdict.held = verdict.known && verdict.errors.worst_pct <= bar->worst_pct &&
                   (bar->mean_pct == 0 || verdict.errors.mean_pct <= bar->mean_pct);
    return verdict;
}

struct papers_predictions papers_predictions(const struct papers_table *const *chosen,
                                             const struct papers_sims *all)
{
    struct papers_predictions predictions = {0};
    for (; *chosen; chosen++) {
        struct papers_cell cell = {0};
        while (papers_next(*chosen, &all[papers_number(*chosen)], &cell)) {
            if (cell.kind != PAPERS_PREDICTED) {
                continue;
            }
            if (papers_errors_add(&predictions.errors, cell.error_pct)) {
                predictions.worst = cell;
            }
            predictions.without_bar += papers_bar_of(&cell) == NULL;
        }
    }
    return predictions;
}
