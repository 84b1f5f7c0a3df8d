/* InfiniSWIF: memory, packets in, packets out. */
#include "swif/swif.h"

#include <string.h>

#include "base/space.h"
#include "swif/state.h"
#include "wire/operation.h"

#define US_NS UINT64_C(1000)
#define MS_NS UINT64_C(1000000)

/* ---- Configuration and memory ---------------------------------------------------- */

void swif_config_default(struct swif_config *config, uint32_t node_count)
{
    *config = (struct swif_config){
        .node_count = node_count,
        .packet_bytes_max = 1472,
        .ltee_count = 1024,
        .rtee_count = 1024,
        .ways = 4,
        .buffer_count = {8192, 4096},
        .reorder_count = 2048,
        .queue_max = SWIF_WINDOW_MAX,
        .window_max = SWIF_WINDOW_MAX,
        .receive_budget = 96,
        .watch_max = 1024,
        .stage_max = WIRE_SELECTIVE_REPEAT,
        .rto_first_ns = 10 * MS_NS,
        .rto_min_ns = 200 * US_NS,
        .rto_max_ns = 20 * MS_NS,
        .ack_delay_ns = 20 * US_NS,
        .peer_timeout_ns = 10000 * MS_NS,
        .path_again_ns = 10000 * MS_NS,
        .congestion_control = true,
    };
    /* No more contexts than peers. */
    while (config->ltee_count / 2 >= node_count && config->ltee_count > config->ways) {
        config->ltee_count /= 2;
        config->rtee_count /= 2;
    }
}

uint32_t swif_packet_bytes(uint32_t body_bytes)
{
    return SWIF_BESIDES_BODY_BYTES + ((body_bytes + 7) & ~7u);
}

static bool paths_may_narrow(const struct swif_config *config)
{
    return config->path_bytes_min != 0 && config->path_bytes_min < config->packet_bytes_max;
}

/* At least one unit of a piece fits. */
enum { PATH_BYTES_LEAST = SWIF_BESIDES_BODY_BYTES + WIRE_PIECE_BYTES + WIRE_PIECE_UNIT_BYTES };

static bool is_cache_size(uint32_t count, uint32_t ways)
{
    return is_power_of_two(count) && ways <= count && count <= 65536;
}

static bool makes_sense(const struct swif_config *config)
{
    return config->node_count >= 1 && config->node_count <= WIRE_NODES_MAX &&
           config->node < config->node_count && config->incarnation != 0 &&
           config->packet_bytes_max >= 192 && config->packet_bytes_max <= WIRE_PACKET_BYTES_MAX &&
           is_power_of_two(config->ways) && is_cache_size(config->ltee_count, config->ways) &&
           is_cache_size(config->rtee_count, config->ways) && config->buffer_count[0] >= 1 &&
           config->buffer_count[1] >= 1 && config->queue_max >= 1 &&
           config->queue_max <= SWIF_WINDOW_MAX && config->window_max >= 1 &&
           config->window_max <= SWIF_WINDOW_MAX && config->receive_budget >= 1 &&
           config->watch_max >= 1 && config->watch_max <= 65536 &&
           config->stage_max <= WIRE_SELECTIVE_REPEAT && config->rto_min_ns >= 1 &&
           config->rto_first_ns <= UINT64_MAX >> 24 && config->ack_delay_ns <= UINT64_MAX >> 24 &&
           config->rto_min_ns <= config->rto_max_ns && config->rto_max_ns <= UINT64_MAX >> 24 &&
           config->peer_timeout_ns >= SWIF_LOOKS_AT_SILENT &&
           config->peer_timeout_ns <= UINT64_MAX >> 8 && config->verdict_ns <= UINT64_MAX >> 8 &&
           config->path_again_ns <= UINT64_MAX >> 8 &&
           (!paths_may_narrow(config) || config->path_bytes_min >= PATH_BYTES_LEAST);
}

static void lay_out_pool(struct base_space *space, struct base_pool *pool, uint32_t count,
                         uint32_t body_bytes)
{
    uint64_t line_bytes;
    (void)round_up(sizeof(struct swif_buffer) + body_bytes, CACHE_LINE_BYTES, &line_bytes);
    base_pool_init(pool, base_space_take(space, count, line_bytes), line_bytes,
                   offsetof(struct swif_buffer, next), count);
}

