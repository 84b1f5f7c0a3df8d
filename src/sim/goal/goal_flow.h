/* How far a schedule has come: which operations may start because all that they need is done, and
 * which send a receive belongs to. Whoever carries a schedule out says what has started and what
 * has finished. */
#ifndef SIM_GOAL_GOAL_FLOW_H
#define SIM_GOAL_GOAL_FLOW_H

#include "sim/goal/goal.h"

#define GOAL_NONE UINT32_MAX

struct goal_follower {
    uint32_t operation;
    bool of_start;
};

/* Arrays by operation, but for followers. */
struct goal_flow_rank {
    uint32_t *missing; /* needs that are not fulfilled yet */
    uint32_t *first;   /* of its followers; they end where the next operation's begin */
    struct goal_follower *followers;
    uint32_t *order; /* operations whose needs are fulfilled, in this order: each is there once */
    uint32_t order_taken, order_count;
    uint32_t *partner; /* the send of a receive and the other way round; GOAL_NONE: there is none */
    uint32_t finished; /* operations */
};

struct goal_flow {
    const struct goal *goal;
    struct goal_flow_rank *ranks;
};

void goal_flow_open(struct goal_flow *flow, const struct goal *goal);
void goal_flow_close(struct goal_flow *flow);

/* Takes the next operation that may start. False: none may at present. */
bool goal_flow_next(struct goal_flow *flow, uint32_t rank, uint32_t *operation);
void goal_flow_started(struct goal_flow *flow, uint32_t rank, uint32_t operation);
/* It has started before. */
void goal_flow_finished(struct goal_flow *flow, uint32_t rank, uint32_t operation);

#endif
