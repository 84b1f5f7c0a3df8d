/* Options from tables: every kind of value, every spelling, the help, and one sentence for each
 * mistake. */
#include "unit/unit.h"

#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/options.h"

enum { SAID_BYTES = 4096, WORDS_MAX = 12 };
enum shape { ROUND, SQUARE, OBLONG };

struct wishes {
    bool quiet;
    enum shape shape;
    const char *file;
    uint16_t small;
    uint32_t middle;
    uint64_t large;
    uint64_t bytes;
    uint64_t wait_ns;
    const char *map;
    const char *words[WORDS_MAX];
    unsigned word_count;
};

struct packets {
    bool hide;
    uint64_t timeout_ns;
};

static const char *const shape_names[] = {"round", "square", "oblong"};

static void print_list(void)
{
    puts("a list");
}

static int take_map(void *target, const char *value)
{
    struct wishes *wishes = target;
    wishes->map = value ? value : "usual";
    return CLI_OK;
}

static int take_word(void *target, const char *value)
{
    struct wishes *wishes = target;
    if (strcmp(value, "bad") == 0) {
        return cli_refuse("try", "\"%s\" will not do", value);
    }
    wishes->words[wishes->word_count++] = value;
    return CLI_OK;
}

#define AT(field) OPTIONS_AT(struct wishes, field)

static const struct options_row rows[] = {
    {"quiet", 'q', NULL, "say nothing", OPTIONS_FLAG, AT(quiet)},
    {"square", 0, NULL, "the same as --shape square", OPTIONS_SETS, AT(shape), .least = SQUARE},
    {"shape", 0, "S", "how it looks", OPTIONS_CHOICE, AT(shape), .least = SQUARE, .most = OBLONG,
     .names = shape_names},
    {"file", 'f', "FILE", "where to", OPTIONS_TEXT, AT(file)},
    {"small", 0, "N", "a number of 16 bits", OPTIONS_NUMBER, AT(small), .least = 1,
     .most = UINT16_MAX, .what = "port"},
    {"middle", 'm', "N",
     "a number of 32 bits, whose help is so long that it does not fit into one line of it by any "
     "means",
     OPTIONS_NUMBER, AT(middle), .least = 2, .most = 64},
    {"large", 0, "N", "a number of 64 bits", OPTIONS_NUMBER, AT(large), .most = UINT64_MAX},
    {"bytes", 0, "SIZE", "a size", OPTIONS_SIZE, AT(bytes)},
    {"wait", 0, "S", "a time", OPTIONS_SECONDS, AT(wait_ns)},
    {"map", 0, "[M]", "with or without a value", OPTIONS_CALL, .take = take_map},
    {"list", 0, NULL, "a list, and no more", OPTIONS_SHOW, .show = print_list},
    {NULL, 'x', "AN-ARGUMENT-OF-MANY-LETTERS", "has no long name", OPTIONS_TEXT, AT(file)},
    {.kind = OPTIONS_END},
};

static const struct options_row packet_rows[] = {
    {"hide", 0, NULL, "of another table", OPTIONS_FLAG, OPTIONS_AT(struct packets, hide)},
    {"timeout", 0, "MS", "so too", OPTIONS_NUMBER, OPTIONS_AT(struct packets, timeout_ns),
     .least = 1, .most = 1000, .unit = 1000000, .what = "number of milliseconds"},
    {.kind = OPTIONS_END},
};

static const struct options_row word_rows[] = {
    {"quiet", 'q', NULL, "say nothing", OPTIONS_FLAG, AT(quiet)},
    {NULL, 0, "word", NULL, OPTIONS_CALL, .take = take_word},
    {.kind = OPTIONS_END},
};

static const struct options_row file_rows[] = {
    {NULL, 0, "FILE", NULL, OPTIONS_TEXT, AT(file)},
    {.kind = OPTIONS_END},
};

/* ---- Running it ----------------------------------------------------------------------------- */

struct outcome {
    bool goes_on;
    int status;
    int rest; /* where getopt stopped */
    char out[SAID_BYTES], err[SAID_BYTES];
};

