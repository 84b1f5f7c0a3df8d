/* Bindings: together before the first acquire, by the holder afterwards; short and long lists. */
#include "fagus/sync.h"

#include "unit/fagus/node.h"

enum { PAGE = 4096, MANY = 3 * FAGUS_RANGES_IN_RECORD };

static unsigned char *bytes;
static struct fagus_sync *variable;

static int make(void **unused)
{
    (void)unused;
    bytes = node_alloc(16 * PAGE);
    return fagus_sync_create(&variable);
}

static int end(void **unused)
{
    (void)unused;
    return fagus_sync_free(variable) || fagus_free(bytes);
}

static void ranges_are_added(void **unused)
{
    (void)unused;
    uint64_t offset;
    assert_int_equal(fagus_bind(variable, bytes, 10), 0);
    assert_int_equal(fagus_bind(variable, bytes + 100, 20), 0);
    assert_int_equal(variable->range_count, 2);
    assert_int_equal(fagus_total_bytes(variable), 30);
    assert_int_equal(fagus_offset_of(bytes, 1, &offset), 0);
    assert_true(fagus_is_bound(offset + 119, 1));
    assert_false(fagus_is_bound(offset + 10, 90));
    assert_int_equal(fagus_free(bytes), FAGUS_EBUSY);
    assert_int_equal(fagus_unbind(variable, bytes), 0);
    assert_int_equal(fagus_total_bytes(variable), 20);
    assert_false(fagus_is_bound(offset, 10));
}

static void mistakes(void **unused)
{
    (void)unused;
    struct fagus_sync *other;
    int private_number;
    assert_int_equal(fagus_sync_create(&other), 0);
    assert_int_equal(fagus_bind(variable, bytes, 100), 0);
    assert_int_equal(fagus_bind(variable, &private_number, 4), FAGUS_ERANGE);
    assert_int_equal(fagus_bind(variable, bytes + 16 * PAGE - 1, 2), FAGUS_ERANGE);
    assert_int_equal(fagus_bind(variable, bytes + 200, 0), FAGUS_EINVAL);
    assert_int_equal(fagus_bind(variable, bytes + 99, 2), FAGUS_EOVERLAP);
    assert_int_equal(fagus_bind(other, bytes + 99, 2), FAGUS_EOVERLAP);
    assert_int_equal(fagus_unbind(variable, bytes + 1), FAGUS_ERANGE);
    const struct fagus_range crossing[] = {{bytes + 200, 10}, {bytes + 205, 10}};
    assert_int_equal(fagus_rebind(variable, crossing, 2), FAGUS_EOVERLAP);
    assert_int_equal(fagus_total_bytes(variable), 100);
    assert_int_equal(fagus_sync_free(other), 0);
}

static void later_the_holder_binds(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_bind(variable, bytes, 100), 0);
    assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
    bytes[0] = 1;
    const struct fagus_range moved[] = {{bytes + 50, 100}};
    assert_int_equal(fagus_rebind(variable, moved, 1), 0);
    bytes[149] = 2;
    assert_int_equal(fagus_release(variable), 0);
    assert_int_equal(fagus_bind(variable, bytes + 1000, 1), FAGUS_ENOTHELD);
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), 0);
    assert_int_equal(bytes[149], 2);
    assert_int_equal(fagus_bind(variable, bytes + 1000, 1), FAGUS_ENOTHELD);
    assert_int_equal(fagus_release(variable), 0);
    assert_int_equal(fagus_total_bytes(variable), 100);
}

/* Longer than the record has room for: they lie in the pool. */
static void long_lists(void **unused)
{
    (void)unused;
    struct fagus_range ranges[MANY];
    for (size_t i = 0; i < MANY; i++) {
        ranges[i] = (struct fagus_range){bytes + 1000 * i, i + 1};
    }
    assert_int_equal(fagus_rebind(variable, ranges, MANY), 0);
    assert_int_equal(variable->range_count, MANY);
    assert_int_equal(fagus_total_bytes(variable), MANY * (MANY + 1) / 2);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
        for (size_t i = 0; i < MANY; i++) {
            bytes[1000 * i + i] = (unsigned char)(round + 1);
        }
        ranges[0].bytes = (size_t)(round + 1) * 10;
        assert_int_equal(fagus_rebind(variable, ranges, MANY), 0);
        assert_int_equal(fagus_release(variable), 0);
    }
    assert_int_equal(fagus_total_bytes(variable), MANY * (MANY + 1) / 2 - 1 + 30);
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(bytes[1000 * i + i], 3);
    }
    assert_int_equal(fagus_release(variable), 0);
}

/* The record of a binding is any node's to write. */
static void a_binding_that_makes_no_sense_is_refused(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_bind(variable, bytes, 10), 0);
    struct fagus_binding *binding = &variable->own->binding[0];
    uint64_t end = fagus_state.bytes;
    const struct fagus_binding bad[] = {
        {.count = UINT64_MAX},
        {.count = 1, .rank = 1, .ranges = {{0, 8}}},
        {.count = 1, .rank = UINT64_MAX, .ranges = {{0, 8}}},
        {.count = 1, .ranges = {{end, 1}}},
        {.count = 1, .ranges = {{0, end + 1}}},
        {.count = 1, .ranges = {{UINT64_MAX - 7, 8}}},
        {.count = 1, .ranges = {{0, 0}}},
        {.count = 100, .place = end},
        {.count = 100, .place = UINT64_MAX - 64},
        {.count = 100, .place = UINT64_C(1) << 62},
        {.count = 100, .place = end - 1599},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        variable->head = 0;
        *binding = bad[i];
        assert_int_equal(fagus_binding_learn(variable, variable->own), FAGUS_EPEER);
        assert_int_equal(fagus_total_bytes(variable), 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ranges_are_added, make, end),
        cmocka_unit_test_setup_teardown(mistakes, make, end),
        cmocka_unit_test_setup_teardown(later_the_holder_binds, make, end),
        cmocka_unit_test_setup_teardown(long_lists, make, end),
        cmocka_unit_test_setup_teardown(a_binding_that_makes_no_sense_is_refused, make, end),
    };
    return NODE_RUN(tests);
}
