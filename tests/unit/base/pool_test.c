/* Lines that are handed out in order, and come back. */
#include "unit/unit.h"

#include "base/pool.h"

enum { LINES = 5 };

struct line {
    uint64_t words[3];
};

static struct line memory[LINES];

static struct base_pool make(void)
{
    memset(memory, 0xa5, sizeof memory);
    return (struct base_pool){
        .lines = (unsigned char *)memory, .line_bytes = sizeof(struct line), .capacity = LINES};
}

static void lines_go_out_in_order_until_there_are_no_more(void **state)
{
    struct base_pool pool = make();
    (void)state;
    for (uint32_t i = 0; i < LINES; i++) {
        assert_int_equal(pool.touched, i);
        assert_ptr_equal(base_pool_take(&pool), &memory[i]);
        assert_ptr_equal(base_pool_line(&pool, i), &memory[i]);
    }
    assert_null(base_pool_take(&pool));
    assert_int_equal(pool.touched, LINES);
}

static void a_line_that_came_back_goes_out_before_a_new_one(void **state)
{
    struct base_pool pool = make();
    (void)state;
    struct line *first = base_pool_take(&pool);
    struct line *second = base_pool_take(&pool);
    base_pool_give(&pool, first);
    base_pool_give(&pool, second);
    assert_ptr_equal(base_pool_take(&pool), second);
    assert_ptr_equal(base_pool_take(&pool), first);
    assert_int_equal(pool.touched, 2);
    assert_ptr_equal(base_pool_take(&pool), &memory[2]);
}

static void nothing_but_the_beginning_of_free_lines_is_written(void **state)
{
    struct base_pool pool = make();
    (void)state;
    struct line *line = base_pool_take(&pool);
    base_pool_give(&pool, line);
    assert_ptr_equal(base_pool_take(&pool), line);
    for (uint32_t i = 0; i < LINES; i++) {
        assert_int_equal(memory[i].words[1], UINT64_C(0xa5a5a5a5a5a5a5a5));
        assert_int_equal(memory[i].words[2], UINT64_C(0xa5a5a5a5a5a5a5a5));
        assert_true(i == 0 || memory[i].words[0] == UINT64_C(0xa5a5a5a5a5a5a5a5));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_go_out_in_order_until_there_are_no_more),
        cmocka_unit_test(a_line_that_came_back_goes_out_before_a_new_one),
        cmocka_unit_test(nothing_but_the_beginning_of_free_lines_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
