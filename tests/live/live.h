/* What every live test program starts with.
 *
 * A program is a table of checks that all nodes of a group run together, one after the
 * other; node 0 says "ok NAME" once all of them have come through one. A check that
 * fails says "FAIL NAME: ..." and ends its node, and with it the group. `PROGRAM --list N`
 * names the checks that N nodes run, so that the script also notices when one
 * never came to an end. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dimmnet.h"

#define LIVE_US UINT64_C(1000)
#define LIVE_MS UINT64_C(1000000)
#define LIVE_SECOND UINT64_C(1000000000)

/* Longer than anything that works takes, even on a loaded machine. */
#define LIVE_PATIENCE_NS (60 * LIVE_SECOND)

/* "At once", even on a machine that stands still for a second or two. If the library did not do it
 * at once, silence or a time-out would, but only after 10 s at least. */
#define LIVE_SOON_NS (5 * LIVE_SECOND)

struct live_check {
    const char *name;
    int nodes_min;
    void (*run)(void);
    int nodes_max; /* 0: any number */
};

/* A line of the table: a function's name is its check's. */
#define LIVE_CHECK(least, function)                              \
    {                                                            \
        .name = #function, .nodes_min = (least), .run = function \
    }
#define LIVE_CHECK_UP_TO(least, most, function)                                       \
    {                                                                                 \
        .name = #function, .nodes_min = (least), .run = function, .nodes_max = (most) \
    }

/* This process. Set once, before the first check. */
static struct {
    struct dn_node *node;
    int rank;
    int size;
    unsigned char *llcm;
    size_t llcm_bytes;
    unsigned char *bank;
    size_t bank_bytes;
    const char *check; /* the one that runs now */
    uint64_t seed;     /* the same on all nodes */
} me = {.check = "start"};

/* ---- Failing ----------------------------------------------------------------- */

__attribute__((format(printf, 3, 4), noreturn, cold)) static inline void live_fail(
    const char *file, int line, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    const char *slash = strrchr(file, '/');
    (void)dprintf(STDOUT_FILENO, "FAIL %s: node %d of %d, %s:%d: %s (seed %llu)\n", me.check,
                  me.rank, me.size, slash ? slash + 1 : file, line, sentence,
                  (unsigned long long)me.seed);
    _exit(1);
}

#define require(condition)                                           \
    do {                                                             \
        if (!(condition)) {                                          \
            live_fail(__FILE__, __LINE__, "not so: %s", #condition); \
        }                                                            \
    } while (0)

/* The same with a sentence of its own. */
#define require_else(condition, ...)                    \
    do {                                                \
        if (!(condition)) {                             \
            live_fail(__FILE__, __LINE__, __VA_ARGS__); \
        }                                               \
    } while (0)

static inline void live_expect(const char *file, int line, const char *call, int error, int wanted)
{
    if (error != wanted) {
        live_fail(file, line, "%s gave %s, not %s", call, dn_errname(error), dn_errname(wanted));
    }
}

/* A call that must return exactly this. */
#define expect(call, wanted) live_expect(__FILE__, __LINE__, #call, (call), (wanted))

/* ---- Small tools ------------------------------------------------------------- */

/* The library's own clock, where time is virtual; NULL elsewhere, and before the node attaches. */
extern uint64_t (*host_fabric_clock)(void);

/* Whether the nodes are those of a simulated machine, where time passes in calls only. */
static inline bool live_is_virtual(void)
{
    return getenv("DIMMNET_SEAT_FD") != NULL;
}

static inline uint64_t live_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * LIVE_SECOND + (uint64_t)now.tv_nsec;
}

/* The library's time, where that is another one. */
static inline uint64_t live_now_ns(void)
{
    return host_fabric_clock ? host_fabric_clock() : live_real_ns();
}

static inline void live_sleep_ns(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / LIVE_SECOND),
                            .tv_nsec = (long)(ns % LIVE_SECOND)};
    if (host_fabric_clock) {
        uint64_t until_ns = live_now_ns() + ns;
        while (live_now_ns() < until_ns) {
        }
        return;
    }
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

/* Scatters a number: for a generator's step, and for a pattern's word at an index. */
static inline uint64_t live_mix(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static inline uint64_t live_random(uint64_t *state, uint64_t below)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return live_mix(*state) % below;
}

static inline struct dn_remote live_at(int rank, uint32_t area, uint64_t offset)
{
    return (struct dn_remote){.rank = rank, .area = area, .offset = offset};
}

/* A place in a node's LLCM, and the word at it in this node's own. */
static inline struct dn_remote live_place(int rank, uint64_t offset)
{
    return live_at(rank, DN_LLCM, offset);
}

static inline uint64_t *live_u64(uint64_t offset)
{
    return (uint64_t *)(void *)(me.llcm + offset);
}

static inline uint32_t *live_u32(uint64_t offset)
{
    return (uint32_t *)(void *)(me.llcm + offset);
}

/* Whether DN_RELAX does everything that the memory model leaves open the other way. */
static inline bool live_is_relaxed(void)
{
    const char *relaxed = getenv("DN_RELAX");
    return relaxed && strcmp(relaxed, "1") == 0;
}

/* Whether packets carry the stores: the nodes share no memory. */
static inline bool live_shares_nothing(void)
{
    return getenv("DIMMNET_ROSTER_FD") != NULL || live_is_virtual();
}

/* The flags of this run's message contexts, which only packets have a use for. */
static inline uint32_t live_context_flags(void)
{
    const char *flags = getenv("DN_TEST_CONTEXT_FLAGS");
    return flags ? (uint32_t)strtoul(flags, NULL, 10) : 0;
}

