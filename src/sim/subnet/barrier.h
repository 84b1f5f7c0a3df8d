/* The papers' barrier over a subnet: boards tell their parents, up a tree of eight children each,
 * with 8 bytes; the last word of it comes to board 0, which tells all others: by one packet to a
 * multicast address, of which the switches make the copies, or by one packet to each, down the same
 * tree. Boards take no time of their own; what is measured is the subnet's part. */
#ifndef SIM_SUBNET_BARRIER_H
#define SIM_SUBNET_BARRIER_H

#include "sim/subnet/flow.h"

struct barrier_result {
    uint32_t rounds; /* all boards have passed */
    double mean_ns;
    uint64_t least_ns, most_ns;
    uint64_t packets; /* sent in all */
};

/* Runs so many rounds; all boards' ports are active. `group` is a multicast LID of which all boards
 * are members, or 0: down the tree. False: a packet was lost, and the text says where. */
bool barrier_run(struct subnet *subnet, const struct flow_config *config, uint16_t group,
                 uint32_t rounds, struct barrier_result *result, char text[TOPOLOGY_ERROR_BYTES]);

#endif
