/* What the specification's examples do, in programs of our own: contexts, threads, sessions,
 * and data that come in any order. shmem_spec_patterns.sh
 * compiles it in C99, C11 and C++. */
#include <pthread.h>

#include "shmem_spec_patterns.h"

enum { THREADS = 3 };

/* ---- Contexts and threads ------------------------------------------------------------- */

/* Blocks are sent by one context while those of the other are added up. */
static void two_contexts_take_turns(void)
{
    enum { BLOCK = 32, BLOCKS = 8 };
    static int in[BLOCK * BLOCKS];
    int out[BLOCK * BLOCKS];
    int *parts[2];
    shmem_ctx_t ctx[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = (int *)zeros((size_t)(BLOCK * pes), sizeof *parts[i]);
        require(shmem_ctx_create(0, &ctx[i]) == 0);
    }
    for (int i = 0; i < BLOCK * BLOCKS; i++) {
        in[i] = me + i;
    }
    memset(out, 0, sizeof out);
    for (int block = 0; block <= BLOCKS; block++) {
        int sends = block % 2;
        int adds = 1 - sends;
        for (int pe = 0; pe < pes && block < BLOCKS; pe++) {
            ON_CTX(int, put_nbi)
            (ctx[sends], &parts[sends][BLOCK * me], &in[BLOCK * block], BLOCK, (me + pe) % pes);
        }
        if (block == 0) {
            continue;
        }
        shmem_ctx_quiet(ctx[adds]);
        shmem_sync_all();
        for (int i = 0; i < BLOCK * pes; i++) {
            out[BLOCK * (block - 1) + i % BLOCK] += parts[adds][i];
        }
        shmem_sync_all();
    }
    for (int i = 0; i < BLOCK * BLOCKS; i++) {
        require(out[i] == pes * (pes - 1) / 2 + pes * i);
    }
    for (int i = 0; i < 2; i++) {
        shmem_ctx_destroy(ctx[i]);
        shmem_free(parts[i]);
    }
}

/* A thread's own context: a private one, any one, or else the default one. */
static shmem_ctx_t open_context(void)
{
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0 && shmem_ctx_create(0, &ctx) != 0) {
        ctx = SHMEM_CTX_DEFAULT;
    }
    return ctx;
}

static void close_context(shmem_ctx_t ctx)
{
    if (ctx != SHMEM_CTX_DEFAULT) {
        shmem_ctx_destroy(ctx);
    }
}

static void in_threads(void *(*run)(void *argument), void *arguments[THREADS])
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        require(pthread_create(&threads[i], NULL, run, arguments[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        require(pthread_join(threads[i], NULL) == 0);
    }
}

enum { TASKS = 50 };
static long next_task;

/* All tasks of this PE, and then what the others have left. */
static void *do_tasks(void *argument)
{
    long *done = (long *)argument;
    shmem_ctx_t ctx = open_context();
    for (int i = 0; i < pes; i++) {
        while (ON_CTX(long, atomic_fetch_inc)(ctx, &next_task, (me + i) % pes) < TASKS) {
            ++*done;
        }
    }
    close_context(ctx);
    return NULL;
}

static void threads_share_tasks(void)
{
    static long done;
    static long done_by_all;
    long by_thread[THREADS] = {0};
    void *arguments[THREADS];
    next_task = done = 0;
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++) {
        arguments[i] = &by_thread[i];
    }
    in_threads(do_tasks, arguments);
    for (int i = 0; i < THREADS; i++) {
        done += by_thread[i];
    }
    require(ON(long, sum_reduce)(SHMEM_TEAM_WORLD, &done_by_all, &done, 1) == 0);
    require(done_by_all == (long)TASKS * pes);
}

static char shares[PES_MOST][THREADS][64];

/* Fills this PE's part of everybody's array, by a context that ends with the thread. */
static void *send_share(void *argument)
{
    int thread = *(int *)argument;
    char share[64];
    memset(share, 10 * me + thread, sizeof share);
    shmem_ctx_t ctx = open_context();
    for (int pe = 0; pe < pes; pe++) {
        shmem_ctx_putmem(ctx, shares[me][thread], share, sizeof share, pe);
    }
    close_context(ctx);
    return NULL;
}

static void threads_come_and_go(void)
{
    int numbers[THREADS];
    void *arguments[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        arguments[i] = &numbers[i];
    }
    memset(shares, -1, sizeof shares);
    shmem_barrier_all();
    in_threads(send_share, arguments);
    shmem_barrier_all();
    for (int pe = 0; pe < pes; pe++) {
        for (int i = 0; i < THREADS; i++) {
            require(shares[pe][i][0] == 10 * pe + i && shares[pe][i][63] == 10 * pe + i);
        }
    }
}

/* The same numbers are xored into a table twice, within a session; then it is as before. */
static void a_session_of_random_updates(void)
{
    enum { WORDS = 64, UPDATES = 500 };
    uint64_t *table = (uint64_t *)zeros(WORDS, sizeof *table);
    shmem_ctx_session_config_t config;
    shmem_ctx_t ctx;
    require(shmem_ctx_create(0, &ctx) == 0);
    config.total_ops = 2 * UPDATES;
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    for (int time = 0; time < 2; time++) {
        uint64_t random = (uint64_t)me + 1;
        for (int i = 0; i < UPDATES; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            ON_CTX(uint64, atomic_xor)
            (ctx, &table[random >> 58], random, (int)(random >> 32 & 0xffff) % pes);
        }
    }
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_sync_all();
    for (int i = 0; i < WORDS; i++) {
        require(table[i] == 0);
    }
    shmem_ctx_destroy(ctx);
    shmem_free(table);
}

