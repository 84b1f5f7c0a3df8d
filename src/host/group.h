/* The group's memory as a file: made by the launcher (or by a node that runs alone),
 * handed to the nodes as an inherited descriptor, mapped whole by each. It has no
 * name, so nothing remains when the last process that holds it ends. */
#ifndef HOST_GROUP_H
#define HOST_GROUP_H

#include "group/memory.h"

/* How the launcher tells a node its place. */
#define HOST_ENV_RANK "DIMMNET_RANK"
#define HOST_ENV_SIZE "DIMMNET_SIZE"         /* for scripts; the group's memory says it too */
#define HOST_ENV_GROUP_FD "DIMMNET_GROUP_FD" /* the group's memory */
/* An eventfd that a node writes 1 to after attaching from a process that is not the
 * launcher's own child (a shell stands between): the launcher then watches the process
 * whose id the port gives. */
#define HOST_ENV_NOTIFY_FD "DIMMNET_NOTIFY_FD"
#define HOST_ENV_LAUNCHER "DIMMNET_LAUNCHER_PID"

/* Each node's registered memory when no size was given and there are few addresses. */
#define HOST_REGISTERED_BYTES_MODEST (UINT64_C(256) << 20)

struct host_group {
    int fd;
    struct group_memory *group;
    uint64_t bytes;           /* mapped at `group` */
    struct group_facts facts; /* private: see group/memory.h */
};

/* For a process that is no node of the group: its mapping is good for no heap in particular. */
#define HOST_NO_RANK UINT32_MAX

/* Makes a group's memory and maps it, so that the heap of that rank is aligned; the descriptor is
 * close-on-exec. DN_EINVAL, DN_ERANGE, DN_ESYSTEM, DN_ENOMEM. */
int host_group_create(uint32_t node_count, const struct group_sizes *sizes, uint32_t core_count,
                      uint32_t rank, struct host_group *made);

/* Maps a group in the same way from a descriptor, which becomes close-on-exec. DN_EGROUP,
 * DN_EVERSION, DN_ENOMEM. */
int host_group_map(int fd, uint32_t rank, struct host_group *mapped);

/* Copies a group's words, without the nodes' memory, for a reader that is not of the group; the
 * descriptor may be read-only. The copy is the reader's own: whatever the file's owner does to it
 * meanwhile, the reader sees one state, which has been checked. DN_EGROUP, DN_EVERSION,
 * DN_ENOMEM. */
int host_group_look(int fd, struct host_group *copied);

void host_group_unmap(struct host_group *mapped);

/* For the launcher, when the process of a rank has ended: announces a death to all and
 * wakes whoever sleeps. True: it was a death. */
bool host_group_node_ended(const struct host_group *mapped, uint32_t rank, bool well);

/* For a launcher that learned what a rank on another host has become: brings the life here up
 * to that. A life that is over does not change. */
void host_group_tell_life(const struct host_group *mapped, uint32_t rank, enum dn_life life);

/* For the launcher: takes a suspicion of that rank, as group_life_take_suspicion does. */
bool host_group_take_suspicion(const struct host_group *mapped, uint32_t rank, uint32_t *by);

/* The process that attached as this rank; 0: none yet. Nodes can write it: it is a claim. */
uint32_t host_group_process(const struct host_group *mapped, uint32_t rank);

/* The life of a rank. */
enum dn_life host_group_life(const struct host_group *mapped, uint32_t rank);

/* Notes this node's wish that the whole group end with this exit status; false: another
 * node's wish came first. The launcher learns of it when the node ends, or by
 * host_tell_launcher. */
bool host_group_want_end(struct group_memory *group, int status);
/* Whether there is such a wish; if so, its status. */
bool host_group_end_is_wanted(const struct group_memory *group, int *status);

/* The same for a node's wish that the others go on after deaths. It stays. */
void host_group_go_on(struct group_memory *group);
static inline bool host_group_goes_on(const struct group_memory *group)
{
    return atomic_load(&group->goes_on) == 1;
}

/* Whether the group's constant words are what they were. Nobody follows them any more, but a node
 * that overwrote them may have overwritten anything, and no node can attach any more. */
bool host_group_is_whole(const struct host_group *mapped);

/* Makes the launcher, if there is one, look at the group's words. */
void host_tell_launcher(void);
/* For the launcher: takes the count of that event, and never waits for one, although a node may
 * take it first. The group's words tell more than the count. */
void host_clear_notice(int fd);
/* It is told by this event, which no variable names. */
void host_notify_by(int fd);
/* Programs that this process starts or becomes do not inherit the descriptor for that. */
void host_keep_from_programs(void);

/* Cores that this process may use. */
uint32_t host_core_count(void);

#endif
