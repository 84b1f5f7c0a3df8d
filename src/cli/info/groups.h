/* The groups that run on this machine. Their memory files have no names, but /proc shows what a
 * process holds open to everybody who may look at the process. */
#ifndef CLI_INFO_GROUPS_H
#define CLI_INFO_GROUPS_H

#include <sys/types.h>

#include "fabric/launch.h"
#include "host/group.h"

struct groups_entry {
    struct host_group group; /* a copy of its words */
    const struct fabric_launch *fabric;
    struct fabric_look look; /* of fabrics that have a file; else zeros */
    pid_t leader;            /* its launcher, or the agent of this host, or the only node */
    uint32_t process_count;  /* processes that hold it */
};

struct groups {
    struct groups_entry *entries; /* by leader */
    size_t count;
    size_t senseless_count; /* groups that are left out: their words make no sense */
};

/* Finds all groups of this user; with a process id, those that the process holds. False: there
 * is no memory, or errno says why /proc cannot be read. */
bool info_groups_find(pid_t process, struct groups *groups);
void info_groups_release(struct groups *groups);

/* The group that the process leads, or else the one that it is a node of, or else the first.
 * NULL: there is none. */
const struct groups_entry *info_groups_of(const struct groups *groups, pid_t process);

#endif
