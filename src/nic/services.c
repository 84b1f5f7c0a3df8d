/* The services' memory, the list of what is due, and who gets which record. */
#include "base/space.h"
#include "nic/services_state.h"

enum {
    COUNT_MAX = 1 << 20,
    BUFFER_BYTES_MAX = 1 << 28,
    KIND_SHIFT = 24,
};

/* ---- Memory -------------------------------------------------------------------------- */

void nic_services_config_default(struct nic_services_config *config, uint32_t node_count)
{
    *config = (struct nic_services_config){
        .node_count = node_count,
        /* As many as a node has requesters where all is in place (GROUP_LOCK_RECORDS); only what
         * is used of it is touched. */
        .lock_count = 1 << 16,
        .lock_waiter_count = 1 << 16,
        .lock_request_count = 1 << 16,
        .lock_value_bytes = 1000, /* with its numbers it is as long as a message */
        .lock_value_count = 256,
        .team_count = 16,
        .context_entry_count = 1,
    };
}

static bool config_makes_sense(const struct nic_services_config *config)
{
    const uint32_t counts[] = {config->lock_count,         config->lock_waiter_count,
                               config->lock_request_count, config->lock_value_count,
                               config->team_count,         config->context_peer_count,
                               config->chain_count,        config->chain_forward_count};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (counts[i] > COUNT_MAX) {
            return false;
        }
    }
    return config->node_count <= WIRE_NODES_MAX && config->node < config->node_count &&
           config->incarnation != 0 && config->context_count <= NIC_SERVICE_CHANNELS_MAX &&
           is_power_of_two(config->context_entry_count) &&
           config->context_entry_count <= COUNT_MAX && config->context_send_bytes % 8 == 0 &&
           config->context_receive_bytes % 8 == 0 &&
           config->context_send_bytes <= BUFFER_BYTES_MAX &&
           config->context_receive_bytes <= BUFFER_BYTES_MAX &&
           config->message_bytes_max <= NIC_MESSAGE_BYTES_MAX &&
           config->lock_value_bytes <= NIC_MESSAGE_BYTES_MAX && config->lock_value_bytes % 8 == 0 &&
           (config->chain || config->chain_count + config->chain_forward_count == 0) &&
           (config->context_count == 0 ||
            (config->messages && config->message_bytes_max <= config->context_send_bytes &&
             (config->context_receive_bytes == 0 ||
              config->message_bytes_max + sizeof(struct px_stored) <=
                  config->context_receive_bytes)));
}

static void lay_out_context(const struct nic_services_config *config, struct base_space *space,
                            struct nic_message_context *context)
{
    uint32_t peers = config->context_peer_count;
    struct nic_message_context laid = {
        .sender = {.destinations = base_space_take(space, peers, sizeof(struct px_destination)),
                   .entries = base_space_take(space, config->context_entry_count,
                                              sizeof(struct px_entry)),
                   .buffer = base_space_take(space, 1, config->context_send_bytes)},
        .receiver.sources = base_space_take(space, peers, sizeof(struct px_source)),
        .buffer.bytes = base_space_take(space, 1, config->context_receive_bytes),
        .destinations = base_space_take(space, peers, sizeof(struct nic_message_line)),
        .sources = base_space_take(space, peers, sizeof(struct nic_message_line)),
    };
    if (context) {
        *context = laid;
    }
}

static struct base_pool lay_out_pool(struct base_space *space, uint32_t count, uint32_t bytes)
{
    struct base_pool pool;
    base_pool_init(&pool, base_space_take(space, count, bytes), bytes, 0, count);
    return pool;
}

