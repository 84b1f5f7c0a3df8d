/* A node for run_trace.sh: two nodes join and then do what the test wants.
 *
 *     rounds N   node 0 stores 1 to N to node 1, which answers each; says how long a round took
 *     kinds      node 0 sends in every way, and node 1 waits for each
 *     killed     node 1 is killed inside a call, and node 0 learns of it
 *     threads    two threads of each node make calls at the same time
 *     fork       a child of each node makes calls, and nothing of it is recorded
 */
#include <dimmnet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND UINT64_C(1000000000)
#define PATIENCE_NS (60 * NS_PER_SECOND)

enum { WORDS = 512, CALLS = 1000, CHANNEL = 7 };

static struct dn_node *node;
static int rank;
static uint64_t *words; /* of this node's LLCM */

static void check(int line, int error)
{
    if (error) {
        fprintf(stderr, "node %d, line %d: %s\n", rank, line, dn_strerror(error));
        exit(1);
    }
}
#define CHECK(call) check(__LINE__, (call))

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/* The other node's word with this number. */
static struct dn_remote there(unsigned number)
{
    return (struct dn_remote){
        .rank = 1 - rank, .area = DN_LLCM, .offset = number * sizeof(uint64_t)};
}

static void await(unsigned number, uint64_t value)
{
    CHECK(dn_wait_until_u64(node, &words[number], DN_GE, value, PATIENCE_NS));
}

static void rounds(uint64_t count)
{
    struct dn_kick kick;
    CHECK(dn_kick_map(node, there(0), sizeof(uint64_t), &kick));
    CHECK(dn_barrier(dn_team_all(node), PATIENCE_NS));
    uint64_t begin_ns = now_ns();
    for (uint64_t i = 1; i <= count; i++) {
        if (rank == 0) {
            dn_store_u64(&kick, 0, i);
        }
        await(0, i);
        if (rank == 1) {
            dn_store_u64(&kick, 0, i);
        }
    }
    if (rank == 0) {
        printf("%.1f ns\n", (double)(now_ns() - begin_ns) / (double)count);
    }
    CHECK(dn_kick_unmap(&kick));
    CHECK(dn_barrier(dn_team_all(node), PATIENCE_NS));
}

/* Each of these has a word of its own, except that the block and its signal are apart. */
static void send_in_every_way(void)
{
    struct dn_kick kick;
    uint64_t block[4] = {1, 1, 1, 1};
    uint64_t old;
    CHECK(dn_kick_map(node, there(0), sizeof(uint64_t), &kick));
    dn_store_u64(&kick, 0, 1);
    CHECK(dn_botf(node, there(8), block, sizeof block));
    CHECK(dn_put(node, there(16), block, sizeof block));
    CHECK(dn_put_signal(node, there(24), block, sizeof block, there(32), 1));
    CHECK(dn_fetch_add_u64(node, there(40), 1, &old));
    CHECK(dn_add_u64(node, there(48), 1));
    CHECK(dn_quiet(node));
    CHECK(dn_kick_unmap(&kick));
}

static void wait_for_every_way(void)
{
    static const unsigned numbers[] = {0, 8 + 2, 16 + 3, 32, 40, 48};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        await(numbers[i], 1);
    }
}

static void kinds(void)
{
    struct dn_context *context;
    int other = 1 - rank;
    char text[16] = "a message";
    CHECK(dn_context_open(node, CHANNEL, &other, 1, &other, 1, NULL, &context));
    if (rank == 0) {
        send_in_every_way();
        CHECK(dn_send(context, other, text, sizeof text, PATIENCE_NS));
        CHECK(dn_send(context, other, text, 1, PATIENCE_NS));
    } else {
        wait_for_every_way();
        CHECK(dn_recv(context, other, text, sizeof text, PATIENCE_NS, NULL, NULL));
        CHECK(dn_recv(context, DN_ANY, text, sizeof text, PATIENCE_NS, NULL, NULL));
    }
    CHECK(dn_barrier(dn_team_all(node), PATIENCE_NS));
    CHECK(dn_context_close(context));
}

/* Node 1 gets no further than this. */
static void combine(void *result, const void *operand, size_t count, void *context)
{
    (void)result;
    (void)operand;
    (void)count;
    (void)context;
    if (rank == 1) {
        (void)raise(SIGKILL);
    }
}

static void be_killed(void)
{
    const struct dn_operator with = {.combine = combine, .element_bytes = sizeof(uint64_t)};
    uint64_t number = 1;
    if (rank == 1) {
        CHECK(dn_set_u64(node, there(0), 1));
        CHECK(dn_quiet(node));
    } else {
        await(0, 1);
    }
    (void)dn_allreduce_with(dn_team_all(node), &number, &number, 1, &with);
    if (dn_wait_until_u64(node, &words[1], DN_NE, 0, PATIENCE_NS) != DN_EPEER) {
        exit(1);
    }
    CHECK(dn_detach(node));
    exit(0);
}

static void *make_calls(void *argument)
{
    unsigned number = *(unsigned *)argument;
    for (unsigned i = 0; i < CALLS; i++) {
        CHECK(dn_add_u64(node, there(number), 1));
    }
    return NULL;
}

static void run_threads(void)
{
    unsigned numbers[2] = {8, 16};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, make_calls, &numbers[0]) ? DN_ESYSTEM : 0);
    (void)make_calls(&numbers[1]);
    CHECK(pthread_join(thread, NULL) ? DN_ESYSTEM : 0);
    CHECK(dn_quiet(node));
    CHECK(dn_barrier(dn_team_all(node), PATIENCE_NS));
}

static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        _exit(dn_fence(node) == DN_ESTATE && dn_add_u64(node, there(0), 1) == DN_ESTATE ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0 ? 0 : DN_ESYSTEM);
    CHECK(dn_barrier(dn_team_all(node), PATIENCE_NS));
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    size_t bytes;
    CHECK(dn_attach(&node, NULL));
    rank = dn_rank(node);
    words = dn_llcm(node, &bytes);
    if (bytes < WORDS * sizeof *words || dn_size(node) != 2) {
        return 1;
    }
    if (strcmp(what, "rounds") == 0) {
        rounds(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
    } else if (strcmp(what, "kinds") == 0) {
        kinds();
    } else if (strcmp(what, "killed") == 0) {
        be_killed();
    } else if (strcmp(what, "threads") == 0) {
        run_threads();
    } else if (strcmp(what, "fork") == 0) {
        fork_once();
    } else {
        return 2;
    }
    return dn_detach(node) ? 1 : 0;
}
