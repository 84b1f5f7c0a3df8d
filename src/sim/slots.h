/* Slots of one size that never move in memory. Once there are as many as a run needs, taking and
 * giving back allocate nothing. A slot is known by its number. */
#ifndef SIM_SLOTS_H
#define SIM_SLOTS_H

#include "base/base.h"

struct sim_slots {
    unsigned char **blocks;
    uint32_t block_count;
    uint32_t slot_bytes;
    uint32_t first_free; /* a slot, or UINT32_MAX; a free one holds the next one's number */
    uint32_t taken;
};

/* `slot_bytes` is a multiple of 8, so that slots are aligned. */
void sim_slots_init(struct sim_slots *slots, uint32_t slot_bytes);
void sim_slots_free(struct sim_slots *slots);

/* Gives all slots back; they are then taken in the same order as from the start. */
void sim_slots_clear(struct sim_slots *slots);

/* A slot that was taken holds what its last user left there, except for the first 8 bytes. */
void *sim_slots_take(struct sim_slots *slots, uint32_t *slot);
void sim_slots_give(struct sim_slots *slots, uint32_t slot);

enum { SIM_BLOCK_SLOTS = 64 };

static inline void *sim_slots_at(const struct sim_slots *slots, uint32_t slot)
{
    INVARIANT(slot / SIM_BLOCK_SLOTS < slots->block_count);
    return slots->blocks[slot / SIM_BLOCK_SLOTS] +
           (size_t)(slot % SIM_BLOCK_SLOTS) * slots->slot_bytes;
}

#endif
