/* Contexts with flags: messages go by Modified ACK/NACK where nodes are away from each other, and
 * mean the same as those without. */
#include "contexts.h"

#include "message/message_way.h"
#include "nic/services_state.h"

enum { NODES = 3, STREAM = 300, STREAM_BYTES_MAX = 5000, SMALL_RING = GROUP_RING_BYTES_MIN };

static const uint32_t all_flags[] = {
    DN_CONTEXT_ACK_NACK,
    DN_CONTEXT_BACK_OFF,
    DN_CONTEXT_RESEND_REQUEST,
    DN_CONTEXT_LOSS_DETECTION,
    DN_CONTEXT_BACK_OFF | DN_CONTEXT_RESEND_REQUEST | DN_CONTEXT_LOSS_DETECTION,
};

static int set_up(void **state)
{
    struct nic_services_config config;
    (void)state;
    nic_services_config_default(&config, NODES);
    nic_services_config_messages(&config);
    config.context_count = GROUP_MESSAGE_SLOTS;
    config.context_entry_count = 8;
    config.context_send_bytes = 2048;
    config.context_receive_bytes = 0;
    config.message_bytes_max = 256; /* the fake fabric's records are short */
    config.message_datagrams = true;
    config.message_asks_all = true;
    config.message_pause_ns = 1000;
    config.message_back_off_ns = 1000;
    config.message_resend_ns = 2 * UNIT_MS;
    fake_make(&(struct fake_settings){
        .node_count = NODES, .sizes = {.bank_bytes = BANK_BYTES}, .seed = 5, .services = &config});
    fake_attach();
    buffer = malloc(MESSAGE_MAX);
    return buffer ? 0 : -1;
}

static struct dn_context *open_flagged(uint32_t rank, uint64_t ring_bytes, uint32_t flags)
{
    int ranks[NODES] = {0, 1, 2};
    struct dn_context_options options = {
        .struct_bytes = sizeof options, .ring_bytes = ring_bytes, .flags = flags};
    struct dn_context *context = NULL;
    assert_int_equal(
        dn_context_open(node_of(rank), CHANNEL, ranks, NODES, ranks, NODES, &options, &context), 0);
    return context;
}

/* Lets some of what is under way happen: what is refused is sent again for as long as it is. */
static void deliver_some(void)
{
    for (unsigned i = 0; i < 500; i++) {
        (void)fabric_progress(&node_of(0)->lane);
    }
}

static const struct px_receiver *receiver_of(uint32_t rank, const struct dn_context *context)
{
    const struct group_service *service = group_service(view_of(rank), rank);
    return nic_packet_message_receiver(fake_nodes[rank].services,
                                       (uint32_t)(context->slot - service->message_slots));
}

static void peers_away_are_reached_by_records(void **state)
{
    (void)state;
    struct dn_context *context = open_flagged(0, 0, DN_CONTEXT_ACK_NACK);
    assert_ptr_equal(context->destination_of[0]->way, &message_in_place);
    assert_ptr_equal(context->destination_of[1]->way, &message_by_records);
    assert_ptr_equal(context->source_of[2]->way, &message_by_records);
    close_it(context);
}

/* ---- Streams ------------------------------------------------------------------------------- */

static uint64_t stream_bytes(uint32_t from, uint64_t number)
{
    struct base_random random = {from * UINT64_C(1000) + number};
    uint64_t limit = base_random_below(&random, 6) == 0 ? STREAM_BYTES_MAX : 200;
    return base_random_below(&random, limit);
}

/* Nodes 1 and 2 send, node 0 receives from any; one thread drives all of it, so a send that would
 * wait is begun and tested. */
