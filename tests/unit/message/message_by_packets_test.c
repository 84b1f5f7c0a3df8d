/* Messages between nodes that have only mirrors of each other's memory, over a fabric that delivers
 * late: nothing is seen before it is whole, nothing is lost or doubled, a box is not used again
 * while something may still arrive in it, and no node floods another. */
#include "contexts.h"

enum { NODES = 3 };

static int receive(struct dn_context *context, int source, uint64_t timeout_ns, size_t *bytes)
{
    return dn_recv(context, source, buffer, MESSAGE_MAX, timeout_ns, NULL, bytes);
}

/* ---- What the receiver may see ---------------------------------------------------------- */

/* Delivers one reflection after the other, over the worst old payload: every word of it looks like
 * a header. */
static void nothing_is_seen_before_it_is_whole(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 1024);
    struct dn_context *from = open_at(1, 1024);
    unsigned char data[200];
    struct base_random random = {5};
    memset(data, 0xff, sizeof data);
    assert_int_equal(dn_send(from, 0, data, 1, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    size_t bytes;
    assert_int_equal(receive(to, 1, 0, &bytes), 0);
    fake->held = true;
    for (int i = 0; i < 2000; i++) {
        uint64_t length = base_random_below(&random, sizeof data + 1);
        uint64_t before = fake_sent(1, 0);
        assert_int_equal(dn_send(from, 0, data, length, 0), 0);
        uint64_t count = fake_sent(1, 0) - before;
        assert_true(count >= 2 && count <= 5);
        while (count-- > 0) {
            assert_int_equal(receive(to, 1, 0, &bytes), DN_ETIMEOUT);
            assert_true(fake_deliver(1, 0));
        }
        assert_int_equal(receive(to, 1, 0, &bytes), 0);
        assert_int_equal(bytes, length);
        assert_true(length == 0 || (buffer[0] == 0xff && buffer[length - 1] == 0xff));
        assert_int_equal(receive(to, 1, 0, &bytes), DN_ETIMEOUT);
        while (fake_deliver(0, 1)) {
        }
    }
    fake->held = false;
    close_it(from);
    close_it(to);
}

/* ---- A stream ----------------------------------------------------------------------------- */

struct stream {
    struct dn_context *contexts[2];
    uint64_t count;
    uint64_t bytes_max;
};

static uint64_t bytes_of(uint64_t number, uint64_t most)
{
    struct base_random random = {number};
    switch (base_random_below(&random, 5)) {
    case 0: return 8;
    case 1: return base_random_below(&random, most + 1);
    case 2: return base_random_below(&random, 5000) % (most + 1);
    default: return base_random_below(&random, 100);
    }
}

/* Thread 0 receives, thread 1 sends: from private memory, from the bank, without copies. */
static void stream_end(uint32_t number, void *context)
{
    struct stream *stream = context;
    struct dn_context *own = stream->contexts[number];
    unsigned char *private = malloc(MESSAGE_MAX);
    for (uint64_t i = 0; i < stream->count; i++) {
        uint64_t bytes = bytes_of(i, stream->bytes_max);
        if (number == 0) {
            const void *data = private;
            size_t got = 0;
            unit_expect((i % 3
                             ? dn_recv(own, 1, private, MESSAGE_MAX, UNIT_PATIENCE_NS, NULL, &got)
                             : dn_recv_in_place(own, 1, UNIT_PATIENCE_NS, &data, NULL, &got)) == 0);
            unit_expect(got == bytes && is_number(data, bytes, i));
            unit_expect(i % 3 || dn_recv_release(own, 1) == 0);
        } else if (i % 4 == 0) {
            void *lent = NULL;
            uint64_t until_ns = unit_now_ns() + UNIT_PATIENCE_NS;
            int error;
            while ((error = dn_send_buffer_get(own, 0, bytes, &lent)) == DN_EBUSY &&
                   unit_now_ns() < until_ns) {
                (void)sched_yield();
            }
            unit_expect(error == 0);
            if (error) {
                break;
            }
            fill(lent, bytes, i);
            while ((error = dn_send_buffer_send(own, 0, bytes)) == DN_EBUSY &&
                   unit_now_ns() < until_ns) {
                (void)sched_yield();
            }
            unit_expect(error == 0);
        } else {
            unsigned char *data = i % 4 == 1 ? bank_of(1) : private;
            fill(data, bytes, i);
            unit_expect(dn_send(own, 0, data, bytes, UNIT_PATIENCE_NS) == 0);
        }
    }
    free(private);
}

static void everything_comes_once_and_in_order(void **state)
{
    static const uint64_t rings[] = {1024, 4096, 65536};
    (void)state;
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        struct stream stream = {{open_at(0, rings[i]), open_at(1, 0)}, 300, MESSAGE_MAX};
        unit_run_threads(2, stream_end, &stream);
        size_t bytes;
        assert_int_equal(receive(stream.contexts[0], DN_ANY, 0, &bytes), DN_ETIMEOUT);
        close_it(stream.contexts[1]);
        close_it(stream.contexts[0]);
    }
}

