/* The node's side of `dimmnet perf`: what each process of the measured group runs. */
#ifndef CLI_PERF_PERF_NODE_H
#define CLI_PERF_PERF_NODE_H

#include <stdatomic.h>

#include "base/base.h"
#include "cli/perf/perf_report.h"

/* The environment that the parent gives its nodes: the format, "json" or "table", and
 * the pipes of the token test, "read0,write0,read1,...". */
#define PERF_ENV_FORMAT "DIMMNET_PERF_FORMAT"
#define PERF_ENV_PIPES "DIMMNET_PERF_PIPES"

/* Where the measured words lie in each node's LLCM. */
enum { PERF_WORD_OFFSET = 0, PERF_COUNTER_OFFSET = 4096 };

struct perf_packets;

enum { PERF_COUNTS_MAX = 4 };

struct perf_entry {
    const char *name;
    const char *help;
    uint32_t counts[PERF_COUNTS_MAX]; /* nodes of the groups to start; 0 ends the list */
    bool any_count;                   /* -n may change them */
    /* A test for each road between nodes; by packets it is for 2 of them. NULL: it makes no sense
     * there. Both NULL: the parent itself measures. */
    int (*in_place)(struct perf_world *world);
    int (*by_packets)(struct perf_packets *link);
};

/* All tests; one without a name ends them. */
extern const struct perf_entry perf_entries[];

/* NULL: there is no such test. */
const struct perf_entry *perf_find_entry(const char *name);

/* Measures a row on all nodes of the group at once; see perf_measure. */
int perf_measure_row(const struct perf_world *world, const struct perf_row *row, void *context,
                     struct perf_figure *figure);

/* Measures rows one after the other; rank 0 prints each. */
int perf_run(const struct perf_world *world, const struct perf_row *rows, size_t count,
             void *context);

/* Stores and waiting: measure_latency.c. */
int perf_aotf(struct perf_world *world);
int perf_barrier(struct perf_world *world);
int perf_token(struct perf_world *world);
int perf_atomic(struct perf_world *world);
int perf_idle(struct perf_world *world);

/* Streams and blocks: measure_bandwidth.c. */
int perf_rate(struct perf_world *world);
int perf_botf(struct perf_world *world);
int perf_push(struct perf_world *world);
int perf_pull(struct perf_world *world);

/* Messages: measure_message.c. */
int perf_sendrecv(struct perf_world *world);

/* Locks: measure_lock.c; reductions: measure_reduce.c. */
int perf_lock(struct perf_world *world);
int perf_reduce(struct perf_world *world);

/* ---- What several tests share --------------------------------------------------------- */

/* The word at PERF_WORD_OFFSET in this node's own LLCM. */
uint64_t *perf_own_word(const struct perf_world *world);

static inline void perf_raw_wait(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        cpu_relax_briefly();
    }
}

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

/* The CPU time of this process, to see what share of a core it uses from now on. */
struct perf_usage {
    double cpu_seconds;
    uint64_t start_ns;
};

struct perf_usage perf_usage_now(void);
double perf_usage_share(const struct perf_usage *since);

/* Maps a kick onto a line of a peer's LLCM. An error if the kick has no plain pointer (DN_RELAX):
 * then there is no raw figure to compare with. */
int perf_map_line(struct perf_world *world, int rank, uint64_t offset, size_t bytes,
                  struct dn_kick *kick);

/* `dimmnet perf-node TEST`, which people never call. */
int cli_perf_node(int argc, char **argv);

#endif
