/* C-ARQ: stop-and-wait until the receiver has a context, then more; losses, duplicates, refusals
 * and sequence numbers that wrap. */
#include "pair.h"

static struct pair pair;

/* The packets of node 0 that a test wants to lose, by transmission from 1; and what was seen. */
static struct {
    uint64_t lose; /* bit i: the i-th data packet, from bit 1 */
    bool lose_acks;
    uint32_t data;
    uint32_t again;
    uint32_t acks;
    uint32_t refused_acks;
    struct wire_ack last_ack; /* of node 1 */
} wire;

static bool watch_wire(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    if (packet->header.source == 0 && packet->header.kind == WIRE_CD) {
        wire.data++;
        wire.again += (packet->header.flags & WIRE_FLAG_AGAIN) != 0;
        return wire.data >= 64 || !(wire.lose >> wire.data & 1);
    }
    if (packet->header.source == 1 && packet->ack_count) {
        wire.acks++;
        wire.refused_acks += packet->acks[0].refused;
        wire.last_ack = packet->acks[0];
        return !wire.lose_acks;
    }
    return true;
}

static void make(uint32_t count, const struct swif_config *config)
{
    pair_make(&pair, count, config);
    pair_acquaint(&pair);
    memset(&wire, 0, sizeof wire);
    pair.watch = watch_wire;
}

static void make_at_stage(enum wire_stage stage)
{
    struct swif_config config;
    pair_config(&config, 2);
    config.stage_max = stage;
    make(2, &config);
}

/* Node 0 has sent number 0 and is beyond stop-and-wait. */
static void climb(void)
{
    pair_send(&pair, 0, 1, 0);
    pair_run(&pair, PAIR_MS);
    memset(&wire, 0, sizeof wire);
}

static struct swif_ltee *ltee_of(uint16_t node, uint16_t peer)
{
    struct swif_ltee *ltee = swif_ltee_find(pair.nodes[node].swif, peer, WIRE_REQUEST);
    assert_non_null(ltee);
    return ltee;
}

static const struct swif_counters *counters_of(uint16_t node)
{
    return swif_counters(pair.nodes[node].swif);
}

static void send_numbers(uint64_t first, uint64_t end)
{
    for (uint64_t i = first; i < end; i++) {
        pair_send(&pair, 0, 1, i);
    }
}

/* ---- Stages ------------------------------------------------------------------------------- */

static void one_packet_is_under_way_until_the_receiver_has_a_context(void **state)
{
    (void)state;
    make(2, NULL);
    struct swif_peer_state known;
    assert_false(swif_peer_state(pair.nodes[0].swif, 1, &known));
    send_numbers(0, 6);
    pair_call(&pair, 0);
    assert_int_equal(wire.data, 1);
    assert_true(swif_peer_state(pair.nodes[0].swif, 1, &known));
    assert_int_equal(known.stage, WIRE_STOP_AND_WAIT);
    assert_int_equal(known.under_way, 1);
    pair_run(&pair, 2 * pair.delay_ns);
    assert_int_equal(wire.data, 6);
    assert_true(swif_peer_state(pair.nodes[0].swif, 1, &known));
    assert_int_equal(known.stage, WIRE_SELECTIVE_REPEAT);
    assert_int_equal(counters_of(0)->climbs, 1);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 6);
    assert_int_equal(pair.nodes[0].cookie_count, 6);
    pair_free(&pair);
}

/* Node 2 occupies the only receiving context of node 1 with a packet ahead of its turn. */
static void pin_the_context(void)
{
    pair_send(&pair, 2, 1, 100);
    pair_run(&pair, PAIR_MS);
    pair_send(&pair, 2, 1, 101);
    pair.cut[2][1] = true;
    pair_call(&pair, 2);
    pair.cut[2][1] = false;
    pair_send(&pair, 2, 1, 102);
    pair_call(&pair, 2);
    pair.cut[2][1] = true;
    pair_run(&pair, pair.delay_ns);
}

