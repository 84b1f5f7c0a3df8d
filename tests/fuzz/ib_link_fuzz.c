/* Link packets of any bytes, as they are and with an LPCRC that fits: what is accepted, encoded
 * again, gives the same bytes, and its credits are in range. */
#include "fuzz.h"
#include "wire/crc16.h"
#include "wire/ib_link.h"
#include "wire/packet.h"

static void try_link(const unsigned char *bytes, uint32_t count)
{
    unsigned char again[WIRE_IB_LINK_BYTES];
    struct wire_ib_link link;
    if (wire_ib_link_decode(bytes, count, &link) != WIRE_IB_GOOD) {
        return;
    }
    FUZZ_ASSERT(count == WIRE_IB_LINK_BYTES && link.vl < WIRE_IB_MANAGEMENT_VL);
    wire_ib_link_encode(&link, again);
    FUZZ_ASSERT(memcmp(again, bytes, count) == 0);
    uint32_t credits = wire_ib_credits(link.fccl, link.fctbs);
    FUZZ_ASSERT(credits <= WIRE_IB_CREDITS_MAX);
    FUZZ_ASSERT(credits == 0 || wire_ib_fccl(link.fctbs, credits) == link.fccl);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 64) {
        return 0;
    }
    unsigned char *packet = fuzz_copy(data, bytes);
    try_link(packet, (uint32_t)bytes);
    if (bytes >= 2) {
        wire_put16(packet + bytes - 2, wire_crc16(0, packet, bytes - 2));
        try_link(packet, (uint32_t)bytes);
    }
    free(packet);
    return 0;
}
