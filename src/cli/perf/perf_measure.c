/* Sandwiched blocks and their medians. */
#include "cli/perf/perf_measure.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "host/clock.h"

enum {
    TRIPLES_WANTED = 300,
    CHUNK_TRIPLES = 50, /* after each chunk rank 0 decides whether to go on */
    CHUNKS_MAX = 60,
    CALIBRATION_FIRST = 16,
};

#define RAWS_AGREE 0.10
#define LONGEST_NS UINT64_C(15000000000)

static int compare_doubles(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

double perf_median(double *values, uint64_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count == 0 ? 0 : (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double p99(double *values, uint64_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count == 0 ? 0 : values[(count * 99 - 1) / 100];
}

struct samples {
    double ratio[CHUNK_TRIPLES * CHUNKS_MAX];
    double ours_ns[CHUNK_TRIPLES * CHUNKS_MAX];
    double raw_ns[CHUNK_TRIPLES * CHUNKS_MAX];
    uint64_t count;
};

static double timed(perf_block block, void *context, uint64_t count)
{
    uint64_t start_ns = host_now_ns();
    block(context, count);
    return (double)(host_now_ns() - start_ns) / (double)count;
}

/* Runs a chunk on this node; only rank 0 keeps samples. */
static void run_chunk(const struct perf_pair *pair, uint64_t count, struct samples *samples)
{
    double apart_ns = pair->apart_ns;
    double before_ns = timed(pair->raw, pair->context, count) - apart_ns;
    for (int triple = 0; triple < CHUNK_TRIPLES; triple++) {
        double ours_ns = timed(pair->ours, pair->context, count) - apart_ns;
        double after_ns = timed(pair->raw, pair->context, count) - apart_ns;
        double smaller = before_ns < after_ns ? before_ns : after_ns;
        double larger = before_ns < after_ns ? after_ns : before_ns;
        if (samples && larger <= smaller * (1 + RAWS_AGREE)) {
            double raw_ns = (before_ns + after_ns) / 2;
            samples->raw_ns[samples->count] = raw_ns;
            samples->ours_ns[samples->count] = ours_ns;
            samples->ratio[samples->count++] = ours_ns / raw_ns;
        }
        before_ns = after_ns;
    }
}

static void conclude(struct samples *samples, struct perf_figure *figure)
{
    figure->triples = samples->count;
    figure->ratio = perf_median(samples->ratio, samples->count);
    figure->raw_ns = perf_median(samples->raw_ns, samples->count);
    figure->ours_ns = perf_median(samples->ours_ns, samples->count);
    figure->p99_ns = p99(samples->ours_ns, samples->count);
}

/* Rank 0 puts its decision into the last line but one of its LLCM; the others read it after a
 * barrier. Without a group it stands as it is. */
#define DECISION_OFFSET_FROM_END 128

static int decide(struct dn_node *node, uint64_t mine, uint64_t *decided)
{
    size_t bytes;
    if (!node) {
        return 0;
    }
    (void)dn_llcm(node, &bytes);
    struct dn_remote place = {0, DN_LLCM, bytes - DECISION_OFFSET_FROM_END};
    int error = dn_rank(node) == 0 ? dn_botf(node, place, &mine, sizeof mine) : 0;
    error = error ? error : dn_barrier(dn_team_all(node), DN_FOREVER);
    error = error ? error : dn_read_u64(node, place, decided);
    return error ? error : dn_barrier(dn_team_all(node), DN_FOREVER);
}

/* Finds how many operations make a block: doubles them until a raw block can be timed. */
static int calibrate(struct dn_node *node, const struct perf_pair *pair, uint64_t *count)
{
    uint64_t tried = pair->count ? pair->count : CALIBRATION_FIRST;
    double took_ns = 0;
    int error = 0;
    for (bool again = !pair->count; again && !error;) {
        took_ns = timed(pair->raw, pair->context, tried) * (double)tried;
        uint64_t next = took_ns < pair->block_ns / 2 ? tried * 2 : tried;
        error = decide(node, next, &next);
        again = next != tried;
        tried = next;
    }
    *count = tried;
    return error;
}

int perf_measure(struct dn_node *node, const struct perf_pair *pair, struct perf_figure *figure)
{
    static struct samples samples;
    bool keeps_time = !node || dn_rank(node) == 0;
    uint64_t started_ns = host_now_ns();
    uint64_t count;
    uint64_t go_on = 1;
    samples.count = 0;
    memset(figure, 0, sizeof *figure);
    int error = calibrate(node, pair, &count);
    for (int chunk = 0; chunk < CHUNKS_MAX && go_on && !error; chunk++) {
        run_chunk(pair, count, keeps_time ? &samples : NULL);
        go_on = samples.count < TRIPLES_WANTED && host_now_ns() - started_ns < LONGEST_NS;
        error = decide(node, go_on, &go_on);
    }
    if (keeps_time && !error) {
        conclude(&samples, figure);
    }
    return error;
}
