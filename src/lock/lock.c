/* Handles on locks. */
#include "lock/lock.h"

#include <stdlib.h>
#include <string.h>

#include "lock/lock_by_packets.h"
#include "host/wait.h"
#include "group/lock.h"

/* One word says what may be done with a handle, so that the ordinary take and give
 * compare it once. */
enum handle_state {
    HANDLE_CLOSED = 0,
    HANDLE_FREE = 0x4b434f4c, /* may ask for its lock */
    HANDLE_HELD,
    HANDLE_BARE, /* open, but no record was left for it */
    /* On packet fabrics: no other states, so that the ordinary path need not ask. */
    HANDLE_PACKET_FREE,
    HANDLE_PACKET_HELD,
};

struct dn_lock {
    uint32_t state; /* enum handle_state */
    struct dn_node *node;
    union {
        struct group_lock nic;
        struct lock_by_packets packet; /* PACKET_FREE, PACKET_HELD */
    };
    uint32_t seen_changes; /* of the group, at the last look at who is gone */
    struct dn_lock *next;  /* of all handles */
    struct dn_lock *next_closed;
};

/* Which of this node's lock records are in use; grown as needed, in order, so that few
 * locks touch little memory. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct dn_lock *handles;                                /* every one ever made */
static struct dn_lock *closed; /* those of them that may be used again */
static uint8_t record_is_taken[GROUP_LOCK_RECORDS];
static uint32_t record_sequence[GROUP_LOCK_RECORDS]; /* goes on where the last user ended */
/* Below it no record is free but those that somebody abandoned: thousands of handles are
 * not each the end of a search through all before. */
static uint32_t record_first;
static uint32_t packet_count; /* open handles of packet locks, which need no record */

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

/* An abandoned record is given up as well: it is free again once the lock has passed it. */
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

/* As many handles as elsewhere: a program that finds them enough there does here. */
static bool take_packet_handle(void)
{
    pthread_mutex_lock(&table_lock);
    bool found = packet_count < GROUP_LOCK_RECORDS;
    packet_count += found;
    pthread_mutex_unlock(&table_lock);
    return found;
}

static void give_packet_handle(void)
{
    pthread_mutex_lock(&table_lock);
    packet_count--;
    pthread_mutex_unlock(&table_lock);
}

static void put_away(struct dn_lock *lock)
{
    pthread_mutex_lock(&table_lock);
    lock->state = HANDLE_CLOSED;
    lock->next_closed = closed;
    closed = lock;
    pthread_mutex_unlock(&table_lock);
}

static bool set_up(struct dn_lock *lock, uint32_t rank, _Atomic uint64_t *word)
{
    const struct group_view *view = &lock->node->process->view;
    if (fabric_all_in_place(&lock->node->lane)) {
        lock->nic = (struct group_lock){.view = view, .last_proc = word};
        lock->state = HANDLE_FREE;
        return take_record(&lock->nic);
    }
    uintptr_t start = (uintptr_t)group_node_memory(view, rank);
    lock->packet = (struct lock_by_packets){
        .node = lock->node, .name = (uintptr_t)word - start, .manager = (uint16_t)rank};
    lock->state = HANDLE_PACKET_FREE;
    return take_packet_handle();
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
    if (!set_up(lock, rank, word)) {
        put_away(lock);
        return DN_EFULL;
    }
    *made = lock;
    return 0;
}

static int check(const struct dn_lock *lock)
{
    return lock->state != HANDLE_CLOSED && host_node_open(lock->node) ? 0 : DN_ESTATE;
}

int lock_close(struct dn_lock *lock)
{
    int error = check(lock);
    if (error) {
        return error;
    }
    if (lock->state == HANDLE_HELD || lock->state == HANDLE_PACKET_HELD) {
        return DN_EBUSY;
    }
    if (lock->state == HANDLE_FREE) {
        give_record(&lock->nic);
    } else if (lock->state == HANDLE_PACKET_FREE) {
        give_packet_handle();
    }
    put_away(lock);
    return 0;
}

