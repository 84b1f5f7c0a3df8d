/* Litmus shapes on shared memory.
 *
 *     fagus_litmus SHAPE ROUNDS [--weak]
 *
 * Each shape is a few short programs, one on each node, that run at once, round after round. What
 * they saw in a round is put together and tested for the outcome that no interleaving of the
 * programs explains. With variables acquired and released it must never appear.
 *
 * With --weak the programs leave out a part of that, for as many rounds as there are cells. Then
 * the outcome must appear, which shows that the test can fail. It is certain where memory is not
 * shared: nothing travels unasked, so a reader that does not acquire sees what it had. */
#include "fagus_live.h"

enum {
    CELLS = 64, /* rounds between two gatherings of what was seen; each has locations of its own */
    NODES_MAX = 4,
    X = 0, /* the locations of a cell: X and Y with a variable each, */
    Y = 1,
    P = 2, /* P and Q with one for both */
    Q = 3,
    LOCATIONS = 4,
    PAIR = 2, /* the variable of P and Q */
    VARIABLES = 3,
};

struct outcome {
    uint64_t first;
    uint64_t second;
    uint64_t last; /* after all programs have ended */
};

static bool is_weak;
static uint64_t *memory;
static struct fagus_sync *syncs[CELLS][VARIABLES];
static struct outcome (*outcomes)[CELLS]; /* of each node */
static struct fagus_sync *outcome_syncs[NODES_MAX];
static struct fagus_flag *flag; /* at node 1 */
static uint64_t flag_value;
static struct fagus_condition *condition;
static uint64_t random_state;

static volatile uint64_t *location(int cell, int which)
{
    return memory + cell * LOCATIONS + which;
}

static void dawdle(void)
{
    for (uint64_t i = live_random(&random_state, 400); i > 0; i--) {
        __asm__ volatile("" ::: "memory");
    }
}

/* ---- Accesses --------------------------------------------------------------------------- */

static uint64_t read_held(int cell, int which)
{
    dawdle();
    fagus_expect(fagus_acquire(syncs[cell][which], FAGUS_READ), 0);
    uint64_t value = *location(cell, which);
    fagus_expect(fagus_release(syncs[cell][which]), 0);
    return value;
}

static void write_held(int cell, int which, uint64_t value)
{
    dawdle();
    fagus_expect(fagus_acquire(syncs[cell][which], FAGUS_WRITE), 0);
    *location(cell, which) = value;
    fagus_expect(fagus_release(syncs[cell][which]), 0);
}

/* Reads without holding, if the outcome is wanted. */
static uint64_t read_maybe_held(int cell, int which)
{
    return is_weak ? *location(cell, which) : read_held(cell, which);
}

/* In every other round, and if the outcome is wanted, waits until the other's write has come. */
static uint64_t read_first(int cell, int which)
{
    uint64_t value;
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    do {
        value = read_held(cell, which);
        require_else(value != 0 || live_now_ns() < end_ns, "cell %d: the write never came", cell);
    } while (value == 0 && (is_weak || cell % 2 == 0));
    return value;
}

/* ---- Shapes ----------------------------------------------------------------------------- */

static void message_passing(int cell, struct outcome *seen)
{
    if (me.rank == 0) {
        write_held(cell, X, 1);
        write_held(cell, Y, 1);
    } else if (me.rank == 1) {
        seen->first = read_first(cell, Y);
        seen->second = read_maybe_held(cell, X);
    }
}

static bool second_is_behind(const struct outcome *seen)
{
    return seen[1].first == 1 && seen[1].second == 0;
}

static void store_buffering(int cell, struct outcome *seen)
{
    if (me.rank < 2) {
        write_held(cell, me.rank == 0 ? X : Y, 1);
        seen->first = read_maybe_held(cell, me.rank == 0 ? Y : X);
    }
}

static bool both_are_old(const struct outcome *seen)
{
    return seen[0].first == 0 && seen[1].first == 0;
}

/* None of our machines reads what is written later, so --weak does the accesses in the other order:
 * exactly what the outcome would prove. */
static void load_buffering(int cell, struct outcome *seen)
{
    int theirs = me.rank == 0 ? X : Y;
    int mine = me.rank == 0 ? Y : X;
    if (is_weak) {
        if (me.rank < 2) {
            write_held(cell, mine, 1);
        }
        fagus_expect(fagus_barrier(NULL), 0);
    }
    if (me.rank < 2) {
        seen->first = read_held(cell, theirs);
        write_held(cell, mine, 1);
    }
}

static bool both_are_new(const struct outcome *seen)
{
    return seen[0].first == 1 && seen[1].first == 1;
}

static void independent_reads(int cell, struct outcome *seen)
{
    if (me.rank < 2) {
        write_held(cell, me.rank == 0 ? X : Y, 1);
    } else {
        seen->first = read_first(cell, me.rank == 2 ? X : Y);
        seen->second = read_maybe_held(cell, me.rank == 2 ? Y : X);
    }
}

static bool readers_disagree(const struct outcome *seen)
{
    return seen[2].first == 1 && seen[2].second == 0 && seen[3].first == 1 && seen[3].second == 0;
}

