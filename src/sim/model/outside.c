/* Steps and packets of engines outside. */
#include "sim/model/outside.h"

#include <string.h>

#include "sim/model/in_place.h"
#include "sim/model/state.h"

enum {
    ADDRESS_TLB_LINES = 256, /* as nic/address_tlb.h has */
    JOINS_LOOKED_AT = 256,   /* parcels in an outbox, for those that go with the first one */
};

/* ---- Parcels ------------------------------------------------------------------------------ */

struct sim_parcel *sim_parcel_make(struct sim_world *world, const struct turn_packet *head,
                                   const unsigned char *data)
{
    bool is_large = head->bytes > SIM_PARCEL_SMALL_BYTES;
    uint32_t slot;
    struct sim_parcel *parcel = sim_slots_take(&world->parcels[is_large], &slot);
    INVARIANT(sizeof *parcel + head->bytes <= world->parcels[is_large].slot_bytes);
    *parcel = (struct sim_parcel){.head = *head, .slot = slot, .is_large = is_large};
    memcpy(parcel->data, data, head->bytes);
    return parcel;
}

void sim_parcels_add(struct sim_parcels *parcels, struct sim_parcel *parcel)
{
    parcel->next = NULL;
    if (parcels->last) {
        parcels->last->next = parcel;
    } else {
        parcels->first = parcel;
    }
    parcels->last = parcel;
}

void sim_parcels_give(struct sim_world *world, struct sim_parcels *parcels)
{
    for (struct sim_parcel *parcel = parcels->first; parcel;) {
        struct sim_parcel *next = parcel->next;
        sim_slots_give(&world->parcels[parcel->is_large], parcel->slot);
        parcel = next;
    }
    *parcels = (struct sim_parcels){0};
}

static void move_all(struct sim_parcels *from, struct sim_parcels *into)
{
    if (!from->first) {
        return;
    }
    if (into->last) {
        into->last->next = from->first;
    } else {
        into->first = from->first;
    }
    into->last = from->last;
    *from = (struct sim_parcels){0};
}

/* ---- Steps -------------------------------------------------------------------------------- */

static struct sim_kick kick_of(enum sim_kick_kind kind, uint64_t bytes, struct sim_parcels *parcels)
{
    struct sim_kick kick = {.kind = kind, .bytes = bytes, .parcels = *parcels};
    *parcels = (struct sim_parcels){0};
    return kick;
}

void sim_outside_store(struct sim_host *host, unsigned bytes, struct sim_parcels *parcels)
{
    struct sim_kick kick = kick_of(SIM_KICK_STORE_OUTSIDE, bytes, parcels);
    sim_host_kick(host, host->now_ps, &kick);
    sim_host_go_on(host, "store", host->now_ps + sim_host_write_ps(host, bytes));
}

void sim_outside_block(struct sim_host *host, uint32_t bytes, struct sim_parcels *parcels)
{
    struct sim_kick kick = kick_of(SIM_KICK_BLOCK_OUTSIDE, bytes, parcels);
    for (struct sim_parcel *parcel = kick.parcels.first; parcel; parcel = parcel->next) {
        parcel->is_block = parcel->next == NULL;
    }
    sim_host_ask_for_window(host, &kick);
}

void sim_outside_request(struct sim_host *host, unsigned words, struct sim_parcels *parcels)
{
    uint64_t word_ps = host->world->machine->host_write;
    struct sim_kick kick = kick_of(SIM_KICK_REQUEST_OUTSIDE, 0, parcels);
    words = words > 0 ? words : 1;
    sim_host_kick(host, host->now_ps + (words - 1) * word_ps, &kick);
    sim_host_go_on(host, "request", host->now_ps + words * word_ps);
}

void sim_outside_service(struct sim_host *host, struct sim_parcels *parcels)
{
    struct sim_kick kick = kick_of(SIM_KICK_SERVICE_OUTSIDE, 0, parcels);
    sim_node_of(host)->services_due++;
    sim_host_kick(host, host->now_ps, &kick);
    sim_host_go_on(host, "request", host->now_ps + host->world->machine->host_write);
}

void sim_outside_look(struct sim_host *host, unsigned bytes)
{
    sim_outside_found(host, bytes, host->now_ps);
}

/* As a poll of the world's own programs: the reads before are known to be in vain, and cost only
 * time. */
