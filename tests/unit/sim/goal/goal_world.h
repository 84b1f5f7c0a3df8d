/* Schedules from texts, for the tests of their readers and of their replay. */
#ifndef UNIT_SIM_GOAL_WORLD_H
#define UNIT_SIM_GOAL_WORLD_H

#include "unit/unit.h"

#include "sim/goal/goal.h"

static inline struct goal goal_from(const char *text)
{
    struct goal goal;
    char error[GOAL_ERROR_BYTES] = "";
    bool good = goal_read_bytes("test.goal", text, strlen(text), &goal, error);
    if (!good) {
        print_error("%s\n", error);
    }
    assert_true(good);
    return goal;
}

#endif
