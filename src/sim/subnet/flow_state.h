/* What the parts of a flow share: flow.c has packets at switches and boards, flow_output.c the
 * cables, flow_deadlock.c the search for circles. */
#ifndef SIM_SUBNET_FLOW_STATE_H
#define SIM_SUBNET_FLOW_STATE_H

#include "sim/bit_errors.h"
#include "sim/slots.h"
#include "sim/subnet/flow.h"
#include "wire/ib_link.h"

#define FLOW_NONE UINT32_MAX

enum {
    FLOW_HOPS_MAX = 4096,   /* a packet that has gone through more switches goes in circles */
    FLOW_HEADERS_MAX = 126, /* bytes that a packet may have beyond the MTU */
};

/* A packet, and how many stays it has now. */
struct flow_body {
    uint64_t tag;
    uint64_t sent_ps, entered_ps;
    uint32_t source; /* port */
    uint32_t bytes;
    uint32_t stays;
    uint16_t slid, dlid;
    uint8_t sl;
    bool is_held, is_management;
};

/* A packet at one place: on a cable to an input port, in that port's buffer, or at its source's
 * port. A multicast has a further stay for each output beyond the first; they all share the place
 * of the first, their owner. */
struct flow_stay {
    uint64_t head_ps, tail_ps; /* at the input */
    uint64_t ready_ps;         /* it may not begin to leave before */
    uint32_t body;
    uint32_t owner;
    uint32_t copy_next;    /* of the same owner; good until the tail has come */
    uint32_t behind;       /* the stay from which it is being sent here, while that is there */
    uint32_t ahead;        /* the stay to which it is being sent, while that is there */
    uint32_t lane_next;    /* behind it in the lane of the input */
    uint32_t request_next; /* behind it in the lane of the output */
    uint32_t port_in;      /* FLOW_NONE: it is at its source */
    uint32_t port_out;     /* FLOW_NONE: it goes nowhere */
    uint32_t epoch;        /* of port_in when it was sent there */
    uint16_t wrong_bits;
    uint16_t hops;
    uint16_t pending; /* of an owner: outputs by which it has not left yet */
    uint8_t lane_in, lane_out;
    bool is_broken; /* of an owner: a cable died with part of it behind */
    bool ends_here; /* it is for the switch itself, which takes it when its tail has come */
};

struct flow_queue {
    uint32_t first, last;
};

/* A virtual lane of a port. The counts are those of link packets, modulo 4,096. */
struct flow_lane {
    struct flow_queue buffer;   /* what has come in, by lane_next */
    struct flow_queue requests; /* what wants to go out, by request_next */
    uint16_t left;              /* input: flits that have left the buffer, and its size */
    uint16_t told;              /* input: the neighbour knows of that many */
    uint16_t sent;              /* output: FCTBS */
    uint16_t limit;             /* output: FCCL */
    uint32_t held; /* input: flits that a board has not released; management: in the buffer */
};

/* Where the arbitration of an output stands in one of its two tables. */
struct flow_turn {
    uint8_t row;
    uint8_t rows;   /* up to the last that is used */
    int16_t left;   /* flits that the row's lane may still send */
    uint16_t lanes; /* that stand in the table */
};

struct flow_port {
    uint64_t free_ps;      /* the cable carries nothing from then on */
    uint64_t own_free_ps;  /* the same for packets to itself */
    uint64_t wakes_ps;     /* if it is free_ps, there is an event then that looks at the port */
    uint64_t busy_ps;      /* altogether, by packets */
    uint64_t wait_from_ps; /* UINT64_MAX: nothing waits */
    uint64_t queued;       /* packets at their source */
    uint32_t peer;
    uint32_t node;
    uint32_t epoch;  /* rises when the cable dies */
    uint16_t asking; /* lanes that have requests */
    uint16_t owed;   /* lanes for which a link packet is owed */
    uint8_t number, width;
    bool is_board;
    bool is_alive, carries; /* its cable works; data may pass */
    bool drops;             /* within flow_changed: what waits for it in a switch is lost */
    struct flow_turn high, low;
    int32_t high_left; /* flits of high priority before low gets a turn */
};

struct flow {
    struct subnet *subnet;
    struct flow_config config;
    struct flow_user user;
    struct flow_port *ports;
    struct flow_lane *lanes; /* lane_count for each port; the last is management */
    uint32_t port_count, lane_count;
    uint64_t version; /* of the subnet, that ports show */
    struct sim_slots bodies, stays;
    struct bit_errors errors;
    struct base_random chance;
    struct flow_counters counters;
    uint64_t under_way;
};

/* Kinds of events, in the low byte of their value. */
enum flow_event_kind {
    FLOW_ARRIVES,   /* subject: stay */
    FLOW_LEAVES,    /* subject: stay, whose tail has left */
    FLOW_FREES,     /* subject: port, whose cable is free after a link packet */
    FLOW_LOOKS,     /* subject: port, at which a packet has become ready */
    FLOW_CREDITS,   /* subject: port; value: lane, limit, epoch */
    FLOW_REFRESHES, /* subject: port; value: lane, epoch: a link packet got lost */
    FLOW_PLACE_FREE /* subject: port; value: lane, flits, epoch: a board has taken a packet */
};

static inline uint64_t flow_event_value(enum flow_event_kind kind, uint32_t lane, uint32_t count,
                                        uint32_t epoch)
{
    return (uint64_t)kind | (uint64_t)lane << 8 | (uint64_t)count << 16 | (uint64_t)epoch << 32;
}

static inline struct flow_lane *flow_lane(const struct flow *flow, uint32_t port, uint32_t lane)
{
    return &flow->lanes[(size_t)port * flow->lane_count + lane];
}

static inline struct flow_stay *flow_stay(const struct flow *flow, uint32_t slot)
{
    return sim_slots_at(&flow->stays, slot);
}

static inline struct flow_body *flow_body(const struct flow *flow, uint32_t slot)
{
    return sim_slots_at(&flow->bodies, slot);
}

static inline bool flow_is_management(const struct flow *flow, uint32_t lane)
{
    return lane == flow->lane_count - 1;
}

/* Whether that many flits may be sent: the sum of those sent may reach the limit. */
static inline bool flow_has_credit(const struct flow_lane *lane, uint32_t flits)
{
    return wire_ib_credits(lane->limit, lane->sent) >= flits;
}

/* flow.c: what a stay held is given back; the last stay takes the packet along. */
void flow_lose(struct flow *flow, uint32_t body, uint32_t port, enum flow_loss why);
/* A stay will not leave by its port_out: it is as if its tail had left. */
void flow_discard(struct flow *flow, uint64_t now_ps, uint32_t slot, enum flow_loss why);

/* flow_output.c: a stay asks for its port_out on its lane_out. */
void flow_ask(struct flow *flow, uint64_t now_ps, uint32_t slot);
/* Reads the arbitration tables of a port. */
void flow_read_tables(struct flow *flow, uint32_t port);
/* Sends what can be sent now. */
void flow_look(struct flow *flow, uint64_t now_ps, uint32_t port);
/* Places in the lane's buffer are free: a link packet may be owed. */
void flow_free_places(struct flow *flow, uint64_t now_ps, uint32_t port, uint32_t lane,
                      uint32_t flits);
void flow_refresh(struct flow *flow, uint64_t now_ps, uint32_t port, uint32_t lane);

#endif
