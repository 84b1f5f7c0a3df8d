/* The requester's side of LOCK: one line for each use, from the request until the manager
 * has been told that it is over.
 *
 *     WAITING -> HELD -> RELEASING -> free
 *        |         +--the manager is gone--> LOST -> free
 *        +--abandoned--> CANCELLING -> free
 *        +--refused, the manager is gone--> free
 *
 * Tickets are never used twice, so what comes for a use that is over finds no line, and is
 * ignored: a NEXT that crossed the release, a second GRANT, a GRANT to a requester that gave
 * up. */
#include "base/mutant.h"
#include "nic/services_state.h"

/* Tickets rise by one, so uses spread evenly. */
static struct nic_lock_use **bucket_of(const struct nic_services *services, uint64_t ticket)
{
    return &services->use_buckets[ticket % NIC_LOCK_BUCKETS];
}

/* The line of a use that is not over for the host; NULL: none. */
static struct nic_lock_use *find(const struct nic_services *services, uint64_t ticket)
{
    struct nic_lock_use *use = *bucket_of(services, ticket);
    while (use && use->ticket != ticket) {
        use = use->next_use;
    }
    bool is_over = !use || use->state == NIC_USE_CANCELLING || use->state == NIC_USE_RELEASING;
    return is_over ? NULL : use;
}

static void free_use(struct nic_services *services, struct nic_lock_use *use)
{
    struct nic_lock_use **link = bucket_of(services, use->ticket);
    while (*link != use) {
        link = &(*link)->next_use;
    }
    *link = use->next_use;
    nic_due_remove(services, &use->to_manager);
    nic_due_remove(services, &use->to_next);
    if (use->changes) {
        base_pool_give_line(&services->changes, use->changes);
    }
    use->state = NIC_USE_FREE;
    base_pool_give_line(&services->uses, use);
}

/* ---- The host ------------------------------------------------------------------------ */

int nic_packet_lock_request(struct nic_services *services, uint64_t now_ns, uint16_t manager,
                            uint64_t name, bool try, const struct nic_lock_value *value,
                            struct nic_completion *completion, uint64_t *ticket)
{
    if (manager >= services->config.node_count) {
        return DN_ERANK;
    }
    if (value && !nic_lock_regions_fit(services, value->regions)) {
        return DN_EINVAL;
    }
    struct nic_lock_use *use = base_pool_take_line(&services->uses);
    if (!use) {
        return DN_EFULL;
    }
    struct nic_lock_use **bucket = bucket_of(services, ++services->last_ticket);
    *use = (struct nic_lock_use){
        .to_manager.kind = NIC_DUE_LOCK_MANAGER,
        .to_next.kind = NIC_DUE_LOCK_NEXT,
        .next_use = *bucket,
        .state = NIC_USE_WAITING,
        .try = try,
        .manager_due = true,
        .manager = manager,
        .name = name,
        .ticket = services->last_ticket,
        .next.node = WIRE_NOBODY,
        .completion = completion,
        .value = value ? *value : (struct nic_lock_value){0},
    };
    *bucket = use;
    *completion = (struct nic_completion){.state = NIC_PENDING};
    *ticket = use->ticket;
    nic_due_add(services, &use->to_manager);
    nic_services_watch(services, now_ns, manager, true);
    return 0;
}

int nic_packet_lock_abandon(struct nic_services *services, uint64_t now_ns, uint64_t ticket)
{
    struct nic_lock_use *use = find(services, ticket);
    if (!use) {
        return DN_ENOTHELD;
    }
    if (use->state != NIC_USE_WAITING) {
        return DN_EBUSY;
    }
    uint16_t manager = use->manager;
    nic_completion_finish(use->completion, DN_ETIMEOUT, 0);
    if (use->manager_due) {
        free_use(services, use); /* the request never went out */
    } else {
        use->state = NIC_USE_CANCELLING;
        use->manager_due = true;
        nic_due_add(services, &use->to_manager);
    }
    nic_services_watch(services, now_ns, manager, false);
    return 0;
}

