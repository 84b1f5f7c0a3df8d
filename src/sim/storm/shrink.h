/* Making a failing run smaller: fewer operations, fewer nodes, one fault or one kind of
 * work less, as long as it still fails. */
#ifndef SIM_STORM_SHRINK_H
#define SIM_STORM_SHRINK_H

#include "sim/storm/storm.h"

/* Runs a choice and says whether it fails. It may be asked some hundreds of times. */
struct storm_judge {
    void *context;
    bool (*fails)(void *context, const struct storm_choice *choice);
};

/* Changes a failing choice into one that still fails, and from which nothing more can be left out
 * alone. Gives how many runs that took. */
uint32_t storm_shrink(struct storm_choice *choice, const struct storm_judge *judge);

#endif
