/* The world: boards, memory and clocks, and the loop in which one event happens after the other. */
#include "sim/storm/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/storm/network.h"
#include "sim/storm/trace.h"

enum {
    MILLION = 1000000,
    BURST_PACKETS_MAX = 4096, /* that a board may send at one time */
    WAITING_MAX = 256,        /* packets that a paused node's socket holds */
    SILENCE_EVENTS_MAX = 20000,
    SPACE_ALIGNMENT = 64,
};

/* ---- Clocks --------------------------------------------------------------------------- */

uint64_t storm_node_now(const struct storm_world *world, const struct storm_node *node)
{
    int64_t drift_ns = (int64_t)world->now_ns / 1000 * node->clock_drift_ppm / 1000;
    return world->now_ns + (uint64_t)drift_ns + (uint64_t)node->clock_offset_ns + node->jump_ns;
}

/* The true time, later than now, at which the node's clock will have passed `local_ns`. It is a
 * little too late, because the clock above has steps of a microsecond. */
static uint64_t true_time(const struct storm_world *world, const struct storm_node *node,
                          uint64_t local_ns)
{
    uint64_t local_now_ns = storm_node_now(world, node);
    if (local_ns <= local_now_ns) {
        return world->now_ns + 1;
    }
    uint64_t ahead_ns = local_ns - local_now_ns;
    /* No run lasts an hour. */
    if (ahead_ns > UINT64_C(3600) * 1000000000) {
        return UINT64_MAX;
    }
    if (node->clock_drift_ppm == 0) {
        return world->now_ns + ahead_ns;
    }
    return world->now_ns +
           ahead_ns / 1000 * (MILLION * UINT64_C(1000)) /
               (uint64_t)(MILLION + node->clock_drift_ppm) +
           2000;
}

/* At most one timer event is under way, not counting outdated ones: one that comes too early finds
 * out and is set again. */
void storm_world_set_timer(struct storm_world *world, struct storm_node *node)
{
    uint64_t deadline_ns = board_deadline_ns(&node->board);
    uint64_t at_ns = deadline_ns == UINT64_MAX ? UINT64_MAX : true_time(world, node, deadline_ns);
    if (at_ns < node->timer_ns) {
        node->timer_ns = at_ns;
        node->timer_generation++;
        sim_events_put(&world->events, at_ns, STORM_TIMER, node->number, node->timer_generation);
    }
}

void storm_wake_at(struct storm_world *world, const struct storm_node *node, uint64_t at_ns)
{
    struct storm_node *woken = &world->nodes[node->number];
    if (woken->wake_ns != at_ns) {
        woken->wake_ns = at_ns;
        sim_events_put(&world->events, at_ns > world->now_ns ? at_ns : world->now_ns + 1,
                       STORM_WAKE, node->number, node->incarnation);
    }
}

void storm_fail(struct storm_world *world, const char *format, ...)
{
    if (world->result.failed) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(world->result.failure, sizeof world->result.failure, format, arguments);
    va_end(arguments);
    world->result.failed = true;
    storm_note(world, NULL, "failure: %s", world->result.failure);
}

/* ---- A node's life -------------------------------------------------------------------- */

static void *grow(void *memory, uint64_t *room, uint64_t bytes)
{
    if (bytes > *room) {
        free(memory);
        *room = (bytes + SPACE_ALIGNMENT - 1) / SPACE_ALIGNMENT * SPACE_ALIGNMENT;
        memory = aligned_alloc(SPACE_ALIGNMENT, *room);
        INVARIANT(memory);
    }
    return memory;
}

/* Gives the network all that the board has to send; gives back how many packets that was. */
static uint32_t transmit(struct storm_world *world, struct storm_node *node)
{
    unsigned char packet[SIM_PACKET_BYTES_MAX];
    uint64_t now_ns = storm_node_now(world, node);
    uint32_t sent = 0;
    uint32_t bytes;
    uint16_t target;
    while ((bytes = board_transmit(&node->board, now_ns, packet, &target)) > 0) {
        storm_network_send(world, node, target, packet, bytes);
        if (++sent > BURST_PACKETS_MAX) {
            storm_fail(world, "node %u sends without end", node->number);
            break;
        }
    }
    return sent;
}