/* Gives every part of the swif its piece. */
static void lay_out(struct base_space *space, const struct swif_config *config, struct swif *swif)
{
    uint32_t body_bytes = swif_body_bytes_in(config->packet_bytes_max);
    swif->stubs = base_space_take(space, config->node_count, sizeof *swif->stubs);
    for (unsigned class = 0; class < WIRE_CLASSES; class ++) {
        struct swif_cache_line *ltee_lines = base_space_take(space, config->ltee_count,
                                                             sizeof *ltee_lines);
        struct swif_cache_line *rtee_lines = base_space_take(space, config->rtee_count,
                                                             sizeof *rtee_lines);
        swif->ltees[class] = base_space_take(space, config->ltee_count, sizeof(struct swif_ltee));
        swif->rtees[class] = base_space_take(space, config->rtee_count, sizeof(struct swif_rtee));
        if (space->memory) {
            swif_cache_init(&swif->ltee_cache[class], ltee_lines, config->ltee_count, config->ways);
            swif_cache_init(&swif->rtee_cache[class], rtee_lines, config->rtee_count, config->ways);
        }
        lay_out_pool(space, &swif->pools[class], config->buffer_count[class], body_bytes);
    }
    struct swif_cache_line *replay_lines = base_space_take(space, config->rtee_count,
                                                           sizeof *replay_lines);
    swif->replays = base_space_take(space, config->rtee_count, sizeof *swif->replays);
    if (space->memory) {
        swif_cache_init(&swif->replay_cache, replay_lines, config->rtee_count, config->ways);
    }
    lay_out_pool(space, &swif->reorder, config->reorder_count, body_bytes);
    uint64_t timers = 2 * (uint64_t)(config->ltee_count + config->rtee_count) + config->watch_max;
    swif->watches = base_space_take(space, config->watch_max, sizeof *swif->watches);
    struct swif_timer **heap = base_space_take(space, timers + 1, sizeof *heap);
    unsigned char *bodies = base_space_take(space, SWIF_DATAGRAMS, body_bytes);
    if (paths_may_narrow(config)) {
        swif->path_steps = base_space_take(space, config->node_count, sizeof *swif->path_steps);
        swif->assemblies = base_space_take(space, SWIF_ASSEMBLIES, sizeof *swif->assemblies);
        swif->assembly_bodies = base_space_take(space, SWIF_ASSEMBLIES, body_bytes);
    }
    if (space->memory) {
        swif_timers_init(&swif->timers, heap);
        for (uint32_t i = 0; i < SWIF_DATAGRAMS; i++) {
            swif->datagrams[i].body = bodies + (uint64_t)i * body_bytes;
        }
    }
}

uint64_t swif_bytes(const struct swif_config *config)
{
    struct base_space space = {0};
    struct swif counted;
    if (!makes_sense(config)) {
        return 0;
    }
    (void)base_space_take(&space, 1, sizeof counted);
    lay_out(&space, config, &counted);
    return space.used_bytes;
}

struct swif *swif_init(const struct swif_config *config, const struct swif_client *client,
                       const struct swif_guard *guard, uint64_t now_ns, void *memory)
{
    struct base_space space = {.memory = memory};
    INVARIANT(makes_sense(config) && (uintptr_t)memory % CACHE_LINE_BYTES == 0);
    struct swif *swif = base_space_take(&space, 1, sizeof *swif);
    swif->config = *config;
    lay_out(&space, config, swif);
    /* All that is not set here is zero already. This is checked only after something has been
     * written, because a page that is read first costs two faults. */
    INVARIANT(swif->counter == 0 && swif->counters.packets_received == 0);
    swif->client = client;
    swif->guard = guard;
    swif->body_bytes_max = swif_body_bytes_in(config->packet_bytes_max);
    swif_path_init(swif);
    swif->epoch_at_ns = now_ns;
    swif->oldest_request = swif->newest_request = SWIF_NO_BUFFER;
    swif_list_init(&swif->tries);
    swif_list_init(&swif->ready);
    swif_list_init(&swif->ack_due);
    swif->stubs[config->node].incarnation = config->incarnation;
    return swif;
}

uint32_t swif_body_bytes_max(const struct swif *swif)
{
    return swif->body_bytes_max;
}

const struct swif_counters *swif_counters(const struct swif *swif)
{
    return &swif->counters;
}

/* ---- Marks, watches, looking in -------------------------------------------------- */

uint64_t swif_mark(const struct swif *swif)
{
    return swif->ordinal_next;
}

