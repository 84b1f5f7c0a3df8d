/* Round trips, atomics, barriers, tokens, idling. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/perf/perf_node.h"
#include "team/team.h"

/* ---- aotf: an 8-byte round trip ---------------------------------------- */

/* Two words that take turns: each node stores in another's, and waits on its own. */
struct pingpong {
    struct dn_node *node;
    struct dn_kick kick; /* onto the other node's word */
    uint64_t *theirs;    /* the same place, raw */
    uint64_t *mine;
    uint64_t value; /* grows with every round trip, raw or ours */
    bool starts;
};

static int open_pingpong(struct perf_world *world, int peer, struct pingpong *game)
{
    *game = (struct pingpong){.node = world->node, .starts = world->rank == 0};
    int error = perf_map_line(world, peer, PERF_WORD_OFFSET, sizeof(uint64_t), &game->kick);
    if (!error) {
        game->theirs = dn_kick_pointer(&game->kick);
        game->mine = perf_own_word(world);
    }
    return error;
}

static void raw_pingpong(void *context, uint64_t count)
{
    struct pingpong *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (game->starts) {
            __atomic_store_n(game->theirs, value, __ATOMIC_RELEASE);
            perf_raw_wait(game->mine, value);
        } else {
            perf_raw_wait(game->mine, value);
            __atomic_store_n(game->theirs, value, __ATOMIC_RELEASE);
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
    static const struct perf_row rows[] = {
        {"polled by dn_load", "raw store ping-pong", "<= 1.05", PERF_TIME, "rtt_ns", 8,
         raw_pingpong, .ours = polling_pingpong},
        {"dn_wait_until", "raw store ping-pong", "<= 1.1", PERF_TIME, "rtt_ns", 8, raw_pingpong,
         .ours = waiting_pingpong},
    };
    struct pingpong game;
    int error = open_pingpong(world, 1 - world->rank, &game);
    return error ? error : perf_run(world, rows, sizeof rows / sizeof rows[0], &game);
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
    static const struct perf_row rows[] = {
        {"fetch-add", "lock xadd, same line", "<= 1.5", PERF_TIME, "op_ns", 8, raw_fetch_add,
         our_fetch_add, .rank_0_only = true},
        {"compare-swap", "lock cmpxchg, same line", "<= 1.5", PERF_TIME, "op_ns", 8,
         raw_compare_swap, our_compare_swap, .rank_0_only = true},
    };
    struct dn_kick kick;
    int error = perf_map_line(world, 1, PERF_COUNTER_OFFSET, sizeof(uint64_t), &kick);
    if (error) {
        return error;
    }
    struct counter counter = {
        world->node, {1, DN_LLCM, PERF_COUNTER_OFFSET}, dn_kick_pointer(&kick), 0};
    return perf_run(world, rows, sizeof rows / sizeof rows[0], &counter);
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
    int error = perf_map_line(world, 0, PERF_COUNTER_OFFSET, 2 * CACHE_LINE_BYTES, &kick);
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
    struct perf_row row = {.limit = gathering.limit,
                           .bar = gathering.has_core ? "<= 1.15" : "<= 1.4",
                           .json_name = "barrier_ns",
                           .raw = gathering.raw,
                           .ours = our_barrier};
    return perf_run(world, &row, 1, &gathering);
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
    static const struct perf_row row = {.detail = "per hop",
                                        .limit = "the same by pipes",
                                        .bar = ">= 4",
                                        .kind = PERF_SPEEDUP,
                                        .json_name = "hop_ns",
                                        .bytes = 8,
                                        .raw = pipe_token,
                                        .ours = our_token,
                                        .count = 5};
    struct ring ring = {.failed = false};
    struct perf_figure figure;
    if (!find_pipes(world, &ring)) {
        return DN_EINVAL;
    }
    int error = open_pingpong(world, (world->rank + 1) % world->size, &ring.words);
    error = error ? error : perf_measure_row(world, &row, &ring, &figure);
    if (ring.failed) {
        return DN_ESYSTEM;
    }
    if (!error && world->rank == 0) {
        figure.ours_ns /= world->size;
        figure.p99_ns /= world->size;
        figure.raw_ns /= world->size;
        perf_report_row(world, &row, &figure);
    }
    return error;
}

/* ---- idle: a node that waits for seconds ---------------------------------- */

int perf_idle(struct perf_world *world)
{
    static const struct perf_row row = {
        .detail = "waits for 3 s", .limit = "one core", .bar = "<= 0.02"};
    struct dn_remote flag = {1, DN_LLCM, PERF_WORD_OFFSET};
    struct dn_remote answer = {0, DN_LLCM, PERF_WORD_OFFSET};
    uint64_t *mine = perf_own_word(world);
    int error = dn_barrier(dn_team_all(world->node), DN_FOREVER);
    if (error) {
        return error;
    }
    if (world->rank == 1) {
        struct perf_usage before = perf_usage_now();
        error = dn_wait_until_u64(world->node, mine, DN_NE, 0, DN_FOREVER);
        uint64_t parts_per_million = (uint64_t)(perf_usage_share(&before) * 1e6) + 1;
        return error ? error
                     : dn_put_signal(world->node, answer, NULL, 0, answer, parts_per_million);
    }
    struct timespec seconds = {.tv_sec = 3};
    (void)nanosleep(&seconds, NULL);
    error = dn_put_signal(world->node, flag, NULL, 0, flag, 1);
    error = error ? error : dn_wait_until_u64(world->node, mine, DN_NE, 0, DN_FOREVER);
    if (!error) {
        perf_report_share(world, &row, (double)(*mine - 1) * 1e-4);
    }
    return error;
}
