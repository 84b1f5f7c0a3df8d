/* The relay of the network tests does what it is asked and nothing else: what goes in comes out,
 * unless it was asked otherwise.
 *
 *     relay RELAY_PROGRAM */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "live/live.h"
#include "tools/tool.h"

enum { NODES = 3, ARGUMENTS_MAX = 32, COUNT = 400, SETTLED_MS = 500, PATIENCE_MS = 20000 };

/* What every datagram of 16 bytes or more begins with; the rest follows from the number. */
struct stamp {
    uint64_t number;
    uint64_t sent_ns;
};

static const char *relay_program;
static struct {
    pid_t process;
    int output; /* the end that we read */
    uint64_t port, to;
    int nodes[NODES]; /* sockets where the relay delivers */
    int sender;
} bench = {.process = -1};

static struct {
    uint64_t received, forwarded, lost, corrupted, duplicated, reordered, too_large, cut;
    uint64_t queue_full, overflowed, refused, held, forged;
} counts;

/* ---- Starting and ending a relay ---------------------------------------------------------- */

static int socket_at(uint64_t port)
{
    struct sockaddr_in address = tool_loopback(port);
    int bytes = 8 << 20;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    require(fd >= 0);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    return fd;
}

static void close_nodes(void)
{
    for (int rank = 0; rank < NODES; rank++) {
        if (bench.nodes[rank] >= 0) {
            (void)close(bench.nodes[rank]);
        }
    }
}

/* Ports in a row, below those that the kernel hands out. */
static void open_nodes(uint64_t *random)
{
    int bound = 0;
    while (bound < NODES) {
        bench.to = 10000 + live_random(random, 20000);
        for (bound = 0; bound < NODES; bound++) {
            bench.nodes[bound] = socket_at(bench.to + (uint64_t)bound);
            if (bench.nodes[bound] < 0) {
                break;
            }
        }
        if (bound < NODES) {
            close_nodes();
        }
    }
}

/* Reads a short line from the relay; false: it has ended instead. */
static bool read_line(char *line, size_t room)
{
    size_t have = 0;
    while (have + 1 < room && read(bench.output, line + have, 1) == 1) {
        if (line[have] == '\n') {
            line[have] = 0;
            return true;
        }
        have++;
    }
    return false;
}

static bool start_once(const char *const *wanted, uint64_t *random)
{
    char texts[2][24];
    char line[256];
    int pipe_ends[2];
    const char *arguments[ARGUMENTS_MAX] = {relay_program, "--listen", texts[0], "--to",
                                            texts[1],      "--nodes",  "3"};
    size_t count = 7;
    bench.port = 30000 + live_random(random, 2000);
    (void)snprintf(texts[0], sizeof texts[0], "%llu", (unsigned long long)bench.port);
    (void)snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)bench.to);
    for (; *wanted; wanted++) {
        require(count + 1 < ARGUMENTS_MAX);
        arguments[count++] = *wanted;
    }
    arguments[count] = NULL;
    require(pipe(pipe_ends) == 0);
    bench.process = fork();
    require(bench.process >= 0);
    if (bench.process == 0) {
        (void)dup2(pipe_ends[1], STDOUT_FILENO);
        (void)close(pipe_ends[0]);
        (void)close(pipe_ends[1]);
        (void)execv(relay_program, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    (void)close(pipe_ends[1]);
    bench.output = pipe_ends[0];
    if (read_line(line, sizeof line)) {
        require_else(strcmp(line, "relay: ready") == 0, "the relay said: %s", line);
        return true;
    }
    (void)close(bench.output);
    require(waitpid(bench.process, NULL, 0) == bench.process);
    return false;
}

/* Arguments end with NULL. */
static void start(const char *const *wanted)
{
    uint64_t random = me.seed ^ (uint64_t)getpid();
    int tries = 0;
    open_nodes(&random);
    while (!start_once(wanted, &random)) {
        require_else(++tries < 20, "the relay does not start");
    }
    bench.sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    require(bench.sender >= 0);
}

static void stop(void)
{
    char line[512];
    unsigned long long c[13];
    int status;
    require(kill(bench.process, SIGTERM) == 0);
    require(read_line(line, sizeof line));
    int found = sscanf(line,
                       "relay: received=%llu forwarded=%llu lost=%llu corrupted=%llu "
                       "duplicated=%llu reordered=%llu too_large=%llu cut=%llu queue_full=%llu "
                       "overflowed=%llu refused=%llu held=%llu forged=%llu",
                       &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7], &c[8], &c[9], &c[10],
                       &c[11], &c[12]);
    require_else(found == 13, "the relay said: %s", line);
    memcpy(&counts, c, sizeof counts);
    require(waitpid(bench.process, &status, 0) == bench.process && status == 0);
    (void)close(bench.output);
    (void)close(bench.sender);
    close_nodes();
    require(counts.overflowed == 0 && counts.refused == 0 && counts.held == 0);
    require(counts.cut == 0 && counts.forged == 0);
    require_else(counts.received + counts.duplicated ==
                     counts.forwarded + counts.lost + counts.too_large + counts.queue_full,
                 "the counts do not add up: %s", line);
}

