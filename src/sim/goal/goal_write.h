/* Schedules as text, for whoever made one in memory: see goal.h. */
#ifndef SIM_GOAL_GOAL_WRITE_H
#define SIM_GOAL_GOAL_WRITE_H

#include "sim/goal/goal.h"

/* Writes the schedule; goal_read gives the same one again, but for labels: an operation of a need
 * that has none becomes l1, l2 ... by its number. If a rank has both such operations and labels of
 * its own that look so, all its labels are made up. Whether everything could be written is the
 * stream's to say (ferror, fclose). */
void goal_write(FILE *file, const struct goal *goal);

#endif
