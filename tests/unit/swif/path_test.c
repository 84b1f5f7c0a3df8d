/* Paths that narrow and widen in mid-transfer: nothing is lost, everything goes on soon, and what
 * comes in pieces is put together right, whatever somebody sends. */
#include "pair.h"

enum {
    WIDE_BYTES = 8972, /* a jumbo frame's */
    LEAST_BYTES = 1232,
    OPERATIONS = 8000, /* some 20 full packets */
};

static struct pair pair;

static void config_of_jumbo(struct swif_config *config)
{
    pair_config(config, 2);
    config->packet_bytes_max = WIDE_BYTES;
    config->buffer_count[WIRE_REQUEST] = config->buffer_count[WIRE_REPLY] = 64;
    config->reorder_count = 64;
    config->path_bytes_min = LEAST_BYTES;
}

static void make(const struct swif_config *config)
{
    struct swif_config usual;
    if (!config) {
        config_of_jumbo(&usual);
        config = &usual;
    }
    pair_make(&pair, 2, config);
    pair_acquaint(&pair);
}

static const struct swif_counters *counters_of(uint16_t node)
{
    return swif_counters(pair.nodes[node].swif);
}

static uint32_t path_bytes(uint16_t from, uint16_t to)
{
    return swif_path_bytes(pair.nodes[from].swif, to);
}

/* Numbers from `first` on, in full packets as far as they can be joined; as many as there is room
 * for. */
static uint32_t send_some(enum wire_class class, uint64_t first, uint32_t count)
{
    struct wire_route route = {.target = 1, .class = class, .ordered = true};
    uint32_t sent = 0;
    while (sent < count && pair_append(&pair, 0, &route, first + sent) == 0) {
        sent++;
    }
    return sent;
}

static void send_all(enum wire_class class, uint64_t first, uint32_t count)
{
    while (count != 0) {
        uint32_t sent = send_some(class, first, count);
        first += sent;
        count -= sent;
        if (count != 0) {
            assert_true(pair_step(&pair, UINT64_MAX));
        }
    }
}

static void assert_nobody_is_lost(void)
{
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
    assert_int_equal(pair.nodes[1].lost_count[0], 0);
}

/* The path narrows so long after the start; all arrives, less than a second after that. */
static void narrow_at(enum wire_class class, uint64_t moment_ns, uint32_t width_bytes)
{
    send_all(class, 0, OPERATIONS);
    pair_run(&pair, moment_ns);
    uint64_t narrowed_ns = pair.now_ns;
    pair.width_bytes = width_bytes;
    while (pair.nodes[1].record_count < OPERATIONS) {
        assert_true(pair_step(&pair, narrowed_ns + PAIR_S));
    }
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    assert_nobody_is_lost();
}

/* ---- Narrowing ----------------------------------------------------------------------- */

static void a_path_may_narrow_at_any_moment(void **state)
{
    (void)state;
    static const uint32_t WIDTHS[] = {LEAST_BYTES, 1452, 4000, WIDE_BYTES - 200};
    uint32_t in_pieces = 0;
    for (uint64_t moment_ns = 0; moment_ns < 160 * PAIR_US; moment_ns += 2 * PAIR_US) {
        for (enum wire_class class = WIRE_REQUEST; class <= WIRE_REPLY; class ++) {
            make(NULL);
            narrow_at(class, moment_ns, WIDTHS[moment_ns / PAIR_US / 2 % 4]);
            in_pieces += counters_of(0)->pieces_sent != 0;
            pair_free(&pair);
        }
    }
    assert_true(in_pieces > 60);
}

static void every_stage_gets_through_a_path_that_has_narrowed(void **state)
{
    (void)state;
    for (enum wire_stage stage = WIRE_STOP_AND_WAIT; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        struct swif_config config;
        config_of_jumbo(&config);
        config.stage_max = stage;
        make(&config);
        narrow_at(WIRE_REQUEST, 50 * PAIR_US, LEAST_BYTES);
        assert_int_equal(path_bytes(0, 1), LEAST_BYTES);
        assert_true(counters_of(1)->pieces_received != 0);
        pair_free(&pair);
    }
}

