/* Frames: lines come back with their kinds, wrong bits are found, nonsense is refused. */
#include "base/random.h"
#include "unit/unit.h"
#include "wire/ib_frame.h"

static struct base_random source_of_chance = {.state = 2048};

static uint32_t below(uint32_t limit)
{
    return (uint32_t)base_random_below(&source_of_chance, limit);
}

/* From a copy of exactly that length, into lines that are right behind each other. */
static enum wire_ib_result decode(const unsigned char *bytes, uint32_t count,
                                  struct wire_ib_frame *frame, struct wire_line *lines)
{
    unsigned char *copy = malloc(count > 0 ? count : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, count);
    enum wire_ib_result result = wire_ib_frame_decode(copy, count, frame, lines,
                                                      WIRE_IB_FRAME_LINES_MAX);
    free(copy);
    return result;
}

/* A packet of that many lines, whose last one uses some bytes. */
static void packet_make(struct wire_line *lines, uint32_t count, uint8_t last_bytes)
{
    for (uint32_t i = 0; i < count; i++) {
        lines[i] = (struct wire_line){.kind = WIRE_LINE_DATA, .bytes = WIRE_LINE_DATA_BYTES};
        if (i == count - 1 && count > 1) {
            lines[i].kind = WIRE_LINE_TAIL;
            lines[i].bytes = last_bytes;
        } else if (i == 0) {
            lines[i].kind = count == 1 ? WIRE_LINE_SINGLE : WIRE_LINE_HEADER;
        }
        for (uint32_t byte = 0; byte < lines[i].bytes; byte++) {
            lines[i].data[byte] = (unsigned char)below(256);
        }
    }
}

static void lines_are_equal(const struct wire_line *one, const struct wire_line *other,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(one[i].kind, other[i].kind);
        assert_int_equal(one[i].bytes, other[i].bytes);
        assert_memory_equal(one[i].data, other[i].data, WIRE_LINE_DATA_BYTES);
    }
}

static void the_bytes_are_those_of_the_document(void **state)
{
    (void)state;
    static const unsigned char expected[] = {
        0x10, 0x20, 0x00, 0x07, 0x00, 0x0a, 0x00, 0x09, 0,   0,   0x88, 0xb5, /* LRH, RWH */
        0x31, 0x33, 0x34, 0x12, 0x02, 0x00, 0,    0,                          /* frame header */
        1,    2,    3,    4,    5,    6,    7,    8,    'a', 'b', 'c',  0,    0, 0, 0, 0};
    const struct wire_line lines[] = {
        {.kind = WIRE_LINE_HEADER, .bytes = 8, .data = {1, 2, 3, 4, 5, 6, 7, 8}},
        {.kind = WIRE_LINE_TAIL, .bytes = 3, .data = {'a', 'b', 'c'}},
    };
    const struct wire_ib_frame frame = {
        .kind = WIRE_IB_FRAME_DATA,
        .vl = 1,
        .sl = 2,
        .flow = 3,
        .dlid = 7,
        .slid = 9,
        .number = 0x1234,
        .count = 2,
    };
    unsigned char bytes[64];
    assert_int_equal(wire_ib_frame_bytes(2), sizeof expected + 6);
    wire_ib_frame_encode(&frame, lines, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(wire_get32(bytes + sizeof expected),
                     wire_ib_raw_crc32(expected, sizeof expected));
    assert_true(wire_ib_vcrc_fits(bytes, sizeof expected + 6));
    assert_int_equal(wire_ib_frame_bytes(0), 26);
    assert_int_equal(wire_ib_frame_lines_max(2048), 254);
    assert_int_equal(wire_ib_frame_lines_max(4096), WIRE_IB_FRAME_LINES_MAX);
    assert_int_equal(WIRE_IB_FRAME_LINES_MAX, 510);
}

/* Packets of all lengths, cut into frames of any size, and joined again. */
static void packets_come_back_whatever_the_cut(void **state)
{
    (void)state;
    static struct wire_line packet[WIRE_LINES_MAX], back[WIRE_LINES_MAX + WIRE_IB_FRAME_LINES_MAX];
    static unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    for (uint32_t length = 1; length <= WIRE_LINES_MAX; length += length < 40 ? 1 : 1 + below(60)) {
        for (uint8_t last = 0; last <= 8; last++) {
            uint32_t cut = length < 10 ? 1 + last % length : 1 + below(WIRE_IB_FRAME_LINES_MAX);
            packet_make(packet, length, last);
            memset(back, 0, sizeof back);
            for (uint32_t at = 0; at < length; at += cut) {
                const struct wire_ib_frame frame = {
                    .kind = WIRE_IB_FRAME_DATA,
                    .vl = (uint8_t)below(15),
                    .sl = (uint8_t)below(16),
                    .flow = (uint8_t)below(16),
                    .dlid = (uint16_t)(1 + below(0xfffe)),
                    .slid = (uint16_t)(1 + below(0xbfff)),
                    .number = (uint16_t)below(65536),
                    .count = (uint16_t)(length - at < cut ? length - at : cut),
                };
                struct wire_ib_frame read;
                wire_ib_frame_encode(&frame, packet + at, bytes);
                assert_int_equal(decode(bytes, wire_ib_frame_bytes(frame.count), &read, back + at),
                                 WIRE_IB_GOOD);
                assert_int_equal(read.kind, WIRE_IB_FRAME_DATA);
                assert_int_equal(read.vl, frame.vl);
                assert_int_equal(read.sl, frame.sl);
                assert_int_equal(read.flow, frame.flow);
                assert_int_equal(read.dlid, frame.dlid);
                assert_int_equal(read.slid, frame.slid);
                assert_int_equal(read.number, frame.number);
                assert_int_equal(read.count, frame.count);
            }
            lines_are_equal(packet, back, length);
        }
    }
}

static void answers_come_back(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 1000; round++) {
        unsigned char bytes[WIRE_IB_FRAME_OVERHEAD_BYTES];
        const struct wire_ib_frame answer = {
            .kind = round % 2 ? WIRE_IB_FRAME_ACK : WIRE_IB_FRAME_NACK,
            .vl = (uint8_t)below(15),
            .sl = (uint8_t)below(16),
            .flow = (uint8_t)(round % 16),
            .dlid = 3,
            .slid = 4,
            .number = (uint16_t)below(65536),
        };
        struct wire_ib_frame read;
        wire_ib_frame_encode(&answer, NULL, bytes);
        assert_int_equal(wire_ib_frame_decode(bytes, sizeof bytes, &read, NULL, 0), WIRE_IB_GOOD);
        assert_true(read.kind == answer.kind && read.flow == answer.flow && read.count == 0);
        assert_int_equal(read.number, answer.number);
    }
}

