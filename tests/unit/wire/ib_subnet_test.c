/* Attributes of subnet management: fields where InfiniBand has them, and all of them both ways. */
#include "base/random.h"
#include "unit/unit.h"
#include "wire/ib_subnet.h"

static struct base_random source_of_chance = {.state = 77};

static void fill(unsigned char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (unsigned char)base_random_below(&source_of_chance, 256);
    }
}

static void port_info_has_its_bits(void **state)
{
    (void)state;
    unsigned char bytes[64];
    const struct wire_ib_port_info info = {
        .lid = 0x1234,
        .capability_mask = WIRE_IB_CAN_BE_SM,
        .speed_supported = 1,
        .state = WIRE_IB_STATE_ACTIVE,
        .physical_state = WIRE_IB_PHYSICAL_LINK_UP,
        .down_default_state = 2,
        .mkey_protect = 3,
        .lmc = 7,
        .neighbor_mtu = 4,
        .sm_sl = 9,
        .vl_cap = 3,
        .mtu_cap = 5,
        .hoq_life = 0x12,
        .vl_stall_count = 7,
        .operational_vls = 3,
        .filter_raw_outbound = 1,
        .client_reregister = 1,
        .subnet_timeout = 18,
        .response_time = 0xff,
        .round_trip_latency = 0xffffffff,
        .speed_ext_enabled = 0x1f,
    };
    memset(bytes, 0xff, sizeof bytes);
    wire_ib_port_info_encode(&info, bytes);
    assert_int_equal(bytes[16] << 8 | bytes[17], 0x1234);
    assert_int_equal(bytes[23], 2);
    assert_int_equal(bytes[32], 0x14);
    assert_int_equal(bytes[33], 0x52);
    assert_int_equal(bytes[34], 0xc7);
    assert_int_equal(bytes[36], 0x49);
    assert_int_equal(bytes[37], 0x30);
    assert_int_equal(bytes[41], 0x05);
    assert_int_equal(bytes[42], 0xf2);
    assert_int_equal(bytes[43], 0x31);
    assert_int_equal(bytes[51], 0x92);
    assert_int_equal(bytes[52], 0x1f);
    assert_int_equal(bytes[56], 0);
    assert_int_equal(bytes[57], 0xff);
    assert_int_equal(bytes[63], 0x1f);
}

static void node_and_switch_info_have_their_bits(void **state)
{
    (void)state;
    unsigned char bytes[64];
    wire_ib_node_info_encode(
        &(struct wire_ib_node_info){
            .node_type = WIRE_IB_SWITCH,
            .port_count = 24,
            .node_guid = 0x0102030405060708,
            .port_guid = 0xa1,
            .partition_cap = 32,
            .local_port = 7,
            .vendor_id = 0x00123456,
        },
        bytes);
    assert_int_equal(bytes[2], 2);
    assert_int_equal(bytes[3], 24);
    assert_int_equal(bytes[12], 1);
    assert_int_equal(bytes[27], 0xa1);
    assert_int_equal(bytes[29], 32);
    assert_int_equal(bytes[36], 7);
    assert_int_equal(bytes[37], 0x12);
    assert_int_equal(bytes[39], 0x56);
    wire_ib_switch_info_encode(
        &(struct wire_ib_switch_info){
            .linear_cap = 0xbfff,
            .linear_top = 0x0102,
            .life_time_value = 18,
            .port_state_change = 1,
            .optimized_sl_to_vl = 1,
            .enhanced_port_0 = 1,
            .multicast_top = 0xc001,
        },
        bytes);
    assert_int_equal(bytes[0], 0xbf);
    assert_int_equal(bytes[7], 2);
    assert_int_equal(bytes[11], 0x95);
    assert_int_equal(bytes[16], 8);
    assert_int_equal(bytes[18], 0xc0);
}

static void traps_have_their_bytes(void **state)
{
    (void)state;
    unsigned char bytes[64];
    struct wire_ib_notice notice = {.is_generic = 1,
                                    .type = WIRE_IB_NOTICE_URGENT,
                                    .producer = WIRE_IB_SWITCH,
                                    .trap = WIRE_IB_TRAP_LINK_STATE,
                                    .issuer_lid = 5,
                                    .count = 3,
                                    .toggle = 1,
                                    .lid = 6};
    struct wire_ib_notice read;
    wire_ib_notice_encode(&notice, bytes);
    static const unsigned char link_state[16] = {0x81, 0, 0, 2, 0, 128, 0, 5, 0x80, 3, 0, 6};
    assert_memory_equal(bytes, link_state, sizeof link_state);
    wire_ib_notice_decode(bytes, &read);
    assert_int_equal(read.lid, 6);
    notice.trap = WIRE_IB_TRAP_CAPABILITY;
    notice.capability_mask = 0x01020304;
    wire_ib_notice_encode(&notice, bytes);
    static const unsigned char capability[20] = {0x81, 0, 0, 2, 0, 144, 0, 5, 0x80, 3,
                                                 0,    0, 0, 6, 0, 0,   1, 2, 3,    4};
    assert_memory_equal(bytes, capability, sizeof capability);
    wire_ib_notice_decode(bytes, &read);
    assert_int_equal(read.capability_mask, 0x01020304);
    assert_int_equal(read.toggle, 1);
}

