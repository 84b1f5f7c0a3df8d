/* What programs do with locks, the barrier and messages. */
#include "sim/storm/traffic.h"

#include <string.h>

enum {
    MESSAGE_BYTES_MAX = 2048,
    READ_PAUSE_NS = 60000, /* at most; long enough that receive buffers fill */
    HOLD_NS = 100000,      /* at most */
    PATIENCE_NS = 2000000, /* how long some wait for a lock before they give up */
};

void storm_services_born(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    const struct storm_plan *plan = &traffic->world->plan;
    uint64_t now_ns = storm_node_now(traffic->world, node);
    uint16_t all[STORM_NODES_MAX];
    for (uint16_t i = 0; i < traffic->oracle->node_count; i++) {
        all[i] = i;
    }
    if (plan->work[STORM_WORK_MESSAGE]) {
        static const uint32_t flags[] = {0, DN_CONTEXT_BACK_OFF, DN_CONTEXT_RESEND_REQUEST};
        const struct nic_message_lists lists = {all, traffic->oracle->node_count, all,
                                                traffic->oracle->node_count};
        uint32_t loses = plan->board.services.message_datagrams ? DN_CONTEXT_LOSS_DETECTION : 0;
        uint32_t choice = flags[base_random_below(&program->random, 3)];
        int error = nic_packet_message_open(node->board.services, STORM_CHANNEL, &lists,
                                            choice | loses, NULL);
        error = error ? error : nic_packet_message_ask_all(node->board.services, STORM_CHANNEL);
        INVARIANT(error == 0);
    }
    if (program->is_member) {
        int error = nic_packet_barrier_open(node->board.services, now_ns, STORM_TEAM, all,
                                            traffic->oracle->node_count);
        INVARIANT(error == 0);
        program->arrival_ns = traffic->world->now_ns +
                              base_random_below(&program->random, 1 + plan->safety_ns / 4);
    }
}

/* ---- Locks -------------------------------------------------------------------------- */

int storm_services_give_lock(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    struct storm_gift *gift = &program->gift;
    uint32_t free_use = 0;
    while (free_use < STORM_LOCK_USES && program->locks[free_use].is_used) {
        free_use++;
    }
    if (free_use == STORM_LOCK_USES) {
        return DN_EFULL;
    }
    struct storm_lock_use *use = &program->locks[free_use];
    uint32_t index = storm_traffic_note(traffic, node, gift);
    struct storm_ticket *ticket = storm_ticket_new(traffic, program, index, 0);
    *use = (struct storm_lock_use){
        .is_used = true,
        .ticket = ticket,
        .until_ns = base_random_below(&program->random, 4) == 0
                        ? traffic->world->now_ns + base_random_below(&program->random, PATIENCE_NS)
                        : UINT64_MAX,
    };
    int error = nic_packet_lock_request(node->board.services, storm_node_now(traffic->world, node),
                                        gift->target, gift->place, gift->function == 1, NULL,
                                        &ticket->completion, &use->name);
    node->board.changed = true;
    if (error) {
        use->is_used = false;
        storm_ticket_drop(traffic, program);
        storm_oracle_withdraw(traffic->oracle, index);
        if (error != DN_EFULL) {
            storm_oracle_fail(traffic->oracle, "node %u: a request for a lock was refused with %d",
                              node->number, error);
        }
        return error;
    }
    if (use->until_ns != UINT64_MAX) {
        storm_program_wake(traffic, node, use->until_ns);
    }
    return 0;
}

/* A node that has found its lock to be lost excludes no other any more. */
static void look_for_losses(struct storm_traffic *traffic)
{
    for (uint32_t i = 0; i < traffic->oracle->node_count; i++) {
        struct storm_program *program = &traffic->programs[i];
        if (!program->is_running) {
            continue;
        }
        for (uint32_t k = 0; k < STORM_LOCK_USES; k++) {
            const struct storm_lock_use *use = &program->locks[k];
            if (use->is_used && use->is_held &&
                nic_packet_lock_state(traffic->world->nodes[i].board.services, use->name) !=
                    NIC_PACKET_LOCK_HELD) {
                storm_oracle_lock_over(traffic->oracle, use->ticket->operation);
            }
        }
    }
}

