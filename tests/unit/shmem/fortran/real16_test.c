/* Fortran: reductions of 128-bit reals of one PE, which are copies; several PEs are in
 * tests/live/shmem/shmem_fortran_module.F90. */
#include "unit/shmem/pe.h"

typedef void reduction(void *dest, const void *source, const int *nreduce, const int *PE_start,
                       const int *logPE_stride, const int *PE_size, void *pWrk, void *pSync);
reduction shmem_real16_min_to_all_, shmem_real16_max_to_all_, shmem_real16_sum_to_all_,
    shmem_real16_prod_to_all_;

enum { COUNT = 70, BYTES = 16 }; /* more than a piece */

static const int zero;
static const int one = 1;
static unsigned char source[COUNT * BYTES];
static unsigned char dest[(COUNT + 1) * BYTES];
static long sync_words[SHMEM_REDUCE_SYNC_SIZE];

static void every_number_arrives(void **unused)
{
    (void)unused;
    reduction *const calls[] = {shmem_real16_min_to_all_, shmem_real16_max_to_all_,
                                shmem_real16_sum_to_all_, shmem_real16_prod_to_all_};
    const int count = COUNT;
    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = (unsigned char)(i * 37);
    }
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        memset(dest, 0xff, sizeof dest);
        calls[i](dest, source, &count, &zero, &zero, &one, NULL, sync_words);
        assert_memory_equal(dest, source, sizeof source);
        assert_int_equal(dest[sizeof source], 0xff);
    }
}

static void in_place_and_nothing(void **unused)
{
    (void)unused;
    const int count = COUNT;
    memset(dest, 3, sizeof dest);
    shmem_real16_sum_to_all_(dest, dest, &count, &zero, &zero, &one, NULL, sync_words);
    shmem_real16_sum_to_all_(dest, source, &zero, &zero, &zero, &one, NULL, sync_words);
    for (size_t i = 0; i < sizeof dest; i++) {
        assert_int_equal(dest[i], 3);
    }
}

static void reduce_less_than_nothing(void)
{
    const int count = -1;
    pe_start();
    shmem_real16_max_to_all_(dest, source, &count, &zero, &zero, &one, NULL, sync_words);
}

static void reduce_in_no_set(void)
{
    const int two = 2;
    pe_start();
    shmem_real16_max_to_all_(dest, source, &one, &zero, &zero, &two, NULL, sync_words);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(reduce_less_than_nothing,
                     "PE 0: SHMEM_REAL16_MAX_TO_ALL: -1 elements cannot be reduced");
    unit_child_fails(reduce_in_no_set, "is no set of PEs among 1");
}

int main(void)
{
    const struct CMUnitTest ending[] = {
        cmocka_unit_test(mistakes_end_the_job),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_arrives),
        cmocka_unit_test(in_place_and_nothing),
    };
    return PE_RUN(ending, tests);
}
