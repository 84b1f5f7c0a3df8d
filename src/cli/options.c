/* Reads options by tables, prints their help, and says what is wrong. */
#define _GNU_SOURCE
#include "cli/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/size_text.h"
#include "cli/cli.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define SECONDS_MAX UINT64_C(1000000000)

enum {
    ROWS_MAX = 48,
    CODE_LONG = 256, /* getopt's code of a long option: this and its number */
    CODE_WORD = 1,   /* getopt's code of a word without a dash */
    SPELLING_BYTES = 64,
    LEFT_CHARS_MAX = 22, /* of an option and its argument, before its help */
    LINE_CHARS_MAX = 88,
};

static const struct options_row help_row = {
    .name = "help", .letter = 'h', .help = "this text", .kind = OPTIONS_SHOW};

struct reader {
    const struct options_command *command;
    const struct options_row *rows[ROWS_MAX]; /* of all groups */
    struct options_group *groups[ROWS_MAX];   /* that of each row */
    int count;
    int word; /* the row that takes words, or -1 */
    struct option longs[ROWS_MAX + 1];
    char letters[2 + 2 * ROWS_MAX + 1];
};

/* ---- Tables for getopt ---------------------------------------------------------------------- */

static void add_row(struct reader *reader, const struct options_row *row,
                    struct options_group *group)
{
    INVARIANT(reader->count < ROWS_MAX);
    int number = reader->count++;
    reader->rows[number] = row;
    reader->groups[number] = group;
    if (!row->name && !row->letter) {
        reader->word = number;
    }
    if (row->letter) {
        size_t used = strlen(reader->letters);
        reader->letters[used] = row->letter;
        reader->letters[used + 1] = row->argument ? ':' : '\0';
    }
}

static void prepare(struct reader *reader, const struct options_command *command,
                    struct options_group *groups, unsigned group_count)
{
    *reader = (struct reader){.command = command, .word = -1};
    /* ":" reports a missing value as such; "-" gives words in their order, "+" stops at one. */
    memcpy(reader->letters, command->program_follows ? "+:" : "-:", 2);
    for (struct options_group *group = groups; group < groups + group_count; group++) {
        group->given = NULL;
        for (const struct options_row *row = group->rows; row->kind != OPTIONS_END; row++) {
            add_row(reader, row, group);
        }
        if (group == groups) {
            add_row(reader, &help_row, group);
        }
    }
    struct option *next = reader->longs;
    for (int i = 0; i < reader->count; i++) {
        const struct options_row *row = reader->rows[i];
        int takes = !row->argument            ? no_argument
                    : row->argument[0] == '[' ? optional_argument
                                              : required_argument;
        if (row->name) {
            *next++ = (struct option){row->name, takes, NULL, CODE_LONG + i};
        }
    }
}

/* The number of the row with getopt's code; -1: there is none. */
static int find_row(const struct reader *reader, int code)
{
    if (code >= CODE_LONG) {
        return code - CODE_LONG;
    }
    for (int i = 0; i < reader->count; i++) {
        if (code > CODE_WORD && reader->rows[i]->letter == code) {
            return i;
        }
    }
    return code == CODE_WORD ? reader->word : -1;
}

/* ---- Help ----------------------------------------------------------------------------------- */

static int write_left(const struct options_row *row, char text[SPELLING_BYTES])
{
    char letter[] = {'-', row->letter, '\0'};
    return snprintf(text, SPELLING_BYTES, "%s%s%s%s%s%s", row->letter ? letter : "",
                    row->letter && row->name ? ", " : "", row->name ? "--" : "",
                    row->name ? row->name : "", row->argument ? " " : "",
                    row->argument ? row->argument : "");
}

static int left_chars(const struct reader *reader)
{
    int most = 0;
    for (int i = 0; i < reader->count; i++) {
        char text[SPELLING_BYTES];
        int chars = write_left(reader->rows[i], text);
        most = i != reader->word && chars > most && chars <= LEFT_CHARS_MAX ? chars : most;
    }
    return most;
}

