/* Every kind of traffic between all nodes, checked to the last byte: what the network tests run
 * while they do bad things to the network.
 *
 *     udp_traffic [--rounds N] [--seconds S] [--until FILE] [--pids] [PART...]
 *
 * A round is one turn of every part, or of those named, each node with a partner that changes
 * from round to round. It goes on for N rounds, for S seconds and until FILE is there, whichever
 * is longest. Lengths and bytes follow from seed, round and sender, so the receiver knows what
 * must come. With --seconds, node 0 says "ok round N" after each; with --pids each node says
 * "node R pid P". Node 0 ends with "traffic is right: N rounds". The parts that test primitives
 * come together by primitives alone, so that they tell by themselves what works. */
#include "live/live.h"

/* Places in LLCM, used by the parts only. Flags hold the number of a round. */
enum {
    SEEN_AT = 0,     /* a word for each rank: the last barrier it was before */
    FLAG_AT = 1024,  /* a flag for each use of them, a line each */
    COUNT_AT = 8192, /* counters of the atomics, a line each */
    LOCK_AT = 16384,
    GUARDED_AT = 16448, /* what the lock guards */
    STORE_AT = 32768,   /* what is stored word by word */
};

enum flag {
    STORED,
    STEPS,
    BLOCKS,
    SIGNALS,
    SIGNALS_LAST = SIGNALS + 3,
    PUSHED,
    COMPLETE,
    LOOK,
    AREA,
    AREA_USED,
    COME, /* at node 0: how many have come to meetings */
    GO,   /* the last meeting that is over, and what node 0 said there */
    SUM,  /* at node 0: what sum_of_all adds up */
};

enum counter { ADDED, ADDED_SMALL, FETCHED, XORED, SWAPPED, COMPARED, BITS, COUNTERS };

/* Places in the bank. */
enum {
    MIB = 1 << 20,
    BLOCK_AT = 1 * MIB,
    SIGNAL_AT = 2 * MIB,
    PUSH_AT = 3 * MIB,
    SOURCE_AT = 4 * MIB, /* what others pull; never written after the start */
    REDUCE_AT = 5 * MIB,
    MESSAGE_AT = 6 * MIB,
    SCRATCH_AT = 7 * MIB, /* own use */
    BANK_USED = 8 * MIB,
};

/* TSan's own thread cannot be stopped, so no private memory is registered. */
#ifdef __SANITIZE_THREAD__
enum { IS_TSAN = 1 };
#else
enum { IS_TSAN = 0 };
#endif

enum {
    STORE_BYTES = 4096,
    BLOCK_COUNT = 8,
    BLOCK_BYTES_MAX = 8000,
    SIGNAL_COUNT = SIGNALS_LAST - SIGNALS + 1,
    SIGNAL_BYTES_MAX = 40000,
    PUSH_COUNT = 3,
    PUSH_BYTES_MAX = 100000,
    SOURCE_BYTES = 262144,
    PULL_COUNT = 3,
    ATOMICS = 8, /* of each kind, by each node in a round */
    TURNS = 3,   /* with the lock */
    NODES_MAX = 64,
};

static struct {
    uint64_t number; /* from 1 on */
    int to, from;
} turn;

static struct dn_team *all;
static struct dn_context *context;
static struct dn_lock *lock;
static struct dn_node *second; /* lane */

/* ---- What follows from the seed ----------------------------------------------------------- */

/* The same on all nodes for one thing that one node does in one round. */
static uint64_t salt(int rank, uint64_t what)
{
    return live_mix(me.seed ^ live_mix(turn.number * 1000003 + (uint64_t)rank * 1009 + what));
}

static size_t length(int rank, uint64_t what, size_t most)
{
    uint64_t mixed = salt(rank, what + 500);
    /* Often short, so that edges of packets and lines are hit. */
    return mixed % 4 == 0 ? (size_t)(mixed >> 8) % 64 : (size_t)(mixed >> 8) % (most + 1);
}

