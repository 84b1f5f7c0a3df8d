/* Round trips, atomics, barriers, tokens, idling. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/perf/perf_node.h"
#include "host/clock.h"
#include "team/team.h"

/* Where the measured words lie in each node's LLCM. */
enum { WORD_OFFSET = 0, COUNTER_OFFSET = 4096 };

static void raw_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void raw_wait(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        cpu_relax_briefly();
    }
}

/* ---- aotf: an 8-byte round trip ---------------------------------------- */

struct pingpong {
    struct dn_node *node;
    struct dn_kick kick; /* onto the other node's word */
    uint64_t *theirs;    /* the same place, raw */
    uint64_t *mine;
    uint64_t value; /* grows with every round trip, raw or ours */
    bool starts;
};

static void raw_pingpong(void *context, uint64_t count)
{
    struct pingpong *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (game->starts) {
            raw_store(game->theirs, value);
            raw_wait(game->mine, value);
        } else {
            raw_wait(game->mine, value);
            raw_store(game->theirs, value);
        }
    }
}

static void our_poll(const uint64_t *word, uint64_t value)
{
    while (dn_load_u64(word) != value) {
        cpu_relax_briefly();
    }
}

static void polling_pingpong(void *context, uint64_t count)
{
    struct pingpong *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (game->starts) {
            dn_store_u64(&game->kick, 0, value);
            our_poll(game->mine, value);
        } else {
            our_poll(game->mine, value);
            dn_store_u64(&game->kick, 0, value);
        }
    }
}

static void waiting_pingpong(void *context, uint64_t count)
{
    struct pingpong *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (game->starts) {
            dn_store_u64(&game->kick, 0, value);
            (void)dn_wait_until_u64(game->node, game->mine, DN_EQ, value, DN_FOREVER);
        } else {
            (void)dn_wait_until_u64(game->node, game->mine, DN_EQ, value, DN_FOREVER);
            dn_store_u64(&game->kick, 0, value);
        }
    }
}

int perf_aotf(struct perf_world *world)
{
    struct pingpong game = {.node = world->node, .starts = world->rank == 0};
    int error = perf_map_line(world, 1 - world->rank, WORD_OFFSET, sizeof(uint64_t), &game.kick);
    if (error) {
        return error;
    }
    game.theirs = dn_kick_pointer(&game.kick);
    game.mine = (uint64_t *)((unsigned char *)dn_llcm(world->node, NULL) + WORD_OFFSET);
    static const struct {
        const char *detail;
        const char *bar;
        perf_block block;
    } ways[] = {{"polled by dn_load", "<= 1.05", polling_pingpong},
                {"dn_wait_until", "<= 1.1", waiting_pingpong}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !error; i++) {
        struct perf_row row = {.test = "aotf",
                               .detail = ways[i].detail,
                               .limit = "raw store ping-pong",
                               .bar = ways[i].bar,
                               .nodes = 2,
                               .bytes = 8};
        struct perf_pair pair = {raw_pingpong, ways[i].block, &game, 0};
        error = perf_measure(world->node, &pair, &row.figure);
        if (!error && world->rank == 0) {
            perf_report_time(world->json, &row, "rtt_ns");
        }
    }
    return error;
}

/* ---- atomic: on a word of the other node, nobody contending -------------- */

struct counter {
    struct dn_node *node;
    struct dn_remote remote;
    uint64_t *word;
    uint64_t sum; /* keeps the results alive */
};

static void raw_fetch_add(void *context, uint64_t count)
{
    struct counter *counter = context;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        sum += __atomic_fetch_add(counter->word, 1, __ATOMIC_SEQ_CST);
    }
    counter->sum += sum;
}

static void our_fetch_add(void *context, uint64_t count)
{
    struct counter *counter = context;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t old;
        (void)dn_fetch_add_u64(counter->node, counter->remote, 1, &old);
        sum += old;
    }
    counter->sum += sum;
}

static void raw_compare_swap(void *context, uint64_t count)
{
    struct counter *counter = context;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t expected = i;
        (void)__atomic_compare_exchange_n(counter->word, &expected, i + 1, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST);
        sum += expected;
    }
    counter->sum += sum;
}

static void our_compare_swap(void *context, uint64_t count)
{
    struct counter *counter = context;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t old;
        (void)dn_compare_swap_u64(counter->node, counter->remote, i, i + 1, &old);
        sum += old;
    }
    counter->sum += sum;
}

