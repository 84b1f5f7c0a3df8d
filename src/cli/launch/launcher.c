/* Setting a group up, seeing it through, taking it down. */
#define _GNU_SOURCE
#include "cli/launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/remote/agent.h"
#include "cli/cli.h"
#include "cli/remote/fleet.h"
#include "cli/launch/program.h"
#include "cli/launch/repeat.h"
#include "cli/launch/sweep.h"
#include "host/clock.h"

enum {
    SAY_BYTES = 1024,
    FILES_OF_OUR_OWN = 64, /* generous: the launcher has a dozen */
    POLLS_OF_OUR_OWN = 16,
};

/* An agent writes at once, because it passes no output of nodes on to its standard error. */
void launch_say(struct launch *launch, const char *format, ...)
{
    char line[SAY_BYTES];
    va_list arguments;
    if (launch->request->repeat && launch->request->repeat->fabric.is_second) {
        return; /* the first run has said it; what is different is said in the end */
    }
    va_start(arguments, format);
    int start = snprintf(line, sizeof line - 1, "%s: ", launch->request->command);
    int rest = vsnprintf(line + start, sizeof line - 1 - (size_t)start, format, arguments);
    va_end(arguments);
    size_t length = rest > 0 ? (size_t)start + (size_t)rest : (size_t)start;
    length = length < sizeof line - 2 ? length : sizeof line - 2;
    line[length++] = '\n';
    if (launch->agent) {
        ssize_t written = write(STDERR_FILENO, line, length);
        (void)written; /* nobody reads it */
        return;
    }
    /* If the queue is full, nobody has read half a megabyte, and nobody misses this line. */
    if (launch_sink_has_room(launch->err, length + 1)) {
        launch_sink_put(launch->err, SINK_LAUNCHER, "", line, length);
    }
}

bool launch_fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) {
            return false;
        }
    }
    return true;
}

int launch_raise_file_limit(struct launch *launch, uint64_t wanted, uint64_t needed)
{
    struct rlimit files;
    wanted += FILES_OF_OUR_OWN;
    needed += FILES_OF_OUR_OWN;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) {
        return 0;
    }
    launch->plan.old_files = files;
    files.rlim_cur = wanted < files.rlim_max ? wanted : files.rlim_max;
    launch->plan.files_were_raised = setrlimit(RLIMIT_NOFILE, &files) == 0;
    if (files.rlim_cur < needed) {
        return cli_refuse(launch->request->command,
                          "%u nodes need %llu open files, the limit is %llu", launch->rank_count,
                          (unsigned long long)needed, (unsigned long long)files.rlim_max);
    }
    return 0;
}

int launch_make_group(struct launch *launch)
{
    static const struct group_sizes lives_alone = {1, 1, 1, 1}; /* a page each */
    const struct launch_request *request = launch->request;
    /* Nodes use this to see whether each has a core. An agent assumes that all hosts are like its
     * own; a fleet's launcher has no nodes. */
    uint64_t cores = launch->fleet
                         ? 1
                         : (uint64_t)host_core_count() * request->node_count / launch->rank_count;
    int error = host_group_create(request->node_count,
                                  request->fabric->shares_memory ? &request->sizes : &lives_alone,
                                  (uint32_t)cores, HOST_NO_RANK, &launch->group);
    if (error == DN_ERANGE) {
        return cli_refuse(request->command, "%u nodes of these sizes are too much memory to map",
                          request->node_count);
    }
    if (error) {
        return cli_fail(request->command, "cannot make the group's memory: %s",
                        error == DN_ESYSTEM ? strerror(errno) : dn_strerror(error));
    }
    return 0;
}

/* If both descriptors are the same file, they share one queue, so that lines stay whole. */
bool launch_open_sinks(struct launch *launch)
{
    struct stat out;
    struct stat err;
    launch->out = &launch->sinks[0];
    launch->err = &launch->sinks[1];
    if (fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
        out.st_dev == err.st_dev && out.st_ino == err.st_ino) {
        launch->err = launch->out;
    }
    return launch_sink_open(launch->out, STDOUT_FILENO, SINK_OUTPUT_BYTES) &&
           (launch->err == launch->out ||
            launch_sink_open(launch->err, STDERR_FILENO, SINK_OUTPUT_BYTES));
}