/* ---- Waiting for several words ------------------------------------------------------- */

enum { EACH = 30 };
static int *flags; /* one for each PE, zero at the start */
static int *data;  /* EACH elements for each PE */

static void send_to_all(void)
{
    int mine[EACH];
    flags = (int *)zeros((size_t)pes, sizeof *flags);
    data = (int *)zeros((size_t)(pes * EACH), sizeof *data);
    for (int i = 0; i < EACH; i++) {
        mine[i] = me * EACH + i;
    }
    for (int i = 0; i < pes; i++) {
        ON(int, put)(&data[me * EACH], mine, EACH, (me + i) % pes);
    }
    shmem_fence();
    for (int i = 0; i < pes; i++) {
        ON(int, atomic_set)(&flags[me], 1 + me % 2, (me + i) % pes);
    }
}

static int sum_of(size_t pe)
{
    int sum = 0;
    for (size_t i = 0; i < EACH; i++) {
        sum += data[pe * EACH + i];
    }
    return sum;
}

static void require_all(int sum)
{
    require(sum == EACH * pes * (EACH * pes - 1) / 2);
    shmem_barrier_all();
    shmem_free(data);
    shmem_free(flags);
}

static void all_have_come(void)
{
    int sum = 0;
    send_to_all();
    ON(int, wait_until_all)(flags, (size_t)pes, NULL, SHMEM_CMP_NE, 0);
    for (int pe = 0; pe < pes; pe++) {
        sum += sum_of((size_t)pe);
    }
    require_all(sum);
}

/* A round of one way of finding PEs whose data has come; `find` gives how many. */
static void come_in_any_order(size_t (*find)(size_t *found, const int *status))
{
    int status[PES_MOST] = {0};
    size_t found[PES_MOST];
    int sum = 0;
    send_to_all();
    for (size_t left_over = (size_t)pes; left_over > 0;) {
        size_t count = find(found, status);
        require(count <= left_over);
        for (size_t i = 0; i < count; i++) {
            require(found[i] < (size_t)pes && status[found[i]] == 0);
            status[found[i]] = 1;
            sum += sum_of(found[i]);
        }
        left_over -= count;
    }
    require(find(found, status) == 0);
    require_all(sum);
}

static size_t one_or_none(size_t index, size_t *found)
{
    *found = index;
    return index == SIZE_MAX ? 0 : 1;
}

static size_t by_wait_any(size_t *found, const int *status)
{
    return one_or_none(ON(int, wait_until_any)(flags, (size_t)pes, status, SHMEM_CMP_NE, 0), found);
}

static size_t by_wait_some(size_t *found, const int *status)
{
    return ON(int, wait_until_some)(flags, (size_t)pes, found, status, SHMEM_CMP_NE, 0);
}

static size_t by_test_any(size_t *found, const int *status)
{
    return one_or_none(ON(int, test_any)(flags, (size_t)pes, status, SHMEM_CMP_NE, 0), found);
}

static size_t by_test_some(size_t *found, const int *status)
{
    return ON(int, test_some)(flags, (size_t)pes, found, status, SHMEM_CMP_NE, 0);
}

/* PEs with odd numbers send 2, the others 1. */
static size_t by_wait_any_vector(size_t *found, const int *status)
{
    int wanted[PES_MOST];
    for (int pe = 0; pe < pes; pe++) {
        wanted[pe] = 1 + pe % 2;
    }
    return one_or_none(
        ON(int, wait_until_any_vector)(flags, (size_t)pes, status, SHMEM_CMP_EQ, wanted), found);
}

static void any_comes(void)
{
    come_in_any_order(by_wait_any);
}

static void some_come(void)
{
    come_in_any_order(by_wait_some);
}

static void any_is_seen(void)
{
    come_in_any_order(by_test_any);
}

static void some_are_seen(void)
{
    come_in_any_order(by_test_some);
}

static void any_comes_with_its_own_value(void)
{
    come_in_any_order(by_wait_any_vector);
}

/* A PE polls one word after the other until one of them has changed. */
static void one_of_two_is_tested(void)
{
    static long words[2];
    words[0] = words[1] = 0;
    shmem_barrier_all();
    ON(long, atomic_set)(&words[me % 2], 5 + me, right());
    int at = 0;
    while (!ON(long, test)(&words[at], SHMEM_CMP_NE, 0)) {
        at = 1 - at;
    }
    require(at == left() % 2 && words[at] == 5 + left());
    shmem_barrier_all();
}

/* ---- All ------------------------------------------------------------------------------ */

int main(void)
{
    static const struct pattern patterns[] = {
        PATTERN(two_contexts_take_turns),
        PATTERN(threads_share_tasks),
        PATTERN(threads_come_and_go),
        PATTERN(a_session_of_random_updates),
        PATTERN(all_have_come),
        PATTERN(any_comes),
        PATTERN(some_come),
        PATTERN(any_is_seen),
        PATTERN(some_are_seen),
        PATTERN(any_comes_with_its_own_value),
        PATTERN(one_of_two_is_tested),
    };
    return patterns_main(patterns, sizeof patterns / sizeof patterns[0]);
}
