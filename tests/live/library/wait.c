/* Waiting: every comparison, time-outs that are not early, sleepers that are woken, and
 * waits of many nodes and many threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "live/live.h"

/* ---- Comparisons ------------------------------------------------------------- */

static bool compares(uint64_t value, enum dn_comparison comparison, uint64_t with)
{
    switch (comparison) {
    case DN_EQ: return value == with;
    case DN_NE: return value != with;
    case DN_GT: return value > with;
    case DN_GE: return value >= with;
    case DN_LT: return value < with;
    default: return value <= with;
    }
}

static bool can_hold(enum dn_comparison comparison, uint64_t with, uint64_t highest)
{
    return !(comparison == DN_GT && with == highest) && !(comparison == DN_LT && with == 0);
}

static int wanted_answer(uint64_t value, enum dn_comparison comparison, uint64_t with,
                         uint64_t highest)
{
    if (!can_hold(comparison, with, highest)) {
        return DN_EINVAL;
    }
    return compares(value, comparison, with) ? 0 : DN_ETIMEOUT;
}

static void try_comparison(uint64_t value, enum dn_comparison comparison, uint64_t with)
{
    uint32_t *small = live_u32(64);
    uint64_t *large = live_u64(128);
    *small = (uint32_t)value;
    *large = value;
    int wanted = wanted_answer((uint32_t)value, comparison, (uint32_t)with, UINT32_MAX);
    int error = dn_wait_until_u32(me.node, small, comparison, (uint32_t)with, 0);
    require_else(error == wanted, "u32 %#x, comparison %d with %#x: %s, not %s", (uint32_t)value,
                 (int)comparison, (uint32_t)with, dn_errname(error), dn_errname(wanted));
    struct dn_condition condition = {small, 4, comparison, (uint32_t)with};
    size_t index = 77;
    expect(dn_wait_until_any(me.node, &condition, 1, 0, &index), wanted);
    require(index == (wanted ? 77 : 0));

    wanted = wanted_answer(value, comparison, with, UINT64_MAX);
    error = dn_wait_until_u64(me.node, large, comparison, with, 0);
    require_else(error == wanted, "u64 %#llx, comparison %d with %#llx: %s, not %s",
                 (unsigned long long)value, (int)comparison, (unsigned long long)with,
                 dn_errname(error), dn_errname(wanted));
    condition = (struct dn_condition){large, 8, comparison, with};
    index = 77;
    expect(dn_wait_until_any(me.node, &condition, 1, 0, &index), wanted);
    require(index == (wanted ? 77 : 0));
}

static void comparisons(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      0x7fffffff,
                                      0x80000000,
                                      UINT32_MAX - 1,
                                      UINT32_MAX,
                                      UINT64_C(1) << 32,
                                      INT64_MAX,
                                      UINT64_C(1) << 63,
                                      UINT64_MAX - 1,
                                      UINT64_MAX};
    for (size_t i = 0; i < LIVE_COUNT(values); i++) {
        for (size_t j = 0; j < LIVE_COUNT(values); j++) {
            for (int comparison = DN_EQ; comparison <= DN_LE; comparison++) {
                try_comparison(values[i], (enum dn_comparison)comparison, values[j]);
            }
        }
    }
}

