/* The port between NIC and router: its lines' times, its slack, stop and go both ways. */
#include "net_world.h"

/* A ring of boards as the paper has them. */
static struct net_config boards(uint32_t nodes, enum net_swif swif)
{
    struct net_config config;
    net_config_default(&config, nodes);
    net_config_swif(&config, swif);
    return config;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void a_line_takes_what_table_2_says(void **state)
{
    (void)state;
    struct net_config config = boards(8, NET_SW2B);
    assert_int_equal(config.port_frame_bits * config.port_frame_khz, 2500000); /* kbit/s */
    assert_int_equal(net_line_cycles(&config), 2); /* 32 ns, 8 bytes: 250 MB/s */
    config = boards(8, NET_OIP);
    assert_int_equal(config.port_frame_bits * config.port_frame_khz, 2500000);
    assert_int_equal(net_line_cycles(&config), 2);
    /* 12 bytes in 15 ns: a flit in each cycle. */
    config = boards(8, NET_SW2A);
    assert_int_equal(net_line_cycles(&config), 0);
    config.flit_bytes = 16;
    assert_int_equal(net_line_cycles(&config), 1);
}

/* A line takes whole cycles, and a flit at least one: the port carries what that leaves. */
static void a_port_carries_what_whole_cycles_allow(void **state)
{
    (void)state;
    static const struct {
        uint64_t frame_khz;
        uint32_t flit_bytes, asked_mb_per_s, mb_per_s;
    } ports[] = {{31250, 12, 250, 250}, {50000, 12, 400, 250},   {33000, 12, 264, 250},
                 {31249, 12, 250, 167}, {62500, 12, 500, 500},   {100000, 12, 800, 750},
                 {93749, 12, 750, 500}, {125000, 12, 1000, 750}, {62500, 4, 500, 250}};
    struct net_config config = boards(8, NET_SW2B);
    for (unsigned i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        config.port_frame_khz = ports[i].frame_khz;
        config.flit_bytes = ports[i].flit_bytes;
        assert_int_equal((uint32_t)(net_port_asked_mb_per_s(&config) + 0.5),
                         ports[i].asked_mb_per_s);
        assert_int_equal((uint32_t)(net_port_mb_per_s(&config) + 0.5), ports[i].mb_per_s);
    }
}

static void flits_are_there_when_their_lines_are(void **state)
{
    (void)state;
    const struct net_port_rate rate = {2, 12};
    static const uint32_t in[] = {4, 2, 4, 2}, out[] = {2, 4, 2, 4};
    for (uint32_t flit = 0; flit < 4; flit++) {
        assert_int_equal(net_port_in(&rate, 48, flit), in[flit]);
        assert_int_equal(net_port_out(&rate, 48, flit), out[flit]);
    }
    /* 36 bytes are 5 lines; 20 are 3, the last of them half; 13 are 2, and both flits' last. */
    assert_int_equal(net_port_in(&rate, 36, 2), 4);
    assert_int_equal(net_port_out(&rate, 36, 2), 4);
    assert_int_equal(net_port_in(&rate, 20, 1), 2);
    assert_int_equal(net_port_out(&rate, 20, 1), 4);
    assert_int_equal(net_port_in(&rate, 13, 0), 4);
    assert_int_equal(net_port_in(&rate, 13, 1), 1);
    assert_int_equal(net_port_out(&rate, 13, 0), 2);
    assert_int_equal(net_port_out(&rate, 13, 1), 2);
    /* All lines pass both ways, whatever the length. */
    for (uint32_t bytes = 1; bytes < 400; bytes++) {
        uint32_t sum[2] = {0}, tails = 0;
        for (uint32_t flit = 0; flit < net_flits(bytes, 12); flit++) {
            uint32_t cycles = net_port_in(&rate, bytes, flit);
            tails += cycles == 1;
            sum[0] += cycles;
            sum[1] += net_port_out(&rate, bytes, flit);
        }
        assert_int_equal(sum[0], 2 * net_lines(bytes) + tails);
        assert_int_equal(sum[1], 2 * net_lines(bytes));
    }
}

/* ---- An empty ring --------------------------------------------------------------------------- */

static void expect_alone(const struct net_config *config, uint32_t bytes)
{
    struct world world;
    open_world(&world, config);
    for (uint32_t target = 0; target < world.nodes; target++) {
        uint64_t start = net_cycle(world.net);
        add_sent(&world, 0, 0, net_flits(bytes, config->flit_bytes))->target = target;
        net_send_bytes(world.net, 0, target, 0, bytes, world.sent_count - 1);
        drain(&world);
        uint64_t expected = net_zero_load_bytes(config, 0, target, bytes);
        if (world.last_cycle - start != expected) {
            fail_msg("0 -> %u, %u bytes: %llu cycles, not %llu", target, bytes,
                     (unsigned long long)(world.last_cycle - start), (unsigned long long)expected);
        }
        for (uint32_t i = 0; i < config->credit_cycles + config->nic_cycles + 64; i++) {
            net_step(world.net);
        }
    }
    close_world(&world);
}

/* By hand: 96 bytes from 0 to 3 on a ring of 8. The 12 lines take 24 cycles into the first router,
 * and its last flit's 2 lines 4 out of the last. */
static void a_lone_packet_takes_the_sum(void **state)
{
    (void)state;
    for (unsigned swif = NET_SW2B; swif <= NET_OIP; swif++) {
        struct net_config config = boards(8, swif);
        assert_int_equal(net_zero_load_cycles(&config, 0, 3, 8), 4 + 23 + 4 * 3 + 3 * 16 + 3 + 4);
        expect_alone(&config, 96);
    }
}

static void the_sum_is_foreseen_for_any_port(void **state)
{
    (void)state;
    struct base_random random = {17};
    for (uint32_t round = 0; round < 300; round++) {
        struct net_config config = boards(2 + round % 5, NET_SW2B);
        config.port_frame_khz = 2000 + base_random_below(&random, 120000);
        config.flit_bytes = 1 + (uint32_t)base_random_below(&random, 40);
        config.route_cycles = (uint32_t)base_random_below(&random, 4);
        config.switch_cycles = (uint32_t)base_random_below(&random, 3);
        config.link_cycles = 1 + (uint32_t)base_random_below(&random, 6);
        config.credit_cycles = 1 + (uint32_t)base_random_below(&random, 6);
        config.nic_cycles = 1 + (uint32_t)base_random_below(&random, 8);
        config.buffer_flits = 1 + (uint32_t)base_random_below(&random, 12);
        config.leave_flits = 1 + (uint32_t)base_random_below(&random, 12);
        config.slack_flits = net_overshoot(&config) + 1 + (uint32_t)base_random_below(&random, 4);
        expect_alone(&config, 1 + (uint32_t)base_random_below(&random, 400));
        carry_frames(&config, 1 + (uint32_t)base_random_below(&random, 20));
        expect_alone(&config, 1 + (uint32_t)base_random_below(&random, 400));
    }
}

/* The board's ports with frames on the links. By hand, 96 bytes over one link: the head leaves the
 * first router 9 cycles after it was sent, the flit behind it one cycle later, and their frame's
 * CRC behind that; the other flits come too late for that frame. Both are in the second router 17
 * cycles later. The port there sends the lines of 8 flits from the head on without a pause. */
static void the_sum_is_foreseen_with_frames(void **state)
{
    (void)state;
    struct net_config config = boards(16, NET_SW2B);
    carry_frames(&config, config.frame_flits);
    assert_int_equal(net_zero_load_cycles(&config, 0, 1, 8), 9 + 2 + 17 + (2 + 1) + 24 - 1 + 4);
    for (uint32_t bytes = 1; bytes <= 600; bytes += 1 + bytes / 8) {
        expect_alone(&config, bytes);
    }
    for (uint32_t frame_flits = 1; frame_flits <= 64; frame_flits *= 2) {
        carry_frames(&config, frame_flits);
        expect_alone(&config, 12);
        expect_alone(&config, 96);
        expect_alone(&config, 1200);
    }
}

/* ---- The rate -------------------------------------------------------------------------------- */

/* Both ends of a ring of 2 send to each other: each way 8 bytes pass in 32 ns. */
static void a_port_carries_250_mb_per_s_each_way(void **state)
{
    (void)state;
    enum { PACKETS = 500, FLITS = 40 };
    struct net_config config = boards(2, NET_SW2B);
    struct world world;
    open_world(&world, &config);
    for (uint32_t i = 0; i < 2 * PACKETS; i++) {
        send_one(&world, i % 2, 1 - i % 2, 0, FLITS);
    }
    drain(&world);
    uint64_t bytes = (uint64_t)PACKETS * FLITS * 12;
    double mb_per_s = (double)bytes / ((double)world.last_cycle * 16e-9) / 1e6;
    assert_true(mb_per_s > 249 && mb_per_s <= 250);
    close_world(&world);
}

/* ---- Stop and go ----------------------------------------------------------------------------- */

/* With the slack that was derived a stream that has no other reason to stop does not stop; with
 * less it does, and less still is refused. */
static void the_slack_is_what_the_round_trip_needs(void **state)
{
    (void)state;
    struct net_config config = boards(8, NET_SW2B);
    /* 8 cycles bring the 4 lines that end 3 flits, and the flit that was begun before; then 12
     * cycles of the port's flits last until go has brought the next. */
    assert_int_equal(net_overshoot(&config), 4);
    assert_int_equal(net_slack_flits(&config), 8);
    net_config_swif(&config, NET_SW2A);
    assert_int_equal(net_overshoot(&config), 7);
    assert_int_equal(net_slack_flits(&config), 7 + 9);
    for (uint32_t nic_cycles = 1; nic_cycles < 30; nic_cycles++) {
        config = boards(8, NET_OIP);
        config.nic_cycles = nic_cycles;
        config.route_cycles = 4 * nic_cycles;
        config.slack_flits = 0;
        uint64_t derived = net_zero_load_cycles(&config, 0, 1, 300);
        config.slack_flits = 1000;
        assert_int_equal(net_zero_load_cycles(&config, 0, 1, 300), derived);
    }
}

/* NICs push all the time against a ring that is often shut; no buffer may overflow (the net stops
 * the program then) and nothing be lost. */
static void no_slack_buffer_overflows(void **state)
{
    (void)state;
    struct base_random random = {23};
    for (uint32_t round = 0; round < 60; round++) {
        struct net_config config = boards(2 + round % 6, round % 2 ? NET_SW2B : NET_OIP);
        config.port_frame_khz = 4000 + base_random_below(&random, 90000);
        config.nic_cycles = 1 + (uint32_t)base_random_below(&random, 20);
        config.flit_bytes = 4 + (uint32_t)base_random_below(&random, 30);
        config.buffer_flits = 1 + (uint32_t)base_random_below(&random, 8);
        config.leave_flits = 1 + (uint32_t)base_random_below(&random, 8);
        config.slack_flits = net_overshoot(&config) + 1 + round % 3;
        config.port_take_cycles = round % 3 * (1 + (uint32_t)base_random_below(&random, 12));
        struct world world;
        open_world(&world, &config);
        saturate(&world, 700, 1 + (uint32_t)base_random_below(&random, 30), round);
        close_world(&world);
    }
}

/* A NIC that takes a line in 5 cycles gets one in 5, and the port waits for it. */
static void a_slow_nic_stops_its_port(void **state)
{
    (void)state;
    enum { PACKETS = 200, FLITS = 20 };
    struct net_config config = boards(4, NET_SW2B);
    config.port_take_cycles = 5;
    struct world world;
    open_world(&world, &config);
    for (uint32_t i = 0; i < PACKETS; i++) {
        send_one(&world, 0, 1, 0, FLITS);
    }
    uint64_t lines = (uint64_t)PACKETS * FLITS * 12 / 8;
    while (!net_is_empty(world.net)) {
        net_step(world.net);
        if (net_cycle(world.net) == lines * 5 / 2) {
            /* Half of it is here; the rest waits along the way and at its NIC. */
            assert_in_range(world.last.tag, PACKETS / 2 - 2, PACKETS / 2);
            assert_true(net_waiting(world.net, 0) > 0);
        }
    }
    assert_in_range(world.last_cycle, 5 * lines, 5 * lines + 100);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_takes_what_table_2_says),
        cmocka_unit_test(a_port_carries_what_whole_cycles_allow),
        cmocka_unit_test(flits_are_there_when_their_lines_are),
        cmocka_unit_test(a_lone_packet_takes_the_sum),
        cmocka_unit_test(the_sum_is_foreseen_for_any_port),
        cmocka_unit_test(the_sum_is_foreseen_with_frames),
        cmocka_unit_test(a_port_carries_250_mb_per_s_each_way),
        cmocka_unit_test(the_slack_is_what_the_round_trip_needs),
        cmocka_unit_test(no_slack_buffer_overflows),
        cmocka_unit_test(a_slow_nic_stops_its_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
