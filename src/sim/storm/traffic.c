/* The traffic as the world sees it: lives, steps, upcalls, and the end of a run. traffic_program.c
 * and traffic_services.c give the operations; the oracle judges whether they were right. */
#include "sim/storm/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CANARY = 0xa5,
    CREDIT_MIN = 2, /* so few that a lane's credit is often used up */
    CREDIT_SPAN = 14,
    AGAIN_NS = 20000, /* when to retry what there was no room for */
};

/* ---- Making ------------------------------------------------------------------------- */

uint32_t storm_lane_user(uint32_t lane)
{
    /* 0 and 15 share a channel, 7 has one of its own. */
    static const uint32_t users[STORM_LANES] = {0, 7, 15};
    return users[lane];
}

uint64_t storm_traffic_memory_bytes(const struct storm_plan *plan)
{
    struct storm_layout layout;
    storm_layout_make(&layout, plan->node_count, plan->operations);
    return layout.bytes;
}

struct storm_traffic *storm_traffic_new(struct storm_world *world)
{
    struct storm_traffic *traffic = calloc(1, sizeof *traffic);
    INVARIANT(traffic != NULL);
    const struct storm_plan *plan = &world->plan;
    struct storm_layout layout;
    storm_layout_make(&layout, plan->node_count, plan->operations);
    traffic->world = world;
    traffic->oracle = storm_oracle_new(plan->node_count, plan->board.swif.pgid, &layout);
    for (uint32_t node = 0; node < plan->node_count; node++) {
        traffic->node_seeds[node] = base_random_next(&world->traffic_random);
        traffic->programs[node].left = plan->operations;
    }
    for (uint32_t lock = 0; lock < STORM_LOCKS; lock++) {
        traffic->lock_managers[lock] = (uint16_t)base_random_below(&world->traffic_random,
                                                                   plan->node_count);
    }
    traffic->phase_count = plan->work[STORM_WORK_BARRIER]
                               ? 1 + (plan->operations < 80 ? plan->operations / 10 : 8)
                               : 0;
    return traffic;
}

void storm_traffic_free(struct storm_traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->ticket_count; i++) {
        free(traffic->tickets[i]);
    }
    for (uint32_t node = 0; node < traffic->oracle->node_count; node++) {
        free(traffic->programs[node].tickets);
    }
    free(traffic->tickets);
    storm_oracle_free(traffic->oracle);
    free(traffic);
}

/* Reports what the oracle found. */
static void report(struct storm_traffic *traffic)
{
    if (traffic->oracle->failed && !traffic->world->result.failed) {
        storm_fail(traffic->world, "%s", traffic->oracle->failure);
    }
}

struct storm_ticket *storm_ticket_new(struct storm_traffic *traffic, struct storm_program *program,
                                      uint32_t operation, uint64_t data_bytes)
{
    struct storm_ticket *ticket = malloc(sizeof *ticket + data_bytes);
    INVARIANT(ticket != NULL);
    ticket->completion = (struct nic_completion){.state = NIC_PENDING};
    ticket->operation = operation;
    ticket->is_over = false;
    ticket->data_bytes = data_bytes;
    memset(ticket->data, CANARY, data_bytes);
    traffic->tickets = storm_grow(traffic->tickets, traffic->ticket_count, &traffic->ticket_room,
                                  sizeof *traffic->tickets);
    traffic->tickets[traffic->ticket_count++] = ticket;
    program->tickets = storm_grow(program->tickets, program->ticket_count, &program->ticket_room,
                                  sizeof *program->tickets);
    program->tickets[program->ticket_count++] = ticket;
    return ticket;
}

void storm_ticket_drop(struct storm_traffic *traffic, struct storm_program *program)
{
    program->ticket_count--;
    free(traffic->tickets[--traffic->ticket_count]);
}

/* ---- Lives -------------------------------------------------------------------------- */

