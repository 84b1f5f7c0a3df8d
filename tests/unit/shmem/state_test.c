/* How a job ends with a sentence, and what handles stand for. */
#include "unit/shmem/pe.h"

static void fail_before(void)
{
    shmem_fail("shmem_thing", "a number: %d", 42);
}

static void fail_after(void)
{
    pe_start();
    shmem_fail("shmem_thing", "a number: %d", 42);
}

static void use_after_the_end(void)
{
    pe_start();
    shmem_finalize();
    shmem_require_initialised("shmem_thing");
}

static void sentences(void **unused)
{
    (void)unused;
    unit_child_fails(fail_before, "shmem_thing: a number: 42\n");
    unit_child_fails(fail_after, "PE 0: shmem_thing: a number: 42\n");
    unit_child_fails(use_after_the_end, "called after shmem_finalize");
}

static void handles(void **unused)
{
    (void)unused;
    struct shmem_team own;
    struct shmem_context context;
    assert_ptr_equal(shmem_team_of(SHMEM_TEAM_WORLD), &shmem_state.world);
    assert_ptr_equal(shmem_team_of(SHMEM_TEAM_SHARED), &shmem_state.shared);
    assert_null(shmem_team_of(SHMEM_TEAM_INVALID));
    assert_ptr_equal(shmem_team_of(&own), &own);
    assert_ptr_equal(shmem_team_handle(&shmem_state.world), SHMEM_TEAM_WORLD);
    assert_ptr_equal(shmem_team_handle(&shmem_state.shared), SHMEM_TEAM_SHARED);
    assert_ptr_equal(shmem_team_handle(&own), &own);
    assert_ptr_equal(shmem_context_of(SHMEM_CTX_DEFAULT), &shmem_state.context);
    assert_ptr_equal(shmem_context_of(SHMEM_CTX_INVALID), &shmem_no_context);
    assert_ptr_equal(shmem_context_of(&context), &context);
    assert_int_equal(shmem_no_context.peer_count, 0);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(sentences)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(handles)};
    return PE_RUN(ending, tests);
}