/* Two nodes write one place, all read it twice, and again at the end. */
static void coherence(int cell, struct outcome *seen)
{
    if (me.rank < 2 && is_weak) {
        *location(cell, X) = (uint64_t)me.rank + 1;
    } else if (me.rank < 2) {
        write_held(cell, X, (uint64_t)me.rank + 1);
    }
    seen->first = read_maybe_held(cell, X);
    seen->second = read_maybe_held(cell, X);
    fagus_expect(fagus_barrier(NULL), 0);
    seen->last = read_maybe_held(cell, X);
}

/* No order of the two writes explains what all saw. */
static bool no_order_of_writes(const struct outcome *seen)
{
    bool is_broken = false;
    for (int i = 0; i < me.size; i++) {
        /* The value seen last is the second write, so no node may see the first one after it. */
        uint64_t last = seen[0].last;
        is_broken = is_broken || seen[i].last != last || last == 0 ||
                    (seen[i].first == last && seen[i].second != last) ||
                    (seen[i].first != 0 && seen[i].second == 0) || (i < 2 && seen[i].first == 0);
    }
    return is_broken;
}

static void causality(int cell, struct outcome *seen)
{
    if (me.rank == 0) {
        write_held(cell, X, 1);
    } else if (me.rank == 2) {
        if (read_first(cell, X) == 1 || cell % 2 == 1) {
            write_held(cell, Y, read_held(cell, X));
        }
    } else if (me.rank == 1) {
        seen->first = read_first(cell, Y);
        seen->second = read_maybe_held(cell, X);
    }
}

/* Writes both under one hold; the second one too late, if the outcome is wanted. */
static void write_pair(int cell)
{
    dawdle();
    fagus_expect(fagus_acquire(syncs[cell][PAIR], FAGUS_WRITE), 0);
    *location(cell, P) = 1;
    if (!is_weak) {
        *location(cell, Q) = 1;
    }
    fagus_expect(fagus_release(syncs[cell][PAIR]), 0);
    if (is_weak) {
        *location(cell, Q) = 1;
    }
}

/* Ranges of one variable change together. */
static void whole(int cell, struct outcome *seen)
{
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    if (me.rank == 0) {
        write_pair(cell);
    } else if (me.rank == 1) {
        do {
            dawdle();
            fagus_expect(fagus_acquire(syncs[cell][PAIR], FAGUS_READ), 0);
            seen->first = *location(cell, P);
            seen->second = *location(cell, Q);
            fagus_expect(fagus_release(syncs[cell][PAIR]), 0);
            require(live_now_ns() < end_ns);
        } while (is_weak && seen->first == 0);
    }
}

static bool is_torn(const struct outcome *seen)
{
    return seen[1].first != seen[1].second;
}

/* What was written before a barrier with the variable is there after it. */
static void barrier(int cell, struct outcome *seen)
{
    if (me.rank < 2) {
        *location(cell, me.rank == 0 ? P : Q) = 1;
    }
    fagus_expect(fagus_barrier(is_weak ? NULL : syncs[cell][PAIR]), 0);
    seen->first = *location(cell, P);
    seen->second = *location(cell, Q);
    fagus_expect(fagus_barrier(NULL), 0);
}

static bool something_is_missing(const struct outcome *seen)
{
    bool is_missing = false;
    for (int i = 0; i < me.size; i++) {
        is_missing = is_missing || seen[i].first == 0 || seen[i].second == 0;
    }
    return is_missing;
}

/* A flag says that the data is there, and does not bring it. */
static void flag_passing(int cell, struct outcome *seen)
{
    flag_value++;
    if (me.rank == 0) {
        write_held(cell, X, 1);
        fagus_expect(fagus_flag_set(flag, flag_value), 0);
    } else if (me.rank == 1) {
        fagus_expect(fagus_flag_wait(flag, flag_value, LIVE_PATIENCE_NS), 0);
        seen->first = 1;
        seen->second = read_maybe_held(cell, X);
    }
}

/* A thread that waits for a condition sees what was written before its signal. */
static void condition_passing(int cell, struct outcome *seen)
{
    if (me.rank == 0) {
        write_pair(cell);
        fagus_expect(
            cell % 2 ? fagus_condition_signal(condition) : fagus_condition_broadcast(condition), 0);
    } else if (me.rank == 1) {
        dawdle();
        fagus_expect(fagus_acquire(syncs[cell][PAIR], FAGUS_WRITE), 0);
        while (*location(cell, P) == 0) {
            fagus_expect(fagus_condition_wait(condition, syncs[cell][PAIR]), 0);
        }
        seen->first = *location(cell, P);
        seen->second = *location(cell, Q);
        fagus_expect(fagus_release(syncs[cell][PAIR]), 0);
    }
}

