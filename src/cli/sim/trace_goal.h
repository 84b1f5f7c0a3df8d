/* A run's trace becomes a GOAL schedule: trace_goal.c makes operations of single calls and chains
 * them, trace_goal_group.c makes those of calls of whole groups. Private to these two.
 *
 * Every send is made together with its receive, so that the n-th of one is the n-th of the other.
 * Everything that an operation requires was before it in the trace: so a schedule comes to its
 * end, as its run did. */
#ifndef CLI_SIM_TRACE_GOAL_H
#define CLI_SIM_TRACE_GOAL_H

#include "cli/launch/trace_events.h"
#include "sim/goal/goal.h"

#define TRACE_GOAL_NONE UINT32_MAX

/* What a call's name says of it. */
enum trace_shape {
    TRACE_SHAPE_PLAIN,
    TRACE_SHAPE_FETCHES, /* an atomic that gives the old value; a lock that is taken */
    TRACE_SHAPE_LATER,   /* it fetches, and another call waits for the answer */
    TRACE_SHAPE_ARRIVES, /* the first half of a barrier */
    TRACE_SHAPE_LEAVES,  /* the second half */
    TRACE_SHAPE_SPREADS, /* of a group: from one to all */
    TRACE_SHAPE_SWAPS,   /* from each to each */
    TRACE_SHAPE_GATHERS, /* nothing but to meet, whatever its bytes are */
};

enum { TRACE_GOAL_ANSWER_TAG = 16 }; /* added to the tag of what it answers */

struct trace_goal {
    const struct trace_events *events;
    struct goal goal;
    enum trace_shape *shapes; /* by name */
    /* By event, operations of its own rank or TRACE_GOAL_NONE: its first one, which requires what
     * was before the call; and the last one, which what follows the call requires. When an event
     * has been chained, `last` is what is done then. */
    uint32_t *first;
    uint32_t *last;
    uint32_t *arrival; /* the receive of what it sent, at its peer */
    bool *is_taken;    /* that receive is part of a wait */
    bool is_full;      /* there are more operations than a schedule may have */
};

/* Adds an operation; gives its number, or TRACE_GOAL_NONE once it is full. */
uint32_t trace_goal_add(struct trace_goal *made, uint32_t rank,
                        const struct goal_operation *operation);
/* Does nothing where one of the two is TRACE_GOAL_NONE. */
void trace_goal_need(struct trace_goal *made, uint32_t rank, uint32_t operation, uint32_t before);

/* A thread's cpu in the schedule. */
uint32_t trace_goal_cpu(uint32_t thread);

/* Makes the operations of barriers and collective calls. False: no memory. */
bool trace_goal_groups(struct trace_goal *made);

#endif