bool swif_mark_is_passed(const struct swif *swif, uint64_t mark)
{
    return swif->oldest_request == SWIF_NO_BUFFER ||
           swif_buffer(&swif->pools[WIRE_REQUEST], swif->oldest_request)->ordinal >= mark;
}

bool swif_peer_state(const struct swif *swif, uint16_t peer, struct swif_peer_state *state)
{
    const struct swif_ltee *ltee = swif_ltee_peek(swif, peer, WIRE_REQUEST);
    if (!ltee) {
        return false;
    }
    uint32_t window = swif_congestion_window(&ltee->congestion);
    *state = (struct swif_peer_state){
        .stage = ltee->stage,
        .under_way = ltee->under_way,
        .window = window < ltee->granted ? window : ltee->granted,
        .path_bytes = swif_path_bytes(swif, peer),
        .srtt_ns = ltee->congestion.srtt_ns,
    };
    return true;
}

/* ---- What waits to be said ------------------------------------------------------- */

void swif_note_add(struct swif *swif, const struct swif_note *note)
{
    /* When the ring is full, the note is dropped: a peer that needs it asks again. */
    if (swif->note_head - swif->note_tail < SWIF_NOTES) {
        swif->notes[swif->note_head++ % SWIF_NOTES] = *note;
    }
}

void swif_note_control(struct swif *swif, uint16_t peer, uint8_t code, uint32_t incarnation)
{
    struct swif_note note = {
        .kind = SWIF_NOTE_CONTROL, .peer = peer, .code = code, .incarnation = incarnation};
    swif_note_add(swif, &note);
}

int swif_datagram(struct swif *swif, uint64_t now_ns, uint16_t target, uint8_t channel,
                  const void *body, uint32_t bytes)
{
    (void)now_ns;
    INVARIANT(target < swif->config.node_count && channel < WIRE_CHANNELS);
    INVARIANT(bytes != 0 && bytes % 8 == 0 && bytes <= swif->body_bytes_max);
    const struct swif_stub *stub = &swif->stubs[target];
    if (stub->dead) {
        return DN_EPEER;
    }
    if (stub->incarnation == 0) {
        swif_note_control(swif, target, WIRE_HELLO, 0);
        return 0;
    }
    if (swif->datagram_head - swif->datagram_tail == SWIF_DATAGRAMS) {
        return DN_EFULL;
    }
    struct swif_datagram_buffer *datagram =
        &swif->datagrams[swif->datagram_head++ % SWIF_DATAGRAMS];
    datagram->target = target;
    datagram->channel = channel;
    datagram->bytes = (uint16_t)bytes;
    memcpy(datagram->body, body, bytes);
    return 0;
}

/* ---- Receiving ------------------------------------------------------------------- */

static void receive_acks(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                         const unsigned char *acks)
{
    struct wire_ack ack;
    uint32_t at = 0;
    while (wire_ack_decode(acks, header->ack_bytes, &at, &ack)) {
        swif_sender_ack(swif, now_ns, header->source, &ack, header->counter);
    }
}

static void receive_body(struct swif *swif, uint64_t now_ns, const struct wire_header *header,
                         const unsigned char *body)
{
    switch (header->kind) {
    case WIRE_CD: swif_receiver_data(swif, now_ns, header, body); break;
    case WIRE_CONTROL:
        if (header->body_bytes) {
            swif_peer_control(swif, now_ns, header, body);
        }
        break;
    case WIRE_PIECE: swif_receive_piece(swif, now_ns, header, body); break;
    case WIRE_UD: {
        struct swif_delivery delivery = {
            .kind = WIRE_UD,
            .channel = header->channel,
            .source = header->source,
            .source_incarnation = header->source_incarnation,
            .body = body,
            .bytes = header->body_bytes,
            .is_late = header->counter < swif->stubs[header->source].newest_counter,
        };
        (void)swif->client->deliver(swif->client->context, now_ns, &delivery);
        swif->counters.bodies_delivered++;
        break;
    }
    }
}

/* Whether the content of the packet has the right form. Its sender knows the key, but we check it
 * all the same. */
static bool is_well_formed(const struct wire_header *header, const unsigned char *acks,
                           const unsigned char *body)
{
    enum wire_class class = header->flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST;
    struct wire_piece piece;
    if (!wire_acks_check(acks, header->ack_bytes)) {
        return false;
    }
    switch (header->kind) {
    case WIRE_CONTROL: return wire_control_check(body, header->body_bytes);
    case WIRE_PIECE: return wire_piece_decode(body, header->body_bytes, &piece);
    case WIRE_UD:
    case WIRE_CD: break;
    }
    return wire_body_check(body, header->body_bytes, class);
}

