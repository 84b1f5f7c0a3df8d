/* Nodes that die by SIGKILL at random moments, in random calls, while the others are in
 * every kind of call that blocks. Run with --keep-going.
 *
 *     faults cascade KILLS   one or two nodes at a time die, until KILLS have; the others
 *                            hear of each, accept it and go on without it
 *     faults anytime         one node is killed anywhere from before it attaches to after
 *                            it has left
 *
 * Everything random follows from the seed, and all nodes know which will die. A survivor
 * says "survived", and for each death "epeer_us T": how many microseconds after it its call
 * returned DN_EPEER. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>

#include "live/live.h"

/* Places in LLCM. */
enum {
    NEVER_AT = 0,     /* never written */
    DEATHS_AT = 1024, /* when each rank died: a word each */
    COME_AT = 2048,   /* how many have come to a meeting, at its host */
    GO_AT = 2112,     /* the last meeting that is over */
    RING_AT = 2176,
    COUNT_AT = 2240,   /* what the host counted */
    STREAM_AT = 8192,  /* slots, flag and acknowledgement of a stream */
    SCRATCH_AT = 65536 /* any node writes anything */
};

enum { NODES_MAX = 64 };

static bool is_dead[NODES_MAX];   /* as all nodes know from the seed */
static bool is_doomed[NODES_MAX]; /* dies in this round */
static bool is_accepted[NODES_MAX];
static uint64_t meetings;
static struct dn_kick kicks[NODES_MAX]; /* mapped while all nodes lived */

/* ---- Without barriers -------------------------------------------------------- */

static int living_after(int rank)
{
    do {
        rank = (rank + 1) % me.size;
    } while (is_dead[rank]);
    return rank;
}

static int living_count(void)
{
    int count = 0;
    for (int rank = 0; rank < me.size; rank++) {
        count += !is_dead[rank];
    }
    return count;
}

static void wait_for_ever(uint64_t offset, enum dn_comparison comparison, uint64_t value)
{
    expect(dn_wait_until_u64(me.node, live_u64(offset), comparison, value, DN_FOREVER), 0);
}

/* All living nodes meet at the lowest of them. A barrier of all is no longer possible. */
static void meet(void)
{
    int host = living_after(me.size - 1);
    uint64_t count = (uint64_t)living_count();
    uint64_t old;
    meetings++;
    expect(dn_fetch_add_u64(me.node, live_place(host, COME_AT), 1, &old), 0);
    if (me.rank == host) {
        wait_for_ever(COME_AT, DN_EQ, count);
        *live_u64(COME_AT) = 0;
        for (int rank = 0; rank < me.size; rank++) {
            if (!is_dead[rank]) {
                expect(dn_set_u64(me.node, live_place(rank, GO_AT), meetings), 0);
            }
        }
        /* What a node has sent and not completed may die with it. */
        expect(dn_quiet(me.node), 0);
    }
    /* The node that went first may be dead by now, which is handled later. */
    uint64_t deadline_ns = live_now_ns() + LIVE_PATIENCE_NS;
    while (dn_wait_until_u64(me.node, live_u64(GO_AT), DN_GE, meetings, DN_FOREVER) == DN_EPEER) {
        require(live_now_ns() < deadline_ns);
        live_sleep_ns(20 * LIVE_US);
    }
}

/* Each living node sends something to the next one, with waits without end. */
static void exchange(uint64_t number)
{
    uint64_t value = live_mix(number);
    int to = living_after(me.rank);
    expect(dn_put_signal(me.node, live_place(to, RING_AT + 8), &value, 8, live_place(to, RING_AT),
                         number),
           0);
    wait_for_ever(RING_AT, DN_EQ, number);
    require(*live_u64(RING_AT + 8) == value);
}

/* ---- Dying ------------------------------------------------------------------- */

/* A thread of a node that dies: tells all nodes the time, and then nothing any more. */
static void *die_after(void *argument)
{
    struct dn_node *lane;
    expect(dn_lane_open(me.node, &lane), 0);
    live_sleep_ns(*(const uint64_t *)argument);
    for (int rank = 0; rank < me.size; rank++) {
        if (!is_dead[rank]) {
            struct dn_remote place = live_place(rank, DEATHS_AT + 8 * (uint64_t)me.rank);
            (void)dn_set_u64(lane, place, live_now_ns());
        }
    }
    (void)dn_quiet(lane);
    (void)kill(getpid(), SIGKILL);
    return NULL;
}

