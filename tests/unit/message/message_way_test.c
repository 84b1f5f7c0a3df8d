/* Contexts whose peers are of both kinds: a node reaches itself and the others of its host in
 * place, and those of other hosts by packets. In the large groups there are more sources than a
 * receiver looks at one by one, so some set summary bits. */
#include "contexts.h"

#include "message/message_way.h"

enum { NODES = FAKE_NODES_MAX, ROUNDS = 40 };

_Static_assert(NODES > (int)GROUP_MESSAGE_FEW_SOURCES, "there is a summary");

struct nodes {
    uint32_t count;
    uint32_t hosts[NODES];
};

static struct nodes apart = {NODES, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}};
static struct nodes on_three_hosts = {NODES, {0, 0, 1, 1, 0, 2, 2, 1, 0, 2}};
static struct nodes two_and_one = {3, {0, 0, 1}};
static struct nodes crossed = {4, {0, 1, 0, 1}};

static struct dn_context *contexts[NODES];

static void each_peer_has_its_way(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        for (uint32_t peer = 0; peer < fake->node_count; peer++) {
            bool is_near = fake->hosts[peer] == fake->hosts[rank];
            const struct message_way *way = is_near ? &message_in_place : &message_by_packets;
            assert_ptr_equal(contexts[rank]->destination_of[peer]->way, way);
            assert_ptr_equal(contexts[rank]->source_of[peer]->way, way);
        }
        assert_int_equal(contexts[rank]->summary != NULL, fake->node_count == NODES);
    }
}

/* Every node sends to every node, itself included, and receives from any. */
static void all_come_from_both_kinds(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint32_t from = 0; from < fake->node_count; from++) {
            for (uint32_t to = 0; to < fake->node_count; to++) {
                uint64_t words[2] = {round, from};
                assert_int_equal(
                    dn_send(contexts[from], (int)to, words, sizeof words, UNIT_PATIENCE_NS), 0);
            }
        }
        for (uint32_t to = 0; to < fake->node_count; to++) {
            bool has_come[NODES] = {false};
            for (uint32_t i = 0; i < fake->node_count; i++) {
                uint64_t words[2];
                int sender;
                assert_int_equal(dn_recv(contexts[to], DN_ANY, words, sizeof words,
                                         UNIT_PATIENCE_NS, &sender, NULL),
                                 0);
                assert_true(words[0] == round && words[1] == (uint64_t)sender);
                assert_false(has_come[sender]);
                has_come[sender] = true;
            }
        }
    }
}

/* The summary shows what a source of either kind has sent, without a look into every ring. */
static void one_look_finds_both_kinds(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        int from = (int)(round % 3);
        uint64_t word = 0;
        int done = 0;
        int sender = -1;
        struct dn_message_op op;
        assert_int_equal(dn_irecv(contexts[0], DN_ANY, &word, sizeof word, &op), 0);
        assert_int_equal(dn_message_test(&op, &done, NULL, NULL), 0);
        assert_int_equal(done, 0);
        assert_int_equal(dn_send(contexts[from], 0, &round, sizeof round, UNIT_PATIENCE_NS), 0);
        fake_deliver_all();
        contexts[0]->scan_count = 1; /* it is not time for every ring */
        assert_int_equal(dn_message_test(&op, &done, &sender, NULL), 0);
        assert_int_equal(done, 1);
        assert_true(sender == from && word == round);
    }
}

struct transfer {
    int to;
    int from;
};

/* Large messages, from library memory and from any other: thread 0 receives, thread 1 sends. */
static void transfer_end(uint32_t number, void *context)
{
    static const uint64_t sizes[] = {3000, 40000, 150000};
    const struct transfer *transfer = context;
    struct dn_context *own = contexts[number == 0 ? transfer->to : transfer->from];
    unsigned char *private = malloc(150000);
    unsigned char *bank = bank_of((uint32_t)transfer->from);
    for (uint32_t i = 0; i < 6; i++) {
        uint64_t bytes = sizes[i / 2];
        if (number == 1) {
            unsigned char *data = i % 2 ? bank : private;
            fill(data, bytes, i);
            unit_expect(dn_send(own, transfer->to, data, bytes, UNIT_PATIENCE_NS) == 0);
            continue;
        }
        size_t got = 0;
        unit_expect(dn_recv(own, transfer->from, private, 150000, UNIT_PATIENCE_NS, NULL, &got) ==
                    0);
        unit_expect(got == bytes && is_number(private, bytes, i));
    }
    free(private);
}

