/* Lines of a table in given memory, handed out in order: what was never needed is never
 * touched, however large the table. A line that was given back is the next one to go out. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <string.h>

#include "base/base.h"

struct base_pool {
    unsigned char *lines;
    uint32_t line_bytes; /* room for a pointer at least */
    uint32_t capacity;
    uint32_t touched; /* lines that were ever handed out: the first ones */
    void *free;       /* given back; each begins with the next one's address */
};

static inline void *base_pool_line(const struct base_pool *pool, uint32_t index)
{
    return pool->lines + (uint64_t)index * pool->line_bytes;
}

/* Its content is undefined; NULL: all are in use. */
static inline void *base_pool_take(struct base_pool *pool)
{
    void *line = pool->free;
    if (line) {
        memcpy(&pool->free, line, sizeof pool->free);
    } else if (pool->touched < pool->capacity) {
        line = base_pool_line(pool, pool->touched++);
    }
    return line;
}

/* The beginning of the line, where a pointer has room, is overwritten. */
static inline void base_pool_give(struct base_pool *pool, void *line)
{
    memcpy(line, &pool->free, sizeof pool->free);
    pool->free = line;
}

#endif
