/* Data that rides on the grant: out of the record, as differences, or whole from a copy; and
 * what a release leaves for the next one. */
#include <stdlib.h>
#include <string.h>

#include "base/killpoint.h"
#include "fagus/diff.h"
#include "fagus/sync.h"
#include "fagus/look.h"

/* Differences that leave less than this part of the ranges out are not worth their making. Every
 * other word is: red-black programs write so, and a bitmap for each 64 words comes on top. */
#define LEFT_OUT_PART 4
/* After differences that were not, so many acquires at most go without a twin. */
#define TWIN_SKIP_MAX 63u

/* Between two looks for a version that another node is fetching. */
#define FETCHING_NAP_NS UINT64_C(200000)

/* In front of a range's differences. */
struct section {
    uint64_t range;
    uint64_t bytes;
};

static uint64_t version_word(uint64_t version, bool is_being_written)
{
    return (version + 1) << 1 | is_being_written;
}

/* ---- Twins ------------------------------------------------------------------------------ */

/* Where a range's twin begins, so that it is aligned to words as the range is. *end is behind
 * it. */
static uint64_t twin_offset(const struct fagus_extent *range, uint64_t start, uint64_t *end)
{
    uint64_t offset = ((start + FAGUS_DIFF_WORD_BYTES - 1) &
                       ~(uint64_t)(FAGUS_DIFF_WORD_BYTES - 1)) +
                      range->offset % FAGUS_DIFF_WORD_BYTES;
    *end = offset + range->bytes;
    return offset;
}

static uint64_t twin_size(const struct fagus_sync *sync)
{
    uint64_t end = 0;
    for (size_t i = 0; i < sync->range_count; i++) {
        (void)twin_offset(&sync->ranges[i], end, &end);
    }
    return end;
}

void fagus_twin_drop(struct fagus_sync *sync)
{
    free(sync->twin);
    sync->twin = NULL;
    sync->twin_bytes = 0;
}

/* Memory for a twin of all ranges; what it holds is to be written yet. False: no memory. */
static bool twin_make(struct fagus_sync *sync)
{
    uint64_t bytes = twin_size(sync);
    if (sync->twin && sync->twin_bytes == bytes) {
        return true;
    }
    fagus_twin_drop(sync);
    sync->twin = calloc(1, bytes ? bytes : 1);
    sync->twin_bytes = bytes;
    return sync->twin != NULL;
}

bool fagus_twin_take(struct fagus_sync *sync)
{
    uint64_t end = 0;
    if (!twin_make(sync)) {
        return false;
    }
    for (size_t i = 0; i < sync->range_count; i++) {
        const struct fagus_extent *range = &sync->ranges[i];
        uint64_t at = twin_offset(range, end, &end);
        memcpy(sync->twin + at, fagus_unguarded_at(range->offset), range->bytes);
    }
    sync->twin_version = sync->version;
    return true;
}

uint64_t fagus_ranges_diff(const struct fagus_sync *sync, void *into, uint64_t capacity,
                           uint64_t *changed_bytes)
{
    unsigned char *out = into;
    uint64_t used = 0;
    uint64_t end = 0;
    *changed_bytes = 0;
    for (size_t i = 0; i < sync->range_count; i++) {
        const struct fagus_extent *range = &sync->ranges[i];
        uint64_t at = twin_offset(range, end, &end);
        struct section section = {.range = i};
        uint64_t room = capacity - used < sizeof section ? 0 : capacity - used - sizeof section;
        section.bytes = fagus_diff_make(fagus_unguarded_at(range->offset), sync->twin + at,
                                        range->bytes, out + used + sizeof section, room);
        if (section.bytes == FAGUS_DIFF_TOO_LONG) {
            return FAGUS_DIFF_TOO_LONG;
        }
        if (section.bytes != 0) {
            memcpy(out + used, &section, sizeof section);
            *changed_bytes += fagus_diff_words(out + used + sizeof section, section.bytes) *
                              FAGUS_DIFF_WORD_BYTES;
            used += sizeof section + section.bytes;
        }
    }
    return used;
}

