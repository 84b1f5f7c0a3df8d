/* A schedule in memory. */
#include "sim/goal/goal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_BYTES_MAX = 1 << 30 };

void goal_open(struct goal *goal, uint32_t rank_count)
{
    INVARIANT(rank_count > 0 && rank_count <= GOAL_RANKS_MAX);
    *goal = (struct goal){.rank_count = rank_count, .names_bytes = 1, .names_room = 64};
    goal->ranks = calloc(rank_count, sizeof *goal->ranks);
    goal->names = calloc(1, goal->names_room);
    INVARIANT(goal->ranks && goal->names);
}

void goal_close(struct goal *goal)
{
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        free(goal->ranks[i].operations);
        free(goal->ranks[i].needs);
    }
    free(goal->ranks);
    free(goal->names);
    *goal = (struct goal){0};
}

/* Doubles the room where the count has reached it. */
static void *grow(void *array, uint32_t count, uint32_t *room, size_t each)
{
    if (count < *room) {
        return array;
    }
    *room = 2 * *room + 8;
    array = realloc(array, *room * each);
    INVARIANT(array);
    return array;
}

static uint32_t keep_name(struct goal *goal, const char *name)
{
    size_t bytes = strlen(name) + 1;
    uint32_t at = (uint32_t)goal->names_bytes;
    if (bytes > goal->names_room - goal->names_bytes) {
        goal->names_room = 2 * goal->names_room + bytes;
        goal->names = realloc(goal->names, goal->names_room);
        INVARIANT(goal->names);
    }
    memcpy(goal->names + at, name, bytes);
    goal->names_bytes += bytes;
    return at;
}

bool goal_add(struct goal *goal, uint32_t rank, const struct goal_operation *operation,
              const char *name, uint32_t *number)
{
    INVARIANT(rank < goal->rank_count && operation->cpu < GOAL_CPUS_MAX);
    INVARIANT(operation->kind == GOAL_CALC || operation->peer < goal->rank_count);
    struct goal_rank *of = &goal->ranks[rank];
    if (goal->operation_count == GOAL_OPERATIONS_MAX || goal->names_bytes > NAMES_BYTES_MAX) {
        return false;
    }
    of->operations = grow(of->operations, of->count, &of->room, sizeof *of->operations);
    of->operations[of->count] = *operation;
    of->operations[of->count].name = name ? keep_name(goal, name) : 0;
    goal->operation_count++;
    *number = of->count++;
    return true;
}

bool goal_need(struct goal *goal, uint32_t rank, uint32_t operation, uint32_t before, bool of_start)
{
    struct goal_rank *of = &goal->ranks[rank];
    INVARIANT(operation < of->count && before < of->count);
    if (goal->need_count == GOAL_OPERATIONS_MAX) {
        return false;
    }
    of->needs = grow(of->needs, of->need_count, &of->need_room, sizeof *of->needs);
    of->needs[of->need_count++] = (struct goal_need){operation, before, of_start};
    goal->need_count++;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool goal_is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool goes_on = (text[i] >= '0' && text[i] <= '9') || text[i] == '.' || text[i] == '-';
        if (!is_letter(text[i]) && !(i > 0 && goes_on)) {
            return false;
        }
    }
    return length > 0 && length <= GOAL_NAME_BYTES_MAX;
}

const char *goal_describe(const struct goal *goal, uint32_t rank, uint32_t operation,
                          char text[GOAL_ERROR_BYTES])
{
    static const char *const kinds[] = {
        [GOAL_CALC] = "calc", [GOAL_SEND] = "send to", [GOAL_RECEIVE] = "recv from"};
    const struct goal_operation *of = &goal->ranks[rank].operations[operation];
    int used = snprintf(text, GOAL_ERROR_BYTES, "rank %" PRIu32, rank);
    if (of->line > 0) {
        used += snprintf(text + used, (size_t)(GOAL_ERROR_BYTES - used), ", line %" PRIu32,
                         of->line);
    }
    if (of->name > 0) {
        used += snprintf(text + used, (size_t)(GOAL_ERROR_BYTES - used), ", \"%s\"",
                         goal->names + of->name);
    }
    used += snprintf(text + used, (size_t)(GOAL_ERROR_BYTES - used), " (%s", kinds[of->kind]);
    if (of->kind != GOAL_CALC) {
        used += snprintf(text + used, (size_t)(GOAL_ERROR_BYTES - used),
                         " %" PRIu32 ", tag %" PRIu32, of->peer, of->tag);
    }
    (void)snprintf(text + used, (size_t)(GOAL_ERROR_BYTES - used), ")");
    return text;
}
