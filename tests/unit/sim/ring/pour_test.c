/* A hundred thousand packets over links with bit errors, each checked: `make soak` does the same
 * with a hundred million (tests/soak/net.c). */
#include "unit/unit.h"

#include "soak/pour.h"

static struct pour_result result;

static struct pour_plan plan_of(double bit_error_rate, uint64_t packets)
{
    struct pour_plan plan = {.packets = packets, .flits_max = 4, .queue_flits = 64, .seed = 20031};
    net_config_default(&plan.config, 8);
    plan.config.bit_error_rate = bit_error_rate;
    return plan;
}

static void pour_well(const struct pour_plan *plan)
{
    if (!pour(plan, &result)) {
        fail_msg("seed %llu: %s", (unsigned long long)plan->seed, result.fault);
    }
    assert_true(result.counters.packets_delivered >= plan->packets);
    assert_true((plan->config.bit_error_rate > 0) == (result.counters.frames_damaged > 0));
}

static void a_bit_error_rate_of_1e6_harms_nothing(void **state)
{
    (void)state;
    struct pour_plan plan = plan_of(1e-6, 100000);
    pour_well(&plan);
    /* As many as expected for the bits that went over links, 6 deviations either way. */
    double flits = (double)(result.counters.flit_hops - result.counters.flits_delivered);
    double expected = flits * plan.config.flit_bytes * 8 * 1e-6;
    assert_true((double)result.counters.frames_damaged > expected - 6 * 9);
    assert_true((double)result.counters.frames_damaged < 2 * expected + 6 * 9);
    assert_true(result.counters.frames_resent >= result.counters.frames_damaged);
}

static void nor_does_one_of_1e4(void **state)
{
    (void)state;
    struct pour_plan plan = plan_of(1e-4, 20000);
    for (plan.config.frame_flits = 1; plan.config.frame_flits <= 64; plan.config.frame_flits *= 4) {
        pour_well(&plan);
    }
    /* Two virtual networks, whose numbers wrap: 2^16 frames and more over each link. */
    plan = plan_of(1e-5, 200000);
    plan.config.width = 2;
    plan.config.frame_flits = 1;
    pour_well(&plan);
}

static void nor_do_links_that_die_and_return(void **state)
{
    (void)state;
    struct pour_plan plan = plan_of(1e-5, 20000);
    plan.death_cycles = 300;
    pour_well(&plan);
    assert_true(result.deaths > 5);
    plan.config.bit_error_rate = 0;
    pour_well(&plan);
    assert_true(result.deaths > 5);
    plan.config.bit_error_rate = 1e-5;
    plan.config.shape = NET_TORUS;
    plan.config.width = plan.config.height = 3;
    pour_well(&plan);
}

/* Shows that these tests can fail: the paper's literal rules do not pass them, nor does a router
 * without a dateline. */
static void what_is_broken_is_found(void **state)
{
    (void)state;
    struct pour_plan plan = plan_of(1e-4, 100000);
    plan.config.literal_rules = true;
    assert_false(pour(&plan, &result));
    assert_non_null(strstr(result.fault, "nothing came"));

    plan = plan_of(0, 1000000);
    plan.config.routing = NET_BROKEN;
    plan.config.vcs = plan.config.virtual_networks = 1;
    plan.config.buffer_flits = 4;
    plan.flits_max = 32;
    assert_false(pour(&plan, &result));
    assert_non_null(strstr(result.fault, "deadlock: router"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bit_error_rate_of_1e6_harms_nothing),
        cmocka_unit_test(nor_does_one_of_1e4),
        cmocka_unit_test(nor_do_links_that_die_and_return),
        cmocka_unit_test(what_is_broken_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
