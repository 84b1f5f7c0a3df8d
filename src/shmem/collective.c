/* Barriers, broadcast, collect, all-to-all. */
#include "shmem/collective.h"
#include "shmem/failure.h"

#include <string.h>

/* ---- Errors --------------------------------------------------------------------------- */

void shmem_no_team(const char *call)
{
    shmem_require_initialised(call);
    shmem_fail(call, "the team is SHMEM_TEAM_INVALID; this PE is not in it");
}

int shmem_collective_fail(const struct shmem_team *team, const char *call, int error)
{
    if (error == DN_EMISMATCH) {
        shmem_fail(call, "the PEs of the team made different calls, or gave different numbers%s",
                   shmem_state.debug ? "" : "; run again with SHMEM_DEBUG=1 to see which");
    }
    shmem_require_initialised(call);
    /* An active set's team is not there if a member has given it up before it was. */
    bool is_given_up = error == DN_EPEER && (!team->dn || inner_team_is_given_up(team->dn));
    if (is_given_up && shmem_state.goes_on && !shmem_await_death(team)) {
        return -1;
    }
    shmem_on_error(call, error, shmem_dead_member(team));
    return -1;
}

/* ---- On a team of either kind ----------------------------------------------------------- */

/* A barrier also completes what a PE has sent, which is more than a sync asks for. */
int shmem_team_barrier(struct shmem_team *team, const char *call)
{
    SHMEM_COLLECTIVE_CHECK(team, .call = call);
    inner_trace_as(shmem_state.node, call);
    return shmem_collective_end(team, call, dn_barrier(team->dn, DN_FOREVER));
}

int shmem_team_broadcast(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                         int root, bool to_root, const char *call)
{
    if (UNLIKELY(root < 0 || root >= team->n_pes)) {
        shmem_fail(call, "PE_root %d is not one of the %d PEs that take part", root, team->n_pes);
    }
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .number = bytes, .root = root, .dest = dest,
                           .dest_bytes = bytes, .source = source, .source_bytes = bytes,
                           .in_place = true);
    bool is_root = root == team->my_pe;
    /* The root's buffer is only read. */
    void *buffer = is_root ? (void *)(uintptr_t)source : dest;
    inner_trace_as(shmem_state.node, call);
    int error = dn_broadcast(team->dn, buffer, bytes, root);
    if (is_root && to_root && bytes != 0 && !error) {
        memmove(dest, source, bytes);
    }
    return shmem_collective_end(team, call, error);
}

int shmem_team_collect(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                       const char *call)
{
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .dest = dest, .source = source,
                           .source_bytes = bytes);
    inner_trace_as(shmem_state.node, call);
    int error = dn_allgatherv(team->dn, source, bytes, dest, dest ? SIZE_MAX : 0, NULL);
    return shmem_collective_end(team, call, error);
}

int shmem_team_fcollect(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                        const char *call)
{
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .number = bytes, .dest = dest,
                           .dest_bytes = bytes * (size_t)team->n_pes, .source = source,
                           .source_bytes = bytes);
    inner_trace_as(shmem_state.node, call);
    return shmem_collective_end(team, call, dn_allgather(team->dn, source, dest, bytes));
}

int shmem_team_alltoall(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                        const char *call)
{
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .number = bytes, .dest = dest,
                           .dest_bytes = bytes * (size_t)team->n_pes, .source = source,
                           .source_bytes = bytes * (size_t)team->n_pes);
    inner_trace_as(shmem_state.node, call);
    return shmem_collective_end(team, call, dn_alltoall(team->dn, source, dest, bytes));
}

/* One block of strided elements from a PE. */
static void fetch_strided(const struct shmem_strided *exchange, void *dest, const void *source,
                          int pe)
{
    switch (exchange->size) {
    case 1: pshmem_iget8(dest, source, exchange->dst, exchange->sst, exchange->count, pe); break;
    case 2: pshmem_iget16(dest, source, exchange->dst, exchange->sst, exchange->count, pe); break;
    case 4: pshmem_iget32(dest, source, exchange->dst, exchange->sst, exchange->count, pe); break;
    case 8: pshmem_iget64(dest, source, exchange->dst, exchange->sst, exchange->count, pe); break;
    default:
        INVARIANT(exchange->size == 16);
        pshmem_iget128(dest, source, exchange->dst, exchange->sst, exchange->count, pe);
        break;
    }
}

/* Each PE fetches what is for it: between two barriers, so that all sources are ready, and
 * free again at the end. */
