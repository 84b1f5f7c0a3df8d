/* Cables: which packet an output sends next, credits, link packets, damage, and cables that die. */
#include "sim/subnet/flow_state.h"

/* ---- Arbitration ------------------------------------------------------------------------ */

enum { HIGH_UNIT_FLITS = 64, HIGH_UNLIMITED = 255 };

/* The lanes whose first request could be sent now. */
static uint32_t sendable(const struct flow *flow, uint64_t now_ps, uint32_t index)
{
    const struct flow_port *port = &flow->ports[index];
    uint32_t lanes = 0;
    for (uint32_t asking = port->asking; asking != 0; asking &= asking - 1) {
        uint32_t number = (uint32_t)__builtin_ctz(asking);
        const struct flow_lane *lane = flow_lane(flow, index, number);
        const struct flow_stay *stay = flow_stay(flow, lane->requests.first);
        bool is_management = flow_is_management(flow, number);
        uint32_t flits = wire_ib_blocks(flow_body(flow, stay->body)->bytes);
        if (stay->ready_ps <= now_ps && (is_management ? port->is_alive : port->carries) &&
            (is_management || flow_has_credit(lane, flits))) {
            lanes |= UINT32_C(1) << number;
        }
    }
    return lanes;
}

/* The next lane of a table that can send; false: none of its rows can. The turn goes on only when
 * the row has used up its weight or has nothing to send. */
static bool choose_in_table(const struct subnet_arbitration_row *rows, struct flow_turn *turn,
                            uint32_t lanes, uint32_t *lane)
{
    const struct subnet_arbitration_row *row = &rows[turn->row];
    if ((lanes & turn->lanes) == 0) {
        return false;
    }
    if (turn->left > 0 && row->weight > 0 && lanes >> row->vl & 1) {
        *lane = row->vl;
        return true;
    }
    uint8_t next = turn->row;
    for (uint32_t i = 0; i < turn->rows; i++) {
        next = next + 1 < turn->rows ? (uint8_t)(next + 1) : 0;
        row = &rows[next];
        if (row->weight > 0 && lanes >> row->vl & 1) {
            turn->row = next;
            turn->left = row->weight;
            *lane = row->vl;
            return true;
        }
    }
    return false;
}

/* What a table holds now; its turn goes on from where it was. */
static void read_table(const struct subnet_arbitration_row *rows, struct flow_turn *turn)
{
    turn->rows = 0;
    turn->lanes = 0;
    for (uint32_t i = 0; i < SUBNET_ARBITRATION_ROWS; i++) {
        if (rows[i].weight > 0 && rows[i].vl < SUBNET_DATA_VLS) {
            turn->lanes |= (uint16_t)(1U << rows[i].vl);
            turn->rows = (uint8_t)(i + 1);
        }
    }
}

void flow_read_tables(struct flow *flow, uint32_t index)
{
    read_table(flow->subnet->ports[index].high, &flow->ports[index].high);
    read_table(flow->subnet->ports[index].low, &flow->ports[index].low);
}

/* Management goes first. High priority goes before low, but when it has sent what its limit allows
 * while low waited, low has a turn. A lane that stands in no table may not send at all. */
static bool choose_lane(struct flow *flow, uint32_t index, uint32_t lanes, uint32_t *lane,
                        struct flow_turn **turn)
{
    struct flow_port *port = &flow->ports[index];
    const struct subnet_port *of = &flow->subnet->ports[index];
    uint32_t management = flow->lane_count - 1;
    *turn = NULL;
    if (lanes >> management & 1) {
        *lane = management;
        return true;
    }
    bool may_high = of->high_limit == HIGH_UNLIMITED || port->high_left >= 0;
    if (may_high && choose_in_table(of->high, &port->high, lanes, lane)) {
        *turn = &port->high;
        return true;
    }
    if (choose_in_table(of->low, &port->low, lanes, lane)) {
        *turn = &port->low;
        port->high_left = of->high_limit * HIGH_UNIT_FLITS;
        return true;
    }
    if (!may_high && choose_in_table(of->high, &port->high, lanes, lane)) {
        *turn = &port->high; /* low had its turn and nothing to send */
        port->high_left = of->high_limit * HIGH_UNIT_FLITS;
        return true;
    }
    return false;
}