void storm_services_lock_ended(struct storm_traffic *traffic, struct storm_node *node,
                               struct storm_ticket *ticket)
{
    struct storm_program *program = &traffic->programs[node->number];
    uint32_t k = 0;
    while (!program->locks[k].is_used || program->locks[k].ticket != ticket) {
        k++;
        INVARIANT(k < STORM_LOCK_USES);
    }
    struct storm_lock_use *use = &program->locks[k];
    int result = ticket->completion.result;
    if (result != 0 && result != DN_EOWNERDEAD) {
        use->is_used = false;
        return;
    }
    look_for_losses(traffic);
    use->is_held = true;
    use->until_ns = traffic->world->now_ns + base_random_below(&program->random, HOLD_NS);
    storm_program_wake(traffic, node, use->until_ns);
}

static void release(struct storm_traffic *traffic, struct storm_node *node,
                    struct storm_lock_use *use)
{
    const struct storm_operation *request = &traffic->oracle->operations[use->ticket->operation];
    int error = nic_packet_lock_release(node->board.services, storm_node_now(traffic->world, node),
                                        use->name);
    storm_note(traffic->world, node, "lock %u.%u released: %d", request->lane, request->number,
               error);
    const struct storm_life *life = storm_oracle_life(traffic->oracle, node->number);
    bool was_lost = request->was_dead || life->losses[request->target] > request->losses;
    if (error && (error != DN_EPEER || !was_lost)) {
        storm_oracle_fail(traffic->oracle, "node %u: releasing lock %llu of node %u gave %d",
                          node->number, (unsigned long long)request->offset, request->target,
                          error);
    }
    storm_oracle_lock_over(traffic->oracle, use->ticket->operation);
    use->is_used = false;
    node->board.changed = true;
}

static void step_locks(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    for (uint32_t k = 0; k < STORM_LOCK_USES; k++) {
        struct storm_lock_use *use = &program->locks[k];
        if (!use->is_used || use->until_ns == UINT64_MAX) {
            continue;
        }
        if (traffic->world->now_ns < use->until_ns) {
            storm_program_wake(traffic, node, use->until_ns);
        } else if (use->is_held) {
            release(traffic, node, use);
        } else {
            /* Its end, DN_ETIMEOUT or what came first, is seen in the next step. */
            int error = nic_packet_lock_abandon(node->board.services,
                                                storm_node_now(traffic->world, node), use->name);
            INVARIANT(error == 0 || error == DN_EBUSY || error == DN_ENOTHELD);
            use->until_ns = UINT64_MAX;
            node->board.changed = true;
            storm_program_wake(traffic, node, traffic->world->now_ns);
        }
    }
}

/* ---- The barrier -------------------------------------------------------------------- */

/* A team consists of certain lives. A member learns those of its neighbours in the tree, as from a
 * launcher: otherwise it might take a later life for the first, and arrive there in vain. */
static void meet(struct storm_traffic *traffic, struct storm_node *node)
{
    uint32_t own = node->number;
    const uint32_t neighbours[] = {own == 0 ? own : (own - 1) / 2, 2 * own + 1, 2 * own + 2};
    for (uint32_t i = 0; i < sizeof neighbours / sizeof neighbours[0]; i++) {
        uint32_t peer = neighbours[i];
        if (peer != own && peer < traffic->oracle->node_count) {
            const struct storm_life *life = traffic->oracle->lives[peer];
            INVARIANT(life->node == peer && life->ordinal == 0);
            swif_peer_is(node->board.swif, storm_node_now(traffic->world, node), (uint16_t)peer,
                         life->incarnation);
        }
    }
    node->board.changed = true;
}

