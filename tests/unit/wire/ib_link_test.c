/* Link packets: what is encoded comes back, wrong bits are found, and counts go round. */
#include "unit/unit.h"
#include "wire/ib_link.h"
#include "wire/crc16.h"
#include "wire/packet.h"

static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const unsigned char expected[] = {0x12, 0x34, 0x35, 0x67};
    unsigned char bytes[WIRE_IB_LINK_BYTES];
    const struct wire_ib_link link = {
        .op = WIRE_IB_LINK_INIT, .vl = 3, .fctbs = 0x234, .fccl = 0x567};
    wire_ib_link_encode(&link, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(wire_get16(bytes + 4), wire_crc16(0, expected, sizeof expected));
}

static void link_packets_come_back(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * 15 * 4096; i++) {
        unsigned char bytes[WIRE_IB_LINK_BYTES];
        const struct wire_ib_link link = {
            .op = (enum wire_ib_link_op)(i % 2),
            .vl = (uint8_t)(i / 2 % 15),
            .fctbs = (uint16_t)(i / 30),
            .fccl = (uint16_t)(i * 2531u % 4096),
        };
        struct wire_ib_link read;
        wire_ib_link_encode(&link, bytes);
        assert_int_equal(wire_ib_link_decode(bytes, sizeof bytes, &read), WIRE_IB_GOOD);
        assert_true(read.op == link.op && read.vl == link.vl);
        assert_true(read.fctbs == link.fctbs && read.fccl == link.fccl);
    }
}

/* All patterns of up to three of the 48 bits. */
static void wrong_bits_are_found(void **state)
{
    (void)state;
    const struct wire_ib_link link = {.vl = 2, .fctbs = 4000, .fccl = 77};
    struct wire_ib_link read;
    unsigned char right[WIRE_IB_LINK_BYTES];
    wire_ib_link_encode(&link, right);
    for (uint32_t one = 0; one < 48; one++) {
        for (uint32_t two = 0; two <= one; two++) {
            for (uint32_t three = 0; three <= two; three++) {
                /* Where two are the same there is one less. */
                uint64_t wrong = UINT64_C(1) << one | UINT64_C(1) << two | UINT64_C(1) << three;
                unsigned char bytes[WIRE_IB_LINK_BYTES];
                for (uint32_t i = 0; i < sizeof bytes; i++) {
                    bytes[i] = right[i] ^ (unsigned char)(wrong >> 8 * i);
                }
                assert_int_equal(wire_ib_link_decode(bytes, sizeof bytes, &read),
                                 WIRE_IB_VCRC_WRONG);
            }
        }
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct wire_ib_link read;
    unsigned char bytes[12] = {0};
    for (uint32_t op = 0; op < 16; op++) {
        for (uint32_t vl = 0; vl < 16; vl++) {
            bytes[0] = (unsigned char)(op << 4);
            bytes[2] = (unsigned char)(vl << 4);
            wire_put16(bytes + 4, wire_crc16(0, bytes, 4));
            assert_int_equal(wire_ib_link_decode(bytes, 6, &read),
                             op < 2 && vl < 15 ? WIRE_IB_GOOD : WIRE_IB_MALFORMED);
        }
    }
    for (uint32_t count = 0; count <= sizeof bytes; count++) {
        if (count != WIRE_IB_LINK_BYTES) {
            assert_int_equal(wire_ib_link_decode(bytes, count, &read), WIRE_IB_MALFORMED);
        }
    }
}

static void credits_are_counted_modulo_4096(void **state)
{
    (void)state;
    assert_int_equal(wire_ib_blocks(26), 1);
    assert_int_equal(wire_ib_blocks(64), 1);
    assert_int_equal(wire_ib_blocks(66), 2);
    assert_int_equal(wire_ib_blocks(2062), 33);
    assert_int_equal(wire_ib_blocks_add(4095, 1), 0);
    for (uint32_t sent = 0; sent < 4096; sent += 13) {
        for (uint32_t credits = 0; credits < 4096; credits++) {
            uint16_t limit = (uint16_t)((sent + credits) % 4096);
            assert_int_equal(wire_ib_credits(limit, (uint16_t)sent), credits <= 2048 ? credits : 0);
            assert_int_equal(wire_ib_fccl((uint16_t)sent, credits),
                             (sent + (credits < 2048 ? credits : 2048)) % 4096);
        }
    }
}

/* A sender and a receiver with room for 40 blocks: nothing overflows, nothing stops, although every
 * third packet is lost, every fourth link packet too, and the counts go round many times. */
static void lost_packets_lose_no_credits(void **state)
{
    (void)state;
    enum { ROOM = 40 };
    uint16_t sent = 0, limit = wire_ib_fccl(0, ROOM), received = 0;
    uint32_t held = 0, moved = 0, turns = 0;
    for (uint32_t turn = 0; turn < 100000; turn++) {
        uint32_t blocks = 1 + turn % 33;
        if (wire_ib_credits(limit, sent) >= blocks) {
            turns += sent + blocks >= 4096;
            sent = wire_ib_blocks_add(sent, blocks);
            if (turn % 3 != 0) {
                received = wire_ib_blocks_add(received, blocks);
                held += blocks;
                moved++;
                assert_true(held <= ROOM);
            }
        }
        held -= held < 20 ? held : 20;
        if (turn % 4 != 0) {
            /* A link packet tells the receiver what was sent, the next one the sender the limit. */
            received = sent;
            limit = wire_ib_fccl(received, ROOM - held);
        }
    }
    assert_true(turns > 100 && moved > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_document),
        cmocka_unit_test(link_packets_come_back),
        cmocka_unit_test(wrong_bits_are_found),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(credits_are_counted_modulo_4096),
        cmocka_unit_test(lost_packets_lose_no_credits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
