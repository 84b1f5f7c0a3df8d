/* Routing headers: the bytes are those of doc/wire.md, replies find their way back, and what has
 * no meaning is refused. */
#include "base/random.h"
#include "unit/unit.h"
#include "wire/ring_header.h"

enum { ROUTERS = 4096, GROUPS = 64 };

static void assert_equal(const struct wire_ring_header *one, const struct wire_ring_header *other)
{
    assert_int_equal(one->mode, other->mode);
    assert_int_equal(one->router, other->router);
    assert_int_equal(one->direction, other->direction);
    assert_int_equal(one->multicast, other->multicast);
    assert_int_equal(one->return_router, other->return_router);
    assert_int_equal(one->return_direction, other->return_direction);
}

static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    unsigned char bytes[8];
    static const unsigned char ring[8] = {1, 0, 0x23, 0x81, 0x45, 0x02, 0, 0};
    wire_ring_header_encode(
        &(struct wire_ring_header){
            .mode = WIRE_SW2, .router = 0x123, .direction = WIRE_RIGHT, .return_router = 0x245},
        bytes);
    assert_memory_equal(bytes, ring, 8);
    static const unsigned char multicast[8] = {2, 0, 0x05, 0x40, 0x45, 0x82, 0, 0};
    wire_ring_header_encode(&(struct wire_ring_header){.mode = WIRE_OIP,
                                                       .router = 5,
                                                       .multicast = true,
                                                       .return_router = 0x245,
                                                       .return_direction = WIRE_RIGHT},
                            bytes);
    assert_memory_equal(bytes, multicast, 8);
    static const unsigned char sw2[8] = {1, 0, 0xcd, 0xab, 0x01, 0xef, 0, 0};
    wire_sw2_header_encode(&(struct wire_sw2_header){.rrid = 0xabcd, .irid = 0xef01}, bytes);
    assert_memory_equal(bytes, sw2, 8);
    static const unsigned char oip[8] = {2, 0x13, 9, 4, 5, 0, 0, 0};
    wire_oip_header_encode(&(struct wire_oip_header){.hops = 3, .passed = 1, .ports = {9, 4, 5}},
                           bytes);
    assert_memory_equal(bytes, oip, 8);
}

static void every_ring_header_comes_back(void **state)
{
    (void)state;
    struct base_random random = {.state = 3};
    for (uint32_t i = 0; i < 200000; i++) {
        uint64_t chance = base_random_next(&random);
        struct wire_ring_header header = {
            .mode = chance & 1 ? WIRE_SW2 : WIRE_OIP,
            .direction = chance & 2 ? WIRE_RIGHT : WIRE_LEFT,
            .multicast = (chance & 4) != 0,
            .return_direction = chance & 8 ? WIRE_RIGHT : WIRE_LEFT,
            .router = (uint16_t)(chance >> 16 & (ROUTERS - 1)),
            .return_router = (uint16_t)(chance >> 32 & (ROUTERS - 1)),
        };
        if (header.multicast) {
            header.router %= GROUPS;
        }
        unsigned char bytes[8];
        struct wire_ring_header decoded;
        wire_ring_header_encode(&header, bytes);
        assert_true(wire_ring_header_decode(bytes, ROUTERS, GROUPS, &decoded));
        assert_equal(&decoded, &header);
    }
}

/* Changing any single byte gives a refusal, or another header with other bytes. */
static void every_bit_has_a_meaning_or_is_zero(void **state)
{
    (void)state;
    struct wire_ring_header header = {.mode = WIRE_OIP, .router = 9, .return_router = 4095};
    unsigned char bytes[8];
    unsigned char again[8];
    struct wire_ring_header decoded;
    wire_ring_header_encode(&header, bytes);
    for (uint32_t at = 0; at < 8; at++) {
        for (uint32_t value = 0; value < 256; value++) {
            unsigned char before = bytes[at];
            bytes[at] = (unsigned char)value;
            if (wire_ring_header_decode(bytes, ROUTERS, GROUPS, &decoded)) {
                wire_ring_header_encode(&decoded, again);
                assert_memory_equal(again, bytes, 8);
                assert_true((at >= 2 && at < 6) || value == 0 || (at == 0 && value <= 2));
            }
            bytes[at] = before;
        }
    }
}

static void what_is_not_in_the_ring_is_refused(void **state)
{
    (void)state;
    unsigned char bytes[8];
    struct wire_ring_header decoded;
    for (uint32_t routers = 2; routers <= 16; routers++) {
        for (uint16_t router = 0; router < 20; router++) {
            wire_ring_header_encode(&(struct wire_ring_header){.mode = WIRE_SW2, .router = router},
                                    bytes);
            assert_true(wire_ring_header_decode(bytes, routers, 1, &decoded) == (router < routers));
            wire_ring_header_encode(
                &(struct wire_ring_header){.mode = WIRE_SW2, .return_router = router}, bytes);
            assert_true(wire_ring_header_decode(bytes, routers, 1, &decoded) == (router < routers));
            wire_ring_header_encode(
                &(struct wire_ring_header){.mode = WIRE_SW2, .router = router, .multicast = true},
                bytes);
            assert_true(wire_ring_header_decode(bytes, 20, routers, &decoded) ==
                        (router < routers));
        }
    }
}

