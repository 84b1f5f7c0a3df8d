/* The stages of waiting. */
#define _GNU_SOURCE
#include "host/wait.h"

#include <linux/membarrier.h>
#include <sched.h>

#include "fabric/futex.h"
#include "host/clock.h"

#define SPIN_NS UINT64_C(50000)
#define YIELD_NS UINT64_C(1000000)
#define NAP_FIRST_NS UINT64_C(50000)
#define NAP_LONGEST_NS UINT64_C(2000000)

enum { YIELDS_PER_LOOK = 16 };

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
    const struct host_condition *condition;
    uint64_t deadline_ns;
    int result;
};

/* Between polls: whether the wait is over for another reason than its condition. */
static bool is_over(struct wait *wait, uint64_t now_ns)
{
    bool forever = wait->deadline_ns == UINT64_MAX;
    if (wait->condition->hopeless(wait->node, wait->condition->context, forever)) {
        wait->result = DN_EPEER;
    } else if (now_ns >= wait->deadline_ns) {
        wait->result = DN_ETIMEOUT;
    } else {
        return false;
    }
    /* What decides may have happened just before the end. */
    if (wait->condition->holds(wait->condition->context)) {
        wait->result = 0;
    }
    return true;
}

static bool holds(struct wait *wait)
{
    wait->result = 0;
    return wait->condition->holds(wait->condition->context);
}

/* The stages return true when the wait is over, its result set. */
static bool spin(struct wait *wait, uint64_t until_ns)
{
    for (;;) {
        for (int poll = 0; poll < HOST_SPIN_POLLS; poll++) {
            if (holds(wait)) {
                return true;
            }
            cpu_relax();
        }
        uint64_t now_ns = host_now_ns();
        if (is_over(wait, now_ns)) {
            return true;
        }
        if (now_ns >= until_ns) {
            return false;
        }
    }
}

static bool yield(struct wait *wait, uint64_t until_ns)
{
    for (;;) {
        for (int count = 0; count < YIELDS_PER_LOOK; count++) {
            if (holds(wait)) {
                return true;
            }
            sched_yield();
        }
        uint64_t now_ns = host_now_ns();
        if (is_over(wait, now_ns)) {
            return true;
        }
        if (now_ns >= until_ns) {
            return false;
        }
    }
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

static void sleep_in_naps(struct wait *wait)
{
    const struct group_view *view = &wait->node->process->view;
    _Atomic uint32_t *call = group_call_lower(view, view->rank);
    uint64_t nap_ns = NAP_FIRST_NS;
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
        uint64_t left_ns = wait->deadline_ns - now_ns;
        futex_wait(call, value, left_ns < nap_ns ? left_ns : nap_ns);
        nap_ns = nap_ns * 2 < NAP_LONGEST_NS ? nap_ns * 2 : NAP_LONGEST_NS;
        value = publish(wait, false);
        atomic_thread_fence(memory_order_seq_cst);
    }
    leave_sleepers(wait);
}

/* All stages on a packet fabric, where whoever waits drives the NIC and nothing but the NIC
 * writes this node's memory: the fabric knows when to sleep, and its socket wakes. */
static void wait_and_drive(struct wait *wait)
{
    struct fabric_lane *lane = &wait->node->process->default_lane->lane;
    struct fabric_idle idle = {0};
    uint64_t now_ns = host_now_ns();
    while (!holds(wait)) {
        uint64_t then_ns = fabric_idle(lane, &idle, wait->deadline_ns - now_ns);
        if (then_ns != 0) {
            now_ns = then_ns > now_ns ? then_ns : now_ns;
            if (is_over(wait, now_ns)) {
                return;
            }
        }
    }
}

int host_wait(const struct dn_node *node, const struct host_condition *condition,
              uint64_t timeout_ns)
{
    struct wait wait = {.node = node, .condition = condition};
    /* Who sleeps where this node stored to may be what it waits for. */
    fabric_wake_stored_to(&node->lane);
    if (holds(&wait)) {
        return 0;
    }
    if (!fabric_all_in_place(&node->lane)) {
        /* Also of who only looks, again and again. */
        fabric_progress(&node->process->default_lane->lane);
        if (holds(&wait)) {
            return 0;
        }
    }
    uint64_t now_ns = host_now_ns();
    wait.deadline_ns = host_deadline_ns(now_ns, timeout_ns);
    if (is_over(&wait, now_ns)) {
        return wait.result;
    }
    if (!fabric_all_in_place(&node->lane)) {
        wait_and_drive(&wait);
        return wait.result;
    }
    if (node->process->core_is_free && spin(&wait, now_ns + SPIN_NS)) {
        return wait.result;
    }
    if (!yield(&wait, host_now_ns() + YIELD_NS)) {
        sleep_in_naps(&wait);
    }
    return wait.result;
}