/* The next section's range and differences; false: malformed. */
static bool next_section(const struct fagus_sync *sync, const unsigned char *in, uint64_t bytes,
                         uint64_t *at, struct section *section)
{
    if (bytes - *at < sizeof *section) {
        return false;
    }
    memcpy(section, in + *at, sizeof *section);
    *at += sizeof *section;
    if (section->range >= sync->range_count || section->bytes > bytes - *at) {
        return false;
    }
    const struct fagus_extent *range = &sync->ranges[section->range];
    return fagus_diff_fits(fagus_unguarded_at(range->offset), range->bytes, in + *at,
                           section->bytes);
}

static void apply_to_twin(struct fagus_sync *sync, const struct section *section,
                          const unsigned char *differences)
{
    uint64_t end = 0;
    uint64_t at = 0;
    for (size_t i = 0; i <= section->range; i++) {
        at = twin_offset(&sync->ranges[i], end, &end);
    }
    bool applied = fagus_diff_apply(sync->twin + at, sync->ranges[section->range].bytes,
                                    differences, section->bytes);
    INVARIANT(applied);
}

bool fagus_ranges_apply(struct fagus_sync *sync, const void *differences, uint64_t bytes)
{
    const unsigned char *in = differences;
    struct section section;
    for (uint64_t at = 0; at < bytes; at += section.bytes) {
        if (!next_section(sync, in, bytes, &at, &section)) {
            return false;
        }
    }
    for (uint64_t at = 0; at < bytes; at += section.bytes) {
        bool fits = next_section(sync, in, bytes, &at, &section);
        INVARIANT(fits);
        const struct fagus_extent *range = &sync->ranges[section.range];
        (void)fagus_diff_apply(fagus_unguarded_at(range->offset), range->bytes, in + at,
                               section.bytes);
        if (sync->twin) {
            apply_to_twin(sync, &section, in + at);
        }
    }
    return true;
}

/* ---- Bringing --------------------------------------------------------------------------- */

static void scatter(const struct fagus_sync *sync, const unsigned char *data)
{
    for (size_t i = 0; i < sync->range_count; i++) {
        memcpy(fagus_unguarded_at(sync->ranges[i].offset), data, sync->ranges[i].bytes);
        data += sync->ranges[i].bytes;
    }
}

void fagus_ranges_gather(const struct fagus_sync *sync, unsigned char *data)
{
    for (size_t i = 0; i < sync->range_count; i++) {
        memcpy(data, fagus_unguarded_at(sync->ranges[i].offset), sync->ranges[i].bytes);
        data += sync->ranges[i].bytes;
    }
}

/* Until it is told which version this copy is, then or after a failure. */
static void tell_fetching(struct fagus_sync *sync)
{
    atomic_store_explicit(&sync->own->version, FAGUS_FETCHING, memory_order_release);
}

/* FAGUS_ELOST: that node has another version, or half of one. Its word comes with the data: while
 * somebody holds the variable nobody else changes either. */
static int fetch_whole(struct fagus_sync *sync, int rank, uint64_t version)
{
    uint64_t word = 0;
    /* Should only a part of it come, this copy is no version. */
    sync->version = FAGUS_VERSION_NONE;
    tell_fetching(sync);
    int error = fagus_fetch_begin(rank, fagus_place_of(&sync->own->version), &word, sizeof word);
    for (size_t i = 0; i < sync->range_count && !error; i++) {
        const struct fagus_extent *range = &sync->ranges[i];
        error = fagus_fetch_begin(rank, range->offset, fagus_unguarded_at(range->offset),
                                  range->bytes);
    }
    int failed = fagus_fetch_wait();
    error = error ? error : failed;
    if (!error) {
        fagus_count(&sync->counters.bytes_whole, sync->total_bytes);
        fagus_count_hops(sync, 2 * sync->range_count);
        error = word == version_word(version, false) ? 0 : FAGUS_ELOST;
    }
    if (error) {
        fagus_data_tell_version(sync, false);
    }
    return error;
}