int nic_packet_lock_release(struct nic_services *services, uint64_t now_ns, uint64_t ticket)
{
    struct nic_lock_use *use = find(services, ticket);
    if (!use || use->state == NIC_USE_WAITING) {
        return DN_ENOTHELD;
    }
    if (use->state == NIC_USE_LOST) {
        free_use(services, use);
        return DN_EPEER;
    }
    use->state = NIC_USE_RELEASING;
    /* The next holder waits for this; nobody waits for what the manager is told. */
    if (use->next.ticket) {
        use->next_due = true;
        nic_due_add(services, &use->to_next);
    }
    use->manager_due = true;
    nic_due_add(services, &use->to_manager);
    nic_services_watch(services, now_ns, use->manager, false);
    return 0;
}

int nic_packet_lock_release_value(struct nic_services *services, uint64_t now_ns, uint64_t ticket,
                                  const void *changes, uint32_t bytes)
{
    struct nic_lock_use *use = find(services, ticket);
    if (bytes > services->config.lock_value_bytes || bytes % 8 != 0) {
        return DN_EINVAL;
    }
    if (use && use->state == NIC_USE_HELD) {
        if (bytes != 0) {
            use->changes = base_pool_take_line(&services->changes);
            if (!use->changes) {
                return DN_EFULL;
            }
            memcpy(use->changes, changes, bytes);
            use->changes_bytes = bytes;
        }
        use->next = (struct nic_lock_next){0, WIRE_NOBODY};
    }
    return nic_packet_lock_release(services, now_ns, ticket);
}

uint32_t nic_lock_change_add(unsigned char *changes, uint32_t length, uint32_t offset,
                             const void *from, uint32_t bytes, bool is_or)
{
    uint32_t end = length + NIC_LOCK_CHANGE_HEADER_BYTES + bytes;
    uint32_t whole = (end + 7) & ~UINT32_C(7);
    wire_put32(changes + length, offset | (is_or ? NIC_LOCK_CHANGE_OR : 0));
    wire_put32(changes + length + 4, bytes);
    memcpy(changes + length + NIC_LOCK_CHANGE_HEADER_BYTES, from, bytes);
    memset(changes + end, 0, whole - end);
    return whole;
}

enum nic_packet_lock_state nic_packet_lock_state(const struct nic_services *services,
                                                 uint64_t ticket)
{
    const struct nic_lock_use *use = find(services, ticket);
    if (!use) {
        return NIC_PACKET_LOCK_OVER;
    }
    return use->state == NIC_USE_WAITING ? NIC_PACKET_LOCK_WAITING
           : use->state == NIC_USE_HELD  ? NIC_PACKET_LOCK_HELD
                                         : NIC_PACKET_LOCK_LOST;
}

bool nic_packet_locks_are_told(const struct nic_services *services)
{
    for (uint32_t i = 0; i < services->uses.touched; i++) {
        const struct nic_lock_use *use = base_pool_line(&services->uses, i);
        if (use->state == NIC_USE_CANCELLING || use->state == NIC_USE_RELEASING) {
            return false;
        }
    }
    return true;
}

/* ---- Events -------------------------------------------------------------------------- */

/* Puts what came into the requester's memory; gives its length. */
static uint32_t take_value(const struct nic_lock_use *use, const unsigned char *data,
                           uint32_t bytes)
{
    const struct nic_lock_region *regions = use->value.regions;
    if (!use->value.memory || bytes == 0 || bytes != regions[0].bytes + regions[1].bytes) {
        return 0;
    }
    memcpy(use->value.memory + regions[0].offset, data, regions[0].bytes);
    memcpy(use->value.memory + regions[1].offset, data + regions[0].bytes, regions[1].bytes);
    return bytes;
}

