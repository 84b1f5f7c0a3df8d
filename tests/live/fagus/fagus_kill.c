/* A node is killed at a chosen or random moment while all nodes read and write under variables.
 *
 *     fagus_kill FILE MOMENT VICTIM SHIFT
 *
 * Variable v is managed by node v. Its object holds a sequence number and words that follow from
 * it; a version changes one word in GROUPS, so that differences travel. In FILE, which Fagus does
 * not know, the nodes note what they do: which sequence was surely released, which may have been,
 * who holds for writing, who has had what. So a survivor knows what it must find:
 *
 *   - what is held is whole, and not older than what was surely released: by packets that is what
 *     the living have released and what anybody has found, for the release of a node that died may
 *     not have left it;
 *   - a node that holds it after a writer who died is told so;
 *   - FAGUS_ELOST comes only where no living node has had the last version;
 *   - FAGUS_EPEER comes only by packets, where the manager is dead;
 *   - barriers say FAGUS_EPEER, and nobody waits for ever. */
#include "fagus_live.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
    VARIABLES = 3,
    NODES_MAX = 8,
    GROUPS = 16,
    STEPS_BEFORE = 30,
    STEPS_AFTER = 40,
    SHORT_RANGES = 12, /* more than a record has room for */
};

struct noted {
    _Atomic uint64_t about;           /* a release of it was begun */
    _Atomic uint64_t done[NODES_MAX]; /* this node's release of it has returned */
    _Atomic uint64_t found;           /* by a node that acquired it */
    _Atomic uint64_t writer;          /* rank + 1 of the node that surely holds it for writing */
    _Atomic uint64_t had[NODES_MAX];
};

static struct notes {
    struct noted noted[VARIABLES];
    _Atomic uint64_t dead[NODES_MAX]; /* or about to die */
    _Atomic uint64_t is_held;         /* the victim waits for this */
    _Atomic uint64_t ended;           /* survivors that have done everything */
} * notes;

static struct fagus_sync *syncs[VARIABLES];
static struct fagus_flag *flag; /* nobody sets it */
static struct fagus_condition *condition;
static uint64_t *objects[VARIABLES];
static size_t words[VARIABLES];
static bool is_cut_off[VARIABLES]; /* FAGUS_EPEER: its manager is gone */
static int long_list = -1;         /* the variable with more ranges than its manager has room for */
static uint64_t random_state;
static int victim;
static int second_victim = -1;
static int lost_variable = -1; /* lost, as this node's last acquire found */
static uint64_t lost_count;
static uint64_t told_count;

static bool is_victim(int rank)
{
    return rank == victim || rank == second_victim;
}

static bool is_dead(int rank)
{
    return atomic_load(&notes->dead[rank]) != 0;
}

__attribute__((noreturn)) static void die(void)
{
    atomic_store(&notes->dead[me.rank], 1);
    (void)kill(getpid(), SIGKILL);
    for (;;) {
        (void)pause();
    }
}

static void *die_later(void *argument)
{
    live_sleep_ns((uintptr_t)argument);
    die();
}

static void die_after(uint64_t ns)
{
    pthread_t thread;
    live_thread_start(&thread, die_later, (void *)(uintptr_t)ns);
}

/* ---- Versions --------------------------------------------------------------------------- */

static uint64_t word_at(int variable, uint64_t index, uint64_t sequence)
{
    uint64_t behind = (sequence + GROUPS - index % GROUPS) % GROUPS;
    if (index == 0 || behind >= sequence) {
        return index == 0 ? sequence : 0;
    }
    return live_mix(live_mix(index * 8 + (uint64_t)variable) + sequence - behind);
}

static bool is_whole(int variable)
{
    uint64_t sequence = objects[variable][0];
    size_t index = 1;
    while (index < words[variable] &&
           objects[variable][index] == word_at(variable, index, sequence)) {
        index++;
    }
    return index == words[variable];
}

/* Writes the next version of what is there, or all words of one. */
static void write_version(int variable, uint64_t sequence, bool is_all)
{
    for (size_t index = 0; index < words[variable]; index++) {
        if (is_all || index == 0 || index % GROUPS == sequence % GROUPS) {
            objects[variable][index] = word_at(variable, index, sequence);
        }
    }
}