static void check_bytes(const void *found, size_t bytes, uint64_t seed, const char *what, int rank)
{
    size_t other = live_first_other(found, bytes, seed);
    require_else(other == bytes, "round %llu: byte %zu of %zu of %s from node %d is wrong",
                 (unsigned long long)turn.number, other, bytes, what, rank);
}

static uint64_t flag_at(unsigned flag)
{
    return FLAG_AT + 64 * (uint64_t)flag;
}

static void raise_flag_on(struct dn_node *lane, int rank, unsigned flag, uint64_t value)
{
    struct dn_kick kick;
    expect(dn_kick_map(lane, live_place(rank, flag_at(flag)), 8, &kick), 0);
    dn_store_u64(&kick, 0, value);
    expect(dn_kick_unmap(&kick), 0);
}

static void raise_flag(int rank, unsigned flag, uint64_t value)
{
    raise_flag_on(me.node, rank, flag, value);
}

static void await_flag(unsigned flag)
{
    live_wait_u64(flag_at(flag), DN_EQ, turn.number);
}

/* ---- Coming together by primitives --------------------------------------------------------- */

static uint64_t meetings;

/* All have come, what they sent before is in place, and all know node 0's word (below 2^32). */
static uint64_t meet(uint64_t word)
{
    uint64_t count = (uint64_t)me.size;
    expect(dn_quiet(me.node), 0);
    expect(dn_add_u64(me.node, live_place(0, flag_at(COME)), 1), 0);
    meetings++;
    if (me.rank == 0) {
        live_wait_u64(flag_at(COME), DN_EQ, meetings * count);
        for (int rank = 0; rank < me.size; rank++) {
            raise_flag(rank, GO, meetings << 32 | word);
        }
    }
    expect(dn_quiet(me.node), 0);
    live_wait_u64(flag_at(GO), DN_GE, meetings << 32);
    return dn_load_u64(live_u64(flag_at(GO))) & UINT32_MAX;
}

static uint64_t sum_of_all(uint64_t value)
{
    uint64_t sum;
    expect(dn_add_u64(me.node, live_place(0, flag_at(SUM)), value), 0);
    (void)meet(0);
    expect(dn_read_u64(me.node, live_place(0, flag_at(SUM)), &sum), 0);
    (void)meet(0);
    if (me.rank == 0) {
        *live_u64(flag_at(SUM)) = 0;
    }
    (void)meet(0);
    return sum;
}

/* ---- One-sided, in order ------------------------------------------------------------------ */

/* Stores of every width, each place twice: the second value stays. */
static void stores(void)
{
    struct dn_kick kick;
    uint64_t words[STORE_BYTES / 8];
    const unsigned char *bytes = (const unsigned char *)words;
    live_fill(words, sizeof words, salt(me.rank, 1));
    expect(dn_kick_map(me.node, live_place(turn.to, STORE_AT), STORE_BYTES, &kick), 0);
    for (uint64_t i = 0; i < STORE_BYTES; i += 64) {
        dn_store_u64(&kick, i, ~words[i / 8]);
    }
    for (uint64_t i = 0; i < STORE_BYTES;) {
        unsigned width = 1u << live_mix(me.seed + i) % 4;
        if (i % width != 0) {
            width = 1;
        }
        uint64_t value = 0;
        memcpy(&value, bytes + i, width);
        switch (width) {
        case 1: dn_store_u8(&kick, i, (uint8_t)value); break;
        case 2: dn_store_u16(&kick, i, (uint16_t)value); break;
        case 4: dn_store_u32(&kick, i, (uint32_t)value); break;
        default: dn_store_u64(&kick, i, value); break;
        }
        i += width;
    }
    expect(dn_kick_unmap(&kick), 0);
    raise_flag(turn.to, STORED, turn.number);
    await_flag(STORED);
    check_bytes(me.llcm + STORE_AT, STORE_BYTES, salt(turn.from, 1), "stores", turn.from);
}

