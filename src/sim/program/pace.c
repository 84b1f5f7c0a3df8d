/* Threads of programs. While a program waits, another thread of it may be about to do something of
 * which the simulator knows nothing: it then knocks (wire/turn.h). So virtual time does not run
 * away from threads that compute, and no wait ends in vain before all threads have looked again. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "sim/model/clock.h"
#include "sim/program/state.h"

enum { LOOKS_FOR_KNOCKS = 1024 }; /* events between two */

uint64_t sim_program_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void knock(struct program_seat *seat)
{
    seat->is_knocked = true;
    seat->knocked_ps = sim_world_now(seat->programs->world);
    sim_program_call_soon(seat, PROGRAM_CALL_WAKE);
}

/* Who only wants to look again must not keep time from passing: once at a moment, unless it stands
 * still anyway. */
static bool answer_knocks(struct sim_programs *programs, bool stands_still)
{
    uint64_t now_ps = sim_world_now(programs->world);
    bool anybody = false;
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        struct program_seat *seat = &programs->seats[rank];
        programs->is_threaded |= atomic_load(&seat->page->is_threaded) != 0;
        uint32_t knocks = atomic_load(&seat->page->knocks);
        bool is_due = knocks & TURN_WANTED || stands_still || seat->knocked_ps != now_ps;
        if (seat->state == PROGRAM_WAITS && knocks != 0 && is_due) {
            knock(seat);
            anybody = true;
        }
    }
    return anybody;
}

/* One thread may have written what another one of its process waits for, and then have begun to
 * wait as well. Before much time passes, or none any more, all of them look once more. */
static bool look_once_more(struct sim_programs *programs)
{
    bool anybody = false;
    for (uint32_t rank = 0; programs->is_threaded && rank < programs->config.node_count; rank++) {
        struct program_seat *seat = &programs->seats[rank];
        if (seat->state == PROGRAM_WAITS && !seat->is_sure &&
            atomic_load(&seat->page->is_threaded) != 0) {
            knock(seat);
            anybody = true;
        }
    }
    return anybody;
}

static bool is_far(const struct sim_programs *programs, uint64_t next_ps)
{
    uint64_t now_ps = sim_world_now(programs->world);
    return next_ps > now_ps && next_ps - now_ps >= PROGRAM_FAR_PS;
}

/* Whether the program has threads that have never called. If not, it stays so while it waits. */
static bool has_strangers(struct program_seat *seat)
{
    if (seat->known_in != seat->wait_number &&
        sim_program_threads(seat) <= seat->page->thread_count) {
        seat->known_in = seat->wait_number;
    }
    return seat->known_in != seat->wait_number;
}

/* While threads of a waiting program may still run, virtual time goes no faster than theirs. Those
 * that have never called are looked for only before much time passes. */
static bool threads_run(const struct sim_programs *programs, uint64_t next_ps)
{
    for (uint32_t rank = 0; rank < programs->config.node_count; rank++) {
        struct program_seat *seat = &programs->seats[rank];
        if (seat->state == PROGRAM_WAITS &&
            (seat->page->others_run != 0 || (is_far(programs, next_ps) && has_strangers(seat)))) {
            return true;
        }
    }
    return false;
}

/* How long the event has to wait in real time, unless another thread wants its turn before. */
static uint64_t ahead_ns(struct sim_programs *programs, uint64_t next_ps)
{
    uint64_t now_ps = sim_world_now(programs->world);
    uint64_t now_ns = sim_program_real_ns();
    if (next_ps <= now_ps || !threads_run(programs, next_ps)) {
        programs->paced_from_ns = now_ns;
        programs->paced_from_ps = now_ps;
        return 0;
    }
    uint64_t due_ns = (next_ps - programs->paced_from_ps) / SIM_PS_PER_NS;
    uint64_t passed_ns = now_ns - programs->paced_from_ns;
    return due_ns > passed_ns ? due_ns - passed_ns : 0;
}

static void pause_for(uint64_t ns)
{
    if (ns < PROGRAM_SHORT_PAUSE_NS) {
        (void)sched_yield();
        return;
    }
    ns = ns < PROGRAM_PAUSE_NS ? ns : PROGRAM_PAUSE_NS;
    (void)nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

bool sim_program_goes_on(void *context, uint64_t next_ps)
{
    struct sim_programs *programs = context;
    if (programs->looks++ % LOOKS_FOR_KNOCKS == 0 || programs->is_threaded ||
        is_far(programs, next_ps)) {
        uint64_t ns = 0;
        while (!atomic_load(&programs->stops) && !answer_knocks(programs, ns > 0) &&
               !(is_far(programs, next_ps) && look_once_more(programs)) &&
               (ns = ahead_ns(programs, next_ps)) > 0) {
            pause_for(ns);
            sim_program_look_for_ends(programs);
        }
    }
    return !atomic_load(&programs->stops);
}