/* The next node's store makes each comparison true, and nothing before it does. */
static void changes_end_waits(void)
{
    static const struct {
        enum dn_comparison comparison;
        uint64_t value;
        uint64_t stored; /* one after the other; the last one ends the wait */
        uint64_t last;
    } steps[] = {{DN_EQ, 5, 4, 5}, {DN_NE, 5, 5, 6}, {DN_GT, 6, 6, 7},
                 {DN_GE, 9, 8, 9}, {DN_LT, 9, 9, 8}, {DN_LE, 3, 4, 3}};
    struct dn_kick kick;
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 0), 192, &kick), 0);
    for (size_t i = 0; i < LIVE_COUNT(steps); i++) {
        dn_store_u64(&kick, 0, steps[i].stored);
        dn_store_u32(&kick, 64, (uint32_t)steps[i].stored);
        live_barrier();
        require(*live_u64(0) == steps[i].stored);
        live_barrier();
        live_sleep_ns(i % 2 ? 5 * LIVE_MS : 0);
        dn_store_u64(&kick, 0, steps[i].last);
        dn_store_u32(&kick, 64, (uint32_t)steps[i].last);
        expect(dn_wait_until_u64(me.node, live_u64(0), steps[i].comparison, steps[i].value,
                                 LIVE_PATIENCE_NS),
               0);
        require(*live_u64(0) == steps[i].last);
        expect(dn_wait_until_u32(me.node, live_u32(64), steps[i].comparison,
                                 (uint32_t)steps[i].value, LIVE_PATIENCE_NS),
               0);
        require(*live_u32(64) == steps[i].last);
        live_barrier();
    }
}

/* ---- Time-outs --------------------------------------------------------------- */

static void require_in_time(uint64_t began_ns, uint64_t timeout_ns)
{
    uint64_t took_ns = live_now_ns() - began_ns;
    require_else(took_ns >= timeout_ns, "a time-out of %llu ns came after %llu ns",
                 (unsigned long long)timeout_ns, (unsigned long long)took_ns);
    require_else(took_ns < timeout_ns + 20 * LIVE_SECOND, "a time-out of %llu ns took %llu ns",
                 (unsigned long long)timeout_ns, (unsigned long long)took_ns);
}

static void timeouts_are_not_early(void)
{
    static const uint64_t timeouts_ns[] = {0,
                                           1,
                                           999,
                                           19 * LIVE_US,
                                           21 * LIVE_US,
                                           60 * LIVE_US,
                                           700 * LIVE_US,
                                           LIVE_MS + 100 * LIVE_US,
                                           3 * LIVE_MS,
                                           17 * LIVE_MS};
    const struct dn_condition conditions[] = {{live_u32(64), 4, DN_NE, 0},
                                              {live_u64(128), 8, DN_GT, 5}};
    size_t index = 77;
    for (size_t i = 0; i < LIVE_COUNT(timeouts_ns); i++) {
        uint64_t began_ns = live_now_ns();
        expect(dn_wait_until_u64(me.node, live_u64(0), DN_EQ, 1, timeouts_ns[i]), DN_ETIMEOUT);
        require_in_time(began_ns, timeouts_ns[i]);
        began_ns = live_now_ns();
        expect(dn_wait_until_u32(me.node, live_u32(64), DN_GE, 1, timeouts_ns[i]), DN_ETIMEOUT);
        require_in_time(began_ns, timeouts_ns[i]);
        began_ns = live_now_ns();
        expect(dn_wait_until_any(me.node, conditions, 2, timeouts_ns[i], &index), DN_ETIMEOUT);
        require_in_time(began_ns, timeouts_ns[i]);
        require(index == 77);
    }
    /* A very long time-out must not wrap; a condition that holds is seen at once. */
    *live_u64(0) = 1;
    expect(dn_wait_until_u64(me.node, live_u64(0), DN_EQ, 1, UINT64_MAX - 1), 0);
    expect(dn_wait_until_u64(me.node, live_u64(0), DN_EQ, 1, 0), 0);
}

/* ---- Signals -------------------------------------------------------------------- */

static _Atomic int signals_seen;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_seen, 1);
}

/* In a program that uses signals no wait, and no barrier, ends before its time. */
static void signals_do_not_end_waits(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    const struct itimerval every_ms = {{0, 1000}, {0, 1000}};
    const struct itimerval never = {0};
    atomic_store(&signals_seen, 0);
    require(sigaction(SIGALRM, &action, &before) == 0);
    require(setitimer(ITIMER_REAL, &every_ms, NULL) == 0);
    for (uint64_t round = 1; round <= 5; round++) {
        uint64_t began_ns = live_now_ns();
        expect(dn_wait_until_u64(me.node, live_u64(0), DN_EQ, 99, 15 * LIVE_MS), DN_ETIMEOUT);
        require_in_time(began_ns, 15 * LIVE_MS);
        if (me.rank == 0) {
            live_sleep_ns(10 * LIVE_MS);
        }
        expect(dn_add_u64(me.node, live_place(live_neighbour(1), 0), 1), 0);
        expect(dn_quiet(me.node), 0);
        live_wait_u64(0, DN_GE, round);
        live_barrier();
    }
    require(setitimer(ITIMER_REAL, &never, NULL) == 0);
    require(sigaction(SIGALRM, &before, NULL) == 0);
    require(atomic_load(&signals_seen) > 0 || live_is_virtual()); /* there it may be over before */
}

