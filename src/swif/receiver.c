/* RTEEs: what came from one peer in one class, and the acknowledgements for it.
 *
 * The stub's receive_next decides what is new; that alone makes delivery exactly-once. An
 * RTEE also keeps what came ahead of its turn, and delays acknowledgements to join them. */
#include "swif/state.h"

#include <string.h>

enum { ACK_EVERY = 4 }; /* packets, while more are announced */

#define EPOCH_NS UINT64_C(1000000) /* senders heard within it share the budget */

/* ---- Contexts -------------------------------------------------------------------- */

static bool may_evict(void *owner, uint32_t index)
{
    struct swif_eviction *eviction = owner;
    const struct swif_rtee *rtee = &eviction->swif->rtees[eviction->class][index];
    return MUTANT(EVICT_WITH_HOLES) ||
           (rtee->ahead == 0 && rtee->unacknowledged == 0 && !swif_is_listed(&rtee->ack_due));
}

static void retire(struct swif *swif, struct swif_rtee *rtee)
{
    while (rtee->held_first != SWIF_NO_BUFFER) {
        uint32_t index = rtee->held_first;
        rtee->held_first = swif_buffer(&swif->reorder, index)->next;
        base_pool_give(&swif->reorder, index);
    }
    swif_timer_set(&swif->timers, &rtee->timer, SWIF_NEVER);
    swif_list_remove(&rtee->ack_due);
}

static struct swif_rtee *make(struct swif *swif, uint16_t peer, enum wire_class class)
{
    uint32_t index = swif_cache_find(&swif->rtee_cache[class], peer);
    if (index != SWIF_NO_CONTEXT) {
        return &swif->rtees[class][index];
    }
    struct swif_eviction eviction = {swif, class};
    int32_t evicted;
    index = swif_cache_take(&swif->rtee_cache[class], peer, may_evict, &eviction, &evicted);
    if (index == SWIF_NO_CONTEXT) {
        swif->counters.rtee_none++;
        return NULL;
    }
    struct swif_rtee *rtee = &swif->rtees[class][index];
    if (evicted >= 0) {
        swif->counters.rtee_evictions++;
        retire(swif, rtee);
        if (MUTANT(STUB_FORGOTTEN)) {
            swif->stubs[evicted].receive_next[class] = 0;
        }
    }
    memset(rtee, 0, sizeof *rtee);
    rtee->timer.at_ns = SWIF_NEVER;
    rtee->timer.owner = SWIF_RTEE;
    rtee->name = (struct swif_context_name){peer, class};
    rtee->held_first = SWIF_NO_BUFFER;
    rtee->epoch = swif->epoch - 1;
    rtee->ack_at_ns = rtee->retry_at_ns = SWIF_NEVER;
    return rtee;
}

void swif_receiver_forget(struct swif *swif, uint16_t peer)
{
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_rtee *rtee = swif_rtee_peek(swif, peer, class);
        if (rtee) {
            retire(swif, rtee);
            swif_cache_free(&swif->rtee_cache[class], (uint32_t)(rtee - swif->rtees[class]));
        }
    }
}

/* When we give up the sender if nothing more comes. It has left a gap: we cannot keep what stands
 * behind the gap for ever, nor forget it while that life may go on. The sender itself would have
 * given up long before. */
static uint64_t give_up_at_ns(const struct swif *swif, const struct swif_rtee *rtee)
{
    if (rtee->ahead == 0) {
        return SWIF_NEVER;
    }
    return swif_most(rtee->heard_ns, swif->grace_ns) +
           SWIF_GAP_PATIENCE * swif->config.peer_timeout_ns + swif->config.verdict_ns;
}

static void schedule(struct swif *swif, struct swif_rtee *rtee)
{
    uint64_t at_ns = swif_least(rtee->ack_at_ns, rtee->retry_at_ns);
    swif_timer_set(&swif->timers, &rtee->timer, swif_least(at_ns, give_up_at_ns(swif, rtee)));
}

/* ---- Acknowledging --------------------------------------------------------------- */

static void count_active(struct swif *swif, uint64_t now_ns, struct swif_rtee *rtee)
{
    if (now_ns - swif->epoch_at_ns >= EPOCH_NS) {
        swif->active_before = now_ns - swif->epoch_at_ns < 2 * EPOCH_NS ? swif->active_now : 0;
        swif->active_now = 0;
        swif->epoch_at_ns = now_ns;
        swif->epoch++;
    }
    if (rtee->epoch != swif->epoch) {
        rtee->epoch = swif->epoch;
        swif->active_now++;
    }
}

