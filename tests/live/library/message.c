/* Messages: nothing lost, doubled, torn or out of order, whatever the sizes, the rings and the
 * speed of the receivers; and what happens when a node dies. */
#define _GNU_SOURCE
#include <signal.h>

#include "live/live.h"

enum { BYTES_MAX = 200000, NODES_MAX = 16 };

static unsigned char *sent; /* private memory */
static unsigned char *received;

static uint64_t rounds(uint64_t many)
{
    return live_is_relaxed() || me.size > sysconf(_SC_NPROCESSORS_ONLN) ? many / 4 + 1 : many;
}

/* Opens a context with all nodes, this one included. */
static struct dn_context *open_with(uint32_t channel, uint64_t ring_bytes, uint32_t entries)
{
    int ranks[NODES_MAX];
    struct dn_context *context;
    struct dn_context_options options = {.struct_bytes = sizeof options,
                                         .ring_bytes = ring_bytes,
                                         .send_queue_entries = entries,
                                         .flags = live_context_flags()};
    for (int rank = 0; rank < me.size; rank++) {
        ranks[rank] = me.size - 1 - rank; /* in any order */
    }
    expect(dn_context_open(me.node, channel, ranks, (size_t)me.size, ranks, (size_t)me.size,
                           &options, &context),
           0);
    return context;
}

/* All have received what they will, so that a close loses nothing. */
static void close_all(struct dn_context *context)
{
    live_barrier();
    expect(dn_context_close(context), 0);
    live_barrier();
}

/* All nodes know the length and content of message `number` from one node to another. */
static uint64_t seed_of(int from, int to, uint64_t number)
{
    return live_mix(me.seed + ((uint64_t)from * 64 + (uint64_t)to) * 1000003 + number);
}

static size_t bytes_of(int from, int to, uint64_t number)
{
    uint64_t random = seed_of(from, to, number);
    switch (live_random(&random, 8)) {
    case 0: return 0;
    case 1: return 8;
    case 2: return live_random(&random, BYTES_MAX + 1);
    case 3: return 2040 + live_random(&random, 20);
    case 4: return 32 * 1024 - 2 + live_random(&random, 4);
    case 5: return live_random(&random, 8000);
    default: return live_random(&random, 200);
    }
}

/* Sends from private memory or from the bank, which take different ways. */
static void send_number(struct dn_context *context, int to, uint64_t number)
{
    size_t bytes = bytes_of(me.rank, to, number);
    unsigned char *from = seed_of(me.rank, to, number) & 1 ? sent : me.bank;
    live_fill(from, bytes, seed_of(me.rank, to, number));
    expect(dn_send(context, to, from, bytes, LIVE_PATIENCE_NS), 0);
}

static void require_number(const void *data, size_t bytes, int from, uint64_t number)
{
    size_t wanted = bytes_of(from, me.rank, number);
    require_else(bytes == wanted, "message %llu of node %d has %zu bytes, not %zu",
                 (unsigned long long)number, from, bytes, wanted);
    size_t other = live_first_other(data, bytes, seed_of(from, me.rank, number));
    require_else(other == bytes, "message %llu of node %d differs at %zu of %zu",
                 (unsigned long long)number, from, other, bytes);
}

static void receive_number(struct dn_context *context, int from, uint64_t number)
{
    int sender;
    size_t bytes;
    expect(dn_recv(context, from, received, BYTES_MAX, LIVE_PATIENCE_NS, &sender, &bytes), 0);
    require(sender == from);
    require_number(received, bytes, from, number);
}

/* ---- One to one, all to all ---------------------------------------------------------------- */

static void sizes_from_one(void)
{
    struct dn_context *context = open_with(1, 0, 0);
    uint64_t count = rounds(400);
    if (me.rank == 0) {
        for (uint64_t number = 0; number < count; number++) {
            send_number(context, 1, number);
        }
    } else if (me.rank == 1) {
        for (uint64_t number = 0; number < count; number++) {
            receive_number(context, 0, number);
        }
    }
    close_all(context);
}

static void *send_to_all(void *argument)
{
    struct dn_context *context = argument;
    uint64_t count = rounds(60);
    for (uint64_t number = 0; number < count; number++) {
        for (int to = 0; to < me.size; to++) {
            send_number(context, to, number);
        }
    }
    return NULL;
}

