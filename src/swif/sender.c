/* LTEEs: what is queued and under way to one peer in one class, until it is acknowledged. */
#include "swif/state.h"

#include <string.h>

enum { REFUSALS_MAX = 10 }; /* doublings of the pause after a refusal */

/* ---- Contexts -------------------------------------------------------------------- */

static uint32_t send_next(const struct swif *swif, const struct swif_ltee *ltee)
{
    return swif_stub_of(swif, ltee)->send_next[ltee->name.class];
}

static bool is_empty(const struct swif *swif, const struct swif_ltee *ltee)
{
    return ltee->oldest == send_next(swif, ltee);
}

struct swif_ltee *swif_ltee_find(struct swif *swif, uint16_t peer, enum wire_class class)
{
    uint32_t index = swif_cache_find(&swif->ltee_cache[class], peer);
    return index == SWIF_NO_CONTEXT ? NULL : &swif->ltees[class][index];
}

static bool may_evict(void *owner, uint32_t index)
{
    struct swif_eviction *eviction = owner;
    struct swif_ltee *ltee = &eviction->swif->ltees[eviction->class][index];
    return MUTANT(EVICT_IN_FLIGHT) || is_empty(eviction->swif, ltee);
}

/* Takes a request out of the list by age. */
static void unmark(struct swif *swif, const struct swif_buffer *buffer)
{
    struct base_pool *pool = &swif->pools[WIRE_REQUEST];
    if (buffer->older == SWIF_NO_BUFFER) {
        swif->oldest_request = buffer->newer;
    } else {
        swif_buffer(pool, buffer->older)->newer = buffer->newer;
    }
    if (buffer->newer == SWIF_NO_BUFFER) {
        swif->newest_request = buffer->older;
    } else {
        swif_buffer(pool, buffer->newer)->older = buffer->older;
    }
}

static void release(struct swif *swif, struct swif_ltee *ltee, uint32_t sequence)
{
    uint32_t index = ltee->slots[sequence % SWIF_RING];
    if (ltee->name.class == WIRE_REQUEST) {
        unmark(swif, swif_buffer(&swif->pools[WIRE_REQUEST], index));
    }
    base_pool_give(&swif->pools[ltee->name.class], index);
}

/* Ends a context's life in the cache. */
static void retire(struct swif *swif, struct swif_ltee *ltee)
{
    uint32_t next = send_next(swif, ltee);
    for (uint32_t sequence = ltee->oldest; sequence != next; sequence++) {
        release(swif, ltee, sequence);
    }
    swif_timer_set(&swif->timers, &ltee->timer, SWIF_NEVER);
    swif_list_remove(&ltee->ready);
    swif_list_remove(&ltee->trying);
}

/* The peer took something: our patience with it begins anew. */
static void note_progress(const struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    ltee->progress_ns = now_ns;
    ltee->slept_before_ns = swif->slept_ns;
}

static struct swif_ltee *make(struct swif *swif, uint64_t now_ns, uint16_t peer,
                              enum wire_class class)
{
    struct swif_ltee *ltee = swif_ltee_find(swif, peer, class);
    if (ltee) {
        swif->counters.ltee_hits++;
        return ltee;
    }
    struct swif_eviction eviction = {swif, class};
    int32_t evicted;
    uint32_t index = swif_cache_take(&swif->ltee_cache[class], peer, may_evict, &eviction,
                                     &evicted);
    if (index == SWIF_NO_CONTEXT) {
        swif->counters.ltee_none++;
        return NULL;
    }
    swif->counters.ltee_misses++;
    ltee = &swif->ltees[class][index];
    if (evicted >= 0) {
        swif->counters.ltee_evictions++;
        retire(swif, ltee);
    }
    memset(ltee, 0, sizeof *ltee);
    ltee->timer.at_ns = SWIF_NEVER;
    ltee->name = (struct swif_context_name){peer, class};
    ltee->stage = WIRE_STOP_AND_WAIT;
    ltee->granted = 1;
    ltee->oldest = ltee->unsent = send_next(swif, ltee);
    /* What answers our packets is sent after all that has come so far. */
    ltee->ack_counter = swif_stub_of(swif, ltee)->newest_counter;
    ltee->resend_at_ns = ltee->reorder_at_ns = SWIF_NEVER;
    ltee->waiting_since_ns = ltee->heard_ns = now_ns;
    ltee->search.at_ns = now_ns; /* contexts of many peers do not live until a later time */
    note_progress(swif, now_ns, ltee);
    swif_congestion_init(&ltee->congestion, now_ns);
    return ltee;
}

