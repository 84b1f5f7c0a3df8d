/* Packets bit by bit: headers that decide, replies by the way back in them, and wrong bits at the
 * ports: one of a line is corrected, two lose the packet, and no other. */
#include "net_world.h"

#include <math.h>

/* ---- Headers -------------------------------------------------------------------------------- */

static struct net_config boards(uint32_t nodes, enum net_swif swif)
{
    struct net_config config;
    net_config_default(&config, nodes);
    net_config_swif(&config, swif);
    return config;
}

struct hearing {
    struct net *net;
    struct net_delivery last;
    uint64_t cycle;
    uint32_t count, lost;
};

static void hear(void *context, uint64_t cycle, const struct net_delivery *delivery)
{
    struct hearing *hearing = context;
    hearing->last = *delivery;
    hearing->cycle = cycle;
    hearing->count++;
}

static void miss(void *context, uint64_t cycle, const struct net_delivery *packet, uint32_t count)
{
    struct hearing *hearing = context;
    (void)cycle;
    hearing->last = *packet;
    hearing->lost += count;
}

static void open_hearing(struct hearing *hearing, const struct net_config *config)
{
    struct net_user user = {.context = hearing, .delivered = hear, .lost = miss};
    char error[NET_ERROR_BYTES];
    *hearing = (struct hearing){.net = net_open(config, &user, error)};
    assert_non_null(hearing->net);
}

static void run(struct hearing *hearing)
{
    for (uint32_t i = 0; !net_is_empty(hearing->net); i++) {
        net_step(hearing->net);
        assert_true(i < 100000);
    }
}

/* Changes the header of the only packet, which is still at its NIC. */
static void write_header(struct hearing *hearing, const struct wire_ring_header *header)
{
    assert_int_equal(hearing->net->packets.taken, 1);
    wire_ring_header_encode(header, net_packet(hearing->net, 0)->content.header);
}

static void the_bits_of_the_header_decide(void **state)
{
    (void)state;
    struct net_config config = boards(8, NET_SW2B);
    struct hearing hearing;
    for (uint16_t router = 0; router < 8; router++) {
        for (unsigned direction = WIRE_LEFT; direction <= WIRE_RIGHT; direction++) {
            open_hearing(&hearing, &config);
            net_send(hearing.net, 2, 3, 0, 8, 9);
            write_header(&hearing, &(struct wire_ring_header){.mode = WIRE_SW2,
                                                              .router = router,
                                                              .direction = direction,
                                                              .return_router = 2});
            run(&hearing);
            uint32_t links = (direction == WIRE_RIGHT ? router + 8u - 2u : 2u + 8u - router) % 8;
            assert_int_equal(hearing.count, 1);
            assert_int_equal(hearing.last.target, router);
            assert_int_equal(hearing.last.hops, links + 1);
            /* As long as over that many links on a ring so large that this is the shorter way. */
            struct net_config large = boards(64, NET_SW2B);
            assert_int_equal(hearing.cycle, net_zero_load_cycles(&large, 0, links, 8));
            net_close(hearing.net);
        }
    }
    /* A header that is none, and one that names no router of this ring: the first router ends
     * it. */
    for (uint32_t round = 0; round < 2; round++) {
        open_hearing(&hearing, &config);
        net_send(hearing.net, 2, 3, 0, 80, 9);
        write_header(&hearing, &(struct wire_ring_header){.mode = WIRE_SW2, .router = 8});
        if (round == 0) {
            memset(net_packet(hearing.net, 0)->content.header, 0, WIRE_LINE_DATA_BYTES);
        }
        run(&hearing);
        assert_int_equal(hearing.count, 0);
        assert_int_equal(hearing.lost, 1);
        assert_int_equal(hearing.last.tag, 9);
        net_check(hearing.net);
        net_close(hearing.net);
    }
}

/* In meshes a header may point off the edge. */
static void a_header_that_leads_off_the_edge_ends_there(void **state)
{
    (void)state;
    struct net_config config = shaped(NET_MESH, 4, 3);
    struct hearing hearing;
    open_hearing(&hearing, &config);
    net_send(hearing.net, 5, 6, 0, 20, 1);
    write_header(&hearing,
                 &(struct wire_ring_header){
                     .mode = WIRE_SW2, .router = 6, .direction = WIRE_LEFT, .return_router = 5});
    run(&hearing);
    assert_int_equal(hearing.count, 0);
    assert_int_equal(hearing.lost, 1);
    net_check(hearing.net);
    net_close(hearing.net);
}

/* A reply goes where the header says that came with the request, in the second virtual network, and
 * a reply to that is a request's way again. */
