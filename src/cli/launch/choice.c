/* Rows from the fabrics' tables. */
#include "cli/launch/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/launch/fabric_setup.h"

#define NAME(name) #name,
static const char *const names[] = {FABRICS(NAME)};
#undef NAME
#define HEADING(name) "With --fabric " #name " only:",
static const char *const headings[] = {FABRICS(HEADING)};
#undef HEADING

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
    const char *text = getenv("DN_FABRIC");
    *choice = (struct choice){.fabric = 0};
    for (uint32_t i = 0; i < FABRIC_COUNT; i++) {
        const struct fabric_launch *fabric = fabric_launches[i];
        size_t used = strlen(choice->help);
        (void)snprintf(choice->help + used, sizeof choice->help - used, "%s (%s%s), ", fabric->name,
                       fabric->help, i == 0 ? "; the default" : "");
        fabric_launch_defaults(fabric, choice->settings[i]);
        make_rows(fabric, choice->rows[i]);
        groups[1 + i] = (struct options_group){
            .rows = choice->rows[i], .target = choice->settings[i], .heading = headings[i]};
    }
    choice->help[strlen(choice->help) - 2] = '\0'; /* no comma behind the last */
    choice->fabric_rows[0] = (struct options_row){
        .name = "fabric",
        .argument = "NAME",
        .help = choice->help,
        .kind = OPTIONS_CHOICE,
        OPTIONS_AT(struct choice, fabric),
        .most = FABRIC_COUNT - 1,
        .names = names,
    };
    groups[0] = (struct options_group){
        .rows = choice->fabric_rows, .target = choice, .heading = "What carries the stores:"};
    while (text && *text && choice->fabric < FABRIC_COUNT &&
           strcmp(names[choice->fabric], text) != 0) {
        choice->fabric++;
    }
    return choice->fabric < FABRIC_COUNT
               ? CLI_OK
               : cli_refuse(command, "cannot understand DN_FABRIC=\"%s\" in the environment", text);
}

int launch_choice_complete(const struct choice *choice, const char *command,
                           const struct options_group groups[CHOICE_GROUPS])
{
    char sentence[FABRIC_SENTENCE_BYTES] = "";
    for (uint32_t i = 0; i < FABRIC_COUNT; i++) {
        if (groups[1 + i].given && i != choice->fabric) {
            return cli_refuse(command, "--%s is for --fabric %s only", groups[1 + i].given,
                              names[i]);
        }
    }
    const struct fabric_launch *fabric = fabric_launches[choice->fabric];
    int error = fabric->check ? fabric->check(choice->settings[choice->fabric], sentence) : 0;
    return launch_fabric_conclude(command, error, sentence);
}
