/* Lives and deaths: which node was restarted, which is silent, which only seems to be. */
#include "pair.h"

enum { CAUGHT_MAX = 4096 };

static struct pair pair;

static struct {
    uint32_t data;
    uint32_t control[WIRE_CONTROL_LAST + 1];
    bool lose_hello;
    bool lose_welcome;
} wire;

/* Copies of all that was ever sent. */
static struct {
    unsigned char *packet[CAUGHT_MAX];
    uint32_t bytes[CAUGHT_MAX];
    uint32_t count;
} past;

static bool watch_wire(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    uint8_t code = 0;
    if (packet->header.kind == WIRE_CONTROL && packet->header.body_bytes) {
        code = packet->body[0];
        wire.control[code]++;
    }
    wire.data += packet->header.kind == WIRE_CD;
    if (past.count < CAUGHT_MAX) {
        past.packet[past.count] = malloc(packet->bytes);
        assert_non_null(past.packet[past.count]);
        memcpy(past.packet[past.count], packet->packet, packet->bytes);
        past.bytes[past.count++] = packet->bytes;
    }
    return !(code == WIRE_HELLO && wire.lose_hello) && !(code == WIRE_WELCOME && wire.lose_welcome);
}

static void make(uint32_t count, const struct swif_config *config)
{
    pair_make(&pair, count, config);
    memset(&wire, 0, sizeof wire);
    past.count = 0;
    pair.watch = watch_wire;
}

static void end(void)
{
    for (uint32_t i = 0; i < past.count; i++) {
        free(past.packet[i]);
    }
    pair_free(&pair);
}

static struct swif *swif_of(uint16_t node)
{
    return pair.nodes[node].swif;
}

static uint64_t time_out_ns(void)
{
    return pair.nodes[0].config.peer_timeout_ns;
}

static int try_to_send(uint16_t from, uint16_t to, uint64_t value)
{
    struct wire_route route = {.target = to, .ordered = true, .cookie = value + 1};
    return pair_append(&pair, from, &route, value);
}

/* Runs until the node has lost the peer, gives how long that took. */
static uint64_t time_to_loss_ns(uint16_t node, uint16_t peer)
{
    uint64_t begin_ns = pair.now_ns;
    uint64_t end_ns = begin_ns + 100 * time_out_ns();
    while (pair.nodes[node].lost_count[peer] == 0) {
        assert_true(pair_step(&pair, end_ns));
    }
    return pair.now_ns - begin_ns;
}

/* ---- First contact ------------------------------------------------------------------------ */

static void nothing_with_an_effect_is_sent_before_the_greeting(void **state)
{
    (void)state;
    make(2, NULL);
    wire.lose_hello = true;
    pair_send(&pair, 0, 1, 0);
    pair_send(&pair, 0, 1, 1);
    pair_run(&pair, 100 * PAIR_MS);
    assert_int_equal(wire.data, 0);
    assert_in_range(wire.control[WIRE_HELLO], 3, 20);
    wire.lose_hello = false;
    wire.lose_welcome = true;
    pair_run(&pair, 200 * PAIR_MS);
    assert_int_equal(wire.data, 0);
    assert_int_equal(swif_peer_incarnation(swif_of(1), 0), 1);
    wire.lose_welcome = false;
    pair_settle(&pair);
    assert_int_equal(swif_peer_incarnation(swif_of(0), 1), 1);
    pair_assert_numbers(&pair.nodes[1], 0, 2);
    end();
}

static void two_that_greet_each_other_at_once_both_get_through(void **state)
{
    (void)state;
    make(2, NULL);
    for (uint64_t i = 0; i < 5; i++) {
        pair_send(&pair, 0, 1, i);
        pair_send(&pair, 1, 0, i);
    }
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[0], 0, 5);
    pair_assert_numbers(&pair.nodes[1], 0, 5);
    end();
}

