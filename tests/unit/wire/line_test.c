/* Lines: every wrong bit is corrected, every two are detected, and the bytes are those of
 * doc/wire.md. */
#include <stdlib.h>

#include "base/random.h"
#include "unit/unit.h"
#include "wire/line.h"

static struct base_random source_of_chance;

static uint64_t below(uint64_t limit)
{
    return base_random_below(&source_of_chance, limit);
}

static struct wire_line random_line(void)
{
    struct wire_line line = {
        .kind = (enum wire_line_kind)(1 + below(4)),
        .bytes = 8,
    };
    if (line.kind == WIRE_LINE_TAIL) {
        line.bytes = (uint8_t)(1 + below(8));
    }
    for (uint32_t i = 0; i < line.bytes; i++) {
        line.data[i] = (unsigned char)below(256);
    }
    return line;
}

static void assert_lines_equal(const struct wire_line *one, const struct wire_line *other)
{
    assert_int_equal(one->kind, other->kind);
    assert_int_equal(one->bytes, other->bytes);
    assert_memory_equal(one->data, other->data, sizeof one->data);
}

static void turn(unsigned char *bytes, uint32_t bit)
{
    bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

/* ---- The code ------------------------------------------------------------------------------ */

/* The check bits by the definition in line.h, bit by bit. */
static uint8_t check_by_definition(const unsigned char *line)
{
    bool at_position[80] = {false};
    uint32_t bit = 0;
    for (uint32_t position = 1; position < 80; position++) {
        if (!is_power_of_two(position)) {
            at_position[position] = line[bit / 8] >> bit % 8 & 1;
            bit++;
        }
    }
    assert_int_equal(bit, 72);
    uint8_t check = 0;
    for (uint32_t i = 0; i < 7; i++) {
        bool odd = false;
        for (uint32_t position = 1; position < 80; position++) {
            odd ^= (position >> i & 1) != 0 && at_position[position];
        }
        at_position[1u << i] = odd;
        check |= (uint8_t)(odd << i);
    }
    bool odd = false;
    for (uint32_t position = 1; position < 80; position++) {
        odd ^= at_position[position];
    }
    return (uint8_t)(check | odd << 7);
}

static void the_code_is_the_one_that_is_stated(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        struct wire_line line = random_line();
        unsigned char bytes[WIRE_LINE_BYTES];
        wire_line_encode(&line, bytes);
        assert_int_equal(bytes[9], check_by_definition(bytes));
    }
}

static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    struct wire_line line = {.kind = WIRE_LINE_TAIL, .bytes = 3, .data = {0x11, 0x22, 0x33}};
    static const unsigned char expected[WIRE_LINE_BYTES] = {0x11, 0x22, 0x33, 0,    0,
                                                            0,    0,    0,    0x33, 0x17};
    unsigned char bytes[WIRE_LINE_BYTES];
    wire_line_encode(&line, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
}

static void every_wrong_bit_is_corrected(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 500; round++) {
        struct wire_line line = random_line();
        struct wire_line decoded;
        unsigned char bytes[WIRE_LINE_BYTES];
        wire_line_encode(&line, bytes);
        assert_int_equal(wire_line_decode(bytes, &decoded), WIRE_LINE_GOOD);
        assert_lines_equal(&decoded, &line);
        for (uint32_t bit = 0; bit < WIRE_LINE_BITS; bit++) {
            turn(bytes, bit);
            memset(&decoded, 0, sizeof decoded);
            assert_int_equal(wire_line_decode(bytes, &decoded), WIRE_LINE_CORRECTED);
            assert_lines_equal(&decoded, &line);
            turn(bytes, bit);
        }
    }
}

static void every_two_wrong_bits_are_detected(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 100; round++) {
        struct wire_line line = random_line();
        unsigned char bytes[WIRE_LINE_BYTES];
        wire_line_encode(&line, bytes);
        for (uint32_t one = 0; one < WIRE_LINE_BITS; one++) {
            turn(bytes, one);
            for (uint32_t other = 0; other < one; other++) {
                struct wire_line decoded;
                turn(bytes, other);
                assert_int_equal(wire_line_decode(bytes, &decoded), WIRE_LINE_DAMAGED);
                turn(bytes, other);
            }
            turn(bytes, one);
        }
    }
}

/* A cable that is cut or shorted gives all 0 or all 1. */
static void a_dead_cable_gives_no_lines(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_LINE_BYTES];
    struct wire_line line;
    for (int level = 0; level <= 0xff; level += 0xff) {
        memset(bytes, level, sizeof bytes);
        enum wire_line_result result = wire_line_decode(bytes, &line);
        assert_true(result == WIRE_LINE_DAMAGED || result == WIRE_LINE_MALFORMED);
    }
}

static void types_without_meaning_are_refused(void **state)
{
    (void)state;
    uint32_t accepted = 0;
    for (uint32_t type = 0; type < 256; type++) {
        unsigned char data[WIRE_LINE_DATA_BYTES] = {0};
        struct wire_line line;
        bool fine = wire_line_from_type((uint8_t)type, data, &line);
        uint32_t kind = type & 15;
        uint32_t bytes = type >> 4;
        assert_true(fine == (kind >= 1 && kind <= 4 && (kind == 3 ? bytes <= 8 : bytes == 8)));
        accepted += fine;
        /* Correct check bits make the line no better. */
        unsigned char encoded[WIRE_LINE_BYTES] = {0};
        encoded[8] = (unsigned char)type;
        encoded[9] = check_by_definition(encoded);
        assert_int_equal(wire_line_decode(encoded, &line),
                         fine ? WIRE_LINE_GOOD : WIRE_LINE_MALFORMED);
        if (fine) {
            assert_int_equal(wire_line_type(&line), type);
        }
    }
    assert_int_equal(accepted, 3 + 9);
    /* The bytes that a tail does not use are 0. */
    unsigned char data[WIRE_LINE_DATA_BYTES] = {1, 2, 3};
    struct wire_line line;
    assert_true(wire_line_from_type(0x33, data, &line));
    assert_false(wire_line_from_type(0x23, data, &line));
}

