/* The table of moved pages: places, counts, splitting and joining. */
#include "host/moved.h"

#include <string.h>

#include "dimmnet.h"

void host_moved_init(struct host_moved *moved, uint64_t total_bytes, uint64_t page_bytes)
{
    INVARIANT(is_power_of_two(page_bytes));
    moved->total_bytes = total_bytes - total_bytes % page_bytes;
    moved->fixed_bytes = total_bytes / 4 - total_bytes / 4 % page_bytes;
    moved->page_bytes = page_bytes;
    moved->hold_count = 0;
    moved->count = 0;
}

static uintptr_t range_end(const struct host_moved_range *range)
{
    return range->start + range->bytes;
}

/* The index of the first range that ends behind an address. */
static uint32_t first_behind(const struct host_moved *moved, uintptr_t address)
{
    uint32_t low = 0;
    uint32_t high = moved->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (range_end(&moved->ranges[middle]) <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Whether [place, place + bytes) is within [low, high) and nobody else's. What has the same
 * distance to its address is not somebody else's: it is the same pages. */
static bool is_free(const struct host_moved *moved, uintptr_t start, uint64_t bytes, uint64_t place,
                    uint64_t low, uint64_t high)
{
    if (place < low || place > high || bytes > high - place) {
        return false;
    }
    for (uint32_t i = 0; i < moved->count; i++) {
        const struct host_moved_range *range = &moved->ranges[i];
        if (range->place < place + bytes && place < range->place + range->bytes &&
            range->place - range->start != place - start) {
            return false;
        }
    }
    return true;
}

/* The place that pages already moved demand for the whole range; *demanded is false when
 * there are none. DN_EBUSY when they demand different ones. */
static int demanded_place(const struct host_moved *moved, uintptr_t start, uint64_t bytes,
                          bool *demanded, uint64_t *place)
{
    *demanded = false;
    for (uint32_t i = first_behind(moved, start);
         i < moved->count && moved->ranges[i].start < start + bytes; i++) {
        /* May wrap below zero; nothing is free there. */
        uint64_t wanted = moved->ranges[i].place - (moved->ranges[i].start - start);
        if (*demanded && wanted != *place) {
            return DN_EBUSY;
        }
        *demanded = true;
        *place = wanted;
    }
    return 0;
}

/* The end of the free gap that starts at a place, or the place itself. */
static uint64_t gap_end_at(const struct host_moved *moved, uint64_t place)
{
    uint64_t end = moved->total_bytes;
    for (uint32_t i = 0; i < moved->count; i++) {
        const struct host_moved_range *range = &moved->ranges[i];
        if (range->place <= place && place < range->place + range->bytes) {
            return place;
        }
        if (range->place > place && range->place < end) {
            end = range->place;
        }
    }
    return end;
}

/* The middle of the largest gap, so that there is room for what comes on either side. */
static int roomiest_place(const struct host_moved *moved, uint64_t bytes, uint64_t *place)
{
    uint64_t best_start = moved->fixed_bytes;
    uint64_t best_bytes = gap_end_at(moved, best_start) - best_start;
    for (uint32_t i = 0; i < moved->count; i++) {
        uint64_t start = moved->ranges[i].place + moved->ranges[i].bytes;
        if (start < moved->fixed_bytes) {
            continue;
        }
        uint64_t gap_bytes = gap_end_at(moved, start) - start;
        if (gap_bytes > best_bytes) {
            best_start = start;
            best_bytes = gap_bytes;
        }
    }
    if (best_bytes < bytes) {
        return DN_ENOMEM;
    }
    uint64_t before = (best_bytes - bytes) / 2;
    *place = best_start + before - before % moved->page_bytes;
    return 0;
}

int host_moved_place(const struct host_moved *moved, uintptr_t start, uint64_t bytes,
                     uint64_t *place)
{
    bool demanded;
    uint64_t found;
    if (moved->hold_count == HOST_MOVED_HOLDS) {
        return DN_EFULL;
    }
    int error = demanded_place(moved, start, bytes, &demanded, &found);
    if (error) {
        return error;
    }
    if (demanded) {
        if (!is_free(moved, start, bytes, found, 0, moved->total_bytes)) {
            return DN_EBUSY;
        }
        *place = found;
        return 0;
    }
    found = moved->fixed_bytes + start % (moved->total_bytes - moved->fixed_bytes);
    if (!is_free(moved, start, bytes, found, moved->fixed_bytes, moved->total_bytes)) {
        error = roomiest_place(moved, bytes, &found);
    }
    if (!error) {
        *place = found;
    }
    return error;
}

int host_moved_check_place(const struct host_moved *moved, uintptr_t start, uint64_t bytes,
                           uint64_t place)
{
    bool demanded;
    uint64_t found;
    if (moved->hold_count == HOST_MOVED_HOLDS) {
        return DN_EFULL;
    }
    if (place % moved->page_bytes != 0 || place > moved->fixed_bytes ||
        bytes > moved->fixed_bytes - place) {
        return DN_ERANGE;
    }
    int error = demanded_place(moved, start, bytes, &demanded, &found);
    if (!error && ((demanded && found != place) ||
                   !is_free(moved, start, bytes, place, 0, moved->fixed_bytes))) {
        error = DN_EBUSY;
    }
    return error;
}

bool host_moved_gap(const struct host_moved *moved, uintptr_t start, uintptr_t end,
                    uintptr_t *gap_start, uintptr_t *gap_end)
{
    uintptr_t from = start;
    uint32_t i = first_behind(moved, start);
    while (i < moved->count && moved->ranges[i].start <= from) {
        from = range_end(&moved->ranges[i]);
        i++;
    }
    if (from >= end) {
        return false;
    }
    bool bounded = i < moved->count && moved->ranges[i].start < end;
    *gap_start = from;
    *gap_end = bounded ? moved->ranges[i].start : end;
    return true;
}

bool host_moved_held(const struct host_moved *moved, uintptr_t start, uintptr_t end, uint32_t count,
                     struct host_moved_range *part)
{
    for (uint32_t i = first_behind(moved, start);
         start < end && i < moved->count && moved->ranges[i].start < end; i++) {
        const struct host_moved_range *range = &moved->ranges[i];
        if (range->count <= count) {
            uintptr_t from = range->start > start ? range->start : start;
            uintptr_t to = range_end(range) < end ? range_end(range) : end;
            *part = (struct host_moved_range){.start = from,
                                              .bytes = to - from,
                                              .place = range->place + (from - range->start),
                                              .count = range->count};
            return true;
        }
    }
    return false;
}

static void insert(struct host_moved *moved, uint32_t index, struct host_moved_range range)
{
    INVARIANT(moved->count < HOST_MOVED_RANGES);
    memmove(&moved->ranges[index + 1], &moved->ranges[index],
            (moved->count - index) * sizeof range);
    moved->ranges[index] = range;
    moved->count++;
}

/* Makes an address a boundary between ranges, if it is inside one. */
static void split_at(struct host_moved *moved, uintptr_t address)
{
    uint32_t index = first_behind(moved, address);
    if (index == moved->count || moved->ranges[index].start >= address) {
        return;
    }
    struct host_moved_range behind = moved->ranges[index];
    uint64_t before_bytes = address - behind.start;
    behind.start += before_bytes;
    behind.place += before_bytes;
    behind.bytes -= before_bytes;
    moved->ranges[index].bytes = before_bytes;
    insert(moved, index + 1, behind);
}

/* Drops ranges that nobody holds and joins neighbours that do not differ. */
static void tidy(struct host_moved *moved)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < moved->count; i++) {
        struct host_moved_range range = moved->ranges[i];
        struct host_moved_range *last = kept > 0 ? &moved->ranges[kept - 1] : NULL;
        if (range.count == 0) {
            continue;
        }
        if (last && range_end(last) == range.start && last->count == range.count &&
            last->place + last->bytes == range.place) {
            last->bytes += range.bytes;
        } else {
            moved->ranges[kept++] = range;
        }
    }
    moved->count = kept;
}

