/* Barriers that make a variable's ranges the same everywhere, whoever wrote what.
 *
 * Every node compares its ranges with their twin and shows the differences. When all have, each
 * node applies the differences of all nodes, its own among them, in the order of ranks, to the
 * newest version. So all end with the same bytes. They are a new version, and the manager tells
 * the record.
 *
 * A version that a holder has just released may still be on its way to the manager when all
 * have arrived. But the holder knows its version and tells it as it arrives: the others wait
 * until the record has it. After a death some nodes fail and go on while others still end the
 * barrier. So the manager tells the record with the lock held, if nobody has released anything
 * since; a node that cannot know whether it did has no version. */
#include <stdlib.h>
#include <string.h>

#include "base/killpoint.h"
#include "fagus/check.h"
#include "fagus/diff.h"
#include "fagus/look.h"
#include "fagus/traced.h"

/* What a node tells the others as it arrives. */
struct arrival {
    uint64_t number; /* the variable's */
    uint64_t error;  /* FAGUS_E... negated: this node cannot take part */
    uint64_t bound_at;
    uint64_t version;
    uint64_t has_old; /* no version, and what an earlier binding left in the ranges */
    uint64_t place;   /* of its differences */
    uint64_t bytes;
};

static int wait_for_all(void)
{
    return fagus_error_of(inner_barrier(fagus_state.team));
}

static void have_no_version(struct fagus_sync *sync)
{
    sync->version = FAGUS_VERSION_NONE;
    fagus_data_tell_version(sync, false);
}

/* The first barrier: what this node has never had was written here where it is not what it was
 * when it was bound. Others may have bound it otherwise since; then nothing was. */
static bool begin_barriers(struct fagus_sync *sync)
{
    bool is_new = sync->version == FAGUS_VERSION_NONE && sync->bound_at == 0;
    sync->has_barriers = true;
    fagus_check_update(sync);
    if (is_new && sync->twin) {
        return true;
    }
    bool is_made = fagus_twin_take(sync);
    if (is_made && is_new && sync->is_of_zeros) {
        memset(sync->twin, 0, sync->twin_bytes);
    }
    return is_made;
}

/* No differences of its ranges are longer. */
static uint64_t longest_differences(const struct fagus_sync *sync)
{
    uint64_t bytes = sync->range_count * FAGUS_DIFF_HEADER_BYTES;
    for (size_t i = 0; i < sync->range_count; i++) {
        bytes += fagus_diff_bound(sync->ranges[i].bytes);
    }
    return bytes;
}

static int show_differences(struct fagus_sync *sync, void **shown, struct arrival *mine)
{
    bool has_twin = sync->has_barriers && sync->twin;
    if (!has_twin && !begin_barriers(sync)) {
        return FAGUS_ENOMEM;
    }
    uint64_t changed;
    uint64_t capacity = longest_differences(sync);
    void *buffer = malloc(capacity ? capacity : 1);
    if (!buffer) {
        return FAGUS_ENOMEM;
    }
    mine->bytes = fagus_ranges_diff(sync, buffer, capacity, &changed);
    INVARIANT(mine->bytes != FAGUS_DIFF_TOO_LONG);
    fagus_count(&sync->counters.bytes_changed, changed);
    int error = 0;
    if (mine->bytes != 0) {
        *shown = fagus_pool_alloc(mine->bytes);
        if (*shown) {
            memcpy(*shown, buffer, mine->bytes);
            mine->place = fagus_place_of(*shown);
        } else {
            error = FAGUS_ENOMEM;
        }
    }
    free(buffer);
    return error;
}

/* Whether all have the same version; with none, there is nothing but what the differences tell,
 * unless there was something before. */
static bool versions_are_equal(const struct arrival *all)
{
    int rank = 0;
    while (rank < fagus_state.size && all[rank].version == all[0].version && !all[rank].has_old) {
        rank++;
    }
    return rank >= fagus_state.size;
}

/* The newest version that anybody has; 0: none. */
static uint64_t newest_version(const struct arrival *all)
{
    uint64_t newest = 0;
    for (int rank = 0; rank < fagus_state.size; rank++) {
        if (all[rank].version != FAGUS_VERSION_NONE && all[rank].version > newest) {
            newest = all[rank].version;
        }
    }
    return newest;
}

