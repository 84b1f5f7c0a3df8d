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

static struct wire_line random_line(void)
{
    struct wire_line line = {.kind = (enum wire_line_kind)(1 + below(4)), .bytes = 8};
    if (line.kind == WIRE_LINE_TAIL) {
        line.bytes = (uint8_t)(1 + below(8));
    }
    for (uint32_t i = 0; i < line.bytes; i++) {
        line.data[i] = (unsigned char)below(256);
    }
    return line;
}

static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const unsigned char expected[] = {1,    1, 0x34, 0x12, 3, 0x23, 0xaa,
                                             0xbb, 0, 0,    0,    0, 0,    0};
    unsigned char bytes[64];
    wire_transfer_begin(&(struct wire_transfer){.kind = WIRE_FRAME, .count = 1, .number = 0x1234},
                        bytes);
    wire_transfer_line_encode(
        bytes, 0, 3, &(struct wire_line){.kind = WIRE_LINE_TAIL, .bytes = 2, .data = {0xaa, 0xbb}});
    wire_transfer_seal(bytes);
    assert_int_equal(wire_transfer_bytes(WIRE_FRAME, 1), sizeof expected + 4);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(wire_get32(bytes + sizeof expected), wire_crc32(0, expected, sizeof expected));
}

static void frames_come_back(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_TRANSFER_BYTES_MAX];
    static struct wire_line lines[WIRE_TRANSFER_LINES_MAX];
    uint8_t channels[WIRE_TRANSFER_LINES_MAX];
    for (uint32_t count = 1; count <= WIRE_TRANSFER_LINES_MAX; count++) {
        struct wire_transfer frame = {
            .kind = WIRE_FRAME, .count = (uint8_t)count, .number = (uint16_t)below(65536)};
        wire_transfer_begin(&frame, bytes);
        for (uint32_t i = 0; i < count; i++) {
            lines[i] = random_line();
            channels[i] = (uint8_t)below(WIRE_TRANSFER_CHANNELS_MAX);
            wire_transfer_line_encode(bytes, i, channels[i], &lines[i]);
        }
        wire_transfer_seal(bytes);
        struct wire_transfer decoded;
        assert_true(decode(bytes, wire_transfer_bytes(WIRE_FRAME, (uint8_t)count), &decoded));
        assert_int_equal(decoded.kind, WIRE_FRAME);
        assert_int_equal(decoded.count, count);
        assert_int_equal(decoded.number, frame.number);
        for (uint32_t i = 0; i < count; i++) {
            struct wire_line line;
            uint8_t channel;
            wire_transfer_line_decode(bytes, i, &channel, &line);
            assert_int_equal(channel, channels[i]);
            assert_int_equal(wire_line_type(&line), wire_line_type(&lines[i]));
            assert_memory_equal(line.data, lines[i].data, sizeof line.data);
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
                wire_transfer_credits_encode(bytes, i, (uint16_t)(i * 1021));
            }
            wire_transfer_seal(bytes);
            struct wire_transfer decoded;
            assert_true(decode(bytes, wire_transfer_bytes(answer.kind, answer.count), &decoded));
            assert_int_equal(decoded.kind, kind);
            assert_int_equal(decoded.number, 65535 - count);
            for (uint32_t i = 0; i < count; i++) {
                assert_int_equal(wire_transfer_credits_decode(bytes, i), (uint16_t)(i * 1021));
            }
        }
    }
}

/* One wrong bit, two, and three in a row, wherever they are. */
static void wrong_bits_are_found(void **state)
{
    (void)state;
    unsigned char bytes[64];
    struct wire_transfer frame = {.kind = WIRE_FRAME, .count = 3, .number = 77};
    wire_transfer_begin(&frame, bytes);
    for (uint32_t i = 0; i < 3; i++) {
        struct wire_line line = random_line();
        wire_transfer_line_encode(bytes, i, (uint8_t)i, &line);
    }
    wire_transfer_seal(bytes);
    uint32_t count = wire_transfer_bytes(WIRE_FRAME, 3);
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
    static unsigned char bytes[WIRE_TRANSFER_BYTES_MAX];
    struct wire_transfer decoded;
    for (uint32_t kind = 0; kind < 256; kind++) {
        for (uint32_t count = 0; count < 256; count++) {
            memset(bytes, 0, sizeof bytes);
            bytes[0] = (unsigned char)kind;
            bytes[1] = (unsigned char)count;
            for (uint32_t i = 0; kind == WIRE_FRAME && i < count; i++) {
                bytes[4 + 10 * i + 1] = 0x82;
            }
            wire_transfer_seal(bytes);
            uint32_t whole = wire_transfer_bytes((enum wire_transfer_kind)kind, (uint8_t)count);
            bool fine = kind == WIRE_FRAME ? count > 0 : (kind == 2 || kind == 3) && count <= 64;
            assert_true(decode(bytes, whole, &decoded) == fine);
            for (uint32_t length = 0; fine && count < 3 && length < whole + 20; length++) {
                assert_true(decode(bytes, length, &decoded) == (length == whole));
            }
        }
    }
    wire_transfer_begin(&(struct wire_transfer){.kind = WIRE_FRAME, .count = 2}, bytes);
    for (uint32_t at = 4; at < 24; at += 10) { /* of either line */
        struct wire_line line = random_line();
        wire_transfer_line_encode(bytes, 0, 1, &line);
        wire_transfer_line_encode(bytes, 1, 1, &line);
        for (uint32_t value = 0; value < 256; value++) {
            bytes[at] = (unsigned char)value; /* its channel */
            wire_transfer_seal(bytes);
            assert_true(decode(bytes, wire_transfer_bytes(WIRE_FRAME, 2), &decoded) ==
                        (value < WIRE_TRANSFER_CHANNELS_MAX));
        }
        bytes[at] = 0;
        bytes[at + 1] = 0; /* its type */
        wire_transfer_seal(bytes);
        assert_false(decode(bytes, wire_transfer_bytes(WIRE_FRAME, 2), &decoded));
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
