/* NIC operations to bytes and back.
 *
 * As with packets, every operation has one encoding: fields that an opcode does not use,
 * the rest of a short value and the padding behind data are 0. The encoder writes 0 there
 * whatever the caller left, and the decoder refuses anything else. */
#include "wire/operation.h"

#include <string.h>

/* Where the fields lie; AT_DATA starts data, or tag, operand and expected. */
enum {
    AT_OPCODE = 0,
    AT_DETAIL = 1,
    AT_BYTES = 2,
    AT_AREA = 4,
    AT_OFFSET = 8,
    AT_DATA = WIRE_OPERATION_BYTES,

    VALUE_BYTES = 8,
    ATOMIC_AT_TAG = AT_DATA,
    ATOMIC_AT_OPERAND = AT_DATA + 8,
    ATOMIC_AT_EXPECTED = AT_DATA + 16,
    ATOMIC_BYTES = AT_DATA + 24,

    /* A PULL's answer is one packet: that is all a body can hold. */
    PULL_BYTES_MAX = ((WIRE_PACKET_BYTES_MAX - WIRE_OVERHEAD_BYTES) & ~7) - WIRE_OPERATION_BYTES,
};

static uint32_t padded(uint32_t bytes)
{
    return (bytes + 7) & ~UINT32_C(7);
}

static uint64_t low_bytes(uint64_t value, uint32_t bytes)
{
    return bytes >= 8 ? value : value & ((UINT64_C(1) << 8 * bytes) - 1);
}

uint32_t wire_operation_bytes(const struct wire_operation *operation)
{
    switch (operation->opcode) {
    case WIRE_AOTF:
    case WIRE_PULL:
    case WIRE_FETCHED: return WIRE_OPERATION_BYTES + VALUE_BYTES;
    case WIRE_ATOMIC: return ATOMIC_BYTES;
    case WIRE_REFUSED: return WIRE_OPERATION_BYTES;
    case WIRE_BOTF:
    case WIRE_PUSH:
    case WIRE_SERVICE:
    case WIRE_PULLED:
    case WIRE_SERVED: return WIRE_OPERATION_BYTES + padded(operation->bytes);
    }
    INVARIANT(false);
}

/* What each opcode allows in the fields that all have. */
static bool fields_are_well_formed(const struct wire_operation *operation)
{
    uint32_t bytes = operation->bytes;
    uint32_t detail = operation->detail;
    switch (operation->opcode) {
    case WIRE_AOTF: return detail <= WIRE_SKIP && bytes >= 1 && bytes <= 8;
    case WIRE_BOTF: return detail == 0 && bytes >= 1 && bytes <= WIRE_BOTF_BYTES_MAX;
    case WIRE_PUSH: return detail == 0 && bytes >= 1;
    case WIRE_PULL: return detail == 0 && bytes >= 1 && bytes <= PULL_BYTES_MAX;
    case WIRE_ATOMIC: return detail < WIRE_ATOMICS && (bytes == 4 || bytes == 8);
    case WIRE_SERVICE: return detail >= 1 && detail <= WIRE_SERVICE_LAST;
    case WIRE_PULLED: return detail == 0 && bytes >= 1 && operation->area == 0;
    case WIRE_FETCHED: return detail == 0 && (bytes == 4 || bytes == 8) && operation->area == 0;
    case WIRE_REFUSED: return detail != 0 && bytes == 0 && operation->area == 0;
    case WIRE_SERVED: return detail >= 1 && detail <= WIRE_SERVICE_LAST;
    }
    return false;
}

/* The operation as it is on the wire: what its opcode does not use is 0. */
static struct wire_operation canonical(const struct wire_operation *operation)
{
    struct wire_operation result = *operation;
    enum wire_opcode opcode = result.opcode;
    bool is_atomic = opcode == WIRE_ATOMIC;
    if (opcode != WIRE_AOTF && !is_atomic && opcode != WIRE_SERVICE && opcode != WIRE_REFUSED &&
        opcode != WIRE_SERVED) {
        result.detail = 0;
    }
    if (opcode == WIRE_PULLED || opcode == WIRE_FETCHED || opcode == WIRE_REFUSED) {
        result.area = 0;
    }
    if (opcode == WIRE_REFUSED) {
        result.bytes = 0;
    }
    if (is_atomic && result.detail == WIRE_READ) {
        result.operand = 0;
    }
    if (!is_atomic || result.detail != WIRE_COMPARE_SWAP) {
        result.expected = 0;
    }
    result.operand = low_bytes(result.operand, result.bytes);
    result.expected = low_bytes(result.expected, result.bytes);
    return result;
}

static void encode_block(const struct wire_operation *operation, unsigned char *to)
{
    uint32_t end = padded(operation->bytes);
    if (operation->bytes < end) {
        memset(to + AT_DATA + operation->bytes, 0, end - operation->bytes);
    }
    if (operation->data != NULL && operation->bytes > 0) {
        memcpy(to + AT_DATA, operation->data, operation->bytes);
    }
}

