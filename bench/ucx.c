/* The rows of `dimmnet perf` that two processes can measure with UCX's UCP alone, over
 * its shared-memory transports. UCP brings neither a launcher nor collectives: the
 * second process is forked, and the two agree through a pair of sockets. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "bench.h"

/* Each process's memory: a line for each word, the stream, then the blocks. */
enum {
    WORD_OFFSET = 0,
    COUNTER_OFFSET = BENCH_LINE_WORDS * sizeof(uint64_t),
    STREAM_OFFSET = 4096,
    BLOCK_OFFSET = 8192,
    MEMORY_BYTES = BLOCK_OFFSET + BENCH_LARGEST,
};

static struct bench_world world;
static int other_fd;
static ucp_worker_h worker;
static ucp_ep_h other;
static unsigned char *mine;
static uint64_t theirs; /* the other's memory: its address there, and its key */
static ucp_rkey_h key;

static void fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "ucx: %s: %s\n", what, why);
    exit(1);
}

static void demand(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fail(what, ucs_status_string(status));
    }
}

/* An operation that has not completed at once is driven until it has. */
static inline void finish(ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            (void)ucp_worker_progress(worker);
        }
        ucp_request_free(request);
    } else if (UCS_PTR_IS_ERR(request)) {
        demand(UCS_PTR_STATUS(request), "an operation");
    }
}

static const ucp_request_param_t plain;

static inline void put(uint64_t offset, const void *source, size_t bytes)
{
    finish(ucp_put_nbx(other, source, bytes, theirs + offset, key, &plain));
}

static inline void flush(void)
{
    finish(ucp_ep_flush_nbx(other, &plain));
}

/* ---- Two processes and their words to each other -------------------------- */

static void send_bytes(const void *source, size_t bytes)
{
    if (send(other_fd, source, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) {
        fail("send", "the other process has ended");
    }
}

static void receive_bytes(void *target, size_t bytes)
{
    if (recv(other_fd, target, bytes, MSG_WAITALL) != (ssize_t)bytes) {
        fail("receive", "the other process has ended");
    }
}

static uint64_t agree(uint64_t mine_value)
{
    uint64_t answer;
    if (world.rank == 0) {
        send_bytes(&mine_value, sizeof mine_value);
        receive_bytes(&answer, sizeof answer);
        return mine_value;
    }
    receive_bytes(&answer, sizeof answer);
    send_bytes(&answer, sizeof answer);
    return answer;
}

/* Gives a copy of mine for a copy of theirs, which the caller frees. */
static void *exchange(const void *source, size_t bytes)
{
    size_t their_bytes;
    send_bytes(&bytes, sizeof bytes);
    send_bytes(source, bytes);
    receive_bytes(&their_bytes, sizeof their_bytes);
    void *copy = malloc(their_bytes);
    if (!copy) {
        fail("exchange", "no memory");
    }
    receive_bytes(copy, their_bytes);
    return copy;
}

/* One core for each, when there are two: what the launchers of the others do. */
static void pin(void)
{
    cpu_set_t allowed;
    cpu_set_t one;
    int seen = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) {
        return;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && seen++ == world.rank) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
        }
    }
}

/* Starts rank 1; its pid in rank 0, 0 in rank 1. It ends when rank 0 does. */
static pid_t split(void)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) {
        fail("socketpair", "no sockets");
    }
    pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0) {
        fail("fork", "no process");
    }
    world = (struct bench_world){child ? 0 : 1, 2, agree};
    if (!child) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) {
            _exit(1);
        }
    }
    other_fd = fds[world.rank];
    (void)close(fds[1 - world.rank]);
    pin();
    return child;
}

static ucp_context_h open_context(void)
{
    ucp_config_t *config;
    ucp_context_h context;
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                           .features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64};
    demand(ucp_config_read(NULL, NULL, &config), "its settings");
    demand(ucp_config_modify(config, "TLS", "posix,sysv"), "its shared-memory transports");
    demand(ucp_config_modify(config, "ATOMIC_MODE", "cpu"), "atomics by the processor");
    demand(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    return context;
}

