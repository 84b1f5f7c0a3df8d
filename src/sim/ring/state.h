/* What a network holds. Only the files of this folder and their tests look inside.
 *
 * A channel is known by its number, (router * ports + port) * vcs + channel, both as an input
 * (a buffer) and as an output (a right to send into the next router's buffer). Links come in
 * pairs, so `peer` of an input is the output that feeds it, and the other way round.
 *
 * Work is done only where there are flits: lines hold what is on its way, and the NICs and ports
 * that will look for a flit; sets of bits say which output ports can send and which links with
 * frames have something to do. */
#ifndef SIM_RING_STATE_H
#define SIM_RING_STATE_H

#include <stdlib.h>

#include "sim/bit_errors.h"
#include "sim/frames.h"
#include "sim/ring/lines.h"
#include "sim/ring/net.h"
#include "sim/ring/port.h"
#include "sim/slots.h"
#include "wire/ring_header.h"

enum { NO_CHANNEL = UINT32_MAX, SINK_CHANNEL = UINT32_MAX - 1, NO_PACKET = UINT32_MAX };

/* UP and DOWN only on meshes and tori. The odd ones go up in number. */
enum net_port { PORT_NIC, PORT_RIGHT, PORT_LEFT, PORT_UP, PORT_DOWN, PORTS_MAX };

struct packet {
    uint32_t next; /* in its NIC's queue */
    uint32_t flits;
    uint64_t tag;
    uint64_t injected_cycle, entered_cycle;
    uint32_t source;
    uint32_t ends;   /* places that its tail must still reach before it is forgotten */
    uint32_t wanted; /* deliveries that should still follow; those left at its end are lost */
    uint8_t virtual_network;
    bool is_broken; /* its tail says that a line could not be read */
    struct net_content content;
};

/* Where a channel is: its number taken apart. */
struct place {
    uint32_t router;
    uint8_t port, channel;
};

/* A packet in a buffer, behind the one in front. The flits of two packets never mix in a
 * channel. */
struct record {
    uint32_t packet;
    uint32_t arrived; /* of its flits */
};

/* 32 bytes, two in a cache line; fields that only full buffers and groups need are elsewhere. */
struct input {
    uint32_t peer;
    uint32_t branch[2]; /* outputs that the packet in front has or waits for; [1]: its NIC's */
    uint32_t next;      /* the input that waits next for branch[0]; net->next_forked: [1] */
    uint32_t packet;    /* the one in front */
    uint32_t arrived;   /* its flits, up to now */
    uint16_t first;     /* of the records of those behind it, a circular buffer */
    uint16_t count;     /* packets, the one in front among them */
    uint16_t routed;    /* how many of them have had their headers looked at */
    uint16_t fill;      /* flits in the buffer */
};

struct output {
    uint32_t peer;
    uint32_t owner;     /* input * 2 + branch of the packet that holds it, or NO_CHANNEL */
    uint32_t available; /* flits of that packet that have come and have not yet gone by here */
    uint32_t left;      /* flits of that packet that have not yet gone by here */
    uint32_t packet;
    uint32_t last_waiter; /* input * 2 + branch; the last one's next is the first */
    uint32_t port;        /* router * ports + port */
    uint16_t credits;
    uint8_t channel;
    bool at_head; /* the next flit is the head */
};

struct port {
    uint64_t ready; /* channels whose owner has a flit here and a place for it there */
    uint64_t fresh; /* channels held by a NIC's packet of which no flit has gone */
    uint64_t flits; /* carried since the net was opened */
    uint32_t link;  /* to which it leads */
    uint16_t last;  /* the channel that sent last */
    bool framed;    /* its link carries frames: links.c */
    bool blocked;   /* its link takes no new flit in the next cycle */
};

/* A NIC's unlimited queue for one channel of its port. */
struct queue {
    uint32_t first, last;
    uint32_t bytes, flits; /* of the first packet */
    uint32_t sent;         /* of its flits */
};

struct nic {
    uint64_t waiting; /* channels with flits in their queue */
    uint64_t stopped; /* channels whose slack buffer has said stop */
    uint64_t flits;   /* in all queues */
    uint16_t last;    /* the channel that sent last */
    bool is_due;      /* it looks for a flit to send, now or when the lines of one have gone out */
};

/* A set of bits. */
struct bits {
    uint64_t *words;
    uint32_t word_count;
};

static inline void bits_set_if(struct bits *bits, bool wanted, uint32_t bit)
{
    bits->words[bit / 64] |= (uint64_t)wanted << bit % 64;
}

static inline void bits_clear_if(struct bits *bits, bool wanted, uint32_t bit)
{
    bits->words[bit / 64] &= ~((uint64_t)wanted << bit % 64);
}

/* What comes to a place in a later cycle. */
struct event {
    uint32_t where;
    uint32_t what;
};

struct burst {
    struct event *events;
    uint32_t count, room;
};

