/* The operations of lanes on a board: fabric/by_packets.h. */
#include "fabric/by_packets.h"

#include <stdlib.h>

#include "fabric/in_place.h"
#include "group/address.h"

enum {
    KICKS = 64,           /* pages that a lane has open for stores */
    DEFAULT_CREDIT = 512, /* FIFO entries of the first lane */
    LANE_CREDIT = 16,     /* of every other one */
};

/* A page that the lane has mapped: a header seed in the engine's table. */
struct kick {
    bool is_open;
    struct dn_remote page; /* its offset is a multiple of the page size */
    uint64_t address;
};

struct packet_lane {
    struct by_packets *packets;
    uint32_t user;
    struct kick kicks[KICKS];
};

static struct by_packets *packets_of(const struct fabric_lane *lane)
{
    const struct packet_lane *own = lane->state;
    return own->packets;
}

/* When there are more lanes than users, lanes share users, which orders more than it has to. */
int by_packets_lane_open(struct by_packets *packets, struct fabric_lane *lane)
{
    struct packet_lane *made = calloc(1, sizeof *made);
    if (!made) {
        return DN_ENOMEM;
    }
    made->packets = packets;
    fabric_mutex_take(&packets->lock);
    uint32_t *lanes_of_user = packets->lanes_of_user;
    for (uint32_t user = 1; user < BY_PACKETS_SYSTEM_USER; user++) {
        made->user = lanes_of_user[user] < lanes_of_user[made->user] ? user : made->user;
    }
    int error = 0;
    if (lanes_of_user[made->user]++ == 0) {
        error = nic_user_set(packets->board.engine, made->user,
                             made->user == 0 ? DEFAULT_CREDIT : LANE_CREDIT);
        INVARIANT(error == 0);
    }
    fabric_mutex_give(&packets->lock);
    lane->state = made;
    return error;
}

/* ---- Giving ------------------------------------------------------------------------------ */

static int give_once(struct by_packets *packets, const struct packet_request *request)
{
    struct nic_engine *engine = packets->board.engine;
    unsigned bytes = (unsigned)request->bytes;
    switch (request->kind) {
    case PACKET_STORE:
        return nic_aotf(engine, request->user, request->kick_address, request->operand, bytes);
    case PACKET_BLOCK:
        return nic_botf(engine, request->user, request->remote, request->local, bytes);
    case PACKET_PUSH:
        return nic_push(engine, request->user, request->remote, request->local, request->bytes,
                        request->completion);
    case PACKET_PULL:
        return nic_pull(engine, request->user, request->remote, request->local, request->bytes,
                        request->completion);
    case PACKET_ATOMIC:
        return nic_atomic(engine, request->user, request->remote, request->function, bytes,
                          request->operand, request->expected, request->completion);
    case PACKET_FENCE: return nic_fence(engine, request->user);
    case PACKET_QUIET: return nic_quiet(engine, request->user, request->completion);
    }
    return DN_EINVAL;
}

/* With the lock held, which the carrier may give up while it makes room. */
static int give(struct by_packets *packets, const struct packet_request *request)
{
    int error = give_once(packets, request);
    uint64_t seen = 0;
    while (UNLIKELY(error == DN_EFULL)) {
        packets->carrier->make_room(packets, &seen);
        error = give_once(packets, request);
    }
    if (LIKELY(!error)) {
        packets->carrier->given(packets, request);
    }
    return error;
}

/* Whether the road in place does an operation: on such a peer, or on none, which it refuses. */
static bool is_in_place(const struct fabric_lane *lane, struct dn_remote remote)
{
    return (uint32_t)remote.rank >= lane->node_count ||
           fabric_road(lane, (uint32_t)remote.rank) == FABRIC_IN_PLACE;
}

/* Checks a remote address as every fabric does, by its place in the mirror. */
static int check(const struct fabric_lane *lane, struct dn_remote remote, uint64_t bytes,
                 uint32_t right, unsigned alignment)
{
    unsigned char *place;
    int error = in_place_reach_any(lane, remote, bytes, right, &place);
    return error ? error : (uintptr_t)place % alignment != 0 ? DN_EALIGN : 0;
}

