/* The rows of `dimmnet perf`, and some of OpenSHMEM's own, measured with OpenSHMEM. It keeps
 * to calls of version 1.4, so that it compiles with this project's library and with others. */
#include <shmem.h>

#include "bench.h"

/* In every process's symmetric memory, each on a cache line of its own. */
struct words {
    uint64_t decision[BENCH_LINE_WORDS];
    uint64_t word[BENCH_LINE_WORDS];
    uint64_t flag[BENCH_LINE_WORDS];
    uint64_t counter[BENCH_LINE_WORDS];
    long lock[BENCH_LINE_WORDS];
    uint64_t owner[BENCH_LINE_WORDS];
    uint64_t done[BENCH_LINE_WORDS];
    uint64_t stream[BENCH_STREAM_WORDS];
};

static struct words *words;
static struct bench_world world;

/* As in the heap: the compiler's own alignment would put other variables on its line. */
static uint64_t static_word[BENCH_LINE_WORDS]
    __attribute__((aligned(BENCH_LINE_WORDS * sizeof(uint64_t))));

static uint64_t agree(uint64_t mine)
{
    for (int rank = 0; world.rank == 0 && rank < world.size; rank++) {
        shmem_uint64_p(words->decision, mine, rank);
    }
    shmem_barrier_all();
    uint64_t decided = *(volatile uint64_t *)words->decision;
    shmem_barrier_all();
    return decided;
}

/* ---- Round trips, barriers, waiting -------------------------------------- */

static struct bench_words reach(uint64_t *word)
{
    *word = 0;
    shmem_barrier_all(); /* before the other stores into it */
    void *theirs = world.size == 2 ? shmem_ptr(word, 1 - world.rank) : NULL;
    return (struct bench_words){word, theirs, 0, world.rank == 0};
}

/* With two processes a token's round is a round trip. */
static void pass_round(void *context, uint64_t count)
{
    struct bench_words *game = context;
    int next = (world.rank + 1) % world.size;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (!game->starts) {
            shmem_uint64_wait_until(game->mine, SHMEM_CMP_EQ, value);
        }
        shmem_uint64_p(game->mine, value, next);
        if (game->starts) {
            shmem_uint64_wait_until(game->mine, SHMEM_CMP_EQ, value);
        }
    }
}

static void poll_word(uint64_t value)
{
    while (!shmem_uint64_test(words->word, SHMEM_CMP_EQ, value)) {
        bench_gap();
    }
}

static void pass_polled(void *context, uint64_t count)
{
    struct bench_words *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (!game->starts) {
            poll_word(value);
        }
        shmem_uint64_p(words->word, value, 1 - world.rank);
        if (game->starts) {
            poll_word(value);
        }
    }
}

static void test_aotf(void)
{
    struct bench_row polled = {
        "aotf", "polled by dn_load", "shmem_uint64_p, shmem_uint64_test", "rtt_ns", 8, 0};
    struct bench_row waited = {
        "aotf", "dn_wait_until", "shmem_uint64_p, shmem_uint64_wait_until", "rtt_ns", 8, 0};
    struct bench_words game = reach(words->word);
    struct bench_pair pair = {bench_raw_pingpong, pass_polled, &game, game.theirs != NULL};
    bench_measure(&world, &polled, &pair);
    pair.block = pass_round;
    bench_measure(&world, &waited, &pair);
}

/* The same as aotf by waiting, on a static variable. */
static void test_static(void)
{
    struct bench_row row = {"static", "", "shmem_uint64_p, shmem_uint64_wait_until",
                            "rtt_ns", 8,  0};
    struct bench_words game = reach(static_word);
    bool has_raw = agree(game.theirs != NULL);
    struct bench_pair pair = {bench_raw_pingpong, pass_round, &game, has_raw};
    bench_measure(&world, &row, &pair);
}

static void test_token(void)
{
    struct bench_row row = {"token",  "per hop", "shmem_uint64_p, shmem_uint64_wait_until",
                            "hop_ns", 8,         (uint64_t)world.size};
    struct bench_words game = reach(words->word);
    struct bench_pair pair = {NULL, pass_round, &game, false};
    bench_measure(&world, &row, &pair);
}

