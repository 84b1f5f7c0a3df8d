/* The core processor: one thing at a time, at a declared cost per step. */
#include "sim/model/state.h"

uint64_t sim_core_work(struct sim_world *world, struct sim_node *node, const char *what,
                       uint64_t from_ps, uint64_t cycles, uint64_t packet)
{
    if (cycles == 0) {
        return from_ps;
    }
    uint64_t ready_ps = node->core_free_ps > from_ps ? node->core_free_ps : from_ps;
    uint64_t start_ps = sim_edge(world->core_ps, ready_ps);
    node->core_free_ps = start_ps + sim_cycles(world->core_ps, cycles);
    if (world->config.timeline) {
        sim_timeline_span(world->config.timeline, node->number, SIM_TRACK_CORE, what, start_ps,
                          node->core_free_ps, packet);
    }
    return node->core_free_ps;
}

uint64_t sim_core_serve(struct sim_world *world, struct sim_node *node, uint32_t words,
                        uint64_t packet)
{
    const struct sim_machine *machine = world->machine;
    uint64_t at_ps = world->now_ps;
    at_ps = sim_core_work(world, node, "dispatch", at_ps, machine->core_dispatch_cycles, packet);
    at_ps = sim_core_work(world, node, "look up", at_ps, machine->core_look_up_cycles, packet);
    at_ps = sim_core_work(world, node, "copy", at_ps, machine->core_copy_word_cycles * words,
                          packet);
    return sim_core_work(world, node, "update", at_ps, machine->core_update_cycles, packet);
}

uint64_t sim_refill(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                    uint64_t packet)
{
    if (world->machine->tlb_refill == SIM_REFILL_HOST) {
        return from_ps + world->machine->host_refill;
    }
    return sim_core_work(world, node, "refill", from_ps,
                         world->machine->core_dispatch_cycles + world->machine->tlb_refill_cycles,
                         packet);
}
