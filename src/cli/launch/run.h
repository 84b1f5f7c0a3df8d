/* Starting a group of nodes and staying with it until it has ended: what `dimmnet run`
 * does, for every subcommand that needs a group. */
#ifndef CLI_LAUNCH_RUN_H
#define CLI_LAUNCH_RUN_H

#include "cli/remote/hosts.h"
#include "fabric/launch.h"
#include "host/settings.h"

struct launch_repeat;

/* Nodes on other hosts; only on fabrics that span them. */
struct launch_hosts {
    struct hosts hosts;         /* assigned */
    const char *rsh;            /* the remote shell, as words between blanks */
    const char *remote_dimmnet; /* the command there; NULL: where this one is here */
};

struct launch_request {
    const char *command; /* who speaks in messages: "dimmnet run" */
    uint32_t node_count; /* 1..GROUP_NODES_MAX */
    char *const *argv;   /* the program, looked up in PATH, and its arguments; NULL ends it */
    /* "NAME=VALUE" to add to the nodes' environment, NULL ends it; or NULL. */
    const char *const *environment;
    struct group_sizes sizes;
    const struct fabric_launch *fabric;
    const uint64_t *settings;         /* of the fabric, one for each of its options */
    const char *words;                /* for the fabric, or NULL */
    const struct launch_hosts *hosts; /* NULL: all nodes are on this host */
    struct launch_repeat *repeat;     /* it is one of two runs; NULL: the only one */
    uint64_t timeout_ns;              /* 0: none */
    uint64_t grace_ns;                /* from a signal that ends to SIGKILL; 0: 2 s */
    const char *trace_path;           /* where the trace goes; NULL: none */
    const char *goal_path;            /* where the trace goes as a schedule; NULL: none */
    uint64_t trace_records;           /* of each node, for these */
    bool says_time;                   /* that the nodes ran together */
    bool label;                       /* "[rank] " before every line */
    bool keep_going;                  /* a node's failure is announced, and the others go on */
    bool no_pin;                      /* leave the choice of cores to the kernel */
};

/* Reads the environment; what it does not set gets its default. Gives 0, or CLI_USAGE after having
 * said which variable cannot be read. */
int launch_defaults(const char *command, struct host_settings *settings);

/* Returns the exit status: 0 when every node ended well; the status of the first node
 * that failed, or 128 + the signal that killed it; 124 after the time-out; 128 + a signal
 * that ended the launcher; 2 when the program cannot be started; 1 when the operating
 * system refused. The calling process has one thread, and no child that it waits for
 * itself. When it returns nothing of the group remains. */
int launch_group(const struct launch_request *request);

#endif
