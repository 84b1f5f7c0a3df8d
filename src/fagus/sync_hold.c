/* Acquire and release. */
#include <stdlib.h>

#include "base/killpoint.h"
#include "fagus/check.h"
#include "fagus/environment.h"
#include "fagus/traced.h"

#define NO_WAIT_NS UINT64_C(0)

static pthread_mutex_t lockers_lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists of lockers */

_Thread_local uint64_t fagus_thread_number;

uint64_t fagus_number_thread(void)
{
    static _Atomic uint64_t count;
    /* Relaxed: a number by itself. */
    fagus_thread_number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
    return fagus_thread_number;
}

/* ---- Requesters ------------------------------------------------------------------------------ */

static int open_locker(const struct fagus_sync *sync, struct fagus_locker *locker)
{
    if (!sync->reached) {
        locker->copy = aligned_alloc(alignof(struct fagus_record), sizeof *locker->copy);
        if (!locker->copy) {
            return FAGUS_ENOMEM;
        }
    }
    int error = fagus_error_of(inner_lock_open(fagus_state.node, sync->manager,
                                               fagus_place_of(&sync->own->lock), &locker->lock));
    if (error) {
        free(locker->copy);
        locker->copy = NULL;
        return error;
    }
    locker->carries_value = inner_lock_carries_value(locker->lock);
    return 0;
}

static void close_locker(struct fagus_locker *locker)
{
    if (locker->lock) {
        (void)dn_lock_close(locker->lock);
        free(locker->copy);
        locker->lock = NULL;
        locker->copy = NULL;
    }
}

/* Threads that contend have one each, so that all come in the order of the lock's queue. */
static __attribute__((noinline)) int take_another_locker(struct fagus_sync *sync,
                                                         struct fagus_locker **taken)
{
    (void)pthread_mutex_lock(&lockers_lock);
    struct fagus_locker *locker = sync->lockers;
    if (locker) {
        sync->lockers = locker->next;
    }
    (void)pthread_mutex_unlock(&lockers_lock);
    if (!locker) {
        locker = calloc(1, sizeof *locker);
        int error = locker ? open_locker(sync, locker) : FAGUS_ENOMEM;
        if (error) {
            free(locker);
            return error;
        }
    }
    *taken = locker;
    return 0;
}

static inline int take_locker(struct fagus_sync *sync, struct fagus_locker **taken)
{
    /* Acquire: pairs with the release in give_locker. */
    if (UNLIKELY(atomic_exchange_explicit(&sync->locker_is_used, 1, memory_order_acquire) != 0)) {
        return take_another_locker(sync, taken);
    }
    if (UNLIKELY(!sync->locker.lock)) {
        int error = open_locker(sync, &sync->locker);
        if (error) {
            atomic_store_explicit(&sync->locker_is_used, 0, memory_order_release);
            return error;
        }
    }
    *taken = &sync->locker;
    return 0;
}

static inline void give_locker(struct fagus_sync *sync, struct fagus_locker *locker)
{
    if (LIKELY(locker == &sync->locker)) {
        atomic_store_explicit(&sync->locker_is_used, 0, memory_order_release);
        return;
    }
    (void)pthread_mutex_lock(&lockers_lock);
    locker->next = sync->lockers;
    sync->lockers = locker;
    (void)pthread_mutex_unlock(&lockers_lock);
}

void fagus_lockers_close(struct fagus_sync *sync)
{
    close_locker(&sync->locker);
    while (sync->lockers) {
        struct fagus_locker *locker = sync->lockers;
        sync->lockers = locker->next;
        close_locker(locker);
        free(locker);
    }
}

int fagus_record_lock(struct fagus_sync *sync, struct fagus_locker **locker)
{
    int error = take_locker(sync, locker);
    if (error) {
        return error;
    }
    int taken;
    do {
        taken = dn_lock_take((*locker)->lock, FAGUS_LOOK_AGAIN_NS);
    } while (taken == DN_ETIMEOUT && !fagus_death_news());
    if (taken == DN_EOWNERDEAD) {
        (void)fagus_record_give(sync, *locker);
    }
    if (taken) {
        give_locker(sync, *locker);
    }
    return taken == DN_ETIMEOUT || taken == DN_EOWNERDEAD ? FAGUS_EPEER : fagus_error_of(taken);
}

