/* The receiving half of bridges: frames are checked, taken in order, answered, and their lines
 * given to the NIC. */
#include <stdlib.h>
#include <string.h>

#include "sim/subnet/bridge_state.h"
#include "wire/line.h"

static struct bridge_inlet *inlet_of(struct bridges *bridges, uint32_t board, uint32_t peer,
                                     uint32_t flow)
{
    struct bridge_inlet **inlet = &bridges->boards[board].inlets[bridge_pair(peer, flow)];
    if (!*inlet) {
        struct frames_config rules;
        bridge_frames_rules(&bridges->config, &rules);
        *inlet = calloc(1, sizeof **inlet);
        INVARIANT(*inlet);
        (*inlet)->peer = peer;
        (*inlet)->flow = flow;
        (*inlet)->assembly = BRIDGE_NONE;
        (*inlet)->timer_ps = UINT64_MAX;
        frames_receiver_init(&(*inlet)->receiver, &rules, 0);
    }
    return *inlet;
}

/* ---- Answers ---------------------------------------------------------------------------- */

static void look_at_inlet(struct bridges *bridges, uint64_t now_ps, uint32_t board,
                          struct bridge_inlet *inlet)
{
    struct bridge_lane *lane = &bridges->boards[board].lanes[inlet->flow];
    uint64_t due = frames_receiver_due(&inlet->receiver);
    if (inlet->answers || due == FRAMES_NEVER) {
        return;
    }
    if (due <= bridge_cycle(now_ps)) {
        inlet->answers = true;
        inlet->next = NULL;
        if (lane->answering) {
            lane->answering_last->next = inlet;
        } else {
            lane->answering = inlet;
        }
        lane->answering_last = inlet;
        bridge_pump(bridges, now_ps, board, inlet->flow);
    } else if (due * FLOW_CYCLE_PS < inlet->timer_ps) {
        inlet->timer_ps = due * FLOW_CYCLE_PS;
        bridge_put_event(bridges, inlet->timer_ps, BRIDGE_ANSWERS, board,
                         bridge_pair(inlet->peer, inlet->flow));
    }
}

void bridge_answer_due(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint64_t value)
{
    struct bridge_inlet *inlet = bridges->boards[board].inlets[value];
    if (inlet->timer_ps == now_ps) {
        inlet->timer_ps = UINT64_MAX;
        look_at_inlet(bridges, now_ps, board, inlet);
    }
}

bool bridge_next_answer(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint32_t flow,
                        struct bridge_frame *frame)
{
    struct bridge_lane *lane = &bridges->boards[board].lanes[flow];
    while (lane->answering) {
        struct bridge_inlet *inlet = lane->answering;
        struct frames_answer answer;
        lane->answering = inlet->next;
        inlet->answers = false;
        if (frames_receiver_answer(&inlet->receiver, bridge_cycle(now_ps), &answer)) {
            *frame = (struct bridge_frame){
                .source = board,
                .target = inlet->peer,
                .flow = (uint8_t)flow,
                .kind = answer.nack ? WIRE_IB_FRAME_NACK : WIRE_IB_FRAME_ACK,
                .number = answer.number,
            };
            return true;
        }
        look_at_inlet(bridges, now_ps, board, inlet);
    }
    return false;
}

/* ---- Bits ------------------------------------------------------------------------------- */

/* What the NIC gets: types and ECC are put back, and it takes them off again. */
static bool lines_are_right(const struct wire_line *lines, const struct wire_line *sent,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        unsigned char bits[WIRE_LINE_BYTES];
        struct wire_line line;
        wire_line_encode(&lines[i], bits);
        if (wire_line_decode(bits, &line) != WIRE_LINE_GOOD || line.kind != sent[i].kind ||
            line.bytes != sent[i].bytes || memcmp(line.data, sent[i].data, sizeof line.data) != 0) {
            return false;
        }
    }
    return true;
}

/* Reads the bits of a frame as its target does; false: it drops the frame. */
static bool read_bits(struct bridges *bridges, const struct bridge_frame *frame,
                      const unsigned char *bits, uint32_t bytes)
{
    struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    struct wire_line sent[WIRE_IB_FRAME_LINES_MAX];
    struct wire_ib_frame wire;
    if (wire_ib_frame_decode(bits, bytes, &wire, lines, WIRE_IB_FRAME_LINES_MAX) != WIRE_IB_GOOD) {
        return false;
    }
    bridge_frame_lines(frame, sent);
    bool is_right = (uint8_t)wire.kind == frame->kind && wire.flow == frame->flow &&
                    wire.number == frame->number && wire.count == frame->count &&
                    lines_are_right(lines, sent, frame->count);
    bridges->counters.lines_wrong += !is_right;
    return true;
}

