/* test and wait_until for every kind of type: the type decides width and sign. */
#include "unit/shmem/pe.h"

static short small[2] = {-1, 5};
static unsigned short unsigned_small = 0xffff;
static int64_t wide = INT64_MIN;
static uint64_t unsigned_wide = UINT64_MAX;
static long number = 4;

static void widths_and_signs(void **unused)
{
    (void)unused;
    assert_int_equal(shmem_short_test(&small[0], SHMEM_CMP_LT, 0), 1);
    assert_int_equal(shmem_short_test(&small[1], SHMEM_CMP_GE, 6), 0);
    assert_int_equal(shmem_short_test(&small[1], SHMEM_CMP_LT, 0), 0);
    assert_int_equal(shmem_ushort_test(&unsigned_small, SHMEM_CMP_GT, 0x7fff), 1);
    assert_int_equal(shmem_ushort_test(&unsigned_small, SHMEM_CMP_LT, 0xffff), 0);
    assert_int_equal(shmem_int64_test(&wide, SHMEM_CMP_LE, -1), 1);
    assert_int_equal(shmem_int64_test(&wide, SHMEM_CMP_LT, INT64_MIN), 0);
    assert_int_equal(shmem_uint64_test(&unsigned_wide, SHMEM_CMP_GE, UINT64_MAX), 1);
    assert_int_equal(shmem_uint64_test(&unsigned_wide, SHMEM_CMP_GT, UINT64_MAX), 0);
}

static void what_holds_ends_at_once(void **unused)
{
    (void)unused;
    shmem_long_wait_until(&number, SHMEM_CMP_NE, 3);
    shmem_short_wait_until(&small[1], SHMEM_CMP_EQ, 5);
    shmem_wait(&number, 0);
    shmem_wait_until(&number, SHMEM_CMP_LE, 4);
    assert_int_equal(shmem_signal_wait_until(&unsigned_wide, SHMEM_CMP_GT, 1), UINT64_MAX);
}

static void several(void **unused)
{
    (void)unused;
    static long words[3] = {1, 2, 3};
    static long each[3] = {1, 5, 3};
    size_t found[3];
    assert_int_equal(shmem_long_test_some(words, 3, found, NULL, SHMEM_CMP_GT, 1), 2);
    assert_true(found[0] == 1 && found[1] == 2);
    assert_int_equal(shmem_long_test_all_vector(words, 3, NULL, SHMEM_CMP_LE, each), 1);
    assert_int_equal(shmem_long_test_all_vector(words, 3, NULL, SHMEM_CMP_EQ, each), 0);
    assert_int_equal(shmem_long_wait_until_any(words, 3, NULL, SHMEM_CMP_EQ, 3), 2);
    assert_int_equal(shmem_long_wait_until_some_vector(words, 3, found, NULL, SHMEM_CMP_EQ, each),
                     2);
    shmem_long_wait_until_all(words, 0, NULL, SHMEM_CMP_EQ, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_and_signs),
        cmocka_unit_test(what_holds_ends_at_once),
        cmocka_unit_test(several),
    };
    return cmocka_run_group_tests(tests, pe_group_start, pe_group_stop);
}
