/* Packets under way: slots that keep their place in memory, taken and given back without
 * allocation once there are as many as a run needs. */
#ifndef SIM_PACKETS_H
#define SIM_PACKETS_H

#include "base/base.h"

enum { SIM_PACKET_BYTES_MAX = 2048 };

struct sim_packet {
    uint16_t source, target; /* nodes, whatever its header says */
    uint32_t bytes;
    uint32_t next_free;
    unsigned char data[SIM_PACKET_BYTES_MAX];
};

struct sim_packets {
    struct sim_packet **blocks;
    uint32_t block_count;
    uint32_t first_free; /* a slot, or UINT32_MAX */
    uint32_t taken;
};

void sim_packets_init(struct sim_packets *packets);
void sim_packets_free(struct sim_packets *packets);

/* Gives all slots back. From then on they are taken in the same order as ever. */
void sim_packets_clear(struct sim_packets *packets);

struct sim_packet *sim_packets_take(struct sim_packets *packets, uint32_t *slot);
void sim_packets_give(struct sim_packets *packets, uint32_t slot);
struct sim_packet *sim_packets_at(const struct sim_packets *packets, uint32_t slot);

#endif
