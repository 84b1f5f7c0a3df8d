/* Entry points: blocks, RDMA, fence and quiet. */
#include "api/check.h"
#include "api/inner.h"
#include "api/traced.h"
#include "dimmnet.h"
#include "fabric/in_place.h"
#include "host/wait.h"

/* A transfer of some bytes needs a pointer to them. */
static inline int check_local(const struct dn_node *node, const void *local, size_t bytes)
{
    return LIKELY(local || bytes == 0) ? api_check(node) : DN_EINVAL;
}

/* Every check of the careful way, in order. */
static int check_transfer(const struct dn_node *node, struct dn_remote remote, const void *local,
                          size_t bytes)
{
    int error = check_local(node, local, bytes);
    return error ? error : api_check_area(node, remote, bytes);
}

static __attribute__((noinline, cold)) int careful_botf(struct dn_node *node,
                                                        struct dn_remote remote, const void *source,
                                                        size_t bytes)
{
    API_TRACED_AS("dn_botf", careful_botf(node, remote, source, bytes),
                  host_trace_remote(HOST_TRACE_PUT, node, remote, bytes));
    int error = check_transfer(node, remote, source, bytes);
    return error ? error : node->lane.ops->botf(&node->lane, remote, source, bytes);
}

int dn_botf(struct dn_node *node, struct dn_remote remote, const void *source, size_t bytes)
{
    struct in_place_target place;
    if (UNLIKELY(!api_quick(node, remote, bytes, &place) || !source)) {
        return careful_botf(node, remote, source, bytes);
    }
    KILL_POINT("botf: nothing written");
    nic_store_block(place.pointer, source, bytes);
    KILL_POINT("botf: written, nobody woken");
    return api_finish(node, place, remote.rank, bytes);
}

static inline __attribute__((always_inline)) int put_signal(struct dn_node *node,
                                                            struct dn_remote remote,
                                                            const void *source, size_t bytes,
                                                            struct dn_remote flag, uint64_t value)
{
    int error = check_local(node, source, bytes);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY(remote.rank != flag.rank)) {
        return DN_EINVAL;
    }
    struct fabric_lane *lane = &node->lane;
    if (UNLIKELY(remote.area == 0 || flag.area == 0)) {
        unsigned char *pointer;
        error = in_place_reach(lane, remote, bytes, DN_WRITE, &pointer);
        return error ? error : in_place_reach(lane, flag, sizeof value, DN_WRITE, &pointer);
    }
    return LIKELY(lane->is_prompt)
               ? in_place_put_signal(lane, remote, source, bytes, flag, value)
               : lane->ops->put_signal(lane, remote, source, bytes, flag, value);
}

API_TRACED_TWIN(traced_put_signal,
                (struct dn_node * node, struct dn_remote remote, const void *source, size_t bytes,
                 struct dn_remote flag, uint64_t value),
                "dn_put_signal", put_signal(node, remote, source, bytes, flag, value),
                host_trace_signal(node, remote, bytes, flag))

int dn_put_signal(struct dn_node *node, struct dn_remote remote, const void *source, size_t bytes,
                  struct dn_remote flag, uint64_t value)
{
    return UNLIKELY(host_trace_is_on) ? traced_put_signal(node, remote, source, bytes, flag, value)
                                      : put_signal(node, remote, source, bytes, flag, value);
}

static __attribute__((noinline, cold)) int careful_push(struct dn_node *node,
                                                        struct dn_remote remote, const void *source,
                                                        size_t bytes, struct dn_op *op)
{
    API_TRACED_AS("dn_push", careful_push(node, remote, source, bytes, op),
                  host_trace_remote(HOST_TRACE_PUT, node, remote, bytes));
    int error = check_transfer(node, remote, source, bytes);
    return error ? error : node->lane.ops->push(&node->lane, remote, source, bytes, op);
}

int dn_push(struct dn_node *node, struct dn_remote remote, const void *source, size_t bytes,
            struct dn_op *op)
{
    struct in_place_target place;
    if (UNLIKELY(!api_quick(node, remote, bytes, &place) || !source)) {
        return careful_push(node, remote, source, bytes, op);
    }
    if (op) {
        fabric_op_mark_done(op, &node->lane);
    }
    KILL_POINT("push: nothing written");
    memmove(place.pointer, source, bytes);
    KILL_POINT("push: written, nobody woken");
    return api_finish(node, place, remote.rank, bytes);
}

static __attribute__((noinline, cold)) int careful_pull(struct dn_node *node,
                                                        struct dn_remote remote, void *target,
                                                        size_t bytes, struct dn_op *op)
{
    API_TRACED_AS("dn_pull", careful_pull(node, remote, target, bytes, op),
                  host_trace_remote(HOST_TRACE_GET, node, remote, bytes));
    int error = check_transfer(node, remote, target, bytes);
    return error ? error : node->lane.ops->pull(&node->lane, remote, target, bytes, op);
}

