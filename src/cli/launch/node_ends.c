/* The ends of processes. When a node ends, its peers are told first. Then its process group is
 * killed, and only then is the process reaped: until that moment no other process can get its
 * number, which is also the number of its process group. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/remote/agent.h"
#include "cli/cli.h"
#include "cli/remote/fleet.h"
#include "cli/launch/launcher.h"
#include "cli/launch/sweep.h"
#include "group/life.h"
#include "host/clock.h"
#include "host/pidfd.h"

static struct ending ending_of(const siginfo_t *info)
{
    return (struct ending){
        .kind = info->si_code == CLD_EXITED ? ENDING_EXITED : ENDING_KILLED,
        .number = info->si_status,
        .dumped_core = info->si_code == CLD_DUMPED,
    };
}

static bool ended_well(const struct ending *ending)
{
    return ending->kind == ENDING_EXITED && ending->number == 0;
}

int launch_ends_describe(const struct ending *ending, char sentence[ENDS_SENTENCE_BYTES])
{
    const size_t bytes = ENDS_SENTENCE_BYTES;
    switch (ending->kind) {
    case ENDING_KILLED: {
        const char *name = sigabbrev_np(ending->number);
        (void)snprintf(sentence, bytes, "was killed by %s%s (%s)%s", name ? "SIG" : "a signal",
                       name ? name : "", strsignal(ending->number),
                       ending->dumped_core ? ", core dumped" : "");
        return 128 + ending->number;
    }
    case ENDING_EXITED:
        if (ending->number != 0) {
            (void)snprintf(sentence, bytes, "exited with status %d", ending->number);
            return ending->number;
        }
        (void)snprintf(sentence, bytes, "exited with status 0 but without dn_detach");
        return CLI_FAULT;
    case ENDING_UNKNOWN: break;
    }
    (void)snprintf(sentence, bytes, "ended without dn_detach; its exit status is not known");
    return CLI_FAULT;
}

/* Nobody here follows the group's constant words any more. But a node that has overwritten them,
 * by mistake or not, may have overwritten anything else that its peers share. So the group ends. */
static void look_whether_whole(struct launch *launch)
{
    if (launch->is_spoilt || host_group_is_whole(&launch->group)) {
        return;
    }
    launch->is_spoilt = true;
    launch_say(launch, "a node has overwritten the group's own words: the group ends");
    if (launch->agent) {
        remote_agent_tell_wanted_end(launch, CLI_FAULT);
    } else {
        launch_phase_on_failure(launch, CLI_FAULT, host_now_ns());
        launch_phase_on_wanted_end(launch, CLI_FAULT, host_now_ns()); /* also with --keep-going */
    }
}

/* A node that wants the whole group to end says so before it ends itself. */
static bool end_is_wanted(struct launch *launch)
{
    int status;
    if (!host_group_end_is_wanted(launch->group.group, &status)) {
        return false;
    }
    if (launch->agent) {
        remote_agent_tell_wanted_end(launch, status);
    } else {
        launch_phase_on_wanted_end(launch, status, host_now_ns());
    }
    return true;
}

/* A launcher asks the group's words when a node fails; only an agent must tell its own. */
static void tell_whether_it_goes_on(struct launch *launch)
{
    if (launch->agent && host_group_goes_on(launch->group.group)) {
        remote_agent_tell_going_on(launch);
    }
}

/* Once the group is being ended, we end the nodes ourselves, and their ends say nothing. */
void launch_ends_judge(struct launch *launch, uint32_t rank, pid_t pid, const char *host,
                       const struct ending *ending, bool wanted)
{
    char sentence[ENDS_SENTENCE_BYTES];
    int status = launch_ends_describe(ending, sentence);
    if (wanted) {
        launch_phase_on_wanted_end_begun(launch, host_now_ns());
        return;
    }
    if (launch->phase == LAUNCH_RUNNING) {
        launch_say(launch, "node %u (pid %d%s%s) %s", rank, (int)pid, host ? " on " : "",
                   host ? host : "", sentence);
    }
    launch_phase_on_failure(launch, status, host_now_ns());
}

static void on_failure(struct launch *launch, uint32_t index, pid_t pid,
                       const struct ending *ending, bool wanted)
{
    uint32_t rank = launch->rank_first + index;
    if (launch->agent) {
        remote_agent_tell_failure(launch, rank, pid, ending, wanted);
    } else {
        launch_ends_judge(launch, rank, pid, NULL, ending, wanted);
    }
}

static void unwatch(struct launch *launch, struct node *node)
{
    if (node->attached_fd >= 0) {
        launch_close_fd(&node->attached_fd);
        launch->attached_count--;
    }
}