bool launch_allocate(struct launch *launch, uint32_t poll_count)
{
    uint32_t count = launch->rank_count;
    launch->nodes = calloc(count, sizeof *launch->nodes);
    launch->outputs = calloc(2 * (size_t)count, sizeof *launch->outputs);
    launch->polls = calloc(3 * (size_t)count + poll_count, sizeof *launch->polls);
    if (!launch->nodes || !launch->outputs || !launch->polls) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        launch->nodes[i].attached_fd = -1;
        launch->outputs[2 * i].fd = OUTPUT_ENDED;
        launch->outputs[2 * i + 1].fd = OUTPUT_ENDED;
    }
    return true;
}

/* Node 0 inherits our standard input. If that is a terminal, or if we are an agent, we read it
 * and pass it on through a pipe. */
static bool open_stdin(struct launch *launch)
{
    int ends[2];
    if (launch->rank_first > 0) {
        return true;
    }
    const struct launch_repeat *repeat = launch->request->repeat;
    if (repeat && !repeat->stdin_is_file) {
        launch->plan.stdin_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return launch->plan.stdin_fd >= 0;
    }
    if (!launch->agent && !isatty(STDIN_FILENO)) {
        launch->plan.stdin_fd = STDIN_FILENO;
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
    launch->plan.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return fcntl(reports[0], F_SETFL, O_NONBLOCK) == 0 && launch->notify_fd >= 0 &&
           launch->plan.null_fd >= 0 && open_stdin(launch);
}

int launch_take_charge(struct launch *launch, uint32_t child_count)
{
    /* The processes of one host have a mark of their own where a group has several hosts. */
    const char *mark_name = launch->agent || launch->fleet ? GUARDIAN_ENV_HOST_ID
                                                           : GUARDIAN_ENV_GROUP_ID;
    if (!launch->agent && !launch_guardian_make_id(launch->group_id)) {
        return cli_fail(launch->request->command, "cannot name the group: %s", strerror(errno));
    }
    /* Orphans of nodes become our children, so that none is lost. */
    launch->children_are_ours = !launch_sweep_has_children();
    (void)prctl(PR_GET_CHILD_SUBREAPER, &launch->old_subreaper);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    launch->is_reaper = true;
    bool opened = launch_signals_take(&launch->signals) &&
                  launch_guardian_open(&launch->guardian, child_count, mark_name,
                                       launch->agent ? remote_agent_host_id(launch->agent)
                                                     : launch->group_id);
    if (launch->agent) {
        launch->guardian.lifeline_fd = remote_agent_lifeline(launch->agent);
    }
    /* The guardian starts first, so that it inherits less. */
    if (!opened || !launch_guardian_start(&launch->guardian)) {
        return cli_fail(launch->request->command, "cannot start the guardian: %s", strerror(errno));
    }
    return 0;
}

void launch_sweep(struct launch *launch)
{
    if (launch->is_reaper && launch->children_are_ours) {
        launch_sweep_children(launch->guardian.pid);
    } else if (launch->is_reaper) {
        launch_sweep_marked(launch->guardian.mark); /* others of our children are not the group's */
    }
    /* The guardian goes last: if we are killed meanwhile, it ends what is left. */
    launch_guardian_close(&launch->guardian);
}

int launch_prepare(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    int error = launch_fill_standard_descriptors()
                    ? launch_program_find(request->argv[0], &launch->plan.path)
                    : errno;
    if (error) {
        return cli_refuse(request->command, "cannot start \"%s\": %s", request->argv[0],
                          strerror(error));
    }
    /* Two pipe ends, what the fabric has, records and, at times, a pidfd for each node. */
    uint64_t by_node = 2 + (uint64_t)request->fabric->files_by_node +
                       launch_trace_is_wanted(request);
    uint64_t needed = by_node * launch->rank_count;
    int status = launch_raise_file_limit(launch, needed + launch->rank_count, needed);
    status = status ? status : launch_take_charge(launch, launch->rank_count);
    status = status ? status : launch_make_group(launch);
    if (status) {
        return status;
    }
    if (!launch_allocate(launch, POLLS_OF_OUR_OWN) || !launch_open_sinks(launch) ||
        !open_descriptors(launch)) {
        return cli_fail(request->command, "cannot prepare the nodes: %s", strerror(errno));
    }
    return 0;
}

void launch_close_fd(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

void launch_open_output(struct launch *launch, uint32_t number, int fd)
{
    struct output *output = &launch->outputs[number];
    launch_output_open(output, fd, number, number % 2 == 0 ? launch->out : launch->err);
    output->repeat = launch->request->repeat;
    if (launch->request->label) {
        (void)snprintf(output->label, sizeof output->label, "[%u] ",
                       launch->rank_first + number / 2);
    }
}

/* A pipe whose reading end becomes an output; gives the writing end, or -1. */
static int open_pipe(struct launch *launch, uint32_t number)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -1;
    }
    /* Each end has its own flags: the node's end still blocks. */
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    launch_open_output(launch, number, ends[0]);
    return ends[1];
}