/* A version that nobody has released: each piece is what its home has. */
static int fetch_from_homes(struct fagus_sync *sync)
{
    int error = 0;
    for (size_t i = 0; i < sync->range_count && !error; i++) {
        uint64_t at = sync->ranges[i].offset;
        uint64_t end = at + sync->ranges[i].bytes;
        while (at < end && !error) {
            uint64_t piece_end = at;
            int home = fagus_home(fagus_pointer_at(at));
            do {
                piece_end = (piece_end / fagus_state.page_bytes + 1) * fagus_state.page_bytes;
            } while (piece_end < end && fagus_home(fagus_pointer_at(piece_end)) == home);
            piece_end = piece_end < end ? piece_end : end;
            if (home < 0) {
                error = home;
            } else if (home != fagus_state.rank) {
                error = fagus_fetch_begin(home, at, fagus_unguarded_at(at), piece_end - at);
                fagus_count(&sync->counters.bytes_whole, piece_end - at);
                fagus_count_hops(sync, 2);
            }
            at = piece_end;
        }
    }
    int failed = fagus_fetch_wait();
    return error ? error : failed;
}

/* Differences one behind the other. Private: the record may lie in memory that others write. */
struct chain {
    struct fagus_log_entry entries[FAGUS_LOG_ENTRIES];
    uint64_t count;
    uint64_t bytes;
};

/* Each word once. */
static void read_entry(const struct fagus_log_entry *there, struct fagus_log_entry *entry)
{
    entry->version = __atomic_load_n(&there->version, __ATOMIC_RELAXED);
    entry->place = __atomic_load_n(&there->place, __ATOMIC_RELAXED);
    entry->bytes = __atomic_load_n(&there->bytes, __ATOMIC_RELAXED);
    entry->rank = __atomic_load_n(&there->rank, __ATOMIC_RELAXED);
}

/* The differences that lead from this node's version to that one; false: the log has not all of
 * them, or they are no shorter than the whole. */
static bool find_chain(const struct fagus_sync *sync, const struct fagus_record *record,
                       uint64_t version, struct chain *chain)
{
    chain->count = version - sync->version;
    chain->bytes = 0;
    if (sync->version == FAGUS_VERSION_NONE || sync->version > version ||
        chain->count > FAGUS_LOG_ENTRIES) {
        return false;
    }
    for (uint64_t i = 0; i < chain->count; i++) {
        struct fagus_log_entry *entry = &chain->entries[i];
        uint64_t next = sync->version + 1 + i;
        read_entry(&record->log[next % FAGUS_LOG_ENTRIES], entry);
        if (entry->version != next || entry->bytes >= sync->total_bytes - chain->bytes ||
            entry->rank >= (uint64_t)fagus_state.size) {
            return false;
        }
        chain->bytes += entry->bytes;
    }
    return chain->bytes != 0;
}

/* FAGUS_ELOST: the log cannot help. */
static int apply_chain(struct fagus_sync *sync, const struct chain *chain)
{
    unsigned char *buffer = malloc(chain->bytes);
    uint64_t used = 0;
    int error = buffer ? 0 : FAGUS_ENOMEM;
    for (uint64_t i = 0; i < chain->count && !error; i++) {
        const struct fagus_log_entry *entry = &chain->entries[i];
        error = fagus_fetch_begin((int)entry->rank, entry->place, buffer + used, entry->bytes);
        used += entry->bytes;
    }
    int failed = fagus_fetch_wait();
    error = error ? error : failed;
    used = 0;
    for (uint64_t i = 0; i < chain->count && !error; i++) {
        const struct fagus_log_entry *entry = &chain->entries[i];
        error = fagus_ranges_apply(sync, buffer + used, entry->bytes) ? 0 : FAGUS_ELOST;
        sync->version = error ? sync->version : entry->version;
        used += entry->bytes;
    }
    free(buffer);
    if (!error) {
        fagus_count(&sync->counters.bytes_differences, chain->bytes);
        fagus_count_hops(sync, 2 * chain->count);
    }
    return error;
}

