/* Which ranges of the shared space this node knows to be bound, and to what: by offset, without
 * overlaps. Others may have bound and unbound since; a node that learns of a newer binding
 * removes what stands in its way. */
#ifndef FAGUS_BOUND_H
#define FAGUS_BOUND_H

#include "fagus/sync.h"

struct fagus_bound {
    uint64_t offset;
    uint64_t bytes;
    struct fagus_sync *sync;
};

/* The first bound piece that overlaps the range and is not `except`'s. False: none. */
bool fagus_bound_find(uint64_t offset, uint64_t bytes, const struct fagus_sync *except,
                      struct fagus_bound *found);

/* Enters all ranges of a variable; pieces of others that overlap them are taken out. False: no
 * memory; then the table knows less than it could. */
bool fagus_bound_enter(struct fagus_sync *sync);
/* Takes out what it holds of the variable. */
void fagus_bound_remove(struct fagus_sync *sync);

/* Remembers that its ranges, which are about to be another's or nobody's, were bound; and whether
 * any of a range was: this node may then have old values there. */
void fagus_bound_remember(const struct fagus_sync *sync);
bool fagus_bound_was(uint64_t offset, uint64_t bytes);

/* Calls for each piece that overlaps the range, in order, with the table locked. Inside
 * fagus_bound_try_lock's, which a signal handler can call, use the second. */
typedef void (*fagus_bound_call)(const struct fagus_bound *bound, void *context);
void fagus_bound_each(uint64_t offset, uint64_t bytes, fagus_bound_call call, void *context);
void fagus_bound_each_unlocked(uint64_t offset, uint64_t bytes, fagus_bound_call call,
                               void *context);
bool fagus_bound_try_lock(void);

void fagus_bound_close(void);

#endif
