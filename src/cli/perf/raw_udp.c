/* Raw round trips and streams on a UDP socket. */
#define _GNU_SOURCE
#include "cli/perf/raw_udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dimmnet.h"
#include "host/clock.h"

enum {
    BUFFER_BYTES = 4 << 20,
    WORD_BYTES = sizeof(uint64_t),
    /* Small, because each datagram takes some 800 bytes of the receiver's buffer. */
    DATAGRAMS_WINDOW_BYTES = 512 * WORD_BYTES,
    DATAGRAMS_STEP_BYTES = 128 * WORD_BYTES, /* between two acknowledgements */
    /* Large enough that nobody waits, small enough to stay in a cache. */
    STREAM_WINDOW_BYTES = 8 << 16,
    STREAM_STEP_BYTES = 2 << 16,
    ACKNOWLEDGEMENTS = 16, /* GRO may join so many; the last one counts */
    LOOKS_PER_CLOCK = 1024,
};

#define PATIENCE_NS UINT64_C(5000000000)

int raw_udp_open(struct raw_udp *end, struct sockaddr_in *bound)
{
    const struct sockaddr_in wanted = {.sin_family = AF_INET,
                                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bound_bytes = sizeof *bound;
    int on = 1;
    int buffer = BUFFER_BYTES;
    memset(end, 0, sizeof *end);
    end->patience_ns = PATIENCE_NS;
    end->room = malloc(RAW_UDP_BURST_BYTES);
    if (!end->room) {
        return DN_ENOMEM;
    }
    end->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (end->fd < 0 || bind(end->fd, (const struct sockaddr *)&wanted, sizeof wanted) != 0 ||
        getsockname(end->fd, (struct sockaddr *)bound, &bound_bytes) != 0) {
        int reason = errno;
        raw_udp_close(end);
        errno = reason;
        return DN_ESYSTEM;
    }
    (void)setsockopt(end->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    (void)setsockopt(end->fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    /* Without GRO the receiver gets the segments one by one, and the figure is lower. */
    (void)setsockopt(end->fd, SOL_UDP, UDP_GRO, &on, sizeof on);
    return 0;
}

void raw_udp_close(struct raw_udp *end)
{
    free(end->room);
    end->room = NULL;
    if (end->fd >= 0) {
        (void)close(end->fd);
        end->fd = -1;
    }
}

/* Whether to go on waiting; reads the clock only now and then. */
static bool is_patient(struct raw_udp *end, uint64_t *looks, uint64_t *since_ns)
{
    if (++*looks % LOOKS_PER_CLOCK == 0) {
        uint64_t now_ns = host_now_ns();
        *since_ns = *since_ns ? *since_ns : now_ns;
        end->failed = now_ns - *since_ns > end->patience_ns;
    }
    return !end->failed;
}

/* Spins until something arrives. Returns its bytes, or 0 after a fault. */
static size_t receive(struct raw_udp *end, void *data, size_t room)
{
    uint64_t looks = 0;
    uint64_t since_ns = 0;
    for (;;) {
        ssize_t got = recv(end->fd, data, room, MSG_DONTWAIT);
        if (got > 0) {
            return (size_t)got;
        }
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            end->failed = true;
        }
        if (!is_patient(end, &looks, &since_ns)) {
            return 0;
        }
    }
}

/* Sends one message; tries again while the kernel has no room. */
static void send_all(struct raw_udp *end, const struct msghdr *message)
{
    uint64_t looks = 0;
    uint64_t since_ns = 0;
    while (sendmsg(end->fd, message, MSG_DONTWAIT) < 0 && !end->failed) {
        end->failed = errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
        (void)is_patient(end, &looks, &since_ns);
    }
}

static void send_word(struct raw_udp *end, uint64_t word)
{
    while (sendto(end->fd, &word, sizeof word, MSG_DONTWAIT, (const struct sockaddr *)&end->peer,
                  sizeof end->peer) < 0 &&
           !end->failed) {
        end->failed = errno != EAGAIN && errno != EINTR && errno != ENOBUFS;
    }
}

/* ---- round trips ------------------------------------------------------------- */

void raw_udp_send_turn(struct raw_udp *end)
{
    send_word(end, ++end->turn);
}

void raw_udp_await_turn(struct raw_udp *end)
{
    uint64_t turn = ++end->turn;
    uint64_t word = 0;
    if (receive(end, &word, sizeof word) != sizeof word || word != turn) {
        end->failed = true;
    }
}

void raw_udp_trips(struct raw_udp *end, bool starts, uint64_t count)
{
    for (uint64_t i = 0; i < count && !end->failed; i++) {
        if (starts) {
            raw_udp_send_turn(end);
            raw_udp_await_turn(end);
        } else {
            raw_udp_await_turn(end);
            raw_udp_send_turn(end);
        }
    }
}

/* ---- streams ------------------------------------------------------------------- */

/* The sender's flow control: waits until at most that many bytes are under way. */
static void await_room(struct raw_udp *end, uint64_t under_way_max)
{
    while (end->sent - end->acknowledged > under_way_max && !end->failed) {
        uint64_t words[ACKNOWLEDGEMENTS];
        size_t got = receive(end, words, sizeof words);
        if (got >= sizeof words[0]) {
            end->acknowledged = words[got / sizeof words[0] - 1];
        }
    }
}

/* The receiver's flow control: acknowledges in steps and at the end. */
static void acknowledge(struct raw_udp *end, uint64_t last, uint64_t step_bytes)
{
    if (end->received - end->acknowledged >= step_bytes || end->received == last) {
        end->acknowledged = end->received;
        send_word(end, end->received);
    }
    end->failed = end->failed || end->received > last;
}

void raw_udp_send_datagrams(struct raw_udp *end, uint64_t count)
{
    for (uint64_t i = 0; i < count && !end->failed; i++) {
        await_room(end, DATAGRAMS_WINDOW_BYTES - WORD_BYTES);
        send_word(end, i);
        end->sent += WORD_BYTES;
    }
    await_room(end, 0);
}

void raw_udp_receive_datagrams(struct raw_udp *end, uint64_t count)
{
    uint64_t last = end->received + count * WORD_BYTES;
    while (end->received < last && !end->failed) {
        end->received += receive(end, end->room, RAW_UDP_BURST_BYTES);
        acknowledge(end, last, DATAGRAMS_STEP_BYTES);
    }
}

static uint64_t smaller_of(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static void send_burst(struct raw_udp *end, const struct raw_udp_stream *stream, uint64_t bytes)
{
    uint64_t offset = end->sent % stream->place_bytes;
    uint64_t before_wrap = smaller_of(bytes, stream->place_bytes - offset);
    union {
        struct cmsghdr header;
        unsigned char room[CMSG_SPACE(sizeof(uint16_t))];
    } control = {.room = {0}};
    /* The kernel only reads here; struct iovec does not say so. */
    unsigned char *source = (unsigned char *)(uintptr_t)stream->source;
    struct iovec pieces[2] = {{source + offset, before_wrap}, {source, bytes - before_wrap}};
    struct msghdr message = {
        .msg_name = &end->peer,
        .msg_namelen = sizeof end->peer,
        .msg_iov = pieces,
        .msg_iovlen = bytes > before_wrap ? 2 : 1,
    };
    if (bytes > stream->segment_bytes) {
        uint16_t segment = (uint16_t)stream->segment_bytes;
        message.msg_control = &control;
        message.msg_controllen = sizeof control.room;
        control.header.cmsg_level = SOL_UDP;
        control.header.cmsg_type = UDP_SEGMENT;
        control.header.cmsg_len = CMSG_LEN(sizeof segment);
        memcpy(CMSG_DATA(&control.header), &segment, sizeof segment);
    }
    send_all(end, &message);
    end->sent += bytes;
}

void raw_udp_send_stream(struct raw_udp *end, const struct raw_udp_stream *stream, uint64_t bytes)
{
    uint64_t segments = smaller_of(RAW_UDP_BURST_BYTES / stream->segment_bytes,
                                   RAW_UDP_BURST_SEGMENTS);
    uint64_t burst_bytes = segments * stream->segment_bytes;
    uint64_t last = end->sent + bytes;
    while (end->sent < last && !end->failed) {
        uint64_t now = smaller_of(burst_bytes, last - end->sent);
        await_room(end, STREAM_WINDOW_BYTES - now);
        send_burst(end, stream, now);
    }
    await_room(end, 0);
}

void raw_udp_receive_stream(struct raw_udp *end, const struct raw_udp_stream *stream,
                            uint64_t bytes)
{
    uint64_t last = end->received + bytes;
    while (end->received < last && !end->failed) {
        uint64_t got = receive(end, end->room, RAW_UDP_BURST_BYTES);
        if (stream->target) {
            uint64_t offset = end->received % stream->place_bytes;
            uint64_t before_wrap = smaller_of(got, stream->place_bytes - offset);
            memcpy(stream->target + offset, end->room, before_wrap);
            memcpy(stream->target, end->room + before_wrap, got - before_wrap);
        }
        end->received += got;
        acknowledge(end, last, STREAM_STEP_BYTES);
    }
}
