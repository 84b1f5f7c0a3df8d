/* The agents inside the devices of a subnet: what answers management datagrams. Each node has an
 * agent for subnet management, through which a manager reads and writes the registers (subnet.h
 * and those that only managers care for, which are kept here), one for the counters, and one that
 * answers pings.
 *
 * A datagram goes where it would go in the devices: by the ports of its path, or by the switches'
 * tables, over cables that live. One that does not get there, or whose answer does not get back,
 * is lost. SMPs need a link; all others need ports that are ACTIVE.
 *
 * Nothing here knows of time: a lease of an M_Key does not run out. */
#ifndef SIM_SUBNET_AGENT_H
#define SIM_SUBNET_AGENT_H

#include "sim/subnet/subnet.h"
#include "wire/ib_subnet.h"

struct agent;

struct agent *agent_open(struct subnet *subnet);
void agent_close(struct agent *agent);
struct subnet *agent_subnet(const struct agent *agent);

enum agent_result {
    AGENT_ANSWERED, /* the datagram is the answer now */
    AGENT_LOST,     /* nobody will ever answer */
    AGENT_SILENT,   /* it needs no answer */
    /* It is for a program at the port where it has come to: a subnet manager. Its way back is
     * written into it; the rest is as it was. */
    AGENT_FOR_PROGRAM,
};

/* A port of a board or a switch's port 0 sends a datagram of 256 bytes to a LID, or by the path in
 * it. `at` is the port where it has come to, unless it is lost. */
enum agent_result agent_send(struct agent *agent, uint32_t from_port, uint16_t dlid,
                             unsigned char *mad, uint32_t *at);

/* Whether a packet gets from a port to a LID now. */
bool agent_reaches(struct agent *agent, uint32_t from_port, uint16_t dlid, bool is_smp);

/* A subnet manager is at work at a port from now on, or not any more: IsSM in its capabilities.
 * With `info` the agent itself answers for it; else SMInfo is for the program. */
void agent_sm_set(struct agent *agent, uint32_t port, bool is_sm,
                  const struct wire_ib_sm_info *info);
bool agent_is_sm(const struct agent *agent, uint32_t port);

/* To be called after cables or nodes died or came back. Registers of ports that lost their link
 * are as after power on, and switches will send traps. */
void agent_changed(struct agent *agent);

/* Gives the next trap that gets to the manager whose LID its sender knows. One that cannot stays,
 * and is given as soon as it can. False: there is none. */
bool agent_trap_next(struct agent *agent, uint32_t *from_port, uint32_t *to_port,
                     unsigned char mad[WIRE_MAD_BYTES]);

/* Attributes as a Get shows them, for who asks without a datagram. */
void agent_node_info(const struct agent *agent, uint32_t port, struct wire_ib_node_info *info);
void agent_port_info(const struct agent *agent, uint32_t port, struct wire_ib_port_info *info);
const uint16_t *agent_pkeys(const struct agent *agent, uint32_t port);

struct agent_counters {
    uint64_t sent, answered, lost;
    uint64_t refused; /* answered with a status that is not good */
    uint64_t mkey_violations, traps;
};
void agent_counters(const struct agent *agent, struct agent_counters *counters);

/* What all our devices say of themselves. */
enum { AGENT_VENDOR_ID = 0x00d133, AGENT_DEVICE_ID = 0x0002, AGENT_REVISION = 2 };

#endif