bool bridge_is_seen(struct bridges *bridges, const struct bridge_frame *frame,
                    const struct flow_delivery *delivery, uint32_t wrong_bits,
                    struct base_random *chance)
{
    unsigned char bits[WIRE_IB_FRAME_BYTES_MAX];
    unsigned char wrong[WIRE_IB_FRAME_BYTES_MAX] = {0};
    uint32_t bytes = bridge_frame_bytes(bridges, frame, delivery->vl, delivery->sl, bits);
    for (uint32_t i = 0; i < wrong_bits && i < 8 * bytes; i++) {
        uint32_t at;
        do {
            at = (uint32_t)base_random_below(chance, 8 * (uint64_t)bytes);
        } while (wrong[at / 8] >> at % 8 & 1);
        wrong[at / 8] |= (unsigned char)(1U << at % 8);
    }
    for (uint32_t i = 0; i < bytes; i++) {
        bits[i] ^= wrong[i];
    }
    bool is_seen = !read_bits(bridges, frame, bits, bytes);
    bridges->counters.frames_seen += is_seen;
    bridges->counters.frames_wrong += !is_seen;
    return is_seen;
}

/* ---- To the NIC ------------------------------------------------------------------------- */

static struct bridge_assembly *assembly_at(const struct bridges *bridges, uint32_t slot)
{
    return sim_slots_at(&bridges->assemblies, slot);
}

static bool is_whole(const struct bridge_assembly *assembly)
{
    return assembly->lines_in == assembly->lines;
}

/* The next packet for the NIC: the oldest that is whole, otherwise the oldest. */
static uint32_t next_for_nic(const struct bridges *bridges, const struct bridge_board *board)
{
    for (uint32_t slot = board->assembly; slot != BRIDGE_NONE;
         slot = assembly_at(bridges, slot)->next) {
        if (is_whole(assembly_at(bridges, slot))) {
            return slot;
        }
    }
    return board->assembly;
}

/* Gives the NIC the lines that are there, if it is not being given any. */
static void give_lines(struct bridges *bridges, uint64_t now_ps, uint32_t number)
{
    struct bridge_board *board = &bridges->boards[number];
    if (board->is_giving) {
        return;
    }
    if (board->at_nic == BRIDGE_NONE) {
        board->at_nic = next_for_nic(bridges, board);
    }
    if (board->at_nic == BRIDGE_NONE) {
        return;
    }
    const struct bridge_assembly *assembly = assembly_at(bridges, board->at_nic);
    uint32_t count = assembly->lines_in - assembly->lines_out;
    if (count > 0) {
        board->is_giving = true;
        bridge_put_event(bridges, now_ps + count * bridges->config.line_ps, BRIDGE_LINES_OUT,
                         number, count);
    }
}

static void forget_assembly(struct bridges *bridges, struct bridge_board *board, uint32_t slot)
{
    uint32_t next = assembly_at(bridges, slot)->next;
    if (board->assembly == slot) {
        board->assembly = next;
    } else {
        uint32_t before = board->assembly;
        while (assembly_at(bridges, before)->next != slot) {
            before = assembly_at(bridges, before)->next;
        }
        assembly_at(bridges, before)->next = next;
        if (board->assembly_last == slot) {
            board->assembly_last = before;
        }
    }
    sim_slots_give(&bridges->assemblies, slot);
    board->memory_used--;
}

static void take_waiting(struct bridges *bridges, uint64_t now_ps, uint32_t number);

void bridge_lines_out(struct bridges *bridges, uint64_t now_ps, uint32_t number, uint64_t value)
{
    struct bridge_board *board = &bridges->boards[number];
    uint32_t slot = board->at_nic;
    struct bridge_assembly *assembly = assembly_at(bridges, slot);
    assembly->lines_out += (uint32_t)value;
    board->is_giving = false;
    if (assembly->lines_out == assembly->lines) {
        const struct bridge_delivery delivery = {
            .tag = assembly->tag,
            .source = assembly->source,
            .target = number,
            .flow = assembly->flow,
            .bytes = assembly->bytes,
            .sent_ps = assembly->sent_ps,
        };
        board->at_nic = BRIDGE_NONE;
        forget_assembly(bridges, board, slot);
        bridges->counters.delivered++;
        bridges->under_way--;
        bridges->user.delivered(bridges->user.context, &delivery);
    }
    give_lines(bridges, now_ps, number);
    take_waiting(bridges, now_ps, number);
}

void bridge_lines_in(struct bridges *bridges, uint64_t now_ps, uint32_t number, uint64_t value)
{
    struct bridge_assembly *assembly = assembly_at(bridges, (uint32_t)value);
    assembly->lines_in += (uint32_t)(value >> 32);
    give_lines(bridges, now_ps, number);
}

/* ---- Frames that come ------------------------------------------------------------------- */