static void a_greeting_that_is_never_answered_ends(void **state)
{
    (void)state;
    make(2, NULL);
    pair_crash(&pair, 1);
    pair_send(&pair, 0, 1, 0);
    uint64_t took_ns = time_to_loss_ns(0, 1);
    assert_in_range(took_ns, time_out_ns(), time_out_ns() * 3 / 2);
    assert_int_equal(try_to_send(0, 1, 1), DN_EPEER);
    /* Nothing was ever sent to it; when it appears it is simply new. */
    pair_start(&pair, 1, 1);
    pair_send(&pair, 1, 0, 7);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[0], 7, 1);
    assert_int_equal(try_to_send(0, 1, 2), 0);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 2, 1);
    end();
}

/* ---- Silence ------------------------------------------------------------------------------ */

static void a_silent_peer_is_lost_after_the_time_out(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    pair_crash(&pair, 1);
    pair_send(&pair, 0, 1, 1);
    uint64_t mark = swif_mark(swif_of(0));
    uint64_t took_ns = time_to_loss_ns(0, 1);
    assert_in_range(took_ns, time_out_ns(), time_out_ns() * 3 / 2);
    assert_true(swif_peer_is_dead(swif_of(0), 1));
    assert_true(swif_mark_is_passed(swif_of(0), mark));
    assert_int_equal(try_to_send(0, 1, 2), DN_EPEER);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), DN_EPEER);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    assert_int_equal(pair.nodes[0].cookie_count, 1);
    assert_int_equal(swif_counters(swif_of(0))->peers_lost, 1);
    end();
}

/* However long a time-out backs off, and however late the node is called. */
static void a_silent_peer_is_lost_whatever_the_times_are(void **state)
{
    (void)state;
    const uint64_t late_ns[] = {0, PAIR_US, 10 * PAIR_MS, 100 * PAIR_MS};
    for (uint32_t i = 0; i < sizeof late_ns / sizeof late_ns[0]; i++) {
        for (uint32_t watched = 0; watched < 2; watched++) {
            struct swif_config config;
            pair_config(&config, 2);
            config.peer_timeout_ns = 1000 * PAIR_MS;
            config.rto_max_ns = 1000 * PAIR_MS;
            make(2, &config);
            pair_acquaint(&pair);
            pair_crash(&pair, 1);
            pair.nodes[0].late_ns = late_ns[i];
            if (watched) {
                assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
            } else {
                pair_send(&pair, 0, 1, 0);
            }
            uint64_t took_ns = time_to_loss_ns(0, 1);
            assert_in_range(took_ns, time_out_ns(), 2 * time_out_ns());
            end();
        }
    }
}

static void a_watched_peer_that_goes_silent_is_lost(void **state)
{
    (void)state;
    make(3, NULL);
    pair_acquaint(&pair);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 2), 0);
    pair_run(&pair, 10 * time_out_ns());
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
    assert_in_range(wire.control[WIRE_PROBE], 20, 2000);
    swif_unwatch(swif_of(0), 1); /* still watched once */
    pair_crash(&pair, 1);
    uint64_t took_ns = time_to_loss_ns(0, 1);
    assert_in_range(took_ns, time_out_ns() * 3 / 4, time_out_ns() * 3 / 2);
    assert_int_equal(pair.nodes[0].lost_count[2], 0);
    end();
}

/* Now and then a probe or its answer is lost; that must not count as a death. */
static void watched_peers_outlive_a_lossy_network(void **state)
{
    (void)state;
    enum { NODES = 12 };
    make(NODES, NULL);
    pair_acquaint(&pair);
    pair.watch = NULL;
    pair.loss_permille = 100;
    for (uint16_t i = 1; i < NODES; i++) {
        assert_int_equal(swif_watch(swif_of(0), pair.now_ns, i), 0);
    }
    pair_run(&pair, 100 * time_out_ns());
    assert_int_equal(swif_counters(swif_of(0))->peers_lost, 0);
    end();
}

