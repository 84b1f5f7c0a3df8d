/* The receiver of Modified ACK/NACK: RB and R_SEQTBL. */
#include <string.h>

#include "base/mutant.h"
#include "nic/message_protocol.h"

#define SKIPPED UINT32_MAX /* as a length: nothing up to the end of RB */

enum { WORD_BYTES = 8 };
_Static_assert(sizeof(struct px_stored) == WORD_BYTES, "it fits wherever a message may start");

void px_receiver_init(struct px_receiver *receiver, uint32_t count)
{
    INVARIANT(receiver->buffer_bytes % WORD_BYTES == 0);
    receiver->source_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = receiver->sources[i].rank;
        INVARIANT(i == 0 || receiver->sources[i - 1].rank < rank);
        receiver->sources[i] = (struct px_source){.rank = rank};
    }
    receiver->buffer_head = 0;
    receiver->buffer_tail = 0;
}

/* NULL: not declared. */
static struct px_source *find(struct px_receiver *receiver, uint32_t rank)
{
    uint32_t at = px_find_rank(receiver->sources, sizeof *receiver->sources, receiver->source_count,
                               rank);
    return at < receiver->source_count ? &receiver->sources[at] : NULL;
}

/* ---- RB ---------------------------------------------------------------------------------- */

static struct px_stored *stored_at(const struct px_receiver *receiver, uint64_t position)
{
    return (struct px_stored *)(void *)(receiver->buffer + position % receiver->buffer_bytes);
}

