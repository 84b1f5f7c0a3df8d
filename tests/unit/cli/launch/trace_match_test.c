/* Which event ended a wait or a receive. */
#include "unit/cli/launch/trace_files.h"

enum { NODES = 3 };

static struct trace_test_file files[NODES];

static int begin(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NODES; i++) {
        files[i] = files_make();
    }
    return 0;
}

static struct trace_events match(void)
{
    struct trace_events events = files_read(files, NODES);
    assert_true(trace_match(&events));
    return events;
}

/* The n-th event of a rank, counted from 0. */
static size_t at(const struct trace_events *events, uint32_t rank, size_t number)
{
    assert_true(number < events->nodes[rank].count);
    return events->nodes[rank].first + number;
}

static size_t cause_of(const struct trace_events *events, uint32_t rank, size_t number)
{
    return events->list[at(events, rank, number)].cause;
}

static void the_last_write_before_its_end_ends_a_wait(void **state)
{
    (void)state;
    files_write(&files[0], 2, 0x40, 8, 100);
    files_write(&files[1], 2, 0x40, 8, 200);
    files_write(&files[0], 2, 0x40, 8, 301); /* too late */
    files_write(&files[0], 1, 0x40, 8, 250); /* another node's word */
    files_write(&files[0], 2, 0x48, 8, 260); /* another word */
    files_wait(&files[2], 0x40, 50, 300);
    struct trace_events events = match();
    assert_int_equal(cause_of(&events, 2, 0), at(&events, 1, 0));
    assert_int_equal(events.arrow_count, 1);
    trace_events_release(&events);
}

static void a_write_in_the_same_moment_counts(void **state)
{
    (void)state;
    files_write(&files[0], 1, 0x40, 8, 300);
    files_wait(&files[1], 0x40, 50, 300);
    struct trace_events events = match();
    assert_int_equal(cause_of(&events, 1, 0), at(&events, 0, 0));
    trace_events_release(&events);
}

static void ranges_may_overlap_in_any_way(void **state)
{
    (void)state;
    files_write(&files[0], 1, 0x1000, 4096, 100); /* the words below are in it */
    files_write(&files[0], 1, 0x2000 - 4, 8, 110);
    files_wait(&files[1], 0x1ff8, 0, 200); /* both wrote to it */
    files_wait(&files[1], 0x2000, 200, 210);
    files_wait(&files[1], 0x1000, 210, 220);
    files_wait(&files[1], 0x0ff8, 220, 230); /* ends where the block begins */
    files_wait(&files[1], 0x2008, 230, 240);
    files_wait(&files[1], 0x0f00, 240, 250)->bytes = 0x101; /* several words at once */
    struct trace_events events = match();
    assert_int_equal(cause_of(&events, 1, 0), at(&events, 0, 1));
    assert_int_equal(cause_of(&events, 1, 1), at(&events, 0, 1));
    assert_int_equal(cause_of(&events, 1, 2), at(&events, 0, 0));
    assert_int_equal(cause_of(&events, 1, 3), TRACE_NO_EVENT);
    assert_int_equal(cause_of(&events, 1, 4), TRACE_NO_EVENT);
    assert_int_equal(cause_of(&events, 1, 5), at(&events, 0, 0));
    trace_events_release(&events);
}

static void a_signal_ends_a_wait_and_its_body_does(void **state)
{
    (void)state;
    struct host_trace_record *put = files_write(&files[0], 1, 0x100, 64, 100);
    put->kind = HOST_TRACE_PUT_SIGNAL;
    put->flag_place = 0x800;
    files_wait(&files[1], 0x800, 0, 200);
    files_wait(&files[1], 0x120, 200, 210);
    struct trace_events events = match();
    assert_int_equal(cause_of(&events, 1, 0), at(&events, 0, 0));
    assert_int_equal(cause_of(&events, 1, 1), at(&events, 0, 0));
    trace_events_release(&events);
}

