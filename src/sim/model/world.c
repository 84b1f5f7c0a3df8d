/* Set-up, the loop over events, and reports. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/model/state.h"

enum { PAGE_BYTES = 4096, PASSAGE_NODES_MAX = 32768, LARGE_NODES = 2048 };

const char *const sim_locks_names[SIM_LOCKS] = {
    [SIM_LOCKS_QUEUE] = "queue", [SIM_LOCKS_CHAIN] = "chain"};

/* ---- Set-up ---------------------------------------------------------------------------- */

static void set_clocks(struct sim_world *world)
{
    const struct sim_machine *machine = world->machine;
    for (unsigned clock = 0; clock < SIM_CLOCKS; clock++) {
        world->period_ps[clock] = sim_machine_period(machine, clock);
    }
    world->bus_ps = machine->clock_dimm ? machine->clock_dimm : machine->clock_nic;
    world->core_ps = machine->clock_core ? machine->clock_core : world->bus_ps;
    world->swif_is_slow = machine->clock_swif > machine->clock_dimm && machine->clock_dimm > 0;
    for (unsigned stage = 0; stage < SIM_STAGES; stage++) {
        const struct sim_stage *data = &machine->stages[stage];
        world->stage_is_there[stage] = data->cycles > 0 || data->word_cycles > 0;
        if (stage >= SIM_STAGE_HEADER_TLB && stage < SIM_STAGE_CORE_SEND) {
            world->core_send_lead_ps += sim_cycles(world->period_ps[data->clock], data->cycles);
        }
    }
}

static void set_up_node(struct sim_world *world, uint32_t number, unsigned char *space)
{
    struct sim_node *node = &world->nodes[number];
    uint32_t users = world->config.user_count;
    uint64_t entries = world->machine->fifo_entries;
    uint32_t credit = (uint32_t)(entries < NIC_TRANSACTIONS ? entries : NIC_TRANSACTIONS) / users;
    node->world = world;
    node->number = number;
    node->first_host = number * users;
    node->host_count = users;
    node->memory = space;
    node->pump_ps = node->timer_ps = UINT64_MAX;
    node->made = UINT32_MAX;
    node->core_task = UINT32_MAX;
    for (unsigned i = 0; i < SIM_INTERRUPTS; i++) {
        node->core_queue[i] = (struct sim_task_list){UINT32_MAX, UINT32_MAX};
    }
    node->recorded = (struct sim_kick_list){UINT32_MAX, UINT32_MAX};
    sim_carrier_init(world, node, world->space + number * world->near_bytes,
                     space + world->memory_bytes);
    for (uint32_t user = 0; user < users; user++) {
        world->hosts[node->first_host + user] = (struct sim_host){
            .world = world,
            .node = number,
            .user = user,
            .is_core = world->config.core_programs && user + 1 == users,
            .pgid = SIM_PGID,
            .windows_free = NIC_WINDOWS / users,
            .waiting = {UINT32_MAX, UINT32_MAX},
        };
        int error = node->engine ? nic_user_set(node->engine, user, credit) : 0;
        INVARIANT(!error);
    }
    if (world->config.node_count <= PASSAGE_NODES_MAX) {
        node->passage = calloc(1, sizeof *node->passage);
        INVARIANT(node->passage);
    }
    if (world->config.counts_use) {
        node->use = calloc(1, sizeof *node->use);
        INVARIANT(node->use);
    }
}

/* What is wrong with the configuration, in one line, or NULL. */
static const char *objection(const struct sim_world_config *config)
{
    if (config->node_count == 0 || config->node_count > WIRE_NODES_MAX) {
        return "a world has 1 to 65,534 nodes";
    }
    if (config->user_count > config->machine->fifo_users || config->user_count > NIC_USERS) {
        return "more users than [fifo] users share a NIC";
    }
    if (config->machine->fifo_entries < config->user_count) {
        return "[fifo] entries must be at least one for each user";
    }
    if (config->core_programs && config->machine->core_load_cycles == 0) {
        return "[core] load_cycles must be at least 1 for programs of the core processor";
    }
    if (config->machine->send_buffers == 0) {
        return "[send] buffers must be at least 1";
    }
    if (config->machine->clock_dimm == 0 && config->machine->clock_nic == 0) {
        return "it has neither [clock] dimm_mhz nor nic_mhz";
    }
    if (config->machine->packet_data_bytes < WIRE_BOTF_BYTES_MAX ||
        config->machine->packet_data_bytes > WIRE_PACKET_BYTES_MAX / 2) {
        return "[packet] data_bytes must be from 464 to 4608";
    }
    return NULL;
}

