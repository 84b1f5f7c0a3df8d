/* Networks of routers, flit by flit: paper 003's ring, and meshes and tori of the same router.
 *
 * A router has a port to its NIC and a port for each neighbour. Each port has virtual channels, in
 * virtual networks, each channel with a buffer of flits. Switching is wormhole: the head of a
 * packet takes an output channel and keeps it until the tail has passed. Between routers a credit
 * stands for each free place of the next buffer. Everything runs on one clock; a cycle moves at
 * most one flit over each link.
 *
 * Between a NIC and its router a packet is a sequence of lines of 8 bytes (wire/line.h), which pass
 * the port at the rate of the SWIF mode; the router makes flits of them and lines of flits. At both
 * ends lines come into slack buffers, by whose fill the other end stops and goes on. The port has
 * as many channels as the others; packets of a virtual network that leave by different ports use
 * different channels, as far as there are enough, and do not wait for each other.
 *
 * Packets go the shorter way; where both are as long, even places send to the right (up) and odd
 * ones to the left (down). An output gives its channels to packets in the order in which they
 * asked, and lets the channels that can send take turns.
 *
 * Nothing here does I/O or reads a clock. Deterministic: time is the number of cycles, chance comes
 * from the seed. */
#ifndef SIM_RING_NET_H
#define SIM_RING_NET_H

#include "wire/ring_header.h"

enum net_shape { NET_RING, NET_MESH, NET_TORUS, NET_SHAPES };

/* How a packet finds its way, and why packets cannot wait for each other in a circle.
 * DATELINE: the shorter way round (in dimension order); packets that pass one point of each ring
 *     climb there from the first to the second channel of their virtual network.
 * STRUCTURED: as in the RHiNET-2 switch: a channel higher at each hop, diameter + 1 of them.
 * BROKEN: the shorter way on one channel, no dateline: for the deadlock detector.
 * DIMENSION: dimension order on a mesh, which has no rings. */
enum net_routing { NET_DATELINE, NET_STRUCTURED, NET_BROKEN, NET_DIMENSION, NET_ROUTINGS };

/* The SWIF modes of the port between NIC and router, as paper 003's Table 2 has them. SW2(B) and
 * OIP are the board's; its FPGA could not receive SW2(A), which is here to compare with. */
enum net_swif { NET_SW2A, NET_SW2B, NET_OIP, NET_SWIFS };

enum {
    NET_NODES_MAX = WIRE_RING_ROUTERS_MAX,
    NET_VCS_MAX = 64,
    NET_ERROR_BYTES = 320,
    NET_GROUPS_MAX = 64
};

struct net_config {
    enum net_shape shape;
    enum net_routing routing;
    uint32_t width, height; /* nodes; a ring has height 1 */
    uint32_t virtual_networks;
    uint32_t vcs;          /* of a port, all virtual networks together; the ring board has 4 */
    uint32_t buffer_flits; /* of one channel of a port between routers */
    /* Of the buffer of each of the port's channels, at either end; 0: what the port's round trip
     * needs (net_slack_flits). */
    uint32_t slack_flits;
    uint32_t leave_flits; /* of the buffer of each channel in which flits wait for the port */
    /* For this long a packet at its NIC lets packets that are on their way go first; 0: it does
     * not, the first to ask goes first. Without patience a ring's throughput breaks down as soon as
     * the ring is full: doc/ring.md. */
    uint32_t patience_cycles;
    uint32_t dateline; /* the router at which packets climb (its index in each ring) */

    /* The delays that a flit meets, in cycles. The first two may be 0, the others are at least
     * 1. */
    uint32_t route_cycles;  /* a head in a router: look at the header, choose the output */
    uint32_t switch_cycles; /* any flit, from an input buffer to an output */
    uint32_t link_cycles;   /* serialiser, cable, elastic buffer */
    uint32_t credit_cycles; /* a credit back to the router before */
    uint32_t nic_cycles;    /* between NIC and router, either way */

    uint32_t flit_bytes;
    uint64_t clock_khz; /* 62,500: paper 003 */

    /* The port between NIC and router, each way. */
    enum net_swif swif;
    uint32_t port_frame_bits; /* a line of 80 bits is one frame or several */
    uint64_t port_frame_khz;
    double port_bit_error_rate; /* 0 .. 1e-3 */
    uint32_t port_take_cycles; /* in which a NIC takes a line out of its slack buffer; 0: at once */

