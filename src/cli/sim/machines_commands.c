/* `dimmnet sim machines` lists the machines, `dimmnet sim show` prints all values of one. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/sim/sim.h"
#include "sim/model/machine.h"

struct options {
    bool json;
    const char *machine;
};

static const struct options_row show_rows[] = {
    {NULL, 0, "MACHINE", NULL, OPTIONS_TEXT, OPTIONS_AT(struct options, machine)},
    {"json", 0, NULL, "print one JSON object per line", OPTIONS_FLAG,
     OPTIONS_AT(struct options, json)},
    {.kind = OPTIONS_END},
};

/* The same without a machine. */
static const struct options_row *const machines_rows = &show_rows[1];

/* ---- machines ----------------------------------------------------------------------------- */

#define MACHINES "dimmnet sim machines"

static const struct options_command machines_command = {
    .name = MACHINES,
    .usage = "[--json]",
    .about =
        "The machines that come with the program, and the parts that they are made of. A file\n"
        "of your own can inherit from them and change any value; a value that it changes needs\n"
        "its source behind a bar:\n"
        "\n"
        "  [machine]\n"
        "  inherit = dimmnet1-D switch-rhinet3\n"
        "  [clock]\n"
        "  swif_mhz = 125 | what if\n",
};

static int print_list(bool json, bool part)
{
    const char *(*name)(unsigned) = part ? sim_part_name : sim_machine_name;
    if (!json) {
        puts(part ? "parts, to inherit from" : "machines");
    }
    for (unsigned i = 0; name(i); i++) {
        struct sim_machine machine;
        char error[SIM_ERROR_BYTES];
        if (!(part ? sim_part_load : sim_machine_load)(&machine, name(i), error)) {
            return cli_fail(MACHINES, "%s", error);
        }
        if (json) {
            printf("{\"machine\":\"%s\",\"part\":%s", machine.name, part ? "true" : "false");
            cli_json_member("text", machine.text);
            printf("}\n");
        } else {
            printf("  %-18s %s\n", machine.name, machine.text);
        }
        sim_machine_free(&machine);
    }
    return CLI_OK;
}

int cli_sim_machines(int argc, char **argv)
{
    struct options options = {0};
    struct options_group group = {.rows = machines_rows, .target = &options};
    int status;
    if (!options_read(&machines_command, &group, 1, argc, argv, &status)) {
        return status;
    }
    status = print_list(options.json, false);
    return status ? status : print_list(options.json, true);
}

/* ---- show --------------------------------------------------------------------------------- */

#define SHOW "dimmnet sim show"

static const struct options_command show_command = {
    .name = SHOW,
    .usage = "MACHINE [--json]",
    .about =
        "Every value of a machine: what it is, which file said it, and where it comes from. A\n"
        "source that begins with \"fitted\" or \"assumed\" is no measurement. MACHINE is a name\n"
        "(see dimmnet sim machines) or a file (a path with a slash or ending in .ini).\n",
    .closing =
        "Exit status: 0 shown, 2 when there is no such machine or its file makes no sense.\n",
};

struct table {
    const char *machine;
    bool part;
    int section, key, value, file; /* widths */
};

/* What no file says of a stage or a part is left out: it says nothing about the machine. */
static bool is_shown(const struct table *table, const struct sim_machine_value *value)
{
    return value->file || !(table->part || strncmp(value->section, "stage ", 6) == 0);
}

static void widen(int *width, const char *text)
{
    int length = text ? (int)strlen(text) : 0;
    *width = length > *width ? length : *width;
}

static void measure_value(void *context, const struct sim_machine_value *value)
{
    struct table *table = context;
    if (is_shown(table, value)) {
        widen(&table->section, value->section);
        widen(&table->key, value->key);
        widen(&table->value, value->value);
        widen(&table->file, value->file);
    }
}

static void print_value(void *context, const struct sim_machine_value *value)
{
    const struct table *table = context;
    if (is_shown(table, value)) {
        printf("%-*s  %-*s  %*s  %-*s  %s\n", table->section, value->section, table->key,
               value->key, table->value, value->value, table->file, value->file ? value->file : "",
               value->source ? value->source : "not said");
    }
}

static const char *basis(const char *source)
{
    return !source                              ? "default"
           : strncmp(source, "fitted", 6) == 0  ? "fitted"
           : strncmp(source, "assumed", 7) == 0 ? "assumed"
                                                : "stated";
}

static void print_value_json(void *context, const struct sim_machine_value *value)
{
    const struct table *table = context;
    if (!is_shown(table, value)) {
        return;
    }
    bool number = value->value[0] >= '0' && value->value[0] <= '9';
    printf("{\"machine\":");
    cli_json_text(table->machine);
    printf(",\"section\":\"%s\",\"key\":\"%s\",\"value\":", value->section, value->key);
    printf(number ? "%s" : "\"%s\"", value->value);
    printf(",\"basis\":\"%s\"", basis(value->source));
    cli_json_member("source", value->source);
    cli_json_member("file", value->file);
    cli_json_member("help", value->help);
    printf("}\n");
}

static bool is_part(const char *name)
{
    for (unsigned i = 0; sim_part_name(i); i++) {
        if (strcmp(sim_part_name(i), name) == 0) {
            return true;
        }
    }
    return false;
}

int cli_sim_show(int argc, char **argv)
{
    struct sim_machine machine;
    char error[SIM_ERROR_BYTES];
    struct options options = {0};
    struct options_group group = {.rows = show_rows, .target = &options};
    int status;
    if (!options_read(&show_command, &group, 1, argc, argv, &status)) {
        return status;
    }
    const char *name = options.machine;
    if (!name) {
        return cli_refuse(SHOW, "a machine is needed; see dimmnet sim machines");
    }
    struct table table = {.part = is_part(name)};
    if (!(table.part ? sim_part_load : sim_machine_load)(&machine, name, error)) {
        return cli_refuse(SHOW, "%s", error);
    }
    table.machine = machine.name;
    if (options.json) {
        sim_machine_each(&machine, print_value_json, &table);
    } else {
        printf("%s: %s\n\n", machine.name, machine.text);
        sim_machine_each(&machine, measure_value, &table);
        print_value(&table, &(struct sim_machine_value){.section = "section",
                                                        .key = "key",
                                                        .value = "value",
                                                        .file = "file",
                                                        .source = "source"});
        sim_machine_each(&machine, print_value, &table);
    }
    sim_machine_free(&machine);
    return CLI_OK;
}
