/* Puts operations off and carries them out in any order that is allowed.
 *
 * Every lane has a bounded table of operations. A submitted one is
 *   LATER   while an earlier epoch (dn_fence starts one) has operations to the same target,
 *   BEHIND  else, while it is ordered and not the first ordered one there, or is a flag
 *           whose body is missing,
 *   READY   else.
 * Nothing else orders anything: chance picks the next READY operation. It is carried out by a
 * thread of this file after a short random time, or by a caller that needs the room, needs it
 * done (dn_quiet, fetching atomics) or is told to by chance.
 *
 * What an operation waits for was submitted before it, so as long as any operation is
 * outstanding the oldest one is READY, and every loop below ends.
 *
 * One lock guards everything in this file, the carrying out included: an operation is
 * outstanding or done, never under way, when somebody else looks. */
#define _GNU_SOURCE
#include "fabric/relax/relax.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/pool.h"
#include "base/random.h"
#include "fabric/in_place.h"

enum {
    OPERATIONS = 1024,       /* outstanding on a lane at most */
    PAYLOAD_BYTES = 4 << 20, /* copied for them at most */
    DELAY_NS = 200 * 1000,   /* of the thread at most */
    TIMER_SLACK_NS = 1000,
    CALLER_CHANCE = 8, /* one call in so many carries something out itself */
};

enum kind {
    STORE, /* AOTF: ordered, wakes nobody */
    BLOCK, /* BOTF: ordered */
    BODY,  /* of a put-with-signal */
    FLAG,  /* of a put-with-signal: ordered, and after its body */
    PUSH,
    PULL,
    ATOMIC,
};

enum state { UNUSED, LATER, BEHIND, READY };

struct operation {
    enum kind kind;
    enum state state;
    uint32_t rank;        /* the target */
    uint32_t ready_index; /* READY; UNUSED: the pool's */
    uint64_t epoch;
    struct operation *next; /* in the one queue or list that it is in */

    unsigned char *to;
    const void *from;
    void *copy; /* what `from` points to if this layer owns it, else NULL */
    uint64_t bytes;
    uint64_t value; /* to be stored, or an atomic's operand */
    uint64_t expected;
    enum wire_atomic atomic;
    uint64_t *old;    /* set only for a caller that waits */
    struct dn_op *op; /* may be NULL */

    struct operation *flag; /* of a BODY: what waits for it */
    bool body_is_missing;   /* of a FLAG */
};

struct queue {
    struct operation *first;
    struct operation *last;
};

/* A lane's operations to one rank. */
struct target {
    uint64_t epoch;          /* of the admitted ones, the oldest outstanding */
    uint32_t admitted_count; /* BEHIND or READY; 0 only when `later` is empty */
    struct queue ordered;    /* the admitted ones of the ordered class */
    struct queue later;
};

struct relax_lane {
    struct fabric_lane *lane;
    struct relax_lane *next;
    uint64_t epoch;
    uint64_t payload_bytes;
    struct base_pool pool; /* of the operations */
    uint32_t ready_count;
    struct operation *ready[OPERATIONS];
    struct operation operations[OPERATIONS];
    struct target targets[]; /* one for each rank */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* something is outstanding, or the thread is to end */
    pthread_t thread;
    bool is_running;
    bool is_stopping;
    bool is_idle; /* the thread waits for `work` */
    struct base_random random;
    struct relax_lane *lanes;
} relax = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

/* ---- What may be next ---------------------------------------------------- */

static void queue_append(struct queue *queue, struct operation *operation)
{
    operation->next = NULL;
    if (queue->first) {
        queue->last->next = operation;
    } else {
        queue->first = operation;
    }
    queue->last = operation;
}

static struct operation *queue_pop(struct queue *queue)
{
    struct operation *operation = queue->first;
    queue->first = operation->next;
    return operation;
}

static bool is_ordered(enum kind kind)
{
    return kind == STORE || kind == BLOCK || kind == FLAG;
}