struct expectation {
    struct fagus_sync *sync;
    uint64_t version;
    unsigned parts;
    struct fagus_record *copy;
    const struct fagus_record *record; /* as it was last looked at */
};

static int look(void *context)
{
    struct expectation *expected = context;
    expected->record = fagus_record_look(expected->sync, expected->copy, expected->parts);
    if (!expected->record) {
        return FAGUS_EPEER;
    }
    uint64_t head = atomic_load_explicit(&expected->record->head, memory_order_acquire);
    return fagus_head_version(head) >= expected->version;
}

/* The newest version, under what this node wrote: that is in its differences. Nobody changes its
 * copy before all have taken what they need of it. */
static int bring_newest(struct fagus_sync *sync, const struct arrival *all)
{
    if (versions_are_equal(all)) {
        return 0;
    }
    struct fagus_record copy;
    struct expectation expected = {sync, newest_version(all), fagus_data_parts(sync->total_bytes),
                                   &copy, NULL};
    uint64_t before = sync->version;
    int error = fagus_wait(look, &expected, FAGUS_FOREVER);
    if (!error) {
        sync->head = atomic_load_explicit(&expected.record->head, memory_order_acquire);
        error = fagus_data_bring(sync, expected.record, false);
    }
    int failed = wait_for_all();
    if (failed && sync->version != before) {
        /* Others may have gone on, and written what this node was reading. */
        have_no_version(sync);
    }
    return failed ? failed : error;
}

/* The differences of all nodes, one behind the other. NULL: *error. All have the same ranges, so
 * nobody's can be longer than this node's: FAGUS_EPEER. */
static unsigned char *fetch_all(const struct fagus_sync *sync, const struct arrival *all,
                                int *error)
{
    uint64_t longest = longest_differences(sync);
    uint64_t total = 0;
    for (int rank = 0; rank < fagus_state.size; rank++) {
        if (all[rank].bytes > longest) {
            *error = FAGUS_EPEER;
            return NULL;
        }
        total += all[rank].bytes;
    }
    unsigned char *buffer = malloc(total ? total : 1);
    *error = buffer ? 0 : FAGUS_ENOMEM;
    total = 0;
    for (int rank = 0; rank < fagus_state.size && !*error; rank++) {
        if (all[rank].bytes != 0) {
            *error = fagus_fetch_begin(rank, all[rank].place, buffer + total, all[rank].bytes);
        }
        total += all[rank].bytes;
    }
    int failed = fagus_fetch_wait();
    *error = *error ? *error : failed;
    if (*error) {
        free(buffer);
        buffer = NULL;
    }
    return buffer;
}

/* All or none: a node that cannot have everybody's differences keeps the version that it has. */
static int apply_all(struct fagus_sync *sync, const struct arrival *all)
{
    int error;
    unsigned char *buffer = fetch_all(sync, all, &error);
    const unsigned char *next = buffer;
    if (error) {
        return error;
    }
    fagus_data_tell_version(sync, true);
    for (int rank = 0; rank < fagus_state.size && !error; rank++) {
        if (all[rank].bytes != 0 && !fagus_ranges_apply(sync, next, all[rank].bytes)) {
            /* What this node has now is no version. */
            error = FAGUS_ELOST;
            have_no_version(sync);
        }
        next += all[rank].bytes;
        if (rank != fagus_state.rank && all[rank].bytes != 0) {
            fagus_count(&sync->counters.bytes_differences, all[rank].bytes);
            fagus_count_hops(sync, 2);
        }
    }
    free(buffer);
    return error;
}

static int write_record(struct fagus_sync *sync, uint64_t version)
{
    uint64_t head = version << FAGUS_HEAD_VERSION_SHIFT | (sync->head & FAGUS_HEAD_SLOT) |
                    (uint64_t)fagus_state.rank;
    if (sync->total_bytes <= FAGUS_INLINE_BYTES) {
        fagus_ranges_gather(sync, sync->own->data[version & 1]);
        head |= FAGUS_HEAD_INLINE;
    }
    return fagus_record_write(sync, &sync->own->head, &head, sizeof head);
}

