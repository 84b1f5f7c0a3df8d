/* Writing schedules. Every operation that has a label, or is in a need, gets one; tags, cpus and
 * NICs are written where they are not 0. */
#include "sim/goal/goal_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Which operations of a rank have a label in the file, and whose. */
struct labels {
    bool *is_needed;  /* by operation: a need names it */
    bool are_made_up; /* the operations' own are not used */
};

/* Whether a name is an l and a number. */
static bool looks_made_up(const char *name)
{
    size_t digits = strspn(name + 1, "0123456789");
    return name[0] == 'l' && digits > 0 && name[1 + digits] == '\0';
}

static struct labels labels_of(const struct goal *goal, const struct goal_rank *rank)
{
    struct labels labels = {.is_needed = calloc((size_t)rank->count + 1, sizeof(bool))};
    bool one_lacks = false;
    bool one_looks = false;
    INVARIANT(labels.is_needed);
    for (uint32_t i = 0; i < rank->need_count; i++) {
        labels.is_needed[rank->needs[i].operation] = true;
        labels.is_needed[rank->needs[i].before] = true;
    }
    for (uint32_t i = 0; i < rank->count; i++) {
        uint32_t name = rank->operations[i].name;
        one_lacks |= name == 0 && labels.is_needed[i];
        one_looks |= name > 0 && looks_made_up(goal->names + name);
    }
    labels.are_made_up = one_lacks && one_looks;
    return labels;
}

static void write_name(FILE *file, const struct goal *goal, const struct goal_rank *rank,
                       const struct labels *labels, uint32_t operation)
{
    uint32_t name = rank->operations[operation].name;
    if (name > 0 && !labels->are_made_up) {
        (void)fputs(goal->names + name, file);
    } else {
        (void)fprintf(file, "l%" PRIu32, operation + 1);
    }
}

static void write_operation(FILE *file, const struct goal_operation *operation)
{
    if (operation->kind == GOAL_CALC) {
        (void)fprintf(file, "calc %" PRIu64, operation->amount);
    } else {
        bool sends = operation->kind == GOAL_SEND;
        (void)fprintf(file, "%s %" PRIu64 "b %s %" PRIu32, sends ? "send" : "recv",
                      operation->amount, sends ? "to" : "from", operation->peer);
        if (operation->tag > 0) {
            (void)fprintf(file, " tag %" PRIu32, operation->tag);
        }
    }
    if (operation->cpu > 0) {
        (void)fprintf(file, " cpu %" PRIu32, operation->cpu);
    }
    if (operation->nic > 0) {
        (void)fprintf(file, " nic %" PRIu32, operation->nic);
    }
    (void)fputc('\n', file);
}

static void write_rank(FILE *file, const struct goal *goal, const struct goal_rank *rank)
{
    struct labels labels = labels_of(goal, rank);
    for (uint32_t i = 0; i < rank->count; i++) {
        if (labels.is_needed[i] || (rank->operations[i].name > 0 && !labels.are_made_up)) {
            write_name(file, goal, rank, &labels, i);
            (void)fputs(": ", file);
        }
        write_operation(file, &rank->operations[i]);
    }
    for (uint32_t i = 0; i < rank->need_count; i++) {
        const struct goal_need *need = &rank->needs[i];
        write_name(file, goal, rank, &labels, need->operation);
        (void)fputs(need->of_start ? " irequires " : " requires ", file);
        write_name(file, goal, rank, &labels, need->before);
        (void)fputc('\n', file);
    }
    free(labels.is_needed);
}

void goal_write(FILE *file, const struct goal *goal)
{
    (void)fprintf(file, "num_ranks %" PRIu32 "\n", goal->rank_count);
    for (uint32_t i = 0; i < goal->rank_count; i++) {
        (void)fprintf(file, "\nrank %" PRIu32 " {\n", i);
        write_rank(file, goal, &goal->ranks[i]);
        (void)fputs("}\n", file);
    }
}
