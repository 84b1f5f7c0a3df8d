/* Reading nodes' records: what is kept, how clocks are aligned, and what is not believed. */
#include "unit/cli/launch/trace_files.h"

static void events_keep_what_records_say(void **state)
{
    (void)state;
    struct trace_test_file files[] = {files_make(), files_make()};
    files_write(&files[1], 0, 0x40, 8, 1000)->result = DN_EPEER;
    files_wait(&files[0], 0x40, 900, 1100);
    struct trace_events events = files_read(files, 2);
    assert_int_equal(events.count, 2);
    assert_int_equal(events.node_count, 2);
    assert_int_equal(events.start_ns, 900);
    const struct trace_event *wait = &events.list[events.nodes[0].first];
    const struct trace_event *write = &events.list[events.nodes[1].first];
    assert_int_equal(wait->kind, HOST_TRACE_WAIT);
    assert_int_equal(wait->begin_ns, 0);
    assert_int_equal(wait->end_ns, 200);
    assert_int_equal(wait->rank, 0);
    assert_string_equal(trace_name(&events, write), "write");
    assert_int_equal(write->begin_ns, 100);
    assert_int_equal(write->rank, 1);
    assert_int_equal(write->peer, 0);
    assert_int_equal(write->place, 0x40);
    assert_int_equal(write->bytes, 8);
    assert_int_equal(write->result, DN_EPEER);
    assert_false(write->is_open);
    trace_events_release(&events);
}

static void clocks_are_aligned(void **state)
{
    (void)state;
    struct trace_test_file early = files_make();
    struct trace_test_file late = files_make();
    struct trace_events events;
    files_write(&early, 1, 0, 8, 5000);
    files_write(&late, 0, 0, 8, 100); /* this clock is 5000 behind */
    assert_true(trace_events_begin(&events, 2));
    assert_true(trace_events_add(&events, early.head, FILES_BYTES, 0, 0));
    assert_true(trace_events_add(&events, late.head, FILES_BYTES, 0, 5000));
    assert_true(trace_events_end(&events));
    assert_int_equal(events.list[0].begin_ns, 0);
    assert_int_equal(events.list[1].begin_ns, 100);
    free(early.head);
    free(late.head);
    trace_events_release(&events);
}

static void a_call_that_never_ended_lasts_until_its_node_did(void **state)
{
    (void)state;
    struct trace_test_file killed = files_make();
    struct trace_test_file other = files_make();
    struct trace_events events;
    struct host_trace_record *open = files_wait(&killed, 0x40, 1000, 0);
    open->state = HOST_TRACE_OPEN;
    files_write(&other, 0, 0, 8, 9000);
    assert_true(trace_events_begin(&events, 3));
    assert_true(trace_events_add(&events, killed.head, FILES_BYTES, 4000, 0));
    assert_true(trace_events_add(&events, killed.head, FILES_BYTES, 0, 0)); /* nobody knows when */
    assert_true(trace_events_add(&events, other.head, FILES_BYTES, 0, 0));
    assert_true(trace_events_end(&events));
    assert_true(events.list[0].is_open && events.list[1].is_open);
    assert_int_equal(events.list[0].end_ns, 3000);
    assert_int_equal(events.list[1].end_ns, 8001);
    free(killed.head);
    free(other.head);
    trace_events_release(&events);
}

static void full_files_tell_how_many_calls_are_missing(void **state)
{
    (void)state;
    struct trace_test_file file = files_make();
    for (unsigned i = 0; i < FILES_ROOM; i++) {
        files_write(&file, 0, 0, 8, 10 * i);
    }
    file.head->claimed += 5;
    struct trace_events events = files_read(&file, 1);
    assert_int_equal(events.count, FILES_ROOM);
    assert_int_equal(events.dropped, 5);
    assert_int_equal(events.nodes[0].dropped, 5);
    trace_events_release(&events);
}

/* A node can write anything into its file. */
static void nonsense_is_left_out(void **state)
{
    (void)state;
    struct trace_test_file file = files_make();
    files_write(&file, 0, 0, 8, 10)->state = HOST_TRACE_FREE;
    files_write(&file, 0, 0, 8, 20)->state = 77;
    files_write(&file, 0, 0, 8, 30)->kind = HOST_TRACE_KINDS;
    files_write(&file, 0, 0, 8, 40)->end_ns = 39;
    files_write(&file, -2, 0, 8, 50);
    files_write(&file, 0, 0, 8, 60)->name = 60000;
    memset(file.head->names[6], 'x', HOST_TRACE_NAME_BYTES); /* without an end */
    file.head->name_count = UINT32_MAX;
    struct trace_events events = files_read(&file, 1);
    assert_int_equal(events.count, 1);
    assert_string_equal(trace_name(&events, &events.list[0]), "put");
    trace_events_release(&events);
}

static void a_file_that_is_too_short_is_refused(void **state)
{
    (void)state;
    struct trace_events events;
    unsigned char some[64] = {0};
    assert_true(trace_events_begin(&events, 1));
    assert_false(trace_events_add(&events, some, sizeof some, 0, 0));
    trace_events_release(&events);
}

/* ---- Hashes ------------------------------------------------------------------------------- */

struct hashes {
    uint64_t all;
    uint64_t calls;
};

/* Two calls of two threads, and what a change does. */
static struct hashes hash(uint64_t start_ns, bool swapped, uint64_t bytes, uint64_t late_ns)
{
    struct trace_test_file file = files_make();
    struct host_trace_record *first = files_write(&file, 0, 0x40, 8, start_ns);
    struct host_trace_record *second = files_write(&file, 0, 0x40, bytes, start_ns + late_ns);
    first->thread = swapped;
    second->thread = !swapped;
    if (swapped) {
        struct host_trace_record other = *first;
        *first = *second;
        *second = other;
        first->thread = 1;
        second->thread = 0;
    }
    struct trace_events events = files_read(&file, 1);
    struct hashes made = {events.hash, events.call_hash};
    trace_events_release(&events);
    return made;
}

static void hashes_depend_on_what_was_called(void **state)
{
    (void)state;
    struct hashes one = hash(1000, false, 16, 10);
    struct hashes later = hash(777777, false, 16, 10);
    struct hashes interleaved = hash(1000, true, 16, 10);
    struct hashes slower = hash(1000, false, 16, 11);
    struct hashes other = hash(1000, false, 17, 10);
    assert_true(one.all == later.all && one.calls == later.calls);
    assert_true(one.all == interleaved.all && one.calls == interleaved.calls);
    assert_true(one.all != slower.all && one.calls == slower.calls);
    assert_true(one.all != other.all && one.calls != other.calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_keep_what_records_say),
        cmocka_unit_test(clocks_are_aligned),
        cmocka_unit_test(a_call_that_never_ended_lasts_until_its_node_did),
        cmocka_unit_test(full_files_tell_how_many_calls_are_missing),
        cmocka_unit_test(nonsense_is_left_out),
        cmocka_unit_test(a_file_that_is_too_short_is_refused),
        cmocka_unit_test(hashes_depend_on_what_was_called),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
