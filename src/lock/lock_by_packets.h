/* A lock where other nodes' memory cannot be reached: the handle asks this node's services
 * (nic/services.h), and the node that holds the lock's word manages it. The word itself is
 * not written; where it lies is the lock's name. */
#ifndef LOCK_LOCK_BY_PACKETS_H
#define LOCK_LOCK_BY_PACKETS_H

#include "host/node.h"
#include "nic/services.h"

struct lock_by_packets {
    struct dn_node *node;
    uint64_t name; /* the word's place in its node's memory */
    uint64_t ticket;
    struct nic_completion completion;
    uint16_t manager;
    struct nic_lock_value value; /* that is wanted with the lock; its memory NULL: none */
    const void *changes;         /* of the value, by a release */
    uint32_t changes_bytes;
};

/* Both: 0 or DN_EOWNERDEAD, it is held. DN_EPEER: the manager is gone. DN_EFULL: its tables,
 * or this node's. */
int lock_by_packets_take(struct lock_by_packets *lock, uint64_t timeout_ns); /* DN_ETIMEOUT */
int lock_by_packets_try(struct lock_by_packets *lock);                       /* DN_EBUSY */

/* Of one that is held, which it is no longer, whatever this returns. DN_EPEER: somebody whom
 * the lane sent to is gone, perhaps the manager. */
int lock_by_packets_give(struct lock_by_packets *lock);

/* The same with these changes of the lock's value, and without waiting for what the lane sent. Only
 * after DN_EFULL it is still held. */
int lock_by_packets_give_value(struct lock_by_packets *lock, const void *changes, uint32_t bytes);

#endif