/* The tables that are used most are near, in this order, and share pages. */
static struct nic_services *lay_out(const struct nic_services_config *config,
                                    struct base_space *near, struct base_space *space)
{
    struct nic_services *services = base_space_take(near, 1, sizeof *services);
    struct nic_barrier *barriers = base_space_take(near, config->team_count, sizeof *barriers);
    struct nic_message_context *contexts = base_space_take(near, config->context_count,
                                                           sizeof *contexts);
    struct nic_service_peer *peers = base_space_take(space, config->node_count, sizeof *peers);
    struct nic_services laid = {
        .config = *config,
        .barriers = barriers,
        .contexts = contexts,
        .peers = peers,
        .refusals = base_space_take(space, config->node_count, sizeof *laid.refusals),
        .queues = lay_out_pool(space, config->lock_count, sizeof(struct nic_lock_queue)),
        .waiters = lay_out_pool(space, config->lock_waiter_count, sizeof(struct nic_lock_waiter)),
        .uses = lay_out_pool(space, config->lock_request_count, sizeof(struct nic_lock_use)),
        .changes = lay_out_pool(space, config->lock_value_bytes ? config->lock_value_count : 0,
                                config->lock_value_bytes),
        .record = base_space_take(space, 1,
                                  NIC_SERVICE_NUMBERS_MAX * NIC_SERVICE_NUMBER_BYTES +
                                      config->lock_value_bytes),
        .queue_buckets = base_space_take(space, NIC_LOCK_BUCKETS, sizeof *laid.queue_buckets),
        .use_buckets = base_space_take(space, NIC_LOCK_BUCKETS, sizeof *laid.use_buckets),
        .chain_members = lay_out_pool(space, config->chain_count, sizeof(struct nic_chain_member)),
        .chain_locks = lay_out_pool(space, config->chain_count, sizeof(struct nic_chain_lock)),
        .chain_forwards = lay_out_pool(space, config->chain_forward_count,
                                       sizeof(struct nic_chain_forward)),
        .last_ticket = (uint64_t)config->incarnation << 32,
    };
    for (uint32_t i = 0; i < config->context_count; i++) {
        lay_out_context(config, space, laid.contexts ? &laid.contexts[i] : NULL);
    }
    if (services) {
        *services = laid;
    }
    return services;
}

uint64_t nic_services_bytes(const struct nic_services_config *config)
{
    struct base_space space = {0};
    if (!config_makes_sense(config)) {
        return 0;
    }
    (void)lay_out(config, &space, &space);
    return space.used_bytes;
}

uint64_t nic_services_near_bytes(const struct nic_services_config *config)
{
    struct base_space near = {0};
    struct base_space far = {0};
    (void)lay_out(config, &near, &far);
    return near.used_bytes;
}

struct nic_services *nic_services_init(const struct nic_services_config *config,
                                       const struct nic_services_hooks *hooks, void *near,
                                       void *far)
{
    INVARIANT(config_makes_sense(config));
    unsigned char *behind = (unsigned char *)near + nic_services_near_bytes(config);
    struct base_space near_space = {.memory = near};
    struct base_space far_space = {.memory = far ? far : behind};
    struct nic_services *services = lay_out(config, &near_space, &far_space);
    services->hooks = *hooks;
    services->due.before = &services->due;
    services->due.behind = &services->due;
    services->cursor = &services->due;
    services->offered = WIRE_NOBODY;
    if (config->messages) {
        config->messages->init(services);
    }
    return services;
}

const struct nic_services_counters *nic_services_counters(const struct nic_services *services)
{
    return &services->counters;
}

/* ---- What is due --------------------------------------------------------------------- */

void nic_due_add(struct nic_services *services, struct nic_due *due)
{
    if (due->listed) {
        return;
    }
    due->listed = true;
    due->before = services->due.before;
    due->behind = &services->due;
    due->before->behind = due;
    services->due.before = due;
    if (services->cursor == &services->due) {
        services->cursor = due;
    }
}

void nic_due_remove(struct nic_services *services, struct nic_due *due)
{
    if (!due->listed) {
        return;
    }
    if (services->cursor == due) {
        services->cursor = due->behind;
    }
    due->before->behind = due->behind;
    due->behind->before = due->before;
    due->listed = false;
}

void nic_service_record(struct nic_service_packet *packet, uint16_t target,
                        enum wire_service service, unsigned kind, uint32_t number, uint64_t offset)
{
    packet->target = target;
    packet->may_get_lost = false;
    packet->operation = (struct wire_operation){
        .opcode = WIRE_SERVICE,
        .detail = (uint8_t)service,
        .area = (uint32_t)kind << KIND_SHIFT | number,
        .offset = offset,
        .data = packet->small,
    };
}

void nic_service_record_add(struct nic_service_packet *packet, uint64_t number)
{
    INVARIANT(packet->operation.bytes < sizeof packet->small);
    wire_put64(packet->small + packet->operation.bytes, number);
    packet->operation.bytes += sizeof number;
}

static enum nic_readiness peek_refusal(const struct nic_services *services,
                                       const struct nic_refusal *refusal,
                                       struct nic_service_packet *packet)
{
    uint16_t target = (uint16_t)(refusal - services->refusals);
    if (refusal->refused_first) {
        nic_service_record(packet, target, WIRE_LOCK, NIC_LOCK_RECORD_REFUSED, 0,
                           refusal->refused_first);
        nic_service_record_add(packet, refusal->refused_last);
        nic_service_record_add(packet, (uint64_t)-DN_EFULL);
        return NIC_READY_NOW;
    }
    if (refusal->undeclared) {
        /* Both ends of a channel have it under one number. */
        uint32_t channel = (uint32_t)__builtin_ctzll(refusal->undeclared);
        nic_service_record(packet, target, WIRE_MESSAGE, NIC_MESSAGE_RECORD_UNDECLARED,
                           channel << NIC_SERVICE_CHANNEL_BITS | channel, 0);
        return NIC_READY_NOW;
    }
    return NIC_READY_NEVER;
}

