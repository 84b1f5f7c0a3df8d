/* Symmetric memory: alignment, growing, what SHMEM_DEBUG knows of it. */
#include "shmem/state.h"

#include <errno.h>

#include "unit/shmem/pe.h"

static void free_what_is_none(void)
{
    pe_start();
    shmem_free((void *)(shmem_state.segments[SHMEM_HEAP].base + 4096));
}

static void grow_what_is_none(void)
{
    pe_start();
    (void)shmem_realloc((void *)(shmem_state.segments[SHMEM_HEAP].base + 4096), 10);
}

static void use_after_free(void)
{
    pe_start_with_debug();
    long *words = shmem_malloc(sizeof *words);
    shmem_free(words);
    shmem_long_p(words, 1, 0);
}

static void leave_an_allocation(void)
{
    pe_start_with_debug();
    long *words = shmem_malloc(4 * sizeof *words);
    (void)shmem_malloc(4096);
    long source[5] = {0};
    shmem_long_put(words, source, 5, 0);
}

/* Inserted and taken out in all orders, the table finds each allocation, and no other. */
static void the_table_finds_all(void)
{
    enum { PIECES = 100 };
    void *pieces[PIECES];
    pe_start_with_debug();
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = shmem_malloc(64);
    }
    for (int i = 0; i < PIECES; i += 2) {
        shmem_free(pieces[i]);
    }
    for (int i = 1; i < PIECES; i += 2) {
        shmem_debug_memory((char *)pieces[i] + 60, 4, "call");
    }
    shmem_debug_memory(pieces[50], 1, "call");
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(free_what_is_none, "shmem_free");
    unit_child_fails(grow_what_is_none, "is not the start of an allocation");
    unit_child_fails(use_after_free, "in no allocation: it has been freed");
    unit_child_fails(leave_an_allocation, "leave their allocation of 32 bytes");
    unit_child_fails(the_table_finds_all, "in no allocation: it has been freed");
}

static void alignment(void **unused)
{
    (void)unused;
    size_t heap_bytes = shmem_state.segments[SHMEM_HEAP].bytes;
    for (size_t alignment = 1; alignment <= heap_bytes; alignment *= 2) {
        void *pointer = shmem_align(alignment, 100);
        assert_non_null(pointer);
        assert_int_equal((uintptr_t)pointer % alignment, 0);
        shmem_free(pointer);
    }
    errno = 0;
    assert_null(shmem_align(3, 100));
    assert_int_equal(errno, EINVAL);
    assert_null(shmem_align(0, 100));
    errno = 0;
    assert_null(shmem_align(heap_bytes * 2, 100));
    assert_int_equal(errno, ENOMEM);
}

static void nothing_and_too_much(void **unused)
{
    (void)unused;
    assert_null(shmem_malloc(0));
    assert_null(shmem_malloc((size_t)1 << 40));
    assert_null(shmem_calloc(SIZE_MAX / 2, 4));
    shmem_free(NULL);
}

static void calloc_gives_zeros(void **unused)
{
    (void)unused;
    unsigned char *dirty = shmem_malloc(4096);
    memset(dirty, 0xee, 4096);
    shmem_free(dirty);
    unsigned char *clean = shmem_calloc(64, 64);
    for (int i = 0; i < 4096; i++) {
        assert_int_equal(clean[i], 0);
    }
    shmem_free(clean);
}

static void realloc_keeps_the_content(void **unused)
{
    (void)unused;
    unsigned char *pointer = shmem_realloc(NULL, 1000);
    memset(pointer, 0x5a, 1000);
    unsigned char *same = shmem_realloc(pointer, 900);
    assert_ptr_equal(same, pointer);
    unsigned char *larger = shmem_realloc(same, 100000);
    assert_non_null(larger);
    for (int i = 0; i < 900; i++) {
        assert_int_equal(larger[i], 0x5a);
    }
    unsigned char *smaller = shmem_realloc(larger, 10);
    assert_ptr_not_equal(smaller, larger); /* it would keep too much */
    assert_int_equal(smaller[9], 0x5a);
    assert_null(shmem_realloc(smaller, 0));
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alignment),
        cmocka_unit_test(nothing_and_too_much),
        cmocka_unit_test(calloc_gives_zeros),
        cmocka_unit_test(realloc_keeps_the_content),
    };
    return PE_RUN(ending, tests);
}