static void make_with_one_context(void)
{
    struct swif_config config;
    pair_config(&config, 3);
    config.ways = config.rtee_count = 1;
    make(3, &config);
}

static void without_a_context_for_it_a_sender_stays_at_stop_and_wait(void **state)
{
    (void)state;
    make_with_one_context();
    pin_the_context();
    send_numbers(0, 10);
    uint64_t end_ns = pair.now_ns + PAIR_S;
    while (pair.nodes[0].cookie_count < 10) {
        assert_true(pair_step(&pair, end_ns));
        assert_true(ltee_of(0, 1)->under_way <= 1);
        assert_int_equal(ltee_of(0, 1)->stage, WIRE_STOP_AND_WAIT);
    }
    assert_int_equal(counters_of(0)->retransmissions, 0);
    assert_true(counters_of(1)->rtee_none >= 10);
    pair.cut[2][1] = false;
    pair_settle(&pair);
    send_numbers(10, 20);
    pair_settle(&pair);
    assert_int_equal(ltee_of(0, 1)->stage, WIRE_SELECTIVE_REPEAT);
    assert_int_equal(pair.nodes[1].record_count, 23);
    pair_free(&pair);
}

static void a_sender_whose_context_went_falls_back_and_loses_nothing(void **state)
{
    (void)state;
    make_with_one_context();
    climb();
    assert_int_equal(ltee_of(0, 1)->stage, WIRE_SELECTIVE_REPEAT);
    pin_the_context();
    assert_int_equal(counters_of(1)->rtee_evictions, 1);
    send_numbers(1, 20);
    pair_run(&pair, 50 * PAIR_MS);
    assert_int_equal(counters_of(0)->drops, 1);
    assert_int_equal(counters_of(0)->timeouts, 0);
    assert_int_equal(ltee_of(0, 1)->stage, WIRE_STOP_AND_WAIT);
    assert_int_equal(pair.nodes[0].cookie_count, 20);
    uint64_t next = 0;
    for (uint32_t i = 0; i < pair.nodes[1].record_count; i++) {
        if (pair.nodes[1].records[i].source == 0) {
            assert_int_equal(pair.nodes[1].records[i].value, next++);
        }
    }
    assert_int_equal(next, 20);
    pair_free(&pair);
}

static void a_context_with_packets_under_way_is_never_evicted(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 3);
    config.ways = config.ltee_count = 1;
    make(3, &config);
    pair.cut[0][1] = true;
    send_numbers(0, 3);
    pair_call(&pair, 0);
    struct wire_route route = {.target = 2};
    assert_int_equal(pair_append(&pair, 0, &route, 50), DN_EFULL);
    assert_int_equal(counters_of(0)->ltee_none, 1);
    pair.cut[0][1] = false;
    while (pair.nodes[0].cookie_count < 3) {
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    assert_int_equal(pair_append(&pair, 0, &route, 50), 0);
    assert_int_equal(counters_of(0)->ltee_evictions, 1);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 3);
    pair_assert_numbers(&pair.nodes[2], 50, 1);
    send_numbers(3, 5);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 5);
    pair_free(&pair);
}

static void full_buffers_and_queues_are_said_to_be_full(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 3);
    config.buffer_count[WIRE_REQUEST] = 6;
    config.queue_max = 4;
    make(3, &config);
    send_numbers(0, 4);
    struct wire_route route = {.target = 1, .cookie = 1};
    assert_int_equal(pair_append(&pair, 0, &route, 9), DN_EFULL);
    pair_send(&pair, 0, 2, 0);
    pair_send(&pair, 0, 2, 1);
    route.target = 2;
    assert_int_equal(pair_append(&pair, 0, &route, 9), DN_EFULL);
    pair_settle(&pair);
    send_numbers(4, 8);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 8);
    pair_free(&pair);
}

/* ---- Losses ------------------------------------------------------------------------------- */