/* ---- Sending and receiving ---------------------------------------------------------------- */

static unsigned char buffer[TOOL_DATAGRAM_BYTES_MAX + 1];

static void send_one(int rank, uint64_t number, size_t bytes)
{
    struct sockaddr_in to = tool_loopback(bench.port + (uint64_t)rank);
    struct stamp stamp = {.number = number, .sent_ns = live_now_ns()};
    live_fill(buffer, bytes, number);
    if (bytes >= sizeof stamp) {
        memcpy(buffer, &stamp, sizeof stamp);
    }
    require(sendto(bench.sender, buffer, bytes, 0, (const struct sockaddr *)&to, sizeof to) ==
            (ssize_t)bytes);
}

static ssize_t receive_within(int rank, int timeout_ms)
{
    struct pollfd polled = {.fd = bench.nodes[rank], .events = POLLIN};
    if (poll(&polled, 1, timeout_ms) != 1) {
        return -1;
    }
    return recv(bench.nodes[rank], buffer, sizeof buffer, 0);
}

/* Receives the next datagram at a rank; it must come, however little CPU time the relay gets. */
static ssize_t receive_one(int rank)
{
    return receive_within(rank, PATIENCE_MS);
}

/* The next one, or -1 when none comes for a while. */
static ssize_t receive_more(int rank)
{
    return receive_within(rank, SETTLED_MS);
}

static bool is_unharmed(size_t bytes, struct stamp *stamp)
{
    if (bytes < sizeof *stamp) {
        return false;
    }
    memcpy(stamp, buffer, sizeof *stamp);
    unsigned char wanted[TOOL_DATAGRAM_BYTES_MAX];
    live_fill(wanted, bytes, stamp->number);
    return memcmp(wanted + sizeof *stamp, buffer + sizeof *stamp, bytes - sizeof *stamp) == 0;
}

/* Sends COUNT datagrams of `bytes` to node 0, and notes in `times` how often each came. */
static uint64_t pass_through(size_t bytes, unsigned *times)
{
    uint64_t came = 0;
    struct stamp stamp;
    ssize_t got;
    memset(times, 0, COUNT * sizeof *times);
    for (uint64_t i = 0; i < COUNT; i++) {
        send_one(0, i, bytes);
    }
    while ((got = receive_more(0)) >= 0) {
        require(is_unharmed((size_t)got, &stamp) && stamp.number < COUNT);
        times[stamp.number]++;
        came++;
    }
    return came;
}

/* ---- The checks --------------------------------------------------------------------------- */

static void what_goes_in_comes_out(void)
{
    static const size_t sizes[] = {0, 1, 15, 16, 76, 464, 1472, 9216, TOOL_DATAGRAM_BYTES_MAX};
    const char *const none[] = {NULL};
    start(none);
    for (uint64_t i = 0; i < LIVE_COUNT(sizes) * 10; i++) {
        for (int rank = 0; rank < NODES; rank++) {
            send_one(rank, i + 1000 * (uint64_t)rank, sizes[i % LIVE_COUNT(sizes)]);
        }
        for (int rank = 0; rank < NODES; rank++) {
            size_t bytes = sizes[i % LIVE_COUNT(sizes)];
            uint64_t number = i + 1000 * (uint64_t)rank;
            struct stamp stamp = {.number = number};
            require(receive_one(rank) == (ssize_t)bytes);
            if (bytes >= sizeof stamp) {
                require(is_unharmed(bytes, &stamp));
            } else {
                require(live_first_other(buffer, bytes, number) == bytes);
            }
            require_else(stamp.number == number, "out of order");
        }
    }
    stop();
    require(counts.received == NODES * LIVE_COUNT(sizes) * 10);
    require(counts.forwarded == counts.received && counts.corrupted == 0 && counts.reordered == 0);
}