    /* Errors of the links between routers. */
    double bit_error_rate;  /* 0 .. 1e-4 */
    uint32_t frame_flits;   /* this many flits make one transfer with a CRC-32 and a number */
    bool literal_rules;     /* the paper's retransmission as written, which livelocks */
    uint32_t resend_cycles; /* the timer of the repaired rules */
    uint64_t seed;
};

/* The ring board's values for a ring of that many nodes. */
void net_config_default(struct net_config *config, uint32_t nodes);

/* Sets the port's mode, with the frames of Table 2. */
void net_config_swif(struct net_config *config, enum net_swif swif);

/* Cycles that a line takes over the port; 0: a flit passes it in one cycle. */
uint32_t net_line_cycles(const struct net_config *config);
/* Cycles that the lines of a packet of that many bytes keep the port busy, one way. */
uint64_t net_port_cycles(const struct net_config *config, uint32_t bytes);
/* The bytes of packets that the port's frames would carry in a second, and those that it carries:
 * a line takes whole cycles, and a flit at least one. */
double net_port_asked_mb_per_s(const struct net_config *config);
double net_port_mb_per_s(const struct net_config *config);
/* Cycles of a link that a frame takes besides its flits, for its number and CRC. */
uint32_t net_frame_overhead(const struct net_config *config);
/* The slack buffer that the port's round trip needs; doc/ring.md derives it. */
uint32_t net_slack_flits(const struct net_config *config);

/* One line, in `text`, that names the key and says what makes no sense; or NULL. */
const char *net_config_objection(const struct net_config *config, char text[NET_ERROR_BYTES]);

