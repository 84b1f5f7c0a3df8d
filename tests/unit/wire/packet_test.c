/* Packets: the bytes are those of doc/wire.md, what is encoded is decoded again, and
 * everything else is refused. Decoders get exact copies on the heap, so that a sanitizer
 * sees a read outside. */
#include <stdlib.h>

#include "base/random.h"
#include "unit/unit.h"
#include "wire/packet.h"

enum { ROUNDS = 20000 };

static struct base_random source_of_chance;

static uint64_t below(uint64_t limit)
{
    return base_random_below(&source_of_chance, limit);
}

static bool decode_header(const unsigned char *packet, uint32_t bytes, struct wire_header *header)
{
    unsigned char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, packet, bytes);
    bool decoded = wire_header_decode(copy, bytes, header);
    free(copy);
    return decoded;
}

static bool decode_ack(const unsigned char *acks, uint32_t bytes, uint32_t *at,
                       struct wire_ack *ack)
{
    unsigned char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, acks, bytes);
    bool decoded = wire_ack_decode(copy, bytes, at, ack);
    free(copy);
    return decoded;
}

static bool check_acks(const unsigned char *acks, uint32_t bytes)
{
    unsigned char *copy = malloc(bytes > 0 ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, acks, bytes);
    bool fine = wire_acks_check(copy, bytes);
    free(copy);
    return fine;
}

static void assert_headers_equal(const struct wire_header *one, const struct wire_header *other)
{
    assert_int_equal(one->kind, other->kind);
    assert_int_equal(one->flags, other->flags);
    assert_int_equal(one->channel, other->channel);
    assert_int_equal(one->after, other->after);
    assert_int_equal(one->source, other->source);
    assert_int_equal(one->target, other->target);
    assert_int_equal(one->pgid, other->pgid);
    assert_int_equal(one->source_incarnation, other->source_incarnation);
    assert_int_equal(one->target_incarnation, other->target_incarnation);
    assert_int_equal(one->sequence, other->sequence);
    assert_int_equal(one->ack_bytes, other->ack_bytes);
    assert_int_equal(one->body_bytes, other->body_bytes);
    assert_true(one->counter == other->counter);
}

static void assert_acks_equal(const struct wire_ack *one, const struct wire_ack *other)
{
    assert_int_equal(one->class, other->class);
    assert_int_equal(one->stage, other->stage);
    assert_int_equal(one->gap, other->gap);
    assert_int_equal(one->refused, other->refused);
    assert_int_equal(one->bitmap_words, other->bitmap_words);
    assert_int_equal(one->window, other->window);
    assert_int_equal(one->next, other->next);
    assert_int_equal(one->echo, other->echo);
    assert_int_equal(one->delay_ns, other->delay_ns);
    assert_memory_equal(one->bitmap, other->bitmap, sizeof one->bitmap);
}

static uint32_t whole_bytes(const struct wire_header *header)
{
    return WIRE_OVERHEAD_BYTES + (uint32_t)header->ack_bytes + header->body_bytes;
}

/* An example of each kind, each field different. */
static struct wire_header example(enum wire_kind kind)
{
    struct wire_header header = {
        .kind = kind,
        .flags = WIRE_FLAG_ANSWER,
        .channel = 7,
        .source = 0x0123,
        .target = 0x4567,
        .pgid = 0x89abcdef,
        .source_incarnation = 0x10203040,
        .target_incarnation = 0x50607080,
        .ack_bytes = 36,
        .body_bytes = kind == WIRE_CONTROL ? 1 : 48,
        .counter = UINT64_C(0x1122334455667788),
    };
    if (kind == WIRE_CD || kind == WIRE_PIECE) {
        header.flags |= WIRE_FLAG_REPLY | WIRE_FLAG_AFTER_ALL;
        header.after = 248;
        header.sequence = 0x90a0b0c0;
    }
    return header;
}