static bool get_space(struct sim_world *world, char error[SIM_ERROR_BYTES])
{
    uint64_t carrier_bytes = sim_carrier_bytes(world, error);
    if (carrier_bytes == 0) {
        return false;
    }
    uint64_t each = world->memory_bytes + carrier_bytes;
    each = (each + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    world->near_bytes = sim_carrier_near_bytes(world);
    uint64_t near_bytes = world->near_bytes * world->config.node_count;
    near_bytes = (near_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    world->space_bytes = near_bytes + each * world->config.node_count;
    void *space = mmap(NULL, world->space_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) {
        (void)snprintf(error, SIM_ERROR_BYTES,
                       "%s: no room in the address space for %" PRIu32 " nodes of %" PRIu64
                       " bytes each",
                       world->machine->name, world->config.node_count, each);
        return false;
    }
    world->space = space;
    /* No huge pages: a node touches a few pages far from each other, and a third of what is near;
     * zeroing the rest would take longer than the page walks. */
    (void)madvise(space, world->space_bytes, MADV_NOHUGEPAGE);
    for (uint32_t i = 0; i < world->config.node_count; i++) {
        set_up_node(world, i, world->space + near_bytes + i * each);
    }
    return true;
}

static void carried(void *context, uint32_t switch_number, uint32_t port, uint64_t from_ps,
                    uint64_t to_ps, uint32_t token)
{
    const struct sim_world *world = context;
    sim_timeline_span(world->config.timeline, SIM_TIMELINE_SWITCH + switch_number,
                      SIM_TRACK_PORT + port, "packet", from_ps, to_ps,
                      sim_flight_at(world, token)->number);
}

static bool set_up(struct sim_world *world, char error[SIM_ERROR_BYTES])
{
    const struct sim_machine *machine = world->machine;
    uint64_t page = PAGE_BYTES;
    uint64_t memory_bytes = machine->llcm_bytes + 2 * machine->bank_bytes;
    world->memory_bytes = (memory_bytes + page - 1) / page * page;
    world->body_bytes_max = sim_world_body_bytes_max(machine);
    world->host_count = world->config.node_count * world->config.user_count;
    world->nodes = calloc(world->config.node_count, sizeof *world->nodes);
    world->hosts = calloc(world->host_count, sizeof *world->hosts);
    INVARIANT(world->nodes && world->hosts);
    sim_slots_init(&world->kicks, sizeof(struct sim_kick));
    sim_slots_init(&world->blocks, NIC_BODY_BYTES_MIN);
    sim_slots_init(&world->tasks, sizeof(struct sim_task));
    sim_interrupts_init(&world->interrupts);
    /* Traces and counts need the flights' passages, and so do nodes that keep the last one. */
    world->keeps_passages = world->config.timeline || world->config.counts_use ||
                            world->config.node_count <= PASSAGE_NODES_MAX;
    sim_slots_init(
        &world->flights,
        (uint32_t)(SIM_FLIGHT_BYTES + (world->keeps_passages ? sizeof(struct sim_passage) : 0)));
    uint32_t packet_bytes = (swif_packet_bytes(world->body_bytes_max) + 7) / 8 * 8;
    sim_slots_init(&world->bodies, packet_bytes);
    sim_slots_init(&world->parcels[0],
                   (uint32_t)sizeof(struct sim_parcel) + SIM_PARCEL_SMALL_BYTES);
    sim_slots_init(&world->parcels[1], (uint32_t)sizeof(struct sim_parcel) + packet_bytes);
    const struct sim_network_user user = {
        .context = world,
        .events = &world->events,
        .event_kind = SIM_EVENT_NETWORK,
        .arrived = sim_arrived,
        .left = sim_left,
        .carried = world->config.timeline ? carried : NULL,
        .seed = world->config.seed,
        .counts_load = world->config.counts_use,
    };
    world->network = sim_network_open(machine, world->config.topology, world->config.node_count,
                                      &user, error);
    return world->network && get_space(world, error);
}

struct sim_world *sim_world_open(const struct sim_world_config *config, char error[SIM_ERROR_BYTES])
{
    struct sim_world_config wanted = *config;
    wanted.user_count = config->user_count > 0 ? config->user_count : 1;
    wanted.user_count += config->core_programs ? 1 : 0;
    const char *wrong = objection(&wanted);
    if (wrong) {
        (void)snprintf(error, SIM_ERROR_BYTES, "%s: %s", config->machine->name, wrong);
        return NULL;
    }
    struct sim_world *world = calloc(1, sizeof *world);
    INVARIANT(world);
    world->config = wanted;
    world->machine = wanted.machine;
    world->is_large = wanted.node_count >= LARGE_NODES;
    world->chance.state = wanted.seed;
    set_clocks(world);
    if (!set_up(world, error)) {
        sim_world_close(world);
        return NULL;
    }
    return world;
}

void sim_world_close(struct sim_world *world)
{
    if (!world) {
        return;
    }
    for (uint32_t i = 0; world->nodes && i < world->config.node_count; i++) {
        free(world->nodes[i].passage);
        free(world->nodes[i].use);
        sim_messages_free(&world->nodes[i]);
        free(world->nodes[i].regions);
        sim_lru_close(world->nodes[i].chip);
        sim_lru_close(world->nodes[i].addresses);
    }
    for (uint32_t i = 0; world->hosts && i < world->host_count; i++) {
        sim_lru_close(world->hosts[i].tlb);
        free(world->hosts[i].quiets);
    }
    if (world->network) {
        sim_network_close(world->network);
    }
    if (world->space) {
        (void)munmap(world->space, world->space_bytes);
    }
    sim_slots_free(&world->kicks);
    sim_slots_free(&world->tasks);
    sim_slots_free(&world->blocks);
    sim_slots_free(&world->flights);
    sim_slots_free(&world->bodies);
    sim_slots_free(&world->parcels[0]);
    sim_slots_free(&world->parcels[1]);
    sim_events_free(&world->events);
    free(world->nodes);
    free(world->hosts);
    free(world);
}

/* ---- The loop -------------------------------------------------------------------------- */

void sim_world_start(struct sim_world *world, uint32_t number, uint32_t user, sim_program *program,
                     void *locals, uint64_t at_ps)
{
    INVARIANT(number < world->config.node_count && user < world->config.user_count);
    uint32_t index = world->nodes[number].first_host + user;
    struct sim_host *host = &world->hosts[index];
    INVARIANT(!host->program || host->ended);
    host->program = program;
    host->locals = locals;
    host->line = 0;
    host->ended = false;
    world->running++;
    sim_put(world, at_ps > world->now_ps ? at_ps : world->now_ps, SIM_EVENT_HOST, index, 0);
}

void sim_world_start_core(struct sim_world *world, uint32_t node, sim_program *program,
                          void *locals, uint64_t at_ps)
{
    INVARIANT(world->config.core_programs);
    sim_world_start(world, node, world->config.user_count - 1, program, locals, at_ps);
}

/* InfiniSWIF has timers of its own; the services have CorePU's alarm. */
static void timer_expired(struct sim_world *world, struct sim_node *node)
{
    if (world->config.outside) {
        world->config.outside->alarm(world->config.outside->context, node->number);
    } else if (node->board) {
        sim_pump_at(world, node, world->now_ps);
    } else {
        sim_core_request(world, node, SIM_REQUEST_ALARM, 0, 0, 0);
    }
}

static void happen(struct sim_world *world, const struct sim_event *event)
{
    struct sim_node *node;
    switch ((enum sim_event_kind)event->kind) {
    case SIM_EVENT_HOST: sim_host_event(world, &world->hosts[event->subject]); break;
    case SIM_EVENT_SAMPLE:
        sim_host_sample(world, &world->hosts[event->subject], event->value);
        break;
    case SIM_EVENT_KICK:
        sim_kick_event(world, event->subject, (enum sim_kick_phase)event->value);
        break;
    case SIM_EVENT_PUMP: sim_pump_event(world, &world->nodes[event->subject]); break;
    case SIM_EVENT_STAGE: sim_stage_event(world, event->subject, (unsigned)event->value); break;
    case SIM_EVENT_LEFT: sim_left_event(world, &world->nodes[event->subject], event->value); break;
    case SIM_EVENT_NETWORK: sim_network_event(world->network, event); break;
    case SIM_EVENT_RECEIVED:
        node = &world->nodes[event->subject];
        sim_receive_stages_done(world, node, (uint32_t)event->value, world->now_ps);
        break;
    case SIM_EVENT_CARRY:
        sim_carry_event(world, &world->nodes[event->subject], (uint32_t)event->value);
        break;
    case SIM_EVENT_TIMER:
        node = &world->nodes[event->subject];
        if (event->value == node->timer_setting) {
            node->timer_ps = UINT64_MAX;
            node->stirred = true;
            timer_expired(world, node);
        }
        break;
    case SIM_EVENT_CORE:
        sim_core_event(world, &world->nodes[event->subject], (enum sim_core_moment)event->value);
        break;
    case SIM_EVENT_OUTSIDE:
        world->config.outside->called(world->config.outside->context, event->subject, event->value);
        break;
    }
}

/* InfiniSWIF's timers go on for ever, so they do not count: a world is idle when there are no
 * flights, no kicks, and nothing that the NICs still have to send; where packets get lost, also
 * nothing that they may have to send again. */
static bool is_idle(const struct sim_world *world)
{
    if (world->flights.taken > 0 || world->kicks.taken > 0 || world->pumps_due > 0) {
        return false;
    }
    for (uint32_t i = 0; world->lost_count > 0 && i < world->config.node_count; i++) {
        if (!sim_carrier_is_settled(&world->nodes[i])) {
            return false;
        }
    }
    return true;
}

enum sim_end sim_world_run(struct sim_world *world, uint64_t limit_ps)
{
    struct sim_event event;
    while (sim_events_next(&world->events) <= limit_ps) {
        if (world->running == 0 && is_idle(world)) {
            return SIM_END_DONE;
        }
        const struct sim_outside *outside = world->config.outside;
        if (outside && !outside->goes_on(outside->context, sim_events_next(&world->events))) {
            return SIM_END_LIMIT;
        }
        if (!sim_events_take(&world->events, &event)) {
            break;
        }
        world->now_ps = event.at;
        world->event_count++;
        if (world->is_large) {
            sim_expect(world);
        }
        happen(world, &event);
    }
    if (world->running == 0 && is_idle(world)) {
        return SIM_END_DONE;
    }
    return world->events.count == 0 ? SIM_END_DEADLOCK : SIM_END_LIMIT;
}

/* ---- Reports --------------------------------------------------------------------------- */

uint32_t sim_world_body_bytes_max(const struct sim_machine *machine)
{
    return (uint32_t)(machine->packet_data_bytes + 7) / 8 * 8 + WIRE_OPERATION_BYTES;
}

void sim_world_worst(const struct sim_world *world, struct sim_network_worst *worst)
{
    sim_network_worst(world->network, worst);
}

uint64_t sim_world_now(const struct sim_world *world)
{
    return world->now_ps;
}

uint32_t sim_world_hops(const struct sim_world *world, uint32_t source, uint32_t target)
{
    return sim_network_hops(world->network, source, target);
}

const char *sim_world_multicast_refusal(const struct sim_world *world)
{
    return world->machine->carrier_kind == SIM_CARRIER_CD ? "packets by CD go to one node each"
                                                          : sim_network_refusal(world->network);
}

const struct sim_passage *sim_world_passage(const struct sim_world *world, uint32_t node)
{
    INVARIANT(node < world->config.node_count);
    return world->nodes[node].passage;
}

void sim_world_counters(const struct sim_world *world, struct sim_world_counters *counters)
{
    *counters = (struct sim_world_counters){.events = world->event_count,
                                            .packets = world->packet_count,
                                            .lost = world->lost_count,
                                            .resends = sim_network_resends(world->network)};
    for (uint32_t i = 0; i < world->config.node_count; i++) {
        const struct sim_node *node = &world->nodes[i];
        if (world->config.outside) {
            counters->header_misses += node->header_misses;
            counters->address_misses += node->address_misses;
            counters->core_busy_ps += node->core_busy_ps;
            counters->core_requests += node->core_requests;
            continue;
        }
        const struct nic_engine_counters *engine = nic_engine_counters(node->engine);
        counters->header_misses += engine->header_misses;
        counters->address_misses += engine->address_misses;
        counters->refused += engine->refused;
        counters->foreign += engine->foreign;
        counters->unknown += engine->unknown;
        counters->unknown_dropped += node->unknown_dropped;
        counters->core_busy_ps += node->core_busy_ps;
        counters->core_requests += node->core_requests;
        counters->bank_switches += node->bank_switches;
        counters->bank_switch_ps += node->bank_switch_ps;
        counters->bank_arrivals += node->bank_arrivals;
        if (node->board) {
            const struct swif_counters *swif = swif_counters(node->board->swif);
            counters->context_hits += swif->ltee_hits;
            counters->context_misses += node->chip ? node->fetches : swif->ltee_misses;
            counters->retransmissions += swif->retransmissions;
            counters->transmissions += swif->transmissions;
            counters->stop_and_wait += swif->stop_and_wait;
            counters->timeouts += swif->timeouts;
        }
    }
    for (uint32_t i = 0; i < world->host_count; i++) {
        counters->cpu_misses += world->hosts[i].tlb_misses;
    }
}

void sim_world_use(const struct sim_world *world, uint32_t number, struct sim_nic_use *use)
{
    const struct sim_node *node = &world->nodes[number];
    INVARIANT(number < world->config.node_count && node->use);
    *use = *node->use;
    use->core_requests = node->core_requests;
    use->core_busy_ps = node->core_busy_ps;
    if (use->under_way > 0 && world->now_ps > use->under_way_since) {
        use->stages[SIM_STAGE_LINK].busy_ps += world->now_ps - use->under_way_since;
    }
}

size_t sim_world_load_count(const struct sim_world *world)
{
    return sim_network_load_count(world->network);
}

void sim_world_load(const struct sim_world *world, size_t output, struct sim_network_load *load)
{
    sim_network_load(world->network, output, load);
}

struct sim_host *sim_world_host(struct sim_world *world, uint32_t node, uint32_t user)
{
    INVARIANT(node < world->config.node_count && user < world->config.user_count);
    return &world->hosts[world->nodes[node].first_host + user];
}

uint64_t sim_world_core_requests(const struct sim_world *world, uint32_t node)
{
    return world->nodes[node].core_requests;
}

uint64_t sim_world_busy(const struct sim_world *world, uint32_t number, bool core)
{
    const struct sim_node *node = &world->nodes[number];
    uint64_t busy_ps = core ? node->core_busy_ps : 0;
    for (uint32_t i = 0; i < node->host_count; i++) {
        const struct sim_host *host = &world->hosts[node->first_host + i];
        busy_ps += host->is_core == core ? host->busy_ps : 0;
    }
    return busy_ps;
}

static void say_poll(const struct sim_host *host, char text[SIM_ERROR_BYTES])
{
    static const char *const what[] = {
        [SIM_NO_POLL] = "does nothing",
        [SIM_POLL_WORD] = "polls",
        [SIM_POLL_ANY] = "polls several words",
        [SIM_POLL_COMPLETION] = "waits for an operation to complete",
        [SIM_POLL_WINDOW] = "waits for a BOTF window",
        [SIM_POLL_SEND_ROOM] = "waits for room in SENDTBL or SB",
        [SIM_POLL_SENT] = "waits for acknowledgements",
        [SIM_POLL_MESSAGE] = "waits for a message",
    };
    int used = snprintf(text, SIM_ERROR_BYTES, "node %" PRIu32 ", user %" PRIu32 ": %s", host->node,
                        host->user, what[host->polls]);
    if (host->polls == SIM_POLL_WORD && used > 0) {
        (void)snprintf(text + used, (size_t)(SIM_ERROR_BYTES - used),
                       " the %u bytes at offset %" PRIu64 " for %" PRIu64 " under mask 0x%" PRIx64,
                       host->poll_bytes, host->poll_offset, host->poll_wanted, host->poll_mask);
    }
}

void sim_world_why(const struct sim_world *world, enum sim_end end, char text[SIM_ERROR_BYTES])
{
    char who[SIM_ERROR_BYTES] = "";
    struct sim_network_worst worst;
    uint32_t waiting = 0;
    for (uint32_t i = world->host_count; i > 0; i--) {
        const struct sim_host *host = &world->hosts[i - 1];
        if (host->program && !host->ended) {
            waiting++;
            say_poll(host, who);
        }
    }
    sim_network_worst(world->network, &worst);
    const char *verdict = end == SIM_END_DEADLOCK ? "deadlock: nothing is under way"
                          : end == SIM_END_LIMIT  ? "virtual time is up"
                                                  : "done";
    (void)snprintf(text, SIM_ERROR_BYTES,
                   "%s at %.3f us; %" PRIu32 " programs wait, the first: %.120s; most waited for: "
                   "%s, up to %.3f us",
                   verdict, (double)world->now_ps / 1e6, waiting, waiting ? who : "none",
                   worst.where, (double)worst.wait_ps_max / 1e6);
}
