/* A set of nodes against an array of flags. */
#include "unit/unit.h"
#include "base/random.h"
#include "nic/target_set.h"

enum { NODES = 65534, WORDS = (NODES + 63) / 64 };

static uint64_t words[WORDS + 1];

static void a_set_holds_what_was_added_and_not_removed(void **state)
{
    (void)state;
    struct nic_target_set set;
    static bool model[NODES];
    struct base_random random = {7};
    words[WORDS] = UINT64_MAX;
    nic_target_set_init(&set, words);
    for (uint32_t round = 0; round < 20; round++) {
        memset(model, 0, sizeof model);
        for (uint32_t i = 0; i < 200; i++) {
            uint16_t target = (uint16_t)base_random_below(&random, NODES);
            if (i % 3 == 2) {
                nic_target_set_remove(&set, target);
                model[target] = false;
            } else {
                nic_target_set_add(&set, target);
                model[target] = true;
            }
        }
        for (uint32_t target = 0; target < NODES; target++) {
            assert_int_equal(nic_target_set_has(&set, (uint16_t)target), model[target]);
            assert_true(!model[target] || (set.low <= target / 64 && target / 64 < set.high));
        }
        nic_target_set_empty(&set);
        for (uint32_t word = 0; word < WORDS; word++) {
            assert_int_equal(words[word], 0);
        }
    }
    assert_int_equal(words[WORDS], UINT64_MAX); /* nothing beyond its words was touched */
}

static void a_set_that_is_all_zero_is_empty(void **state)
{
    (void)state;
    struct nic_target_set set = {0};
    assert_true(nic_target_set_is_empty(&set));
    assert_false(nic_target_set_has(&set, 0));
    assert_false(nic_target_set_has(&set, NODES - 1));
    nic_target_set_remove(&set, 0);
    nic_target_set_empty(&set);
    assert_null(set.words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_holds_what_was_added_and_not_removed),
        cmocka_unit_test(a_set_that_is_all_zero_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
