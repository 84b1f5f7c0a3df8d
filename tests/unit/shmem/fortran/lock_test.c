/* Fortran: locks of 32 bits, side by side; numbers that go round; mistakes. */
#include "unit/shmem/pe.h"

void shmem_set_lock_(uint32_t *lock);
void shmem_clear_lock_(uint32_t *lock);
int shmem_test_lock_(uint32_t *lock);
void shmem_init_(void);
void shmem_finalize_(void);

static uint32_t locks[4];

static void a_lock_is_held_and_given(void **unused)
{
    (void)unused;
    memset(locks, 0, sizeof locks);
    shmem_set_lock_(&locks[1]);
    assert_int_equal(shmem_test_lock_(&locks[1]), 1);
    assert_int_equal(shmem_test_lock_(&locks[2]), 0);
    shmem_clear_lock_(&locks[1]);
    assert_int_equal(shmem_test_lock_(&locks[1]), 0);
    shmem_clear_lock_(&locks[1]);
    shmem_clear_lock_(&locks[2]);
    assert_true(locks[0] == 0 && locks[3] == 0);
}

static void tickets_go_round(void **unused)
{
    (void)unused;
    locks[0] = UINT32_C(0xfffefffe);
    for (int i = 0; i < 5; i++) {
        shmem_set_lock_(&locks[0]);
        assert_int_equal(shmem_test_lock_(&locks[0]), 1);
        shmem_clear_lock_(&locks[0]);
    }
    assert_int_equal(locks[0], 0x00030003);
}

static void give_what_is_not_held(void)
{
    pe_start();
    shmem_clear_lock_(&locks[0]);
}

static void give_twice(void)
{
    pe_start();
    shmem_set_lock_(&locks[0]);
    shmem_clear_lock_(&locks[0]);
    shmem_clear_lock_(&locks[0]);
}

static void take_twice(void)
{
    pe_start();
    shmem_set_lock_(&locks[0]);
    shmem_set_lock_(&locks[0]);
}

static void take_a_private_one(void)
{
    uint32_t lock = 0;
    pe_start();
    shmem_set_lock_(&lock);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(give_what_is_not_held, "PE 0: SHMEM_CLEAR_LOCK: this PE does not hold");
    unit_child_fails(give_twice, "PE 0: SHMEM_CLEAR_LOCK: this PE does not hold");
    unit_child_fails(take_twice, "PE 0: SHMEM_SET_LOCK: this PE holds the lock");
    unit_child_fails(take_a_private_one, "is not symmetric");
}

static void end_with_a_lock(void)
{
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    shmem_init_();
    shmem_set_lock_(&locks[0]);
    shmem_finalize_();
    shmem_init_();
    locks[0] = 0;
    shmem_set_lock_(&locks[0]);
    shmem_finalize_();
}

static void the_next_life_holds_nothing(void **unused)
{
    (void)unused;
    unit_child_passes(end_with_a_lock);
}

int main(void)
{
    const struct CMUnitTest ending[] = {
        cmocka_unit_test(mistakes_end_the_job),
        cmocka_unit_test(the_next_life_holds_nothing),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_is_held_and_given),
        cmocka_unit_test(tickets_go_round),
    };
    return PE_RUN(ending, tests);
}