void swif_sender_forget(struct swif *swif, uint16_t peer)
{
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_ltee *ltee = swif_ltee_peek(swif, peer, class);
        if (ltee) {
            retire(swif, ltee);
            swif_cache_free(&swif->ltee_cache[class], (uint32_t)(ltee - swif->ltees[class]));
        }
    }
}

/* ---- Time ------------------------------------------------------------------------ */

uint64_t swif_time_out_ns(const struct swif *swif, const struct swif_ltee *ltee)
{
    const struct swif_config *config = &swif->config;
    const struct swif_congestion *congestion = &ltee->congestion;
    uint64_t rto_ns = config->rto_first_ns;
    if (congestion->srtt_ns) {
        rto_ns = congestion->srtt_ns + 4 * congestion->rttvar_ns + config->ack_delay_ns;
    }
    rto_ns = swif_most(rto_ns, config->rto_min_ns);
    uint32_t doublings = ltee->silences < 16 ? ltee->silences : 16;
    return swif_most(rto_ns, swif_least(rto_ns << doublings, config->rto_max_ns));
}

/* When the peer is suspected if it stays silent. */
static uint64_t doubt_at_ns(const struct swif *swif, const struct swif_ltee *ltee)
{
    if (is_empty(swif, ltee)) {
        return SWIF_NEVER;
    }
    uint64_t since_ns = swif_most(swif_most(ltee->heard_ns, ltee->waiting_since_ns),
                                  swif->grace_ns);
    /* We give up a peer that speaks but takes nothing, too. The time that we slept does not
     * count. But the patience does not begin anew after a sleep: a node that sleeps now and then
     * would have patience for ever. */
    uint64_t timeout_ns = swif->config.peer_timeout_ns;
    uint64_t slept_ns = swif->slept_ns - ltee->slept_before_ns;
    return swif_least(since_ns + timeout_ns,
                      ltee->progress_ns + slept_ns + SWIF_PATIENCE * timeout_ns);
}

static bool has_work(const struct swif *swif, const struct swif_ltee *ltee)
{
    return !ltee->greeting && (ltee->lost_count || ltee->unsent != send_next(swif, ltee));
}

static uint32_t window_of(const struct swif *swif, const struct swif_ltee *ltee)
{
    if (ltee->stage == WIRE_STOP_AND_WAIT || ltee->silences || ltee->refusals) {
        return 1;
    }
    uint32_t window = ltee->granted;
    if (swif->config.congestion_control) {
        uint32_t congestion = swif_congestion_window(&ltee->congestion);
        window = congestion < window ? congestion : window;
    }
    return window;
}

/* Whether the window has room for what is to go next. */
static bool has_window(const struct swif *swif, const struct swif_ltee *ltee)
{
    if (ltee->under_way >= window_of(swif, ltee)) {
        return false;
    }
    return ltee->lost_count || swif_distance(ltee->oldest, ltee->unsent) < (int32_t)ltee->granted;
}

/* Sets the timer for whatever comes first, and enters the ready list if there is something
 * to send at once. */
static void schedule(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    uint64_t doubt_ns = swif_peer_doubt_at_ns(swif, now_ns, doubt_at_ns(swif, ltee));
    uint64_t at_ns = swif_least(doubt_ns, ltee->resend_at_ns);
    at_ns = swif_least(at_ns, ltee->reorder_at_ns);
    if (UNLIKELY(swif_is_in_pieces(ltee))) {
        swif_list_add(&swif->ready, &ltee->ready);
    } else if (has_work(swif, ltee) && has_window(swif, ltee)) {
        if (ltee->congestion.pace_ns <= now_ns) {
            swif_list_add(&swif->ready, &ltee->ready);
        } else {
            at_ns = swif_least(at_ns, ltee->congestion.pace_ns);
        }
    }
    swif_timer_set(&swif->timers, &ltee->timer, at_ns);
}

void swif_sender_heard(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_ltee *ltee = swif_ltee_peek(swif, peer, class);
        if (ltee) {
            /* The timer may now be early; it looks again when it fires. */
            ltee->heard_ns = now_ns;
        }
    }
}

void swif_sender_vouched(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_ltee *ltee = swif_ltee_peek(swif, peer, class);
        if (ltee) {
            ltee->heard_ns = now_ns;
            note_progress(swif, now_ns, ltee);
        }
    }
}

