/* InfiniBand packets: InfiniBand's own vector, what is encoded comes back, and what no sender sends
 * is refused. */
#include "base/big.h"
#include "base/random.h"
#include "unit/unit.h"
#include "wire/ib_packet.h"
#include "wire/packet.h"

static struct base_random source_of_chance = {.state = 64};

static uint32_t below(uint32_t limit)
{
    return (uint32_t)base_random_below(&source_of_chance, limit);
}

/* LRH, BTH and payload from the specification, then ICRC and VCRC. */
static const unsigned char vector[] = {
    0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1,
    0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2,
    0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72,
    0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7, 0x5a, 0x45, 0xfa,
};
enum { VECTOR_AT_ICRC = sizeof vector - 6 };

static void the_crcs_are_infinibands(void **state)
{
    (void)state;
    struct wire_ib_lrh lrh;
    unsigned char bytes[sizeof vector];
    assert_int_equal(wire_ib_icrc(vector, VECTOR_AT_ICRC), wire_get32(vector + VECTOR_AT_ICRC));
    assert_true(wire_ib_vcrc_fits(vector, sizeof vector));
    memcpy(bytes, vector, sizeof bytes);
    memset(bytes + sizeof bytes - 2, 0, 2);
    assert_false(wire_ib_vcrc_fits(bytes, sizeof bytes));
    wire_ib_vcrc_put(bytes, sizeof bytes);
    assert_memory_equal(bytes, vector, sizeof bytes);
    assert_true(wire_ib_lrh_decode(vector, &lrh));
    assert_int_equal(lrh.vl, 7);
    assert_int_equal(lrh.sl, 1);
    assert_int_equal(lrh.next, WIRE_IB_LOCAL);
    assert_int_equal(lrh.dlid, 0x375c);
    assert_int_equal(lrh.slid, 0x17d2);
    assert_int_equal(4 * lrh.words + 2, sizeof vector);
    wire_ib_lrh_encode(&lrh, bytes);
    assert_memory_equal(bytes, vector, WIRE_IB_LRH_BYTES);
}

/* A switch may change the VL, a router resv8a: the ICRC stays, the VCRC is made anew. */
static void what_may_change_on_the_way_is_not_in_the_icrc(void **state)
{
    (void)state;
    unsigned char bytes[sizeof vector];
    for (uint8_t vl = 0; vl < 15; vl++) {
        memcpy(bytes, vector, sizeof bytes);
        bytes[12] = (unsigned char)below(256);
        wire_ib_vl_set(bytes, sizeof bytes, vl);
        assert_int_equal(bytes[0], vl << 4);
        assert_true(wire_ib_vcrc_fits(bytes, sizeof bytes));
        assert_int_equal(wire_ib_icrc(bytes, VECTOR_AT_ICRC), wire_get32(vector + VECTOR_AT_ICRC));
    }
    for (uint32_t bit = 4; bit < 8 * VECTOR_AT_ICRC; bit++) {
        memcpy(bytes, vector, sizeof bytes);
        bytes[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
        assert_true(bit / 8 == 12 ||
                    wire_ib_icrc(bytes, VECTOR_AT_ICRC) != wire_get32(vector + VECTOR_AT_ICRC));
    }
}

/* From a copy of exactly that length, so that sanitizers see what reads behind it. */
static enum wire_ib_result decode_raw(const unsigned char *bytes, uint32_t count,
                                      struct wire_ib_raw *raw, unsigned char *payload)
{
    unsigned char *copy = malloc(count > 0 ? count : 1);
    const unsigned char *inside;
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    enum wire_ib_result result = wire_ib_raw_decode(copy, count, raw, &inside);
    if (result == WIRE_IB_GOOD) {
        memcpy(payload, inside, raw->payload_bytes);
    }
    free(copy);
    return result;
}

static void raw_packets_are_those_of_the_document(void **state)
{
    (void)state;
    static const unsigned char expected[] = {0x20, 0x30, 0x12, 0x34, 0x00, 0x05, 0x00, 0x56, 0, 0,
                                             0x88, 0xb5, 'a',  'b',  'c',  'd',  'e',  0,    0, 0};
    unsigned char bytes[64];
    const struct wire_ib_raw raw = {
        .vl = 2, .sl = 3, .dlid = 0x1234, .slid = 0x56, .payload_bytes = 5};
    wire_ib_raw_encode(&raw, "abcde", bytes);
    assert_int_equal(wire_ib_raw_bytes(5), sizeof expected + 2);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_true(wire_ib_vcrc_fits(bytes, sizeof expected + 2));
}

static void raw_packets_come_back(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_IB_RAW_BYTES_MAX + 1], data[WIRE_IB_MTU_MAX],
        decoded[WIRE_IB_MTU_MAX];
    for (uint32_t count = 0; count <= WIRE_IB_MTU_MAX; count += count < 300 ? 1 : 1 + below(90)) {
        for (uint32_t i = 0; i < count; i++) {
            data[i] = (unsigned char)below(256);
        }
        const struct wire_ib_raw raw = {
            .vl = (uint8_t)below(15),
            .sl = (uint8_t)below(16),
            .dlid = (uint16_t)(1 + below(0xfffe)),
            .slid = (uint16_t)(1 + below(0xbfff)),
            .payload_bytes = count,
        };
        struct wire_ib_raw read;
        wire_ib_raw_encode(&raw, data, bytes);
        assert_int_equal(decode_raw(bytes, wire_ib_raw_bytes(count), &read, decoded), WIRE_IB_GOOD);
        assert_int_equal(read.vl, raw.vl);
        assert_int_equal(read.sl, raw.sl);
        assert_int_equal(read.dlid, raw.dlid);
        assert_int_equal(read.slid, raw.slid);
        assert_int_equal(read.payload_bytes, (count + 3) / 4 * 4);
        assert_memory_equal(decoded, data, count);
        for (uint32_t i = count; i < read.payload_bytes; i++) {
            assert_int_equal(decoded[i], 0);
        }
    }
}