/* ---- Sending ---------------------------------------------------------------------------- */

static uint32_t damage(struct flow *flow, uint32_t bytes)
{
    uint64_t bits = 8 * (uint64_t)bytes;
    uint64_t at = 0;
    uint64_t place;
    uint32_t wrong = 0;
    while (bit_errors_next(&flow->errors, bits, &at, &place)) {
        wrong++;
    }
    return wrong;
}

static void count_sent(struct flow *flow, uint32_t index, const struct flow_body *body,
                       uint32_t wrong_bits)
{
    struct subnet_counters *sent = &flow->subnet->ports[index].counters;
    struct subnet_counters *received = &flow->subnet->ports[flow->ports[index].peer].counters;
    uint64_t words = (body->bytes - 2) / 4;
    bool is_multicast = body->dlid >= SUBNET_MULTICAST_LID;
    sent->xmit_words += words;
    sent->xmit_packets++;
    sent->multicast_xmit_packets += is_multicast;
    received->rcv_words += words;
    received->rcv_packets++;
    received->multicast_rcv_packets += is_multicast;
    received->symbol_errors += wrong_bits;
    flow->counters.hops++;
    flow->counters.flit_hops += wire_ib_blocks(body->bytes);
}

/* The packet's stay behind the cable. */
static void put_arrival(struct flow *flow, uint64_t now_ps, uint32_t slot, uint32_t lane,
                        uint64_t duration_ps, uint32_t wrong_bits)
{
    uint32_t next_slot;
    struct flow_stay *next = sim_slots_take(&flow->stays, &next_slot);
    struct flow_stay *stay = flow_stay(flow, slot);
    const struct flow_port *port = &flow->ports[stay->port_out];
    const struct flow_port *peer = &flow->ports[port->peer];
    uint64_t head_ps = now_ps + flow->config.cable_ps;
    uint64_t tail_ps = head_ps + duration_ps;
    *next = (struct flow_stay){
        .head_ps = head_ps,
        .tail_ps = tail_ps,
        .body = stay->body,
        .owner = next_slot,
        .copy_next = FLOW_NONE,
        .behind = slot,
        .ahead = FLOW_NONE,
        .port_in = port->peer,
        .port_out = FLOW_NONE,
        .epoch = peer->epoch,
        .wrong_bits = (uint16_t)(stay->wrong_bits + wrong_bits),
        .hops = (uint16_t)(stay->hops + !peer->is_board),
        .lane_in = (uint8_t)lane,
        .is_broken = flow_stay(flow, stay->owner)->is_broken,
    };
    stay->ahead = next_slot;
    flow_body(flow, stay->body)->stays++;
    uint64_t at_ps = peer->is_board ? (flow->config.at_head ? head_ps : tail_ps)
                                    : head_ps + flow->config.switch_ps;
    sim_events_put(flow->user.events, at_ps, flow->user.event_kind, next_slot,
                   flow_event_value(FLOW_ARRIVES, 0, 0, 0));
}

static void show(const struct flow *flow, uint64_t now_ps, const struct flow_stay *stay,
                 uint64_t duration_ps, uint32_t wrong_bits)
{
    const struct flow_body *body = flow_body(flow, stay->body);
    const struct flow_sight sight = {
        .from_ps = now_ps,
        .to_ps = now_ps + duration_ps,
        .ready_ps = stay->ready_ps,
        .from_port = stay->port_out,
        .vl = body->is_management ? SUBNET_MANAGEMENT_VL : stay->lane_out,
        .wrong_bits = stay->wrong_bits + wrong_bits,
        .slid = body->slid,
        .dlid = body->dlid,
        .sl = body->sl,
        .bytes = body->bytes,
        .tag = body->tag,
    };
    flow->user.sight(flow->user.context, &sight);
}

/* Takes the first request out of a lane of an output. */
static uint32_t take_request(struct flow *flow, uint32_t index, uint32_t lane_number)
{
    struct flow_lane *lane = flow_lane(flow, index, lane_number);
    uint32_t slot = lane->requests.first;
    lane->requests.first = flow_stay(flow, slot)->request_next;
    if (lane->requests.first == FLOW_NONE) {
        lane->requests.last = FLOW_NONE;
        flow->ports[index].asking &= (uint16_t) ~(1U << lane_number);
    }
    return slot;
}

