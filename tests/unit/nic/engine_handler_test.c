/* What the engine does with records that came. */
#include "engine_network.h"

/* ---- Handlers -------------------------------------------------------------------------- */

static void stores_of_all_lengths_and_places_arrive(void **state)
{
    struct net *net = *state;
    unsigned char *area = net_area(net, 1);
    for (uint16_t bytes = 1; bytes <= 8; bytes++) {
        for (uint64_t offset = 0; offset < 8; offset++) {
            memset(area, 0xee, 32);
            struct wire_operation store = {
                .opcode = WIRE_AOTF,
                .bytes = bytes,
                .area = NET_AREA,
                .offset = 8 + offset,
                .operand = UINT64_C(0x8877665544332211),
            };
            assert_true(net_hand_over(net, 0, WIRE_REQUEST, &store, 1));
            for (uint32_t i = 0; i < 32; i++) {
                bool inside = i >= 8 + offset && i < 8 + offset + bytes;
                assert_int_equal(area[i], inside ? 0x11 * (i - 8 - offset + 1) : 0xee);
            }
        }
    }
}

static void without_reply_room_nothing_is_done(void **state)
{
    struct net *net = *state;
    unsigned char data[8] = {9};
    struct wire_operation records[] = {
        {.opcode = WIRE_AOTF, .bytes = 8, .area = NET_AREA, .offset = 0, .operand = 5},
        {.opcode = WIRE_ATOMIC,
         .detail = WIRE_ADD,
         .bytes = 8,
         .area = NET_AREA,
         .offset = 8,
         .operand = 1},
        {.opcode = WIRE_ATOMIC,
         .detail = WIRE_ADD,
         .bytes = 8,
         .area = NET_AREA,
         .offset = 8,
         .tag = 7,
         .operand = 1},
        {.opcode = WIRE_BOTF, .bytes = 8, .area = NET_AREA, .offset = 16, .data = data},
    };
    net->no_reply_room = true;
    assert_false(net_hand_over(net, 0, WIRE_REQUEST, records, 4));
    assert_int_equal(net_word(net, 1, 0) + net_word(net, 1, 8) + net_word(net, 1, 16), 0);
    assert_int_equal(net->nodes[1].written_count, 0);
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, records, 2)); /* needs none */
    net->no_reply_room = false;
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, records, 4));
    assert_int_equal(net_word(net, 1, 8), 3);
    assert_int_equal(net_word(net, 1, 16), 9);
    struct wire_operation answer;
    struct net_packet *packet = net_oldest(net, &answer);
    assert_int_equal(packet->route.class, WIRE_REPLY);
    assert_int_equal(packet->route.channel, 3);
    assert_false(packet->route.ordered);
    assert_int_equal(answer.opcode, WIRE_FETCHED);
    assert_int_equal(answer.offset, 7);
    assert_int_equal(answer.operand, 2);
}

static void a_packet_that_no_engine_makes_is_refused_whole(void **state)
{
    struct net *net = *state;
    struct wire_operation store = {.opcode = WIRE_AOTF, .bytes = 8, .area = NET_AREA, .operand = 5};
    alignas(8) unsigned char body[64] = {0};
    wire_operation_encode(&store, body);
    assert_true(nic_engine_deliver(net_engine(net, 1), 0, 0, WIRE_REQUEST, 0, body, 32));
    assert_true(nic_engine_deliver(net_engine(net, 1), 0, 0, WIRE_REPLY, 0, body, 24));
    assert_int_equal(net_counters(net, 1)->refused, 2);
    /* More replies than one packet holds. */
    struct wire_operation pulls[2] = {
        {.opcode = WIRE_PULL, .bytes = NET_CHUNK_BYTES, .area = NET_AREA, .tag = 1},
        {.opcode = WIRE_PULL, .bytes = 8, .area = NET_AREA, .tag = 2},
    };
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, pulls, 2));
    assert_int_equal(net_counters(net, 1)->refused, 3);
    assert_int_equal(net_count(net, NET_QUEUED), 0);
    assert_int_equal(net_word(net, 1, 0), 0);
    /* Services, where there are none. */
    struct wire_operation service = {.opcode = WIRE_SERVICE, .detail = WIRE_LOCK};
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, &service, 1));
    assert_int_equal(net_counters(net, 1)->refused, 4);
}

static void a_block_outside_its_area_is_refused(void **state)
{
    struct net *net = *state;
    unsigned char data[8] = {9};
    struct wire_operation block = {.opcode = WIRE_BOTF,
                                   .bytes = 8,
                                   .area = NET_AREA,
                                   .offset = NET_AREA_BYTES - 7,
                                   .data = data};
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, &block, 1));
    block.opcode = WIRE_PUSH;
    block.offset = UINT64_MAX - 3;
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, &block, 1));
    block.area = 9;
    block.offset = 0;
    assert_true(net_hand_over(net, 0, WIRE_REQUEST, &block, 1));
    assert_int_equal(net_counters(net, 1)->refused, 3);
    assert_int_equal(net_counters(net, 1)->carried_out, 0);
    assert_int_equal(net->nodes[1].written_count, 0);
}

static void a_deregistered_area_is_forgotten(void **state)
{
    struct net *net = *state;
    uint64_t value = 1;
    assert_int_equal(nic_botf(net_engine(net, 0), 0, net_at(1, 0), &value, 8), 0);
    net_settle(net);
    net->nodes[1].stale_area = NET_AREA;
    nic_engine_forget_area(net_engine(net, 1), NET_AREA);
    assert_int_equal(nic_botf(net_engine(net, 0), 0, net_at(1, 8), &value, 8), 0);
    net_settle(net);
    assert_int_equal(net_word(net, 1, 8), 0);
    assert_int_equal(net_counters(net, 1)->refused, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_CASE(stores_of_all_lengths_and_places_arrive),
        NET_CASE(without_reply_room_nothing_is_done),
        NET_CASE(a_packet_that_no_engine_makes_is_refused_whole),
        NET_CASE(a_block_outside_its_area_is_refused),
        NET_CASE(a_deregistered_area_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
