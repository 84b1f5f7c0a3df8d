/* What the fabric of a group needs before its nodes start, on their host or for the agents of
 * others; and how large their memory is where each makes it for itself. */
#ifndef CLI_LAUNCH_ROSTER_H
#define CLI_LAUNCH_ROSTER_H

#include "cli/launch/run.h"

/* All of these give 0, or an exit status after having said why. */

/* The status of what a fabric says, and its sentence: see fabric/launch.h. */
int launch_roster_conclude(const char *command, int error, const char *sentence);

/* Whether nodes of these sizes can be mapped here. */
int launch_roster_check_room(const char *command, uint32_t node_count,
                             const struct group_sizes *sizes);

/* A roster for so many nodes that start here. fabric_roster_release when it is 0. */
int launch_roster_open(struct fabric_roster *roster, const struct launch_request *request,
                       const struct group_sizes *sizes, uint32_t rank_first, uint32_t rank_count);

/* The sizes of the nodes' memory. */
int launch_roster_decide_sizes(const struct launch_request *request, struct group_sizes *sizes);

/* Everything for nodes that all start here. fabric_roster_release either way. */
int launch_roster_make(struct fabric_roster *roster, const struct launch_request *request);

#endif