/* Room comes back in quarters of the ring, not with every message. */
static void room_costs_few_words(void **state)
{
    enum { COUNT = 4000, RING = 4096 };
    (void)state;
    struct dn_context *to = open_at(0, RING);
    struct dn_context *from = open_at(1, 0);
    uint64_t before = fake_sent(0, 1);
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t word = 0;
        assert_int_equal(dn_send(from, 0, &i, sizeof i, UNIT_PATIENCE_NS), 0);
        assert_int_equal(dn_recv(to, 1, &word, sizeof word, UNIT_PATIENCE_NS, NULL, NULL), 0);
        assert_int_equal(word, i);
    }
    uint64_t laps = COUNT * (uint64_t)GROUP_UNIT_BYTES / RING;
    assert_true(fake_sent(0, 1) - before <= 4 * laps + 4);
    close_it(from);
    close_it(to);
}

/* ---- Opening and closing ------------------------------------------------------------------ */

static void a_box_is_held_and_let_go(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    struct group_message_slot *slot = to->slot;
    assert_int_equal(dn_send(from, 0, "x", 1, UNIT_PATIENCE_NS), 0);
    assert_false(group_message_unused(to->view, slot));
    /* What it sent can still be received, and the receiver then says by itself that it has come to
     * the end. */
    close_it(from);
    assert_false(group_message_unused(to->view, slot));
    size_t bytes;
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    assert_int_equal(receive(to, 1, UNIT_MS, &bytes), DN_ETIMEOUT);
    fake_deliver_all();
    from = open_at(1, 0);
    assert_true(group_message_unused(to->view, slot));
    /* The second one goes on where the first one ended. */
    assert_int_equal(dn_send(from, 0, "y", 1, UNIT_PATIENCE_NS), 0);
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    assert_int_equal(buffer[0], 'y');
    /* A closed context keeps its memory until its last sender has let go. */
    close_it(to);
    assert_int_equal(dn_send(from, 0, "z", 1, UNIT_PATIENCE_NS), DN_EPEER);
    assert_ptr_equal(to->slot, slot);
    close_it(from);
    assert_true(group_message_unused(to->view, slot));
    to = open_at(0, 0);
    assert_ptr_equal(to->slot, slot);
    close_it(to);
}

