/* Transfers with every check: what they refuse, and that they do the same as the inline ways. */
#include "shmem/checked.h"
#include "unit/shmem/pe.h"

static uint64_t words[8];

static void put_to_private(void)
{
    uint64_t private_word;
    pe_start();
    shmem_checked_put(&shmem_state.context, &private_word, words, 1, 8, 0, "call");
}

static void put_beyond_the_heap(void)
{
    pe_start();
    const struct shmem_segment *heap = &shmem_state.segments[SHMEM_HEAP];
    shmem_checked_put(&shmem_state.context, (void *)(heap->base + heap->bytes - 4), words, 1, 8, 0,
                      "call");
}

static void put_a_negative_number(void)
{
    pe_start();
    shmem_checked_put(&shmem_state.context, words, words, (size_t)-1, 8, 0, "call");
}

static void use_no_context(void)
{
    pe_start();
    (void)shmem_checked_g(&shmem_no_context, words, 8, 0, "call");
}

static void put_with_overlap(void)
{
    pe_start_with_debug();
    shmem_checked_put(&shmem_state.context, &words[1], words, 2, 8, 0, "call");
}

static void stride_of_zero(void)
{
    pe_start();
    struct shmem_strided strided = {words, words, 0, 1, 1, 2, 8, 0};
    shmem_checked_iput(&shmem_state.context, &strided, "call");
}

static void signal_with_no_operation(void)
{
    pe_start();
    struct shmem_signalled put = {words, &words[4], 1, 8, &words[2], 1, 7, 0};
    shmem_checked_put_signal(&shmem_state.context, &put, "call");
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(put_to_private, "is not symmetric: it is neither from shmem_malloc");
    unit_child_fails(put_beyond_the_heap, "run beyond the end of the symmetric memory");
    unit_child_fails(put_a_negative_number, "are more than any memory holds");
    unit_child_fails(use_no_context, "the context is SHMEM_CTX_INVALID");
    unit_child_fails(put_with_overlap, "source and target overlap");
    unit_child_fails(stride_of_zero, "strides are 1 or more");
    unit_child_fails(signal_with_no_operation, "7 is no signal operation");
}

static void strides_that_make_sense(void **unused)
{
    (void)unused;
    size_t bytes;
    struct shmem_strided four = {.block = 1, .count = 4, .size = 8};
    assert_true(shmem_stride_bytes(1, &four, &bytes) && bytes == 32);
    assert_true(shmem_stride_bytes(3, &four, &bytes) && bytes == 80);
    assert_false(shmem_stride_bytes(0, &four, &bytes));
    assert_false(shmem_stride_bytes(PTRDIFF_MAX, &four, &bytes));
    struct shmem_strided one = {.block = 1, .count = 1, .size = 8};
    assert_true(shmem_stride_bytes(PTRDIFF_MAX / 8, &one, &bytes) && bytes == 8);
    struct shmem_strided nine = {.block = 1, .count = 9, .size = 8};
    assert_false(shmem_stride_bytes(PTRDIFF_MAX / 8, &nine, &bytes));
    /* Blocks lie at least their own length apart. */
    struct shmem_strided blocks = {.block = 3, .count = 4, .size = 8};
    assert_true(shmem_stride_bytes(3, &blocks, &bytes) && bytes == 96);
    assert_true(shmem_stride_bytes(5, &blocks, &bytes) && bytes == 144);
    assert_false(shmem_stride_bytes(2, &blocks, &bytes));
    struct shmem_strided huge = {.block = SIZE_MAX / 4, .count = 1, .size = 8};
    assert_false(shmem_stride_bytes(PTRDIFF_MAX, &huge, &bytes));
}

static void transfers_move_just_their_bytes(void **unused)
{
    (void)unused;
    const struct shmem_context *context = &shmem_state.context;
    const uint64_t from[3] = {11, 22, 33};
    uint64_t into[3] = {0};
    memset(words, 0xff, sizeof words);
    shmem_checked_put(context, &words[1], from, 2, 8, 0, "call");
    assert_true(words[0] == UINT64_MAX && words[1] == 11 && words[2] == 22);
    assert_true(words[3] == UINT64_MAX);
    shmem_checked_put_nbi(context, &words[3], &from[2], 1, 4, 0, "call");
    shmem_quiet();
    assert_true(words[3] == (UINT64_C(0xffffffff) << 32 | 33));
    shmem_checked_get(context, into, &words[1], 2, 8, 0, "call");
    assert_true(into[0] == 11 && into[1] == 22 && into[2] == 0);
    shmem_checked_p(context, &words[5], 0x1234, 2, 0, "call");
    assert_int_equal(shmem_checked_g(context, &words[5], 2, 0, "call"), 0x1234);
    /* Nothing to move is no mistake, wherever it is. */
    shmem_checked_get(context, into, from, 0, 8, 0, "call");
}

static void strided_ones(void **unused)
{
    (void)unused;
    const uint64_t from[4] = {1, 2, 3, 4};
    uint64_t into[6] = {0};
    memset(words, 0, sizeof words);
    struct shmem_strided put = {words, from, 3, 2, 1, 2, 8, 0};
    shmem_checked_iput(&shmem_state.context, &put, "call");
    assert_true(words[0] == 1 && words[3] == 3 && words[1] == 0 && words[2] == 0);
    struct shmem_strided get = {into, words, 5, 3, 1, 2, 8, 0};
    shmem_checked_iget(&shmem_state.context, &get, "call");
    assert_true(into[0] == 1 && into[5] == 3 && into[1] == 0);
}

static void signals_and_atomics(void **unused)
{
    (void)unused;
    const uint64_t body = 77;
    memset(words, 0, sizeof words);
    struct shmem_signalled put = {words, &body, 1, 8, &words[1], 5, SHMEM_SIGNAL_SET, 0};
    shmem_checked_put_signal(&shmem_state.context, &put, "call");
    assert_true(words[0] == 77 && words[1] == 5);
    put.operation = SHMEM_SIGNAL_ADD;
    shmem_checked_put_signal(&shmem_state.context, &put, "call");
    assert_int_equal(words[1], 10);
    struct shmem_atomic add = {0, 8, INNER_ADD, true};
    assert_int_equal(shmem_checked_atomic(&shmem_state.context, &words[1], 3, 0, add, "call"), 10);
    struct shmem_atomic swap = {0, 4, INNER_COMPARE_SWAP, true};
    assert_int_equal(shmem_checked_atomic(&shmem_state.context, &words[1], 6, 13, swap, "call"),
                     13);
    assert_int_equal(words[1], 6);
}

int main(void)
{
    const struct CMUnitTest ending[] = {
        cmocka_unit_test(mistakes_end_the_job),
        cmocka_unit_test(strides_that_make_sense),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_move_just_their_bytes),
        cmocka_unit_test(strided_ones),
        cmocka_unit_test(signals_and_atomics),
    };
    return PE_RUN(ending, tests);
}
