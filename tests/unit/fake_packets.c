/* What the fake fabric carries: queues, and the packet services' records in them. */
#include "unit/fake_packets.h"

#include "fabric/clock.h"
#include "nic/memory_access.h"
#include "wire/operation.h"

enum {
    RECORD_ROOM_BYTES = 512, /* so few that services often find none */
    DATAGRAMS_PER_LOSS = 10,
    DELIVERIES_MAX = 10000000,
};

#define IS_RECORD UINT64_MAX
#define IS_DATAGRAM (UINT64_MAX - 1)

/* An entry of a queue, before its data: a reflection, or a record of the services. */
struct entry {
    uint64_t offset; /* in the group's memory, IS_RECORD, or IS_DATAGRAM: a record by that */
    uint64_t bytes;
    uint64_t is_library; /* its target is asked whether it permits it */
};

/* Draws a number; any thread may. */
static uint64_t below(uint64_t limit)
{
    struct base_random random = {atomic_fetch_add(&fake->random, UINT64_C(0x9e3779b97f4a7c15))};
    return base_random_below(&random, limit);
}

/* ---- Queues --------------------------------------------------------------------------------- */

static struct fake_queue *queue_of(uint32_t from, uint32_t to)
{
    return &fake->queues[from][to];
}

static void copy_in(struct fake_queue *queue, uint64_t at, const void *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        queue->bytes[(at + i) % FAKE_QUEUE_BYTES] = ((const unsigned char *)from)[i];
    }
}

static void copy_out(const struct fake_queue *queue, uint64_t at, void *to, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        ((unsigned char *)to)[i] = queue->bytes[(at + i) % FAKE_QUEUE_BYTES];
    }
}

/* False: the queue would hold more than room_bytes. */
static bool append(struct fake_node *node, uint32_t to, struct entry entry, const void *data,
                   uint64_t room_bytes)
{
    struct fake_queue *queue = queue_of(node->rank, to);
    uint64_t bytes = sizeof entry + entry.bytes;
    pthread_mutex_lock(&node->send_lock);
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    /* Acquire: pairs with the release in fake_deliver, which has read what is overwritten. */
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_acquire);
    bool fits = tail + bytes - head <= room_bytes;
    if (fits) {
        copy_in(queue, tail, &entry, sizeof entry);
        copy_in(queue, tail + sizeof entry, data, entry.bytes);
        atomic_fetch_add_explicit(&queue->sent, 1, memory_order_relaxed);
        /* Release: pairs with the acquire in fake_deliver. */
        atomic_store_explicit(&queue->tail, tail + bytes, memory_order_release);
    }
    pthread_mutex_unlock(&node->send_lock);
    return fits;
}

/* From the last word to the first, each by one store. */
static void write_backwards(unsigned char *place, const unsigned char *data, uint64_t bytes)
{
    for (uint64_t at = bytes; at > 0;) {
        uint64_t value = 0;
        unsigned word_bytes = sizeof value;
        while (word_bytes > at || (uintptr_t)(place + at) % word_bytes != 0) {
            word_bytes /= 2;
        }
        at -= word_bytes;
        memcpy(&value, data + at, word_bytes);
        nic_store_word(place + at, value, word_bytes);
    }
}

static void deliver_record(struct fake_node *node, uint32_t from, const struct entry *entry,
                           const unsigned char *data)
{
    struct wire_operation operation;
    uint32_t at = 0;
    INVARIANT(wire_operation_decode(data, (uint32_t)entry->bytes, WIRE_REQUEST, &at, &operation));
    pthread_mutex_lock(&node->services_lock);
    (entry->offset == IS_DATAGRAM ? nic_services_deliver_datagram : nic_services_deliver)(
        node->services, fabric_now_ns(), (uint16_t)from, &operation);
    pthread_mutex_unlock(&node->services_lock);
}

bool fake_permits(uint32_t from, uint32_t to, const struct wire_operation *operation,
                  uint64_t offset)
{
    struct fake_node *node = &fake_nodes[to];
    bool permits = true;
    if (node->grants) {
        pthread_mutex_lock(&node->grants_lock);
        permits = fabric_grants_permit(node->grants, from, operation, offset);
        pthread_mutex_unlock(&node->grants_lock);
    }
    atomic_fetch_add(&fake->refused, !permits);
    return permits;
}

