/* What programs do on a simulated machine that the machine, or the launcher, has an answer to.
 * usage: sim_program_ways WAY; the ways are in the table at the end. */
#include "live/live.h"

enum { PLACE = 64, TURNS = 200, ABSENT_RANK = 1 };

static struct dn_team *all(void)
{
    return dn_team_all(me.node);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void compute(uint64_t ns)
{
    uint64_t before_ns = dn_time_ns(me.node);
    expect(dn_compute_ns(me.node, ns), 0);
    uint64_t passed_ns = dn_time_ns(me.node) - before_ns;
    require_else(passed_ns == ns, "%llu ns passed, not %llu", (unsigned long long)passed_ns,
                 (unsigned long long)ns);
}

/* The clock begins with 0, and what one node reads is behind what another one read before. */
static void clock_is_common(void)
{
    static const uint64_t times_ns[] = {0, 1, 999, 12345, 1000000007};
    require(dn_time_ns(me.node) == 0);
    for (size_t i = 0; i < LIVE_COUNT(times_ns); i++) {
        compute(times_ns[i]);
    }
    live_barrier();
    for (int round = 1; round <= 4 * me.size; round++) {
        int sender = round % me.size;
        uint64_t sent_ns = dn_time_ns(me.node);
        expect(dn_broadcast(all(), &sent_ns, sizeof sent_ns, sender), 0);
        uint64_t now_ns = dn_time_ns(me.node);
        require(me.rank == sender || now_ns > sent_ns);
        require(now_ns < sent_ns + LIVE_MS);
        expect(dn_compute_ns(me.node, (uint64_t)me.rank * 100), 0);
    }
    live_say_ok();
}

/* As much as standard input says, on node 0: another input is another run. */
static void compute_as_told(void)
{
    const char *told = getenv("LIVE_COMPUTE_NS");
    if (me.rank == 0) {
        expect(dn_compute_ns(me.node, told ? strtoull(told, NULL, 10) : 0), 0);
    }
    live_say_ok();
}

/* Time that only measuring sees. */
static void compute_really(void)
{
    uint64_t before_ns = dn_time_ns(me.node);
    struct timespec used;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < (long)(50 * LIVE_MS));
    uint64_t passed_ns = dn_time_ns(me.node) - before_ns;
    printf("passed_ns %llu\n", (unsigned long long)passed_ns);
}

/* ---- Waiting in vain ------------------------------------------------------------------------- */

static void wait_for_ever(void)
{
    (void)dn_wait_until_u64(me.node, live_u64(PLACE), DN_EQ, 1, DN_FOREVER);
    live_fail(__FILE__, __LINE__, "a wait for what nobody does has ended");
}

static void loop_over_memory(void)
{
    const volatile uint64_t *word = live_u64(PLACE);
    while (me.rank == 0 && *word == 0) {
    }
    (void)dn_barrier(all(), DN_FOREVER);
}

/* Node 1 is gone after a while; the others do nothing but ask for its life. */
static void loop_over_a_life(void)
{
    if (me.rank == 1) {
        expect(dn_compute_ns(me.node, LIVE_MS), 0);
        return;
    }
    while (live_life_of(1) != DN_LEFT) {
    }
    require(dn_time_ns(me.node) >= LIVE_MS);
    live_say_ok();
}

static void loop_over_the_clock(void)
{
    uint64_t begin_ns = dn_time_ns(me.node);
    uint64_t passed_ns;
    do {
        passed_ns = dn_time_ns(me.node) - begin_ns;
    } while (passed_ns < LIVE_MS);
    require(passed_ns < 2 * LIVE_MS);
    live_barrier();
    live_say_ok();
}

/* ---- Threads --------------------------------------------------------------------------------- */

static void *put_from_a_thread(void *unused)
{
    (void)unused;
    for (uint64_t i = 1; i <= TURNS; i++) {
        expect(dn_put(me.node, live_place(live_neighbour(1), PLACE), &i, sizeof i), 0);
    }
    return NULL;
}

static void two_threads(void)
{
    pthread_t thread;
    live_thread_start(&thread, put_from_a_thread, NULL);
    live_thread_join(thread);
    live_barrier();
    require(*live_u64(PLACE) == TURNS);
    live_say_ok();
}

static void *wait_in_a_thread(void *word)
{
    expect(dn_wait_until_u64(me.node, word, DN_EQ, 1, LIVE_PATIENCE_NS), 0);
    return NULL;
}

