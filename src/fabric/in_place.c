/* The road in place as a table of operations, each done when its call returns. */
#include "fabric/in_place.h"

static int reach_word(const struct fabric_lane *lane, struct dn_remote remote, unsigned bytes,
                      uint32_t right, unsigned char **word)
{
    int error = in_place_reach_any(lane, remote, bytes, right, word);
    return error ? error : (uintptr_t)*word % bytes != 0 ? DN_EALIGN : 0;
}

static int store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value, unsigned bytes)
{
    unsigned char *word;
    int error = reach_word(lane, remote, bytes, DN_WRITE, &word);
    if (!error) {
        nic_store_word(word, value, bytes);
    }
    return error;
}

static int botf(struct fabric_lane *lane, struct dn_remote remote, const void *source, size_t bytes)
{
    unsigned char *target;
    int error = in_place_reach_any(lane, remote, bytes, DN_WRITE, &target);
    if (UNLIKELY(error)) {
        return error;
    }
    KILL_POINT("botf: nothing written");
    nic_store_block(target, source, bytes);
    KILL_POINT("botf: written, nobody woken");
    in_place_notify(lane, remote.rank, target, bytes);
    return 0;
}

static int push(struct fabric_lane *lane, struct dn_remote remote, const void *source, size_t bytes,
                struct dn_op *op)
{
    unsigned char *target;
    int error = in_place_reach_any(lane, remote, bytes, DN_WRITE, &target);
    if (UNLIKELY(error)) {
        return error;
    }
    KILL_POINT("push: nothing written");
    if (LIKELY(bytes != 0)) {
        memmove(target, source, bytes);
    }
    KILL_POINT("push: written, nobody woken");
    in_place_notify(lane, remote.rank, target, bytes);
    if (op) {
        fabric_op_mark_done(op, lane);
    }
    return 0;
}

static int pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                struct dn_op *op)
{
    unsigned char *source;
    int error = in_place_reach_any(lane, remote, bytes, DN_READ, &source);
    if (UNLIKELY(error)) {
        return error;
    }
    if (LIKELY(bytes != 0)) {
        memmove(target, source, bytes);
    }
    if (op) {
        fabric_op_mark_done(op, lane);
    }
    return 0;
}

static int atomic(struct fabric_lane *lane, struct dn_remote remote, enum wire_atomic operation,
                  unsigned bytes, uint64_t operand, uint64_t expected, uint64_t *old)
{
    unsigned char *word;
    int error = reach_word(lane, remote, bytes, nic_atomic_right(operation), &word);
    if (error) {
        return error;
    }
    KILL_POINT("atomic: before");
    uint64_t value = nic_apply(word, operation, bytes, operand, expected);
    KILL_POINT("atomic: done, nobody woken");
    in_place_notify(lane, remote.rank, word, bytes);
    if (old) {
        *old = value;
    }
    return 0;
}

const struct fabric_ops in_place_ops = {
    .store = store,
    .botf = botf,
    .put_signal = in_place_put_signal,
    .push = push,
    .pull = pull,
    .atomic = atomic,
    .fence = in_place_fence,
    .quiet = in_place_fence,
};
