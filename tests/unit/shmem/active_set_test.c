/* Triples that make sense, and teams that are made only once. */
#include "shmem/collective.h"
#include "unit/shmem/pe.h"

static long sync_words[SHMEM_BARRIER_SYNC_SIZE];

static void use_negative_start(void)
{
    pe_start();
    (void)shmem_active_set(-1, 0, 1, sync_words, "call");
}

static void use_beyond_the_end(void)
{
    pe_start();
    (void)shmem_active_set(0, 0, 2, sync_words, "call");
}

static void use_wide_stride(void)
{
    pe_start();
    (void)shmem_active_set(0, 31, 1, sync_words, "call");
}

static void use_private_sync(void)
{
    long private_words[1];
    pe_start_with_debug();
    (void)shmem_active_set(0, 0, 1, private_words, "call");
}

static void use_uninitialised(void)
{
    (void)shmem_active_set(0, 0, 1, sync_words, "call");
}

static void nonsense_is_refused(void **unused)
{
    (void)unused;
    unit_child_fails(use_negative_start, "PE_start -1, logPE_stride 0, PE_size 1 is no set of PEs");
    unit_child_fails(use_beyond_the_end, "is no set of PEs among 1");
    unit_child_fails(use_wide_stride, "logPE_stride 31");
    unit_child_fails(use_private_sync, "is not symmetric memory");
    unit_child_fails(use_uninitialised, "called before shmem_init");
}

static void a_set_is_made_once(void **unused)
{
    (void)unused;
    struct shmem_team *set = shmem_active_set(0, 0, 1, sync_words, "call");
    assert_non_null(set->dn);
    assert_int_equal(set->my_pe, 0);
    assert_int_equal(set->n_pes, 1);
    assert_int_equal(set->pes[0], 0);
    assert_ptr_equal(shmem_active_set(0, 0, 1, sync_words, "call"), set);
    /* Another triple is another set, even with the same members. */
    assert_ptr_not_equal(shmem_active_set(0, 3, 1, sync_words, "call"), set);
    assert_ptr_equal(shmem_active_set(0, 0, 1, sync_words, "call"), set);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(nonsense_is_refused)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_set_is_made_once)};
    return PE_RUN(ending, tests);
}
