/* Transfers: what is sealed comes back, and a wrong bit anywhere is found. */
#include <stdlib.h>

#include "base/random.h"
#include "unit/unit.h"
#include "wire/crc32.h"
#include "wire/transfer.h"

static struct base_random source_of_chance = {.state = 321};

static uint64_t below(uint64_t limit)
{
    return base_random_below(&source_of_chance, limit);
}

static bool decode(const unsigned char *bytes, uint32_t count, struct wire_transfer *transfer)
{
    unsigned char *copy = malloc(count > 0 ? count : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    bool decoded = wire_transfer_decode(copy, count, transfer);
    free(copy);
    return decoded;
}

static struct wire_flit random_flit(uint8_t flit_bytes, unsigned char *data)
{
    struct wire_flit flit = {
        .channel = (uint8_t)below(WIRE_TRANSFER_CHANNELS_MAX),
        .is_head = below(2),
        .is_tail = below(2),
        .bytes = flit_bytes,
    };
    if (flit.is_tail) {
        flit.bytes = (uint8_t)below(flit_bytes + 1u);
    }
    for (uint32_t i = 0; i < flit_bytes; i++) {
        data[i] = (unsigned char)(i < flit.bytes ? below(256) : 0);
    }
    return flit;
}

static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const unsigned char expected[] = {1, 1, 0x34, 0x12, 0x83, 2, 0xaa, 0xbb, 0,
                                             0, 0, 0,    0,    0,    0, 0,    0,    0};
    unsigned char bytes[64];
    struct wire_transfer frame = {
        .kind = WIRE_FRAME, .count = 1, .number = 0x1234, .flit_bytes = 12};
    wire_transfer_begin(&frame, bytes);
    wire_transfer_flit_encode(&frame, bytes, 0,
                              &(struct wire_flit){.channel = 3, .is_tail = true, .bytes = 2},
                              (const unsigned char[]){0xaa, 0xbb});
    wire_transfer_seal(&frame, bytes);
    assert_int_equal(wire_transfer_bytes(&frame), sizeof expected + 4);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(wire_get32(bytes + sizeof expected), wire_crc32(0, expected, sizeof expected));
}

static void frames_come_back(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_TRANSFER_BYTES_MAX];
    static unsigned char data[WIRE_TRANSFER_FLITS_MAX][WIRE_FLIT_BYTES_MAX];
    static struct wire_flit flits[WIRE_TRANSFER_FLITS_MAX];
    for (uint32_t count = 1; count <= WIRE_TRANSFER_FLITS_MAX; count++) {
        struct wire_transfer frame = {
            .kind = WIRE_FRAME,
            .count = (uint8_t)count,
            .number = (uint16_t)below(65536),
            .flit_bytes = count % 2 ? 12 : (uint8_t)(1 + below(255)),
        };
        wire_transfer_begin(&frame, bytes);
        for (uint32_t i = 0; i < count; i++) {
            flits[i] = random_flit(frame.flit_bytes, data[i]);
            wire_transfer_flit_encode(&frame, bytes, i, &flits[i], data[i]);
        }
        wire_transfer_seal(&frame, bytes);
        struct wire_transfer decoded;
        assert_true(decode(bytes, wire_transfer_bytes(&frame), &decoded));
        assert_int_equal(decoded.kind, WIRE_FRAME);
        assert_int_equal(decoded.count, count);
        assert_int_equal(decoded.number, frame.number);
        assert_int_equal(decoded.flit_bytes, frame.flit_bytes);
        for (uint32_t i = 0; i < count; i++) {
            struct wire_flit flit;
            const unsigned char *found = wire_transfer_flit_decode(&frame, bytes, i, &flit);
            assert_int_equal(flit.channel, flits[i].channel);
            assert_int_equal(flit.is_head, flits[i].is_head);
            assert_int_equal(flit.is_tail, flits[i].is_tail);
            assert_int_equal(flit.bytes, flits[i].bytes);
            assert_memory_equal(found, data[i], frame.flit_bytes);
        }
    }
}