/* The manager tells what all have now; with the small ones' data, as a release does. FAGUS_EBUSY:
 * somebody has released something meanwhile; after a death, FAGUS_EPEER. */
static int tell_record(struct fagus_sync *sync, uint64_t version)
{
    struct fagus_locker *locker;
    /* A thread that acquires it has the one lock when it asks for the other. */
    (void)pthread_mutex_unlock(&sync->lock);
    int error = fagus_record_lock(sync, &locker);
    (void)pthread_mutex_lock(&sync->lock);
    if (error) {
        return error;
    }
    uint64_t head = atomic_load_explicit(&sync->own->head, memory_order_acquire);
    if (fagus_head_version(head) < version) {
        KILL_POINT("sync: the barrier's version made, head not written");
        error = write_record(sync, version);
        KILL_POINT("sync: the barrier's head written, lock not given");
    } else {
        error = fagus_death_news() ? FAGUS_EPEER : FAGUS_EBUSY;
    }
    int failed = fagus_record_unlock(sync, locker);
    return error ? error : failed;
}

enum arrived { ARRIVED, ARRIVED_WITHOUT_BINDING, ARRIVED_FOR_NOTHING };

/* All nodes find the same, except whose error it is. */
static enum arrived check_arrivals(const struct arrival *all)
{
    enum arrived arrived = ARRIVED;
    for (int rank = 0; rank < fagus_state.size; rank++) {
        if (all[rank].error || all[rank].number != all[0].number) {
            return ARRIVED_FOR_NOTHING;
        }
        if (all[rank].bound_at != all[0].bound_at) {
            arrived = ARRIVED_WITHOUT_BINDING;
        }
    }
    return arrived;
}

/* A version above all that anybody has; the twin is what the ranges are. */
static int make_version(struct fagus_sync *sync, const struct arrival *all)
{
    uint64_t version = fagus_head_version(sync->head);
    uint64_t newest = newest_version(all);
    version = (version > newest ? version : newest) + 1;
    sync->version = version;
    sync->twin_version = version;
    fagus_data_tell_version(sync, false);
    int error = sync->manager == fagus_state.rank ? tell_record(sync, version) : 0;
    if (error) {
        have_no_version(sync);
    }
    sync->head = version << FAGUS_HEAD_VERSION_SHIFT | (sync->head & FAGUS_HEAD_SLOT);
    return error;
}

/* Learns a binding that others made since, so that all speak of the same ranges. A record that
 * has not heard of this node's own release yet tells nothing new.
 *
 * Nobody holds the lock for this, and the parts of a look come in any order. So the binding is
 * asked for after the head that names it was seen, and the head is looked at again: a binding
 * that came with another version may have been half of an older one. */
static int learn_binding(struct fagus_sync *sync)
{
    struct fagus_record copy;
    for (;;) {
        const struct fagus_record *record = fagus_record_look(sync, &copy, 0);
        if (!record) {
            return FAGUS_EPEER;
        }
        uint64_t head = atomic_load_explicit(&record->head, memory_order_acquire);
        if (sync->version != FAGUS_VERSION_NONE && fagus_head_version(head) < sync->version) {
            return 0;
        }
        sync->head = head;
        unsigned slot = fagus_head_slot(head);
        uint64_t bound_at = atomic_load_explicit(&record->bound_at[slot], memory_order_relaxed);
        if (bound_at == sync->bound_at) {
            return 0;
        }
        record = fagus_record_look(sync, &copy, FAGUS_LOOK_BINDING);
        if (!record) {
            return FAGUS_EPEER;
        }
        if (atomic_load_explicit(&record->bound_at[slot], memory_order_relaxed) == bound_at) {
            int error = fagus_binding_learn(sync, record);
            if (error) {
                return error;
            }
        }
    }
}

/* What a node has in the barrier. */
struct attendance {
    struct arrival *all;
    void *shown;       /* its differences, in the pool */
    bool is_looked_at; /* perhaps for ever, by a node that does not know of a death yet */
    enum arrived arrived;
};

