/* Entry points: teams and their collective calls. */
#include "api/check.h"
#include "api/traced.h"
#include "base/uncancelled.h"
#include "team/operators.h"
#include "team/reduce.h"
#include "dimmnet.h"

/* A forked child still has the team, but not the node: that one is closed there. */
static inline int check_team(const struct dn_team *team)
{
    if (LIKELY(team_open(team) && host_node_open(team->node))) {
        return 0;
    }
    return team ? DN_ESTATE : DN_EINVAL;
}

static size_t type_bytes(enum dn_type type)
{
    size_t bytes;
    return team_find_operator(type, DN_SUM, &bytes) ? bytes : 0;
}

struct dn_team *dn_team_all(struct dn_node *node)
{
    return host_node_open(node) ? team_all(node) : NULL;
}

int dn_team_create(struct dn_node *node, const int *ranks, size_t count, struct dn_team **team)
{
    API_TRACED(dn_team_create(node, ranks, count, team), host_trace_call(HOST_TRACE_OTHER));
    int error = ranks && team ? api_check(node) : DN_EINVAL;
    return error ? error : team_create(node, ranks, count, team);
}

int dn_team_split(struct dn_team *team, int color, int key, struct dn_team **part)
{
    API_TRACED(dn_team_split(team, color, key, part), api_trace_team(HOST_TRACE_OTHER, team, 0));
    int error = part ? check_team(team) : DN_EINVAL;
    return error ? error : team_split(team, color, key, part);
}

int dn_team_shrink(struct dn_team *team, struct dn_team **survivors)
{
    API_TRACED(dn_team_shrink(team, survivors), api_trace_team(HOST_TRACE_OTHER, team, 0));
    size_t acknowledged;
    int error = survivors ? check_team(team) : DN_EINVAL;
    error = error ? error : team_shrink(team, survivors);
    return error ? error : dn_failure_ack(team->node, NULL, 0, &acknowledged);
}

int dn_team_revoke(struct dn_team *team)
{
    API_TRACED(dn_team_revoke(team), api_trace_team(HOST_TRACE_OTHER, team, 0));
    int error = check_team(team);
    return error ? error : team_revoke(team);
}

int dn_team_free(struct dn_team *team)
{
    API_TRACED(dn_team_free(team), api_trace_team(HOST_TRACE_OTHER, team, 0));
    int error = check_team(team);
    return error ? error : team_free(team);
}

int dn_team_rank(const struct dn_team *team)
{
    int error = check_team(team);
    return error ? error : (int)team->nic.index;
}

int dn_team_size(const struct dn_team *team)
{
    int error = check_team(team);
    return error ? error : (int)team->nic.count;
}

int dn_team_node_rank(const struct dn_team *team, int rank)
{
    int error = check_team(team);
    if (!error && (uint32_t)rank >= team->nic.count) {
        error = DN_ERANK;
    }
    return error ? error : (int)team->nic.ranks[rank];
}

/* Every member has arrived: only now may this one be told of its own mistakes. */
static inline int end_barrier(const struct dn_team *team, int error)
{
    struct host_process *process = team->node->process;
    return LIKELY(error || !atomic_load_explicit(&process->has_store_error, memory_order_relaxed))
               ? error
               : api_store_error_at_barrier(process);
}

static inline int barrier(struct dn_team *team, uint64_t timeout_ns)
{
    int error = check_team(team);
    return error ? error : end_barrier(team, team_barrier(team, timeout_ns));
}

API_TRACED_TWIN(traced_barrier, (struct dn_team * team, uint64_t timeout_ns), "dn_barrier",
                barrier(team, timeout_ns), api_trace_team(HOST_TRACE_BARRIER, team, 0))

int dn_barrier(struct dn_team *team, uint64_t timeout_ns)
{
    return UNLIKELY(host_trace_is_on) ? traced_barrier(team, timeout_ns)
                                      : barrier(team, timeout_ns);
}

int dn_barrier_kind(struct dn_team *team, enum dn_barrier_kind kind)
{
    int error = (unsigned)kind <= DN_BARRIER_NIC ? check_team(team) : DN_EINVAL;
    return error ? error : team_barrier_kind(team, kind);
}

int dn_barrier_arrive(struct dn_team *team)
{
    API_TRACED(dn_barrier_arrive(team), api_trace_team(HOST_TRACE_BARRIER, team, 0));
    int error = check_team(team);
    return error ? error : team_barrier_arrive(team);
}