bool swif_peer_is_idle(const struct swif *swif, uint16_t peer)
{
    const struct swif_ltee *ltee = swif_ltee_peek(swif, peer, WIRE_REQUEST);
    return !ltee || is_empty(swif, ltee);
}

static void greet(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    ltee->greeting = true;
    swif_note_control(swif, ltee->name.peer, WIRE_HELLO, 0);
    ltee->resend_at_ns = now_ns + swif_time_out_ns(swif, ltee);
}

void swif_sender_greeted(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_ltee *ltee = swif_ltee_find(swif, peer, class);
        if (ltee && ltee->greeting) {
            ltee->greeting = false;
            ltee->silences = 0;
            ltee->resend_at_ns = SWIF_NEVER;
            schedule(swif, now_ns, ltee);
        }
    }
}

/* ---- Appending ------------------------------------------------------------------- */

/* Writes into the packet what it has to wait for. An ordered packet waits for the ordered one
 * before it on its channel, which in turn waits for the fence before that. */
static void depend(struct swif_ltee *ltee, struct swif_buffer *buffer)
{
    uint32_t channel = buffer->channel;
    int32_t reach = swif_distance(ltee->oldest, buffer->sequence);
    int32_t fence = swif_distance(ltee->oldest, ltee->fence_last[channel]);
    int32_t before = swif_distance(ltee->oldest, ltee->ordered_last[channel]);
    bool has_fence = (ltee->has_fence >> channel & 1) && fence >= 0 && fence < reach;
    bool has_before = (ltee->has_ordered >> channel & 1) && before >= 0 && before < reach;
    buffer->after = 0;
    buffer->flags = 0;
    if (buffer->ordered && has_before && (!has_fence || before > fence)) {
        buffer->after = (uint8_t)(reach - before);
    } else if (has_fence) {
        buffer->after = (uint8_t)(reach - fence);
        buffer->flags = WIRE_FLAG_AFTER_ALL;
    }
}

static void order(struct swif_ltee *ltee, struct swif_buffer *buffer)
{
    buffer->ordered = true;
    depend(ltee, buffer);
    ltee->ordered_last[buffer->channel] = buffer->sequence;
    ltee->has_ordered |= (uint16_t)(1u << buffer->channel);
}

/* The packet that waits at the end, if this may be joined to it. */
static struct swif_buffer *joinable(const struct swif *swif, const struct swif_ltee *ltee,
                                    const struct wire_route *route, uint32_t bytes,
                                    uint32_t packet_bytes)
{
    uint32_t next = send_next(swif, ltee);
    if (ltee->unsent == next) {
        return NULL;
    }
    struct swif_buffer *buffer = swif_buffer_at(swif, ltee, next - 1);
    uint32_t most = swif_body_bytes_in(packet_bytes);
    bool fits = buffer->body_bytes + bytes <= most &&
                buffer->reply_bytes + route->reply_bytes <= most;
    return fits && !buffer->closed && !route->alone && buffer->channel == route->channel &&
                   buffer->cookie == route->cookie
               ? buffer
               : NULL;
}

static void mark(struct swif *swif, uint32_t index)
{
    struct base_pool *pool = &swif->pools[WIRE_REQUEST];
    struct swif_buffer *buffer = swif_buffer(pool, index);
    buffer->ordinal = swif->ordinal_next++;
    buffer->older = swif->newest_request;
    buffer->newer = SWIF_NO_BUFFER;
    if (swif->newest_request == SWIF_NO_BUFFER) {
        swif->oldest_request = index;
    } else {
        swif_buffer(pool, swif->newest_request)->newer = index;
    }
    swif->newest_request = index;
}

static struct swif_buffer *new_packet(struct swif *swif, struct swif_ltee *ltee,
                                      const struct wire_route *route)
{
    uint32_t sequence = send_next(swif, ltee);
    if (swif_distance(ltee->oldest, sequence) >= (int32_t)swif->config.queue_max) {
        return NULL;
    }
    uint32_t index = base_pool_take(&swif->pools[route->class]);
    if (index == SWIF_NO_BUFFER) {
        return NULL;
    }
    struct swif_buffer *buffer = swif_buffer(&swif->pools[route->class], index);
    *buffer = (struct swif_buffer){.sequence = sequence,
                                   .cookie = route->cookie,
                                   .channel = route->channel,
                                   .closed = route->alone};
    ltee->slots[sequence % SWIF_RING] = index;
    depend(ltee, buffer);
    swif_stub_of(swif, ltee)->send_next[route->class]++;
    if (route->class == WIRE_REQUEST) {
        mark(swif, index);
    }
    return buffer;
}

