/* Traces for viewers: their text to the byte, their window, and what cannot be written. */
#include "unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/model/timeline.h"

#define NS UINT64_C(1000)
#define US (1000 * NS)

enum { TEXT_BYTES = 1 << 20 };

static char path[] = "/tmp/dimmnet-timeline-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static struct sim_timeline *open_trace(uint64_t from_ps, uint64_t to_ps)
{
    char error[SIM_ERROR_BYTES] = "";
    struct sim_timeline *timeline = sim_timeline_open(path, from_ps, to_ps, error);
    assert_string_equal(error, "");
    assert_non_null(timeline);
    return timeline;
}

/* Closes the trace and gives what it wrote; the caller frees it. */
static char *close_trace(struct sim_timeline *timeline)
{
    assert_true(sim_timeline_close(timeline));
    char *text = calloc(1, TEXT_BYTES);
    assert_non_null(text);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t bytes = fread(text, 1, TEXT_BYTES - 1, file);
    assert_true(bytes < TEXT_BYTES - 1);
    assert_int_equal(fclose(file), 0);
    return text;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* Whether a line has this span on the given thread. */
static bool has_span(const char *text, unsigned thread, const char *times)
{
    char wanted[160];
    (void)snprintf(wanted, sizeof wanted, "\"tid\":%u,%s,\"name\"", thread, times);
    return strstr(text, wanted) != NULL;
}

static void an_empty_trace_is_a_trace(void **state)
{
    (void)state;
    char *text = close_trace(open_trace(0, UINT64_MAX));
    assert_string_equal(text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
    free(text);
}

static void every_byte_of_a_trace_is_known(void **state)
{
    (void)state;
    const char format[] =
        "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
        "{\"ph\":\"M\",\"pid\":100003,\"name\":\"process_name\",\"args\":{\"name\":\"node 3\"}},\n"
        "{\"ph\":\"M\",\"pid\":100003,\"name\":\"process_sort_index\","
        "\"args\":{\"sort_index\":100003}},\n"
        "{\"ph\":\"M\",\"pid\":100003,\"tid\":1000000,\"name\":\"thread_name\","
        "\"args\":{\"name\":\"header TLB\"}},\n"
        "{\"ph\":\"M\",\"pid\":100003,\"tid\":1000000,\"name\":\"thread_sort_index\","
        "\"args\":{\"sort_index\":%u}},\n"
        "{\"ph\":\"X\",\"pid\":100003,\"tid\":1000000,\"ts\":12.007500,\"dur\":0.022500,"
        "\"name\":\"hit\",\"args\":{\"packet\":26},\"bind_id\":\"0x1a\",\"flow_out\":true},\n"
        "{\"ph\":\"M\",\"pid\":200007,\"name\":\"process_name\",\"args\":{\"name\":\"switch "
        "7\"}},\n"
        "{\"ph\":\"M\",\"pid\":200007,\"name\":\"process_sort_index\","
        "\"args\":{\"sort_index\":200007}},\n"
        "{\"ph\":\"M\",\"pid\":200007,\"tid\":1000001,\"name\":\"thread_name\","
        "\"args\":{\"name\":\"port 2\"}},\n"
        "{\"ph\":\"M\",\"pid\":200007,\"tid\":1000001,\"name\":\"thread_sort_index\","
        "\"args\":{\"sort_index\":%u}},\n"
        "{\"ph\":\"X\",\"pid\":200007,\"tid\":1000001,\"ts\":12.100000,\"dur\":0.000001,"
        "\"name\":\"packet\",\"args\":{\"packet\":26},\"bind_id\":\"0x1a\","
        "\"flow_in\":true,\"flow_out\":true},\n"
        "{\"ph\":\"X\",\"pid\":100003,\"tid\":1000000,\"ts\":13.000000,\"dur\":0.000000,"
        "\"name\":\"idle\"}\n"
        "]}\n";
    char expected[sizeof format + 32];
    (void)snprintf(expected, sizeof expected, format, SIM_STAGE_HEADER_TLB * 64u,
                   (SIM_TRACK_PORT + 2) * 64u);
    for (unsigned run = 0; run < 2; run++) {
        struct sim_timeline *timeline = open_trace(0, UINT64_MAX);
        sim_timeline_span(timeline, 3, SIM_STAGE_HEADER_TLB, "hit", 12007500, 12030000, 26);
        sim_timeline_span(timeline, SIM_TIMELINE_SWITCH + 7, SIM_TRACK_PORT + 2, "packet", 12100000,
                          12100001, 26);
        sim_timeline_span(timeline, 3, SIM_STAGE_HEADER_TLB, "idle", 13000000, 13000000, 0);
        char *text = close_trace(timeline);
        assert_string_equal(text, expected);
        free(text);
    }
}

static void tracks_have_names(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(0, UINT64_MAX);
    const uint32_t tracks[] = {
        0, SIM_STAGES - 1, SIM_TRACK_HOST, SIM_TRACK_HOST + 63, SIM_TRACK_CORE, SIM_TRACK_BANK};
    const char *const names[] = {"write from host", "write into LLCM", "host, user 0",
                                 "host, user 63",   "core processor",  "SO-DIMM banks"};
    for (unsigned i = 0; i < 6; i++) {
        for (uint64_t span = 0; span < 3; span++) {
            sim_timeline_span(timeline, 0, tracks[i], "x", span * NS, span * NS + 1, 0);
        }
    }
    char *text = close_trace(timeline);
    for (unsigned i = 0; i < 6; i++) {
        char wanted[64];
        (void)snprintf(wanted, sizeof wanted, "{\"name\":\"%s\"}", names[i]);
        assert_int_equal(count_of(text, wanted), 1);
    }
    assert_int_equal(count_of(text, "process_name"), 1);
    assert_int_equal(count_of(text, "thread_name"), 6);
    free(text);
}

static void names_are_quoted(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(0, UINT64_MAX);
    sim_timeline_span(timeline, 0, 0, "a \"b\"\\\n\t\x7f µ", 0, 1, 0);
    char *text = close_trace(timeline);
    assert_non_null(strstr(text, "\"name\":\"a \\\"b\\\"\\\\\\u000a\\u0009\\u007f µ\"}"));
    free(text);
}

static void only_what_touches_the_window_is_written(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(10 * US, 20 * US);
    const struct {
        uint64_t from_us, to_us;
        bool inside;
    } spans[] = {
        {0, 5, false}, {8, 10, false}, {9, 11, true},   {10, 10, true},  {12, 13, true},
        {1, 40, true}, {19, 30, true}, {20, 20, false}, {20, 21, false}, {30, 31, false},
    };
    unsigned expected = 0;
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        /* On a node of its own: a span outside the window does not even name its process. */
        sim_timeline_span(timeline, i, 1, "x", spans[i].from_us * US, spans[i].to_us * US, i + 1);
        expected += spans[i].inside;
    }
    char *text = close_trace(timeline);
    assert_int_equal(count_of(text, "\"ph\":\"X\""), expected);
    assert_int_equal(count_of(text, "process_name"), expected);
    for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        char wanted[32];
        (void)snprintf(wanted, sizeof wanted, "\"packet\":%u}", i + 1);
        assert_int_equal(count_of(text, wanted), spans[i].inside);
    }
    free(text);
}

