/* Routing headers that came with requests, by target and source: the way back is in them, and a
 * reply takes it. Only the last one of each pair is kept. */
#ifndef SIM_MODEL_WAYS_BACK_H
#define SIM_MODEL_WAYS_BACK_H

#include "wire/ring_header.h"

struct sim_way_back {
    uint32_t key; /* target * nodes + source + 1; 0: none */
    unsigned char header[WIRE_LINE_DATA_BYTES];
};

/* All zero but for node_count: there is none. */
struct sim_ways_back {
    uint32_t node_count;
    struct sim_way_back *ways; /* a hash table, at most half full */
    uint32_t room, count;
};

void sim_ways_back_keep(struct sim_ways_back *back, uint32_t target, uint32_t source,
                        const unsigned char header[WIRE_LINE_DATA_BYTES]);

/* The header that came to the target from that source; NULL: none has. */
const unsigned char *sim_ways_back_find(const struct sim_ways_back *back, uint32_t target,
                                        uint32_t source);

void sim_ways_back_free(struct sim_ways_back *back);

#endif
