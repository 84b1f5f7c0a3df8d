/* Ranges in use and free ones, each with a descriptor.
 *
 * Descriptors of neighbouring ranges are linked by address and cover the whole
 * without gaps; no two neighbours are both free. A free range is in the list of its
 * size class, one in use in the bucket of its offset, a spare descriptor in the list
 * of spares. All sizes in here are in grains. */
#include "base/extents.h"

#include <stdlib.h>

#include "base/base.h"

#define NONE UINT32_MAX

enum {
    STEPS = BASE_EXTENTS_STEPS,
    CLASSES = BASE_EXTENTS_ROWS * BASE_EXTENTS_STEPS,
    FIRST_COUNT = 16, /* descriptors and buckets to begin with */
};

struct base_extent {
    uint64_t start;
    uint64_t grains;
    uint32_t before; /* neighbours by address, NONE at the ends */
    uint32_t after;
    uint32_t next;     /* in its free list, its bucket or among the spares */
    uint32_t previous; /* in its free list */
    bool used;
};

/* The class of a size. Sizes below sixteen have a class each; above, the four bits
 * below the highest choose among the sixteen classes of a power of two. */
static uint32_t class_of(uint64_t grains)
{
    if (grains < STEPS) {
        return (uint32_t)grains;
    }
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(grains) - BASE_EXTENTS_STEP_BITS;
    return (shift << BASE_EXTENTS_STEP_BITS) + (uint32_t)(grains >> shift);
}

static uint64_t class_minimum(uint32_t size_class)
{
    if (size_class < STEPS) {
        return size_class;
    }
    uint32_t shift = size_class / STEPS - 1;
    return (uint64_t)(STEPS + size_class % STEPS) << shift;
}

/* The first class from this one on that has a free range; CLASSES: none has. */
static uint32_t class_filled(const struct base_extents *extents, uint32_t size_class)
{
    if (size_class >= CLASSES) {
        return CLASSES;
    }
    uint32_t row = size_class / STEPS;
    uint32_t steps = extents->step_map[row] & (UINT32_MAX << size_class % STEPS);
    if (steps == 0) {
        uint64_t rows = extents->row_map & (UINT64_MAX << row << 1);
        if (rows == 0) {
            return CLASSES;
        }
        row = (uint32_t)__builtin_ctzll(rows);
        steps = extents->step_map[row];
    }
    return row * STEPS + (uint32_t)__builtin_ctz(steps);
}

static void free_list_add(struct base_extents *extents, uint32_t index)
{
    struct base_extent *extent = &extents->extents[index];
    uint32_t size_class = class_of(extent->grains);
    uint32_t row = size_class / STEPS;
    uint32_t *first = &extents->free_list[row][size_class % STEPS];
    extent->used = false;
    extent->previous = NONE;
    extent->next = *first;
    if (*first != NONE) {
        extents->extents[*first].previous = index;
    }
    *first = index;
    extents->step_map[row] |= (uint16_t)(1u << size_class % STEPS);
    extents->row_map |= UINT64_C(1) << row;
}

static void free_list_remove(struct base_extents *extents, uint32_t index)
{
    struct base_extent *extent = &extents->extents[index];
    uint32_t size_class = class_of(extent->grains);
    uint32_t row = size_class / STEPS;
    if (extent->next != NONE) {
        extents->extents[extent->next].previous = extent->previous;
    }
    if (extent->previous != NONE) {
        extents->extents[extent->previous].next = extent->next;
        return;
    }
    INVARIANT(extents->free_list[row][size_class % STEPS] == index);
    extents->free_list[row][size_class % STEPS] = extent->next;
    if (extent->next == NONE) {
        extents->step_map[row] &= (uint16_t) ~(1u << size_class % STEPS);
        if (extents->step_map[row] == 0) {
            extents->row_map &= ~(UINT64_C(1) << row);
        }
    }
}

/* Makes sure of `count` spare descriptors. */
static bool spares_reserve(struct base_extents *extents, uint32_t count)
{
    if (extents->spare_count >= count) {
        return true;
    }
    uint32_t old_capacity = extents->extent_capacity;
    if (old_capacity > NONE / 2) {
        return false;
    }
    uint32_t capacity = old_capacity == 0 ? FIRST_COUNT : old_capacity * 2;
    struct base_extent *grown = realloc(extents->extents, capacity * sizeof *grown);
    if (!grown) {
        return false;
    }
    for (uint32_t i = old_capacity; i < capacity; i++) {
        grown[i] = (struct base_extent){.next = i + 1 < capacity ? i + 1 : extents->spare};
    }
    extents->extents = grown;
    extents->extent_capacity = capacity;
    extents->spare = old_capacity;
    extents->spare_count += capacity - old_capacity;
    return true;
}

