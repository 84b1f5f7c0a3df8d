/* Packets beside raw UDP: messages and locks. */
#include <string.h>

#include "cli/perf/packets.h"
#include "host/clock.h"

enum {
    CHANNEL = 1,
    LARGE_BYTES = 1 << 20,
    LARGE_COUNT = 4, /* in a block */
    LOCK_OFFSET = 8192,
};

/* ---- sendrecv ---------------------------------------------------------------------------- */

struct exchange {
    struct perf_packets link; /* first: the raw blocks' context */
    struct dn_context *context;
    unsigned char *large;
};

static void send_message(struct exchange *exchange, const void *data, size_t bytes)
{
    struct perf_packets *link = &exchange->link;
    (void)perf_packets_note(
        link, dn_send(exchange->context, link->peer, data, bytes, PERF_PACKETS_WAIT_NS));
}

static void receive_message(struct exchange *exchange, void *buffer, size_t bytes)
{
    struct perf_packets *link = &exchange->link;
    (void)perf_packets_note(link, dn_recv(exchange->context, link->peer, buffer, bytes,
                                          PERF_PACKETS_WAIT_NS, NULL, NULL));
}

static void our_trips(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    uint64_t value = 0;
    for (uint64_t i = 0; i < count && !exchange->link.error; i++) {
        if (exchange->link.starts) {
            send_message(exchange, &value, sizeof value);
            receive_message(exchange, &value, sizeof value);
        } else {
            receive_message(exchange, &value, sizeof value);
            send_message(exchange, &value, sizeof value);
        }
    }
}

/* Messages one way; a word back at the end says that all have arrived. */
static void stream_messages(struct exchange *exchange, uint64_t count, void *data, size_t bytes)
{
    uint64_t value = 0;
    for (uint64_t i = 0; i < count && !exchange->link.error; i++) {
        if (exchange->link.starts) {
            send_message(exchange, data, bytes);
        } else {
            receive_message(exchange, data, bytes);
        }
    }
    if (exchange->link.starts) {
        receive_message(exchange, &value, sizeof value);
    } else {
        send_message(exchange, &value, sizeof value);
    }
}

static void our_small_stream(void *context, uint64_t count)
{
    uint64_t value = 0;
    stream_messages(context, count, &value, sizeof value);
}

static void our_large_stream(void *context, uint64_t count)
{
    struct exchange *exchange = context;
    stream_messages(exchange, count, exchange->large, LARGE_BYTES);
}

int perf_packets_sendrecv(struct perf_packets *link)
{
    static const struct perf_row rows[] = {
        {.detail = "round trip",
         .json_name = "rtt_ns",
         .bytes = sizeof(uint64_t),
         .ours = our_trips},
        {.detail = "messages per second",
         .limit = "one raw datagram each",
         .kind = PERF_RATE,
         .bytes = sizeof(uint64_t),
         .raw = perf_packets_raw_datagrams,
         .ours = our_small_stream},
        {.detail = "from library memory",
         .limit = "raw GSO + GRO, copied into place",
         .kind = PERF_BANDWIDTH,
         .bytes = LARGE_BYTES,
         .raw = perf_packets_raw_stream,
         .ours = our_large_stream,
         .count = LARGE_COUNT},
    };
    struct exchange exchange = {.link = *link, .large = dn_bank(link->node, NULL)};
    exchange.link.stream = (struct raw_udp_stream){
        .segment_bytes = link->world->packet_bytes,
        .place_bytes = LARGE_BYTES,
        .source = exchange.large,
        .target = exchange.large,
    };
    exchange.link.stream_bytes = LARGE_BYTES;
    memset(exchange.large, 1, LARGE_BYTES);
    int error = dn_context_open(link->node, CHANNEL, &link->peer, 1, &link->peer, 1, NULL,
                                &exchange.context);
    error = error ? error
                  : perf_packets_run_all(&exchange.link, rows, sizeof rows / sizeof rows[0]);
    return error ? error : dn_context_close(exchange.context);
}

/* ---- lock ---------------------------------------------------------------------------------- */

#define HOLD_NS UINT64_C(20000) /* longer than a request takes to reach its lock */

