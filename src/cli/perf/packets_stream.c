/* Packets beside raw UDP: streams of small messages and of large transfers. */
#include <string.h>

#include "cli/perf/packets.h"
#include "host/clock.h"

enum {
    SMALL_OFFSET = 8192, /* in rank 1's LLCM: small messages go here, round and round */
    SMALL_BYTES = 4096,
    BLOCK_BYTES = 64 * 1024,
    PLACE_BYTES = 16 * BLOCK_BYTES, /* of either bank: the part that large transfers use */
    OUTSTANDING = 8,                /* transfers under way */
    WHOLE_BURST = RAW_UDP_BURST_BYTES,
};

struct stream {
    struct perf_packets link; /* first: the raw blocks' context */
    struct dn_kick kick;      /* onto the place of small messages */
    unsigned char *bank;
};

/* ---- rate: 8-byte messages per second ------------------------------------------------------ */

/* Ends the block once all has arrived at the other node, which waits and so drives its NIC. */
static void conclude(struct perf_packets *link)
{
    if (link->starts) {
        (void)perf_packets_note(link, dn_quiet(link->node));
        perf_packets_tell(link);
        perf_packets_flush(link);
    } else {
        perf_packets_await(link);
    }
}

static uint64_t small_offset(uint64_t number)
{
    return number % (SMALL_BYTES / sizeof(uint64_t)) * sizeof(uint64_t);
}

static void our_small_blocks(void *context, uint64_t count)
{
    struct stream *stream = context;
    struct perf_packets *link = &stream->link;
    for (uint64_t i = 0; link->starts && i < count && !link->error; i++) {
        struct dn_remote remote = {1, DN_LLCM, SMALL_OFFSET + small_offset(i)};
        (void)perf_packets_note(link, dn_botf(link->node, remote, &i, sizeof i));
    }
    conclude(link);
}

static void our_stores(void *context, uint64_t count)
{
    struct stream *stream = context;
    struct perf_packets *link = &stream->link;
    for (uint64_t i = 0; link->starts && i < count; i++) {
        dn_store_u64(&stream->kick, small_offset(i), i);
    }
    conclude(link);
}

int perf_packets_rate(struct perf_packets *link)
{
    static const struct perf_row rows[] = {
        {"dn_botf", "one raw datagram each", ">= 5", PERF_RATE, NULL, sizeof(uint64_t),
         perf_packets_raw_datagrams, .ours = our_small_blocks},
        {"dn_store", "one raw datagram each", NULL, PERF_RATE, NULL, sizeof(uint64_t),
         perf_packets_raw_datagrams, .ours = our_stores},
    };
    struct stream stream = {.link = *link};
    struct dn_remote place = {1, DN_LLCM, SMALL_OFFSET};
    int error = dn_kick_map(link->node, place, SMALL_BYTES, &stream.kick);
    return error ? error : perf_packets_run_all(&stream.link, rows, sizeof rows / sizeof rows[0]);
}

/* ---- 64 KB at a time ------------------------------------------------------------------------ */

typedef int (*start_transfer)(struct perf_packets *link, struct dn_remote remote, void *memory,
                              struct dn_op *op);

static int start_push(struct perf_packets *link, struct dn_remote remote, void *memory,
                      struct dn_op *op)
{
    return dn_push(link->node, remote, memory, BLOCK_BYTES, op);
}

static int start_pull(struct perf_packets *link, struct dn_remote remote, void *memory,
                      struct dn_op *op)
{
    return dn_pull(link->node, remote, memory, BLOCK_BYTES, op);
}

/* An operation's record is used again when the operation is done. */
static void transfer(struct stream *stream, uint64_t count, start_transfer start)
{
    struct perf_packets *link = &stream->link;
    struct dn_op ops[OUTSTANDING];
    for (uint64_t i = 0; link->starts && i < count && !link->error; i++) {
        uint64_t offset = i * BLOCK_BYTES % PLACE_BYTES;
        struct dn_remote remote = {1, DN_BANK, offset};
        struct dn_op *op = &ops[i % OUTSTANDING];
        if (i < OUTSTANDING || perf_packets_note(link, dn_op_wait(op, PERF_PACKETS_WAIT_NS))) {
            (void)perf_packets_note(link, start(link, remote, stream->bank + offset, op));
        }
    }
    conclude(link);
}