/* Lets the node's programs and its board act in turn until neither has anything to do. The programs
 * act at least twice, because operations also end while the board sends. */
static void run_until_idle(struct storm_world *world, struct storm_node *node)
{
    uint32_t sent = 1;
    for (unsigned round = 0; (round < 2 || sent > 0) && !world->result.failed; round++) {
        storm_traffic_step(world->traffic, node);
        sent = transmit(world, node);
        if (round > BURST_PACKETS_MAX) {
            storm_fail(world, "node %u is never content", node->number);
        }
    }
    storm_world_set_timer(world, node);
}

/* A life begins: empty memory, a new board, a higher incarnation than before. */
static void begin_life(struct storm_world *world, struct storm_node *node)
{
    struct board_config config = world->plan.board;
    const struct nic_local_memory memory = {
        .context = node,
        .base = node->memory,
        .bytes = node->memory_bytes,
        .find = storm_traffic_find,
        .written = storm_traffic_written,
    };
    const struct board_listener listener = {
        .context = node,
        .peer_lost = storm_traffic_peer_lost,
        .datagram = storm_traffic_datagram,
    };
    node->incarnation += 1 + (uint32_t)base_random_below(&world->random, 3);
    config.swif.node = node->number;
    config.swif.incarnation = node->incarnation;
    node->alive = true;
    node->paused = false;
    node->waiting = 0;
    node->timer_ns = UINT64_MAX;
    node->wake_ns = UINT64_MAX;
    node->link_free_ns = world->now_ns;
    memset(node->memory, 0, node->memory_bytes);
    memset(node->space, 0, board_bytes(&config));
    storm_note(world, node, "begins life %" PRIu32, node->incarnation);
    int error = board_init(&node->board, &config, &memory, &world->guard, &listener,
                           storm_node_now(world, node), node->space);
    if (error) {
        node->alive = false;
        storm_fail(world, "node %u: board_init gives %d", node->number, error);
        return;
    }
    storm_traffic_born(world->traffic, node);
    run_until_idle(world, node);
}

static void add_words(void *sum, const void *part, size_t bytes)
{
    uint64_t *to = sum;
    const uint64_t *from = part;
    for (size_t i = 0; i < bytes / sizeof *to; i++) {
        to[i] += from[i];
    }
}

static void keep_counters(struct storm_world *world, const struct storm_node *node)
{
    add_words(&world->result.swif, swif_counters(node->board.swif), sizeof world->result.swif);
    add_words(&world->result.engine, nic_engine_counters(node->board.engine),
              sizeof world->result.engine);
}

void storm_world_crash(struct storm_world *world, struct storm_node *node)
{
    storm_note(world, node, "dies");
    keep_counters(world, node);
    node->alive = false;
    node->paused = false;
    storm_traffic_died(world->traffic, node);
}

void storm_world_pause(struct storm_world *world, struct storm_node *node, uint64_t until_ns)
{
    storm_note(world, node, "pauses for %" PRIu64 " us", (until_ns - world->now_ns) / 1000);
    node->paused = true;
    node->waiting = 0;
    node->resume_ns = until_ns;
    sim_events_put(&world->events, until_ns, STORM_RESUME, node->number, 0);
}

static void resume(struct storm_world *world, struct storm_node *node)
{
    storm_note(world, node, "goes on");
    node->paused = false;
    run_until_idle(world, node);
}

/* ---- Events --------------------------------------------------------------------------- */

/* Whether the node can act now. A paused one gets its events when it goes on. */
static bool is_awake(struct storm_world *world, const struct storm_node *node,
                     const struct sim_event *event)
{
    if (node->alive && node->paused) {
        sim_events_put(&world->events, node->resume_ns, event->kind, event->subject, event->value);
    }
    return node->alive && !node->paused;
}

