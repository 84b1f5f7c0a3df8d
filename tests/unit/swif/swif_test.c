/* A swif as its users see it: configurations, how operations share packets, datagrams, marks,
 * and whose packets are believed. */
#include "pair.h"

static struct pair pair;

/* What went over the wire, counted by `count_packets`. */
static struct {
    uint32_t data; /* CD */
    uint32_t again;
    uint32_t acks_alone;
    uint32_t acks_aboard;
    uint32_t datagrams;
    uint32_t control[WIRE_CONTROL_LAST + 1];
    struct wire_header last; /* CD */
} seen;

static bool count_packets(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    switch (packet->header.kind) {
    case WIRE_CD:
        seen.data++;
        seen.again += (packet->header.flags & WIRE_FLAG_AGAIN) != 0;
        seen.acks_aboard += packet->ack_count > 0;
        seen.last = packet->header;
        break;
    case WIRE_PIECE: break;
    case WIRE_UD: seen.datagrams++; break;
    case WIRE_CONTROL:
        seen.acks_alone += packet->ack_count > 0;
        if (packet->header.body_bytes) {
            seen.control[packet->body[0]]++;
        }
        break;
    }
    return true;
}

static void make(uint32_t count, const struct swif_config *config)
{
    pair_make(&pair, count, config);
    memset(&seen, 0, sizeof seen);
    pair.watch = count_packets;
}

static struct wire_route to_one(void)
{
    return (struct wire_route){.target = 1};
}

/* ---- Configurations ----------------------------------------------------------------------- */

/* Everything arrives once and in order, both ways. */
static void assert_config_works(const struct swif_config *config, uint32_t nodes)
{
    enum { NUMBERS = 60 };
    make(nodes, config);
    pair.loss_permille = 100;
    pair.double_permille = 100;
    pair.jitter_ns = 40 * PAIR_US;
    uint16_t last = (uint16_t)(nodes - 1);
    uint64_t end_ns = pair.now_ns + 60 * PAIR_S;
    for (uint32_t sent = 0, back = 0; sent < NUMBERS || back < NUMBERS;) {
        struct wire_route there = {.target = last, .ordered = true};
        struct wire_route here = {.target = 0, .ordered = true, .class = WIRE_REPLY};
        if (sent < NUMBERS && pair_append(&pair, 0, &there, sent) == 0) {
            sent++;
        } else if (back < NUMBERS && pair_append(&pair, last, &here, 1000 + back) == 0) {
            back++;
        } else {
            assert_true(pair_step(&pair, end_ns));
        }
    }
    pair_settle(&pair);
    uint32_t requests = 0;
    uint32_t replies = 0;
    for (uint32_t i = 0; i < pair.nodes[last].record_count; i++) {
        if (pair.nodes[last].records[i].class == WIRE_REQUEST) {
            assert_int_equal(pair.nodes[last].records[i].value, requests++);
        }
    }
    for (uint32_t i = 0; i < pair.nodes[0].record_count; i++) {
        if (pair.nodes[0].records[i].class == WIRE_REPLY) {
            assert_int_equal(pair.nodes[0].records[i].value, 1000 + replies++);
        }
    }
    assert_int_equal(requests, NUMBERS);
    assert_int_equal(replies, NUMBERS);
    assert_int_equal(pair.nodes[0].lost_count[last], 0);
    pair_free(&pair);
}

static void the_smallest_configurations_work(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    config.ways = config.ltee_count = config.rtee_count = 1;
    assert_config_works(&config, 2);
    config.ways = config.ltee_count = config.rtee_count = 4;
    config.buffer_count[WIRE_REQUEST] = config.buffer_count[WIRE_REPLY] = 1;
    assert_config_works(&config, 2);
    config.buffer_count[WIRE_REQUEST] = config.buffer_count[WIRE_REPLY] = 64;
    config.window_max = 1;
    assert_config_works(&config, 2);
    config.window_max = SWIF_WINDOW_MAX;
    config.queue_max = 1;
    assert_config_works(&config, 2);
    config.queue_max = SWIF_WINDOW_MAX;
    config.receive_budget = 1;
    assert_config_works(&config, 2);
    config.receive_budget = 256;
    config.reorder_count = 0;
    assert_config_works(&config, 2);
    config.packet_bytes_max = 192;
    assert_config_works(&config, 2);
    config.packet_bytes_max = WIRE_PACKET_BYTES_MAX;
    assert_config_works(&config, 2);
}

