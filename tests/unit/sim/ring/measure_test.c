/* Measuring: counted latencies, outcomes, and saturation beside the bound. */
#include "unit/unit.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "sim/ring/bound.h"
#include "sim/latency.h"
#include "sim/ring/measure.h"

static void start(struct net_experiment *experiment, uint32_t nodes)
{
    *experiment = (struct net_experiment){0};
    net_config_default(&experiment->network, nodes);
    net_traffic_config_default(&experiment->traffic);
    net_measure_config_default(&experiment->measure, nodes);
}

static void measure(const struct net_experiment *experiment, double rate, struct net_result *result)
{
    char error[NET_ERROR_BYTES] = "";
    bool good = net_measure(experiment, rate, NULL, result, error);
    assert_string_equal(error, "");
    assert_true(good);
}

/* ---- Counting ----------------------------------------------------------------------------- */

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one;
    uint64_t b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

static void percentiles_are_those_of_the_sorted_list(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static struct sim_latency latency;
    static uint64_t list[COUNT];
    static const double shares[] = {0.0001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    struct base_random random = {7};
    double sum = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        /* From single cycles to billions. */
        list[i] = base_random_next(&random) >> (28 + base_random_below(&random, 34));
        sim_latency_add(&latency, list[i]);
        sum += (double)list[i];
    }
    qsort(list, COUNT, sizeof list[0], compare);
    for (unsigned i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        uint64_t exact = list[(unsigned)(shares[i] * COUNT - 0.001)];
        uint64_t found = sim_latency_at(&latency, shares[i]);
        assert_true(found >= exact && found - exact <= exact / 2048);
        assert_true(exact >= 4096 || found == exact);
    }
    assert_int_equal(latency.most, list[COUNT - 1]);
    assert_int_equal(sim_latency_at(&latency, 1), latency.most);
    assert_true(fabs(sim_latency_mean(&latency) - sum / COUNT) < 1e-6 * sum / COUNT);
}

static void no_latency_is_no_number(void **state)
{
    (void)state;
    static struct sim_latency latency;
    assert_true(isnan(sim_latency_mean(&latency)));
    assert_int_equal(sim_latency_at(&latency, 0.5), 0);
    sim_latency_add(&latency, UINT64_MAX);
    assert_true(sim_latency_at(&latency, 0.5) == UINT64_MAX);
}

/* ---- Runs --------------------------------------------------------------------------------- */

static void hardly_any_load_takes_what_an_empty_net_takes(void **state)
{
    (void)state;
    struct net_experiment experiment;
    struct net_result result;
    start(&experiment, 8);
    experiment.traffic.pattern = NET_NEIGHBOUR;
    measure(&experiment, 0.001, &result);
    assert_int_equal(result.outcome, NET_STEADY);
    uint64_t alone = net_zero_load_cycles(&experiment.network, 0, 1, experiment.traffic.flits);
    assert_int_equal(result.p50, alone);
    assert_true(result.mean >= (double)alone && result.mean < (double)alone + 1);
    assert_true(result.hops_mean == 2);
    assert_true(result.packets > 10);
    net_result_free(&result);
}

static void what_is_offered_is_accepted_below_saturation(void **state)
{
    (void)state;
    struct net_experiment experiment;
    struct net_result result;
    start(&experiment, 8);
    measure(&experiment, 0.25, &result);
    assert_int_equal(result.outcome, NET_STEADY);
    assert_true(fabs(result.offered - 0.25) < 0.02);
    assert_true(fabs(result.accepted - result.offered) < 0.01);
    assert_true(result.p50 <= result.p90 && result.p90 <= result.p99);
    assert_true(result.p99 <= result.p999 && result.p999 <= result.most);
    assert_int_equal(result.link_count, 16);
    double sum = 0;
    for (uint32_t i = 0; i < result.link_count; i++) {
        assert_true(result.links[i].use <= result.hottest.use);
        sum += result.links[i].use;
    }
    /* Each flit takes hops - 1 links. */
    assert_true(fabs(sum / 8 - result.accepted * (result.hops_mean - 1)) < 0.02);
    assert_int_equal(result.own_ns, 0);
    net_result_free(&result);
}

