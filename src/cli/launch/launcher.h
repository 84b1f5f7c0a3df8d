/* The launcher's state, shared by its files:
 *
 *     launcher.c     sets everything up and takes it down
 *     loop.c         the one poll loop
 *     group_phase.c  how a group comes to its end
 *     node_ends.c    the ends of processes: announced, judged, reported
 *     verdict.c      who is dead when nodes no longer hear each other
 *     trace.c        what nodes recorded of their calls
 *     repeat.c       the same group once more, held against its first run
 *     fleet.c        a group on several hosts: the agents there and what they say
 *
 * An agent (agent.c) has the same state for the nodes of its host. It judges nothing: it tells
 * its launcher what happens to them.
 *
 * One process, one thread: nothing here is locked. */
#ifndef CLI_LAUNCH_LAUNCHER_H
#define CLI_LAUNCH_LAUNCHER_H

#include <poll.h>

#include "cli/launch/feed.h"
#include "cli/launch/guardian.h"
#include "cli/launch/fabric_setup.h"
#include "cli/launch/run.h"
#include "cli/launch/signals.h"
#include "cli/launch/start.h"
#include "cli/launch/output.h"
#include "cli/launch/trace.h"
#include "cli/launch/verdict.h"
#include "host/group.h"

/* How a process ended. */
enum ending_kind { ENDING_EXITED, ENDING_KILLED, ENDING_UNKNOWN };

struct ending {
    enum ending_kind kind;
    int number; /* the exit status, or the signal */
    bool dumped_core;
};

/* RUNNING -> LEAVING -> ENDED. A node is LEAVING while a process further down, attached as this
 * node, has been killed and has not yet ended. */
enum node_state { NODE_NOT_STARTED, NODE_RUNNING, NODE_LEAVING, NODE_ENDED };

struct node {
    enum node_state state;
    pid_t pid;            /* our child; kept after its end, for messages */
    struct ending ending; /* of the child, once it has ended */
    bool announced;       /* its peers have been told its end, which happens once */
    uint64_t ended_ns;    /* when that was noticed; 0: not yet */
    pid_t attached_pid;   /* the process further down that attached; 0: none known */
    int attached_fd;      /* its pidfd while it is watched, else -1 */
};

/*   RUNNING --failure--> GRACE --200 ms--> TERMINATING --200 ms--> KILLING
 *      |                   |                    ^
 *      +----- signal ------+--> SIGNALLED --2 s-|-----------------> KILLING
 *      +----- time-out, nobody reads our output-+
 *   each of them --all nodes ended--> DRAINING, until the output is out. A node that wants
 *   the group to end (node_ends.c) begins GRACE as well, of 2 s: until it has come through
 *   exit(). */
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
    /* The nodes that this process looks after: all of the group, or those of an agent's host. */
    uint32_t rank_first;
    uint32_t rank_count;
    struct fleet *fleet; /* nodes are on other hosts; NULL: they are our children */
    struct agent *agent; /* we are an agent; else NULL */

    enum launch_phase phase;
    uint64_t phase_deadline_ns;   /* UINT64_MAX: none */
    uint64_t timeout_deadline_ns; /* UINT64_MAX: none */
    bool status_is_known;         /* the first cause decides it */
    int status;
    struct verdict verdict;
    bool is_spoilt; /* the group's constant words were overwritten, and that was said */
    bool is_cut;    /* a signal, time or a closed output has ended it */
    bool abandoned; /* the user does not want the rest of the output either */

    struct host_group group; /* its lives alone where the fabric shares no memory */
    struct fabric_roster roster;
    struct node *nodes;      /* [0] is rank_first, as in all tables of nodes here */
    uint32_t live_count;     /* nodes that are RUNNING or LEAVING */
    uint32_t attached_count; /* of them with an attached_fd */

    struct signals signals;
    char group_id[GUARDIAN_ID_BYTES];
    struct guardian guardian; /* of our children: nodes, or what leads to agents */
    struct start_plan plan;
    int reports_fd; /* what nodes that could not start say; -1: no more */
    int notify_fd;  /* written by nodes to make us look at the group's words */

    struct sink sinks[2];
    struct sink *out;       /* sinks[0] */
    struct sink *err;       /* sinks[1], or sinks[0] where both are the same file */
    struct output *outputs; /* two for each node */
    struct feed feed;
    struct launch_trace trace;
    struct pollfd *polls;

    bool children_are_ours; /* we had none before */
    bool is_reaper;         /* of orphans, from now on */
    int old_subreaper;
};