struct contest {
    struct perf_packets link; /* first: the raw blocks' context */
    struct dn_lock *near;     /* in this node's own memory */
    struct dn_lock *far;      /* in the peer's */
    uint64_t hold_ns;         /* how long each keeps the lock */
    bool unfair;              /* some block did not pass the lock back and forth */
};

static void hold(uint64_t hold_ns)
{
    if (hold_ns) {
        uint64_t end_ns = host_now_ns() + hold_ns;
        while (host_now_ns() < end_ns) {
        }
    }
}

static bool take_and_give(struct contest *contest, struct dn_lock *lock)
{
    int error = dn_lock_take(lock, PERF_PACKETS_WAIT_NS);
    if (!error) {
        hold(contest->hold_ns);
        error = dn_lock_give(lock);
    }
    return perf_packets_note(&contest->link, error);
}

/* Nobody else wants the lock. The node in whose memory it lies waits, which drives its NIC. */
static void our_lock_alone(void *context, uint64_t count)
{
    struct contest *contest = context;
    struct perf_packets *link = &contest->link;
    if (!link->starts) {
        perf_packets_await(link);
        return;
    }
    for (uint64_t i = 0; i < count && take_and_give(contest, contest->far); i++) {
    }
    perf_packets_tell(link);
    perf_packets_flush(link);
}

/* The least that a change of owner takes: a datagram one way. */
static void raw_ways(void *context, uint64_t count)
{
    struct contest *contest = context;
    for (uint64_t i = 0; i < count / 2; i++) {
        if (contest->link.starts) {
            hold(contest->hold_ns);
            raw_udp_send_turn(&contest->link.raw);
            raw_udp_await_turn(&contest->link.raw);
        } else {
            raw_udp_await_turn(&contest->link.raw);
            hold(contest->hold_ns);
            raw_udp_send_turn(&contest->link.raw);
        }
    }
}

/* The lock lies in rank 0's memory, and rank 0 always asks for it again at once. First come,
 * first served: whenever rank 1 gives it, rank 0 is next, so each of rank 1's turns counts as two
 * changes of owner. Rank 0 may have it several times in a row, which does not count. */
static void our_contest(void *context, uint64_t count)
{
    struct contest *contest = context;
    struct perf_packets *link = &contest->link;
    uint64_t had = 0;
    if (!link->starts) {
        while (had < count / 2 && take_and_give(contest, contest->far)) {
            had++;
        }
        perf_packets_tell(link);
        perf_packets_flush(link);
        return;
    }
    uint64_t end = ++link->turn;
    while (dn_load_u64(link->word) != end && take_and_give(contest, contest->near)) {
        had++;
    }
    contest->unfair = contest->unfair || had < count / 2 - count / 16;
}

static int check_contest(void *context, struct perf_row *row)
{
    const struct contest *contest = context;
    row->limit = contest->unfair ? "raw one-way (not always in turn)" : row->limit;
    return perf_packets_check(context, row);
}

static int measure_contest(struct contest *contest, const char *detail, uint64_t hold_ns)
{
    const struct perf_row row = {.detail = detail,
                                 .limit = "raw one-way, half a round trip",
                                 .bar = "<= 1.5",
                                 .json_name = "change_ns",
                                 .raw = raw_ways,
                                 .ours = our_contest,
                                 .apart_ns = (double)hold_ns,
                                 .check = check_contest};
    contest->hold_ns = hold_ns;
    return perf_packets_run(&contest->link, row);
}

int perf_packets_lock(struct perf_packets *link)
{
    static const struct perf_row alone = {
        .detail = "take and give", .json_name = "lock_ns", .ours = our_lock_alone};
    struct contest contest = {.link = *link};
    struct dn_remote near = {link->world->rank, DN_LLCM, LOCK_OFFSET};
    struct dn_remote far = {link->peer, DN_LLCM, LOCK_OFFSET};
    int error = dn_lock_open(link->node, near, &contest.near);
    error = error ? error : dn_lock_open(link->node, far, &contest.far);
    error = error ? error : perf_packets_run(&contest.link, alone);
    error = error ? error : measure_contest(&contest, "change, held 20 us", HOLD_NS);
    error = error ? error : measure_contest(&contest, "change of owner", 0);
    error = error ? error : dn_lock_close(contest.near);
    return error ? error : dn_lock_close(contest.far);
}