/* Memory that the library allocates itself is memory it can share. */
static void open_memory(ucp_context_h context, ucp_mem_h *memory)
{
    ucp_mem_map_params_t params = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                                                 UCP_MEM_MAP_PARAM_FIELD_FLAGS,
                                   .length = MEMORY_BYTES,
                                   .flags = UCP_MEM_MAP_ALLOCATE};
    ucp_mem_attr_t attributes = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
    demand(ucp_mem_map(context, &params, memory), "ucp_mem_map");
    demand(ucp_mem_query(*memory, &attributes), "ucp_mem_query");
    mine = attributes.address;
    memset(mine, 0, MEMORY_BYTES);
}

static void connect_other(ucp_context_h context, ucp_mem_h memory)
{
    ucp_worker_params_t worker_params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                         .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_ep_params_t ep_params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    void *packed;
    size_t bytes;
    demand(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
    demand(ucp_worker_get_address(worker, &address, &bytes), "ucp_worker_get_address");
    void *their_address = exchange(address, bytes);
    ep_params.address = their_address;
    demand(ucp_ep_create(worker, &ep_params, &other), "ucp_ep_create");
    demand(ucp_rkey_pack(context, memory, &packed, &bytes), "ucp_rkey_pack");
    void *their_key = exchange(packed, bytes);
    demand(ucp_ep_rkey_unpack(other, their_key, &key), "ucp_ep_rkey_unpack");
    void *their_base = exchange(&mine, sizeof mine);
    memcpy(&theirs, their_base, sizeof theirs);
    ucp_rkey_buffer_release(packed);
    ucp_worker_release_address(worker, address);
    free(their_address);
    free(their_key);
    free(their_base);
}

/* ---- The tests ------------------------------------------------------------ */

/* The other's memory as a plain pointer. */
static void *reach(uint64_t offset)
{
    void *pointer = NULL;
    demand(ucp_rkey_ptr(key, theirs + offset, &pointer), "ucp_rkey_ptr");
    return pointer;
}

static void put_back_and_forth(void *context, uint64_t count)
{
    struct bench_words *game = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++game->value;
        if (!game->starts) {
            bench_wait_for(game->mine, value);
        }
        put(WORD_OFFSET, &value, sizeof value);
        flush();
        if (game->starts) {
            bench_wait_for(game->mine, value);
        }
    }
}

static void test_aotf(void)
{
    struct bench_row row = {
        "aotf", "polled by dn_load", "ucp_put_nbx, ucp_ep_flush_nbx", "rtt_ns", 8, 0};
    struct bench_words game = {(uint64_t *)(void *)(mine + WORD_OFFSET), reach(WORD_OFFSET), 0,
                               world.rank == 0};
    struct bench_pair pair = {bench_raw_pingpong, put_back_and_forth, &game, true};
    bench_measure(&world, &row, &pair);
}

static void put_words(void *context, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        put(STREAM_OFFSET + i % BENCH_STREAM_WORDS * sizeof i, &i, sizeof i);
    }
    flush();
}

static void test_rate(void)
{
    struct bench_row stored = {"rate", "through the pointer", "ucp_rkey_ptr", "per_s", 8, 0};
    struct bench_row put_row = {
        "rate", "through dn_store", "ucp_put_nbx, one ucp_ep_flush_nbx per block", "per_s", 8, 0};
    bool works = world.rank == 0;
    struct bench_pair pair = {NULL, works ? bench_raw_stream : NULL, reach(STREAM_OFFSET), false};
    bench_measure(&world, &stored, &pair);
    pair.block = works ? put_words : NULL;
    bench_measure(&world, &put_row, &pair);
}

static void put_block(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        put(BLOCK_OFFSET, copy->mine, copy->bytes);
    }
}

static void put_block_and_flush(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        put(BLOCK_OFFSET, copy->mine, copy->bytes);
        flush();
    }
}

