/* Version 1.6: shmem_init and shmem_finalize may be called several times, and the library begins
 * anew after the last one. Each check finds it not initialised and leaves it so. */
#include "shmem_spec.h"

static int right(void)
{
    return live_neighbour(1);
}

static int left(void)
{
    return live_neighbour(-1);
}

static bool is_initialised(void)
{
    int initialised = -1;
    int the_same = -1;
    shmem_query_initialized(&initialised);
    pshmem_query_initialized(&the_same);
    require(initialised == the_same);
    return initialised != 0;
}

static void begin(void)
{
    require(!is_initialised());
    shmem_init();
    require(is_initialised());
    require(shmem_my_pe() == me.rank && shmem_n_pes() == me.size);
}

static void end(void)
{
    require(is_initialised());
    shmem_finalize();
    require(!is_initialised());
}

/* Static variables and the heap, by stores, atomics and waits. */
static long visits;

static void use_everything(void)
{
    static long flag;
    static long sum;
    static long one = 1;
    long *heap = shmem_calloc(100, sizeof *heap);
    require(heap && live_all_are(heap, 100 * sizeof *heap, 0));
    flag = 0;
    heap[0] = me.rank;
    shmem_barrier_all();
    shmem_long_p(&heap[1], me.rank, right());
    shmem_long_atomic_inc(&visits, right());
    shmem_fence();
    shmem_long_atomic_set(&flag, me.rank + 1, right());
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, left() + 1);
    require(shmem_long_g(&heap[0], right()) == right());
    require(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1) == 0 && sum == me.size);
    require(shmem_team_n_pes(SHMEM_TEAM_SHARED) >= 1);
    shmem_barrier_all();
    require(heap[1] == left());
    shmem_free(heap);
}

/* ---- The state --------------------------------------------------------------------- */

/* At any time, by any thread. */
static void *query_in_a_thread(void *wanted)
{
    int initialised = -1;
    shmem_query_initialized(&initialised);
    require((initialised != 0) == (wanted != NULL));
    return NULL;
}

static void query_by_a_thread(bool wanted)
{
    pthread_t thread;
    live_thread_start(&thread, query_in_a_thread, wanted ? &thread : NULL);
    live_thread_join(thread);
}

static void the_state_is_known_at_any_time(void)
{
    int provided = -1;
    require(!is_initialised());
    query_by_a_thread(false);
    require(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    require(provided == SHMEM_THREAD_MULTIPLE);
    require(is_initialised());
    query_by_a_thread(true);
    shmem_finalize();
    require(!is_initialised());
    query_by_a_thread(false);
}

/* ---- Several times within one life -------------------------------------------------- */

static void each_init_wants_a_finalize(void)
{
    enum { DEPTH = 5 };
    begin();
    for (int i = 1; i < DEPTH; i++) {
        shmem_init();
        use_everything();
    }
    for (int i = 1; i < DEPTH; i++) {
        shmem_finalize();
        require_else(is_initialised(), "after %d of %d", i, DEPTH);
        use_everything();
    }
    end();
}

/* The barrier of a call that is not the last one completes what is under way, as the last does. */
static void every_finalize_is_a_barrier(void)
{
    static long box[2];
    begin();
    shmem_init();
    shmem_init();
    for (int i = 0; i < 2; i++) {
        long value = me.rank + 10 * i + 1;
        box[i] = 0;
        shmem_barrier_all();
        if (me.rank == i % me.size) {
            live_sleep_ns(20 * LIVE_MS);
        }
        shmem_long_put_nbi(&box[i], &value, 1, right());
        shmem_finalize();
        require_else(box[i] == left() + 10 * i + 1, "finalize %d: %ld", i, box[i]);
    }
    end();
}

/* What the parts of a program hold stays with them while others initialise and finalize. */
static void inner_calls_leave_all_in_place(void)
{
    static long word;
    shmem_ctx_t context;
    shmem_team_t team;
    begin();
    long *heap = shmem_malloc(sizeof *heap);
    require(shmem_ctx_create(0, &context) == 0);
    require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me.size, NULL, 0, &team) == 0);
    *heap = 5 + me.rank;
    shmem_init();
    use_everything();
    shmem_finalize();
    require(*heap == 5 + me.rank);
    shmem_ctx_long_p(context, &word, me.rank + 1, right());
    shmem_ctx_quiet(context);
    require(shmem_team_sync(team) == 0 && word == left() + 1);
    require(shmem_long_g(heap, right()) == 5 + right());
    shmem_team_destroy(team);
    shmem_ctx_destroy(context);
    shmem_free(heap);
    end();
}