/* Data that was under way when the owner closed is in place before the sender lets go. */
static void nothing_falls_into_a_box_that_was_let_go(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    const struct group_message_slot *slot = to->slot;
    assert_int_equal(dn_send(from, 0, "x", 1, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    fake->held = true;
    assert_int_equal(dn_send(from, 0, "y", 1, UNIT_PATIENCE_NS), 0);
    assert_true(fake_is_under_way(1, 0));
    close_it(to);
    assert_false(group_message_unused(view_of(0), slot));
    close_it(from);
    assert_true(group_message_unused(view_of(0), slot));
    assert_false(fake_is_under_way(1, 0));
    fake->held = false;
}

/* The owner withdraws, and the word of that is still under way to a source that is about to
 * hold. */
static void a_box_that_closes_is_not_held(void **state)
{
    (void)state;
    struct dn_context *from = open_at(1, 0);
    struct dn_context *to = open_at(0, 0);
    struct group_message_slot *slot = to->slot;
    struct group_message_slot *mirror =
        &group_service(from->view, 0)
             ->message_slots[slot - group_service(to->view, 0)->message_slots];
    uint64_t key = atomic_load(&mirror->key);
    struct dn_message_op op;
    assert_true(key != 0 && key == atomic_load(&slot->key));
    close_it(to);
    assert_int_equal(atomic_load(&mirror->key), 0);
    atomic_store(&mirror->key, key); /* as if it had not come yet */
    assert_int_equal(dn_isend(from, 0, "x", 1, &op), 0);
    assert_int_equal(atomic_load(&mirror->key), 0);
    assert_true(group_message_unused(view_of(0), slot));
    to = open_at(0, 0);
    assert_int_equal(dn_message_wait(&op, UNIT_PATIENCE_NS, NULL, NULL), 0);
    size_t bytes;
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    close_it(from);
    close_it(to);
}

/* A sender that waits for a channel asks soon at first, and then seldom. */
static void a_sender_that_waits_does_not_flood(void **state)
{
    (void)state;
    struct dn_context *from = open_at(1, 0);
    struct dn_message_op op;
    int done = 0;
    uint64_t start_ns = unit_now_ns();
    uint64_t before = atomic_load(&fake_nodes[1].requests);
    assert_int_equal(dn_isend(from, 0, "x", 1, &op), 0);
    while (unit_now_ns() < start_ns + 30 * UNIT_MS) {
        assert_int_equal(dn_message_test(&op, &done, NULL, NULL), 0);
        assert_int_equal(done, 0);
    }
    /* It asks for each slot. */
    assert_true(atomic_load(&fake_nodes[1].requests) - before <= 8 * GROUP_MESSAGE_SLOTS);
    struct dn_context *to = open_at(0, 0);
    assert_int_equal(dn_message_wait(&op, UNIT_PATIENCE_NS, NULL, NULL), 0);
    size_t bytes;
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    close_it(from);
    close_it(to);
}

static void who_is_not_listed_is_told_so(void **state)
{
    static const int listed[] = {2};
    static const int zero[] = {0};
    struct dn_context *to;
    struct dn_context *from;
    (void)state;
    assert_int_equal(dn_context_open(node_of(0), CHANNEL, NULL, 0, listed, 1, NULL, &to), 0);
    assert_int_equal(dn_context_open(node_of(1), CHANNEL, zero, 1, NULL, 0, NULL, &from), 0);
    assert_int_equal(dn_send(from, 0, "x", 1, UNIT_PATIENCE_NS), DN_ERANK);
    close_it(from);
    close_it(to);
}

/* A source that attaches after the box was offered was not told, and asks. */
static void who_attached_late_finds_the_box(void **state)
{
    (void)state;
    _Atomic uint32_t *life = &view_of(0)->ports[1].life;
    atomic_store(life, DN_STARTING);
    struct dn_context *to = open_at(0, 2048);
    atomic_store(life, DN_ATTACHED);
    assert_int_equal(fake_sent(0, 1), 0);
    struct dn_context *from = open_at(1, 0);
    size_t bytes;
    for (uint64_t i = 0; i < 300; i++) {
        fill(bank_of(1), 500, i);
        assert_int_equal(dn_send(from, 0, bank_of(1), 500, UNIT_PATIENCE_NS), 0);
        assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
        assert_true(bytes == 500 && is_number(buffer, 500, i));
    }
    close_it(to);
    assert_int_equal(dn_send(from, 0, "x", 1, UNIT_PATIENCE_NS), DN_EPEER);
    close_it(from);
}

/* ---- Taking back ---------------------------------------------------------------------------- */

static void an_offer_is_fetched_or_taken_back(void **state)
{
    enum { BYTES = 100000 };
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    struct dn_message_op op;
    size_t bytes;
    fill(bank_of(1), BYTES, 1);
    assert_int_equal(dn_isend(from, 0, bank_of(1), BYTES, &op), 0);
    assert_int_equal(dn_message_cancel(&op), 0);
    fill(bank_of(1), BYTES, 2);
    assert_int_equal(dn_isend(from, 0, bank_of(1), BYTES, &op), 0);
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    assert_true(bytes == BYTES && is_number(buffer, BYTES, 2));
    /* The word of it may still be under way, but the decision has been made. */
    assert_int_equal(dn_message_cancel(&op), DN_EBUSY);
    assert_int_equal(receive(to, 1, 0, &bytes), DN_ETIMEOUT);
    close_it(from);
    close_it(to);
}

/* The sender takes the right to read away before the message is fetched. */
static void what_may_not_be_read_ends_its_source(void **state)
{
    enum { BYTES = 100000 };
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    struct dn_message_op op;
    size_t bytes;
    assert_int_equal(dn_isend(from, 0, bank_of(1), BYTES, &op), 0);
    assert_int_equal(dn_send(from, 0, "next", 4, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_rights_set(node_of(1), DN_BANK, DN_WRITE), 0);
    fake_deliver_all();
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), DN_EPEER);
    assert_int_equal(dn_probe(to, 1, UNIT_PATIENCE_NS, NULL, &bytes), DN_EPEER);
    assert_int_equal(dn_message_wait(&op, UNIT_PATIENCE_NS, NULL, NULL), 0);
    assert_int_equal(atomic_exchange(&fake->refused, 0), 1);
    close_it(from);
    close_it(to);
}

/* Its sender ends a message that was begun. */
static void what_was_begun_is_taken_back(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 1024);
    struct dn_context *from = open_at(1, 0);
    unsigned char *private = calloc(1, MESSAGE_MAX);
    size_t bytes;
    assert_int_equal(dn_send(from, 0, private, 20000, UNIT_MS), DN_ETIMEOUT);
    assert_int_equal(receive(to, 1, UNIT_MS, &bytes), DN_ETIMEOUT);
    assert_int_equal(dn_send(from, 0, "last", 4, UNIT_PATIENCE_NS), 0);
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    assert_int_equal(bytes, 4);
    assert_memory_equal(buffer, "last", 4);
    free(private);
    close_it(from);
    close_it(to);
}