/* What the dying nodes do: anything that touches others. */
static void be_busy_for_ever(uint64_t *random)
{
    unsigned char block[512] = {0};
    for (;;) {
        int to = (int)live_random(random, (uint64_t)me.size);
        struct dn_remote place = live_place(to, SCRATCH_AT + 512 * (uint64_t)me.rank);
        uint64_t old;
        uint32_t area;
        switch (live_random(random, 8)) {
        case 0: (void)dn_botf(me.node, place, block, sizeof block); break;
        case 1: (void)dn_push(me.node, place, block, sizeof block, NULL); break;
        case 2: (void)dn_put_signal(me.node, place, block, 256, place, 1); break;
        case 3: (void)dn_fetch_add_u64(me.node, place, 1, &old); break;
        case 4: (void)dn_quiet(me.node); break;
        case 5:
            if (dn_register(me.node, me.llcm, 64, &area) == 0) {
                (void)dn_deregister(me.node, area);
            }
            break;
        case 6:
            (void)dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, 100 * LIVE_US);
            break;
        default: (void)dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, 5 * LIVE_MS); break;
        }
    }
}

/* ---- Calls that block -------------------------------------------------------- */

enum blocking {
    WAIT_U64,
    WAIT_U32,
    WAIT_ANY,
    SHORT_WAITS,
    TRANSFERS,
    ATOMICS,
    IN_BARRIER, /* these and the next only before the first death: after it they end at once */
    SHORT_BARRIERS,
    IN_ALLOC,
    BLOCKING_KINDS,
};

static int some_doomed(void)
{
    for (int rank = 0; rank < me.size; rank++) {
        if (is_doomed[rank] && !is_accepted[rank]) {
            return rank;
        }
    }
    return me.rank;
}

/* Each thread writes to a place of its own at the target. */
static _Thread_local uint64_t thread_number;

static struct dn_remote scratch_of_thread(int rank)
{
    return live_place(rank, SCRATCH_AT + 512 * (uint64_t)me.rank + 128 * thread_number);
}

/* Repeats transfers to a node that will die, and waits for each. */
static int transfer_until_error(int to)
{
    unsigned char block[64] = {0};
    for (uint64_t i = 0;; i++) {
        struct dn_remote place = scratch_of_thread(to);
        struct dn_op op;
        int error;
        switch (i % 4) {
        case 0: error = dn_push(me.node, place, block, sizeof block, &op); break;
        case 1: error = dn_pull(me.node, place, block, sizeof block, &op); break;
        case 2: error = dn_botf(me.node, place, block, sizeof block); break;
        default: error = dn_put_signal(me.node, place, block, 32, place, 1); break;
        }
        if (error) {
            return error;
        }
        if (i % 4 < 2) {
            /* By packets it may have begun before the death. */
            error = dn_op_wait(&op, DN_FOREVER);
            if (error && live_shares_nothing()) {
                return error;
            }
            expect(error, 0);
        }
    }
}

static int atomics_until_error(int to)
{
    for (;;) {
        struct dn_remote place = scratch_of_thread(to);
        uint64_t old;
        int error = dn_fetch_add_u64(me.node, place, 1, &old);
        error = error ? error : dn_add_u64(me.node, place, 1);
        error = error ? error : dn_read_u64(me.node, place, &old);
        if (error) {
            return error;
        }
        live_sleep_ns(10 * LIVE_US);
    }
}

