/* The sending half of bridges: lines from the NIC become frames, which are kept until they are
 * acknowledged. Also everything that both halves need. */
#include "sim/subnet/bridge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/bridge_state.h"

/* Frames that a lane of a board has in the subnet's queue: one on the cable, one behind it. More
 * would only be resent ones that are in each other's way. */
enum { QUEUED_MAX = 2 };

void bridge_config_default(struct bridge_config *config)
{
    *config = (struct bridge_config){
        .frame_lines = 8,       /* doc/infiniband.md: by experiment */
        .line_ps = 32000,       /* SW2(B): a frame of 80 bits at 31.25 MHz */
        .convert_ps = 32000,    /* assumed: two cycles of the board's 62.5 MHz */
        .window = 256,          /* assumed */
        .ack_frames = 8,        /* assumed */
        .ack_ps = 2000000,      /* assumed: 2 us */
        .resend_ps = 200000000, /* assumed: 200 us */
        .memory_packets = 128,  /* assumed: 256 KB of an XC2VP40 */
    };
}

void bridge_frames_rules(const struct bridge_config *config, struct frames_config *frames)
{
    *frames = (struct frames_config){
        .window = config->window,
        .ack_frames = config->ack_frames,
        .ack_cycles = (uint32_t)bridge_cycle(config->ack_ps),
        .resend_cycles = (uint32_t)bridge_cycle(config->resend_ps),
        .doublings_most = 6, /* assumed: up to 64 times as long in a full subnet */
        .literal_rules = config->literal_rules,
    };
}

const char *bridge_config_objection(const struct bridge_config *config, const struct subnet *subnet,
                                    char text[TOPOLOGY_ERROR_BYTES])
{
    struct frames_config frames;
    uint32_t lines_max = wire_ib_frame_lines_max(subnet->config.mtu);
    text[0] = '\0';
    bridge_frames_rules(config, &frames);
    if (config->frame_lines == 0 || config->frame_lines > lines_max) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES,
                       "a frame has %u lines; with an MTU of %u it may have 1 to %u",
                       config->frame_lines, subnet->config.mtu, lines_max);
    } else if (config->memory_packets == 0) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "a bridge has no memory for a packet");
    } else if (bridge_cycle(config->resend_ps) > UINT32_MAX ||
               bridge_cycle(config->ack_ps) > UINT32_MAX) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "a timer of frames is longer than 17 s");
    } else if (frames_config_objection(&frames)) {
        (void)snprintf(text, TOPOLOGY_ERROR_BYTES, "frames: %s", frames_config_objection(&frames));
    }
    return text[0] ? text : NULL;
}

/* ---- What a frame holds ----------------------------------------------------------------- */

/* A packet's lines follow from its serial number. */
static void make_line(const struct bridge_frame *frame, uint32_t index, struct wire_line *line)
{
    uint32_t lines = bridge_lines(frame->bytes);
    struct base_random random = {.state = frame->serial * UINT64_C(0x10001) + index};
    uint64_t data = base_random_next(&random);
    line->kind = lines == 1          ? WIRE_LINE_SINGLE
                 : index == 0        ? WIRE_LINE_HEADER
                 : index < lines - 1 ? WIRE_LINE_DATA
                                     : WIRE_LINE_TAIL;
    line->bytes = WIRE_LINE_DATA_BYTES;
    if (line->kind == WIRE_LINE_TAIL) {
        line->bytes = (uint8_t)(frame->bytes - WIRE_LINE_DATA_BYTES * (lines - 2));
    }
    memset(line->data, 0, sizeof line->data);
    memcpy(line->data, &data, line->bytes);
}

void bridge_frame_lines(const struct bridge_frame *frame, struct wire_line *lines)
{
    for (uint32_t i = 0; i < frame->count; i++) {
        make_line(frame, frame->first_line + i, &lines[i]);
    }
}

uint8_t bridge_level(const struct bridges *bridges, uint32_t source, uint32_t target, uint32_t flow)
{
    return bridges->user.level ? bridges->user.level(bridges->user.context, source, target, flow)
                               : (uint8_t)flow;
}

