/* Packets at boards and in switches: where they come from, which outputs they ask for, when they
 * are gone. */
#include "sim/subnet/flow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/flow_state.h"

const char *const flow_loss_names[FLOW_LOSSES] = {
    [FLOW_DAMAGED] = "damaged",   [FLOW_NO_WAY] = "no way",   [FLOW_CUT] = "cut",
    [FLOW_TOO_LONG] = "too long", [FLOW_NO_LANE] = "no lane", [FLOW_NO_ROOM] = "no room",
};

void flow_config_default(struct flow_config *config)
{
    *config = (struct flow_config){
        .switch_ps = 160000,     /* paper 003, Table 3 */
        .cable_ps = 36000,       /* 7 m of cable at 5 ns a metre, in whole cycles */
        .buffer_flits = 128,     /* assumed: 8 KB, near four packets */
        .management_flits = 64,  /* assumed */
        .refresh_ps = 262144000, /* the standard: 65,536 symbols at most between link packets */
        .seed = 1,
    };
}

const char *flow_config_objection(const struct flow_config *config, const struct subnet *subnet,
                                  char text[TOPOLOGY_ERROR_BYTES])
{
    uint32_t packet = wire_ib_blocks(subnet->config.mtu + FLOW_HEADERS_MAX);
    uint32_t least = (4 * packet + 2) / 3;
    text[0] = '\0';
    if (config->buffer_flits < least || config->buffer_flits >= WIRE_IB_CREDITS_MAX) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES,
                       "buffer_flits is %u; with an MTU of %u it is %u to %d", config->buffer_flits,
                       subnet->config.mtu, least, WIRE_IB_CREDITS_MAX - 1);
    } else if (!(config->bit_error_rate >= 0 && config->bit_error_rate <= 1e-3)) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "the bit error rate is not from 0 to 0.001");
    } else if (config->switch_ps > UINT64_C(1000000000000) ||
               config->cable_ps > UINT64_C(1000000000000) || config->refresh_ps == 0) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES,
                       "a switch or a cable takes more than a second, or refresh is 0");
    }
    return text[0] ? text : NULL;
}

/* ---- Opening and closing ---------------------------------------------------------------- */

static void show_port(const struct flow *flow, uint32_t index, bool *is_alive, bool *carries)
{
    const struct subnet_port *port = &flow->subnet->ports[index];
    *is_alive = port->peer != SUBNET_NONE && !port->is_cut;
    *carries = *is_alive && port->state == SUBNET_ACTIVE;
}

struct flow *flow_open(struct subnet *subnet, const struct flow_config *config,
                       const struct flow_user *user)
{
    struct flow *flow = calloc(1, sizeof *flow);
    INVARIANT(flow);
    flow->subnet = subnet;
    flow->config = *config;
    flow->user = *user;
    flow->port_count = subnet->port_count;
    flow->lane_count = subnet->config.data_vls + 1;
    flow->ports = calloc(flow->port_count, sizeof *flow->ports);
    flow->lanes = calloc((size_t)flow->port_count * flow->lane_count, sizeof *flow->lanes);
    INVARIANT(flow->ports && flow->lanes);
    sim_slots_init(&flow->bodies, (sizeof(struct flow_body) + 7) / 8 * 8);
    sim_slots_init(&flow->stays, (sizeof(struct flow_stay) + 7) / 8 * 8);
    bit_errors_init(&flow->errors, config->bit_error_rate, config->seed);
    flow->chance.state = config->seed ^ UINT64_C(0x5eed0fd1);
    for (uint32_t i = 0; i < flow->port_count; i++) {
        const struct subnet_port *of = &subnet->ports[i];
        struct flow_port *port = &flow->ports[i];
        port->peer = of->peer;
        port->node = of->node;
        port->number = of->number;
        port->width = of->width;
        port->is_board = !subnet_is_switch(subnet, of->node);
        port->wait_from_ps = UINT64_MAX;
        show_port(flow, i, &port->is_alive, &port->carries);
        flow_read_tables(flow, i);
        for (uint32_t lane = 0; lane < flow->lane_count; lane++) {
            *flow_lane(flow, i, lane) = (struct flow_lane){
                .buffer = {FLOW_NONE, FLOW_NONE},
                .requests = {FLOW_NONE, FLOW_NONE},
                .left = (uint16_t)config->buffer_flits,
                .told = (uint16_t)config->buffer_flits,
                .limit = (uint16_t)config->buffer_flits,
            };
        }
    }
    flow->version = subnet->version;
    return flow;
}

