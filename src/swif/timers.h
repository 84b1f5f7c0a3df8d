/* Timers: one for each context and watch, in a heap by time. */
#ifndef SWIF_TIMERS_H
#define SWIF_TIMERS_H

#include "base/base.h"

#define SWIF_NEVER UINT64_MAX

/* Whose timer it is; it stands first in each. */
enum swif_timer_owner { SWIF_LTEE, SWIF_RTEE, SWIF_WATCH };

struct swif_timer {
    uint64_t at_ns; /* SWIF_NEVER: not set */
    uint32_t place; /* in the heap, from 1; 0: not in it */
    enum swif_timer_owner owner;
};

struct swif_timers {
    struct swif_timer **heap; /* [1..count] */
    uint32_t count;
};

/* `heap` has room for as many timers as there are, and one more. */
void swif_timers_init(struct swif_timers *timers, struct swif_timer **heap);

/* Sets, moves or (SWIF_NEVER) stops a timer. */
void swif_timer_set(struct swif_timers *timers, struct swif_timer *timer, uint64_t at_ns);

/* The first to come, or NULL. */
static inline struct swif_timer *swif_timers_first(const struct swif_timers *timers)
{
    return timers->count ? timers->heap[1] : NULL;
}

#endif
