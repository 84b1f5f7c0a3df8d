/* Puts and gets of every width, strided and by element, through the inline ways. */
#include "unit/shmem/pe.h"

static unsigned char target[256];
static unsigned char source[256];

static void get_from_nobody(void)
{
    pe_start();
    shmem_getmem(target, source, 4, -1);
}

static void put_to_private(void)
{
    unsigned char private_bytes[4];
    pe_start();
    shmem_putmem(private_bytes, source, 4, 0);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(get_from_nobody, "there is no PE -1");
    unit_child_fails(put_to_private, "is not symmetric");
}

static int fill(void **unused)
{
    (void)unused;
    memset(target, 0, sizeof target);
    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = (unsigned char)(i + 1);
    }
    return 0;
}

static void assert_moved(size_t bytes)
{
    assert_memory_equal(target, source, bytes);
    assert_int_equal(target[bytes], 0);
}

static void every_width(void **unused)
{
    (void)unused;
    for (size_t bytes = 0; bytes < 100; bytes++) {
        memset(target, 0, sizeof target);
        shmem_putmem(target, source, bytes, 0);
        assert_moved(bytes);
        memset(target, 0, sizeof target);
        shmem_getmem(target, source, bytes, 0);
        assert_moved(bytes);
    }
    shmem_put16(target, source, 3, 0);
    shmem_put128(target, source, 2, 0);
    assert_memory_equal(target, source, 32);
    shmem_putmem_nbi(target, source, 200, 0);
    shmem_quiet();
    assert_moved(200);
}

static void elements(void **unused)
{
    (void)unused;
    static short small;
    static double real;
    static long double longest;
    shmem_short_p(&small, -3, 0);
    shmem_double_p(&real, 0.5, 0);
    shmem_longdouble_p(&longest, 0.25L, 0);
    assert_true(small == -3 && real == 0.5 && longest == 0.25L);
    assert_int_equal(shmem_short_g(&small, 0), -3);
    assert_true(shmem_double_g(&real, 0) == 0.5);
    assert_true(shmem_longdouble_g(&longest, 0) == 0.25L);
}

static void strides(void **unused)
{
    (void)unused;
    shmem_iput32(target, source, 3, 2, 4, 0);
    for (size_t i = 0; i < 4; i++) {
        assert_memory_equal(target + 12 * i, source + 8 * i, 4);
        assert_int_equal(target[12 * i + 4], 0);
    }
    memset(target, 0, sizeof target);
    shmem_iget64(target, source, 1, 5, 3, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(target + 8 * i, source + 40 * i, 8);
    }
    shmem_iput32(target, source, 1, 1, 0, 0);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_width, fill),
        cmocka_unit_test_setup(elements, fill),
        cmocka_unit_test_setup(strides, fill),
    };
    return PE_RUN(ending, tests);
}
