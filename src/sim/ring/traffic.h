/* What is sent over a network: where to, how much, when. Open loop: packets come at their rate
 * whether or not the network can take them, and wait at their NICs. With replies, each packet is a
 * request, in the first virtual network, and its target answers at once, in the second.
 *
 * Nothing here does I/O except reading the trace's file. Deterministic: chance comes from the
 * seed, in whole numbers only, so a seed gives the same packets on every machine. */
#ifndef SIM_RING_TRAFFIC_H
#define SIM_RING_TRAFFIC_H

#include "sim/ring/net.h"

/* UNIFORM: to any other node.
 * NEIGHBOUR: to any of the nodes one link away.
 * TRANSPOSE: with nodes as a square, from (x, y) to (y, x); nodes on the diagonal send nothing.
 * HOT_SPOT: a share of all packets to one node, the rest uniform.
 * ALL_TO_ALL: each node to all others in turn, beginning with the next.
 * MULTICAST: to a group of evenly spread members, by the routers' tables or as one packet to
 *     each member.
 * TRACE: what a file says. */
enum net_pattern {
    NET_UNIFORM,
    NET_NEIGHBOUR,
    NET_TRANSPOSE,
    NET_HOT_SPOT,
    NET_ALL_TO_ALL,
    NET_MULTICAST,
    NET_TRACE,
    NET_PATTERNS,
};
extern const char *const net_pattern_names[NET_PATTERNS];

enum net_multicast { NET_BY_TABLES, NET_BY_UNICAST, NET_MULTICASTS };
extern const char *const net_multicast_names[NET_MULTICASTS];

enum { NET_PATH_BYTES = 256 };

struct net_traffic_config {
    enum net_pattern pattern;
    /* Flits per node and cycle, 0 .. 1; a multicast counts once, and replies do not count. */
    double rate;
    uint32_t flits;       /* of a packet */
    uint32_t long_flits;  /* of a long one */
    double long_share;    /* the share of packets that are long */
    uint32_t reply_flits; /* of the answer to each packet; 0: there are no answers */
    uint32_t networks;    /* virtual networks that packets are spread over; 0: all */
    uint32_t hot_node;
    double hot_share;
    uint32_t members; /* of a group */
    enum net_multicast multicast;
    uint64_t seed;
    /* Lines of "cycle source target flits", in the order of cycles; # begins a comment. */
    char trace[NET_PATH_BYTES];
};

void net_traffic_config_default(struct net_traffic_config *config);

/* One line that names the key and says what makes no sense on that network; or NULL. */
const char *net_traffic_objection(const struct net_traffic_config *config,
                                  const struct net_config *network, char text[NET_ERROR_BYTES]);

/* The mean length of packets that are no replies. */
double net_traffic_flits(const struct net_traffic_config *config);

struct net_traffic;

/* The traffic of a net that has just been opened. NULL: the error says why. */
struct net_traffic *net_traffic_open(const struct net_traffic_config *config,
                                     const struct net_config *network, struct net *net,
                                     char error[NET_ERROR_BYTES]);
void net_traffic_close(struct net_traffic *traffic);

/* Sends the packets of the net's present cycle. Call it once for each cycle. */
void net_traffic_step(struct net_traffic *traffic);

/* Answers a packet that was delivered, if it is a request and its header still says where it came
 * from. */
void net_traffic_delivered(struct net_traffic *traffic, const struct net_delivery *delivery);

/* Whether nothing comes any more but replies: the end of a trace. */
bool net_traffic_is_over(const struct net_traffic *traffic);

struct net_traffic_counters {
    uint64_t packets;        /* given to the net */
    uint64_t packets_wanted; /* deliveries that should follow; one for each member of a multicast */
    uint64_t flits_wanted;
};
void net_traffic_counters(const struct net_traffic *traffic, struct net_traffic_counters *counters);

#endif