static void a_path_that_was_never_wide_is_found_out(void **state)
{
    (void)state;
    make(NULL);
    narrow_at(WIRE_REQUEST, 0, LEAST_BYTES);
    assert_int_equal(path_bytes(0, 1), LEAST_BYTES);
    pair_free(&pair);
}

static void pieces_may_be_lost_doubled_and_overtaken(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        make(NULL);
        pair.random.state = seed;
        pair.loss_permille = 50;
        pair.double_permille = 200;
        pair.jitter_ns = 60 * PAIR_US;
        pair.width_bytes = LEAST_BYTES + (uint32_t)(seed % 3 * 500);
        send_all(WIRE_REQUEST, 0, OPERATIONS);
        pair_settle(&pair);
        pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
        assert_nobody_is_lost();
        pair_free(&pair);
    }
}

/* Where nothing but length is lost, new packets are made short enough and go whole. */
static void new_packets_fit_what_was_found(void **state)
{
    (void)state;
    make(NULL);
    narrow_at(WIRE_REQUEST, 50 * PAIR_US, 1500);
    /* The search goes on while something is sent. */
    for (uint64_t end_ns = pair.now_ns + PAIR_S; path_bytes(0, 1) == LEAST_BYTES;) {
        pair_send(&pair, 0, 1, 0);
        pair_run(&pair, 100 * PAIR_US);
        assert_true(pair.now_ns < end_ns);
    }
    pair_settle(&pair);
    assert_int_equal(path_bytes(0, 1), 1452);
    assert_int_equal(swif_body_bytes(pair.nodes[0].swif, 1), swif_body_bytes_in(1452));
    uint64_t pieces = counters_of(0)->pieces_sent;
    uint64_t losses = counters_of(0)->retransmissions;
    assert_true(pieces != 0);
    pair.nodes[1].record_count = 0;
    send_all(WIRE_REQUEST, 0, OPERATIONS);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    assert_int_equal(counters_of(0)->pieces_sent, pieces);
    assert_int_equal(counters_of(0)->retransmissions, losses);
    pair_free(&pair);
}

/* Short packets arrive all the time, so there is never silence; the long ones do not. */
static bool lose_long_requests(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    return packet->bytes <= LEAST_BYTES;
}

static void long_packets_that_vanish_among_short_ones_are_noticed(void **state)
{
    (void)state;
    struct wire_route small = {.target = 1, .channel = 1};
    make(NULL);
    small.cookie = 1;
    assert_int_equal(pair_append(&pair, 0, &small, 1000000), 0);
    pair_settle(&pair);
    pair.watch = lose_long_requests;
    send_all(WIRE_REQUEST, 0, 300);
    uint64_t end_ns = pair.now_ns + PAIR_S / 2;
    while (counters_of(0)->paths_narrowed == 0) {
        small.cookie++; /* a packet of its own */
        assert_int_equal(pair_append(&pair, 0, &small, 1000000), 0);
        pair_run(&pair, 10 * PAIR_US);
        assert_true(pair.now_ns < end_ns);
    }
    pair_settle(&pair);
    uint32_t longs = 0;
    for (uint32_t i = 0; i < pair.nodes[1].record_count; i++) {
        longs += pair.nodes[1].records[i].value < 1000000;
    }
    assert_int_equal(longs, 300);
    assert_true(counters_of(0)->timeouts <= 1);
    assert_int_equal(counters_of(0)->paths_narrowed, 1);
    pair_free(&pair);
}

/* Hosts hand packets of one moment on as one, as long as only the last one is shorter: then a
 * narrow link drops the last one, too. */
static bool lose_what_is_joined(struct pair *of, const struct pair_packet *packet)
{
    static uint64_t joined_ns;
    static uint32_t joined_bytes; /* 0: the next packet begins anew */
    bool joins = joined_bytes != 0 && joined_ns == of->now_ns && packet->bytes <= joined_bytes;
    uint32_t first_bytes = joins ? joined_bytes : packet->bytes;
    joined_ns = of->now_ns;
    joined_bytes = packet->header.source == 0 && packet->bytes == first_bytes ? first_bytes : 0;
    return packet->header.source != 0 || first_bytes <= LEAST_BYTES;
}

