/* The guardian: a process of its own session that does nothing but outlive the launcher
 * and then kill what is left of the group. The kernel kills a dead launcher's children
 * (PR_SET_PDEATHSIG), the guardian their children. */
#ifndef CLI_GUARD_H
#define CLI_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Marks every process of a group, wherever it has gone, unless it clears its
 * environment. */
#define GUARD_ENV_GROUP_ID "DIMMNET_GROUP_ID"

enum { GUARD_GROUP_ID_BYTES = 32 };

struct guard {
    pid_t pid;       /* 0: none runs */
    int launcher_fd; /* the launcher's pidfd; -1: not open */
    uint32_t count;
    /* Shared with the guardian: by rank the process group of a node that runs, else 0.
     * A node writes its own before it does anything else, so that there is no moment
     * at which it runs and is not listed. */
    _Atomic int32_t *process_groups;
    char mark[sizeof GUARD_ENV_GROUP_ID + GUARD_GROUP_ID_BYTES + 1]; /* NAME=VALUE */
};

/* Prepares for `count` nodes; false: errno says why. */
bool guard_open(struct guard *guard, uint32_t count);

/* Starts a guardian; false: errno says why. Signals are blocked. */
bool guard_start(struct guard *guard);

/* Ends it and gives everything back. */
void guard_close(struct guard *guard);

#endif
