/* The keeper: a small process that does the launcher's duty for a group whose processes another
 * launcher has started (host/job.h). Rank 0 forks it when it attaches; it is nobody's child, and
 * depends on no rank.
 *
 *     GATHERING --all have come--> RUNNING --failure--> GRACE --200 ms--> ENDING --2 s--> KILLING
 *         |                           +---- a node wants the end, 2 s -----^
 *     a rank is missing or lost: tells the others and ends; so it does when
 *     rank 0's process ends before it has come
 *
 * A rank comes by a socket without a file, whose name is the job's; both ends let the kernel tell
 * them whose user the other one's process is. The keeper makes the group's memory when all are
 * there and sends each the same two descriptors that a node of `dimmnet run` inherits. From then on
 * it watches the ranks' processes, announces deaths, and ends the others if the program does not go
 * on after deaths. It ends when all ranks have ended. */
#ifndef HOST_KEEPER_H
#define HOST_KEEPER_H

#include <sched.h>

#include "group/memory.h"
#include "host/job.h"

#define KEEPER_MAGIC UINT32_C(0x6b706572)

/* A rank comes. */
struct keeper_hello {
    uint32_t magic;
    uint32_t layout_version;
    uint32_t rank;
    uint32_t size;
    uint64_t patience_ns; /* it waits so long for the others */
    cpu_set_t cores;      /* that it may use */
};

/* What the keeper says to a rank: first how the gathering ended, and later at most one word by
 * which the rank is to end. */
enum keeper_word {
    KEEPER_WELCOME = 1, /* with the group's memory and the launcher's event */
    KEEPER_MISSING,     /* that rank has not come in time */
    KEEPER_LOST,        /* that rank had come, and has ended or given up */
    KEEPER_TAKEN,       /* that rank has come before, or is none of this job */
    KEEPER_OTHER,       /* rank 0 has another version of the library */
    KEEPER_FAILED,      /* the group could not be made: -DN_E..., and errno */
    KEEPER_END,         /* end with that exit status, which a rank has asked for */
    KEEPER_END_DEATH,   /* end as a failure: that rank has died */
    KEEPER_END_SPOILT,  /* end as a failure: the group's own words are overwritten */
};

struct keeper_answer {
    uint32_t word;
    uint32_t number;
    uint32_t system_error; /* the keeper's errno, with FAILED; else 0 */
};

/* Binds the job's socket and starts the keeper. DN_EGROUP: the name is in use; DN_ESYSTEM. */
int keeper_start(const struct host_job *job, const struct group_sizes *sizes);

/* A socket of the kind that ranks and keeper speak by; -1: errno says why. */
int keeper_socket(void);
/* Whether the process at the other end is of this user; *process has its number. */
bool keeper_peer_is_ours(int fd, pid_t *process);

struct sockaddr_un;
/* Gives the address's length. */
unsigned keeper_address(const struct host_job *job, struct sockaddr_un *address);

#endif