static void make_ready(struct relax_lane *state, struct operation *operation)
{
    INVARIANT(operation->state == BEHIND && state->ready_count < OPERATIONS);
    operation->state = READY;
    operation->ready_index = state->ready_count;
    state->ready[state->ready_count++] = operation;
}

/* Makes the first ordered operation of a target ready if nothing holds it back. */
static void promote(struct relax_lane *state, struct target *target)
{
    struct operation *first = target->ordered.first;
    if (first && first->state == BEHIND && !first->body_is_missing) {
        make_ready(state, first);
    }
}

static void admit(struct relax_lane *state, struct target *target, struct operation *operation)
{
    INVARIANT(operation->epoch == target->epoch);
    target->admitted_count++;
    operation->state = BEHIND;
    if (is_ordered(operation->kind)) {
        queue_append(&target->ordered, operation);
        promote(state, target);
    } else {
        make_ready(state, operation);
    }
}

static void submit(struct relax_lane *state, struct operation *operation)
{
    struct target *target = &state->targets[operation->rank];
    operation->epoch = state->epoch;
    if (target->admitted_count == 0) {
        INVARIANT(!target->later.first);
        target->epoch = state->epoch;
    }
    if (target->epoch == state->epoch) {
        admit(state, target, operation);
    } else {
        operation->state = LATER;
        queue_append(&target->later, operation);
    }
}

/* Takes an operation that was carried out off the table; what it held back moves up. */
static void retire(struct relax_lane *state, struct operation *operation)
{
    struct target *target = &state->targets[operation->rank];
    struct operation *moved = state->ready[--state->ready_count];
    state->ready[operation->ready_index] = moved;
    moved->ready_index = operation->ready_index;

    if (is_ordered(operation->kind)) {
        INVARIANT(target->ordered.first == operation);
        (void)queue_pop(&target->ordered);
        promote(state, target);
    }
    if (operation->flag) {
        operation->flag->body_is_missing = false;
        promote(state, &state->targets[operation->flag->rank]);
    }
    target->admitted_count--;
    if (target->admitted_count == 0 && target->later.first) {
        target->epoch = target->later.first->epoch;
        while (target->later.first && target->later.first->epoch == target->epoch) {
            admit(state, target, queue_pop(&target->later));
        }
    }

    if (operation->copy) {
        free(operation->copy);
        state->payload_bytes -= operation->bytes;
    }
    operation->state = UNUSED;
    base_pool_give_line(&state->pool, operation);
}

/* ---- Carrying out -------------------------------------------------------- */

static void run_atomic(const struct operation *operation)
{
    uint64_t old = nic_apply(operation->to, operation->atomic, (unsigned)operation->bytes,
                             operation->value, operation->expected);
    if (operation->old) {
        *operation->old = old;
    }
}

/* Does the work and wakes the target's sleepers where fabric/in_place.h would. */
static void run(const struct fabric_lane *lane, const struct operation *operation)
{
    bool wakes = true;
    switch (operation->kind) {
    case STORE:
        nic_store_word(operation->to, operation->value, (unsigned)operation->bytes);
        wakes = false;
        break;
    case BLOCK:
    case BODY: nic_store_block(operation->to, operation->from, operation->bytes); break;
    case FLAG: nic_store_word(operation->to, operation->value, sizeof operation->value); break;
    case PUSH:
    case PULL:
        if (operation->bytes != 0) {
            memmove(operation->to, operation->from, operation->bytes);
        }
        wakes = operation->kind == PUSH;
        break;
    case ATOMIC:
        run_atomic(operation);
        wakes = operation->atomic != WIRE_READ;
        break;
    }
    if (wakes) {
        in_place_notify(lane, (int)operation->rank, operation->to, operation->bytes);
    }
}

static void carry_out(struct relax_lane *state, struct operation *operation)
{
    INVARIANT(operation->state == READY);
    struct dn_op *op = operation->op;
    run(state->lane, operation);
    retire(state, operation);
    if (op) {
        fabric_op_finish(op);
    }
}

