/* Fortran: collective calls on active sets; sizes of elements, and work arrays off their place. */
#include <complex.h>

#include "unit/shmem/pe.h"

#define SET const int *PE_start, const int *logPE_stride, const int *PE_size
typedef void gathering(void *dest, const void *source, const int *nelems, SET, void *pSync);
typedef void reduction(void *dest, const void *source, const int *nreduce, SET, void *pWrk,
                       void *pSync);

void shmem_barrier_(SET, void *pSync);
void shmem_broadcast8_(void *dest, const void *source, const int *nelems, const int *PE_root, SET,
                       void *pSync);
void shmem_alltoalls32_(void *dest, const void *source, const int *dst, const int *sst,
                        const int *nelems, SET, void *pSync);
gathering shmem_collect4_, shmem_collect8_, shmem_collect32_, shmem_collect64_;
gathering shmem_fcollect4_, shmem_fcollect8_, shmem_fcollect32_, shmem_fcollect64_;
gathering shmem_alltoall32_, shmem_alltoall64_;
reduction shmem_int2_xor_to_all_, shmem_int4_and_to_all_, shmem_int8_or_to_all_;
reduction shmem_real4_min_to_all_, shmem_real8_max_to_all_, shmem_comp4_sum_to_all_,
    shmem_comp8_prod_to_all_;

static const int zero;
static const int one = 1;

/* Default INTEGERs, off the place of a long. */
static struct {
    long aligned;
    int before;
    int sync[2];
} work;

static unsigned char dest[64];
static unsigned char source[64];

static void clear(void)
{
    memset(dest, 0xff, sizeof dest);
    memset(source, 7, sizeof source);
}

static size_t bytes_changed(void)
{
    size_t count = 0;
    while (count < sizeof dest && dest[count] == 7) {
        count++;
    }
    return dest[count] == 0xff ? count : 0;
}

static void elements_have_their_size(void **unused)
{
    (void)unused;
    static const struct {
        gathering *call;
        size_t bytes;
    } calls[] = {
        {shmem_collect4_, 4},   {shmem_collect8_, 8},   {shmem_collect32_, 4},
        {shmem_collect64_, 8},  {shmem_fcollect4_, 4},  {shmem_fcollect8_, 8},
        {shmem_fcollect32_, 4}, {shmem_fcollect64_, 8}, {shmem_alltoall32_, 4},
        {shmem_alltoall64_, 8},
    };
    const int count = 3;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        clear();
        calls[i].call(dest, source, &count, &zero, &zero, &one, work.sync);
        assert_int_equal(bytes_changed(), 3 * calls[i].bytes);
    }
}

static void strides_of_an_exchange(void **unused)
{
    (void)unused;
    static int32_t from[] = {1, 2, 3};
    static int32_t to[4];
    const int two = 2;
    memset(to, 0, sizeof to);
    shmem_alltoalls32_(to, from, &one, &two, &two, &zero, &zero, &one, work.sync);
    assert_true(to[0] == 1 && to[1] == 3 && to[2] == 0);
}

static void the_roots_target_stays(void **unused)
{
    (void)unused;
    clear();
    shmem_broadcast8_(dest, source, &one, &zero, &zero, &zero, &one, work.sync);
    assert_int_equal(dest[0], 0xff);
    shmem_barrier_(&zero, &zero, &one, work.sync);
    assert_true(work.sync[0] == 0 && work.sync[1] == 0);
}

static void reductions_have_their_type(void **unused)
{
    (void)unused;
    static const struct {
        reduction *call;
        size_t bytes;
    } calls[] = {
        {shmem_int2_xor_to_all_, 2},    {shmem_int4_and_to_all_, 4},  {shmem_int8_or_to_all_, 8},
        {shmem_real4_min_to_all_, 4},   {shmem_real8_max_to_all_, 8}, {shmem_comp4_sum_to_all_, 8},
        {shmem_comp8_prod_to_all_, 16},
    };
    const int count = 3;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        clear();
        calls[i].call(dest, source, &count, &zero, &zero, &one, work.sync, work.sync);
        assert_int_equal(bytes_changed(), 3 * calls[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_have_their_size),
        cmocka_unit_test(strides_of_an_exchange),
        cmocka_unit_test(the_roots_target_stays),
        cmocka_unit_test(reductions_have_their_type),
    };
    return cmocka_run_group_tests(tests, pe_group_start, pe_group_stop);
}
