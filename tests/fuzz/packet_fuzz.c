/* The packet decoders on any bytes: what they accept lies inside the packet, is in range,
 * and encoded again gives the same bytes. */
#include "fuzz.h"
#include "wire/packet.h"

static void try_acks(const unsigned char *acks, uint32_t bytes)
{
    unsigned char again[WIRE_ACK_BYTES_MAX];
    struct wire_ack ack;
    uint32_t at = 0;
    uint32_t before = 0;
    uint32_t count = 0;
    while (wire_ack_decode(acks, bytes, &at, &ack)) {
        FUZZ_ASSERT(at > before && at <= bytes);
        FUZZ_ASSERT(ack.class <= WIRE_REPLY && ack.stage <= WIRE_SELECTIVE_REPEAT);
        FUZZ_ASSERT(ack.window > 0 && ack.bitmap_words <= WIRE_ACK_BITMAP_WORDS_MAX);
        FUZZ_ASSERT(wire_ack_encode(&ack, again) == at - before);
        FUZZ_ASSERT(memcmp(again, acks + before, at - before) == 0);
        before = at;
        count++;
    }
    FUZZ_ASSERT(at == before);
    if (wire_acks_check(acks, bytes)) {
        FUZZ_ASSERT(at == bytes && count <= WIRE_CLASSES);
    }
}

static void try_piece(const unsigned char *body, uint32_t bytes)
{
    unsigned char again[2 * WIRE_PACKET_BYTES_MAX];
    struct wire_piece piece;
    if (wire_piece_decode(body, bytes, &piece)) {
        FUZZ_ASSERT(piece.data >= body && piece.data + piece.bytes == body + bytes);
        FUZZ_ASSERT(piece.bytes > 0 && piece.offset + piece.bytes <= piece.whole_bytes);
        FUZZ_ASSERT(piece.offset % WIRE_PIECE_UNIT_BYTES == 0 && piece.whole_bytes % 8 == 0);
        wire_piece_encode(&piece, again);
        FUZZ_ASSERT(memcmp(again, body, bytes) == 0);
    }
}

static void try_control(const unsigned char *body, uint32_t bytes)
{
    unsigned char again[WIRE_PATH_ANSWER_BYTES];
    if (wire_control_check(body, bytes) && bytes > 1) {
        FUZZ_ASSERT(body[0] == WIRE_PATH || bytes == WIRE_PATH_ANSWER_BYTES);
        if (body[0] == WIRE_PATH_CARRIES) {
            wire_path_answer_encode(wire_path_answer_decode(body), again);
            FUZZ_ASSERT(memcmp(again, body, bytes) == 0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (bytes > 2 * WIRE_PACKET_BYTES_MAX) {
        return 0;
    }
    unsigned char *packet = fuzz_copy(data, bytes);
    struct wire_header header;
    if (wire_header_decode(packet, (uint32_t)bytes, &header)) {
        unsigned char again[WIRE_PREFIX_BYTES];
        FUZZ_ASSERT(bytes <= WIRE_PACKET_BYTES_MAX);
        FUZZ_ASSERT(bytes == WIRE_OVERHEAD_BYTES + (size_t)header.ack_bytes + header.body_bytes);
        FUZZ_ASSERT(header.source < WIRE_NODES_MAX && header.target < WIRE_NODES_MAX);
        FUZZ_ASSERT(header.channel < WIRE_CHANNELS && header.source_incarnation != 0);
        wire_header_encode(&header, again);
        FUZZ_ASSERT(memcmp(again, packet, WIRE_PREFIX_BYTES) == 0);
        try_acks(packet + WIRE_PREFIX_BYTES, header.ack_bytes);
    }
    /* Any bytes are tried as the parts, too: few inputs have a header before them. */
    try_acks(packet, (uint32_t)bytes);
    try_piece(packet, (uint32_t)bytes);
    try_control(packet, (uint32_t)bytes);
    free(packet);
    return 0;
}