/* FAGUS_ELOST: that node does not have it; FAGUS_EBUSY: perhaps it will. */
static int recover_from(struct fagus_sync *sync, int rank, uint64_t version)
{
    uint64_t word = 0;
    uint64_t place = fagus_place_of(&sync->own->version);
    /* Before the word, which does not change after the end. */
    bool is_gone = fagus_is_gone(rank);
    if (rank == fagus_state.rank || (!fagus_reach(rank, place) && is_gone)) {
        return FAGUS_ELOST;
    }
    int error = fagus_fetch(rank, place, &word, sizeof word);
    fagus_count_hops(sync, 2);
    if (!error && word == version_word(version, false) && fetch_whole(sync, rank, version) == 0) {
        return 0;
    }
    return !error && word == FAGUS_FETCHING && !is_gone ? FAGUS_EBUSY : FAGUS_ELOST;
}

/* Fetches the version whole from any node that has it; in place also from the dead. Another
 * reader may be fetching it at the same time from an owner that dies, and have it in the end.
 * So nobody is told that it is lost before all have been asked while none of them was fetching
 * and none went. A node that fetches waits only for the node that it fetches from, and a node
 * that searches says that it has none: they never wait for each other. */
static int recover(struct fagus_sync *sync, uint64_t version)
{
    fagus_data_tell_version(sync, false);
    for (;;) {
        uint32_t changes_before = inner_change_count(fagus_state.node);
        bool is_under_way = false;
        for (int rank = 0; rank < fagus_state.size; rank++) {
            int result = recover_from(sync, rank, version);
            if (result == 0) {
                return 0;
            }
            is_under_way = is_under_way || result == FAGUS_EBUSY;
        }
        if (!is_under_way && inner_change_count(fagus_state.node) == changes_before) {
            return FAGUS_ELOST;
        }
        fagus_nap(FETCHING_NAP_NS);
    }
}

/* Not out of the record: the shortest way that works. */
static int bring_from_copies(struct fagus_sync *sync, const struct fagus_record *record,
                             uint64_t head)
{
    uint64_t version = fagus_head_version(head);
    if (sync->twin_version != sync->version) {
        fagus_twin_drop(sync); /* of another version: differences do not mend it */
    }
    /* Differences tell nothing of a range that was bound on the way. */
    bool is_same = sync->bound_at <= sync->version && sync->version != FAGUS_VERSION_NONE;
    struct chain chain;
    bool has_chain = is_same && find_chain(sync, record, version, &chain);
    if (version != 0) {
        tell_fetching(sync);
    }
    if (has_chain && apply_chain(sync, &chain) == 0) {
        if (sync->twin) {
            sync->twin_version = version;
        }
        return 0;
    }
    if (version == 0) {
        return fetch_from_homes(sync);
    }
    int owner = fagus_head_owner(head);
    int error = owner == fagus_state.rank || fagus_is_gone(owner)
                    ? FAGUS_EPEER
                    : fetch_whole(sync, owner, version);
    return error ? recover(sync, version) : 0;
}

/* Tells those that come later: this node has it now, or nobody has. */
static void correct_head(struct fagus_sync *sync, int result)
{
    uint64_t head = sync->head & ~(FAGUS_HEAD_OWNER | FAGUS_HEAD_LOST);
    head |= (uint64_t)fagus_state.rank | (result == FAGUS_ELOST ? FAGUS_HEAD_LOST : 0);
    if (fagus_record_write(sync, &sync->own->head, &head, sizeof head) == 0 &&
        fagus_record_settle(sync) == 0) {
        sync->head = head;
    }
}

void fagus_data_tell_version(struct fagus_sync *sync, bool is_being_written)
{
    /* Release: a node that finds the version finds the copy. */
    atomic_store_explicit(&sync->own->version, version_word(sync->version, is_being_written),
                          memory_order_release);
}

/* With barriers, writes without holding the variable count from here on. */
static void keep_twin(struct fagus_sync *sync)
{
    if (UNLIKELY(sync->has_barriers && sync->twin_version != sync->version)) {
        (void)fagus_twin_take(sync);
    }
}

