/* Packets that travel in pieces, because the path does not carry them whole.
 *
 * A packet that comes in pieces is put together here before anything else learns of it; what came
 * of it so far is not acknowledged, and may be dropped: the sender sends all pieces again. So the
 * few places are all that hostile pieces can use up, and a place in which nothing happens goes to
 * somebody else. */
#include "swif/state.h"

#include <string.h>

#include "wire/operation.h"

_Static_assert(SWIF_PIECES_MAX *WIRE_PIECE_UNIT_BYTES >=
                   WIRE_PACKET_BYTES_MAX - WIRE_OVERHEAD_BYTES,
               "there is a bit for each unit of a body");

/* ---- Taking apart ---------------------------------------------------------------- */

uint32_t swif_cut_piece(struct swif *swif, struct swif_ltee *ltee, const struct swif_buffer *buffer,
                        uint32_t path_bytes, struct wire_piece *piece)
{
    uint32_t most = (path_bytes - SWIF_BESIDES_BODY_BYTES - WIRE_PIECE_BYTES) /
                    WIRE_PIECE_UNIT_BYTES * WIRE_PIECE_UNIT_BYTES;
    uint32_t left = buffer->body_bytes - ltee->piece_at;
    *piece = (struct wire_piece){
        .offset = (uint16_t)ltee->piece_at,
        .whole_bytes = buffer->body_bytes,
        .bytes = (uint16_t)(left < most ? left : most),
        .data = buffer->body + ltee->piece_at,
    };
    ltee->piece_sequence = buffer->sequence;
    ltee->piece_at = left > most ? ltee->piece_at + most : 0;
    swif->counters.pieces_sent++;
    return piece->bytes;
}

/* ---- Putting together ------------------------------------------------------------ */

static enum wire_class class_of(const struct wire_header *header)
{
    return header->flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST;
}

static bool is_same(const struct swif_assembly *assembly, const struct wire_header *header)
{
    return assembly->whole_bytes != 0 && assembly->peer == header->source &&
           assembly->sequence == header->sequence && assembly->class == class_of(header) &&
           assembly->incarnation == header->source_incarnation;
}

/* Whether the place is free, or nobody waits for its packet any more. */
static bool is_free(const struct swif *swif, const struct swif_assembly *assembly)
{
    const struct swif_stub *stub = &swif->stubs[assembly->peer];
    return assembly->whole_bytes == 0 || stub->dead || stub->incarnation != assembly->incarnation ||
           swif_distance(assembly->sequence, stub->receive_next[assembly->class]) > 0;
}

/* The packet's place, or a new one; NULL: there is none. */
static struct swif_assembly *find(struct swif *swif, uint64_t now_ns,
                                  const struct wire_header *header, const struct wire_piece *piece)
{
    struct swif_assembly *free = NULL;
    struct swif_assembly *stalest = &swif->assemblies[0];
    for (unsigned i = 0; i < SWIF_ASSEMBLIES; i++) {
        struct swif_assembly *assembly = &swif->assemblies[i];
        if (is_same(assembly, header)) {
            return assembly;
        }
        if (!free && is_free(swif, assembly)) {
            free = assembly;
        }
        if (assembly->touched_ns < stalest->touched_ns) {
            stalest = assembly;
        }
    }
    /* Whoever is at it may go on, however many want its place: else none might ever finish. */
    if (!free && now_ns - stalest->touched_ns > swif->config.rto_max_ns) {
        free = stalest;
    }
    if (free) {
        *free = (struct swif_assembly){.peer = header->source,
                                       .class = class_of(header),
                                       .sequence = header->sequence,
                                       .incarnation = header->source_incarnation,
                                       .whole_bytes = piece->whole_bytes};
    }
    return free;
}

/* Whether the packet's content may be needed; if not, its number alone tells what to answer. */
static bool is_wanted(const struct swif *swif, const struct wire_header *header)
{
    enum wire_class class = class_of(header);
    const struct swif_rtee *rtee = swif_rtee_peek(swif, header->source, class);
    int32_t ahead = swif_distance(swif->stubs[header->source].receive_next[class],
                                  header->sequence);
    bool is_here = rtee && (swif_bit(&rtee->done, header->sequence) ||
                            swif_bit(&rtee->held, header->sequence));
    if (swif->config.stage_max != WIRE_SELECTIVE_REPEAT) {
        return ahead == 0;
    }
    return ahead >= 0 && ahead < SWIF_WINDOW_MAX && !is_here;
}

static void note_piece(struct swif_assembly *assembly, const struct wire_piece *piece)
{
    uint32_t end = (uint32_t)piece->offset + piece->bytes;
    if (MUTANT(PIECES_COUNTED)) {
        uint32_t count = (piece->bytes + WIRE_PIECE_UNIT_BYTES - 1u) / WIRE_PIECE_UNIT_BYTES;
        for (uint32_t unit = 0; count != 0 && unit < SWIF_PIECES_MAX; unit++) {
            uint64_t bit = UINT64_C(1) << unit % 64;
            count -= (assembly->here[unit / 64] & bit) == 0;
            assembly->here[unit / 64] |= bit;
        }
        return;
    }
    for (uint32_t at = piece->offset; at < end; at += WIRE_PIECE_UNIT_BYTES) {
        uint32_t unit = at / WIRE_PIECE_UNIT_BYTES;
        assembly->here[unit / 64] |= UINT64_C(1) << unit % 64;
    }
}

static bool is_whole(const struct swif_assembly *assembly)
{
    uint32_t units = (assembly->whole_bytes + WIRE_PIECE_UNIT_BYTES - 1u) / WIRE_PIECE_UNIT_BYTES;
    for (uint32_t unit = 0; unit < units; unit++) {
        if (!(assembly->here[unit / 64] >> unit % 64 & 1)) {
            return false;
        }
    }
    return true;
}

void swif_receive_piece(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                        const unsigned char *body)
{
    struct wire_header whole = *header;
    struct wire_piece piece;
    if (!swif->assemblies || !wire_piece_decode(body, header->body_bytes, &piece) ||
        piece.whole_bytes > swif->body_bytes_max) {
        swif->counters.malformed++;
        return;
    }
    swif->counters.pieces_received++;
    whole.kind = WIRE_CD;
    whole.body_bytes = piece.whole_bytes;
    if (!is_wanted(swif, header)) {
        swif_receiver_data(swif, now_ns, &whole, NULL);
        return;
    }
    struct swif_assembly *assembly = find(swif, now_ns, header, &piece);
    if (!assembly) {
        swif->counters.pieces_dropped++;
        return;
    }
    if (assembly->whole_bytes != piece.whole_bytes) {
        swif->counters.malformed++;
        return;
    }
    unsigned char *bytes = swif->assembly_bodies +
                           (uint64_t)(assembly - swif->assemblies) * swif->body_bytes_max;
    assembly->touched_ns = now_ns;
    memcpy(bytes + piece.offset, piece.data, piece.bytes);
    note_piece(assembly, &piece);
    if (!is_whole(assembly)) {
        return;
    }
    assembly->whole_bytes = 0;
    if (!wire_body_check(bytes, whole.body_bytes, class_of(header))) {
        swif->counters.malformed++;
        return;
    }
    swif_receiver_data(swif, now_ns, &whole, bytes);
}
