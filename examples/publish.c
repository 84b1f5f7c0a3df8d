/* Publish and subscribe: node 0 keeps the list; every other node subscribes to some topics
 * and publishes on others. What is published goes to node 0, and from there to the nodes that
 * subscribed.
 *
 *     nodes 1..n --- subscribe, publish ---> node 0 --- news ---> nodes 1..n
 *
 * A channel has an order per sender, so a subscriber gets each publisher's news in order.
 * All that a node publishes fits into its ring at node 0, so it never waits for a broker
 * that waits for it.
 *
 *     dimmnet run -n 4 build/examples/publish */
#include <dimmnet.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHANNEL = 1, BROKER = 0, TOPICS = 3, NEWS = 1000, NODES_MAX = 64 };

struct note {
    enum { SUBSCRIBE, PUBLISH, GOODBYE } what;
    int topic;
    int from;
    int number;
};

static struct dn_context *context;

static void must(int error)
{
    if (error) {
        fprintf(stderr, "publish: %s\n", dn_strerror(error));
        exit(1); /* without dn_detach: the peers' waits end with DN_EPEER */
    }
}

static void send(int rank, struct note note)
{
    must(dn_send(context, rank, &note, sizeof note, DN_FOREVER));
}

static struct note receive(int source, int *sender)
{
    struct note note;
    must(dn_recv(context, source, &note, sizeof note, DN_FOREVER, sender, NULL));
    return note;
}

static void broker(int size)
{
    static int subscribed[TOPICS][NODES_MAX];
    int active = size - 1;
    while (active > 0) {
        int sender;
        struct note note = receive(DN_ANY, &sender);
        if (note.what == SUBSCRIBE) {
            subscribed[note.topic][sender] = 1;
            send(sender, note); /* from here on it misses nothing */
        }
        for (int rank = 1; rank < size && note.what == PUBLISH; rank++) {
            if (subscribed[note.topic][rank]) {
                send(rank, note);
            }
        }
        active -= note.what == GOODBYE;
    }
}

/* Subscribes to one topic, publishes on another; ends when all of its topic has come. */
static void client(struct dn_node *node, int rank, int size)
{
    int mine = rank % TOPICS;
    int next[NODES_MAX] = {0};
    int expected = 0;
    send(BROKER, (struct note){SUBSCRIBE, mine, rank, 0});
    receive(BROKER, NULL);
    must(dn_barrier(dn_team_all(node), DN_FOREVER)); /* all have subscribed */
    for (int other = 1; other < size; other++) {
        expected += (other + 1) % TOPICS == mine ? NEWS : 0;
    }
    int got = 0;
    for (int sent = 0; sent < NEWS || got < expected;) {
        if (sent < NEWS) {
            send(BROKER, (struct note){PUBLISH, (rank + 1) % TOPICS, rank, sent++});
        }
        size_t bytes;
        while (got < expected &&
               (sent == NEWS || dn_probe(context, BROKER, 0, NULL, &bytes) == 0)) {
            struct note note = receive(BROKER, NULL);
            if (note.topic != mine || note.number != next[note.from]++) {
                fprintf(stderr, "publish: node %d got the wrong news\n", rank);
                exit(1);
            }
            got++;
        }
    }
    send(BROKER, (struct note){GOODBYE, 0, rank, 0});
    printf("node %d got %d news about topic %d\n", rank, got, mine);
}

int main(void)
{
    struct dn_node *node;
    int ranks[NODES_MAX];
    must(dn_attach(&node, NULL));
    int size = dn_size(node) < NODES_MAX ? dn_size(node) : NODES_MAX;
    for (int rank = 0; rank < size; rank++) {
        ranks[rank] = rank;
    }
    must(dn_context_open(node, CHANNEL, ranks, (size_t)size, ranks, (size_t)size, NULL, &context));
    if (dn_rank(node) == BROKER) {
        /* The others' barrier needs us while we serve, so we arrive now and look later. */
        struct dn_team *all = dn_team_all(node);
        must(dn_barrier_arrive(all));
        broker(size);
        must(dn_barrier_wait(all, DN_FOREVER));
    } else {
        client(node, dn_rank(node), size);
    }
    must(dn_context_close(context));
    must(dn_detach(node));
    return 0;
}
