/* Numbered jobs, each in a process of its own, as many at a time as asked for. Results come in
 * the order of the numbers, whatever the number of workers; a job that dies is a result like
 * any other. */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { JOBS_AT_ONCE_MAX = 256 };

/* As many as there are cores for this process. */
unsigned jobs_usual(void);

struct jobs {
    void *context;
    unsigned count;   /* numbers are 0 .. count - 1 */
    unsigned at_once; /* 1 .. JOBS_AT_ONCE_MAX */
    size_t result_bytes;
    /* In a process of its own; *result is all zero before. */
    void (*run)(void *context, unsigned number, void *result);
    /* In order. `death`: NULL, or how the job's process died, and then *result says nothing. */
    void (*take)(void *context, unsigned number, const void *result, const char *death);
    /* Now and then, from the first second on; may be NULL. */
    void (*progress)(void *context, unsigned done, unsigned running);
    /* How much memory a job takes, and how much all that run together may; NULL: any. One job
     * always runs. */
    uint64_t (*bytes)(void *context, unsigned number);
    uint64_t bytes_max;
};

enum jobs_end {
    JOBS_DONE,
    JOBS_INTERRUPTED, /* worker_signal says by what; nothing is left running */
    JOBS_FAULT,       /* a process could not be started, or there is no memory; errno */
};
enum jobs_end jobs_run(const struct jobs *jobs);

#endif
