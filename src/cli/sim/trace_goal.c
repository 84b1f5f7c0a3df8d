/* Operations of single calls, and the chains of threads; see trace_goal.h.
 *
 *     store, block, message      a send, and a receive at the peer, which the wait that it ended
 *                                consists of; nobody's wait: it is received beside the threads
 *     get, fetching atomic       a request, which a cpu of its own answers at the peer
 *     between calls              calc
 *     inside calls               nothing: that is the machine's affair, here another one's */
#include "cli/sim/trace_goal.h"

#include <stdlib.h>
#include <string.h>

#include "sim/goal/goal_write.h"

enum {
    REQUEST_BYTES = 16,
    FLAG_BYTES = 8,
    SERVICE_CPU_MAX = GOAL_CPUS_MAX - 1,
};

/* ---- Names ---------------------------------------------------------------------------------- */

static enum trace_shape shape_of(const char *name)
{
    static const struct {
        const char *part;
        enum trace_shape shape;
    } parts[] = {
        {"_nbi", TRACE_SHAPE_LATER},
        {"dn_pull", TRACE_SHAPE_LATER},
        {"barrier_arrive", TRACE_SHAPE_ARRIVES},
        {"barrier_wait", TRACE_SHAPE_LEAVES},
        {"barrier_test", TRACE_SHAPE_LEAVES},
        {"broadcast", TRACE_SHAPE_SPREADS},
        {"alltoall", TRACE_SHAPE_SWAPS},
        {"gather", TRACE_SHAPE_SWAPS},
        {"collect", TRACE_SHAPE_SWAPS},
        {"alloc", TRACE_SHAPE_GATHERS},
        {"free", TRACE_SHAPE_GATHERS},
        {"create", TRACE_SHAPE_GATHERS},
        {"fetch", TRACE_SHAPE_FETCHES},
        {"swap", TRACE_SHAPE_FETCHES},
        {"flag_add", TRACE_SHAPE_FETCHES},
        {"lock_take", TRACE_SHAPE_FETCHES},
        {"lock_try", TRACE_SHAPE_FETCHES},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strstr(name, parts[i].part)) {
            return parts[i].shape;
        }
    }
    return TRACE_SHAPE_PLAIN;
}

/* ---- Operations ----------------------------------------------------------------------------- */

uint32_t trace_goal_cpu(uint32_t thread)
{
    return thread < SERVICE_CPU_MAX ? thread : SERVICE_CPU_MAX - 1;
}

uint32_t trace_goal_add(struct trace_goal *made, uint32_t rank,
                        const struct goal_operation *operation)
{
    uint32_t number = TRACE_GOAL_NONE;
    made->is_full = made->is_full || !goal_add(&made->goal, rank, operation, NULL, &number);
    return number;
}

void trace_goal_need(struct trace_goal *made, uint32_t rank, uint32_t operation, uint32_t before)
{
    if (operation != TRACE_GOAL_NONE && before != TRACE_GOAL_NONE) {
        made->is_full = made->is_full || !goal_need(&made->goal, rank, operation, before, false);
    }
}

static uint64_t no_more_than(uint64_t number, uint64_t most)
{
    return number < most ? number : most;
}

/* A send and its receive. */
struct passage {
    uint32_t from, to;
    uint32_t from_cpu, to_cpu;
    uint64_t bytes;
    uint32_t tag;
};

static void pass(struct trace_goal *made, const struct passage *passage, uint32_t *send,
                 uint32_t *receive)
{
    struct goal_operation operation = {
        .kind = GOAL_SEND,
        .peer = passage->to,
        .amount = no_more_than(passage->bytes, GOAL_BYTES_MAX),
        .tag = passage->tag,
        .cpu = passage->from_cpu,
    };
    *send = trace_goal_add(made, passage->from, &operation);
    operation.kind = GOAL_RECEIVE;
    operation.peer = passage->from;
    operation.cpu = passage->to_cpu;
    *receive = trace_goal_add(made, passage->to, &operation);
}

