/* A lock where all memory is in place: the queue is that of group/lock.h, and a handle has one of
 * this node's records in it. */
#include "lock/lock_way.h"

#include <string.h>

#include "host/wait.h"

/* Which of this node's lock records are in use; grown as needed, in order, so that few
 * locks touch little memory. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint8_t record_is_taken[GROUP_LOCK_RECORDS];
static uint32_t record_sequence[GROUP_LOCK_RECORDS]; /* goes on where the last user ended */
/* No record below it is free, except abandoned ones: so opening thousands of handles does not
 * search through all of them each time. */
static uint32_t record_first;

/* With the table's lock held: the first free record from `first` on. */
static bool find_record(struct group_lock *lock, uint32_t first)
{
    bool found = false;
    for (uint32_t index = first; index < GROUP_LOCK_RECORDS && !found; index++) {
        struct group_lock_record *record = group_lock_record(lock->view, lock->view->rank, index);
        if (!record_is_taken[index] && group_lock_record_is_free(record)) {
            record_is_taken[index] = 1;
            lock->record = record;
            lock->record_index = index;
            lock->sequence = record_sequence[index];
            lock->ticket = 0;
            record_first = index + 1;
            found = true;
        }
    }
    return found;
}

static bool take_record(struct group_lock *lock)
{
    pthread_mutex_lock(&table_lock);
    bool found = find_record(lock, record_first) || find_record(lock, 0);
    pthread_mutex_unlock(&table_lock);
    return found;
}

/* Also for an abandoned record: it becomes free once the lock has passed it. */
static void give_record(struct group_lock *lock)
{
    pthread_mutex_lock(&table_lock);
    record_is_taken[lock->record_index] = 0;
    if (group_lock_record_is_free(lock->record) && lock->record_index < record_first) {
        record_first = lock->record_index;
    }
    record_sequence[lock->record_index] = group_lock_sequence(lock);
    lock->record = NULL;
    pthread_mutex_unlock(&table_lock);
}

static bool open_in_place(struct dn_lock *lock, uint32_t rank, _Atomic uint64_t *word)
{
    (void)rank;
    lock->queue = (struct group_lock){.view = &lock->node->process->view, .last_proc = word};
    lock->state = LOCK_READY;
    return take_record(&lock->queue);
}

static void close_in_place(struct dn_lock *lock)
{
    if (lock->state == LOCK_READY) {
        give_record(&lock->queue);
    }
}

static void end_in_place(void)
{
    pthread_mutex_lock(&table_lock);
    memset(record_is_taken, 0, sizeof record_is_taken);
    memset(record_sequence, 0, sizeof record_sequence);
    record_first = 0;
    pthread_mutex_unlock(&table_lock);
}

/* ---- Taking ------------------------------------------------------------------------------- */

struct hope {
    struct dn_lock *lock;
    enum group_lock_outcome outcome;
};

/* Granted, or inherited. It checks who is gone only when somebody has gone, or when another one
 * stands before us than at the last look. */
static bool has_it(void *context)
{
    struct hope *hope = context;
    struct dn_lock *lock = hope->lock;
    if (group_lock_granted(&lock->queue)) {
        hope->outcome = GROUP_LOCK_HELD;
        return true;
    }
    uint32_t changes = atomic_load_explicit(&lock->queue.view->group->change_count,
                                            memory_order_acquire);
    if (UNLIKELY(changes != lock->seen_changes || lock->queue.went_past)) {
        lock->seen_changes = changes;
        hope->outcome = group_lock_inherit(&lock->queue);
        return hope->outcome != GROUP_LOCK_QUEUED;
    }
    return false;
}

static int hold(struct dn_lock *lock, enum group_lock_outcome outcome)
{
    lock->state = LOCK_HELD;
    return outcome == GROUP_LOCK_OWNER_DEAD ? DN_EOWNERDEAD : 0;
}

/* After abandoning: the record stays in the queue, and the handle goes on with another one. If
 * none is left, it has none until a later call finds one. */
static void leave_record(struct dn_lock *lock)
{
    give_record(&lock->queue);
    lock->state = take_record(&lock->queue) ? LOCK_READY : LOCK_FREE;
}

static int wait_in_queue(struct dn_lock *lock, uint64_t timeout_ns)
{
    struct hope hope = {lock, GROUP_LOCK_QUEUED};
    lock->seen_changes = atomic_load_explicit(&lock->queue.view->group->change_count,
                                              memory_order_acquire);
    hope.outcome = group_lock_enqueue(&lock->queue);
    if (hope.outcome != GROUP_LOCK_QUEUED) {
        return hold(lock, hope.outcome);
    }
    if (host_close_polls_fit(lock->node, timeout_ns)) {
        for (int poll = 0; poll < HOST_CLOSE_POLLS; poll++) {
            cpu_relax_briefly();
            if (group_lock_granted(&lock->queue)) {
                return hold(lock, GROUP_LOCK_HELD);
            }
        }
    }
    /* The queue always moves on: a dead holder's lock falls to the next one. */
    struct host_condition condition = {has_it, NULL, &hope, GROUP_WATCH_NOTHING};
    group_lock_tell(&lock->queue);
    int error = host_wait(lock->node, &condition, timeout_ns);
    if (error == 0) {
        return hold(lock, hope.outcome);
    }
    if (group_lock_abandon(&lock->queue) == GROUP_LOCK_HELD) {
        return hold(lock, GROUP_LOCK_HELD);
    }
    leave_record(lock);
    return error;
}

/* A handle that had to leave its record in a queue finds another one. */
static bool has_record(struct dn_lock *lock)
{
    if (lock->state != LOCK_READY && take_record(&lock->queue)) {
        lock->state = LOCK_READY;
    }
    return lock->state == LOCK_READY;
}

static int take_if_free(struct dn_lock *lock)
{
    if (!has_record(lock)) {
        return DN_EFULL;
    }
    enum group_lock_outcome outcome = group_lock_try(&lock->queue);
    if (outcome == GROUP_LOCK_QUEUED) {
        /* Somebody alive came between; step back. */
        if (group_lock_abandon(&lock->queue) != GROUP_LOCK_HELD) {
            leave_record(lock);
            return DN_EBUSY;
        }
        outcome = GROUP_LOCK_HELD;
    }
    return outcome == GROUP_LOCK_BUSY ? DN_EBUSY : hold(lock, outcome);
}

/* A caller that does not wait does not enter the queue either, so nothing of it stays behind. */
static int take(struct dn_lock *lock, uint64_t timeout_ns)
{
    if (!has_record(lock)) {
        return DN_EFULL;
    }
    if (timeout_ns != 0) {
        return wait_in_queue(lock, timeout_ns);
    }
    int error = take_if_free(lock);
    return error == DN_EBUSY ? DN_ETIMEOUT : error;
}

/* ---- Giving ------------------------------------------------------------------------------- */

__attribute__((noinline)) int lock_wake(const struct dn_lock *lock, uint32_t rank)
{
    fabric_wake(lock->queue.view, rank);
    return 0;
}

/* What was stored under the lock must be in place before the next holder can look; where
 * operations are done at return, the release in giving orders it already. */
static int give(struct dn_lock *lock)
{
    struct fabric_lane *lane = &lock->node->lane;
    int error = lane->is_prompt ? 0 : lane->ops->quiet(lane);
    return error ? error : lock_give_in_place(lock);
}

const struct lock_way lock_in_place = {
    .open = open_in_place,
    .close = close_in_place,
    .take = take,
    .take_if_free = take_if_free,
    .give = give,
    .end = end_in_place,
};
