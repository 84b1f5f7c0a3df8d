/* Messages and death: node 0 survives, the last node dies by SIGKILL at a random moment of what
 * both do. Run with --keep-going; node 0 says "ok NAME" for each behaviour.
 *
 *     message_death sender | receiver */
#define _GNU_SOURCE
#include <signal.h>

#include "live/live.h"

enum { BYTES_MAX = 150000 };

/* The launcher tells of a death within 100 ms; the rest is for a loaded machine. */
#define IN_TIME_NS (5 * LIVE_SECOND)

static unsigned char *buffer;
static uint64_t dies_after_ns;

static void *die(void *argument)
{
    (void)argument;
    live_sleep_ns(dies_after_ns);
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

/* A context with all nodes. Closed ones that somebody still holds may fill the table. */
static struct dn_context *open_channel(uint32_t channel, uint64_t ring_bytes)
{
    int ranks[16];
    struct dn_context *context = NULL;
    struct dn_context_options options = {
        .struct_bytes = sizeof options, .ring_bytes = ring_bytes, .flags = live_context_flags()};
    for (int rank = 0; rank < me.size; rank++) {
        ranks[rank] = rank;
    }
    int error;
    while ((error = dn_context_open(me.node, channel, ranks, (size_t)me.size, ranks,
                                    (size_t)me.size, &options, &context)) == DN_EFULL) {
        live_sleep_ns(100 * LIVE_US);
    }
    expect(error, 0);
    return context;
}

/* The rest of a context's life, between this node and itself: it is opened, a large message is
 * taken back and one received from any, and it is closed. In a large group the summary finds
 * sources. */
static void live_alone(void)
{
    struct dn_context *context = open_channel(2, 0);
    struct dn_message_op op;
    uint64_t word = 1;
    expect(dn_isend(context, me.rank, me.bank, 100000, &op), 0);
    expect(dn_message_cancel(&op), 0);
    expect(dn_send(context, me.rank, &word, sizeof word, DN_FOREVER), 0);
    expect(dn_recv(context, DN_ANY, &word, sizeof word, DN_FOREVER, NULL, NULL), 0);
    expect(dn_recv(context, DN_ANY, &word, sizeof word, 0, NULL, NULL), DN_ETIMEOUT);
    expect(dn_context_close(context), 0);
}

static size_t bytes_of(uint64_t number)
{
    uint64_t random = me.seed + number;
    return live_random(&random, live_random(&random, 2) ? 3000 : BYTES_MAX);
}

/* Now and then another context goes on where the last one ended. */
static void send_until_death(struct dn_context *context)
{
    for (uint64_t number = 0;; number++) {
        live_alone();
        if (number % 8 == 7) {
            expect(dn_context_close(context), 0);
            context = open_channel(1, 0);
        }
        size_t bytes = bytes_of(number);
        unsigned char *from = number % 2 ? buffer : me.bank;
        live_fill(from, bytes, number);
        /* Sometimes it is taken back first, which the receiver must not notice. */
        int error = number % 4 < 2 ? dn_send(context, 0, from, bytes, 20 * LIVE_US) : DN_ETIMEOUT;
        if (error == DN_ETIMEOUT) {
            error = dn_send(context, 0, from, bytes, DN_FOREVER);
        }
        expect(error, 0);
    }
}

/* Receives all that was completed, in order and whole, then DN_EPEER and nothing else. */
static void receive_until_death(struct dn_context *context)
{
    int dying = me.size - 1;
    int error;
    size_t bytes;
    uint64_t number = 0;
    while ((error = dn_recv(context, dying, buffer, BYTES_MAX, LIVE_PATIENCE_NS, NULL, &bytes)) ==
           0) {
        require(bytes == bytes_of(number));
        require(live_first_other(buffer, bytes, number) == bytes);
        number++;
    }
    expect(error, DN_EPEER);
    enum dn_life life;
    expect(dn_peer_life(me.node, dying, &life), 0);
    require(life == DN_DEAD);
    expect(dn_recv(context, dying, buffer, BYTES_MAX, DN_FOREVER, NULL, &bytes), DN_EPEER);
    expect(dn_probe(context, dying, DN_FOREVER, NULL, &bytes), DN_EPEER);
    /* With others alive, their messages may have come already, and come first. */
    if (me.size == 2) {
        expect(dn_recv(context, DN_ANY, buffer, BYTES_MAX, DN_FOREVER, NULL, &bytes), DN_EPEER);
    }
    me.check = "a sender died";
    live_say_ok();
}

/* Every send ends, whatever its state. */
static void send_to_the_dying(struct dn_context *context)
{
    int dying = me.size - 1;
    int error;
    uint64_t began_ns;
    uint64_t number = 0;
    do {
        size_t bytes = bytes_of(number++);
        began_ns = live_now_ns();
        error = dn_send(context, dying, number % 2 ? buffer : me.bank, bytes, DN_FOREVER);
    } while (error == 0);
    expect(error, DN_EPEER);
    require(live_now_ns() - began_ns < dies_after_ns + IN_TIME_NS);
    expect(dn_send(context, dying, buffer, 8, DN_FOREVER), DN_EPEER);
    struct dn_message_op op;
    expect(dn_isend(context, dying, buffer, 100000, &op), 0);
    expect(dn_message_wait(&op, DN_FOREVER, NULL, NULL), DN_EPEER);
    me.check = "a receiver died";
    live_say_ok();
}

/* With the death acknowledged, receiving from any goes on with the others. */
static void go_on_with_the_living(struct dn_context *context)
{
    uint64_t word = 17;
    if (me.rank == 0) {
        int dead;
        size_t count;
        int sender;
        expect(dn_failure_ack(me.node, &dead, 1, &count), 0);
        require(count == 1 && dead == me.size - 1);
        for (int i = 0; i < me.size - 2; i++) {
            expect(dn_recv(context, DN_ANY, &word, 8, LIVE_PATIENCE_NS, &sender, NULL), 0);
            require(word == 18 && sender != dead);
        }
        me.check = "the living go on";
        live_say_ok();
    } else {
        word = 18;
        expect(dn_send(context, 0, &word, 8, DN_FOREVER), 0);
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    bool sender_dies = argc == 2 && strcmp(argv[1], "sender") == 0;
    live_attach();
    buffer = malloc(BYTES_MAX);
    require(buffer && me.size >= 2 && me.size <= 16);
    uint64_t random = me.seed;
    dies_after_ns = live_random(&random, 60 * LIVE_MS);
    struct dn_context *context = open_channel(1, live_random(&random, 2) ? 65536 : 1024);
    /* At a kill point it may have died before. */
    int error = dn_barrier(dn_team_all(me.node), LIVE_PATIENCE_NS);
    require(error == 0 || error == DN_EPEER);
    if (me.rank == me.size - 1) {
        live_thread_start(&thread, die, NULL);
        if (sender_dies) {
            send_until_death(context);
        }
        for (;;) {
            live_alone();
            expect(dn_recv(context, 0, buffer, BYTES_MAX, DN_FOREVER, NULL, NULL), 0);
        }
    }
    if (me.rank == 0) {
        (sender_dies ? receive_until_death : send_to_the_dying)(context);
    }
    go_on_with_the_living(context);
    expect(dn_detach(me.node), 0);
    return 0;
}
