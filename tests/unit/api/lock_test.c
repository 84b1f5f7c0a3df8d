/* Handles on locks: order of calls, contention of two handles, mistakes. */
#include "unit/api/node.h"

static void taken_and_given(void **unused)
{
    (void)unused;
    struct dn_lock *one;
    struct dn_lock *other;
    assert_int_equal(dn_lock_open(node, node_llcm(0), &one), 0);
    assert_int_equal(dn_lock_open(node, node_llcm(0), &other), 0);
    assert_int_equal(dn_lock_give(one), DN_ENOTHELD);
    assert_int_equal(dn_lock_take(one, DN_FOREVER), 0);
    assert_int_equal(dn_lock_try(other), DN_EBUSY);
    assert_int_equal(dn_lock_take(other, 5 * UNIT_MS), DN_ETIMEOUT);
    assert_int_equal(dn_lock_give(other), DN_ENOTHELD);
    assert_int_equal(dn_lock_close(one), DN_EBUSY);
    assert_int_equal(dn_lock_give(one), 0);
    assert_int_equal(dn_lock_try(other), 0);
    assert_int_equal(dn_lock_give(other), 0);
    assert_int_equal(dn_lock_close(one), 0);
    assert_int_equal(dn_lock_close(other), 0);
}

static void mistakes(void **unused)
{
    (void)unused;
    struct dn_lock *lock = NULL;
    struct dn_remote away = {.rank = 9, .area = DN_LLCM};
    assert_int_equal(dn_lock_open(node, node_llcm(4), &lock), DN_EALIGN);
    assert_int_equal(dn_lock_open(node, node_llcm(NODE_LLCM_BYTES), &lock), DN_ERANGE);
    assert_int_equal(dn_lock_open(node, away, &lock), DN_ERANK);
    assert_int_equal(dn_lock_open(node, node_llcm(0), NULL), DN_EINVAL);
    assert_int_equal(dn_lock_open(NULL, node_llcm(0), &lock), DN_EINVAL);
    assert_null(lock);
    assert_int_equal(dn_lock_take(NULL, 0), DN_EINVAL);
    assert_int_equal(dn_lock_try(NULL), DN_EINVAL);
    assert_int_equal(dn_lock_give(NULL), DN_EINVAL);
    assert_int_equal(dn_lock_close(NULL), DN_EINVAL);
    assert_int_equal(dn_lock_open(node, node_llcm(0), &lock), 0);
    assert_int_equal(dn_lock_close(lock), 0);
    assert_int_equal(dn_lock_take(lock, 0), DN_ESTATE);
    assert_int_equal(dn_lock_close(lock), DN_ESTATE);
}

static uint64_t guarded;

static void add(uint32_t number, void *unused)
{
    (void)number;
    (void)unused;
    struct dn_lock *lock;
    unit_expect(dn_lock_open(node, node_llcm(64), &lock) == 0);
    for (int i = 0; i < 1000; i++) {
        unit_expect(dn_lock_take(lock, DN_FOREVER) == 0);
        guarded++;
        unit_expect(dn_lock_give(lock) == 0);
    }
    unit_expect(dn_lock_close(lock) == 0);
}

static void threads_exclude_each_other(void **unused)
{
    (void)unused;
    unit_run_threads(3, add, NULL);
    assert_int_equal(guarded, 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taken_and_given),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(threads_exclude_each_other),
    };
    return cmocka_run_group_tests(tests, node_attach, node_detach);
}
