/* The fake fabric itself: queues, services, operations. */
#define _GNU_SOURCE
#include "unit/fake_fabric.h"

#include <signal.h>

#include "fabric/clock.h"
#include "fabric/in_place.h"
#include "nic/memory_access.h"

enum {
    RECORD_ROOM_BYTES = 512, /* so few that services often find none */
    DELIVERIES_MAX = 10000000,
};

#define IS_RECORD UINT64_MAX

/* An entry of a queue, before its data: a reflection, or a record of the services. */
struct entry {
    uint64_t offset; /* in the group's memory, or IS_RECORD */
    uint64_t bytes;
};

struct fake *fake;
struct fake_node fake_nodes[FAKE_NODES_MAX];
struct fake_node *fake_own;

/* Draws a number; any thread may. */
static uint64_t below(uint64_t limit)
{
    struct base_random random = {atomic_fetch_add(&fake->random, UINT64_C(0x9e3779b97f4a7c15))};
    return base_random_below(&random, limit);
}

/* ---- Copies ---------------------------------------------------------------------------------- */

/* The rank in whose copy a host keeps the words in front. */
uint32_t fake_first_of_host(uint32_t rank)
{
    uint32_t first = 0;
    while (fake->hosts[first] != fake->hosts[rank]) {
        first++;
    }
    return first;
}

/* In whose copy lies what that rank finds at an offset. */
uint32_t fake_home(uint32_t rank, uint64_t offset)
{
    if (offset < fake->geometry.nodes_offset) {
        return fake_first_of_host(rank);
    }
    uint64_t owner = (offset - fake->geometry.nodes_offset) / fake->geometry.node_stride_bytes;
    return fake->hosts[owner] == fake->hosts[rank] ? (uint32_t)owner : rank;
}

static bool see_the_same(uint32_t one, uint32_t other, uint64_t offset)
{
    return fake_home(one, offset) == fake_home(other, offset);
}

static unsigned char *place_at(uint32_t rank, uint64_t offset)
{
    return (unsigned char *)fake->copies[rank] + offset;
}