/* Events that are under way for up to a number of cycles: a burst for each cycle in which some may
 * come, one cycle's burst in the place of one that has been taken out. An event that comes in the
 * cycle in which it is sent must be sent before that cycle's burst is taken out. */
struct line {
    struct burst *bursts;
    uint32_t mask; /* their number, a power of two, less 1 */
};

void net_burst_grow(struct burst *burst);

static inline struct burst *line_burst(const struct line *line, uint64_t cycle)
{
    return &line->bursts[(uint32_t)cycle & line->mask];
}

/* Adds an event if `wanted`, without a branch that nobody could foresee. */
static inline void burst_add_if(struct burst *burst, bool wanted, uint32_t where, uint32_t what)
{
    if (UNLIKELY(burst->count == burst->room)) {
        net_burst_grow(burst);
    }
    burst->events[burst->count] = (struct event){where, what};
    burst->count += wanted;
}

static inline void line_send(struct line *line, uint64_t cycle, uint32_t where, uint32_t what)
{
    burst_add_if(line_burst(line, cycle), true, where, what);
}

enum { BODY_FLIT = UINT32_MAX };

/* A flit in a frame: where it goes, as in an event, and what its bits are. */
struct framed {
    struct event event;
    struct net_content content; /* of its packet */
    uint32_t flit;              /* of the packet */
    bool is_broken;
};

/* A link in one direction, and what it needs while it carries frames. */
struct link {
    uint32_t port; /* the sending one */
    uint32_t epoch;
    bool alive;
    uint16_t sending;     /* the frame under way */
    uint64_t ends_cycle;  /* the last cycle of it, or FRAMES_NEVER */
    uint64_t added_cycle; /* when the last flit of the open frame came */
    struct framed *open;  /* flits of the frame that is being filled */
    uint32_t open_count;
    uint32_t owed_count; /* credits that were lost on the way back */
    uint16_t *owed;      /* of them, those of each channel */
    uint16_t *given;     /* of each channel, all credits since the beginning, modulo 2^16 */
    uint64_t pay_cycle;  /* when they are told again, at the latest */
    struct frames_sender sender;
    struct frames_receiver receiver;
    struct framed *contents; /* [frames_slot][frame_flits] */
    uint16_t *lengths;       /* [frames_slot] */
};

struct leave; /* leave.c's */

enum { TABLES_MAX = 64 };

struct net {
    struct net_config config;
    struct net_user user;
    uint64_t cycle;
    uint32_t nodes, ports, vcs;
    uint32_t network_vcs; /* of one virtual network */
    struct net_port_rate port_rate;
    uint32_t slack_flits;
    uint32_t stop_fill;       /* at this fill a router's slack buffer says stop */
    uint32_t records_of_each; /* of each input */

    struct input *inputs;
    struct output *outputs;
    struct place *places; /* [channel] */
    struct port *port_state;
    struct record *records;
    uint32_t *next_forked; /* [input] */
    struct queue *queues;
    struct nic *nics;
    uint64_t *asked_cycle; /* [input], of the packet in front of a NIC's */
    struct bits sending_ports;
    uint32_t *link_ports; /* the ports that lead to a router */
    struct link *links;
    struct bits busy_links;
    uint32_t framed_links;
    struct bit_errors link_errors, port_errors;
    unsigned char *transfer; /* room for the bits of one */
    uint64_t resent_before;
    uint32_t link_count;
    uint32_t *grants; /* outputs that send in this cycle */

    struct line flits;     /* router to router: (input, packet of a head or BODY_FLIT) */
    struct line nic_flits; /* NIC to router: the same; with the time that its lines take */
    struct line credits;   /* (output, -) */
    struct line routed;    /* (input, -); not used when routing takes no time */
    struct line signals;   /* router to NIC: (input, 1 stop or 0 go) */
    struct line nics_due;  /* NICs that look for a flit to send: (node, -) */
    struct line frames;    /* router to router: (link, frame and flags) */
    struct line answers;   /* and back */
    struct burst leaving;  /* to NICs' ports, in this cycle: (output, as above) */
    struct leave *leave;

    struct sim_slots packets;
    uint64_t *held_since; /* of each output, if the user wants to know */
    /* [router], a bit for each group: the two bits of the paper's tables. */
    uint64_t *multicast_enable, *pass_enable;
    uint32_t group_members[NET_GROUPS_MAX];
    struct net_counters counters;
    void *tables[TABLES_MAX]; /* to be freed */
    uint32_t table_count;
    bool lacks_memory;
};

static inline struct packet *net_packet(const struct net *net, uint32_t packet)
{
    return sim_slots_at(&net->packets, packet);
}

/* The record of the packet that is `behind` places behind the one in front. */
static inline struct record *net_record(const struct net *net, uint32_t input, uint32_t behind)
{
    uint32_t at = net->inputs[input].first + behind - 1;
    if (at >= net->records_of_each) {
        at -= net->records_of_each;
    }
    return &net->records[(size_t)input * net->records_of_each + at];
}