static void begin(struct flow *flow, uint64_t now_ps, uint32_t index, uint32_t lane_number,
                  struct flow_turn *turn)
{
    struct flow_port *port = &flow->ports[index];
    uint32_t slot = take_request(flow, index, lane_number);
    struct flow_stay *stay = flow_stay(flow, slot);
    struct flow_body *body = flow_body(flow, stay->body);
    uint32_t flits = wire_ib_blocks(body->bytes);
    uint64_t duration_ps = flow_duration_ps(body->bytes, port->width);
    struct flow_lane *lane = flow_lane(flow, index, lane_number);
    if (turn) {
        lane->sent = wire_ib_blocks_add(lane->sent, flits);
        turn->left = (int16_t)(turn->left - (int32_t)flits);
        bool counts = turn == &port->high &&
                      flow->subnet->ports[index].high_limit != HIGH_UNLIMITED;
        port->high_left -= counts ? (int32_t)flits : 0;
    }
    if (port->wait_from_ps != UINT64_MAX) {
        flow->subnet->ports[index].counters.xmit_wait += (now_ps - port->wait_from_ps) /
                                                         FLOW_CYCLE_PS;
        port->wait_from_ps = UINT64_MAX;
    }
    port->free_ps = now_ps + duration_ps;
    port->busy_ps += duration_ps;
    port->wakes_ps = port->free_ps;
    sim_events_put(flow->user.events, port->free_ps, flow->user.event_kind, slot,
                   flow_event_value(FLOW_LEAVES, 0, 0, 0));
    uint32_t wrong_bits = damage(flow, body->bytes);
    count_sent(flow, index, body, wrong_bits);
    put_arrival(flow, now_ps, slot, lane_number, duration_ps, wrong_bits);
    stay = flow_stay(flow, slot);
    if (flow->user.sight) {
        show(flow, now_ps, stay, duration_ps, wrong_bits);
    }
    if (flow_stay(flow, stay->owner)->port_in == FLOW_NONE) {
        body->entered_ps = now_ps;
        port->queued--;
        if (flow->user.entered) {
            flow->user.entered(flow->user.context, body->tag, index);
        }
    }
}

/* ---- Link packets ----------------------------------------------------------------------- */

/* Tells the neighbour how far it may send on a lane. */
static void send_link_packet(struct flow *flow, uint64_t now_ps, uint32_t index, uint32_t number)
{
    struct flow_port *port = &flow->ports[index];
    struct flow_lane *lane = flow_lane(flow, index, number);
    uint64_t duration_ps = (uint64_t)((FLOW_LINK_PACKET_BYTES + port->width - 1) / port->width) *
                           FLOW_CYCLE_PS;
    port->owed &= (uint16_t) ~(1U << number);
    port->free_ps = now_ps + duration_ps;
    lane->told = lane->left;
    flow->counters.link_packets++;
    uint32_t wrong_bits = damage(flow, WIRE_IB_LINK_BYTES);
    if (wrong_bits > 0) {
        flow->counters.link_packets_lost++;
        flow->subnet->ports[port->peer].counters.symbol_errors++;
        sim_events_put(flow->user.events, now_ps + flow->config.refresh_ps, flow->user.event_kind,
                       index, flow_event_value(FLOW_REFRESHES, number, 0, port->epoch));
    } else {
        sim_events_put(
            flow->user.events, port->free_ps + flow->config.cable_ps, flow->user.event_kind,
            port->peer,
            flow_event_value(FLOW_CREDITS, number, lane->left, flow->ports[port->peer].epoch));
    }
    if (flow->user.sight) {
        const struct flow_sight sight = {.from_ps = now_ps,
                                         .to_ps = port->free_ps,
                                         .from_port = index,
                                         .vl = (uint8_t)number,
                                         .is_link_packet = true,
                                         .wrong_bits = wrong_bits,
                                         .bytes = WIRE_IB_LINK_BYTES,
                                         .fctbs = lane->sent,
                                         .fccl = lane->left};
        flow->user.sight(flow->user.context, &sight);
    }
}

