/* Publishing sleep and claiming the right to end it. */
#include "group/call.h"

#define SLEEP_BITS (GROUP_CALL_SLEEPING | GROUP_CALL_WATCHING)

uint32_t group_call_publish(const struct group_view *view, uint32_t watch)
{
    _Atomic uint64_t *call = &view->ports[view->rank].call;
    uint64_t bits = watch == GROUP_WATCH_NOTHING ? GROUP_CALL_SLEEPING : SLEEP_BITS;
    uint64_t value = atomic_load_explicit(call, memory_order_relaxed);
    uint64_t made;
    do {
        made = (uint64_t)watch << 32 | (value & GROUP_CALL_LOWER & ~SLEEP_BITS) | bits;
    } while (!atomic_compare_exchange_weak(call, &value, made));
    KILL_POINT("call: sleeper published in its port");
    /* It is usually still set from the nap before; without a store the line stays with its
     * readers. */
    _Atomic uint64_t *hint = group_sleeping_word(view, view->rank);
    uint64_t bit = UINT64_C(1) << (view->rank % 64);
    if (!(atomic_load(hint) & bit)) {
        atomic_fetch_or(hint, bit);
    }
    KILL_POINT("call: sleeper published");
    return (uint32_t)made;
}

static bool is_watched(uint64_t value, uint32_t first, uint32_t last)
{
    uint32_t watch = (uint32_t)(value >> 32);
    return (value & GROUP_CALL_WATCHING) &&
           (first > last || watch == GROUP_WATCH_ANYTHING || (watch >= first && watch <= last));
}

/* Takes the bits away; whoever succeeds wakes the sleepers. The loop ends: it repeats only when
 * somebody else has changed the word, and each change is a wake or tells a new watch. */
static bool claim(const struct group_view *view, uint32_t rank, bool anybody, uint32_t first,
                  uint32_t last)
{
    _Atomic uint64_t *call = &view->ports[rank].call;
    uint64_t value = atomic_load_explicit(call, memory_order_relaxed);
    for (;;) {
        if (!(value & GROUP_CALL_SLEEPING) || !(anybody || is_watched(value, first, last))) {
            return false;
        }
        atomic_fetch_and(group_sleeping_word(view, rank), ~(UINT64_C(1) << (rank % 64)));
        KILL_POINT("call: waker cleared the hint");
        /* Only the lower half counts up, and a carry out of it is dropped. */
        uint64_t woken = ((value & ~SLEEP_BITS) + GROUP_CALL_SEQUENCE) & GROUP_CALL_LOWER;
        if (atomic_compare_exchange_strong(call, &value, woken)) {
            KILL_POINT("call: waker claimed the wake");
            return true;
        }
    }
}

bool group_call_claim(const struct group_view *view, uint32_t rank)
{
    return claim(view, rank, true, 0, 0);
}

bool group_call_claim_watching(const struct group_view *view, uint32_t rank, uint32_t first,
                               uint32_t last)
{
    return claim(view, rank, false, first, last);
}
