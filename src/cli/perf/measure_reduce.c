/* Reductions: one word beside a raw barrier, large ones beside memcpy. */
#include <string.h>

#include "cli/perf/perf_node.h"

struct reduction {
    struct perf_gathering gathering; /* first: the raw barrier's context */
    struct dn_team *team;
    double *source;
    double *result;
    size_t count;
};

static void our_reduce(void *context, uint64_t count)
{
    struct reduction *reduction = context;
    for (uint64_t i = 0; i < count; i++) {
        (void)dn_allreduce(reduction->team, reduction->source, reduction->result, reduction->count,
                           DN_DOUBLE, DN_SUM);
    }
}

/* The least that every node must move: its own result. */
static void raw_copy(void *context, uint64_t count)
{
    struct reduction *reduction = context;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(reduction->result, reduction->source, reduction->count * sizeof(double));
        __asm__ __volatile__("" ::"r"(reduction->result) : "memory");
    }
}

int perf_reduce(struct perf_world *world)
{
    enum { LARGEST = 1 << 20, LARGE_NODES_MAX = 4 };
    struct reduction reduction = {.count = 1, .team = dn_team_all(world->node)};
    void *memory;
    int error = perf_gather(world, &reduction.gathering);
    error = error ? error : dn_alloc(world->node, (size_t)2 * LARGEST, &memory);
    if (error) {
        return error;
    }
    memset(memory, 0, (size_t)2 * LARGEST);
    reduction.source = memory;
    reduction.result = reduction.source + LARGEST / sizeof(double);
    struct perf_row row = {.detail = "one double",
                           .limit = reduction.gathering.limit,
                           .bar = reduction.gathering.has_core ? "<= 1.25" : "<= 1.4",
                           .json_name = "reduce_ns",
                           .bytes = sizeof(double),
                           .raw = reduction.gathering.raw,
                           .ours = our_reduce};
    error = perf_run(world, &row, 1, &reduction);
    row.detail = "doubles";
    row.limit = "memcpy of as much";
    row.bar = NULL;
    row.raw = raw_copy;
    for (row.bytes = 64 * 1024; row.bytes <= LARGEST && world->size <= LARGE_NODES_MAX && !error;
         row.bytes *= 16) {
        reduction.count = row.bytes / sizeof(double);
        error = perf_run(world, &row, 1, &reduction);
    }
    return error ? error : dn_free(world->node, memory);
}
