/* The list of planted bugs. */
#include "unit/unit.h"

#include "base/mutant.h"

static void every_one_has_a_name_of_its_own_and_a_text(void **state)
{
    (void)state;
    unsigned count = 0;
    for (; base_mutant_name(count); count++) {
        assert_true(strlen(base_mutant_text(count)) > 0);
        for (unsigned other = 0; other < count; other++) {
            assert_string_not_equal(base_mutant_name(count), base_mutant_name(other));
        }
    }
    assert_int_equal(count, MUTANT_COUNT);
    assert_string_equal(base_mutant_name(MUTANT_NONE), "NONE");
    assert_null(base_mutant_text(count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_one_has_a_name_of_its_own_and_a_text),
    };
    return cmocka_run_group_tests_name("base/mutant", tests, NULL, NULL);
}
