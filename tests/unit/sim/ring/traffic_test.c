/* Traffic: which nodes send to which, how much, and the same again from the same seed. */
#include "unit/unit.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/ring/traffic.h"

enum { NODES_MAX = 64 };

/* What came out of a net that was left to itself. */
struct seen {
    uint64_t packets, flits;
    uint64_t from_to[NODES_MAX][NODES_MAX];
    uint64_t long_packets;
    uint64_t sum; /* over source, time and packet, in order */
};

struct world {
    struct seen *seen;
    uint32_t long_flits;
};

static void take_delivery(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    struct world *world = context;
    struct seen *seen = world->seen;
    seen->packets++;
    seen->flits += delivery->flits;
    seen->from_to[delivery->source][delivery->target]++;
    seen->long_packets += delivery->flits == world->long_flits;
    seen->sum = (seen->sum ^ cycle ^ (uint64_t)delivery->target << 40) * UINT64_C(0x100000001b3);
}

static void run_traffic(const struct net_config *network, const struct net_traffic_config *config,
                        uint64_t cycles, struct seen *seen, struct net_traffic_counters *counters)
{
    char error[NET_ERROR_BYTES] = "";
    struct world world = {.seen = seen, .long_flits = config->long_flits};
    struct net_user user = {.context = &world, .delivered = take_delivery};
    struct net *net = net_open(network, &user, error);
    assert_string_equal(error, "");
    struct net_traffic *traffic = net_traffic_open(config, network, net, error);
    assert_string_equal(error, "");
    memset(seen, 0, sizeof *seen);
    while (net_cycle(net) < cycles && !net_traffic_is_over(traffic)) {
        net_traffic_step(traffic);
        net_step(net);
    }
    while (!net_is_empty(net)) {
        net_step(net);
    }
    net_traffic_counters(traffic, counters);
    assert_int_equal(seen->packets, counters->packets_wanted);
    assert_int_equal(seen->flits, counters->flits_wanted);
    net_traffic_close(traffic);
    net_close(net);
}

static void shape(struct net_config *network, enum net_shape shape, uint32_t width, uint32_t height)
{
    net_config_default(network, width * height);
    network->shape = shape;
    network->width = width;
    network->height = height;
    network->routing = shape == NET_MESH ? NET_DIMENSION : NET_DATELINE;
}

static struct net_traffic_config pattern(enum net_pattern pattern, double rate)
{
    struct net_traffic_config config;
    net_traffic_config_default(&config);
    config.pattern = pattern;
    config.rate = rate;
    config.flits = 4;
    return config;
}

/* Within five standard deviations of such a count. */
static bool is_likely(double count, double expected)
{
    return (count - expected) * (count - expected) < 25 * expected;
}

/* ---- Rates -------------------------------------------------------------------------------- */

static void the_rate_is_kept(void **state)
{
    (void)state;
    static const double rates[] = {0.001, 0.05, 0.4};
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 16, 1);
    for (unsigned i = 0; i < 3; i++) {
        struct net_traffic_config config = pattern(NET_UNIFORM, rates[i]);
        run_traffic(&network, &config, 200000, &seen, &counters);
        double expected = rates[i] / 4 * 16 * 200000;
        assert_true(is_likely((double)counters.packets, expected));
    }
}

static void nothing_is_sent_at_no_rate_and_all_at_full(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 8, 1);
    struct net_traffic_config config = pattern(NET_NEIGHBOUR, 0);
    run_traffic(&network, &config, 1000, &seen, &counters);
    assert_int_equal(counters.packets, 0);
    config.rate = 1;
    config.flits = 1;
    run_traffic(&network, &config, 1000, &seen, &counters);
    assert_int_equal(counters.packets, 8000);
}

static void two_lengths_are_mixed(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 8, 1);
    struct net_traffic_config config = pattern(NET_UNIFORM, 0.2);
    config.long_flits = 40;
    config.long_share = 0.25;
    assert_true(net_traffic_flits(&config) == 13);
    run_traffic(&network, &config, 100000, &seen, &counters);
    double share = (double)seen.long_packets / (double)seen.packets;
    assert_true(share > 0.23 && share < 0.27);
    double rate = (double)seen.flits / 100000 / 8;
    assert_true(rate > 0.19 && rate < 0.21);
}