static void pass_barriers(void *context, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        shmem_barrier_all();
    }
}

static void test_barrier(void)
{
    struct bench_row row = {"barrier", "", "shmem_barrier_all", "barrier_ns", 0, 0};
    struct bench_words flags = reach(words->flag);
    struct bench_pair pair = {bench_raw_barrier, pass_barriers, &flags, flags.theirs != NULL};
    bench_measure(&world, &row, &pair);
}

/* ---- Reductions -------------------------------------------------------------- */

/* Two of each working array, in turn: who begins a reduction knows that all have ended
 * the one before the last. */
struct reduction {
    struct bench_words flags; /* first: the raw barrier's context */
    double *source;
    double *result;
    double *work[2];
    long *sync[2];
    int count;
    unsigned turn;
};

static void reduce(void *context, uint64_t count)
{
    struct reduction *reduction = context;
    for (uint64_t i = 0; i < count; i++) {
        unsigned turn = reduction->turn++ % 2;
        shmem_double_sum_to_all(reduction->result, reduction->source, reduction->count, 0, 0,
                                world.size, reduction->work[turn], reduction->sync[turn]);
    }
}

/* Version 1.4, which others have, knows active sets only. */
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
static void reduce_on_team(void *context, uint64_t count)
{
    const struct reduction *reduction = context;
    for (uint64_t i = 0; i < count; i++) {
        (void)shmem_double_sum_reduce(SHMEM_TEAM_WORLD, reduction->result, reduction->source,
                                      (size_t)reduction->count);
    }
}
#define REDUCE_ON_TEAM reduce_on_team
#else
#define REDUCE_ON_TEAM NULL
#endif

