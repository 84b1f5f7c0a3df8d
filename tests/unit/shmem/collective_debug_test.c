/* SHMEM_DEBUG: mistakes in one PE's own arguments. Differences between PEs need several:
 * tests/live/shmem has those. */
#include "shmem/collective.h"
#include "unit/shmem/pe.h"

/* The source itself, for what a PE makes of the names that others tell. */
void shmem_collective_check_here(const struct shmem_team *team,
                                 const struct shmem_collective *collective);
#define shmem_collective_check shmem_collective_check_here
#include "shmem/collective_debug.c"
#undef shmem_collective_check

static uint64_t words[8];

static void private_source(void)
{
    uint64_t private_word = 1;
    pe_start_with_debug();
    (void)shmem_uint64_broadcast(SHMEM_TEAM_WORLD, words, &private_word, 1, 0);
}

static void private_dest(void)
{
    uint64_t private_word = 1;
    pe_start_with_debug();
    (void)shmem_uint64_fcollect(SHMEM_TEAM_WORLD, &private_word, words, 1);
}

static void overlap(void)
{
    pe_start_with_debug();
    (void)shmem_uint64_fcollect(SHMEM_TEAM_WORLD, &words[1], words, 2);
}

static void in_place_where_it_may_not_be(void)
{
    pe_start_with_debug();
    (void)shmem_uint64_alltoall(SHMEM_TEAM_WORLD, words, words, 1);
}

static void what_is_right(void)
{
    pe_start_with_debug();
    words[0] = 9;
    (void)shmem_uint64_broadcast(SHMEM_TEAM_WORLD, words, words, 1, 0);
    (void)shmem_uint64_fcollect(SHMEM_TEAM_WORLD, &words[2], words, 2);
    if (words[2] != 9) {
        abort();
    }
    shmem_barrier_all();
    shmem_finalize();
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(private_source, "source");
    unit_child_fails(private_source, "is not symmetric memory");
    unit_child_fails(private_dest, "dest");
    unit_child_fails(overlap, "overlap");
    unit_child_fails(in_place_where_it_may_not_be, "overlap");
}

static void what_is_right_passes(void **unused)
{
    (void)unused;
    unit_child_passes(what_is_right);
}

/* The name of a call comes from another PE, and is printed. */
static void a_name_that_is_none_is_made_printable(void **state)
{
    (void)state;
    char name[CALL_BYTES + 1];
    memset(name, 'x', sizeof name);
    make_printable(name);
    assert_int_equal(strlen(name), CALL_BYTES - 1);
    assert_int_equal(name[CALL_BYTES], 'x');
    memcpy(name, "a\033[2J\x7f\xff\nb", 10);
    make_printable(name);
    assert_memory_equal(name, "a?[2J???b", 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_end_the_job),
        cmocka_unit_test(what_is_right_passes),
        cmocka_unit_test(a_name_that_is_none_is_made_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
