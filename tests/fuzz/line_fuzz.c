/* Lines of any bytes: an accepted one is a line, encoded again it differs in no bit except one that
 * was corrected, and a packet stays inside its room. */
#include "fuzz.h"
#include "wire/line.h"

static uint32_t bits_that_differ(const unsigned char *one, const unsigned char *other)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIRE_LINE_BITS; i++) {
        count += ((one[i / 8] ^ other[i / 8]) >> i % 8 & 1) != 0;
    }
    return count;
}

static void try_line(const unsigned char *bytes)
{
    struct wire_line line;
    unsigned char again[WIRE_LINE_BYTES];
    enum wire_line_result result = wire_line_decode(bytes, &line);
    if (result == WIRE_LINE_GOOD || result == WIRE_LINE_CORRECTED) {
        FUZZ_ASSERT(line.bytes <= WIRE_LINE_DATA_BYTES);
        FUZZ_ASSERT(line.bytes >= 1 || line.kind == WIRE_LINE_TAIL);
        wire_line_encode(&line, again);
        FUZZ_ASSERT(bits_that_differ(bytes, again) == (result == WIRE_LINE_CORRECTED));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { ROOM = 200 };
    if (bytes > (size_t)2 * WIRE_LINES_MAX * WIRE_LINE_BYTES) {
        return 0;
    }
    unsigned char *lines = fuzz_copy(data, bytes);
    unsigned char *packet = malloc(ROOM); /* on the heap: a write behind it is seen */
    FUZZ_ASSERT(packet != NULL);
    unsigned char header[WIRE_LINE_DATA_BYTES];
    uint64_t corrected = 0;
    uint32_t packet_bytes = 0;
    for (size_t at = 0; at + WIRE_LINE_BYTES <= bytes; at += WIRE_LINE_BYTES) {
        try_line(lines + at);
    }
    if (wire_lines_decode(lines, (uint32_t)bytes, header, packet, ROOM, &packet_bytes,
                          &corrected)) {
        FUZZ_ASSERT(packet_bytes <= ROOM && wire_lines_bytes(packet_bytes) == bytes);
        unsigned char again[(1 + ROOM / WIRE_LINE_DATA_BYTES) * WIRE_LINE_BYTES];
        wire_lines_encode(header, packet, packet_bytes, again);
        uint32_t different = 0;
        for (size_t at = 0; at < bytes; at += WIRE_LINE_BYTES) {
            different += bits_that_differ(lines + at, again + at);
        }
        FUZZ_ASSERT(different == corrected);
    }
    free(packet);
    free(lines);
    return 0;
}