bool fake_deliver(uint32_t from, uint32_t to)
{
    struct fake_queue *queue = queue_of(from, to);
    struct fake_node *node = &fake_nodes[to];
    struct entry entry;
    _Alignas(8) unsigned char data[FAKE_PIECE_BYTES];
    pthread_mutex_lock(&node->receive_lock);
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    /* Acquire: pairs with the release in append. */
    bool comes = head != atomic_load_explicit(&queue->tail, memory_order_acquire) &&
                 !atomic_load(&fake->silent[to]);
    if (comes) {
        copy_out(queue, head, &entry, sizeof entry);
        copy_out(queue, head + sizeof entry, data, entry.bytes);
        if (entry.offset == IS_RECORD || entry.offset == IS_DATAGRAM) {
            deliver_record(node, from, &entry, data);
        } else {
            const struct wire_operation block = {.opcode = WIRE_BOTF,
                                                 .bytes = (uint16_t)entry.bytes};
            if (!entry.is_library || fake_permits(from, to, &block, entry.offset)) {
                write_backwards(fake_place(to, entry.offset), data, entry.bytes);
            }
        }
        /* Release: pairs with the acquires in append and fake_drain. */
        atomic_store_explicit(&queue->head, head + sizeof entry + entry.bytes,
                              memory_order_release);
    }
    pthread_mutex_unlock(&node->receive_lock);
    return comes;
}

bool fake_is_under_way(uint32_t from, uint32_t to)
{
    const struct fake_queue *queue = queue_of(from, to);
    return atomic_load(&queue->head) != atomic_load(&queue->tail);
}

uint64_t fake_sent(uint32_t from, uint32_t to)
{
    return atomic_load(&queue_of(from, to)->sent);
}

/* Lets a queue move on. */
static void push_on(uint32_t from, uint32_t to)
{
    if (fake_own) {
        (void)sched_yield(); /* its receiver's thread delivers */
    } else {
        (void)fake_deliver(from, to);
    }
}

void fake_drain(const struct fake_node *node, uint32_t from, uint32_t to)
{
    struct fake_queue *queue = queue_of(from, to);
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    while (atomic_load_explicit(&queue->head, memory_order_acquire) < tail &&
           !fake_is_gone(node, to)) {
        push_on(from, to);
    }
}

int fake_carry(struct fake_node *node, uint32_t rank, uint64_t offset, const void *from,
               uint64_t bytes, bool is_library)
{
    const unsigned char *data = from;
    if (fake_is_gone(node, rank)) {
        return DN_EPEER;
    }
    for (uint64_t left = bytes; left > 0;) {
        uint64_t piece = (left - 1) % FAKE_PIECE_BYTES + 1;
        struct entry entry = {offset + left - piece, piece, is_library};
        while (!append(node, rank, entry, data + left - piece, FAKE_QUEUE_BYTES) &&
               !fake_is_gone(node, rank)) {
            INVARIANT(fake_own || !fake->held);
            push_on(node->rank, rank);
        }
        left -= piece;
    }
    /* A fabric's lock stands between what a node sends and what it receives. */
    pthread_mutex_lock(&node->receive_lock);
    pthread_mutex_unlock(&node->receive_lock);
    return 0;
}

/* ---- Services ------------------------------------------------------------------------------- */

static void watch(void *context, uint64_t now_ns, uint16_t peer, bool on)
{
    struct fake_node *node = context;
    (void)now_ns;
    INVARIANT(node->watches[peer] != on);
    node->watches[peer] = on;
}

static int append_record(struct fake_node *node, const struct nic_service_packet *packet)
{
    _Alignas(8) unsigned char data[FAKE_PIECE_BYTES];
    uint32_t bytes = wire_operation_bytes(&packet->operation);
    INVARIANT(packet->target < fake->node_count && packet->target != node->rank);
    INVARIANT(bytes <= sizeof data);
    if (node->has_lost[packet->target]) {
        return DN_EPEER;
    }
    if (atomic_load(&fake->silent[packet->target])) {
        node->has_tried[packet->target] = true;
        return 0; /* into the void */
    }
    if (packet->may_get_lost && below(DATAGRAMS_PER_LOSS) == 0) {
        return 0;
    }
    wire_operation_encode(&packet->operation, data);
    struct entry entry = {.offset = packet->may_get_lost ? IS_DATAGRAM : IS_RECORD, .bytes = bytes};
    return append(node, packet->target, entry, data, RECORD_ROOM_BYTES) ? 0 : DN_EFULL;
}

void fake_send_records(struct fake_node *node)
{
    struct nic_service_packet packet;
    uint64_t now_ns = fabric_now_ns();
    nic_services_begin(node->services);
    while (nic_services_next(node->services, now_ns, &packet)) {
        int error = append_record(node, &packet);
        if (!error) {
            nic_services_sent(node->services, now_ns, &packet);
        } else if (error == DN_EPEER) {
            nic_services_peer_lost(node->services, now_ns, packet.target);
        }
    }
}