static void a_short_packet_behind_a_long_one_may_be_lost_with_it(void **state)
{
    (void)state;
    make(NULL);
    send_all(WIRE_REQUEST, 0, 300);
    pair_settle(&pair);
    pair.watch = lose_what_is_joined;
    send_all(WIRE_REQUEST, 300, 300);
    pair_run(&pair, PAIR_S);
    pair_assert_numbers(&pair.nodes[1], 0, 600);
    assert_int_equal(counters_of(0)->paths_narrowed, 1);
    assert_nobody_is_lost();
    pair_free(&pair);
}

/* And no data goes just behind a packet that tries whether longer ones pass. */
static void a_try_takes_no_data_with_it(void **state)
{
    (void)state;
    make(NULL);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    pair.watch = lose_what_is_joined;
    for (uint64_t value = 0; value < 400; value += 4) {
        for (uint64_t i = 0; i < 4; i++) {
            pair_send(&pair, 0, 1, value + i);
        }
        pair_run(&pair, PAIR_MS);
    }
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 400);
    assert_true(counters_of(0)->packets_sent > 400 + 3 * 3); /* each length three times */
    assert_int_equal(counters_of(0)->retransmissions, 0);
    pair_free(&pair);
}

/* Go-back-N asks for the long one again and again, so there is never silence either. */
static void a_gap_that_never_closes_is_noticed(void **state)
{
    (void)state;
    struct swif_config config;
    config_of_jumbo(&config);
    config.stage_max = WIRE_GO_BACK_N;
    make(&config);
    pair_send(&pair, 0, 1, 1000000);
    pair_settle(&pair);
    pair.width_bytes = LEAST_BYTES;
    send_all(WIRE_REQUEST, 0, 300);
    for (uint64_t value = 300; value < 310; value++) {
        pair_send(&pair, 0, 1, value);
    }
    pair_run(&pair, PAIR_S);
    assert_int_equal(pair.nodes[1].record_count, 311);
    assert_int_equal(counters_of(0)->paths_narrowed, 1);
    assert_nobody_is_lost();
    pair_free(&pair);
}

/* ---- Packets for a narrow path ----------------------------------------------------------- */

/* A receiver that has room for one reply packet has room for all replies to a request. */
static void replies_to_one_request_have_room_in_one_packet(void **state)
{
    (void)state;
    struct wire_route route = {.target = 1, .class = WIRE_REPLY};
    struct swif_config config;
    config_of_jumbo(&config);
    config.buffer_count[WIRE_REPLY] = 1;
    make(&config);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    pair.width_bytes = LEAST_BYTES;
    assert_true(swif_has_reply_room(pair.nodes[0].swif, pair.now_ns, 1));
    uint32_t count = swif_body_bytes_max(pair.nodes[0].swif) / PAIR_OPERATION_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
    }
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, count);
    pair_free(&pair);
}

/* Records of one transfer may be short first and long later; each gives its cookie back. */
static void operations_that_are_to_be_alone_share_no_packet(void **state)
{
    (void)state;
    struct wire_route route = {.target = 1, .cookie = 7, .alone = true};
    make(NULL);
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(pair_append(&pair, 0, &route, i), 0);
    }
    pair_settle(&pair);
    assert_int_equal(pair.nodes[0].cookie_count, 3);
    assert_int_equal(counters_of(1)->bodies_delivered, 3);
    pair_free(&pair);
}

/* ---- What is no narrowing ------------------------------------------------------------------ */

static void short_packets_that_vanish_do_not_narrow_a_path(void **state)
{
    (void)state;
    make(NULL);
    for (uint64_t value = 0; value < 20; value++) {
        pair_send(&pair, 0, 1, value);
    }
    pair.cut[0][1] = true;
    pair_run(&pair, 500 * PAIR_MS);
    pair.cut[0][1] = false;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, 20);
    assert_true(counters_of(0)->timeouts > 2);
    assert_int_equal(counters_of(0)->paths_narrowed, 0);
    pair_free(&pair);
}

