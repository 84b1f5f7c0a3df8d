/* Lanes on the board: a lane is a user of the engine.
 *
 * Small operations wait in the engine's FIFO and in InfiniSWIF's open packet for company.
 * They go out at once when nothing is under way to their target, and otherwise when a packet
 * is full, at a fence, a quiet or any wait, or FLUSH_NS after the first of them. */
#include <stdlib.h>

#include "fabric/clock.h"
#include "fabric/in_place.h"
#include "fabric/udp/state.h"

#define FLUSH_NS UINT64_C(20000)

enum {
    DEFAULT_CREDIT = 512, /* FIFO entries of the first lane */
    LANE_CREDIT = 16,     /* of every other one */
    LOOK_EVERY = 32,      /* small operations between two looks at the clock */
};

/* A page that the lane has mapped: a header seed in the engine's table. */
struct kick {
    bool is_open;
    struct dn_remote page; /* its offset is a multiple of the page size */
    uint64_t address;
};

struct udp_lane {
    uint32_t user;
    struct kick kicks[UDP_KICKS];
};

/* When there are more lanes than users, lanes share users, which orders more than it has to. */
static uint32_t lanes_of_user[NIC_USERS]; /* with the lock */

static int udp_lane_open(struct fabric_lane *lane)
{
    struct udp_state *udp = &udp_state;
    struct udp_lane *made = calloc(1, sizeof *made);
    if (!made) {
        return DN_ENOMEM;
    }
    fabric_mutex_take(&udp->lock);
    for (uint32_t user = 1; user < UDP_SYSTEM_USER; user++) {
        made->user = lanes_of_user[user] < lanes_of_user[made->user] ? user : made->user;
    }
    int error = 0;
    if (lanes_of_user[made->user]++ == 0) {
        error = nic_user_set(udp->board.engine, made->user,
                             made->user == 0 ? DEFAULT_CREDIT : LANE_CREDIT);
        INVARIANT(error == 0);
    }
    fabric_mutex_give(&udp->lock);
    lane->state = made;
    return error;
}

/* ---- Giving ------------------------------------------------------------------------------ */

enum kind { STORE, BLOCK, PUSH, PULL, ATOMIC, FENCE, QUIET };

/* One transaction, given as often as it takes. */
struct request {
    enum kind kind;
    uint32_t user;
    struct dn_remote remote;
    void *local; /* BLOCK and PUSH only read it */
    uint64_t bytes;
    uint64_t operand; /* STORE: the value */
    uint64_t expected;
    enum wire_atomic function;
    uint64_t kick_address;
    struct nic_completion *completion;
};

static int give_once(struct udp_state *udp, const struct request *request)
{
    struct nic_engine *engine = udp->board.engine;
    unsigned bytes = (unsigned)request->bytes;
    switch (request->kind) {
    case STORE:
        return nic_aotf(engine, request->user, request->kick_address, request->operand, bytes);
    case BLOCK: return nic_botf(engine, request->user, request->remote, request->local, bytes);
    case PUSH:
        return nic_push(engine, request->user, request->remote, request->local, request->bytes,
                        request->completion);
    case PULL:
        return nic_pull(engine, request->user, request->remote, request->local, request->bytes,
                        request->completion);
    case ATOMIC:
        return nic_atomic(engine, request->user, request->remote, request->function, bytes,
                          request->operand, request->expected, request->completion);
    case FENCE: return nic_fence(engine, request->user);
    case QUIET: return nic_quiet(engine, request->user, request->completion);
    }
    return DN_EINVAL;
}

/* With the lock held, which it releases while it sleeps. A full FIFO or window first drains into
 * InfiniSWIF's packets, and those into the network. */
static int give(struct udp_state *udp, const struct request *request)
{
    int error = give_once(udp, request);
    if (LIKELY(error != DN_EFULL)) {
        return error;
    }
    nic_engine_run(udp->board.engine, fabric_now_ns());
    uint64_t seen = 0;
    while ((error = give_once(udp, request)) == DN_EFULL) {
        uint64_t now_ns = fabric_now_ns();
        atomic_store_explicit(&udp->driven_ns, now_ns, memory_order_relaxed);
        udp_transmit(udp, now_ns);
        if (!udp_receive(udp)) {
            fabric_mutex_give(&udp->lock);
            udp_nap(udp, FLUSH_NS, &seen);
            fabric_mutex_take(&udp->lock);
        }
        nic_engine_run(udp->board.engine, fabric_now_ns());
    }
    return error;
}