static void raw_packets_of_a_wrong_length_are_refused(void **state)
{
    (void)state;
    unsigned char bytes[100] = {0}, payload[100];
    const struct wire_ib_raw raw = {.dlid = 1, .slid = 2, .payload_bytes = 20};
    struct wire_ib_raw read;
    wire_ib_raw_encode(&raw, bytes + 50, bytes);
    uint32_t whole = wire_ib_raw_bytes(20);
    for (uint32_t count = 0; count < 80; count++) {
        unsigned char copy[100];
        memcpy(copy, bytes, sizeof copy);
        if (count >= 10) {
            wire_ib_vcrc_put(copy, count);
        }
        assert_int_equal(decode_raw(copy, count, &read, payload),
                         count == whole ? WIRE_IB_GOOD : WIRE_IB_MALFORMED);
    }
    for (uint32_t words = 0; words < 65536; words++) {
        base_big_put(bytes + 4, 2, words);
        wire_ib_vcrc_put(bytes, whole);
        assert_int_equal(decode_raw(bytes, whole, &read, payload),
                         4 * words + 2 == whole ? WIRE_IB_GOOD : WIRE_IB_MALFORMED);
    }
}

/* Every value of every byte of both headers, with a VCRC that fits. */
static void only_what_a_sender_sends_is_a_raw_packet(void **state)
{
    (void)state;
    unsigned char bytes[64], payload[64], again[64];
    const struct wire_ib_raw raw = {
        .vl = 2, .sl = 3, .dlid = 0x1234, .slid = 0x156, .payload_bytes = 8};
    for (uint32_t at = 0; at < 12; at++) {
        uint32_t good = 0;
        for (uint32_t value = 0; value < 256; value++) {
            struct wire_ib_raw read;
            wire_ib_raw_encode(&raw, "abcdefgh", bytes);
            bytes[at] = (unsigned char)value;
            wire_ib_vcrc_put(bytes, 22);
            enum wire_ib_result result = decode_raw(bytes, 22, &read, payload);
            assert_true(result == WIRE_IB_GOOD || result == WIRE_IB_MALFORMED);
            if (result == WIRE_IB_GOOD) {
                good++;
                wire_ib_raw_encode(&read, payload, again);
                assert_memory_equal(bytes, again, 22);
            }
        }
        /* 15 lanes; 16 service levels; any LID but the permissive one; SLIDs of unicast. */
        static const uint32_t expected[12] = {15, 16, 256, 256, 1, 1, 0xc0, 256, 1, 1, 1, 1};
        assert_int_equal(good, expected[at]);
    }
}