/* Writes such a line; returns it. */
const char *net_object(char text[NET_ERROR_BYTES], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same for multicast: rings only. */
const char *net_multicast_objection(const struct net_config *config);

/* Ports of a router; port 0 leads to its NIC, the others to its neighbours. */
uint32_t net_ports(const struct net_config *config);
/* The node behind a port, or UINT32_MAX at the edge of a mesh. */
uint32_t net_neighbour(const struct net_config *config, uint32_t node, uint32_t port);
/* Routers on the way between two nodes, their own included. */
uint32_t net_hops(const struct net_config *config, uint32_t source, uint32_t target);

struct net;

/* A whole packet has come to a node's NIC. The tag is the sender's. A multicast is told once for
 * each member. */
struct net_delivery {
    uint64_t tag;
    uint32_t source, target;
    uint32_t virtual_network;
    uint32_t flits;
    unsigned char header[WIRE_LINE_DATA_BYTES]; /* its first line's data, as the NIC gets it */
    uint32_t hops;           /* routers on its way, its own and the target's included */
    uint64_t injected_cycle; /* when it was given to the net */
    uint64_t entered_cycle;  /* when its head left the NIC */
};

struct net_user {
    void *context;
    void (*delivered)(void *context, uint64_t cycle, const struct net_delivery *delivery);
    /* May be NULL: a packet has ended, and that many of its deliveries have not been made, since a
     * line of it could not be read or its header was wrong. The target is not known. */
    void (*lost)(void *context, uint64_t cycle, const struct net_delivery *packet, uint32_t count);
    /* May be NULL: the first line of a packet begins to leave its NIC. */
    void (*entered)(void *context, uint32_t source, uint64_t tag);
    /* For traces, may be NULL: a packet has held the output channel (router, port, channel) from
     * its head to its tail. */
    void (*held)(void *context, uint32_t router, uint32_t port, uint32_t channel,
                 uint64_t from_cycle, uint64_t to_cycle, uint64_t tag);
};

/* NULL: the config makes no sense (the error says what), or no memory. */
struct net *net_open(const struct net_config *config, const struct net_user *user,
                     char error[NET_ERROR_BYTES]);
void net_close(struct net *net);

/* Queues a packet of that many flits (at least 1; the header is in the first) at its source's
 * NIC. The queues are unlimited, one for each channel of the NIC's port. A source may be its own
 * target. */
void net_send(struct net *net, uint32_t source, uint32_t target, uint32_t virtual_network,
              uint32_t flits, uint64_t tag);
/* The same for a packet of that many bytes, at least 1, which need not fill its last flit. */
void net_send_bytes(struct net *net, uint32_t source, uint32_t target, uint32_t virtual_network,
                    uint32_t bytes, uint64_t tag);
/* The same to all members of a group: the 2-bit tables in the routers (deliver, pass on) lead it
 * once round, to the right, until it is back at its source (which gets it last, if it is a member).
 * Only if net_multicast_objection has none, and the group has been set. A group may be set only
 * while none of its packets is under way. */
void net_group_set(struct net *net, uint32_t group, const uint32_t *members, uint32_t count);
void net_send_group(struct net *net, uint32_t source, uint32_t group, uint32_t virtual_network,
                    uint32_t flits, uint64_t tag);
void net_send_group_bytes(struct net *net, uint32_t source, uint32_t group,
                          uint32_t virtual_network, uint32_t bytes, uint64_t tag);

/* The virtual network of replies: the second, if there is one. */
static inline uint32_t net_replies(const struct net_config *config)
{
    return config->virtual_networks > 1 ? 1 : 0;
}
/* Answers a packet that was delivered to the source, by the way back in the header that came with
 * it. False: wrong bits have left no way back in it, and nothing is sent. */
bool net_reply(struct net *net, uint32_t source, const unsigned char request[WIRE_LINE_DATA_BYTES],
               uint32_t bytes, uint64_t tag);

/* One cycle. */
void net_step(struct net *net);
uint64_t net_cycle(const struct net *net);
/* Whether nothing is in the net or waits at a NIC. */
bool net_is_empty(const struct net *net);
/* How many flits wait at a node's NIC. */
uint64_t net_waiting(const struct net *net, uint32_t node);
/* Whether a packet with that tag waits at a node's NIC behind another one. */
bool net_is_behind(const struct net *net, uint32_t node, uint64_t tag);

/* A link between two routers (in one direction) dies, or comes back. What was on it is lost, and is
 * sent again when the link is back. */
void net_link_set(struct net *net, uint32_t from, uint32_t to, bool alive);

/* ---- What happened ---------------------------------------------------------------------- */

struct net_counters {
    uint64_t cycles;
    uint64_t flit_hops;                       /* flits that went through a router's switch */
    uint64_t packets_sent, packets_delivered; /* to a group: sent once, delivered to each */
    uint64_t flits_delivered;
    uint64_t packets_lost;
    uint64_t frames_damaged, frames_resent;
    uint64_t frames_wrong; /* whose CRC fits all the same; they are taken as they were sent */
    /* Between router and NIC: corrected by ECC; damaged beyond that, which loses the packet; and
     * with so many wrong bits that nobody noticed. */
    uint64_t lines_corrected, lines_damaged, lines_wrong;
};
void net_counters(const struct net *net, struct net_counters *counters);

/* Links, by number: where from, by which port, where to, and flits carried since the net was
 * opened. */
struct net_link_load {
    uint32_t from, port, to;
    uint64_t flits;
};
uint32_t net_link_count(const struct net *net);
void net_link_load(const struct net *net, uint32_t link, struct net_link_load *load);

/* Whether packets now wait for each other in a circle (found by search, not guessed from time). If
 * so the text names the circle: "router 3 right VC 0 (packet 17, 3 -> 9) waits for router 4 right
 * VC 0 ...". */
bool net_is_deadlocked(const struct net *net, char *text, size_t bytes);

/* The cycles from net_send of a lone packet into an empty net until its delivery, as the sum of
 * the delays above. The simulation must give the same, to the cycle. For a way over L links it is
 *
 *     2 nic_cycles + (L + 1) (route_cycles + switch_cycles) + L link_cycles
 *         + net_port_cycles - 1 + (cycles that the last flit's lines take out of the router) - 1
 *
 * when the packet need not wait for itself: a buffer holds it whole, or at least what a link
 * carries while a credit goes round (switch + link + route + credit cycles), and the slack
 * buffer does not say stop. Otherwise each flit also waits for its credit, and its NIC for go; and
 * where links carry frames, flits wait for the end of theirs. The function (lone.c) computes that,
 * for links that damage nothing and NICs that take lines at once. */
uint64_t net_zero_load_cycles(const struct net_config *config, uint32_t source, uint32_t target,
                              uint32_t flits);
/* The same for a packet of that many bytes. */
uint64_t net_zero_load_bytes(const struct net_config *config, uint32_t source, uint32_t target,
                             uint32_t bytes);

/* Names for config files and output. */
extern const char *const net_shape_names[NET_SHAPES];
extern const char *const net_routing_names[NET_ROUTINGS];
extern const char *const net_swif_names[NET_SWIFS];

#endif
