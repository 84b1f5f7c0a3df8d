/* The threads of the program that call the library, and who of them is about to call again.
 *
 * The turn is given away when nobody can use it: every thread that has called stands in a nap, or
 * has not called for some time and may never again. So a thread that naps looks after the others:
 *
 *     RUNS      in a call, or between two
 *     WANTS     in a call, and waits for the turn
 *     DOUBTED   as RUNS; somebody has napped since, and waits a moment for its next call
 *     AWAY      it has not come in that moment
 *     NAPS      it waits for something to come
 *     WAKES     something has, and it is about to leave its nap
 *
 * A program with one thread is its own only entry: nothing here takes time or looks at a clock. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <unistd.h>

#include "fabric/clock.h"
#include "fabric/seat/state.h"
#include "group/call.h"

static _Thread_local struct seat_thread *own_entry;

static bool has_ended(const struct seat_thread *thread)
{
    return syscall(SYS_tgkill, getpid(), thread->id, 0) != 0;
}

/* A free entry, or that of a thread that has ended; NULL: there is none. */
static struct seat_thread *find_entry(struct seat_state *seat)
{
    for (uint32_t i = 0; i < seat->thread_count; i++) {
        struct seat_thread *thread = &seat->threads[i];
        if (thread->doing == SEAT_GONE || has_ended(thread)) {
            return thread;
        }
    }
    return seat->thread_count < SEAT_THREADS ? &seat->threads[seat->thread_count++] : NULL;
}

/* Threads beyond the table share its last entry, which never naps for long: it is always AWAY. */
static struct seat_thread *enter_first(struct seat_state *seat)
{
    static struct seat_thread beyond;
    struct seat_thread *thread = find_entry(seat);
    if (!thread) {
        seat->has_more_threads = true;
        thread = &beyond;
    }
    *thread = (struct seat_thread){.id = (int32_t)syscall(SYS_gettid), .deadline_ns = UINT64_MAX};
    own_entry = thread;
    /* Several threads of one program have an order that no run repeats. */
    if (seat->thread_count > 1) {
        atomic_store(&seat->page->is_threaded, 1);
    }
    return thread;
}

struct seat_thread *seat_thread_enter(struct seat_state *seat)
{
    struct seat_thread *own = LIKELY(own_entry != NULL) ? own_entry : enter_first(seat);
    own->doing = SEAT_RUNS;
    return own;
}

/* Whether a thread is about to call; one that was waited for in vain is AWAY from then on. */
static bool is_about_to_call(struct seat_thread *thread, uint64_t now_ns)
{
    switch (thread->doing) {
    case SEAT_WANTS:
    case SEAT_WAKES: return true; /* soon: nothing of the program's is between */
    case SEAT_RUNS:
        thread->doing = has_ended(thread) ? SEAT_GONE : SEAT_DOUBTED;
        thread->doubted_ns = now_ns;
        return thread->doing == SEAT_DOUBTED;
    case SEAT_DOUBTED:
        if (now_ns - thread->doubted_ns < SEAT_LINGER_NS) {
            return true;
        }
        thread->doing = SEAT_AWAY;
        return false;
    default: return false;
    }
}

bool seat_threads_stand(struct seat_state *seat)
{
    bool stand = true;
    uint64_t now_ns = seat->thread_count > 1 ? fabric_now_ns() : 0;
    for (uint32_t i = 0; i < seat->thread_count; i++) {
        stand &= !is_about_to_call(&seat->threads[i], now_ns);
    }
    return stand;
}

bool seat_threads_are_away(struct seat_state *seat, uint32_t *count)
{
    bool any = seat->has_more_threads;
    *count = 0;
    for (uint32_t i = 0; i < seat->thread_count; i++) {
        struct seat_thread *thread = &seat->threads[i];
        if (thread->doing == SEAT_AWAY && has_ended(thread)) {
            thread->doing = SEAT_GONE;
        }
        any |= thread->doing == SEAT_AWAY;
        *count += thread->doing != SEAT_GONE;
    }
    return any;
}

uint64_t seat_threads_deadline_ns(const struct seat_state *seat)
{
    uint64_t first_ns = UINT64_MAX;
    for (uint32_t i = 0; i < seat->thread_count; i++) {
        const struct seat_thread *thread = &seat->threads[i];
        /* One that is late to look may nap again until the same moment. */
        bool counts = thread->doing == SEAT_NAPS ||
                      (thread->doing == SEAT_AWAY && thread->deadline_ns > seat->now_ns);
        if (counts && thread->deadline_ns < first_ns) {
            first_ns = thread->deadline_ns;
        }
    }
    return first_ns;
}

/* By the call word, at which whoever writes looks: a sleeper is in it from the first call on. */
uint32_t seat_threads_written(const struct seat_state *seat)
{
    return seat->thread_count > 1
               ? group_call_publish(seat->view, GROUP_WATCH_ANYTHING) / GROUP_CALL_SEQUENCE
               : 0;
}

bool seat_threads_have_seen(const struct seat_state *seat, uint32_t written)
{
    bool all = true;
    for (uint32_t i = 0; i < seat->thread_count; i++) {
        const struct seat_thread *thread = &seat->threads[i];
        all &= thread->doing != SEAT_NAPS || thread->written == written;
    }
    return all;
}

void seat_threads_wake(struct seat_state *seat)
{
    for (uint32_t i = 0; i < seat->thread_count; i++) {
        struct seat_thread *thread = &seat->threads[i];
        thread->doing = thread->doing == SEAT_NAPS ? SEAT_WAKES : thread->doing;
    }
}