int fagus_record_unlock(struct fagus_sync *sync, struct fagus_locker *locker)
{
    int error = fagus_record_give(sync, locker);
    give_locker(sync, locker);
    return error;
}

/* ---- Who holds it ---------------------------------------------------------------------------- */

/* With the lock held; the index, or the count. */
static size_t find_reader(const struct fagus_sync *sync, uint64_t thread)
{
    size_t index = 0;
    while (index < sync->reader_count && sync->reader_threads[index] != thread) {
        index++;
    }
    return index;
}

static bool is_reader(struct fagus_sync *sync, uint64_t thread)
{
    /* Its own entry a thread sees without the lock. */
    if (LIKELY(__atomic_load_n(&sync->reader_count, __ATOMIC_RELAXED) == 0)) {
        return false;
    }
    (void)pthread_mutex_lock(&sync->lock);
    bool found = find_reader(sync, thread) < sync->reader_count;
    (void)pthread_mutex_unlock(&sync->lock);
    return found;
}

static bool is_writer(const struct fagus_sync *sync, uint64_t thread)
{
    return atomic_load_explicit(&sync->writer, memory_order_relaxed) == thread;
}

int fagus_sync_check_writer(const struct fagus_sync *sync)
{
    int error = fagus_handle_check(sync);
    return error ? error : is_writer(sync, fagus_this_thread()) ? 0 : FAGUS_ENOTHELD;
}

/* A thread of this node finds what the last one left of the variable. The dn_lock orders that
 * as well, but perhaps by way of other nodes, and then nothing in this process tells. So
 * `writer` and `reader_count` are stored with release, each time by a thread that has followed
 * those before: */

/* After the lock was taken. Acquire: pairs with the release in leave_writing. */
static inline void follow_writer(const struct fagus_sync *sync)
{
    INVARIANT(atomic_load_explicit(&sync->writer, memory_order_acquire) == 0);
}

/* After a writer has waited for all readers. Acquire: pairs with the release in count_readers
 * of the last one. It may still count a reader that failed. */
static inline void follow_readers(const struct fagus_sync *sync)
{
    (void)__atomic_load_n(&sync->reader_count, __ATOMIC_ACQUIRE);
}

static inline void mark_writer(struct fagus_sync *sync)
{
    atomic_store_explicit(&sync->writer, fagus_this_thread(), memory_order_release);
}

/* Before the lock is given. */
static inline void leave_writing(struct fagus_sync *sync)
{
    atomic_store_explicit(&sync->writer, 0, memory_order_release);
}

/* With sync->lock. */
static void count_readers(struct fagus_sync *sync, size_t count)
{
    __atomic_store_n(&sync->reader_count, count, __ATOMIC_RELEASE);
}

/* Acquire: a thread that finds nobody follows the last holder, as above. */
bool fagus_sync_is_held(const struct fagus_sync *sync)
{
    return atomic_load_explicit(&sync->writer, memory_order_acquire) != 0 ||
           __atomic_load_n(&sync->reader_count, __ATOMIC_ACQUIRE) != 0;
}

static bool add_reader(struct fagus_sync *sync, uint64_t thread)
{
    if (sync->reader_count == sync->reader_capacity) {
        size_t capacity = 2 * sync->reader_capacity + 4;
        uint64_t *larger = realloc(sync->reader_threads, capacity * sizeof *larger);
        if (!larger) {
            return false;
        }
        sync->reader_threads = larger;
        sync->reader_capacity = capacity;
    }
    sync->reader_threads[sync->reader_count] = thread;
    count_readers(sync, sync->reader_count + 1);
    return true;
}

static void remove_reader(struct fagus_sync *sync, size_t index)
{
    sync->reader_threads[index] = sync->reader_threads[sync->reader_count - 1];
    count_readers(sync, sync->reader_count - 1);
}

/* ---- Inside, with the dn_lock held ----------------------------------------------------------- */

static const struct fagus_record *look(struct fagus_sync *sync, const struct fagus_locker *locker)
{
    return fagus_record_is_brought(sync, locker)
               ? locker->copy
               : fagus_record_look(sync, locker->copy, fagus_data_parts(fagus_total_bytes(sync)));
}

/* The head, and this node's knowledge of the binding, as the record has them; when nobody of this
 * node reads. */
