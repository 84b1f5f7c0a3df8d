/* Schedules that stop are found before any machine runs them, and what waits is named. */
#include "goal_world.h"

static void ends(const char *text)
{
    char error[GOAL_ERROR_BYTES] = "";
    struct goal goal = goal_from(text);
    assert_true(goal_check(&goal, error));
    assert_string_equal(error, "");
    goal_close(&goal);
}

static void stops(const char *text, const char *expected)
{
    char error[GOAL_ERROR_BYTES] = "";
    struct goal goal = goal_from(text);
    assert_false(goal_check(&goal, error));
    assert_string_equal(error, expected);
    goal_close(&goal);
}

static void schedules_that_can_end_do(void **state)
{
    (void)state;
    ends("num_ranks 3");
    ends("num_ranks 1 rank 0 { a: calc 1 b: calc 1 a requires b }");
    /* Both receive first, but nothing says that their sends have to wait. */
    ends("num_ranks 2 rank 0 { recv 1b from 1 send 1b to 1 } rank 1 { recv 1b from 0 send 1b to 0 "
         "}");
    /* The second receive has to come first. */
    ends("num_ranks 2 rank 0 { a: recv 1b from 1 tag 1 b: recv 1b from 1 tag 2 c: send 1b to 1\n"
         "c requires b } rank 1 { x: recv 1b from 0 y: send 1b to 0 tag 1 send 1b to 0 tag 2\n"
         "y requires x }");
    ends("num_ranks 1 rank 0 { send 1b to 0 recv 1b from 0 }");
    ends("num_ranks 2 rank 0 { send 1b to 1 }"); /* nobody receives it */
    ends("num_ranks 1 rank 0 { a: recv 1b from 0 b: send 1b to 0 b irequires a }");
}

static void a_receive_without_a_send_is_named(void **state)
{
    (void)state;
    stops("num_ranks 2\nrank 0 {\n a: recv 8b from 1\n b: calc 1\n b requires a }",
          "deadlock: rank 0, line 3, \"a\" (recv from 1, tag 0) waits for a message that nobody "
          "sends");
    /* The tag, the order and the one who waits for the one who waits. */
    stops("num_ranks 2\nrank 0 {\n recv 8b from 1 tag 1 }\n"
          "rank 1 {\n a: recv 8b from 0\n b: send 8b to 0 tag 1\n send 1b to 0\n b requires a }",
          "deadlock: rank 1, line 5, \"a\" (recv from 0, tag 0) waits for a message that nobody "
          "sends");
    stops("num_ranks 2\nrank 0 {\n send 8b to 1 }\nrank 1 {\n recv 8b from 0\n recv 8b from 0 }",
          "deadlock: rank 1, line 6 (recv from 0, tag 0) waits for a message that nobody sends");
}

static void needs_in_a_circle_are_named(void **state)
{
    (void)state;
    stops("num_ranks 1\nrank 0 {\n x: calc 1\n x requires x }",
          "deadlock: rank 0, line 3, \"x\" (calc) requires itself, by way of 0 others");
    stops("num_ranks 1\nrank 0 {\n x: calc 1\n y: calc 1\n z: calc 1\n w: calc 1\n"
          "w requires x x requires y y irequires z z requires x }",
          "deadlock: rank 0, line 4, \"y\" (calc) requires itself, by way of 2 others");
}

static void ranks_that_wait_for_each_other_are_named(void **state)
{
    (void)state;
    stops("num_ranks 2\nrank 0 {\n a: recv 1b from 1\n b: send 1b to 1\n b requires a }\n"
          "rank 1 {\n c: recv 1b from 0\n d: send 1b to 0\n d requires c }",
          "deadlock: rank 1, line 7, \"c\" (recv from 0, tag 0) and rank 0, line 4, \"b\" (send to "
          "1, tag 0) wait for each other, by way of 2 others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_that_can_end_do),
        cmocka_unit_test(a_receive_without_a_send_is_named),
        cmocka_unit_test(needs_in_a_circle_are_named),
        cmocka_unit_test(ranks_that_wait_for_each_other_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