/* Prints words from this column on, in lines of at most LINE_CHARS_MAX. */
static void print_wrapped(const char *text, int column)
{
    int at = column;
    while (*text) {
        int chars = (int)strcspn(text, " ");
        if (at > column && at + 1 + chars > LINE_CHARS_MAX) {
            printf("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            (void)putchar(' ');
            at++;
        }
        printf("%.*s", chars, text);
        at += chars;
        text += chars + (text[chars] == ' ');
    }
    (void)putchar('\n');
}

static void print_row(const struct options_row *row, int width)
{
    char left[SPELLING_BYTES];
    char help[512];
    bool limits = row->kind == OPTIONS_NUMBER && row->most <= UINT32_MAX;
    if (write_left(row, left) > width) {
        printf("  %s\n  %*s", left, width, "");
    } else {
        printf("  %-*s", width, left);
    }
    (void)snprintf(help, sizeof help, limits ? "%s; %" PRIu64 " to %" PRIu64 : "%s", row->help,
                   row->least, row->most);
    printf("  ");
    print_wrapped(help, 2 + width + 2);
}

static void print_help(const struct reader *reader)
{
    const struct options_command *command = reader->command;
    const struct options_group *group = reader->groups[0];
    int width = left_chars(reader);
    printf("usage: %s %s\n\n%s\n", command->name, command->usage, command->about);
    if (command->list) {
        command->list();
        (void)putchar('\n');
    }
    for (int i = 0; i < reader->count; i++) {
        if (reader->groups[i] != group) {
            group = reader->groups[i];
            printf("\n%s\n", group->heading);
        }
        if (i != reader->word) {
            print_row(reader->rows[i], width);
        }
    }
    if (command->closing) {
        printf("\n%s", command->closing);
    }
    if (command->list_after) {
        command->list_after();
    }
}

/* ---- Values --------------------------------------------------------------------------------- */

/* Seconds with a fraction, nothing around them; no locale's comma, no exponent. */
static bool read_seconds(const char *text, uint64_t *nanoseconds)
{
    uint64_t whole = 0;
    uint64_t fraction_ns = 0;
    uint64_t unit_ns = NS_PER_SECOND / 10;
    size_t digits = 0;
    for (; *text >= '0' && *text <= '9' && whole <= SECONDS_MAX; text++, digits++) {
        whole = whole * 10 + (uint64_t)(*text - '0');
    }
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, digits++, unit_ns /= 10) {
            fraction_ns += (uint64_t)(*text - '0') * unit_ns;
        }
    }
    *nanoseconds = whole * NS_PER_SECOND + fraction_ns;
    return *text == '\0' && digits > 0 && whole <= SECONDS_MAX && *nanoseconds > 0;
}

static void store(const struct options_row *row, void *target, uint64_t number)
{
    void *place = (char *)target + row->place;
    switch (row->bytes) {
    case sizeof(uint8_t): memcpy(place, &(uint8_t){(uint8_t)number}, row->bytes); break;
    case sizeof(uint16_t): memcpy(place, &(uint16_t){(uint16_t)number}, row->bytes); break;
    case sizeof(uint32_t): memcpy(place, &(uint32_t){(uint32_t)number}, row->bytes); break;
    default: INVARIANT(row->bytes == sizeof number); memcpy(place, &number, row->bytes);
    }
}

static int take_choice(const char *command, const struct options_row *row, const char *spelling,
                       const char *value, void *target)
{
    char known[256] = "";
    for (uint64_t i = row->least; i <= row->most; i++) {
        if (strcmp(row->names[i], value) == 0) {
            store(row, target, i);
            return CLI_OK;
        }
        size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "",
                       row->names[i]);
    }
    return cli_refuse(command, "%s takes one of %s, not \"%s\"", spelling, known, value);
}