static void stream(uint32_t flags)
{
    struct dn_context *contexts[NODES];
    struct dn_message_op ops[NODES];
    unsigned char *data[NODES];
    uint64_t sent[NODES] = {0};
    uint64_t received[NODES] = {0};
    bool is_sending[NODES] = {false};
    for (uint32_t rank = 0; rank < NODES; rank++) {
        contexts[rank] = open_flagged(rank, SMALL_RING, flags);
        data[rank] = malloc(STREAM_BYTES_MAX);
        assert_non_null(data[rank]);
    }
    for (uint64_t turn = 0; received[1] + received[2] < 2 * STREAM; turn++) {
        for (uint32_t from = 1; from < NODES; from++) {
            int done = 0;
            if (is_sending[from]) {
                assert_int_equal(dn_message_test(&ops[from], &done, NULL, NULL), 0);
                is_sending[from] = !done;
            } else if (sent[from] < STREAM) {
                uint64_t bytes = stream_bytes(from, sent[from]);
                fill(data[from], bytes, sent[from]++);
                assert_int_equal(dn_isend(contexts[from], 0, data[from], bytes, &ops[from]), 0);
                is_sending[from] = true;
            }
        }
        int sender;
        size_t bytes;
        /* A receiver that is slow now and then. */
        if (turn % 64 >= 16) {
            int error = dn_recv(contexts[0], DN_ANY, buffer, MESSAGE_MAX, 0, &sender, &bytes);
            if (error) {
                assert_int_equal(error, DN_ETIMEOUT);
            } else {
                assert_int_equal(bytes, stream_bytes((uint32_t)sender, received[sender]));
                assert_true(is_number(buffer, bytes, received[sender]++));
            }
        } else {
            deliver_some();
        }
    }
    assert_true(receiver_of(0, contexts[0])->counters.taken >= 2 * STREAM);
    fake_deliver_all();
    for (uint32_t rank = 0; rank < NODES; rank++) {
        close_it(contexts[rank]);
        free(data[rank]);
    }
    fake_deliver_all();
}

static void all_come_once_and_in_order(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof all_flags / sizeof all_flags[0]; i++) {
        stream(all_flags[i]);
    }
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static void a_full_receiver_refuses(void **state)
{
    (void)state;
    struct dn_context *sender = open_flagged(1, SMALL_RING, DN_CONTEXT_RESEND_REQUEST);
    struct dn_context *receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_RESEND_REQUEST);
    uint64_t sent = 0;
    int error = 0;
    while (!error) {
        error = dn_send(sender, 0, &sent, sizeof sent, 0);
        deliver_some();
        sent += !error;
    }
    assert_int_equal(error, DN_ETIMEOUT);
    assert_true(receiver_of(0, receiver)->counters.refused > 0);
    assert_true(receiver_of(0, receiver)->sources[0].stopped);
    for (uint64_t number = 0; number < sent; number++) {
        uint64_t word;
        assert_int_equal(dn_recv(receiver, 1, &word, sizeof word, UNIT_PATIENCE_NS, NULL, NULL), 0);
        assert_int_equal(word, number);
    }
    close_it(sender);
    close_it(receiver);
}

static void both_ends_have_flags_or_none_has(void **state)
{
    (void)state;
    struct dn_context *flagged = open_flagged(0, 0, DN_CONTEXT_BACK_OFF);
    struct dn_context *plain = open_at(1, 0);
    uint64_t word = 1;
    assert_int_equal(dn_send(plain, 0, &word, sizeof word, UNIT_PATIENCE_NS), DN_ENOTSUP);
    assert_int_equal(dn_send(flagged, 1, &word, sizeof word, UNIT_PATIENCE_NS), DN_ENOTSUP);
    close_it(flagged);
    close_it(plain);
    fake_deliver_all();
    /* Flags may differ. */
    flagged = open_flagged(0, 0, DN_CONTEXT_BACK_OFF);
    struct dn_context *other = open_flagged(1, 0, DN_CONTEXT_RESEND_REQUEST);
    assert_int_equal(dn_send(other, 0, &word, sizeof word, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_recv(flagged, 1, &word, sizeof word, UNIT_PATIENCE_NS, NULL, NULL), 0);
    close_it(flagged);
    close_it(other);
}

/* ---- Other calls --------------------------------------------------------------------------- */

static void messages_can_be_taken_back(void **state)
{
    (void)state;
    struct dn_context *sender = open_flagged(1, SMALL_RING, DN_CONTEXT_ACK_NACK);
    struct dn_context *receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_ACK_NACK);
    struct dn_message_op op;
    uint64_t word = 77;
    fill(bank_of(1), 100000, 1);
    assert_int_equal(dn_isend(sender, 0, bank_of(1), 100000, &op), 0); /* more than there is room */
    deliver_some();
    assert_int_equal(dn_message_cancel(&op), 0);
    assert_int_equal(dn_isend(sender, 0, &word, sizeof word, &op), 0);
    word = 0;
    size_t bytes;
    assert_int_equal(dn_recv(receiver, 1, buffer, MESSAGE_MAX, UNIT_PATIENCE_NS, NULL, &bytes), 0);
    assert_int_equal(bytes, sizeof word);
    assert_int_equal(dn_message_wait(&op, UNIT_PATIENCE_NS, NULL, NULL), 0);
    close_it(sender);
    close_it(receiver);
}