static bool start_one(struct launch *launch, uint32_t index)
{
    struct node *node = &launch->nodes[index];
    int out_fd = open_pipe(launch, 2 * index);
    int err_fd = open_pipe(launch, 2 * index + 1);
    pid_t pid = -1;
    if (out_fd >= 0 && err_fd >= 0) {
        pid = launch_start_node(launch, index, out_fd, err_fd);
    }
    int error = errno;
    launch_close_fd(&out_fd);
    launch_close_fd(&err_fd);
    if (pid > 0) {
        if (launch->request->fabric->hand_over) {
            launch->request->fabric->hand_over(&launch->roster, index);
        }
        node->pid = pid;
        node->state = NODE_RUNNING;
        launch->live_count++;
    }
    errno = error;
    return pid > 0;
}

static void close_nodes_ends(struct start_plan *plan)
{
    launch_close_fd(&plan->report_fd);
    launch_close_fd(&plan->null_fd);
    if (plan->stdin_fd != STDIN_FILENO) {
        launch_close_fd(&plan->stdin_fd);
    }
}

bool launch_start(struct launch *launch, void (*glance)(struct launch *launch))
{
    bool started = true;
    int error = launch_start_plan_make(launch);
    if (error) {
        launch_say(launch, "cannot prepare the nodes: %s", strerror(error));
        started = false;
    }
    for (uint32_t i = 0; i < launch->rank_count && started && launch->phase == LAUNCH_RUNNING;
         i++) {
        started = start_one(launch, i);
        if (!started) {
            launch_say(launch, "cannot start node %u: %s", launch->rank_first + i, strerror(errno));
        }
        /* Thousands of nodes take seconds to start, and the first may die meanwhile. */
        glance(launch);
    }
    /* From now on only nodes hold these, so the end of a pipe tells something about them. */
    close_nodes_ends(&launch->plan);
    return started;
}

void launch_release(struct launch *launch)
{
    launch_feed_close(&launch->feed);
    launch_trace_release(&launch->trace);
    for (uint32_t i = 0; launch->outputs && i < 2 * launch->rank_count; i++) {
        launch_output_drop(&launch->outputs[i]);
    }
    free(launch->outputs);
    free(launch->nodes);
    free(launch->polls);
    free(launch->verdict.suspected_by);
    launch_sink_close(&launch->sinks[0]);
    launch_sink_close(&launch->sinks[1]);
    launch_close_fd(&launch->reports_fd);
    launch_close_fd(&launch->notify_fd);
    close_nodes_ends(&launch->plan);
    launch_start_plan_release(&launch->plan);
    fabric_roster_release(&launch->roster);
    if (launch->group.group) {
        host_group_unmap(&launch->group);
    }
    launch_guardian_close(&launch->guardian);
    if (launch->is_reaper) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, launch->old_subreaper);
    }
    launch_signals_give_back(&launch->signals);
    if (launch->plan.files_were_raised) {
        (void)setrlimit(RLIMIT_NOFILE, &launch->plan.old_files);
    }
}

