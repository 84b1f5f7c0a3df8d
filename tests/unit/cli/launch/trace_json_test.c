/* A trace as JSON. Whether it is JSON at all, run_trace.sh asks somebody who knows. */
#define _GNU_SOURCE
#include "unit/cli/launch/trace_files.h"

/* The text that is written of these nodes. */
static char *write_json(struct trace_test_file *files, uint32_t count)
{
    char *text = NULL;
    size_t bytes;
    struct trace_events events = files_read(files, count);
    assert_true(trace_match(&events));
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    assert_true(trace_json_write(&events, file));
    assert_int_equal(fclose(file), 0);
    trace_events_release(&events);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        print_error("%s\nis not in\n%s\n", part, text);
        fail();
    }
}

static void a_slice_has_name_peer_and_bytes(void **state)
{
    (void)state;
    struct trace_test_file files[] = {files_make(), files_make()};
    files_add(&files[0], "dn_attach", HOST_TRACE_OTHER, 1000, 2500);
    files_write(&files[0], 1, 0x40, 8, 3000)->result = DN_EPEER;
    char *text = write_json(files, 2);
    assert_has(text, "\"args\":{\"name\":\"node 0\"}");
    assert_has(text, "\"args\":{\"name\":\"node 1\"}"); /* also one that made no call */
    assert_has(text, "\"ts\":0.000,\"dur\":1.500,\"cat\":\"other\",\"name\":\"dn_attach\"");
    assert_has(text, "\"ts\":2.000,\"dur\":0.001,\"cat\":\"put\",\"name\":\"write\","
                     "\"args\":{\"bytes\":8,\"peer\":1,\"place\":\"0x40\",\"result\":-8}}");
    assert_has(text, "\"records\":2,");
    free(text);
}

/* Inside the two slices, and not backwards, also if the clock stands still. */
static void an_arrow_lies_in_its_slices(void **state)
{
    (void)state;
    struct trace_test_file files[] = {files_make(), files_make()};
    files_write(&files[0], 1, 0x40, 8, 1000);
    files_wait(&files[1], 0x40, 500, 2000);
    files_wait(&files[1], 0x40, 2000, 2000);
    files_wait(&files[1], 0x40, 2000, 2000);
    char *text = write_json(files, 2);
    assert_has(text, "{\"ph\":\"s\",\"pid\":100000,\"tid\":1000000,\"id\":1,\"bp\":\"e\","
                     "\"ts\":0.500,");
    assert_has(text, "{\"ph\":\"f\",\"pid\":100001,\"tid\":1000001,\"id\":1,\"bp\":\"e\","
                     "\"ts\":1.499,");
    assert_has(text, "\"ts\":1.500,\"dur\":0.001,\"cat\":\"wait\"");
    assert_has(text, "\"ts\":1.501,\"dur\":0.001,\"cat\":\"wait\"");
    assert_has(text, "\"arrows\":3}");
    free(text);
}

static void an_unfinished_call_says_so(void **state)
{
    (void)state;
    struct trace_test_file file = files_make();
    files_wait(&file, 0x40, 500, 0)->state = HOST_TRACE_OPEN;
    char *text = write_json(&file, 1);
    assert_has(text, "\"unfinished\":true");
    free(text);
}

/* A node can write anything into its file. */
static void names_cannot_break_the_text(void **state)
{
    (void)state;
    struct trace_test_file file = files_make();
    files_add(&file, "\"}\\\n\x80", HOST_TRACE_OTHER, 1, 2);
    char *text = write_json(&file, 1);
    assert_has(text, "\"name\":\"\\\"}\\\\\\u000a\\u0080\"");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_has_name_peer_and_bytes),
        cmocka_unit_test(an_arrow_lies_in_its_slices),
        cmocka_unit_test(an_unfinished_call_says_so),
        cmocka_unit_test(names_cannot_break_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