static void go_back_n_sends_everything_again_from_the_gap(void **state)
{
    (void)state;
    make_at_stage(WIRE_GO_BACK_N);
    climb();
    wire.lose = 1u << 3;
    send_numbers(1, 11);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 11);
    assert_int_equal(counters_of(0)->timeouts, 0);
    assert_in_range(wire.again, 8, 10); /* those that were under way when node 0 heard of the gap */
    pair_free(&pair);
}

static void go_back_n_goes_back_once_for_a_loss(void **state)
{
    (void)state;
    make_at_stage(WIRE_GO_BACK_N);
    climb();
    wire.lose = 1u << 1;
    send_numbers(1, 41);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 41);
    assert_int_equal(counters_of(0)->timeouts, 0);
    assert_in_range(wire.again, 1, 40);
    pair_free(&pair);
}

static void selective_repeat_sends_only_what_was_lost(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    wire.lose = 1u << 3 | 1u << 5;
    send_numbers(1, 11);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 11);
    assert_int_equal(counters_of(0)->timeouts, 0);
    assert_int_equal(wire.again, 2);
    assert_int_equal(counters_of(1)->duplicates, 0);
    pair_free(&pair);
}

static void a_lost_retransmission_is_noticed_without_a_time_out(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    wire.lose = 1u << 1 | UINT64_C(1) << 11; /* number 1, and its first repetition */
    send_numbers(1, 11);
    pair_run(&pair, 2 * pair.delay_ns + pair.delay_ns / 2);
    send_numbers(11, 30);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 30);
    assert_int_equal(counters_of(0)->timeouts, 0);
    pair_free(&pair);
}

static void a_lost_last_packet_comes_after_a_time_out(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    wire.lose = 1u << 4;
    send_numbers(1, 5);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 5);
    assert_int_equal(counters_of(0)->timeouts, 1);
    assert_int_equal(wire.again, 1);
    pair_free(&pair);
}

static void a_packet_overtaken_by_a_little_is_not_sent_again(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    pair.delay_ns = 200 * PAIR_US;
    send_numbers(1, 5);
    pair_settle(&pair);
    memset(&wire, 0, sizeof wire);
    pair_send(&pair, 0, 1, 5);
    pair.delay_ns += 30 * PAIR_US;
    pair_call(&pair, 0);
    pair.delay_ns -= 30 * PAIR_US;
    send_numbers(6, 9);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 9);
    assert_int_equal(wire.again, 0);
    pair_free(&pair);
}

static void lost_acknowledgements_cost_duplicates_but_no_effects(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    wire.lose_acks = true;
    send_numbers(1, 9);
    pair_run(&pair, 30 * PAIR_MS);
    assert_true(counters_of(1)->duplicates > 0);
    wire.lose_acks = false;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 9);
    assert_int_equal(pair.nodes[0].cookie_count, 9);
    pair_free(&pair);
}

static void time_outs_back_off(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    pair.cut[0][1] = true;
    pair_send(&pair, 0, 1, 1);
    pair_run(&pair, PAIR_S);
    assert_in_range(wire.data, 8, 25); /* 0.2 ms doubled up to 100 ms */
    pair.cut[0][1] = false;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 2);
    pair_free(&pair);
}

static void everything_twice_has_its_effect_once(void **state)
{
    (void)state;
    for (unsigned stage = WIRE_STOP_AND_WAIT; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        make_at_stage((enum wire_stage)stage);
        pair.double_permille = 1000;
        pair.jitter_ns = 100 * PAIR_US;
        send_numbers(0, 100);
        pair_settle(&pair);
        pair_assert_numbers(&pair.nodes[1], 0, 100);
        assert_int_equal(pair.nodes[0].cookie_count, 100);
        assert_true(counters_of(1)->stale >= 100);
        pair_free(&pair);
    }
}

/* ---- Acknowledgements that cannot be ------------------------------------------------------ */