void flow_close(struct flow *flow)
{
    if (!flow) {
        return;
    }
    sim_slots_free(&flow->bodies);
    sim_slots_free(&flow->stays);
    free(flow->ports);
    free(flow->lanes);
    free(flow);
}

/* ---- The end of a stay ------------------------------------------------------------------ */

static void give_stay(struct flow *flow, uint32_t slot)
{
    const struct flow_stay *stay = flow_stay(flow, slot);
    uint32_t number = stay->body;
    struct flow_body *body = flow_body(flow, number);
    if (stay->behind != FLOW_NONE) {
        flow_stay(flow, stay->behind)->ahead = FLOW_NONE;
    }
    if (stay->ahead != FLOW_NONE) {
        flow_stay(flow, stay->ahead)->behind = FLOW_NONE;
    }
    sim_slots_give(&flow->stays, slot);
    INVARIANT(body->stays > 0);
    if (--body->stays == 0) {
        sim_slots_give(&flow->bodies, number);
    }
}

void flow_lose(struct flow *flow, uint32_t body, uint32_t port, enum flow_loss why)
{
    flow->counters.lost[why]++;
    flow->under_way--;
    if (flow->user.lost) {
        flow->user.lost(flow->user.context, why, flow_body(flow, body)->tag, port);
    }
}

static void ask_for_outputs(struct flow *flow, uint64_t now_ps, uint32_t slot);

/* The tail of the first packet of a lane has left; the next one may ask. */
static void leave_buffer(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    const struct flow_stay *stay = flow_stay(flow, slot);
    uint32_t port = stay->port_in;
    uint32_t lane_number = stay->lane_in;
    struct flow_lane *lane = flow_lane(flow, port, lane_number);
    uint32_t flits = wire_ib_blocks(flow_body(flow, stay->body)->bytes);
    INVARIANT(lane->buffer.first == slot);
    lane->buffer.first = stay->lane_next;
    if (lane->buffer.first == FLOW_NONE) {
        lane->buffer.last = FLOW_NONE;
    }
    give_stay(flow, slot);
    uint32_t next = lane->buffer.first;
    flow_free_places(flow, now_ps, port, lane_number, flits);
    if (next != FLOW_NONE) {
        ask_for_outputs(flow, now_ps, next);
    }
}

/* One of the ways out of a stay is done with. */
static void end_way(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    uint32_t owner_slot = flow_stay(flow, slot)->owner;
    struct flow_stay *owner = flow_stay(flow, owner_slot);
    INVARIANT(owner->pending > 0);
    owner->pending--;
    bool is_over = owner->pending == 0;
    if (slot != owner_slot) {
        give_stay(flow, slot);
    }
    if (!is_over) {
        return;
    }
    if (owner->port_in == FLOW_NONE) {
        give_stay(flow, owner_slot);
    } else {
        leave_buffer(flow, now_ps, owner_slot);
    }
}

void flow_discard(struct flow *flow, uint64_t now_ps, uint32_t slot, enum flow_loss why)
{
    struct flow_stay *stay = flow_stay(flow, slot);
    uint32_t at = flow_stay(flow, stay->owner)->port_in;
    flow_lose(flow, stay->body, at == FLOW_NONE ? flow_body(flow, stay->body)->source : at, why);
    if (stay->port_out != FLOW_NONE) {
        flow->subnet->ports[stay->port_out].counters.xmit_discards++;
    }
    stay->port_out = FLOW_NONE;
    /* It takes its place until the whole of it has come. */
    uint64_t at_ps = stay->tail_ps > now_ps ? stay->tail_ps : now_ps;
    sim_events_put(flow->user.events, at_ps, flow->user.event_kind, slot,
                   flow_event_value(FLOW_LEAVES, 0, 0, 0));
}

