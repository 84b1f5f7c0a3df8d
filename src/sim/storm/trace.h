/* The trace of a run: every step of a packet or a node, and what the programs note, as one line
 * each when there is a file, and always as one hash over all of it.
 *
 * The hash is made from the events themselves, not from the lines, so it costs little and is the
 * same whether or not lines are written. */
#ifndef SIM_STORM_TRACE_H
#define SIM_STORM_TRACE_H

#include "sim/storm/storm.h"

/* What happens to a packet. */
#define STORM_STEPS(X)                                       \
    X(SENT, "sends", "")                                     \
    X(ARRIVED, "gets from", "")                              \
    X(LOST, "loses to", "")                                  \
    X(LOST_IN_BURST, "loses to", " in a burst")              \
    X(CUT_OFF, "loses to", " cut off")                       \
    X(TOO_LONG, "loses to", " being too long for the path")  \
    X(LINK_FULL, "loses to", " as its link's queue is full") \
    X(NOBODY_THERE, "misses from", " being dead")            \
    X(NOT_TAKEN, "misses from", " having paused too long")   \
    X(DUPLICATED, "will repeat to", "")                      \
    X(OVERTAKEN, "will be overtaken to", "")                 \
    X(DELAYED, "will be late to", "")                        \
    X(CORRUPTED, "will be changed to", "")                   \
    X(REPLAYED, "is replayed to", "")                        \
    X(FORGED, "is imitated to", "")

#define STORM_STEP_ENUM(name, verb, why) STORM_STEP_##name,
enum storm_step { STORM_STEPS(STORM_STEP_ENUM) STORM_STEP_COUNT };
#undef STORM_STEP_ENUM

void storm_trace_begin(struct storm_world *world, void *file);

/* `who` is the node that the line is about, `other` the packet's other end. */
void storm_trace_packet(struct storm_world *world, enum storm_step step, uint16_t who,
                        uint16_t other, const unsigned char *packet, uint32_t bytes);

#endif
