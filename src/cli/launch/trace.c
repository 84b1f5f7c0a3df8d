/* The launcher's part of a trace. */
#define _GNU_SOURCE
#include "cli/launch/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/launch/launcher.h"
#include "cli/launch/repeat.h"
#include "cli/launch/trace_events.h"

enum { NUMBER_BYTES = 32 };

bool launch_trace_is_wanted(const struct launch_request *request)
{
    return request->trace_path || request->goal_path;
}

/* Now rather than at the end: whoever waits for hours wants to know first. Gives 0 or a status. */
static int open_file(const struct launch_request *request, const char *path, const char *what,
                     FILE **file)
{
    /* A second run records as the first one did, and writes nothing. */
    if (!path || (request->repeat && request->repeat->fabric.is_second)) {
        return 0;
    }
    *file = fopen(path, "we");
    return *file ? 0
                 : cli_refuse(request->command, "cannot write the %s %s: %s", what, path,
                              strerror(errno));
}

int launch_trace_open(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    struct launch_trace *trace = &launch->trace;
    if (!launch_trace_is_wanted(request)) {
        return 0;
    }
    if (request->goal_path && !&trace_goal_write) {
        return cli_refuse(request->command,
                          "--goal: this build has no simulator (-Dsim=false), which writes it");
    }
    trace->fds = malloc(launch->rank_count * sizeof *trace->fds);
    if (!trace->fds) {
        return cli_fail(request->command, "no memory");
    }
    int status = open_file(request, request->trace_path, "trace", &trace->file);
    status = status ? status : open_file(request, request->goal_path, "schedule", &trace->goal);
    if (status) {
        return status;
    }
    for (; trace->count < launch->rank_count; trace->count++) {
        int fd = host_trace_file_make(request->trace_records);
        if (fd < 0) {
            return cli_fail(request->command, "cannot make room for %llu records of node %u: %s",
                            (unsigned long long)request->trace_records, trace->count,
                            strerror(errno));
        }
        trace->fds[trace->count] = fd;
    }
    return 0;
}

int launch_trace_fd(const struct launch *launch, uint32_t index)
{
    return index < launch->trace.count ? launch->trace.fds[index] : -1;
}

void launch_trace_release(struct launch_trace *trace)
{
    for (uint32_t i = 0; i < trace->count; i++) {
        (void)close(trace->fds[i]);
    }
    free(trace->fds);
    if (trace->file) {
        (void)fclose(trace->file);
    }
    if (trace->goal) {
        (void)fclose(trace->goal);
    }
    *trace = (struct launch_trace){0};
}

/* 12345 as "12,345". */
static const char *with_commas(uint64_t number, char text[NUMBER_BYTES])
{
    char *at = text + NUMBER_BYTES - 1;
    *at = '\0';
    for (unsigned digits = 0; digits == 0 || number > 0; digits++, number /= 10) {
        if (digits > 0 && digits % 3 == 0) {
            *--at = ',';
        }
        *--at = (char)('0' + number % 10);
    }
    return at;
}

/* All nodes' records. All nodes are on this host and have its clock. */
static bool collect(const struct launch *launch, struct trace_events *events)
{
    bool is_read = true;
    for (uint32_t i = 0; i < launch->trace.count && is_read; i++) {
        struct stat status;
        int fd = launch->trace.fds[i];
        if (fstat(fd, &status) != 0) {
            return false;
        }
        uint64_t bytes = (uint64_t)status.st_size;
        void *file = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (file == MAP_FAILED) {
            return false;
        }
        /* Where time is virtual, our clock says nothing about a call that did not end. */
        uint64_t ended_ns = launch->request->fabric->takes_turns ? 0 : launch->nodes[i].ended_ns;
        is_read = trace_events_add(events, file, bytes, ended_ns, 0);
        (void)munmap(file, bytes);
    }
    return is_read;
}

static void say_what_is_missing(const struct launch_request *request,
                                const struct trace_events *events)
{
    char count[NUMBER_BYTES];
    char dropped[NUMBER_BYTES];
    if (events->dropped > 0) {
        cli_say(request->command,
                "trace: %s later calls found no room; --trace-records makes more than %s for each "
                "node",
                with_commas(events->dropped, dropped), with_commas(request->trace_records, count));
    }
}

/* Gives whether all of it is on its way to the disk; errno says why not. */
static bool close_file(FILE **file)
{
    errno = 0;
    bool is_written = fflush(*file) == 0 && !ferror(*file);
    int error = errno;
    is_written = fclose(*file) == 0 && is_written;
    *file = NULL;
    errno = error ? error : errno;
    return is_written;
}

static int write_trace(struct launch *launch, const struct trace_events *events)
{
    const struct launch_request *request = launch->request;
    char count[NUMBER_BYTES];
    if (!trace_json_write(events, launch->trace.file)) {
        return cli_fail(request->command, "no memory for the trace");
    }
    if (!close_file(&launch->trace.file)) {
        return cli_fail(request->command, "cannot write the trace %s: %s", request->trace_path,
                        strerror(errno));
    }
    cli_say(request->command, "trace: %s records of %u nodes in %s; open it in ui.perfetto.dev",
            with_commas(events->count, count), events->node_count, request->trace_path);
    return 0;
}

static int write_goal(struct launch *launch, const struct trace_events *events)
{
    const struct launch_request *request = launch->request;
    char error[TRACE_ERROR_BYTES];
    char count[NUMBER_BYTES];
    uint64_t operations;
    if (!trace_goal_write(events, launch->trace.goal, &operations, error)) {
        return cli_fail(request->command, "cannot make the schedule %s: %s", request->goal_path,
                        error);
    }
    if (!close_file(&launch->trace.goal)) {
        return cli_fail(request->command, "cannot write the schedule %s: %s", request->goal_path,
                        strerror(errno));
    }
    cli_say(request->command, "goal: %s operations of %u ranks in %s; dimmnet sim goal replays it",
            with_commas(operations, count), events->node_count, request->goal_path);
    return 0;
}

int launch_trace_write(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    struct trace_events events;
    int status = 0;
    if (!launch->trace.file && !launch->trace.goal) {
        return 0;
    }
    if (!trace_events_begin(&events, launch->trace.count) || !collect(launch, &events) ||
        !trace_events_end(&events) || !trace_match(&events)) {
        status = cli_fail(request->command, "no memory for the trace");
    }
    if (!status && launch->trace.file) {
        status = write_trace(launch, &events);
    }
    if (!status && launch->trace.goal) {
        status = write_goal(launch, &events);
    }
    if (!status) {
        say_what_is_missing(request, &events);
    }
    trace_events_release(&events);
    return status;
}
