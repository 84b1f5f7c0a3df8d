/* Addresses: which are symmetric, and what they are elsewhere. */
#include "shmem/reach.h"

#include "unit/shmem/pe.h"

static uint64_t variable = 1;
static const uint64_t constant = 2;

static void ranges_within_one_segment(void **unused)
{
    (void)unused;
    const struct shmem_segment *heap = &shmem_state.segments[SHMEM_HEAP];
    struct dn_remote remote;
    assert_true(shmem_remote_of((void *)heap->base, heap->bytes, 0, &remote));
    assert_int_equal(remote.area, DN_HEAP);
    assert_int_equal(remote.offset, 0);
    assert_true(shmem_remote_of((void *)(heap->base + 100), 8, 0, &remote));
    assert_int_equal(remote.offset, 100);
    assert_false(shmem_remote_of((void *)heap->base, heap->bytes + 1, 0, &remote));
    assert_false(shmem_remote_of((void *)(heap->base - 1), 1, 0, &remote));
    assert_false(shmem_remote_of((void *)(heap->base + heap->bytes), 1, 0, &remote));
    assert_false(shmem_remote_of((void *)(heap->base + 1), SIZE_MAX, 0, &remote));
}

static void static_variables(void **unused)
{
    (void)unused;
    struct dn_remote remote;
    uint64_t value = 0;
    assert_true(shmem_remote_of(&variable, sizeof variable, 0, &remote));
    assert_int_equal(dn_read_u64(shmem_state.node, remote, &value), 0);
    assert_int_equal(value, 1);
    assert_false(shmem_remote_of(&constant, sizeof constant, 0, &remote));
    assert_false(shmem_remote_of(&value, sizeof value, 0, &remote));
    /* The program's address and the group's are two mappings of the same page. */
    const uint64_t *image = shmem_group_address(&variable);
    assert_ptr_not_equal(image, &variable);
    __atomic_store_n(&variable, 99, __ATOMIC_RELAXED);
    assert_int_equal(__atomic_load_n(image, __ATOMIC_RELAXED), 99);
    assert_ptr_equal(shmem_group_address(&value), &value);
}

static void pointers(void **unused)
{
    (void)unused;
    long private_word;
    long *words = shmem_malloc(2 * sizeof *words);
    assert_ptr_equal(shmem_ptr(&words[1], 0), &words[1]);
    assert_ptr_equal(shmem_ptr(&variable, 0), &variable);
    assert_null(shmem_ptr(&private_word, 0));
    assert_null(shmem_ptr(words, 1));
    assert_null(shmem_ptr(words, -1));
    shmem_free(words);
}

static void the_inline_way_reaches_the_same(void **unused)
{
    (void)unused;
    const struct shmem_context *context = &shmem_state.context;
    const struct shmem_peer *peer;
    unsigned char *place;
    long *words = shmem_malloc(2 * sizeof *words);
    assert_true(shmem_reach(context, words, sizeof *words, 0, &peer, &place));
    assert_ptr_equal(place, words);
    assert_int_equal(peer->pe, 0);
    assert_true(shmem_reach_word(context, &variable, 0, &peer, &place));
    assert_ptr_equal(place, &variable);
    assert_false(shmem_reach(context, words, sizeof *words, 1, &peer, &place));
    assert_false(shmem_reach(context, words, SIZE_MAX, 0, &peer, &place));
    assert_false(shmem_reach(context, &peer, 8, 0, &peer, &place));
    assert_false(shmem_reach(&shmem_no_context, words, 8, 0, &peer, &place));
    shmem_free(words);
}

static void words_go_whole(void **unused)
{
    (void)unused;
    uint64_t from = UINT64_C(0x1122334455667788);
    uint64_t to = 0;
    assert_false(shmem_copy_word(&to, &from, 2));
    assert_int_equal(to, 0);
    assert_true(shmem_copy_word(&to, &from, 4));
    assert_int_equal(to, 0x55667788);
    assert_true(shmem_copy_word(&to, &from, 8));
    assert_int_equal(to, from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_within_one_segment),
        cmocka_unit_test(static_variables),
        cmocka_unit_test(pointers),
        cmocka_unit_test(the_inline_way_reaches_the_same),
        cmocka_unit_test(words_go_whole),
    };
    return cmocka_run_group_tests(tests, pe_group_start, pe_group_stop);
}