static void raise_to(_Atomic uint64_t *number, uint64_t value)
{
    uint64_t old = atomic_load(number);
    while (old < value && !atomic_compare_exchange_weak(number, &old, value)) {
    }
}

/* ---- What a result must mean ------------------------------------------------------------ */

/* What was noted of a variable before it was acquired. */
struct before {
    uint64_t found;
    uint64_t done[NODES_MAX];
};

static struct before look_before(int variable)
{
    struct before before = {.found = atomic_load(&notes->noted[variable].found)};
    for (int rank = 0; rank < me.size; rank++) {
        before.done[rank] = atomic_load(&notes->noted[variable].done[rank]);
    }
    return before;
}

/* As known after an acquire: the dead are noted before they die. */
static uint64_t surely_released(const struct before *before)
{
    uint64_t sequence = before->found;
    for (int rank = 0; rank < me.size; rank++) {
        if (before->done[rank] > sequence && !(live_shares_nothing() && is_dead(rank))) {
            sequence = before->done[rank];
        }
    }
    return sequence;
}

static bool is_small(int variable)
{
    return words[variable] * 8 <= 448;
}

/* Where memory cannot be looked at directly it can no longer be reached. */
static bool memory_dies_with_its_node(void)
{
    return live_shares_nothing() || live_is_relaxed();
}

/* The last version may be any that a dead node began to release. */
static void check_lost(int variable)
{
    if (variable == long_list && memory_dies_with_its_node()) {
        return; /* perhaps only the dead one knew the ranges */
    }
    uint64_t last = atomic_load(&notes->noted[variable].about);
    require_else(fagus_nodes_share() || !is_small(variable),
                 "variable %d is lost, but its manager has it", variable);
    for (int rank = 0; rank < me.size && !fagus_nodes_share(); rank++) {
        uint64_t had = atomic_load(&notes->noted[variable].had[rank]);
        require_else(is_dead(rank) || had < last || last == 0,
                     "variable %d is lost, but node %d has %llu, the last one", variable, rank,
                     (unsigned long long)had);
    }
}

/* After an acquire; gives whether the content counts. */
static bool check_held(int variable, enum fagus_mode mode, int result, const struct before *before)
{
    struct noted *noted = &notes->noted[variable];
    uint64_t writer = atomic_load(&noted->writer);
    require_else(result == 0 || result == FAGUS_EOWNERDEAD || result == FAGUS_ELOST,
                 "acquire of variable %d gave \"%s\"", variable, fagus_strerror(result));
    require_else(writer == 0 || is_dead((int)writer - 1), "node %d has variable %d as well",
                 (int)writer - 1, variable);
    /* One of the readers who come together is told. */
    require_else(writer == 0 || result != 0 || mode == FAGUS_READ,
                 "nobody said that node %d died with variable %d", (int)writer - 1, variable);
    if (result != 0) {
        atomic_store(&noted->writer, 0);
    }
    told_count += result == FAGUS_EOWNERDEAD;
    lost_count += result == FAGUS_ELOST;
    if (result == FAGUS_ELOST) {
        check_lost(variable);
        return false;
    }
    if (result == FAGUS_EOWNERDEAD && fagus_nodes_share()) {
        return false; /* it may be half changed */
    }
    uint64_t found = objects[variable][0];
    uint64_t done = surely_released(before);
    require_else(is_whole(variable), "variable %d: version %llu is torn after \"%s\"", variable,
                 (unsigned long long)found, fagus_strerror(result));
    require_else(found >= done && found <= atomic_load(&noted->about),
                 "variable %d: version %llu after \"%s\", but %llu was released, begun %llu",
                 variable, (unsigned long long)found, fagus_strerror(result),
                 (unsigned long long)done, (unsigned long long)atomic_load(&noted->about));
    atomic_store(&noted->had[me.rank], found);
    raise_to(&noted->found, found);
    return true;
}

/* False: the variable is cut off, and rightly. */
static bool may_go_on(const char *call, int variable, int result)
{
    if (result != FAGUS_EPEER) {
        return true;
    }
    /* Only the node that bound a long list of ranges, and those that have learnt it, have it. */
    require_else(memory_dies_with_its_node() && (is_dead(variable) || variable == long_list),
                 "%s of variable %d gave FAGUS_EPEER, but its manager lives", call, variable);
    is_cut_off[variable] = true;
    return false;
}