/* Blocks until the call ends by itself; only a death can end it. */
static int block(enum blocking kind)
{
    const uint64_t *word = live_u64(NEVER_AT);
    const struct dn_condition conditions[] = {{word, 8, DN_NE, 0}, {word + 1, 4, DN_EQ, 1}};
    size_t index;
    void *pointer;
    int error;
    switch (kind) {
    case WAIT_U64: return dn_wait_until_u64(me.node, word, DN_NE, 0, DN_FOREVER);
    case WAIT_U32:
        return dn_wait_until_u32(me.node, live_u32(NEVER_AT), DN_NE, 0, LIVE_PATIENCE_NS);
    case WAIT_ANY: return dn_wait_until_any(me.node, conditions, 2, DN_FOREVER, &index);
    case SHORT_WAITS: do { error = dn_wait_until_u64(me.node, word, DN_NE, 0, 300 * LIVE_US);
        } while (error == DN_ETIMEOUT);
        return error;
    case TRANSFERS: return transfer_until_error(some_doomed());
    case ATOMICS: return atomics_until_error(some_doomed());
    case IN_BARRIER: return dn_barrier(dn_team_all(me.node), DN_FOREVER);
    case SHORT_BARRIERS: do { error = dn_barrier(dn_team_all(me.node), 300 * LIVE_US);
        } while (error == DN_ETIMEOUT);
        return error;
    default: return dn_alloc(me.node, 4096, &pointer);
    }
}

/* ---- After a death ----------------------------------------------------------- */

static void say_delay(int rank)
{
    uint64_t died_ns = dn_load_u64(me.llcm + DEATHS_AT + 8 * (uint64_t)rank);
    uint64_t now_ns = live_now_ns();
    require_else(died_ns != 0, "node %d was said to be dead before it died", rank);
    uint64_t took_us = (now_ns - died_ns) / LIVE_US;
    (void)dprintf(STDOUT_FILENO, "epeer_us %llu\n", (unsigned long long)took_us);
    /* The promise is 100 ms; the script judges that, as it depends on the machine. */
    require_else(took_us < LIVE_SOON_NS / LIVE_US,
                 "the death of node %d was heard of after %llu us", rank,
                 (unsigned long long)took_us);
}

/* A store to a dead node is lost like a packet that was on its way: the next quiet says so, once, a
 * fence does not, and a barrier with others does not concern the dead node. */
static void require_stores_are_lost(int dead)
{
    struct dn_team *alone;
    if (dn_kick_pointer(&kicks[dead])) {
        return;
    }
    (void)dn_quiet(me.node);
    dn_store_u64(&kicks[dead], 0, 1);
    expect(dn_fence(me.node), 0);
    expect(dn_quiet(me.node), DN_EPEER);
    expect(dn_quiet(me.node), 0);
    dn_store_u64(&kicks[dead], 0, 1);
    dn_store_u64(&kicks[dead], 64, 1); /* a mistake comes first */
    expect(dn_quiet(me.node), DN_ERANGE);
    expect(dn_team_create(me.node, &me.rank, 1, &alone), 0);
    dn_store_u64(&kicks[dead], 0, 1);
    expect(dn_barrier(alone, LIVE_PATIENCE_NS), 0);
    expect(dn_quiet(me.node), 0);
    expect(dn_team_free(alone), 0);
}

/* Nothing reaches a dead node, and mistakes still get their own codes. */
static void require_out_of_reach(int dead)
{
    struct dn_remote place = live_place(dead, SCRATCH_AT);
    unsigned char bytes[64] = {0};
    struct dn_kick kick;
    struct dn_op op;
    uint64_t old;
    uint32_t small;
    expect(dn_botf(me.node, place, bytes, 64), DN_EPEER);
    expect(dn_botf(me.node, place, NULL, 0), DN_EPEER);
    expect(dn_put_signal(me.node, place, bytes, 64, place, 1), DN_EPEER);
    expect(dn_push(me.node, place, bytes, 64, &op), DN_EPEER);
    expect(dn_pull(me.node, place, bytes, 64, NULL), DN_EPEER);
    expect(dn_kick_map(me.node, place, 64, &kick), DN_EPEER);
    expect(dn_fetch_add_u64(me.node, place, 1, &old), DN_EPEER);
    expect(dn_add_u32(me.node, place, 1), DN_EPEER);
    expect(dn_compare_swap_u32(me.node, place, 0, 1, &small), DN_EPEER);
    expect(dn_read_u64(me.node, place, &old), DN_EPEER);
    expect(dn_botf(me.node, live_at(dead, DN_LLCM, UINT64_MAX), bytes, 64), DN_ERANGE);
    expect(dn_botf(me.node, live_at(dead, 0, 0), bytes, 64), DN_EAREA);
    expect(dn_put(me.node, place, bytes, 64), DN_EPEER);
    expect(dn_get(me.node, place, bytes, 64), DN_EPEER);
    require_stores_are_lost(dead);
}