static void *symmetric_memory(size_t bytes)
{
    void *memory = shmem_align(4096, bytes);
    if (!memory) {
        (void)fprintf(stderr, "no symmetric memory of %zu bytes\n", bytes);
        exit(1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static void open_reduction(struct reduction *reduction)
{
    enum { WORK_COUNT = BENCH_REDUCE_LARGER / sizeof(double) / 2 + 1 };
    size_t work_count = WORK_COUNT > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? WORK_COUNT
                                                                   : SHMEM_REDUCE_MIN_WRKDATA_SIZE;
    reduction->source = symmetric_memory(BENCH_REDUCE_LARGER);
    reduction->result = symmetric_memory(BENCH_REDUCE_LARGER);
    for (int i = 0; i < 2; i++) {
        reduction->work[i] = symmetric_memory(work_count * sizeof(double));
        reduction->sync[i] = symmetric_memory(SHMEM_REDUCE_SYNC_SIZE * sizeof(long));
        for (int j = 0; j < SHMEM_REDUCE_SYNC_SIZE; j++) {
            reduction->sync[i][j] = SHMEM_SYNC_VALUE;
        }
    }
    shmem_barrier_all();
}

static void close_reduction(const struct reduction *reduction)
{
    shmem_barrier_all();
    for (int i = 1; i >= 0; i--) {
        shmem_free(reduction->sync[i]);
        shmem_free(reduction->work[i]);
    }
    shmem_free(reduction->result);
    shmem_free(reduction->source);
}

static void test_reduce(void)
{
    struct bench_row row = {"reduce",    "one double",   "shmem_double_sum_to_all",
                            "reduce_ns", sizeof(double), 0};
    struct reduction reduction = {.flags = reach(words->flag), .count = 1};
    struct bench_pair pair = {bench_raw_barrier, reduce, &reduction,
                              reduction.flags.theirs != NULL};
    struct bench_row on_team = {"reduce",    "one double, team", "shmem_double_sum_reduce",
                                "reduce_ns", sizeof(double),     0};
    struct bench_pair team_pair = {bench_raw_barrier, REDUCE_ON_TEAM, &reduction,
                                   reduction.flags.theirs != NULL};
    open_reduction(&reduction);
    bench_measure(&world, &row, &pair);
    if (team_pair.block) {
        bench_measure(&world, &on_team, &team_pair);
    }
    pair.has_raw = false;
    row.detail = "doubles";
    for (int bytes = BENCH_REDUCE_SMALLER;
         bytes <= BENCH_REDUCE_LARGER && world.size <= BENCH_REDUCE_NODES; bytes *= 16) {
        row.bytes = (uint64_t)bytes;
        reduction.count = bytes / (int)sizeof(double);
        bench_measure(&world, &row, &pair);
    }
    close_reduction(&reduction);
}

/* ---- Locks --------------------------------------------------------------------- */

struct contest {
    struct bench_words game; /* first: the raw ping-pong's context */
    uint64_t *owner;         /* rank + 1 of who had the lock last, in rank 0's memory */
    const uint64_t *theirs_done;
    uint64_t block; /* contested so far */
};

static void lock_alone(void *context, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        shmem_set_lock(words->lock);
        shmem_clear_lock(words->lock);
    }
}

/* As in ours: both take it as fast as they can, until each has had it `count / 2` times
 * from the other; who is done goes on until both are. */
static void lock_contest(void *context, uint64_t count)
{
    struct contest *contest = context;
    uint64_t me = (uint64_t)world.rank + 1;
    uint64_t block = ++contest->block;
    uint64_t changes = 0;
    bool done = false;
    while (!done || __atomic_load_n(contest->theirs_done, __ATOMIC_ACQUIRE) < block) {
        shmem_set_lock(words->lock);
        if (__atomic_load_n(contest->owner, __ATOMIC_RELAXED) != me) {
            __atomic_store_n(contest->owner, me, __ATOMIC_RELAXED);
            changes++;
        }
        shmem_clear_lock(words->lock);
        if (!done && changes >= count / 2) {
            done = true;
            __atomic_store_n(words->done, block, __ATOMIC_RELEASE);
        }
    }
}

static void test_lock(void)
{
    struct bench_row alone = {
        "lock", "take and give", "shmem_set_lock, shmem_clear_lock", "lock_ns", 0, 0};
    struct bench_row change = {
        "lock", "change of owner", "shmem_set_lock, shmem_clear_lock", "change_ns", 0, 0};
    struct bench_pair pair = {NULL, world.rank == 0 ? lock_alone : NULL, NULL, false};
    bench_measure(&world, &alone, &pair);
    struct contest contest = {.game = reach(words->word),
                              .owner = shmem_ptr(words->owner, 0),
                              .theirs_done = shmem_ptr(words->done, 1 - world.rank)};
    if (agree(contest.game.theirs && contest.owner && contest.theirs_done)) {
        pair = (struct bench_pair){bench_raw_pingpong, lock_contest, &contest, true};
        bench_measure(&world, &change, &pair);
    }
}

static void idle_waits(void)
{
    shmem_uint64_wait_until(words->word, SHMEM_CMP_NE, 0);
}

static void idle_wakes(void)
{
    shmem_uint64_p(words->word, 1, 1);
}

static void test_idle(void)
{
    *words->word = 0;
    bench_idle(&world, "shmem_uint64_wait_until", idle_waits, idle_wakes);
}

/* ---- Puts, gets, atomics: from rank 0 into rank 1 ------------------------- */

static void put_words(void *context, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        shmem_uint64_p(&words->stream[i % BENCH_STREAM_WORDS], i, 1);
    }
    shmem_quiet();
}

static void test_rate(void)
{
    struct bench_row stored = {"rate", "through the pointer", "shmem_ptr", "per_s", 8, 0};
    struct bench_row put = {
        "rate", "through dn_store", "shmem_uint64_p, one shmem_quiet per block", "per_s", 8, 0};
    bool works = world.rank == 0;
    void *theirs = shmem_ptr(words->stream, 1);
    struct bench_pair pair = {NULL, works ? bench_raw_stream : NULL, theirs, false};
    if (agree(theirs != NULL)) {
        bench_measure(&world, &stored, &pair);
    }
    pair.block = works ? put_words : NULL;
    bench_measure(&world, &put, &pair);
}

/* Symmetric memory: `mine` is the source as well as the target's address. */
static void put_block(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        shmem_putmem(copy->mine, copy->mine, copy->bytes, 1);
    }
}

static void put_block_and_quiet(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        shmem_putmem(copy->mine, copy->mine, copy->bytes, 1);
        shmem_quiet();
    }
}

