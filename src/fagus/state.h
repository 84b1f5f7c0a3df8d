/* What this process knows of the shared space; written by fagus_space_open and _close. */
#ifndef FAGUS_STATE_H
#define FAGUS_STATE_H

#include <pthread.h>

#include "api/inner.h"
#include "fagus/space.h"

/* What the space, and large allocations in it, are aligned to: huge pages fit there. */
#define FAGUS_HUGE_PAGE_BYTES (UINT64_C(2) << 20)

struct fagus_state {
    struct dn_node *node; /* NULL: not open */
    struct dn_team *team;
    int rank;
    int size;
    bool is_shared;   /* all nodes have one memory: no protocol; never with FAGUS_FORCE_REMOTE=1 */
    bool reaches_all; /* pointers reach every node's memory: inner_reaches_all */

    uint64_t page_bytes;
    uint64_t bytes;           /* of the space: this node's whole heap */
    unsigned char *base;      /* the agreed address */
    unsigned char *heap;      /* this node's own heap, where control and pool memory are used */
    unsigned char *unguarded; /* the space through the group's own mapping */

    /* Counts openings and, in a forked child, the fork: what threads keep of one is void in
     * the next. */
    uint64_t generation;
};

extern struct fagus_state fagus_state __attribute__((visibility("hidden")));

/* 0, or FAGUS_ESTATE: what every call begins with. */
static inline int fagus_check_open(void)
{
    return fagus_state.node ? 0 : FAGUS_ESTATE;
}

/* Where a node's heap begins in this address space; a mirror of it where packets carry stores. */
static inline unsigned char *fagus_heap_of(int rank)
{
    return inner_area(fagus_state.node, rank, DN_HEAP);
}

/* Whether a node has died or left. */
static inline bool fagus_is_gone(int rank)
{
    enum dn_life life;
    return dn_peer_life(fagus_state.node, rank, &life) == 0 && (life == DN_LEFT || life == DN_DEAD);
}

/* ---- Between the parts of the space -------------------------------------------------- */

/* The pool, and the table of allocations. (memory.c) */
int fagus_memory_open(void);
void fagus_memory_close(void);

/* The calling thread takes the node itself as its lane. (thread_lane.c) */
int fagus_lanes_open(void);

/* Paper 001's port layer, after the space is open: 0 or FAGUS_E.... (port.c) */
int fagus_port_open(void);
void fagus_port_close(void);

#endif