static void begin_packet(struct bridges *bridges, uint32_t number, struct bridge_inlet *inlet,
                         const struct bridge_frame *frame)
{
    struct bridge_board *board = &bridges->boards[number];
    uint32_t slot;
    struct bridge_assembly *assembly = sim_slots_take(&bridges->assemblies, &slot);
    *assembly = (struct bridge_assembly){
        .tag = frame->tag,
        .sent_ps = frame->sent_ps,
        .source = frame->source,
        .flow = frame->flow,
        .bytes = frame->bytes,
        .lines = bridge_lines(frame->bytes),
        .next = BRIDGE_NONE,
    };
    inlet->assembly = slot;
    board->memory_used++;
    if (board->assembly == BRIDGE_NONE) {
        board->assembly = slot;
    } else {
        assembly_at(bridges, board->assembly_last)->next = slot;
    }
    board->assembly_last = slot;
}

static void take_data(struct bridges *bridges, uint64_t now_ps, uint32_t number,
                      const struct bridge_frame *frame)
{
    struct bridge_inlet *inlet = inlet_of(bridges, number, frame->source, frame->flow);
    if (frames_receiver_take(&inlet->receiver, bridge_cycle(now_ps), frame->number)) {
        if (frame->first_line == 0) {
            begin_packet(bridges, number, inlet, frame);
        }
        struct bridge_assembly *assembly = assembly_at(bridges, inlet->assembly);
        INVARIANT(assembly->lines_taken == frame->first_line && assembly->tag == frame->tag);
        assembly->lines_taken += frame->count;
        bridge_put_event(bridges, now_ps + bridges->config.convert_ps, BRIDGE_LINES_IN, number,
                         (uint64_t)frame->count << 32 | inlet->assembly);
        if (assembly->lines_taken == assembly->lines) {
            inlet->assembly = BRIDGE_NONE;
        }
    }
    look_at_inlet(bridges, now_ps, number, inlet);
}

static bool begins_without_memory(struct bridges *bridges, uint32_t number,
                                  const struct bridge_frame *frame)
{
    return frame->kind == WIRE_IB_FRAME_DATA && frame->first_line == 0 &&
           bridges->boards[number].memory_used >= bridges->config.memory_packets &&
           inlet_of(bridges, number, frame->source, frame->flow)->receiver.expected ==
               frame->number;
}

/* Takes a frame out of the buffer; false: it has to wait there. */
static bool take_frame(struct bridges *bridges, uint64_t now_ps, uint32_t number, uint32_t slot)
{
    const struct bridge_board *board = &bridges->boards[number];
    const struct bridge_frame frame = *(struct bridge_frame *)sim_slots_at(&bridges->frames, slot);
    bool has_no_memory = begins_without_memory(bridges, number, &frame);
    if (has_no_memory && board->at_nic != BRIDGE_NONE &&
        is_whole(assembly_at(bridges, board->at_nic))) {
        return false;
    }
    sim_slots_give(&bridges->frames, slot);
    if (has_no_memory) {
        bridges->counters.frames_dropped++;
    } else if (frame.kind == WIRE_IB_FRAME_DATA) {
        take_data(bridges, now_ps, number, &frame);
    } else {
        bridge_answered(bridges, now_ps, number, &frame);
    }
    if (frame.vl != BRIDGE_NO_VL) {
        flow_release(bridges->flow, now_ps, board->port, frame.vl,
                     wire_ib_frame_bytes(frame.count));
    }
    return true;
}

/* Frames that waited for memory are taken, as far as there is some. */
static void take_waiting(struct bridges *bridges, uint64_t now_ps, uint32_t number)
{
    for (uint32_t vl = 0; vl < SUBNET_DATA_VLS; vl++) {
        struct bridge_lane *lane = &bridges->boards[number].lanes[vl];
        while (lane->waiting != BRIDGE_NONE) {
            uint32_t slot = lane->waiting;
            uint32_t next = ((struct bridge_frame *)sim_slots_at(&bridges->frames, slot))->next;
            if (!take_frame(bridges, now_ps, number, slot)) {
                break;
            }
            lane->waiting = next;
        }
    }
}

void bridge_received(struct bridges *bridges, uint64_t now_ps, uint32_t number, uint32_t slot)
{
    struct bridge_frame *frame = sim_slots_at(&bridges->frames, slot);
    if (bridges->config.checks_all) {
        unsigned char bits[WIRE_IB_FRAME_BYTES_MAX];
        uint32_t bytes = bridge_frame_bytes(bridges, frame, 0, 0, bits);
        if (!read_bits(bridges, frame, bits, bytes)) {
            bridges->counters.lines_wrong++;
        }
    }
    struct bridge_lane *lane =
        &bridges->boards[number].lanes[frame->vl == BRIDGE_NO_VL ? 0 : frame->vl];
    if (lane->waiting == BRIDGE_NONE && take_frame(bridges, now_ps, number, slot)) {
        return;
    }
    frame->next = BRIDGE_NONE;
    if (lane->waiting == BRIDGE_NONE) {
        lane->waiting = slot;
    } else {
        struct bridge_frame *last = sim_slots_at(&bridges->frames, lane->waiting_last);
        last->next = slot;
    }
    lane->waiting_last = slot;
}