/* The first call of a life decides; those after it are told. */
static void the_first_call_gives_the_thread_level(void)
{
    int provided = -1;
    require(shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided) == 0);
    require(provided == SHMEM_THREAD_SERIALIZED);
    require(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) == 0);
    require(provided >= SHMEM_THREAD_SINGLE);
    shmem_init();
    shmem_query_thread(&provided);
    require(provided == SHMEM_THREAD_SERIALIZED);
    shmem_finalize();
    shmem_finalize();
    require(is_initialised());
    end();
    begin();
    shmem_query_thread(&provided);
    require(provided == SHMEM_THREAD_SINGLE);
    end();
}

/* ---- Several lives ------------------------------------------------------------------ */

static void the_library_begins_anew(void)
{
    visits = 0;
    begin();
    end(); /* nobody counts a visit before all have set the count back */
    for (int life = 1; life <= 20; life++) {
        begin();
        use_everything();
        /* Static variables are the program's, through all lives. */
        require_else(visits == life, "life %d: %ld", life, visits);
        if (me.rank == life % me.size) {
            live_sleep_ns(5 * LIVE_MS);
        }
        end();
    }
}

/* Whoever comes first, comes back first, and leaves first: nobody meets one of another life. */
static void pes_come_at_their_own_time(void)
{
    uint64_t random = me.seed + (uint64_t)me.rank;
    for (int life = 0; life < 15; life++) {
        live_sleep_ns(live_random(&random, 4) * LIVE_MS);
        begin();
        live_sleep_ns(live_random(&random, 4) * LIVE_MS);
        use_everything();
        live_sleep_ns(live_random(&random, 4) * LIVE_MS);
        end();
    }
}

/* All of the heap is there again, though nothing was freed. */
static void a_life_leaves_nothing_on_the_heap(void)
{
    for (int life = 0; life < 6; life++) {
        begin();
        size_t bytes = (size_t)700 << 20; /* of 1 GB */
        unsigned char *most = shmem_malloc(bytes);
        require_else(most, "life %d", life);
        most[0] = most[bytes - 1] = 1;
        unsigned char *more = shmem_calloc(1000, 10);
        require(more && live_all_are(more, 10000, 0));
        memset(more, 0xa5, 10000);
        shmem_barrier_all();
        end();
    }
}

/* Nor contexts, teams, active sets and locks, of which each life makes its own. */
static void a_life_leaves_no_handles(void)
{
    static long lock;
    static long counter;
    static long sync_work[SHMEM_SYNC_SIZE + SHMEM_BARRIER_SYNC_SIZE];
    static long box[3];
    begin();
    counter = 0;
    end();
    for (int life = 1; life <= 8; life++) {
        shmem_ctx_t contexts[5];
        shmem_team_t teams[3];
        begin();
        for (size_t i = 0; i < LIVE_COUNT(contexts); i++) {
            require(shmem_ctx_create(0, &contexts[i]) == 0);
        }
        for (int i = 0; i < 3; i++) {
            require(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, me.size, NULL, 0, &teams[i]) ==
                    0);
            require(shmem_team_sync(teams[i]) == 0);
        }
        box[0] = box[1] = box[2] = 0;
        shmem_barrier(0, 0, me.size, sync_work);
        shmem_ctx_long_p(contexts[4], &box[0], life, right());
        shmem_long_p(&box[1], life, right());
        shmem_set_lock(&lock);
        long seen = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, seen + 1, 0);
        shmem_clear_lock(&lock);
        shmem_barrier(0, 0, me.size, sync_work);
        require(me.rank != 0 || counter == (long)life * me.size);
        require(box[1] == life);
        /* The first life's contexts and teams are left to shmem_finalize, the others' are not. */
        for (int i = 0; life > 1 && i < 3; i++) {
            shmem_team_destroy(teams[i]);
            shmem_ctx_destroy(contexts[i]);
        }
        end();
        require(box[0] == life);
    }
}

/* Its old name begins a life, too, but is no further init in one. */
static void start_pes_begins_a_life(void)
{
    start_pes(0);
    require(is_initialised());
    start_pes(17);
    use_everything();
    end();
    begin();
    start_pes(0);
    end();
}

