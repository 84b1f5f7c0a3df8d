/* How a packet finds its way through switches: by the first line of its header
 * (wire/ring_header.h), as Table 2 of paper 000 says of each of them.
 *
 *     table    RHiNET-2 and -3, SW2 header: RRID, here the target's number, indexes a table in each
 *              switch, which gives the output port; IRID is what a reply puts there
 *     source   RHiNET-3 and OIP, OIP header: the sender names the output port of each of up to six
 *              switches; each of them writes the port on which the packet came in its place, so
 *              that the receiver has the way back
 *
 * network.c lays out the switches and says which port leads where. */
#ifndef SIM_MODEL_ROUTES_H
#define SIM_MODEL_ROUTES_H

#include "wire/ring_header.h"

enum sim_routing { SIM_ROUTING_TABLE, SIM_ROUTING_SOURCE };

/* Tables of so many entries in all are kept; larger networks compute what would be in them. */
enum { SIM_ROUTES_ENTRIES_MAX = 1 << 20 };

struct sim_routes;

struct sim_routes *sim_routes_open(enum sim_routing routing, uint32_t switch_count,
                                   uint32_t node_count);
void sim_routes_close(struct sim_routes *routes);

enum sim_routing sim_routes_kind(const struct sim_routes *routes);

/* Tables: what a manager writes into a switch. */
void sim_routes_set(struct sim_routes *routes, uint32_t switch_number, uint32_t target,
                    uint32_t port);

/* The header that the sender writes; a source route needs the ports of all switches on the way. */
void sim_routes_begin(const struct sim_routes *routes, uint32_t source, uint32_t target,
                      const uint8_t *ports, uint32_t hops,
                      unsigned char header[WIRE_LINE_DATA_BYTES]);

/* By source routes: the header of the reply to a request that has come with that one. */
void sim_routes_begin_back(const struct sim_routes *routes,
                           const unsigned char request[WIRE_LINE_DATA_BYTES],
                           unsigned char header[WIRE_LINE_DATA_BYTES]);

/* What a switch does with a header that came in on that port: its output port. */
uint32_t sim_routes_next(const struct sim_routes *routes, uint32_t switch_number, uint32_t port_in,
                         unsigned char header[WIRE_LINE_DATA_BYTES]);

#endif
