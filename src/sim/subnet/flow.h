/* Packets through an InfiniBand subnet: virtual cut-through switches with virtual lanes, credits
 * that travel in link packets, arbitration, multicast, damage and dead cables. Which way a packet
 * takes is what the switches' tables say when it comes (subnet.h).
 *
 * Time is in picoseconds, and events live in the user's heap. A lane of a cable carries a byte in
 * 4 ns, a cycle: 4X 4 bytes. A packet of b bytes (LRH to VCRC) has two symbols more on the cable,
 * for its begin and its end. A flit is a block of 64 bytes, the unit of InfiniBand's credits.
 *
 * What a switch does, exactly:
 *  1. The head of a packet comes to an input. After `switch_ps` it can be at an output, or when the
 *     tail of the packet before it in its lane of that input has left, if that is later.
 *  2. It asks for the outputs that the tables give, each on the lane that SL and ports give. An
 *     output sends one packet at a time, whole: InfiniBand does not mix packets on a cable. It
 *     may begin as soon as the cable is free and the receiver's buffer for that lane has room for
 *     the whole packet; and, if the cable by which it comes is slower, so late that it never runs
 *     dry.
 *  3. Among lanes the arbitration tables choose; in a lane the packet that asked first goes.
 *  4. When the tail has left by all its outputs, its flits' places are free. As soon as a quarter
 *     of the lane's buffer is free that the neighbour does not know of, the input owes it a link
 *     packet, which goes before any other as soon as the cable back is free, and tells up to which
 *     flit the neighbour may send. Management packets need no credit; those that find no room are
 *     dropped.
 *
 * Since a packet once begun is never held up, the times of all its flits follow from that of its
 * head: the model has two events for a packet at each hop, and flits are counted, not moved one by
 * one. doc/infiniband.md says more. */
#ifndef SIM_SUBNET_FLOW_H
#define SIM_SUBNET_FLOW_H

#include "base/random.h"
#include "sim/event.h"
#include "sim/subnet/subnet.h"

enum {
    FLOW_CYCLE_PS = 4000,       /* a byte on a lane of 2.5 Gbps, with 10 bits for each 8 */
    FLOW_FLIT_BYTES = 64,       /* a credit's block */
    FLOW_FRAMING_BYTES = 2,     /* the symbols around a packet */
    FLOW_LINK_PACKET_BYTES = 8, /* with its two symbols */
};

/* How long a packet keeps a cable of that many lanes. */
static inline uint64_t flow_duration_ps(uint32_t bytes, uint32_t width)
{
    return (uint64_t)((bytes + FLOW_FRAMING_BYTES + width - 1) / width) * FLOW_CYCLE_PS;
}

struct flow_config {
    uint64_t switch_ps; /* 160 ns: paper 003 */
    uint64_t cable_ps;  /* serialisers and cable */
    /* Of each data lane of each input: a packet of the MTU and a third of it at least, 2,047 at
     * most. */
    uint32_t buffer_flits;
    uint32_t management_flits; /* of the management lane, which has no credits */
    /* A packet is delivered when its head comes, not when its tail does: for boards that begin
     * with it then. Packets whose cable dies behind their head are taken for whole. */
    bool at_head;
    double bit_error_rate; /* of the cables */
    uint64_t refresh_ps;   /* a link packet that got lost comes again after this long */
    uint64_t seed;
};
void flow_config_default(struct flow_config *config);
const char *flow_config_objection(const struct flow_config *config, const struct subnet *subnet,
                                  char text[TOPOLOGY_ERROR_BYTES]);

/* What is to be sent. */
struct flow_packet {
    uint16_t dlid;
    uint8_t sl;
    /* Its place in the target's buffer is free only after flow_release. Not of management, and not
     * of a packet to its own port, which takes no place. */
    bool is_held;
    bool is_management; /* on lane 15 */
    uint32_t bytes;     /* LRH to VCRC; 4 n + 2 */
    uint64_t tag;       /* the user's */
};

struct flow_delivery {
    uint64_t tag;
    uint32_t source, target; /* ports */
    uint8_t sl, vl;          /* of the last cable */
    bool is_wrong;           /* bits were wrong, and is_seen did not see it */
    uint32_t bytes;
    uint32_t hops;                                  /* switches */
    uint64_t sent_ps, entered_ps, head_ps, tail_ps; /* flow_send, left its port, came, was there */
};