/* Each sender's share of what we are ready to receive. A single sender gets everything: its delay
 * tells it when to stop. */
static uint16_t grant(const struct swif *swif)
{
    uint32_t active = swif->active_now > swif->active_before ? swif->active_now
                                                             : swif->active_before;
    uint32_t share = active <= 1 ? swif->config.window_max : swif->config.receive_budget / active;
    share = share < swif->config.window_max ? share : swif->config.window_max;
    return (uint16_t)(share ? share : 1);
}

static void describe_ahead(const struct swif_rtee *rtee, uint32_t next, struct wire_ack *ack)
{
    uint32_t bits = (uint32_t)swif_distance(next, rtee->highest);
    ack->bitmap_words = (uint8_t)((bits + 31) / 32);
    for (uint32_t i = 0; i < bits; i++) {
        uint32_t sequence = next + 1 + i;
        uint32_t here = swif_bit(&rtee->done, sequence) || swif_bit(&rtee->held, sequence);
        ack->bitmap[i / 32] |= here << i % 32;
    }
}

static void describe(const struct swif *swif, uint64_t now_ns, const struct swif_rtee *rtee,
                     struct wire_ack *ack)
{
    uint32_t next = swif->stubs[rtee->name.peer].receive_next[rtee->name.class];
    uint64_t delay_ns = now_ns - rtee->arrival_ns;
    *ack = (struct wire_ack){
        .class = rtee->name.class,
        .stage = swif->config.stage_max,
        .gap = rtee->gap,
        .refused = rtee->refused,
        .window = grant(swif),
        .next = next,
        .echo = rtee->echo,
        .delay_ns = delay_ns < UINT32_MAX ? (uint32_t)delay_ns : UINT32_MAX,
    };
    if (rtee->ahead) {
        describe_ahead(rtee, next, ack);
    }
    if (MUTANT(ACK_HELD)) {
        ack->next = rtee->ahead ? rtee->highest + 1 : next;
        ack->bitmap_words = 0;
    }
}

static void acknowledged(struct swif *swif, struct swif_rtee *rtee)
{
    rtee->unacknowledged = 0;
    rtee->gap = false;
    rtee->refused = false;
    swif_list_remove(&rtee->ack_due);
    rtee->ack_at_ns = SWIF_NEVER;
    schedule(swif, rtee);
}

uint32_t swif_receiver_acks(struct swif *swif, uint64_t now_ns, uint16_t peer, unsigned char *to,
                            uint32_t room)
{
    uint32_t bytes = 0;
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_rtee *rtee = swif_rtee_peek(swif, peer, class);
        struct wire_ack ack;
        if (!rtee || (rtee->unacknowledged == 0 && !swif_is_listed(&rtee->ack_due))) {
            continue;
        }
        describe(swif, now_ns, rtee, &ack);
        if (WIRE_ACK_BYTES + 4u * ack.bitmap_words <= room - bytes) {
            bytes += wire_ack_encode(&ack, to + bytes);
            acknowledged(swif, rtee);
        }
    }
    return bytes;
}

uint32_t swif_receiver_note_ack(struct swif *swif, uint64_t now_ns, const struct swif_note *note,
                                unsigned char *to)
{
    uint64_t delay_ns = now_ns - note->arrival_ns;
    struct wire_ack ack = {
        .class = note->class,
        .stage = WIRE_STOP_AND_WAIT,
        .gap = note->gap,
        .refused = note->refused,
        .window = 1,
        .next = swif->stubs[note->peer].receive_next[note->class],
        .echo = note->echo,
        .delay_ns = delay_ns < UINT32_MAX ? (uint32_t)delay_ns : UINT32_MAX,
    };
    return wire_ack_encode(&ack, to);
}

/* ---- Carrying out ---------------------------------------------------------------- */

/* A packet as it came, or from the reorder buffers. */
struct arrival {
    struct swif_delivery packet; /* for the client */
    uint32_t sequence;
    uint8_t flags;
    uint8_t after;
};

static bool deliver(struct swif *swif, uint64_t now_ns, const struct arrival *arrival)
{
    bool taken = swif->client->deliver(swif->client->context, now_ns, &arrival->packet);
    if (arrival->packet.class == WIRE_REPLY) {
        taken = true;
    }
    if (taken) {
        swif->counters.bodies_delivered++;
    } else {
        swif->counters.refused_by_client++;
    }
    return taken;
}

