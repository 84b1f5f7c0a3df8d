/* Timers: the heap gives the same as a plain search. */
#include "unit/unit.h"

#include "base/random.h"
#include "swif/timers.h"

enum { TIMERS = 64, STEPS = 200000 };

static struct swif_timer timer[TIMERS];
static struct swif_timer *heap[TIMERS + 1];

static uint64_t earliest(uint32_t *set_count)
{
    uint64_t first_ns = SWIF_NEVER;
    *set_count = 0;
    for (uint32_t i = 0; i < TIMERS; i++) {
        *set_count += timer[i].at_ns != SWIF_NEVER;
        first_ns = timer[i].at_ns < first_ns ? timer[i].at_ns : first_ns;
    }
    return first_ns;
}

static void clear(struct swif_timers *timers)
{
    swif_timers_init(timers, heap);
    for (uint32_t i = 0; i < TIMERS; i++) {
        timer[i] = (struct swif_timer){.at_ns = SWIF_NEVER};
    }
}

static void first_is_the_earliest_whatever_is_set_moved_and_stopped(void **state)
{
    (void)state;
    struct swif_timers timers;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    clear(&timers);
    for (uint32_t step = 0; step < STEPS; step++) {
        struct swif_timer *chosen = &timer[base_random_below(&random, TIMERS)];
        uint64_t range = step % 1000 < 500 ? 20 : 1000000; /* many at the same time, or few */
        bool stop = base_random_below(&random, 3) == 0;
        swif_timer_set(&timers, chosen, stop ? SWIF_NEVER : base_random_below(&random, range));
        uint32_t set_count;
        uint64_t first_ns = earliest(&set_count);
        const struct swif_timer *first = swif_timers_first(&timers);
        assert_int_equal(timers.count, set_count);
        assert_true(first ? first->at_ns == first_ns : set_count == 0);
    }
}

static void timers_come_in_the_order_of_their_times(void **state)
{
    (void)state;
    struct swif_timers timers;
    clear(&timers);
    for (uint32_t i = 0; i < TIMERS; i++) {
        swif_timer_set(&timers, &timer[i], i * 37 % TIMERS);
    }
    for (uint32_t i = 0; i < TIMERS; i++) {
        struct swif_timer *first = swif_timers_first(&timers);
        assert_non_null(first);
        assert_int_equal(first->at_ns, i);
        swif_timer_set(&timers, first, SWIF_NEVER);
    }
    assert_null(swif_timers_first(&timers));
}

static void a_timer_that_is_not_set_may_be_stopped(void **state)
{
    (void)state;
    struct swif_timers timers;
    clear(&timers);
    swif_timer_set(&timers, &timer[0], SWIF_NEVER);
    swif_timer_set(&timers, &timer[1], 5);
    swif_timer_set(&timers, &timer[0], SWIF_NEVER);
    assert_ptr_equal(swif_timers_first(&timers), &timer[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_is_the_earliest_whatever_is_set_moved_and_stopped),
        cmocka_unit_test(timers_come_in_the_order_of_their_times),
        cmocka_unit_test(a_timer_that_is_not_set_may_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
