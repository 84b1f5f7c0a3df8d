/* The sender of Modified ACK/NACK: SB, SENDTBL, S_SEQTBL. */
#include "base/mutant.h"
#include "nic/message_protocol.h"

enum { BACK_OFF_DOUBLINGS = 6, WORD_BYTES = 8 };

static bool is_before(uint32_t one, uint32_t other)
{
    return (int32_t)(one - other) < 0;
}

void px_sender_init(struct px_sender *sender, uint32_t count)
{
    INVARIANT(is_power_of_two(sender->entry_count) && sender->buffer_bytes % WORD_BYTES == 0);
    sender->destination_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = sender->destinations[i].rank;
        INVARIANT(i == 0 || sender->destinations[i - 1].rank < rank);
        sender->destinations[i] = (struct px_destination){.rank = rank, .acked_by_ns = UINT64_MAX};
    }
    sender->entry_head = 0;
    sender->entry_tail = 0;
    sender->buffer_head = 0;
    sender->buffer_tail = 0;
}

/* NULL: not declared. */
static struct px_destination *find(struct px_sender *sender, uint32_t rank)
{
    uint32_t at = px_find_rank(sender->destinations, sizeof *sender->destinations,
                               sender->destination_count, rank);
    return at < sender->destination_count ? &sender->destinations[at] : NULL;
}

static struct px_entry *entry_at(const struct px_sender *sender, uint64_t number)
{
    return &sender->entries[number & (sender->entry_count - 1)];
}

/* ---- SB and SENDTBL ------------------------------------------------------------------- */

