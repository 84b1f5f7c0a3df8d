/* The manager's side of LOCK: the whole queue of each of its locks.
 *
 * In paper 004 the manager knows only the last requester, and the queue lies in the
 * requesters, where a death loses it. So here the manager keeps the queue, and NEXT lets a
 * holder give the lock to the next one without asking:
 *
 *     queue:  A (first) - B - C        NEXT(B) was sent to A, NEXT(C) to B
 *     A releases: GRANT to B directly, RELEASED(next B) to the manager
 *
 * What the manager knows may be late, never wrong, because the lock moves in the queue's
 * order only:
 *
 *  - RELEASED by one in the queue, the first or not: all before it are over, too.
 *  - RELEASED naming the next: that one is now the first. It is sent a GRANT nevertheless:
 *    if the holder's own GRANT is lost with the holder, this one arrives. A requester takes
 *    the first of the two; a use that is over takes none.
 *  - RELEASED naming one that is not in the queue (it died or cancelled meanwhile), or
 *    nobody: the manager grants the lock to the first.
 *  - RELEASED by one that is not in the queue: somebody behind it has released already.
 *  - The first one died: the next INHERITs. If that one had been given the lock before, it has
 *    it or is over, and ignores this. If there is no next, whoever asks next INHERITs.
 *  - CANCEL: the requester leaves the queue, and ignores a GRANT that it has been sent. So if
 *    it was the first, the next is granted the lock. If the holder gives the lock to it all the
 *    same, RELEASED names one that is not in the queue.
 *
 * A lock's value lies at the manager, and comes and goes with GRANT and RELEASED. A requester that
 * wants the value is not told who is next: the lock comes back here first. */
#include "base/mutant.h"
#include "nic/services_state.h"

enum leaving { CANCELLED, DIED };

static bool same(struct nic_lock_next one, struct nic_lock_next other)
{
    return one.ticket == other.ticket && one.node == other.node;
}

static struct nic_lock_next who(const struct nic_lock_waiter *waiter)
{
    return waiter ? (struct nic_lock_next){waiter->ticket, waiter->node}
                  : (struct nic_lock_next){0, WIRE_NOBODY};
}

/* ---- Lines and queues ---------------------------------------------------------------- */

static void free_waiter(struct nic_services *services, struct nic_lock_waiter *waiter)
{
    nic_due_remove(services, &waiter->due);
    waiter->state = NIC_WAITER_FREE;
    base_pool_give_line(&services->waiters, waiter);
}

/* NULL: the table is full. */
static struct nic_lock_waiter *take_waiter(struct nic_services *services, uint16_t node,
                                           uint64_t ticket)
{
    struct nic_lock_waiter *waiter = base_pool_take_line(&services->waiters);
    if (waiter) {
        *waiter = (struct nic_lock_waiter){
            .due.kind = NIC_DUE_LOCK_WAITER,
            .ticket = ticket,
            .node = node,
            .told = who(NULL),
        };
    }
    return waiter;
}

/* Names are places of words: some close to each other, some far apart. */
static struct nic_lock_queue **bucket_of(const struct nic_services *services, uint64_t name)
{
    uint64_t mixed = name * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return &services->queue_buckets[mixed % NIC_LOCK_BUCKETS];
}

struct nic_lock_queue *nic_lock_queue_find(const struct nic_services *services, uint64_t name)
{
    struct nic_lock_queue *queue = *bucket_of(services, name);
    while (queue && queue->name != name) {
        queue = queue->next;
    }
    return queue;
}

/* NULL: the table is full. */
static struct nic_lock_queue *make_queue(struct nic_services *services, uint64_t name)
{
    struct nic_lock_queue *queue = base_pool_take_line(&services->queues);
    if (queue) {
        struct nic_lock_queue **bucket = bucket_of(services, name);
        *queue = (struct nic_lock_queue){.next = *bucket, .name = name, .watched = WIRE_NOBODY};
        *bucket = queue;
    }
    return queue;
}

static void free_queue(struct nic_services *services, struct nic_lock_queue *queue)
{
    struct nic_lock_queue **link = bucket_of(services, queue->name);
    while (*link != queue) {
        link = &(*link)->next;
    }
    *link = queue->next;
    base_pool_give_line(&services->queues, queue);
}

static struct nic_lock_waiter *find(const struct nic_lock_queue *queue,
                                    struct nic_lock_next requester)
{
    struct nic_lock_waiter *waiter = queue->first;
    while (waiter && !same(who(waiter), requester)) {
        waiter = waiter->behind;
    }
    return waiter;
}