void wire_operation_encode(const struct wire_operation *operation, unsigned char *to)
{
    struct wire_operation written = canonical(operation);
    INVARIANT(fields_are_well_formed(&written));
    to[AT_OPCODE] = (unsigned char)written.opcode;
    to[AT_DETAIL] = written.detail;
    wire_put16(to + AT_BYTES, written.bytes);
    wire_put32(to + AT_AREA, written.area);
    wire_put64(to + AT_OFFSET, written.offset);
    switch (written.opcode) {
    case WIRE_AOTF:
    case WIRE_FETCHED: wire_put64(to + AT_DATA, written.operand); break;
    case WIRE_PULL: wire_put64(to + AT_DATA, written.tag); break;
    case WIRE_ATOMIC:
        wire_put64(to + ATOMIC_AT_TAG, written.tag);
        wire_put64(to + ATOMIC_AT_OPERAND, written.operand);
        wire_put64(to + ATOMIC_AT_EXPECTED, written.expected);
        break;
    case WIRE_REFUSED: break;
    case WIRE_BOTF:
    case WIRE_PUSH:
    case WIRE_SERVICE:
    case WIRE_PULLED:
    case WIRE_SERVED: encode_block(&written, to); break;
    }
}

static bool padding_is_zero(const unsigned char *data, uint32_t bytes)
{
    unsigned char found = 0;
    for (uint32_t i = bytes; i < padded(bytes); i++) {
        found |= data[i];
    }
    return found == 0;
}

/* Reads what lies behind the common fields; false: something that should be 0 is not. */
static bool decode_data(const unsigned char *from, struct wire_operation *operation)
{
    switch (operation->opcode) {
    case WIRE_AOTF:
    case WIRE_FETCHED:
        operation->operand = wire_get64(from + AT_DATA);
        return operation->operand == low_bytes(operation->operand, operation->bytes);
    case WIRE_PULL: operation->tag = wire_get64(from + AT_DATA); return true;
    case WIRE_ATOMIC: {
        operation->tag = wire_get64(from + ATOMIC_AT_TAG);
        operation->operand = wire_get64(from + ATOMIC_AT_OPERAND);
        operation->expected = wire_get64(from + ATOMIC_AT_EXPECTED);
        struct wire_operation proper = canonical(operation);
        return proper.operand == operation->operand && proper.expected == operation->expected;
    }
    case WIRE_REFUSED: return true;
    case WIRE_BOTF:
    case WIRE_PUSH:
    case WIRE_SERVICE:
    case WIRE_PULLED:
    case WIRE_SERVED:
        operation->data = from + AT_DATA;
        return padding_is_zero(operation->data, operation->bytes);
    }
    return false;
}

bool wire_operation_decode(const unsigned char *body, uint32_t bytes, enum wire_class class,
                           uint32_t *at, struct wire_operation *operation)
{
    if (*at >= bytes || bytes - *at < WIRE_OPERATION_BYTES) {
        return false;
    }
    const unsigned char *from = body + *at;
    struct wire_operation read = {
        .opcode = (enum wire_opcode)from[AT_OPCODE],
        .detail = from[AT_DETAIL],
        .bytes = wire_get16(from + AT_BYTES),
        .area = wire_get32(from + AT_AREA),
        .offset = wire_get64(from + AT_OFFSET),
    };
    bool is_reply = read.opcode >= WIRE_PULLED;
    if (is_reply != (class == WIRE_REPLY) || !fields_are_well_formed(&read)) {
        return false;
    }
    uint32_t whole = wire_operation_bytes(&read);
    if (bytes - *at < whole || !decode_data(from, &read)) {
        return false;
    }
    *operation = read;
    *at += whole;
    return true;
}

bool wire_body_check(const unsigned char *body, uint32_t bytes, enum wire_class class)
{
    uint32_t at = 0;
    struct wire_operation operation;
    while (wire_operation_decode(body, bytes, class, &at, &operation)) {
    }
    return at == bytes;
}

uint32_t wire_reply_bytes(const struct wire_operation *request)
{
    switch (request->opcode) {
    case WIRE_PULL: return WIRE_OPERATION_BYTES + padded(request->bytes);
    case WIRE_ATOMIC: return request->tag == WIRE_NO_TAG ? 0 : WIRE_OPERATION_BYTES + VALUE_BYTES;
    case WIRE_AOTF:
    case WIRE_BOTF:
    case WIRE_PUSH:
    case WIRE_SERVICE: /* answers later, from the service's own state */
    case WIRE_PULLED:
    case WIRE_FETCHED:
    case WIRE_REFUSED:
    case WIRE_SERVED: return 0;
    }
    INVARIANT(false);
}
