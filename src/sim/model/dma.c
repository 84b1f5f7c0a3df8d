/* DMA: between the network and the SO-DIMM that faces it, at the speed of that memory; or, on a
 * card, between the NIC and host memory, over the bus on which the card sits.
 *
 * A PCI card's host does not poll on the card: that would take the bus from what arrives (paper
 * 000, section 4.2). What arrives goes on by DMA into cacheable memory; the write makes the line
 * of the host's cache invalid, and the host's next read brings it anew. What the core processor
 * keeps of locks and barriers, and the buffers of messages, are in host memory, too (paper 004). */
#include "sim/model/state.h"

/* One transfer after the other. Gives when the last word has moved. */
static uint64_t move(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                     uint64_t bytes, bool is_read, uint64_t *first_ps)
{
    const struct sim_machine *machine = world->machine;
    *first_ps = from_ps;
    if (!sim_is_card(world) && machine->bank_mb_per_s == 0) {
        return from_ps;
    }
    uint64_t ready_ps = node->dma_free_ps > from_ps ? node->dma_free_ps : from_ps;
    if (sim_is_card(world)) {
        *first_ps = sim_edge(world->bus_ps, ready_ps) +
                    sim_cycles(world->bus_ps, machine->dma_setup_cycles) +
                    (is_read ? machine->dma_read : 0);
        node->dma_free_ps = *first_ps +
                            sim_cycles(world->bus_ps, machine->dma_word_cycles * ((bytes + 7) / 8));
    } else {
        *first_ps = ready_ps;
        node->dma_free_ps = ready_ps + bytes * UINT64_C(1000000000000) / machine->bank_mb_per_s;
    }
    if (node->use) {
        node->use->dma_busy_ps += node->dma_free_ps - ready_ps;
    }
    return node->dma_free_ps;
}

uint64_t sim_dma_write(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                       uint64_t bytes)
{
    uint64_t first_ps;
    node->dma_writes++;
    return move(world, node, from_ps, bytes, false, &first_ps);
}

uint64_t sim_dma_read(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                      uint64_t bytes, uint64_t *first_ps)
{
    return move(world, node, from_ps, bytes, true, first_ps);
}