static void large_ones_come_from_both_kinds(void **state)
{
    (void)state;
    for (int from = 0; from < 3; from++) {
        struct transfer transfer = {.to = 0, .from = from};
        unit_run_threads(2, transfer_end, &transfer);
    }
}

/* Offers to any peer are taken back, and the context can then be closed. */
static void offers_to_both_kinds_are_taken_back(void **state)
{
    (void)state;
    struct dn_message_op ops[3];
    for (int to = 0; to < 3; to++) {
        assert_int_equal(dn_isend(contexts[0], to, bank_of(0), 100000, &ops[to]), 0);
    }
    assert_int_equal(dn_context_close(contexts[0]), DN_EBUSY);
    for (int to = 0; to < 3; to++) {
        assert_int_equal(dn_message_cancel(&ops[to]), 0);
    }
    for (int to = 0; to < 3; to++) {
        assert_int_equal(dn_recv(contexts[to], 0, NULL, 0, 0, NULL, NULL), DN_ETIMEOUT);
    }
}

/* ---- Several nodes on a host --------------------------------------------------------------- */

enum { STREAM_MESSAGES = 400, STREAM_BYTES_MAX = 60000 };

static uint64_t stream_bytes(uint32_t from, uint64_t number)
{
    struct base_random random = {from * UINT64_C(1000) + number};
    uint64_t limit = base_random_below(&random, 8) == 0 ? STREAM_BYTES_MAX : 300;
    return base_random_below(&random, limit);
}

static void send_stream(uint32_t from)
{
    unsigned char *private = malloc(STREAM_BYTES_MAX);
    for (uint64_t i = 0; i < STREAM_MESSAGES; i++) {
        uint64_t bytes = stream_bytes(from, i);
        fill(private, bytes, i + from);
        unit_expect(dn_send(contexts[from], 0, private, bytes, UNIT_PATIENCE_NS) == 0);
    }
    free(private);
}

/* Thread 0 receives from any; the others send. */
static void stream_end(uint32_t rank, void *context)
{
    uint64_t next[NODES] = {0};
    (void)context;
    if (rank != 0) {
        send_stream(rank);
        return;
    }
    for (uint32_t i = 0; i < STREAM_MESSAGES * (fake->node_count - 1); i++) {
        int from = 0;
        size_t got = 0;
        unit_expect(
            dn_recv(contexts[0], DN_ANY, buffer, MESSAGE_MAX, UNIT_PATIENCE_NS, &from, &got) == 0);
        uint64_t number = next[from]++;
        unit_expect(got == stream_bytes((uint32_t)from, number));
        unit_expect(is_number(buffer, got, number + (uint64_t)from));
    }
}

static void streams_of_both_kinds_come_once_and_in_order(void **state)
{
    (void)state;
    unit_run_threads(fake->node_count, stream_end, NULL);
    assert_int_equal(dn_recv(contexts[0], DN_ANY, buffer, 1, 0, NULL, NULL), DN_ETIMEOUT);
}

/* A box belongs to all its senders until the last one has let go, wherever it is. */
static void a_box_waits_for_senders_of_both_kinds(void **state)
{
    (void)state;
    for (uint32_t first = 1; first < 3; first++) {
        const struct group_message_slot *slot = contexts[0]->slot;
        for (uint32_t from = 1; from < 3; from++) {
            assert_int_equal(dn_send(contexts[from], 0, "x", 1, UNIT_PATIENCE_NS), 0);
            assert_int_equal(
                dn_recv(contexts[0], (int)from, buffer, 1, UNIT_PATIENCE_NS, NULL, NULL), 0);
        }
        close_it(contexts[0]);
        fake_deliver_all();
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t from = i == 0 ? first : 3 - first;
            assert_int_equal(dn_send(contexts[from], 0, "y", 1, UNIT_PATIENCE_NS), DN_EPEER);
            assert_false(group_message_unused(view_of(0), slot));
            close_it(contexts[from]);
            fake_deliver_all();
        }
        assert_true(group_message_unused(view_of(0), slot));
        for (uint32_t rank = 0; rank < 3; rank++) {
            contexts[rank] = open_at(rank, 0);
        }
    }
}