static uint32_t user_of(const struct fabric_lane *lane)
{
    const struct packet_lane *own = lane->state;
    return own->user;
}

/* The user of an operation. The library's own operations belong to no lane, so that no quiet of
 * the program's waits for them or reports that they failed. */
static uint32_t user_for(const struct fabric_lane *lane, struct dn_remote remote)
{
    return remote.area == FABRIC_AREA_GROUP ? BY_PACKETS_SYSTEM_USER : user_of(lane);
}

/* ---- Stores and blocks ------------------------------------------------------------------- */

/* Where a page of an area that every node has lies at the target, so that it need not translate it;
 * false: it must. The layout is the same at all nodes. */
static bool find_physical(const struct by_packets *packets, const struct group_view *view,
                          struct dn_remote *page)
{
    const struct group_geometry *geometry = &view->facts.geometry;
    if (!packets->kicks_are_physical || !group_area_is_built_in(page->area)) {
        return false;
    }
    page->offset += geometry->nodes_offset + (uint32_t)page->rank * geometry->node_stride_bytes +
                    geometry->segment_offset[page->area];
    return true;
}

/* The kick address of a remote word. Maps its page, in the place of another one if the lane has
 * many. */
static int map(struct by_packets *packets, struct packet_lane *lane, const struct group_view *view,
               struct dn_remote remote, uint64_t *address)
{
    const uint64_t page_bytes = UINT64_C(1) << NIC_KICK_PAGE_BITS;
    struct dn_remote page = remote;
    page.offset &= ~(page_bytes - 1);
    uint64_t hash = (page.offset >> NIC_KICK_PAGE_BITS) + (uint32_t)page.rank * 7u + page.area;
    struct kick *kick = &lane->kicks[hash % KICKS];
    if (UNLIKELY(!kick->is_open || kick->page.offset != page.offset ||
                 kick->page.rank != page.rank || kick->page.area != page.area)) {
        if (kick->is_open) {
            if (nic_kick_close(packets->board.engine, kick->address) != 0) {
                return DN_EFULL; /* a store to it is in the FIFO */
            }
            kick->is_open = false;
        }
        struct dn_remote seed = page;
        bool is_physical = find_physical(packets, view, &seed);
        int error = nic_kick_open(packets->board.engine, lane->user, seed, is_physical,
                                  &kick->address);
        if (error) {
            return error;
        }
        kick->page = page;
        kick->is_open = true;
    }
    *address = kick->address + (remote.offset - page.offset);
    return 0;
}

/* With the lock held. */
static int store_locked(struct by_packets *packets, const struct fabric_lane *lane,
                        struct dn_remote remote, uint64_t value, unsigned bytes)
{
    struct packet_lane *own = lane->state;
    struct packet_request request = {.kind = PACKET_STORE,
                                     .user = own->user,
                                     .remote = remote,
                                     .bytes = bytes,
                                     .operand = value};
    int error = map(packets, own, lane->view, remote, &request.kick_address);
    if (error == DN_EFULL || remote.offset % bytes != 0) {
        /* No page could be mapped (the stores to another one are still in the FIFO, or the
         * header table is full), or the area does not begin at a whole word, which does not
         * matter to a block. */
        request.kind = PACKET_BLOCK;
        request.local = &value;
        error = 0;
    }
    return error ? error : give(packets, &request);
}

int by_packets_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                     unsigned bytes)
{
    if (is_in_place(lane, remote)) {
        return in_place_ops.store(lane, remote, value, bytes);
    }
    struct by_packets *packets = packets_of(lane);
    int error = check(lane, remote, bytes, DN_WRITE, bytes);
    if (UNLIKELY(error)) {
        return error;
    }
    fabric_mutex_take(&packets->lock);
    error = store_locked(packets, lane, remote, value, bytes);
    fabric_mutex_give(&packets->lock);
    return error;
}

/* Blocks of BOTF's length, one behind the other; `more`: and something behind them. */
struct blocks {
    uint32_t user;
    struct dn_remote remote;
    const unsigned char *source;
    uint64_t bytes;
    bool more;
};

