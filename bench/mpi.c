/* The rows of `dimmnet perf`, measured with MPI: built once against each MPI library.
 *
 * A wait for a word is a wait for a message, which is what MPI programs do; a poll for it is a poll
 * for a one-sided put. Blocks and atomics are one-sided, too, in a window that the library
 * allocates: it can place that where neighbours reach it. */
#include <mpi.h>

#include "bench.h"

/* The words' window: a line for each word, then the stream. */
enum {
    WORD = 0,
    COUNTER = BENCH_LINE_WORDS,
    STREAM = 2 * BENCH_LINE_WORDS,
    WORDS_BYTES = (STREAM + BENCH_STREAM_WORDS) * sizeof(uint64_t),
};

/* A window of MPI_Win_allocate_shared gives plain pointers, so the limit is measured in
 * the very same memory. MPICH's puts are slower in it than in one of MPI_Win_allocate. */
#if defined(MPICH)
enum { SHARED_IS_AS_FAST = false };
#else
enum { SHARED_IS_AS_FAST = true };
#endif

struct window {
    MPI_Win handle;
    void *mine;
    void *theirs; /* the other's of two processes; NULL: not shared */
};

/* Open during a test that uses it: the words' or the blocks'. */
static struct window window;
static uint64_t *words; /* mine, in the window */
static struct bench_world world;