/* Every node sends to every node, itself included, and receives in any way. */
static void all_to_all(struct dn_context *context, uint64_t slow_one_in)
{
    uint64_t next[NODES_MAX] = {0};
    uint64_t count = rounds(60);
    uint64_t random = me.seed + (uint64_t)me.rank;
    pthread_t thread;
    live_thread_start(&thread, send_to_all, context);
    for (uint64_t i = 0; i < count * (uint64_t)me.size; i++) {
        int sender = DN_ANY;
        size_t bytes;
        const void *data = received;
        if (slow_one_in && live_random(&random, slow_one_in) == 0) {
            live_sleep_ns(live_random(&random, 2 * LIVE_MS));
        }
        switch (live_random(&random, 3)) {
        case 0:
            expect(dn_probe(context, DN_ANY, LIVE_PATIENCE_NS, &sender, &bytes), 0);
            require(bytes == bytes_of(sender, me.rank, next[sender]));
            expect(dn_recv(context, sender, received, BYTES_MAX, LIVE_PATIENCE_NS, &sender, &bytes),
                   0);
            break;
        case 1:
            expect(dn_recv_in_place(context, DN_ANY, LIVE_PATIENCE_NS, &data, &sender, &bytes), 0);
            break;
        default:
            expect(dn_recv(context, DN_ANY, received, BYTES_MAX, LIVE_PATIENCE_NS, &sender, &bytes),
                   0);
        }
        require_number(data, bytes, sender, next[sender]++);
        if (data != received) {
            expect(dn_recv_release(context, sender), 0);
        }
    }
    live_thread_join(thread);
    for (int rank = 0; rank < me.size; rank++) {
        require(next[rank] == count);
    }
    int sender = -2;
    size_t bytes = 77;
    expect(dn_recv(context, DN_ANY, received, BYTES_MAX, 0, &sender, &bytes), DN_ETIMEOUT);
    require(sender == -2 && bytes == 77);
    close_all(context);
}

static void from_any(void)
{
    all_to_all(open_with(2, 0, 0), 0);
}

static void slow_receivers_and_tiny_rings(void)
{
    all_to_all(open_with(3, 1024, 1), 10);
}

/* ---- A flood ------------------------------------------------------------------------------- */

/* The receiver stops reading for a second; the senders wait, and nothing is lost. */
static void flood(void)
{
    struct dn_context *context = open_with(4, 4096, 0);
    uint64_t count = rounds(20000);
    if (me.rank != 0) {
        for (uint64_t number = 0; number < count; number++) {
            expect(dn_send(context, 0, &number, sizeof number, LIVE_PATIENCE_NS), 0);
        }
    } else {
        uint64_t next[NODES_MAX] = {0};
        live_sleep_ns(LIVE_SECOND);
        for (uint64_t i = 0; i < count * (uint64_t)(me.size - 1); i++) {
            uint64_t number;
            int sender;
            size_t bytes;
            expect(
                dn_recv(context, DN_ANY, &number, sizeof number, LIVE_PATIENCE_NS, &sender, &bytes),
                0);
            require(bytes == sizeof number);
            require_else(number == next[sender]++, "node %d: %llu instead of %llu", sender,
                         (unsigned long long)number, (unsigned long long)next[sender] - 1);
        }
    }
    close_all(context);
}

/* With more than eight sources the summary word decides where to look. In contexts with flags what
 * was sent may have been refused or lost, and come later. */
static void any_is_fair(void)
{
    struct dn_context *context = open_with(5, 0, 0);
    bool is_there = live_context_flags() == 0;
    uint64_t turn[NODES_MAX] = {0};
    for (uint64_t number = 0; number < 50 && me.rank != 0; number++) {
        expect(dn_send(context, 0, &number, sizeof number, LIVE_PATIENCE_NS), 0);
    }
    live_barrier();
    for (int i = 0; i < 50 * (me.size - 1) && me.rank == 0; i++) {
        uint64_t number;
        int sender;
        expect(dn_recv(context, DN_ANY, &number, sizeof number, is_there ? 0 : LIVE_PATIENCE_NS,
                       &sender, NULL),
               0);
        require(number == turn[sender]++);
        /* No source is served twice while another waits for its first. */
        for (int rank = 1; rank < me.size && is_there; rank++) {
            require(turn[sender] <= turn[rank] + 1);
        }
    }
    close_all(context);
}

/* ---- Several channels ---------------------------------------------------------------------- */