void lock_end(void)
{
    pthread_mutex_lock(&table_lock);
    for (struct dn_lock *lock = handles; lock; lock = lock->next) {
        lock->state = HANDLE_CLOSED;
        lock->next_closed = lock->next;
    }
    memset(record_is_taken, 0, sizeof record_is_taken);
    memset(record_sequence, 0, sizeof record_sequence);
    record_first = 0;
    packet_count = 0;
    closed = handles;
    pthread_mutex_unlock(&table_lock);
}

struct hope {
    struct dn_lock *lock;
    enum group_lock_outcome outcome;
};

/* Granted, or inherited: who is gone is looked at only when somebody has gone, or when
 * another one stands before us than at the last look. */
static bool has_it(void *context)
{
    struct hope *hope = context;
    struct dn_lock *lock = hope->lock;
    if (group_lock_granted(&lock->nic)) {
        hope->outcome = GROUP_LOCK_HELD;
        return true;
    }
    uint32_t changes = atomic_load_explicit(&lock->nic.view->group->change_count,
                                            memory_order_acquire);
    if (UNLIKELY(changes != lock->seen_changes || lock->nic.went_past)) {
        lock->seen_changes = changes;
        hope->outcome = group_lock_inherit(&lock->nic);
        return hope->outcome != GROUP_LOCK_QUEUED;
    }
    return false;
}

/* The queue always moves on: a dead holder's lock falls to the next one. */
static bool never(const struct dn_node *node, void *context, bool forever)
{
    (void)node;
    (void)context;
    (void)forever;
    return false;
}

static int hold(struct dn_lock *lock, enum group_lock_outcome outcome)
{
    lock->state = HANDLE_HELD;
    return outcome == GROUP_LOCK_OWNER_DEAD ? DN_EOWNERDEAD : 0;
}

/* After abandoning: the record stays in the queue, and the handle goes on with another
 * one. Without one left it has none until the next call finds one. */
static void leave_record(struct dn_lock *lock)
{
    give_record(&lock->nic);
    lock->state = take_record(&lock->nic) ? HANDLE_FREE : HANDLE_BARE;
}

static __attribute__((noinline)) int wait_in_queue(struct dn_lock *lock, uint64_t timeout_ns)
{
    struct hope hope = {lock, GROUP_LOCK_QUEUED};
    lock->seen_changes = atomic_load_explicit(&lock->nic.view->group->change_count,
                                              memory_order_acquire);
    hope.outcome = group_lock_enqueue(&lock->nic);
    if (hope.outcome != GROUP_LOCK_QUEUED) {
        return hold(lock, hope.outcome);
    }
    if (host_close_polls_fit(lock->node, timeout_ns)) {
        for (int poll = 0; poll < HOST_CLOSE_POLLS; poll++) {
            cpu_relax_briefly();
            if (group_lock_granted(&lock->nic)) {
                return hold(lock, GROUP_LOCK_HELD);
            }
        }
    }
    struct host_condition condition = {has_it, never, &hope, GROUP_WATCH_NOTHING};
    group_lock_tell(&lock->nic);
    int error = host_wait(lock->node, &condition, timeout_ns);
    if (error == 0) {
        return hold(lock, hope.outcome);
    }
    if (group_lock_abandon(&lock->nic) == GROUP_LOCK_HELD) {
        return hold(lock, GROUP_LOCK_HELD);
    }
    leave_record(lock);
    return error;
}

/* Who does not wait does not enter the queue either: nothing of it would stay behind. */
static __attribute__((noinline)) int take_at_once(struct dn_lock *lock)
{
    int error = lock_try(lock);
    return error == DN_EBUSY ? DN_ETIMEOUT : error;
}

/* Whether a handle may ask for its lock; finds it a record should it have none. */
static int prepare(struct dn_lock *lock)
{
    int error = check(lock);
    if (error || lock->state == HANDLE_FREE || lock->state == HANDLE_PACKET_FREE) {
        return error;
    }
    if (lock->state == HANDLE_HELD || lock->state == HANDLE_PACKET_HELD) {
        return DN_EBUSY;
    }
    if (!take_record(&lock->nic)) {
        return DN_EFULL;
    }
    lock->state = HANDLE_FREE;
    return 0;
}

/* What a packet lock's take or try came to. */
static int hold_packet(struct dn_lock *lock, int result)
{
    if (result == 0 || result == DN_EOWNERDEAD) {
        lock->state = HANDLE_PACKET_HELD;
    }
    return result;
}

