/* Ending what nodes left behind outside their process groups. */
#ifndef CLI_LAUNCH_SWEEP_H
#define CLI_LAUNCH_SWEEP_H

#include <stdbool.h>

/* Whether this process has children. */
bool sweep_has_children(void);

/* Kills and reaps every child. A launcher is the reaper of its descendants, so what is
 * left of any node has become its child once its parents have ended. */
void sweep_children(void);

/* Kills every process whose environment holds the mark ("NAME=VALUE"). */
void sweep_marked(const char *mark);

#endif