/* Hands node 0 an acknowledgement as if node 1 had sent it. */
static void forge(const struct wire_ack *ack)
{
    unsigned char packet[256] = {0};
    struct wire_header header = {.kind = WIRE_CONTROL,
                                 .source = 1,
                                 .target = 0,
                                 .pgid = PAIR_PGID,
                                 .source_incarnation = 1,
                                 .target_incarnation = 1};
    header.counter = ++pair.nodes[1].swif->counter;
    header.ack_bytes = (uint16_t)wire_ack_encode(ack, packet + WIRE_PREFIX_BYTES);
    wire_header_encode(&header, packet);
    swif_receive(pair.nodes[0].swif, pair.now_ns, packet,
                 WIRE_OVERHEAD_BYTES + (uint32_t)header.ack_bytes);
}

static void acknowledgements_of_the_past_and_of_the_future_change_nothing(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    pair.cut[0][1] = true;
    send_numbers(1, 6);
    pair_call(&pair, 0);
    struct swif_ltee before = *ltee_of(0, 1);
    const int32_t off[] = {-1, -5, -100000, 6, 7, 100, 1 << 30, INT32_MIN};
    for (uint32_t i = 0; i < sizeof off / sizeof off[0]; i++) {
        struct wire_ack ack = {.stage = WIRE_STOP_AND_WAIT,
                               .window = 1,
                               .gap = true,
                               .refused = true,
                               .echo = (uint32_t)pair.nodes[0].swif->counter,
                               .next = before.oldest + (uint32_t)off[i]};
        if (off[i] == 6) {
            ack.next = before.unsent + 1;
        }
        forge(&ack);
        before.heard_ns = pair.now_ns; /* it is a sign of life, no more */
        assert_memory_equal(&before, ltee_of(0, 1), sizeof before);
    }
    assert_int_equal(pair.nodes[0].cookie_count, 1);
    pair.cut[0][1] = false;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 6);
    pair_free(&pair);
}

static void a_bitmap_of_packets_that_were_never_sent_is_ignored(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    pair.cut[0][1] = true;
    send_numbers(1, 4);
    pair_call(&pair, 0);
    struct wire_ack ack = {.stage = WIRE_SELECTIVE_REPEAT,
                           .window = 10,
                           .bitmap_words = 8,
                           .echo = (uint32_t)pair.nodes[0].swif->counter,
                           .next = ltee_of(0, 1)->oldest};
    memset(ack.bitmap, 0xff, sizeof ack.bitmap);
    forge(&ack);
    assert_int_equal(ltee_of(0, 1)->under_way, 1); /* the first, which the bitmap cannot name */
    send_numbers(4, 6);
    pair_call(&pair, 0);
    assert_int_equal(ltee_of(0, 1)->under_way, 3);
    pair_free(&pair);
}

static void an_echo_of_a_packet_that_was_never_sent_makes_nothing_lost(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    pair.cut[0][1] = true;
    send_numbers(1, 4);
    pair_call(&pair, 0);
    uint64_t counter = pair.nodes[0].swif->counter;
    struct wire_ack ack = {.stage = WIRE_SELECTIVE_REPEAT,
                           .window = 10,
                           .echo = (uint32_t)counter + 5,
                           .next = ltee_of(0, 1)->oldest};
    forge(&ack);
    assert_true(ltee_of(0, 1)->newest_arrived <= counter);
    pair_free(&pair);
}

/* ---- Numbers that come round --------------------------------------------------------------- */

static void sequence_numbers_come_round(void **state)
{
    (void)state;
    for (unsigned stage = WIRE_STOP_AND_WAIT; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        make_at_stage((enum wire_stage)stage);
        for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
            pair.nodes[0].swif->stubs[1].send_next[class] = UINT32_MAX - 60;
            pair.nodes[1].swif->stubs[0].receive_next[class] = UINT32_MAX - 60;
        }
        pair.loss_permille = 50;
        pair.double_permille = 100;
        pair.jitter_ns = 50 * PAIR_US;
        send_numbers(0, 200);
        pair_settle(&pair);
        pair_assert_numbers(&pair.nodes[1], 0, 200);
        assert_int_equal(pair.nodes[1].swif->stubs[0].receive_next[WIRE_REQUEST], 139);
        pair_free(&pair);
    }
}