static void buffers_are_lent(void **state)
{
    static const uint64_t sizes[] = {8, 200, 3000, 60000};
    (void)state;
    struct dn_context *sender = open_flagged(1, 0, DN_CONTEXT_ACK_NACK);
    struct dn_context *receiver = open_flagged(0, 0, DN_CONTEXT_ACK_NACK);
    for (uint64_t i = 0; i < 8; i++) {
        uint64_t bytes = sizes[i % 4];
        void *lent = NULL;
        const void *got = NULL;
        size_t length;
        int error;
        while ((error = dn_send_buffer_get(sender, 0, bytes, &lent)) == DN_EBUSY) {
        }
        assert_int_equal(error, 0);
        fill(lent, bytes, i);
        assert_int_equal(dn_send_buffer_send(sender, 0, bytes + 1), DN_EINVAL);
        uint64_t less = i >= 4 && bytes > 100 ? bytes - 50 : bytes;
        /* A large one is sent piece by piece, as the receiver makes room. */
        bool is_sent = false;
        for (bool has_come = false; !is_sent || !has_come;) {
            if (!is_sent) {
                error = dn_send_buffer_send(sender, 0, less);
                assert_true(error == 0 || error == DN_EBUSY);
                is_sent = error == 0;
            }
            if (!has_come) {
                error = dn_recv_in_place(receiver, 1, 0, &got, NULL, &length);
                assert_true(error == 0 || error == DN_ETIMEOUT);
                has_come = error == 0;
            }
        }
        assert_true(length == less && is_number(got, less, i));
        assert_int_equal(dn_recv_release(receiver, 1), 0);
    }
    close_it(sender);
    close_it(receiver);
}

/* Other calls bring a large buffer's pieces on their way, too; the last ones as well. */
static void a_lent_buffer_is_sent_once_whoever_drives_it(void **state)
{
    enum { BYTES = 60000 };
    (void)state;
    struct dn_context *sender = open_flagged(1, 0, DN_CONTEXT_ACK_NACK);
    struct dn_context *receiver = open_flagged(0, 0, DN_CONTEXT_ACK_NACK);
    size_t length = 0;
    for (uint64_t i = 0; i < 3; i++) {
        void *lent = NULL;
        assert_int_equal(dn_send_buffer_get(sender, 0, BYTES, &lent), 0);
        fill(lent, BYTES, i);
        assert_int_equal(dn_send_buffer_send(sender, 0, BYTES), DN_EBUSY);
        for (bool has_come = false; !has_come;) {
            assert_int_equal(dn_probe(sender, DN_ANY, 0, NULL, NULL), DN_ETIMEOUT);
            has_come = dn_recv(receiver, 1, buffer, MESSAGE_MAX, 0, NULL, &length) == 0;
        }
        assert_true(length == BYTES && is_number(buffer, BYTES, i));
        assert_int_equal(dn_send_buffer_send(sender, 0, BYTES), 0);
        deliver_some();
        assert_int_equal(dn_recv(receiver, 1, buffer, MESSAGE_MAX, 0, NULL, &length), DN_ETIMEOUT);
    }
    close_it(sender);
    close_it(receiver);
}

