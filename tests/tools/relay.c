/* An impairment relay on loopback: the bad network of the tests.
 *
 *     node r --> 127.0.0.1:LISTEN+q --> [ lose, corrupt, delay, ... ] --> 127.0.0.1:TO+q, node q
 *
 * Every node is told that its peers are at the relay's ports, so each datagram passes here
 * once; it goes on from the port that stands for its sender, if that is one of the nodes. A
 * seeded generator draws what happens to it. Nothing else is lost: datagrams are
 * read only when there is room to hold them, and what the kernel had to drop is counted. With
 * --forge COUNT all go on from a port that is nobody's, and before each of the first COUNT goes
 * nonsense from the port that stands for its sender, as from somebody who forges addresses. From
 * SIGUSR1 on nothing passes between the nodes that --cut-one and --cut-other name. The
 * counts are printed on SIGTERM or SIGINT, in one line of name=number.
 *
 * One thread: it polls, reads, decides, and sends what is due from a heap of times. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/random.h"
#include "tool.h"

enum {
    NODES_MAX = 64,
    HELD_MAX = 65536,          /* datagrams that wait for their time */
    HELD_BYTES_MAX = 64 << 20, /* and all their bytes */
    READ_MAX = 64,             /* datagrams read from a socket before others get their turn */
    SOCKET_BYTES = 8 << 20,
    RECORD_BYTES_MAX = 32 << 20, /* what comes after these is not recorded */
    HELD_BACK_US_MIN = 200,      /* for at least so long --reorder lets others overtake */
    HELD_BACK_US_MAX = 3000,
};

/* In the order in which they are printed. */
#define COUNTS(count)                                                                    \
    count(received) count(forwarded) count(lost) count(corrupted) count(duplicated)      \
        count(reordered) count(too_large) count(cut) count(queue_full) count(overflowed) \
            count(refused) count(held) count(forged)

static struct {
#define COUNT(name) uint64_t name;
    COUNTS(COUNT)
#undef COUNT
} counts;

static struct {
    uint64_t listen, to, nodes;
    uint64_t delay_ms, jitter_ms;
    uint64_t reorder, duplicate, corrupt, loss; /* per cent */
    uint64_t rate, queue;                       /* of the link into each node; 0: no limit */
    uint64_t mtu;                               /* the largest datagram that passes; 0: any */
    uint64_t forge;
    uint64_t cut_one, cut_other; /* ranks; the same: nothing is ever cut */
    uint64_t seed;
    const char *record;
} options = {.seed = 1};

struct datagram {
    uint64_t due_ns;
    uint64_t number; /* order of arrival, when the time is the same */
    uint32_t rank;   /* the node that gets it */
    uint32_t from;   /* whose port it leaves from */
    uint32_t bytes;
    unsigned char data[];
};

static struct datagram *heap[HELD_MAX];
static size_t held;
static size_t held_bytes;
static uint64_t came;

static struct base_random randomness;
static int sockets[NODES_MAX];
static int nobodys_socket = -1;          /* with --forge */
static uint32_t overflowed[NODES_MAX];   /* as the kernel counts, at each socket */
static uint64_t link_free_ns[NODES_MAX]; /* when the thin link into a node is idle again */
static FILE *record;
static volatile sig_atomic_t ended;
static volatile sig_atomic_t is_cut;

static void on_end(int signal_number)
{
    (void)signal_number;
    ended = 1;
}

static void on_cut(int signal_number)
{
    (void)signal_number;
    is_cut = 1;
}

/* ---- The heap of times ------------------------------------------------------------------ */

