/* `dimmnet run --trace FILE` and `--goal FILE`: the files into which the nodes record their calls
 * (host/trace.h), and at the end the trace and the schedule that are made of them. */
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
    FILE *goal; /* the schedule; NULL: none is wanted */
    int *fds;   /* the nodes' files, by their place in the table of nodes */
    uint32_t count;
};

struct launch_request;

/* Whether calls are to be recorded. */
bool launch_trace_is_wanted(const struct launch_request *request);

/* Opens the trace and the schedule and makes the nodes' files, if the request wants them. Gives 0,
 * or a status after saying why. */
int launch_trace_open(struct launch *launch);

/* The descriptor for a node; -1: nothing is recorded. */
int launch_trace_fd(const struct launch *launch, uint32_t index);

/* After the nodes have ended: writes what is wanted and says what is in it. Gives 0 or a status,
 * as above. */
int launch_trace_write(struct launch *launch);

void launch_trace_release(struct launch_trace *trace);

#endif
