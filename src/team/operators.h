/* The arithmetic of reductions: one loop for each operation and type. */
#ifndef TEAM_OPERATORS_H
#define TEAM_OPERATORS_H

#include <stddef.h>

#include "base/base.h"
#include "dimmnet.h"

/* result[i] = result[i] (op) operand[i]: what struct dn_operator holds. The loops here need
 * no context. */
typedef void (*team_operator)(void *result, const void *operand, size_t count, void *context);

struct team_type {
    size_t bytes; /* of an element */
    size_t alignment;
    team_operator operators[DN_XOR + 1]; /* NULL: makes no sense */
};

enum { TEAM_TYPES = DN_DOUBLE_COMPLEX + 1 };
extern const struct team_type team_types[TEAM_TYPES];

/* NULL for a combination that makes no sense (bits of floating-point numbers, an order of
 * complex ones), or for numbers that are no type or operation. *bytes is the element's size. */
static inline team_operator team_find_operator(enum dn_type type, enum dn_reduction reduction,
                                               size_t *bytes)
{
    if (UNLIKELY((unsigned)type >= TEAM_TYPES || (unsigned)reduction > DN_XOR)) {
        return NULL;
    }
    *bytes = team_types[type].bytes;
    return team_types[type].operators[reduction];
}

#endif
