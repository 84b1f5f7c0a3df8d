/* What nodes write in two runs: the first byte that is another one is found, wherever the reads
 * were cut, and where one run writes more than the other. */
#include "cli/launch/repeat.h"

#include "cli/cli.h"
#include "cli/launch/run.h"
#include "unit/unit.h"

enum { NODES = 2, LONG = 100000 };

static struct launch_repeat repeat;

/* What the two runs need of the command; nobody runs a group here. */
int launch_group(const struct launch_request *request)
{
    (void)request;
    return CLI_OK;
}

static int begin(void **state)
{
    (void)state;
    return launch_repeat_open(&repeat, NODES) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    launch_repeat_close(&repeat);
    return 0;
}

/* Writes in pieces of so many bytes; gives whether it is shown. */
static bool write_pieces(uint32_t stream, const char *bytes, size_t count, size_t piece)
{
    bool is_shown = true;
    for (size_t at = 0; at < count; at += piece) {
        size_t part = count - at < piece ? count - at : piece;
        is_shown = launch_repeat_take(&repeat, stream, bytes + at, part);
    }
    return is_shown;
}

static bool differs(uint32_t stream, uint64_t byte)
{
    uint64_t found;
    bool is_exact;
    bool does = launch_repeat_stream_differs(&repeat.streams[stream], &found, &is_exact);
    return does && is_exact && found == byte;
}

static bool are_same(uint32_t stream)
{
    uint64_t found;
    bool is_exact;
    return !launch_repeat_stream_differs(&repeat.streams[stream], &found, &is_exact);
}

static char *make_text(void)
{
    char *text = malloc(LONG);
    assert_non_null(text);
    for (size_t i = 0; i < LONG; i++) {
        text[i] = (char)('a' + i % 23);
    }
    return text;
}

static void equal_output_is_equal_however_it_is_cut(void **state)
{
    char *text = make_text();
    (void)state;
    for (uint32_t stream = 0; stream < 2 * NODES; stream++) {
        assert_true(write_pieces(stream, text + stream, LONG - 4, 1000));
    }
    repeat.fabric.is_second = true;
    for (uint32_t stream = 0; stream < 2 * NODES; stream++) {
        assert_false(write_pieces(stream, text + stream, LONG - 4, 777));
        assert_true(are_same(stream));
    }
    free(text);
}

static void the_first_other_byte_is_found(void **state)
{
    static const size_t places[] = {0, 4095, 4096, LONG - 1};
    char *text = make_text();
    (void)state;
    for (uint32_t stream = 0; stream < 4; stream++) {
        (void)write_pieces(stream, text, LONG, LONG);
    }
    repeat.fabric.is_second = true;
    for (uint32_t stream = 0; stream < 4; stream++) {
        text[places[stream]] = 'X';
        (void)write_pieces(stream, text, LONG, 5000);
        text[places[stream]] = (char)('a' + places[stream] % 23);
        assert_true(differs(stream, places[stream]));
    }
    free(text);
}

static void more_and_less_output_differ(void **state)
{
    (void)state;
    (void)write_pieces(0, "hello", 5, 5);
    (void)write_pieces(1, "hello", 5, 5);
    repeat.fabric.is_second = true;
    (void)write_pieces(0, "hell", 4, 1);
    (void)write_pieces(1, "hello!", 6, 6);
    (void)write_pieces(2, "new", 3, 3);
    assert_true(differs(0, 4));
    assert_true(differs(1, 5));
    assert_true(differs(2, 0));
    assert_true(are_same(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_output_is_equal_however_it_is_cut, begin, end),
        cmocka_unit_test_setup_teardown(the_first_other_byte_is_found, begin, end),
        cmocka_unit_test_setup_teardown(more_and_less_output_differ, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
