/* Thread levels, and threads with contexts of their own under load.
 *
 * usage: shmem_spec_threads LEVEL, 0 to 3, or --list NODES */
#include <stdatomic.h>

#include "shmem_spec.h"

enum { THREADS = 4, TIMES = 500 };

static int level;

static int right(void)
{
    return live_neighbour(1);
}

/* Runs a function in each of several threads. The argument is the thread's number. */
static void in_threads(void *(*run)(void *))
{
    static int numbers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        live_thread_start(&threads[i], run, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        live_thread_join(threads[i]);
    }
}

/* ---- Any level --------------------------------------------------------------------- */

static void the_level_is_known(void)
{
    int provided = -1;
    shmem_query_thread(&provided);
    require(provided >= level && provided <= SHMEM_THREAD_MULTIPLE);
}

static void the_main_thread_communicates(void)
{
    static long box;
    shmem_long_p(&box, me.rank + 1, right());
    shmem_barrier_all();
    require(box == live_neighbour(-1) + 1);
}

/* ---- Funneled: other threads compute ----------------------------------------------- */

static atomic_bool stop;

static void *compute(void *argument)
{
    static _Thread_local volatile double x;
    (void)argument;
    while (!stop) {
        x = x * 0.5 + 1;
    }
    return NULL;
}

static void other_threads_compute(void)
{
    static long box;
    pthread_t thread;
    live_thread_start(&thread, compute, NULL);
    /* Few turns: each waits until the threads that compute have had theirs, on every core. */
    for (long i = 1; i <= 40; i++) {
        shmem_long_p(&box, i, right());
        shmem_long_wait_until(&box, SHMEM_CMP_GE, i);
        shmem_barrier_all();
    }
    stop = true;
    live_thread_join(thread);
}

/* ---- Serialized: one after the other ----------------------------------------------- */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static long serial_counter;

static void *take_turns(void *argument)
{
    (void)argument;
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&turn);
        shmem_long_atomic_inc(&serial_counter, right());
        shmem_long_atomic_fetch(&serial_counter, right());
        shmem_quiet();
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void threads_take_turns(void)
{
    in_threads(take_turns);
    shmem_barrier_all();
    require(serial_counter == THREADS * TIMES);
}

/* ---- Multiple ---------------------------------------------------------------------- */

static long sums[THREADS];
static long blocks[THREADS][100];
static uint64_t signals[THREADS];

/* All kinds of communication, on a context that only this thread has. */
static void *on_a_private_context(void *argument)
{
    int number = *(int *)argument;
    long mine[100];
    long back[100];
    shmem_ctx_t context;
    require(shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) == 0);
    for (long i = 1; i <= TIMES; i++) {
        for (int j = 0; j < 100; j++) {
            mine[j] = i * 1000 + me.rank + number;
        }
        shmem_ctx_long_put_nbi(context, blocks[number], mine, 100, right());
        shmem_ctx_long_atomic_add(context, &sums[number], i, right());
        shmem_ctx_quiet(context);
        shmem_ctx_long_get(context, back, blocks[number], 100, right());
        require(memcmp(back, mine, sizeof mine) == 0);
        shmem_ctx_putmem_signal(context, NULL, NULL, 0, &signals[number], (uint64_t)i,
                                SHMEM_SIGNAL_SET, right());
        require(shmem_signal_wait_until(&signals[number], SHMEM_CMP_GE, (uint64_t)i) >=
                (uint64_t)i);
    }
    shmem_ctx_destroy(context);
    return NULL;
}

static void threads_have_contexts(void)
{
    in_threads(on_a_private_context);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++) {
        require(sums[i] == TIMES * (TIMES + 1L) / 2);
    }
}

static unsigned tickets;
static unsigned char drawn[16 * THREADS * TIMES];

/* The default context and a shared one, from all threads at once. */
static void *on_shared_contexts(void *argument)
{
    (void)argument;
    for (int i = 0; i < TIMES; i++) {
        unsigned ticket = shmem_uint_atomic_fetch_inc(&tickets, 0);
        require(ticket < sizeof drawn);
        shmem_uchar_p(&drawn[ticket], 1, 0);
        if (i % 16 == 0) {
            shmem_fence();
            shmem_quiet();
        }
    }
    return NULL;
}

static void threads_share_the_default_context(void)
{
    in_threads(on_shared_contexts);
    shmem_barrier_all();
    unsigned all = (unsigned)me.size * THREADS * TIMES;
    require(me.rank != 0 || (tickets == all && live_all_are(drawn, all, 1)));
}

static long ping[THREADS];

/* Each thread waits for its own partner; waiters of one PE do not hold each other up. */
static void *wait_for_partner(void *argument)
{
    int number = *(int *)argument;
    for (long i = 1; i <= TIMES; i++) {
        shmem_fence(); /* otherwise the set of the round before may come after this one */
        shmem_long_atomic_set(&ping[number], i, right());
        shmem_long_wait_until(&ping[number], SHMEM_CMP_GE, i);
    }
    return NULL;
}

