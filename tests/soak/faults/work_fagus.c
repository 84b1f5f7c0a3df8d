/* The work of the fault run on fagus.h: nodes read and write what synchronisation variables guard,
 * meet at barriers until somebody dies, and then go on with the variables that are left. Run with
 * --keep-going.
 *
 * Variable v is managed by node v. Its object holds a sequence number and words that follow from
 * it; a version changes one word in GROUPS, so that differences travel. Whoever has acquired a
 * variable without an error finds a whole version, not older than any that it has seen or released
 * itself. A wrong result, and an error that no death explains, is "FAIL ..." and status 1. */
#define _GNU_SOURCE
#include "board.h"
#include "live/fagus/fagus_live.h"

enum { VARIABLES = 3, GROUPS = 16 };

static struct fagus_sync *syncs[VARIABLES];
static struct fagus_flag *flags[BOARD_NODES_MAX]; /* one at each node, set at its end */
static uint64_t *objects[VARIABLES];
static size_t words[VARIABLES];
static uint64_t seen[VARIABLES]; /* the latest version that this node has had */
static bool is_cut_off[VARIABLES];
static bool is_broken; /* a node is gone: no more barriers */
static uint64_t random_state;

/* The driver dooms before it kills. A network that was cut makes anybody dead. */
static bool somebody_may_be_dead(void)
{
    bool may = atomic_load(&board->silence) != 0;
    for (int rank = 0; rank < me.size; rank++) {
        may = may || atomic_load(&board->doomed[rank]) != 0;
    }
    return may;
}

/* A call said that a node is dead; it does not say which. */
static void note_deaths(void)
{
    for (int rank = 0; rank < me.size; rank++) {
        if (rank != me.rank && atomic_load(&board->doomed[rank])) {
            board_note_death(rank);
        }
    }
}

/* False: it needs a node that is gone. */
static bool succeeded(const char *call, int result)
{
    if (result == FAGUS_EPEER) {
        note_deaths();
        require_else(somebody_may_be_dead(), "%s gave FAGUS_EPEER, but all are there", call);
        return false;
    }
    require_else(result == 0, "%s gave \"%s\"", call, fagus_strerror(result));
    return true;
}

/* ---- Versions ---------------------------------------------------------------------------- */

static uint64_t word_at(int variable, uint64_t index, uint64_t sequence)
{
    uint64_t behind = (sequence + GROUPS - index % GROUPS) % GROUPS;
    if (index == 0 || behind >= sequence) {
        return index == 0 ? sequence : 0;
    }
    return live_mix(live_mix(index * 8 + (uint64_t)variable) + sequence - behind);
}

static void require_whole(int variable, const char *result)
{
    uint64_t sequence = objects[variable][0];
    for (size_t index = 1; index < words[variable]; index++) {
        require_else(objects[variable][index] == word_at(variable, index, sequence),
                     "variable %d: version %llu is torn at word %zu after \"%s\"", variable,
                     (unsigned long long)sequence, index, result);
    }
    require_else(sequence >= seen[variable], "variable %d: version %llu after %llu", variable,
                 (unsigned long long)sequence, (unsigned long long)seen[variable]);
    seen[variable] = sequence;
}

static void write_version(int variable, uint64_t sequence, bool is_all)
{
    for (size_t index = 0; index < words[variable]; index++) {
        if (is_all || index == 0 || index % GROUPS == sequence % GROUPS) {
            objects[variable][index] = word_at(variable, index, sequence);
        }
    }
}

/* ---- Steps ------------------------------------------------------------------------------- */

/* Acquires; gives whether it is held, and whether its content counts. */
static bool take(int variable, enum fagus_mode mode, bool *is_sound)
{
    const char *call = mode == FAGUS_READ ? "fagus_acquire to read" : "fagus_acquire to write";
    int result = ON_BOARD(call, fagus_acquire(syncs[variable], mode));
    bool died = result == FAGUS_EOWNERDEAD || result == FAGUS_ELOST;
    if (died) {
        note_deaths();
        require_else(somebody_may_be_dead(), "%s gave \"%s\", but all are there", call,
                     fagus_strerror(result));
    }
    if (!succeeded(call, died ? 0 : result)) {
        is_cut_off[variable] = true;
        return false;
    }
    *is_sound = result == 0 || (result == FAGUS_EOWNERDEAD && !fagus_nodes_share());
    if (*is_sound) {
        require_whole(variable, fagus_strerror(result));
    }
    return true;
}

