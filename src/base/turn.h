/* A turn: what only one thread of a process does at a time. Private memory; 1 while it is taken. */
#ifndef BASE_TURN_H
#define BASE_TURN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/single_threaded.h>

#include "base/base.h"

/* A locked instruction would be a good part of a small message's cost, or of a barrier's between
 * cores that share a cache, because it waits for all stores before it. A process with one thread
 * needs none: that thread cannot be in two calls at once.
 * Acquire: pairs with the release in base_turn_end. */
static inline bool base_turn_try(_Atomic uint32_t *turn)
{
    if (atomic_load_explicit(turn, memory_order_relaxed) != 0) {
        return false;
    }
    if (LIKELY(__libc_single_threaded)) {
        atomic_store_explicit(turn, 1, memory_order_relaxed);
        return true;
    }
    return atomic_exchange_explicit(turn, 1, memory_order_acquire) == 0;
}

static inline void base_turn_end(_Atomic uint32_t *turn)
{
    atomic_store_explicit(turn, 0, memory_order_release);
}

#endif