static uint64_t bytes_sent(const struct trace_event *event)
{
    uint64_t flag_bytes = event->kind == HOST_TRACE_PUT_SIGNAL ? FLAG_BYTES : 0;
    return no_more_than(event->bytes, GOAL_BYTES_MAX) + flag_bytes;
}

static void send_one_way(struct trace_goal *made, size_t at)
{
    const struct trace_event *event = &made->events->list[at];
    const struct passage passage = {
        .from = event->rank,
        .to = (uint32_t)event->peer,
        .from_cpu = trace_goal_cpu(event->thread),
        .bytes = bytes_sent(event),
        .tag = event->kind,
    };
    pass(made, &passage, &made->first[at], &made->arrival[at]);
    made->last[at] = made->first[at];
}

/* The peer's NIC answers, whatever its threads do: that is a cpu behind theirs. */
static void send_and_fetch(struct trace_goal *made, size_t at)
{
    const struct trace_event *event = &made->events->list[at];
    uint32_t peer = (uint32_t)event->peer;
    uint32_t service = (uint32_t)no_more_than(made->events->nodes[peer].thread_count,
                                              SERVICE_CPU_MAX);
    uint32_t cpu = trace_goal_cpu(event->thread);
    uint32_t answer;
    if (peer == event->rank) {
        return; /* its own memory */
    }
    const struct passage request = {.from = event->rank,
                                    .to = peer,
                                    .from_cpu = cpu,
                                    .to_cpu = service,
                                    .bytes = REQUEST_BYTES,
                                    .tag = event->kind};
    const struct passage back = {.from = peer,
                                 .to = event->rank,
                                 .from_cpu = service,
                                 .to_cpu = cpu,
                                 .bytes = event->bytes,
                                 .tag = TRACE_GOAL_ANSWER_TAG + event->kind};
    pass(made, &request, &made->first[at], &made->arrival[at]);
    pass(made, &back, &answer, &made->last[at]);
    trace_goal_need(made, peer, answer, made->arrival[at]);
    trace_goal_need(made, event->rank, made->last[at], made->first[at]);
}

static enum trace_shape shape(const struct trace_goal *made, const struct trace_event *event)
{
    return made->shapes[event->name];
}

/* Whether the call brings something back from its peer. */
static bool fetches(const struct trace_goal *made, const struct trace_event *event)
{
    enum trace_shape of = shape(made, event);
    return event->kind == HOST_TRACE_GET ||
           ((event->kind == HOST_TRACE_ATOMIC || event->kind == HOST_TRACE_LOCK) &&
            (of == TRACE_SHAPE_FETCHES || of == TRACE_SHAPE_LATER));
}

static bool sends(const struct trace_events *events, const struct trace_event *event)
{
    switch (event->kind) {
    case HOST_TRACE_STORE:
    case HOST_TRACE_PUT:
    case HOST_TRACE_PUT_SIGNAL:
    case HOST_TRACE_GET:
    case HOST_TRACE_ATOMIC:
    case HOST_TRACE_LOCK:
    case HOST_TRACE_SEND:
        return event->result == 0 && event->peer >= 0 && (uint32_t)event->peer < events->node_count;
    default: return false;
    }
}

static void make_operations(struct trace_goal *made)
{
    for (size_t i = 0; i < made->events->count; i++) {
        const struct trace_event *event = &made->events->list[i];
        if (!sends(made->events, event)) {
            continue;
        }
        if (fetches(made, event)) {
            send_and_fetch(made, i);
        } else {
            send_one_way(made, i);
        }
    }
}

/* ---- Chains --------------------------------------------------------------------------------- */

/* A thread of a rank, as far as it has been chained. */
struct thread {
    uint32_t rank, cpu;
    uint32_t done;    /* the operation that the next one requires */
    uint32_t pending; /* the last answer that nobody has waited for yet */
    bool is_begun;
    uint64_t end_ns; /* of its last call */
};