static void a_receiver_without_room_does_not_narrow_a_path(void **state)
{
    (void)state;
    make(NULL);
    pair.nodes[1].refuse = 12;
    send_all(WIRE_REQUEST, 0, OPERATIONS);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    assert_true(pair.nodes[1].refused == 12);
    assert_int_equal(counters_of(0)->paths_narrowed, 0);
    pair_free(&pair);
}

static void an_interruption_does_not_narrow_a_path(void **state)
{
    (void)state;
    make(NULL);
    send_all(WIRE_REQUEST, 0, OPERATIONS);
    pair_run(&pair, 50 * PAIR_US);
    pair.cut[0][1] = true;
    pair_run(&pair, 300 * PAIR_MS);
    pair.cut[0][1] = false;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    assert_true(counters_of(0)->timeouts > 2);
    assert_int_equal(counters_of(0)->paths_narrowed, 0);
    assert_nobody_is_lost();
    pair_free(&pair);
}

/* Nor does a word of somebody else that it lives. */
static void a_peer_that_stands_still_does_not_narrow_a_path(void **state)
{
    (void)state;
    make(NULL);
    send_all(WIRE_REQUEST, 0, OPERATIONS);
    pair_run(&pair, 50 * PAIR_US);
    pair.nodes[1].paused = true;
    for (unsigned i = 0; i < 300; i++) {
        pair_run(&pair, PAIR_MS);
        swif_peer_lives(pair.nodes[0].swif, pair.now_ns, 1);
    }
    pair.nodes[1].paused = false;
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    assert_true(counters_of(0)->timeouts > 2);
    assert_int_equal(counters_of(0)->paths_narrowed, 0);
    assert_nobody_is_lost();
    pair_free(&pair);
}

static void paths_that_stay_wide_know_no_pieces(void **state)
{
    (void)state;
    struct swif_config config;
    config_of_jumbo(&config);
    config.path_bytes_min = 0;
    make(&config);
    send_all(WIRE_REQUEST, 0, 300);
    pair.width_bytes = LEAST_BYTES;
    pair_run(&pair, 500 * PAIR_MS);
    assert_int_equal(counters_of(0)->pieces_sent, 0);
    assert_int_equal(path_bytes(0, 1), WIDE_BYTES);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    assert_int_equal(path_bytes(0, 1), WIDE_BYTES);
    pair_free(&pair);
}

static void a_config_says_what_every_path_carries(void **state)
{
    (void)state;
    struct swif_config config;
    config_of_jumbo(&config);
    config.incarnation = 1;
    uint64_t bytes = swif_bytes(&config);
    assert_true(bytes != 0);
    config.path_bytes_min = 200; /* no piece fits */
    assert_true(swif_bytes(&config) == 0);
    config.path_bytes_min = 0;
    assert_true(swif_bytes(&config) != 0 && swif_bytes(&config) < bytes);
    config.path_bytes_min = WIDE_BYTES;
    assert_true(swif_bytes(&config) != 0 && swif_bytes(&config) < bytes);
}

/* ---- Widening ------------------------------------------------------------------------------ */

static void a_path_that_has_widened_is_found_out_while_something_is_sent(void **state)
{
    (void)state;
    make(NULL);
    narrow_at(WIRE_REQUEST, 50 * PAIR_US, LEAST_BYTES);
    assert_int_equal(path_bytes(0, 1), LEAST_BYTES);
    pair.width_bytes = 0;
    uint64_t end_ns = pair.now_ns + pair.nodes[0].config.path_again_ns + PAIR_S;
    uint64_t value = OPERATIONS;
    while (path_bytes(0, 1) != WIDE_BYTES) {
        pair_send(&pair, 0, 1, value++);
        pair_run(&pair, PAIR_MS);
        assert_true(pair.now_ns < end_ns);
    }
    pair_assert_numbers(&pair.nodes[1], 0, (uint32_t)value);
    pair_free(&pair);
}

