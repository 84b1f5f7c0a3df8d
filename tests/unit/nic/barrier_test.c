/* The barrier's words: who has arrived, who never will, and threads that run it. */
#include "../group.h"

#include "nic/barrier.h"

static void layout_follows_the_cores(void **state)
{
    (void)state;
    struct unit_group made;
    struct nic_barrier barrier;
    unit_group_make(&made, 4, 4);
    nic_barrier_make(&made.views[0], &barrier);
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_ptr_equal(nic_barrier_word(&barrier, rank), &made.views[0].ports[rank].arrived);
    }
    unit_group_free(&made);
    unit_group_make(&made, 5, 4);
    nic_barrier_make(&made.views[0], &barrier);
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_ptr_equal(nic_barrier_word(&barrier, rank), &made.group->arrived_together[rank]);
    }
    unit_group_free(&made);
}

static void passed_goes_on_where_it_stopped(void **state)
{
    (void)state;
    struct unit_group made;
    struct nic_barrier barrier;
    uint32_t next = 0;
    unit_group_make(&made, 3, 4);
    nic_barrier_make(&made.views[0], &barrier);
    assert_false(nic_barrier_passed(&barrier, 3, 1, &next));
    assert_int_equal(next, 0);
    nic_barrier_arrive(&barrier, 2, 1);
    nic_barrier_arrive(&barrier, 0, 1);
    assert_false(nic_barrier_passed(&barrier, 3, 1, &next));
    assert_int_equal(next, 1);
    nic_barrier_arrive(&barrier, 1, 1);
    /* A node that is already at the next phase has been at this one. */
    nic_barrier_arrive(&barrier, 2, 2);
    assert_true(nic_barrier_passed(&barrier, 3, 1, &next));
    assert_int_equal(next, 3);
    next = 0;
    assert_false(nic_barrier_passed(&barrier, 3, 2, &next));
    unit_group_free(&made);
}

static void phases_compare_across_the_wrap(void **state)
{
    (void)state;
    struct unit_group made;
    struct nic_barrier barrier;
    unit_group_make(&made, 1, 1);
    nic_barrier_make(&made.views[0], &barrier);
    nic_barrier_arrive(&barrier, 0, UINT32_MAX);
    assert_true(nic_barrier_arrived(&barrier, 0, UINT32_MAX));
    assert_false(nic_barrier_arrived(&barrier, 0, 0));
    nic_barrier_arrive(&barrier, 0, 0);
    assert_true(nic_barrier_arrived(&barrier, 0, UINT32_MAX));
    assert_true(nic_barrier_arrived(&barrier, 0, 0));
    assert_false(nic_barrier_arrived(&barrier, 0, 1));
    unit_group_free(&made);
}

static void it_is_broken_by_who_is_gone_without_arriving(void **state)
{
    (void)state;
    struct unit_group made;
    struct nic_barrier barrier;
    unit_group_make(&made, 3, 4);
    const struct nic_view *view = &made.views[0];
    nic_barrier_make(view, &barrier);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_true(nic_life_attach(&made.views[rank], 1));
    }
    assert_false(nic_barrier_broken(view, &barrier, 1));
    /* Arrived, then died: the phase can complete, the next one cannot. */
    nic_barrier_arrive(&barrier, 1, 1);
    assert_true(nic_life_end(view, 1, false));
    assert_false(nic_barrier_broken(view, &barrier, 1));
    assert_true(nic_barrier_broken(view, &barrier, 2));
    /* Who left without arriving is missing as well. */
    nic_life_leave(&made.views[2]);
    assert_true(nic_barrier_broken(view, &barrier, 1));
    unit_group_free(&made);
}

/* ---- Threads ------------------------------------------------------------------
 *
 * Each node writes a plain word before it arrives and reads everybody's after it has
 * passed. Two words by the phase's parity, as collective calls do it: nobody can be
 * two phases ahead. A missing release or acquire is a race to TSan and a wrong value
 * on a weakly ordered CPU. */

struct parallel {
    struct unit_group made;
    uint32_t node_count;
    uint32_t first_phase;
    uint32_t phase_count;
    uint32_t words[UNIT_NODES_MAX][2];
};

static void parallel_run(uint32_t rank, void *context)
{
    struct parallel *parallel = context;
    struct nic_barrier barrier;
    nic_barrier_make(&parallel->made.views[rank], &barrier);
    uint64_t deadline_ns = unit_now_ns() + UNIT_PATIENCE_NS;
    for (uint32_t i = 1; i <= parallel->phase_count; i++) {
        uint32_t phase = parallel->first_phase + i;
        uint32_t next = 0;
        parallel->words[rank][phase % 2] = phase;
        nic_barrier_arrive(&barrier, rank, phase);
        while (!nic_barrier_passed(&barrier, parallel->node_count, phase, &next)) {
            if (unit_now_ns() > deadline_ns) {
                unit_fault(__FILE__, __LINE__, "the barrier does not complete");
                return;
            }
            sched_yield();
        }
        for (uint32_t other = 0; other < parallel->node_count; other++) {
            unit_expect(parallel->words[other][phase % 2] == phase);
        }
    }
}

static void run_parallel(uint32_t node_count, uint32_t core_count, uint32_t first_phase,
                         uint32_t phase_count)
{
    static struct parallel parallel;
    memset(&parallel, 0, sizeof parallel);
    unit_group_make(&parallel.made, node_count, core_count);
    parallel.node_count = node_count;
    parallel.first_phase = first_phase;
    parallel.phase_count = phase_count;
    struct nic_barrier barrier;
    nic_barrier_make(&parallel.made.views[0], &barrier);
    for (uint32_t rank = 0; rank < node_count; rank++) {
        atomic_store(nic_barrier_word(&barrier, rank), first_phase);
    }
    unit_run_threads(node_count, parallel_run, &parallel);
    unit_group_free(&parallel.made);
}

static void two_nodes_pass_together(void **state)
{
    (void)state;
    run_parallel(2, 2, 0, 20000);
    run_parallel(2, 1, 0, 20000);
}

static void more_nodes_than_cores_pass_together(void **state)
{
    (void)state;
    run_parallel(8, 8, 0, 1500);
    run_parallel(8, 2, 0, 1500);
    run_parallel(40, 2, 0, 100);
}

static void phases_wrap_around(void **state)
{
    (void)state;
    run_parallel(3, 4, UINT32_MAX - 500, 1000);
    run_parallel(5, 2, UINT32_MAX - 500, 1000);
    run_parallel(3, 4, (uint32_t)INT32_MAX - 500, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_follows_the_cores),
        cmocka_unit_test(passed_goes_on_where_it_stopped),
        cmocka_unit_test(phases_compare_across_the_wrap),
        cmocka_unit_test(it_is_broken_by_who_is_gone_without_arriving),
        cmocka_unit_test(two_nodes_pass_together),
        cmocka_unit_test(more_nodes_than_cores_pass_together),
        cmocka_unit_test(phases_wrap_around),
    };
    return cmocka_run_group_tests_name("nic/barrier", tests, NULL, NULL);
}
