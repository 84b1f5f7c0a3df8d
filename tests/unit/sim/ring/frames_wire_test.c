/* The whole way of a packet over one link, bit by bit: lines with ECC from the NIC, flits in
 * transfers with a CRC over a link that flips bits, the frames' rules, and lines with ECC to the
 * other NIC. What comes out is what went in. */
#include "unit/unit.h"

#include <stdlib.h>

#include "base/random.h"
#include "sim/frames.h"
#include "wire/ring_header.h"
#include "wire/transfer.h"

enum {
    WINDOW = 16,
    FLITS = 8, /* of a frame, at most */
    FLIT_BYTES = 12,
    PIPE = 64,
    LINK_CYCLES = 7,
    PACKETS = 20000,
    PACKET_BYTES = 100, /* at most */
    LINES_ROOM = (1 + (PACKET_BYTES + 7) / 8) * WIRE_LINE_BYTES,
};

struct sent {
    uint64_t arrival_cycle;
    uint32_t bytes;
    unsigned char
        content[WIRE_TRANSFER_OVERHEAD_BYTES + FLITS * (WIRE_FLIT_TAG_BYTES + FLIT_BYTES)];
};

struct pipe {
    struct sent sent[PIPE];
    uint32_t first, count;
};

static struct base_random chance = {.state = 46};
static struct pipe frames_pipe, answers_pipe;
static struct sent buffer[WINDOW];
static uint64_t turned_bits, damaged, corrected;

/* Flips each bit with a chance of 1 in `one_in`. */
static void turn_bits(unsigned char *bytes, uint32_t count, uint64_t one_in)
{
    static uint64_t until; /* bits that are still right */
    uint64_t bits = 8 * (uint64_t)count;
    uint64_t at = 0;
    while (until < bits - at) {
        at += until;
        bytes[at / 8] ^= (unsigned char)(1u << at % 8);
        turned_bits++;
        at++;
        /* The mean is about right; that the draw is not geometric does not matter here. */
        until = base_random_below(&chance, 2 * one_in);
    }
    until -= bits - at;
}

static void put(struct pipe *pipe, const struct sent *sent, uint64_t cycle, uint64_t one_in)
{
    assert_true(pipe->count < PIPE);
    struct sent *copy = &pipe->sent[(pipe->first + pipe->count++) % PIPE];
    *copy = *sent;
    copy->arrival_cycle = cycle + LINK_CYCLES;
    turn_bits(copy->content, copy->bytes, one_in);
}

static struct sent *arrived(struct pipe *pipe, uint64_t cycle)
{
    struct sent *sent = &pipe->sent[pipe->first % PIPE];
    if (pipe->count == 0 || sent->arrival_cycle > cycle) {
        return NULL;
    }
    pipe->first++;
    pipe->count--;
    return sent;
}

/* ---- Packets ------------------------------------------------------------------------------- */

/* A packet's bytes follow from its number. */
static uint32_t make_packet(uint64_t number, unsigned char packet[PACKET_BYTES])
{
    struct base_random random = {.state = number};
    uint32_t bytes = (uint32_t)base_random_below(&random, PACKET_BYTES + 1);
    for (uint32_t i = 0; i < bytes; i++) {
        packet[i] = (unsigned char)base_random_next(&random);
    }
    return bytes;
}

static void make_header(uint64_t number, unsigned char header[WIRE_LINE_DATA_BYTES])
{
    wire_ring_header_encode(&(struct wire_ring_header){.mode = WIRE_SW2,
                                                       .router = (uint16_t)(number % 64),
                                                       .direction = WIRE_RIGHT,
                                                       .return_router = 5},
                            header);
}

/* The NIC's lines, with a wrong bit now and then, as the router decodes them. */
static struct wire_line next_line(void)
{
    static unsigned char lines[LINES_ROOM];
    static uint32_t at, bytes;
    static uint64_t number;
    struct wire_line line;
    if (at == bytes) {
        unsigned char packet[PACKET_BYTES], header[WIRE_LINE_DATA_BYTES];
        uint32_t packet_bytes = make_packet(number, packet);
        make_header(number++, header);
        wire_lines_encode(header, packet, packet_bytes, lines);
        bytes = wire_lines_bytes(packet_bytes);
        at = 0;
    }
    if (base_random_below(&chance, 50) == 0) {
        lines[at + base_random_below(&chance, WIRE_LINE_BYTES)] ^= 4;
    }
    enum wire_line_result result = wire_line_decode(lines + at, &line);
    assert_true(result == WIRE_LINE_GOOD || result == WIRE_LINE_CORRECTED);
    corrected += result == WIRE_LINE_CORRECTED;
    at += WIRE_LINE_BYTES;
    return line;
}

