/* Messages: round trips, a stream, and a megabyte. */
#include <stdlib.h>
#include <string.h>

#include "cli/perf/perf_node.h"

enum {
    CHANNEL = 1,
    RING_OFFSET = 8192, /* of the raw ring, in node 1's LLCM: tail, head, words */
    RING_WORDS = 8192,
    LARGE_BYTES = 1 << 20,
    WINDOW_BYTES = 64 << 20, /* large data takes turns here, so that no cache holds it */
};

struct exchange {
    struct dn_context *context;
    bool starts;
    int peer;
    /* The raw ping-pong. */
    uint64_t *theirs;
    uint64_t *mine;
    uint64_t value;
    /* The raw ring: a word holds its own position. */
    uint64_t *ring_tail;
    uint64_t *ring_head;
    uint64_t *ring_words;
    uint64_t ring_position;
    uint64_t other_end; /* the other side's word, as last read */
    /* A megabyte. */
    unsigned char *from;
    unsigned char *reachable; /* the raw copy's source: node 0's bank */
    unsigned char *to;
    uint64_t turn; /* which part of the window is next */
    uint64_t sum;  /* keeps the results alive */
    int error;
};

static void note(struct exchange *exchange, int error)
{
    exchange->error = exchange->error ? exchange->error : error;
}

/* ---- 8 bytes there and back -------------------------------------------------- */

static void raw_round_trips(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++exchange->value;
        if (exchange->starts) {
            __atomic_store_n(exchange->theirs, value, __ATOMIC_RELEASE);
            perf_raw_wait(exchange->mine, value);
        } else {
            perf_raw_wait(exchange->mine, value);
            __atomic_store_n(exchange->theirs, value, __ATOMIC_RELEASE);
        }
    }
}

static void our_send(struct exchange *exchange, const void *data, size_t bytes)
{
    note(exchange, dn_send(exchange->context, exchange->peer, data, bytes, DN_FOREVER));
}

static void our_receive(struct exchange *exchange, void *buffer, size_t bytes)
{
    note(exchange,
         dn_recv(exchange->context, exchange->peer, buffer, bytes, DN_FOREVER, NULL, NULL));
}

static void our_round_trips(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    uint64_t value = 0;
    for (uint64_t i = 0; i < count && !exchange->error; i++) {
        if (exchange->starts) {
            our_send(exchange, &value, sizeof value);
            our_receive(exchange, &value, sizeof value);
        } else {
            our_receive(exchange, &value, sizeof value);
            our_send(exchange, &value, sizeof value);
        }
    }
}

/* ---- a stream of 8-byte messages ----------------------------------------------- */

/* The plainest ring that works: each side publishes its word with every message and
 * reads the other's only when it must. */
static void raw_put(struct exchange *exchange, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t position = exchange->ring_position++;
        while (position - exchange->other_end >= RING_WORDS) {
            exchange->other_end = __atomic_load_n(exchange->ring_head, __ATOMIC_ACQUIRE);
        }
        __atomic_store_n(&exchange->ring_words[position % RING_WORDS], position, __ATOMIC_RELAXED);
        __atomic_store_n(exchange->ring_tail, position + 1, __ATOMIC_RELEASE);
    }
}

static void raw_take(struct exchange *exchange, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t position = exchange->ring_position++;
        while (position == exchange->other_end) {
            exchange->other_end = __atomic_load_n(exchange->ring_tail, __ATOMIC_ACQUIRE);
        }
        exchange->sum += __atomic_load_n(&exchange->ring_words[position % RING_WORDS],
                                         __ATOMIC_RELAXED);
        __atomic_store_n(exchange->ring_head, position + 1, __ATOMIC_RELEASE);
    }
}

/* Both streams end with a word back, so that the block's time includes the receiver's. */
static void raw_stream(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    uint64_t value = ++exchange->value;
    if (exchange->starts) {
        raw_put(exchange, count);
        perf_raw_wait(exchange->mine, value);
    } else {
        raw_take(exchange, count);
        __atomic_store_n(exchange->theirs, value, __ATOMIC_RELEASE);
    }
}

static void our_stream(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    uint64_t value = 0;
    for (uint64_t i = 0; i < count && !exchange->error; i++) {
        if (exchange->starts) {
            our_send(exchange, &i, sizeof i);
        } else {
            our_receive(exchange, &value, sizeof value);
        }
    }
    if (exchange->starts) {
        our_receive(exchange, &value, sizeof value);
    } else {
        our_send(exchange, &value, sizeof value);
    }
}