static void a_seed_gives_the_same_packets(void **state)
{
    (void)state;
    static struct seen first, second;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 8, 1);
    struct net_traffic_config config = pattern(NET_UNIFORM, 0.3);
    run_traffic(&network, &config, 5000, &first, &counters);
    run_traffic(&network, &config, 5000, &second, &counters);
    assert_memory_equal(&first, &second, sizeof first);
    config.seed = 2;
    run_traffic(&network, &config, 5000, &second, &counters);
    assert_int_not_equal(first.sum, second.sum);
}

/* ---- Patterns ----------------------------------------------------------------------------- */

static void uniform_goes_everywhere_alike(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_MESH, 4, 2);
    struct net_traffic_config config = pattern(NET_UNIFORM, 0.2);
    run_traffic(&network, &config, 100000, &seen, &counters);
    double expected = (double)seen.packets / 56;
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned j = 0; j < 8; j++) {
            double count = (double)seen.from_to[i][j];
            assert_true(i == j ? count == 0 : is_likely(count, expected));
        }
    }
}

static bool is_joined(enum net_shape shape, unsigned from, unsigned to)
{
    /* 4 x 4, or a ring of 16. */
    unsigned dx = from % 4 > to % 4 ? from % 4 - to % 4 : to % 4 - from % 4;
    unsigned dy = from / 4 > to / 4 ? from / 4 - to / 4 : to / 4 - from / 4;
    if (shape == NET_RING) {
        return (from + 1) % 16 == to || (to + 1) % 16 == from;
    }
    bool round = shape == NET_TORUS;
    return (dy == 0 && (dx == 1 || (round && dx == 3))) ||
           (dx == 0 && (dy == 1 || (round && dy == 3)));
}

static void neighbours_are_all_one_link_away(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    for (unsigned kind = 0; kind < NET_SHAPES; kind++) {
        struct net_config network;
        shape(&network, kind, kind == NET_RING ? 16 : 4, kind == NET_RING ? 1 : 4);
        struct net_traffic_config config = pattern(NET_NEIGHBOUR, 0.1);
        run_traffic(&network, &config, 20000, &seen, &counters);
        for (unsigned i = 0; i < 16; i++) {
            for (unsigned j = 0; j < 16; j++) {
                assert_true((seen.from_to[i][j] > 0) == is_joined(kind, i, j));
            }
        }
    }
}

static void transpose_turns_the_square(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 16, 1);
    struct net_traffic_config config = pattern(NET_TRANSPOSE, 0.1);
    run_traffic(&network, &config, 10000, &seen, &counters);
    for (unsigned i = 0; i < 16; i++) {
        for (unsigned j = 0; j < 16; j++) {
            bool turned = i != j && j == i % 4 * 4 + i / 4;
            assert_true((seen.from_to[i][j] > 0) == turned);
        }
    }
}

static void a_share_goes_to_the_hot_spot(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 8, 1);
    struct net_traffic_config config = pattern(NET_HOT_SPOT, 0.1);
    config.hot_node = 5;
    config.hot_share = 0.5;
    run_traffic(&network, &config, 100000, &seen, &counters);
    uint64_t hot = 0;
    for (unsigned i = 0; i < 8; i++) {
        hot += seen.from_to[i][5];
    }
    /* Seven of eight nodes send half of their packets there, and a seventh of the rest. */
    double share = (double)hot / (double)seen.packets;
    assert_true(share > 0.48 && share < 0.52);
}

static void all_to_all_takes_turns(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 8, 1);
    struct net_traffic_config config = pattern(NET_ALL_TO_ALL, 0.2);
    run_traffic(&network, &config, 5000, &seen, &counters);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;
        for (unsigned j = 0; j < 8; j++) {
            uint64_t count = seen.from_to[i][j];
            least = i != j && count < least ? count : least;
            most = count > most ? count : most;
        }
        assert_int_equal(seen.from_to[i][i], 0);
        assert_true(least > 0 && most - least <= 1);
    }
}

