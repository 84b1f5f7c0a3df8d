/* Variables: made, named, counted, freed. */
#include "fagus/sync.h"

#include "unit/fagus/node.h"

static void count_one(struct fagus_sync *sync, void *context)
{
    (void)sync;
    ++*(int *)context;
}

static int open_count(void)
{
    int count = 0;
    fagus_sync_each(count_one, &count);
    return count;
}

static void made_and_freed(void **unused)
{
    (void)unused;
    struct fagus_sync *syncs[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fagus_sync_create(&syncs[i]), 0);
        assert_int_equal(syncs[i]->number - syncs[0]->number, i);
        assert_int_equal(syncs[i]->manager, 0);
        assert_ptr_equal(syncs[i]->reached, syncs[i]->own);
        assert_int_equal(syncs[i]->version, FAGUS_VERSION_NONE);
    }
    assert_int_equal(open_count(), 3);
    assert_int_equal(fagus_sync_free(syncs[1]), 0);
    assert_int_equal(fagus_sync_free(syncs[1]), FAGUS_EINVAL);
    assert_int_equal(fagus_acquire(syncs[1], FAGUS_READ), FAGUS_EINVAL);
    assert_int_equal(open_count(), 2);
    assert_int_equal(fagus_sync_free(syncs[0]), 0);
    assert_int_equal(fagus_sync_free(syncs[2]), 0);
    assert_int_equal(open_count(), 0);
    assert_int_equal(fagus_sync_create(NULL), FAGUS_EINVAL);
}

static void one_that_is_held_stays(void **unused)
{
    (void)unused;
    struct fagus_sync *sync;
    assert_int_equal(fagus_sync_create(&sync), 0);
    assert_int_equal(fagus_acquire(sync, FAGUS_WRITE), 0);
    assert_int_equal(fagus_sync_free(sync), FAGUS_EBUSY);
    assert_int_equal(fagus_release(sync), 0);
    assert_int_equal(fagus_sync_free(sync), 0);
}

static void names(void **unused)
{
    (void)unused;
    struct fagus_sync *sync;
    char name[2 * FAGUS_NAME_BYTES];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(fagus_sync_create(&sync), 0);
    assert_int_equal(strncmp(sync->name, "variable ", 9), 0);
    assert_int_equal(fagus_sync_name(sync, name), 0);
    assert_int_equal(strlen(sync->name), FAGUS_NAME_BYTES - 1);
    assert_int_equal(fagus_sync_name(sync, NULL), FAGUS_EINVAL);
    assert_int_equal(fagus_sync_free(sync), 0);
}

static void counts(void **unused)
{
    (void)unused;
    struct fagus_sync *one;
    struct fagus_sync *other;
    struct fagus_stats stats;
    assert_int_equal(fagus_sync_create(&one), 0);
    assert_int_equal(fagus_sync_create(&other), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fagus_acquire(one, FAGUS_WRITE), 0);
        assert_int_equal(fagus_release(one), 0);
    }
    assert_int_equal(fagus_acquire(other, FAGUS_READ), 0);
    assert_int_equal(fagus_release(other), 0);
    assert_int_equal(fagus_stats(one, &stats), 0);
    assert_int_equal(stats.acquires, 3);
    assert_int_equal(stats.hops, 0); /* everything is at hand */
    assert_int_equal(fagus_stats(NULL, &stats), 0);
    assert_int_equal(stats.acquires, 4);
    assert_int_equal(fagus_stats(one, NULL), FAGUS_EINVAL);
    assert_int_equal(fagus_sync_free(one), 0);
    assert_int_equal(fagus_sync_free(other), 0);
    assert_int_equal(fagus_stats(one, &stats), FAGUS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_and_freed),
        cmocka_unit_test(one_that_is_held_stays),
        cmocka_unit_test(names),
        cmocka_unit_test(counts),
    };
    return NODE_RUN(tests);
}