/* With the lock held. */
static int give_blocks(struct by_packets *packets, const struct blocks *blocks)
{
    int error = 0;
    for (uint64_t at = 0; at < blocks->bytes && !error; at += WIRE_BOTF_BYTES_MAX) {
        uint64_t left = blocks->bytes - at;
        struct packet_request request = {
            .kind = PACKET_BLOCK,
            .user = blocks->user,
            .more = blocks->more || left > WIRE_BOTF_BYTES_MAX,
            .remote = blocks->remote,
            .local = (void *)(uintptr_t)(blocks->source + at),
            .bytes = left < WIRE_BOTF_BYTES_MAX ? left : WIRE_BOTF_BYTES_MAX,
        };
        request.remote.offset += at;
        error = give(packets, &request);
    }
    return error;
}

int by_packets_botf(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes)
{
    if (is_in_place(lane, remote)) {
        return in_place_ops.botf(lane, remote, source, bytes);
    }
    struct by_packets *packets = packets_of(lane);
    struct blocks blocks = {user_of(lane), remote, source, bytes, false};
    int error = check(lane, remote, bytes, DN_WRITE, 1);
    if (UNLIKELY(error)) {
        return error;
    }
    fabric_mutex_take(&packets->lock);
    error = give_blocks(packets, &blocks);
    fabric_mutex_give(&packets->lock);
    return error;
}

int by_packets_put_signal(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                          size_t bytes, struct dn_remote flag, uint64_t value)
{
    if (is_in_place(lane, remote)) {
        return in_place_put_signal(lane, remote, source, bytes, flag, value);
    }
    struct by_packets *packets = packets_of(lane);
    struct blocks blocks = {user_of(lane), remote, source, bytes, true};
    int error = check(lane, remote, bytes, DN_WRITE, 1);
    error = error ? error : check(lane, flag, sizeof value, DN_WRITE, sizeof value);
    if (UNLIKELY(error)) {
        return error;
    }
    fabric_mutex_take(&packets->lock);
    error = give_blocks(packets, &blocks);
    error = error ? error : store_locked(packets, lane, flag, value, sizeof value);
    fabric_mutex_give(&packets->lock);
    return error;
}

/* ---- Transfers and atomics ----------------------------------------------------------------- */

static int give_and_unlock(struct by_packets *packets, const struct packet_request *request)
{
    fabric_mutex_take(&packets->lock);
    int error = give(packets, request);
    fabric_mutex_give(&packets->lock);
    return error;
}

/* By packets. */
static int transfer(struct fabric_lane *lane, struct dn_remote remote, void *local, size_t bytes,
                    struct dn_op *op, enum packet_request_kind kind)
{
    int error = check(lane, remote, bytes, kind == PACKET_PUSH ? DN_WRITE : DN_READ, 1);
    if (UNLIKELY(error)) {
        return error;
    }
    if (bytes == 0) {
        if (op) {
            fabric_op_mark_done(op, lane);
        }
        return 0;
    }
    struct packet_request request = {
        .kind = kind,
        .user = user_for(lane, remote),
        .remote = remote,
        .local = local,
        .bytes = bytes,
        .completion = op ? fabric_op_begin_in_engine(op, lane) : NULL,
    };
    return give_and_unlock(packets_of(lane), &request);
}

int by_packets_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes, struct dn_op *op)
{
    return is_in_place(lane, remote)
               ? in_place_ops.push(lane, remote, source, bytes, op)
               : transfer(lane, remote, (void *)(uintptr_t)source, bytes, op, PACKET_PUSH);
}

int by_packets_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                    struct dn_op *op)
{
    return is_in_place(lane, remote) ? in_place_ops.pull(lane, remote, target, bytes, op)
                                     : transfer(lane, remote, target, bytes, op, PACKET_PULL);
}

