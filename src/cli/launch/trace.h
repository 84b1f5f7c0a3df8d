/* `dimmnet run --trace FILE`: the files into which the nodes record their calls (host/trace.h), and
 * at the end the trace that is made of them. */
#ifndef CLI_LAUNCH_TRACE_H
#define CLI_LAUNCH_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct launch;

#define TRACE_RECORDS_DEFAULT (UINT64_C(1) << 20)
#define TRACE_RECORDS_MAX (UINT64_C(1) << 32)

struct launch_trace {
    FILE *file; /* the trace; NULL: none is wanted */
    int *fds;   /* the nodes' files, by their place in the table of nodes */
    uint32_t count;
};

/* Opens the trace and makes the nodes' files, if the request wants one. Gives 0, or a status after
 * saying why. */
int launch_trace_open(struct launch *launch);

/* The descriptor for a node; -1: no trace is wanted. */
int launch_trace_fd(const struct launch *launch, uint32_t index);

/* After the nodes have ended: writes the trace and says what is in it. Gives 0 or a status, as
 * above. */
int launch_trace_write(struct launch *launch);

void launch_trace_release(struct launch_trace *trace);

#endif