static void channels_do_not_mix(void)
{
    struct dn_context *contexts[5];
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    for (uint32_t i = 0; i < 5; i++) {
        contexts[i] = open_with(100 + i, 2048, 0);
    }
    for (uint64_t number = 0; number < rounds(200); number++) {
        for (uint64_t i = 0; i < 5; i++) {
            uint64_t word = number * 10 + i;
            expect(dn_send(contexts[i], to, &word, sizeof word, LIVE_PATIENCE_NS), 0);
        }
        for (uint64_t i = 5; i-- > 0;) {
            uint64_t word;
            expect(dn_recv(contexts[i], from, &word, sizeof word, LIVE_PATIENCE_NS, NULL, NULL), 0);
            require(word == number * 10 + i);
        }
    }
    live_barrier();
    for (int i = 0; i < 5; i++) {
        expect(dn_context_close(contexts[i]), 0);
    }
}

/* A channel can be closed and opened again; what was sent before the close of the sender
 * arrives, and memory comes back. */
static void opened_again_and_again(void)
{
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    for (uint64_t number = 0; number < rounds(300); number++) {
        struct dn_context *context = open_with(200, 65536, 0);
        struct dn_message_op op;
        size_t bytes = bytes_of(me.rank, to, number);
        live_fill(sent, bytes, seed_of(me.rank, to, number));
        expect(dn_isend(context, to, sent, bytes, &op), 0);
        receive_number(context, from, number);
        expect(dn_message_wait(&op, LIVE_PATIENCE_NS, NULL, NULL), 0);
        close_all(context);
    }
}

/* The last message is large, from memory of the library's own. */
static void what_was_sent_survives_the_close(void)
{
    struct dn_context *context = open_with(201, 0, 0);
    if (me.rank == 0) {
        live_fill(sent, BYTES_MAX, 1);
        expect(dn_send(context, 1, sent, BYTES_MAX, LIVE_PATIENCE_NS), 0);
        expect(dn_context_close(context), 0);
        context = open_with(201, 0, 0);
        live_fill(sent, BYTES_MAX, 2);
        expect(dn_send(context, 1, sent, BYTES_MAX, LIVE_PATIENCE_NS), 0);
    }
    if (me.rank == 1) {
        live_sleep_ns(20 * LIVE_MS);
        for (uint64_t i = 1; i <= 2; i++) {
            size_t bytes;
            expect(dn_recv(context, 0, received, BYTES_MAX, LIVE_PATIENCE_NS, NULL, &bytes), 0);
            require(bytes == BYTES_MAX && live_first_other(received, bytes, i) == bytes);
        }
    }
    close_all(context);
}

/* ---- Without copies, without waiting ------------------------------------------------------- */

static void send_lent_buffer(struct dn_context *context, int to, uint64_t number)
{
    size_t bytes = bytes_of(me.rank, to, number);
    void *buffer;
    int error;
    while ((error = dn_send_buffer_get(context, to, bytes + 3, &buffer)) == DN_EBUSY) {
        live_sleep_ns(10 * LIVE_US);
    }
    expect(error, 0);
    expect(dn_send(context, to, "x", 1, 0), DN_EBUSY);
    expect(dn_send_buffer_send(context, to, bytes + 4), DN_EINVAL);
    live_fill(buffer, bytes, seed_of(me.rank, to, number));
    while ((error = dn_send_buffer_send(context, to, bytes)) == DN_EBUSY) {
        live_sleep_ns(10 * LIVE_US);
    }
    expect(error, 0);
    expect(dn_send_buffer_send(context, to, bytes), DN_EINVAL);
}

static void receive_in_place(struct dn_context *context, int from, uint64_t number)
{
    const void *data;
    size_t got;
    int sender;
    expect(dn_recv_in_place(context, from, LIVE_PATIENCE_NS, &data, &sender, &got), 0);
    expect(dn_recv(context, from, received, BYTES_MAX, LIVE_PATIENCE_NS, NULL, NULL), DN_EBUSY);
    require_number(data, got, from, number);
    expect(dn_recv_release(context, from), 0);
    expect(dn_recv_release(context, from), DN_EINVAL);
}

/* With flags a large message goes on only while its receiver takes it: were all nodes to send
 * first, each would wait for the next one round the ring. So node 0 receives first. */
