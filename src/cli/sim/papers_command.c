/* `dimmnet sim papers`: every figure of the papers beside ours. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "cli/sim/papers_page.h"
#include "sim/papers/measure.h"
#include "sim/papers/papers.h"

#define COMMAND "dimmnet sim papers"

enum { TABLES_MAX = 32, NUMBER_CHARS = 24, HEAD_CHARS = 48, COLUMN_CHARS_MIN = 10, ROW_CHARS = 36 };

struct papers_options {
    bool json;
    const char *html;     /* NULL: no page */
    const char *table;    /* NULL: all */
    const char *map;      /* a machine, or NULL */
    const char *machines; /* a folder, or NULL */
};

static void list_tables(void)
{
    const struct papers_table *table;
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        printf("  %s/%-11s %s\n", table->source, table->name, table->title);
    }
}

/* ---- Options ----------------------------------------------------------------------------- */

/* "5" and "000/5" are Table 5 of paper 000. */
static bool is_wanted(const struct papers_table *table, const char *wanted)
{
    if (!wanted || strcmp(wanted, table->name) == 0) {
        return true;
    }
    size_t source = strlen(table->source);
    return strncmp(wanted, table->source, source) == 0 && wanted[source] == '/' &&
           strcmp(wanted + source + 1, table->name) == 0;
}

static bool is_table(const char *wanted)
{
    const struct papers_table *table;
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        if (is_wanted(table, wanted)) {
            return true;
        }
    }
    return false;
}

static int take_map(void *target, const char *value)
{
    struct papers_options *options = target;
    options->map = value ? value : "dimmnet1-D";
    return CLI_OK;
}

#define AT(field) OPTIONS_AT(struct papers_options, field)