/* A message in the bank of a dead node is still there for a node of its host, and is lost for all
 * others. */
static void the_host_of_a_dead_node_keeps_its_memory(void **state)
{
    enum { BYTES = 100000 };
    (void)state;
    struct dn_message_op ops[2];
    size_t bytes;
    fill(bank_of(1), BYTES, 5);
    assert_int_equal(dn_send(contexts[1], 0, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_send(contexts[1], 2, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_isend(contexts[1], 0, bank_of(1), BYTES, &ops[0]), 0);
    assert_int_equal(dn_isend(contexts[1], 2, bank_of(1), BYTES, &ops[1]), 0);
    fake_deliver_all();
    fake_kill(1);
    for (int to = 0; to < 3; to += 2) {
        assert_int_equal(
            dn_recv(contexts[to], 1, buffer, MESSAGE_MAX, UNIT_PATIENCE_NS, NULL, &bytes), 0);
        assert_true(bytes == 3 && memcmp(buffer, "one", 3) == 0);
    }
    assert_int_equal(dn_recv(contexts[0], 1, buffer, MESSAGE_MAX, UNIT_PATIENCE_NS, NULL, &bytes),
                     0);
    assert_true(bytes == BYTES && is_number(buffer, BYTES, 5));
    for (int to = 0; to < 3; to += 2) {
        assert_int_equal(dn_recv(contexts[to], 1, buffer, MESSAGE_MAX, DN_FOREVER, NULL, &bytes),
                         DN_EPEER);
    }
    /* Those who are left still reach each other. */
    assert_int_equal(dn_send(contexts[2], 0, "two", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_recv(contexts[0], 2, buffer, 3, UNIT_PATIENCE_NS, NULL, NULL), 0);
    assert_memory_equal(buffer, "two", 3);
}

/* ---- */

static int setup(void **state)
{
    const struct nodes *nodes = *state;
    int error = make_nodes(nodes->count, nodes->hosts);
    for (uint32_t rank = 0; rank < nodes->count; rank++) {
        contexts[rank] = open_at(rank, 0);
    }
    return error;
}

static int teardown(void **state)
{
    fake_deliver_all();
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        if (!atomic_load(&fake->silent[rank])) {
            close_it(contexts[rank]);
        }
    }
    return end_nodes(state);
}

#define TEST(name, nodes)                                      \
    {                                                          \
#name " (" #nodes ")", name, setup, teardown, &(nodes) \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_peer_has_its_way, apart),
        TEST(each_peer_has_its_way, on_three_hosts),
        TEST(each_peer_has_its_way, two_and_one),
        TEST(all_come_from_both_kinds, apart),
        TEST(all_come_from_both_kinds, on_three_hosts),
        TEST(all_come_from_both_kinds, two_and_one),
        TEST(all_come_from_both_kinds, crossed),
        TEST(one_look_finds_both_kinds, apart),
        TEST(one_look_finds_both_kinds, on_three_hosts),
        TEST(large_ones_come_from_both_kinds, apart),
        TEST(large_ones_come_from_both_kinds, two_and_one),
        TEST(large_ones_come_from_both_kinds, crossed),
        TEST(offers_to_both_kinds_are_taken_back, apart),
        TEST(offers_to_both_kinds_are_taken_back, two_and_one),
        TEST(offers_to_both_kinds_are_taken_back, crossed),
        TEST(streams_of_both_kinds_come_once_and_in_order, two_and_one),
        TEST(streams_of_both_kinds_come_once_and_in_order, crossed),
        TEST(a_box_waits_for_senders_of_both_kinds, two_and_one),
        TEST(a_box_waits_for_senders_of_both_kinds, crossed),
        TEST(the_host_of_a_dead_node_keeps_its_memory, two_and_one),
    };
    return cmocka_run_group_tests_name("message/message_way", tests, NULL, NULL);
}
