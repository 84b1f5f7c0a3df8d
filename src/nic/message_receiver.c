/* The receiver of Modified ACK/NACK: R_SEQTBL, and what is due to each source. */
#include "base/mutant.h"
#include "nic/message_protocol.h"

static struct px_source fresh_line(uint32_t rank)
{
    return (struct px_source){
        .rank = rank, .taken_entry = PX_NO_ENTRY, .refused_entry = PX_NO_ENTRY};
}

/* What a message takes of the store. */
static uint32_t room_of(uint32_t bytes)
{
    return (uint32_t)sizeof(struct px_stored) + (bytes + 7) / 8 * 8;
}

static bool takes_turns(const struct px_receiver *receiver)
{
    return receiver->options.flags & DN_CONTEXT_RESEND_REQUEST && !receiver->options.asks_all;
}

void px_receiver_init(struct px_receiver *receiver, uint32_t count)
{
    INVARIANT(!takes_turns(receiver) ||
              room_of(receiver->options.ask_bytes) <= receiver->store.total_bytes);
    receiver->source_count = count;
    receiver->next_asked = 0; /* a context before it may have had more lines */
    receiver->stopped_count = 0;
    receiver->has_asked = false;
    receiver->promised_bytes = 0;
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

/* How much a source that was stopped is asked for: its message, or more. */
static uint32_t turn_of(const struct px_receiver *receiver, const struct px_source *source)
{
    uint32_t least = receiver->options.ask_bytes;
    return room_of(source->refused_bytes > least ? source->refused_bytes : least);
}

/* Whether so much is free for a source beside what others were promised. */
static bool is_free(const struct px_receiver *receiver, const struct px_source *source,
                    uint64_t bytes)
{
    return !takes_turns(receiver) || receiver->promised_bytes - source->turn_bytes + bytes <=
                                         receiver->store.free_bytes(receiver->store.context);
}

static void set_stopped(struct px_receiver *receiver, struct px_source *source, bool stopped)
{
    receiver->stopped_count += (stopped ? 1u : 0u) - (source->stopped ? 1u : 0u);
    source->stopped = stopped;
}

static void set_turn(struct px_receiver *receiver, struct px_source *source, uint32_t bytes)
{
    receiver->promised_bytes += bytes;
    receiver->promised_bytes -= source->turn_bytes;
    source->turn_bytes = bytes;
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

/* Takes the message if it is this source's turn and there is room that nobody was promised. */
static bool take(struct px_receiver *receiver, struct px_source *source,
                 const struct px_packet *packet)
{
    uint32_t index = (uint32_t)(source - receiver->sources);
    uint32_t others = receiver->stopped_count - (source->stopped ? 1u : 0u);
    uint32_t room = room_of(packet->bytes);
    bool is_its_turn = !takes_turns(receiver) || others == 0 || source->turn_bytes >= room;
    if (!is_its_turn || !is_free(receiver, source, room) ||
        !receiver->store.take(receiver->store.context, index, packet)) {
        return false;
    }
    set_turn(receiver, source, source->turn_bytes > room ? source->turn_bytes - room : 0);
    return true;
}

static void on_expected(struct px_receiver *receiver, struct px_source *source,
                        const struct px_packet *packet)
{
    source->asked = false;
    if (!take(receiver, source, packet)) {
        /* At least 1: 0 stands for a loss. */
        refuse(source, packet->entry, packet->bytes ? packet->bytes : 1);
        set_stopped(receiver, source, receiver->options.flags & DN_CONTEXT_RESEND_REQUEST);
        set_turn(receiver, source, 0);
        receiver->counters.refused++;
    } else {
        receiver->counters.taken++;
        source->intake = PX_TAKING;
        source->expected_seqid++;
        source->taken_entry = packet->entry;
        source->ack_due = true;
        source->nack_due = false;
        source->resend_due = false;
        set_stopped(receiver, source, false);
    }
    /* A turn may be over, or the one who waits the only one. */
    px_on_room(receiver);
}

void px_on_data(struct px_receiver *receiver, const struct px_packet *packet)
{
    struct px_source *source = find(receiver, packet->from);
    bool loses = packet->may_get_lost || receiver->options.flags & DN_CONTEXT_LOSS_DETECTION;
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

/* One that was not told to stop yet is told to go on instead. */
static void ask(struct px_receiver *receiver, struct px_source *source)
{
    set_stopped(receiver, source, false);
    source->resend_due = !source->nack_due;
    receiver->has_asked = true;
    if (takes_turns(receiver)) {
        source->asked = true;
        set_turn(receiver, source, turn_of(receiver, source));
    }
}

/* What is left of turns whose sources have nothing more to send. */
static void end_turns(struct px_receiver *receiver)
{
    bool is_empty = takes_turns(receiver) && receiver->promised_bytes > 0 &&
                    receiver->store.free_bytes(receiver->store.context) ==
                        receiver->store.total_bytes;
    for (uint32_t i = 0; is_empty && i < receiver->source_count; i++) {
        if (!receiver->sources[i].asked) {
            set_turn(receiver, &receiver->sources[i], 0);
        }
    }
}

void px_on_room(struct px_receiver *receiver)
{
    end_turns(receiver);
    uint32_t first = receiver->next_asked;
    for (uint32_t i = 0; receiver->stopped_count > 0 && i < receiver->source_count; i++) {
        uint32_t index = first + i < receiver->source_count ? first + i
                                                            : first + i - receiver->source_count;
        struct px_source *source = &receiver->sources[index];
        if (!source->stopped) {
            continue;
        }
        if (!MUTANT(MESSAGE_NEVER_ASKED) && is_free(receiver, source, turn_of(receiver, source)) &&
            receiver->store.has_room(receiver->store.context, index, source->refused_bytes)) {
            ask(receiver, source);
            receiver->next_asked = index + 1 < receiver->source_count ? index + 1 : 0;
        } else if (takes_turns(receiver)) {
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
        set_turn(receiver, source, 0);
        set_stopped(receiver, source, false);
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
        packet->type = source->stopped ? PX_STOP : PX_NACK;
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
    case PX_STOP: source->nack_due = false; break;
    case PX_RESEND: source->resend_due = false; break;
    case PX_DATA: break;
    }
}
