/* Given memory, handed out in pieces from its start. With memory NULL it only counts, so
 * that one function both measures and lays out. */
#ifndef BASE_SPACE_H
#define BASE_SPACE_H

#include "base/base.h"

struct base_space {
    unsigned char *memory; /* aligned to a cache line */
    uint64_t used_bytes;
};

/* Room for `count` things, in whole cache lines; NULL when it only counts. */
static inline void *base_space_take(struct base_space *space, uint64_t count, uint64_t bytes)
{
    uint64_t at = space->used_bytes;
    bool fits = round_up(at + count * bytes, CACHE_LINE_BYTES, &space->used_bytes);
    INVARIANT(fits);
    return space->memory ? space->memory + at : NULL;
}

#endif
