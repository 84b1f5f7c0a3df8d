/* set_lock, clear_lock, test_lock on top of dn_lock.
 *
 * A lock uses the word of one PE. The address decides which, so that many locks are spread over
 * all PEs. A table finds the handles by the address. A handle is one requester: between uses it
 * is its lock's spare one; while the lock is held it is the holder. Threads that ask for the
 * same lock at the same time open a handle each.
 *
 * The table is read without a lock. It only grows: an entry stays when its lock's memory is
 * freed, and serves the next lock at that address. */
#include "shmem/failure.h"

#include <stdlib.h>

#include "shmemx.h"

struct entry {
    uintptr_t address;
    _Atomic(struct dn_lock *) spare;
    _Atomic(struct dn_lock *) holder; /* written by the holder */
};

struct table {
    size_t count;
    size_t capacity;     /* a power of two; at most half of it is used */
    struct table *older; /* may still be read; freed at the end */
    _Atomic(struct entry *) slots[];
};

static _Atomic(struct table *) table;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* for changes */

static size_t slot_of(const struct table *in, uintptr_t address)
{
    return (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (in->capacity - 1);
}

static inline struct entry *find(const struct table *in, uintptr_t address)
{
    if (UNLIKELY(!in)) {
        return NULL;
    }
    for (size_t slot = slot_of(in, address);; slot = (slot + 1) & (in->capacity - 1)) {
        /* Acquire: pairs with the release in place(). */
        struct entry *entry = atomic_load_explicit(&in->slots[slot], memory_order_acquire);
        if (!entry || entry->address == address) {
            return entry;
        }
    }
}

static void place(struct table *in, struct entry *entry)
{
    size_t slot = slot_of(in, entry->address);
    while (atomic_load_explicit(&in->slots[slot], memory_order_relaxed)) {
        slot = (slot + 1) & (in->capacity - 1);
    }
    atomic_store_explicit(&in->slots[slot], entry, memory_order_release);
    in->count++;
}

/* With the lock held: a table with room for one more; NULL: no memory. */
static struct table *roomy_table(void)
{
    struct table *old = atomic_load_explicit(&table, memory_order_relaxed);
    if (old && old->count < old->capacity / 2) {
        return old;
    }
    size_t capacity = old ? old->capacity * 2 : 64;
    struct table *new = calloc(1, sizeof *new + capacity * sizeof new->slots[0]);
    if (!new) {
        return NULL;
    }
    new->capacity = capacity;
    new->older = old;
    for (size_t i = 0; old && i < old->capacity; i++) {
        struct entry *entry = atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (entry) {
            place(new, entry);
        }
    }
    atomic_store_explicit(&table, new, memory_order_release);
    return new;
}

static __attribute__((noinline)) struct entry *find_or_make(uintptr_t address, const char *call)
{
    pthread_mutex_lock(&table_lock);
    struct entry *entry = find(atomic_load_explicit(&table, memory_order_relaxed), address);
    if (!entry) {
        struct table *in = roomy_table();
        entry = in ? calloc(1, sizeof *entry) : NULL;
        if (entry) {
            entry->address = address;
            place(in, entry);
        }
    }
    pthread_mutex_unlock(&table_lock);
    if (!entry) {
        shmem_fail(call, "no memory is left for the table of locks");
    }
    return entry;
}

static inline struct entry *entry_of(const long *lock, const char *call)
{
    if (UNLIKELY(!shmem_state.initialised)) {
        shmem_require_initialised(call);
    }
    struct entry *entry = find(atomic_load_explicit(&table, memory_order_acquire), (uintptr_t)lock);
    return LIKELY(entry != NULL) ? entry : find_or_make((uintptr_t)lock, call);
}

/* ---- Handles --------------------------------------------------------------------------- */

/* Only threads that may come at the same time pay for an exchange. */
static inline struct dn_lock *take_spare(struct entry *entry)
{
    if (LIKELY(shmem_state.thread_level < SHMEM_THREAD_MULTIPLE)) {
        struct dn_lock *spare = atomic_load_explicit(&entry->spare, memory_order_relaxed);
        atomic_store_explicit(&entry->spare, NULL, memory_order_relaxed);
        return spare;
    }
    return atomic_exchange_explicit(&entry->spare, NULL, memory_order_acquire);
}

/* A second spare handle of a lock that threads had contended for is closed. */
static inline void give_spare(struct entry *entry, struct dn_lock *handle)
{
    if (LIKELY(shmem_state.thread_level < SHMEM_THREAD_MULTIPLE)) {
        atomic_store_explicit(&entry->spare, handle, memory_order_relaxed);
        return;
    }
    struct dn_lock *other = atomic_exchange_explicit(&entry->spare, handle, memory_order_acq_rel);
    if (other) {
        (void)dn_lock_close(other);
    }
}

/* Closes the handles that nobody uses, when there are more locks than handles. */
static int close_spares(void)
{
    int count = 0;
    pthread_mutex_lock(&table_lock);
    struct table *in = atomic_load_explicit(&table, memory_order_relaxed);
    for (size_t i = 0; i < in->capacity; i++) {
        struct entry *entry = atomic_load_explicit(&in->slots[i], memory_order_relaxed);
        struct dn_lock *spare = entry ? take_spare(entry) : NULL;
        if (spare) {
            (void)dn_lock_close(spare);
            count++;
        }
    }
    pthread_mutex_unlock(&table_lock);
    return count;
}

/* The word that all PEs use: that of its home. */
static struct dn_remote word_of(const long *lock, const char *call)
{
    struct dn_remote remote;
    _Static_assert(sizeof *lock == sizeof(uint64_t), "a lock's word is a long");
    if ((uintptr_t)lock % sizeof *lock != 0 || !shmem_remote_of(lock, sizeof *lock, 0, &remote)) {
        shmem_fail(call,
                   "the lock at %p is not symmetric: use a static variable, or memory from "
                   "shmem_malloc that is set to 0",
                   (const void *)lock);
    }
    int pe = (int)(remote.offset / sizeof *lock % (uint64_t)shmem_state.n_pes);
    (void)shmem_remote_of(lock, sizeof *lock, pe, &remote);
    return remote;
}

/* NULL: the lock's home has died. */
static __attribute__((noinline)) struct dn_lock *open_handle(const long *lock, const char *call)
{
    struct dn_lock *handle;
    struct dn_remote word = word_of(lock, call);
    int error = dn_lock_open(shmem_state.node, word, &handle);
    if (error == DN_EFULL && close_spares() > 0) {
        error = dn_lock_open(shmem_state.node, word, &handle);
    }
    return shmem_require_at(call, error, word.rank) ? handle : NULL;
}

/* A handle to ask with, or NULL as above. A PE that asks again for what it holds would wait for
 * itself. */
static inline struct dn_lock *handle_for(struct entry *entry, const long *lock, const char *call)
{
    /* In place a handle from before the death would still find the word. */
    if (UNLIKELY(shmem_state.goes_on) && shmem_is_dead(word_of(lock, call).rank)) {
        shmem_on_error(call, DN_EPEER, word_of(lock, call).rank);
        return NULL;
    }
    struct dn_lock *handle = take_spare(entry);
    if (LIKELY(handle != NULL)) {
        return handle;
    }
    if (shmem_state.thread_level < SHMEM_THREAD_MULTIPLE &&
        atomic_load_explicit(&entry->holder, memory_order_relaxed)) {
        shmem_fail(call, "this PE holds the lock at %p already", (const void *)lock);
    }
    return open_handle(lock, call);
}

/* Whether the lock is held all the same: it is, when a dead holder left it. */
static __attribute__((noinline, cold)) bool fail_take(const long *lock, int error, const char *call)
{
    shmem_on_error(call, error, error == DN_EOWNERDEAD ? SHMEM_NOBODY : word_of(lock, call).rank);
    return error == DN_EOWNERDEAD;
}

/* A lock whose home has died could not be set, and clearing it fails as that did. */
static __attribute__((noinline, cold)) void fail_clear(const long *lock, const char *call)
{
    int home = word_of(lock, call).rank;
    if (!shmem_is_dead(home)) {
        shmem_fail(call, "this PE does not hold the lock at %p", (const void *)lock);
    }
    shmem_on_error(call, DN_EPEER, home);
}

/* ---- The functions ----------------------------------------------------------------------- */

void pshmem_set_lock(long *lock)
{
    static const char call[] = "shmem_set_lock";
    struct entry *entry = entry_of(lock, call);
    struct dn_lock *handle = handle_for(entry, lock, call);
    if (UNLIKELY(!handle)) {
        return;
    }
    inner_trace_as(shmem_state.node, call);
    int error = dn_lock_take(handle, DN_FOREVER);
    if (UNLIKELY(error) && !fail_take(lock, error, call)) {
        give_spare(entry, handle);
        return;
    }
    atomic_store_explicit(&entry->holder, handle, memory_order_relaxed);
}

void pshmem_clear_lock(long *lock)
{
    static const char call[] = "shmem_clear_lock";
    struct entry *entry = entry_of(lock, call);
    struct dn_lock *handle = atomic_load_explicit(&entry->holder, memory_order_relaxed);
    if (UNLIKELY(!handle)) {
        fail_clear(lock, call);
        return;
    }
    atomic_store_explicit(&entry->holder, NULL, memory_order_relaxed);
    /* More than the next holder needs: the specification says quiet, which orders this PE's
     * later reads as well. */
    pshmem_quiet();
    inner_trace_as(shmem_state.node, call);
    shmem_require(call, dn_lock_give(handle));
    give_spare(entry, handle);
}

int pshmem_test_lock(long *lock)
{
    static const char call[] = "shmem_test_lock";
    struct entry *entry = entry_of(lock, call);
    if (shmem_state.thread_level < SHMEM_THREAD_MULTIPLE &&
        atomic_load_explicit(&entry->holder, memory_order_relaxed)) {
        return 1;
    }
    struct dn_lock *handle = handle_for(entry, lock, call);
    if (UNLIKELY(!handle)) {
        return 1;
    }
    inner_trace_as(shmem_state.node, call);
    int error = dn_lock_try(handle);
    if (error == DN_EBUSY) {
        inner_trace_as(shmem_state.node, NULL); /* a look that found nothing is not recorded */
        give_spare(entry, handle);
        return 1;
    }
    if (UNLIKELY(error) && !fail_take(lock, error, call)) {
        give_spare(entry, handle);
        return 1;
    }
    atomic_store_explicit(&entry->holder, handle, memory_order_relaxed);
    return 0;
}

SHMEM_ALIAS(set_lock)
SHMEM_ALIAS(clear_lock)
SHMEM_ALIAS(test_lock)

int shmemx_lock_held(const long *lock)
{
    const struct entry *entry = entry_of(lock, __func__);
    return atomic_load_explicit(&entry->holder, memory_order_relaxed) != NULL;
}

/* What this PE still holds it gives away, since nobody else could; before the PEs meet for the end,
 * because others may wait for it. */
void shmem_locks_give(void)
{
    const struct table *in = atomic_load_explicit(&table, memory_order_relaxed);
    for (size_t i = 0; in && i < in->capacity; i++) {
        struct entry *entry = atomic_load_explicit(&in->slots[i], memory_order_relaxed);
        struct dn_lock *holder = entry ? atomic_load_explicit(&entry->holder, memory_order_relaxed)
                                       : NULL;
        if (holder) {
            atomic_store_explicit(&entry->holder, NULL, memory_order_relaxed);
            (void)dn_lock_give(holder);
            give_spare(entry, holder);
        }
    }
}

static void close_entry(struct entry *entry)
{
    struct dn_lock *spare = atomic_load_explicit(&entry->spare, memory_order_relaxed);
    if (spare) {
        (void)dn_lock_close(spare);
    }
    free(entry);
}

void shmem_locks_end(void)
{
    struct table *at = atomic_load_explicit(&table, memory_order_relaxed);
    for (size_t i = 0; at && i < at->capacity; i++) {
        struct entry *entry = atomic_load_explicit(&at->slots[i], memory_order_relaxed);
        if (entry) {
            close_entry(entry);
        }
    }
    while (at) {
        struct table *older = at->older;
        free(at);
        at = older;
    }
    atomic_store_explicit(&table, NULL, memory_order_relaxed);
}
