/* Barriers: all nodes' writes become a version. tests/live/fagus/fagus_barrier.sh tests the merging
 * of what several nodes wrote. */
#include "fagus/sync.h"
#include "unit/fagus/node.h"

/* The source itself, for what a node makes of the others' words. */
int fagus_barrier_here(struct fagus_sync *sync);
#define fagus_barrier fagus_barrier_here
#include "fagus/barrier.c"
#undef fagus_barrier

static void without_a_variable(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_barrier(NULL), 0);
    assert_int_equal(comm_sync(), 0);
}

static void a_barrier_makes_a_version(void **unused)
{
    (void)unused;
    struct fagus_sync *sync;
    unsigned char *bytes = node_alloc(4096);
    assert_int_equal(fagus_sync_create(&sync), 0);
    assert_int_equal(fagus_bind(sync, bytes, 100), 0);
    for (unsigned round = 1; round <= 3; round++) {
        bytes[round] = (unsigned char)round; /* nobody acquires it */
        assert_int_equal(fagus_barrier(sync), 0);
        assert_true(sync->has_barriers);
        if (!fagus_state.is_shared) {
            assert_int_equal(sync->version, round);
            assert_int_equal(fagus_head_version(sync->own->head), round);
        }
    }
    assert_true(bytes[1] == 1 && bytes[2] == 2 && bytes[3] == 3 && bytes[4] == 0);
    /* The record has what was written. */
    if (!fagus_state.is_shared) {
        assert_int_equal(sync->own->data[3 & 1][3], 3);
    }
    assert_int_equal(fagus_sync_free(sync), 0);
    assert_int_equal(fagus_free(bytes), 0);
}

static void who_holds_it_may_not(void **unused)
{
    (void)unused;
    struct fagus_sync *sync;
    unsigned char *bytes = node_alloc(4096);
    assert_int_equal(fagus_sync_create(&sync), 0);
    assert_int_equal(fagus_bind(sync, bytes, 8), 0);
    assert_int_equal(fagus_acquire(sync, FAGUS_WRITE), 0);
    assert_int_equal(fagus_barrier(sync), FAGUS_EHELD);
    assert_int_equal(fagus_release(sync), 0);
    assert_int_equal(fagus_barrier(sync), 0);
    assert_int_equal(fagus_sync_free(sync), 0);
    assert_int_equal(fagus_barrier(sync), FAGUS_EINVAL);
    assert_int_equal(fagus_free(bytes), 0);
}

/* A node tells how long its differences are; their sum is the length of a buffer. */
static void differences_that_make_no_sense(void **unused)
{
    (void)unused;
    struct fagus_sync *sync;
    unsigned char *bytes = node_alloc(4096);
    assert_int_equal(fagus_sync_create(&sync), 0);
    assert_int_equal(fagus_bind(sync, bytes, 100), 0);
    const struct {
        uint64_t place;
        uint64_t length;
    } cases[] = {
        {0, UINT64_MAX},         {0, UINT64_MAX - 4095},
        {0, UINT64_C(1) << 63},  {0, longest_differences(sync) + 1},
        {fagus_state.bytes, 8},  {UINT64_MAX - 3, 8},
        {UINT64_C(1) << 62, 16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arrival told = {.place = cases[i].place, .bytes = cases[i].length};
        int error = 0;
        assert_null(fetch_all(sync, &told, &error));
        assert_int_equal(error, FAGUS_EPEER);
    }
    (void)fagus_barrier_here; /* the library has its own */
    assert_int_equal(fagus_sync_free(sync), 0);
    assert_int_equal(fagus_free(bytes), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_variable),
        cmocka_unit_test(a_barrier_makes_a_version),
        cmocka_unit_test(who_holds_it_may_not),
        cmocka_unit_test(differences_that_make_no_sense),
    };
    return NODE_RUN(tests);
}
