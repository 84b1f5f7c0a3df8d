/* Synchronisation variables: what a node keeps of one, and the record that all share.
 *
 * The record of a variable lies in the control memory of its manager. Around it goes a dn_lock:
 * a writer has the lock from its acquire to its release, a reader while it counts itself in. So
 * both come in the lock's order, and a writer who waits for readers to leave has none behind it
 * that overtake.
 *
 *     record   lock word, head, readers, the bindings' versions, who is writing (where memory is
 *              shared), who binds together: one line, which an acquire looks at; then
 *              data[2]     the newest version of small ranges, by the version's lowest bit
 *              log[]       where the differences of the last versions lie, by their makers
 *              binding[2]  which ranges, by the head's slot bit
 *     own      what this node tells others: which version its copy is, a word to wake it, where
 *              its list of ranges lies if that is a long one
 *
 * Every node has the same structure at the same place. The record part counts at the manager,
 * the own part at each node.
 *
 * What a release changes is written where the released version before has nothing: the other
 * half of data and binding, a log entry of eight versions ago. Then the head, one word, names
 * version, owner and both halves. So a node killed at any step leaves the version before or the
 * new one. Nobody writes bound memory who does not hold it, so the copy of the head's owner is
 * that version until the owner writes again, and it marks its copy (`own`) before it does. */
#ifndef FAGUS_SYNC_H
#define FAGUS_SYNC_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>

#include "fagus/handle.h"
#include "fagus/state.h"

enum {
    FAGUS_INLINE_BYTES = 448, /* of all ranges together, at most, for data in the record */
    FAGUS_LOG_ENTRIES = 8,
    FAGUS_RANGES_IN_RECORD = 8,
    FAGUS_READERS_PER_WORD = 48,
    FAGUS_NAME_BYTES = 48,
    FAGUS_CHANGES_BYTES = 1000,
};

/* ---- The record ------------------------------------------------------------------------ */

/* version << 16 | flags | owner. Zeros: never released, and everybody's first copy is at its
 * home. */
#define FAGUS_HEAD_VERSION_SHIFT 16
#define FAGUS_HEAD_INLINE UINT64_C(0x1000) /* the data lie in the record */
#define FAGUS_HEAD_SLOT UINT64_C(0x2000)   /* binding[1], not [0] */
#define FAGUS_HEAD_LOST UINT64_C(0x4000)   /* nobody has this version any more */
#define FAGUS_HEAD_OWNER UINT64_C(0x0fff)
_Static_assert(INNER_NODES_MAX <= FAGUS_HEAD_OWNER + 1, "a rank fits");

static inline uint64_t fagus_head_version(uint64_t head)
{
    return head >> FAGUS_HEAD_VERSION_SHIFT;
}

static inline int fagus_head_owner(uint64_t head)
{
    return (int)(head & FAGUS_HEAD_OWNER);
}

static inline unsigned fagus_head_slot(uint64_t head)
{
    return head & FAGUS_HEAD_SLOT ? 1 : 0;
}

/* Readers: a bit for each of 48 nodes, and above them the rank + 1 of a writer who waits for
 * them (or did: a needless wake does no harm). */
#define FAGUS_READERS_BITS ((UINT64_C(1) << FAGUS_READERS_PER_WORD) - 1)

/* Together: how often nodes have begun to bind it in a call of all nodes, and below that whether
 * somebody has acquired it: from then on only a holder binds it. */
#define FAGUS_TOGETHER_ACQUIRED UINT64_C(1)
#define FAGUS_TOGETHER_ONE UINT64_C(2)

struct fagus_extent {
    uint64_t offset;
    uint64_t bytes;
};

struct fagus_log_entry {
    uint64_t version; /* that these differences lead to, from the one before */
    uint64_t place;   /* in the pool of `rank` */
    uint64_t bytes;
    uint64_t rank;
};

/* The ranges, or where they lie in the pool of a rank. */
struct fagus_binding {
    uint64_t count;
    uint64_t rank;
    uint64_t place;
    struct fagus_extent ranges[FAGUS_RANGES_IN_RECORD];
};

struct fagus_record {
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t lock;
    _Atomic uint64_t head;
    _Atomic uint64_t readers;
    _Atomic uint64_t bound_at[2]; /* the version that each binding came with */
    /* Where memory is shared: rank + 1 of the holder who writes. Its death leaves the ranges as
     * they are, perhaps half changed. */
    _Atomic uint64_t writing;
    _Atomic uint64_t together;
    unsigned char data[2][FAGUS_INLINE_BYTES];
    struct fagus_log_entry log[FAGUS_LOG_ENTRIES];
    struct fagus_binding binding[2];

