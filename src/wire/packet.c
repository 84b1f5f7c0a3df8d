/* Header, counter and acknowledgements of a packet to bytes and back.
 *
 * Every packet has one encoding: what has no meaning is 0, and the decoders refuse anything
 * else. So a decoded packet encoded again gives the same bytes, and a packet has no place
 * for anything that nobody checks. */
#include "wire/packet.h"

#include <string.h>

/* Where the other fields of the header lie. */
enum {
    AT_KIND_AND_FLAGS = 1, /* kind in the lower half */
    AT_CHANNEL = 2,
    AT_AFTER = 3,
    AT_SOURCE = 4,
    AT_SOURCE_INCARNATION = 12,
    AT_TARGET_INCARNATION = 16,
    AT_SEQUENCE = 20,
    AT_ACK_BYTES = 24,
    AT_BODY_BYTES = 26,
    AT_COUNTER = WIRE_HEADER_BYTES,
};

/* Where the fields of an acknowledgement lie, and the bits of its first byte. */
enum {
    ACK_AT_BITS = 0,
    ACK_AT_BITMAP_WORDS = 1,
    ACK_AT_WINDOW = 2,
    ACK_AT_NEXT = 4,
    ACK_AT_ECHO = 8,
    ACK_AT_DELAY = 12, /* 3 bytes, and one that is 0 */
    ACK_AT_BITMAP = WIRE_ACK_BYTES,

    ACK_CLASS = 1,
    ACK_STAGE_SHIFT = 1,
    ACK_STAGE_MASK = 3,
    ACK_GAP = 8,
    ACK_REFUSED = 16,
    ACK_BITS = 31,

    ACK_DELAY_UNIT_NS = 64,
    ACK_DELAY_UNITS_MAX = 0xffffff,
};

/* Where the fields of a piece lie; what follows them up to the data is 0. */
enum { PIECE_AT_OFFSET = 0, PIECE_AT_WHOLE = 2, PIECE_AT_ZERO = 4 };

static bool kind_is_consistent(const struct wire_header *header)
{
    switch (header->kind) {
    case WIRE_CD:
        return header->after <= WIRE_AFTER_MAX && header->target_incarnation != 0 &&
               header->body_bytes > 0 && header->body_bytes % 8 == 0;
    case WIRE_UD:
        return header->after == 0 && header->sequence == 0 && header->target_incarnation != 0 &&
               (header->flags & (WIRE_FLAG_REPLY | WIRE_FLAG_AFTER_ALL)) == 0 &&
               header->body_bytes > 0 && header->body_bytes % 8 == 0;
    case WIRE_CONTROL:
        return header->after == 0 && header->sequence == 0 &&
               (header->flags & (WIRE_FLAG_REPLY | WIRE_FLAG_AFTER_ALL)) == 0;
    case WIRE_PIECE:
        return header->after <= WIRE_AFTER_MAX && header->target_incarnation != 0 &&
               header->body_bytes > WIRE_PIECE_BYTES && header->body_bytes % 8 == 0;
    }
    return false;
}

static uint32_t packet_bytes(const struct wire_header *header)
{
    return WIRE_OVERHEAD_BYTES + (uint32_t)header->ack_bytes + header->body_bytes;
}

static bool header_is_well_formed(const struct wire_header *header)
{
    return kind_is_consistent(header) && header->flags <= WIRE_FLAGS &&
           header->channel < WIRE_CHANNELS && header->source < WIRE_NODES_MAX &&
           header->target < WIRE_NODES_MAX && header->source_incarnation != 0 &&
           header->ack_bytes <= WIRE_CLASSES * WIRE_ACK_BYTES_MAX && header->ack_bytes % 4 == 0 &&
           packet_bytes(header) <= WIRE_PACKET_BYTES_MAX;
}

void wire_header_encode(const struct wire_header *header, unsigned char *packet)
{
    INVARIANT(header_is_well_formed(header));
    packet[WIRE_AT_VERSION] = WIRE_VERSION;
    packet[AT_KIND_AND_FLAGS] = (unsigned char)(header->kind | (uint32_t)header->flags << 4);
    packet[AT_CHANNEL] = header->channel;
    packet[AT_AFTER] = header->after;
    wire_put16(packet + AT_SOURCE, header->source);
    wire_put16(packet + WIRE_AT_TARGET, header->target);
    wire_put32(packet + WIRE_AT_PGID, header->pgid);
    wire_put32(packet + AT_SOURCE_INCARNATION, header->source_incarnation);
    wire_put32(packet + AT_TARGET_INCARNATION, header->target_incarnation);
    wire_put32(packet + AT_SEQUENCE, header->sequence);
    wire_put16(packet + AT_ACK_BYTES, header->ack_bytes);
    wire_put16(packet + AT_BODY_BYTES, header->body_bytes);
    wire_put64(packet + AT_COUNTER, header->counter);
}

