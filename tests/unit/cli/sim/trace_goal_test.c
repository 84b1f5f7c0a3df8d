/* Schedules of traces: each send has its receive, waits require what ended them, threads keep their
 * order, times between calls are computed, and groups meet in rounds. Each schedule is one that
 * comes to its end (trace_goal_write checks that), and is read back here. */
#define _GNU_SOURCE
#include "sim/goal/goal.h"
#include "unit/cli/launch/trace_files.h"

enum { NODES = 3, STORE = HOST_TRACE_STORE, ANSWER = 16 };

static struct trace_test_file files[NODES];
static struct goal goal;

static int begin(void **state)
{
    (void)state;
    for (unsigned i = 0; i < NODES; i++) {
        files[i] = files_make();
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    goal_close(&goal);
    return 0;
}

static void make(void)
{
    struct trace_events events = files_read(files, NODES);
    char error[TRACE_ERROR_BYTES] = "";
    char *text = NULL;
    size_t length = 0;
    uint64_t operations = 0;
    FILE *file = open_memstream(&text, &length);
    assert_true(trace_match(&events));
    if (!trace_goal_write(&events, file, &operations, error)) {
        fail_msg("%s", error);
    }
    (void)fclose(file);
    if (!goal_read_bytes("test", text, length, &goal, error)) {
        fail_msg("%s", error);
    }
    assert_int_equal(operations, goal.operation_count);
    free(text);
    trace_events_release(&events);
}

static const struct goal_operation *at(uint32_t rank, uint32_t number)
{
    assert_in_range(number, 0, goal.ranks[rank].count - 1);
    return &goal.ranks[rank].operations[number];
}

/* The n-th operation of a rank of this kind, as its number. */
static uint32_t find(uint32_t rank, enum goal_kind kind, unsigned number)
{
    for (uint32_t i = 0; i < goal.ranks[rank].count; i++) {
        if (at(rank, i)->kind == kind && number-- == 0) {
            return i;
        }
    }
    fail_msg("rank %u has too few operations of kind %d", rank, (int)kind);
    return 0;
}

static unsigned count(uint32_t rank, enum goal_kind kind)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < goal.ranks[rank].count; i++) {
        found += at(rank, i)->kind == kind;
    }
    return found;
}

/* Whether an operation requires another one, perhaps by way of others. */
static bool requires(uint32_t rank, uint32_t operation, uint32_t before)
{
    for (uint32_t i = 0; i < goal.ranks[rank].need_count; i++) {
        const struct goal_need *need = &goal.ranks[rank].needs[i];
        if (need->operation == operation &&
            (need->before == before || requires(rank, need->before, before))) {
            return true;
        }
    }
    return false;
}

static struct host_trace_record *call(unsigned rank, const char *name, enum host_trace_kind kind,
                                      uint64_t begin_ns, uint64_t end_ns)
{
    return files_add(&files[rank], name, kind, begin_ns, end_ns);
}

static void group_call(unsigned rank, const char *name, enum host_trace_kind kind,
                       uint64_t begin_ns, uint64_t end_ns, uint64_t bytes)
{
    call(rank, name, kind, begin_ns, end_ns)->bytes = bytes;
}

