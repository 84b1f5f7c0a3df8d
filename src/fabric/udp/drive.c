/* Packets in, packets out, and who does it.
 *
 * Whoever waits drives the board: it looks at the socket between two looks at what it waits
 * for, and sleeps on the socket when that takes long. Any other call drives when it sends.
 * The helper sleeps on the socket only while nobody else has been there for a while, because
 * every datagram would wake it beside the waiter; it comes back HELPER_AWAY_NS after the last
 * caller, so that a program that computes serves its peers. Every sleep is timed. */
#define _GNU_SOURCE
#include <poll.h>

#include "fabric/clock.h"
#include "fabric/futex.h"
#include "fabric/ladder.h"
#include "fabric/udp/state.h"

#define HELPER_AWAY_NS UINT64_C(250000)
/* How long the helper sleeps when nothing is under way. Packets wake it; a death may be noticed
 * this much later. */
#define HELPER_IDLE_NS UINT64_C(10000000)
#define RETRY_NS UINT64_C(50000) /* after the kernel had no room for a burst */

enum { BURSTS_AT_A_TIME = 16, SHORT_BYTES = 1024, LOOKS_PER_CLOCK = 16 };

/* ---- In ------------------------------------------------------------------------------ */

/* Takes in the packets of one look at the socket. */
static void take_in(struct udp_state *udp, uint32_t bytes)
{
    uint64_t now_ns = fabric_now_ns();
    udp->bytes_received += bytes;
    for (uint32_t at = 0; at < bytes;) {
        uint32_t packet_bytes = wire_packet_bytes(udp->received + at, bytes - at);
        board_receive(&udp->packets.board, now_ns, udp->received + at, packet_bytes);
        at += packet_bytes;
    }
}

/* Connects the socket to a single peer, once an authentic packet has come from the very address
 * that the roster gives: then no relay and no second network card is between. The packet that
 * proves it must be the one that came from there: anybody can forge an address, and a socket that
 * is connected to the wrong one hears nothing more. */
static uint32_t receive_and_connect(struct udp_state *udp)
{
    union udp_address from;
    const uint64_t *authentic = &swif_counters(udp->packets.board.swif)->packets_received;
    uint64_t before = *authentic;
    uint32_t bytes = udp_socket_receive_from(&udp->socket, udp->received, &from);
    if (bytes != 0) {
        take_in(udp, bytes);
    }
    if (*authentic != before) {
        const union udp_address *peer = udp_roster_address(udp->roster, 1 - udp->view->rank);
        udp->may_connect = false;
        if (udp_address_is_same(&from, peer)) {
            udp_socket_connect(&udp->socket, peer);
        }
    }
    return bytes;
}

/* A look at the socket; gives what came to the board. The clock is read only when something came,
 * and not for the many looks that find nothing. */
static bool receive_burst(struct udp_state *udp, uint32_t *bytes)
{
    if (UNLIKELY(udp->may_connect)) {
        *bytes = receive_and_connect(udp);
    } else {
        *bytes = udp_socket_receive(&udp->socket, udp->received);
        if (UNLIKELY(*bytes != 0)) {
            take_in(udp, *bytes);
        }
    }
    if (LIKELY(*bytes == 0)) {
        return false;
    }
    udp->owes = true;
    /* Release: pairs with the acquire in udp_nap; what came is in memory. */
    atomic_fetch_add_explicit(&udp->generation, 1, memory_order_release);
    return true;
}

bool udp_receive(struct udp_state *udp)
{
    bool anything = false;
    uint32_t bytes;
    udp->looked = true;
    for (int burst = 0; burst < BURSTS_AT_A_TIME && receive_burst(udp, &bytes); burst++) {
        anything = true;
        if (bytes < SHORT_BYTES) {
            break; /* it may be what somebody waits for */
        }
    }
    return anything;
}

/* ---- Out ----------------------------------------------------------------------------- */

/* False: the kernel has no room. */
static bool send_burst(struct udp_state *udp)
{
    if (udp->burst_start == udp->burst_end) {
        return true;
    }
    uint32_t done_bytes;
    int error = udp_socket_send(&udp->socket, udp_roster_address(udp->roster, udp->burst_target),
                                udp->burst + udp->burst_start, udp->burst_end - udp->burst_start,
                                udp->burst_packet_bytes, &done_bytes);
    udp->burst_start += done_bytes;
    udp->burst_waits = error == DN_EBUSY;
    if (udp->burst_waits) {
        return false;
    }
    if (UNLIKELY(error)) {
        /* What does not fit is lost like other packets; InfiniSWIF sends it in pieces. */
        swif_path_refused(udp->packets.board.swif, fabric_now_ns(), udp->burst_target,
                          udp->burst_packet_bytes);
    }
    udp->burst_start = udp->burst_end;
    return true;
}

