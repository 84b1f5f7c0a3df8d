/* Links that damage frames, die and come back: what goes in at one end of the network comes out
 * at the other, once, whole and in order. */
#include "net_world.h"

static struct net_config damaged_ring(uint32_t nodes, double bit_error_rate)
{
    struct net_config config = shaped(NET_RING, nodes, 1);
    config.bit_error_rate = bit_error_rate;
    return config;
}

/* From outside, errors cost nothing but time, at any rate. */
static void damage_is_repaired(void **state)
{
    (void)state;
    const double rates[] = {1e-20, 1e-6, 1e-5, 1e-4};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct net_config config = damaged_ring(8, rates[i]);
        struct world world;
        open_world(&world, &config);
        saturate(&world, 20000, 24, i + 1);
        struct net_counters counters;
        net_counters(world.net, &counters);
        /* 20,000 packets of 12.5 flits go over 2 links each: 5e7 bits, and as many again for all
         * that is sent in vain at the highest rate. */
        if (i == 0) {
            assert_int_equal(counters.frames_damaged, 0);
            assert_int_equal(counters.frames_resent, 0);
        } else {
            assert_true(counters.frames_damaged > 10 && counters.frames_resent > 10);
        }
        close_world(&world);
    }
}

/* The acceptance test's rate, over 10^5 packets. */
static void a_hundred_thousand_packets_at_one_in_a_million(void **state)
{
    (void)state;
    struct net_config config = damaged_ring(16, 1e-6);
    struct world world;
    open_world(&world, &config);
    saturate(&world, 100000, 8, 9);
    close_world(&world);
}

static void any_shape_and_frame_repairs_damage(void **state)
{
    (void)state;
    struct base_random random = {5};
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t shape = round % 3;
        struct net_config config = shaped(shape, 2 + (uint32_t)base_random_below(&random, 5),
                                          shape == NET_RING ? 1 : 2 + round % 3);
        config.bit_error_rate = 1e-4;
        config.seed = round;
        config.frame_flits = 1 + (uint32_t)base_random_below(&random, 40);
        config.flit_bytes = 1 + (uint32_t)base_random_below(&random, 16);
        config.link_cycles = 1 + (uint32_t)base_random_below(&random, 20);
        config.credit_cycles = 1 + (uint32_t)base_random_below(&random, 20);
        config.switch_cycles = round % 2;
        config.buffer_flits = 1 + (uint32_t)base_random_below(&random, 20);
        config.resend_cycles = net_least_resend_cycles(&config) + round % 7;
        struct world world;
        open_world(&world, &config);
        saturate(&world, 2000, 1 + (uint32_t)base_random_below(&random, 30), round);
        close_world(&world);
    }
}

/* A lone packet pays for its frame: the CRC comes a cycle behind each, and what has waited for it
 * goes on together. */
static void a_frame_adds_its_own_length(void **state)
{
    (void)state;
    struct net_config clean = shaped(NET_RING, 8, 1), config = damaged_ring(8, 1e-20);
    struct world world;
    open_world(&world, &config);
    send_one(&world, 0, 2, 0, 10);
    drain(&world);
    /* On each of the two links the head waits for the 9 flits behind it and for the CRC. */
    assert_int_equal(world.last_cycle, net_zero_load_cycles(&clean, 0, 2, 10) + 2 * (9 + 1));
    close_world(&world);
    /* Through the board's port flits come apart, and the target's port is busy with their lines
     * from the head on, whose frames decide: on the first link the head waits for one flit behind
     * it and the CRC, on the second, where those that follow have caught up, for three and the
     * CRC. */
    net_config_swif(&clean, NET_SW2B);
    net_config_swif(&config, NET_SW2B);
    open_world(&world, &config);
    send_one(&world, 0, 2, 0, 10);
    drain(&world);
    assert_int_equal(world.last_cycle, net_zero_load_cycles(&clean, 0, 2, 10) + (1 + 1) + (3 + 1));
    close_world(&world);
}

/* The literal rules: in the time in which the repaired ones deliver everything, most is stuck
 * behind frames that are resent for ever. */
static void the_papers_rules_as_written_do_not_get_through(void **state)
{
    (void)state;
    uint64_t delivered_count[2];
    for (uint32_t literal = 0; literal < 2; literal++) {
        struct net_config config = damaged_ring(4, 1e-5);
        config.literal_rules = literal;
        struct world world;
        open_world(&world, &config);
        for (uint32_t i = 0; i < 4000; i++) {
            send_one(&world, i % 4, (i + 1) % 4, 0, 16);
        }
        for (uint32_t cycle = 0; cycle < 60000; cycle++) {
            net_step(world.net);
        }
        struct net_counters counters;
        net_counters(world.net, &counters);
        delivered_count[literal] = counters.packets_delivered;
        close_world(&world);
    }
    assert_int_equal(delivered_count[0], 4000);
    assert_true(delivered_count[1] < 4000);
}

/* ---- Death and return ------------------------------------------------------------------------ */

