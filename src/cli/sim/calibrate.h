/* `dimmnet sim calibrate`: what both sides of it share, the command and the nodes that it starts.
 * The same nodes run on this machine and on its model, and the command changes the model until
 * they take as long there. */
#ifndef CLI_SIM_CALIBRATE_H
#define CLI_SIM_CALIBRATE_H

#include "base/base.h"

/* What nodes measure, in ns an operation. */
#define CALIBRATE_METERS(METER)                                  \
    METER(STORE, "store of 8 bytes")                             \
    METER(SEE, "store until a node that waits sees it")          \
    METER(LOOK, "wait for what has come already")                \
    METER(BLOCK, "dn_botf of 64 bytes")                          \
    METER(PUT, "dn_put of 64 bytes")                             \
    METER(GET, "dn_get of 64 bytes")                             \
    METER(COPY, "dn_put of 64 KiB")                              \
    METER(FAR, "dn_put of 8 MiB")                                \
    METER(ATOMIC, "dn_fetch_add in a table that both nodes use") \
    METER(FENCE, "store and dn_fence")                           \
    METER(QUIET, "store and dn_quiet")                           \
    METER(LOCK, "take and give a lock that nobody else wants")   \
    METER(BARRIER, "barrier")                                    \
    METER(SUM, "sum of a double")                                \
    METER(HAND_OVER, "lock that goes from node to node")

enum calibrate_meter {
#define CALIBRATE_ENUM(upper, text) CALIBRATE_##upper,
    CALIBRATE_METERS(CALIBRATE_ENUM)
#undef CALIBRATE_ENUM
        CALIBRATE_METER_COUNT,
};

extern const char *const calibrate_texts[CALIBRATE_METER_COUNT];

enum { CALIBRATE_COPY_BYTES = 64 << 10, CALIBRATE_FAR_BYTES = 8 << 20, CALIBRATE_SMALL_BYTES = 64 };

#endif
