/* Collective calls on teams and, deprecated, on active sets. Both are a struct shmem_team:
 * an active set's is made when its members call for the first time. */
#ifndef SHMEM_COLLECTIVE_H
#define SHMEM_COLLECTIVE_H

#include "shmem/checked.h"

#pragma GCC visibility push(hidden)

/* A call as the checks of SHMEM_DEBUG see it. */
struct shmem_collective {
    const char *call;
    uint64_t number; /* that must be the same on all PEs; 0: none */
    int root;
    const void *dest;
    size_t dest_bytes;
    const void *source;
    size_t source_bytes;
    bool in_place; /* dest and source may be the same */
};

/* Ends the job with a sentence if the call is wrong: memory that is not symmetric or overlaps,
 * or PEs that make another call. Says which PEs do not come. */
void shmem_collective_check(const struct shmem_team *team,
                            const struct shmem_collective *collective);

/* The same where it belongs: the description is made only when it is looked at. */
#define SHMEM_COLLECTIVE_CHECK(TEAM, ...)                                            \
    do {                                                                             \
        if (UNLIKELY(shmem_state.debug)) {                                           \
            shmem_collective_check((TEAM), &(struct shmem_collective){__VA_ARGS__}); \
        }                                                                            \
    } while (0)

/* The team of a handle that cannot be used: ends the job. */
_Noreturn void shmem_no_team(const char *call) __attribute__((cold));

/* For the error of a collective call: ends the job, or gives what it returns after a death. */
int shmem_collective_fail(const struct shmem_team *team, const char *call, int error)
    __attribute__((cold));

/* The team of an active set. NULL: this PE is not in it, or a PE of it has died, and the call does
 * nothing. No such set:
 * ends the job. */
struct shmem_team *shmem_active_set(int start, int log_stride, int size, const long *sync,
                                    const char *call);

/* Forgets them; no PE uses one any more. */
void shmem_active_sets_end(void);

static inline struct shmem_team *shmem_members(shmem_team_t handle, const char *call)
{
    struct shmem_team *team = shmem_team_of(handle);
    if (UNLIKELY(!team || !team->dn)) {
        shmem_no_team(call);
    }
    return team;
}

/* What the call returns: 0, or not 0 after a death. Any other error ends the job. */
static inline int shmem_collective_end(const struct shmem_team *team, const char *call, int error)
{
    return UNLIKELY(error) ? shmem_collective_fail(team, call, error) : 0;
}

/* How many bytes so many elements are; a number beyond memory ends the job. */
static inline size_t shmem_bytes_of(size_t count, size_t size, const char *call)
{
    size_t bytes;
    if (UNLIKELY(__builtin_mul_overflow(count, size, &bytes) || bytes > (size_t)PTRDIFF_MAX)) {
        shmem_fail(call, "%zu elements are more than any memory holds; was the number negative?",
                   count);
    }
    return bytes;
}

/* ---- The operations, on a team or an active set alike -------------------------------- */

int shmem_team_barrier(struct shmem_team *team, const char *call);

/* `to_root`: the root's dest is written too. */
int shmem_team_broadcast(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                         int root, bool to_root, const char *call);
int shmem_team_collect(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                       const char *call);
int shmem_team_fcollect(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                        const char *call);
int shmem_team_alltoall(struct shmem_team *team, void *dest, const void *source, size_t bytes,
                        const char *call);
/* `pe` of the description has no meaning. */
int shmem_team_alltoalls(struct shmem_team *team, const struct shmem_strided *exchange,
                         const char *call);

#pragma GCC visibility pop

#endif
