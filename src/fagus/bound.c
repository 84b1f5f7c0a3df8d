/* A sorted array. */
#include "fagus/bound.h"

#include <stdlib.h>
#include <string.h>

/* Pieces by offset, apart. */
struct table {
    struct fagus_bound *pieces;
    size_t count;
    size_t capacity;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct table table;

/* Ranges that were bound before and are not now, as far as this node took part; of no variable. */
static struct table former;
static bool is_all_former; /* there was no memory to remember it in */

/* The first piece that ends behind the offset. */
static size_t first_behind(const struct table *in, uint64_t offset)
{
    size_t low = 0;
    size_t high = in->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in->pieces[middle].offset + in->pieces[middle].bytes <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool overlaps(const struct table *in, size_t index, uint64_t offset, uint64_t bytes)
{
    return index < in->count && in->pieces[index].offset < offset + bytes;
}

static bool make_room(struct table *in, size_t more)
{
    if (in->capacity - in->count >= more) {
        return true;
    }
    size_t wanted = 2 * in->capacity + more + 64;
    struct fagus_bound *larger = realloc(in->pieces, wanted * sizeof *larger);
    if (larger) {
        in->pieces = larger;
        in->capacity = wanted;
    }
    return larger != NULL;
}

static void take_out(struct table *in, size_t from, size_t to)
{
    memmove(&in->pieces[from], &in->pieces[to], (in->count - to) * sizeof *in->pieces);
    in->count -= to - from;
}

/* There is room for it. */
static void put_in(struct table *in, size_t at, const struct fagus_bound *piece)
{
    memmove(&in->pieces[at + 1], &in->pieces[at], (in->count - at) * sizeof *in->pieces);
    in->pieces[at] = *piece;
    in->count++;
}

bool fagus_bound_find(uint64_t offset, uint64_t bytes, const struct fagus_sync *except,
                      struct fagus_bound *found)
{
    bool is_found = false;
    (void)pthread_mutex_lock(&table_lock);
    for (size_t i = first_behind(&table, offset); !is_found && overlaps(&table, i, offset, bytes);
         i++) {
        if (table.pieces[i].sync != except) {
            *found = table.pieces[i];
            is_found = true;
        }
    }
    (void)pthread_mutex_unlock(&table_lock);
    return is_found;
}

static void enter(const struct fagus_bound *bound)
{
    size_t at = first_behind(&table, bound->offset);
    size_t end = at;
    while (overlaps(&table, end, bound->offset, bound->bytes)) {
        /* Threads of this node may have written the piece under that variable. Acquire, from
         * its last holders: this thread comes after them. */
        (void)fagus_sync_is_held(table.pieces[end].sync);
        end++;
    }
    take_out(&table, at, end);
    put_in(&table, at, bound);
}

static void remove_all(const struct fagus_sync *sync)
{
    for (size_t i = 0; i < sync->range_count; i++) {
        const struct fagus_extent *range = &sync->ranges[i];
        size_t at = first_behind(&table, range->offset);
        size_t end = at;
        while (overlaps(&table, end, range->offset, range->bytes) &&
               table.pieces[end].sync == sync) {
            end++;
        }
        take_out(&table, at, end);
    }
}

bool fagus_bound_enter(struct fagus_sync *sync)
{
    (void)pthread_mutex_lock(&table_lock);
    bool has_room = make_room(&table, sync->range_count);
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

static void remember(const struct fagus_extent *range)
{
    uint64_t start = range->offset;
    uint64_t end = range->offset + range->bytes;
    if (!make_room(&former, 1)) {
        is_all_former = true;
        return;
    }
    /* One piece with those that it touches. */
    size_t at = first_behind(&former, start ? start - 1 : 0);
    size_t behind = at;
    while (behind < former.count && former.pieces[behind].offset <= end) {
        const struct fagus_bound *other = &former.pieces[behind];
        uint64_t other_end = other->offset + other->bytes;
        start = other->offset < start ? other->offset : start;
        end = other_end > end ? other_end : end;
        behind++;
    }
    take_out(&former, at, behind);
    put_in(&former, at, &(struct fagus_bound){start, end - start, NULL});
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
    bool was = is_all_former || overlaps(&former, first_behind(&former, offset), offset, bytes);
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
    for (size_t i = first_behind(&table, offset); overlaps(&table, i, offset, bytes); i++) {
        call(&table.pieces[i], context);
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
    free(table.pieces);
    free(former.pieces);
    table = (struct table){0};
    former = (struct table){0};
    is_all_former = false;
    (void)pthread_mutex_unlock(&table_lock);
}
