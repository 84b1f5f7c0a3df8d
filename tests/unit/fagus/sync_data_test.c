/* A copy's versions: the twin, differences of all ranges, what a release publishes. Bringing a
 * version from another node is tested by tests/live/fagus/fagus_sync.sh. */
#include "fagus/diff.h"
#include "fagus/sync.h"
#include "unit/fagus/node.h"

static unsigned char *bytes;
static struct fagus_sync *variable;

static int make(void **unused)
{
    (void)unused;
    bytes = node_alloc(1 << 16);
    return fagus_sync_create(&variable) || fagus_bind(variable, bytes + 3, 100) ||
           fagus_bind(variable, bytes + 1000, 50);
}

static int end(void **unused)
{
    (void)unused;
    return fagus_sync_free(variable) || fagus_free(bytes);
}

static void differences_of_all_ranges(void **unused)
{
    (void)unused;
    unsigned char differences[1024];
    uint64_t changed = 0;
    assert_true(fagus_twin_take(variable));
    assert_int_equal(fagus_ranges_diff(variable, differences, sizeof differences, &changed), 0);
    bytes[3] = 1;
    bytes[102] = 2;
    bytes[103] = 9; /* behind the range */
    bytes[1049] = 3;
    uint64_t length = fagus_ranges_diff(variable, differences, sizeof differences, &changed);
    assert_true(length > 0 && length <= sizeof differences);
    assert_true(changed >= 3);
    assert_int_equal(fagus_ranges_diff(variable, differences, 8, &changed), FAGUS_DIFF_TOO_LONG);
    bytes[3] = bytes[102] = bytes[1049] = 0;
    assert_true(fagus_ranges_apply(variable, differences, length));
    assert_true(bytes[3] == 1 && bytes[102] == 2 && bytes[1049] == 3 && bytes[103] == 9);
    /* The twin has them as well: nothing differs any more. */
    assert_int_equal(fagus_ranges_diff(variable, differences, sizeof differences, &changed), 0);
    assert_false(fagus_ranges_apply(variable, differences, 7));
    fagus_twin_drop(variable);
    assert_null(variable->twin);
}

static void ranges_in_a_row(void **unused)
{
    (void)unused;
    unsigned char data[150];
    memset(bytes, 0x11, 103);
    memset(bytes + 1000, 0x22, 50);
    fagus_ranges_gather(variable, data);
    assert_true(data[0] == 0x11 && data[99] == 0x11 && data[100] == 0x22 && data[149] == 0x22);
}

static void a_release_is_a_version(void **unused)
{
    (void)unused;
    for (uint64_t version = 1; version <= 20; version++) {
        assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
        assert_int_equal(atomic_load(&variable->own->version), version << 1 | 1);
        bytes[10] = (unsigned char)version;
        assert_int_equal(fagus_release(variable), 0);
        assert_int_equal(variable->version, version);
        assert_int_equal(fagus_head_version(atomic_load(&variable->own->head)), version);
        assert_int_equal(atomic_load(&variable->own->version), (version + 1) << 1);
        /* Small ranges lie in the record, in the half that the version selects. */
        assert_true(atomic_load(&variable->own->head) & FAGUS_HEAD_INLINE);
        assert_int_equal(variable->own->data[version & 1][7], version);
    }
}

/* Larger ranges leave differences in the log, of the last eight versions. */
static void the_log(void **unused)
{
    (void)unused;
    const struct fagus_range large[] = {{bytes, 8192}};
    assert_int_equal(fagus_rebind(variable, large, 1), 0);
    for (uint64_t version = 1; version <= 12; version++) {
        assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
        bytes[version] = 1;
        assert_int_equal(fagus_release(variable), 0);
    }
    assert_false(atomic_load(&variable->own->head) & FAGUS_HEAD_INLINE);
    for (uint64_t version = 12; version > 12 - 4; version--) {
        const struct fagus_log_entry *entry = &variable->own->log[version % FAGUS_LOG_ENTRIES];
        assert_int_equal(entry->version, version);
        assert_true(entry->bytes > 0 && entry->bytes < 200);
        assert_int_equal(entry->rank, 0);
    }
    assert_int_equal(fagus_data_parts(FAGUS_INLINE_BYTES), FAGUS_LOOK_DATA);
    assert_int_equal(fagus_data_parts(FAGUS_INLINE_BYTES + 1), FAGUS_LOOK_LOG);
}

/* Brings this node's copy, which is said to be one version behind, up to what the record says. */
static int bring_one(void)
{
    variable->head = atomic_load(&variable->own->head);
    variable->version = fagus_head_version(variable->head) - 1;
    return fagus_data_bring(variable, variable->own, false);
}

static void a_log_that_makes_no_sense_is_not_followed(void **unused)
{
    (void)unused;
    const struct fagus_range large[] = {{bytes, 8192}};
    assert_int_equal(fagus_rebind(variable, large, 1), 0);
    for (uint64_t version = 1; version <= 3; version++) {
        assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
        bytes[version] = 1;
        assert_int_equal(fagus_release(variable), 0);
    }
    struct fagus_log_entry *entry = &variable->own->log[3 % FAGUS_LOG_ENTRIES];
    const struct fagus_log_entry good = *entry;
    assert_int_equal(good.version, 3);
    assert_int_equal(bring_one(), 0);
    struct fagus_log_entry bad[] = {good, good, good, good, good, good, good, good};
    bad[0].place = fagus_state.bytes;
    bad[1].place = UINT64_MAX - 8;
    bad[2].place = UINT64_C(1) << 63;
    bad[3].bytes = UINT64_MAX;
    bad[4].bytes = 8191;
    bad[4].place = fagus_state.bytes - 8190;
    bad[5].rank = 1;
    bad[6].rank = UINT64_C(1) << 32;
    bad[7].bytes = good.bytes - 1;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        *entry = bad[i];
        /* Nobody else has it. */
        assert_int_equal(bring_one(), FAGUS_ELOST);
    }
    *entry = good;
    assert_int_equal(bring_one(), 0);
}

static void large_ranges_do_not_lie_in_the_record(void **unused)
{
    (void)unused;
    const struct fagus_range large[] = {{bytes, 8192}};
    assert_int_equal(fagus_rebind(variable, large, 1), 0);
    assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
    bytes[1] = 1;
    assert_int_equal(fagus_release(variable), 0);
    uint64_t head = atomic_load(&variable->own->head);
    atomic_store(&variable->own->head, head | FAGUS_HEAD_INLINE);
    assert_int_equal(bring_one(), FAGUS_EPEER);
    atomic_store(&variable->own->head, head);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(differences_of_all_ranges, make, end),
        cmocka_unit_test_setup_teardown(ranges_in_a_row, make, end),
        cmocka_unit_test_setup_teardown(a_release_is_a_version, make, end),
        cmocka_unit_test_setup_teardown(the_log, make, end),
        cmocka_unit_test_setup_teardown(a_log_that_makes_no_sense_is_not_followed, make, end),
        cmocka_unit_test_setup_teardown(large_ranges_do_not_lie_in_the_record, make, end),
    };
    /* Where memory is shared there are no copies. */
    return cmocka_run_group_tests(tests, node_start_remote, node_stop);
}
