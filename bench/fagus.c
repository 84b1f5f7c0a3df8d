/* What acquiring costs in Fagus, beside the physical limit; run by scripts/bench fagus.
 *
 *     dimmnet run -n 2 bench_fagus acquire      64 bytes that the other node held last, beside
 *                                               a raw round trip (stores, or UDP datagrams)
 *     dimmnet run -n 2 bench_fagus large        1 MB that the other node has rewritten, beside
 *                                               a dn_pull of as much
 *     dimmnet run -n N bench_fagus comm_sync    beside dn_barrier
 *
 * Raw and ours take turns in short blocks, and a triple of raw, ours and raw counts when its two
 * raws agree within a tenth; the figure is the median of at least 300, if they come in time.
 *
 * The node that measures (rank 0) is not the one that manages the object. It looks at the clock
 * before and after each acquire, with nobody else at the object: the time in the queue is not
 * ours. What looking costs is taken off.
 *
 * Linked with the library's objects, to reach the node below. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/perf/perf_measure.h"
#include "cli/perf/raw_udp.h"
#include "fagus/state.h"
#include "host/clock.h"

enum {
    TRIPLES_WANTED = 300,
    CHUNK_TRIPLES = 10, /* between two decisions whether to go on */
    CHUNKS_MAX = 200,
    SMALL_BYTES = 64,
    LARGE_BYTES = 1 << 20,
    CLOCK_TRIES = 1000,
};

#define RAWS_AGREE 0.10
#define LONGEST_NS UINT64_C(15000000000)
#define BLOCK_NS 300000.0

static void must(int error)
{
    if (error) {
        fprintf(stderr, "bench_fagus: node %d: %s\n", fagus_rank(), fagus_strerror(error));
        exit(1);
    }
}

static void must_dn(int error)
{
    must(fagus_error_of(error));
}

/* ---- Two nodes that take turns --------------------------------------------------------- */

struct pair {
    bool starts;           /* rank 0, which keeps the time */
    uint64_t *words;       /* this node's: [0] told by the other, a line on [8] the raw one */
    uint64_t *their_words; /* where they can be reached, else NULL */
    struct dn_kick kick;   /* onto the other's [0] */
    uint64_t turn, raw_turn;
    struct raw_udp raw; /* where they cannot */
    unsigned char *object;
    size_t bytes;
    struct fagus_sync *sync;
    uint64_t changes; /* of the object by both nodes, as this one knows */
    void *pulled;
    double clock_ns;
};

static struct pair pair;

static void tell(void)
{
    dn_store_u64(&pair.kick, 0, ++pair.turn);
}

static void await(void)
{
    uint64_t turn = ++pair.turn;
    must_dn(dn_wait_until_u64(fagus_state.node, &pair.words[0], DN_EQ, turn, DN_FOREVER));
}

/* Loopback, where `dimmnet run` without --hosts has its nodes. */
static void open_raw_udp(void)
{
    struct sockaddr_in addresses[2];
    must_dn(raw_udp_open(&pair.raw, &addresses[fagus_rank()]));
    must_dn(
        dn_allgather(fagus_state.team, &addresses[fagus_rank()], addresses, sizeof addresses[0]));
    pair.raw.peer = addresses[1 - fagus_rank()];
}

static void open_pair(size_t bytes)
{
    void *words;
    void *object;
    int peer = 1 - fagus_rank();
    pair.starts = fagus_rank() == 0;
    must(fagus_control_alloc((size_t)2 * CACHE_LINE_BYTES, &words));
    pair.words = words;
    pair.their_words = fagus_reach(peer, fagus_place_of(words));
    must_dn(
        dn_kick_map(fagus_state.node, fagus_remote_of(peer, words), sizeof(uint64_t), &pair.kick));
    if (!pair.their_words) {
        open_raw_udp();
    }
    pair.bytes = bytes;
    must(fagus_alloc(bytes, 1, &object));
    pair.object = object;
    must(fagus_sync_create(&pair.sync));
    must(fagus_bind(pair.sync, object, bytes));
    must(fagus_control_alloc(bytes, &pair.pulled));
    double least_ns = 1e9;
    for (int i = 0; i < CLOCK_TRIES; i++) {
        uint64_t begin_ns = host_now_ns();
        double passed_ns = (double)(host_now_ns() - begin_ns);
        least_ns = passed_ns < least_ns ? passed_ns : least_ns;
    }
    pair.clock_ns = least_ns;
}