/* Redirects a standard stream to a file, and gives a descriptor of the original. */
static int turn_away(FILE *stream, FILE *file)
{
    (void)fflush(stream);
    int kept = dup(fileno(stream));
    assert_true(kept >= 0 && dup2(fileno(file), fileno(stream)) >= 0);
    return kept;
}

static void turn_back(FILE *stream, int kept, FILE *file, char said[SAID_BYTES])
{
    (void)fflush(stream);
    assert_true(dup2(kept, fileno(stream)) >= 0);
    (void)close(kept);
    rewind(file);
    said[fread(said, 1, SAID_BYTES - 1, file)] = '\0';
    (void)fclose(file);
}

/* `line` holds words between blanks. */
static struct outcome read_line(const struct options_command *command, struct options_group *groups,
                                unsigned group_count, const char *line)
{
    static char copy[512];
    static char name[] = "try";
    static char *argv[WORDS_MAX + 2] = {name};
    struct outcome outcome = {.status = -1};
    char *state;
    int argc = 1;
    (void)snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(copy, " ", &state); word; word = strtok_r(NULL, " ", &state)) {
        assert_true(argc <= WORDS_MAX);
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    assert_true(out && err);
    int kept_out = turn_away(stdout, out);
    int kept_err = turn_away(stderr, err);
    outcome.goes_on = options_read(command, groups, group_count, argc, argv, &outcome.status);
    outcome.rest = optind;
    turn_back(stdout, kept_out, out, outcome.out);
    turn_back(stderr, kept_err, err, outcome.err);
    return outcome;
}

static const struct options_command usual = {
    .name = "try", .usage = "[option...]", .about = "Tries.\n", .closing = "The end.\n"};

static struct outcome read_wishes(struct wishes *wishes, struct packets *packets, const char *given,
                                  const char *line)
{
    struct options_group groups[] = {
        {.rows = rows, .target = wishes},
        {.rows = packet_rows, .target = packets, .heading = "With packets:"},
    };
    struct outcome outcome = read_line(&usual, groups, 2, line);
    if (given) {
        assert_string_equal(groups[1].given, given);
    } else {
        assert_null(groups[1].given);
    }
    return outcome;
}

static void goes(struct wishes *wishes, const char *line)
{
    struct packets packets = {0};
    struct outcome outcome = read_wishes(wishes, &packets, NULL, line);
    assert_string_equal(outcome.err, "");
    assert_string_equal(outcome.out, "");
    assert_true(outcome.goes_on && outcome.status == CLI_OK);
}

/* Asserts that the mistake gives exactly this sentence, and status 2. */
static void is_refused(const struct outcome *outcome, const char *sentence)
{
    assert_string_equal(outcome->err, sentence);
    assert_string_equal(outcome->out, "");
    assert_false(outcome->goes_on);
    assert_int_equal(outcome->status, CLI_USAGE);
}

static void refuses(const char *line, const char *sentence)
{
    struct wishes wishes = {0};
    struct packets packets = {0};
    struct outcome outcome = read_wishes(&wishes, &packets, NULL, line);
    is_refused(&outcome, sentence);
}

/* ---- Values --------------------------------------------------------------------------------- */

static void test_values_go_to_their_places(void **state)
{
    (void)state;
    struct wishes wishes = {.middle = 7};
    goes(&wishes, "");
    assert_true(wishes.middle == 7 && !wishes.quiet && !wishes.file);
    goes(&wishes, "--quiet --file=a --small 65535 -m64 --large 18446744073709551615");
    assert_true(wishes.quiet);
    assert_string_equal(wishes.file, "a");
    assert_int_equal(wishes.small, 65535);
    assert_int_equal(wishes.middle, 64);
    assert_true(wishes.large == UINT64_MAX);
    wishes = (struct wishes){.shape = OBLONG};
    goes(&wishes, "-qf - --square --bytes 3K --wait .0015");
    assert_true(wishes.quiet && wishes.shape == SQUARE && wishes.bytes == 3072);
    assert_string_equal(wishes.file, "-");
    assert_true(wishes.wait_ns == 1500000);
    goes(&wishes, "--square --shape oblong --wait 2.5 -x y");
    assert_true(wishes.shape == OBLONG && wishes.wait_ns == UINT64_C(2500000000));
    assert_string_equal(wishes.file, "y");
    goes(&wishes, "--wa 1000000000"); /* the beginning of a name will do */
    assert_true(wishes.wait_ns == UINT64_C(1000000000) * 1000000000);
}