static int understand(struct fagus_sync *sync, const struct fagus_locker *locker,
                      const struct fagus_record **record)
{
    /* Acquire: after a death the lock alone does not order what the dead one wrote. */
    sync->head = atomic_load_explicit(&(*record)->head, memory_order_acquire);
    unsigned slot = fagus_head_slot(sync->head);
    if (LIKELY(atomic_load_explicit(&(*record)->bound_at[slot], memory_order_relaxed) ==
               sync->bound_at)) {
        return 0;
    }
    *record = fagus_record_look(sync, locker->copy, FAGUS_LOOK_BINDING);
    int error = *record ? fagus_binding_learn(sync, *record) : FAGUS_EPEER;
    unsigned parts = fagus_data_parts(sync->total_bytes);
    if (!error && parts != 0) {
        *record = fagus_record_look(sync, locker->copy, parts);
        error = *record ? 0 : FAGUS_EPEER;
    }
    return error;
}

/* Held all the same. */
static bool is_held_with(int result)
{
    return result == 0 || result == FAGUS_ELOST || result == FAGUS_EOWNERDEAD;
}

static int mark_writing(struct fagus_sync *sync, uint64_t mark)
{
    if (LIKELY(sync->reached != NULL)) {
        atomic_store_explicit(&sync->reached->writing, mark, memory_order_release);
        return 0;
    }
    return fagus_record_write(sync, &sync->own->writing, &mark, sizeof mark);
}

/* Where memory is shared there is no other copy: a holder that died writing has left the ranges
 * half changed. The code is not FAGUS_EOWNERDEAD, which promises a whole version in every mode:
 * a program that goes on with it must not find half of one here. */
static int shared_state(const struct fagus_record *record)
{
    return UNLIKELY(atomic_load_explicit(&record->writing, memory_order_acquire) != 0) ? FAGUS_ELOST
                                                                                       : 0;
}

static int enter_to_write(struct fagus_sync *sync, const struct fagus_locker *locker,
                          uint64_t deadline_ns)
{
    const struct fagus_record *record = look(sync, locker);
    if (UNLIKELY(!record)) {
        return FAGUS_EPEER;
    }
    int error = 0;
    if (UNLIKELY((atomic_load_explicit(&record->readers, memory_order_acquire) &
                  FAGUS_READERS_BITS) != 0 ||
                 sync->reader_words > 1)) {
        error = fagus_readers_wait(sync, deadline_ns);
    }
    follow_readers(sync);
    error = error ? error : understand(sync, locker, &record);
    if (UNLIKELY(!is_held_with(error))) {
        return error;
    }
    if (fagus_state.is_shared) {
        error = error ? error : shared_state(record);
        int failed = mark_writing(sync, (uint64_t)fagus_state.rank + 1);
        failed = failed ? failed : fagus_record_settle(sync); /* before anything is written */
        return failed ? failed : error;
    }
    error = error ? error : fagus_data_bring(sync, record, true);
    if (is_held_with(error)) {
        KILL_POINT("sync: about to write");
        fagus_data_begin_write(sync);
    }
    return error;
}

/* With sync->lock held as well. Once it counts as a reader nobody changes the record, and the
 * dn_lock can go to the next one while the data come. */
static int enter_to_read(struct fagus_sync *sync, const struct fagus_locker *locker, bool *is_given,
                         bool *is_entered)
{
    unsigned char changes[FAGUS_CHANGES_BYTES];
    const struct fagus_record *record = look(sync, locker);
    int understood = record ? understand(sync, locker, &record) : FAGUS_EPEER;
    if (!is_held_with(understood)) {
        return understood;
    }
    int error;
    if (fagus_state.is_shared) {
        error = fagus_readers_enter(sync);
        *is_entered = error == 0;
        return error ? error : understood ? understood : shared_state(record);
    }
    bool is_alone = fagus_is_gone(fagus_head_owner(sync->head));
    if (!is_alone) {
        fagus_record_begin(sync, locker, changes);
    }
    error = fagus_readers_enter(sync);
    *is_entered = error == 0;
    if (!error && !is_alone) {
        error = fagus_record_give(sync, locker);
        *is_given = true;
        KILL_POINT("sync: counted as a reader, lock given");
    }
    error = error ? error : understood;
    return error ? error : fagus_data_bring(sync, record, is_alone);
}