static void threads_wait_at_the_same_time(void)
{
    in_threads(wait_for_partner);
    shmem_barrier_all();
}

static shmem_team_t thread_teams[THREADS];
static long reduced[THREADS][2];

/* Collectives of different teams at the same time. */
static void *on_a_team(void *argument)
{
    int number = *(int *)argument;
    shmem_team_t team = thread_teams[number];
    for (long i = 1; i <= 100; i++) {
        reduced[number][0] = i + me.rank;
        require(shmem_long_sum_reduce(team, &reduced[number][1], &reduced[number][0], 1) == 0);
        require(reduced[number][1] == i * me.size + me.size * (me.size - 1L) / 2);
        require(shmem_team_sync(team) == 0);
    }
    return NULL;
}

static void threads_have_teams(void)
{
    for (int i = 0; i < THREADS; i++) {
        require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me.size, NULL, 0,
                                         &thread_teams[i]) == 0);
    }
    in_threads(on_a_team);
    for (int i = 0; i < THREADS; i++) {
        shmem_team_destroy(thread_teams[i]);
    }
}

/* Contexts are made and destroyed by many threads at once. */
static void *make_contexts(void *argument)
{
    (void)argument;
    for (int i = 0; i < 50; i++) {
        shmem_ctx_t context;
        require(shmem_ctx_create(SHMEM_CTX_PRIVATE, &context) == 0);
        shmem_ctx_long_atomic_inc(context, &serial_counter, right());
        shmem_ctx_destroy(context);
    }
    return NULL;
}

static void threads_make_contexts(void)
{
    serial_counter = 0;
    shmem_barrier_all();
    in_threads(make_contexts);
    shmem_barrier_all();
    require(serial_counter == 50 * THREADS);
}

/* A call from a thread that did not call shmem_init. */
static void *barrier_in_a_thread(void *argument)
{
    if (*(int *)argument == 0) {
        shmem_barrier_all();
        void *memory = shmem_malloc(100);
        require(memory);
        shmem_free(memory);
    }
    return NULL;
}

static void any_thread_may_make_a_collective_call(void)
{
    in_threads(barrier_in_a_thread);
}

/* A lock serves one thread of this PE at a time, as it serves one PE at a time. */
static long lock;
static long locked_total;

static void *lock_in_a_thread(void *argument)
{
    (void)argument;
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&turn);
        shmem_set_lock(&lock);
        shmem_long_p(&locked_total, shmem_long_g(&locked_total, 0) + 1, 0);
        shmem_clear_lock(&lock);
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void threads_take_locks(void)
{
    in_threads(lock_in_a_thread);
    shmem_barrier_all();
    require(me.rank != 0 || locked_total == 50L * THREADS * me.size);
}

/* Each check with the least level it needs. */
static const struct {
    int level;
    struct live_check check;
} all_checks[] = {
    {SHMEM_THREAD_SINGLE, LIVE_CHECK(1, the_level_is_known)},
    {SHMEM_THREAD_SINGLE, LIVE_CHECK(1, the_main_thread_communicates)},
    {SHMEM_THREAD_FUNNELED, LIVE_CHECK(1, other_threads_compute)},
    {SHMEM_THREAD_SERIALIZED, LIVE_CHECK(1, threads_take_turns)},
    {SHMEM_THREAD_SERIALIZED, LIVE_CHECK(1, threads_take_locks)},
    {SHMEM_THREAD_SERIALIZED, LIVE_CHECK(1, any_thread_may_make_a_collective_call)},
    {SHMEM_THREAD_MULTIPLE, LIVE_CHECK(1, threads_have_contexts)},
    {SHMEM_THREAD_MULTIPLE, LIVE_CHECK(1, threads_share_the_default_context)},
    {SHMEM_THREAD_MULTIPLE, LIVE_CHECK(1, threads_wait_at_the_same_time)},
    {SHMEM_THREAD_MULTIPLE, LIVE_CHECK(1, threads_have_teams)},
    {SHMEM_THREAD_MULTIPLE, LIVE_CHECK(1, threads_make_contexts)},
};

int main(int argc, char **argv)
{
    int provided = -1;
    level = argc > 1 ? atoi(argv[1]) : SHMEM_THREAD_MULTIPLE;
    if (argc > 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < LIVE_COUNT(all_checks); i++) {
            puts(all_checks[i].check.name);
        }
        return 0;
    }
    require(shmem_init_thread(level, &provided) == 0 && provided >= level);
    spec_begin();
    for (size_t i = 0; i < LIVE_COUNT(all_checks); i++) {
        if (level >= all_checks[i].level) {
            spec_run(&all_checks[i].check);
        }
    }
    me.check = "end";
    shmem_finalize();
    return 0;
}