static void a_wait_is_the_receive_of_what_ended_it(void **state)
{
    (void)state;
    files_write(&files[0], 1, 0x40, 8, 100); /* ends at 101 */
    files_write(&files[0], 1, 0x80, 64, 151);
    files_wait(&files[1], 0x80, 20, 300);
    files_write(&files[1], 0, 0x40, 8, 350);
    make();
    assert_int_equal(count(0, GOAL_SEND), 2);
    assert_int_equal(at(0, find(0, GOAL_SEND, 1))->amount, 64);
    assert_int_equal(at(0, find(0, GOAL_SEND, 1))->tag, HOST_TRACE_PUT);
    assert_int_equal(at(0, find(0, GOAL_CALC, 0))->amount, 50);
    assert_true(requires(0, find(0, GOAL_SEND, 1), find(0, GOAL_CALC, 0)));
    assert_true(requires(0, find(0, GOAL_CALC, 0), find(0, GOAL_SEND, 0)));
    /* Node 1 waited for the second write: its answer requires that one, and not the first. */
    assert_int_equal(count(1, GOAL_RECEIVE), 2);
    assert_int_equal(at(1, find(1, GOAL_CALC, 0))->amount, 50);
    assert_true(requires(1, find(1, GOAL_SEND, 0), find(1, GOAL_CALC, 0)));
    assert_true(requires(1, find(1, GOAL_CALC, 0), find(1, GOAL_RECEIVE, 1)));
    assert_false(requires(1, find(1, GOAL_SEND, 0), find(1, GOAL_RECEIVE, 0)));
    /* What nobody waited for is received all the same. */
    assert_int_equal(count(0, GOAL_RECEIVE), 1);
}

static void what_comes_unasked_begins_when_it_is_sent(void **state)
{
    (void)state;
    call(1, "other", HOST_TRACE_OTHER, 0, 10);
    files_write(&files[1], 2, 0x40, 8, 50);
    files_write(&files[0], 1, 0x40, 8, 100);
    files_write(&files[1], 2, 0x40, 8, 150);
    make();
    assert_true(requires(1, find(1, GOAL_RECEIVE, 0), find(1, GOAL_SEND, 0)));
    assert_false(requires(1, find(1, GOAL_RECEIVE, 0), find(1, GOAL_SEND, 1)));
}

static void a_get_is_a_request_and_an_answer(void **state)
{
    (void)state;
    struct host_trace_record *get = call(0, "dn_get", HOST_TRACE_GET, 100, 200);
    get->peer = 1;
    get->bytes = 4096;
    struct host_trace_record *add = call(0, "dn_fetch_add_u64", HOST_TRACE_ATOMIC, 200, 300);
    add->peer = 1;
    add->bytes = 8;
    struct host_trace_record *plain = call(0, "dn_add_u64", HOST_TRACE_ATOMIC, 300, 310);
    plain->peer = 1;
    plain->bytes = 8;
    call(1, "other", HOST_TRACE_OTHER, 0, 10);
    make();
    assert_int_equal(count(0, GOAL_SEND), 3);
    assert_int_equal(count(0, GOAL_RECEIVE), 2);
    assert_int_equal(count(1, GOAL_SEND), 2);
    const struct goal_operation *answer = at(1, find(1, GOAL_SEND, 0));
    assert_int_equal(answer->amount, 4096);
    assert_int_equal(answer->tag, ANSWER + HOST_TRACE_GET);
    assert_int_equal(answer->cpu, 1); /* behind the only thread's */
    assert_true(requires(1, find(1, GOAL_SEND, 0), find(1, GOAL_RECEIVE, 0)));
    assert_true(requires(0, find(0, GOAL_SEND, 1), find(0, GOAL_RECEIVE, 0)));
    assert_true(requires(0, find(0, GOAL_SEND, 2), find(0, GOAL_RECEIVE, 1)));
}

static void an_answer_is_required_by_whoever_waits_for_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct host_trace_record *pull = call(0, "dn_pull", HOST_TRACE_GET, 100 + i, 101 + i);
        pull->peer = 1;
        pull->bytes = 8;
    }
    files_write(&files[0], 2, 0x40, 8, 102);
    call(0, "dn_quiet", HOST_TRACE_ORDER, 103, 200);
    files_write(&files[0], 2, 0x40, 8, 200);
    make();
    uint32_t before = find(0, GOAL_SEND, 2);
    uint32_t after = find(0, GOAL_SEND, 3);
    for (unsigned i = 0; i < 2; i++) {
        assert_false(requires(0, before, find(0, GOAL_RECEIVE, i)));
        assert_true(requires(0, after, find(0, GOAL_RECEIVE, i)));
    }
}

