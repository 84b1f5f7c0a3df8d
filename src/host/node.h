/* A process's side of the group. */
#ifndef HOST_NODE_H
#define HOST_NODE_H

#include <pthread.h>

#include "base/extents.h"
#include "fabric/fabric.h"
#include "host/group.h"
#include "host/memory.h"
#include "group/life.h"

/* What a process has once, shared by all its lanes. */
struct host_process {
    struct group_view view;
    struct host_group group;
    const struct fabric *fabric;
    /* The group's words that the launcher shares with its nodes: lives and the wish to end. They
     * lie in the group itself or, where `group` is this process's own, in a group that has
     * nothing else. */
    struct group_view control;
    struct host_group control_group; /* .group NULL: `group` is the launcher's */
    bool core_is_free;               /* a core for each node: waits spin before they yield */
    bool polls_closely;              /* and what they wait for comes without their doing */
    bool is_traced;                  /* calls are recorded (host/trace.h) */
    bool all_in_place;               /* as fabric_all_in_place */
    _Atomic bool has_store_error;    /* some lane may have one: a barrier looks */

    struct base_extents heap;  /* the symmetric heap; guarded by the turn of the team of all */
    struct base_extents arena; /* this node's service memory; guarded by table_lock */
    struct host_memory memory; /* registered private memory; guarded by table_lock */

    /* How many threads sleep, and what they watch together. */
    pthread_mutex_t sleep_lock;
    uint32_t sleeper_count;
    uint32_t watch;

    /* Deaths that this node has acknowledged. */
    pthread_mutex_t acknowledge_lock; /* guards the bits */
    _Atomic uint32_t acknowledged_count;
    uint64_t acknowledged[GROUP_NODES_MAX / 64];

    pthread_mutex_t table_lock; /* the area table, the arena, moved pages, the list of lanes */
    struct dn_node *lanes;      /* every other lane ever opened, closed ones for reuse */
    struct dn_node *default_lane;

    struct fabric_segment *segments;
    _Atomic uint64_t stored_to[GROUP_NODES_MAX / 64];
};

/* A node handle: the default lane, or one from dn_lane_open. */
struct dn_node {
    struct fabric_lane lane;
    struct host_process *process;
    struct dn_node *next; /* in process->lanes */
    bool is_default;
};

/* Whether a handle may be used. A closed one stays readable, so that using it gives DN_ESTATE
 * instead of a crash. */
static inline bool host_node_open(const struct dn_node *node)
{
    return LIKELY(node != NULL && node->lane.open == FABRIC_LANE_OPEN);
}

int host_attach(struct dn_node **node, const struct dn_options *options);
/* A sentence about the last attach that failed, for people; empty: its error says it all. */
const char *host_attach_reason(void);
int host_detach(struct dn_node *node);
/* After a detach that could not make registered memory private again (DN_ETHREADS, DN_ENOMEM,
 * DN_ESYSTEM): leaves all the same. That memory keeps its content and stays in the group's
 * file, which this process holds until it ends. */
void host_leave_with_memory(struct dn_node *node);
/* The program is done with its peers for now: see group_life_rest. */
void host_rest(struct dn_node *node, bool rests);
int host_lane_open(struct dn_node **lane);
int host_lane_close(struct dn_node *lane);

#endif