/* A pointer by shmem_ptr is of one life; each gives its own. */
static void pointers_are_given_in_each_life(void)
{
    static long variable;
    for (int life = 1; life <= 3; life++) {
        begin();
        long *theirs = shmem_ptr(&variable, right());
        if (theirs) {
            __atomic_store_n(theirs, life, __ATOMIC_RELEASE);
        } else {
            shmem_long_p(&variable, life, right());
        }
        shmem_long_wait_until(&variable, SHMEM_CMP_EQ, life);
        end();
    }
}

enum { PARTS = 6 };
static pthread_barrier_t parts_meet;

/* A part of the program, which knows nothing of the others. */
static void *begin_in_a_thread(void *unused)
{
    int level = -1;
    (void)pthread_barrier_wait(&parts_meet);
    require(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level) == 0);
    require(level == SHMEM_THREAD_MULTIPLE && is_initialised());
    return unused;
}

static void *begin_and_end(void *unused)
{
    (void)begin_in_a_thread(unused);
    require(shmem_my_pe() == me.rank && shmem_n_pes() == me.size);
    shmem_long_atomic_inc(&visits, right());
    (void)pthread_barrier_wait(&parts_meet);
    shmem_finalize();
    return unused;
}

static void in_threads(void *(*run)(void *unused))
{
    pthread_t threads[PARTS];
    require(pthread_barrier_init(&parts_meet, NULL, PARTS) == 0);
    for (int i = 0; i < PARTS; i++) {
        live_thread_start(&threads[i], run, NULL);
    }
    for (int i = 0; i < PARTS; i++) {
        live_thread_join(threads[i]);
    }
    require(pthread_barrier_destroy(&parts_meet) == 0);
}

static void threads_begin_and_end_at_the_same_time(void)
{
    visits = 0;
    in_threads(begin_and_end);
    require(!is_initialised() && visits == PARTS);
}

/* The first life, in which the PEs find each other. */
static void threads_begin_the_first_life(void)
{
    in_threads(begin_in_a_thread);
    spec_begin();
    for (int i = 0; i < PARTS; i++) {
        require(is_initialised());
        shmem_finalize();
    }
}

/* PE 0 keeps it, and the others ask for it while PE 0 is in shmem_finalize; each gets it from the
 * one before, which has left it in the same manner. */
static void a_lock_is_given_at_the_end(void)
{
    static long lock;
    static long owners;
    begin();
    owners = 0;
    shmem_barrier_all();
    if (me.rank == 0) {
        shmem_set_lock(&lock);
    }
    shmem_barrier_all();
    if (me.rank > 0) {
        shmem_set_lock(&lock);
    }
    shmem_long_p(&owners, shmem_long_g(&owners, 0) + 1, 0);
    end();
    require(me.rank != 0 || owners == me.size);
}

/* Here the last life ends with the program: it has left two calls of shmem_finalize out. */
static void the_last_life_ends_with_the_program(void)
{
    begin();
    shmem_init();
    use_everything();
}

int main(int argc, char **argv)
{
    static const struct live_check checks[] = {
        LIVE_CHECK(1, the_state_is_known_at_any_time),
        LIVE_CHECK(1, each_init_wants_a_finalize),
        LIVE_CHECK(1, every_finalize_is_a_barrier),
        LIVE_CHECK(1, inner_calls_leave_all_in_place),
        LIVE_CHECK(1, the_first_call_gives_the_thread_level),
        LIVE_CHECK(1, the_library_begins_anew),
        LIVE_CHECK(1, pes_come_at_their_own_time),
        LIVE_CHECK(1, a_life_leaves_nothing_on_the_heap),
        LIVE_CHECK(1, a_life_leaves_no_handles),
        LIVE_CHECK(1, start_pes_begins_a_life),
        LIVE_CHECK(1, pointers_are_given_in_each_life),
        LIVE_CHECK(1, threads_begin_and_end_at_the_same_time),
        LIVE_CHECK(1, a_lock_is_given_at_the_end),
        LIVE_CHECK(1, the_last_life_ends_with_the_program),
    };
    if (live_list(argc, argv, checks, LIVE_COUNT(checks))) {
        return 0;
    }
    require(!is_initialised());
    threads_begin_the_first_life();
    for (size_t i = 0; i < LIVE_COUNT(checks); i++) {
        if (live_applies(&checks[i], me.size) &&
            (argc < 2 || strcmp(argv[1], checks[i].name) == 0)) {
            me.check = checks[i].name;
            checks[i].run();
            live_say_ok();
        }
    }
    me.check = "end";
    return 0;
}