/* ---- Blocks: each gives the nanoseconds of one operation, by this node's clock ------------ */

typedef double (*block)(uint64_t count);

static double since(uint64_t begin_ns, uint64_t count)
{
    return (double)(host_now_ns() - begin_ns) / (double)count;
}

static void raw_store_trips(uint64_t count)
{
    size_t place = CACHE_LINE_BYTES / sizeof(uint64_t);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t turn = ++pair.raw_turn;
        if (pair.starts) {
            __atomic_store_n(&pair.their_words[place], turn, __ATOMIC_RELEASE);
        }
        while (__atomic_load_n(&pair.words[place], __ATOMIC_ACQUIRE) != turn) {
            cpu_relax_briefly();
        }
        if (!pair.starts) {
            __atomic_store_n(&pair.their_words[place], turn, __ATOMIC_RELEASE);
        }
    }
}

static double raw_trips(uint64_t count)
{
    uint64_t begin_ns = host_now_ns();
    if (pair.their_words) {
        raw_store_trips(count);
    } else {
        raw_udp_trips(&pair.raw, pair.starts, count);
    }
    return since(begin_ns, count);
}

/* Writes every word, so that all of it has to come. */
static void change_object(void)
{
    uint64_t *words = (uint64_t *)(void *)pair.object;
    pair.changes++;
    for (size_t i = 0; i < pair.bytes / sizeof *words; i++) {
        words[i] = pair.changes + i;
    }
}

/* That it is as the other one left it. */
static void check_object(void)
{
    const uint64_t *words = (const uint64_t *)(const void *)pair.object;
    size_t last = pair.bytes / sizeof *words - 1;
    pair.changes++;
    if (words[0] != pair.changes || words[last] != pair.changes + last) {
        fprintf(stderr, "bench_fagus: an acquire brought old data\n");
        exit(1);
    }
}

/* The other one writes it, then this one acquires it. */
static double acquires(uint64_t count, enum fagus_mode mode)
{
    double sum_ns = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!pair.starts) {
            await();
            must(fagus_acquire(pair.sync, FAGUS_WRITE));
            if (mode == FAGUS_WRITE && pair.changes != 0) {
                check_object();
            }
            change_object();
            must(fagus_release(pair.sync));
            tell();
            continue;
        }
        tell();
        await();
        uint64_t begin_ns = host_now_ns();
        must(fagus_acquire(pair.sync, mode));
        sum_ns += (double)(host_now_ns() - begin_ns) - pair.clock_ns;
        check_object();
        if (mode == FAGUS_WRITE) {
            change_object();
        }
        must(fagus_release(pair.sync));
    }
    must_dn(dn_barrier(dn_team_all(fagus_state.node),
                       DN_FOREVER)); /* nothing is under way beside the raw block */
    return sum_ns / (double)count;
}

static double acquires_to_write(uint64_t count)
{
    return acquires(count, FAGUS_WRITE);
}

static double acquires_to_read(uint64_t count)
{
    return acquires(count, FAGUS_READ);
}

static double raw_pulls(uint64_t count)
{
    double pull_ns = 0;
    if (pair.starts) {
        struct dn_remote from = fagus_remote_of(1, pair.pulled);
        struct dn_op op;
        uint64_t begin_ns = host_now_ns();
        for (uint64_t i = 0; i < count; i++) {
            must_dn(dn_pull(fagus_state.node, from, pair.pulled, pair.bytes, &op));
            must_dn(dn_op_wait(&op, DN_FOREVER));
        }
        pull_ns = since(begin_ns, count);
        tell();
    } else {
        await();
    }
    must_dn(dn_barrier(dn_team_all(fagus_state.node), DN_FOREVER));
    return pull_ns;
}

