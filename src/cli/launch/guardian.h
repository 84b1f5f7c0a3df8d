/* The guardian: a process in a session of its own that waits for the launcher's end and then
 * kills what is left of the group. When a launcher dies, the kernel kills its children
 * (PR_SET_PDEATHSIG) and the guardian kills the children's children. An agent's guardian also sees
 * when the launcher hangs up, and then ends an agent that stands still. */
#ifndef CLI_LAUNCH_GUARDIAN_H
#define CLI_LAUNCH_GUARDIAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A word that all nodes of a group have in their environment and no other process has. It marks
 * every process of the group that does not clear its environment. */
#define GUARDIAN_ENV_GROUP_ID "DIMMNET_GROUP_ID"
/* The same for the nodes of one host, where a group has several: ID.NUMBER. */
#define GUARDIAN_ENV_HOST_ID "DIMMNET_HOST_ID"

enum { GUARDIAN_ID_BYTES = 32 + 1, GUARDIAN_MARK_BYTES = 64 };

struct guardian {
    pid_t pid;       /* 0: none runs */
    int launcher_fd; /* the launcher's pidfd, or the agent's; -1: not open */
    int lifeline_fd; /* what the agent's launcher speaks through, not ours to close; -1: none */
    uint32_t count;
    /* Shared with the guardian, by rank: the process group of a running node, else 0. A node writes
     * its own before it does anything else, so it never runs without being listed. */
    _Atomic int32_t *process_groups;
    char mark[GUARDIAN_MARK_BYTES]; /* NAME=VALUE, or how that begins */
};

/* Makes the id of a new group; false: errno says why. */
bool launch_guardian_make_id(char id[GUARDIAN_ID_BYTES]);

/* Prepares for `count` nodes with this mark and without a lifeline; false: errno says why. */
bool launch_guardian_open(struct guardian *guardian, uint32_t count, const char *name,
                          const char *value);

/* Starts a guardian; false: errno says why. Signals are blocked. */
bool launch_guardian_start(struct guardian *guardian);

/* Ends it and gives everything back. */
void launch_guardian_close(struct guardian *guardian);

#endif
