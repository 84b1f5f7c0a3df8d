/* The event heap: by time, then in the order in which events were put, without growing. */
#include "unit/unit.h"

#include "base/random.h"
#include "sim/event.h"

static void an_empty_heap_gives_nothing(void **state)
{
    (void)state;
    struct sim_events events = {0};
    struct sim_event event;
    assert_false(sim_events_take(&events, &event));
    assert_true(sim_events_next(&events) == UINT64_MAX);
    sim_events_free(&events);
}

static void events_come_by_time_and_then_by_order(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct base_random random = {11};
    struct sim_events events = {0};
    struct sim_event event;
    struct sim_event last = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        /* Few different times, so that there are many ties. */
        sim_events_put(&events, base_random_below(&random, 50), i % 7, i, i * UINT64_C(3));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t due_ns = sim_events_next(&events);
        assert_true(sim_events_take(&events, &event));
        assert_true(event.at == due_ns);
        assert_true(i == 0 || event.at > last.at ||
                    (event.at == last.at && event.order > last.order));
        assert_true(event.order == event.subject && event.kind == event.subject % 7);
        assert_true(event.value == event.subject * UINT64_C(3));
        last = event;
    }
    assert_false(sim_events_take(&events, &event));
    sim_events_free(&events);
}

static void putting_and_taking_in_turn_keeps_the_order(void **state)
{
    (void)state;
    struct base_random random = {12};
    struct sim_events events = {0};
    struct sim_event event;
    uint64_t now_ns = 0;
    for (uint32_t i = 0; i < 100; i++) {
        sim_events_put(&events, base_random_below(&random, 100), 0, i, 0);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        assert_true(sim_events_take(&events, &event));
        assert_true(event.at >= now_ns);
        now_ns = event.at;
        sim_events_put(&events, now_ns + base_random_below(&random, 100), 0, i, 0);
    }
    assert_int_equal(events.count, 100);
    sim_events_free(&events);
}

static void once_grown_it_allocates_no_more(void **state)
{
    (void)state;
    struct sim_events events = {0};
    struct sim_event event;
    for (uint32_t i = 0; i < 1000; i++) {
        sim_events_put(&events, i, 0, 0, 0);
    }
    const struct sim_event_key *keys = events.keys;
    const struct sim_event_load *loads = events.loads;
    for (uint32_t run = 0; run < 10; run++) {
        sim_events_clear(&events);
        assert_false(sim_events_take(&events, &event));
        for (uint32_t i = 0; i < 1000; i++) {
            sim_events_put(&events, i, 0, 0, 0);
        }
        assert_int_equal(sim_events_next(&events), 0);
        assert_true(sim_events_take(&events, &event));
        assert_int_equal(event.order, 0);
    }
    assert_ptr_equal(events.keys, keys);
    assert_ptr_equal(events.loads, loads);
    sim_events_free(&events);
}

static void what_is_ahead_is_what_will_be_taken(void **state)
{
    (void)state;
    enum { EVENTS = 500, DISTANCE = SIM_EVENTS_ROW - 1 };
    struct base_random random = {3};
    struct sim_events events = {0};
    struct sim_event event;
    uint32_t expected[DISTANCE + 1];
    assert_null(sim_events_ahead(&events, 0));
    for (uint32_t i = 0; i < EVENTS; i++) {
        sim_events_put(&events, base_random_below(&random, 100), 0, i, 0);
    }
    assert_null(sim_events_ahead(&events, SIM_EVENTS_ROW));
    for (uint32_t taken = 0; taken + DISTANCE < EVENTS; taken += DISTANCE + 1) {
        for (uint32_t i = 0; i <= DISTANCE && taken + i < EVENTS; i++) {
            expected[i] = sim_events_ahead(&events, i)->subject;
        }
        for (uint32_t i = 0; i <= DISTANCE && taken + i < EVENTS; i++) {
            assert_true(sim_events_take(&events, &event));
            assert_int_equal(event.subject, expected[i]);
        }
    }
    /* One that is put before all others comes first. */
    sim_events_put(&events, 0, 0, EVENTS, 0);
    assert_int_equal(sim_events_ahead(&events, 0)->subject, EVENTS);
    sim_events_free(&events);
}

