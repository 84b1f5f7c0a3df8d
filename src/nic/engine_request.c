/* Turns what users gave into records.
 *
 * Users, transfers and services take turns, and so do the users and the transfers among
 * themselves: whoever moved something last is the last to move again, so that a single free
 * place goes round. Within a user's queue an entry passes an earlier one only if that waits
 * for room at another target; nothing passes a FENCE or QUIET. */
#include "nic/engine_state.h"

#include "base/mutant.h"
#include "nic/services.h"

enum {
    BATCH = 16,       /* entries that a user moves in one turn */
    BLOCKED_MAX = 64, /* targets without room after which the rest of a queue can wait */
};

/* The way of a user's requests. */
static struct wire_route route_of(const struct nic_engine *engine, uint16_t target, uint32_t user)
{
    return (struct wire_route){.target = target,
                               .class = WIRE_REQUEST,
                               .channel = nic_user_channel(user),
                               .pgid = nic_user_pgid(engine, user)};
}

/* Room for a record. `operation` has its length; the caller completes it, and encodes it there. */
static int append(struct nic_engine *engine, uint64_t now_ns, const struct wire_route *route,
                  const struct wire_operation *operation, unsigned char **room)
{
    return engine->network.append(engine->network.context, now_ns, route,
                                  wire_operation_bytes(operation), room);
}

/* Appends a record that is complete. */
static int send(struct nic_engine *engine, uint64_t now_ns, const struct wire_route *route,
                const struct wire_operation *operation)
{
    unsigned char *room;
    int error = append(engine, now_ns, route, operation, &room);
    if (!error) {
        wire_operation_encode(operation, room);
    }
    return error;
}

static void note_sent(struct nic_engine *engine, uint32_t user, uint16_t target)
{
    nic_target_set_add(&engine->users[user].since_fence, target);
    nic_target_set_add(&engine->users[user].since_quiet, target);
    engine->users[user].mark = engine->network.mark(engine->network.context);
}

/* ---- Entries of the FIFO --------------------------------------------------------------- */

static uint64_t within_page(uint64_t address)
{
    return address & ((UINT64_C(1) << NIC_KICK_PAGE_BITS) - 1);
}

static const struct nic_header_seed *look_up(struct nic_engine *engine,
                                             const struct nic_transaction *entry)
{
    struct nic_header_tlb *headers = &engine->headers;
    const struct nic_header_seed *seed = nic_header_tlb_lookup(headers,
                                                               entry->offset >> NIC_KICK_PAGE_BITS);
    engine->counters.header_hits = headers->hits;
    engine->counters.header_misses = headers->misses;
    return seed;
}

/* The header is looked up when there is room for the record, so that each store meets the TLB
 * once, however long it waits. */
static int send_aotf(struct nic_engine *engine, uint64_t now_ns,
                     const struct nic_transaction *entry)
{
    struct wire_operation operation = {.opcode = WIRE_AOTF, .bytes = (uint16_t)entry->bytes};
    struct wire_route route = route_of(engine, entry->target, entry->user);
    route.ordered = !MUTANT(STORES_UNORDERED);
    route.tag = entry->tag;
    unsigned char *room;
    int error = append(engine, now_ns, &route, &operation, &room);
    if (error) {
        return error;
    }
    const struct nic_header_seed *seed = look_up(engine, entry);
    INVARIANT(seed && seed->user == entry->user && seed->pgid == route.pgid &&
              seed->target == route.target && seed->channel == route.channel);
    operation.detail = seed->skip ? WIRE_SKIP : 0;
    operation.area = seed->area;
    operation.offset = seed->offset | within_page(entry->offset);
    operation.operand = entry->operand;
    wire_operation_encode(&operation, room);
    return 0;
}

/* A remote read that a store or a user's packet asked for: not part of a PULL, and without a
 * completion. */
static void await_read(struct nic_engine *engine, const struct nic_transaction *entry,
                       uint32_t bytes, uint64_t address, uint64_t *tag)
{
    struct nic_outstanding *request = nic_outstanding_take(engine, tag);
    request->user = entry->user;
    request->peer = entry->target;
    request->transfer = NIC_NONE;
    request->bytes = bytes;
    request->local = engine->memory.base + address;
    request->completion = NULL;
    engine->users[entry->user].outstanding++;
}

