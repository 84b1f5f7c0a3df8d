/* The calls on active sets: elements of their widths, and the root's dest, which stays as it is. */
#include "unit/shmem/pe.h"

static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
static uint32_t source[4] = {1, 2, 3, 4};
static uint32_t dest[4];

static void broadcast_leaves_the_roots_dest(void **unused)
{
    (void)unused;
    memset(dest, 0, sizeof dest);
    shmem_broadcast32(dest, source, 2, 0, 0, 0, 1, sync_words);
    assert_int_equal(dest[0], 0);
}

static void elements_have_their_width(void **unused)
{
    (void)unused;
    memset(dest, 0, sizeof dest);
    shmem_fcollect32(dest, source, 1, 0, 0, 1, sync_words);
    assert_true(dest[0] == 1 && dest[1] == 0);
    shmem_fcollect64(dest, source, 1, 0, 0, 1, sync_words);
    assert_true(dest[1] == 2 && dest[2] == 0);
    shmem_collect32(dest, &source[1], 3, 0, 0, 1, sync_words);
    assert_true(dest[0] == 2 && dest[2] == 4 && dest[3] == 0);
    shmem_alltoall64(dest, source, 2, 0, 0, 1, sync_words);
    assert_int_equal(dest[3], 4);
    memset(dest, 0, sizeof dest);
    shmem_alltoalls32(dest, source, 2, 3, 2, 0, 0, 1, sync_words);
    assert_true(dest[0] == 1 && dest[2] == 4 && dest[1] == 0);
}

static void barriers(void **unused)
{
    (void)unused;
    shmem_barrier(0, 0, 1, sync_words);
    shmem_sync(0, 0, 1, sync_words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_leaves_the_roots_dest),
        cmocka_unit_test(elements_have_their_width),
        cmocka_unit_test(barriers),
    };
    return cmocka_run_group_tests(tests, pe_group_start, pe_group_stop);
}
