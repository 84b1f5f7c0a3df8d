/* The operation decoder on any bytes, as requests and as replies: what it accepts lies
 * inside the body, and encoded again gives the same bytes. */
#include "fuzz.h"
#include "wire/operation.h"

static void try_body(const unsigned char *body, uint32_t bytes, enum wire_class class)
{
    static unsigned char again[WIRE_OPERATION_BYTES + UINT16_MAX + 8];
    struct wire_operation operation;
    uint32_t at = 0;
    uint32_t before = 0;
    while (wire_operation_decode(body, bytes, class, &at, &operation)) {
        uint32_t whole = wire_operation_bytes(&operation);
        FUZZ_ASSERT(at == before + whole && at <= bytes && whole % 8 == 0);
        if (operation.data != NULL) {
            FUZZ_ASSERT(operation.data == body + before + WIRE_OPERATION_BYTES);
            FUZZ_ASSERT(WIRE_OPERATION_BYTES + (uint32_t)operation.bytes <= whole);
        }
        FUZZ_ASSERT((wire_reply_bytes(&operation) == 0) || class == WIRE_REQUEST);
        wire_operation_encode(&operation, again);
        FUZZ_ASSERT(memcmp(again, body + before, whole) == 0);
        before = at;
    }
    FUZZ_ASSERT(at == before);
    FUZZ_ASSERT(wire_body_check(body, bytes, class) == (at == bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 2 * WIRE_PACKET_BYTES_MAX) {
        return 0;
    }
    unsigned char *body = fuzz_copy(data, bytes);
    try_body(body, (uint32_t)bytes, WIRE_REQUEST);
    try_body(body, (uint32_t)bytes, WIRE_REPLY);
    free(body);
    return 0;
}