uint32_t wire_packet_bytes(const unsigned char *packet, uint32_t bytes)
{
    if (bytes < WIRE_OVERHEAD_BYTES) {
        return bytes;
    }
    uint32_t told = (uint32_t)WIRE_OVERHEAD_BYTES + wire_get16(packet + AT_ACK_BYTES) +
                    wire_get16(packet + AT_BODY_BYTES);
    return told < bytes ? told : bytes;
}

bool wire_header_decode(const unsigned char *packet, uint32_t bytes, struct wire_header *header)
{
    if (bytes < WIRE_OVERHEAD_BYTES || packet[WIRE_AT_VERSION] != WIRE_VERSION) {
        return false;
    }
    struct wire_header read = {
        .kind = (enum wire_kind)(packet[AT_KIND_AND_FLAGS] & 15),
        .flags = packet[AT_KIND_AND_FLAGS] >> 4,
        .channel = packet[AT_CHANNEL],
        .after = packet[AT_AFTER],
        .source = wire_get16(packet + AT_SOURCE),
        .target = wire_get16(packet + WIRE_AT_TARGET),
        .pgid = wire_get32(packet + WIRE_AT_PGID),
        .source_incarnation = wire_get32(packet + AT_SOURCE_INCARNATION),
        .target_incarnation = wire_get32(packet + AT_TARGET_INCARNATION),
        .sequence = wire_get32(packet + AT_SEQUENCE),
        .ack_bytes = wire_get16(packet + AT_ACK_BYTES),
        .body_bytes = wire_get16(packet + AT_BODY_BYTES),
        .counter = wire_get64(packet + AT_COUNTER),
    };
    if (!header_is_well_formed(&read) || packet_bytes(&read) != bytes) {
        return false;
    }
    *header = read;
    return true;
}

bool wire_control_check(const unsigned char *body, uint32_t bytes)
{
    if (bytes == 0) {
        return true;
    }
    switch (body[0]) {
    case WIRE_PATH:
        return bytes == 1 || (body[1] == 0 && memcmp(body + 1, body + 2, bytes - 2) == 0);
    case WIRE_PATH_CARRIES: return bytes == WIRE_PATH_ANSWER_BYTES;
    default: return bytes == 1;
    }
}

void wire_path_answer_encode(uint64_t counter, unsigned char *body)
{
    body[0] = WIRE_PATH_CARRIES;
    wire_put64(body + 1, counter);
}

uint64_t wire_path_answer_decode(const unsigned char *body)
{
    return wire_get64(body + 1);
}

static bool piece_is_well_formed(const struct wire_piece *piece)
{
    uint32_t end = (uint32_t)piece->offset + piece->bytes;
    return piece->offset % WIRE_PIECE_UNIT_BYTES == 0 && piece->whole_bytes % 8 == 0 &&
           piece->bytes > 0 && piece->bytes < piece->whole_bytes && end <= piece->whole_bytes &&
           (piece->bytes % WIRE_PIECE_UNIT_BYTES == 0 || end == piece->whole_bytes);
}

void wire_piece_encode(const struct wire_piece *piece, unsigned char *body)
{
    INVARIANT(piece_is_well_formed(piece));
    wire_put16(body + PIECE_AT_OFFSET, piece->offset);
    wire_put16(body + PIECE_AT_WHOLE, piece->whole_bytes);
    wire_put32(body + PIECE_AT_ZERO, 0);
    memcpy(body + WIRE_PIECE_BYTES, piece->data, piece->bytes);
}