static void our_pushes(void *context, uint64_t count)
{
    transfer(context, count, start_push);
}

static void our_pulls(void *context, uint64_t count)
{
    transfer(context, count, start_pull);
}

static void our_blocks(void *context, uint64_t count)
{
    struct stream *stream = context;
    struct perf_packets *link = &stream->link;
    for (uint64_t i = 0; link->starts && i < count && !link->error; i++) {
        uint64_t offset = i * BLOCK_BYTES % PLACE_BYTES;
        struct dn_remote remote = {1, DN_BANK, offset};
        (void)perf_packets_note(link,
                                dn_botf(link->node, remote, stream->bank + offset, BLOCK_BYTES));
    }
    conclude(link);
}

/* The segment size with which the raw stream is fastest here. Only the sender needs it. */
static uint32_t fastest_segment(struct perf_packets *link)
{
    enum { ROUNDS = 8, ROUND_BLOCKS = 32 };
    const uint32_t candidates[] = {link->world->packet_bytes, 1472, 9216, 32752, WHOLE_BURST};
    uint64_t best_ns = UINT64_MAX;
    uint32_t best = candidates[0];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
            link->stream.segment_bytes = candidates[i];
            uint64_t start_ns = host_now_ns();
            perf_packets_raw_stream(link, ROUND_BLOCKS);
            uint64_t took_ns = host_now_ns() - start_ns;
            /* The first round only warms up memory. */
            if (round > 0 && took_ns < best_ns) {
                best_ns = took_ns;
                best = candidates[i];
            }
        }
    }
    return best;
}

/* What a row is compared with. */
static const struct {
    const char *detail;
    const char *name;
    bool fastest; /* the fastest raw segments, else segments as large as the fabric's packets */
    bool copies;  /* into place, as ours does */
} limits[] = {
    {NULL, "raw GSO + GRO, fastest segments", true, false},
    {"equal packets", "raw GSO + GRO, packets as ours", false, false},
    {"copied", "the same, copied into place", false, true},
};

/* Measures the rows of one kind of transfer; the first has the bar. */
static int measure_blocks(struct perf_packets *link, perf_block ours, const char *bar,
                          size_t limit_count)
{
    struct stream stream = {.link = *link, .bank = dn_bank(link->node, NULL)};
    struct raw_udp_stream *raw = &stream.link.stream;
    *raw = (struct raw_udp_stream){.place_bytes = PLACE_BYTES, .source = stream.bank};
    stream.link.stream_bytes = BLOCK_BYTES;
    memset(stream.bank, 1, PLACE_BYTES);
    uint32_t fastest = fastest_segment(&stream.link);
    int error = 0;
    for (size_t i = 0; i < limit_count && !error; i++) {
        const struct perf_row row = {.detail = limits[i].detail,
                                     .limit = limits[i].name,
                                     .bar = i == 0 ? bar : NULL,
                                     .kind = PERF_BANDWIDTH,
                                     .bytes = BLOCK_BYTES,
                                     .raw = perf_packets_raw_stream,
                                     .ours = ours};
        raw->segment_bytes = limits[i].fastest ? fastest : link->world->packet_bytes;
        raw->target = limits[i].copies ? stream.bank : NULL;
        error = perf_packets_run(&stream.link, row);
    }
    return error;
}

int perf_packets_push(struct perf_packets *link)
{
    const char *bar = strcmp(link->world->protection, "none") == 0 ? ">= 0.3" : ">= 0.16";
    return measure_blocks(link, our_pushes, bar, sizeof limits / sizeof limits[0]);
}

int perf_packets_pull(struct perf_packets *link)
{
    return measure_blocks(link, our_pulls, NULL, 1);
}

int perf_packets_botf(struct perf_packets *link)
{
    return measure_blocks(link, our_blocks, NULL, 1);
}
