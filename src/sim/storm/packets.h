/* Packets under way in the storm and its studies. */
#ifndef SIM_STORM_PACKETS_H
#define SIM_STORM_PACKETS_H

#include "sim/slots.h"

enum { SIM_PACKET_BYTES_MAX = 2048 };

struct sim_packet {
    uint64_t free;           /* used by the slots while this one is free */
    uint16_t source, target; /* the true nodes, whatever its header says */
    uint32_t bytes;
    unsigned char data[SIM_PACKET_BYTES_MAX];
};

#endif