static uint64_t offset_of(const struct fabric_lane *lane, const void *place)
{
    return (uint64_t)((const unsigned char *)place - (const unsigned char *)lane->view->group);
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

static void deliver_record(struct fake_node *node, uint32_t from, const unsigned char *data,
                           uint64_t bytes)
{
    struct wire_operation operation;
    uint32_t at = 0;
    INVARIANT(wire_operation_decode(data, (uint32_t)bytes, WIRE_REQUEST, &at, &operation));
    pthread_mutex_lock(&node->services_lock);
    nic_services_deliver(node->services, fabric_now_ns(), (uint16_t)from, &operation);
    pthread_mutex_unlock(&node->services_lock);
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
        if (entry.offset == IS_RECORD) {
            deliver_record(node, from, data, entry.bytes);
        } else {
            write_backwards(place_at(to, entry.offset), data, entry.bytes);
        }
        /* Release: pairs with the acquires in append and drain. */
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

static bool is_gone(const struct fake_node *node, uint32_t rank)
{
    return group_life_gone(group_life(&node->process.view, rank));
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

/* Waits until what stands in a queue now is delivered, or its receiver is gone. */
static void drain(const struct fake_node *node, uint32_t from, uint32_t to)
{
    struct fake_queue *queue = queue_of(from, to);
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    while (atomic_load_explicit(&queue->head, memory_order_acquire) < tail && !is_gone(node, to)) {
        push_on(from, to);
    }
}

/* Before each call for another node. */
static void count_call(struct fake_node *node)
{
    if (atomic_fetch_add(&node->calls, 1) + 1 == node->dies_at) {
        (void)kill(getpid(), SIGKILL);
    }
}

/* Sends bytes to a place at that rank, the last piece first. */
static int carry(struct fake_node *node, uint32_t rank, uint64_t offset, const void *from,
                 uint64_t bytes)
{
    const unsigned char *data = from;
    if (is_gone(node, rank)) {
        return DN_EPEER;
    }
    for (uint64_t left = bytes; left > 0;) {
        uint64_t piece = (left - 1) % FAKE_PIECE_BYTES + 1;
        struct entry entry = {offset + left - piece, piece};
        while (!append(node, rank, entry, data + left - piece, FAKE_QUEUE_BYTES) &&
               !is_gone(node, rank)) {
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
    wire_operation_encode(&packet->operation, data);
    struct entry entry = {IS_RECORD, bytes};
    return append(node, packet->target, entry, data, RECORD_ROOM_BYTES) ? 0 : DN_EFULL;
}

/* With services_lock: a round of sending. */
static void send_records(struct fake_node *node)
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

static void serve(struct fake_node *node)
{
    pthread_mutex_lock(&node->services_lock);
    if (node->services && !atomic_load(&fake->silent[node->rank])) {
        send_records(node);
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

/* A silence is noticed by those that watch or have sent. Nothing comes from there afterwards. */
static void notice(struct fake_node *node, uint32_t peer)
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

static void make_services(struct fake_node *node)
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
    node->services = nic_services_init(&config, &hooks, node->services_space);
}

/* ---- Operations ----------------------------------------------------------------------------- */

/* Checks a remote address; gives where it lies here. The library's own are right. */
static int reach(const struct fabric_lane *lane, struct dn_remote remote, uint64_t bytes,
                 unsigned char **place)
{
    if (remote.area != FABRIC_AREA_GROUP) {
        return in_place_reach(lane, remote, bytes, place);
    }
    *place = (unsigned char *)lane->view->group + remote.offset;
    return is_gone(lane->state, (uint32_t)remote.rank) ? DN_EPEER : 0;
}

/* Sends what a lane writes, or writes it if both see the same there. */
static int write_to(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    uint64_t bytes)
{
    struct fake_node *node = lane->state;
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, &place);
    if (error) {
        return error;
    }
    count_call(node);
    if (see_the_same(node->rank, rank, offset_of(lane, place))) {
        nic_store_block(place, source, bytes);
        in_place_notify(lane, remote.rank, place, bytes);
        return 0;
    }
    atomic_store(&node->has_stored, true);
    return carry(node, rank, offset_of(lane, place), source, bytes);
}

static int fake_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                      unsigned bytes)
{
    unsigned char *place;
    int error = reach(lane, remote, bytes, &place);
    if (!error && (uintptr_t)place % bytes != 0) {
        error = DN_EALIGN;
    }
    return error ? error : write_to(lane, remote, &value, bytes);
}

static int fake_botf(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                     size_t bytes)
{
    return write_to(lane, remote, source, bytes);
}

static int fake_put_signal(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                           size_t bytes, struct dn_remote flag, uint64_t value)
{
    unsigned char *signal;
    int error = reach(lane, flag, sizeof value, &signal);
    if (!error && (uintptr_t)signal % sizeof value != 0) {
        error = DN_EALIGN;
    }
    error = error ? error : write_to(lane, remote, source, bytes);
    return error ? error : write_to(lane, flag, &value, sizeof value);
}

static int fake_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                     size_t bytes, struct dn_op *op)
{
    struct fake_node *node = lane->state;
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, &place);
    if (error) {
        return error;
    }
    count_call(node);
    uint64_t offset = offset_of(lane, place);
    if (op || see_the_same(node->rank, rank, offset)) {
        memmove(place_at(rank, offset), source, bytes);
        in_place_notify(lane, remote.rank, place, bytes);
        if (op) {
            fabric_op_mark_done(op, lane);
        }
        return 0;
    }
    pthread_mutex_lock(&node->send_lock);
    INVARIANT(node->push_count < FAKE_PUSHES);
    node->pushes[node->push_count++] = (struct fake_push){remote.area == FABRIC_AREA_GROUP, rank,
                                                          offset, source, bytes};
    pthread_mutex_unlock(&node->send_lock);
    return 0;
}

/* Carries out the library's pushes, or those of programs. */
static int push_all(struct fake_node *node, bool is_library)
{
    uint32_t kept = 0;
    int error = 0;
    pthread_mutex_lock(&node->send_lock);
    for (uint32_t i = 0; i < node->push_count; i++) {
        const struct fake_push *push = &node->pushes[i];
        if (push->is_library != is_library) {
            node->pushes[kept++] = *push;
        } else if (is_gone(node, push->rank)) {
            error = DN_EPEER;
        } else {
            memcpy(place_at(push->rank, push->offset), push->source, push->bytes);
        }
    }
    node->push_count = kept;
    pthread_mutex_unlock(&node->send_lock);
    return error;
}

/* Before a node looks at a place at that rank, or changes it there. */
static int ask(struct fake_node *node, uint32_t rank, uint64_t offset)
{
    count_call(node);
    if (!see_the_same(node->rank, rank, offset)) {
        atomic_fetch_add(&node->requests, 1);
    }
    for (uint32_t from = 0; from < fake->node_count && fake->asks_wait; from++) {
        drain(node, from, rank);
        drain(node, from, node->rank);
    }
    return is_gone(node, rank) ? DN_EPEER : 0;
}

static int fake_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                     struct dn_op *op)
{
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, &place);
    error = error ? error : ask(lane->state, rank, offset_of(lane, place));
    if (!error) {
        nic_load_block(target, place_at(rank, offset_of(lane, place)), bytes);
        if (op) {
            fabric_op_mark_done(op, lane);
        }
    }
    return error;
}

