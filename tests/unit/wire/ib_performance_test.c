/* Attributes of performance management: fields in their place, and counters that stop. */
#include "unit/unit.h"
#include "wire/ib_performance.h"

static void counters_stop_at_the_most(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_PERFORMANCE_BYTES];
    const struct wire_ib_port_counters counters = {
        .port = 3,
        .select = 0xf00f,
        .select2 = 1,
        .symbol_errors = 0x10000,
        .link_downed = 255,
        .rcv_errors = 7,
        .link_integrity_errors = 16,
        .buffer_overruns = 2,
        .vl15_dropped = 0x1234,
        .xmit_words = UINT64_MAX,
        .rcv_words = 0x01020304,
        .xmit_wait = UINT64_C(1) << 32,
    };
    wire_ib_port_counters_encode(&counters, bytes);
    assert_int_equal(bytes[1], 3);
    assert_int_equal(bytes[2], 0xf0);
    assert_int_equal(bytes[4] << 8 | bytes[5], 0xffff);
    assert_int_equal(bytes[7], 255);
    assert_int_equal(bytes[9], 7);
    assert_int_equal(bytes[18], 1);
    assert_int_equal(bytes[19], 0xf2);
    assert_int_equal(bytes[22], 0x12);
    assert_int_equal(bytes[24] & bytes[27], 0xff);
    assert_int_equal(bytes[28], 1);
    assert_int_equal(bytes[31], 4);
    assert_int_equal(bytes[40] & bytes[43], 0xff);
    struct wire_ib_port_counters read;
    wire_ib_port_counters_decode(bytes, &read);
    assert_true(read.symbol_errors == 0xffff && read.xmit_words == UINT32_MAX);
    assert_true(read.rcv_words == 0x01020304 && read.select == 0xf00f && read.rcv_errors == 7);
}

static void wide_counters_are_whole(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_PERFORMANCE_BYTES];
    const struct wire_ib_port_counters_extended counters = {
        .port = 255, .select = 0xff, .xmit_words = UINT64_MAX - 1, .multicast_rcv = 9};
    struct wire_ib_port_counters_extended read;
    wire_ib_port_counters_extended_encode(&counters, bytes);
    assert_int_equal(bytes[1], 255);
    assert_int_equal(bytes[15], 0xfe);
    assert_int_equal(bytes[71], 9);
    wire_ib_port_counters_extended_decode(bytes, &read);
    assert_true(read.xmit_words == UINT64_MAX - 1 && read.multicast_rcv == 9);
}

static void the_class_says_what_it_can(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_PERFORMANCE_BYTES];
    const struct wire_ib_class_port_info info = {
        .base_version = 1, .class_version = 1, .capability_mask = 0x1300, .response_time = 18};
    struct wire_ib_class_port_info read = {0};
    wire_ib_class_port_info_encode(&info, bytes);
    assert_int_equal(bytes[2], 0x13);
    assert_int_equal(bytes[7], 18);
    wire_ib_class_port_info_decode(bytes, &read);
    assert_int_equal(read.capability_mask, 0x1300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_stop_at_the_most),
        cmocka_unit_test(wide_counters_are_whole),
        cmocka_unit_test(the_class_says_what_it_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
