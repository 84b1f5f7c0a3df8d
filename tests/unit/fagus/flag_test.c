/* Flags: set, added to, read, waited for. */
#include "fagus/look.h"
#include "unit/fagus/node.h"

static struct fagus_flag *flag;

static int make(void **unused)
{
    (void)unused;
    return fagus_flag_create(&flag, 0);
}

static int end(void **unused)
{
    (void)unused;
    return fagus_flag_free(flag);
}

static void values(void **unused)
{
    (void)unused;
    uint64_t value = 9;
    assert_int_equal(fagus_flag_read(flag, &value), 0);
    assert_int_equal(value, 0);
    assert_int_equal(fagus_flag_set(flag, 5), 0);
    assert_int_equal(fagus_flag_add(flag, 2, &value), 0);
    assert_int_equal(value, 5);
    assert_int_equal(fagus_flag_add(flag, 1, NULL), 0);
    assert_int_equal(fagus_flag_read(flag, &value), 0);
    assert_int_equal(value, 8);
}

static void waits_for_at_least(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_flag_set(flag, 5), 0);
    assert_int_equal(fagus_flag_wait(flag, 4, 0), 0);
    assert_int_equal(fagus_flag_wait(flag, 5, FAGUS_FOREVER), 0);
    uint64_t before_ns = unit_now_ns();
    assert_int_equal(fagus_flag_wait(flag, 6, 20 * UNIT_MS), FAGUS_ETIMEOUT);
    assert_true(unit_now_ns() - before_ns >= 19 * UNIT_MS);
}

static void *set_later(void *unused)
{
    fagus_nap(20 * UNIT_MS);
    unit_expect(fagus_flag_set(flag, 77) == 0);
    return unused;
}

static void a_thread_sets_it(void **unused)
{
    (void)unused;
    struct fagus_thread *thread;
    assert_int_equal(fagus_thread_create(&thread, set_later, NULL), 0);
    assert_int_equal(fagus_flag_wait(flag, 77, UNIT_PATIENCE_NS), 0);
    assert_int_equal(fagus_thread_join(thread, NULL), 0);
    unit_assert_no_faults();
}

static void mistakes(void **unused)
{
    (void)unused;
    struct fagus_flag *other = NULL;
    uint64_t value;
    assert_int_equal(fagus_flag_create(&other, 1), FAGUS_EINVAL);
    assert_int_equal(fagus_flag_create(&other, -1), FAGUS_EINVAL);
    assert_null(other);
    assert_int_equal(fagus_flag_create(NULL, 0), FAGUS_EINVAL);
    assert_int_equal(fagus_flag_read(flag, NULL), FAGUS_EINVAL);
    assert_int_equal(fagus_flag_create(&other, 0), 0);
    assert_int_equal(fagus_flag_free(other), 0);
    assert_int_equal(fagus_flag_set(other, 1), FAGUS_EINVAL);
    assert_int_equal(fagus_flag_read(other, &value), FAGUS_EINVAL);
    assert_int_equal(fagus_flag_wait(other, 0, 0), FAGUS_EINVAL);
    assert_int_equal(fagus_flag_free(other), FAGUS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values, make, end),
        cmocka_unit_test_setup_teardown(waits_for_at_least, make, end),
        cmocka_unit_test_setup_teardown(a_thread_sets_it, make, end),
        cmocka_unit_test_setup_teardown(mistakes, make, end),
    };
    return NODE_RUN(tests);
}