static void tell_fabric(struct launch *launch, uint32_t index, bool well)
{
    const struct fabric_launch *fabric = launch->request->fabric;
    if (fabric->cut && launch->phase >= LAUNCH_SIGNALLED) {
        fabric->cut(&launch->roster);
    }
    if (fabric->ended) {
        fabric->ended(&launch->roster, index, well);
    }
}

/* Nothing of the node runs any more. Look first whether it wanted the group to end, and tell its
 * peers afterwards: they may want the group to end because of this node's end. */
static void finish(struct launch *launch, uint32_t index)
{
    struct node *node = &launch->nodes[index];
    uint32_t rank = launch->rank_first + index;
    bool well = ended_well(&node->ending);
    bool failed = false; /* or reported when it was announced */
    look_whether_whole(launch);
    tell_whether_it_goes_on(launch);
    bool wanted = end_is_wanted(launch);
    if (!node->announced) {
        failed = host_group_node_ended(&launch->group, rank, well) || !well;
        node->announced = true;
    }
    node->state = NODE_ENDED;
    node->ended_ns = host_now_ns();
    launch->live_count--;
    tell_fabric(launch, index, well && !failed);
    unwatch(launch, node);
    if (rank == 0) {
        launch_feed_close(&launch->feed);
    }
    if (launch->agent) {
        remote_agent_tell_lives(launch);
    }
    if (failed) {
        on_failure(launch, index, node->pid, &node->ending, wanted);
    }
    if (launch->agent) {
        remote_agent_tell_end(launch, rank);
    }
}

/* Whether we started it ourselves: another node's own process, or the guardian. */
static bool is_our_own(const struct launch *launch, pid_t pid)
{
    bool is_own = pid == launch->guardian.pid;
    for (uint32_t i = 0; i < launch->rank_count && !is_own; i++) {
        is_own = launch->nodes[i].pid == pid;
    }
    return is_own;
}

/* The process that attached as a node, if that is not the node's own; 0: none. Nodes can write the
 * port that names it. A process attaches once, so the first name that was seen there stays. */
static pid_t attached_process(const struct launch *launch, uint32_t index)
{
    const struct node *node = &launch->nodes[index];
    if (node->attached_pid != 0) {
        return node->attached_pid;
    }
    pid_t named = (pid_t)host_group_process(&launch->group, launch->rank_first + index);
    return named > 0 && named != node->pid && !is_our_own(launch, named) ? named : 0;
}

static bool watch(struct launch *launch, struct node *node, pid_t attached)
{
    if (node->attached_pid == 0) {
        node->attached_pid = attached;
        node->attached_fd = host_pidfd_of(attached);
        launch->attached_count += node->attached_fd >= 0;
    }
    return node->attached_fd >= 0;
}

/* The node's own process has ended. If a process further down has claimed the rank and still
 * runs, this kills and watches it, and gives true. Nodes can write the memory that its number
 * comes from, so it is only killed if it is in the node's process group or descends from us. */
static bool attached_process_remains(struct launch *launch, uint32_t index)
{
    struct node *node = &launch->nodes[index];
    uint32_t rank = launch->rank_first + index;
    pid_t attached = attached_process(launch, index);
    if (node->announced || attached == 0 ||
        group_life_gone(host_group_life(&launch->group, rank)) || !watch(launch, node, attached)) {
        return false;
    }
    /* Look at it now that it is watched, and kill it as what is watched: its number may become
     * another process's, and it may leave the process group at any moment. */
    if (getpgid(attached) != node->pid && !launch_sweep_descends(attached)) {
        return false;
    }
    (void)host_pidfd_kill(node->attached_fd, SIGKILL);
    return true;
}

/* Whether the process further down ended well. Only its parent learns its status, and may be
 * content with it: then it counts as well, and the process has left if it was at rest. One that had
 * not come that far has not. */
static bool attached_ended_well(const struct launch *launch, uint32_t rank,
                                const struct ending *ending)
{
    return ending->kind == ENDING_UNKNOWN ? host_group_life(&launch->group, rank) == DN_ATTACHED
                                          : ended_well(ending);
}

/* The process further down has ended, and the node's own runs. */
static void on_attached_end(struct launch *launch, uint32_t index, const struct ending *ending)
{
    struct node *node = &launch->nodes[index];
    uint32_t rank = launch->rank_first + index;
    bool counts = node->state == NODE_RUNNING && !node->announced &&
                  !group_life_gone(host_group_life(&launch->group, rank));
    tell_whether_it_goes_on(launch);
    bool wanted = end_is_wanted(launch);
    bool death = counts && host_group_node_ended(&launch->group, rank,
                                                 attached_ended_well(launch, rank, ending));
    /* One that has left is not announced: how the node's own process ends counts, too. */
    node->announced |= death;
    unwatch(launch, node);
    if (counts && launch->agent) {
        remote_agent_tell_lives(launch);
    }
    if (death) {
        on_failure(launch, index, node->attached_pid, ending, wanted);
    }
}

