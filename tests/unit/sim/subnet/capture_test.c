/* Captures: blocks as pcapng has them, comments that say what is wrong, and full disks. What
 * Wireshark makes of a capture is in tests/live/sim/sim_capture.sh. */
#include <errno.h>

#include "base/big.h"
#include "base/little.h"
#include "sim/subnet/capture.h"
#include "unit/unit.h"
#include "wire/ib_frame.h"
#include "wire/ib_link.h"

static const struct wire_ib_frame sample_frame = {
    .kind = WIRE_IB_FRAME_DATA,
    .vl = 1,
    .sl = 2,
    .flow = 2,
    .dlid = 3,
    .slid = 4,
    .number = 7,
    .count = 3,
};
static const struct wire_line sample_lines[] = {
    {.kind = WIRE_LINE_HEADER, .bytes = 8, .data = "header"},
    {.kind = WIRE_LINE_DATA, .bytes = 8, .data = "data"},
    {.kind = WIRE_LINE_TAIL, .bytes = 4, .data = "tail"},
};
enum { SAMPLE_BYTES = WIRE_IB_FRAME_OVERHEAD_BYTES + 3 * WIRE_LINE_DATA_BYTES };

static const char *said(const unsigned char *packet, uint32_t bytes, uint32_t changed, bool right)
{
    static char text[CAPTURE_COMMENT_BYTES];
    assert_int_equal(capture_verdict(packet, bytes, changed, text), right);
    return text;
}

static void comments_say_what_frames_are(void **state)
{
    (void)state;
    unsigned char bytes[SAMPLE_BYTES];
    struct wire_ib_frame frame = sample_frame;
    struct wire_line broken = {.kind = WIRE_LINE_TAIL};
    wire_ib_frame_encode(&frame, sample_lines, bytes);
    assert_string_equal(
        said(bytes, sizeof bytes, 0, true),
        "VCRC good, CRC-32 good; frame 7 of flow 2, 3 lines, begins and ends a packet");
    frame.count = 2;
    wire_ib_frame_encode(&frame, sample_lines, bytes);
    assert_string_equal(said(bytes, wire_ib_frame_bytes(2), 0, true),
                        "VCRC good, CRC-32 good; frame 7 of flow 2, 2 lines, begins a packet");
    frame.count = 1;
    wire_ib_frame_encode(&frame, sample_lines + 1, bytes);
    assert_string_equal(said(bytes, wire_ib_frame_bytes(1), 0, true),
                        "VCRC good, CRC-32 good; frame 7 of flow 2, 1 line");
    wire_ib_frame_encode(&frame, &broken, bytes);
    assert_string_equal(said(bytes, wire_ib_frame_bytes(1), 0, true),
                        "VCRC good, CRC-32 good; frame 7 of flow 2, 1 line, ends a broken packet");
    frame.count = 0;
    frame.kind = WIRE_IB_FRAME_ACK;
    wire_ib_frame_encode(&frame, NULL, bytes);
    assert_string_equal(said(bytes, wire_ib_frame_bytes(0), 0, true),
                        "VCRC good, CRC-32 good; ACK of frame 7 of flow 2");
    frame.kind = WIRE_IB_FRAME_NACK;
    wire_ib_frame_encode(&frame, NULL, bytes);
    assert_string_equal(said(bytes, wire_ib_frame_bytes(0), 0, true),
                        "VCRC good, CRC-32 good; NACK, missing is frame 7 of flow 2");
}

