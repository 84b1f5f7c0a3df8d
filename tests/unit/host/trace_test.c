/* Recording: which calls make records, what is in them, and when they can be read. */
#define _GNU_SOURCE
#include "host/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "host/group.h"
#include "unit/unit.h"

enum { RECORDS = 1000, THREADS = 4, CALLS = 200 };

/* The file as the launcher sees it. */
static int fd;
static const struct host_trace_file *head;
static const struct host_trace_record *records;

static bool meters;
static unsigned entered, left;

static bool fabric_meters(void)
{
    return meters;
}

static void fabric_entered_call(void)
{
    entered++;
}

static void fabric_left_call(void)
{
    left++;
}

static const struct fabric fabric = {
    .meters = fabric_meters, .entered_call = fabric_entered_call, .left_call = fabric_left_call};

static void name_descriptor(int number)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", number);
    assert_int_equal(setenv(HOST_ENV_TRACE_FD, text, 1), 0);
}

static int start(void **state)
{
    (void)state;
    fd = host_trace_file_make(RECORDS);
    assert_true(fd >= 0);
    size_t bytes = HOST_TRACE_HEAD_BYTES + RECORDS * sizeof *records;
    const unsigned char *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    head = (const void *)map;
    records = (const void *)(map + HOST_TRACE_HEAD_BYTES);
    assert_int_equal(setenv(HOST_ENV_GROUP_FD, "0", 1), 0); /* any: it says that there is one */
    name_descriptor(fd);
    return host_trace_start(&fabric);
}

static int stop(void **state)
{
    (void)state;
    host_trace_stop();
    assert_int_equal(
        munmap((void *)(uintptr_t)head, HOST_TRACE_HEAD_BYTES + RECORDS * sizeof *records), 0);
    return close(fd);
}

static struct host_trace_what a_put(uint64_t bytes)
{
    struct host_trace_what what = host_trace_call(HOST_TRACE_PUT);
    what.peer = 3;
    what.place = 0x40;
    what.bytes = bytes;
    return what;
}

static const char *name_of(const struct host_trace_record *record)
{
    return head->names[record->name];
}

static void a_call_is_there_when_it_begins_and_whole_when_it_ends(void **state)
{
    (void)state;
    struct host_trace_what what = a_put(8);
    assert_true(host_trace_enter());
    struct host_trace_record *record = host_trace_begin("dn_put", &what);
    assert_non_null(record);
    assert_int_equal(head->claimed, 1);
    assert_int_equal(records[0].state, HOST_TRACE_OPEN);
    assert_string_equal(name_of(&records[0]), "dn_put");
    assert_int_equal(records[0].kind, HOST_TRACE_PUT);
    assert_int_equal(records[0].peer, 3);
    assert_int_equal(records[0].place, 0x40);
    assert_int_equal(records[0].bytes, 8);
    assert_int_equal(records[0].end_ns, 0);
    host_trace_end(record, DN_EPEER);
    assert_int_equal(records[0].state, HOST_TRACE_DONE);
    assert_int_equal(records[0].result, DN_EPEER);
    assert_true(records[0].end_ns >= records[0].begin_ns && records[0].begin_ns > 0);
}

static void only_the_outermost_call_is_recorded(void **state)
{
    (void)state;
    struct host_trace_what what = a_put(8);
    assert_true(host_trace_enter());
    struct host_trace_record *record = host_trace_begin("outer", &what);
    assert_false(host_trace_enter());
    host_trace_note("inner", &what, 1, 2, 0);
    host_trace_rename("inner, too");
    host_trace_end(record, 0);
    assert_int_equal(head->claimed, 1);
    host_trace_note("next", &what, 1, 2, 0);
    assert_int_equal(head->claimed, 2);
    assert_string_equal(name_of(&records[1]), "next");
}

static void a_new_name_is_for_one_call(void **state)
{
    (void)state;
    struct host_trace_what what = a_put(8);
    host_trace_rename("shmem_put");
    host_trace_note("dn_put", &what, 1, 2, 0);
    host_trace_note("dn_put", &what, 3, 4, 0);
    assert_string_equal(name_of(&records[0]), "shmem_put");
    assert_string_equal(name_of(&records[1]), "dn_put");
}

static void calls_without_room_are_counted(void **state)
{
    (void)state;
    struct host_trace_what what = a_put(8);
    for (unsigned i = 0; i < RECORDS + 7; i++) {
        assert_true(host_trace_enter());
        struct host_trace_record *record = host_trace_begin("dn_put", &what);
        assert_int_equal(record != NULL, i < RECORDS);
        host_trace_end(record, 0);
    }
    assert_int_equal(head->claimed, RECORDS + 7);
    assert_int_equal(records[RECORDS - 1].state, HOST_TRACE_DONE);
}