/* A word that only grows is never seen to shrink. */
static void steps(void)
{
    enum { STEP_COUNT = 200 };
    uint64_t first = turn.number << 16;
    uint64_t seen = 0;
    for (uint64_t i = 1; i <= STEP_COUNT; i++) {
        raise_flag(turn.to, STEPS, first + i);
    }
    while (seen < first + STEP_COUNT) {
        expect(dn_wait_until_u64(me.node, live_u64(flag_at(STEPS)), DN_NE, seen, LIVE_PATIENCE_NS),
               0);
        uint64_t now = dn_load_u64(live_u64(flag_at(STEPS)));
        require_else(now >= seen, "a word went back from %llu to %llu", (unsigned long long)seen,
                     (unsigned long long)now);
        seen = now;
    }
    require(seen == first + STEP_COUNT);
}

/* Blocks one behind the other, at any alignment, and a store behind them. */
static void blocks(void)
{
    unsigned char block[BLOCK_BYTES_MAX];
    uint64_t at = BLOCK_AT;
    for (unsigned i = 0; i < BLOCK_COUNT; i++) {
        size_t bytes = length(me.rank, 10 + i, BLOCK_BYTES_MAX);
        live_fill(block, bytes, salt(me.rank, 10 + i));
        expect(dn_botf(me.node, live_at(turn.to, DN_BANK, at), block, bytes), 0);
        memset(block, 0xee, bytes);
        at += bytes;
    }
    raise_flag(turn.to, BLOCKS, turn.number);
    await_flag(BLOCKS);
    at = BLOCK_AT;
    for (unsigned i = 0; i < BLOCK_COUNT; i++) {
        size_t bytes = length(turn.from, 10 + i, BLOCK_BYTES_MAX);
        check_bytes(me.bank + at, bytes, salt(turn.from, 10 + i), "a block", turn.from);
        at += bytes;
    }
}

/* Bodies with flags; a flag that is seen has its body and all flags before it. */
static void signals(void)
{
    unsigned char *body = me.bank + SCRATCH_AT;
    for (unsigned i = 0; i < SIGNAL_COUNT; i++) {
        size_t bytes = length(me.rank, 30 + i, SIGNAL_BYTES_MAX);
        uint64_t at = SIGNAL_AT + i * (uint64_t)SIGNAL_BYTES_MAX;
        live_fill(body, bytes, salt(me.rank, 30 + i));
        expect(dn_put_signal(me.node, live_at(turn.to, DN_BANK, at), body, bytes,
                             live_place(turn.to, flag_at(SIGNALS + i)), turn.number),
               0);
    }
    await_flag(SIGNALS_LAST);
    for (unsigned i = 0; i < SIGNAL_COUNT; i++) {
        size_t bytes = length(turn.from, 30 + i, SIGNAL_BYTES_MAX);
        require_else(dn_load_u64(live_u64(flag_at(SIGNALS + i))) == turn.number,
                     "flag %u came after a later one", i);
        check_bytes(me.bank + SIGNAL_AT + i * (uint64_t)SIGNAL_BYTES_MAX, bytes,
                    salt(turn.from, 30 + i), "a body with a flag", turn.from);
    }
}

/* ---- One-sided, in any order -------------------------------------------------------------- */

static void check_pushed(const unsigned char *found, int from, const char *what)
{
    for (unsigned i = 0; i < PUSH_COUNT; i++) {
        check_bytes(found + i * (size_t)PUSH_BYTES_MAX, length(from, 50 + i, PUSH_BYTES_MAX),
                    salt(from, 50 + i), what, from);
    }
}

/* What is complete is there, whoever tells of it: here a lane that is not ordered with the pushing
 * one, while the packets of both overtake each other. */
static void completions(void)
{
    unsigned char *body = me.bank + SCRATCH_AT;
    for (unsigned i = 0; i < PUSH_COUNT; i++) {
        size_t bytes = length(me.rank, 40 + i, PUSH_BYTES_MAX);
        live_fill(body, bytes, salt(me.rank, 40 + i));
        expect(dn_push(me.node, live_at(turn.to, DN_BANK, PUSH_AT), body, bytes, NULL), 0);
        expect(dn_quiet(me.node), 0);
        memset(body, 0xee, bytes);
        raise_flag_on(second, turn.to, COMPLETE, turn.number << 8 | i);
        live_wait_u64(flag_at(COMPLETE), DN_EQ, turn.number << 8 | i);
        check_bytes(me.bank + PUSH_AT, length(turn.from, 40 + i, PUSH_BYTES_MAX),
                    salt(turn.from, 40 + i), "a completed push", turn.from);
        (void)meet(0);
    }
}