/* The one before it then has another next, and is told. */
static void take_out(struct nic_services *services, struct nic_lock_waiter *waiter)
{
    struct nic_lock_queue *queue = waiter->queue;
    if (waiter->before) {
        waiter->before->behind = waiter->behind;
        nic_due_add(services, &waiter->before->due);
    } else {
        queue->first = waiter->behind;
    }
    if (waiter->behind) {
        waiter->behind->before = waiter->before;
    } else {
        queue->last = waiter->before;
    }
}

static void grant_first(struct nic_services *services, struct nic_lock_queue *queue, bool inherits)
{
    struct nic_lock_waiter *first = queue->first;
    queue->is_left = inherits && !first;
    if (first) {
        first->grant_due = true;
        first->inherits = inherits;
        nic_due_add(services, &first->due);
    }
}

/* The first one's death must be noticed: the waiters need the lock, and the table needs the
 * line. Those behind it become first in their turn. */
static void watch_first(struct nic_services *services, uint64_t now_ns,
                        struct nic_lock_queue *queue)
{
    uint16_t wanted = queue->first ? queue->first->node : WIRE_NOBODY;
    uint16_t watched = queue->watched;
    if (wanted == watched) {
        return;
    }
    queue->watched = wanted;
    if (wanted != WIRE_NOBODY) {
        nic_services_watch(services, now_ns, wanted, true);
    }
    if (watched != WIRE_NOBODY) {
        nic_services_watch(services, now_ns, watched, false);
    }
}

/* Ends every change to a queue, and frees the queue if nothing is left in it. */
static void changed(struct nic_services *services, uint64_t now_ns, struct nic_lock_queue *queue)
{
    watch_first(services, now_ns, queue);
    if (!queue->first && !queue->is_left) {
        free_queue(services, queue);
    }
}

/* ---- Events -------------------------------------------------------------------------- */

static void refuse(struct nic_services *services, uint16_t node, uint64_t ticket, int why)
{
    struct nic_refusal *refusal = &services->refusals[node];
    struct nic_lock_waiter *waiter = why == DN_EFULL ? NULL : take_waiter(services, node, ticket);
    services->counters.refused++;
    if (waiter) {
        waiter->state = NIC_WAITER_REFUSED;
        waiter->refusal = why;
        nic_due_add(services, &waiter->due);
        return;
    }
    /* A peer's requests come with rising tickets, so a first and a last one are enough. */
    refusal->refused_first = refusal->refused_first ? refusal->refused_first : ticket;
    refusal->refused_last = ticket;
    nic_due_add(services, &refusal->due);
}

static struct nic_lock_region region_of(uint64_t number)
{
    return (struct nic_lock_region){(uint32_t)(number >> 32), (uint32_t)number};
}

bool nic_lock_regions_fit(const struct nic_services *services,
                          const struct nic_lock_region *regions)
{
    uint64_t bytes = (uint64_t)regions[0].bytes + regions[1].bytes;
    return bytes <= services->config.lock_value_bytes;
}

/* `wanted` are the regions of the value, or NULL. */
static void on_request(struct nic_services *services, uint64_t now_ns, uint16_t source,
                       uint64_t name, uint64_t ticket, bool try,
                       const struct nic_lock_region *wanted)
{
    if (services->refusals[source].refused_first) {
        refuse(services, source, ticket, DN_EFULL); /* joins those before it */
        return;
    }
    struct nic_lock_queue *queue = nic_lock_queue_find(services, name);
    if (try && queue && queue->first) {
        refuse(services, source, ticket, DN_EBUSY);
        return;
    }
    struct nic_lock_waiter *waiter = take_waiter(services, source, ticket);
    queue = waiter && !queue ? make_queue(services, name) : queue;
    if (!waiter || !queue) {
        if (waiter) {
            free_waiter(services, waiter);
        }
        refuse(services, source, ticket, DN_EFULL);
        return;
    }
    waiter->state = NIC_WAITER_QUEUED;
    waiter->wanted[0] = wanted[0];
    waiter->wanted[1] = wanted[1];
    waiter->queue = queue;
    waiter->before = queue->last;
    queue->last = waiter;
    if (waiter->before) {
        waiter->before->behind = waiter;
        nic_due_add(services, &waiter->before->due);
    } else {
        queue->first = waiter;
        grant_first(services, queue, queue->is_left);
    }
    changed(services, now_ns, queue);
}

