/* Streams of stores, and blocks of all sizes beside memcpy. */
#include <stdlib.h>
#include <string.h>

#include "cli/perf/perf_node.h"

/* ---- rate: 8-byte stores per second --------------------------------------- */

enum { STREAM_OFFSET = 8192, STREAM_BYTES = 4096 };

struct stream {
    struct dn_kick kick;
    uint64_t *words;
};

/* A store that the compiler may neither join with its neighbours nor leave out. */
static void raw_stream(void *context, uint64_t count)
{
    struct stream *stream = context;
    uint64_t *words = stream->words;
    for (uint64_t i = 0; i < count; i++) {
        __atomic_store_n(&words[i % (STREAM_BYTES / 8)], i, __ATOMIC_RELEASE);
    }
}

static void pointer_stream(void *context, uint64_t count)
{
    struct stream *stream = context;
    uint64_t *words = dn_kick_pointer(&stream->kick);
    for (uint64_t i = 0; i < count; i++) {
        __atomic_store_n(&words[i % (STREAM_BYTES / 8)], i, __ATOMIC_RELEASE);
    }
}

static void store_stream(void *context, uint64_t count)
{
    struct stream *stream = context;
    for (uint64_t i = 0; i < count; i++) {
        dn_store_u64(&stream->kick, i % (STREAM_BYTES / 8) * 8, i);
    }
}

int perf_rate(struct perf_world *world)
{
    static const struct perf_row rows[] = {
        {"through the pointer", "raw store stream", ">= 0.95", PERF_RATE, NULL, 8, raw_stream,
         pointer_stream, .rank_0_only = true},
        {"through dn_store", "raw store stream", ">= 0.5", PERF_RATE, NULL, 8, raw_stream,
         store_stream, .rank_0_only = true},
    };
    struct stream stream;
    int error = perf_map_line(world, 1, STREAM_OFFSET, STREAM_BYTES, &stream.kick);
    if (error) {
        return error;
    }
    stream.words = dn_kick_pointer(&stream.kick);
    return perf_run(world, rows, sizeof rows / sizeof rows[0], &stream);
}

/* ---- botf, push, pull: between this node's bank and the next node's -------- */

struct copy {
    struct dn_node *node;
    struct dn_remote remote;
    unsigned char *theirs; /* the remote place, raw */
    unsigned char *mine;
    size_t bytes;
};

/* Hides memcpy's arguments from the compiler, so that it merges no calls. */
#define KEEP(pointer) __asm__ __volatile__("" : "+r"(pointer) : : "memory")

static void raw_write(void *context, uint64_t count)
{
    struct copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        unsigned char *target = copy->theirs;
        KEEP(target);
        memcpy(target, copy->mine, copy->bytes);
    }
}

static void raw_read(void *context, uint64_t count)
{
    struct copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        unsigned char *target = copy->mine;
        KEEP(target);
        memcpy(target, copy->theirs, copy->bytes);
    }
}

static void our_botf(void *context, uint64_t count)
{
    struct copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        (void)dn_botf(copy->node, copy->remote, copy->mine, copy->bytes);
    }
}

static void our_push(void *context, uint64_t count)
{
    struct copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        struct dn_op op;
        (void)dn_push(copy->node, copy->remote, copy->mine, copy->bytes, &op);
        (void)dn_op_wait(&op, DN_FOREVER);
    }
}

static void our_pull(void *context, uint64_t count)
{
    struct copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        struct dn_op op;
        (void)dn_pull(copy->node, copy->remote, copy->mine, copy->bytes, &op);
        (void)dn_op_wait(&op, DN_FOREVER);
    }
}

static int measure_size(struct perf_world *world, struct perf_row row, struct copy *copy,
                        size_t bytes)
{
    struct dn_kick kick;
    row.kind = PERF_BANDWIDTH;
    row.limit = "memcpy, same memories";
    row.bar = bytes < 4096 ? "" : row.bar;
    row.bytes = bytes;
    row.count = bytes > (1 << 20) ? 1 : 0;
    row.rank_0_only = true;
    int error = dn_kick_map(world->node, copy->remote, bytes, &kick);
    if (error) {
        return error;
    }
    copy->theirs = dn_kick_pointer(&kick);
    copy->bytes = bytes;
    error = copy->theirs ? perf_run(world, &row, 1, copy) : DN_EGROUP;
    int unmap_error = dn_kick_unmap(&kick);
    return error ? error : unmap_error;
}

static const size_t block_sizes[] = {464, 4096, 65536, 1 << 20, 64 << 20};

enum { BLOCK_SIZES = sizeof block_sizes / sizeof block_sizes[0], FIRST_LARGE_SIZE = 2 };

static int measure_banks(struct perf_world *world, perf_block raw, perf_block ours)
{
    const struct perf_row row = {.bar = ">= 0.9", .raw = raw, .ours = ours};
    struct copy copy = {.node = world->node, .remote = {1, DN_BANK, 0}};
    copy.mine = dn_bank(world->node, NULL);
    int error = 0;
    for (int i = 0; i < BLOCK_SIZES && !error; i++) {
        error = measure_size(world, row, &copy, block_sizes[i]);
    }
    return error;
}

/* Registers rank 1's private memory as an area and tells all nodes. */
static int share_area(struct perf_world *world, void *memory, size_t bytes, uint32_t *area)
{
    int error = world->rank == 1 ? dn_register(world->node, memory, bytes, area) : 0;
    int told_error = dn_broadcast(dn_team_all(world->node), area, sizeof *area, 1);
    return error ? error : told_error;
}

/* The same from one process's private memory into the other's, which is registered; only for
 * sizes that are large enough to be worth it. */
static int measure_registered(struct perf_world *world, perf_block raw, perf_block ours)
{
    const struct perf_row row = {
        .detail = "registered memory", .bar = ">= 0.8", .raw = raw, .ours = ours};
    size_t bytes = block_sizes[BLOCK_SIZES - 1];
    uint32_t area = 0;
    void *memory = aligned_alloc(4096, bytes);
    if (!memory) {
        return DN_ENOMEM;
    }
    memset(memory, 1, bytes);
    int error = share_area(world, memory, bytes, &area);
    struct copy copy = {.node = world->node, .remote = {1, area, 0}, .mine = memory};
    for (int i = FIRST_LARGE_SIZE; i < BLOCK_SIZES && !error; i++) {
        error = measure_size(world, row, &copy, block_sizes[i]);
    }
    error = error ? error
                  : dn_barrier(dn_team_all(world->node), DN_FOREVER); /* all copies are done */
    if (!error && world->rank == 1) {
        error = dn_deregister(world->node, area);
    }
    /* After an error a peer may still write there; the process ends anyway. */
    if (!error) {
        free(memory);
    }
    return error;
}

int perf_botf(struct perf_world *world)
{
    return measure_banks(world, raw_write, our_botf);
}

int perf_push(struct perf_world *world)
{
    int error = measure_banks(world, raw_write, our_push);
    return error ? error : measure_registered(world, raw_write, our_push);
}

int perf_pull(struct perf_world *world)
{
    int error = measure_banks(world, raw_read, our_pull);
    return error ? error : measure_registered(world, raw_read, our_pull);
}
