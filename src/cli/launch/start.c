/* Preparing and starting nodes. */
#define _GNU_SOURCE
#include "cli/launch/start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cli/launch/launcher.h"
#include "host/trace.h"

extern char **environ;

size_t launch_list_length(const char *const *list)
{
    size_t length = 0;
    while (list && list[length]) {
        length++;
    }
    return length;
}

/* Whether two "NAME=VALUE" have the same name. */
static bool same_name(const char *left, const char *right)
{
    size_t bytes = strcspn(left, "=");
    return strncmp(left, right, bytes) == 0 && right[bytes] == '=';
}

/* A variable by which a launcher above us told us our descriptors. Our nodes must not take it
 * for theirs. */
static bool is_of_another_group(const char *variable)
{
    size_t bytes = strcspn(variable, "=");
    if (same_name(HOST_ENV_TRACE_FD "=", variable)) {
        return true;
    }
    for (const struct fabric_launch *const *fabric = fabric_launches; *fabric; fabric++) {
        for (const char *const *name = (*fabric)->variables; *name; name++) {
            if (strlen(*name) == bytes && strncmp(*name, variable, bytes) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool is_among(const char *variable, char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (same_name(list[i], variable)) {
            return true;
        }
    }
    return false;
}

/* Takes our own variables, then the request's, then those that we inherited under other names. */
static int make_environment(struct launch *launch)
{
    struct start_plan *plan = &launch->plan;
    const struct launch_request *request = launch->request;
    size_t added = launch_list_length(request->environment);
    size_t inherited = launch_list_length((const char *const *)environ);
    char **list = calloc(8 + FABRIC_DESCRIPTORS_MAX + added + inherited + 1, sizeof *list);
    if (!list) {
        return ENOMEM;
    }
    plan->environment = list;
    char(*text)[64] = plan->fixed_text;
    (void)snprintf(text[0], sizeof text[0], HOST_ENV_SIZE "=%u", request->node_count);
    (void)snprintf(text[1], sizeof text[1], HOST_ENV_GROUP_FD "=%d", launch->group.fd);
    (void)snprintf(text[2], sizeof text[2], HOST_ENV_NOTIFY_FD "=%d", launch->notify_fd);
    (void)snprintf(text[3], sizeof text[3], HOST_ENV_LAUNCHER "=%d", (int)plan->launcher_pid);
    (void)snprintf(text[4], sizeof text[4], GUARDIAN_ENV_GROUP_ID "=%s", launch->group_id);
    (void)snprintf(plan->rank_text, sizeof plan->rank_text, HOST_ENV_RANK "=0");
    size_t count = 0;
    for (unsigned i = 0; i < 5; i++) {
        list[count++] = text[i];
    }
    list[count++] = plan->rank_text;
    if (strcmp(launch->guardian.mark, text[4]) != 0) {
        list[count++] = launch->guardian.mark;
    }
    for (unsigned i = 0; request->fabric->variables[i]; i++) {
        list[count++] = plan->fabric_text[i];
    }
    if (launch_trace_fd(launch, 0) >= 0) {
        list[count++] = plan->trace_text;
    }
    for (size_t i = 0; i < added; i++) {
        /* exec does not change these, but takes them without const. */
        list[count++] = (char *)(uintptr_t)request->environment[i];
    }
    size_t ours = count;
    for (size_t i = 0; i < inherited; i++) {
        if (!is_among(environ[i], list, ours) && !is_of_another_group(environ[i])) {
            list[count++] = environ[i];
        }
    }
    return 0;
}

static int make_shell_argv(struct start_plan *plan)
{
    static char shell[] = "sh";
    size_t count = launch_list_length((const char *const *)plan->argv);
    plan->shell_argv = calloc(count + 2, sizeof *plan->shell_argv);
    if (!plan->shell_argv) {
        return ENOMEM;
    }
    plan->shell_argv[0] = shell;
    plan->shell_argv[1] = plan->path;
    for (size_t i = 1; i < count; i++) {
        plan->shell_argv[1 + i] = plan->argv[i];
    }
    return 0;
}

int launch_start_plan_make(struct launch *launch)
{
    struct start_plan *plan = &launch->plan;
    plan->argv = launch->request->argv;
    plan->launcher_pid = getpid();
    int error = make_shell_argv(plan);
    error = error ? error : make_environment(launch);
    if (!error && !launch->request->no_pin && !launch->request->fabric->takes_turns &&
        sched_getaffinity(0, sizeof plan->allowed, plan->allowed) == 0) {
        /* Pin also when there are several nodes for each core: the kernel would gather nodes
         * that wake each other on one core and leave the others idle. */
        uint32_t cores = (uint32_t)CPU_COUNT_S(sizeof plan->allowed, plan->allowed);
        plan->pin = launch->rank_count <= cores || launch->rank_count % cores == 0;
        plan->core_count = cores;
    }
    return error;
}

void launch_start_plan_release(struct start_plan *plan)
{
    free(plan->path);
    free(plan->shell_argv);
    free(plan->environment);
    plan->path = NULL;
    plan->shell_argv = NULL;
    plan->environment = NULL;
}

/* A node that is not pinned is slower, not wrong: nothing is said if this fails. */
static void pin_to_core(const struct start_plan *plan, uint32_t index)
{
    cpu_set_t one[START_CORE_SETS];
    uint32_t before = 0;
    uint32_t place = index % plan->core_count;
    for (size_t core = 0; core < START_CORES_MAX; core++) {
        if (CPU_ISSET_S(core, sizeof plan->allowed, plan->allowed) && before++ == place) {
            CPU_ZERO_S(sizeof one, one);
            CPU_SET_S(core, sizeof one, one);
            (void)sched_setaffinity(0, sizeof one, one);
            return;
        }
    }
}

/* The program keeps the group's descriptors and, of the fabric's, only its own. */
static bool keep_descriptors(const struct launch *launch, uint32_t index)
{
    int trace_fd = launch_trace_fd(launch, index);
    bool are_kept = fcntl(launch->group.fd, F_SETFD, 0) == 0 &&
                    fcntl(launch->notify_fd, F_SETFD, 0) == 0 &&
                    (trace_fd < 0 || fcntl(trace_fd, F_SETFD, 0) == 0);
    for (unsigned i = 0; launch->request->fabric->variables[i]; i++) {
        are_kept = are_kept && fcntl(launch->plan.fabric_fds[i], F_SETFD, 0) == 0;
    }
    return are_kept;
}

static void name_descriptors(struct launch *launch, uint32_t index)
{
    struct start_plan *plan = &launch->plan;
    const struct fabric_launch *fabric = launch->request->fabric;
    if (fabric->descriptors) {
        fabric->descriptors(&launch->roster, index, plan->fabric_fds);
    }
    for (unsigned i = 0; fabric->variables[i]; i++) {
        (void)snprintf(plan->fabric_text[i], sizeof plan->fabric_text[i], "%s=%d",
                       fabric->variables[i], plan->fabric_fds[i]);
    }
    (void)snprintf(plan->trace_text, sizeof plan->trace_text, HOST_ENV_TRACE_FD "=%d",
                   launch_trace_fd(launch, index));
}

_Noreturn static void become_node(const struct launch *launch, uint32_t index, int out_fd,
                                  int err_fd)
{
    const struct start_plan *plan = &launch->plan;
    bool is_first = launch->rank_first + index == 0;
    /* Make the process group first, then list it: the guardian kills what is listed. */
    (void)setpgid(0, 0);
    atomic_store(&launch->guardian.process_groups[index], (int32_t)getpid());
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan->launcher_pid) {
        _exit(127); /* the launcher died before the kernel was told to kill us with it */
    }
    if (plan->pin) {
        pin_to_core(plan, index);
    }
    if (plan->files_were_raised) {
        (void)setrlimit(RLIMIT_NOFILE, &plan->old_files);
    }
    int error = 0;
    if (dup2(is_first ? plan->stdin_fd : plan->null_fd, STDIN_FILENO) < 0 ||
        dup2(out_fd, STDOUT_FILENO) < 0 || dup2(err_fd, STDERR_FILENO) < 0 ||
        !keep_descriptors(launch, index)) {
        error = errno;
    } else {
        launch_signals_clear_in_child();
        (void)execve(plan->path, plan->argv, plan->environment);
        error = errno;
        if (error == ENOEXEC) {
            (void)execve("/bin/sh", plan->shell_argv, plan->environment);
        }
    }
    ssize_t written = write(plan->report_fd, &error, sizeof error);
    (void)written; /* without a reader there is nobody to tell */
    _exit(127);
}

pid_t launch_start_node(struct launch *launch, uint32_t index, int out_fd, int err_fd)
{
    struct start_plan *plan = &launch->plan;
    (void)snprintf(plan->rank_text, sizeof plan->rank_text, HOST_ENV_RANK "=%u",
                   launch->rank_first + index);
    name_descriptors(launch, index);
    pid_t pid = fork();
    if (pid == 0) {
        become_node(launch, index, out_fd, err_fd);
    }
    if (pid > 0) {
        /* Parent and child both do this, so that neither has to wait for the other. */
        (void)setpgid(pid, pid);
        atomic_store(&launch->guardian.process_groups[index], (int32_t)pid);
    }
    return pid;
}
