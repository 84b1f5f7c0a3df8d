/* What a program draws and gives: stores, blocks, transfers, atomics, quiets, datagrams. */
#include "sim/storm/traffic.h"

#include <string.h>

enum {
    BOTF_BYTES_MAX = WIRE_BOTF_BYTES_MAX,
    PULL_GUARD_BYTES = 16, /* behind a pull's target, where nothing may be written */
    DATAGRAM_BYTES_MAX = 200,
    NO_SUCH_AREA = 77,
    PAGE_MASK = (1 << NIC_KICK_PAGE_BITS) - 1,
};

/* How often each kind is drawn, among those that are asked for. The barrier is not drawn, because
 * all members have to arrive equally often. */
static const uint32_t weights[STORM_WORK_COUNT] = {
    [STORM_WORK_AOTF] = 6, [STORM_WORK_BOTF] = 4,    [STORM_WORK_PUSH] = 4,
    [STORM_WORK_PULL] = 3, [STORM_WORK_ATOMIC] = 6,  [STORM_WORK_QUIET] = 1,
    [STORM_WORK_LOCK] = 2, [STORM_WORK_MESSAGE] = 4, [STORM_WORK_DATAGRAM] = 2,
};

/* ---- Drawing ------------------------------------------------------------------------ */

static bool draw_work(const struct storm_plan *plan, struct base_random *random,
                      enum storm_work *work)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < STORM_WORK_COUNT; i++) {
        sum += plan->work[i] ? weights[i] : 0;
    }
    if (sum == 0) {
        return false;
    }
    uint32_t drawn = (uint32_t)base_random_below(random, sum);
    uint32_t i = 0;
    while (!plan->work[i] || drawn >= weights[i]) {
        drawn -= plan->work[i] ? weights[i] : 0;
        i++;
    }
    *work = (enum storm_work)i;
    return true;
}

static uint32_t draw_length(struct base_random *random, uint32_t max)
{
    uint32_t kind = (uint32_t)base_random_below(random, 8);
    uint32_t span = kind < 4 ? 64 : kind < 7 ? max / 4 : max;
    return 1 + (uint32_t)base_random_below(random, span < max ? span : max);
}

static void draw_atomic(struct storm_program *program)
{
    struct base_random *random = &program->random;
    struct storm_gift *gift = &program->gift;
    gift->function = (uint8_t)base_random_below(random, WIRE_ATOMICS);
    gift->word = (uint8_t)base_random_below(random, STORM_WORDS_EACH);
    gift->expected = base_random_below(random, 2) ? program->last_fetched : 0;
    bool changes_nothing = gift->function == WIRE_READ || gift->function == WIRE_COMPARE_SWAP;
    gift->wants_completion = base_random_below(random, 3) != 0 || changes_nothing;
}

static void draw_details(struct storm_traffic *traffic, struct storm_program *program)
{
    struct base_random *random = &program->random;
    struct storm_gift *gift = &program->gift;
    switch (gift->work) {
    case STORM_WORK_AOTF:
        gift->bytes = base_random_below(random, 2) ? 8 : 1u << base_random_below(random, 3);
        program->is_skip = base_random_below(random, 4) == 0;
        break;
    case STORM_WORK_BOTF:
        gift->bytes = draw_length(random, BOTF_BYTES_MAX);
        gift->place = base_random_below(random, STORM_BLOCKS_BYTES - gift->bytes + 1);
        break;
    case STORM_WORK_PUSH:
        gift->bytes = draw_length(random, STORM_PUSH_BYTES_MAX);
        gift->wants_completion = true;
        break;
    case STORM_WORK_PULL:
        gift->bytes = draw_length(random, STORM_PULLS_BYTES);
        gift->place = base_random_below(random, STORM_PULLS_BYTES - gift->bytes + 1);
        gift->is_trespass = base_random_below(random, 16) == 0;
        gift->wants_completion = true;
        break;
    case STORM_WORK_ATOMIC: draw_atomic(program); break;
    case STORM_WORK_QUIET: gift->wants_completion = true; break;
    case STORM_WORK_LOCK:
        gift->place = base_random_below(random, STORM_LOCKS);
        gift->target = traffic->lock_managers[gift->place];
        gift->function = base_random_below(random, 4) == 0;
        gift->lane = STORM_SERVICE_LANE;
        gift->wants_completion = true;
        break;
    case STORM_WORK_MESSAGE:
        gift->bytes = 8 + draw_length(random,
                                      traffic->world->plan.board.services.message_bytes_max - 8);
        gift->lane = STORM_SERVICE_LANE;
        break;
    case STORM_WORK_DATAGRAM: gift->bytes = draw_length(random, DATAGRAM_BYTES_MAX); break;
    case STORM_WORK_BARRIER:
    case STORM_WORK_COUNT: INVARIANT(false);
    }
}

