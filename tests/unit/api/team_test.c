/* A team of one: who is in it, its collective calls, and the checks of their arguments. */
#include "unit/api/node.h"

static const int self[] = {0};
static struct dn_team *team;

static int make(void **unused)
{
    (void)unused;
    return dn_team_create(node, self, 1, &team);
}

static int end(void **unused)
{
    (void)unused;
    return dn_team_free(team);
}

static void members(void **unused)
{
    (void)unused;
    const int twice[] = {0, 0};
    const int nobody[] = {3};
    struct dn_team *other = NULL;
    assert_int_equal(dn_team_rank(team), 0);
    assert_int_equal(dn_team_size(team), 1);
    assert_int_equal(dn_team_node_rank(team, 0), 0);
    assert_int_equal(dn_team_node_rank(team, 1), DN_ERANK);
    assert_int_equal(dn_team_create(node, twice, 2, &other), DN_EINVAL);
    assert_int_equal(dn_team_create(node, nobody, 1, &other), DN_ERANK);
    assert_int_equal(dn_team_create(node, NULL, 1, &other), DN_EINVAL);
    assert_int_equal(dn_team_create(node, self, 1, NULL), DN_EINVAL);
    assert_int_equal(dn_team_split(team, 4, 0, &other), 0);
    assert_int_equal(dn_team_size(other), 1);
    assert_int_equal(dn_team_free(other), 0);
    assert_int_equal(dn_team_free(other), DN_ESTATE);
    assert_int_equal(dn_team_rank(other), DN_ESTATE);
    assert_int_equal(dn_team_rank(NULL), DN_EINVAL);
    assert_int_equal(dn_team_split(team, -1, 0, &other), 0);
    assert_null(other);
    assert_int_equal(dn_team_shrink(team, &other), 0);
    assert_int_equal(dn_team_free(other), 0);
}

static void barriers_in_two_steps(void **unused)
{
    (void)unused;
    int passed = 0;
    assert_int_equal(dn_barrier_wait(team, 0), DN_ESTATE);
    assert_int_equal(dn_barrier_arrive(team), 0);
    assert_int_equal(dn_barrier_arrive(team), DN_ESTATE);
    assert_int_equal(dn_barrier_test(team, &passed), 0);
    assert_int_equal(passed, 1);
    assert_int_equal(dn_barrier_arrive(team), 0);
    assert_int_equal(dn_barrier_wait(team, DN_FOREVER), 0);
    assert_int_equal(dn_barrier_test(team, NULL), DN_EINVAL);
}

static void collective_calls(void **unused)
{
    (void)unused;
    const double source[2] = {1.5, -2};
    double result[2] = {0};
    size_t sizes[1] = {16};
    size_t got[1] = {0};
    assert_int_equal(dn_allreduce(team, source, result, 2, DN_DOUBLE, DN_SUM), 0);
    assert_true(result[0] == 1.5 && result[1] == -2);
    result[0] = 9;
    assert_int_equal(dn_scan(team, source, result, 1, DN_DOUBLE, DN_SUM, DN_EXCLUSIVE), 0);
    assert_true(result[0] == 9);
    assert_int_equal(dn_scan(team, source, result, 1, DN_DOUBLE, DN_MAX, DN_INCLUSIVE), 0);
    assert_true(result[0] == 1.5);
    memset(result, 0, sizeof result);
    assert_int_equal(dn_allgather(team, source, result, 8), 0);
    assert_true(result[0] == 1.5 && result[1] == 0);
    assert_int_equal(dn_allgatherv(team, source, 16, result, 16, got), 0);
    assert_true(result[1] == -2 && got[0] == 16);
    assert_int_equal(dn_allgatherv(team, source, 16, result, 15, NULL), DN_ETOOLONG);
    memset(result, 0, sizeof result);
    assert_int_equal(dn_alltoall(team, source, result, 16), 0);
    assert_true(result[1] == -2);
    assert_int_equal(dn_alltoallv(team, source, sizes, result, 8, got), DN_ETOOLONG);
    assert_int_equal(dn_alltoallv(team, source, sizes, result, 16, got), 0);
    assert_int_equal(got[0], 16);
    assert_int_equal(dn_broadcast(team, result, 8, 0), 0);
}

static void add(void *result, const void *operand, size_t count, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        ((int *)result)[i] += ((const int *)operand)[i];
    }
}

static void mistakes(void **unused)
{
    (void)unused;
    int numbers[2] = {1, 2};
    int result[2];
    struct dn_operator with = {.combine = add, .element_bytes = sizeof(int)};
    assert_int_equal(dn_allreduce_with(team, numbers, result, 2, &with), 0);
    assert_true(result[0] == 1 && result[1] == 2);
    with.element_bytes = 8193;
    assert_int_equal(dn_allreduce_with(team, numbers, result, 2, &with), DN_EINVAL);
    with = (struct dn_operator){.element_bytes = 4};
    assert_int_equal(dn_allreduce_with(team, numbers, result, 2, &with), DN_EINVAL);
    assert_int_equal(dn_allreduce(team, NULL, result, 1, DN_INT32, DN_SUM), DN_EINVAL);
    assert_int_equal(dn_allreduce(team, numbers, result, 1, (enum dn_type)99, DN_SUM), DN_EINVAL);
    assert_int_equal(dn_allreduce(team, numbers, result, 1, DN_DOUBLE, DN_AND), DN_EINVAL);
    assert_int_equal(dn_broadcast(team, result, 4, 1), DN_ERANK);
    assert_int_equal(dn_allgather(NULL, numbers, result, 4), DN_EINVAL);
    assert_int_equal(dn_alltoallv(team, numbers, NULL, result, 8, NULL), DN_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(members, make, end),
        cmocka_unit_test_setup_teardown(barriers_in_two_steps, make, end),
        cmocka_unit_test_setup_teardown(collective_calls, make, end),
        cmocka_unit_test_setup_teardown(mistakes, make, end),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