/* Contexts of more peers than there is room for are evicted all the time. */
static void a_path_that_has_widened_is_found_out_by_contexts_that_do_not_last(void **state)
{
    (void)state;
    struct swif_config config;
    config_of_jumbo(&config);
    config.node_count = 3;
    config.ltee_count = config.ways = 1;
    pair_make(&pair, 3, &config);
    pair_acquaint(&pair);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    assert_int_equal(path_bytes(0, 1), LEAST_BYTES);
    for (uint64_t i = 0; i < 40; i++) {
        pair_send(&pair, 0, 1, i);
        pair_settle(&pair);
        pair_send(&pair, 0, 2, i);
        pair_settle(&pair);
    }
    assert_true(counters_of(0)->ltee_evictions > 70);
    assert_int_equal(path_bytes(0, 1), WIDE_BYTES);
    pair_free(&pair);
}

static uint32_t tries;

static bool count_tries(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    tries += packet->header.kind == WIRE_CONTROL && packet->header.body_bytes != 0 &&
             packet->body[0] == WIRE_PATH;
    return true;
}

static void a_narrow_path_is_tried_seldom_and_only_by_who_sends(void **state)
{
    (void)state;
    make(NULL);
    narrow_at(WIRE_REQUEST, 50 * PAIR_US, LEAST_BYTES);
    tries = 0;
    pair.watch = count_tries;
    pair_run(&pair, 60 * PAIR_S);
    assert_int_equal(tries, 0);
    /* A minute of sending, six searches. */
    for (uint64_t i = 0; i < 6000; i++) {
        pair_send(&pair, 0, 1, OPERATIONS + i);
        pair_run(&pair, 10 * PAIR_MS);
    }
    assert_true(tries > 0 && tries <= 7 * 3 * SWIF_PATH_STEPS);
    pair_free(&pair);
}

/* ---- What a host says ------------------------------------------------------------------------ */

static void what_this_host_cannot_send_goes_in_pieces_at_once(void **state)
{
    (void)state;
    make(NULL);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES + 1);
    assert_int_equal(path_bytes(0, 1), WIDE_BYTES);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    assert_int_equal(path_bytes(0, 1), LEAST_BYTES);
    /* What only tried the path changes nothing. */
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    assert_int_equal(counters_of(0)->paths_narrowed, 1);
    pair.width_bytes = LEAST_BYTES;
    send_all(WIRE_REQUEST, 0, OPERATIONS);
    pair_settle(&pair);
    pair_assert_numbers(&pair.nodes[1], 0, OPERATIONS);
    assert_int_equal(counters_of(0)->timeouts, 0);
    pair_free(&pair);
}

/* ---- Hostile packets ------------------------------------------------------------------------- */

/* The answer to a packet that tried the path, as it was recorded. */
static struct {
    unsigned char packet[256];
    uint32_t bytes;
} answer;

static bool record_answer(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    if (packet->header.kind == WIRE_CONTROL && packet->header.body_bytes != 0 &&
        packet->body[0] == WIRE_PATH_CARRIES) {
        memcpy(answer.packet, packet->packet, packet->bytes);
        answer.bytes = packet->bytes;
    }
    return true;
}

static void an_old_answer_widens_nothing(void **state)
{
    (void)state;
    make(NULL);
    answer.bytes = 0;
    pair.watch = record_answer;
    send_all(WIRE_REQUEST, 0, OPERATIONS);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    pair_settle(&pair);
    assert_int_equal(path_bytes(0, 1), WIDE_BYTES);
    assert_true(answer.bytes != 0);
    swif_path_refused(pair.nodes[0].swif, pair.now_ns, 1, WIDE_BYTES);
    swif_receive(pair.nodes[0].swif, pair.now_ns, answer.packet, answer.bytes);
    assert_int_equal(path_bytes(0, 1), LEAST_BYTES);
    pair_free(&pair);
}

static uint64_t forged_counter;

/* A piece from node 0 to node 1. Its data are stores of 1, 2, 3, ..., whole from the start of the
 * body on. */