/* All but the ordinary case. */
static __attribute__((noinline)) int take_carefully(struct dn_lock *lock, uint64_t timeout_ns)
{
    int error = prepare(lock);
    if (error) {
        return error;
    }
    if (lock->state == HANDLE_PACKET_FREE) {
        return hold_packet(lock, lock_by_packets_take(&lock->packet, timeout_ns));
    }
    return timeout_ns ? wait_in_queue(lock, timeout_ns) : take_at_once(lock);
}

/* The ordinary case uses no stack: what lies in the store buffer is waited for by the
 * compare-swap. */
int lock_take(struct dn_lock *lock, uint64_t timeout_ns)
{
    if (LIKELY(lock->state == HANDLE_FREE && lock->node->lane.open == FABRIC_LANE_OPEN &&
               group_lock_take_again(&lock->nic))) {
        lock->state = HANDLE_HELD;
        return 0;
    }
    return take_carefully(lock, timeout_ns);
}

int lock_try(struct dn_lock *lock)
{
    int error = prepare(lock);
    if (error) {
        return error;
    }
    if (lock->state == HANDLE_PACKET_FREE) {
        return hold_packet(lock, lock_by_packets_try(&lock->packet));
    }
    enum group_lock_outcome outcome = group_lock_try(&lock->nic);
    if (outcome == GROUP_LOCK_QUEUED) {
        /* Somebody alive came between; step back. */
        if (group_lock_abandon(&lock->nic) != GROUP_LOCK_HELD) {
            leave_record(lock);
            return DN_EBUSY;
        }
        outcome = GROUP_LOCK_HELD;
    }
    return outcome == GROUP_LOCK_BUSY ? DN_EBUSY : hold(lock, outcome);
}

static __attribute__((noinline)) int give_and_wake(struct dn_lock *lock, uint32_t rank)
{
    fabric_wake(lock->nic.view, rank);
    return 0;
}

static inline __attribute__((always_inline)) int give(struct dn_lock *lock)
{
    lock->state = HANDLE_FREE;
    uint32_t rank = group_lock_give(&lock->nic);
    return LIKELY(rank == GROUP_LOCK_NOBODY) ? 0 : give_and_wake(lock, rank);
}

static __attribute__((noinline)) int give_carefully(struct dn_lock *lock)
{
    int error = check(lock);
    if (!error && lock->state == HANDLE_PACKET_HELD) {
        lock->state = HANDLE_PACKET_FREE;
        return lock_by_packets_give(&lock->packet);
    }
    if (error || lock->state != HANDLE_HELD) {
        return error ? error : DN_ENOTHELD;
    }
    /* What was stored under the lock is in place before the next holder can look; on a
     * direct fabric the release in giving orders it already. */
    if (!lock->node->lane.is_prompt) {
        error = lock->node->lane.ops->quiet(&lock->node->lane);
    }
    return error ? error : give(lock);
}

int lock_give(struct dn_lock *lock)
{
    if (UNLIKELY(lock->state != HANDLE_HELD || lock->node->lane.open != FABRIC_LANE_OPEN ||
                 !lock->node->lane.is_prompt)) {
        return give_carefully(lock);
    }
    return give(lock);
}

/* ---- Values -------------------------------------------------------------------------------- */

bool lock_carries_value(const struct dn_lock *lock)
{
    return lock->state == HANDLE_PACKET_FREE || lock->state == HANDLE_PACKET_HELD;
}

void lock_want_value(struct dn_lock *lock, const struct nic_lock_value *value)
{
    if (lock_carries_value(lock)) {
        lock->packet.value = value ? *value : (struct nic_lock_value){0};
    }
}

bool lock_has_value(const struct dn_lock *lock)
{
    return lock->state == HANDLE_PACKET_HELD && lock->packet.completion.value != 0;
}

int lock_give_value(struct dn_lock *lock, const void *changes, uint32_t bytes)
{
    int error = check(lock);
    if (error || lock->state != HANDLE_PACKET_HELD) {
        return error ? error : lock_give(lock);
    }
    error = lock_by_packets_give_value(&lock->packet, changes, bytes);
    if (error != DN_EFULL) {
        lock->state = HANDLE_PACKET_FREE;
    }
    return error;
}