bool storm_program_draw(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    struct base_random *random = &program->random;
    struct storm_gift *gift = &program->gift;
    *gift = (struct storm_gift){.source = node->number};
    if (!draw_work(&traffic->world->plan, random, &gift->work)) {
        return false;
    }
    /* Half of all operations go to one target, so that there are streams as well as a scatter. */
    bool is_scattered = base_random_below(random, 2) == 0;
    uint16_t any = (uint16_t)base_random_below(random, traffic->oracle->node_count);
    uint8_t lane = (uint8_t)base_random_below(random, STORM_LANES);
    gift->target = is_scattered && !program->is_stream ? any : program->favourite;
    gift->lane = program->is_stream ? program->stream_lane : lane;
    program->is_fence_first = base_random_below(random, 6) == 0;
    draw_details(traffic, program);
    return true;
}

/* ---- Giving ------------------------------------------------------------------------- */

static struct dn_remote remote_of(const struct storm_operation *operation, uint32_t area)
{
    return (struct dn_remote){.rank = operation->target, .area = area, .offset = operation->offset};
}

/* Closes the kick page of a lane that has nothing under way, if there is one. */
static void close_a_kick(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    const struct storm_life *life = storm_oracle_life(traffic->oracle, node->number);
    for (uint32_t i = 0; i < traffic->oracle->node_count * STORM_KICKS; i++) {
        uint64_t *kick = &program->kicks[i / STORM_KICKS][i % STORM_KICKS];
        if (*kick && life->lanes[i % STORM_KICKS / 2].unseen_count == 0) {
            int error = nic_kick_close(node->board.engine, *kick - 1);
            INVARIANT(error == 0);
            *kick = 0;
            return;
        }
    }
}

/* The kick page that holds the operation's place. */
static int open_kick(struct storm_traffic *traffic, struct storm_node *node,
                     const struct storm_operation *operation, uint64_t *kick_address)
{
    struct storm_program *program = &traffic->programs[node->number];
    uint64_t *kick =
        &program->kicks[operation->target][operation->lane * 2u + (program->is_skip ? 1 : 0)];
    struct dn_remote page = remote_of(operation, STORM_AREA_STORES);
    page.offset &= ~(uint64_t)PAGE_MASK;
    page.offset += program->is_skip ? traffic->oracle->layout.areas[STORM_AREA_STORES].offset : 0;
    if (*kick == 0) {
        uint64_t address = 0;
        int error = nic_kick_open(node->board.engine, storm_lane_user(operation->lane), page,
                                  program->is_skip, &address);
        if (error == DN_EFULL) {
            close_a_kick(traffic, node);
        }
        if (error) {
            return error;
        }
        *kick = address + 1;
    }
    *kick_address = *kick - 1 + (operation->offset & PAGE_MASK);
    return 0;
}

static int give_store(struct storm_traffic *traffic, struct storm_node *node,
                      const struct storm_operation *operation)
{
    uint64_t kick_address = 0;
    int error = open_kick(traffic, node, operation, &kick_address);
    return error ? error
                 : nic_aotf(node->board.engine, storm_lane_user(operation->lane), kick_address,
                            storm_operation_value(traffic->oracle, operation), operation->bytes);
}

static int give_block(struct storm_node *node, const struct storm_operation *operation)
{
    unsigned char block[BOTF_BYTES_MAX];
    storm_derive_bytes(operation->identity, 0, operation->bytes, block);
    int error = nic_botf(node->board.engine, storm_lane_user(operation->lane),
                         remote_of(operation, STORM_AREA_BLOCKS), block, operation->bytes);
    /* The source may be reused at once. */
    memset(block, 0, sizeof block);
    return error;
}

static int give_push(struct storm_node *node, const struct storm_operation *operation,
                     struct storm_ticket *ticket)
{
    storm_derive_bytes(operation->identity, 0, operation->bytes, ticket->data);
    return nic_push(node->board.engine, storm_lane_user(operation->lane),
                    remote_of(operation, STORM_AREA_PUSHES), ticket->data, operation->bytes,
                    &ticket->completion);
}

static int give_pull(struct storm_node *node, const struct storm_operation *operation,
                     struct storm_ticket *ticket)
{
    uint32_t area = operation->is_trespass ? NO_SUCH_AREA : STORM_AREA_PULLS;
    return nic_pull(node->board.engine, storm_lane_user(operation->lane),
                    remote_of(operation, area), ticket->data, operation->bytes,
                    &ticket->completion);
}

