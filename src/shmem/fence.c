/* fence and quiet. */
#include "shmem/state.h"

/* In place a fence orders stores and atomics, which a release fence does. It also wakes PEs
 * that may sleep on memory to which the program stored through shmem_ptr. */
static inline void fence(const struct shmem_context *context, const char *call)
{
    if (LIKELY(context->in_place_count > 0)) {
        atomic_thread_fence(memory_order_release);
        if (inner_stored_to_sleeps(context->lane)) {
            inner_wake_stored_to(context->lane);
        }
    } else if (context != &shmem_no_context) {
        shmem_require_initialised(call);
        shmem_require(call, dn_fence(context->lane));
    }
}

static inline void quiet(const struct shmem_context *context, const char *call)
{
    if (LIKELY(context->in_place_count > 0)) {
        atomic_thread_fence(memory_order_seq_cst);
        if (inner_stored_to_sleeps(context->lane)) {
            inner_wake_stored_to(context->lane);
        }
    } else if (context != &shmem_no_context) {
        shmem_require_initialised(call);
        shmem_require(call, dn_quiet(context->lane));
    }
}

void pshmem_fence(void)
{
    fence(&shmem_state.context, "shmem_fence");
}

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
    fence(shmem_context_of(ctx), "shmem_ctx_fence");
}

void pshmem_quiet(void)
{
    quiet(&shmem_state.context, "shmem_quiet");
}

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
    quiet(shmem_context_of(ctx), "shmem_ctx_quiet");
}

SHMEM_ALIAS(fence)
SHMEM_ALIAS(ctx_fence)
SHMEM_ALIAS(quiet)
SHMEM_ALIAS(ctx_quiet)