int shmem_team_alltoalls(struct shmem_team *team, const struct shmem_strided *exchange,
                         const char *call)
{
    if (UNLIKELY(exchange->dst < 1 || exchange->sst < 1)) {
        shmem_fail(call, "strides must be at least 1, not %td and %td", exchange->dst,
                   exchange->sst);
    }
    size_t members = (size_t)team->n_pes;
    size_t dest_block = shmem_bytes_of(shmem_bytes_of(exchange->count, exchange->size, call),
                                       (size_t)exchange->dst, call);
    size_t source_block = shmem_bytes_of(shmem_bytes_of(exchange->count, exchange->size, call),
                                         (size_t)exchange->sst, call);
    /* Behind the last element of the last block nothing need be there. */
    size_t dest_rest = ((size_t)exchange->dst - 1) * exchange->size;
    size_t source_rest = ((size_t)exchange->sst - 1) * exchange->size;
    bool nothing = exchange->count == 0;
    SHMEM_COLLECTIVE_CHECK(team, .call = call, .number = exchange->count, .dest = exchange->dest,
                           .dest_bytes = nothing ? 0 : dest_block * members - dest_rest,
                           .source = exchange->source,
                           .source_bytes = nothing ? 0 : source_block * members - source_rest);
    struct inner_trace trace = inner_trace_begin(shmem_state.node, INNER_TRACE_COLLECTIVE, call,
                                                 exchange->count * exchange->size);
    int error = dn_barrier(team->dn, DN_FOREVER);
    const unsigned char *source = (const unsigned char *)exchange->source +
                                  (size_t)team->my_pe * source_block;
    for (int step = 0; step < team->n_pes && !nothing && !error; step++) {
        /* Everybody begins with itself, so that not all read from the same PE. */
        int from = (team->my_pe + step) % team->n_pes;
        fetch_strided(exchange, (unsigned char *)exchange->dest + (size_t)from * dest_block, source,
                      team->pes[from]);
    }
    error = error ? error : dn_barrier(team->dn, DN_FOREVER);
    inner_trace_end(trace, error);
    return shmem_collective_end(team, call, error);
}

/* ---- The functions of bytes ---------------------------------------------------------------- */

#define WORLD shmem_members(SHMEM_TEAM_WORLD, SHMEM_CALL_NAME)

SHMEM_DEFINE(void, barrier_all, (void), shmem_team_barrier(WORLD, SHMEM_CALL_NAME))
SHMEM_DEFINE(void, sync_all, (void), shmem_team_barrier(WORLD, SHMEM_CALL_NAME))

/* What the definitions below have in common: the team and the number of bytes. */
#define TEAM shmem_members(team, SHMEM_CALL_NAME)
#define BYTES(SIZE) shmem_bytes_of(nelems, (SIZE), SHMEM_CALL_NAME)

#define DEFINE(BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, TYPE, SIZE)                      \
    SHMEM_DEFINE(int, BROADCAST,                                                                   \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nelems, int PE_root), \
                 return shmem_team_broadcast(TEAM, dest, source, BYTES(SIZE), PE_root, true,       \
                                             SHMEM_CALL_NAME))                                     \
    SHMEM_DEFINE(int, COLLECT,                                                                     \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nelems),              \
                 return shmem_team_collect(TEAM, dest, source, BYTES(SIZE), SHMEM_CALL_NAME))      \
    SHMEM_DEFINE(int, FCOLLECT,                                                                    \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nelems),              \
                 return shmem_team_fcollect(TEAM, dest, source, BYTES(SIZE), SHMEM_CALL_NAME))     \
    SHMEM_DEFINE(int, ALLTOALL,                                                                    \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, size_t nelems),              \
                 return shmem_team_alltoall(TEAM, dest, source, BYTES(SIZE), SHMEM_CALL_NAME))     \
    SHMEM_DEFINE(int, ALLTOALLS,                                                                   \
                 (shmem_team_t team, TYPE * dest, const TYPE *source, ptrdiff_t dst,               \
                  ptrdiff_t sst, size_t nelems),                                                   \
                 struct shmem_strided exchange = {dest, source, dst, sst, 1, nelems, (SIZE), 0};   \
                 return shmem_team_alltoalls(TEAM, &exchange, SHMEM_CALL_NAME))

#define DEFINE_TYPED(NAME, TYPE, A, B)                                                           \
    DEFINE(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls, \
           TYPE, sizeof(TYPE))

SHMEM_RMA_TYPES(DEFINE_TYPED, , )
DEFINE(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)
