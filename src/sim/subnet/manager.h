/* A small subnet manager. It knows of a subnet only what datagrams tell it, as a manager on a real
 * one: it finds nodes by directed routes, gives addresses, fills the switches' tables, and brings
 * ports up. Where OpenSM is not at hand it does what a simulation needs; it has no partitions, no
 * administration that others could ask, and does not look out for other managers.
 *
 * Routes: `up-down` gives each cable between switches an end that is up, and lets no packet go up
 * after it went down, so that packets never wait for each other in a circle; nodes with more than
 * one way to a node share them out among addresses. `min-hop` takes shortest ways, which may
 * deadlock where there are circles.
 *
 * A sweep writes only what is not as it should be, and keeps addresses that nodes have had. */
#ifndef SIM_SUBNET_MANAGER_H
#define SIM_SUBNET_MANAGER_H

#include "sim/subnet/agent.h"

enum manager_routing { MANAGER_UP_DOWN, MANAGER_MIN_HOP, MANAGER_ROUTINGS };
extern const char *const manager_routing_names[MANAGER_ROUTINGS];

struct manager_config {
    enum manager_routing routing;
};

struct manager;

/* It is at a port of a board, or at a switch's port 0, which is an SM's from now on. */
struct manager *manager_open(struct agent *agent, uint32_t port,
                             const struct manager_config *config);
void manager_close(struct manager *manager);

struct manager_result {
    uint32_t switches, boards; /* found */
    uint32_t ports;            /* with a link, of both */
    uint32_t too_far;          /* links behind which nobody looked: a path has at most 63 hops */
    uint16_t lid_last;
    uint64_t datagrams; /* sent in this sweep */
    uint64_t sets;      /* that wrote something */
    uint64_t unanswered;
};

/* False: the text says why (no addresses left, tables too small, a datagram that should have been
 * answered was not); what was written stays. */
bool manager_sweep(struct manager *manager, struct manager_result *result,
                   char error[TOPOLOGY_ERROR_BYTES]);

/* Packets to a multicast address go to these ports, by their GUIDs, over a tree; an empty group is
 * removed. Later sweeps keep the group, with the members that are there then. False: the address
 * is none that the switches have room for, or there are too many groups. */
enum { MANAGER_GROUPS_MAX = 128 }; /* entries of a switch's table: paper 003, Table 3 */
bool manager_group_set(struct manager *manager, uint16_t mlid, const uint64_t *port_guids,
                       uint32_t count, char error[TOPOLOGY_ERROR_BYTES]);

#endif
