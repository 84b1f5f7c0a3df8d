/* From the transaction FIFO to the link, and all stages: header TLB, size decision, send buffer,
 * those of InfiniSWIF or the SWIF, and on the receiving side those up to LLCM. */
#include "sim/model/state.h"

/* ---- Transactions become flights ------------------------------------------------------- */

void sim_pump_at(struct sim_world *world, struct sim_node *node, uint64_t at_ps)
{
    if (at_ps < node->pump_ps) {
        world->pumps_due += node->pump_ps == UINT64_MAX;
        node->pump_ps = at_ps;
        sim_put(world, at_ps, SIM_EVENT_PUMP, node->number, 0);
    }
}

void sim_stage_show(const struct sim_world *world, const struct sim_node *node,
                    enum sim_stage_name stage, const struct sim_flight *flight)
{
    if (world->config.timeline) {
        sim_timeline_span(world->config.timeline, node->number, stage, sim_stage_texts[stage],
                          flight->passage->from_ps[stage], flight->passage->to_ps[stage],
                          flight->number);
    }
}

static const unsigned char *first_record(bool is_cd, const unsigned char *data, uint32_t *bytes)
{
    struct wire_header header;
    if (!is_cd) {
        return data;
    }
    if (!wire_header_decode(data, *bytes, &header)) {
        *bytes = 0;
        return data;
    }
    *bytes = header.body_bytes;
    return data + WIRE_PREFIX_BYTES + header.ack_bytes;
}

/* Words that a further operation in one packet adds for its address and length. */
enum { FURTHER_WORDS = 1 };

static uint32_t data_bytes_of(const struct wire_operation *operation)
{
    switch (operation->opcode) {
    case WIRE_AOTF:
    case WIRE_BOTF:
    case WIRE_PUSH:
    case WIRE_PULLED:
    case WIRE_FETCHED: return operation->bytes;
    default: return wire_operation_bytes(operation) - WIRE_OPERATION_BYTES;
    }
}

/* Charges the flight with header TLB misses that no flight has been charged with. CD's packets
 * hold several stores, and further ones may have been looked up before the first leaves. */
static void charge_misses(struct sim_node *node, struct sim_flight *flight)
{
    if (node->world->config.outside) {
        flight->header_misses = flight->header_misses < flight->stores ? flight->header_misses
                                                                       : flight->stores;
        node->header_misses += flight->header_misses;
        return;
    }
    uint64_t misses = nic_engine_counters(node->engine)->header_misses - node->header_misses;
    flight->header_misses = (uint16_t)(misses < flight->stores ? misses : flight->stores);
    node->header_misses += flight->header_misses;
}

/* Counts the operations of a body, and gives their words. */
static uint64_t count_operations(struct sim_world *world, struct sim_node *node,
                                 struct sim_flight *flight, const unsigned char *body,
                                 uint32_t bytes, uint32_t *operations)
{
    struct wire_operation operation;
    uint32_t at = 0;
    uint64_t words = 0;
    while (wire_operation_decode(body, bytes, flight->class, &at, &operation)) {
        uint32_t data_bytes = data_bytes_of(&operation);
        words += (data_bytes + 7) / 8 + (*operations > 0 ? FURTHER_WORDS : 0);
        flight->data_bytes += data_bytes;
        flight->is_service = flight->is_service || operation.opcode == WIRE_SERVICE;
        flight->is_message = flight->is_message ||
                             (operation.opcode == WIRE_SERVICE && operation.detail == WIRE_MESSAGE);
        if (operation.opcode <= WIRE_ATOMIC &&
            !(operation.opcode == WIRE_AOTF && operation.detail == WIRE_SKIP)) {
            flight->area = operation.area;
        }
        flight->writes = flight->writes || operation.opcode <= WIRE_PUSH;
        (*operations)++;
        if (world->config.outside) {
            flight->stores = (uint16_t)(flight->stores +
                                        (operation.opcode == WIRE_AOTF && !flight->is_repeat));
            continue;
        }
        bool is_kick = flight->is_cd
                           ? operation.opcode == WIRE_AOTF || operation.opcode == WIRE_BOTF
                           : flight->is_tagged;
        if (is_kick && !flight->is_repeat) {
            bool is_store = sim_kick_claim(world, node, flight) <= SIM_KICK_MULTICAST;
            flight->stores = (uint16_t)(flight->stores + is_store);
        }
    }
    return words;
}