void storm_traffic_born(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    const struct storm_plan *plan = &traffic->world->plan;
    storm_oracle_born(traffic->oracle, node->number, node->incarnation, node->memory);
    uint32_t ordinal = storm_oracle_life(traffic->oracle, node->number)->ordinal;
    uint32_t left = program->left;
    /* A new life has something to do even if the old one was nearly done. */
    left = ordinal > 0 && left < plan->operations / 4 ? plan->operations / 4 : left;
    struct storm_ticket **tickets = program->tickets;
    uint32_t ticket_room = program->ticket_room;
    *program = (struct storm_program){
        .is_running = true,
        .random = {traffic->node_seeds[node->number] + ordinal},
        .left = left,
        .woken_ns = UINT64_MAX,
        .tickets = tickets,
        .ticket_room = ticket_room,
        .is_member = ordinal == 0 && traffic->phase_count > 0,
    };
    program->favourite = (uint16_t)base_random_below(&program->random, traffic->oracle->node_count);
    for (uint32_t lane = 0; lane < STORM_LANES; lane++) {
        uint32_t credit = CREDIT_MIN + (uint32_t)base_random_below(&program->random, CREDIT_SPAN);
        int error = nic_user_set(node->board.engine, storm_lane_user(lane), credit);
        INVARIANT(error == 0);
    }
    /* Not at once: at the beginning other nodes have not been born yet. */
    program->next_ns = traffic->world->now_ns + 1 + base_random_below(&program->random, AGAIN_NS);
    storm_services_born(traffic, node);
    storm_program_wake(traffic, node, program->next_ns);
}

void storm_traffic_died(struct storm_traffic *traffic, struct storm_node *node)
{
    storm_oracle_compare(traffic->oracle, node->number, node->memory);
    storm_oracle_died(traffic->oracle, node->number);
    traffic->programs[node->number].is_running = false;
    traffic->programs[node->number].ticket_count = 0;
    report(traffic);
}

/* ---- Steps -------------------------------------------------------------------------- */

void storm_program_wake(struct storm_traffic *traffic, struct storm_node *node, uint64_t at_ns)
{
    struct storm_program *program = &traffic->programs[node->number];
    uint64_t now_ns = traffic->world->now_ns;
    at_ns = at_ns > now_ns ? at_ns : now_ns + 1;
    if (program->woken_ns <= now_ns || at_ns < program->woken_ns) {
        program->woken_ns = at_ns;
        storm_wake_at(traffic->world, node, at_ns);
    }
}

static void end_ticket(struct storm_traffic *traffic, struct storm_node *node,
                       struct storm_ticket *ticket)
{
    const struct storm_operation *operation = &traffic->oracle->operations[ticket->operation];
    struct storm_program *program = &traffic->programs[node->number];
    int result = ticket->completion.result;
    ticket->is_over = true;
    storm_note(traffic->world, node, "%s %u.%u ended: %d", storm_works[operation->work].name,
               operation->lane, operation->number, result);
    switch (operation->work) {
    case STORM_WORK_LOCK: storm_services_lock_ended(traffic, node, ticket); break;
    case STORM_WORK_BARRIER: program->arrival = NULL; break;
    case STORM_WORK_ATOMIC:
        program->last_fetched = result ? program->last_fetched : ticket->completion.value;
        break;
    default: break;
    }
    storm_oracle_ended(traffic->oracle, ticket->operation, result, ticket->completion.value,
                       ticket->data);
    /* The memory is ours again: the canary shows if anything still reads or writes it. */
    memset(ticket->data, CANARY, ticket->data_bytes);
    ticket->completion = (struct nic_completion){0};
}

/* Quiets come last: what they stand for may have ended in the same step. */
static void look_at_completions(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < program->ticket_count; i++) {
            struct storm_ticket *ticket = program->tickets[i];
            bool is_quiet = traffic->oracle->operations[ticket->operation].work == STORM_WORK_QUIET;
            if (ticket->completion.state == NIC_DONE && is_quiet == (round == 1)) {
                end_ticket(traffic, node, ticket);
            } else {
                program->tickets[kept++] = ticket;
            }
        }
        program->ticket_count = kept;
    }
}