static uint32_t spare_take(struct base_extents *extents)
{
    uint32_t index = extents->spare;
    INVARIANT(index != NONE && extents->spare_count > 0);
    extents->spare = extents->extents[index].next;
    extents->spare_count--;
    return index;
}

static void spare_give(struct base_extents *extents, uint32_t index)
{
    extents->extents[index].next = extents->spare;
    extents->spare = index;
    extents->spare_count++;
}

static uint32_t *bucket_of(uint32_t *buckets, uint32_t bucket_count, uint64_t start)
{
    uint64_t mixed = start * UINT64_C(0x9e3779b97f4a7c15);
    return &buckets[(uint32_t)(mixed >> 32) & (bucket_count - 1)];
}

/* Twice the buckets. Without memory for them the chains merely get longer. */
static void buckets_grow(struct base_extents *extents)
{
    uint32_t count = extents->bucket_count * 2;
    uint32_t *grown = count == 0 ? NULL : malloc(count * sizeof *grown);
    if (!grown) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        grown[i] = NONE;
    }
    for (uint32_t i = 0; i < extents->bucket_count; i++) {
        uint32_t index = extents->buckets[i];
        while (index != NONE) {
            struct base_extent *extent = &extents->extents[index];
            uint32_t next = extent->next;
            uint32_t *bucket = bucket_of(grown, count, extent->start);
            extent->next = *bucket;
            *bucket = index;
            index = next;
        }
    }
    free(extents->buckets);
    extents->buckets = grown;
    extents->bucket_count = count;
}

static void used_add(struct base_extents *extents, uint32_t index)
{
    struct base_extent *extent = &extents->extents[index];
    if (extents->used_count >= extents->bucket_count) {
        buckets_grow(extents);
    }
    uint32_t *bucket = bucket_of(extents->buckets, extents->bucket_count, extent->start);
    extent->used = true;
    extent->next = *bucket;
    *bucket = index;
    extents->used_count++;
}

/* The link that names the range in use that starts at this offset in bytes; it holds
 * NONE when there is no such range. */
static uint32_t *used_link(const struct base_extents *extents, uint64_t offset)
{
    uint64_t start = offset / BASE_EXTENTS_GRAIN_BYTES;
    uint32_t *link = bucket_of(extents->buckets, extents->bucket_count, start);
    while (*link != NONE &&
           (extents->extents[*link].start != start || offset % BASE_EXTENTS_GRAIN_BYTES != 0)) {
        link = &extents->extents[*link].next;
    }
    return link;
}

/* Where in a free range an aligned piece may start; false when it does not fit. */
static bool fits(const struct base_extent *extent, uint64_t grains, uint64_t alignment,
                 uint64_t *start)
{
    /* At most 2^58 each: no sum overflows. */
    uint64_t aligned = (extent->start + alignment - 1) & ~(alignment - 1);
    if (aligned + grains > extent->start + extent->grains) {
        return false;
    }
    *start = aligned;
    return true;
}

/* A free range that holds an aligned piece, and where in it; NONE: there is none. */
static uint32_t search(const struct base_extents *extents, uint64_t grains, uint64_t alignment,
                       uint64_t *start)
{
    /* A range of this size holds the piece wherever the range starts. */
    uint64_t ample = grains + alignment - 1;
    uint32_t ample_class = class_of(ample);
    if (class_minimum(ample_class) < ample) {
        ample_class++;
    }
    uint32_t size_class = class_filled(extents, ample_class);
    if (size_class < CLASSES) {
        uint32_t index = extents->free_list[size_class / STEPS][size_class % STEPS];
        bool held = fits(&extents->extents[index], grains, alignment, start);
        INVARIANT(held);
        return index;
    }
    for (size_class = class_filled(extents, class_of(grains)); size_class < CLASSES;
         size_class = class_filled(extents, size_class + 1)) {
        uint32_t index = extents->free_list[size_class / STEPS][size_class % STEPS];
        for (; index != NONE; index = extents->extents[index].next) {
            if (fits(&extents->extents[index], grains, alignment, start)) {
                return index;
            }
        }
    }
    return NONE;
}