static void forge(uint32_t sequence, uint16_t offset, uint16_t bytes, uint16_t whole_bytes)
{
    static unsigned char body[WIRE_PACKET_BYTES_MAX];
    unsigned char packet[WIRE_PACKET_BYTES_MAX];
    for (uint32_t at = 0; at + PAIR_OPERATION_BYTES <= sizeof body; at += PAIR_OPERATION_BYTES) {
        struct wire_operation operation = {
            .opcode = WIRE_AOTF, .bytes = 8, .operand = at / PAIR_OPERATION_BYTES};
        wire_operation_encode(&operation, body + at);
    }
    struct wire_header header = {.kind = WIRE_PIECE,
                                 .source = 0,
                                 .target = 1,
                                 .pgid = PAIR_PGID,
                                 .source_incarnation = 1,
                                 .target_incarnation = 1,
                                 .sequence = sequence,
                                 .body_bytes = (uint16_t)(WIRE_PIECE_BYTES + bytes),
                                 .counter = ++forged_counter};
    wire_header_encode(&header, packet);
    unsigned char *to = packet + WIRE_PREFIX_BYTES;
    wire_put16(to, offset);
    wire_put16(to + 2, whole_bytes);
    wire_put32(to + 4, 0);
    memcpy(to + WIRE_PIECE_BYTES, body + offset, bytes);
    memset(to + WIRE_PIECE_BYTES + bytes, 0, WIRE_TAG_BYTES);
    swif_receive(pair.nodes[1].swif, pair.now_ns, packet,
                 (uint32_t)WIRE_OVERHEAD_BYTES + header.body_bytes);
}

enum { WHOLE = 3072, COUNT = WHOLE / PAIR_OPERATION_BYTES };

static void make_hostile(void)
{
    make(NULL);
    forged_counter = 0;
}

static void pieces_in_any_order_make_the_packet_once(void **state)
{
    (void)state;
    static const uint16_t ORDERS[][3] = {{0, 1024, 2048}, {2048, 1024, 0}, {1024, 2048, 0}};
    for (unsigned i = 0; i < 3; i++) {
        make_hostile();
        for (unsigned piece = 0; piece < 3; piece++) {
            pair_assert_numbers(&pair.nodes[1], 0, 0);
            forge(0, ORDERS[i][piece], 1024, WHOLE);
            forge(0, ORDERS[i][piece], 1024, WHOLE);
        }
        pair_assert_numbers(&pair.nodes[1], 0, COUNT);
        for (unsigned piece = 0; piece < 3; piece++) {
            forge(0, ORDERS[i][piece], 1024, WHOLE);
        }
        pair_assert_numbers(&pair.nodes[1], 0, COUNT);
        assert_int_equal(counters_of(1)->bodies_delivered, 1);
        assert_int_equal(counters_of(1)->malformed, 0);
        assert_true(counters_of(1)->duplicates > 0);
        pair_free(&pair);
    }
}

static void pieces_of_other_lengths_may_overlap(void **state)
{
    (void)state;
    make_hostile();
    forge(0, 0, 2048, WHOLE);
    forge(0, 1024, 1024, WHOLE);
    forge(0, 1920, 256, WHOLE);
    pair_assert_numbers(&pair.nodes[1], 0, 0);
    forge(0, 2176, WHOLE - 2176, WHOLE);
    pair_assert_numbers(&pair.nodes[1], 0, COUNT);
    pair_free(&pair);
}

static void pieces_of_two_packets_do_not_mix(void **state)
{
    (void)state;
    make_hostile();
    forge(0, 0, 1024, WHOLE);
    forge(1, 1024, 1024, WHOLE);
    forge(0, 2048, 1024, WHOLE);
    forge(2, 1024, 1024, WHOLE);
    pair_assert_numbers(&pair.nodes[1], 0, 0);
    forge(0, 1024, 1024, WHOLE);
    pair_assert_numbers(&pair.nodes[1], 0, COUNT);
    pair_free(&pair);
}

static void a_whole_that_changes_is_not_believed(void **state)
{
    (void)state;
    make_hostile();
    forge(0, 0, 1024, WHOLE);
    forge(0, 1024, 1024, WHOLE - 1024);
    forge(0, 1024, 1024, WHOLE + 1024);
    assert_int_equal(counters_of(1)->malformed, 2);
    pair_assert_numbers(&pair.nodes[1], 0, 0);
    forge(0, 1024, 1024, WHOLE);
    forge(0, 2048, 1024, WHOLE);
    pair_assert_numbers(&pair.nodes[1], 0, COUNT);
    pair_free(&pair);
}