void flow_refresh(struct flow *flow, uint64_t now_ps, uint32_t port, uint32_t lane)
{
    flow->ports[port].owed |= (uint16_t)(1U << lane);
    flow_look(flow, now_ps, port);
}

void flow_free_places(struct flow *flow, uint64_t now_ps, uint32_t port, uint32_t lane_number,
                      uint32_t flits)
{
    struct flow_lane *lane = flow_lane(flow, port, lane_number);
    if (flow_is_management(flow, lane_number)) {
        lane->held -= flits;
        return;
    }
    lane->left = wire_ib_blocks_add(lane->left, flits);
    uint32_t untold = wire_ib_credits(lane->left, lane->told);
    if (4 * untold >= flow->config.buffer_flits && flow->ports[port].is_alive) {
        flow_refresh(flow, now_ps, port, lane_number);
    }
}

/* ---- What an output does ---------------------------------------------------------------- */

void flow_look(struct flow *flow, uint64_t now_ps, uint32_t index)
{
    struct flow_port *port = &flow->ports[index];
    uint32_t lane;
    struct flow_turn *turn;
    if (!port->is_alive) {
        return;
    }
    if (port->free_ps <= now_ps && port->owed != 0) {
        send_link_packet(flow, now_ps, index, (uint32_t)__builtin_ctz(port->owed));
    }
    if (port->free_ps > now_ps) {
        if (port->wakes_ps != port->free_ps && (port->owed | port->asking) != 0) {
            port->wakes_ps = port->free_ps;
            sim_events_put(flow->user.events, port->free_ps, flow->user.event_kind, index,
                           flow_event_value(FLOW_FREES, 0, 0, 0));
        }
        return;
    }
    if (port->asking == 0) {
        return;
    }
    if (choose_lane(flow, index, sendable(flow, now_ps, index), &lane, &turn)) {
        begin(flow, now_ps, index, lane, turn);
    } else if (port->wait_from_ps == UINT64_MAX) {
        port->wait_from_ps = now_ps;
    }
}

void flow_ask(struct flow *flow, uint64_t now_ps, uint32_t slot)
{
    struct flow_stay *stay = flow_stay(flow, slot);
    struct flow_port *port = &flow->ports[stay->port_out];
    struct flow_lane *lane = flow_lane(flow, stay->port_out, stay->lane_out);
    const struct flow_stay *owner = flow_stay(flow, stay->owner);
    stay->request_next = FLOW_NONE;
    stay->ready_ps = now_ps;
    if (owner->port_in != FLOW_NONE && flow->ports[owner->port_in].width < port->width) {
        /* Its tail must not be overtaken. */
        uint64_t duration_ps = flow_duration_ps(flow_body(flow, stay->body)->bytes, port->width);
        uint64_t tail_ps = owner->tail_ps + flow->config.switch_ps;
        stay->ready_ps = tail_ps > now_ps + duration_ps ? tail_ps - duration_ps : now_ps;
    }
    port->queued += owner->port_in == FLOW_NONE;
    if (lane->requests.first == FLOW_NONE) {
        lane->requests = (struct flow_queue){slot, slot};
        port->asking |= (uint16_t)(1U << stay->lane_out);
    } else {
        flow_stay(flow, lane->requests.last)->request_next = slot;
        lane->requests.last = slot;
    }
    if (stay->ready_ps > now_ps) {
        sim_events_put(flow->user.events, stay->ready_ps, flow->user.event_kind, stay->port_out,
                       flow_event_value(FLOW_LOOKS, 0, 0, 0));
    } else if (lane->requests.first == slot) {
        flow_look(flow, now_ps, stay->port_out);
    }
}

/* ---- Cables that die and come back ------------------------------------------------------ */

