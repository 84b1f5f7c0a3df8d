/* What somebody without the key can do with packets that he recorded: send them again, as often and
 * whenever he likes, or hold them back. */
#include "pair.h"

enum { CAUGHT_MAX = 4096 };

static struct pair pair;

/* Copies of all that was ever sent. */
static struct {
    unsigned char *packet[CAUGHT_MAX];
    uint32_t bytes[CAUGHT_MAX];
    uint16_t target[CAUGHT_MAX];
    bool refusal[CAUGHT_MAX]; /* an acknowledgement aboard says so */
    uint32_t count;
} caught;

static bool catch (struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    uint32_t at = caught.count;
    if (at < CAUGHT_MAX) {
        caught.packet[at] = malloc(packet->bytes);
        assert_non_null(caught.packet[at]);
        memcpy(caught.packet[at], packet->packet, packet->bytes);
        caught.bytes[at] = packet->bytes;
        caught.target[at] = packet->header.target;
        caught.refusal[at] = packet->ack_count && packet->acks[0].refused;
        caught.count++;
    }
    return true;
}

static void make(uint32_t count, const struct swif_config *config)
{
    pair_make(&pair, count, config);
    pair_acquaint(&pair);
    caught.count = 0;
    pair.watch = catch;
}

static void end(void)
{
    for (uint32_t i = 0; i < caught.count; i++) {
        free(caught.packet[i]);
    }
    pair_free(&pair);
}

/* Hands a recorded packet to its target, as it was. */
static void replay(uint32_t i)
{
    unsigned char packet[WIRE_PACKET_BYTES_MAX];
    memcpy(packet, caught.packet[i], caught.bytes[i]);
    swif_receive(pair.nodes[caught.target[i]].swif, pair.now_ns, packet, caught.bytes[i]);
}

static uint64_t all_sent(void)
{
    uint64_t sent = 0;
    for (uint32_t i = 0; i < pair.count; i++) {
        sent += swif_counters(pair.nodes[i].swif)->packets_sent;
    }
    return sent;
}

/* Every recorded packet comes again, several times in turn: nobody does or says anything. */
static void assert_replays_do_nothing(void)
{
    uint32_t records[PAIR_NODES_MAX];
    uint64_t sent = all_sent();
    for (uint32_t i = 0; i < pair.count; i++) {
        records[i] = pair.nodes[i].record_count;
    }
    for (uint32_t i = 0; i < 3 * caught.count; i++) {
        replay(i * 7919 % caught.count);
        pair_call_all(&pair);
    }
    assert_int_equal(all_sent(), sent);
    for (uint32_t i = 0; i < pair.count; i++) {
        assert_int_equal(pair.nodes[i].record_count, records[i]);
    }
}

/* Data of both classes, acknowledgements, greetings, probes and datagrams. */
static void say_everything(void)
{
    struct wire_route reply = {.target = 1, .class = WIRE_REPLY};
    for (uint64_t i = 0; i < 20; i++) {
        pair_send(&pair, 0, 1, i);
        pair_send(&pair, 1, 0, i);
        assert_int_equal(pair_append(&pair, 0, &reply, i), 0);
        assert_int_equal(pair_datagram(&pair, 0, 1, i), 0);
        pair_run(&pair, PAIR_MS);
    }
    swif_note_control(pair.nodes[0].swif, 1, WIRE_HELLO, 0);
    swif_note_control(pair.nodes[1].swif, 0, WIRE_PROBE, 1);
    pair_settle(&pair);
}

static void nothing_recorded_is_carried_out_or_answered(void **state)
{
    (void)state;
    for (unsigned stage = WIRE_STOP_AND_WAIT; stage <= WIRE_SELECTIVE_REPEAT; stage++) {
        struct swif_config config;
        pair_config(&config, 2);
        config.stage_max = (enum wire_stage)stage;
        make(2, &config);
        say_everything();
        assert_true(caught.count > 60 && caught.count < CAUGHT_MAX);
        assert_replays_do_nothing();
        end();
    }
}

/* The dead are told so when they speak, but not because somebody repeats what they said. */
static void nothing_recorded_of_the_dead_is_answered(void **state)
{
    (void)state;
    make(2, NULL);
    say_everything();
    swif_peer_died(pair.nodes[0].swif, pair.now_ns, 1, 1);
    swif_peer_died(pair.nodes[1].swif, pair.now_ns, 0, 1);
    assert_replays_do_nothing();
    end();
}

