/* Networks of routers: exact to the cycle when empty, exactly once and in order when full, and what
 * happens when packets wait for each other in a circle. */
#include "net_world.h"

/* ---- An empty net ---------------------------------------------------------------------------- */

static void expect_zero_load(const struct net_config *config, uint32_t flits)
{
    struct world world;
    open_world(&world, config);
    for (uint32_t source = 0; source < world.nodes; source++) {
        for (uint32_t target = 0; target < world.nodes; target++) {
            uint64_t start = net_cycle(world.net);
            uint32_t virtual_network = (source + target) % config->virtual_networks;
            send_one(&world, source, target, virtual_network, flits);
            drain(&world);
            uint64_t expected = net_zero_load_cycles(config, source, target, flits);
            if (world.last_cycle - start != expected) {
                fail_msg("%s %u x %u, %u -> %u, %u flits: %llu cycles, not %llu",
                         net_shape_names[config->shape], config->width, config->height, source,
                         target, flits, (unsigned long long)(world.last_cycle - start),
                         (unsigned long long)expected);
            }
            assert_int_equal(world.last.injected_cycle, start);
            assert_int_equal(world.last.entered_cycle, start);
            assert_int_equal(world.last.hops, net_hops(config, source, target));
            /* Credits return before the next one starts. */
            for (uint32_t i = 0; i < config->credit_cycles + config->nic_cycles; i++) {
                net_step(world.net);
            }
        }
    }
    close_world(&world);
}

static void an_empty_net_takes_the_sum_of_its_delays(void **state)
{
    (void)state;
    const struct net_config configs[] = {
        shaped(NET_RING, 2, 1),  shaped(NET_RING, 3, 1),  shaped(NET_RING, 8, 1),
        shaped(NET_RING, 13, 1), shaped(NET_MESH, 4, 3),  shaped(NET_MESH, 1, 5),
        shaped(NET_TORUS, 4, 4), shaped(NET_TORUS, 2, 5),
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        expect_zero_load(&configs[i], 1);
        expect_zero_load(&configs[i], 9);
        expect_zero_load(&configs[i], 200);
        struct net_config structured = configs[i];
        structured.routing = NET_STRUCTURED;
        structured.vcs = 2 * (net_diameter(&structured) + 1);
        expect_zero_load(&structured, 9);
    }
}

/* The sum, done once by hand: 0 -> 3 on a ring of 8 with the board's delays. */
static void the_sum_is_what_the_delays_say(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_RING, 8, 1);
    assert_int_equal(config.route_cycles + config.switch_cycles, 3);
    assert_int_equal(config.link_cycles, 16);
    assert_int_equal(config.nic_cycles, 4);
    /* NIC 4, four routers of 3, three links of 16, NIC 4, and 9 more flits behind the head. */
    assert_int_equal(net_zero_load_cycles(&config, 0, 3, 10), 4 + 4 * 3 + 3 * 16 + 4 + 9);
    /* The shorter way round: 1 -> 7 is two links. */
    assert_int_equal(net_zero_load_cycles(&config, 1, 7, 1), 4 + 3 * 3 + 2 * 16 + 4);
}

/* By hand, with flits that come one behind the other, L = 3 links. In one frame for all of them the
 * head waits on each link for the flits behind it and for the CRC. In frames of one flit each waits
 * for its own CRC on each link, and on the first also for those of the flits before it; but in the
 * last router the head's header is looked at for 2 cycles, in which those behind it come up. */
static void frames_add_what_can_be_summed_by_hand(void **state)
{
    (void)state;
    const struct net_config clean = shaped(NET_RING, 8, 1);
    for (uint32_t flits = 1; flits <= 16; flits++) {
        uint64_t sum = net_zero_load_cycles(&clean, 0, 3, flits);
        uint32_t behind = flits > 3 ? flits - 1 - 2 : 0;
        struct net_config config = clean;
        carry_frames(&config, 16);
        assert_int_equal(net_zero_load_cycles(&config, 0, 3, flits), sum + 3 * (flits - 1 + 1));
        expect_zero_load(&config, flits);
        carry_frames(&config, 1);
        assert_int_equal(net_zero_load_cycles(&config, 0, 3, flits), sum + 3 + behind);
        expect_zero_load(&config, flits);
    }
}

