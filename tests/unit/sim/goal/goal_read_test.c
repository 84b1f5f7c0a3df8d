/* Schedule files: every statement is taken as it is meant, and every mistake is named with its
 * line. */
#include "goal_world.h"

static void is_refused(const char *text, const char *expected)
{
    struct goal goal = {.rank_count = 77};
    char error[GOAL_ERROR_BYTES] = "";
    assert_false(goal_read_bytes("test.goal", text, strlen(text), &goal, error));
    assert_string_equal(error, expected);
    assert_int_equal(goal.rank_count, 77);
}

static void statements_are_taken_as_they_are_meant(void **state)
{
    (void)state;
    struct goal goal = goal_from("/* two\n ranks */ num_ranks 2 // and\n"
                                 "rank 1 { # the second one first\n"
                                 "  recv 64b from 0 tag 7 cpu 3 nic 1\n"
                                 "  late irequires early\n"
                                 "  early: calc 1000 cpu 2\n"
                                 "  late: calc 0\n"
                                 "  late requires early }\n"
                                 "rank 0 { out: send 4294967296b to 1 nic 0 tag 4294967295 }\n");
    assert_int_equal(goal.rank_count, 2);
    assert_int_equal(goal.operation_count, 4);
    const struct goal_operation *receive = &goal.ranks[1].operations[0];
    assert_true(receive->kind == GOAL_RECEIVE && receive->peer == 0 && receive->amount == 64);
    assert_true(receive->tag == 7 && receive->cpu == 3 && receive->nic == 1 && receive->name == 0);
    assert_int_equal(receive->line, 4);
    const struct goal_operation *early = &goal.ranks[1].operations[1];
    assert_true(early->kind == GOAL_CALC && early->amount == 1000 && early->cpu == 2);
    assert_string_equal(goal.names + early->name, "early");
    const struct goal_need *needs = goal.ranks[1].needs;
    assert_int_equal(goal.ranks[1].need_count, 2);
    assert_true(needs[0].operation == 2 && needs[0].before == 1 && needs[0].of_start);
    assert_true(needs[1].operation == 2 && needs[1].before == 1 && !needs[1].of_start);
    const struct goal_operation *send = &goal.ranks[0].operations[0];
    assert_true(send->kind == GOAL_SEND && send->peer == 1 && send->amount == GOAL_BYTES_MAX);
    assert_int_equal(send->tag, UINT32_MAX);
    goal_close(&goal);
}

/* What follows a word decides what it is. */
static void labels_may_be_called_like_keywords(void **state)
{
    (void)state;
    struct goal goal = goal_from("num_ranks 1 rank 0 { send 1b to 0 tag: calc 5 cpu: calc 6\n"
                                 "requires: calc 7 requires requires tag cpu requires requires\n"
                                 "send 2b to 0 tag requires cpu }");
    assert_int_equal(goal.operation_count, 5);
    assert_int_equal(goal.need_count, 3);
    const struct goal_need *needs = goal.ranks[0].needs;
    assert_true(needs[0].operation == 3 && needs[0].before == 1);
    assert_true(needs[1].operation == 2 && needs[1].before == 3);
    assert_true(needs[2].operation == 1 && needs[2].before == 2);
    goal_close(&goal);
}

static void ranks_that_do_not_come_do_nothing(void **state)
{
    (void)state;
    struct goal goal = goal_from("num_ranks 65534\nrank 65533 { calc 1 }\n");
    assert_int_equal(goal.rank_count, 65534);
    assert_int_equal(goal.ranks[65533].count, 1);
    assert_int_equal(goal.ranks[0].count, 0);
    goal_close(&goal);
}

/* The labels of a rank are its own, also when there are many. */
static void labels_belong_to_their_rank(void **state)
{
    (void)state;
    char *text = malloc(1 << 20);
    size_t at = (size_t)sprintf(text, "num_ranks 2\n");
    for (unsigned rank = 0; rank < 2; rank++) {
        at += (size_t)sprintf(text + at, "rank %u {\n", rank);
        for (unsigned i = 0; i < 5000; i++) {
            at += (size_t)sprintf(text + at, "l%u: calc %u\n", i, i);
            if (i > 0) {
                at += (size_t)sprintf(text + at, "l%u requires l%u\n", i, i - 1);
            }
        }
        at += (size_t)sprintf(text + at, "}\n");
    }
    struct goal goal = goal_from(text);
    for (unsigned rank = 0; rank < 2; rank++) {
        assert_int_equal(goal.ranks[rank].need_count, 4999);
        for (unsigned i = 0; i < 4999; i++) {
            assert_int_equal(goal.ranks[rank].needs[i].operation, i + 1);
            assert_int_equal(goal.ranks[rank].needs[i].before, i);
        }
    }
    goal_close(&goal);
    free(text);
    is_refused("num_ranks 2 rank 0 { a: calc 1 }\nrank 1 { b: calc 1\nb requires a }",
               "test.goal:3: rank 1 has no label \"a\"");
}