void *px_get_send_buf(struct px_sender *sender, uint32_t rank, uint32_t bytes, uint32_t *entry)
{
    struct px_destination *destination = find(sender, rank);
    uint64_t room = ((uint64_t)bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    if (px_sender_is_idle(sender)) {
        /* SB is empty: from its start, every message fits that can fit at all. */
        sender->buffer_head = 0;
        sender->buffer_tail = 0;
    }
    uint64_t position = sender->buffer_head;
    uint64_t to_end = sender->buffer_bytes - position % sender->buffer_bytes;
    /* A message is contiguous: one that does not fit before the end goes to the start. */
    position += room > to_end ? to_end : 0;
    if (!destination || destination->lost ||
        sender->entry_head - sender->entry_tail == sender->entry_count ||
        position + room - sender->buffer_tail > sender->buffer_bytes) {
        return NULL;
    }
    *entry = (uint32_t)(sender->entry_head & (sender->entry_count - 1));
    *entry_at(sender, sender->entry_head++) = (struct px_entry){
        .position = position,
        .bytes = bytes,
        .destination = (uint32_t)(destination - sender->destinations),
    };
    sender->buffer_head = position + room;
    return sender->buffer + position % sender->buffer_bytes;
}

/* Tails advance over acknowledged entries only up to the first gap. */
static void free_acked(struct px_sender *sender)
{
    while (sender->entry_tail != sender->entry_head &&
           entry_at(sender, sender->entry_tail)->acked) {
        sender->entry_tail++;
        sender->buffer_tail = sender->entry_tail == sender->entry_head
                                  ? sender->buffer_head
                                  : entry_at(sender, sender->entry_tail)->position;
    }
}

static const struct px_entry *find_entry(const struct px_sender *sender, uint32_t destination,
                                         uint32_t seqid)
{
    for (uint64_t number = sender->entry_tail; number != sender->entry_head; number++) {
        const struct px_entry *entry = entry_at(sender, number);
        /* An acked entry may be of the destination's old life. */
        if (entry->destination == destination && entry->kicked && !entry->acked &&
            entry->seqid == seqid) {
            return entry;
        }
    }
    return NULL;
}

/* ---- Events ----------------------------------------------------------------------------- */

void px_on_kick(struct px_sender *sender, uint32_t number)
{
    struct px_entry *entry = &sender->entries[number & (sender->entry_count - 1)];
    struct px_destination *destination = &sender->destinations[entry->destination];
    INVARIANT(!entry->kicked);
    entry->kicked = true;
    if (destination->lost) {
        entry->acked = true; /* since get_send_buf */
        free_acked(sender);
        return;
    }
    entry->seqid = destination->next_seqid++;
}

static void on_ack(struct px_sender *sender, uint64_t now_ns, struct px_destination *destination,
                   uint32_t seqid)
{
    uint32_t index = (uint32_t)(destination - sender->destinations);
    if (is_before(seqid, destination->acked_seqid) || !is_before(seqid, destination->sent_seqid)) {
        return; /* known, or of something that was never sent */
    }
    for (uint64_t number = sender->entry_tail; number != sender->entry_head; number++) {
        struct px_entry *entry = entry_at(sender, number);
        if (entry->destination == index && entry->kicked && !is_before(seqid, entry->seqid)) {
            entry->acked = true;
        }
    }
    free_acked(sender);
    destination->acked_seqid = seqid + 1;
    if (is_before(destination->unsent_seqid, destination->acked_seqid)) {
        destination->unsent_seqid = destination->acked_seqid;
    }
    if (destination->flow != PX_FLOWING && !is_before(seqid, destination->nacked_seqid)) {
        destination->flow = PX_FLOWING;
        destination->nack_count = 0;
        destination->not_before_ns = 0;
    }
    bool outstanding = destination->acked_seqid != destination->sent_seqid;
    destination->acked_by_ns = outstanding ? now_ns + sender->options.resend_timeout_ns
                                           : UINT64_MAX;
}

/* Goes back to a SEQID that was sent and is not acknowledged; nothing new goes out until it is. */
static void go_back(struct px_destination *destination, uint32_t seqid, enum px_flow flow)
{
    destination->flow = flow;
    destination->nacked_seqid = seqid;
    destination->unsent_seqid = seqid;
}

static void back_off(const struct px_sender *sender, uint64_t now_ns,
                     struct px_destination *destination)
{
    uint32_t doublings = destination->nack_count < BACK_OFF_DOUBLINGS ? destination->nack_count
                                                                      : BACK_OFF_DOUBLINGS;
    destination->nack_count++;
    destination->not_before_ns = sender->options.flags & DN_CONTEXT_BACK_OFF
                                     ? now_ns + (sender->options.back_off_ns << doublings)
                                     : 0;
}

void px_on_answer(struct px_sender *sender, uint64_t now_ns, const struct px_packet *packet)
{
    struct px_destination *destination = find(sender, packet->from);
    if (!destination || destination->lost || packet->channel != sender->options.channel) {
        return;
    }
    uint32_t seqid = packet->seqid;
    if (packet->type == PX_ACK || (MUTANT(MESSAGE_NACK_AS_ACK) && packet->type == PX_NACK)) {
        on_ack(sender, now_ns, destination, seqid);
        return;
    }
    /* A NACK of n says as well that all before n were taken. */
    if (seqid != destination->acked_seqid) {
        on_ack(sender, now_ns, destination, seqid - 1);
    }
    if (is_before(seqid, destination->acked_seqid) || !is_before(seqid, destination->sent_seqid)) {
        return;
    }
    switch (packet->type) {
    case PX_NACK:
        go_back(destination, seqid, PX_RESENDING);
        back_off(sender, now_ns, destination);
        break;
    case PX_STOP: go_back(destination, seqid, PX_PAUSED); break;
    case PX_RESEND:
        go_back(destination, seqid, PX_RESENDING);
        destination->not_before_ns = 0;
        break;
    case PX_DATA:
    case PX_ACK: break;
    }
}

void px_sender_peer_lost(struct px_sender *sender, uint32_t rank)
{
    struct px_destination *destination = find(sender, rank);
    if (!destination) {
        return;
    }
    uint32_t index = (uint32_t)(destination - sender->destinations);
    for (uint64_t number = sender->entry_tail; number != sender->entry_head; number++) {
        struct px_entry *entry = entry_at(sender, number);
        if (entry->destination == index && entry->kicked) {
            entry->acked = true;
        }
    }
    free_acked(sender);
    *destination = (struct px_destination){.rank = rank, .acked_by_ns = UINT64_MAX, .lost = true};
}

void px_sender_reconnect(struct px_sender *sender, uint32_t rank)
{
    struct px_destination *destination = find(sender, rank);
    if (destination) {
        destination->lost = false;
    }
}

/* ---- What goes out ------------------------------------------------------------------------ */

/* Loss detection: nothing came for too long, so what is out goes out again. */
static void on_silence(struct px_destination *destination)
{
    go_back(destination, destination->acked_seqid, PX_RESENDING);
    destination->not_before_ns = 0;
    destination->acked_by_ns = UINT64_MAX;
}

uint64_t px_sender_ready_ns(const struct px_sender *sender, uint64_t now_ns, uint32_t index)
{
    const struct px_destination *destination = &sender->destinations[index];
    switch (destination->flow) {
    case PX_FLOWING:
        return destination->unsent_seqid != destination->next_seqid ? now_ns : UINT64_MAX;
    case PX_RESENDING:
        if (destination->unsent_seqid != destination->sent_seqid) {
            return destination->not_before_ns > now_ns ? destination->not_before_ns : now_ns;
        }
        return UINT64_MAX;
    case PX_PAUSED: break;
    }
    return UINT64_MAX;
}

bool px_sender_peek(struct px_sender *sender, uint64_t now_ns, uint32_t index,
                    struct px_packet *packet)
{
    struct px_destination *destination = &sender->destinations[index];
    if (sender->options.flags & DN_CONTEXT_LOSS_DETECTION && now_ns >= destination->acked_by_ns) {
        on_silence(destination);
    }
    if (px_sender_ready_ns(sender, now_ns, index) > now_ns) {
        return false;
    }
    const struct px_entry *entry = find_entry(sender, index, destination->unsent_seqid);
    INVARIANT(entry != NULL);
    *packet = (struct px_packet){
        .type = PX_DATA,
        .from = sender->rank,
        .to = destination->rank,
        .channel = sender->options.channel,
        .seqid = entry->seqid,
        .bytes = entry->bytes,
        .data = sender->buffer + entry->position % sender->buffer_bytes,
    };
    return true;
}

void px_sender_sent(struct px_sender *sender, uint64_t now_ns, uint32_t index)
{
    struct px_destination *destination = &sender->destinations[index];
    uint32_t seqid = destination->unsent_seqid++;
    if (destination->sent_seqid == seqid) {
        destination->sent_seqid++;
    }
    if (sender->options.flags & DN_CONTEXT_LOSS_DETECTION &&
        destination->acked_by_ns == UINT64_MAX) {
        destination->acked_by_ns = now_ns + sender->options.resend_timeout_ns;
    }
}