static void every_stage_works_as_the_highest(void **state)
{
    (void)state;
    for (unsigned stage = WIRE_STOP_AND_WAIT; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        struct swif_config config;
        pair_config(&config, 2);
        config.stage_max = (enum wire_stage)stage;
        assert_config_works(&config, 2);
        config.congestion_control = false;
        assert_config_works(&config, 2);
    }
}

static void a_node_alone_sends_to_itself(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 1);
    assert_config_works(&config, 1);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct swif_config good;
    pair_config(&good, 4);
    good.incarnation = 1;
    assert_true(swif_bytes(&good) > 0);
#define REFUSED(field, value)                  \
    do {                                       \
        struct swif_config bad = good;         \
        bad.field = (value);                   \
        assert_int_equal(swif_bytes(&bad), 0); \
    } while (0)
    REFUSED(node_count, 0);
    REFUSED(node_count, WIRE_NODES_MAX + 1);
    REFUSED(node, 4);
    REFUSED(incarnation, 0);
    REFUSED(packet_bytes_max, 100);
    REFUSED(packet_bytes_max, WIRE_PACKET_BYTES_MAX + 1);
    REFUSED(ltee_count, 3);
    REFUSED(rtee_count, 0);
    REFUSED(ways, 0);
    REFUSED(ways, 3);
    REFUSED(ways, 2 * good.ltee_count);
    REFUSED(buffer_count[WIRE_REQUEST], 0);
    REFUSED(buffer_count[WIRE_REPLY], 0);
    REFUSED(queue_max, 0);
    REFUSED(queue_max, SWIF_WINDOW_MAX + 1);
    REFUSED(window_max, 0);
    REFUSED(window_max, SWIF_WINDOW_MAX + 1);
    REFUSED(receive_budget, 0);
    REFUSED(rto_min_ns, 0);
    REFUSED(rto_min_ns, good.rto_max_ns + 1);
    REFUSED(rto_max_ns, UINT64_MAX);
    REFUSED(peer_timeout_ns, 0);
    REFUSED(peer_timeout_ns, 3); /* a quarter of it would be no time at all */
    REFUSED(peer_timeout_ns, UINT64_MAX);
#undef REFUSED
}

static void all_nodes_and_a_cacheful_of_contexts_take_64_mib(void **state)
{
    (void)state;
    struct swif_config config;
    swif_config_default(&config, WIRE_NODES_MAX);
    config.incarnation = 1;
    assert_int_equal(config.ltee_count, 1024);
    assert_int_equal(config.rtee_count, 1024);
    uint64_t bytes = swif_bytes(&config);
    print_message("%llu bytes for %d nodes\n", (unsigned long long)bytes, WIRE_NODES_MAX);
    assert_in_range(bytes, 1, 64u << 20);
}

static void the_default_has_a_context_for_each_of_few_peers(void **state)
{
    (void)state;
    struct swif_config config;
    swif_config_default(&config, 2);
    assert_int_equal(config.ltee_count, config.ways);
    swif_config_default(&config, 100);
    assert_int_equal(config.ltee_count, 128);
    swif_config_default(&config, 5000);
    assert_int_equal(config.ltee_count, 1024);
}

/* ---- Sharing packets ---------------------------------------------------------------------- */

static void operations_that_wait_share_a_packet(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    struct wire_route route = to_one();
    for (uint64_t i = 0; i < 10; i++) {
        route.ordered = i % 2;
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
    }
    pair_settle(&pair);
    assert_int_equal(seen.data, 1);
    pair_assert_numbers(&pair.nodes[1], 0, 10);
    assert_int_equal(pair.nodes[1].records[9].packet, pair.nodes[1].records[0].packet);
    pair_free(&pair);
}

static void a_packet_that_was_sent_is_not_joined(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    struct wire_route route = to_one();
    assert_int_equal(pair_append(&pair, 0, &route, 0), 0);
    pair_call(&pair, 0);
    assert_int_equal(pair_append(&pair, 0, &route, 1), 0);
    assert_int_equal(pair_append(&pair, 0, &route, 2), 0);
    pair_settle(&pair);
    assert_int_equal(seen.data, 2);
    pair_assert_numbers(&pair.nodes[1], 0, 3);
    pair_free(&pair);
}