static void a_delay_is_kept(void)
{
    const char *const wanted[] = {"--delay-ms", "20", NULL};
    struct stamp stamp;
    uint64_t came = 0;
    ssize_t got;
    start(wanted);
    for (uint64_t i = 0; i < COUNT; i++) {
        send_one(0, i, 100);
    }
    while ((got = came < COUNT ? receive_one(0) : receive_more(0)) >= 0) {
        require(is_unharmed((size_t)got, &stamp));
        require_else(live_now_ns() - stamp.sent_ns >= 20 * LIVE_MS, "it came too early");
        require_else(stamp.number == came, "what waits equally long comes out of order");
        came++;
    }
    stop();
    require(came == COUNT);
}

static void losses_are_as_many_as_asked(void)
{
    const char *const wanted[] = {"--loss", "25", "--seed", "7", NULL};
    unsigned first[COUNT];
    unsigned second[COUNT];
    start(wanted);
    uint64_t came = pass_through(100, first);
    stop();
    require(came == counts.forwarded && counts.lost == COUNT - came);
    require_else(counts.lost > COUNT / 8 && counts.lost < COUNT / 2, "%llu of %d lost",
                 (unsigned long long)counts.lost, COUNT);
    start(wanted);
    (void)pass_through(100, second);
    stop();
    require_else(memcmp(first, second, sizeof first) == 0, "one seed, two runs");
}

static void duplicates_come_twice(void)
{
    const char *const wanted[] = {"--duplicate", "50", NULL};
    unsigned times[COUNT];
    uint64_t twice = 0;
    start(wanted);
    (void)pass_through(100, times);
    stop();
    for (size_t i = 0; i < COUNT; i++) {
        require(times[i] == 1 || times[i] == 2);
        twice += times[i] == 2;
    }
    require(twice == counts.duplicated && twice > COUNT / 4 && twice < COUNT * 3 / 4);
}

static void the_corrupted_differ(void)
{
    const char *const wanted[] = {"--corrupt", "50", NULL};
    uint64_t came = 0;
    uint64_t harmed = 0;
    ssize_t got;
    start(wanted);
    for (uint64_t i = 0; i < COUNT; i++) {
        send_one(0, i, 1000);
    }
    for (struct stamp stamp; (got = came < COUNT ? receive_one(0) : receive_more(0)) >= 0; came++) {
        /* In a header of 16 bytes a flipped bit may not show; in the rest it must. */
        harmed += got != 1000 || !is_unharmed((size_t)got, &stamp);
    }
    stop();
    require(came == COUNT);
    require_else(harmed <= counts.corrupted && harmed + COUNT / 20 >= counts.corrupted,
                 "%llu corrupted, %llu differ", (unsigned long long)counts.corrupted,
                 (unsigned long long)harmed);
    require(counts.corrupted > COUNT / 4 && counts.corrupted < COUNT * 3 / 4);
}

static void some_are_overtaken(void)
{
    const char *const wanted[] = {"--reorder", "20", NULL};
    struct stamp stamp;
    uint64_t came = 0;
    uint64_t earlier = 0;
    uint64_t newest = 0;
    ssize_t got;
    start(wanted);
    for (uint64_t i = 0; i < COUNT; i++) {
        send_one(0, i, 100);
        live_sleep_ns(10 * LIVE_US);
    }
    for (; (got = came < COUNT ? receive_one(0) : receive_more(0)) >= 0; came++) {
        require(is_unharmed((size_t)got, &stamp));
        earlier += stamp.number < newest;
        newest = stamp.number > newest ? stamp.number : newest;
    }
    stop();
    require(came == COUNT && earlier > 0 && counts.reordered > 0);
}