int swif_append(struct swif *swif, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                unsigned char **room)
{
    INVARIANT(route->target < swif->config.node_count && route->channel < WIRE_CHANNELS);
    INVARIANT(bytes != 0 && bytes % 8 == 0 && bytes <= swif->body_bytes_max &&
              route->reply_bytes <= swif->body_bytes_max);
    if (swif->stubs[route->target].dead) {
        return DN_EPEER;
    }
    struct swif_ltee *ltee = make(swif, now_ns, route->target, route->class);
    if (!ltee) {
        return DN_EFULL;
    }
    bool was_empty = is_empty(swif, ltee);
    struct swif_buffer *buffer = joinable(swif, ltee, route, bytes,
                                          swif_path_bytes(swif, route->target));
    if (!buffer) {
        buffer = new_packet(swif, ltee, route);
    }
    if (!buffer && route->class == WIRE_REPLY) {
        /* The replies to one packet have room in one packet, however narrow the path is. */
        buffer = joinable(swif, ltee, route, bytes, swif->config.packet_bytes_max);
    }
    if (!buffer) {
        return DN_EFULL;
    }
    if (route->ordered && !buffer->ordered) {
        order(ltee, buffer);
    }
    *room = buffer->body + buffer->body_bytes;
    buffer->body_bytes = (uint16_t)(buffer->body_bytes + bytes);
    buffer->reply_bytes = (uint16_t)(buffer->reply_bytes + route->reply_bytes);
    if (was_empty) {
        ltee->waiting_since_ns = now_ns;
        note_progress(swif, now_ns, ltee);
        if (swif_stub_of(swif, ltee)->incarnation == 0) {
            greet(swif, now_ns, ltee);
        }
    }
    schedule(swif, now_ns, ltee);
    return 0;
}

bool swif_has_reply_room(struct swif *swif, uint64_t now_ns, uint16_t peer)
{
    struct swif_ltee *ltee = make(swif, now_ns, peer, WIRE_REPLY);
    if (!ltee || swif->stubs[peer].dead) {
        return false;
    }
    uint32_t held = (uint32_t)swif_distance(ltee->oldest, send_next(swif, ltee));
    /* A peer that does not acknowledge its replies gets half of the buffers at most. */
    return held < swif->config.queue_max && held < base_pool_left(&swif->pools[WIRE_REPLY]);
}

void swif_fence(struct swif *swif, uint16_t target, uint8_t channel)
{
    struct swif_ltee *ltee = swif_ltee_find(swif, target, WIRE_REQUEST);
    if (!ltee || is_empty(swif, ltee)) {
        return; /* all before has been carried out */
    }
    uint32_t last = send_next(swif, ltee) - 1;
    if (ltee->unsent != last + 1) {
        swif_buffer_at(swif, ltee, last)->closed = true;
    }
    ltee->fence_last[channel] = last;
    ltee->has_fence |= (uint16_t)(1u << channel);
}

/* ---- Losses ---------------------------------------------------------------------- */

/* Selective repeat: a packet counts as lost when one that was sent later has arrived, and another
 * quarter of a round trip has passed without it. */
static void find_losses(const struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    ltee->reorder_at_ns = SWIF_NEVER;
    if (ltee->stage != WIRE_SELECTIVE_REPEAT) {
        return;
    }
    uint64_t allowed_ns = ltee->newest_rtt_ns + ltee->congestion.srtt_ns / 4;
    for (uint32_t sequence = ltee->oldest; sequence != ltee->unsent; sequence++) {
        struct swif_buffer *buffer = swif_buffer_at(swif, ltee, sequence);
        if (swif_bit(&ltee->here, sequence) || swif_bit(&ltee->lost, sequence)) {
            continue;
        }
        if (buffer->counter >= ltee->newest_arrived) {
            if (buffer->transmissions == 1) {
                break; /* and so are those behind it */
            }
            continue;
        }
        uint64_t lost_at_ns = buffer->sent.at_ns + allowed_ns;
        if (lost_at_ns <= now_ns) {
            swif_hold_for_lost(ltee, sequence);
            swif_count_overtaken(buffer);
        } else {
            ltee->reorder_at_ns = swif_least(ltee->reorder_at_ns, lost_at_ns);
        }
    }
}

