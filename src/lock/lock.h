/* A process's side of LOCK: handles, waiting, waking. The lock's way (lock/lock_way.h) is chosen
 * when a handle is opened. */
#ifndef LOCK_LOCK_H
#define LOCK_LOCK_H

#include "host/node.h"

/* The word lies in the memory of that rank, which may be a mirror. */
int lock_open(struct dn_node *node, uint32_t rank, _Atomic uint64_t *word, struct dn_lock **lock);
int lock_close(struct dn_lock *lock);
int lock_take(struct dn_lock *lock, uint64_t timeout_ns);
int lock_try(struct dn_lock *lock);
int lock_give(struct dn_lock *lock);

/* Where the word of an open lock lies: its rank, and its place in that node's memory. */
void lock_word(const struct dn_lock *lock, uint32_t *rank, uint64_t *place);

/* The value of a lock (nic/services.h) travels by packets. In place memory is at hand, and taking
 * and giving with a value do as the plain calls. */
struct nic_lock_value;
/* Every grant from now on brings it. */
void lock_want_value(struct dn_lock *lock, const struct nic_lock_value *value);
/* After a take or try that gave the lock: whether the value came with it. */
bool lock_has_value(const struct dn_lock *lock);
/* Whether changes of the value can go with the lock. */
bool lock_carries_value(const struct dn_lock *lock);
/* DN_EFULL: there is no room for the changes now, and the lock is still held. */
int lock_give_value(struct dn_lock *lock, const void *changes, uint32_t bytes);

/* Forgets all handles; the node detaches. */
void lock_end(void);

#endif
