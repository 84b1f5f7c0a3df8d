/* Slots in blocks that never move. */
#include "sim/slots.h"

#include <stdlib.h>

static const uint32_t NO_SLOT = UINT32_MAX;

void sim_slots_init(struct sim_slots *slots, uint32_t slot_bytes)
{
    INVARIANT(slot_bytes >= 8 && slot_bytes % 8 == 0);
    *slots = (struct sim_slots){.slot_bytes = slot_bytes, .first_free = NO_SLOT};
}

void sim_slots_free(struct sim_slots *slots)
{
    for (uint32_t i = 0; i < slots->block_count; i++) {
        free(slots->blocks[i]);
    }
    free(slots->blocks);
    sim_slots_init(slots, slots->slot_bytes);
}

void sim_slots_give(struct sim_slots *slots, uint32_t slot)
{
    INVARIANT(slots->taken > 0);
    slots->taken--;
    *(uint32_t *)sim_slots_at(slots, slot) = slots->first_free;
    slots->first_free = slot;
}

void sim_slots_clear(struct sim_slots *slots)
{
    uint32_t count = slots->block_count * SIM_BLOCK_SLOTS;
    slots->first_free = NO_SLOT;
    slots->taken = count;
    for (uint32_t slot = count; slot > 0; slot--) {
        sim_slots_give(slots, slot - 1);
    }
}

static void add_block(struct sim_slots *slots)
{
    uint32_t first = slots->block_count * SIM_BLOCK_SLOTS;
    slots->blocks = realloc(slots->blocks, (slots->block_count + 1) * sizeof *slots->blocks);
    INVARIANT(slots->blocks);
    slots->blocks[slots->block_count] = aligned_alloc(
        CACHE_LINE_BYTES, (size_t)SIM_BLOCK_SLOTS * slots->slot_bytes);
    INVARIANT(slots->blocks[slots->block_count]);
    slots->block_count++;
    slots->taken += SIM_BLOCK_SLOTS;
    for (uint32_t i = SIM_BLOCK_SLOTS; i > 0; i--) {
        sim_slots_give(slots, first + i - 1);
    }
}

void *sim_slots_take(struct sim_slots *slots, uint32_t *slot)
{
    if (slots->first_free == NO_SLOT) {
        add_block(slots);
    }
    *slot = slots->first_free;
    void *at = sim_slots_at(slots, *slot);
    slots->first_free = *(uint32_t *)at;
    slots->taken++;
    return at;
}
