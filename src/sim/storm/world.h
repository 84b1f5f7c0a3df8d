/* What the world's own files share: the kinds of events, and the steps of a node's life that faults
 * cause. */
#ifndef SIM_STORM_WORLD_H
#define SIM_STORM_WORLD_H

#include "sim/storm/storm.h"

enum storm_event {
    STORM_ARRIVAL, /* subject: the node; value: the packet's slot */
    STORM_TIMER,   /* subject: the node; value: its timer's generation */
    STORM_WAKE,    /* subject: the node; value: its incarnation */
    STORM_RESUME,  /* subject: the node */
    STORM_REBIRTH, /* subject: the node */
    STORM_STRIKE,  /* subject: the fault that is due */
    STORM_REPEAT,  /* subject: the replayer */
};

void storm_world_crash(struct storm_world *world, struct storm_node *node);
void storm_world_pause(struct storm_world *world, struct storm_node *node, uint64_t until_ns);
/* The node's clock has changed. */
void storm_world_set_timer(struct storm_world *world, struct storm_node *node);

/* ---- Faults over time (fault.c) ------------------------------------------------ */

/* Draws the clocks and when the first faults strike. */
void storm_fault_begin(struct storm_world *world);
/* A fault is due: strikes, and decides when the next one of its kind is due. */
void storm_fault_strike(struct storm_world *world, enum storm_fault fault);

#endif
