/* Whether a schedule comes to its end. Sends wait for nobody and receives belong to fixed sends, so
 * the order in which operations are carried out decides nothing: what stops here stops
 * everywhere. */
#include <inttypes.h>
#include <stdlib.h>

#include "sim/goal/goal_flow.h"

/* How far an operation is. */
enum state { IDLE, STARTED, FINISHED };

struct check {
    struct goal_flow flow;
    unsigned char **states; /* by rank and operation: enum state */
    uint32_t *due;          /* ranks that may have operations to start: a ring */
    bool *is_due;
    uint32_t due_first, due_count;
};

/* An operation of any rank. */
struct place {
    uint32_t rank, operation;
};

static void make_due(struct check *check, uint32_t rank)
{
    uint32_t ranks = check->flow.goal->rank_count;
    if (!check->is_due[rank]) {
        check->is_due[rank] = true;
        check->due[(check->due_first + check->due_count++) % ranks] = rank;
    }
}

static void finish(struct check *check, uint32_t rank, uint32_t operation)
{
    check->states[rank][operation] = FINISHED;
    goal_flow_finished(&check->flow, rank, operation);
    make_due(check, rank);
}

static void start(struct check *check, uint32_t rank, uint32_t number)
{
    const struct goal_operation *operation = &check->flow.goal->ranks[rank].operations[number];
    uint32_t partner = check->flow.ranks[rank].partner[number];
    check->states[rank][number] = STARTED;
    goal_flow_started(&check->flow, rank, number);
    if (operation->kind != GOAL_RECEIVE) {
        finish(check, rank, number);
    } else if (partner != GOAL_NONE && check->states[operation->peer][partner] == FINISHED) {
        finish(check, rank, number);
    }
    if (operation->kind == GOAL_SEND && partner != GOAL_NONE &&
        check->states[operation->peer][partner] == STARTED) {
        finish(check, operation->peer, partner);
    }
}

static void carry_out(struct check *check)
{
    for (uint32_t i = 0; i < check->flow.goal->rank_count; i++) {
        make_due(check, i);
    }
    while (check->due_count > 0) {
        uint32_t operation;
        uint32_t rank = check->due[check->due_first];
        check->due_first = (check->due_first + 1) % check->flow.goal->rank_count;
        check->due_count--;
        check->is_due[rank] = false;
        while (goal_flow_next(&check->flow, rank, &operation)) {
            start(check, rank, operation);
        }
    }
}

/* ---- Why not ------------------------------------------------------------------------------- */

/* By rank and operation: one that it needs and that is not so far; GOAL_NONE: there is none. */
static uint32_t **find_blockers(const struct check *check)
{
    const struct goal *goal = check->flow.goal;
    uint32_t **blockers = calloc(goal->rank_count, sizeof *blockers);
    INVARIANT(blockers);
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        const struct goal_rank *of = &goal->ranks[rank];
        blockers[rank] = malloc(((size_t)of->count + 1) * sizeof **blockers);
        INVARIANT(blockers[rank]);
        for (uint32_t i = 0; i < of->count; i++) {
            blockers[rank][i] = GOAL_NONE;
        }
        for (uint32_t i = 0; i < of->need_count; i++) {
            const struct goal_need *need = &of->needs[i];
            if (check->states[rank][need->before] < (need->of_start ? STARTED : FINISHED)) {
                blockers[rank][need->operation] = need->before;
            }
        }
    }
    return blockers;
}

/* What an unfinished operation waits for. False: a message that nobody sends. */
static bool step(const struct check *check, uint32_t *const *blockers, struct place *place)
{
    const struct goal *goal = check->flow.goal;
    if (check->states[place->rank][place->operation] == IDLE) {
        place->operation = blockers[place->rank][place->operation];
        return true;
    }
    uint32_t partner = check->flow.ranks[place->rank].partner[place->operation];
    if (partner == GOAL_NONE) {
        return false;
    }
    place->rank = goal->ranks[place->rank].operations[place->operation].peer;
    place->operation = partner;
    return true;
}

static void describe_circle(const struct check *check, uint32_t *const *blockers,
                            struct place place, char error[GOAL_ERROR_BYTES])
{
    char text[GOAL_ERROR_BYTES];
    char other[GOAL_ERROR_BYTES];
    const struct place first = place;
    struct place receive = first;
    uint64_t others = 0;
    for (;;) {
        if (check->states[place.rank][place.operation] == STARTED) {
            receive = place; /* only a receive starts and does not finish */
        }
        (void)step(check, blockers, &place);
        if (place.rank == first.rank && place.operation == first.operation) {
            break;
        }
        others++;
    }
    (void)goal_describe(check->flow.goal, receive.rank, receive.operation, text);
    if (check->states[receive.rank][receive.operation] != STARTED) {
        (void)snprintf(error, GOAL_ERROR_BYTES,
                       "deadlock: %.150s requires itself, by way of %" PRIu64 " others", text,
                       others);
        return;
    }
    struct place sender = receive;
    (void)step(check, blockers, &sender);
    (void)snprintf(error, GOAL_ERROR_BYTES,
                   "deadlock: %.130s and %.130s wait for each other, by way of %" PRIu64 " others",
                   text, goal_describe(check->flow.goal, sender.rank, sender.operation, other),
                   others - 1);
}

/* Goes from what waits to what it waits for, as often as there are operations: then it is in a
 * circle, if it has not come to an end. */
static void explain(const struct check *check, struct place place, char error[GOAL_ERROR_BYTES])
{
    const struct goal *goal = check->flow.goal;
    uint32_t **blockers = find_blockers(check);
    char text[GOAL_ERROR_BYTES];
    bool goes_on = true;
    for (uint64_t i = 0; goes_on && i < goal->operation_count; i++) {
        goes_on = step(check, blockers, &place);
    }
    if (goes_on) {
        describe_circle(check, blockers, place, error);
    } else {
        (void)snprintf(error, GOAL_ERROR_BYTES,
                       "deadlock: %.200s waits for a message that nobody sends",
                       goal_describe(goal, place.rank, place.operation, text));
    }
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        free(blockers[rank]);
    }
    free(blockers);
}

static bool find_unfinished(const struct check *check, struct place *place)
{
    const struct goal *goal = check->flow.goal;
    for (uint32_t rank = 0; rank < goal->rank_count; rank++) {
        for (uint32_t i = 0; i < goal->ranks[rank].count; i++) {
            if (check->states[rank][i] != FINISHED) {
                *place = (struct place){rank, i};
                return true;
            }
        }
    }
    return false;
}

bool goal_check(const struct goal *goal, char error[GOAL_ERROR_BYTES])
{
    struct check check = {0};
    struct place place;
    goal_flow_open(&check.flow, goal);
    check.states = calloc(goal->rank_count, sizeof *check.states);
    check.due = calloc(goal->rank_count, sizeof *check.due);
    check.is_due = calloc(goal->rank_count, sizeof *check.is_due);
    INVARIANT(check.states && check.due && check.is_due);
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        check.states[i] = calloc((size_t)goal->ranks[i].count + 1, 1);
        INVARIANT(check.states[i]);
    }
    carry_out(&check);
    bool is_stuck = find_unfinished(&check, &place);
    if (is_stuck) {
        explain(&check, place, error);
    }
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        free(check.states[i]);
    }
    free(check.states);
    free(check.due);
    free(check.is_due);
    goal_flow_close(&check.flow);
    return !is_stuck;
}