    /* The own part. */
    /* (version + 1) << 1 | being written, or FAGUS_FETCHING. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t version;
    _Atomic uint64_t wake;          /* grows when a writer may look again */
    _Atomic uint64_t bound_version; /* of what follows: this node's list, if it is a long one */
    _Atomic uint64_t list_place;
    _Atomic uint64_t list_count; /* 0: none */

    /* Again the record: readers of ranks from 48 on. */
    alignas(CACHE_LINE_BYTES) _Atomic uint64_t more_readers[];
};

/* ---- What a node keeps -------------------------------------------------------------------- */

/* No version: this node has never had it. */
#define FAGUS_VERSION_NONE UINT64_MAX

/* What the own part says of a copy into which a version is on its way. */
#define FAGUS_FETCHING UINT64_MAX

/* A requester of the lock. A variable has one, and more when its threads contend. */
struct fagus_locker {
    struct dn_lock *lock;
    struct fagus_record *copy; /* of the manager's, where that is out of reach; else NULL */
    uint64_t wanted_bytes;     /* of how long ranges the grant was to bring the data */
    bool carries_value;        /* the record and its changes travel with the lock */
    struct fagus_locker *next;
};

struct fagus_sync {
    struct fagus_handle handle; /* marked with the space's generation */

    /* What an acquire reads; set with the variable. */
    struct fagus_record *own;     /* this node's */
    struct fagus_record *reached; /* the manager's, where it can be reached; else NULL */
    int manager;
    uint32_t reader_words;
    bool is_quick; /* memory is shared and at hand, and nobody wants to know anything */

    struct fagus_locker locker;      /* for the first thread that asks */
    _Atomic uint32_t locker_is_used; /* 1: it is in use */
    struct fagus_locker *lockers;    /* more, not in use; guarded by sync_hold.c's lockers_lock */
    _Atomic uint64_t writer;         /* the thread that holds it for writing, or 0 */
    struct fagus_locker *held;       /* by which; the writer's */
    unsigned char *changes;          /* of the record, that go with the release; else NULL */
    uint32_t changes_bytes;

    /* This node's copy: used by a writer alone, or with `lock` held. */
    uint64_t head;    /* as the holder saw it */
    uint64_t version; /* of the copy; FAGUS_VERSION_NONE */
    uint64_t bound_at;
    struct fagus_extent *ranges;
    size_t range_count;
    uint64_t total_bytes;
    bool list_is_in_pool;
    bool is_rebound;      /* by the holder, since it acquired */
    bool is_binding_lost; /* no living node knows the ranges: there are none, until it is bound */
    struct fagus_extent *released; /* in the pool: what was bound then; else NULL */
    bool is_of_zeros;              /* its ranges were zeros when it was bound, by all nodes */
    bool has_barriers;             /* fagus_barrier was called with it: the twin is kept */
    unsigned twin_skipped; /* acquires since the differences were too long to be worth a twin */
    unsigned twin_skip;    /* how many are to be skipped */
    unsigned char *twin;   /* NULL: none; a range begins there as it does modulo 8 */
    uint64_t twin_version; /* whose content it is */
    uint64_t twin_bytes;
    void *made[FAGUS_LOG_ENTRIES]; /* this node's own log entries, by version */
    uint64_t made_version[FAGUS_LOG_ENTRIES];

    pthread_mutex_t lock;     /* guards what follows, and the copy while threads read */
    uint64_t *reader_threads; /* this node's */
    size_t reader_count;
    size_t reader_capacity;
    bool is_read_lost; /* what the first of them found */

    _Atomic uint32_t check_mode; /* FAGUS_CHECK: 0, FAGUS_READ or FAGUS_WRITE */
    _Atomic bool is_acquired;    /* ever, by this node */
    uint64_t number;             /* in the order of making */
    char name[FAGUS_NAME_BYTES];
    uint64_t begin_ns; /* of the writer's hold, with FAGUS_STATS=1 */
    struct fagus_counters {
        _Atomic uint64_t acquires, acquires_local, grants, bytes_whole, bytes_differences,
            bytes_changed, hops, wait_ns, held_ns;
    } counters;
    struct fagus_sync *next; /* of all open ones */
};

