/* What calls take, and packets that are carried at once; see in_place.h. */
#include "sim/model/in_place.h"

#include "sim/model/state.h"

enum { WORD_BYTES = 8 }; /* what one store writes */

/* ---- What a call takes ---------------------------------------------------------------------- */

static uint64_t rate_ps(uint64_t bytes, uint64_t bytes_per_s)
{
    return bytes_per_s > 0 ? (uint64_t)((double)bytes * 1e12 / (double)bytes_per_s + 0.5) : 0;
}

static uint64_t copy_ps(const struct sim_machine *machine, uint64_t bytes)
{
    uint64_t near = bytes < machine->call_copy_near ? bytes : machine->call_copy_near;
    return rate_ps(near, machine->call_copy_mb_per_s) +
           rate_ps(bytes - near, machine->call_copy_far_mb_per_s);
}

static uint64_t request_ps(const struct sim_machine *machine, uint16_t detail, uint64_t bytes)
{
    switch ((enum turn_asked)turn_asking_what(detail)) {
    case TURN_ASKS_PUSH: return machine->call_push + copy_ps(machine, bytes);
    case TURN_ASKS_PULL: return machine->call_pull + copy_ps(machine, bytes);
    case TURN_ASKS_ATOMIC: return machine->call_atomic;
    case TURN_ASKS_FENCE: return machine->call_fence;
    case TURN_ASKS_QUIET: return machine->call_quiet;
    }
    return 0;
}

static uint64_t step_ps(const struct sim_machine *machine, enum turn_word word, uint16_t detail,
                        uint64_t value)
{
    switch (word) {
    case TURN_STORE: return machine->call_store;
    case TURN_BLOCK:
        return value <= WORD_BYTES ? machine->call_store
                                   : machine->call_block + copy_ps(machine, value);
    case TURN_REQUEST: return request_ps(machine, detail, value);
    case TURN_SERVICE: return machine->call_service;
    default: return 0;
    }
}

void sim_in_place_step(struct sim_host *host, enum turn_word word, uint16_t detail, uint64_t value,
                       struct sim_parcels *parcels)
{
    struct sim_world *world = host->world;
    uint64_t end_ps = host->now_ps + step_ps(world->machine, word, detail, value);
    sim_in_place_carry(world, sim_node_of(host), parcels, end_ps);
    sim_host_go_on(host, "call", end_ps);
}

void sim_in_place_look(struct sim_host *host)
{
    sim_host_go_on(host, "look", host->now_ps + host->world->machine->call_look);
}

/* A line that another core has written comes [call] see_ns later. What came at the very moment at
 * which the wait began was brought by the program's own request, or is a free lock. */
void sim_in_place_found(struct sim_host *host, uint64_t since_ps, bool meets)
{
    const struct sim_machine *machine = host->world->machine;
    uint64_t see_ps = meets ? machine->call_meet : machine->call_see;
    sim_host_go_on(host, "look", host->now_ps + (host->now_ps > since_ps ? see_ps : 0));
}

/* ---- Packets -------------------------------------------------------------------------------- */

/* In place a lock that is free is taken by one instruction. */
static uint64_t record_ps(const struct sim_machine *machine, const struct sim_parcel *parcel)
{
    struct wire_operation operation;
    uint32_t at = 0;
    if (parcel->head.channel != NIC_SERVICE_CHANNEL || parcel->head.class != WIRE_REQUEST ||
        !wire_operation_decode(parcel->data, parcel->head.bytes, WIRE_REQUEST, &at, &operation) ||
        operation.opcode != WIRE_SERVICE || operation.detail == WIRE_LOCK) {
        return 0;
    }
    return machine->call_record;
}

void sim_in_place_carry(struct sim_world *world, struct sim_node *node, struct sim_parcels *parcels,
                        uint64_t at_ps)
{
    struct sim_parcel *next;
    for (struct sim_parcel *parcel = parcels->first; parcel; parcel = next) {
        next = parcel->next;
        bool keeps_order = parcel->head.class == WIRE_REQUEST &&
                           parcel->head.channel != NIC_SERVICE_CHANNEL;
        uint64_t there_ps = at_ps + record_ps(world->machine, parcel);
        if (keeps_order) {
            /* A long step may still be under way when the rest of its packets comes. */
            there_ps = there_ps > node->launched_ps ? there_ps : node->launched_ps;
            node->launched_ps = there_ps;
        }
        uint32_t target = parcel->head.peer;
        sim_put(world, there_ps, SIM_EVENT_CARRY, target, sim_outside_flight(world, node, parcel));
        world->packet_count++;
    }
    bool is_last = parcels->first != NULL;
    *parcels = (struct sim_parcels){0};
    if (is_last) {
        world->config.outside->drained(world->config.outside->context, node->number);
    }
}