/* ---- Delivery --------------------------------------------------------------------------- */

/* False: it is lost. */
static bool deliver(struct flow *flow, uint32_t slot, uint32_t target)
{
    const struct flow_stay *stay = flow_stay(flow, slot);
    const struct flow_body *body = flow_body(flow, stay->body);
    struct flow_delivery delivery = {
        .tag = body->tag,
        .source = body->source,
        .target = target,
        .sl = body->sl,
        .vl = body->is_management ? SUBNET_MANAGEMENT_VL : stay->lane_in,
        .bytes = body->bytes,
        .hops = stay->hops,
        .sent_ps = body->sent_ps,
        .entered_ps = body->entered_ps,
        .head_ps = stay->head_ps,
        .tail_ps = stay->tail_ps,
    };
    bool is_lost = stay->is_broken;
    if (stay->wrong_bits > 0 && !is_lost) {
        is_lost = !flow->user.is_seen || flow->user.is_seen(flow->user.context, &delivery,
                                                            stay->wrong_bits, &flow->chance);
        delivery.is_wrong = !is_lost;
        flow->counters.wrong += !is_lost;
    }
    if (is_lost) {
        flow->subnet->ports[target].counters.rcv_errors++;
        flow_lose(flow, stay->body, target, stay->is_broken ? FLOW_CUT : FLOW_DAMAGED);
        return false;
    }
    flow->counters.delivered++;
    flow->under_way--;
    if (body->is_held && stay->port_in != FLOW_NONE) {
        flow_lane(flow, target, stay->lane_in)->held += wire_ib_blocks(body->bytes);
    }
    flow->user.delivered(flow->user.context, &delivery);
    return true;
}

static bool is_multicast(uint16_t lid)
{
    return lid >= SUBNET_MULTICAST_LID && lid != SUBNET_PERMISSIVE_LID;
}

static bool is_own(const struct flow *flow, uint32_t port, uint16_t lid)
{
    return lid < SUBNET_LIDS && flow->subnet->lid_owner[lid] == port;
}

static void arrive_at_board(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    const struct flow_stay *stay = flow_stay(flow, slot);
    const struct flow_body *body = flow_body(flow, stay->body);
    uint32_t port = stay->port_in;
    uint32_t lane = stay->lane_in;
    uint32_t flits = wire_ib_blocks(body->bytes);
    uint64_t free_ps = stay->tail_ps > now_ps ? stay->tail_ps : now_ps;
    bool is_kept = false;
    if (is_multicast(body->dlid) || is_own(flow, port, body->dlid)) {
        is_kept = deliver(flow, slot, port) && body->is_held;
    } else {
        flow->subnet->ports[port].counters.rcv_errors++;
        flow_lose(flow, stay->body, port, FLOW_NO_WAY);
    }
    give_stay(flow, slot);
    if (is_kept || flow_is_management(flow, lane)) {
        return;
    }
    if (free_ps > now_ps) {
        sim_events_put(flow->user.events, free_ps, flow->user.event_kind, port,
                       flow_event_value(FLOW_PLACE_FREE, lane, flits, flow->ports[port].epoch));
    } else {
        flow_free_places(flow, now_ps, port, lane, flits);
    }
}

/* ---- In a switch ------------------------------------------------------------------------ */

/* The lane by which a packet leaves; false: there is none for it. */
static bool find_lane(const struct flow *flow, const struct flow_body *body, uint32_t in_number,
                      uint32_t port_out, uint8_t *lane)
{
    const struct flow_port *out = &flow->ports[port_out];
    if (body->is_management) {
        *lane = (uint8_t)(flow->lane_count - 1);
        return true;
    }
    const struct subnet_node *node = &flow->subnet->nodes[out->node];
    *lane = out->is_board ? subnet_sl_to_vl(node, 0, 0, body->sl)
                          : subnet_sl_to_vl(node, in_number, out->number, body->sl);
    return *lane < flow->subnet->ports[port_out].oper_vls;
}

/* Sends a stay by that output, or nowhere. At its source it waits for a port that does not carry
 * yet; in a switch it does not. */
