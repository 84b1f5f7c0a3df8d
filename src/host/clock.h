/* Time for the host's side; the protocol folders get it as an argument. */
#ifndef HOST_CLOCK_H
#define HOST_CLOCK_H

#include "base/base.h"
#include "fabric/clock.h"

/* The fabric's own clock while this process is attached to one that has it, else NULL. */
extern uint64_t (*host_fabric_clock)(void);

/* The time that deadlines count in. Where the fabric's clock is virtual, steps so far are done. */
static inline uint64_t host_now_ns(void)
{
    return UNLIKELY(host_fabric_clock != NULL) ? host_fabric_clock() : fabric_now_ns();
}

/* The CPU time of this process. */
static inline uint64_t host_cpu_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* now + timeout, without wrapping: DN_FOREVER stays for ever. */
static inline uint64_t host_deadline_ns(uint64_t now_ns, uint64_t timeout_ns)
{
    uint64_t sum;
    return __builtin_add_overflow(now_ns, timeout_ns, &sum) ? UINT64_MAX : sum;
}

#endif
