/* Conditions: nodes and threads that wait for what others do under a synchronisation variable. */
#include "fagus_live.h"

enum { ROOM = 8, ITEMS = 200, THREADS = 3 };

/* What the variable guards: a queue of work. */
struct work {
    uint64_t taken, made;
    uint64_t sum;     /* of what was taken */
    uint64_t waiting; /* waiters so far */
    uint64_t turn;
    uint64_t items[ROOM];
};

static struct work *work;
static struct fagus_sync *variable;
static struct fagus_condition *not_empty;
static struct fagus_condition *not_full;

static void set_up(void)
{
    work = fagus_get(sizeof *work, 0);
    fagus_expect(fagus_sync_create(&variable), 0);
    fagus_expect(fagus_bind(variable, work, sizeof *work), 0);
    fagus_expect(fagus_condition_create(&not_empty), 0);
    fagus_expect(fagus_condition_create(&not_full), 0);
}

static void tear_down(void)
{
    fagus_expect(fagus_condition_free(not_empty), 0);
    fagus_expect(fagus_condition_free(not_full), 0);
    fagus_expect(fagus_sync_free(variable), 0);
    fagus_expect(fagus_free(work), 0);
}

static void *produce(void *unused)
{
    (void)unused;
    for (uint64_t i = 1; i <= ITEMS; i++) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        while (work->made - work->taken == ROOM) {
            fagus_expect(fagus_condition_wait(not_full, variable), 0);
        }
        work->items[work->made++ % ROOM] = i;
        fagus_expect(fagus_condition_signal(not_empty), 0);
        fagus_expect(fagus_release(variable), 0);
    }
    return NULL;
}

static void *consume(void *unused)
{
    (void)unused;
    for (int i = 0; i < ITEMS; i++) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        while (work->made == work->taken) {
            fagus_expect(fagus_condition_wait(not_empty, variable), 0);
        }
        work->sum += work->items[work->taken++ % ROOM];
        fagus_expect(fagus_release(variable), 0);
        /* Also without holding it. */
        fagus_expect(fagus_condition_signal(not_full), 0);
    }
    return NULL;
}

/* Every node makes and takes as much. No waiter may miss its signal. */
static void a_queue_of_work_is_emptied(void)
{
    struct fagus_thread *producer;
    set_up();
    fagus_expect(fagus_thread_create(&producer, produce, NULL), 0);
    (void)consume(NULL);
    fagus_expect(fagus_thread_join(producer, NULL), 0);
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_acquire(variable, FAGUS_READ), 0);
    uint64_t all = (uint64_t)me.size * ITEMS;
    require(work->made == all && work->taken == all);
    require(work->sum == (uint64_t)me.size * (ITEMS * (ITEMS + 1) / 2));
    fagus_expect(fagus_release(variable), 0);
    tear_down();
}

/* Waits for its turn to come. */
static void *wait_for_turn(void *unused)
{
    (void)unused;
    fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
    work->waiting++;
    while (work->turn == 0) {
        fagus_expect(fagus_condition_wait(not_empty, variable), 0);
    }
    fagus_expect(fagus_release(variable), 0);
    return NULL;
}

static void a_broadcast_wakes_everybody(void)
{
    set_up();
    struct fagus_thread *threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        fagus_expect(fagus_thread_create(&threads[i], wait_for_turn, NULL), 0);
    }
    while (me.rank == 0) {
        fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
        bool all = work->waiting == (uint64_t)(THREADS * me.size);
        work->turn = all;
        fagus_expect(fagus_release(variable), 0);
        if (all) {
            fagus_expect(fagus_condition_broadcast(not_empty), 0);
            break;
        }
        live_sleep_ns(LIVE_MS);
    }
    for (int i = 0; i < THREADS; i++) {
        fagus_expect(fagus_thread_join(threads[i], NULL), 0);
    }
    tear_down();
}

/* One signal wakes one waiter: a turn that goes round comes to each of them. */
static void signals_wake_one_each(void)
{
    set_up();
    fagus_expect(fagus_acquire(variable, FAGUS_WRITE), 0);
    work->waiting++;
    uint64_t mine = work->waiting;
    if (mine < (uint64_t)me.size) {
        while (work->turn == 0) {
            fagus_expect(fagus_condition_wait(not_empty, variable), 0);
        }
        require(work->turn <= (uint64_t)me.size);
    }
    /* The last to come begins; each thread that is woken wakes the next. */
    work->turn++;
    fagus_expect(fagus_condition_signal(not_empty), 0);
    fagus_expect(fagus_release(variable), 0);
    fagus_expect(comm_sync(), 0);
    fagus_expect(fagus_acquire(variable, FAGUS_READ), 0);
    require(work->turn == (uint64_t)me.size);
    fagus_expect(fagus_release(variable), 0);
    tear_down();
}

static void mistakes_are_named(void)
{
    set_up();
    fagus_expect(fagus_condition_wait(not_empty, variable), FAGUS_ENOTHELD);
    fagus_expect(fagus_condition_wait(NULL, variable), FAGUS_EINVAL);
    fagus_expect(fagus_condition_signal(NULL), FAGUS_EINVAL);
    fagus_expect(fagus_condition_broadcast(NULL), FAGUS_EINVAL);
    fagus_expect(fagus_condition_create(NULL), FAGUS_EINVAL);
    fagus_expect(fagus_condition_free(NULL), FAGUS_EINVAL);
    /* Nobody waits: nothing happens, and the signal is not kept. */
    fagus_expect(fagus_condition_signal(not_empty), 0);
    fagus_expect(fagus_condition_broadcast(not_empty), 0);
    fagus_expect(comm_sync(), 0);
    struct fagus_condition *freed;
    fagus_expect(fagus_condition_create(&freed), 0);
    fagus_expect(fagus_condition_free(freed), 0);
    fagus_expect(fagus_condition_signal(freed), FAGUS_EINVAL);
    fagus_expect(fagus_condition_wait(freed, variable), FAGUS_EINVAL);
    tear_down();
}

static const struct live_check checks[] = {
    LIVE_CHECK(1, a_queue_of_work_is_emptied),
    LIVE_CHECK(1, a_broadcast_wakes_everybody),
    LIVE_CHECK(1, signals_wake_one_each),
    LIVE_CHECK(1, mistakes_are_named),
};

int main(int argc, char **argv)
{
    return fagus_main(argc, argv, checks, LIVE_COUNT(checks));
}
