/* Packets beside raw UDP: round trips, atomics, barriers, reductions, idling. */
#define _GNU_SOURCE
#include "cli/perf/packets.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "host/clock.h"

/* Where the address of the other end's raw socket lies in each node's LLCM. */
enum { ADDRESS_OFFSET = 64 };

/* Operations in a block, where each may have to wait for the scheduler. */
enum { BUSY_COUNT = 16 };

#define IDLE_SECONDS 2

/* ---- two ends that meet ------------------------------------------------------------ */

/* Each end stores its address in the other's LLCM, through the fabric. */
static int exchange_addresses(struct perf_packets *link, const struct sockaddr_in *mine)
{
    struct dn_remote place = {link->peer, DN_LLCM, ADDRESS_OFFSET};
    const unsigned char *llcm = dn_llcm(link->node, NULL);
    int error = dn_botf(link->node, place, mine, sizeof *mine);
    error = error ? error : dn_barrier(dn_team_all(link->node), DN_FOREVER);
    if (!error) {
        memcpy(&link->raw.peer, llcm + ADDRESS_OFFSET, sizeof link->raw.peer);
    }
    return error;
}

int perf_packets_open(struct perf_world *world, struct perf_packets *link)
{
    struct sockaddr_in mine;
    memset(link, 0, sizeof *link);
    link->node = world->node;
    link->world = world;
    link->starts = world->rank == 0;
    link->peer = 1 - world->rank;
    link->word = perf_own_word(world);
    int error = raw_udp_open(&link->raw, &mine);
    if (error) {
        cli_say("dimmnet perf", "no raw socket to compare with: %s", strerror(errno));
        return error;
    }
    struct dn_remote word = {link->peer, DN_LLCM, PERF_WORD_OFFSET};
    error = dn_kick_map(world->node, word, sizeof(uint64_t), &link->kick);
    error = error ? error : exchange_addresses(link, &mine);
    if (error) {
        raw_udp_close(&link->raw);
    }
    return error;
}

bool perf_packets_note(struct perf_packets *link, int error)
{
    link->error = link->error ? link->error : error;
    return link->error == 0;
}

void perf_packets_tell(struct perf_packets *link)
{
    dn_store_u64(&link->kick, 0, ++link->turn);
}

void perf_packets_await(struct perf_packets *link)
{
    uint64_t turn = ++link->turn;
    (void)perf_packets_note(
        link, dn_wait_until_u64(link->node, link->word, DN_EQ, turn, PERF_PACKETS_WAIT_NS));
}

void perf_packets_flush(struct perf_packets *link)
{
    (void)perf_packets_note(link, dn_fence(link->node));
}

void perf_packets_raw_trips(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    raw_udp_trips(&link->raw, link->starts, count);
}

void perf_packets_raw_datagrams(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    if (link->starts) {
        raw_udp_send_datagrams(&link->raw, count);
    } else {
        raw_udp_receive_datagrams(&link->raw, count);
    }
}

void perf_packets_raw_stream(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    if (link->starts) {
        raw_udp_send_stream(&link->raw, &link->stream, count * link->stream_bytes);
    } else {
        raw_udp_receive_stream(&link->raw, &link->stream, count * link->stream_bytes);
    }
}

int perf_packets_check(void *context, struct perf_row *row)
{
    const struct perf_packets *link = context;
    (void)row;
    if (!link->error && link->raw.failed) {
        cli_say("dimmnet perf", "raw datagrams were lost: there is nothing to compare with");
        return DN_ETIMEOUT;
    }
    return link->error;
}

int perf_packets_run(struct perf_packets *link, struct perf_row row)
{
    row.raw = row.limit ? row.raw : perf_packets_raw_trips;
    row.limit = row.limit ? row.limit : "raw UDP round trip";
    row.check = row.check ? row.check : perf_packets_check;
    return perf_run(link->world, &row, 1, link);
}

int perf_packets_run_all(struct perf_packets *link, const struct perf_row *rows, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        error = perf_packets_run(link, rows[i]);
    }
    return error;
}

/* ---- aotf: an 8-byte round trip ------------------------------------------------------ */

static void our_trips(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    for (uint64_t i = 0; i < count && !link->error; i++) {
        if (link->starts) {
            perf_packets_tell(link);
            perf_packets_await(link);
        } else {
            perf_packets_await(link);
            perf_packets_tell(link);
        }
    }
    perf_packets_flush(link);
}

int perf_packets_aotf(struct perf_packets *link)
{
    static const struct perf_row row = {.detail = "dn_wait_until",
                                        .bar = "<= 1.25",
                                        .json_name = "rtt_ns",
                                        .bytes = sizeof(uint64_t),
                                        .ours = our_trips};
    return perf_packets_run(link, row);
}

/* ---- atomic: the other node serves it -------------------------------------------------- */

static void add(struct perf_packets *link, uint64_t count)
{
    struct dn_remote counter = {1, DN_LLCM, PERF_COUNTER_OFFSET};
    uint64_t old;
    for (uint64_t i = 0; i < count && !link->error; i++) {
        (void)perf_packets_note(link, dn_fetch_add_u64(link->node, counter, 1, &old));
    }
    perf_packets_tell(link);
    perf_packets_flush(link);
}