/* The forecast is also right where a packet waits for its own credits, or its NIC for go. */
static void small_buffers_are_foreseen(void **state)
{
    (void)state;
    struct base_random random = {7};
    for (uint32_t round = 0; round < 300; round++) {
        struct net_config config = shaped(round % 3 == 0   ? NET_TORUS
                                          : round % 3 == 1 ? NET_MESH
                                                           : NET_RING,
                                          3, round % 3 == 2 ? 1 : 2);
        config.width = 2 + (uint32_t)base_random_below(&random, 4);
        config.route_cycles = (uint32_t)base_random_below(&random, 4);
        config.switch_cycles = (uint32_t)base_random_below(&random, 3);
        config.link_cycles = 1 + (uint32_t)base_random_below(&random, 6);
        config.credit_cycles = 1 + (uint32_t)base_random_below(&random, 6);
        config.nic_cycles = 1 + (uint32_t)base_random_below(&random, 4);
        config.buffer_flits = 1 + (uint32_t)base_random_below(&random, 12);
        config.slack_flits = 2 * config.nic_cycles + (uint32_t)base_random_below(&random, 6);
        config.leave_flits = 1 + (uint32_t)base_random_below(&random, 12);
        if (round % 2) {
            carry_frames(&config, 1 + (uint32_t)base_random_below(&random, 20));
        }
        expect_zero_load(&config, 1 + (uint32_t)base_random_below(&random, 30));
    }
}

/* ---- A full net ------------------------------------------------------------------------------ */

static void a_full_net_delivers_each_packet_once_in_order(void **state)
{
    (void)state;
    const struct net_config configs[] = {
        shaped(NET_RING, 2, 1),  shaped(NET_RING, 3, 1),  shaped(NET_RING, 7, 1),
        shaped(NET_RING, 8, 1),  shaped(NET_RING, 64, 1), shaped(NET_TORUS, 4, 4),
        shaped(NET_TORUS, 3, 2), shaped(NET_MESH, 4, 3),  shaped(NET_MESH, 6, 1),
    };
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct world world;
        open_world(&world, &configs[i]);
        saturate(&world, 6000, 24, i + 1);
        close_world(&world);
    }
}

/* Little of everything: packets that can wait for each other soon do. */
static void small_nets_do_not_lock_up(void **state)
{
    (void)state;
    struct base_random random = {11};
    for (uint32_t round = 0; round < 120; round++) {
        uint32_t shape = round % 3;
        struct net_config config = shaped(shape, 2 + (uint32_t)base_random_below(&random, 7),
                                          shape == NET_RING ? 1 : 2 + round % 4);
        config.virtual_networks = 1 + round % 2;
        config.vcs = config.virtual_networks *
                     (shape == NET_MESH ? 1 + round % 3 : 2 + round % 2 * 2);
        if (round % 5 == 0) {
            config.routing = NET_STRUCTURED;
            config.vcs = config.virtual_networks * (net_diameter(&config) + 1);
        }
        uint32_t shorter = config.height > 1 && config.height < config.width ? config.height
                                                                             : config.width;
        config.dateline = (uint32_t)base_random_below(&random, shorter);
        config.route_cycles = round % 3;
        config.switch_cycles = round % 2;
        config.link_cycles = 1 + (uint32_t)base_random_below(&random, 3);
        config.credit_cycles = 1 + (uint32_t)base_random_below(&random, 3);
        config.nic_cycles = 1;
        config.buffer_flits = 1 + (uint32_t)base_random_below(&random, 4);
        config.slack_flits = 2 + round % 3;
        config.leave_flits = 1 + round % 4;
        struct world world;
        open_world(&world, &config);
        saturate(&world, 1500, 1 + (uint32_t)base_random_below(&random, 20), round);
        close_world(&world);
    }
}

static void a_seed_gives_the_same_run(void **state)
{
    (void)state;
    uint64_t sums[3];
    struct net_counters counters[3];
    for (uint32_t run = 0; run < 3; run++) {
        struct net_config config = shaped(NET_TORUS, 4, 4);
        struct world world;
        open_world(&world, &config);
        saturate(&world, 2000, 16, run == 2 ? 6 : 5);
        sums[run] = world.sum;
        net_counters(world.net, &counters[run]);
        close_world(&world);
    }
    assert_true(sums[0] == sums[1]);
    assert_memory_equal(&counters[0], &counters[1], sizeof counters[0]);
    assert_true(sums[0] != sums[2]);
}

