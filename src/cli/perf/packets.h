/* What the tests by packets share: two nodes, joined by the fabric and, between the same
 * processes on the same cores, by raw sockets. */
#ifndef CLI_PERF_PACKETS_H
#define CLI_PERF_PACKETS_H

#include "cli/perf/perf_node.h"
#include "cli/perf/raw_udp.h"

#define PERF_PACKETS_WAIT_NS UINT64_C(10000000000) /* a longer wait means that it failed */

struct perf_packets {
    const struct perf_world *world;
    struct dn_node *node;
    struct raw_udp raw;
    bool starts; /* rank 0, which keeps the time */
    int peer;
    struct dn_kick kick; /* onto the peer's word */
    uint64_t *word;      /* the peer stores here */
    uint64_t turn;       /* what the word holds next, on both nodes */
    int error;           /* the first one; blocks then return at once */

    struct raw_udp_stream stream; /* of perf_packets_raw_stream, */
    uint64_t stream_bytes;        /* and the bytes of one operation there */
};

/* Both ends meet; raw_udp_close after success. Returns DN_E..., after printing what a code cannot
 * tell. */
int perf_packets_open(struct perf_world *world, struct perf_packets *link);

/* Keeps the first error. Returns whether all is well. */
bool perf_packets_note(struct perf_packets *link, int error);

/* One end stores the next turn in the other's word; the other end waits for it. */
void perf_packets_tell(struct perf_packets *link);
void perf_packets_await(struct perf_packets *link);

/* Sends a block's last store now, since nobody drives this end's NIC while the raw block runs. */
void perf_packets_flush(struct perf_packets *link);

/* Blocks of raw round trips, of raw 8-byte datagrams one way, and of a raw stream; their context is
 * a struct perf_packets, or starts with one. */
void perf_packets_raw_trips(void *context, uint64_t count);
void perf_packets_raw_datagrams(void *context, uint64_t count);
void perf_packets_raw_stream(void *context, uint64_t count);

/* A row's check: the first error of the blocks, or a fault of the raw end. */
int perf_packets_check(void *context, struct perf_row *row);

/* Measures a row and prints it. The blocks' context is the link, or a struct that starts with one.
 * A row that names no limit is compared with raw round trips; one without a check gets
 * perf_packets_check. */
int perf_packets_run(struct perf_packets *link, struct perf_row row);

/* Does so with several rows. */
int perf_packets_run_all(struct perf_packets *link, const struct perf_row *rows, size_t count);

/* ---- The tests ------------------------------------------------------------------------ */

/* Blocks that need more than the link get a struct that starts with a copy of it. */

/* packets.c */
int perf_packets_aotf(struct perf_packets *link);
int perf_packets_atomic(struct perf_packets *link);
int perf_packets_barrier(struct perf_packets *link);
int perf_packets_reduce(struct perf_packets *link);
int perf_packets_idle(struct perf_packets *link);

/* packets_stream.c */
int perf_packets_rate(struct perf_packets *link);
int perf_packets_botf(struct perf_packets *link);
int perf_packets_push(struct perf_packets *link);
int perf_packets_pull(struct perf_packets *link);

/* packets_service.c */
int perf_packets_sendrecv(struct perf_packets *link);
int perf_packets_lock(struct perf_packets *link);

#endif