/* Pushes, then a fence and a flag for the target, then quiet and a flag for a third node, which
 * looks at the target's memory. */
static void pushes(void)
{
    unsigned char *body = me.bank + SCRATCH_AT;
    int third = live_neighbour((turn.to - me.rank + me.size) % me.size + 1);
    struct dn_op op = {{0}};
    for (unsigned i = 0; i < PUSH_COUNT; i++) {
        size_t bytes = length(me.rank, 50 + i, PUSH_BYTES_MAX);
        uint64_t at = i * (uint64_t)PUSH_BYTES_MAX;
        live_fill(body + at, bytes, salt(me.rank, 50 + i));
        expect(dn_push(me.node, live_at(turn.to, DN_BANK, PUSH_AT + at), body + at, bytes,
                       i == 0 ? &op : NULL),
               0);
    }
    expect(dn_fence(me.node), 0);
    raise_flag(turn.to, PUSHED, turn.number);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    expect(dn_quiet(me.node), 0);
    memset(body, 0xee, PUSH_COUNT * (size_t)PUSH_BYTES_MAX);
    raise_flag(third, LOOK, turn.number);

    await_flag(PUSHED);
    check_pushed(me.bank + PUSH_AT, turn.from, "a push");
    await_flag(LOOK);
    /* The node that told us stands as far before us as we do before our third, and its target is
     * the one before us. */
    int teller = live_neighbour(-((third - me.rank + me.size) % me.size));
    int looked_at = live_neighbour(-1);
    expect(dn_pull(me.node, live_at(looked_at, DN_BANK, PUSH_AT), body,
                   PUSH_COUNT * (size_t)PUSH_BYTES_MAX, &op),
           0);
    expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
    check_pushed(body, teller, "a push seen by a third");
}

static uint64_t source_seed(int rank)
{
    return live_mix(me.seed + 77 * (uint64_t)(rank + 1)) & ~UINT64_C(7);
}

/* Several pulls at once from what never changes. */
static void pulls(void)
{
    unsigned char *target = me.bank + SCRATCH_AT;
    struct dn_op ops[PULL_COUNT];
    size_t bytes[PULL_COUNT];
    uint64_t at[PULL_COUNT];
    for (unsigned i = 0; i < PULL_COUNT; i++) {
        bytes[i] = length(me.rank, 70 + i, PUSH_BYTES_MAX);
        /* live_fill's pattern goes by words. */
        at[i] = salt(me.rank, 80 + i) % (SOURCE_BYTES - PUSH_BYTES_MAX) / 8 * 8;
        memset(target + i * (size_t)PUSH_BYTES_MAX, 0xee, bytes[i]);
        expect(dn_pull(me.node, live_at(turn.to, DN_BANK, SOURCE_AT + at[i]),
                       target + i * (size_t)PUSH_BYTES_MAX, bytes[i], &ops[i]),
               0);
    }
    for (unsigned i = 0; i < PULL_COUNT; i++) {
        expect(dn_op_wait(&ops[i], LIVE_PATIENCE_NS), 0);
        check_bytes(target + i * (size_t)PUSH_BYTES_MAX, bytes[i], source_seed(turn.to) + at[i],
                    "a pull", turn.to);
    }
}

/* ---- Atomics: each exactly once ----------------------------------------------------------- */

static struct dn_remote counter(int host, enum counter which)
{
    return live_place(host, COUNT_AT + 64 * (uint64_t)which);
}

