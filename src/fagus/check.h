/* FAGUS_CHECK=1: bound memory that this node holds no variable for cannot be touched.
 *
 * The protection is by pages. A page that also holds memory that is bound to nothing, or to a
 * variable that is held, stays open for what that needs: an access beside it is not noticed.
 * Variables that fagus_barrier has been called with are written by whoever likes, and are not
 * guarded. The protocol itself works through the mapping that is not guarded. */
#ifndef FAGUS_CHECK_H
#define FAGUS_CHECK_H

#include "fagus/sync.h"

/* Turns the guard on if FAGUS_CHECK says so. FAGUS_ESYSTEM. */
int fagus_check_open_guard(void);
void fagus_check_close(void);

extern bool fagus_check_is_on __attribute__((visibility("hidden")));

/* Gives the pages of a variable the protection that fits now, after its ranges or its holder
 * changed. */
void fagus_check_protect(struct fagus_sync *sync);
/* Opens them as memory that is bound to nothing: before the ranges change. */
void fagus_check_release(struct fagus_sync *sync);

static inline void fagus_check_update(struct fagus_sync *sync)
{
    if (UNLIKELY(fagus_check_is_on)) {
        fagus_check_protect(sync);
    }
}

static inline void fagus_check_forget(struct fagus_sync *sync)
{
    if (UNLIKELY(fagus_check_is_on)) {
        fagus_check_release(sync);
    }
}

/* This node holds it so from now on; 0: not at all. */
static inline void fagus_check_hold(struct fagus_sync *sync, uint32_t mode)
{
    if (UNLIKELY(fagus_check_is_on)) {
        atomic_store_explicit(&sync->check_mode, mode, memory_order_relaxed);
        fagus_check_protect(sync);
    }
}

#endif