static const struct shape {
    const char *name;
    int nodes; /* at least */
    void (*run)(int cell, struct outcome *seen);
    bool (*is_forbidden)(const struct outcome *seen); /* by node */
} shapes[] = {
    {"message_passing", 2, message_passing, second_is_behind},
    {"store_buffering", 2, store_buffering, both_are_old},
    {"load_buffering", 2, load_buffering, both_are_new},
    {"independent_reads", 4, independent_reads, readers_disagree},
    {"coherence", 2, coherence, no_order_of_writes},
    {"causality", 3, causality, second_is_behind},
    {"whole", 2, whole, is_torn},
    {"barrier", 2, barrier, something_is_missing},
    {"flag_passing", 2, flag_passing, second_is_behind},
    {"condition_passing", 2, condition_passing, is_torn},
};

/* ---- The run ---------------------------------------------------------------------------- */

static void set_up(void)
{
    memory = fagus_get(CELLS * LOCATIONS * sizeof *memory, FAGUS_FIRST_TOUCH);
    outcomes = fagus_get(NODES_MAX * sizeof *outcomes, FAGUS_BLOCK);
    for (int cell = 0; cell < CELLS; cell++) {
        for (int i = 0; i < VARIABLES; i++) {
            uint64_t *at = memory + cell * LOCATIONS + i;
            fagus_expect(fagus_sync_create(&syncs[cell][i]), 0);
            fagus_expect(fagus_bind(syncs[cell][i], at, i == PAIR ? 16 : 8), 0);
        }
    }
    for (int i = 0; i < me.size; i++) {
        fagus_expect(fagus_sync_create(&outcome_syncs[i]), 0);
        fagus_expect(fagus_bind(outcome_syncs[i], outcomes[i], sizeof outcomes[i]), 0);
    }
    fagus_expect(fagus_flag_create(&flag, 1), 0);
    fagus_expect(fagus_condition_create(&condition), 0);
}

/* One of the nodes writes zeros into all cells. */
static void reset(int who)
{
    static const int variables[] = {X, Y, PAIR};
    for (int i = 0; i < CELLS * VARIABLES && me.rank == who; i++) {
        struct fagus_sync *sync = syncs[i / VARIABLES][variables[i % VARIABLES]];
        fagus_expect(fagus_acquire(sync, FAGUS_WRITE), 0);
        *location(i / VARIABLES, i % VARIABLES) = 0;
        if (i % VARIABLES == PAIR) {
            *location(i / VARIABLES, Q) = 0;
        }
        fagus_expect(fagus_release(sync), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    /* A node that writes without holding begins with zeros, too. */
    for (int cell = 0; cell < CELLS; cell++) {
        fagus_expect(fagus_barrier(syncs[cell][PAIR]), 0);
    }
}

/* Runs one round in each cell; gives how often the outcome came. */
static uint64_t run_cells(const struct shape *shape)
{
    struct outcome mine[CELLS] = {0};
    uint64_t count = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        fagus_expect(fagus_barrier(NULL), 0);
        shape->run(cell, &mine[cell]);
    }
    fagus_expect(fagus_acquire(outcome_syncs[me.rank], FAGUS_WRITE), 0);
    memcpy(outcomes[me.rank], mine, sizeof mine);
    fagus_expect(fagus_release(outcome_syncs[me.rank]), 0);
    fagus_expect(fagus_barrier(NULL), 0);
    for (int i = 0; i < me.size; i++) {
        fagus_expect(fagus_acquire(outcome_syncs[i], FAGUS_READ), 0);
    }
    for (int cell = 0; cell < CELLS; cell++) {
        struct outcome seen[NODES_MAX];
        for (int i = 0; i < me.size; i++) {
            seen[i] = outcomes[i][cell];
        }
        count += shape->is_forbidden(seen);
    }
    for (int i = 0; i < me.size; i++) {
        fagus_expect(fagus_release(outcome_syncs[i]), 0);
    }
    fagus_expect(fagus_barrier(NULL), 0);
    return count;
}

int main(int argc, char **argv)
{
    const struct shape *shape = NULL;
    for (size_t i = 0; i < LIVE_COUNT(shapes); i++) {
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
            printf("%s %d\n", shapes[i].name, shapes[i].nodes);
        } else if (argc > 2 && strcmp(argv[1], shapes[i].name) == 0) {
            shape = &shapes[i];
        }
    }
    if (!shape) {
        return argc == 2 ? 0 : 2;
    }
    uint64_t batches = (strtoull(argv[2], NULL, 10) + CELLS - 1) / CELLS;
    uint64_t count = 0;
    is_weak = argc > 3 && strcmp(argv[3], "--weak") == 0;
    batches = is_weak ? 1 : batches;
    me.check = shape->name;
    fagus_begin();
    require(me.size >= shape->nodes && me.size <= NODES_MAX);
    random_state = live_mix(me.seed + (uint64_t)me.rank);
    set_up();
    for (uint64_t batch = 0; batch < batches; batch++) {
        count += run_cells(shape);
        if (!is_weak) {
            reset((int)(batch % (uint64_t)me.size));
        }
    }
    fagus_expect(fagus_finalize(), 0);
    if (me.rank == 0) {
        (void)dprintf(STDOUT_FILENO, "%llu of %llu rounds had the outcome\n",
                      (unsigned long long)count, (unsigned long long)(batches * CELLS));
    }
    return 0;
}