/* A free range in a descriptor of its own, between two neighbours. */
static void insert_free(struct base_extents *extents, uint32_t before, uint32_t after,
                        uint64_t start, uint64_t grains)
{
    uint32_t index = spare_take(extents);
    extents->extents[index] = (struct base_extent){
        .start = start, .grains = grains, .before = before, .after = after};
    if (before != NONE) {
        extents->extents[before].after = index;
    }
    if (after != NONE) {
        extents->extents[after].before = index;
    }
    free_list_add(extents, index);
}

bool base_extents_init(struct base_extents *extents, uint64_t total_bytes)
{
    uint64_t grains = total_bytes / BASE_EXTENTS_GRAIN_BYTES;
    *extents = (struct base_extents){.total_bytes = grains * BASE_EXTENTS_GRAIN_BYTES,
                                     .spare = NONE};
    for (uint32_t size_class = 0; size_class < CLASSES; size_class++) {
        extents->free_list[size_class / STEPS][size_class % STEPS] = NONE;
    }
    extents->buckets = malloc(FIRST_COUNT * sizeof *extents->buckets);
    if (!extents->buckets || !spares_reserve(extents, 1)) {
        base_extents_release(extents);
        return false;
    }
    extents->bucket_count = FIRST_COUNT;
    for (uint32_t i = 0; i < FIRST_COUNT; i++) {
        extents->buckets[i] = NONE;
    }
    if (grains > 0) {
        insert_free(extents, NONE, NONE, 0, grains);
    }
    return true;
}

void base_extents_release(struct base_extents *extents)
{
    free(extents->buckets);
    free(extents->extents);
    *extents = (struct base_extents){.spare = NONE};
}

bool base_extents_take(struct base_extents *extents, uint64_t bytes, uint64_t alignment,
                       uint64_t *offset)
{
    INVARIANT(is_power_of_two(alignment));
    if (bytes > extents->total_bytes) {
        return false;
    }
    uint64_t grains = bytes == 0 ? 1 : (bytes - 1) / BASE_EXTENTS_GRAIN_BYTES + 1;
    uint64_t alignment_grains = alignment <= BASE_EXTENTS_GRAIN_BYTES
                                    ? 1
                                    : alignment / BASE_EXTENTS_GRAIN_BYTES;
    uint64_t start;
    uint32_t index = search(extents, grains, alignment_grains, &start);
    /* What is left in front and behind needs descriptors: get them before anything changes. */
    if (index == NONE || !spares_reserve(extents, 2)) {
        return false;
    }
    free_list_remove(extents, index);
    struct base_extent found = extents->extents[index];
    uint64_t end = start + grains;
    if (start > found.start) {
        insert_free(extents, found.before, index, found.start, start - found.start);
    }
    if (end < found.start + found.grains) {
        insert_free(extents, index, found.after, end, found.start + found.grains - end);
    }
    extents->extents[index].start = start;
    extents->extents[index].grains = grains;
    used_add(extents, index);
    *offset = start * BASE_EXTENTS_GRAIN_BYTES;
    return true;
}

bool base_extents_find(const struct base_extents *extents, uint64_t offset, uint64_t *bytes)
{
    uint32_t index = *used_link(extents, offset);
    if (index == NONE) {
        return false;
    }
    *bytes = extents->extents[index].grains * BASE_EXTENTS_GRAIN_BYTES;
    return true;
}

/* Joins a neighbour, before or after, to the range at index, if it is free. */
static void absorb(struct base_extents *extents, uint32_t index, uint32_t neighbour)
{
    if (neighbour == NONE || extents->extents[neighbour].used) {
        return;
    }
    struct base_extent *extent = &extents->extents[index];
    const struct base_extent *joined = &extents->extents[neighbour];
    free_list_remove(extents, neighbour);
    extent->grains += joined->grains;
    if (neighbour == extent->before) {
        extent->start = joined->start;
        extent->before = joined->before;
        if (extent->before != NONE) {
            extents->extents[extent->before].after = index;
        }
    } else {
        extent->after = joined->after;
        if (extent->after != NONE) {
            extents->extents[extent->after].before = index;
        }
    }
    spare_give(extents, neighbour);
}

bool base_extents_give(struct base_extents *extents, uint64_t offset)
{
    uint32_t *link = used_link(extents, offset);
    uint32_t index = *link;
    if (index == NONE) {
        return false;
    }
    *link = extents->extents[index].next;
    extents->used_count--;
    absorb(extents, index, extents->extents[index].before);
    absorb(extents, index, extents->extents[index].after);
    free_list_add(extents, index);
    return true;
}
