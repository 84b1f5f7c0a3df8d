/* Every figure that the papers print, beside what the simulated machine does.
 *
 * A table of a paper is data (tables_000.c and its neighbours): rows, columns, what is printed,
 * what a cell of ours can tell (its kind), and the paper's own slips. Our figures come from one
 * function for each table, which runs programs on simulated hosts (measure.h). Nothing here is
 * computed by a formula, except on the paper's side what paper 002 itself computed (its figure 6
 * and its ratios). */
#ifndef SIM_PAPERS_PAPERS_H
#define SIM_PAPERS_PAPERS_H

#include "sim/model/machine.h"

enum { PAPERS_ROWS_MAX = 24, PAPERS_COLUMNS_MAX = 6 };

/* What our figure for a cell can tell. Only a prediction can show that the model is wrong, so a
 * cell is one only if a wrong model could have given another figure, and if no value behind it was
 * fitted on that cell or on a quotient of it. */
enum papers_kind {
    PAPERS_TAKEN,  /* the paper's own: it went into a machine, or nothing of ours stands for it */
    PAPERS_FITTED, /* a value of a machine was fitted on it */
    PAPERS_CHECK,  /* follows from what went in: checks the model's own arithmetic */
    PAPERS_PREDICTED, /* anything else */
    PAPERS_KINDS,
};

/* "taken", "fitted", "check", "predicted": their first letters differ. */
const char *papers_kind_name(enum papers_kind kind);

/* What a table's simulation gives; NAN: not ours. */
struct papers_sims {
    double value[PAPERS_ROWS_MAX][PAPERS_COLUMNS_MAX];
};

/* A remark on a cell. Row or column PAPERS_ALL: each of them. */
enum { PAPERS_ALL = PAPERS_ROWS_MAX };
struct papers_note {
    unsigned row, column;
    /* Where the paper contradicts itself, the figure to compare with, which may be the printed
     * one; 0: no slip. */
    double right;
    const char *text;
};

struct papers_column {
    const char *text;
    const char *unit; /* NULL: the row's */
};

struct papers_row {
    const char *text;
    const char *unit;                   /* NULL: the column's */
    double printed[PAPERS_COLUMNS_MAX]; /* 0: the paper has no such number */
    const char *kinds;                  /* the first letter of each column's kind */
};

struct papers_table {
    const char *source; /* "000": the paper */
    const char *name;   /* "5": its number there, or a word where it has none */
    const char *title;
    const struct papers_column *columns;
    const struct papers_row *rows;
    const struct papers_note *notes; /* the last has no text */
    unsigned column_count, row_count;
    /* What stands in place of numbers, by row and column, or NULL; NULL: nothing does. */
    const char *const (*words)[PAPERS_COLUMNS_MAX];
    /* What the paper computed by its equations; NULL: all is in the rows. */
    double (*printed)(unsigned row, unsigned column);
    double (*right)(unsigned row, unsigned column);
    /* NULL: nothing is simulated. False: a world did not do what it should; the error says what in
     * one line. */
    bool (*simulate)(struct papers_sims *sims, char error[SIM_ERROR_BYTES]);
};

/* The n-th table, or NULL; and the number of a table. */
const struct papers_table *papers_table(unsigned number);
unsigned papers_number(const struct papers_table *table);

struct papers_cell {
    const struct papers_table *table;
    unsigned row, column;
    const char *unit;
    enum papers_kind kind;
    double paper;      /* as printed; 0: see words */
    const char *words; /* as printed; NULL: see paper */
    double right;      /* what is compared */
    double sim;        /* NAN: nothing of ours */
    double error_pct;
    bool slip;        /* the paper contradicts itself here; the note says how */
    const char *note; /* or NULL */
};

/* Says that nothing is simulated yet. */
void papers_sims_init(struct papers_sims *sims);

/* Whether the paper has that cell. */
bool papers_has_cell(const struct papers_table *table, unsigned row, unsigned column);

/* A cell of the table beside what was simulated (NULL: nothing yet). */
struct papers_cell papers_cell(const struct papers_table *table, unsigned row, unsigned column,
                               const struct papers_sims *sims);

/* The next cell that the paper has; the first one after a cell of zeros. False: that was all. */
bool papers_next(const struct papers_table *table, const struct papers_sims *sims,
                 struct papers_cell *cell);

/* ---- Summaries and bars ------------------------------------------------------------------ */

/* Mean and worst error, without signs. */
struct papers_errors {
    unsigned count;
    double mean_pct, worst_pct;
};

/* True: this is the worst so far. */
bool papers_errors_add(struct papers_errors *errors, double error_pct);
void papers_errors_join(struct papers_errors *errors, const struct papers_errors *more);

/* The predictions of the chosen tables (the last one NULL); `all` has what was simulated, by the
 * tables' numbers. */
struct papers_predictions {
    struct papers_errors errors;
    struct papers_cell worst; /* has a table if there is any */
    unsigned without_bar;
};

struct papers_predictions papers_predictions(const struct papers_table *const *chosen,
                                             const struct papers_sims *all);

/* How close the cells of one kind must come to the paper. Those of predictions are what the model
 * is worth; the others only say that what went in comes out again. */
struct papers_bar {
    enum papers_kind kind;
    const char *text;
    const struct papers_table *table;
    unsigned rows;   /* bits: whose cells, if of this kind */
    double mean_pct; /* 0: only the worst counts */
    double worst_pct;
    bool points; /* cells in percent: the limit is in percentage points, not relative */
};

const struct papers_bar *papers_bar(unsigned number);

/* The bar that counts this cell, or NULL: whether all bars are held says nothing of it. */
const struct papers_bar *papers_bar_of(const struct papers_cell *cell);

/* The unit of its errors: "%" or "points". */
static inline const char *papers_bar_unit(const struct papers_bar *bar)
{
    return bar->points ? "points" : "%";
}

struct papers_verdict {
    bool known; /* all the cells were simulated */
    bool held;
    struct papers_errors errors; /* in the bar's measure */
};

/* `sims` is what was simulated for the bar's table. */
struct papers_verdict papers_judge(const struct papers_bar *bar, const struct papers_sims *sims);

#endif