static int send_read(struct nic_engine *engine, uint64_t now_ns,
                     const struct nic_transaction *entry)
{
    if (nic_outstanding_is_full(engine)) {
        return DN_EFULL;
    }
    struct wire_operation operation = {.opcode = WIRE_PULL, .bytes = (uint16_t)entry->bytes};
    struct wire_route route = route_of(engine, entry->target, entry->user);
    route.tag = entry->tag;
    route.reply_bytes = wire_reply_bytes(&operation);
    unsigned char *room;
    int error = append(engine, now_ns, &route, &operation, &room);
    if (error) {
        return error;
    }
    const struct nic_header_seed *seed = look_up(engine, entry);
    INVARIANT(seed && seed->user == entry->user && seed->pgid == route.pgid && seed->reads);
    operation.area = seed->area;
    operation.offset = seed->offset | within_page(entry->offset);
    await_read(engine, entry, operation.bytes, seed->local | within_page(entry->operand),
               &operation.tag);
    wire_operation_encode(&operation, room);
    return 0;
}

/* The user's packet goes out as it is, but for the tag of a read. */
static int send_packet(struct nic_engine *engine, uint64_t now_ns,
                       const struct nic_transaction *entry)
{
    const struct nic_window *window = nic_window_at(&engine->windows, entry->index);
    struct wire_operation operation = {.opcode = 0};
    uint32_t at = 0;
    bool is_read = wire_operation_opcode(window->data) == WIRE_PULL;
    if (is_read && nic_outstanding_is_full(engine)) {
        return DN_EFULL;
    }
    struct wire_route route = route_of(engine, entry->target, entry->user);
    INVARIANT(window->user == entry->user && window->pgid == route.pgid);
    route.ordered = !is_read;
    route.tag = entry->tag;
    if (is_read) {
        bool decoded = wire_operation_decode(window->data, (uint32_t)entry->bytes, WIRE_REQUEST,
                                             &at, &operation);
        INVARIANT(decoded);
        route.reply_bytes = wire_reply_bytes(&operation);
    }
    unsigned char *room;
    int error = engine->network.append(engine->network.context, now_ns, &route,
                                       (uint32_t)entry->bytes, &room);
    if (error) {
        return error;
    }
    memcpy(room, window->data, entry->bytes);
    if (is_read) {
        await_read(engine, entry, operation.bytes, entry->operand, &operation.tag);
        wire_operation_encode(&operation, room);
    }
    nic_window_give(&engine->windows, entry->index);
    return 0;
}

static int send_botf(struct nic_engine *engine, uint64_t now_ns,
                     const struct nic_transaction *entry)
{
    const struct nic_window *window = nic_window_at(&engine->windows, entry->index);
    struct wire_operation operation = {
        .opcode = WIRE_BOTF,
        .bytes = (uint16_t)entry->bytes,
        .area = entry->area,
        .offset = entry->offset,
        .data = window->data,
    };
    struct wire_route route = route_of(engine, entry->target, entry->user);
    INVARIANT(window->user == entry->user && window->pgid == route.pgid);
    route.ordered = true;
    route.tag = entry->tag;
    int error = send(engine, now_ns, &route, &operation);
    if (!error) {
        nic_window_give(&engine->windows, entry->index);
    }
    return error;
}

