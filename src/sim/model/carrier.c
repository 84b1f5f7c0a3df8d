/* What lies between NIC and link.
 *
 * Plain and UD: nothing. The engine's records go out as they are, one to a packet; since the
 * network loses nothing, a packet is done once it has left. CD: InfiniSWIF, on the same board as
 * the udp fabric's; its packets go out, acknowledgements included. */
#include "sim/model/state.h"

#include "nic/header_tlb.h"
#include "sim/model/core_memory.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    INCARNATION = 1,
    TRANSFERS = 16,
    OUTSTANDING = 64,
    CD_BUFFERS = 1024, /* packets that wait for their acknowledgement */
    LOCKS = 64,
    WAITERS_MAX = 1 << 20,
    KICK_PAGES_MIN = 4096,
};

/* ---- A node's memory ---------------------------------------------------------------------- */

static int find_area(void *context, uint32_t area, struct nic_extent *extent)
{
    const struct sim_node *node = context;
    const struct sim_machine *machine = node->world->machine;
    switch (area) {
    case SIM_AREA_LLCM:
        *extent = (struct nic_extent){.bytes = machine->llcm_bytes, .pgid = SIM_PGID};
        return 0;
    case SIM_AREA_BANK:
        *extent = (struct nic_extent){
            .offset = machine->llcm_bytes + node->network_bank * machine->bank_bytes,
            .bytes = machine->bank_bytes,
            .pgid = SIM_PGID,
        };
        return 0;
    default: return sim_region_find(node, area, extent);
    }
}

static void written(void *context, uint64_t offset, uint64_t bytes)
{
    struct sim_node *node = context;
    bool is_of_a_bank = offset >= node->world->machine->llcm_bytes;
    node->bank_arrivals += is_of_a_bank && node->bank_switcher != 0;
    sim_hosts_see(node->world, node, offset, bytes);
}

/* ---- Flights ------------------------------------------------------------------------------ */

struct sim_flight *sim_flight_take(struct sim_world *world, const struct sim_node *node,
                                   uint32_t bytes, uint32_t *slot)
{
    struct sim_flight *flight = sim_slots_take(&world->flights, slot);
    memset(flight, 0, offsetof(struct sim_flight, small));
    flight->data = flight->small;
    flight->body = UINT32_MAX;
    if (bytes > sizeof flight->small) {
        flight->data = sim_slots_take(&world->bodies, &flight->body);
    }
    if (world->keeps_passages) {
        flight->passage = (struct sim_passage *)(void *)((unsigned char *)flight +
                                                         SIM_FLIGHT_BYTES);
        memset(flight->passage, 0, sizeof *flight->passage);
    }
    flight->source = flight->node = node->number;
    flight->target_count = 1;
    flight->host = UINT32_MAX;
    flight->context_hit = true;
    return flight;
}

void sim_flight_give(struct sim_world *world, uint32_t slot)
{
    const struct sim_flight *flight = sim_flight_at(world, slot);
    if (flight->body != UINT32_MAX) {
        sim_slots_give(&world->bodies, flight->body);
    }
    if (flight->parcels) {
        sim_parcels_give(world, &(struct sim_parcels){.first = flight->parcels});
    }
    sim_slots_give(&world->flights, slot);
}

/* ---- Plain -------------------------------------------------------------------------------- */

static int append(void *context, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                  unsigned char **room)
{
    struct sim_node *node = context;
    struct sim_world *world = node->world;
    uint32_t slot;
    (void)now_ns;
    if (route->class == WIRE_REQUEST && (!node->may_make || node->made != UINT32_MAX)) {
        return DN_EFULL;
    }
    struct sim_flight *flight = sim_flight_take(world, node, bytes, &slot);
    flight->target = route->target;
    flight->class = route->class;
    flight->channel = route->channel;
    flight->cookie = route->cookie;
    flight->pgid = route->pgid;
    flight->is_tagged = route->tag != 0;
    flight->bytes = bytes;
    *room = flight->data;
    if (route->tag != 0) {
        sim_kick_recorded(node, route);
    }
    if (route->class == WIRE_REQUEST) {
        node->made = slot;
        node->appended++;
    } else {
        sim_put(world, world->now_ps, SIM_EVENT_STAGE, slot, SIM_STAGES);
    }
    return 0;
}

static bool has_reply_room(void *context, uint64_t now_ns, uint16_t peer)
{
    (void)context;
    (void)now_ns;
    (void)peer;
    return true;
}

