/* Headers of management datagrams: every field is where InfiniBand has it. */
#include "unit/unit.h"
#include "wire/ib_mad.h"

static void a_header_has_its_bytes(void **state)
{
    (void)state;
    static const unsigned char expected[24] = {1,    0x81, 1,    0x02, 0x80, 0x1c, 3,    5,
                                               0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                               0,    0x15, 0,    0,    0xa0, 0xb0, 0xc0, 0xd0};
    const struct wire_mad mad = {
        .base_version = 1,
        .class = WIRE_MAD_SUBNET_DIRECTED,
        .class_version = 1,
        .method = WIRE_MAD_SET,
        .status = WIRE_MAD_BAD_FIELD,
        .is_return = true,
        .hop_pointer = 3,
        .hop_count = 5,
        .tid = 0x1122334455667788,
        .attribute = WIRE_MAD_PORT_INFO,
        .modifier = 0xa0b0c0d0,
    };
    unsigned char bytes[24];
    memset(bytes, 0xff, sizeof bytes);
    wire_mad_encode(&mad, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    struct wire_mad read;
    wire_mad_decode(bytes, &read);
    assert_int_equal(read.status, WIRE_MAD_BAD_FIELD);
    assert_true(read.is_return);
    assert_int_equal(read.hop_count, 5);
    assert_true(read.tid == mad.tid && wire_mad_tid(bytes) == mad.tid);
    assert_int_equal(read.modifier, mad.modifier);
}

static void only_directed_packets_have_a_direction(void **state)
{
    (void)state;
    unsigned char bytes[24] = {1, WIRE_MAD_SUBNET, 1, 1, 0x80, 0x04};
    struct wire_mad read;
    wire_mad_decode(bytes, &read);
    assert_false(read.is_return);
    assert_int_equal(read.status, 0x8004);
    bytes[1] = WIRE_MAD_SUBNET_DIRECTED;
    wire_mad_decode(bytes, &read);
    assert_true(read.is_return);
    assert_int_equal(read.status, 4);
}

static void the_rest_of_an_smp_is_in_its_place(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_MAD_BYTES] = {0};
    const struct wire_smp smp = {.mkey = 0x0102030405060708, .dr_slid = 0xffff, .dr_dlid = 0x1234};
    wire_smp_encode(&smp, bytes);
    assert_int_equal(bytes[24], 1);
    assert_int_equal(bytes[31], 8);
    assert_int_equal(bytes[32], 0xff);
    assert_int_equal(bytes[34], 0x12);
    assert_int_equal(bytes[35], 0x34);
    struct wire_smp read;
    wire_smp_decode(bytes, &read);
    assert_true(read.mkey == smp.mkey && read.dr_slid == 0xffff && read.dr_dlid == 0x1234);
    wire_mad_tid_set(bytes, 42);
    assert_true(wire_mad_tid(bytes) == 42 && bytes[15] == 42);
}

static void names_are_those_of_the_class(void **state)
{
    (void)state;
    assert_string_equal(wire_mad_attribute_name(WIRE_MAD_SUBNET, 0x12), "SwitchInfo");
    assert_string_equal(wire_mad_attribute_name(WIRE_MAD_PERFORMANCE, 0x12), "PortCounters");
    assert_null(wire_mad_attribute_name(WIRE_MAD_SUBNET, 0x7777));
    assert_null(wire_mad_attribute_name(0x77, 0x12));
    assert_string_equal(wire_mad_method_name(WIRE_MAD_TRAP), "Trap");
    assert_null(wire_mad_method_name(0x80));
    assert_string_equal(wire_mad_class_name(WIRE_MAD_SUBNET), "subnet management");
    assert_null(wire_mad_class_name(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_its_bytes),
        cmocka_unit_test(only_directed_packets_have_a_direction),
        cmocka_unit_test(the_rest_of_an_smp_is_in_its_place),
        cmocka_unit_test(names_are_those_of_the_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