static struct wire_header random_header(void)
{
    struct wire_header header = {
        .kind = (enum wire_kind)(1 + below(4)),
        .channel = (uint8_t)below(WIRE_CHANNELS),
        .source = (uint16_t)below(WIRE_NODES_MAX),
        .target = (uint16_t)below(WIRE_NODES_MAX),
        .pgid = (uint32_t)below(UINT64_C(1) << 32),
        .source_incarnation = 1 + (uint32_t)below(UINT32_MAX),
        .target_incarnation = 1 + (uint32_t)below(UINT32_MAX),
        .ack_bytes = (uint16_t)(4 * below(25)),
        .counter = base_random_next(&source_of_chance),
    };
    if (header.kind == WIRE_CONTROL) {
        header.flags = (uint8_t)(below(4) << 2);
        header.body_bytes = (uint16_t)(below(2) * below(9000));
        if (below(3) == 0) {
            header.target_incarnation = 0;
        }
    } else {
        header.body_bytes = (uint16_t)(16 + 8 * below(1132));
        header.flags = (uint8_t)(below(4) << 2);
    }
    if (header.kind == WIRE_CD || header.kind == WIRE_PIECE) {
        header.flags = (uint8_t)below(WIRE_FLAGS + 1);
        header.after = (uint8_t)below(WIRE_AFTER_MAX + 1);
        header.sequence = (uint32_t)below(UINT64_C(1) << 32);
    }
    return header;
}

/* ---- Headers ----------------------------------------------------------------------- */

static void a_header_has_the_documented_bytes(void **state)
{
    (void)state;
    static const unsigned char expected[WIRE_PREFIX_BYTES] = {
        1,    0x72, 7,    248,  0x23, 0x01, 0x67, 0x45, 0xef, 0xcd, 0xab, 0x89,
        0x40, 0x30, 0x20, 0x10, 0x80, 0x70, 0x60, 0x50, 0xc0, 0xb0, 0xa0, 0x90,
        36,   0,    48,   0,    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
    };
    unsigned char packet[WIRE_PREFIX_BYTES];
    struct wire_header header = example(WIRE_CD);
    wire_header_encode(&header, packet);
    assert_memory_equal(packet, expected, sizeof expected);
}

static void a_header_comes_back_as_it_was(void **state)
{
    (void)state;
    unsigned char packet[WIRE_PACKET_BYTES_MAX] = {0};
    unsigned char again[WIRE_PREFIX_BYTES];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct wire_header header = random_header();
        struct wire_header decoded;
        wire_header_encode(&header, packet);
        assert_true(decode_header(packet, whole_bytes(&header), &decoded));
        assert_headers_equal(&decoded, &header);
        wire_header_encode(&decoded, again);
        assert_memory_equal(again, packet, sizeof again);
    }
}

static void what_is_accepted_has_one_encoding(void **state)
{
    (void)state;
    unsigned char packet[WIRE_PACKET_BYTES_MAX] = {0};
    unsigned char again[WIRE_PREFIX_BYTES];
    uint32_t accepted = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct wire_header header = random_header();
        struct wire_header decoded;
        wire_header_encode(&header, packet);
        packet[below(WIRE_PREFIX_BYTES)] = (unsigned char)below(256);
        if (decode_header(packet, whole_bytes(&header), &decoded)) {
            accepted++;
            wire_header_encode(&decoded, again);
            assert_memory_equal(again, packet, sizeof again);
        }
    }
    assert_true(accepted > ROUNDS / 4 && accepted < ROUNDS);
}

static void the_longest_packet_is_accepted_and_no_longer_one(void **state)
{
    (void)state;
    static unsigned char packet[WIRE_PACKET_BYTES_MAX + 8];
    struct wire_header decoded;
    struct wire_header header = example(WIRE_CD);
    header.ack_bytes = 36;
    header.body_bytes = WIRE_PACKET_BYTES_MAX - WIRE_OVERHEAD_BYTES - 36;
    assert_int_equal(header.body_bytes % 8, 0);
    wire_header_encode(&header, packet);
    assert_true(decode_header(packet, WIRE_PACKET_BYTES_MAX, &decoded));
    wire_put16(packet + 24, 40);
    assert_false(decode_header(packet, WIRE_PACKET_BYTES_MAX + 4, &decoded));
    wire_put16(packet + 24, 36);
    wire_put16(packet + 26, (uint16_t)(header.body_bytes + 8));
    assert_false(decode_header(packet, WIRE_PACKET_BYTES_MAX + 8, &decoded));
}

static void a_packet_of_another_length_is_refused(void **state)
{
    (void)state;
    unsigned char packet[512] = {0};
    struct wire_header decoded;
    for (int kind = WIRE_UD; kind <= WIRE_PIECE; kind++) {
        struct wire_header header = example((enum wire_kind)kind);
        wire_header_encode(&header, packet);
        for (uint32_t bytes = 0; bytes <= sizeof packet; bytes++) {
            bool whole = bytes == whole_bytes(&header);
            assert_int_equal(decode_header(packet, bytes, &decoded), whole);
        }
    }
}