static void release_version(int variable, uint64_t sequence)
{
    struct noted *noted = &notes->noted[variable];
    raise_to(&noted->about, sequence);
    atomic_store(&noted->writer, 0);
    int result = fagus_release(syncs[variable]);
    if (may_go_on("release", variable, result)) {
        fagus_expect(result, 0);
        raise_to(&noted->done[me.rank], sequence);
        raise_to(&noted->had[me.rank], sequence);
    }
}

/* Acquires in some way; gives whether it is held. */
static bool take(int variable, enum fagus_mode mode, bool *is_sound)
{
    struct before before = look_before(variable);
    int result = fagus_acquire_timed(syncs[variable], mode, LIVE_PATIENCE_NS);
    if (!may_go_on(mode == FAGUS_READ ? "read acquire" : "write acquire", variable, result)) {
        return false;
    }
    *is_sound = check_held(variable, mode, result, &before);
    lost_variable = result == FAGUS_ELOST ? variable : -1;
    return true;
}

/* Another thread that reads together with the one that was told. */
static void *read_lost(void *argument)
{
    (void)argument;
    /* A writer may wait for the first reader, and nobody overtakes a writer. */
    int result = fagus_acquire_timed(syncs[lost_variable], FAGUS_READ, 5 * LIVE_MS);
    bool is_cut = result == FAGUS_EPEER && memory_dies_with_its_node() && is_dead(lost_variable);
    if (result != FAGUS_ETIMEOUT && !is_cut) {
        require_else(result == FAGUS_ELOST, "one reader found variable %d lost, the other: \"%s\"",
                     lost_variable, fagus_strerror(result));
        fagus_expect(fagus_release(syncs[lost_variable]), 0);
    }
    return NULL;
}

static void step(int variable)
{
    struct noted *noted = &notes->noted[variable];
    enum fagus_mode mode = live_random(&random_state, 3) ? FAGUS_WRITE : FAGUS_READ;
    bool is_sound;
    if (is_cut_off[variable] || !take(variable, mode, &is_sound)) {
        return;
    }
    if (mode == FAGUS_READ) {
        if (!is_sound && lost_variable == variable) {
            pthread_t thread;
            live_thread_start(&thread, read_lost, NULL);
            live_thread_join(thread);
        }
        int result = fagus_release(syncs[variable]);
        require(!may_go_on("read release", variable, result) || result == 0);
        return;
    }
    atomic_store(&noted->writer, (uint64_t)me.rank + 1);
    if (!is_sound && variable == long_list) {
        struct fagus_range whole = {objects[variable], words[variable] * sizeof(uint64_t)};
        fagus_expect(fagus_rebind(syncs[variable], &whole, 1), 0);
    }
    uint64_t sequence = (is_sound ? objects[variable][0] : atomic_load(&noted->about)) + 1;
    write_version(variable, sequence, !is_sound);
    if (live_random(&random_state, 6) == 0) {
        live_sleep_ns(live_random(&random_state, 200 * LIVE_US));
    }
    release_version(variable, sequence);
}

static void make_steps(int count)
{
    for (int i = 0; i < count; i++) {
        step((int)live_random(&random_state, VARIABLES));
    }
}

/* ---- Moments ---------------------------------------------------------------------------- */

static void take_to_write(int variable)
{
    bool is_sound;
    require(take(variable, FAGUS_WRITE, &is_sound));
    atomic_store(&notes->noted[variable].writer, (uint64_t)me.rank + 1);
}

/* What the victim may do last; each gets a variable, its own or another's. */
static void holding_to_write(int variable)
{
    take_to_write(variable);
    for (size_t index = 0; index < words[variable]; index += 2) {
        objects[variable][index] ^= UINT64_C(0x5555555555555555);
    }
    die();
}

static void holding_to_read(int variable)
{
    bool is_sound;
    require(take(variable, FAGUS_READ, &is_sound));
    live_sleep_ns(5 * LIVE_MS);
    die();
}

/* Another node holds it for long; see hold_for_long. */
static void waiting(int variable, enum fagus_mode mode)
{
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (atomic_load(&notes->is_held) == 0) {
        require(live_now_ns() < end_ns);
        live_sleep_ns(100 * LIVE_US);
    }
    die_after(10 * LIVE_MS);
    (void)fagus_acquire(syncs[variable], mode);
    die();
}

