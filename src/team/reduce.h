/* Reductions, prefixes, broadcast and gathering on a team. */
#ifndef TEAM_REDUCE_H
#define TEAM_REDUCE_H

#include "team/operators.h"
#include "team/team.h"

/* What a call does with its elements, and how many there are. */
struct team_reduction {
    team_operator combine;
    void *context;
    size_t element_bytes;
    size_t count;
    uint64_t argument;
    size_t alignment; /* that `combine` relies on */
};

/* Makes a call's reduction from a type and an operation, or from the caller's own operator.
 * DN_EINVAL: they make no sense. The argument has the numbers of the call exactly. */
static inline int team_reduction_of(enum dn_type type, enum dn_reduction operation, size_t count,
                                    struct team_reduction *reduction)
{
    size_t bytes = 0;
    team_operator combine = team_find_operator(type, operation, &bytes);
    if (UNLIKELY(!combine || count >= UINT64_C(1) << 40)) {
        return DN_EINVAL;
    }
    *reduction = (struct team_reduction){
        .combine = combine,
        .element_bytes = bytes,
        .count = count,
        .argument = (uint64_t)TEAM_REDUCE << 56 | (uint64_t)type << 48 | (uint64_t)operation << 40 |
                    count,
        .alignment = team_types[type].alignment,
    };
    return 0;
}
int team_reduction_with(const struct dn_operator *with, size_t count,
                        struct team_reduction *reduction);

/* result[i] = source[i] of member 0 (op) source[i] of member 1 (op) ...: always in team
 * order, so that floating-point results are the same on every member and in every run. */
int team_allreduce(struct dn_team *team, const void *source, void *result,
                   const struct team_reduction *reduction);

/* The same up to this member, or up to the one before it. */
int team_scan(struct dn_team *team, const void *source, void *result,
              const struct team_reduction *reduction, enum dn_scan_kind kind);

int team_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root);
int team_allgather(struct dn_team *team, const void *source, void *result, size_t bytes);

/* Varying numbers of bytes: see dimmnet.h. */
int team_allgatherv(struct dn_team *team, const void *source, size_t bytes, void *result,
                    size_t capacity, size_t *sizes);
int team_alltoall(struct dn_team *team, const void *source, void *result, size_t bytes);
int team_alltoallv(struct dn_team *team, const void *source, const size_t *sizes, void *result,
                   size_t capacity, size_t *received_sizes);

/* ---- For reductions and prefixes alike ------------------------------------------ */

/* A piece of elements that stays in the first cache; no element is larger. */
enum { TEAM_PIECE_BYTES = 8192 };

/* How a call reduces what is large; `summands` as below. */
typedef int (*team_reduce_large)(struct dn_team *team, const struct team_reduction *reduction,
                                 const unsigned char *source, unsigned char *result,
                                 uint32_t summands);

/* The whole call. This member's result is made of the data of the first `summands` members; of
 * none it is left as it is. */
int team_reduce_by_size(struct dn_team *team, const void *source, void *result,
                        const struct team_reduction *reduction, uint32_t summands,
                        team_reduce_large large);

/* Where a member's slice of `count` elements begins; slices are whole cache lines. The slice
 * behind the last member's begins at the end. */
size_t team_slice_start(const struct dn_team *team, uint32_t index, size_t count,
                        size_t element_bytes);

/* Shows peers their slices of these elements where they lie, or in staging memory: the place. */
uint64_t team_show_slices(struct dn_team *team, const struct team_reduction *reduction,
                          const unsigned char *source, size_t count);

/* How many elements go in one chunk: all of them if everybody's data can be read and written
 * where it lies, which takes a phase to find out, for sizes where that does not show. */
int team_choose_chunk(struct dn_team *team, const struct team_reduction *reduction,
                      const void *source, const void *result, size_t *chunk);

#endif