static int send_atomic(struct nic_engine *engine, uint64_t now_ns,
                       const struct nic_transaction *entry)
{
    bool fetches = entry->completion != NULL;
    if (fetches && nic_outstanding_is_full(engine)) {
        return DN_EFULL;
    }
    struct wire_operation operation = {
        .opcode = WIRE_ATOMIC,
        .detail = entry->function,
        .bytes = (uint16_t)entry->bytes,
        .area = entry->area,
        .offset = entry->offset,
        .tag = fetches ? UINT64_MAX : WIRE_NO_TAG, /* until it is known that there is room */
        .operand = entry->operand,
        .expected = entry->expected,
    };
    struct wire_route route = route_of(engine, entry->target, entry->user);
    route.reply_bytes = wire_reply_bytes(&operation);
    unsigned char *room;
    int error = append(engine, now_ns, &route, &operation, &room);
    if (error) {
        return error;
    }
    if (fetches) {
        struct nic_outstanding *request = nic_outstanding_take(engine, &operation.tag);
        request->user = entry->user;
        request->peer = entry->target;
        request->transfer = NIC_NONE;
        request->bytes = (uint32_t)entry->bytes;
        request->local = NULL;
        request->completion = entry->completion;
        engine->users[entry->user].outstanding++;
    }
    wire_operation_encode(&operation, room);
    return 0;
}

/* 0: the entry is gone. DN_EFULL: it waits. */
static int move_entry(struct nic_engine *engine, uint64_t now_ns, struct nic_transaction *entry)
{
    int error = 0;
    switch (entry->kind) {
    case NIC_AOTF: error = send_aotf(engine, now_ns, entry); break;
    case NIC_READ: error = send_read(engine, now_ns, entry); break;
    case NIC_BOTF: error = send_botf(engine, now_ns, entry); break;
    case NIC_PACKET: error = send_packet(engine, now_ns, entry); break;
    case NIC_ATOMIC: error = send_atomic(engine, now_ns, entry); break;
    case NIC_PUSH:
    case NIC_PULL: nic_transfer_start(engine, entry->index); break;
    case NIC_FENCE:
    case NIC_QUIET: INVARIANT(false);
    }
    if (error == DN_EFULL) {
        return error;
    }
    if (error) {
        nic_transaction_lost(engine, entry);
        return 0;
    }
    if (entry->kind != NIC_PUSH && entry->kind != NIC_PULL) {
        note_sent(engine, entry->user, entry->target);
    }
    nic_transaction_remove(&engine->fifo, entry);
    return 0;
}

static void fence_targets(struct nic_engine *engine, uint32_t user)
{
    struct nic_target_set *set = &engine->users[user].since_fence;
    for (uint32_t word = set->low; word < set->high; word++) {
        for (uint64_t left = set->words[word]; left != 0; left &= left - 1) {
            uint16_t target = (uint16_t)(64 * word + (uint32_t)__builtin_ctzll(left));
            if (!MUTANT(FENCE_IGNORED)) {
                engine->network.fence(engine->network.context, target, nic_user_channel(user));
            }
        }
    }
    nic_target_set_empty(set);
}

/* Whether all that the user gave before its oldest entry has taken effect. */
static bool is_quiet(struct nic_engine *engine, struct nic_user *user)
{
    if (user->outstanding != 0 || user->transfers != 0) {
        return false;
    }
    return MUTANT(QUIET_EARLY) ||
           engine->network.mark_is_passed(engine->network.context, user->mark);
}

/* A FENCE or QUIET: true when it is done and gone. */
static bool move_barrier(struct nic_engine *engine, struct nic_transaction *entry)
{
    struct nic_user *user = &engine->users[entry->user];
    if (nic_transaction_first(&engine->fifo, entry->user) != entry ||
        (user->sending != 0 && !MUTANT(FENCE_EARLY))) {
        return false;
    }
    if (entry->kind == NIC_FENCE) {
        fence_targets(engine, entry->user);
    } else {
        if (!is_quiet(engine, user)) {
            return false;
        }
        int result = user->failed;
        user->failed = 0;
        nic_target_set_empty(&user->since_fence);
        nic_target_set_empty(&user->since_quiet);
        nic_complete(engine, entry->user, entry->completion, result, 0);
    }
    nic_transaction_remove(&engine->fifo, entry);
    return true;
}