static uint64_t room_of(uint32_t bytes)
{
    return sizeof(struct px_stored) + ((uint64_t)bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
}

/* Where a message would be stored; false: no room. */
static bool find_room(const struct px_receiver *receiver, uint32_t bytes, uint64_t *position)
{
    uint64_t room = room_of(bytes);
    uint64_t to_end = receiver->buffer_bytes - receiver->buffer_head % receiver->buffer_bytes;
    uint64_t start = receiver->buffer_head + (room > to_end ? to_end : 0);
    if (receiver->buffer_head == receiver->buffer_tail) {
        *position = 0; /* RB is empty: from its start, every message fits that can fit at all */
        return room <= receiver->buffer_bytes;
    }
    *position = start;
    return room <= receiver->buffer_bytes &&
           start + room - receiver->buffer_tail <= receiver->buffer_bytes;
}

bool px_receiver_has_room(const struct px_receiver *receiver, uint32_t bytes)
{
    uint64_t unused;
    return find_room(receiver, bytes, &unused);
}

static void store(struct px_receiver *receiver, uint64_t position, const struct px_packet *packet)
{
    if (receiver->buffer_head == receiver->buffer_tail) {
        receiver->buffer_head = position;
        receiver->buffer_tail = position;
    }
    if (position != receiver->buffer_head) {
        stored_at(receiver, receiver->buffer_head)->bytes = SKIPPED;
    }
    struct px_stored *stored = stored_at(receiver, position);
    *stored = (struct px_stored){packet->from, packet->bytes};
    if (packet->bytes) {
        memcpy(stored + 1, packet->data, packet->bytes);
    }
    receiver->buffer_head = position + room_of(packet->bytes);
}

/* The position of the oldest message. */
static uint64_t first_position(const struct px_receiver *receiver)
{
    uint64_t position = receiver->buffer_tail;
    if (position != receiver->buffer_head && stored_at(receiver, position)->bytes == SKIPPED) {
        position += receiver->buffer_bytes - position % receiver->buffer_bytes;
    }
    return position;
}

const struct px_stored *px_receiver_first(const struct px_receiver *receiver)
{
    uint64_t position = first_position(receiver);
    return position == receiver->buffer_head ? NULL : stored_at(receiver, position);
}

/* ---- Events -------------------------------------------------------------------------------- */

static void refuse(struct px_source *source, uint32_t wanted_bytes)
{
    source->intake = PX_REFUSING;
    source->refused_bytes = wanted_bytes;
    source->nack_due = true;
    source->resend_due = false;
}

static void on_expected(struct px_receiver *receiver, struct px_source *source,
                        const struct px_packet *packet)
{
    uint64_t position;
    if (!find_room(receiver, packet->bytes, &position)) {
        /* At least 1: 0 stands for a loss. */
        refuse(source, packet->bytes ? packet->bytes : 1);
        source->stopped = receiver->options.flags & DN_CONTEXT_RESEND_REQUEST;
        return;
    }
    store(receiver, position, packet);
    source->intake = PX_TAKING;
    source->expected_seqid++;
    source->acks_due++;
    source->nack_due = false;
    source->resend_due = false;
    source->stopped = false;
}

void px_on_data(struct px_receiver *receiver, const struct px_packet *packet)
{
    struct px_source *source = find(receiver, packet->from);
    bool loses = receiver->options.flags & DN_CONTEXT_LOSS_DETECTION;
    if (!source || packet->channel != receiver->options.channel) {
        return;
    }
    int32_t ahead = (int32_t)(packet->seqid - source->expected_seqid);
    if (ahead == 0) {
        on_expected(receiver, source, packet);
    } else if (ahead < 0) {
        /* Its ACK was lost, or it crossed the resend. */
        source->ack_again_due = loses;
    } else if (loses && source->intake == PX_TAKING) {
        refuse(source, 0);
    }
}

void px_on_read(struct px_receiver *receiver)
{
    uint64_t position = first_position(receiver);
    INVARIANT(position != receiver->buffer_head);
    receiver->buffer_tail = position + room_of(stored_at(receiver, position)->bytes);
    for (uint32_t i = 0; i < receiver->source_count; i++) {
        struct px_source *source = &receiver->sources[i];
        if (source->stopped && !source->nack_due &&
            px_receiver_has_room(receiver, source->refused_bytes)) {
            source->resend_due = true;
            source->stopped = false;
        }
    }
}

void px_receiver_ask_all(struct px_receiver *receiver)
{
    for (uint32_t i = 0; i < receiver->source_count; i++) {
        receiver->sources[i].resend_due = true;
    }
}

void px_receiver_peer_lost(struct px_receiver *receiver, uint32_t rank)
{
    struct px_source *source = find(receiver, rank);
    if (source) {
        uint32_t expected = MUTANT(MESSAGE_SEQID_OF_OLD_LIFE) ? source->expected_seqid : 0;
        *source = (struct px_source){.rank = rank, .expected_seqid = expected};
    }
}

/* ---- What goes out --------------------------------------------------------------------------- */

bool px_receiver_peek(const struct px_receiver *receiver, uint32_t index, struct px_packet *packet)
{
    const struct px_source *source = &receiver->sources[index];
    enum px_packet_type type;
    uint32_t seqid = source->expected_seqid;
    if (source->acks_due) {
        type = PX_ACK;
        seqid -= source->acks_due;
    } else if (source->ack_again_due) {
        type = PX_ACK;
        seqid--;
    } else if (source->nack_due) {
        /* Room may have come since: a STOP after which nothing is read would last for ever. */
        bool stays = source->stopped && !px_receiver_has_room(receiver, source->refused_bytes);
        type = stays ? PX_STOP : PX_NACK;
    } else if (source->resend_due) {
        type = PX_RESEND;
    } else {
        return false;
    }
    *packet = (struct px_packet){
        .type = type,
        .from = receiver->rank,
        .to = source->rank,
        .channel = receiver->options.channel,
        .seqid = seqid,
    };
    return true;
}

void px_receiver_sent(struct px_receiver *receiver, uint32_t index, const struct px_packet *packet)
{
    struct px_source *source = &receiver->sources[index];
    switch (packet->type) {
    case PX_ACK:
        source->acks_due -= source->acks_due ? 1 : 0;
        source->ack_again_due = false;
        break;
    case PX_NACK:
    case PX_STOP:
        source->stopped = packet->type == PX_STOP;
        source->nack_due = false;
        break;
    case PX_RESEND: source->resend_due = false; break;
    case PX_DATA: break;
    }
}
