/* Entry points: teams and their collective calls. */
#include "api/check.h"
#include "base/uncancelled.h"
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

struct dn_team *dn_team_all(struct dn_node *node)
{
    return host_node_open(node) ? team_all(node) : NULL;
}

int dn_team_create(struct dn_node *node, const int *ranks, size_t count, struct dn_team **team)
{
    int error = ranks && team ? api_check(node) : DN_EINVAL;
    return error ? error : team_create(node, ranks, count, team);
}

int dn_team_split(struct dn_team *team, int color, int key, struct dn_team **part)
{
    int error = part ? check_team(team) : DN_EINVAL;
    return error ? error : team_split(team, color, key, part);
}

int dn_team_shrink(struct dn_team *team, struct dn_team **survivors)
{
    size_t acknowledged;
    int error = survivors ? check_team(team) : DN_EINVAL;
    error = error ? error : team_shrink(team, survivors);
    return error ? error : dn_failure_ack(team->node, NULL, 0, &acknowledged);
}

int dn_team_revoke(struct dn_team *team)
{
    int error = check_team(team);
    return error ? error : team_revoke(team);
}

int dn_team_free(struct dn_team *team)
{
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

int dn_barrier(struct dn_team *team, uint64_t timeout_ns)
{
    int error = check_team(team);
    return error ? error : end_barrier(team, team_barrier(team, timeout_ns));
}

int dn_barrier_kind(struct dn_team *team, enum dn_barrier_kind kind)
{
    int error = (unsigned)kind <= DN_BARRIER_NIC ? check_team(team) : DN_EINVAL;
    return error ? error : team_barrier_kind(team, kind);
}

int dn_barrier_arrive(struct dn_team *team)
{
    int error = check_team(team);
    return error ? error : team_barrier_arrive(team);
}

int dn_barrier_test(struct dn_team *team, int *passed)
{
    bool is_passed;
    int error = passed ? check_team(team) : DN_EINVAL;
    error = error ? error : team_barrier_test(team, &is_passed);
    if (!error) {
        *passed = is_passed;
    }
    return error;
}

int dn_barrier_wait(struct dn_team *team, uint64_t timeout_ns)
{
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
    struct team_reduction call;
    int error = check_reduction(team, team_reduction_of(type, reduction, count, &call));
    return error ? error : team_allreduce(team, source, result, &call);
}

int dn_allreduce_with(struct dn_team *team, const void *source, void *result, size_t count,
                      const struct dn_operator *with)
{
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
    struct team_reduction call;
    int error = check_reduction(team, team_reduction_of(type, reduction, count, &call));
    return error ? error : team_scan(team, source, result, &call, kind);
}

int dn_scan_with(struct dn_team *team, const void *source, void *result, size_t count,
                 const struct dn_operator *with, enum dn_scan_kind kind)
{
    struct team_reduction call;
    int cancellable = base_uncancelled_begin(); /* the operator may be a cancellation point */
    int error = check_reduction(team, team_reduction_with(with, count, &call));
    error = error ? error : team_scan(team, source, result, &call, kind);
    base_uncancelled_end(cancellable);
    return error;
}

int dn_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root)
{
    int error = check_team(team);
    return error ? error : team_broadcast(team, buffer, bytes, root);
}

int dn_allgather(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    int error = check_team(team);
    return error ? error : team_allgather(team, source, result, bytes);
}

int dn_allgatherv(struct dn_team *team, const void *source, size_t bytes, void *result,
                  size_t capacity, size_t *sizes)
{
    int error = check_team(team);
    return error ? error : team_allgatherv(team, source, bytes, result, capacity, sizes);
}

int dn_alltoall(struct dn_team *team, const void *source, void *result, size_t bytes)
{
    int error = check_team(team);
    return error ? error : team_alltoall(team, source, result, bytes);
}

int dn_alltoallv(struct dn_team *team, const void *source, const size_t *sizes, void *result,
                 size_t capacity, size_t *received_sizes)
{
    int error = check_team(team);
    return error ? error : team_alltoallv(team, source, sizes, result, capacity, received_sizes);
}
