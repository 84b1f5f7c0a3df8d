/* InfiniSWIF: packets to any of 65,534 nodes, once and in order, with a cacheful of state.
 *
 * This is paper 002's packet layer, and it does no I/O: time is an argument, the caller gives the
 * memory, packets come in through swif_receive and go out through swif_transmit, and upcalls that
 * run inside these calls tell the client what happened. One caller at a time.
 *
 * UD sends a packet and forgets it. CD keeps it in an LTEE's retransmission buffer until the
 * target has carried it out. For each peer there is a stub of 32 bytes, for good; contexts (LTEE
 * to send, RTEE to receive, one for each peer and class) live in caches and are dropped when they
 * have nothing under way. Correctness needs the stubs alone; contexts make it fast.
 * doc/infiniswif.md describes the protocol. */
#ifndef SWIF_SWIF_H
#define SWIF_SWIF_H

#include "wire/packet.h"
#include "wire/route.h"

enum { SWIF_WINDOW_MAX = 248 }; /* packets under way in one context; `after` reaches so far */

struct swif_config {
    uint16_t node;
    uint32_t pgid;
    uint32_t incarnation; /* never 0; greater than that of any earlier life of this node */
    /* Every node has one life. Incarnations then have no order: the first one that is heard of is
     * the peer's, others are not believed, and a death is for good. */
    bool lives_once;
    uint32_t node_count; /* peers are 0..node_count-1; at most WIRE_NODES_MAX */

    uint32_t packet_bytes_max; /* the MTU, WIRE_OVERHEAD_BYTES and acknowledgements included */
    /* What a path still carries when it has become narrower than packet_bytes_max, which may happen
     * at any time. 0, or no less than packet_bytes_max: it never does. */
    uint32_t path_bytes_min;
    uint64_t path_again_ns; /* how long after a search for more a narrow path is tried again */
    uint32_t ltee_count;    /* contexts to send by, of each class; a power of two */
    uint32_t rtee_count;    /* contexts to receive by, of each class; a power of two */
    uint32_t ways;          /* of both caches' sets; a power of two */
    uint32_t buffer_count[WIRE_CLASSES]; /* packets held until acknowledged, by class */
    uint32_t reorder_count;              /* packets held until what is before them has come */
    uint32_t queue_max;                  /* packets held for one context; at most SWIF_WINDOW_MAX */
    uint32_t window_max;       /* packets under way to one peer; at most SWIF_WINDOW_MAX */
    uint32_t receive_budget;   /* packets that several senders together may have under way to us */
    uint32_t watch_max;        /* peers watched at a time */
    enum wire_stage stage_max; /* to compare the stages; SELECTIVE_REPEAT */

    uint64_t rto_first_ns; /* before a round trip has been measured */
    uint64_t rto_min_ns;
    uint64_t rto_max_ns;   /* how far time-outs in a row may double, unless the way is as long */
    uint64_t ack_delay_ns; /* how long an acknowledgement may wait for company */
    uint64_t peer_timeout_ns;
    /* How long after that a silent peer is only suspected: somebody who hears all nodes may say
     * meanwhile which one is dead. 0: silence alone decides, and nothing is suspected. */
    uint64_t verdict_ns;
    bool congestion_control; /* false: the window alone limits */
    uint64_t queue_ns;       /* how long packets may stand in queues; a few of them always may */
};

/* Sensible values for a network of that many nodes; node, pgid and incarnation are the
 * caller's to set. */
void swif_config_default(struct swif_config *config, uint32_t node_count);

/* A packet for the layer above. */
struct swif_delivery {
    enum wire_kind kind; /* UD or CD */
    enum wire_class class;
    uint8_t channel;
    uint16_t source;
    uint32_t source_incarnation;
    const unsigned char *body; /* well-formed operations */
    uint32_t bytes;
    bool is_late; /* UD: something that the source sent after it has come before it */
};

/* `deliver` may append replies; the others may not call the swif. */
struct swif_client {
    void *context;
    /* Carries the whole packet out at once. False: there is no room for its replies, and it will
     * come again. The answer is ignored for replies and UD. */
    bool (*deliver)(void *context, uint64_t now_ns, const struct swif_delivery *delivery);
    /* The target has carried out the packet with this cookie. */
    void (*acknowledged)(void *context, uint64_t now_ns, uint16_t peer, uint64_t cookie);
    /* The peer is dead or was restarted. What was appended for it without an acknowledgement may
     * have been carried out or not, and is forgotten. Nothing comes from its old life any more. */
    void (*peer_lost)(void *context, uint64_t now_ns, uint16_t peer);
    /* The peer has been silent for peer_timeout_ns. If it stays so, and nobody tells of its life or
     * death, it is lost after verdict_ns. False: this could not be passed on now, and is said again
     * soon. Not needed where verdict_ns is 0. */
    bool (*peer_suspected)(void *context, uint64_t now_ns, uint16_t peer);
};

/* Authentication. Both get the packet whole; the tag is its last WIRE_TAG_BYTES. */
struct swif_guard {
    void *context;
    void (*seal)(void *context, const struct wire_header *header, unsigned char *packet,
                 uint32_t bytes);
    /* False: the sender is not who the packet says; none of it is believed. May decrypt in
     * place. */
    bool (*open)(void *context, const struct wire_header *header, unsigned char *packet,
                 uint32_t bytes);
};

