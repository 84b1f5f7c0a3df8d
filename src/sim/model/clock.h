/* Clocks of the modelled machine: integer picoseconds, edges at multiples of the period. */
#ifndef SIM_MODEL_CLOCK_H
#define SIM_MODEL_CLOCK_H

#include "base/base.h"

#define SIM_PS_PER_NS UINT64_C(1000)

/* The edge at `at_ps` or the first one after it. */
static inline uint64_t sim_edge(uint64_t period_ps, uint64_t at_ps)
{
    uint64_t past = at_ps % period_ps;
    return past == 0 ? at_ps : at_ps + period_ps - past;
}

static inline uint64_t sim_cycles(uint64_t period_ps, uint64_t count)
{
    return period_ps * count;
}

#endif