static void a_stranger_is_watched_too(void **state)
{
    (void)state;
    make(2, NULL);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    pair_run(&pair, 3 * time_out_ns());
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
    assert_int_equal(swif_peer_incarnation(swif_of(0), 1), 1);
    pair_crash(&pair, 1);
    (void)time_to_loss_ns(0, 1);
    end();
}

static void a_peer_that_nobody_watches_may_be_silent(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    swif_unwatch(swif_of(0), 1);
    swif_unwatch(swif_of(0), 1); /* one too many does no harm */
    pair_crash(&pair, 1);
    pair_settle(&pair);
    pair_run(&pair, 10 * time_out_ns());
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
    assert_int_equal(swif_deadline_ns(swif_of(0)), UINT64_MAX);
    end();
}

/* Every peer can be watched at once, and sent to all the same. */
static void watching_everybody_leaves_room_to_send(void **state)
{
    (void)state;
    make(8, NULL);
    pair_acquaint(&pair);
    for (uint16_t i = 1; i < 8; i++) {
        assert_int_equal(swif_watch(swif_of(0), pair.now_ns, i), 0);
    }
    for (uint16_t i = 0; i < 8; i++) {
        assert_int_equal(try_to_send(0, i, i), 0);
    }
    pair_run(&pair, 2 * time_out_ns());
    for (uint16_t i = 0; i < 8; i++) {
        pair_assert_numbers(&pair.nodes[i], i, 1);
        swif_unwatch(swif_of(0), i);
    }
    pair_settle(&pair);
    end();
}

static void a_node_that_slept_does_not_call_others_dead(void **state)
{
    (void)state;
    for (uint32_t watched = 0; watched < 2; watched++) {
        make(2, NULL);
        pair_acquaint(&pair);
        pair_send(&pair, 0, 1, 0);
        pair_settle(&pair);
        if (watched) {
            assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
        } else {
            pair.cut[0][1] = true;
            pair_send(&pair, 0, 1, 1);
        }
        pair_run(&pair, 100 * PAIR_MS);
        pair.nodes[0].paused = true;
        pair_run(&pair, 20 * time_out_ns());
        pair.nodes[0].paused = false;
        pair.cut[0][1] = false;
        pair_call(&pair, 0);
        pair_run(&pair, time_out_ns());
        assert_int_equal(pair.nodes[0].lost_count[1], 0);
        if (!watched) {
            pair_assert_numbers(&pair.nodes[1], 0, 2);
        }
        /* But when the other is silent after that, it is lost. */
        pair_crash(&pair, 1);
        if (!watched) {
            pair_send(&pair, 0, 1, 2);
        }
        (void)time_to_loss_ns(0, 1);
        end();
    }
}

static bool refuse_all(struct pair_node *node, const struct swif_delivery *delivery)
{
    (void)node;
    (void)delivery;
    return false;
}

static void a_peer_that_answers_but_never_takes_anything_is_lost_in_the_end(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair.nodes[1].accept = refuse_all;
    pair_send(&pair, 0, 1, 0);
    uint64_t took_ns = time_to_loss_ns(0, 1);
    assert_in_range(took_ns, 4 * time_out_ns(), 20 * time_out_ns());
    end();
}

/* The patience with such a peer does not begin again with every nap. */
static void a_node_that_naps_loses_it_as_well(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair.nodes[1].accept = refuse_all;
    pair_send(&pair, 0, 1, 0);
    for (uint32_t naps = 0; naps < 3 * SWIF_PATIENCE && !pair.nodes[0].lost_count[1]; naps++) {
        /* It sleeps as often as it is awake, and never awake for a whole time-out. */
        pair.nodes[0].paused = true;
        pair_run(&pair, time_out_ns() / 2);
        pair.nodes[0].paused = false;
        pair_call(&pair, 0);
        pair_run(&pair, time_out_ns() / 2);
    }
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    end();
}

/* A sender dies while one of its packets is missing and another waits for it. What is kept for it
 * must not be kept for ever, nor looked at every moment. */
