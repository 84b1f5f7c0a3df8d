/* The table of locks: held, tried, given, many at once; mistakes that end the job. */
#include "shmem/state.h"

#include "unit/shmem/pe.h"

static long lock;

static void give_what_is_not_held(void)
{
    pe_start();
    shmem_clear_lock(&lock);
}

static void take_twice(void)
{
    pe_start();
    shmem_set_lock(&lock);
    shmem_set_lock(&lock);
}

static void take_a_private_one(void)
{
    long private_lock = 0;
    pe_start();
    shmem_set_lock(&private_lock);
}

static void take_a_crooked_one(void)
{
    static long two[2];
    pe_start();
    shmem_set_lock((long *)(void *)((unsigned char *)two + 4));
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(give_what_is_not_held, "this PE does not hold the lock");
    unit_child_fails(take_twice, "this PE holds the lock");
    unit_child_fails(take_a_private_one, "is not symmetric: use a static variable");
    unit_child_fails(take_a_crooked_one, "is not symmetric: use a static variable");
}

static void held_and_tried(void **unused)
{
    (void)unused;
    assert_int_equal(shmem_test_lock(&lock), 0);
    assert_int_equal(shmem_test_lock(&lock), 1);
    shmem_clear_lock(&lock);
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    assert_int_equal(shmem_test_lock(&lock), 0);
    shmem_clear_lock(&lock);
}

/* The table grows several times, and every entry stays findable. */
static void many_locks(void **unused)
{
    (void)unused;
    enum { LOCKS = 500 };
    long *locks = shmem_calloc(LOCKS, sizeof *locks);
    assert_non_null(locks);
    for (int i = 0; i < LOCKS; i++) {
        shmem_set_lock(&locks[i]);
    }
    for (int i = 0; i < LOCKS; i++) {
        assert_int_equal(shmem_test_lock(&locks[i]), 1);
    }
    for (int i = LOCKS; i-- > 0;) {
        shmem_clear_lock(&locks[i]);
        assert_int_equal(shmem_test_lock(&locks[i]), 0);
        shmem_clear_lock(&locks[i]);
    }
    shmem_free(locks);
}

/* More locks than handles: those that are not in use are closed. */
static void more_locks_than_handles(void **unused)
{
    (void)unused;
    enum { LOCKS = 20000 };
    long *locks = shmem_calloc(LOCKS, sizeof *locks);
    assert_non_null(locks);
    for (int i = 0; i < LOCKS; i++) {
        shmem_set_lock(&locks[i]);
        shmem_clear_lock(&locks[i]);
    }
    shmem_free(locks);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_and_tried),
        cmocka_unit_test(many_locks),
        cmocka_unit_test(more_locks_than_handles),
    };
    return PE_RUN(ending, tests);
}
