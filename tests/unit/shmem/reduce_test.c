/* Reductions: a PE alone gets its own values, of every kind of type. Sums over several PEs are
 * tested by tests/live/shmem. */
#include "unit/shmem/pe.h"

static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
static int work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static int numbers[3] = {4, -5, 6};
static int results[3];

static void negative_count(void)
{
    pe_start();
    shmem_int_sum_to_all(results, numbers, -1, 0, 0, 1, work, sync_words);
}

static void private_work(void)
{
    int private_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    pe_start_with_debug();
    shmem_int_sum_to_all(results, numbers, 1, 0, 0, 1, private_work, sync_words);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(negative_count, "-1 elements cannot be reduced");
    unit_child_fails(private_work, "is not symmetric memory");
}

static void every_operation(void **unused)
{
    (void)unused;
    int (*const calls[])(shmem_team_t, int *, const int *, size_t) = {
        shmem_int_sum_reduce, shmem_int_prod_reduce, shmem_int_min_reduce, shmem_int_max_reduce};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        memset(results, 0, sizeof results);
        assert_int_equal(calls[i](SHMEM_TEAM_WORLD, results, numbers, 2), 0);
        assert_true(results[0] == 4 && results[1] == -5 && results[2] == 0);
    }
}

static void every_kind_of_type(void **unused)
{
    (void)unused;
    static double real[2] = {1.5, -0.25};
    static double real_result[2];
    static double _Complex complex_number = 1.0;
    static double _Complex complex_result;
    static uint8_t byte = 0xa5;
    static uint8_t byte_result;
    assert_int_equal(shmem_double_sum_reduce(SHMEM_TEAM_WORLD, real_result, real, 2), 0);
    assert_true(real_result[0] == 1.5 && real_result[1] == -0.25);
    assert_int_equal(
        shmem_complexd_prod_reduce(SHMEM_TEAM_WORLD, &complex_result, &complex_number, 1), 0);
    assert_true(complex_result == complex_number);
    assert_int_equal(shmem_uint8_xor_reduce(SHMEM_TEAM_WORLD, &byte_result, &byte, 1), 0);
    assert_int_equal(byte_result, 0xa5);
}

static void in_place_and_on_active_sets(void **unused)
{
    (void)unused;
    assert_int_equal(shmem_int_sum_reduce(SHMEM_TEAM_WORLD, numbers, numbers, 3), 0);
    assert_true(numbers[0] == 4 && numbers[2] == 6);
    memset(results, 0, sizeof results);
    shmem_int_max_to_all(results, numbers, 3, 0, 0, 1, work, sync_words);
    assert_true(results[1] == -5 && results[2] == 6);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation),
        cmocka_unit_test(every_kind_of_type),
        cmocka_unit_test(in_place_and_on_active_sets),
    };
    return PE_RUN(ending, tests);
}
