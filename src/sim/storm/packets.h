/* Packets under way in the storm and its studies. */
#ifndef SIM_STORM_PACKETS_H
#define SIM_STORM_PACKETS_H

#include "sim/slots.h"

enum { SIM_PACKET_BYTES_MAX = 2048 };

struct sim_packet {
    uint64_t free; /* used by the slots while this one is free */
    uint16_t source, target; /* the true nodes, whatever its header says */
    uint32_t bytes;
    unsigned char data[SIM_PACKET_BYTES_MAX];
};

struct sim_packets {
    struct sim_slots slots;
};

static inline void sim_packets_init(struct sim_packets *packets)
{
    sim_slots_init(&packets->slots, sizeof(struct sim_packet));
}

static inline void sim_packets_free(struct sim_packets *packets)
{
    sim_slots_free(&packets->slots);
}

static inline void sim_packets_clear(struct sim_packets *packets)
{
    sim_slots_clear(&packets->slots);
}

static inline struct sim_packet *sim_packets_take(struct sim_packets *packets, uint32_t *slot)
{
    return sim_slots_take(&packets->slots, slot);
}

static inline void sim_packets_give(struct sim_packets *packets, uint32_t slot)
{
    sim_slots_give(&packets->slots, slot);
}

static inline struct sim_packet *sim_packets_at(const struct sim_packets *packets, uint32_t slot)
{
    return sim_slots_at(&packets->slots, slot);
}

#endif