static void buffers_to_write_into(void)
{
    struct dn_context *context = open_with(6, 8192, 0);
    int to = live_neighbour(1);
    int from = live_neighbour(-1);
    for (uint64_t number = 0; number < rounds(300); number++) {
        if (me.rank == 0) {
            receive_in_place(context, from, number);
            send_lent_buffer(context, to, number);
        } else {
            send_lent_buffer(context, to, number);
            receive_in_place(context, from, number);
        }
    }
    close_all(context);
}

/* All start large sends to all, then large receives: none waits for its turn. */
static void sends_and_receives_under_way(void)
{
    struct dn_context *context = open_with(7, 4096, 4);
    struct dn_message_op sends[NODES_MAX];
    struct dn_message_op receives[NODES_MAX];
    unsigned char *out = malloc((size_t)me.size * BYTES_MAX);
    unsigned char *in = malloc((size_t)me.size * BYTES_MAX);
    require(out && in);
    for (uint64_t number = 0; number < rounds(20); number++) {
        for (int rank = 0; rank < me.size; rank++) {
            unsigned char *data = out + (size_t)rank * BYTES_MAX;
            size_t bytes = bytes_of(me.rank, rank, number);
            live_fill(data, bytes, seed_of(me.rank, rank, number));
            expect(dn_isend(context, rank, data, bytes, &sends[rank]), 0);
        }
        for (int rank = 0; rank < me.size; rank++) {
            expect(
                dn_irecv(context, rank, in + (size_t)rank * BYTES_MAX, BYTES_MAX, &receives[rank]),
                0);
        }
        for (int rank = me.size - 1; rank >= 0; rank--) {
            int sender;
            size_t bytes;
            expect(dn_message_wait(&receives[rank], LIVE_PATIENCE_NS, &sender, &bytes), 0);
            require(sender == rank);
            require_number(in + (size_t)rank * BYTES_MAX, bytes, rank, number);
        }
        for (int rank = 0; rank < me.size; rank++) {
            int done = 0;
            while (!done) {
                expect(dn_message_test(&sends[rank], &done, NULL, NULL), 0);
            }
        }
    }
    free(out);
    free(in);
    close_all(context);
}

static void receives_in_order(void)
{
    struct dn_context *context = open_with(8, 0, 0);
    if (me.rank == 0) {
        struct dn_message_op ops[4];
        uint64_t words[4] = {9, 9, 9, 9};
        static const int from[] = {1, DN_ANY, 1, DN_ANY};
        int done;
        for (int i = 0; i < 4; i++) {
            expect(dn_irecv(context, from[i], &words[i], 8, &ops[i]), 0);
        }
        expect(dn_context_close(context), DN_EBUSY);
        expect(dn_message_test(&ops[2], &done, NULL, NULL), 0);
        require(!done);
        expect(dn_message_wait(&ops[0], LIVE_MS, NULL, NULL), DN_ETIMEOUT);
        expect(dn_message_cancel(&ops[1]), 0);
        expect(dn_put_signal(me.node, live_place(1, 0), NULL, 0, live_place(1, 0), 1), 0);
        uint64_t last;
        expect(dn_recv(context, 1, &last, 8, LIVE_PATIENCE_NS, NULL, NULL), 0);
        expect(dn_message_wait(&ops[0], 0, NULL, NULL), 0);
        expect(dn_message_wait(&ops[2], 0, NULL, NULL), 0);
        expect(dn_message_wait(&ops[3], 0, NULL, NULL), 0);
        require(words[0] == 0 && words[1] == 9 && words[2] == 1 && words[3] == 2 && last == 3);
        expect(dn_message_cancel(&ops[0]), DN_EBUSY);
    } else if (me.rank == 1) {
        live_wait_u64(0, DN_EQ, 1);
        for (uint64_t i = 0; i < 4; i++) {
            expect(dn_send(context, 0, &i, 8, LIVE_PATIENCE_NS), 0);
        }
    }
    close_all(context);
}

static void *trade(void *argument)
{
    struct dn_context *context = argument;
    for (uint64_t i = 0; i < rounds(2000); i++) {
        uint64_t word = i;
        expect(dn_send(context, live_neighbour(1), &word, 8, LIVE_PATIENCE_NS), 0);
        expect(dn_recv(context, DN_ANY, &word, 8, LIVE_PATIENCE_NS, NULL, NULL), 0);
    }
    return NULL;
}

static void threads_share_a_context(void)
{
    struct dn_context *context = open_with(9, 2048, 0);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        live_thread_start(&threads[i], trade, context);
    }
    for (int i = 0; i < 3; i++) {
        live_thread_join(threads[i]);
    }
    close_all(context);
}

