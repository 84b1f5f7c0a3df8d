/* LOCK: paper 004's distributed queue, run in place by each requester.
 *
 * The lock itself is one word, `last_proc`: the ticket of the last requester, or 0 before
 * the first one. Every requester has a record in its own node's memory, and a ticket names one
 * use of one record: rank, record, sequence. From `last_proc` each record's `prev` leads
 * to the requester before it, down to the holder:
 *
 *     last_proc -> [Wait C] -prev-> [Wait B] -prev-> [Lock A]
 *
 * A requester writes `prev` into its own record and then compare-swaps `last_proc`; so a
 * process killed anywhere is either not in the queue or in it with its link written.
 * From then on it watches the state of the requester before it, and has the lock when
 * that one is Last: the paper's "last holder, already released". A holder thus gives the lock
 * by one store into its own record, and a later requester that finds a Last before it has
 * the lock at once. Only a record's owner moves its state, so there are no races:
 *
 *     Wait  --the one before is Last-->  Lock  --given-->  Last
 *     Wait  --time-out-->  Abandoned  --the one behind has gone past it-->  Removed
 *
 * (Queued, the paper's fourth state, is Lock or Wait with `next` set.) A requester goes past
 * those that are Abandoned and those that died while they waited: it takes over their `prev`.
 * It stops at a dead one that had the lock: it then has the lock, and is told that the owner
 * died. A use that is over counts as Last, because only Last uses end. */
#ifndef GROUP_LOCK_H
#define GROUP_LOCK_H

#include "group/life.h"

/* A ticket: rank (12 bits), record (20 bits), sequence (32 bits, never 0). */
#define GROUP_LOCK_RANK_SHIFT 52

enum group_lock_state {
    GROUP_LOCK_REMOVED = 0,
    GROUP_LOCK_WAIT,
    GROUP_LOCK_LOCK,
    GROUP_LOCK_LAST,
    GROUP_LOCK_ABANDONED,
};

/* One line in the memory of its owner's node. Others write it only where it says so. */
struct group_lock_record {
    /* sequence << 32 | enum group_lock_state. By the owner; ABANDONED -> REMOVED by the
     * requester behind. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t state;
    _Atomic uint64_t prev; /* the ticket before ours in the queue, 0: none */
    _Atomic uint64_t next; /* by the requester behind: its ticket; a hint whom to wake */
};

/* A requester: a record of this node and the use it is in. Private. */
struct group_lock {
    const struct group_view *view;
    _Atomic uint64_t *last_proc; /* the lock, wherever it lies */
    struct group_lock_record *record;
    uint32_t record_index; /* in the node's record table */
    uint32_t sequence;     /* of the record's last use before this requester had it */
    uint64_t ticket;       /* of the current or last use; 0: none yet */
    /* It went past an abandoned requester, and has not yet looked whether the one before it
     * now is still there, whose death may have been announced long ago. */
    bool went_past;
};

enum group_lock_outcome {
    GROUP_LOCK_HELD,       /* has it */
    GROUP_LOCK_OWNER_DEAD, /* has it; the last holder died with it */
    GROUP_LOCK_QUEUED,     /* waits */
    GROUP_LOCK_BUSY,       /* (try) somebody alive has it or waits for it */
};

/* Takes the lock if nobody has asked since this requester gave it, the ordinary case: the one
 * before is then itself and Last, and need not be looked up. True: it has the lock now. */
static inline bool group_lock_take_again(struct group_lock *lock)
{
    uint64_t last = lock->ticket;
    uint64_t ticket = last + 1;
    prefetch_to_write(lock->last_proc);
    if (UNLIKELY((uint32_t)ticket <= 1 ||
                 atomic_load_explicit(lock->last_proc, memory_order_relaxed) != last)) {
        return false;
    }
    lock->ticket = ticket;
    /* Nobody follows `prev` from a holder, so it stays as it is. */
    atomic_store_explicit(&lock->record->state, ticket << 32 | GROUP_LOCK_LOCK,
                          memory_order_release);
    KILL_POINT("lock: own record written, not in the queue");
    bool taken = atomic_compare_exchange_strong_explicit(
        lock->last_proc, &last, ticket, memory_order_acq_rel, memory_order_relaxed);
    KILL_POINT("lock: in the queue or not, nobody told");
    return taken;
}

/* Tells the requester before whom to wake. Only a requester that is going to sleep needs it:
 * the hint takes the line from its owner, who must then fetch it to give the lock. */
void group_lock_tell(const struct group_lock *lock);

/* The sequence that the record's next requester goes on from. */
static inline uint32_t group_lock_sequence(const struct group_lock *lock)
{
    return lock->ticket ? (uint32_t)lock->ticket : lock->sequence;
}

/* Enters the queue. */
enum group_lock_outcome group_lock_enqueue(struct group_lock *lock);

/* Enters the queue only if nobody alive is in it. */
enum group_lock_outcome group_lock_try(struct group_lock *lock);

/* Whether a waiting requester has the lock now. Polling calls this. */
bool group_lock_granted(struct group_lock *lock);

/* The same, and looks who is gone. Call it after somebody left or died, and after
 * `went_past`. */
enum group_lock_outcome group_lock_inherit(struct group_lock *lock);

/* Stops waiting. HELD: the lock came first. After QUEUED the record stays in use until
 * group_lock_record_is_free. */
enum group_lock_outcome group_lock_abandon(struct group_lock *lock);

static inline bool group_lock_record_is_free(const struct group_lock_record *record)
{
    /* Acquire: whoever went past it has read its last field. */
    return (uint32_t)atomic_load_explicit(&record->state, memory_order_acquire) !=
           GROUP_LOCK_ABANDONED;
}

/* Gives the lock away; the rank to wake, or GROUP_LOCK_NOBODY. */
#define GROUP_LOCK_NOBODY UINT32_MAX
static inline uint32_t group_lock_give(struct group_lock *lock)
{
    KILL_POINT("lock: held, about to give");
    /* Release: pairs with the acquire of the requester behind, who reads this state. */
    atomic_store_explicit(&lock->record->state, lock->ticket << 32 | GROUP_LOCK_LAST,
                          memory_order_release);
    KILL_POINT("lock: given, nobody woken");
    /* If the hint is not visible yet, its writer sleeps for a nap longer at most. */
    uint64_t next = atomic_load_explicit(&lock->record->next, memory_order_relaxed);
    if (LIKELY(next == 0)) {
        return GROUP_LOCK_NOBODY;
    }
    atomic_store_explicit(&lock->record->next, 0, memory_order_relaxed);
    uint32_t rank = (uint32_t)(next >> GROUP_LOCK_RANK_SHIFT);
    return LIKELY(rank < lock->view->node_count) ? rank : GROUP_LOCK_NOBODY;
}

/* The record of a rank by number. */
struct group_lock_record *group_lock_record(const struct group_view *view, uint32_t rank,
                                            uint32_t index);

#endif