/* launcher.c: the parts of launch_group. Those that give a status have said why it is not 0. */
void launch_init(struct launch *launch, const struct launch_request *request);
/* Prepares all that nodes on this host need except the roster. */
int launch_prepare(struct launch *launch);
/* Starts the nodes; `glance` is called between two starts. False: one could not be started,
 * which has been said. */
bool launch_start(struct launch *launch, void (*glance)(struct launch *launch));
void launch_release(struct launch *launch);
/* Names the group unless it has a name, takes over signals and orphans, and starts a guardian. */
int launch_take_charge(struct launch *launch, uint32_t child_count);
/* Ends the guardian and every process that is left here of the group. */
void launch_sweep(struct launch *launch);
/* Makes room for `wanted` descriptors besides our own, if the user's limit allows. */
int launch_raise_file_limit(struct launch *launch, uint64_t wanted, uint64_t needed);
/* Opens /dev/null for those of the descriptors 0 to 2 that are closed. */
bool launch_fill_standard_descriptors(void);
/* The group's memory or, where the fabric shares none, its lives. */
int launch_make_group(struct launch *launch);
/* Closes a descriptor unless it is -1, and sets it to -1. */
void launch_close_fd(int *fd);
bool launch_open_sinks(struct launch *launch);
/* Opens the output of node number / 2, standard error if odd; `fd` as in launch_output_open. */
void launch_open_output(struct launch *launch, uint32_t number, int fd);
/* Allocates the tables of nodes, and a poll table with `poll_count` more places. */
bool launch_allocate(struct launch *launch, uint32_t poll_count);

/* launcher.c: writes a line of the launcher's own, in order with what nodes wrote before. */
void launch_say(struct launch *launch, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A place in a poll table; -1: nothing to look at. */
static inline struct pollfd launch_poll_for(int fd, short events)
{
    return (struct pollfd){.fd = fd, .events = events};
}

/* loop.c: runs until the group has ended and its output is out. */
void launch_loop_run(struct launch *launch);

/* Between two starts: looks at ends, signals and time, not at output. */
void launch_loop_glance(struct launch *launch);

/* After poll has looked at the nodes' descriptors. `attached` has a place for each node, or is
 * NULL: none is watched. */
void launch_loop_on_nodes(struct launch *launch, const struct pollfd *notify,
                          const struct pollfd *reports, const struct pollfd *attached);

/* group_phase.c: events. Each moves the phase; the first one decides the status. */
void launch_phase_on_start_failure(struct launch *launch, int status);
void launch_phase_on_failure(struct launch *launch, int status, uint64_t now_ns);
/* A node wants the whole group to end; later, the first node has ended because of it. */
void launch_phase_on_wanted_end(struct launch *launch, int status, uint64_t now_ns);
void launch_phase_on_wanted_end_begun(struct launch *launch, uint64_t now_ns);
void launch_phase_on_signal(struct launch *launch, int signal_number, uint64_t now_ns);
void launch_phase_on_output_end(struct launch *launch, int error, uint64_t now_ns);
void launch_phase_on_time(struct launch *launch, uint64_t now_ns);
void launch_phase_on_all_ended(struct launch *launch);

/* Sends a signal to every node: its process group, and its process wherever that is. */
void launch_phase_signal_nodes(struct launch *launch, int signal_number);

/* node_ends.c: after SIGCHLD. */
void launch_ends_collect(struct launch *launch);

/* After the notification that a node attached from further down. */
void launch_ends_watch_attached(struct launch *launch);

/* After a watched process has ended. */
void launch_ends_on_attached_end(struct launch *launch, uint32_t index);

/* A rank has failed: says so and acts on it. `host` NULL: this one. `wanted`: a node had asked
 * before that the whole group end. */
void launch_ends_judge(struct launch *launch, uint32_t rank, pid_t pid, const char *host,
                       const struct ending *ending, bool wanted);

/* Writes "exited with status 3" or "was killed by SIGKILL (Killed)". Gives the exit status that
 * the launcher makes of it. */
enum { ENDS_SENTENCE_BYTES = 160 };
int launch_ends_describe(const struct ending *ending, char sentence[ENDS_SENTENCE_BYTES]);

/* Reads whether nodes said that they could not start. */
void launch_ends_read_reports(struct launch *launch);

#endif