static const struct wire_ib_frame sample = {
    .kind = WIRE_IB_FRAME_DATA,
    .vl = 1,
    .sl = 2,
    .flow = 3,
    .dlid = 0x307,
    .slid = 0x209,
    .number = 0x1234,
};

/* A frame of that many lines of a longer packet; gives its bytes. */
static uint32_t sample_make(unsigned char *bytes, uint32_t count, bool begins, bool ends)
{
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX + 2];
    struct wire_ib_frame frame = sample;
    uint32_t whole = count + !begins + !ends;
    packet_make(lines, whole, (uint8_t)(1 + below(8)));
    frame.count = (uint16_t)count;
    wire_ib_frame_encode(&frame, lines + !begins, bytes);
    return wire_ib_frame_bytes(count);
}

static void flip(unsigned char *bytes, uint32_t bit)
{
    bytes[bit / 8] ^= (unsigned char)(0x80 >> bit % 8);
}

static bool is_found(const unsigned char *bytes, uint32_t count)
{
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    struct wire_ib_frame frame;
    enum wire_ib_result result = wire_ib_frame_decode(bytes, count, &frame, lines,
                                                      WIRE_IB_FRAME_LINES_MAX);
    return result == WIRE_IB_VCRC_WRONG || result == WIRE_IB_CRC32_WRONG;
}

/* Every pattern of one and two wrong bits of a short frame. */
static void one_and_two_wrong_bits_are_found(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    for (uint32_t lines = 1; lines <= 8; lines += 7) {
        uint32_t bits = 8 * sample_make(bytes, lines, true, true);
        for (uint32_t one = 0; one < bits; one++) {
            flip(bytes, one);
            assert_true(is_found(bytes, bits / 8));
            for (uint32_t two = 0; two < one; two++) {
                flip(bytes, two);
                assert_true(is_found(bytes, bits / 8));
                flip(bytes, two);
            }
            flip(bytes, one);
        }
        assert_false(is_found(bytes, bits / 8));
    }
}