struct violation {
    const char *what;
    enum wire_kind kind;
    uint32_t at;
    uint32_t bytes;
    uint32_t value;
    int32_t longer; /* so that the lengths still add up */
};

static const struct violation VIOLATIONS[] = {
    {"version 0", WIRE_CD, 0, 1, 0, 0},
    {"version 2", WIRE_CD, 0, 1, 2, 0},
    {"kind 0", WIRE_CD, 1, 1, 0x00, 0},
    {"kind 5", WIRE_CD, 1, 1, 0x05, 0},
    {"kind 15", WIRE_CD, 1, 1, 0x0f, 0},
    {"channel 16", WIRE_CD, 2, 1, 16, 0},
    {"CD after 249", WIRE_CD, 3, 1, 249, 0},
    {"source 65534", WIRE_CD, 4, 2, 65534, 0},
    {"source nobody", WIRE_CD, 4, 2, 65535, 0},
    {"target 65534", WIRE_CD, 6, 2, 65534, 0},
    {"target nobody", WIRE_CD, 6, 2, 65535, 0},
    {"CD without source incarnation", WIRE_CD, 12, 4, 0, 0},
    {"CD without target incarnation", WIRE_CD, 16, 4, 0, 0},
    {"acknowledgements of odd length", WIRE_CD, 24, 2, 38, 2},
    {"too many acknowledgements", WIRE_CD, 24, 2, 100, 64},
    {"CD without body", WIRE_CD, 26, 2, 0, -48},
    {"CD of odd length", WIRE_CD, 26, 2, 44, -4},
    {"length 65535", WIRE_CD, 26, 2, 65535, 0},
    {"UD reply", WIRE_UD, 1, 1, 0x11, 0},
    {"UD after all", WIRE_UD, 1, 1, 0x21, 0},
    {"UD after", WIRE_UD, 3, 1, 1, 0},
    {"UD with sequence", WIRE_UD, 20, 4, 1, 0},
    {"UD with sequence 2^31", WIRE_UD, 20, 4, 0x80000000, 0},
    {"UD without source incarnation", WIRE_UD, 12, 4, 0, 0},
    {"UD without target incarnation", WIRE_UD, 16, 4, 0, 0},
    {"UD without body", WIRE_UD, 26, 2, 0, -48},
    {"UD of odd length", WIRE_UD, 26, 2, 41, -7},
    {"CONTROL reply", WIRE_CONTROL, 1, 1, 0x13, 0},
    {"CONTROL after all", WIRE_CONTROL, 1, 1, 0x23, 0},
    {"CONTROL after", WIRE_CONTROL, 3, 1, 1, 0},
    {"CONTROL with sequence", WIRE_CONTROL, 20, 4, 1, 0},
    {"CONTROL without source incarnation", WIRE_CONTROL, 12, 4, 0, 0},
    {"PIECE without data", WIRE_PIECE, 26, 2, 8, -40},
    {"PIECE of odd length", WIRE_PIECE, 26, 2, 44, -4},
    {"PIECE after 249", WIRE_PIECE, 3, 1, 249, 0},
    {"PIECE without source incarnation", WIRE_PIECE, 12, 4, 0, 0},
    {"PIECE without target incarnation", WIRE_PIECE, 16, 4, 0, 0},
};

static void every_broken_field_is_refused(void **state)
{
    (void)state;
    unsigned char packet[512] = {0};
    for (size_t i = 0; i < sizeof VIOLATIONS / sizeof VIOLATIONS[0]; i++) {
        const struct violation *violation = &VIOLATIONS[i];
        struct wire_header header = example(violation->kind);
        struct wire_header decoded = {.counter = 42};
        wire_header_encode(&header, packet);
        for (uint32_t byte = 0; byte < violation->bytes; byte++) {
            packet[violation->at + byte] = (unsigned char)(violation->value >> 8 * byte);
        }
        uint32_t bytes = whole_bytes(&header) + (uint32_t)violation->longer;
        if (decode_header(packet, bytes, &decoded)) {
            fail_msg("accepted: %s", violation->what);
        }
        assert_true(decoded.counter == 42 && decoded.source == 0);
    }
}

