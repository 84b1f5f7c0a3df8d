/* No call of the library is a cancellation point: a thread that was cancelled inside would leave a
 * lock held or a step half done. Where the C library's function is such a point, quick paths go to
 * the kernel directly, and calls that use many of them hold cancellation off while they last.
 * tests/structure/cancel_test.py lists all of them. */
#ifndef BASE_UNCANCELLED_H
#define BASE_UNCANCELLED_H

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Gives what base_uncancelled_end takes. Pairs may be nested. */
static inline int base_uncancelled_begin(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void base_uncancelled_end(int before)
{
    (void)pthread_setcancelstate(before, NULL);
}

/* Sleeps, less than a second. A signal may end it before. */
static inline void base_nap_ns(uint64_t nap_ns)
{
    struct timespec time = {.tv_nsec = (long)nap_ns};
    (void)syscall(SYS_nanosleep, &time, NULL);
}

#endif