static void on_grant(struct nic_services *services, uint64_t ticket, int result,
                     const struct wire_operation *operation)
{
    struct nic_lock_use *use = find(services, ticket);
    for (uint32_t i = 0; MUTANT(LOCK_GRANT_ANY_USE) && !use && i < services->uses.touched; i++) {
        struct nic_lock_use *any = base_pool_line(&services->uses, i);
        use = any->state == NIC_USE_WAITING ? any : NULL;
    }
    if (use && use->state == NIC_USE_WAITING) {
        use->state = NIC_USE_HELD;
        uint32_t bytes = take_value(use, operation->data, operation->bytes);
        nic_completion_finish(use->completion, result, bytes);
    }
}

static void on_next(struct nic_services *services, uint16_t source, uint64_t ticket,
                    struct nic_lock_next next)
{
    struct nic_lock_use *use = find(services, ticket);
    if (use && use->manager == source) {
        use->next = next;
    }
}

/* A use whose request has not gone out cannot be meant. */
static void refuse_if_meant(struct nic_services *services, uint64_t now_ns, uint16_t source,
                            struct nic_lock_use *use, int why)
{
    if (use->state == NIC_USE_WAITING && !use->manager_due && use->manager == source) {
        nic_completion_finish(use->completion, why, 0);
        free_use(services, use);
        nic_services_watch(services, now_ns, source, false);
    }
}

static void on_refused(struct nic_services *services, uint64_t now_ns, uint16_t source,
                       uint64_t first, uint64_t last, int why)
{
    if (first == last) { /* as nearly always */
        struct nic_lock_use *use = find(services, first);
        if (use) {
            refuse_if_meant(services, now_ns, source, use, why);
        }
        return;
    }
    for (uint32_t i = 0; i < services->uses.touched; i++) {
        struct nic_lock_use *use = base_pool_line(&services->uses, i);
        if (use->ticket >= first && use->ticket <= last) {
            refuse_if_meant(services, now_ns, source, use, why);
        }
    }
}

bool nic_lock_use_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                          unsigned kind, const struct wire_operation *operation)
{
    uint64_t ticket = operation->offset;
    bool has_pair = kind == NIC_LOCK_RECORD_NEXT || kind == NIC_LOCK_RECORD_REFUSED;
    if (has_pair ? operation->bytes != 2 * NIC_SERVICE_NUMBER_BYTES
                 : operation->bytes > services->config.lock_value_bytes) {
        return false;
    }
    uint64_t first = has_pair ? wire_get64(operation->data) : 0;
    uint64_t second = has_pair ? wire_get64(operation->data + 8) : 0;
    switch (kind) {
    case NIC_LOCK_RECORD_GRANT: on_grant(services, ticket, 0, operation); return true;
    case NIC_LOCK_RECORD_INHERIT: on_grant(services, ticket, DN_EOWNERDEAD, operation); return true;
    case NIC_LOCK_RECORD_NEXT:
        if (first && second >= services->config.node_count) {
            return false;
        }
        on_next(services, source, ticket, (struct nic_lock_next){first, (uint16_t)second});
        return true;
    case NIC_LOCK_RECORD_REFUSED:
        if (second != (uint64_t)-DN_EFULL && second != (uint64_t)-DN_EBUSY) {
            return false;
        }
        on_refused(services, now_ns, source, ticket, first, -(int)second);
        return true;
    default: return false;
    }
}

static void manager_lost(struct nic_services *services, uint64_t now_ns, struct nic_lock_use *use)
{
    uint16_t peer = use->manager;
    switch (use->state) {
    case NIC_USE_WAITING:
        nic_completion_finish(use->completion, DN_EPEER, 0);
        free_use(services, use);
        nic_services_watch(services, now_ns, peer, false);
        break;
    case NIC_USE_HELD:
        use->state = NIC_USE_LOST;
        nic_services_watch(services, now_ns, peer, false);
        break;
    case NIC_USE_CANCELLING:
    case NIC_USE_RELEASING: free_use(services, use); break;
    case NIC_USE_FREE:
    case NIC_USE_LOST: break;
    }
}

