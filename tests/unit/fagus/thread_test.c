/* Threads of a node's program: made, joined once, by another. */
#include "unit/fagus/node.h"

static struct fagus_thread *itself;
static int own_join; /* what joining itself gave it; 1: not yet */

static void *give_back(void *argument)
{
    return argument;
}

static void *join_itself(void *unused)
{
    (void)unused;
    struct fagus_thread *me;
    while ((me = __atomic_load_n(&itself, __ATOMIC_ACQUIRE)) == NULL) {
        (void)sched_yield();
    }
    __atomic_store_n(&own_join, fagus_thread_join(me, NULL), __ATOMIC_RELEASE);
    return NULL;
}

static void results_come_back(void **unused)
{
    (void)unused;
    struct fagus_thread *threads[20];
    for (uintptr_t i = 0; i < 20; i++) {
        assert_int_equal(fagus_thread_create(&threads[i], give_back, (void *)i), 0);
    }
    for (uintptr_t i = 0; i < 20; i++) {
        void *result = NULL;
        assert_int_equal(fagus_thread_join(threads[i], &result), 0);
        assert_int_equal((uintptr_t)result, i);
    }
}

static void joined_once_and_by_another(void **unused)
{
    (void)unused;
    struct fagus_thread *thread;
    assert_int_equal(fagus_thread_create(&thread, give_back, NULL), 0);
    assert_int_equal(fagus_thread_join(thread, NULL), 0);
    assert_int_equal(fagus_thread_join(thread, NULL), FAGUS_EINVAL);
    __atomic_store_n(&itself, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&own_join, 1, __ATOMIC_RELAXED);
    assert_int_equal(fagus_thread_create(&thread, join_itself, NULL), 0);
    __atomic_store_n(&itself, thread, __ATOMIC_RELEASE);
    while (__atomic_load_n(&own_join, __ATOMIC_ACQUIRE) == 1) {
        (void)sched_yield();
    }
    assert_int_equal(own_join, FAGUS_EINVAL);
    assert_int_equal(fagus_thread_join(thread, NULL), 0);
    assert_int_equal(fagus_thread_join(NULL, NULL), FAGUS_EINVAL);
}

static void mistakes(void **unused)
{
    (void)unused;
    struct fagus_thread *thread = NULL;
    assert_int_equal(fagus_thread_create(NULL, give_back, NULL), FAGUS_EINVAL);
    assert_int_equal(fagus_thread_create(&thread, NULL, NULL), FAGUS_EINVAL);
    assert_null(thread);
}

static void without_a_group(void **unused)
{
    (void)unused;
    struct fagus_thread *thread = NULL;
    assert_int_equal(fagus_thread_create(&thread, give_back, NULL), FAGUS_ESTATE);
}

int main(void)
{
    const struct CMUnitTest outside[] = {cmocka_unit_test(without_a_group)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_back),
        cmocka_unit_test(joined_once_and_by_another),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(outside, NULL, NULL) + NODE_RUN(tests);
}