void swif_receive(struct swif *swif, uint64_t now_ns, unsigned char *packet, uint32_t bytes)
{
    struct wire_header header;
    if (bytes > swif->config.packet_bytes_max || !wire_header_decode(packet, bytes, &header) ||
        (header.body_bytes > swif->body_bytes_max && header.kind != WIRE_CONTROL)) {
        swif->counters.malformed++;
        return;
    }
    if (header.target != swif->config.node || header.source >= swif->config.node_count ||
        (header.pgid != swif->config.pgid && !MUTANT(OTHER_GROUP_BELIEVED))) {
        swif->counters.not_ours++;
        return;
    }
    bool is_replay = swif_peer_is_replay(swif, &header);
    if (is_replay && !MUTANT(ACK_REPLAYED)) {
        swif->counters.stale++;
        return;
    }
    if (swif->guard && !swif->guard->open(swif->guard->context, &header, packet, bytes) &&
        !MUTANT(UNAUTHENTIC_BELIEVED)) {
        swif->counters.not_authentic++;
        return;
    }
    const unsigned char *acks = packet + WIRE_PREFIX_BYTES;
    const unsigned char *body = acks + header.ack_bytes;
    if (!is_well_formed(&header, acks, body)) {
        swif->counters.malformed++;
        return;
    }
    uint8_t code = header.kind == WIRE_CONTROL && header.body_bytes ? body[0] : 0;
    swif->counters.packets_received++;
    if (!swif_peer_admit(swif, now_ns, &header, code)) {
        return;
    }
    if (header.target_incarnation != 0) {
        receive_acks(swif, now_ns, &header, acks);
    }
    if (!is_replay) {
        receive_body(swif, now_ns, &header, body);
    }
}

/* ---- Sending --------------------------------------------------------------------- */

uint32_t swif_seal(struct swif *swif, struct wire_header *header, unsigned char *packet)
{
    uint32_t bytes = (uint32_t)WIRE_OVERHEAD_BYTES + header->ack_bytes + header->body_bytes;
    header->source = swif->config.node;
    header->source_incarnation = swif->config.incarnation;
    header->pgid = swif->config.pgid;
    header->counter = ++swif->counter;
    wire_header_encode(header, packet);
    if (swif->guard) {
        swif->guard->seal(swif->guard->context, header, packet, bytes);
    } else {
        memset(packet + bytes - WIRE_TAG_BYTES, 0, WIRE_TAG_BYTES);
    }
    swif->counters.packets_sent++;
    swif->counters.bytes_sent += bytes;
    swif->counters.acks_aboard += header->kind != WIRE_CONTROL && header->ack_bytes;
    return bytes;
}

static uint32_t send_note(struct swif *swif, uint64_t now_ns, unsigned char *packet,
                          uint16_t *target)
{
    const struct swif_note *note = &swif->notes[swif->note_tail++ % SWIF_NOTES];
    struct wire_header header = {.kind = WIRE_CONTROL, .target = note->peer};
    *target = note->peer;
    if (note->kind == SWIF_NOTE_CONTROL) {
        header.target_incarnation = note->incarnation;
        header.body_bytes = 1;
        packet[WIRE_PREFIX_BYTES] = note->code;
        if (note->code == WIRE_PATH_CARRIES) {
            header.body_bytes = WIRE_PATH_ANSWER_BYTES;
            wire_path_answer_encode(note->counter, packet + WIRE_PREFIX_BYTES);
        }
    } else {
        header.target_incarnation = swif->stubs[note->peer].incarnation;
        header.ack_bytes = (uint16_t)swif_receiver_note_ack(swif, now_ns, note,
                                                            packet + WIRE_PREFIX_BYTES);
        swif->counters.acks_alone++;
    }
    return swif_seal(swif, &header, packet);
}

static uint32_t send_acks(struct swif *swif, uint64_t now_ns, uint16_t peer, unsigned char *packet)
{
    uint32_t room = swif->config.packet_bytes_max - WIRE_OVERHEAD_BYTES;
    struct wire_header header = {
        .kind = WIRE_CONTROL, .target = peer, .target_incarnation = swif->stubs[peer].incarnation};
    header.ack_bytes = (uint16_t)swif_receiver_acks(swif, now_ns, peer, packet + WIRE_PREFIX_BYTES,
                                                    room);
    swif->counters.acks_alone++;
    return swif_seal(swif, &header, packet);
}