int perf_atomic(struct perf_world *world)
{
    struct dn_kick kick;
    int error = perf_map_line(world, 1, COUNTER_OFFSET, sizeof(uint64_t), &kick);
    if (error) {
        return error;
    }
    struct counter counter = {world->node, {1, DN_LLCM, COUNTER_OFFSET}, dn_kick_pointer(&kick), 0};
    bool works = world->rank == 0;
    static const struct {
        const char *detail;
        const char *limit;
        perf_block raw;
        perf_block ours;
    } ways[] = {{"fetch-add", "lock xadd, same line", raw_fetch_add, our_fetch_add},
                {"compare-swap", "lock cmpxchg, same line", raw_compare_swap, our_compare_swap}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !error; i++) {
        struct perf_row row = {.test = "atomic",
                               .detail = ways[i].detail,
                               .limit = ways[i].limit,
                               .bar = "<= 1.5",
                               .nodes = 2,
                               .bytes = 8};
        struct perf_pair pair = {works ? ways[i].raw : perf_nothing,
                                 works ? ways[i].ours : perf_nothing, &counter, 0};
        error = perf_measure(world->node, &pair, &row.figure);
        if (!error && works) {
            perf_report_time(world->json, &row, "op_ns");
        }
    }
    return error;
}

/* ---- barrier ------------------------------------------------------------ */

/* With a core for each node: release stores to every node's flag. */
static void raw_flag_barrier(void *context, uint64_t count)
{
    struct perf_gathering *gathering = context;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t phase = ++gathering->phase;
        __atomic_store_n(gathering->flags[gathering->rank], phase, __ATOMIC_RELEASE);
        for (int rank = 0; rank < gathering->size; rank++) {
            while ((int32_t)(__atomic_load_n(gathering->flags[rank], __ATOMIC_ACQUIRE) - phase) <
                   0) {
                cpu_relax_briefly();
            }
        }
    }
}

/* With fewer cores: a central counter whose waiters always yield. */
static void raw_yielding_barrier(void *context, uint64_t count)
{
    struct perf_gathering *gathering = context;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t phase = ++gathering->phase;
        if (atomic_fetch_add(gathering->count, 1) + 1 == (uint32_t)gathering->size) {
            atomic_store_explicit(gathering->count, 0, memory_order_relaxed);
            atomic_store_explicit(gathering->passed, phase, memory_order_release);
        } else {
            while (atomic_load_explicit(gathering->passed, memory_order_acquire) != phase) {
                sched_yield();
            }
        }
    }
}

static void our_barrier(void *context, uint64_t count)
{
    struct perf_gathering *gathering = context;
    struct dn_team *all = dn_team_all(gathering->node);
    for (uint64_t i = 0; i < count; i++) {
        (void)dn_barrier(all, DN_FOREVER);
    }
}

int perf_gather(struct perf_world *world, struct perf_gathering *made)
{
    struct perf_gathering gathering = {
        .node = world->node, .rank = world->rank, .size = world->size};
    struct dn_kick kick;
    int error = perf_map_line(world, 0, COUNTER_OFFSET, 2 * CACHE_LINE_BYTES, &kick);
    if (error) {
        return error;
    }
    unsigned char *lines = dn_kick_pointer(&kick);
    gathering.count = (_Atomic uint32_t *)(void *)lines;
    gathering.passed = (_Atomic uint32_t *)(void *)(lines + CACHE_LINE_BYTES);
    bool flags = world->size <= 64 && team_all_line(0) != NULL;
    for (int rank = 0; rank < world->size && flags; rank++) {
        unsigned char *line = team_all_line((uint32_t)rank);
        gathering.flags[rank] = (uint32_t *)(void *)(line + CACHE_LINE_BYTES - 8);
    }
    gathering.has_core = flags;
    gathering.raw = flags ? raw_flag_barrier : raw_yielding_barrier;
    gathering.limit = flags ? "raw flag barrier, same lines" : "raw always-yielding barrier";
    *made = gathering;
    return 0;
}

int perf_barrier(struct perf_world *world)
{
    struct perf_gathering gathering;
    int error = perf_gather(world, &gathering);
    if (error) {
        return error;
    }
    struct perf_row row = {.test = "barrier",
                           .limit = gathering.limit,
                           .bar = gathering.has_core ? "<= 1.15" : "<= 1.4",
                           .nodes = world->size};
    struct perf_pair pair = {gathering.raw, our_barrier, &gathering, 0};
    error = perf_measure(world->node, &pair, &row.figure);
    if (!error && world->rank == 0) {
        perf_report_time(world->json, &row, "barrier_ns");
    }
    return error;
}