/* The length of all ranges together, also for a thread that does not hold the variable.
 * Relaxed: a number by itself. A holder, while nobody reads, finds the right one. */
static inline uint64_t fagus_total_bytes(const struct fagus_sync *sync)
{
    return __atomic_load_n(&sync->total_bytes, __ATOMIC_RELAXED);
}

/* Counts what only holders count, one at a time. Relaxed: numbers by themselves. */
static inline void fagus_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

/* Hops are also counted by threads that do not hold it, several at once. */
static inline void fagus_count_hops(struct fagus_sync *sync, uint64_t more)
{
    (void)atomic_fetch_add_explicit(&sync->counters.hops, more, memory_order_relaxed);
}

/* A number for the calling thread, never 0, that no other thread of this process has or had: what
 * a thread held when it ended is not its successor's. Its place is known when the library is
 * loaded, so that finding it is no call. */
extern _Thread_local uint64_t fagus_thread_number
    __attribute__((visibility("hidden"), tls_model("initial-exec")));
uint64_t fagus_number_thread(void);
static inline uint64_t fagus_this_thread(void)
{
    return LIKELY(fagus_thread_number != 0) ? fagus_thread_number : fagus_number_thread();
}

/* ---- Set-up (sync.c) ------------------------------------------------------------------ */

int fagus_syncs_open(void);
/* Before the space closes: forgets all variables, after the report of FAGUS_STATS=1. */
void fagus_syncs_close(void);
/* Calls for each open variable, alone with the list of them. */
void fagus_sync_each(void (*call)(struct fagus_sync *sync, void *context), void *context);
/* The manager's record lies at this rank: where it is reached. */
void fagus_sync_manage(struct fagus_sync *sync, int manager);

/* ---- The record from afar (sync_record.c) --------------------------------------------- */

enum fagus_look_parts {
    FAGUS_LOOK_DATA = 1, /* as many bytes as are bound */
    FAGUS_LOOK_LOG = 2,
    FAGUS_LOOK_BINDING = 4,
};

/* The record as it is now, its line and the parts named: the manager's own, or in `copy`. NULL:
 * FAGUS_EPEER. */
const struct fagus_record *fagus_record_look(struct fagus_sync *sync, struct fagus_record *copy,
                                             unsigned parts);
/* Makes the grant of this requester bring what will be looked at, as far as one can know; and
 * whether it has brought that. */
void fagus_record_want(const struct fagus_sync *sync, struct fagus_locker *locker);
bool fagus_record_is_brought(const struct fagus_sync *sync, const struct fagus_locker *locker);

/* Writes a piece of the record; pieces take effect in order, aligned words of 8 bytes whole. */
int fagus_record_write(struct fagus_sync *sync, const void *own_place, const void *from,
                       size_t bytes);
/* Completes what this thread wrote. FAGUS_EPEER: the manager is gone. */
int fagus_record_settle(struct fagus_sync *sync);

/* One operation on a word of the record, given by its place in this node's own. Done at return, and
 * acquires and releases. FAGUS_EPEER. */
static inline int fagus_record_atomic(const struct fagus_sync *sync, _Atomic uint64_t *own_word,
                                      enum inner_atomic operation, uint64_t operand,
                                      uint64_t expected, uint64_t *old)
{
    if (LIKELY(sync->reached != NULL)) {
        uintptr_t offset = (uintptr_t)own_word - (uintptr_t)sync->own;
        void *word = (unsigned char *)sync->reached + offset;
        *old = inner_apply_u64(word, operation, operand, expected);
        return 0;
    }
    return fagus_error_of(inner_atomic(fagus_lane(), fagus_remote_of(sync->manager, own_word),
                                       operation, sizeof *old, operand, expected, old));
}

/* How long a wait for another node sleeps between two looks at who is still alive. */
#define FAGUS_LOOK_AGAIN_NS UINT64_C(5000000)

/* Between these what is written goes with the lock: fagus_record_give gives it. Where that is not
 * possible the first does nothing, and the second completes what was written before it. `buffer`
 * has FAGUS_CHANGES_BYTES, until the second. */
void fagus_record_begin(struct fagus_sync *sync, const struct fagus_locker *locker,
                        unsigned char *buffer);
int fagus_record_give(struct fagus_sync *sync, const struct fagus_locker *locker);