/* The window begins in the middle of a packet's way: the packet's flow begins there. */
static void a_flow_begins_with_its_first_written_span(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(10 * US, UINT64_MAX);
    for (uint64_t at_us = 8; at_us < 14; at_us++) {
        sim_timeline_span(timeline, 0, 0, "x", at_us * US, at_us * US + NS, 5);
    }
    sim_timeline_span(timeline, 0, 0, "x", 20 * US, 21 * US, 6);
    char *text = close_trace(timeline);
    assert_int_equal(count_of(text, "\"bind_id\":\"0x5\",\"flow_out\":true}"), 1);
    assert_int_equal(count_of(text, "\"bind_id\":\"0x5\",\"flow_in\":true,\"flow_out\":true}"), 3);
    assert_int_equal(count_of(text, "\"bind_id\":\"0x6\",\"flow_out\":true}"), 1);
    free(text);
}

/* Viewers drop spans that overlap on one thread. */
static void packets_that_overlap_have_lanes(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(0, UINT64_MAX);
    for (uint64_t i = 0; i < 4; i++) {
        sim_timeline_span(timeline, 0, SIM_STAGE_HEADER_TLB, "x", i * 10 * NS,
                          i * 10 * NS + 20 * NS, 0);
    }
    char *text = close_trace(timeline);
    assert_int_equal(count_of(text, "thread_name"), 2);
    assert_int_equal(count_of(text, "\"header TLB\""), 1);
    assert_int_equal(count_of(text, "\"header TLB (2)\""), 1);
    assert_true(has_span(text, 1000000, "\"ts\":0.000000,\"dur\":0.020000"));
    assert_true(has_span(text, 1000001, "\"ts\":0.010000,\"dur\":0.020000"));
    assert_true(has_span(text, 1000000, "\"ts\":0.020000,\"dur\":0.020000"));
    assert_true(has_span(text, 1000001, "\"ts\":0.030000,\"dur\":0.020000"));
    free(text);
}

