/* Starting one node: what all nodes share is prepared once, so that a start is a fork,
 * a handful of system calls and an exec. */
#ifndef CLI_LAUNCH_START_H
#define CLI_LAUNCH_START_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "cli/launch/guardian.h"
#include "cli/launch/run.h"

enum {
    START_CORES_MAX = 8192,
    START_CORE_SETS = START_CORES_MAX / CPU_SETSIZE,
};

struct start_plan {
    char *path; /* the program's file */
    char *const *argv;
    char **shell_argv; /* for a file that only a shell can run, as execvp does */
    char **environment;
    char rank_text[64];                           /* the environment's DIMMNET_RANK=... */
    char fabric_text[FABRIC_DESCRIPTORS_MAX][64]; /* its words of the fabric's descriptors */
    int fabric_fds[FABRIC_DESCRIPTORS_MAX];       /* those descriptors, of the node that starts */
    char fixed_text[5][64];                       /* its other words that are made here */
    const char *group_id;                         /* the value of its DIMMNET_GROUP_ID */

    uint32_t rank_first; /* of the nodes that are started here */
    uint32_t rank_count;
    pid_t launcher_pid;
    struct guardian *guardian;
    int group_fd;
    int notify_fd;
    const struct fabric_roster *roster;
    int report_fd; /* a pipe on which a node says that it could not exec; close-on-exec */
    int null_fd;
    int stdin_fd; /* of node 0; -1: it is started elsewhere */

    bool pin; /* node rank_first + i to the (i modulo core_count)-th allowed core */
    uint32_t core_count;
    cpu_set_t allowed[START_CORE_SETS];
    bool files_were_raised;
    struct rlimit old_files; /* what nodes get back */
};

/* What a node that could not become its program says. */
struct start_report {
    uint32_t rank;
    int error;
};

/* Fills in argv, environment and pins from the request; the caller has filled in path, ranks,
 * descriptors, group's id and guardian before. 0 or an errno; launch_start_plan_release either
 * way. */
int launch_start_plan_make(struct start_plan *plan, const struct launch_request *request);
void launch_start_plan_release(struct start_plan *plan);

/* Forks node rank_first + index, whose standard output and error go to these descriptors. Gives its
 * pid, or -1 and errno. */
pid_t launch_start_node(struct start_plan *plan, uint32_t index, int out_fd, int err_fd);

#endif