/* Nothing to do: packets between two nodes keep their order. */
static void fence(void *context, uint16_t target, uint8_t channel)
{
    (void)context;
    (void)target;
    (void)channel;
}

static uint64_t mark(void *context)
{
    const struct sim_node *node = context;
    return node->appended;
}

static bool mark_is_passed(void *context, uint64_t number)
{
    const struct sim_node *node = context;
    return node->left >= number;
}

/* ---- Configurations -------------------------------------------------------------------- */

static bool is_cd(const struct sim_world *world)
{
    return world->machine->carrier_kind == SIM_CARRIER_CD;
}

static struct nic_engine_config engine_config(const struct sim_world *world, uint32_t number)
{
    /* Several to each node for each user; unused lines of the table are never touched. */
    uint64_t pages = 4 * (uint64_t)world->config.node_count * world->config.user_count;
    pages = pages < KICK_PAGES_MIN ? KICK_PAGES_MIN : pages;
    return (struct nic_engine_config){
        .node = (uint16_t)number,
        .pgid = SIM_PGID,
        .node_count = world->config.node_count,
        .kick_page_count = (uint32_t)(pages < NIC_KICK_PAGES_MAX ? pages : NIC_KICK_PAGES_MAX),
        .transfer_count = TRANSFERS,
        .outstanding_count = OUTSTANDING,
    };
}

static struct nic_services_config services_config(const struct sim_world *world, uint32_t number)
{
    struct nic_services_config config;
    nic_services_config_default(&config, world->config.node_count);
    config.node = (uint16_t)number;
    config.incarnation = INCARNATION;
    config.lock_count = config.lock_request_count = LOCKS;
    config.team_count = 1;
    config.context_count = 0;
    const struct sim_message_config *messages = &world->config.messages;
    if (messages->entries > 0) {
        config.messages = &nic_message_service;
        config.context_count = 1;
        config.context_peer_count = world->config.node_count;
        config.context_entry_count = messages->entries;
        config.context_send_bytes = messages->send_bytes;
        config.message_bytes_max = messages->bytes_max;
        config.message_back_off_ns = messages->back_off_ns;
        config.message_resend_ns = messages->resend_ns;
        config.message_asks_all = messages->asks_all;
        config.message_ask_bytes = messages->ask_bytes;
    }
    if (world->config.locks == SIM_LOCKS_CHAIN) {
        config.chain = &nic_chain_service;
        config.chain_count = LOCKS;
        config.chain_forward_count = world->config.node_count;
        config.lock_waiter_count = 0;
        return config;
    }
    /* Every user of every node can wait for one lock, as far as there is SRAM for it; unused lines
     * are never touched. */
    uint64_t waiters = (uint64_t)world->config.node_count * world->config.user_count;
    uint32_t most = sim_core_waiters_max(world->machine, &config);
    waiters = waiters < most ? waiters : most;
    config.lock_waiter_count = (uint32_t)(waiters < WAITERS_MAX ? waiters : WAITERS_MAX);
    if (world->config.lock_waiters > 0) {
        config.lock_waiter_count = world->config.lock_waiters;
    }
    return config;
}

static enum wire_stage highest_stage(const struct sim_machine *machine)
{
    static const enum wire_stage stages[] = {
        [SIM_ARQ_GO_BACK_N] = WIRE_GO_BACK_N,
        [SIM_ARQ_SELECTIVE_REPEAT] = WIRE_SELECTIVE_REPEAT,
        [SIM_ARQ_STOP_AND_WAIT] = WIRE_STOP_AND_WAIT,
    };
    return stages[machine->carrier_arq];
}

static struct board_config board_config(const struct sim_world *world, uint32_t number)
{
    struct board_config config;
    board_config_default(&config, world->config.node_count);
    config.engine = engine_config(world, number);
    config.services = services_config(world, number);
    config.swif.node = (uint16_t)number;
    config.swif.pgid = SIM_PGID;
    config.swif.incarnation = INCARNATION;
    config.swif.packet_bytes_max = swif_packet_bytes(world->body_bytes_max);
    if (world->machine->carrier_contexts > 0) {
        config.swif.ltee_count = (uint32_t)world->machine->carrier_contexts;
        config.swif.rtee_count = (uint32_t)world->machine->carrier_contexts;
    }
    if (world->machine->carrier_ways > 0) {
        config.swif.ways = (uint32_t)world->machine->carrier_ways;
    }
    while (world->machine->carrier_kept != 0 &&
           config.swif.ltee_count < 2 * world->config.node_count) {
        config.swif.ltee_count *= 2; /* so that no set is too small for its peers */
        config.swif.rtee_count *= 2;
    }
    config.swif.buffer_count[WIRE_REQUEST] = CD_BUFFERS;
    config.swif.buffer_count[WIRE_REPLY] = CD_BUFFERS;
    config.swif.stage_max = highest_stage(world->machine);
    /* The paper's hardware has only a window. */
    config.swif.congestion_control = false;
    return config;
}

