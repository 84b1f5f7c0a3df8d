/* Lines that are handed out in order, and come back. */
#include "unit/unit.h"

#include <stddef.h>

#include "base/pool.h"

enum { LINES = 5 };

struct line {
    uint64_t before;
    uint32_t link;
    uint32_t behind;
};

#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

static struct line memory[LINES];

static struct base_pool make(void)
{
    struct base_pool pool;
    memset(memory, 0xa5, sizeof memory);
    base_pool_init(&pool, memory, sizeof memory[0], offsetof(struct line, link), LINES);
    return pool;
}

static void lines_go_out_in_order_until_there_are_no_more(void **state)
{
    struct base_pool pool = make();
    (void)state;
    for (uint32_t i = 0; i < LINES; i++) {
        assert_int_equal(pool.touched, i);
        assert_int_equal(base_pool_left(&pool), LINES - i);
        assert_int_equal(base_pool_next(&pool), i);
        assert_int_equal(base_pool_take(&pool), i);
        assert_ptr_equal(base_pool_line(&pool, i), &memory[i]);
        assert_int_equal(base_pool_number(&pool, &memory[i]), i);
    }
    assert_int_equal(base_pool_next(&pool), BASE_POOL_NONE);
    assert_int_equal(base_pool_take(&pool), BASE_POOL_NONE);
    assert_null(base_pool_take_line(&pool));
    assert_int_equal(base_pool_left(&pool), 0);
    assert_int_equal(pool.touched, LINES);
}

static void a_line_that_came_back_goes_out_before_a_new_one(void **state)
{
    struct base_pool pool = make();
    (void)state;
    struct line *first = base_pool_take_line(&pool);
    struct line *second = base_pool_take_line(&pool);
    base_pool_give_line(&pool, first);
    base_pool_give(&pool, 1);
    assert_int_equal(base_pool_left(&pool), LINES);
    assert_int_equal(base_pool_next(&pool), 1);
    assert_ptr_equal(base_pool_take_line(&pool), second);
    assert_ptr_equal(base_pool_take_line(&pool), first);
    assert_int_equal(pool.touched, 2);
    assert_ptr_equal(base_pool_take_line(&pool), &memory[2]);
}

static void nothing_but_the_link_of_free_lines_is_written(void **state)
{
    struct base_pool pool = make();
    (void)state;
    base_pool_give(&pool, base_pool_take(&pool));
    assert_int_equal(base_pool_take(&pool), 0);
    for (uint32_t i = 0; i < LINES; i++) {
        assert_int_equal(memory[i].before, UNTOUCHED);
        assert_int_equal(memory[i].behind, (uint32_t)UNTOUCHED);
        assert_true(i == 0 || memory[i].link == (uint32_t)UNTOUCHED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_go_out_in_order_until_there_are_no_more),
        cmocka_unit_test(a_line_that_came_back_goes_out_before_a_new_one),
        cmocka_unit_test(nothing_but_the_link_of_free_lines_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
