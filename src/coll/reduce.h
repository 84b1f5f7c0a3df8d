/* Reductions, broadcast and gathering on a team. */
#ifndef COLL_REDUCE_H
#define COLL_REDUCE_H

#include "coll/team.h"

/* Bytes of one element, 0 for a type or an operation on it that makes no sense. */
size_t coll_element_bytes(enum dn_type type, enum dn_reduction reduction);

/* result[i] = source[i] of member 0 (op) source[i] of member 1 (op) ...: always in team
 * order, so that floating-point results are the same everywhere and every time. */
int coll_allreduce(struct dn_team *team, const void *source, void *result, size_t count,
                   enum dn_type type, enum dn_reduction reduction);

int coll_broadcast(struct dn_team *team, void *buffer, size_t bytes, int root);
int coll_allgather(struct dn_team *team, const void *source, void *result, size_t bytes);

#endif