/* A request goes right from 3 to 7, and says that replies come back left. */
static void a_reply_goes_back(void **state)
{
    (void)state;
    for (uint32_t mode = WIRE_SW2; mode <= WIRE_OIP; mode++) {
        struct wire_ring_header request = {
            .mode = (enum wire_swif_mode)mode,
            .router = 7,
            .direction = WIRE_RIGHT,
            .return_router = 3,
            .return_direction = WIRE_LEFT,
        };
        struct wire_ring_header back = {
            .mode = (enum wire_swif_mode)mode,
            .router = 3,
            .direction = WIRE_LEFT,
            .return_router = 7,
            .return_direction = WIRE_RIGHT,
        };
        /* In OIP mode the router at 7 has done it before its NIC sees the header. */
        struct wire_ring_header delivered = wire_ring_header_deliver(&request, 7);
        assert_equal(&delivered, mode == WIRE_OIP ? &back : &request);
        struct wire_ring_header reply = mode == WIRE_OIP ? delivered
                                                         : wire_ring_header_reply(&delivered, 7);
        assert_equal(&reply, &back);
        /* And the reply's reply is the request's way again. */
        struct wire_ring_header again = wire_ring_header_reply(&reply, 3);
        assert_equal(&again, &request);

        /* A reply to a multicast goes only to its sender. */
        request.multicast = true;
        request.router = 60;
        reply = wire_ring_header_reply(&request, 7);
        assert_equal(&reply, &back);
    }
}

static void sw2_through_switches(void **state)
{
    (void)state;
    struct wire_sw2_header request = {.rrid = 0xffff, .irid = 17};
    struct wire_sw2_header reply = wire_sw2_header_reply(&request, 18);
    assert_int_equal(reply.rrid, 17);
    assert_int_equal(reply.irid, 18);
    unsigned char bytes[8];
    struct wire_sw2_header decoded;
    wire_sw2_header_encode(&request, bytes);
    assert_true(wire_sw2_header_decode(bytes, &decoded));
    assert_int_equal(decoded.rrid, 0xffff);
    assert_int_equal(decoded.irid, 17);
    for (uint32_t at = 0; at < 8; at += at == 1 ? 5 : 1) {
        bytes[at] ^= 1;
        assert_false(wire_sw2_header_decode(bytes, &decoded));
        bytes[at] ^= 1;
    }
}

static void oip_through_switches_and_back(void **state)
{
    (void)state;
    struct base_random random = {.state = 6};
    for (uint8_t hops = 1; hops <= WIRE_OIP_HOPS_MAX; hops++) {
        struct wire_oip_header path = {.hops = hops};
        uint8_t out[WIRE_OIP_HOPS_MAX], in[WIRE_OIP_HOPS_MAX], port;
        for (uint32_t i = 0; i < hops; i++) {
            out[i] = path.ports[i] = (uint8_t)base_random_below(&random, 256);
            in[i] = (uint8_t)base_random_below(&random, 256);
        }
        struct wire_oip_header back;
        for (uint32_t i = 0; i < hops; i++) {
            unsigned char bytes[8];
            assert_false(wire_oip_header_reply(&path, &back));
            wire_oip_header_encode(&path, bytes);
            assert_true(wire_oip_header_decode(bytes, &path));
            assert_true(wire_oip_header_hop(&path, in[i], &port));
            assert_int_equal(port, out[i]);
        }
        assert_false(wire_oip_header_hop(&path, 1, &port));
        assert_true(wire_oip_header_reply(&path, &back));
        /* Each switch sees it enter where it had left, and lets it out where it had entered. */
        for (uint32_t i = hops; i-- > 0;) {
            assert_true(wire_oip_header_hop(&back, out[i], &port));
            assert_int_equal(port, in[i]);
        }
        assert_true(wire_oip_header_reply(&back, &path));
        assert_memory_equal(path.ports, out, hops);
    }
}

static void bad_paths_are_refused(void **state)
{
    (void)state;
    struct wire_oip_header decoded;
    for (uint32_t path = 0; path < 256; path++) {
        unsigned char bytes[8] = {WIRE_OIP, (unsigned char)path};
        uint32_t hops = path & 15;
        assert_true(wire_oip_header_decode(bytes, &decoded) ==
                    (hops >= 1 && hops <= 6 && path >> 4 <= hops));
        if (hops >= 1 && hops < 6) {
            bytes[2 + hops] = 1; /* a port behind the end */
            assert_false(wire_oip_header_decode(bytes, &decoded));
        }
        bytes[0] = WIRE_SW2;
        assert_false(wire_oip_header_decode(bytes, &decoded));
    }
    /* A ring's header is not a path's, and the other way round. */
    unsigned char bytes[8];
    struct wire_ring_header ring;
    wire_ring_header_encode(&(struct wire_ring_header){.mode = WIRE_OIP, .router = 1}, bytes);
    assert_false(wire_oip_header_decode(bytes, &decoded));
    wire_oip_header_encode(&(struct wire_oip_header){.hops = 2, .ports = {1}}, bytes);
    assert_false(wire_ring_header_decode(bytes, ROUTERS, GROUPS, &ring));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_document),
        cmocka_unit_test(every_ring_header_comes_back),
        cmocka_unit_test(every_bit_has_a_meaning_or_is_zero),
        cmocka_unit_test(what_is_not_in_the_ring_is_refused),
        cmocka_unit_test(a_reply_goes_back),
        cmocka_unit_test(sw2_through_switches),
        cmocka_unit_test(oip_through_switches_and_back),
        cmocka_unit_test(bad_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
