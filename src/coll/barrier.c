/* Arriving, waiting for the others, waking them. */
#include "coll/barrier.h"

#include "host/clock.h"
#include "host/wait.h"

struct passage {
    const struct nic_barrier *barrier;
    uint32_t node_count;
    uint32_t phase;
    uint32_t next;
};

static bool passed(void *context)
{
    struct passage *passage = context;
    return nic_barrier_passed(passage->barrier, passage->node_count, passage->phase,
                              &passage->next);
}

static bool broken(const struct dn_node *node, void *context, bool forever)
{
    const struct passage *passage = context;
    (void)forever;
    return nic_barrier_broken(&node->process->view, passage->barrier, passage->phase);
}

/* Whoever sees the barrier complete wakes those who sleep in it. */
static void wake_sleepers(const struct nic_view *view)
{
    for (uint32_t first = 0; first < view->node_count; first += 64) {
        uint64_t sleeping = atomic_load_explicit(&view->group->sleeping[first / 64],
                                                 memory_order_relaxed);
        for (; UNLIKELY(sleeping != 0); sleeping &= sleeping - 1) {
            fabric_wake(view, first + (uint32_t)__builtin_ctzll(sleeping));
        }
    }
}

static bool turn_is_free(void *context)
{
    _Atomic uint32_t *turn = context;
    return atomic_load_explicit(turn, memory_order_relaxed) == 0;
}

/* What is left of a time-out at its deadline's clock; for ever stays for ever. */
static uint64_t left_ns(uint64_t deadline_ns)
{
    uint64_t now_ns = host_now_ns();
    if (deadline_ns == UINT64_MAX) {
        return DN_FOREVER;
    }
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

/* One collective call at a time in a node. Acquire pairs with the release that gives
 * the turn up. The wait for the turn is part of the time-out. */
static int take_turn(struct dn_node *node, uint64_t *timeout_ns)
{
    _Atomic uint32_t *turn = &node->process->collective_turn;
    if (LIKELY(atomic_exchange_explicit(turn, 1, memory_order_acquire) == 0)) {
        return 0;
    }
    uint64_t deadline_ns = host_deadline_ns(host_now_ns(), *timeout_ns);
    do {
        struct host_condition condition = {turn_is_free, host_nobody_left, turn, NIC_WATCH_NOTHING};
        int error = host_wait(node, &condition, left_ns(deadline_ns));
        if (error) {
            return error;
        }
    } while (atomic_exchange_explicit(turn, 1, memory_order_acquire) != 0);
    *timeout_ns = left_ns(deadline_ns);
    return 0;
}

static void give_turn(struct dn_node *node)
{
    atomic_store_explicit(&node->process->collective_turn, 0, memory_order_release);
}

/* What this node sent on any lane is complete before it arrives. On a direct fabric
 * the arrival's release store orders it already. */
static int complete_all_lanes(struct dn_node *node)
{
    int error = 0;
    if (node->lane.ops) {
        struct host_process *process = node->process;
        error = node->lane.ops->quiet(&process->default_lane->lane);
        pthread_mutex_lock(&process->table_lock);
        for (struct dn_node *lane = process->lanes; lane && !error; lane = lane->next) {
            if (host_node_open(lane)) {
                error = lane->lane.ops->quiet(&lane->lane);
            }
        }
        pthread_mutex_unlock(&process->table_lock);
    }
    return error;
}

static int arrive_and_pass(struct dn_node *node, uint64_t timeout_ns)
{
    struct host_process *process = node->process;
    const struct nic_view *view = &process->view;
    if (LIKELY(!process->arrival_is_open)) {
        int error = complete_all_lanes(node);
        if (error) {
            return error;
        }
        nic_barrier_arrive(&process->barrier, view->rank, ++process->phase);
        process->arrival_is_open = true;
    }
    struct passage passage = {&process->barrier, view->node_count, process->phase, 0};
    int error = 0;
    if (fabric_stored_to_sleeps(&node->lane)) {
        fabric_wake_stored_to(&node->lane);
    }
    bool done = passed(&passage);
    if (!done && host_close_polls_fit(node, timeout_ns)) {
        for (int poll = 0; poll < HOST_CLOSE_POLLS && !done; poll++) {
            cpu_relax_briefly();
            done = passed(&passage);
        }
    }
    if (!done) {
        struct host_condition condition = {passed, broken, &passage, NIC_WATCH_NOTHING};
        error = host_wait(node, &condition, timeout_ns);
    }
    if (!error) {
        process->arrival_is_open = false;
        wake_sleepers(view);
    }
    return error;
}

int coll_barrier(struct dn_node *node, uint64_t timeout_ns)
{
    int error = take_turn(node, &timeout_ns);
    if (!error) {
        error = arrive_and_pass(node, timeout_ns);
        give_turn(node);
    }
    return error;
}

/* Two slots by the phase's parity: a fast node writes the next one while a slow one
 * still reads this one, and cannot be two ahead. */
static _Atomic uint64_t *argument_slot(struct dn_node *node, uint32_t rank, uint32_t phase)
{
    return &node->process->view.ports[rank].collective_argument[phase % 2];
}

static int compare_arguments(struct dn_node *node, uint64_t argument)
{
    const struct host_process *process = node->process;
    for (uint32_t rank = 0; rank < process->view.node_count; rank++) {
        /* Ordered by the barrier just passed. */
        if (atomic_load_explicit(argument_slot(node, rank, process->phase),
                                 memory_order_relaxed) != argument) {
            return DN_EMISMATCH;
        }
    }
    return 0;
}

static int agree_with_turn(struct dn_node *node, const struct coll_call *call)
{
    struct host_process *process = node->process;
    if (process->arrival_is_open) {
        /* A barrier that timed out is still open; this call cannot stand for it. One that
         * a death broke stays open for ever. */
        return nic_barrier_broken(&process->view, &process->barrier, process->phase)
                   ? DN_EPEER
                   : DN_EMISMATCH;
    }
    /* A node that is in a plain barrier instead leaves the word of two phases ago, maybe
     * of the same call; with the phase in it no old word equals a new one. */
    uint64_t argument =
        call->argument(node, call->context) + UINT64_C(0x9e3779b97f4a7c15) * (process->phase + 1);
    atomic_store_explicit(argument_slot(node, process->view.rank, process->phase + 1), argument,
                          memory_order_relaxed);
    KILL_POINT("collective: argument written");
    int error = arrive_and_pass(node, DN_FOREVER);
    error = error ? error : compare_arguments(node, argument);
    return error ? error : call->run(node, call->context);
}

int coll_agree(struct dn_node *node, const struct coll_call *call)
{
    uint64_t timeout_ns = DN_FOREVER;
    int error = take_turn(node, &timeout_ns);
    if (!error) {
        error = agree_with_turn(node, call);
        give_turn(node);
    }
    return error;
}
