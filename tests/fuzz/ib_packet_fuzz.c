/* Raw and management packets of any bytes, as they are and with CRCs that fit: what is accepted,
 * encoded again, gives the same bytes. */
#include "fuzz.h"
#include "wire/ib_packet.h"
#include "wire/packet.h"

static void try_raw(const unsigned char *bytes, uint32_t count)
{
    static unsigned char again[WIRE_IB_RAW_BYTES_MAX];
    struct wire_ib_raw raw;
    const unsigned char *payload;
    if (wire_ib_raw_decode(bytes, count, &raw, &payload) != WIRE_IB_GOOD) {
        return;
    }
    FUZZ_ASSERT(payload + raw.payload_bytes + WIRE_IB_VCRC_BYTES == bytes + count);
    FUZZ_ASSERT(wire_ib_raw_bytes(raw.payload_bytes) == count);
    wire_ib_raw_encode(&raw, payload, again);
    FUZZ_ASSERT(memcmp(again, bytes, count) == 0);
}

static void try_management(const unsigned char *bytes, uint32_t count)
{
    unsigned char again[WIRE_IB_MANAGEMENT_BYTES];
    struct wire_ib_management management;
    const unsigned char *mad;
    if (wire_ib_management_decode(bytes, count, &management, &mad) != WIRE_IB_GOOD) {
        return;
    }
    FUZZ_ASSERT(count == WIRE_IB_MANAGEMENT_BYTES);
    wire_ib_management_encode(&management, mad, again);
    FUZZ_ASSERT(memcmp(again, bytes, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 2 * WIRE_IB_RAW_BYTES_MAX) {
        return 0;
    }
    uint32_t count = (uint32_t)bytes;
    unsigned char *packet = fuzz_copy(data, bytes);
    try_raw(packet, count);
    try_management(packet, count);
    if (bytes >= WIRE_IB_LRH_BYTES + WIRE_IB_VCRC_BYTES) {
        wire_ib_vcrc_put(packet, count);
        try_raw(packet, count);
        try_management(packet, count);
    }
    if (bytes >= WIRE_IB_LRH_BYTES + WIRE_IB_BTH_BYTES + WIRE_IB_ICRC_BYTES + WIRE_IB_VCRC_BYTES) {
        uint32_t covered = count - WIRE_IB_ICRC_BYTES - WIRE_IB_VCRC_BYTES;
        wire_put32(packet + covered, wire_ib_icrc(packet, covered));
        wire_ib_vcrc_put(packet, count);
        try_management(packet, count);
    }
    free(packet);
    return 0;
}
