/* Bindings: a call of all nodes while nobody has acquired the variable, later a call of its
 * holder. */
#include <stdlib.h>
#include <string.h>

#include "fagus/bound.h"
#include "fagus/check.h"
#include "fagus/traced.h"

/* ---- This node's list ---------------------------------------------------------------------- */

static void free_list(struct fagus_extent *ranges, bool is_in_pool)
{
    if (is_in_pool) {
        fagus_pool_free(ranges);
    } else {
        free(ranges);
    }
}

/* A long list lies where other nodes can read it: at its binder, and at those that knew it when
 * the binder died. */
static struct fagus_extent *make_list(size_t count, bool *is_in_pool)
{
    struct fagus_extent *ranges = NULL;
    *is_in_pool = false;
    if (count > FAGUS_RANGES_IN_RECORD) {
        ranges = fagus_pool_alloc(count * sizeof *ranges);
        *is_in_pool = ranges != NULL;
    }
    return ranges ? ranges : calloc(count ? count : 1, sizeof *ranges);
}

/* A node that never had the variable keeps its ranges as they were before. */
static void leave_ranges(struct fagus_sync *sync)
{
    fagus_check_forget(sync);
    fagus_bound_remove(sync);
    if (sync->version != FAGUS_VERSION_NONE) {
        fagus_bound_remember(sync);
    }
}

static void install(struct fagus_sync *sync, struct fagus_extent *ranges, size_t count,
                    bool is_in_pool, uint64_t bound_at)
{
    leave_ranges(sync);
    fagus_twin_drop(sync);
    atomic_store_explicit(&sync->own->list_count, 0, memory_order_relaxed);
    if (sync->ranges != sync->released) {
        free_list(sync->ranges, sync->list_is_in_pool);
    }
    sync->ranges = ranges;
    sync->range_count = count;
    sync->list_is_in_pool = is_in_pool;
    sync->bound_at = bound_at;
    uint64_t total_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        total_bytes += ranges[i].bytes;
    }
    /* Relaxed: a thread that asks for the lock meanwhile looks again when it has it. */
    __atomic_store_n(&sync->total_bytes, total_bytes, __ATOMIC_RELAXED);
    if (is_in_pool) {
        atomic_store_explicit(&sync->own->bound_version, bound_at, memory_order_relaxed);
        atomic_store_explicit(&sync->own->list_place, fagus_place_of(ranges), memory_order_relaxed);
        /* Release: a node that finds the count finds the list. */
        atomic_store_explicit(&sync->own->list_count, count, memory_order_release);
    }
    /* Without memory for it the table knows less: overlaps are found later, or not. */
    (void)fagus_bound_enter(sync);
    fagus_check_update(sync);
}

void fagus_binding_settled(struct fagus_sync *sync, bool is_published)
{
    sync->is_rebound = false;
    if (!is_published) {
        sync->bound_at = FAGUS_VERSION_NONE; /* another's may come with the same version */
    }
    fagus_pool_free(sync->released);
    sync->released = NULL;
}

void fagus_binding_forget(struct fagus_sync *sync)
{
    leave_ranges(sync);
    free_list(sync->ranges, sync->list_is_in_pool);
    sync->ranges = NULL;
    sync->range_count = 0;
}

void fagus_binding_close(struct fagus_sync *sync, const struct fagus_record *record)
{
    atomic_store_explicit(&sync->is_acquired, true, memory_order_relaxed);
    if (atomic_load_explicit(&record->together, memory_order_relaxed) & FAGUS_TOGETHER_ACQUIRED) {
        return;
    }
    if (!sync->reached) {
        fagus_count_hops(sync, 2);
    }
    /* Should it fail the manager is gone, and nobody binds it any more. */
    uint64_t old;
    (void)fagus_record_atomic(sync, &sync->own->together, INNER_OR, FAGUS_TOGETHER_ACQUIRED, 0,
                              &old);
}

/* ---- Learning ------------------------------------------------------------------------------ */

