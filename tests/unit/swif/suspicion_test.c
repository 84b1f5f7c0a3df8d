/* Peers that are suspected before they are lost: somebody else may decide meanwhile. */
#include "pair.h"

static struct pair pair;

static struct swif *swif_of(uint16_t node)
{
    return pair.nodes[node].swif;
}

static uint64_t time_out_ns(void)
{
    return pair.nodes[0].config.peer_timeout_ns;
}

/* Runs until node 0 has lost node 1, gives how long that took. */
static uint64_t time_to_loss_ns(void)
{
    uint64_t begin_ns = pair.now_ns;
    while (pair.nodes[0].lost_count[1] == 0) {
        assert_true(pair_step(&pair, begin_ns + 100 * time_out_ns()));
    }
    return pair.now_ns - begin_ns;
}

/* Node 0 suspects node 1, by a watch or because something is under way to it. */
static void make_suspicious(bool watched)
{
    struct swif_config config;
    pair_config(&config, 2);
    config.verdict_ns = 4 * config.peer_timeout_ns;
    pair_make(&pair, 2, &config);
    pair_acquaint(&pair);
    if (watched) {
        assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
        pair_run(&pair, 10 * time_out_ns());
        assert_int_equal(pair.nodes[0].suspected_count[1], 0);
    }
    pair.cut[0][1] = pair.cut[1][0] = true;
    if (!watched) {
        pair_send(&pair, 0, 1, 0);
    }
    uint64_t begin_ns = pair.now_ns;
    while (pair.nodes[0].suspected_count[1] == 0) {
        assert_true(pair_step(&pair, begin_ns + 2 * time_out_ns()));
    }
    /* Nodes do not differ much in when they notice it: group_life_hearing_ns. */
    assert_in_range(pair.now_ns - begin_ns, time_out_ns() - time_out_ns() / 16,
                    time_out_ns() + time_out_ns() / 8);
    assert_int_equal(pair.nodes[0].lost_count[1], 0);
}

static void without_a_verdict_a_suspected_peer_is_lost_later(void **state)
{
    (void)state;
    for (uint32_t watched = 0; watched < 2; watched++) {
        make_suspicious(watched);
        uint64_t took_ns = time_to_loss_ns();
        assert_in_range(took_ns, 4 * time_out_ns() - time_out_ns() / 8, 5 * time_out_ns());
        assert_int_equal(pair.nodes[0].suspected_count[1], 1);
        pair_free(&pair);
    }
}

static void a_suspected_peer_may_come_back(void **state)
{
    (void)state;
    for (uint32_t watched = 0; watched < 2; watched++) {
        make_suspicious(watched);
        pair.cut[0][1] = pair.cut[1][0] = false;
        pair_run(&pair, 20 * time_out_ns());
        assert_int_equal(pair.nodes[0].lost_count[1], 0);
        assert_int_equal(pair.nodes[0].suspected_count[1], 1);
        pair_send(&pair, 0, 1, 1);
        pair_free(&pair);
    }
}

static void a_verdict_ends_a_suspicion(void **state)
{
    (void)state;
    make_suspicious(true);
    swif_peer_died(swif_of(0), pair.now_ns, 1, 1);
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    pair_run(&pair, 20 * time_out_ns());
    assert_int_equal(pair.nodes[0].lost_count[1], 1);
    assert_int_equal(pair.nodes[0].suspected_count[1], 1);
    pair_free(&pair);
}

static void a_suspicion_that_nobody_took_is_said_again(void **state)
{
    (void)state;
    struct swif_config config;
    pair_config(&config, 2);
    config.verdict_ns = 4 * config.peer_timeout_ns;
    pair_make(&pair, 2, &config);
    pair_acquaint(&pair);
    pair.nodes[0].deaf = 5;
    assert_int_equal(swif_watch(swif_of(0), pair.now_ns, 1), 0);
    pair_crash(&pair, 1);
    (void)time_to_loss_ns();
    assert_int_equal(pair.nodes[0].suspected_count[1], 6);
    pair_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_verdict_a_suspected_peer_is_lost_later),
        cmocka_unit_test(a_suspected_peer_may_come_back),
        cmocka_unit_test(a_verdict_ends_a_suspicion),
        cmocka_unit_test(a_suspicion_that_nobody_took_is_said_again),
    };
    return cmocka_run_group_tests_name("swif/suspicion", tests, NULL, NULL);
}
