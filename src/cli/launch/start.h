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

struct launch;

struct start_plan {
    char *path; /* the program's file */
    char *const *argv;
    char **shell_argv; /* for a file that only a shell can run, as execvp does */
    char **environment;
    char rank_text[64];                           /* the environment's DIMMNET_RANK=... */
    char fabric_text[FABRIC_DESCRIPTORS_MAX][64]; /* its words of the fabric's descriptors */
    int fabric_fds[FABRIC_DESCRIPTORS_MAX];       /* those descriptors, of the node that starts */
    char trace_text[64];                          /* its DIMMNET_TRACE_FD=..., if any */
    char fixed_text[5][64];                       /* its other words that are made here */

    pid_t launcher_pid;
    int report_fd; /* a pipe for the errno of a node that could not exec; close-on-exec */
    int null_fd;
    int stdin_fd; /* of node 0; -1: it is started elsewhere */

    bool pin; /* node rank_first + i to the (i modulo core_count)-th allowed core */
    uint32_t core_count;
    cpu_set_t allowed[START_CORE_SETS];
    bool files_were_raised;
    struct rlimit old_files; /* what nodes get back */
};

/* The number of words before the NULL that ends them; the list may be NULL. */
size_t launch_list_length(const char *const *list);

/* Fills in argv, environment and pins; the caller has filled in the path and the descriptors
 * before. 0 or an errno; launch_start_plan_release either way. */
int launch_start_plan_make(struct launch *launch);
void launch_start_plan_release(struct start_plan *plan);

/* Forks node rank_first + index, whose standard output and error go to these descriptors. Gives its
 * pid, or -1 and errno. */
pid_t launch_start_node(struct launch *launch, uint32_t index, int out_fd, int err_fd);

#endif