static void mistakes_are_named_with_their_line(void **state)
{
    (void)state;
    is_refused("", "test.goal:1: the file ends where \"num_ranks\" should stand");
    is_refused("num_ranks 0", "test.goal:1: there are no ranks");
    is_refused("num_ranks 65535", "test.goal:1: \"65535\" stands where the number of ranks, from 0 "
                                  "to 65534, should stand");
    is_refused("num_ranks 2\nrank 2 {}",
               "test.goal:2: \"2\" stands where a rank, from 0 to 1, should stand");
    is_refused("num_ranks 1\nrank 0 {}\n\nrank 0 {}", "test.goal:4: rank 0 is there already");
    is_refused("num_ranks 1\nrank 0 {\n", "test.goal:3: the file ends where calc, send, recv, a "
                                          "label or the rank's } should stand");
    is_refused("num_ranks 1\nrank 0 {\n a: }\n",
               "test.goal:3: \"}\" stands where calc, send or recv should stand");
    is_refused("num_ranks 1\nrank 0 {\n a: calc 1\n a: calc 2 }",
               "test.goal:4: \"a\" is a label of line 3 already");
    is_refused("num_ranks 1\nrank 0 {\n a: calc 1\n a requires b }",
               "test.goal:4: rank 0 has no label \"b\"");
    is_refused("num_ranks 1\nrank 0 { a requires b }", "test.goal:2: rank 0 has no label \"a\"");
    is_refused("num_ranks 1\nrank 0 { 1a: calc 1 }",
               "test.goal:2: \"1a\" stands where a label of at most 64 letters, digits, _, . and - "
               "should stand");
    is_refused("num_ranks 1\nrank 0 { calc 1 /* ... }",
               "test.goal:2: a comment does not end, or a / belongs to none");
    is_refused("num_ranks 1\nrank 0 { calc 1 \x01 }", "test.goal:2: this is no text: byte 0x01");
}

static void numbers_are_checked(void **state)
{
    (void)state;
    is_refused("num_ranks 2 rank 0 { send 64 to 1 }",
               "test.goal:1: \"64\" stands where a length in bytes, from 0b to 4294967296b, should "
               "stand");
    is_refused("num_ranks 2 rank 0 { send 4294967297b to 1 }",
               "test.goal:1: \"4294967297b\" stands where a length in bytes, from 0b to "
               "4294967296b, should stand");
    is_refused("num_ranks 2 rank 0 { send 99999999999999999999b to 1 }",
               "test.goal:1: \"99999999999999999999b\" stands where a length in bytes, from 0b to "
               "4294967296b, should stand");
    /* 2 to the 64th and 8 more. */
    is_refused("num_ranks 2 rank 0 { send 18446744073709551624b to 1 }",
               "test.goal:1: \"18446744073709551624b\" stands where a length in bytes, from 0b to "
               "4294967296b, should stand");
    is_refused("num_ranks 2 rank 0 { send 8b from 1 }",
               "test.goal:1: \"from\" stands where \"to\" should stand");
    is_refused("num_ranks 2 rank 0 { send 8b to 2 }",
               "test.goal:1: \"2\" stands where a rank, from 0 to 1, should stand");
    is_refused("num_ranks 2 rank 0 { calc 1000000000001 }",
               "test.goal:1: \"1000000000001\" stands where a time in ns, from 0 to 1000000000000, "
               "should stand");
    is_refused("num_ranks 2 rank 0 { calc -1 }",
               "test.goal:1: \"-1\" stands where a time in ns, from 0 to 1000000000000, should "
               "stand");
    is_refused("num_ranks 2 rank 0 { calc 1 cpu 64 }",
               "test.goal:1: \"64\" stands where a cpu, from 0 to 63, should stand");
    is_refused("num_ranks 2 rank 0 { send 1b to 1 tag 4294967296 }",
               "test.goal:1: \"4294967296\" stands where a tag, from 0 to 4294967295, should "
               "stand");
    is_refused("num_ranks 2 rank 0 { send 1b to 1 tag 1\ntag 2 }",
               "test.goal:2: a tag is said twice");
    is_refused("num_ranks 2 rank 0 { calc 1 tag 2 }",
               "test.goal:1: \"tag\" stands where calc, send, recv, a label or the rank's } should "
               "stand");
}

static void receives_from_any_are_refused(void **state)
{
    (void)state;
    is_refused("num_ranks 2\nrank 0 { recv 8b from any }",
               "test.goal:2: \"any\" is not supported: the schedule has to say whom it receives "
               "from");
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct goal goal;
    char error[GOAL_ERROR_BYTES];
    assert_false(goal_read("no/such/file.goal", &goal, error));
    assert_string_equal(error, "cannot read no/such/file.goal: No such file or directory");
    assert_false(goal_read("/", &goal, error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_taken_as_they_are_meant),
        cmocka_unit_test(labels_may_be_called_like_keywords),
        cmocka_unit_test(ranks_that_do_not_come_do_nothing),
        cmocka_unit_test(labels_belong_to_their_rank),
        cmocka_unit_test(mistakes_are_named_with_their_line),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(receives_from_any_are_refused),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