/* What was sent is received after its context has closed, and the next one's comes behind it. */
static void a_context_goes_on_where_another_ended(void **state)
{
    (void)state;
    struct dn_context *receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_RESEND_REQUEST);
    uint64_t sent = 0;
    uint64_t received = 0;
    for (unsigned life = 0; life < 4; life++) {
        struct dn_context *sender = open_flagged(1, 0, DN_CONTEXT_RESEND_REQUEST);
        struct dn_message_op op;
        int done = 0;
        uint64_t word = sent;
        uint64_t first = sent++;
        assert_int_equal(dn_isend(sender, 0, &word, sizeof word, &op), 0);
        deliver_some();
        assert_int_equal(dn_message_test(&op, &done, NULL, NULL), 0);
        /* While something of the context before is under way, this one waits. */
        assert_int_equal(done, life == 0);
        while (received < first) {
            uint64_t got;
            assert_int_equal(dn_recv(receiver, 1, &got, sizeof got, UNIT_PATIENCE_NS, NULL, NULL),
                             0);
            assert_int_equal(got, received++);
        }
        assert_int_equal(dn_message_wait(&op, UNIT_PATIENCE_NS, NULL, NULL), 0);
        while (dn_send(sender, 0, &sent, sizeof sent, 0) == 0) {
            sent++;
            deliver_some(); /* until the receiver's ring is full, and SB as well */
        }
        close_it(sender);
    }
    while (received < sent) {
        uint64_t got;
        assert_int_equal(dn_recv(receiver, 1, &got, sizeof got, UNIT_PATIENCE_NS, NULL, NULL), 0);
        assert_int_equal(got, received++);
    }
    close_it(receiver);
}

/* ---- Threads ------------------------------------------------------------------------------- */

struct threads {
    uint32_t flags;
    struct dn_context *contexts[NODES];
};

enum { ROUNDS = 100 };

/* Each node sends to the others and receives from them, in turn, and waits for what it needs. */
static void meet(uint32_t rank, void *argument)
{
    const struct threads *threads = argument;
    struct dn_context *context = threads->contexts[rank];
    unsigned char *data = malloc(STREAM_BYTES_MAX);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t bytes = stream_bytes(rank, round);
        struct dn_message_op ops[NODES];
        fill(data, bytes, round);
        for (uint32_t to = 0; to < NODES; to++) {
            unit_expect(to == rank || dn_isend(context, (int)to, data, bytes, &ops[to]) == 0);
        }
        for (uint32_t from = 0; from < NODES; from++) {
            unsigned char got[STREAM_BYTES_MAX];
            size_t length = 0;
            if (from != rank) {
                unit_expect(dn_recv(context, (int)from, got, sizeof got, UNIT_PATIENCE_NS, NULL,
                                    &length) == 0);
                unit_expect(length == stream_bytes(from, round) && is_number(got, length, round));
            }
        }
        for (uint32_t to = 0; to < NODES; to++) {
            unit_expect(to == rank || dn_message_wait(&ops[to], UNIT_PATIENCE_NS, NULL, NULL) == 0);
        }
    }
    free(data);
}

static void threads_wait_for_each_other(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof all_flags / sizeof all_flags[0]; i++) {
        struct threads threads = {.flags = all_flags[i]};
        for (uint32_t rank = 0; rank < NODES; rank++) {
            threads.contexts[rank] = open_flagged(rank, SMALL_RING, threads.flags);
        }
        unit_run_threads(NODES, meet, &threads);
        for (uint32_t rank = 0; rank < NODES; rank++) {
            close_it(threads.contexts[rank]);
        }
        fake_deliver_all();
    }
}