static int fake_atomic(struct fabric_lane *lane, struct dn_remote remote,
                       enum fabric_atomic operation, unsigned bytes, uint64_t operand,
                       uint64_t expected, uint64_t *old)
{
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, &place);
    if (!error && (uintptr_t)place % bytes != 0) {
        error = DN_EALIGN;
    }
    error = error ? error : ask(lane->state, rank, offset_of(lane, place));
    if (!error) {
        uint64_t value = in_place_apply(place_at(rank, offset_of(lane, place)), operation, bytes,
                                        operand, expected);
        if (old) {
            *old = value;
        }
    }
    return error;
}

static int fake_settle(struct fabric_lane *lane)
{
    struct fake_node *node = lane->state;
    for (uint32_t to = 0; to < fake->node_count; to++) {
        drain(node, node->rank, to);
    }
    (void)push_all(node, true); /* it fails only for ranks that are gone */
    return 0;
}

/* Reflections are the library's own: no quiet waits for them. */
static int fake_quiet(struct fabric_lane *lane)
{
    struct fake_node *node = lane->state;
    in_place_fence(lane);
    for (uint32_t to = 0; atomic_load(&node->has_stored) && to < fake->node_count; to++) {
        drain(node, node->rank, to);
    }
    atomic_store(&node->has_stored, false);
    return push_all(node, false);
}

static int fake_reflect(struct fabric_lane *lane, uint32_t rank, const void *place, uint64_t bytes)
{
    struct fake_node *node = lane->state;
    uint64_t offset = offset_of(lane, place);
    if (rank == node->rank || bytes == 0) {
        return 0;
    }
    count_call(node);
    return see_the_same(node->rank, rank, offset) ? 0 : carry(node, rank, offset, place, bytes);
}

static int fake_refresh(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes)
{
    struct fake_node *node = lane->state;
    uint64_t offset = offset_of(lane, place);
    if (rank == node->rank) {
        return 0;
    }
    int error = ask(node, rank, offset);
    if (!error && !see_the_same(node->rank, rank, offset)) {
        nic_load_block(place, place_at(rank, offset), bytes);
    }
    return error;
}

static int fake_tell_area(struct fabric_lane *lane, uint32_t area)
{
    struct fake_node *node = lane->state;
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        (void)fake_reflect(lane, rank, &lane->ports[node->rank].areas[area],
                           sizeof lane->ports[node->rank].areas[area]);
    }
    return fake_settle(lane);
}

static struct nic_services *fake_services_take(struct fabric_lane *lane, uint64_t *now_ns)
{
    struct fake_node *node = lane->state;
    pthread_mutex_lock(&node->services_lock);
    *now_ns = fabric_now_ns();
    return node->services;
}