static void send_now(struct udp_state *udp)
{
    uint64_t now_ns = fabric_now_ns();
    atomic_store_explicit(&udp->driven_ns, now_ns, memory_order_relaxed);
    udp_transmit(udp, now_ns);
}

/* With the lock held: takes in what has come, so that the helper need not come for it. */
static void look(struct udp_state *udp, uint64_t now_ns)
{
    atomic_store_explicit(&udp->driven_ns, now_ns, memory_order_relaxed);
    (void)udp_receive(udp);
}

/* With the lock held, after a small operation was given. */
static void send_or_wait_for_company(struct udp_state *udp, int target, uint64_t bytes)
{
    udp->unsent++;
    /* Sends even if something for another target, or a block of the same message, waits. */
    if (swif_peer_is_idle(udp->board.swif, (uint16_t)target)) {
        send_now(udp);
        return;
    }
    if (udp->unsent == 1) {
        udp->unsent_since_ns = 0;
        udp->unsent_bytes = 0;
        return;
    }
    udp->unsent_bytes += WIRE_OPERATION_BYTES + bytes;
    bool is_full = udp->unsent_bytes >= udp->roster->packet_bytes_max;
    if (!is_full && udp->unsent % LOOK_EVERY != 0) {
        return;
    }
    uint64_t now_ns = fabric_now_ns();
    nic_engine_run(udp->board.engine, now_ns);
    if (udp->unsent_since_ns == 0) {
        udp->unsent_since_ns = now_ns;
    }
    if (is_full || now_ns - udp->unsent_since_ns >= FLUSH_NS) {
        send_now(udp);
        look(udp, now_ns);
    }
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
    const struct udp_lane *own = lane->state;
    return own->user;
}

/* The user of an operation. The library's own operations belong to no lane, so that no quiet of
 * the program's waits for them or reports that they failed. */
static uint32_t user_for(const struct fabric_lane *lane, struct dn_remote remote)
{
    return remote.area == FABRIC_AREA_GROUP ? UDP_SYSTEM_USER : user_of(lane);
}

/* ---- Stores and blocks ------------------------------------------------------------------- */

/* The kick address of a remote word. Maps its page, in the place of another one if the lane has
 * many. */
static int map(struct udp_state *udp, struct udp_lane *lane, struct dn_remote remote,
               uint64_t *address)
{
    const uint64_t page_bytes = UINT64_C(1) << NIC_KICK_PAGE_BITS;
    struct dn_remote page = remote;
    page.offset &= ~(page_bytes - 1);
    uint64_t hash = (page.offset >> NIC_KICK_PAGE_BITS) + (uint32_t)page.rank * 7u + page.area;
    struct kick *kick = &lane->kicks[hash % UDP_KICKS];
    if (UNLIKELY(!kick->is_open || kick->page.offset != page.offset ||
                 kick->page.rank != page.rank || kick->page.area != page.area)) {
        if (kick->is_open) {
            if (nic_kick_close(udp->board.engine, kick->address) != 0) {
                return DN_EFULL; /* a store to it is in the FIFO */
            }
            kick->is_open = false;
        }
        int error = nic_kick_open(udp->board.engine, lane->user, page, false, &kick->address);
        if (error) {
            return error;
        }
        kick->page = page;
        kick->is_open = true;
    }
    *address = kick->address + (remote.offset - page.offset);
    return 0;
}

static int store_locked(struct udp_state *udp, struct udp_lane *lane, struct dn_remote remote,
                        uint64_t value, unsigned bytes)
{
    struct request request = {
        .kind = STORE, .user = lane->user, .remote = remote, .bytes = bytes, .operand = value};
    int error = map(udp, lane, remote, &request.kick_address);
    if (error == DN_EFULL || remote.offset % bytes != 0) {
        /* No page could be mapped (the stores to another one are still in the FIFO, or the
         * header table is full), or the area does not begin at a whole word, which does not
         * matter to a block. */
        request.kind = BLOCK;
        request.local = &value;
        error = 0;
    }
    return error ? error : give(udp, &request);
}