/* One turn of a user: whether anything moved. */
static bool move_user(struct nic_engine *engine, uint64_t now_ns, uint32_t user)
{
    uint32_t moved = 0;
    uint32_t blocked = 0;
    struct nic_transaction *next;
    for (struct nic_transaction *entry = nic_transaction_first(&engine->fifo, user);
         entry && moved < BATCH && blocked < BLOCKED_MAX; entry = next) {
        next = nic_transaction_next(&engine->fifo, entry);
        if (entry->kind == NIC_FENCE || entry->kind == NIC_QUIET) {
            if (!move_barrier(engine, entry)) {
                break;
            }
            moved++;
        } else if (nic_target_set_has(&engine->blocked, entry->target) && !MUTANT(PASS_BLOCKED)) {
            continue;
        } else if (move_entry(engine, now_ns, entry) == 0) {
            moved++;
        } else {
            nic_target_set_add(&engine->blocked, entry->target);
            blocked++;
        }
    }
    nic_target_set_empty(&engine->blocked);
    return moved != 0;
}

static bool move_users(struct nic_engine *engine, uint64_t now_ns)
{
    if (engine->fifo.busy_users == 0) {
        return false;
    }
    uint32_t last_moved = engine->fifo.last_user;
    uint64_t had_turn = 0;
    bool moved = false;
    for (;;) {
        uint32_t user = nic_transaction_turn(&engine->fifo, had_turn);
        if (user == NIC_USERS) {
            break;
        }
        had_turn |= UINT64_C(1) << user;
        if (move_user(engine, now_ns, user)) {
            last_moved = user;
            moved = true;
        }
    }
    engine->fifo.last_user = last_moved;
    return moved;
}

/* ---- Transfers ------------------------------------------------------------------------- */

static uint64_t cookie_of(const struct nic_engine *engine, uint32_t index)
{
    return (uint64_t)engine->transfers[index].generation << 32 | (index + 1);
}

/* The next bytes of a PUSH, or a request for those of a PULL. */
static int send_piece(struct nic_engine *engine, uint64_t now_ns, uint32_t index, uint16_t bytes)
{
    const struct nic_transfer *transfer = &engine->transfers[index];
    unsigned char *local = transfer->local + transfer->sent_bytes;
    struct wire_operation operation = {
        .opcode = transfer->pulls ? WIRE_PULL : WIRE_PUSH,
        .bytes = bytes,
        .area = transfer->area,
        .offset = transfer->offset + transfer->sent_bytes,
        .data = transfer->pulls ? NULL : local,
    };
    struct wire_route route = route_of(engine, transfer->target, transfer->user);
    route.reply_bytes = transfer->pulls ? wire_reply_bytes(&operation) : 0;
    route.cookie = !transfer->pulls || MUTANT(ACK_AS_DONE) ? cookie_of(engine, index) : 0;
    /* Each record is counted, but on a path that has changed one may be short enough to be joined
     * to another. */
    route.alone = route.cookie != 0;
    unsigned char *room;
    int error = append(engine, now_ns, &route, &operation, &room);
    if (error) {
        return error;
    }
    if (transfer->pulls) {
        struct nic_outstanding *request = nic_outstanding_take(engine, &operation.tag);
        request->user = transfer->user;
        request->peer = transfer->target;
        request->transfer = index;
        request->bytes = bytes;
        request->local = local;
        request->completion = NULL;
    }
    wire_operation_encode(&operation, room);
    return 0;
}

/* How much data a record to that target carries. */
static uint64_t chunk_bytes(const struct nic_engine *engine, uint16_t target)
{
    const struct nic_network *network = &engine->network;
    if (!network->body_bytes) {
        return engine->chunk_bytes;
    }
    return (network->body_bytes(network->context, target) - WIRE_OPERATION_BYTES) & ~7u;
}

/* The transfer's next record. DN_EFULL: not now. */
static int move_transfer(struct nic_engine *engine, uint64_t now_ns, uint32_t index)
{
    struct nic_transfer *transfer = &engine->transfers[index];
    uint64_t left = transfer->bytes - transfer->sent_bytes;
    uint64_t most = chunk_bytes(engine, transfer->target);
    uint16_t bytes = (uint16_t)(left < most ? left : most);
    int error = send_piece(engine, now_ns, index, bytes);
    if (error == DN_EFULL) {
        return error;
    }
    if (error) {
        nic_transfer_end(engine, index, error);
        return 0;
    }
    note_sent(engine, transfer->user, transfer->target);
    transfer->sent_bytes += bytes;
    transfer->under_way++;
    if (transfer->sent_bytes == transfer->bytes) {
        nic_transfer_all_sent(engine, index);
    }
    return 0;
}