/* The router's side of the NIC: a packet's lines become flits. */
static struct wire_flit next_flit(unsigned char data[FLIT_BYTES])
{
    static unsigned char room[FLIT_BYTES + WIRE_LINE_DATA_BYTES];
    static uint32_t bytes;
    static bool has_head, has_tail;
    while (bytes < FLIT_BYTES && !has_tail) {
        struct wire_line line = next_line();
        has_head = has_head || line.kind == WIRE_LINE_HEADER || line.kind == WIRE_LINE_SINGLE;
        has_tail = line.kind == WIRE_LINE_TAIL || line.kind == WIRE_LINE_SINGLE;
        memcpy(room + bytes, line.data, line.bytes);
        bytes += line.bytes;
    }
    struct wire_flit flit = {.channel = 1, .is_head = has_head, .bytes = FLIT_BYTES};
    flit.is_tail = has_tail && bytes <= FLIT_BYTES;
    flit.bytes = (uint8_t)(bytes < FLIT_BYTES ? bytes : FLIT_BYTES);
    memcpy(data, room, flit.bytes);
    bytes -= flit.bytes;
    memmove(room, room + flit.bytes, bytes);
    has_head = false;
    has_tail = has_tail && !flit.is_tail;
    return flit;
}

/* The other NIC takes a line; gives how many packets have come. */
static uint64_t take_line(const struct wire_line *line)
{
    static unsigned char lines[LINES_ROOM];
    static uint32_t bytes;
    static uint64_t number;
    assert_true(bytes + WIRE_LINE_BYTES <= sizeof lines);
    wire_line_encode(line, lines + bytes);
    bytes += WIRE_LINE_BYTES;
    if (line->kind == WIRE_LINE_TAIL || line->kind == WIRE_LINE_SINGLE) {
        unsigned char packet[PACKET_BYTES], header[8], expected[PACKET_BYTES], expected_header[8];
        uint32_t packet_bytes;
        uint64_t none = 0;
        assert_true(
            wire_lines_decode(lines, bytes, header, packet, PACKET_BYTES, &packet_bytes, &none));
        assert_int_equal(packet_bytes, make_packet(number, expected));
        assert_memory_equal(packet, expected, packet_bytes);
        make_header(number, expected_header);
        assert_memory_equal(header, expected_header, sizeof header);
        number++;
        bytes = 0;
    }
    return number;
}

/* The other router: lines get their types from the flits' tags. Gives what take_line does. */
static uint64_t take_flit(const struct wire_flit *flit, const unsigned char *data)
{
    static unsigned char room[FLIT_BYTES + WIRE_LINE_DATA_BYTES];
    static uint32_t bytes;
    static bool is_first;
    uint64_t packets = 0;
    is_first = is_first || flit->is_head;
    memcpy(room + bytes, data, flit->bytes);
    bytes += flit->bytes;
    while (bytes > WIRE_LINE_DATA_BYTES || (bytes > 0 && flit->is_tail) ||
           bytes == WIRE_LINE_DATA_BYTES) {
        uint32_t used = bytes < WIRE_LINE_DATA_BYTES ? bytes : WIRE_LINE_DATA_BYTES;
        bool is_last = flit->is_tail && bytes == used;
        struct wire_line line = {
            .kind = is_first  ? (is_last ? WIRE_LINE_SINGLE : WIRE_LINE_HEADER)
                    : is_last ? WIRE_LINE_TAIL
                              : WIRE_LINE_DATA,
            .bytes = (uint8_t)used,
        };
        memcpy(line.data, room, used);
        packets = take_line(&line);
        bytes -= used;
        memmove(room, room + used, bytes);
        is_first = false;
    }
    return packets;
}

/* ---- The link ------------------------------------------------------------------------------ */

