/* A process's side of LOCK: handles, waiting, waking. The queue is nic/lock.h's; on packet
 * fabrics it is in the services, and coll/packet_lock.h asks them. */
#ifndef COLL_LOCK_H
#define COLL_LOCK_H

#include "host/node.h"

/* The word is in the memory of that rank, which may be a mirror. */
int coll_lock_open(struct dn_node *node, uint32_t rank, _Atomic uint64_t *word,
                   struct dn_lock **lock);
int coll_lock_close(struct dn_lock *lock);
int coll_lock_take(struct dn_lock *lock, uint64_t timeout_ns);
int coll_lock_try(struct dn_lock *lock);
int coll_lock_give(struct dn_lock *lock);

/* Forgets all handles; the node detaches. */
void coll_lock_end(void);

#endif