static void draw_pause(struct storm_traffic *traffic, struct storm_program *program)
{
    const struct storm_plan *plan = &traffic->world->plan;
    bool is_long = base_random_below(&program->random, 4) == 0;
    program->burst_left = is_long ? 4 + (uint32_t)base_random_below(&program->random, 12)
                                  : 1 + (uint32_t)base_random_below(&program->random, 3);
    program->is_stream = is_long && base_random_below(&program->random, 2) == 0;
    program->stream_lane = (uint8_t)base_random_below(&program->random, STORM_LANES);
    /* Bursts have four operations on average, and programs should finish when three quarters of the
     * time with faults have passed. */
    uint64_t mean_ns = plan->safety_ns * 3 / (plan->operations + 4);
    program->next_ns = traffic->world->now_ns +
                       base_random_below(&program->random, 2 * (mean_ns + 1));
}

static void give_operations(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    while (!traffic->is_stopped && program->left > 0) {
        if (program->burst_left == 0) {
            if (traffic->world->now_ns < program->next_ns) {
                storm_program_wake(traffic, node, program->next_ns);
                return;
            }
            draw_pause(traffic, program);
        }
        if (!program->has_gift && !storm_program_draw(traffic, node)) {
            program->left = 0;
            return;
        }
        program->has_gift = true;
        int error = storm_program_give(traffic, node);
        if (error == DN_EFULL) {
            storm_program_wake(traffic, node, traffic->world->now_ns + AGAIN_NS);
            return;
        }
        program->has_gift = false;
        program->left--;
        program->burst_left--;
    }
}

static void count_checked(struct storm_traffic *traffic)
{
    memcpy(traffic->world->result.work_counts, traffic->oracle->checked,
           sizeof traffic->oracle->checked);
}

void storm_traffic_step(struct storm_traffic *traffic, struct storm_node *node)
{
    if (!traffic->programs[node->number].is_running || traffic->world->result.failed) {
        return;
    }
    look_at_completions(traffic, node);
    storm_services_step(traffic, node);
    give_operations(traffic, node);
    count_checked(traffic);
    report(traffic);
}

/* ---- Upcalls ------------------------------------------------------------------------ */

int storm_traffic_find(void *context, uint32_t area, struct nic_extent *extent)
{
    const struct storm_node *node = context;
    if (area == 0 || area >= STORM_AREAS) {
        return DN_EAREA;
    }
    *extent = node->world->traffic->oracle->layout.areas[area];
    return 0;
}

void storm_traffic_written(void *context, uint64_t offset, uint64_t bytes)
{
    const struct storm_node *node = context;
    struct storm_traffic *traffic = node->world->traffic;
    storm_oracle_written(traffic->oracle, node->number, node->memory, offset, bytes);
    report(traffic);
}

/* Without any of these faults no peer can be lost. */
static bool may_lose_peers(const struct storm_plan *plan)
{
    return plan->fault[STORM_LOSS] || plan->fault[STORM_BURST] || plan->fault[STORM_CORRUPT] ||
           plan->fault[STORM_DELAY] || plan->fault[STORM_PARTITION] || plan->fault[STORM_PAUSE] ||
           plan->fault[STORM_CRASH] || plan->fault[STORM_SKEW];
}

void storm_traffic_peer_lost(void *context, uint64_t now_ns, uint16_t peer)
{
    struct storm_node *node = context;
    struct storm_traffic *traffic = node->world->traffic;
    (void)now_ns;
    storm_note(node->world, node, "gives n%u up", peer);
    if (!may_lose_peers(&traffic->world->plan)) {
        storm_fail(traffic->world, "node %u lost node %u, and nothing was wrong with it",
                   node->number, peer);
    }
    storm_oracle_peer_lost(traffic->oracle, node->number, peer,
                           swif_peer_incarnation(node->board.swif, peer),
                           swif_peer_is_dead(node->board.swif, peer));
    /* What waited for it has ended, perhaps in the midst of a transmission. */
    storm_program_wake(traffic, node, traffic->world->now_ns);
}

void storm_traffic_datagram(void *context, uint64_t now_ns, const struct swif_delivery *delivery)
{
    const struct storm_node *node = context;
    struct storm_traffic *traffic = node->world->traffic;
    (void)now_ns;
    storm_oracle_datagram(traffic->oracle, node->number, delivery);
    report(traffic);
}

