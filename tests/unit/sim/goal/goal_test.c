/* A schedule in memory: it grows, keeps its names, and says where an operation stands. */
#include "goal_world.h"

static void operations_are_numbered_within_their_rank(void **state)
{
    (void)state;
    struct goal goal;
    uint32_t number;
    goal_open(&goal, 3);
    for (uint32_t i = 0; i < 1000; i++) {
        const struct goal_operation operation = {.kind = GOAL_SEND, .peer = 2, .amount = i};
        char name[16];
        (void)snprintf(name, sizeof name, "n%u", i);
        assert_true(goal_add(&goal, i % 2, &operation, i % 3 ? name : NULL, &number));
        assert_int_equal(number, i / 2);
    }
    assert_int_equal(goal.operation_count, 1000);
    assert_int_equal(goal.ranks[1].count, 500);
    assert_int_equal(goal.ranks[2].count, 0);
    assert_int_equal(goal.ranks[1].operations[250].amount, 501);
    assert_int_equal(goal.ranks[1].operations[250].name, 0);
    assert_string_equal(goal.names + goal.ranks[0].operations[250].name, "n500");
    assert_true(goal_need(&goal, 1, 499, 0, true));
    assert_int_equal(goal.ranks[1].need_count, 1);
    assert_int_equal(goal.need_count, 1);
    goal_close(&goal);
    assert_null(goal.ranks);
}

static void names_begin_with_a_letter(void **state)
{
    (void)state;
    char longest[GOAL_NAME_BYTES_MAX + 1];
    memset(longest, 'x', sizeof longest);
    assert_true(goal_is_name("a", 1) && goal_is_name("_1.b-C", 6));
    assert_true(goal_is_name(longest, GOAL_NAME_BYTES_MAX));
    assert_false(goal_is_name(longest, GOAL_NAME_BYTES_MAX + 1));
    assert_false(goal_is_name("", 0) || goal_is_name("1a", 2) || goal_is_name("-a", 2));
    assert_false(goal_is_name("a b", 3) || goal_is_name("a:", 2));
}

static void an_operation_is_described_by_rank_line_and_label(void **state)
{
    (void)state;
    char text[GOAL_ERROR_BYTES];
    struct goal goal = goal_from("num_ranks 2\nrank 1 {\n calc 5\n x: recv 8b from 0 tag 3\n}");
    assert_string_equal(goal_describe(&goal, 1, 0, text), "rank 1, line 3 (calc)");
    assert_string_equal(goal_describe(&goal, 1, 1, text),
                        "rank 1, line 4, \"x\" (recv from 0, tag 3)");
    goal_close(&goal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_numbered_within_their_rank),
        cmocka_unit_test(names_begin_with_a_letter),
        cmocka_unit_test(an_operation_is_described_by_rank_line_and_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