static void reap(pid_t pid)
{
    siginfo_t info;
    (void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG);
}

static void on_node_end(struct launch *launch, uint32_t index, const siginfo_t *info)
{
    struct node *node = &launch->nodes[index];
    node->ending = ending_of(info);
    if (attached_process_remains(launch, index)) {
        /* A node is announced as dead when nothing of it moves any more. */
        node->state = NODE_LEAVING;
    } else {
        finish(launch, index);
    }
    (void)kill(-node->pid, SIGKILL);
    atomic_store(&launch->guardian.process_groups[index], 0);
    reap(node->pid);
}

static void on_process_end(struct launch *launch, const siginfo_t *info)
{
    struct ending ending = ending_of(info);
    if (launch->fleet && remote_fleet_on_process_end(launch, info->si_pid, &ending)) {
        reap(info->si_pid);
        return;
    }
    for (uint32_t i = 0; i < launch->rank_count && !launch->fleet; i++) {
        struct node *node = &launch->nodes[i];
        if (node->state == NODE_RUNNING && node->pid == info->si_pid) {
            on_node_end(launch, i, info);
            return;
        }
    }
    /* This was a guardian that somebody killed, or an orphan of some node. A process that was an
     * orphan when it attached took us for the parent that started it, and told nobody. */
    for (uint32_t i = 0; i < launch->rank_count && !launch->fleet; i++) {
        if (launch->nodes[i].state == NODE_RUNNING && attached_process(launch, i) == info->si_pid) {
            launch->nodes[i].attached_pid = info->si_pid;
            on_attached_end(launch, i, &ending);
        }
    }
    reap(info->si_pid);
    if (info->si_pid == launch->guardian.pid) {
        launch->guardian.pid = 0;
    }
}

void launch_ends_collect(struct launch *launch)
{
    siginfo_t info;
    /* A node that could not start said so before it ended. */
    launch_ends_read_reports(launch);
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
            return;
        }
        on_process_end(launch, &info);
    }
}

/* The fabric cannot go on: neither can the group. */
static void look_for_fault(struct launch *launch)
{
    const struct fabric_launch *fabric = launch->request->fabric;
    const char *fault = fabric->fault ? fabric->fault(&launch->roster) : NULL;
    if (fault) {
        launch_say(launch, "%s", fault);
        launch_phase_on_failure(launch, CLI_FAULT, host_now_ns());
        launch_phase_on_wanted_end(launch, CLI_FAULT, host_now_ns()); /* also with --keep-going */
    }
}

void launch_ends_watch_attached(struct launch *launch)
{
    host_clear_notice(launch->notify_fd);
    look_whether_whole(launch);
    tell_whether_it_goes_on(launch);
    (void)end_is_wanted(launch);
    launch_verdict_collect(launch);
    look_for_fault(launch);
    if (launch->agent) {
        remote_agent_tell_lives(launch);
    }
    for (uint32_t i = 0; i < launch->rank_count; i++) {
        struct node *node = &launch->nodes[i];
        pid_t attached = attached_process(launch, i);
        bool is_news = node->state == NODE_RUNNING && attached != 0 && node->attached_pid == 0;
        if (is_news && !watch(launch, node, attached) && errno == ESRCH) {
            launch_ends_on_attached_end(launch, i);
        }
    }
}

void launch_ends_on_attached_end(struct launch *launch, uint32_t index)
{
    static const struct ending unknown = {.kind = ENDING_UNKNOWN};
    if (launch->nodes[index].state == NODE_LEAVING) {
        finish(launch, index);
    } else {
        on_attached_end(launch, index, &unknown);
    }
}

void launch_ends_read_reports(struct launch *launch)
{
    int error;
    while (launch->reports_fd >= 0) {
        ssize_t bytes = read(launch->reports_fd, &error, sizeof error);
        if (bytes < 0) {
            return;
        }
        if (bytes == 0) {
            launch_close_fd(&launch->reports_fd); /* every node has become its program */
            return;
        }
        if (launch->agent) {
            remote_agent_tell_not_started(launch, error);
            continue;
        }
        if (launch->phase == LAUNCH_RUNNING) {
            launch_say(launch, "cannot start \"%s\": %s", launch->request->argv[0],
                       strerror(error));
        }
        launch_phase_on_start_failure(launch, CLI_USAGE);
    }
}