bool wire_piece_decode(const unsigned char *body, uint32_t bytes, struct wire_piece *piece)
{
    if (bytes <= WIRE_PIECE_BYTES || bytes - WIRE_PIECE_BYTES > UINT16_MAX ||
        wire_get32(body + PIECE_AT_ZERO) != 0) {
        return false;
    }
    struct wire_piece read = {
        .offset = wire_get16(body + PIECE_AT_OFFSET),
        .whole_bytes = wire_get16(body + PIECE_AT_WHOLE),
        .bytes = (uint16_t)(bytes - WIRE_PIECE_BYTES),
        .data = body + WIRE_PIECE_BYTES,
    };
    if (!piece_is_well_formed(&read)) {
        return false;
    }
    *piece = read;
    return true;
}

uint32_t wire_ack_encode(const struct wire_ack *ack, unsigned char *to)
{
    INVARIANT(ack->class == WIRE_REQUEST || ack->class == WIRE_REPLY);
    INVARIANT(ack->stage <= WIRE_SELECTIVE_REPEAT);
    INVARIANT(ack->bitmap_words <= WIRE_ACK_BITMAP_WORDS_MAX && ack->window > 0);
    uint32_t delay_units = ack->delay_ns / ACK_DELAY_UNIT_NS;
    if (delay_units > ACK_DELAY_UNITS_MAX) {
        delay_units = ACK_DELAY_UNITS_MAX;
    }
    to[ACK_AT_BITS] = (unsigned char)(ack->class | ack->stage << ACK_STAGE_SHIFT |
                                      (ack->gap ? ACK_GAP : 0) | (ack->refused ? ACK_REFUSED : 0));
    to[ACK_AT_BITMAP_WORDS] = ack->bitmap_words;
    wire_put16(to + ACK_AT_WINDOW, ack->window);
    wire_put32(to + ACK_AT_NEXT, ack->next);
    wire_put32(to + ACK_AT_ECHO, ack->echo);
    wire_put32(to + ACK_AT_DELAY, delay_units);
    for (uint32_t i = 0; i < ack->bitmap_words; i++) {
        wire_put32(to + ACK_AT_BITMAP + (size_t)i * 4, ack->bitmap[i]);
    }
    return WIRE_ACK_BYTES + 4 * (uint32_t)ack->bitmap_words;
}

bool wire_ack_decode(const unsigned char *acks, uint32_t bytes, uint32_t *at, struct wire_ack *ack)
{
    if (*at >= bytes || bytes - *at < WIRE_ACK_BYTES) {
        return false;
    }
    const unsigned char *from = acks + *at;
    uint32_t bits = from[ACK_AT_BITS];
    uint32_t stage = bits >> ACK_STAGE_SHIFT & ACK_STAGE_MASK;
    uint32_t bitmap_words = from[ACK_AT_BITMAP_WORDS];
    uint32_t ack_bytes = WIRE_ACK_BYTES + 4 * bitmap_words;
    uint32_t delay_units = wire_get32(from + ACK_AT_DELAY);
    uint16_t window = wire_get16(from + ACK_AT_WINDOW);
    if ((bits & ~(uint32_t)ACK_BITS) != 0 || stage > WIRE_SELECTIVE_REPEAT ||
        bitmap_words > WIRE_ACK_BITMAP_WORDS_MAX || bytes - *at < ack_bytes || window == 0 ||
        delay_units > ACK_DELAY_UNITS_MAX) {
        return false;
    }
    *ack = (struct wire_ack){
        .class = (enum wire_class)(bits & ACK_CLASS),
        .stage = (enum wire_stage)stage,
        .gap = (bits & ACK_GAP) != 0,
        .refused = (bits & ACK_REFUSED) != 0,
        .bitmap_words = (uint8_t)bitmap_words,
        .window = window,
        .next = wire_get32(from + ACK_AT_NEXT),
        .echo = wire_get32(from + ACK_AT_ECHO),
        .delay_ns = delay_units * ACK_DELAY_UNIT_NS,
    };
    for (uint32_t i = 0; i < bitmap_words; i++) {
        ack->bitmap[i] = wire_get32(from + ACK_AT_BITMAP + (size_t)i * 4);
    }
    *at += ack_bytes;
    return true;
}

bool wire_acks_check(const unsigned char *acks, uint32_t bytes)
{
    uint32_t at = 0;
    uint32_t classes_seen = 0;
    struct wire_ack ack;
    while (wire_ack_decode(acks, bytes, &at, &ack)) {
        uint32_t class_bit = UINT32_C(1) << ack.class;
        if ((classes_seen & class_bit) != 0) {
            return false;
        }
        classes_seen |= class_bit;
    }
    return at == bytes;
}
