/* Setting a group up, seeing it through, taking it down. */
#define _GNU_SOURCE
#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "cli/sweep.h"
#include "host/clock.h"

enum {
    SAY_BYTES = 1024,
    FILES_BESIDES_NODES = 64, /* generous: the launcher has a dozen of its own */
};

void launch_say(struct launch *launch, const char *format, ...)
{
    char line[SAY_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int start = snprintf(line, sizeof line - 1, "%s: ", launch->request->command);
    int rest = vsnprintf(line + start, sizeof line - 1 - (size_t)start, format, arguments);
    va_end(arguments);
    size_t length = rest > 0 ? (size_t)start + (size_t)rest : (size_t)start;
    length = length < sizeof line - 2 ? length : sizeof line - 2;
    line[length++] = '\n';
    /* Where nobody has read half a megabyte, nobody misses the line. */
    if (sink_has_room(launch->err, length + 1)) {
        sink_put(launch->err, SINK_LAUNCHER, "", line, length);
    }
}

/* Descriptors 0 to 2 must be somebody's, or a pipe of ours would become them. */
static bool fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) {
            return false;
        }
    }
    return true;
}

/* Two pipe ends and at times a pidfd for each node. 0, or an exit status. */
static int raise_file_limit(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    rlim_t wanted = 3 * (rlim_t)request->node_count + FILES_BESIDES_NODES;
    rlim_t needed = 2 * (rlim_t)request->node_count + FILES_BESIDES_NODES;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) {
        return 0;
    }
    launch->plan.old_files = files;
    files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
    launch->plan.files_were_raised = setrlimit(RLIMIT_NOFILE, &files) == 0;
    if (files.rlim_cur < needed) {
        return cli_refuse(request->command, "%u nodes need %llu open files, the limit is %llu",
                          request->node_count, (unsigned long long)needed,
                          (unsigned long long)files.rlim_max);
    }
    return 0;
}

static int make_group(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    int error = host_group_create(request->node_count, &request->sizes, host_core_count(),
                                  &launch->group);
    if (error == DN_ERANGE) {
        return cli_refuse(request->command, "%u nodes of these sizes are too much memory to map",
                          request->node_count);
    }
    if (error) {
        cli_say(request->command, "cannot make the group's memory: %s",
                error == DN_ESYSTEM ? strerror(errno) : dn_strerror(error));
        return CLI_FAULT;
    }
    return 0;
}

/* What goes to one file has one queue, so that lines stay whole there. */
static bool open_sinks(struct launch *launch)
{
    struct stat out;
    struct stat err;
    launch->out = &launch->sinks[0];
    launch->err = &launch->sinks[1];
    if (fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
        out.st_dev == err.st_dev && out.st_ino == err.st_ino) {
        launch->err = launch->out;
    }
    return sink_open(launch->out, STDOUT_FILENO) &&
           (launch->err == launch->out || sink_open(launch->err, STDERR_FILENO));
}

static bool allocate(struct launch *launch)
{
    uint32_t count = launch->request->node_count;
    launch->nodes = calloc(count, sizeof *launch->nodes);
    launch->streams = calloc(2 * (size_t)count, sizeof *launch->streams);
    launch->polls = calloc(3 * (size_t)count + 16, sizeof *launch->polls);
    if (!launch->nodes || !launch->streams || !launch->polls) {
        return false;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        launch->nodes[rank].attached_fd = -1;
        launch->streams[2 * rank].fd = -1;
        launch->streams[2 * rank + 1].fd = -1;
    }
    return true;
}

