/* Time for the host's side; the protocol folders get it as an argument. */
#ifndef HOST_CLOCK_H
#define HOST_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t host_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* now + timeout, without wrapping: DN_FOREVER stays for ever. */
static inline uint64_t host_deadline_ns(uint64_t now_ns, uint64_t timeout_ns)
{
    uint64_t sum;
    return __builtin_add_overflow(now_ns, timeout_ns, &sum) ? UINT64_MAX : sum;
}

#endif