/* ---- Acknowledgements ------------------------------------------------------------ */

static void arrived(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee, uint32_t sequence,
                    struct swif_reading *reading)
{
    if (swif_bit(&ltee->here, sequence)) {
        return;
    }
    const struct swif_buffer *buffer = swif_buffer_at(swif, ltee, sequence);
    if (swif_bit(&ltee->lost, sequence)) {
        swif_bit_clear(&ltee->lost, sequence);
        ltee->lost_count--;
    } else {
        ltee->under_way--;
    }
    swif_bit_set(&ltee->here, sequence);
    reading->anything = true;
    reading->feedback.bytes += buffer->body_bytes;
    if ((uint32_t)buffer->counter == reading->ack->echo) {
        swif_measure(now_ns, ltee, &buffer->sent, reading);
    }
}

/* All before `next` have been carried out. */
static void finish(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee, uint32_t next,
                   struct swif_reading *reading)
{
    while (ltee->oldest != next) {
        uint32_t sequence = ltee->oldest;
        uint64_t cookie = swif_buffer_at(swif, ltee, sequence)->cookie;
        arrived(swif, now_ns, ltee, sequence, reading);
        swif_bit_clear(&ltee->here, sequence);
        release(swif, ltee, sequence);
        ltee->oldest++;
        if (cookie) {
            swif->client->acknowledged(swif->client->context, now_ns, ltee->name.peer, cookie);
        }
    }
}

static void read_stage(struct swif *swif, struct swif_ltee *ltee, const struct wire_ack *ack)
{
    enum wire_stage stage = ack->stage < swif->config.stage_max ? ack->stage
                                                                : swif->config.stage_max;
    swif->counters.climbs += stage > ltee->stage;
    swif->counters.drops += stage < ltee->stage;
    ltee->stage = stage;
    uint32_t granted = ack->window < swif->config.window_max ? ack->window
                                                             : swif->config.window_max;
    ltee->granted = stage == WIRE_STOP_AND_WAIT || granted == 0 ? 1 : granted;
}

/* What the receiver says it had to drop. */
static void read_complaints(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                            const struct wire_ack *ack)
{
    if (ltee->oldest == ltee->unsent) {
        return; /* what it says was dropped has come meanwhile */
    }
    if (ack->gap && ltee->newest_arrived >= ltee->go_back_counter) {
        /* Only once, until a packet that was sent later has arrived. */
        ltee->go_back_counter = swif->counter + 1;
        swif_count_overtaken(swif_buffer_at(swif, ltee, ltee->oldest));
        swif_hold_all_for_lost(ltee);
    }
    if (ack->refused && ack->next == ltee->oldest) {
        /* There was no room to carry it out. That is no sign of congestion; try again in
         * a while. */
        swif_hold_for_lost(ltee, ltee->oldest);
        uint64_t pause_ns = swif_most(ltee->congestion.srtt_ns / 2, swif->config.rto_min_ns / 4);
        pause_ns = swif_least(pause_ns << ltee->refusals, swif->config.rto_max_ns);
        ltee->refusals += ltee->refusals < REFUSALS_MAX;
        ltee->congestion.pace_ns = now_ns + pause_ns;
    }
}