/* Two packets that want the same link share it flit by flit, and together take twice the time. */
static void a_link_carries_a_flit_in_a_cycle(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_RING, 8, 1);
    struct world world;
    open_world(&world, &config);
    /* Both go 0 -> 1 -> 2, in two virtual networks, and leave their NICs together. */
    send_one(&world, 0, 2, 0, 100);
    send_one(&world, 0, 2, 1, 100);
    drain(&world);
    assert_int_equal(world.last_cycle, net_zero_load_cycles(&config, 0, 2, 100) + 100);
    assert_int_equal(net_link_count(world.net), 16);
    for (uint32_t link = 0; link < net_link_count(world.net); link++) {
        struct net_link_load load;
        net_link_load(world.net, link, &load);
        bool on_the_way = load.from < 2 && load.to == load.from + 1;
        assert_int_equal(load.flits, on_the_way ? 200 : 0);
    }
    struct net_counters counters;
    net_counters(world.net, &counters);
    assert_int_equal(counters.flit_hops, 3 * 200);
    assert_int_equal(counters.flits_delivered, 200);
    close_world(&world);
}

/* Where NICs have no patience, two streams that meet at a link get half of it each: on different
 * channels, on the same one, and from the same NIC. */
static void a_link_is_shared_fairly(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_RING, 12, 1);
    config.patience_cycles = 0;
    const struct {
        uint32_t source, virtual_network;
    } others[] = {{2, 1}, {3, 0}, {1, 1}};
    for (size_t other = 0; other < sizeof others / sizeof *others; other++) {
        struct world world;
        open_world(&world, &config);
        for (uint32_t i = 0; i < 600; i++) {
            send_one(&world, 1, 4, 0, 10);
            send_one(&world, others[other].source, 5, others[other].virtual_network, 10);
        }
        for (uint32_t cycle = 0; cycle < 4000; cycle++) {
            net_step(world.net);
        }
        uint32_t count[2] = {0};
        for (uint64_t tag = 0; tag < world.sent_count; tag++) {
            count[tag % 2] += world.sent[tag].deliveries;
        }
        assert_in_range(count[0], 190, 200);
        assert_in_range(count[1], 190, 200);
        close_world(&world);
    }
}

static void expect_way(uint32_t source, uint32_t target, uint32_t links, uint32_t port)
{
    struct net_config config = shaped(NET_RING, 8, 1);
    uint32_t taken;
    assert_int_equal(net_way(&config, NET_COLUMN, source, target, &taken), 0);
    assert_int_equal(net_way(&config, NET_ROW, source, target, &taken), links);
    assert_int_equal(taken, port);
}

static void packets_go_the_shorter_way(void **state)
{
    (void)state;
    expect_way(6, 1, 3, PORT_RIGHT);
    expect_way(1, 6, 3, PORT_LEFT);
    /* Both ways are as long: even places go to the right. */
    expect_way(0, 4, 4, PORT_RIGHT);
    expect_way(6, 2, 4, PORT_RIGHT);
    expect_way(1, 5, 4, PORT_LEFT);
}

/* A mesh has no links at its edges, and none is listed. */
static void links_are_listed(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_MESH, 4, 3);
    struct world world;
    open_world(&world, &config);
    assert_int_equal(net_link_count(world.net), 2 * (3 * 3 + 4 * 2));
    for (uint32_t link = 0; link < net_link_count(world.net); link++) {
        struct net_link_load load;
        net_link_load(world.net, link, &load);
        uint32_t apart = load.from > load.to ? load.from - load.to : load.to - load.from;
        assert_true(load.to < 12 && (apart == 1 || apart == 4));
    }
    close_world(&world);
}

/* A virtual network that is stuck behind a busy NIC does not hold up the other. */
static void virtual_networks_do_not_wait_for_each_other(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_RING, 8, 1);
    struct world world;
    open_world(&world, &config);
    for (uint32_t node = 1; node < 8; node++) {
        for (uint32_t i = 0; i < 40; i++) {
            send_one(&world, node, 0, 0, 50);
        }
    }
    for (uint32_t i = 0; i < 2000; i++) {
        net_step(world.net);
    }
    uint64_t tag = world.sent_count;
    send_one(&world, 3, 2, 1, 4);
    uint64_t start = net_cycle(world.net);
    while (world.sent[tag].deliveries == 0) {
        net_step(world.net);
        assert_true(net_cycle(world.net) < start + 200);
    }
    drain(&world);
    close_world(&world);
}

struct holding {
    uint32_t count;
    uint64_t longest;
};

static void held(void *context, uint32_t router, uint32_t port, uint32_t channel,
                 uint64_t from_cycle, uint64_t to_cycle, uint64_t tag)
{
    struct holding *holding = context;
    assert_true(router < 3 && port < 3 && channel < 4 && tag == 77);
    assert_int_equal(to_cycle - from_cycle, 4);
    holding->count++;
}