/* ---- Errors -------------------------------------------------------------------------------- */

static void time_outs_take_messages_back(void)
{
    struct dn_context *context = open_with(10, 1024, 2);
    live_barrier();
    if (me.rank == 0) {
        struct dn_message_op ops[3];
        uint64_t full = 0;
        while (dn_send(context, 1, &full, 8, 0) == 0) {
            full++;
        }
        bool has_send_buffer = live_context_flags() != 0; /* of as many messages again */
        require(full > 2 && full < (has_send_buffer ? 256 : 64));
        expect(dn_isend(context, 1, sent, 100000, &ops[0]), 0);
        expect(dn_isend(context, 1, me.bank, 100000, &ops[1]), 0);
        expect(dn_isend(context, 1, sent, 8, &ops[2]), DN_EBUSY);
        expect(dn_message_cancel(&ops[0]), 0);
        expect(dn_message_cancel(&ops[1]), 0);
        expect(dn_put_signal(me.node, live_place(1, 0), NULL, 0, live_place(1, 0), full), 0);
        live_wait_u64(0, DN_EQ, 1);
        /* Begun and not continued: private memory goes in pieces, the bank is offered. */
        for (int i = 0; i < 6; i++) {
            size_t bytes = i % 3 || has_send_buffer ? 100000 : 30000;
            expect(dn_send(context, 1, i % 2 ? sent : me.bank, bytes, 3 * LIVE_MS), DN_ETIMEOUT);
            live_fill(sent, bytes, 99);
        }
        expect(dn_put_signal(me.node, live_place(1, 64), NULL, 0, live_place(1, 64), 1), 0);
        uint64_t last = 4711;
        expect(dn_send(context, 1, &last, 8, LIVE_PATIENCE_NS), 0);
    } else if (me.rank == 1) {
        uint64_t word;
        live_wait_u64(0, DN_NE, 0);
        for (uint64_t i = 0; i < *live_u64(0); i++) {
            expect(dn_recv(context, 0, &word, 8, LIVE_PATIENCE_NS, NULL, NULL), 0);
            require(word == i);
        }
        expect(dn_recv(context, 0, &word, 8, LIVE_MS, NULL, NULL), DN_ETIMEOUT);
        expect(dn_put_signal(me.node, live_place(0, 0), NULL, 0, live_place(0, 0), 1), 0);
        live_wait_u64(64, DN_EQ, 1);
        expect(dn_recv(context, 0, &word, 8, LIVE_PATIENCE_NS, NULL, NULL), 0);
        require(word == 4711);
    }
    close_all(context);
}

static void too_long_stays(void)
{
    struct dn_context *context = open_with(11, 4096, 0);
    static const size_t sizes[] = {9, 2000, 20000, 100000};
    for (size_t i = 0; i < 2 * LIVE_COUNT(sizes); i++) {
        size_t wanted = sizes[i / 2];
        if (me.rank == 0) {
            unsigned char *from = i % 2 ? sent : me.bank;
            live_fill(from, wanted, i);
            expect(dn_send(context, 1, from, wanted, LIVE_PATIENCE_NS), 0);
        } else if (me.rank == 1) {
            int sender = -2;
            size_t bytes = 1;
            expect(dn_recv(context, 0, received, wanted - 1, LIVE_PATIENCE_NS, &sender, &bytes),
                   DN_ETOOLONG);
            require(sender == -2 && bytes == 1);
            expect(dn_recv(context, DN_ANY, received, 8, LIVE_PATIENCE_NS, &sender, &bytes),
                   DN_ETOOLONG);
            expect(dn_probe(context, 0, LIVE_PATIENCE_NS, &sender, &bytes), 0);
            require(sender == 0 && bytes == wanted);
            expect(dn_recv(context, 0, received, wanted, LIVE_PATIENCE_NS, &sender, &bytes), 0);
            require(bytes == wanted && live_first_other(received, bytes, i) == bytes);
        }
    }
    close_all(context);
}