static void cookies_channels_and_classes_do_not_mix(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    struct wire_route route = to_one();
    assert_int_equal(pair_append(&pair, 0, &route, 0), 0); /* 1 */
    route.cookie = 5;
    assert_int_equal(pair_append(&pair, 0, &route, 1), 0); /* 2 */
    assert_int_equal(pair_append(&pair, 0, &route, 2), 0);
    route.cookie = 6;
    assert_int_equal(pair_append(&pair, 0, &route, 3), 0); /* 3 */
    route.channel = 1;
    assert_int_equal(pair_append(&pair, 0, &route, 4), 0); /* 4 */
    route.cookie = 0;
    assert_int_equal(pair_append(&pair, 0, &route, 5), 0); /* 5 */
    route.class = WIRE_REPLY;
    assert_int_equal(pair_append(&pair, 0, &route, 6), 0); /* 6 */
    pair_settle(&pair);
    assert_int_equal(seen.data, 6);
    assert_int_equal(pair.nodes[1].record_count, 7);
    assert_int_equal(pair.nodes[0].cookie_count, 3);
    assert_int_equal(pair.nodes[0].cookies[0], 5);
    assert_int_equal(pair.nodes[0].cookies[1], 6);
    assert_int_equal(pair.nodes[0].cookies[2], 6);
    pair_free(&pair);
}

static void a_packets_replies_fit_one_packet(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    struct wire_route route = to_one();
    uint32_t most = swif_body_bytes_max(pair.nodes[0].swif);
    route.reply_bytes = most / 2;
    for (uint64_t i = 0; i < 4; i++) {
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
    }
    route.reply_bytes = most;
    assert_int_equal(pair_append(&pair, 0, &route, 4), 0);
    route.reply_bytes = 0;
    assert_int_equal(pair_append(&pair, 0, &route, 5), 0);
    pair_settle(&pair);
    assert_int_equal(seen.data, 3);
    assert_int_equal(pair.nodes[1].record_count, 6);
    pair_free(&pair);
}

static void a_full_packet_is_followed_by_another(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    struct wire_route route = to_one();
    uint32_t fit = swif_body_bytes_max(pair.nodes[0].swif) / PAIR_OPERATION_BYTES;
    for (uint64_t i = 0; i < fit + 1; i++) {
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
    }
    pair_settle(&pair);
    assert_int_equal(seen.data, 2);
    pair_free(&pair);
}

static void a_fence_closes_a_packet(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    struct wire_route route = to_one();
    assert_int_equal(pair_append(&pair, 0, &route, 0), 0);
    swif_fence(pair.nodes[0].swif, 1, 0);
    assert_int_equal(pair_append(&pair, 0, &route, 1), 0);
    pair_call(&pair, 0);
    pair_settle(&pair);
    assert_int_equal(seen.data, 2);
    pair_free(&pair);
}

/* ---- Acknowledgements --------------------------------------------------------------------- */

static bool reply_to_each(struct pair_node *node, const struct swif_delivery *delivery)
{
    if (delivery->class == WIRE_REQUEST) {
        struct wire_route route = {.target = delivery->source, .class = WIRE_REPLY};
        assert_int_equal(pair_append(node->pair, node->config.node, &route, 77), 0);
    }
    return true;
}

static void an_acknowledgement_rides_with_a_reply(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair.nodes[1].accept = reply_to_each;
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    assert_int_equal(seen.data, 2);
    assert_int_equal(seen.acks_aboard, 1);
    assert_int_equal(seen.acks_alone, 1); /* of the reply */
    assert_int_equal(swif_counters(pair.nodes[1].swif)->acks_aboard, 1);
    pair_free(&pair);
}

static void several_packets_share_an_acknowledgement(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair); /* beyond stop-and-wait */
    memset(&seen, 0, sizeof seen);
    for (uint64_t i = 1; i <= 8; i++) {
        pair_send(&pair, 0, 1, i);
    }
    pair_settle(&pair);
    assert_int_equal(seen.data, 8);
    assert_in_range(seen.acks_alone, 1, 3);
    pair_free(&pair);
}

/* The packet that is announced to follow is lost: the acknowledgement still comes after its
 * delay. */
static bool lose_second(struct pair *of, const struct pair_packet *packet)
{
    return count_packets(of, packet) && !(packet->header.kind == WIRE_CD && seen.data == 2);
}

