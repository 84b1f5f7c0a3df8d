/* A small seeded generator (splitmix64): the same seed gives the same run. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct base_random {
    uint64_t state;
};

static inline uint64_t base_random_next(struct base_random *random)
{
    uint64_t mixed = (random->state += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* A number below limit; limit is not 0. The bias is below 2^-32 for limits that fit
 * 32 bits. */
static inline uint64_t base_random_below(struct base_random *random, uint64_t limit)
{
    return base_random_next(random) % limit;
}

#endif