int dn_barrier_test(struct dn_team *team, int *passed)
{
    bool is_passed;
    uint64_t begin_ns = UNLIKELY(host_trace_is_on) ? host_trace_now_ns() : 0;
    int error = passed ? check_team(team) : DN_EINVAL;
    error = error ? error : team_barrier_test(team, &is_passed);
    if (!error) {
        *passed = is_passed;
    }
    if (UNLIKELY(host_trace_is_on) && !error && is_passed) {
        struct host_trace_what what = api_trace_team(HOST_TRACE_BARRIER, team, 0);
        host_trace_note(__func__, &what, begin_ns, host_trace_now_ns(), 0);
    }
    return error;
}

int dn_barrier_wait(struct dn_team *team, uint64_t timeout_ns)
{
    API_TRACED(dn_barrier_wait(team, timeout_ns), api_trace_team(HOST_TRACE_BARRIER, team, 0));
    int error = check_team(team);
    return error ? error : end_barrier(team, team_barrier_wait(team, timeout_ns));
}

/* The error of a reduction that makes no sense is every member's. */
static inline int check_reduction(struct dn_team *team, int reduction_error)
{
    int error = check_team(team);
    return error || LIKELY(!reduction_error) ? error : team_refuse(team, reduction_error);
}

int dn_allreduce(struct dn_team *team, const void *source, void *result, size_t count,
                 enum dn_type type, enum dn_reduction reduction)
{
    API_TRACED(dn_allreduce(team, source, result, count, type, reduction),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, count * type_bytes(type)));
    struct team_reduction call;
    int error = check_reduction(team, team_reduction_of(type, reduction, count, &call));
    return error ? error : team_allreduce(team, source, result, &call);
}

int dn_allreduce_with(struct dn_team *team, const void *source, void *result, size_t count,
                      const struct dn_operator *with)
{
    API_TRACED(dn_allreduce_with(team, source, result, count, with),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, with ? count * with->element_bytes : 0));
    struct team_reduction call;
    int cancellable = base_uncancelled_begin(); /* the operator may be a cancellation point */
    int error = check_reduction(team, team_reduction_with(with, count, &call));
    error = error ? error : team_allreduce(team, source, result, &call);
    base_uncancelled_end(cancellable);
    return error;
}

int dn_scan(struct dn_team *team, const void *source, void *result, size_t count, enum dn_type type,
            enum dn_reduction reduction, enum dn_scan_kind kind)
{
    API_TRACED(dn_scan(team, source, result, count, type, reduction, kind),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, count * type_bytes(type)));
    struct team_reduction call;
    int error = check_reduction(team, team_reduction_of(type, reduction, count, &call));
    return error ? error : team_scan(team, source, result, &call, kind);
}

int dn_scan_with(struct dn_team *team, const void *source, void *result, size_t count,
                 const struct dn_operator *with, enum dn_scan_kind kind)
{
    API_TRACED(dn_scan_with(team, source, result, count, with, kind),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, with ? count * with->element_bytes : 0));
    struct team_reduction call;
    int cancellable = base_uncancelled_begin(); /* the operator may be a cancellation point */
    int error = check_reduction(team, team_reduction_with(with, count, &call));
    error = error ? error : team_scan(team, source, result, &call, kind);
    base_uncancelled_end(cancellable);
    return error;
}

static struct host_trace_what broadcast_call(const struct dn_team *team, size_t bytes, int root)
{
    struct host_trace_what what = api_trace_team(HOST_TRACE_COLLECTIVE, team, bytes);
    if (team_open(team) && (uint32_t)root < team->nic.count) {
        what.peer = (int)team->nic.ranks[root];
    }
    return what;
}

int dn_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root)
{
    API_TRACED(dn_broadcast(team, buffer, bytes, root), broadcast_call(team, bytes, root));
    int error = check_team(team);
    return error ? error : team_broadcast(team, buffer, bytes, root);
}

int dn_allgather(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    API_TRACED(dn_allgather(team, source, result, bytes),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, bytes));
    int error = check_team(team);
    return error ? error : team_allgather(team, source, result, bytes);
}

int dn_allgatherv(struct dn_team *team, const void *source, size_t bytes, void *result,
                  size_t capacity, size_t *sizes)
{
    API_TRACED(dn_allgatherv(team, source, bytes, result, capacity, sizes),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, bytes));
    int error = check_team(team);
    return error ? error : team_allgatherv(team, source, bytes, result, capacity, sizes);
}

int dn_alltoall(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    API_TRACED(dn_alltoall(team, source, result, bytes),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, bytes));
    int error = check_team(team);
    return error ? error : team_alltoall(team, source, result, bytes);
}

int dn_alltoallv(struct dn_team *team, const void *source, const size_t *sizes, void *result,
                 size_t capacity, size_t *received_sizes)
{
    API_TRACED(dn_alltoallv(team, source, sizes, result, capacity, received_sizes),
               api_trace_team(HOST_TRACE_COLLECTIVE, team, 0));
    int error = check_team(team);
    return error ? error : team_alltoallv(team, source, sizes, result, capacity, received_sizes);
}