static void compute(struct trace_goal *made, struct thread *thread, uint64_t ns)
{
    const struct goal_operation operation = {
        .kind = GOAL_CALC, .amount = no_more_than(ns, GOAL_NS_MAX), .cpu = thread->cpu};
    uint32_t number = trace_goal_add(made, thread->rank, &operation);
    trace_goal_need(made, thread->rank, number, thread->done);
    thread->done = number;
}

/* What follows requires this operation, too. */
static void join(struct trace_goal *made, struct thread *thread, uint32_t operation)
{
    if (thread->done == TRACE_GOAL_NONE) {
        thread->done = operation;
    } else if (operation != TRACE_GOAL_NONE && operation != thread->done) {
        compute(made, thread, 0);
        trace_goal_need(made, thread->rank, thread->done, operation);
    }
}

/* The receive of what ended a wait takes the wait's place in the thread, unless another one has
 * it, or it is answered beside the threads. */
static void chain_wait(struct trace_goal *made, struct thread *thread,
                       const struct trace_event *event)
{
    size_t cause = event->cause;
    if (event->result != 0 && !event->is_open) {
        compute(made, thread, event->end_ns - event->begin_ns); /* it gave up, as it would again */
        return;
    }
    uint32_t receive = cause == TRACE_NO_EVENT ? TRACE_GOAL_NONE : made->arrival[cause];
    if (receive == TRACE_GOAL_NONE) {
        return;
    }
    if (made->is_taken[cause] || fetches(made, &made->events->list[cause])) {
        join(made, thread, receive);
        return;
    }
    made->is_taken[cause] = true;
    made->goal.ranks[thread->rank].operations[receive].cpu = thread->cpu;
    trace_goal_need(made, thread->rank, receive, thread->done);
    thread->done = receive;
}

static void chain(struct trace_goal *made, struct thread *thread, size_t at)
{
    const struct trace_event *event = &made->events->list[at];
    uint32_t first = made->first[at];
    uint32_t last = made->last[at];
    if (thread->is_begun && event->begin_ns > thread->end_ns) {
        compute(made, thread, event->begin_ns - thread->end_ns);
    }
    thread->is_begun = true;
    thread->end_ns = event->end_ns;
    trace_goal_need(made, thread->rank, first, thread->done);
    if (event->kind == HOST_TRACE_WAIT || event->kind == HOST_TRACE_RECEIVE) {
        chain_wait(made, thread, event);
    } else if (event->kind == HOST_TRACE_ORDER) {
        join(made, thread, thread->pending);
        thread->pending = TRACE_GOAL_NONE;
    } else if (first == TRACE_GOAL_NONE) {
        join(made, thread, last); /* the second half of a barrier, or nothing */
    } else if (shape(made, event) == TRACE_SHAPE_LATER && last != first) {
        /* Each answer requires the one before: so the last one stands for all. */
        trace_goal_need(made, thread->rank, last, thread->pending);
        thread->pending = last;
        thread->done = first;
    } else {
        thread->done = last != TRACE_GOAL_NONE ? last : first;
    }
    made->last[at] = thread->done;
}

/* False: no memory. */
static bool chain_rank(struct trace_goal *made, uint32_t rank)
{
    const struct trace_node *node = &made->events->nodes[rank];
    struct thread *threads = malloc(((size_t)node->thread_count + 1) * sizeof *threads);
    for (uint32_t i = 0; threads && i < node->thread_count; i++) {
        threads[i] = (struct thread){.rank = rank,
                                     .cpu = trace_goal_cpu(i),
                                     .done = TRACE_GOAL_NONE,
                                     .pending = TRACE_GOAL_NONE};
    }
    for (size_t i = node->first; threads && i < node->first + node->count; i++) {
        chain(made, &threads[made->events->list[i].thread], i);
    }
    free(threads);
    return threads != NULL;
}

