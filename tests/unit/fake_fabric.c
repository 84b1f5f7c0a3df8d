/* The fake fabric behind the interface of fabric/fabric.h. */
#include "unit/fake_fabric.h"

#include <signal.h>

#include "fabric/clock.h"
#include "fabric/in_place.h"
#include "group/service_memory.h"
#include "nic/memory_access.h"
#include "unit/fake_packets.h"

struct fake *fake;
struct fake_node fake_nodes[FAKE_NODES_MAX];
struct fake_node *fake_own;

/* ---- Operations ----------------------------------------------------------------------------- */

static bool see_the_same(uint32_t one, uint32_t other, uint64_t offset)
{
    return fake_home(one, offset) == fake_home(other, offset);
}

static uint64_t offset_of(const struct fabric_lane *lane, const void *place)
{
    return (uint64_t)((const unsigned char *)place - (const unsigned char *)lane->view->group);
}

/* Before each call for another node. */
static void count_call(struct fake_node *node)
{
    if (atomic_fetch_add(&node->calls, 1) + 1 == node->dies_at) {
        (void)kill(getpid(), SIGKILL);
    }
}

/* Checks a remote address; gives where it lies here. The library's own are right. */
static int reach(const struct fabric_lane *lane, struct dn_remote remote, uint64_t bytes,
                 uint32_t right, unsigned char **place)
{
    if (remote.area != FABRIC_AREA_GROUP) {
        return in_place_reach(lane, remote, bytes, right, place);
    }
    *place = (unsigned char *)lane->view->group + remote.offset;
    return fake_is_gone(lane->state, (uint32_t)remote.rank) ? DN_EPEER : 0;
}

/* Sends what a lane writes, or writes it if both see the same there. */
static int write_to(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    uint64_t bytes)
{
    struct fake_node *node = lane->state;
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, DN_WRITE, &place);
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
    return fake_carry(node, rank, offset_of(lane, place), source, bytes,
                      remote.area == FABRIC_AREA_GROUP);
}

static int fake_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                      unsigned bytes)
{
    unsigned char *place;
    int error = reach(lane, remote, bytes, DN_WRITE, &place);
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
    int error = reach(lane, flag, sizeof value, DN_WRITE, &signal);
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
    int error = reach(lane, remote, bytes, DN_WRITE, &place);
    if (error) {
        return error;
    }
    count_call(node);
    uint64_t offset = offset_of(lane, place);
    if (op || see_the_same(node->rank, rank, offset)) {
        memmove(fake_place(rank, offset), source, bytes);
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

/* In pieces, as a network carries it. */
static bool permits_push(const struct fake_node *node, const struct fake_push *push)
{
    bool permits = true;
    for (uint64_t at = 0; at < push->bytes && permits; at += FAKE_PIECE_BYTES) {
        uint64_t left = push->bytes - at;
        const struct wire_operation piece = {
            .opcode = WIRE_PUSH,
            .bytes = (uint16_t)(left < FAKE_PIECE_BYTES ? left : FAKE_PIECE_BYTES)};
        permits = fake_permits(node->rank, push->rank, &piece, push->offset + at);
    }
    return permits;
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
        } else if (fake_is_gone(node, push->rank)) {
            error = DN_EPEER;
        } else if (!is_library || permits_push(node, push)) {
            memcpy(fake_place(push->rank, push->offset), push->source, push->bytes);
        }
    }
    node->push_count = kept;
    pthread_mutex_unlock(&node->send_lock);
    return error;
}

/* Whether a rank permits an operation that is carried out at once, if that can be known here. */
static bool permits(const struct fabric_lane *lane, struct dn_remote remote, uint64_t offset,
                    const struct wire_operation *operation)
{
    const struct fake_node *node = lane->state;
    uint32_t rank = (uint32_t)remote.rank;
    return remote.area != FABRIC_AREA_GROUP || see_the_same(node->rank, rank, offset) ||
           fake_permits(node->rank, rank, operation, offset);
}

/* Before a node looks at a place at that rank, or changes it there. */
static int ask(struct fake_node *node, uint32_t rank, uint64_t offset)
{
    count_call(node);
    bool by_packets = !see_the_same(node->rank, rank, offset);
    atomic_fetch_add(&node->requests, by_packets);
    for (uint32_t from = 0; from < fake->node_count && fake->asks_wait && by_packets; from++) {
        fake_drain(node, from, rank);
        fake_drain(node, from, node->rank);
    }
    return fake_is_gone(node, rank) ? DN_EPEER : 0;
}

