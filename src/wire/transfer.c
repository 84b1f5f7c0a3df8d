/* Transfers to bytes and back. */
#include "wire/transfer.h"

#include <string.h>

#include "wire/crc32.h"

enum {
    AT_KIND = 0,
    AT_COUNT = 1,
    AT_NUMBER = 2,
    CRC_BYTES = 4,

    LINE_AT_CHANNEL = 0,
    LINE_AT_TYPE = 1,
    LINE_AT_DATA = 2,
};

static bool is_well_formed(const struct wire_transfer *transfer)
{
    switch (transfer->kind) {
    case WIRE_FRAME: return transfer->count > 0;
    case WIRE_FRAME_ACK:
    case WIRE_FRAME_NACK: return transfer->count <= WIRE_TRANSFER_CHANNELS_MAX;
    }
    return false;
}

/* Where a line or a credit of a transfer lies. */
static size_t line_at(uint32_t index)
{
    return WIRE_TRANSFER_HEADER_BYTES + (size_t)index * WIRE_TRANSFER_LINE_BYTES;
}

static size_t credits_at(uint32_t channel)
{
    return WIRE_TRANSFER_HEADER_BYTES + (size_t)channel * 2;
}

void wire_transfer_begin(const struct wire_transfer *transfer, unsigned char *to)
{
    INVARIANT(is_well_formed(transfer));
    to[AT_KIND] = (unsigned char)transfer->kind;
    to[AT_COUNT] = transfer->count;
    wire_put16(to + AT_NUMBER, transfer->number);
}

void wire_transfer_line_encode(unsigned char *transfer, uint32_t index, uint8_t channel,
                               const struct wire_line *line)
{
    INVARIANT(transfer[AT_KIND] == WIRE_FRAME && index < transfer[AT_COUNT]);
    INVARIANT(channel < WIRE_TRANSFER_CHANNELS_MAX);
    unsigned char *to = transfer + line_at(index);
    to[LINE_AT_CHANNEL] = channel;
    to[LINE_AT_TYPE] = wire_line_type(line);
    memcpy(to + LINE_AT_DATA, line->data, WIRE_LINE_DATA_BYTES);
}

void wire_transfer_credits_encode(unsigned char *transfer, uint32_t channel, uint16_t sum)
{
    INVARIANT(transfer[AT_KIND] != WIRE_FRAME && channel < transfer[AT_COUNT]);
    wire_put16(transfer + credits_at(channel), sum);
}

void wire_transfer_seal(unsigned char *transfer)
{
    uint32_t bytes = wire_transfer_bytes((enum wire_transfer_kind)transfer[AT_KIND],
                                         transfer[AT_COUNT]);
    wire_put32(transfer + bytes - CRC_BYTES, wire_crc32(0, transfer, bytes - CRC_BYTES));
}

/* False: one of them is no line. */
static bool line_read(const unsigned char *transfer, uint32_t index, uint8_t *channel,
                      struct wire_line *line)
{
    const unsigned char *from = transfer + line_at(index);
    *channel = from[LINE_AT_CHANNEL];
    return *channel < WIRE_TRANSFER_CHANNELS_MAX &&
           wire_line_from_type(from[LINE_AT_TYPE], from + LINE_AT_DATA, line);
}

bool wire_transfer_decode(const unsigned char *from, uint32_t bytes, struct wire_transfer *transfer)
{
    if (bytes < WIRE_TRANSFER_OVERHEAD_BYTES) {
        return false;
    }
    struct wire_transfer read = {
        .kind = (enum wire_transfer_kind)from[AT_KIND],
        .count = from[AT_COUNT],
        .number = wire_get16(from + AT_NUMBER),
    };
    if (!is_well_formed(&read) || bytes != wire_transfer_bytes(read.kind, read.count) ||
        wire_crc32(0, from, bytes - CRC_BYTES) != wire_get32(from + bytes - CRC_BYTES)) {
        return false;
    }
    for (uint32_t i = 0; read.kind == WIRE_FRAME && i < read.count; i++) {
        struct wire_line line;
        uint8_t channel;
        if (!line_read(from, i, &channel, &line)) {
            return false;
        }
    }
    *transfer = read;
    return true;
}

void wire_transfer_line_decode(const unsigned char *transfer, uint32_t index, uint8_t *channel,
                               struct wire_line *line)
{
    INVARIANT(transfer[AT_KIND] == WIRE_FRAME && index < transfer[AT_COUNT]);
    INVARIANT(line_read(transfer, index, channel, line));
}

uint16_t wire_transfer_credits_decode(const unsigned char *transfer, uint32_t channel)
{
    INVARIANT(transfer[AT_KIND] != WIRE_FRAME && channel < transfer[AT_COUNT]);
    return wire_get16(transfer + credits_at(channel));
}
