/* Transfers of any bytes, as they are and with a CRC that fits: what is accepted, encoded again,
 * gives the same bytes. */
#include "fuzz.h"
#include "wire/crc32.h"
#include "wire/transfer.h"

static void try_transfer(const unsigned char *bytes, uint32_t count)
{
    static unsigned char again[WIRE_TRANSFER_BYTES_MAX];
    struct wire_transfer transfer;
    if (!wire_transfer_decode(bytes, count, &transfer)) {
        return;
    }
    FUZZ_ASSERT(count == wire_transfer_bytes(&transfer));
    wire_transfer_begin(&transfer, again);
    for (uint32_t i = 0; i < transfer.count; i++) {
        if (transfer.kind == WIRE_FRAME) {
            struct wire_flit flit;
            const unsigned char *flit_data = wire_transfer_flit_decode(&transfer, bytes, i, &flit);
            FUZZ_ASSERT(flit.channel < WIRE_TRANSFER_CHANNELS_MAX);
            wire_transfer_flit_encode(&transfer, again, i, &flit, flit_data);
        } else {
            uint16_t sum = wire_transfer_credits_decode(&transfer, bytes, i);
            wire_transfer_credits_encode(&transfer, again, i, sum);
        }
    }
    wire_transfer_seal(&transfer, again);
    FUZZ_ASSERT(memcmp(again, bytes, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 2 * WIRE_TRANSFER_BYTES_MAX) {
        return 0;
    }
    unsigned char *transfer = fuzz_copy(data, bytes);
    try_transfer(transfer, (uint32_t)bytes);
    if (bytes >= 4) {
        wire_put32(transfer + bytes - 4, wire_crc32(0, transfer, bytes - 4));
        try_transfer(transfer, (uint32_t)bytes);
    }
    free(transfer);
    return 0;
}
