/* The devices of a subnet, with the registers that a subnet manager reads and writes: addresses,
 * port states, forwarding tables, virtual lanes, counters. agent.h changes them as management
 * packets ask; flow.h moves packets as they say.
 *
 * A port is known by its index: node by node, in a node by number. A switch's port 0 is its
 * management port, which has no cable; a board's port 0 is there and not used. */
#ifndef SIM_SUBNET_SUBNET_H
#define SIM_SUBNET_SUBNET_H

#include "sim/subnet/topology.h"

enum {
    SUBNET_LIDS = 0xc000,          /* 0x0001 .. 0xbfff are unicast addresses */
    SUBNET_MULTICAST_LID = 0xc000, /* the first multicast address */
    SUBNET_PERMISSIVE_LID = 0xffff,
    SUBNET_SLS = 16,
    SUBNET_DATA_VLS = 15,
    SUBNET_MANAGEMENT_VL = 15,
    SUBNET_NO_PORT = 255, /* in a linear table: this address leads nowhere */
    SUBNET_ARBITRATION_ROWS = 64,
    SUBNET_LMC_MAX = 7,
    SUBNET_MULTICAST_ENTRIES_MAX = 0x3fff,
};

#define SUBNET_NONE UINT32_MAX

enum subnet_state { SUBNET_DOWN = 1, SUBNET_INIT = 2, SUBNET_ARMED = 3, SUBNET_ACTIVE = 4 };

/* What the hardware of all devices has. */
struct subnet_config {
    uint32_t linear_entries;    /* of a switch: 4,096 (paper 003, Table 3) */
    uint32_t multicast_entries; /* 128 */
    uint32_t mtu;               /* 2,048: 256, 512, 1,024, 2,048 or 4,096 */
    uint32_t data_vls;          /* 4: 1, 2, 4, 8 or 15 */
};
void subnet_config_default(struct subnet_config *config);
/* What is wrong, or NULL. */
const char *subnet_config_objection(const struct subnet_config *config);

/* A row of the arbitration tables: this virtual lane may send that many units of 64 bytes. */
struct subnet_arbitration_row {
    uint8_t vl, weight;
};

/* Counters in full width; a register of few bits shows the most that it can. */
struct subnet_counters {
    uint64_t xmit_words, rcv_words; /* 4 bytes each, from the LRH to before the VCRC */
    uint64_t xmit_packets, rcv_packets;
    uint64_t xmit_wait; /* cycles in which something waited and nothing was sent */
    uint64_t symbol_errors, link_downed, rcv_errors, xmit_discards, vl15_dropped;
    uint64_t multicast_xmit_packets, multicast_rcv_packets;
};

struct subnet_port {
    uint32_t node;
    uint32_t peer; /* index of the port at the other end; SUBNET_NONE: no cable */
    uint8_t number;
    uint8_t width;
    bool is_cable_dead; /* by subnet_cable_set */
    bool is_cut;        /* the cable, or a node at one of its ends, is dead */

    /* Registers. */
    uint8_t state;    /* enum subnet_state */
    uint8_t oper_vls; /* data lanes in use: 1 .. config.data_vls */
    uint8_t lmc;
    uint8_t high_limit; /* of VL arbitration */
    uint16_t lid, sm_lid;
    uint16_t mtu; /* bytes, that the neighbour can take */
    struct subnet_arbitration_row high[SUBNET_ARBITRATION_ROWS], low[SUBNET_ARBITRATION_ROWS];
    struct subnet_counters counters;
};

struct subnet_node {
    const struct topology_node *shape;
    uint32_t port_first; /* index of its port 0 */
    uint32_t port_count; /* without port 0 */
    bool is_dead;

    /* Of a switch. */
    uint8_t *linear;     /* by LID: the output port, or SUBNET_NO_PORT */
    uint64_t *multicast; /* by multicast LID: SUBNET_MASK_WORDS words, a bit for each port */
    uint16_t linear_top; /* LIDs above lead nowhere */
    uint8_t *sl_to_vl;   /* [input port][output port][SL]; a board has one row for [0][0] */
};

enum { SUBNET_MASK_WORDS = 4 };

struct subnet {
    struct topology topology; /* its own copy */
    struct subnet_config config;
    struct subnet_node *nodes;
    struct subnet_port *ports;
    uint32_t node_count, port_count;
    uint32_t lid_owner[SUBNET_LIDS]; /* index of the port; SUBNET_NONE: nobody has it */
    /* Rises whenever a register changes that ways depend on. */
    uint64_t version;
};

