/* Who holds a variable: one writer alone, or readers together; threads hold for themselves. */
#include "fagus/sync.h"

#include "unit/fagus/node.h"

static struct fagus_sync *variable;
static uint64_t *counter; /* bound to it */

static int make(void **unused)
{
    (void)unused;
    counter = (uint64_t *)(void *)node_alloc(4096);
    return fagus_sync_create(&variable) || fagus_bind(variable, counter, sizeof *counter);
}

static int end(void **unused)
{
    (void)unused;
    return fagus_sync_free(variable) || fagus_free(counter);
}

static void *try_to_write(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)fagus_acquire_try(variable, FAGUS_WRITE);
}

static void *try_to_read(void *unused)
{
    (void)unused;
    int error = fagus_acquire_try(variable, FAGUS_READ);
    return (void *)(intptr_t)(error ? error : fagus_release(variable));
}

static void *write_in_time(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)fagus_acquire_timed(variable, FAGUS_WRITE, 10 * UNIT_MS);
}

static void *release_it(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)fagus_release(variable);
}

/* What the call gives in a thread of its own. */
static int in_thread(void *(*call)(void *))
{
    struct fagus_thread *thread;
    void *result;
    assert_int_equal(fagus_thread_create(&thread, call, NULL), 0);
    assert_int_equal(fagus_thread_join(thread, &result), 0);
    return (int)(intptr_t)result;
}

static void a_writer_is_alone(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
    assert_true(fagus_sync_is_held(variable));
    assert_int_equal(fagus_sync_check_writer(variable), 0);
    assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), FAGUS_EHELD);
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), FAGUS_EHELD);
    assert_int_equal(in_thread(try_to_write), FAGUS_EBUSY);
    assert_int_equal(in_thread(try_to_read), FAGUS_EBUSY);
    assert_int_equal(in_thread(write_in_time), FAGUS_ETIMEOUT);
    assert_int_equal(in_thread(release_it), FAGUS_ENOTHELD);
    assert_int_equal(fagus_release(variable), 0);
    assert_int_equal(fagus_release(variable), FAGUS_ENOTHELD);
    assert_false(fagus_sync_is_held(variable));
    assert_int_equal(fagus_sync_check_writer(variable), FAGUS_ENOTHELD);
}

static void readers_share(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), 0);
    assert_true(fagus_sync_is_held(variable));
    assert_int_equal(fagus_sync_check_writer(variable), FAGUS_ENOTHELD);
    assert_int_equal(in_thread(try_to_read), 0);
    assert_int_equal(in_thread(try_to_write), FAGUS_EBUSY);
    assert_int_equal(in_thread(release_it), FAGUS_ENOTHELD);
    assert_int_equal(fagus_release(variable), 0);
    assert_int_equal(in_thread(try_to_read), 0);
}

static void modes_that_are_none(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_acquire(variable, (enum fagus_mode)0), FAGUS_EINVAL);
    assert_int_equal(fagus_acquire(variable, (enum fagus_mode)3), FAGUS_EINVAL);
    assert_int_equal(fagus_acquire(NULL, FAGUS_READ), FAGUS_EINVAL);
    assert_int_equal(fagus_release(NULL), FAGUS_EINVAL);
}

static void add(uint32_t number, void *unused)
{
    (void)unused;
    for (int i = 0; i < 500; i++) {
        unit_expect(fagus_acquire(variable, FAGUS_WRITE) == 0);
        ++*counter;
        unit_expect(fagus_release(variable) == 0);
        if (number == 0) {
            unit_expect(fagus_acquire(variable, FAGUS_READ) == 0);
            unit_expect(fagus_release(variable) == 0);
        }
    }
}

static void threads_exclude_each_other(void **unused)
{
    (void)unused;
    unit_run_threads(4, add, NULL);
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), 0);
    assert_int_equal(*counter, 2000);
    assert_int_equal(fagus_release(variable), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_writer_is_alone, make, end),
        cmocka_unit_test_setup_teardown(readers_share, make, end),
        cmocka_unit_test_setup_teardown(modes_that_are_none, make, end),
        cmocka_unit_test_setup_teardown(threads_exclude_each_other, make, end),
    };
    return NODE_RUN(tests);
}
