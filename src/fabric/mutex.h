/* A lock for threads of one process that is nearly always free: an exchange to take it, an
 * exchange to give it, and the kernel only when somebody sleeps for it. Half of what the C
 * library's costs, which shows in a loop that takes it for every look at a socket. */
#ifndef FABRIC_MUTEX_H
#define FABRIC_MUTEX_H

#include <stdbool.h>

#include "base/base.h"
#include "fabric/futex.h"

struct fabric_mutex {
    _Atomic uint32_t state; /* 0: free, 1: taken, 2: taken, and somebody may sleep for it */
};

enum { FABRIC_MUTEX_SPINS = 100 };
#define FABRIC_MUTEX_NAP_NS UINT64_C(2000000)

/* Acquire: pairs with the release in fabric_mutex_give. */
static inline bool fabric_mutex_try(struct fabric_mutex *mutex)
{
    uint32_t free = 0;
    return atomic_compare_exchange_strong_explicit(&mutex->state, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void fabric_mutex_take(struct fabric_mutex *mutex)
{
    for (int spin = 0; spin < FABRIC_MUTEX_SPINS; spin++) {
        if (LIKELY(fabric_mutex_try(mutex))) {
            return;
        }
        cpu_relax();
    }
    while (atomic_exchange_explicit(&mutex->state, 2, memory_order_acquire) != 0) {
        futex_wait(&mutex->state, 2, FABRIC_MUTEX_NAP_NS);
    }
}

static inline void fabric_mutex_give(struct fabric_mutex *mutex)
{
    if (UNLIKELY(atomic_exchange_explicit(&mutex->state, 0, memory_order_release) == 2)) {
        futex_wake_all(&mutex->state);
    }
}

#endif