uint32_t bridge_frame_bytes(const struct bridges *bridges, const struct bridge_frame *frame,
                            uint8_t vl, uint8_t sl, unsigned char *to)
{
    struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    const struct wire_ib_frame wire = {
        .kind = (enum wire_ib_frame_kind)frame->kind,
        .vl = vl,
        .sl = sl,
        .flow = frame->flow,
        .dlid = bridges->subnet->ports[bridges->boards[frame->target].port].lid,
        .slid = bridges->subnet->ports[bridges->boards[frame->source].port].lid,
        .number = frame->number,
        .count = frame->count,
    };
    bridge_frame_lines(frame, lines);
    wire_ib_frame_encode(&wire, lines, to);
    return wire_ib_frame_bytes(frame->count);
}

uint32_t bridges_bytes(const struct bridges *bridges, const struct flow_sight *sight,
                       unsigned char *to)
{
    const struct bridge_frame *frame = sim_slots_at(&bridges->frames, (uint32_t)sight->tag);
    return bridge_frame_bytes(bridges, frame, sight->vl, sight->sl, to);
}

void bridge_put_event(struct bridges *bridges, uint64_t at_ps, enum bridge_event_kind kind,
                      uint32_t board, uint64_t value)
{
    sim_events_put(bridges->user.events, at_ps, bridges->user.event_kind + 1, board,
                   (uint64_t)kind << 56 | value);
}

/* Timers are looked at in ticks: an event for each outlet would be far more than all others. */
static uint64_t tick_ps(const struct bridges *bridges)
{
    enum { TICKS = 8 }; /* in the shortest timer */
    uint64_t ps = bridges->config.resend_ps / TICKS;
    return ps > FLOW_CYCLE_PS ? ps : FLOW_CYCLE_PS;
}

/* ---- Outlets ---------------------------------------------------------------------------- */

static struct bridge_outlet *outlet_of(struct bridges *bridges, uint32_t board, uint32_t peer,
                                       uint32_t flow)
{
    struct bridge_outlet **outlet = &bridges->boards[board].outlets[bridge_pair(peer, flow)];
    if (!*outlet) {
        struct frames_config rules;
        bridge_frames_rules(&bridges->config, &rules);
        *outlet = calloc(1, sizeof **outlet);
        INVARIANT(*outlet);
        (*outlet)->peer = peer;
        (*outlet)->flow = flow;
        frames_sender_init(&(*outlet)->sender, &rules, 0);
    }
    return *outlet;
}

static struct bridge_frame *kept_at(const struct bridge_outlet *outlet, uint16_t number)
{
    return &outlet->kept[number & (outlet->kept_room - 1)];
}

/* Makes room for one more frame. Most outlets never need a whole window, and there are as many as
 * pairs of boards. */
static void keep_room(struct bridge_outlet *outlet, uint32_t window)
{
    enum { ROOM_FIRST = 4 };
    const struct frames_sender *sender = &outlet->sender;
    struct bridge_outlet old = *outlet;
    if ((uint16_t)(sender->end - sender->oldest) < outlet->kept_room) {
        return;
    }
    uint32_t room = outlet->kept_room > 0 ? 2 * outlet->kept_room : ROOM_FIRST;
    outlet->kept_room = room < window ? room : window;
    outlet->kept = calloc(outlet->kept_room, sizeof *outlet->kept);
    INVARIANT(outlet->kept);
    for (uint16_t number = sender->oldest; number != sender->end; number++) {
        *kept_at(outlet, number) = *kept_at(&old, number);
    }
    free(old.kept);
}

/* Puts an outlet that has frames to send last into the circle; one that waits for answers among
 * those that ticks look at. */
static void look_at_outlet(struct bridges *bridges, uint64_t now_ps, uint32_t number,
                           struct bridge_outlet *outlet)
{
    struct bridge_board *board = &bridges->boards[number];
    struct bridge_lane *lane = &board->lanes[outlet->flow];
    uint64_t due = frames_sender_due(&outlet->sender);
    if (outlet->is_ready || due == FRAMES_NEVER) {
        return;
    }
    if (due <= bridge_cycle(now_ps)) {
        outlet->is_ready = true;
        outlet->next = lane->ready ? lane->ready->next : outlet;
        if (lane->ready) {
            lane->ready->next = outlet;
        }
        lane->ready = outlet;
    } else if (!outlet->is_unanswered) {
        outlet->is_unanswered = true;
        outlet->unanswered_next = board->unanswered;
        board->unanswered = outlet;
    }
    if (board->unanswered && !board->ticks) {
        board->ticks = true;
        bridge_put_event(bridges, now_ps + tick_ps(bridges), BRIDGE_TICKS, number, 0);
    }
}