/* Some patterns of three bits, in frames of all lengths. */
static void three_wrong_bits_are_found(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    for (uint32_t lines = 1; lines <= WIRE_IB_FRAME_LINES_MAX; lines += 1 + below(100)) {
        uint32_t bits = 8 * sample_make(bytes, lines, lines % 2, lines % 3);
        for (uint32_t round = 0; round < 2000; round++) {
            uint32_t wrong[3] = {below(bits)};
            do {
                wrong[1] = below(bits);
                wrong[2] = below(bits);
            } while (wrong[0] == wrong[1] || wrong[0] == wrong[2] || wrong[1] == wrong[2]);
            for (uint32_t i = 0; i < 3; i++) {
                flip(bytes, wrong[i]);
            }
            assert_true(is_found(bytes, bits / 8));
            for (uint32_t i = 0; i < 3; i++) {
                flip(bytes, wrong[i]);
            }
        }
    }
}

/* The pattern of three bits, 470 bits from the first to the last, that the VCRC does not see. */
static void what_the_vcrc_misses_the_crc32_finds(void **state)
{
    (void)state;
    unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    struct wire_line lines[20];
    struct wire_ib_frame frame;
    uint32_t count = sample_make(bytes, 10, true, true), found = 0;
    /* CRCs take the lowest bit of a byte first. */
    for (uint32_t last = 469; last < 8 * (count - 6); last++) {
        const uint32_t wrong[] = {last - 469, last - 93, last};
        for (uint32_t i = 0; i < 3; i++) {
            bytes[wrong[i] / 8] ^= (unsigned char)(1u << wrong[i] % 8);
        }
        if (last - 469 < 4 || last - 469 >= 8) {
            assert_true(wire_ib_vcrc_fits(bytes, count));
            assert_int_equal(wire_ib_frame_decode(bytes, count, &frame, lines, 20),
                             WIRE_IB_CRC32_WRONG);
            found++;
        }
        for (uint32_t i = 0; i < 3; i++) {
            bytes[wrong[i] / 8] ^= (unsigned char)(1u << wrong[i] % 8);
        }
    }
    assert_true(found > 100);
}

/* Only the VCRC sees the VL. Frames of 75 and of 246 lines have a few patterns of three wrong bits
 * in both of them that are not found; then all but the VL is right. */
static void a_wrong_vl_is_all_that_can_go_unseen(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    static struct wire_line right[WIRE_IB_FRAME_LINES_MAX], lines[WIRE_IB_FRAME_LINES_MAX];
    static const uint32_t counts[][2] = {{1, 0}, {20, 0}, {75, 4}, {246, 3}, {254, 0}, {510, 0}};
    for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct wire_ib_frame frame;
        uint32_t count = counts[i][0], unseen = 0;
        uint32_t whole = sample_make(bytes, count, true, true);
        unsigned char *vcrc = bytes + whole - 2;
        assert_int_equal(decode(bytes, whole, &frame, right), WIRE_IB_GOOD);
        for (uint32_t wrong = 1; wrong < 1 << 20; wrong++) {
            if (__builtin_popcount(wrong) > 3) {
                continue;
            }
            bytes[0] ^= (unsigned char)(wrong << 4 & 0xf0);
            vcrc[0] ^= (unsigned char)(wrong >> 4);
            vcrc[1] ^= (unsigned char)(wrong >> 12);
            if (!is_found(bytes, whole)) {
                unseen++;
                assert_int_equal(__builtin_popcount(wrong), 3);
                assert_int_equal(decode(bytes, whole, &frame, lines), WIRE_IB_GOOD);
                assert_true(frame.vl != sample.vl && frame.number == sample.number);
                lines_are_equal(lines, right, count);
            }
            bytes[0] ^= (unsigned char)(wrong << 4 & 0xf0);
            vcrc[0] ^= (unsigned char)(wrong >> 4);
            vcrc[1] ^= (unsigned char)(wrong >> 12);
        }
        assert_int_equal(unseen, counts[i][1]);
    }
}

/* Damage in a switch, which then makes a VCRC that fits. */
static void damage_in_a_switch_is_found(void **state)
{
    (void)state;
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    struct wire_ib_frame frame;
    uint32_t count = sample_make(bytes, 20, true, false);
    for (uint8_t vl = 0; vl < 15; vl++) {
        wire_ib_vl_set(bytes, count, vl);
        assert_int_equal(decode(bytes, count, &frame, lines), WIRE_IB_GOOD);
        assert_int_equal(frame.vl, vl);
    }
    for (uint32_t bit = 4; bit < 8 * (count - 2); bit++) {
        flip(bytes, bit);
        wire_ib_vcrc_put(bytes, count);
        assert_int_equal(decode(bytes, count, &frame, lines), WIRE_IB_CRC32_WRONG);
        assert_false(wire_ib_frame_crc32_fits(bytes, count));
        flip(bytes, bit);
    }
}

static void reseal(unsigned char *bytes, uint32_t count)
{
    wire_put32(bytes + count - 6, wire_ib_raw_crc32(bytes, count - 6));
    wire_ib_vcrc_put(bytes, count);
}

