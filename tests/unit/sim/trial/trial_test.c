/* Trials on networks that suit them, and what is said where they do not. */
#include "unit/unit.h"

#include "sim/trial/trial.h"

static bool run_multicast(const char *machine_name, enum sim_topology topology, uint32_t nodes,
                          struct sim_trial_result *result, char error[SIM_ERROR_BYTES])
{
    struct sim_machine machine;
    assert_true(sim_machine_load(&machine, machine_name, error));
    const struct sim_trial_wish wish = {
        .trial = "multicast",
        .machine = &machine,
        .topology = topology,
        .node_count = nodes,
        .rounds = 5,
        .limit_ps = UINT64_C(1000000000000),
    };
    *error = '\0';
    bool done = sim_trial_run(&wish, result, error);
    sim_machine_free(&machine);
    return done;
}

/* On a ring by the routers' tables, on a switch by its own: all get it, and all answer. */
static void multicast_runs_on_rings_and_switches(void **state)
{
    (void)state;
    struct sim_trial_result result;
    char error[SIM_ERROR_BYTES];
    uint64_t before_ps = 0;
    for (uint32_t nodes = 2; nodes <= 32; nodes *= 2) {
        assert_true(run_multicast("dimmnet1-B", SIM_RING, nodes, &result, error));
        assert_true(result.most_ps > before_ps); /* it goes all the way round */
        /* One packet from node 0 in a round, and one from each other. */
        assert_int_equal(result.counters.packets, 5 * nodes);
        before_ps = result.most_ps;
    }
    assert_true(run_multicast("dimmnet1-D", SIM_ONE_SWITCH, 8, &result, error));
    assert_int_equal(result.counters.packets, 5 * 8);
}

static void multicast_is_refused_elsewhere(void **state)
{
    (void)state;
    struct sim_trial_result result;
    char error[SIM_ERROR_BYTES];
    assert_false(run_multicast("dimmnet1-B", SIM_TORUS, 16, &result, error));
    assert_string_equal(error, "multicast on dimmnet1-B: a torus has no multicast: the tables of "
                               "its routers lead round a ring only");
    assert_false(run_multicast("dimmnet1-B", SIM_ONE_SWITCH, 8, &result, error));
    assert_string_equal(error, "multicast on dimmnet1-B: its switches have no multicast");
    assert_false(run_multicast("dimmnet1-B", SIM_BACK_TO_BACK, 2, &result, error));
    assert_non_null(strstr(error, "multicast needs a switch or a ring of routers"));
    assert_false(run_multicast("dimmnet2", SIM_RING, 8, &result, error));
    assert_string_equal(error, "multicast on dimmnet2: packets by CD go to one node each");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multicast_runs_on_rings_and_switches),
        cmocka_unit_test(multicast_is_refused_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
