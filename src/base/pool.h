/* Lines of a table in given memory, handed out in order: what was never needed is never
 * touched, however large the table. A line that was given back is the next one to go out. A
 * line is known by its number. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/base.h"

enum { BASE_POOL_NONE = UINT32_MAX };

struct base_pool {
    unsigned char *lines;
    uint64_t line_bytes;
    uint32_t link_offset; /* of a uint32_t in each line, the pool's while the line is free */
    uint32_t capacity;
    uint32_t touched; /* lines that were ever handed out: the first ones */
    uint32_t taken;   /* lines in use now */
    uint32_t free;    /* the line given back last; BASE_POOL_NONE: none */
};

static inline void base_pool_init(struct base_pool *pool, void *lines, uint64_t line_bytes,
                                  uint32_t link_offset, uint32_t capacity)
{
    *pool = (struct base_pool){.lines = lines,
                               .line_bytes = line_bytes,
                               .link_offset = link_offset,
                               .capacity = capacity,
                               .free = BASE_POOL_NONE};
}

static inline void *base_pool_line(const struct base_pool *pool, uint32_t number)
{
    return pool->lines + number * pool->line_bytes;
}

static inline uint32_t base_pool_number(const struct base_pool *pool, const void *line)
{
    return (uint32_t)((uint64_t)((const unsigned char *)line - pool->lines) / pool->line_bytes);
}

static inline uint32_t *base_pool_link(const struct base_pool *pool, uint32_t number)
{
    return (uint32_t *)(void *)((unsigned char *)base_pool_line(pool, number) + pool->link_offset);
}

/* The line that the next take gives; BASE_POOL_NONE: all are in use. */
static inline uint32_t base_pool_next(const struct base_pool *pool)
{
    bool has_fresh = pool->touched < pool->capacity;
    return pool->free != BASE_POOL_NONE ? pool->free : has_fresh ? pool->touched : BASE_POOL_NONE;
}

/* The content of the line is what its last user left, but for the link. */
static inline uint32_t base_pool_take(struct base_pool *pool)
{
    uint32_t number = base_pool_next(pool);
    if (number == BASE_POOL_NONE) {
        return number;
    }
    if (number == pool->free) {
        pool->free = *base_pool_link(pool, number);
    } else {
        pool->touched++;
    }
    pool->taken++;
    return number;
}

static inline void base_pool_give(struct base_pool *pool, uint32_t number)
{
    *base_pool_link(pool, number) = pool->free;
    pool->free = number;
    pool->taken--;
}

static inline uint32_t base_pool_left(const struct base_pool *pool)
{
    return pool->capacity - pool->taken;
}

/* The same by address; NULL: all are in use. */
static inline void *base_pool_take_line(struct base_pool *pool)
{
    uint32_t number = base_pool_take(pool);
    return number == BASE_POOL_NONE ? NULL : base_pool_line(pool, number);
}

static inline void base_pool_give_line(struct base_pool *pool, const void *line)
{
    base_pool_give(pool, base_pool_number(pool, line));
}

#endif
