/* The record: at hand where memory is reachable or this node manages it, else by packets; and
 * the nodes that read. */
#include <string.h>

#include "fagus/sync.h"

#define WRITER_SHIFT FAGUS_READERS_PER_WORD

/* For what was sent with a lock to come after what was sent by itself. */
#define BIT_PATIENCE_NS UINT64_C(10000000000)

/* ---- Looking and writing ---------------------------------------------------------------- */

static int fetch(const struct fagus_sync *sync, struct fagus_record *copy, size_t start, size_t end)
{
    return fagus_fetch_begin(sync->manager, fagus_place_of(sync->own) + start,
                             (unsigned char *)copy + start, end - start);
}

static const struct fagus_record *look_from_afar(struct fagus_sync *sync, struct fagus_record *copy,
                                                 unsigned parts)
{
    size_t line_end = offsetof(struct fagus_record, data);
    if (parts & FAGUS_LOOK_DATA) {
        line_end = offsetof(struct fagus_record, data[1]) + sync->total_bytes;
    }
    int error = fetch(sync, copy, 0, line_end);
    if (!error && parts & FAGUS_LOOK_LOG) {
        error = fetch(sync, copy, offsetof(struct fagus_record, log),
                      offsetof(struct fagus_record, binding));
    }
    if (!error && parts & FAGUS_LOOK_BINDING) {
        error = fetch(sync, copy, offsetof(struct fagus_record, binding),
                      offsetof(struct fagus_record, version));
    }
    int failed = fagus_fetch_wait();
    fagus_count_hops(sync, 2);
    return error || failed ? NULL : copy;
}

const struct fagus_record *fagus_record_look(struct fagus_sync *sync, struct fagus_record *copy,
                                             unsigned parts)
{
    return LIKELY(sync->reached != NULL) ? sync->reached : look_from_afar(sync, copy, parts);
}

void fagus_record_want(const struct fagus_sync *sync, struct fagus_locker *locker)
{
    /* Once: another thread may learn of a new binding meanwhile. */
    uint64_t total_bytes = fagus_total_bytes(sync);
    unsigned parts = fagus_data_parts(total_bytes);
    struct inner_lock_region regions[2] = {{0, offsetof(struct fagus_record, data)}, {0, 0}};
    _Static_assert(offsetof(struct fagus_record, lock) == 0, "the value begins with the lock");
    if (parts & FAGUS_LOOK_DATA) {
        uint32_t bytes = (uint32_t)total_bytes;
        regions[0].bytes += bytes;
        regions[1] = (struct inner_lock_region){offsetof(struct fagus_record, data[1]), bytes};
    } else if (parts & FAGUS_LOOK_LOG) {
        regions[1] = (struct inner_lock_region){
            offsetof(struct fagus_record, log),
            sizeof(((struct fagus_record *)0)->log),
        };
    }
    locker->wanted_bytes = total_bytes;
    inner_lock_want_value(locker->lock, locker->copy, regions);
}

bool fagus_record_is_brought(const struct fagus_sync *sync, const struct fagus_locker *locker)
{
    return locker->carries_value && !sync->reached && inner_lock_has_value(locker->lock) &&
           locker->wanted_bytes == fagus_total_bytes(sync);
}

int fagus_record_write(struct fagus_sync *sync, const void *own_place, const void *from,
                       size_t bytes)
{
    size_t offset = (size_t)((const unsigned char *)own_place - (unsigned char *)sync->own);
    if (LIKELY(sync->reached != NULL)) {
        unsigned char *to = (unsigned char *)sync->reached + offset;
        if (bytes == sizeof(uint64_t)) {
            uint64_t word;
            memcpy(&word, from, sizeof word);
            /* Release: pairs with the acquire of the next holder, and after a death with the
             * look at the head: what was written before is there. */
            atomic_store_explicit((_Atomic uint64_t *)(void *)to, word, memory_order_release);
        } else {
            memcpy(to, from, bytes);
        }
        return 0;
    }
    uint64_t more_bytes = INNER_CHANGE_ROOM(bytes);
    if (sync->changes && sync->changes_bytes + more_bytes <= FAGUS_CHANGES_BYTES) {
        sync->changes_bytes = inner_change_add(sync->changes, sync->changes_bytes, (uint32_t)offset,
                                               from, (uint32_t)bytes, false);
        return 0;
    }
    fagus_count_hops(sync, 1);
    return fagus_error_of(
        dn_botf(fagus_lane(), fagus_remote_of(sync->manager, own_place), from, bytes));
}

/* The error may be about another node to which this thread had sent something before: then the
 * record has none. */