static bool ranges_make_sense(const struct fagus_extent *ranges, size_t count)
{
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].bytes == 0 || ranges[i].bytes > fagus_state.bytes ||
            ranges[i].offset > fagus_state.bytes - ranges[i].bytes ||
            __builtin_add_overflow(total, ranges[i].bytes, &total)) {
            return false;
        }
    }
    return true;
}

static int fetch_list(int rank, uint64_t place, struct fagus_extent *ranges, size_t count)
{
    return fagus_fetch(rank, place, ranges, count * sizeof *ranges);
}

/* The list of a binder that is gone, from any other node that knows it. */
static int find_list(const struct fagus_sync *sync, uint64_t bound_at, struct fagus_extent *ranges,
                     size_t count)
{
    uint64_t place = fagus_place_of(&sync->own->bound_version);
    for (int rank = 0; rank < fagus_state.size; rank++) {
        uint64_t words[3] = {0}; /* bound_version, list_place, list_count */
        if (rank == fagus_state.rank) {
            continue;
        }
        int error = fagus_fetch(rank, place, words, sizeof words);
        if (!error && words[0] == bound_at && words[2] == count &&
            fetch_list(rank, words[1], ranges, count) == 0) {
            return 0;
        }
    }
    return FAGUS_EPEER;
}

/* Only the dead knew it. The next one looks again. */
static int lose_binding(struct fagus_sync *sync)
{
    bool is_in_pool;
    struct fagus_extent *none = make_list(0, &is_in_pool);
    if (!none) {
        return FAGUS_ENOMEM;
    }
    install(sync, none, 0, is_in_pool, FAGUS_VERSION_NONE);
    sync->version = FAGUS_VERSION_NONE;
    sync->is_binding_lost = true;
    return FAGUS_ELOST;
}