static void messages_and_failures(void **state)
{
    (void)state;
    struct host_trace_record *send = call(0, "dn_send", HOST_TRACE_SEND, 100, 110);
    send->peer = 1;
    send->bytes = 16;
    struct host_trace_record *lost = call(0, "dn_send", HOST_TRACE_SEND, 110, 120);
    lost->peer = 1;
    lost->result = -1;
    struct host_trace_record *receive = call(1, "dn_recv", HOST_TRACE_RECEIVE, 50, 200);
    receive->peer = 0;
    struct host_trace_record *vain = files_wait(&files[1], 0x40, 200, 1200);
    vain->result = -1;
    files_write(&files[1], 2, 0x40, 8, 1200);
    make();
    assert_int_equal(count(0, GOAL_SEND), 1);
    assert_int_equal(count(1, GOAL_RECEIVE), 1);
    assert_int_equal(at(1, find(1, GOAL_CALC, 0))->amount, 1000);
    assert_true(requires(1, find(1, GOAL_SEND, 0), find(1, GOAL_CALC, 0)));
    assert_true(requires(1, find(1, GOAL_CALC, 0), find(1, GOAL_RECEIVE, 0)));
}

static void threads_are_cpus(void **state)
{
    (void)state;
    files_write(&files[0], 1, 0x40, 8, 100);
    files_write(&files[0], 1, 0x40, 8, 110)->thread = 1;
    files_wait(&files[1], 0x40, 50, 300)->thread = 1;
    files_wait(&files[1], 0x40, 60, 300);
    make();
    assert_int_equal(at(0, find(0, GOAL_SEND, 1))->cpu, 1);
    assert_false(requires(0, find(0, GOAL_SEND, 1), find(0, GOAL_SEND, 0)));
    /* Two threads waited for the same: it is received once, by the first. */
    assert_int_equal(count(1, GOAL_RECEIVE), 2);
    assert_int_equal(at(1, find(1, GOAL_RECEIVE, 1))->cpu, 1);
}

static void a_barrier_is_disseminated(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < NODES; rank++) {
        group_call(rank, "dn_barrier", HOST_TRACE_BARRIER, 100 + rank, 200 + rank, 0);
        files_write(&files[rank], (int)(rank + 1) % NODES, 0x40, 8, 300);
    }
    make();
    for (unsigned rank = 0; rank < NODES; rank++) {
        assert_int_equal(count(rank, GOAL_SEND), 3); /* two rounds, and the write */
        assert_int_equal(count(rank, GOAL_RECEIVE), 3);
        uint32_t write = UINT32_MAX;
        unsigned barrier_receives = 0;
        for (uint32_t i = 0; i < goal.ranks[rank].count; i++) {
            write = at(rank, i)->kind == GOAL_SEND && at(rank, i)->tag == HOST_TRACE_PUT ? i
                                                                                         : write;
        }
        for (uint32_t i = 0; i < goal.ranks[rank].count; i++) {
            barrier_receives += at(rank, i)->kind == GOAL_RECEIVE &&
                                at(rank, i)->tag == HOST_TRACE_BARRIER && requires(rank, write, i);
        }
        assert_int_equal(barrier_receives, 2);
    }
}

/* What is between the halves of a barrier does not wait for the others. */
static void a_barrier_may_have_two_halves(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < 2; rank++) {
        group_call(rank, "dn_barrier_arrive", HOST_TRACE_BARRIER, 100, 110, 0);
        files_write(&files[rank], 2, 0x40, 8, 110);
        group_call(rank, "dn_barrier_wait", HOST_TRACE_BARRIER, 120, 200, 0);
        files_write(&files[rank], 2, 0x48, 8, 200);
    }
    make();
    for (unsigned rank = 0; rank < 2; rank++) {
        uint32_t receive = find(rank, GOAL_RECEIVE, 0);
        uint32_t sends[3];
        unsigned writes = 0;
        for (uint32_t i = 0; i < goal.ranks[rank].count && writes < 2; i++) {
            if (at(rank, i)->kind == GOAL_SEND && at(rank, i)->tag == HOST_TRACE_PUT) {
                sends[writes++] = i;
            }
        }
        assert_false(requires(rank, sends[0], receive));
        assert_true(requires(rank, sends[1], receive));
    }
}

