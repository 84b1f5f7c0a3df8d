/* The network between the boards, and all that it does wrong: it loses, repeats, delays,
 * swaps and changes packets, cuts nodes off from each other, and lets strangers in.
 *
 * Without faults a packet waits for those before it on the sender's link, takes its time there,
 * and then the plan's latency, so packets of one sender never overtake each other. */
#ifndef SIM_STORM_NETWORK_H
#define SIM_STORM_NETWORK_H

#include "sim/storm/packets.h"
#include "sim/storm/storm.h"
#include "sim/storm/guard.h"

enum {
    STORM_EXTENSION_BYTES = 64, /* at most */
    STORM_RECORDS = 32,         /* packets that were sent, for replays */
    STORM_PARTITIONS = 4,       /* at the same time */
    STORM_REPLAYERS = 4,        /* the same */
};

struct storm_partition {
    uint64_t from, to; /* sets of nodes, a bit each */
    uint64_t until_ns;
};

/* Somebody who sends one packet over and over. */
struct storm_replayer {
    struct sim_packet packet;
    uint64_t gap_ns; /* until the next time; grows as the pauses of a sender do */
    uint64_t until_ns;
};

struct storm_network {
    struct sim_slots packets;                 /* of struct sim_packet, under way */
    struct sim_packet records[STORM_RECORDS]; /* some packets that were sent, a ring */
    uint32_t record_count;                    /* how many were recorded in this run */
    uint64_t in_burst[STORM_NODES_MAX];       /* by source, a bit for each target */
    struct storm_partition partitions[STORM_PARTITIONS];
    uint32_t width_bytes[STORM_NODES_MAX][STORM_NODES_MAX]; /* from, to; 0: any packet passes */
    struct storm_replayer replayers[STORM_REPLAYERS];
    struct storm_guard guard;
};

struct storm_network *storm_network_new(void);
void storm_network_free(struct storm_network *network);

/* An empty network for the world's plan. */
void storm_network_begin(struct storm_world *world);

/* A board's packet goes out. */
void storm_network_send(struct storm_world *world, struct storm_node *node, uint16_t target,
                        const unsigned char *packet, uint32_t bytes);

/* Lets nothing pass from one set of nodes to the other until then. */
void storm_network_cut(struct storm_world *world, uint64_t from, uint64_t to, uint64_t until_ns);

/* The faults are over. */
void storm_network_heal(struct storm_world *world);

/* The node has begun a new life: some packets of the old one arrive only now. */
void storm_network_haunt(struct storm_world *world, const struct storm_node *node);

/* It is time for the replayer's packet to come again. He goes on when the other faults are over,
 * until the programs have done all that they wanted. */
void storm_network_repeat(struct storm_world *world, uint32_t replayer);

/* Sends one packet that no node of the group has sent, or not in this form, or not to there. */
void storm_network_forge(struct storm_world *world);

#endif