static void mistakes_have_names(void)
{
    int one = me.rank;
    int twice[] = {0, 0};
    int none = me.size;
    struct dn_context *context;
    struct dn_context *other;
    struct dn_message_op op = {{0}};
    struct dn_context_options options = {.struct_bytes = sizeof options, .ring_bytes = 100};
    int done;
    expect(dn_context_open(NULL, 20, &one, 1, &one, 1, NULL, &context), DN_EINVAL);
    expect(dn_context_open(me.node, 20, NULL, 1, &one, 1, NULL, &context), DN_EINVAL);
    expect(dn_context_open(me.node, 20, &one, 1, &one, 1, NULL, NULL), DN_EINVAL);
    expect(dn_context_open(me.node, 20, twice, 2, &one, 1, NULL, &context), DN_EINVAL);
    expect(dn_context_open(me.node, 20, &one, 1, &none, 1, NULL, &context), DN_ERANK);
    expect(dn_context_open(me.node, 20, &one, 1, &one, 1, &options, &context), DN_EINVAL);
    options = (struct dn_context_options){.struct_bytes = 7};
    expect(dn_context_open(me.node, 20, &one, 1, &one, 1, &options, &context), DN_EINVAL);
    expect(dn_context_open(me.node, 20, &one, 1, &one, 1, NULL, &context), 0);
    expect(dn_context_open(me.node, 20, &one, 1, &one, 1, NULL, &other), DN_EBUSY);
    expect(dn_send(context, none, sent, 1, 0), DN_ERANK);
    expect(dn_send(context, live_neighbour(1), sent, 1, 0), DN_ERANK);
    expect(dn_send(context, DN_ANY, sent, 1, 0), DN_ERANK);
    expect(dn_send(context, one, NULL, 1, 0), DN_EINVAL);
    expect(dn_send(NULL, one, sent, 1, 0), DN_EINVAL);
    expect(dn_recv(context, live_neighbour(1), sent, 1, 0, NULL, NULL), DN_ERANK);
    expect(dn_recv(context, one, NULL, 1, 0, NULL, NULL), DN_EINVAL);
    expect(dn_recv_release(context, DN_ANY), DN_ERANK);
    expect(dn_message_test(&op, &done, NULL, NULL), DN_EINVAL);
    expect(dn_context_close(context), 0);
    expect(dn_context_close(context), DN_ESTATE);
    expect(dn_send(context, one, sent, 1, 0), DN_ESTATE);
    live_barrier();
    /* A receiver that does not list us, and one that comes late. */
    int zero = 0;
    int last = me.size - 1;
    expect(dn_context_open(me.node, 21, &zero, 1, &last, 1, NULL, &context), 0);
    live_barrier();
    expect(dn_send(context, 0, sent, 1, LIVE_PATIENCE_NS), me.rank == last ? 0 : DN_ERANK);
    live_barrier();
    expect(dn_context_close(context), 0);
    live_barrier();
    if (me.rank == 0) {
        live_sleep_ns(5 * LIVE_MS);
    }
    expect(dn_context_open(me.node, 22, &zero, 1, &last, 1, NULL, &context), 0);
    if (me.rank == last) {
        expect(dn_send(context, 0, sent, 1, LIVE_PATIENCE_NS), 0);
    }
    if (me.rank == 0) {
        expect(dn_recv(context, last, received, 1, LIVE_PATIENCE_NS, NULL, NULL), 0);
        expect(dn_context_close(context), 0);
    }
    live_barrier();
    if (me.rank == last) {
        expect(dn_send(context, 0, sent, 1, LIVE_PATIENCE_NS), DN_EPEER);
    }
    if (me.rank != 0) {
        expect(dn_context_close(context), 0);
    }
}

static const struct live_check checks[] = {
    LIVE_CHECK(2, sizes_from_one),
    LIVE_CHECK(2, from_any),
    LIVE_CHECK(2, slow_receivers_and_tiny_rings),
    LIVE_CHECK(2, flood),
    LIVE_CHECK(3, any_is_fair),
    LIVE_CHECK(2, channels_do_not_mix),
    LIVE_CHECK(2, opened_again_and_again),
    LIVE_CHECK(2, what_was_sent_survives_the_close),
    LIVE_CHECK(2, buffers_to_write_into),
    LIVE_CHECK(2, sends_and_receives_under_way),
    LIVE_CHECK(2, receives_in_order),
    LIVE_CHECK(2, threads_share_a_context),
    LIVE_CHECK(2, time_outs_take_messages_back),
    LIVE_CHECK(2, too_long_stays),
    LIVE_CHECK(2, mistakes_have_names),
};

int main(int argc, char **argv)
{
    sent = malloc(BYTES_MAX);
    received = malloc(BYTES_MAX);
    require(sent && received);
    return live_main(argc, argv, checks, LIVE_COUNT(checks));
}