static int give_atomic(struct storm_node *node, const struct storm_operation *operation,
                       struct storm_ticket *ticket)
{
    return nic_atomic(node->board.engine, storm_lane_user(operation->lane),
                      remote_of(operation, STORM_AREA_WORDS), (enum wire_atomic)operation->function,
                      operation->bytes, operation->operand, operation->expected,
                      ticket ? &ticket->completion : NULL);
}

static int give_datagram(struct storm_traffic *traffic, struct storm_node *node, uint32_t index)
{
    const struct storm_operation *operation = &traffic->oracle->operations[index];
    unsigned char body[WIRE_OPERATION_BYTES + DATAGRAM_BYTES_MAX + 8];
    uint32_t bytes = storm_oracle_datagram_body(traffic->oracle, index, body);
    return swif_datagram(node->board.swif, storm_node_now(traffic->world, node), operation->target,
                         operation->lane, body, bytes);
}

uint32_t storm_traffic_note(struct storm_traffic *traffic, struct storm_node *node,
                            struct storm_gift *gift)
{
    gift->is_dead = swif_peer_is_dead(node->board.swif, gift->target);
    gift->intended = swif_peer_incarnation(node->board.swif, gift->target);
    uint32_t index = storm_oracle_give(traffic->oracle, gift);
    if (index != STORM_NONE) {
        storm_note(traffic->world, node, "%s %u.%u to %u, %u bytes", storm_works[gift->work].name,
                   gift->lane, traffic->oracle->operations[index].number, gift->target,
                   traffic->oracle->operations[index].bytes);
    }
    return index;
}

/* The memory that belongs to the operation until its completion comes. */
static uint64_t data_bytes_of(const struct storm_operation *operation)
{
    switch (operation->work) {
    case STORM_WORK_PUSH: return operation->bytes;
    case STORM_WORK_PULL: return operation->bytes + PULL_GUARD_BYTES;
    default: return 0;
    }
}

static int give_primitive(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    struct storm_gift *gift = &program->gift;
    uint32_t index = storm_traffic_note(traffic, node, gift);
    if (index == STORM_NONE) {
        return 0; /* its place is used up: the program goes on without it */
    }
    const struct storm_operation *operation = &traffic->oracle->operations[index];
    struct storm_ticket *ticket = NULL;
    if (operation->wants_completion) {
        ticket = storm_ticket_new(traffic, program, index, data_bytes_of(operation));
    }
    int error = 0;
    switch (gift->work) {
    case STORM_WORK_AOTF: error = give_store(traffic, node, operation); break;
    case STORM_WORK_BOTF: error = give_block(node, operation); break;
    case STORM_WORK_PUSH: error = give_push(node, operation, ticket); break;
    case STORM_WORK_PULL: error = give_pull(node, operation, ticket); break;
    case STORM_WORK_ATOMIC: error = give_atomic(node, operation, ticket); break;
    case STORM_WORK_QUIET:
        error = nic_quiet(node->board.engine, storm_lane_user(gift->lane), &ticket->completion);
        break;
    case STORM_WORK_DATAGRAM: error = give_datagram(traffic, node, index); break;
    default: INVARIANT(false);
    }
    if (error && ticket) {
        storm_ticket_drop(traffic, program);
    }
    if (error) {
        storm_oracle_withdraw(traffic->oracle, index);
    }
    node->board.changed = true;
    bool is_gone = gift->work == STORM_WORK_DATAGRAM && error == DN_EPEER && gift->is_dead;
    if (error && error != DN_EFULL && !is_gone) {
        storm_oracle_fail(traffic->oracle, "node %u lane %u: %s to node %u was refused with %d",
                          node->number, gift->lane, storm_works[gift->work].name, gift->target,
                          error);
    }
    /* A datagram without room counts as lost. */
    return gift->work == STORM_WORK_DATAGRAM ? 0 : error;
}

int storm_program_give(struct storm_traffic *traffic, struct storm_node *node)
{
    struct storm_program *program = &traffic->programs[node->number];
    const struct storm_gift *gift = &program->gift;
    if (gift->work == STORM_WORK_LOCK) {
        return storm_services_give_lock(traffic, node);
    }
    if (gift->work == STORM_WORK_MESSAGE) {
        return storm_services_give_message(traffic, node);
    }
    if (program->is_fence_first) {
        int error = nic_fence(node->board.engine, storm_lane_user(gift->lane));
        if (error) {
            return error;
        }
        storm_oracle_fence(traffic->oracle, node->number, gift->lane);
        program->is_fence_first = false;
    }
    return give_primitive(traffic, node);
}