int dn_pull(struct dn_node *node, struct dn_remote remote, void *target, size_t bytes,
            struct dn_op *op)
{
    struct in_place_target place;
    if (UNLIKELY(!api_quick(node, remote, bytes, &place) || !target)) {
        return careful_pull(node, remote, target, bytes, op);
    }
    if (op) {
        fabric_op_mark_done(op, &node->lane);
    }
    memmove(target, place.pointer, bytes);
    return 0;
}

static inline int put(struct dn_node *node, struct dn_remote remote, const void *source,
                      size_t bytes)
{
    struct dn_op op;
    int error = dn_push(node, remote, source, bytes, &op);
    error = error ? error : dn_op_wait(&op, DN_FOREVER);
    if (!error) {
        atomic_thread_fence(memory_order_seq_cst); /* visible before anything after, as dn_quiet */
    }
    return error;
}

API_TRACED_TWIN(traced_put,
                (struct dn_node * node, struct dn_remote remote, const void *source, size_t bytes),
                "dn_put", put(node, remote, source, bytes),
                host_trace_remote(HOST_TRACE_PUT, node, remote, bytes))

int dn_put(struct dn_node *node, struct dn_remote remote, const void *source, size_t bytes)
{
    return UNLIKELY(host_trace_is_on) ? traced_put(node, remote, source, bytes)
                                      : put(node, remote, source, bytes);
}

static inline int get(struct dn_node *node, struct dn_remote remote, void *target, size_t bytes)
{
    struct dn_op op;
    int error = dn_pull(node, remote, target, bytes, &op);
    return error ? error : dn_op_wait(&op, DN_FOREVER);
}

API_TRACED_TWIN(traced_get,
                (struct dn_node * node, struct dn_remote remote, void *target, size_t bytes),
                "dn_get", get(node, remote, target, bytes),
                host_trace_remote(HOST_TRACE_GET, node, remote, bytes))

int dn_get(struct dn_node *node, struct dn_remote remote, void *target, size_t bytes)
{
    return UNLIKELY(host_trace_is_on) ? traced_get(node, remote, target, bytes)
                                      : get(node, remote, target, bytes);
}

int dn_op_test(struct dn_op *op, int *done)
{
    bool is_done;
    int error = op && done ? fabric_op_state(op, &is_done) : DN_EINVAL;
    if (!error && !is_done) {
        struct fabric_lane *lane = fabric_op_lane(op);
        if (lane->open == FABRIC_LANE_OPEN) {
            fabric_progress(lane); /* a caller that tests again and again is waiting */
        }
        error = fabric_op_state(op, &is_done);
    }
    if (!error) {
        *done = is_done;
    }
    return error;
}

static bool op_is_done(void *context)
{
    bool done = false;
    (void)fabric_op_state(context, &done);
    return done;
}

int dn_op_wait(struct dn_op *op, uint64_t timeout_ns)
{
    bool done;
    API_TRACED(dn_op_wait(op, timeout_ns), host_trace_call(HOST_TRACE_ORDER));
    int error = op ? fabric_op_state(op, &done) : DN_EINVAL;
    if (error || done) {
        return error;
    }
    /* The lane is the first member of its node. A lane that closes completes what was
     * sent on it; only a forked child can find a transfer that nobody will finish. */
    struct dn_node *node = (struct dn_node *)(void *)fabric_op_lane(op);
    error = api_check(node);
    if (error) {
        return error;
    }
    /* A transfer always ends by itself: a fabric finishes it when its target dies. */
    struct host_condition condition = {op_is_done, NULL, op, GROUP_WATCH_NOTHING};
    error = host_wait(node, &condition, timeout_ns);
    return error ? error : fabric_op_state(op, &done);
}

/* Where operations are done at return, a fence is all that either needs. */
#define DEFINE_ORDER(name)                                                                      \
    int inner_##name(struct dn_node *node)                                                      \
    {                                                                                           \
        struct fabric_lane *lane = &node->lane;                                                 \
        if (UNLIKELY(!lane->is_prompt)) {                                                       \
            return lane->ops->name(lane);                                                       \
        }                                                                                       \
        in_place_fence(lane);                                                                   \
        return 0;                                                                               \
    }                                                                                           \
    static inline int order_by_##name(struct dn_node *node)                                     \
    {                                                                                           \
        int error = api_check(node);                                                            \
        if (error) {                                                                            \
            return error;                                                                       \
        }                                                                                       \
        error = inner_##name(node);                                                             \
        int kept = LIKELY(!node->lane.store_error) ? 0 : api_store_error_at_##name(node);       \
        return kept ? kept : error;                                                             \
    }                                                                                           \
    API_TRACED_TWIN(traced_##name, (struct dn_node * node), "dn_" #name, order_by_##name(node), \
                    host_trace_call(HOST_TRACE_ORDER))                                          \
    int dn_##name(struct dn_node *node)                                                         \
    {                                                                                           \
        return UNLIKELY(host_trace_is_on) ? traced_##name(node) : order_by_##name(node);        \
    }

DEFINE_ORDER(fence)
DEFINE_ORDER(quiet)
