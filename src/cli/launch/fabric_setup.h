/* What a group's fabric needs before its nodes start, and how large the nodes' memory is. */
#ifndef CLI_LAUNCH_FABRIC_SETUP_H
#define CLI_LAUNCH_FABRIC_SETUP_H

#include "cli/launch/run.h"

/* All of these give 0, or an exit status after having said why. */

/* Says a fabric's sentence, and turns its error into a status: see fabric/launch.h. */
int launch_fabric_conclude(const char *command, int error, const char *sentence);

/* Whether nodes of these sizes can be mapped here. */
int launch_fabric_check_room(const char *command, uint32_t node_count,
                             const struct group_sizes *sizes);

/* Opens a roster for that many nodes on this host; fabric_roster_release after success. */
int launch_fabric_open(struct fabric_roster *roster, const struct launch_request *request,
                       const struct group_sizes *sizes, uint32_t rank_first, uint32_t rank_count);

/* Decides how large the nodes' memory is. */
int launch_fabric_decide_sizes(const struct launch_request *request, struct group_sizes *sizes);

/* Does all of this for nodes that all start here. fabric_roster_release either way. Whoever writes
 * notify_fd makes the launcher look. */
int launch_fabric_make(struct fabric_roster *roster, const struct launch_request *request,
                       int notify_fd);

#endif