struct swif_counters {
    uint64_t packets_sent;
    uint64_t packets_received; /* authentic ones */
    uint64_t bytes_sent;
    uint64_t bodies_delivered;
    uint64_t retransmissions;
    uint64_t timeouts;
    uint64_t duplicates;        /* sent again, though the first one had come */
    uint64_t out_of_order;      /* held, or dropped for want of a context or room */
    uint64_t refused_by_client; /* deliver() said no room */
    uint64_t malformed;
    uint64_t not_authentic;
    uint64_t not_ours; /* another group, another node */
    uint64_t stale;    /* of or to an incarnation that is gone, or numbered as one before */
    uint64_t acks_alone;
    uint64_t acks_aboard;                                       /* piggy-backed */
    uint64_t ltee_hits, ltee_misses, ltee_evictions, ltee_none; /* none: all in flight */
    uint64_t rtee_evictions, rtee_none;
    uint64_t climbs, drops; /* of a sender's stage */
    uint64_t transmissions; /* of packets with a body, by CD */
    uint64_t stop_and_wait; /* of these, in that stage */
    uint64_t peers_lost;
    uint64_t paths_narrowed, paths_widened;
    uint64_t pieces_sent, pieces_received, pieces_dropped; /* dropped: for want of room */
};

struct swif;

/* How much memory swif_init needs (aligned to 64), or 0 for a config that makes no sense. The
 * caller gives it all zero, as fresh memory is; parts that are never used are never touched. */
uint64_t swif_bytes(const struct swif_config *config);

/* Guard NULL: packets are not authenticated. Client and guard must outlive the swif. */
struct swif *swif_init(const struct swif_config *config, const struct swif_client *client,
                       const struct swif_guard *guard, uint64_t now_ns, void *memory);

/* Room for `bytes` (a multiple of 8 from 8 to swif_body_bytes_max) in a CD packet, joined
 * to one that waits or in a new one; the caller fills it before its next call.
 * DN_EFULL: no context or buffer free, try again after an acknowledgement.
 * DN_EPEER: the peer is dead. */
int swif_append(struct swif *swif, uint64_t now_ns, const struct wire_route *route, uint32_t bytes,
                unsigned char **room);
uint32_t swif_body_bytes_max(const struct swif *swif);
/* What a body to this peer should not exceed now: a longer one travels in pieces. */
uint32_t swif_body_bytes(const struct swif *swif, uint16_t peer);
/* The packet_bytes_max with which bodies of so many bytes fit. */
uint32_t swif_packet_bytes(uint32_t body_bytes);

/* Whether a whole reply packet can be appended for the peer. */
bool swif_has_reply_room(struct swif *swif, uint64_t now_ns, uint16_t peer);

/* What follows on the channel to the target takes effect after all before it. */
void swif_fence(struct swif *swif, uint16_t target, uint8_t channel);

/* A mark stands for all requests appended so far; it is passed when the targets have
 * carried them out (or are lost). */
uint64_t swif_mark(const struct swif *swif);
bool swif_mark_is_passed(const struct swif *swif, uint64_t mark);

/* A UD packet with a body of so many bytes fits on every path. */
uint32_t swif_datagram_bytes_max(const struct swif *swif);

/* Sends one UD packet, before whatever is appended after it. DN_EFULL: the few buffers are taken;
 * DN_EPEER: the peer is dead. If we never heard of the peer, the packet is lost and a greeting is
 * sent instead. It is also lost if it is longer than the path carries. */
int swif_datagram(struct swif *swif, uint64_t now_ns, uint16_t target, uint8_t channel,
                  const void *body, uint32_t bytes);

/* Makes sure that the peer's death is noticed while nothing is under way to it. Watches
 * are counted, and end when the peer is lost. DN_EFULL: watch_max are watched. DN_EPEER: it is
 * dead. A node that waits for a reply must watch: once its request is carried out, nothing is
 * under way any more. */
int swif_watch(struct swif *swif, uint64_t now_ns, uint16_t peer);
void swif_unwatch(struct swif *swif, uint16_t peer);

/* Somebody else (a launcher) knows of the peer's life: its incarnation, or the death of that one.
 * News of a life that is already over changes nothing. */
void swif_peer_is(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t incarnation);
void swif_peer_died(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t incarnation);

/* The peer lives, though it does not speak: it has not begun to listen. */
void swif_peer_lives(struct swif *swif, uint64_t now_ns, uint16_t peer);

/* Whether nothing is queued or under way to the peer. */
bool swif_peer_is_idle(const struct swif *swif, uint16_t peer);

/* Takes a packet as it came; it may change the bytes. */
void swif_receive(struct swif *swif, uint64_t now_ns, unsigned char *packet, uint32_t bytes);

/* The next packet to send: its bytes (0: none now) and where to. `packet` has room for
 * packet_bytes_max. Due timers run here. */
uint32_t swif_transmit(struct swif *swif, uint64_t now_ns, unsigned char *packet, uint16_t *target);

/* This host itself cannot send the peer packets of that length. What the network says about it must
 * not get here: anybody can forge that. */
void swif_path_refused(struct swif *swif, uint64_t now_ns, uint16_t peer, uint32_t packet_bytes);

/* When swif_transmit should be called again though nothing came; UINT64_MAX: never. */
uint64_t swif_deadline_ns(const struct swif *swif);

const struct swif_counters *swif_counters(const struct swif *swif);

/* What a peer's LTEE for requests knows; false: none is cached. */
struct swif_peer_state {
    enum wire_stage stage;
    uint32_t under_way;
    uint32_t window;     /* packets that congestion control and the receiver allow */
    uint32_t path_bytes; /* the longest packet that the path carries, as far as is known */
    uint64_t srtt_ns;
};
bool swif_peer_state(const struct swif *swif, uint16_t peer, struct swif_peer_state *state);

/* The incarnation last heard of, or 0; and whether the peer counts as dead. */
uint32_t swif_peer_incarnation(const struct swif *swif, uint16_t peer);
bool swif_peer_is_dead(const struct swif *swif, uint16_t peer);

#endif
