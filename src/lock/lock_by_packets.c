/* A lock where a node of the group is away: the handle asks this node's packet services
 * (nic/services.h), and the node that holds the lock's word manages it. A use is asked for, then
 * completed by the services, then released. */
#include "lock/lock_way.h"

#include "host/clock.h"
#include "host/wait.h"

/* A time-out may be shorter than the round trip to the manager. A caller about to give up so soon
 * tries first and waits for the answer, so that it gets a free lock, however short the time.
 * Longer waits save that round trip. */
#define SHORT_NS UINT64_C(1000000)

/* As many handles as in place: a program that has enough there has enough here. */
static _Atomic uint32_t handle_count;

static bool open_by_packets(struct dn_lock *lock, uint32_t rank, _Atomic uint64_t *word)
{
    const unsigned char *start = group_node_memory(&lock->node->process->view, rank);
    lock->use = (struct lock_use){.name = (uintptr_t)word - (uintptr_t)start,
                                  .manager = (uint16_t)rank};
    lock->state = LOCK_FREE;
    if (atomic_fetch_add(&handle_count, 1) < GROUP_LOCK_RECORDS) {
        return true;
    }
    atomic_fetch_sub(&handle_count, 1);
    return false;
}

static void close_by_packets(struct dn_lock *lock)
{
    (void)lock;
    atomic_fetch_sub(&handle_count, 1);
}

static void end_by_packets(void)
{
    atomic_store(&handle_count, 0);
}

/* ---- Taking ------------------------------------------------------------------------------- */

static bool is_answered(void *context)
{
    const struct lock_use *use = context;
    return nic_completion_is_done(&use->completion);
}

/* The services say so, too, but only once they have heard of it. */
static bool manager_is_gone(const struct dn_node *node, void *context, bool forever)
{
    const struct lock_use *use = context;
    (void)forever;
    return group_life_gone(group_life(&node->process->view, use->manager));
}

/* Stops waiting. False: the answer came before. */
static bool abandon(struct dn_lock *lock)
{
    struct fabric_lane *lane = &lock->node->lane;
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(lane, &now_ns);
    int error = nic_packet_lock_abandon(services, now_ns, lock->use.ticket);
    fabric_services_give(lane);
    return error == 0;
}

static int ask(struct dn_lock *lock, bool only_if_free, uint64_t timeout_ns)
{
    struct lock_use *use = &lock->use;
    struct fabric_lane *lane = &lock->node->lane;
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(lane, &now_ns);
    int error = nic_packet_lock_request(services, now_ns, use->manager, use->name, only_if_free,
                                        &use->value, &use->completion, &use->ticket);
    fabric_services_give(lane);
    if (error) {
        return error;
    }
    struct host_condition condition = {is_answered, manager_is_gone, use, GROUP_WATCH_NOTHING};
    error = host_wait_word(lock->node, &condition, FABRIC_TOLD, timeout_ns);
    if (!error || !abandon(lock)) {
        error = use->completion.result;
    }
    if (error == 0 || error == DN_EOWNERDEAD) {
        lock->state = LOCK_HELD;
    }
    return error;
}

static int take_if_free(struct dn_lock *lock)
{
    return ask(lock, true, DN_FOREVER);
}

static int take(struct dn_lock *lock, uint64_t timeout_ns)
{
    if (timeout_ns < SHORT_NS) {
        uint64_t start_ns = host_now_ns();
        int error = take_if_free(lock);
        if (error != DN_EBUSY) {
            return error;
        }
        uint64_t took_ns = host_now_ns() - start_ns;
        if (took_ns >= timeout_ns) {
            return DN_ETIMEOUT;
        }
        timeout_ns -= took_ns;
    }
    return ask(lock, false, timeout_ns);
}

/* ---- Giving ------------------------------------------------------------------------------- */

/* What was sent under the lock is in place before the next holder can look. The lock becomes free
 * in any case. DN_EPEER: a rank that the lane sent to is gone, perhaps the manager. */
static int give(struct dn_lock *lock)
{
    struct fabric_lane *lane = &lock->node->lane;
    int unplaced = lane->ops->quiet(lane);
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(lane, &now_ns);
    int error = nic_packet_lock_release(services, now_ns, lock->use.ticket);
    fabric_services_give(lane);
    lock->state = LOCK_FREE;
    return error ? error : unplaced;
}

/* Does not wait for what the lane sent: the value goes with the lock. */
static int give_value(struct dn_lock *lock, const void *changes, uint32_t bytes)
{
    struct fabric_lane *lane = &lock->node->lane;
    uint64_t now_ns;
    struct nic_services *services = fabric_services_take(lane, &now_ns);
    int error = nic_packet_lock_release_value(services, now_ns, lock->use.ticket, changes, bytes);
    fabric_services_give(lane);
    if (error != DN_EFULL) {
        lock->state = LOCK_FREE;
    }
    return error;
}

const struct lock_way lock_by_packets = {
    .open = open_by_packets,
    .close = close_by_packets,
    .take = take,
    .take_if_free = take_if_free,
    .give = give,
    .give_value = give_value,
    .end = end_by_packets,
};