/* What the nodes do to the host's counters, and what they got back. */
struct atomics {
    uint64_t olds;    /* of fetch-add, added up */
    uint64_t squares; /* and their squares */
    uint64_t swapped; /* what was swapped in, less what came out */
};

static void do_atomics(int host, struct atomics *result)
{
    uint64_t old;
    uint32_t bits;
    for (unsigned i = 0; i < ATOMICS; i++) {
        uint64_t token = salt(me.rank, 100 + i);
        expect(dn_add_u64(me.node, counter(host, ADDED), token), 0);
        expect(dn_add_u32(me.node, counter(host, ADDED_SMALL), 1), 0);
        expect(dn_xor_u64(me.node, counter(host, XORED), token), 0);
        expect(dn_fetch_add_u64(me.node, counter(host, FETCHED), 1, &old), 0);
        result->olds += old;
        result->squares += old * old;
        expect(dn_swap_u64(me.node, counter(host, SWAPPED), token, &old), 0);
        result->swapped += token - old;
        uint64_t expected;
        old = 0;
        do {
            expected = old;
            expect(
                dn_compare_swap_u64(me.node, counter(host, COMPARED), expected, expected + 1, &old),
                0);
        } while (old != expected);
        uint32_t bit = UINT32_C(1) << me.rank % 32;
        expect(dn_fetch_xor_u32(me.node, counter(host, BITS), bit, &bits), 0);
        require_else(me.size > 32 || (bits & bit) == (i % 2 ? bit : 0),
                     "a bit that only this node turns over was turned over by somebody else");
    }
    expect(dn_quiet(me.node), 0);
}

/* The host checks what all have done, and starts anew. */
static void check_counters(uint64_t total, struct atomics *result)
{
    uint64_t *words[COUNTERS];
    uint64_t added = 0;
    uint64_t xored = 0;
    for (int rank = 0; rank < me.size; rank++) {
        for (unsigned i = 0; i < ATOMICS; i++) {
            added += salt(rank, 100 + i);
            xored ^= salt(rank, 100 + i);
        }
    }
    for (unsigned i = 0; i < COUNTERS; i++) {
        words[i] = live_u64(COUNT_AT + 64 * (uint64_t)i);
    }
    require_else(*words[ADDED] == added, "additions were lost or came twice");
    require_else(*words[ADDED_SMALL] == total, "%llu small additions, not %llu",
                 (unsigned long long)*words[ADDED_SMALL], (unsigned long long)total);
    require_else(*words[XORED] == xored, "exclusive ors were lost or came twice");
    require_else(*words[FETCHED] == total, "%llu fetch-adds, not %llu",
                 (unsigned long long)*words[FETCHED], (unsigned long long)total);
    require_else(*words[COMPARED] == total, "%llu compare-swaps, not %llu",
                 (unsigned long long)*words[COMPARED], (unsigned long long)total);
    require_else(*words[BITS] == 0, "bits were turned over once too often");
    result->swapped -= *words[SWAPPED];
    for (unsigned i = 0; i < COUNTERS; i++) {
        *words[i] = 0;
    }
}

static void atomics(void)
{
    int host = (int)(turn.number % (uint64_t)me.size);
    uint64_t total = (uint64_t)me.size * ATOMICS;
    struct atomics result = {0};
    do_atomics(host, &result);
    (void)meet(0);
    if (me.rank == host) {
        check_counters(total, &result);
    }
    /* All old values are different: 0, 1, ..., total - 1. */
    require_else(sum_of_all(result.olds) == total * (total - 1) / 2 &&
                     sum_of_all(result.squares) == total * (total - 1) * (2 * total - 1) / 6,
                 "a value was fetched twice");
    require_else(sum_of_all(result.swapped) == 0, "a swap was lost or came twice");
}

/* ---- Together ----------------------------------------------------------------------------- */

