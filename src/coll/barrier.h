/* The barrier of all nodes, and collective calls that must agree on an argument. */
#ifndef COLL_BARRIER_H
#define COLL_BARRIER_H

#include "host/node.h"

/* 0, DN_ETIMEOUT (this node has arrived; the next call goes on waiting) or DN_EPEER. */
int coll_barrier(struct dn_node *node, uint64_t timeout_ns);

/* A collective call in three steps, all with the node's turn held, so that collective
 * calls of one node never mix. */
struct coll_call {
    /* The word that must be the same on all nodes. */
    uint64_t (*argument)(struct dn_node *node, void *context);
    /* What to do once all nodes have arrived and agree. */
    int (*run)(struct dn_node *node, void *context);
    void *context;
};

/* A barrier, then the comparison, then run's result: DN_EMISMATCH on every node when
 * the words differ, DN_EPEER when somebody can never arrive. */
int coll_agree(struct dn_node *node, const struct coll_call *call);

#endif