static void what_is_held_of_a_sender_that_died_is_let_go(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    pair_send(&pair, 0, 1, 1);
    pair.cut[0][1] = true;
    pair_call(&pair, 0);
    pair.cut[0][1] = false;
    pair_send(&pair, 0, 1, 2);
    pair_send(&pair, 0, 1, 3);
    struct wire_route unordered = {.target = 1};
    assert_int_equal(pair_append(&pair, 0, &unordered, 1), 0); /* needs not wait */
    pair_call(&pair, 0);
    pair_crash(&pair, 0);
    pair_run(&pair, PAIR_MS);
    assert_int_equal(base_pool_left(&swif_of(1)->reorder), pair.nodes[1].config.reorder_count - 2);
    uint32_t steps = 0;
    uint64_t end_ns = pair.now_ns + 20 * time_out_ns();
    while (pair_step(&pair, end_ns)) {
        steps++;
    }
    assert_true(steps < 1000);
    assert_int_equal(base_pool_left(&swif_of(1)->reorder), pair.nodes[1].config.reorder_count);
    assert_int_equal(swif_deadline_ns(swif_of(1)), UINT64_MAX);
    pair_assert_numbers(&pair.nodes[1], 0, 2);
    end();
}

/* ---- Partitions --------------------------------------------------------------------------- */

static void cut_off(bool there, bool back)
{
    pair.cut[0][1] = there;
    pair.cut[1][0] = back;
}

static void a_peer_given_up_is_told_so_when_it_comes_back(void **state)
{
    (void)state;
    for (uint32_t kind = 1; kind < 4; kind++) {
        make(2, NULL);
        pair_acquaint(&pair);
        pair_send(&pair, 0, 1, 0);
        pair_settle(&pair);
        cut_off(kind & 1, kind & 2);
        pair_send(&pair, 0, 1, 1);
        (void)time_to_loss_ns(0, 1);
        pair_run(&pair, PAIR_S);
        cut_off(false, false);
        assert_int_equal(pair.nodes[1].lost_count[0], 0);
        uint32_t had = pair.nodes[0].record_count;
        pair_send(&pair, 1, 0, 50);
        pair_run(&pair, PAIR_MS);
        assert_int_equal(wire.control[WIRE_DEAD], 1);
        assert_int_equal(pair.nodes[1].lost_count[0], 1);
        assert_int_equal(pair.nodes[0].record_count, had);
        assert_int_equal(try_to_send(1, 0, 51), DN_EPEER);
        pair_settle(&pair);
        assert_int_equal(pair.nodes[0].lost_count[1], 1);
        end();
    }
}

static void both_give_up_when_both_have_something_under_way(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    cut_off(true, true);
    pair_send(&pair, 0, 1, 0);
    pair_send(&pair, 1, 0, 0);
    (void)time_to_loss_ns(0, 1);
    pair_run(&pair, time_out_ns());
    assert_int_equal(pair.nodes[1].lost_count[0], 1);
    cut_off(false, false);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[0].record_count + pair.nodes[1].record_count, 0);
    /* New lives know nothing of it. */
    pair_start(&pair, 0, 2);
    pair_start(&pair, 1, 2);
    pair_send(&pair, 0, 1, 5);
    pair_send(&pair, 1, 0, 5);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[0], 5, 1);
    pair_assert_numbers(&pair.nodes[1], 5, 1);
    end();
}

static void a_short_partition_is_survived(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    for (uint64_t i = 0; i < 10; i++) {
        cut_off(i % 3 != 1, i % 3 != 0);
        pair_send(&pair, 0, 1, i);
        pair_send(&pair, 1, 0, i);
        pair_run(&pair, time_out_ns() / 2);
        cut_off(false, false);
        pair_run(&pair, time_out_ns() / 2);
    }
    swif_unwatch(swif_of(0), 1);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[0], 0, 10);
    pair_assert_numbers(&pair.nodes[1], 0, 10);
    end();
}

/* ---- Incarnations ------------------------------------------------------------------------- */