static void carry_out_any(struct relax_lane *state)
{
    INVARIANT(state->ready_count > 0);
    carry_out(state, state->ready[base_random_below(&relax.random, state->ready_count)]);
}

/* Carries out one to this rank if there is one, so that other targets are not ordered by it. */
static void carry_out_towards(struct relax_lane *state, uint32_t rank)
{
    uint32_t count = 0;
    struct operation *chosen = NULL;
    for (uint32_t i = 0; i < state->ready_count; i++) {
        if (state->ready[i]->rank == rank && base_random_below(&relax.random, ++count) == 0) {
            chosen = state->ready[i];
        }
    }
    if (chosen) {
        carry_out(state, chosen);
    } else {
        carry_out_any(state);
    }
}

/* Carries out an operation, and before it only what must precede it. */
static void carry_out_now(struct relax_lane *state, struct operation *operation)
{
    while (operation->state != READY) {
        carry_out_towards(state, operation->rank);
    }
    carry_out(state, operation);
}

static void carry_out_all(struct relax_lane *state)
{
    while (state->pool.taken > 0) {
        carry_out_any(state);
    }
}

/* ---- Entering and leaving a call ----------------------------------------- */

/* Takes the lock, with room for a body, a flag and this much payload. */
static struct relax_lane *enter(const struct fabric_lane *lane, uint64_t payload_bytes)
{
    struct relax_lane *state = lane->state;
    pthread_mutex_lock(&relax.lock);
    while (
        base_pool_left(&state->pool) < 2 ||
        (payload_bytes <= PAYLOAD_BYTES && state->payload_bytes > PAYLOAD_BYTES - payload_bytes)) {
        carry_out_any(state);
    }
    return state;
}

static void leave(struct relax_lane *state)
{
    if (state->ready_count > 0 && base_random_below(&relax.random, CALLER_CHANCE) == 0) {
        carry_out_any(state);
    }
    if (relax.is_idle && state->ready_count > 0) {
        pthread_cond_signal(&relax.work);
    }
    pthread_mutex_unlock(&relax.lock);
}

static struct operation *prepare(struct relax_lane *state, enum kind kind, int rank, void *to,
                                 const void *from, uint64_t bytes)
{
    struct operation *operation = base_pool_take_line(&state->pool);
    INVARIANT(operation && operation->state == UNUSED);
    *operation = (struct operation){
        .kind = kind, .rank = (uint32_t)rank, .to = to, .from = from, .bytes = bytes};
    return operation;
}

/* Submits an operation whose source the caller may reuse at return: with a copy of
 * it, or, where it is too large for that, by carrying it out at once. */
static void submit_copied(struct relax_lane *state, struct operation *operation)
{
    if (operation->bytes != 0) {
        operation->copy = operation->bytes <= PAYLOAD_BYTES ? malloc(operation->bytes) : NULL;
        if (!operation->copy) {
            submit(state, operation);
            carry_out_now(state, operation);
            return;
        }
        memcpy(operation->copy, operation->from, operation->bytes);
        operation->from = operation->copy;
        state->payload_bytes += operation->bytes;
    }
    submit(state, operation);
}

/* ---- The fabric's operations ---------------------------------------------- */

static int relax_lane_open(struct fabric_lane *lane)
{
    struct relax_lane *state = calloc(1,
                                      sizeof *state + lane->node_count * sizeof state->targets[0]);
    if (!state) {
        return DN_ENOMEM;
    }
    state->lane = lane;
    base_pool_init(&state->pool, state->operations, sizeof state->operations[0],
                   offsetof(struct operation, ready_index), OPERATIONS);
    lane->state = state;
    pthread_mutex_lock(&relax.lock);
    INVARIANT(relax.is_running);
    state->next = relax.lanes;
    relax.lanes = state;
    pthread_mutex_unlock(&relax.lock);
    return 0;
}

