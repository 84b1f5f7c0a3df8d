/* The receiver of Modified ACK/NACK: R_SEQTBL, and what is due to each source. */
#include "base/mutant.h"
#include "nic/message_protocol.h"

static struct px_source fresh_line(uint32_t rank)
{
    return (struct px_source){
        .rank = rank, .taken_entry = PX_NO_ENTRY, .refused_entry = PX_NO_ENTRY};
}

void px_receiver_init(struct px_receiver *receiver, uint32_t count)
{
    receiver->source_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = receiver->sources[i].rank;
        INVARIANT(i == 0 || receiver->sources[i - 1].rank < rank);
        receiver->sources[i] = fresh_line(rank);
    }
}

/* NULL: not declared. */
static struct px_source *find(struct px_receiver *receiver, uint32_t rank)
{
    uint32_t at = px_find_rank(receiver->sources, sizeof *receiver->sources, receiver->source_count,
                               rank);
    return at < receiver->source_count ? &receiver->sources[at] : NULL;
}

/* What a source that was stopped is asked for: its message, or more. */
static uint32_t wanted_by(const struct px_receiver *receiver, const struct px_source *source)
{
    uint32_t least = receiver->options.ask_bytes;
    return source->refused_bytes > least ? source->refused_bytes : least;
}

/* Whether there is room for what was refused, beside what others were promised. */
static bool has_room(const struct px_receiver *receiver, const struct px_source *source)
{
    uint32_t index = (uint32_t)(source - receiver->sources);
    uint64_t bytes = receiver->promised_bytes + wanted_by(receiver, source);
    return bytes <= UINT32_MAX &&
           receiver->store.has_room(receiver->store.context, index, (uint32_t)bytes);
}

static uint64_t promise_to(const struct px_receiver *receiver, const struct px_source *source)
{
    return sizeof(struct px_stored) + (wanted_by(receiver, source) + 7) / 8 * 8;
}

static void ask(struct px_receiver *receiver, struct px_source *source)
{
    source->stopped = false;
    source->resend_due = true;
    if (!receiver->options.asks_all) {
        source->asked = true;
        receiver->promised_bytes += promise_to(receiver, source);
    }
}

static void end_promise(struct px_receiver *receiver, struct px_source *source)
{
    if (source->asked) {
        source->asked = false;
        receiver->promised_bytes -= promise_to(receiver, source);
    }
}

/* ---- Events -------------------------------------------------------------------------------- */

static void refuse(struct px_source *source, uint32_t entry, uint32_t wanted_bytes)
{
    source->intake = PX_REFUSING;
    source->refused_entry = entry;
    source->refused_bytes = wanted_bytes;
    source->nack_due = true;
    source->resend_due = false;
}

static void on_expected(struct px_receiver *receiver, struct px_source *source,
                        const struct px_packet *packet)
{
    uint32_t index = (uint32_t)(source - receiver->sources);
    end_promise(receiver, source);
    if (!receiver->store.take(receiver->store.context, index, packet)) {
        /* At least 1: 0 stands for a loss. */
        refuse(source, packet->entry, packet->bytes ? packet->bytes : 1);
        source->stopped = receiver->options.flags & DN_CONTEXT_RESEND_REQUEST;
        receiver->counters.refused++;
        return;
    }
    receiver->counters.taken++;
    source->intake = PX_TAKING;
    source->expected_seqid++;
    source->taken_entry = packet->entry;
    source->ack_due = true;
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
        return;
    }
    receiver->counters.dropped++;
    if (ahead < 0) {
        /* Its ACK was lost, or it crossed the resend. */
        source->ack_due = source->ack_due || loses;
    } else if (loses && source->intake == PX_TAKING) {
        refuse(source, PX_NO_ENTRY, 0);
    }
}

void px_on_room(struct px_receiver *receiver)
{
    uint32_t first = receiver->next_asked;
    for (uint32_t i = 0; i < receiver->source_count; i++) {
        uint32_t index = first + i < receiver->source_count ? first + i
                                                            : first + i - receiver->source_count;
        struct px_source *source = &receiver->sources[index];
        if (!source->stopped || source->nack_due) {
            continue;
        }
        if (has_room(receiver, source)) {
            ask(receiver, source);
            receiver->next_asked = index + 1 < receiver->source_count ? index + 1 : 0;
        } else if (!receiver->options.asks_all) {
            return; /* its turn is next */
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
        end_promise(receiver, source);
        *source = fresh_line(rank);
        source->expected_seqid = expected;
    }
}

/* ---- What goes out --------------------------------------------------------------------------- */

bool px_receiver_peek(const struct px_receiver *receiver, uint32_t index, struct px_packet *packet)
{
    const struct px_source *source = &receiver->sources[index];
    *packet = (struct px_packet){
        .from = receiver->rank,
        .to = source->rank,
        .channel = receiver->options.channel,
        .seqid = source->expected_seqid,
        .entry = source->refused_entry,
    };
    if (source->ack_due) {
        packet->type = PX_ACK;
        packet->seqid--;
        packet->entry = source->taken_entry;
    } else if (source->nack_due) {
        /* Room may have come since: a STOP after which nothing is read would last for ever. */
        bool stays = source->stopped && !has_room(receiver, source);
        packet->type = stays ? PX_STOP : PX_NACK;
    } else if (source->resend_due) {
        packet->type = PX_RESEND;
    } else {
        return false;
    }
    return true;
}

void px_receiver_sent(struct px_receiver *receiver, uint32_t index, const struct px_packet *packet)
{
    struct px_source *source = &receiver->sources[index];
    switch (packet->type) {
    case PX_ACK: source->ack_due = false; break;
    case PX_NACK:
    case PX_STOP:
        source->stopped = packet->type == PX_STOP;
        source->nack_due = false;
        break;
    case PX_RESEND: source->resend_due = false; break;
    case PX_DATA: break;
    }
}