static int udp_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                     unsigned bytes)
{
    struct udp_state *udp = &udp_state;
    if (is_in_place(lane, remote)) {
        return in_place_ops.store(lane, remote, value, bytes);
    }
    int error = check(lane, remote, bytes, DN_WRITE, bytes);
    if (UNLIKELY(error)) {
        return error;
    }
    fabric_mutex_take(&udp->lock);
    error = store_locked(udp, lane->state, remote, value, bytes);
    if (LIKELY(!error)) {
        send_or_wait_for_company(udp, remote.rank, bytes);
    }
    fabric_mutex_give(&udp->lock);
    return error;
}

/* With the lock held: blocks of BOTF's length, one behind the other. */
static int give_blocks(struct udp_state *udp, uint32_t user, struct dn_remote remote,
                       const unsigned char *source, uint64_t bytes)
{
    int error = 0;
    for (uint64_t at = 0; at < bytes && !error; at += WIRE_BOTF_BYTES_MAX) {
        uint64_t left = bytes - at;
        struct request request = {
            .kind = BLOCK,
            .user = user,
            .remote = remote,
            .local = (void *)(uintptr_t)(source + at),
            .bytes = left < WIRE_BOTF_BYTES_MAX ? left : WIRE_BOTF_BYTES_MAX,
        };
        request.remote.offset += at;
        error = give(udp, &request);
        udp->unsent += at != 0;
    }
    return error;
}

static int udp_botf(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes)
{
    struct udp_state *udp = &udp_state;
    if (is_in_place(lane, remote)) {
        return in_place_ops.botf(lane, remote, source, bytes);
    }
    int error = check(lane, remote, bytes, DN_WRITE, 1);
    if (UNLIKELY(error || bytes == 0)) {
        return error;
    }
    fabric_mutex_take(&udp->lock);
    error = give_blocks(udp, user_of(lane), remote, source, bytes);
    if (LIKELY(!error)) {
        send_or_wait_for_company(udp, remote.rank, bytes);
    }
    fabric_mutex_give(&udp->lock);
    return error;
}

static int udp_put_signal(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                          size_t bytes, struct dn_remote flag, uint64_t value)
{
    struct udp_state *udp = &udp_state;
    if (is_in_place(lane, remote)) {
        return in_place_put_signal(lane, remote, source, bytes, flag, value);
    }
    int error = check(lane, remote, bytes, DN_WRITE, 1);
    error = error ? error : check(lane, flag, sizeof value, DN_WRITE, sizeof value);
    if (UNLIKELY(error)) {
        return error;
    }
    fabric_mutex_take(&udp->lock);
    error = give_blocks(udp, user_of(lane), remote, source, bytes);
    error = error ? error : store_locked(udp, lane->state, flag, value, sizeof value);
    if (LIKELY(!error)) {
        send_or_wait_for_company(udp, remote.rank, bytes);
    }
    fabric_mutex_give(&udp->lock);
    return error;
}

/* ---- Transfers and atomics ----------------------------------------------------------------- */

/* Gives a request that nothing is to wait for, and sends. */
static int give_and_send(struct udp_state *udp, const struct request *request)
{
    fabric_mutex_take(&udp->lock);
    int error = give(udp, request);
    if (LIKELY(!error)) {
        send_now(udp);
    }
    fabric_mutex_give(&udp->lock);
    return error;
}

/* By packets. */
static int transfer(struct fabric_lane *lane, struct dn_remote remote, void *local, size_t bytes,
                    struct dn_op *op, enum kind kind)
{
    int error = check(lane, remote, bytes, kind == PUSH ? DN_WRITE : DN_READ, 1);
    if (UNLIKELY(error)) {
        return error;
    }
    if (bytes == 0) {
        if (op) {
            fabric_op_mark_done(op, lane);
        }
        return 0;
    }
    struct request request = {
        .kind = kind,
        .user = user_for(lane, remote),
        .remote = remote,
        .local = local,
        .bytes = bytes,
        .completion = op ? fabric_op_begin_in_engine(op, lane) : NULL,
    };
    return give_and_send(&udp_state, &request);
}

