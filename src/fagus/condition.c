/* Conditions: a queue of waiters in control memory, at one node.
 *
 * A waiter enters where it wants to be told (its node, and a word of its pool memory), while it
 * still holds the variable; then it gives the variable up and sleeps on its own word. A signal
 * takes the oldest entry out and stores 1 there. The queue has a lock of its own, so that signals
 * need not hold the variable. After a death at any step the queue is whole: an entry counts once
 * `tail` has passed it, and is gone once `head` has. */
#include "fagus/handle.h"
#include "fagus/state.h"
#include "fagus/sync.h"
#include "fagus/look.h"
#include "fagus/traced.h"

enum {
    ENTRIES = 1024,  /* waiters of a condition at a time */
    PLACE_BITS = 46, /* of a place in a heap, by the largest group's size */
};
_Static_assert(INNER_NODES_MAX < 1 << (64 - PLACE_BITS), "a rank + 1 fits over a place");

/* In the home node's control memory; with the lock. */
struct queue {
    uint64_t lock;
    uint64_t head; /* entries taken out so far */
    uint64_t tail; /* entries made so far */
    /* rank + 1 over the place of the waiter's word; 0: taken back by the waiter. */
    alignas(CACHE_LINE_BYTES) uint64_t entries[ENTRIES];
};

struct fagus_condition {
    struct fagus_handle handle; /* marked with the space's generation */
    int home;
    struct queue *queue;
    pthread_mutex_t turn; /* the threads of this node have one handle of the lock */
    struct dn_lock *lock;
};

static struct fagus_handles handles = FAGUS_HANDLES(struct fagus_condition);
static uint32_t made_count; /* of conditions so far, on all nodes alike; by collective calls */

/* ---- Making and freeing --------------------------------------------------------------- */

static int create(void *opened, const void *unused)
{
    (void)unused;
    struct fagus_condition *made = opened;
    int error = fagus_agree("fagus_condition_create", NULL, 0);
    void *queue;
    error = error ? error : fagus_control_alloc(sizeof *made->queue, &queue);
    if (error) {
        return error;
    }
    made->queue = queue;
    made->home = (int)(made_count++ % (uint32_t)fagus_state.size);
    (void)pthread_mutex_init(&made->turn, NULL);
    int refused = fagus_error_of(dn_lock_open(
        fagus_state.node, fagus_remote_of(made->home, &made->queue->lock), &made->lock));
    error = fagus_all_or_none(refused);
    if (error) {
        if (!refused) {
            (void)dn_lock_close(made->lock);
        }
        (void)fagus_control_free(queue);
    }
    return error;
}

int fagus_condition_create(struct fagus_condition **condition)
{
    return fagus_handle_create(&handles, condition != NULL, create, NULL, condition);
}

static int destroy(void *opened)
{
    struct fagus_condition *condition = opened;
    const uint64_t number = fagus_place_of(condition->queue);
    int error = fagus_agree("fagus_condition_free", &number, 1);
    if (error) {
        return error;
    }
    (void)fagus_handle_close(&condition->handle, fagus_state.generation);
    (void)dn_lock_close(condition->lock);
    return fagus_control_free(condition->queue);
}

int fagus_condition_free(struct fagus_condition *condition)
{
    return fagus_handle_free(condition, destroy);
}

/* ---- The queue ------------------------------------------------------------------------- */

/* Giving the lock completes what was stored. */
static void queue_give(struct fagus_condition *condition)
{
    (void)dn_lock_give(condition->lock);
    (void)pthread_mutex_unlock(&condition->turn);
}

/* The lock was opened with the node: on that lane its giving completes. */
static int queue_read(const struct fagus_condition *condition, const uint64_t *word,
                      uint64_t *value)
{
    return dn_read_u64(fagus_state.node, fagus_remote_of(condition->home, word), value);
}

static int queue_store(const struct fagus_condition *condition, const uint64_t *word,
                       uint64_t value)
{
    struct dn_remote place = fagus_remote_of(condition->home, word);
    return dn_put_signal(fagus_state.node, place, NULL, 0, place, value);
}

static uint64_t *queue_entry(const struct fagus_condition *condition, uint64_t number)
{
    return &condition->queue->entries[number % ENTRIES];
}

/* Takes the lock and reads where the queue begins and ends. It is whole whatever a dead holder of
 * the lock was doing: see above. */
static int queue_take(struct fagus_condition *condition, uint64_t *head, uint64_t *tail)
{
    (void)pthread_mutex_lock(&condition->turn);
    int error = dn_lock_take(condition->lock, DN_FOREVER);
    if (error && error != DN_EOWNERDEAD) {
        (void)pthread_mutex_unlock(&condition->turn);
        return error;
    }
    error = queue_read(condition, &condition->queue->head, head);
    error = error ? error : queue_read(condition, &condition->queue->tail, tail);
    if (error) {
        queue_give(condition);
    }
    return error;
}

