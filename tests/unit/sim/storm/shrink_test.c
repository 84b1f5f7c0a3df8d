/* Shrinking: what the failure needs stays, all else goes. */
#include "unit/unit.h"

#include "sim/storm/shrink.h"

/* A run fails when it has all of these. */
struct needs {
    enum storm_fault fault;
    enum storm_work work;
    uint32_t nodes, operations;
    uint32_t asked;
};

static bool fails(void *context, const struct storm_choice *choice)
{
    struct needs *needs = context;
    struct storm_plan plan;
    needs->asked++;
    assert_true(storm_plan_choose(&plan, choice));
    return plan.fault[needs->fault] && plan.work[needs->work] && plan.node_count >= needs->nodes &&
           plan.operations >= needs->operations;
}

static void what_the_failure_needs_stays_and_all_else_goes(void **state)
{
    (void)state;
    unsigned tried = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct needs needs = {STORM_PAUSE, STORM_WORK_ATOMIC, 3, 5, 0};
        const struct storm_judge judge = {&needs, fails};
        struct storm_choice choice = {.seed = seed, .scenario = "all"};
        struct storm_plan plan;
        if (!fails(&needs, &choice)) {
            continue;
        }
        tried++;
        needs.asked = 0;
        uint32_t runs = storm_shrink(&choice, &judge);
        assert_int_equal(runs, needs.asked);
        assert_true(storm_plan_choose(&plan, &choice));
        assert_int_equal(plan.node_count, 3);
        assert_int_equal(plan.operations, 5);
        for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
            assert_true(plan.fault[i] == (i == STORM_PAUSE));
        }
        for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
            assert_true(plan.work[i] == (i == STORM_WORK_ATOMIC));
        }
    }
    assert_true(tried > 20);
}

/* Fails only when nothing is changed. */
static bool fails_whole(void *context, const struct storm_choice *choice)
{
    return memcmp(choice, context, sizeof *choice) == 0;
}

static void a_failure_that_needs_everything_is_left_as_it_is(void **state)
{
    (void)state;
    struct storm_choice whole = {.seed = 3, .scenario = "all"};
    struct storm_choice choice = whole;
    const struct storm_judge judge = {&whole, fails_whole};
    assert_true(storm_shrink(&choice, &judge) > 0);
    assert_memory_equal(&choice, &whole, sizeof choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_failure_needs_stays_and_all_else_goes),
        cmocka_unit_test(a_failure_that_needs_everything_is_left_as_it_is),
    };
    return cmocka_run_group_tests_name("sim/storm_shrink", tests, NULL, NULL);
}