/* What all have stored before a barrier is there after it. */
static void barriers(void)
{
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_botf(me.node, live_place(rank, SEEN_AT + 8 * (uint64_t)me.rank), &turn.number, 8),
               0);
    }
    live_barrier();
    for (int rank = 0; rank < me.size; rank++) {
        uint64_t seen = dn_load_u64(live_u64(SEEN_AT + 8 * (uint64_t)rank));
        require_else(seen == turn.number, "after the barrier node %d's store is not there: %llu",
                     rank, (unsigned long long)seen);
    }
    /* No node stores for the next round before all have looked. */
    expect(dn_barrier_arrive(all), 0);
    expect(dn_barrier_wait(all, LIVE_PATIENCE_NS), 0);
}

/* Only the node that has the lock changes the words behind it, and they are always equal. */
static void locks(void)
{
    uint64_t words[8];
    struct dn_op op;
    for (unsigned i = 0; i < TURNS; i++) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        expect(dn_pull(me.node, live_place(0, GUARDED_AT), words, sizeof words, &op), 0);
        expect(dn_op_wait(&op, LIVE_PATIENCE_NS), 0);
        for (unsigned word = 1; word < 8; word++) {
            require_else(words[word] == words[0], "two nodes had the lock");
            words[word]++;
        }
        words[0]++;
        expect(dn_botf(me.node, live_place(0, GUARDED_AT), words, sizeof words), 0);
        expect(dn_lock_give(lock), 0);
    }
    live_barrier();
    expect(dn_read_u64(me.node, live_place(0, GUARDED_AT), &words[0]), 0);
    require_else(words[0] == turn.number * TURNS * (uint64_t)me.size,
                 "%llu turns with the lock, not %llu", (unsigned long long)words[0],
                 (unsigned long long)(turn.number * TURNS * (uint64_t)me.size));
    live_barrier();
}

/* Powers of different sizes, so that another order of adding gives other bits. */
static double summand(int rank, size_t i)
{
    uint64_t word = salt(rank, 200 + i % 97) + i;
    return (double)(int64_t)word / (double)(UINT64_C(1) << word % 41);
}

static void reduce_once(double *source, double *result, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        source[i] = summand(me.rank, i);
    }
    expect(dn_allreduce(all, source, result, count, DN_DOUBLE, DN_SUM), 0);
    for (size_t i = 0; i<count; i += count> 1000 ? 37 : 1) {
        double wanted = summand(0, i);
        for (int rank = 1; rank < me.size; rank++) {
            wanted += summand(rank, i);
        }
        require_else(result[i] == wanted, "sum %zu of %zu is %g, not %g", i, count, result[i],
                     wanted);
    }
}

static void reductions(void)
{
    enum { PRIVATE_COUNT = 1200, LARGE_COUNT = 20000, GATHERED = 3000 };
    double own[PRIVATE_COUNT];
    double *large = (double *)(void *)(me.bank + REDUCE_AT);
    unsigned char *gathered = me.bank + SCRATCH_AT;
    unsigned char bytes[GATHERED];
    int root = (int)(turn.number % (uint64_t)me.size);
    reduce_once(own, own, 1);
    reduce_once(own, own, PRIVATE_COUNT);
    reduce_once(large, large + LARGE_COUNT, LARGE_COUNT);

    live_fill(bytes, sizeof bytes, salt(me.rank, 300));
    expect(dn_allgather(all, bytes, gathered, sizeof bytes), 0);
    for (int rank = 0; rank < me.size; rank++) {
        check_bytes(gathered + (size_t)rank * GATHERED, GATHERED, salt(rank, 300), "a gathering",
                    rank);
    }
    expect(dn_broadcast(all, bytes, sizeof bytes, root), 0);
    check_bytes(bytes, sizeof bytes, salt(root, 300), "a broadcast", root);
}

/* ---- Messages ----------------------------------------------------------------------------- */

static const size_t message_sizes[] = {0, 1, 100, 2048, 2049, 9000, 40000, 100000};

