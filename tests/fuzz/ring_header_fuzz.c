/* Routing headers of any bytes: an accepted one is in range, encoded again gives the same bytes,
 * and its reply is a header, too. */
#include "fuzz.h"
#include "wire/ring_header.h"

static void try_ring(const unsigned char *bytes, uint32_t routers, uint32_t multicast_lines)
{
    struct wire_ring_header header;
    unsigned char again[WIRE_LINE_DATA_BYTES];
    if (!wire_ring_header_decode(bytes, routers, multicast_lines, &header)) {
        return;
    }
    FUZZ_ASSERT(header.router < (header.multicast ? multicast_lines : routers));
    FUZZ_ASSERT(header.return_router < routers);
    wire_ring_header_encode(&header, again);
    FUZZ_ASSERT(memcmp(again, bytes, sizeof again) == 0);

    uint16_t self = header.multicast ? 0 : header.router;
    struct wire_ring_header reply = wire_ring_header_reply(&header, self);
    struct wire_ring_header checked;
    wire_ring_header_encode(&reply, again);
    FUZZ_ASSERT(wire_ring_header_decode(again, routers, multicast_lines, &checked));
    FUZZ_ASSERT(!checked.multicast && checked.router == header.return_router);
    if (!header.multicast) {
        reply = wire_ring_header_reply(&checked, checked.router);
        wire_ring_header_encode(&reply, again);
        FUZZ_ASSERT(memcmp(again, bytes, sizeof again) == 0);
    }
}

static void try_switches(const unsigned char *bytes)
{
    struct wire_sw2_header sw2;
    struct wire_oip_header oip;
    struct wire_oip_header back;
    unsigned char again[WIRE_LINE_DATA_BYTES];
    uint8_t port;
    if (wire_sw2_header_decode(bytes, &sw2)) {
        wire_sw2_header_encode(&sw2, again);
        FUZZ_ASSERT(memcmp(again, bytes, sizeof again) == 0);
    }
    if (wire_oip_header_decode(bytes, &oip)) {
        wire_oip_header_encode(&oip, again);
        FUZZ_ASSERT(memcmp(again, bytes, sizeof again) == 0);
        uint32_t left = 0;
        while (wire_oip_header_hop(&oip, (uint8_t)left, &port)) {
            left++;
        }
        FUZZ_ASSERT(left <= WIRE_OIP_HOPS_MAX);
        FUZZ_ASSERT(wire_oip_header_reply(&oip, &back));
        wire_oip_header_encode(&back, again);
        FUZZ_ASSERT(wire_oip_header_decode(again, &oip) && oip.passed == 0);
    }
}

/* Two bytes for the number of routers, two for the lines of tables, then headers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes < 4) {
        return 0;
    }
    uint32_t routers = 1 + (wire_get16(data) & (WIRE_RING_ROUTERS_MAX - 1));
    uint32_t multicast_lines = wire_get16(data + 2) & (WIRE_RING_ROUTERS_MAX - 1);
    for (size_t at = 4; at + WIRE_LINE_DATA_BYTES <= bytes; at += WIRE_LINE_DATA_BYTES) {
        unsigned char *header = fuzz_copy(data + at, WIRE_LINE_DATA_BYTES);
        try_ring(header, routers, multicast_lines);
        try_switches(header);
        free(header);
    }
    return 0;
}