/* ---- Any of several ---------------------------------------------------------- */

static void any_of_several(void)
{
    enum { WORDS = 20 };
    struct dn_condition conditions[WORDS];
    struct dn_kick kick;
    uint64_t random = me.seed;
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 0), 64 * WORDS, &kick), 0);
    for (uint64_t round = 1; round <= 100; round++) {
        for (size_t i = 0; i < WORDS; i++) {
            /* Several of them in one line, some in lines of their own. */
            uint64_t at = i < 8 ? 8 * i : 64 * i;
            conditions[i] = (struct dn_condition){me.llcm + at, i % 2 ? 4 : 8, DN_GE, round};
        }
        uint64_t chosen = live_random(&random, WORDS);
        uint64_t at = chosen < 8 ? 8 * chosen : 64 * chosen;
        live_barrier();
        live_sleep_ns(round % 10 == 0 ? 4 * LIVE_MS : 0);
        dn_store_u32(&kick, at, (uint32_t)round);
        size_t index = 77;
        expect(dn_wait_until_any(me.node, conditions, WORDS, LIVE_PATIENCE_NS, &index), 0);
        require_else(index == chosen, "word %zu was said to hold, not %llu", index,
                     (unsigned long long)chosen);
    }
    live_barrier();
}

/* ---- Sleepers -------------------------------------------------------------------
 *
 * Node 1 waits long enough to sleep in the kernel, node 0 sends the time. The kernel says whether
 * a sleeper was woken or its nap of 2 ms ended by itself; how long either takes says nothing on a
 * busy machine. So the calls by which the library sleeps come by here. */

/* This thread's last nap. */
static _Thread_local struct {
    uint64_t until_ns; /* it would end by itself then */
    bool was_woken;
} nap;

static void begin_nap(const struct timespec *timeout)
{
    nap.until_ns = live_now_ns();
    nap.until_ns += timeout ? (uint64_t)timeout->tv_sec * LIVE_SECOND + (uint64_t)timeout->tv_nsec
                            : LIVE_PATIENCE_NS;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(arguments, long);
    }
    va_end(arguments);
    if (!next) {
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    }
    /* In place a node sleeps on a word, by packets on a socket. */
    bool on_word = number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
    bool on_socket = number == SYS_ppoll;
    if ((on_word || on_socket) && !live_is_virtual()) {
        begin_nap((const struct timespec *)(on_word ? a[3] : a[2]));
    }
    long result = next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (on_word || on_socket) {
        nap.was_woken = on_word ? result == 0 : result > 0;
    }
    return result;
}

enum {
    WAKE_SAMPLES = 31,
    WAKE_LEAST = 5,         /* that found it asleep */
    WAKE_SAMPLES_MAX = 620, /* on a busy machine a sleeper mostly waits for its turn */
    WORD_AT = 0,
    BODY_AT = 1024,
    READY_AT = 2048,
};

#define FOUND_NS (LIVE_PATIENCE_NS / 2) /* a nap, and a machine that stands still for seconds */

typedef void (*wake_function)(int to);

static struct dn_kick wake_kick;

/* Stores, and then makes the wait that node 0 goes on to. */
static void wake_by_store_and_wait(int to)
{
    (void)to;
    dn_store_u64(&wake_kick, 0, live_now_ns());
}

