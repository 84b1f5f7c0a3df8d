/* Kill points in the kill-point build: the process dies at the step that the environment names. */
#ifndef HOST_KILLPOINT_H
#define HOST_KILLPOINT_H

#include <stdint.h>

/* DN_KILL=RANK:COUNT:NAME makes the node of that rank end itself by SIGKILL at its
 * COUNT-th passage of the point NAME. Does nothing in other builds. */
void host_killpoint_arm(uint32_t rank);

#endif