/* ---- Acquiring ------------------------------------------------------------------------------- */

struct request {
    enum fagus_mode mode;
    bool try;
    uint64_t timeout_ns;
    uint64_t begin_ns;    /* 0: the clock was not looked at */
    uint64_t deadline_ns; /* as of begin_ns; UINT64_MAX: none */
};

static void look_at_the_clock(struct request *request)
{
    if (request->begin_ns == 0) {
        request->begin_ns = inner_now_ns();
        request->deadline_ns = inner_deadline_ns(request->begin_ns, request->timeout_ns);
    }
}

/* An acquire that succeeds at once does not look at the clock, which takes as long. */
static int take_lock(const struct fagus_sync *sync, struct fagus_locker *locker,
                     struct request *request)
{
    struct dn_lock *lock = locker->lock;
    if (UNLIKELY(locker->carries_value) && !sync->reached) {
        fagus_record_want(sync, locker);
    }
    if (request->try) {
        return dn_lock_try(lock);
    }
    if (LIKELY(sync->reached != NULL)) {
        int error = dn_lock_take(lock, NO_WAIT_NS);
        if (error != DN_ETIMEOUT) {
            return error;
        }
    }
    look_at_the_clock(request);
    return dn_lock_take(lock, request->timeout_ns);
}

/* Before the requester is given back: until then its copy of the record is this thread's. */
static inline void note_acquired(struct fagus_sync *sync, const struct fagus_locker *locker)
{
    if (UNLIKELY(!atomic_load_explicit(&sync->is_acquired, memory_order_relaxed))) {
        fagus_binding_close(sync, sync->reached ? sync->reached : locker->copy);
    }
}

static int acquire_to_write(struct fagus_sync *sync, struct fagus_locker *locker,
                            struct request *request, bool is_owner_dead)
{
    if (!request->try && request->timeout_ns != FAGUS_FOREVER) {
        look_at_the_clock(request);
    }
    uint64_t deadline_ns = request->timeout_ns == FAGUS_FOREVER ? UINT64_MAX : request->deadline_ns;
    int result = enter_to_write(sync, locker, deadline_ns);
    if (UNLIKELY(!is_held_with(result))) {
        (void)fagus_record_settle(sync);
        (void)fagus_record_give(sync, locker);
        give_locker(sync, locker);
        return result;
    }
    sync->held = locker;
    mark_writer(sync);
    note_acquired(sync, locker);
    fagus_check_hold(sync, FAGUS_WRITE);
    return result ? result : is_owner_dead ? FAGUS_EOWNERDEAD : 0;
}

static int acquire_to_read(struct fagus_sync *sync, struct fagus_locker *locker, bool is_owner_dead)
{
    bool is_given = false;
    bool is_entered = false;
    (void)pthread_mutex_lock(&sync->lock);
    bool is_added = add_reader(sync, fagus_this_thread());
    int result = is_added ? 0 : FAGUS_ENOMEM;
    /* Behind another of this node's readers everything is as that one found it. */
    if (is_added && sync->reader_count == 1) {
        result = enter_to_read(sync, locker, &is_given, &is_entered);
        sync->is_read_lost = result == FAGUS_ELOST;
    } else if (is_added && UNLIKELY(sync->is_read_lost)) {
        result = FAGUS_ELOST;
    }
    if (!is_given) {
        int failed = fagus_record_settle(sync);
        result = result ? result : failed;
        (void)fagus_record_give(sync, locker);
    }
    if (is_held_with(result)) {
        note_acquired(sync, locker);
        fagus_check_hold(sync, FAGUS_READ);
        fagus_count(&sync->counters.acquires, 1);
    } else if (is_added) {
        remove_reader(sync, find_reader(sync, fagus_this_thread()));
        if (is_entered) {
            (void)fagus_readers_leave(sync);
        }
    }
    (void)pthread_mutex_unlock(&sync->lock);
    give_locker(sync, locker);
    return result ? result : is_owner_dead ? FAGUS_EOWNERDEAD : 0;
}

