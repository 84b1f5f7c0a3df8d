/* Modified ACK/NACK through a random network: nothing lost, doubled or out of order, with
 * small buffers, slow receivers, every choice of options, and loss where it is allowed. */
#include "unit/unit.h"

#include <stdalign.h>
#include <stdlib.h>

#include "base/random.h"
#include "nic/message_protocol.h"

enum {
    NODES_MAX = 5,
    ENTRIES = 8,
    SEND_BYTES = 512,
    RECEIVE_BYTES = 256,
    BYTES_MAX = 120,
    WIRE_PACKETS = 4096, /* between two nodes, far beyond what tables can fill */
    MESSAGES = 120,      /* from each node to each */
    STEPS_MAX = 2000000,
};

struct flying {
    struct px_packet packet;
    unsigned char data[BYTES_MAX];
    uint64_t arrives_ns;
};

/* One direction between two nodes: in order, each packet delayed anew. */
struct wire {
    struct flying packets[WIRE_PACKETS];
    uint32_t first;
    uint32_t count;
    uint32_t most;
};

struct node {
    struct px_sender sender;
    struct px_receiver receiver;
    struct px_destination destinations[NODES_MAX];
    struct px_source sources[NODES_MAX];
    struct px_entry entries[ENTRIES];
    alignas(8) unsigned char send_buffer[SEND_BYTES];
    alignas(8) unsigned char receive_buffer[RECEIVE_BYTES];
    struct px_buffer buffer;
    uint32_t sent[NODES_MAX];
    uint32_t received[NODES_MAX];
    uint64_t reads_at_ns;
    uint32_t data_turn, answer_turn; /* the line that is asked first for the next packet */
};

struct world {
    struct base_random random;
    uint32_t count;
    uint32_t loss_percent;
    uint64_t now_ns;
    struct node nodes[NODES_MAX];
    struct wire wires[NODES_MAX][NODES_MAX];
};

static struct world world;

static uint64_t below(uint64_t limit)
{
    return base_random_below(&world.random, limit);
}

static void make_world(uint64_t seed, uint32_t count, uint32_t flags, uint32_t loss_percent)
{
    memset(&world, 0, sizeof world);
    world.random.state = seed;
    world.count = count;
    world.loss_percent = loss_percent;
    struct px_options options = {.channel = 7,
                                 .flags = flags,
                                 .back_off_ns = 200,
                                 .resend_timeout_ns = 20000,
                                 .asks_all = seed % 2 == 0,
                                 .ask_bytes = seed % 3 == 0 ? 100 : 0};
    for (uint32_t rank = 0; rank < count; rank++) {
        struct node *node = &world.nodes[rank];
        node->sender = (struct px_sender){.options = options,
                                          .rank = rank,
                                          .destinations = node->destinations,
                                          .entries = node->entries,
                                          .entry_count = ENTRIES,
                                          .buffer = node->send_buffer,
                                          .buffer_bytes = SEND_BYTES};
        node->buffer = (struct px_buffer){.bytes = node->receive_buffer,
                                          .byte_count = RECEIVE_BYTES};
        node->receiver = (struct px_receiver){.options = options,
                                              .rank = rank,
                                              .sources = node->sources,
                                              .store = {.context = &node->buffer,
                                                        .take = px_buffer_take,
                                                        .has_room = px_buffer_has_room,
                                                        .free_bytes = px_buffer_free_bytes,
                                                        .total_bytes = RECEIVE_BYTES}};
        for (uint32_t other = 0; other < count; other++) {
            node->destinations[other].rank = other;
            node->sources[other].rank = other;
        }
        px_sender_init(&node->sender, count);
        px_receiver_init(&node->receiver, count);
    }
}

/* ---- The network ---------------------------------------------------------------------- */

static void put_on_wire(const struct px_packet *packet)
{
    struct wire *wire = &world.wires[packet->from][packet->to];
    if (below(100) < world.loss_percent) {
        return;
    }
    assert_true(wire->count < WIRE_PACKETS);
    struct flying *flying = &wire->packets[(wire->first + wire->count++) % WIRE_PACKETS];
    flying->packet = *packet;
    if (packet->bytes) {
        memcpy(flying->data, packet->data, packet->bytes);
    }
    flying->packet.data = flying->data;
    flying->arrives_ns = world.now_ns + below(2000);
    wire->most = wire->count > wire->most ? wire->count : wire->most;
}