/* Links die and come back at random under full load. */
static void expect_all_through_deaths(const struct net_config *config, uint64_t seed)
{
    struct world world;
    open_world(&world, config);
    struct base_random random = {seed};
    bool dead[256] = {false};
    uint32_t count = net_link_count(world.net);
    assert_true(count <= 256);
    for (uint64_t cycle = 0; cycle < 30000; cycle++) {
        for (uint32_t node = 0; node < world.nodes; node++) {
            while (net_waiting(world.net, node) < 50) {
                send_one(&world, node, (uint32_t)base_random_below(&random, world.nodes),
                         (uint32_t)base_random_below(&random, 2),
                         1 + (uint32_t)base_random_below(&random, 24));
            }
        }
        if (base_random_below(&random, 60) == 0) {
            uint32_t number = (uint32_t)base_random_below(&random, count);
            struct net_link_load load;
            net_link_load(world.net, number, &load);
            dead[number] = !dead[number] && base_random_below(&random, 2);
            net_link_set(world.net, load.from, load.to, !dead[number]);
            net_check(world.net);
        }
        net_step(world.net);
    }
    for (uint32_t number = 0; number < count; number++) {
        struct net_link_load load;
        net_link_load(world.net, number, &load);
        net_link_set(world.net, load.from, load.to, true);
    }
    drain(&world);
    for (uint64_t tag = 0; tag < world.sent_count; tag++) {
        assert_int_equal(world.sent[tag].deliveries, 1);
    }
    close_world(&world);
}

static void links_that_die_and_return_lose_nothing(void **state)
{
    (void)state;
    const double rates[] = {0, 1e-4};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct net_config configs[] = {shaped(NET_RING, 3, 1), shaped(NET_RING, 8, 1),
                                       shaped(NET_TORUS, 3, 3), shaped(NET_MESH, 3, 2)};
        for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
            configs[c].bit_error_rate = rates[i];
            configs[c].frame_flits = c % 2 ? 1 : 16;
            expect_all_through_deaths(&configs[c], i * 10 + c);
        }
    }
}

/* A dead link carries nothing; after its return all comes, and the link is as fast as before. */
static void a_dead_link_carries_nothing(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_RING, 8, 1);
    struct world world;
    open_world(&world, &config);
    for (uint32_t i = 0; i < 5; i++) {
        send_one(&world, 0, 1, 0, 10);
    }
    /* The first flits are on the link now. */
    for (uint32_t i = 0; i < 20; i++) {
        net_step(world.net);
    }
    net_link_set(world.net, 0, 1, false);
    net_check(world.net);
    for (uint32_t i = 0; i < 3000; i++) {
        net_step(world.net);
    }
    assert_int_equal(world.sent[0].deliveries, 0);
    /* The other direction is another link. */
    send_one(&world, 1, 0, 0, 10);
    for (uint32_t i = 0; i < 200; i++) {
        net_step(world.net);
    }
    assert_int_equal(world.sent[5].deliveries, 1);
    net_link_set(world.net, 0, 1, true);
    drain(&world);
    for (uint32_t i = 0; i < 1000; i++) {
        net_step(world.net);
    }
    net_check(world.net);
    assert_int_equal(world.net->framed_links, 0);
    uint64_t start = net_cycle(world.net);
    send_one(&world, 0, 1, 0, 10);
    drain(&world);
    assert_int_equal(world.last_cycle - start, net_zero_load_cycles(&config, 0, 1, 10));
    close_world(&world);
}

/* What was on a link during a short outage goes out again at once, not after a timer. */
static void a_return_is_no_time_out(void **state)
{
    (void)state;
    struct net_config config = damaged_ring(8, 1e-20);
    config.resend_cycles = 5000;
    struct world world;
    open_world(&world, &config);
    send_one(&world, 0, 1, 0, 10);
    for (uint32_t i = 0; i < 25; i++) {
        net_step(world.net);
    }
    net_link_set(world.net, 0, 1, false);
    net_step(world.net);
    net_link_set(world.net, 0, 1, true);
    drain(&world);
    assert_true(world.last_cycle < 200);
    close_world(&world);
}

static void a_seed_gives_the_same_errors(void **state)
{
    (void)state;
    uint64_t sums[3];
    struct net_counters counters[3];
    for (uint32_t run = 0; run < 3; run++) {
        struct net_config config = damaged_ring(8, 1e-5);
        config.seed = run == 2 ? 8 : 7;
        struct world world;
        open_world(&world, &config);
        saturate(&world, 3000, 16, 5);
        sums[run] = world.sum;
        net_counters(world.net, &counters[run]);
        close_world(&world);
    }
    assert_true(sums[0] == sums[1]);
    assert_memory_equal(&counters[0], &counters[1], sizeof counters[0]);
    assert_true(sums[0] != sums[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_repaired),
        cmocka_unit_test(a_hundred_thousand_packets_at_one_in_a_million),
        cmocka_unit_test(any_shape_and_frame_repairs_damage),
        cmocka_unit_test(a_frame_adds_its_own_length),
        cmocka_unit_test(the_papers_rules_as_written_do_not_get_through),
        cmocka_unit_test(links_that_die_and_return_lose_nothing),
        cmocka_unit_test(a_dead_link_carries_nothing),
        cmocka_unit_test(a_return_is_no_time_out),
        cmocka_unit_test(a_seed_gives_the_same_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