static void test_a_neighbour_is_not_touched(void **state)
{
    (void)state;
    struct wishes wishes;
    memset(&wishes, 0xff, sizeof wishes);
    goes(&wishes, "--small 1 --middle 2");
    assert_true(wishes.small == 1 && wishes.middle == 2 && wishes.large == UINT64_MAX);
}

static void test_a_value_that_may_be_missing(void **state)
{
    (void)state;
    struct wishes wishes = {0};
    goes(&wishes, "--map --quiet");
    assert_string_equal(wishes.map, "usual");
    assert_true(wishes.quiet);
    goes(&wishes, "--map mine");
    assert_string_equal(wishes.map, "mine");
    goes(&wishes, "--map=ours");
    assert_string_equal(wishes.map, "ours");
    goes(&wishes, "--map");
    assert_string_equal(wishes.map, "usual");
}

static void test_two_tables_have_their_own_targets(void **state)
{
    (void)state;
    struct wishes wishes = {0};
    struct packets packets = {0};
    struct outcome outcome = read_wishes(&wishes, &packets, "timeout",
                                         "--hide --quiet --timeout 20 --small 3");
    assert_true(outcome.goes_on && packets.hide && packets.timeout_ns == 20000000);
    assert_true(wishes.quiet && wishes.small == 3);
}

/* ---- Words without a dash -------------------------------------------------------------------- */

static void test_words_come_in_order_anywhere(void **state)
{
    (void)state;
    struct wishes wishes = {0};
    struct options_group group = {.rows = word_rows, .target = &wishes};
    assert_int_equal(setenv("POSIXLY_CORRECT", "1", 1), 0); /* must not matter */
    struct outcome outcome = read_line(&usual, &group, 1, "one --quiet two -- --three");
    assert_int_equal(unsetenv("POSIXLY_CORRECT"), 0);
    assert_true(outcome.goes_on && wishes.quiet);
    assert_int_equal(wishes.word_count, 3);
    assert_string_equal(wishes.words[0], "one");
    assert_string_equal(wishes.words[1], "two");
    assert_string_equal(wishes.words[2], "--three");
    outcome = read_line(&usual, &group, 1, "-- good bad");
    is_refused(&outcome, "try: \"bad\" will not do\n");
}

static void test_one_word_and_no_more(void **state)
{
    (void)state;
    struct wishes wishes = {0};
    struct options_group group = {.rows = file_rows, .target = &wishes};
    assert_true(read_line(&usual, &group, 1, "one").goes_on);
    assert_string_equal(wishes.file, "one");
    struct outcome outcome = read_line(&usual, &group, 1, "two");
    is_refused(&outcome, "try: \"two\" is one word too many; see try --help\n");
    refuses("--quiet word", "try: \"word\" is one word too many; see try --help\n");
}

