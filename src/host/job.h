/* Who started this process, if it was not `dimmnet run`: the launcher of a job of MPI processes,
 * which tells each one its rank by variables of the environment.
 *
 * Nobody is asked for it: the MPI library of such a program speaks with the launcher, and not even
 * two libraries of one process may do that. */
#ifndef HOST_JOB_H
#define HOST_JOB_H

#include "base/base.h"

enum { HOST_SENTENCE_BYTES = 256, HOST_JOB_NAME_BYTES = 64 };

struct host_job {
    const char *launcher; /* for people; NULL: there is none, or the job is one process */
    uint32_t rank;
    uint32_t size;
    /* The same for all processes of this job, and no other job on this machine has it now. */
    char name[HOST_JOB_NAME_BYTES];
};

/* Looks into the environment. DN_EGROUP: the job's processes cannot become a group, and the
 * sentence says why. */
int host_job_find(struct host_job *job, char sentence[HOST_SENTENCE_BYTES]);

/* This process wants the whole job to end with that status: if its launcher must be told, it is,
 * when the program's own exit functions are done. */
void host_job_note_end(int status);

#endif
