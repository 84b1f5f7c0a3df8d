/* A lock's handle, and the two ways to take its lock. All users of a lock go the same way: in
 * place only if the whole group is in place, else by the packet services of its manager. */
#ifndef LOCK_LOCK_WAY_H
#define LOCK_LOCK_WAY_H

#include "group/lock.h"
#include "host/node.h"
#include "nic/services.h"

/* One word says what may be done with a handle, so that the ordinary take and give compare it
 * once. */
enum lock_state {
    LOCK_CLOSED = 0,
    LOCK_READY = 0x4b434f4c, /* free, in place, with a record: may be taken the quick way */
    LOCK_FREE,               /* free otherwise */
    LOCK_HELD,
};

/* Both ways fill in what they need at open. Functions are called for a handle that is open. */
struct lock_way {
    /* Sets the state to LOCK_READY or LOCK_FREE. False: there are too many handles. */
    bool (*open)(struct dn_lock *lock, uint32_t rank, _Atomic uint64_t *word);
    void (*close)(struct dn_lock *lock);
    /* For a lock that is not held; the state is LOCK_HELD after 0 and DN_EOWNERDEAD. */
    int (*take)(struct dn_lock *lock, uint64_t timeout_ns);
    int (*take_if_free)(struct dn_lock *lock);
    /* For a lock that is held. */
    int (*give)(struct dn_lock *lock);
    /* NULL: the value is at hand. DN_EFULL: no room for the changes; the lock is still held. */
    int (*give_value)(struct dn_lock *lock, const void *changes, uint32_t bytes);
    void (*end)(void); /* forgets all handles */
};

extern const struct lock_way lock_in_place;
extern const struct lock_way lock_by_packets;

/* A use of the manager's services. */
struct lock_use {
    uint64_t name; /* the word's place in its node's memory; the word itself is not written */
    uint64_t ticket;
    struct nic_completion completion;
    uint16_t manager;
    struct nic_lock_value value; /* wanted with the lock; its memory NULL: none */
};

struct dn_lock {
    uint32_t state;        /* enum lock_state */
    uint32_t seen_changes; /* of the group, at the last look at who is gone; in place */
    struct dn_node *node;
    const struct lock_way *way;
    union {
        struct group_lock queue; /* in place */
        struct lock_use use;     /* by packets */
    };
    struct dn_lock *next; /* of all handles */
    struct dn_lock *next_closed;
};

/* Gives a lock in place, when nothing is outstanding, and wakes whoever gets it. */
int lock_wake(const struct dn_lock *lock, uint32_t rank);
static inline __attribute__((always_inline)) int lock_give_in_place(struct dn_lock *lock)
{
    lock->state = LOCK_READY;
    uint32_t rank = group_lock_give(&lock->queue);
    return LIKELY(rank == GROUP_LOCK_NOBODY) ? 0 : lock_wake(lock, rank);
}

#endif