static void comments_say_what_is_wrong(void **state)
{
    (void)state;
    unsigned char bytes[SAMPLE_BYTES], management[WIRE_IB_MANAGEMENT_BYTES];
    unsigned char mad[WIRE_IB_MAD_BYTES] = {0};
    wire_ib_frame_encode(&sample_frame, sample_lines, bytes);
    bytes[0] ^= 0x20; /* the VL, which only the VCRC sees */
    assert_string_equal(said(bytes, sizeof bytes, 1, false),
                        "VCRC wrong, CRC-32 good: 1 bit was changed on the cable");
    bytes[30] ^= 7;
    assert_string_equal(said(bytes, sizeof bytes, 4, false),
                        "VCRC wrong, CRC-32 wrong: 4 bits were changed on the cable");
    wire_ib_vcrc_put(bytes, sizeof bytes);
    assert_string_equal(said(bytes, sizeof bytes, 0, false), "VCRC good, CRC-32 wrong");
    bytes[1] ^= 3; /* LNH: not a raw packet any more */
    assert_string_equal(said(bytes, sizeof bytes, 2, false),
                        "VCRC wrong: 2 bits were changed on the cable");
    wire_ib_frame_encode(&sample_frame, sample_lines, bytes);
    assert_string_equal(said(bytes, sizeof bytes, 9, true),
                        "VCRC good, CRC-32 good, although 9 bits were changed on the cable; "
                        "frame 7 of flow 2, 3 lines, begins and ends a packet");
    const struct wire_ib_raw raw = {.dlid = 1, .slid = 2, .payload_bytes = 16};
    wire_ib_raw_encode(&raw, "not a frame at all", bytes);
    assert_string_equal(said(bytes, wire_ib_raw_bytes(16), 0, false), "VCRC good, CRC-32 wrong");

    const struct wire_ib_management smp = {.vl = 15, .dlid = 0xffff, .slid = 0xffff};
    wire_ib_management_encode(&smp, mad, management);
    assert_string_equal(said(management, sizeof management, 0, true), "VCRC good, ICRC good");
    management[100] ^= 1;
    assert_string_equal(said(management, sizeof management, 1, false),
                        "VCRC wrong, ICRC wrong: 1 bit was changed on the cable");
}

static void comments_on_link_packets(void **state)
{
    (void)state;
    char text[CAPTURE_COMMENT_BYTES];
    unsigned char bytes[WIRE_IB_LINK_BYTES];
    const struct wire_ib_link link = {.vl = 3, .fctbs = 100, .fccl = 200};
    wire_ib_link_encode(&link, bytes);
    assert_true(capture_link_verdict(bytes, 0, text));
    assert_string_equal(text, "LPCRC good");
    bytes[3] ^= 1;
    assert_false(capture_link_verdict(bytes, 1, text));
    assert_string_equal(text, "LPCRC wrong: 1 bit was changed on the cable");
}

/* ---- The file ----------------------------------------------------------------------------- */

static uint32_t little(const unsigned char *from)
{
    return (uint32_t)base_little_get(from, 4);
}

/* The option's value in a block, from the first option on; NULL: it has none. */
static const unsigned char *option(const unsigned char *at, uint32_t wanted, uint32_t *bytes)
{
    for (;;) {
        uint32_t code = (uint32_t)base_little_get(at, 2);
        *bytes = (uint32_t)base_little_get(at + 2, 2);
        if (code == wanted || code == 0) {
            return code == wanted ? at + 4 : NULL;
        }
        at += 4 + (*bytes + 3) / 4 * 4;
    }
}

static void is_option(const unsigned char *at, uint32_t wanted, const void *value, uint32_t bytes)
{
    uint32_t found_bytes;
    const unsigned char *found = option(at, wanted, &found_bytes);
    assert_non_null(found);
    assert_int_equal(found_bytes, bytes);
    assert_memory_equal(found, value, bytes);
}

/* The next block of a file in memory, which has its length at both ends. */
static const unsigned char *next(const unsigned char **at, const unsigned char *end, uint32_t type)
{
    const unsigned char *block = *at;
    assert_true(end - block >= 12);
    uint32_t bytes = little(block + 4);
    assert_int_equal(little(block), type);
    assert_true(bytes % 4 == 0 && bytes <= end - block);
    assert_int_equal(little(block + bytes - 4), bytes);
    *at += bytes;
    return block + 8;
}