static void refusal_sent(struct nic_refusal *refusal, const struct nic_service_packet *packet)
{
    if (packet->operation.detail == WIRE_LOCK) {
        refusal->refused_first = 0;
        refusal->refused_last = 0;
    } else {
        refusal->undeclared &= ~(UINT64_C(1)
                                 << (packet->operation.area & NIC_MESSAGE_CHANNEL_MASK));
    }
}

static enum nic_readiness peek(struct nic_services *services, uint64_t now_ns, struct nic_due *due,
                               struct nic_service_packet *packet)
{
    bool is_ready = false;
    switch (due->kind) {
    case NIC_DUE_REFUSAL:
        return peek_refusal(services, NIC_DUE_OWNER(due, struct nic_refusal, due), packet);
    case NIC_DUE_LOCK_WAITER:
        is_ready = nic_lock_waiter_peek(services, NIC_DUE_OWNER(due, struct nic_lock_waiter, due),
                                        packet);
        break;
    case NIC_DUE_LOCK_MANAGER:
    case NIC_DUE_LOCK_NEXT: is_ready = nic_lock_use_peek(services, due, packet); break;
    case NIC_DUE_BARRIER:
        is_ready = nic_barrier_peek(NIC_DUE_OWNER(due, struct nic_barrier_link, due), packet);
        break;
    case NIC_DUE_DATA:
    case NIC_DUE_ANSWER: return services->config.messages->peek(services, now_ns, due, packet);
    case NIC_DUE_CHAIN_REQUEST:
    case NIC_DUE_CHAIN_REPLY:
    case NIC_DUE_CHAIN_FORWARD:
        is_ready = services->config.chain->peek(services, due, packet);
        break;
    }
    return is_ready ? NIC_READY_NOW : NIC_READY_NEVER;
}

void nic_services_begin(struct nic_services *services)
{
    services->cursor = services->due.behind;
    services->round++;
    services->offered = WIRE_NOBODY;
}

bool nic_services_have_due(const struct nic_services *services)
{
    return services->due.behind != &services->due;
}

static bool is_blocked(const struct nic_services *services, uint16_t peer)
{
    return services->blocked_round == services->round &&
           services->peers[peer].blocked_round == services->round;
}

bool nic_services_next(struct nic_services *services, uint64_t now_ns,
                       struct nic_service_packet *packet)
{
    /* Nothing may pass a record that had no room: a peer's requests are refused in their order. */
    if (services->offered != WIRE_NOBODY) {
        services->peers[services->offered].blocked_round = services->round;
        services->blocked_round = services->round;
        services->offered = WIRE_NOBODY;
    }
    while (services->cursor != &services->due) {
        struct nic_due *due = services->cursor;
        services->cursor = due->behind;
        switch (peek(services, now_ns, due, packet)) {
        case NIC_READY_NEVER: nic_due_remove(services, due); break;
        case NIC_READY_LATER: break;
        case NIC_READY_NOW:
            packet->due = due;
            if (packet->target == services->config.node) {
                nic_services_sent(services, now_ns, packet);
                nic_services_deliver(services, now_ns, packet->target, &packet->operation);
            } else if (!is_blocked(services, packet->target)) {
                services->offered = packet->target;
                return true;
            }
            break;
        }
    }
    return false;
}

void nic_services_sent(struct nic_services *services, uint64_t now_ns,
                       const struct nic_service_packet *packet)
{
    struct nic_due *due = packet->due;
    services->offered = WIRE_NOBODY;
    if (!due->listed) {
        return; /* its peer was lost in between */
    }
    switch (due->kind) {
    case NIC_DUE_REFUSAL: refusal_sent(NIC_DUE_OWNER(due, struct nic_refusal, due), packet); break;
    case NIC_DUE_LOCK_WAITER:
        nic_lock_waiter_sent(services, NIC_DUE_OWNER(due, struct nic_lock_waiter, due), packet);
        break;
    case NIC_DUE_LOCK_MANAGER:
    case NIC_DUE_LOCK_NEXT: nic_lock_use_sent(services, due); break;
    case NIC_DUE_BARRIER: nic_barrier_sent(NIC_DUE_OWNER(due, struct nic_barrier_link, due)); break;
    case NIC_DUE_DATA:
    case NIC_DUE_ANSWER: services->config.messages->sent(now_ns, due, packet); break;
    case NIC_DUE_CHAIN_REQUEST:
    case NIC_DUE_CHAIN_REPLY:
    case NIC_DUE_CHAIN_FORWARD: services->config.chain->sent(services, due); break;
    }
    if (due->listed) {
        /* It may have more, after all others. */
        nic_due_remove(services, due);
        nic_due_add(services, due);
    }
}

