/* A schedule of any bytes: it is refused with one line that names it, or what is written of it
 * gives the same schedule again. Whether it can end is told in one line, too. */
#include "fuzz.h"
#include "sim/goal/goal_write.h"

static void expect_same(const struct goal *one, const struct goal *other)
{
    FUZZ_ASSERT(one->rank_count == other->rank_count);
    for (uint32_t rank = 0; rank < one->rank_count; rank++) {
        const struct goal_rank *mine = &one->ranks[rank];
        const struct goal_rank *theirs = &other->ranks[rank];
        FUZZ_ASSERT(mine->count == theirs->count && mine->need_count == theirs->need_count);
        for (uint32_t i = 0; i < mine->count; i++) {
            struct goal_operation first = mine->operations[i];
            struct goal_operation second = theirs->operations[i];
            FUZZ_ASSERT(strcmp(one->names + first.name, other->names + second.name) == 0);
            FUZZ_ASSERT(first.kind == second.kind && first.peer == second.peer);
            FUZZ_ASSERT(first.amount == second.amount && first.tag == second.tag);
            FUZZ_ASSERT(first.cpu == second.cpu && first.nic == second.nic);
        }
        for (uint32_t i = 0; i < mine->need_count; i++) {
            FUZZ_ASSERT(mine->needs[i].operation == theirs->needs[i].operation);
            FUZZ_ASSERT(mine->needs[i].before == theirs->needs[i].before);
            FUZZ_ASSERT(mine->needs[i].of_start == theirs->needs[i].of_start);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct goal goal = {0};
    struct goal again = {0};
    char error[GOAL_ERROR_BYTES] = "";
    unsigned char *input = fuzz_copy(data, bytes);
    bool good = goal_read_bytes("fuzz.goal", input, bytes, &goal, error);
    free(input);
    if (!good) {
        FUZZ_ASSERT(goal.ranks == NULL);
        FUZZ_ASSERT(strncmp(error, "fuzz.goal:", 10) == 0 && strchr(error, '\n') == NULL);
        return 0;
    }
    FUZZ_ASSERT(goal_check(&goal, error) || strncmp(error, "deadlock: ", 10) == 0);
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    FUZZ_ASSERT(file != NULL);
    goal_write(file, &goal);
    FUZZ_ASSERT(fclose(file) == 0);
    FUZZ_ASSERT(goal_read_bytes("fuzz.goal", text, length, &again, error));
    expect_same(&goal, &again);
    free(text);
    goal_close(&goal);
    goal_close(&again);
    return 0;
}
