/* The node's side of `dimmnet perf`: what each process of the measured group runs. */
#ifndef CLI_PERF_PERF_NODE_H
#define CLI_PERF_PERF_NODE_H

#include <stdatomic.h>

#include "cli/perf/perf_report.h"

/* The environment that the parent gives its nodes: the format, "json" or "table", and
 * the pipes of the token test, "read0,write0,read1,...". */
#define PERF_ENV_FORMAT "DIMMNET_PERF_FORMAT"
#define PERF_ENV_PIPES "DIMMNET_PERF_PIPES"

/* A measured group, as one of its nodes sees it. */
struct perf_world {
    struct dn_node *node;
    int rank;
    int size;
    bool json;
    uint32_t packet_bytes; /* by packets: the most in one; 0: in place */
    char fabric[16];       /* by packets only */
    char protection[16];   /* the same */
};

typedef int (*perf_test)(struct perf_world *world);

/* Stores and waiting: latency.c. */
int perf_aotf(struct perf_world *world);
int perf_barrier(struct perf_world *world);
int perf_token(struct perf_world *world);
int perf_atomic(struct perf_world *world);
int perf_idle(struct perf_world *world);

/* Streams and blocks: bandwidth.c. */
int perf_rate(struct perf_world *world);
int perf_botf(struct perf_world *world);
int perf_push(struct perf_world *world);
int perf_pull(struct perf_world *world);

/* Messages: message.c. */
int perf_sendrecv(struct perf_world *world);

/* Locks: lock.c; reductions: reduce.c. */
int perf_lock(struct perf_world *world);
int perf_reduce(struct perf_world *world);

/* A raw barrier to compare with. If each node has a core: flags on the same lines as the
 * library's own words; else a central counter whose waiters always yield. */
struct perf_gathering {
    struct dn_node *node;
    int rank;
    int size;
    bool has_core;
    uint32_t phase;
    uint32_t *flags[64];
    _Atomic uint32_t *count;  /* the central counter, in rank 0's LLCM */
    _Atomic uint32_t *passed; /* phases completed, on a line of its own */
    perf_block raw;           /* with the gathering as its context */
    const char *limit;
};

int perf_gather(struct perf_world *world, struct perf_gathering *gathering);

/* `dimmnet perf-node TEST`, which people never call. */
int cli_perf_node(int argc, char **argv);

/* A block that does nothing, for nodes that only look on. */
void perf_nothing(void *context, uint64_t count);

/* Maps a kick onto a line of a peer's LLCM. An error if the kick has no plain pointer (DN_RELAX):
 * then there is no raw figure to compare with. */
int perf_map_line(struct perf_world *world, int rank, uint64_t offset, size_t bytes,
                  struct dn_kick *kick);

#endif