/* Node 0 reads what we would; a terminal through us. */
static bool open_stdin(struct launch *launch)
{
    int ends[2];
    launch->plan.stdin_fd = STDIN_FILENO;
    if (!isatty(STDIN_FILENO)) {
        return true;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    launch->plan.stdin_fd = ends[0];
    launch->feed.pipe_fd = ends[1];
    return fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0;
}

static bool open_descriptors(struct launch *launch)
{
    int reports[2];
    if (pipe2(reports, O_CLOEXEC) != 0) {
        return false;
    }
    launch->reports_fd = reports[0];
    launch->plan.report_fd = reports[1];
    launch->notify_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    launch->plan.notify_fd = launch->notify_fd;
    launch->plan.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return fcntl(reports[0], F_SETFL, O_NONBLOCK) == 0 && launch->notify_fd >= 0 &&
           launch->plan.null_fd >= 0 && open_stdin(launch);
}

/* 0, or an exit status after having said why. */
static int prepare(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    int error = fill_standard_descriptors() ? program_find(request->argv[0], &launch->plan.path)
                                            : errno;
    if (error) {
        return cli_refuse(request->command, "cannot start \"%s\": %s", request->argv[0],
                          strerror(error));
    }
    int status = raise_file_limit(launch);
    if (status) {
        return status;
    }
    /* Orphans of nodes become our children, so that none is lost. */
    launch->children_are_ours = !sweep_has_children();
    (void)prctl(PR_GET_CHILD_SUBREAPER, &launch->old_subreaper);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* The guardian comes first: it inherits the less. */
    if (!signals_take(&launch->signals) || !guard_open(&launch->guard, request->node_count) ||
        !guard_start(&launch->guard)) {
        cli_say(request->command, "cannot start the guardian: %s", strerror(errno));
        return CLI_FAULT;
    }
    status = make_group(launch);
    if (status) {
        return status;
    }
    launch->plan.group_fd = launch->group.fd;
    launch->plan.guard = &launch->guard;
    launch->plan.launcher_pid = getpid();
    if (!allocate(launch) || !open_sinks(launch) || !open_descriptors(launch) ||
        (errno = start_plan_make(&launch->plan, request)) != 0) {
        cli_say(request->command, "cannot prepare the nodes: %s", strerror(errno));
        return CLI_FAULT;
    }
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

/* A pipe whose reading end becomes a stream; gives the writing end, or -1. */
static int open_stream(struct launch *launch, uint32_t rank, unsigned which)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    /* The ends have flags of their own: the node's goes on blocking. */
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    struct stream *stream = &launch->streams[2 * rank + which];
    stream_open(stream, ends[0], 2 * rank + which, which == 0 ? launch->out : launch->err);
    if (launch->request->label) {
        (void)snprintf(stream->label, sizeof stream->label, "[%u] ", rank);
    }
    return ends[1];
}

static bool start_one(struct launch *launch, uint32_t rank)
{
    struct node *node = &launch->nodes[rank];
    int out_fd = open_stream(launch, rank, 0);
    int err_fd = open_stream(launch, rank, 1);
    pid_t pid = -1;
    if (out_fd >= 0 && err_fd >= 0) {
        pid = start_node(&launch->plan, rank, out_fd, err_fd);
    }
    int error = errno;
    close_fd(&out_fd);
    close_fd(&err_fd);
    if (pid > 0) {
        node->pid = pid;
        node->state = NODE_RUNNING;
        launch->live_count++;
    }
    errno = error;
    return pid > 0;
}

static void start_all(struct launch *launch)
{
    for (uint32_t rank = 0; rank < launch->request->node_count && launch->phase == LAUNCH_RUNNING;
         rank++) {
        if (!start_one(launch, rank)) {
            launch_say(launch, "cannot start node %u: %s", rank, strerror(errno));
            phase_on_start_failure(launch, CLI_FAULT);
        }
        /* Thousands take seconds to start; the first ones may die meanwhile. */
        loop_glance(launch);
    }
    /* Only nodes hold these now, so that their ends mean something. */
    close_fd(&launch->plan.report_fd);
    close_fd(&launch->plan.null_fd);
    if (launch->plan.stdin_fd != STDIN_FILENO) {
        close_fd(&launch->plan.stdin_fd);
    }
}

static void release(struct launch *launch)
{
    feed_close(&launch->feed);
    for (uint32_t i = 0; launch->streams && i < 2 * launch->request->node_count; i++) {
        stream_drop(&launch->streams[i]);
    }
    free(launch->streams);
    free(launch->nodes);
    free(launch->polls);
    sink_close(&launch->sinks[0]);
    sink_close(&launch->sinks[1]);
    close_fd(&launch->reports_fd);
    close_fd(&launch->notify_fd);
    close_fd(&launch->plan.report_fd);
    close_fd(&launch->plan.null_fd);
    if (launch->plan.stdin_fd != STDIN_FILENO) {
        close_fd(&launch->plan.stdin_fd);
    }
    start_plan_release(&launch->plan);
    if (launch->group.group) {
        host_group_unmap(&launch->group);
    }
    guard_close(&launch->guard);
    if (launch->signals.fd >= 0) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, launch->old_subreaper);
    }
    signals_give_back(&launch->signals);
    if (launch->plan.files_were_raised) {
        (void)setrlimit(RLIMIT_NOFILE, &launch->plan.old_files);
    }
}

int launch_group(const struct launch_request *request)
{
    struct launch launch = {
        .request = request,
        .phase = LAUNCH_RUNNING,
        .phase_deadline_ns = UINT64_MAX,
        .timeout_deadline_ns = UINT64_MAX,
        .group = {.fd = -1},
        .signals = {.fd = -1},
        .guard = {.launcher_fd = -1},
        .plan = {.report_fd = -1, .null_fd = -1, .stdin_fd = -1},
        .reports_fd = -1,
        .notify_fd = -1,
        .sinks = {{.fd = -1}, {.fd = -1}},
        .feed = {.pipe_fd = -1},
    };
    INVARIANT(request->node_count > 0 && request->node_count <= NIC_NODES_MAX);
    int status = prepare(&launch);
    if (status == 0) {
        if (request->timeout_ns) {
            launch.timeout_deadline_ns = host_deadline_ns(host_now_ns(), request->timeout_ns);
        }
        start_all(&launch);
        loop_run(&launch);
        status = launch.status;
    }
    release(&launch);
    return status;
}