/* Whether a packet can go with those before it. */
static bool joins(const struct udp_state *udp, uint16_t target, uint32_t bytes)
{
    return udp->burst_target == target && bytes <= udp->burst_packet_bytes &&
           udp->burst_packets < UDP_BURST_PACKETS_MAX &&
           /* Only the last one may be shorter. */
           (udp->burst_end - udp->burst_start) % udp->burst_packet_bytes == 0 &&
           udp->burst_end - udp->burst_start + bytes <= UDP_BURST_BYTES_MAX;
}

void udp_transmit(struct udp_state *udp, uint64_t now_ns)
{
    udp->unsent = 0;
    udp->owes = false;
    if (udp->burst_waits && !send_burst(udp)) {
        return;
    }
    uint32_t room = udp->roster->packet_bytes_max;
    for (;;) {
        if (udp->burst_start == udp->burst_end) {
            udp->burst_start = udp->burst_end = 0;
        }
        if (udp->burst_end + room > UDP_BURST_BUFFER_BYTES) {
            if (!send_burst(udp)) {
                return;
            }
            udp->burst_start = udp->burst_end = 0;
        }
        uint16_t target;
        uint32_t bytes = board_transmit(&udp->packets.board, now_ns, udp->burst + udp->burst_end,
                                        &target);
        if (bytes == 0) {
            break;
        }
        bool alone = udp->burst_start == udp->burst_end;
        if (!alone && !joins(udp, target, bytes)) {
            bool sent = send_burst(udp);
            if (!sent) {
                /* Drop the new packet, as if it were lost on the way; the old ones wait. */
                return;
            }
            alone = true;
        }
        if (alone) {
            udp->burst_target = target;
            udp->burst_packet_bytes = bytes;
            udp->burst_packets = 0;
        }
        udp->burst_packets++;
        udp->burst_end += bytes;
    }
    (void)send_burst(udp);
}

/* ---- Driving ------------------------------------------------------------------------- */

/* With the lock held. What is owed goes out before the next look at the socket. What came causes no
 * packet until the caller has looked at it: an acknowledgement then rides with the caller's
 * answer. */
static bool drive(struct udp_state *udp, uint64_t now_ns)
{
    if (udp->unsent != 0 || udp->owes || udp->burst_waits ||
        board_deadline_ns(&udp->packets.board) <= now_ns) {
        udp_transmit(udp, now_ns);
    }
    bool anything = udp_receive(udp);
    if (UNLIKELY(udp_lives_have_changed(udp))) {
        udp_read_lives(udp, now_ns);
        anything = true;
    }
    if (UNLIKELY(udp->parting_count != 0)) {
        udp_end_partings(udp, now_ns);
    }
    return anything;
}

/* Reads the clock only with every LOOKS_PER_CLOCK-th of many looks in a row. */
bool udp_progress(struct udp_state *udp)
{
    if (!fabric_mutex_try(&udp->packets.lock)) {
        return false;
    }
    bool anything;
    if (udp->unsent != 0 || udp->owes || ++udp->looks % LOOKS_PER_CLOCK == 0) {
        uint64_t now_ns = fabric_now_ns();
        atomic_store_explicit(&udp->driven_ns, now_ns, memory_order_relaxed);
        anything = drive(udp, now_ns);
    } else {
        anything = udp_receive(udp);
    }
    fabric_mutex_give(&udp->packets.lock);
    return anything;
}

/* Sleeps on the socket, no longer than until the board has something to do. */
static void sleep_on_socket(const struct udp_state *udp, uint64_t timeout_ns, bool wants_room)
{
    struct pollfd poll_fd = {.fd = udp->socket.fd,
                             .events = (short)(wants_room ? POLLIN | POLLOUT : POLLIN)};
    struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                               .tv_nsec = (long)(timeout_ns % 1000000000u)};
    /* Not by the C library, which makes it a cancellation point (base/uncancelled.h). */
    (void)syscall(SYS_ppoll, &poll_fd, 1, &timeout, NULL, 0);
}

static uint64_t until(uint64_t deadline_ns, uint64_t now_ns, uint64_t longest_ns)
{
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    return left_ns < longest_ns ? left_ns : longest_ns;
}