static void require_no_barrier(void)
{
    void *pointer = me.llcm;
    expect(dn_barrier(dn_team_all(me.node), DN_FOREVER), DN_EPEER);
    expect(dn_barrier(dn_team_all(me.node), 0), DN_EPEER);
    expect(dn_alloc(me.node, 64, &pointer), DN_EPEER);
    expect(dn_free(me.node, me.llcm), DN_EPEER);
    require(pointer == me.llcm);
}

/* A wait ends with DN_EPEER as long as a death is not accepted; then it goes on. */
static void accept_deaths(void)
{
    int ranks[NODES_MAX];
    size_t count;
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, DN_FOREVER), DN_EPEER);
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, 0), DN_EPEER);
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_EQ, 0, 0), 0);
    expect(dn_failure_ack(me.node, ranks, NODES_MAX, &count), 0);
    require(count > 0);
    for (size_t i = 0; i < count; i++) {
        enum dn_life life;
        require_else(is_doomed[ranks[i]] && !is_accepted[ranks[i]], "node %d did not die",
                     ranks[i]);
        say_delay(ranks[i]);
        is_accepted[ranks[i]] = true;
        expect(dn_peer_life(me.node, ranks[i], &life), 0);
        require(life == DN_DEAD);
        require_out_of_reach(ranks[i]);
    }
}

/* Requires that all have died who should have, and no others. */
static void require_lives(void)
{
    size_t count = 77;
    expect(dn_failure_ack(me.node, NULL, 0, &count), 0);
    require(count == 0);
    for (int rank = 0; rank < me.size; rank++) {
        enum dn_life life;
        expect(dn_peer_life(me.node, rank, &life), 0);
        require_else(life == (is_dead[rank] ? DN_DEAD : DN_ATTACHED), "node %d is %d", rank,
                     (int)life);
    }
}

/* ---- Rounds ------------------------------------------------------------------ */

static int doomed_left(void)
{
    int count = 0;
    for (int rank = 0; rank < me.size; rank++) {
        count += is_doomed[rank] && !is_accepted[rank];
    }
    return count;
}

/* Threads of one node, each in a call of its own; all of them hear of the death. */
struct blocked_thread {
    pthread_t thread;
    uint64_t number;
    enum blocking kind;
};

static void *block_in_thread(void *argument)
{
    const struct blocked_thread *own = argument;
    thread_number = own->number;
    expect(block(own->kind), DN_EPEER);
    return NULL;
}

static void survive_blocked(uint64_t *random, bool is_first)
{
    uint64_t kinds = is_first ? BLOCKING_KINDS : IN_BARRIER;
    enum blocking own = (enum blocking)live_random(random, kinds);
    struct blocked_thread others[2];
    size_t count = live_random(random, 4) == 0 ? LIVE_COUNT(others) : 0;
    for (size_t i = 0; i < count; i++) {
        others[i].number = i + 1;
        others[i].kind = (enum blocking)live_random(random, IN_BARRIER);
        live_thread_start(&others[i].thread, block_in_thread, &others[i]);
    }
    expect(block(own), DN_EPEER);
    for (size_t i = 0; i < count; i++) {
        live_thread_join(others[i].thread);
    }
    /* A transfer may hear of a death before it is announced to all. */
    expect(block(WAIT_U64), DN_EPEER);
}

/* All are in barriers, the dying too: a phase is complete for all survivors or for none. */
static uint64_t survive_in_barriers(void)
{
    uint64_t passed = 0;
    int error;
    while ((error = dn_barrier(dn_team_all(me.node), DN_FOREVER)) == 0) {
        passed++;
    }
    expect(error, DN_EPEER);
    return passed;
}

static uint64_t survive_in_allocations(void)
{
    uint64_t passed = 0;
    uint64_t common = me.seed;
    for (;;) {
        void *pointer;
        int error = dn_alloc(me.node, 1 + live_random(&common, 100000), &pointer);
        if (!error) {
            passed++;
            error = dn_free(me.node, pointer);
        }
        if (error) {
            expect(error, DN_EPEER);
            return passed;
        }
        passed++;
    }
}

