/* What programs are told by the environment: one table, read once, when the group is joined. */
#ifndef FAGUS_ENVIRONMENT_H
#define FAGUS_ENVIRONMENT_H

#include <stdbool.h>

struct fagus_environment {
    bool force_remote; /* FAGUS_FORCE_REMOTE: every node is a distant one */
    bool check;        /* FAGUS_CHECK: accesses without holding are trapped */
    bool stats;        /* FAGUS_STATS: a report at the end */
};

extern struct fagus_environment fagus_environment __attribute__((visibility("hidden")));

/* Each is 0, 1, empty or not set. False: one is not; a sentence on standard error names it, and
 * nothing was changed. */
bool fagus_environment_read(void);

#endif
