/* A use of a lock: ask, wait for the services to complete it, release. */
#include "lock/lock_by_packets.h"

#include "host/clock.h"
#include "host/wait.h"

/* A time-out may be shorter than the way to the manager and back. Who is about to give up so
 * soon tries first, and waits for the answer: a lock that is free is had, however short the
 * time. Longer waits save that round trip. */
#define SHORT_NS UINT64_C(1000000)

static int serve(struct lock_by_packets *lock, fabric_service_call call)
{
    struct fabric_lane *lane = &lock->node->lane;
    return lane->ops->serve(lane, call, lock);
}

static int request(struct nic_services *services, uint64_t now_ns, void *context)
{
    struct lock_by_packets *lock = context;
    return nic_packet_lock_request_value(services, now_ns, lock->manager, lock->name, false,
                                         &lock->value, &lock->completion, &lock->ticket);
}

static int request_if_free(struct nic_services *services, uint64_t now_ns, void *context)
{
    struct lock_by_packets *lock = context;
    return nic_packet_lock_request_value(services, now_ns, lock->manager, lock->name, true,
                                         &lock->value, &lock->completion, &lock->ticket);
}

static int abandon(struct nic_services *services, uint64_t now_ns, void *context)
{
    const struct lock_by_packets *lock = context;
    return nic_packet_lock_abandon(services, now_ns, lock->ticket);
}

static int release(struct nic_services *services, uint64_t now_ns, void *context)
{
    const struct lock_by_packets *lock = context;
    return nic_packet_lock_release(services, now_ns, lock->ticket);
}

static int release_value(struct nic_services *services, uint64_t now_ns, void *context)
{
    const struct lock_by_packets *lock = context;
    return nic_packet_lock_release_value(services, now_ns, lock->ticket, lock->changes,
                                         lock->changes_bytes);
}

static bool is_answered(void *context)
{
    const struct lock_by_packets *lock = context;
    return nic_completion_is_done(&lock->completion);
}

/* The services say so as well, once they have heard of it. */
static bool manager_is_gone(const struct dn_node *node, void *context, bool forever)
{
    const struct lock_by_packets *lock = context;
    (void)forever;
    return group_life_gone(group_life(&node->process->view, lock->manager));
}

static int ask(struct lock_by_packets *lock, fabric_service_call call, uint64_t timeout_ns)
{
    int error = serve(lock, call);
    if (error) {
        return error;
    }
    struct host_condition condition = {is_answered, manager_is_gone, lock, GROUP_WATCH_NOTHING};
    error = host_wait(lock->node, &condition, timeout_ns);
    /* What came just before is in the completion; else the use is over. */
    return error && serve(lock, abandon) == 0 ? error : lock->completion.result;
}

int lock_by_packets_try(struct lock_by_packets *lock)
{
    return ask(lock, request_if_free, DN_FOREVER);
}

int lock_by_packets_take(struct lock_by_packets *lock, uint64_t timeout_ns)
{
    if (timeout_ns < SHORT_NS) {
        uint64_t start_ns = host_now_ns();
        int error = lock_by_packets_try(lock);
        if (error != DN_EBUSY) {
            return error;
        }
        uint64_t took_ns = host_now_ns() - start_ns;
        if (took_ns >= timeout_ns) {
            return DN_ETIMEOUT;
        }
        timeout_ns -= took_ns;
    }
    return ask(lock, request, timeout_ns);
}

/* What was sent under the lock is in place before the next holder can look. */
int lock_by_packets_give(struct lock_by_packets *lock)
{
    struct fabric_lane *lane = &lock->node->lane;
    int unplaced = lane->ops->quiet(lane);
    int error = serve(lock, release);
    return error ? error : unplaced;
}

int lock_by_packets_give_value(struct lock_by_packets *lock, const void *changes, uint32_t bytes)
{
    lock->changes = changes;
    lock->changes_bytes = bytes;
    return serve(lock, release_value);
}
