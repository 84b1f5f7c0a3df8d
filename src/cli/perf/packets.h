/* What the tests of the udp fabric share: two nodes, and beside the fabric a raw socket of
 * each, between the same processes on the same cores. */
#ifndef CLI_PERF_UDP_H
#define CLI_PERF_UDP_H

#include "cli/perf/node.h"
#include "cli/perf/raw_udp.h"

#define PERF_UDP_WAIT_NS UINT64_C(10000000000) /* what takes longer has gone wrong */

struct perf_udp {
    struct dn_node *node;
    const struct udp_roster *roster;
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
int perf_udp_open(struct perf_world *world, struct perf_udp *link);
void perf_udp_close(struct perf_udp *link);

/* Keeps the first error; whether all is well. */
bool perf_udp_note(struct perf_udp *link, int error);

/* One end stores the next turn in the other's word, the other waits for it. */
void perf_udp_tell(struct perf_udp *link);
void perf_udp_await(struct perf_udp *link);

/* A block's last store goes out now: nobody drives this end's NIC while the raw block runs. */
void perf_udp_flush(struct perf_udp *link);

/* Blocks of raw round trips, and of raw datagrams of 8 bytes one way; their context is a
 * struct perf_udp, or starts with one. */
void perf_udp_raw_trips(void *context, uint64_t count);
void perf_udp_raw_datagrams(void *context, uint64_t count);

/* perf_measure with blocks of a millisecond (count 0), or of count operations. The raw end's
 * fault is an error, too. */
int perf_udp_measure(struct perf_udp *link, perf_block raw, perf_block ours, void *context,
                     uint64_t count, struct perf_figure *figure);

/* A row that has what all of them share. */
struct perf_row perf_udp_row(const struct perf_udp *link, const char *test, const char *detail,
                             uint64_t bytes);

/* ---- The tests ------------------------------------------------------------------------ */

/* perf_udp.c */
int perf_udp_aotf(struct perf_world *world);
int perf_udp_atomic(struct perf_world *world);
int perf_udp_barrier(struct perf_world *world);
int perf_udp_reduce(struct perf_world *world);
int perf_udp_idle(struct perf_world *world);

/* perf_udp_stream.c */
int perf_udp_rate(struct perf_world *world);
int perf_udp_botf(struct perf_world *world);
int perf_udp_push(struct perf_world *world);
int perf_udp_pull(struct perf_world *world);

/* perf_udp_service.c */
int perf_udp_sendrecv(struct perf_world *world);
int perf_udp_lock(struct perf_world *world);

#endif
