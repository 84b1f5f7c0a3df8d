/* The table of bound ranges against a map of bytes: ranges are found, replaced, taken out,
 * remembered. */
#include "fagus/bound.h"

#include "base/random.h"
#include "unit/unit.h"

enum { SYNCS = 8, RANGES = 4, SPACE = 1024 };

static struct fagus_sync syncs[SYNCS];
static struct fagus_extent lists[SYNCS][RANGES];
static unsigned char owner[SPACE]; /* by byte: number + 1 */

static int clear(void **unused)
{
    (void)unused;
    fagus_bound_close();
    memset(owner, 0, sizeof owner);
    for (int i = 0; i < SYNCS; i++) {
        syncs[i] = (struct fagus_sync){.ranges = lists[i]};
        (void)pthread_mutex_init(&syncs[i].lock, NULL);
    }
    return 0;
}

static void bind_one(int number, uint64_t offset, uint64_t bytes)
{
    syncs[number].range_count = 1;
    lists[number][0] = (struct fagus_extent){offset, bytes};
    assert_true(fagus_bound_enter(&syncs[number]));
}

static void edges(void **unused)
{
    (void)unused;
    struct fagus_bound found;
    bind_one(0, 100, 10);
    assert_false(fagus_bound_find(90, 10, NULL, &found));
    assert_false(fagus_bound_find(110, 10, NULL, &found));
    assert_true(fagus_bound_find(90, 11, NULL, &found));
    assert_ptr_equal(found.sync, &syncs[0]);
    assert_true(found.offset == 100 && found.bytes == 10);
    assert_true(fagus_bound_find(109, 1, NULL, &found));
    assert_false(fagus_bound_find(109, 1, &syncs[0], &found));
    fagus_bound_remove(&syncs[0]);
    assert_false(fagus_bound_find(0, SPACE, NULL, &found));
}

static void a_newer_binding_takes_the_place(void **unused)
{
    (void)unused;
    struct fagus_bound found;
    bind_one(0, 100, 10);
    bind_one(1, 110, 10);
    bind_one(2, 105, 6);
    assert_true(fagus_bound_find(0, SPACE, NULL, &found));
    assert_ptr_equal(found.sync, &syncs[2]);
    assert_false(fagus_bound_find(0, SPACE, &syncs[2], &found));
}

static void what_was_bound_is_remembered(void **unused)
{
    (void)unused;
    bind_one(0, 100, 10);
    assert_false(fagus_bound_was(100, 10));
    fagus_bound_remember(&syncs[0]);
    bind_one(1, 120, 10);
    fagus_bound_remember(&syncs[1]);
    assert_true(fagus_bound_was(0, 101));
    assert_true(fagus_bound_was(109, 5));
    assert_false(fagus_bound_was(110, 10));
    assert_false(fagus_bound_was(0, 100));
    bind_one(2, 110, 10); /* joins the two */
    fagus_bound_remember(&syncs[2]);
    assert_true(fagus_bound_was(115, 1));
    assert_false(fagus_bound_was(130, 100));
}

struct walk {
    uint64_t behind;
    bool is_sorted;
};

static void check_order(const struct fagus_bound *bound, void *context)
{
    struct walk *walk = context;
    walk->is_sorted = walk->is_sorted && bound->offset >= walk->behind;
    walk->behind = bound->offset + bound->bytes;
    int number = (int)(bound->sync - syncs);
    for (uint64_t i = 0; i < bound->bytes; i++) {
        walk->is_sorted = walk->is_sorted && owner[bound->offset + i] == number + 1;
        owner[bound->offset + i] = 0;
    }
}

/* A piece that overlaps is taken out whole. */
static void forget_overlapped(uint64_t offset, uint64_t bytes)
{
    struct fagus_bound found;
    while (fagus_bound_find(offset, bytes, NULL, &found)) {
        memset(owner + found.offset, 0, found.bytes);
        struct fagus_extent piece = {found.offset, found.bytes};
        struct fagus_sync only = {.ranges = &piece, .range_count = 1};
        struct fagus_extent *kept = found.sync->ranges;
        size_t kept_count = found.sync->range_count;
        found.sync->ranges = only.ranges;
        found.sync->range_count = 1;
        fagus_bound_remove(found.sync);
        found.sync->ranges = kept;
        found.sync->range_count = kept_count;
    }
}

static void agrees_with_a_map_of_bytes(void **unused)
{
    (void)unused;
    struct base_random random = {unit_now_ns()};
    print_message("seed %llu\n", (unsigned long long)random.state);
    for (int round = 0; round < 2000; round++) {
        uint64_t offset = base_random_next(&random) % (SPACE - 64);
        uint64_t bytes = base_random_next(&random) % 64 + 1;
        int number = (int)(base_random_next(&random) % SYNCS);
        forget_overlapped(offset, bytes);
        bind_one(number, offset, bytes);
        memset(owner + offset, number + 1, bytes);
        struct walk walk = {0, true};
        unsigned char before[SPACE];
        memcpy(before, owner, sizeof owner);
        fagus_bound_each(0, SPACE, check_order, &walk);
        assert_true(walk.is_sorted);
        for (int i = 0; i < SPACE; i++) {
            assert_int_equal(owner[i], 0); /* every byte was told */
        }
        memcpy(owner, before, sizeof owner);
    }
}

static void a_fault_handler_may_try(void **unused)
{
    (void)unused;
    bind_one(0, 1, 1);
    assert_true(fagus_bound_try_lock());
    assert_false(fagus_bound_try_lock());
    struct walk walk = {0, true};
    owner[1] = 1;
    fagus_bound_each_unlocked(0, SPACE, check_order, &walk);
    assert_int_equal(walk.behind, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(edges, clear),
        cmocka_unit_test_setup(a_newer_binding_takes_the_place, clear),
        cmocka_unit_test_setup(what_was_bound_is_remembered, clear),
        cmocka_unit_test_setup(agrees_with_a_map_of_bytes, clear),
        cmocka_unit_test_setup(a_fault_handler_may_try, clear), /* last: it stays locked */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