static void assert_counter_comes_round_at(uint64_t counter, enum wire_stage stage)
{
    make_at_stage(stage);
    for (uint16_t i = 0; i < 2; i++) {
        pair.nodes[i].swif->counter = counter - 20;
    }
    climb();
    for (uint64_t i = 0; i < 10; i++) {
        wire.data = 0;
        wire.lose = 1u << 3;
        send_numbers(1 + 10 * i, 11 + 10 * i);
        pair_run(&pair, 10 * PAIR_MS);
    }
    pair_assert_numbers(&pair.nodes[1], 0, 101);
    assert_int_equal(counters_of(0)->timeouts, 0);
    struct swif_peer_state known;
    assert_true(swif_peer_state(pair.nodes[0].swif, 1, &known));
    assert_in_range(known.srtt_ns, 2 * pair.delay_ns, 4 * pair.delay_ns);
    pair_free(&pair);
}

static void the_echo_of_a_counter_comes_round(void **state)
{
    (void)state;
    for (unsigned stage = WIRE_GO_BACK_N; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        assert_counter_comes_round_at(UINT64_C(1) << 31, (enum wire_stage)stage);
        assert_counter_comes_round_at((UINT64_C(1) << 31) + 1000, (enum wire_stage)stage);
        assert_counter_comes_round_at(UINT64_C(1) << 32, (enum wire_stage)stage);
        assert_counter_comes_round_at((UINT64_C(7) << 32) + 1000, (enum wire_stage)stage);
        assert_counter_comes_round_at(UINT64_C(9) << 32, (enum wire_stage)stage);
    }
}

/* ---- Refusals ----------------------------------------------------------------------------- */

static void a_refused_packet_comes_again_and_is_carried_out_once(void **state)
{
    (void)state;
    for (unsigned stage = WIRE_STOP_AND_WAIT; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        make_at_stage((enum wire_stage)stage);
        climb();
        pair.nodes[1].refuse = 20;
        send_numbers(1, 31);
        pair_settle(&pair);
        assert_int_equal(pair.nodes[1].refused, 20);
        pair_assert_numbers(&pair.nodes[1], 0, 31);
        assert_int_equal(pair.nodes[0].lost_count[1], 0);
        pair_free(&pair);
    }
}

static uint64_t room_from_ns; /* from then on the client has room */

/* Takes number 1 but not number 2 before room_from_ns. */
static bool refuse_number_2(struct pair_node *node, const struct swif_delivery *delivery)
{
    struct wire_operation operation;
    uint32_t at = 0;
    assert_true(
        wire_operation_decode(delivery->body, delivery->bytes, delivery->class, &at, &operation));
    return operation.operand != 2 || node->pair->now_ns >= room_from_ns;
}

static void make_held_and_refused(void)
{
    make(2, NULL);
    climb();
    wire.lose = 1u << 1; /* so that number 2 is held until number 1 comes again */
    pair.nodes[1].accept = refuse_number_2;
    room_from_ns = UINT64_MAX;
    send_numbers(1, 3);
    while (pair.nodes[1].record_count < 2 || pair.nodes[0].cookie_count < 2) {
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    assert_true(pair.nodes[1].refused >= 1);
}

static void a_lost_acknowledgement_of_a_held_packet_does_not_stop_the_sender(void **state)
{
    (void)state;
    make_held_and_refused();
    wire.lose_acks = true;
    room_from_ns = pair.now_ns;
    pair_run(&pair, PAIR_MS); /* number 2 is carried out, and the sender does not hear of it */
    assert_int_equal(pair.nodes[1].record_count, 3);
    wire.lose_acks = false;
    pair_run(&pair, 10 * PAIR_S);
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
    assert_int_equal(pair.nodes[0].cookie_count, 3);
    pair_assert_numbers(&pair.nodes[1], 0, 3);
    pair_free(&pair);
}

static void a_peer_without_room_for_a_held_packet_is_not_taken_for_dead(void **state)
{
    (void)state;
    make_held_and_refused();
    pair_run(&pair, 3 * pair.nodes[0].config.peer_timeout_ns);
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
    room_from_ns = pair.now_ns;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 3);
    assert_int_equal(pair.nodes[0].cookie_count, 3);
    pair_free(&pair);
}

