/* The core processor: one thing at a time, at a declared cost per step.
 *
 * Packets of services, kicks for services and the alarm are requests: they wait at their interrupt
 * (interrupt.h), and when the core processor is free the first one of the highest interrupt is
 * served, to its end. What a handler sends and tells the host is part of its work, so it goes
 * before the next request.
 *
 * A TLB miss does not go through the interrupt controller. Its refill waits only for what is being
 * done, as a request on the highest interrupt would. But its time is taken when the packet enters
 * the TLB's stage, and a packet that has to wait for the stage takes it ahead: a request that comes
 * in between is served behind the refill, although the core processor is still free. */
#include "sim/model/state.h"

#define NO_TASK UINT32_MAX

uint64_t sim_core_work(struct sim_world *world, struct sim_node *node, const char *what,
                       uint64_t from_ps, uint64_t cycles, uint64_t packet)
{
    if (cycles == 0) {
        return from_ps;
    }
    uint64_t ready_ps = node->core_free_ps > from_ps ? node->core_free_ps : from_ps;
    uint64_t start_ps = sim_edge(world->core_ps, ready_ps);
    node->core_free_ps = start_ps + sim_cycles(world->core_ps, cycles);
    node->core_busy_ps += node->core_free_ps - start_ps;
    if (world->config.timeline) {
        sim_timeline_span(world->config.timeline, node->number, SIM_TRACK_CORE, what, start_ps,
                          node->core_free_ps, packet);
    }
    return node->core_free_ps;
}

uint64_t sim_refill(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                    uint64_t packet)
{
    if (world->machine->tlb_refill == SIM_REFILL_HOST) {
        return from_ps + world->machine->host_refill;
    }
    node->core_requests++;
    return sim_core_work(world, node, "refill", from_ps,
                         world->machine->core_dispatch_cycles + world->machine->tlb_refill_cycles,
                         packet);
}

/* ---- Requests ----------------------------------------------------------------------------- */

static struct sim_task *task_at(const struct sim_world *world, uint32_t slot)
{
    return sim_slots_at(&world->tasks, slot);
}

/* Which requests wait at this interrupt. */
static uint32_t requests_at(const struct sim_world *world, const struct sim_node *node,
                            unsigned interrupt)
{
    uint32_t pending = 0;
    for (uint32_t slot = node->core_queue[interrupt].first; slot != NO_TASK;
         slot = task_at(world, slot)->next) {
        pending |= UINT32_C(1) << task_at(world, slot)->request;
    }
    return pending;
}

/* Takes out the first task of the highest interrupt. */
static uint32_t take_task(struct sim_world *world, struct sim_node *node)
{
    uint8_t lines = sim_interrupts_lines(&world->interrupts, node->core_pending);
    if (lines == 0) {
        return NO_TASK;
    }
    unsigned interrupt = 31u - (unsigned)__builtin_clz(lines);
    struct sim_task_list *queue = &node->core_queue[interrupt];
    uint32_t slot = queue->first;
    const struct sim_task *task = task_at(world, slot);
    queue->first = task->next;
    uint32_t bit = UINT32_C(1) << task->request;
    node->core_pending = (node->core_pending & ~bit) | (requests_at(world, node, interrupt) & bit);
    return slot;
}

/* What a card's core processor keeps in host memory for this: of a lock or barrier, but not of
 * messages, whose tables are the NIC's. */
static uint64_t kept_bytes(const struct sim_world *world, const struct sim_task *task)
{
    bool is_of_messages = true;
    if (task->request == SIM_REQUEST_PACKET) {
        is_of_messages = sim_flight_at(world, task->subject)->is_message;
    } else if (task->request == SIM_REQUEST_KICK) {
        const struct sim_kick *kick = sim_slots_at(&world->kicks, task->subject);
        is_of_messages = kick->kind == SIM_KICK_SEND || kick->kind == SIM_KICK_READ;
    }
    return sim_is_card(world) && !is_of_messages ? world->machine->dma_structure_bytes : 0;
}