static void find(struct sim_host *host, unsigned bytes, uint64_t since_ps, uint64_t there_ps)
{
    uint64_t read_ps;
    uint64_t period_ps = sim_host_poll_period_ps(host, bytes, &read_ps);
    uint64_t passed_ps = there_ps - since_ps;
    uint64_t start_ps = since_ps + (passed_ps + period_ps - 1) / period_ps * period_ps;
    struct sim_passage *passage = sim_node_of(host)->passage;
    if (passage) {
        passage->read_ps = start_ps;
        passage->seen_ps = start_ps + read_ps;
    }
    sim_host_go_on(host, "poll", start_ps + read_ps);
}

void sim_outside_found(struct sim_host *host, unsigned bytes, uint64_t since_ps)
{
    find(host, bytes, since_ps, host->now_ps);
}

static void tell(struct sim_host *host)
{
    struct sim_node *node = sim_node_of(host);
    find(host, node->told_bytes, node->told_since_ps, sim_host_told_ps(host, true));
    node->told_bytes = 0;
}

void sim_outside_told(struct sim_host *host, unsigned bytes, uint64_t since_ps)
{
    struct sim_node *node = sim_node_of(host);
    bool has_waited = since_ps != UINT64_MAX;
    if (!has_waited && node->services_due == 0) {
        sim_outside_look(host, bytes); /* it was told before */
        return;
    }
    node->told_bytes = bytes;
    node->told_since_ps = has_waited ? since_ps : host->now_ps;
    if (node->services_due == 0) {
        tell(host);
    }
}

/* ---- From kicks to flights ------------------------------------------------------------------ */

void sim_outside_kicked(struct sim_world *world, struct sim_node *node, struct sim_kick *kick)
{
    if (kick->kind == SIM_KICK_BLOCK_OUTSIDE && !kick->parcels.first) {
        /* The engine has copied the block and sends it later, so its window is free. */
        sim_host_window_drained(world, kick->host);
    }
    for (struct sim_parcel *parcel = kick->parcels.first; parcel; parcel = parcel->next) {
        parcel->is_kicked = true;
        parcel->started_ps = kick->started_ps;
        parcel->come_ps = kick->come_ps;
        parcel->written_ps = kick->written_ps;
        parcel->queued_ps = kick->queued_ps;
        parcel->ready_ps = kick->ready_ps;
    }
    move_all(&kick->parcels, &node->outbox);
    if (kick->kind == SIM_KICK_SERVICE_OUTSIDE && --node->services_due == 0 &&
        node->told_bytes > 0) {
        tell(&world->hosts[kick->host]);
    }
}

/* ---- Packets that go together --------------------------------------------------------------- */

/* A packet of InfiniSWIF that waits for the link still takes in what follows to the same peer. The
 * one outside does not know how long its packets wait, so it makes one of each body at once; those
 * that have met in the outbox go as one, which is as long as InfiniSWIF's would be. The rules are
 * those of swif_append. */
struct join {
    struct wire_header first; /* of those with a body */
    bool has_body;
    bool is_closed; /* no further body goes with it */
    uint32_t body_bytes, reply_bytes;
};

static bool is_ack_alone(const struct wire_header *header)
{
    return header->kind == WIRE_CONTROL && header->body_bytes == 0;
}

/* What the target sends back for a body; UINT32_MAX: it shares its packet with no other. */
static uint32_t reply_bytes_of(const struct sim_parcel *parcel, const struct wire_header *header)
{
    const unsigned char *body = parcel->data + WIRE_PREFIX_BYTES + header->ack_bytes;
    struct wire_operation operation;
    uint32_t at = 0;
    uint32_t bytes = 0;
    while (wire_operation_decode(body, header->body_bytes, parcel->head.class, &at, &operation)) {
        if (operation.opcode == WIRE_PUSH && parcel->head.class == WIRE_REQUEST) {
            return UINT32_MAX;
        }
        bytes += wire_reply_bytes(&operation);
    }
    return bytes;
}