static int udp_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes, struct dn_op *op)
{
    return is_in_place(lane, remote)
               ? in_place_ops.push(lane, remote, source, bytes, op)
               : transfer(lane, remote, (void *)(uintptr_t)source, bytes, op, PUSH);
}

static int udp_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                    struct dn_op *op)
{
    return is_in_place(lane, remote) ? in_place_ops.pull(lane, remote, target, bytes, op)
                                     : transfer(lane, remote, target, bytes, op, PULL);
}

static int udp_atomic(struct fabric_lane *lane, struct dn_remote remote, enum wire_atomic operation,
                      unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old)
{
    struct udp_state *udp = &udp_state;
    if (is_in_place(lane, remote)) {
        return in_place_ops.atomic(lane, remote, operation, bytes, operand, expected, old);
    }
    int error = check(lane, remote, bytes, nic_atomic_right(operation), bytes);
    if (UNLIKELY(error)) {
        return error;
    }
    struct nic_completion completion;
    struct request request = {
        .kind = ATOMIC,
        .user = user_for(lane, remote),
        .remote = remote,
        .bytes = bytes,
        .operand = operand,
        .expected = expected,
        .function = operation,
        .completion = old ? &completion : NULL,
    };
    fabric_mutex_take(&udp->lock);
    error = give(udp, &request);
    if (!error && old) {
        send_now(udp);
    } else if (!error) {
        send_or_wait_for_company(udp, remote.rank, bytes);
    }
    fabric_mutex_give(&udp->lock);
    if (error || !old) {
        return error;
    }
    udp_wait_done(udp, &completion);
    if (completion.result == 0) {
        *old = completion.value;
    }
    return completion.result;
}

/* ---- Order and completion ------------------------------------------------------------------ */

/* A fence or a quiet. Nothing is to be done when nothing of the user's is under way. */
static int give_unless_quiet(struct udp_state *udp, const struct request *request)
{
    int error = 0;
    fabric_mutex_take(&udp->lock);
    if (!nic_user_is_quiet(udp->board.engine, request->user)) {
        error = give(udp, request);
        send_now(udp);
    }
    fabric_mutex_give(&udp->lock);
    return error;
}

static int udp_fence(struct fabric_lane *lane)
{
    struct request request = {.kind = FENCE, .user = user_of(lane)};
    (void)in_place_fence(lane);
    return give_unless_quiet(&udp_state, &request);
}

static int quiet(struct udp_state *udp, uint32_t user)
{
    struct nic_completion completion = {.state = NIC_DONE};
    struct request request = {.kind = QUIET, .user = user, .completion = &completion};
    int error = give_unless_quiet(udp, &request);
    if (!error) {
        udp_wait_done(udp, &completion);
    }
    return error ? error : completion.result;
}

static int udp_quiet(struct fabric_lane *lane)
{
    (void)in_place_fence(lane);
    return quiet(&udp_state, user_of(lane));
}