static uint32_t send_datagram(struct swif *swif, unsigned char *packet, uint16_t *target)
{
    const struct swif_datagram_buffer *datagram =
        &swif->datagrams[swif->datagram_tail++ % SWIF_DATAGRAMS];
    const struct swif_stub *stub = &swif->stubs[datagram->target];
    if (stub->dead) {
        return 0;
    }
    struct wire_header header = {.kind = WIRE_UD,
                                 .channel = datagram->channel,
                                 .target = datagram->target,
                                 .target_incarnation = stub->incarnation,
                                 .body_bytes = datagram->bytes};
    memcpy(packet + WIRE_PREFIX_BYTES, datagram->body, datagram->bytes);
    *target = datagram->target;
    return swif_seal(swif, &header, packet);
}

/* Sends acknowledgements that cannot wait. Others ride with data to the same peer; but one with a
 * bitmap may not fit beside data, and the peer wants it soon. */
static uint32_t send_due_acks(struct swif *swif, uint64_t now_ns, unsigned char *packet,
                              uint16_t *target)
{
    struct swif_rtee *rtee = SWIF_OWNER(swif->ack_due.next, struct swif_rtee, ack_due);
    uint16_t peer = rtee->name.peer;
    *target = peer;
    for (unsigned class = 0; class < WIRE_CLASSES && rtee->ahead == 0; class ++) {
        struct swif_ltee *ltee = swif_ltee_peek(swif, peer, class);
        if (ltee && swif_is_listed(&ltee->ready)) {
            swif_list_remove(&ltee->ready);
            uint32_t bytes = swif_sender_transmit(swif, now_ns, ltee, packet);
            if (bytes) {
                return bytes;
            }
        }
    }
    return send_acks(swif, now_ns, peer, packet);
}

static void run_timers(struct swif *swif, uint64_t now_ns)
{
    struct swif_timer *timer = swif_timers_first(&swif->timers);
    /* A node that slept itself must not call others silent. */
    if (timer && timer->at_ns < now_ns &&
        now_ns - timer->at_ns > swif->config.peer_timeout_ns / 4) {
        swif->grace_ns = now_ns;
        swif->slept_ns += now_ns - timer->at_ns;
    }
    while (timer && timer->at_ns <= now_ns) {
        switch (timer->owner) {
        case SWIF_LTEE:
            swif_sender_timer(swif, now_ns, SWIF_OWNER(timer, struct swif_ltee, timer));
            break;
        case SWIF_RTEE:
            swif_receiver_timer(swif, now_ns, SWIF_OWNER(timer, struct swif_rtee, timer));
            break;
        case SWIF_WATCH:
            swif_peer_look(swif, now_ns, SWIF_OWNER(timer, struct swif_watch, timer));
            break;
        }
        timer = swif_timers_first(&swif->timers);
    }
}

uint32_t swif_transmit(struct swif *swif, uint64_t now_ns, unsigned char *packet, uint16_t *target)
{
    run_timers(swif, now_ns);
    if (swif->note_head != swif->note_tail) {
        return send_note(swif, now_ns, packet, target);
    }
    while (swif->datagram_head != swif->datagram_tail) {
        uint32_t bytes = send_datagram(swif, packet, target);
        if (bytes) {
            return bytes;
        }
    }
    if (swif->ack_due.next != &swif->ack_due) {
        return send_due_acks(swif, now_ns, packet, target);
    }
    while (swif->ready.next != &swif->ready) {
        struct swif_ltee *ltee = SWIF_OWNER(swif->ready.next, struct swif_ltee, ready);
        swif_list_remove(&ltee->ready);
        *target = ltee->name.peer;
        uint32_t bytes = swif_sender_transmit(swif, now_ns, ltee, packet);
        if (bytes) {
            return bytes;
        }
    }
    bool tries = UNLIKELY(swif->tries.next != &swif->tries);
    return tries ? swif_path_try(swif, now_ns, packet, target) : 0;
}

uint64_t swif_deadline_ns(const struct swif *swif)
{
    if (swif->note_head != swif->note_tail || swif->datagram_head != swif->datagram_tail ||
        swif->ack_due.next != &swif->ack_due || swif->ready.next != &swif->ready ||
        swif->tries.next != &swif->tries) {
        return 0;
    }
    const struct swif_timer *timer = swif_timers_first(&swif->timers);
    return timer ? timer->at_ns : UINT64_MAX;
}
