/* put_signal: body and signal in either segment, set and added, of every size. */
#include "unit/shmem/pe.h"

static uint64_t signal_word;
static uint64_t body[8];
static const uint64_t source[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static void signal_to_private(void)
{
    uint64_t private_word = 0;
    pe_start();
    shmem_uint64_put_signal(body, source, 1, &private_word, 1, SHMEM_SIGNAL_SET, 0);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(signal_to_private, "is not symmetric");
}

static void set_and_added(void **unused)
{
    (void)unused;
    shmem_uint64_put_signal(body, source, 3, &signal_word, 5, SHMEM_SIGNAL_SET, 0);
    assert_int_equal(shmem_signal_fetch(&signal_word), 5);
    assert_true(body[2] == 3 && body[3] == 0);
    shmem_uint64_put_signal(body, source, 8, &signal_word, 2, SHMEM_SIGNAL_ADD, 0);
    assert_int_equal(shmem_signal_fetch(&signal_word), 7);
    assert_memory_equal(body, source, sizeof body);
    /* Nothing but the signal. */
    shmem_putmem_signal(body, source, 0, &signal_word, UINT64_MAX, SHMEM_SIGNAL_ADD, 0);
    assert_int_equal(shmem_signal_fetch(&signal_word), 6);
}

static void in_the_other_segment(void **unused)
{
    (void)unused;
    uint64_t *heap = shmem_calloc(9, sizeof *heap);
    shmem_put32_signal(heap, source, 4, &signal_word, 1, SHMEM_SIGNAL_SET, 0);
    assert_memory_equal(heap, source, 16);
    assert_int_equal(heap[2], 0);
    shmem_ctx_t context;
    assert_int_equal(shmem_ctx_create(0, &context), 0);
    shmem_ctx_putmem_signal_nbi(context, body, heap, 16, &heap[8], 3, SHMEM_SIGNAL_SET, 0);
    shmem_ctx_quiet(context);
    assert_int_equal(heap[8], 3);
    shmem_ctx_destroy(context);
    shmem_free(heap);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_and_added),
        cmocka_unit_test(in_the_other_segment),
    };
    return PE_RUN(ending, tests);
}
