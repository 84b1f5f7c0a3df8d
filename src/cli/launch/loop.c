/* The one poll loop. Deaths come first in each round, output last. */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>

#include "cli/remote/fleet.h"
#include "cli/launch/launcher.h"
#include "host/clock.h"

#define NS_PER_MS UINT64_C(1000000)

enum { GUARDIAN_RETRY_MS = 100 };

/* Places in the poll table; the nodes' outputs and watched processes follow. */
enum { AT_SIGNALS, AT_NOTIFY, AT_REPORTS, AT_FEED, AT_OUT, AT_ERR, AT_STREAMS };

static nfds_t fill_polls(struct launch *launch)
{
    struct pollfd *polls = launch->polls;
    uint32_t count = launch->rank_count;
    short events = 0;
    polls[AT_SIGNALS] = launch_poll_for(launch->signals.fd, POLLIN);
    polls[AT_NOTIFY] = launch_poll_for(launch->notify_fd, POLLIN);
    polls[AT_REPORTS] = launch_poll_for(launch->reports_fd, POLLIN);
    int feed_fd = launch->fleet ? remote_fleet_input_poll_fd(launch, &events)
                                : launch_feed_poll_fd(&launch->feed, &events);
    polls[AT_FEED] = launch_poll_for(feed_fd, events);
    for (unsigned i = 0; i < 2; i++) {
        struct sink *sink = &launch->sinks[i];
        polls[AT_OUT + i] = launch_poll_for(launch_sink_is_waiting(sink) ? sink->fd : -1, POLLOUT);
    }
    if (launch->fleet) {
        return AT_STREAMS + remote_fleet_fill_polls(launch, polls + AT_STREAMS);
    }
    /* Nodes are not read while the sink is full: their pipes fill up and they wait. */
    for (uint32_t i = 0; i < 2 * count; i++) {
        struct output *output = &launch->outputs[i];
        bool read_it = launch->phase != LAUNCH_DRAINING && output->fd >= 0 &&
                       launch_output_may_read(output);
        polls[AT_STREAMS + i] = launch_poll_for(read_it ? output->fd : -1, POLLIN);
    }
    if (launch->attached_count == 0) {
        return AT_STREAMS + 2 * count;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        polls[AT_STREAMS + 2 * count + rank] = launch_poll_for(launch->nodes[rank].attached_fd,
                                                               POLLIN);
    }
    return AT_STREAMS + 3 * count;
}

static int poll_timeout_ms(const struct launch *launch)
{
    uint64_t deadline_ns = launch->phase_deadline_ns < launch->timeout_deadline_ns
                               ? launch->phase_deadline_ns
                               : launch->timeout_deadline_ns;
    uint64_t verdict_ns = launch->verdict.due_ns;
    deadline_ns = verdict_ns < deadline_ns ? verdict_ns : deadline_ns;
    if (launch->fleet) {
        uint64_t fleet_ns = remote_fleet_deadline_ns(launch);
        deadline_ns = fleet_ns < deadline_ns ? fleet_ns : deadline_ns;
    }
    int limit_ms = launch->guardian.pid == 0 && launch->phase != LAUNCH_DRAINING ? GUARDIAN_RETRY_MS
                                                                                 : -1;
    if (deadline_ns == UINT64_MAX) {
        return limit_ms;
    }
    uint64_t now_ns = host_now_ns();
    uint64_t left_ms = deadline_ns <= now_ns ? 0 : (deadline_ns - now_ns) / NS_PER_MS + 1;
    left_ms = left_ms < INT_MAX ? left_ms : INT_MAX;
    return limit_ms >= 0 && (uint64_t)limit_ms < left_ms ? limit_ms : (int)left_ms;
}

static void on_suspend(struct launch *launch)
{
    launch_phase_signal_nodes(launch, SIGTSTP);
    pid_t child = launch->fleet ? remote_fleet_beat_apart(launch) : 0;
    uint64_t stopped_ns = launch_signals_stop_here();
    remote_fleet_beat_again(child);
    launch_phase_signal_nodes(launch, SIGCONT);
    /* Time does not pass for a group that is stopped. */
    launch->phase_deadline_ns = host_deadline_ns(launch->phase_deadline_ns, stopped_ns);
    launch->timeout_deadline_ns = host_deadline_ns(launch->timeout_deadline_ns, stopped_ns);
    launch->verdict.due_ns = host_deadline_ns(launch->verdict.due_ns, stopped_ns);
}

