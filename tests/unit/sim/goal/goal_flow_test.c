/* Operations may start when all that they need is done, and receives belong to the sends of their
 * source and tag, in order. */
#include "goal_world.h"
#include "sim/goal/goal_flow.h"

static void next_is(struct goal_flow *flow, uint32_t rank, uint32_t expected)
{
    uint32_t operation;
    assert_true(goal_flow_next(flow, rank, &operation));
    assert_int_equal(operation, expected);
}

static void none_is_next(struct goal_flow *flow, uint32_t rank)
{
    uint32_t operation;
    assert_false(goal_flow_next(flow, rank, &operation));
}

static void needs_are_fulfilled_by_starts_and_ends(void **state)
{
    (void)state;
    struct goal_flow flow;
    struct goal goal = goal_from(
        "num_ranks 1 rank 0 { a: calc 1 b: calc 1 c: calc 1 d: calc 1 e: calc 1\n"
        "b requires a c irequires a d requires b d requires c e irequires d\n"
        "e requires a e requires a }");
    goal_flow_open(&flow, &goal);
    next_is(&flow, 0, 0);
    none_is_next(&flow, 0);
    goal_flow_started(&flow, 0, 0);
    next_is(&flow, 0, 2);
    none_is_next(&flow, 0);
    goal_flow_started(&flow, 0, 2);
    goal_flow_finished(&flow, 0, 2);
    none_is_next(&flow, 0);
    goal_flow_finished(&flow, 0, 0);
    next_is(&flow, 0, 1);
    goal_flow_started(&flow, 0, 1);
    none_is_next(&flow, 0);
    goal_flow_finished(&flow, 0, 1);
    next_is(&flow, 0, 3);
    none_is_next(&flow, 0);
    goal_flow_started(&flow, 0, 3);
    next_is(&flow, 0, 4);
    goal_flow_finished(&flow, 0, 3);
    none_is_next(&flow, 0);
    assert_int_equal(flow.ranks[0].finished, 4);
    goal_flow_close(&flow);
    goal_close(&goal);
}

static void receives_get_the_sends_of_their_source_and_tag(void **state)
{
    (void)state;
    struct goal_flow flow;
    struct goal goal = goal_from(
        "num_ranks 3\n"
        "rank 0 { send 1b to 2 tag 1 send 1b to 2 send 1b to 2 tag 1\n"
        "         send 1b to 1 send 1b to 2 tag 1 }\n"
        "rank 1 { calc 1 send 1b to 2 tag 1 }\n"
        "rank 2 { recv 1b from 1 tag 1 recv 1b from 0 tag 1 recv 1b from 0\n"
        "         recv 1b from 0 tag 1 recv 1b from 0 recv 1b from 2 }\n");
    static const uint32_t of_0[] = {1, 2, 3, GOAL_NONE, GOAL_NONE};
    static const uint32_t of_1[] = {GOAL_NONE, 0};
    static const uint32_t of_2[] = {1, 0, 1, 2, GOAL_NONE, GOAL_NONE};
    goal_flow_open(&flow, &goal);
    assert_memory_equal(flow.ranks[0].partner, of_0, sizeof of_0);
    assert_memory_equal(flow.ranks[1].partner, of_1, sizeof of_1);
    assert_memory_equal(flow.ranks[2].partner, of_2, sizeof of_2);
    goal_flow_close(&flow);
    goal_close(&goal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_are_fulfilled_by_starts_and_ends),
        cmocka_unit_test(receives_get_the_sends_of_their_source_and_tag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