/* Each word once: the record may lie in memory that others write. */
static void read_binding(const struct fagus_binding *there, struct fagus_binding *binding)
{
    const uint64_t *from = (const uint64_t *)(const void *)there;
    uint64_t words[sizeof *binding / sizeof(uint64_t)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        words[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    }
    memcpy(binding, words, sizeof words);
}

int fagus_binding_learn(struct fagus_sync *sync, const struct fagus_record *record)
{
    unsigned slot = fagus_head_slot(sync->head);
    uint64_t bound_at = atomic_load_explicit(&record->bound_at[slot], memory_order_relaxed);
    struct fagus_binding binding;
    bool is_in_pool;
    read_binding(&record->binding[slot], &binding);
    if (binding.count > fagus_state.bytes / sizeof(struct fagus_extent) ||
        binding.rank >= (uint64_t)fagus_state.size) {
        return FAGUS_EPEER;
    }
    size_t count = binding.count;
    struct fagus_extent *ranges = make_list(count, &is_in_pool);
    int error = ranges ? 0 : FAGUS_ENOMEM;
    if (!error && count <= FAGUS_RANGES_IN_RECORD) {
        memcpy(ranges, binding.ranges, count * sizeof *ranges);
    } else if (!error) {
        error = fetch_list((int)binding.rank, binding.place, ranges, count);
        error = error ? find_list(sync, bound_at, ranges, count) : 0;
    }
    if (!error && !ranges_make_sense(ranges, count)) {
        error = FAGUS_EPEER; /* what the binder left, and it is gone */
    }
    if (error) {
        free_list(ranges, is_in_pool);
        return error == FAGUS_EPEER && fagus_is_gone((int)binding.rank) ? lose_binding(sync)
                                                                        : error;
    }
    sync->is_binding_lost = false;
    install(sync, ranges, count, is_in_pool, bound_at);
    return 0;
}

int fagus_binding_publish(struct fagus_sync *sync, uint64_t version, uint64_t *slot_bit)
{
    uint64_t other = sync->head & FAGUS_HEAD_SLOT ? 0 : FAGUS_HEAD_SLOT;
    unsigned slot = fagus_head_slot(other);
    struct fagus_binding binding = {.count = sync->range_count, .rank = (uint64_t)fagus_state.rank};
    /* The count decides, as for those that learn it: what is left of a long list may be short. */
    if (sync->range_count > FAGUS_RANGES_IN_RECORD) {
        binding.place = fagus_place_of(sync->ranges);
    } else {
        memcpy(binding.ranges, sync->ranges, sync->range_count * sizeof *sync->ranges);
    }
    int error = fagus_record_write(sync, &sync->own->binding[slot], &binding, sizeof binding);
    error = error ? error
                  : fagus_record_write(sync, &sync->own->bound_at[slot], &version, sizeof version);
    *slot_bit = other;
    return error;
}

/* ---- Changing ------------------------------------------------------------------------------ */

static int by_offset(const void *one, const void *other)
{
    const struct fagus_extent *first = one;
    const struct fagus_extent *second = other;
    return first->offset < second->offset ? -1 : first->offset > second->offset;
}

static int check_apart(const struct fagus_extent *ranges, size_t count)
{
    struct fagus_extent *sorted = malloc((count ? count : 1) * sizeof *sorted);
    int error = sorted ? 0 : FAGUS_ENOMEM;
    if (!error && count != 0) {
        memcpy(sorted, ranges, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_offset);
        for (size_t i = 1; i < count && !error; i++) {
            error = sorted[i - 1].offset + sorted[i - 1].bytes > sorted[i].offset ? FAGUS_EOVERLAP
                                                                                  : 0;
        }
    }
    free(sorted);
    return error;
}

/* Whether a variable is still bound as this node knows it. A node that holds it may have bound it
 * otherwise, and its record tells. */
static bool still_bound(const struct fagus_sync *sync)
{
    uint64_t words[5] = {0}; /* lock, head, readers, bound_at */
    _Static_assert(offsetof(struct fagus_record, bound_at) == 3 * sizeof(uint64_t), "as above");
    int error = fagus_fetch(sync->manager, fagus_place_of(sync->own), words, sizeof words);
    return !error && words[3 + fagus_head_slot(words[1])] <= sync->bound_at;
}

/* Whether anything of the range is bound to another one than `except`, as far as this node can
 * know. */
static bool is_taken(const struct fagus_extent *range, const struct fagus_sync *except)
{
    uint64_t at = range->offset;
    uint64_t end = range->offset + range->bytes;
    struct fagus_bound found;
    while (at < end && fagus_bound_find(at, end - at, except, &found)) {
        if (still_bound(found.sync)) {
            return true;
        }
        at = found.offset + found.bytes; /* behind what is not bound any more */
    }
    return false;
}

static int check_free(const struct fagus_sync *sync, const struct fagus_extent *ranges,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_taken(&ranges[i], sync)) {
            return FAGUS_EOVERLAP;
        }
    }
    return check_apart(ranges, count);
}

/* What is here of earlier bindings was not written under this one: a first barrier compares with
 * it, not with zeros. Without memory for that nothing counts as written yet. */
static void keep_what_was(struct fagus_sync *sync)
{
    size_t i = 0;
    while (i < sync->range_count &&
           !fagus_bound_was(sync->ranges[i].offset, sync->ranges[i].bytes)) {
        i++;
    }
    sync->is_of_zeros = i == sync->range_count;
    if (!sync->is_of_zeros && !fagus_twin_take(sync)) {
        fagus_twin_drop(sync);
    }
}

bool fagus_is_bound(uint64_t offset, uint64_t bytes)
{
    return is_taken(&(struct fagus_extent){offset, bytes}, NULL);
}

/* What barriers made of it is the same everywhere: it lies at the homes, as what is bound now. */
static void begin_anew(struct fagus_sync *sync)
{
    sync->head = 0;
    sync->version = FAGUS_VERSION_NONE;
    if (!fagus_state.is_shared) {
        fagus_data_tell_version(sync, false);
        atomic_store_explicit(&sync->own->head, 0, memory_order_release);
        /* Nobody acquires it before the manager has done so too. After a death it is bound all the
         * same, and the manager's record tells what is. */
        (void)fagus_all_or_none(0);
    }
}