void fake_serve(struct fake_node *node)
{
    pthread_mutex_lock(&node->services_lock);
    if (node->services && !atomic_load(&fake->silent[node->rank])) {
        fake_send_records(node);
    }
    pthread_mutex_unlock(&node->services_lock);
}

/* With services_lock. */
static bool is_to_notice(const struct fake_node *node, uint32_t peer)
{
    return node->services && !atomic_load(&fake->silent[node->rank]) &&
           atomic_load(&fake->silent[peer]) && !node->has_lost[peer] &&
           (node->watches[peer] || node->has_tried[peer]);
}

void fake_notice(struct fake_node *node, uint32_t peer)
{
    struct fake_queue *queue = queue_of(peer, node->rank);
    pthread_mutex_lock(&node->receive_lock);
    pthread_mutex_lock(&node->services_lock);
    if (is_to_notice(node, peer)) {
        node->has_lost[peer] = true;
        atomic_store(&queue->head, atomic_load(&queue->tail));
        nic_services_peer_lost(node->services, fabric_now_ns(), (uint16_t)peer);
    }
    pthread_mutex_unlock(&node->services_lock);
    pthread_mutex_unlock(&node->receive_lock);
}

/* Keeps a prefix of what stands in a queue. */
static void cut(uint32_t from, uint32_t to, bool some_arrives)
{
    struct fake_queue *queue = queue_of(from, to);
    uint64_t at = atomic_load(&queue->head);
    struct entry entry;
    while (some_arrives && at < atomic_load(&queue->tail) && below(4) != 0) {
        copy_out(queue, at, &entry, sizeof entry);
        at += sizeof entry + entry.bytes;
    }
    atomic_store(&queue->tail, at);
}

void fake_silence(uint32_t rank, bool some_arrives)
{
    for (uint32_t other = 0; other < fake->node_count; other++) {
        struct fake_node *node = &fake_nodes[other];
        pthread_mutex_lock(&node->receive_lock);
        pthread_mutex_lock(&node->services_lock);
        pthread_mutex_lock(&fake_nodes[rank].send_lock);
        cut(rank, other, some_arrives);
        node->has_tried[rank] |= fake_is_under_way(other, rank);
        pthread_mutex_unlock(&fake_nodes[rank].send_lock);
        pthread_mutex_unlock(&node->services_lock);
        pthread_mutex_unlock(&node->receive_lock);
    }
    atomic_store(&fake->silent[rank], true);
}

void fake_make_services(struct fake_node *node)
{
    struct nic_services_config config = fake->services;
    struct nic_services_hooks hooks = {.context = node, .watch = watch};
    config.node = (uint16_t)node->rank;
    config.node_count = fake->node_count;
    config.incarnation = 1;
    node->services_bytes = nic_services_bytes(&config);
    INVARIANT(node->services_bytes > 0);
    node->services_space = mmap(NULL, node->services_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    INVARIANT(node->services_space != MAP_FAILED);
    node->services = nic_services_init(&config, &hooks, node->services_space, NULL);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Lets something happen somewhere; true: something came to a node. */
static bool step(void)
{
    uint32_t one = (uint32_t)below(fake->node_count);
    uint32_t other = (uint32_t)below(fake->node_count);
    uint64_t choice = fake->has_services ? below(8) : 0;
    if (choice >= 5) {
        fake_serve(&fake_nodes[one]);
    } else if (choice == 4) {
        fake_notice(&fake_nodes[one], other);
    } else {
        return fake_deliver(one, other);
    }
    return false;
}

static bool is_quiet(void)
{
    for (uint32_t i = 0; i < fake->node_count * fake->node_count; i++) {
        uint32_t one = i / fake->node_count;
        uint32_t other = i % fake->node_count;
        struct fake_node *node = &fake_nodes[one];
        pthread_mutex_lock(&node->services_lock);
        bool is_busy = is_to_notice(node, other) ||
                       (node->services && !atomic_load(&fake->silent[one]) &&
                        nic_services_have_due(node->services));
        pthread_mutex_unlock(&node->services_lock);
        if (is_busy || (fake_is_under_way(one, other) && !atomic_load(&fake->silent[other]))) {
            return false;
        }
    }
    return true;
}

void fake_deliver_all(void)
{
    for (uint32_t steps = 0; !is_quiet(); steps++) {
        INVARIANT(steps < DELIVERIES_MAX);
        (void)step();
    }
}

bool fake_move_on(void)
{
    bool came = false;
    for (uint64_t count = below(6); count > 0; count--) {
        came |= step();
    }
    return came;
}