static void waiting_to_write(int variable)
{
    waiting(variable, FAGUS_WRITE);
}

static void waiting_to_read(int variable)
{
    waiting(variable, FAGUS_READ);
}

static void in_a_barrier(int variable)
{
    (void)variable;
    die_after(5 * LIVE_MS);
    (void)fagus_barrier(NULL);
    die();
}

static void in_a_barrier_with_data(int variable)
{
    die_after(5 * LIVE_MS);
    (void)fagus_barrier(syncs[variable]);
    die();
}

/* The victim has the newest version, alone unless others are very fast. */
static void just_after_release(int variable)
{
    take_to_write(variable);
    uint64_t sequence = objects[variable][0] + 1;
    write_version(variable, sequence, false);
    release_version(variable, sequence);
    die();
}

/* A new binding was begun: the object's second half is no longer bound. */
static void binding_anew(int variable)
{
    take_to_write(variable);
    objects[variable][1] ^= 1;
    struct fagus_range half = {objects[variable], words[variable] / 2 * 8};
    fagus_expect(fagus_rebind(syncs[variable], &half, 1), 0);
    die();
}

/* Binds the first words of the object, as `count` ranges. */
static void bind_in_pieces(int variable, size_t bound, size_t count)
{
    struct fagus_range ranges[SHORT_RANGES + 1];
    count = count < bound ? count : bound;
    size_t piece = bound / count;
    for (size_t i = 0; i < count; i++) {
        ranges[i] = (struct fagus_range){objects[variable] + i * piece, 8 * piece};
    }
    ranges[count - 1].bytes = 8 * (bound - (count - 1) * piece);
    fagus_expect(fagus_rebind(syncs[variable], ranges, count), 0);
}

/* The same with lists for which the record has no room: the released one, and two begun ones. */
static void binding_many_anew(int variable)
{
    for (int i = 0; i < 3; i++) {
        take_to_write(variable);
        uint64_t sequence = objects[variable][0] + 1;
        bind_in_pieces(variable, words[variable], SHORT_RANGES);
        write_version(variable, sequence, false);
        release_version(variable, sequence);
    }
    take_to_write(variable);
    bind_in_pieces(variable, words[variable], SHORT_RANGES + 1);
    bind_in_pieces(variable, words[variable] / 2, SHORT_RANGES);
    objects[variable][0] = 3;
    die();
}

static void in_a_condition(int variable)
{
    take_to_write(variable);
    die_after(5 * LIVE_MS);
    atomic_store(&notes->noted[variable].writer, 0);
    raise_to(&notes->noted[variable].about, objects[variable][0]);
    (void)fagus_condition_wait(condition, syncs[variable]);
    die();
}

/* Wherever the victim is then. */
static void at_any_time(int variable)
{
    (void)variable;
    die_after(live_random(&random_state, 40 * LIVE_MS));
    for (;;) {
        make_steps(1);
    }
}

static const struct moment {
    const char *name;
    void (*run)(int variable);
} moments[] = {
    {"holding_to_write", holding_to_write},
    {"holding_to_read", holding_to_read},
    {"waiting_to_write", waiting_to_write},
    {"waiting_to_read", waiting_to_read},
    {"in_a_barrier", in_a_barrier},
    {"in_a_barrier_with_data", in_a_barrier_with_data},
    {"just_after_release", just_after_release},
    {"binding_anew", binding_anew},
    {"binding_many_anew", binding_many_anew},
    {"in_a_condition", in_a_condition},
    {"at_any_time", at_any_time},
    {"two_at_any_time", at_any_time},
};

/* ---- The run ---------------------------------------------------------------------------- */

static void open_notes(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT, 0600);
    require(file >= 0 && ftruncate(file, sizeof *notes) == 0);
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(notes != MAP_FAILED);
    (void)close(file);
}

static void set_up(unsigned shift)
{
    static const size_t bytes[VARIABLES] = {64, 3000, 20000};
    for (int i = 0; i < VARIABLES; i++) {
        words[i] = bytes[((unsigned)i + shift) % VARIABLES] / 8;
        objects[i] = fagus_get(words[i] * 8, i);
        fagus_expect(fagus_sync_create(&syncs[i]), 0);
        fagus_expect(fagus_bind(syncs[i], objects[i], words[i] * 8), 0);
    }
    fagus_expect(fagus_flag_create(&flag, 0), 0);
    fagus_expect(fagus_condition_create(&condition), 0);
}