/* Looks at the timers of all outlets that wait for answers. */
static void tick(struct bridges *bridges, uint64_t now_ps, uint32_t number)
{
    struct bridge_board *board = &bridges->boards[number];
    struct bridge_outlet *outlet = board->unanswered;
    bool is_ready[BRIDGE_FLOWS] = {false};
    board->unanswered = NULL;
    board->ticks = false;
    while (outlet) {
        struct bridge_outlet *next = outlet->unanswered_next;
        outlet->is_unanswered = false;
        look_at_outlet(bridges, now_ps, number, outlet);
        is_ready[outlet->flow] = is_ready[outlet->flow] || outlet->is_ready;
        outlet = next;
    }
    for (uint32_t flow = 0; flow < BRIDGE_FLOWS; flow++) {
        if (is_ready[flow]) {
            bridge_pump(bridges, now_ps, number, flow);
        }
    }
}

/* The next frame of the outlets that take turns; false: none has any. */
static bool next_frame(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint32_t flow,
                       struct bridge_frame *frame)
{
    struct bridge_lane *lane = &bridges->boards[board].lanes[flow];
    while (lane->ready) {
        struct bridge_outlet *outlet = lane->ready->next;
        uint16_t number;
        uint64_t resent = outlet->sender.resent_count;
        uint64_t timeouts = outlet->sender.timeout_count;
        bool has = frames_sender_next(&outlet->sender, bridge_cycle(now_ps), &number);
        if (outlet == lane->ready) {
            lane->ready = NULL;
        } else {
            lane->ready->next = outlet->next;
        }
        outlet->is_ready = false;
        look_at_outlet(bridges, now_ps, board, outlet);
        if (has) {
            *frame = *kept_at(outlet, number);
            frame->number = number;
            bridges->counters.frames_resent += outlet->sender.resent_count - resent;
            bridges->counters.timeouts += outlet->sender.timeout_count - timeouts;
            return true;
        }
    }
    return false;
}

/* Gives the subnet frames for a lane, answers first. */
void bridge_pump(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint32_t flow)
{
    struct bridge_lane *lane = &bridges->boards[board].lanes[flow];
    while (lane->queued < QUEUED_MAX) {
        uint32_t slot;
        struct bridge_frame next;
        if (!bridge_next_answer(bridges, now_ps, board, flow, &next) &&
            !next_frame(bridges, now_ps, board, flow, &next)) {
            return;
        }
        struct bridge_frame *frame = sim_slots_take(&bridges->frames, &slot);
        *frame = next;
        frame->is_queued = true;
        lane->queued++;
        bridges->counters.frames += frame->kind == WIRE_IB_FRAME_DATA;
        bridges->counters.answers += frame->kind != WIRE_IB_FRAME_DATA;
        const struct flow_packet packet = {
            .dlid = bridges->subnet->ports[bridges->boards[frame->target].port].lid,
            .sl = bridge_level(bridges, frame->source, frame->target, flow),
            .is_held = true,
            .bytes = wire_ib_frame_bytes(frame->count),
            .tag = slot,
        };
        flow_send(bridges->flow, now_ps, bridges->boards[board].port, &packet);
    }
}

/* ---- From the NIC ----------------------------------------------------------------------- */

/* The lines of the next frame come in, one after the other. */
static void take_lines(struct bridges *bridges, uint64_t from_ps, uint32_t number)
{
    struct bridge_board *board = &bridges->boards[number];
    if (board->packet == BRIDGE_NONE) {
        return;
    }
    const struct bridge_packet *packet = sim_slots_at(&bridges->packets, board->packet);
    uint32_t count = packet->lines - board->line;
    count = count < bridges->config.frame_lines ? count : bridges->config.frame_lines;
    from_ps = from_ps > packet->sent_ps ? from_ps : packet->sent_ps;
    board->nic_in_ps = from_ps + count * bridges->config.line_ps;
    bridge_put_event(bridges, board->nic_in_ps + bridges->config.convert_ps, BRIDGE_FRAME_IN,
                     number, 0);
}