static void answers_come_back(void **state)
{
    (void)state;
    unsigned char bytes[200];
    for (uint32_t kind = WIRE_FRAME_ACK; kind <= WIRE_FRAME_NACK; kind++) {
        for (uint32_t count = 0; count <= WIRE_TRANSFER_CHANNELS_MAX; count++) {
            struct wire_transfer answer = {.kind = (enum wire_transfer_kind)kind,
                                           .count = (uint8_t)count,
                                           .number = (uint16_t)(65535 - count)};
            wire_transfer_begin(&answer, bytes);
            for (uint32_t i = 0; i < count; i++) {
                wire_transfer_credits_encode(&answer, bytes, i, (uint16_t)(i * 1021));
            }
            wire_transfer_seal(&answer, bytes);
            struct wire_transfer decoded;
            assert_true(decode(bytes, wire_transfer_bytes(&answer), &decoded));
            assert_int_equal(decoded.kind, kind);
            assert_int_equal(decoded.number, 65535 - count);
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(wire_transfer_credits_decode(&answer, bytes, i),
                                 (uint16_t)(i * 1021));
            }
        }
    }
}

/* One wrong bit, two, and three in a row, wherever they are. */
static void wrong_bits_are_found(void **state)
{
    (void)state;
    unsigned char bytes[64];
    struct wire_transfer frame = {.kind = WIRE_FRAME, .count = 3, .number = 77, .flit_bytes = 12};
    wire_transfer_begin(&frame, bytes);
    for (uint32_t i = 0; i < 3; i++) {
        unsigned char data[12];
        struct wire_flit flit = random_flit(12, data);
        wire_transfer_flit_encode(&frame, bytes, i, &flit, data);
    }
    wire_transfer_seal(&frame, bytes);
    uint32_t count = wire_transfer_bytes(&frame);
    struct wire_transfer decoded;
    assert_true(wire_transfer_decode(bytes, count, &decoded));
    for (uint32_t one = 0; one < 8 * count; one++) {
        bytes[one / 8] ^= (unsigned char)(1u << one % 8);
        assert_false(wire_transfer_decode(bytes, count, &decoded));
        for (uint32_t two = 0; two < one; two++) {
            bytes[two / 8] ^= (unsigned char)(1u << two % 8);
            assert_false(wire_transfer_decode(bytes, count, &decoded));
            bytes[two / 8] ^= (unsigned char)(1u << two % 8);
        }
        bytes[one / 8] ^= (unsigned char)(1u << one % 8);
    }
}

/* What no sender sends, with a matching CRC. */
static void nonsense_is_refused(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_TRANSFER_BYTES_MAX + 64];
    struct wire_transfer decoded;
    for (uint32_t kind = 0; kind < 256; kind++) {
        for (uint32_t count = 0; count < 256; count++) {
            memset(bytes, 0, sizeof bytes);
            bytes[0] = (unsigned char)kind;
            bytes[1] = (unsigned char)count;
            for (uint32_t i = 0; kind == WIRE_FRAME && i < count; i++) {
                bytes[4 + 14 * i + 1] = 12;
            }
            const struct wire_transfer said = {
                .kind = (enum wire_transfer_kind)kind,
                .count = (uint8_t)count,
                .flit_bytes = kind == WIRE_FRAME ? 12 : 0,
            };
            wire_transfer_seal(&said, bytes);
            uint32_t whole = wire_transfer_bytes(&said);
            bool fine = kind == WIRE_FRAME ? count > 0 : (kind == 2 || kind == 3) && count <= 64;
            assert_true(decode(bytes, whole, &decoded) == fine);
            for (uint32_t length = 0; fine && count < 3 && length < whole + 20; length++) {
                assert_true(decode(bytes, length, &decoded) == (length == whole));
            }
        }
    }
    const struct wire_transfer frame = {.kind = WIRE_FRAME, .count = 2, .flit_bytes = 12};
    for (uint32_t is_tail = 0; is_tail < 2; is_tail++) {
        for (uint32_t value = 0; value < 256; value++) {
            memset(bytes, 0, 40);
            wire_transfer_begin(&frame, bytes);
            bytes[4] = (unsigned char)(is_tail ? 0x85 : 0x45);
            bytes[5] = (unsigned char)value; /* how many bytes it uses */
            bytes[19] = 12;
            wire_transfer_seal(&frame, bytes);
            assert_true(decode(bytes, 36, &decoded) == (is_tail ? value <= 12 : value == 12));
            bytes[17] = 1; /* the last byte of the flit */
            wire_transfer_seal(&frame, bytes);
            assert_true(decode(bytes, 36, &decoded) == (value == 12));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_document),
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(wrong_bits_are_found),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