static void *make_calls(void *argument)
{
    const uint64_t *own = argument;
    struct host_trace_what what = a_put(*own);
    for (unsigned i = 0; i < CALLS; i++) {
        if (host_trace_enter()) {
            host_trace_end(host_trace_begin("dn_put", &what), 0);
        }
    }
    return NULL;
}

/* Each record belongs to one call, and a thread has one number. */
static void threads_do_not_mix(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t own[THREADS];
    unsigned counts[THREADS] = {0};
    int numbers[THREADS] = {-1, -1, -1, -1};
    for (unsigned i = 0; i < THREADS; i++) {
        own[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, make_calls, &own[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(head->claimed, THREADS * CALLS);
    for (unsigned i = 0; i < THREADS * CALLS; i++) {
        unsigned whose = (unsigned)records[i].bytes;
        assert_int_equal(records[i].state, HOST_TRACE_DONE);
        assert_in_range(whose, 0, THREADS - 1);
        numbers[whose] = numbers[whose] < 0 ? records[i].thread : numbers[whose];
        assert_int_equal(records[i].thread, numbers[whose]);
        counts[whose]++;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(counts[i], CALLS);
        for (unsigned other = 0; other < i; other++) {
            assert_int_not_equal(numbers[i], numbers[other]);
        }
    }
}

/* More than there is room for, all different; those that have room keep their own. */
static void names_run_out_gracefully(void **state)
{
    (void)state;
    static char texts[HOST_TRACE_NAMES + 10][8];
    struct host_trace_what what = a_put(8);
    for (unsigned i = 0; i < HOST_TRACE_NAMES + 10; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "c%u", i);
        host_trace_note(texts[i], &what, 1, 2, 0);
    }
    assert_int_equal(head->name_count, HOST_TRACE_NAMES);
    assert_string_equal(name_of(&records[0]), "c0");
    assert_int_equal(records[RECORDS - 1].name, 0);
    assert_string_equal(name_of(&records[RECORDS - 1]), "");
}

static void what_is_no_such_file_is_refused(void **state)
{
    (void)state;
    host_trace_stop();
    int other = memfd_create("other", MFD_CLOEXEC);
    assert_true(other >= 0);
    assert_int_equal(ftruncate(other, 2 * HOST_TRACE_HEAD_BYTES), 0);
    const uint64_t magic = HOST_TRACE_MAGIC;
    assert_int_equal(pwrite(other, &magic, sizeof magic, 0), sizeof magic);
    name_descriptor(other);
    assert_int_equal(host_trace_start(&fabric), DN_EGROUP); /* not sealed: it may shrink under us */
    name_descriptor(-1);
    assert_int_equal(host_trace_start(&fabric), DN_EGROUP);
    assert_false(host_trace_is_on);
    assert_int_equal(unsetenv(HOST_ENV_TRACE_FD), 0);
    assert_int_equal(host_trace_start(&fabric), 0);
    assert_false(host_trace_is_on);
    assert_int_equal(close(other), 0);
    assert_int_equal(host_trace_file_make(UINT64_MAX), -1);
}

static void metering_hears_of_outermost_calls_and_records_nothing(void **state)
{
    const struct host_trace_what what = host_trace_call(HOST_TRACE_OTHER);
    (void)state;
    host_trace_stop();
    assert_int_equal(unsetenv(HOST_ENV_TRACE_FD), 0);
    meters = true;
    entered = left = 0;
    assert_int_equal(host_trace_start(&fabric), 0);
    assert_true(host_trace_is_on);
    assert_int_equal(host_trace_now_ns(), 0); /* nobody needs the time */
    assert_true(host_trace_enter());
    struct host_trace_record *record = host_trace_begin("outer", &what);
    assert_null(record);
    assert_int_equal(entered, 1);
    assert_false(host_trace_enter());
    host_trace_note("inner", &what, 0, 0, 0);
    assert_int_equal(left, 0);
    host_trace_end(record, 0);
    assert_int_equal(left, 1);
    host_trace_note("short", &what, 0, 0, 0);
    assert_int_equal(left, 2);
    host_trace_stop();
    host_trace_note("too late", &what, 0, 0, 0);
    assert_int_equal(left, 2);
    meters = false;
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, start, stop)
    const struct CMUnitTest tests[] = {
        TEST(a_call_is_there_when_it_begins_and_whole_when_it_ends),
        TEST(only_the_outermost_call_is_recorded),
        TEST(a_new_name_is_for_one_call),
        TEST(calls_without_room_are_counted),
        TEST(threads_do_not_mix),
        TEST(what_is_no_such_file_is_refused),
        TEST(metering_hears_of_outermost_calls_and_records_nothing),
        TEST(names_run_out_gracefully), /* last: it uses the names up */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