static uint64_t bytes_brought(const struct fagus_sync *sync)
{
    return atomic_load_explicit(&sync->counters.bytes_whole, memory_order_relaxed) +
           atomic_load_explicit(&sync->counters.bytes_differences, memory_order_relaxed);
}

static int bring_newer(struct fagus_sync *sync, const struct fagus_record *record, bool is_alone)
{
    uint64_t head = sync->head;
    uint64_t version = fagus_head_version(head);
    uint64_t bytes = bytes_brought(sync);
    int result = 0;
    if (head & FAGUS_HEAD_LOST) {
        return FAGUS_ELOST;
    }
    if (head & FAGUS_HEAD_INLINE && sync->total_bytes > FAGUS_INLINE_BYTES) {
        return FAGUS_EPEER; /* no release says so */
    }
    if (head & FAGUS_HEAD_INLINE) {
        scatter(sync, record->data[version & 1]);
        fagus_count(&sync->counters.bytes_whole, sync->total_bytes);
    } else if (sync->range_count != 0) {
        result = bring_from_copies(sync, record, head);
        if (is_alone && version != 0 &&
            (result == FAGUS_ELOST || fagus_is_gone(fagus_head_owner(head)))) {
            sync->version = result ? sync->version : version;
            fagus_data_tell_version(sync, false);
            correct_head(sync, result);
        }
    }
    if (!result) {
        bool is_brought = bytes_brought(sync) != bytes;
        fagus_count(is_brought ? &sync->counters.grants : &sync->counters.acquires_local, 1);
        sync->version = version;
        fagus_data_tell_version(sync, false);
        keep_twin(sync);
    }
    return result;
}

int fagus_data_bring(struct fagus_sync *sync, const struct fagus_record *record, bool is_alone)
{
    uint64_t version = fagus_head_version(sync->head);
    if (sync->version == version && sync->bound_at <= version) {
        /* The node that thought it lost could not reach this one. */
        if (UNLIKELY(sync->head & FAGUS_HEAD_LOST) && is_alone) {
            correct_head(sync, 0);
        }
        fagus_count(&sync->counters.acquires_local, 1);
        return 0;
    }
    return bring_newer(sync, record, is_alone);
}

/* ---- Writing and releasing -------------------------------------------------------------- */

void fagus_data_begin_write(struct fagus_sync *sync)
{
    bool is_small = sync->total_bytes <= FAGUS_INLINE_BYTES;
    if (!sync->has_barriers && (is_small || sync->twin_skipped < sync->twin_skip)) {
        sync->twin_skipped++;
        fagus_twin_drop(sync);
    } else if (!sync->twin || sync->twin_version != sync->version) {
        if (!fagus_twin_take(sync)) {
            fagus_twin_drop(sync);
        }
    }
    fagus_data_tell_version(sync, true);
}

static void free_made(struct fagus_sync *sync, uint64_t version)
{
    unsigned index = version % FAGUS_LOG_ENTRIES;
    fagus_pool_free(sync->made[index]);
    sync->made[index] = NULL;
}

void fagus_log_free(struct fagus_sync *sync)
{
    for (unsigned i = 0; i < FAGUS_LOG_ENTRIES; i++) {
        free_made(sync, i);
    }
}

/* Nobody looks for what is older than the log of the version that the head names. */
static void free_old(struct fagus_sync *sync, uint64_t version)
{
    for (unsigned i = 0; i < FAGUS_LOG_ENTRIES; i++) {
        if (sync->made[i] && sync->made_version[i] + FAGUS_LOG_ENTRIES <= version) {
            free_made(sync, i);
        }
    }
}

static void skip_twins(struct fagus_sync *sync)
{
    unsigned skip = 2 * sync->twin_skip + 1;
    sync->twin_skip = skip < TWIN_SKIP_MAX ? skip : TWIN_SKIP_MAX;
    sync->twin_skipped = 0;
}

