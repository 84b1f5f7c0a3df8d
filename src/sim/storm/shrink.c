/* Greedy reduction: every step that keeps the failure is kept, until a whole round of
 * attempts changes nothing. It ends because each kept step makes the choice smaller.
 *
 * Leaving something out shifts all that follows, and the moment of the failure may be gone though
 * its cause is not. So each step is tried with several values of luck. */
#include "sim/storm/shrink.h"

enum { LUCK_TRIED = 24 };

struct shrinking {
    struct storm_choice *choice;
    const struct storm_judge *judge;
    uint32_t runs;
};

static bool try(struct shrinking *shrinking, const struct storm_choice *smaller)
{
    struct storm_choice choice = *smaller;
    for (uint64_t i = 0; i <= LUCK_TRIED; i++) {
        choice.luck = i == 0 ? smaller->luck : i - 1;
        shrinking->runs++;
        if (shrinking->judge->fails(shrinking->judge->context, &choice)) {
            *shrinking->choice = choice;
            return true;
        }
    }
    return false;
}

static bool leave_out(struct shrinking *shrinking)
{
    bool changed = false;
    struct storm_plan plan;
    for (unsigned i = 0; i < STORM_FAULT_COUNT; i++) {
        struct storm_choice smaller = *shrinking->choice;
        smaller.without_fault[i] = true;
        (void)storm_plan_choose(&plan, shrinking->choice);
        changed |= plan.fault[i] && try(shrinking, &smaller);
    }
    for (unsigned i = 0; i < STORM_WORK_COUNT; i++) {
        struct storm_choice smaller = *shrinking->choice;
        smaller.without_work[i] = true;
        (void)storm_plan_choose(&plan, shrinking->choice);
        changed |= plan.work[i] && try(shrinking, &smaller);
    }
    return changed;
}

static bool try_nodes(struct shrinking *shrinking)
{
    struct storm_plan plan;
    (void)storm_plan_choose(&plan, shrinking->choice);
    for (uint32_t nodes = 2; nodes < plan.node_count; nodes++) {
        struct storm_choice smaller = *shrinking->choice;
        smaller.node_count = nodes;
        /* State the number; otherwise it would be drawn anew. */
        smaller.operations = plan.operations;
        if (try(shrinking, &smaller)) {
            return true;
        }
    }
    return false;
}

static bool try_operations(struct shrinking *shrinking)
{
    bool changed = false;
    struct storm_plan plan;
    (void)storm_plan_choose(&plan, shrinking->choice);
    uint32_t operations = plan.operations;
    /* Take away half, a quarter, an eighth ... of what is left, and at last one by one. */
    for (uint32_t less = operations / 2; less > 0;) {
        struct storm_choice smaller = *shrinking->choice;
        smaller.operations = operations - less;
        if (smaller.operations > 0 && try(shrinking, &smaller)) {
            operations = smaller.operations;
            changed = true;
            less = less < operations / 2 ? less : operations / 2;
        } else {
            less /= 2;
        }
    }
    return changed;
}

uint32_t storm_shrink(struct storm_choice *choice, const struct storm_judge *judge)
{
    struct shrinking shrinking = {choice, judge, 0};
    bool changed;
    do {
        changed = leave_out(&shrinking);
        changed |= try_nodes(&shrinking);
        changed |= try_operations(&shrinking);
    } while (changed);
    return shrinking.runs;
}
