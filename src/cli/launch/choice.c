/* Rows from the fabrics' tables. */
#include "cli/launch/choice.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/launch/roster.h"

static const char *const fabric_variable = "DN_FABRIC";

/* Adds one more to a list. */
__attribute__((format(printf, 3, 4))) static void append(char *text, size_t room,
                                                         const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    used += (size_t)snprintf(text + used, room - used, "%s", used > 0 ? ", " : "");
    (void)vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

static int take_fabric(void *target, const char *value)
{
    struct choice *choice = target;
    const struct fabric_launch *fabric = fabric_launch_find(value);
    char known[128] = "";
    for (int i = 0; i < FABRIC_COUNT; i++) {
        append(known, sizeof known, "%s", fabric_launches[i]->name);
    }
    if (!fabric) {
        return cli_refuse(choice->command, "unknown fabric \"%s\"; known: %s", value, known);
    }
    choice->fabric = fabric;
    return CLI_OK;
}

static void make_rows(const struct fabric_launch *fabric, struct options_row *rows)
{
    for (size_t i = 0; fabric->options[i].name; i++) {
        const struct fabric_option *option = &fabric->options[i];
        *rows++ = (struct options_row){
            .name = option->name,
            .argument = option->value,
            .help = option->help,
            .kind = option->value ? OPTIONS_NUMBER : OPTIONS_FLAG,
            .place = i * sizeof(uint64_t),
            .bytes = sizeof(uint64_t),
            .least = option->least,
            .most = option->most,
            .what = option->kind,
        };
    }
    rows->kind = OPTIONS_END;
}

int launch_choice_begin(struct choice *choice, const char *command,
                        struct options_group groups[CHOICE_GROUPS])
{
    *choice = (struct choice){.command = command, .fabric = fabric_launches[0]};
    for (int i = 0; i < FABRIC_COUNT; i++) {
        const struct fabric_launch *fabric = fabric_launches[i];
        append(choice->help, sizeof choice->help, "%s (%s)", fabric->name, fabric->help);
        fabric_launch_settle(fabric, choice->settings[i]);
        make_rows(fabric, choice->rows[i]);
        (void)snprintf(choice->headings[i], sizeof choice->headings[i],
                       "With --fabric %s only:", fabric->name);
        groups[1 + i] = (struct options_group){
            .rows = choice->rows[i],
            .target = choice->settings[i],
            .heading = choice->headings[i],
        };
    }
    append(choice->help, sizeof choice->help, "default %s", fabric_launches[0]->name);
    choice->fabric_rows[0] = (struct options_row){
        .name = "fabric",
        .argument = "NAME",
        .help = choice->help,
        .kind = OPTIONS_CALL,
        .take = take_fabric,
    };
    groups[0] = (struct options_group){
        .rows = choice->fabric_rows, .target = choice, .heading = "What carries the stores:"};
    const char *text = getenv(fabric_variable);
    if (text && *text) {
        choice->fabric = fabric_launch_find(text);
    }
    return choice->fabric ? CLI_OK
                          : cli_refuse(command, "cannot understand %s=\"%s\" in the environment",
                                       fabric_variable, text);
}

const uint64_t *launch_choice_settings(const struct choice *choice)
{
    unsigned chosen = 0;
    while (fabric_launches[chosen] != choice->fabric) {
        chosen++;
    }
    return choice->settings[chosen];
}

int launch_choice_complete(const struct choice *choice,
                           const struct options_group groups[CHOICE_GROUPS])
{
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    for (int i = 0; i < FABRIC_COUNT; i++) {
        if (groups[1 + i].given && fabric_launches[i] != choice->fabric) {
            return cli_refuse(choice->command, "--%s is for --fabric %s only", groups[1 + i].given,
                              fabric_launches[i]->name);
        }
    }
    int error = choice->fabric->check(launch_choice_settings(choice), sentence);
    return launch_roster_conclude(choice->command, error, sentence);
}
