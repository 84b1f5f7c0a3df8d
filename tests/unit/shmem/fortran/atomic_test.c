/* Fortran: atomics and waits of 4 and 8 bytes. */
#include "unit/shmem/pe.h"

#define DECLARE(NAME, TYPE)                                                  \
    TYPE shmem_##NAME##_swap_(TYPE *dest, const TYPE *value, const int *pe); \
    TYPE shmem_##NAME##_fetch_(const TYPE *source, const int *pe);           \
    void shmem_##NAME##_set_(TYPE *dest, const TYPE *value, const int *pe);

#define DECLARE_INTEGER(NAME, TYPE)                                                             \
    DECLARE(NAME, TYPE)                                                                         \
    TYPE shmem_##NAME##_cswap_(TYPE *dest, const TYPE *cond, const TYPE *value, const int *pe); \
    TYPE shmem_##NAME##_fadd_(TYPE *dest, const TYPE *value, const int *pe);                    \
    TYPE shmem_##NAME##_finc_(TYPE *dest, const int *pe);                                       \
    void shmem_##NAME##_add_(TYPE *dest, const TYPE *value, const int *pe);                     \
    void shmem_##NAME##_inc_(TYPE *dest, const int *pe);                                        \
    void shmem_##NAME##_wait_(TYPE *ivar, const TYPE *cmp_value);                               \
    void shmem_##NAME##_wait_until_(TYPE *ivar, const int *cmp, const TYPE *cmp_value);

DECLARE_INTEGER(int4, int32_t)
DECLARE_INTEGER(int8, int64_t)
DECLARE(real4, float)
DECLARE(real8, double)
int32_t shmem_swap_(int32_t *dest, const int32_t *value, const int *pe);
void shmem_wait_(int32_t *ivar, const int32_t *cmp_value);
void shmem_wait_until_(int32_t *ivar, const int *cmp, const int32_t *cmp_value);

static const int pe;

/* The word lies between two others, which stay. */
#define DEFINE_CHECK(NAME, TYPE, HIGH)                                              \
    static void atomics_of_##NAME(void **unused)                                    \
    {                                                                               \
        (void)unused;                                                               \
        static TYPE words[3] = {1, 2, 3};                                           \
        TYPE *word = &words[1];                                                     \
        const TYPE values[] = {(HIGH), 5, -7};                                      \
        assert_true(shmem_##NAME##_fetch_(word, &pe) == 2);                         \
        shmem_##NAME##_set_(word, &values[0], &pe);                                 \
        assert_true(*word == (HIGH));                                               \
        assert_true(shmem_##NAME##_swap_(word, &values[1], &pe) == (HIGH));         \
        assert_true(shmem_##NAME##_cswap_(word, &values[0], &values[2], &pe) == 5); \
        assert_true(*word == 5);                                                    \
        assert_true(shmem_##NAME##_cswap_(word, &values[1], &values[2], &pe) == 5); \
        assert_true(*word == -7);                                                   \
        assert_true(shmem_##NAME##_fadd_(word, &values[1], &pe) == -7);             \
        assert_true(shmem_##NAME##_finc_(word, &pe) == -2);                         \
        shmem_##NAME##_add_(word, &values[0], &pe);                                 \
        assert_true(*word == (HIGH)-1);                                             \
        shmem_##NAME##_inc_(word, &pe);                                             \
        assert_true(*word == (HIGH));                                               \
        assert_true(words[0] == 1 && words[2] == 3);                                \
        const int cmp = SHMEM_CMP_GE;                                               \
        shmem_##NAME##_wait_(word, &values[1]);                                     \
        shmem_##NAME##_wait_until_(word, &cmp, &values[0]);                         \
    }

DEFINE_CHECK(int4, int32_t, INT32_MAX)
DEFINE_CHECK(int8, int64_t, INT64_MAX)

static void atomics_of_reals(void **unused)
{
    (void)unused;
    static float single = 1.5F;
    static double real = 2.5;
    const float value4 = -3;
    const double value8 = 1e300;
    assert_true(shmem_real4_fetch_(&single, &pe) == 1.5F);
    assert_true(shmem_real4_swap_(&single, &value4, &pe) == 1.5F && single == -3);
    assert_true(shmem_real8_fetch_(&real, &pe) == 2.5);
    assert_true(shmem_real8_swap_(&real, &value8, &pe) == 2.5 && real == 1e300);
    shmem_real8_set_(&real, &(const double){4}, &pe);
    shmem_real4_set_(&single, &(const float){5}, &pe);
    assert_true(real == 4 && single == 5);
}

static void default_integers_have_4_bytes(void **unused)
{
    (void)unused;
    static int32_t words[2] = {1, 2};
    const int32_t values[] = {1, 7};
    const int cmp = SHMEM_CMP_LT;
    assert_int_equal(shmem_swap_(words, &values[1], &pe), 1);
    assert_true(words[0] == 7 && words[1] == 2);
    shmem_wait_(words, &values[0]);
    words[0] = 6;
    shmem_wait_until_(words, &cmp, &values[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atomics_of_int4),
        cmocka_unit_test(atomics_of_int8),
        cmocka_unit_test(atomics_of_reals),
        cmocka_unit_test(default_integers_have_4_bytes),
    };
    return cmocka_run_group_tests(tests, pe_group_start, pe_group_stop);
}
