/* The small memory of 4 ways: what was used last stays. */
#include "unit/unit.h"

#include "sim/lru.h"

static void as_many_keys_as_fit_stay(void **state)
{
    (void)state;
    struct sim_lru *lru = sim_lru_open(64);
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t key = 100; key < 164; key++) {
            assert_int_equal(sim_lru_use(lru, key), round > 0);
        }
    }
    sim_lru_close(lru);
}

static void the_one_used_longest_ago_goes(void **state)
{
    (void)state;
    struct sim_lru *lru = sim_lru_open(4);
    for (uint64_t key = 0; key < 4; key++) {
        assert_false(sim_lru_use(lru, key));
    }
    assert_true(sim_lru_use(lru, 0));
    assert_false(sim_lru_use(lru, 9)); /* in place of 1 */
    assert_true(sim_lru_use(lru, 0));
    assert_true(sim_lru_use(lru, 2));
    assert_true(sim_lru_use(lru, 3));
    assert_true(sim_lru_use(lru, 9));
    assert_false(sim_lru_use(lru, 1));
    sim_lru_close(lru);
}

static void key_zero_is_not_there_at_first(void **state)
{
    (void)state;
    struct sim_lru *lru = sim_lru_open(1);
    assert_false(sim_lru_use(lru, 0));
    assert_true(sim_lru_use(lru, 0));
    sim_lru_close(lru);
    sim_lru_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_keys_as_fit_stay),
        cmocka_unit_test(the_one_used_longest_ago_goes),
        cmocka_unit_test(key_zero_is_not_there_at_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