/* CLI_OK, or the status to end with. */
static int take_value(const char *command, const struct options_row *row, const char *spelling,
                      const char *value, void *target)
{
    uint64_t number = 1;
    switch (row->kind) {
    case OPTIONS_FLAG: break;
    case OPTIONS_SETS: number = row->least; break;
    case OPTIONS_CALL: return row->take(target, value);
    case OPTIONS_CHOICE: return take_choice(command, row, spelling, value, target);
    case OPTIONS_TEXT: memcpy((char *)target + row->place, &value, sizeof value); return CLI_OK;
    case OPTIONS_NUMBER:
        if (!base_number_parse(value, row->most, &number) || number < row->least) {
            return cli_refuse(command, "%s takes a %s from %" PRIu64 " to %" PRIu64 ", not \"%s\"",
                              spelling, row->what ? row->what : "number", row->least, row->most,
                              value);
        }
        number *= row->unit ? row->unit : 1;
        break;
    case OPTIONS_SIZE:
        if (!base_size_parse(value, &number) || number == 0) {
            return cli_refuse(command, "%s takes a size such as 65536, 128K or 2G, not \"%s\"",
                              spelling, value);
        }
        break;
    case OPTIONS_SECONDS:
        if (!read_seconds(value, &number)) {
            return cli_refuse(command, "%s takes a number of seconds above 0, not \"%s\"", spelling,
                              value);
        }
        break;
    case OPTIONS_SHOW:
    case OPTIONS_END: INVARIANT(false); /* such a row takes no value */
    }
    store(row, target, number);
    return CLI_OK;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int refuse(const struct reader *reader, int code, char **argv)
{
    const char *command = reader->command->name;
    char letter[] = {'-', (char)optopt, '\0'};
    char name[SPELLING_BYTES];
    bool is_known = optopt >= CODE_LONG;
    if (is_known) {
        (void)snprintf(name, sizeof name, "--%s", reader->rows[optopt - CODE_LONG]->name);
    }
    if (code == ':') {
        return cli_refuse(command, "%s needs a value; see %s --help", is_known ? name : letter,
                          command);
    }
    if (is_known) {
        return cli_refuse(command, "%s takes no value", name);
    }
    /* getopt has passed a long option's word, but may still be inside that of letters. */
    return cli_refuse(command, "there is no option \"%s\"; see %s --help",
                      optopt ? letter : argv[optind - 1], command);
}

static int take_word(struct reader *reader, const char *word)
{
    const char *command = reader->command->name;
    struct options_group *group = reader->word < 0 ? NULL : reader->groups[reader->word];
    const struct options_row *row = reader->word < 0 ? NULL : reader->rows[reader->word];
    const char *before = NULL;
    if (row && row->kind == OPTIONS_TEXT) {
        memcpy(&before, (char *)group->target + row->place, sizeof before);
    }
    if (!row || before) {
        return cli_refuse(command, "\"%s\" is one word too many; see %s --help", word, command);
    }
    return take_value(command, row, word, word, group->target);
}

/* Takes what getopt has found. *done: nothing else is to be done. */
static int take_option(struct reader *reader, int code, int argc, char **argv, bool *done)
{
    int number = find_row(reader, code);
    if (code == CODE_WORD) {
        return take_word(reader, optarg);
    }
    if (number < 0) {
        return refuse(reader, code, argv);
    }
    const struct options_row *row = reader->rows[number];
    char spelling[SPELLING_BYTES];
    if (row->kind == OPTIONS_SHOW) {
        *done = true;
        if (row == &help_row) {
            print_help(reader);
        } else {
            row->show();
        }
        return CLI_OK;
    }
    if (code >= CODE_LONG) {
        (void)snprintf(spelling, sizeof spelling, "--%s", row->name);
    } else {
        (void)snprintf(spelling, sizeof spelling, "-%c", row->letter);
    }
    const char *value = optarg;
    bool may_be_missing = row->argument && row->argument[0] == '[';
    if (may_be_missing && !value && optind < argc && argv[optind][0] != '-') {
        value = argv[optind++];
    }
    reader->groups[number]->given = row->name;
    return take_value(reader->command->name, row, spelling, value, reader->groups[number]->target);
}

bool options_read(const struct options_command *command, struct options_group *groups,
                  unsigned group_count, int argc, char **argv, int *status)
{
    struct reader reader;
    bool done = false;
    int code;
    prepare(&reader, command, groups, group_count);
    *status = CLI_OK;
    opterr = 0;
    optind = 0; /* makes getopt start afresh */
    while (*status == CLI_OK && !done &&
           (code = getopt_long(argc, argv, reader.letters, reader.longs, NULL)) != -1) {
        *status = take_option(&reader, code, argc, argv, &done);
    }
    for (int i = optind; i < argc && !done && !*status && !command->program_follows; i++) {
        *status = take_word(&reader, argv[i]);
    }
    return *status == CLI_OK && !done;
}

/* ---- Subcommands ---------------------------------------------------------------------------- */

int options_hand_over(const char *command, const char *about,
                      const struct options_subcommand *subcommands, int argc, char **argv)
{
    if (argc < 2) {
        return cli_refuse(command, "no command given; see %s --help", command);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        printf("usage: %s COMMAND [argument...]\n\n%s\ncommands:\n", command, about);
        for (; subcommands->name; subcommands++) {
            char left[SPELLING_BYTES];
            (void)snprintf(left, sizeof left, "%-8s %s", subcommands->name,
                           subcommands->arguments ? subcommands->arguments : "");
            if (subcommands->help) {
                printf("  %-*s %s\n", subcommands->arguments ? 20 : 8, left, subcommands->help);
            }
        }
        printf("\n`%s COMMAND --help` says more.\n", command);
        return CLI_OK;
    }
    for (; subcommands->name; subcommands++) {
        if (strcmp(argv[1], subcommands->name) == 0) {
            return subcommands->call(argc - 1, argv + 1);
        }
    }
    return cli_refuse(command, "unknown command \"%s\"; see %s --help", argv[1], command);
}