static int enter(struct fagus_condition *condition, uint64_t entry)
{
    uint64_t head;
    uint64_t tail;
    int error = queue_take(condition, &head, &tail);
    if (error) {
        return error;
    }
    error = tail - head == ENTRIES ? DN_EFULL : 0;
    /* Stores of one lane to one node stay in order: the entry is there before it counts. */
    error = error ? error : queue_store(condition, queue_entry(condition, tail), entry);
    error = error ? error : queue_store(condition, &condition->queue->tail, tail + 1);
    queue_give(condition);
    return error;
}

/* Takes a waiter's entry back, if no signal has yet. */
static void take_back(struct fagus_condition *condition, uint64_t entry)
{
    uint64_t head;
    uint64_t tail;
    int error = queue_take(condition, &head, &tail);
    if (error) {
        return; /* the queue's node is gone, and nobody can signal */
    }
    for (uint64_t number = head; !error && number != tail; number++) {
        uint64_t found;
        error = queue_read(condition, queue_entry(condition, number), &found);
        if (!error && found == entry) {
            error = queue_store(condition, queue_entry(condition, number), 0);
        }
    }
    queue_give(condition);
}

/* Tells one waiter; false: nobody is there who could be told. */
static bool wake(uint64_t entry)
{
    if (entry == 0) {
        return false;
    }
    int rank = (int)(entry >> PLACE_BITS) - 1;
    struct dn_remote word = fagus_remote_at(rank, entry & ((UINT64_C(1) << PLACE_BITS) - 1));
    return dn_put_signal(fagus_state.node, word, NULL, 0, word, 1) == 0;
}

static int signal_some(struct fagus_condition *condition, bool all)
{
    uint64_t head;
    uint64_t tail;
    int error = fagus_handle_check(condition);
    if (error) {
        return error;
    }
    error = queue_take(condition, &head, &tail);
    if (error) {
        return fagus_error_of(error);
    }
    bool goes_on = true;
    while (!error && goes_on && head != tail) {
        uint64_t entry = 0;
        error = queue_read(condition, queue_entry(condition, head), &entry);
        head++;
        error = error ? error : queue_store(condition, &condition->queue->head, head);
        if (!error && wake(entry)) {
            goes_on = all;
        }
    }
    queue_give(condition);
    return fagus_error_of(error);
}

int fagus_condition_signal(struct fagus_condition *condition)
{
    FAGUS_TRACED(INNER_TRACE_OTHER, 0, fagus_condition_signal(condition));
    return signal_some(condition, false);
}

int fagus_condition_broadcast(struct fagus_condition *condition)
{
    FAGUS_TRACED(INNER_TRACE_OTHER, 0, fagus_condition_broadcast(condition));
    return signal_some(condition, true);
}

/* ---- Waiting ----------------------------------------------------------------------------- */

static int look(void *context)
{
    return dn_load_u64(context) != 0;
}

static int sleep_on(uint64_t *word)
{
    int error = dn_wait_until_u64(fagus_lane(), word, DN_NE, 0, DN_FOREVER);
    if (error != DN_EPEER) {
        return fagus_error_of(error);
    }
    /* dn_wait_until tells of every death; this thread may know that one already. */
    return fagus_wait(look, word, FAGUS_FOREVER);
}

int fagus_condition_wait(struct fagus_condition *condition, struct fagus_sync *sync)
{
    FAGUS_TRACED(INNER_TRACE_OTHER, 0, fagus_condition_wait(condition, sync));
    int error = fagus_handle_check(condition);
    error = error ? error : fagus_sync_check_writer(sync);
    if (error) {
        return error;
    }
    uint64_t *word = fagus_pool_alloc(sizeof *word);
    if (!word) {
        return FAGUS_ENOMEM;
    }
    __atomic_store_n(word, 0, __ATOMIC_RELAXED); /* ordered by the queue's lock */
    uint64_t entry = ((uint64_t)fagus_state.rank + 1) << PLACE_BITS | fagus_place_of(word);
    error = fagus_error_of(enter(condition, entry));
    if (!error) {
        error = fagus_release(sync);
        int waited = error ? error : sleep_on(word);
        if (waited) {
            take_back(condition, entry);
        }
        if (!error) {
            error = fagus_acquire(sync, FAGUS_WRITE);
            error = error ? error : waited;
        }
    }
    fagus_pool_free(word);
    return error;
}