/* The lock is taken, with 0 or DN_EOWNERDEAD. */
static int acquire_with(struct fagus_sync *sync, struct fagus_locker *locker,
                        struct request *request, int taken)
{
    KILL_POINT("sync: lock taken");
    follow_writer(sync);
    bool is_owner_dead = taken == DN_EOWNERDEAD;
    int result = request->mode == FAGUS_WRITE
                     ? acquire_to_write(sync, locker, request, is_owner_dead)
                     : acquire_to_read(sync, locker, is_owner_dead);
    if (is_held_with(result)) {
        if (request->mode == FAGUS_WRITE) {
            fagus_count(&sync->counters.acquires, 1);
        }
        if (!sync->reached) {
            fagus_count_hops(sync, 2); /* request and grant */
        }
        if (request->begin_ns != 0) {
            uint64_t now_ns = inner_now_ns();
            (void)atomic_fetch_add_explicit(&sync->counters.wait_ns, now_ns - request->begin_ns,
                                            memory_order_relaxed);
            if (request->mode == FAGUS_WRITE) {
                sync->begin_ns = now_ns;
            }
        }
    }
    return result == FAGUS_ETIMEOUT && request->try ? FAGUS_EBUSY : result;
}

static int acquire(struct fagus_sync *sync, struct request *request)
{
    int error = fagus_handle_check(sync);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY(request->mode != FAGUS_READ && request->mode != FAGUS_WRITE)) {
        return FAGUS_EINVAL;
    }
    uint64_t thread = fagus_this_thread();
    if (UNLIKELY(is_writer(sync, thread) || is_reader(sync, thread))) {
        return FAGUS_EHELD;
    }
    struct fagus_locker *locker;
    error = take_locker(sync, &locker);
    if (UNLIKELY(error)) {
        return error;
    }
    if (UNLIKELY(fagus_environment.stats)) {
        look_at_the_clock(request);
    }
    int taken = take_lock(sync, locker, request);
    if (UNLIKELY(taken && taken != DN_EOWNERDEAD)) {
        give_locker(sync, locker);
        return fagus_error_of(taken);
    }
    return acquire_with(sync, locker, request, taken);
}

/* Whether nobody reads, nobody died writing, and the binding is as this node knows it. */
static inline bool nothing_is_new(const struct fagus_sync *sync, const struct fagus_record *record)
{
    unsigned slot = fagus_head_slot(atomic_load_explicit(&record->head, memory_order_relaxed));
    if (UNLIKELY((atomic_load_explicit(&record->readers, memory_order_acquire) &
                  FAGUS_READERS_BITS) != 0)) {
        return false;
    }
    follow_readers(sync);
    return atomic_load_explicit(&record->writing, memory_order_acquire) == 0 &&
           atomic_load_explicit(&record->bound_at[slot], memory_order_relaxed) == sync->bound_at;
}

/* Where memory is shared: a lock that nobody else wants costs the lock and little more. False: it
 * has to be done in the other way. */
static inline bool acquire_quickly(struct fagus_sync *sync, int *result)
{
    uint64_t thread = fagus_this_thread();
    if (UNLIKELY(is_writer(sync, thread) ||
                 __atomic_load_n(&sync->reader_count, __ATOMIC_RELAXED) != 0 ||
                 atomic_exchange_explicit(&sync->locker_is_used, 1, memory_order_acquire) != 0)) {
        return false;
    }
    struct dn_lock *lock = sync->locker.lock;
    int taken = LIKELY(lock != NULL) ? dn_lock_take(lock, NO_WAIT_NS) : DN_EBUSY;
    if (UNLIKELY(taken && taken != DN_EOWNERDEAD)) {
        give_locker(sync, &sync->locker);
        return false;
    }
    follow_writer(sync);
    struct fagus_record *record = sync->reached;
    if (UNLIKELY(taken || !nothing_is_new(sync, record) ||
                 !atomic_load_explicit(&sync->is_acquired, memory_order_relaxed))) {
        struct request request = {.mode = FAGUS_WRITE, .timeout_ns = FAGUS_FOREVER};
        *result = acquire_with(sync, &sync->locker, &request, taken);
        return true;
    }
    KILL_POINT("sync: about to write");
    atomic_store_explicit(&record->writing, (uint64_t)fagus_state.rank + 1, memory_order_release);
    sync->head = atomic_load_explicit(&record->head, memory_order_relaxed);
    sync->held = &sync->locker;
    mark_writer(sync);
    fagus_count(&sync->counters.acquires, 1);
    *result = 0;
    return true;
}

