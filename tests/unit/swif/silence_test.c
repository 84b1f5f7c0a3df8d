/* Time-outs without an answer, on ways that are longer than the time-outs: they are measured
 * though everything is sent again, the window does not stay small, and no path counts as narrow
 * because answers are still under way. */
#include "pair.h"

enum { WIDE_BYTES = 8972, LEAST_BYTES = 1232, FULL = 8856 / PAIR_OPERATION_BYTES };

static const uint64_t ONE_WAY_NS[] = {8 * PAIR_MS, 25 * PAIR_MS, 50 * PAIR_MS, 150 * PAIR_MS,
                                      400 * PAIR_MS};
enum { WAYS = sizeof ONE_WAY_NS / sizeof ONE_WAY_NS[0] };

static struct pair pair;

/* Times as on the fabric udp, over jumbo frames. */
static void make(uint64_t one_way_ns)
{
    struct swif_config config;
    struct swif_config usual;
    pair_config(&config, 2);
    swif_config_default(&usual, 2);
    config.rto_first_ns = usual.rto_first_ns;
    config.rto_max_ns = usual.rto_max_ns;
    config.peer_timeout_ns = 60 * PAIR_S; /* nobody watches here, so nothing is heard meanwhile */
    config.packet_bytes_max = WIDE_BYTES;
    config.path_bytes_min = LEAST_BYTES;
    pair_make(&pair, 2, &config);
    pair_acquaint(&pair);
    pair.delay_ns = one_way_ns;
}

static const struct swif_counters *counters(void)
{
    return swif_counters(pair.nodes[0].swif);
}

/* A full packet of numbers from `first` on. */
static void send_full(uint64_t first)
{
    struct wire_route route = {.target = 1, .ordered = true};
    for (uint64_t i = 0; i < FULL; i++) {
        assert_int_equal(pair_append(&pair, 0, &route, first + i), 0);
    }
}

static struct swif_peer_state state(void)
{
    struct swif_peer_state found;
    assert_true(swif_peer_state(pair.nodes[0].swif, 1, &found));
    return found;
}

/* ---- Measuring ----------------------------------------------------------------------- */

/* One packet at a time: each of the first is sent again before its answer is here. */
static void a_long_way_is_measured_by_single_packets(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        make(ONE_WAY_NS[i]);
        for (uint64_t value = 0; value < 20; value++) {
            send_full(value * FULL);
            pair_settle(&pair);
        }
        uint64_t retransmissions = counters()->retransmissions;
        assert_true(retransmissions > 0);
        assert_true(state().srtt_ns > ONE_WAY_NS[i] && state().srtt_ns < 3 * ONE_WAY_NS[i]);
        for (uint64_t value = 20; value < 40; value++) {
            send_full(value * FULL);
            pair_settle(&pair);
        }
        assert_int_equal(counters()->retransmissions, retransmissions);
        assert_int_equal(counters()->paths_narrowed, 0);
        pair_assert_numbers(&pair.nodes[1], 0, 40 * FULL);
        pair_free(&pair);
    }
}

/* The same when every fifth packet is lost, answers too. */
static void a_long_way_with_loss_is_measured(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        make(ONE_WAY_NS[i]);
        pair.loss_permille = 200;
        for (uint64_t value = 0; value < 60; value++) {
            send_full(value * FULL);
            pair_settle(&pair);
        }
        assert_true(state().srtt_ns > ONE_WAY_NS[i]);
        pair_assert_numbers(&pair.nodes[1], 0, 60 * FULL);
        assert_int_equal(pair.nodes[0].lost_count[1], 0);
        pair_free(&pair);
    }
}

/* A stream: the window grows as on a short way, by doubling. */
static void a_stream_fills_a_long_way(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        make(ONE_WAY_NS[i]);
        uint64_t value = 0;
        for (uint64_t round = 0; round < 12; round++) {
            struct wire_route route = {.target = 1, .ordered = true, .alone = true};
            while (pair_append(&pair, 0, &route, value) == 0) {
                value++;
            }
            pair_run(&pair, 2 * ONE_WAY_NS[i]);
        }
        assert_true(state().window >= 64);
        pair_settle(&pair);
        pair_assert_numbers(&pair.nodes[1], 0, (uint32_t)value);
        pair_free(&pair);
    }
}

/* ---- Paths ----------------------------------------------------------------------------- */

static uint32_t copies_lost; /* so many of the first copies of each packet */
static uint32_t copies_seen;
static uint32_t copies_of;

static bool lose_first_copies(struct pair *of, const struct pair_packet *packet)
{
    (void)of;
    if (packet->header.kind != WIRE_CD) {
        return true;
    }
    copies_seen = packet->header.sequence == copies_of ? copies_seen + 1 : 1;
    copies_of = packet->header.sequence;
    return copies_seen > copies_lost;
}

/* The first copies are lost, and short packets between them are answered while the answer to the
 * next copy is under way. */
static void copies_under_way_do_not_narrow_a_path(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        for (copies_lost = 1; copies_lost <= 2; copies_lost++) {
            make(ONE_WAY_NS[i]);
            copies_of = UINT32_MAX;
            pair.watch = lose_first_copies;
            for (uint64_t value = 0; value < 20; value++) {
                send_full(value * FULL);
                pair_settle(&pair);
            }
            assert_int_equal(counters()->paths_narrowed, 0);
            pair_assert_numbers(&pair.nodes[1], 0, 20 * FULL);
            pair_free(&pair);
        }
    }
}

/* And a long path that is narrow is found out, in a few round trips. */
static void a_long_path_that_narrows_is_found_out(void **unused)
{
    (void)unused;
    for (unsigned i = 0; i < WAYS; i++) {
        make(ONE_WAY_NS[i]);
        for (uint64_t value = 0; value < 8; value++) {
            send_full(value * FULL);
            pair_settle(&pair);
        }
        pair.width_bytes = LEAST_BYTES;
        send_full(8 * FULL);
        pair_run(&pair, 100 * PAIR_MS + 20 * ONE_WAY_NS[i]);
        pair_assert_numbers(&pair.nodes[1], 0, 9 * FULL);
        assert_int_equal(counters()->paths_narrowed, 1);
        pair_free(&pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_way_is_measured_by_single_packets),
        cmocka_unit_test(a_long_way_with_loss_is_measured),
        cmocka_unit_test(a_stream_fills_a_long_way),
        cmocka_unit_test(copies_under_way_do_not_narrow_a_path),
        cmocka_unit_test(a_long_path_that_narrows_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
