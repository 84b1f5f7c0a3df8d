/* Whole runs: the same seed gives the same bytes, every fault happens, and no failure is found
 * where nothing is wrong. */
#include "unit/unit.h"

#include <stdlib.h>

#include "storm_by_hand.h"

enum { SEEDS = 40 };

/* The trace of a run as text, to free. */
static char *trace_of(struct storm_world *world, const struct storm_plan *plan,
                      struct storm_result *result)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    assert_non_null(file);
    storm_world_run(world, plan, file, result);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    struct storm_world *used = storm_world_new();
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct storm_plan plan;
        struct storm_result one;
        struct storm_result other;
        assert_true(make_plan(&plan, "all", seed, 0));
        struct storm_world *new = storm_world_new();
        char *first = trace_of(new, &plan, &one);
        char *second = trace_of(used, &plan, &other);
        print_message("seed %u\r", (unsigned)seed);
        assert_string_equal(first, second);
        assert_memory_equal(&one, &other, sizeof one);
        free(first);
        free(second);
        storm_world_free(new);
    }
    storm_world_free(used);
}

static void the_hash_is_the_same_without_a_trace_and_another_for_another_seed(void **state)
{
    (void)state;
    struct storm_world *world = storm_world_new();
    uint64_t last = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct storm_plan plan;
        struct storm_result with;
        struct storm_result without;
        assert_true(make_plan(&plan, "all", seed, 0));
        free(trace_of(world, &plan, &with));
        run_plan(&plan, &without);
        assert_true(with.trace_hash == without.trace_hash && with.trace_hash != last);
        last = with.trace_hash;
    }
    storm_world_free(world);
}

static void every_scenario_is_clean_and_has_its_fault(void **state)
{
    (void)state;
    struct storm_world *world = storm_world_new();
    for (unsigned i = 0; storm_scenarios[i].name; i++) {
        uint64_t counts[STORM_FAULT_COUNT] = {0};
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct storm_plan plan;
            struct storm_result result;
            assert_true(make_plan(&plan, storm_scenarios[i].name, seed, 0));
            storm_world_run(world, &plan, NULL, &result);
            if (result.failed) {
                fail_msg("dimmnet storm --scenario %s --seeds %u: %s", plan.scenario,
                         (unsigned)seed, result.failure);
            }
            for (unsigned fault = 0; fault < STORM_FAULT_COUNT; fault++) {
                counts[fault] += result.fault_counts[fault];
            }
        }
        for (unsigned fault = 0; fault < STORM_FAULT_COUNT; fault++) {
            bool own = strcmp(storm_faults[fault].name, storm_scenarios[i].name) == 0;
            assert_true(counts[fault] > 0 || !(own || i == 0));
        }
    }
    storm_world_free(world);
}

static void a_run_that_turns_in_circles_is_ended(void **state)
{
    (void)state;
    struct storm_plan plan;
    struct storm_result result;
    assert_true(make_plan(&plan, "calm", 1, 0));
    plan.events_max = 10;
    run_plan(&plan, &result);
    assert_true(result.failed);
    assert_string_equal(result.failure, "no end after 10 events");
}

static void a_run_without_time_to_complete_says_what_is_missing(void **state)
{
    (void)state;
    unsigned incomplete = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct storm_plan plan;
        struct storm_result result;
        assert_true(make_plan(&plan, "loss", seed, 0));
        plan.liveness_ns = 0;
        run_plan(&plan, &result);
        incomplete += strncmp(result.failure, "not complete after 0 ms: node", 29) == 0;
    }
    assert_true(incomplete > 0);
}

static void a_clock_that_drifts_and_jumps_tells_its_own_time(void **state)
{
    (void)state;
    struct storm_world world = {.now_ns = 10000000};
    struct storm_node node = {.clock_offset_ns = 1000, .clock_drift_ppm = 50000, .jump_ns = 7};
    assert_true(storm_node_now(&world, &node) == 10000000 + 500000 + 1000 + 7);
    node.clock_drift_ppm = -50000;
    assert_true(storm_node_now(&world, &node) == 10000000 - 500000 + 1000 + 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(the_hash_is_the_same_without_a_trace_and_another_for_another_seed),
        cmocka_unit_test(every_scenario_is_clean_and_has_its_fault),
        cmocka_unit_test(a_run_that_turns_in_circles_is_ended),
        cmocka_unit_test(a_run_without_time_to_complete_says_what_is_missing),
        cmocka_unit_test(a_clock_that_drifts_and_jumps_tells_its_own_time),
    };
    return cmocka_run_group_tests_name("sim/storm_world", tests, NULL, NULL);
}