/* The dying node streams to all: a flag that is seen has its body, to the last. */
enum { SLOTS = 8, SLOT_BYTES = 1024, FLAG_AT = STREAM_AT + SLOTS * SLOT_BYTES };

static void stream_until_death(void)
{
    unsigned char body[SLOT_BYTES];
    for (uint64_t number = 1;; number++) {
        for (int rank = 0; rank < me.size; rank++) {
            uint64_t acknowledged = FLAG_AT + 64 + 8 * (uint64_t)rank;
            if (is_dead[rank] || is_doomed[rank]) {
                continue;
            }
            live_fill(body, sizeof body, number);
            if (number > SLOTS) {
                (void)dn_wait_until_u64(me.node, live_u64(acknowledged), DN_GE, number - SLOTS,
                                        DN_FOREVER);
            }
            struct dn_remote slot = live_place(rank, STREAM_AT + number % SLOTS * SLOT_BYTES);
            (void)dn_put_signal(me.node, slot, body, sizeof body, live_place(rank, FLAG_AT),
                                number);
        }
    }
}

static void survive_a_stream(void)
{
    int from = some_doomed();
    int error = 0;
    for (uint64_t number = 1; !error; number++) {
        error = dn_wait_until_u64(me.node, live_u64(FLAG_AT), DN_GE, number, DN_FOREVER);
        if (!error) {
            const unsigned char *slot = me.llcm + STREAM_AT + number % SLOTS * SLOT_BYTES;
            require_else(live_first_other(slot, SLOT_BYTES, number) == SLOT_BYTES,
                         "flag %llu without its body", (unsigned long long)number);
            /* It may be gone by now. */
            (void)dn_set_u64(me.node, live_place(from, FLAG_AT + 64 + 8 * (uint64_t)me.rank),
                             number);
        }
    }
    expect(error, DN_EPEER);
}

enum mode { BLOCKED, STREAM, BARRIERS, ALLOCATIONS, MODES };

/* Doomed nodes do not return. */
static void go_through(enum mode mode, uint64_t *random, bool is_first, uint64_t delay_ns)
{
    uint64_t passed = 0;
    bool doomed = is_doomed[me.rank];
    pthread_t thread;
    if (doomed) {
        live_thread_start(&thread, die_after, &delay_ns);
    }
    switch (mode) {
    case BLOCKED:
        if (doomed) {
            be_busy_for_ever(random);
        }
        survive_blocked(random, is_first);
        break;
    case STREAM:
        if (doomed) {
            stream_until_death();
        }
        survive_a_stream();
        break;
    case BARRIERS: passed = survive_in_barriers(); break;
    default: passed = survive_in_allocations(); break;
    }
    if (doomed) {
        /* Its peers' deaths end its calls, too, before it dies itself. */
        live_thread_join(thread);
    }
    while (doomed_left() > 0) {
        accept_deaths();
        if (doomed_left() > 0) {
            expect(block(WAIT_U64), DN_EPEER);
        }
    }
    *live_u64(COUNT_AT) = passed;
}

/* The survivors have all passed the same number of barriers. */
static void require_equal_counts(void)
{
    uint64_t count;
    int to = living_after(me.rank);
    expect(dn_read_u64(me.node, live_place(to, COUNT_AT), &count), 0);
    require_else(count == *live_u64(COUNT_AT), "%llu barriers here, %llu at node %d",
                 (unsigned long long)*live_u64(COUNT_AT), (unsigned long long)count, to);
}