static void pieces_of_a_body_that_no_packet_has_are_refused(void **state)
{
    (void)state;
    make_hostile();
    uint16_t longest = (uint16_t)swif_body_bytes_max(pair.nodes[1].swif);
    forge(0, 0, 1024, (uint16_t)(longest + 8));
    forge(0, 8192, 128, (uint16_t)(longest + 8));
    forge(0, 2048, 1032, WHOLE);
    forge(0, 3072, 128, WHOLE);
    forge(0, 64, 128, WHOLE);
    forge(0, 0, WHOLE, WHOLE);
    assert_int_equal(counters_of(1)->malformed, 6);
    /* It ends in the midst of an operation. */
    forge(0, 0, 1024, 1040);
    forge(0, 1024, 16, 1040);
    assert_int_equal(counters_of(1)->malformed, 7);
    pair_assert_numbers(&pair.nodes[1], 0, 0);
    pair_free(&pair);
}

/* First pieces of many packets take all places; the packet that counts comes all the same. */
static void places_in_which_nothing_happens_are_given_away(void **state)
{
    (void)state;
    make_hostile();
    for (uint32_t sequence = 1; sequence <= SWIF_ASSEMBLIES; sequence++) {
        forge(sequence, 0, 1024, WHOLE);
    }
    forge(0, 0, 1024, WHOLE);
    assert_int_equal(counters_of(1)->pieces_dropped, 1);
    forge(SWIF_ASSEMBLIES, 1024, 1024, WHOLE);
    assert_int_equal(counters_of(1)->pieces_dropped, 1);
    pair.now_ns += 2 * pair.nodes[1].config.rto_max_ns;
    for (uint16_t offset = 0; offset < WHOLE; offset += 1024) {
        forge(0, offset, 1024, WHOLE);
    }
    assert_int_equal(counters_of(1)->pieces_dropped, 1);
    pair_assert_numbers(&pair.nodes[1], 0, COUNT);
    pair_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_may_narrow_at_any_moment),
        cmocka_unit_test(every_stage_gets_through_a_path_that_has_narrowed),
        cmocka_unit_test(a_path_that_was_never_wide_is_found_out),
        cmocka_unit_test(pieces_may_be_lost_doubled_and_overtaken),
        cmocka_unit_test(new_packets_fit_what_was_found),
        cmocka_unit_test(long_packets_that_vanish_among_short_ones_are_noticed),
        cmocka_unit_test(a_short_packet_behind_a_long_one_may_be_lost_with_it),
        cmocka_unit_test(a_try_takes_no_data_with_it),
        cmocka_unit_test(a_gap_that_never_closes_is_noticed),
        cmocka_unit_test(replies_to_one_request_have_room_in_one_packet),
        cmocka_unit_test(operations_that_are_to_be_alone_share_no_packet),
        cmocka_unit_test(short_packets_that_vanish_do_not_narrow_a_path),
        cmocka_unit_test(a_receiver_without_room_does_not_narrow_a_path),
        cmocka_unit_test(an_interruption_does_not_narrow_a_path),
        cmocka_unit_test(a_peer_that_stands_still_does_not_narrow_a_path),
        cmocka_unit_test(paths_that_stay_wide_know_no_pieces),
        cmocka_unit_test(a_config_says_what_every_path_carries),
        cmocka_unit_test(a_path_that_has_widened_is_found_out_while_something_is_sent),
        cmocka_unit_test(a_path_that_has_widened_is_found_out_by_contexts_that_do_not_last),
        cmocka_unit_test(a_narrow_path_is_tried_seldom_and_only_by_who_sends),
        cmocka_unit_test(what_this_host_cannot_send_goes_in_pieces_at_once),
        cmocka_unit_test(an_old_answer_widens_nothing),
        cmocka_unit_test(pieces_in_any_order_make_the_packet_once),
        cmocka_unit_test(pieces_of_other_lengths_may_overlap),
        cmocka_unit_test(pieces_of_two_packets_do_not_mix),
        cmocka_unit_test(a_whole_that_changes_is_not_believed),
        cmocka_unit_test(pieces_of_a_body_that_no_packet_has_are_refused),
        cmocka_unit_test(places_in_which_nothing_happens_are_given_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
