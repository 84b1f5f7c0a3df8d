/* How a group comes to its end: one function for each event, the deadlines in one
 * place. Nothing else changes the phase or the status. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/remote/fleet.h"
#include "cli/launch/launcher.h"
#include "host/clock.h"

#define NS_PER_MS UINT64_C(1000000)

#define GRACE_NS (200 * NS_PER_MS)      /* for the others to act on DN_EPEER */
#define TERMINATE_NS (200 * NS_PER_MS)  /* from SIGTERM to SIGKILL */
#define SIGNALLED_NS (2000 * NS_PER_MS) /* unless the request says how long */
#define WANTED_NS (2000 * NS_PER_MS)    /* for exit() and what is registered with it */

enum {
    STATUS_TIMED_OUT = 124,
    STATUS_SIGNAL = 128,
};

static void decide_status(struct launch *launch, int status)
{
    if (!launch->status_is_known) {
        launch->status = status;
        launch->status_is_known = true;
    }
}

void launch_phase_signal_nodes(struct launch *launch, int signal_number)
{
    if (launch->fleet) {
        remote_fleet_signal(launch, signal_number);
        return;
    }
    /* An agent ends without any nodes when its host lacks the program, for example. */
    for (uint32_t i = 0; launch->nodes && i < launch->rank_count; i++) {
        if (launch->nodes[i].state == NODE_RUNNING) {
            launch_signals_send(launch->nodes[i].pid, signal_number);
        }
    }
}

static void enter(struct launch *launch, enum launch_phase phase, uint64_t deadline_ns)
{
    launch->phase = phase;
    launch->phase_deadline_ns = deadline_ns;
}

static void terminate(struct launch *launch, uint64_t now_ns)
{
    launch_phase_signal_nodes(launch, SIGTERM);
    enter(launch, LAUNCH_TERMINATING, now_ns + TERMINATE_NS);
}

static void kill_all(struct launch *launch)
{
    launch_phase_signal_nodes(launch, SIGKILL);
    enter(launch, LAUNCH_KILLING, UINT64_MAX);
}

void launch_phase_on_start_failure(struct launch *launch, int status)
{
    decide_status(launch, status);
    kill_all(launch);
}

/* The user said so, or the nodes' program. */
static bool goes_on_after_deaths(const struct launch *launch)
{
    return launch->request->keep_going || host_group_goes_on(launch->group.group);
}

void launch_phase_on_failure(struct launch *launch, int status, uint64_t now_ns)
{
    decide_status(launch, status);
    if (launch->phase == LAUNCH_RUNNING && !goes_on_after_deaths(launch)) {
        enter(launch, LAUNCH_GRACE, now_ns + GRACE_NS);
    }
}

/* The node that wants the end has the GRACE phase to end itself; then the others are terminated. */
void launch_phase_on_wanted_end(struct launch *launch, int status, uint64_t now_ns)
{
    decide_status(launch, status);
    if (launch->phase == LAUNCH_RUNNING) {
        enter(launch, LAUNCH_GRACE, now_ns + WANTED_NS);
    }
}

void launch_phase_on_wanted_end_begun(struct launch *launch, uint64_t now_ns)
{
    if (launch->phase == LAUNCH_GRACE) {
        terminate(launch, now_ns);
    }
}

void launch_phase_on_signal(struct launch *launch, int signal_number, uint64_t now_ns)
{
    uint64_t grace_ns = launch->request->grace_ns;
    decide_status(launch, STATUS_SIGNAL + signal_number);
    launch->is_cut = true;
    switch (launch->phase) {
    case LAUNCH_RUNNING:
    case LAUNCH_GRACE:
        launch_phase_signal_nodes(launch, signal_number);
        enter(launch, LAUNCH_SIGNALLED,
              host_deadline_ns(now_ns, grace_ns ? grace_ns : SIGNALLED_NS));
        break;
    case LAUNCH_SIGNALLED:
    case LAUNCH_TERMINATING: launch_phase_signal_nodes(launch, signal_number); break;
    case LAUNCH_KILLING: break;
    case LAUNCH_DRAINING: launch->abandoned = true; break;
    }
}

void launch_phase_on_output_end(struct launch *launch, int error, uint64_t now_ns)
{
    launch->is_cut = true;
    if (error == EPIPE) {
        decide_status(launch, STATUS_SIGNAL + SIGPIPE);
    } else {
        launch_say(launch, "cannot write standard output: %s", strerror(error));
        decide_status(launch, CLI_FAULT);
    }
    switch (launch->phase) {
    case LAUNCH_RUNNING:
    case LAUNCH_GRACE:
    case LAUNCH_SIGNALLED: terminate(launch, now_ns); break;
    case LAUNCH_TERMINATING:
    case LAUNCH_KILLING:
    case LAUNCH_DRAINING: break;
    }
}

static void on_timeout(struct launch *launch, uint64_t now_ns)
{
    launch->timeout_deadline_ns = UINT64_MAX;
    decide_status(launch, STATUS_TIMED_OUT);
    launch->is_cut = true;
    switch (launch->phase) {
    case LAUNCH_RUNNING:
    case LAUNCH_GRACE:
    case LAUNCH_SIGNALLED:
        launch_say(launch, "timed out after %g s", (double)launch->request->timeout_ns / 1e9);
        terminate(launch, now_ns);
        break;
    case LAUNCH_TERMINATING:
    case LAUNCH_KILLING: break; /* it ends already */
    case LAUNCH_DRAINING: launch->abandoned = true; break;
    }
}

void launch_phase_on_time(struct launch *launch, uint64_t now_ns)
{
    if (now_ns >= launch->timeout_deadline_ns) {
        on_timeout(launch, now_ns);
    }
    if (now_ns < launch->phase_deadline_ns) {
        return;
    }
    switch (launch->phase) {
    case LAUNCH_GRACE: terminate(launch, now_ns); break;
    case LAUNCH_SIGNALLED:
    case LAUNCH_TERMINATING: kill_all(launch); break;
    case LAUNCH_RUNNING:
    case LAUNCH_KILLING:
    case LAUNCH_DRAINING: INVARIANT(false);
    }
}

void launch_phase_on_all_ended(struct launch *launch)
{
    INVARIANT(launch->live_count == 0);
    enter(launch, LAUNCH_DRAINING, UINT64_MAX);
}
