/* Cells, errors and bars. */
#include "sim/papers/papers.h"

#include <math.h>
#include <string.h>

#include "sim/papers/tables.h"

static const struct papers_table *const tables[] = {
    &papers_000_1,       &papers_000_4,      &papers_000_5,         &papers_000_6,
    &papers_000_7,       &papers_000_8,      &papers_000_9,         &papers_001_1,
    &papers_001_2,       &papers_001_3,      &papers_002_1,         &papers_002_2,
    &papers_002_latency, &papers_002_ratios, &papers_002_bandwidth, &papers_002_curve,
};

const struct papers_table *papers_table(unsigned number)
{
    return number < PAPERS_COUNT(tables) ? tables[number] : NULL;
}

/* ---- Cells ------------------------------------------------------------------------------- */

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

bool papers_has_cell(const struct papers_table *table, unsigned row, unsigned column)
{
    return printed(table, row, column) != 0;
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
        .paper = printed(table, row, column),
        .sim = sims ? sims->value[row][column] : NAN,
        .fitted = of_row->fitted >> column & 1,
        .taken = of_row->taken >> column & 1,
        .note = note ? note->text : NULL,
    };
    cell.right = table->right              ? table->right(row, column)
                 : note && note->right > 0 ? note->right
                                           : cell.paper;
    cell.error_pct = 100.0 * (cell.sim - cell.right) / cell.right;
    return cell;
}

/* ---- Errors ------------------------------------------------------------------------------ */

void papers_errors_add(struct papers_errors *errors, double error_pct)
{
    double size = fabs(error_pct);
    errors->mean_pct = (errors->mean_pct * errors->count + size) / (errors->count + 1);
    errors->count++;
    if (size > errors->worst_pct) {
        errors->worst_pct = size;
    }
}

/* ---- Bars -------------------------------------------------------------------------------- */

#define ALL_BITS (~0U)
/* Columns of B, C and F. */
#define PREDICTED_ENVIRONMENTS (1U << 1 | 1U << 2 | 1U << 5)
/* Doubles of nanoseconds are exact to this. */
#define EXACTLY 1e-9

static const struct papers_bar bars[] = {
    {"pipeline, every cell", "000", "6", ALL_BITS, ALL_BITS, 0, EXACTLY, false},
    {"round trips of B, C, F, predicted", "000", "5", 7, PREDICTED_ENVIRONMENTS, 5, 10, false},
    {"barriers", "000", "7", ALL_BITS, ALL_BITS, 5, 10, false},
    {"global sums", "000", "8", ALL_BITS, ALL_BITS, 5, 10, false},
    {"remote write", "000", "9", 1U << 0, 1, 0, 2, false},
    {"BOTF, one way and both", "000", "9", 1U << 3 | 1U << 4, 1, 0, 3, false},
    {"Fagus, ms per send", "001", "1", 3, 1, 0, 10, false},
    {"Fagus, barriers", "001", "2", 3, 1, 0, 10, false},
    {"Fagus, share of bank switching", "001", "3", 1, 1, 0, 10, false},
    {"InfiniSWIF, 8 bytes by CD", "002", "latency", 1, 3, 0, 1, false},
    {"InfiniSWIF, CD/UD and miss/hit", "002", "ratios", 3, 3, 0, 1, true},
    {"InfiniSWIF, sustained", "002", "bandwidth", 1, 15, 0, 3, false},
};

const struct papers_bar *papers_bar(unsigned number)
{
    return number < PAPERS_COUNT(bars) ? &bars[number] : NULL;
}

struct papers_verdict papers_judge(const struct papers_bar *bar, const struct papers_table *table,
                                   const struct papers_sims *sims)
{
    struct papers_errors errors = {0};
    bool known = true;
    for (unsigned row = 0; row < table->row_count; row++) {
        for (unsigned column = 0; column < table->column_count; column++) {
            if (!(bar->rows >> row & 1) || !(bar->columns >> column & 1) ||
                !papers_has_cell(table, row, column)) {
                continue;
            }
            struct papers_cell cell = papers_cell(table, row, column, sims);
            known = known && !isnan(cell.sim);
            papers_errors_add(&errors, bar->points ? cell.sim - cell.right : cell.error_pct);
        }
    }
    return (struct papers_verdict){
        .known = known,
        .held = known && errors.worst_pct <= bar->worst_pct &&
                (bar->mean_pct == 0 || errors.mean_pct <= bar->mean_pct),
        .mean = errors.mean_pct,
        .worst = errors.worst_pct,
        .count = errors.count,
    };
}