static void a_broadcast_is_a_tree(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < NODES; rank++) {
        struct host_trace_record *record = call(rank, "shmem_broadcast", HOST_TRACE_COLLECTIVE, 100,
                                                200);
        record->bytes = 1000;
        record->peer = 1;
    }
    make();
    assert_int_equal(count(0, GOAL_SEND), 0);
    assert_int_equal(count(1, GOAL_SEND), 2);
    assert_int_equal(count(1, GOAL_RECEIVE), 0);
    assert_int_equal(at(1, 0)->amount, 1000);
}

/* A root that was through before others came sends to each of them. */
static void a_broadcast_need_not_be_a_meeting(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < NODES; rank++) {
        struct host_trace_record *record = call(rank, "dn_broadcast", HOST_TRACE_COLLECTIVE,
                                                100 + 100 * rank, 150 + 100 * rank);
        record->bytes = 8;
        record->peer = 0;
    }
    make();
    assert_int_equal(count(0, GOAL_SEND), 2);
    assert_int_equal(count(1, GOAL_RECEIVE), 1);
    assert_int_equal(count(2, GOAL_RECEIVE), 1);
}

static void all_to_all_is_pairwise(void **state)
{
    (void)state;
    for (unsigned rank = 0; rank < NODES; rank++) {
        group_call(rank, "dn_alltoall", HOST_TRACE_COLLECTIVE, 100, 200, 24);
        group_call(rank, "dn_alloc", HOST_TRACE_COLLECTIVE, 200, 300, 1 << 20);
    }
    make();
    for (unsigned rank = 0; rank < NODES; rank++) {
        uint64_t bytes = 0;
        assert_int_equal(count(rank, GOAL_SEND), 2 + 2);
        for (unsigned i = 0; i < 4; i++) {
            bytes += at(rank, find(rank, GOAL_SEND, i))->amount;
        }
        assert_int_equal(bytes, 24 + 24 + 8 + 8); /* allocating moves no data */
    }
}

/* Calls that cannot have been one: nothing waits for what came later. */
static void calls_that_never_met_are_left_out(void **state)
{
    (void)state;
    group_call(0, "dn_allreduce", HOST_TRACE_COLLECTIVE, 100, 200, 8);
    files_write(&files[0], 1, 0x40, 8, 300);
    files_wait(&files[1], 0x40, 50, 400);
    group_call(1, "dn_allreduce", HOST_TRACE_COLLECTIVE, 400, 500, 8);
    make();
    assert_int_equal(count(0, GOAL_SEND), 1);
    assert_int_equal(count(1, GOAL_SEND), 0);
}

static void nothing_is_a_schedule_too(void **state)
{
    (void)state;
    make();
    assert_int_equal(goal.rank_count, NODES);
    assert_int_equal(goal.operation_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_wait_is_the_receive_of_what_ended_it),
        TEST(what_comes_unasked_begins_when_it_is_sent),
        TEST(a_get_is_a_request_and_an_answer),
        TEST(an_answer_is_required_by_whoever_waits_for_it),
        TEST(messages_and_failures),
        TEST(threads_are_cpus),
        TEST(a_barrier_is_disseminated),
        TEST(a_barrier_may_have_two_halves),
        TEST(a_broadcast_is_a_tree),
        TEST(a_broadcast_need_not_be_a_meeting),
        TEST(all_to_all_is_pairwise),
        TEST(calls_that_never_met_are_left_out),
        TEST(nothing_is_a_schedule_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
