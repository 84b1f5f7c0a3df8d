/* Rows from the fabrics' tables. */
#include "cli/launch/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/launch/fabric_setup.h"

static bool offers(const struct choice *choice, uint32_t number)
{
    return !choice->is_timed || !fabric_launches[number]->takes_turns;
}

/* "NAME" or, where the fabric takes words, "NAME:WORDS". False: there is no such fabric. */
static bool find_fabric(struct choice *choice, const char *text)
{
    size_t bytes = strcspn(text, ":");
    for (uint32_t i = 0; i < FABRIC_COUNT; i++) {
        const struct fabric_launch *fabric = fabric_launches[i];
        if (offers(choice, i) && strlen(fabric->name) == bytes &&
            strncmp(fabric->name, text, bytes) == 0 && (text[bytes] == '\0' || fabric->words)) {
            choice->fabric = i;
            choice->words = text[bytes] == ':' ? text + bytes + 1 : NULL;
            return true;
        }
    }
    return false;
}

static int take_fabric(void *target, const char *value)
{
    struct choice *choice = target;
    return find_fabric(choice, value)
               ? CLI_OK
               : cli_refuse(choice->command, "--fabric takes one of %s, not \"%s\"", choice->names,
                            value);
}

static void make_rows(const struct fabric_launch *fabric, struct options_row *rows)
{
    for (size_t i = 0; fabric->options[i].name; i++) {
        const struct fabric_option *option = &fabric->options[i];
        *rows++ = (struct options_row){
            .name = option->name,
            .argument = option->value,
            .help = option->help,
            .kind = !option->value ? OPTIONS_FLAG
                    : option->kind ? OPTIONS_NUMBER
                                   : OPTIONS_TEXT,
            .place = i * sizeof(uint64_t),
            .bytes = sizeof(uint64_t),
            .least = option->least,
            .most = option->most,
            .what = option->kind,
        };
    }
    rows->kind = OPTIONS_END;
}

static void describe(struct choice *choice)
{
    for (uint32_t i = 0; i < FABRIC_COUNT; i++) {
        const struct fabric_launch *fabric = fabric_launches[i];
        if (!offers(choice, i)) {
            continue;
        }
        size_t help = strlen(choice->help);
        size_t names = strlen(choice->names);
        (void)snprintf(choice->help + help, sizeof choice->help - help, "%s%s (%s%s)",
                       i == 0 ? "" : ", ", fabric->name, fabric->help,
                       i == 0 ? "; the default" : "");
        (void)snprintf(choice->names + names, sizeof choice->names - names, "%s%s",
                       i == 0 ? "" : ", ", fabric->name);
        (void)snprintf(choice->headings[i], sizeof choice->headings[i],
                       "With --fabric %s only:", fabric->name);
    }
}

int launch_choice_begin(struct choice *choice, const char *command, bool is_timed,
                        struct options_group groups[CHOICE_GROUPS])
{
    const char *text = getenv("DN_FABRIC");
    *choice = (struct choice){.command = command, .is_timed = is_timed};
    describe(choice);
    for (uint32_t i = 0; i < FABRIC_COUNT; i++) {
        const struct fabric_launch *fabric = fabric_launches[i];
        fabric_launch_defaults(fabric, choice->settings[i]);
        choice->rows[i][0].kind = OPTIONS_END;
        if (offers(choice, i)) {
            make_rows(fabric, choice->rows[i]);
        }
        groups[1 + i] = (struct options_group){
            .rows = choice->rows[i], .target = choice->settings[i], .heading = choice->headings[i]};
    }
    choice->fabric_rows[0] = (struct options_row){
        .name = "fabric",
        .argument = "NAME",
        .help = choice->help,
        .kind = OPTIONS_CALL,
        .take = take_fabric,
    };
    groups[0] = (struct options_group){
        .rows = choice->fabric_rows, .target = choice, .heading = "What carries the stores:"};
    return !text || !*text || find_fabric(choice, text)
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
                              fabric_launches[i]->name);
        }
    }
    const struct fabric_launch *fabric = fabric_launches[choice->fabric];
    int error = fabric->check ? fabric->check(choice->settings[choice->fabric], sentence) : 0;
    return launch_fabric_conclude(command, error, sentence);
}