/* An unordered packet ahead of its turn is refused: that says nothing about the one that is next,
 * which has not come at all. */
static void a_refusal_ahead_of_turn_is_not_said_of_the_next(void **state)
{
    (void)state;
    make(2, NULL);
    climb();
    wire.lose = 1u << 1;
    pair.nodes[1].refuse = 1;
    for (uint64_t i = 1; i < 3; i++) {
        struct wire_route route = {.target = 1, .cookie = i + 1};
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
    }
    while (wire.acks == 0) {
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    assert_int_equal(pair.nodes[1].refused, 1);
    assert_int_equal(wire.refused_acks, 0);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].record_count, 3);
    pair_free(&pair);
}

enum { FLOOD = 400 };

/* Takes a request only when there is room for its reply, and none at first. */
static bool answer_with_reply(struct pair_node *node, const struct swif_delivery *delivery)
{
    if (delivery->class == WIRE_REPLY) {
        return true;
    }
    if (node->pair->now_ns < room_from_ns ||
        !swif_has_reply_room(node->swif, node->pair->now_ns, delivery->source)) {
        return false;
    }
    struct wire_route route = {.target = delivery->source, .class = WIRE_REPLY};
    assert_int_equal(pair_append(node->pair, node->config.node, &route, 5000), 0);
    return true;
}