static void fill_frame(struct frames_sender *sender)
{
    uint16_t number = frames_sender_push(sender);
    struct sent *frame = &buffer[frames_slot(sender, number)];
    struct wire_transfer transfer = {
        .kind = WIRE_FRAME,
        .count = (uint8_t)(1 + base_random_below(&chance, FLITS)),
        .number = number,
        .flit_bytes = FLIT_BYTES,
    };
    wire_transfer_begin(&transfer, frame->content);
    for (uint32_t i = 0; i < transfer.count; i++) {
        unsigned char data[FLIT_BYTES];
        struct wire_flit flit = next_flit(data);
        wire_transfer_flit_encode(&transfer, frame->content, i, &flit, data);
    }
    wire_transfer_seal(&transfer, frame->content);
    frame->bytes = wire_transfer_bytes(&transfer);
}

static uint64_t take_frames(struct frames_receiver *receiver, uint64_t cycle)
{
    uint64_t packets = 0;
    struct sent *sent;
    while ((sent = arrived(&frames_pipe, cycle)) != NULL) {
        struct wire_transfer transfer;
        if (!wire_transfer_decode(sent->content, sent->bytes, &transfer)) {
            damaged++;
        } else if (frames_receiver_take(receiver, cycle, transfer.number)) {
            for (uint32_t i = 0; i < transfer.count; i++) {
                struct wire_flit flit;
                const unsigned char *data = wire_transfer_flit_decode(&transfer, sent->content, i,
                                                                      &flit);
                assert_int_equal(flit.channel, 1);
                uint64_t now = take_flit(&flit, data);
                packets = now > 0 ? now : packets;
            }
        }
    }
    return packets;
}

static void send_answer(struct frames_receiver *receiver, uint64_t cycle, uint64_t one_in)
{
    struct frames_answer answer;
    if (frames_receiver_answer(receiver, cycle, &answer)) {
        const struct wire_transfer transfer = {
            .kind = answer.nack ? WIRE_FRAME_NACK : WIRE_FRAME_ACK, .number = answer.number};
        struct sent sent = {.bytes = wire_transfer_bytes(&transfer)};
        wire_transfer_begin(&transfer, sent.content);
        wire_transfer_seal(&transfer, sent.content);
        put(&answers_pipe, &sent, cycle, one_in);
    }
}

static void take_answers(struct frames_sender *sender, uint64_t cycle)
{
    struct sent *sent;
    while ((sent = arrived(&answers_pipe, cycle)) != NULL) {
        struct wire_transfer transfer;
        if (wire_transfer_decode(sent->content, sent->bytes, &transfer)) {
            frames_sender_answered(
                sender, cycle,
                (struct frames_answer){.number = transfer.number,
                                       .nack = transfer.kind == WIRE_FRAME_NACK});
        }
    }
}

static void packets_come_out_as_they_went_in(void **state)
{
    (void)state;
    enum { BIT_ERRORS_ONE_IN = 3000 };
    struct frames_config config = {
        .window = WINDOW, .ack_frames = 2, .ack_cycles = 10, .resend_cycles = 100};
    struct frames_sender sender;
    struct frames_receiver receiver;
    frames_sender_init(&sender, &config, 65000);
    frames_receiver_init(&receiver, &config, 65000);
    uint64_t packets = 0;
    uint64_t cycle = 0;
    for (; packets < PACKETS; cycle++) {
        assert_true(cycle < 10000000);
        take_answers(&sender, cycle);
        if (frames_sender_has_room(&sender)) {
            fill_frame(&sender);
        }
        uint16_t number;
        if (frames_sender_next(&sender, cycle, &number)) {
            put(&frames_pipe, &buffer[frames_slot(&sender, number)], cycle, BIT_ERRORS_ONE_IN);
        }
        uint64_t now = take_frames(&receiver, cycle);
        packets = now > 0 ? now : packets;
        send_answer(&receiver, cycle, BIT_ERRORS_ONE_IN);
    }
    print_message("%llu packets, %llu bits turned, %llu frames damaged, %llu resent, %llu lines "
                  "corrected\n",
                  (unsigned long long)packets, (unsigned long long)turned_bits,
                  (unsigned long long)damaged, (unsigned long long)sender.resent_count,
                  (unsigned long long)corrected);
    assert_true(damaged > 1000 && corrected > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_come_out_as_they_went_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
