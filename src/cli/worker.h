/* Worker processes of a command that computes: what a run cannot take with it when it dies (a
 * broken invariant, a sanitizer) or does not end. A worker does its work and writes results
 * into a pipe; the parent reads them, and learns of a worker's death by the pipe's end. */
#ifndef CLI_WORKER_H
#define CLI_WORKER_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct worker {
    pid_t pid; /* 0: there is none */
    int fd;    /* its results */
};

/* As many as there are cores for this process. */
unsigned worker_cores(void);

/* Takes SIGINT, SIGTERM and SIGHUP, so that they end the command in order. To be called before
 * the first worker is started. */
void worker_take_signals(void);
/* The signal that came, or 0. */
int worker_signal(void);

/* Does `work` in a process of its own, which dies with its parent. False: no process could be
 * started; errno says why. */
bool worker_start(struct worker *worker, void (*work)(void *context, int fd), void *context);
/* In a worker: writes all, or ends it. */
void worker_write(int fd, const void *bytes, size_t count);

/* Waits for any of the pipes to be readable. 1: one is, 0: none within that time (-1: no
 * limit), -1: a signal came. */
int worker_await(struct pollfd *wanted, unsigned count, int patience_ms);
/* False: the worker died before it had written so many bytes. */
bool worker_read(const struct worker *worker, void *bytes, size_t count);

/* Waits for its end; gives its wait status. */
int worker_end(struct worker *worker);
/* Ends it now, if there is one. */
void worker_kill(struct worker *worker);
/* How a worker died that could not say so itself, as "died by ..." or "ended ...". */
void worker_describe_death(int status, char *text, size_t room);

#endif