static uint64_t agree(uint64_t mine)
{
    (void)MPI_Bcast(&mine, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    (void)MPI_Barrier(MPI_COMM_WORLD);
    return mine;
}

/* ---- Memory ---------------------------------------------------------------- */

/* An error needs no test here: MPI ends the program, unless told otherwise. */
static struct window open_window(size_t bytes, bool shared)
{
    struct window opened = {.theirs = NULL};
    MPI_Aint asked = (MPI_Aint)bytes;
    MPI_Info info;
    (void)MPI_Info_create(&info);
    (void)MPI_Info_set(info, "alloc_shared_noncontig", "true"); /* on pages of its own */
    if (shared) {
        int unit;
        (void)MPI_Win_allocate_shared(asked, 1, info, MPI_COMM_WORLD, &opened.mine, &opened.handle);
        (void)MPI_Win_shared_query(opened.handle, 1 - world.rank, &asked, &unit, &opened.theirs);
    } else {
        (void)MPI_Win_allocate(asked, 1, info, MPI_COMM_WORLD, &opened.mine, &opened.handle);
    }
    (void)MPI_Info_free(&info);
    memset(opened.mine, 0, bytes);
    (void)MPI_Win_lock_all(MPI_MODE_NOCHECK, opened.handle);
    (void)MPI_Win_sync(opened.handle);
    (void)MPI_Barrier(MPI_COMM_WORLD);
    return opened;
}

static void close_window(struct window *opened)
{
    (void)MPI_Win_unlock_all(opened->handle);
    (void)MPI_Win_free(&opened->handle);
}

static void open_words(void)
{
    window = open_window(WORDS_BYTES, SHARED_IS_AS_FAST);
    words = window.mine;
}

/* ---- Round trips, barriers, waiting -------------------------------------- */

static void send_value(uint64_t value, int rank)
{
    (void)MPI_Send(&value, 1, MPI_UINT64_T, rank, 0, MPI_COMM_WORLD);
}

static void receive_value(int rank)
{
    uint64_t value;
    (void)MPI_Recv(&value, 1, MPI_UINT64_T, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* With two processes a token's round is a round trip. */
static void send_round(void *context, uint64_t count)
{
    int next = (world.rank + 1) % world.size;
    int previous = (world.rank + world.size - 1) % world.size;
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        if (world.rank != 0) {
            receive_value(previous);
        }
        send_value(i, next);
        if (world.rank == 0) {
            receive_value(previous);
        }
    }
}

static void put_word(const uint64_t *value, int rank, MPI_Aint index)
{
    (void)MPI_Put(value, 1, MPI_UINT64_T, rank, index * (MPI_Aint)sizeof *value, 1, MPI_UINT64_T,
                  window.handle);
}

/* Polls memory, and now and then lets the library work: some need it for a put to be
 * placed. */
static void poll_word(uint64_t value)
{
    enum { POLLS_BETWEEN = 100 };
    for (unsigned polls = 1; __atomic_load_n(&words[WORD], __ATOMIC_ACQUIRE) != value; polls++) {
        int flag;
        bench_gap();
        if (polls % POLLS_BETWEEN == 0) {
            (void)MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
}

static void put_back_and_forth(void *context, uint64_t count)
{
    struct bench_words *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (!game->starts) {
            poll_word(value);
        }
        put_word(&value, 1 - world.rank, WORD);
        (void)MPI_Win_flush(1 - world.rank, window.handle);
        if (game->starts) {
            poll_word(value);
        }
    }
}

static void test_aotf(void)
{
    struct bench_row polled = {"aotf", "polled by dn_load", "MPI_Put, MPI_Win_flush", "rtt_ns", 8,
                               0};
    struct bench_row waited = {"aotf", "dn_wait_until", "MPI_Send, MPI_Recv", "rtt_ns", 8, 0};
    open_words();
    struct window raw = window.theirs ? window : open_window(WORDS_BYTES, true);
    struct bench_words game = {raw.mine, raw.theirs, 0, world.rank == 0};
    struct bench_pair pair = {bench_raw_pingpong, put_back_and_forth, &game, true};
    int *model = NULL;
    int found = 0;
    /* Only in this model may a put be seen by plain loads. */
    (void)MPI_Win_get_attr(window.handle, MPI_WIN_MODEL, &model, &found);
    if (found && *model == MPI_WIN_UNIFIED) {
        bench_measure(&world, &polled, &pair);
    }
    pair.block = send_round;
    bench_measure(&world, &waited, &pair);
    if (!window.theirs) {
        close_window(&raw);
    }
    close_window(&window);
}

static void test_token(void)
{
    struct bench_row row = {"token",  "per hop", "MPI_Send, MPI_Recv",
                            "hop_ns", 8,         (uint64_t)world.size};
    struct bench_pair pair = {NULL, send_round, NULL, false};
    bench_measure(&world, &row, &pair);
}

static void pass_barriers(void *context, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        (void)MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void test_barrier(void)
{
    struct bench_row row = {"barrier", "", "MPI_Barrier", "barrier_ns", 0, 0};
    struct bench_pair pair = {NULL, pass_barriers, NULL, false};
    if (world.size != 2) {
        bench_measure(&world, &row, &pair);
        return;
    }
    struct window raw = open_window(WORDS_BYTES, true);
    struct bench_words flags = {raw.mine, raw.theirs, 0, world.rank == 0};
    pair = (struct bench_pair){bench_raw_barrier, pass_barriers, &flags, true};
    bench_measure(&world, &row, &pair);
    close_window(&raw);
}

/* ---- Reductions -------------------------------------------------------------- */

struct reduction {
    struct bench_words flags; /* first: the raw barrier's context */
    double *source;
    double *result;
    int count;
};

static void reduce(void *context, uint64_t count)
{
    struct reduction *reduction = context;
    for (uint64_t i = 0; i < count; i++) {
        (void)MPI_Allreduce(reduction->source, reduction->result, reduction->count, MPI_DOUBLE,
                            MPI_SUM, MPI_COMM_WORLD);
    }
}

static void *ordinary_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        (void)fprintf(stderr, "no memory of %zu bytes\n", bytes);
        (void)MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(memory, 0, bytes);
    return memory;
}

static void test_reduce(void)
{
    struct bench_row row = {"reduce",    "one double",   "MPI_Allreduce",
                            "reduce_ns", sizeof(double), 0};
    struct reduction reduction = {.source = ordinary_memory(BENCH_REDUCE_LARGER),
                                  .result = ordinary_memory(BENCH_REDUCE_LARGER),
                                  .count = 1};
    struct bench_pair pair = {bench_raw_barrier, reduce, &reduction, world.size == 2};
    if (world.size == 2) {
        struct window raw = open_window(WORDS_BYTES, true);
        reduction.flags = (struct bench_words){raw.mine, raw.theirs, 0, world.rank == 0};
        bench_measure(&world, &row, &pair);
        close_window(&raw);
    } else {
        bench_measure(&world, &row, &pair);
    }
    pair.has_raw = false;
    row.detail = "doubles";
    for (int bytes = BENCH_REDUCE_SMALLER;
         bytes <= BENCH_REDUCE_LARGER && world.size <= BENCH_REDUCE_NODES; bytes *= 16) {
        row.bytes = (uint64_t)bytes;
        reduction.count = bytes / (int)sizeof(double);
        bench_measure(&world, &row, &pair);
    }
    free(reduction.source);
    free(reduction.result);
}

/* ---- Messages: from rank 0 to rank 1 ---------------------------------------- */

enum { MESSAGE_WINDOW = 64 }; /* under way at once, and places that messages use in turn */

struct stream {
    unsigned char *memory; /* of MESSAGE_WINDOW messages */
    size_t bytes;
    uint64_t turn;
};

static unsigned char *next_place(struct stream *stream)
{
    return stream->memory + stream->turn++ % MESSAGE_WINDOW * stream->bytes;
}

/* A word back, so that the block's time is the receiver's, too. */
static void end_stream(void)
{
    if (world.rank == 0) {
        receive_value(1);
    } else {
        send_value(0, 0);
    }
}

static void stream_one_by_one(void *context, uint64_t count)
{
    struct stream *stream = context;
    int bytes = (int)stream->bytes;
    for (uint64_t i = 0; i < count; i++) {
        if (world.rank == 0) {
            (void)MPI_Send(next_place(stream), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        } else {
            (void)MPI_Recv(next_place(stream), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
        }
    }
    end_stream();
}

static void stream_in_windows(void *context, uint64_t count)
{
    struct stream *stream = context;
    int bytes = (int)stream->bytes;
    MPI_Request requests[MESSAGE_WINDOW];
    MPI_Status statuses[MESSAGE_WINDOW]; /* gcc warns of MPICH's MPI_STATUSES_IGNORE */
    for (uint64_t done = 0; done < count;) {
        int some = count - done < MESSAGE_WINDOW ? (int)(count - done) : MESSAGE_WINDOW;
        for (int i = 0; i < some; i++) {
            if (world.rank == 0) {
                (void)MPI_Isend(next_place(stream), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD,
                                &requests[i]);
            } else {
                (void)MPI_Irecv(next_place(stream), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                                &requests[i]);
            }
        }
        (void)MPI_Waitall(some, requests, statuses);
        done += (uint64_t)some;
    }
    end_stream();
}

static void measure_stream(const char *detail, const char *figure, unsigned char *memory,
                           size_t bytes)
{
    enum { SMALL_TRIES = 20000, LARGE_TRIES = 16 };
    struct stream stream = {memory, bytes, 0};
    bench_block block = bench_faster(&world, stream_one_by_one, stream_in_windows, &stream,
                                     bytes > 8 ? LARGE_TRIES : SMALL_TRIES);
    struct bench_row row = {"sendrecv",
                            detail,
                            block == stream_one_by_one ? "MPI_Send, MPI_Recv"
                                                       : "MPI_Isend, MPI_Irecv, MPI_Waitall",
                            figure,
                            bytes,
                            0};
    struct bench_pair pair = {NULL, block, &stream, false};
    bench_measure(&world, &row, &pair);
}

static void test_sendrecv(void)
{
    enum { LARGE_BYTES = 1 << 20 };
    size_t memory_bytes = (size_t)MESSAGE_WINDOW * LARGE_BYTES;
    struct bench_row trip = {"sendrecv", "round trip", "MPI_Send, MPI_Recv", "rtt_ns", 8, 0};
    struct window raw = open_window(WORDS_BYTES, true);
    struct bench_words game = {raw.mine, raw.theirs, 0, world.rank == 0};
    struct bench_pair pair = {bench_raw_pingpong, send_round, &game, true};
    bench_measure(&world, &trip, &pair);
    close_window(&raw);

    unsigned char *anywhere = ordinary_memory(memory_bytes);
    unsigned char *library = NULL;
    (void)MPI_Alloc_mem((MPI_Aint)memory_bytes, MPI_INFO_NULL, &library);
    memset(library, 0, memory_bytes);
    measure_stream("messages per second", "per_s", anywhere, 8);
    measure_stream("from library memory", "mb_per_s", library, LARGE_BYTES);
    measure_stream("from any memory", "mb_per_s", anywhere, LARGE_BYTES);
    (void)MPI_Free_mem(library);
    free(anywhere);
}

static void idle_waits(void)
{
    receive_value(0);
}

static void idle_wakes(void)
{
    send_value(1, 1);
}

static void test_idle(void)
{
    bench_idle(&world, "MPI_Recv", idle_waits, idle_wakes);
}

/* ---- Puts, gets, atomics: from rank 0 into rank 1 ------------------------- */

static void put_words(void *context, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        put_word(&words[WORD], 1, (MPI_Aint)(STREAM + i % BENCH_STREAM_WORDS));
    }
    (void)MPI_Win_flush(1, window.handle);
}

static void test_rate(void)
{
    struct bench_row stored = {"rate", "through the pointer", "MPI_Win_shared_query", "per_s", 8,
                               0};
    struct bench_row put = {
        "rate", "through dn_store", "MPI_Put, one MPI_Win_flush per block", "per_s", 8, 0};
    bool works = world.rank == 0;
    struct window raw = open_window(WORDS_BYTES, true);
    struct bench_pair pair = {NULL, works ? bench_raw_stream : NULL, raw.theirs, false};
    bench_measure(&world, &stored, &pair);
    close_window(&raw);
    open_words();
    pair.block = works ? put_words : NULL;
    bench_measure(&world, &put, &pair);
    close_window(&window);
}

static void put_and_flush_local(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    int bytes = (int)copy->bytes;
    for (uint64_t i = 0; i < count; i++) {
        (void)MPI_Put(window.mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window.handle);
        (void)MPI_Win_flush_local(1, window.handle);
    }
}

static void put_and_flush(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    int bytes = (int)copy->bytes;
    for (uint64_t i = 0; i < count; i++) {
        (void)MPI_Put(window.mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window.handle);
        (void)MPI_Win_flush(1, window.handle);
    }
}

static void get_and_flush(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    int bytes = (int)copy->bytes;
    for (uint64_t i = 0; i < count; i++) {
        (void)MPI_Get(window.mine, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window.handle);
        (void)MPI_Win_flush(1, window.handle);
    }
}

static void measure_sizes(const char *test, const char *by, bench_block raw, bench_block block)
{
    window = open_window(BENCH_LARGEST, SHARED_IS_AS_FAST);
    struct bench_copy copy = {window.mine, window.theirs, 0};
    bool works = world.rank == 0;
    struct bench_pair pair = {works ? raw : NULL, works ? block : NULL, &copy,
                              window.theirs != NULL};
    for (int i = 0; i < BENCH_SIZE_COUNT; i++) {
        struct bench_row row = {test, "", by, "mb_per_s", bench_sizes[i], 0};
        copy.bytes = bench_sizes[i];
        bench_measure(&world, &row, &pair);
    }
    close_window(&window);
}

static void test_botf(void)
{
    measure_sizes("botf", "MPI_Put, MPI_Win_flush_local", bench_raw_write, put_and_flush_local);
}

static void test_push(void)
{
    measure_sizes("push", "MPI_Put, MPI_Win_flush", bench_raw_write, put_and_flush);
}

static void test_pull(void)
{
    measure_sizes("pull", "MPI_Get, MPI_Win_flush", bench_raw_read, get_and_flush);
}

static void fetch_add(void *context, uint64_t count)
{
    static const uint64_t one = 1;
    uint64_t *sum = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t old = 0;
        (void)MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, 1, COUNTER * (MPI_Aint)sizeof old, MPI_SUM,
                               window.handle);
        (void)MPI_Win_flush(1, window.handle);
        *sum += old;
    }
}

static void compare_swap(void *context, uint64_t count)
{
    uint64_t *sum = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t wanted = i + 1;
        uint64_t old = 0;
        (void)MPI_Compare_and_swap(&wanted, &i, &old, MPI_UINT64_T, 1,
                                   COUNTER * (MPI_Aint)sizeof old, window.handle);
        (void)MPI_Win_flush(1, window.handle);
        *sum += old;
    }
}

static void test_atomic(void)
{
    struct bench_row add = {"atomic", "fetch-add", "MPI_Fetch_and_op, MPI_Win_flush",
                            "op_ns",  8,           0};
    struct bench_row swap = {
        "atomic", "compare-swap", "MPI_Compare_and_swap, MPI_Win_flush", "op_ns", 8, 0};
    uint64_t sum = 0;
    bool works = world.rank == 0;
    struct bench_pair pair = {NULL, works ? fetch_add : NULL, &sum, false};
    open_words();
    bench_measure(&world, &add, &pair);
    pair.block = works ? compare_swap : NULL;
    bench_measure(&world, &swap, &pair);
    close_window(&window);
}

int main(int argc, char **argv)
{
    static const struct bench_test tests[] = {
        {"aotf", test_aotf},     {"rate", test_rate},         {"botf", test_botf},
        {"push", test_push},     {"pull", test_pull},         {"atomic", test_atomic},
        {"idle", test_idle},     {"barrier", test_barrier},   {"token", test_token},
        {"reduce", test_reduce}, {"sendrecv", test_sendrecv},
    };
    (void)MPI_Init(&argc, &argv);
    world.agree = agree;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    int status = bench_run(&world, argc, argv, tests, sizeof tests / sizeof tests[0]);
    (void)MPI_Finalize();
    return status;
}