static void flip(unsigned char *bytes, uint32_t bit)
{
    bytes[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
}

static void wrong_bits_are_found_in_raw_packets(void **state)
{
    (void)state;
    unsigned char bytes[64], payload[64];
    struct wire_ib_raw read;
    const struct wire_ib_raw raw = {.dlid = 1, .slid = 2, .payload_bytes = 30};
    wire_ib_raw_encode(&raw, "thirty bytes that nobody reads", bytes);
    uint32_t bits = 8 * wire_ib_raw_bytes(30);
    for (uint32_t one = 0; one < bits; one++) {
        flip(bytes, one);
        assert_int_equal(decode_raw(bytes, bits / 8, &read, payload), WIRE_IB_VCRC_WRONG);
        for (uint32_t two = 0; two < one; two++) {
            flip(bytes, two);
            assert_int_equal(decode_raw(bytes, bits / 8, &read, payload), WIRE_IB_VCRC_WRONG);
            flip(bytes, two);
        }
        flip(bytes, one);
    }
}

/* ---- Management packets ------------------------------------------------------------------- */

static enum wire_ib_result decode_management(const unsigned char *bytes, uint32_t count,
                                             struct wire_ib_management *read, unsigned char *mad)
{
    unsigned char *copy = malloc(count > 0 ? count : 1);
    const unsigned char *inside;
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    enum wire_ib_result result = wire_ib_management_decode(copy, count, read, &inside);
    if (result == WIRE_IB_GOOD) {
        memcpy(mad, inside, WIRE_IB_MAD_BYTES);
    }
    free(copy);
    return result;
}

static const struct wire_ib_management sample = {
    .vl = 15,
    .sl = 0,
    .dlid = 0xffff,
    .slid = 0xffff,
    .p_key = 0xffff,
    .dest_qp = 0,
    .source_qp = 0x10203,
    .psn = 0x40506,
    .q_key = 0x80010000,
};

static void random_mad(unsigned char *mad)
{
    for (uint32_t i = 0; i < WIRE_IB_MAD_BYTES; i++) {
        mad[i] = (unsigned char)below(256);
    }
}

static void management_packets_are_those_of_the_document(void **state)
{
    (void)state;
    static const unsigned char expected[] = {0xf0, 0x02, 0xff, 0xff, 0x00, 0x48, 0xff, /* LRH */
                                             0xff, 0x64, 0x00, 0xff, 0xff, 0x00, 0,    /* BTH */
                                             0,    0,    0x00, 0x04, 0x05, 0x06, 0x80, /* DETH */
                                             0x01, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03};
    unsigned char bytes[WIRE_IB_MANAGEMENT_BYTES], mad[WIRE_IB_MAD_BYTES];
    random_mad(mad);
    wire_ib_management_encode(&sample, mad, bytes);
    assert_int_equal(WIRE_IB_MANAGEMENT_BYTES, 290);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_memory_equal(bytes + 28, mad, WIRE_IB_MAD_BYTES);
    assert_int_equal(wire_get32(bytes + 284), wire_ib_icrc(bytes, 284));
    assert_true(wire_ib_vcrc_fits(bytes, sizeof bytes));
}

static void management_packets_come_back(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 2000; round++) {
        unsigned char bytes[WIRE_IB_MANAGEMENT_BYTES], mad[WIRE_IB_MAD_BYTES],
            decoded[WIRE_IB_MAD_BYTES];
        bool is_subnet = round % 2;
        const struct wire_ib_management management = {
            .vl = is_subnet ? 15 : (uint8_t)below(15),
            .sl = (uint8_t)below(16),
            .dlid = (uint16_t)(1 + below(0xffff)),
            .slid = round % 8 ? (uint16_t)(1 + below(0xbfff)) : 0xffff,
            .p_key = (uint16_t)below(65536),
            .dest_qp = is_subnet ? 0 : 1 + below(0xffffff),
            .source_qp = below(1 << 24),
            .psn = below(1 << 24),
            .q_key = below(UINT32_MAX),
        };
        struct wire_ib_management read;
        random_mad(mad);
        wire_ib_management_encode(&management, mad, bytes);
        assert_int_equal(decode_management(bytes, sizeof bytes, &read, decoded), WIRE_IB_GOOD);
        assert_memory_equal(decoded, mad, sizeof mad);
        assert_int_equal(read.vl, management.vl);
        assert_int_equal(read.sl, management.sl);
        assert_int_equal(read.dlid, management.dlid);
        assert_int_equal(read.slid, management.slid);
        assert_int_equal(read.p_key, management.p_key);
        assert_int_equal(read.dest_qp, management.dest_qp);
        assert_int_equal(read.source_qp, management.source_qp);
        assert_int_equal(read.psn, management.psn);
        assert_int_equal(read.q_key, management.q_key);
    }
}