/* Enters this node as a reader, by the time that the lock is given; or takes it out, and wakes
 * a writer that waits for that. */
int fagus_readers_enter(struct fagus_sync *sync);
int fagus_readers_leave(struct fagus_sync *sync);
/* Waits until no living node reads, with the lock held. FAGUS_ETIMEOUT, FAGUS_EPEER. */
int fagus_readers_wait(struct fagus_sync *sync, uint64_t deadline_ns);

/* ---- Data (sync_data.c), without them where memory is shared ----------------------------- */

/* Brings this node's copy to the version of the record's head, which goes to sync->head. 0,
 * FAGUS_EPEER, FAGUS_ELOST, FAGUS_ENOMEM. With `is_alone` (nobody else holds the lock) a head whose
 * owner is gone is corrected for those who come later. */
int fagus_data_bring(struct fagus_sync *sync, const struct fagus_record *record, bool is_alone);
/* The parts of the record that fagus_data_bring wants for ranges of this length together. */
static inline unsigned fagus_data_parts(uint64_t total_bytes)
{
    if (fagus_state.is_shared) {
        return 0;
    }
    return total_bytes <= FAGUS_INLINE_BYTES ? FAGUS_LOOK_DATA : FAGUS_LOOK_LOG;
}
/* Before the holder writes. */
void fagus_data_begin_write(struct fagus_sync *sync);
/* The holder's copy becomes the next version. FAGUS_EPEER. */
int fagus_data_publish(struct fagus_sync *sync);
/* The holder's version number, and whether its copy is being written. */
void fagus_data_tell_version(struct fagus_sync *sync, bool is_being_written);
/* Makes the twin what the ranges are; false: no memory. */
bool fagus_twin_take(struct fagus_sync *sync);
void fagus_twin_drop(struct fagus_sync *sync);
/* The bytes of all ranges, one behind the other, as they lie in the record. */
void fagus_ranges_gather(const struct fagus_sync *sync, unsigned char *data);
/* The differences of all ranges from the twin. Each range's stand behind its number and their
 * length, 8 bytes each. */
uint64_t fagus_ranges_diff(const struct fagus_sync *sync, void *into, uint64_t capacity,
                           uint64_t *changed_bytes);
/* Applies them to the ranges, and to the twin if there is one; false: malformed, nothing was
 * changed. */
bool fagus_ranges_apply(struct fagus_sync *sync, const void *differences, uint64_t bytes);
void fagus_log_free(struct fagus_sync *sync);

/* ---- Bindings (sync_bind.c) ------------------------------------------------------------- */

/* Learns the record's binding if this node does not know it. FAGUS_EPEER, FAGUS_ENOMEM, or
 * FAGUS_ELOST: its binder is gone, and nobody else knows its long list. Then this node has no
 * ranges, and whoever holds the variable for writing can bind it again. */
int fagus_binding_learn(struct fagus_sync *sync, const struct fagus_record *record);
/* Writes a binding that the holder has changed, for the version that is to be released; the head
 * bits that go with it. */
int fagus_binding_publish(struct fagus_sync *sync, uint64_t version, uint64_t *slot_bit);
/* After the head was written: the binding before is nobody's any more. If it could not be, this
 * node learns the binding again. */
void fagus_binding_settled(struct fagus_sync *sync, bool is_published);
void fagus_binding_forget(struct fagus_sync *sync);
/* From now on only a holder binds it: this node has acquired it for the first time, and found the
 * record so. */
void fagus_binding_close(struct fagus_sync *sync, const struct fagus_record *record);
/* Whether a variable is bound to something of the range, as far as this node can know. */
bool fagus_is_bound(uint64_t offset, uint64_t bytes);

/* ---- Holding (sync_hold.c) ----------------------------------------------------------------- */

/* Whether this thread holds it for writing: 0, FAGUS_ENOTHELD, or what is wrong with it. */
int fagus_sync_check_writer(const struct fagus_sync *sync);
/* Whether a thread of this node holds it. */
bool fagus_sync_is_held(const struct fagus_sync *sync);
void fagus_lockers_close(struct fagus_sync *sync);

/* Takes and gives the lock of a variable that this node manages and does not hold. FAGUS_EPEER:
 * a death has let others go on, and one of them holds it. */
int fagus_record_lock(struct fagus_sync *sync, struct fagus_locker **locker);
int fagus_record_unlock(struct fagus_sync *sync, struct fagus_locker *locker);

#endif
