/* Paper 001's port layer: datagrams between nodes, with both ways to notice their arrival. */
#include "fagus_live.h"

#include <sys/uio.h>

enum { LONGEST = 100000 };

static unsigned char sent[LONGEST];
static unsigned char received[LONGEST + 8];

/* Requires that the next datagram comes from there and has this length. */
static void expect_from(int node, size_t bytes)
{
    int sender = -1;
    ssize_t length = dimmnet_recvfrom(received, sizeof received, &sender, LIVE_PATIENCE_NS);
    require_else(length == (ssize_t)bytes, "%zd bytes instead of %zu: %s", length, bytes,
                 length < 0 ? strerror(errno) : "");
    require(sender == node);
}

#define expect_errno(call, wanted)                                                  \
    do {                                                                            \
        errno = 0;                                                                  \
        require((call) == -1);                                                      \
        require_else(errno == (wanted), "%s: errno is %s", #call, strerror(errno)); \
    } while (0)

/* ---- Checks for either way ---------------------------------------------------------------- */

static void send_all_lengths(void)
{
    static const size_t lengths[] = {0, 1, 8, 63, 64, 464, 465, 1400, 10000, 65536, LONGEST};
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    for (size_t i = 0; i < LIVE_COUNT(lengths); i++) {
        size_t bytes = lengths[i];
        live_fill(sent, bytes, me.seed + i + (uint64_t)me.rank);
        /* Half of them receive first, so that no buffer need hold it all. */
        bool sends_first = me.rank % 2 == 0;
        if (me.size == 1 && bytes > 10000) {
            continue;
        }
        if (sends_first) {
            require(dimmnet_sendto(to, sent, bytes) == (ssize_t)bytes);
        }
        expect_from(from, bytes);
        require(live_first_other(received, bytes, me.seed + i + (uint64_t)from) == bytes);
        if (!sends_first) {
            require(dimmnet_sendto(to, sent, bytes) == (ssize_t)bytes);
        }
    }
}

/* All nodes send to node 0, in the order of each sender. */
static void send_many_to_one(void)
{
    enum { COUNT = 300 };
    if (me.rank > 0) {
        for (uint64_t i = 0; i < COUNT; i++) {
            require(dimmnet_sendto(0, &i, sizeof i) == sizeof i);
        }
    } else {
        uint64_t *next = calloc((size_t)me.size, sizeof *next);
        require(next != NULL);
        for (int i = 0; i < COUNT * (me.size - 1); i++) {
            uint64_t number = 0;
            int sender = 0;
            require(dimmnet_recvfrom(&number, sizeof number, &sender, LIVE_PATIENCE_NS) == 8);
            require(sender > 0 && sender < me.size && number == next[sender]);
            next[sender]++;
        }
        free(next);
    }
    fagus_expect(comm_sync(), 0);
    expect_errno(dimmnet_recvfrom(received, 8, NULL, 0), EAGAIN);
}

static void send_pieces(void)
{
    int to = live_neighbour(1);
    for (size_t scale = 1; scale <= 1000; scale *= 1000) {
        live_fill(sent, 13 * scale, me.seed);
        struct iovec pieces[] = {
            {sent, 5 * scale},
            {NULL, 0},
            {sent + 5 * scale, scale},
            {sent + 6 * scale, 7 * scale},
        };
        require(dimmnet_sendmsg(to, pieces, 4) == (ssize_t)(13 * scale));
        expect_from(live_neighbour(-1), 13 * scale);
        require(live_first_other(received, 13 * scale, me.seed) == 13 * scale);
    }
    require(dimmnet_sendmsg(to, NULL, 0) == 0);
    expect_from(live_neighbour(-1), 0);
}

/* A datagram that does not fit stays the next one. */
static void receive_what_is_too_long(void)
{
    require(dimmnet_sendto(live_neighbour(1), sent, 100) == 100);
    int sender = -1;
    expect_errno(dimmnet_recvfrom(received, 99, &sender, LIVE_PATIENCE_NS), EMSGSIZE);
    expect_errno(dimmnet_recvfrom(received, 0, &sender, LIVE_PATIENCE_NS), EMSGSIZE);
    require(sender == -1);
    expect_from(live_neighbour(-1), 100);
}

static void receive_in_time(void)
{
    expect_errno(dimmnet_recvfrom(received, 8, NULL, 0), EAGAIN);
    uint64_t before_ns = live_now_ns();
    expect_errno(dimmnet_recvfrom(received, 8, NULL, 5 * LIVE_MS), EAGAIN);
    require(live_now_ns() - before_ns >= 5 * LIVE_MS);
    fagus_expect(comm_sync(), 0);
    /* A datagram that comes while the receiver sleeps. */
    if (me.rank == 0) {
        live_sleep_ns(20 * LIVE_MS);
    }
    require(dimmnet_sendto(live_neighbour(1), sent, 8) == 8);
    expect_from(live_neighbour(-1), 8);
}

static void refuse_bad_input(void)
{
    expect_errno(dimmnet_sendto(me.size, sent, 1), EINVAL);
    expect_errno(dimmnet_sendto(-1, sent, 1), EINVAL);
    expect_errno(dimmnet_sendto(0, NULL, 1), EINVAL);
    expect_errno(dimmnet_sendto(0, sent, SIZE_MAX), EINVAL);
    expect_errno(dimmnet_sendmsg(0, NULL, 1), EINVAL);
    struct iovec pieces[] = {{sent, SIZE_MAX / 2}, {sent, SIZE_MAX / 2}};
    expect_errno(dimmnet_sendmsg(0, pieces, 2), EINVAL);
    expect_errno(dimmnet_sendmsg(0, pieces, -1), EINVAL);
    expect_errno(dimmnet_recvfrom(NULL, 1, NULL, 0), EINVAL);
}

enum { RECEIVERS = 3, EACH = 50 };

static void *receive_some(void *sum)
{
    for (int i = 0; i < EACH; i++) {
        uint64_t number = 0;
        require(dimmnet_recvfrom(&number, sizeof number, NULL, LIVE_PATIENCE_NS) == 8);
        __atomic_fetch_add((uint64_t *)sum, number, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Several threads receive, and each datagram comes to one of them. */
static void receive_by_threads(void)
{
    uint64_t sum = 0;
    struct fagus_thread *threads[RECEIVERS];
    for (int i = 0; i < RECEIVERS; i++) {
        fagus_expect(fagus_thread_create(&threads[i], receive_some, &sum), 0);
    }
    for (uint64_t i = 1; i <= RECEIVERS * EACH; i++) {
        require(dimmnet_sendto(live_neighbour(1), &i, sizeof i) == 8);
    }
    for (int i = 0; i < RECEIVERS; i++) {
        fagus_expect(fagus_thread_join(threads[i], NULL), 0);
    }
    require(sum == RECEIVERS * EACH * (RECEIVERS * EACH + 1) / 2);
    fagus_expect(comm_sync(), 0);
}

static void run_all(void)
{
    static void (*const parts[])(void) = {
        send_all_lengths, send_many_to_one, send_pieces,        receive_what_is_too_long,
        receive_in_time,  refuse_bad_input, receive_by_threads,
    };
    for (size_t i = 0; i < LIVE_COUNT(parts); i++) {
        parts[i]();
        fagus_expect(comm_sync(), 0);
    }
}

/* ---- The two ways ---------------------------------------------------------------------------- */

static void datagrams_noticed_by_the_call(void)
{
    fagus_expect(dimmnet_detect_thread(0), 0);
    run_all();
}

static void datagrams_noticed_by_a_thread(void)
{
    fagus_expect(dimmnet_detect_thread(1), 0);
    fagus_expect(dimmnet_detect_thread(1), 0);
    run_all();
    fagus_expect(dimmnet_detect_thread(0), 0);
}

static void *receive_one(void *unused)
{
    (void)unused;
    expect_from(live_neighbour(-1), 8);
    return NULL;
}

/* A waiter goes on waiting by the other way. */
static void the_way_changes_while_one_waits(void)
{
    for (int round = 0; round < 6; round++) {
        struct fagus_thread *thread;
        fagus_expect(dimmnet_detect_thread(round % 2), 0);
        fagus_expect(fagus_thread_create(&thread, receive_one, NULL), 0);
        if (round % 3) {
            live_sleep_ns(LIVE_MS);
        }
        fagus_expect(dimmnet_detect_thread(1 - round % 2), 0);
        fagus_expect(comm_sync(), 0);
        require(dimmnet_sendto(live_neighbour(1), sent, 8) == 8);
        fagus_expect(fagus_thread_join(thread, NULL), 0);
    }
    fagus_expect(dimmnet_detect_thread(0), 0);
}

/* Nobody else would make room. */
static void a_full_buffer_of_ones_own_is_an_error(void)
{
    ssize_t length;
    size_t count = 0;
    while ((length = dimmnet_sendto(me.rank, sent, 1000)) == 1000) {
        require(++count < 10000);
    }
    require(length == -1 && errno == EAGAIN && count > 10);
    for (size_t i = 0; i < count; i++) {
        expect_from(me.rank, 1000);
    }
    require(dimmnet_sendto(me.rank, sent, 1000) == 1000);
    expect_from(me.rank, 1000);
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, datagrams_noticed_by_the_call),
    LIVE_CHECK(1, datagrams_noticed_by_a_thread),
    LIVE_CHECK(1, the_way_changes_while_one_waits),
    LIVE_CHECK(1, a_full_buffer_of_ones_own_is_an_error),
};

int main(int argc, char **argv)
{
    return fagus_main(argc, argv, checks, LIVE_COUNT(checks));
}
