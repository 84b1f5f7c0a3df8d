/* Raw UDP between two threads: all arrives as it was sent, and a loss is a fault, not an endless
 * wait. */
#include "unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cli/perf/raw_udp.h"
#include "dimmnet.h"

enum { PLACE_BYTES = 300 * 1000 + 7, FAULT_MS = 50 };

struct pair {
    struct raw_udp ends[2];
    struct raw_udp_stream stream;
    uint64_t counts[2];
    unsigned char *source;
    unsigned char *target;
};

static int set_up(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct sockaddr_in bound[2];
    assert_non_null(pair);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(raw_udp_open(&pair->ends[i], &bound[i]), 0);
        assert_true(bound[i].sin_port != 0);
    }
    pair->ends[0].peer = bound[1];
    pair->ends[1].peer = bound[0];
    pair->source = malloc(PLACE_BYTES);
    pair->target = calloc(1, PLACE_BYTES);
    assert_non_null(pair->source);
    assert_non_null(pair->target);
    for (size_t i = 0; i < PLACE_BYTES; i++) {
        pair->source[i] = (unsigned char)(i * 31 + i / 251);
    }
    pair->stream = (struct raw_udp_stream){
        .place_bytes = PLACE_BYTES, .source = pair->source, .target = pair->target};
    *state = pair;
    return 0;
}

static int tear_down(void **state)
{
    struct pair *pair = *state;
    raw_udp_close(&pair->ends[0]);
    raw_udp_close(&pair->ends[1]);
    free(pair->source);
    free(pair->target);
    free(pair);
    return 0;
}

static void expect_no_fault(const struct pair *pair)
{
    assert_false(pair->ends[0].failed);
    assert_false(pair->ends[1].failed);
}

static void make_trips(uint32_t number, void *context)
{
    struct pair *pair = context;
    raw_udp_trips(&pair->ends[number], number == 0, pair->counts[number]);
}

static void send_datagrams(uint32_t number, void *context)
{
    struct pair *pair = context;
    if (number == 0) {
        raw_udp_send_datagrams(&pair->ends[0], pair->counts[0]);
    } else {
        raw_udp_receive_datagrams(&pair->ends[1], pair->counts[1]);
    }
}

static void send_stream(uint32_t number, void *context)
{
    struct pair *pair = context;
    if (number == 0) {
        raw_udp_send_stream(&pair->ends[0], &pair->stream, pair->counts[0]);
    } else {
        raw_udp_receive_stream(&pair->ends[1], &pair->stream, pair->counts[1]);
    }
}

static void run(struct pair *pair, uint64_t count, void (*body)(uint32_t, void *))
{
    pair->counts[0] = pair->counts[1] = count;
    unit_run_threads(2, body, pair);
}

static void round_trips_are_counted_on_both_ends(void **state)
{
    struct pair *pair = *state;
    run(pair, 3, make_trips);
    run(pair, 20, make_trips);
    expect_no_fault(pair);
    assert_int_equal(pair->ends[0].turn, 46);
    assert_int_equal(pair->ends[1].turn, 46);
}

/* Send more than a window, and no multiple of the steps of acknowledgement. */
static void all_datagrams_arrive(void **state)
{
    struct pair *pair = *state;
    run(pair, 1, send_datagrams);
    run(pair, 1501, send_datagrams);
    expect_no_fault(pair);
    assert_int_equal(pair->ends[1].received, 1502 * sizeof(uint64_t));
    assert_int_equal(pair->ends[0].acknowledged, 1502 * sizeof(uint64_t));
}

/* Include a place that ends in the middle of a burst. */
static void a_stream_arrives_byte_for_byte(void **state)
{
    struct pair *pair = *state;
    static const uint32_t segments[] = {1472, 9216, 32752, RAW_UDP_BURST_BYTES};
    for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
        memset(pair->target, 0, PLACE_BYTES);
        pair->stream.segment_bytes = segments[i];
        run(pair, (uint64_t)3 * PLACE_BYTES + 5, send_stream);
        expect_no_fault(pair);
        assert_memory_equal(pair->target, pair->source, PLACE_BYTES);
    }
}

static void without_a_target_nothing_is_copied(void **state)
{
    struct pair *pair = *state;
    pair->stream.segment_bytes = 9216;
    pair->stream.target = NULL;
    run(pair, PLACE_BYTES, send_stream);
    expect_no_fault(pair);
    assert_int_equal(pair->ends[1].received, PLACE_BYTES);
}

static void kinds_follow_each_other(void **state)
{
    struct pair *pair = *state;
    pair->stream.segment_bytes = 9216;
    for (int round = 0; round < 3; round++) {
        run(pair, 5, make_trips);
        run(pair, 300, send_datagrams);
        run(pair, 100 * 1000, send_stream);
    }
    expect_no_fault(pair);
}

/* The peer sends one fewer of everything, as if a datagram had been lost. */
static void what_is_lost_is_a_fault(void **state)
{
    struct pair *pair = *state;
    static void (*const bodies[])(uint32_t, void *) = {make_trips, send_datagrams, send_stream};
    pair->stream.segment_bytes = 1472;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        for (int end = 0; end < 2; end++) {
            tear_down(state);
            set_up(state);
            pair = *state;
            pair->stream.segment_bytes = 1472;
            pair->ends[0].patience_ns = pair->ends[1].patience_ns = FAULT_MS * UNIT_MS;
            pair->counts[end] = 1;
            pair->counts[1 - end] = 0;
            unit_run_threads(2, bodies[i], pair);
            assert_true(pair->ends[end].failed);
        }
    }
}

static void after_a_fault_calls_return_at_once(void **state)
{
    struct pair *pair = *state;
    pair->ends[0].failed = true;
    raw_udp_trips(&pair->ends[0], true, UINT64_MAX);
    raw_udp_send_datagrams(&pair->ends[0], UINT64_MAX);
    raw_udp_receive_datagrams(&pair->ends[0], UINT64_MAX / 8);
    pair->stream.segment_bytes = 1472;
    raw_udp_send_stream(&pair->ends[0], &pair->stream, UINT64_MAX);
    raw_udp_receive_stream(&pair->ends[0], &pair->stream, UINT64_MAX);
    assert_int_equal(pair->ends[0].sent, 0);
}

static void without_descriptors_there_is_no_end(void **state)
{
    struct raw_udp end;
    struct sockaddr_in bound;
    struct rlimit files;
    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = files.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int error = raw_udp_open(&end, &bound);
    int reason = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_int_equal(error, DN_ESYSTEM);
    assert_int_equal(reason, EMFILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(round_trips_are_counted_on_both_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(all_datagrams_arrive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_arrives_byte_for_byte, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_target_nothing_is_copied, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kinds_follow_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_lost_is_a_fault, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_a_fault_calls_return_at_once, set_up, tear_down),
        cmocka_unit_test(without_descriptors_there_is_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