static void leave(struct nic_services *services, uint64_t now_ns, struct nic_lock_waiter *waiter,
                  enum leaving how)
{
    struct nic_lock_queue *queue = waiter->queue;
    struct nic_lock_waiter *before = waiter->before;
    /* A waiter that gave up has not dealt with what a dead holder left. */
    bool inherits = how == DIED || waiter->inherits;
    take_out(services, waiter);
    if (before && how == DIED && same(before->told, who(waiter))) {
        before->told_dead = true;
    }
    bool is_kept = (how == DIED && MUTANT(LOCK_DEATH_UNNOTED)) ||
                   (how == CANCELLED && MUTANT(LOCK_CANCEL_KEEPS));
    if (!before && !is_kept) {
        grant_first(services, queue, inherits);
    }
    free_waiter(services, waiter);
    changed(services, now_ns, queue);
}

static void on_released(struct nic_services *services, uint64_t now_ns,
                        struct nic_lock_queue *queue, struct nic_lock_waiter *waiter,
                        struct nic_lock_next next)
{
    bool told_dead = waiter->told_dead;
    bool is_last = false;
    while (!is_last) {
        struct nic_lock_waiter *over = queue->first;
        is_last = over == waiter;
        take_out(services, over);
        free_waiter(services, over);
    }
    bool is_given = next.ticket && queue->first && same(who(queue->first), next);
    if (MUTANT(LOCK_GRANT_TWICE) && is_given && queue->first->behind) {
        struct nic_lock_waiter *given = queue->first;
        take_out(services, given);
        free_waiter(services, given);
    }
    grant_first(services, queue, next.ticket && !is_given && told_dead);
    changed(services, now_ns, queue);
}

bool nic_lock_change_next(const unsigned char *changes, uint32_t length, uint32_t *at,
                          struct nic_lock_region *region, bool *is_or)
{
    if (length - *at < NIC_LOCK_CHANGE_HEADER_BYTES) {
        return false;
    }
    uint32_t offset = wire_get32(changes + *at);
    *region = (struct nic_lock_region){offset & ~NIC_LOCK_CHANGE_OR, wire_get32(changes + *at + 4)};
    *is_or = (offset & NIC_LOCK_CHANGE_OR) != 0;
    *at += NIC_LOCK_CHANGE_HEADER_BYTES;
    uint64_t whole = ((uint64_t)region->bytes + 7) & ~UINT64_C(7);
    return whole <= length - *at && (!*is_or || region->bytes == 8);
}

/* All changes of a release, or none; false: malformed. With services NULL it only looks. */
static bool make_changes(struct nic_services *services, uint64_t name, const unsigned char *changes,
                         uint32_t bytes)
{
    for (uint32_t at = 0; at < bytes;) {
        struct nic_lock_region region;
        bool is_or;
        if (!nic_lock_change_next(changes, bytes, &at, &region, &is_or)) {
            return false;
        }
        if (services && services->hooks.value_change) {
            (void)services->hooks.value_change(services->hooks.context, name, region.offset,
                                               changes + at, region.bytes, is_or);
        }
        at += (region.bytes + 7) & ~UINT32_C(7);
    }
    return true;
}

/* Whether a record has the length that its kind requires. */
static bool has_its_length(const struct nic_services *services, unsigned kind, uint32_t bytes)
{
    switch (kind) {
    case NIC_LOCK_RECORD_RELEASED:
        return bytes >= 3 * NIC_SERVICE_NUMBER_BYTES &&
               bytes - 3 * NIC_SERVICE_NUMBER_BYTES <= services->config.lock_value_bytes;
    case NIC_LOCK_RECORD_REQUEST:
    case NIC_LOCK_RECORD_TRY:
        return bytes == NIC_SERVICE_NUMBER_BYTES || bytes == 3 * NIC_SERVICE_NUMBER_BYTES;
    default: return bytes == NIC_SERVICE_NUMBER_BYTES;
    }
}

static bool deliver_request(struct nic_services *services, uint64_t now_ns, uint16_t source,
                            unsigned kind, const struct wire_operation *operation)
{
    struct nic_lock_region wanted[2] = {{0}, {0}};
    if (operation->bytes > NIC_SERVICE_NUMBER_BYTES) {
        wanted[0] = region_of(wire_get64(operation->data + 8));
        wanted[1] = region_of(wire_get64(operation->data + 16));
    }
    if (!nic_lock_regions_fit(services, wanted)) {
        return false;
    }
    on_request(services, now_ns, source, wire_get64(operation->data), operation->offset,
               kind == NIC_LOCK_RECORD_TRY, wanted);
    return true;
}