/* A binding of all nodes together, of a variable that none has acquired. */
static int change_together(struct fagus_sync *sync, struct fagus_extent *ranges, size_t count,
                           bool is_in_pool, int error)
{
    if (error) {
        return fagus_refuse(error);
    }
    uint64_t numbers[2] = {sync->number, count};
    for (size_t i = 0; i < count; i++) {
        numbers[1] = numbers[1] * UINT64_C(0x9e3779b97f4a7c15) + ranges[i].offset;
        numbers[1] = (numbers[1] ^ numbers[1] >> 29) * UINT64_C(0xbf58476d1ce4e5b9) +
                     ranges[i].bytes;
    }
    error = fagus_agree("fagus_bind", numbers, 2);
    if (!error) {
        install(sync, ranges, count, is_in_pool, 0);
        begin_anew(sync);
        keep_what_was(sync);
        int home = count ? fagus_home(fagus_pointer_at(ranges[0].offset)) : -1;
        fagus_sync_manage(sync,
                          home >= 0 ? home : (int)(sync->number % (uint64_t)fagus_state.size));
    }
    return error;
}

/* Should this node die before its next release, the others go on with what is bound now, and may
 * read it here. */
static void keep_released(struct fagus_sync *sync)
{
    if (!sync->is_rebound && sync->list_is_in_pool) {
        sync->released = sync->ranges;
    }
}

/* ---- Who may change it ---------------------------------------------------------------------- */

/* Before anybody has acquired a variable all nodes bind it together; later who holds it does, and
 * a mistaken call of another one is refused at once. Whichever it is one word at the manager
 * decides, so that a node that comes when others wait in the call for all joins them, if only to
 * be refused: nobody waits for a call that does not come, and all go on in step. */

/* Whether a call of all nodes has begun that not all have joined: each counts once in a call. */
static bool is_under_way(uint64_t word)
{
    return word / FAGUS_TOGETHER_ONE % (uint64_t)fagus_state.size != 0;
}

/* Adds to the count of bindings that nodes have begun, 0 to see whether one could; `is_acquired` is
 * what this node knows. FAGUS_ENOTHELD: no call of all nodes is under way, and none can begin any
 * more; the word then says so. */
static int count_bindings(struct fagus_sync *sync, bool is_acquired, uint64_t change)
{
    _Atomic uint64_t *together = &sync->own->together;
    uint64_t word;
    int error = fagus_record_atomic(sync, together, INNER_READ, 0, 0, &word);
    while (!error) {
        uint64_t known = word | (is_acquired ? FAGUS_TOGETHER_ACQUIRED : 0);
        bool is_late = known & FAGUS_TOGETHER_ACQUIRED && !is_under_way(word);
        uint64_t wanted = is_late ? known : known + change;
        uint64_t found = word;
        if (wanted != word) {
            error = fagus_record_atomic(sync, together, INNER_COMPARE_SWAP, wanted, word, &found);
        }
        if (!error && found == word) {
            return is_late ? FAGUS_ENOTHELD : 0;
        }
        word = found;
    }
    return error;
}

struct change {
    bool is_together;
    int error; /* why this node cannot take part */
};

/* Takes the right to change the binding, before anything of it is looked at. With is_together the
 * collective calls' turn is taken. */
static int begin_change(struct fagus_sync *sync, struct change *change)
{
    int error = fagus_handle_check(sync);
    if (error) {
        return error;
    }
    *change = (struct change){.is_together = false};
    if (atomic_load_explicit(&sync->writer, memory_order_relaxed) == fagus_this_thread()) {
        return 0;
    }
    bool is_acquired = atomic_load_explicit(&sync->is_acquired, memory_order_relaxed);
    /* Without the turn, so that no mistake waits for what other threads do together. */
    error = count_bindings(sync, is_acquired, 0);
    if (error) {
        return error;
    }
    fagus_collective_begin();
    error = count_bindings(sync, is_acquired, FAGUS_TOGETHER_ONE);
    if (error) {
        fagus_collective_end();
        return error;
    }
    change->is_together = true;
    change->error = is_acquired ? FAGUS_ENOTHELD : 0;
    return 0;
}

