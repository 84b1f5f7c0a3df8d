/* What the agents of a subnet keep, for the files that make them up. */
#ifndef SIM_SUBNET_AGENT_STATE_H
#define SIM_SUBNET_AGENT_STATE_H

#include "sim/subnet/agent.h"

/* Registers of a port that packets do not depend on. */
struct agent_port {
    uint64_t mkey, gid_prefix;
    uint64_t guids[WIRE_IB_GUID_BLOCK]; /* the first is the port's own */
    uint16_t pkeys[WIRE_IB_PKEY_BLOCK];
    uint16_t mkey_lease_s, mkey_violations;
    uint8_t mkey_protect;
    uint8_t width_enabled, speed_enabled, down_default_state;
    uint8_t sm_sl, init_type, vl_stall_count, hoq_life;
    uint8_t enforce_inbound, enforce_outbound, filter_raw_inbound, filter_raw_outbound;
    uint8_t subnet_timeout, local_phy_errors, overrun_errors, trap_suppression;
    bool is_disabled; /* a manager has taken the cable out of use at this end */

    bool is_sm, has_sm_info;
    struct wire_ib_sm_info sm_info;

    /* The link as agent_changed saw it last. */
    bool was_up;
    uint64_t downed_before;
    bool trap_144_is_due;
};

/* Registers of a node, most of them of a switch. */
struct agent_node {
    uint8_t life_time_value;
    uint8_t default_port, default_multicast_primary_port, default_multicast_other_port;
    uint16_t multicast_top;
    bool port_state_changed;
    bool was_dead;
    bool trap_128_is_due;
};

struct agent {
    struct subnet *subnet;
    struct agent_node *nodes;
    struct agent_port *ports;
    uint32_t *way; /* room for the longest */
    uint32_t way_room;
    uint32_t traps_due;
    /* What was so when the due traps were last tried: nothing has changed since, so none of them
     * would get further now. */
    uint64_t version_tried;
    uint64_t news, news_tried; /* rises when a manager comes or goes, and with a new trap */
    uint64_t trap_tid;
    struct agent_counters counters;
};

/* A request at the port where it has come in. */
struct agent_request {
    struct wire_mad header;
    uint32_t port, node;
    bool knows_key;      /* the M_Key, or there is none */
    unsigned char *data; /* of the attribute: read, and replaced by the answer */
};

/* Each gives the status of the answer. */
uint16_t agent_subnet_answer(struct agent *agent, struct agent_request *request);
uint16_t agent_performance_answer(struct agent *agent, struct agent_request *request);

/* What a port's registers are after power on. */
void agent_port_reset(struct agent *agent, uint32_t port);

/* A port that has a LID of its own: a board's, or a switch's port 0. */
static inline bool agent_is_end_port(const struct agent *agent, uint32_t port)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    return subnet_is_switch(agent->subnet, of->node) == (of->number == 0);
}

/* The port whose M_Key, LID and the like count for what comes in by a port. */
static inline uint32_t agent_end_port(const struct agent *agent, uint32_t port)
{
    const struct subnet_port *of = &agent->subnet->ports[port];
    return subnet_is_switch(agent->subnet, of->node) ? subnet_port_index(agent->subnet, of->node, 0)
                                                     : port;
}

#endif