/* Small and large messages, from private memory and from the bank, in order. */
static void messages(void)
{
    enum { MESSAGES = LIVE_COUNT(message_sizes) };
    struct dn_message_op ops[MESSAGES];
    unsigned char *sources[MESSAGES];
    unsigned char *buffer = me.bank + SCRATCH_AT;
    for (size_t i = 0; i < MESSAGES; i++) {
        size_t bytes = message_sizes[i];
        sources[i] = i % 2 ? me.bank + MESSAGE_AT + i * 100000 : malloc(bytes + 1);
        require(sources[i] != NULL);
        live_fill(sources[i], bytes, salt(me.rank, 400 + i));
        expect(dn_isend(context, turn.to, sources[i], bytes, &ops[i]), 0);
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        size_t bytes;
        int sender;
        expect(dn_recv(context, turn.from, buffer, 100000, LIVE_PATIENCE_NS, &sender, &bytes), 0);
        require_else(sender == turn.from && bytes == message_sizes[i],
                     "message %zu has %zu bytes, not %zu", i, bytes, message_sizes[i]);
        check_bytes(buffer, bytes, salt(turn.from, 400 + i), "a message", turn.from);
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        expect(dn_message_wait(&ops[i], LIVE_PATIENCE_NS, NULL, NULL), 0);
        if (i % 2 == 0) {
            free(sources[i]);
        }
    }
    /* No message of the notes below is taken for one of the ring above. */
    live_barrier();
}

/* All nodes write to one node, which takes what comes. */
static void notes(void)
{
    int host = (int)(turn.number % (uint64_t)me.size);
    uint64_t note[8];
    bool has_come[NODES_MAX] = {false};
    if (me.rank != host) {
        live_fill(note, sizeof note, salt(me.rank, 500));
        expect(dn_send(context, host, note, sizeof note, LIVE_PATIENCE_NS), 0);
    }
    for (int i = 1; me.rank == host && i < me.size; i++) {
        int sender;
        size_t bytes;
        expect(dn_recv(context, DN_ANY, note, sizeof note, LIVE_PATIENCE_NS, &sender, &bytes), 0);
        require(bytes == sizeof note && !has_come[sender]);
        has_come[sender] = true;
        check_bytes(note, bytes, salt(sender, 500), "a note", sender);
    }
    live_barrier();
}

/* ---- Memory that comes and goes ------------------------------------------------------------ */

/* A piece of the heap, and private memory that is registered for one round. */
static void memory(void)
{
    enum { BYTES = 20000 };
    unsigned char *own = IS_TSAN ? me.bank + SCRATCH_AT : malloc(BYTES);
    unsigned char body[BYTES / 4];
    void *heap;
    uint32_t area;
    struct dn_remote place;
    require(own != NULL);
    expect(dn_alloc(me.node, sizeof body, &heap), 0);
    expect(dn_register(me.node, own, BYTES, &area), 0);
    raise_flag(turn.from, AREA, turn.number << 32 | area);
    live_wait_u64(flag_at(AREA), DN_GE, turn.number << 32);

    uint32_t theirs = (uint32_t)dn_load_u64(live_u64(flag_at(AREA)));
    live_fill(body, sizeof body, salt(me.rank, 600));
    expect(dn_botf(me.node, live_at(turn.to, theirs, 16), body, sizeof body), 0);
    expect(dn_remote_of(me.node, heap, turn.to, &place), 0);
    expect(dn_push(me.node, place, body, sizeof body, NULL), 0);
    expect(dn_quiet(me.node), 0);
    raise_flag(turn.to, AREA_USED, turn.number);

    await_flag(AREA_USED);
    check_bytes(own + 16, sizeof body, salt(turn.from, 600), "registered memory", turn.from);
    check_bytes(heap, sizeof body, salt(turn.from, 600), "the heap", turn.from);
    expect(dn_deregister(me.node, area), 0);
    if (!IS_TSAN) {
        free(own);
    }
    expect(dn_free(me.node, heap), 0);
    expect(dn_botf(me.node, live_at(turn.to, theirs, 16), body, 8), DN_ESTALE);
}