/* ---- a megabyte ------------------------------------------------------------------ */

static uint64_t next_part(struct exchange *exchange)
{
    return exchange->turn++ * LARGE_BYTES % WINDOW_BYTES;
}

/* The receiver itself copies the sender's memory: the best that any library can do. One
 * word at the end of a block tells that all has arrived. */
static void raw_large(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    uint64_t value = ++exchange->value;
    if (exchange->starts) {
        __atomic_store_n(exchange->theirs, value, __ATOMIC_RELEASE);
        perf_raw_wait(exchange->mine, value);
        return;
    }
    perf_raw_wait(exchange->mine, value);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t part = next_part(exchange);
        memcpy(exchange->to + part, exchange->reachable + part, LARGE_BYTES);
    }
    __atomic_store_n(exchange->theirs, value, __ATOMIC_RELEASE);
}

static void our_large(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    uint64_t value = 0;
    for (uint64_t i = 0; i < count && !exchange->error; i++) {
        if (exchange->starts) {
            our_send(exchange, exchange->from + next_part(exchange), LARGE_BYTES);
        } else {
            our_receive(exchange, exchange->to + next_part(exchange), LARGE_BYTES);
        }
    }
    if (exchange->starts) {
        our_receive(exchange, &value, sizeof value);
    } else {
        our_send(exchange, &value, sizeof value);
    }
}

/* ---- the rows ---------------------------------------------------------------------- */

static int check(void *context, struct perf_row *row)
{
    const struct exchange *exchange = context;
    (void)row;
    return exchange->error;
}

static int measure_large(struct perf_world *world, struct exchange *exchange)
{
    unsigned char *anywhere = malloc(WINDOW_BYTES);
    int error = anywhere ? 0 : DN_ENOMEM;
    for (int reachable = 1; reachable >= 0 && !error; reachable--) {
        struct perf_row row = {.detail = reachable ? "from library memory" : "from any memory",
                               .limit = "memcpy by the receiver",
                               .bar = reachable ? ">= 0.9" : ">= 0.6",
                               .kind = PERF_BANDWIDTH,
                               .bytes = LARGE_BYTES,
                               .raw = raw_large,
                               .ours = our_large,
                               .count = 4,
                               .check = check};
        exchange->from = reachable ? dn_bank(world->node, NULL) : anywhere;
        exchange->to = exchange->from;
        memset(exchange->from, 1, WINDOW_BYTES);
        error = perf_run(world, &row, 1, exchange);
    }
    free(anywhere);
    return error;
}

int perf_sendrecv(struct perf_world *world)
{
    static const struct perf_row rows[] = {
        {"round trip", "raw store ping-pong", "<= 1.4", PERF_TIME, "rtt_ns", 8, raw_round_trips,
         .ours = our_round_trips, .check = check},
        {"messages per second", "raw single-producer ring", ">= 0.25", PERF_RATE, NULL, 8,
         raw_stream, .ours = our_stream, .check = check},
    };
    struct exchange exchange = {.starts = world->rank == 0, .peer = 1 - world->rank};
    struct dn_kick word;
    struct dn_kick ring;
    struct dn_kick block;
    int error = perf_map_line(world, exchange.peer, PERF_WORD_OFFSET, sizeof(uint64_t), &word);
    error = error ? error
                  : perf_map_line(world, 1, RING_OFFSET,
                                  2 * CACHE_LINE_BYTES + RING_WORDS * sizeof(uint64_t), &ring);
    error = error
                ? error
                : dn_kick_map(world->node, (struct dn_remote){0, DN_BANK, 0}, WINDOW_BYTES, &block);
    error = error ? error
                  : dn_context_open(world->node, CHANNEL, &exchange.peer, 1, &exchange.peer, 1,
                                    NULL, &exchange.context);
    if (error) {
        return error;
    }
    unsigned char *lines = dn_kick_pointer(&ring);
    exchange.theirs = dn_kick_pointer(&word);
    exchange.mine = perf_own_word(world);
    exchange.ring_tail = (uint64_t *)(void *)lines;
    exchange.ring_head = (uint64_t *)(void *)(lines + CACHE_LINE_BYTES);
    exchange.ring_words = (uint64_t *)(void *)(lines + 2 * CACHE_LINE_BYTES);
    exchange.reachable = dn_kick_pointer(&block);
    error = perf_run(world, rows, sizeof rows / sizeof rows[0], &exchange);
    error = error ? error : measure_large(world, &exchange);
    return error ? error : dn_context_close(exchange.context);
}