/* Finds out how long the packet is, as the papers count, and what the receiver must do with it. */
static void measure(struct sim_world *world, struct sim_node *node, struct sim_flight *flight)
{
    const struct sim_machine *machine = world->machine;
    uint32_t bytes = flight->bytes;
    uint32_t operations = 0;
    const unsigned char *body = first_record(flight->is_cd, flight->data, &bytes);
    flight->number = ++world->packet_count;
    uint64_t words = machine->packet_overhead_bytes / 8 +
                     count_operations(world, node, flight, body, bytes, &operations);
    const struct sim_parcel *parcel = flight->parcels ? flight->parcels->next : NULL;
    for (; parcel; parcel = parcel->next) {
        uint32_t more_bytes = parcel->head.bytes;
        body = first_record(flight->is_cd, parcel->data, &more_bytes);
        words += count_operations(world, node, flight, body, more_bytes, &operations);
    }
    flight->is_unknown = operations == 0 && flight->is_tagged;
    if (flight->is_unknown) {
        (void)sim_kick_claim(world, node, flight);
        flight->data_bytes = bytes - WIRE_OPERATION_BYTES;
        words += (flight->data_bytes + 7) / 8;
    } else if (operations == 0) { /* an acknowledgement alone */
        words = (machine->packet_ack_bytes ? machine->packet_ack_bytes
                                           : machine->packet_overhead_bytes) /
                8;
    }
    flight->words = (uint32_t)words;
    charge_misses(node, flight);
}

/* Acknowledgements are InfiniSWIF's own: the stages before it do not see them. */
static bool is_of_the_nic(const struct sim_flight *flight)
{
    return flight->data_bytes > 0 || !flight->is_cd;
}

static void count_lookups(const struct sim_node *node, const struct sim_flight *flight)
{
    if (node->use) {
        bool has_context = flight->is_cd && flight->data_bytes > 0;
        node->use->header_lookups += flight->stores;
        node->use->header_misses += flight->header_misses;
        node->use->context_lookups += has_context;
        node->use->context_misses += has_context && !flight->context_hit;
        node->use->repeats += flight->is_repeat;
    }
}

static void launch(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    struct sim_flight *flight = sim_flight_at(world, slot);
    uint64_t start_ps = world->now_ps;
    measure(world, node, flight);
    count_lookups(node, flight);
    node->sending++;
    if (flight->is_service) {
        start_ps = sim_core_work(world, node, "send", start_ps, world->machine->core_send_cycles,
                                 flight->number);
    }
    bool is_of_memory = flight->is_service ? flight->is_message
                                           : flight->stores == 0 && flight->host == UINT32_MAX;
    if (is_of_memory && flight->data_bytes > 0 && !flight->is_repeat) {
        /* From the bank that faces the network, from SB, or from a card's host memory. */
        (void)sim_dma_read(world, node, start_ps, flight->data_bytes, &start_ps);
    }
    enum sim_stage_name stage = is_of_the_nic(flight) ? SIM_STAGE_HEADER_TLB : SIM_STAGE_CORE_SEND;
    bool is_numbered = flight->is_cd && stage == SIM_STAGE_HEADER_TLB;
    if (is_numbered) {
        /* The peer takes packets in the order of their numbers, so none starts before another. */
        start_ps = start_ps > node->launched_ps ? start_ps : node->launched_ps;
        node->launched_ps = start_ps;
    }
    if (is_numbered || start_ps > world->now_ps) {
        sim_put(world, start_ps, SIM_EVENT_STAGE, slot, stage);
    } else {
        sim_stage_event(world, slot, stage);
    }
}