static void take_way(struct flow *flow, uint64_t now_ps, uint32_t slot, uint32_t port_out)
{
    struct flow_stay *stay = flow_stay(flow, slot);
    const struct flow_body *body = flow_body(flow, stay->body);
    const struct flow_stay *owner = flow_stay(flow, stay->owner);
    bool is_at_source = owner->port_in == FLOW_NONE;
    uint32_t in_number = is_at_source ? 0 : flow->ports[owner->port_in].number;
    const struct flow_port *out = &flow->ports[port_out];
    stay->port_out = port_out;
    if (!(body->is_management ? out->is_alive : out->carries) && !is_at_source) {
        flow_discard(flow, now_ps, slot, FLOW_NO_WAY);
    } else if (body->bytes > (uint32_t)flow->subnet->ports[port_out].mtu + FLOW_HEADERS_MAX) {
        flow_discard(flow, now_ps, slot, FLOW_TOO_LONG);
    } else if (!find_lane(flow, body, in_number, port_out, &stay->lane_out)) {
        flow_discard(flow, now_ps, slot, FLOW_NO_LANE);
    } else {
        flow_ask(flow, now_ps, slot);
    }
}

/* A multicast: a stay for each output; they share the first one's place. */
static void ask_for_group(struct flow *flow, uint64_t now_ps, uint32_t slot, uint32_t node,
                          uint32_t in_number)
{
    struct flow_stay *owner = flow_stay(flow, slot);
    struct flow_body *body = flow_body(flow, owner->body);
    uint32_t outputs[TOPOLOGY_PORTS_MAX];
    uint32_t count = 0;
    const struct subnet_node *of = &flow->subnet->nodes[node];
    uint32_t group = body->dlid - SUBNET_MULTICAST_LID;
    if (group < flow->subnet->config.multicast_entries) {
        const uint64_t *mask = &of->multicast[(size_t)group * SUBNET_MASK_WORDS];
        for (uint32_t number = 1; number <= of->port_count; number++) {
            if (number != in_number && mask[number / 64] >> number % 64 & 1) {
                outputs[count++] = of->port_first + number;
            }
        }
    }
    if (count == 0) {
        flow_discard(flow, now_ps, slot, FLOW_NO_WAY);
        return;
    }
    uint32_t stays[TOPOLOGY_PORTS_MAX];
    stays[0] = slot;
    for (uint32_t i = 1; i < count; i++) {
        struct flow_stay *copy = sim_slots_take(&flow->stays, &stays[i]);
        *copy = *owner;
        copy->owner = slot;
        copy->behind = FLOW_NONE;
        owner->copy_next = stays[i];
    }
    owner->pending = (uint16_t)count;
    body->stays += count - 1;
    flow->under_way += count - 1;
    for (uint32_t i = 0; i < count; i++) {
        take_way(flow, now_ps, stays[i], outputs[i]);
    }
}

/* A packet is the first in its lane of an input, or at its source in a switch. */
static void ask_for_outputs(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    struct flow_stay *stay = flow_stay(flow, slot);
    const struct flow_body *body = flow_body(flow, stay->body);
    uint32_t at = stay->port_in == FLOW_NONE ? body->source : stay->port_in;
    uint32_t node = flow->ports[at].node;
    uint32_t in_number = flow->ports[at].number;
    stay->pending = 1;
    if (stay->hops >= FLOW_HOPS_MAX) {
        flow_discard(flow, now_ps, slot, FLOW_NO_WAY);
        return;
    }
    if (is_multicast(body->dlid)) {
        ask_for_group(flow, now_ps, slot, node, in_number);
        return;
    }
    uint32_t out = subnet_linear(flow->subnet, node, body->dlid);
    if (out == 0) {
        stay->port_out = FLOW_NONE;
        if (flow->config.at_head) {
            deliver(flow, slot, flow->subnet->nodes[node].port_first);
        } else {
            stay->ends_here = true;
        }
        sim_events_put(flow->user.events, stay->tail_ps > now_ps ? stay->tail_ps : now_ps,
                       flow->user.event_kind, slot, flow_event_value(FLOW_LEAVES, 0, 0, 0));
    } else if (out > flow->subnet->nodes[node].port_count || out == in_number) {
        flow_discard(flow, now_ps, slot, FLOW_NO_WAY);
    } else {
        take_way(flow, now_ps, slot, flow->subnet->nodes[node].port_first + out);
    }
}

