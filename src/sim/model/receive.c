/* From the link into memory: the receive stages; then CorePU for its records, or the host's port
 * for stores and blocks. */
#include "sim/model/state.h"

#include <string.h>

/* A copy for one target of a multicast. */
static uint32_t copy_for(struct sim_world *world, uint32_t slot, uint32_t target)
{
    uint32_t copy_slot;
    const struct sim_flight *flight = sim_flight_at(world, slot);
    struct sim_flight *copy = sim_flight_take(world, &world->nodes[flight->source], flight->bytes,
                                              &copy_slot);
    const struct sim_flight taken = *copy;
    *copy = *flight;
    copy->passage = taken.passage;
    copy->data = taken.data;
    copy->body = taken.body;
    memcpy(copy->data, flight->data, flight->bytes);
    if (copy->passage) {
        *copy->passage = *flight->passage;
    }
    copy->target = target;
    copy->target_count = 1;
    copy->copies = 1;
    return copy_slot;
}

static bool gets_lost(struct sim_world *world)
{
    enum { MILLION = 1000000 };
    return sim_links_lose(world->machine, world->config.topology) &&
           base_random_below(&world->chance, MILLION) < world->machine->link_loss_ppm;
}

/* The source's link has brought it, whether it is lost here or not. */
static void count_brought(const struct sim_world *world, const struct sim_flight *flight,
                          uint64_t at_ps)
{
    struct sim_nic_use *use = world->nodes[flight->source].use;
    if (!use) {
        return;
    }
    struct sim_stage_use *link = &use->stages[SIM_STAGE_LINK];
    link->count++;
    link->inside_ps += at_ps - flight->passage->from_ps[SIM_STAGE_LINK];
    link->until_ps = at_ps;
    if (--use->under_way == 0) {
        link->busy_ps += at_ps - use->under_way_since;
    }
}

static void count_received(const struct sim_world *world, const struct sim_node *node,
                           const struct sim_flight *flight)
{
    if (node->use) {
        node->use->received++;
        node->use->received_bytes += sim_flight_link_bytes(world, flight);
    }
}

void sim_arrived(void *context, uint64_t at_ps, uint32_t number, uint32_t slot)
{
    struct sim_world *world = context;
    struct sim_flight *flight = sim_flight_at(world, slot);
    sim_left_early(world, flight);
    if (flight->copies > 1) {
        flight->copies--;
        slot = copy_for(world, slot, number);
        flight = sim_flight_at(world, slot);
    }
    count_brought(world, flight, at_ps);
    if (gets_lost(world)) {
        world->lost_count++;
        if (world->nodes[flight->source].use) {
            world->nodes[flight->source].use->lost++;
        }
        sim_flight_give(world, slot);
        return;
    }
    flight->node = number;
    flight->target = number;
    count_received(world, &world->nodes[number], flight);
    if (flight->passage) {
        flight->passage->to_ps[SIM_STAGE_LINK] = at_ps;
    }
    if (world->config.timeline) {
        sim_timeline_span(world->config.timeline, flight->source, SIM_STAGE_LINK,
                          sim_stage_texts[SIM_STAGE_LINK], flight->passage->from_ps[SIM_STAGE_LINK],
                          at_ps, flight->number);
    }
    sim_stage_event(world, slot, SIM_STAGE_LINK + 1);
}

void sim_receive_stages_done(struct sim_world *world, struct sim_node *node, uint32_t slot,
                             uint64_t at_ps)
{
    struct sim_flight *flight = sim_flight_at(world, slot);
    uint64_t done_ps = at_ps;
    bool by_dma = sim_is_card(world) && (flight->writes || flight->class == WIRE_REPLY);
    bool is_for_core = flight->is_service || flight->is_unknown;
    if ((is_for_core || by_dma) && at_ps > world->now_ps) {
        sim_put(world, at_ps, SIM_EVENT_RECEIVED, node->number, slot);
        return;
    }
    if (is_for_core) {
        uint32_t words = flight->is_message ? 0 : (flight->data_bytes + 7) / 8;
        sim_core_request(world, node, flight->is_unknown ? SIM_REQUEST_UNKNOWN : SIM_REQUEST_PACKET,
                         slot, words, flight->number);
        return;
    }
    if (by_dma) {
        done_ps = sim_dma_write(world, node, at_ps, flight->data_bytes);
    } else if (flight->writes) {
        done_ps += sim_cycles(world->bus_ps, world->machine->llcm_visible_cycles);
    }
    if (flight->passage) {
        flight->passage->visible_ps = done_ps;
    }
    sim_put(world, done_ps, SIM_EVENT_CARRY, node->number, slot);
}

void sim_receive_served(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    const struct sim_flight *flight = sim_flight_at(world, slot);
    if (flight->passage) {
        flight->passage->visible_ps = world->now_ps;
    }
    sim_carry_event(world, node, slot);
}

void sim_carry_event(struct sim_world *world, struct sim_node *node, uint32_t slot)
{
    struct sim_flight *flight = sim_flight_at(world, slot);
    if (node->passage && flight->writes && !flight->is_repeat) {
        *node->passage = *flight->passage;
    }
    sim_carrier_deliver(world, node, flight);
    sim_flight_give(world, slot);
    /* An answer may have made room for a waiting kick. */
    if (sim_carrier_has_work(node) || node->waiting > 0) {
        sim_pump_at(world, node, world->now_ps);
    } else {
        sim_carrier_set_timer(world, node);
    }
    sim_hosts_look(world, node);
}
