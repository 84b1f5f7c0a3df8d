/* Shapes from a short text: a kind, its size, and settings behind commas.
 *
 *     switch:8                  one switch with 8 boards
 *     ring:8  ring:8x2          8 switches in a ring, with 1 board or 2 each
 *     torus:4x4  torus:3x3x3    a torus of up to 6 dimensions, mesh:4x4 the same without its wraps
 *     fat-tree:64               64 boards under switches that have half of their ports up, in as
 *                               many levels as it takes; the highest have all ports down
 *     random:20                 20 boards at switches whose other ports are joined by chance, so
 *                               that the subnet is in one part
 *
 * Settings: ports=N of a switch, width=1, 4 or 12 of all cables, boards=N of a switch (ring, torus,
 * mesh), switches=N and seed=N (random).
 *
 * Boards are the first nodes, in order, board-0 and on; switches follow, switch-0 and on; GUIDs are
 * those of topology_guid. A text always gives the same shape. In rings, tori and meshes the ports
 * of dimension d (from 0) are 2d + 1 to the next switch and 2d + 2 to the one before, and those
 * of boards follow. Switches of a fat tree are level by level, the lowest first, and ports down
 * come before ports up. Errors are one line that begins with the text. */
#ifndef SIM_SUBNET_TOPOLOGY_MAKE_H
#define SIM_SUBNET_TOPOLOGY_MAKE_H

#include "sim/subnet/topology.h"

/* Whether the text begins with the name of a kind and a colon. */
bool topology_is_made(const char *text);

/* The topology has no objection; it is set only on success. */
bool topology_make(const char *text, struct topology *topology, char error[TOPOLOGY_ERROR_BYTES]);

/* Makes it from such a text, or reads it from the file with that path (topology_file.h). */
bool topology_open(const char *text, struct topology *topology, char error[TOPOLOGY_ERROR_BYTES]);

#endif
