/* Several groups on one NIC; stores of every width; remote reads by stores and by packets that
 * users make themselves; packets that only a core processor knows. */
#include "engine_network.h"

enum { OTHER_PGID = NET_PGID + 1, OTHER = 5, PLACE = 8192 };

/* Nodes whose core processors take packets that nobody else knows. */
static int make_net(void **state)
{
    struct net *net = net_new();
    for (uint16_t node = 0; node < NET_NODES; node++) {
        net->nodes[node].hands_over_unknown = true;
        net_start(net, node, &net_sizes);
        assert_int_equal(nic_user_set(net_engine(net, node), 0, 64), 0);
    }
    *state = net;
    return 0;
}

/* A second user on node 0, of another group. */
static struct nic_engine *with_other_user(struct net *net)
{
    struct nic_engine *engine = net_engine(net, 0);
    assert_int_equal(nic_user_set(engine, OTHER, 16), 0);
    assert_int_equal(nic_user_group(engine, OTHER, OTHER_PGID), 0);
    return engine;
}

/* ---- Groups ---------------------------------------------------------------------------- */

static void a_group_reaches_only_its_own_areas(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = with_other_user(net);
    static const unsigned char block[16] = {1, 2, 3};
    static unsigned char back[8];
    struct nic_completion pull = {0};
    uint64_t mine;
    uint64_t others;
    net->nodes[1].area_pgid = NET_PGID;
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 0), false, &mine), 0);
    assert_int_equal(nic_kick_open(engine, OTHER, net_at(1, 0), false, &others), 0);
    assert_int_equal(nic_aotf(engine, 0, mine + 8, 11, 8), 0);
    assert_int_equal(nic_aotf(engine, OTHER, others + 16, 22, 8), 0);
    assert_int_equal(nic_botf(engine, OTHER, net_at(1, 24), block, sizeof block), 0);
    assert_int_equal(nic_pull(engine, OTHER, net_at(1, 8), back, sizeof back, &pull), 0);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 8), 11);
    assert_int_equal(net_word(net, 1, 16), 0);
    assert_int_equal(net_word(net, 1, 24), 0);
    assert_true(nic_completion_is_done(&pull));
    assert_int_equal(pull.result, DN_ERIGHTS);
    assert_int_equal(back[0], 0);
    assert_int_equal(net_counters(net, 1)->refused, 3);
    assert_int_equal(net_counters(net, 1)->foreign, 3);
}

/* Nobody can store by another user's page, and a group does not change under a page. */
static void a_user_cannot_borrow_a_group(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = with_other_user(net);
    uint64_t kick;
    assert_int_equal(nic_kick_open(engine, OTHER, net_at(1, 0), false, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick, 1, 8), DN_EINVAL);
    assert_int_equal(nic_user_group(engine, OTHER, NET_PGID), DN_EBUSY);
    assert_int_equal(nic_kick_close(engine, kick), 0);
    assert_int_equal(nic_user_group(engine, OTHER, NET_PGID), 0);
    assert_int_equal(nic_user_group(engine, OTHER, 0), DN_EINVAL);
    assert_int_equal(nic_user_group(engine, NIC_USERS, 1), DN_EINVAL);
}

static void packets_say_whose_they_are(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = with_other_user(net);
    static const unsigned char block[8];
    assert_int_equal(nic_botf(engine, OTHER, net_at(1, 0), block, sizeof block), 0);
    net_run_engines(net);
    assert_int_equal(net_oldest(net, NULL)->route.pgid, OTHER_PGID);
    net_settle(net);
    assert_int_equal(nic_botf(engine, 0, net_at(1, 0), block, sizeof block), 0);
    net_run_engines(net);
    assert_int_equal(net_oldest(net, NULL)->route.pgid, NET_PGID);
}

/* ---- Widths ---------------------------------------------------------------------------- */

/* All lengths at all places within 8 bytes that the bus can name; nothing beside them changes. */
static void a_store_has_any_width(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t kick;
    assert_int_equal(nic_kick_open(engine, 0, net_at(1, 0), false, &kick), 0);
    for (unsigned bytes = 1; bytes <= 8; bytes++) {
        for (unsigned at = 0; at < 8; at++) {
            bool fits = at + bytes <= 8 && ((bytes & (bytes - 1)) != 0 || at % bytes == 0);
            unsigned char *word = net_area(net, 1) + 64;
            memset(word, 0xee, 8);
            int result = nic_aotf(engine, 0, kick + 64 + at, UINT64_C(0x0807060504030201), bytes);
            assert_int_equal(result, fits ? 0 : DN_EALIGN);
            net_settle(net);
            for (unsigned i = 0; i < 8; i++) {
                bool is_stored = fits && i >= at && i < at + bytes;
                assert_int_equal(word[i], is_stored ? i - at + 1 : 0xee);
            }
        }
    }
}

/* ---- Reads ----------------------------------------------------------------------------- */

