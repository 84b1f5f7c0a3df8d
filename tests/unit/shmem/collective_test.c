/* Collective calls on a team: arguments, and what a team of one gets. */
#include "shmem/collective.h"
#include "unit/shmem/pe.h"

static uint32_t source[6] = {1, 2, 3, 4, 5, 6};
static uint32_t dest[12];

static void root_beyond_the_team(void)
{
    pe_start();
    (void)shmem_uint32_broadcast(SHMEM_TEAM_WORLD, dest, source, 1, 1);
}

static void team_that_is_none(void)
{
    pe_start();
    (void)shmem_team_sync(SHMEM_TEAM_INVALID);
}

static void negative_count(void)
{
    pe_start();
    (void)shmem_uint32_fcollect(SHMEM_TEAM_WORLD, dest, source, (size_t)-1);
}

static void stride_of_zero(void)
{
    pe_start();
    (void)shmem_uint32_alltoalls(SHMEM_TEAM_WORLD, dest, source, 0, 1, 1);
}

static void before_the_beginning(void)
{
    shmem_barrier_all();
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(root_beyond_the_team, "PE_root 1 is not one of the 1 PEs");
    unit_child_fails(team_that_is_none, "the team is SHMEM_TEAM_INVALID");
    unit_child_fails(negative_count, "was the number negative?");
    unit_child_fails(stride_of_zero, "strides must be at least 1, not 0 and 1");
    unit_child_fails(before_the_beginning, "called before shmem_init");
}

static void a_team_of_one_gets_its_own(void **unused)
{
    (void)unused;
    memset(dest, 0, sizeof dest);
    assert_int_equal(shmem_uint32_broadcast(SHMEM_TEAM_WORLD, dest, source, 2, 0), 0);
    assert_true(dest[0] == 1 && dest[1] == 2 && dest[2] == 0);
    assert_int_equal(shmem_uint32_collect(SHMEM_TEAM_WORLD, dest, &source[2], 3), 0);
    assert_true(dest[0] == 3 && dest[2] == 5 && dest[3] == 0);
    assert_int_equal(shmem_uint32_fcollect(SHMEM_TEAM_SHARED, dest, source, 1), 0);
    assert_true(dest[0] == 1 && dest[1] == 4);
    assert_int_equal(shmem_alltoallmem(SHMEM_TEAM_WORLD, dest, source, 8), 0);
    assert_true(dest[1] == 2);
    shmem_barrier_all();
    shmem_sync_all();
    assert_int_equal(shmem_team_sync(SHMEM_TEAM_WORLD), 0);
}

static void strided_blocks(void **unused)
{
    (void)unused;
    memset(dest, 0, sizeof dest);
    assert_int_equal(shmem_uint32_alltoalls(SHMEM_TEAM_WORLD, dest, source, 3, 2, 3), 0);
    assert_true(dest[0] == 1 && dest[3] == 3 && dest[6] == 5);
    assert_true(dest[1] == 0 && dest[2] == 0 && dest[7] == 0);
    assert_int_equal(shmem_uint32_alltoalls(SHMEM_TEAM_WORLD, dest, source, 1, 1, 0), 0);
    assert_int_equal(dest[0], 1);
}

static void bytes_of_elements(void **unused)
{
    (void)unused;
    assert_int_equal(shmem_bytes_of(0, 8, "call"), 0);
    assert_int_equal(shmem_bytes_of(3, 16, "call"), 48);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_team_of_one_gets_its_own),
        cmocka_unit_test(strided_blocks),
        cmocka_unit_test(bytes_of_elements),
    };
    return PE_RUN(ending, tests);
}
