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
    FUZZ_ASSERT(count == wire_transfer_bytes(transfer.kind, transfer.count));
    wire_transfer_begin(&transfer, again);
    for (uint32_t i = 0; i < transfer.count; i++) {
        if (transfer.kind == WIRE_FRAME) {
            struct wire_line line;
            uint8_t channel;
            wire_transfer_line_decode(bytes, i, &channel, &line);
            FUZZ_ASSERT(channel < WIRE_TRANSFER_CHANNELS_MAX);
            wire_transfer_line_encode(again, i, channel, &line);
        } else {
            wire_transfer_credits_encode(again, i, wire_transfer_credits_decode(bytes, i));
        }
    }
    wire_transfer_seal(again);
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