/* ---- Whole packets -------------------------------------------------------------------------- */

enum { ROOM = WIRE_PACKET_BYTES_MAX };

static unsigned char packet[ROOM], decoded_packet[ROOM];
static unsigned char lines[WIRE_LINES_MAX * WIRE_LINE_BYTES + WIRE_LINE_BYTES];
static const unsigned char header[8] = {1, 0, 7, 0x80, 3, 0, 0, 0};

static bool decode(uint32_t bytes, uint32_t room, uint32_t *packet_bytes, uint64_t *corrected)
{
    unsigned char decoded_header[8];
    unsigned char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, lines, bytes);
    bool decoded = wire_lines_decode(copy, bytes, decoded_header, decoded_packet, room,
                                     packet_bytes, corrected);
    free(copy);
    if (decoded) {
        assert_memory_equal(decoded_header, header, sizeof header);
    }
    return decoded;
}

static void packets_of_every_length_come_back(void **state)
{
    (void)state;
    for (uint32_t bytes = 0; bytes <= ROOM; bytes += bytes < 600 ? 1 : 77) {
        for (uint32_t i = 0; i < bytes; i++) {
            packet[i] = (unsigned char)below(256);
        }
        wire_lines_encode(header, packet, bytes, lines);
        /* A wrong bit in every line. */
        uint32_t line_count = wire_lines_bytes(bytes) / WIRE_LINE_BYTES;
        for (uint32_t i = 0; i < line_count; i++) {
            turn(lines + (size_t)i * WIRE_LINE_BYTES, (uint32_t)below(WIRE_LINE_BITS));
        }
        uint64_t corrected = 0;
        uint32_t packet_bytes;
        assert_true(decode(wire_lines_bytes(bytes), ROOM, &packet_bytes, &corrected));
        assert_int_equal(packet_bytes, bytes);
        assert_int_equal(corrected, line_count);
        assert_memory_equal(decoded_packet, packet, bytes);
    }
}

/* A router that could not read a line says so in the last one. */
static void a_packet_that_says_it_is_broken_is_refused(void **state)
{
    (void)state;
    uint64_t corrected = 0;
    uint32_t packet_bytes;
    wire_lines_encode(header, packet, 30, lines);
    assert_true(decode(50, ROOM, &packet_bytes, &corrected));
    wire_line_encode(&(struct wire_line){.kind = WIRE_LINE_TAIL}, lines + 40);
    assert_false(decode(50, ROOM, &packet_bytes, &corrected));
    assert_int_equal(corrected, 0);
}

static void broken_packets_are_refused(void **state)
{
    (void)state;
    uint64_t corrected = 0;
    uint32_t packet_bytes = 99;
    memset(packet, 5, 30);
    wire_lines_encode(header, packet, 30, lines);
    assert_int_equal(wire_lines_bytes(30), 50);
    for (uint32_t bytes = 0; bytes < 60; bytes++) {
        assert_true(decode(bytes, ROOM, &packet_bytes, &corrected) == (bytes == 50));
    }
    for (uint32_t room = 0; room < 40; room++) {
        assert_true(decode(50, room, &packet_bytes, &corrected) == (room >= 30));
    }
    packet_bytes = 99;
    /* Lines in another order, or one missing. */
    unsigned char first[WIRE_LINE_BYTES];
    memcpy(first, lines, sizeof first);
    for (uint32_t i = 1; i < 5; i++) {
        memcpy(lines, lines + (size_t)i * WIRE_LINE_BYTES, WIRE_LINE_BYTES);
        assert_false(decode(50, ROOM, &packet_bytes, &corrected));
    }
    memcpy(lines, first, sizeof first);
    memcpy(lines + 2 * WIRE_LINE_BYTES, first, sizeof first);
    assert_false(decode(50, ROOM, &packet_bytes, &corrected));
    memcpy(lines + 2 * WIRE_LINE_BYTES, lines + 4 * WIRE_LINE_BYTES, WIRE_LINE_BYTES);
    assert_false(decode(50, ROOM, &packet_bytes, &corrected));
    memcpy(lines + 2 * WIRE_LINE_BYTES, lines + 3 * WIRE_LINE_BYTES, WIRE_LINE_BYTES);
    assert_true(decode(50, ROOM, &packet_bytes, &corrected));
    packet_bytes = 99;
    turn(lines, 200);
    turn(lines, 201);
    assert_false(decode(50, ROOM, &packet_bytes, &corrected));
    assert_int_equal(packet_bytes, 99);
    assert_int_equal(corrected, 0);
}

int main(void)
{
    source_of_chance.state = 20030;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_code_is_the_one_that_is_stated),
        cmocka_unit_test(the_bytes_are_those_of_the_document),
        cmocka_unit_test(every_wrong_bit_is_corrected),
        cmocka_unit_test(every_two_wrong_bits_are_detected),
        cmocka_unit_test(a_dead_cable_gives_no_lines),
        cmocka_unit_test(types_without_meaning_are_refused),
        cmocka_unit_test(packets_of_every_length_come_back),
        cmocka_unit_test(a_packet_that_says_it_is_broken_is_refused),
        cmocka_unit_test(broken_packets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