static void an_acknowledgement_waits_no_longer_than_its_delay(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    config.rto_min_ns = config.rto_first_ns = 50 * PAIR_MS;
    make(2, &config);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    memset(&seen, 0, sizeof seen);
    pair.watch = lose_second;
    pair_send(&pair, 0, 1, 1);
    pair_send(&pair, 0, 1, 2);
    pair_run(&pair, pair.delay_ns + config.ack_delay_ns / 2);
    assert_int_equal(seen.acks_alone, 0);
    pair_run(&pair, config.ack_delay_ns);
    assert_int_equal(seen.acks_alone, 1);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 3);
    pair_free(&pair);
}

/* ---- Datagrams ---------------------------------------------------------------------------- */

static void a_datagram_comes_at_most_once(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair.double_permille = 1000;
    pair.jitter_ns = 200 * PAIR_US;
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(pair_datagram(&pair, 0, 1, i), 0);
        pair_call(&pair, 0);
        if (i % 3 == 0) {
            pair_run(&pair, 20 * PAIR_US);
        }
    }
    pair_settle(&pair);
    bool came[500] = {false};
    uint64_t newest = 0;
    for (uint32_t i = 0; i < pair.nodes[1].record_count; i++) {
        uint64_t value = pair.nodes[1].records[i].value;
        assert_int_equal(pair.nodes[1].records[i].is_late, value < newest);
        newest = value > newest ? value : newest;
        assert_int_equal(pair.nodes[1].records[i].kind, WIRE_UD);
        assert_int_equal(pair.nodes[1].records[i].channel, 3);
        assert_false(came[pair.nodes[1].records[i].value]);
        came[pair.nodes[1].records[i].value] = true;
    }
    assert_in_range(pair.nodes[1].record_count, 400, 500); /* overtaken ones still count */
    pair_free(&pair);
}

static void a_datagram_goes_before_what_is_appended_after_it(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    uint32_t first = pair.nodes[1].record_count;
    assert_int_equal(pair_datagram(&pair, 0, 1, 70), 0);
    pair_send(&pair, 0, 1, 71);
    pair_settle(&pair);
    assert_int_equal(pair.nodes[1].records[first].kind, WIRE_UD);
    assert_int_equal(pair.nodes[1].records[first + 1].kind, WIRE_CD);
    pair_free(&pair);
}

static void a_datagram_to_a_stranger_becomes_a_greeting(void **state)
{
    (void)state;
    make(2, NULL);
    assert_int_equal(pair_datagram(&pair, 0, 1, 1), 0);
    pair_settle(&pair);
    assert_int_equal(seen.datagrams, 0);
    assert_int_equal(seen.control[WIRE_HELLO], 1);
    assert_int_equal(seen.control[WIRE_WELCOME], 1);
    assert_int_equal(pair_datagram(&pair, 0, 1, 2), 0);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 2, 1);
    pair_free(&pair);
}

static void datagrams_have_few_buffers_and_the_dead_get_none(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    for (uint32_t i = 0; i < SWIF_DATAGRAMS; i++) {
        assert_int_equal(pair_datagram(&pair, 0, 1, i), 0);
    }
    assert_int_equal(pair_datagram(&pair, 0, 1, 9), DN_EFULL);
    swif_peer_died(pair.nodes[0].swif, pair.now_ns, 1, 1);
    pair_settle(&pair);
    assert_int_equal(seen.datagrams, 0);
    assert_int_equal(pair_datagram(&pair, 0, 1, 9), DN_EPEER);
    pair_free(&pair);
}

/* ---- Marks -------------------------------------------------------------------------------- */