static void get_block(void *context, uint64_t count)
{
    struct bench_copy *copy = context;
    for (uint64_t i = 0; i < count; i++) {
        finish(ucp_get_nbx(other, copy->mine, copy->bytes, theirs + BLOCK_OFFSET, key, &plain));
    }
}

static void measure_sizes(const char *test, const char *by, bench_block raw, bench_block block)
{
    struct bench_copy copy = {mine + BLOCK_OFFSET, reach(BLOCK_OFFSET), 0};
    bool works = world.rank == 0;
    struct bench_pair pair = {works ? raw : NULL, works ? block : NULL, &copy, true};
    for (int i = 0; i < BENCH_SIZE_COUNT; i++) {
        struct bench_row row = {test, "", by, "mb_per_s", bench_sizes[i], 0};
        copy.bytes = bench_sizes[i];
        bench_measure(&world, &row, &pair);
    }
}

static void test_botf(void)
{
    measure_sizes("botf", "ucp_put_nbx", bench_raw_write, put_block);
}

static void test_push(void)
{
    measure_sizes("push", "ucp_put_nbx, ucp_ep_flush_nbx", bench_raw_write, put_block_and_flush);
}

static void test_pull(void)
{
    measure_sizes("pull", "ucp_get_nbx", bench_raw_read, get_block);
}

/* `reply` brings in what the operation needs and takes out the old value. */
static inline void fetching_atomic(ucp_atomic_op_t operation, const uint64_t *operand,
                                   uint64_t *reply)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE |
                                                 UCP_OP_ATTR_FIELD_REPLY_BUFFER,
                                 .datatype = ucp_dt_make_contig(sizeof *operand),
                                 .reply_buffer = reply};
    finish(ucp_atomic_op_nbx(other, operation, operand, 1, theirs + COUNTER_OFFSET, key, &param));
}

static void fetch_add(void *context, uint64_t count)
{
    static const uint64_t one = 1;
    uint64_t *sum = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t old = 0;
        fetching_atomic(UCP_ATOMIC_OP_ADD, &one, &old);
        *sum += old;
    }
}

static void compare_swap(void *context, uint64_t count)
{
    uint64_t *sum = context;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t old = i + 1; /* in: the value to write */
        fetching_atomic(UCP_ATOMIC_OP_CSWAP, &i, &old);
        *sum += old;
    }
}

static void test_atomic(void)
{
    uint64_t sum = 0;
    bool works = world.rank == 0;
    struct bench_row add = {"atomic", "fetch-add", "ucp_atomic_op_nbx", "op_ns", 8, 0};
    struct bench_row swap = {"atomic", "compare-swap", "ucp_atomic_op_nbx", "op_ns", 8, 0};
    struct bench_pair pair = {NULL, works ? fetch_add : NULL, &sum, false};
    bench_measure(&world, &add, &pair);
    pair.block = works ? compare_swap : NULL;
    bench_measure(&world, &swap, &pair);
}

int main(int argc, char **argv)
{
    static const struct bench_test tests[] = {
        {"aotf", test_aotf}, {"rate", test_rate}, {"botf", test_botf},
        {"push", test_push}, {"pull", test_pull}, {"atomic", test_atomic},
    };
    ucp_mem_h memory;
    pid_t child = split();
    ucp_context_h context = open_context();
    open_memory(context, &memory);
    connect_other(context, memory);
    flush();
    (void)agree(0);
    int status = bench_run(&world, argc, argv, tests, sizeof tests / sizeof tests[0]);
    (void)agree(0);
    ucp_rkey_destroy(key);
    finish(ucp_ep_close_nbx(other, &plain));
    ucp_worker_destroy(worker);
    demand(ucp_mem_unmap(context, memory), "ucp_mem_unmap");
    ucp_cleanup(context);
    if (child) {
        int child_status = 1;
        status = waitpid(child, &child_status, 0) == child && child_status == 0 ? status : 1;
    }
    return status;
}
