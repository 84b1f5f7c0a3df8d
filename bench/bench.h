/* What the comparison programs share: the tests of a command line, blocks of work, raw
 * and the library's, their medians, and rows in the form of `dimmnet perf --json`.
 *
 * A figure is the median over up to 300 blocks of about 0.3 ms. What depends on the
 * distance of two cores or on the memory's load is measured as ours is: sandwiched
 * between blocks of the raw limit, because two programs that run one after the other
 * may meet a different machine. */
#ifndef BENCH_H
#define BENCH_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BENCH_BLOCK_NS 300000.0
#define BENCH_ROW_NS 1000000000.0 /* after which a row gets no more blocks */
#define BENCH_RAWS_AGREE 0.10

enum {
    BENCH_BLOCKS_MAX = 300,
    BENCH_BLOCKS_MIN = 5,
    BENCH_CHUNK_BLOCKS = 10,  /* between two decisions whether to go on */
    BENCH_TRIES = 3,          /* of a block's length: the first may be slow, or interrupted */
    BENCH_STREAM_WORDS = 512, /* a stream of words goes round 4 KB, as in ours */
    BENCH_LINE_WORDS = 8,     /* words that get a cache line of their own lie so far apart */
    BENCH_LARGEST = 64 << 20,
    BENCH_IDLE_SECONDS = 3,
};

/* Reductions of more than one double: their sizes, and up to how many processes. */
enum { BENCH_REDUCE_SMALLER = 64 << 10, BENCH_REDUCE_LARGER = 1 << 20, BENCH_REDUCE_NODES = 4 };

static const size_t bench_sizes[] = {464, 4096, 65536, 1 << 20, BENCH_LARGEST};

enum { BENCH_SIZE_COUNT = sizeof bench_sizes / sizeof bench_sizes[0] };

/* The processes measured together, as one of them sees them. */
struct bench_world {
    int rank;
    int size;
    uint64_t (*agree)(uint64_t mine); /* rank 0's value, on all; nobody leaves it early */
};

struct bench_row {
    const char *test;
    const char *detail; /* in our words: test, detail and bytes are those of our row */
    const char *by;     /* the calls that were measured */
    const char *figure; /* its name: "rtt_ns", "per_s", "mb_per_s" ... */
    uint64_t bytes;     /* 0: does not apply */
    uint64_t parts;     /* what one operation is divided by, hops in a round; 0: 1 */
};

/* Work that every process runs in step, or NULL where it only looks on. */
typedef void (*bench_block)(void *context, uint64_t count);

/* The library's work, and the limit that it is sandwiched with. */
struct bench_pair {
    bench_block raw;
    bench_block block;
    void *context;
    bool has_raw; /* the same on all */
};

struct bench_test {
    const char *name;
    void (*run)(void);
};

static inline uint64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The gap that our own raw loops leave between two polls: a shorter or a longer one
 * costs a good part of a round trip. */
static inline void bench_gap(void)
{
#if defined(__x86_64__)
    __asm__ __volatile__("lfence; lfence; lfence; lfence" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#endif
}

/* ---- The raw limits, through plain pointers into the other's memory -------- */

/* Words on lines of their own: mine, and the other's where I reach it. */
struct bench_words {
    uint64_t *mine;
    uint64_t *theirs; /* NULL: the library gives no pointer */
    uint64_t value;   /* grows with each round trip, whichever way it is made */
    bool starts;
};

static inline void bench_wait_for(const uint64_t *word, uint64_t value)
{
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
        bench_gap();
    }
}

static inline void bench_raw_pingpong(void *context, uint64_t count)
{
    struct bench_words *words = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++words->value;
        if (!words->starts) {
            bench_wait_for(words->mine, value);
        }
        __atomic_store_n(words->theirs, value, __ATOMIC_RELEASE);
        if (words->starts) {
            bench_wait_for(words->mine, value);
        }
    }
}

/* Each raises its own flag and looks at both, in the order of the ranks: ours does the
 * same for any number, and the raw figures should mean the same. */
static inline void bench_raw_barrier(void *context, uint64_t count)
{
    struct bench_words *words = context;
    const uint64_t *flags[] = {words->starts ? words->mine : words->theirs,
                               words->starts ? words->theirs : words->mine};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++words->value;
        __atomic_store_n(words->mine, value, __ATOMIC_RELEASE);
        for (int rank = 0; rank < 2; rank++) {
            while (__atomic_load_n(flags[rank], __ATOMIC_ACQUIRE) < value) {
                bench_gap();
            }
        }
    }
}