static void a_node_may_send_to_itself_and_greet_the_unknown(void **state)
{
    (void)state;
    unsigned char packet[512] = {0};
    struct wire_header decoded;
    struct wire_header header = example(WIRE_CONTROL);
    header.target = header.source;
    header.target_incarnation = 0;
    header.body_bytes = 0;
    header.ack_bytes = 0;
    wire_header_encode(&header, packet);
    assert_true(decode_header(packet, WIRE_OVERHEAD_BYTES, &decoded));
    assert_headers_equal(&decoded, &header);
}

/* ---- Control codes and pieces -------------------------------------------------------- */

static void a_control_code_has_what_belongs_to_it_and_no_more(void **state)
{
    (void)state;
    unsigned char body[64] = {0};
    assert_true(wire_control_check(body, 0));
    for (unsigned char code = WIRE_HELLO; code <= WIRE_DEAD; code++) {
        body[0] = code;
        assert_true(wire_control_check(body, 1));
        assert_false(wire_control_check(body, 2));
        assert_false(wire_control_check(body, WIRE_PATH_ANSWER_BYTES));
    }
    body[0] = WIRE_PATH;
    for (uint32_t bytes = 1; bytes <= sizeof body; bytes++) {
        assert_true(wire_control_check(body, bytes));
    }
    for (uint32_t at = 1; at < sizeof body; at++) {
        body[at] = 1;
        assert_true(wire_control_check(body, at));
        assert_false(wire_control_check(body, sizeof body));
        body[at] = 0;
    }
    wire_path_answer_encode(UINT64_C(0x1122334455667788), body);
    assert_int_equal(body[0], WIRE_PATH_CARRIES);
    assert_true(wire_path_answer_decode(body) == UINT64_C(0x1122334455667788));
    for (uint32_t bytes = 1; bytes <= sizeof body; bytes++) {
        assert_int_equal(wire_control_check(body, bytes), bytes == WIRE_PATH_ANSWER_BYTES);
    }
}

static void pieces_survive_the_way_there_and_back(void **state)
{
    (void)state;
    unsigned char data[2048];
    unsigned char body[WIRE_PIECE_BYTES + sizeof data];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (unsigned char)below(256);
    }
    static const struct wire_piece PIECES[] = {
        {.offset = 0, .whole_bytes = 136, .bytes = 128},
        {.offset = 128, .whole_bytes = 136, .bytes = 8},
        {.offset = 1024, .whole_bytes = 9160, .bytes = 1024},
        {.offset = 9088, .whole_bytes = 9160, .bytes = 72},
        {.offset = 7168, .whole_bytes = 9160, .bytes = 1992},
    };
    for (size_t i = 0; i < sizeof PIECES / sizeof PIECES[0]; i++) {
        struct wire_piece piece = PIECES[i];
        struct wire_piece decoded = {0};
        piece.data = data;
        wire_piece_encode(&piece, body);
        assert_true(wire_piece_decode(body, WIRE_PIECE_BYTES + (uint32_t)piece.bytes, &decoded));
        assert_int_equal(decoded.offset, piece.offset);
        assert_int_equal(decoded.whole_bytes, piece.whole_bytes);
        assert_int_equal(decoded.bytes, piece.bytes);
        assert_memory_equal(decoded.data, data, piece.bytes);
    }
}

static void pieces_that_lie_nowhere_are_refused(void **state)
{
    (void)state;
    unsigned char body[2048] = {0};
    static const struct {
        const char *what;
        uint16_t offset, whole, bytes, zero;
    } PIECES[] = {
        {"no data", 128, 256, 0, 0},
        {"beyond the end", 128, 256, 136, 0},
        {"far beyond the end", 65408, 256, 128, 0},
        {"at no unit", 64, 512, 128, 0},
        {"half a unit in the midst", 128, 512, 64, 0},
        {"all of it", 0, 256, 256, 0},
        {"of nothing", 0, 0, 128, 0},
        {"of a whole of odd length", 128, 260, 128, 0},
        {"with a bit that means nothing", 128, 512, 128, 1},
    };
    for (size_t i = 0; i < sizeof PIECES / sizeof PIECES[0]; i++) {
        struct wire_piece piece = {.offset = 42};
        wire_put16(body, PIECES[i].offset);
        wire_put16(body + 2, PIECES[i].whole);
        wire_put16(body + 4, 0);
        wire_put16(body + 6, PIECES[i].zero);
        if (wire_piece_decode(body, WIRE_PIECE_BYTES + (uint32_t)PIECES[i].bytes, &piece)) {
            fail_msg("accepted: %s", PIECES[i].what);
        }
        assert_int_equal(piece.offset, 42);
    }
    struct wire_piece piece;
    for (uint32_t bytes = 0; bytes <= WIRE_PIECE_BYTES; bytes++) {
        assert_false(wire_piece_decode(body, bytes, &piece));
    }
}