void swif_sender_ack(struct swif *swif, uint64_t now_ns, uint16_t peer, const struct wire_ack *ack,
                     uint64_t counter)
{
    struct swif_ltee *ltee = swif_ltee_find(swif, peer, ack->class);
    if (!ltee) {
        return;
    }
    int32_t ahead = swif_distance(ltee->oldest, ack->next);
    if (ahead < 0 || ahead > swif_distance(ltee->oldest, ltee->unsent)) {
        if (!MUTANT(ACK_UNCHECKED)) {
            return; /* old, or of packets that were never sent */
        }
    }
    /* What has arrived stays so. What the receiver has room for or had to drop was true when it was
     * said, and does not count once a newer packet has come. */
    bool is_newest = counter > ltee->ack_counter || MUTANT(ACK_REPLAYED);
    ltee->ack_counter = swif_most(ltee->ack_counter, counter);
    if (ltee->oldest == ltee->unsent) {
        return;
    }
    struct swif_reading reading = {.ack = ack};
    uint32_t next = MUTANT(ACK_UNCHECKED) ? ltee->unsent : ack->next;
    finish(swif, now_ns, ltee, next, &reading);
    for (uint32_t i = 0; i < ack->bitmap_words * 32u; i++) {
        uint32_t sequence = ack->next + 1 + i;
        if ((ack->bitmap[i / 32] >> i % 32 & 1) && swif_distance(sequence, ltee->unsent) > 0 &&
            swif_distance(ltee->oldest, sequence) >= 0) {
            arrived(swif, now_ns, ltee, sequence, &reading);
        }
    }
    uint64_t age = (uint32_t)((uint32_t)swif->counter - ack->echo);
    if (age < SWIF_COUNTER_HORIZON && age <= swif->counter) {
        ltee->newest_arrived = swif_most(ltee->newest_arrived, swif->counter - age);
    }
    if (reading.anything) {
        if (UNLIKELY(ltee->silences != 0)) {
            swif_silence_is_over(swif, now_ns, ltee, &reading);
        }
        reading.feedback.window_max = swif->config.window_max;
        reading.feedback.queue_ns = swif->config.queue_ns;
        reading.feedback.rtt_usual_ns = swif->config.rto_max_ns;
        reading.feedback.limited = ltee->limited;
        ltee->limited = false;
        swif_congestion_acked(&ltee->congestion, now_ns, &reading.feedback);
        ltee->silences = 0;
        ltee->refusals = 0;
        note_progress(swif, now_ns, ltee);
    }
    if (is_newest) {
        read_stage(swif, ltee, ack);
        read_complaints(swif, now_ns, ltee, ack);
    }
    find_losses(swif, now_ns, ltee);
    if (is_empty(swif, ltee)) {
        ltee->has_fence = ltee->has_ordered = 0;
    }
    if (ltee->oldest == ltee->unsent) {
        ltee->resend_at_ns = SWIF_NEVER;
    } else if (reading.anything) {
        ltee->resend_at_ns = now_ns + swif_time_out_ns(swif, ltee);
    }
    schedule(swif, now_ns, ltee);
}

/* ---- The timer ------------------------------------------------------------------- */

void swif_sender_timer(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee)
{
    uint64_t due_ns = doubt_at_ns(swif, ltee);
    if (due_ns <= now_ns && swif_peer_doubt(swif, now_ns, ltee->name.peer, due_ns)) {
        return; /* the context is gone */
    }
    if (ltee->resend_at_ns <= now_ns) {
        swif->counters.timeouts++;
        ltee->silences++;
        if (ltee->greeting) {
            greet(swif, now_ns, ltee);
        } else {
            swif_silence(swif, now_ns, ltee);
            ltee->resend_at_ns = now_ns + swif_time_out_ns(swif, ltee);
        }
    }
    if (ltee->reorder_at_ns <= now_ns) {
        find_losses(swif, now_ns, ltee);
    }
    schedule(swif, now_ns, ltee);
}

/* ---- Sending --------------------------------------------------------------------- */

/* `more`: something follows soon. */
static struct wire_header header_of(const struct swif *swif, const struct swif_ltee *ltee,
                                    const struct swif_buffer *buffer, bool more)
{
    return (struct wire_header){
        .kind = WIRE_CD,
        .flags = (uint8_t)(buffer->flags | (ltee->name.class == WIRE_REPLY ? WIRE_FLAG_REPLY : 0) |
                           (more ? 0 : WIRE_FLAG_ANSWER) |
                           (buffer->transmissions > 1 ? WIRE_FLAG_AGAIN : 0)),
        .channel = buffer->channel,
        .after = buffer->after,
        .target = ltee->name.peer,
        .target_incarnation = swif_stub_of(swif, ltee)->incarnation,
        .sequence = buffer->sequence,
        .body_bytes = buffer->body_bytes,
    };
}

static uint32_t build(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                      const struct swif_buffer *buffer, uint32_t path_bytes, unsigned char *packet)
{
    bool more = has_work(swif, ltee) && has_window(swif, ltee);
    struct wire_header header = header_of(swif, ltee, buffer, more);
    uint32_t room = path_bytes - WIRE_OVERHEAD_BYTES - buffer->body_bytes;
    uint32_t ack_bytes = swif_receiver_acks(swif, now_ns, ltee->name.peer,
                                            packet + WIRE_PREFIX_BYTES, room);
    header.ack_bytes = (uint16_t)ack_bytes;
    memcpy(packet + WIRE_PREFIX_BYTES + ack_bytes, buffer->body, buffer->body_bytes);
    return swif_seal(swif, &header, packet);
}