static void replies_take_the_way_back(void **state)
{
    (void)state;
    for (unsigned swif = NET_SW2A; swif < NET_SWIFS; swif++) {
        for (uint32_t shape = NET_RING; shape <= NET_TORUS; shape += NET_TORUS - NET_RING) {
            struct net_config config = shaped(shape, 6, shape == NET_RING ? 1 : 4);
            net_config_swif(&config, swif);
            struct hearing hearing;
            open_hearing(&hearing, &config);
            for (uint32_t target = 0; target < config.width * config.height; target++) {
                net_send(hearing.net, 3, target, 0, 4, 1);
                run(&hearing);
                struct net_delivery request = hearing.last;
                struct wire_ring_header header;
                assert_true(wire_ring_header_decode(request.header, config.width * config.height, 1,
                                                    &header));
                /* In OIP mode the router has turned it round. */
                assert_int_equal(header.mode, swif == NET_OIP ? WIRE_OIP : WIRE_SW2);
                assert_int_equal(header.router, swif == NET_OIP ? 3 : target);
                assert_int_equal(header.return_router, swif == NET_OIP ? target : 3);
                assert_true(net_reply(hearing.net, target, request.header, 30, 2));
                run(&hearing);
                assert_int_equal(hearing.last.tag, 2);
                assert_int_equal(hearing.last.source, target);
                assert_int_equal(hearing.last.target, 3);
                assert_int_equal(hearing.last.virtual_network, 1);
                assert_int_equal(hearing.last.hops, net_hops(&config, target, 3));
                assert_true(net_reply(hearing.net, 3, hearing.last.header, 30, 3));
                run(&hearing);
                assert_int_equal(hearing.last.target, target);
            }
            assert_int_equal(hearing.lost, 0);
            net_close(hearing.net);
        }
    }
}

/* Sends a packet from node 2 of 8, to a node or to the four members of line 1 of the tables, with
 * another header than its sender's. */
static void send_wrong(struct hearing *hearing, bool to_group,
                       const struct wire_ring_header *header)
{
    static const uint32_t members[] = {0, 2, 3, 5};
    struct net_config config = boards(8, NET_SW2B);
    open_hearing(hearing, &config);
    net_group_set(hearing->net, 1, members, 4);
    if (to_group) {
        net_send_group(hearing->net, 2, 1, 0, 8, 9);
    } else {
        net_send(hearing->net, 2, 3, 0, 8, 9);
    }
    write_header(hearing, header);
    run(hearing);
    net_check(hearing->net);
    struct net_counters counters;
    net_counters(hearing->net, &counters);
    assert_int_equal(counters.packets_lost, hearing->lost);
    net_close(hearing->net);
}

/* Whatever a wrong header makes of a packet: what its sender wanted comes or is lost. */
static void deliveries_that_a_wrong_header_leaves_out_are_lost(void **state)
{
    (void)state;
    struct hearing hearing;
    struct wire_ring_header header = {
        .mode = WIRE_SW2, .direction = WIRE_RIGHT, .multicast = true, .return_router = 2};
    header.router = 5; /* a line that nobody has set */
    send_wrong(&hearing, false, &header);
    assert_int_equal(hearing.count, 0);
    assert_int_equal(hearing.lost, 1);
    send_wrong(&hearing, true, &header);
    assert_int_equal(hearing.count, 0);
    assert_int_equal(hearing.lost, 4);
    header.router = 1;
    send_wrong(&hearing, false, &header); /* more than were wanted */
    assert_int_equal(hearing.count, 4);
    assert_int_equal(hearing.lost, 0);
    header.return_router = 4; /* where it ends now: members 5, 0 and 2 are further on */
    send_wrong(&hearing, true, &header);
    assert_int_equal(hearing.count, 1);
    assert_int_equal(hearing.lost, 3);
    header = (struct wire_ring_header){
        .mode = WIRE_SW2, .router = 6, .direction = WIRE_RIGHT, .return_router = 2};
    send_wrong(&hearing, true, &header);
    assert_int_equal(hearing.count, 1);
    assert_int_equal(hearing.lost, 3);
}