static void relax_lane_close(struct fabric_lane *lane)
{
    struct relax_lane *state = lane->state;
    pthread_mutex_lock(&relax.lock);
    carry_out_all(state);
    struct relax_lane **link = &relax.lanes;
    while (*link != state) {
        link = &(*link)->next;
    }
    *link = state->next;
    pthread_mutex_unlock(&relax.lock);
    lane->state = NULL;
    free(state);
}

static int relax_store(struct fabric_lane *lane, struct dn_remote remote, uint64_t value,
                       unsigned bytes)
{
    void *word;
    int error = in_place_reach_word(lane, remote, bytes, DN_WRITE, &word);
    if (error) {
        return error;
    }
    struct relax_lane *state = enter(lane, 0);
    struct operation *store = prepare(state, STORE, remote.rank, word, NULL, bytes);
    store->value = value;
    submit(state, store);
    leave(state);
    return 0;
}

static int relax_botf(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                      size_t bytes)
{
    unsigned char *target;
    int error = in_place_reach(lane, remote, bytes, DN_WRITE, &target);
    if (error) {
        return error;
    }
    struct relax_lane *state = enter(lane, bytes);
    submit_copied(state, prepare(state, BLOCK, remote.rank, target, source, bytes));
    leave(state);
    return 0;
}

static int relax_put_signal(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                            size_t bytes, struct dn_remote flag, uint64_t value)
{
    unsigned char *target;
    void *word;
    int error = in_place_reach(lane, remote, bytes, DN_WRITE, &target);
    if (error) {
        return error;
    }
    error = in_place_reach_word(lane, flag, sizeof value, DN_WRITE, &word);
    if (error) {
        return error;
    }
    struct relax_lane *state = enter(lane, bytes);
    struct operation *body = prepare(state, BODY, remote.rank, target, source, bytes);
    struct operation *signal = prepare(state, FLAG, flag.rank, word, NULL, sizeof value);
    signal->value = value;
    signal->body_is_missing = true;
    body->flag = signal;
    submit_copied(state, body);
    submit(state, signal);
    leave(state);
    return 0;
}

/* A PUSH or a PULL. */
static int transfer(struct fabric_lane *lane, struct dn_remote remote, enum kind kind, void *local,
                    size_t bytes, struct dn_op *op)
{
    unsigned char *place;
    int error = in_place_reach(lane, remote, bytes, kind == PUSH ? DN_WRITE : DN_READ, &place);
    if (error) {
        return error;
    }
    struct relax_lane *state = enter(lane, 0);
    struct operation *transfer = prepare(state, kind, remote.rank, kind == PUSH ? place : local,
                                         kind == PUSH ? local : place, bytes);
    if (op) {
        fabric_op_begin(op, lane);
        transfer->op = op;
    }
    submit(state, transfer);
    leave(state);
    return 0;
}

static int relax_push(struct fabric_lane *lane, struct dn_remote remote, const void *source,
                      size_t bytes, struct dn_op *op)
{
    return transfer(lane, remote, PUSH, (void *)(uintptr_t)source, bytes, op);
}

static int relax_pull(struct fabric_lane *lane, struct dn_remote remote, void *target, size_t bytes,
                      struct dn_op *op)
{
    return transfer(lane, remote, PULL, target, bytes, op);
}

static int relax_atomic(struct fabric_lane *lane, struct dn_remote remote,
                        enum wire_atomic operation, unsigned bytes, uint64_t operand,
                        uint64_t expected, uint64_t *old)
{
    void *word;
    int error = in_place_reach_word(lane, remote, bytes, nic_atomic_right(operation), &word);
    if (error) {
        return error;
    }
    struct relax_lane *state = enter(lane, 0);
    struct operation *atomic = prepare(state, ATOMIC, remote.rank, word, NULL, bytes);
    atomic->atomic = operation;
    atomic->value = operand;
    atomic->expected = expected;
    atomic->old = old;
    submit(state, atomic);
    if (old) {
        carry_out_now(state, atomic);
    }
    leave(state);
    return 0;
}

