/* Files that say what a subnet looks like, in two formats that are told apart by their first line.
 *
 * Our own, for people:
 *
 *     # The shape of a small test bench.
 *     switch sw 8                  name, ports; then, if one likes, 4X and a GUID as 0x...
 *     board  left                  name; then, if one likes, ports, 4X and a GUID
 *     board  right 2 12X
 *     link   left sw:1             a cable; a board with one port needs no number
 *     link   right:2 sw:7 12X      and its width, if it is not that of the ports
 *
 * That of ibnetdiscover, which ibsim reads, too:
 *
 *     switchguid=0x200000(200000)
 *     Switch  8 "S-0000000000200000"     # "sw" base port 0 lid 2 lmc 0
 *     [1]     "H-0000000000100000"[1](100001)     # "left" lid 1 4xSDR
 *
 * Nodes are told from each other there by the text in quotes. A node's name is what its comment
 * says, if no other node has that name, or that text. Addresses are not read: a subnet manager
 * gives them. GUIDs of boards' ports are not read, either: port p has its board's GUID + p. A cable
 * may be listed at one of its ends; where both list it, they agree. ibsim's include, do, module,
 * aliases and routers (Rt) are not understood.
 *
 * Where no GUID is given, a node has that of topology_guid. Errors are one line that begins with
 * file and line. */
#ifndef SIM_SUBNET_TOPOLOGY_FILE_H
#define SIM_SUBNET_TOPOLOGY_FILE_H

#include <stdio.h>

#include "sim/subnet/topology.h"

/* The topology has no objection, and at least one node; it is set only on success. */
bool topology_read(const char *path, struct topology *topology, char error[TOPOLOGY_ERROR_BYTES]);
/* The same from memory; the name is for errors. */
bool topology_read_bytes(const char *name, const void *bytes, size_t length,
                         struct topology *topology, char error[TOPOLOGY_ERROR_BYTES]);

/* Writes it as ibnetdiscover does. topology_read gives the same topology again. The function, if
 * there is one, gives the LID of a port (a switch's: 0); without it all are 0. */
struct topology_lids {
    uint16_t (*lid)(void *context, uint32_t node, uint32_t port);
    void *context;
};
void topology_write(FILE *file, const struct topology *topology, const struct topology_lids *lids);

#endif
