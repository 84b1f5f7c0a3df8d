/* Barriers: all nodes' writes become a version. tests/live/fagus/fagus_barrier.sh tests the merging
 * of what several nodes wrote. */
#include "fagus/sync.h"
#include "unit/fagus/node.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_variable),
        cmocka_unit_test(a_barrier_makes_a_version),
        cmocka_unit_test(who_holds_it_may_not),
    };
    return NODE_RUN(tests);
}
