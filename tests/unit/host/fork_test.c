/* Which C libraries leave their variables alone until a child has pages of its own. */
#include "host/fork.h"

#include "unit/unit.h"

static void later_versions_write_before_anybody_can_act(void **state)
{
    (void)state;
    assert_true(host_fork_version_spares("2.34"));
    assert_true(host_fork_version_spares("2.40"));
    assert_true(host_fork_version_spares("2.40.9000"));
    assert_false(host_fork_version_spares("2.41"));
    assert_false(host_fork_version_spares("2.100"));
    assert_false(host_fork_version_spares("3.0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_versions_write_before_anybody_can_act),
    };
    return cmocka_run_group_tests_name("host/fork", tests, NULL, NULL);
}