/* ---- Acknowledgements -------------------------------------------------------------- */

static struct wire_ack random_ack(void)
{
    struct wire_ack ack = {
        .class = (enum wire_class)below(2),
        .stage = (enum wire_stage)below(3),
        .gap = below(2) == 1,
        .refused = below(2) == 1,
        .bitmap_words = (uint8_t)below(WIRE_ACK_BITMAP_WORDS_MAX + 1),
        .window = (uint16_t)(1 + below(65535)),
        .next = (uint32_t)base_random_next(&source_of_chance),
        .echo = (uint32_t)base_random_next(&source_of_chance),
        .delay_ns = (uint32_t)(below(1 << 24) * 64),
    };
    for (uint32_t i = 0; i < ack.bitmap_words; i++) {
        ack.bitmap[i] = (uint32_t)base_random_next(&source_of_chance);
    }
    return ack;
}

static void an_acknowledgement_has_the_documented_bytes(void **state)
{
    (void)state;
    static const unsigned char expected[] = {
        0x1d, 1,    0x34, 0x12, 0x04, 0x03, 0x02, 0x01, 0xd4, 0xc3,
        0xb2, 0xa1, 0x56, 0x34, 0x12, 0,    0xef, 0xbe, 0xad, 0xde,
    };
    struct wire_ack ack = {
        WIRE_REPLY, WIRE_SELECTIVE_REPEAT, true,        true, 1, 0x1234, 0x01020304,
        0xa1b2c3d4, 0x123456 * 64 + 63,    {0xdeadbeef}};
    unsigned char bytes[WIRE_ACK_BYTES_MAX];
    assert_int_equal(wire_ack_encode(&ack, bytes), sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void an_acknowledgement_comes_back_as_it_was(void **state)
{
    (void)state;
    unsigned char acks[WIRE_ACK_BYTES_MAX];
    unsigned char again[WIRE_ACK_BYTES_MAX];
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct wire_ack ack = random_ack();
        struct wire_ack decoded;
        uint32_t at = 0;
        uint32_t bytes = wire_ack_encode(&ack, acks);
        assert_int_equal(bytes, WIRE_ACK_BYTES + 4 * ack.bitmap_words);
        assert_true(decode_ack(acks, bytes, &at, &decoded));
        assert_int_equal(at, bytes);
        assert_acks_equal(&decoded, &ack);

        acks[below(bytes)] ^= (unsigned char)(1 << below(8));
        at = 0;
        if (decode_ack(acks, bytes, &at, &decoded)) {
            assert_true(at <= bytes);
            assert_int_equal(wire_ack_encode(&decoded, again), at);
            assert_memory_equal(again, acks, at);
        }
    }
}

static void a_delay_is_told_in_64_ns_and_saturates(void **state)
{
    (void)state;
    static const uint32_t DELAYS_NS[][2] = {
        {0, 0},
        {63, 0},
        {64, 64},
        {1000, 960},
        {0xffffff * 64, 0xffffff * 64},
        {0xffffff * 64 + 64, 0xffffff * 64},
        {UINT32_MAX, 0xffffff * 64},
    };
    for (size_t i = 0; i < sizeof DELAYS_NS / sizeof DELAYS_NS[0]; i++) {
        unsigned char acks[WIRE_ACK_BYTES_MAX];
        struct wire_ack ack = {.window = 1, .delay_ns = DELAYS_NS[i][0]};
        uint32_t at = 0;
        uint32_t bytes = wire_ack_encode(&ack, acks);
        assert_true(decode_ack(acks, bytes, &at, &ack));
        assert_int_equal(ack.delay_ns, DELAYS_NS[i][1]);
    }
}

static void a_truncated_acknowledgement_is_refused(void **state)
{
    (void)state;
    unsigned char acks[2 * WIRE_ACK_BYTES_MAX];
    for (uint32_t words = 0; words <= WIRE_ACK_BITMAP_WORDS_MAX; words++) {
        struct wire_ack ack = random_ack();
        ack.bitmap_words = (uint8_t)words;
        ack.class = WIRE_REQUEST;
        uint32_t first = wire_ack_encode(&ack, acks);
        ack.class = WIRE_REPLY;
        uint32_t both = first + wire_ack_encode(&ack, acks + first);
        for (uint32_t bytes = 0; bytes <= both; bytes++) {
            bool whole = bytes == 0 || bytes == first || bytes == both;
            assert_int_equal(check_acks(acks, bytes), whole);
            uint32_t at = 0;
            bool readable = bytes >= first;
            assert_int_equal(decode_ack(acks, bytes, &at, &ack), readable);
            assert_int_equal(at, readable ? first : 0);
        }
    }
}

static void every_broken_acknowledgement_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t at;
        unsigned char value;
    } BROKEN[] = {
        {0, 0x20}, {0, 0x40}, {0, 0x80}, {0, 0x06}, /* stage 3 */
        {1, 9},    {1, 255},  {2, 0},               /* window */
        {15, 1},   {15, 255},
    };
    for (size_t i = 0; i < sizeof BROKEN / sizeof BROKEN[0]; i++) {
        unsigned char acks[WIRE_ACK_BYTES + 4 * 256] = {0};
        struct wire_ack ack = {.window = 1};
        uint32_t at = 0;
        wire_ack_encode(&ack, acks);
        acks[BROKEN[i].at] = BROKEN[i].value;
        uint32_t bytes = WIRE_ACK_BYTES + 4 * (uint32_t)acks[1];
        assert_false(decode_ack(acks, bytes, &at, &ack));
        assert_int_equal(at, 0);
        assert_false(check_acks(acks, bytes));
    }
}