/* All threads of node 0 wait at the same time, for what node 1 does later. */
static void many_threads_wait(void)
{
    enum { WAITERS = 4 };
    const uint64_t one = 1;
    pthread_t threads[WAITERS];
    for (uint64_t i = 0; i < WAITERS; i++) {
        uint64_t place = PLACE + 8 * i;
        if (me.rank == 0) {
            live_thread_start(&threads[i], wait_in_a_thread, live_u64(place));
        } else if (me.rank == 1) {
            expect(dn_compute_ns(me.node, 50 * LIVE_US), 0);
            expect(dn_put(me.node, live_place(0, place), &one, sizeof one), 0);
        }
    }
    for (int i = 0; me.rank == 0 && i < WAITERS; i++) {
        live_thread_join(threads[i]);
    }
    live_barrier();
    live_say_ok();
}

static void *lock_in_a_thread(void *unused)
{
    enum { ROUNDS = 10 };
    struct dn_lock *lock;
    (void)unused;
    expect(dn_lock_open(me.node, live_place(0, PLACE), &lock), 0);
    for (int i = 0; i < ROUNDS; i++) {
        expect(dn_lock_take(lock, LIVE_PATIENCE_NS), 0);
        expect(dn_lock_give(lock), 0);
    }
    expect(dn_lock_close(lock), 0);
    return NULL;
}

/* Waits with a time-out of virtual time, which must not run ahead of threads that compute. */
static void threads_share_a_lock(void)
{
    pthread_t threads[3];
    for (size_t i = 0; i < LIVE_COUNT(threads); i++) {
        live_thread_start(&threads[i], lock_in_a_thread, NULL);
    }
    for (size_t i = 0; i < LIVE_COUNT(threads); i++) {
        live_thread_join(threads[i]);
    }
    live_barrier();
    live_say_ok();
}

enum { PASSES = 1000 };

static void pass_word(uint64_t mine, uint64_t others)
{
    for (uint64_t i = 1; i <= PASSES; i++) {
        expect(dn_put(me.node, live_place(me.rank, others), &i, sizeof i), 0);
        expect(dn_wait_until_u64(me.node, live_u64(mine), DN_GE, i, LIVE_PATIENCE_NS), 0);
    }
}

static void *pass_word_back(void *unused)
{
    (void)unused;
    pass_word(PLACE + 64, PLACE);
    return NULL;
}

/* A word goes to and fro between two threads of each node, of which the simulator sees nothing. */
static void threads_pass_a_word(void)
{
    pthread_t thread;
    live_thread_start(&thread, pass_word_back, NULL);
    pass_word(PLACE, PLACE + 64);
    live_thread_join(thread);
    live_barrier();
    live_say_ok();
}

/* ---- Deaths ---------------------------------------------------------------------------------- */

/* Barriers until somebody is missed; the survivors go on without. */
static void survive(void)
{
    int error = 0;
    int turns = 0;
    struct dn_team *team = NULL;
    for (; turns < 100000 && error == 0; turns++) {
        error = dn_barrier(all(), DN_FOREVER);
    }
    uint64_t at_ns = dn_time_ns(me.node);
    expect(error, DN_EPEER);
    for (int again = 0; error != 0 && again < me.size; again++) {
        expect(dn_team_shrink(team ? team : all(), &team), 0);
        error = dn_barrier(team, DN_FOREVER);
    }
    (void)dprintf(STDOUT_FILENO, "survivor %d of %d at %llu ns, turn %d\n", me.rank,
                  dn_team_size(team), (unsigned long long)at_ns, turns);
}

/* ---- Coming late, or not at all -------------------------------------------------------------- */

/* The others meet a node that has gone before it came. */
static void miss_the_absent(void)
{
    enum dn_life life = live_life_of(ABSENT_RANK);
    require(life == DN_LEFT || life == DN_DEAD);
    expect(dn_barrier(all(), LIVE_PATIENCE_NS), DN_EPEER);
    live_say_ok();
}

static bool is_absent(const char *way)
{
    const char *rank = getenv("DIMMNET_RANK");
    return strncmp(way, "absent", strlen("absent")) == 0 && rank && atoi(rank) == ABSENT_RANK;
}

static const struct {
    const char *name;
    void (*run)(void);
} ways[] = {
    {"clock", clock_is_common},
    {"compute", compute_as_told},
    {"measured", compute_really},
    {"deadlock", wait_for_ever},
    {"loop", loop_over_memory},
    {"loop-life", loop_over_a_life},
    {"loop-clock", loop_over_the_clock},
    {"threads", two_threads},
    {"threads-wait", many_threads_wait},
    {"threads-lock", threads_share_a_lock},
    {"threads-word", threads_pass_a_word},
    {"survive", survive},
    {"absent", miss_the_absent},
    {"absent-dead", miss_the_absent},
};

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (is_absent(way)) {
        if (strcmp(way, "absent-dead") == 0) {
            abort();
        }
        return 0;
    }
    live_attach();
    me.check = way;
    for (size_t i = 0; i < LIVE_COUNT(ways); i++) {
        if (strcmp(ways[i].name, way) == 0) {
            ways[i].run();
            live_detach();
            return 0;
        }
    }
    return 2;
}
