/* Beginning and end: what may be called when. */
#include "unit/fagus/node.h"

static void nothing_works_before_and_after(void **unused)
{
    (void)unused;
    void *pointer;
    int variable = 1;
    assert_int_equal(fagus_rank(), FAGUS_ESTATE);
    assert_int_equal(fagus_size(), FAGUS_ESTATE);
    assert_int_equal(fagus_finalize(), FAGUS_ESTATE);
    assert_int_equal(fagus_alloc(1, 0, &pointer), FAGUS_ESTATE);
    assert_int_equal(fagus_distribute(&variable, sizeof variable), FAGUS_ESTATE);
    assert_int_equal(fagus_barrier(NULL), FAGUS_ESTATE);
    assert_int_equal(fagus_home(&variable), FAGUS_ESTATE);
}

static void between(void **unused)
{
    (void)unused;
    int variable = 41;
    assert_int_equal(fagus_rank(), 0);
    assert_int_equal(fagus_size(), 1);
    assert_int_equal(fagus_init(), FAGUS_ESTATE);
    assert_int_equal(fagus_distribute(&variable, sizeof variable), 0);
    assert_int_equal(variable, 41);
    assert_int_equal(fagus_distribute(&variable, 0), FAGUS_EINVAL);
    assert_int_equal(fagus_distribute(NULL, 4), FAGUS_EINVAL);
}

static void refuse_the_environment(void)
{
    (void)setenv("FAGUS_STATS", "yes", 1);
    if (node_start_as("0") != FAGUS_EINVAL || fagus_rank() != FAGUS_ESTATE) {
        abort();
    }
    (void)setenv("FAGUS_STATS", "0", 1);
    if (node_start_as("0") != 0 || fagus_finalize() != 0) {
        abort();
    }
    exit(EXIT_FAILURE); /* so that the caller checks the words */
}

static void the_environment_is_refused(void **unused)
{
    (void)unused;
    unit_child_fails(refuse_the_environment, "FAGUS_STATS=\"yes\"");
}

int main(void)
{
    const struct CMUnitTest outside[] = {
        cmocka_unit_test(nothing_works_before_and_after),
        cmocka_unit_test(the_environment_is_refused),
    };
    const struct CMUnitTest inside[] = {cmocka_unit_test(between)};
    return cmocka_run_group_tests(outside, NULL, NULL) + NODE_RUN(inside) +
           cmocka_run_group_tests(outside, NULL, NULL);
}
