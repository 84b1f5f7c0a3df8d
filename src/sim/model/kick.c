/* Kicks: their way from the host's bus into the transaction FIFO, and which kicks a packet was
 * made from. A user beyond its credit waits at the NIC and stops nobody else. */
#include <string.h>

#include "sim/model/state.h"

/* ---- Into the FIFO --------------------------------------------------------------------- */

static void append_kick(struct sim_world *world, struct sim_kick_list *list, uint32_t slot)
{
    struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    kick->next = UINT32_MAX;
    if (list->first == UINT32_MAX) {
        list->first = slot;
    } else {
        ((struct sim_kick *)sim_slots_at(&world->kicks, list->last))->next = slot;
    }
    list->last = slot;
}

/* The lock's ticket and the completion are the host's. A request for which the tables have no
 * room ends at once. */
static int request_service(struct sim_world *world, struct sim_node *node, struct sim_kick *kick)
{
    struct sim_host *host = &world->hosts[kick->host];
    uint64_t now_ns = sim_now_ns(world);
    bool is_chain = world->config.locks == SIM_LOCKS_CHAIN;
    int error = 0;
    switch (kick->kind) {
    case SIM_KICK_BARRIER:
        error = nic_packet_barrier_arrive(node->services, now_ns, (uint32_t)kick->address,
                                          &host->completion);
        break;
    case SIM_KICK_LOCK:
        error = is_chain ? nic_chain_lock_request(node->services, (uint16_t)kick->value,
                                                  kick->address, &host->completion, kick->ticket)
                         : nic_packet_lock_request(node->services, now_ns, (uint16_t)kick->value,
                                                   kick->address, false, NULL, &host->completion,
                                                   kick->ticket);
        break;
    case SIM_KICK_UNLOCK:
        return is_chain ? nic_chain_lock_release(node->services, kick->address)
                        : nic_packet_lock_release(node->services, now_ns, kick->address);
    default: sim_message_kicked(node, kick); return 0;
    }
    if (error) {
        nic_completion_finish(&host->completion, error, 0);
    }
    return error;
}

static void write_locally(struct sim_world *world, struct sim_node *node,
                          const struct sim_kick *kick)
{
    INVARIANT(kick->address + kick->bytes <= world->machine->llcm_bytes);
    memcpy(node->memory + kick->address, &kick->value, kick->bytes);
    sim_hosts_see(world, node, kick->address, kick->bytes);
}

static bool makes_a_flight(const struct sim_kick *kick)
{
    return kick->kind <= SIM_KICK_PACKET;
}

static bool is_in_a_window(enum sim_kick_kind kind)
{
    return kind == SIM_KICK_BOTF || kind == SIM_KICK_PACKET;
}

/* Turns the kick into a transaction (or a service's state). DN_EFULL: the FIFO has no room yet. */
static int take_in(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    struct sim_host *host = &world->hosts[kick->host];
    uint32_t user = host->user;
    if (makes_a_flight(kick)) {
        nic_tag_next(node->engine, slot + 1);
    }
    switch (kick->kind) {
    case SIM_KICK_AOTF:
    case SIM_KICK_MULTICAST:
        return nic_aotf(node->engine, user, kick->address, kick->value, (unsigned)kick->bytes);
    case SIM_KICK_BOTF:
        return nic_botf(node->engine, user, kick->remote, sim_slots_at(&world->blocks, kick->block),
                        (uint32_t)kick->bytes);
    case SIM_KICK_PACKET:
        return nic_botf_packet(node->engine, user, (uint16_t)kick->remote.rank,
                               sim_slots_at(&world->blocks, kick->block), (uint32_t)kick->bytes);
    case SIM_KICK_PUSH:
        return nic_push(node->engine, user, kick->remote, kick->local, kick->bytes,
                        &host->completion);
    case SIM_KICK_PULL:
        return nic_pull(node->engine, user, kick->remote, kick->local, kick->bytes,
                        &host->completion);
    case SIM_KICK_LOCAL: write_locally(world, node, kick); return 0;
    case SIM_KICK_STORE_OUTSIDE:
    case SIM_KICK_BLOCK_OUTSIDE:
    case SIM_KICK_REQUEST_OUTSIDE:
    case SIM_KICK_SERVICE_OUTSIDE: sim_outside_kicked(world, node, kick); return 0;
    case SIM_KICK_QUIET:
        return nic_quiet(node->engine, user, &host->quiets[host->quiet_count++ % NIC_TRANSACTIONS]);
    case SIM_KICK_BARRIER:
    case SIM_KICK_LOCK:
    case SIM_KICK_UNLOCK:
    case SIM_KICK_SEND:
    case SIM_KICK_READ: (void)request_service(world, node, kick); return 0;
    }
    return 0;
}

