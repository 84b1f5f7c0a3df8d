/* Paper 003's bridges: a board at each end of an InfiniBand subnet, between it and a NIC.
 *
 * A DIMMnet packet comes from the NIC line by line (wire/line.h), its routing header first. The
 * board takes the ECC off, cuts the packet into frames of a few lines (wire/ib_frame.h), and sends
 * each as soon as it is whole, since its CRC needs all of it. The receiving board checks the frame,
 * puts types and ECC back, and gives the lines to its NIC, while later frames are still to come.
 *
 * Frames are numbered, kept, acknowledged and resent by the rules of sim/frames.h. The paper keeps
 * one row of numbers for each virtual lane; but a board has many peers, and a receiver that sees
 * only its own frames of a row would take all others for lost. So a row belongs to a lane and a
 * peer. The lane is the sender's: a flow, 0 to 3.
 *
 * A board has memory for some packets. One whose last line has come goes to the NIC before any that
 * is not whole yet; if there is none, the oldest goes as far as it has come. When memory is full, a
 * frame that begins another packet waits in the lane's buffer, and its lane with it, as long as the
 * NIC is being given a whole packet, which is sure to end. Otherwise it is dropped, and comes
 * again: what the NIC waits for may be behind it. */
#ifndef SIM_SUBNET_BRIDGE_H
#define SIM_SUBNET_BRIDGE_H

#include "sim/frames.h"
#include "sim/subnet/flow.h"

enum { BRIDGE_FLOWS = 4, BRIDGE_PACKET_BYTES_MAX = 4096 };

struct bridge_config {
    uint32_t frame_lines; /* of a frame at most, 1 .. what the MTU holds */
    uint64_t line_ps;     /* for a line between NIC and board; 0: no time */
    uint64_t convert_ps;  /* for a frame, at either end: ECC and CRC */
    uint32_t window;      /* frames kept for a peer and flow: a power of two */
    uint32_t ack_frames;
    uint64_t ack_ps;    /* fewer frames are acknowledged after this long */
    uint64_t resend_ps; /* the timer, to an eighth of it; it doubles while no answer comes */
    uint32_t memory_packets;
    bool literal_rules; /* the paper's retransmission as written, which livelocks */
    /* Each frame is made, spoiled and read bit by bit, and compared at its target with what was
     * sent. Without it that is done for damaged frames only. */
    bool checks_all;
};
void bridge_config_default(struct bridge_config *config);
const char *bridge_config_objection(const struct bridge_config *config, const struct subnet *subnet,
                                    char text[TOPOLOGY_ERROR_BYTES]);

struct bridge_delivery {
    uint64_t tag;
    uint32_t source, target; /* boards, in the order of nodes */
    uint32_t flow;
    uint32_t bytes;
    uint64_t sent_ps;
};

struct bridge_user {
    void *context;
    struct sim_events *events;
    uint32_t event_kind; /* this one and the next are the bridges' */
    /* The last line of a packet is at its NIC (now). */
    void (*delivered)(void *context, const struct bridge_delivery *delivery);
    /* May be NULL: the service level of a path; otherwise it is the flow. */
    uint8_t (*level)(void *context, uint32_t source, uint32_t target, uint32_t flow);
    /* May be NULL: for captures and traces. */
    void (*sight)(void *context, const struct flow_sight *sight);
};

struct bridges;

struct bridges *bridges_open(struct subnet *subnet, const struct flow_config *flow_config,
                             const struct bridge_config *config, const struct bridge_user *user);
void bridges_close(struct bridges *bridges);

/* Gives a packet of that many bytes (at most BRIDGE_PACKET_BYTES_MAX) to a board's NIC port;
 * packets wait there in order. */
void bridges_send(struct bridges *bridges, uint64_t now_ps, uint32_t source, uint32_t target,
                  uint32_t flow, uint32_t bytes, uint64_t tag);

/* Handles an event of either kind. */
void bridges_event(struct bridges *bridges, const struct sim_event *event);

/* To be called after anything changed in the subnet but its tables, as flow_changed. */
void bridges_changed(struct bridges *bridges, uint64_t now_ps);

/* The subnet's own part, for its counters. */
struct flow *bridges_flow(struct bridges *bridges);
uint32_t bridges_board_count(const struct bridges *bridges);
/* The board's port in the subnet. */
uint32_t bridges_port(const struct bridges *bridges, uint32_t board);
/* Packets that were given and are not delivered. */
uint64_t bridges_under_way(const struct bridges *bridges);
/* Packets that wait at a board's NIC port, the one that is coming in included. */
uint64_t bridges_waiting(const struct bridges *bridges, uint32_t board);

/* Writes the bytes of a frame that was seen on a cable; returns how many. `to` has room for
 * WIRE_IB_FRAME_BYTES_MAX. */
uint32_t bridges_bytes(const struct bridges *bridges, const struct flow_sight *sight,
                       unsigned char *to);

struct bridge_counters {
    uint64_t packets, delivered;
    uint64_t frames, frames_resent, timeouts;
    uint64_t answers;
    uint64_t frames_dropped; /* memory was full */
    uint64_t frames_seen;    /* damaged, and a CRC told so */
    uint64_t frames_wrong;   /* damaged, and both CRCs fit all the same */
    uint64_t lines_wrong;    /* came to a NIC other than they were sent */
};
void bridge_counters(const struct bridges *bridges, struct bridge_counters *counters);

/* From bridges_send of a lone packet until its delivery, as the sum of the delays. */
uint64_t bridge_zero_load_ps(const struct bridges *bridges, uint32_t source, uint32_t target,
                             uint32_t bytes);

#endif
