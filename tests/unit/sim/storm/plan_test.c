/* Plans: every seed of every scenario makes sense, and leaving something out changes nothing
 * else. */
#include "unit/unit.h"

#include "storm_by_hand.h"

static void every_plan_makes_sense(void **state)
{
    (void)state;
    struct storm_plan plan;
    for (unsigned i = 0; storm_scenarios[i].name; i++) {
        for (uint64_t seed = 0; seed < 300; seed++) {
            assert_true(make_plan(&plan, storm_scenarios[i].name, seed, 0));
            assert_in_range(plan.node_count, 2, 6);
            assert_in_range(plan.operations, 1, 200);
            assert_true(board_bytes(&plan.board) > 0);
            assert_true(plan.safety_ns > 0 && plan.liveness_ns > plan.safety_ns);
        }
    }
}

static void an_unknown_scenario_is_refused(void **state)
{
    (void)state;
    struct storm_plan plan;
    assert_false(make_plan(&plan, "sunshine", 0, 0));
    assert_false(make_plan(&plan, "calm", 0, STORM_NODES_MAX + 1));
}

static void a_scenario_has_its_fault_and_no_other(void **state)
{
    (void)state;
    struct storm_plan plan;
    for (unsigned i = 1; storm_scenarios[i].name; i++) {
        assert_true(make_plan(&plan, storm_scenarios[i].name, 5, 0));
        for (unsigned fault = 0; fault < STORM_FAULT_COUNT; fault++) {
            bool own = strcmp(storm_faults[fault].name, storm_scenarios[i].name) == 0;
            bool with_crash = fault == STORM_RESTART && plan.fault[STORM_CRASH];
            /* Refusals, which replays repeat, come from few buffers. */
            bool with_replay = fault == STORM_FULL &&
                               strcmp(storm_scenarios[i].name, "replay") == 0;
            assert_true(plan.fault[fault] == (own || with_crash || with_replay));
        }
    }
}

static void the_mixture_has_every_fault_and_every_work_at_times(void **state)
{
    (void)state;
    struct storm_plan plan;
    unsigned faults[STORM_FAULT_COUNT] = {0};
    unsigned works[STORM_WORK_COUNT] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        assert_true(make_plan(&plan, "all", seed, 0));
        for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
            faults[i] += plan.fault[i];
        }
        for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
            works[i] += plan.work[i];
        }
    }
    for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
        assert_in_range(faults[i], 20, 180);
    }
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        assert_in_range(works[i], 20, 190);
    }
}

static void leaving_out_changes_nothing_else(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct storm_choice choice = {.seed = seed, .scenario = "all"};
        struct storm_plan whole;
        struct storm_plan less;
        assert_true(storm_plan_choose(&whole, &choice));
        choice.without_fault[STORM_LOSS] = true;
        choice.without_work[STORM_WORK_PULL] = true;
        assert_true(storm_plan_choose(&less, &choice));
        assert_false(less.fault[STORM_LOSS] || less.loss_ppm || less.work[STORM_WORK_PULL]);
        less.fault[STORM_LOSS] = whole.fault[STORM_LOSS];
        less.loss_ppm = whole.loss_ppm;
        less.work[STORM_WORK_PULL] = whole.work[STORM_WORK_PULL];
        assert_memory_equal(&less, &whole, sizeof less);
    }
}

static void nobody_returns_who_never_died(void **state)
{
    (void)state;
    struct storm_choice choice = {.scenario = "crash"};
    struct storm_plan plan;
    assert_true(storm_plan_choose(&plan, &choice));
    assert_true(plan.fault[STORM_RESTART]);
    choice.without_fault[STORM_CRASH] = true;
    assert_true(storm_plan_choose(&plan, &choice));
    assert_false(plan.fault[STORM_RESTART]);
}

static void small_caches_and_few_buffers_are_faults_like_others(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct storm_choice choice = {.seed = seed, .scenario = "evict"};
        struct storm_plan plan;
        assert_true(storm_plan_choose(&plan, &choice));
        assert_in_range(plan.board.swif.ltee_count, 1, 4);
        choice.without_fault[STORM_EVICT] = true;
        assert_true(storm_plan_choose(&plan, &choice));
        assert_true(plan.board.swif.ltee_count >= 8);
        choice.scenario = "full";
        assert_true(storm_plan_choose(&plan, &choice));
        assert_true(plan.board.swif.buffer_count[WIRE_REQUEST] < 8);
    }
}

static void said_numbers_are_taken(void **state)
{
    (void)state;
    struct storm_choice choice = {.scenario = "all", .node_count = 9, .operations = 3};
    struct storm_plan plan;
    assert_true(storm_plan_choose(&plan, &choice));
    assert_int_equal(plan.node_count, 9);
    assert_int_equal(plan.board.swif.node_count, 9);
    assert_int_equal(plan.operations, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_makes_sense),
        cmocka_unit_test(an_unknown_scenario_is_refused),
        cmocka_unit_test(a_scenario_has_its_fault_and_no_other),
        cmocka_unit_test(the_mixture_has_every_fault_and_every_work_at_times),
        cmocka_unit_test(leaving_out_changes_nothing_else),
        cmocka_unit_test(nobody_returns_who_never_died),
        cmocka_unit_test(small_caches_and_few_buffers_are_faults_like_others),
        cmocka_unit_test(said_numbers_are_taken),
    };
    return cmocka_run_group_tests_name("sim/storm_plan", tests, NULL, NULL);
}