/* When the next flight may set out, so that it reaches the stage that limits the rate just when
 * that stage is free, and not earlier. */
static uint64_t gate_ps(const struct sim_world *world, const struct sim_node *node)
{
    if (!world->stage_is_there[SIM_STAGE_CORE_SEND]) {
        return node->stage_free_ps[SIM_STAGE_HEADER_TLB];
    }
    uint64_t free_ps = node->stage_free_ps[SIM_STAGE_CORE_SEND];
    return free_ps > world->core_send_lead_ps ? free_ps - world->core_send_lead_ps : 0;
}

void sim_pump_event(struct sim_world *world, struct sim_node *node)
{
    if (world->now_ps != node->pump_ps) {
        return; /* an earlier pump has done it */
    }
    node->pump_ps = UINT64_MAX;
    world->pumps_due--;
    sim_kicks_retry(world, node);
    while (node->sending < world->machine->send_buffers) {
        uint64_t free_ps = gate_ps(world, node);
        if (free_ps > world->now_ps) {
            if (sim_carrier_has_work(node)) {
                sim_pump_at(world, node, free_ps);
            }
            break;
        }
        uint32_t slot = sim_carrier_next(world, node);
        if (slot == UINT32_MAX) {
            /* Needed only here: where a flight is being sent, its end pumps again. */
            sim_carrier_set_timer(world, node);
            break;
        }
        launch(world, node, slot);
        sim_kicks_retry(world, node);
    }
    sim_hosts_look(world, node);
}

/* ---- Stages ---------------------------------------------------------------------------- */

static bool is_there(const struct sim_world *world, const struct sim_flight *flight,
                     enum sim_stage_name stage)
{
    if (stage == SIM_STAGE_PADDING) {
        return 8 * flight->words < world->machine->packet_pad_bytes;
    }
    if ((stage == SIM_STAGE_ADDRESS_TLB && flight->area == 0) ||
        (stage == SIM_STAGE_HEADER_TLB && flight->stores == 0)) {
        return false;
    }
    return world->stage_is_there[stage];
}

static uint64_t padding_ps(const struct sim_world *world, const struct sim_flight *flight)
{
    uint64_t missing_bytes = world->machine->packet_pad_bytes - 8 * flight->words;
    return missing_bytes * UINT64_C(1000000000000) / world->machine->link_mb_per_s;
}

/* How long the stage keeps this flight, without TLB refills. */
static uint64_t duration_ps(const struct sim_world *world, const struct sim_flight *flight,
                            enum sim_stage_name name)
{
    const struct sim_stage *stage = &world->machine->stages[name];
    if (name == SIM_STAGE_PADDING) {
        return padding_ps(world, flight);
    }
    uint64_t cycles = stage->cycles + stage->word_cycles * flight->words;
    cycles += flight->is_cd ? stage->cd_cycles : 0;
    cycles += world->swif_is_slow ? stage->slow_cycles : 0;
    bool is_miss = name == SIM_STAGE_TRANSPORT_SEND && !flight->context_hit;
    bool is_fetched = is_miss && world->machine->carrier_kept != 0;
    cycles += is_miss && !is_fetched ? stage->miss_cycles : 0;
    return sim_cycles(world->period_ps[stage->clock], cycles) +
           (is_fetched ? world->machine->carrier_fetch : 0);
}

static bool count_address(const struct sim_node *node, bool misses)
{
    if (node->use) {
        node->use->address_lookups++;
        node->use->address_misses += misses;
    }
    return misses;
}