/* More peers than there are contexts and windows: the stubs remember enough. */
static void nothing_recorded_is_believed_after_an_eviction(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 6);
    config.ltee_count = config.rtee_count = config.ways = 1;
    make(6, &config);
    for (uint64_t round = 0; round < 20; round++) {
        for (uint16_t from = 1; from < 6; from++) {
            pair_send(&pair, from, 0, round);
            assert_int_equal(pair_datagram(&pair, from, 0, round), 0);
        }
        pair_settle(&pair);
    }
    assert_true(caught.count > 200 && caught.count < CAUGHT_MAX);
    assert_replays_do_nothing();
    end();
}

/* A receiver refused a packet once, for want of room. Its word of that comes again and again. */
static void a_repeated_refusal_does_not_starve_the_sender(void **state)
{
    (void)state;
    make(2, NULL);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    pair.nodes[1].refuse = 1;
    pair_send(&pair, 0, 1, 1);
    while (caught.count == 0 || !caught.refusal[caught.count - 1]) {
        assert_true(pair_step(&pair, pair.now_ns + PAIR_S));
    }
    uint32_t refusal = caught.count - 1;
    for (uint64_t i = 0; i < 2000; i++) {
        pair_fly(&pair, pair.now_ns + pair.delay_ns + i * 50 * PAIR_US, 0, caught.packet[refusal],
                 caught.bytes[refusal]);
    }
    pair_run(&pair, 50 * PAIR_MS);
    pair_assert_numbers(&pair.nodes[1], 0, 2);
    assert_int_equal(pair.nodes[0].cookie_count, 2);
    pair_settle(&pair);
    end();
}

/* ---- Acknowledgements that others have overtaken ------------------------------------------- */

/* Hands node 0 an acknowledgement of node 1 with this counter. */
static void acknowledge(const struct wire_ack *ack, uint64_t counter)
{
    unsigned char packet[256] = {0};
    struct wire_header header = {.kind = WIRE_CONTROL,
                                 .source = 1,
                                 .target = 0,
                                 .pgid = PAIR_PGID,
                                 .source_incarnation = 1,
                                 .target_incarnation = 1,
                                 .counter = counter};
    header.ack_bytes = (uint16_t)wire_ack_encode(ack, packet + WIRE_PREFIX_BYTES);
    wire_header_encode(&header, packet);
    swif_receive(pair.nodes[0].swif, pair.now_ns, packet,
                 WIRE_OVERHEAD_BYTES + (uint32_t)header.ack_bytes);
}

static struct swif_ltee *ltee(void)
{
    struct swif_ltee *found = swif_ltee_find(pair.nodes[0].swif, 1, WIRE_REQUEST);
    assert_non_null(found);
    return found;
}

/* Node 0 has sent numbers up to 9, and node 1 has said nothing since the first. */
static void make_sender(void)
{
    make(2, NULL);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    pair.cut[0][1] = true;
    for (uint64_t i = 1; i < 10; i++) {
        pair_send(&pair, 0, 1, i);
    }
    pair_call(&pair, 0);
    assert_int_equal(ltee()->under_way, 9);
    assert_int_equal(ltee()->stage, WIRE_SELECTIVE_REPEAT);
}

static struct wire_ack ack_of(uint32_t next)
{
    return (struct wire_ack){.stage = WIRE_SELECTIVE_REPEAT,
                             .window = 100,
                             .next = next,
                             .echo = (uint32_t)pair.nodes[0].swif->counter - 8};
}

static void complaints_count_while_they_are_the_newest_word(void **state)
{
    (void)state;
    make_sender();
    uint64_t counter = pair.nodes[1].swif->counter + 10;
    struct wire_ack refusal = ack_of(ltee()->oldest);
    refusal.refused = true;
    acknowledge(&refusal, counter);
    assert_int_equal(ltee()->refusals, 1);
    assert_true(ltee()->congestion.pace_ns > pair.now_ns);
    struct wire_ack gap = ack_of(ltee()->oldest);
    gap.gap = true;
    gap.stage = WIRE_STOP_AND_WAIT;
    acknowledge(&gap, counter + 1);
    assert_int_equal(ltee()->lost_count, 9);
    assert_int_equal(ltee()->stage, WIRE_STOP_AND_WAIT);
    end();
}

