/* Transfers to bytes and back. */
#include "wire/transfer.h"

#include <string.h>

#include "wire/crc32.h"

enum {
    AT_KIND = 0,
    AT_COUNT = 1,
    AT_NUMBER = 2,
    CRC_BYTES = 4,
    CREDIT_BYTES = 2,

    FLIT_AT_TAG = 0,
    FLIT_AT_BYTES = 1,
    FLIT_AT_DATA = 2,
    CHANNEL_MASK = WIRE_TRANSFER_CHANNELS_MAX - 1,
    HEAD_BIT = 1 << 6,
    TAIL_BIT = 1 << 7,
};

static bool is_well_formed(const struct wire_transfer *transfer)
{
    switch (transfer->kind) {
    case WIRE_FRAME: return transfer->count > 0 && transfer->flit_bytes > 0;
    case WIRE_FRAME_ACK:
    case WIRE_FRAME_NACK:
        return transfer->count <= WIRE_TRANSFER_CHANNELS_MAX && transfer->flit_bytes == 0;
    }
    return false;
}

static uint32_t record_bytes(const struct wire_transfer *transfer)
{
    return transfer->kind == WIRE_FRAME ? WIRE_FLIT_TAG_BYTES + transfer->flit_bytes : CREDIT_BYTES;
}

/* Where a flit or a credit of a transfer lies. */
static size_t record_at(const struct wire_transfer *transfer, uint32_t index)
{
    INVARIANT(index < transfer->count);
    return WIRE_TRANSFER_HEADER_BYTES + (size_t)index * record_bytes(transfer);
}

uint32_t wire_transfer_bytes(const struct wire_transfer *transfer)
{
    return WIRE_TRANSFER_OVERHEAD_BYTES + transfer->count * record_bytes(transfer);
}

void wire_transfer_begin(const struct wire_transfer *transfer, unsigned char *to)
{
    INVARIANT(is_well_formed(transfer));
    to[AT_KIND] = (unsigned char)transfer->kind;
    to[AT_COUNT] = transfer->count;
    wire_put16(to + AT_NUMBER, transfer->number);
}

/* Whether a tag makes sense. */
static bool tag_is_well_formed(const struct wire_transfer *transfer, const struct wire_flit *flit)
{
    return flit->is_tail ? flit->bytes <= transfer->flit_bytes
                         : flit->bytes == transfer->flit_bytes;
}

void wire_transfer_flit_encode(const struct wire_transfer *transfer, unsigned char *to,
                               uint32_t index, const struct wire_flit *flit,
                               const unsigned char *data)
{
    INVARIANT(transfer->kind == WIRE_FRAME && flit->channel < WIRE_TRANSFER_CHANNELS_MAX);
    INVARIANT(tag_is_well_formed(transfer, flit));
    to += record_at(transfer, index);
    to[FLIT_AT_TAG] = (unsigned char)(flit->channel | (flit->is_head ? HEAD_BIT : 0) |
                                      (flit->is_tail ? TAIL_BIT : 0));
    to[FLIT_AT_BYTES] = flit->bytes;
    memset(to + FLIT_AT_DATA, 0, transfer->flit_bytes);
    if (flit->bytes > 0) {
        memcpy(to + FLIT_AT_DATA, data, flit->bytes);
    }
}

void wire_transfer_credits_encode(const struct wire_transfer *transfer, unsigned char *to,
                                  uint32_t channel, uint16_t sum)
{
    INVARIANT(transfer->kind != WIRE_FRAME);
    wire_put16(to + record_at(transfer, channel), sum);
}

void wire_transfer_seal(const struct wire_transfer *transfer, unsigned char *to)
{
    uint32_t bytes = wire_transfer_bytes(transfer);
    wire_put32(to + bytes - CRC_BYTES, wire_crc32(0, to, bytes - CRC_BYTES));
}

/* False: it is no flit. */
static bool flit_read(const struct wire_transfer *transfer, const unsigned char *from,
                      uint32_t index, struct wire_flit *flit)
{
    from += record_at(transfer, index);
    *flit = (struct wire_flit){
        .channel = from[FLIT_AT_TAG] & CHANNEL_MASK,
        .is_head = (from[FLIT_AT_TAG] & HEAD_BIT) != 0,
        .is_tail = (from[FLIT_AT_TAG] & TAIL_BIT) != 0,
        .bytes = from[FLIT_AT_BYTES],
    };
    if (!tag_is_well_formed(transfer, flit)) {
        return false;
    }
    for (uint32_t i = flit->bytes; i < transfer->flit_bytes; i++) {
        if (from[FLIT_AT_DATA + i] != 0) {
            return false;
        }
    }
    return true;
}

bool wire_transfer_decode(const unsigned char *from, uint32_t bytes, struct wire_transfer *transfer)
{
    if (bytes < WIRE_TRANSFER_OVERHEAD_BYTES || bytes > WIRE_TRANSFER_BYTES_MAX) {
        return false;
    }
    struct wire_transfer read = {
        .kind = (enum wire_transfer_kind)from[AT_KIND],
        .count = from[AT_COUNT],
        .number = wire_get16(from + AT_NUMBER),
    };
    if (read.kind == WIRE_FRAME && read.count > 0) {
        /* The length says how wide the link is. */
        uint32_t of_each = (bytes - WIRE_TRANSFER_OVERHEAD_BYTES) / read.count;
        if (of_each <= WIRE_FLIT_TAG_BYTES || of_each > WIRE_FLIT_TAG_BYTES + WIRE_FLIT_BYTES_MAX) {
            return false;
        }
        read.flit_bytes = (uint8_t)(of_each - WIRE_FLIT_TAG_BYTES);
    }
    if (!is_well_formed(&read) || bytes != wire_transfer_bytes(&read) ||
        wire_crc32(0, from, bytes - CRC_BYTES) != wire_get32(from + bytes - CRC_BYTES)) {
        return false;
    }
    for (uint32_t i = 0; read.kind == WIRE_FRAME && i < read.count; i++) {
        struct wire_flit flit;
        if (!flit_read(&read, from, i, &flit)) {
            return false;
        }
    }
    *transfer = read;
    return true;
}

const unsigned char *wire_transfer_flit_decode(const struct wire_transfer *transfer,
                                               const unsigned char *from, uint32_t index,
                                               struct wire_flit *flit)
{
    INVARIANT(transfer->kind == WIRE_FRAME && flit_read(transfer, from, index, flit));
    return from + record_at(transfer, index) + FLIT_AT_DATA;
}

uint16_t wire_transfer_credits_decode(const struct wire_transfer *transfer,
                                      const unsigned char *from, uint32_t channel)
{
    INVARIANT(transfer->kind != WIRE_FRAME);
    return wire_get16(from + record_at(transfer, channel));
}
