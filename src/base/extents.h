/* An allocator of ranges that never touches what it allocates: its book-keeping lies
 * apart, so that untouched memory stays uncommitted, and the same calls in the same
 * order give the same ranges everywhere.
 *
 * Free ranges are kept by size class, sixteen classes to each power of two; a request
 * takes from the first class whose ranges all fit, found by two bit scans, and
 * neighbours are joined at once when freed. Both calls take constant time (averaged
 * over the growth of the tables); only a request that would else be refused looks
 * through the classes whose ranges may fit, so that the last range can be had too. */
#ifndef BASE_EXTENTS_H
#define BASE_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE_EXTENTS_GRAIN_BYTES 64u

enum {
    BASE_EXTENTS_STEP_BITS = 4,
    BASE_EXTENTS_STEPS = 1 << BASE_EXTENTS_STEP_BITS,
    BASE_EXTENTS_ROWS = 55, /* every number of grains whose bytes fit 64 bits */
};

struct base_extent;

/* Descriptors are named by their index in `extents`, which moves when it grows. */
struct base_extents {
    uint64_t total_bytes;
    struct base_extent *extents; /* grown by doubling */
    uint32_t extent_capacity;
    uint32_t spare; /* list of unused descriptors */
    uint32_t spare_count;

    uint32_t *buckets;     /* offset -> descriptor in use, a hash table */
    uint32_t bucket_count; /* a power of two */
    uint32_t used_count;

    /* A row's bit is set when its step map is not 0, a step's bit when its list is
     * not empty. */
    uint64_t row_map;
    uint16_t step_map[BASE_EXTENTS_ROWS];
    uint32_t free_list[BASE_EXTENTS_ROWS][BASE_EXTENTS_STEPS];
};

/* False: no memory for the book-keeping. total_bytes is cut to whole grains. */
bool base_extents_init(struct base_extents *extents, uint64_t total_bytes);
void base_extents_release(struct base_extents *extents);

/* alignment is a power of two. False: nothing is large enough (or no memory for the
 * book-keeping); nothing changed. A request of 0 bytes gets a grain. */
bool base_extents_take(struct base_extents *extents, uint64_t bytes, uint64_t alignment,
                       uint64_t *offset);

/* Whether a range in use starts at offset, and its size in whole grains. */
bool base_extents_find(const struct base_extents *extents, uint64_t offset, uint64_t *bytes);

/* Gives back the range that starts at offset; false when none in use does. */
bool base_extents_give(struct base_extents *extents, uint64_t offset);

#endif
