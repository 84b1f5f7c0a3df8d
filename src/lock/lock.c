/* Handles on locks, and the ordinary take and give. */
#include "lock/lock.h"

#include <stdlib.h>

#include "lock/lock_way.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct dn_lock *handles;                                /* every one ever made */
static struct dn_lock *closed; /* those of them that may be used again */

static void put_away(struct dn_lock *lock)
{
    pthread_mutex_lock(&table_lock);
    lock->state = LOCK_CLOSED;
    lock->next_closed = closed;
    closed = lock;
    pthread_mutex_unlock(&table_lock);
}

int lock_open(struct dn_node *node, uint32_t rank, _Atomic uint64_t *word, struct dn_lock **made)
{
    pthread_mutex_lock(&table_lock);
    struct dn_lock *lock = closed;
    if (lock) {
        closed = lock->next_closed;
    } else {
        lock = calloc(1, sizeof *lock);
        if (lock) {
            lock->next = handles;
            handles = lock;
        }
    }
    pthread_mutex_unlock(&table_lock);
    if (!lock) {
        return DN_ENOMEM;
    }
    lock->node = node;
    lock->way = fabric_all_in_place(&node->lane) ? &lock_in_place : &lock_by_packets;
    if (!lock->way->open(lock, rank, word)) {
        put_away(lock);
        return DN_EFULL;
    }
    *made = lock;
    return 0;
}

static int check(const struct dn_lock *lock)
{
    return lock->state != LOCK_CLOSED && host_node_open(lock->node) ? 0 : DN_ESTATE;
}

static int check_free(const struct dn_lock *lock)
{
    int error = check(lock);
    return !error && lock->state == LOCK_HELD ? DN_EBUSY : error;
}

static int check_held(const struct dn_lock *lock)
{
    int error = check(lock);
    return !error && lock->state != LOCK_HELD ? DN_ENOTHELD : error;
}

int lock_close(struct dn_lock *lock)
{
    int error = check_free(lock);
    if (!error) {
        lock->way->close(lock);
        put_away(lock);
    }
    return error;
}

void lock_end(void)
{
    pthread_mutex_lock(&table_lock);
    for (struct dn_lock *lock = handles; lock; lock = lock->next) {
        lock->state = LOCK_CLOSED;
        lock->next_closed = lock->next;
    }
    closed = handles;
    pthread_mutex_unlock(&table_lock);
    lock_in_place.end();
    lock_by_packets.end();
}

/* All but the ordinary case. */
static __attribute__((noinline)) int take_carefully(struct dn_lock *lock, uint64_t timeout_ns)
{
    int error = check_free(lock);
    return error ? error : lock->way->take(lock, timeout_ns);
}

/* The ordinary case uses no stack: the compare-swap waits for all stores before it. */
int lock_take(struct dn_lock *lock, uint64_t timeout_ns)
{
    if (LIKELY(lock->state == LOCK_READY && lock->node->lane.open == FABRIC_LANE_OPEN &&
               group_lock_take_again(&lock->queue))) {
        lock->state = LOCK_HELD;
        return 0;
    }
    return take_carefully(lock, timeout_ns);
}

int lock_try(struct dn_lock *lock)
{
    int error = check_free(lock);
    return error ? error : lock->way->take_if_free(lock);
}

static __attribute__((noinline)) int give_carefully(struct dn_lock *lock)
{
    int error = check_held(lock);
    return error ? error : lock->way->give(lock);
}

/* Where operations are done at return, everything is in place already. */
int lock_give(struct dn_lock *lock)
{
    if (UNLIKELY(lock->state != LOCK_HELD || lock->node->lane.open != FABRIC_LANE_OPEN ||
                 !lock->node->lane.is_prompt)) {
        return give_carefully(lock);
    }
    return lock_give_in_place(lock);
}

void lock_word(const struct dn_lock *lock, uint32_t *rank, uint64_t *place)
{
    if (lock->way == &lock_by_packets) {
        *rank = lock->use.manager;
        *place = lock->use.name;
        return;
    }
    const struct group_view *view = lock->queue.view;
    uint64_t offset = (uintptr_t)lock->queue.last_proc - (uintptr_t)view->nodes;
    *rank = (uint32_t)(offset / view->node_stride_bytes);
    *place = offset % view->node_stride_bytes;
}

/* ---- Values -------------------------------------------------------------------------------- */

bool lock_carries_value(const struct dn_lock *lock)
{
    return lock->state != LOCK_CLOSED && lock->way->give_value != NULL;
}

void lock_want_value(struct dn_lock *lock, const struct nic_lock_value *value)
{
    if (lock_carries_value(lock)) {
        lock->use.value = *value;
    }
}

bool lock_has_value(const struct dn_lock *lock)
{
    return lock_carries_value(lock) && lock->state == LOCK_HELD && lock->use.completion.value != 0;
}

int lock_give_value(struct dn_lock *lock, const void *changes, uint32_t bytes)
{
    int error = check_held(lock);
    if (error) {
        return error;
    }
    return lock->way->give_value ? lock->way->give_value(lock, changes, bytes) : lock_give(lock);
}