/* Any bytes, decoded and encoded twice, give the same: nothing is read where it is not written. */
#define STAYS(type, name)                                \
    do {                                                 \
        struct type one = {0}, two = {0};                \
        fill(bytes, sizeof bytes);                       \
        name##_decode(bytes, &one);                      \
        name##_encode(&one, again);                      \
        name##_decode(again, &two);                      \
        assert_memory_equal(&one, &two, sizeof one);     \
        unsigned char third[64];                         \
        name##_encode(&two, third);                      \
        assert_memory_equal(again, third, sizeof third); \
        for (uint32_t i = 0; i < sizeof bytes; i++) {    \
            assert_int_equal(again[i] & ~bytes[i], 0);   \
        }                                                \
    } while (0)

static void what_is_encoded_comes_back(void **state)
{
    (void)state;
    unsigned char bytes[64];
    unsigned char again[64];
    for (uint32_t round = 0; round < 1000; round++) {
        STAYS(wire_ib_node_info, wire_ib_node_info);
        STAYS(wire_ib_switch_info, wire_ib_switch_info);
        STAYS(wire_ib_port_info, wire_ib_port_info);
        STAYS(wire_ib_sm_info, wire_ib_sm_info);
        STAYS(wire_ib_notice, wire_ib_notice);
    }
}

static void blocks_come_back(void **state)
{
    (void)state;
    unsigned char bytes[64];
    unsigned char again[64] = {0};
    uint64_t guids[WIRE_IB_GUID_BLOCK];
    uint16_t words[WIRE_IB_PKEY_BLOCK];
    uint8_t vls[WIRE_IB_SL_COUNT];
    struct wire_ib_arbitration_row rows[WIRE_IB_ARBITRATION_BLOCK];
    char text[WIRE_IB_NODE_DESCRIPTION_BYTES + 1];
    fill(bytes, sizeof bytes);
    wire_ib_guids_decode(bytes, guids);
    wire_ib_guids_encode(guids, again);
    assert_memory_equal(bytes, again, sizeof bytes);
    wire_ib_words_decode(bytes, words);
    assert_int_equal(words[0], bytes[0] << 8 | bytes[1]);
    wire_ib_words_encode(words, again);
    assert_memory_equal(bytes, again, sizeof bytes);
    wire_ib_sl_to_vl_decode(bytes, vls);
    assert_int_equal(vls[0], bytes[0] >> 4);
    assert_int_equal(vls[15], bytes[7] & 15);
    wire_ib_sl_to_vl_encode(vls, again);
    assert_memory_equal(bytes, again, 8);
    wire_ib_arbitration_decode(bytes, rows);
    assert_int_equal(rows[31].vl, bytes[62] & 15);
    assert_int_equal(rows[31].weight, bytes[63]);
    wire_ib_arbitration_encode(rows, again);
    assert_int_equal(again[1], bytes[1]);
    wire_ib_description_encode("a board", bytes);
    wire_ib_description_decode(bytes, text);
    assert_string_equal(text, "a board");
}

static void codes_are_those_of_infiniband(void **state)
{
    (void)state;
    assert_int_equal(wire_ib_mtu_code(2048), 4);
    assert_int_equal(wire_ib_mtu_bytes(5), 4096);
    assert_int_equal(wire_ib_mtu_bytes(6), 0);
    assert_int_equal(wire_ib_mtu_code(1000), 0);
    assert_int_equal(wire_ib_vls_code(4), 3);
    assert_int_equal(wire_ib_vls(5), 15);
    assert_int_equal(wire_ib_vls(6), 0);
    assert_int_equal(wire_ib_width_code(4), 2);
    assert_int_equal(wire_ib_width_code(12), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_info_has_its_bits),
        cmocka_unit_test(node_and_switch_info_have_their_bits),
        cmocka_unit_test(traps_have_their_bytes),
        cmocka_unit_test(what_is_encoded_comes_back),
        cmocka_unit_test(blocks_come_back),
        cmocka_unit_test(codes_are_those_of_infiniband),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