static void fake_services_give(struct fabric_lane *lane)
{
    struct fake_node *node = lane->state;
    send_records(node);
    pthread_mutex_unlock(&node->services_lock);
}

/* Lets something happen somewhere; true: something came to a node. */
static bool step(void)
{
    uint32_t one = (uint32_t)below(fake->node_count);
    uint32_t other = (uint32_t)below(fake->node_count);
    uint64_t choice = fake->has_services ? below(8) : 0;
    if (choice >= 5) {
        serve(&fake_nodes[one]);
    } else if (choice == 4) {
        notice(&fake_nodes[one], other);
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

static bool fake_progress(struct fabric_lane *lane)
{
    bool came = false;
    (void)lane;
    if (fake_own) {
        (void)sched_yield();
        return false;
    }
    for (uint64_t count = fake->held ? 0 : below(6); count > 0; count--) {
        came |= step();
    }
    return came;
}

static void fake_nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)timeout_ns;
    (void)seen;
    (void)fake_progress(lane);
    (void)sched_yield();
}

static int fake_lane_open(struct fabric_lane *lane)
{
    lane->state = &fake_nodes[lane->view->rank];
    return 0;
}

static void fake_lane_close(struct fabric_lane *lane)
{
    (void)fake_quiet(lane);
}

const struct fabric_ops fake_ops = {
    .lane_open = fake_lane_open,
    .lane_close = fake_lane_close,
    .store = fake_store,
    .botf = fake_botf,
    .put_signal = fake_put_signal,
    .push = fake_push,
    .pull = fake_pull,
    .atomic = fake_atomic,
    .fence = fake_quiet,
    .quiet = fake_quiet,
    .reflect = fake_reflect,
    .refresh = fake_refresh,
    .settle = fake_settle,
    .tell_area = fake_tell_area,
    .services_take = fake_services_take,
    .services_give = fake_services_give,
    .progress = fake_progress,
    .nap = fake_nap,
};

/* ---- Starting and stopping ------------------------------------------------------------------ */

/* The receiver's side: one sender's queue moves while another's stands still, now and then for as
 * long as many steps of the others take. */
static void *receive(void *seed)
{
    struct base_random random = {(uintptr_t)seed};
    uint32_t slow = 0;
    uint64_t slow_until_ns = 0;
    for (;;) {
        uint32_t from = (uint32_t)base_random_below(&random, fake->node_count);
        uint64_t entries = base_random_below(&random, 8);
        if (base_random_below(&random, 64) == 0) {
            slow = from;
            slow_until_ns = fabric_now_ns() + base_random_below(&random, UNIT_MS);
        }
        if (from == slow && slow_until_ns != 0) {
            slow_until_ns = fabric_now_ns() < slow_until_ns ? slow_until_ns : 0;
            entries = slow_until_ns ? 0 : entries;
        }
        for (uint64_t i = 0; i < entries; i++) {
            (void)fake_deliver(from, fake_own->rank);
        }
        if (base_random_below(&random, 4) == 0) {
            serve(fake_own);
            notice(fake_own, from);
            (void)sched_yield();
        }
    }
    return NULL;
}

static int start(const struct fabric_start *start)
{
    struct fake_node *node = &fake_nodes[start->view->rank];
    pthread_t receiver;
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        if (fake->hosts[rank] != fake->hosts[node->rank]) {
            atomic_fetch_or(&start->view->ports[rank].call, GROUP_CALL_BY_PACKETS);
        }
    }
    if (fake->has_services) {
        make_services(node);
    }
    return !fake_own ||
                   pthread_create(&receiver, NULL, receive, (void *)(uintptr_t)start->seed) == 0
               ? 0
               : DN_ESYSTEM;
}

static void stop(void)
{
    if (fake_own) {
        (void)fake_settle(&fake_own->node.lane);
    } else {
        fake_deliver_all();
    }
}

const struct fabric fake_fabric = {
    .ops = &fake_ops,
    .start = start,
    .stop = stop,
};
