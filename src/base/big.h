/* Numbers as bytes the way InfiniBand has them: the highest first. */
#ifndef BASE_BIG_H
#define BASE_BIG_H

#include <stdint.h>

static inline void base_big_put(unsigned char *to, unsigned bytes, uint64_t number)
{
    for (unsigned i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(number >> 8 * (bytes - 1 - i));
    }
}

static inline uint64_t base_big_get(const unsigned char *from, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number = number << 8 | from[i];
    }
    return number;
}

#endif
