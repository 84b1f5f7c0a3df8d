/* Shared, control and pool memory: where it lies, to whom it belongs, that it comes as zeros. */
#include "unit/fagus/node.h"

static void allocations_are_found(void **unused)
{
    (void)unused;
    uint64_t offset;
    uint64_t second_offset;
    unsigned char *first = node_alloc(5000);
    unsigned char *second = node_alloc(1);
    assert_int_equal((uintptr_t)first % fagus_state.page_bytes, 0);
    assert_int_equal(fagus_offset_of(first, 5000, &offset), 0);
    assert_ptr_equal(fagus_pointer_at(offset), first);
    assert_int_equal(fagus_offset_of(first + 4999, 1, &second_offset), 0);
    assert_int_equal(second_offset, offset + 4999);
    assert_int_equal(fagus_offset_of(first, 5001, &offset), FAGUS_ERANGE);
    assert_int_equal(fagus_offset_of(first, 0, &offset), FAGUS_ERANGE);
    assert_int_equal(fagus_offset_of(second + 1, 1, &offset), FAGUS_ERANGE);
    assert_int_equal(fagus_offset_of(&offset, 1, &offset), FAGUS_ERANGE);
    assert_int_equal(fagus_free(first + 4096), FAGUS_ERANGE);
    assert_int_equal(fagus_free(first), 0);
    assert_int_equal(fagus_free(first), FAGUS_ERANGE);
    assert_int_equal(fagus_offset_of(second, 1, &offset), 0);
    assert_int_equal(fagus_free(second), 0);
}

static void what_comes_is_zeros(void **unused)
{
    (void)unused;
    enum { BYTES = 3 << 20 }; /* large enough to be given back to the system */
    unsigned char *dirty = node_alloc(BYTES);
    assert_int_equal((uintptr_t)dirty % FAGUS_HUGE_PAGE_BYTES, 0);
    memset(dirty, 0xee, BYTES);
    assert_int_equal(fagus_free(dirty), 0);
    unsigned char *clean = node_alloc(BYTES);
    for (size_t i = 0; i < BYTES; i += 511) {
        assert_int_equal(clean[i], 0);
    }
    assert_int_equal(fagus_free(clean), 0);
}

static void homes(void **unused)
{
    (void)unused;
    static const int placements[] = {0, FAGUS_ROUND_ROBIN, FAGUS_BLOCK, FAGUS_FIRST_TOUCH};
    for (size_t i = 0; i < sizeof placements / sizeof placements[0]; i++) {
        void *pointer;
        assert_int_equal(fagus_alloc(20000, placements[i], &pointer), 0);
        assert_int_equal(fagus_home(pointer), 0);
        assert_int_equal(fagus_home((unsigned char *)pointer + 19999), 0);
        assert_int_equal(fagus_home((unsigned char *)pointer + 20000), FAGUS_ERANGE);
        assert_int_equal(fagus_free(pointer), 0);
    }
}

static void mistakes(void **unused)
{
    (void)unused;
    void *pointer = NULL;
    assert_int_equal(fagus_alloc(0, 0, &pointer), FAGUS_EINVAL);
    assert_int_equal(fagus_alloc(1, 1, &pointer), FAGUS_EINVAL);
    assert_int_equal(fagus_alloc(1, FAGUS_FIRST_TOUCH - 1, &pointer), FAGUS_EINVAL);
    assert_int_equal(fagus_alloc(1, 0, NULL), FAGUS_EINVAL);
    assert_int_equal(fagus_alloc(SIZE_MAX, 0, &pointer), FAGUS_ENOMEM);
    assert_int_equal(fagus_alloc((size_t)1 << 40, 0, &pointer), FAGUS_ENOMEM);
    assert_null(pointer);
}

static void control_memory(void **unused)
{
    (void)unused;
    void *pointer;
    assert_int_equal(fagus_control_alloc(100, &pointer), 0);
    assert_int_equal((uintptr_t)pointer % CACHE_LINE_BYTES, 0);
    uint64_t place = fagus_place_of(pointer);
    struct dn_remote remote = fagus_remote_of(0, pointer);
    assert_true(remote.rank == 0 && remote.area == DN_HEAP && remote.offset == place);
    memset(pointer, 0xee, 100);
    assert_int_equal(fagus_control_free((unsigned char *)pointer + 8), FAGUS_EINVAL);
    assert_int_equal(fagus_control_free(pointer), 0);
    assert_int_equal(fagus_control_alloc(100, &pointer), 0);
    assert_int_equal(fagus_place_of(pointer), place);
    assert_int_equal(*(unsigned char *)pointer, 0);
    assert_int_equal(fagus_control_free(pointer), 0);
}

static void the_pool(void **unused)
{
    (void)unused;
    void *pieces[100];
    for (size_t i = 0; i < 100; i++) {
        pieces[i] = fagus_pool_alloc(1000);
        assert_non_null(pieces[i]);
        memset(pieces[i], (int)i, 1000);
    }
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(((unsigned char *)pieces[i])[999], i);
        fagus_pool_free(pieces[i]);
    }
    assert_null(fagus_pool_alloc(fagus_state.bytes));
    fagus_pool_free(NULL);
}

/* The words that tell first-touch homes: `count` of them in a row that name this node, somewhere in
 * its heap. */
static uint32_t *find_homes(size_t count)
{
    uint32_t *words = (uint32_t *)(void *)fagus_state.heap;
    size_t run = 0;
    for (size_t i = 0; i < fagus_state.bytes / sizeof *words; i++) {
        run = words[i] == (uint32_t)fagus_state.rank + 1 ? run + 1 : 0;
        if (run == count) {
            return &words[i + 1 - count];
        }
    }
    return NULL;
}

static void homes_that_are_none(void **unused)
{
    (void)unused;
    enum { PAGES = 40 };
    static const uint32_t hostile[] = {2, 77, 0x80000000, 0xffffffff};
    void *pointer;
    assert_int_equal(fagus_alloc(PAGES * fagus_state.page_bytes, FAGUS_FIRST_TOUCH, &pointer), 0);
    for (size_t i = 0; i < PAGES; i++) {
        assert_int_equal(fagus_home((unsigned char *)pointer + i * fagus_state.page_bytes), 0);
    }
    uint32_t *words = find_homes(PAGES);
    assert_non_null(words);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        words[0] = hostile[i];
        assert_int_equal(fagus_home(pointer), FAGUS_EPEER);
    }
    words[0] = 1;
    assert_int_equal(fagus_free(pointer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_found),
        cmocka_unit_test(what_comes_is_zeros),
        cmocka_unit_test(homes),
        cmocka_unit_test(homes_that_are_none),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(control_memory),
        cmocka_unit_test(the_pool),
    };
    return NODE_RUN(tests);
}