/* All devices as they are after power on: links up, in state INIT, tables empty, no addresses. All
 * data lanes are in use, with equal shares in the low table and none in the high one, and SL s goes
 * on lane s modulo their number: a manager that says nothing of lanes gets them all. A switch's
 * port 0, which has no link, is ACTIVE. Shape and config have no objection. */
struct subnet *subnet_open(const struct topology *topology, const struct subnet_config *config);
void subnet_close(struct subnet *subnet);

static inline uint32_t subnet_port_index(const struct subnet *subnet, uint32_t node,
                                         uint32_t number)
{
    return subnet->nodes[node].port_first + number;
}

static inline bool subnet_is_switch(const struct subnet *subnet, uint32_t node)
{
    return subnet->nodes[node].shape->kind == TOPOLOGY_SWITCH;
}

/* A cable (by either of its ports) or a node dies or comes back. Ports at dead cables are DOWN and
 * forget at once what a manager set in them, their LID too; those that come back are INIT. A node
 * that dies forgets its tables and counters as well. A port whose neighbour or cable dies counts
 * link_downed. Nothing happens where nothing changes. */
void subnet_cable_set(struct subnet *subnet, uint32_t port, bool alive);
void subnet_node_set(struct subnet *subnet, uint32_t node, bool alive);

/* Sets a port's LID (unicast; 0: none) and LMC and keeps lid_owner true: the port has all LIDs that
 * differ from this one in the lowest LMC bits alone. False, and nothing is set: another port has
 * one of them. A switch's LID is that of its port 0. */
bool subnet_lid_set(struct subnet *subnet, uint32_t port, uint16_t lid, uint8_t lmc);
/* A port without a living link stays DOWN. */
void subnet_state_set(struct subnet *subnet, uint32_t port, enum subnet_state state);
/* A port that the switch has not is kept as SUBNET_NO_PORT; bits of such ports in a mask are
 * cleared. */
void subnet_linear_set(struct subnet *subnet, uint32_t node, uint16_t lid, uint8_t port);
void subnet_linear_top_set(struct subnet *subnet, uint32_t node, uint16_t lid);
void subnet_multicast_set(struct subnet *subnet, uint32_t node, uint16_t lid,
                          const uint64_t mask[SUBNET_MASK_WORDS]);
/* What leaves by `out`, having come in by `in` (0: from the node itself), with that service level,
 * goes on this virtual lane; 15 drops it. A board has one row: both are 0 for it. */
void subnet_sl_to_vl_set(struct subnet *subnet, uint32_t node, uint32_t in, uint32_t out,
                         uint32_t sl, uint8_t vl);

static inline uint8_t subnet_sl_to_vl(const struct subnet_node *node, uint32_t in, uint32_t out,
                                      uint32_t sl)
{
    size_t side = node->shape->kind == TOPOLOGY_SWITCH ? node->port_count + 1 : 0;
    return node->sl_to_vl[(in * side + (side ? out : 0)) * SUBNET_SLS + sl];
}

/* The output port of a switch for a unicast address; SUBNET_NO_PORT: none. */
static inline uint32_t subnet_linear(const struct subnet *subnet, uint32_t node, uint16_t lid)
{
    const struct subnet_node *of = &subnet->nodes[node];
    return lid <= of->linear_top && lid < subnet->config.linear_entries ? of->linear[lid]
                                                                        : SUBNET_NO_PORT;
}

/* The ports (indices) that a packet leaves on its way to a unicast address, from a port of a board
 * or a switch's port 0 on, as the tables say now; whether ports are ACTIVE does not matter. Returns
 * how many, also if they are more than the room, or 0 if the address is the port's own; or
 * SUBNET_NO_WAY and why in the text: no entry, a dead cable, a circle, a node at the end that has
 * another address. */
#define SUBNET_NO_WAY UINT32_MAX
uint32_t subnet_way(const struct subnet *subnet, uint32_t from_port, uint16_t lid, uint32_t *ports,
                    uint32_t room, char text[TOPOLOGY_ERROR_BYTES]);

/* "name, port 3" for messages; the text is returned. */
const char *subnet_port_name(const struct subnet *subnet, uint32_t port, char *text, size_t room);

#endif