/* ---- Deaths ------------------------------------------------------------------------------- */

/* Node 1 is dead: "one" is received, then `rest` if there is one, and then nothing. */
static void receive_from_the_dead(struct dn_context *to, const char *rest)
{
    size_t bytes;
    assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
    assert_int_equal(bytes, 3);
    assert_memory_equal(buffer, "one", 3);
    if (rest) {
        assert_int_equal(receive(to, 1, UNIT_PATIENCE_NS, &bytes), 0);
        assert_int_equal(bytes, strlen(rest));
        assert_memory_equal(buffer, rest, bytes);
    }
    assert_int_equal(receive(to, 1, DN_FOREVER, &bytes), DN_EPEER);
    assert_int_equal(dn_probe(to, 1, DN_FOREVER, NULL, &bytes), DN_EPEER);
}

static void what_has_arrived_of_the_dead_is_received(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    assert_int_equal(dn_send(from, 0, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_send(from, 0, "two", 3, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    assert_int_equal(dn_send(from, 0, "lost", 4, UNIT_PATIENCE_NS), 0);
    fake_kill(1);
    receive_from_the_dead(to, "two");
    /* Its bit no longer counts: the box can be used again. */
    assert_false(atomic_load(&to->slot->users[0]) == 0);
    assert_true(group_message_unused(to->view, to->slot));
    close_it(to);
}

/* More pieces than there are stages, and in no memory of the group's. */
static const unsigned char long_message[2 * MESSAGE_STAGES * MESSAGE_STAGE_BYTES];

/* If a message lay in the memory of the dead node, in stages or in the bank, those behind it are
 * not received either, because it would be missing before them. */
static void what_is_behind_a_lost_message_is_not_received(void **state)
{
    enum { BYTES = 100000 };
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    struct dn_context *other = open_at(2, 0);
    struct dn_message_op op;
    size_t bytes;
    assert_int_equal(dn_send(from, 0, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_send(from, 0, long_message, BYTES, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_send(from, 0, "two", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_send(from, 2, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_isend(from, 2, bank_of(1), BYTES, &op), 0);
    assert_int_equal(dn_send(from, 2, "two", 3, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    fake_kill(1);
    assert_int_equal(dn_send(other, 0, "else", 4, UNIT_PATIENCE_NS), 0);
    receive_from_the_dead(other, NULL);
    /* Those from the living node are received. */
    assert_int_equal(receive(to, 2, UNIT_PATIENCE_NS, &bytes), 0);
    assert_int_equal(bytes, 4);
    receive_from_the_dead(to, NULL);
    close_it(other);
    close_it(to);
}

/* A message that its sender took back before it died does not count as missing. */
static void what_is_behind_one_taken_back_is_received(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    struct dn_context *other = open_at(2, 0);
    struct dn_message_op op;
    assert_int_equal(dn_send(from, 0, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_isend(from, 0, long_message, sizeof long_message, &op), 0);
    fake_deliver_all();
    assert_int_equal(dn_message_cancel(&op), 0);
    assert_int_equal(dn_send(from, 0, "two", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_send(from, 2, "one", 3, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_isend(from, 2, bank_of(1), sizeof long_message, &op), 0);
    assert_int_equal(dn_message_cancel(&op), 0);
    assert_int_equal(dn_send(from, 2, "two", 3, UNIT_PATIENCE_NS), 0);
    fake_deliver_all();
    fake_kill(1);
    receive_from_the_dead(other, "two");
    receive_from_the_dead(to, "two");
    close_it(other);
    close_it(to);
}

static void sends_to_the_dead_end(void **state)
{
    (void)state;
    struct dn_context *to = open_at(0, 0);
    struct dn_context *from = open_at(1, 0);
    struct dn_context *other = open_at(2, 0);
    struct dn_message_op op;
    (void)to;
    assert_int_equal(dn_send(from, 0, "x", 1, UNIT_PATIENCE_NS), 0);
    assert_int_equal(dn_isend(from, 0, bank_of(1), 100000, &op), 0);
    fake_kill(0);
    assert_int_equal(dn_message_wait(&op, UNIT_PATIENCE_NS, NULL, NULL), DN_EPEER);
    assert_int_equal(dn_send(from, 0, "x", 1, DN_FOREVER), DN_EPEER);
    assert_int_equal(dn_send(other, 0, "x", 1, DN_FOREVER), DN_EPEER);
    size_t bytes;
    assert_int_equal(dn_send(from, 2, "y", 1, UNIT_PATIENCE_NS), 0);
    assert_int_equal(receive(other, 1, UNIT_PATIENCE_NS, &bytes), 0);
    close_it(from);
    close_it(other);
}

/* ---- */

static int setup(void **state)
{
    (void)state;
    return make_nodes(NODES, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, end_nodes)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_seen_before_it_is_whole),
        TEST(everything_comes_once_and_in_order),
        TEST(room_costs_few_words),
        TEST(a_box_is_held_and_let_go),
        TEST(nothing_falls_into_a_box_that_was_let_go),
        TEST(a_box_that_closes_is_not_held),
        TEST(a_sender_that_waits_does_not_flood),
        TEST(who_is_not_listed_is_told_so),
        TEST(who_attached_late_finds_the_box),
        TEST(an_offer_is_fetched_or_taken_back),
        TEST(what_may_not_be_read_ends_its_source),
        TEST(what_was_begun_is_taken_back),
        TEST(what_has_arrived_of_the_dead_is_received),
        TEST(what_is_behind_a_lost_message_is_not_received),
        TEST(what_is_behind_one_taken_back_is_received),
        TEST(sends_to_the_dead_end),
    };
    return cmocka_run_group_tests_name("message/message_by_packets", tests, NULL, NULL);
}