/* Node 0's part: sends a message each time that node 1 is ready, until it says 0. */
static void wake_until_enough(wake_function wake)
{
    for (uint64_t sample = 1;; sample++) {
        live_wait_u64(READY_AT, DN_EQ, sample);
        if (!*live_u64(READY_AT + 64)) {
            return;
        }
        /* Into the longest naps, at any moment of one. */
        live_sleep_ns(6 * LIVE_MS + sample % WAKE_SAMPLES * 63 * LIVE_US);
        wake(1);
        if (wake != wake_by_store_and_wait) {
            /* The next wait would also wake it. */
            live_sleep_ns(3 * LIVE_MS);
        }
    }
}

static void be_ready(uint64_t sample, uint64_t more)
{
    *live_u64(WORD_AT) = 0;
    expect(dn_put_signal(me.node, live_place(0, READY_AT + 64), &more, 8, live_place(0, READY_AT),
                         sample),
           0);
}

/* Node 1's part: most of its waits that slept when the word was sent were woken. */
static void sleep_until_woken(bool must_be_woken)
{
    uint64_t sample = 0;
    int asleep = 0;
    int woken = 0;
    while (sample < WAKE_SAMPLES || (must_be_woken && asleep < WAKE_LEAST)) {
        require_else(sample < WAKE_SAMPLES_MAX, "asleep in %d of %llu waits", asleep,
                     (unsigned long long)sample);
        be_ready(++sample, 1);
        live_wait_u64(WORD_AT, DN_NE, 0);
        uint64_t sent_ns = *live_u64(WORD_AT);
        uint64_t took_ns = live_now_ns() - sent_ns;
        require_else(took_ns < FOUND_NS, "a sleeper needed %llu ms",
                     (unsigned long long)(took_ns / LIVE_MS));
        asleep += nap.was_woken || nap.until_ns > sent_ns;
        woken += nap.was_woken;
    }
    require_else(!must_be_woken || 2 * woken > asleep, "of %d sleepers %d were woken", asleep,
                 woken);
    be_ready(++sample, 0);
}

static void try_wake(wake_function wake, bool must_be_woken)
{
    must_be_woken = must_be_woken && !live_is_virtual(); /* there all naps are the simulator's */
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), WORD_AT), 64, &wake_kick), 0);
    if (me.rank == 0) {
        wake_until_enough(wake);
    } else {
        sleep_until_woken(must_be_woken);
    }
    expect(dn_kick_unmap(&wake_kick), 0);
}

static void wake_by_botf(int to)
{
    uint64_t now_ns = live_now_ns();
    expect(dn_botf(me.node, live_place(to, WORD_AT), &now_ns, 8), 0);
}

static void wake_by_put_signal(int to)
{
    uint64_t now_ns = live_now_ns();
    expect(dn_put_signal(me.node, live_place(to, BODY_AT), &now_ns, 8, live_place(to, WORD_AT),
                         now_ns),
           0);
}

static void wake_by_atomic(int to)
{
    uint64_t now_ns = live_now_ns();
    expect(dn_add_u64(me.node, live_place(to, WORD_AT), now_ns), 0);
}

static void wake_by_fetching_atomic(int to)
{
    uint64_t old;
    expect(dn_swap_u64(me.node, live_place(to, WORD_AT), live_now_ns(), &old), 0);
}