static void udp_lane_close(struct fabric_lane *lane)
{
    struct udp_state *udp = &udp_state;
    struct udp_lane *own = lane->state;
    (void)udp_quiet(lane);
    fabric_mutex_take(&udp->lock);
    for (uint32_t i = 0; i < UDP_KICKS; i++) {
        if (own->kicks[i].is_open) {
            (void)nic_kick_close(udp->board.engine, own->kicks[i].address);
        }
    }
    if (--lanes_of_user[own->user] == 0) {
        (void)nic_user_set(udp->board.engine, own->user, 0);
    }
    fabric_mutex_give(&udp->lock);
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
static int udp_reflect(struct fabric_lane *lane, uint32_t rank, const void *place, uint64_t bytes)
{
    struct udp_state *udp = &udp_state;
    if (rank == lane->view->rank) {
        return 0;
    }
    struct dn_remote remote = at_rank(lane, rank, place);
    int error = check(lane, remote, bytes, DN_WRITE, 1);
    if (error) {
        return error;
    }
    fabric_mutex_take(&udp->lock);
    error = give_blocks(udp, UDP_SYSTEM_USER, remote, place, bytes);
    if (!error && bytes <= sizeof(uint64_t)) {
        send_or_wait_for_company(udp, (int)rank, bytes);
    } else {
        udp->unsent++;
    }
    fabric_mutex_give(&udp->lock);
    return error;
}

static int udp_refresh(struct fabric_lane *lane, uint32_t rank, void *place, uint64_t bytes)
{
    if (rank == lane->view->rank || bytes == 0) {
        return 0;
    }
    struct nic_completion completion;
    struct request request = {
        .kind = PULL,
        .user = UDP_SYSTEM_USER,
        .remote = at_rank(lane, rank, place),
        .local = place,
        .bytes = bytes,
        .completion = &completion,
    };
    int error = check(lane, request.remote, bytes, DN_READ, 1);
    error = error ? error : give_and_send(&udp_state, &request);
    if (error) {
        return error;
    }
    udp_wait_done(&udp_state, &completion);
    return completion.result;
}

/* The system user's operations fail only for peers that are gone, which nobody asks about. They
 * are the same for every lane, and without one. */
static int udp_settle(struct fabric_lane *lane)
{
    (void)lane;
    (void)quiet(&udp_state, UDP_SYSTEM_USER);
    return 0;
}

static int udp_tell_area(struct fabric_lane *lane, uint32_t area)
{
    struct udp_state *udp = &udp_state;
    const struct group_view *view = lane->view;
    const struct group_area *entry = &view->ports[view->rank].areas[area % GROUP_AREAS];
    fabric_mutex_take(&udp->lock);
    nic_engine_forget_area(udp->board.engine, area);
    fabric_mutex_give(&udp->lock);
    for (uint32_t rank = 0; rank < view->node_count; rank++) {
        /* Ranks that are gone need not know. The state word goes last, as in the table itself. */
        (void)udp_reflect(lane, rank, &entry->denied, sizeof *entry - sizeof entry->state);
        (void)udp_reflect(lane, rank, &entry->state, sizeof entry->state);
    }
    return udp_settle(lane);
}

static int udp_grant(struct fabric_lane *lane, const struct fabric_grant *grant)
{
    struct udp_state *udp = &udp_state;
    (void)lane;
    fabric_mutex_take(&udp->lock);
    int error = fabric_grants_add(udp->grants, grant);
    fabric_mutex_give(&udp->lock);
    return error;
}

static void udp_revoke(struct fabric_lane *lane, uint64_t offset)
{
    struct udp_state *udp = &udp_state;
    (void)lane;
    fabric_mutex_take(&udp->lock);
    fabric_grants_remove(udp->grants, offset);
    fabric_mutex_give(&udp->lock);
}

static struct nic_services *udp_services_take(struct fabric_lane *lane, uint64_t *now_ns)
{
    struct udp_state *udp = &udp_state;
    (void)lane;
    fabric_mutex_take(&udp->lock);
    /* Those who came before us are served before us, even if this node asks again and again
     * and never waits. */
    if (!udp->looked) {
        look(udp, fabric_now_ns());
    }
    *now_ns = fabric_now_ns();
    return udp->board.services;
}

static void udp_services_give(struct fabric_lane *lane)
{
    struct udp_state *udp = &udp_state;
    (void)lane;
    send_now(udp);
    udp->looked = false;
    fabric_mutex_give(&udp->lock);
}

static void udp_lane_serve(struct fabric_lane *lane)
{
    uint64_t now_ns;
    (void)lane;
    (void)udp_serve(&udp_state, &now_ns);
}

static bool udp_lane_progress(struct fabric_lane *lane)
{
    (void)lane;
    return udp_progress(&udp_state);
}

static void udp_lane_nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)lane;
    udp_nap(&udp_state, timeout_ns, seen);
}

const struct fabric_ops udp_ops = {
    .lane_open = udp_lane_open,
    .lane_close = udp_lane_close,
    .store = udp_store,
    .botf = udp_botf,
    .put_signal = udp_put_signal,
    .push = udp_push,
    .pull = udp_pull,
    .atomic = udp_atomic,
    .fence = udp_fence,
    .quiet = udp_quiet,
    .reflect = udp_reflect,
    .refresh = udp_refresh,
    .settle = udp_settle,
    .tell_area = udp_tell_area,
    .grant = udp_grant,
    .revoke = udp_revoke,
    .services_take = udp_services_take,
    .services_give = udp_services_give,
    .serve = udp_lane_serve,
    .progress = udp_lane_progress,
    .nap = udp_lane_nap,
};