void udp_nap(struct udp_state *udp, uint64_t timeout_ns, uint64_t *seen)
{
    atomic_fetch_add_explicit(&udp->napping, 1, memory_order_relaxed);
    fabric_mutex_take(&udp->packets.lock);
    /* The clock is read with the lock held: for the board time does not go back. */
    uint64_t now_ns = fabric_now_ns();
    atomic_store_explicit(&udp->driven_ns, now_ns, memory_order_relaxed);
    bool anything = drive(udp, now_ns);
    if (!anything && udp->owes) {
        udp_transmit(udp, now_ns);
    }
    udp_now_and_then(udp, now_ns);
    uint64_t deadline_ns = board_deadline_ns(&udp->packets.board);
    bool wants_room = udp->burst_waits;
    /* Acquire: pairs with the release in receive_burst of another thread. */
    uint64_t generation = atomic_load_explicit(&udp->generation, memory_order_acquire);
    anything = anything || generation != *seen;
    *seen = generation;
    fabric_mutex_give(&udp->packets.lock);
    if (!anything) {
        uint64_t longest_ns = wants_room ? RETRY_NS : FABRIC_NAP_LONGEST_NS;
        longest_ns = timeout_ns < longest_ns ? timeout_ns : longest_ns;
        sleep_on_socket(udp, until(deadline_ns, now_ns, longest_ns), wants_room);
    }
    atomic_fetch_sub_explicit(&udp->napping, 1, memory_order_relaxed);
}

void udp_wait_done(struct udp_state *udp, const struct nic_completion *completion)
{
    struct fabric_ladder ladder = {.spins = udp->core_is_free};
    enum fabric_rung rung = FABRIC_SPIN;
    uint64_t seen = 0;
    while (!nic_completion_is_done(completion)) {
        if (udp_progress(udp)) {
            fabric_ladder_begin(&ladder);
            rung = FABRIC_SPIN;
            continue;
        }
        /* A yield may have lasted many turns of others. */
        uint64_t now_ns = rung == FABRIC_YIELD
                              ? fabric_now_ns()
                              : atomic_load_explicit(&udp->driven_ns, memory_order_relaxed);
        rung = fabric_ladder_rung(&ladder, now_ns);
        if (rung == FABRIC_NAP) {
            udp_nap(udp, fabric_ladder_nap_ns(&ladder, FABRIC_NAP_LONGEST_NS), &seen);
        } else if (rung == FABRIC_YIELD) {
            (void)sched_yield();
        }
    }
}

/* ---- The helper ------------------------------------------------------------------------ */

/* How long the helper stays away from the socket; 0: it is its turn. */
static uint64_t away_ns(const struct udp_state *udp, uint64_t now_ns)
{
    if (atomic_load_explicit(&udp->napping, memory_order_relaxed) != 0) {
        return FABRIC_NAP_LONGEST_NS;
    }
    uint64_t driven_ns = atomic_load_explicit(&udp->driven_ns, memory_order_relaxed);
    return until(driven_ns + HELPER_AWAY_NS, now_ns, HELPER_AWAY_NS);
}

bool udp_serve(struct udp_state *udp, uint64_t *now_ns)
{
    *now_ns = fabric_now_ns(); /* with the lock held: for the board time does not go back */
    bool anything = drive(udp, *now_ns);
    if (udp->owes) {
        /* What came was stamped with a later time than `now_ns`. */
        udp_transmit(udp, fabric_now_ns());
    }
    udp_now_and_then(udp, *now_ns);
    return anything;
}

void *udp_help(void *context)
{
    struct udp_state *udp = context;
    while (atomic_load_explicit(&udp->stop, memory_order_acquire) == 0) {
        uint64_t now_ns = fabric_now_ns();
        uint64_t nap_ns = away_ns(udp, now_ns);
        if (nap_ns != 0) {
            futex_wait(&udp->stop, 0, nap_ns);
            continue;
        }
        fabric_mutex_take(&udp->packets.lock);
        bool anything = udp_serve(udp, &now_ns);
        uint64_t deadline_ns = board_deadline_ns(&udp->packets.board);
        bool wants_room = udp->burst_waits;
        fabric_mutex_give(&udp->packets.lock);
        if (!anything) {
            sleep_on_socket(udp, until(deadline_ns, now_ns, wants_room ? RETRY_NS : HELPER_IDLE_NS),
                            wants_room);
        }
    }
    return NULL;
}
