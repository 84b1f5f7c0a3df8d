/* What a program computes between two calls of the library, where that is to count: by a clock, or
 * by the instructions that the kernel has counted. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fabric/seat/state.h"

/* A short computation is measured by a clock that costs little; a longer one by the thread's CPU
 * time, since another process may have had the core meanwhile. */
#define SHORT_NS 20000

/* See warm_ns. */
#define GAP_NS 400
#define NOISE_NS 30

/* A computation that others could notice: the turn goes round before the next call. */
#define NOTED_NS 300

enum { CLOCK_LOOKS = 100 };

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t instructions(const struct seat_state *seat)
{
    uint64_t count = 0;
    return syscall(SYS_read, seat->counter_fd, &count, sizeof count) == sizeof count ? count : 0;
}

/* What two looks at the clock take that have nothing between them. */
static uint64_t look_ns(void)
{
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < CLOCK_LOOKS; i++) {
        uint64_t before_ns = clock_ns(CLOCK_MONOTONIC);
        uint64_t passed_ns = clock_ns(CLOCK_MONOTONIC) - before_ns;
        least_ns = passed_ns < least_ns ? passed_ns : least_ns;
    }
    return least_ns;
}

/* The simulator has run between two computations, so caches are colder than in a real run, and a
 * short one takes several times as long here. So it counts as the shortest of the last ones that
 * followed the same kind of step. Clocks go by 10 ns and more, and between calls with nothing
 * between them different programs see times that differ by 30 ns: less than that counts as none. */
static uint64_t warm_ns(struct seat_state *seat, uint64_t ns)
{
    struct seat_gaps *gaps = &seat->gaps[seat->last_step];
    if (ns > GAP_NS) {
        return ns;
    }
    gaps->last_ns[gaps->count++ % SEAT_GAPS_KEPT] = (uint32_t)ns;
    for (uint32_t i = 0; i < gaps->count && i < SEAT_GAPS_KEPT; i++) {
        ns = gaps->last_ns[i] < ns ? gaps->last_ns[i] : ns;
    }
    return ns > NOISE_NS ? ns : 0;
}

/* What computations are measured by. */
static uint64_t meter(const struct seat_state *seat)
{
    return seat->page->terms.compute == TURN_COMPUTE_INSTRUCTIONS ? instructions(seat)
                                                                  : clock_ns(CLOCK_MONOTONIC);
}

static uint64_t computed_ns(struct seat_state *seat, const struct seat_thread *own, uint64_t now)
{
    const struct turn_terms *terms = &seat->page->terms;
    /* Threads that share an entry may have come and gone since then. */
    uint64_t passed_ns = now > own->computing_from ? now - own->computing_from : 0;
    if (terms->compute == TURN_COMPUTE_INSTRUCTIONS) {
        return (uint64_t)((double)passed_ns * 1e6 / (double)terms->compute_factor_ppm);
    }
    if (passed_ns > SHORT_NS) {
        uint64_t used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own->computing_from_cpu_ns;
        passed_ns = used_ns < passed_ns ? used_ns : passed_ns;
    }
    uint64_t added_ns = seat->clock_ns + terms->gap_ns + (seat->is_resumed ? terms->resume_ns : 0);
    passed_ns = warm_ns(seat, passed_ns - (passed_ns < added_ns ? passed_ns : added_ns));
    return (uint64_t)((double)passed_ns * (double)terms->compute_factor_ppm / 1e6);
}

static void note_computed(struct seat_state *seat, struct seat_thread *own, uint64_t now)
{
    if (own->computing_from != 0) {
        own->computed_ns += computed_ns(seat, own, now);
        own->computing_from = 0;
        seat->is_resumed = false;
    }
}

void seat_end_computing(struct seat_state *seat, struct seat_thread *own)
{
    struct turn_page *page = seat->page;
    note_computed(seat, own, meter(seat));
    if (own->computed_ns > 0) {
        INVARIANT(turn_put(page->from_program, &page->from_program_bytes, TURN_COMPUTE, 0,
                           own->computed_ns, 0));
        own->computed_ns = 0;
        seat->step_count++;
    }
}

bool seat_meters(void)
{
    struct seat_state *seat = &seat_state;
    seat->clock_ns = look_ns();
    return seat->page->terms.compute != TURN_COMPUTE_DECLARED;
}

/* The meter is read last here and first there: little of ours is between. */
void seat_left_call(void)
{
    struct seat_state *seat = &seat_state;
    fabric_mutex_take(&seat->packets.lock);
    struct seat_thread *own = seat_thread_enter(seat);
    if (own->computing_from == 0) {
        own->computing_from_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        own->computing_from = meter(seat);
    }
    fabric_mutex_give(&seat->packets.lock);
}

void seat_entered_call(void)
{
    struct seat_state *seat = &seat_state;
    uint64_t now = meter(seat);
    fabric_mutex_take(&seat->packets.lock);
    struct seat_thread *own = seat_thread_enter(seat);
    note_computed(seat, own, now);
    if (own->computed_ns > NOTED_NS) {
        seat_want_turn(seat);
        seat_sync(seat);
    }
    fabric_mutex_give(&seat->packets.lock);
}
