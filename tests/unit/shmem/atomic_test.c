/* Every atomic does to a word what its name says, in both widths, and gives the old value. */
#include "unit/shmem/pe.h"

static uint64_t word;
static int32_t narrow;
static double real;

static void misaligned(void)
{
    static uint64_t words[2];
    pe_start();
    shmem_uint64_atomic_add((uint64_t *)(void *)((unsigned char *)words + 4), 1, 0);
}

static void no_such_pe(void)
{
    pe_start();
    (void)shmem_uint64_atomic_fetch(&word, 1);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(misaligned, "is not aligned to the 8 bytes of its word");
    unit_child_fails(no_such_pe, "there is no PE 1");
}

static void wide_ones(void **unused)
{
    (void)unused;
    word = 12;
    assert_int_equal(shmem_uint64_atomic_fetch_add(&word, 30, 0), 12);
    assert_int_equal(shmem_uint64_atomic_fetch(&word, 0), 42);
    assert_int_equal(shmem_uint64_atomic_fetch_and(&word, 0xf, 0), 42);
    assert_int_equal(shmem_uint64_atomic_fetch_or(&word, 0x30, 0), 10);
    assert_int_equal(shmem_uint64_atomic_fetch_xor(&word, 0xff, 0), 0x3a);
    assert_int_equal(shmem_uint64_atomic_swap(&word, UINT64_MAX, 0), 0xc5);
    assert_int_equal(shmem_uint64_atomic_fetch_inc(&word, 0), UINT64_MAX);
    assert_int_equal(word, 0);
    assert_int_equal(shmem_uint64_atomic_compare_swap(&word, 1, 5, 0), 0);
    assert_int_equal(word, 0);
    assert_int_equal(shmem_uint64_atomic_compare_swap(&word, 0, 5, 0), 0);
    assert_int_equal(word, 5);
}

static void narrow_ones_leave_their_neighbours(void **unused)
{
    (void)unused;
    static int32_t words[3] = {-1, INT32_MAX, -1};
    assert_int_equal(shmem_int_atomic_fetch_add(&words[1], 1, 0), INT32_MAX);
    assert_int_equal(words[1], INT32_MIN);
    shmem_int_atomic_inc(&words[1], 0);
    shmem_int_atomic_add(&words[1], -1, 0);
    assert_int_equal(words[0], -1);
    assert_int_equal(words[1], INT32_MIN);
    assert_int_equal(words[2], -1);
}

static void setting_and_other_types(void **unused)
{
    (void)unused;
    shmem_int32_atomic_set(&narrow, -7, 0);
    assert_int_equal(narrow, -7);
    shmem_double_atomic_set(&real, 2.5, 0);
    assert_true(shmem_double_atomic_swap(&real, 0.25, 0) == 2.5);
    assert_true(shmem_double_atomic_fetch(&real, 0) == 0.25);
}

static void nbi_forms_and_contexts(void **unused)
{
    (void)unused;
    shmem_ctx_t context;
    uint64_t fetched = 0;
    word = 3;
    assert_int_equal(shmem_ctx_create(0, &context), 0);
    shmem_ctx_uint64_atomic_fetch_add_nbi(context, &fetched, &word, 4, 0);
    shmem_ctx_quiet(context);
    assert_int_equal(fetched, 3);
    assert_int_equal(shmem_ctx_uint64_atomic_fetch(context, &word, 0), 7);
    shmem_ctx_destroy(context);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_ones),
        cmocka_unit_test(narrow_ones_leave_their_neighbours),
        cmocka_unit_test(setting_and_other_types),
        cmocka_unit_test(nbi_forms_and_contexts),
    };
    return PE_RUN(ending, tests);
}