/* Nodes change their tables while others read them, so reads of them must be short: nic_load_block
 * reads only short blocks word by word. */
static bool is_short_or_no_table(const struct fabric_lane *lane, uint32_t rank,
                                 const unsigned char *place, size_t bytes)
{
    const unsigned char *tables = group_service_memory(lane->view, rank);
    return bytes <= NIC_WORDS_WHOLE_BYTES || place + bytes <= tables ||
           place >= tables + sizeof(struct group_service);
}

static int fake_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                     struct dn_op *op)
{
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, DN_READ, &place);
    INVARIANT(error || is_short_or_no_table(lane, rank, place, bytes));
    error = error ? error : ask(lane->state, rank, offset_of(lane, place));
    const struct wire_operation operation = {.opcode = WIRE_PULL,
                                             .bytes = (uint16_t)(bytes < 1024 ? bytes : 1024)};
    if (!error && !permits(lane, remote, offset_of(lane, place), &operation)) {
        error = DN_ERIGHTS;
    }
    if (!error) {
        nic_load_block(target, fake_place(rank, offset_of(lane, place)), bytes);
        if (op) {
            fabric_op_mark_done(op, lane);
        }
    }
    return error;
}

static int fake_atomic(struct fabric_lane *lane, struct dn_remote remote,
                       enum wire_atomic operation, unsigned bytes, uint64_t operand,
                       uint64_t expected, uint64_t *old)
{
    uint32_t rank = (uint32_t)remote.rank;
    unsigned char *place;
    int error = reach(lane, remote, bytes, nic_atomic_right(operation), &place);
    if (!error && (uintptr_t)place % bytes != 0) {
        error = DN_EALIGN;
    }
    error = error ? error : ask(lane->state, rank, offset_of(lane, place));
    const struct wire_operation asked = {.opcode = WIRE_ATOMIC,
                                         .detail = (uint8_t)operation,
                                         .bytes = (uint16_t)bytes,
                                         .operand = operand,
                                         .expected = expected};
    if (!error && !permits(lane, remote, offset_of(lane, place), &asked)) {
        error = DN_ERIGHTS;
    }
    if (!error) {
        uint64_t value = nic_apply(fake_place(rank, offset_of(lane, place)), operation, bytes,
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
        fake_drain(node, node->rank, to);
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
        fake_drain(node, node->rank, to);
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
    return see_the_same(node->rank, rank, offset)
               ? 0
               : fake_carry(node, rank, offset, place, bytes, true);
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
        nic_load_block(place, fake_place(rank, offset), bytes);
    }
    return error;
}

static int fake_tell_area(struct fabric_lane *lane, uint32_t area)
{
    const struct fake_node *node = lane->state;
    const struct group_area *entry = &lane->ports[node->rank].areas[area % GROUP_AREAS];
    for (uint32_t rank = 0; rank < fake->node_count; rank++) {
        /* The state goes last, as in the table itself. Ranks that are gone need not know. */
        (void)fake_reflect(lane, rank, &entry->denied, sizeof *entry - sizeof entry->state);
        (void)fake_reflect(lane, rank, &entry->state, sizeof entry->state);
    }
    return fake_settle(lane);
}

static int fake_grant(struct fabric_lane *lane, const struct fabric_grant *grant)
{
    struct fake_node *node = lane->state;
    pthread_mutex_lock(&node->grants_lock);
    int error = fabric_grants_add(node->grants, grant);
    pthread_mutex_unlock(&node->grants_lock);
    return error;
}

static void fake_revoke(struct fabric_lane *lane, uint64_t offset)
{
    struct fake_node *node = lane->state;
    pthread_mutex_lock(&node->grants_lock);
    fabric_grants_remove(node->grants, offset);
    pthread_mutex_unlock(&node->grants_lock);
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
    fake_send_records(node);
    pthread_mutex_unlock(&node->services_lock);
}

static bool fake_progress(struct fabric_lane *lane)
{
    (void)lane;
    if (fake_own) {
        (void)sched_yield(); /* the node's thread delivers */
        return false;
    }
    return !fake->held && fake_move_on();
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
    .grant = fake_grant,
    .revoke = fake_revoke,
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
            fake_serve(fake_own);
            fake_notice(fake_own, from);
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
    INVARIANT(fabric_grants_make(start->view, start->control, &node->grants) == 0);
    if (fake->has_services) {
        fake_make_services(node);
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
