/* fence and quiet. */
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