/* Those that wait in a switch for an output that carries nothing any more are lost. */
static void drop_requests(struct flow *flow, uint64_t now_ps, uint32_t index, enum flow_loss why,
                          bool with_management)
{
    for (uint32_t number = 0; number < flow->lane_count - !with_management; number++) {
        struct flow_queue *requests = &flow_lane(flow, index, number)->requests;
        if (flow->ports[index].is_board || requests->first == FLOW_NONE) {
            continue; /* at their source they wait */
        }
        uint32_t slot = requests->first;
        *requests = (struct flow_queue){FLOW_NONE, FLOW_NONE};
        flow->ports[index].asking &= (uint16_t) ~(1U << number);
        while (slot != FLOW_NONE) {
            const struct flow_stay *stay = flow_stay(flow, slot);
            uint32_t next = stay->request_next;
            flow->ports[index].queued -= flow_stay(flow, stay->owner)->port_in == FLOW_NONE;
            flow_discard(flow, now_ps, slot, why);
            slot = next;
        }
    }
}

/* A packet whose tail will not come is broken here and wherever its heads are by now; what other
 * branches of a multicast have got is not. */
static void break_stay(struct flow *flow, uint32_t slot)
{
    flow_stay(flow, slot)->is_broken = true;
    for (; slot != FLOW_NONE; slot = flow_stay(flow, slot)->copy_next) {
        if (flow_stay(flow, slot)->ahead != FLOW_NONE) {
            break_stay(flow, flow_stay(flow, slot)->ahead);
        }
    }
}

/* What the cable had not brought in whole is broken. */
static void break_arrivals(struct flow *flow, uint64_t now_ps, uint32_t index)
{
    for (uint32_t number = 0; number < flow->lane_count; number++) {
        uint32_t slot = flow_lane(flow, index, number)->buffer.first;
        for (; slot != FLOW_NONE; slot = flow_stay(flow, slot)->lane_next) {
            if (flow_stay(flow, slot)->tail_ps > now_ps) {
                break_stay(flow, slot);
            }
        }
    }
}

/* Both ends begin anew: the sender may fill what is free in the receiver's buffer. */
static void begin_anew(struct flow *flow, uint32_t index)
{
    for (uint32_t number = 0; number + 1 < flow->lane_count; number++) {
        struct flow_lane *in = flow_lane(flow, index, number);
        struct flow_lane *out = flow_lane(flow, flow->ports[index].peer, number);
        uint32_t taken = in->held;
        for (uint32_t slot = in->buffer.first; slot != FLOW_NONE;
             slot = flow_stay(flow, slot)->lane_next) {
            taken += wire_ib_blocks(flow_body(flow, flow_stay(flow, slot)->body)->bytes);
        }
        in->left = (uint16_t)(flow->config.buffer_flits - taken);
        in->told = in->left;
        out->sent = 0;
        out->limit = in->left;
    }
}

/* Looks at a port's cable and state. */
static void see_change(struct flow *flow, uint64_t now_ps, uint32_t index)
{
    struct flow_port *port = &flow->ports[index];
    const struct subnet_port *of = &flow->subnet->ports[index];
    bool was_alive = port->is_alive;
    bool carried = port->carries;
    port->is_alive = of->peer != SUBNET_NONE && !of->is_cut;
    port->carries = port->is_alive && of->state == SUBNET_ACTIVE;
    port->drops = (was_alive && !port->is_alive) || (carried && !port->carries);
    flow_read_tables(flow, index);
    if (was_alive && !port->is_alive) {
        port->epoch++;
        port->owed = 0;
        break_arrivals(flow, now_ps, index);
    }
    if (!was_alive && port->is_alive) {
        begin_anew(flow, index);
    }
}

/* All ports are as they are now before the user hears of a loss: it may send at once. */
void flow_changed(struct flow *flow, uint64_t now_ps)
{
    flow->version = flow->subnet->version;
    for (uint32_t i = 0; i < flow->port_count; i++) {
        see_change(flow, now_ps, i);
    }
    for (uint32_t i = 0; i < flow->port_count; i++) {
        const struct flow_port *port = &flow->ports[i];
        if (port->drops) {
            drop_requests(flow, now_ps, i, port->is_alive ? FLOW_NO_WAY : FLOW_CUT,
                          !port->is_alive);
        }
    }
    for (uint32_t i = 0; i < flow->port_count; i++) {
        flow_look(flow, now_ps, i);
    }
}
