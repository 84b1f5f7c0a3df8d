/* Steps and packets of engines outside. */
#include "sim/model/outside.h"

#include <stdlib.h>
#include <string.h>

#include "sim/model/in_place.h"
#include "sim/model/state.h"

enum { ADDRESS_TLB_LINES = 256 }; /* as nic/address_tlb.h has */

/* ---- Parcels ------------------------------------------------------------------------------ */

struct sim_parcel *sim_parcel_make(const struct turn_packet *head, const unsigned char *data)
{
    struct sim_parcel *parcel = malloc(sizeof *parcel + head->bytes);
    INVARIANT(parcel);
    *parcel = (struct sim_parcel){.head = *head};
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

void sim_parcels_free(struct sim_parcels *parcels)
{
    for (struct sim_parcel *parcel = parcels->first; parcel;) {
        struct sim_parcel *next = parcel->next;
        free(parcel);
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
    sim_host_kick(host, host->now_ps, &kick);
    sim_host_go_on(host, "request", host->now_ps + host->world->machine->host_write);
}

void sim_outside_look(struct sim_host *host, unsigned bytes)
{
    sim_outside_found(host, bytes, host->now_ps);
}

/* As a poll of the world's own programs: the reads before are known to be in vain, and cost only
 * time. */
void sim_outside_found(struct sim_host *host, unsigned bytes, uint64_t since_ps)
{
    uint64_t read_ps;
    uint64_t period_ps = sim_host_poll_period_ps(host, bytes, &read_ps);
    uint64_t passed_ps = host->now_ps - since_ps;
    uint64_t start_ps = since_ps + (passed_ps + period_ps - 1) / period_ps * period_ps;
    struct sim_passage *passage = sim_node_of(host)->passage;
    if (passage) {
        passage->read_ps = start_ps;
        passage->seen_ps = start_ps + read_ps;
    }
    sim_host_go_on(host, "poll", start_ps + read_ps);
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
}

uint32_t sim_outside_flight(struct sim_world *world, const struct sim_node *node,
                            struct sim_parcel *parcel)
{
    uint32_t slot;
    const struct turn_packet *head = &parcel->head;
    struct sim_flight *flight = sim_flight_take(world, node, head->bytes, &slot);
    memcpy(flight->data, parcel->data, head->bytes);
    flight->bytes = head->bytes;
    flight->target = head->peer;
    flight->class = head->class == WIRE_REPLY ? WIRE_REPLY : WIRE_REQUEST;
    flight->channel = head->channel;
    flight->flags = head->flags;
    flight->is_cd = head->flags & TURN_IS_CD;
    flight->is_repeat = head->flags & TURN_IS_REPEAT;
    flight->context_hit = !(head->flags & TURN_MISSED);
    flight->header_misses = head->header_misses;
    flight->cookie = head->cookie;
    flight->sequence = head->number;
    flight->host = parcel->is_block ? node->first_host : UINT32_MAX;
    if (flight->passage && parcel->is_kicked) {
        flight->passage->kicked_ps = parcel->started_ps;
        sim_flight_note(flight, SIM_STAGE_HOST_WRITE, parcel->come_ps, parcel->written_ps);
        sim_flight_note(flight, SIM_STAGE_TRANSACTION_QUEUE, parcel->queued_ps, parcel->ready_ps);
    }
    free(parcel);
    return slot;
}

uint32_t sim_outside_next(struct sim_world *world, struct sim_node *node)
{
    struct sim_parcel *parcel = node->outbox.first;
    if (!parcel) {
        return UINT32_MAX;
    }
    node->outbox.first = parcel->next;
    node->outbox.last = parcel->next ? node->outbox.last : NULL;
    uint32_t slot = sim_outside_flight(world, node, parcel);
    if (!node->outbox.first) {
        world->config.outside->drained(world->config.outside->context, node->number);
    }
    return slot;
}

/* The NIC that has carried a packet out tells its sender so. */
static void acknowledge(struct sim_world *world, struct sim_node *node,
                        const struct sim_flight *flight)
{
    uint32_t slot;
    struct sim_flight *ack = sim_flight_take(world, node, 0, &slot);
    ack->target = flight->source;
    ack->class = WIRE_REPLY;
    ack->channel = flight->channel;
    ack->is_ack = true;
    ack->sequence = flight->sequence;
    ack->cookie = flight->cookie;
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
        outside->acked(outside->context, node->number, flight->source, flight->sequence,
                       flight->cookie);
        return;
    }
    const struct turn_packet packet = {
        .peer = (uint16_t)flight->source,
        .class = (uint8_t)flight->class,
        .channel = flight->channel,
        .flags = flight->flags,
        .bytes = flight->bytes,
        .number = flight->sequence,
        .cookie = flight->cookie,
    };
    bool is_there = outside->arrived(outside->context, node->number, &packet, flight->data);
    if (is_there && flight->flags & TURN_WANTS_ACK) {
        acknowledge(world, node, flight);
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