static void on_signals(struct launch *launch)
{
    for (int number; (number = launch_signals_next(&launch->signals)) != 0;) {
        switch (number) {
        case SIGCHLD: launch_ends_collect(launch); break;
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT: launch_phase_on_signal(launch, number, host_now_ns()); break;
        case SIGTSTP: on_suspend(launch); break;
        case SIGCONT:
            launch->feed.paused = false;
            launch_phase_signal_nodes(launch, number);
            break;
        default: launch_phase_signal_nodes(launch, number); break;
        }
    }
}

void launch_loop_on_nodes(struct launch *launch, const struct pollfd *notify,
                          const struct pollfd *reports, const struct pollfd *attached)
{
    if (notify->revents) {
        launch_ends_watch_attached(launch);
    }
    for (uint32_t i = 0; attached && i < launch->rank_count; i++) {
        if (attached[i].revents && launch->nodes[i].attached_fd == attached[i].fd) {
            launch_ends_on_attached_end(launch, i);
        }
    }
    if (reports->revents) {
        launch_ends_read_reports(launch);
    }
}

/* The nodes' own descriptors. */
static void on_nodes_ready(struct launch *launch, nfds_t polled)
{
    const struct pollfd *polls = launch->polls;
    uint32_t count = launch->rank_count;
    nfds_t attached = AT_STREAMS + 2 * (nfds_t)count;
    launch_loop_on_nodes(launch, &polls[AT_NOTIFY], &polls[AT_REPORTS],
                         polled > attached ? &polls[attached] : NULL);
    if (polls[AT_FEED].revents && launch->feed.pipe_fd >= 0) {
        launch_feed_move(&launch->feed);
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        /* Its neighbours may have filled the sink since. */
        if (polls[AT_STREAMS + i].revents && launch_output_may_read(&launch->outputs[i])) {
            (void)launch_output_read(&launch->outputs[i]);
        }
    }
}

static void on_ready(struct launch *launch, nfds_t polled)
{
    const struct pollfd *polls = launch->polls;
    if (polls[AT_SIGNALS].revents) {
        on_signals(launch);
    }
    if (launch->fleet) {
        remote_fleet_on_ready(launch, polls + AT_STREAMS, polls[AT_FEED].revents != 0);
    } else {
        on_nodes_ready(launch, polled);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct sink *sink = &launch->sinks[i];
        if (polls[AT_OUT + i].revents && launch_sink_is_waiting(sink)) {
            launch_sink_write(sink);
            if (sink->error && sink == launch->out) {
                launch_phase_on_output_end(launch, sink->error, host_now_ns());
            }
        }
    }
}

/* Gives whether everything is out. */
static bool drain(struct launch *launch)
{
    bool done = !launch->fleet || remote_fleet_is_done(launch);
    for (uint32_t i = 0; i < 2 * launch->rank_count; i++) {
        struct output *output = &launch->outputs[i];
        while (output->fd >= 0 && launch_output_may_read(output)) {
            if (!launch_output_read(output)) {
                launch_output_close(output);
            }
        }
        done = done && output->fd < 0; /* a fleet's have ended when it is done */
    }
    return done && !launch_sink_is_waiting(&launch->sinks[0]) &&
           !launch_sink_is_waiting(&launch->sinks[1]);
}

void launch_loop_glance(struct launch *launch)
{
    on_signals(launch);
    launch_phase_on_time(launch, host_now_ns());
}

void launch_loop_run(struct launch *launch)
{
    for (;;) {
        if (launch->live_count == 0 && launch->phase != LAUNCH_DRAINING) {
            launch_phase_on_all_ended(launch);
            /* End every process that could still write: then what the pipes hold is all there is.
             * Agents do the same on their hosts. */
            if (!launch->fleet) {
                launch_sweep(launch);
            }
        }
        if (launch->abandoned || (launch->phase == LAUNCH_DRAINING && drain(launch))) {
            return;
        }
        nfds_t polled = fill_polls(launch);
        int ready = poll(launch->polls, polled, poll_timeout_ms(launch));
        if (ready > 0) {
            on_ready(launch, polled);
        }
        launch_phase_on_time(launch, host_now_ns());
        launch_verdict_on_time(launch, host_now_ns());
        if (launch->fleet) {
            remote_fleet_on_time(launch, host_now_ns());
        }
        if (launch->guardian.pid == 0 && launch->live_count > 0) {
            (void)launch_guardian_start(&launch->guardian);
        }
    }
}