/* A frame is whole: it is kept and sent, unless its peer's window is full. */
static void keep_frame(struct bridges *bridges, uint64_t now_ps, uint32_t number)
{
    struct bridge_board *board = &bridges->boards[number];
    uint32_t slot = board->packet;
    const struct bridge_packet *packet = sim_slots_at(&bridges->packets, slot);
    struct bridge_outlet *outlet = outlet_of(bridges, number, packet->target, packet->flow);
    uint32_t flow = packet->flow;
    board->is_blocked = !frames_sender_has_room(&outlet->sender);
    if (board->is_blocked) {
        return;
    }
    uint32_t count = packet->lines - board->line;
    count = count < bridges->config.frame_lines ? count : bridges->config.frame_lines;
    keep_room(outlet, bridges->config.window);
    *kept_at(outlet, frames_sender_push(&outlet->sender)) = (struct bridge_frame){
        .serial = packet->serial,
        .tag = packet->tag,
        .sent_ps = packet->sent_ps,
        .source = packet->source,
        .target = packet->target,
        .bytes = packet->bytes,
        .first_line = board->line,
        .count = (uint16_t)count,
        .flow = (uint8_t)flow,
        .kind = WIRE_IB_FRAME_DATA,
    };
    board->line += count;
    if (board->line == packet->lines) {
        board->packet = packet->next;
        board->packet_count--;
        board->line = 0;
        sim_slots_give(&bridges->packets, slot);
    }
    look_at_outlet(bridges, now_ps, number, outlet);
    bridge_pump(bridges, now_ps, number, flow);
}

void bridge_answered(struct bridges *bridges, uint64_t now_ps, uint32_t number,
                     const struct bridge_frame *frame)
{
    struct bridge_board *board = &bridges->boards[number];
    struct bridge_outlet *outlet = outlet_of(bridges, number, frame->source, frame->flow);
    frames_sender_answered(
        &outlet->sender, bridge_cycle(now_ps),
        (struct frames_answer){.number = frame->number, .nack = frame->kind == WIRE_IB_FRAME_NACK});
    look_at_outlet(bridges, now_ps, number, outlet);
    bridge_pump(bridges, now_ps, number, frame->flow);
    if (board->is_blocked) {
        keep_frame(bridges, now_ps, number);
        if (!board->is_blocked) {
            take_lines(bridges, now_ps, number);
        }
    }
}

void bridges_send(struct bridges *bridges, uint64_t now_ps, uint32_t source, uint32_t target,
                  uint32_t flow, uint32_t bytes, uint64_t tag)
{
    uint32_t slot;
    INVARIANT(source < bridges->board_count && target < bridges->board_count);
    INVARIANT(flow < BRIDGE_FLOWS && bytes <= BRIDGE_PACKET_BYTES_MAX);
    struct bridge_board *board = &bridges->boards[source];
    struct bridge_packet *packet = sim_slots_take(&bridges->packets, &slot);
    *packet = (struct bridge_packet){
        .serial = bridges->serial_next++,
        .tag = tag,
        .sent_ps = now_ps,
        .source = source,
        .target = target,
        .flow = flow,
        .bytes = bytes,
        .lines = bridge_lines(bytes),
        .next = BRIDGE_NONE,
    };
    bridges->counters.packets++;
    bridges->under_way++;
    board->packet_count++;
    if (board->packet != BRIDGE_NONE) {
        struct bridge_packet *last = sim_slots_at(&bridges->packets, board->packet_last);
        last->next = slot;
        board->packet_last = slot;
        return;
    }
    board->packet = slot;
    board->packet_last = slot;
    take_lines(bridges, board->nic_in_ps, source);
}

/* ---- What the subnet tells ---------------------------------------------------------------- */

static void no_longer_queued(struct bridges *bridges, struct bridge_frame *frame)
{
    if (frame->is_queued) {
        frame->is_queued = false;
        bridges->boards[frame->source].lanes[frame->flow].queued--;
    }
}

static void entered(void *context, uint64_t tag, uint32_t port)
{
    struct bridges *bridges = context;
    struct bridge_frame *frame = sim_slots_at(&bridges->frames, (uint32_t)tag);
    (void)port;
    no_longer_queued(bridges, frame);
    bridge_pump(bridges, bridges->now_ps, frame->source, frame->flow);
}