int by_packets_atomic(struct fabric_lane *lane, struct dn_remote remote, enum wire_atomic operation,
                      unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old)
{
    if (is_in_place(lane, remote)) {
        return in_place_ops.atomic(lane, remote, operation, bytes, operand, expected, old);
    }
    struct by_packets *packets = packets_of(lane);
    int error = check(lane, remote, bytes, nic_atomic_right(operation), bytes);
    if (UNLIKELY(error)) {
        return error;
    }
    struct nic_completion completion;
    struct packet_request request = {
        .kind = PACKET_ATOMIC,
        .user = user_for(lane, remote),
        .remote = remote,
        .bytes = bytes,
        .operand = operand,
        .expected = expected,
        .function = operation,
        .completion = old ? &completion : NULL,
    };
    error = give_and_unlock(packets, &request);
    if (error || !old) {
        return error;
    }
    packets->carrier->wait_done(packets, &completion);
    if (completion.result == 0) {
        *old = completion.value;
    }
    return completion.result;
}

/* ---- Order and completion ------------------------------------------------------------------ */

/* A fence or a quiet. Nothing is to be done when nothing of the user's is under way. */
static int give_unless_quiet(struct by_packets *packets, const struct packet_request *request,
                             bool *is_given)
{
    int error = 0;
    fabric_mutex_take(&packets->lock);
    *is_given = !nic_user_is_quiet(packets->board.engine, request->user);
    if (*is_given) {
        error = give(packets, request);
    }
    fabric_mutex_give(&packets->lock);
    return error;
}

int by_packets_fence(struct fabric_lane *lane)
{
    struct packet_request request = {.kind = PACKET_FENCE, .user = user_of(lane)};
    bool is_given;
    (void)in_place_fence(lane);
    return give_unless_quiet(packets_of(lane), &request, &is_given);
}

static int quiet(struct by_packets *packets, uint32_t user)
{
    struct nic_completion completion = {.state = NIC_DONE};
    struct packet_request request = {.kind = PACKET_QUIET, .user = user, .completion = &completion};
    bool is_given;
    int error = give_unless_quiet(packets, &request, &is_given);
    if (!error && is_given) {
        packets->carrier->wait_done(packets, &completion);
    }
    return error ? error : completion.result;
}

int by_packets_quiet(struct fabric_lane *lane)
{
    (void)in_place_fence(lane);
    return quiet(packets_of(lane), user_of(lane));
}

void by_packets_lane_close(struct fabric_lane *lane)
{
    struct packet_lane *own = lane->state;
    struct by_packets *packets = own->packets;
    (void)by_packets_quiet(lane);
    fabric_mutex_take(&packets->lock);
    for (uint32_t i = 0; i < KICKS; i++) {
        if (own->kicks[i].is_open) {
            (void)nic_kick_close(packets->board.engine, own->kicks[i].address);
        }
    }
    if (--packets->lanes_of_user[own->user] == 0) {
        (void)nic_user_set(packets->board.engine, own->user, 0);
    }
    fabric_mutex_give(&packets->lock);
    free(own);
    lane->state = NULL;
}

/* ---- Mirrors --------------------------------------------------------------------------------- */

/* A place in the group's memory, at that rank. */
static struct dn_remote at_rank(const struct fabric_lane *lane, uint32_t rank, const void *place)
{
    const unsigned char *group = (const unsigned char *)lane->view->group;
    return (struct dn_remote){.rank = (int)rank,
                              .area = FABRIC_AREA_GROUP,
                              .offset = (uint64_t)((const unsigned char *)place - group)};
}

/* A word is the end of something and goes out as a small operation does; a block before it
 * waits for it. */
int by_packets_reflect(struct fabric_lane *lane, uint32_t rank, const void *place, uint64_t bytes)
{
    if (rank == lane->view->rank) {
        return 0;
    }
    struct by_packets *packets = packets_of(lane);
    struct blocks blocks = {
        .user = BY_PACKETS_SYSTEM_USER,
        .remote = at_rank(lane, rank, place),
        .source = place,
        .bytes = bytes,
        .more = bytes > sizeof(uint64_t),
    };
    int error = check(lane, blocks.remote, bytes, DN_WRITE, 1);
    if (error) {
        return error;
    }
    fabric_mutex_take(&packets->lock);
    error = give_blocks(packets, &blocks);
    fabric_mutex_give(&packets->lock);
    return error;
}

