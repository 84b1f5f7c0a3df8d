/* The queue: entering, waiting, going past, giving. */
#include "group/lock.h"

#include "group/service_memory.h"

#define RANK_SHIFT GROUP_LOCK_RANK_SHIFT
#define INDEX_SHIFT 32
#define INDEX_MASK ((UINT32_C(1) << (RANK_SHIFT - INDEX_SHIFT)) - 1)
_Static_assert(GROUP_NODES_MAX <= 1 << (64 - RANK_SHIFT), "a rank fits into a ticket");
_Static_assert(GROUP_LOCK_RECORDS <= INDEX_MASK + 1, "a record number fits into a ticket");

static uint64_t state_word(uint64_t ticket, enum group_lock_state state)
{
    return (uint64_t)(uint32_t)ticket << 32 | state;
}

static uint32_t ticket_rank(uint64_t ticket)
{
    return (uint32_t)(ticket >> RANK_SHIFT);
}

struct group_lock_record *group_lock_record(const struct group_view *view, uint32_t rank,
                                            uint32_t index)
{
    return &group_service(view, rank)->lock_records[index];
}

static struct group_lock_record *ticket_record(const struct group_view *view, uint64_t ticket)
{
    return group_lock_record(view, ticket_rank(ticket),
                             (uint32_t)(ticket >> INDEX_SHIFT) & INDEX_MASK);
}

/* Whether a word can be a ticket of this group. The lock may lie in memory that programs
 * write, and a wrong word must not lead outside of the group's memory. */
static bool is_ticket(const struct group_view *view, uint64_t word)
{
    return (uint32_t)word != 0 && ticket_rank(word) < view->node_count &&
           ((uint32_t)(word >> INDEX_SHIFT) & INDEX_MASK) < GROUP_LOCK_RECORDS;
}

/* A requester's state. LAST when its use is over, when there is none, and for a wrong word. */
static enum group_lock_state state_of(const struct group_view *view, uint64_t ticket)
{
    if (!is_ticket(view, ticket)) {
        return GROUP_LOCK_LAST;
    }
    /* Acquire: pairs with the release that gave the lock or began the next use. */
    uint64_t state = atomic_load_explicit(&ticket_record(view, ticket)->state,
                                          memory_order_acquire);
    return state >> 32 == (uint32_t)ticket ? (enum group_lock_state)(uint32_t)state
                                           : GROUP_LOCK_LAST;
}

static uint64_t prev_of(const struct group_view *view, uint64_t ticket)
{
    return atomic_load_explicit(&ticket_record(view, ticket)->prev, memory_order_relaxed);
}

static void set_state(struct group_lock *lock, enum group_lock_state state)
{
    atomic_store_explicit(&lock->record->state, state_word(lock->ticket, state),
                          memory_order_release);
}

/* Starts a new use of the record, which nobody else can find yet. */
static uint64_t begin(struct group_lock *lock, enum group_lock_state state)
{
    uint32_t sequence = group_lock_sequence(lock) + 1;
    lock->ticket = (uint64_t)lock->view->rank << RANK_SHIFT |
                   (uint64_t)lock->record_index << INDEX_SHIFT | (sequence ? sequence : 1);
    lock->went_past = false;
    atomic_store_explicit(&lock->record->next, 0, memory_order_relaxed);
    /* Release: a requester that finds the former use over has the lock after it was given. */
    set_state(lock, state);
    return lock->ticket;
}

/* Appends this requester behind `last`. On failure *last is what stands there now. */
static bool append(struct group_lock *lock, uint64_t ticket, uint64_t *last)
{
    atomic_store_explicit(&lock->record->prev, *last, memory_order_relaxed);
    KILL_POINT("lock: own record written, not in the queue");
    /* Release: whoever reads the ticket finds the record. Acquire: we find the one before. */
    bool appended = atomic_compare_exchange_strong_explicit(
        lock->last_proc, last, ticket, memory_order_acq_rel, memory_order_acquire);
    KILL_POINT("lock: in the queue or not, nobody told");
    return appended;
}

void group_lock_tell(const struct group_lock *lock)
{
    uint64_t before = atomic_load_explicit(&lock->record->prev, memory_order_relaxed);
    /* If its use is over, the hint causes a needless wake and nothing else. */
    if (is_ticket(lock->view, before)) {
        atomic_store_explicit(&ticket_record(lock->view, before)->next, lock->ticket,
                              memory_order_relaxed);
        KILL_POINT("lock: the one before told");
    }
}

/* Goes past the one before: first takes over its link, then lets its record go. In this order
 * a death between the two steps leaves a correct link for whoever comes behind. */
