/* Plans and runs of single seeds. */
#ifndef UNIT_SIM_STORM_STORM_BY_HAND_H
#define UNIT_SIM_STORM_STORM_BY_HAND_H

#include "sim/storm/storm.h"

/* The plan of a seed; node_count 0: the seed chooses. False: no such scenario. */
static inline bool make_plan(struct storm_plan *plan, const char *scenario, uint64_t seed,
                             uint32_t node_count)
{
    const struct storm_choice choice = {
        .seed = seed, .scenario = scenario, .node_count = node_count};
    return storm_plan_choose(plan, &choice);
}

/* Runs a plan in a world of its own. */
static inline void run_plan(const struct storm_plan *plan, struct storm_result *result)
{
    struct storm_world *world = storm_world_new();
    storm_world_run(world, plan, NULL, result);
    storm_world_free(world);
}

#endif