static void a_store_to_a_page_for_reads_reads(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char *here = net->nodes[0].memory;
    uint64_t kick;
    for (unsigned i = 0; i < 64; i++) {
        net_area(net, 1)[i] = (unsigned char)(i + 1);
    }
    assert_int_equal(nic_kick_open_read(engine, 0, net_at(1, 0), PLACE, &kick), 0);
    for (unsigned bytes = 1; bytes <= 8; bytes++) {
        memset(here + PLACE, 0, 64);
        assert_int_equal(nic_aotf(engine, 0, kick + 8, 40, bytes), 0);
        net_settle(net);
        for (unsigned i = 0; i < 64; i++) {
            bool is_read = i >= 40 && i < 40 + bytes;
            assert_int_equal(here[PLACE + i], is_read ? 9 + i - 40 : 0);
        }
        assert_int_equal(net->nodes[0].written_offset, PLACE + 40);
        assert_int_equal(net->nodes[0].written_bytes, bytes);
    }
    /* The target's memory is as it was. */
    assert_int_equal(net_area(net, 1)[8], 9);
}

/* The value names a place in the page that the kernel gave, whatever its other bits are. */
static void an_answer_stays_in_its_page(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    uint64_t kick;
    assert_int_equal(nic_kick_open_read(engine, 0, net_at(1, 0), 8, &kick), DN_EALIGN);
    assert_int_equal(nic_kick_open_read(engine, 0, net_at(1, 0), NET_MEMORY_BYTES, &kick),
                     DN_ERANGE);
    assert_int_equal(nic_kick_open_read(engine, 0, net_at(1, 0), PLACE, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick, 4089, 8), DN_ERANGE);
    net_area(net, 1)[0] = 77;
    assert_int_equal(nic_aotf(engine, 0, kick, UINT64_C(0x7ffff000) + 16, 1), 0);
    net_settle(net);
    assert_int_equal(net->nodes[0].memory[PLACE + 16], 77);
}

static void a_read_that_is_refused_is_told_by_quiet(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    struct nic_completion quiet = {0};
    uint64_t kick;
    net->nodes[1].denied = DN_READ;
    assert_int_equal(nic_kick_open_read(engine, 0, net_at(1, 0), PLACE, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick, 0, 8), 0);
    assert_int_equal(nic_kick_close(engine, kick), DN_EBUSY);
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    net_settle(net);
    assert_true(nic_completion_is_done(&quiet));
    assert_int_equal(quiet.result, DN_ERIGHTS);
    assert_int_equal(net->nodes[0].written_count, 0);
}

static void a_read_of_a_lost_peer_is_over(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    struct nic_completion quiet = {0};
    uint64_t kick;
    assert_int_equal(nic_kick_open_read(engine, 0, net_at(1, 0), PLACE, &kick), 0);
    assert_int_equal(nic_aotf(engine, 0, kick, 0, 8), 0);
    nic_engine_run(engine, 0);
    assert_true(nic_engine_awaits_replies(engine));
    assert_int_equal(nic_quiet(engine, 0, &quiet), 0);
    net_kill(net, 1);
    net_settle(net);
    assert_false(nic_engine_awaits_replies(engine));
    assert_true(nic_completion_is_done(&quiet));
    assert_int_equal(quiet.result, DN_EPEER);
}

/* ---- Packets of users -------------------------------------------------------------------- */

static uint32_t make_packet(const struct wire_operation *operation, unsigned char *packet)
{
    wire_operation_encode(operation, packet);
    return wire_operation_bytes(operation);
}

static void a_user_makes_its_own_block(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char packet[NIC_BODY_BYTES_MIN];
    unsigned char data[WIRE_BOTF_BYTES_MAX];
    memset(data, 0x5a, sizeof data);
    const struct wire_operation block = {.opcode = WIRE_BOTF,
                                         .bytes = WIRE_BOTF_BYTES_MAX,
                                         .area = NET_AREA,
                                         .offset = 256,
                                         .data = data};
    uint32_t bytes = make_packet(&block, packet);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, bytes), 0);
    memset(packet, 0, sizeof packet); /* it may be reused at once */
    net_settle(net);
    assert_memory_equal(net_area(net, 1) + 256, data, sizeof data);
}

static void a_user_makes_its_own_read(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char packet[NIC_BODY_BYTES_MIN];
    struct wire_operation read = {.opcode = WIRE_PULL,
                                  .bytes = 300,
                                  .area = NET_AREA,
                                  .offset = 64,
                                  .tag = (uint64_t)NET_AREA << 32 | 1000};
    memset(net_area(net, 1) + 64, 0x66, 300);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, make_packet(&read, packet)), 0);
    net_settle(net);
    assert_memory_equal(net_area(net, 0) + 1000, net_area(net, 1) + 64, 300);
    assert_int_equal(net_area(net, 0)[999] | net_area(net, 0)[1300], 0);
    read.tag = (uint64_t)NET_AREA << 32 | (NET_AREA_BYTES - 8);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, make_packet(&read, packet)), DN_ERANGE);
    read.tag = UINT64_C(99) << 32;
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, make_packet(&read, packet)), DN_EAREA);
    net->nodes[0].area_pgid = OTHER_PGID;
    nic_engine_forget_area(engine, NET_AREA);
    read.tag = (uint64_t)NET_AREA << 32;
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, make_packet(&read, packet)), DN_ERIGHTS);
}