static void wake_by_push(int to)
{
    uint64_t now_ns = live_now_ns();
    struct dn_op op;
    expect(dn_push(me.node, live_place(to, WORD_AT), &now_ns, 8, &op), 0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
}

static void wake_by_store_and_fence(int to)
{
    (void)to;
    dn_store_u64(&wake_kick, 0, live_now_ns());
    expect(dn_fence(me.node), 0);
}

static void wake_by_store_and_quiet(int to)
{
    (void)to;
    dn_store_u64(&wake_kick, 0, live_now_ns());
    expect(dn_quiet(me.node), 0);
}

static void wake_by_store_alone(int to)
{
    (void)to;
    dn_store_u64(&wake_kick, 0, live_now_ns());
}

static void botf_wakes(void)
{
    try_wake(wake_by_botf, true);
}

static void put_signal_wakes(void)
{
    try_wake(wake_by_put_signal, true);
}

static void atomics_wake(void)
{
    try_wake(wake_by_atomic, true);
    live_barrier();
    memset(me.llcm, 0, 4096);
    live_barrier();
    try_wake(wake_by_fetching_atomic, true);
}

static void push_wakes(void)
{
    try_wake(wake_by_push, true);
}

/* Under DN_RELAX a store does not take effect at a fence, so only naps find it there. */
static void fence_wakes(void)
{
    try_wake(wake_by_store_and_fence, !live_is_relaxed());
}

static void quiet_wakes(void)
{
    try_wake(wake_by_store_and_quiet, true);
}

static void entering_a_wait_wakes(void)
{
    try_wake(wake_by_store_and_wait, !live_is_relaxed());
}

static void naps_find_a_plain_store(void)
{
    try_wake(wake_by_store_alone, false);
}

/* ---- Many threads ------------------------------------------------------------ */

enum { THREADS = 8, THREAD_ROUNDS = 40 };

struct waiter {
    pthread_t thread;
    uint64_t at;
    _Atomic uint64_t seen;
};

/* Waits for 1, 2, 3 ... in its word, by all forms of waiting in turn. */
static void *wait_for_numbers(void *argument)
{
    struct waiter *waiter = argument;
    const uint64_t *word = live_u64(waiter->at);
    for (uint64_t number = 1; number <= THREAD_ROUNDS; number++) {
        struct dn_condition conditions[] = {{live_u64(waiter->at + 32), 8, DN_EQ, UINT64_MAX},
                                            {word, 8, DN_GE, number}};
        size_t index = 1;
        int error;
        switch (number % 3) {
        case 0: error = dn_wait_until_u64(me.node, word, DN_GE, number, LIVE_PATIENCE_NS); break;
        case 1: error = dn_wait_until_u64(me.node, word, DN_EQ, number, DN_FOREVER); break;
        default: error = dn_wait_until_any(me.node, conditions, 2, LIVE_PATIENCE_NS, &index); break;
        }
        expect(error, 0);
        require(index == 1 && dn_load_u64(word) == number);
        atomic_store(&waiter->seen, number);
        expect(dn_add_u64(me.node, live_place(live_neighbour(-1), 4096), 1), 0);
    }
    return NULL;
}

/* Each thread has its own word at the next node; half of the words share a line. */
static void many_threads_wait_in_one_node(void)
{
    struct waiter waiters[THREADS];
    uint64_t random = me.seed + (uint64_t)me.rank;
    int to = live_neighbour(1);
    live_barrier();
    for (uint64_t i = 0; i < THREADS; i++) {
        waiters[i].at = i < THREADS / 2 ? 8 * i : 64 * i;
        atomic_store(&waiters[i].seen, 0);
        live_thread_start(&waiters[i].thread, wait_for_numbers, &waiters[i]);
    }
    for (uint64_t number = 1; number <= THREAD_ROUNDS; number++) {
        uint64_t first = live_random(&random, THREADS);
        live_sleep_ns(live_random(&random, 3) * LIVE_MS);
        for (uint64_t i = 0; i < THREADS; i++) {
            uint64_t at = waiters[(first + i) % THREADS].at;
            expect(
                dn_put_signal(me.node, live_place(to, 8192), NULL, 0, live_place(to, at), number),
                0);
        }
        /* All of the next node's threads have seen it. */
        live_wait_u64(4096, DN_GE, number * THREADS);
    }
    for (size_t i = 0; i < THREADS; i++) {
        live_thread_join(waiters[i].thread);
        require(atomic_load(&waiters[i].seen) == THREAD_ROUNDS);
    }
}

/* A thread that waits in vain does not keep the others from being woken, and has its own
 * time-out. */
static void *time_out_beside(void *argument)
{
    const uint64_t *word = argument;
    for (int i = 0; i < 10; i++) {
        uint64_t began_ns = live_now_ns();
        expect(dn_wait_until_u64(me.node, word, DN_NE, 0, 7 * LIVE_MS), DN_ETIMEOUT);
        require_in_time(began_ns, 7 * LIVE_MS);
    }
    return NULL;
}

static void threads_time_out_beside_others(void)
{
    pthread_t threads[3];
    for (size_t i = 0; i < LIVE_COUNT(threads); i++) {
        live_thread_start(&threads[i], time_out_beside, live_u64(1024 + 64 * i));
    }
    for (uint64_t number = 1; number <= 20; number++) {
        uint64_t old;
        live_sleep_ns(2 * LIVE_MS);
        expect(dn_fetch_add_u64(me.node, live_place(live_neighbour(1), 0), 1, &old), 0);
        live_wait_u64(0, DN_GE, number);
    }
    for (size_t i = 0; i < LIVE_COUNT(threads); i++) {
        live_thread_join(threads[i]);
    }
}

/* ---- Threads on lanes of their own ------------------------------------------- */

enum { HAMMERS = 4, HAMMER_ROUNDS = 150, HAMMER_BYTES = 1024 };

struct hammer {
    pthread_t thread;
    uint64_t number;
};

/* Everything at once on a private lane: messages to the same thread of the next node. */
static void *hammer(void *argument)
{
    struct hammer *own = argument;
    struct dn_node *lane;
    uint64_t base = 16384 + own->number * HAMMER_BYTES;
    int to = live_neighbour(1);
    uint64_t body[32];
    struct dn_kick kick;
    expect(dn_lane_open(me.node, &lane), 0);
    expect(dn_kick_map(lane, live_place(live_neighbour(-1), base + 768), 8, &kick), 0);
    for (uint64_t round = 1; round <= HAMMER_ROUNDS; round++) {
        uint64_t old;
        uint32_t area;
        struct dn_op op;
        live_fill(body, sizeof body, round);
        expect(dn_fetch_add_u64(lane, live_place(0, 0), 1, &old), 0);
        expect(dn_add_u64(lane, live_place(0, 64), round), 0);
        expect(dn_put_signal(lane, live_place(to, base), body, sizeof body,
                             live_place(to, base + 512), round),
               0);
        expect(dn_wait_until_u64(lane, live_u64(base + 512), DN_EQ, round, LIVE_PATIENCE_NS), 0);
        require(live_first_other(me.llcm + base, sizeof body, round) == sizeof body);
        expect(dn_pull(lane, live_place(me.rank, base), body, sizeof body, &op), 0);
        expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
        require(live_first_other(body, sizeof body, round) == sizeof body);
        expect(dn_register(lane, me.llcm + base, 64, &area), 0);
        expect(dn_read_u64(lane, live_at(me.rank, area, 0), &old), 0);
        require(old == body[0]);
        expect(dn_deregister(lane, area), 0);
        dn_store_u64(&kick, 0, round);
        expect(dn_wait_until_u64(lane, live_u64(base + 768), DN_EQ, round, LIVE_PATIENCE_NS), 0);
        if (round % 50 == 0) {
            expect(dn_kick_unmap(&kick), 0);
            expect(dn_lane_close(lane), 0);
            expect(dn_lane_open(me.node, &lane), 0);
            expect(dn_kick_map(lane, live_place(live_neighbour(-1), base + 768), 8, &kick), 0);
        }
    }
    expect(dn_lane_close(lane), 0);
    return NULL;
}

static void threads_hammer_their_lanes(void)
{
    struct hammer hammers[HAMMERS];
    for (uint64_t i = 0; i < HAMMERS; i++) {
        hammers[i].number = i;
        live_thread_start(&hammers[i].thread, hammer, &hammers[i]);
    }
    for (size_t i = 0; i < HAMMERS; i++) {
        live_thread_join(hammers[i].thread);
    }
    live_barrier();
    if (me.rank == 0) {
        uint64_t count = (uint64_t)me.size * HAMMERS;
        require(*live_u64(0) == count * HAMMER_ROUNDS);
        require(*live_u64(64) == count * HAMMER_ROUNDS * (HAMMER_ROUNDS + 1) / 2);
    }
}

/* Threads on one lane have no order, but everything arrives. */
static void *send_on_the_common_lane(void *argument)
{
    uint64_t *numbers = argument;
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t at = 4096 + 8 * (numbers[0] * 300 + i);
        numbers[1 + i] = live_mix(at);
        if (i % 2) {
            expect(dn_push(me.node, live_place(live_neighbour(1), at), &numbers[1 + i], 8, NULL),
                   0);
        } else {
            expect(dn_botf(me.node, live_place(live_neighbour(1), at), &numbers[1 + i], 8), 0);
        }
        expect(dn_add_u64(me.node, live_place(live_neighbour(1), 0), 1), 0);
    }
    return NULL;
}

