/* Which packets go first: those on their way; those at NICs only when their patience ends. */
#include "unit/unit.h"

#include "sim/ring/net.h"

enum { MARK = 1000000, NODES = 8, STREAM_FLITS = 8 };

struct world {
    uint64_t marked_cycle;
    uint32_t delivered;
};

static void take_delivery(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    struct world *world = context;
    world->delivered++;
    if (delivery->tag == MARK) {
        world->marked_cycle = cycle;
    }
}

/* Node 0 fills the links to node 2 for as long as its packets last; in the middle of that node 1
 * sends one packet the same way. Gives after how many cycles that one arrives. */
static uint64_t cycles_beside_a_stream(uint32_t patience_cycles, uint32_t virtual_network)
{
    struct world world = {0};
    struct net_user user = {.context = &world, .delivered = take_delivery};
    struct net_config config;
    char error[NET_ERROR_BYTES];
    const uint64_t start = 500;
    net_config_default(&config, NODES);
    net_config_swif(&config, NET_SW2A); /* so that one NIC can fill a link */
    config.patience_cycles = patience_cycles;
    struct net *net = net_open(&config, &user, error);
    assert_non_null(net);
    while (world.marked_cycle == 0) {
        uint64_t cycle = net_cycle(net);
        if (cycle < 20000 && cycle % STREAM_FLITS == 0) {
            net_send(net, 0, 2, 0, STREAM_FLITS, cycle);
        }
        if (cycle == start) {
            net_send(net, 1, 2, virtual_network, 4, MARK);
        }
        net_step(net);
        assert_true(cycle < 100000);
    }
    uint64_t cycles = world.marked_cycle - start;
    while (!net_is_empty(net)) {
        net_step(net);
    }
    net_close(net);
    return cycles;
}

static void a_nic_lets_others_by_as_long_as_it_is_patient(void **state)
{
    (void)state;
    struct net_config config;
    net_config_default(&config, NODES);
    net_config_swif(&config, NET_SW2A);
    uint64_t alone = net_zero_load_cycles(&config, 1, 2, 4);
    for (uint32_t network = 0; network < 2; network++) {
        uint64_t impatient = cycles_beside_a_stream(0, network);
        assert_in_range(impatient, alone, alone + 4 * STREAM_FLITS);
        uint64_t patient = cycles_beside_a_stream(3000, network);
        assert_in_range(patient, alone + 2990, alone + 3000 + 4 * STREAM_FLITS);
    }
}

/* The patience is longer than the stream lasts: the packet goes when there is room. */
static void it_goes_when_nobody_else_does(void **state)
{
    (void)state;
    uint64_t cycles = cycles_beside_a_stream(1 << 20, 0);
    assert_in_range(cycles, 19000, 20500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nic_lets_others_by_as_long_as_it_is_patient),
        cmocka_unit_test(it_goes_when_nobody_else_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
