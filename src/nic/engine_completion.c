/* How operations end: replies, acknowledgements, lost peers.
 *
 * A completion goes from PENDING to DONE exactly once. Transfers and outstanding requests
 * carry generations, so that a late acknowledgement or reply finds nothing, and can never
 * write into memory that is its owner's again. */
#include "nic/engine_state.h"

#include "base/mutant.h"
#include "nic/memory_access.h"
#include "nic/services.h"

void nic_complete(struct nic_engine *engine, uint32_t user, struct nic_completion *completion,
                  int result, uint64_t value)
{
    if (!completion) {
        struct nic_user *owner = &engine->users[user];
        owner->failed = owner->failed ? owner->failed : result;
        engine->counters.lost_operations += result == DN_EPEER;
        return;
    }
    INVARIANT(completion->state == NIC_PENDING);
    nic_completion_finish(completion, result, value);
}

void nic_transaction_lost(struct nic_engine *engine, struct nic_transaction *transaction)
{
    uint32_t user = transaction->user;
    switch (transaction->kind) {
    case NIC_PUSH:
    case NIC_PULL: nic_transfer_end(engine, transaction->index, DN_EPEER); break;
    case NIC_BOTF:
    case NIC_PACKET:
        nic_window_give(&engine->windows, transaction->index);
        nic_complete(engine, user, NULL, DN_EPEER, 0);
        break;
    case NIC_AOTF:
    case NIC_READ:
    case NIC_ATOMIC: nic_complete(engine, user, transaction->completion, DN_EPEER, 0); break;
    case NIC_FENCE:
    case NIC_QUIET: INVARIANT(false); /* they have no target */
    }
    nic_transaction_remove(&engine->fifo, transaction);
}

/* ---- Outstanding requests -------------------------------------------------------------- */

struct nic_outstanding *nic_outstanding_take(struct nic_engine *engine, uint64_t *tag)
{
    uint32_t index = base_pool_take(&engine->outstanding_pool);
    INVARIANT(index != BASE_POOL_NONE);
    struct nic_outstanding *request = &engine->outstanding[index];
    INVARIANT(!request->in_use);
    request->generation += request->generation == 0; /* its first use: no tag is WIRE_NO_TAG */
    request->in_use = true;
    *tag = (uint64_t)request->generation << 32 | index;
    return request;
}

static void give_back(struct nic_engine *engine, struct nic_outstanding *request)
{
    request->in_use = false;
    request->generation = request->generation == UINT32_MAX ? 1 : request->generation + 1;
    base_pool_give(&engine->outstanding_pool, (uint32_t)(request - engine->outstanding));
}

bool nic_engine_awaits_replies(const struct nic_engine *engine)
{
    return engine->outstanding_pool.taken != 0;
}

void nic_engine_awaited(const struct nic_engine *engine, struct nic_target_set *peers)
{
    uint32_t left = engine->outstanding_pool.taken;
    for (uint32_t i = 0; left != 0; i++) {
        if (engine->outstanding[i].in_use) {
            nic_target_set_add(peers, engine->outstanding[i].peer);
            left--;
        }
    }
}

/* The atomic or read is over. */
static void end_atomic(struct nic_engine *engine, struct nic_outstanding *request, int result,
                       uint64_t value)
{
    engine->users[request->user].outstanding--;
    nic_complete(engine, request->user, request->completion, result, value);
    give_back(engine, request);
}

/* ---- Transfers ------------------------------------------------------------------------- */

uint32_t nic_transfer_take(struct nic_engine *engine)
{
    uint32_t index = base_pool_take(&engine->transfer_pool);
    if (index == BASE_POOL_NONE) {
        return NIC_NONE;
    }
    struct nic_transfer *transfer = &engine->transfers[index];
    INVARIANT(transfer->state == NIC_TRANSFER_FREE);
    *transfer = (struct nic_transfer){.state = NIC_WAITING, .generation = transfer->generation};
    return index;
}

void nic_transfer_start(struct nic_engine *engine, uint32_t index)
{
    struct nic_transfer *transfer = &engine->transfers[index];
    INVARIANT(transfer->state == NIC_WAITING);
    transfer->state = NIC_SENDING;
    engine->users[transfer->user].sending++;
    engine->users[transfer->user].transfers++;
    if (engine->sending_count++ == 0) {
        transfer->previous = index;
        transfer->next = index;
        engine->sending_first = index;
        return;
    }
    struct nic_transfer *first = &engine->transfers[engine->sending_first];
    transfer->next = engine->sending_first;
    transfer->previous = first->previous;
    engine->transfers[first->previous].next = index;
    first->previous = index;
}

static void leave_ring(struct nic_engine *engine, uint32_t index)
{
    struct nic_transfer *transfer = &engine->transfers[index];
    engine->transfers[transfer->previous].next = transfer->next;
    engine->transfers[transfer->next].previous = transfer->previous;
    if (engine->sending_first == index) {
        engine->sending_first = transfer->next;
    }
    engine->sending_count--;
    engine->users[transfer->user].sending--;
}