static void step_barrier(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    if (program->is_member && !program->has_met && traffic->world->now_ns > 0) {
        program->has_met = true;
        meet(traffic, node);
    }
    if (!program->is_member || program->arrival || program->phase >= traffic->phase_count) {
        return;
    }
    if (!traffic->is_stopped && traffic->world->now_ns < program->arrival_ns) {
        storm_program_wake(traffic, node, program->arrival_ns);
        return;
    }
    struct storm_gift gift = {
        .work = STORM_WORK_BARRIER,
        .source = node->number,
        .target = node->number,
        .lane = STORM_SERVICE_LANE,
        .place = ++program->phase,
        .wants_completion = true,
    };
    uint32_t index = storm_traffic_note(traffic, node, &gift);
    program->arrival = storm_ticket_new(traffic, program, index, 0);
    int error = nic_packet_barrier_arrive(node->board.services,
                                          storm_node_now(traffic->world, node), STORM_TEAM,
                                          &program->arrival->completion);
    if (error) {
        storm_oracle_fail(traffic->oracle, "node %u: arriving at the barrier was refused with %d",
                          node->number, error);
    }
    program->arrival_ns = traffic->world->now_ns +
                          base_random_below(&program->random,
                                            1 + traffic->world->plan.safety_ns / 8);
    node->board.changed = true;
    storm_program_wake(traffic, node, traffic->world->now_ns);
}

/* ---- Messages ----------------------------------------------------------------------- */

int storm_services_give_message(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_gift *gift = &traffic->programs[node->number].gift;
    unsigned char data[MESSAGE_BYTES_MAX];
    uint32_t index = storm_traffic_note(traffic, node, gift);
    storm_derive_bytes(traffic->oracle->operations[index].identity, 0, gift->bytes, data);
    uint64_t now_ns = storm_node_now(traffic->world, node);
    struct nic_services *services = node->board.services;
    int error = nic_packet_message_send(services, now_ns, STORM_CHANNEL, gift->target, data,
                                        gift->bytes);
    const struct storm_life *life = storm_oracle_life(traffic->oracle, node->number);
    if (error == DN_EPEER && (gift->is_dead || life->losses[gift->target] > 0)) {
        error = nic_packet_message_reconnect(services, STORM_CHANNEL, gift->target);
        INVARIANT(error == 0);
        error = nic_packet_message_send(services, now_ns, STORM_CHANNEL, gift->target, data,
                                        gift->bytes);
    }
    node->board.changed = true;
    if (error) {
        storm_oracle_withdraw(traffic->oracle, index);
        if (error != DN_EFULL) {
            storm_oracle_fail(traffic->oracle, "node %u: a message to node %u was refused with %d",
                              node->number, gift->target, error);
        }
    }
    return error;
}

/* Reads some of what came. Programs that have to end read everything at once. */
static void step_messages(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    if (!traffic->world->plan.work[STORM_WORK_MESSAGE]) {
        return;
    }
    if (!traffic->is_stopped && traffic->world->now_ns < program->next_read_ns) {
        storm_program_wake(traffic, node, program->next_read_ns);
        return;
    }
    uint64_t reads = traffic->is_stopped ? UINT64_MAX : 1 + base_random_below(&program->random, 4);
    unsigned char data[MESSAGE_BYTES_MAX];
    uint16_t from = 0;
    uint32_t bytes = 0;
    int error = 0;
    bool has_read = false;
    while (reads-- > 0 && !(error = nic_packet_message_receive(
                                node->board.services, storm_node_now(traffic->world, node),
                                STORM_CHANNEL, data, sizeof data, &from, &bytes))) {
        storm_note(traffic->world, node, "message of %u bytes from %u", bytes, from);
        storm_oracle_message(traffic->oracle, node->number, from, data, bytes);
        has_read = true;
    }
    if (error && error != DN_EBUSY) {
        storm_oracle_fail(traffic->oracle, "node %u: receiving gave %d", node->number, error);
    }
    if (has_read) {
        node->board.changed = true;
        program->next_read_ns = traffic->world->now_ns +
                                base_random_below(&program->random, READ_PAUSE_NS);
        storm_program_wake(traffic, node, program->next_read_ns);
    }
}

/* ---- Steps -------------------------------------------------------------------------- */

void storm_services_step(struct storm_traffic *traffic, struct storm_node *node)
{
    step_locks(traffic, node);
    step_barrier(traffic, node);
    step_messages(traffic, node);
}

bool storm_services_are_done(const struct storm_traffic *traffic, uint16_t node)
{
    const struct storm_program *program = &traffic->programs[node];
    for (uint32_t k = 0; k < STORM_LOCK_USES; k++) {
        if (program->locks[k].is_used) {
            return false;
        }
    }
    return !program->is_member || program->phase >= traffic->phase_count;
}