void launch_init(struct launch *launch, const struct launch_request *request)
{
    INVARIANT(request->node_count > 0 && request->node_count <= GROUP_NODES_MAX);
    *launch = (struct launch){
        .request = request,
        .rank_count = request->node_count,
        .phase = LAUNCH_RUNNING,
        .phase_deadline_ns = UINT64_MAX,
        .timeout_deadline_ns = UINT64_MAX,
        .verdict = {.due_ns = UINT64_MAX},
        .group = {.fd = -1},
        .signals = {.fd = -1},
        .guardian = {.launcher_fd = -1, .lifeline_fd = -1},
        .plan = {.report_fd = -1, .null_fd = -1, .stdin_fd = -1},
        .reports_fd = -1,
        .notify_fd = -1,
        .sinks = {{.fd = -1}, {.fd = -1}},
        .feed = {.pipe_fd = -1},
    };
    if (request->timeout_ns) {
        launch->timeout_deadline_ns = host_deadline_ns(host_now_ns(), request->timeout_ns);
    }
}

/* From the moment at which the last node had attached until the last one had left. Nodes write
 * these words: nonsense is said to be none. */
static void say_time(const struct launch *launch)
{
    struct group_view view;
    uint64_t attached_ns = 0;
    uint64_t left_ns = 0;
    bool are_all = true;
    group_view_make(launch->group.group, &launch->group.facts, 0, &view);
    for (uint32_t rank = 0; rank < launch->rank_count; rank++) {
        uint64_t came_ns = atomic_load(&view.ports[rank].attached_ns);
        uint64_t went_ns = atomic_load(&view.ports[rank].left_ns);
        attached_ns = came_ns > attached_ns ? came_ns : attached_ns;
        left_ns = went_ns > left_ns ? went_ns : left_ns;
        are_all = are_all && came_ns > 0 && went_ns > 0;
    }
    if (are_all && left_ns >= attached_ns) {
        cli_say(launch->request->command,
                "%.3f us from the last node's attachment to the last one's departure",
                (double)(left_ns - attached_ns) / 1e3);
    } else {
        cli_say(launch->request->command, "no time: not every node attached and left");
    }
}

/* For whoever compares two runs: how this one ended. */
static void tell_repeat(const struct launch *launch)
{
    struct launch_repeat *repeat = launch->request->repeat;
    if (repeat) {
        repeat->is_cut = launch->is_cut;
        for (uint32_t i = 0; i < launch->rank_count; i++) {
            const struct ending *ending = &launch->nodes[i].ending;
            launch_repeat_ended(
                repeat, i, ending->kind == ENDING_KILLED ? 128 + ending->number : ending->number);
        }
    }
}

static int launch_here(struct launch *launch)
{
    const struct launch_request *request = launch->request;
    int status = launch_prepare(launch);
    status = status ? status : launch_fabric_make(&launch->roster, request, launch->notify_fd);
    status = status ? status : launch_trace_open(launch);
    if (!status) {
        if (!launch_start(launch, launch_loop_glance)) {
            launch_phase_on_start_failure(launch, CLI_FAULT);
        }
        launch_loop_run(launch);
        if (request->says_time) {
            say_time(launch);
        }
        int traced = launch_trace_write(launch);
        bool is_told = !request->fabric->report || request->fabric->report(&launch->roster);
        status = launch->status ? launch->status : traced;
        status = status || is_told ? status : CLI_FAULT;
        tell_repeat(launch);
    }
    return status;
}

int launch_group(const struct launch_request *request)
{
    struct launch launch;
    launch_init(&launch, request);
    int status = request->hosts ? remote_fleet_launch(&launch) : launch_here(&launch);
    launch_release(&launch);
    return status;
}