static void a_track_has_so_many_lanes_and_no_more(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(0, UINT64_MAX);
    for (uint64_t i = 0; i < 200; i++) {
        sim_timeline_span(timeline, 1, SIM_STAGE_LINK, "x", i, US, 0);
    }
    char *text = close_trace(timeline);
    assert_int_equal(count_of(text, "thread_name"), 64);
    assert_int_equal(count_of(text, "\"ph\":\"X\""), 200);
    free(text);
}

/* More tracks, lanes and packets than there is room for at first. */
static void what_it_knows_grows(void **state)
{
    (void)state;
    struct sim_timeline *timeline = open_trace(0, UINT64_MAX);
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            sim_timeline_span(timeline, i, 1, "x", round * NS, round * NS + 1, i + 1);
        }
    }
    char *text = close_trace(timeline);
    assert_int_equal(count_of(text, "process_name"), 1000);
    assert_int_equal(count_of(text, "thread_name"), 1000);
    assert_int_equal(count_of(text, "\"flow_in\":true"), 1000);
    free(text);
}

static void a_file_that_cannot_be_opened_is_named(void **state)
{
    (void)state;
    char error[SIM_ERROR_BYTES] = "";
    assert_null(sim_timeline_open("/nowhere/at/all.json", 0, UINT64_MAX, error));
    assert_string_equal(error,
                        "cannot write the trace /nowhere/at/all.json: No such file or directory");
}

static void a_full_disk_shows_at_the_end(void **state)
{
    (void)state;
    struct stat status;
    if (stat("/dev/full", &status) != 0 || !S_ISCHR(status.st_mode)) {
        skip();
    }
    /* Little and much: the failure is in the last buffer, or in one before. */
    for (unsigned spans = 0; spans <= 20000; spans += 20000) {
        char error[SIM_ERROR_BYTES];
        struct sim_timeline *timeline = sim_timeline_open("/dev/full", 0, UINT64_MAX, error);
        assert_non_null(timeline);
        for (unsigned i = 0; i < spans; i++) {
            sim_timeline_span(timeline, 0, 0, "x", i, i + 1, 0);
        }
        assert_false(sim_timeline_close(timeline));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_trace_is_a_trace),
        cmocka_unit_test(every_byte_of_a_trace_is_known),
        cmocka_unit_test(tracks_have_names),
        cmocka_unit_test(names_are_quoted),
        cmocka_unit_test(only_what_touches_the_window_is_written),
        cmocka_unit_test(a_flow_begins_with_its_first_written_span),
        cmocka_unit_test(packets_that_overlap_have_lanes),
        cmocka_unit_test(a_track_has_so_many_lanes_and_no_more),
        cmocka_unit_test(what_it_knows_grows),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_named),
        cmocka_unit_test(a_full_disk_shows_at_the_end),
    };
    return cmocka_run_group_tests_name("sim/timeline", tests, make_path, remove_path);
}