/* A PULL may have only so many requests under way; that says nothing about its target. */
static bool may_send(const struct nic_engine *engine, const struct nic_transfer *transfer)
{
    return !transfer->pulls ||
           (transfer->under_way < NIC_PULL_WINDOW && !nic_outstanding_is_full(engine));
}

/* Each sending transfer gets one record out, if it can. The one behind the last that could
 * is the first next time. */
static bool move_transfers(struct nic_engine *engine, uint64_t now_ns)
{
    if (engine->sending_count == 0) {
        return false;
    }
    bool moved = false;
    uint32_t index = engine->sending_first;
    uint32_t first = index;
    for (uint32_t count = engine->sending_count; count != 0; count--) {
        const struct nic_transfer *transfer = &engine->transfers[index];
        uint32_t next = transfer->next;
        uint16_t target = transfer->target;
        if (nic_target_set_has(&engine->blocked, target) || !may_send(engine, transfer)) {
            index = next;
            continue;
        }
        if (move_transfer(engine, now_ns, index) == 0) {
            moved = true;
            first = next;
        } else {
            nic_target_set_add(&engine->blocked, target);
        }
        index = next;
    }
    engine->sending_first = first;
    nic_target_set_empty(&engine->blocked);
    return moved;
}

/* ---- Services -------------------------------------------------------------------------- */

static int send_record(struct nic_engine *engine, uint64_t now_ns, const struct wire_route *route,
                       const struct nic_service_packet *packet)
{
    const struct nic_network *network = &engine->network;
    if (!packet->may_get_lost || !network->datagram) {
        return send(engine, now_ns, route, &packet->operation);
    }
    unsigned char body[WIRE_OPERATION_BYTES + NIC_MESSAGE_BYTES_MAX];
    wire_operation_encode(&packet->operation, body);
    return network->datagram(network->context, now_ns, route, body,
                             wire_operation_bytes(&packet->operation));
}

static bool move_services(struct nic_engine *engine, uint64_t now_ns)
{
    bool moved = false;
    struct nic_service_packet packet;
    if (!engine->services || !nic_services_have_due(engine->services)) {
        return false;
    }
    nic_services_begin(engine->services);
    while (nic_services_next(engine->services, now_ns, &packet)) {
        struct wire_route route = {
            .target = packet.target,
            .class = WIRE_REQUEST,
            .channel = NIC_SERVICE_CHANNEL,
            .ordered = true,
            .pgid = engine->config.pgid,
        };
        int error = send_record(engine, now_ns, &route, &packet);
        if (!error) {
            nic_services_sent(engine->services, now_ns, &packet);
            moved = true;
        } else if (error == DN_EPEER) {
            nic_services_peer_lost(engine->services, now_ns, packet.target);
        }
    }
    return moved;
}

bool nic_engine_has_work(const struct nic_engine *engine)
{
    return engine->fifo.busy_users != 0 || engine->sending_count != 0 ||
           (engine->services && nic_services_have_due(engine->services));
}

/* ---- All together ---------------------------------------------------------------------- */

void nic_engine_run(struct nic_engine *engine, uint64_t now_ns)
{
    INVARIANT(!engine->running);
    engine->running = true;
    for (uint32_t idle = 0; idle < NIC_TURNS;) {
        bool moved = false;
        switch (engine->turn) {
        case NIC_TURN_USERS: moved = move_users(engine, now_ns); break;
        case NIC_TURN_TRANSFERS: moved = move_transfers(engine, now_ns); break;
        case NIC_TURN_SERVICES: moved = move_services(engine, now_ns); break;
        case NIC_TURNS: INVARIANT(false);
        }
        engine->turn = (enum nic_turn)((engine->turn + 1u) % NIC_TURNS);
        idle = moved ? 0 : idle + 1;
    }
    engine->running = false;
}