static void on_arrival(struct storm_world *world, struct storm_node *node,
                       const struct sim_event *event)
{
    struct sim_slots *packets = &world->network->packets;
    struct sim_packet *packet = sim_slots_at(packets, (uint32_t)event->value);
    if (node->alive && node->paused && node->waiting < WAITING_MAX) {
        node->waiting++;
        (void)is_awake(world, node, event);
        return;
    }
    enum storm_step step = !node->alive   ? STORM_STEP_NOBODY_THERE
                           : node->paused ? STORM_STEP_NOT_TAKEN
                                          : STORM_STEP_ARRIVED;
    storm_trace_packet(world, step, node->number, packet->source, packet->data, packet->bytes);
    if (step == STORM_STEP_ARRIVED) {
        board_receive(&node->board, storm_node_now(world, node), packet->data, packet->bytes);
        run_until_idle(world, node);
    }
    sim_slots_give(packets, (uint32_t)event->value);
}

static void on_timer(struct storm_world *world, struct storm_node *node,
                     const struct sim_event *event)
{
    if (!node->alive || event->value != node->timer_generation) {
        return;
    }
    if (!is_awake(world, node, event)) {
        node->timer_ns = node->resume_ns;
        return;
    }
    node->timer_ns = UINT64_MAX;
    if (board_deadline_ns(&node->board) <= storm_node_now(world, node)) {
        run_until_idle(world, node);
    } else {
        storm_world_set_timer(world, node);
    }
}

static void handle(struct storm_world *world, const struct sim_event *event)
{
    struct storm_node *node = &world->nodes[event->subject];
    switch ((enum storm_event)event->kind) {
    case STORM_ARRIVAL: on_arrival(world, node, event); break;
    case STORM_TIMER: on_timer(world, node, event); break;
    case STORM_WAKE:
        if (event->value == node->incarnation && is_awake(world, node, event)) {
            run_until_idle(world, node);
        }
        break;
    case STORM_RESUME:
        if (node->alive && node->paused && node->resume_ns == event->at) {
            resume(world, node);
        }
        break;
    case STORM_REBIRTH:
        if (world->faults_on && !node->alive) {
            world->result.fault_counts[STORM_RESTART]++;
            begin_life(world, node);
            storm_network_haunt(world, node);
        }
        break;
    case STORM_STRIKE: storm_fault_strike(world, (enum storm_fault)event->subject); break;
    case STORM_REPEAT: storm_network_repeat(world, event->subject); break;
    default: INVARIANT(false);
    }
}

/* Handles the next event, if it comes by then; false: none does, or the run is over. */
static bool happen_next(struct storm_world *world, uint64_t until_ns)
{
    struct sim_event event;
    if (world->result.failed || sim_events_next(&world->events) > until_ns) {
        return false;
    }
    (void)sim_events_take(&world->events, &event);
    INVARIANT(event.at >= world->now_ns);
    world->now_ns = event.at;
    if (++world->result.events > world->plan.events_max) {
        storm_fail(world, "no end after %" PRIu64 " events", world->result.events - 1);
        return false;
    }
    handle(world, &event);
    return true;
}

/* ---- A run ---------------------------------------------------------------------------- */

static void set_up_node(struct storm_world *world, uint16_t number)
{
    struct storm_node *node = &world->nodes[number];
    uint64_t memory_bytes = storm_traffic_memory_bytes(&world->plan);
    void *memory = grow(node->memory, &node->memory_room, memory_bytes);
    void *space = grow(node->space, &node->space_room, board_bytes(&world->plan.board));
    *node = (struct storm_node){
        .world = world,
        .number = number,
        .memory = memory,
        .memory_bytes = memory_bytes,
        .memory_room = node->memory_room,
        .space = space,
        .space_room = node->space_room,
    };
}

/* Forgets everything of an earlier run except its memory. */
static void set_up(struct storm_world *world, const struct storm_plan *plan, void *trace)
{
    struct base_random seeds = {(plan->seed ^ UINT64_C(0x53746f726d)) + (plan->luck << 48)};
    world->plan = *plan;
    world->random.state = base_random_next(&seeds);
    world->traffic_random.state = base_random_next(&seeds);
    world->network->guard.secret = base_random_next(&seeds);
    world->guard = (struct swif_guard){&world->network->guard, storm_guard_seal, storm_guard_open};
    world->plan.board.swif.pgid = 1 + (uint32_t)base_random_below(&seeds, UINT32_MAX - 1);
    world->now_ns = 0;
    world->faults_on = true;
    world->node_count = plan->node_count;
    world->result = (struct storm_result){0};
    sim_events_clear(&world->events);
    storm_trace_begin(world, trace);
    storm_network_begin(world);
    for (uint16_t i = 0; i < world->node_count; i++) {
        set_up_node(world, i);
    }
    storm_fault_begin(world);
    world->traffic = storm_traffic_new(world);
    INVARIANT(world->traffic);
    for (uint32_t i = 0; i < world->node_count && !world->result.failed; i++) {
        begin_life(world, &world->nodes[i]);
    }
}