static void exchange(uint64_t first, uint32_t count)
{
    for (uint64_t i = first; i < first + count; i++) {
        pair_send(&pair, 0, 1, i);
        pair_send(&pair, 1, 0, i);
    }
}

static void a_restarted_receiver_gets_only_what_was_sent_to_it(void **state)
{
    (void)state;
    make(2, NULL);
    exchange(0, 3);
    pair_settle(&pair);
    pair_crash(&pair, 1);
    pair_send(&pair, 0, 1, 3); /* for the old life */
    pair_run(&pair, 5 * PAIR_MS);
    pair_start(&pair, 1, 2);
    pair_run(&pair, 500 * PAIR_MS);
    assert_true(wire.control[WIRE_RESTARTED] >= 1);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    assert_int_equal(swif_peer_incarnation(swif_of(0), 1), 2);
    assert_int_equal(pair.nodes[1].record_count, 3);
    pair_send(&pair, 0, 1, 100);
    pair_send(&pair, 1, 0, 100);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].record_count, 4);
    assert_int_equal(pair.nodes[1].records[3].value, 100);
    assert_int_equal(pair.nodes[0].record_count, 4);
    assert_int_equal(pair.nodes[0].records[3].source_incarnation, 2);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    end();
}

static void a_restarted_sender_is_not_taken_for_its_old_life(void **state)
{
    (void)state;
    make(2, NULL);
    exchange(0, 3);
    pair_settle(&pair);
    pair_start(&pair, 0, 2);
    for (uint64_t i = 10; i < 13; i++) {
        pair_send(&pair, 0, 1, i); /* the same sequence numbers as before */
    }
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].lost_count[0], 1);
    assert_int_equal(pair.nodes[1].record_count, 6);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(pair.nodes[1].records[3 + i].value, 10 + i);
        assert_int_equal(pair.nodes[1].records[3 + i].source_incarnation, 2);
    }
    end();
}

static void a_restart_while_packets_are_held_forgets_them(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    pair.cut[0][1] = true;
    pair_send(&pair, 0, 1, 1);
    pair_call(&pair, 0);
    pair.cut[0][1] = false;
    pair_send(&pair, 0, 1, 2);
    pair_call(&pair, 0);
    pair_run(&pair, pair.delay_ns);
    pair_start(&pair, 0, 2);
    pair_send(&pair, 0, 1, 10);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].record_count, 2);
    assert_int_equal(pair.nodes[1].records[1].value, 10);
    assert_int_equal(base_pool_left(&swif_of(1)->reorder), pair.nodes[1].config.reorder_count);
    end();
}

/* All that was ever sent comes again, after each kind of restart. */
static void packets_of_old_lives_have_no_effect(void **state)
{
    (void)state;
    for (uint32_t restarted = 0; restarted < 4; restarted++) {
        make(2, NULL);
        exchange(0, 12);
        assert_int_equal(pair_datagram(&pair, 0, 1, 70), 0);
        pair_settle(&pair);
        for (uint16_t i = 0; i < 2; i++) {
            if (restarted >> i & 1) {
                pair_start(&pair, i, 2);
            }
        }
        exchange(20, 3); /* the old lives got further in their sequences */
        pair_settle(&pair);
        uint32_t had[2] = {pair.nodes[0].record_count, pair.nodes[1].record_count};
        uint32_t lost[2] = {pair.nodes[0].lost_count[1], pair.nodes[1].lost_count[0]};
        uint32_t count = past.count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t j = (i * 7919) % count;
            pair_fly(&pair, pair.now_ns, wire_get16(past.packet[j] + 6), past.packet[j],
                     past.bytes[j]);
        }
        pair_settle(&pair);
        exchange(30, 5);
        pair_settle(&pair);
        for (uint16_t i = 0; i < 2; i++) {
            assert_int_equal(pair.nodes[i].record_count, had[i] + 5);
            assert_int_equal(pair.nodes[i].lost_count[1 - i], lost[i]);
            assert_int_equal(swif_peer_incarnation(swif_of(i), (uint16_t)(1 - i)),
                             pair.nodes[1 - i].config.incarnation);
        }
        end();
    }
}