static void replies_do_not_wait_behind_refused_requests(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    config.buffer_count[WIRE_REPLY] = 2;
    make(2, &config);
    pair.watch = NULL;
    pair.loss_permille = 30;
    room_from_ns = pair.now_ns + 20 * PAIR_MS;
    uint32_t sent[2] = {0, 0};
    for (uint16_t i = 0; i < 2; i++) {
        pair.nodes[i].accept = answer_with_reply;
    }
    while (sent[0] < FLOOD || sent[1] < FLOOD) {
        for (uint16_t i = 0; i < 2; i++) {
            struct wire_route route = {.target = (uint16_t)(1 - i),
                                       .ordered = true,
                                       .cookie = 1 + sent[i],
                                       .reply_bytes = 24};
            while (sent[i] < FLOOD && pair_append(&pair, i, &route, sent[i]) == 0) {
                route.cookie = 1 + ++sent[i];
            }
        }
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    pair_settle(&pair);
    for (uint16_t i = 0; i < 2; i++) {
        uint32_t replies = 0;
        uint64_t next = 0;
        for (uint32_t j = 0; j < pair.nodes[i].record_count; j++) {
            const struct pair_record *record = &pair.nodes[i].records[j];
            replies += record->class == WIRE_REPLY;
            if (record->class == WIRE_REQUEST) {
                assert_int_equal(record->value, next++);
            }
        }
        assert_int_equal(replies, FLOOD);
        assert_int_equal(next, FLOOD);
        assert_true(pair.nodes[i].refused > 0);
        assert_int_equal(pair.nodes[i].lost_count[1 - i], 0);
    }
    pair_free(&pair);
}

/* ---- Acknowledgements with a long bitmap -------------------------------------------------- */

static void append_full(uint16_t from, uint16_t to, uint64_t cookie)
{
    struct swif *swif = pair.nodes[from].swif;
    struct wire_route route = {.target = to, .cookie = cookie};
    uint32_t bytes = swif_body_bytes_max(swif);
    struct wire_operation operation = {.opcode = WIRE_PUSH,
                                       .bytes = (uint16_t)(bytes - WIRE_OPERATION_BYTES)};
    unsigned char *room;
    assert_int_equal(swif_append(swif, pair.now_ns, &route, bytes, &room), 0);
    memset(room, 0, bytes);
    wire_operation_encode(&operation, room);
}

static bool accept_push(struct pair_node *node, const struct swif_delivery *delivery)
{
    (void)node;
    (void)delivery;
    return true;
}

static uint32_t left_behind; /* data of node 1 that went without a due acknowledgement */

static bool watch_full_packets(struct pair *of, const struct pair_packet *packet)
{
    if (packet->header.source == 1 && packet->header.kind == WIRE_CD) {
        left_behind += of->nodes[1].swif->ack_due.next != &of->nodes[1].swif->ack_due;
    }
    return watch_wire(of, packet);
}

/* Node 1 sends full packets to node 0, from which many came but one is missing: its acknowledgement
 * has a long bitmap, and must not stay behind while the packets go. */
static void an_acknowledgement_fits_beside_a_full_packet(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    config.congestion_control = false;
    make(2, &config);
    climb();
    pair.nodes[0].accept = accept_push;
    append_full(1, 0, 1);
    pair_run(&pair, PAIR_MS);
    left_behind = 0;
    wire.lose = 1u << 1;
    wire.data = 0;
    pair.watch = watch_full_packets;
    send_numbers(1, 240);
    pair_call(&pair, 0);
    for (uint64_t i = 0; i < 40; i++) {
        append_full(1, 0, 2 + i);
    }
    /* Node 1 takes all that came before it sends. */
    while (pair.flight_count) {
        struct pair_flight *flight = &pair.flights[--pair.flight_count];
        swif_receive(pair.nodes[1].swif, pair.now_ns, flight->packet, flight->bytes);
        free(flight->packet);
    }
    pair_settle(&pair);
    assert_int_equal(left_behind, 0);
    pair_assert_numbers(&pair.nodes[1], 0, 240);
    pair_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_packet_is_under_way_until_the_receiver_has_a_context),
        cmocka_unit_test(without_a_context_for_it_a_sender_stays_at_stop_and_wait),
        cmocka_unit_test(a_sender_whose_context_went_falls_back_and_loses_nothing),
        cmocka_unit_test(a_context_with_packets_under_way_is_never_evicted),
        cmocka_unit_test(full_buffers_and_queues_are_said_to_be_full),
        cmocka_unit_test(go_back_n_sends_everything_again_from_the_gap),
        cmocka_unit_test(go_back_n_goes_back_once_for_a_loss),
        cmocka_unit_test(selective_repeat_sends_only_what_was_lost),
        cmocka_unit_test(a_lost_retransmission_is_noticed_without_a_time_out),
        cmocka_unit_test(a_lost_last_packet_comes_after_a_time_out),
        cmocka_unit_test(a_packet_overtaken_by_a_little_is_not_sent_again),
        cmocka_unit_test(lost_acknowledgements_cost_duplicates_but_no_effects),
        cmocka_unit_test(time_outs_back_off),
        cmocka_unit_test(everything_twice_has_its_effect_once),
        cmocka_unit_test(acknowledgements_of_the_past_and_of_the_future_change_nothing),
        cmocka_unit_test(a_bitmap_of_packets_that_were_never_sent_is_ignored),
        cmocka_unit_test(an_echo_of_a_packet_that_was_never_sent_makes_nothing_lost),
        cmocka_unit_test(sequence_numbers_come_round),
        cmocka_unit_test(the_echo_of_a_counter_comes_round),
        cmocka_unit_test(a_refused_packet_comes_again_and_is_carried_out_once),
        cmocka_unit_test(a_lost_acknowledgement_of_a_held_packet_does_not_stop_the_sender),
        cmocka_unit_test(a_peer_without_room_for_a_held_packet_is_not_taken_for_dead),
        cmocka_unit_test(a_refusal_ahead_of_turn_is_not_said_of_the_next),
        cmocka_unit_test(replies_do_not_wait_behind_refused_requests),
        cmocka_unit_test(an_acknowledgement_fits_beside_a_full_packet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