/* A wrong bit is found by the VCRC; and by the ICRC if a switch had made the VCRC anew. Bits that
 * the ICRC does not see, the VL and resv8a, have only values that no sender sends. */
static void wrong_bits_are_found_in_management_packets(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_MANAGEMENT_BYTES], mad[WIRE_IB_MAD_BYTES];
    struct wire_ib_management read;
    random_mad(mad);
    for (uint32_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        wire_ib_management_encode(&sample, mad, bytes);
        flip(bytes, bit);
        assert_int_equal(decode_management(bytes, sizeof bytes, &read, mad), WIRE_IB_VCRC_WRONG);
        if (bit < 8 * (sizeof bytes - 2)) {
            bool is_masked = bit < 4 || bit / 8 == 12;
            wire_ib_vcrc_put(bytes, sizeof bytes);
            assert_int_equal(decode_management(bytes, sizeof bytes, &read, mad),
                             is_masked ? WIRE_IB_MALFORMED : WIRE_IB_ICRC_WRONG);
        }
    }
    for (uint32_t count = 0; count < sizeof bytes; count++) {
        assert_int_equal(decode_management(bytes, count, &read, mad), WIRE_IB_MALFORMED);
    }
}

/* Every value of every byte of the headers, with CRCs that fit. */
static void only_what_a_sender_sends_is_a_management_packet(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_MANAGEMENT_BYTES], again[WIRE_IB_MANAGEMENT_BYTES],
        mad[WIRE_IB_MAD_BYTES];
    /* The VL is 15 alone, and so the destination QP 0; of the SLIDs 0xffXX or 0xXXff one is the
     * permissive address and others are unicast. */
    static const uint32_t expected[28] = {
        1,   16,  256, 256, 1, 1,   0xc0 + 1, 1,   /* LRH */
        1,   1,   256, 256, 1, 1,   1,        1,   /* BTH */
        1,   256, 256, 256,                        /* PSN */
        256, 256, 256, 256, 1, 256, 256,      256, /* DETH */
    };
    random_mad(mad);
    for (uint32_t at = 0; at < 28; at++) {
        uint32_t good = 0;
        for (uint32_t value = 0; value < 256; value++) {
            struct wire_ib_management read;
            wire_ib_management_encode(&sample, mad, bytes);
            bytes[at] = (unsigned char)value;
            wire_put32(bytes + 284, wire_ib_icrc(bytes, 284));
            wire_ib_vcrc_put(bytes, sizeof bytes);
            enum wire_ib_result result = decode_management(bytes, sizeof bytes, &read, mad);
            assert_true(result == WIRE_IB_GOOD || result == WIRE_IB_MALFORMED);
            if (result == WIRE_IB_GOOD) {
                good++;
                wire_ib_management_encode(&read, mad, again);
                assert_memory_equal(bytes, again, sizeof again);
            }
        }
        assert_int_equal(good, expected[at]);
    }
}

static void results_have_names(void **state)
{
    (void)state;
    assert_string_equal(wire_ib_result_name(WIRE_IB_GOOD), "good");
    assert_string_equal(wire_ib_result_name(WIRE_IB_VCRC_WRONG), "VCRC wrong");
    assert_string_equal(wire_ib_result_name(WIRE_IB_ICRC_WRONG), "ICRC wrong");
    assert_string_equal(wire_ib_result_name(WIRE_IB_CRC32_WRONG), "CRC-32 wrong");
    assert_string_equal(wire_ib_result_name(WIRE_IB_MALFORMED), "malformed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_crcs_are_infinibands),
        cmocka_unit_test(what_may_change_on_the_way_is_not_in_the_icrc),
        cmocka_unit_test(raw_packets_are_those_of_the_document),
        cmocka_unit_test(raw_packets_come_back),
        cmocka_unit_test(raw_packets_of_a_wrong_length_are_refused),
        cmocka_unit_test(only_what_a_sender_sends_is_a_raw_packet),
        cmocka_unit_test(wrong_bits_are_found_in_raw_packets),
        cmocka_unit_test(management_packets_are_those_of_the_document),
        cmocka_unit_test(management_packets_come_back),
        cmocka_unit_test(wrong_bits_are_found_in_management_packets),
        cmocka_unit_test(only_what_a_sender_sends_is_a_management_packet),
        cmocka_unit_test(results_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