static void a_peer_that_died_lives_again_in_its_next_incarnation(void **state)
{
    (void)state;
    make(2, NULL);
    exchange(0, 2);
    pair_settle(&pair);
    swif_peer_died(swif_of(0), pair.now_ns, 1, 1);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    swif_peer_died(swif_of(0), pair.now_ns, 1, 1);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    assert_int_equal(try_to_send(0, 1, 5), DN_EPEER);
    swif_peer_is(swif_of(0), pair.now_ns, 1, 1); /* the life that died */
    assert_int_equal(try_to_send(0, 1, 5), DN_EPEER);
    pair_start(&pair, 1, 2);
    swif_peer_is(swif_of(0), pair.now_ns, 1, 2);
    assert_false(swif_peer_is_dead(swif_of(0), 1));
    swif_peer_died(swif_of(0), pair.now_ns, 1, 1); /* late news of the first life */
    assert_false(swif_peer_is_dead(swif_of(0), 1));
    pair_send(&pair, 0, 1, 5);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].record_count, 3);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    end();
}

static void a_watch_notices_a_restart(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    pair_run(&pair, time_out_ns());
    pair_start(&pair, 1, 2);
    uint64_t took_ns = time_to_loss_ns(0, 1);
    assert_true(took_ns < time_out_ns());
    assert_false(swif_peer_is_dead(swif_of(0), 1));
    end();
}

static void restarts_in_the_middle_of_everything(void **state)
{
    (void)state;
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    make(3, NULL);
    pair.watch = NULL;
    pair.loss_permille = 50;
    pair.double_permille = 200;
    pair.jitter_ns = 3 * PAIR_MS;
    uint32_t lives[3] = {1, 1, 1};
    uint64_t value = 0;
    static uint64_t last[3][3][128][128]; /* target, source, life of both: the newest number */
    memset(last, 0, sizeof last);
    uint32_t checked[3] = {0, 0, 0};
    for (uint32_t step = 0; step < 6000; step++) {
        uint16_t from = (uint16_t)base_random_below(&random, 3);
        uint16_t to = (uint16_t)base_random_below(&random, 3);
        (void)try_to_send(from, to, ++value);
        pair_run(&pair, base_random_below(&random, PAIR_MS));
        for (uint16_t i = 0; i < 3; i++) {
            for (; checked[i] < pair.nodes[i].record_count; checked[i]++) {
                const struct pair_record *record = &pair.nodes[i].records[checked[i]];
                uint64_t *newest = &last[i][record->source][record->source_incarnation][lives[i]];
                assert_true(record->value > *newest);
                *newest = record->value;
            }
        }
        if (base_random_below(&random, 100) == 0) {
            uint16_t who = (uint16_t)base_random_below(&random, 3);
            pair_start(&pair, who, ++lives[who]);
            assert_true(lives[who] < 128);
        }
    }
    assert_true(checked[0] > 100);
    pair.loss_permille = 0;
    pair_settle(&pair);
    end();
}

/* ---- Nodes that live once ------------------------------------------------------------------ */

static void make_living_once(void)
{
    struct swif_config config;
    pair_config(&config, 2);
    config.lives_once = true;
    make(2, &config);
    pair_start(&pair, 0, 900);
    pair_start(&pair, 1, 50);
}

