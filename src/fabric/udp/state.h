/* The `udp` fabric: a board (Martini and InfiniSWIF) per process on one UDP socket.
 *
 * The board is driven by whoever waits; when nobody does, by a helper thread that sleeps in
 * the kernel until a packet comes or a timer is due. One lock guards it.
 *
 *     udp.c     joining, starting, stopping, reports
 *     drive.c   packets in and out; who drives, and when
 *     lives.c   who is there, from the launcher's words and from silence
 *     lane.c    when packets of lanes go out (udp_ops, udp_carrier)
 */
#ifndef FABRIC_UDP_STATE_H
#define FABRIC_UDP_STATE_H

#include <pthread.h>

#include "fabric/by_packets.h"
#include "fabric/udp/guard.h"
#include "fabric/udp/socket.h"
#include "fabric/udp/roster.h"

enum { UDP_BURST_BUFFER_BYTES = 2 * 65536 };

/* What is known of a peer besides its life in the view. */
struct udp_peer {
    enum dn_life told;         /* by the launcher, when lives were last read */
    uint64_t parting_until_ns; /* it has left, and something is under way to it; 0: no */
};

struct udp_state {
    /* The board, and the lock that guards it and everything below that is not atomic. */
    struct by_packets packets;

    bool running;
    struct udp_roster_file file; /* from joining to stopping */
    const struct udp_roster *roster;
    const struct group_view *view;
    const struct group_view *control;
    void (*tell_launcher)(void);
    uint32_t incarnation; /* of this process, by chance; a rank lives once in a group */
    struct udp_socket socket;
    struct udp_guard *guard;
    void *space; /* the board's memory */
    uint64_t space_bytes;
    bool core_is_free; /* a core for each node: waiters spin first */

    uint32_t unsent; /* operations given since the last transmission */
    uint64_t unsent_bytes;
    uint64_t unsent_since_ns; /* the first of them, or a look at the clock after it */
    bool owes;                /* packets came since the last transmission */
    bool looked;              /* at the socket since the last call on the services */
    uint32_t looks;           /* at the socket, by callers that wait */

    /* Packets that stand one behind the other to go out by one call. */
    unsigned char *burst;
    uint32_t burst_start, burst_end;
    uint32_t burst_packet_bytes;
    uint32_t burst_packets;
    uint16_t burst_target;
    bool burst_waits; /* the kernel had no room for it */

    unsigned char *received; /* UDP_BURST_BYTES_MAX */
    bool may_connect;        /* there is one peer, and where it speaks from is not known yet */
    uint64_t bytes_received;

    uint32_t lives_seen; /* the control group's change_count, when lives were last read */
    uint32_t starting_count;
    uint32_t parting_count;
    struct udp_peer *peers; /* one for each node */
    uint64_t now_and_then_ns;

    /* Raised whenever something came in: a waiter about to sleep looks again. */
    _Atomic uint64_t generation;
    _Atomic uint64_t driven_ns; /* when a caller last drove */
    _Atomic uint32_t napping;   /* callers that sleep on the socket */

    pthread_t helper;
    _Atomic uint32_t stop; /* the helper sleeps on it when it stays off the socket */
};

extern struct udp_state udp_state;
extern const struct fabric_ops udp_ops;
extern const struct by_packets_carrier udp_carrier;

/* ---- drive.c ---------------------------------------------------------------------- */

/* With the lock held. Takes in what has come; whether anything had. */
bool udp_receive(struct udp_state *udp);
/* With the lock held. Sends all that may go out now. */
void udp_transmit(struct udp_state *udp, uint64_t now_ns);

/* Without the lock: until the completion is done. Ends, because lost peers complete all that
 * waits for them. */
void udp_wait_done(struct udp_state *udp, const struct nic_completion *completion);

/* Without the lock. One look at the socket, if nobody else is at it. */
bool udp_progress(struct udp_state *udp); /* whether anything came */
void udp_nap(struct udp_state *udp, uint64_t timeout_ns, uint64_t *seen);

void *udp_help(void *context);

/* With the lock held: what the helper does each time. Gives whether anything came, and the time. */
bool udp_serve(struct udp_state *udp, uint64_t *now_ns);

/* ---- lives.c ---------------------------------------------------------------------- */

/* With the lock held: brings what the launcher says into this process's view. */
void udp_read_lives(struct udp_state *udp, uint64_t now_ns);

static inline bool udp_lives_have_changed(const struct udp_state *udp)
{
    return atomic_load_explicit(&udp->control->group->change_count, memory_order_acquire) !=
           udp->lives_seen;
}

/* With the lock held: tells the board which process the rank is, if that one has told its host. */
void udp_meet(struct udp_state *udp, uint64_t now_ns, uint32_t rank);

/* With the lock held: peers that have left are given up once nothing is under way to them. */
void udp_end_partings(struct udp_state *udp, uint64_t now_ns);

/* With the lock held, now and then. */
void udp_vouch_for_starting(struct udp_state *udp, uint64_t now_ns);

/* The board has given a peer up; its listener. */
void udp_peer_lost(void *context, uint64_t now_ns, uint16_t peer);
bool udp_peer_suspected(void *context, uint64_t now_ns, uint16_t peer);

/* ---- udp.c ------------------------------------------------------------------------- */

/* With the lock held: what has to be done several times a second. */
void udp_now_and_then(struct udp_state *udp, uint64_t now_ns);

#endif