static uint32_t misses_of(struct sim_node *node, const struct sim_flight *flight,
                          enum sim_stage_name name)
{
    switch (name) {
    case SIM_STAGE_HEADER_TLB: return flight->header_misses;
    case SIM_STAGE_ADDRESS_TLB:
        return count_address(node, node->engine ? nic_engine_recall_area(node->engine, flight->area)
                                                : sim_outside_recalls(node, flight->area));
    default: return 0;
    }
}

/* How much longer TLB refills take. */
static uint64_t refill_ps(struct sim_world *world, struct sim_node *node,
                          const struct sim_flight *flight, enum sim_stage_name name,
                          uint64_t start_ps)
{
    const struct sim_stage *stage = &world->machine->stages[name];
    uint64_t done_ps = start_ps;
    for (uint32_t misses = misses_of(node, flight, name); misses > 0; misses--) {
        done_ps = sim_refill(world, node, done_ps, flight->number) +
                  sim_cycles(world->period_ps[stage->clock], stage->miss_cycles);
    }
    return done_ps - start_ps;
}

/* How long until the next flight may enter, without TLB refills. */
static uint64_t interval_ps(const struct sim_world *world, const struct sim_flight *flight,
                            enum sim_stage_name name)
{
    const struct sim_stage *stage = &world->machine->stages[name];
    uint64_t cycles = (stage->word_cycles + stage->word_gap_cycles) * flight->words +
                      stage->gap_cycles + (flight->is_cd ? stage->cd_gap_cycles : 0);
    bool is_fetched = name == SIM_STAGE_TRANSPORT_SEND && !flight->context_hit &&
                      world->machine->carrier_kept != 0;
    return sim_cycles(world->period_ps[stage->clock], cycles > 0 ? cycles : 1) +
           (is_fetched ? world->machine->carrier_fetch : 0);
}

static void note_left(struct sim_world *world, struct sim_node *node, struct sim_flight *flight)
{
    flight->has_left = true;
    node->sending--;
    sim_carrier_left(world, node, flight);
    if (flight->host != UINT32_MAX) {
        sim_host_window_drained(world, flight->host);
    }
    if (sim_carrier_has_work(node) || node->waiting > 0) {
        sim_pump_at(world, node, world->now_ps);
    }
    sim_hosts_look(world, node);
}

static void put_left(struct sim_world *world, uint64_t at_ps, uint32_t source, uint32_t slot)
{
    uint64_t number = sim_flight_at(world, slot)->number;
    sim_put(world, at_ps, SIM_EVENT_LEFT, source, number << 32 | slot);
}

void sim_left_event(struct sim_world *world, struct sim_node *node, uint64_t value)
{
    uint32_t slot = (uint32_t)value;
    struct sim_flight *flight = sim_flight_at(world, slot);
    if (flight->has_left || (uint32_t)flight->number != value >> 32) {
        return; /* it arrived before, and its slot may be another one's */
    }
    flight->is_stopped = sim_network_is_stopped(world->network, node->number, slot);
    if (!flight->is_stopped) {
        note_left(world, node, flight);
    }
}

void sim_left_early(struct sim_world *world, struct sim_flight *flight)
{
    if (!flight->has_left) {
        note_left(world, &world->nodes[flight->source], flight);
    }
}

void sim_left(void *context, uint32_t source, uint32_t slot)
{
    struct sim_world *world = context;
    struct sim_flight *flight = sim_flight_at(world, slot);
    if (flight->is_stopped) {
        flight->is_stopped = false;
        put_left(world, world->now_ps, source, slot);
    }
}

uint32_t sim_flight_link_bytes(const struct sim_world *world, const struct sim_flight *flight)
{
    uint64_t pad_bytes = world->machine->packet_pad_bytes;
    return (uint32_t)(8 * flight->words > pad_bytes ? 8 * flight->words : pad_bytes);
}