static void arrive(struct wire *wire)
{
    while (wire->count && wire->packets[wire->first].arrives_ns <= world.now_ns) {
        struct flying *flying = &wire->packets[wire->first];
        struct node *node = &world.nodes[flying->packet.to];
        if (flying->packet.type == PX_DATA) {
            px_on_data(&node->receiver, &flying->packet);
        } else {
            px_on_answer(&node->sender, world.now_ns, &flying->packet);
        }
        wire->first = (wire->first + 1) % WIRE_PACKETS;
        wire->count--;
    }
}

/* ---- The hosts ------------------------------------------------------------------------ */

static uint32_t length_of(uint32_t from, uint32_t to, uint32_t number)
{
    return (from * 31 + to * 17 + number * 7) % (BYTES_MAX - 12) + 12;
}

static void host_sends(uint32_t rank)
{
    struct node *node = &world.nodes[rank];
    uint32_t to = (uint32_t)below(world.count);
    if (node->sent[to] == MESSAGES) {
        return;
    }
    uint32_t entry;
    uint32_t bytes = length_of(rank, to, node->sent[to]);
    unsigned char *buffer = px_get_send_buf(&node->sender, to, bytes, &entry);
    if (buffer) {
        uint32_t words[3] = {rank, to, node->sent[to]++};
        memset(buffer, (int)words[2], bytes);
        memcpy(buffer, words, sizeof words);
        px_on_kick(&node->sender, entry);
    }
}

static void host_reads(uint32_t rank)
{
    struct node *node = &world.nodes[rank];
    const struct px_stored *stored = px_buffer_first(&node->buffer);
    if (!stored || node->reads_at_ns > world.now_ns) {
        return;
    }
    uint32_t words[3];
    memcpy(words, stored + 1, sizeof words);
    assert_int_equal(words[0], stored->from);
    assert_int_equal(words[1], rank);
    assert_int_equal(words[2], node->received[stored->from]);
    assert_int_equal(stored->bytes, length_of(words[0], words[1], words[2]));
    const unsigned char *bytes = (const unsigned char *)(stored + 1);
    for (uint32_t i = sizeof words; i < stored->bytes; i++) {
        assert_int_equal(bytes[i], (unsigned char)words[2]);
    }
    node->received[stored->from]++;
    px_buffer_pass(&node->buffer);
    px_on_room(&node->receiver);
    /* Mostly at once, sometimes only after a while. */
    node->reads_at_ns = world.now_ns + (below(20) ? below(100) : below(30000));
}

/* ---- Running --------------------------------------------------------------------------- */

static bool all_received(void)
{
    for (uint32_t rank = 0; rank < world.count; rank++) {
        for (uint32_t from = 0; from < world.count; from++) {
            if (world.nodes[rank].received[from] != MESSAGES) {
                return false;
            }
        }
    }
    return true;
}

static bool all_idle(void)
{
    for (uint32_t rank = 0; rank < world.count; rank++) {
        if (!px_sender_is_idle(&world.nodes[rank].sender)) {
            return false;
        }
    }
    return true;
}

/* The next packet to send, if there is one now: the lines take turns. */
static bool next_data(struct node *node, uint64_t now_ns, struct px_packet *packet)
{
    for (uint32_t i = 0; i < world.count; i++) {
        uint32_t index = (node->data_turn + i) % world.count;
        if (px_sender_peek(&node->sender, now_ns, index, packet)) {
            px_sender_sent(&node->sender, now_ns, index);
            node->data_turn = index + 1;
            return true;
        }
    }
    return false;
}

static bool next_answer(struct node *node, struct px_packet *packet)
{
    for (uint32_t i = 0; i < world.count; i++) {
        uint32_t index = (node->answer_turn + i) % world.count;
        if (px_receiver_peek(&node->receiver, index, packet)) {
            px_receiver_sent(&node->receiver, index, packet);
            node->answer_turn = index + 1;
            return true;
        }
    }
    return false;
}

/* When there may be data to send even if nothing comes; UINT64_MAX: never. */
static uint64_t deadline_of(const struct node *node, uint64_t now_ns)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (uint32_t i = 0; i < world.count; i++) {
        uint64_t ready_ns = px_sender_ready_ns(&node->sender, now_ns, i);
        deadline_ns = ready_ns < deadline_ns ? ready_ns : deadline_ns;
    }
    return deadline_ns;
}

