/* The arithmetic of reductions: one loop for each operation and type. */
#ifndef TEAM_OPERATORS_H
#define TEAM_OPERATORS_H

#include <stddef.h>

#include "dimmnet.h"

/* result[i] = result[i] (op) operand[i]: what struct dn_operator holds. The loops here need
 * no context. */
typedef void (*team_operator)(void *result, const void *operand, size_t count, void *context);

/* NULL for a combination that makes no sense (bits of floating-point numbers, an order of
 * complex ones), or for numbers that are no type or operation. *bytes is the element's size. */
team_operator team_find_operator(enum dn_type type, enum dn_reduction reduction, size_t *bytes);
/* Of the elements of a type that has operators. */
size_t team_alignment_of(enum dn_type type);

#endif