/* A PULL that ends early: replies that still come must not find its memory. */
static void forget_requests(struct nic_engine *engine, uint32_t index)
{
    for (uint32_t i = 0; i < engine->outstanding_pool.touched; i++) {
        struct nic_outstanding *request = &engine->outstanding[i];
        if (request->in_use && request->transfer == index) {
            give_back(engine, request);
        }
    }
}

void nic_transfer_end(struct nic_engine *engine, uint32_t index, int result)
{
    struct nic_transfer *transfer = &engine->transfers[index];
    switch (transfer->state) {
    case NIC_SENDING:
        leave_ring(engine, index);
        engine->users[transfer->user].transfers--;
        break;
    case NIC_ENDING: engine->users[transfer->user].transfers--; break;
    case NIC_WAITING: break;
    case NIC_TRANSFER_FREE: INVARIANT(false);
    }
    if (transfer->pulls && transfer->under_way != 0) {
        forget_requests(engine, index);
    }
    nic_complete(engine, transfer->user, transfer->completion, result, 0);
    transfer->state = NIC_TRANSFER_FREE;
    transfer->generation++;
    base_pool_give(&engine->transfer_pool, index);
}

void nic_transfer_all_sent(struct nic_engine *engine, uint32_t index)
{
    struct nic_transfer *transfer = &engine->transfers[index];
    INVARIANT(transfer->state == NIC_SENDING);
    leave_ring(engine, index);
    transfer->state = NIC_ENDING;
    if (transfer->under_way == 0) {
        nic_transfer_end(engine, index, transfer->result);
    }
}

/* One of its records is acknowledged (PUSH) or answered (PULL). After a refusal no more
 * requests are sent, but those under way are waited for: they may still use the memory. */
static void one_is_over(struct nic_engine *engine, uint32_t index, int result)
{
    struct nic_transfer *transfer = &engine->transfers[index];
    INVARIANT(transfer->under_way != 0);
    transfer->under_way--;
    transfer->result = transfer->result ? transfer->result : result;
    if (transfer->state == NIC_SENDING && transfer->result) {
        nic_transfer_all_sent(engine, index);
    } else if (transfer->state == NIC_ENDING && transfer->under_way == 0) {
        nic_transfer_end(engine, index, transfer->result);
    }
}

/* The planted bug ACK_AS_DONE: any one request of the PULL counts as answered. */
static void mistake_for_reply(struct nic_engine *engine, uint32_t index)
{
    for (uint32_t i = 0; i < engine->outstanding_pool.touched; i++) {
        struct nic_outstanding *request = &engine->outstanding[i];
        if (request->in_use && request->transfer == index) {
            give_back(engine, request);
            one_is_over(engine, index, 0);
            return;
        }
    }
}

void nic_engine_acknowledged(struct nic_engine *engine, uint64_t now_ns, uint16_t peer,
                             uint64_t cookie)
{
    (void)now_ns;
    INVARIANT(!engine->running);
    uint32_t index = (uint32_t)cookie - 1;
    if (index >= engine->transfer_pool.touched) {
        return;
    }
    struct nic_transfer *transfer = &engine->transfers[index];
    if (transfer->generation != cookie >> 32 || transfer->target != peer ||
        (transfer->state != NIC_SENDING && transfer->state != NIC_ENDING)) {
        return; /* it has ended early */
    }
    if (MUTANT(ACK_AS_DONE) && transfer->pulls) {
        mistake_for_reply(engine, index);
        return;
    }
    one_is_over(engine, index, 0);
}

/* ---- Replies --------------------------------------------------------------------------- */

/* The errors that a target may refuse an operation with; no other is believed. */
static int refusal(const struct wire_operation *reply)
{
    int error = -(int)reply->detail;
    bool is_known = error == DN_EAREA || error == DN_ESTALE || error == DN_ERANGE ||
                    error == DN_EALIGN || error == DN_ERIGHTS;
    return is_known ? error : DN_EPEER;
}

static void pull_answered(struct nic_engine *engine, struct nic_outstanding *request,
                          const struct wire_operation *reply)
{
    uint32_t index = request->transfer;
    int result = DN_EPEER;
    if (reply->opcode == WIRE_PULLED && reply->bytes == request->bytes) {
        nic_store_block(request->local, reply->data, reply->bytes);
        result = 0;
    } else if (reply->opcode == WIRE_REFUSED) {
        result = refusal(reply);
    } else {
        engine->counters.replies_unexpected++;
    }
    give_back(engine, request);
    one_is_over(engine, index, result);
}