/* Incarnations are numbers without an order; the greeting tells them. */
static void who_lives_once_is_known_by_its_first_incarnation(void **state)
{
    (void)state;
    static const uint32_t others[] = {1, 49, 51, UINT32_MAX};
    for (uint32_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        make_living_once();
        exchange(0, 3);
        pair_settle(&pair);
        assert_int_equal(swif_peer_incarnation(swif_of(0), 1), 50);
        assert_int_equal(swif_peer_incarnation(swif_of(1), 0), 900);
        assert_int_equal(pair.nodes[0].record_count, 3);
        uint64_t stale = swif_counters(swif_of(0))->stale;
        pair_start(&pair, 1, others[i]); /* in the same rank: nobody listens to it */
        pair_send(&pair, 1, 0, 100);
        pair_run(&pair, 100 * PAIR_MS);
        assert_int_equal(pair.nodes[0].record_count, 3);
        assert_int_equal(pair.nodes[0].lost_count[1], 0);
        assert_int_equal(swif_peer_incarnation(swif_of(0), 1), 50);
        assert_true(swif_counters(swif_of(0))->stale > stale);
        swif_peer_is(swif_of(0), pair.now_ns, 1, others[i]);
        assert_int_equal(swif_peer_incarnation(swif_of(0), 1), 50);
        pair_settle(&pair);
        end();
    }
}

/* It died, by somebody's word or by silence, before we ever heard it: for good, and it is told. */
static void who_lives_once_dies_once(void **state)
{
    (void)state;
    make_living_once();
    cut_off(true, true);
    assert_int_equal(try_to_send(0, 1, 1), 0);
    (void)time_to_loss_ns(0, 1);
    assert_true(swif_peer_is_dead(swif_of(0), 1));
    cut_off(false, false);
    pair_send(&pair, 1, 0, 7);
    pair_settle(&pair);
    assert_true(wire.control[WIRE_DEAD] >= 1);
    assert_true(swif_peer_is_dead(swif_of(0), 1));
    assert_true(swif_peer_is_dead(swif_of(1), 0));
    assert_int_equal(pair.nodes[0].record_count, 0);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    assert_int_equal(try_to_send(0, 1, 2), DN_EPEER);
    swif_peer_is(swif_of(0), pair.now_ns, 1, 60);
    assert_true(swif_peer_is_dead(swif_of(0), 1));
    end();
    make_living_once();
    swif_peer_died(swif_of(0), pair.now_ns, 1, 0);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    assert_int_equal(try_to_send(0, 1, 2), DN_EPEER);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_with_an_effect_is_sent_before_the_greeting),
        cmocka_unit_test(two_that_greet_each_other_at_once_both_get_through),
        cmocka_unit_test(a_greeting_that_is_never_answered_ends),
        cmocka_unit_test(a_silent_peer_is_lost_after_the_time_out),
        cmocka_unit_test(a_silent_peer_is_lost_whatever_the_times_are),
        cmocka_unit_test(a_watched_peer_that_goes_silent_is_lost),
        cmocka_unit_test(watched_peers_outlive_a_lossy_network),
        cmocka_unit_test(a_stranger_is_watched_too),
        cmocka_unit_test(a_peer_that_nobody_watches_may_be_silent),
        cmocka_unit_test(watching_everybody_leaves_room_to_send),
        cmocka_unit_test(a_node_that_slept_does_not_call_others_dead),
        cmocka_unit_test(a_peer_that_answers_but_never_takes_anything_is_lost_in_the_end),
        cmocka_unit_test(a_node_that_naps_loses_it_as_well),
        cmocka_unit_test(what_is_held_of_a_sender_that_died_is_let_go),
        cmocka_unit_test(a_peer_given_up_is_told_so_when_it_comes_back),
        cmocka_unit_test(both_give_up_when_both_have_something_under_way),
        cmocka_unit_test(a_short_partition_is_survived),
        cmocka_unit_test(a_restarted_receiver_gets_only_what_was_sent_to_it),
        cmocka_unit_test(a_restarted_sender_is_not_taken_for_its_old_life),
        cmocka_unit_test(a_restart_while_packets_are_held_forgets_them),
        cmocka_unit_test(packets_of_old_lives_have_no_effect),
        cmocka_unit_test(a_peer_that_died_lives_again_in_its_next_incarnation),
        cmocka_unit_test(a_watch_notices_a_restart),
        cmocka_unit_test(restarts_in_the_middle_of_everything),
        cmocka_unit_test(who_lives_once_is_known_by_its_first_incarnation),
        cmocka_unit_test(who_lives_once_dies_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