/* None of these stores may be joined with its neighbours or left out. */
static inline void bench_raw_stream(void *context, uint64_t count)
{
    uint64_t *words = context;
    for (uint64_t i = 0; i < count; i++) {
        __atomic_store_n(&words[i % BENCH_STREAM_WORDS], i, __ATOMIC_RELEASE);
    }
}

struct bench_copy {
    unsigned char *mine;
    unsigned char *theirs; /* NULL: the library gives no pointer */
    size_t bytes;
};

static inline void bench_copy_bytes(unsigned char *target, const unsigned char *source,
                                    size_t bytes)
{
    __asm__ __volatile__("" : "+r"(target) : : "memory"); /* so that no copy is left out */
    memcpy(target, source, bytes);
}

static inline void bench_raw_write(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        bench_copy_bytes(copy->theirs, copy->mine, copy->bytes);
    }
}

static inline void bench_raw_read(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        bench_copy_bytes(copy->mine, copy->theirs, copy->bytes);
    }
}

/* ---- Measuring -------------------------------------------------------------- */

static inline double bench_timed(bench_block block, void *context, uint64_t count)
{
    uint64_t start_ns = bench_now_ns();
    if (block) {
        block(context, count);
    }
    return (double)(bench_now_ns() - start_ns);
}

static inline int bench_compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static inline double bench_scaled(const struct bench_row *row, double operation_ns)
{
    if (strcmp(row->figure, "mb_per_s") == 0) {
        return (double)row->bytes * 1e3 / operation_ns;
    } else if (strcmp(row->figure, "per_s") == 0) {
        return 1e9 / operation_ns;
    }
    return operation_ns / (double)(row->parts ? row->parts : 1);
}

/* A row with its value and, if ratio is not 0, the limit's. */
static inline void bench_print(const struct bench_world *world, const struct bench_row *row,
                               double value, double raw, double ratio)
{
    bool time = strstr(row->figure, "_ns") != NULL;
    printf("{\"test\":\"%s\",\"detail\":\"%s\",\"nodes\":%d", row->test, row->detail, world->size);
    if (row->bytes) {
        printf(",\"bytes\":%" PRIu64, row->bytes);
    }
    printf(",\"%s\":%.4f", row->figure, value);
    if (ratio > 0) {
        printf(",\"raw_%s\":%.4f,\"ratio\":%.4f", time ? "ns" : row->figure, raw, ratio);
    }
    printf(",\"by\":\"%s\"}\n", row->by);
    (void)fflush(stdout);
}

/* How many operations make a block: doubled until it can be timed. Rank 0 decides. */
static inline uint64_t bench_calibrate(const struct bench_world *world,
                                       const struct bench_pair *pair)
{
    uint64_t count = 1;
    for (;;) {
        double block_ns = bench_timed(pair->block, pair->context, count);
        for (int i = 1; i < BENCH_TRIES; i++) {
            double try_ns = bench_timed(pair->block, pair->context, count);
            block_ns = try_ns < block_ns ? try_ns : block_ns;
        }
        uint64_t next = world->agree(block_ns < BENCH_BLOCK_NS / 2 ? count * 2 : count);
        if (next == count) {
            return count;
        }
        count = next;
    }
}

/* The one of two ways to do the same that takes less time, in rank 0's eyes. */
static inline bench_block bench_faster(const struct bench_world *world, bench_block first,
                                       bench_block second, void *context, uint64_t count)
{
    bench_block ways[] = {first, second};
    double least_ns[] = {0, 0};
    for (int i = 0; i < 2 * BENCH_TRIES; i++) {
        (void)world->agree(0);
        double try_ns = bench_timed(ways[i % 2], context, count);
        double *least = &least_ns[i % 2];
        *least = i < 2 || try_ns < *least ? try_ns : *least;
    }
    return ways[world->agree(least_ns[1] < least_ns[0])];
}

