/* Numbered jobs in worker processes, as many at a time as asked for: a job may take its process
 * with it (a broken invariant, a sanitizer) or not end. Results come in the order of the numbers,
 * whatever the number of workers; a job that dies is a result like any other. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOBS_AT_ONCE_MAX = 256 };

struct jobs {
    void *context;
    uint64_t count;   /* numbers are 0 .. count - 1 */
    unsigned at_once; /* 1 .. JOBS_AT_ONCE_MAX */
    /* False: each job has a process of its own. True, for many short jobs: a process does every
     * at_once-th one until it dies. */
    bool lasting;
    unsigned cpu_seconds_max; /* a job that takes more is killed; 0: no limit */
    size_t result_bytes;
    /* In a worker; *result is all zero before. */
    void (*run)(void *context, uint64_t number, void *result);
    /* In order. `death`: NULL, or how the job's process died, and then *result is all zero.
     * False: that is enough, and the jobs end. */
    bool (*take)(void *context, uint64_t number, const void *result, const char *death);
    /* Now and then, from the first second on; may be NULL. */
    void (*progress)(void *context, uint64_t done, unsigned running);
    /* How much memory a job takes, and how much all that run together may; NULL: any. One job
     * always runs. Not for lasting processes. */
    uint64_t (*bytes)(void *context, uint64_t number);
    uint64_t bytes_max;
};

enum jobs_end {
    JOBS_DONE,
    JOBS_INTERRUPTED, /* by SIGINT, SIGTERM or SIGHUP */
    JOBS_FAULT,       /* a process could not be started, or there is no memory; errno */
};
/* Nothing is left running when it returns. From the first call on, the three signals are held
 * back except while it waits for workers; `take` may call it again. */
enum jobs_end jobs_run(const struct jobs *jobs);

/* An exit status for that end; says on stderr what a fault was. To be called right after
 * jobs_run, which leaves errno. */
int jobs_conclude(const char *command, enum jobs_end end);

/* As many as there are cores for this process. */
unsigned jobs_usual(void);

#endif
