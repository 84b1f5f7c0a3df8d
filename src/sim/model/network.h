/* What lies between the boards: loops, a cable, switches.
 *
 * A network carries tokens (its user's packets) from node to node by its own events in the
 * user's heap, and says when the head of each has arrived. Links are cut-through: a head goes
 * on before its tail has arrived, and the packet's length says how long a link is taken. An
 * output of a switch serves one packet at a time, in the order of their heads; from one head to
 * the next it takes at least `switch next_ns` (240 ns in a RHiNET-2 switch).
 *
 * A packet to one node finds its way by its header (routes.h): by a table in each switch or by a
 * source route, as the machine's switches can. Where they have both, tables are used. Multicasts,
 * and packets in networks that would have very large tables, go the same ways without.
 *
 * Where switches resend ([switch] resend, RHiNET-3), [link] loss_ppm is what each link damages: the
 * packet is sent again there, and its head is later by its own length and a way to and fro.
 *
 * InfiniBand switches ([switch] infiniband) are a subnet with its manager, lanes and credits
 * (sim/subnet), as long as its tables have entries enough for all nodes and switches, and its
 * switches no more than 254 ports. Larger networks are the plain switches that this file speaks of,
 * at the same delays.
 *
 * Rings and tori are networks of routers (sim/ring): wormhole switching, virtual channels and
 * credits. They report a packet when the whole of it has arrived. */
#ifndef SIM_MODEL_NETWORK_H
#define SIM_MODEL_NETWORK_H

#include "sim/event.h"
#include "sim/model/machine.h"

enum sim_topology {
    SIM_LOOP_INSIDE,  /* one board, looped inside the SWIF: no link at all */
    SIM_LOOP_OUTSIDE, /* one board, a cable from its output to its input */
    SIM_BACK_TO_BACK, /* two boards and a cable */
    SIM_ONE_SWITCH,   /* as many boards as it has ports, or fewer */
    SIM_SWITCH_TREE,  /* as many switches as it takes: one port up, the others down */
    SIM_FAT_TREE,     /* the same with half of the ports up: no bottleneck above */
    SIM_RING,         /* paper 003's routers between the boards, flit by flit */
    SIM_TORUS,        /* the same routers, as square as the nodes allow */
    SIM_TOPOLOGIES,
};

extern const char *const sim_topology_names[SIM_TOPOLOGIES];

/* What suits so many nodes where nobody says it. */
enum sim_topology sim_topology_suiting(const struct sim_machine *machine, uint32_t node_count);

struct sim_network;

struct sim_network_user {
    void *context;
    struct sim_events *events;
    uint32_t event_kind; /* of the network's events; their other fields are the network's */
    /* The token's head is at the node's input at `at_ps`; called once for each target, inside
     * sim_network_event, when the virtual time is `at_ps`. */
    void (*arrived)(void *context, uint64_t at_ps, uint32_t node, uint32_t token);
    /* May be NULL: the token's head leaves its source's NIC for a router, or for an InfiniBand
     * switch. */
    void (*left)(void *context, uint32_t source, uint32_t token);
    /* For traces, may be NULL: an output of a switch carried a packet in this time. */
    void (*carried)(void *context, uint32_t switch_number, uint32_t port, uint64_t from_ps,
                    uint64_t to_ps, uint32_t token);
    uint64_t seed;    /* of damage on links */
    bool counts_load; /* sim_network_load is wanted */
};

/* Whether links resend what [link] loss_ppm damages on them, or lose it. A loop inside the SWIF has
 * no link, and does neither. Paper 003's routers have errors and repair of their own. */
bool sim_links_resend(const struct sim_machine *machine, enum sim_topology topology);
bool sim_links_lose(const struct sim_machine *machine, enum sim_topology topology);

/* NULL: this topology cannot join that many nodes; the error says why in one line. */
struct sim_network *sim_network_open(const struct sim_machine *machine, enum sim_topology topology,
                                     uint32_t node_count, const struct sim_network_user *user,
                                     char error[SIM_ERROR_BYTES]);