static void step(int variable)
{
    enum fagus_mode mode = live_random(&random_state, 3) ? FAGUS_WRITE : FAGUS_READ;
    bool is_sound;
    if (is_cut_off[variable] || !take(variable, mode, &is_sound)) {
        live_sleep_ns(LIVE_MS);
        return;
    }
    if (mode == FAGUS_WRITE) {
        /* What is lost is written anew, later than anything that anybody can have seen. */
        uint64_t sequence = is_sound ? objects[variable][0] + 1 : live_now_ns();
        write_version(variable, sequence, !is_sound);
        seen[variable] = sequence;
    }
    if (!succeeded("fagus_release", ON_BOARD("fagus_release", fagus_release(syncs[variable])))) {
        is_cut_off[variable] = true;
    }
}

/* All come to the same barrier, with data or without; gives whether all wish to end. */
static bool meet(uint64_t round)
{
    /* Rank 0 speaks for all: whether the others have seen the end does not matter. */
    uint64_t wish = board_finish_is_wanted();
    struct fagus_sync *with = round % 4 == 0 ? syncs[round / 4 % VARIABLES] : NULL;
    /* Nobody may acquire a variable while it is in a barrier. */
    is_broken = !succeeded("fagus_barrier", ON_BOARD("fagus_barrier", fagus_barrier(NULL))) ||
                !succeeded("fagus_barrier", ON_BOARD("fagus_barrier", fagus_barrier(with))) ||
                !succeeded("fagus_distribute",
                           ON_BOARD("fagus_distribute", fagus_distribute(&wish, sizeof wish)));
    return is_broken ? false : wish != 0;
}

/* Learns of deaths without doing anything. */
static void *watch(void *unused)
{
    (void)unused;
    int result;
    while ((result = fagus_flag_wait(flags[me.rank], 1, FAGUS_FOREVER)) == FAGUS_EPEER) {
        (void)succeeded("fagus_flag_wait", result);
    }
    return NULL;
}

static void work(void)
{
    for (uint64_t round = 1; !(is_broken && board_finish_is_wanted()); round++) {
        for (int i = 0; i < 10; i++) {
            step((int)live_random(&random_state, VARIABLES));
        }
        board_step(10);
        if (!is_broken && meet(round)) {
            return;
        }
    }
}

/* ---- The run ----------------------------------------------------------------------------- */

static void start(void)
{
    const char *rank = getenv("DIMMNET_RANK");
    me.check = "soak";
    me.rank = rank ? atoi(rank) : 0;
    require(me.rank >= 0 && me.rank < BOARD_NODES_MAX);
    board_open();
    atomic_store(&board_slot()->pid, (uint64_t)getpid());
    ON_BOARD_VOID("fagus_init", fagus_begin());
    require(me.size <= BOARD_NODES_MAX);
    random_state = live_mix(me.seed + (uint64_t)me.rank * 977);
}

/* Collective calls, which a death ends. */
static bool set_up(void)
{
    static const size_t bytes[VARIABLES] = {64, 3000, 20000};
    void *memory;
    for (int i = 0; i < VARIABLES; i++) {
        words[i] = bytes[((uint64_t)i + me.seed) % VARIABLES] / 8;
        if (!succeeded("fagus_alloc",
                       ON_BOARD("fagus_alloc", fagus_alloc(words[i] * 8, i % me.size, &memory))) ||
            !succeeded("fagus_sync_create",
                       ON_BOARD("fagus_sync_create", fagus_sync_create(&syncs[i]))) ||
            !succeeded("fagus_bind",
                       ON_BOARD("fagus_bind", fagus_bind(syncs[i], memory, words[i] * 8)))) {
            return false;
        }
        objects[i] = memory;
    }
    bool all = true;
    for (int i = 0; i < me.size && all; i++) {
        all = succeeded("fagus_flag_create",
                        ON_BOARD("fagus_flag_create", fagus_flag_create(&flags[i], i)));
    }
    return all;
}

int main(void)
{
    pthread_t watcher;
    start();
    if (set_up()) {
        board_step(0);
        live_thread_start(&watcher, watch, NULL);
        work();
        fagus_expect(ON_BOARD("fagus_flag_set", fagus_flag_set(flags[me.rank], 1)), 0);
        ON_BOARD_VOID("the watcher's end", live_thread_join(watcher));
    }
    int result = ON_BOARD("fagus_finalize", fagus_finalize());
    (void)succeeded("fagus_finalize", result);
    board_ended();
    return 0;
}