static inline uint32_t net_router_of(const struct net *net, uint32_t channel)
{
    return net->places[channel].router;
}

static inline uint32_t net_port_of(const struct net *net, uint32_t channel)
{
    return net->places[channel].port;
}

/* How many of the `flits` of the packet in front of an input have gone by one of its branches. */
static inline uint32_t net_sent_by(const struct net *net, uint32_t input, uint32_t branch,
                                   uint32_t flits)
{
    uint32_t output = net->inputs[input].branch[branch];
    if (output == NO_CHANNEL) {
        return flits;
    }
    const struct output *taken = &net->outputs[output];
    return taken->owner == input * 2 + branch ? flits - taken->left : 0;
}

/* ---- net.c: memory, delay lines -------------------------------------------------------------- */

/* Zeros that net_close frees; NULL: the net lacks memory. */
void *net_table(struct net *net, size_t count, size_t bytes);
/* For events that are under way for up to that many cycles. */
void net_line_open(struct net *net, struct line *line, uint32_t cycles);
void net_line_close(struct line *line);

/* ---- shape.c: who is whose neighbour, and how far ------------------------------------------ */

uint32_t net_diameter(const struct net_config *config);
/* Gives the port that leads the shorter way along a row or a column, and returns the links. Where
 * both ways are as long, even places go up and odd ones down, so that both carry the same load and
 * a pair always takes the same one. */
enum net_dimension { NET_ROW, NET_COLUMN };
uint32_t net_way(const struct net_config *config, enum net_dimension dimension, uint32_t source,
                 uint32_t target, uint32_t *port);
const char *net_port_name(uint32_t port);

/* ---- routing.c ------------------------------------------------------------------------------ */

/* False: it is no header of this net. */
bool net_header_read(const struct net *net, const struct packet *packet,
                     struct wire_ring_header *header);
/* Links on the way that a header leads from a router, no multicast's. */
uint32_t net_header_links(const struct net *net, const struct wire_ring_header *header,
                          uint32_t router);
/* The channel of the NIC's port for a packet that is about to leave. */
uint32_t net_first_channel(const struct net *net, const struct wire_ring_header *header,
                           uint32_t source, uint32_t virtual_network);
/* Gives the outputs that a packet wants when its head is in front of an input: branch[0] leads to a
 * router, or to the NIC if that is its only target; branch[1] to the NIC besides. NO_CHANNEL: no
 * such branch; SINK_CHANNEL: it ends here, also because its header leads nowhere. */
void net_route(const struct net *net, const struct packet *packet, uint32_t input,
               uint32_t branch[2]);

/* ---- nic.c ---------------------------------------------------------------------------------- */

void net_nics_signalled(struct net *net);
/* The whole packet is in a NIC's memory. */
void net_nic_deliver(struct net *net, uint32_t node, uint32_t packet);
void net_nics_send(struct net *net);
/* The tail of a packet has reached one of the places that the packet goes to. At the last of them
 * deliveries that have not been made are lost: the one place where that is counted. */
void net_packet_ended(struct net *net, uint32_t packet);

/* ---- lines.c -------------------------------------------------------------------------------- */

/* A packet's lines pass the port of its source, when its head leaves the NIC. */
void net_lines_enter(struct net *net, struct packet *packet);
/* And that of a target, with the header that the delivery has. False: the NIC drops it. */
bool net_lines_leave(struct net *net, const struct packet *packet, struct net_delivery *delivery);

/* ---- leave.c -------------------------------------------------------------------------------- */

bool net_leave_open(struct net *net);
void net_leave_close(struct net *net);
/* For tests: the flits that have gone to a channel of the port and have not yet been taken by
 * it. */
uint32_t net_leave_fill(const struct net *net, uint32_t output);
void net_leave_receive(struct net *net);
void net_leave_step(struct net *net);

/* ---- router.c ------------------------------------------------------------------------------- */

void net_routers_receive(struct net *net);
/* A flit comes into a buffer; a credit comes to an output. */
void net_input_receive(struct net *net, uint32_t input, uint32_t what);
void net_output_credit(struct net *net, uint32_t output);
void net_routers_send(struct net *net);

/* ---- links.c -------------------------------------------------------------------------------- */

bool net_links_open(struct net *net);
void net_links_close(struct net *net);
void net_links_receive(struct net *net);
void net_links_send(struct net *net);
void net_link_add(struct net *net, uint32_t link, uint32_t output, uint32_t what);
/* A credit for an output comes over a link with frames, or gets lost there. */
void net_link_credit(struct net *net, uint32_t output);
uint64_t net_links_resent(const struct net *net);
/* The shortest timer that does not fire while all goes well. */
uint32_t net_least_resend_cycles(const struct net_config *config);

#endif