/* Why a packet is lost. */
enum flow_loss {
    FLOW_DAMAGED,  /* its CRC does not fit */
    FLOW_NO_WAY,   /* a table has no entry, or the port is not active */
    FLOW_CUT,      /* it was on a cable, or in a switch, that died */
    FLOW_TOO_LONG, /* longer than a port's MTU */
    FLOW_NO_LANE,  /* the SL has no lane */
    FLOW_NO_ROOM,  /* a management packet met a full buffer */
    FLOW_LOSSES,
};
extern const char *const flow_loss_names[FLOW_LOSSES];

/* For captures and traces: a packet, or a link packet, began on a cable. */
struct flow_sight {
    uint64_t from_ps, to_ps;
    uint64_t ready_ps; /* of a packet: it could have begun then, but for others or want of credit */
    uint32_t from_port;
    uint8_t vl;
    bool is_link_packet;
    uint32_t wrong_bits; /* that cables have changed up to the end of this one */
    uint16_t slid, dlid;
    uint8_t sl;
    uint32_t bytes;
    uint64_t tag;
    uint16_t fctbs, fccl; /* of a link packet */
};

struct flow_user {
    void *context;
    struct sim_events *events;
    uint32_t event_kind; /* of the flow's events; their other fields are the flow's */
    /* The head of a packet is at its target (now); it is not damaged, or not so that anybody
     * could tell. Its tail comes at tail_ps. */
    void (*delivered)(void *context, const struct flow_delivery *delivery);
    /* May be NULL. A multicast is told for each copy. */
    void (*lost)(void *context, enum flow_loss why, uint64_t tag, uint32_t port);
    /* May be NULL: the packet's head leaves its source's port. */
    void (*entered)(void *context, uint64_t tag, uint32_t port);
    /* May be NULL: a packet was damaged on its way by that many wrong bits. The user makes its
     * bytes, spoils as many, and says whether a receiver would see it. Without it every damage is
     * seen. */
    bool (*is_seen)(void *context, const struct flow_delivery *delivery, uint32_t wrong_bits,
                    struct base_random *chance);
    /* For captures and traces, may be NULL. */
    void (*sight)(void *context, const struct flow_sight *sight);
};

struct flow;

struct flow *flow_open(struct subnet *subnet, const struct flow_config *config,
                       const struct flow_user *user);
void flow_close(struct flow *flow);

/* Queues a packet at a board's port (or a switch's port 0); queues are unlimited, one for each
 * lane. A packet to the port's own LID turns there, as fast as a cable. */
void flow_send(struct flow *flow, uint64_t now_ps, uint32_t port, const struct flow_packet *packet);
/* Gives back the place of a packet that was sent with is_held. */
void flow_release(struct flow *flow, uint64_t now_ps, uint32_t port, uint8_t vl, uint32_t bytes);

/* Handles an event of the flow's kind. */
void flow_event(struct flow *flow, const struct sim_event *event);

/* To be called after anything changed in the subnet but its tables: what was on a dead cable is
 * lost, and who waits looks again. */
void flow_changed(struct flow *flow, uint64_t now_ps);

/* Packets (copies of a multicast each) that are sent and neither delivered nor lost. */
uint64_t flow_under_way(const struct flow *flow);
/* Packets that wait at a port for its cable. */
uint64_t flow_waiting(const struct flow *flow, uint32_t port);

struct flow_counters {
    uint64_t sent, delivered; /* a multicast: sent once, delivered to each */
    uint64_t lost[FLOW_LOSSES];
    uint64_t wrong;     /* delivered although bits were wrong */
    uint64_t hops;      /* packets over cables */
    uint64_t flit_hops; /* their flits */
    uint64_t link_packets, link_packets_lost;
};
void flow_counters(const struct flow *flow, struct flow_counters *counters);

/* How long a port's cable has been busy with packets. */
uint64_t flow_busy_ps(const struct flow *flow, uint32_t port);

/* Whether packets now wait for each other in a circle (found by search). If so the text names it:
 * "switch-1 port 3 VL 0 waits for switch-2 port 3 VL 0 ...". */
bool flow_is_deadlocked(const struct flow *flow, char *text, size_t bytes);

/* From flow_send of a lone packet until its head and its tail are at the target, as the sum of the
 * delays; the ports are those of subnet_way. */
uint64_t flow_zero_load_ps(const struct flow *flow, uint32_t from_port, const uint32_t *ports,
                           uint32_t count, uint32_t bytes, uint64_t *head_ps);

#endif
