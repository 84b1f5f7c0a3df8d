/* The stages of waiting. */
#define _GNU_SOURCE
#include "host/wait.h"

#include <linux/membarrier.h>

#include "fabric/futex.h"
#include "fabric/ladder.h"
#include "host/clock.h"

/* How many looks between two at the clock. A look that drives takes a system call. */
enum { SPINS_PER_CLOCK = 64, YIELDS_PER_CLOCK = 16, DRIVES_PER_CLOCK = 8 };

void host_wait_prepare(void)
{
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

bool host_nobody_left(const struct dn_node *node, void *context, bool forever)
{
    (void)context;
    return host_death_is_news(node) || (forever && group_peers_all_gone(&node->process->view));
}

struct wait {
    const struct dn_node *node;
    struct fabric_lane *lane; /* the one that is driven */
    const struct host_condition *condition;
    uint64_t deadline_ns;
    int result;
};

/* Between polls: whether the wait is over for another reason than its condition. */
static bool is_over(struct wait *wait, uint64_t now_ns)
{
    bool forever = wait->deadline_ns == UINT64_MAX;
    const struct host_condition *condition = wait->condition;
    if (condition->hopeless && condition->hopeless(wait->node, condition->context, forever)) {
        wait->result = DN_EPEER;
    } else if (now_ns >= wait->deadline_ns) {
        wait->result = DN_ETIMEOUT;
    } else {
        return false;
    }
    /* The condition may have come true just before the end. */
    if (condition->holds(condition->context)) {
        wait->result = 0;
    }
    return true;
}

static bool holds(struct wait *wait)
{
    wait->result = 0;
    return wait->condition->holds(wait->condition->context);
}

/* Looks several times, on one of the lower rungs; true: the condition holds. On a core with other
 * runners a yield lasts until all of them have had their turn, tens of milliseconds: a tick that
 * has passed is a reason to look at deaths and at the clock before the next one. */
static bool look(struct wait *wait, struct fabric_ladder *ladder, enum fabric_rung rung)
{
    bool drives = !fabric_all_in_place(wait->lane);
    int looks = drives                ? DRIVES_PER_CLOCK
                : rung == FABRIC_SPIN ? SPINS_PER_CLOCK
                                      : YIELDS_PER_CLOCK;
    uint64_t tick_ns = rung == FABRIC_YIELD ? fabric_tick_ns() : 0;
    for (; looks > 0; looks--) {
        if (holds(wait)) {
            return true;
        }
        if (fabric_progress(wait->lane)) {
            fabric_ladder_begin(ladder);
        } else if (rung == FABRIC_YIELD) {
            (void)sched_yield();
            if (fabric_tick_ns() != tick_ns) {
                return holds(wait);
            }
        } else if (!drives) {
            cpu_relax();
        }
    }
    return false;
}

/* Joins this node's sleepers (or stays one of them); gives the value to sleep on. */
static uint32_t publish(struct wait *wait, bool joins)
{
    struct host_process *process = wait->node->process;
    pthread_mutex_lock(&process->sleep_lock);
    process->sleeper_count += joins;
    process->watch = process->sleeper_count == 1
                         ? wait->condition->watch
                         : group_watch_join(process->watch, wait->condition->watch);
    uint32_t value = group_call_publish(&process->view, process->watch);
    pthread_mutex_unlock(&process->sleep_lock);
    return value;
}

static void leave_sleepers(struct wait *wait)
{
    struct host_process *process = wait->node->process;
    pthread_mutex_lock(&process->sleep_lock);
    process->sleeper_count--;
    pthread_mutex_unlock(&process->sleep_lock);
}

/* Sleeps until the end of the wait on the call word, which whoever writes this node's memory in
 * place looks at. */
static void sleep_on_call_word(struct wait *wait, struct fabric_ladder *ladder)
{
    const struct group_view *view = &wait->node->process->view;
    _Atomic uint32_t *call = group_call_lower(view, view->rank);
    uint32_t value = publish(wait, true);
    /* Orders the publication against the look below on this side and every sender's
     * store against its look at the call word on the other. Once is enough: it stays
     * published, and without membarrier the first nap merely lasts its whole time. */
    atomic_thread_fence(memory_order_seq_cst);
    (void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    while (!holds(wait)) {
        uint64_t now_ns = host_now_ns();
        if (is_over(wait, now_ns)) {
            break;
        }
        futex_wait(call, value, fabric_ladder_nap_ns(ladder, wait->deadline_ns - now_ns));
        value = publish(wait, false);
        atomic_thread_fence(memory_order_seq_cst);
    }
    leave_sleepers(wait);
}

/* Where time is virtual a nap costs nothing, and nothing happens unnoticed. A thread that looks in
 * vain, and finds that others have begun to wait meanwhile, leaves time to them. */
static void nap_at_once(struct wait *wait, uint64_t now_ns)
{
    uint64_t seen = 0;
    do {
        fabric_nap(wait->lane, wait->deadline_ns - now_ns, &seen);
        if (holds(wait)) {
            return;
        }
        now_ns = wait->deadline_ns == UINT64_MAX ? 0 : wait->lane->ops->known_ns(wait->lane);
    } while (!is_over(wait, now_ns));
}

/* Climbs the ladder until the condition holds or the wait is over. Where packets come in, whoever
 * waits drives, and what comes wakes it. */
static void climb(struct wait *wait, uint64_t now_ns)
{
    struct fabric_ladder ladder = {.spins = wait->node->process->core_is_free};
    uint64_t seen = 0;
    if (wait->lane->ops->is_virtual) {
        nap_at_once(wait, now_ns);
        return;
    }
    do {
        enum fabric_rung rung = fabric_ladder_rung(&ladder, now_ns);
        if (rung != FABRIC_NAP) {
            if (look(wait, &ladder, rung)) {
                return;
            }
        } else if (fabric_all_in_place(wait->lane)) {
            sleep_on_call_word(wait, &ladder);
            return;
        } else {
            fabric_nap(wait->lane, fabric_ladder_nap_ns(&ladder, wait->deadline_ns - now_ns),
                       &seen);
            if (holds(wait)) {
                return;
            }
        }
        now_ns = host_now_ns();
    } while (!is_over(wait, now_ns));
}

int host_wait_word(const struct dn_node *node, const struct host_condition *condition,
                   unsigned bytes, uint64_t timeout_ns)
{
    struct wait wait = {
        .node = node, .lane = &node->process->default_lane->lane, .condition = condition};
    /* A sleeper that this node stored to may be what it waits for. */
    fabric_wake_stored_to(&node->lane);
    bool is_virtual = wait.lane->ops->is_virtual;
    if (holds(&wait)) {
        fabric_looked(wait.lane, bytes);
        return 0;
    }
    /* A caller that only looks, again and again, drives as well. */
    if ((!is_virtual || timeout_ns == 0) && fabric_progress(wait.lane) && holds(&wait)) {
        return 0;
    }
    /* To tell virtual time, all steps before must be done; who waits for ever need not know it. */
    uint64_t now_ns = is_virtual && timeout_ns == DN_FOREVER ? 0 : host_now_ns();
    wait.deadline_ns = host_deadline_ns(now_ns, timeout_ns);
    if (!is_over(&wait, now_ns)) {
        climb(&wait, now_ns);
    }
    if (wait.result == 0) {
        fabric_looked(wait.lane, bytes);
    }
    return wait.result;
}

int host_wait(const struct dn_node *node, const struct host_condition *condition,
              uint64_t timeout_ns)
{
    return host_wait_word(node, condition, 0, timeout_ns);
}