static void count_sent(const struct sim_world *world, const struct sim_node *node,
                       const struct sim_flight *flight, uint64_t from_ps)
{
    struct sim_nic_use *use = node->use;
    if (use) {
        use->sent++;
        use->sent_bytes += sim_flight_link_bytes(world, flight);
        use->stages[SIM_STAGE_LINK].waited_ps += from_ps - world->now_ps;
        use->under_way_since = use->under_way > 0 ? use->under_way_since : from_ps;
        use->under_way += flight->target_count;
    }
}

/* The flight goes onto the link as soon as that is free. */
static void leave(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    struct sim_flight *flight = sim_flight_at(world, slot);
    uint64_t *free_ps = &node->stage_free_ps[SIM_STAGE_LINK];
    uint32_t bytes = sim_flight_link_bytes(world, flight);
    uint64_t from_ps = *free_ps > world->now_ps ? *free_ps : world->now_ps;
    sim_flight_note(flight, SIM_STAGE_LINK, from_ps, 0);
    count_sent(world, node, flight, from_ps);
    flight->copies = flight->target_count;
    if (from_ps > world->now_ps) {
        /* Put before the network's event, so that it leaves before it arrives. */
        put_left(world, from_ps, node->number, slot);
    }
    if (flight->target_count > 1) {
        *free_ps = sim_network_multicast(world->network, world->now_ps, node->number,
                                         flight->target, flight->target_count, bytes, slot);
    } else if (flight->class == WIRE_REPLY) {
        *free_ps = sim_network_reply(world->network, world->now_ps, node->number, flight->target,
                                     bytes, slot);
    } else {
        *free_ps = sim_network_send(world->network, world->now_ps, node->number, flight->target,
                                    bytes, slot);
    }
    if (from_ps == world->now_ps) {
        sim_left_event(world, node, flight->number << 32 | slot);
    }
}

void sim_stage_event(struct sim_world *world, uint32_t slot, unsigned first)
{
    struct sim_flight *flight = sim_flight_at(world, slot);
    struct sim_node *node = &world->nodes[flight->node];
    if (first == SIM_STAGES) {
        launch(world, node, slot);
        return;
    }
    unsigned name = first;
    while (name < SIM_STAGES && name != SIM_STAGE_LINK && !is_there(world, flight, name)) {
        uint64_t out_ps = node->stage_out_ps[name];
        sim_flight_note(flight, name, world->now_ps, world->now_ps);
        name++;
        if (out_ps > 0 && out_ps >= world->now_ps) {
            /* It skips the stage, but does not overtake those in it. */
            sim_put(world, out_ps, SIM_EVENT_STAGE, slot, name);
            return;
        }
    }
    if (name == SIM_STAGES) {
        sim_receive_stages_done(world, node, slot, world->now_ps);
        return;
    }
    if (name == SIM_STAGE_LINK) {
        leave(world, node, slot);
        return;
    }
    uint64_t *free_ps = &node->stage_free_ps[name];
    uint64_t ready_ps = *free_ps > world->now_ps ? *free_ps : world->now_ps;
    uint64_t start_ps = ready_ps;
    uint64_t more_ps = 0;
    if (name != SIM_STAGE_PADDING) {
        start_ps = sim_edge(world->period_ps[world->machine->stages[name].clock], ready_ps);
        more_ps = refill_ps(world, node, flight, name, start_ps);
        *free_ps = start_ps + interval_ps(world, flight, name) + more_ps;
    }
    uint64_t end_ps = start_ps + duration_ps(world, flight, name) + more_ps;
    uint64_t *out_ps = &node->stage_out_ps[name];
    end_ps = end_ps > *out_ps ? end_ps : *out_ps;
    *out_ps = end_ps;
    sim_flight_note(flight, name, start_ps, end_ps);
    sim_use_note(node, name, world->now_ps, start_ps, end_ps);
    sim_stage_show(world, node, name, flight);
    if (name + 1 == SIM_STAGES) {
        sim_receive_stages_done(world, node, slot, end_ps);
    } else {
        sim_put(world, end_ps, SIM_EVENT_STAGE, slot, name + 1);
    }
}
