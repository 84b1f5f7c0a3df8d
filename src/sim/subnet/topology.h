/* The shape of an InfiniBand subnet: boards, switches, and the cables between their ports.
 *
 * A shape comes from a file (topology_file.h), from a generator (topology_make.h), or is built
 * call by call. It says nothing of addresses and tables: those are registers of the devices
 * (subnet.h), which a subnet manager writes. */
#ifndef SIM_SUBNET_TOPOLOGY_H
#define SIM_SUBNET_TOPOLOGY_H

#include "base/base.h"

enum {
    TOPOLOGY_NODES_MAX = 0xbfff, /* as many as there are unicast addresses */
    TOPOLOGY_PORTS_MAX = 254,    /* of a node: 255 means "no way" in a switch's table */
    TOPOLOGY_NAME_BYTES = 64,
    TOPOLOGY_ERROR_BYTES = 320,
};

#define TOPOLOGY_NONE UINT32_MAX

enum topology_kind { TOPOLOGY_BOARD, TOPOLOGY_SWITCH };

struct topology_port {
    uint32_t peer_node; /* TOPOLOGY_NONE: no cable is plugged in */
    uint8_t peer_port;
    uint8_t width; /* lanes: 1, 4, 12 */
};

/* Ports count from 1. (A switch's port 0, its management, has no cable and no place here.) */
struct topology_node {
    enum topology_kind kind;
    uint32_t port_count;
    uint32_t port_first; /* port p is ports[port_first + p - 1] */
    uint64_t guid;       /* no two nodes have the same; a board's port p has guid + p */
    char name[TOPOLOGY_NAME_BYTES];
};

/* All zeros: empty. */
struct topology {
    struct topology_node *nodes;
    struct topology_port *ports;
    uint32_t node_count, node_room;
    uint32_t port_count, port_room;
    uint32_t board_count, switch_count;
};

/* The GUID of the board or switch with that number (the first is 0) where nobody gives another:
 * 0x00d1330000000100 for board 0, 0x00d1330100000100 for switch 0, and 0x100 more for each next, so
 * that GUIDs of ports have place between. */
static inline uint64_t topology_guid(enum topology_kind kind, uint32_t number)
{
    uint64_t first = kind == TOPOLOGY_BOARD ? UINT64_C(0x00d1330000000100)
                                            : UINT64_C(0x00d1330100000100);
    return first + number * UINT64_C(0x100);
}

void topology_free(struct topology *topology);
/* `topology` holds nothing before. */
void topology_copy(struct topology *topology, const struct topology *from);

/* Adds a node whose ports are all of that width and have no cable yet; gives its number. The
 * name is cut to fit. */
uint32_t topology_add(struct topology *topology, enum topology_kind kind, uint32_t port_count,
                      uint8_t width, uint64_t guid, const char *name);

/* Plugs a cable in: both ports are free, differ, and have the same width. */
void topology_join(struct topology *topology, uint32_t node, uint32_t port, uint32_t peer_node,
                   uint32_t peer_port);

static inline struct topology_port *topology_port(const struct topology *topology, uint32_t node,
                                                  uint32_t port)
{
    return &topology->ports[topology->nodes[node].port_first + port - 1];
}

/* The node with that name or, in the form 0x..., GUID; TOPOLOGY_NONE: there is none. */
uint32_t topology_find(const struct topology *topology, const char *name);

/* One line that names the node and says what is wrong, or NULL: two nodes with one GUID (or a GUID
 * that is another board's port's), a GUID of 0, a cable with one end or with ends of different
 * widths, a node without any port, too many nodes. A subnet of several parts is no fault;
 * topology_parts counts them. */
const char *topology_objection(const struct topology *topology, char text[TOPOLOGY_ERROR_BYTES]);
/* The same, and the number of the node. */
const char *topology_objection_at(const struct topology *topology, uint32_t *node,
                                  char text[TOPOLOGY_ERROR_BYTES]);
uint32_t topology_parts(const struct topology *topology);

#endif
