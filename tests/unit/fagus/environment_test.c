/* The three variables: 0, 1 or nothing; anything else is refused, and nothing changes. */
#include "fagus/environment.h"

#include "unit/child.h"

static int clear(void **unused)
{
    (void)unused;
    (void)unsetenv("FAGUS_FORCE_REMOTE");
    (void)unsetenv("FAGUS_CHECK");
    (void)unsetenv("FAGUS_STATS");
    return 0;
}

static void each_sets_its_own(void **unused)
{
    (void)unused;
    assert_true(fagus_environment_read());
    assert_false(fagus_environment.force_remote || fagus_environment.check ||
                 fagus_environment.stats);
    (void)setenv("FAGUS_CHECK", "1", 1);
    (void)setenv("FAGUS_STATS", "0", 1);
    (void)setenv("FAGUS_FORCE_REMOTE", "", 1);
    assert_true(fagus_environment_read());
    assert_true(fagus_environment.check);
    assert_false(fagus_environment.force_remote || fagus_environment.stats);
}

static void read_nonsense(void)
{
    (void)setenv("FAGUS_CHECK", "1", 1);
    if (!fagus_environment_read()) {
        abort();
    }
    (void)setenv("FAGUS_STATS", "perhaps", 1);
    (void)setenv("FAGUS_CHECK", "0", 1);
    if (fagus_environment_read() || !fagus_environment.check) {
        abort();
    }
    exit(EXIT_FAILURE); /* so that the caller checks the words */
}

static void read_two(void)
{
    (void)setenv("FAGUS_CHECK", "2", 1);
    exit(fagus_environment_read() ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void nonsense_is_told(void **unused)
{
    (void)unused;
    unit_child_fails(read_nonsense, "cannot understand FAGUS_STATS=\"perhaps\"");
    unit_child_fails(read_two, "cannot understand FAGUS_CHECK=\"2\" in the environment: 0 or 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_sets_its_own, clear),
        cmocka_unit_test_setup(nonsense_is_told, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