static void threads_share_a_lane(void)
{
    static uint64_t numbers[HAMMERS][301];
    pthread_t threads[HAMMERS];
    for (uint64_t i = 0; i < HAMMERS; i++) {
        numbers[i][0] = i;
        live_thread_start(&threads[i], send_on_the_common_lane, numbers[i]);
    }
    for (size_t i = 0; i < HAMMERS; i++) {
        live_thread_join(threads[i]);
    }
    live_barrier();
    require(*live_u64(0) == HAMMERS * 300);
    for (uint64_t i = 0; i < HAMMERS * 300; i++) {
        require(*live_u64(4096 + 8 * i) == live_mix(4096 + 8 * i));
    }
}

/* ---- More nodes than cores --------------------------------------------------- */

static void token_goes_round(void)
{
    struct dn_kick kick;
    expect(dn_kick_map(me.node, live_place(live_neighbour(1), 0), 8, &kick), 0);
    for (uint64_t round = 1; round <= 200; round++) {
        if (me.rank == 0) {
            dn_store_u64(&kick, 0, round);
            live_wait_u64(0, DN_EQ, round);
        } else {
            live_wait_u64(0, DN_EQ, round);
            dn_store_u64(&kick, 0, round);
        }
    }
}

/* All wait for the slowest node; each node is that in turn. */
static void all_wait_for_one(void)
{
    for (uint64_t round = 1; round <= 16; round++) {
        int slow = (int)(round % (uint64_t)me.size);
        if (me.rank == slow) {
            live_sleep_ns(6 * LIVE_MS);
            for (int rank = 0; rank < me.size; rank++) {
                expect(dn_botf(me.node, live_place(rank, 0), &round, 8), 0);
            }
        }
        expect(dn_wait_until_u64(me.node, live_u64(0), DN_EQ, round, DN_FOREVER), 0);
        live_barrier();
    }
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, comparisons),
    LIVE_CHECK(1, changes_end_waits),
    LIVE_CHECK(1, timeouts_are_not_early),
    LIVE_CHECK(1, signals_do_not_end_waits),
    LIVE_CHECK(1, any_of_several),
    LIVE_CHECK_UP_TO(2, 2, botf_wakes),
    LIVE_CHECK_UP_TO(2, 2, put_signal_wakes),
    LIVE_CHECK_UP_TO(2, 2, atomics_wake),
    LIVE_CHECK_UP_TO(2, 2, push_wakes),
    LIVE_CHECK_UP_TO(2, 2, fence_wakes),
    LIVE_CHECK_UP_TO(2, 2, quiet_wakes),
    LIVE_CHECK_UP_TO(2, 2, entering_a_wait_wakes),
    LIVE_CHECK_UP_TO(2, 2, naps_find_a_plain_store),
    LIVE_CHECK(1, many_threads_wait_in_one_node),
    LIVE_CHECK(1, threads_time_out_beside_others),
    LIVE_CHECK(1, threads_hammer_their_lanes),
    LIVE_CHECK(1, threads_share_a_lane),
    LIVE_CHECK(1, token_goes_round),
    LIVE_CHECK(1, all_wait_for_one),
};

int main(int argc, char **argv)
{
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
