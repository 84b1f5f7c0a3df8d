/* The steps of a CPU that operations take, and who waits. */
#include "fabric/seat/state.h"

/* Words of a request: source, target, length, and the kick. */
enum { DESCRIPTOR_WORDS = 4 };

enum { COMPLETION_BYTES = 4 }; /* of the word that says that a request is done */

static struct seat_state *seat_of(struct by_packets *packets)
{
    return (struct seat_state *)packets;
}
_Static_assert(offsetof(struct seat_state, packets) == 0, "a fabric is found by its board");

static uint64_t now_ns_of(struct by_packets *packets)
{
    return seat_time_ns(seat_of(packets));
}

static void ask(struct seat_state *seat, unsigned words, enum turn_asked asked, uint64_t bytes)
{
    seat_step(seat, TURN_REQUEST, turn_asking(words, asked), bytes);
}

static void given(struct by_packets *packets, const struct packet_request *request)
{
    struct seat_state *seat = seat_of(packets);
    switch (request->kind) {
    case PACKET_STORE: seat_step(seat, TURN_STORE, (uint16_t)request->bytes, 0); break;
    case PACKET_BLOCK: seat_step(seat, TURN_BLOCK, 0, request->bytes); break;
    case PACKET_PUSH: ask(seat, DESCRIPTOR_WORDS, TURN_ASKS_PUSH, request->bytes); break;
    case PACKET_PULL: ask(seat, DESCRIPTOR_WORDS, TURN_ASKS_PULL, request->bytes); break;
    case PACKET_ATOMIC: ask(seat, DESCRIPTOR_WORDS, TURN_ASKS_ATOMIC, request->bytes); break;
    case PACKET_FENCE: ask(seat, 1, TURN_ASKS_FENCE, 0); break;
    case PACKET_QUIET: ask(seat, 1, TURN_ASKS_QUIET, 0); break;
    }
    seat_send(seat);
    seat->is_kicked = false;
    seat_sync_now_and_then(seat);
}

/* The engine has no room before something has come, or has been sent. */
static void make_room(struct by_packets *packets, uint64_t *seen)
{
    struct seat_state *seat = seat_of(packets);
    if (*seen == 0) {
        *seen = 1;
        seat_want_turn(seat);
        seat_send(seat);
        return;
    }
    *seen = atomic_load(&seat->generation); /* with the lock: until then there was no room */
    fabric_mutex_give(&packets->lock);
    seat_nap(seat, UINT64_MAX, seen);
    fabric_mutex_take(&packets->lock);
}

static void look(struct seat_state *seat, unsigned bytes)
{
    bool is_told = bytes == FABRIC_TOLD;
    bytes = is_told ? COMPLETION_BYTES : bytes;
    fabric_mutex_take(&seat->packets.lock);
    seat_step(seat, TURN_LOOK, bytes == FABRIC_MET ? TURN_MET : (uint16_t)bytes, is_told);
    seat_sync_now_and_then(seat);
    fabric_mutex_give(&seat->packets.lock);
}

static void wait_done(struct by_packets *packets, const struct nic_completion *completion)
{
    struct seat_state *seat = seat_of(packets);
    uint64_t seen = 0;
    while (!nic_completion_is_done(completion)) {
        seat_nap(seat, UINT64_MAX, &seen);
    }
    if (!seat->page->terms.is_in_place) {
        look(seat, COMPLETION_BYTES);
    }
}

/* What the services are told may have an answer, which needs the turn. */
static void services_taken(struct by_packets *packets)
{
    seat_want_turn(seat_of(packets));
}

/* What the core processor has to send is a request to it, and so is an arrival that waits for
 * others; a look at its tables is not. */
static void services_used(struct by_packets *packets)
{
    struct seat_state *seat = seat_of(packets);
    uint64_t arrivals = nic_services_counters(packets->board.services)->arrivals;
    if (nic_services_have_due(packets->board.services) || arrivals != seat->arrivals) {
        seat->arrivals = arrivals;
        seat_step(seat, TURN_SERVICE, 0, 0);
    }
    seat_send(seat);
    seat->is_kicked = false;
    seat_sync_now_and_then(seat);
}

const struct by_packets_carrier seat_carrier = {
    .now_ns = now_ns_of,
    .given = given,
    .make_room = make_room,
    .wait_done = wait_done,
    .services_taken = services_taken,
    .services_used = services_used,
};

/* ---- Lanes ----------------------------------------------------------------------------------- */

static int lane_open(struct fabric_lane *lane)
{
    return by_packets_lane_open(&seat_state.packets, lane);
}

/* A program that looks again and again moves virtual time on by a read each time. */
static bool progress(struct fabric_lane *lane)
{
    struct seat_state *seat = &seat_state;
    (void)lane;
    fabric_mutex_take(&seat->packets.lock);
    bool anything = seat_look_again(seat);
    fabric_mutex_give(&seat->packets.lock);
    return anything;
}

static void nap(struct fabric_lane *lane, uint64_t timeout_ns, uint64_t *seen)
{
    (void)lane;
    seat_nap(&seat_state, timeout_ns, seen);
}

static void looked(struct fabric_lane *lane, unsigned bytes)
{
    (void)lane;
    look(&seat_state, bytes);
}

static void compute(struct fabric_lane *lane, uint64_t ns)
{
    struct seat_state *seat = &seat_state;
    (void)lane;
    fabric_mutex_take(&seat->packets.lock);
    seat_step(seat, TURN_COMPUTE, 0, ns);
    seat_sync_now_and_then(seat);
    fabric_mutex_give(&seat->packets.lock);
}

static uint64_t known_ns(struct fabric_lane *lane)
{
    struct seat_state *seat = &seat_state;
    (void)lane;
    fabric_mutex_take(&seat->packets.lock);
    uint64_t now_ns = seat_time_ns(seat);
    fabric_mutex_give(&seat->packets.lock);
    return now_ns;
}

const struct fabric_ops seat_ops = {
    BY_PACKETS_OPS, .is_virtual = true, .lane_open = lane_open, .progress = progress,
    .nap = nap,     .looked = looked,   .compute = compute,     .known_ns = known_ns,
};
