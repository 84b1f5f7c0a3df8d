/* What all fabrics share: environment, threads, waking sleepers, and the words of an operation. */
#define _GNU_SOURCE
#include "fabric/fabric.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/size_text.h"
#include "fabric/futex.h"
#include "group/call.h"
#include "nic/engine.h"

bool fabric_environment_number(const char *variable, uint64_t limit, uint64_t *number)
{
    const char *text = getenv(variable);
    return text && base_number_parse(text, limit, number);
}

int fabric_thread_start(pthread_t *thread, void *(*run)(void *), void *context, int stop_signal)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (stop_signal) {
        sigdelset(&all, stop_signal);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        errno = error;
        return error == ENOMEM ? DN_ENOMEM : DN_ESYSTEM;
    }
    return 0;
}

void fabric_wake(const struct group_view *view, uint32_t rank)
{
    if (group_call_claim(view, rank)) {
        futex_wake_all(group_call_lower(view, rank));
    }
}

void fabric_wake_watching(const struct group_view *view, uint32_t rank, const void *written,
                          uint64_t bytes)
{
    uint64_t offset = (uint64_t)((uintptr_t)written - (uintptr_t)group_node_memory(view, rank));
    uint64_t first = offset / CACHE_LINE_BYTES;
    uint64_t last = (offset + (bytes ? bytes - 1 : 0)) / CACHE_LINE_BYTES;
    /* Lines beyond what a watch can name are watched as "anything". */
    last = last < GROUP_WATCH_NOTHING ? last : GROUP_WATCH_NOTHING - 1;
    first = first < last ? first : last;
    if (group_call_claim_watching(view, rank, (uint32_t)first, (uint32_t)last)) {
        futex_wake_all(group_call_lower(view, rank));
    }
}

/* Wakes whoever sleeps at that rank and watches anything. */
static void wake_watching_any(const struct group_view *view, uint32_t rank)
{
    if (group_call_claim_watching(view, rank, 1, 0)) {
        futex_wake_all(group_call_lower(view, rank));
    }
}

void fabric_wake_stored_to(const struct fabric_lane *lane)
{
    for (uint32_t first = 0; first < lane->node_count; first += 64) {
        uint64_t both = atomic_load_explicit(&lane->stored_to[first / 64], memory_order_relaxed) &
                        atomic_load_explicit(&lane->sleeping[first / 64], memory_order_relaxed);
        for (; both != 0; both &= both - 1) {
            wake_watching_any(lane->view, first + (uint32_t)__builtin_ctzll(both));
        }
    }
}

void fabric_op_begin(struct dn_op *op, struct fabric_lane *lane)
{
    op->words[1] = (uint64_t)(uintptr_t)lane;
    __atomic_store_n(&op->words[0], FABRIC_OP_PENDING, __ATOMIC_RELAXED);
}

void fabric_op_finish(struct dn_op *op)
{
    /* Release: pairs with the acquire in fabric_op_state; the bytes are there. */
    __atomic_store_n(&op->words[0], FABRIC_OP_DONE, __ATOMIC_RELEASE);
}

struct fabric_lane *fabric_op_lane(const struct dn_op *op)
{
    return (struct fabric_lane *)(uintptr_t)op->words[1];
}

_Static_assert(sizeof(struct nic_completion) <= 2 * sizeof(uint64_t), "it fits an operation");

struct nic_completion *fabric_op_begin_in_engine(struct dn_op *op, struct fabric_lane *lane)
{
    op->words[0] = FABRIC_OP_IN_ENGINE;
    op->words[1] = (uint64_t)(uintptr_t)lane;
    return (struct nic_completion *)(void *)&op->words[2];
}

int fabric_op_state_in_engine(const struct dn_op *op, bool *done)
{
    const struct nic_completion *completion = (const void *)&op->words[2];
    *done = nic_completion_is_done(completion);
    return *done ? completion->result : 0;
}