static int error_of_manager(const struct fagus_sync *sync, int error)
{
    return error == DN_EPEER && !fagus_is_gone(sync->manager) ? 0 : fagus_error_of(error);
}

int fagus_record_settle(struct fagus_sync *sync)
{
    if (LIKELY(sync->reached != NULL) || sync->changes) {
        return 0;
    }
    return error_of_manager(sync, inner_quiet(fagus_lane()));
}

void fagus_record_begin(struct fagus_sync *sync, const struct fagus_locker *locker,
                        unsigned char *buffer)
{
    if (locker->carries_value && !sync->reached) {
        sync->changes = buffer;
        sync->changes_bytes = 0;
    }
}

/* The changes one by one, when there is no room for them with the lock. */
static int write_changes(struct fagus_sync *sync, const unsigned char *changes, uint32_t end)
{
    int error = 0;
    for (uint32_t at = 0; at < end && !error;) {
        struct inner_lock_region region;
        bool is_or;
        const void *bytes = inner_change_next(changes, end, &at, &region, &is_or);
        struct dn_remote remote = fagus_remote_at(sync->manager,
                                                  fagus_place_of(sync->own) + region.offset);
        uint64_t bits;
        memcpy(&bits, bytes, sizeof bits);
        error = is_or ? dn_or_u64(fagus_lane(), remote, bits)
                      : dn_botf(fagus_lane(), remote, bytes, region.bytes);
    }
    int failed = fagus_record_settle(sync);
    return error ? fagus_error_of(error) : failed;
}

int fagus_record_give(struct fagus_sync *sync, const struct fagus_locker *locker)
{
    struct dn_lock *lock = locker->lock;
    if (LIKELY(!locker->carries_value)) {
        int unplaced = fagus_record_settle(sync);
        int error = error_of_manager(sync, dn_lock_give(lock));
        return error ? error : unplaced;
    }
    /* sync belongs to the next holder, perhaps a thread of this node, as soon as the lock is
     * given. */
    const unsigned char *changes = sync->changes;
    uint32_t bytes = changes ? sync->changes_bytes : 0;
    sync->changes = NULL;
    fagus_count_hops(sync, 1);
    int unplaced = 0;
    int error = inner_lock_give_value(lock, changes, bytes);
    if (error == DN_EFULL) {
        unplaced = write_changes(sync, changes, bytes);
        error = dn_lock_give(lock);
    }
    return unplaced ? unplaced : error_of_manager(sync, error);
}

/* ---- Readers -------------------------------------------------------------------------------- */

static _Atomic uint64_t *readers_of(struct fagus_record *record, uint32_t word)
{
    return word == 0 ? &record->readers : &record->more_readers[word - 1];
}

static uint64_t reader_bit(int rank)
{
    return UINT64_C(1) << ((unsigned)rank % FAGUS_READERS_PER_WORD);
}

/* The bit goes with the lock, so that the next holder finds it; see fagus_readers_leave. */
int fagus_readers_enter(struct fagus_sync *sync)
{
    uint32_t word = (uint32_t)fagus_state.rank / FAGUS_READERS_PER_WORD;
    uint64_t bit = reader_bit(fagus_state.rank);
    if (LIKELY(sync->reached != NULL)) {
        (void)atomic_fetch_or_explicit(readers_of(sync->reached, word), bit, memory_order_acq_rel);
        return 0;
    }
    if (sync->changes &&
        sync->changes_bytes + INNER_CHANGE_ROOM(sizeof bit) <= FAGUS_CHANGES_BYTES) {
        uintptr_t offset = (uintptr_t)readers_of(sync->own, word) - (uintptr_t)sync->own;
        sync->changes_bytes = inner_change_add(sync->changes, sync->changes_bytes, (uint32_t)offset,
                                               &bit, sizeof bit, true);
        return 0;
    }
    uint64_t old;
    fagus_count_hops(sync, 2);
    return fagus_error_of(dn_fetch_or_u64(
        fagus_lane(), fagus_remote_of(sync->manager, readers_of(sync->own, word)), bit, &old));
}

/* Takes this node's bit out at the manager, where it may not have come yet: what goes with the
 * lock and what goes by itself keep no order. A bit that never comes was taken out by somebody
 * else: FAGUS_EPEER. */
static int take_out(struct fagus_sync *sync, uint32_t word, uint64_t bit, uint64_t *old)
{
    struct dn_remote place = fagus_remote_of(sync->manager, readers_of(sync->own, word));
    uint64_t deadline_ns = inner_now_ns() + BIT_PATIENCE_NS;
    int error;
    do {
        error = dn_fetch_and_u64(fagus_lane(), place, ~bit, old);
        fagus_count_hops(sync, 2);
        if (!error && !(*old & bit) && inner_now_ns() >= deadline_ns) {
            return FAGUS_EPEER;
        }
    } while (!error && !(*old & bit));
    return fagus_error_of(error);
}

