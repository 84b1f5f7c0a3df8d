/* Every figure that the papers print, beside what the simulated machine does.
 *
 * A table of a paper is data (tables_000.c and its neighbours): rows, columns, what is printed,
 * which cells were used to fit a parameter of a machine, and the paper's own slips. Our figures
 * come from one function for each table, which runs programs on simulated hosts (measure.h).
 * Nothing here is computed by a formula, except on the paper's side what paper 002 itself
 * computed (its figure 6 and its ratios). */
#ifndef SIM_PAPERS_PAPERS_H
#define SIM_PAPERS_PAPERS_H

#include "sim/model/machine.h"

enum { PAPERS_ROWS_MAX = 16, PAPERS_COLUMNS_MAX = 6 };

/* What a table's simulation gives; NAN: not ours. */
struct papers_sims {
    double value[PAPERS_ROWS_MAX][PAPERS_COLUMNS_MAX];
};

/* A remark on a cell. `right` is the figure to compare with, where the printed one is wrong. Row
 * or column PAPERS_ALL: each of them. */
enum { PAPERS_ALL = PAPERS_ROWS_MAX };
struct papers_note {
    unsigned row, column;
    double right; /* 0: as printed */
    const char *text;
};

struct papers_column {
    const char *text;
    const char *unit; /* NULL: the row's */
};

struct papers_row {
    const char *text;
    const char *unit;                   /* NULL: the column's */
    double printed[PAPERS_COLUMNS_MAX]; /* 0: the paper has no such cell */
    /* Bit c belongs to column c. Fitted: used to fit a parameter of a machine. Taken: itself such
     * a parameter, so that simulating it only shows that the parameter has its effect. */
    unsigned fitted, taken;
};

struct papers_table {
    const char *source; /* "000": the paper */
    const char *name;   /* "5": its number there, or a word where it has none */
    const char *title;
    const struct papers_column *columns;
    const struct papers_row *rows;
    const struct papers_note *notes; /* the last has no text */
    unsigned column_count, row_count;
    /* What the paper computed by its equations; NULL: all is in the rows. */
    double (*printed)(unsigned row, unsigned column);
    double (*right)(unsigned row, unsigned column);
    /* False: a world did not do what it should; the error says what in one line. */
    bool (*simulate)(struct papers_sims *sims, char error[SIM_ERROR_BYTES]);
};

/* The n-th table, or NULL. */
const struct papers_table *papers_table(unsigned number);

struct papers_cell {
    const struct papers_table *table;
    unsigned row, column;
    const char *unit;
    double paper; /* as printed */
    double right; /* what is compared */
    double sim;   /* NAN: not ours */
    double error_pct;
    bool fitted, taken;
    const char *note; /* or NULL */
};

/* Says that nothing is simulated yet. */
void papers_sims_init(struct papers_sims *sims);

/* Whether the paper has that cell. */
bool papers_has_cell(const struct papers_table *table, unsigned row, unsigned column);

/* A cell of the table beside what was simulated (NULL: nothing yet). */
struct papers_cell papers_cell(const struct papers_table *table, unsigned row, unsigned column,
                               const struct papers_sims *sims);

/* ---- Summaries and bars ------------------------------------------------------------------ */

/* Mean and worst error, without signs. */
struct papers_errors {
    unsigned count;
    double mean_pct, worst_pct;
};

void papers_errors_add(struct papers_errors *errors, double error_pct);

/* How close some cells must come to the paper. */
struct papers_bar {
    const char *text;
    const char *source, *table;
    unsigned rows, columns; /* bits: which cells */
    double mean_pct;        /* 0: only the worst counts */
    double worst_pct;
    bool points; /* cells in percent: the limit is in percentage points, not relative */
};

const struct papers_bar *papers_bar(unsigned number);

struct papers_verdict {
    bool known; /* all the cells were simulated */
    bool held;
    double mean, worst; /* in the bar's measure */
    unsigned count;
};

/* `table` is the bar's, and `sims` what was simulated for it. */
struct papers_verdict papers_judge(const struct papers_bar *bar, const struct papers_table *table,
                                   const struct papers_sims *sims);

#endif