void sim_network_close(struct sim_network *network);

/* The head leaves the source's output at `at_ps` (not before now; over routers and InfiniBand
 * switches: now) or, if the link is still taken, as soon as it is free; the link is then taken for
 * `bytes`. Returns when the link will be free again, as far as that is known now. */
uint64_t sim_network_send(struct sim_network *network, uint64_t at_ps, uint32_t source,
                          uint32_t target, uint32_t bytes, uint32_t token);

/* The same for a reply to a packet that came from the target: over routers and by source routes it
 * takes the way back in that packet's header; over routers also the virtual network of replies, and
 * over InfiniBand switches their lane. */
uint64_t sim_network_reply(struct sim_network *network, uint64_t at_ps, uint32_t source,
                           uint32_t target, uint32_t bytes, uint32_t token);

/* Sends one packet to the nodes first .. first + count - 1, which may include the source; the
 * switches make the copies, or the tables of a ring's routers. (An InfiniBand switch sends nothing
 * back: there the source hands itself its copy.) Only where
 * sim_network_can_multicast; elsewhere sim_network_refusal says why in a sentence. */
bool sim_network_can_multicast(const struct sim_network *network);
const char *sim_network_refusal(const struct sim_network *network);
uint64_t sim_network_multicast(struct sim_network *network, uint64_t at_ps, uint32_t source,
                               uint32_t first, uint32_t count, uint32_t bytes, uint32_t token);

/* What a manager does with a table: in that switch, packets to the target take another of the ports
 * that lead there. False: this port does not, or there are no tables. */
bool sim_network_route(struct sim_network *network, uint32_t switch_number, uint32_t target,
                       uint32_t port);

/* Whether a token that should be on its source's link by now has not got there, and is not next:
 * the router behind that link has said stop, or the switch has no room. The user is told when it
 * has got there. */
bool sim_network_is_stopped(const struct sim_network *network, uint32_t source, uint32_t token);

/* Handles an event of the network's kind that was taken out of the heap. */
void sim_network_event(struct sim_network *network, const struct sim_event *event);

/* Both prefetch memory for a coming event and change nothing. sim_network_expect fetches the
 * event's own memory; sim_network_expect_soon, called some events later, fetches what that memory
 * names. True: the event is an arrival, of this token at this node. */
void sim_network_expect(const struct sim_network *network, const struct sim_event_load *event);
bool sim_network_expect_soon(const struct sim_network *network, const struct sim_event_load *event,
                             uint32_t *node, uint32_t *token);

/* For reports: how often a link sent a packet again. */
uint64_t sim_network_resends(const struct sim_network *network);

/* For reports: how many switches lie between the two nodes. */
uint32_t sim_network_hops(const struct sim_network *network, uint32_t source, uint32_t target);

/* For "saturated" messages: the output that most packets have waited for (of rings and tori, the
 * link that carried most). The text names switch and port. */
struct sim_network_worst {
    char where[64];
    uint64_t carried;     /* there: packets; on rings and tori flits */
    uint64_t wait_ps_max; /* of a head for its output */
};
void sim_network_worst(const struct sim_network *network, struct sim_network_worst *worst);

/* For reports, where the user counts loads: what an output (of a node, a switch or a router) has
 * carried. There are sim_network_load_count of them; some may lead nowhere. */
struct sim_network_load {
    char where[64];
    uint64_t packets;
    uint64_t bytes;       /* as the link carries them: on rings and tori in whole flits */
    uint64_t busy_ps;     /* for how long they took the output; the last ones up to their end */
    uint64_t wait_ps_max; /* of a head for the output; on rings and tori not known: 0 */
};
size_t sim_network_load_count(const struct sim_network *network);
void sim_network_load(const struct sim_network *network, size_t output,
                      struct sim_network_load *load);

#endif