static uint64_t go_past(struct group_lock *lock, uint64_t before)
{
    uint64_t further = prev_of(lock->view, before);
    uint64_t abandoned = state_word(before, GROUP_LOCK_ABANDONED);
    atomic_store_explicit(&lock->record->prev, further, memory_order_release);
    KILL_POINT("lock: link taken over");
    (void)atomic_compare_exchange_strong(&ticket_record(lock->view, before)->state, &abandoned,
                                         state_word(before, GROUP_LOCK_REMOVED));
    KILL_POINT("lock: record let go");
    group_lock_tell(lock);
    return further;
}

bool group_lock_granted(struct group_lock *lock)
{
    uint64_t before = atomic_load_explicit(&lock->record->prev, memory_order_relaxed);
    enum group_lock_state state = state_of(lock->view, before);
    while (UNLIKELY(state == GROUP_LOCK_ABANDONED)) {
        before = go_past(lock, before);
        state = state_of(lock->view, before);
        lock->went_past = true;
    }
    if (state != GROUP_LOCK_LAST) {
        return false;
    }
    set_state(lock, GROUP_LOCK_LOCK);
    KILL_POINT("lock: taken");
    return true;
}

/* A walk along links that others can write: whether it has come back to a place that it had left
 * (Brent's way: the place to remember moves on at every power of two). */
struct walk {
    uint64_t seen;
    uint64_t steps;
};

static bool walk_is_round(struct walk *walk, uint64_t ticket)
{
    if (ticket == walk->seen) {
        return true;
    }
    walk->steps++;
    walk->seen = is_power_of_two(walk->steps) ? ticket : walk->seen;
    return false;
}

enum group_lock_outcome group_lock_inherit(struct group_lock *lock)
{
    struct walk walk = {0};
    while (!group_lock_granted(lock)) {
        uint64_t before = atomic_load_explicit(&lock->record->prev, memory_order_relaxed);
        /* The life first: the state of a dead one is then its last. A word that is no ticket is
         * Last by now. */
        if (is_ticket(lock->view, before) &&
            !group_life_gone(group_life(lock->view, ticket_rank(before)))) {
            lock->went_past = false;
            return GROUP_LOCK_QUEUED;
        }
        switch (state_of(lock->view, before)) {
        case GROUP_LOCK_LAST:
        case GROUP_LOCK_ABANDONED: break;
        case GROUP_LOCK_WAIT:
            if (!walk_is_round(&walk, before)) {
                (void)go_past(lock, before);
                break;
            }
            __attribute__((fallthrough)); /* links in a circle: nobody alive is before us */
        case GROUP_LOCK_LOCK:
        case GROUP_LOCK_REMOVED:
        default: /* what a dead one's state cannot be: it may have had the lock */
            set_state(lock, GROUP_LOCK_LOCK);
            KILL_POINT("lock: inherited");
            return GROUP_LOCK_OWNER_DEAD;
        }
    }
    return GROUP_LOCK_HELD;
}

enum group_lock_outcome group_lock_enqueue(struct group_lock *lock)
{
    uint64_t last = atomic_load_explicit(lock->last_proc, memory_order_acquire);
    uint64_t ticket = begin(lock, GROUP_LOCK_WAIT);
    /* Each failure means that somebody else has entered the queue. */
    while (!append(lock, ticket, &last)) {
    }
    return group_lock_inherit(lock);
}

/* Whether somebody alive has the lock or waits for it, seen from the queue's end. */
static bool is_busy(const struct group_view *view, uint64_t ticket)
{
    struct walk walk = {0};
    for (;;) {
        bool alive = is_ticket(view, ticket) &&
                     !group_life_gone(group_life(view, ticket_rank(ticket)));
        switch (state_of(view, ticket)) {
        case GROUP_LOCK_LAST: return false;
        case GROUP_LOCK_LOCK: return alive;
        case GROUP_LOCK_WAIT:
            if (alive) {
                return true;
            }
            break;
        case GROUP_LOCK_ABANDONED: break;
        case GROUP_LOCK_REMOVED: /* somebody is going past it, and so is there */
        default: return true;    /* no state that a requester has */
        }
        if (walk_is_round(&walk, ticket)) {
            return true;
        }
        ticket = prev_of(view, ticket);
    }
}

enum group_lock_outcome group_lock_try(struct group_lock *lock)
{
    uint64_t last = atomic_load_explicit(lock->last_proc, memory_order_acquire);
    if (is_busy(lock->view, last) || !append(lock, begin(lock, GROUP_LOCK_WAIT), &last)) {
        return GROUP_LOCK_BUSY;
    }
    /* Behind Last or a dead one: what made the lock free does not change any more. */
    return group_lock_inherit(lock);
}

enum group_lock_outcome group_lock_abandon(struct group_lock *lock)
{
    if (group_lock_granted(lock)) {
        return GROUP_LOCK_HELD;
    }
    KILL_POINT("lock: about to abandon");
    /* If the lock comes to us now, the requester behind goes past us and finds it. */
    set_state(lock, GROUP_LOCK_ABANDONED);
    KILL_POINT("lock: abandoned");
    return GROUP_LOCK_QUEUED;
}