static void runs_repeat(void **state)
{
    (void)state;
    struct net_experiment experiment;
    struct net_result first, second;
    start(&experiment, 16);
    measure(&experiment, 0.2, &first);
    measure(&experiment, 0.2, &second);
    net_result_free(&first);
    net_result_free(&second);
    assert_memory_equal(&first, &second, sizeof first);
}

static void too_much_is_called_saturated(void **state)
{
    (void)state;
    struct net_experiment experiment;
    struct net_result result;
    start(&experiment, 32);
    measure(&experiment, 0.8, &result);
    assert_int_equal(result.outcome, NET_SATURATED);
    assert_true(result.hottest.use > 0.95);
    assert_true(result.backlog_flits > 10000);
    assert_true(result.accepted < 0.25);
    net_result_free(&result);
}

static void a_deadlock_is_named(void **state)
{
    (void)state;
    struct net_experiment experiment;
    struct net_result result;
    start(&experiment, 8);
    experiment.network.routing = NET_BROKEN;
    experiment.network.patience_cycles = 0;
    net_config_swif(&experiment.network, NET_SW2A); /* NICs that can fill the ring */
    experiment.traffic.flits = 16;
    measure(&experiment, 0.9, &result);
    assert_int_equal(result.outcome, NET_DEADLOCKED);
    assert_true(result.counters.cycles <= 62500);
    assert_non_null(strstr(result.circle, " waits for router "));
    net_result_free(&result);
}

/* ---- Saturation --------------------------------------------------------------------------- */

static void the_bound_is_what_the_paper_and_pencil_say(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes;
        double channel;
    } rings[] = {{8, 0.875}, {16, 0.46875}, {64, 0.123046875}, {5, 4.0 / 3}};
    for (unsigned i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        struct net_experiment experiment;
        struct net_bound bound;
        start(&experiment, rings[i].nodes);
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(fabs(bound.channel - rings[i].channel) < 1e-9);
        /* 12 lines of 8 flits take 24 cycles of the port, each way. */
        assert_true(fabs(bound.port - 1.0 / 3) < 1e-9);
        double least = rings[i].channel < 1.0 / 3 ? rings[i].channel : 1.0 / 3;
        assert_true(fabs(bound.rate - least) < 1e-9);
        /* Of 17 cycles a frame of 16 flits takes one for itself. */
        experiment.network.bit_error_rate = 1e-9;
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(fabs(bound.frame - 16.0 / 17) < 1e-9);
        least = rings[i].channel * 16 / 17 < 1.0 / 3 ? rings[i].channel * 16 / 17 : 1.0 / 3;
        assert_true(fabs(bound.rate - least) < 1e-9);
        experiment.network.bit_error_rate = 0;
        /* A port that is no bottleneck leaves what the links carry, and a flit in a cycle. */
        net_config_swif(&experiment.network, NET_SW2A);
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(rings[i].nodes == 5 ? bound.rate <= 1 : bound.rate == bound.channel);
        /* A channel of 12 places cannot keep a link busy if a credit takes 36 cycles to go round;
         * the other one helps with half of the packets that leave the ring. */
        double leaving = rings[i].channel / 2;
        experiment.traffic.networks = 1;
        experiment.network.buffer_flits = 12;
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(fabs(bound.credit - 12.0 / 36 / (1 - leaving / 2)) < 1e-9);
        experiment.traffic.pattern = NET_NEIGHBOUR;
        assert_false(net_bound_get(&experiment, &bound));
    }
}

/* The bar: within 5 % of the bound. tests/live/sim/sim_net.sh tests the ring of 64. */
static void saturation_is_near_the_bound(void **state)
{
    (void)state;
    /* Those of 8 and 16 are bound by their ports, those of 32 by their links. */
    static const uint32_t sizes[] = {8, 16, 32};
    for (unsigned i = 0; i < 3; i++) {
        struct net_experiment experiment;
        struct net_bound bound;
        struct net_result result;
        char error[NET_ERROR_BYTES];
        start(&experiment, sizes[i]);
        experiment.measure.precision = 0.01;
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(net_measure_saturation(&experiment, NULL, &result, error));
        assert_true(result.outcome == NET_STEADY || result.outcome == NET_UNSTEADY);
        assert_true(result.accepted > 0.95 * bound.rate && result.accepted < 1.02 * bound.rate);
        net_result_free(&result);
        /* Above the bound nothing breaks down. */
        measure(&experiment, 1.3 * bound.rate < 1 ? 1.3 * bound.rate : 1, &result);
        assert_int_equal(result.outcome, NET_SATURATED);
        assert_true(result.accepted > 0.95 * bound.rate);
        net_result_free(&result);
    }
}

