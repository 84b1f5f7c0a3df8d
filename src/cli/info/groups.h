/* The groups that run on this machine, found by the files that their processes hold: neither
 * has a name, but /proc lists what a process has open to whoever may look at it. */
#ifndef CLI_INFO_GROUPS_H
#define CLI_INFO_GROUPS_H

#include <sys/types.h>

#include "fabric/launch.h"
#include "host/group.h"

struct groups_entry {
    struct host_group group; /* its words alone, to be read */
    const struct fabric_launch *fabric;
    struct fabric_look look; /* of fabrics that have a file; else zeros */
    pid_t leader;            /* its launcher, or the agent of this host, or the only node */
    uint32_t process_count;  /* processes that hold it */
};

struct groups {
    struct groups_entry *entries; /* by leader */
    size_t count;
};

/* All of this user's, or with a process id those that this process holds. False: no memory, or
 * errno says why /proc cannot be read. */
bool info_groups_find(pid_t process, struct groups *groups);
void info_groups_release(struct groups *groups);

/* The one that the process is a part of rather than a user of: it leads it, or is one of its
 * nodes; else the first. NULL: there is none. */
const struct groups_entry *info_groups_of(const struct groups *groups, pid_t process);

#endif