int by_packets_refresh(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes)
{
    if (rank == lane->view->rank || bytes == 0) {
        return 0;
    }
    struct by_packets *packets = packets_of(lane);
    struct nic_completion completion;
    struct packet_request request = {
        .kind = PACKET_PULL,
        .user = BY_PACKETS_SYSTEM_USER,
        .remote = at_rank(lane, rank, place),
        .local = place,
        .bytes = bytes,
        .completion = &completion,
    };
    int error = check(lane, request.remote, bytes, DN_READ, 1);
    error = error ? error : give_and_unlock(packets, &request);
    if (error) {
        return error;
    }
    packets->carrier->wait_done(packets, &completion);
    return completion.result;
}

/* The system user's operations fail only for peers that are gone, which nobody asks about. */
void by_packets_settle_all(struct by_packets *packets)
{
    (void)quiet(packets, BY_PACKETS_SYSTEM_USER);
}

int by_packets_settle(struct fabric_lane *lane)
{
    by_packets_settle_all(packets_of(lane));
    return 0;
}

int by_packets_tell_area(struct fabric_lane *lane, uint32_t area)
{
    struct by_packets *packets = packets_of(lane);
    const struct group_view *view = lane->view;
    const struct group_area *entry = &view->ports[view->rank].areas[area % GROUP_AREAS];
    fabric_mutex_take(&packets->lock);
    nic_engine_forget_area(packets->board.engine, area);
    fabric_mutex_give(&packets->lock);
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        /* Ranks that are gone need not know. The state word goes last, as in the table itself. */
        (void)by_packets_reflect(lane, rank, &entry->denied, sizeof *entry - sizeof entry->state);
        (void)by_packets_reflect(lane, rank, &entry->state, sizeof entry->state);
    }
    return by_packets_settle(lane);
}

int by_packets_grant(struct fabric_lane *lane, const struct fabric_grant *grant)
{
    struct by_packets *packets = packets_of(lane);
    fabric_mutex_take(&packets->lock);
    int error = fabric_grants_add(packets->grants, grant);
    fabric_mutex_give(&packets->lock);
    return error;
}

void by_packets_revoke(struct fabric_lane *lane, uint64_t offset)
{
    struct by_packets *packets = packets_of(lane);
    fabric_mutex_take(&packets->lock);
    fabric_grants_remove(packets->grants, offset);
    fabric_mutex_give(&packets->lock);
}

struct nic_services *by_packets_services_take(struct fabric_lane *lane, uint64_t *now_ns)
{
    struct by_packets *packets = packets_of(lane);
    fabric_mutex_take(&packets->lock);
    packets->carrier->services_taken(packets);
    *now_ns = packets->carrier->now_ns(packets);
    return packets->board.services;
}

void by_packets_services_give(struct fabric_lane *lane)
{
    struct by_packets *packets = packets_of(lane);
    packets->carrier->services_used(packets);
    fabric_mutex_give(&packets->lock);
}

/* ---- This node's memory ---------------------------------------------------------------------- */

int by_packets_find_area(const struct group_view *view, uint32_t area, struct nic_extent *extent)
{
    const struct group_geometry *geometry = &view->facts.geometry;
    uint64_t node = geometry->nodes_offset + view->rank * geometry->node_stride_bytes;
    if (area == FABRIC_AREA_GROUP) {
        *extent = (struct nic_extent){.bytes = geometry->total_bytes};
        return 0;
    }
    if (group_area_is_built_in(area)) {
        const struct group_area *entry = &view->ports[view->rank].areas[area];
        *extent = (struct nic_extent){
            .offset = node + geometry->segment_offset[area],
            .bytes = group_segment_bytes(view, area),
            .denied = atomic_load_explicit(&entry->denied, memory_order_relaxed),
        };
        return 0;
    }
    struct group_area_extent found;
    int error = group_area_look(view, view->rank, area, &found);
    if (!error) {
        *extent = (struct nic_extent){
            .offset = node + found.offset, .bytes = found.bytes, .denied = found.denied};
    }
    return error;
}

void by_packets_mark_roads(const struct group_view *view, bool is_loop)
{
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        if (rank != view->rank || is_loop) {
            atomic_fetch_or(&view->ports[rank].call, GROUP_CALL_BY_PACKETS);
        }
    }
}