static void free_if_told(struct nic_services *services, struct nic_lock_use *use)
{
    if (!use->manager_due && !use->next_due) {
        free_use(services, use);
    }
}

void nic_lock_uses_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer)
{
    for (uint32_t i = 0; i < services->uses.touched; i++) {
        struct nic_lock_use *use = base_pool_line(&services->uses, i);
        if (use->manager == peer) {
            manager_lost(services, now_ns, use);
        } else if (use->state == NIC_USE_RELEASING && use->next_due && use->next.node == peer) {
            /* The manager was, or will be, told who was meant. */
            use->next_due = false;
            free_if_told(services, use);
        }
    }
}

/* ---- What goes out ------------------------------------------------------------------- */

static uint64_t region_number(struct nic_lock_region region)
{
    return (uint64_t)region.offset << 32 | region.bytes;
}

/* The numbers, then the changes, in the one place that a record's data can lie at. */
static void add_changes(struct nic_services *services, const struct nic_lock_use *use,
                        struct nic_service_packet *packet)
{
    if (use->changes) {
        uint32_t bytes = packet->operation.bytes;
        memcpy(services->record, packet->small, bytes);
        memcpy(services->record + bytes, use->changes, use->changes_bytes);
        packet->operation.data = services->record;
        packet->operation.bytes = (uint16_t)(bytes + use->changes_bytes);
    }
}

static bool peek_manager(struct nic_services *services, const struct nic_lock_use *use,
                         struct nic_service_packet *packet)
{
    unsigned kind = 0;
    switch (use->state) {
    case NIC_USE_WAITING: kind = use->try ? NIC_LOCK_RECORD_TRY : NIC_LOCK_RECORD_REQUEST; break;
    case NIC_USE_CANCELLING: kind = NIC_LOCK_RECORD_CANCEL; break;
    case NIC_USE_RELEASING: kind = NIC_LOCK_RECORD_RELEASED; break;
    case NIC_USE_FREE:
    case NIC_USE_HELD:
    case NIC_USE_LOST: break;
    }
    if (!use->manager_due || kind == 0) {
        return false;
    }
    nic_service_record(packet, use->manager, WIRE_LOCK, kind, 0, use->ticket);
    nic_service_record_add(packet, use->name);
    if (use->state == NIC_USE_WAITING && use->value.memory) {
        nic_service_record_add(packet, region_number(use->value.regions[0]));
        nic_service_record_add(packet, region_number(use->value.regions[1]));
    } else if (use->state == NIC_USE_RELEASING) {
        nic_service_record_add(packet, use->next.ticket);
        nic_service_record_add(packet, use->next.node);
        add_changes(services, use, packet);
    }
    return true;
}

bool nic_lock_use_peek(struct nic_services *services, struct nic_due *due,
                       struct nic_service_packet *packet)
{
    if (due->kind == NIC_DUE_LOCK_MANAGER) {
        return peek_manager(services, NIC_DUE_OWNER(due, struct nic_lock_use, to_manager), packet);
    }
    const struct nic_lock_use *use = NIC_DUE_OWNER(due, struct nic_lock_use, to_next);
    if (!use->next_due) {
        return false;
    }
    nic_service_record(packet, use->next.node, WIRE_LOCK, NIC_LOCK_RECORD_GRANT, 0,
                       use->next.ticket);
    return true;
}

void nic_lock_use_sent(struct nic_services *services, struct nic_due *due)
{
    struct nic_lock_use *use;
    if (due->kind == NIC_DUE_LOCK_MANAGER) {
        use = NIC_DUE_OWNER(due, struct nic_lock_use, to_manager);
        use->manager_due = false;
    } else {
        use = NIC_DUE_OWNER(due, struct nic_lock_use, to_next);
        use->next_due = false;
        services->counters.grants_direct++;
    }
    if (use->state == NIC_USE_CANCELLING || use->state == NIC_USE_RELEASING) {
        free_if_told(services, use);
    }
}
