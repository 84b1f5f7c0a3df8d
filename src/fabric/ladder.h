/* The ladder of waiting: whoever waits looks again and again, and gives the core away in stages.
 *
 *   spin   only with a core for each node; about 50 us
 *   yield  the core goes to whoever can use it; until about 1 ms has passed
 *   nap    in the kernel, at most 2 ms at a time
 *
 * When something has come the waiter starts again at the bottom: sleeping and being woken takes
 * longer than the next thing takes to come. */
#ifndef FABRIC_LADDER_H
#define FABRIC_LADDER_H

#include <sched.h>

#include "base/base.h"

#define FABRIC_SPIN_NS UINT64_C(50000)
#define FABRIC_YIELD_NS UINT64_C(1000000)
#define FABRIC_NAP_FIRST_NS UINT64_C(50000)
#define FABRIC_NAP_LONGEST_NS UINT64_C(2000000)

enum fabric_rung { FABRIC_SPIN, FABRIC_YIELD, FABRIC_NAP };

struct fabric_ladder {
    bool spins;        /* a core is free; set before the first step */
    uint64_t since_ns; /* since when nothing has come; 0: something came just now */
    uint64_t nap_ns;   /* the next nap */
};

/* Something has come. */
static inline void fabric_ladder_begin(struct fabric_ladder *ladder)
{
    ladder->since_ns = 0;
}

/* The rung of a waiter that has found nothing again. */
static inline enum fabric_rung fabric_ladder_rung(struct fabric_ladder *ladder, uint64_t now_ns)
{
    if (ladder->since_ns == 0) {
        ladder->since_ns = now_ns;
        ladder->nap_ns = FABRIC_NAP_FIRST_NS;
    }
    uint64_t quiet_ns = now_ns - ladder->since_ns;
    if (ladder->spins && quiet_ns < FABRIC_SPIN_NS) {
        return FABRIC_SPIN;
    }
    return quiet_ns < FABRIC_YIELD_NS ? FABRIC_YIELD : FABRIC_NAP;
}

/* How long the next nap lasts, at most limit_ns; naps grow. */
static inline uint64_t fabric_ladder_nap_ns(struct fabric_ladder *ladder, uint64_t limit_ns)
{
    uint64_t nap_ns = ladder->nap_ns < limit_ns ? ladder->nap_ns : limit_ns;
    ladder->nap_ns = ladder->nap_ns * 2 < FABRIC_NAP_LONGEST_NS ? ladder->nap_ns * 2
                                                                : FABRIC_NAP_LONGEST_NS;
    return nap_ns;
}

#endif