static void a_header_without_a_way_back_is_not_answered(void **state)
{
    (void)state;
    struct net_config config = boards(8, NET_OIP);
    struct hearing hearing;
    unsigned char request[WIRE_LINE_DATA_BYTES] = {0};
    open_hearing(&hearing, &config);
    assert_false(net_reply(hearing.net, 3, request, 30, 1));
    /* Replies go to one node, also where a router has turned the header round. */
    struct wire_ring_header header = {
        .mode = WIRE_OIP, .router = 2, .multicast = true, .return_router = 3};
    wire_ring_header_encode(&header, request);
    assert_false(net_reply(hearing.net, 3, request, 30, 1));
    assert_true(net_is_empty(hearing.net));
    header.multicast = false;
    wire_ring_header_encode(&header, request);
    assert_true(net_reply(hearing.net, 3, request, 30, 1));
    run(&hearing);
    assert_int_equal(hearing.count, 1);
    assert_int_equal(hearing.last.target, 2);
    net_close(hearing.net);
}

/* ---- Contents ------------------------------------------------------------------------------- */

static void lines_and_flits_hold_the_same_bytes(void **state)
{
    (void)state;
    for (uint32_t bytes = 1; bytes < 200; bytes++) {
        const struct net_content content = {
            .serial = bytes, .bytes = bytes, .header = {1, 2, 3, 4, 5, 6, 7, 8}};
        unsigned char whole[256];
        net_content_get(&content, 0, sizeof whole, whole);
        assert_memory_equal(whole, content.header, bytes < 8 ? bytes : 8);
        for (uint32_t i = 0; i < net_lines(bytes); i++) {
            struct wire_line line = net_content_line(&content, i, false);
            uint32_t used = bytes - 8 * i < 8 && i > 0 ? bytes - 8 * i : 8;
            assert_memory_equal(line.data, whole + 8 * i, 8);
            assert_int_equal(line.bytes, used);
            unsigned char encoded[WIRE_LINE_BYTES];
            wire_line_encode(&line, encoded); /* it is a line */
        }
        for (uint32_t at = 0; at < bytes; at += 12) {
            unsigned char flit[12];
            net_content_get(&content, at, 12, flit);
            assert_memory_equal(flit, whole + at, 12);
        }
    }
}

/* ---- Wrong bits ----------------------------------------------------------------------------- */

/* Finds errors that make two bits of a line wrong, and none before it and for long behind it. */
static struct bit_errors two_wrong_bits(uint32_t line)
{
    for (uint64_t seed = 0;; seed++) {
        struct bit_errors errors;
        bit_errors_init(&errors, 1e-3, seed);
        const struct bit_errors found = errors;
        uint64_t at = 0, place;
        uint32_t wrong = 0;
        uint32_t elsewhere = 0;
        while (bit_errors_next(&errors, UINT64_C(50) * WIRE_LINE_BITS, &at, &place)) {
            wrong += place / WIRE_LINE_BITS == line;
            elsewhere += place / WIRE_LINE_BITS != line;
        }
        if (wrong == 2 && elsewhere == 0) {
            return found;
        }
    }
}

/* A router cannot send on what it cannot read the header of; whatever else it cannot read, the head
 * is on its way, and the target's NIC drops the packet. */
static void a_router_swallows_a_packet_whose_header_it_cannot_read(void **state)
{
    (void)state;
    enum { FLITS = 10, ROUTERS = 4 };
    struct net_config config = boards(8, NET_SW2B);
    for (uint32_t line = 0; line < 15; line++) {
        struct hearing hearing;
        struct net_counters counters;
        open_hearing(&hearing, &config);
        hearing.net->port_errors = two_wrong_bits(line);
        net_send(hearing.net, 1, 4, 0, FLITS, 7);
        run(&hearing);
        net_counters(hearing.net, &counters);
        assert_int_equal(hearing.count, 0);
        assert_int_equal(hearing.lost, 1);
        assert_int_equal(hearing.last.tag, 7);
        assert_int_equal(counters.lines_damaged, 1);
        assert_int_equal(counters.flit_hops, line == 0 ? 0 : FLITS * ROUTERS);
        net_check(hearing.net);
        net_close(hearing.net);
    }
}