/* Takes the list over. `error` is what was found wrong with it so far. */
static int end_change(struct fagus_sync *sync, const struct change *change,
                      struct fagus_extent *ranges, size_t count, bool is_in_pool, int error)
{
    error = change->error ? change->error : error;
    error = error ? error : check_free(sync, ranges, count);
    if (change->is_together) {
        error = change_together(sync, ranges, count, is_in_pool, error);
        if (error) {
            /* Others may have called something else, and not counted. */
            (void)count_bindings(sync, false, -FAGUS_TOGETHER_ONE);
        }
        fagus_collective_end();
    } else {
        if (!error && count > FAGUS_RANGES_IN_RECORD && !is_in_pool) {
            error = FAGUS_ENOMEM;
        }
        if (!error) {
            keep_released(sync);
            install(sync, ranges, count, is_in_pool, fagus_head_version(sync->head) + 1);
            sync->is_rebound = true;
        }
    }
    if (error && ranges) {
        free_list(ranges, is_in_pool);
    }
    return error;
}

static int extent_of(const struct fagus_range *range, struct fagus_extent *extent)
{
    if (!range->pointer || range->bytes == 0) {
        return FAGUS_EINVAL;
    }
    extent->bytes = range->bytes;
    return fagus_offset_of(range->pointer, range->bytes, &extent->offset);
}

int fagus_rebind(struct fagus_sync *sync, const struct fagus_range *ranges, size_t count)
{
    FAGUS_TRACED(INNER_TRACE_OTHER, 0, fagus_rebind(sync, ranges, count));
    struct change change;
    int error = begin_change(sync, &change);
    if (error) {
        return error;
    }
    /* More than memory has room for, once as ranges and once as the list. */
    error = (ranges || count == 0) && count <= SIZE_MAX / sizeof *ranges / 2 ? 0 : FAGUS_EINVAL;
    count = error ? 0 : count;
    bool is_in_pool;
    struct fagus_extent *list = make_list(count, &is_in_pool);
    error = error ? error : list ? 0 : FAGUS_ENOMEM;
    for (size_t i = 0; i < count && !error; i++) {
        error = extent_of(&ranges[i], &list[i]);
    }
    return end_change(sync, &change, list, count, is_in_pool, error);
}

int fagus_bind(struct fagus_sync *sync, void *pointer, size_t bytes)
{
    FAGUS_TRACED(INNER_TRACE_OTHER, bytes, fagus_bind(sync, pointer, bytes));
    struct change change;
    int error = begin_change(sync, &change);
    if (error) {
        return error;
    }
    bool is_in_pool;
    size_t count = sync->range_count;
    struct fagus_extent *list = make_list(count + 1, &is_in_pool);
    error = list ? extent_of(&(struct fagus_range){pointer, bytes}, &list[count]) : FAGUS_ENOMEM;
    if (list && count) {
        memcpy(list, sync->ranges, count * sizeof *list);
    }
    return end_change(sync, &change, list, count + 1, is_in_pool, error);
}

int fagus_unbind(struct fagus_sync *sync, void *pointer)
{
    FAGUS_TRACED(INNER_TRACE_OTHER, 0, fagus_unbind(sync, pointer));
    struct change change;
    uint64_t offset;
    int error = begin_change(sync, &change);
    if (error) {
        return error;
    }
    bool is_in_pool;
    size_t kept = 0;
    struct fagus_extent *list = make_list(sync->range_count, &is_in_pool);
    error = list ? fagus_offset_of(pointer, 1, &offset) : FAGUS_ENOMEM;
    for (size_t i = 0; i < sync->range_count && !error; i++) {
        if (sync->ranges[i].offset != offset) {
            list[kept++] = sync->ranges[i];
        }
    }
    if (!error && kept == sync->range_count) {
        error = FAGUS_ERANGE;
    }
    return end_change(sync, &change, list, kept, is_in_pool, error);
}