/* Whether packets carry what is sent to peers; a group of one has none. */
static inline bool live_is_by_packets(void)
{
    return live_shares_nothing() && me.size > 1;
}

/* The node some steps further round the ring. */
static inline int live_neighbour(int steps)
{
    return ((me.rank + steps) % me.size + me.size) % me.size;
}

/* Bytes that tell their place and their owner. */
static inline void live_fill(void *target, size_t bytes, uint64_t seed)
{
    unsigned char *to = target;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = live_mix(seed + i);
        memcpy(to + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

/* The first byte that live_fill with this seed did not put there, or `bytes`. */
static inline size_t live_first_other(const void *found, size_t bytes, uint64_t seed)
{
    const unsigned char *from = found;
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = live_mix(seed + i);
        if (memcmp(from + i, &word, bytes - i < 8 ? bytes - i : 8) != 0) {
            while (from[i] == (unsigned char)(word >> i % 8 * 8)) {
                i++;
            }
            return i;
        }
    }
    return bytes;
}

static inline bool live_all_are(const void *found, size_t bytes, unsigned char value)
{
    const unsigned char *from = found;
    return bytes == 0 || (from[0] == value && memcmp(from, from + 1, bytes - 1) == 0);
}

static inline void live_barrier(void)
{
    expect(dn_barrier(dn_team_all(me.node), LIVE_PATIENCE_NS), 0);
}

static inline void live_wait_u64(uint64_t offset, enum dn_comparison comparison, uint64_t value)
{
    expect(dn_wait_until_u64(me.node, live_u64(offset), comparison, value, LIVE_PATIENCE_NS), 0);
}

static inline enum dn_life live_life_of(int rank)
{
    enum dn_life life;
    expect(dn_peer_life(me.node, rank, &life), 0);
    return life;
}

static inline void live_wait_for_life(int rank, enum dn_life wanted)
{
    uint64_t deadline_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (live_life_of(rank) != wanted) {
        require_else(live_now_ns() < deadline_ns, "node %d is %d, not %d", rank,
                     (int)live_life_of(rank), (int)wanted);
        live_sleep_ns(100 * LIVE_US);
    }
}

static inline void live_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    require(pthread_create(thread, NULL, run, argument) == 0);
}

static inline void live_thread_join(pthread_t thread)
{
    require(pthread_join(thread, NULL) == 0);
}

/* ---- Dying ------------------------------------------------------------------- */

static inline void *live_die_then(void *ns)
{
    live_sleep_ns((uint64_t)(uintptr_t)ns);
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

/* This node dies after that time, less than a second, whatever it does then. Where time is virtual
 * that takes a thread: the kernel's timers know nothing of it. */
static inline void live_die_in(uint64_t ns)
{
    struct itimerspec when = {.it_value.tv_nsec = (long)ns};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    timer_t timer;
    if (host_fabric_clock) {
        pthread_t thread;
        live_thread_start(&thread, live_die_then, (void *)(uintptr_t)ns);
        return;
    }
    require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    require(timer_settime(timer, 0, &when, NULL) == 0);
}

/* ---- Running the checks ------------------------------------------------------ */

static inline void live_attach(void)
{
    const char *seed = getenv("DN_TEST_SEED");
    me.seed = seed ? strtoull(seed, NULL, 10) : 1;
    expect(dn_attach(&me.node, NULL), 0);
    me.rank = dn_rank(me.node);
    me.size = dn_size(me.node);
    me.llcm = dn_llcm(me.node, &me.llcm_bytes);
    me.bank = dn_bank(me.node, &me.bank_bytes);
    require(me.llcm && me.bank);
}

static inline void live_say_ok(void)
{
    if (me.rank == 0) {
        (void)dprintf(STDOUT_FILENO, "ok %s\n", me.check);
    }
}

/* Every check finds an LLCM of zeros, and nothing from the one before is under way. */
static inline void live_run(const struct live_check *check)
{
    me.check = check->name;
    live_barrier();
    memset(me.llcm, 0, me.llcm_bytes);
    live_barrier();
    check->run();
    live_barrier();
    live_say_ok();
}

static inline bool live_applies(const struct live_check *check, int nodes)
{
    return nodes >= check->nodes_min && (check->nodes_max == 0 || nodes <= check->nodes_max);
}

/* Whether the command line asks for the names, which are then printed. */
static inline bool live_list(int argc, char **argv, const struct live_check *checks, size_t count)
{
    if (argc < 3 || strcmp(argv[1], "--list") != 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (live_applies(&checks[i], atoi(argv[2]))) {
            puts(checks[i].name);
        }
    }
    return true;
}

/* All checks, or the one that the command line names. */
static inline void live_run_all(int argc, char **argv, const struct live_check *checks,
                                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (live_applies(&checks[i], me.size) &&
            (argc < 2 || strcmp(argv[1], checks[i].name) == 0)) {
            live_run(&checks[i]);
        }
    }
}

static inline void live_detach(void)
{
    me.check = "end";
    expect(dn_detach(me.node), 0);
}

static inline int live_main(int argc, char **argv, const struct live_check *checks, size_t count)
{
    if (!live_list(argc, argv, checks, count)) {
        live_attach();
        live_run_all(argc, argv, checks, count);
        live_detach();
    }
    return 0;
}

#define LIVE_COUNT(array) (sizeof(array) / sizeof(array)[0])

#endif
