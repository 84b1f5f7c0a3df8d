/* The stages of looking. */
#include "fagus/look.h"

#include <sched.h>

#include "fagus/state.h"

#define SPIN_NS UINT64_C(50000)
#define YIELD_NS UINT64_C(1000000)
#define NAP_FIRST_NS UINT64_C(50000)
#define NAP_LONGEST_NS UINT64_C(1000000)

enum { LOOKS_PER_CLOCK = 64 };

uint64_t fagus_left_ns(uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        return FAGUS_FOREVER;
    }
    uint64_t now_ns = inner_now_ns();
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

void fagus_nap(uint64_t nap_ns)
{
    struct timespec time = {.tv_nsec = (long)nap_ns};
    (void)nanosleep(&time, NULL);
}

/* One pause, by how long the wait has lasted. *nap_ns grows. */
static void pause_after(uint64_t waited_ns, uint64_t left_ns, uint64_t *nap_ns)
{
    if (waited_ns < SPIN_NS && inner_core_is_free(fagus_state.node)) {
        cpu_relax();
    } else if (waited_ns < YIELD_NS) {
        (void)sched_yield();
    } else {
        fagus_nap(*nap_ns < left_ns ? *nap_ns : left_ns);
        *nap_ns = *nap_ns < NAP_LONGEST_NS / 2 ? 2 * *nap_ns : NAP_LONGEST_NS;
    }
}

int fagus_wait(fagus_look look, void *context, uint64_t timeout_ns)
{
    uint64_t begin_ns = inner_now_ns();
    uint64_t deadline_ns = inner_deadline_ns(begin_ns, timeout_ns);
    uint64_t nap_ns = NAP_FIRST_NS;
    for (;;) {
        int seen = 0;
        for (int i = 0; i < LOOKS_PER_CLOCK && seen == 0; i++) {
            seen = look(context);
            if (!fagus_state.reaches_all || nap_ns > NAP_FIRST_NS) {
                break; /* a look takes long, or is worth little */
            }
        }
        if (seen != 0) {
            return seen > 0 ? 0 : seen;
        }
        uint64_t now_ns = inner_now_ns();
        if (now_ns >= deadline_ns) {
            return FAGUS_ETIMEOUT;
        }
        if (fagus_death_news()) {
            /* It may have happened just before. */
            return look(context) > 0 ? 0 : FAGUS_EPEER;
        }
        pause_after(now_ns - begin_ns, deadline_ns - now_ns, &nap_ns);
    }
}
