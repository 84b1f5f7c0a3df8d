/* How Fagus's calls are recorded (`dimmnet run --trace`): as one record each, whatever they call
 * below. While calls are recorded there is no quick way to acquire and release. */
#ifndef FAGUS_TRACED_H
#define FAGUS_TRACED_H

#include "fagus/state.h"

static inline bool fagus_is_traced(void)
{
    return fagus_state.node && inner_is_traced(fagus_state.node);
}

/* Records CALL, the function in which this stands, with the same arguments; or goes on behind this:
 * nothing is recorded, or it is the call inside the record. */
#define FAGUS_TRACED_BY(BEGIN, CALL)          \
    if (UNLIKELY(fagus_is_traced())) {        \
        struct inner_trace trace_ = BEGIN;    \
        if (trace_.is_begun) {                \
            int result_ = (CALL);             \
            inner_trace_end(trace_, result_); \
            return result_;                   \
        }                                     \
    }
#define FAGUS_TRACED(KIND, BYTES, CALL) \
    FAGUS_TRACED_BY(inner_trace_begin(fagus_state.node, KIND, __func__, BYTES), CALL)

#endif