/* ---- What nobody waited for ----------------------------------------------------------------- */

/* What a rank had done when something was sent to it. Calls of several threads are not in the order
 * of their ends: then this may find less than there is. */
static uint32_t done_before(const struct trace_goal *made, uint32_t rank, uint64_t time_ns)
{
    const struct trace_node *node = &made->events->nodes[rank];
    size_t low = node->first;
    size_t high = node->first + node->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (made->events->list[middle].end_ns <= time_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low > node->first && made->events->list[low - 1].end_ns <= time_ns;
    return is_found ? made->last[low - 1] : TRACE_GOAL_NONE;
}

/* Such a receive begins when its message is sent, not with the run: a rank polls for what may come
 * soon, not for all that will ever come. */
static void place_arrivals(struct trace_goal *made)
{
    for (size_t i = 0; i < made->events->count; i++) {
        const struct trace_event *event = &made->events->list[i];
        if (made->arrival[i] != TRACE_GOAL_NONE && !made->is_taken[i]) {
            uint32_t rank = (uint32_t)event->peer;
            trace_goal_need(made, rank, made->arrival[i], done_before(made, rank, event->begin_ns));
        }
    }
}

/* ---- The whole ------------------------------------------------------------------------------ */

static bool open_made(struct trace_goal *made, const struct trace_events *events)
{
    size_t count = events->count + 1;
    *made = (struct trace_goal){
        .events = events,
        .shapes = calloc((size_t)events->name_count + 1, sizeof *made->shapes),
        .first = malloc(count * sizeof *made->first),
        .last = malloc(count * sizeof *made->last),
        .arrival = malloc(count * sizeof *made->arrival),
        .is_taken = calloc(count, sizeof *made->is_taken),
    };
    goal_open(&made->goal, events->node_count);
    if (!made->shapes || !made->first || !made->last || !made->arrival || !made->is_taken) {
        return false;
    }
    for (uint32_t i = 0; i < events->name_count; i++) {
        made->shapes[i] = shape_of(events->names[i].text);
    }
    for (size_t i = 0; i < count; i++) {
        made->first[i] = made->last[i] = made->arrival[i] = TRACE_GOAL_NONE;
    }
    return true;
}

static void close_made(struct trace_goal *made)
{
    goal_close(&made->goal);
    free(made->shapes);
    free(made->first);
    free(made->last);
    free(made->arrival);
    free(made->is_taken);
}

/* False: no memory. */
static bool make(struct trace_goal *made, const struct trace_events *events)
{
    bool has_memory = open_made(made, events);
    if (has_memory) {
        make_operations(made);
        has_memory = trace_goal_groups(made);
    }
    for (uint32_t rank = 0; rank < events->node_count && has_memory; rank++) {
        has_memory = chain_rank(made, rank);
    }
    if (has_memory) {
        place_arrivals(made);
    }
    return has_memory;
}

bool trace_goal_write(const struct trace_events *events, FILE *file, uint64_t *operations,
                      char error[TRACE_ERROR_BYTES])
{
    struct trace_goal made;
    char reason[GOAL_ERROR_BYTES];
    bool is_good = false;
    if (!make(&made, events)) {
        (void)snprintf(error, TRACE_ERROR_BYTES, "no memory");
    } else if (made.is_full) {
        (void)snprintf(error, TRACE_ERROR_BYTES,
                       "it has more than the %d operations that a schedule may have: record fewer "
                       "calls (--trace-records)",
                       GOAL_OPERATIONS_MAX);
    } else if (!goal_check(&made.goal, reason)) {
        (void)snprintf(error, TRACE_ERROR_BYTES, "%s", reason);
    } else {
        is_good = true;
        *operations = made.goal.operation_count;
        goal_write(file, &made.goal);
    }
    close_made(&made);
    return is_good;
}
