/* What each thread has of its own: a lane, its fetches, the deaths it knows. */
#include "unit/fagus/node.h"

static void *tell_lane(void *unused)
{
    (void)unused;
    struct dn_node *lane = fagus_lane();
    return lane == fagus_lane() ? lane : NULL; /* the same each time */
}

static void threads_have_lanes_of_their_own(void **unused)
{
    (void)unused;
    struct fagus_thread *thread;
    void *lane;
    assert_ptr_equal(fagus_lane(), fagus_state.node);
    assert_int_equal(fagus_thread_create(&thread, tell_lane, NULL), 0);
    assert_int_equal(fagus_thread_join(thread, &lane), 0);
    assert_non_null(lane);
    assert_ptr_not_equal(lane, fagus_state.node);
}

/* More fetches than can be under way at a time. */
static void fetch_all(void)
{
    enum { PIECES = 200, BYTES = 24 };
    unsigned char *pool = fagus_pool_alloc(PIECES * BYTES);
    unsigned char into[PIECES][BYTES];
    for (size_t i = 0; i < PIECES; i++) {
        memset(pool + i * BYTES, (int)i, BYTES);
    }
    uint64_t place = fagus_place_of(pool);
    memset(into, 0xff, sizeof into);
    for (size_t i = 0; i < PIECES; i++) {
        assert_int_equal(fagus_fetch_begin(0, place + i * BYTES, into[i], BYTES), 0);
    }
    assert_int_equal(fagus_fetch_wait(), 0);
    for (size_t i = 0; i < PIECES; i++) {
        assert_true(into[i][0] == i && into[i][BYTES - 1] == i);
    }
    unsigned char one = 0;
    assert_int_equal(fagus_fetch(0, place + 5 * BYTES, &one, 1), 0);
    assert_int_equal(one, 5);
    assert_int_equal(fagus_fetch_wait(), 0); /* nothing was begun */
    fagus_pool_free(pool);
}

static void fetches(void **unused)
{
    (void)unused;
    fetch_all();
}

static void nobody_has_died(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_death_news(), 0);
    assert_false(fagus_is_gone(0));
}

/* What others tell leads nowhere else. */
static void fetches_outside_are_refused(void **unused)
{
    (void)unused;
    unsigned char into[64];
    uint64_t end = fagus_state.bytes;
    const struct {
        int rank;
        uint64_t offset;
        size_t bytes;
    } cases[] = {
        {0, end, 1},
        {0, end - 63, 64},
        {0, UINT64_MAX, 1},
        {0, UINT64_MAX - 31, 64},
        {0, UINT64_C(1) << 63, 64},
        {0, 0, end + 1},
        {0, 64, SIZE_MAX - 32},
        {1, 0, 1},
        {-1, 0, 1},
        {4095, 0, 64},
        {INT32_MIN, 0, 64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(fagus_fetch(cases[i].rank, cases[i].offset, into, cases[i].bytes),
                         FAGUS_EPEER);
    }
    assert_int_equal(fagus_fetch(0, end - sizeof into, into, sizeof into), 0);
    assert_int_equal(fagus_fetch(0, end, into, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_lanes_of_their_own),
        cmocka_unit_test(fetches),
        cmocka_unit_test(fetches_outside_are_refused),
        cmocka_unit_test(nobody_has_died),
    };
    return NODE_RUN(tests);
}