static void multicast_reaches_every_member(void **state)
{
    (void)state;
    static struct seen by_tables, by_unicast;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 12, 1);
    struct net_traffic_config config = pattern(NET_MULTICAST, 0.02);
    config.members = 3;
    run_traffic(&network, &config, 10000, &by_tables, &counters);
    assert_int_equal(counters.packets_wanted, 3 * counters.packets);
    config.multicast = NET_BY_UNICAST;
    run_traffic(&network, &config, 10000, &by_unicast, &counters);
    assert_int_equal(counters.packets_wanted, counters.packets);
    for (unsigned i = 0; i < 12; i++) {
        for (unsigned j = 0; j < 12; j++) {
            /* The same packets, except those of members to themselves. */
            assert_true(by_tables.from_to[i][j] > 0);
            assert_int_equal(by_unicast.from_to[i][j], i == j ? 0 : by_tables.from_to[i][j]);
        }
    }
}

/* ---- Traces ------------------------------------------------------------------------------- */

static void write_trace(struct net_traffic_config *config, const char *text)
{
    (void)snprintf(config->trace, sizeof config->trace, "/tmp/traffic_test.XXXXXX");
    int file = mkstemp(config->trace);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(file), 0);
}

static void a_trace_is_followed(void **state)
{
    (void)state;
    static struct seen seen;
    struct net_traffic_counters counters;
    struct net_config network;
    shape(&network, NET_RING, 8, 1);
    struct net_traffic_config config = pattern(NET_TRACE, 0);
    write_trace(&config, "# a comment\n0 0 1 4\n\n0 3 1 4 # more\n 700\t5 2 9\n");
    run_traffic(&network, &config, 100000, &seen, &counters);
    assert_int_equal(unlink(config.trace), 0);
    assert_int_equal(seen.packets, 3);
    assert_int_equal(seen.flits, 17);
    assert_int_equal(seen.from_to[0][1], 1);
    assert_int_equal(seen.from_to[3][1], 1);
    assert_int_equal(seen.from_to[5][2], 1);
}

static void bad_traces_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"0 0 1 4\n5 1 2\n", ":2: a line is four whole numbers: cycle source target flits"},
        {"0 0 1 x\n", ":1: a line is four whole numbers: cycle source target flits"},
        {"0 0 1 4 4\n", ":1: a line is four whole numbers: cycle source target flits"},
        {"9 0 1 4\n8 0 1 4\n", ":2: its cycle is before that of the line before"},
        {"0 0 8 4\n", ":1: there is no such node"},
        {"0 3 3 4\n", ":1: source and target are the same node"},
        {"0 0 1 0\n", ":1: a packet has 1 to 65536 flits"},
    };
    struct net_config network;
    struct seen seen;
    struct world world = {.seen = &seen};
    struct net_user user = {.context = &world, .delivered = take_delivery};
    char error[NET_ERROR_BYTES];
    shape(&network, NET_RING, 8, 1);
    struct net *net = net_open(&network, &user, error);
    assert_non_null(net);
    struct net_traffic_config config = pattern(NET_TRACE, 0);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        write_trace(&config, bad[i].text);
        assert_null(net_traffic_open(&config, &network, net, error));
        assert_int_equal(unlink(config.trace), 0);
        assert_string_equal(error + strlen(config.trace), bad[i].error);
    }
    assert_null(net_traffic_open(&config, &network, net, error));
    assert_non_null(strstr(error, "cannot read the trace /tmp/traffic_test."));
    net_close(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_kept),
        cmocka_unit_test(nothing_is_sent_at_no_rate_and_all_at_full),
        cmocka_unit_test(two_lengths_are_mixed),
        cmocka_unit_test(a_seed_gives_the_same_packets),
        cmocka_unit_test(uniform_goes_everywhere_alike),
        cmocka_unit_test(neighbours_are_all_one_link_away),
        cmocka_unit_test(transpose_turns_the_square),
        cmocka_unit_test(a_share_goes_to_the_hot_spot),
        cmocka_unit_test(all_to_all_takes_turns),
        cmocka_unit_test(multicast_reaches_every_member),
        cmocka_unit_test(a_trace_is_followed),
        cmocka_unit_test(bad_traces_are_refused_with_their_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
