/* Numbers as bytes that machines tell each other: the lowest first. */
#ifndef BASE_LITTLE_H
#define BASE_LITTLE_H

#include <stdint.h>

static inline void base_little_put(unsigned char *to, unsigned bytes, uint64_t number)
{
    for (unsigned i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(number >> 8 * i);
    }
}

static inline uint64_t base_little_get(const unsigned char *from, unsigned bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < bytes; i++) {
        number |= (uint64_t)from[i] << 8 * i;
    }
    return number;
}

#endif