/* ---- Rounds ------------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"stores", stores},
    {"steps", steps},
    {"blocks", blocks},
    {"signals", signals},
    {"completions", completions},
    {"pushes", pushes},
    {"pulls", pulls},
    {"atomics", atomics},
    {"barriers", barriers},
    {"locks", locks},
    {"reduce", reductions},
    {"messages", messages},
    {"notes", notes},
    {"memory", memory},
};

static struct {
    uint64_t rounds, seconds;
    const char *until; /* a file that ends the rounds; NULL: none */
    bool pids;
    bool is_chosen[LIVE_COUNT(parts)];
    bool is_any_chosen;
} wanted = {.rounds = 1};

static void parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t part = 0;
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            wanted.rounds = strtoull(argv[++i], NULL, 10);
            continue;
        }
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            wanted.seconds = strtoull(argv[++i], NULL, 10);
            continue;
        }
        if (strcmp(argv[i], "--until") == 0 && i + 1 < argc) {
            wanted.until = argv[++i];
            continue;
        }
        if (strcmp(argv[i], "--pids") == 0) {
            wanted.pids = true;
            continue;
        }
        while (part < LIVE_COUNT(parts) && strcmp(argv[i], parts[part].name) != 0) {
            part++;
        }
        require_else(part < LIVE_COUNT(parts), "there is no part %s", argv[i]);
        wanted.is_chosen[part] = true;
        wanted.is_any_chosen = true;
    }
}

static bool is_wanted(void (*run)(void))
{
    for (size_t i = 0; i < LIVE_COUNT(parts); i++) {
        if (parts[i].run == run) {
            return !wanted.is_any_chosen || wanted.is_chosen[i];
        }
    }
    return false;
}

static void set_up(void)
{
    int ranks[NODES_MAX];
    require(me.size <= NODES_MAX && me.bank_bytes >= BANK_USED);
    for (int rank = 0; rank < me.size; rank++) {
        ranks[rank] = rank;
    }
    live_fill(me.bank + SOURCE_AT, SOURCE_BYTES, source_seed(me.rank));
    all = dn_team_all(me.node);
    expect(dn_lane_open(me.node, &second), 0);
    expect(dn_lock_open(me.node, live_place(0, LOCK_AT), &lock), 0);
    expect(
        dn_context_open(me.node, 1, ranks, (size_t)me.size, ranks, (size_t)me.size, NULL, &context),
        0);
    if (wanted.pids) {
        (void)dprintf(STDOUT_FILENO, "node %d pid %d\n", me.rank, (int)getpid());
    }
    (void)meet(0);
}

static void one_round(void)
{
    int apart = me.size > 1 ? 1 + (int)(turn.number % (uint64_t)(me.size - 1)) : 0;
    turn.to = live_neighbour(apart);
    turn.from = live_neighbour(-apart);
    for (size_t i = 0; i < LIVE_COUNT(parts); i++) {
        if (is_wanted(parts[i].run)) {
            me.check = parts[i].name;
            parts[i].run();
        }
    }
    me.check = "end of a round";
}

/* Node 0 decides by its clock. */
static bool goes_on(uint64_t start_ns)
{
    return meet(turn.number < wanted.rounds ||
                live_now_ns() - start_ns < wanted.seconds * LIVE_SECOND ||
                (wanted.until && access(wanted.until, F_OK) != 0));
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    live_attach();
    set_up();
    uint64_t start_ns = live_now_ns();
    while (goes_on(start_ns)) {
        turn.number++;
        one_round();
        if (wanted.seconds > 0 && me.rank == 0) {
            (void)dprintf(STDOUT_FILENO, "ok round %llu\n", (unsigned long long)turn.number);
        }
    }
    me.check = "end";
    /* Where packets are lost, a node that leaves may take the last acknowledgement along: none goes
     * before all have completed what they sent. */
    live_barrier();
    expect(dn_lane_close(second), 0);
    if (context) {
        expect(dn_context_close(context), 0);
    }
    if (lock) {
        expect(dn_lock_close(lock), 0);
    }
    expect(dn_detach(me.node), 0);
    if (me.rank == 0) {
        (void)dprintf(STDOUT_FILENO, "traffic is right: %llu rounds\n",
                      (unsigned long long)turn.number);
    }
    return 0;
}
