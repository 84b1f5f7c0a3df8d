/* Locks: taken by one node alone, and passed between two that contend. */
#include "cli/perf/perf_node.h"
#include "group/lock.h"

/* Lines in rank 0's LLCM, by words: one with the lock and the raw words beside it, one for
 * the other end of the ping-pong, and one for each node to say that it is done. */
enum {
    LINE_OFFSET = 8192,
    LINE_WORDS = CACHE_LINE_BYTES / sizeof(uint64_t),
    LOCK_WORD = 0,
    RAW_WORD = 1,
    PING_WORD = 2,
    PONG_WORD = LINE_WORDS,
    DONE_WORD = 2 * LINE_WORDS,
};

struct contest {
    struct dn_lock *lock;
    uint64_t *line;
    uint64_t rank;
    uint64_t value; /* of the ping-pong, grows with every round trip */
    uint64_t block; /* contested blocks so far */
};

/* The least that a lock costs: a compare-swap to take it, a store to give it. */
static void raw_alone(void *context, uint64_t count)
{
    struct contest *contest = context;
    uint64_t *word = contest->line + RAW_WORD;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t expected = 0;
        (void)__atomic_compare_exchange_n(word, &expected, 1, 0, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED);
        __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    }
}

static void our_alone(void *context, uint64_t count)
{
    struct contest *contest = context;
    for (uint64_t i = 0; i < count; i++) {
        (void)dn_lock_take(contest->lock, DN_FOREVER);
        (void)dn_lock_give(contest->lock);
    }
}

static void raw_pingpong(void *context, uint64_t count)
{
    struct contest *contest = context;
    uint64_t *mine = contest->line + (contest->rank ? PONG_WORD : PING_WORD);
    uint64_t *theirs = contest->line + (contest->rank ? PING_WORD : PONG_WORD);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = ++contest->value;
        if (contest->rank == 0) {
            __atomic_store_n(theirs, value, __ATOMIC_RELEASE);
        }
        perf_raw_wait(mine, value);
        if (contest->rank == 1) {
            __atomic_store_n(theirs, value, __ATOMIC_RELEASE);
        }
    }
}

/* Both nodes take and give the lock as fast as they can, until each has got it `count / 2` times
 * from the other. Taking it twice in a row does not count: the lock's word, which a take reads
 * anyway, says who had it last. The node that is done first goes on until both are. */
static void our_contest(void *context, uint64_t count)
{
    struct contest *contest = context;
    uint64_t *mine = contest->line + DONE_WORD + contest->rank * LINE_WORDS;
    const uint64_t *theirs = contest->line + DONE_WORD + (1 - contest->rank) * LINE_WORDS;
    uint64_t block = ++contest->block;
    uint64_t changes = 0;
    bool done = false;
    while (!done || __atomic_load_n(theirs, __ATOMIC_ACQUIRE) < block) {
        prefetch_to_write(contest->line); /* as the take does */
        uint64_t last = __atomic_load_n(contest->line + LOCK_WORD, __ATOMIC_RELAXED);
        changes += last >> GROUP_LOCK_RANK_SHIFT != contest->rank;
        (void)dn_lock_take(contest->lock, DN_FOREVER);
        (void)dn_lock_give(contest->lock);
        if (!done && changes >= count / 2) {
            done = true;
            __atomic_store_n(mine, block, __ATOMIC_RELEASE);
        }
    }
}

int perf_lock(struct perf_world *world)
{
    static const struct perf_row rows[] = {
        {"take and give", "raw compare-swap + store, same line", "<= 2.5", PERF_TIME, "lock_ns", 0,
         raw_alone, our_alone, .rank_0_only = true},
        {"change of owner", "raw store ping-pong", "<= 0.95", PERF_TIME, "change_ns", 0,
         raw_pingpong, .ours = our_contest},
    };
    struct dn_kick kick;
    struct contest contest = {.rank = (uint64_t)world->rank};
    struct dn_remote word = {0, DN_LLCM, LINE_OFFSET};
    int error = perf_map_line(world, 0, LINE_OFFSET, (size_t)4 * CACHE_LINE_BYTES, &kick);
    error = error ? error : dn_lock_open(world->node, word, &contest.lock);
    if (error) {
        return error;
    }
    contest.line = dn_kick_pointer(&kick);
    error = perf_run(world, rows, sizeof rows / sizeof rows[0], &contest);
    return error ? error : dn_lock_close(contest.lock);
}