static void a_file_has_its_blocks(void **state)
{
    (void)state;
    char *file_bytes = NULL;
    size_t file_count = 0;
    FILE *file = open_memstream(&file_bytes, &file_count);
    struct capture capture;
    unsigned char frame[SAMPLE_BYTES], link_packet[WIRE_IB_LINK_BYTES];
    char long_name[400];
    assert_non_null(file);
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    wire_ib_frame_encode(&sample_frame, sample_lines, frame);
    wire_ib_link_encode(&(struct wire_ib_link){.vl = 1}, link_packet);
    link_packet[0] ^= 1;

    capture_begin(&capture, file);
    assert_int_equal(capture_port(&capture, "board-1, port 1"), 0);
    assert_int_equal(capture_port(&capture, long_name), 1);
    capture_packet(&capture, UINT64_C(0x123456789abc), 1, frame, sizeof frame, 0);
    capture_link_packet(&capture, 5, 0, link_packet, 1);
    assert_int_equal(capture_end(&capture), 0);
    fclose(file);

    const unsigned char *at = (unsigned char *)file_bytes, *end = at + file_count;
    const unsigned char *block = next(&at, end, 0x0a0d0d0a);
    assert_int_equal(little(block), 0x1a2b3c4d);
    block = next(&at, end, 1);
    assert_int_equal(base_little_get(block, 2), 252);
    is_option(block + 8, 2, "board-1, port 1", 15);
    is_option(block + 8, 9, "\x0c", 1);
    block = next(&at, end, 1);
    is_option(block + 8, 2, long_name, CAPTURE_NAME_BYTES_MAX);

    block = next(&at, end, 6);
    assert_int_equal(little(block), 1);
    assert_int_equal(little(block + 4), 0x1234);
    assert_int_equal(little(block + 8), 0x56789abc);
    assert_int_equal(little(block + 12), 24 + sizeof frame);
    assert_int_equal(little(block + 16), 24 + sizeof frame);
    assert_memory_equal(block + 20, "\0\x0c\0\x10infiniband\0\0\0\0\0\0\0\0\0\0", 24);
    assert_memory_equal(block + 44, frame, sizeof frame);
    block += 44 + (sizeof frame + 3) / 4 * 4;
    is_option(block, 2, "\2\0\0\0", 4);
    is_option(block, 1, said(frame, sizeof frame, 0, true),
              (uint32_t)strlen(said(frame, sizeof frame, 0, true)));

    block = next(&at, end, 6);
    assert_int_equal(little(block), 0);
    assert_int_equal(little(block + 12), 24 + 48);
    assert_memory_equal(block + 20, "\0\x0c\0\x10infiniband_link\0\0\0\0", 24);
    assert_memory_equal(block + 44, link_packet, 6);
    for (uint32_t i = 6; i < 48; i++) {
        assert_int_equal(block[44 + i], 0);
    }
    is_option(block + 92, 2, "\2\0\0\1", 4);
    is_option(block + 92, 1, "LPCRC wrong: 1 bit was changed on the cable", 43);
    assert_true(at == end);
    free(file_bytes);
}

/* The longest packet, with the longest comment, has room. */
static void the_longest_packets_fit(void **state)
{
    (void)state;
    static unsigned char bytes[WIRE_IB_RAW_BYTES_MAX];
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    struct wire_ib_frame frame = sample_frame;
    struct capture capture;
    FILE *file = fopen("/dev/null", "wb");
    assert_non_null(file);
    for (uint32_t i = 0; i < WIRE_IB_FRAME_LINES_MAX; i++) {
        lines[i] = (struct wire_line){.kind = WIRE_LINE_DATA, .bytes = 8};
    }
    lines[0].kind = WIRE_LINE_HEADER;
    lines[WIRE_IB_FRAME_LINES_MAX - 1] = (struct wire_line){.kind = WIRE_LINE_TAIL};
    frame.count = WIRE_IB_FRAME_LINES_MAX;
    frame.number = 65535;
    wire_ib_frame_encode(&frame, lines, bytes);
    capture_begin(&capture, file);
    (void)capture_port(&capture, "");
    capture_packet(&capture, UINT64_MAX, 0, bytes, WIRE_IB_FRAME_BYTES_MAX, UINT32_MAX);
    capture_packet(&capture, UINT64_MAX, 0, bytes, WIRE_IB_RAW_BYTES_MAX, UINT32_MAX);
    assert_int_equal(capture_end(&capture), 0);
    fclose(file);
}

/* Whether it is the first write that fails or the last, with a buffer or without. */
static void a_full_disk_is_reported(void **state)
{
    (void)state;
    unsigned char frame[SAMPLE_BYTES];
    wire_ib_frame_encode(&sample_frame, sample_lines, frame);
    for (uint32_t packets = 0; packets < 1000; packets += 333) {
        for (uint32_t buffered = 0; buffered < 2; buffered++) {
            FILE *file = fopen("/dev/full", "wb");
            struct capture capture;
            assert_non_null(file);
            assert_int_equal(setvbuf(file, NULL, buffered ? _IOFBF : _IONBF, 4096), 0);
            capture_begin(&capture, file);
            (void)capture_port(&capture, "port");
            for (uint32_t i = 0; i < packets; i++) {
                capture_packet(&capture, i, 0, frame, sizeof frame, 0);
            }
            assert_int_equal(capture_end(&capture), ENOSPC);
            fclose(file);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_say_what_frames_are),
        cmocka_unit_test(comments_say_what_is_wrong),
        cmocka_unit_test(comments_on_link_packets),
        cmocka_unit_test(a_file_has_its_blocks),
        cmocka_unit_test(the_longest_packets_fit),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
