/* A sorted array. */
#include "fagus/bound.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct fagus_bound *table;
static size_t count;
static size_t capacity;

/* Ranges that were bound before and are not now, as far as this node took part: by offset,
 * apart. */
static struct fagus_extent *former;
static size_t former_count;
static size_t former_capacity;
static bool is_all_former; /* there was no memory to remember it in */

/* The first piece that ends behind the offset. */
static size_t first_behind(uint64_t offset)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table[middle].offset + table[middle].bytes <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool overlaps(size_t index, uint64_t offset, uint64_t bytes)
{
    return index < count && table[index].offset < offset + bytes;
}

bool fagus_bound_find(uint64_t offset, uint64_t bytes, const struct fagus_sync *except,
                      struct fagus_bound *found)
{
    bool is_found = false;
    (void)pthread_mutex_lock(&table_lock);
    for (size_t i = first_behind(offset); !is_found && overlaps(i, offset, bytes); i++) {
        if (table[i].sync != except) {
            *found = table[i];
            is_found = true;
        }
    }
    (void)pthread_mutex_unlock(&table_lock);
    return is_found;
}

static void take_out(size_t from, size_t to)
{
    memmove(&table[from], &table[to], (count - to) * sizeof *table);
    count -= to - from;
}

static bool make_room(size_t more)
{
    if (capacity - count >= more) {
        return true;
    }
    size_t wanted = 2 * capacity + more + 64;
    struct fagus_bound *larger = realloc(table, wanted * sizeof *larger);
    if (larger) {
        table = larger;
        capacity = wanted;
    }
    return larger != NULL;
}

static void enter(const struct fagus_bound *bound)
{
    size_t at = first_behind(bound->offset);
    size_t end = at;
    while (overlaps(end, bound->offset, bound->bytes)) {
        /* Threads of this node may have written the piece under that variable. Acquire, from
         * its last holders: this thread comes after them. */
        (void)fagus_sync_is_held(table[end].sync);
        end++;
    }
    take_out(at, end);
    memmove(&table[at + 1], &table[at], (count - at) * sizeof *table);
    table[at] = *bound;
    count++;
}

static void remove_all(const struct fagus_sync *sync)
{
    for (size_t i = 0; i < sync->range_count; i++) {
        const struct fagus_extent *range = &sync->ranges[i];
        size_t at = first_behind(range->offset);
        size_t end = at;
        while (overlaps(end, range->offset, range->bytes) && table[end].sync == sync) {
            end++;
        }
        take_out(at, end);
    }
}

bool fagus_bound_enter(struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&table_lock);
    bool has_room = make_room(sync->range_count);
    for (size_t i = 0; has_room && i < sync->range_count; i++) {
        enter(&(struct fagus_bound){sync->ranges[i].offset, sync->ranges[i].bytes, sync});
    }
    (void)pthread_mutex_unlock(&table_lock);
    return has_room;
}

void fagus_bound_remove(struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&table_lock);
    remove_all(sync);
    (void)pthread_mutex_unlock(&table_lock);
}

/* ---- What was bound before --------------------------------------------------------------- */

/* The first one that ends at or behind the offset. */
static size_t first_former(uint64_t offset)
{
    size_t low = 0;
    size_t high = former_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (former[middle].offset + former[middle].bytes < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool make_room_for_former(void)
{
    if (former_count < former_capacity) {
        return true;
    }
    size_t wanted = 2 * former_capacity + 64;
    struct fagus_extent *larger = realloc(former, wanted * sizeof *larger);
    if (larger) {
        former = larger;
        former_capacity = wanted;
    }
    return larger != NULL;
}

static void remember(const struct fagus_extent *range)
{
    uint64_t start = range->offset;
    uint64_t end = range->offset + range->bytes;
    if (!make_room_for_former()) {
        is_all_former = true;
        return;
    }
    /* One piece with those that it touches. */
    size_t at = first_former(start);
    size_t behind = at;
    while (behind < former_count && former[behind].offset <= end) {
        uint64_t other_end = former[behind].offset + former[behind].bytes;
        start = former[behind].offset < start ? former[behind].offset : start;
        end = other_end > end ? other_end : end;
        behind++;
    }
    memmove(&former[at + 1], &former[behind], (former_count - behind) * sizeof *former);
    former[at] = (struct fagus_extent){start, end - start};
    former_count = former_count - (behind - at) + 1;
}

void fagus_bound_remember(const struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&table_lock);
    for (size_t i = 0; i < sync->range_count; i++) {
        remember(&sync->ranges[i]);
    }
    (void)pthread_mutex_unlock(&table_lock);
}

bool fagus_bound_was(uint64_t offset, uint64_t bytes)
{
    (void)pthread_mutex_lock(&table_lock);
    size_t at = first_former(offset + 1);
    bool was = is_all_former || (at < former_count && former[at].offset < offset + bytes);
    (void)pthread_mutex_unlock(&table_lock);
    return was;
}

bool fagus_bound_try_lock(void)
{
    return pthread_mutex_trylock(&table_lock) == 0;
}

void fagus_bound_each_unlocked(uint64_t offset, uint64_t bytes, fagus_bound_call call,
                               void *context)
{
    for (size_t i = first_behind(offset); overlaps(i, offset, bytes); i++) {
        call(&table[i], context);
    }
}

void fagus_bound_each(uint64_t offset, uint64_t bytes, fagus_bound_call call, void *context)
{
    (void)pthread_mutex_lock(&table_lock);
    fagus_bound_each_unlocked(offset, bytes, call, context);
    (void)pthread_mutex_unlock(&table_lock);
}

void fagus_bound_close(void)
{
    (void)pthread_mutex_lock(&table_lock);
    free(table);
    table = NULL;
    count = 0;
    capacity = 0;
    free(former);
    former = NULL;
    former_count = 0;
    former_capacity = 0;
    is_all_former = false;
    (void)pthread_mutex_unlock(&table_lock);
}