static void arrive_at_switch(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    struct flow_stay *stay = flow_stay(flow, slot);
    struct flow_lane *lane = flow_lane(flow, stay->port_in, stay->lane_in);
    uint32_t flits = wire_ib_blocks(flow_body(flow, stay->body)->bytes);
    if (flow_is_management(flow, stay->lane_in)) {
        if (lane->held + flits > flow->config.management_flits) {
            flow->subnet->ports[stay->port_in].counters.vl15_dropped++;
            flow_lose(flow, stay->body, stay->port_in, FLOW_NO_ROOM);
            give_stay(flow, slot);
            return;
        }
        lane->held += flits;
    }
    stay->lane_next = FLOW_NONE;
    if (lane->buffer.first != FLOW_NONE) {
        flow_stay(flow, lane->buffer.last)->lane_next = slot;
        lane->buffer.last = slot;
        return;
    }
    lane->buffer = (struct flow_queue){slot, slot};
    ask_for_outputs(flow, now_ps, slot);
}

static void arrive(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    const struct flow_stay *stay = flow_stay(flow, slot);
    if (stay->port_in == FLOW_NONE) { /* to itself */
        deliver(flow, slot, flow_body(flow, stay->body)->source);
        give_stay(flow, slot);
        return;
    }
    if (stay->epoch != flow->ports[stay->port_in].epoch) {
        flow_lose(flow, stay->body, stay->port_in, FLOW_CUT);
        give_stay(flow, slot);
    } else if (flow->ports[stay->port_in].is_board) {
        arrive_at_board(flow, now_ps, slot);
    } else {
        arrive_at_switch(flow, now_ps, slot);
    }
}

/* A packet to its own port turns there, as fast as the port's cable would carry it. (A switch's
 * port 0 has no cable.) */
static uint64_t own_ps(const struct flow *flow, uint32_t port, uint32_t bytes)
{
    uint32_t width = flow->ports[port].width;
    return flow_duration_ps(bytes, width > 0 ? width : 4);
}

/* ---- Sending ---------------------------------------------------------------------------- */

void flow_send(struct flow *flow, uint64_t now_ps, uint32_t port, const struct flow_packet *packet)
{
    uint32_t body_slot;
    uint32_t slot;
    INVARIANT(port < flow->port_count && packet->sl < SUBNET_SLS && packet->bytes >= 2);
    struct flow_body *body = sim_slots_take(&flow->bodies, &body_slot);
    *body = (struct flow_body){
        .tag = packet->tag,
        .sent_ps = now_ps,
        .entered_ps = now_ps,
        .source = port,
        .bytes = packet->bytes,
        .stays = 1,
        .slid = flow->subnet->ports[port].lid,
        .dlid = packet->dlid,
        .sl = packet->sl,
        .is_held = packet->is_held,
        .is_management = packet->is_management,
    };
    struct flow_stay *stay = sim_slots_take(&flow->stays, &slot);
    *stay = (struct flow_stay){.head_ps = now_ps,
                               .tail_ps = now_ps,
                               .ready_ps = now_ps,
                               .body = body_slot,
                               .owner = slot,
                               .copy_next = FLOW_NONE,
                               .behind = FLOW_NONE,
                               .ahead = FLOW_NONE,
                               .port_in = FLOW_NONE,
                               .port_out = FLOW_NONE,
                               .pending = 1};
    flow->counters.sent++;
    flow->under_way++;
    if (is_own(flow, port, packet->dlid)) {
        uint64_t *free_ps = &flow->ports[port].own_free_ps;
        stay->head_ps = *free_ps > now_ps ? *free_ps : now_ps;
        stay->tail_ps = stay->head_ps + own_ps(flow, port, packet->bytes);
        *free_ps = stay->tail_ps;
        sim_events_put(flow->user.events, flow->config.at_head ? stay->head_ps : stay->tail_ps,
                       flow->user.event_kind, slot, flow_event_value(FLOW_ARRIVES, 0, 0, 0));
    } else if (flow->ports[port].is_board) {
        take_way(flow, now_ps, slot, port);
    } else {
        ask_for_outputs(flow, now_ps, slot);
    }
}