static const struct options_row rows[] = {
    {"table", 0, "T", "run only this table: 000/5, or 5 for Table 5 of every paper", OPTIONS_TEXT,
     AT(table)},
    {"map", 0, "[MACHINE]", "show where each nanosecond of a loop-back goes (default dimmnet1-D)",
     OPTIONS_CALL, .take = take_map},
    {"machines", 0, "FOLDER", "prefer FOLDER/NAME.ini to the machine of that name", OPTIONS_TEXT,
     AT(machines)},
    {"json", 0, NULL, "print one JSON object for each figure", OPTIONS_FLAG, AT(json)},
    {"html", 0, "FILE", "also write a page with all tables and a chart", OPTIONS_TEXT, AT(html)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "[option...]",
    .about = "Runs the papers' experiments on the simulated machines and puts every figure that\n"
             "they print beside ours. If a paper has a slip in a figure, the slip is named, and\n"
             "ours is compared with the right value.\n",
    .closing = "Exit status: 0 every bar is held, 1 one is missed, 2 bad usage. Tables:\n",
    .list_after = list_tables,
};

/* 0, or an exit status after saying what makes no sense. */
static int check_options(const struct papers_options *options)
{
    struct stat folder;
    if (options->table && !is_table(options->table)) {
        return cli_refuse(COMMAND, "there is no table \"%s\"; see " COMMAND " --help",
                          options->table);
    }
    if (options->machines && (stat(options->machines, &folder) || !S_ISDIR(folder.st_mode))) {
        return cli_refuse(COMMAND, "there is no folder \"%s\"", options->machines);
    }
    if (options->map && (options->json || options->table)) {
        return cli_refuse(COMMAND, "--map goes with neither --json nor --table");
    }
    if (options->html && (options->map || options->table)) {
        return cli_refuse(COMMAND, "--html is for all tables: neither --map nor --table");
    }
    return CLI_OK;
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void print_json_number(const char *name, double value)
{
    if (isfinite(value)) {
        printf(",\"%s\":%.10g", name, value);
    } else {
        printf(",\"%s\":null", name);
    }
}

static void print_json(const struct papers_cell *cell)
{
    printf("{\"source\":\"%s\"", cell->table->source);
    cli_json_member("table", cell->table->name);
    cli_json_member("row", cell->table->rows[cell->row].text);
    cli_json_member("column", cell->table->columns[cell->column].text);
    cli_json_member("unit", cell->unit);
    print_json_number("paper", cell->paper);
    if (cell->right != cell->paper) {
        print_json_number("right", cell->right);
    }
    print_json_number("sim", cell->sim);
    print_json_number("error_pct", cell->error_pct);
    if (cell->note) {
        cli_json_member("note", cell->note);
    }
    printf("%s,\"fitted\":%s}\n", cell->taken ? ",\"taken\":true" : "",
           cell->fitted ? "true" : "false");
}

/* ---- Text -------------------------------------------------------------------------------- */

/* Prints five digits, followed by the mark or by a blank in its place. */
static void print_number(double value, char mark, int width)
{
    char text[NUMBER_CHARS];
    if (isnan(value)) {
        printf("%*s", width, "- ");
        return;
    }
    (void)snprintf(text, sizeof text, "%.5g%c", value, mark);
    printf("%*s", width, text);
}

static void print_error(const struct papers_cell *cell, int width)
{
    char text[NUMBER_CHARS];
    if (isnan(cell->sim)) {
        printf("%*s", width, "");
        return;
    }
    (void)snprintf(text, sizeof text, "%+.2f %% ", cell->error_pct);
    printf("%*s", width, text);
}

static char kind_mark(const struct papers_cell *cell)
{
    return cell->fitted ? '*' : cell->taken ? '=' : ' ';
}

enum line { LINE_PAPER, LINE_RIGHT, LINE_SIM, LINE_ERROR, LINES };

static bool has_slip(const struct papers_table *table, unsigned row)
{
    for (unsigned column = 0; column < table->column_count; column++) {
        struct papers_cell cell = papers_cell(table, row, column, NULL);
        if (cell.right != cell.paper) {
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
        if (line == LINE_RIGHT && !has_slip(table, row)) {
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
            if (!papers_has_cell(table, row, column)) {
                printf("%*s", width, "");
                continue;
            }
            struct papers_cell cell = papers_cell(table, row, column, sims);
            switch ((enum line)line) {
            case LINE_PAPER:
                print_number(cell.paper, cell.right != cell.paper ? '!' : ' ', width);
                break;
            case LINE_RIGHT: print_number(cell.right, ' ', width); break;
            case LINE_SIM: print_number(cell.sim, kind_mark(&cell), width); break;
            case LINE_ERROR:
            case LINES: print_error(&cell, width); break;
            }
        }
        (void)putchar('\n');
    }
}

/* A note that applies to several cells in a row is printed once. */
static void print_notes(const struct papers_table *table, const struct papers_sims *sims)
{
    const char *last = NULL;
    for (unsigned row = 0; row < table->row_count; row++) {
        for (unsigned column = 0; column < table->column_count; column++) {
            struct papers_cell cell = papers_cell(table, row, column, sims);
            if (!papers_has_cell(table, row, column) || !cell.note || cell.note == last) {
                continue;
            }
            last = cell.note;
            printf("  %s, %s: %s\n", table->rows[row].text, table->columns[column].text, cell.note);
        }
    }
}

/* Returns its length. */
static int column_head(const struct papers_column *column, char text[HEAD_CHARS])
{
    return snprintf(text, HEAD_CHARS, " %s%s%s ", column->text, column->unit ? ", " : "",
                    column->unit ? column->unit : "");
}

static void print_table(const struct papers_table *table, const struct papers_sims *sims)
{
    char head[HEAD_CHARS];
    int width = COLUMN_CHARS_MIN;
    for (unsigned column = 0; column < table->column_count; column++) {
        int length = column_head(&table->columns[column], head);
        width = length > width ? length : width;
    }
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

/* ---- Summary and bars -------------------------------------------------------------------- */

static void print_errors(const struct papers_errors *errors)
{
    char text[40] = "-";
    if (errors->count > 0) {
        (void)snprintf(text, sizeof text, "%u: %.2f / %.2f %%", errors->count, errors->mean_pct,
                       errors->worst_pct);
    }
    printf(" %22s", text);
}

/* Mean and worst error of what was predicted, what was fitted and what was taken. */
static void print_summary(const struct papers_table *table, const struct papers_sims *sims)
{
    struct papers_errors predicted = {0};
    struct papers_errors fitted = {0};
    struct papers_errors taken = {0};
    for (unsigned row = 0; row < table->row_count; row++) {
        for (unsigned column = 0; column < table->column_count; column++) {
            struct papers_cell cell = papers_cell(table, row, column, sims);
            if (papers_has_cell(table, row, column) && !isnan(cell.sim)) {
                papers_errors_add(cell.fitted  ? &fitted
                                  : cell.taken ? &taken
                                               : &predicted,
                                  cell.error_pct);
            }
        }
    }
    printf("%s/%-12s", table->source, table->name);
    print_errors(&predicted);
    print_errors(&fitted);
    print_errors(&taken);
    (void)putchar('\n');
}

static void print_bar(const struct papers_bar *bar, const struct papers_verdict *verdict)
{
    const char *unit = bar->points ? "points" : "%";
    char limit[48];
    if (bar->mean_pct > 0) {
        (void)snprintf(limit, sizeof limit, "mean %g, worst %g %s", bar->mean_pct, bar->worst_pct,
                       unit);
    } else if (bar->worst_pct < 1e-6) {
        (void)snprintf(limit, sizeof limit, "exact");
    } else {
        (void)snprintf(limit, sizeof limit, "%g %s", bar->worst_pct, unit);
    }
    printf("%s/%-10s %-34s %-24s mean %6.2f, worst %6.2f %-6s  %s\n", bar->source, bar->table,
           bar->text, limit, verdict->mean, verdict->worst, unit,
           verdict->held ? "held" : "MISSED");
}

/* ---- The command ------------------------------------------------------------------------- */

static void print_cells(const struct papers_table *table, const struct papers_sims *sims)
{
    for (unsigned row = 0; row < table->row_count; row++) {
        for (unsigned column = 0; column < table->column_count; column++) {
            if (papers_has_cell(table, row, column)) {
                struct papers_cell cell = papers_cell(table, row, column, sims);
                print_json(&cell);
            }
        }
    }
    (void)fflush(stdout);
}

/* Prints the bars of the tables that were run. False: one is missed. */
static bool judge(const struct papers_options *options, const struct papers_sims *all)
{
    bool held = true;
    const struct papers_bar *bar;
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        const struct papers_table *table;
        for (unsigned j = 0; (table = papers_table(j)) != NULL; j++) {
            if (strcmp(table->source, bar->source) != 0 || strcmp(table->name, bar->table) != 0 ||
                !is_wanted(table, options->table)) {
                continue;
            }
            struct papers_verdict verdict = papers_judge(bar, table, &all[j]);
            held = held && verdict.held;
            if (!options->json) {
                print_bar(bar, &verdict);
            } else if (!verdict.held) {
                cli_say(COMMAND, "missed: paper %s, %s: %s: mean %.2f, worst %.2f %s", bar->source,
                        bar->table, bar->text, verdict.mean, verdict.worst,
                        bar->points ? "points" : "%");
            }
        }
    }
    return held;
}

static int run(const struct papers_options *options, struct papers_sims *all)
{
    char error[SIM_ERROR_BYTES];
    const struct papers_table *table;
    if (!options->json) {
        puts("Behind what is simulated: * was used to fit a parameter, = is itself a parameter,\n"
             "nothing: predicted. Behind a paper's figure: ! a slip of the paper's own.\n");
    }
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        papers_sims_init(&all[i]);
        if (!is_wanted(table, options->table)) {
            continue;
        }
        if (!table->simulate(&all[i], error)) {
            return cli_fail(COMMAND, "paper %s, %s: %s", table->source, table->name, error);
        }
        if (options->json) {
            print_cells(table, &all[i]);
        } else {
            print_table(table, &all[i]);
        }
    }
    if (!options->json) {
        printf("%-16s %22s %22s %22s\n", "mean / worst", "predicted", "fitted", "taken");
        for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
            if (is_wanted(table, options->table)) {
                print_summary(table, &all[i]);
            }
        }
        puts("\nbars");
    }
    bool held = judge(options, all);
    if (options->html && !sim_papers_page(options->html, all)) {
        return cli_fail(COMMAND, "%s: %s", options->html, strerror(errno));
    }
    return held ? CLI_OK : CLI_FAULT;
}

int cli_sim_papers(int argc, char **argv)
{
    struct papers_options options = {0};
    struct papers_sims all[TABLES_MAX];
    struct options_group group = {.rows = rows, .target = &options};
    int status;
    if (!options_read(&command, &group, 1, argc, argv, &status)) {
        return status;
    }
    status = check_options(&options);
    if (status) {
        return status;
    }
    papers_machines_from(options.machines);
    return options.map ? sim_papers_map(COMMAND, options.map) : run(&options, all);
}