static void ignored(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    (void)context;
    (void)cycle;
    (void)delivery;
}

static void who_holds_a_channel_is_told(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_RING, 5, 1);
    struct holding holding = {0};
    struct net_user user = {.context = &holding, .delivered = ignored, .held = held};
    char error[NET_ERROR_BYTES];
    struct net *net = net_open(&config, &user, error);
    assert_non_null(net);
    net_send(net, 0, 2, 0, 5, 77);
    while (!net_is_empty(net)) {
        net_step(net);
    }
    assert_int_equal(holding.count, 3);
    net_close(net);
}

/* ---- Multicast ------------------------------------------------------------------------------- */

static void a_group_gets_it_once_each(void **state)
{
    (void)state;
    const uint32_t sizes[] = {2, 3, 8, 64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct net_config config = shaped(NET_RING, sizes[s], 1);
        config.dateline = sizes[s] / 3;
        struct world world;
        open_world(&world, &config);
        const uint32_t members[] = {0, sizes[s] - 1, sizes[s] / 2};
        uint32_t different = sizes[s] == 2 ? 2 : 3;
        net_group_set(world.net, 5, members, 3);
        for (uint32_t source = 0; source < sizes[s]; source++) {
            uint64_t start = net_cycle(world.net);
            send_to_group(&world, source, 5, source % 2, 7);
            drain(&world);
            assert_int_equal(world.sent[source].deliveries, different);
            /* The last member to get it: as for a single packet over that many links. */
            uint64_t links = world.last.hops - 1;
            assert_int_equal(world.last_cycle - start, 4 + (links + 1) * 3 + links * 16 + 4 + 6);
        }
        close_world(&world);
    }
}

static void groups_and_single_packets_share_a_full_ring(void **state)
{
    (void)state;
    struct base_random random = {3};
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t nodes = 2 + (uint32_t)base_random_below(&random, 12);
        struct net_config config = shaped(NET_RING, nodes, 1);
        config.dateline = (uint32_t)base_random_below(&random, nodes);
        if (round % 2) {
            config.buffer_flits = 1 + round % 5;
            config.slack_flits = 8 + round % 3;
        }
        struct world world;
        open_world(&world, &config);
        uint32_t count = 1 + (uint32_t)base_random_below(&random, nodes);
        uint32_t members[16];
        for (uint32_t i = 0; i < count; i++) {
            members[i] = i;
        }
        net_group_set(world.net, 63, members, count);
        for (uint32_t i = 0; i < 1500; i++) {
            uint32_t source = (uint32_t)base_random_below(&random, nodes);
            uint32_t flits = 1 + (uint32_t)base_random_below(&random, 20);
            if (base_random_below(&random, 3) == 0) {
                send_to_group(&world, source, 63, i % 2, flits);
            } else {
                send_one(&world, source, (uint32_t)base_random_below(&random, nodes), i % 2, flits);
            }
        }
        drain(&world);
        for (uint64_t tag = 0; tag < world.sent_count; tag++) {
            assert_int_equal(world.sent[tag].deliveries, world.sent[tag].to_group ? count : 1);
        }
        close_world(&world);
    }
}

/* ---- Deadlock -------------------------------------------------------------------------------- */

static void expect_caught(uint32_t nodes, uint32_t flits)
{
    struct net_config config = shaped(NET_RING, nodes, 1);
    config.routing = NET_BROKEN;
    /* NICs that let others by fill a ring more rarely, so it locks up later. */
    config.patience_cycles = 0;
    struct world world;
    open_world(&world, &config);
    struct base_random random = {nodes};
    char text[4096];
    bool caught = false;
    while (!caught && net_cycle(world.net) < 62500) {
        for (uint32_t node = 0; node < nodes; node++) {
            while (net_waiting(world.net, node) < 4 * flits) {
                send_one(&world, node, (uint32_t)base_random_below(&random, nodes), 0, flits);
            }
        }
        net_step(world.net);
        if (net_cycle(world.net) % 100 == 0) {
            caught = net_is_deadlocked(world.net, text, sizeof text);
        }
    }
    assert_true(caught);
    /* It is a circle: it ends where it began. All on the lowest channel of one direction. */
    char first[64];
    uint32_t router;
    char port[8];
    assert_int_equal(sscanf(text, "router %u %7s VC 0 (packet", &router, port), 2);
    snprintf(first, sizeof first, " waits for router %u %s VC 0", router, port);
    size_t length = strlen(text), end = strlen(first);
    assert_string_equal(text + length - end, first);
    uint32_t waits = 0;
    for (const char *at = text; (at = strstr(at, "waits for")); at++) {
        waits++;
    }
    assert_int_equal(waits, nodes);
    /* And it stays. */
    for (uint32_t i = 0; i < 5000; i++) {
        net_step(world.net);
    }
    assert_true(net_is_deadlocked(world.net, NULL, 0));
    net_check(world.net);
    /* A text that is too long is cut, and says so. */
    char little[256];
    assert_true(net_is_deadlocked(world.net, little, sizeof little));
    assert_non_null(strstr(little, " more, the last of them for the first"));
    close_world(&world);
}

