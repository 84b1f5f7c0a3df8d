/* The heartbeat of a link, in virtual time. */
#include "cli/remote/pulse.h"

#include <unistd.h>

#include "unit/unit.h"

#define SECOND UINT64_C(1000000000)
#define TIMEOUT (12 * SECOND)

static int ends[2];

static int set_up(void **state)
{
    (void)state;
    return pipe(ends);
}

static int tear_down(void **state)
{
    (void)state;
    return close(ends[0]) | close(ends[1]);
}

static struct pulse begin(uint64_t now_ns)
{
    struct pulse pulse;
    remote_pulse_init(&pulse);
    assert_int_equal(remote_pulse_due_ns(&pulse), UINT64_MAX);
    assert_false(remote_pulse_beats(&pulse, UINT64_MAX - 1));
    assert_false(remote_pulse_is_silent(&pulse, UINT64_MAX - 1, ends[0]));
    remote_pulse_begin(&pulse, TIMEOUT, now_ns);
    return pulse;
}

static void beats_come_at_a_fraction_of_the_silence(void **state)
{
    (void)state;
    struct pulse pulse = begin(SECOND);
    unsigned beats = 0;
    for (uint64_t now_ns = SECOND; now_ns < SECOND + TIMEOUT; now_ns += TIMEOUT / PULSE_BEATS / 5) {
        beats += remote_pulse_beats(&pulse, now_ns);
        assert_true(remote_pulse_due_ns(&pulse) > now_ns);
        remote_pulse_heard(&pulse, now_ns);
    }
    assert_int_equal(beats, PULSE_BEATS);
    /* One that is late is not made up for by two. */
    assert_true(remote_pulse_beats(&pulse, 100 * SECOND));
    assert_false(remote_pulse_beats(&pulse, 100 * SECOND));
}

static void silence_is_seen_when_the_time_is_over(void **state)
{
    (void)state;
    struct pulse pulse = begin(0);
    assert_false(remote_pulse_is_silent(&pulse, TIMEOUT - 1, ends[0]));
    assert_true(remote_pulse_is_silent(&pulse, TIMEOUT, ends[0]));
    remote_pulse_heard(&pulse, TIMEOUT);
    assert_false(remote_pulse_is_silent(&pulse, 2 * TIMEOUT - 1, ends[0]));
    assert_true(remote_pulse_is_silent(&pulse, 2 * TIMEOUT, ends[0]));
    assert_true(remote_pulse_is_silent(&pulse, 2 * TIMEOUT, -1));
}

/* Whenever it is stopped, also just before its next beat. */
static void a_stop_shorter_than_the_time_out_is_no_death(void **state)
{
    (void)state;
    for (uint64_t stop_ns = SECOND; stop_ns < SECOND + TIMEOUT; stop_ns += SECOND / 10) {
        struct pulse speaker = begin(0);
        struct pulse listener = begin(0);
        for (uint64_t now_ns = 0; now_ns < stop_ns; now_ns += SECOND / 100) {
            if (remote_pulse_beats(&speaker, now_ns)) {
                remote_pulse_heard(&listener, now_ns);
            }
        }
        uint64_t again_ns = stop_ns + TIMEOUT / 10 * 9;
        assert_false(remote_pulse_is_silent(&listener, again_ns, ends[0]));
        assert_true(remote_pulse_beats(&speaker, again_ns));
    }
}

static void who_was_stopped_listens_first(void **state)
{
    (void)state;
    struct pulse pulse = begin(0);
    char byte;
    assert_int_equal(write(ends[1], "b", 1), 1);
    assert_false(remote_pulse_is_silent(&pulse, 10 * TIMEOUT, ends[0]));
    assert_true(remote_pulse_due_ns(&pulse) <= 10 * TIMEOUT); /* our own beat is late */
    assert_true(remote_pulse_beats(&pulse, 10 * TIMEOUT));
    assert_true(remote_pulse_due_ns(&pulse) > 10 * TIMEOUT);
    /* It has read it, and nothing more comes. */
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_false(remote_pulse_is_silent(&pulse, 11 * TIMEOUT - 1, ends[0]));
    assert_true(remote_pulse_is_silent(&pulse, 11 * TIMEOUT, ends[0]));
}

static void short_time_outs_are_for_nodes_alone(void **state)
{
    (void)state;
    struct pulse pulse;
    remote_pulse_begin(&pulse, 1, 0);
    assert_false(remote_pulse_is_silent(&pulse, PULSE_SILENCE_NS_MIN - 1, ends[0]));
    assert_true(remote_pulse_is_silent(&pulse, PULSE_SILENCE_NS_MIN, ends[0]));
    remote_pulse_begin(&pulse, UINT64_MAX, SECOND);
    assert_false(remote_pulse_is_silent(&pulse, UINT64_MAX - 1, ends[0]));
}

static void first_words_are_awaited_without_beats(void **state)
{
    (void)state;
    struct pulse pulse;
    remote_pulse_await(&pulse, 60 * SECOND, 0);
    assert_int_equal(remote_pulse_due_ns(&pulse), 60 * SECOND);
    assert_false(remote_pulse_beats(&pulse, 59 * SECOND));
    assert_true(remote_pulse_is_silent(&pulse, 60 * SECOND, ends[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(beats_come_at_a_fraction_of_the_silence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_is_seen_when_the_time_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stop_shorter_than_the_time_out_is_no_death, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(who_was_stopped_listens_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_time_outs_are_for_nodes_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(first_words_are_awaited_without_beats, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cli/remote/pulse", tests, NULL, NULL);
}
