/* Trees of InfiniBand switches (sim/subnet) under the model's clock: the topologies switch, tree
 * and fat-tree of machines with [switch] infiniband. Switches have virtual lanes and credits, and
 * tables that the built-in subnet manager writes by datagrams when the network is opened, before
 * any time passes. Heads of packets that meet nobody arrive when they would through plain
 * switches.
 *
 * On a cable a packet is LRH, its words of 8 bytes, and CRCs, as a bridge sends them
 * (wire/ib_frame.h). Its data may be as long as the MTU: its DIMMnet header counts as one of
 * InfiniBand's headers, which an MTU does not count.
 *
 * A board sends its packets in order, one after the other, whatever they are. In switches replies
 * (SL 1) have a lane of their own beside requests and multicasts (SL 0), so that they get through
 * where requests wait for each other. A board takes what comes at once, so nothing waits for a
 * board.
 *
 * A switch sends no packet back by the port by which it came. So what a board sends to itself
 * turns in its port, and a member that sends to its own group hands itself the copy.
 *
 * A multicast goes to a group of the manager's, made when its nodes are first sent to, at no cost
 * in time. Who is none of them and sends to them has another group with itself in it, as only
 * members are in a group's tree. When all entries of the tables are taken, one is used anew as
 * soon as nothing is under way, and meanwhile a packet goes to each node. */
#ifndef SIM_MODEL_NETWORK_SUBNET_H
#define SIM_MODEL_NETWORK_SUBNET_H

#include "sim/model/network.h"
#include "sim/model/tree.h"

struct sim_subnet_network;

/* What in the machine does not go together with [switch] infiniband, or NULL. */
const char *sim_subnet_objection(const struct sim_machine *machine, char text[SIM_ERROR_BYTES]);

/* Whether switches of such a tree have no more ports than a table can name, and there are no more
 * nodes and switches than it has entries. */
bool sim_subnet_fits(const struct sim_machine *machine, const struct sim_tree *tree);

/* NULL: the error says why. The tree outlives the network. */
struct sim_subnet_network *sim_subnet_network_open(const struct sim_machine *machine,
                                                   const struct sim_tree *tree,
                                                   const struct sim_network_user *user,
                                                   char error[SIM_ERROR_BYTES]);
void sim_subnet_network_close(struct sim_subnet_network *network);

/* Like the functions of network.h; at_ps is now. */
uint64_t sim_subnet_network_send(struct sim_subnet_network *network, uint64_t at_ps,
                                 uint32_t source, uint32_t target, uint32_t bytes, uint32_t token,
                                 bool is_reply);
uint64_t sim_subnet_network_multicast(struct sim_subnet_network *network, uint64_t at_ps,
                                      uint32_t source, uint32_t first, uint32_t count,
                                      uint32_t bytes, uint32_t token);
bool sim_subnet_network_is_stopped(const struct sim_subnet_network *network, uint32_t source,
                                   uint32_t token);
bool sim_subnet_network_route(struct sim_subnet_network *network, uint32_t switch_number,
                              uint32_t target, uint32_t port);
void sim_subnet_network_event(struct sim_subnet_network *network, const struct sim_event *event);
void sim_subnet_network_load(const struct sim_subnet_network *network, size_t output,
                             struct sim_network_load *load);
void sim_subnet_network_worst(const struct sim_subnet_network *network,
                              struct sim_network_worst *worst);

#endif
