/* The stages of looking. */
#include "fagus/look.h"

#include "fagus/state.h"

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
    inner_nap(fagus_state.node, nap_ns);
}

int fagus_wait(fagus_look look, void *context, uint64_t timeout_ns)
{
    uint64_t begin_ns = inner_now_ns();
    uint64_t deadline_ns = inner_deadline_ns(begin_ns, timeout_ns);
    struct inner_ladder ladder = {0};
    bool naps = false;
    for (;;) {
        int seen = 0;
        for (int i = 0; i < LOOKS_PER_CLOCK && seen == 0; i++) {
            seen = look(context);
            if (!fagus_state.reaches_all || naps) {
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
        uint64_t left_ns = deadline_ns - now_ns;
        naps = inner_pause(fagus_state.node, &ladder, now_ns,
                           left_ns < NAP_LONGEST_NS ? left_ns : NAP_LONGEST_NS);
    }
}
