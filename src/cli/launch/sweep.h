/* Ending what nodes left behind outside their process groups. */
#ifndef CLI_LAUNCH_SWEEP_H
#define CLI_LAUNCH_SWEEP_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether this process has children. */
bool launch_sweep_has_children(void);

/* Kills and reaps every child but one (0: every child). A launcher is the reaper of its
 * descendants, so what is left of any node has become its child once its parents have ended. */
void launch_sweep_children(pid_t spared);

/* Whether the process is a child of this one, or a child's child, and so on. */
bool launch_sweep_descends(pid_t process);

/* Kills every process whose environment holds the mark ("NAME=VALUE"). */
void launch_sweep_marked(const char *mark);

#endif