static int relax_fence(struct fabric_lane *lane)
{
    struct relax_lane *state = enter(lane, 0);
    state->epoch++;
    leave(state);
    fabric_wake_stored_to(lane);
    return 0;
}

static int relax_quiet(struct fabric_lane *lane)
{
    struct relax_lane *state = enter(lane, 0);
    carry_out_all(state);
    leave(state);
    return in_place_fence(lane);
}

const struct fabric_ops relax_ops = {
    .intercepts = true,
    .lane_open = relax_lane_open,
    .lane_close = relax_lane_close,
    .store = relax_store,
    .botf = relax_botf,
    .put_signal = relax_put_signal,
    .push = relax_push,
    .pull = relax_pull,
    .atomic = relax_atomic,
    .fence = relax_fence,
    .quiet = relax_quiet,
};

/* ---- The thread ----------------------------------------------------------- */

static uint64_t outstanding_count(void)
{
    uint64_t count = 0;
    for (const struct relax_lane *state = relax.lanes; state; state = state->next) {
        count += state->pool.taken;
    }
    return count;
}

static uint64_t ready_count(void)
{
    uint64_t count = 0;
    for (const struct relax_lane *state = relax.lanes; state; state = state->next) {
        count += state->ready_count;
    }
    return count;
}

/* Carries out one operation of any lane, each READY one as likely as the others. */
static void carry_out_anywhere(void)
{
    uint64_t chosen = base_random_below(&relax.random, ready_count());
    struct relax_lane *state = relax.lanes;
    while (chosen >= state->ready_count) {
        chosen -= state->ready_count;
        state = state->next;
    }
    carry_out(state, state->ready[chosen]);
}

/* Short times are more likely than long ones: programs that wait for every single
 * operation should not take for ever. */
static struct timespec random_delay(void)
{
    uint64_t limit_ns = 1 + base_random_below(&relax.random, DELAY_NS);
    return (struct timespec){.tv_nsec = (long)base_random_below(&relax.random, limit_ns)};
}

static void *work(void *argument)
{
    (void)argument;
    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    pthread_mutex_lock(&relax.lock);
    while (!relax.is_stopping) {
        if (outstanding_count() == 0) {
            relax.is_idle = true;
            pthread_cond_wait(&relax.work, &relax.lock);
            relax.is_idle = false;
            continue;
        }
        struct timespec delay = random_delay();
        pthread_mutex_unlock(&relax.lock);
        (void)nanosleep(&delay, NULL);
        pthread_mutex_lock(&relax.lock);
        /* A random part of them: a long queue ends soon, and any two operations may
         * be a delay apart. */
        uint64_t count = outstanding_count();
        count = count == 0 ? 0 : 1 + base_random_below(&relax.random, count);
        for (; count > 0; count--) {
            carry_out_anywhere();
        }
    }
    pthread_mutex_unlock(&relax.lock);
    return NULL;
}

/* The thread takes no signal but the one by which the host stops whoever may write the program's
 * memory. The seed makes its choices repeatable, as far as threads are. */
static int start(const struct fabric_start *start)
{
    INVARIANT(!relax.is_running && !relax.lanes);
    relax.random.state = start->seed;
    relax.is_stopping = false;
    int error = fabric_thread_start(&relax.thread, work, NULL, start->stop_signal);
    relax.is_running = !error;
    return error;
}

static void stop(void)
{
    if (!relax.is_running) {
        return;
    }
    INVARIANT(!relax.lanes);
    pthread_mutex_lock(&relax.lock);
    relax.is_stopping = true;
    pthread_cond_signal(&relax.work);
    pthread_mutex_unlock(&relax.lock);
    pthread_join(relax.thread, NULL);
    relax.is_running = false;
}

const struct fabric relax_fabric = {
    .ops = &relax_ops,
    .start = start,
    .stop = stop,
};
