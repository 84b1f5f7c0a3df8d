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
#include "cli/sim/papers_text.h"
#include "sim/papers/measure.h"
#include "sim/papers/papers.h"

#define COMMAND "dimmnet sim papers"

enum { TABLES_MAX = 32 };

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
    {"html", 0, "FILE", "also write a page with all tables and charts", OPTIONS_TEXT, AT(html)},
    {.kind = OPTIONS_END},
};

#undef AT

static const struct options_command command = {
    .name = COMMAND,
    .usage = "[option...]",
    .about =
        "Runs the papers' experiments on the simulated machines and puts every figure that\n"
        "they print beside ours, with its kind: taken from the paper, fitted on it, a check of\n"
        "the model's own arithmetic, or predicted. Only predictions can show that the model is\n"
        "wrong. If a paper has a slip in a figure, the slip is named, and ours is compared with\n"
        "the right value.\n",
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
    cli_json_member("kind", papers_kind_name(cell->kind));
    if (cell->words) {
        cli_json_member("paper", cell->words);
    } else {
        print_json_number("paper", cell->paper);
    }
    if (cell->slip) {
        print_json_number("right", cell->right);
    }
    print_json_number("sim", cell->sim);
    print_json_number("error_pct", cell->error_pct);
    const struct papers_bar *bar = papers_bar_of(cell);
    if (bar) {
        cli_json_member("bar", bar->text);
    } else {
        printf(",\"bar\":null");
    }
    if (cell->note) {
        cli_json_member("note", cell->note);
    }
    puts("}");
}

/* ---- The command ------------------------------------------------------------------------- */

static void print_cells(const struct papers_table *table, const struct papers_sims *sims)
{
    struct papers_cell cell = {0};
    while (papers_next(table, sims, &cell)) {
        print_json(&cell);
    }
    (void)fflush(stdout);
}

/* False: a bar is missed; with JSON that is said here. */
static bool judge(const struct papers_options *options, const struct papers_sims *all)
{
    bool held = true;
    const struct papers_bar *bar;
    for (unsigned i = 0; (bar = papers_bar(i)) != NULL; i++) {
        if (!is_wanted(bar->table, options->table)) {
            continue;
        }
        struct papers_verdict verdict = papers_judge(bar, &all[papers_number(bar->table)]);
        held = held && verdict.held;
        if (options->json && !verdict.held) {
            cli_say(COMMAND, "missed: paper %s, %s: %s, %s: mean %.2f, worst %.2f %s",
                    bar->table->source, bar->table->name, papers_kind_name(bar->kind), bar->text,
                    verdict.errors.mean_pct, verdict.errors.worst_pct, papers_bar_unit(bar));
        }
    }
    return held;
}

static int run(const struct papers_options *options, struct papers_sims *all)
{
    char error[SIM_ERROR_BYTES];
    const struct papers_table *chosen[TABLES_MAX + 1] = {NULL};
    unsigned count = 0;
    const struct papers_table *table;
    if (!options->json) {
        sim_papers_legend();
    }
    for (unsigned i = 0; (table = papers_table(i)) != NULL; i++) {
        papers_sims_init(&all[i]);
        if (!is_wanted(table, options->table)) {
            continue;
        }
        if (table->simulate && !table->simulate(&all[i], error)) {
            return cli_fail(COMMAND, "paper %s, %s: %s", table->source, table->name, error);
        }
        chosen[count++] = table;
        if (options->json) {
            print_cells(table, &all[i]);
        } else {
            sim_papers_table(table, &all[i]);
        }
    }
    if (!options->json) {
        sim_papers_summary(chosen, all);
    }
    bool held = judge(options, all);
    if (options->html && !sim_papers_page(options->html, chosen, all)) {
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