static void test_a_program_keeps_its_own_options(void **state)
{
    (void)state;
    static const struct options_command command = {
        .name = "try", .usage = "program", .about = "Tries.\n", .program_follows = true};
    struct wishes wishes = {0};
    struct options_group group = {.rows = rows, .target = &wishes};
    struct outcome outcome = read_line(&command, &group, 1, "-m 3 program --quiet");
    assert_true(outcome.goes_on && wishes.middle == 3 && !wishes.quiet);
    assert_int_equal(outcome.rest, 3);
    outcome = read_line(&command, &group, 1, "-- --quiet");
    assert_true(outcome.goes_on && !wishes.quiet);
    assert_int_equal(outcome.rest, 2);
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static void test_mistakes_are_one_sentence(void **state)
{
    (void)state;
    refuses("--bogus", "try: there is no option \"--bogus\"; see try --help\n");
    refuses("--bogus=3", "try: there is no option \"--bogus=3\"; see try --help\n");
    refuses("-qz", "try: there is no option \"-z\"; see try --help\n");
    refuses("--file", "try: --file needs a value; see try --help\n");
    refuses("-qf", "try: -f needs a value; see try --help\n");
    refuses("--quiet=yes", "try: --quiet takes no value\n");
    refuses("--small 0", "try: --small takes a port from 1 to 65535, not \"0\"\n");
    refuses("--small 65536", "try: --small takes a port from 1 to 65535, not \"65536\"\n");
    refuses("-m 1", "try: -m takes a number from 2 to 64, not \"1\"\n");
    refuses("--middle 2x", "try: --middle takes a number from 2 to 64, not \"2x\"\n");
    refuses("--middle=", "try: --middle takes a number from 2 to 64, not \"\"\n");
    refuses("--shape round", "try: --shape takes one of square, oblong, not \"round\"\n");
    const char size[] = "try: --bytes takes a size such as 65536, 128K or 2G, not \"0\"\n";
    refuses("--bytes 0", size);
    static const char *const times[] = {"0",   ".",  "",           "0.0", "1,5",
                                        "1e3", "-1", "1000000001", "1s"};
    for (unsigned i = 0; i < sizeof times / sizeof times[0]; i++) {
        char line[64];
        char sentence[128];
        (void)snprintf(line, sizeof line, "--wait=%s", times[i]);
        (void)snprintf(sentence, sizeof sentence,
                       "try: --wait takes a number of seconds above 0, not \"%s\"\n", times[i]);
        refuses(line, sentence);
    }
}

/* ---- Help ----------------------------------------------------------------------------------- */

static void test_help_shows_every_row(void **state)
{
    (void)state;
    struct wishes wishes = {0};
    struct packets packets = {0};
    struct outcome outcome = read_wishes(&wishes, &packets, NULL, "--quiet -h --bogus");
    assert_true(!outcome.goes_on && outcome.status == CLI_OK);
    assert_string_equal(outcome.err, "");
    assert_string_equal(
        outcome.out,
        "usage: try [option...]\n"
        "\n"
        "Tries.\n"
        "\n"
        "  -q, --quiet      say nothing\n"
        "  --square         the same as --shape square\n"
        "  --shape S        how it looks\n"
        "  -f, --file FILE  where to\n"
        "  --small N        a number of 16 bits; 1 to 65535\n"
        "  -m, --middle N   a number of 32 bits, whose help is so long that it does not fit into\n"
        "                   one line of it by any means; 2 to 64\n"
        "  --large N        a number of 64 bits\n"
        "  --bytes SIZE     a size\n"
        "  --wait S         a time\n"
        "  --map [M]        with or without a value\n"
        "  --list           a list, and no more\n"
        "  -x AN-ARGUMENT-OF-MANY-LETTERS\n"
        "                   has no long name\n"
        "  -h, --help       this text\n"
        "\n"
        "With packets:\n"
        "  --hide           of another table\n"
        "  --timeout MS     so too; 1 to 1000\n"
        "\n"
        "The end.\n");
}

static void test_a_list_is_all(void **state)
{
    (void)state;
    struct wishes wishes = {0};
    struct packets packets = {0};
    struct outcome outcome = read_wishes(&wishes, &packets, NULL, "--list --bogus");
    assert_true(!outcome.goes_on && outcome.status == CLI_OK);
    assert_string_equal(outcome.out, "a list\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_go_to_their_places),
        cmocka_unit_test(test_a_neighbour_is_not_touched),
        cmocka_unit_test(test_a_value_that_may_be_missing),
        cmocka_unit_test(test_two_tables_have_their_own_targets),
        cmocka_unit_test(test_words_come_in_order_anywhere),
        cmocka_unit_test(test_one_word_and_no_more),
        cmocka_unit_test(test_a_program_keeps_its_own_options),
        cmocka_unit_test(test_mistakes_are_one_sentence),
        cmocka_unit_test(test_help_shows_every_row),
        cmocka_unit_test(test_a_list_is_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