static void get_block(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        shmem_getmem(copy->mine, copy->mine, copy->bytes, 1);
    }
}

static void measure_sizes(const char *test, const char *by, bench_block raw, bench_block block)
{
    struct bench_copy copy = {.mine = shmem_align(4096, BENCH_LARGEST)};
    if (!copy.mine) {
        (void)fprintf(stderr, "no symmetric memory of 64 MB\n");
        exit(1);
    }
    memset(copy.mine, 1, BENCH_LARGEST);
    copy.theirs = shmem_ptr(copy.mine, 1);
    bool works = world.rank == 0;
    struct bench_pair pair = {works ? raw : NULL, works ? block : NULL, &copy,
                              agree(copy.theirs != NULL)};
    for (int i = 0; i < BENCH_SIZE_COUNT; i++) {
        struct bench_row row = {test, "", by, "mb_per_s", bench_sizes[i], 0};
        copy.bytes = bench_sizes[i];
        bench_measure(&world, &row, &pair);
    }
    shmem_free(copy.mine);
}

static void test_botf(void)
{
    measure_sizes("botf", "shmem_putmem", bench_raw_write, put_block);
}

static void test_push(void)
{
    measure_sizes("push", "shmem_putmem, shmem_quiet", bench_raw_write, put_block_and_quiet);
}

static void test_pull(void)
{
    measure_sizes("pull", "shmem_getmem", bench_raw_read, get_block);
}

/* Open MPI has these not for uint64_t, which is unsigned long wherever it runs. */
static void fetch_add(void *context, uint64_t count)
{
    uint64_t *sum = context;
    for (uint64_t i = 0; i < count; i++) {
        *sum += shmem_ulong_atomic_fetch_add(words->counter, 1, 1);
    }
}

static void compare_swap(void *context, uint64_t count)
{
    uint64_t *sum = context;
    for (uint64_t i = 0; i < count; i++) {
        *sum += shmem_ulong_atomic_compare_swap(words->counter, i, i + 1, 1);
    }
}

static void test_atomic(void)
{
    uint64_t sum = 0;
    bool works = world.rank == 0;
    struct bench_row add = {"atomic", "fetch-add", "shmem_ulong_atomic_fetch_add", "op_ns", 8, 0};
    struct bench_row swap = {
        "atomic", "compare-swap", "shmem_ulong_atomic_compare_swap", "op_ns", 8, 0};
    struct bench_pair pair = {NULL, works ? fetch_add : NULL, &sum, false};
    bench_measure(&world, &add, &pair);
    pair.block = works ? compare_swap : NULL;
    bench_measure(&world, &swap, &pair);
}

/* The caller times the whole run as well; this is what the program itself sees. */
static void print_start(double start_ns)
{
    struct bench_row row = {
        "start", "init to finalize", "shmem_init, shmem_finalize", "start_ns", 0, 0};
    if (world.rank == 0) {
        bench_print(&world, &row, start_ns, 0, 0);
    }
}

int main(int argc, char **argv)
{
    static const struct bench_test tests[] = {
        {"aotf", test_aotf},       {"static", test_static}, {"rate", test_rate},
        {"botf", test_botf},       {"push", test_push},     {"pull", test_pull},
        {"atomic", test_atomic},   {"idle", test_idle},     {"token", test_token},
        {"barrier", test_barrier}, {"reduce", test_reduce}, {"lock", test_lock},
    };
    bool only_starts = argc == 2 && strcmp(argv[1], "start") == 0;
    uint64_t begun_ns = bench_now_ns();
    shmem_init();
    world = (struct bench_world){shmem_my_pe(), shmem_n_pes(), agree};
    int status = 0;
    if (!only_starts) {
        words = shmem_align(4096, sizeof *words);
        if (!words) {
            return 1;
        }
        memset(words, 0, sizeof *words);
        shmem_barrier_all();
        status = bench_run(&world, argc, argv, tests, sizeof tests / sizeof tests[0]);
        shmem_barrier_all();
    }
    shmem_finalize();
    if (only_starts) {
        print_start((double)(bench_now_ns() - begun_ns));
    }
    return status;
}