static void a_ring_without_a_dateline_is_caught(void **state)
{
    (void)state;
    /* A ring of 4 cannot lock up: where both ways are as long only even places go right, so no
     * packet holds 1 -> 2 and wants 2 -> 3. */
    expect_caught(5, 40);
    expect_caught(8, 16);
    expect_caught(16, 16);
}

/* ---- What makes no sense --------------------------------------------------------------------- */

static void expect_refused(const struct net_config *config, const char *start)
{
    char error[NET_ERROR_BYTES] = "", text[NET_ERROR_BYTES];
    struct net_user user = {.delivered = ignored};
    assert_null(net_open(config, &user, error));
    if (strncmp(error, start, strlen(start)) != 0) {
        fail_msg("\"%s\" does not start with \"%s\"", error, start);
    }
    assert_null(strchr(error, '\n'));
    assert_string_equal(net_config_objection(config, text), error);
}

#define REFUSE(shape, width, height, change, start)              \
    do {                                                         \
        struct net_config config = shaped(shape, width, height); \
        change;                                                  \
        expect_refused(&config, start);                          \
    } while (0)

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    REFUSE(NET_RING, 1, 1, (void)0, "width: is 1, a ring has at least 2 nodes");
    REFUSE(NET_RING, 0, 1, (void)0, "width: is 0");
    REFUSE(NET_RING, 4, 0, (void)0, "height: is 0");
    REFUSE(NET_RING, 4, 2, (void)0, "height: is 2, a ring's is 1");
    REFUSE(NET_TORUS, 4, 1, (void)0, "height: is 1, each ring of a torus");
    REFUSE(NET_MESH, 1, 1, (void)0, "width, height: a mesh of 1 x 1");
    REFUSE(NET_TORUS, 300, 300, (void)0, "width, height: 300 x 300 nodes, at most 16384");
    REFUSE(NET_TORUS, 65536, 65536, (void)0, "width, height: ");
    REFUSE(NET_RING, 4, 1, config.shape = NET_SHAPES, "shape: ");
    REFUSE(NET_RING, 4, 1, config.routing = NET_ROUTINGS, "routing: ");
    REFUSE(NET_MESH, 4, 3, config.routing = NET_DATELINE, "routing: dateline is for rings");
    REFUSE(NET_MESH, 4, 3, config.routing = NET_BROKEN, "routing: broken is for rings");
    REFUSE(NET_TORUS, 4, 3, config.routing = NET_DIMENSION, "routing: dimension closes");
    REFUSE(NET_RING, 4, 1, config.dateline = 4, "dateline: router 4 is outside a ring of 4");
    REFUSE(NET_TORUS, 4, 3, config.dateline = 3, "dateline: router 3 is outside a ring of 3");
    REFUSE(NET_RING, 4, 1, config.virtual_networks = 0, "virtual_networks: ");
    REFUSE(NET_RING, 4, 1, config.vcs = 0, "vcs: is 0");
    REFUSE(NET_RING, 4, 1, config.vcs = 65, "vcs: is 65");
    REFUSE(NET_RING, 4, 1, config.vcs = 5, "vcs: 5 channels cannot be shared");
    REFUSE(NET_RING, 4, 1, config.vcs = 2, "vcs: dateline routing needs an even number");
    REFUSE(NET_RING, 8, 1, config.routing = NET_STRUCTURED,
           "vcs: structured routing needs diameter + 1 = 5 channels in each virtual network, 4 in "
           "2 leave 2");
    REFUSE(NET_RING, 4, 1, config.buffer_flits = 0, "buffer_flits: is 0");
    REFUSE(NET_RING, 4, 1, config.buffer_flits = 40000, "buffer_flits: is 40000");
    REFUSE(NET_RING, 4, 1, config.slack_flits = 7, "slack_flits: is 7, but with those that ");
    REFUSE(NET_RING, 4, 1, config.leave_flits = 0, "leave_flits: is 0");
    REFUSE(NET_RING, 4, 1, config.leave_flits = 40000, "leave_flits: is 40000");
    REFUSE(NET_RING, 4, 1, config.swif = NET_SWIFS, "mode: there is no SWIF mode number 3");
    REFUSE(NET_RING, 4, 1, config.port_frame_bits = 0, "frame_bits: is 0");
    REFUSE(NET_RING, 4, 1, config.port_frame_bits = 30, "frame_bits: is 30, a line is 80 bits");
    REFUSE(NET_RING, 4, 1, config.port_frame_khz = 0, "frame_mhz: is 0");
    REFUSE(NET_RING, 4, 1, config.port_bit_error_rate = 2e-3, "port_bit_error_rate: is 0.002");
    REFUSE(NET_RING, 4, 1, config.flit_bytes = 256, "flit_bytes: is 256");
    REFUSE(NET_RING, 4, 1, config.port_frame_khz = 15, "frame_mhz: a line takes 4167 cycles");
    REFUSE(NET_RING, 4, 1, config.port_take_cycles = 5000, "take_cycles: a line takes 5000");
    REFUSE(NET_RING, 4, 1, config.slack_flits = 40000, "slack_flits: is 40000");
    REFUSE(NET_RING, 4, 1, config.link_cycles = 0, "link_cycles: is 0");
    REFUSE(NET_RING, 4, 1, config.credit_cycles = 0, "credit_cycles: is 0");
    REFUSE(NET_RING, 4, 1, config.nic_cycles = 0, "nic_cycles: is 0");
    REFUSE(NET_RING, 4, 1, config.route_cycles = 5000, "route_cycles: is 5000");
    REFUSE(NET_RING, 4, 1, config.flit_bytes = 0, "flit_bytes: is 0");
    REFUSE(NET_RING, 4, 1, config.clock_khz = 0, "clock_khz: is 0");
    REFUSE(NET_RING, 4, 1, config.bit_error_rate = 2e-4, "bit_error_rate: is 0.0002");
    REFUSE(NET_RING, 4, 1, config.bit_error_rate = -1, "bit_error_rate: is -1");
    REFUSE(NET_RING, 4, 1, config.frame_flits = 0, "frame_flits: is 0");
    REFUSE(NET_RING, 4, 1, config.frame_flits = 256, "frame_flits: is 256");
    REFUSE(NET_RING, 4, 1, (config.bit_error_rate = 1e-9, config.resend_cycles = 50),
           "resend_cycles: is 50, but an answer takes up to ");
}

