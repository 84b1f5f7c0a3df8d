/* Streams of stores, and blocks of all sizes beside memcpy. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/perf_node.h"

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
    struct stream stream;
    bool works = world->rank == 0;
    int error = perf_map_line(world, 1, STREAM_OFFSET, STREAM_BYTES, &stream.kick);
    if (error) {
        return error;
    }
    stream.words = dn_kick_pointer(&stream.kick);
    static const struct {
        const char *detail;
        const char *bar;
        perf_block block;
    } ways[] = {{"through the pointer", ">= 0.95", pointer_stream},
                {"through dn_store", ">= 0.5", store_stream}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !error; i++) {
        struct perf_row row = {.test = "rate",
                               .detail = ways[i].detail,
                               .limit = "raw store stream",
                               .bar = ways[i].bar,
                               .nodes = 2,
                               .bytes = 8};
        struct perf_pair pair = {works ? raw_stream : perf_nothing,
                                 works ? ways[i].block : perf_nothing, &stream, 0};
        error = perf_measure(world->node, &pair, &row.figure);
        if (!error && works) {
            perf_report_rate(world->json, &row);
        }
    }
    return error;
}

/* ---- botf, push, pull: between this node's bank and the next one's --------- */

struct copy {
    struct dn_node *node;
    struct dn_remote remote;
    unsigned char *theirs; /* the remote place, raw */
    unsigned char *mine;
    size_t bytes;
};

/* Hides from the compiler what memcpy is given, so that no call is merged. */
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

static int measure_sizes(struct perf_world *world, const char *test, perf_block raw,
                         perf_block ours)
{
    static const size_t sizes[] = {464, 4096, 65536, 1 << 20, 64 << 20};
    size_t bank_bytes;
    bool works = world->rank == 0;
    int error = 0;
    struct copy copy = {.node = world->node, .remote = {1, DN_BANK, 0}};
    copy.mine = dn_bank(world->node, &bank_bytes);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        struct perf_row row = {.test = test,
                               .limit = "memcpy, same memories",
                               .bar = sizes[i] < 4096 ? "" : ">= 0.9",
                               .nodes = 2,
                               .bytes = sizes[i]};
        struct dn_kick kick;
        struct perf_pair pair = {works ? raw : perf_nothing, works ? ours : perf_nothing, &copy,
                                 sizes[i] > (1 << 20) ? 1 : 0};
        error = dn_kick_map(world->node, copy.remote, sizes[i], &kick);
        if (!error) {
            copy.theirs = dn_kick_pointer(&kick);
            copy.bytes = sizes[i];
            error = copy.theirs ? perf_measure(world->node, &pair, &row.figure) : DN_EGROUP;
        }
        if (!error && works) {
            perf_report_bandwidth(world->json, &row);
        }
    }
    return error;
}

int perf_botf(struct perf_world *world)
{
    return measure_sizes(world, "botf", raw_write, our_botf);
}

int perf_push(struct perf_world *world)
{
    return measure_sizes(world, "push", raw_write, our_push);
}

int perf_pull(struct perf_world *world)
{
    return measure_sizes(world, "pull", raw_read, our_pull);
}