/* Against the simplest thing that does the same: a list in which the first is searched for. The
 * number of events goes up and down, through every size at which a level of the heap begins and the
 * memory grows. There are few different times; the last possible one is among them. */
static void it_does_what_a_list_would_do(void **state)
{
    (void)state;
    enum { MOST = 700 };
    static struct sim_event list[MOST];
    uint32_t list_count = 0;
    uint64_t order = 0;
    struct base_random random = {2001};
    struct sim_events events = {0};
    struct sim_event event;
    for (uint32_t step = 0; step < 40000; step++) {
        bool is_up = step / 2000 % 2 == 0;
        bool is_put = base_random_below(&random, 10) < (is_up ? 7 : 3);
        if (is_put && list_count < MOST) {
            uint64_t at = base_random_below(&random, 20);
            at = at == 19 ? UINT64_MAX : at;
            struct sim_event put = {at, order, step % 5, step, ~order};
            sim_events_put(&events, at, put.kind, put.subject, put.value);
            list[list_count++] = put;
            order++;
        } else if (list_count > 0) {
            uint32_t first = 0;
            for (uint32_t i = 1; i < list_count; i++) {
                if (list[i].at < list[first].at ||
                    (list[i].at == list[first].at && list[i].order < list[first].order)) {
                    first = i;
                }
            }
            assert_true(sim_events_next(&events) == list[first].at);
            assert_true(sim_events_take(&events, &event));
            assert_memory_equal(&event, &list[first], sizeof event);
            list[first] = list[--list_count];
        }
        assert_int_equal(events.count, list_count);
    }
    sim_events_free(&events);
}

/* More events at a time than any run has, all due at the same time. */
static void many_events_keep_their_order(void **state)
{
    (void)state;
    enum { MANY = 300000 };
    struct sim_events events = {0};
    struct sim_event event;
    for (uint32_t i = 0; i < MANY; i++) {
        sim_events_put(&events, 5, i % 3, i, UINT64_C(7) << 40 | i);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        assert_true(sim_events_take(&events, &event));
        if (event.order != i || event.subject != i || event.kind != i % 3 ||
            event.value != (UINT64_C(7) << 40 | i)) {
            fail_msg("event %u is number %u", i, event.subject);
        }
    }
    assert_false(sim_events_take(&events, &event));
    assert_true(sim_events_next(&events) == UINT64_MAX);
    sim_events_free(&events);
}

/* Events that were pending when all was forgotten do not come back. */
static void what_is_forgotten_stays_so(void **state)
{
    (void)state;
    struct sim_events events = {0};
    struct sim_event event;
    sim_events_clear(&events);
    for (uint32_t round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < 100 + 37 * round; i++) {
            sim_events_put(&events, 1000 - i, 1, i, 0);
        }
        (void)sim_events_take(&events, &event);
        sim_events_clear(&events);
        assert_true(sim_events_next(&events) == UINT64_MAX);
        for (uint32_t i = 0; i < 5 + round; i++) {
            sim_events_put(&events, 2000 + i, 2, i, 0);
        }
        for (uint32_t i = 0; i < 5 + round; i++) {
            assert_true(sim_events_take(&events, &event));
            assert_int_equal(event.kind, 2);
            assert_int_equal(event.order, i);
        }
        assert_false(sim_events_take(&events, &event));
        sim_events_clear(&events);
    }
    sim_events_free(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_gives_nothing),
        cmocka_unit_test(events_come_by_time_and_then_by_order),
        cmocka_unit_test(putting_and_taking_in_turn_keeps_the_order),
        cmocka_unit_test(what_is_ahead_is_what_will_be_taken),
        cmocka_unit_test(it_does_what_a_list_would_do),
        cmocka_unit_test(many_events_keep_their_order),
        cmocka_unit_test(what_is_forgotten_stays_so),
        cmocka_unit_test(once_grown_it_allocates_no_more),
    };
    return cmocka_run_group_tests_name("sim/event", tests, NULL, NULL);
}
