/* Writes a capture of every sort of packet that goes over a simulated subnet's cables, and a few
 * that were damaged there. Prints how many of each are in it, a line for each sort.
 *
 * usage: capture_sample FILE */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/big.h"
#include "sim/subnet/capture.h"
#include "wire/ib_frame.h"
#include "wire/ib_link.h"

static struct capture capture;
static uint64_t now_ps = UINT64_C(1000000000000); /* a second, and 4 ns for each packet */
static uint32_t ports[2];
static uint32_t damaged;

static void write_packet(const unsigned char *packet, uint32_t bytes)
{
    capture_packet(&capture, now_ps, ports[now_ps / 4000 % 2], packet, bytes, 0);
    now_ps += 4000;
}

/* Frames of some lengths, as they are in the middle of a packet and alone in one. */
static uint32_t write_frames(void)
{
    static const uint16_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 254, 510};
    static unsigned char bytes[WIRE_IB_FRAME_BYTES_MAX];
    static struct wire_line lines[WIRE_IB_FRAME_LINES_MAX];
    uint32_t count = 0;
    struct wire_ib_frame frame = {.kind = WIRE_IB_FRAME_DATA, .dlid = 2, .slid = 1};
    for (uint32_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++, count++) {
        frame.vl = (uint8_t)(i % 15);
        frame.sl = (uint8_t)(i % 16);
        frame.flow = frame.sl;
        frame.count = counts[i / 2];
        frame.number = (uint16_t)(65530 + i);
        for (uint32_t at = 0; at < frame.count; at++) {
            lines[at] = (struct wire_line){.kind = WIRE_LINE_DATA, .bytes = 8};
            memset(lines[at].data, (int)(at * 7 + i), 8);
        }
        if (i % 2 != 0) {
            lines[0].kind = frame.count == 1 ? WIRE_LINE_SINGLE : WIRE_LINE_HEADER;
        }
        if (i % 2 != 0 && frame.count > 1) {
            lines[frame.count - 1] = (struct wire_line){.kind = WIRE_LINE_TAIL, .bytes = 1};
        }
        wire_ib_frame_encode(&frame, lines, bytes);
        write_packet(bytes, wire_ib_frame_bytes(frame.count));
    }
    frame.count = 0;
    for (uint32_t i = 0; i < 4; i++, count++) {
        frame.kind = i % 2 ? WIRE_IB_FRAME_ACK : WIRE_IB_FRAME_NACK;
        wire_ib_frame_encode(&frame, NULL, bytes);
        write_packet(bytes, wire_ib_frame_bytes(0));
    }
    return count;
}

/* Frames whose bits were changed, but none that says what a dissector has to look for. */
static uint32_t write_damaged(void)
{
    const struct wire_line line = {.kind = WIRE_LINE_SINGLE, .bytes = 8, .data = "12345678"};
    const struct wire_ib_frame frame = {
        .kind = WIRE_IB_FRAME_DATA, .vl = 1, .dlid = 2, .slid = 1, .count = 1};
    const uint32_t bytes = wire_ib_frame_bytes(1);
    for (uint32_t bits = 1; bits <= 3; bits++, damaged++, now_ps += 4000) {
        unsigned char packet[64];
        wire_ib_frame_encode(&frame, &line, packet);
        packet[20] ^= (unsigned char)((1u << bits) - 1);
        capture_packet(&capture, now_ps, ports[0], packet, bytes, bits);
    }
    return damaged;
}

static uint32_t write_link_packets(void)
{
    unsigned char packet[WIRE_IB_LINK_BYTES];
    uint32_t count = 0;
    for (uint32_t op = WIRE_IB_LINK_NORMAL; op <= WIRE_IB_LINK_INIT; op++) {
        for (uint8_t vl = 0; vl < WIRE_IB_MANAGEMENT_VL; vl++, count++, now_ps += 4000) {
            const struct wire_ib_link link = {.op = (enum wire_ib_link_op)op,
                                              .vl = vl,
                                              .fctbs = (uint16_t)(vl * 271),
                                              .fccl = (uint16_t)(4095 - vl)};
            wire_ib_link_encode(&link, packet);
            capture_link_packet(&capture, now_ps, ports[vl % 2], packet, 0);
        }
    }
    return count;
}

/* What OpenSM and its tools ask for, as questions and answers with no data in them. */
static uint32_t write_management(void)
{
    static const struct {
        uint8_t class, class_version, first, last; /* attributes */
    } asked[] = {{0x81, 1, 0x10, 0x20}, {0x01, 1, 0x10, 0x20}, {0x04, 1, 0x12, 0x12}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        bool is_subnet = asked[i].class != 0x04;
        bool is_routed = asked[i].class != 0x81;
        for (uint32_t attribute = asked[i].first; attribute <= asked[i].last; attribute++) {
            for (uint32_t is_answer = 0; is_answer < 2; is_answer++, count++) {
                unsigned char packet[WIRE_IB_MANAGEMENT_BYTES], mad[WIRE_IB_MAD_BYTES] = {0};
                const struct wire_ib_management management = {
                    .vl = is_subnet ? WIRE_IB_MANAGEMENT_VL : 0,
                    .dlid = is_routed ? 1 : WIRE_IB_LID_PERMISSIVE,
                    .slid = is_routed ? 2 : WIRE_IB_LID_PERMISSIVE,
                    .p_key = 0xffff,
                    .dest_qp = is_subnet ? 0 : 1,
                    .source_qp = is_subnet ? 0 : 1,
                    .psn = count,
                    .q_key = is_subnet ? 0 : 0x80010000,
                };
                mad[0] = 1;
                mad[1] = asked[i].class;
                mad[2] = asked[i].class_version;
                mad[3] = is_answer ? 0x81 : 0x01;
                mad[4] = is_answer && !is_routed ? 0x80 : 0;
                base_big_put(mad + 8, 8, count);
                base_big_put(mad + 16, 2, attribute);
                wire_ib_management_encode(&management, mad, packet);
                write_packet(packet, sizeof packet);
            }
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: capture_sample FILE\n");
        return 2;
    }
    capture_begin(&capture, file);
    ports[0] = capture_port(&capture, "board-1, port 1");
    ports[1] = capture_port(&capture, "switch-1, port 3");
    printf("frames %u\n", write_frames());
    printf("management %u\n", write_management());
    printf("link %u\n", write_link_packets());
    printf("damaged %u\n", write_damaged());
    int error = capture_end(&capture);
    if (fclose(file) != 0 && error == 0) {
        error = errno;
    }
    if (error != 0) {
        fprintf(stderr, "capture_sample: %s: %s\n", argv[1], strerror(error));
        return 1;
    }
    return 0;
}
