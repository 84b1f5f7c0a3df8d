/* Several processes in one rank: one of them is the node, and the others have sent nothing.
 *
 *     udp_claim FILE          several processes in rank 1
 *     udp_claim FILE broken   rank 1 is claimed, and its process cannot go on
 *
 * Node 0 stores to node 1 all the time, so that whoever serves node 1's socket has something to
 * answer, and makes FILE. In rank 1 several processes then attach at once. Later the one that is
 * attached is stopped, so that packets wait in the socket, and more processes try. Each says
 * "attached" or the name of the error. The one that is attached ends the stream. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "live/live.h"

enum { AT_ONCE = 4, LATER = 2, STORED_AT = 0, ENOUGH_AT = 8, STORES_AT_ONCE = 16 };

#define STOPPED_NS \
    (50 * LIVE_MS) /* less than the peer time-out, longer than a time-out to resend */

static void make_file(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    require(fd >= 0 && close(fd) == 0);
}

static void await_file(const char *path)
{
    uint64_t deadline_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (access(path, F_OK) != 0) {
        require(live_now_ns() < deadline_ns);
        live_sleep_ns(LIVE_MS);
    }
}

static void stream(const char *path)
{
    struct dn_kick kick;
    live_attach();
    expect(dn_kick_map(me.node, live_place(1, STORED_AT), 8, &kick), 0);
    uint64_t number = 0;
    uint64_t deadline_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (dn_load_u64(live_u64(ENOUGH_AT)) == 0) {
        for (int i = 0; i < STORES_AT_ONCE; i++) {
            dn_store_u64(&kick, 0, ++number);
        }
        if (number == STORES_AT_ONCE) {
            make_file(path);
        }
        require(live_now_ns() < deadline_ns);
        live_sleep_ns(100 * LIVE_US);
    }
    expect(dn_kick_unmap(&kick), 0);
    live_detach();
}

static int told[2]; /* the attached process tells its number */
static int done[2]; /* and is told when it may end */

static void contend(void)
{
    struct dn_node *node;
    int error = dn_attach(&node, NULL);
    (void)dprintf(STDOUT_FILENO, "%s\n", error ? dn_errname(error) : "attached");
    if (!error) {
        struct dn_kick kick;
        pid_t self = getpid();
        char word;
        require(write(told[1], &self, sizeof self) == sizeof self);
        require(read(done[0], &word, 1) == 1);
        expect(dn_kick_map(node, live_place(0, ENOUGH_AT), 8, &kick), 0);
        dn_store_u64(&kick, 0, 1);
        expect(dn_kick_unmap(&kick), 0);
        expect(dn_quiet(node), 0);
        expect(dn_detach(node), 0);
    }
    exit(0);
}

static void start_contenders(int count)
{
    for (int i = 0; i < count; i++) {
        pid_t child = fork();
        require(child >= 0);
        if (child == 0) {
            contend();
        }
    }
}

static void await_ends(int count)
{
    for (int i = 0; i < count; i++) {
        int status;
        require(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void run_rank_one(const char *path)
{
    pid_t attached;
    await_file(path);
    require(pipe(told) == 0 && pipe(done) == 0);
    start_contenders(AT_ONCE);
    require(read(told[0], &attached, sizeof attached) == sizeof attached);
    await_ends(AT_ONCE - 1);
    require(kill(attached, SIGSTOP) == 0);
    live_sleep_ns(STOPPED_NS);
    start_contenders(LATER);
    await_ends(LATER);
    require(kill(attached, SIGCONT) == 0 && write(done[1], "", 1) == 1);
    await_ends(1);
}

/* Node 1 has no socket, and goes on without the library. Node 0 does not wait for it. */
static void run_broken(const char *path, bool is_first)
{
    if (!is_first) {
        struct dn_node *node;
        require(unsetenv("DIMMNET_SOCKET_FD") == 0);
        expect(dn_attach(&node, NULL), DN_EGROUP);
        await_file(path);
        return;
    }
    uint64_t value;
    live_attach();
    expect(dn_read_u64(me.node, live_place(1, STORED_AT), &value), DN_EPEER);
    live_wait_for_life(1, DN_LEFT);
    make_file(path);
    live_detach();
    (void)dprintf(STDOUT_FILENO, "went on\n");
}

int main(int argc, char **argv)
{
    const char *rank = getenv("DIMMNET_RANK");
    require(argc >= 2 && rank);
    bool is_first = strcmp(rank, "0") == 0;
    if (argc > 2) {
        run_broken(argv[1], is_first);
    } else if (is_first) {
        stream(argv[1]);
    } else {
        run_rank_one(argv[1]);
    }
    return 0;
}