static bool all_victims_are_dead(void)
{
    return is_dead(victim) && (second_victim < 0 || is_dead(second_victim));
}

/* Holds it while the victim waits for it. */
static void hold_for_long(int variable)
{
    take_to_write(variable);
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    atomic_store(&notes->is_held, 1);
    while (!all_victims_are_dead()) {
        require(live_now_ns() < end_ns);
        live_sleep_ns(LIVE_MS);
    }
    live_sleep_ns(2 * LIVE_MS);
    uint64_t sequence = objects[variable][0] + 1;
    write_version(variable, sequence, false);
    release_version(variable, sequence);
}

/* What a node does that outlives the others. The library learns of a death some time after it. */
static void survive(const struct moment *moment, int variable)
{
    uint64_t end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    bool is_at_barrier = strncmp(moment->name, "in_a_barrier", 12) == 0;
    if (strncmp(moment->name, "waiting", 7) == 0 && me.rank == (victim + 1) % me.size) {
        hold_for_long(variable);
    }
    while (!all_victims_are_dead()) {
        require(live_now_ns() < end_ns);
        if (is_at_barrier) {
            live_sleep_ns(LIVE_MS);
        } else {
            make_steps(1);
        }
    }
    make_steps(STEPS_AFTER);
    /* A node that died in a barrier had come to it. */
    int result = fagus_barrier(strcmp(moment->name, "in_a_barrier") == 0 ? NULL : syncs[variable]);
    require_else(result == FAGUS_EPEER || (is_at_barrier && result == 0),
                 "a barrier without all gave \"%s\"", fagus_strerror(result));
    make_steps(STEPS_AFTER);
    fagus_expect(fagus_barrier(NULL), FAGUS_EPEER);
    fagus_expect(fagus_flag_wait(flag, 1, LIVE_PATIENCE_NS), FAGUS_EPEER);
    for (int i = 0; i < VARIABLES; i++) {
        step(i);
    }
    /* A node that leaves takes its copies and records along. */
    uint64_t survivors = (uint64_t)me.size - (second_victim < 0 ? 1 : 2);
    atomic_fetch_add(&notes->ended, 1);
    end_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (atomic_load(&notes->ended) < survivors && live_now_ns() < end_ns) {
        live_sleep_ns(LIVE_MS);
    }
    result = fagus_finalize();
    require_else(result == 0 || result == FAGUS_EPEER, "fagus_finalize gave \"%s\"",
                 fagus_strerror(result));
    (void)dprintf(STDOUT_FILENO, "ok survivor, %llu told, %llu lost\n",
                  (unsigned long long)told_count, (unsigned long long)lost_count);
}

int main(int argc, char **argv)
{
    const struct moment *moment = NULL;
    for (size_t i = 0; i < LIVE_COUNT(moments); i++) {
        if (argc == 2 && strcmp(argv[1], "--list") == 0) {
            puts(moments[i].name);
        } else if (argc == 5 && strcmp(argv[2], moments[i].name) == 0) {
            moment = &moments[i];
        }
    }
    if (!moment) {
        return argc == 2 ? 0 : 2;
    }
    me.check = moment->name;
    open_notes(argv[1]);
    fagus_begin();
    require(me.size >= VARIABLES && me.size <= NODES_MAX);
    victim = atoi(argv[3]);
    if (strcmp(moment->name, "two_at_any_time") == 0) {
        second_victim = (victim + 2) % me.size;
    }
    unsigned shift = (unsigned)atoi(argv[4]);
    random_state = live_mix(me.seed + (uint64_t)me.rank * 977);
    set_up(shift);
    fagus_expect(fagus_barrier(NULL), 0);
    make_steps(STEPS_BEFORE);
    fagus_expect(fagus_barrier(NULL), 0);
    int variable = (int)((me.seed / 3) % VARIABLES);
    if (strcmp(moment->name, "binding_many_anew") == 0 && words[variable] > SHORT_RANGES) {
        long_list = variable;
    }
    if (is_victim(me.rank)) {
        moment->run(variable);
    }
    survive(moment, variable);
    return 0;
}