static void read_answered(struct nic_engine *engine, struct nic_outstanding *request,
                          const struct wire_operation *reply)
{
    int result = DN_EPEER;
    uint64_t address = (uint64_t)(request->local - engine->memory.base);
    if (reply->opcode == WIRE_PULLED && reply->bytes == request->bytes) {
        nic_store_block(request->local, reply->data, reply->bytes);
        if (engine->memory.written) {
            engine->memory.written(engine->memory.context, address, reply->bytes);
        }
        result = 0;
    } else if (reply->opcode == WIRE_REFUSED) {
        result = refusal(reply);
    } else {
        engine->counters.replies_unexpected++;
    }
    end_atomic(engine, request, result, 0);
}

static void atomic_answered(struct nic_engine *engine, struct nic_outstanding *request,
                            const struct wire_operation *reply)
{
    if (reply->opcode == WIRE_FETCHED && reply->bytes == request->bytes) {
        end_atomic(engine, request, 0, reply->operand);
    } else if (reply->opcode == WIRE_REFUSED) {
        end_atomic(engine, request, refusal(reply), 0);
    } else {
        /* The right peer answers nonsense: no other answer will come. */
        engine->counters.replies_unexpected++;
        end_atomic(engine, request, DN_EPEER, 0);
    }
}

void nic_reply_received(struct nic_engine *engine, uint16_t source,
                        const struct wire_operation *reply)
{
    uint32_t index = (uint32_t)reply->offset;
    struct nic_outstanding *request = index < engine->outstanding_pool.touched
                                          ? &engine->outstanding[index]
                                          : NULL;
    if (!request || !request->in_use || request->peer != source ||
        request->generation != reply->offset >> 32) {
        engine->counters.replies_unexpected++;
        return;
    }
    if (request->transfer != NIC_NONE) {
        pull_answered(engine, request, reply);
    } else if (request->local) {
        read_answered(engine, request, reply);
    } else {
        atomic_answered(engine, request, reply);
    }
}

/* ---- Lost peers ------------------------------------------------------------------------ */

/* The first transaction for the peer, from this one of a user's queue on; NULL: none. */
static struct nic_transaction *next_for(struct nic_engine *engine, struct nic_transaction *entry,
                                        uint16_t peer)
{
    while (entry &&
           (entry->kind == NIC_FENCE || entry->kind == NIC_QUIET || entry->target != peer)) {
        entry = nic_transaction_next(&engine->fifo, entry);
    }
    return entry;
}

static void lose_waiting(struct nic_engine *engine, uint32_t user, uint16_t peer)
{
    struct nic_transaction *entry = nic_transaction_first(&engine->fifo, user);
    while ((entry = next_for(engine, entry, peer)) != NULL) {
        struct nic_transaction *next = nic_transaction_next(&engine->fifo, entry);
        nic_transaction_lost(engine, entry);
        entry = next;
    }
}

static bool waits_for(const struct nic_engine *engine, uint16_t peer)
{
    for (uint32_t i = 0; i < engine->transfer_pool.touched; i++) {
        const struct nic_transfer *transfer = &engine->transfers[i];
        if (transfer->state != NIC_TRANSFER_FREE && transfer->target == peer) {
            return true;
        }
    }
    for (uint32_t i = 0; i < engine->outstanding_pool.touched; i++) {
        if (engine->outstanding[i].in_use && engine->outstanding[i].peer == peer) {
            return true;
        }
    }
    return false;
}

bool nic_engine_forget_peer(struct nic_engine *engine, uint16_t peer)
{
    if (waits_for(engine, peer)) {
        return false;
    }
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        if (next_for(engine, nic_transaction_first(&engine->fifo, user), peer)) {
            return false;
        }
    }
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        nic_target_set_remove(&engine->users[user].since_quiet, peer);
        nic_target_set_remove(&engine->users[user].since_fence, peer);
    }
    return true;
}

void nic_engine_peer_lost(struct nic_engine *engine, uint64_t now_ns, uint16_t peer)
{
    INVARIANT(!engine->running && peer < engine->config.node_count);
    for (uint32_t user = 0; user < NIC_USERS; user++) {
        struct nic_user *owner = &engine->users[user];
        lose_waiting(engine, user, peer);
        if (nic_target_set_has(&owner->since_quiet, peer)) {
            owner->failed = owner->failed ? owner->failed : DN_EPEER;
            nic_target_set_remove(&owner->since_quiet, peer);
            nic_target_set_remove(&owner->since_fence, peer);
        }
    }
    for (uint32_t i = 0; i < engine->transfer_pool.touched; i++) {
        const struct nic_transfer *transfer = &engine->transfers[i];
        if (transfer->state != NIC_TRANSFER_FREE && transfer->target == peer) {
            nic_transfer_end(engine, i, DN_EPEER);
        }
    }
    for (uint32_t i = 0; i < engine->outstanding_pool.touched; i++) {
        struct nic_outstanding *request = &engine->outstanding[i];
        if (request->in_use && request->peer == peer) {
            INVARIANT(request->transfer == NIC_NONE);
            if (!MUTANT(LOST_ATOMIC)) {
                end_atomic(engine, request, DN_EPEER, 0);
            }
        }
    }
    if (engine->services) {
        nic_services_peer_lost(engine->services, now_ns, peer);
    }
}
