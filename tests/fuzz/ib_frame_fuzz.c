/* Frames of any bytes, as they are and with CRCs that fit: what is accepted, encoded again, gives
 * the same bytes, and its lines are lines of one packet in order. */
#include "fuzz.h"
#include "wire/ib_frame.h"

static void check_lines(const struct wire_line *lines, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        unsigned char line[WIRE_LINE_BYTES];
        struct wire_line read;
        bool is_first = lines[i].kind == WIRE_LINE_HEADER || lines[i].kind == WIRE_LINE_SINGLE;
        bool is_last = lines[i].kind == WIRE_LINE_TAIL || lines[i].kind == WIRE_LINE_SINGLE;
        FUZZ_ASSERT((!is_first || i == 0) && (!is_last || i == count - 1));
        wire_line_encode(&lines[i], line);
        FUZZ_ASSERT(wire_line_decode(line, &read) == WIRE_LINE_GOOD);
    }
}

static void try_frame(const unsigned char *bytes, uint32_t count)
{
    static unsigned char again[WIRE_IB_FRAME_BYTES_MAX];
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    struct wire_ib_frame frame;
    if (wire_ib_frame_decode(bytes, count, &frame, lines, WIRE_IB_FRAME_LINES_MAX) !=
        WIRE_IB_GOOD) {
        return;
    }
    FUZZ_ASSERT(count == wire_ib_frame_bytes(frame.count));
    FUZZ_ASSERT((frame.kind == WIRE_IB_FRAME_DATA) == (frame.count > 0));
    check_lines(lines, frame.count);
    wire_ib_frame_encode(&frame, lines, again);
    FUZZ_ASSERT(memcmp(again, bytes, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 2 * WIRE_IB_FRAME_BYTES_MAX) {
        return 0;
    }
    uint32_t count = (uint32_t)bytes;
    unsigned char *frame = fuzz_copy(data, bytes);
    try_frame(frame, count);
    if (bytes >= WIRE_IB_FRAME_OVERHEAD_BYTES) {
        uint32_t covered = count - WIRE_IB_FRAME_CRC_BYTES - WIRE_IB_VCRC_BYTES;
        wire_put32(frame + covered, wire_ib_raw_crc32(frame, covered));
        wire_ib_vcrc_put(frame, count);
        try_frame(frame, count);
    }
    free(frame);
    return 0;
}