static void large_nets_run(void **state)
{
    (void)state;
    const struct net_config configs[] = {shaped(NET_RING, 4096, 1), shaped(NET_TORUS, 64, 64)};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        struct net_user user = {.delivered = ignored};
        char error[NET_ERROR_BYTES];
        struct net *net = net_open(&configs[i], &user, error);
        assert_non_null(net);
        struct base_random random = {1};
        for (uint32_t node = 0; node < 4096; node++) {
            net_send(net, node, (uint32_t)base_random_below(&random, 4096), node % 2, 4, node);
        }
        for (uint32_t cycle = 0; cycle < 100000 && !net_is_empty(net); cycle++) {
            net_step(net);
        }
        assert_true(net_is_empty(net));
        net_close(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_net_takes_the_sum_of_its_delays),
        cmocka_unit_test(the_sum_is_what_the_delays_say),
        cmocka_unit_test(frames_add_what_can_be_summed_by_hand),
        cmocka_unit_test(small_buffers_are_foreseen),
        cmocka_unit_test(a_full_net_delivers_each_packet_once_in_order),
        cmocka_unit_test(small_nets_do_not_lock_up),
        cmocka_unit_test(a_seed_gives_the_same_run),
        cmocka_unit_test(a_link_carries_a_flit_in_a_cycle),
        cmocka_unit_test(a_link_is_shared_fairly),
        cmocka_unit_test(packets_go_the_shorter_way),
        cmocka_unit_test(links_are_listed),
        cmocka_unit_test(virtual_networks_do_not_wait_for_each_other),
        cmocka_unit_test(who_holds_a_channel_is_told),
        cmocka_unit_test(a_group_gets_it_once_each),
        cmocka_unit_test(groups_and_single_packets_share_a_full_ring),
        cmocka_unit_test(a_ring_without_a_dateline_is_caught),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(large_nets_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