/* Puts the differences where others find them; without room for them they take the whole. */
static int log_differences(struct fagus_sync *sync, uint64_t version, const void *differences,
                           uint64_t bytes)
{
    void *kept = fagus_pool_alloc(bytes);
    if (!kept) {
        return 0;
    }
    memcpy(kept, differences, bytes);
    unsigned index = version % FAGUS_LOG_ENTRIES;
    struct fagus_log_entry entry = {version, fagus_place_of(kept), bytes,
                                    (uint64_t)fagus_state.rank};
    int error = fagus_record_write(sync, &sync->own->log[index], &entry, sizeof entry);
    /* Not before: until then the record may lead somebody there. */
    free_made(sync, version);
    sync->made[index] = kept;
    sync->made_version[index] = version;
    return error;
}

/* Compares with the twin. *is_changed: whether this is a new version at all. */
static int publish_differences(struct fagus_sync *sync, uint64_t version, bool *is_changed)
{
    uint64_t capacity = sync->total_bytes - sync->total_bytes / LEFT_OUT_PART;
    unsigned char *buffer = malloc(capacity);
    uint64_t changed = 0;
    uint64_t bytes = buffer ? fagus_ranges_diff(sync, buffer, capacity, &changed)
                            : FAGUS_DIFF_TOO_LONG;
    int error = 0;
    if (bytes == FAGUS_DIFF_TOO_LONG) {
        skip_twins(sync);
        fagus_count(&sync->counters.bytes_changed, sync->total_bytes);
        sync->twin_version = FAGUS_VERSION_NONE;
    } else if (bytes == 0) {
        *is_changed = false;
    } else {
        sync->twin_skip = 0;
        fagus_count(&sync->counters.bytes_changed, changed);
        error = log_differences(sync, version, buffer, bytes);
        /* The ranges have them already; this brings the twin up to date. */
        (void)fagus_ranges_apply(sync, buffer, bytes);
        sync->twin_version = version;
    }
    free(buffer);
    return error;
}

int fagus_data_publish(struct fagus_sync *sync)
{
    uint64_t version = fagus_head_version(sync->head) + 1;
    uint64_t head = version << FAGUS_HEAD_VERSION_SHIFT | (uint64_t)fagus_state.rank;
    uint64_t slot_bit = sync->head & FAGUS_HEAD_SLOT;
    bool is_changed = true;
    int error = 0;
    if (UNLIKELY(sync->is_binding_lost && !sync->is_rebound)) {
        fagus_data_tell_version(sync, false);
        return 0; /* there is nothing that could be a version */
    }
    if (sync->is_rebound) {
        error = fagus_binding_publish(sync, version, &slot_bit);
        sync->is_binding_lost = false;
    }
    if (sync->total_bytes <= FAGUS_INLINE_BYTES) {
        unsigned char data[FAGUS_INLINE_BYTES];
        unsigned char *to = sync->reached ? sync->reached->data[version & 1] : data;
        fagus_ranges_gather(sync, to);
        if (!error && !sync->reached && sync->total_bytes) {
            error = fagus_record_write(sync, sync->own->data[version & 1], data, sync->total_bytes);
        }
        head |= FAGUS_HEAD_INLINE;
        fagus_count(&sync->counters.bytes_changed, sync->total_bytes);
    } else if (!error && sync->twin && sync->twin_version == sync->version && !sync->is_rebound &&
               !(sync->head & FAGUS_HEAD_LOST)) {
        error = publish_differences(sync, version, &is_changed);
    } else if (!error) {
        fagus_count(&sync->counters.bytes_changed, sync->total_bytes);
    }
    KILL_POINT("sync: new version written, head not");
    if (!error && is_changed) {
        head |= slot_bit;
        sync->version = version;
        fagus_data_tell_version(sync, false);
        error = fagus_record_write(sync, &sync->own->head, &head, sizeof head);
        sync->head = head;
        keep_twin(sync);
    } else {
        /* Bytes that were written under an error are no version. */
        sync->version = error ? FAGUS_VERSION_NONE : sync->version;
        fagus_data_tell_version(sync, false);
    }
    KILL_POINT("sync: head written, lock not given");
    free_old(sync, fagus_head_version(sync->head));
    if (UNLIKELY(sync->is_rebound)) {
        fagus_binding_settled(sync, error == 0);
    }
    return error;
}
