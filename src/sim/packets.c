/* Slots for packets, in blocks that never move. */
#include "sim/packets.h"

#include <stdlib.h>

enum { BLOCK_SLOTS = 64 };

static const uint32_t NO_SLOT = UINT32_MAX;

void sim_packets_init(struct sim_packets *packets)
{
    *packets = (struct sim_packets){.first_free = NO_SLOT};
}

void sim_packets_free(struct sim_packets *packets)
{
    for (uint32_t i = 0; i < packets->block_count; i++) {
        free(packets->blocks[i]);
    }
    free(packets->blocks);
    sim_packets_init(packets);
}

struct sim_packet *sim_packets_at(const struct sim_packets *packets, uint32_t slot)
{
    INVARIANT(slot / BLOCK_SLOTS < packets->block_count);
    return &packets->blocks[slot / BLOCK_SLOTS][slot % BLOCK_SLOTS];
}

void sim_packets_give(struct sim_packets *packets, uint32_t slot)
{
    INVARIANT(packets->taken > 0);
    packets->taken--;
    sim_packets_at(packets, slot)->next_free = packets->first_free;
    packets->first_free = slot;
}

void sim_packets_clear(struct sim_packets *packets)
{
    uint32_t count = packets->block_count * BLOCK_SLOTS;
    packets->first_free = NO_SLOT;
    packets->taken = count;
    for (uint32_t slot = count; slot > 0; slot--) {
        sim_packets_give(packets, slot - 1);
    }
}

static void add_block(struct sim_packets *packets)
{
    uint32_t first = packets->block_count * BLOCK_SLOTS;
    packets->blocks = realloc(packets->blocks, (packets->block_count + 1) * sizeof(void *));
    INVARIANT(packets->blocks);
    packets->blocks[packets->block_count] = malloc(BLOCK_SLOTS * sizeof(struct sim_packet));
    INVARIANT(packets->blocks[packets->block_count]);
    packets->block_count++;
    packets->taken += BLOCK_SLOTS;
    for (uint32_t i = BLOCK_SLOTS; i > 0; i--) {
        sim_packets_give(packets, first + i - 1);
    }
}

struct sim_packet *sim_packets_take(struct sim_packets *packets, uint32_t *slot)
{
    if (packets->first_free == NO_SLOT) {
        add_block(packets);
    }
    *slot = packets->first_free;
    struct sim_packet *packet = sim_packets_at(packets, *slot);
    packets->first_free = packet->next_free;
    packets->taken++;
    return packet;
}