int fagus_readers_leave(struct fagus_sync *sync)
{
    uint32_t word = (uint32_t)fagus_state.rank / FAGUS_READERS_PER_WORD;
    uint64_t bit = reader_bit(fagus_state.rank);
    uint64_t old;
    if (LIKELY(sync->reached != NULL)) {
        /* Release: pairs with the acquire of the writer that finds the bit gone. */
        old = atomic_fetch_and_explicit(readers_of(sync->reached, word), ~bit,
                                        memory_order_acq_rel);
    } else {
        int error = take_out(sync, word, bit, &old);
        if (error) {
            return error;
        }
    }
    uint64_t writer = old >> WRITER_SHIFT;
    if (UNLIKELY(writer != 0 && (old & ~bit & FAGUS_READERS_BITS) == 0)) {
        fagus_count_hops(sync, 1);
        /* Should it be gone, its lock is inherited, and the next one looks by itself. */
        (void)dn_add_u64(fagus_lane(), fagus_remote_of((int)writer - 1, &sync->own->wake), 1);
    }
    return 0;
}

struct leaving {
    const struct fagus_sync *sync;
    const _Atomic uint64_t *readers; /* where they can be looked at */
    uint64_t wake;
};

static bool somebody_left(void *context)
{
    const struct leaving *leaving = context;
    if (leaving->readers &&
        (atomic_load_explicit(leaving->readers, memory_order_acquire) & FAGUS_READERS_BITS) == 0) {
        return true;
    }
    return atomic_load_explicit(&leaving->sync->own->wake, memory_order_acquire) != leaving->wake;
}

/* A word of readers; `change` is what the writer alters of it, by exclusive or. */
static int alter_readers(struct fagus_sync *sync, uint32_t word, uint64_t change, uint64_t *old)
{
    if (!sync->reached) {
        fagus_count_hops(sync, 2);
    }
    return fagus_record_atomic(sync, readers_of(sync->own, word), INNER_XOR, change, 0, old);
}

/* The bits of a word whose nodes are gone, or are none. */
static uint64_t gone_readers(uint32_t word, uint64_t readers)
{
    uint64_t gone = 0;
    for (uint64_t left = readers & FAGUS_READERS_BITS; left; left &= left - 1) {
        int rank = (int)(word * FAGUS_READERS_PER_WORD) + __builtin_ctzll(left);
        if (rank >= fagus_state.size || fagus_is_gone(rank)) {
            gone |= reader_bit(rank);
        }
    }
    return gone;
}

static int wait_for_word(struct fagus_sync *sync, uint32_t word, uint64_t deadline_ns)
{
    uint64_t mine = (uint64_t)(fagus_state.rank + 1) << WRITER_SHIFT;
    struct leaving leaving = {sync, sync->reached ? readers_of(sync->reached, word) : NULL,
                              atomic_load_explicit(&sync->own->wake, memory_order_acquire)};
    struct inner_condition condition = {.holds = somebody_left,
                                        .context = &leaving,
                                        .first = &sync->own->wake,
                                        .last = &sync->own->wake};
    uint64_t change = 0;
    for (;;) {
        uint64_t readers;
        int error = alter_readers(sync, word, change, &readers);
        if (error) {
            return error;
        }
        readers ^= change;
        if ((readers & FAGUS_READERS_BITS) == 0) {
            return 0;
        }
        /* Only the holder of the lock changes the writer and takes the dead out. */
        change = ((readers ^ mine) & ~FAGUS_READERS_BITS) | gone_readers(word, readers);
        if (change) {
            continue;
        }
        uint64_t now_ns = inner_now_ns();
        if (now_ns >= deadline_ns) {
            return FAGUS_ETIMEOUT;
        }
        uint64_t left_ns = deadline_ns - now_ns;
        (void)inner_wait(fagus_lane(), &condition,
                         left_ns < FAGUS_LOOK_AGAIN_NS ? left_ns : FAGUS_LOOK_AGAIN_NS);
        leaving.wake = atomic_load_explicit(&sync->own->wake, memory_order_acquire);
    }
}

int fagus_readers_wait(struct fagus_sync *sync, uint64_t deadline_ns)
{
    int error = 0;
    for (uint32_t word = 0; word < sync->reader_words && !error; word++) {
        error = wait_for_word(sync, word, deadline_ns);
    }
    return error;
}