static void end_faults(struct storm_world *world)
{
    world->faults_on = false;
    storm_note(world, NULL, "faults end");
    storm_network_heal(world);
    storm_traffic_stop(world->traffic);
    for (uint32_t i = 0; i < world->node_count && !world->result.failed; i++) {
        struct storm_node *node = &world->nodes[i];
        if (node->alive && node->paused) {
            resume(world, node);
        }
    }
}

static void complete(struct storm_world *world)
{
    uint64_t end_ns = world->now_ns + world->plan.liveness_ns;
    while (!storm_traffic_is_done(world->traffic)) {
        if (!happen_next(world, end_ns)) {
            break;
        }
    }
    if (!world->result.failed && !storm_traffic_is_done(world->traffic)) {
        char what[160];
        storm_traffic_describe(world->traffic, what, sizeof what);
        storm_fail(world, "not complete after %" PRIu64 " ms: %s",
                   world->plan.liveness_ns / MILLION, what);
    }
}

/* Packets that are still on their way must do no harm when they come, and nodes must not answer
 * answers for ever: some hundred events are normal. */
static void let_arrive(struct storm_world *world)
{
    uint64_t end_ns = world->now_ns + 3 * world->plan.board.swif.peer_timeout_ns;
    uint64_t events = world->result.events;
    while (world->network->packets.taken > 0 && happen_next(world, end_ns)) {
        if (world->result.events - events > SILENCE_EVENTS_MAX) {
            storm_fail(world, "the nodes do not fall silent when everything is done");
        }
    }
}

static void tell_result(struct storm_world *world, struct storm_result *result)
{
    for (uint32_t i = 0; i < world->node_count; i++) {
        if (world->nodes[i].alive) {
            keep_counters(world, &world->nodes[i]);
        }
    }
    if (world->plan.fault[STORM_EVICT]) {
        world->result.fault_counts[STORM_EVICT] = world->result.swif.ltee_evictions +
                                                  world->result.swif.rtee_evictions;
    }
    if (world->plan.fault[STORM_FULL]) {
        world->result.fault_counts[STORM_FULL] += world->result.swif.rtee_none +
                                                  world->result.swif.refused_by_client;
    }
    world->result.virtual_ns = world->now_ns;
    *result = world->result;
}

void storm_world_run(struct storm_world *world, const struct storm_plan *plan, void *trace,
                     struct storm_result *result)
{
    INVARIANT(plan->node_count > 0 && plan->node_count <= STORM_NODES_MAX);
    set_up(world, plan, trace);
    while (happen_next(world, plan->safety_ns)) {
    }
    if (!world->result.failed) {
        world->now_ns = plan->safety_ns;
        end_faults(world);
        complete(world);
    }
    if (!world->result.failed) {
        let_arrive(world);
    }
    if (!world->result.failed) {
        storm_traffic_check(world->traffic);
    }
    tell_result(world, result);
    storm_traffic_free(world->traffic);
    world->traffic = NULL;
}

/* ---- Memory --------------------------------------------------------------------------- */

struct storm_world *storm_world_new(void)
{
    struct storm_world *world = calloc(1, sizeof *world);
    INVARIANT(world);
    world->network = storm_network_new();
    return world;
}

void storm_world_free(struct storm_world *world)
{
    for (unsigned i = 0; i < STORM_NODES_MAX; i++) {
        free(world->nodes[i].memory);
        free(world->nodes[i].space);
    }
    sim_events_free(&world->events);
    storm_network_free(world->network);
    free(world);
}
