/* What the two halves of a bridge share: bridge.c sends, bridge_receive.c receives. */
#ifndef SIM_SUBNET_BRIDGE_STATE_H
#define SIM_SUBNET_BRIDGE_STATE_H

#include "sim/slots.h"
#include "sim/subnet/bridge.h"
#include "wire/ib_frame.h"

#define BRIDGE_NONE UINT32_MAX

enum { BRIDGE_NO_VL = 255 }; /* of a frame that came over no cable */

/* A packet at its sender, until its last frame is acknowledged. */
struct bridge_packet {
    uint64_t serial; /* what its lines hold follows from it */
    uint64_t tag;
    uint64_t sent_ps;
    uint32_t source, target, flow;
    uint32_t bytes;
    uint32_t lines; /* with that of the routing header */
    uint32_t next;  /* behind it at the NIC port */
};

/* What a frame is: enough to make all its bits. Frames are kept as that, and go as that. */
struct bridge_frame {
    uint64_t serial;
    uint64_t tag;
    uint64_t sent_ps;
    uint32_t source, target;
    uint32_t bytes; /* of its packet */
    uint32_t first_line;
    uint16_t count; /* of lines */
    uint16_t number;
    uint8_t flow;
    uint8_t kind;   /* enum wire_ib_frame_kind */
    uint8_t vl;     /* of its last cable, once it has come */
    bool is_queued; /* it has not left its board */
    uint32_t next;  /* behind it in a lane that waits */
};

/* Frames from a board to a peer. */
struct bridge_outlet {
    struct frames_sender sender;
    struct bridge_frame *kept; /* what is not acknowledged, by its number modulo the room */
    uint32_t kept_room;        /* a power of two; grows up to the window */
    uint32_t peer, flow;
    struct bridge_outlet *next;            /* in the circle of those that have frames to send */
    struct bridge_outlet *unanswered_next; /* among those that wait for answers */
    bool is_ready, is_unanswered;
};

/* A packet that comes in. */
struct bridge_assembly {
    uint64_t tag;
    uint64_t sent_ps;
    uint32_t source, flow, bytes;
    uint32_t lines;       /* altogether */
    uint32_t lines_in;    /* those that can go to the NIC */
    uint32_t lines_taken; /* those of frames that were taken, still being converted */
    uint32_t lines_out;
    uint32_t next; /* that began after it, at this board */
};

/* Frames from a peer to a board. */
struct bridge_inlet {
    struct frames_receiver receiver;
    uint32_t peer, flow;
    uint32_t assembly; /* of the packet that is under way; BRIDGE_NONE: none */
    uint64_t timer_ps;
    struct bridge_inlet *next; /* among those that have an answer to send */
    bool answers;
};

struct bridge_lane {
    struct bridge_outlet *ready; /* the last of a circle: its next is the first */
    struct bridge_inlet *answering, *answering_last;
    uint32_t queued;                /* frames given to the subnet that have not left the port */
    uint32_t waiting, waiting_last; /* frames that wait in the buffer, by the VL they came on */
};

struct bridge_board {
    uint32_t port;
    /* From the NIC. */
    uint32_t packet, packet_last; /* the one that comes in, and those behind it */
    uint64_t packet_count;
    uint32_t line;      /* of the packet: the first of the frame that is coming in */
    uint64_t nic_in_ps; /* the NIC's lines have come so far */
    bool is_blocked;    /* a frame is whole, and its peer's window is full */
    /* To the NIC. */
    uint32_t assembly, assembly_last; /* in the order in which they began */
    uint32_t memory_used;
    uint32_t at_nic;     /* the packet that the NIC is being given */
    bool is_giving;      /* lines are going out now */
    uint64_t nic_out_ps; /* the port to the NIC is free */
    struct bridge_lane lanes[SUBNET_DATA_VLS];
    struct bridge_outlet *unanswered;
    bool ticks;                     /* an event is put */
    struct bridge_outlet **outlets; /* by peer and flow */
    struct bridge_inlet **inlets;
};

struct bridges {
    struct subnet *subnet;
    struct flow *flow;
    struct bridge_config config;
    struct bridge_user user;
    struct bridge_board *boards;
    uint32_t *board_of; /* by port */
    uint32_t board_count;
    struct sim_slots packets, frames, assemblies;
    uint64_t serial_next;
    uint64_t under_way;
    uint64_t now_ps;
    struct bridge_counters counters;
};

enum bridge_event_kind {
    BRIDGE_FRAME_IN,  /* subject: board; a frame's lines have come from the NIC */
    BRIDGE_TICKS,     /* subject: board */
    BRIDGE_ANSWERS,   /* subject: board; value: inlet */
    BRIDGE_LINES_IN,  /* subject: board; value: assembly and lines */
    BRIDGE_LINES_OUT, /* subject: board; value: lines */
};

/* Where the state of a peer and flow is in a board's tables. */
static inline size_t bridge_pair(uint32_t peer, uint32_t flow)
{
    return (size_t)peer * BRIDGE_FLOWS + flow;
}

/* The lines of a packet, with that of its routing header. */
static inline uint32_t bridge_lines(uint32_t bytes)
{
    return 1 + (bytes + WIRE_LINE_DATA_BYTES - 1) / WIRE_LINE_DATA_BYTES;
}

static inline uint64_t bridge_cycle(uint64_t ps)
{
    return ps / FLOW_CYCLE_PS;
}

void bridge_put_event(struct bridges *bridges, uint64_t at_ps, enum bridge_event_kind kind,
                      uint32_t board, uint64_t value);

/* bridge.c */
void bridge_frames_rules(const struct bridge_config *config, struct frames_config *frames);
void bridge_pump(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint32_t flow);
void bridge_answered(struct bridges *bridges, uint64_t now_ps, uint32_t board,
                     const struct bridge_frame *frame);
/* The bits of a frame, and the lines that it has. */
void bridge_frame_lines(const struct bridge_frame *frame, struct wire_line *lines);
uint32_t bridge_frame_bytes(const struct bridges *bridges, const struct bridge_frame *frame,
                            uint8_t vl, uint8_t sl, unsigned char *to);
uint8_t bridge_level(const struct bridges *bridges, uint32_t source, uint32_t target,
                     uint32_t flow);

/* bridge_receive.c */
void bridge_received(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint32_t slot);
void bridge_answer_due(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint64_t value);
void bridge_lines_in(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint64_t value);
void bridge_lines_out(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint64_t value);
bool bridge_next_answer(struct bridges *bridges, uint64_t now_ps, uint32_t board, uint32_t flow,
                        struct bridge_frame *frame);
bool bridge_is_seen(struct bridges *bridges, const struct bridge_frame *frame,
                    const struct flow_delivery *delivery, uint32_t wrong_bits,
                    struct base_random *chance);

#endif