bool nic_lock_manager_deliver(struct nic_services *services, uint64_t now_ns, uint16_t source,
                              unsigned kind, const struct wire_operation *operation)
{
    struct nic_lock_next requester = {operation->offset, source};
    if (requester.ticket == 0 || !has_its_length(services, kind, operation->bytes)) {
        return false;
    }
    uint64_t name = wire_get64(operation->data);
    if (kind == NIC_LOCK_RECORD_REQUEST || kind == NIC_LOCK_RECORD_TRY) {
        return deliver_request(services, now_ns, source, kind, operation);
    }
    struct nic_lock_queue *queue = nic_lock_queue_find(services, name);
    struct nic_lock_waiter *waiter = queue ? find(queue, requester) : NULL;
    if (kind == NIC_LOCK_RECORD_CANCEL) {
        if (waiter) {
            leave(services, now_ns, waiter, CANCELLED);
        }
        return true;
    }
    if (kind == NIC_LOCK_RECORD_RELEASED) {
        uint64_t next_node = wire_get64(operation->data + 16);
        struct nic_lock_next next = {wire_get64(operation->data + 8), (uint16_t)next_node};
        const unsigned char *changes = operation->data + 3 * NIC_SERVICE_NUMBER_BYTES;
        uint32_t changes_bytes = operation->bytes - 3u * NIC_SERVICE_NUMBER_BYTES;
        if ((next.ticket && next_node >= services->config.node_count) ||
            !make_changes(NULL, name, changes, changes_bytes)) {
            return false;
        }
        if (waiter) {
            /* Only the holder changes a lock's value. */
            if (waiter == queue->first) {
                (void)make_changes(services, name, changes, changes_bytes);
            }
            on_released(services, now_ns, queue, waiter, next);
        }
        return true;
    }
    return false;
}

void nic_lock_manager_peer_lost(struct nic_services *services, uint64_t now_ns, uint16_t peer)
{
    for (uint32_t i = 0; i < services->waiters.touched; i++) {
        struct nic_lock_waiter *waiter = base_pool_line(&services->waiters, i);
        if (waiter->node != peer) {
            continue;
        }
        switch (waiter->state) {
        case NIC_WAITER_FREE: break;
        case NIC_WAITER_QUEUED: leave(services, now_ns, waiter, DIED); break;
        case NIC_WAITER_REFUSED: free_waiter(services, waiter); break;
        }
    }
}

/* ---- What goes out ------------------------------------------------------------------- */

/* The value as it is now, where a record's data can lie. */
static void add_value(struct nic_services *services, const struct nic_lock_waiter *waiter,
                      struct nic_service_packet *packet)
{
    const struct nic_lock_region *wanted = waiter->wanted;
    const struct nic_services_hooks *hooks = &services->hooks;
    uint64_t name = waiter->queue->name;
    if (wanted[0].bytes && hooks->value_read &&
        hooks->value_read(hooks->context, name, wanted[0].offset, wanted[0].bytes,
                          services->record) &&
        (wanted[1].bytes == 0 ||
         hooks->value_read(hooks->context, name, wanted[1].offset, wanted[1].bytes,
                           services->record + wanted[0].bytes))) {
        packet->operation.data = services->record;
        packet->operation.bytes = (uint16_t)(wanted[0].bytes + wanted[1].bytes);
    }
}

bool nic_lock_waiter_peek(struct nic_services *services, const struct nic_lock_waiter *waiter,
                          struct nic_service_packet *packet)
{
    struct nic_lock_next next = who(waiter->behind);
    if (waiter->state == NIC_WAITER_REFUSED) {
        nic_service_record(packet, waiter->node, WIRE_LOCK, NIC_LOCK_RECORD_REFUSED, 0,
                           waiter->ticket);
        nic_service_record_add(packet, waiter->ticket);
        nic_service_record_add(packet, (uint64_t)-waiter->refusal);
        return true;
    }
    if (waiter->grant_due) {
        nic_service_record(packet, waiter->node, WIRE_LOCK,
                           waiter->inherits ? NIC_LOCK_RECORD_INHERIT : NIC_LOCK_RECORD_GRANT, 0,
                           waiter->ticket);
        add_value(services, waiter, packet);
        return true;
    }
    if (!same(waiter->told, next) && waiter->wanted[0].bytes == 0) {
        nic_service_record(packet, waiter->node, WIRE_LOCK, NIC_LOCK_RECORD_NEXT, 0,
                           waiter->ticket);
        nic_service_record_add(packet, next.ticket);
        nic_service_record_add(packet, next.node);
        return true;
    }
    return false;
}

void nic_lock_waiter_sent(struct nic_services *services, struct nic_lock_waiter *waiter,
                          const struct nic_service_packet *packet)
{
    if (waiter->state == NIC_WAITER_REFUSED) {
        free_waiter(services, waiter);
    } else if (waiter->grant_due) {
        waiter->grant_due = false;
    } else {
        waiter->told = (struct nic_lock_next){wire_get64(packet->small),
                                              (uint16_t)wire_get64(packet->small + 8)};
    }
}
