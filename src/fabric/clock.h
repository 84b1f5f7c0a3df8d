/* The clock. The protocol folders get time as an argument instead. */
#ifndef FABRIC_CLOCK_H
#define FABRIC_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t fabric_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The same as of the kernel's last tick, some milliseconds ago; it costs a fraction. */
static inline uint64_t fabric_tick_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