void host_moved_hold(struct host_moved *moved, uintptr_t start, uint64_t bytes, uint64_t place)
{
    INVARIANT(moved->hold_count < HOST_MOVED_HOLDS);
    moved->hold_count++;
    split_at(moved, start);
    split_at(moved, start + bytes);
    uint32_t i = first_behind(moved, start);
    for (uintptr_t at = start; at < start + bytes; i++) {
        if (i < moved->count && moved->ranges[i].start == at) {
            moved->ranges[i].count++;
        } else {
            bool bounded = i < moved->count && moved->ranges[i].start < start + bytes;
            uintptr_t end = bounded ? moved->ranges[i].start : start + bytes;
            insert(moved, i, (struct host_moved_range){at, end - at, place + (at - start), 1});
        }
        at = range_end(&moved->ranges[i]);
    }
    tidy(moved);
}

void host_moved_release(struct host_moved *moved, uintptr_t start, uint64_t bytes)
{
    INVARIANT(moved->hold_count > 0);
    moved->hold_count--;
    split_at(moved, start);
    split_at(moved, start + bytes);
    for (uint32_t i = first_behind(moved, start);
         i < moved->count && moved->ranges[i].start < start + bytes; i++) {
        moved->ranges[i].count--;
    }
    tidy(moved);
}

bool host_moved_find(const struct host_moved *moved, uintptr_t pointer, uint64_t bytes,
                     uint64_t *place)
{
    uint32_t i = first_behind(moved, pointer);
    if (i == moved->count || moved->ranges[i].start > pointer) {
        return false;
    }
    uint64_t found = moved->ranges[i].place + (pointer - moved->ranges[i].start);
    uint64_t left = bytes;
    uintptr_t at = pointer;
    for (; i < moved->count && moved->ranges[i].start <= at &&
           moved->ranges[i].place + (at - moved->ranges[i].start) == found + (at - pointer);
         i++) {
        uint64_t here = range_end(&moved->ranges[i]) - at;
        if (left <= here) {
            *place = found;
            return true;
        }
        left -= here;
        at = range_end(&moved->ranges[i]);
    }
    return false;
}