static double raw_barriers(uint64_t count)
{
    uint64_t begin_ns = host_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        must_dn(dn_barrier(dn_team_all(fagus_state.node), DN_FOREVER));
    }
    return since(begin_ns, count);
}

static double comm_syncs(uint64_t count)
{
    uint64_t begin_ns = host_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        must(comm_sync());
    }
    return since(begin_ns, count);
}

/* ---- Measuring ------------------------------------------------------------------------- */

static struct {
    double ours_ns[CHUNK_TRIPLES * CHUNKS_MAX];
    double raw_ns[CHUNK_TRIPLES * CHUNKS_MAX];
    double ratio[CHUNK_TRIPLES * CHUNKS_MAX];
    uint64_t count;
} samples;

static void run_chunk(block raw, block ours, uint64_t count)
{
    double before_ns = raw(count);
    for (int i = 0; i < CHUNK_TRIPLES; i++) {
        double ours_ns = ours(count);
        double after_ns = raw(count);
        double smaller = before_ns < after_ns ? before_ns : after_ns;
        double larger = before_ns < after_ns ? after_ns : before_ns;
        if (larger <= smaller * (1 + RAWS_AGREE)) {
            double raw_ns = (before_ns + after_ns) / 2;
            samples.raw_ns[samples.count] = raw_ns;
            samples.ours_ns[samples.count] = ours_ns;
            samples.ratio[samples.count++] = ours_ns / raw_ns;
        }
        before_ns = after_ns;
    }
}

/* Rank 0 decides for all. */
static uint64_t decided(uint64_t value)
{
    must(fagus_distribute(&value, sizeof value));
    return value;
}

static int measure(const char *detail, block raw, block ours, size_t bytes, const char *limit)
{
    uint64_t count = 1;
    for (uint64_t next = 2; next != count;) { /* until a raw block can be timed */
        count = next;
        next = decided(raw(count) * (double)count < BLOCK_NS / 2 ? 2 * count : count);
    }
    uint64_t begin_ns = host_now_ns();
    uint64_t go_on = 1;
    for (int chunk = 0; chunk < CHUNKS_MAX && go_on; chunk++) {
        run_chunk(raw, ours, count);
        go_on = decided(samples.count < TRIPLES_WANTED && host_now_ns() - begin_ns < LONGEST_NS);
    }
    if (pair.raw.failed) {
        fprintf(stderr, "bench_fagus: raw datagrams were lost: nothing to compare with\n");
        return 1;
    }
    if (fagus_rank() == 0) {
        printf("{\"test\":\"fagus\",\"detail\":\"%s\",\"fabric\":\"%s\",\"nodes\":%d,\"bytes\":%zu,"
               "\"op_ns\":%.1f,\"raw_ns\":%.1f,\"ratio\":%.4f,\"limit\":\"%s\",\"triples\":%" PRIu64
               "}\n",
               detail, fagus_state.reaches_all ? "mem" : "udp", fagus_size(), bytes,
               perf_median(samples.ours_ns, samples.count),
               perf_median(samples.raw_ns, samples.count),
               perf_median(samples.ratio, samples.count), limit, samples.count);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *test = argc == 2 ? argv[1] : "";
    int status = 2;
    must(fagus_init());
    bool are_two = fagus_size() == 2;
    if (strcmp(test, "acquire") == 0 && are_two) {
        open_pair(SMALL_BYTES);
        status = measure("acquire", raw_trips, acquires_to_write, SMALL_BYTES, "raw round trip");
    } else if (strcmp(test, "large") == 0 && are_two) {
        open_pair(LARGE_BYTES);
        status = measure("acquire", raw_pulls, acquires_to_read, LARGE_BYTES, "dn_pull");
    } else if (strcmp(test, "comm_sync") == 0) {
        status = measure("comm_sync", raw_barriers, comm_syncs, 0, "dn_barrier");
    } else if (fagus_rank() == 0) {
        fprintf(stderr, "usage: dimmnet run -n 2 bench_fagus acquire|large|comm_sync\n");
    }
    if (pair.raw.room) {
        raw_udp_close(&pair.raw);
    }
    must(fagus_finalize());
    return status;
}