int fagus_acquire(struct fagus_sync *sync, enum fagus_mode mode)
{
    int result;
    if (LIKELY(fagus_handle_check(sync) == 0 && sync->is_quick && mode == FAGUS_WRITE) &&
        LIKELY(acquire_quickly(sync, &result))) {
        return result;
    }
    FAGUS_TRACED(INNER_TRACE_LOCK, 0, fagus_acquire(sync, mode));
    return acquire(sync, &(struct request){.mode = mode, .timeout_ns = FAGUS_FOREVER});
}

int fagus_acquire_try(struct fagus_sync *sync, enum fagus_mode mode)
{
    FAGUS_TRACED(INNER_TRACE_LOCK, 0, fagus_acquire_try(sync, mode));
    return acquire(sync, &(struct request){.mode = mode, .try = true});
}

int fagus_acquire_timed(struct fagus_sync *sync, enum fagus_mode mode, uint64_t timeout_ns)
{
    FAGUS_TRACED(INNER_TRACE_LOCK, 0, fagus_acquire_timed(sync, mode, timeout_ns));
    return acquire(sync, &(struct request){.mode = mode, .timeout_ns = timeout_ns});
}

/* ---- Releasing ------------------------------------------------------------------------------- */

/* Where memory is shared only a new binding has to be told. */
static int publish_shared(struct fagus_sync *sync)
{
    int error = 0;
    if (UNLIKELY(sync->is_rebound)) {
        uint64_t version = fagus_head_version(sync->head) + 1;
        uint64_t slot_bit;
        error = fagus_binding_publish(sync, version, &slot_bit);
        uint64_t head = version << FAGUS_HEAD_VERSION_SHIFT | slot_bit;
        error = error ? error : fagus_record_write(sync, &sync->own->head, &head, sizeof head);
    }
    int failed = mark_writing(sync, 0);
    if (UNLIKELY(sync->is_rebound)) {
        fagus_binding_settled(sync, error == 0);
    }
    return error ? error : failed;
}

static int release_from_writing(struct fagus_sync *sync)
{
    struct fagus_locker *locker = sync->held;
    unsigned char changes[FAGUS_CHANGES_BYTES];
    fagus_check_hold(sync, 0);
    if (UNLIKELY(fagus_environment.stats)) {
        fagus_count(&sync->counters.held_ns, inner_now_ns() - sync->begin_ns);
    }
    fagus_record_begin(sync, locker, changes);
    int error = fagus_state.is_shared ? publish_shared(sync) : fagus_data_publish(sync);
    leave_writing(sync);
    int failed = fagus_record_give(sync, locker);
    give_locker(sync, locker);
    return error ? error : failed;
}

static int release_from_reading(struct fagus_sync *sync, uint64_t thread)
{
    int error = 0;
    (void)pthread_mutex_lock(&sync->lock);
    size_t index = find_reader(sync, thread);
    if (index < sync->reader_count) {
        remove_reader(sync, index);
        if (sync->reader_count == 0) {
            fagus_check_hold(sync, 0);
            error = fagus_readers_leave(sync);
        }
    } else {
        error = FAGUS_ENOTHELD;
    }
    (void)pthread_mutex_unlock(&sync->lock);
    return error;
}

int fagus_release(struct fagus_sync *sync)
{
    int error = fagus_handle_check(sync);
    if (UNLIKELY(error)) {
        return error;
    }
    uint64_t thread = fagus_this_thread();
    if (LIKELY(sync->is_quick && is_writer(sync, thread) && !sync->is_rebound)) {
        struct fagus_locker *locker = sync->held;
        leave_writing(sync);
        /* Release: should this node die before it gives the lock, a node that finds 0 here
         * finds what was written; pairs with the acquire in nothing_is_new and shared_state. */
        atomic_store_explicit(&sync->reached->writing, 0, memory_order_release);
        error = dn_lock_give(locker->lock);
        give_locker(sync, locker);
        return LIKELY(error == 0) ? 0 : fagus_error_of(error);
    }
    FAGUS_TRACED(INNER_TRACE_LOCK, 0, fagus_release(sync));
    return LIKELY(is_writer(sync, thread)) ? release_from_writing(sync)
                                           : release_from_reading(sync, thread);
}