static void one_round(uint64_t *common, uint64_t *random, int victims, bool is_first)
{
    enum mode mode = (enum mode)live_random(common, is_first ? MODES : BARRIERS);
    uint64_t delays_ns[] = {0, 100 * LIVE_US, 2 * LIVE_MS, 8 * LIVE_MS};
    memset(is_doomed, 0, sizeof is_doomed);
    for (int i = 0; i < victims; i++) {
        int rank = living_after((int)live_random(common, (uint64_t)me.size));
        while (is_doomed[rank]) {
            rank = living_after(rank);
        }
        is_doomed[rank] = true;
        if (mode == STREAM) {
            break; /* one stream at a time */
        }
    }
    uint64_t delay_ns = live_random(common, 1 + delays_ns[live_random(common, 4)]);
    meet();
    go_through(mode, random, is_first, delay_ns);
    for (int rank = 0; rank < me.size; rank++) {
        is_dead[rank] = is_dead[rank] || is_doomed[rank];
    }
    require_lives();
    require_no_barrier();
    if (live_shares_nothing()) {
        (void)dn_quiet(me.node); /* reports what died with them, once */
    }
    expect(dn_wait_until_u64(me.node, live_u64(NEVER_AT), DN_NE, 0, LIVE_MS), DN_ETIMEOUT);
    if (living_count() > 1) {
        meet();
        exchange(meetings);
        require_equal_counts();
        meet();
        memset(me.llcm + STREAM_AT, 0, SCRATCH_AT - STREAM_AT);
    }
}

static void cascade(int kills)
{
    uint64_t common = me.seed;
    uint64_t random = me.seed + 1000 * (uint64_t)(me.rank + 1);
    require(me.size <= NODES_MAX && kills < me.size);
    for (int rank = 0; rank < me.size; rank++) {
        expect(dn_kick_map(me.node, live_place(rank, SCRATCH_AT), 64, &kicks[rank]), 0);
    }
    live_barrier();
    for (bool is_first = true; me.size - living_count() < kills; is_first = false) {
        int left = kills - (me.size - living_count());
        one_round(&common, &random, left > 1 && live_random(&common, 3) == 0 ? 2 : 1, is_first);
    }
    if (living_count() == 1) {
        /* No node is left that could end an endless wait. */
        expect(block(WAIT_U64), DN_EPEER);
        expect(block(WAIT_ANY), DN_EPEER);
    }
}

/* ---- At any time ------------------------------------------------------------- */

/* Killed from outside, so that it may happen before anything was done or after everything. */
static void be_killed_sometime(uint64_t *random)
{
    pid_t victim = getpid();
    uint64_t delay_ns = live_random(random, 12 * LIVE_MS);
    pid_t killer = fork();
    require(killer >= 0);
    if (killer == 0) {
        live_sleep_ns(delay_ns);
        if (getppid() == victim) {
            (void)kill(victim, SIGKILL);
        }
        _exit(0);
    }
}

/* A short program as users write them; the first DN_EPEER ends it. */
static int short_program(void)
{
    for (uint64_t round = 1; round <= 20; round++) {
        void *pointer;
        int to = live_neighbour(1);
        int error = dn_barrier(dn_team_all(me.node), LIVE_PATIENCE_NS);
        error = error ? error
                      : dn_put_signal(me.node, live_place(to, 64), &round, 8, live_place(to, 0),
                                      round);
        error = error ? error
                      : dn_wait_until_u64(me.node, live_u64(0), DN_GE, round, LIVE_PATIENCE_NS);
        require(error || *live_u64(64) >= round);
        error = error ? error : dn_alloc(me.node, 100 * round, &pointer);
        error = error ? error : dn_free(me.node, pointer);
        live_sleep_ns(round == 10 ? 3 * LIVE_MS : 1);
        if (error) {
            return error;
        }
    }
    return 0;
}

static void anytime(void)
{
    const char *rank = getenv("DIMMNET_RANK");
    const char *size = getenv("DIMMNET_SIZE");
    uint64_t random = strtoull(getenv("DN_TEST_SEED"), NULL, 10);
    require(rank && size);
    if (live_random(&random, strtoull(size, NULL, 10)) == strtoull(rank, NULL, 10)) {
        be_killed_sometime(&random);
    }
    live_attach();
    int error = short_program();
    require_else(error == 0 || error == DN_EPEER, "%s", dn_strerror(error));
    if (error) {
        /* A node that died, or one that left because of it. */
        int gone = 0;
        for (int peer = 0; peer < me.size; peer++) {
            enum dn_life life;
            expect(dn_peer_life(me.node, peer, &life), 0);
            gone += life == DN_DEAD || life == DN_LEFT;
        }
        require(gone > 0);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "cascade") == 0) {
        me.check = "cascade";
        live_attach();
        cascade(atoi(argv[2]));
    } else {
        me.check = "anytime";
        anytime();
    }
    expect(dn_detach(me.node), 0);
    puts("survived");
    return 0;
}
