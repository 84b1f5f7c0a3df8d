/* Conditions among the threads of a node: one thread is woken, or all; none may wait
 * without holding the variable. */
#include "fagus/look.h"
#include "fagus/sync.h"
#include "unit/fagus/node.h"

enum { WAITERS = 4 };

static struct fagus_sync *variable;
static struct fagus_condition *condition;
static int entered; /* waiters that were in the queue, or about to be */
static _Atomic int wakes;
static uint64_t *turns; /* how many may go on; bound to sync */

static int make(void **unused)
{
    (void)unused;
    entered = 0;
    wakes = 0;
    turns = (uint64_t *)(void *)node_alloc(4096);
    return fagus_sync_create(&variable) || fagus_bind(variable, turns, sizeof *turns) ||
           fagus_condition_create(&condition);
}

static int end(void **unused)
{
    (void)unused;
    return fagus_condition_free(condition) || fagus_sync_free(variable) || fagus_free(turns);
}

static void *wait_for_a_turn(void *unused)
{
    unit_expect(fagus_acquire(variable, FAGUS_WRITE) == 0);
    __atomic_fetch_add(&entered, 1, __ATOMIC_RELAXED); /* while it holds the variable */
    while (*turns == 0) {
        unit_expect(fagus_condition_wait(condition, variable) == 0);
        atomic_fetch_add(&wakes, 1);
    }
    --*turns;
    unit_expect(fagus_release(variable) == 0);
    return unused;
}

static void give_turns(uint64_t count)
{
    assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
    *turns += count;
    assert_int_equal(fagus_release(variable), 0);
}

/* All waiters are in the queue once all have counted themselves and the variable can be had. */
static void wait_for_waiters(void)
{
    int count;
    do {
        assert_int_equal(fagus_acquire(variable, FAGUS_WRITE), 0);
        count = __atomic_load_n(&entered, __ATOMIC_RELAXED);
        assert_int_equal(fagus_release(variable), 0);
        fagus_nap(UNIT_MS);
    } while (count < WAITERS);
}

static void signals_and_broadcasts(void **unused)
{
    (void)unused;
    struct fagus_thread *threads[WAITERS];
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(fagus_thread_create(&threads[i], wait_for_a_turn, NULL), 0);
    }
    wait_for_waiters();
    /* One is woken, finds no turn and waits again; the others sleep on. */
    assert_int_equal(fagus_condition_signal(condition), 0);
    while (atomic_load(&wakes) == 0) {
        fagus_nap(UNIT_MS);
    }
    fagus_nap(20 * UNIT_MS);
    assert_int_equal(atomic_load(&wakes), 1);
    give_turns(1);
    assert_int_equal(fagus_condition_signal(condition), 0);
    give_turns(WAITERS - 1);
    /* A thread that comes to wait after this finds a turn. */
    assert_int_equal(fagus_condition_broadcast(condition), 0);
    for (int i = 0; i < WAITERS; i++) {
        assert_int_equal(fagus_thread_join(threads[i], NULL), 0);
    }
    unit_assert_no_faults();
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), 0);
    assert_int_equal(*turns, 0);
    assert_int_equal(fagus_release(variable), 0);
}

static void nobody_waits_without_holding(void **unused)
{
    (void)unused;
    assert_int_equal(fagus_condition_wait(condition, variable), FAGUS_ENOTHELD);
    assert_int_equal(fagus_acquire(variable, FAGUS_READ), 0);
    assert_int_equal(fagus_condition_wait(condition, variable), FAGUS_ENOTHELD);
    assert_int_equal(fagus_release(variable), 0);
    assert_int_equal(fagus_condition_signal(condition), 0); /* nobody waits */
}

static void one_that_is_freed(void **unused)
{
    (void)unused;
    struct fagus_condition *other;
    assert_int_equal(fagus_condition_create(&other), 0);
    assert_int_equal(fagus_condition_free(other), 0);
    assert_int_equal(fagus_condition_free(other), FAGUS_EINVAL);
    assert_int_equal(fagus_condition_signal(other), FAGUS_EINVAL);
    assert_int_equal(fagus_condition_create(NULL), FAGUS_EINVAL);
    assert_int_equal(fagus_condition_free(NULL), FAGUS_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(signals_and_broadcasts, make, end),
        cmocka_unit_test_setup_teardown(nobody_waits_without_holding, make, end),
        cmocka_unit_test_setup_teardown(one_that_is_freed, make, end),
    };
    return NODE_RUN(tests);
}