static void one_acknowledgement_of_each_class_at_most(void **state)
{
    (void)state;
    unsigned char acks[3 * WIRE_ACK_BYTES];
    struct wire_ack request = {.window = 1};
    struct wire_ack reply = {.class = WIRE_REPLY, .window = 1};
    wire_ack_encode(&reply, acks);
    wire_ack_encode(&request, acks + WIRE_ACK_BYTES);
    wire_ack_encode(&request, acks + 2 * WIRE_ACK_BYTES);
    assert_true(check_acks(acks, 2 * WIRE_ACK_BYTES));
    assert_false(check_acks(acks, 3 * WIRE_ACK_BYTES));
    assert_false(check_acks(acks + WIRE_ACK_BYTES, 2 * WIRE_ACK_BYTES));
    wire_ack_encode(&reply, acks + WIRE_ACK_BYTES);
    assert_false(check_acks(acks, 2 * WIRE_ACK_BYTES));
}

int main(void)
{
    const char *given = getenv("DN_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : unit_now_ns() % 1000000;
    print_message("DN_TEST_SEED=%llu\n", (unsigned long long)seed);
    source_of_chance.state = seed;

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_has_the_documented_bytes),
        cmocka_unit_test(a_header_comes_back_as_it_was),
        cmocka_unit_test(what_is_accepted_has_one_encoding),
        cmocka_unit_test(the_longest_packet_is_accepted_and_no_longer_one),
        cmocka_unit_test(a_packet_of_another_length_is_refused),
        cmocka_unit_test(every_broken_field_is_refused),
        cmocka_unit_test(a_node_may_send_to_itself_and_greet_the_unknown),
        cmocka_unit_test(a_control_code_has_what_belongs_to_it_and_no_more),
        cmocka_unit_test(pieces_survive_the_way_there_and_back),
        cmocka_unit_test(pieces_that_lie_nowhere_are_refused),
        cmocka_unit_test(an_acknowledgement_has_the_documented_bytes),
        cmocka_unit_test(an_acknowledgement_comes_back_as_it_was),
        cmocka_unit_test(a_delay_is_told_in_64_ns_and_saturates),
        cmocka_unit_test(a_truncated_acknowledgement_is_refused),
        cmocka_unit_test(every_broken_acknowledgement_is_refused),
        cmocka_unit_test(one_acknowledgement_of_each_class_at_most),
    };
    return cmocka_run_group_tests_name("wire/packet", tests, NULL, NULL);
}
