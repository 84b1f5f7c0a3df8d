/* fence, quiet, and quiet of some PEs. */
#include "shmem/reach.h"

/* In place a release fence orders stores and atomics, which is what shmem_fence is for;
 * shmem_quiet also orders this PE's later reads behind them, by a sequentially consistent one.
 * Both wake PEs that may sleep on memory to which the program stored through shmem_ptr. */
ALWAYS_INLINE void order(const struct shmem_context *context, memory_order in_place,
                         int (*by_packets)(struct dn_node *lane), const char *call)
{
    if (LIKELY(context->in_place_count > 0)) {
        atomic_thread_fence(in_place);
        if (inner_stored_to_sleeps(context->lane)) {
            inner_wake_stored_to(context->lane);
        }
    } else if (context != &shmem_no_context) {
        shmem_require_initialised(call);
        inner_trace_as(context->lane, call);
        shmem_require(call, by_packets(context->lane));
    }
}

#define DEFINE(NAME, IN_PLACE)                                                  \
    SHMEM_DEFINE_ON(&shmem_state.context, void, NAME, (void),                   \
                    order(context, IN_PLACE, dn_##NAME, SHMEM_CALL_NAME))       \
    SHMEM_DEFINE_ON(shmem_context_of(ctx), void, ctx_##NAME, (shmem_ctx_t ctx), \
                    order(context, IN_PLACE, dn_##NAME, SHMEM_CALL_NAME))

DEFINE(fence, memory_order_release)
DEFINE(quiet, memory_order_seq_cst)

/* Completes what went to all PEs, which is more than is asked for: below, a lane completes as a
 * whole. */
static void quiet_pes(const struct shmem_context *context, const int *pes, size_t count,
                      const char *call)
{
    for (size_t i = 0; i < count && context != &shmem_no_context; i++) {
        shmem_check_pe(context, pes[i], call);
    }
    if (count > 0) {
        order(context, memory_order_seq_cst, dn_quiet, call);
    }
}

SHMEM_DEFINE_BOTH(void, pe_quiet, (const int *target_pes, size_t npes),
                  quiet_pes(context, target_pes, npes, SHMEM_CALL_NAME))
