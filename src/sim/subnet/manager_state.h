/* What the manager knows of its subnet in a sweep, for the files that make it up. */
#ifndef SIM_SUBNET_MANAGER_STATE_H
#define SIM_SUBNET_MANAGER_STATE_H

#include "sim/subnet/manager.h"

#define MANAGER_NONE UINT32_MAX

/* A hash table from GUIDs to numbers. */
struct manager_table {
    uint64_t *keys; /* 0: free */
    uint32_t *values;
    uint32_t room, count;
};
/* MANAGER_NONE: it is not there. */
uint32_t manager_table_get(const struct manager_table *table, uint64_t key);
void manager_table_put(struct manager_table *table, uint64_t key, uint32_t value);
void manager_table_free(struct manager_table *table);

struct manager_port {
    uint32_t peer; /* its number in the manager's ports; MANAGER_NONE: no link */
    uint32_t node;
    uint16_t lid; /* of an end port: the address that it shall have */
    struct wire_ib_port_info info;
};

struct manager_node {
    uint64_t guid;
    bool is_switch;
    uint8_t port_count;
    uint8_t local_port; /* by which its path comes in */
    uint8_t hop_count;
    uint8_t path[WIRE_MAD_HOPS_MAX + 1];
    uint32_t port_first; /* of its port 0 */
    uint32_t number;     /* of a switch: among the switches */
    struct wire_ib_switch_info info;
    unsigned char *linear; /* of a switch, by LID: what its table shall be */
};

struct manager_mask {
    uint64_t words[SUBNET_MASK_WORDS];
};

struct manager_group {
    uint16_t mlid;
    uint64_t *guids; /* of ports */
    uint32_t count;
    struct manager_mask *masks; /* by switch, of this sweep: the ports that it has there */
};

struct manager {
    struct agent *agent;
    uint32_t port; /* where it is */
    struct manager_config config;
    struct wire_ib_sm_info sm_info;
    uint64_t tid;

    struct manager_table lids; /* by port GUID, of all sweeps */
    struct manager_group groups[MANAGER_GROUPS_MAX];
    uint32_t group_count;
    uint32_t multicast_blocks; /* of the tables that have ever been used */

    /* Of this sweep. */
    struct manager_node *nodes;
    uint32_t node_count, node_room;
    struct manager_port *ports;
    uint32_t port_count, port_room;
    struct manager_table by_guid;
    uint32_t *switches; /* their numbers among the nodes */
    uint32_t switch_count;
    uint32_t root;        /* the switch that trees hang from, by its number among the switches */
    uint32_t lid_count;   /* LIDs are below this */
    uint32_t linear_room; /* bytes of a switch's table here */
    struct manager_result *result;
};

/* Finds the root, and fills the tables of all switches. */
void manager_route(struct manager *manager);

/* A datagram along the path of a node: its attribute's data goes and comes back. False: it was
 * not answered, or not well. */
bool manager_get(struct manager *manager, const struct manager_node *node, uint16_t attribute,
                 uint32_t modifier, unsigned char data[WIRE_MAD_DATA_BYTES]);
bool manager_set(struct manager *manager, const struct manager_node *node, uint16_t attribute,
                 uint32_t modifier, unsigned char data[WIRE_MAD_DATA_BYTES]);

/* Writes the multicast tables for all groups. */
void manager_write_groups(struct manager *manager);

#endif