static void lost(void *context, enum flow_loss why, uint64_t tag, uint32_t port)
{
    struct bridges *bridges = context;
    (void)why;
    (void)port;
    no_longer_queued(bridges, sim_slots_at(&bridges->frames, (uint32_t)tag));
    sim_slots_give(&bridges->frames, (uint32_t)tag);
}

static void delivered(void *context, const struct flow_delivery *delivery)
{
    struct bridges *bridges = context;
    uint32_t slot = (uint32_t)delivery->tag;
    struct bridge_frame *frame = sim_slots_at(&bridges->frames, slot);
    bool is_inside = frame->is_queued; /* to itself: it never enters a cable */
    uint32_t source = frame->source;
    uint32_t lane = frame->flow;
    no_longer_queued(bridges, frame);
    frame->vl = is_inside ? BRIDGE_NO_VL : delivery->vl;
    bridge_received(bridges, bridges->now_ps, bridges->board_of[delivery->target], slot);
    if (is_inside) {
        bridge_pump(bridges, bridges->now_ps, source, lane);
    }
}

static void bridge_sight(void *context, const struct flow_sight *sight)
{
    const struct bridges *bridges = context;
    bridges->user.sight(bridges->user.context, sight);
}

static bool is_seen(void *context, const struct flow_delivery *delivery, uint32_t wrong_bits,
                    struct base_random *chance)
{
    struct bridges *bridges = context;
    const struct bridge_frame *frame = sim_slots_at(&bridges->frames, (uint32_t)delivery->tag);
    return bridge_is_seen(bridges, frame, delivery, wrong_bits, chance);
}

/* ---- Opening and closing ---------------------------------------------------------------- */

struct bridges *bridges_open(struct subnet *subnet, const struct flow_config *flow_config,
                             const struct bridge_config *config, const struct bridge_user *user)
{
    struct bridges *bridges = calloc(1, sizeof *bridges);
    INVARIANT(bridges);
    bridges->subnet = subnet;
    bridges->config = *config;
    bridges->user = *user;
    bridges->boards = calloc(subnet->topology.board_count, sizeof *bridges->boards);
    bridges->board_of = calloc(subnet->port_count, sizeof *bridges->board_of);
    INVARIANT(bridges->boards && bridges->board_of);
    sim_slots_init(&bridges->packets, (sizeof(struct bridge_packet) + 7) / 8 * 8);
    sim_slots_init(&bridges->frames, (sizeof(struct bridge_frame) + 7) / 8 * 8);
    sim_slots_init(&bridges->assemblies, (sizeof(struct bridge_assembly) + 7) / 8 * 8);
    size_t pairs = bridge_pair(subnet->topology.board_count, 0);
    for (uint32_t node = 0; node < subnet->node_count; node++) {
        if (subnet_is_switch(subnet, node)) {
            continue;
        }
        struct bridge_board *board = &bridges->boards[bridges->board_count];
        board->port = subnet_port_index(subnet, node, 1);
        board->packet = board->assembly = board->at_nic = BRIDGE_NONE;
        board->outlets = calloc(pairs, sizeof *board->outlets);
        board->inlets = calloc(pairs, sizeof *board->inlets);
        INVARIANT(board->outlets && board->inlets);
        for (uint32_t i = 0; i < SUBNET_DATA_VLS; i++) {
            board->lanes[i].waiting = BRIDGE_NONE;
        }
        for (uint32_t p = 0; p <= subnet->nodes[node].port_count; p++) {
            bridges->board_of[subnet_port_index(subnet, node, p)] = bridges->board_count;
        }
        bridges->board_count++;
    }
    const struct flow_user flow_user = {
        .context = bridges,
        .sight = user->sight ? bridge_sight : NULL,
        .events = user->events,
        .event_kind = user->event_kind,
        .delivered = delivered,
        .lost = lost,
        .entered = entered,
        .is_seen = is_seen,
    };
    bridges->flow = flow_open(subnet, flow_config, &flow_user);
    return bridges;
}

