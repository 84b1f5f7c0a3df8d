/* Barriers on a team, and collective calls that must agree on an argument. */
#ifndef TEAM_BARRIER_H
#define TEAM_BARRIER_H

#include "team/team.h"

/* 0, DN_ETIMEOUT (this node has arrived; the next call goes on waiting) or DN_EPEER. */
int team_barrier(struct dn_team *team, uint64_t timeout_ns);

/* Agrees with all members on how their barriers work. */
int team_barrier_kind(struct dn_team *team, enum dn_barrier_kind kind);

/* The same in two steps. DN_ESTATE: arrived twice without passing. */
int team_barrier_arrive(struct dn_team *team);
int team_barrier_test(struct dn_team *team, bool *passed);
int team_barrier_wait(struct dn_team *team, uint64_t timeout_ns);

/* A collective call in three steps, all with the node's turn held, so that collective calls of
 * one node never interleave. */
struct team_call {
    /* The word that must be the same on all nodes. */
    uint64_t (*argument)(struct dn_node *node, void *context);
    /* Runs once all nodes have arrived and agree. */
    int (*run)(struct dn_node *node, void *context);
    void *context;
};

/* A phase, then the comparison, then run's result: DN_EMISMATCH on every node when the
 * words differ, DN_EPEER when somebody can never arrive. */
int team_agree(struct dn_team *team, const struct team_call *call);

#endif