/* The core processor waits while DMA brings it, or takes it back. */
static uint64_t wait_for_dma(struct sim_world *world, struct sim_node *node, uint64_t from_ps,
                             uint64_t bytes, bool is_read)
{
    uint64_t first_ps;
    if (bytes == 0) {
        return from_ps;
    }
    node->core_free_ps = is_read ? sim_dma_read(world, node, from_ps, bytes, &first_ps)
                                 : sim_dma_write(world, node, from_ps, bytes);
    node->core_busy_ps += node->core_free_ps - from_ps;
    return node->core_free_ps;
}

/* The core processor is free: it takes the next request, if there is one. */
static void go_on(struct sim_world *world, struct sim_node *node)
{
    const struct sim_machine *machine = world->machine;
    node->core_task = take_task(world, node);
    if (node->core_task == NO_TASK) {
        return;
    }
    const struct sim_task *task = task_at(world, node->core_task);
    bool looks_up = task->request != SIM_REQUEST_ALARM;
    uint64_t number = task->packet;
    uint64_t at_ps = world->now_ps;
    node->core_requests++;
    at_ps = sim_core_work(world, node, "dispatch", at_ps, machine->core_dispatch_cycles, number);
    at_ps = sim_core_work(world, node, "look up", at_ps,
                          looks_up ? machine->core_look_up_cycles : 0, number);
    at_ps = wait_for_dma(world, node, at_ps, kept_bytes(world, task), true);
    at_ps = sim_core_work(world, node, "copy", at_ps, machine->core_copy_word_cycles * task->words,
                          number);
    at_ps = sim_core_work(world, node, "update", at_ps, machine->core_update_cycles, number);
    at_ps = wait_for_dma(world, node, at_ps, kept_bytes(world, task), false);
    sim_put(world, at_ps, SIM_EVENT_CORE, node->number, SIM_CORE_DONE);
}

void sim_core_request(struct sim_world *world, struct sim_node *node, enum sim_request request,
                      uint32_t subject, uint32_t words, uint64_t packet)
{
    uint32_t slot;
    struct sim_task *task = sim_slots_take(&world->tasks, &slot);
    *task = (struct sim_task){.next = NO_TASK,
                              .request = (uint8_t)request,
                              .subject = subject,
                              .words = words,
                              .packet = packet};
    struct sim_task_list *queue = &node->core_queue[world->interrupts.interrupt_of[request]];
    if (queue->first == NO_TASK) {
        queue->first = slot;
    } else {
        task_at(world, queue->last)->next = slot;
    }
    queue->last = slot;
    node->core_pending |= UINT32_C(1) << request;
    if (node->core_task == NO_TASK && !node->core_goes_on) {
        go_on(world, node);
    }
}

static void finish(struct sim_world *world, struct sim_node *node, const struct sim_task *task)
{
    switch ((enum sim_request)task->request) {
    case SIM_REQUEST_KICK: sim_kick_served(world, task->subject); break;
    case SIM_REQUEST_PACKET:
    case SIM_REQUEST_UNKNOWN: sim_receive_served(world, node, task->subject); break;
    case SIM_REQUEST_ALARM: sim_pump_at(world, node, world->now_ps); break;
    default: INVARIANT(false);
    }
}

void sim_core_event(struct sim_world *world, struct sim_node *node, enum sim_core_moment moment)
{
    if (moment == SIM_CORE_DONE) {
        const struct sim_task done = *task_at(world, node->core_task);
        sim_slots_give(&world->tasks, node->core_task);
        node->core_task = NO_TASK;
        node->core_goes_on = true;
        finish(world, node, &done);
        node->core_goes_on = node->core_pending != 0;
        if (node->core_goes_on) {
            /* Behind what the handler has set off at this time, and so after its own work. */
            sim_put(world, world->now_ps, SIM_EVENT_CORE, node->number, SIM_CORE_NEXT);
        }
        return;
    }
    node->core_goes_on = false;
    go_on(world, node);
}