/* ---- The end ------------------------------------------------------------------------ */

void storm_traffic_stop(struct storm_traffic *traffic)
{
    traffic->is_stopped = true;
    /* A barrier that one node has entered needs all others; a later phase needs none. */
    traffic->phase_count = 0;
    for (uint32_t node = 0; node < traffic->oracle->node_count; node++) {
        uint32_t phase = traffic->oracle->phases[node];
        traffic->phase_count = phase > traffic->phase_count ? phase : traffic->phase_count;
    }
    for (uint32_t node = 0; node < traffic->oracle->node_count; node++) {
        traffic->programs[node].has_gift = false;
        traffic->programs[node].left = 0;
        if (traffic->programs[node].is_running) {
            storm_program_wake(traffic, &traffic->world->nodes[node], 0);
        }
    }
}

bool storm_traffic_is_done(struct storm_traffic *traffic)
{
    for (uint32_t node = 0; node < traffic->oracle->node_count; node++) {
        if (!traffic->programs[node].is_running) {
            continue;
        }
        const struct storm_life *life = storm_oracle_life(traffic->oracle, (uint16_t)node);
        if (life->required_count > 0 || life->awaited_count > 0 ||
            !storm_services_are_done(traffic, (uint16_t)node)) {
            return false;
        }
    }
    return true;
}

void storm_traffic_describe(struct storm_traffic *traffic, char *text, size_t room)
{
    const struct storm_oracle *oracle = traffic->oracle;
    size_t at = 0;
    uint32_t more = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < oracle->operation_count; i++) {
        const struct storm_operation *operation = &oracle->operations[i];
        bool is_alive = oracle->lives[operation->source_life]->is_alive;
        bool is_awaited = operation->wants_completion && !operation->is_ended;
        if (!is_alive || !(operation->is_required || is_awaited)) {
            continue;
        }
        char line[96];
        int bytes = snprintf(line, sizeof line, "%snode %u: %s %u.%u to node %u%s", at ? "; " : "",
                             operation->source, storm_works[operation->work].name, operation->lane,
                             operation->number, operation->target,
                             operation->is_required ? " has not taken effect" : " has not ended");
        if (bytes > 0 && at + (size_t)bytes + 24 < room) {
            memcpy(text + at, line, (size_t)bytes + 1);
            at += (size_t)bytes;
        } else {
            more++;
        }
    }
    for (uint32_t node = 0; node < oracle->node_count; node++) {
        if (traffic->programs[node].is_running &&
            !storm_services_are_done(traffic, (uint16_t)node) && at + 64 < room) {
            at += (size_t)snprintf(text + at, room - at, "%snode %u: holds a lock or has to arrive",
                                   at ? "; " : "", node);
        }
    }
    if (more > 0 && at < room) {
        snprintf(text + at, room - at, "; and %u more", more);
    }
}

static void check_ticket(struct storm_traffic *traffic, const struct storm_ticket *ticket)
{
    const struct storm_operation *operation = &traffic->oracle->operations[ticket->operation];
    bool is_touched = ticket->completion.state != 0;
    for (uint64_t i = 0; i < ticket->data_bytes && !is_touched; i++) {
        is_touched = ticket->data[i] != CANARY;
    }
    if (is_touched) {
        storm_operation_fail(traffic->oracle, operation, storm_works[operation->work].name,
                             "touched its caller's memory after its end");
    }
}

void storm_traffic_check(struct storm_traffic *traffic)
{
    for (uint32_t node = 0; node < traffic->oracle->node_count; node++) {
        if (traffic->programs[node].is_running) {
            storm_oracle_compare(traffic->oracle, (uint16_t)node,
                                 traffic->world->nodes[node].memory);
        }
    }
    for (uint32_t i = 0; i < traffic->ticket_count; i++) {
        if (traffic->tickets[i]->is_over) {
            check_ticket(traffic, traffic->tickets[i]);
        }
    }
    count_checked(traffic);
    report(traffic);
}