/* Whether it was taken in. A kick that asks for the impossible is the program's mistake. */
static bool try_kick(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    int error = take_in(world, node, slot);
    if (error == DN_EFULL) {
        return false;
    }
    INVARIANT(!error);
    if (is_in_a_window(kick->kind)) {
        sim_slots_give(&world->blocks, kick->block);
    }
    if (!makes_a_flight(kick)) {
        sim_slots_give(&world->kicks, slot);
    }
    return true;
}

/* A missing stage takes no time, but a kick still waits for the bus's edge. */
static uint64_t period_of(const struct sim_world *world, enum sim_stage_name stage)
{
    return world->stage_is_there[stage] ? world->period_ps[world->machine->stages[stage].clock]
                                        : world->bus_ps;
}

static void note_use(const struct sim_world *world, const struct sim_node *node,
                     const struct sim_kick *kick)
{
    if (world->stage_is_there[SIM_STAGE_HOST_WRITE] && !world->hosts[kick->host].is_core) {
        sim_use_note(node, SIM_STAGE_HOST_WRITE, world->now_ps, kick->come_ps, kick->written_ps);
    }
    if (world->stage_is_there[SIM_STAGE_TRANSACTION_QUEUE] && kick->kind != SIM_KICK_LOCAL) {
        sim_use_note(node, SIM_STAGE_TRANSACTION_QUEUE, kick->written_ps, kick->queued_ps,
                     kick->ready_ps);
    }
}

/* Kicks go through HOST_WRITE one each clock, in the order in which they come, then through the
 * queue. */
static void enter(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    const struct sim_stage *stages = world->machine->stages;
    uint64_t write_period_ps = period_of(world, SIM_STAGE_HOST_WRITE);
    uint64_t queue_period_ps = period_of(world, SIM_STAGE_TRANSACTION_QUEUE);
    uint64_t *free_ps = &node->stage_free_ps[SIM_STAGE_HOST_WRITE];
    if (world->hosts[kick->host].is_core) {
        kick->come_ps = kick->written_ps = world->now_ps; /* inside the chip already */
    } else {
        kick->come_ps = sim_edge(write_period_ps,
                                 *free_ps > world->now_ps ? *free_ps : world->now_ps);
        *free_ps = kick->come_ps + write_period_ps;
        kick->written_ps = kick->come_ps +
                           sim_cycles(write_period_ps, stages[SIM_STAGE_HOST_WRITE].cycles);
    }
    kick->queued_ps = sim_edge(queue_period_ps, kick->written_ps);
    kick->ready_ps = kick->queued_ps +
                     sim_cycles(queue_period_ps, stages[SIM_STAGE_TRANSACTION_QUEUE].cycles);
    note_use(world, node, kick);
    if (kick->kind == SIM_KICK_LOCAL) {
        sim_put(world, kick->written_ps, SIM_EVENT_KICK, slot, SIM_KICK_READY);
    } else if (kick->kind >= SIM_KICK_BARRIER) {
        sim_put(world, kick->written_ps, SIM_EVENT_KICK, slot, SIM_KICK_WRITTEN);
    } else {
        sim_put(world, kick->ready_ps, SIM_EVENT_KICK, slot, SIM_KICK_READY);
    }
}

/* The kick goes into the FIFO, or behind its own user's waiting kicks; the others have their own
 * credits. */
static void queue(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    const struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    struct sim_host *host = &world->hosts[kick->host];
    if (host->waiting.first != UINT32_MAX || !try_kick(world, node, slot)) {
        append_kick(world, &host->waiting, slot);
        node->waiting++;
        return;
    }
    sim_hosts_look(world, node);
    node->stirred = true;
    sim_pump_at(world, node, world->now_ps);
}

void sim_kick_event(struct sim_world *world, uint32_t slot, enum sim_kick_phase phase)
{
    const struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    struct sim_node *node = &world->nodes[world->hosts[kick->host].node];
    switch (phase) {
    case SIM_KICK_COMES: enter(world, node, slot); break;
    case SIM_KICK_WRITTEN:
        if (kick->kind == SIM_KICK_READ && !sim_message_stirs_core(node)) {
            sim_kick_served(world, slot); /* a word of the NIC's memory, and no more */
        } else {
            sim_core_request(world, node, SIM_REQUEST_KICK, slot, 0, 0);
        }
        break;
    case SIM_KICK_READY: queue(world, node, slot); break;
    }
}