static void a_receiver_that_closes_ends_the_senders_wait(void **state)
{
    (void)state;
    struct dn_context *sender = open_flagged(1, SMALL_RING, DN_CONTEXT_ACK_NACK);
    struct dn_context *receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_ACK_NACK);
    uint64_t word = 0;
    while (dn_send(sender, 0, &word, sizeof word, 0) == 0) {
        deliver_some();
    }
    close_it(receiver);
    assert_int_equal(dn_send(sender, 0, &word, sizeof word, UNIT_PATIENCE_NS), DN_EPEER);
    close_it(sender);
    fake_deliver_all();
    /* And anew. */
    receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_ACK_NACK);
    sender = open_flagged(1, SMALL_RING, DN_CONTEXT_ACK_NACK);
    word = 5;
    assert_int_equal(dn_send(sender, 0, &word, sizeof word, UNIT_PATIENCE_NS), 0);
    word = 0;
    assert_int_equal(dn_recv(receiver, 1, &word, sizeof word, UNIT_PATIENCE_NS, NULL, NULL), 0);
    assert_int_equal(word, 5);
    close_it(receiver);
    close_it(sender);
}

/* A closed sender that somebody still holds stays with the services, but is silent to a receiver
 * that has closed: that one's next context would take its messages for new ones. */
static void what_was_refused_does_not_find_the_next_context(void **state)
{
    (void)state;
    struct dn_context *sender = open_flagged(1, SMALL_RING, DN_CONTEXT_RESEND_REQUEST);
    struct dn_context *receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_RESEND_REQUEST);
    struct dn_context *other = open_flagged(2, SMALL_RING, DN_CONTEXT_RESEND_REQUEST);
    const struct px_sender *records = nic_packet_message_sender(
        fake_nodes[1].services,
        (uint32_t)(sender->slot - group_service(view_of(1), 1)->message_slots));
    uint64_t word = 0;
    assert_int_equal(dn_send(other, 1, &word, sizeof word, UNIT_PATIENCE_NS), 0);
    while (dn_send(sender, 0, &word, sizeof word, 0) == 0) {
        deliver_some();
    }
    close_it(sender);
    assert_false(px_sender_is_idle(records));
    close_it(receiver);
    assert_true(px_sender_is_idle(records));
    close_it(other);
}

static void deaths_are_told(void **state)
{
    (void)state;
    struct dn_context *sender = open_flagged(1, SMALL_RING, DN_CONTEXT_ACK_NACK);
    struct dn_context *receiver = open_flagged(0, SMALL_RING, DN_CONTEXT_ACK_NACK);
    uint64_t word = 3;
    assert_int_equal(dn_send(sender, 0, &word, sizeof word, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    fake_kill(1);
    /* What came is received first. */
    word = 0;
    assert_int_equal(dn_recv(receiver, 1, &word, sizeof word, UNIT_PATIENCE_NS, NULL, NULL), 0);
    assert_int_equal(word, 3);
    assert_int_equal(dn_recv(receiver, 1, &word, sizeof word, UNIT_PATIENCE_NS, NULL, NULL),
                     DN_EPEER);
    assert_int_equal(dn_send(receiver, 1, &word, sizeof word, UNIT_PATIENCE_NS), DN_EPEER);
    close_it(receiver);
}

static int tear_down(void **state)
{
    end_nodes(state);
    return 0;
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(peers_away_are_reached_by_records),
        test(all_come_once_and_in_order),
        test(a_full_receiver_refuses),
        test(both_ends_have_flags_or_none_has),
        test(messages_can_be_taken_back),
        test(buffers_are_lent),
        test(a_lent_buffer_is_sent_once_whoever_drives_it),
        test(a_context_goes_on_where_another_ended),
        test(threads_wait_for_each_other),
        test(a_receiver_that_closes_ends_the_senders_wait),
        test(what_was_refused_does_not_find_the_next_context),
        test(deaths_are_told),
    };
    return cmocka_run_group_tests_name("message/message_by_records", tests, NULL, NULL);
}