/* ---- Set-up ---------------------------------------------------------------------------- */

static uint64_t to_lines(uint64_t bytes)
{
    return (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
}

uint64_t sim_carrier_bytes(const struct sim_world *world, char error[SIM_ERROR_BYTES])
{
    if (world->config.outside) {
        return CACHE_LINE_BYTES; /* there is nothing of it here */
    }
    struct nic_services_config tables = services_config(world, 0);
    if (world->config.services && !sim_core_tables_fit(world->machine, &tables, error)) {
        return 0;
    }
    if (is_cd(world)) {
        struct board_config config = board_config(world, 0);
        uint64_t bytes = board_bytes(&config);
        if (bytes == 0) {
            (void)snprintf(error, SIM_ERROR_BYTES,
                           "%s: [carrier] contexts and ways must be powers of two, ways no more "
                           "than contexts, and a packet must hold 464 bytes of data",
                           world->machine->name);
            return 0;
        }
        return to_lines(sizeof(struct board)) + to_lines(bytes);
    }
    struct nic_engine_config engine = engine_config(world, 0);
    struct nic_services_config services = services_config(world, 0);
    return nic_engine_bytes(&engine) +
           (world->config.services ? nic_services_bytes(&services) : 0) -
           sim_carrier_near_bytes(world);
}

uint64_t sim_carrier_near_bytes(const struct sim_world *world)
{
    if (is_cd(world) || world->config.outside) {
        return 0;
    }
    struct nic_services_config services = services_config(world, 0);
    return nic_engine_near_bytes() +
           (world->config.services ? nic_services_near_bytes(&services) : 0);
}

static void init_board(struct sim_world *world, struct sim_node *node, unsigned char *space,
                       const struct nic_local_memory *memory)
{
    const struct board_listener listener = {.context = node, .recorded = sim_kick_recorded};
    struct board_config config = board_config(world, node->number);
    node->board = (struct board *)(void *)space;
    int error = board_init(node->board, &config, memory, NULL, &listener, 0,
                           space + to_lines(sizeof(struct board)));
    INVARIANT(!error);
    node->engine = node->board->engine;
    node->services = node->board->services;
    if (world->machine->carrier_kept != 0) {
        node->chip = sim_lru_open(world->machine->carrier_contexts);
    }
}

void sim_carrier_init(struct sim_world *world, struct sim_node *node, unsigned char *near,
                      unsigned char *space)
{
    if (world->config.outside) {
        return;
    }
    const struct nic_local_memory memory = {
        .context = node,
        .base = node->memory,
        .bytes = world->memory_bytes,
        .find = find_area,
        .written = written,
        .unknown = sim_unknown_arrived,
    };
    if (is_cd(world)) {
        init_board(world, node, space, &memory);
        return;
    }
    const struct nic_network network = {
        .context = node,
        .body_bytes_max = world->body_bytes_max,
        .append = append,
        .has_reply_room = has_reply_room,
        .fence = fence,
        .mark = mark,
        .mark_is_passed = mark_is_passed,
    };
    struct nic_engine_config config = engine_config(world, node->number);
    node->engine = nic_engine_init(&config, &network, &memory, near, space);
    if (world->config.services) {
        const struct nic_services_hooks nobody_dies = {0};
        struct nic_services_config services = services_config(world, node->number);
        uint64_t near_bytes = nic_engine_near_bytes();
        node->services = nic_services_init(&services, &nobody_dies, near + near_bytes,
                                           space + nic_engine_bytes(&config) - near_bytes);
        nic_engine_serve(node->engine, node->services);
    }
}

void sim_carrier_introduce(struct sim_world *world, uint32_t one, uint32_t other)
{
    if (is_cd(world) && !world->config.outside) {
        struct swif *swifs[] = {world->nodes[one].board->swif, world->nodes[other].board->swif};
        swif_peer_is(swifs[0], sim_now_ns(world), (uint16_t)other, INCARNATION);
        swif_peer_is(swifs[1], sim_now_ns(world), (uint16_t)one, INCARNATION);
    }
}

/* ---- Packets --------------------------------------------------------------------------- */

bool sim_carrier_is_settled(const struct sim_node *node)
{
    const struct swif *swif = node->board ? node->board->swif : NULL;
    return !swif || swif_mark_is_passed(swif, swif_mark(swif));
}

bool sim_carrier_has_work(const struct sim_node *node)
{
    if (node->world->config.outside) {
        return node->outbox.first != NULL;
    }
    return node->board ? node->stirred : nic_engine_has_work(node->engine);
}

static uint32_t next_of_board(struct sim_world *world, struct sim_node *node)
{
    uint32_t slot;
    uint16_t target;
    uint32_t room_bytes = swif_packet_bytes(world->body_bytes_max);
    struct sim_flight *flight = sim_flight_take(world, node, room_bytes, &slot);
    flight->bytes = board_transmit(node->board, sim_now_ns(world), flight->data, &target);
    if (flight->bytes == 0) {
        node->stirred = false;
        sim_flight_give(world, slot);
        return UINT32_MAX;
    }
    struct wire_header header;
    INVARIANT(wire_header_decode(flight->data, flight->bytes, &header));
    const struct swif_counters *counters = swif_counters(node->board->swif);
    flight->target = target;
    flight->is_cd = true;
    flight->class = header.flags & WIRE_FLAG_REPLY ? WIRE_REPLY : WIRE_REQUEST;
    flight->channel = header.channel;
    flight->is_repeat = counters->retransmissions != node->retransmissions;
    node->retransmissions = counters->retransmissions;
    /* InfiniSWIF makes a context when the NIC gives it something for a peer, perhaps for several
     * peers at once; the first packet to each peer is charged with the look-up. */
    if (node->chip && header.body_bytes > 0) {
        flight->context_hit = sim_lru_use(node->chip, target);
        node->fetches += !flight->context_hit;
    } else if (header.body_bytes > 0 && counters->ltee_misses != node->context_misses) {
        flight->context_hit = false;
        node->context_misses++;
    }
    return slot;
}

uint32_t sim_carrier_next(struct sim_world *world, struct sim_node *node)
{
    if (world->config.outside) {
        return sim_outside_next(world, node);
    }
    if (node->board) {
        return next_of_board(world, node);
    }
    node->may_make = true;
    node->made = UINT32_MAX;
    nic_engine_run(node->engine, sim_now_ns(world));
    node->may_make = false;
    return node->made;
}

void sim_carrier_deliver(struct sim_world *world, struct sim_node *node, struct sim_flight *flight)
{
    if (world->config.outside) {
        sim_outside_deliver(world, node, flight);
        return;
    }
    if (flight->is_cd) {
        board_receive(node->board, sim_now_ns(world), flight->data, flight->bytes);
        node->stirred = true;
        return;
    }
    bool done = nic_engine_deliver_of(node->engine, sim_now_ns(world), flight->pgid,
                                      (uint16_t)flight->source, flight->class, flight->channel,
                                      flight->data, flight->bytes);
    INVARIANT(done);
}

void sim_carrier_left(struct sim_world *world, struct sim_node *node, struct sim_flight *flight)
{
    if (flight->is_cd || flight->class == WIRE_REPLY || world->config.outside) {
        return;
    }
    node->left++;
    if (flight->cookie != 0) {
        nic_engine_acknowledged(node->engine, sim_now_ns(world), (uint16_t)flight->target,
                                flight->cookie);
    }
}

void sim_carrier_set_timer(struct sim_world *world, struct sim_node *node)
{
    uint64_t deadline_ns = UINT64_MAX;
    if (world->config.outside) {
        return; /* see sim_outside_alarm */
    }
    if (node->board) {
        deadline_ns = board_deadline_ns(node->board);
    } else if (node->services) {
        deadline_ns = nic_services_deadline_ns(node->services, sim_now_ns(world));
    }
    if (deadline_ns == UINT64_MAX) {
        return;
    }
    uint64_t at_ps = deadline_ns * SIM_PS_PER_NS;
    at_ps = at_ps > world->now_ps ? at_ps : world->now_ps + SIM_PS_PER_NS;
    if (at_ps < node->timer_ps) {
        node->timer_ps = at_ps;
        sim_put(world, at_ps, SIM_EVENT_TIMER, node->number, ++node->timer_setting);
    }
}
