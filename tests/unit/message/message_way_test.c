/* Contexts whose peers are of both kinds: a node reaches itself in place and the others by packets.
 * There are more sources than a receiver looks at one by one, so some set summary bits. */
#include "unit/mirror.h"

#include "message/message_way.h"

enum { CHANNEL = 7, NODES = UNIT_MIRRORS_MAX, ROUNDS = 40, BANK_BYTES = 1 << 20 };

_Static_assert(NODES > (int)GROUP_MESSAGE_FEW_SOURCES, "there is a summary");

static struct unit_mirrors all;
static struct dn_context *contexts[NODES];

static struct dn_node *node_of(uint32_t rank)
{
    return &all.mirrors[rank].node;
}

static void each_peer_has_its_way(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < NODES; rank++) {
        for (uint32_t peer = 0; peer < NODES; peer++) {
            const struct message_way *way = peer == rank ? &message_in_place : &message_by_packets;
            assert_ptr_equal(contexts[rank]->destination_of[peer]->way, way);
            assert_ptr_equal(contexts[rank]->source_of[peer]->way, way);
        }
        assert_non_null(contexts[rank]->summary);
    }
}

/* Every node sends to every node, itself included, and receives from any. */
static void all_come_from_both_kinds(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        for (uint32_t from = 0; from < NODES; from++) {
            for (int to = 0; to < NODES; to++) {
                uint64_t words[2] = {round, from};
                assert_int_equal(dn_send(contexts[from], to, words, sizeof words, UNIT_PATIENCE_NS),
                                 0);
            }
        }
        for (uint32_t to = 0; to < NODES; to++) {
            bool has_come[NODES] = {false};
            for (uint32_t i = 0; i < NODES; i++) {
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
        unit_mirrors_deliver_all(&all);
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

static unsigned char byte_of(uint64_t at)
{
    return (unsigned char)(at * 7 + (at >> 8));
}

/* Large messages, from library memory and from any other: thread 0 receives, thread 1 sends. */
static void transfer_end(uint32_t number, void *context)
{
    static const uint64_t sizes[] = {3000, 40000, 150000};
    const struct transfer *transfer = context;
    struct dn_context *own = contexts[number == 0 ? transfer->to : transfer->from];
    unsigned char *private = malloc(150000);
    unsigned char *bank = group_segment(&all.mirrors[transfer->from].process.view,
                                        (uint32_t)transfer->from, DN_BANK);
    for (uint32_t i = 0; i < 6; i++) {
        uint64_t bytes = sizes[i / 2];
        if (number == 1) {
            unsigned char *data = i % 2 ? bank : private;
            for (uint64_t at = 0; at < bytes; at++) {
                data[at] = byte_of(at);
            }
            unit_expect(dn_send(own, transfer->to, data, bytes, UNIT_PATIENCE_NS) == 0);
            continue;
        }
        size_t got = 0;
        uint64_t wrong = 0;
        unit_expect(dn_recv(own, transfer->from, private, 150000, UNIT_PATIENCE_NS, NULL, &got) ==
                    0);
        for (uint64_t at = 0; at < bytes; at++) {
            wrong += private[at] != byte_of(at);
        }
        unit_expect(got == bytes && wrong == 0);
    }
    free(private);
}

static void large_ones_come_from_both_kinds(void **state)
{
    (void)state;
    for (int from = 0; from < 2; from++) {
        struct transfer transfer = {.to = 0, .from = from};
        unit_run_threads(2, transfer_end, &transfer);
    }
}

/* An offer to either kind is taken back, and the context can then be closed. */
static void offers_to_both_kinds_are_taken_back(void **state)
{
    (void)state;
    void *bank = group_segment(&all.mirrors[0].process.view, 0, DN_BANK);
    struct dn_message_op ops[2];
    for (int to = 0; to < 2; to++) {
        assert_int_equal(dn_isend(contexts[0], to, bank, 100000, &ops[to]), 0);
    }
    assert_int_equal(dn_context_close(contexts[0]), DN_EBUSY);
    for (int to = 0; to < 2; to++) {
        assert_int_equal(dn_message_cancel(&ops[to]), 0);
    }
    assert_int_equal(dn_recv(contexts[1], 0, NULL, 0, 0, NULL, NULL), DN_ETIMEOUT);
    assert_int_equal(dn_recv(contexts[0], 0, NULL, 0, 0, NULL, NULL), DN_ETIMEOUT);
}

/* ---- */

static int setup(void **state)
{
    struct group_sizes sizes = {UNIT_PAGE_BYTES, BANK_BYTES, UNIT_PAGE_BYTES, 0};
    int ranks[NODES];
    (void)state;
    unit_mirrors_make(&all, NODES, sizes, 11);
    for (int rank = 0; rank < NODES; rank++) {
        ranks[rank] = rank;
    }
    for (uint32_t rank = 0; rank < NODES; rank++) {
        assert_int_equal(dn_context_open(node_of(rank), CHANNEL, ranks, NODES, ranks, NODES, NULL,
                                         &contexts[rank]),
                         0);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unit_mirrors_deliver_all(&all);
    for (uint32_t rank = 0; rank < NODES; rank++) {
        assert_int_equal(dn_context_close(contexts[rank]), 0);
    }
    message_end(node_of(0));
    unit_mirrors_free(&all);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_peer_has_its_way),
        TEST(all_come_from_both_kinds),
        TEST(one_look_finds_both_kinds),
        TEST(large_ones_come_from_both_kinds),
        TEST(offers_to_both_kinds_are_taken_back),
    };
    return cmocka_run_group_tests_name("message/message_way", tests, NULL, NULL);
}