/* Whether what the packet comes after has been carried out. */
static bool may_take_effect(const struct swif_rtee *rtee, uint32_t next,
                            const struct arrival *arrival)
{
    if (arrival->after == 0 || MUTANT(ORDER_IGNORED)) {
        return true;
    }
    uint32_t before = arrival->sequence - arrival->after;
    if (swif_distance(before, next) > 0) {
        return true;
    }
    return !(arrival->flags & WIRE_FLAG_AFTER_ALL) && swif_bit(&rtee->done, before);
}

static void note_ahead(struct swif_rtee *rtee, uint32_t sequence)
{
    if (rtee->ahead == 0 || swif_distance(rtee->highest, sequence) > 0) {
        rtee->highest = sequence;
    }
    rtee->ahead++;
}

static void advance(struct swif_rtee *rtee, uint32_t *next)
{
    while (swif_bit(&rtee->done, *next)) {
        swif_bit_clear(&rtee->done, *next);
        rtee->ahead--;
        (*next)++;
    }
}

/* Carries out the held packets that may take effect now. A packet for which the client has no
 * room stays, and the timer tries it again. */
static void release_held(struct swif *swif, uint64_t now_ns, struct swif_rtee *rtee)
{
    uint32_t *next = &swif->stubs[rtee->name.peer].receive_next[rtee->name.class];
    uint32_t *link = &rtee->held_first;
    rtee->retry_at_ns = SWIF_NEVER;
    while (*link != SWIF_NO_BUFFER) {
        uint32_t index = *link;
        struct swif_buffer *buffer = swif_buffer(&swif->reorder, index);
        const struct arrival arrival = {
            .packet = {.kind = WIRE_CD,
                       .class = rtee->name.class,
                       .channel = buffer->channel,
                       .source = rtee->name.peer,
                       .source_incarnation = buffer->source_incarnation,
                       .body = buffer->body,
                       .bytes = buffer->body_bytes},
            .sequence = buffer->sequence,
            .flags = buffer->flags,
            .after = buffer->after,
        };
        if (!may_take_effect(rtee, *next, &arrival)) {
            link = &buffer->next;
            continue;
        }
        if (!deliver(swif, now_ns, &arrival)) {
            rtee->retry_at_ns = now_ns + swif->config.rto_min_ns;
            return; /* nor will there be for the others */
        }
        *link = buffer->next;
        swif_bit_clear(&rtee->held, arrival.sequence);
        swif_bit_set(&rtee->done, arrival.sequence);
        base_pool_give(&swif->reorder, index);
        advance(rtee, next);
        link = &rtee->held_first; /* others may have waited for it */
    }
}

static bool hold(struct swif *swif, struct swif_rtee *rtee, const struct arrival *arrival)
{
    uint32_t index = base_pool_take(&swif->reorder);
    if (index == SWIF_NO_BUFFER) {
        return false;
    }
    struct swif_buffer *buffer = swif_buffer(&swif->reorder, index);
    buffer->sequence = arrival->sequence;
    buffer->source_incarnation = arrival->packet.source_incarnation;
    buffer->flags = arrival->flags;
    buffer->after = arrival->after;
    buffer->channel = arrival->packet.channel;
    buffer->body_bytes = (uint16_t)arrival->packet.bytes;
    memcpy(buffer->body, arrival->packet.body, arrival->packet.bytes);
    uint32_t *link = &rtee->held_first;
    while (*link != SWIF_NO_BUFFER &&
           swif_distance(swif_buffer(&swif->reorder, *link)->sequence, arrival->sequence) > 0) {
        link = &swif_buffer(&swif->reorder, *link)->next;
    }
    buffer->next = *link;
    *link = index;
    swif_bit_set(&rtee->held, arrival->sequence);
    note_ahead(rtee, arrival->sequence);
    return true;
}

/* What became of a packet; decides what its acknowledgement says. */
enum fate { TAKEN, DUPLICATE, DROPPED, REFUSED }; /* REFUSED: the next one was */

static enum fate take_selectively(struct swif *swif, uint64_t now_ns, struct swif_rtee *rtee,
                                  const struct arrival *arrival)
{
    uint32_t *next = &swif->stubs[arrival->packet.source].receive_next[arrival->packet.class];
    if (swif_bit(&rtee->done, arrival->sequence) || swif_bit(&rtee->held, arrival->sequence)) {
        return DUPLICATE;
    }
    if (!may_take_effect(rtee, *next, arrival)) {
        swif->counters.out_of_order++;
        return hold(swif, rtee, arrival) ? TAKEN : DROPPED;
    }
    if (!deliver(swif, now_ns, arrival)) {
        return arrival->sequence == *next ? REFUSED : DROPPED;
    }
    swif_bit_set(&rtee->done, arrival->sequence);
    note_ahead(rtee, arrival->sequence);
    advance(rtee, next);
    release_held(swif, now_ns, rtee);
    return TAKEN;
}