static void a_mark_is_passed_when_all_before_it_was_carried_out(void **state)
{
    (void)state;
    make(3, NULL);
    struct swif *swif = pair.nodes[0].swif;
    assert_true(swif_mark_is_passed(swif, swif_mark(swif)));
    pair_acquaint(&pair);
    pair.cut[0][2] = true;
    pair_send(&pair, 0, 1, 0);
    uint64_t first = swif_mark(swif);
    pair_send(&pair, 0, 2, 1);
    uint64_t second = swif_mark(swif);
    pair_send(&pair, 0, 1, 2);
    uint64_t third = swif_mark(swif);
    assert_false(swif_mark_is_passed(swif, first));
    pair_run(&pair, 5 * PAIR_MS);
    assert_true(swif_mark_is_passed(swif, first));
    assert_false(swif_mark_is_passed(swif, second));
    assert_int_equal(pair.nodes[1].record_count, 2);
    assert_false(swif_mark_is_passed(swif, third)); /* what was sent to 2 is before it */
    pair.cut[0][2] = false;
    while (!swif_mark_is_passed(swif, third)) {
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    assert_int_equal(pair.nodes[2].record_count, 1);
    pair_free(&pair);
}

static void marks_do_not_wait_for_the_lost_nor_for_replies(void **state)
{
    (void)state;
    make(3, NULL);
    struct swif *swif = pair.nodes[0].swif;
    pair_acquaint(&pair);
    pair_crash(&pair, 2);
    pair_send(&pair, 0, 2, 1);
    struct wire_route reply = {.target = 1, .class = WIRE_REPLY};
    assert_int_equal(pair_append(&pair, 0, &reply, 5), 0);
    uint64_t mark = swif_mark(swif);
    assert_false(swif_mark_is_passed(swif, mark));
    swif_peer_died(swif, pair.now_ns, 2, 1);
    assert_true(swif_mark_is_passed(swif, mark));
    pair_free(&pair);
}

static void a_mark_is_not_passed_while_the_target_refuses(void **state)
{
    (void)state;
    make(2, NULL);
    pair_acquaint(&pair);
    pair.nodes[1].refuse = 5;
    pair_send(&pair, 0, 1, 0);
    uint64_t mark = swif_mark(pair.nodes[0].swif);
    while (!swif_mark_is_passed(pair.nodes[0].swif, mark)) {
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    assert_int_equal(pair.nodes[1].refused, 5);
    pair_assert_numbers(&pair.nodes[1], 0, 1);
    pair_free(&pair);
}

/* ---- Whose packets are believed ----------------------------------------------------------- */

static void another_group_is_not_heard(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    make(2, &config);
    pair.nodes[1].config.pgid = PAIR_PGID + 1;
    pair_start(&pair, 1, 1);
    pair_acquaint(&pair);
    pair_send(&pair, 0, 1, 0);
    assert_int_equal(pair_datagram(&pair, 0, 1, 1), 0);
    pair_run(&pair, 50 * PAIR_MS);
    assert_int_equal(pair.nodes[1].record_count, 0);
    assert_true(swif_counters(pair.nodes[1].swif)->not_ours >= 2);
    assert_int_equal(swif_counters(pair.nodes[1].swif)->packets_received, 0);
    assert_int_equal(swif_counters(pair.nodes[1].swif)->packets_sent, 0);
    pair_free(&pair);
}

/* A copy of everything that a swif knows, its counters aside. */
static void *copy_of(const struct pair_node *node, uint64_t *bytes)
{
    *bytes = swif_bytes(&node->config);
    unsigned char *copy = malloc(*bytes);
    assert_non_null(copy);
    memcpy(copy, node->memory, *bytes);
    memset(copy + offsetof(struct swif, counters), 0, sizeof(struct swif_counters));
    return copy;
}

static unsigned char caught[WIRE_PACKET_BYTES_MAX];
static uint32_t caught_bytes;

static bool catch_data(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    if (packet->header.kind == WIRE_CD) {
        memcpy(caught, packet->packet, packet->bytes);
        caught_bytes = packet->bytes;
        return false;
    }
    return true;
}

static void a_packet_changed_anywhere_changes_nothing(void **state)
{
    (void)state;
    make(2, NULL);
    for (uint16_t i = 0; i < 2; i++) {
        pair.nodes[i].guarded = true;
        pair_start(&pair, i, 1);
    }
    pair_acquaint(&pair);
    pair_send(&pair, 1, 0, 7); /* so that the packet below carries an acknowledgement */
    pair_settle(&pair);
    pair.watch = catch_data;
    pair_send(&pair, 0, 1, 0);
    pair_call(&pair, 0);
    assert_true(caught_bytes > 0);
    uint64_t bytes;
    void *before = copy_of(&pair.nodes[1], &bytes);
    for (uint32_t bit = 0; bit < caught_bytes * 8; bit++) {
        unsigned char packet[WIRE_PACKET_BYTES_MAX];
        memcpy(packet, caught, caught_bytes);
        packet[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (bit / 8 >= caught_bytes - 8) {
            continue; /* the guard's tag has 8 bytes */
        }
        swif_receive(pair.nodes[1].swif, pair.now_ns, packet, caught_bytes);
    }
    void *after = copy_of(&pair.nodes[1], &bytes);
    assert_memory_equal(before, after, bytes);
    assert_true(swif_counters(pair.nodes[1].swif)->not_authentic > 0);
    assert_int_equal(pair.nodes[1].record_count, 0);
    swif_receive(pair.nodes[1].swif, pair.now_ns, caught, caught_bytes);
    pair_assert_numbers(&pair.nodes[1], 0, 1);
    free(before);
    free(after);
    pair_free(&pair);
}

/* A body larger than ours may be, from a node that leaves no room for acknowledgements. */
static void a_body_too_large_for_our_buffers_is_malformed(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    config.packet_bytes_max = 192;
    make(2, &config);
    pair_acquaint(&pair);
    struct wire_header header = {.kind = WIRE_CD,
                                 .source = 0,
                                 .target = 1,
                                 .pgid = PAIR_PGID,
                                 .source_incarnation = 1,
                                 .target_incarnation = 1,
                                 .sequence = 5,
                                 .after = 1,
                                 .counter = 1,
                                 .body_bytes = 136};
    unsigned char packet[192] = {0};
    struct wire_operation operation = {.opcode = WIRE_PUSH, .bytes = 120};
    wire_header_encode(&header, packet);
    wire_operation_encode(&operation, packet + WIRE_PREFIX_BYTES);
    assert_true(header.body_bytes > swif_body_bytes_max(pair.nodes[1].swif));
    swif_receive(pair.nodes[1].swif, pair.now_ns, packet, WIRE_OVERHEAD_BYTES + 136);
    assert_int_equal(swif_counters(pair.nodes[1].swif)->malformed, 1);
    assert_int_equal(swif_counters(pair.nodes[1].swif)->out_of_order, 0);
    pair_free(&pair);
}

static void rubbish_is_counted_and_forgotten(void **state)
{
    (void)state;
    make(2, NULL);
    struct base_random random = {.state = (uint64_t)time(NULL)};
    print_message("seed %llu\n", (unsigned long long)random.state);
    uint64_t bytes;
    void *before = copy_of(&pair.nodes[1], &bytes);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t length = (uint32_t)base_random_below(&random, 200);
        unsigned char *packet = malloc(length ? length : 1);
        assert_non_null(packet);
        for (uint32_t j = 0; j < length; j++) {
            packet[j] = (unsigned char)base_random_next(&random);
        }
        if (length) {
            packet[0] = WIRE_VERSION;
        }
        swif_receive(pair.nodes[1].swif, pair.now_ns, packet, length);
        free(packet);
    }
    void *after = copy_of(&pair.nodes[1], &bytes);
    assert_memory_equal(before, after, bytes);
    free(before);
    free(after);
    pair_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_configurations_work),
        cmocka_unit_test(every_stage_works_as_the_highest),
        cmocka_unit_test(a_node_alone_sends_to_itself),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(all_nodes_and_a_cacheful_of_contexts_take_64_mib),
        cmocka_unit_test(the_default_has_a_context_for_each_of_few_peers),
        cmocka_unit_test(operations_that_wait_share_a_packet),
        cmocka_unit_test(a_packet_that_was_sent_is_not_joined),
        cmocka_unit_test(cookies_channels_and_classes_do_not_mix),
        cmocka_unit_test(a_packets_replies_fit_one_packet),
        cmocka_unit_test(a_full_packet_is_followed_by_another),
        cmocka_unit_test(a_fence_closes_a_packet),
        cmocka_unit_test(an_acknowledgement_rides_with_a_reply),
        cmocka_unit_test(several_packets_share_an_acknowledgement),
        cmocka_unit_test(an_acknowledgement_waits_no_longer_than_its_delay),
        cmocka_unit_test(a_datagram_comes_at_most_once),
        cmocka_unit_test(a_datagram_goes_before_what_is_appended_after_it),
        cmocka_unit_test(a_datagram_to_a_stranger_becomes_a_greeting),
        cmocka_unit_test(datagrams_have_few_buffers_and_the_dead_get_none),
        cmocka_unit_test(a_mark_is_passed_when_all_before_it_was_carried_out),
        cmocka_unit_test(marks_do_not_wait_for_the_lost_nor_for_replies),
        cmocka_unit_test(a_mark_is_not_passed_while_the_target_refuses),
        cmocka_unit_test(another_group_is_not_heard),
        cmocka_unit_test(a_packet_changed_anywhere_changes_nothing),
        cmocka_unit_test(a_body_too_large_for_our_buffers_is_malformed),
        cmocka_unit_test(rubbish_is_counted_and_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