void flow_release(struct flow *flow, uint64_t now_ps, uint32_t port, uint8_t vl, uint32_t bytes)
{
    INVARIANT(port < flow->port_count && vl < flow->lane_count - 1);
    struct flow_lane *lane = flow_lane(flow, port, vl);
    INVARIANT(lane->held >= wire_ib_blocks(bytes));
    lane->held -= wire_ib_blocks(bytes);
    flow_free_places(flow, now_ps, port, vl, wire_ib_blocks(bytes));
}

/* ---- Events ----------------------------------------------------------------------------- */

static void leave(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    const struct flow_stay *stay = flow_stay(flow, slot);
    uint32_t port = stay->port_out;
    if (stay->ends_here) {
        uint32_t at = stay->port_in != FLOW_NONE ? stay->port_in
                                                 : flow_body(flow, stay->body)->source;
        deliver(flow, slot, flow->subnet->nodes[flow->ports[at].node].port_first);
    }
    end_way(flow, now_ps, slot);
    if (port != FLOW_NONE) {
        flow_look(flow, now_ps, port);
    }
}

void flow_event(struct flow *flow, const struct sim_event *event)
{
    uint64_t now_ps = event->at;
    uint32_t subject = event->subject;
    uint32_t lane = (uint32_t)(event->value >> 8 & 0xff);
    uint32_t count = (uint32_t)(event->value >> 16 & 0xffff);
    uint32_t epoch = (uint32_t)(event->value >> 32);
    if (UNLIKELY(flow->version != flow->subnet->version)) {
        flow_changed(flow, now_ps);
    }
    switch ((enum flow_event_kind)(event->value & 0xff)) {
    case FLOW_ARRIVES: arrive(flow, now_ps, subject); break;
    case FLOW_LEAVES: leave(flow, now_ps, subject); break;
    case FLOW_FREES:
    case FLOW_LOOKS: flow_look(flow, now_ps, subject); break;
    case FLOW_CREDITS:
        if (epoch == flow->ports[subject].epoch) {
            flow_lane(flow, subject, lane)->limit = (uint16_t)count;
            flow_look(flow, now_ps, subject);
        }
        break;
    case FLOW_REFRESHES:
        if (epoch == flow->ports[subject].epoch) {
            flow_refresh(flow, now_ps, subject, lane);
        }
        break;
    case FLOW_PLACE_FREE:
        if (epoch == flow->ports[subject].epoch) {
            flow_free_places(flow, now_ps, subject, lane, count);
        }
        break;
    }
}

/* ---- For reports ------------------------------------------------------------------------ */

uint64_t flow_under_way(const struct flow *flow)
{
    return flow->under_way;
}

uint64_t flow_waiting(const struct flow *flow, uint32_t port)
{
    return flow->ports[port].queued;
}

void flow_counters(const struct flow *flow, struct flow_counters *counters)
{
    *counters = flow->counters;
}

uint64_t flow_busy_ps(const struct flow *flow, uint32_t port)
{
    return flow->ports[port].busy_ps;
}

uint64_t flow_zero_load_ps(const struct flow *flow, uint32_t from_port, const uint32_t *ports,
                           uint32_t count, uint32_t bytes, uint64_t *head_ps)
{
    uint64_t at_ps = 0;   /* when its head is at the next input */
    uint64_t tail_ps = 0; /* when its tail is there */
    INVARIANT(count == 0 || ports[0] == from_port);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t duration_ps = flow_duration_ps(bytes, flow->ports[ports[i]].width);
        uint64_t inside_ps = i > 0 ? flow->config.switch_ps : 0;
        uint64_t start_ps = at_ps + inside_ps;
        if (tail_ps + inside_ps > start_ps + duration_ps) {
            start_ps = tail_ps + inside_ps - duration_ps;
        }
        at_ps = start_ps + flow->config.cable_ps;
        tail_ps = at_ps + duration_ps;
    }
    *head_ps = at_ps;
    return count > 0 ? tail_ps : own_ps(flow, from_port, bytes);
}