/* The same for the piece that begins at piece_at. */
static uint32_t build_piece(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                            const struct swif_buffer *buffer, unsigned char *packet)
{
    uint32_t path_bytes = swif_path_bytes(swif, ltee->name.peer);
    struct wire_piece piece;
    uint32_t body_bytes = WIRE_PIECE_BYTES + swif_cut_piece(swif, ltee, buffer, path_bytes, &piece);
    bool more = ltee->piece_at != 0 || (has_work(swif, ltee) && has_window(swif, ltee));
    struct wire_header header = header_of(swif, ltee, buffer, more);
    uint32_t room = path_bytes - WIRE_OVERHEAD_BYTES - body_bytes;
    uint32_t ack_bytes = swif_receiver_acks(swif, now_ns, ltee->name.peer,
                                            packet + WIRE_PREFIX_BYTES, room);
    header.kind = WIRE_PIECE;
    header.ack_bytes = (uint16_t)ack_bytes;
    header.body_bytes = (uint16_t)body_bytes;
    wire_piece_encode(&piece, packet + WIRE_PREFIX_BYTES + ack_bytes);
    return swif_seal(swif, &header, packet);
}

/* The next piece of the packet that is going out in pieces. */
static uint32_t transmit_piece(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                               unsigned char *packet)
{
    struct swif_buffer *buffer = swif_buffer_at(swif, ltee, ltee->piece_sequence);
    uint32_t bytes = build_piece(swif, now_ns, ltee, buffer, packet);
    buffer->counter = swif->counter;
    ltee->resend_at_ns = now_ns + swif_time_out_ns(swif, ltee);
    schedule(swif, now_ns, ltee);
    return bytes;
}

uint32_t swif_sender_transmit(struct swif *swif, uint64_t now_ns, struct swif_ltee *ltee,
                              unsigned char *packet)
{
    if (UNLIKELY(swif_is_in_pieces(ltee))) {
        return transmit_piece(swif, now_ns, ltee, packet);
    }
    ltee->piece_at = 0;
    if (!has_work(swif, ltee)) {
        return 0;
    }
    if (!has_window(swif, ltee) || ltee->congestion.pace_ns > now_ns) {
        schedule(swif, now_ns, ltee);
        return 0;
    }
    if (UNLIKELY(swif_path_is_narrow(swif, ltee->name.peer))) {
        swif_path_sends(swif, now_ns, ltee);
    }
    uint32_t sequence;
    if (ltee->lost_count) {
        sequence = swif_first_lost(ltee);
        swif_bit_clear(&ltee->lost, sequence);
        ltee->lost_count--;
        swif->counters.retransmissions++;
    } else {
        sequence = ltee->unsent++;
    }
    struct swif_buffer *buffer = swif_buffer_at(swif, ltee, sequence);
    if (UNLIKELY(buffer->overtaken >= SWIF_OVERTAKEN_MAX) &&
        swif_path_is_tight(swif, ltee->name.peer, buffer->body_bytes)) {
        swif_path_narrow(swif, now_ns, ltee->name.peer);
        buffer->overtaken = 0;
    }
    if (UNLIKELY(ltee->silences != 0) && buffer->transmissions != 0) {
        swif_copies_note(&ltee->copies, buffer->counter, buffer->sent.at_ns);
    }
    buffer->transmissions++;
    swif->counters.transmissions++;
    swif->counters.stop_and_wait += ltee->stage == WIRE_STOP_AND_WAIT;
    ltee->under_way++;
    uint32_t path_bytes = swif_path_bytes(swif, ltee->name.peer);
    bool fits = buffer->body_bytes <= swif_body_bytes_in(path_bytes);
    uint32_t bytes = LIKELY(fits) ? build(swif, now_ns, ltee, buffer, path_bytes, packet)
                                  : build_piece(swif, now_ns, ltee, buffer, packet);
    buffer->counter = swif->counter;
    swif_congestion_sent(&ltee->congestion, now_ns, &buffer->sent);
    ltee->resend_at_ns = now_ns + swif_time_out_ns(swif, ltee);
    /* If something else keeps us from using the window, it says nothing about the path. */
    ltee->limited = ltee->limited || (has_work(swif, ltee) &&
                                      ltee->under_way >= swif_congestion_window(&ltee->congestion));
    schedule(swif, now_ns, ltee);
    return bytes;
}