static void what_failed_or_only_reads_ends_nothing(void **state)
{
    (void)state;
    files_write(&files[0], 1, 0x40, 8, 10)->result = DN_ERANGE;
    files_write(&files[0], 1, 0x40, 8, 20)->kind = HOST_TRACE_GET;
    files_write(&files[0], 77, 0x40, 8, 30); /* no such rank */
    files_write(&files[0], 1, HOST_TRACE_NOWHERE, 8, 40);
    files_wait(&files[1], 0x40, 0, 100);
    files_write(&files[0], 1, 0x80, 8, 50);
    files_wait(&files[1], 0x80, 100, 200)->result = DN_ETIMEOUT;
    files_wait(&files[1], HOST_TRACE_NOWHERE, 200, 300);
    files_wait(&files[1], 0x80, 300, 0)->state = HOST_TRACE_OPEN;
    struct trace_events events = match();
    assert_int_equal(events.arrow_count, 0);
    trace_events_release(&events);
}

/* ---- Messages ----------------------------------------------------------------------------- */

static struct host_trace_record *add_message(struct trace_test_file *file,
                                             enum host_trace_kind kind, int peer, uint32_t channel,
                                             uint64_t begin_ns, uint64_t end_ns)
{
    struct host_trace_record *record = files_add(file, "message", kind, begin_ns, end_ns);
    record->peer = peer;
    record->area = channel;
    return record;
}

static void the_nth_receive_has_the_nth_message(void **state)
{
    (void)state;
    add_message(&files[0], HOST_TRACE_SEND, 2, 7, 10, 11);
    add_message(&files[0], HOST_TRACE_SEND, 2, 7, 20, 21)->result = DN_ETIMEOUT; /* not sent */
    add_message(&files[0], HOST_TRACE_SEND, 2, 7, 30, 31);
    add_message(&files[0], HOST_TRACE_SEND, 2, 8, 25, 26); /* on another channel */
    add_message(&files[0], HOST_TRACE_SEND, 1, 7, 35, 36); /* to another node */
    add_message(&files[1], HOST_TRACE_SEND, 2, 7, 12, 13);
    add_message(&files[2], HOST_TRACE_RECEIVE, 1, 7, 0, 40);
    add_message(&files[2], HOST_TRACE_RECEIVE, 0, 7, 40, 50);
    add_message(&files[2], HOST_TRACE_RECEIVE, 0, 7, 50, 60);
    add_message(&files[2], HOST_TRACE_RECEIVE, 0, 7, 60, 70); /* one too many */
    struct trace_events events = match();
    assert_int_equal(cause_of(&events, 2, 0), at(&events, 1, 0));
    assert_int_equal(cause_of(&events, 2, 1), at(&events, 0, 0));
    assert_int_equal(cause_of(&events, 2, 2), at(&events, 0, 2));
    assert_int_equal(cause_of(&events, 2, 3), TRACE_NO_EVENT);
    assert_int_equal(events.arrow_count, 3);
    trace_events_release(&events);
}

/* Two threads, of which the one that began first got the later message. */
static void receives_count_by_their_ends(void **state)
{
    (void)state;
    add_message(&files[0], HOST_TRACE_SEND, 1, 7, 10, 11);
    add_message(&files[0], HOST_TRACE_SEND, 1, 7, 20, 21);
    add_message(&files[1], HOST_TRACE_RECEIVE, 0, 7, 0, 60);
    add_message(&files[1], HOST_TRACE_RECEIVE, 0, 7, 5, 50)->thread = 1;
    struct trace_events events = match();
    assert_int_equal(cause_of(&events, 1, 0), at(&events, 0, 1));
    assert_int_equal(cause_of(&events, 1, 1), at(&events, 0, 0));
    trace_events_release(&events);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, begin)
    const struct CMUnitTest tests[] = {
        TEST(the_last_write_before_its_end_ends_a_wait),
        TEST(a_write_in_the_same_moment_counts),
        TEST(ranges_may_overlap_in_any_way),
        TEST(a_signal_ends_a_wait_and_its_body_does),
        TEST(what_failed_or_only_reads_ends_nothing),
        TEST(the_nth_receive_has_the_nth_message),
        TEST(receives_count_by_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
