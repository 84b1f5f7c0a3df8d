/* Packets beside raw UDP: round trips, atomics, barriers, reductions, idling. */
#define _GNU_SOURCE
#include "cli/perf/packets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/cli.h"
#include "host/clock.h"

/* Where the measured words lie in each node's LLCM. */
enum { WORD_OFFSET = 0, ADDRESS_OFFSET = 64, COUNTER_OFFSET = 4096 };

/* Operations in a block, where each may have to wait for the scheduler. */
enum { BUSY_COUNT = 16 };

#define BLOCK_NS 1.0e6 /* a round trip takes some microseconds */
#define IDLE_SECONDS 2

/* ---- two ends that meet ------------------------------------------------------------ */

/* Each end stores its address in the other's LLCM, through the fabric. */
static int exchange_addresses(struct perf_packets *link, const struct sockaddr_in *mine)
{
    struct dn_remote place = {link->peer, DN_LLCM, ADDRESS_OFFSET};
    struct sockaddr_in peer;
    int error = dn_botf(link->node, place, mine, sizeof *mine);
    error = error ? error : dn_barrier(dn_team_all(link->node), DN_FOREVER);
    if (!error) {
        memcpy(&peer, (unsigned char *)dn_llcm(link->node, NULL) + ADDRESS_OFFSET, sizeof peer);
        raw_udp_meet(&link->raw, &peer);
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
    link->word = (uint64_t *)((unsigned char *)dn_llcm(world->node, NULL) + WORD_OFFSET);
    int error = raw_udp_open(&link->raw, &mine);
    if (error) {
        cli_say("dimmnet perf", "no raw socket to compare with: %s", strerror(errno));
        return error;
    }
    struct dn_remote word = {link->peer, DN_LLCM, WORD_OFFSET};
    error = dn_kick_map(world->node, word, sizeof(uint64_t), &link->kick);
    error = error ? error : exchange_addresses(link, &mine);
    if (error) {
        raw_udp_close(&link->raw);
    }
    return error;
}

void perf_packets_close(struct perf_packets *link)
{
    raw_udp_close(&link->raw);
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

int perf_packets_measure(struct perf_packets *link, perf_block raw, perf_block ours, void *context,
                         uint64_t count, struct perf_figure *figure)
{
    struct perf_pair pair = {raw, ours, context, count};
    struct perf_shape shape = {BLOCK_NS, link->apart_ns};
    int error = perf_measure_shaped(link->node, &pair, &shape, figure);
    error = error ? error : link->error;
    if (!error && link->raw.failed) {
        cli_say("dimmnet perf", "raw datagrams were lost: there is nothing to compare with");
        error = DN_ETIMEOUT;
    }
    return error;
}

struct perf_row perf_packets_row(const struct perf_packets *link, const char *test,
                                 const char *detail, uint64_t bytes)
{
    return (struct perf_row){.test = test,
                             .detail = detail,
                             .limit = "raw UDP round trip",
                             .bar = "-",
                             .nodes = 2,
                             .bytes = bytes,
                             .fabric = link->world->fabric,
                             .protection = link->world->protection};
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

/* Measures one row: an operation that takes a round trip. */
static int measure_trip(struct perf_world *world, struct perf_packets *link, struct perf_row *row,
                        perf_block ours, void *context, const char *json_name)
{
    int error = perf_packets_measure(link, perf_packets_raw_trips, ours, context, 0, &row->figure);
    if (!error && world->rank == 0) {
        perf_report_time(world->json, row, json_name);
    }
    return error;
}

int perf_packets_aotf(struct perf_world *world)
{
    struct perf_packets link;
    int error = perf_packets_open(world, &link);
    if (error) {
        return error;
    }
    struct perf_row row = perf_packets_row(&link, "aotf", "dn_wait_until", sizeof(uint64_t));
    row.bar = "<= 1.25";
    error = measure_trip(world, &link, &row, our_trips, &link, "rtt_ns");
    perf_packets_close(&link);
    return error;
}

/* ---- atomic: the other node serves it -------------------------------------------------- */

static void add(struct perf_packets *link, uint64_t count)
{
    struct dn_remote counter = {1, DN_LLCM, COUNTER_OFFSET};
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

int perf_packets_atomic(struct perf_world *world)
{
    struct perf_packets link;
    int error = perf_packets_open(world, &link);
    if (error) {
        return error;
    }
    struct perf_row row = perf_packets_row(&link, "atomic", "fetch-add", sizeof(uint64_t));
    error = measure_trip(world, &link, &row, our_fetch_add, &link, "op_ns");
    row.detail = "target computes";
    error = error ? error
                  : perf_packets_measure(&link, perf_packets_raw_trips, our_fetch_add_busy, &link,
                                         BUSY_COUNT, &row.figure);
    if (!error && world->rank == 0) {
        perf_report_time(world->json, &row, "op_ns");
    }
    perf_packets_close(&link);
    return error;
}

/* ---- barrier --------------------------------------------------------------------------- */

static void our_barrier(void *context, uint64_t count)
{
    struct perf_packets *link = context;
    for (uint64_t i = 0; i < count && !link->error; i++) {
        (void)perf_packets_note(link, dn_barrier(dn_team_all(link->node), PERF_PACKETS_WAIT_NS));
    }
}

int perf_packets_barrier(struct perf_world *world)
{
    struct perf_packets link;
    int error = perf_packets_open(world, &link);
    if (error) {
        return error;
    }
    struct perf_row row = perf_packets_row(&link, "barrier", "", 0);
    row.bar = "<= 1.3";
    error = measure_trip(world, &link, &row, our_barrier, &link, "barrier_ns");
    perf_packets_close(&link);
    return error;
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

int perf_packets_reduce(struct perf_world *world)
{
    enum { LARGEST = 1 << 20 };
    static const size_t sizes[] = {sizeof(double), 64 * 1024, LARGEST};
    struct reduction reduction;
    void *memory;
    int error = perf_packets_open(world, &reduction.link);
    if (error) {
        return error;
    }
    reduction.team = dn_team_all(world->node);
    error = dn_alloc(world->node, (size_t)2 * LARGEST, &memory);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        bool is_one = sizes[i] == sizeof(double);
        struct perf_row row = perf_packets_row(&reduction.link, "reduce",
                                               is_one ? "one double" : "doubles", sizes[i]);
        reduction.source = memory;
        reduction.result = reduction.source + LARGEST / sizeof(double);
        reduction.count = sizes[i] / sizeof(double);
        memset(reduction.source, 0, sizes[i]);
        error = measure_trip(world, &reduction.link, &row, our_reduce, &reduction, "reduce_ns");
    }
    error = error ? error : dn_free(world->node, memory);
    perf_packets_close(&reduction.link);
    return error;
}

/* ---- idle: a node with nothing to do ------------------------------------------------------ */

static double cpu_seconds(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Rank 1 waits or sleeps, and tells rank 0 what share of a core it used. */
static int idle(struct perf_packets *link, bool waits, uint64_t *parts_per_million)
{
    struct dn_remote answer = {0, DN_LLCM, COUNTER_OFFSET};
    struct timespec seconds = {.tv_sec = IDLE_SECONDS};
    int error = dn_barrier(dn_team_all(link->node), DN_FOREVER);
    if (!error && link->starts) {
        (void)nanosleep(&seconds, NULL);
        perf_packets_tell(link);
        error = dn_quiet(link->node);
    } else if (!error) {
        double cpu_before = cpu_seconds();
        uint64_t start_ns = host_now_ns();
        if (!waits) {
            (void)nanosleep(&seconds, NULL);
        }
        double share = (cpu_seconds() - cpu_before) / ((double)(host_now_ns() - start_ns) * 1e-9);
        perf_packets_await(link);
        if (waits) {
            share = (cpu_seconds() - cpu_before) / ((double)(host_now_ns() - start_ns) * 1e-9);
        }
        uint64_t parts = (uint64_t)(share * 1e6);
        error = link->error ? link->error : dn_botf(link->node, answer, &parts, sizeof parts);
    }
    error = error ? error : dn_barrier(dn_team_all(link->node), DN_FOREVER);
    if (!error) {
        memcpy(parts_per_million, (unsigned char *)dn_llcm(link->node, NULL) + COUNTER_OFFSET,
               sizeof *parts_per_million);
    }
    return error;
}

int perf_packets_idle(struct perf_world *world)
{
    struct perf_packets link;
    int error = perf_packets_open(world, &link);
    if (error) {
        return error;
    }
    for (int waits = 0; waits <= 1 && !error; waits++) {
        uint64_t parts_per_million = 0;
        struct perf_row row = perf_packets_row(&link, "idle",
                                               waits ? "waits for 2 s" : "sleeps for 2 s", 0);
        row.limit = "one core";
        row.bar = "<= 0.01";
        error = idle(&link, waits, &parts_per_million);
        if (!error && world->rank == 0) {
            perf_report_share(world->json, &row, (double)parts_per_million * 1e-4);
        }
    }
    perf_packets_close(&link);
    return error;
}