static int arrive(struct fagus_sync *sync, struct attendance *attendance)
{
    struct arrival mine = {.number = sync->number};
    int error = fagus_sync_is_held(sync) ? FAGUS_EHELD : learn_binding(sync);
    error = error ? error : show_differences(sync, &attendance->shown, &mine);
    mine.error = (uint64_t)-error;
    mine.bound_at = sync->bound_at;
    mine.version = sync->version;
    mine.has_old = sync->version == FAGUS_VERSION_NONE && !sync->is_of_zeros;
    KILL_POINT("sync: differences shown");
    int failed = fagus_error_of(
        dn_allgather(fagus_state.team, &mine, attendance->all, sizeof mine));
    if (failed) {
        attendance->is_looked_at = failed == FAGUS_EPEER;
        attendance->arrived = ARRIVED_FOR_NOTHING;
        return error ? error : failed;
    }
    attendance->arrived = check_arrivals(attendance->all);
    return error ? error : attendance->arrived == ARRIVED_FOR_NOTHING ? FAGUS_EMISMATCH : 0;
}

/* Somebody bound it anew while others had arrived: all of them once more, when the record knows of
 * it. */
static int arrive_again(struct fagus_sync *sync, struct attendance *attendance)
{
    struct fagus_record copy;
    struct expectation expected = {sync, newest_version(attendance->all), 0, &copy, NULL};
    fagus_pool_free(attendance->shown);
    attendance->shown = NULL;
    int error = fagus_wait(look, &expected, FAGUS_FOREVER);
    if (error) {
        return error;
    }
    error = arrive(sync, attendance);
    return !error && attendance->arrived != ARRIVED ? FAGUS_EMISMATCH : error;
}

/* All have the version. Else the record has it only if the manager told it; the manager knows
 * whether it did, and the others have none until they look. */
static int end(struct fagus_sync *sync, struct attendance *attendance, int error)
{
    bool everywhere;
    int failed = fagus_everywhere(error == 0, &everywhere);
    attendance->is_looked_at = failed == FAGUS_EPEER;
    if (error) {
        return error;
    }
    if (!everywhere && sync->manager != fagus_state.rank) {
        have_no_version(sync);
    }
    return failed ? failed : everywhere ? 0 : FAGUS_ENOMEM;
}

static int make_consistent(struct fagus_sync *sync)
{
    struct attendance attendance = {
        .all = calloc((size_t)fagus_state.size, sizeof *attendance.all),
    };
    if (!attendance.all) {
        return fagus_refuse(FAGUS_ENOMEM);
    }
    int error = arrive(sync, &attendance);
    if (!error && attendance.arrived == ARRIVED_WITHOUT_BINDING) {
        error = arrive_again(sync, &attendance);
    }
    if (!error) {
        error = bring_newest(sync, attendance.all);
        error = error ? error : apply_all(sync, attendance.all);
        KILL_POINT("sync: differences of all applied");
        error = error ? error : make_version(sync, attendance.all);
        error = end(sync, &attendance, error);
    }
    if (!attendance.is_looked_at) {
        fagus_pool_free(attendance.shown);
    }
    free(attendance.all);
    return error;
}

int fagus_barrier(struct fagus_sync *sync)
{
    FAGUS_TRACED(INNER_TRACE_BARRIER, 0, fagus_barrier(sync));
    int error = fagus_check_open();
    if (error) {
        return error;
    }
    if (!sync) {
        return wait_for_all();
    }
    fagus_collective_begin();
    if (fagus_handle_check(sync)) {
        error = fagus_refuse(FAGUS_EINVAL);
    } else if (fagus_state.is_shared) {
        sync->has_barriers = true;
        fagus_check_update(sync);
        error = fagus_sync_is_held(sync) ? fagus_refuse(FAGUS_EHELD)
                                         : fagus_agree("fagus_barrier", &sync->number, 1);
    } else {
        (void)pthread_mutex_lock(&sync->lock);
        error = make_consistent(sync);
        (void)pthread_mutex_unlock(&sync->lock);
    }
    fagus_collective_end();
    return error;
}
