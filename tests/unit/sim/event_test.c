/* The event heap: by time, among equals by who was put first, without growing. */
#include "../unit.h"

#include "base/random.h"
#include "sim/event.h"

static void an_empty_heap_gives_nothing(void **state)
{
    (void)state;
    struct sim_events events;
    struct sim_event event;
    sim_events_init(&events);
    assert_false(sim_events_take(&events, &event));
    assert_true(sim_events_next_ns(&events) == UINT64_MAX);
    sim_events_free(&events);
}

static void events_come_by_time_and_then_by_order(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct base_random random = {11};
    struct sim_events events;
    struct sim_event event;
    struct sim_event last = {0};
    sim_events_init(&events);
    for (uint32_t i = 0; i < COUNT; i++) {
        /* Few different times, so that there are many ties. */
        sim_events_put(&events, base_random_below(&random, 50), i % 7, i, i * UINT64_C(3));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t due_ns = sim_events_next_ns(&events);
        assert_true(sim_events_take(&events, &event));
        assert_true(event.at_ns == due_ns);
        assert_true(i == 0 || event.at_ns > last.at_ns ||
                    (event.at_ns == last.at_ns && event.order > last.order));
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
    struct sim_events events;
    struct sim_event event;
    uint64_t now_ns = 0;
    sim_events_init(&events);
    for (uint32_t i = 0; i < 100; i++) {
        sim_events_put(&events, base_random_below(&random, 100), 0, i, 0);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        assert_true(sim_events_take(&events, &event));
        assert_true(event.at_ns >= now_ns);
        now_ns = event.at_ns;
        sim_events_put(&events, now_ns + base_random_below(&random, 100), 0, i, 0);
    }
    assert_int_equal(events.count, 100);
    sim_events_free(&events);
}

static void once_grown_it_allocates_no_more(void **state)
{
    (void)state;
    struct sim_events events;
    struct sim_event event;
    sim_events_init(&events);
    for (uint32_t i = 0; i < 1000; i++) {
        sim_events_put(&events, i, 0, 0, 0);
    }
    const struct sim_event *heap = events.heap;
    for (uint32_t run = 0; run < 10; run++) {
        sim_events_clear(&events);
        assert_false(sim_events_take(&events, &event));
        for (uint32_t i = 0; i < 1000; i++) {
            sim_events_put(&events, i, 0, 0, 0);
        }
        assert_true(events.heap[0].order == 0);
    }
    assert_ptr_equal(events.heap, heap);
    sim_events_free(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_heap_gives_nothing),
        cmocka_unit_test(events_come_by_time_and_then_by_order),
        cmocka_unit_test(putting_and_taking_in_turn_keeps_the_order),
        cmocka_unit_test(once_grown_it_allocates_no_more),
    };
    return cmocka_run_group_tests_name("sim/event", tests, NULL, NULL);
}
