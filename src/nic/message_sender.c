/* The sender of Modified ACK/NACK: SB, SENDTBL, S_SEQTBL. */
#include "base/mutant.h"
#include "nic/message_protocol.h"

enum {
    BACK_OFF_DOUBLINGS = 6,
    WORD_BYTES = 8,
    PAUSE_TIMES = 4, /* a receiver that is full stays silent longer than one that answers */
};

static bool is_before(uint32_t one, uint32_t other)
{
    return (int32_t)(one - other) < 0;
}

static struct px_destination fresh_line(uint32_t rank)
{
    return (struct px_destination){.rank = rank,
                                   .acked_by_ns = UINT64_MAX,
                                   .first_entry = PX_NO_ENTRY,
                                   .unsent_entry = PX_NO_ENTRY,
                                   .last_entry = PX_NO_ENTRY};
}

void px_sender_init(struct px_sender *sender, uint32_t count)
{
    INVARIANT(is_power_of_two(sender->entry_count) && sender->buffer_bytes % WORD_BYTES == 0);
    sender->destination_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = sender->destinations[i].rank;
        INVARIANT(i == 0 || sender->destinations[i - 1].rank < rank);
        sender->destinations[i] = fresh_line(rank);
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

/* A message lies in a row: one that does not fit before the end goes to the start. In an empty SB
 * nothing keeps it from there, so every message fits that can fit at all. */
static bool find_room(const struct px_sender *sender, uint32_t bytes, uint64_t entry_tail,
                      uint64_t buffer_tail, uint64_t *position)
{
    uint64_t room = ((uint64_t)bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
    uint64_t to_end = sender->buffer_bytes - sender->buffer_head % sender->buffer_bytes;
    *position = sender->buffer_head + (room > to_end ? to_end : 0);
    uint64_t tail = sender->entry_head == entry_tail ? *position : buffer_tail;
    return sender->entry_head - entry_tail < sender->entry_count &&
           *position + room - tail <= sender->buffer_bytes;
}

bool px_sender_has_room(const struct px_sender *sender, uint32_t bytes, uint64_t entry_tail,
                        uint64_t buffer_tail)
{
    uint64_t unused;
    return find_room(sender, bytes, entry_tail, buffer_tail, &unused);
}

void *px_get_send_buf(struct px_sender *sender, uint32_t rank, uint32_t bytes, uint32_t *entry)
{
    struct px_destination *destination = find(sender, rank);
    uint64_t position;
    if (!destination || destination->lost ||
        !find_room(sender, bytes, sender->entry_tail, sender->buffer_tail, &position)) {
        return NULL;
    }
    if (px_sender_is_idle(sender)) {
        sender->buffer_tail = position;
    }
    *entry = (uint32_t)(sender->entry_head & (sender->entry_count - 1));
    *entry_at(sender, sender->entry_head++) = (struct px_entry){
        .position = position,
        .bytes = bytes,
        .destination = (uint32_t)(destination - sender->destinations),
        .next = PX_NO_ENTRY,
    };
    sender->buffer_head = position + ((uint64_t)bytes + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;
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

/* Whether the answer's address is that of the message it names, out and not acknowledged. */
static bool is_outstanding(const struct px_sender *sender, const struct px_destination *destination,
                           const struct px_packet *answer)
{
    if (answer->entry >= sender->entry_count) {
        return false;
    }
    const struct px_entry *entry = &sender->entries[answer->entry];
    return &sender->destinations[entry->destination] == destination && entry->kicked &&
           !entry->acked && entry->seqid == answer->seqid &&
           is_before(answer->seqid, destination->sent_seqid);
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
    if (destination->first_entry == PX_NO_ENTRY) {
        destination->first_entry = number;
    } else {
        sender->entries[destination->last_entry].next = number;
    }
    if (destination->unsent_entry == PX_NO_ENTRY) {
        destination->unsent_entry = number;
    }
    destination->last_entry = number;
}

/* All before this SEQID were taken. */
static void acknowledge(struct px_sender *sender, uint64_t now_ns,
                        struct px_destination *destination, uint32_t seqid)
{
    while (is_before(destination->acked_seqid, seqid)) {
        struct px_entry *entry = &sender->entries[destination->first_entry];
        entry->acked = true;
        destination->first_entry = entry->next;
        destination->acked_seqid++;
    }
    free_acked(sender);
    if (is_before(destination->unsent_seqid, seqid)) {
        destination->unsent_seqid = seqid;
        destination->unsent_entry = destination->first_entry;
    }
    if (destination->flow != PX_FLOWING && is_before(destination->nacked_seqid, seqid)) {
        destination->flow = PX_FLOWING;
        destination->nack_count = 0;
        destination->not_before_ns = 0;
    }
    bool outstanding = destination->acked_seqid != destination->sent_seqid;
    destination->acked_by_ns = outstanding ? now_ns + sender->options.resend_timeout_ns
                                           : UINT64_MAX;
}

/* Goes back to the first SEQID that is not acknowledged, which was sent; nothing new goes out until
 * it is acknowledged. */
static void go_back(struct px_destination *destination, enum px_flow flow)
{
    destination->flow = flow;
    destination->nacked_seqid = destination->acked_seqid;
    destination->unsent_seqid = destination->acked_seqid;
    destination->unsent_entry = destination->first_entry;
}

static void back_off(const struct px_sender *sender, uint64_t now_ns,
                     struct px_destination *destination)
{
    uint32_t doublings = destination->nack_count < BACK_OFF_DOUBLINGS ? destination->nack_count
                                                                      : BACK_OFF_DOUBLINGS;
    destination->nack_count++;
    destination->not_before_ns = now_ns + (sender->options.flags & DN_CONTEXT_BACK_OFF
                                               ? sender->options.back_off_ns << doublings
                                               : sender->options.pause_ns);
}

void px_on_answer(struct px_sender *sender, uint64_t now_ns, const struct px_packet *packet)
{
    struct px_destination *destination = find(sender, packet->from);
    if (!destination || destination->lost || packet->channel != sender->options.channel) {
        return;
    }
    uint32_t seqid = packet->seqid;
    bool is_known = is_before(seqid, destination->acked_seqid) ||
                    !is_before(seqid, destination->sent_seqid);
    bool never_came = packet->type != PX_ACK && packet->entry == PX_NO_ENTRY;
    if (is_known || !(never_came || is_outstanding(sender, destination, packet))) {
        return; /* overtaken, or of something that was never sent */
    }
    if (packet->type == PX_ACK || (MUTANT(MESSAGE_NACK_AS_ACK) && packet->type == PX_NACK)) {
        acknowledge(sender, now_ns, destination, seqid + 1);
        return;
    }
    /* A NACK of n says as well that all before n were taken. */
    acknowledge(sender, now_ns, destination, seqid);
    switch (packet->type) {
    case PX_NACK:
        go_back(destination, PX_RESENDING);
        back_off(sender, now_ns, destination);
        break;
    case PX_STOP: go_back(destination, PX_PAUSED); break;
    case PX_RESEND:
        go_back(destination, PX_RESENDING);
        destination->not_before_ns = 0;
        break;
    case PX_DATA:
    case PX_ACK: break;
    }
    uint64_t from_ns = destination->not_before_ns > now_ns ? destination->not_before_ns : now_ns;
    uint64_t times = destination->flow == PX_PAUSED ? PAUSE_TIMES : 1;
    destination->acked_by_ns = from_ns + times * sender->options.resend_timeout_ns;
}

void px_sender_peer_lost(struct px_sender *sender, uint32_t rank)
{
    struct px_destination *destination = find(sender, rank);
    if (!destination) {
        return;
    }
    for (uint32_t number = destination->first_entry; number != PX_NO_ENTRY;
         number = sender->entries[number].next) {
        sender->entries[number].acked = true;
    }
    free_acked(sender);
    *destination = fresh_line(rank);
    destination->lost = true;
}

void px_sender_reconnect(struct px_sender *sender, uint32_t rank)
{
    struct px_destination *destination = find(sender, rank);
    if (destination) {
        destination->lost = false;
    }
}

void px_sender_connect(struct px_sender *sender, uint32_t rank, uint32_t seqid)
{
    struct px_destination *destination = find(sender, rank);
    INVARIANT(destination && destination->next_seqid == destination->acked_seqid);
    destination->acked_seqid = seqid;
    destination->unsent_seqid = seqid;
    destination->sent_seqid = seqid;
    destination->next_seqid = seqid;
}

/* ---- What goes out ------------------------------------------------------------------------ */

/* Loss detection: nothing came for too long, so what is out goes out again. */
static void on_silence(struct px_sender *sender, struct px_destination *destination)
{
    go_back(destination, PX_RESENDING);
    destination->not_before_ns = 0;
    destination->acked_by_ns = UINT64_MAX;
    sender->counters.silences++;
}

static uint64_t silent_ns(const struct px_sender *sender, const struct px_destination *destination)
{
    return sender->options.flags & DN_CONTEXT_LOSS_DETECTION ? destination->acked_by_ns
                                                             : UINT64_MAX;
}

uint64_t px_sender_ready_ns(const struct px_sender *sender, uint64_t now_ns, uint32_t index)
{
    const struct px_destination *destination = &sender->destinations[index];
    uint64_t ready_ns = UINT64_MAX;
    switch (destination->flow) {
    case PX_FLOWING:
        ready_ns = destination->unsent_seqid != destination->next_seqid ? now_ns : UINT64_MAX;
        break;
    case PX_RESENDING:
        if (destination->unsent_seqid != destination->sent_seqid) {
            ready_ns = destination->not_before_ns > now_ns ? destination->not_before_ns : now_ns;
        }
        break;
    case PX_PAUSED: break;
    }
    uint64_t again_ns = silent_ns(sender, destination);
    return again_ns < ready_ns ? again_ns : ready_ns;
}

bool px_sender_peek(struct px_sender *sender, uint64_t now_ns, uint32_t index,
                    struct px_packet *packet)
{
    struct px_destination *destination = &sender->destinations[index];
    if (now_ns >= silent_ns(sender, destination)) {
        on_silence(sender, destination);
    }
    if (px_sender_ready_ns(sender, now_ns, index) > now_ns) {
        return false;
    }
    const struct px_entry *entry = &sender->entries[destination->unsent_entry];
    *packet = (struct px_packet){
        .type = PX_DATA,
        .from = sender->rank,
        .to = destination->rank,
        .channel = sender->options.channel,
        .seqid = entry->seqid,
        .entry = destination->unsent_entry,
        .bytes = entry->bytes,
        .data = sender->buffer + entry->position % sender->buffer_bytes,
    };
    return true;
}

void px_sender_sent(struct px_sender *sender, uint64_t now_ns, uint32_t index)
{
    struct px_destination *destination = &sender->destinations[index];
    uint32_t seqid = destination->unsent_seqid++;
    destination->unsent_entry = sender->entries[destination->unsent_entry].next;
    sender->counters.sent++;
    if (destination->sent_seqid == seqid) {
        destination->sent_seqid++;
    } else {
        sender->counters.repeated++;
    }
    if (sender->options.flags & DN_CONTEXT_LOSS_DETECTION &&
        destination->acked_by_ns == UINT64_MAX) {
        destination->acked_by_ns = now_ns + sender->options.resend_timeout_ns;
    }
}