/* Few nodes send few packets: in a short time far more than on average, by chance. */
static void saturation_of_small_rings_is_near_the_bound(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes;
        uint64_t seed;
    } rings[] = {{3, 4}, {5, 1}};
    for (unsigned i = 0; i < 2; i++) {
        struct net_experiment experiment;
        struct net_bound bound;
        struct net_result result;
        char error[NET_ERROR_BYTES];
        start(&experiment, rings[i].nodes);
        experiment.traffic.seed = rings[i].seed;
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(net_measure_saturation(&experiment, NULL, &result, error));
        assert_true(result.accepted > 0.95 * bound.rate && result.accepted < 1.02 * bound.rate);
        net_result_free(&result);
    }
}

/* Each request brings a reply, by the way back in its header; together they fill the ports. */
static void requests_are_answered(void **state)
{
    (void)state;
    for (unsigned swif = NET_SW2B; swif <= NET_OIP; swif++) {
        struct net_experiment experiment;
        struct net_result result;
        struct net_bound bound;
        char error[NET_ERROR_BYTES];
        start(&experiment, 8);
        net_config_swif(&experiment.network, swif);
        experiment.traffic.flits = 2;
        experiment.traffic.reply_flits = 8;
        measure(&experiment, 0.04, &result);
        assert_int_equal(result.outcome, NET_STEADY);
        assert_true(fabs(result.accepted - 0.2) < 0.01);
        assert_true(fabs(result.offered - 0.2) < 0.01);
        net_result_free(&result);
        /* 3 + 12 lines for 10 flits. */
        assert_true(net_bound_get(&experiment, &bound));
        assert_true(fabs(bound.port - 10.0 / 30) < 1e-9);
        experiment.measure.precision = 0.01;
        assert_true(net_measure_saturation(&experiment, NULL, &result, error));
        assert_true(result.accepted > 0.95 * bound.rate && result.accepted < 1.02 * bound.rate);
        net_result_free(&result);
    }
}

/* Ports so bad that some headers are wrong and nobody notices: the measurement knows all the same
 * what will not come, and does not call its wait saturation. */
static void wrong_headers_are_lost_packets(void **state)
{
    (void)state;
    for (unsigned swif = NET_SW2B; swif <= NET_OIP; swif++) {
        for (uint32_t reply_flits = 0; reply_flits < 2; reply_flits++) {
            struct net_experiment experiment;
            struct net_result result;
            start(&experiment, 8);
            net_config_swif(&experiment.network, swif);
            experiment.network.port_bit_error_rate = 1e-3;
            experiment.traffic.flits = 1;
            experiment.traffic.reply_flits = reply_flits;
            experiment.measure.cycles = 200000;
            measure(&experiment, 0.1, &result);
            assert_int_equal(result.outcome, NET_STEADY);
            assert_true(result.counters.lines_wrong > 5 && result.counters.packets_lost > 500);
            net_result_free(&result);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_the_sorted_list),
        cmocka_unit_test(no_latency_is_no_number),
        cmocka_unit_test(hardly_any_load_takes_what_an_empty_net_takes),
        cmocka_unit_test(what_is_offered_is_accepted_below_saturation),
        cmocka_unit_test(runs_repeat),
        cmocka_unit_test(too_much_is_called_saturated),
        cmocka_unit_test(a_deadlock_is_named),
        cmocka_unit_test(the_bound_is_what_the_paper_and_pencil_say),
        cmocka_unit_test(saturation_is_near_the_bound),
        cmocka_unit_test(saturation_of_small_rings_is_near_the_bound),
        cmocka_unit_test(requests_are_answered),
        cmocka_unit_test(wrong_headers_are_lost_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
