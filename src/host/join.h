/* A rank's way into a group whose processes another launcher has started: it meets the others at
 * their keeper (host/keeper.h), and a thread listens to what that says until the rank leaves. */
#ifndef HOST_JOIN_H
#define HOST_JOIN_H

#include "group/memory.h"
#include "host/job.h"

struct host_join_terms {
    const struct group_sizes *sizes; /* rank 0's count */
    uint64_t patience_ms;            /* for the others to come */
    int stop_signal;                 /* as fabric_thread_start takes it */
};

/* Comes back when all ranks have come, with the group's memory. DN_ETIMEOUT: one has not; DN_EPEER:
 * one, or the keeper, has ended before; DN_EGROUP, DN_EVERSION, DN_ENOMEM, DN_ESYSTEM. The sentence
 * says more. A process joins once. */
int host_join(const struct host_job *job, const struct host_join_terms *terms, int *group_fd,
              char sentence[HOST_SENTENCE_BYTES]);

/* This process has left the group. Nothing happens if it has not joined one. */
void host_join_end(void);

/* In a forked child, where there is no such thread: closes what it has of the parent's. */
void host_join_forget(void);

#endif