/* What the NIC and its services send, a user cannot: stores without translation, grants,
 * answers. */
static void a_user_cannot_forge_the_nics_own_packets(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char packet[32] = {0};
    static const uint8_t opcodes[] = {WIRE_AOTF,   WIRE_PUSH,    WIRE_ATOMIC,  WIRE_SERVICE,
                                      WIRE_PULLED, WIRE_FETCHED, WIRE_REFUSED, WIRE_SERVED};
    for (unsigned i = 0; i < sizeof opcodes; i++) {
        packet[0] = opcodes[i];
        assert_int_equal(nic_botf_packet(engine, 0, 1, packet, sizeof packet), DN_ERIGHTS);
    }
    packet[0] = 99;
    assert_int_equal(nic_botf_packet(engine, 0, NET_NODES, packet, 32), DN_ERANK);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, 12), DN_EINVAL);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, 20), DN_EINVAL);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, 488), DN_EINVAL);
    assert_int_equal(net_counters(net, 0)->transactions, 0);
}

/* Behind a block a second record would be carried out like any other: a store to a physical
 * address, say. */
static void a_users_packet_is_one_record(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char packet[NIC_BODY_BYTES_MIN] = {0};
    const unsigned char data[8] = {1};
    const struct wire_operation block = {
        .opcode = WIRE_BOTF, .bytes = sizeof data, .area = NET_AREA, .data = data};
    const struct wire_operation store = {
        .opcode = WIRE_AOTF, .detail = WIRE_SKIP, .bytes = 8, .offset = 512, .operand = 7};
    uint32_t bytes = make_packet(&block, packet);
    bytes += make_packet(&store, packet + bytes);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, bytes), DN_EINVAL);
    bytes = make_packet(&block, packet);
    bytes += make_packet(&block, packet + bytes);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, bytes), DN_EINVAL);
    net_settle(net);
    assert_int_equal(net->nodes[1].written_count, 0);
    assert_int_equal(net_counters(net, 1)->address_skips, 0);
}

static void an_unknown_packet_is_the_core_processors(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = with_other_user(net);
    unsigned char packet[32] = {99, 1, 2, 3};
    assert_int_equal(nic_botf_packet(engine, OTHER, 1, packet, sizeof packet), 0);
    net_settle(net);
    assert_int_equal(net->nodes[1].unknown_count, 1);
    assert_int_equal(net->nodes[1].unknown_pgid, OTHER_PGID);
    assert_memory_equal(net->nodes[1].unknown, packet, sizeof packet);
    assert_int_equal(net_counters(net, 1)->unknown, 1);
    assert_int_equal(net_counters(net, 1)->refused, 0);
    /* A block whose length is a lie is none that the hard-wired part knows either. */
    packet[0] = WIRE_BOTF;
    packet[1] = 0;
    packet[2] = 200;
    packet[3] = 0;
    assert_int_equal(nic_botf_packet(engine, OTHER, 1, packet, sizeof packet), 0);
    net_settle(net);
    assert_int_equal(net->nodes[1].unknown_count, 2);
    assert_int_equal(net->nodes[1].written_count, 0);
}

/* A window is free again whatever was in it. */
static void packets_of_users_use_windows(void **state)
{
    struct net *net = *state;
    struct nic_engine *engine = net_engine(net, 0);
    unsigned char packet[16] = {99};
    uint32_t count = 0;
    while (nic_botf_packet(engine, 0, 1, packet, sizeof packet) == 0) {
        count++;
    }
    assert_int_equal(count, NIC_WINDOWS / 2);
    net_settle(net);
    assert_int_equal(net->nodes[1].unknown_count, count);
    assert_int_equal(nic_botf_packet(engine, 0, 1, packet, sizeof packet), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_group_reaches_only_its_own_areas, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_user_cannot_borrow_a_group, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(packets_say_whose_they_are, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_store_has_any_width, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_store_to_a_page_for_reads_reads, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(an_answer_stays_in_its_page, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_read_that_is_refused_is_told_by_quiet, make_net,
                                        net_unmake),
        cmocka_unit_test_setup_teardown(a_read_of_a_lost_peer_is_over, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_user_makes_its_own_block, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_user_makes_its_own_read, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(a_user_cannot_forge_the_nics_own_packets, make_net,
                                        net_unmake),
        cmocka_unit_test_setup_teardown(a_users_packet_is_one_record, make_net, net_unmake),
        cmocka_unit_test_setup_teardown(an_unknown_packet_is_the_core_processors, make_net,
                                        net_unmake),
        cmocka_unit_test_setup_teardown(packets_of_users_use_windows, make_net, net_unmake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