uint64_t nic_services_deadline_ns(const struct nic_services *services, uint64_t now_ns)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (struct nic_due *due = services->due.behind; due != &services->due; due = due->behind) {
        if (due->kind == NIC_DUE_DATA) {
            uint64_t ready_ns = services->config.messages->ready_ns(now_ns, due);
            if (ready_ns > now_ns && ready_ns < deadline_ns) {
                deadline_ns = ready_ns;
            }
        }
    }
    return deadline_ns;
}

/* ---- Watching ------------------------------------------------------------------------ */

void nic_services_watch(struct nic_services *services, uint64_t now_ns, uint16_t peer, bool on)
{
    INVARIANT(peer < services->config.node_count);
    if (peer == services->config.node || !services->hooks.watch) {
        return;
    }
    uint32_t *count = &services->peers[peer].watch_count;
    INVARIANT(on || *count > 0);
    *count = on ? *count + 1 : *count - 1;
    if (*count == (on ? 1 : 0)) {
        services->hooks.watch(services->hooks.context, now_ns, peer, on);
    }
}

/* ---- What comes ---------------------------------------------------------------------- */

static bool deliver_lock(struct nic_services *services, uint64_t now_ns, uint16_t source,
                         unsigned kind, const struct wire_operation *operation)
{
    if (kind <= NIC_LOCK_RECORD_RELEASED) {
        return nic_lock_manager_deliver(services, now_ns, source, kind, operation);
    }
    if (kind <= NIC_LOCK_RECORD_REFUSED) {
        return nic_lock_use_deliver(services, now_ns, source, kind, operation);
    }
    const struct nic_chain_service *chain = services->config.chain;
    return chain && chain->deliver(services, source, kind, operation);
}

static bool deliver_message(struct nic_services *services, uint64_t now_ns, uint16_t source,
                            const struct wire_operation *operation, bool may_get_lost)
{
    const struct nic_message_service *messages = services->config.messages;
    return messages &&
           messages->deliver(services, now_ns, source, operation->area >> KIND_SHIFT,
                             operation->area & NIC_SERVICE_NUMBER_MAX, operation, may_get_lost);
}

void nic_services_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                          const struct wire_operation *operation)
{
    unsigned kind = operation->area >> KIND_SHIFT;
    uint32_t number = operation->area & NIC_SERVICE_NUMBER_MAX;
    bool is_well_formed = false;
    services->counters.records++;
    if (source < services->config.node_count) {
        switch (operation->detail) {
        case WIRE_LOCK:
            is_well_formed = number == 0 && deliver_lock(services, now_ns, source, kind, operation);
            break;
        case WIRE_BARRIER:
            is_well_formed = nic_barrier_deliver(services, now_ns, source, kind, number, operation);
            break;
        case WIRE_MESSAGE:
            is_well_formed = deliver_message(services, now_ns, source, operation, false);
            break;
        default: break;
        }
    }
    services->counters.malformed += is_well_formed ? 0 : 1;
}

void nic_services_deliver_datagram(struct nic_services *services, uint64_t now_ns, uint16_t source,
                                   const struct wire_operation *operation)
{
    bool is_well_formed = source < services->config.node_count &&
                          operation->opcode == WIRE_SERVICE && operation->detail == WIRE_MESSAGE &&
                          deliver_message(services, now_ns, source, operation, true);
    services->counters.records++;
    services->counters.malformed += is_well_formed ? 0 : 1;
}

void nic_services_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer)
{
    if (peer >= services->config.node_count || peer == services->config.node) {
        return;
    }
    struct nic_refusal *refusal = &services->refusals[peer];
    if (refusal->due.listed) {
        refusal->refused_first = 0;
        refusal->refused_last = 0;
        refusal->undeclared = 0;
        nic_due_remove(services, &refusal->due);
    }
    nic_lock_manager_peer_lost(services, now_ns, peer);
    nic_lock_uses_peer_lost(services, now_ns, peer);
    nic_barriers_peer_lost(services, now_ns, peer);
    if (services->config.messages) {
        services->config.messages->peer_lost(services, now_ns, peer);
    }
}