static inline double bench_median(double *values, uint64_t count)
{
    qsort(values, count, sizeof *values, bench_compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* What rank 0 keeps of a row: of all blocks, and of those in good triples. */
struct bench_samples {
    uint64_t count;
    uint64_t good;
    double all_ns[BENCH_BLOCKS_MAX];
    double kept_ns[BENCH_BLOCKS_MAX];
    double raw_ns[BENCH_BLOCKS_MAX];
    double ratios[BENCH_BLOCKS_MAX];
};

static inline void bench_run_blocks(const struct bench_pair *pair, uint64_t operations,
                                    uint64_t blocks, struct bench_samples *samples)
{
    double before_ns = pair->has_raw ? bench_timed(pair->raw, pair->context, operations) : 0;
    for (uint64_t i = 0; i < blocks; i++) {
        double block_ns = bench_timed(pair->block, pair->context, operations);
        double after_ns = pair->has_raw ? bench_timed(pair->raw, pair->context, operations) : 0;
        double smaller = before_ns < after_ns ? before_ns : after_ns;
        double larger = before_ns < after_ns ? after_ns : before_ns;
        samples->all_ns[samples->count++] = block_ns;
        if (pair->has_raw && larger <= smaller * (1 + BENCH_RAWS_AGREE)) {
            double raw_ns = (before_ns + after_ns) / 2;
            samples->kept_ns[samples->good] = block_ns;
            samples->raw_ns[samples->good] = raw_ns;
            samples->ratios[samples->good++] = block_ns / raw_ns;
        }
        before_ns = after_ns;
    }
}

/* A limit is printed if enough triples of raw, block and raw had raws that agree; only
 * those then make the figures. */
static inline void bench_conclude(const struct bench_world *world, const struct bench_row *row,
                                  double operations, struct bench_samples *samples)
{
    if (samples->good < BENCH_BLOCKS_MIN) {
        double block_ns = bench_median(samples->all_ns, samples->count);
        bench_print(world, row, bench_scaled(row, block_ns / operations), 0, 0);
        return;
    }
    double block_ns = bench_median(samples->kept_ns, samples->good);
    double raw_ns = bench_median(samples->raw_ns, samples->good);
    double ratio = bench_median(samples->ratios, samples->good);
    bool more_is_better = strcmp(row->figure, "mb_per_s") == 0;
    bench_print(world, row, bench_scaled(row, block_ns / operations),
                bench_scaled(row, raw_ns / operations), more_is_better ? 1 / ratio : ratio);
}

/* Measures and prints one row; called by all processes, with the same row. Rank 0's
 * clock is the one that counts, and rank 0 decides when there are blocks enough. */
static inline void bench_measure(const struct bench_world *world, const struct bench_row *row,
                                 const struct bench_pair *pair)
{
    static struct bench_samples samples;
    uint64_t operations = bench_calibrate(world, pair);
    uint64_t start_ns = bench_now_ns();
    uint64_t go_on = 1;
    samples.count = 0;
    samples.good = 0;
    while (go_on) {
        bench_run_blocks(pair, operations, BENCH_CHUNK_BLOCKS, &samples);
        go_on = world->agree(samples.count + BENCH_CHUNK_BLOCKS <= BENCH_BLOCKS_MAX &&
                             (double)(bench_now_ns() - start_ns) < BENCH_ROW_NS);
    }
    if (world->rank == 0) {
        bench_conclude(world, row, (double)operations, &samples);
    }
}

static inline double bench_cpu_ns(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* The share of a core that rank 1 uses in `waits`, which rank 0 ends by `wakes` after
 * three seconds. */
static inline void bench_idle(const struct bench_world *world, const char *by, void (*waits)(void),
                              void (*wakes)(void))
{
    struct bench_row row = {
        .test = "idle", .detail = "waits for 3 s", .by = by, .figure = "cpu_percent"};
    (void)world->agree(0);
    if (world->rank == 0) {
        struct timespec pause = {.tv_sec = BENCH_IDLE_SECONDS};
        (void)nanosleep(&pause, NULL);
        wakes();
    } else {
        double cpu_ns = bench_cpu_ns();
        uint64_t start_ns = bench_now_ns();
        waits();
        double passed_ns = (double)(bench_now_ns() - start_ns);
        bench_print(world, &row, 100 * (bench_cpu_ns() - cpu_ns) / passed_ns, 0, 0);
    }
}

/* Runs the tests that the command line names. A library without some test leaves it
 * out of its table; "start" is the caller's to time and has nothing to run. */
static inline int bench_run(const struct bench_world *world, int argc, char **argv,
                            const struct bench_test *tests, size_t count)
{
    int status = 0;
    for (int i = 1; i < argc; i++) {
        void (*run)(void) = NULL;
        for (size_t j = 0; j < count; j++) {
            run = strcmp(argv[i], tests[j].name) == 0 ? tests[j].run : run;
        }
        if (run) {
            run();
        } else if (strcmp(argv[i], "start") != 0) {
            if (world->rank == 0) {
                (void)fprintf(stderr, "%s: there is no test \"%s\"\n", argv[0], argv[i]);
            }
            status = 2;
        }
    }
    return status;
}

#endif