static void complaints_that_were_overtaken_do_not_count(void **state)
{
    (void)state;
    make_sender();
    uint64_t counter = pair.nodes[1].swif->counter + 10;
    struct wire_ack newest = ack_of(ltee()->oldest);
    acknowledge(&newest, counter);
    uint64_t pace_ns = ltee()->congestion.pace_ns;
    for (uint64_t i = 1; i <= 5; i++) {
        struct wire_ack old = ack_of(ltee()->oldest);
        old.refused = true;
        old.gap = i % 2;
        old.stage = WIRE_STOP_AND_WAIT;
        old.window = 1;
        acknowledge(&old, counter - i);
    }
    assert_int_equal(ltee()->refusals, 0);
    assert_int_equal(ltee()->lost_count, 0);
    assert_int_equal(ltee()->under_way, 9);
    assert_int_equal(ltee()->congestion.pace_ns, pace_ns);
    assert_int_equal(ltee()->stage, WIRE_SELECTIVE_REPEAT);
    assert_int_equal(ltee()->granted, 100);
    /* But what it says has been carried out has been. */
    struct wire_ack progress = ack_of(ltee()->oldest + 4);
    acknowledge(&progress, counter - 6);
    assert_int_equal(ltee()->under_way, 5);
    assert_int_equal(pair.nodes[0].cookie_count, 5);
    end();
}

/* A context begins anew with every eviction; what came before that is not news to it. */
static void a_new_context_does_not_believe_old_complaints(void **state)
{
    (void)state;
    make_sender();
    uint64_t counter = pair.nodes[1].swif->counter + 10;
    struct wire_ack all = ack_of(ltee()->unsent);
    acknowledge(&all, counter);
    swif_sender_forget(pair.nodes[0].swif, 1);
    pair_send(&pair, 0, 1, 10);
    pair_call(&pair, 0);
    struct wire_ack old = ack_of(ltee()->oldest);
    old.refused = true;
    acknowledge(&old, counter - 1);
    assert_int_equal(ltee()->refusals, 0);
    acknowledge(&old, counter + 1);
    assert_int_equal(ltee()->refusals, 1);
    end();
}

/* What was dropped behind a gap may have come again before the word of the gap goes out. The word
 * is about no packet then, and touches none: places of packets that are gone belong to others. */
static void a_gap_that_has_closed_is_no_complaint(void **state)
{
    (void)state;
    make_sender();
    struct swif *swif = pair.nodes[0].swif;
    struct wire_ack all = ack_of(ltee()->unsent);
    all.gap = true;
    acknowledge(&all, pair.nodes[1].swif->counter + 10);
    assert_int_equal(pair.nodes[0].cookie_count, 10);
    for (uint32_t i = 0; i < swif->config.buffer_count[WIRE_REQUEST]; i++) {
        assert_int_equal(swif_buffer(&swif->pools[WIRE_REQUEST], i)->overtaken, 0);
    }
    end();
}

/* ---- Packets that come late ---------------------------------------------------------------- */

/* Number 1 is held back while this many others pass; then it comes. */
static void hold_back(uint64_t others, bool is_taken)
{
    make(2, NULL);
    pair_send(&pair, 0, 1, 0);
    pair_settle(&pair);
    pair.cut[0][1] = true;
    assert_int_equal(pair_datagram(&pair, 0, 1, 1), 0);
    pair_call(&pair, 0);
    pair.cut[0][1] = false;
    uint32_t late = caught.count - 1;
    pair.nodes[0].swif->counter += others;
    pair_send(&pair, 0, 1, 2);
    pair_settle(&pair);
    replay(late);
    replay(late);
    assert_int_equal(pair.nodes[1].record_count, is_taken ? 3 : 2);
    end();
}

static void a_late_packet_is_taken_once_if_it_is_not_too_late(void **state)
{
    (void)state;
    hold_back(1, true);
    hold_back(30, true);
    hold_back(1024, true);
    hold_back(UINT64_C(1) << 20, false);
    hold_back(UINT64_C(1) << 40, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_recorded_is_carried_out_or_answered),
        cmocka_unit_test(nothing_recorded_of_the_dead_is_answered),
        cmocka_unit_test(nothing_recorded_is_believed_after_an_eviction),
        cmocka_unit_test(a_repeated_refusal_does_not_starve_the_sender),
        cmocka_unit_test(complaints_count_while_they_are_the_newest_word),
        cmocka_unit_test(complaints_that_were_overtaken_do_not_count),
        cmocka_unit_test(a_new_context_does_not_believe_old_complaints),
        cmocka_unit_test(a_gap_that_has_closed_is_no_complaint),
        cmocka_unit_test(a_late_packet_is_taken_once_if_it_is_not_too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
