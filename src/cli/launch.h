/* The launcher's state, shared by its files:
 *
 *     launch.c   sets everything up and takes it down
 *     loop.c     the one poll loop
 *     phase.c    how a group comes to its end
 *     ends.c     the ends of processes: announced, judged, reported
 *
 * One process, one thread: nothing here is locked. */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <poll.h>

#include "cli/feed.h"
#include "cli/guard.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/start.h"
#include "cli/stream.h"
#include "host/group.h"

/* How a process ended. */
enum ending_kind { ENDING_EXITED, ENDING_KILLED, ENDING_UNKNOWN };

struct ending {
    enum ending_kind kind;
    int number; /* the exit status, or the signal */
    bool dumped_core;
};

/* RUNNING -> LEAVING -> ENDED; LEAVING only while a process further down that is
 * attached as this node has been killed and not yet ended. */
enum node_state { NODE_NOT_STARTED, NODE_RUNNING, NODE_LEAVING, NODE_ENDED };

struct node {
    enum node_state state;
    pid_t pid;            /* the launcher's child; kept after its end, for messages */
    struct ending ending; /* of the child, once it has ended */
    bool announced;       /* its peers have been told its end, which happens once */
    pid_t attached_pid;   /* the process further down that attached; 0: none known */
    int attached_fd;      /* its pidfd while it is watched, else -1 */
};

/*   RUNNING --failure--> GRACE --200 ms--> TERMINATING --200 ms--> KILLING
 *      |                   |                    ^
 *      +----- signal ------+--> SIGNALLED --2 s-|-----------------> KILLING
 *      +----- time-out, nobody reads our output-+
 *   each of them --all nodes ended--> DRAINING, until the output is out. */
enum launch_phase {
    LAUNCH_RUNNING,
    LAUNCH_GRACE,
    LAUNCH_SIGNALLED,
    LAUNCH_TERMINATING,
    LAUNCH_KILLING,
    LAUNCH_DRAINING,
};

struct launch {
    const struct launch_request *request;

    enum launch_phase phase;
    uint64_t phase_deadline_ns;   /* UINT64_MAX: none */
    uint64_t timeout_deadline_ns; /* UINT64_MAX: none */
    bool status_is_known;         /* the first cause decides it */
    int status;
    bool abandoned; /* the user does not want the rest of the output either */

    struct host_group group;
    struct node *nodes;
    uint32_t live_count;     /* nodes that are RUNNING or LEAVING */
    uint32_t attached_count; /* of them with an attached_fd */

    struct signals signals;
    struct guard guard;
    struct start_plan plan;
    int reports_fd; /* what nodes that could not start say; -1: no more */
    int notify_fd;  /* written by a node that attached from further down */

    struct sink sinks[2];
    struct sink *out;       /* sinks[0] */
    struct sink *err;       /* sinks[1], or sinks[0] where both are the same file */
    struct stream *streams; /* two for each node */
    struct feed feed;
    struct pollfd *polls;

    bool children_are_ours; /* we had none before */
    int old_subreaper;
};

/* launch.c: a line of the launcher's own, in order with what nodes wrote before. */
void launch_say(struct launch *launch, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* loop.c: until the group has ended and its output is out. */
void loop_run(struct launch *launch);

/* Between two starts: ends, signals and time, no output. */
void loop_glance(struct launch *launch);

/* phase.c: what happened; each moves the phase and, being first, decides the status. */
void phase_on_start_failure(struct launch *launch, int status);
void phase_on_failure(struct launch *launch, int status, uint64_t now_ns);
/* A node wants the whole group to end; and then, the first node ended because of it. */
void phase_on_wanted_end(struct launch *launch, int status, uint64_t now_ns);
void phase_on_wanted_end_begun(struct launch *launch, uint64_t now_ns);
void phase_on_signal(struct launch *launch, int signal_number, uint64_t now_ns);
void phase_on_output_end(struct launch *launch, int error, uint64_t now_ns);
void phase_on_time(struct launch *launch, uint64_t now_ns);
void phase_on_all_ended(struct launch *launch);

/* Sends a signal to every node's process group. */
void phase_signal_nodes(const struct launch *launch, int signal_number);

/* ends.c: after SIGCHLD. */
void ends_collect(struct launch *launch);

/* After the notification that a node attached from further down. */
void ends_watch_attached(struct launch *launch);

/* After a watched process has ended. */
void ends_on_attached_end(struct launch *launch, uint32_t rank);

/* Whether nodes said that they could not start. */
void ends_read_reports(struct launch *launch);

#endif