void bridges_close(struct bridges *bridges)
{
    if (!bridges) {
        return;
    }
    size_t pairs = bridge_pair(bridges->board_count, 0);
    for (uint32_t i = 0; i < bridges->board_count; i++) {
        for (size_t pair = 0; pair < pairs; pair++) {
            if (bridges->boards[i].outlets[pair]) {
                free(bridges->boards[i].outlets[pair]->kept);
            }
            free(bridges->boards[i].outlets[pair]);
            free(bridges->boards[i].inlets[pair]);
        }
        free(bridges->boards[i].outlets);
        free(bridges->boards[i].inlets);
    }
    flow_close(bridges->flow);
    sim_slots_free(&bridges->packets);
    sim_slots_free(&bridges->frames);
    sim_slots_free(&bridges->assemblies);
    free(bridges->boards);
    free(bridges->board_of);
    free(bridges);
}

void bridges_event(struct bridges *bridges, const struct sim_event *event)
{
    bridges->now_ps = event->at;
    if (event->kind == bridges->user.event_kind) {
        flow_event(bridges->flow, event);
        return;
    }
    uint64_t value = event->value & ((UINT64_C(1) << 56) - 1);
    uint32_t board = event->subject;
    switch ((enum bridge_event_kind)(event->value >> 56)) {
    case BRIDGE_FRAME_IN:
        keep_frame(bridges, event->at, board);
        if (!bridges->boards[board].is_blocked) {
            take_lines(bridges, bridges->boards[board].nic_in_ps, board);
        }
        break;
    case BRIDGE_TICKS: tick(bridges, event->at, board); break;
    case BRIDGE_ANSWERS: bridge_answer_due(bridges, event->at, board, value); break;
    case BRIDGE_LINES_IN: bridge_lines_in(bridges, event->at, board, value); break;
    case BRIDGE_LINES_OUT: bridge_lines_out(bridges, event->at, board, value); break;
    }
}

void bridges_changed(struct bridges *bridges, uint64_t now_ps)
{
    bridges->now_ps = now_ps;
    flow_changed(bridges->flow, now_ps);
}

/* ---- For reports ------------------------------------------------------------------------ */

struct flow *bridges_flow(struct bridges *bridges)
{
    return bridges->flow;
}

uint32_t bridges_board_count(const struct bridges *bridges)
{
    return bridges->board_count;
}

uint32_t bridges_port(const struct bridges *bridges, uint32_t board)
{
    return bridges->boards[board].port;
}

uint64_t bridges_under_way(const struct bridges *bridges)
{
    return bridges->under_way;
}

uint64_t bridges_waiting(const struct bridges *bridges, uint32_t board)
{
    return bridges->boards[board].packet_count;
}

void bridge_counters(const struct bridges *bridges, struct bridge_counters *counters)
{
    *counters = bridges->counters;
}

uint64_t bridge_zero_load_ps(const struct bridges *bridges, uint32_t source, uint32_t target,
                             uint32_t bytes)
{
    enum { HOPS_ROOM = 1024 };
    const struct bridge_config *config = &bridges->config;
    uint32_t way[HOPS_ROOM];
    char text[TOPOLOGY_ERROR_BYTES];
    uint32_t from = bridges->boards[source].port;
    uint16_t lid = bridges->subnet->ports[bridges->boards[target].port].lid;
    uint32_t hops = subnet_way(bridges->subnet, from, lid, way, HOPS_ROOM, text);
    uint32_t lines = bridge_lines(bytes);
    uint64_t in_ps = 0;  /* the frame's lines have come */
    uint64_t out_ps = 0; /* the port to the NIC is free */
    uint64_t cable_ps = 0;
    INVARIANT(hops != SUBNET_NO_WAY);
    for (uint32_t line = 0; line < lines; line += config->frame_lines) {
        uint32_t count = lines - line < config->frame_lines ? lines - line : config->frame_lines;
        uint32_t frame_bytes = wire_ib_frame_bytes(count);
        uint64_t head_ps;
        in_ps += count * config->line_ps;
        uint64_t start_ps = in_ps + config->convert_ps;
        start_ps = cable_ps > start_ps ? cable_ps : start_ps;
        cable_ps = start_ps + flow_duration_ps(frame_bytes, bridges->subnet->ports[from].width);
        uint64_t at_ps = start_ps + config->convert_ps +
                         flow_zero_load_ps(bridges->flow, from, way, hops, frame_bytes, &head_ps);
        out_ps = (at_ps > out_ps ? at_ps : out_ps) + count * config->line_ps;
    }
    return out_ps;
}