/* Whether the parcel goes with those before it. */
static bool joins(const struct sim_world *world, struct join *join, const struct sim_parcel *parcel)
{
    struct wire_header header;
    if (!(parcel->head.flags & TURN_IS_CD) ||
        !wire_header_decode(parcel->data, parcel->head.bytes, &header)) {
        return false;
    }
    if (is_ack_alone(&header)) {
        return true;
    }
    bool is_other = join->has_body &&
                    (header.flags & WIRE_FLAG_REPLY) != (join->first.flags & WIRE_FLAG_REPLY);
    if (join->is_closed || is_other) {
        return false; /* requests and replies have sequences of their own */
    }
    uint32_t reply_bytes = header.kind == WIRE_CD ? reply_bytes_of(parcel, &header) : UINT32_MAX;
    bool may = reply_bytes != UINT32_MAX && !(parcel->head.flags & TURN_IS_REPEAT) &&
               join->body_bytes + header.body_bytes <= world->body_bytes_max &&
               join->reply_bytes + reply_bytes <= world->body_bytes_max;
    if (join->has_body) {
        may = may && header.channel == join->first.channel && !(header.flags & WIRE_FLAG_AFTER_ALL);
    } else {
        join->first = header;
    }
    join->is_closed = !may;
    if (may) {
        join->has_body = true;
        join->body_bytes += header.body_bytes;
        join->reply_bytes += reply_bytes;
    }
    return may;
}

/* Takes out of the outbox what goes with the first parcel, which is out of it already. Gives the
 * one that the packet is named by: the first that is more than an acknowledgement. */
static const struct sim_parcel *take_those_that_join(const struct sim_world *world,
                                                     struct sim_parcels *outbox,
                                                     struct sim_parcels *together)
{
    const struct sim_parcel *first = together->first;
    const struct sim_parcel *lead = first;
    struct join join = {.has_body = false};
    if (!outbox->first || !(first->head.flags & TURN_IS_CD)) {
        return lead;
    }
    (void)joins(world, &join, first);
    struct sim_parcel *before = NULL;
    struct sim_parcel *parcel = outbox->first;
    for (uint32_t looks = 0; parcel && looks < JOINS_LOOKED_AT; looks++) {
        struct sim_parcel *next = parcel->next;
        bool had_body = join.has_body;
        if (parcel->head.peer != first->head.peer || !joins(world, &join, parcel)) {
            before = parcel;
        } else {
            *(before ? &before->next : &outbox->first) = next;
            outbox->last = next ? outbox->last : before;
            lead = join.has_body && !had_body ? parcel : lead;
            sim_parcels_add(together, parcel);
        }
        parcel = next;
    }
    return lead;
}

/* ---- From outboxes to links ---------------------------------------------------------------- */

/* One flight for all of them; the first has filled it in. */
static void board(struct sim_world *world, struct sim_node *node, struct sim_flight *flight,
                  const struct sim_parcel *parcel)
{
    const struct turn_packet *head = &parcel->head;
    flight->context_hit = flight->context_hit && !(head->flags & TURN_MISSED);
    flight->header_misses = (uint16_t)(flight->header_misses + head->header_misses);
    if (parcel->is_block) {
        if (flight->host != UINT32_MAX) {
            /* One packet holds several blocks: the windows of all but the last are free. */
            sim_host_window_drained(world, flight->host);
        }
        flight->host = node->first_host;
    }
    if (flight->passage && parcel->is_kicked) {
        flight->passage->kicked_ps = parcel->started_ps;
        sim_flight_note(flight, SIM_STAGE_HOST_WRITE, parcel->come_ps, parcel->written_ps);
        sim_flight_note(flight, SIM_STAGE_TRANSACTION_QUEUE, parcel->queued_ps, parcel->ready_ps);
    }
}

/* A flight of the parcels from this one on, named by one of them. */
static uint32_t make_flight(struct sim_world *world, struct sim_node *node,
                            struct sim_parcel *parcel, const struct turn_packet *head)
{
    uint32_t slot;
    struct sim_flight *flight = sim_flight_take(world, node, 0, &slot);
    flight->parcels = parcel;
    flight->data = parcel->data;
    flight->bytes = parcel->head.bytes;
    flight->target = head->peer;
    flight->class = head->class == WIRE_REPLY ? WIRE_REPLY : WIRE_REQUEST;
    flight->channel = head->channel;
    flight->is_cd = head->flags & TURN_IS_CD;
    flight->is_repeat = head->flags & TURN_IS_REPEAT;
    for (; parcel; parcel = parcel->next) {
        board(world, node, flight, parcel);
    }
    return slot;
}

uint32_t sim_outside_flight(struct sim_world *world, struct sim_node *node,
                            struct sim_parcel *parcel)
{
    parcel->next = NULL;
    return make_flight(world, node, parcel, &parcel->head);
}

