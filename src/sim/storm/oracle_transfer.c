/* The oracle's rules for PUSH and PULL. Each push has a place that no other push ever has; its
 * packets may come in any order, but every byte must come exactly once, and all in one life of the
 * target. A pull must bring what one life of the target holds. */
#include "sim/storm/oracle.h"

#include <string.h>

bool storm_oracle_give_push(struct storm_oracle *oracle, uint32_t index)
{
    struct storm_operation *operation = &oracle->operations[index];
    struct storm_target *target = &oracle->targets[operation->target];
    uint64_t end = 0;
    INVARIANT(round_up(target->pushes_end + operation->bytes, STORM_PUSH_ALIGN, &end));
    if (end > oracle->layout.areas[STORM_AREA_PUSHES].bytes) {
        return false;
    }
    operation->offset = target->pushes_end;
    for (uint64_t at = target->pushes_end; at < end; at += STORM_PUSH_ALIGN) {
        target->push_at[at / STORM_PUSH_ALIGN] = index;
    }
    target->pushes_end = end;
    return true;
}

void storm_oracle_withdraw_push(struct storm_oracle *oracle, uint32_t index)
{
    const struct storm_operation *operation = &oracle->operations[index];
    oracle->targets[operation->target].pushes_end = operation->offset;
}

void storm_oracle_see_push(struct storm_oracle *oracle, uint16_t node, const unsigned char *memory,
                           uint64_t offset, uint64_t bytes)
{
    struct storm_target *target = &oracle->targets[node];
    uint64_t in_area = offset - oracle->layout.areas[STORM_AREA_PUSHES].offset;
    uint32_t index = target->push_at[in_area / STORM_PUSH_ALIGN];
    struct storm_operation *operation = &oracle->operations[index];
    if (in_area >= target->pushes_end || in_area - operation->offset >= operation->bytes ||
        bytes > operation->bytes - (in_area - operation->offset)) {
        storm_oracle_fail(oracle, "node %u: %llu bytes were pushed to %llu, which nobody asked",
                          node, (unsigned long long)bytes, (unsigned long long)in_area);
        return;
    }
    if (!storm_derived_match(operation->identity, in_area - operation->offset, bytes,
                             memory + offset)) {
        storm_operation_fail(oracle, operation, "push", "put wrong bytes into node %u", node);
        return;
    }
    if (memchr(target->pieces + in_area, 1, bytes)) {
        storm_operation_fail(oracle, operation, "push", "wrote a byte of node %u twice", node);
        return;
    }
    if (!storm_oracle_allows(oracle, index, oracle->life_of[node])) {
        return;
    }
    memset(target->pieces + in_area, 1, bytes);
    operation->seen_life = oracle->life_of[node];
    operation->bytes_seen += (uint32_t)bytes;
    if (operation->bytes_seen == operation->bytes) {
        storm_oracle_seen(oracle, index, oracle->life_of[node]);
    }
}

void storm_oracle_end_push(struct storm_oracle *oracle, uint32_t index)
{
    const struct storm_operation *operation = &oracle->operations[index];
    if (!operation->is_seen) {
        storm_operation_fail(oracle, operation, "push",
                             "to node %u completed with %u of %u bytes in place", operation->target,
                             operation->bytes_seen, operation->bytes);
    }
}

void storm_oracle_end_pull(struct storm_oracle *oracle, uint32_t index, const unsigned char *data)
{
    const struct storm_operation *operation = &oracle->operations[index];
    /* It was carried out after it was given, so by one of these lives. */
    for (uint32_t i = operation->first_life; i < oracle->life_count; i++) {
        const struct storm_life *life = oracle->lives[i];
        if (life->node == operation->target &&
            (operation->intended == 0 || operation->intended == life->incarnation) &&
            storm_derived_match(storm_pulls_identity(oracle, life), operation->offset,
                                operation->bytes, data)) {
            storm_oracle_seen(oracle, index, i);
            return;
        }
    }
    storm_operation_fail(oracle, operation, "pull", "from node %u brought wrong bytes",
                         operation->target);
}