void sim_kick_served(struct sim_world *world, uint32_t slot)
{
    const struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    if (kick->ready_ps > world->now_ps) {
        sim_put(world, kick->ready_ps, SIM_EVENT_KICK, slot, SIM_KICK_READY);
    } else {
        sim_kick_event(world, slot, SIM_KICK_READY);
    }
}

static void retry_host(struct sim_world *world, struct sim_node *node, struct sim_host *host)
{
    while (host->waiting.first != UINT32_MAX) {
        uint32_t slot = host->waiting.first;
        uint32_t next = ((struct sim_kick *)sim_slots_at(&world->kicks, slot))->next;
        if (!try_kick(world, node, slot)) {
            return;
        }
        host->waiting.first = next;
        node->waiting--;
    }
}

void sim_kicks_retry(struct sim_world *world, struct sim_node *node)
{
    if (node->waiting == 0) {
        return;
    }
    /* Users have their own credits but share windows and descriptors, so they take turns. */
    uint32_t first = node->retry_first++;
    for (uint32_t i = 0; i < node->host_count && node->waiting > 0; i++) {
        retry_host(world, node, &world->hosts[node->first_host + (first + i) % node->host_count]);
    }
}

/* ---- Out of it -------------------------------------------------------------------------- */

/* Notes the stages that the kick went through before there was a flight. */
static void note_kick(const struct sim_world *world, const struct sim_node *node,
                      struct sim_flight *flight, const struct sim_kick *kick)
{
    if (!flight->passage) {
        return;
    }
    flight->passage->kicked_ps = kick->started_ps;
    sim_flight_note(flight, SIM_STAGE_HOST_WRITE, kick->come_ps, kick->written_ps);
    sim_flight_note(flight, SIM_STAGE_TRANSACTION_QUEUE, kick->queued_ps, kick->ready_ps);
    sim_stage_show(world, node, SIM_STAGE_HOST_WRITE, flight);
    sim_stage_show(world, node, SIM_STAGE_TRANSACTION_QUEUE, flight);
}

void sim_kick_recorded(void *context, const struct wire_route *route)
{
    struct sim_node *node = context;
    append_kick(node->world, &node->recorded, route->tag - 1);
}

/* The oldest kick of this target and channel; *previous is the one before it in the list. */
static uint32_t find_kick(const struct sim_world *world, const struct sim_node *node,
                          const struct sim_flight *flight, uint32_t *previous)
{
    *previous = UINT32_MAX;
    for (uint32_t slot = node->recorded.first; slot != UINT32_MAX;) {
        const struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
        if (kick->remote.rank == (int)flight->target &&
            world->hosts[kick->host].user % NIC_SERVICE_CHANNEL == flight->channel) {
            return slot;
        }
        *previous = slot;
        slot = kick->next;
    }
    return UINT32_MAX;
}

static void remove_kick(struct sim_world *world, struct sim_kick_list *list, uint32_t slot,
                        uint32_t previous)
{
    const struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    if (previous == UINT32_MAX) {
        list->first = kick->next;
    } else {
        ((struct sim_kick *)sim_slots_at(&world->kicks, previous))->next = kick->next;
    }
    list->last = list->last == slot ? previous : list->last;
}

enum sim_kick_kind sim_kick_claim(struct sim_world *world, struct sim_node *node,
                                  struct sim_flight *flight)
{
    uint32_t previous;
    uint32_t slot = find_kick(world, node, flight, &previous);
    INVARIANT(slot != UINT32_MAX);
    const struct sim_kick *kick = sim_slots_at(&world->kicks, slot);
    enum sim_kick_kind kind = kick->kind;
    note_kick(world, node, flight, kick);
    if (is_in_a_window(kind)) {
        if (flight->host != UINT32_MAX) {
            /* One packet holds several blocks: the windows of all but the last are free. */
            sim_host_window_drained(world, flight->host);
        }
        flight->host = kick->host;
    } else if (kick->kind == SIM_KICK_MULTICAST) {
        flight->target = kick->first;
        flight->target_count = kick->count;
    }
    remove_kick(world, &node->recorded, slot, previous);
    sim_slots_give(&world->kicks, slot);
    return kind;
}