/* ---- token: passed round, per hop --------------------------------------- */

struct ring {
    struct pingpong words; /* kick onto the next node's word */
    int read_fd;
    int write_fd;
    bool failed;
};

static void pipe_token(void *context, uint64_t count)
{
    struct ring *ring = context;
    char token = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (ring->words.starts && write(ring->write_fd, &token, 1) != 1) {
            ring->failed = true;
        }
        if (read(ring->read_fd, &token, 1) != 1) {
            ring->failed = true;
        }
        if (!ring->words.starts && write(ring->write_fd, &token, 1) != 1) {
            ring->failed = true;
        }
    }
}

static void our_token(void *context, uint64_t count)
{
    struct ring *ring = context;
    waiting_pingpong(&ring->words, count);
}

/* Before it started the nodes, the parent made a pipe for each: node i reads from pipe i
 * and writes into the next node's. */
static bool find_pipes(struct perf_world *world, struct ring *ring)
{
    const char *at = getenv(PERF_ENV_PIPES);
    for (int i = 0; at && i < world->size; i++) {
        char *end;
        int read_fd = (int)strtol(at, &end, 10);
        int write_fd = *end == ',' ? (int)strtol(end + 1, &end, 10) : -1;
        at = *end == ',' ? end + 1 : end;
        if (i == world->rank) {
            ring->read_fd = read_fd;
        }
        if (i == (world->rank + 1) % world->size) {
            ring->write_fd = write_fd;
        }
    }
    return at && ring->read_fd > 0 && ring->write_fd > 0;
}

int perf_token(struct perf_world *world)
{
    struct ring ring = {.words = {.node = world->node, .starts = world->rank == 0}};
    if (!find_pipes(world, &ring)) {
        return DN_EINVAL;
    }
    int next = (world->rank + 1) % world->size;
    int error = perf_map_line(world, next, WORD_OFFSET, sizeof(uint64_t), &ring.words.kick);
    if (error) {
        return error;
    }
    ring.words.mine = (uint64_t *)((unsigned char *)dn_llcm(world->node, NULL) + WORD_OFFSET);
    struct perf_row row = {.test = "token",
                           .detail = "per hop",
                           .limit = "the same by pipes",
                           .bar = ">= 4",
                           .nodes = world->size,
                           .bytes = 8};
    struct perf_pair pair = {pipe_token, our_token, &ring, 5};
    error = perf_measure(world->node, &pair, &row.figure);
    if (ring.failed) {
        return DN_ESYSTEM;
    }
    if (!error && world->rank == 0) {
        row.figure.ours_ns /= world->size;
        row.figure.p99_ns /= world->size;
        row.figure.raw_ns /= world->size;
        perf_report_speedup(world->json, &row, "hop_ns");
    }
    return error;
}

/* ---- idle: a node that waits for seconds ---------------------------------- */

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int perf_idle(struct perf_world *world)
{
    struct dn_remote flag = {1, DN_LLCM, WORD_OFFSET};
    struct dn_remote answer = {0, DN_LLCM, WORD_OFFSET};
    uint64_t *mine = (uint64_t *)((unsigned char *)dn_llcm(world->node, NULL) + WORD_OFFSET);
    int error = dn_barrier(dn_team_all(world->node), DN_FOREVER);
    if (error) {
        return error;
    }
    if (world->rank == 1) {
        double cpu_before = cpu_seconds();
        uint64_t start_ns = host_now_ns();
        error = dn_wait_until_u64(world->node, mine, DN_NE, 0, DN_FOREVER);
        double share = (cpu_seconds() - cpu_before) / ((double)(host_now_ns() - start_ns) * 1e-9);
        uint64_t parts_per_million = (uint64_t)(share * 1e6) + 1;
        return error ? error
                     : dn_put_signal(world->node, answer, NULL, 0, answer, parts_per_million);
    }
    struct timespec seconds = {.tv_sec = 3};
    (void)nanosleep(&seconds, NULL);
    error = dn_put_signal(world->node, flag, NULL, 0, flag, 1);
    error = error ? error : dn_wait_until_u64(world->node, mine, DN_NE, 0, DN_FOREVER);
    if (!error) {
        struct perf_row row = {.test = "idle",
                               .detail = "waits for 3 s",
                               .limit = "one core",
                               .bar = "<= 0.02",
                               .nodes = 2};
        perf_report_share(world->json, &row, (double)(*mine - 1) * 1e-4);
    }
    return error;
}
