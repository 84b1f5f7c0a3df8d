/* What the tests by packets share: two nodes, and beside the fabric a raw socket of each,
 * between the same processes on the same cores. */
#ifndef CLI_PERF_PACKETS_H
#define CLI_PERF_PACKETS_H

#include "cli/perf/perf_node.h"
#include "cli/perf/raw_udp.h"

#define PERF_PACKETS_WAIT_NS UINT64_C(10000000000) /* what takes longer has gone wrong */

struct perf_packets {
    const struct perf_world *world;
    struct dn_node *node;
    struct raw_udp raw;
    bool starts; /* rank 0, which keeps the time */
    int peer;
    struct dn_kick kick; /* onto the peer's word */
    uint64_t *word;      /* the peer stores here */
    uint64_t turn;       /* what the word holds next, on both nodes */
    int error;           /* the first; after it blocks return at once */
    double apart_ns;     /* of the operations to be measured next, as in perf_shape */
};

/* Both ends meet. DN_E..., and it has said what cannot be told by a code. */
int perf_packets_open(struct perf_world *world, struct perf_packets *link);
void perf_packets_close(struct perf_packets *link);

/* Keeps the first error; whether all is well. */
bool perf_packets_note(struct perf_packets *link, int error);

/* One end stores the next turn in the other's word, the other waits for it. */
void perf_packets_tell(struct perf_packets *link);
void perf_packets_await(struct perf_packets *link);

/* A block's last store goes out now: nobody drives this end's NIC while the raw block runs. */
void perf_packets_flush(struct perf_packets *link);

/* Blocks of raw round trips, and of raw datagrams of 8 bytes one way; their context is a
 * struct perf_packets, or starts with one. */
void perf_packets_raw_trips(void *context, uint64_t count);
void perf_packets_raw_datagrams(void *context, uint64_t count);

/* perf_measure with blocks of a millisecond (count 0), or of count operations. The raw end's
 * fault is an error, too. */
int perf_packets_measure(struct perf_packets *link, perf_block raw, perf_block ours, void *context,
                         uint64_t count, struct perf_figure *figure);

/* A row that has what all of them share. */
struct perf_row perf_packets_row(const struct perf_packets *link, const char *test,
                                 const char *detail, uint64_t bytes);

/* ---- The tests ------------------------------------------------------------------------ */

/* packets.c */
int perf_packets_aotf(struct perf_world *world);
int perf_packets_atomic(struct perf_world *world);
int perf_packets_barrier(struct perf_world *world);
int perf_packets_reduce(struct perf_world *world);
int perf_packets_idle(struct perf_world *world);

/* packets_stream.c */
int perf_packets_rate(struct perf_world *world);
int perf_packets_botf(struct perf_world *world);
int perf_packets_push(struct perf_world *world);
int perf_packets_pull(struct perf_world *world);

/* packets_service.c */
int perf_packets_sendrecv(struct perf_world *world);
int perf_packets_lock(struct perf_world *world);

#endif
