/* Which pages of the program's memory lie in the node's registered memory, and where.
 *
 * The table is private to the process and touches no memory but its own. It keeps true:
 *  - ranges are sorted by address, do not overlap, and consist of whole pages;
 *  - a page has one place, and no two pages have the same;
 *  - a range's count is how many registrations hold it, never 0.
 *
 * An area must be one piece of registered memory, and neighbouring areas share the page
 * between them. So pages keep their distances: an address gets the place that its lower bits
 * say. Two pages end up apart only if addresses so far from each other are registered that
 * one of them had to give way.
 *
 * The first quarter of registered memory is for callers that choose places themselves. */
#ifndef HOST_MOVED_H
#define HOST_MOVED_H

#include "base/base.h"

/* A registration has 2 boundaries; there are 252 areas, and callers that choose places. */
enum { HOST_MOVED_HOLDS = 400, HOST_MOVED_RANGES = 2 * HOST_MOVED_HOLDS + 1 };

struct host_moved_range {
    uintptr_t start;
    uint64_t bytes;
    uint64_t place; /* from the start of registered memory */
    uint32_t count;
};

struct host_moved {
    uint64_t total_bytes; /* of registered memory */
    uint64_t fixed_bytes; /* its first part */
    uint64_t page_bytes;
    uint32_t hold_count;
    uint32_t count;
    struct host_moved_range ranges[HOST_MOVED_RANGES];
};

void host_moved_init(struct host_moved *moved, uint64_t total_bytes, uint64_t page_bytes);

/* Addresses below are of whole pages. */

/* Where a range can go: 0, DN_ENOMEM when there is no room for it, DN_EBUSY when it
 * takes in pages that lie apart, DN_EFULL when there are too many holds. */
int host_moved_place(const struct host_moved *moved, uintptr_t start, uint64_t bytes,
                     uint64_t *place);

/* Whether a range can go to a place of the first part: 0, DN_ERANGE when that is not in
 * it, DN_EBUSY when something else is there or the pages are elsewhere, DN_EFULL. */
int host_moved_check_place(const struct host_moved *moved, uintptr_t start, uint64_t bytes,
                           uint64_t place);

/* The first part of [start, end) that is not moved yet; false: there is none. */
bool host_moved_gap(const struct host_moved *moved, uintptr_t start, uintptr_t end,
                    uintptr_t *gap_start, uintptr_t *gap_end);

/* The first part of [start, end) that is held at most `count` times; false: none. */
bool host_moved_held(const struct host_moved *moved, uintptr_t start, uintptr_t end, uint32_t count,
                     struct host_moved_range *part);

/* Counts a registration of a range, at a place from above; release ends it. */
void host_moved_hold(struct host_moved *moved, uintptr_t start, uint64_t bytes, uint64_t place);
void host_moved_release(struct host_moved *moved, uintptr_t start, uint64_t bytes);

/* Whether all of [pointer, pointer + bytes) is moved, and then the place of its start.
 * bytes is at least 1; any address. */
bool host_moved_find(const struct host_moved *moved, uintptr_t pointer, uint64_t bytes,
                     uint64_t *place);

#endif