/* The target waits, which drives its NIC, until a store at the end lets it go. */
static void our_fetch_add(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    if (link->starts) {
        add(link, count);
    } else {
        perf_packets_await(link);
    }
}

/* The target computes and makes no calls, yet its memory is served. */
static void our_fetch_add_busy(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    if (link->starts) {
        add(link, count);
        return;
    }
    uint64_t turn = ++link->turn;
    uint64_t end_ns = host_now_ns() + PERF_PACKETS_WAIT_NS;
    while (dn_load_u64(link->word) != turn && perf_packets_note(link, 0)) {
        (void)perf_packets_note(link, host_now_ns() < end_ns ? 0 : DN_ETIMEOUT);
    }
}

int perf_packets_atomic(struct perf_packets *link)
{
    static const struct perf_row rows[] = {
        {.detail = "fetch-add",
         .json_name = "op_ns",
         .bytes = sizeof(uint64_t),
         .ours = our_fetch_add},
        {.detail = "target computes",
         .json_name = "op_ns",
         .bytes = sizeof(uint64_t),
         .ours = our_fetch_add_busy,
         .count = BUSY_COUNT},
    };
    return perf_packets_run_all(link, rows, sizeof rows / sizeof rows[0]);
}

/* ---- barrier --------------------------------------------------------------------------- */

static void our_barrier(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    for (uint64_t i = 0; i < count && !link->error; i++) {
        (void)perf_packets_note(link, dn_barrier(dn_team_all(link->node), PERF_PACKETS_WAIT_NS));
    }
}

int perf_packets_barrier(struct perf_packets *link)
{
    static const struct perf_row row = {
        .bar = "<= 1.3", .json_name = "barrier_ns", .ours = our_barrier};
    return perf_packets_run(link, row);
}

/* ---- reduce ------------------------------------------------------------------------------ */

struct reduction {
    struct perf_packets link; /* first: the raw blocks' context */
    struct dn_team *team;
    double *source;
    double *result;
    size_t count;
};

static void our_reduce(void *context, uint64_t count)
{
    struct reduction *reduction = context;
    for (uint64_t i = 0; i < count && !reduction->link.error; i++) {
        int error = dn_allreduce(reduction->team, reduction->source, reduction->result,
                                 reduction->count, DN_DOUBLE, DN_SUM);
        (void)perf_packets_note(&reduction->link, error);
    }
}

int perf_packets_reduce(struct perf_packets *link)
{
    enum { LARGEST = 1 << 20 };
    static const size_t sizes[] = {sizeof(double), 64 * 1024, LARGEST};
    struct reduction reduction = {.link = *link, .team = dn_team_all(link->node)};
    void *memory;
    int error = dn_alloc(link->node, (size_t)2 * LARGEST, &memory);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        struct perf_row row = {.detail = i == 0 ? "one double" : "doubles",
                               .json_name = "reduce_ns",
                               .bytes = sizes[i],
                               .ours = our_reduce};
        reduction.source = memory;
        reduction.result = reduction.source + LARGEST / sizeof(double);
        reduction.count = sizes[i] / sizeof(double);
        memset(reduction.source, 0, sizes[i]);
        error = perf_packets_run(&reduction.link, row);
    }
    return error ? error : dn_free(link->node, memory);
}

/* ---- idle: a node with nothing to do ------------------------------------------------------ */

/* Rank 1 waits or sleeps, and tells rank 0 what share of a core it used. */
static int idle(struct perf_packets *link, bool waits, uint64_t *parts_per_million)
{
    struct dn_remote answer = {0, DN_LLCM, PERF_COUNTER_OFFSET};
    struct timespec seconds = {.tv_sec = IDLE_SECONDS};
    int error = dn_barrier(dn_team_all(link->node), DN_FOREVER);
    if (!error && link->starts) {
        (void)nanosleep(&seconds, NULL);
        perf_packets_tell(link);
        error = dn_quiet(link->node);
    } else if (!error) {
        struct perf_usage before = perf_usage_now();
        if (!waits) {
            (void)nanosleep(&seconds, NULL);
        }
        double share = perf_usage_share(&before);
        perf_packets_await(link);
        share = waits ? perf_usage_share(&before) : share;
        uint64_t parts = (uint64_t)(share * 1e6);
        error = link->error ? link->error : dn_botf(link->node, answer, &parts, sizeof parts);
    }
    error = error ? error : dn_barrier(dn_team_all(link->node), DN_FOREVER);
    if (!error) {
        memcpy(parts_per_million, (unsigned char *)dn_llcm(link->node, NULL) + PERF_COUNTER_OFFSET,
               sizeof *parts_per_million);
    }
    return error;
}

int perf_packets_idle(struct perf_packets *link)
{
    int error = 0;
    for (int waits = 0; waits <= 1 && !error; waits++) {
        uint64_t parts_per_million = 0;
        struct perf_row row = {.detail = waits ? "waits for 2 s" : "sleeps for 2 s",
                               .limit = "one core",
                               .bar = "<= 0.01"};
        error = idle(link, waits, &parts_per_million);
        if (!error && link->starts) {
            perf_report_share(link->world, &row, (double)parts_per_million * 1e-4);
        }
    }
    return error;
}