static bool is_before(const struct datagram *a, const struct datagram *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static void heap_push(struct datagram *datagram)
{
    size_t at = held++;
    held_bytes += datagram->bytes;
    while (at > 0 && is_before(datagram, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = datagram;
}

static struct datagram *heap_pop(void)
{
    struct datagram *first = heap[0];
    struct datagram *last = heap[--held];
    size_t at = 0;
    held_bytes -= first->bytes;
    for (size_t child = 1; child < held; child = 2 * at + 1) {
        if (child + 1 < held && is_before(heap[child + 1], heap[child])) {
            child++;
        }
        if (!is_before(heap[child], last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* Whether a burst of the longest datagrams, each twice, could still be held. */
static bool has_room(void)
{
    return held + 2 <= HELD_MAX && held_bytes + 2 * TOOL_DATAGRAM_BYTES_MAX <= HELD_BYTES_MAX;
}

/* ---- What happens to a datagram ---------------------------------------------------------- */

static bool happens(uint64_t percent)
{
    return base_random_below(&randomness, 100) < percent;
}

/* Flips one to three bits, or cuts off the end. */
static void corrupt(struct datagram *datagram)
{
    if (datagram->bytes == 0) {
        return;
    }
    if (base_random_below(&randomness, 4) == 0) {
        datagram->bytes = (uint32_t)base_random_below(&randomness, datagram->bytes);
        return;
    }
    for (uint64_t i = base_random_below(&randomness, 3) + 1; i > 0; i--) {
        uint64_t bit = base_random_below(&randomness, 8 * (uint64_t)datagram->bytes);
        datagram->data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

/* When it leaves the thin link into its node, or 0: the queue before that is full. */
static uint64_t leaves_link_ns(const struct datagram *datagram, uint64_t now_ns)
{
    uint64_t *free_ns = &link_free_ns[datagram->rank];
    if (options.rate == 0) {
        return now_ns;
    }
    if (*free_ns < now_ns) {
        *free_ns = now_ns;
    }
    double waiting_bytes = (double)(*free_ns - now_ns) * (double)options.rate / 1e9;
    if (waiting_bytes + datagram->bytes > (double)options.queue) {
        return 0;
    }
    *free_ns += (uint64_t)((double)datagram->bytes * 1e9 / (double)options.rate);
    return *free_ns;
}

/* The heap owns the datagram from here on, or it is gone. */
static void send_later(struct datagram *datagram, uint64_t now_ns)
{
    uint64_t jitter_us = options.jitter_ms * 1000;
    uint64_t due_ns = leaves_link_ns(datagram, now_ns);
    if (due_ns == 0) {
        counts.queue_full++;
        free(datagram);
        return;
    }
    due_ns += options.delay_ms * TOOL_MS;
    due_ns += base_random_below(&randomness, jitter_us + 1) * TOOL_US;
    uint64_t back_us = HELD_BACK_US_MIN;
    back_us += base_random_below(&randomness, HELD_BACK_US_MAX - HELD_BACK_US_MIN);
    if (happens(options.reorder)) {
        counts.reordered++;
        due_ns += back_us * TOOL_US;
    }
    datagram->due_ns = due_ns;
    datagram->number = came++;
    heap_push(datagram);
}

static struct datagram *new_datagram(uint32_t rank, uint32_t from, const unsigned char *data,
                                     size_t bytes)
{
    struct datagram *datagram = malloc(sizeof *datagram + bytes);
    if (!datagram) {
        tool_die("relay", "no memory for", "a datagram");
    }
    datagram->rank = rank;
    datagram->from = from;
    datagram->bytes = (uint32_t)bytes;
    memcpy(datagram->data, data, bytes);
    return datagram;
}

static void impair(uint32_t rank, uint32_t from, const unsigned char *data, size_t bytes,
                   uint64_t now_ns)
{
    counts.received++;
    if (is_cut && ((rank == options.cut_one && from == options.cut_other) ||
                   (rank == options.cut_other && from == options.cut_one))) {
        counts.cut++;
        return;
    }
    if (options.mtu > 0 && bytes > options.mtu) {
        counts.too_large++;
        return;
    }
    if (happens(options.loss)) {
        counts.lost++;
        return;
    }
    struct datagram *datagram = new_datagram(rank, from, data, bytes);
    struct datagram *copy = NULL;
    if (happens(options.duplicate)) {
        counts.duplicated++;
        copy = new_datagram(rank, from, data, bytes);
    }
    if (happens(options.corrupt)) {
        counts.corrupted++;
        corrupt(datagram);
    }
    send_later(datagram, now_ns);
    if (copy) {
        send_later(copy, now_ns);
    }
}

/* ---- Reading and sending ------------------------------------------------------------------ */

static void open_socket(uint32_t rank)
{
    struct sockaddr_in address = tool_loopback(options.listen + rank);
    int bytes = SOCKET_BYTES;
    int yes = 1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        char port[24];
        (void)snprintf(port, sizeof port, "%llu", (unsigned long long)(options.listen + rank));
        tool_die("relay", "cannot listen on port", port);
    }
    /* As much as possible: beyond the system's limit if we have the right. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &yes, sizeof yes);
    sockets[rank] = fd;
}

/* The kernel's count of what a socket had to drop comes with the next datagram. */
static void note_overflow(uint32_t rank, struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_RXQ_OVFL) {
            uint32_t now;
            memcpy(&now, CMSG_DATA(part), sizeof now);
            counts.overflowed += now - overflowed[rank];
            overflowed[rank] = now;
        }
    }
}

/* The rank whose own port this is; else the rank that the datagram is for. */
static uint32_t sender(const struct sockaddr_in *address, uint32_t rank)
{
    uint64_t from = (uint64_t)ntohs(address->sin_port) - options.to;
    return from < options.nodes ? (uint32_t)from : rank;
}

static void read_some(uint32_t rank)
{
    static unsigned char data[TOOL_DATAGRAM_BYTES_MAX + 1];
    char control[CMSG_SPACE(sizeof(uint32_t))];
    for (int i = 0; i < READ_MAX && has_room(); i++) {
        struct iovec piece = {.iov_base = data, .iov_len = sizeof data};
        struct sockaddr_in address = {.sin_port = 0};
        struct msghdr message = {.msg_name = &address,
                                 .msg_namelen = sizeof address,
                                 .msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof control};
        ssize_t bytes = recvmsg(sockets[rank], &message, 0);
        if (bytes < 0) {
            break;
        }
        note_overflow(rank, &message);
        impair(rank, sender(&address, rank), data, (size_t)bytes, tool_now_ns());
    }
}

static void write_record(const struct datagram *datagram)
{
    static size_t recorded;
    struct tool_record head = {.rank = datagram->rank, .bytes = datagram->bytes};
    recorded += sizeof head + datagram->bytes;
    if (recorded > RECORD_BYTES_MAX) {
        return;
    }
    if (fwrite(&head, sizeof head, 1, record) != 1 ||
        (datagram->bytes > 0 && fwrite(datagram->data, datagram->bytes, 1, record) != 1)) {
        tool_die("relay", "cannot write", options.record);
    }
}

/* Nonsense that seems to come from where the datagram does. */
static void forge(const struct datagram *datagram, const struct sockaddr_in *to)
{
    static const unsigned char nonsense[64];
    if (counts.forged < options.forge && sendto(sockets[datagram->from], nonsense, sizeof nonsense,
                                                0, (const struct sockaddr *)to, sizeof *to) >= 0) {
        counts.forged++;
    }
}

/* Sends what is due; false: the kernel has no room, and we must try again. */
static bool send_due(uint64_t now_ns)
{
    while (held > 0 && heap[0]->due_ns <= now_ns) {
        const struct datagram *next = heap[0];
        struct sockaddr_in to = tool_loopback(options.to + next->rank);
        forge(next, &to);
        int fd = nobodys_socket >= 0 ? nobodys_socket : sockets[next->from];
        ssize_t sent = sendto(fd, next->data, next->bytes, 0, (const struct sockaddr *)&to,
                              sizeof to);
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)) {
            return false;
        }
        /* The node at that port may not be there yet, or no longer. */
        counts.refused += sent < 0;
        counts.forwarded += sent >= 0;
        if (record) {
            write_record(next);
        }
        free(heap_pop());
    }
    return true;
}

static void wait_for_work(bool may_send, const sigset_t *unblocked)
{
    struct pollfd polled[NODES_MAX];
    uint64_t now_ns = tool_now_ns();
    uint64_t until_ns = now_ns + TOOL_SECOND;
    if (held > 0 && heap[0]->due_ns < until_ns) {
        until_ns = heap[0]->due_ns;
    }
    uint64_t left_ns = !may_send ? 100 * TOOL_US : until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec left = {.tv_sec = (time_t)(left_ns / TOOL_SECOND),
                            .tv_nsec = (long)(left_ns % TOOL_SECOND)};
    nfds_t count = has_room() ? options.nodes : 0;
    for (nfds_t i = 0; i < count; i++) {
        polled[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
    }
    if (record) {
        (void)fflush(record);
    }
    if (ppoll(polled, count, &left, unblocked) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            if (polled[i].revents) {
                read_some(i);
            }
        }
    }
}

static void tell_counts(void)
{
    counts.held = held;
    (void)printf("relay:");
#define COUNT(name) (void)printf(" %s=%llu", #name, (unsigned long long)counts.name);
    COUNTS(COUNT)
#undef COUNT
    (void)printf("\n");
}

static void parse(int argc, char **argv)
{
    const struct tool_number numbers[] = {
        {"--listen", &options.listen, 65535},
        {"--to", &options.to, 65535},
        {"--nodes", &options.nodes, NODES_MAX},
        {"--delay-ms", &options.delay_ms, 10000},
        {"--jitter-ms", &options.jitter_ms, 10000},
        {"--reorder", &options.reorder, 100},
        {"--duplicate", &options.duplicate, 100},
        {"--corrupt", &options.corrupt, 100},
        {"--loss", &options.loss, 100},
        {"--rate", &options.rate, UINT64_MAX},
        {"--queue", &options.queue, UINT64_MAX},
        {"--mtu", &options.mtu, TOOL_DATAGRAM_BYTES_MAX},
        {"--forge", &options.forge, UINT64_MAX},
        {"--cut-one", &options.cut_one, NODES_MAX},
        {"--cut-other", &options.cut_other, NODES_MAX},
        {"--seed", &options.seed, UINT64_MAX},
    };
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--record") == 0 && argv[i + 1]) {
            options.record = argv[i + 1];
        } else if (!tool_take_number("relay", numbers, sizeof numbers / sizeof numbers[0], argv[i],
                                     argv[i + 1])) {
            tool_die("relay", "unknown option", argv[i]);
        }
    }
    if (options.listen == 0 || options.to == 0 || options.nodes == 0 ||
        options.listen + options.nodes > 65536 || options.to + options.nodes > 65536) {
        tool_die("relay", "wanted:", "--listen PORT --to PORT --nodes COUNT");
    }
    if ((options.rate == 0) != (options.queue == 0)) {
        tool_die("relay", "a thin link has both:", "--rate BYTES_PER_S --queue BYTES");
    }
}

int main(int argc, char **argv)
{
    tool_end_with_parent("relay");
    parse(argc, argv);
    randomness.state = options.seed;
    /* The signal is taken only in ppoll, so that none is lost between a look and a sleep. */
    sigset_t blocked;
    sigset_t unblocked;
    struct sigaction action = {.sa_handler = on_end};
    struct sigaction cut = {.sa_handler = on_cut};
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGTERM);
    (void)sigaddset(&blocked, SIGINT);
    (void)sigaddset(&blocked, SIGUSR1);
    (void)sigprocmask(SIG_BLOCK, &blocked, &unblocked);
    (void)sigdelset(&unblocked, SIGTERM);
    (void)sigdelset(&unblocked, SIGINT);
    (void)sigdelset(&unblocked, SIGUSR1);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGUSR1, &cut, NULL);
    for (uint32_t rank = 0; rank < options.nodes; rank++) {
        open_socket(rank);
    }
    if (options.forge != 0) {
        nobodys_socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (nobodys_socket < 0) {
            tool_die("relay", "cannot open", "a socket");
        }
    }
    if (options.record && !(record = fopen(options.record, "wbe"))) {
        tool_die("relay", "cannot write", options.record);
    }
    (void)printf("relay: ready\n");
    (void)fflush(stdout);
    while (!ended) {
        bool may_send = send_due(tool_now_ns());
        wait_for_work(may_send, &unblocked);
    }
    tell_counts();
    while (held > 0) {
        free(heap_pop());
    }
    return record && fclose(record) != 0;
}
