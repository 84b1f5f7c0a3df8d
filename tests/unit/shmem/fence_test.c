/* fence and quiet: when they complete, whom they ask, and when they may be called. Their order
 * between PEs is tested by tests/live/shmem. */
#include "unit/shmem/pe.h"

static uint64_t words[64];

static void fence_before_the_beginning(void)
{
    shmem_fence();
}

static void quiet_before_the_beginning(void)
{
    shmem_quiet();
}

/* With DN_RELAX a put may take effect at any time until a quiet. */
static void quiet_completes(void)
{
    (void)setenv("DN_RELAX", "1", 1);
    pe_start();
    shmem_ctx_t context;
    if (shmem_ctx_create(0, &context) != 0) {
        abort();
    }
    for (uint64_t round = 1; round <= 100; round++) {
        for (int i = 0; i < 64; i++) {
            shmem_ctx_uint64_put_nbi(context, &words[i], &round, 1, 0);
        }
        shmem_ctx_fence(context);
        shmem_ctx_quiet(context);
        for (int i = 0; i < 64; i++) {
            if (words[i] != round) {
                abort();
            }
        }
    }
}

static void children(void **unused)
{
    (void)unused;
    unit_child_fails(fence_before_the_beginning, "shmem_fence: called before shmem_init");
    unit_child_fails(quiet_before_the_beginning, "shmem_quiet: called before shmem_init");
    unit_child_passes(quiet_completes);
}

static void every_context(void **unused)
{
    (void)unused;
    uint64_t value = 8;
    shmem_uint64_put_nbi(words, &value, 1, 0);
    shmem_fence();
    shmem_quiet();
    assert_int_equal(words[0], 8);
    /* A context that does not exist has sent nothing. */
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
}

int main(void)
{
    const struct CMUnitTest ending[] = {cmocka_unit_test(children)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_context)};
    return PE_RUN(ending, tests);
}