static void step(void)
{
    uint32_t rank = (uint32_t)below(world.count);
    struct node *node = &world.nodes[rank];
    struct px_packet packet;
    world.now_ns += below(20);
    for (uint32_t from = 0; from < world.count; from++) {
        arrive(&world.wires[from][rank]);
    }
    host_sends(rank);
    host_reads(rank);
    if (next_answer(node, &packet)) {
        put_on_wire(&packet);
    }
    uint64_t deadline_ns = deadline_of(node, world.now_ns);
    if (next_data(node, world.now_ns, &packet)) {
        /* The caller sleeps until the deadline. */
        assert_true(deadline_ns <= world.now_ns);
        put_on_wire(&packet);
    }
}

static void run(uint64_t seed, uint32_t count, uint32_t flags, uint32_t loss_percent)
{
    uint32_t steps = 0;
    make_world(seed, count, flags, loss_percent);
    while (!(all_received() && all_idle()) && steps < STEPS_MAX) {
        step();
        steps++;
    }
    if (steps == STEPS_MAX) {
        fail_msg("seed %llu, %u nodes, flags %u, loss %u %%: not at an end",
                 (unsigned long long)seed, count, flags, loss_percent);
    }
}

static uint64_t first_seed(void)
{
    const char *given = getenv("DN_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : unit_now_ns() % 1000000;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

static void reliable_network(void **state)
{
    uint64_t seed = first_seed();
    (void)state;
    for (uint32_t flags = 0; flags < 8; flags++) {
        for (uint32_t count = 2; count <= NODES_MAX; count++) {
            run(seed + flags * 8 + count, count, flags, 0);
        }
    }
}

static void losing_network(void **state)
{
    uint64_t seed = first_seed();
    (void)state;
    for (uint32_t flags = 0; flags < 4; flags++) {
        for (uint32_t count = 2; count <= NODES_MAX; count++) {
            run(seed + flags * 8 + count, count, flags | DN_CONTEXT_LOSS_DETECTION, 1 + count * 5);
        }
    }
}

/* ---- Single steps ----------------------------------------------------------------------- */

static uint32_t kick(struct node *node, uint32_t to)
{
    uint32_t entry;
    void *buffer = px_get_send_buf(&node->sender, to, 8, &entry);
    assert_non_null(buffer);
    memset(buffer, 0, 8);
    px_on_kick(&node->sender, entry);
    return entry;
}

static void expect_data(struct node *node, uint64_t now_ns, uint32_t seqid)
{
    struct px_packet packet;
    assert_true(next_data(node, now_ns, &packet));
    assert_int_equal(packet.type, PX_DATA);
    assert_int_equal(packet.seqid, seqid);
}

static void expect_silence(struct node *node, uint64_t now_ns)
{
    struct px_packet packet;
    assert_false(next_data(node, now_ns, &packet));
}

/* Messages go to node 1 alone and one after the other, so the entry follows from the SEQID. */
static void answer(struct node *node, uint64_t now_ns, enum px_packet_type type, uint32_t seqid)
{
    struct px_packet packet = {
        .type = type, .from = 1, .to = 0, .channel = 7, .seqid = seqid, .entry = seqid % ENTRIES};
    px_on_answer(&node->sender, now_ns, &packet);
}

static void nothing_new_until_the_nacked_one_is_acked(void **state)
{
    (void)state;
    make_world(1, 2, 0, 0);
    struct node *node = &world.nodes[0];
    for (uint32_t seqid = 0; seqid < 3; seqid++) {
        (void)kick(node, 1);
        expect_data(node, 0, seqid);
    }
    answer(node, 0, PX_ACK, 0);
    answer(node, 0, PX_NACK, 1);
    (void)kick(node, 1);
    expect_data(node, 0, 1);
    expect_data(node, 0, 2);
    expect_silence(node, 0);
    answer(node, 0, PX_ACK, 1);
    expect_data(node, 0, 3);
    expect_silence(node, 0);
}

static void back_off_waits_longer_and_longer(void **state)
{
    (void)state;
    make_world(1, 2, DN_CONTEXT_BACK_OFF, 0);
    struct node *node = &world.nodes[0];
    (void)kick(node, 1);
    expect_data(node, 0, 0);
    uint64_t now_ns = 0;
    for (uint32_t i = 0; i < 9; i++) {
        uint64_t pause_ns = UINT64_C(200) << (i < 6 ? i : 6);
        answer(node, now_ns, PX_NACK, 0);
        assert_int_equal(deadline_of(node, now_ns), now_ns + pause_ns);
        expect_silence(node, now_ns + pause_ns - 1);
        now_ns += pause_ns;
        expect_data(node, now_ns, 0);
    }
}

static void stopped_until_asked(void **state)
{
    (void)state;
    make_world(1, 2, DN_CONTEXT_RESEND_REQUEST, 0);
    struct node *node = &world.nodes[0];
    (void)kick(node, 1);
    (void)kick(node, 1);
    expect_data(node, 0, 0);
    expect_data(node, 0, 1);
    answer(node, 0, PX_STOP, 0);
    expect_silence(node, UINT64_MAX - 1);
    answer(node, 0, PX_RESEND, 0);
    expect_data(node, 0, 0);
    expect_data(node, 0, 1);
}

static void answers_that_make_no_sense_are_ignored(void **state)
{
    (void)state;
    make_world(1, 2, DN_CONTEXT_LOSS_DETECTION, 0);
    struct node *node = &world.nodes[0];
    (void)kick(node, 1);
    expect_data(node, 0, 0);
    (void)kick(node, 1);
    answer(node, 0, PX_ACK, 1); /* not sent yet */
    answer(node, 0, PX_NACK, 77);
    answer(node, 0, PX_RESEND, UINT32_MAX);
    assert_int_equal(node->sender.entry_tail, 0);
    struct px_packet strange = {.type = PX_ACK, .from = 9, .channel = 7};
    px_on_answer(&node->sender, 0, &strange);
    strange = (struct px_packet){.type = PX_ACK, .from = 1, .channel = 8};
    px_on_answer(&node->sender, 0, &strange);
    /* The address of another message, one beyond the table, and none where there must be one. */
    static const uint32_t wrong[] = {1, ENTRIES, PX_NO_ENTRY};
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        strange = (struct px_packet){.type = PX_ACK, .from = 1, .channel = 7, .entry = wrong[i]};
        px_on_answer(&node->sender, 0, &strange);
        assert_int_equal(node->sender.entry_tail, 0);
    }
    strange.type = PX_NACK;
    strange.entry = 1;
    px_on_answer(&node->sender, 0, &strange);
    assert_int_equal(node->destinations[1].flow, PX_FLOWING);
    expect_data(node, 0, 1);
    answer(node, 0, PX_ACK, 1);
    answer(node, 0, PX_ACK, 0); /* overtaken */
    assert_true(px_sender_is_idle(&node->sender));
}

/* An answer brings back the address that came with the data. */
static void answers_name_the_entry(void **state)
{
    (void)state;
    make_world(1, 3, DN_CONTEXT_RESEND_REQUEST, 0);
    struct node *sender = &world.nodes[0];
    struct node *receiver = &world.nodes[1];
    struct px_packet packet;
    enum { FIT = RECEIVE_BYTES / 16 }; /* of 8 bytes, with their headers */
    for (uint32_t i = 0; i < FIT + 1; i++) {
        uint32_t entry = kick(sender, 1);
        assert_true(next_data(sender, 0, &packet));
        assert_int_equal(packet.entry, entry);
        px_on_data(&receiver->receiver, &packet);
        assert_true(next_answer(receiver, &packet));
        assert_int_equal(packet.type, i < FIT ? PX_ACK : PX_STOP);
        assert_int_equal(packet.seqid, i);
        assert_int_equal(packet.entry, entry);
        px_on_answer(&sender->sender, 0, &packet);
        if (i < FIT) {
            assert_true(px_sender_is_idle(&sender->sender));
            /* Another destination's entry lies between two of node 1's. */
            entry = kick(sender, 2);
            assert_true(next_data(sender, 0, &packet));
            packet = (struct px_packet){
                .type = PX_ACK, .from = 2, .channel = 7, .seqid = i, .entry = entry};
            px_on_answer(&sender->sender, 0, &packet);
        }
    }
    px_buffer_pass(&receiver->buffer);
    px_on_room(&receiver->receiver);
    assert_true(next_answer(receiver, &packet));
    assert_int_equal(packet.type, PX_RESEND);
    assert_int_equal(packet.entry, sender->destinations[1].first_entry);
    px_on_answer(&sender->sender, 0, &packet);
    expect_data(sender, 0, FIT);
    assert_int_equal(sender->sender.counters.repeated, 1);
    assert_int_equal(receiver->receiver.counters.refused, 1);
}

/* ACKs that could not go out are joined: the last one says it all. */
static void an_ack_stands_for_those_before_it(void **state)
{
    (void)state;
    make_world(1, 2, 0, 0);
    struct node *sender = &world.nodes[0];
    struct px_packet packet;
    for (uint32_t i = 0; i < 3; i++) {
        (void)kick(sender, 1);
        assert_true(next_data(sender, 0, &packet));
        px_on_data(&world.nodes[1].receiver, &packet);
    }
    assert_true(next_answer(&world.nodes[1], &packet));
    assert_int_equal(packet.seqid, 2);
    px_on_answer(&sender->sender, 0, &packet);
    assert_true(px_sender_is_idle(&sender->sender));
    assert_false(next_answer(&world.nodes[1], &packet));
}

/* With loss detection a sender wakes up by itself, even one that was stopped. */
static void silence_ends(void **state)
{
    (void)state;
    make_world(1, 2, DN_CONTEXT_LOSS_DETECTION | DN_CONTEXT_RESEND_REQUEST, 0);
    struct node *node = &world.nodes[0];
    (void)kick(node, 1);
    expect_data(node, 100, 0);
    assert_int_equal(deadline_of(node, 100), 20100);
    expect_silence(node, 20099);
    expect_data(node, 20100, 0);
    /* A sender that was told to wait does so for longer. */
    answer(node, 20200, PX_STOP, 0);
    assert_int_equal(deadline_of(node, 20200), 100200);
    expect_silence(node, 100199);
    expect_data(node, 100200, 0);
    assert_int_equal(node->sender.counters.silences, 2);
    answer(node, 100300, PX_ACK, 0);
    assert_int_equal(deadline_of(node, 100300), UINT64_MAX);
}

/* Delivers what a node has to send to node 0; returns the answer's type, 0: none. */
static unsigned send_to_zero(uint32_t from, uint32_t bytes)
{
    struct node *node = &world.nodes[from];
    struct px_packet packet;
    if (bytes > 0) {
        uint32_t entry;
        void *buffer = px_get_send_buf(&node->sender, 0, bytes, &entry);
        assert_non_null(buffer);
        memset(buffer, 0, bytes);
        px_on_kick(&node->sender, entry);
    }
    assert_true(next_data(node, 0, &packet));
    px_on_data(&world.nodes[0].receiver, &packet);
    if (!next_answer(&world.nodes[0], &packet)) {
        return 0;
    }
    assert_int_equal(packet.to, from);
    px_on_answer(&node->sender, 0, &packet);
    return packet.type;
}

static void host_reads_one(void)
{
    px_buffer_pass(&world.nodes[0].buffer);
    px_on_room(&world.nodes[0].receiver);
}

/* Takes the request that node 0 has for a node, and for no other. */
static void expect_asked(uint32_t rank)
{
    struct px_packet packet;
    assert_true(next_answer(&world.nodes[0], &packet));
    assert_int_equal(packet.type, PX_RESEND);
    assert_int_equal(packet.to, rank);
    px_on_answer(&world.nodes[rank].sender, 0, &packet);
    assert_false(next_answer(&world.nodes[0], &packet));
}

/* A room that comes free is promised to the one that waits, and no other gets it. */
static void those_who_wait_take_turns(void **state)
{
    enum { BYTES = 56, FIT = RECEIVE_BYTES / (8 + BYTES) };
    (void)state;
    make_world(1, 3, DN_CONTEXT_RESEND_REQUEST, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(world.nodes[i].receiver.options.asks_all);
    }
    for (uint32_t i = 0; i < FIT; i++) {
        assert_int_equal(send_to_zero(1, BYTES), PX_ACK);
    }
    assert_int_equal(send_to_zero(1, BYTES), PX_STOP);
    assert_int_equal(send_to_zero(2, BYTES), PX_STOP);
    host_reads_one();
    expect_asked(1);
    assert_int_equal(send_to_zero(1, 0), PX_ACK);
    host_reads_one();
    expect_asked(2);
    assert_int_equal(send_to_zero(1, BYTES), PX_STOP); /* there is room, but not for this one */
    assert_int_equal(send_to_zero(2, 0), PX_ACK);
    /* Half of the buffer is wanted first. */
    world.nodes[0].receiver.options.ask_bytes = RECEIVE_BYTES / 2 - 8;
    host_reads_one();
    struct px_packet packet;
    assert_false(next_answer(&world.nodes[0], &packet));
    host_reads_one();
    expect_asked(1);
    assert_int_equal(send_to_zero(1, 0), PX_ACK);
    /* The room that is free is kept for the rest of node 1's turn. */
    assert_int_equal(send_to_zero(2, BYTES), PX_STOP);
    host_reads_one();
    assert_false(next_answer(&world.nodes[0], &packet));
    host_reads_one();
    expect_asked(2);
    assert_int_equal(send_to_zero(2, 0), PX_ACK);
    assert_true(world.nodes[0].receiver.promised_bytes > 0);
    /* They have nothing more to send, which shows when all is read. */
    while (px_buffer_first(&world.nodes[0].buffer)) {
        host_reads_one();
    }
    assert_int_equal(world.nodes[0].receiver.promised_bytes, 0);
    assert_int_equal(world.nodes[0].receiver.stopped_count, 0);
}

/* A table that is used again for fewer sources begins with their first. */
static void turns_begin_anew(void **state)
{
    struct px_receiver *receiver = &world.nodes[0].receiver;
    (void)state;
    make_world(1, 5, DN_CONTEXT_RESEND_REQUEST, 0);
    while (send_to_zero(3, 56) == PX_ACK) {
    }
    host_reads_one();
    expect_asked(3);
    assert_int_equal(receiver->next_asked, 4);
    while (px_buffer_first(&world.nodes[0].buffer)) {
        px_buffer_pass(&world.nodes[0].buffer);
    }
    world.count = 2;
    px_receiver_init(receiver, 2);
    px_sender_init(&world.nodes[1].sender, 2);
    assert_false(receiver->has_asked);
    while (send_to_zero(1, 56) == PX_ACK) {
    }
    host_reads_one();
    expect_asked(1);
    assert_int_equal(receiver->next_asked, 0);
}

/* A promise ends with the one that it was made to. */
static void the_lost_are_not_waited_for(void **state)
{
    (void)state;
    make_world(1, 3, DN_CONTEXT_RESEND_REQUEST, 0);
    while (send_to_zero(1, 56) == PX_ACK) {
    }
    assert_int_equal(send_to_zero(2, 56), PX_STOP);
    host_reads_one();
    expect_asked(1);
    px_receiver_peer_lost(&world.nodes[0].receiver, 1);
    px_on_room(&world.nodes[0].receiver);
    expect_asked(2);
    assert_int_equal(send_to_zero(2, 0), PX_ACK);
}

/* ACKs of different destinations: the tails of the tables wait for the oldest. */
static void tails_advance_without_gaps(void **state)
{
    (void)state;
    make_world(1, 2, 0, 0);
    struct node *node = &world.nodes[0];
    uint32_t entry;
    (void)kick(node, 0);
    for (int i = 1; i < ENTRIES; i++) {
        (void)kick(node, 1);
    }
    assert_null(px_get_send_buf(&node->sender, 1, 8, &entry));
    struct px_packet packet;
    while (next_data(node, 0, &packet)) {
    }
    packet = (struct px_packet){
        .type = PX_ACK, .from = 1, .channel = 7, .seqid = ENTRIES - 2, .entry = ENTRIES - 1};
    px_on_answer(&node->sender, 0, &packet);
    assert_null(px_get_send_buf(&node->sender, 1, 8, &entry));
    packet = (struct px_packet){.type = PX_ACK, .from = 0, .channel = 7, .seqid = 0};
    px_on_answer(&node->sender, 0, &packet);
    assert_true(px_sender_is_idle(&node->sender));
    assert_non_null(px_get_send_buf(&node->sender, 1, SEND_BYTES, &entry));
    assert_null(px_get_send_buf(&node->sender, 1, 8, &entry));
    assert_null(px_get_send_buf(&node->sender, 5, 8, &entry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reliable_network),
        cmocka_unit_test(losing_network),
        cmocka_unit_test(nothing_new_until_the_nacked_one_is_acked),
        cmocka_unit_test(back_off_waits_longer_and_longer),
        cmocka_unit_test(stopped_until_asked),
        cmocka_unit_test(answers_that_make_no_sense_are_ignored),
        cmocka_unit_test(answers_name_the_entry),
        cmocka_unit_test(an_ack_stands_for_those_before_it),
        cmocka_unit_test(silence_ends),
        cmocka_unit_test(those_who_wait_take_turns),
        cmocka_unit_test(turns_begin_anew),
        cmocka_unit_test(the_lost_are_not_waited_for),
        cmocka_unit_test(tails_advance_without_gaps),
    };
    return cmocka_run_group_tests_name("nic/message_protocol", tests, NULL, NULL);
}
