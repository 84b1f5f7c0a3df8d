/* When packets of lanes go out.
 *
 * Small operations wait in the engine's FIFO and in InfiniSWIF's open packet for company.
 * They go out at once when nothing is under way to their target, and otherwise when a packet
 * is full, at a fence, a quiet or any wait, or FLUSH_NS after the first of them. */
#include "fabric/clock.h"
#include "fabric/udp/state.h"

#define FLUSH_NS UINT64_C(20000)

enum { LOOK_EVERY = 32 }; /* small operations between two looks at the clock */

_Static_assert(offsetof(struct udp_state, packets) == 0, "a fabric is found by its board");

static struct udp_state *udp_of(struct by_packets *packets)
{
    return (struct udp_state *)packets;
}

static uint64_t now_ns_of(struct by_packets *packets)
{
    (void)packets;
    return fabric_now_ns();
}

/* A full FIFO or window first drains into InfiniSWIF's packets, and those into the network. */
static void make_room(struct by_packets *packets, uint64_t *seen)
{
    struct udp_state *udp = udp_of(packets);
    if (*seen == 0) {
        nic_engine_run(packets->board.engine, fabric_now_ns());
        *seen = 1;
        return;
    }
    uint64_t now_ns = fabric_now_ns();
    atomic_store_explicit(&udp->driven_ns, now_ns, memory_order_relaxed);
    udp_transmit(udp, now_ns);
    if (!udp_receive(udp)) {
        fabric_mutex_give(&packets->lock);
        udp_nap(udp, FLUSH_NS, seen);
        fabric_mutex_take(&packets->lock);
    }
    nic_engine_run(packets->board.engine, fabric_now_ns());
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
    if (swif_peer_is_idle(udp->packets.board.swif, (uint16_t)target)) {
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
    nic_engine_run(udp->packets.board.engine, now_ns);
    if (udp->unsent_since_ns == 0) {
        udp->unsent_since_ns = now_ns;
    }
    if (is_full || now_ns - udp->unsent_since_ns >= FLUSH_NS) {
        send_now(udp);
        look(udp, now_ns);
    }
}

static void given(struct by_packets *packets, const struct packet_request *request)
{
    struct udp_state *udp = udp_of(packets);
    bool is_small = request->kind == PACKET_STORE || request->kind == PACKET_BLOCK ||
                    (request->kind == PACKET_ATOMIC && !request->completion);
    if (request->more) {
        udp->unsent++;
    } else if (is_small) {
        send_or_wait_for_company(udp, request->remote.rank, request->bytes);
    } else {
        send_now(udp);
    }
}

static void wait_done(struct by_packets *packets, const struct nic_completion *completion)
{
    udp_wait_done(udp_of(packets), completion);
}

/* Those who came before us are served before us, even if this node asks again and again and never
 * waits. */
static void services_taken(struct by_packets *packets)
{
    struct udp_state *udp = udp_of(packets);
    if (!udp->looked) {
        look(udp, fabric_now_ns());
    }
}

static void services_used(struct by_packets *packets)
{
    struct udp_state *udp = udp_of(packets);
    send_now(udp);
    udp->looked = false;
}

const struct by_packets_carrier udp_carrier = {
    .now_ns = now_ns_of,
    .given = given,
    .make_room = make_room,
    .wait_done = wait_done,
    .services_taken = services_taken,
    .services_used = services_used,
};

static int udp_lane_open(struct fabric_lane *lane)
{
    return by_packets_lane_open(&udp_state.packets, lane);
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
    BY_PACKETS_OPS,          .lane_open = udp_lane_open,
    .serve = udp_lane_serve, .progress = udp_lane_progress,
    .nap = udp_lane_nap,
};
