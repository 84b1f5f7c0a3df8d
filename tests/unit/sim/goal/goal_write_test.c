/* What is written is read as the same schedule. */
#include "base/random.h"
#include "goal_world.h"
#include "sim/goal/goal_write.h"

static char *text_of(const struct goal *goal)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    assert_non_null(file);
    goal_write(file, goal);
    assert_int_equal(fclose(file), 0);
    return text;
}

static void assert_same(const struct goal *one, const struct goal *other, bool names)
{
    assert_int_equal(one->rank_count, other->rank_count);
    assert_int_equal(one->operation_count, other->operation_count);
    assert_int_equal(one->need_count, other->need_count);
    for (uint32_t rank = 0; rank < one->rank_count; rank++) {
        assert_int_equal(one->ranks[rank].count, other->ranks[rank].count);
        for (uint32_t i = 0; i < one->ranks[rank].count; i++) {
            struct goal_operation mine = one->ranks[rank].operations[i];
            struct goal_operation theirs = other->ranks[rank].operations[i];
            if (names) {
                assert_string_equal(one->names + mine.name, other->names + theirs.name);
            }
            mine.name = theirs.name = mine.line = theirs.line = 0;
            assert_memory_equal(&mine, &theirs, sizeof mine);
        }
        for (uint32_t i = 0; i < one->ranks[rank].need_count; i++) {
            const struct goal_need *mine = &one->ranks[rank].needs[i];
            const struct goal_need *theirs = &other->ranks[rank].needs[i];
            assert_true(mine->operation == theirs->operation && mine->before == theirs->before);
            assert_int_equal(mine->of_start, theirs->of_start);
        }
    }
}

static void comes_back(const struct goal *goal, bool names)
{
    char *text = text_of(goal);
    struct goal again = goal_from(text);
    assert_same(goal, &again, names);
    goal_close(&again);
    free(text);
}

static void a_schedule_is_written_line_by_line(void **state)
{
    (void)state;
    struct goal goal;
    uint32_t number;
    goal_open(&goal, 2);
    assert_true(goal_add(&goal, 0, &(struct goal_operation){.amount = 5}, "work", &number));
    assert_true(goal_add(
        &goal, 0,
        &(struct goal_operation){.kind = GOAL_SEND, .peer = 1, .amount = 9, .tag = 2, .cpu = 3},
        NULL, &number));
    assert_true(goal_need(&goal, 0, 1, 0, false));
    assert_true(goal_add(&goal, 1, &(struct goal_operation){.kind = GOAL_RECEIVE, .nic = 1}, NULL,
                         &number));
    char *text = text_of(&goal);
    assert_string_equal(text,
                        "num_ranks 2\n\nrank 0 {\nwork: calc 5\nl2: send 9b to 1 tag 2 cpu 3\n"
                        "l2 requires work\n}\n\nrank 1 {\nrecv 0b from 0 nic 1\n}\n");
    free(text);
    goal_close(&goal);
}

/* An operation's own label could be the one that is made up for another one. */
static void labels_are_told_apart(void **state)
{
    (void)state;
    struct goal goal;
    uint32_t number;
    goal_open(&goal, 1);
    assert_true(goal_add(&goal, 0, &(struct goal_operation){.amount = 1}, "l2", &number));
    assert_true(goal_add(&goal, 0, &(struct goal_operation){.amount = 2}, NULL, &number));
    comes_back(&goal, true);
    assert_true(goal_need(&goal, 0, 1, 0, true));
    comes_back(&goal, false);
    goal_close(&goal);
}

static void random_schedules_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct base_random random = {seed};
        struct goal goal;
        uint32_t number;
        uint32_t ranks = 1 + (uint32_t)base_random_below(&random, 5);
        bool names = base_random_below(&random, 2) == 0;
        goal_open(&goal, ranks);
        for (uint32_t i = 0; i < 60; i++) {
            uint32_t rank = (uint32_t)base_random_below(&random, ranks);
            char name[16];
            (void)snprintf(name, sizeof name, "x%u", i);
            struct goal_operation operation = {
                .kind = (enum goal_kind)base_random_below(&random, 3),
                .amount = base_random_below(&random, GOAL_BYTES_MAX),
                .cpu = (uint32_t)base_random_below(&random, GOAL_CPUS_MAX),
                .nic = (uint32_t)base_random_below(&random, 2),
            };
            if (operation.kind != GOAL_CALC) {
                operation.peer = (uint32_t)base_random_below(&random, ranks);
                operation.tag = (uint32_t)base_random_below(&random, 3);
            }
            assert_true(goal_add(&goal, rank, &operation, names ? name : NULL, &number));
            if (base_random_below(&random, 2) == 0) {
                assert_true(goal_need(&goal, rank, number,
                                      (uint32_t)base_random_below(&random, number + 1),
                                      base_random_below(&random, 2) == 0));
            }
        }
        comes_back(&goal, names);
        goal_close(&goal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_is_written_line_by_line),
        cmocka_unit_test(labels_are_told_apart),
        cmocka_unit_test(random_schedules_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