static void expect_balance(double rate, struct net_counters *counters)
{
    enum { PACKETS = 20000, FLITS = 10, LINES = 15 };
    struct net_config config = boards(8, rate > 5e-4 ? NET_OIP : NET_SW2B);
    config.port_bit_error_rate = rate;
    struct hearing hearing;
    open_hearing(&hearing, &config);
    struct base_random random = {3};
    for (uint32_t i = 0; i < PACKETS; i++) {
        net_send(hearing.net, (uint32_t)base_random_below(&random, 8),
                 (uint32_t)base_random_below(&random, 8), i % 2, FLITS, i);
        if (i % 100 == 0) {
            run(&hearing);
        }
    }
    run(&hearing);
    net_check(hearing.net);
    net_counters(hearing.net, counters);
    assert_int_equal(hearing.count + hearing.lost, PACKETS);
    assert_int_equal(counters->packets_delivered, hearing.count);
    assert_int_equal(counters->packets_lost, hearing.lost);
    /* Each line passes two ports; of its 80 bits one is wrong, or two. */
    double lines = 2.0 * PACKETS * LINES;
    double once = lines * 80 * rate * pow(1 - rate, 79);
    double twice = lines * 80 * 79 / 2 * rate * rate;
    assert_true(fabs((double)counters->lines_corrected - once) <= 6 * sqrt(once) + once / 50);
    assert_true(fabs((double)counters->lines_damaged - twice) < 6 * sqrt(twice) + twice / 10 + 1);
    /* A damaged line loses its packet, and nothing else does. */
    assert_true(counters->packets_lost <= counters->lines_damaged);
    assert_true((double)counters->packets_lost > 0.8 * (double)counters->lines_damaged - 1);
    assert_true((double)counters->lines_wrong < 1 + (double)counters->lines_damaged / 2);
    net_close(hearing.net);
}

static void one_bit_is_corrected_and_two_lose_the_packet(void **state)
{
    (void)state;
    struct net_counters counters;
    expect_balance(0, &counters);
    assert_int_equal(counters.lines_corrected, 0);
    expect_balance(1e-6, &counters);
    assert_true(counters.lines_corrected > 10 && counters.packets_lost == 0);
    expect_balance(1e-4, &counters);
    assert_true(counters.lines_corrected > 1000 && counters.packets_lost > 5);
    expect_balance(1e-3, &counters);
    assert_true(counters.lines_wrong > 0);
}

/* With links that damage frames and die as well, what is not lost at a port comes once, in
 * order. */
static void errors_of_ports_and_links_do_not_mix(void **state)
{
    (void)state;
    struct net_config config = boards(5, NET_SW2B);
    config.port_bit_error_rate = 1e-4;
    config.bit_error_rate = 1e-5;
    struct world world;
    open_world(&world, &config);
    struct base_random random = {8};
    for (uint32_t i = 0; i < 4000; i++) {
        send_one(&world, (uint32_t)base_random_below(&random, 5),
                 (uint32_t)base_random_below(&random, 5), i % 2,
                 1 + (uint32_t)base_random_below(&random, 20));
        for (uint32_t step = 0; step < 20; step++) {
            net_step(world.net);
        }
        if (i % 500 == 400) {
            net_link_set(world.net, 1, 2, false);
        } else if (i % 500 == 420) {
            net_link_set(world.net, 1, 2, true);
        }
    }
    drain(&world);
    struct net_counters counters;
    net_counters(world.net, &counters);
    uint64_t come = 0;
    for (uint64_t tag = 0; tag < world.sent_count; tag++) {
        come += world.sent[tag].deliveries;
    }
    assert_int_equal(come, counters.packets_delivered);
    assert_int_equal(come + counters.packets_lost, 4000);
    assert_true(counters.lines_corrected > 100 && counters.frames_resent > 20);
    assert_int_equal(counters.frames_wrong, 0);
    close_world(&world);
}

/* A multicast whose header cannot be read is lost for all members, one whose line cannot on the way
 * to one of them for that one. */
static void a_lost_multicast_is_counted_for_each_member(void **state)
{
    (void)state;
    struct net_config config = boards(6, NET_SW2B);
    config.port_bit_error_rate = 1e-3;
    struct hearing hearing;
    open_hearing(&hearing, &config);
    const uint32_t members[] = {0, 2, 3, 5};
    net_group_set(hearing.net, 1, members, 4);
    for (uint32_t i = 0; i < 3000; i++) {
        net_send_group(hearing.net, i % 6, 1, 0, 6, i);
        run(&hearing);
    }
    assert_int_equal(hearing.count + hearing.lost, 4 * 3000);
    assert_true(hearing.lost > 100);
    net_close(hearing.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bits_of_the_header_decide),
        cmocka_unit_test(a_header_that_leads_off_the_edge_ends_there),
        cmocka_unit_test(replies_take_the_way_back),
        cmocka_unit_test(deliveries_that_a_wrong_header_leaves_out_are_lost),
        cmocka_unit_test(a_header_without_a_way_back_is_not_answered),
        cmocka_unit_test(lines_and_flits_hold_the_same_bytes),
        cmocka_unit_test(a_router_swallows_a_packet_whose_header_it_cannot_read),
        cmocka_unit_test(one_bit_is_corrected_and_two_lose_the_packet),
        cmocka_unit_test(errors_of_ports_and_links_do_not_mix),
        cmocka_unit_test(a_lost_multicast_is_counted_for_each_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
