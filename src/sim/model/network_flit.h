/* Networks of routers (sim/ring) under the model's clock: the topologies ring and torus. The
 * network steps at each edge of its clock while anything is in it.
 *
 * It reports a packet when the whole of it has arrived, not when its head has: a router's NIC side
 * works by lines, and the receive stages behind it begin at the end of a packet.
 *
 * Each NIC keeps the header of the last request from each node, and a reply takes the way back in
 * it. For a multicast the routers' tables get a line for each set of nodes, at no cost in time;
 * when all lines are taken, one is used anew as soon as nothing is under way, and meanwhile a
 * packet goes to each node. */
#ifndef SIM_MODEL_NETWORK_FLIT_H
#define SIM_MODEL_NETWORK_FLIT_H

#include "sim/model/network.h"
#include "sim/ring/net.h"

struct sim_flit_network;

/* Fills in the usual routers' delays and buffers where the machine says nothing of [ring]. */
void sim_ring_complete(struct sim_machine *machine);

/* A ring of that many routers with the machine's delays, buffers and ports. */
void sim_ring_config(const struct sim_machine *machine, uint32_t node_count,
                     struct net_config *config);

/* NULL: the machine's [ring] makes no sense for that many nodes; the error says why. */
struct sim_flit_network *sim_flit_network_open(const struct sim_machine *machine,
                                               enum sim_topology topology, uint32_t node_count,
                                               const struct sim_network_user *user,
                                               char error[SIM_ERROR_BYTES]);
void sim_flit_network_close(struct sim_flit_network *flits);

/* Like the functions of network.h. */
uint64_t sim_flit_network_send(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                               uint32_t target, uint32_t bytes, uint32_t token);
uint64_t sim_flit_network_reply(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                                uint32_t target, uint32_t bytes, uint32_t token);
bool sim_flit_network_is_stopped(const struct sim_flit_network *flits, uint32_t source,
                                 uint32_t token);
const char *sim_flit_network_refusal(const struct sim_flit_network *flits);
uint64_t sim_flit_network_multicast(struct sim_flit_network *flits, uint64_t at_ps, uint32_t source,
                                    uint32_t first, uint32_t count, uint32_t bytes, uint32_t token);
void sim_flit_network_event(struct sim_flit_network *flits, const struct sim_event *event);
uint32_t sim_flit_network_hops(const struct sim_flit_network *flits, uint32_t source,
                               uint32_t target);
size_t sim_flit_network_load_count(const struct sim_flit_network *flits);
void sim_flit_network_load(const struct sim_flit_network *flits, size_t output,
                           struct sim_network_load *load);
void sim_flit_network_worst(const struct sim_flit_network *flits, struct sim_network_worst *worst);

#endif
