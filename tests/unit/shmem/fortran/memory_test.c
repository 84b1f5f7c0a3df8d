/* Fortran: blocks of the heap in words of 32 bits; wrong addresses are codes. */
#include "unit/shmem/pe.h"

void shpalloc_(uintptr_t *addr, const int *length, int *errcode, const int *abort);
void shpdeallc_(const uintptr_t *addr, int *errcode, const int *abort);
void shpclmove_(uintptr_t *addr, const int *length, int *status, const int *abort);
void shmem_init_(void);
void shmem_finalize_(void);

static const int report = 0;
static const int end = 1;

static int allocate(uintptr_t *addr, int length)
{
    int code = 99;
    shpalloc_(addr, &length, &code, &report);
    return code;
}

static int release(uintptr_t addr)
{
    int code = 99;
    shpdeallc_(&addr, &code, &report);
    return code;
}

static int change(uintptr_t *addr, int length)
{
    int code = 99;
    shpclmove_(addr, &length, &code, &report);
    return code;
}

static void blocks_have_words_of_32_bits(void **unused)
{
    (void)unused;
    uintptr_t addr = 0;
    assert_int_equal(allocate(&addr, 1000), 0);
    assert_true(shmem_addr_accessible((void *)addr, 0));
    memset((void *)addr, 1, 4000);
    /* What is behind it is another block's. */
    uintptr_t other = 0;
    assert_int_equal(allocate(&other, 1), 0);
    assert_true(other >= addr + 4000 || other < addr);
    assert_int_equal(release(other), 0);
    assert_int_equal(release(addr), 0);
}

static void a_block_moves_with_its_content(void **unused)
{
    (void)unused;
    uintptr_t addr = 0;
    uintptr_t behind = 0;
    assert_int_equal(allocate(&addr, 16), 0);
    assert_int_equal(allocate(&behind, 16), 0);
    uintptr_t old = addr;
    memset((void *)addr, 0x5a, 64);
    assert_int_equal(change(&addr, 4096), 1);
    assert_true(addr != old);
    assert_int_equal(*(unsigned char *)(addr + 63), 0x5a);
    assert_int_equal(release(old), -4);
    old = addr;
    assert_int_equal(change(&addr, 4095), 0);
    assert_true(addr == old);
    assert_int_equal(release(addr), 0);
    assert_int_equal(release(behind), 0);
}

static void mistakes_have_their_codes(void **unused)
{
    (void)unused;
    static int word;
    uintptr_t addr = 77;
    assert_int_equal(allocate(&addr, 0), -1);
    assert_int_equal(allocate(&addr, -1), -1);
    assert_int_equal(allocate(&addr, INT32_MAX), -2);
    assert_int_equal(addr, 77);
    assert_int_equal(allocate(&addr, 64), 0);
    uintptr_t inside = addr + 4;
    uintptr_t outside = (uintptr_t)&word;
    assert_int_equal(change(&addr, 0), -1);
    assert_int_equal(change(&addr, INT32_MAX), -2);
    assert_int_equal(release(inside), -5);
    assert_int_equal(change(&inside, 5), -5);
    assert_int_equal(release(outside), -3);
    assert_int_equal(change(&outside, 5), -3);
    assert_int_equal(release(addr), 0);
    assert_int_equal(release(addr), -4);
    assert_int_equal(change(&addr, 5), -4);
}

static void abort_without_length(void)
{
    uintptr_t addr;
    const int length = 0;
    int code;
    pe_start();
    shpalloc_(&addr, &length, &code, &end);
}

static void abort_outside(void)
{
    const uintptr_t addr = 4;
    int code;
    pe_start();
    shpdeallc_(&addr, &code, &end);
}

static void abort_ends_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(abort_without_length, "PE 0: SHPALLOC: a length is at least 1 word");
    unit_child_fails(abort_outside, "PE 0: SHPDEALLC: the address is not in the symmetric heap");
}

/* The next life's heap is empty. */
static void live_again(void)
{
    uintptr_t addr;
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    shmem_init_();
    (void)allocate(&addr, 5);
    shmem_finalize_();
    shmem_init_();
    exit(release(addr) == -3 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void blocks_end_with_the_heap(void **unused)
{
    (void)unused;
    unit_child_passes(live_again);
}

int main(void)
{
    const struct CMUnitTest ending[] = {
        cmocka_unit_test(abort_ends_the_job),
        cmocka_unit_test(blocks_end_with_the_heap),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_words_of_32_bits),
        cmocka_unit_test(a_block_moves_with_its_content),
        cmocka_unit_test(mistakes_have_their_codes),
    };
    return PE_RUN(ending, tests);
}