static void a_thin_link_is_thin(void)
{
    /* 100 datagrams of 1000 bytes meet a queue of 50000: half of them pass, in half a second. */
    const char *const wanted[] = {"--rate", "100000", "--queue", "50000", NULL};
    struct stamp stamp;
    uint64_t came = 0;
    uint64_t start_ns;
    uint64_t last_ns = 0;
    ssize_t got;
    start(wanted);
    start_ns = live_now_ns();
    for (uint64_t i = 0; i < 100; i++) {
        send_one(0, i, 1000);
    }
    bool at_once = live_now_ns() - start_ns < 200 * LIVE_MS;
    for (; (got = receive_more(0)) >= 0; came++) {
        require(is_unharmed((size_t)got, &stamp));
        last_ns = live_now_ns();
    }
    stop();
    require(came + counts.queue_full == 100 && came >= 50);
    require(!at_once || counts.queue_full > 0);
    require_else(last_ns - start_ns >= came * 10 * LIVE_MS, "faster than the link");
}

static void what_is_too_large_is_lost(void)
{
    const char *const wanted[] = {"--mtu", "1000", NULL};
    start(wanted);
    send_one(0, 1, 1000);
    send_one(0, 2, 1001);
    send_one(0, 3, 9000);
    send_one(0, 4, 999);
    require(receive_one(0) == 1000);
    require(receive_one(0) == 999);
    require(receive_more(0) == -1);
    stop();
    require(counts.too_large == 2 && counts.forwarded == 2);
}

/* Two nodes that know each other by the relay's ports, and no other node. */
static void senders_keep_their_ports(void)
{
    const char *const none[] = {NULL};
    start(none);
    for (int rank = 0; rank < 2; rank++) {
        struct sockaddr_in peer = tool_loopback(bench.port + (uint64_t)(1 - rank));
        require(connect(bench.nodes[rank], (const struct sockaddr *)&peer, sizeof peer) == 0);
    }
    send_one(0, 1, 100); /* a stranger's */
    for (int rank = 0; rank < 2; rank++) {
        live_fill(buffer, 50, (uint64_t)rank);
        require(send(bench.nodes[rank], buffer, 50, 0) == 50);
        require(receive_one(1 - rank) == 50);
        require(live_first_other(buffer, 50, (uint64_t)rank) == 50);
    }
    stop();
    require(counts.forwarded == 3);
}

static void what_passes_is_recorded(void)
{
    char path[] = "/tmp/relay-record-XXXXXX";
    int fd = mkstemp(path);
    require(fd >= 0);
    const char *const wanted[] = {"--record", path, NULL};
    start(wanted);
    for (uint64_t i = 0; i < 50; i++) {
        send_one((int)(i % NODES), i, 100 + i);
        require(receive_one((int)(i % NODES)) == (ssize_t)(100 + i));
    }
    stop();
    (void)unlink(path);
    for (uint64_t i = 0; i < 50; i++) {
        struct tool_record head;
        struct stamp stamp;
        require(read(fd, &head, sizeof head) == sizeof head);
        require(head.rank == i % NODES && head.bytes == 100 + i);
        require(read(fd, buffer, head.bytes) == (ssize_t)head.bytes);
        require(is_unharmed(head.bytes, &stamp) && stamp.number == i);
    }
    require(read(fd, buffer, 1) == 0);
    (void)close(fd);
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, what_goes_in_comes_out),      LIVE_CHECK(1, a_delay_is_kept),
    LIVE_CHECK(1, losses_are_as_many_as_asked), LIVE_CHECK(1, duplicates_come_twice),
    LIVE_CHECK(1, the_corrupted_differ),        LIVE_CHECK(1, some_are_overtaken),
    LIVE_CHECK(1, a_thin_link_is_thin),         LIVE_CHECK(1, what_is_too_large_is_lost),
    LIVE_CHECK(1, senders_keep_their_ports),    LIVE_CHECK(1, what_passes_is_recorded),
};

/* One process without a group; the checks still run one by one. */
int main(int argc, char **argv)
{
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    relay_program = argc > 1 ? argv[1] : getenv("LIVE_RELAY");
    require(relay_program != NULL);
    (void)alarm(50);
    for (size_t i = 0; i < LIVE_COUNT(checks); i++) {
        me.check = checks[i].name;
        checks[i].run();
        live_say_ok();
    }
    return 0;
}
