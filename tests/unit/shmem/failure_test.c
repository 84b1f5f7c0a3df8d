/* Errors that end the job, and what a program sees of the mode in which deaths do not. Deaths need
 * several PEs: tests/live/shmem/shmem_failure.sh. */
#include "shmem/failure.h"

#include <math.h>

#include "shmemx.h"
#include "unit/shmem/pe.h"

static void fail_with_code(void)
{
    pe_start();
    assert_true(shmem_require("shmem_thing", 0));
    shmem_require("shmem_thing", DN_ETIMEOUT);
}

static void fail_with_mismatch(void)
{
    pe_start();
    shmem_on_error("shmem_thing", DN_EMISMATCH, SHMEM_NOBODY);
}

static void fail_with_peer(void)
{
    pe_start();
    shmem_on_error("shmem_thing", DN_EPEER, SHMEM_NOBODY);
}

static void fail_with_owner(void)
{
    pe_start();
    shmem_on_error("shmem_thing", DN_EOWNERDEAD, SHMEM_NOBODY);
}

/* Nobody has died, so that is no reason to go on. */
static void fail_though_going_on(void)
{
    pe_start();
    assert_int_equal(shmemx_failure_mode(SHMEMX_CONTINUE), SHMEMX_END);
    shmem_on_error("shmem_thing", DN_EPEER, 0);
}

static void ask_before(void)
{
    (void)shmemx_failure_mode(SHMEMX_CONTINUE);
}

/* The mode is not inherited by the library's next life. */
static void begin_anew(void)
{
    pe_start();
    assert_int_equal(shmemx_failure_mode(SHMEMX_CONTINUE), SHMEMX_END);
    shmem_finalize();
    pe_start();
    assert_int_equal(shmemx_failure_mode(SHMEMX_END), SHMEMX_END);
    shmem_finalize();
}

static void sentences(void **unused)
{
    (void)unused;
    unit_child_fails(fail_with_code, dn_strerror(DN_ETIMEOUT));
    unit_child_fails(fail_with_mismatch, "the PEs made different calls");
    unit_child_fails(fail_with_peer, "has finished already");
    unit_child_fails(fail_with_owner, "held the lock has died");
    unit_child_fails(fail_though_going_on, "has finished already");
    unit_child_fails(ask_before, "called before shmem_init");
    unit_child_passes(begin_anew);
}

static void modes(void **unused)
{
    shmem_ctx_t ctx;
    (void)unused;
    assert_int_equal(shmemx_failure_mode(2), -1);
    assert_int_equal(shmem_state.context.read_count, 1);
    assert_int_equal(shmem_ctx_create(0, &ctx), 0);
    assert_int_equal(shmemx_failure_mode(SHMEMX_CONTINUE), SHMEMX_END);
    assert_int_equal(shmemx_failure_mode(-1), -1);
    assert_int_equal(shmemx_failure_mode(SHMEMX_CONTINUE), SHMEMX_CONTINUE);
    /* Who reads looks first. */
    assert_int_equal(shmem_state.context.read_count, 0);
    assert_int_equal(shmem_state.context.in_place_count, 1);
    assert_int_equal(shmem_context_of(ctx)->read_count, 0);
    assert_int_equal(shmemx_failure_mode(SHMEMX_END), SHMEMX_CONTINUE);
    assert_int_equal(shmem_state.context.read_count, 1);
    assert_int_equal(shmem_context_of(ctx)->read_count, 1);
    shmem_ctx_destroy(ctx);
}

static void nobody_has_died(void **unused)
{
    static int word = 7;
    shmem_team_t survivors;
    int pe = 5;
    (void)unused;
    (void)shmemx_failure_mode(SHMEMX_CONTINUE);
    assert_int_equal(shmem_int_g(&word, 0), 7);
    assert_int_equal(shmem_int_atomic_fetch(&word, 0), 7);
    assert_int_equal(shmemx_failed_pe(), -1);
    assert_int_equal(shmemx_failure_ack(&pe, 1), 0);
    assert_int_equal(shmemx_failure_ack(NULL, 0), 0);
    assert_int_equal(pe, 5);
    assert_int_equal(shmem_pe_accessible(0), 1);
    assert_false(shmem_is_dead(0));
    assert_int_equal(shmem_dead_member(&shmem_state.world), SHMEM_NOBODY);
    assert_int_equal(shmemx_team_shrink(SHMEM_TEAM_WORLD, &survivors), 0);
    assert_int_equal(shmem_team_n_pes(survivors), 1);
    assert_int_equal(shmem_team_my_pe(survivors), 0);
    assert_int_equal(shmem_team_sync(survivors), 0);
    shmem_team_destroy(survivors);
    (void)shmemx_failure_mode(SHMEMX_END);
}

static void poison(void **unused)
{
    long word = 1;
    double number = 1;
    (void)unused;
    shmem_poison(&word, sizeof word);
    shmem_poison(&number, sizeof number);
    shmem_poison(NULL, 0);
    assert_int_equal(word, -1);
    assert_true(isnan(number));
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(sentences)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes),
        cmocka_unit_test(nobody_has_died),
        cmocka_unit_test(poison),
    };
    return PE_RUN(ending, tests);
}
