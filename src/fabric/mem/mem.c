/* The `mem` fabric: the memory of one host, which the launcher makes and every node maps. The
 * MMU is the header TLB, the coherence hardware the network: every peer is in place, there is
 * nothing to start, and each operation is done when its call returns. */
#include "fabric/in_place.h"

static int mem_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                     unsigned bytes)
{
    void *word;
    int error = in_place_reach_word(lane, remote, bytes, &word);
    if (!error) {
        in_place_store(word, value, bytes);
    }
    return error;
}

static int mem_botf(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes)
{
    return in_place_botf(lane, remote, source, bytes);
}

static int mem_put_signal(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                          size_t bytes, struct dn_remote flag, uint64_t value)
{
    return in_place_put_signal(lane, remote, source, bytes, flag, value);
}

static int mem_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                    size_t bytes, struct dn_op *op)
{
    int error = in_place_push(lane, remote, source, bytes);
    if (!error && op) {
        fabric_op_mark_done(op, lane);
    }
    return error;
}

static int mem_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                    struct dn_op *op)
{
    int error = in_place_pull(lane, remote, target, bytes);
    if (!error && op) {
        fabric_op_mark_done(op, lane);
    }
    return error;
}

static int mem_atomic(struct fabric_lane *lane, struct dn_remote remote,
                      enum fabric_atomic operation, unsigned bytes, uint64_t operand,
                      uint64_t expected, uint64_t *old)
{
    void *word;
    int error = in_place_reach_word(lane, remote, bytes, &word);
    if (error) {
        return error;
    }
    KILL_POINT("atomic: before");
    uint64_t value = in_place_apply(word, operation, bytes, operand, expected);
    KILL_POINT("atomic: done, nobody woken");
    in_place_notify(lane, remote.rank, word, bytes);
    if (old) {
        *old = value;
    }
    return 0;
}

static int mem_fence(struct fabric_lane *lane)
{
    in_place_fence(lane);
    return 0;
}

static const struct fabric_ops mem_ops = {
    .store = mem_store,
    .botf = mem_botf,
    .put_signal = mem_put_signal,
    .push = mem_push,
    .pull = mem_pull,
    .atomic = mem_atomic,
    .fence = mem_fence,
    .quiet = mem_fence,
};

const struct fabric mem_fabric = {
    .name = "mem",
    .help = "the shared memory of one host",
    .ops = &mem_ops,
};
