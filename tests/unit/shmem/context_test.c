/* Contexts: which PEs one has, whether the inline ways may be used, and its end. */
#include "shmem/state.h"

#include "unit/shmem/pe.h"

static uint64_t word;

static void destroy_the_default(void)
{
    pe_start();
    shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
}

static void destroy_twice(void)
{
    pe_start();
    /* A handle that is no context: it is in none of the lists. */
    struct shmem_context stray = {.team = &shmem_state.world};
    shmem_ctx_destroy(&stray);
}

static void debug_leaves_nothing_ordinary(void)
{
    pe_start_with_debug();
    if (shmem_state.context.in_place_count != 0 || shmem_state.context.peer_count != 1) {
        abort();
    }
}

static void relax_leaves_nothing_ordinary(void)
{
    (void)setenv("DN_RELAX", "1", 1);
    pe_start();
    if (shmem_state.context.in_place_count != 0 || shmem_ptr(&word, 0)) {
        abort();
    }
    shmem_uint64_p(&word, 5, 0);
    shmem_quiet();
    if (word != 5) {
        abort();
    }
}

static void ends_and_modes(void **unused)
{
    (void)unused;
    unit_child_fails(destroy_the_default, "SHMEM_CTX_DEFAULT stays until shmem_finalize");
    unit_child_fails(destroy_twice, "there is no such context; was it destroyed before?");
    unit_child_passes(debug_leaves_nothing_ordinary);
    unit_child_passes(relax_leaves_nothing_ordinary);
}

static void a_context_belongs_to_its_team(void **unused)
{
    (void)unused;
    shmem_ctx_t context;
    shmem_team_t team;
    assert_int_equal(shmem_team_create_ctx(SHMEM_TEAM_SHARED, SHMEM_CTX_PRIVATE, &context), 0);
    assert_int_equal(context->peer_count, 1);
    assert_int_equal(context->options, SHMEM_CTX_PRIVATE);
    assert_int_equal(shmem_ctx_get_team(context, &team), 0);
    assert_ptr_equal(team, SHMEM_TEAM_SHARED);
    assert_int_equal(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team), 0);
    assert_ptr_equal(team, SHMEM_TEAM_WORLD);
    shmem_ctx_destroy(context);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

static void no_team_no_context(void **unused)
{
    (void)unused;
    shmem_ctx_t context = &shmem_state.context;
    shmem_team_t team;
    assert_int_equal(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &context), -1);
    assert_ptr_equal(context, SHMEM_CTX_INVALID);
    assert_int_equal(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team), -1);
    assert_ptr_equal(team, SHMEM_TEAM_INVALID);
}

static void many_live_at_once(void **unused)
{
    (void)unused;
    shmem_ctx_t contexts[20];
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(shmem_ctx_create(0, &contexts[i]), 0);
    }
    for (uint64_t i = 0; i < 20; i++) {
        shmem_ctx_uint64_p(contexts[i], &word, i, 0);
        assert_int_equal(shmem_ctx_uint64_g(contexts[i], &word, 0), i);
    }
    /* From the middle, from the end, and from the beginning of the list. */
    for (uint64_t i = 0; i < 20; i++) {
        shmem_ctx_destroy(contexts[(i * 7 + 3) % 20]);
    }
    assert_null(shmem_state.world.contexts);
}

/* Only the number of PEs is as in such a job: nothing may be sent to PEs that are not there. */
static void more_pes_than_near_ones_go_the_checked_way(void **unused)
{
    (void)unused;
    shmem_state.world.n_pes = SHMEM_NEAR_PES;
    shmem_contexts_start();
    assert_int_equal(shmem_state.context.in_place_count, SHMEM_NEAR_PES);
    shmem_state.world.n_pes = SHMEM_NEAR_PES + 1;
    shmem_contexts_start();
    assert_int_equal(shmem_state.context.in_place_count, 0);
    assert_int_equal(shmem_state.context.peer_count, SHMEM_NEAR_PES + 1);
    shmem_uint64_p(&word, 7, 0);
    shmem_quiet();
    assert_int_equal(shmem_uint64_g(&word, 0), 7);
    shmem_state.world.n_pes = 1;
    shmem_contexts_start();
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(ends_and_modes)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_belongs_to_its_team),
        cmocka_unit_test(no_team_no_context),
        cmocka_unit_test(many_live_at_once),
        cmocka_unit_test(more_pes_than_near_ones_go_the_checked_way),
    };
    return PE_RUN(ending, tests);
}
