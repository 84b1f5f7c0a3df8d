/* The record in place: pieces, readers, and a writer who waits for them. tests/live/fagus tests on
 * a packet fabric how it travels with the lock. */
#include "fagus/sync.h"
#include "unit/fagus/node.h"

static struct fagus_sync *variable;

static int make(void **unused)
{
    (void)unused;
    return fagus_sync_create(&variable);
}

static int end(void **unused)
{
    (void)unused;
    return fagus_sync_free(variable);
}

static void pieces(void **unused)
{
    (void)unused;
    struct fagus_record copy;
    uint64_t head = UINT64_C(7) << FAGUS_HEAD_VERSION_SHIFT;
    const unsigned char data[3] = {1, 2, 3};
    assert_ptr_equal(fagus_record_look(variable, &copy, FAGUS_LOOK_DATA), variable->own);
    assert_int_equal(fagus_record_write(variable, &variable->own->head, &head, sizeof head), 0);
    assert_int_equal(fagus_record_write(variable, &variable->own->data[1][5], data, sizeof data),
                     0);
    assert_int_equal(fagus_record_settle(variable), 0);
    assert_int_equal(fagus_head_version(atomic_load(&variable->own->head)), 7);
    assert_memory_equal(&variable->own->data[1][5], data, sizeof data);
    head = 0;
    assert_int_equal(fagus_record_write(variable, &variable->own->head, &head, sizeof head), 0);
}

static void heads(void **unused)
{
    (void)unused;
    uint64_t head = UINT64_C(9) << FAGUS_HEAD_VERSION_SHIFT | FAGUS_HEAD_SLOT | 0xabc;
    assert_int_equal(fagus_head_version(head), 9);
    assert_int_equal(fagus_head_owner(head), 0xabc);
    assert_int_equal(fagus_head_slot(head), 1);
    assert_int_equal(fagus_head_slot(head & ~FAGUS_HEAD_SLOT), 0);
}

static void readers_come_and_go(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_readers_wait(variable, 0), 0);
    assert_int_equal(fagus_readers_enter(variable), 0);
    assert_int_equal(atomic_load(&variable->own->readers) & FAGUS_READERS_BITS, 1);
    uint64_t deadline_ns = inner_now_ns() + 20 * UNIT_MS;
    assert_int_equal(fagus_readers_wait(variable, deadline_ns), FAGUS_ETIMEOUT);
    assert_true(inner_now_ns() >= deadline_ns);
    /* The writer has left its rank, and the last reader to leave wakes it. */
    assert_int_equal(atomic_load(&variable->own->readers) >> FAGUS_READERS_PER_WORD, 1);
    uint64_t wakes = atomic_load(&variable->own->wake);
    assert_int_equal(fagus_readers_leave(variable), 0);
    assert_int_equal(dn_quiet(fagus_lane()), 0);
    assert_int_equal(atomic_load(&variable->own->wake), wakes + 1);
    assert_int_equal(fagus_readers_wait(variable, 0), 0);
}

static void *leave_later(void *unused)
{
    struct timespec nap = {.tv_nsec = 20000000};
    (void)nanosleep(&nap, NULL);
    unit_expect(fagus_readers_leave(variable) == 0);
    return unused;
}

static void a_writer_is_woken(void **unused)
{
    (void)unused;
    struct fagus_thread *thread;
    assert_int_equal(fagus_readers_enter(variable), 0);
    assert_int_equal(fagus_thread_create(&thread, leave_later, NULL), 0);
    assert_int_equal(fagus_readers_wait(variable, inner_now_ns() + UNIT_PATIENCE_NS), 0);
    assert_int_equal(fagus_thread_join(thread, NULL), 0);
    unit_assert_no_faults();
}

static void alone_with_it(void **unused)
{
    (void)unused;
    struct fagus_locker *locker;
    assert_int_equal(fagus_record_lock(variable, &locker), 0);
    assert_ptr_equal(locker, &variable->locker);
    assert_false(locker->carries_value);
    assert_int_equal(fagus_acquire_try(variable, FAGUS_WRITE), FAGUS_EBUSY);
    assert_int_equal(fagus_record_unlock(variable, locker), 0);
    assert_int_equal(fagus_acquire_try(variable, FAGUS_WRITE), 0);
    assert_int_equal(fagus_release(variable), 0);
}

/* Bits of ranks that are none, written over the word, keep no writer waiting. */
static void readers_that_are_none(void **unused)
{
    (void)unused;
    static const uint64_t words[] = {UINT64_C(2), FAGUS_READERS_BITS & ~UINT64_C(1),
                                     UINT64_C(1) << (FAGUS_READERS_PER_WORD - 1)};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        atomic_store(&variable->own->readers, words[i]);
        assert_int_equal(fagus_acquire_timed(variable, FAGUS_WRITE, UNIT_PATIENCE_NS), 0);
        assert_int_equal(fagus_release(variable), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces, make, end),
        cmocka_unit_test_setup_teardown(heads, make, end),
        cmocka_unit_test_setup_teardown(readers_come_and_go, make, end),
        cmocka_unit_test_setup_teardown(a_writer_is_woken, make, end),
        cmocka_unit_test_setup_teardown(alone_with_it, make, end),
        cmocka_unit_test_setup_teardown(readers_that_are_none, make, end),
    };
    return NODE_RUN(tests);
}