uint32_t sim_outside_next(struct sim_world *world, struct sim_node *node)
{
    struct sim_parcel *parcel = node->outbox.first;
    if (!parcel) {
        return UINT32_MAX;
    }
    node->outbox.first = parcel->next;
    node->outbox.last = parcel->next ? node->outbox.last : NULL;
    struct sim_parcels together = {0};
    sim_parcels_add(&together, parcel);
    const struct turn_packet *head = &take_those_that_join(world, &node->outbox, &together)->head;
    uint32_t slot = make_flight(world, node, parcel, head);
    if (!node->outbox.first) {
        world->config.outside->drained(world->config.outside->context, node->number);
    }
    return slot;
}

/* The NIC that has carried a packet out tells its sender so. */
static void acknowledge(struct sim_world *world, struct sim_node *node, uint32_t peer,
                        const struct turn_packet *packet)
{
    uint32_t slot;
    struct sim_flight *ack = sim_flight_take(world, node, 0, &slot);
    const struct turn_packet head = {.number = packet->number, .cookie = packet->cookie};
    ack->parcels = sim_parcel_make(world, &head, ack->small);
    ack->target = peer;
    ack->class = WIRE_REPLY;
    ack->channel = packet->channel;
    ack->is_ack = true;
    if (sim_machine_is_in_place(world->machine)) {
        sim_put(world, world->now_ps, SIM_EVENT_CARRY, ack->target, slot);
    } else {
        sim_put(world, world->now_ps, SIM_EVENT_STAGE, slot, SIM_STAGES);
    }
}

void sim_outside_deliver(struct sim_world *world, struct sim_node *node, struct sim_flight *flight)
{
    const struct sim_outside *outside = world->config.outside;
    if (flight->is_ack) {
        const struct turn_packet *carried = &flight->parcels->head;
        outside->acked(outside->context, node->number, flight->source, carried->number,
                       carried->cookie);
        return;
    }
    for (struct sim_parcel *parcel = flight->parcels; parcel; parcel = parcel->next) {
        struct turn_packet *head = &parcel->head;
        head->peer = (uint16_t)flight->source;
        bool is_there = outside->arrived(outside->context, node->number, head, parcel->data);
        if (is_there && head->flags & TURN_WANTS_ACK) {
            acknowledge(world, node, flight->source, head);
        }
    }
}

bool sim_outside_recalls(struct sim_node *node, uint32_t area)
{
    if (!node->addresses) {
        node->addresses = sim_lru_open(ADDRESS_TLB_LINES);
    }
    bool is_hit = sim_lru_use(node->addresses, area);
    node->address_misses += !is_hit;
    return !is_hit;
}

/* ---- No steps -------------------------------------------------------------------------------- */

void sim_outside_send(struct sim_world *world, uint32_t number, struct sim_parcels *parcels)
{
    struct sim_node *node = &world->nodes[number];
    if (sim_machine_is_in_place(world->machine)) {
        sim_in_place_carry(world, node, parcels, world->now_ps);
    } else if (parcels->first) {
        move_all(parcels, &node->outbox);
        sim_pump_at(world, node, world->now_ps);
    }
}

void sim_outside_alarm(struct sim_world *world, uint32_t number, uint64_t at_ns)
{
    struct sim_node *node = &world->nodes[number];
    uint64_t at_ps = at_ns < UINT64_MAX / SIM_PS_PER_NS ? at_ns * SIM_PS_PER_NS : UINT64_MAX;
    if (at_ps == node->timer_ps) {
        return;
    }
    node->timer_ps = at_ps;
    node->timer_setting++;
    if (at_ps != UINT64_MAX) {
        at_ps = at_ps > world->now_ps ? at_ps : world->now_ps;
        sim_put(world, at_ps, SIM_EVENT_TIMER, number, node->timer_setting);
    }
}

void sim_outside_call(struct sim_world *world, uint32_t number, uint64_t at_ps, uint64_t value)
{
    sim_put(world, at_ps, SIM_EVENT_OUTSIDE, number, value);
}

void sim_outside_go_on(struct sim_world *world, uint32_t number)
{
    sim_host_event(world, &world->hosts[world->nodes[number].first_host]);
}

void sim_outside_end(struct sim_world *world, uint32_t number)
{
    struct sim_host *host = &world->hosts[world->nodes[number].first_host];
    if (!host->ended) {
        host->ended = true;
        world->running--;
    }
}
