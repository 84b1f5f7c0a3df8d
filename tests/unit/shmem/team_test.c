/* Teams: predefined ones, splitting with arguments of all kinds, translation, the end. */
#include "unit/shmem/pe.h"

static void destroy_a_predefined_one(void)
{
    pe_start();
    shmem_team_destroy(SHMEM_TEAM_WORLD);
}

static void destroy_twice(void)
{
    pe_start();
    struct shmem_team stray = {.dn = shmem_state.world.dn, .n_pes = 1};
    shmem_team_destroy(&stray);
}

static void mistakes_end_the_job(void **unused)
{
    (void)unused;
    unit_child_fails(destroy_a_predefined_one, "a predefined team cannot be destroyed");
    unit_child_fails(destroy_twice, "the handle is of no team; was it destroyed before?");
}

static void predefined(void **unused)
{
    (void)unused;
    const shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(shmem_team_my_pe(teams[i]), 0);
        assert_int_equal(shmem_team_n_pes(teams[i]), 1);
        assert_int_equal(shmem_team_translate_pe(teams[i], 0, teams[1 - i]), 0);
    }
    assert_int_equal(shmem_team_my_pe(SHMEM_TEAM_INVALID), -1);
    assert_int_equal(shmem_team_n_pes(SHMEM_TEAM_INVALID), -1);
    assert_int_equal(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, SHMEM_TEAM_SHARED), -1);
    assert_int_equal(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, SHMEM_TEAM_INVALID), -1);
}

static void splits_that_make_no_sense(void **unused)
{
    (void)unused;
    static const int triples[][3] = {{0, 1, 0}, {-1, 1, 1}, {1, 1, 1},
                                     {0, 1, 2}, {0, 0, 2},  {0, -1, 2}};
    shmem_team_t made;
    for (size_t i = 0; i < sizeof triples / sizeof triples[0]; i++) {
        made = SHMEM_TEAM_WORLD;
        assert_int_not_equal(shmem_team_split_strided(SHMEM_TEAM_WORLD, triples[i][0],
                                                      triples[i][1], triples[i][2], NULL, 0, &made),
                             0);
        assert_ptr_equal(made, SHMEM_TEAM_INVALID);
    }
    assert_int_not_equal(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &made), 0);
    assert_int_not_equal(
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, SHMEM_TEAM_NUM_CONTEXTS, &made),
        0);
}

static void a_team_and_its_configuration(void **unused)
{
    (void)unused;
    shmem_team_t team;
    shmem_team_config_t config = {.num_contexts = 3};
    assert_int_equal(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 0, 1, &config,
                                              SHMEM_TEAM_NUM_CONTEXTS, &team),
                     0);
    assert_int_equal(shmem_team_n_pes(team), 1);
    assert_int_equal(shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD), 0);
    config.num_contexts = 0;
    assert_int_equal(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &config), 0);
    assert_int_equal(config.num_contexts, 3);
    assert_int_not_equal(shmem_team_get_config(team, ~0L, &config), 0);
    assert_int_not_equal(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, NULL), 0);
    shmem_ctx_t context;
    assert_int_equal(shmem_team_create_ctx(team, 0, &context), 0);
    shmem_team_destroy(team);                                 /* and its contexts */
    assert_ptr_equal(shmem_state.teams, &shmem_state.shared); /* the predefined ones stay */
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

static void both_axes(void **unused)
{
    (void)unused;
    shmem_team_t x;
    shmem_team_t y;
    shmem_team_config_t bad = {.num_contexts = -1};
    assert_int_equal(shmem_team_split_2d(SHMEM_TEAM_WORLD, 4, NULL, 0, &x, NULL, 0, &y), 0);
    assert_int_equal(shmem_team_n_pes(x), 1);
    assert_int_equal(shmem_team_n_pes(y), 1);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
    assert_int_not_equal(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &x, NULL, 0, &y), 0);
    /* One axis fails alone. */
    assert_int_not_equal(
        shmem_team_split_2d(SHMEM_TEAM_WORLD, 1, &bad, SHMEM_TEAM_NUM_CONTEXTS, &x, NULL, 0, &y),
        0);
    assert_ptr_equal(x, SHMEM_TEAM_INVALID);
    assert_int_equal(shmem_team_n_pes(y), 1);
    shmem_team_destroy(y);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(mistakes_end_the_job)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predefined),
        cmocka_unit_test(splits_that_make_no_sense),
        cmocka_unit_test(a_team_and_its_configuration),
        cmocka_unit_test(both_axes),
    };
    return PE_RUN(ending, tests);
}
