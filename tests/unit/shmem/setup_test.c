/* The beginning and the end of a job of one PE, and the queries. */
#include "shmem/state.h"

#include <unistd.h>

#include "unit/shmem/pe.h"

static int variable = 1;

static void exit_with_seven(void)
{
    pe_start();
    shmem_global_exit(7);
}

static void end_without_finalize(void)
{
    pe_start();
    variable = 2;
}

static void require_initialised(bool wanted)
{
    int is_initialised = -1;
    shmem_query_initialized(&is_initialised);
    if ((is_initialised != 0) != wanted || (shmem_pe_accessible(0) != 0) != wanted) {
        abort();
    }
}

static void begin_again(void)
{
    require_initialised(false);
    for (int life = 0; life < 3; life++) {
        pe_start();
        shmem_init();
        start_pes(0); /* asks for no shmem_finalize */
        require_initialised(true);
        long *words = shmem_malloc(sizeof *words);
        shmem_team_t team;
        shmem_ctx_t ctx;
        if (!words || shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team) != 0 ||
            shmem_team_create_ctx(team, 0, &ctx) != 0) {
            abort();
        }
        shmem_ctx_long_p(ctx, words, 3, 0);
        static long lock;
        shmem_set_lock(&lock); /* the end gives it back */
        shmem_finalize();
        require_initialised(true);
        if (*words != 3) {
            abort();
        }
        variable = 5;
        shmem_finalize();
        require_initialised(false);
        /* The program keeps its static variables. */
        if (variable != 5) {
            abort();
        }
    }
}

/* Nobody gives up memory in order to begin again. */
static void begin_often(void)
{
    for (int life = 0; life < 200; life++) {
        pe_start();
        shmem_team_t team;
        if (!shmem_malloc((size_t)12 << 20) ||
            shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team) != 0) {
            abort();
        }
        static long locks[20];
        for (int i = 0; i < 20; i++) {
            shmem_set_lock(&locks[i]);
            shmem_clear_lock(&locks[i]);
        }
        shmem_finalize();
    }
}

static void end_at_rest(void)
{
    pe_start();
    shmem_finalize();
    _exit(0);
}

static void thread_levels(void)
{
    int provided = -1;
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE + 1, &provided) == 0 ||
        shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) != 0 ||
        provided != SHMEM_THREAD_SERIALIZED) {
        abort();
    }
    shmem_query_thread(&provided);
    if (provided != SHMEM_THREAD_SERIALIZED) {
        abort();
    }
}

static void old_names(void)
{
    (void)setenv("SHMEM_SYMMETRIC_SIZE", "16M", 1);
    start_pes(0);
    if (_my_pe() != 0 || _num_pes() != 1) {
        abort();
    }
}

static void ends(void **unused)
{
    (void)unused;
    char text[UNIT_CHILD_BYTES];
    int status = unit_child_run(exit_with_seven, text);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    unit_child_passes(end_without_finalize);
    unit_child_passes(begin_again);
    unit_child_passes(begin_often);
    unit_child_passes(end_at_rest);
    unit_child_passes(thread_levels);
    unit_child_passes(old_names);
    assert_int_equal(variable, 1);
}

static void queries(void **unused)
{
    (void)unused;
    int major = 0;
    int minor = 0;
    char name[SHMEM_MAX_NAME_LEN];
    int private_word;
    assert_int_equal(shmem_my_pe(), 0);
    assert_int_equal(shmem_n_pes(), 1);
    assert_true(shmem_pe_accessible(0));
    assert_false(shmem_pe_accessible(1) || shmem_pe_accessible(-1));
    assert_true(shmem_addr_accessible(&variable, 0));
    assert_false(shmem_addr_accessible(&private_word, 0) || shmem_addr_accessible(&variable, 1));
    shmem_info_get_version(&major, &minor);
    assert_true(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    assert_string_equal(name, SHMEM_VENDOR_STRING);
}

static void nobody_else_finalizes(void **unused)
{
    (void)unused;
    assert_false(shmem_others_finalize());
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(ends)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queries),
        cmocka_unit_test(nobody_else_finalizes),
    };
    return PE_RUN(ending, tests);
}
