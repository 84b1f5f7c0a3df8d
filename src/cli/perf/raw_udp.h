/* Raw UDP between two processes, as fast as sockets go: the physical limit beside which fabrics
 * that go by packets are measured. Both ends spin. They check only that all has arrived and
 * repair nothing: the receiver acknowledges often enough that no buffer overruns, and any loss is
 * a fault, after which all calls return at once.
 *
 * Both ends call their functions in step, with equal numbers. */
#ifndef CLI_PERF_RAW_UDP_H
#define CLI_PERF_RAW_UDP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    RAW_UDP_BURST_BYTES = 65507, /* the most that one call can send or receive */
    RAW_UDP_BURST_SEGMENTS = 64, /* the most datagrams in it that every kernel takes */
};

struct raw_udp {
    int fd;
    struct sockaddr_in peer;
    unsigned char *room; /* RAW_UDP_BURST_BYTES: where received data lands */
    uint64_t turn;       /* of single datagrams; grows with each that goes one way */
    uint64_t sent;       /* of streams, in bytes since the beginning */
    uint64_t received;
    uint64_t acknowledged; /* of `sent` by the peer, or of `received` by this end */
    uint64_t patience_ns;  /* if nothing arrives for so long, it is a fault */
    bool failed;
};

/* The memory that a stream is sent from and copied to, used round and round. */
struct raw_udp_stream {
    uint32_t segment_bytes; /* of each datagram: 1 .. RAW_UDP_BURST_BYTES */
    uint64_t place_bytes;
    const unsigned char *source;
    unsigned char *target; /* NULL: the data stays where the kernel put it */
};

/* Opens a socket on the loopback, with large buffers and GRO; *bound is its address, which
 * the other end takes as its `peer`. DN_ESYSTEM and errno, DN_ENOMEM. */
int raw_udp_open(struct raw_udp *end, struct sockaddr_in *bound);
void raw_udp_close(struct raw_udp *end);

/* 8 bytes one way: one end sends a turn, the other waits for it. */
void raw_udp_send_turn(struct raw_udp *end);
void raw_udp_await_turn(struct raw_udp *end);

/* Round trips of 8 bytes; all are made when the end that starts returns. */
void raw_udp_trips(struct raw_udp *end, bool starts, uint64_t count);

/* Datagrams of 8 bytes, a call for each. The sender returns when all have arrived. */
void raw_udp_send_datagrams(struct raw_udp *end, uint64_t count);
void raw_udp_receive_datagrams(struct raw_udp *end, uint64_t count);

/* A stream in segments, many of them with each call (GSO, GRO). The sender returns when all have
 * arrived. */
void raw_udp_send_stream(struct raw_udp *end, const struct raw_udp_stream *stream, uint64_t bytes);
void raw_udp_receive_stream(struct raw_udp *end, const struct raw_udp_stream *stream,
                            uint64_t bytes);

#endif