/* Only what is next; all that needs no more than the stub. */
static enum fate take_in_turn(struct swif *swif, uint64_t now_ns, const struct arrival *arrival,
                              int32_t ahead)
{
    if (ahead != 0 && (!MUTANT(TAKE_OUT_OF_TURN) || !arrival->packet.body)) {
        swif->counters.out_of_order++;
        return DROPPED;
    }
    if (!deliver(swif, now_ns, arrival)) {
        return REFUSED;
    }
    swif->stubs[arrival->packet.source].receive_next[arrival->packet.class] = arrival->sequence + 1;
    return TAKEN;
}

static enum fate take(struct swif *swif, uint64_t now_ns, struct swif_rtee *rtee,
                      const struct arrival *arrival)
{
    uint32_t next = swif->stubs[arrival->packet.source].receive_next[arrival->packet.class];
    int32_t ahead = swif_distance(next, arrival->sequence);
    if (ahead < 0) {
        if (MUTANT(REPLAY) && arrival->packet.body) {
            (void)deliver(swif, now_ns, arrival);
        }
        return DUPLICATE;
    }
    if (ahead >= SWIF_WINDOW_MAX) {
        return DROPPED;
    }
    return rtee && swif->config.stage_max == WIRE_SELECTIVE_REPEAT
               ? take_selectively(swif, now_ns, rtee, arrival)
               : take_in_turn(swif, now_ns, arrival, ahead);
}

void swif_receiver_data(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                        const unsigned char *body)
{
    const struct arrival arrival = {
        .packet = {.kind = WIRE_CD,
                   .class = header->flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST,
                   .channel = header->channel,
                   .source = header->source,
                   .source_incarnation = header->source_incarnation,
                   .body = body,
                   .bytes = header->body_bytes},
        .sequence = header->sequence,
        .flags = header->flags,
        .after = header->after,
    };
    struct swif_rtee *rtee = make(swif, header->source, arrival.packet.class);
    enum fate fate = take(swif, now_ns, rtee, &arrival);
    swif->counters.duplicates += fate == DUPLICATE;
    if (!rtee) {
        struct swif_note note = {.kind = SWIF_NOTE_ACK,
                                 .peer = header->source,
                                 .class = arrival.packet.class,
                                 .gap = fate == DROPPED,
                                 .refused = fate == REFUSED,
                                 .echo = (uint32_t)header->counter,
                                 .arrival_ns = now_ns};
        swif_note_add(swif, &note);
        return;
    }
    count_active(swif, now_ns, rtee);
    rtee->heard_ns = now_ns;
    if (header->counter > rtee->echo_counter) {
        rtee->echo_counter = header->counter;
        rtee->echo = (uint32_t)header->counter;
        rtee->arrival_ns = now_ns;
    }
    rtee->gap = rtee->gap || (fate == DROPPED && swif->config.stage_max != WIRE_SELECTIVE_REPEAT);
    rtee->refused = rtee->refused || fate == REFUSED;
    rtee->unacknowledged++;
    if (fate != TAKEN || rtee->ahead || (header->flags & WIRE_FLAG_ANSWER) ||
        rtee->unacknowledged >= ACK_EVERY) {
        swif_list_add(&swif->ack_due, &rtee->ack_due);
    } else if (rtee->ack_at_ns == SWIF_NEVER) {
        rtee->ack_at_ns = now_ns + swif->config.ack_delay_ns;
    }
    schedule(swif, rtee);
}

void swif_receiver_timer(struct swif *swif, uint64_t now_ns, struct swif_rtee *rtee)
{
    if (give_up_at_ns(swif, rtee) <= now_ns) {
        swif_peer_give_up(swif, now_ns, rtee->name.peer);
        return; /* the context is gone */
    }
    if (rtee->ack_at_ns <= now_ns) {
        rtee->ack_at_ns = SWIF_NEVER;
        swif_list_add(&swif->ack_due, &rtee->ack_due);
    }
    if (rtee->retry_at_ns <= now_ns) {
        uint32_t before = swif->stubs[rtee->name.peer].receive_next[rtee->name.class];
        release_held(swif, now_ns, rtee);
        if (swif->stubs[rtee->name.peer].receive_next[rtee->name.class] != before) {
            swif_list_add(&swif->ack_due, &rtee->ack_due);
        }
    }
    schedule(swif, rtee);
}