/* Every value of every byte of the frame header, with CRCs that fit: what is accepted, encoded
 * again, is the same. */
static void only_what_a_sender_sends_is_a_frame(void **state)
{
    (void)state;
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    unsigned char right[64], bytes[64], again[64];
    struct wire_ib_frame frame;
    for (uint32_t count = 0; count <= 2; count++) {
        uint32_t whole = wire_ib_frame_bytes(count);
        if (count > 0) {
            (void)sample_make(right, count, false, false);
            right[whole - 7] = 1; /* the last line uses all its bytes */
        } else {
            struct wire_ib_frame answer = sample;
            answer.kind = WIRE_IB_FRAME_ACK;
            wire_ib_frame_encode(&answer, NULL, right);
        }
        for (uint32_t at = 12; at < 20; at++) {
            uint32_t good = 0;
            for (uint32_t value = 0; value < 256; value++) {
                memcpy(bytes, right, whole);
                bytes[at] = (unsigned char)value;
                reseal(bytes, whole);
                enum wire_ib_result result = decode(bytes, whole, &frame, lines);
                assert_true(result == WIRE_IB_GOOD || result == WIRE_IB_MALFORMED);
                if (result == WIRE_IB_GOOD) {
                    good++;
                    wire_ib_frame_encode(&frame, lines, again);
                    assert_memory_equal(bytes, again, whole);
                }
            }
            /* DATA, or ACK and NACK, with 16 flows; any place, or none; any number. */
            const uint32_t expected[] = {
                count > 0 ? 16 : 32, count > 0 ? 4 : 1, 256, 256, 1, 1, 1, 1};
            assert_int_equal(good, expected[at - 12]);
        }
    }
}

static void broken_packets_and_empty_bytes(void **state)
{
    (void)state;
    struct wire_line lines[3];
    unsigned char bytes[64];
    struct wire_ib_frame frame = sample, read;
    packet_make(lines, 3, 0);
    frame.count = 3;
    wire_ib_frame_encode(&frame, lines, bytes);
    assert_int_equal(decode(bytes, wire_ib_frame_bytes(3), &read, lines), WIRE_IB_GOOD);
    assert_int_equal(lines[2].kind, WIRE_LINE_TAIL);
    assert_int_equal(lines[2].bytes, 0);
    /* A byte that the TAIL does not use is not 0. */
    bytes[20 + 23] = 1;
    reseal(bytes, wire_ib_frame_bytes(3));
    assert_int_equal(decode(bytes, wire_ib_frame_bytes(3), &read, lines), WIRE_IB_MALFORMED);
}

static void frames_of_a_wrong_length_are_refused(void **state)
{
    (void)state;
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    static unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX + 16];
    struct wire_ib_frame frame;
    uint32_t whole = sample_make(bytes, 4, true, true);
    assert_int_equal(wire_ib_frame_decode(bytes, whole, &frame, lines, 3), WIRE_IB_MALFORMED);
    assert_int_equal(wire_ib_frame_decode(bytes, whole, &frame, lines, 4), WIRE_IB_GOOD);
    for (uint32_t count = 0; count < sizeof bytes; count += count < 200 ? 1 : 31) {
        memset(bytes, 0, sizeof bytes);
        (void)sample_make(bytes, 4, true, true);
        if (count >= 20) {
            reseal(bytes, count);
        }
        assert_int_equal(decode(bytes, count, &frame, lines),
                         count == whole ? WIRE_IB_GOOD : WIRE_IB_MALFORMED);
        /* Also when the LRH says so. */
        if (count >= 26 && count % 4 == 2 && count != whole) {
            bytes[4] = (unsigned char)(count / 4 >> 8);
            bytes[5] = (unsigned char)(count / 4);
            reseal(bytes, count);
            assert_int_equal(decode(bytes, count, &frame, lines), WIRE_IB_MALFORMED);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_the_document),
        cmocka_unit_test(packets_come_back_whatever_the_cut),
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(one_and_two_wrong_bits_are_found),
        cmocka_unit_test(three_wrong_bits_are_found),
        cmocka_unit_test(what_the_vcrc_misses_the_crc32_finds),
        cmocka_unit_test(a_wrong_vl_is_all_that_can_go_unseen),
        cmocka_unit_test(damage_in_a_switch_is_found),
        cmocka_unit_test(only_what_a_sender_sends_is_a_frame),
        cmocka_unit_test(broken_packets_and_empty_bytes),
        cmocka_unit_test(frames_of_a_wrong_length_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
